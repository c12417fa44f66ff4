"""What the tidy CSV refuses because it contradicts itself or the store, and what it keeps to the last bit."""

from __future__ import annotations

import datetime
import gzip
import io
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError, WorkError
from optarena.formats import export, import_files
from optarena.formats.statuses import OF_ROWS, OF_RUNS
from optarena.store import Store
from optarena.store.compaction import compact

CUBES = Path(__file__).parent / "data" / "bayesmark" / "cubes"
"""Bayesmark's long tables, as its own functions were given them."""


def write(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def refused(*texts: str, store="refused") -> str:
    names = [write(f"{chr(97 + i)}.csv", text) for i, text in enumerate(texts)]
    before = sorted(Path(store).rglob("*")) if Path(store).exists() else None
    with pytest.raises(OptarenaError) as caught:
        import_files("csv", names, store)
    assert (sorted(Path(store).rglob("*")) if Path(store).exists() else None) == before
    return str(caught.value)


def imported(text: str, store="s") -> oa.Results:
    import_files("csv", [write("old.csv", text)], store)
    return oa.open(store)


# ---- one problem, one truth ------------------------------------------------------------------------------------------

FACTS = [
    ("sense", "min", "max"),
    ("f_opt", "0.5", "0.25"),
    ("best_known", "0.5", "0.25"),
    ("dimension", "2", "3"),
    ("suite", "one", "two"),
    ("function", "one", "two"),
]


@pytest.mark.parametrize(("column", "one", "two"), FACTS)
def test_studies_of_one_file_that_differ_about_their_problem_are_refused(column, one, two):
    said = refused(f"problem,optimizer,value,{column}\np,A,1,{one}\nq,A,1,{two}\np,B,1,{two}\n")
    assert said.startswith(f"a.csv line 4, column '{column}': ")
    assert one in said
    assert two in said
    assert "line 2" in said


@pytest.mark.parametrize(("column", "one", "two"), FACTS)
def test_files_of_one_import_that_differ_about_a_problem_are_refused(column, one, two):
    head = f"problem,optimizer,value,{column}\n"
    said = refused(f"{head}p,A,1,{one}\n", f"{head}q,B,1,{two}\np,B,1,{two}\n")
    assert said.startswith(f"b.csv line 3, column '{column}': ")
    assert one in said
    assert two in said
    assert "a.csv line 2" in said


@pytest.mark.parametrize(("column", "one", "two"), FACTS)
def test_a_file_that_differs_from_the_store_about_a_problem_is_refused(column, one, two, capsys):
    head = f"problem,optimizer,value,{column}\n"
    imported(f"{head}p,A,1,{one}\n")
    assert two in refused(f"{head}p,B,1,{two}\n", store="s")
    compact(Store("s"))
    assert main(["import", "csv", write("b.csv", f"{head}p,B,1,{two}\n"), "--store", "s"]) == 2
    assert f"b.csv line 2, column '{column}': " in capsys.readouterr().err
    assert oa.open("s").studies.height == 1


def test_a_file_that_differs_from_a_problem_that_was_run_is_refused():
    oa.Experiment("RandomSearch", "bbob/f1/d2/i3", 3).run("s", workers=0)
    head = "problem,optimizer,value"
    for column, value in [("instance", 4), ("f_opt", 1e300), ("dimension", 5), ("suite", "x"), ("sense", "max")]:
        said = refused(f"{head},{column}\nbbob/f1/d2/i3,Mine,80,{value}\n", store="s")
        assert f"column '{column}': " in said
        assert "in store s" in said
    imported(f"{head},instance,dimension\nbbob/f1/d2/i3,Mine,80,3,2\n")
    imported(f"{head}\nbbob/f1/d2/i3,Other,90\n")
    assert len(oa.open("s").best()) == 1


def test_what_a_file_leaves_out_contradicts_nothing_but_the_sense():
    imported("problem,optimizer,value,f_opt,dimension,suite\np,A,1,0.5,3,one\n")
    imported("problem,optimizer,value\np,B,1\n")
    imported("problem,optimizer,value,sense\nq,A,1,max\n")
    said = refused("problem,optimizer,value\nq,B,1\n", store="s")
    assert said.startswith(
        "a.csv line 2, no column 'sense', which means min: 'min' for problem 'q', but 'max' in store s"
    )


def test_the_objectives_of_a_problem_have_the_same_names_everywhere():
    imported("problem,optimizer,f.1,f.2\np,A,1,2\n")
    assert "its objectives: 'value' for problem 'p', but '1', '2' in store s" in refused(
        "problem,optimizer,value\np,B,1\n", store="s"
    )
    imported("problem,optimizer,value,status\np,B,,timed out\n")  # nothing was found, so no column says anything


def test_parameters_count_as_the_dimension_where_it_is_not_told():
    imported("problem,optimizer,value,x.a,x.b\np,A,1,2,3\n")
    said = refused("problem,optimizer,value,x.a\np,B,1,2\n", store="s")
    assert "its 'x.' columns: 1 for problem 'p', but 2 in store s; give it in a column 'dimension'" in said
    imported("problem,optimizer,value,x.a,dimension\np,B,1,2,2\n")


def test_instances_of_one_problem_have_optima_of_their_own(capsys):
    results = imported("problem,optimizer,instance,value,f_opt\np,A,1,3,2.5\np,A,2,4,3.5\np,B,2,5,3.5\n")
    assert [(row["instance"], row["best"], row["optimum"]) for row in results.best()] == [(1, 3, 2.5), (2, 4, 3.5)]
    assert main(["best", "s"]) == 0
    assert "instance" in capsys.readouterr().out
    said = refused("problem,optimizer,instance,value,f_opt\np,C,2,4,3\n", store="s")
    assert "column 'f_opt': 3.0 for problem 'p', but 3.5 in store s" in said


def test_from_frame_refuses_what_contradicts_the_store():
    oa.from_frame(pl.DataFrame({"problem": ["p"], "optimizer": ["A"], "value": [1.0], "f_opt": [0.5]}), "s")
    with pytest.raises(OptarenaError, match=r"frame row 1, column 'f_opt': 0\.0 for problem 'p', but 0\.5 in store s"):
        oa.from_frame(pl.DataFrame({"problem": ["p"], "optimizer": ["B"], "value": [1.0], "f_opt": [0.0]}), "s")


# ---- efforts ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("column", ["seconds", "decisions", "effort.nodes", "budget_seconds"])
@pytest.mark.parametrize("cell", ["-1", "nan", "inf", "-inf"])
def test_an_effort_is_finite_and_not_negative(column, cell):
    said = refused(f"problem,optimizer,value,{column}\np,A,1,{cell}\n")
    assert said.startswith(f"a.csv line 2, column '{column}': '{cell}' is not an effort")


@pytest.mark.parametrize("column", ["seconds", "decisions", "effort.nodes"])
def test_an_effort_never_becomes_less_within_a_study(column):
    head = f"problem,optimizer,value,{column},status\n"
    said = refused(f"{head}p,A,3,1,\np,B,3,9,\np,A,2,5,\np,A,2,,\np,A,1,4.5,\n")
    assert said == f"a.csv line 6, column '{column}': '4.5' is less than 5, which its study had spent before"
    assert f"line 3, column '{column}': '0.5' is less than 1" in refused(f"{head}p,A,3,1,\np,A,,0.5,optimal\n")
    imported(f"{head}p,A,3,1,\np,A,2,1,\np,A,,7,optimal\n")


@pytest.mark.parametrize("column", ["bound", "violation"])
def test_a_bound_or_violation_that_is_no_number_is_refused(column):
    assert f"column '{column}': 'nan' is not a number" in refused(f"problem,optimizer,value,{column}\np,A,1,nan\n")


# ---- nan and nothing -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("format", "compacted"), [("csv", False), ("csv", True), ("parquet", True)])
def test_a_metric_of_nan_is_not_a_metric_that_is_absent(format, compacted):
    imported("problem,optimizer,value,metric.a,metric.b\np,A,1,nan,\np,A,2,,3\np,A,3,4,nan\nq,A,3,,\n")
    for store in ("s", "again"):
        if compacted:
            compact(Store(store))
        path = export(format, oa.open(store), f"out.{format}")
        frame = pl.read_csv(path, infer_schema=False) if format == "csv" else pl.read_parquet(path)
        cells = [[None if cell is None else float(cell) for cell in frame[f"metric.{name}"]] for name in "ab"]
        np.testing.assert_equal(cells, [[math.nan, None, 4.0, None], [None, 3.0, math.nan, None]])
        if store == "s":
            import_files(format, [path], "again")


def test_a_metric_of_nan_from_a_run_is_exported_as_nan():
    @oa.as_problem({"a": {"type": "real", "space": "linear", "range": [0, 1]}}, metrics=["held"])
    def odd(x):
        if x["a"] < 0.5:
            raise ValueError("low")
        return oa.Evaluation([x["a"]], [], {"held": math.nan})

    oa.Experiment("RandomSearch", [odd], 20).run("s", workers=0)
    frame = pl.read_csv(export("csv", oa.open("s"), "out.csv"), infer_schema=False)
    failed = frame["status"] == "error"
    assert 0 < failed.sum() < 20
    assert frame.filter(failed)["metric.held"].null_count() == failed.sum()
    assert set(frame.filter(~failed.fill_null(False))["metric.held"]) == {"nan"}


# ---- frames ----------------------------------------------------------------------------------------------------------

LEAST = {"problem": ["p", "p"], "optimizer": ["A", "A"], "value": [1.0, 2.0]}


@pytest.mark.parametrize(
    ("column", "series", "said"),
    [
        (
            "note",
            pl.Series([[1], [2]]),
            "frame: column 'note' holds lists; a cell must be a number, a text, true or false",
        ),
        ("x.a", pl.Series([{"b": 1}, {"b": 2}]), "column 'x.a' holds structs"),
        ("x.a", pl.Series([b"a", b"b"]), "column 'x.a' holds binary"),
        ("x.a", pl.Series([object(), object()], dtype=pl.Object), "column 'x.a' holds object"),
        ("x.a", pl.Series([1, 2**63], dtype=pl.UInt64), "frame row 2, column 'x.a': 9223372036854775808 is beyond"),
        ("trial", pl.Series([1, 2**70], dtype=pl.Int128), "frame row 2, column 'trial': 1180591620717411303424 is"),
        ("seconds", pl.Series([True, False]), "frame row 1, column 'seconds': 'True' is not a number"),
        ("seconds", pl.Series([datetime.date(2020, 1, 1)] * 2), "column 'seconds': '2020-01-01' is not a number"),
    ],
)
def test_a_frame_with_a_column_that_cannot_be_is_one_sentence(column, series, said):
    with pytest.raises(OptarenaError) as caught:
        oa.from_frame(pl.DataFrame(LEAST).with_columns(series.alias(column)), "s")
    assert said in str(caught.value)
    assert not Path("s").exists()


def test_small_unsigned_decimal_and_categorical_columns_are_taken():
    frame = pl.DataFrame(LEAST).with_columns(
        pl.Series("x.n", [1, 2**63 - 1], dtype=pl.UInt64),
        pl.Series("x.k", ["a", "b"], dtype=pl.Categorical),
        pl.Series("x.d", ["0.5", "1.5"]).str.to_decimal(scale=1),
        pl.Series("when", [datetime.datetime(2020, 1, 1)] * 2),
    )
    results = oa.from_frame(frame, "s")
    assert results.points(results.studies["study"][0])[1]["parameters"] == {"n": 2**63 - 1, "k": "b", "d": 1.5}
    assert results.attributes["when"][0].startswith("2020-01-01")


def test_a_pandas_frame_that_cannot_be_is_one_sentence():
    pandas = pytest.importorskip("pandas")

    def said(frame) -> str:
        with pytest.raises(OptarenaError) as caught:
            oa.from_frame(frame, "s")
        assert "\n" not in str(caught.value)
        assert not Path("s").exists()
        return str(caught.value)

    frame = pandas.DataFrame(LEAST)
    assert said(pandas.concat([frame, frame[["value"]]], axis=1)) == "frame: duplicate column 'value'"
    assert "row 2, column 'note': a cell of type list" in said(frame.assign(note=["a", [1]]))
    assert "row 1, column 'x.a': a cell of type ndarray" in said(frame.assign(**{"x.a": [np.zeros(2), np.zeros(2)]}))
    assert "row 1, column 'x.a': a cell of type complex" in said(frame.assign(**{"x.a": [1j, 2j]}))
    assert "row 1, column 'note': a cell of type object" in said(frame.assign(note=[object(), None]))
    assert "column 'x.a'" in said(frame.assign(**{"x.a": np.array([1, 2**63], dtype=np.uint64)}))
    assert "column 'x.a'" in said(frame.assign(**{"x.a": [1, 2**70]}))
    assert "row 2, column 'x.a': 'n/a' is a text, and others are not" in said(frame.assign(**{"x.a": [1, "n/a"]}))
    assert "row 2, column 'value': 'n/a' is not a number" in said(frame.assign(value=[1, "n/a"]))


# ---- parameters ------------------------------------------------------------------------------------------------------


def test_a_text_among_numbers_is_refused_by_line():
    head = "problem,optimizer,value,x.a\n"
    said = refused(f"{head}p,A,1,0.5\np,A,1,n/a\nq,A,1,rbf\np,A,1,\np,A,1,-\n").splitlines()
    assert len(said) == 3
    assert said[0].startswith("a.csv line 3, column 'x.a': 'n/a' is not a number, but others of its problem are")
    assert "call the column 'x.a:text'" in said[0]
    assert said[1].startswith("a.csv line 6, column 'x.a': '-'")


def test_a_column_without_a_number_or_with_a_stated_kind_is_a_category():
    results = imported("problem,optimizer,value,x.a,x.b:text,x.c\np,A,1,rbf,1,true\np,A,1,n/a,auto,maybe\n")
    points = results.points(results.studies["study"][0])
    assert [point["parameters"] for point in points] == [
        {"a": "rbf", "b": "1", "c": "true"},
        {"a": "n/a", "b": "auto", "c": "maybe"},
    ]
    import_files("csv", [export("csv", results, "out.csv")], "again")
    again = oa.open("again")
    assert again.points(again.studies["study"][0]) == points


@pytest.mark.parametrize(("kind", "cell"), [("int", "2.5"), ("int", "1e3"), ("real", "a"), ("bool", "yes")])
def test_a_cell_that_is_not_of_the_stated_kind_is_named(kind, cell):
    good = {"int": "1", "real": "1.5", "bool": "true"}[kind]
    said = refused(f"problem,optimizer,value,x.a:{kind}\np,A,1,{good}\np,A,1,{cell}\n")
    assert said == f"a.csv line 3, column 'x.a:{kind}': '{cell}' is no {kind}"


# ---- other hands' files ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("problem;optimizer;value\np;A;1,5\n", "line 1: its columns are separated by semicolons"),
        ('"problem";"optimizer";"value";"x.a,b"\np;A;1,5;1\n', "separated by semicolons"),
        ("problem\toptimizer\tvalue\tnote, long\np\tA\t1\t\n", "separated by tabs"),
        ("problem|optimizer|value\np|A|1\n", "separated by bars"),
        ("sep=;\nproblem;optimizer;value\np;A;1\n", "line 1: 'sep=;' is not a header"),
        (
            'problem,optimizer,value\np,A,"1,5"\n',
            "line 2, column 'value': '1,5' has a decimal comma; write a point: '1.5'",
        ),
        ("problem,optimizer,value\np,A,1,5\n", "line 2: 4 cells, the header has 3"),
    ],
)
def test_other_separators_and_decimal_commas_are_told(text, said):
    assert said in refused(text)


