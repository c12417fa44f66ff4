"""Solvers and instances in files: programs of any kind, MPS and MiniZinc models, and logs of other tools."""

from __future__ import annotations

import itertools
import shutil
import stat
import sys
import uuid
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.formats import import_files
from optarena.instance import LinearPoint
from optarena.problem import build, select
from optarena.problems import _mps
from optarena.testing import check_instance, check_solver

pytestmark = pytest.mark.xdist_group("processes")

ROOT = uuid.UUID(int=11)

# ---- programs -------------------------------------------------------------------------------------------------------

PROGRAM = """#!{python}
import json, sys, time
seconds, seed, how, file = float(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4]
cities = [line.split() for line in open(file) if line[0].isdigit()]
n = len(cities)
def length(tour):
    at = [(float(x), float(y)) for _, x, y in cities]
    d = lambda a, b: int(((at[a][0] - at[b][0]) ** 2 + (at[a][1] - at[b][1]) ** 2) ** 0.5 + 0.5)
    return sum(d(tour[i - 1], tour[i]) for i in range(n))
tour = list(range(n))
if how == "lines":
    print("# hello")
    print(0.001, length(tour))
    print("0.002 1e9")
elif how == "json":
    print(json.dumps({{"objective": length(tour), "solution": tour, "decisions": 5, "bound": 1.5}}))
    print(json.dumps({{"status": "feasible", "bound": 2.5, "nodes": 9}}))
elif how == "lie":
    print(json.dumps({{"objective": 1, "solution": tour}}))
elif how == "late":
    print(99.0, length(tour))
elif how == "noise":
    print("hello world")
elif how == "torn":
    sys.stdout.write(f"0.001 {{length(tour)}}\\n0.002 {{str(length(tour))[:2]}}"); sys.stdout.flush()
    import os, signal
    os.kill(os.getpid(), signal.SIGKILL)
elif how == "unfinished":
    sys.stdout.write(f"0.001 {{length(tour)}}")
elif how == "infinite":
    print(json.dumps({{"objective": length(tour), "bound": -float("inf"), "self": 1, "nodes": 3}}))
    print(json.dumps({{"objective": length(tour), "solution": tour, "bound": 1.5}}))
    print(json.dumps({{"status": "feasible", "bound": "none"}}))
elif how == "dies":
    print(0.0, length(tour)); sys.stdout.flush()
    sys.stderr.write("no licence\\n"); sys.exit(4)
elif how == "hangs":
    print(0.0, length(tour)); sys.stdout.flush()
    time.sleep(3600)
"""

