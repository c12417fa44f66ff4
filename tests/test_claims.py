"""Claims of solvers that cannot both be true: real solvers, liars, and imported tables of every kind."""

from __future__ import annotations

import json
import uuid
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.solver import SOLVERS

pytestmark = pytest.mark.xdist_group("processes")  # one after the other: they measure time

ROOT = uuid.UUID(int=25)
SOLVERS_OF_TOURS = ("CP-SAT", "HiGHS", "SCIP", "Choco")


def program(name: str, *lines: str) -> str:
    """A program that prints some lines, as a solver."""
    text = "; ".join(f"print({line!r})" for line in lines)
    Path(f"{name}.toml").write_text(f'[solver]\ncommand = ["python3", "-c", "{text}"]\nclock = "ours"\n')
    return f"{name}.toml"


def need(*names: str) -> None:
    for name in names:
        if not SOLVERS.built_in[name].installed:
            pytest.skip(f"{name} is not installed")


def table(rows: list[dict], name: str = "events") -> oa.Dataset:
    """A store of runs as a table tells them: nothing of it was checked."""
    pl.DataFrame(rows, infer_schema_length=None).write_csv(f"{name}.csv")
    assert main(["import", "csv", f"{name}.csv", "--store", name]) == 0
    return oa.open(name)


def run(optimizer: str, value: float | None, status: str | None = None, **more: object) -> dict:
    base = {"problem": "p", "seconds": 1.0, "budget_seconds": 10, "bound": None}
    return {**base, "optimizer": optimizer, "value": value, "status": status, **more}


def by(view: oa.View, column: str) -> dict:
    return dict(view.instance.select("optimizer", column).iter_rows())


def test_a_liar_does_not_beat_four_solvers_whose_solutions_were_checked(capsys):
    need(*SOLVERS_OF_TOURS)
    liar = program("liar", "0.01 60", "optimal")
    results = oa.Experiment([*SOLVERS_OF_TOURS, liar], "tsp/n7/i1", seconds=10, seed=ROOT).run("results", workers=2)
    view = results.anytime()
    assert by(view, "wrong") == {**dict.fromkeys(SOLVERS_OF_TOURS, 0), "liar": 1}
    assert by(view, "best") == {**dict.fromkeys(SOLVERS_OF_TOURS, 2432.0), "liar": None}
    assert by(view, "proved") == {**dict.fromkeys(SOLVERS_OF_TOURS, 1), "liar": 0}
    assert by(view, "objective_score") == {**dict.fromkeys(SOLVERS_OF_TOURS, 0.0), "liar": 1.0}
    assert view.table("bounds")["anchor"].to_list() == [2432.0]
    pairs = view.table("contradictions")
    assert pairs["optimizer"].to_list() == list(SOLVERS_OF_TOURS)
    assert set(pairs.select("other_optimizer", "other_claim", "verdict").rows()) == {
        ("liar", "60, proved optimal", "liar is wrong")
    }
    assert pairs["verified"].all()
    assert not pairs["other_verified"].any()
    capsys.readouterr()
    assert main(["score", "results"]) == 0
    shown = capsys.readouterr().out
    assert "claims that cannot both be true" in shown
    assert "note: 4 pairs of claims cannot both be true: on tsp/n7/i1 CP-SAT says '2432, proved optimal'" in shown
    assert main(["report", "results", "-O", "report.html"]) == 0
    page = Path("report.html").read_text()
    assert "Claims that cannot both be true" in page
    assert "liar is wrong" in page
    assert view.to_xarray()


def test_a_program_that_was_found_out_while_it_ran_is_wrong_and_its_unchecked_values_do_not_count():
    liar = program("liar", "0.01 60", "optimal")
    results = oa.Experiment(["Annealing", liar], "jobshop/ft06", seconds=1, seed=ROOT).run("results", workers=1)
    assert results.studies.filter(pl.col("optimizer") == "liar")["reason"][0].startswith("wrong: claims that 60")
    view = results.anytime()
    assert by(view, "wrong") == {"Annealing": 0, "liar": 1}
    assert by(view, "best")["liar"] is None
    assert by(view, "objective_score")["liar"] == 1.0


