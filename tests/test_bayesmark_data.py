"""Bayesmark's databases: a real run is imported, scored and written again; old results and new ones meet."""

from __future__ import annotations

import json
import shutil

import numpy as np
import polars as pl
import pytest

import optarena as oa
from bayesmark_figures import array, load
from optarena._bayesmark_names import VISIBLE, bayesmark_name
from optarena.bayesmark.cubes import cubes, share
from optarena.bayesmark.files import FileStudy, read_cubes, read_database
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.formats import export, import_files
from optarena.store import Store

DERIVED = {"baseline": "baseline", "agg_result": "perf", "summary": "summary"}


def variables(given):
    return {name: {"dims": v["dims"], "attrs": {}, "data": numbers(v["data"])} for name, v in given.items()}


def numbers(data):
    """The golden files are strict JSON; Bayesmark's own are not."""
    if isinstance(data, list):
        return [numbers(item) for item in data]
    return float(data) if data in ("inf", "-inf", "nan") else data


def study_files(root, study):
    """A golden study as the three files that it was."""
    meta = {"args": study["args"], "signature": [study["signature_x"], study["signature_y"]]}
    for folder in ("eval", "time", "suggest_log"):
        (root / folder).mkdir(parents=True, exist_ok=True)
        rows, columns = np.shape(study["eval"][VISIBLE]["data"])
        coords = {
            name: {"dims": [name], "attrs": {}, "data": list(range(n))}
            for name, n in (("iter", rows), ("suggestion", columns))
        }
        data = {"coords": coords, "attrs": {}, "dims": {"iter": rows, "suggestion": columns}}
        whole = {"meta": meta, "data": {**data, "data_vars": variables(study[folder])}}
        (root / folder / f"{study['uuid']}.json").write_text(json.dumps(whole))


@pytest.fixture(scope="module")
def database(tmp_path_factory):
    """The golden run as the database that it was."""
    root = tmp_path_factory.mktemp("root") / "db1"
    for study in load("real/r01/studies.json.gz"):
        study_files(root, study)
    return root


@pytest.fixture(scope="module")
def results(database):
    store = database.parent / "store"
    import_files("bayesmark", [database], store)
    return oa.open(store)


def test_a_real_run_is_imported_and_scored_as_bayesmark_scored_it(results):
    assert results.studies.height == 48
    assert set(results.studies["status"]) == {"done"}
    ours = results.fixed_cost(mode="bayesmark").to_xarray()
    for dataset in DERIVED:
        compare(ours[dataset], load(f"real/r01/{dataset}.json.gz"))


def compare(got, golden):
    for name, variable in golden["vars"].items():
        coords = {dim: golden["coords"][dim] for dim in variable["dims"]}
        values = got[name].sel(coords).transpose(*variable["dims"]).values
        bound = name.startswith("mean") and name.endswith(("LB", "UB"))  # by an older t.ppf, off by 2e-9
        np.testing.assert_allclose(values, array(variable["data"]), rtol=1e-7 if bound else 1e-10, atol=1e-12)


def test_problems_and_methods_keep_their_names(results):
    assert results.studies["problem"].unique().sort().to_list()[0] == "sklearn/DT_diabetes_mae"
    assert set(results.studies["optimizer"]) == {"HyperOpt_0.3.0_a376313", "RandomSearch_0.0.8_a376313"}
    assert bayesmark_name("clf-mine.csv:SVM_nll") == "SVM_clf-mine_nll"


def test_points_times_and_hidden_values_are_kept(results):
    (study,) = [s for s in load("real/r01/studies.json.gz") if s["uuid"] == "0772686a93cb57ddb11cc2462325b955"]
    rows = results.points("0772686a-93cb-57dd-b11c-c2462325b955")
    assert [row["parameters"]["max_depth"] for row in rows] == [x for (x,) in study["suggest_log"]["max_depth"]["data"]]
    assert [row["metrics"]["generalization"] for row in rows] == [y for (y,) in study["eval"]["generalization"]["data"]]
    facts = results.studies.row(by_predicate=pl.col("study") == "0772686a-93cb-57dd-b11c-c2462325b955", named=True)
    for ours, theirs in (("suggest", "suggest"), ("evaluate", "eval"), ("observe", "observe")):
        assert facts[f"{ours}_seconds"] == pytest.approx(np.sum(study["time"][theirs]["data"]), abs=1e-7)