DESCRIPTION = """
[solver]
command = ["./program", "{{seconds}}", "{{seed}}", "{{how}}", "{{instance}}"]
output = "{output}"
version = "1.2"
[solver.settings]
how = "lines"
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    for output in ("lines", "json"):
        (tmp_path / f"{output}.toml").write_text(DESCRIPTION.format(output=output))
    return tmp_path


def test_a_program_is_a_solver_and_its_settings_fill_its_arguments(program):
    uses = [oa.use(f"{'json' if how in ('json', 'lie') else 'lines'}.toml", name=how, how=how)
            for how in ("lines", "json", "lie", "late", "noise", "dies", "hangs")]  # fmt: skip
    results = oa.Experiment(uses, "tsp/n7/i1", seconds=5, seed=ROOT).run("results", workers=2)
    ends = {row["optimizer"]: (row["status"], row["reason"]) for row in results.studies.iter_rows(named=True)}
    value = build("tsp/n7/i1").cost(list(range(7)))
    assert ends == {
        "lines": ("done", "feasible"),
        "json": ("done", "feasible"),
        "lie": ("failed", f"wrong: claims 1, the solution has {value:g}"),
        "late": ("failed", ends["late"][1]),
        "noise": ("failed", f"error: ValueError: none of its lines is 'time objective'; the first is {b'hello world'}"),
        "dies": ("failed", "crashed: exit code 4 (no licence)"),
        "hangs": ("done", "feasible"),  # it was asked to end with its budget, and did
    }
    assert "reports 99 s, but only" in ends["late"][1]
    best = dict(results.studies.select("optimizer", "best").iter_rows())
    assert {best[how] for how in ("lines", "json", "dies", "hangs")} == {value}
    lines = results.filter(optimizer="lines")
    assert lines.in_full().efforts("seconds").tolist() == [0.001, 0.002]
    assert (
        results.in_full().columns.notes["verified"].tolist().count("no") == 4
    )  # it gave no solutions, and that is kept
    assert results.filter(optimizer="json").extra_at_end("bound").tolist() == [2.5]
    assert results.filter(optimizer="json").in_full().efforts("decisions").tolist() == [5.0]
    assert ("lines", "1.2", 5) in results.versions().rows()


def test_a_line_that_a_death_tore_apart_is_no_solution_and_infinite_bounds_are_read(program):
    uses = [oa.use(f"{'json' if how == 'infinite' else 'lines'}.toml", name=how, how=how)
            for how in ("torn", "unfinished", "infinite")]  # fmt: skip
    results = oa.Experiment(uses, "tsp/n7/i1", seconds=5, seed=ROOT).run("results", workers=2)
    ends = {row["optimizer"]: (row["status"], row["reason"]) for row in results.studies.iter_rows(named=True)}
    assert ends == {
        "torn": ("failed", "crashed: SIGKILL"),
        "unfinished": ("done", "feasible"),
        "infinite": ("done", "feasible"),
    }
    value = build("tsp/n7/i1").cost(list(range(7)))
    assert results.studies["best"].to_list() == [value] * 3
    assert dict(results.studies.select("optimizer", "evaluations").iter_rows())["infinite"] == 2
    assert results.filter(optimizer="infinite").in_full().extra("bound").tolist() == [-float("inf"), 1.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[solver]\n", r"solver.command: expected a list"),
        ('[solver]\ncommand = ["true", "{instnce}"]\n', r"nothing is called \{instnce\}"),
        ('[solver]\ncommand = ["true"]\n[solver.settings]\na = 1\n', r"no word of the command has \{a\}"),
        ('[solver]\ncommand = ["no-such-program"]\n', "no program 'no-such-program' is found on the PATH"),
        ('[solver]\ncommand = ["true"]\noutput = "xml"\n', "solver.output: expected one of lines, json, minizinc"),
        ('[solver]\ncomand = ["true"]\n', "no such field. Did you mean 'command'"),
        ("[sovler]\n", r"expected a table \[solver\]"),
    ],
)
def test_a_mistake_in_a_description_is_named(tmp_path, text, message):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(OptarenaError, match=message):
        oa.Experiment("mine.toml", "tsp/n7/i1", seconds=1).plan()


def test_the_kit_checks_solvers_and_instances(program):
    assert check_solver("lines.toml", ["tsp/n7/i1"], seconds=5) == []
    findings = check_solver("json.toml", ["tsp/n7/i1"], seconds=5, how="lie")
    assert [finding.check for finding in findings] == ["truth"]
    assert check_instance(build("jobshop/la01")) == []
    findings = check_solver("lines.toml", seconds=5, how="noise")  # on small instances of ours
    assert {finding.check for finding in findings} == {"runs"}
    assert len(findings) == 3


# ---- models in files ------------------------------------------------------------------------------------------------

SMALL = (Path(__file__).parent / "data" / "solvers" / "small.mps").read_text()


def test_an_mps_file_is_read_as_it_is_written(tmp_path):
    (tmp_path / "small.mps").write_text(SMALL)
    model = _mps.read(tmp_path / "small.mps")
    assert model.maximise
    assert model.constant == 3.0
    assert model.whole.tolist() == [True, False, False]
    assert model.low.tolist() == [0.0, -1.0, 0.0]
    assert model.high.tolist() == [4.0, 1.0, np.inf]
    assert model.row_low.tolist() == [1.5, 1.0, 7.0]
    assert model.row_high.tolist() == [4.0, np.inf, 7.0]
    assert model.objective([3.0, 1.0, 8.0]) == 3 + 2 - 8 + 3
    with pytest.raises(oa.WrongSolution, match=r"column 0 is 2\.5, not a whole number"):
        model.objective([2.5, 1.0, 8.0])
    with pytest.raises(oa.WrongSolution, match=r"row 0 is 5, outside \[1.5, 4\]"):
        model.objective([4.0, 1.0, 8.0])
    (tmp_path / "bad.mps").write_text(
        SMALL.replace("LIM2               1.0\n    MARKER", "LIM3               1.0\n    MARKER")
    )
    with pytest.raises(OptarenaError, match=r"bad.mps line 13: no such row or column: 'LIM3'"):
        build("bad.mps")


def test_known_optima_beside_files_are_used(tmp_path):
    (tmp_path / "small.mps").write_text(SMALL)
    (tmp_path / "known.toml").write_text('[best_known]\n"small.mps" = 1.5\n')
    instance = build("small.mps")
    assert instance.known.best_known == (1.5,)
    assert instance.check(LinearPoint(np.array([3.0, 1.0, 8.0]))) == 0.0
    (tmp_path / "known.toml").write_text('[optimums]\n"small.mps" = 1.5\n')
    with pytest.raises(OptarenaError, match="got 'optimums'"):
        build("small.mps")


MODEL = """
% maximize nothing
int: n;
array[1..n] of var 1..n: q;
include "all_different.mzn";
constraint all_different(q);
solve maximize sum(i in 1..n)(i * q[i]);
"""


def test_minizinc_models_of_a_folder_are_run_and_their_values_marked_as_told(tmp_path):
    if shutil.which("minizinc") is None:
        pytest.skip("minizinc is not installed")
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "order.mzn").write_text(MODEL)
    for n in (4, 5):
        (tmp_path / "models" / f"n{n}.dzn").write_text(f"n = {n};\n")
    assert select("models/order.mzn:*.dzn") == ["models/order.mzn:n4.dzn", "models/order.mzn:n5.dzn"]
    results = oa.Experiment("MiniZinc", "models/order.mzn:*.dzn", seconds=20, seed=ROOT).run("results", workers=2)
    assert results.studies.select("problem", "best", "reason", "sense").rows() == [
        ("order.mzn:n4.dzn", 30.0, "optimal", "max"),
        ("order.mzn:n5.dzn", 55.0, "optimal", "max"),
    ]
    assert set(results.in_full().columns.notes["verified"]) == {"no"}
    assert {"minizinc", "gecode"} <= set(results.versions()["package"])
    (tmp_path / "any.mzn").write_text('var 1..3: x; include "goal.mzn";')
    with pytest.raises(OptarenaError, match="it has no 'solve … minimize', 'maximize' or 'satisfy' of its own"):
        build("any.mzn")


# ---- logs of other tools --------------------------------------------------------------------------------------------

HEAD = "type,num_solutions,objective,time(us),num_decisions,num_conflicts,num_dom_updates,num_restarts\n"


def aries(folder: Path) -> None:
    for configuration, times in (("lexical_min_never", (1500, 2_000_000)), ("activity_max_luby", (3000, 1_000_000))):
        run = folder / configuration / "shop" / "one"
        run.mkdir(parents=True)
        rows = f"start,0,,0,0,0,0,0\nnew_solution,1,40,{times[0]},7,1,90,0\nnew_solution,2,35,{times[1]},20,5,300,1\n"
        (run / "one.csv").write_text(HEAD + rows)
        (run / "one.dzn").write_text("x = 1;\n----------\n" + ("==========\n" if "never" in configuration else ""))


def test_aries_bench_folders_are_imported_gathered_or_not(tmp_path):
    aries(tmp_path / "results")
    import_files("aries", ["results"], "store")
    studies = oa.open("store").studies.sort("optimizer")
    assert studies.select("problem", "optimizer", "status", "reason", "best", "sense").rows() == [
        ("shop/one", "activity_max_luby", "done", "feasible", 35.0, "min"),
        ("shop/one", "lexical_min_never", "done", "optimal", 35.0, "min"),
    ]
    one = oa.open("store").filter(optimizer="lexical*")
    assert one.in_full().efforts("seconds").tolist() == [0.0015, 2.0]
    assert one.in_full().efforts("decisions").tolist() == [7.0, 20.0]
    assert one.in_full().efforts("conflicts").tolist() == [1.0, 5.0]
    for folder in (tmp_path / "results").iterdir():
        text = (folder / "shop" / "one" / "one.csv").read_text().splitlines()
        rows = ["shop,one," + line for line in text[1:]]
        (folder / "results.csv").write_text("\n".join(["problem,flatzinc," + text[0].replace("(us)", ""), *rows, ""]))
    import_files("aries", ["results"], "gathered")
    assert (
        oa.open("gathered").studies.sort("optimizer").select("best", "reason").equals(studies.select("best", "reason"))
    )
    (tmp_path / "results" / "lexical_min_never" / "results.csv").write_text("problem,flatzinc\n")
    with pytest.raises(OptarenaError, match="is not from aries-bench"):
        import_files("aries", ["results"], "other")


def stream(*solutions: tuple[int, float], status: str = "") -> str:
    lines = [
        f'{{"type": "solution", "output": {{"json": {{"x": 1, "_objective": {value}}}}}, "time": {ms}}}'
        for ms, value in solutions
    ]
    lines.insert(0, '{"type": "warning", "message": "old"}')
    lines.append('{"type": "statistics", "statistics": {"nodes": 12, "failures": 3}}')
    return "\n".join([*lines, *([f'{{"type": "status", "status": "{status}"}}'] if status else []), ""])


def test_minizinc_streams_are_imported_by_name_or_by_manifest(tmp_path):
    logs = tmp_path / "logs"
    (logs / "gecode").mkdir(parents=True)
    (logs / "gecode" / "queens.json").write_text(stream((10, 5.0), (25, 9.0), status="OPTIMAL_SOLUTION"))
    (logs / "queens__chuffed__2.jsonl").write_text(stream((400, 4.0)))
    (logs / "hard__chuffed.jsonl").write_text(stream(status="UNKNOWN"))
    import_files("minizinc", ["logs"], "store")
    rows = oa.open("store").studies.sort("optimizer", "problem")
    assert rows.select("problem", "optimizer", "trial", "status", "reason", "best", "sense").rows() == [
        ("hard", "chuffed", 0, "done", "unknown", None, "min"),
        ("queens", "chuffed", 2, "done", "feasible", 4.0, "max"),
        ("queens", "gecode", 0, "done", "optimal solution", 9.0, "max"),
    ]
    assert oa.open("store").filter(optimizer="gecode").in_full().efforts("seconds").tolist() == [0.01, 0.025]
    assert oa.open("store").filter(optimizer="gecode").extra_at_end("effort.nodes").tolist() == [12.0]
    (logs / "odd.jsonl").write_text(stream((1, 2.0)))
    with pytest.raises(OptarenaError, match=r"whose run is odd.jsonl\?"):
        import_files("minizinc", ["logs"], "other")
    names = sorted(str(path.relative_to(logs)) for path in logs.rglob("*.json*"))
    (logs / "manifest.csv").write_text(
        "file,problem,configuration,trial,sense,budget_seconds\n"
        + "".join(f"{n},p,c,{i},max,60\n" for i, n in enumerate(names))
    )
    import_files("minizinc", ["logs"], "told")
    told = oa.open("told").studies
    assert told.select("problem", "optimizer", "sense", "budget_seconds").unique().rows() == [("p", "c", "max", 60.0)]
    assert told.height == 4
    (logs / "bad.jsonl").write_text("hello\n")
    (logs / "manifest.csv").unlink()
    with pytest.raises(OptarenaError, match=r"not a line of MiniZinc's stream|whose run is"):
        import_files("minizinc", ["logs"], "other")


def test_a_stream_of_a_model_without_an_objective_is_solved_or_not(tmp_path):
    method = '{"type": "statistics", "statistics": {"method": "satisfy"}}\n'
    found = '{"type": "solution", "output": {"json": {"q": [1, 2]}}, "time": 248}\n'
    status = '{"type": "status", "status": "UNSATISFIABLE", "time": 74}\n'
    folder = tmp_path / "logs" / "gecode"
    folder.mkdir(parents=True)
    (folder / "sat.json").write_text(found + found + method)
    (folder / "unsat.json").write_text(method + status)
    import_files("minizinc", ["logs"], "s")
    assert oa.open("s").studies.select("problem", "best", "evaluations").rows() == [("sat", 0.0, 1), ("unsat", None, 0)]
    assert oa.open("s").endings() == ["satisfiable", "infeasible"]
    (folder / "untold.json").write_text(found)
    with pytest.raises(OptarenaError, match=r"untold.json line 1: a solution without an objective: run minizinc .* -s"):
        import_files("minizinc", ["logs"], "s2")


@pytest.mark.parametrize(
    ("file", "text", "says"),
    [
        ("manifest.csv", "file,trial\nc/p.json,1.5\n", "trial 1.5 is not a whole number"),
        ("manifest.csv", "file,trial\nc/p.json,1,2,3\n", "more cells than the 2 of the header"),
        ("manifest.csv", f"file,problem\nc/p.json,{'x' * 200_000}\n", "cannot be read as CSV"),
        (
            "c/p.json",
            '{"type": "solution", "output": {"json": {"_objective": 1%s}}, "time": 1}' % ("0" * 400),
            "objective",
        ),
    ],
)
def test_a_damaged_manifest_or_stream_is_named(tmp_path, file, text, says):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "p.json").write_text('{"type": "solution", "output": {"json": {"_objective": 1}}, "time": 1}\n')
    (tmp_path / file).write_text(text)
    with pytest.raises(OptarenaError, match=says):
        import_files("minizinc", [tmp_path], tmp_path / "s")


# ---- which way is better --------------------------------------------------------------------------------------------


def gathered(folder: Path, runs: dict[str, list[float]]) -> Path:
    """A `results.csv` as aries-bench's collect writes it: problem/instance -> objectives."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["problem,flatzinc," + HEAD.replace("(us)", "").strip()]
    for place, values in runs.items():
        model, instance = place.split("/")
        lines.append(f"{model},{instance},start,0,,0,0,0,0,0")
        lines += [
            f"{model},{instance},new_solution,{i},{value},{i * 1000},{i},0,0,0" for i, value in enumerate(values, 1)
        ]
    (folder / "results.csv").write_text("\n".join([*lines, ""]))
    return folder


