"""One study's loop: what is recorded, what is told to the optimizer, and how every failure becomes data."""

from __future__ import annotations

import json
import math
import sys
import uuid
from typing import ClassVar

import numpy as np
import pytest

import optarena as oa
import optarena.optimizer as registry
from optarena.errors import OptarenaError

ROOT = uuid.UUID(int=7)
LINE = {"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}}


def run(optimizers, problems, budget=10, **fields):
    fields.setdefault("seed", ROOT)
    return oa.Experiment(optimizers, problems, budget, **fields).run("store")


def lines(kind=None):
    from pathlib import Path

    out = [
        json.loads(line)
        for path in sorted(Path("store/journal").glob("*.jsonl"))
        for line in path.read_text().splitlines()
    ]
    return [line for line in out if kind is None or line["t"] == kind]


@pytest.fixture
def register(monkeypatch):
    def add(cls):
        monkeypatch.setitem(registry.BUILT_IN, cls.__name__, registry.Entry(cls.__name__, f"{__name__}:{cls.__name__}"))
        monkeypatch.setattr(sys.modules[__name__], cls.__name__, cls, raising=False)
        return cls.__name__

    return add


@oa.as_problem(LINE, optimum=0.0)
def parabola(x):
    return x["x"] ** 2


class Watching(oa.Optimizer):
    """Random, and remembers what it is told."""

    seen: ClassVar[list] = []

    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))

    def observe(self, X, y, *rest):
        type(self).seen.append((X, y, *rest))


@pytest.fixture
def watching(register):
    Watching.seen = []
    return register(Watching)


def test_every_evaluation_is_a_row_and_the_last_batch_is_the_remainder(watching):
    results = run(watching, parabola, 10, batch=4)
    assert results.studies.select("status", "evaluations", "failures").rows() == [("done", 10, 0)]
    rows = lines("e")
    assert [row["k"] for row in rows] == list(range(1, 11))
    assert [len(X) for X, _ in Watching.seen] == [4, 4, 2]
    assert all(y.shape == (len(X), 1) for X, y in Watching.seen)
    values = [row["y"][0][0] for row in rows]
    assert values == [row["x"][0][0] ** 2 for row in rows]
    assert values == [float(v) for _, y in Watching.seen for v in y[:, 0]]
    assert all(len(row["w"]) == 6 and min(row["w"]) >= 0 for row in rows)


def test_the_same_experiment_twice_gives_the_same_traces_bit_for_bit():
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom"],
        ["functions/sphere/d5", "functions/sphere-noisy/d2", "functions/mixed-tuning/d9", "bbob/f8/d3/i2"],
        60,
        trials=2,
        batch=3,
        seed=ROOT,
    )
    one, two = experiment.run("one"), experiment.run("two")
    assert one.studies["study"].to_list() == two.studies["study"].to_list()
    assert one.studies["best"].to_list() == two.studies["best"].to_list()
    np.testing.assert_array_equal(one.traces().values, two.traces().values)
    for study in one.studies["study"]:
        assert one.points(study) == two.points(study)


@pytest.mark.parametrize("problem", ["functions/sphere/d3", "functions/mixed-tuning/d9", "bbob/f3/d2/i1"])
@pytest.mark.parametrize("optimizer", ["RandomSearch", "QuasiRandom"])
def test_drawing_ahead_changes_nothing(problem, optimizer, monkeypatch):
    import optarena.runner.loop as loop

    experiment = oa.Experiment(optimizer, problem, 50, seed=ROOT)
    ahead = experiment.run("ahead")
    monkeypatch.setattr(loop, "LOOKAHEAD", 1)
    singly = experiment.run("singly")
    study = ahead.studies["study"][0]
    assert ahead.points(study) == singly.points(study)


def test_noise_is_keyed_by_the_evaluation_and_met_by_all(watching):
    @oa.as_problem(LINE, noisy=True)
    def noise(x, rng):
        return rng.normal()

    results = run([watching, "RandomSearch"], noise, 20)
    traces = results.traces()
    np.testing.assert_array_equal(traces.values[:20], traces.values[20:])
    assert len(np.unique(traces.values)) == 20


def test_failed_evaluations_are_rows_and_reach_the_optimizer_as_nan(watching):
    outcomes = [
        ValueError("too hot\nreally"),
        SystemExit(3),
        float("nan"),
        None,
        [1.0, 2.0],
        "text",
        1.0,
        math.inf,
        -math.inf,
    ]
    asked = iter(outcomes)

    @oa.as_problem(LINE, stateless=False)
    def moody(x):
        outcome = next(asked)
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    results = run(watching, moody, len(outcomes))
    rows = results.points(results.studies["study"][0])
    assert [row["status"] for row in rows] == ["error", "error", "nan", "error", "error", "error", "ok", "ok", "ok"]
    assert rows[0]["message"] == "ValueError: too hot\nreally"
    assert rows[3]["message"].startswith("evaluate returned 'None' (NoneType), not a number")
    assert rows[4]["message"] == "evaluate returned 2 values, the problem has 1 objectives"
    told = np.concatenate([y[:, 0] for _, y in Watching.seen])
    np.testing.assert_array_equal(told, [np.nan] * 6 + [1.0, np.inf, -np.inf])
    assert results.studies.select("status", "failures").rows() == [("done", 6)]
    assert [row["y"] for row in lines("e")[2:4]] == [[["nan"]], [[None]]]
    assert [row["y"] for row in lines("e")[7:]] == [[["inf"]], [["-inf"]]]
    np.testing.assert_array_equal(results.traces().values[:, 0], told)


