"""IOHprofiler's data folders: read to the runs that were logged, written for others to read, never executed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import optarena
from optarena import Experiment, OptarenaError
from optarena.formats import export, import_files

SAMPLES = Path(__file__).parent / "data" / "coco" / "samples"


def import_ioh(path, store="store"):
    (done,) = import_files("iohprofiler", [path], store)
    return optarena.open(store), done.notices


@pytest.fixture
def folder():
    shutil.copytree(SAMPLES / "ioh", "in")
    return Path("in")


def test_runs_are_read_with_their_instances_trials_and_evaluations(folder):
    results, notices = import_ioh(folder)
    frame = results.studies
    assert frame.height == 16
    assert set(frame["problem"]) == {f"bbob/f{f}/d{d}/i{i}" for f in (1, 8) for d in (2, 3) for i in (1, 2)}
    assert set(frame["trial"]) == {0, 1}
    assert set(frame["evaluations"]) == {20}
    assert set(frame["optimum"]) == {0.0}
    assert all("taken as bbob" in text for text in notices)
    told = {}
    for path in folder.glob("*.json"):
        data = json.loads(path.read_text())
        for scenario in data["scenarios"]:
            for run in scenario["runs"]:
                key = f"bbob/f{data['function_id']}/d{scenario['dimension']}/i{run['instance']}"
                told.setdefault(key, []).append((run["best"]["y"], run["best"]["evals"]))
    found = {}
    for problem, best, at in frame.sort("problem", "trial").select("problem", "best", "best_evaluation").rows():
        found.setdefault(problem, []).append((best, at))
    assert found == told


def test_the_last_row_is_no_improvement_and_points_are_kept(folder):
    results, _ = import_ioh(folder)
    traces = results.in_full().traces()
    assert traces.evaluation[:3].tolist() == [1, 3, 14]
    assert (np.diff(traces.values[:3, 0]) < 0).all()
    study = results.studies["study"][0]
    assert results.points(study)[0]["parameters"] == {"x1": 0.118216, "x2": 4.504637}


def test_where_every_evaluation_is_logged_all_are_kept_and_maximising_is_kept():
    results, _ = import_ioh(SAMPLES / "ioh-max")
    row = results.studies.row(0, named=True)
    assert (row["record"], row["sense"], row["best"], row["evaluations"]) == ("all", "max", 8.0, 20)
    assert row["problem"] == "ioh/f1/d10/i1"
    assert len(results.in_full().traces().evaluation) == 20
    export("iohprofiler", results, "out")
    again, _ = import_ioh("out", "again")
    assert again.studies.row(0, named=True)["best"] == 8.0
    assert again.studies.row(0, named=True)["sense"] == "max"


def test_what_is_exported_imports_to_the_same_traces(folder):
    first, _ = import_ioh(folder, "a")
    export("iohprofiler", first, "out")
    second, notices = import_ioh("out", "b")
    assert notices == []
    a, b = first.in_full().traces(), second.in_full().traces()
    assert a.evaluation.tolist() == b.evaluation.tolist()
    assert np.array_equal(a.values, b.values)
    assert first.studies["evaluations"].to_list() == second.studies["evaluations"].to_list()
    assert first.studies["study"].to_list() == second.studies["study"].to_list()


def test_our_own_runs_are_exported_as_differences_to_the_optimum():
    results = Experiment(["RandomSearch"], "bbob/f1/d2/i{1,2}", 50).run("s", workers=0)
    export("iohprofiler", results, "out")
    again, _ = import_ioh("out", "again")
    expected = results.studies["best"] - results.studies["optimum"]
    assert again.studies["best"].to_list() == pytest.approx(expected.to_list(), rel=1e-12)
    assert again.studies["evaluations"].to_list() == [50, 50]


def test_nothing_in_a_file_is_executed(folder):
    path = folder / "IOHprofiler_f1_Sphere.json"
    data = json.loads(path.read_text())
    evil = "__import__('pathlib').Path('evil').touch()"
    data["experiment_attributes"] = [{"seed": evil}]
    data["algorithm"]["name"] = evil
    path.write_text(json.dumps(data))
    results, _ = import_ioh(folder)
    assert evil in set(results.studies["optimizer"])
    assert evil in set(results.attributes["ioh_seed"])
    assert not Path("evil").exists()


def test_a_path_that_leads_out_is_never_read(folder):
    path = folder / "IOHprofiler_f1_Sphere.json"
    data = json.loads(path.read_text())
    data["scenarios"][0]["path"] = "../../secret.dat"
    path.write_text(json.dumps(data))
    results, notices = import_ioh(folder)
    assert results.studies.height == 12
    assert any("points outside the folder; its 4 runs" in text for text in notices)


def test_damage_is_named(folder):
    (folder / "data_f8_Rosenbrock" / "IOHprofiler_f8_DIM2.dat").unlink()
    path = folder / "data_f1_Sphere" / "IOHprofiler_f1_DIM2.dat"
    text = path.read_text()
    path.write_text(text.replace("3 4.7081785700", "3 what", 1)[:-10])
    results, notices = import_ioh(folder)
    assert results.studies.height == 12
    assert any("is missing; its 4 runs are left out" in text for text in notices)
    assert any("does not consist of numbers only" in text for text in notices)
    assert any("ends in the middle" in text for text in notices)


def test_json_that_is_none_or_of_another_kind_is_named(folder):
    (folder / "IOHprofiler_f1_Sphere.json").write_text('{"version": "0.3')
    (folder / "other.json").write_text('{"a": 1}')
    (folder / "list.json").write_text("[" * 100_000)
    results, notices = import_ioh(folder)
    assert results.studies.height == 8
    assert sum("not valid JSON" in text for text in notices) == 2
    assert sum("not as IOHprofiler writes it" in text for text in notices) == 1
    Path("none").mkdir()
    with pytest.raises(OptarenaError, match=r"no \.json"):
        import_ioh("none", "t")


def test_unfinished_runs_without_a_place_in_the_json_are_named(folder):
    path = folder / "data_f1_Sphere" / "IOHprofiler_f1_DIM2.dat"
    path.write_text(path.read_text() + "evaluations raw_y x0 x1\n1 5.0 1.0 1.0\n")
    results, notices = import_ioh(folder)
    assert results.studies.height == 16
    assert any("has 5 runs, its .json names 4" in text for text in notices)


def test_a_run_begins_where_evaluations_is_1_though_columns_are_named_once(folder):
    expected, _ = import_ioh(folder)
    for path in folder.rglob("*.dat"):
        head, *lines = path.read_text().splitlines(keepends=True)
        path.write_text(head + "".join(line for line in lines if line != head))
    found, notices = import_ioh(folder, "again")
    assert all("taken as bbob" in text for text in notices)
    columns = ["problem", "trial", "evaluations", "best", "best_evaluation"]
    assert found.studies.select(columns).equals(expected.studies.select(columns))
    assert np.array_equal(found.in_full().traces().values, expected.in_full().traces().values)


# ---- runs that have grown --------------------------------------------------------------------------------------------

FOUND = [(1, 8.123456789012345), (3, 2.987654321098765), (15, 1.123456789012345), (40, 0.555555555555555)]


def logged(folder, evaluations, sign=1.0):
    """The first evaluations of a run as ioh logs them: ten decimals, all digits of the best, the current value last."""
    rows = [(k, sign * value) for k, value in FOUND if k <= evaluations]
    Path(folder, "data").mkdir(parents=True)
    lines = [f"{k} {value:.10f}\n" for k, value in [*rows, (evaluations, sign * 9.5)]]
    Path(folder, "data/f1.dat").write_text("".join(["evaluations raw_y\n", *lines]))
    best = {"evals": rows[-1][0], "y": rows[-1][1]}
    runs = [{"instance": 1, "evals": evaluations, "best": best}]
    data = {
        **{"version": "0.3.22", "suite": "mine", "function_id": 1, "function_name": "f", "maximization": sign < 0},
        "algorithm": {"name": "A"},
        "scenarios": [{"dimension": 2, "path": "data/f1.dat", "runs": runs}],
    }
    Path(folder, "f1.json").write_text(json.dumps(data))
    return folder


@pytest.mark.parametrize("sign", [1.0, -1.0])
@pytest.mark.parametrize("together", [True, False])
@pytest.mark.parametrize("order", [(20, 60), (60, 20), (20, 60, 30)])
def test_a_run_that_has_grown_is_one_run_and_keeps_its_digits(order, together, sign):
    folders = [logged(f"for-{n}", n, sign) for n in order]
    for some in [folders] if together else [[folder] for folder in folders]:
        import_files("iohprofiler", some, "store")
    results = optarena.open("store")
    assert results.studies.select("trial", "evaluations", "conflicts").rows() == [(0, 60, 0)]
    values = results.in_full().traces().values[:, 0].tolist()
    assert values == pytest.approx([value for _, value in FOUND], abs=1e-10)
    assert values[-1] == FOUND[-1][1]
    if order[0] == 20:
        assert values[2] == FOUND[2][1]


def test_a_run_that_only_nearly_begins_as_another_is_another_trial():
    one, two = logged("one", 20), logged("two", 60)
    path = Path("two/data/f1.dat")
    path.write_text(path.read_text().replace("1.1234567890", "1.1234567892"))
    for folder in (one, two):
        import_files("iohprofiler", [folder], "store")
    assert optarena.open("store").studies["trial"].to_list() == [0, 1]