def senses(store: str) -> dict[str, str]:
    return dict(oa.open(store).studies.select("problem", "sense").iter_rows())


def test_an_instance_with_one_solution_has_the_sense_of_its_model():
    gathered(Path("results/cfg"), {"pack/a": [1, 5, 9], "pack/b": [7], "shop/a": [40, 35], "shop/b": [9], "odd/a": [3]})
    (done,) = import_files("aries", ["results"], "s")
    assert senses("s") == {"pack/a": "max", "pack/b": "max", "shop/a": "min", "shop/b": "min", "odd/a": "min"}
    inferred, assumed = done.notices[:2], done.notices[2]
    assert inferred == [
        "sense of pack inferred as max from 1 run with solutions that rise, of 2",
        "sense of shop inferred as min from 1 run with solutions that fall, of 2",
    ]
    assert assumed.startswith(
        "sense of odd assumed to be min: no run has two different solutions; state it in a manifest"
    )


def test_instances_of_one_model_that_disagree_are_refused():
    gathered(Path("results/cfg"), {"pack/a": [1, 5], "pack/b": [7, 2]})
    with pytest.raises(OptarenaError, match=r"the objectives of pack rise here and fall there.*manifest\.csv"):
        import_files("aries", ["results"], "s")
    assert not Path("s").exists()