def test_what_is_exported_is_what_was_imported(results, database, tmp_path):
    path = export("bayesmark", results, tmp_path)
    assert sorted(p.name for p in (path / "eval").iterdir()) == sorted(p.name for p in (database / "eval").iterdir())
    for old, new in zip(read_database(database), read_database(path), strict=True):
        assert (old.problem, old.method, old.points) == (new.problem, new.method, new.points)
        assert old.signature[1] == new.signature[1]
        assert [list(point) for point in old.signature[0]] == [sorted(point) for point in new.signature[0]]
        for name, values in old.values.items():
            assert np.array_equal(values, new.values[name])
        for name, values in old.times.items():
            np.testing.assert_allclose(values, new.times[name], atol=1e-9)


def test_the_cubes_equal_bayesmarks(database):
    made, missing = cubes(read_database(database))
    assert not missing
    golden = load("real/r01/time.json.gz")
    assert {name: coord["data"] for name, coord in made["time"]["coords"].items()} == golden["coords"]
    for name, variable in golden["vars"].items():
        assert made["time"]["data_vars"][name]["dims"] == variable["dims"]
        np.testing.assert_allclose(made["time"]["data_vars"][name]["data"], variable["data"], rtol=1e-12)


def test_the_commands_derive_what_bayesmark_derived(database, capsys):
    flags = ["-dir", str(database.parent), "-b", database.name]
    for name in ("agg", "baseline", "anal"):
        assert main(["bayesmark", name, *flags]) == 0
    out = capsys.readouterr().out
    assert "median score @ 15:\noptimizer\nHyperOpt_0.3.0_a376313        0.486061    [0.000000, " in out
    assert "normed mean score @ 15:" in out
    for dataset, file in DERIVED.items():
        golden = load(f"real/r01/{dataset}.json.gz")
        ours = json.loads((database / "derived" / f"{file}.json").read_text())["data"]
        assert {name: coord["data"] for name, coord in ours["coords"].items()} == golden["coords"]
        for name, variable in golden["vars"].items():
            assert ours["data_vars"][name]["dims"] == variable["dims"]
            bound = name.startswith("mean") and name.endswith(("LB", "UB"))
            np.testing.assert_allclose(
                np.array(ours["data_vars"][name]["data"], dtype=float),
                array(variable["data"]),
                rtol=1e-7 if bound else 1e-10,
                atol=1e-12,
            )


def test_scoring_a_database_makes_no_store(database, monkeypatch):
    flags = ["-dir", str(database.parent), "-b", database.name]
    assert main(["bayesmark", "agg", *flags]) == 0
    monkeypatch.setattr(Store, "create", lambda store: pytest.fail(f"a store is made in {store.path}"))
    for name in ("baseline", "anal"):
        assert main(["bayesmark", name, *flags]) == 0


def test_a_database_of_which_only_the_cubes_are_left_is_read_from_them(database, tmp_path):
    main(["bayesmark", "agg", "-dir", str(database.parent), "-b", database.name])
    (tmp_path / "left").mkdir()
    (database / "derived").rename(tmp_path / "left" / "derived")
    try:
        whole = sorted(read_database(database), key=lambda s: (s.problem, s.method, s.uuid))
        for old, new in zip(whole, read_cubes(tmp_path / "left"), strict=True):
            assert np.array_equal(old.values[VISIBLE], new.values[VISIBLE])
        import_files("bayesmark", [tmp_path / "left"], tmp_path / "store")
        assert oa.open(tmp_path / "store").studies.height == 48
    finally:
        (tmp_path / "left" / "derived").rename(database / "derived")


def test_importing_twice_changes_nothing(database, tmp_path):
    (first,) = import_files("bayesmark", [database], tmp_path / "s")
    (again,) = import_files("bayesmark", [database], tmp_path / "s")
    assert (first.new, again.new) == (True, False)
    assert (first.studies, first.rows) == (48, 720)