def test_a_maximised_objective_is_shown_negated_and_kept_as_it_is(watching):
    @oa.as_problem(LINE, sense="max")
    def up(x):
        return x["x"]

    results = run([watching, "RandomSearch"], up, 30)
    kept = np.array([row["y"][0][0] for row in lines("e")[:30]])
    told = np.concatenate([y[:, 0] for _, y in Watching.seen])
    np.testing.assert_array_equal(told, -kept)
    assert results.studies["best"][0] == kept.max()


def test_constraints_reach_the_optimizer_and_infeasible_points_are_never_best(register):
    class Bound(Watching):
        capabilities = oa.Capabilities(constraints=True)
        seen: ClassVar[list] = []

    @oa.as_problem(LINE, constraints=1)
    def halfway(x):
        return oa.Evaluation([x["x"]], violations=[-x["x"]])

    results = run(register(Bound), halfway, 50)
    assert all(rest[0].shape == (1, 1) for _, _, *rest in Bound.seen)
    rows = results.points(results.studies["study"][0])
    feasible = [row["values"]["value"] for row in rows if row["parameters"]["x"] >= 0]
    assert results.studies["best"][0] == min(feasible)
    assert min(row["values"]["value"] for row in rows) < 0


def test_hidden_metrics_are_kept_and_not_shown(watching):
    @oa.as_problem(LINE, metrics=["generalization"])
    def split(x):
        return oa.Evaluation([round(abs(x["x"]), 1)], metrics={"generalization": x["x"]})

    run(watching, split, 40, record="improvements")
    rows = lines("e")
    assert all(row["m"] == [[row["x"][0][0]]] for row in rows)
    values = [row["y"][0][0] for row in rows]
    assert values == sorted(values, reverse=True)
    assert len(values) > len(set(values))  # ties are kept where metrics hide


@pytest.mark.parametrize(
    "problem", ["functions/rastrigin/d3", "functions/mixed-tuning/d9", "functions/nan/d2", "functions/failing/d2"]
)
def test_improvements_only_keeps_the_same_best_so_far(problem):
    full = oa.Experiment("QuasiRandom", problem, 300, seed=ROOT).run("full")
    thin = oa.Experiment("QuasiRandom", problem, 300, seed=ROOT, record="improvements").run("thin")
    assert (
        thin.studies.select("best", "best_evaluation", "evaluations", "failures").rows()
        == full.studies.select("best", "best_evaluation", "evaluations", "failures").rows()
    )
    whole, kept = full.traces(), thin.traces()
    assert len(kept.evaluation) < len(whole.evaluation)
    np.testing.assert_array_equal(kept.best_so_far(), whole.best_so_far()[kept.evaluation - 1])


def test_several_objectives_keep_what_enters_the_archive():
    @oa.as_problem({"x": LINE["x"], "y": LINE["x"]}, sense=["min", "max"])
    def two(x):
        return [x["x"], x["y"]]

    full = oa.Experiment("RandomSearch", two, 200, seed=ROOT).run("full").traces()

    class Same(registry.get_optimizer("RandomSearch")):
        pass

    registry.BUILT_IN["Same"] = registry.Entry("Same", f"{__name__}:Same")
    sys.modules[__name__].Same = Same
    try:
        thin = oa.Experiment("Same", two, 200, seed=ROOT, record="improvements").run("thin").traces()
        every = oa.Experiment("Same", two, 200, seed=ROOT).run("every").traces()
    finally:
        del registry.BUILT_IN["Same"]
    seen = []
    for k, y in zip(every.evaluation, every.values, strict=True):
        if not any((np.array(other) <= y).all() for other in seen):
            seen.append(y)
            assert k in thin.evaluation
    assert len(seen) == len(thin.evaluation)
    assert full.values.shape == (200, 2)


def test_a_target_and_seconds_end_a_study():
    results = oa.Experiment("RandomSearch", "functions/sphere/d2", 100_000, target=0.5, seed=ROOT).run("store")
    row = results.studies.row(0, named=True)
    assert (row["status"], row["reason"]) == ("done", "target reached")
    assert row["best"] <= 0.5
    assert row["best_evaluation"] == row["evaluations"] < 100_000

    @oa.as_problem(LINE)
    def slow(x):
        import time

        time.sleep(0.01)
        return x["x"]

    timed = oa.Experiment("RandomSearch", slow, seconds=0.1, seed=ROOT).run("timed").studies.row(0, named=True)
    assert timed["status"] == "done"
    assert 3 <= timed["evaluations"] <= 11


class Raises(oa.Optimizer):
    def suggest(self, n):
        raise RuntimeError("no idea")