def test_semicolons_and_tabs_within_cells_are_no_separators():
    results = imported("problem,optimizer,value,a;b\np;q,A;B,1,c;\td\n")
    assert results.attributes["a;b"].to_list() == ["c;\td"]


def test_the_long_table_of_bayesmark_is_known_by_its_columns():
    text = gzip.decompress((CUBES / "e01_nan" / "input.csv.gz").read_bytes()).decode()
    assert refused(text) == (
        "a.csv: these are the columns of Bayesmark's long table: rename function to problem, study_id to trial and iter"
        " to batch, take the rows whose objective is _visible_to_opt as 'value' and every other objective as a column"
        " 'metric.<name>'"
    )


def cube(name: str) -> pl.DataFrame:
    """A long table of Bayesmark in our columns: the visible objective is the value, the others are metrics."""
    long = pl.read_csv(gzip.decompress((CUBES / name / "input.csv.gz").read_bytes())).with_columns(
        pl.col("value").cast(pl.Float64)
    )
    keys = {"function": "problem", "optimizer": "optimizer", "study_id": "trial", "iter": "batch"}
    long = long.rename(keys)
    index = [*keys.values(), "suggestion"]
    value = long.filter(objective="_visible_to_opt").select(*index, "value")
    for objective in sorted(set(long["objective"]) - {"_visible_to_opt"}):
        other = long.filter(objective=objective).select(*index, pl.col("value").alias(f"metric.{objective}"))
        value = value.join(other, on=index, how="left", validate="1:1")
    return value


