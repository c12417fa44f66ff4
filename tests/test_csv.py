"""The tidy CSV: what it brings into a store, that it comes back exactly, and that every mistake is named by place."""

from __future__ import annotations

import gzip
import math
import uuid
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.formats import export, import_files
from optarena.store import Store
from optarena.store.compaction import compact
from optarena.store.merging import merge

HEAD = "problem,optimizer,trial,evaluation,value"


def read(text: str, store="s", name="old.csv") -> oa.Results:
    Path(name).write_bytes(text.encode() if isinstance(text, str) else text)
    import_files("csv", [name], store)
    return oa.open(store)


def refused(text, name="old.csv") -> list[str]:
    with pytest.raises(OptarenaError) as caught:
        read(text, "refused", name)
    assert not Path("refused").exists()
    return str(caught.value).splitlines()


def everything(results: oa.Results) -> list[tuple]:
    """All that a store says of its studies, in plain values that compare."""
    skipped = {"started", "ended", "suggest_seconds", "evaluate_seconds", "observe_seconds", "cpu_seconds", "attempt"}
    facts = results.studies.select([name for name in results.studies.columns if name not in skipped])
    traces = results.in_full().traces()
    out = []
    for i, row in enumerate(facts.iter_rows(named=True)):
        part = slice(int(traces.offsets[i]), int(traces.offsets[i + 1]))
        points = [
            {**point, "types": [type(value) for value in point["parameters"].values()]}
            for point in results.points(row["study"])
        ]
        names = [name for name in results.in_full().columns.extras if name != "seconds"]  # compared below
        extras = {name: results.in_full().extra(name)[part].tolist() for name in names}
        attempt = results.columns.attempts[results.chosen[i]]
        out.append(
            repr(
                (
                    sorted(row.items()),
                    points,
                    traces.seconds[part].tolist(),
                    [results.in_full().efforts(axis)[part].tolist() for axis in ("evaluations", "batches")],
                    sorted((name, numbers) for name, numbers in extras.items() if not np.isnan(numbers).all()),
                    [(o.name, o.sense) for o in attempt.card.objectives],
                    attempt.card.known,
                    sorted(attempt.start.attributes.items()),
                    attempt.start.budget,
                    [sorted(end.a.items()) for end in attempt.ends],
                    results.in_full()
                    .columns.measured[results.in_full().rows[0][part], : len(attempt.card.metrics)]
                    .tolist(),
                )
            ).replace("-nan", "nan")
        )
    return sorted(out)


# ---- what is brought in ----------------------------------------------------------------------------------------------


def test_the_least_that_is_needed_is_problem_optimizer_and_value():
    results = read("problem,optimizer,value\np,A,3\np,A,1\np,B,2\n")
    assert results.studies.select("problem", "optimizer", "trial", "status", "evaluations", "best").rows() == [
        ("p", "A", 0, "done", 2, 1.0),
        ("p", "B", 0, "done", 1, 2.0),
    ]
    np.testing.assert_array_equal(results.in_full().traces().evaluation, [1, 2, 1])


