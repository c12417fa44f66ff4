"""The dataset keeps improvements and counts, and gives the scores of all rows."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from journals import rewrite
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats import export, import_files
from optarena.problem import Evaluation
from optarena.store import Store, lines, streaming
from optarena.store.compaction import compact
from optarena.store.costs import OBSERVE, spread
from optarena.views import score

ROOT = "7489654c-803c-453d-a1a8-691ab4d990c3"
SPACE = {
    "a": {"type": "real", "space": "linear", "range": [-2, 2]},
    "b": {"type": "int", "space": "log", "range": [1, 9]},
}


@oa.as_problem(SPACE, id="hidden", sense="max", metrics=("test", "other"))
def hidden(x):
    """Coarse values that tie, a metric that does not follow them, one that is not always a number."""
    if x["b"] == 7:
        raise ValueError("seven")
    value = float(np.round(x["a"], 1))
    return Evaluation((value,), metrics={"test": -abs(x["a"] - 0.3), "other": np.nan if x["b"] == 3 else x["b"]})


@oa.as_problem(SPACE, id="constrained", constraints=2, optimum=-2.0)
def constrained(x):
    return Evaluation((x["a"],), violations=(1.0 - x["a"], x["b"] - 8.0))


@oa.as_problem(SPACE, id="two", sense=["min", "max"], constraints=1)
def two(x):
    return Evaluation((x["a"] ** 2, float(x["b"]) - x["a"]), violations=(x["b"] - 8.5,))


@oa.as_problem(SPACE, id="three", sense=["min", "min", "min"])
def three(x):
    return [x["a"] ** 2, (x["a"] - 1) ** 2, float(x["b"])]


def run(path="store", **options):
    given = {"trials": 2, "batch": 4, "seed": ROOT, **options}
    problems = [hidden, constrained, two, three, "functions/failing/d2", "bbob/f8/d2/i1", "bbob-noisy/f101/d2/i1"]
    return oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 60, **given).run(path, workers=0)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A store whose studies are in two pieces each: some in a shard, some in journals."""
    path = tmp_path_factory.mktemp("made") / "store"
    problems = [hidden, constrained, two, three, "functions/failing/d2", "bbob/f8/d2/i1", "bbob-constrained/f1/d2/i1"]
    for budget in (40, 120):
        experiment = oa.Experiment(
            ["RandomSearch", "QuasiRandom"],
            problems,
            budget,
            trials=2,
            batch=4,
            seed=ROOT,
        )
        experiment.run(path, workers=0)
        if budget == 40:
            compact(Store(path))
    return path


def shown(view):
    data = view.to_data()
    return json.dumps(data, sort_keys=True, default=str)


VIEWS = [
    ("fixed_cost", {}),
    ("fixed_cost", {"mode": "bayesmark"}),
    ("fixed_cost", {"axis": "evaluations"}),
    ("fixed_cost", {"axis": "seconds"}),
    ("fixed_target", {}),
    ("fixed_target", {"mode": "coco"}),
    ("fixed_target", {"axis": "batches"}),
    ("pareto", {}),
    ("pareto", {"axis": "seconds"}),
    ("anytime", {"axis": "evaluations"}),
    ("anytime", {"axis": "seconds"}),
]


@pytest.mark.parametrize(("name", "options"), VIEWS)
def test_what_is_kept_scores_as_all_rows_do(made, name, options):
    kept = Dataset.of_store(made)
    full = kept.in_full()
    assert len(kept.columns.owner) < len(full.columns.owner)
    assert shown(score(kept, name, **options)) == shown(score(full, name, **options))


def test_tables_count_all_rows(made):
    kept = Dataset.of_store(made)
    full = kept.in_full()
    assert kept.studies.equals(full.studies)
    assert kept.failures().equals(full.failures())
    assert kept.infeasible().tolist() == full.infeasible().tolist()
    assert kept.best() == full.best()


def test_rows_that_are_kept_follow_improvements_not_evaluations():
    results = oa.Experiment("RandomSearch", "bbob/f1/d2/i1", 4000, batch=100).run("store", workers=0)
    assert results.in_full().traces().lengths.tolist() == [4000]
    assert results.traces().lengths[0] < 60
    assert results.studies["evaluations"].to_list() == [4000]