def test_instances_of_one_model_share_their_sense_over_the_paths_of_an_import_and_with_the_store():
    gathered(Path("p1/cfg"), {"pack/a": [1, 5, 9]})
    gathered(Path("p2/cfg"), {"pack/b": [7]})
    gathered(Path("p3/cfg"), {"pack/c": [3], "odd/a": [4]})
    two, one = import_files("aries", ["p2", "p1"], "s")
    assert senses("s") == {"pack/a": "max", "pack/b": "max"}
    assert (two.notices, one.notices) == (
        ["sense of pack inferred as max from 1 run with solutions that rise, of 2"],
        [],
    )
    (three,) = import_files("aries", ["p3"], "s")
    assert senses("s") == {"pack/a": "max", "pack/b": "max", "pack/c": "max", "odd/a": "min"}
    assert three.notices[0] == "sense of pack taken as max from store s"
    assert three.notices[1].startswith("sense of odd assumed to be min")


def test_a_model_that_disagrees_with_another_path_or_the_store_is_refused_with_advice():
    gathered(Path("p1/cfg"), {"pack/a": [1, 5, 9]})
    gathered(Path("p2/cfg"), {"pack/b": [7, 2]})
    with pytest.raises(OptarenaError, match=r"pack rise here and fall there \(cfg/results.csv, p2: cfg/results.csv\)"):
        import_files("aries", ["p1", "p2"], "s")
    gathered(Path("p3/cfg"), {"pack/c": [3]})
    import_files("aries", ["p3"], "s")  # assumed to be min
    with pytest.raises(OptarenaError) as caught:
        import_files("aries", ["p1"], "s")
    assert str(caught.value) == (
        "p1: cfg/results.csv: pack/a has solutions that rise, so its sense is max, but pack has min in store s; import"
        " all into a new store, or state it in a manifest.csv with the columns 'file' and 'sense' (min or max) if max"
        " is wrong; nothing was imported"
    )
    Path("p1/manifest.csv").write_text("file,sense\ncfg/results.csv,min\n")
    import_files("aries", ["p1"], "s")
    assert senses("s") == {"pack/a": "min", "pack/c": "min"}