def test_every_column_of_the_format_is_kept():
    results = read(
        "problem,optimizer,value,trial,suite,function,dimension,instance,evaluation,batch,suggestion,seconds,decisions,"
        "effort.nodes,sense,f_opt,best_known,budget,budget_seconds,status,bound,violation,metric.held,x.lr,x.n,x.k,x.on,"
        "machine,note\n"
        "p,A,5,2,su,fu,7,3,1,0,0,0.1,10,1,max,9.5,9,100,60,,99,-1,0.5,0.01,3,rbf,true,m1,first\n"
        "p,A,6,2,su,fu,7,3,2,0,1,0.30000000000000004,20,2,max,9.5,9,200,60,timed out,98,2,inf,0.5,4,poly,FALSE,m1,"
        "second\n"
    )
    row = results.studies.row(0, named=True)
    assert (row["trial"], row["suite"], row["function"], row["dimension"], row["instance"]) == (2, "su", "fu", 7, 3)
    assert (row["sense"], row["optimum"], row["best_known"], row["best"]) == ("max", 9.5, 9.0, 5.0)
    assert (row["budget"], row["budget_seconds"], row["status"], row["batch"]) == (200, 60.0, "timed out", 2)
    assert results.in_full().traces().seconds.tolist() == [0.1, 0.30000000000000004]
    assert results.in_full().traces().feasible.tolist() == [True, False]
    assert results.axes == ["evaluations", "batches", "seconds", "decisions", "nodes"]
    assert results.in_full().efforts("decisions").tolist() == [10.0, 20.0]
    assert results.in_full().efforts("nodes").tolist() == [1.0, 2.0]
    assert results.in_full().efforts("batches").tolist() == [1.0, 1.0]
    assert results.in_full().extra("bound").tolist() == [99.0, 98.0]
    points = results.points(row["study"])
    assert [point["metrics"] for point in points] == [{"held": 0.5}, {"held": math.inf}]
    assert points[1]["parameters"] == {"lr": 0.5, "n": 4, "k": "poly", "on": False}
    assert isinstance(points[1]["parameters"]["n"], int)
    assert results.attributes.rows() == [(row["study"], "m1")]
    assert results.in_full().columns.notes["note"].tolist() == ["first", "second"]
    with pytest.raises(OptarenaError, match=r"no effort axis 'node'\. Did you mean 'nodes'\?"):
        results.in_full().efforts("node")


def test_several_objectives_have_a_column_each():
    results = read("problem,optimizer,f.1,f.2,sense.1,sense.2\np,A,1,2,min,max\np,A,3,4,min,max\n")
    np.testing.assert_array_equal(results.in_full().traces().values, [[1, -2], [3, -4]])
    one = read("problem,optimizer,f.loss\np,A,1\n", "t")
    assert one.points(one.studies["study"][0])[0]["values"] == {"loss": 1.0}


def test_a_failed_evaluation_is_a_row_with_a_status():
    results = read(
        HEAD + ",status,message\np,A,0,1,,error,no mesh\np,A,0,2,5,ok,\np,A,0,3,nan,,\np,A,0,4,,failed,diverged\n"
    )
    assert results.failures().select("evaluation", "status", "message").rows() == [
        (1, "error", "no mesh"),
        (3, "nan", ""),
        (4, "error", "diverged"),
    ]
    assert results.studies.select("status", "evaluations", "best").rows() == [("done", 4, 5.0)]


def test_a_run_with_no_event_is_a_study_without_rows():
    results = read(
        "problem,optimizer,trial,value,seconds,status,budget\np,A,0,,30,timed out,500\np,A,1,7,2,,\np,A,1,6,9,,\n"
        "p,A,1,,12.5,optimal,\np,B,0,,1,infeasible,\n"
    )
    assert results.studies.select("optimizer", "trial", "status", "reason", "evaluations", "budget").rows() == [
        ("A", 0, "timed out", "", 500, 500),
        ("A", 1, "done", "optimal", 2, None),
        ("B", 0, "done", "infeasible", 0, None),
    ]
    assert results.in_full().traces().lengths.tolist() == [0, 2, 0]
    assert results.extra_at_end("seconds").tolist() == [30.0, 12.5, 1.0]


def test_what_a_run_was_allowed_counts_as_made_where_only_improvements_are_kept():
    results = read("problem,optimizer,evaluation,value,budget\np,A,1,9,\np,A,17,5,\np,A,60,2,300\n")
    assert results.studies.select("evaluations", "budget", "record").rows() == [(300, 300, "improvements")]
    assert results.in_full().traces().evaluation.tolist() == [1, 17, 60]


def test_rows_of_studies_may_be_mixed_and_batches_put_in_order():
    results = read("problem,optimizer,batch,suggestion,value\np,A,1,0,3\np,B,0,0,9\np,A,0,1,2\np,A,0,0,1\n")
    assert results.in_full().traces().values[:, 0].tolist() == [1, 2, 3, 9]
    assert results.studies["batch"].to_list() == [2, 1]


def test_batches_that_no_size_explains_are_kept_as_they_are():
    results = read("problem,optimizer,batch,suggestion,value\np,A,0,0,3\np,A,1,0,9\np,A,1,1,2\n")
    assert results.in_full().efforts("batches").tolist() == [1.0, 2.0, 2.0]
    assert results.in_full().extra("suggestion").tolist() == [0.0, 0.0, 1.0]


