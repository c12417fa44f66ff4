"""One study's loop: what is recorded, what is told to the optimizer, and how every failure becomes data."""

from __future__ import annotations

import json
import math
import re
import sys
import uuid
from typing import ClassVar

import numpy as np
import pytest

import optarena as oa
from optarena.errors import OptarenaError
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.registry import Entry
from optarena.runner.again import replay

ROOT = uuid.UUID(int=7)
LINE = {"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}}


def run(optimizers, problems, budget=10, **fields):
    fields.setdefault("seed", ROOT)
    return oa.Experiment(optimizers, problems, budget, **fields).run("store", workers=0)


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
        monkeypatch.setitem(OPTIMIZERS.built_in, cls.__name__, Entry(cls.__name__, f"{__name__}:{cls.__name__}"))
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
    one, two = experiment.run("one", workers=0), experiment.run("two", workers=0)
    assert one.studies["study"].to_list() == two.studies["study"].to_list()
    assert one.studies["best"].to_list() == two.studies["best"].to_list()
    np.testing.assert_array_equal(one.in_full().traces().values, two.in_full().traces().values)
    for study in one.studies["study"]:
        assert one.points(study) == two.points(study)


@pytest.mark.parametrize("problem", ["functions/sphere/d3", "functions/mixed-tuning/d9", "bbob/f3/d2/i1"])
@pytest.mark.parametrize("optimizer", ["RandomSearch", "QuasiRandom"])
def test_drawing_ahead_changes_nothing(problem, optimizer, monkeypatch):
    import optarena.runner.loop as loop

    experiment = oa.Experiment(optimizer, problem, 50, seed=ROOT)
    ahead = experiment.run("ahead", workers=0)
    monkeypatch.setattr(loop, "LOOKAHEAD", 1)
    singly = experiment.run("singly", workers=0)
    study = ahead.studies["study"][0]
    assert ahead.points(study) == singly.points(study)


def test_noise_is_keyed_by_the_evaluation_and_met_by_all(watching):
    @oa.as_problem(LINE, noisy=True)
    def noise(x, rng):
        return rng.normal()

    results = run([watching, "RandomSearch"], noise, 20)
    traces = results.in_full().traces()
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
    assert re.fullmatch(r"ValueError: too hot\nreally \(test_loop.py line \d+\)", rows[0]["message"])
    assert rows[3]["message"].startswith("evaluate returned 'None' (NoneType), not a number")
    assert rows[4]["message"] == (
        "evaluate returned 2 values, the problem has 1 objective:"
        " declare them by @optarena.as_problem(space, sense=[…])"
    )
    told = np.concatenate([y[:, 0] for _, y in Watching.seen])
    np.testing.assert_array_equal(told, [np.nan] * 6 + [1.0, np.inf, -np.inf])
    assert results.studies.select("status", "failures").rows() == [("done", 6)]
    assert [row["y"] for row in lines("e")[2:4]] == [[["nan"]], [[None]]]
    assert [row["y"] for row in lines("e")[7:]] == [[["inf"]], [["-inf"]]]
    np.testing.assert_array_equal(results.in_full().traces().values[:, 0], told)


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
    full = oa.Experiment("QuasiRandom", problem, 300, seed=ROOT).run("full", workers=0)
    thin = oa.Experiment("QuasiRandom", problem, 300, seed=ROOT, record="improvements").run("thin", workers=0)
    assert (
        thin.studies.select("best", "best_evaluation", "evaluations", "failures").rows()
        == full.studies.select("best", "best_evaluation", "evaluations", "failures").rows()
    )
    whole, kept = full.in_full().traces(), thin.in_full().traces()
    assert len(kept.evaluation) < len(whole.evaluation)
    np.testing.assert_array_equal(kept.best_so_far(), whole.best_so_far()[kept.evaluation - 1])


def test_several_objectives_keep_what_enters_the_archive():
    @oa.as_problem({"x": LINE["x"], "y": LINE["x"]}, sense=["min", "max"])
    def two(x):
        return [x["x"], x["y"]]

    full = oa.Experiment("RandomSearch", two, 200, seed=ROOT).run("full", workers=0).in_full().traces()

    class Same(get_optimizer("RandomSearch")):
        pass

    OPTIMIZERS.built_in["Same"] = Entry("Same", f"{__name__}:Same")
    sys.modules[__name__].Same = Same
    try:
        thin = (
            oa.Experiment("Same", two, 200, seed=ROOT, record="improvements").run("thin", workers=0).in_full().traces()
        )
        every = oa.Experiment("Same", two, 200, seed=ROOT).run("every", workers=0).in_full().traces()
    finally:
        del OPTIMIZERS.built_in["Same"]
    seen = []
    for k, y in zip(every.evaluation, every.values, strict=True):
        if not any((np.array(other) <= y).all() for other in seen):
            seen.append(y)
            assert k in thin.evaluation
    assert len(seen) == len(thin.evaluation)
    assert full.values.shape == (200, 2)


def test_a_target_and_seconds_end_a_study():
    results = oa.Experiment("RandomSearch", "functions/sphere/d2", 100_000, target=0.5, seed=ROOT).run(
        "store", workers=0
    )
    row = results.studies.row(0, named=True)
    assert (row["status"], row["reason"]) == ("done", "target reached")
    assert row["best"] <= 0.5
    assert row["best_evaluation"] == row["evaluations"] < 100_000

    @oa.as_problem(LINE)
    def slow(x):
        import time

        time.sleep(0.01)
        return x["x"]

    timed = (
        oa.Experiment("RandomSearch", slow, seconds=0.1, seed=ROOT).run("timed", workers=0).studies.row(0, named=True)
    )
    assert timed["status"] == "done"
    assert 1 <= timed["evaluations"] <= 11


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
    np.testing.assert_array_equal(longer.in_full().traces().values[:10], results.in_full().traces().values)


def test_the_store_keeps_its_root_until_told_otherwise():
    experiment = oa.Experiment("RandomSearch", "functions/sphere/d2", 5)
    one = experiment.run("store", workers=0)
    two = oa.Experiment("RandomSearch", "functions/sphere/d2", 5, trials=2).run("store", workers=0)
    assert set(two.studies["root"]) == set(one.studies["root"])
    assert two.studies.height == 2
    three = experiment.run("store", new=True, workers=0)
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
    whole = oa.Experiment([watching], interrupted, 20, seed=ROOT).run("whole", workers=0)
    np.testing.assert_array_equal(results.in_full().traces().values, whole.in_full().traces().values)


def test_a_changed_problem_is_refused_not_continued():
    def make(bound, version="1"):
        space = {"x": {"type": "real", "space": "linear", "range": [-bound, bound]}}
        return oa.as_problem(space, id="p", version=version)(lambda x: x["x"])

    run("RandomSearch", make(1.0), 5)
    with pytest.raises(OptarenaError, match=r"p: its space has changed .* --new"):
        run("RandomSearch", make(2.0), 5)
    assert run("RandomSearch", make(2.0, version="2"), 5).studies.height == 2


# ---- what others' code may do ---------------------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class OwnBase(BaseException):
    pass


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (10**400, "OverflowError"),
        (oa.Evaluation([1.0], metrics=["g"]), "metrics of an Evaluation must be a dict"),
        (oa.Evaluation(1.0), "values of an Evaluation must be a list"),
        (oa.Evaluation(["1.5"]), "'1.5' (str), not a number"),
        (oa.Evaluation([True]), "'True' (bool), not a number"),
        (oa.Evaluation([1.0], violations=[1.0]), "1 violations, the problem has 0 constraints"),
        (True, "(bool), not a number"),
        (1 + 2j, "(complex), not a number"),
        (np.array([[1.0]]), "(ndarray), not a number"),
        (ValueError("\udcff"), "ValueError: \\udcff"),
        (Unspeakable(), "Unspeakable: (its text raised RuntimeError)"),
        (OwnBase("b"), "OwnBase: b"),
        (ValueError("x" * 10**6), "…"),
    ],
)
def test_whatever_a_problem_returns_or_raises_is_a_row(outcome, said):
    @oa.as_problem(LINE)
    def odd(x):
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    results = run("RandomSearch", odd, 2)
    assert results.studies.select("status", "evaluations", "failures").rows() == [("failed", 2, 2)]
    message = results.points(results.studies["study"][0])[1]["message"]
    assert said in message
    assert len(message) <= 500