@pytest.mark.parametrize("named", ["results", "results/cfg", "results/cfg/results.csv"])
@pytest.mark.parametrize("rows", ["cfg/results.csv", "cfg/pack/a/a.csv"])
def test_a_manifest_above_what_is_named_tells_the_same(named, rows):
    gathered(Path("results/cfg"), {"pack/a": [7]})
    Path("results/manifest.csv").write_text(f"file,sense,configuration\n{rows},max,mine\nother/results.csv,min,no\n")
    Path("manifest.csv").write_text("name,sense\nof somebody else,1,2,3\n")
    (done,) = import_files("aries", [named], "s")
    assert oa.open("s").studies.select("problem", "optimizer", "sense").rows() == [("pack/a", "mine", "max")]
    above = [f"runs described by {Path('results/manifest.csv').resolve()}"]
    assert done.notices == ([] if named == "results" else above)


def test_a_manifest_above_that_names_nothing_of_what_is_named_is_not_used():
    gathered(Path("results/cfg"), {"pack/a": [7, 9]})
    Path("results/manifest.csv").write_text("file,sense\nother/results.csv,min\n")
    import_files("aries", ["results/cfg"], "s")
    assert senses("s") == {"pack/a": "max"}


@pytest.mark.parametrize("place", ["results/manifest.csv", "results/cfg/manifest.csv"])
def test_a_manifest_tells_of_the_runs_that_a_gathered_file_has(place):
    gathered(Path("results/cfg"), {"pack/a": [7], "pack/b": [9], "shop/a": [5]})
    file = "results.csv" if "cfg" in place else "cfg/results.csv"
    Path(place).write_text(
        f"file,problem,configuration,sense,budget_seconds,best_known\n{file},,mine,,60,\n{file},pack,,max,,\n"
        f"{file},pack/b,,,,12\n{file},shop,,min,30,\n"
    )
    (done,) = import_files("aries", ["results"], "s")
    assert done.notices == []
    frame = oa.open("s").studies.select("problem", "optimizer", "sense", "budget_seconds", "best_known")
    assert sorted(frame.rows()) == [
        ("pack/a", "mine", "max", 60.0, None),
        ("pack/b", "mine", "max", 60.0, 12.0),
        ("shop/a", "mine", "min", 30.0, None),
    ]