def test_a_proof_that_a_checked_value_refutes_is_wrong_and_the_value_of_its_run_still_counts(tmp_path):
    Path("mine.py").write_text(
        "import optarena as oa\n"
        "class Early(oa.Solver):\n"
        "    takes = ('tsp',)\n"
        "    def solve(self, instance, budget, emit):\n"
        "        tour = list(range(instance.size))\n"
        "        emit(instance.cost(tour), tour)\n"
        "        return 'optimal'\n"
        "class Over(Early):\n"
        "    def solve(self, instance, budget, emit):\n"
        "        emit(instance.cost(list(range(instance.size))), list(range(instance.size)), bound=1e9)\n"
        "class Denies(oa.Solver):\n"
        "    takes = ('tsp',)\n"
        "    def solve(self, instance, budget, emit):\n"
        "        return 'infeasible'\n"
    )
    solvers = ["mine.py:Early", "mine.py:Over", "mine.py:Denies", "Annealing"]
    view = oa.Experiment(solvers, "tsp/n7/i1", seconds=1, seed=ROOT).run("results", workers=2).anytime()
    assert by(view, "wrong") == {"Early": 1, "Over": 1, "Denies": 1, "Annealing": 0}
    assert by(view, "unsolved") == {"Early": 0, "Over": 0, "Denies": 1, "Annealing": 0}
    assert by(view, "solved") == {"Early": 0, "Over": 0, "Denies": 0, "Annealing": 1}
    assert by(view, "status")["Denies"] == "wrong"
    best = by(view, "best")
    assert best["Early"] == best["Over"] > best["Annealing"]
    pairs = view.table("contradictions").select("optimizer", "other_optimizer", "other_claim").rows()
    assert ("Over", "Over", "the bound 1000000000") in pairs
    assert ("Early", "Denies", "infeasible") in pairs


@pytest.mark.parametrize(
    ("one", "two"),
    [
        (run("a", 5.0, "optimal"), run("b", 4.0)),
        (run("a", 5.0, "optimal"), run("b", 4.0, "optimal")),
        (run("a", 5.0), run("b", None, "infeasible")),
        (run("a", 5.0, bound=4.5), run("b", 4.0)),
        (run("a", 5.0, "optimal"), run("b", None, "unbounded")),
        (run("a", None, "infeasible"), run("b", None, "unbounded")),
        (run("a", 3.0, f_opt=4.0), run("b", 5.0, f_opt=4.0)),
    ],
    ids=["optimum", "two optima", "infeasible", "bound", "unbounded", "no solution", "known"],
)
@pytest.mark.parametrize("sense", ["min", "max"])
def test_where_neither_is_verified_the_instance_is_excluded_and_named(one, two, sense):
    other = [run(name, 7.0 + (name == "b"), problem=f"q{i}") for name in "ab" for i in range(3)]
    rows = [one, two, *other]
    if sense == "max":
        for row in rows:
            row |= {key: -row[key] for key in ("value", "bound", "f_opt") if row.get(key) is not None}
    view = table([{**row, "sense": sense} for row in rows]).anytime()
    assert view.excluded == [
        {
            "optimizer": None,
            "problem": "p",
            "trial": None,
            "reason": "claims about it contradict each other, and none is verified",
        }
    ]
    assert view.table("contradictions")["verdict"].to_list() == ["neither is verified: the instance is excluded"]
    found = view.summary.sort("optimizer").select("instances", "solved", "objective_score", "borda")
    assert found.rows() == [(3, 3.0, 0.0, 3.0), (3, 0.0, 1.0, 0.0)]
    scores = view.instance.filter(pl.col("problem") == "p")
    assert scores["objective_score"].to_list() == scores["par10"].to_list() == [None, None]
    assert main(["compare", "events"]) == 0


def test_what_can_be_true_together_is_no_contradiction():
    rows = [
        run("a", 5.0, "optimal", bound=5.0 - 1e-9),
        run("b", 5.0 - 1e-7, bound=1.0),
        run("c", None, "infeasible", problem="q"),
        run("d", None, "unknown", problem="q"),
    ]
    view = table(rows).anytime()
    assert view.table("contradictions").is_empty()
    assert not [note for note in view.notes if "cannot both be true" in note]