def test_instances_of_one_problem_are_studies_of_their_own():
    results = read("problem,optimizer,instance,evaluation,value\np,A,1,1,3\np,A,2,1,4\n")
    assert sorted(results.studies.select("instance", "best").rows()) == [(1, 3.0), (2, 4.0)]


def test_importing_again_changes_nothing_and_a_longer_file_extends(capsys):
    text = HEAD + "\np,A,0,1,3\np,A,0,2,2\n"
    before = everything(read(text))
    assert everything(read(text)) == before
    assert len(list(Path("s/journal").iterdir())) == 1
    longer = read(text + "p,A,0,3,1\n")
    assert longer.studies.select("evaluations", "conflicts", "best").rows() == [(3, 0, 1.0)]
    assert main(["import", "csv", "old.csv", "--store", "s"]) == 0
    says = "old.csv: 1 run, 3 evaluations, 3 rows; nothing added: 1 run already in store s\n"
    assert says in capsys.readouterr().out
    Path("other.csv").write_text(HEAD + "\np,A,0,1,77\n")
    before = {path: path.read_bytes() for path in Path("s").rglob("*") if path.is_file()}
    assert main(["import", "csv", "other.csv", "--store", "s"]) == 2
    assert "(A on p, trial 0): evaluation 1 is 77.0, but 3.0 in store s; " in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("s").rglob("*") if path.is_file()} == before


def test_imports_stand_beside_what_was_run_and_merge():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 5).run("s", workers=0)
    results = read("problem,optimizer,value\nfunctions/sphere/d2,Mine,0.5\n")
    assert sorted(results.studies["optimizer"]) == ["Mine", "RandomSearch"]
    read("problem,optimizer,value,x.a,metric.m\nfunctions/sphere/d2,Other,0.5,1,2\n", "t")
    merge([Store("s"), Store("t")], Store("u"))
    assert oa.open("u").studies.height == 3
    read("problem,optimizer,value,sense\nfunctions/sphere/d2,Other,0.5,max\n", "v")
    with pytest.raises(OptarenaError, match="its objectives in"):
        merge([Store("u"), Store("v")], Store("w"))


# ---- forms of the text -----------------------------------------------------------------------------------------------

PLAIN = HEAD + ",note\np,A,0,1,3.5,hello\np,A,0,2,2.5,hello\n"


@pytest.mark.parametrize(
    "data",
    [
        PLAIN.encode(),
        b"\xef\xbb\xbf" + PLAIN.encode(),
        PLAIN.replace("\n", "\r\n").encode(),
        PLAIN.replace("\n", "\r").encode(),
        PLAIN.rstrip("\n").encode(),
        PLAIN.replace("\np,A,0,2", "\n\n,,,,,\np,A,0,2").encode() + b",,,,,\n\n",
        PLAIN.replace("note\n", "note,,\n").replace("hello\n", "hello,,\n").encode(),
        PLAIN.replace(",", " , ").encode().replace(b" hello", b"hello"),
        PLAIN.replace("p,A", '"p","A"').encode(),
    ],
)
def test_marks_line_ends_blanks_and_quotes_change_nothing(data):
    assert everything(read(data)) == everything(read(PLAIN, "plain"))


def test_quoted_texts_may_hold_commas_quotes_and_lines():
    results = read('problem,optimizer,value,note\n"p, q","A ""x""",1,"two\nlines"\n"p, q","A ""x""",2,"two\nlines"\n')
    assert results.studies.select("problem", "optimizer", "evaluations").rows() == [("p, q", 'A "x"', 2)]
    assert results.attributes["note"].to_list() == ["two\nlines"]


def test_gzip_is_known_by_its_suffix():
    Path("old.csv.gz").write_bytes(gzip.compress(PLAIN.encode()))
    import_files("csv", ["old.csv.gz"], "s")
    assert everything(oa.open("s")) == everything(read(PLAIN, "plain"))
    Path("bad.csv.gz").write_bytes(gzip.compress(PLAIN.encode())[:20])
    with pytest.raises(OptarenaError, match=r"bad\.csv\.gz: cannot be unpacked"):
        import_files("csv", ["bad.csv.gz"], "s")