def test_a_manifest_that_names_a_model_nobody_ran_is_refused():
    folder = gathered(Path("results/cfg"), {"pack/a": [7]})
    (folder / "manifest.csv").write_text("file,problem,sense\nresults.csv,pakc,max\n")
    with pytest.raises(OptarenaError, match=r"line 2: cfg/results.csv has no problem 'pakc'. Did you mean 'pack'\?"):
        import_files("aries", ["results"], "s")
    (folder / "manifest.csv").write_text("file,sense\nother.csv,max\n")
    with pytest.raises(OptarenaError, match=r"cfg/manifest.csv does not name cfg/results.csv"):
        import_files("aries", ["results"], "s")


def test_a_manifest_of_single_runs_holds_when_they_are_gathered_and_changes_no_name(tmp_path):
    aries(tmp_path / "results")
    runs = sorted(str(path.relative_to("results")) for path in Path("results").rglob("one.csv"))
    Path("results/manifest.csv").write_text("".join(["file,sense\n", *(f"{name},max\n" for name in runs)]))
    import_files("aries", ["results"], "single")
    assert senses("single") == {"shop/one": "max"}
    for configuration in ("lexical_min_never", "activity_max_luby"):
        gathered(Path("results") / configuration, {"shop/one": [40, 35]})
    import_files("aries", ["results"], "gathered")
    assert senses("gathered") == {"shop/one": "max"}
    assert set(oa.open("gathered").studies["optimizer"]) == {"lexical_min_never", "activity_max_luby"}