def test_a_run_that_contradicts_itself_is_wrong_and_drags_nobody_along():
    view = table([run("a", 5.0, bound=6.0), run("b", 5.5), run("c", 7.0)]).anytime()
    assert by(view, "wrong") == {"a": 1, "b": 0, "c": 0}
    assert by(view, "objective_score") == {"a": 1.0, "b": 0.0, "c": 1.0}
    assert view.excluded == []


def test_a_wrong_claim_outside_the_horizon_or_the_axis_is_wrong_all_the_same():
    rows = [run("a", 5.0, "optimal", seconds=2.0), run("b", 9.0, seconds=1.0), run("b", 4.0, seconds=50.0)]
    view = table(rows).anytime()
    assert view.table("contradictions").height == 1
    assert [item["problem"] for item in view.excluded] == ["p"]


# ---- proofs, and instances without an objective ----------------------------------------------------------------------

HEAD = "NAME {0}\nROWS\n N  COST\n G  LOW\n L  HIGH\nCOLUMNS\n"
INFEASIBLE = (
    HEAD
    + " MARKER MARKER 'MARKER' 'INTORG'\n X COST 1 LOW 1\n X HIGH 1\n Y COST 2 LOW 1\n Y HIGH 1\n"
    + " MARKER MARKER 'MARKER' 'INTEND'\nRHS\n RHS LOW 8 HIGH 6\nBOUNDS\n UP BND X 4\n UP BND Y 4\nENDATA\n"
)
UNBOUNDED = HEAD + " X COST -1 LOW 1\n Y COST 2 LOW -1\n Y HIGH -1\nRHS\n RHS LOW 1 HIGH 4\nENDATA\n"
MIXED = (
    HEAD
    + " MARKER MARKER 'MARKER' 'INTORG'\n X COST -1 LOW 1\n MARKER MARKER 'MARKER' 'INTEND'\n"
    + " Y COST 2 LOW -1\n Y HIGH -1\nRHS\n RHS LOW 1 HIGH 4\nBOUNDS\n PL BND X\nENDATA\n"
)
QUEENS = """int: n;
include "alldifferent.mzn";
array[1..n] of var 1..n: q;
constraint alldifferent(q);
constraint alldifferent([q[i] + i | i in 1..n]);
constraint alldifferent([q[i] - i | i in 1..n]);
solve satisfy;
"""


def mps(name: str, text: str) -> str:
    Path(f"{name}.mps").write_text(text.replace("MARKER MARKER", "MARKER").format(name))
    return f"{name}.mps"


@pytest.mark.parametrize(("text", "word"), [(INFEASIBLE, "infeasible"), (UNBOUNDED, "unbounded"), (MIXED, "unbounded")])
def test_a_proof_that_there_is_no_best_solution_solves_the_instance(text, word):
    need("HiGHS", "SCIP")
    solvers = [
        *(oa.use("HiGHS", presolve=how, name=f"HiGHS {how}") for how in ("on", "off")),
        *(oa.use("SCIP", presolve=how, name=f"SCIP {how}") for how in ("default", "off")),
        program("silent", "nothing", "no solution"),
    ]
    view = oa.Experiment(solvers, mps("one", text), seconds=10, seed=ROOT).run("results", workers=2).anytime()
    names = view.instance["optimizer"].to_list()
    assert by(view, "status") == {**dict.fromkeys(names, word), "silent": "no solution"}
    for column, good in {"solved": 1, "proved": 1, "objective_score": 0, "primal_gap": 0}.items():
        assert by(view, column) == {**dict.fromkeys(names, good), "silent": 1 - good}
    runs = {row["optimizer"]: row for row in view.table("runs").iter_rows(named=True)}
    for name, row in runs.items():
        assert row["best"] is None
        time = 10.0 if name == "silent" else row["solved_effort"]
        assert row["area_score"] * 10 == pytest.approx(time)
        assert row["primal_integral"] == pytest.approx(time)
    assert view.table("bounds").select("decided", "best", "worst").rows() == [(word, None, None)]
    assert f"1 instance proved {word}: the proof counts as the solution" in view.notes
    points = by(view, "borda")
    assert points["silent"] == 0
    assert sum(points.values()) == pytest.approx(10)
    assert main(["figure", "cactus", "results", "-O", "cactus.svg"]) == 0