# ---- mistakes --------------------------------------------------------------------------------------------------------


def test_a_bad_cell_is_named_by_line_and_column():
    rows = [f"p,A,0,{k},{'n/a' if k == 811 else k}" for k in range(1, 900)]
    assert refused("\n".join([HEAD, *rows])) == [
        "old.csv line 812, column 'value': 'n/a' is not a number (use nan or leave it empty with a status)"
    ]


def test_lines_are_counted_as_an_editor_does_after_quoted_lines_and_blank_ones():
    text = HEAD + ',note\np,A,0,1,1,"a\nb\nc"\n\np,A,0,2,x,\n'
    assert refused(text)[0].startswith("old.csv line 6, column 'value': 'x'")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "old.csv is empty"),
        ("\n\n", "old.csv is empty"),
        (HEAD + "\n", "old.csv: it has a header but no rows"),
        ("problem,value\np,1\n", "old.csv: no column 'optimizer'."),
        ("problem,optimiser,value\np,A,1\n", "no column 'optimizer'. Is it 'optimiser'?"),
        (
            "problem,optimizer,Value\np,A,1\n",
            "no column 'value' (nor 'f.1', 'f.2', … for several objectives). Is it 'Value'?",
        ),
        ("problem;optimizer;value\np;A;1,5\n", "old.csv line 1: its columns are separated by semicolons"),
        ("problem\toptimizer\tvalue\np\tA\t1\n", "separated by tabs"),
        (b"\xff\xfep\x00", "old.csv is UTF-16; save it as UTF-8"),
        (b"problem,optimizer,value\np,caf\xe9,1\n", "old.csv line 2: not UTF-8"),
        (
            "problem,optimizer,value\np,A,1\np,A,2,3\n",
            "old.csv line 3: 4 cells, the header has 3 (a text with a comma in it must be quoted; decimals",
        ),
        ("problem,optimizer,value\np,A\n", "old.csv line 2: 2 cells, the header has 3"),
        ('problem,optimizer,value\np,"A,1\n', "old.csv line 2: a quote is opened and never closed"),
        ("problem,optimizer,value,value\np,A,1,2\n", "duplicate column 'value'"),
        ("problem,optimizer,,value\np,A,7,2\n", "line 1: column 3 has no name"),
        ("problem,optimizer,value\n,A,2\n", "line 2, column 'problem': is empty; every row names its problem"),
        ("problem,optimizer,value\np,A,\n", "line 2, column 'value': is empty and there is no status"),
        ("problem,optimizer,value,sense\np,A,1,up\n", "line 2, column 'sense': 'up' is not a sense: give min or max"),
        (
            "problem,optimizer,value,sense\np,A,1,min\np,B,1,max\n",
            "line 3, column 'sense': 'max' differs from 'min' in line 2 of the same problem",
        ),
        (HEAD + "\np,A,1.5,1,2\n", "line 2, column 'trial': '1.5' is not a whole number"),
        (HEAD + "\np,A,-1,1,2\n", "line 2, column 'trial': '-1' is below 0"),
        (HEAD + "\np,A,0,0,2\n", "line 2, column 'evaluation': '0' is below 1"),
        (HEAD + "\np,A,0,1,2\np,A,0,,2\n", "line 3, column 'evaluation': is empty, and others of its study have one"),
        (
            HEAD + "\np,A,0,1,2\np,B,0,1,2\np,A,0,1,3\n",
            "line 4, column 'evaluation': 1 is a duplicate for problem 'p', optimizer 'A', trial 0 (first in line 2)",
        ),
        (HEAD + "\np,A,0,2,2\np,A,0,1,3\n", "line 3, column 'evaluation': 1 comes after 2 for problem 'p'"),
        ("problem,optimizer,value,f_opt\np,A,1,inf\n", "line 2, column 'f_opt': 'inf' is not finite"),
        (
            "problem,optimizer,value,suite\np,A,1,a\np,A,2,b\n",
            "line 3, column 'suite': 'b' differs from 'a' in line 2 of the same study",
        ),
        ("problem,optimizer,value,f.1\np,A,1,2\n", "its problem has both 'value' and 'f.' columns"),
        ("problem,optimizer,f.1,f.2\np,A,1,2\np,A,1,\n", "line 3, column 'f.2': is empty and there is no status"),
        (
            "problem,optimizer,value,status\np,A,,optimal\np,A,1,\n",
            "line 2, column 'status': 'optimal' with an empty value",
        ),
        ("problem,optimizer,value,seconds\np,A,1,fast\n", "'fast' is not a number (leave it empty if there is none)"),
        ("problem,optimizer,value,x.\np,A,1,2\n", "column 'x.' needs a name after the dot"),
        ("problem,optimizer,value,x.a:int\np,A,1,2.5\n", "line 2, column 'x.a:int': '2.5' is no int"),
        ("problem,optimizer,value,effort.seconds\np,A,1,2.5\n", "has a name of its own"),
        ("problem,optimizer,batch,suggestion,value\np,A,0,0,1\np,A,0,0,2\n", "'0' is a duplicate in its batch"),
    ],
)
def test_a_mistake_is_one_sentence_with_its_place(text, said):
    (first, *_) = refused(text)
    assert said in first