def test_a_pool_has_every_evaluation_of_its_studies(made):
    kept = Dataset.of_store(made)
    full = kept.in_full()
    chosen = np.flatnonzero(
        ((kept.studies["optimizer"] == "RandomSearch") & kept.studies["sense"].is_not_null()).to_numpy()
    )
    traces, metric = full.traces(), full.metric("test")[0]
    for name in (None, "test"):
        pool = kept.pool(chosen, name)
        for i in chosen.tolist():
            own = slice(traces.offsets[i], traces.offsets[i + 1])
            y = traces.values[own, 0]
            fine = traces.feasible[own] & ~np.isnan(y)
            np.testing.assert_array_equal(pool.visible[pool.study == i], np.where(fine, y, np.inf))
            if name and full.cards[i].metrics:
                np.testing.assert_array_equal(pool.values[pool.study == i], np.where(fine, -metric[own], np.inf))


def test_journals_are_read_in_pieces_of_any_size(monkeypatch):
    run()
    whole = Dataset.of_store("store")
    for size in (300, 5_000):
        monkeypatch.setattr(lines, "BLOCK_BYTES", size)
        part = Dataset.of_store("store")
        assert part.studies.equals(whole.studies)
        np.testing.assert_array_equal(part.traces().evaluation, whole.traces().evaluation)
        np.testing.assert_array_equal(part.traces().values, whole.traces().values)
        np.testing.assert_array_equal(part.traces().seconds, whole.traces().seconds)
        assert part.best() == whole.best()


def test_rows_that_two_files_have_are_counted_once():
    results = run()
    (only,) = Path("store/journal").glob("*.jsonl")
    shutil.copy(only, only.with_name("copy.jsonl"))
    again = Dataset.of_store("store")
    assert again.studies.equals(results.studies)
    np.testing.assert_array_equal(again.in_full().traces().values, results.in_full().traces().values)


def test_rows_that_contradict_each_other_are_named():
    oa.Experiment("RandomSearch", "bbob/f1/d2/i1", 30, batch=10).run("store", workers=0)
    (only,) = Path("store/journal").glob("*.jsonl")
    lines = only.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith('{"t":"e"'))
    row = json.loads(lines[at])
    row["y"][-1][0] += 1000.0  # no improvement in either file
    lines[at] = json.dumps(row, separators=(",", ":"))
    rewrite(only.with_name("copy.jsonl"), lines)
    assert Dataset.of_store("store").studies["conflicts"].to_list() == [1]


def test_points_come_in_the_order_that_was_asked_for(made):
    """Of several studies, also from shards."""
    for dataset in (Dataset.of_store(made), run("journals")):
        full = dataset.in_full()
        rows = np.flatnonzero(
            [dataset.cards[i].id == "two" for i in np.repeat(np.arange(len(full.chosen)), full.rows[1])]
        )
        shuffled = np.random.default_rng(1).permutation(rows)
        points, values = full.parameters(shuffled), full.traces().values[shuffled, 0]
        assert [point[0] ** 2 for point in points] == values.tolist()


def test_of_rows_that_contradict_each_other_the_first_that_was_written_counts():
    for problem in ("bbob/f1/d2/i1", "bbob/f2/d2/i1", "bbob/f3/d2/i1", "bbob/f8/d2/i1"):
        name = problem.replace("/", "-")
        first = oa.Experiment("RandomSearch", problem, 30, batch=10).run(name, workers=0).studies["best"][0]
        (only,) = Path(name, "journal").glob("*.jsonl")
        header, *lines = only.read_text().splitlines()
        later = json.loads(header)
        later["time"] += 100.0
        at = next(i for i, line in enumerate(lines) if line.startswith('{"t":"e"'))
        row = json.loads(lines[at])
        row["y"][-1][0] = -1e6
        lines[at] = json.dumps(row, separators=(",", ":"))
        compact(Store(name))
        rewrite(only, [json.dumps(later, separators=(",", ":")), *lines])
        assert Dataset.of_store(name).studies.select("best", "conflicts").row(0) == (first, 1)
        compact(Store(name))
        assert Dataset.of_store(name).studies.select("best", "conflicts").row(0) == (first, 1)
        assert Dataset.of_store(name).in_full().studies["best"][0] == first
        assert Dataset.of_store(name).pool(np.array([0])).visible.min() == first


