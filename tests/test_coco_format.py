"""COCO's data folders: what is imported gives cocopp's figures, what is exported reads the same, damage is named."""

from __future__ import annotations

import csv
import gzip
import io
import json
import shutil
import subprocess
import sys
import tarfile
import zipfile
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import optarena
from coco_observer import observe
from optarena import Experiment, OptarenaError
from optarena.cli import main
from optarena.formats import coco, export, folders, import_files
from optarena.staircase import coco_indicator
from optarena.views.fixed_cost import fixed_cost
from optarena.views.fixed_target import fixed_target

DATA = Path(__file__).parent / "data" / "coco"
SAMPLES = DATA / "samples"
TARGETS = 10.0 ** np.arange(2, -8.2, -0.2)
OLD_HEAD = "% function evaluation | noise-free fitness - Fopt (7.9e+01) | best noise-free fitness - Fopt | measured"
NEW_HEAD = "% f evaluations | g evaluations | best noise-free fitness - Fopt (7.9e+01) + sum g_i+ | measured fitness"


def table(name):
    path = next(folder / name for folder in (DATA, DATA.parent / "coco_figures") if (folder / name).exists())
    with gzip.open(path, "rt") if name.endswith(".gz") else path.open() as file:
        return list(csv.DictReader(file))


def hits(results, targets=TARGETS, metric=None, tolerance=1e-9):
    """(optimizer, problem, trial) -> evaluations of the first hits (docs/scores.md 2.3), inf where there is none."""
    traces = results.in_full().traces()
    best = traces.best_so_far()
    if metric is not None:
        column = results.in_full().columns.metrics[results.in_full().rows[0], 0]
        best = np.where(np.isnan(column), np.inf, column)
    out = {}
    names = results.studies.select("optimizer", "problem", "trial").rows()
    for i, name in enumerate(names):
        rows = slice(traces.offsets[i], traces.offsets[i + 1])
        reached = np.minimum.accumulate(best[rows])[:, None] <= targets + tolerance * np.abs(targets)
        first = traces.evaluation[rows][np.argmax(reached, axis=0)].astype(float)
        out[name] = np.where(reached.any(axis=0), first, np.inf).tolist()
    return out


def import_coco(*paths, store="store"):
    done = import_files("coco", list(paths), store)
    return optarena.open(store), [text for item in done for text in item.notices]