def test_an_infinite_value_is_one_and_a_nan_is_a_failed_evaluation(tmp_path):
    study = load("real/r01/studies.json.gz")[0]
    study["eval"][VISIBLE]["data"][0] = ["inf"]
    study["eval"][VISIBLE]["data"][1] = ["nan"]
    study_files(tmp_path / "db", study)
    import_files("bayesmark", [tmp_path / "db"], tmp_path / "s")
    results = oa.open(tmp_path / "s")
    rows = results.points(results.studies["study"][0])
    assert rows[0]["values"]["value"] == np.inf
    assert rows[1]["status"] == "nan"
    back = read_database(export("bayesmark", results, tmp_path / "out"))
    assert back[0].values[VISIBLE][:2, 0].tolist() == [np.inf, np.inf]  # as Bayesmark records what failed


@pytest.mark.slow
def test_old_results_and_new_ones_meet_on_one_problem(database, tmp_path):
    pytest.importorskip("sklearn")
    store = tmp_path / "s"
    import_files("bayesmark", [database], store)
    names = ["RandomSearch", "QuasiRandom"]
    results = oa.Experiment(names, "sklearn/DT_iris_{acc,nll}", 15, trials=3).run(store, workers=1)
    view = results.filter(problem="sklearn/DT_iris_*").fixed_cost()
    assert view.problems == ["sklearn/DT_iris_acc", "sklearn/DT_iris_nll"]
    assert set(view.optimizers) == {"HyperOpt_0.3.0_a376313", "RandomSearch_0.0.8_a376313", *names}
    assert view.frame["random_evaluations"] == 2 * 2 * 3 * 15  # those of then and those of now


def test_new_results_do_not_join_a_problem_that_has_changed(tmp_path):
    pytest.importorskip("sklearn")
    study_files(tmp_path / "db", other_signature(load("real/r01/studies.json.gz")[0]))
    import_files("bayesmark", [tmp_path / "db"], tmp_path / "s")
    with pytest.raises(
        OptarenaError, match=r"sklearn/DT_iris_acc: its signature .* is not that in store .* bayesmark a376313"
    ):
        oa.Experiment(["RandomSearch"], "sklearn/DT_iris_acc", 2).run(tmp_path / "s", workers=0)


# ---- what does not go together ------------------------------------------------------------------------------------


def other_signature(study, factor=1.01):
    return {**study, "signature_y": [value * factor for value in study["signature_y"]]}


def test_a_problem_that_is_no_longer_the_same_is_refused(database, tmp_path):
    study = other_signature(load("real/r01/studies.json.gz")[0])
    study = {**study, "uuid": "f" * 32, "args": {**study["args"], "--uuid": "f" * 32}}
    study_files(tmp_path / "other", study)
    with pytest.raises(OptarenaError, match="signature of sklearn/DT_iris_acc is not that of"):
        import_files("bayesmark", [database, tmp_path / "other"], tmp_path / "both")
    import_files("bayesmark", [database], tmp_path / "s")
    with pytest.raises(OptarenaError, match="signature of sklearn/DT_iris_acc is not that of store"):
        import_files("bayesmark", [tmp_path / "other"], tmp_path / "s")


def test_unequal_repetitions_are_named_and_what_is_there_is_scored(tmp_path, capsys):
    studies = load("real/r01/studies.json.gz")
    for study in studies[:-1]:
        study_files(tmp_path / "db", study)
    gone = "_".join(studies[-1]["args"][key] for key in ("--classifier", "--data", "--metric"))
    flags = ["-dir", str(tmp_path), "-b", "db"]
    for command in ("agg", "anal"):  # what was not aggregated is not in the scores, either
        assert main(["bayesmark", command, *flags]) == 0
        told = capsys.readouterr().err
        assert f"missing: {studies[-1]['args']['--opt']}" in told
        assert f" on {gone} has 2 of 3 studies: scored by these" in told
    assert len(read_cubes(tmp_path / "db")) == 47  # the hole is no study of NaN
    import_files("bayesmark", [tmp_path / "db"], tmp_path / "s")
    view = oa.open(tmp_path / "s").fixed_cost(mode="bayesmark")
    ours = json.loads((tmp_path / "db" / "derived" / "summary.json").read_text())["data"]["data_vars"]["mean"]["data"]
    np.testing.assert_allclose(ours, view.to_xarray()["summary"]["mean"].values, rtol=1e-12)


