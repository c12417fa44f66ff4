"""What grows: long studies continue without their rows, lives write only what is new, very many optimizers compare."""

from __future__ import annotations

import itertools
import json
import uuid
from collections import Counter, deque
from pathlib import Path

import msgspec
import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.comparison import compare_scores, pairs
from optarena.dataset import Dataset
from optarena.runner import recorded
from optarena.runner.past import Past, from_columns, needs_no_rows, read_continued
from optarena.runner.pool import MAKING, WAITING, Pool
from optarena.runner.recorded import Recorded, array, failed, plain
from optarena.runner.worker import Task
from optarena.stats.corrections import holm
from optarena.stats.effects import score_interval
from optarena.stats.ranks import groups
from optarena.views._scores import Scores

ROOT = uuid.UUID(int=20)
MIXED = {
    "a": {"type": "real", "space": "log", "range": [1e-3, 1.0]},
    "b": {"type": "int", "space": "linear", "range": [1, 9]},
    "c": {"type": "cat", "values": ["u", "v", "w"]},
}


@pytest.fixture(autouse=True)
def _inside(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@oa.as_problem(MIXED)
def mixed(x):
    if x["b"] == 9:
        raise ValueError(f"no value for {x['c']}")
    return x["a"] + x["b"] + len(x["c"])


def rows_of(store):
    """What a store has of its only study, without costs."""
    results = oa.open(store)
    (study,) = results.studies["study"].to_list()
    return [str(row) for row in results.points(study)]  # as texts: what failed is NaN


# ---- long studies ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("problem", ["functions/sphere/d3", mixed])
@pytest.mark.parametrize(
    "optimizer", ["RandomSearch", "QuasiRandom", oa.use("QuasiRandom", sequence="halton", scramble=False)]
)
@pytest.mark.parametrize("batch", [1, 7])
def test_a_continued_study_of_an_optimizer_that_does_not_learn_has_the_same_bits(problem, optimizer, batch):
    for evaluations in (40, 300, 641):
        oa.Experiment(optimizer, problem, evaluations, batch=batch, seed=ROOT, record="all").run("parts", workers=0)
    oa.Experiment(optimizer, problem, 641, batch=batch, seed=ROOT, record="all").run("whole", workers=0)
    assert rows_of("parts") == rows_of("whole")
    (now,), (whole,) = (oa.open(store).studies.to_dicts() for store in ("parts", "whole"))
    assert (now["attempt"], now["status"], now["failures"]) == (0, "done", whole["failures"])


def test_a_continued_study_writes_only_what_is_new_and_draws_points_without_evaluating():
    met = []
    problem = oa.as_problem(MIXED)(lambda x: met.append(x) or x["a"])
    oa.Experiment("RandomSearch", problem, 300, seed=ROOT).run("s", workers=0)
    before = set(Path("s/journal").iterdir())
    met.clear()
    oa.Experiment("RandomSearch", problem, 310, seed=ROOT).run("s", workers=0)
    (new,) = set(Path("s/journal").iterdir()) - before
    assert len(met) == 10
    told = [line for line in map(json.loads, new.read_text().splitlines()) if line["t"] == "e"]
    assert sum(len(line["y"]) for line in told) == 10


def past_of(evaluations, optimizer="RandomSearch"):
    experiment = oa.Experiment(optimizer, "functions/sphere/d3", evaluations, seed=ROOT, record="all")
    store = f"{optimizer}-{evaluations}"
    experiment.run(store, workers=0)
    plan = experiment.plan(ROOT)
    (study,), before = plan.studies, Dataset.of_store(store)
    cls, problem = plan.classes[study.optimizer.label], plan.problems[study.problem]
    if not needs_no_rows(before.columns, study, cls, problem):
        return from_columns(before.in_full().columns, study.id)
    *_, past = read_continued(before.columns, study)
    return past


def test_what_goes_to_a_worker_does_not_grow_where_nothing_is_learned():
    short, long = past_of(200), past_of(20_000)
    assert (short.last, long.last) == (200, 20_000)
    assert len(long.rows) < 60
    learner = past_of(200, "CMA-ES")
    assert len(learner.rows) == 200
    assert not learner.in_store


def test_a_past_is_the_same_after_its_way_to_a_worker():
    past = past_of(200, "CMA-ES")
    line = msgspec.json.Encoder(enc_hook=plain).encode(past)
    again = msgspec.json.Decoder(Past, dec_hook=array).decode(line)
    for name in ("evaluation", "status", "points", "values", "violations", "metrics"):
        assert np.array_equal(getattr(past.rows, name), getattr(again.rows, name))
    assert (past.spent, past.observed, past.last) == (again.spent, again.observed, again.last)


def test_other_points_than_those_recorded_begin_a_new_attempt(monkeypatch):
    oa.Experiment("RandomSearch", "functions/sphere/d3", 300, seed=ROOT).run("s", workers=0)
    sample = oa.Space.sample  # as if a library drew otherwise since
    monkeypatch.setattr(oa.Space, "sample", lambda self, n, rng: np.clip(sample(self, n, rng) + 1e-9, -1.0, 1.0))
    oa.Experiment("RandomSearch", "functions/sphere/d3", 310, seed=ROOT).run("s", workers=0)
    (row,) = oa.open("s").studies.to_dicts()
    assert (row["attempt"], row["status"], row["evaluations"]) == (1, "done", 310)


def test_evaluations_that_a_store_lost_are_made_again_also_where_nothing_is_learned():
    oa.Experiment("RandomSearch", "functions/sphere/d3", 700, seed=ROOT).run("whole", workers=0)
    oa.Experiment("RandomSearch", "functions/sphere/d3", 600, seed=ROOT).run("s", workers=0)
    (journal,) = Path("s/journal").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    lost = next(i for i, line in enumerate(lines) if '"k":257' in line)
    journal.write_text("".join(lines[:lost] + lines[lost + 1 :]))
    oa.Experiment("RandomSearch", "functions/sphere/d3", 700, seed=ROOT).run("s", workers=0)
    assert rows_of("s") == rows_of("whole")


def test_a_pool_looks_after_its_workers_while_a_past_is_read(monkeypatch):
    monkeypatch.setattr(recorded, "CHUNK", 50)
    experiment = oa.Experiment("CMA-ES", "functions/sphere/d3", 200, seed=ROOT, record="all")
    experiment.run("s", workers=0)
    (study,) = experiment.plan(ROOT).studies
    steps = list(read_continued(Dataset.of_store("s").in_full().columns, study))
    assert steps[:-1] == [None] * 4
    assert steps[-1].last == 200
    pool, todo = Pool.__new__(Pool), deque()
    pool.wanted = 1
    first, second = (Task(serial, study, "", "") for serial in (1, 2))
    tasks = iter([MAKING, first, WAITING, second])
    assert [(pool._more(tasks, todo), list(todo)) for _ in range(3)] == [
        (MAKING, []),
        (WAITING, [first]),
        (WAITING, [first, second]),  # as many as are wanted
    ]
    todo.clear()
    assert pool._more(tasks, todo) is None


# ---- lives -----------------------------------------------------------------------------------------------------------


def test_a_point_that_a_new_life_wrote_is_known_to_the_next():
    late = Past(rows=failed(2, "timed out", "more than 1 s", (1, 1, 0, 0)))
    assert not late.rows.located.any()
    row = Recorded(np.array([2]), late.rows.status, np.array([[0.5]]), late.rows.values, *[np.empty((1, 0))] * 2)
    again = late.extended(Past(rows=row))
    assert again.rows.located.all()
    assert again.rows.messages == {2: "more than 1 s"}


@pytest.mark.xdist_group("processes")
def test_time_outs_write_two_rows_each_however_many_there_were_before():
    Path("late.py").write_text(
        "import time\nimport optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0.0, 1.0]}})\n"
        "def problem(x):\n    time.sleep(3600 if x['x'] > 0.4 else 0)\n    return x['x']\n"
    )
    main(["run", "-o", "RandomSearch", "-p", "late.py:problem", "-n", "9", "--workers", "1", "--seed", str(ROOT),
          "--evaluation-limit", "0.5", "--store", "s"])  # fmt: skip
    lines = [json.loads(line) for path in Path("s/journal").iterdir() for line in path.read_text().splitlines()]
    written = Counter(line["k"] for line in lines if line["t"] == "e" and line.get("f"))
    assert len(written) >= 4
    assert set(written.values()) <= {1, 2}  # by the supervisor, and once more with the point
    (row,) = oa.open("s").studies.to_dicts()
    assert (row["status"], row["evaluations"], row["failures"]) == ("done", 9, len(written))


def test_a_run_that_has_nothing_to_do_writes_nothing(capsys):
    def files():
        return {path: (path.stat().st_mtime_ns, path.is_dir() or path.read_bytes()) for path in Path("s").rglob("*")}

    call = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "20", "--workers", "1", "--store", "s"]
    main(call)
    before = files()
    capsys.readouterr()
    main(call)
    after = files()
    lock = Path("s/.run.lock")
    assert {path: what for path, what in after.items() if path != lock} == {
        path: what for path, what in before.items() if path != lock
    }
    assert "nothing was left to do" in "".join(capsys.readouterr())