def write_golden(folder, old=False):
    """The golden runs as an observer would have written them."""
    traces = defaultdict(list)
    for row in table("traces.csv.gz"):
        traces[row["algorithm"], row["function"], row["dim"], row["run"]].append((row["evals"], row["df"]))
    files, infos = defaultdict(list), defaultdict(dict)
    for row in table("runs.csv"):
        a, f, d = row["algorithm"], row["function"], row["dim"]
        lines = files[f"{a}/data_f{f}/bbobexp_f{f}_DIM{d}.dat"]
        lines.append(OLD_HEAD if old else NEW_HEAD)
        lines += [f"{k} 0 {df} 0 0" for k, df in traces[a, f, d, row["run"]]]
        entries = infos[f"{a}/bbobexp_f{f}.info"].setdefault(d, [])
        entries.append(f"{row['instance']}:{row['maxevals']}|{row['final_df_2digits']}")
    for name, dimensions in infos.items():
        a, f = name.split("/")[0], name.rpartition("_f")[2].removesuffix(".info")
        for d, entries in dimensions.items():
            slash = "\\" if old else "/"
            head = f"funcId = {f}, DIM = {d}, Precision = 1.000e-08, algId = '{a}'"
            if not old:
                head = f"suite = 'bbob', {head}, coco_version = '2.8.2', data_format = 'bbob-new2', settings = ''"
            files[name] += [head, "% hi", f"data_f{f}{slash}bbobexp_f{f}_DIM{d}.dat, " + ", ".join(entries)]
    for name, lines in files.items():
        path = Path(folder, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize("old", [False, True])
def test_imported_runs_have_cocopps_runtimes_budgets_and_successes(old):
    write_golden("golden", old)
    results, _ = import_coco("golden")
    found = hits(results)
    expected = {}
    for row in table("runtimes.csv.gz"):
        key = (row["algorithm"], f"bbob/f{row['function']}/d{row['dim']}/i{row['instance']}", 0)
        expected.setdefault(key, []).append(float(row["evals"] or "inf"))
    assert found == expected
    budgets = {
        (row["algorithm"], f"bbob/f{row['function']}/d{row['dim']}/i{row['instance']}"): int(row["maxevals"])
        for row in table("runs.csv")
    }
    frame = results.studies
    assert budgets == {(o, p): n for o, p, n in frame.select("optimizer", "problem", "evaluations").rows()}
    assert set(frame["status"]) == {"done"}
    assert set(frame["optimum"]) == {0.0}
    assert set(frame["record"]) == {"improvements"}
    assert set(results.attributes["values"]) == {"f - f_opt"}


def test_imported_runs_score_as_cocopp_scores_them():
    write_golden("golden")
    results, _ = import_coco("golden")
    found = fixed_target(results, mode="coco", bootstrap=0).tables["ert"]
    keys = ["optimizer", "function", "dimension"]
    golden = pl.DataFrame(table("ert_ps.csv.gz")).select(
        pl.col("algorithm").alias("optimizer"),
        pl.format("f{}", "function").alias("function"),
        pl.col("dim").cast(pl.Int64).alias("dimension"),
        pl.col("target").cast(pl.Float64).log10().mul(5).round(6).alias("level"),
        pl.col("nsucc").cast(pl.Int64),
        pl.col("ert").cast(pl.Float64).alias("golden"),
    )
    golden = golden.unique([*keys, "level"])
    both = found.with_columns(level=pl.col("target").log10().mul(5).round(6)).join(golden, on=[*keys, "level"])
    assert both.height == found.height == 3 * 4 * 3 * 51
    assert both["n_success"].to_list() == both["nsucc"].to_list()
    assert both["ert"].cast(pl.Float64).to_list() == pytest.approx(both["golden"].to_list(), rel=1e-12)


def test_imported_indicators_are_those_of_the_golden_runs():
    rows = defaultdict(list)
    for row in table("biobj_traces.csv.gz"):
        rows[int(row["function"]), int(row["dim"]), row["instance"]].append((row["evals"], row["indicator"]))
    info = ["suite = 'bbob-biobj', algorithm = 'MUT', indicator = 'hyp', folder = 'd', coco_version = '2.8.2'", "% hi"]
    made, names = defaultdict(list), defaultdict(list)
    for run in table("biobj_runs.csv.gz"):
        key = (int(run["function"]), int(run["dim"]))
        made[key].append(f"{run['instance']}:{run['maxevals']}|{run['final_indicator']}")
        names[key] += [
            "%",
            f"% instance = {run['instance']}, reference value = 0.8",
            "% function evaluation | indicator",
        ]
        names[key] += [f"{k}\t{value}\t1.0" for k, value in rows[*key, run["instance"]]]
    Path("in/d").mkdir(parents=True)
    for (f, d), lines in names.items():
        Path(f"in/d/f{f}_d{d}.dat").write_text("\n".join(lines) + "\n")
        info.append(f"function = {f:2}, dim = {d:2}, f{f}_d{d}.dat, {', '.join(made[f, d])}")
    Path("in/x_hyp.info").write_text("\n".join(info) + "\n")
    results, _ = import_coco("in")
    assert results.studies.height == sum(map(len, made.values()))
    traces = results.in_full().traces()
    for i, row in enumerate(results.studies.iter_rows(named=True)):
        own = slice(traces.offsets[i], traces.offsets[i + 1])
        given = [(int(k), float(v)) for k, v in rows[int(row["function"][1:]), row["dimension"], str(row["instance"])]]
        falling = [pair for j, pair in enumerate(given) if all(pair[1] < other for _, other in given[:j])]
        assert list(zip(traces.evaluation[own].tolist(), traces.values[own, 0].tolist(), strict=True)) == falling
        assert row["evaluations"] == 50 * row["dimension"]


def test_an_instance_that_is_repeated_is_another_trial():
    runs = table("unbalanced_runs.csv")
    traces = defaultdict(list)
    for row in table("unbalanced_traces.csv.gz"):
        traces[row["function"], row["dim"], row["run"]].append(f"{row['evals']} 0 {row['df']} 0 0")
    Path("one/data").mkdir(parents=True)
    chosen = [row for row in runs if row["function"] == "1" and row["dim"] == "2"]
    lines = [line for row in chosen for line in [NEW_HEAD, *traces["1", "2", row["run"]]]]
    Path("one/data/x.dat").write_text("\n".join(lines) + "\n")
    entries = ", ".join(f"{row['instance']}:{row['maxevals']}|0" for row in chosen)
    Path("one/a.info").write_text(f"funcId = 1, DIM = 2, algId = 'U'\n%\ndata/x.dat, {entries}\n")
    results, _ = import_coco("one")
    found = results.studies.select("problem", "trial", "evaluations").rows()
    assert sorted(found) == [
        *[("bbob/f1/d2/i1", 0, 120), ("bbob/f1/d2/i1", 1, 400), ("bbob/f1/d2/i1", 2, 900)],
        *[("bbob/f1/d2/i2", 0, 120), ("bbob/f1/d2/i2", 1, 400), ("bbob/f1/d2/i3", 0, 120)],
    ]
    shutil.copytree("one", "two")  # other runs of the same algorithm elsewhere are more trials
    data = Path("two/data/x.dat")
    data.write_text(data.read_text().replace("\n1 0 ", "\n1 0 9"))
    assert sorted(import_coco("one", "two", store="both")[0].studies["trial"]) == [0, 0, 0, 1, 1, 1, 2, 2, 3, 3, 4, 5]


def test_the_indicator_of_an_archive_is_cocos():
    known = {(r["function"], r["dim"], r["instance"]): r for r in table("biobj_problems.csv.gz")}
    points, traces = defaultdict(list), defaultdict(list)
    for row in table("biobj_archive.csv.gz"):
        points[row["function"], row["dim"], row["instance"]].append([float(row[n]) for n in ("evals", "y1", "y2")])
    for row in table("biobj_traces.csv.gz"):
        traces[row["function"], row["dim"], row["instance"]].append([float(row["evals"]), float(row["indicator"])])
    assert traces
    for key, rows in traces.items():
        told = known[key]
        archive = np.array(points[key])
        ideal, nadir = [(float(told[f"{name}1"]), float(told[f"{name}2"])) for name in ("ideal", "nadir")]
        values = coco_indicator(archive[:, 1:], ideal, nadir, float(told["hv_reference"]))
        at = np.searchsorted(archive[:, 0], np.array(rows)[:, 0], side="right") - 1
        assert values[at] == pytest.approx(np.array(rows)[:, 1], rel=1e-11)


# ---- what the observer writes is what we record --------------------------------------------------------------------

GIVEN = """
import sys
sys.path.insert(0, {tests!r})
import optarena as oa
from coco_observer import points

class Given(oa.Optimizer):
    "The points of the observer's runs."
    capabilities = oa.Capabilities(several_objectives=True, constraints=True, array_native=True)
    done = 0
    def suggest(self, n):
        space = self.space
        whole = sum(p.type == "int" for p in space.parameters)
        X = points(1, space.low, space.high, whole, {budget})
        self.done += n
        return X[self.done - n : self.done]
    def observe(self, X, y, violations=None):
        pass
"""


@pytest.mark.parametrize(
    ("suite", "functions", "dimensions"),
    [
        ("bbob", "1,8,15", "2,5,20"),
        ("bbob-boxed", "1,8", "2,5"),
        ("bbob-noisy", "1,9,17", "2,5"),
        ("bbob-largescale", "3", "20,40"),
        ("bbob-mixint", "2,20", "5,10"),
        ("bbob-constrained", "2,30", "2,5"),
        ("bbob-biobj", "1,30", "2,5"),
    ],
)
def test_the_observers_folder_imports_to_what_optarena_records(suite, functions, dimensions):
    budget = 150
    folder = observe(suite, functions, dimensions, "1,2", budget)
    theirs, notices = import_coco(folder, store="theirs")
    assert notices == []
    Path("given.py").write_text(GIVEN.format(tests=str(Path(__file__).parent), budget=budget))
    numbers = [str(int(f) + (100 if suite == "bbob-noisy" else 0)) for f in functions.split(",")]
    patterns = [f"{suite}/f{f}/d{d}/i{{1,2}}" for f in numbers for d in dimensions.split(",")]
    results = Experiment(["given.py:Given"], patterns, budget).run("ours", workers=0)
    assert set(results.studies["status"]) == {"done"}
    export("coco", results, "out")
    ours, notices = import_coco("out", store="again")
    assert notices == []
    assert ours.studies.height == theirs.studies.height > 0
    assert set(ours.studies["evaluations"]) == set(theirs.studies["evaluations"]) == {budget}
    metric = "indicator" if suite == "bbob-biobj" else None
    targets = 10.0 ** (np.arange(60, -81, -1) / 5 - 1e-7)  # beside the grid: on it the last digit may decide
    one, two = hits(theirs, targets, metric), hits(ours, targets, metric)
    # between its levels the observer logs late, so a first hit is what it says or before
    for (_, problem, trial), late in one.items():
        exact = two["Given", problem, trial]
        assert all(k <= n for k, n in zip(exact, late, strict=True))
    grid = 10.0 ** (np.arange(60, -81, -1) / 5)
    assert {k[1:]: v for k, v in hits(theirs, grid, metric).items()} == {
        k[1:]: v for k, v in hits(ours, grid, metric).items()
    }
    assert sorted(ours.studies["best"].fill_null(0)) == pytest.approx(
        sorted(theirs.studies["best"].fill_null(0)), rel=1e-8
    )


def test_bi_objective_archives_are_the_trace_and_the_indicator_a_metric():
    results, notices = import_coco(SAMPLES / "bbob-biobj")
    assert notices == []
    assert results.in_full().traces().values.shape[1] == 2
    attempt = results.columns.attempts[0]
    assert attempt.card.metrics == ("indicator",)
    assert attempt.card.known.hypervolume == 8.333329238494520e-01
    rows = results.points(attempt.start.study)
    assert [row["evaluation"] for row in rows] == [1, 3, 8, 51, 59]
    assert rows[0]["metrics"]["indicator"] == 3.679709650602082e02
    shutil.copytree(SAMPLES / "bbob-biobj", "bare")
    shutil.rmtree("bare/archive")
    alone, _ = import_coco("bare", store="alone")
    assert alone.columns.attempts[0].card.objectives[0].name == "indicator"
    assert alone.studies["best"].to_list() == pytest.approx([33.41040755674207, 22.68076410473693])


@pytest.mark.parametrize("sample", ["bbob", "bbob-biobj", "bbob-constrained"])
def test_what_is_imported_exported_and_imported_is_the_same(sample):
    first, _ = import_coco(SAMPLES / sample, store="a")
    export("coco", first, "out")
    second, notices = import_coco("out", store="b")
    assert notices == []
    a, b = first.in_full().traces(), second.in_full().traces()
    assert a.offsets.tolist() == b.offsets.tolist()
    assert a.evaluation.tolist() == b.evaluation.tolist()
    assert np.array_equal(a.values, b.values)
    names = ["study", "problem", "optimizer", "trial", "evaluations", "status"]
    assert first.studies.select(names).equals(second.studies.select(names))
    for axis in first.axes:
        np.testing.assert_array_equal(first.in_full().efforts(axis), second.in_full().efforts(axis))


def test_a_failed_run_is_charged_all_its_evaluations_of_constraints():
    shutil.copytree(SAMPLES / "bbob-constrained", "in")
    for ending in ("dat", "tdat"):  # the constraints are evaluated 30 times more after the last improvement
        path = Path(f"in/data_f2/bbobexp_f2_DIM2.{ending}")
        kept = [line for line in path.read_text().splitlines(keepends=True) if not line.startswith("60 60 ")]
        path.write_text("".join([*kept, "60 90 +6.873611940e+01 -1.974776561e+03 000 +1.6498e+00 -4.4071e-01\n"]))
    first, _ = import_coco("in", store="a")
    export("coco", first, "out")
    for results in (first, import_coco("out", store="b")[0]):
        view = results.fixed_target(targets=[100.0, 1.0], axis="constraint_evaluations", bootstrap=0)
        assert view.ert["ert"].to_list() == [51.0, np.inf]
        assert view.ert["rt_failure"].to_list() == [None, 90.0]
        assert view.notes == []
    for ending in ("dat", "tdat"):
        path = Path(f"in/data_f2/bbobexp_f2_DIM2.{ending}")
        path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    view = import_coco("in", store="c")[0].fixed_target(axis="constraint_evaluations", bootstrap=0)
    assert "1 run did not record the constraint_evaluations at the end" in view.notes[0]


def test_imported_differences_and_our_own_values_meet_by_their_optima():
    results = Experiment(["RandomSearch"], "bbob/f1/d2/i2", 3).run("store", workers=0)  # f_opt is 394.48
    theirs = import_coco(SAMPLES / "bbob")[0]
    (best,) = [row for row in theirs.best() if row["problem"] == "bbob/f1/d2/i2"]
    ours = results.studies.row(0, named=True)
    assert best["optimizer"] == ("RS" if ours["best"] - ours["optimum"] > 1.134116751 else "RandomSearch")
    Path("other").mkdir()
    far = (SAMPLES / "bbob" / "bbobexp_f8.info").read_text()
    shutil.copytree(SAMPLES / "bbob" / "data_f8", "other/data_f8")
    Path("other/a.info").write_text(far)
    Experiment(["Scipy-NelderMead"], "bbob/f8/d2/i2", 400).run("mixed", workers=0)  # f_opt is -1000
    mixed = import_coco("other", store="mixed")[0]
    (best,) = [row for row in mixed.best() if row["problem"] == "bbob/f8/d2/i2"]
    assert best["optimizer"] == "Scipy-NelderMead"


def test_fixed_cost_does_not_mix_values_with_differences_to_the_optimum():
    Experiment(["RandomSearch", "QuasiRandom"], "bbob/f1/d2/i2", 60).run("store", workers=0)
    alone = fixed_cost(optarena.open("store"))
    mixed = fixed_cost(import_coco(SAMPLES / "bbob")[0].filter(problem="bbob/f1/d2/i2"))
    assert any("f - f_opt" in row["reason"] for row in mixed.excluded)
    assert mixed.problem.equals(alone.problem)


def test_studies_that_tell_different_optima_of_a_problem_are_kept_apart():
    from optarena.store import Store
    from optarena.store.merging import merge

    import_coco(SAMPLES / "bbob", store="coco")  # f_opt of bbob/f1/d2/i2 is 394.48
    columns = {"problem": "bbob/f1/d2/i2", "suite": "bbob", "instance": 2, "optimizer": "A", "value": [400.0]}
    optarena.from_frame(pl.DataFrame(columns | {"f_opt": 394.48}), "same")
    merge([Store("coco"), Store("same")], Store("both"))
    view = fixed_target(optarena.open("both").filter(problem="bbob/f1/d2/i2"), targets=[1e1], bootstrap=0)
    assert view.excluded == []
    optarena.from_frame(pl.DataFrame(columns | {"f_opt": 300.0}), "other")
    with pytest.raises(OptarenaError, match="its optimum is"):
        merge([Store("coco"), Store("other")], Store("mixed"))
    with pytest.raises(OptarenaError, match=r"the optimum of bbob/f1/d2/i2 is"):
        import_coco(SAMPLES / "bbob", store="other")
    with pytest.raises(OptarenaError, match=r"the optimum of bbob/f1/d2/i2 is"):
        optarena.from_frame(pl.DataFrame(columns | {"f_opt": 300.0}), "coco")
    bare = optarena.from_frame(pl.DataFrame(columns), "coco").filter(problem="bbob/f1/d2/i2")
    assert ["it has f without f_opt" in row["reason"] for row in fixed_target(bare, bootstrap=0).excluded] == [True]


def test_the_same_folder_is_imported_once():
    import_coco(SAMPLES / "bbob")
    assert not import_files("coco", [SAMPLES / "bbob"], "store")[0].new
    assert optarena.open("store").studies.height == 4


def spellings(name):
    """Other ways to name the same runs."""
    if name == "link":
        Path("link").symlink_to(SAMPLES / "bbob", target_is_directory=True)
        return Path("link")
    if name == "archive":
        return pack("a.tgz", files_of("bbob"))
    if name == "copy":
        return shutil.copytree(SAMPLES / "bbob", "elsewhere/copy")
    return {"same": SAMPLES / "bbob", "dots": SAMPLES / ".." / "samples" / "bbob" / "."}[name]


@pytest.mark.parametrize("name", ["same", "dots", "link", "archive", "copy"])
def test_runs_that_are_named_twice_are_imported_once(name):
    other = spellings(name)
    one, two = import_files("coco", [SAMPLES / "bbob", other], "store")
    assert (one.added, two.added, dict(two.present)) == (4, 0, {str(SAMPLES / "bbob"): 4})
    (again,) = import_files("coco", [other], "store")
    assert dict(again.present) == {"store store": 4}
    assert optarena.open("store").studies.height == 4
    assert len(list(Path("store/journal").iterdir())) == 1


def test_a_folder_that_has_a_copy_of_itself_has_its_runs_once():
    shutil.copytree(SAMPLES / "bbob", "in/one")
    shutil.copytree(SAMPLES / "bbob", "in/two")
    assert import_coco("in")[0].studies.height == 4


def test_equal_runs_of_one_data_file_are_repetitions():
    Path("in/data").mkdir(parents=True)
    Path("in/data/x.dat").write_text(f"{NEW_HEAD}\n1 0 9.5 0 0\n3 0 2.5 0 0\n" * 3)
    Path("in/a.info").write_text("funcId = 1, DIM = 2, algId = 'U'\n%\ndata/x.dat, 1:5|2.5, 1:5|2.5, 1:5|2.5\n")
    assert import_coco("in")[0].studies["trial"].to_list() == [0, 1, 2]
    assert import_coco("in")[0].studies["trial"].to_list() == [0, 1, 2]


def runs_of_one_instance(folder, *runs):
    """A folder with runs of one instance, each (evaluations or None where unfinished, rows)."""
    Path(folder, "data").mkdir(parents=True)
    blocks = ["".join(f"{k} 0 {df} 0 0\n" for k, df in rows) for _, rows in runs]
    Path(folder, "data/x.dat").write_text("".join(f"{NEW_HEAD}\n{block}" for block in blocks))
    entries = ", ".join("1" if made is None else f"1:{made}|1" for made, _ in runs)
    Path(folder, "a.info").write_text(f"funcId = 1, DIM = 2, algId = 'U'\n%\ndata/x.dat, {entries}\n")
    return folder


def test_folders_of_one_algorithm_may_be_imported_one_after_the_other():
    one = runs_of_one_instance("one", (9, [(1, 9.5), (3, 2.5)]), (9, [(1, 8.5)]))
    two = runs_of_one_instance("two", (9, [(1, 7.5), (2, 2.5)]), (9, [(1, 8.5)]))
    import_coco(one)
    (done,) = import_files("coco", [two], "store")
    assert (done.added, dict(done.present)) == (1, {"store store": 1})
    frame = optarena.open("store").studies
    assert frame.select("trial", "best_evaluation").rows() == [(0, 3), (1, 1), (2, 2)]
    together = import_coco(one, two, store="together")[0].studies
    assert together["study"].to_list() == frame["study"].to_list()


def test_a_run_that_was_unfinished_when_it_was_imported_is_completed():
    import_coco(runs_of_one_instance("early", (None, [(1, 9.5), (3, 2.5)])))
    results, _ = import_coco(runs_of_one_instance("late", (20, [(1, 9.5), (3, 2.5), (12, 0.5)])))
    assert results.studies.select("trial", "status", "evaluations", "best").rows() == [(0, "done", 20, 0.5)]
    assert not import_files("coco", ["early"], "store")[0].new


@pytest.mark.parametrize("order", [("early", "late"), ("late", "early")])
def test_of_a_run_and_its_longer_version_in_one_import_the_longer_is_added(order):
    runs_of_one_instance("early", (10, [(1, 9.5), (3, 2.5)]), (10, [(1, 8.5), (2, 3.5)]))
    runs_of_one_instance("late", (20, [(1, 9.5), (3, 2.5), (12, 0.5)]), (20, [(1, 8.5), (2, 3.5)]))
    results, _ = import_coco(*order)
    assert results.studies.select("trial", "evaluations", "budget", "best").rows() == [
        (0, 20, 20, 0.5),
        (1, 20, 20, 3.5),
    ]


def test_what_a_store_ran_is_not_extended_by_a_log_of_it():
    Experiment("RandomSearch", "bbob/f1/d2/i1", 20).run("short", workers=0)
    shutil.copytree("short", "long")
    Experiment("RandomSearch", "bbob/f1/d2/i1", 200).run("long", workers=0)
    folder = export("coco", optarena.open("long"), "out")
    with pytest.raises(OptarenaError, match=r"200 evaluations, of which store short has the first 20 as a run of its"):
        import_files("coco", [folder], "short")


@pytest.mark.parametrize("format", ["coco", "iohprofiler"])
@pytest.mark.parametrize(
    "problems", ["bbob/f{1,8}/d2/i{1,2}", "bbob-noisy/f101/d2/i1", "bbob-constrained/f1/d2/i1", "bbob-mixint/f1/d5/i1"]
)
def test_a_stores_own_export_adds_nothing(format, problems):
    trials = 1 if "noisy" in problems else 2
    results = Experiment(["RandomSearch", "QuasiRandom"], problems, 25, trials=trials).run("store", workers=0)
    folder = export(format, results, "out")
    for _ in range(2):
        (done,) = import_files(format, [folder], "store")
        assert (done.studies, dict(done.present)) == (results.studies.height, {"store store": results.studies.height})
    assert optarena.open("store").studies.equals(results.studies)
    (first,) = import_files(format, [folder], "other")
    assert first.added == results.studies.height
    assert not import_files(format, [folder], "other")[0].new


def test_one_run_as_two_formats_is_one_run():
    results = Experiment("RandomSearch", "bbob/f8/d3/i{1,2}", 40, trials=2).run("store", workers=0)
    folders = {format: export(format, results, f"out-{format}") for format in ("coco", "iohprofiler")}
    import_coco(folders["coco"], store="other")
    (done,) = import_files("iohprofiler", [folders["iohprofiler"]], "other")
    assert (done.added, dict(done.present)) == (0, {"store other": 4})


@pytest.mark.parametrize("log", ["coco", "iohprofiler"])
@pytest.mark.parametrize("log_first", [True, False])
def test_a_log_and_a_table_of_the_same_runs_are_one_run_each_in_any_order(log, log_first):
    results = Experiment(["RandomSearch", "QuasiRandom"], "bbob/f8/d3/i{1,2}", 40, trials=2).run("store", workers=0)
    paths = {format: export(format, results, f"out-{format}") for format in (log, "csv")}
    first, second = (log, "csv") if log_first else ("csv", log)
    assert import_files(first, [paths[first]], "other")[0].added == 8
    (done,) = import_files(second, [paths[second]], "other")
    assert (done.added, dict(done.present)) == (0, {"store other": 8})
    assert optarena.open("other").studies.height == 8


def test_equal_runs_under_another_trial_number_stay_repetitions_of_a_log():
    results = Experiment("RandomSearch", "bbob/f8/d3/i1", 40).run("store", workers=0)
    import_coco(export("coco", results, "out"), store="other")
    frame = pl.read_csv(export("csv", results, "out.csv")).drop("study").with_columns(trial=pl.lit(1))
    optarena.from_frame(frame, "other")
    assert optarena.open("other").studies["trial"].to_list() == [0, 1]


def test_a_stores_own_export_of_two_objectives_adds_nothing():
    results = Experiment("RandomSearch", "bbob-biobj/f1/d2/i1", 30).run("store", workers=0)
    (done,) = import_files("coco", [export("coco", results, "out")], "store")
    assert dict(done.present) == {"store store": 1}


def test_an_indicator_does_not_stand_beside_the_objectives_of_its_problem():
    results = Experiment("RandomSearch", "bbob-biobj/f1/d2/i1", 30, trials=2).run("store", workers=0)
    with pytest.raises(OptarenaError, match=r"has 1 objective \(min\), but 2 objectives \(min, min\) in store store"):
        import_files("coco", [export("coco", results, "out")], "store")


def test_an_import_counts_runs_evaluations_and_rows(capsys):
    made = [(1000, [(k, 30.5 - k) for k in range(1, 21)])] * 15
    assert main(["import", "coco", str(runs_of_one_instance("in", *made)), "--store", "store"]) == 0
    assert "in: 15 runs, 15,000 evaluations, 300 rows\n" in capsys.readouterr().out


# ---- archives ------------------------------------------------------------------------------------------------------


def pack(path, files):
    if path.endswith(".zip"):
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            for name, data in files.items():
                archive.writestr(name, data)
    else:
        with tarfile.open(path, "w:gz" if path.endswith("gz") else "w") as archive:
            for name, data in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


def files_of(sample):
    return {p.relative_to(SAMPLES).as_posix(): p.read_bytes() for p in (SAMPLES / sample).rglob("*") if p.is_file()}


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz", "a.tgz", "a.tar"])
def test_an_archive_is_as_good_as_its_folder(name):
    folder, _ = import_coco(SAMPLES / "bbob", store="a")
    packed, notices = import_coco(pack(name, files_of("bbob")), store="b")
    assert notices == []
    assert packed.studies["study"].to_list() == folder.studies["study"].to_list()
    assert np.array_equal(packed.in_full().traces().values, folder.in_full().traces().values)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_names_that_lead_out_of_an_archive_are_named_and_never_written(name):
    files = {**files_of("bbob"), "../evil.info": b"x", "/tmp/evil.info": b"x", "b/../../evil.info": b"x"}
    results, notices = import_coco(pack(name, files), store="b")
    assert results.studies.height == 4
    assert len([text for text in notices if "points outside" in text]) == 3
    assert not Path("../evil.info").exists()


def test_a_link_in_an_archive_is_named_and_not_followed():
    with tarfile.open("a.tar", "w") as archive:
        for file, data in files_of("bbob").items():
            info = tarfile.TarInfo(file)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
        link = tarfile.TarInfo("bbob/more.info")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    _, notices = import_coco("a.tar")
    assert any("link" in text for text in notices)


@pytest.mark.parametrize("name", ["a.zip", "a.tar.gz"])
def test_an_archive_that_unpacks_to_too_much_is_refused(name, monkeypatch):
    monkeypatch.setattr(folders, "MAX_BYTES", 100_000)
    pack(name, {**files_of("bbob"), "bbob/big.info": b"%" * 1_000_000})
    with pytest.raises(OptarenaError, match="unpacks to more"):
        import_coco(name)


def test_a_damaged_archive_is_refused():
    Path("a.zip").write_bytes(b"PK\3\4 no zip")
    Path("a.tar.gz").write_bytes(gzip.compress(b"no tar")[:-5])
    for name in ("a.zip", "a.tar.gz"):
        with pytest.raises(OptarenaError, match="cannot be unpacked"):
            import_coco(name)


# ---- damage --------------------------------------------------------------------------------------------------------


@pytest.fixture
def folder():
    shutil.copytree(SAMPLES / "bbob", "damaged")
    return Path("damaged")


def edit(path, old, new):
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def test_an_unfinished_run_is_kept_as_interrupted(folder):
    edit(folder / "bbobexp_f1.info", "2:60|1.1e+00", "2")
    results, notices = import_coco(folder)
    row = results.studies.filter(pl.col("problem") == "bbob/f1/d2/i2").row(0, named=True)
    assert (row["status"], row["evaluations"]) == ("interrupted", 60)
    assert len(notices) == 1
    assert "instance 2 was not finished" in notices[0]


@pytest.fixture
def three_dimensions():
    Experiment("RandomSearch", "bbob/f1/d{2,3,5}/i{1,2,15}", 12).run("store", workers=0)
    (info,) = export("coco", optarena.open("store"), "out").rglob("*.info")
    return info, info.read_text().rstrip("\n")


def fingerprint(run):
    """Which problem a run is filed under, and what it found."""
    return run.problem, *run.values.ravel().tolist()


def summary(runs):
    return sorted((run.problem, run.evaluations, run.status) for run in runs)


def test_no_run_is_lost_without_a_word_wherever_an_info_is_cut(three_dimensions):
    info, text = three_dimensions
    complete = coco.read(Path("out"))
    assert complete.notices == []
    for n in range(len(text)):
        info.write_text(text[:n])
        try:
            read = coco.read(Path("out"))
        except OptarenaError:
            continue
        lost = len(complete.runs) - len(read.runs)
        if summary(read.runs) != summary(complete.runs):
            assert read.notices, text[:n]
        assert {fingerprint(run) for run in read.runs} <= {fingerprint(run) for run in complete.runs}, text[:n]
        if lost >= 3:
            assert any("DIM5.dat" in notice and "left out" in notice for notice in read.notices), text[:n]


@pytest.mark.parametrize(("suite", "kept"), [("bbob", 2), ("other", 1)])
def test_a_run_whose_instance_may_be_cut_is_kept_if_its_optimum_is_that_of_the_instance(suite, kept):
    results = Experiment("RandomSearch", "bbob/f1/d2/i{1,2}", 12).run("store", workers=0)
    (info,) = export("coco", results, "out").rglob("*.info")
    text = info.read_text().replace("suite = 'bbob'", f"suite = '{suite}'")
    info.write_text(text[: text.rindex("2:12") + 1])
    read = coco.read(Path("out"))
    assert [run.instance for run in read.runs] == [1, 2][:kept]
    if kept == 1:
        assert "run 2: lost: its .info is cut, perhaps within the number of the instance (2…)" in read.notices[-1]
    info.write_text(text[: text.rindex("2:12") + 1] + "\n")  # a line that ends is not cut
    assert [run.instance for run in coco.read(Path("out")).runs] == [1, 2]


def test_a_cut_info_is_named_with_its_line_and_the_runs_that_are_lost(three_dimensions):
    info, text = three_dimensions
    lines = text.splitlines()
    info.write_text("\n".join([*lines[:6], lines[6][:60]]))  # in the head of dimension 5, after a whole pair
    _, notices = import_coco("out", store="cut")
    place = info.parent.relative_to("out")
    assert notices == [
        f"{place}/bbobexp_f1.info: line 7: no data file follows this head; the file is cut, or a line is missing",
        f"{place}/data_f1/bbobexp_f1_DIM5.dat: no .info file names it: is one cut, or missing? Its 3 runs are left out",
    ]
    info.write_text("\n".join(lines[:6]))  # between two blocks
    _, notices = import_coco("out", store="between")
    assert [text.partition(": ")[0] for text in notices] == [f"{place}/data_f1/bbobexp_f1_DIM5.dat"]


def test_a_missing_data_file_is_named_and_its_runs_are_left_out(folder):
    (folder / "data_f8" / "bbobexp_f8_DIM2.dat").unlink()
    results, notices = import_coco(folder)
    assert results.studies.height == 2
    assert notices == ["bbobexp_f8.info: data_f8/bbobexp_f8_DIM2.dat is missing; its 2 runs are left out"]


def test_a_missing_tdat_is_named_and_the_dat_suffices(folder):
    whole, _ = import_coco(folder, store="whole")
    (folder / "data_f8" / "bbobexp_f8_DIM2.tdat").unlink()
    results, notices = import_coco(folder)
    assert results.studies.height == 4
    assert "no .tdat" in notices[0]
    assert hits(results) == hits(whole)


def test_a_cut_last_line_is_left_out_and_named(folder):
    path = folder / "data_f8" / "bbobexp_f8_DIM2.dat"
    path.write_bytes(path.read_bytes()[:-9])
    results, notices = import_coco(folder)
    assert results.studies.height == 4
    assert any("ends in the middle" in text for text in notices)


def test_lines_that_cannot_be_are_left_out_and_named(folder):
    path = folder / "data_f1" / "bbobexp_f1_DIM2.dat"
    edit(path, "3 0 +4.708178570e+00", "3 0 rubbish +4.708178570e+00")
    edit(path, "14 0 +1.179524840e+00", "-14 0 +1.179524840e+00")
    edit(path, "9 0 +3.749310566e+00", "1e300 0 +3.749310566e+00")
    results, notices = import_coco(folder)
    assert results.studies["evaluations"].to_list() == [60] * 4
    assert any("does not consist of numbers only" in text for text in notices)
    assert sum("impossible evaluation numbers" in text for text in notices) == 2
    assert results.studies["best"].to_list()[0] == pytest.approx(1.17952484)  # the .tdat has it, too


def test_values_that_are_nan_are_no_improvement(folder):
    edit(folder / "data_f1" / "bbobexp_f1_DIM2.dat", "3 0 +4.708178570e+00", "3 0 nan")
    _, notices = import_coco(folder)
    assert any("nan" in text for text in notices)


@pytest.mark.parametrize("name", ["../../secret.dat", "/etc/secret.dat", "C:\\secret.dat", "..\\secret.dat"])
def test_a_data_file_outside_the_folder_is_never_read(folder, name):
    Path("secret.dat").write_text((folder / "data_f1" / "bbobexp_f1_DIM2.dat").read_text())
    edit(folder / "bbobexp_f1.info", "data_f1/bbobexp_f1_DIM2.dat", name)
    results, notices = import_coco(folder)
    assert results.studies.height == 2
    assert "points outside the folder" in notices[0]


def test_runs_without_a_counterpart_are_named(folder):
    edit(folder / "bbobexp_f1.info", ", 2:60|1.1e+00", "")
    results, notices = import_coco(folder)
    assert results.studies.height == 3
    assert "has 2 runs, its .info names 1" in notices[0]


def test_absurd_facts_are_named_and_the_other_runs_keep_their_places(folder):
    whole, _ = import_coco(folder, store="whole")
    edit(folder / "bbobexp_f1.info", "DIM = 2", "DIM = two")
    edit(folder / "bbobexp_f8.info", "1:60|4.0e+00", "1:6000000000000000000000|4.0e+00")
    results, notices = import_coco(folder)
    assert results.studies["problem"].to_list() == ["bbob/f8/d2/i2"]
    assert results.studies["best"].to_list() == whole.studies["best"].to_list()[-1:]
    assert any("dimension 'two'" in text for text in notices)
    assert any("'1:6000000000000000000000|4.0e+00' is neither" in text for text in notices)


def test_runs_are_never_paired_with_the_wrong_instance(folder):
    path = folder / "data_f1" / "bbobexp_f1_DIM2.dat"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[5:]))  # the first run is gone
    results, notices = import_coco(folder)
    assert set(results.studies["function"]) == {"f8"}
    assert any("it is unclear which is which" in text for text in notices)