def test_all_mistakes_of_a_file_are_shown_up_to_twenty():
    lines = refused(HEAD + "\n" + "".join(f"p,A,{k}.5,1,x{k}\n" for k in range(30)))
    assert len(lines) == 22
    assert lines[0].startswith("old.csv line 2, column")
    assert lines[20:] == ["… and 40 more mistakes", "nothing was imported"]
    three = refused("problem,optimizer,value\np,A,a\np,,b\n")
    assert len(three) == 4


def test_nothing_of_several_files_is_imported_if_one_is_wrong(capsys):
    Path("good.csv").write_text(PLAIN)
    Path("bad.csv").write_text(PLAIN.replace("2.5", "?"))
    assert main(["import", "csv", "good.csv", "bad.csv", "--store", "s"]) == 2
    assert "optarena: bad.csv line 3, column 'value': '?' is not a number" in capsys.readouterr().err
    assert not Path("s").exists()


# ---- there and back --------------------------------------------------------------------------------------------------


def back(results: oa.Results, format: str, filename: str) -> oa.Results:
    path = export(format, results, filename)
    store = f"back-{uuid.uuid4().hex}"
    import_files(format, [path], store)
    return oa.open(store)


@pytest.mark.parametrize(("format", "name"), [("csv", "a.csv"), ("csv", "a.csv.gz"), ("parquet", "a.parquet")])
@pytest.mark.parametrize("compacted", [False, True])
def test_a_store_of_our_own_comes_back(format, name, compacted):
    @oa.as_problem(
        {
            "lr": {"type": "real", "space": "log", "range": [1e-5, 1.0]},
            "n": {"type": "int", "space": "linear", "range": [1, 9]},
            "k": {"type": "cat", "values": ["1", "2"]},
            "on": {"type": "bool"},
            "lr:real": {"type": "ordinal", "values": ["a", "b"]},
        },
        sense=["min", "max"],
        objectives=["loss", "gain"],
        constraints=2,
        metrics=["held"],
    )
    def wild(x):
        if x["n"] == 3:
            raise ValueError('three,\n"bad"')
        value = math.nan if x["n"] == 4 else x["lr"]
        return oa.Evaluation([value, 1.0], [x["lr"] - 0.5, -1.0], {"held": math.inf})

    optimizers = ["RandomSearch"]
    oa.Experiment(optimizers, [wild], 30, trials=2, batch=4).run("s", workers=0)
    oa.Experiment(optimizers, ["functions/sphere/d2", "functions/failing/d2", "functions/mixed-tuning/d9"], 20).run(
        "s", workers=0
    )
    oa.Experiment("QuasiRandom", "functions/ackley/d3", 300, record="improvements").run("s", workers=0)
    if compacted:
        compact(Store("s"))
    results = oa.open("s")
    again = back(results, format, name)
    assert everything(again) == everything(results)
    compact(Store(again.path))
    assert everything(oa.open(again.path)) == everything(results)
    assert everything(back(oa.open(again.path), format, f"again-{name}")) == everything(results)


numbers = st.floats(allow_nan=False)
# no slashes: paths in messages are cut when they are exported
texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0/"), min_size=1, max_size=6)