def a_study(problem, method, n, shape=(3, 1)):
    return FileStudy(f"{problem}{method}{n}", problem, f"{method}_1_r", {VISIBLE: np.zeros(shape)})


def test_averages_are_over_the_same_problems_for_every_method():
    """Where a method lacks a problem, one of both goes: so that fewer studies are lost."""
    whole = [a_study(p, m, n) for p in "abcd" for m in ("RandomSearch", "One", "Two") for n in range(2)]
    assert share(whole).left_out == []
    lacks_one = [s for s in whole if (s.problem, s.method) != ("a", "One_1_r")]
    studies, left_out = share(lacks_one)
    assert {s.problem for s in studies} == set("bcd")
    assert left_out == ["a: One_1_r has no study on it"]
    has_one = [s for s in whole if s.method != "One_1_r" or s.problem == "a"]
    studies, left_out = share(has_one)
    assert {s.method for s in studies} == {"RandomSearch_1_r", "Two_1_r"}
    assert {s.problem for s in studies} == set("abcd")
    assert left_out == ["One_1_r: it has no study on 3 problems (b, c, d)"]
    without_random = [s for s in whole if s.method != "RandomSearch_1_r" or s.problem == "a"]
    assert {s.problem for s in share(without_random).studies} == {"a"}  # no baseline without it
    with pytest.raises(OptarenaError, match=r"iterations x suggestions \(3 x 1 in 24, 4 x 1 in 1\)"):
        share([*whole, a_study("a", "One", 2, (4, 1))])


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("eval/x.json", "{}", "32 hexadecimal digits"),
        (f"eval/{'a' * 32}.json", "{", "is not a file of Bayesmark's"),
        (f"eval/{'a' * 32}.json", '{"meta": {}, "data": {"coords": {}, "data_vars": {}}}', "lacks '--classifier'"),
        (f"eval/{'a' * 32}.json", '{"meta": {"args": [1]}, "data": {"coords": {}, "data_vars": {}}}', "not a table"),
    ],
)
def test_a_bad_file_is_named(tmp_path, file, text, says):
    (tmp_path / "eval").mkdir()
    (tmp_path / file).write_text(text)
    with pytest.raises(OptarenaError, match=says):
        read_database(tmp_path)
    with pytest.raises(OptarenaError, match="is not a database of Bayesmark"):
        read_database(tmp_path / "nowhere")


def test_studies_that_bayesmark_cannot_hold_are_left_out_by_name(tmp_path, capsys):
    store = tmp_path / "s"
    oa.Experiment(["RandomSearch"], "functions/sphere/d2", 6, batch=3, trials=2).run(store, workers=0)
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", 5, batch=3).run(store, workers=0)
    assert main(["export", "bayesmark", str(store), "-O", str(tmp_path / "out")]) == 0
    out = capsys.readouterr().out
    assert "left out: QuasiRandom on functions/sphere/d2, trial 0: its last batch is incomplete" in out
    studies = read_database(tmp_path / "out" / "s")
    assert [(s.problem, s.shape) for s in studies] == [("functions_sphere-d2_value", (2, 3))] * 2
    assert (tmp_path / "out" / "s" / "derived" / "eval.json").is_file()