def write_cube(frame: pl.DataFrame, name: str) -> str:
    """With numbers in the form in which they read back as the same, and nan as such."""
    text = io.StringIO()
    frame.with_columns(pl.col(pl.Float64).cast(pl.String)).write_csv(text)
    return write(name, text.getvalue())


@pytest.mark.parametrize("name", ["c02_batch4", "c03_inf_batch2", "e01_nan", "e04_neg_inf"])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_cube_of_bayesmark_comes_in_exactly_in_whatever_order_its_rows_are(name, compacted):
    frame = cube(name)
    frame = frame.filter(~((pl.col("optimizer").str.starts_with("Opt")) & (pl.col("trial") == frame["trial"].max())))
    assert frame.group_by("optimizer").agg(pl.col("trial").n_unique())["trial"].n_unique() == 2  # unequal trials
    import_files("csv", [write_cube(frame.sample(fraction=1.0, shuffle=True, seed=3), "cube.csv")], "s")
    if compacted:
        compact(Store("s"))
    results = oa.open("s")
    studies = results.studies
    expected = frame.sort("problem", "optimizer", "trial", "batch", "suggestion")
    assert studies.select("problem", "optimizer", "trial").rows() == (
        expected.select("problem", "optimizer", "trial").unique(maintain_order=True).rows()
    )
    assert set(studies["status"]) == {"done"}
    assert set(studies["sense"]) == {"min"}
    assert set(studies["batch"]) == {expected["suggestion"].max() + 1}
    lengths = expected.group_by("problem", "optimizer", "trial", maintain_order=True).len()["len"].to_list()
    traces = results.in_full().traces()
    assert traces.lengths.tolist() == lengths
    assert traces.evaluation.tolist() == [k for n in lengths for k in range(1, n + 1)]
    np.testing.assert_array_equal(traces.values[:, 0], expected["value"].to_numpy())
    np.testing.assert_array_equal(results.in_full().efforts("batches"), expected["batch"].to_numpy() + 1.0)
    rows, _ = results.in_full().rows
    metrics = [column for column in expected.columns if column.startswith("metric.")]
    assert {tuple(f"metric.{m}" for m in a.card.metrics) for a in results.columns.attempts} == {tuple(metrics)}
    if metrics:
        np.testing.assert_array_equal(results.in_full().columns.metrics[rows], expected.select(metrics).to_numpy())
    back = pl.read_csv(export("csv", results, "out.csv"))
    columns = ["problem", "optimizer", "trial", "batch", "suggestion", "value", *metrics]
    if expected["suggestion"].max() == 0:  # a batch of one goes without saying
        columns = [column for column in columns if column not in ("batch", "suggestion")]
    typed = back.select(columns).cast(dict.fromkeys(("value", *metrics), pl.Float64))
    assert typed.equals(expected.select(columns))