@st.composite
def tables(draw):
    """A tidy frame without mistakes: ragged studies, gaps, failures, every kind of column."""
    rows = []
    many = draw(st.booleans())
    kinds = draw(st.lists(st.sampled_from(["real", "int", "bool", "text"]), max_size=3))
    extras = draw(st.lists(st.sampled_from(["seconds", "decisions", "effort.a b", "bound"]), unique=True))
    problems = draw(st.lists(texts.map(lambda text: f"p{text}".strip()), min_size=1, max_size=2, unique=True))
    values = {
        "real": st.floats(allow_nan=False),
        "int": st.integers(-(2**53), 2**53),
        "bool": st.booleans(),
        "text": st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=5),
    }
    for problem in problems:
        optimum = draw(st.none() | st.floats(allow_nan=False, allow_infinity=False))
        for trial in range(draw(st.integers(1, 3))):
            row = {"problem": problem, "optimizer": 'A,\n"B"', "trial": trial, "f_opt": None if many else optimum}
            row["budget"] = draw(st.none() | st.integers(1, 1000))
            row["attribute"] = draw(st.none() | texts)
            k, spent = 0, dict.fromkeys(extras, 0.0)
            for _ in range(draw(st.integers(0, 5))):
                k += draw(st.sampled_from([1, 1, 1, 7]))
                failed = draw(st.sampled_from([None, None, "error", "timed out"]))
                new = {**row, "evaluation": k, "status": failed, "message": draw(texts) if failed else None}
                for name in ("f.1", "f.2") if many else ("value",):
                    new[name] = None if failed else draw(numbers | st.just(math.nan))
                new["metric.m"] = draw(st.none() | numbers | st.just(math.nan))
                new["violation"] = draw(st.none() | numbers)
                for name in extras:  # what was spent never becomes less
                    if name == "bound":
                        new[name] = draw(st.none() | numbers)
                    elif draw(st.booleans()):
                        new[name] = spent[name] = spent[name] + draw(st.floats(0, 1e100))
                for i, kind in enumerate(kinds):
                    new[f"x.{i}"] = draw(st.none() | values[kind]) if draw(st.booleans()) else draw(values[kind])
                rows.append(new)
            if k == 0 or draw(st.booleans()):
                rows.append({**row, "status": draw(st.sampled_from(["optimal", "timed out", "failed"]))})
    names = ["value", "f.1", "f.2", "metric.m", "violation", "f_opt", "seconds", "decisions", "effort.a b", "bound"]
    types = {"real": pl.Float64, "int": pl.Int64, "bool": pl.Boolean, "text": pl.String}
    schema = dict.fromkeys(["problem", "optimizer", "status", "message", "attribute"], pl.String)
    schema |= dict.fromkeys(names, pl.Float64) | dict.fromkeys(["trial", "budget", "evaluation"], pl.Int64)
    schema |= {f"x.{i}": types[kind] for i, kind in enumerate(kinds)}
    frame = pl.DataFrame(rows, schema=schema)
    kept = [name for name in frame.columns if frame[name].null_count() < frame.height]
    return frame.select(kept) if {"value", "f.1"} & set(kept) else frame.select([*kept, "value"])


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tables(), st.sampled_from(["csv", "parquet"]), st.booleans())
def test_any_table_comes_back_bit_for_bit(frame, format, compacted):
    store = f"first-{uuid.uuid4().hex}"
    results = oa.from_frame(frame, store)
    first = everything(results)
    if compacted:
        compact(Store(store))
        results = oa.open(store)
        assert everything(results) == first
    assert everything(back(results, format, f"x.{format}")) == first


def test_a_pandas_frame_is_the_same_as_a_polars_frame():
    pandas = pytest.importorskip("pandas")
    data = {
        "problem": ["p", "p", "q"],
        "optimizer": ["A", "A", "B"],
        "value": [1.5, math.nan, 2.0],
        "trial": [0, 0, 1],
        "x.n": [1, 2, 3],
        "x.k": ["1", "2", None],
        "note": ["a", None, "b"],
    }
    one = oa.from_frame(pandas.DataFrame(data), "one")
    two = oa.from_frame(pl.DataFrame(data), "two")
    assert everything(one) == everything(two)
    assert one.failures()["status"].to_list() == ["nan"]
    with pytest.raises(OptarenaError, match="expected a pandas or Polars frame, got list"):
        oa.from_frame([], "three")
    with pytest.raises(OptarenaError, match="frame row 2, column 'trial': '-1' is below 0"):
        oa.from_frame(pl.DataFrame({**data, "trial": [0, -1, 0]}), "three")