def test_cubes_that_bayesmark_would_refuse_are_not_written_and_one_sentence_says_so(tmp_path, capsys):
    store, out = tmp_path / "s", tmp_path / "out"
    oa.Experiment(["RandomSearch"], "functions/sphere/d2", 4, trials=3).run(store, workers=0)
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", 4, trials=2).run(store, workers=0)
    assert main(["export", "bayesmark", str(store), "-O", str(out)]) == 0
    told = capsys.readouterr().out
    assert "has 2 of 3 studies, so its own agg and anal refuse this database" in told
    assert told.count("left out:") == 1
    assert not list((out / "s" / "derived").iterdir())
    assert len(read_database(out / "s")) == 5
    for command in ("agg", "anal"):
        assert main(["bayesmark", command, "-dir", str(out), "-b", "s"]) == 0


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda data: data["meta"]["args"].__setitem__("--classifier", "../../x"), "cannot be the name"),
        (lambda data: data["meta"]["args"].__setitem__("--classifier", "/tmp/x"), "cannot be the name"),
        (lambda data: data["meta"].__setitem__("signature", [5]), "its signature is not"),
    ],
)
def test_a_damaged_study_is_named_and_writes_nothing(database, tmp_path, change, says):
    shutil.copytree(database, tmp_path / "db")
    file = next((tmp_path / "db" / "eval").iterdir())
    data = json.loads(file.read_text())
    change(data)
    file.write_text(json.dumps(data))
    with pytest.raises(OptarenaError, match=says):
        read_database(tmp_path / "db")


def test_a_study_without_points_is_imported_without_them(database, tmp_path):
    shutil.copytree(database, tmp_path / "db")
    next((tmp_path / "db" / "suggest_log").iterdir()).unlink()
    import_files("bayesmark", [tmp_path / "db"], tmp_path / "s")
    assert oa.open(tmp_path / "s").studies.height == 48


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda whole: whole["meta"].__setitem__("signature", 5), "its signatures are not a table"),
        (lambda whole: whole["data"]["coords"]["study_id"].__setitem__("data", [0, 1, 2]), "not as large as"),
        (lambda whole: whole["data"]["coords"]["function"].__setitem__("data", [{"a": 1}]), "called by texts"),
        (lambda whole: whole["data"]["data_vars"][VISIBLE].__setitem__("dims", ["iter"]), "not as large as"),
    ],
)
def test_damaged_cubes_are_named(tmp_path, change, says):
    (tmp_path / "derived").mkdir()
    coords = {"iter": [0], "suggestion": [0], "function": ["a_b_c"], "optimizer": ["m_1_2"], "study_id": [0]}
    data = {
        "coords": {name: {"dims": [name], "attrs": {}, "data": values} for name, values in coords.items()},
        "data_vars": {VISIBLE: {"dims": list(coords), "attrs": {}, "data": [[[[[1.0]]]]]}},
    }
    whole = {"meta": {"args": {}, "signature": {}}, "data": data}
    file = tmp_path / "derived" / "eval.json"
    file.write_text(json.dumps(whole))
    assert len(read_cubes(tmp_path)) == 1
    change(whole)
    file.write_text(json.dumps(whole))
    with pytest.raises(OptarenaError, match=says):
        read_cubes(tmp_path)


# ---- studies that exist already -------------------------------------------------------------------------------------


def files_in(folder):
    return {path: path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def changed(study, **args):
    return {**study, "args": {**study["args"], **args}}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"--opt": "Other"}, r"its optimizer is 'Other_0\.\S+_a376313', but '\w+_0\.\S+_a376313' in"),
        ({"--data": "wine"}, r"its problem is 'sklearn/DT_wine_acc', but 'sklearn/DT_iris_acc' in"),
    ],
)
def test_an_id_has_one_method_and_one_problem(tmp_path, change, says):
    study = load("real/r01/studies.json.gz")[0]
    study_files(tmp_path / "one", study)
    study_files(tmp_path / "two", changed(study, **change))
    with pytest.raises(OptarenaError, match=says):
        import_files("bayesmark", [tmp_path / "one", tmp_path / "two"], tmp_path / "both")
    assert not (tmp_path / "both").exists()
    import_files("bayesmark", [tmp_path / "one"], tmp_path / "s")
    before = files_in(tmp_path / "s")
    with pytest.raises(OptarenaError, match=says + " store"):
        import_files("bayesmark", [tmp_path / "two"], tmp_path / "s")
    assert files_in(tmp_path / "s") == before