def test_info_keys_come_in_any_order_quoted_or_not(folder):
    (folder / "bbobexp_f1.info").write_text(
        "algId = 'A, b = 'c'', new_key = [1 2], DIM = 2, funcId=1, suite = \"bbob\"\n"
        "data_f1/bbobexp_f1_DIM2.dat, 1:60|1.2e+00, 2:60|1.1e+00\n"
    )
    results, notices = import_coco(folder)
    assert notices == []
    assert set(results.studies["optimizer"]) == {"A, b = 'c'", "RS"}


def test_what_is_no_coco_folder_is_refused():
    Path("empty").mkdir()
    Path("file.txt").write_text("x")
    for name, text in (("empty", r"no \.info"), ("file.txt", "expected a folder"), ("nowhere", "no such")):
        with pytest.raises(OptarenaError, match=text):
            import_coco(name)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.binary(max_size=300), st.integers(0, 400), st.sampled_from([".dat", ".tdat", ".info"]))
def test_any_bytes_anywhere_give_runs_or_one_sentence(tmp_path_factory, data, at, suffix):
    base = tmp_path_factory.mktemp("any")
    shutil.copytree(SAMPLES / "bbob", base / "x")
    path = base / "x" / ("bbobexp_f1.info" if suffix == ".info" else f"data_f1/bbobexp_f1_DIM2{suffix}")
    old = path.read_bytes()
    path.write_bytes(old[:at] + data + old[at:])
    results, _ = import_coco(base / "x", store=base / "s")
    assert results.studies.height >= 2
    assert np.isfinite(results.in_full().traces().evaluation).all()