@pytest.mark.parametrize("value", [np.float32(0.25), np.array(0.25), np.int64(1), [0.25], (0.25,), np.array([0.25])])
def test_numbers_in_any_dress_are_numbers(value):
    results = run("RandomSearch", oa.as_problem(LINE, id="p")(lambda x: value), 2)
    assert results.studies["best"][0] == float(np.ravel(value)[0])


class Unprintable:
    def __repr__(self):
        raise RuntimeError


class Suggests(oa.Optimizer):
    what: ClassVar[object] = None

    def suggest(self, n):
        return [{"x": self.what}] * n


class SuggestsArray(oa.Optimizer):
    what: ClassVar[object] = None
    capabilities = oa.Capabilities(array_native=True)

    def suggest(self, n):
        return self.what


@pytest.mark.parametrize("what", [10**400, Unprintable(), 1j, float("nan"), [0.5], None, "\udcff"])
@pytest.mark.parametrize("cls", [Suggests, SuggestsArray])
def test_whatever_an_optimizer_suggests_is_its_own_failure(cls, what, register, monkeypatch):
    monkeypatch.setattr(cls, "what", what)
    results = run([register(cls), "RandomSearch"], parabola, 5)
    assert results.studies["status"].to_list() == ["failed", "done"]
    assert results.studies["reason"][0].startswith("suggest(1)")