# ---- export ----------------------------------------------------------------------------------------------------------


def test_an_export_is_sorted_and_the_same_bytes_whatever_the_order_of_files():
    texts = [
        "problem,optimizer,trial,value,effort.b,note\nq,B,10,1,2,x\nq,B,2,1,2,x\n",
        "problem,optimizer,trial,value,effort.a,mark\np,B,0,2,2,y\np,B,0,1,3,z\np,A,0,1,2,x\n",
    ]
    for store, order in (("one", texts), ("two", texts[::-1])):
        for text in order:
            imported(text, store)
    compact(Store("two"))
    outputs = [Path(export("csv", oa.open(store), f"{store}.csv")).read_bytes() for store in ("one", "one", "two")]
    assert outputs[0] == outputs[1] == outputs[2]
    frame = pl.read_csv("one.csv")
    assert frame.select("problem", "optimizer", "trial", "evaluation").rows() == [
        ("p", "A", 0, 1),
        ("p", "B", 0, 1),
        ("p", "B", 0, 2),
        ("q", "B", 2, 1),
        ("q", "B", 10, 1),
    ]


def test_what_a_plan_puts_first_is_exported_in_its_place():
    oa.Experiment(["RandomSearch", "QuasiRandom"], ["functions/sphere/d3", "functions/sphere/d2"], 3, trials=2).run(
        "s", workers=0
    )
    frame = pl.read_csv(export("csv", oa.open("s"), "out.csv"))
    keys = frame.select("problem", "optimizer", "trial", "evaluation").rows()
    assert keys == sorted(keys)