# ---- export --------------------------------------------------------------------------------------------------------


def test_what_has_no_place_in_a_coco_folder_is_named():
    results = Experiment(["RandomSearch"], ["functions/sphere/d2", "bbob/f1/d2/i1"], 5).run("s", workers=0)
    with pytest.raises(OptarenaError, match=r"functions/sphere/d2 .* has no number"):
        export("coco", results, "out")
    assert not Path("out").exists()
    export("coco", results.filter(problem="bbob/*"), "out")
    with pytest.raises(OptarenaError, match="already exists"):
        export("coco", results.filter(problem="bbob/*"), "out")


def test_names_of_optimizers_become_plain_folders():
    for i, name in enumerate(["../../up", "../../up ", "a/b'c", "..", "LPT1:"]):
        shutil.copytree(SAMPLES / "bbob", f"in/{i}")
        for path in Path(f"in/{i}").glob("*.info"):
            path.write_text(path.read_text().replace("algId = 'RS'", f'algId = "{name}"'))
    results, _ = import_coco("in")
    export("coco", results, "out")
    inside = list(Path("out/bbob").iterdir())
    assert len(inside) == results.studies["optimizer"].n_unique()
    assert all(path.name.strip("_.") for path in inside)
    assert not Path("../up").exists()
    again, _ = import_coco("out", store="again")
    assert again.studies.height == results.studies.height