@pytest.mark.parametrize("rows", [3, 10, 15])
def test_two_runs_under_one_id_are_refused_whichever_is_longer(tmp_path, rows, capsys):
    """Else a study would have the first evaluations of one run and the last of another."""
    studies = load("real/r01/studies.json.gz")[:2]
    study_files(tmp_path / "one", studies[0])
    other = json.loads(json.dumps(studies[0]))
    for folder in ("eval", "time", "suggest_log"):
        for variable in other[folder].values():
            variable["data"] = variable["data"][:rows]
    for row in other["eval"][VISIBLE]["data"]:
        row[0] += 0.125
    study_files(tmp_path / "two", other)
    study_files(tmp_path / "two", studies[1])
    for first, second in (("one", "two"), ("two", "one")):
        store = tmp_path / f"from-{first}"
        import_files("bayesmark", [tmp_path / first], store)
        before = files_in(store)
        assert main(["import", "bayesmark", str(tmp_path / second), "--store", str(store)]) == 2
        assert "evaluation 1 is " in capsys.readouterr().err
        assert files_in(store) == before


def test_what_was_launched_here_and_in_bayesmark_under_one_id_is_refused(tmp_path):
    """The same id has the same seed, but two tools draw other points from it."""
    pytest.importorskip("sklearn")
    flags = ["-dir", str(tmp_path), "-b", "db", "-n", "4", "-r", "1"]
    launch = ["bayesmark", "launch", *flags, "-o", "RandomSearch", "-c", "DT", "-d", "iris", "-m", "acc"]
    assert main([*launch, "-u", "0" * 32, "-v"]) == 0
    (store,) = [path.parent for path in tmp_path.rglob("journal")]
    (uuid,) = [path.stem for path in (tmp_path / "db" / "eval").glob("*.json")]
    theirs = load("real/r01/studies.json.gz")[0]
    study_files(tmp_path / "theirs", {**changed(theirs, **{"--uuid": uuid}), "uuid": uuid})
    before = files_in(store / "journal")
    with pytest.raises(OptarenaError, match=r"its optimizer is '\S+_a376313', but 'RandomSearch' in store"):
        import_files("bayesmark", [tmp_path / "theirs"], store)
    assert files_in(store / "journal") == before


@pytest.mark.parametrize("problem", ["sklearn/DT_iris_{acc,nll}", "functions/sphere/d2"])
def test_a_stores_own_export_to_bayesmark_adds_nothing(tmp_path, problem):
    if "sklearn" in problem:
        pytest.importorskip("sklearn")
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], problem, 4, batch=2, trials=2).run(
        tmp_path / "s", workers=0
    )
    database = export("bayesmark", results, tmp_path / "out")
    (done,) = import_files("bayesmark", [database], tmp_path / "s")
    assert dict(done.present) == {f"store {tmp_path / 's'}": results.studies.height}
    assert oa.open(tmp_path / "s").studies.equals(results.studies)


def test_a_database_that_has_grown_adds_its_new_studies_and_keeps_the_trials(database, tmp_path):
    studies = sorted(load("real/r01/studies.json.gz"), key=lambda study: study["uuid"])
    for study in studies[len(studies) // 2 :]:
        study_files(tmp_path / "db", study)
    import_files("bayesmark", [tmp_path / "db"], tmp_path / "s")
    before = dict(oa.open(tmp_path / "s").studies.select("study", "trial").iter_rows())
    (done,) = import_files("bayesmark", [database], tmp_path / "s")
    assert (done.added, sum(done.present.values())) == (24, 24)
    frame = oa.open(tmp_path / "s").studies
    assert before.items() <= dict(frame.select("study", "trial").iter_rows()).items()
    assert frame.select("problem", "optimizer", "trial").is_duplicated().sum() == 0


def test_a_database_and_its_cubes_are_the_same_runs(database, tmp_path):
    main(["bayesmark", "agg", "-dir", str(database.parent), "-b", database.name])
    shutil.copytree(database / "derived", tmp_path / "left" / "derived")
    one, two = import_files("bayesmark", [database, tmp_path / "left"], tmp_path / "s")
    assert (one.added, two.added, sum(two.present.values())) == (48, 0, 48)
    two, one = import_files("bayesmark", [tmp_path / "left", database], tmp_path / "t")
    assert (two.added, one.added) == (48, 0)