def test_runs_of_aries_bench_have_the_same_names_whatever_part_of_the_results_is_named(tmp_path):
    aries(tmp_path / "results")
    places = {
        "all": ["results"],
        "configurations": ["results/lexical_min_never", "results/activity_max_luby"],
        "models": ["results/lexical_min_never/shop", "results/activity_max_luby/shop"],
        "files": [str(path) for path in Path("results").rglob("*.csv")],
    }
    found = []
    for store, paths in places.items():
        import_files("aries", paths, store)
        found.append(sorted(oa.open(store).studies.select("problem", "optimizer").rows()))
    assert found == [[("shop/one", "activity_max_luby"), ("shop/one", "lexical_min_never")]] * 4
    for folder in ("deep/lexical_min_never", "deeper/lexical_min_never"):
        gathered(Path("results") / folder, {"shop/one": [40, 35]})
    import_files("aries", ["results/deep", "results/deeper"], "apart")
    import_files("aries", ["results"], "together")
    assert {"deep/lexical_min_never", "deeper/lexical_min_never"} < set(oa.open("together").studies["optimizer"])


def test_a_folder_of_minizinc_streams_may_hold_problems_of_both_senses(tmp_path):
    logs = tmp_path / "logs" / "gecode" / "challenge"
    logs.mkdir(parents=True)
    (logs / "up.json").write_text(stream((10, 5.0), (25, 9.0)))
    (logs / "down.json").write_text(stream((10, 5.0), (25, 2.0)))
    (logs / "one.json").write_text(stream((10, 5.0)))
    (done,) = import_files("minizinc", ["logs"], "s")
    assert senses("s") == {"challenge/up": "max", "challenge/down": "min", "challenge/one": "min"}
    assert sorted(text.partition(":")[0] for text in done.notices) == [
        "sense of challenge/down inferred as min from 1 run with solutions that fall, of 1",
        "sense of challenge/one assumed to be min",
        "sense of challenge/up inferred as max from 1 run with solutions that rise, of 1",
    ]


@pytest.mark.parametrize("format", ["minizinc", "aries"])
def test_runs_of_solvers_that_are_imported_twice_are_there_once(tmp_path, format):
    aries(tmp_path / "aries")
    (tmp_path / "minizinc" / "gecode").mkdir(parents=True)
    (tmp_path / "minizinc" / "gecode" / "queens.json").write_text(stream((10, 5.0), (25, 9.0)))
    first, second = import_files(format, [format, f"./{format}"], "s")
    assert (first.added, second.added, dict(second.present)) == (first.studies, 0, {format: first.studies})
    assert not import_files(format, [tmp_path / format], "s")[0].new


# ---- as aries-bench scores -------------------------------------------------------------------------------------------


def as_aries(runs: dict[str, list[tuple[int, int]]], sense: str) -> dict[str, tuple[Fraction, Fraction]]:
    """Objective and area score of one instance in fractions; runs: (effort, objective) by time."""
    every = [value for events in runs.values() for _, value in events]
    low, high = min(every), max(every)
    start, end = min(events[0][0] for events in runs.values()), max(events[-1][0] for events in runs.values())
    out = {}
    for name, events in runs.items():
        values = [value for _, value in events]
        best, worst = (min(values), max(values)) if sense == "min" else (max(values), min(values))
        area = Fraction((events[0][0] - start) * worst + (end - events[-1][0]) * best)
        for (before, _), (at, value) in itertools.pairwise(events):
            area += (at - before) * value  # the later solution counts for the time before it
        ratio = (area - (end - start) * low) / ((high - low) * (end - start))
        top = low if sense == "min" else high
        out[name] = (Fraction(abs(best - top), high - low), ratio if sense == "min" else 1 - ratio)
    return out