def test_noisy_and_constrained_studies_need_every_evaluation_for_cocos_value():
    results = Experiment(["Scipy-NelderMead"], "bbob-noisy/f101/d2/i1", 20, record="improvements").run("s", workers=0)
    with pytest.raises(OptarenaError, match="record all"):
        export("coco", results, "out")


def test_the_command_line_names_what_it_leaves_out_and_exports(folder, capsys):
    (folder / "data_f8" / "bbobexp_f8_DIM2.dat").unlink()
    assert main(["import", "coco", str(folder), "--store", "s"]) == 0
    printed = capsys.readouterr().out
    assert "2 studies" in printed
    assert "is missing; its 2 runs are left out" in printed
    assert main(["export", "coco", "s", "-O", "out"]) == 0
    assert Path("out/bbob/RS/bbobexp_f1.info").is_file()
    assert main(["export", "coco", "s", "-O", "out"]) == 2


# ---- peers ---------------------------------------------------------------------------------------------------------

ERTS = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import cocopp
    sets = cocopp.load(sys.argv[1])
    out = {}
    for d in sets:
        targets = [10 ** (k / 5) for k in range(10, -41, -1)]
        evals = [sorted(map(float, row)) for row in d.detEvals(targets)]
        out[f"{d.funcId} {d.dim}"] = [list(map(float, d.detERT(targets))), repr(evals), sorted(map(int, d.maxevals))]