def test_rows_are_read_again_while_other_studies_begin(monkeypatch):
    """Attempts that two files have are read in full, and by then the store may have more."""
    results = run()
    (only,) = Path("store/journal").glob("*.jsonl")
    shutil.copy(only, only.with_name("copy.jsonl"))
    read = streaming.read_columns

    def meanwhile(*given):
        monkeypatch.setattr(streaming, "read_columns", read)
        oa.Experiment("RandomSearch", "bbob/f3/d2/i1", 10, seed=ROOT).run("store", workers=0)
        return read(*given)

    monkeypatch.setattr(streaming, "read_columns", meanwhile)
    again = Dataset.of_store("store")
    assert again.studies.filter(pl.col("status") != "missing").equals(results.studies)


def test_compaction_changes_no_figure():
    before = run("store")
    told, costs = before.in_full().traces(), before.in_full().costs()
    seconds = told.seconds
    compact(Store("store"))
    after = oa.open("store")
    assert after.studies.equals(before.studies)
    np.testing.assert_array_equal(after.in_full().traces().seconds, seconds)
    np.testing.assert_array_equal(after.in_full().costs(), costs)
    for problem in ("bbob/*", "two", "hidden"):  # of which some have one objective and others several
        part = after.filter(problem=problem)
        np.testing.assert_array_equal(
            part.in_full().traces().values, before.filter(problem=problem).in_full().traces().values
        )


def test_the_costs_of_a_line_are_shared_without_losing_a_nanosecond():
    lines = np.array([[7, 5, 100, 51, 3, 2], [1, 1, 2, 0, 1, 1], [10**15, 0, 10**15 + 1, 3, 0, 0]])
    rows = spread(lines, [30, 1, 7])
    assert len(rows) == 38
    assert rows[:30].sum(axis=0).tolist() == lines[0].tolist()
    assert rows[30].tolist() == lines[1].tolist()
    assert rows[31:].sum(axis=0).tolist() == lines[2].tolist()
    assert (rows[1:30, [0, 1, 4, 5]] == 0).all()
    assert np.ptp(rows[:30, 2]) <= 1


def test_a_dataset_of_many_journals_survives_their_compaction(monkeypatch):
    monkeypatch.setattr(streaming, "MAX_OPEN", 0)
    results = run()
    best, full = results.best(), results.in_full()
    points = str(full.points(full.studies["study"][0]))  # some metrics are nan
    compact(Store("store"))
    assert results.best() == best
    assert str(full.points(full.studies["study"][0])) == points


def test_a_dataset_does_not_change_while_its_store_grows():
    def experiment(budget):
        return oa.Experiment("RandomSearch", "bbob/f1/d2/i1", budget, seed=ROOT)

    experiment(20).run("store", workers=0)
    early = Dataset.of_store("store")
    experiment(50).run("store", workers=0)
    compact(Store("store"))
    assert early.in_full().traces().lengths.tolist() == [20]
    assert early.in_full().studies.equals(early.studies)
    assert len(early.pool(np.array([0])).visible) == 20
    assert len(early.points(early.studies["study"][0])) == 20
    assert Dataset.of_store("store").in_full().traces().lengths.tolist() == [50]


def test_what_a_dataset_gives_cannot_be_changed():
    traces = run(trials=1).traces()
    for array in (traces.offsets, traces.evaluation, traces.values, traces.feasible):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = array[0]