def test_a_model_that_only_asks_for_a_solution_is_solved_or_not(tmp_path):
    need("MiniZinc")
    Path("queens.mzn").write_text(QUEENS)
    for n in (3, 6):
        Path(f"{n}.dzn").write_text(f"n = {n};\n")
    solvers = [
        oa.use("MiniZinc", name=name, **settings)
        for name, settings in {
            "plain": {}, "free": {"free": True}, "fast": {"optimisation": 0}, "two": {"threads": 2},
        }.items()
    ]  # fmt: skip
    results = oa.Experiment(solvers, "queens.mzn:*.dzn", seconds=20, seed=ROOT).run("results", workers=1)
    assert sorted(results.studies.select("problem", "reason", "best", "evaluations").unique().rows()) == [
        ("queens.mzn:3.dzn", "infeasible", None, 0),
        ("queens.mzn:6.dzn", "satisfiable", 0.0, 1),
    ]
    view = results.anytime()
    found = view.summary.select("instances", "solved", "proved", "objective_score")
    assert found.rows() == [(2, 2.0, 2.0, 0.0)] * 4
    row = view.table("runs").filter(pl.col("status") == "satisfiable").row(0, named=True)
    assert row["first_effort"] == row["solved_effort"]
    assert oa.Experiment(solvers, "queens.mzn:*.dzn", seconds=40, seed=ROOT).run("results").studies.height == 8
    assert oa.open("results").studies["attempt"].to_list() == [0] * 8, "what is proved is not run again"


def test_a_false_solution_of_an_infeasible_model_is_a_contradiction():
    view = table([run("a", 0.0, "satisfiable"), run("b", None, "unsatisfiable")]).anytime()
    claims = view.table("contradictions").select("claim", "other_claim").rows()
    assert claims in ([("a solution", "infeasible")], [("infeasible", "a solution")])
    assert view.excluded[0]["problem"] == "p"


# ---- by value, by proof ----------------------------------------------------------------------------------------------


def test_borda_shares_a_point_by_the_times_of_proofs_where_both_have_one():
    rows = [
        run("a", 5.0, seconds=1.0),
        run("a", None, "optimal", seconds=9.0),
        run("b", 5.0, seconds=3.0),
        run("b", None, "optimal", seconds=3.0),
        run("c", 5.0, seconds=2.0),
    ]
    view = table(rows).anytime()
    assert by(view, "borda") == {
        "a": pytest.approx(3 / 12 + 1),  # against b by the proofs at 9 and 3, against c by the proof
        "b": pytest.approx(9 / 12 + 1),
        "c": 0,
    }
    assert dict(view.table("runs").select("optimizer", "proved_effort").iter_rows()) == {"a": 9, "b": 3, "c": None}
    assert view.table("bounds")["anchor_from"].to_list() == ["a proof"]


def test_solved_says_where_it_only_means_the_best_of_the_store():
    rows = [
        *(run(name, value, problem="p") for name, value in (("a", 5.0), ("b", 6.0))),
        *(run(name, value, problem="q", best_known=5.0) for name, value in (("a", 5.0), ("b", 6.0))),
        *(run(name, value, problem="r", best_known=7.0) for name, value in (("a", 5.0), ("b", 6.0))),
        run("a", 5.0, "optimal", problem="s"),
        run("b", 6.0, problem="s"),
    ]
    view = table(rows).anytime()
    found = dict(view.table("bounds").select("problem", "anchor_from").iter_rows())
    assert found == {"p": "the best of the store", "q": "known", "r": "the best of the store", "s": "a proof"}
    note = "no optimum is known or proved for 2 instances of 4: there 'solved' only means as good as the best of "
    assert f"{note}this store" in view.notes
    by_value, by_proof = view.figure_tables("cactus").values()
    assert by_value.group_by("optimizer").agg(pl.col("count").max()).sort("optimizer")["count"].to_list() == [4, 0]
    assert by_proof.group_by("optimizer").agg(pl.col("count").max()).sort("optimizer")["count"].to_list() == [1, 0]