# ---- very many optimizers --------------------------------------------------------------------------------------------


def many(k, problems=24, trials=4):
    rng = np.random.default_rng(3)
    values = np.linspace(0, 0.5, k)[None, :, None] + rng.normal(0, 0.1, (problems, k, trials))
    names = [f"o{i}" for i in range(k)]
    return Scores(
        "fixed-cost", "value", "made up", [f"p{i}" for i in range(problems)], names, values, [None] * problems
    )


@pytest.mark.parametrize("over", ["problems", "trials"])
def test_of_very_many_optimizers_the_leader_is_compared_with_each_and_that_is_said(over):
    few, found = (compare_scores(many(k), over=over, resamples=100) for k in (12, 62))
    assert not any("only those of the leader" in text for text in few.sentences)
    assert sum("only those of the leader" in text for text in found.sentences) == 1
    table = found.table("pairs")
    leader = found.optimizers[found.overall.order[0]]
    assert table.height == 61
    assert set(table["optimizer"]) == {leader}
    assert found.to_data()["tests"] == 62 * 61 // 2


@pytest.mark.parametrize("over", ["problems", "trials"])
def test_the_leaders_pairs_are_those_that_all_pairs_would_give_with_no_smaller_p(over, monkeypatch):
    scores = many(12)
    whole = compare_scores(scores, over=over, resamples=100).pairs
    monkeypatch.setattr(pairs, "MANY", 5)
    part = compare_scores(scores, over=over, resamples=100).pairs
    place = {pair: i for i, pair in enumerate(zip(whole.first.tolist(), whole.second.tolist(), strict=True))}
    at = [place[pair] for pair in zip(part.first.tolist(), part.second.tolist(), strict=True)]
    assert len(at) == 11
    for name in ("improvement", "difference", "wins", "ties", "losses"):
        assert getattr(part, name).tolist() == pytest.approx(getattr(whole, name)[at].tolist())
    assert (part.lower <= whole.lower[at] + 1e-9).all()  # corrected for all pairs
    assert (part.other_p >= whole.other_p[at]).all()