# ---- words -----------------------------------------------------------------------------------------------------------


def test_one_evaluation_is_one(capsys):
    assert main(["import", "csv", write("one.csv", "problem,optimizer,value\np,A,1\n"), "--store", "s"]) == 0
    assert "one.csv: 1 run, 1 evaluation, 1 row\n" in capsys.readouterr().out
    assert main(["export", "csv", "s", "-O", "out.csv"]) == 0
    assert "out.csv: 1 study, 1 evaluation, 1 row\n" in capsys.readouterr().out
    lines = refused("problem,optimizer,value\n" + "p,A,x\n" * 21).splitlines()
    assert lines[-2] == "… and 1 more mistake"


HEAD = "problem,optimizer,evaluation,value,status\n"


@pytest.mark.parametrize(
    ("word", "status"),
    [
        ("error", "error"),
        ("Failed", "error"),
        ("infeasible", "error"),
        ("nan", "nan"),
        ("TIMED_OUT", "timed out"),
        ("time-limit", "timed out"),
        ("crashed", "crashed"),
        ("out of memory", "crashed"),
    ],
)
def test_the_words_of_a_failed_evaluation(word, status):
    results = imported(f"{HEAD}p,A,1,,{word}\np,A,2,3,ok\n")
    assert results.failures().select("evaluation", "status").rows() == [(1, status)]


@pytest.mark.parametrize(
    ("word", "status", "reason"),
    [
        ("done", "done", ""),
        ("Optimal", "done", "optimal"),
        ("OPTIMAL_SOLUTION", "done", "optimal solution"),
        ("stopped early", "stopped early", ""),
        ("timeout", "timed out", "timeout"),
        ("timed out", "timed out", ""),
        ("crashed", "failed", "crashed"),
        ("interrupted", "interrupted", ""),
    ],
)
@pytest.mark.parametrize("rows", ["", "p,A,3,\np,A,2,\n"])
def test_the_words_of_a_run_that_ended(word, status, reason, rows):
    results = imported(f"problem,optimizer,value,status\n{rows}p,A,,{word}\n")
    assert results.studies.select("status", "reason").rows() == [(status, reason)]
    assert results.in_full().traces().lengths.tolist() == [rows.count("\n")]
    import_files("csv", [export("csv", results, "out.csv")], "again")
    assert oa.open("again").studies.select("status", "reason").rows() == [(status, reason)]


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("p,A,1,,optiml\n", "line 2, column 'status': unknown status 'optiml'. Did you mean 'optimal'?"),
        ("p,A,1,5,fine\np,A,2,5,\n", "line 2, column 'status': unknown status 'fine'."),
        (
            "p,A,1,,optimal\np,A,2,5,\n",
            "line 2, column 'status': 'optimal' does not say why an evaluation has no value",
        ),
        ("p,A,1,,ok\np,A,2,5,\n", "line 2, column 'status': 'ok' does not say why"),
        ("p,A,1,5,timed out\np,A,2,5,\n", "line 2, column 'status': 'timed out' appears beside a value, but rows"),
        ("p,A,1,5,\np,A,,,optimal\np,A,2,5,\n", "line 3, column 'status': 'optimal' with an empty value says how"),
    ],
)
def test_a_status_that_is_unknown_or_out_of_place_is_named_by_line(rows, said):
    assert said in refused(HEAD + rows)


def test_every_word_of_status_is_documented_as_it_is_understood():
    page = (Path(__file__).parents[1] / "docs" / "csv.md").read_text()
    documented: list[dict[str, str]] = [{}, {}]
    for line in page.partition("| word | of an evaluation | of a run |")[2].split("\n\n")[0].splitlines()[2:]:
        words, *meanings = (cell.strip() for cell in line.strip("|").split("|"))
        for word in [*re.findall("`(.+?)`", words), *([""] if "(empty)" in words else [])]:
            for said, meaning in zip(documented, meanings, strict=True):
                if meaning:
                    said[word] = meaning.partition(",")[0]
    assert documented == [OF_ROWS, OF_RUNS]