# ---- who is worth keeping --------------------------------------------------------------------------------------------


def test_a_configuration_contributes_what_the_others_lack():
    rows = []
    for problem, times in {"p": (1.0, 4.0, 2.0), "q": (8.0, 3.0, 5.0), "r": (None, None, 6.0)}.items():
        for name, time in zip("abc", times, strict=True):
            value, status = (5.0, "optimal") if time else (None, "timeout")
            rows.append(run(name, value, status, problem=problem, seconds=time or 10.0))
    view = table(rows).anytime()
    best = {row["optimizer"]: row for row in view.table("virtual_best").iter_rows(named=True)}
    assert best["(virtual best)"]["par10"] == pytest.approx((1 + 3 + 6) / 3)
    assert best["a"]["par10_contribution"] == pytest.approx((2 - 1) / 3)
    assert best["b"]["par10_contribution"] == pytest.approx((5 - 3) / 3)
    assert best["c"]["par10_contribution"] == pytest.approx((100 - 6) / 3)
    assert {name: best[name]["only"] for name in "abc"} == {"a": 0, "b": 0, "c": 1}
    assert {name: best[name]["first"] for name in "abc"} == {"a": 1, "b": 1, "c": 1}
    assert best["c"]["area_score_contribution"] == pytest.approx((1 - 0.6) / 3)


def test_curves_mark_proofs_and_draw_bounds():
    rows = [
        run("a", 9.0, seconds=1.0, bound=2.0),
        run("a", 5.0, seconds=2.0, bound=4.0),
        run("a", None, "optimal", seconds=8.0, bound=5.0),
        run("b", 7.0, seconds=4.0),
    ]
    view = table(rows).anytime()
    (curves,) = view.figure_tables("curves").values()
    proofs = curves.filter(pl.col("proof").is_not_null()).select("optimizer", "effort", "proof")
    assert proofs.rows() == [("a", 8.0, 5.0)]
    bounds = curves.filter(pl.col("bound").is_not_null()).select("optimizer", "effort", "bound", "value")
    assert bounds.rows() == [("a", 1.0, 2.0, None), ("a", 2.0, 4.0, None), ("a", 8.0, 5.0, None), ("a", 8.0, 5.0, None)]
    assert curves["effort"].min() == 0.5
    assert view.figure("curves").to_dict()


def test_one_awful_first_value_does_not_hide_the_curves_of_an_instance():
    rows = [run(name, value, seconds=1.0) for name, value in (("a", 70.0), ("b", 66.0), ("c", 3e6))]
    rows += [run(name, 60.0, seconds=2.0) for name in "abc"]
    view = table(sorted(rows, key=lambda row: row["optimizer"])).anytime()
    (curves,) = view.figure_tables("curves").values()
    assert curves["box_worst"].unique().to_list() == [90.0]
    assert curves["worst"].unique().to_list() == [3e6]
    assert curves["value"].max() == 90.0
    assert curves.filter(pl.col("optimizer") == "c")["found"].drop_nulls().to_list() == [60.0]
    assert "cut: the worst first value is 3,000,000" in json.dumps(view.figure("curves").to_dict())


# ---- the best solution -----------------------------------------------------------------------------------------------


def test_the_best_solution_of_a_run_is_kept_shown_and_verified_later(capsys):
    from optarena.problem import build

    need("CP-SAT", "HiGHS")
    program("liar", "0.01 60", "optimal")
    problems = ["tsp/n7/i1", "knapsack/m3n15/i1"]
    plan = oa.Experiment(["CP-SAT", "HiGHS", "Annealing", "liar.toml"], problems, seconds=5, seed=ROOT)
    results = plan.run("results", workers=2)
    for again in (results, _compacted()):
        kept = again.best_solutions(again.studies["study"].to_list())
        for row in again.studies.filter(pl.col("optimizer") != "liar").iter_rows(named=True):
            assert build(row["problem"]).verify(kept[row["study"]]) == pytest.approx(row["best"])
    capsys.readouterr()
    assert main(["best", "results", "--format", "json"]) == 0
    for row in json.loads(capsys.readouterr().out):
        assert row["optimizer"] != "liar"
        assert build(row["problem"]).verify(row["solution"]) == row["best"]
    assert main(["best", "results"]) == 0
    assert "left out: liar, which claims what cannot be true" in capsys.readouterr().out