class Mutates(Watching):
    def __init__(self, space, *, objectives, rng, grid):
        super().__init__(space, objectives=objectives, rng=rng)
        grid.append(1)


def test_an_optimizer_cannot_change_its_settings_for_others(register):
    name = register(Mutates)
    results = run([oa.use(name, grid=[1]), "RandomSearch"], parabola, 5, trials=2)
    assert results.studies["status"].to_list() == ["done"] * 4
    assert set(results.studies["optimizer"]) == {"Mutates(grid=[1])", "RandomSearch"}


def test_built_in_optimizers_run_on_every_function():
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/*/d{2,4,5,6,9}", 5, batch=2, seed=ROOT).run(
        "store", workers=0
    )
    assert set(results.studies["status"]) == {"done"}


class NeedsViolations(Watching):
    """As written from the docs."""

    capabilities = oa.Capabilities(constraints=True)

    def observe(self, X, y, violations):
        type(self).seen.append((X, y, violations))


def test_an_optimizer_that_takes_constraints_always_gets_them(register):
    NeedsViolations.seen = []
    run(
        [register(NeedsViolations)],
        [parabola, oa.as_problem(LINE, id="c", constraints=2)(lambda x: oa.Evaluation([1.0], [0, 1]))],
        3,
    )
    assert [v.shape for _, _, v in NeedsViolations.seen] == [(1, 0)] * 3 + [(1, 2)] * 3


class Finite(oa.Optimizer):
    capabilities = oa.Capabilities(array_native=True, several_objectives=True)

    def suggest(self, n):
        if getattr(self, "count", 0) + n > 7:
            raise oa.Exhausted
        self.count = getattr(self, "count", 0) + n
        return self.space.sample(n, self.rng)


def test_only_who_declares_it_is_asked_ahead(register):
    results = run([register(Finite)], ["functions/sphere/d2"], 50)
    assert results.studies.select("status", "evaluations").rows() == [("stopped early", 7)]


class Matrices(oa.Problem):
    """An array-native problem that returns what it is told to."""

    array_native = True
    id = "matrices"

    def __init__(self, answer, **facts):
        self.space = oa.Space(LINE)
        self.answer = answer
        vars(self).update(facts)

    def evaluate_matrix(self, X):
        return self.answer(X)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (lambda X: X * 1j, "complex"),
        (lambda X: X[:1, :1] if len(X) > 1 else X[:0], "shape"),
        (lambda X: 1 / 0, "ZeroDivisionError"),
        (lambda X: X > 0, "bool"),
    ],
)
def test_a_matrix_that_is_none_is_said_and_not_bent(answer, said):
    results = run("RandomSearch", Matrices(answer), 3)
    rows = results.points(results.studies["study"][0])
    assert [row["status"] for row in rows] == ["error"] * 3
    assert said in rows[0]["message"]


def test_objectives_are_not_scrambled():
    problem = Matrices(lambda X: np.array([X[:, 0], X[:, 0] + 100]), objectives=(oa.Objective("a"), oa.Objective("b")))
    results = run("RandomSearch", problem, 4)
    assert {row["status"] for row in results.points(results.studies["study"][0])} == {"error"}


def test_an_array_native_problem_with_noise_or_constraints_goes_point_by_point():
    class Noisy(Matrices):
        def evaluate(self, x, rng):
            return rng.normal()

    results = run("RandomSearch", Noisy(lambda X: X, noisy=True), 5)
    assert len(np.unique(results.in_full().traces().values)) == 5

    class Bound(Matrices):
        def evaluate(self, x):
            return oa.Evaluation([x["x"]], [-x["x"]])

    results = oa.Experiment("RandomSearch", Bound(lambda X: X, constraints=1), 50, seed=ROOT).run("bound", workers=0)
    assert results.studies["best"][0] > 0


def test_the_optimizer_is_closed_however_a_study_ends(register):
    closed = []

    class Closing(Watching):
        def close(self):
            closed.append(1)

    def interrupt(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run([register(Closing)], oa.as_problem(LINE, id="i")(interrupt), 5)
    assert closed == [1]


def test_what_is_known_must_be_finite_and_of_the_right_length():
    for facts in (
        {"optimum": float("nan")},
        {"optimum": [1.0, 2.0]},
        {"constraints": -1},
        {"constraints": "2"},
        {"metrics": "g"},
    ):
        with pytest.raises(OptarenaError):
            oa.as_problem(LINE, **facts)(lambda x: 0.0)


# ---- what is finished, and what is not ------------------------------------------------------------------------------


def test_a_harder_target_goes_on_and_an_easier_one_does_not():
    def reach(target):
        experiment = oa.Experiment("RandomSearch", "functions/sphere/d3", 3000, target=target, seed=ROOT)
        return experiment.run("store", workers=0).studies.row(0, named=True)

    easy = reach(20.0)
    hard = reach(0.5)
    assert hard["evaluations"] > easy["evaluations"]
    assert hard["best"] <= 0.5
    assert reach(2.0)["evaluations"] == hard["evaluations"]


def test_asking_for_everything_after_improvements_makes_the_rest():
    thin = oa.Experiment("QuasiRandom", "functions/sphere/d2", 50, record="improvements", seed=ROOT)
    full = oa.Experiment("QuasiRandom", "functions/sphere/d2", 50, seed=ROOT)
    thin.run("store", workers=0)
    results = full.run("store", workers=0)
    assert results.studies["conflicts"][0] == 0
    np.testing.assert_array_equal(
        results.in_full().traces().values, full.run("other", workers=0).in_full().traces().values
    )


def test_seconds_extend_and_never_alternate():
    @oa.as_problem(LINE)
    def slow(x):
        import time

        time.sleep(0.005)
        return x["x"]

    def made(seconds, budget):
        results = oa.Experiment("RandomSearch", slow, budget, seconds=seconds, seed=ROOT).run("store", workers=0)
        return results.studies["evaluations"][0]

    first = made(0.05, 10**6)
    assert made(0.03, 10**7) == first
    assert made(0.05, 10**6) == first
    assert made(3.0, 10**6) > first


def test_two_that_would_be_one_are_refused(tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text(
            "import optarena as oa\n"
            "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
            "def loss(x):\n    return x['x']\n"
        )
    with pytest.raises(OptarenaError, match=r"both called 'mine.py:loss'"):
        run("RandomSearch", ["a/mine.py:loss", "b/mine.py:loss"], 3)
    with pytest.raises(OptarenaError, match="'A' and 'B' are the same optimizer"):
        run([oa.use("RandomSearch", name="A"), oa.use("RandomSearch", name="B")], parabola, 3)


def test_each_plan_on_a_store_keeps_its_own_root():
    one = oa.Experiment("RandomSearch", "functions/sphere/d2", 5)
    two = oa.Experiment("RandomSearch", "functions/ackley/d2", 5)
    first = one.run("store", workers=0).studies["root"][0]
    two.run("store", workers=0, new=True)
    again = one.run("store", workers=0)
    assert again.studies.height == 2
    assert again.studies.filter(again.studies["problem"] == "functions/sphere/d2")["root"].to_list() == [first]


def test_what_close_returns_says_nothing_of_the_study(register):
    class ClosesWithAWord(Watching):
        def close(self):
            return "closed"

    class ClosesWithTrue(oa.Problem):
        id = "closing"
        space = oa.Space(LINE)

        def evaluate(self, x):
            return x["x"] ** 2

        def close(self):
            return True

    results = run([register(ClosesWithAWord)], [ClosesWithTrue()])
    assert results.studies["status"].to_list() == ["done"]


def test_a_lost_evaluation_of_a_stateful_problem_is_made_again():
    from pathlib import Path

    @oa.as_problem(LINE, stateless=False)
    def remembering(x):
        return x["x"] ** 2

    first = run("RandomSearch", remembering, batch=1, target=-1.0).in_full().traces().values
    (path,) = Path("store/journal").glob("*.jsonl")
    rows = path.read_text().splitlines(keepends=True)
    kept = [row for row in rows if not ('"t":"e"' in row and '"k":4,' in row)]
    assert len(kept) == len(rows) - 1
    path.write_text("".join(kept))
    assert oa.open("store").studies["reason"].to_list() == ["1 evaluation is lost"]
    again = run("RandomSearch", remembering, batch=1, target=-1.0)
    assert again.studies["status"].to_list() == ["done"]
    assert np.array_equal(again.in_full().traces().values, first)


# ---- failures that must not pass for results -------------------------------------------------------------------------


class Columnwise(oa.Optimizer):
    """Suggests matrices that are stored column by column."""

    capabilities = oa.Capabilities(array_native=True)

    def suggest(self, n):
        return np.asfortranarray(self.space.sample(n, self.rng))


@pytest.mark.parametrize(
    "problem", ["bbob/f1/d3/i1", "bbob-biobj/f1/d2/i1", "functions/sphere/d3", "zdt/zdt1/d5", "dtlz/dtlz2/m3/d4"]
)
def test_suggestions_in_fortran_order_are_evaluated(problem):
    several = oa.Capabilities(array_native=True, several_objectives=True)
    cls = type("ColumnwiseToo", (Columnwise,), {"capabilities": several})
    results = oa.Experiment([oa.use(cls, name="F")], problem, 12, batch=4, seed=ROOT).run("s", workers=0)
    assert results.studies.select("status", "evaluations", "failures").rows() == [("done", 12, 0)]


def test_halton_points_are_evaluated_on_bbob():
    use = oa.use("QuasiRandom", sequence="halton")
    results = oa.Experiment([use], "bbob/f1/d3/i1", 20, batch=4, seed=ROOT).run("s", workers=0)
    assert results.studies["failures"].to_list() == [0]


def test_a_study_in_which_every_evaluation_failed_has_failed_and_a_retry_starts_it_again(tmp_path):
    (tmp_path / "moody.py").write_text(
        "import os, optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def moody(x):\n    assert os.path.exists('licence'), 'no licence'\n    return x['x']\n"
    )
    experiment = oa.Experiment("RandomSearch", "moody.py:moody", 6, seed=ROOT)
    for workers in (0, 1):
        first = experiment.run(f"s{workers}", workers=workers)
        assert first.studies.select("status", "reason", "failures").rows() == [
            ("failed", "every evaluation failed: AssertionError: no licence (moody.py line 4)", 6)
        ]
    assert replay("s0", first.studies["study"][0]).same
    (tmp_path / "licence").touch()
    again = experiment.run("s1", retry=True, workers=1)
    assert again.studies.select("status", "attempt", "failures", "conflicts").rows() == [("done", 1, 0, 0)]


def test_a_study_with_one_good_evaluation_is_done():
    @oa.as_problem(LINE, id="mostly")
    def mostly(x):
        mostly.calls = getattr(mostly, "calls", 0) + 1
        if mostly.calls != 3:
            raise ValueError("not now")
        return x["x"]

    assert run("RandomSearch", mostly, 5).studies.select("status", "failures").rows() == [("done", 4)]