def test_a_reason_of_any_words_comes_back():
    results = imported("problem,optimizer,value,ended,reason\np,A,1,stopped early,no more: told so\n")
    import_files("csv", [export("csv", results, "out.csv")], "again")
    assert oa.open("again").studies.select("status", "reason").rows() == [("stopped early", "no more: told so")]
    assert "column 'ended': 'so so' is not a known end" in refused("problem,optimizer,value,ended\np,A,1,so so\n")


# ---- names -----------------------------------------------------------------------------------------------------------


def test_no_name_of_a_users_column_is_ours():
    names = ["_row", "_study", "_status", "_at", "_first", "note_right", "study_name", "@note", "note", "version"]
    head = f"problem,optimizer,value,study,effort.a,effort.a_right,x.a,x.a_right,{','.join(names)}\n"
    changing = "".join(f"p,A,{k},mine,{k},{k},{k},{k},{','.join(f'{name}{k}' for name in names)}\n" for k in (1, 2))
    fixed = f"p,B,1,mine,1,1,1,1,{','.join(names)}\n"
    results = imported(head + changing + fixed)
    import_files("csv", [export("csv", results, "out.csv")], "again")
    for store in (results, oa.open("again")):
        notes = store.in_full().columns.notes
        assert {name: notes[name].tolist() for name in names} == {n: [f"{n}1", f"{n}2", n] for n in names}
        assert store.attributes["study_name_"].to_list() == ["mine", "mine"]
        assert store.axes[-2:] == ["a", "a_right"]
        assert store.points(store.studies["study"][0])[1]["parameters"] == {"a": 2, "a_right": 2}


def test_a_column_that_is_a_note_in_one_file_and_an_attribute_in_another_is_one_column():
    imported("problem,optimizer,value,note\np,A,1,x\np,A,2,y\n")
    results = imported("problem,optimizer,value,note\np,B,1,z\n")
    frame = pl.read_csv(export("csv", results, "out.csv"))
    assert frame["note"].to_list() == ["x", "y", "z"]


# ---- replay ----------------------------------------------------------------------------------------------------------


def test_an_imported_study_cannot_be_run_again(capsys):
    study = imported("problem,optimizer,value\nfunctions/sphere/d2,RandomSearch,1\n").studies["study"][0]
    assert main(["replay", "s", study[:8]]) == 2
    assert f"study {study} was imported: there is nothing to run again" in capsys.readouterr().err


# ---- a study that exists already ------------------------------------------------------------------------------------

STUDY = "problem,optimizer,trial,evaluation,value\n"
STUDY_ID = "dac35b21-e8dc-5c9b-9d3e-d95d5368bc71"
ONE = STUDY + "p,A,0,1,5\np,A,0,2,4\np,A,0,3,6\n"


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ("p,A,0,1,5\np,A,0,2,4\np,A,0,3,7\n", "evaluation 3 is 7.0, but 6.0 in "),
        ("p,A,0,1,5\np,A,0,2,4\np,A,0,3,7\np,A,0,4,1\n", "evaluation 3 is 7.0, but 6.0 in "),
        ("p,A,0,4,3\np,A,0,5,2\n", "it lacks evaluation 1, which improves to 5.0 in "),
        ("p,A,0,1,5\np,A,0,3,6\np,A,0,5,2\n", "it lacks evaluation 2, which improves to 4.0 in "),
    ],
)
def test_rows_of_two_runs_are_never_put_into_one_study(other, says):
    assert f"b.csv: study {STUDY_ID} (A on p, trial 0): {says}a.csv; " in refused(ONE, STUDY + other)
    imported(ONE)
    assert f"a.csv: study {STUDY_ID} (A on p, trial 0): {says}store s; " in refused(STUDY + other, store="s")


def with_columns(text: str, **columns: str) -> str:
    head, *rows = text.splitlines()
    cells = ",".join(columns.values())
    return "\n".join([f"{head},{','.join(columns)}", *(f"{row},{cells}" for row in rows), ""])


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        ({"solver": "x"}, {"solver": "y"}, "its attribute 'solver' is 'y', but 'x' in"),
        ({"ended": "done"}, {"ended": "failed"}, "its status is 'failed', but 'done' in"),
        (
            {"ended": "done", "reason": "optimal"},
            {"ended": "done", "reason": "feasible"},
            "its reason is 'feasible', but 'optimal'",
        ),
        ({"seconds": "1.5"}, {"seconds": "2.5"}, "seconds of evaluation 1 is 2.5, but 1.5 in"),
        ({"metric.m": "1"}, {"metric.m": "2"}, "metric 'm' of evaluation 1 is 2.0, but 1.0 in"),
        ({}, {"metric.m": "2"}, "it has 'metric.m' for evaluations that store s has without"),
        ({}, {"seconds": "2"}, "it has 'seconds' for evaluations that store s has without"),
        ({"x.a": "1"}, {"x.a": "2"}, "parameter 'a' of evaluation 1 is 2, but 1 in"),
        ({"batch_size": "2"}, {"batch_size": "3"}, "its batch size is 3, but 2 in"),
    ],
)
def test_a_study_that_says_something_else_under_its_id_is_refused(before, after, says):
    imported(with_columns(ONE, **before))
    assert says in refused(with_columns(ONE, **after), store="s")