class TooFew(Watching):
    def suggest(self, n):
        return super().suggest(n)[:-1]


class Outside(Watching):
    def suggest(self, n):
        return [{"x": 2.0}] * n


class NotNumber(Watching):
    def suggest(self, n):
        return [{"x": "a"}] * n


class NoList(Watching):
    def suggest(self, n):
        return None


class Deaf(Watching):
    def observe(self, X, y):
        raise KeyError("gone")


class Quits(Watching):
    def suggest(self, n):
        sys.exit(4)


class Unborn(oa.Optimizer):
    def __init__(self, space, *, objectives, rng):
        raise ImportError("no library")


class BadArray(oa.Optimizer):
    capabilities = oa.Capabilities(array_native=True)

    def suggest(self, n):
        return np.full((n, 1), np.nan)


class Stops(Watching):
    def suggest(self, n):
        if len(Stops.seen) >= 3:
            raise oa.Exhausted("converged")
        return super().suggest(n)


class BadClose(Watching):
    def close(self):
        raise OSError("stuck")


@pytest.mark.parametrize(
    ("cls", "status", "said", "evaluations"),
    [
        (Raises, "failed", "suggest: RuntimeError: no idea", 0),
        (TooFew, "failed", "suggest(2) returned 1 point", 0),
        (Outside, "failed", "suggest(2): point 0: x = 2.0 is outside [-1, 1]", 0),
        (NotNumber, "failed", "suggest(2): point 0: x = 'a' is not a number", 0),
        (NoList, "failed", "suggest(2): expected a list of dicts, got NoneType", 0),
        (BadArray, "failed", "suggest(2): point 0: x = nan", 0),
        (Deaf, "failed", "observe: KeyError: 'gone'", 2),
        (Quits, "failed", "suggest: SystemExit: 4", 0),
        (Unborn, "failed", "creating the optimizer: ImportError: no library", 0),
        (Stops, "stopped early", "converged", 6),
        (BadClose, "failed", "closing the optimizer: OSError: stuck", 10),
    ],
)
def test_an_optimizer_that_fails_ends_its_study_and_nothing_else(cls, status, said, evaluations, register):
    Stops.seen = []
    results = run([register(cls), "RandomSearch"], parabola, 10, batch=2)
    bad, good = results.studies.iter_rows(named=True)
    assert (bad["status"], bad["evaluations"]) == (status, evaluations)
    assert said in bad["reason"]
    assert (good["status"], good["evaluations"]) == ("done", 10)


def test_what_a_problem_does_to_its_argument_is_not_recorded():
    @oa.as_problem(LINE)
    def vandal(x):
        value = x["x"]
        x.clear()
        return value

    results = run("RandomSearch", vandal, 5)
    for row in results.points(results.studies["study"][0]):
        assert row["parameters"] == {"x": row["values"]["value"]}


def test_a_finished_study_is_not_run_again_and_a_larger_budget_extends_it(watching):
    run([watching], parabola, 10)
    before = len(Watching.seen)
    results = run([watching], parabola, 10)
    assert len(Watching.seen) == before
    longer = run([watching], parabola, 25)
    assert longer.studies.select("status", "evaluations", "conflicts").rows() == [("done", 25, 0)]
    np.testing.assert_array_equal(longer.traces().values[:10], results.traces().values)


def test_the_store_keeps_its_root_until_told_otherwise():
    experiment = oa.Experiment("RandomSearch", "functions/sphere/d2", 5)
    one = experiment.run("store")
    two = oa.Experiment("RandomSearch", "functions/sphere/d2", 5, trials=2).run("store")
    assert set(two.studies["root"]) == set(one.studies["root"])
    assert two.studies.height == 2
    three = experiment.run("store", new=True)
    assert three.studies.height == 3
    assert three.studies["root"].n_unique() == 2


def test_an_interrupt_is_recorded_and_going_on_gives_the_uninterrupted_result(watching):
    count = 0

    @oa.as_problem(LINE)
    def interrupted(x):
        nonlocal count
        count += 1
        if count == 7:
            raise KeyboardInterrupt
        return x["x"] ** 2

    with pytest.raises(KeyboardInterrupt):
        run([watching], interrupted, 20)
    status = oa.open("store").studies.select("status", "evaluations").rows()
    assert status == [("interrupted", 6)]
    results = run([watching], interrupted, 20)
    assert results.studies.select("status", "evaluations", "conflicts").rows() == [("done", 20, 0)]
    whole = oa.Experiment([watching], interrupted, 20, seed=ROOT).run("whole")
    np.testing.assert_array_equal(results.traces().values, whole.traces().values)


def test_a_changed_problem_is_refused_not_continued():
    def make(bound, version="1"):
        space = {"x": {"type": "real", "space": "linear", "range": [-bound, bound]}}
        return oa.as_problem(space, id="p", version=version)(lambda x: x["x"])

    run("RandomSearch", make(1.0), 5)
    with pytest.raises(OptarenaError, match=r"p: its space is not what it was .* --new"):
        run("RandomSearch", make(2.0), 5)
    assert run("RandomSearch", make(2.0, version="2"), 5).studies.height == 2