@pytest.mark.parametrize("sense", ["min", "max"])
def test_mode_aries_gives_the_numbers_of_aries_bench(sense):
    flip = 1 if sense == "min" else -1
    times = {"a_b_c": [1500, 40_000, 2_000_000], "d_e_f": [90_000, 1_000_000], "g_h_i": [7000]}
    values = {"a_b_c": [90, 60, 40], "d_e_f": [70, 35], "g_h_i": [50]}
    runs = {name: [(t, flip * v) for t, v in zip(times[name], values[name], strict=True)] for name in times}
    for name, events in runs.items():
        folder = Path("results") / name
        folder.mkdir(parents=True)
        lines = ["problem,flatzinc," + HEAD.replace("(us)", "").strip(), "shop,one,start,0,,0,0,0,0,0"]
        lines += [f"shop,one,new_solution,{i},{v},{t},{t // 100},0,0,0" for i, (t, v) in enumerate(events, 1)]
        (folder / "results.csv").write_text("\n".join([*lines, ""]))
    import_files("aries", ["results"], "s")
    view = oa.open("s").anytime(mode="aries")
    expected = as_aries(runs, sense)
    decisions = as_aries({name: [(t // 100, v) for t, v in events] for name, events in runs.items()}, sense)
    for row in view.table("runs").iter_rows(named=True):
        objective, area = expected[row["optimizer"]]
        assert row["objective_score"] == pytest.approx(float(objective), rel=1e-12)
        assert row["autc_score"] == pytest.approx(float(area), rel=1e-9)
        assert row["audc_score"] == pytest.approx(float(decisions[row["optimizer"]][1]), rel=1e-9)
        assert row["num_solutions"] == len(runs[row["optimizer"]])
        assert row["time_lsol"] == pytest.approx(runs[row["optimizer"]][-1][0] * 1e-6)
    assert view.figures
    for name in ("boxes", "objective"):
        assert main(["figure", name, "s", "--mode", "aries", "-O", f"{name}.svg"]) == 0
    assert main(["report", "s", "--view", "anytime", "--mode", "aries", "-O", "report.html"]) == 0
    for shape in ("table", "json", "csv", "latex"):
        assert main(["score", "s", "--mode", "aries", "--format", shape]) == 0


def test_mode_aries_says_what_it_cannot_do(capsys):
    gathered(Path("results/a_b_c"), {"pack/a": [1, 5, 3], "pack/b": [7]})
    Path("results/manifest.csv").write_text("file,sense\na_b_c/results.csv,max\n")
    import_files("aries", ["results"], "s")
    view = oa.open("s").anytime(mode="aries")
    assert "the objectives of 1 run rise and fall: aries-bench refuses such runs" in view.notes
    one = view.table("runs").filter(pl.col("problem") == "pack/b").row(0, named=True)
    assert (one["objective_score"], one["autc_score"]) == (None, None), "0/0, as there"
    for arguments, said in (
        (["score", "s", "--mode", "aries", "--gap", "0.1"], "mode aries takes no gap: aries-bench has none"),
        (["score", "s", "--mode", "aries", "--axis", "evaluations"], "axis must be one of seconds, decisions"),
        (["figure", "curves", "s", "--mode", "aries", "-O", "x.svg"], "mode aries has the figures boxes and objective"),
        (["score", "s", "--view", "anytime", "--mode", "arise"], "mode must be one of exact, aries"),
        (["compare", "s", "--mode", "aries", "--metric", "gap"], "aries-bench has no gap"),
    ):
        assert main(arguments) == 2
        assert said in capsys.readouterr().err


def test_logs_in_which_nobody_found_anything_are_taken_and_their_proofs_count():
    Path("logs/gecode").mkdir(parents=True)
    Path("logs/gecode/p.json").write_text('{"type": "status", "status": "UNSATISFIABLE", "time": 100}\n')
    Path("logs/gecode/q.json").write_text("")
    assert main(["import", "minizinc", "logs", "--store", "store"]) == 0
    view = oa.open("store").anytime()
    assert view.instance.select("problem", "status", "solved").rows() == [
        ("p", "infeasible", 1),
        ("q", "no solution", 0),
    ]