def test_an_id_belongs_to_one_optimizer_problem_and_trial():
    one = {"study": STUDY_ID}
    imported(with_columns(ONE, **one))
    for change, says in (
        (("p,A,0", "p,B,0"), "its optimizer is 'B', but 'A' in store s"),
        (("p,A,0", "q,A,0"), "its problem is 'q', but 'p' in store s"),
        (("p,A,0", "p,A,1"), "its trial is 1, but 0 in store s"),
    ):
        assert says in refused(with_columns(ONE, **one).replace(*change), store="s")


def test_nothing_is_written_when_the_last_of_several_files_contradicts_the_store():
    imported(ONE)
    before = everything_in("s")
    good = ONE.replace("p,A", "q,A")
    assert "evaluation 1 is 77.0" in refused(good, STUDY + "p,A,0,1,77\n", store="s")
    assert everything_in("s") == before


def everything_in(store: str) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in sorted(Path(store).rglob("*")) if path.is_file()}


def test_a_full_disk_leaves_no_part_of_an_import(monkeypatch):
    import optarena._files as files

    imported(ONE)
    before = everything_in("s")
    names = [write(f"{i}.csv", ONE.replace("p,A", f"q{i},A")) for i in range(3)]
    real = files._write_synced

    def full(path: Path, data: bytes) -> None:
        real(path, data[:20])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files, "_write_synced", full)
    with pytest.raises(WorkError, match="No space left on device"):
        import_files("csv", names, "s")
    assert everything_in("s") == before


SLOW_IMPORT = """
import sys, time
import optarena.formats.admission as admission
from optarena.formats import import_files
real = admission.admit
def slow(*args):
    out = real(*args)
    time.sleep(0.5)
    return out
admission.admit = slow
import_files("csv", [sys.argv[1]], sys.argv[2])
"""


@pytest.mark.parametrize("store", ["new", "deep/er/new"])
def test_two_imports_that_make_a_store_at_once_do_not_contradict_each_other(store):
    names = [write(f"{value}.csv", f"{STUDY}p,A,0,1,{value}\n") for value in (5, 6)]
    both = [
        subprocess.Popen([sys.executable, "-c", SLOW_IMPORT, name, store], stderr=subprocess.PIPE, text=True)
        for name in names
    ]
    errors = [process.communicate(timeout=60)[1] for process in both]
    assert sorted(process.returncode for process in both) == [0, 1]
    assert any("evaluation 1 is" in text for text in errors)
    assert oa.open(store).studies.select("evaluations", "conflicts").rows() == [(1, 0)]


def test_an_import_that_is_refused_leaves_no_directory():
    refused(ONE.replace("p,A,0,1,", "p,A,0,x,"), store="deep/er/new")
    assert not Path("deep").exists()


def test_the_files_of_an_import_appear_together_by_one_rename():
    imported(ONE)
    names = [write(f"{i}.csv", ONE.replace("p,A", f"q{i},A") + f"p,B{i},0,1,5\n") for i in range(3)]
    before = everything_in("s")
    import_files("csv", names, "s")
    (journal,) = everything_in("s").keys() - before.keys()
    assert '"imported":"0.csv, 1.csv, 2.csv"' in journal.read_text().splitlines()[0]
    frame = oa.open("s").studies.sort("problem", "optimizer")
    assert frame.select("problem", "optimizer", "evaluations").rows() == [
        ("p", "A", 3),
        *(("p", f"B{i}", 1) for i in range(3)),
        *((f"q{i}", "A", 3) for i in range(3)),
    ]


@pytest.mark.parametrize("clean_up", ["import", "compact"])
def test_what_a_killed_import_left_is_removed_an_hour_later(clean_up):
    imported(ONE)
    old, young = (Path(f"s/journal/import-{age}.jsonl.01234567.tmp") for age in ("old", "young"))
    for path in (old, young):
        path.write_text("cut")
    an_hour_ago = time.time() - 3700
    os.utime(old, (an_hour_ago, an_hour_ago))
    if clean_up == "import":
        imported(ONE)
    else:
        compact(Store("s"))
    assert (old.exists(), young.exists()) == (False, True)


@pytest.mark.parametrize("name", ["q", "q4", "r", "some/other"])
@pytest.mark.parametrize("order", [(20, 60), (60, 20), (20, 60, 40)])
def test_of_a_run_and_its_longer_versions_in_one_import_the_longest_is_added(name, order):
    rows = [f"{name},M,0,{k},{v}" for k, v in ((1, 0.5), (7, 0.4), (33, 0.3))]
    files = [
        write(
            f"{budget}.csv",
            "\n".join(
                ["problem,optimizer,trial,evaluation,value,budget"]
                + [f"{row},{budget}" for row in rows if int(row.split(",")[3]) <= budget]
            ),
        )
        for budget in order
    ]
    done = import_files("csv", files, "s")
    frame = oa.open("s").studies
    assert frame.select("evaluations", "budget", "status", "best", "conflicts").rows() == [(60, 60, "done", 0.3, 0)]
    assert {d.name: d.added for d in done} == {f"{budget}.csv": int(budget == 60) for budget in order}