def test_a_frame_is_scored_without_touching_the_disk():
    rows = [
        {"optimizer": name, "problem": "p", "trial": trial, "evaluation": k, "value": (k * 7 + trial) % 11 + offset}
        for name, offset in (("RandomSearch", 0.0), ("Mine", -1.0))
        for trial in range(3)
        for k in range(1, 9)
    ]
    results = oa.from_frame(pl.DataFrame(rows))
    assert list(Path().iterdir()) == []
    assert results.studies.height == 6
    stored = oa.from_frame(pl.DataFrame(rows), "store")
    assert results.fixed_cost().table("summary").equals(stored.fixed_cost().table("summary"))
    assert results.compare().to_data() == stored.compare().to_data()
    assert (
        results.filter(optimizer="Mine").studies["best"].to_list()
        == stored.filter(optimizer="Mine").studies["best"].to_list()
    )


def test_files_of_other_tools_are_read_without_a_store():
    results = oa.Experiment("RandomSearch", "bbob/f{1,8}/d2/i1", 30, trials=2).run("store", workers=0)
    for name in ("coco", "csv", "iohprofiler"):
        path = export(name, results, f"out-{name}")
        before = sorted(Path().rglob("*"))
        read = oa.read(name, path)
        assert sorted(Path().rglob("*")) == before
        import_files(name, [path], f"imported-{name}")
        imported = oa.open(f"imported-{name}")
        assert read.studies.drop("started", "ended").equals(imported.studies.drop("started", "ended"))
        assert read.fixed_target().ert.equals(imported.fixed_target().ert)


def test_a_damaged_frame_is_refused_in_memory_too():
    with pytest.raises(OptarenaError, match="optimizer"):
        oa.from_frame(pl.DataFrame({"problem": ["p"], "value": [1.0]}))


def test_observing_is_charged_once_when_a_study_goes_on():
    class Slow(oa.Optimizer):
        def suggest(self, n):
            return self.space.to_dicts(self.space.from_unit(self.rng.random((n, self.space.dimension))))

        def observe(self, X, y):
            sum(range(300_000))

    for budget in (10, 20, 30):
        results = oa.Experiment(Slow, "bbob/f1/d2/i1", budget, batch=10, seed=ROOT).run("store", workers=0)
    full = results.in_full()
    again = [row for row in full.costs()[[10, 20], OBSERVE].tolist() if row]
    assert again == []  # the ends of the runs before were charged with it
    charged = results.studies.select(pl.sum_horizontal("suggest_seconds", "evaluate_seconds", "observe_seconds")).item()
    last_end = results.attempts[0].ends[-1].w[OBSERVE] * 1e-9
    assert full.traces().seconds[-1] == pytest.approx(charged - last_end, rel=1e-9)


def test_a_part_is_the_same_whether_or_not_the_whole_was_looked_at_before():
    run()
    alone = oa.open("store").filter(optimizer="QuasiRandom", problem=["two", "hidden"])
    whole = oa.open("store")
    n = whole.studies.height
    part = whole.filter(optimizer="QuasiRandom", problem=["two", "hidden"])
    assert part.studies.equals(alone.studies)
    assert part.versions().equals(alone.versions())
    assert part.hosts == alone.hosts
    assert part.environments() == alone.environments()
    backwards = whole.select(np.arange(n)[::-1])
    assert backwards.studies.equals(whole.studies.reverse())
    np.testing.assert_array_equal(backwards.select(np.arange(n)[::-1]).traces().values, whole.traces().values)


def test_a_pool_is_read_again_only_where_rows_were_left_out(monkeypatch):
    for budget, reads in ((1, False), (60, True)):
        path = f"store{budget}"
        oa.Experiment("RandomSearch", "functions/sphere/d2", budget, trials=3, seed=ROOT).run(path, workers=0)
        results = oa.open(path)
        asked = []
        pieces = results._reader.pieces
        with monkeypatch.context() as patched:
            noted = lambda _, keys, of=pieces, asked=asked: asked.append(1) or of(keys)  # noqa: E731
            patched.setattr(type(results._reader), "pieces", noted)
            pool = results.pool(np.arange(3))
        assert bool(asked) is reads
        np.testing.assert_array_equal(pool.visible, results.in_full().traces().values[:, 0])
        assert pool.study.tolist() == np.repeat(np.arange(3), budget).tolist()