def _compacted() -> oa.Dataset:
    assert main(["compact", "results"]) == 0
    return oa.open("results")


def test_a_solution_that_is_too_large_is_not_kept_and_its_row_says_so():
    Path("mine.py").write_text(
        "import optarena as oa\n"
        "class Long(oa.Instance):\n"
        "    id, forms, size, objectives = 'long', ('long',), 1, (oa.Objective(),)\n"
        "    def verify(self, solution):\n"
        "        return float(len(solution) % 7)\n"
        "long = Long()\n"
        "class Finds(oa.Solver):\n"
        "    takes = ('long',)\n"
        "    def solve(self, instance, budget, emit):\n"
        "        emit(3.0, [0] * 10)\n"
        "        emit(2.0, 'x' * (7 * 200_000 + 2))\n"
        "        emit(1.0, {object()})\n"
    )
    results = oa.Experiment("mine.py:Finds", "mine.py:long", seconds=5, seed=ROOT).run("results", workers=1)
    assert results.studies["best"].to_list() == [1.0]
    assert results.note("solution").tolist() == [None, "too large", "no data"]
    assert results.best_solutions(results.studies["study"].to_list()) == {}
    assert main(["best", "results"]) == 0


def test_best_leaves_out_what_is_disputed_and_keeps_what_was_checked(capsys):
    table([run("a", None, "infeasible"), run("b", 60.0, "optimal"), run("b", 7.0, problem="q")], "disputed")
    capsys.readouterr()
    assert main(["best", "disputed"]) == 0
    shown = capsys.readouterr().out
    assert "left out: p, about which claims contradict each other, none of them verified" in shown
    assert "60" not in shown
    assert main(["best", "disputed", "--format", "json"]) == 0
    assert [row["problem"] for row in json.loads(capsys.readouterr().out)] == ["q"]


def test_a_liar_that_was_found_out_while_it_ran_has_no_values_and_counts_as_wrong(capsys):
    liar = program("liar", "0.01 60", "optimal")  # the known optimum is 55
    results = oa.Experiment([liar, "Annealing"], "jobshop/ft06", seconds=1, seed=ROOT).run("results", workers=2)
    view = results.anytime()
    assert by(view, "wrong") == {"liar": 1, "Annealing": 0}
    assert by(view, "status")["liar"] == "wrong"
    assert by(view, "area_score")["liar"] == 1.0
    assert by(view, "best")["liar"] is None
    capsys.readouterr()
    assert main(["best", "results"]) == 0
    assert "left out: liar" in capsys.readouterr().out


def test_of_a_disputed_instance_nobody_is_said_to_have_no_solution(capsys):
    results = table([run("a", 90.0, "optimal"), run("b", 60.0, "optimal"), run("c", 9.0, bound=10.0)])
    view = results.anytime()
    assert by(view, "status") == {"a": "disputed", "b": "disputed", "c": "wrong"}
    own = view.table("contradictions").filter(optimizer="c", other_optimizer="c")
    assert own.select("claim", "other_claim").rows() == [("9", "the bound 10")]
    assert main(["score", "events"]) == 0
    shown = capsys.readouterr().out
    assert "disputed" in shown
    assert "unsolved" not in shown
    assert main(["best", "events"]) == 0
    shown = capsys.readouterr().out
    assert "left out: p, about which claims contradict each other, none of them verified" in shown
    assert "left out: c" in shown


def test_in_mode_aries_no_run_without_a_solution_is_said_to_be_the_worst():
    view = table([run("a", 90.0), run("b", 60.0), run("c", None, "timed out")]).anytime(mode="aries")
    assert not [note for note in view.warnings if "as the worst" in note]
    assert [note for note in view.warnings if "c failed in 1 of 1 study" in note and "left out" in note]