def test_files_of_one_import_that_complete_a_run_are_all_added():
    head = "problem,optimizer,trial,evaluation,value,budget\n"
    short = write("a.csv", f"{head}p,A,0,1,5,20\np,A,0,7,6,20\n")
    long = write("b.csv", f"{head}p,A,0,1,5,60\np,A,0,33,4,60\n")
    import_files("csv", [short, long], "s")
    results = oa.open("s")
    assert results.studies.select("evaluations", "conflicts").rows() == [(60, 0)]
    assert results.in_full().traces().evaluation.tolist() == [1, 7, 33]


def test_a_file_that_has_grown_adds_rows_and_a_shorter_one_nothing():
    imported(STUDY + "p,A,0,1,5\np,A,0,2,4\n")
    assert imported(ONE).studies.select("evaluations", "conflicts").rows() == [(3, 0)]
    (done,) = import_files("csv", [write("short.csv", STUDY + "p,A,0,1,5\n")], "s")
    assert (done.new, dict(done.present)) == (False, {"store s": 1})


def test_improvements_and_all_evaluations_of_a_run_are_one_run():
    imported(STUDY + "p,A,0,1,5\np,A,0,2,4\np,A,0,4,2\n")
    results = imported(STUDY + "p,A,0,1,5\np,A,0,2,4\np,A,0,3,6\np,A,0,4,2\n")
    assert results.studies.select("evaluations", "conflicts", "best").rows() == [(4, 0, 2.0)]


def test_the_same_data_under_another_trial_number_is_a_repetition():
    import_files("csv", [write("a.csv", ONE), write("b.csv", ONE.replace("p,A,0", "p,A,1"))], "s")
    assert oa.open("s").studies["trial"].to_list() == [0, 1]


def test_equal_trials_of_one_file_are_repetitions():
    both = ONE + ONE.replace("p,A,0", "p,A,1").removeprefix(STUDY)
    assert imported(both).studies["trial"].to_list() == [0, 1]
    assert imported(both).studies["trial"].to_list() == [0, 1]


def test_runs_of_one_value_each_are_told_apart_by_their_trials():
    import_files("csv", [write(f"{i}.csv", f"problem,optimizer,trial,value\np,A,{i},7\n") for i in range(3)], "s")
    assert oa.open("s").studies.height == 3


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_a_stores_own_export_adds_nothing_with_or_without_ids(format):
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", 8, batch=2, trials=2).run("s", workers=0)
    path = export(format, oa.open("s"), f"out.{format}")
    (done,) = import_files(format, [path], "s")
    assert (done.new, dict(done.present)) == (False, {"store s": 4})
    frame = pl.read_csv(path) if format == "csv" else pl.read_parquet(path)
    before = everything_in("s")
    oa.from_frame(frame.drop("study", "root"), "s")
    assert everything_in("s") == before


def test_a_run_counts_its_evaluations_and_its_rows(capsys):
    text = "problem,optimizer,trial,evaluation,value,budget\np,A,0,1,5,1000\np,A,0,40,4,1000\np,B,0,7,4,500\n"
    assert main(["import", "csv", write("few.csv", text), "--store", "s"]) == 0
    assert "few.csv: 2 runs, 1,500 evaluations, 3 rows\n" in capsys.readouterr().out


def test_an_export_counts_evaluations_and_rows_as_the_import_does(capsys):
    text = "problem,optimizer,trial,evaluation,value,budget\np,A,0,1,5,1000\np,A,0,40,4,1000\np,B,0,7,4,500\n"
    imported(text)
    for name in ("out.csv", "out.parquet"):
        assert main(["export", name.partition(".")[2], "s", "-O", name]) == 0
        assert capsys.readouterr().out == f"{name}: 2 studies, 1,500 evaluations, 3 rows\n"
    assert len(Path("out.csv").read_text().splitlines()) == 4
    oa.Experiment("RandomSearch", "bbob/f1/d2/i1", 20).run("own", workers=0)
    assert main(["export", "coco", "own", "-O", "out"]) == 0
    assert capsys.readouterr().out.endswith(": 1 study, 20 evaluations\n")


def test_names_of_files_and_stores_reach_the_terminal_as_plain_text(capsys):
    odd, store = "a\x1b[31m\nb.csv", "s\x1b[2J"
    for _ in range(2):
        assert main(["import", "csv", write(odd, ONE), "--store", store]) == 0
    assert main(["export", "csv", store, "-O", odd]) == 0
    assert main(["import", "csv", write(odd, "problem\n"), "--store", store]) == 2
    out, err = capsys.readouterr()
    assert "\x1b" not in out + err
    assert "already in store s\\u001b[2J" in out


@pytest.mark.parametrize("changed", ["max", "min"])
def test_a_refusal_of_a_problems_facts_says_that_nothing_was_imported(changed):
    head = "problem,optimizer,value,sense,f_opt\n"
    first = f"{head}p,A,1,min,0.5\n"
    said = refused(first, f"{head}p,B,1,{changed},0.25\n")
    assert said.endswith("\nnothing was imported" if changed == "max" else "two names; nothing was imported")


def test_a_column_study_without_uuids_is_an_attribute_and_no_id():
    results = imported("problem,optimizer,trial,value,study\np,A,0,1,first\np,A,1,2,first\n")
    assert results.studies["trial"].to_list() == [0, 1]
    assert results.attributes["study_name"].to_list() == ["first", "first"]