def test_holm_corrects_some_tests_for_all_that_there_are():
    p = [0.001, 0.02, 0.004]
    assert holm(p).tolist() == holm(p, 3).tolist()
    assert holm(p, 10).tolist() == pytest.approx([0.01, 0.16, 0.036])


def test_intervals_of_many_pairs_at_once_are_those_of_each():
    rng = np.random.default_rng(1)
    value, m, n = rng.random(40), rng.integers(2, 9, (40, 7)), rng.integers(2, 9, (40, 7))
    lower, upper = score_interval(value, m, n)
    each = [score_interval(value[i], m[i], n[i]) for i in range(40)]
    assert lower.tolist() == [float(low) for low, _ in each]
    assert upper.tolist() == [float(high) for _, high in each]


def test_bars_are_the_longest_runs_in_which_no_two_differ():
    rng = np.random.default_rng(2)
    for _ in range(50):
        k = int(rng.integers(1, 9))
        ranks, apart = rng.permutation(k).astype(float), rng.random((k, k)) < 0.2
        order = np.argsort(ranks)
        alike = [
            (low, high)
            for low, high in itertools.combinations(range(k + 1), 2)
            if not (apart | apart.T)[np.ix_(order[low:high], order[low:high])][~np.eye(high - low, dtype=bool)].any()
        ]
        longest = [
            order[low:high].tolist()
            for low, high in sorted(alike)
            if high - low > 1 and not any(a <= low and high <= b and (a, b) != (low, high) for a, b in alike)
        ]
        assert groups(ranks, apart & ~np.eye(k, dtype=bool)) == longest