print(json.dumps(out))
"""


def cocopp(folder):
    done = subprocess.run([sys.executable, "-c", ERTS, str(folder)], capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.peer
@pytest.mark.skipif(find_spec("cocopp") is None, reason="cocopp is not installed (extra peers)")
@pytest.mark.parametrize(
    ("suite", "functions", "dimensions"),
    [("bbob", "1,8,15", "2,5"), ("bbob-noisy", "1,9", "2"), ("bbob-mixint", "2", "5"), ("bbob-biobj", "1,30", "2,5")],
)
def test_cocopp_finds_the_same_ert_in_what_we_export(suite, functions, dimensions):
    folder = observe(suite, functions, dimensions, "1,2,3", 300)
    results, _ = import_coco(folder)
    export("coco", results, "out")
    theirs, ours = cocopp(folder), cocopp(Path("out") / suite / "RS")
    assert len(theirs) == len(functions.split(",")) * len(dimensions.split(","))
    assert ours == theirs


@pytest.mark.peer
@pytest.mark.skipif(find_spec("cocopp") is None, reason="cocopp is not installed (extra peers)")
@pytest.mark.parametrize(
    ("suite", "functions", "dimensions"),
    [
        ("bbob", "1,8", "2,5"),
        ("bbob-noisy", "1", "2"),
        ("bbob-mixint", "2", "5"),
        ("bbob-boxed", "3", "2"),
        ("bbob-constrained", "2,30", "2,5"),
    ],
)
def test_our_erts_in_mode_coco_are_those_of_cocopp(suite, functions, dimensions):
    folder = observe(suite, functions, dimensions, "1,2,3", 300)
    results, _ = import_coco(folder)
    theirs = cocopp(folder)
    ours = results.fixed_target(mode="coco", targets=[10 ** (k / 5) for k in range(10, -41, -1)], bootstrap=0).ert
    assert len(theirs) == len(functions.split(",")) * len(dimensions.split(","))
    for (function, dimension), part in ours.group_by("function", "dimension"):
        found = part.sort("target", descending=True)["ert"].to_list()
        assert found == pytest.approx(theirs[f"{function[1:]} {dimension}"][0]), (function, dimension)


IOH = """
import sys, warnings
warnings.simplefilter("error", UserWarning)
import iohinspector
manager = iohinspector.DataManager()
manager.add_folder(sys.argv[1])
frame = manager.load(monotonic=True, include_meta_data=True)
columns = ["function_id", "dimension", "run_id", "evaluations", "raw_y"]
print(frame.select(columns).sort(columns[:4]).write_csv(), end="")
"""


def iohinspector(folder):
    done = subprocess.run([sys.executable, "-c", IOH, str(folder)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return pl.read_csv(io.StringIO(done.stdout))


@pytest.mark.peer
@pytest.mark.skipif(find_spec("iohinspector") is None, reason="iohinspector is not installed (extra peers)")
@pytest.mark.parametrize("format", ["coco", "iohprofiler"])
def test_iohinspector_reads_what_we_export(format):
    results, _ = import_coco(SAMPLES / "bbob")
    export(format, results, "out")
    frame = iohinspector("out/bbob/RS")
    traces = results.in_full().traces()
    runs = [(row["function"], row["instance"]) for row in results.studies.iter_rows(named=True)]
    assert frame.select("function_id", "run_id").n_unique() == len(runs) == 4
    for i, (function, instance) in enumerate(runs):
        own = slice(traces.offsets[i], traces.offsets[i + 1])
        theirs = frame.filter(pl.col("function_id") == int(function[1:]), pl.col("run_id") == instance)
        best = dict(theirs.select("evaluations", "raw_y").rows())  # from a .tdat it takes rows of no improvement, too
        for k, value in zip(traces.evaluation[own].tolist(), traces.values[own, 0].tolist(), strict=True):
            assert best[k] == pytest.approx(value, rel=1e-9)
        assert min(best.values()) == pytest.approx(traces.values[own].min(), rel=1e-9)