# ---- the command line ------------------------------------------------------------------------------------------------


def test_export_filters_and_names_its_file(capsys):
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d{2,3}", 5).run("s", workers=0)
    assert main(["export", "csv", "s", "-O", "out", "--optimizer", "Quasi*", "--dimension", "3"]) == 0
    assert "s.csv: 1 study, 5 evaluations" in capsys.readouterr().out
    frame = pl.read_csv("out/s.csv")
    assert (frame.height, set(frame["problem"]), frame.columns[:4]) == (
        5,
        {"functions/sphere/d3"},
        ["problem", "optimizer", "trial", "suite"],
    )
    assert main(["export", "parquet", "s", "-O", "all.parquet"]) == 0
    assert pl.read_parquet("all.parquet").height == 20
    assert main(["export", "csv", "s", "-O", "all.txt"]) == 2
    assert "a csv file ends in .csv or .csv.gz; else name a directory" in capsys.readouterr().err
    assert main(["export", "csv", "s", "-O", "x.csv", "--problem", "none"]) == 2
    assert "no study of store s matches --problem none" in capsys.readouterr().err


def test_formats_are_listed_and_a_wrong_one_is_told(capsys):
    assert main(["list", "formats"]) == 0
    assert "our own tidy CSV" in capsys.readouterr().out
    assert main(["import", "cvs", "x.csv", "--store", "s"]) == 2
    assert "no format named 'cvs'. Did you mean 'csv'?" in capsys.readouterr().err
    assert main(["import", "csv", "none.csv", "--store", "s"]) == 2
    assert "none.csv: No such file or directory" in capsys.readouterr().err
    Path("bad.parquet").write_text("x")
    assert main(["import", "parquet", "bad.parquet", "--store", "s"]) == 2
    assert "bad.parquet: not a Parquet file" in capsys.readouterr().err


@pytest.mark.parametrize("column", ["Trial", "seed", "repetition", "Seconds"])
def test_a_column_that_would_put_studies_together_is_named(column):
    Path("old.csv").write_text(f"problem,optimizer,value,{column}\np,A,1,0\np,A,2,1\n")
    with pytest.raises(OptarenaError, match=f"column '{column}': "):
        import_files("csv", ["old.csv"], "s")
    assert not Path("s").exists()


def test_a_seed_beside_a_trial_is_an_attribute():
    Path("old.csv").write_text("problem,optimizer,value,trial,seed\np,A,1,0,17\np,A,2,1,18\n")
    import_files("csv", ["old.csv"], "s")
    assert oa.open("s").attributes["seed"].to_list() == ["17", "18"]


def test_importing_a_stores_own_export_changes_nothing():
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", 8, batch=2, trials=2).run("s", workers=0)
    export("csv", oa.open("s"), "one.csv")
    import_files("csv", ["one.csv"], "s")
    export("csv", oa.open("s"), "two.csv")
    assert Path("two.csv").read_text() == Path("one.csv").read_text()
    assert oa.open("s").studies["conflicts"].sum() == 0


def test_a_table_that_is_given_for_a_store_is_named_by_its_mistake_or_by_how_it_is_imported(
    tmp_path, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    head = "problem,optimizer,trial,evaluation,value\np,A,0,1,1.5\n"
    Path("old.csv").write_text(head + "p,A,0,2,n/a\n")
    assert main(["score", "old.csv"]) == 2
    assert "old.csv line 3, column 'value': 'n/a' is not a number" in " ".join(capsys.readouterr().err.split())
    Path("old.csv").write_text(head)
    for words in (["score"], ["report"], ["status"]):
        assert main([*words, "old.csv"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert "old.csv is a file, not a store: 'optarena import csv old.csv --store results' makes a store" in said
        assert "--store old.csv" not in said
