"""The anytime view: golden instances in exact fractions, and what must hold for any data."""

from __future__ import annotations

import csv
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.views.anytime import (
    area_score,
    borda,
    envelope,
    objective_score,
    par,
    primal_gap,
    primal_integral,
    shifted_geometric_mean,
)
from optarena.views.anytime.scores import improving
from optarena.views.pareto import hypervolume

DATA = Path(__file__).parent / "data" / "anytime"
EXPECTED = json.loads((DATA / "solver_expected.json").read_text())
NAN = float("nan")


def events() -> list[dict[str, str]]:
    with (DATA / "solver_traces.csv").open() as file:
        return list(csv.DictReader(file))


def sheet(tmp_path: Path, rows: list[dict], name: str = "events") -> Path:
    """A store of tidy rows."""
    path = tmp_path / f"{name}.csv"
    pl.DataFrame(rows, infer_schema_length=None).write_csv(path)
    store = tmp_path / name
    assert main(["import", "csv", str(path), "--store", str(store)]) == 0
    return store


def golden_rows() -> list[dict]:
    rows = []
    for instance, names in EXPECTED["runs"].items():
        common = {
            "problem": instance,
            "sense": EXPECTED["senses"][instance],
            "budget_seconds": EXPECTED["budgets"][instance],
        }
        for name in names:
            mine = [row for row in events() if (row["instance"], row["config"]) == (instance, name)]
            for row in mine:
                told = {"seconds": float(row["time"]), "decisions": int(row["decisions"])}
                rows.append({**common, "optimizer": name, **told, "value": float(row["objective"]), "status": None})
            if not mine:
                nothing = {"seconds": None, "decisions": None, "value": None, "status": "timed out"}
                rows.append({**common, "optimizer": name, **nothing})
    return rows


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sheet(tmp_path_factory.mktemp("golden"), golden_rows())


@pytest.mark.parametrize("horizon", ["budget", "box"])
def test_every_golden_instance_scores_as_its_exact_fractions(golden: Path, horizon: str) -> None:
    view = oa.open(golden).anytime(horizon=horizon)
    cells = {(row["problem"], row["optimizer"]): row for row in view.instance.to_dicts()}
    for instance, configurations in EXPECTED["expected"].items():
        for name, figures in configurations.items():
            row = cells[instance, name]
            names = {"objective": "objective_score", f"auc_{horizon}": "area_score"}
            if horizon == "budget":
                names |= {"primal_gap": "primal_gap", "primal_integral": "primal_integral"}
            for theirs, ours in names.items():
                figure = figures.get(theirs)
                if figure is None:
                    assert row[ours] is None
                else:
                    assert row[ours] == pytest.approx(float(Fraction(figure)), rel=1e-12, abs=1e-15)
            if figures.get("best"):
                assert row["best"] == float(Fraction(figures["best"]))


def test_pure_functions_give_the_golden_fractions() -> None:
    for instance, names in EXPECTED["runs"].items():
        sign = -1 if EXPECTED["senses"][instance] == "max" else 1
        runs = {}
        for name in names:
            mine = [row for row in events() if (row["instance"], row["config"]) == (instance, name)]
            runs[name] = envelope([float(r["time"]) for r in mine], [sign * float(r["objective"]) for r in mine])
        solved = [values for _, values in runs.values() if len(values)]
        if not solved:
            continue
        best, worst = min(v[-1] for v in solved), max(v[0] for v in solved)
        end = EXPECTED["budgets"][instance]
        for name, (times, values) in runs.items():
            figures = EXPECTED["expected"][instance][name]
            last = values[-1] if len(values) else None
            assert objective_score(best, worst, last) == pytest.approx(float(Fraction(figures["objective"])))
            area = area_score(times, values, best, worst, 0, end)
            assert area == pytest.approx(float(Fraction(figures["auc_budget"])))
            assert primal_gap(last, best) == pytest.approx(float(Fraction(figures["primal_gap"])))
            integral = primal_integral(times, values, best, 0, end)
            assert integral == pytest.approx(float(Fraction(figures["primal_integral"])))
            assert len(times) == figures["n_improving"]


def test_aggregates_of_times_are_the_golden_ones() -> None:
    told = EXPECTED["aggregate"]
    times = np.array([[np.inf if x is None else x for x in row] for row in told["times"].values()])
    limit = told["time_limit"]
    points = borda(np.array(list(told["times"].values()), dtype=object).T)
    for row, point, figures in zip(times, points, told["result"].values(), strict=True):
        assert shifted_geometric_mean(np.minimum(row, limit)) == pytest.approx(figures["sgm10_timeout_as_TL"])
        assert par(row, limit, 2) == figures["par2"]
        assert par(row, limit, 10) == figures["par10"]
        assert point == pytest.approx(float(Fraction(figures["borda"])))


def test_maximising_mirrors_minimising(golden: Path) -> None:
    table = oa.open(golden).anytime().instance
    columns = ["optimizer", "objective_score", "area_score"]
    one, two = (table.filter(pl.col("problem") == name).select(columns) for name in ("M1", "M2"))
    assert one.equals(two)


def test_an_instance_that_nobody_solved_is_excluded_by_name(golden: Path) -> None:
    view = oa.open(golden).anytime()
    assert {"optimizer": None, "problem": "M5", "trial": None, "reason": "no optimizer found a solution"} in (
        view.excluded
    )
    row = view.summary.filter(pl.col("optimizer") == "A").row(0, named=True)
    assert (row["instances"], row["n"]) == (2, 2), "only two instances were run by all four"
    assert view.coverage["left_out"] == ["M3", "M4", "M5"]


def test_tables_show_no_column_of_our_own_reckoning(golden: Path) -> None:
    for table in oa.open(golden).anytime().tables.values():
        assert not [name for name in table.columns if name.startswith("_")]


def test_any_effort_can_be_the_axis(golden: Path) -> None:
    by_time, by_decisions = oa.open(golden).anytime(), oa.open(golden).anytime(axis="decisions", horizon="box")
    timed = by_time.instance.filter(pl.col("unsolved") == 0)
    assert timed["objective_score"].equals(by_decisions.instance["objective_score"])
    nothing = set(by_time.instance.filter(pl.col("unsolved") > 0).select("problem", "optimizer").rows())
    named = {
        (item["problem"], item["optimizer"])
        for item in by_decisions.excluded
        if item["reason"] == "it has no decisions"
    }
    assert named == nothing, "a run that found nothing told no decisions either"
    row = by_decisions.instance.filter((pl.col("problem") == "M1") & (pl.col("optimizer") == "A")).row(0, named=True)
    # from 101 to 802 decisions, heights 8, 6, 2, 0 of 8
    expected = (0 * 8 + (302 - 101) * 6 + (503 - 302) * 2) / (8 * (802 - 101))
    assert row["area_score"] == pytest.approx(expected)


runs_of_events = st.lists(st.tuples(st.integers(0, 20), st.integers(-5, 5)), min_size=0, max_size=8).map(
    lambda pairs: sorted(pairs, key=lambda pair: pair[0])
)


@given(st.lists(runs_of_events, min_size=2, max_size=4))
def test_area_is_what_the_hypervolume_leaves_of_the_box(runs: list[list[tuple[int, int]]]) -> None:
    curves = [envelope([t for t, _ in run], [v for _, v in run]) for run in runs]
    solved = [values for _, values in curves if len(values)]
    if not solved:
        return
    best, worst = min(v[-1] for v in solved), max(v[0] for v in solved)
    for times, values in curves:
        area = area_score(times, values, best, worst, 0, 21)
        assert area is not None
        assert -1e-12 <= area <= 1 + 1e-12
        if worst > best and len(times):
            volume = hypervolume(np.column_stack((times, values)), [21, worst])
            assert area == pytest.approx(1 - volume / (21 * (worst - best)), abs=1e-12)


@given(runs_of_events, st.integers(0, 4))
def test_an_envelope_falls_by_more_than_the_tolerance(run: list[tuple[int, int]], tolerance: int) -> None:
    times, values = envelope([t for t, _ in run], [v for _, v in run], tolerance)
    assert (np.diff(times) > 0).all()
    assert (np.diff(values) < -tolerance).all()
    kept: list[tuple[float, float]] = []  # the definition, one event after the other
    for t in sorted({t for t, _ in run}):
        v = min(v for u, v in run if u <= t)
        if not kept or v < kept[-1][1] - tolerance:
            kept.append((t, v))
    assert list(zip(times, values, strict=True)) == kept


@given(st.lists(runs_of_events, max_size=5), st.integers(0, 2))
def test_envelopes_of_all_runs_at_once_are_those_of_each(runs: list[list[tuple[int, int]]], tolerance: int) -> None:
    flat = [pair for run in runs for pair in run]
    times, values = (np.array([pair[i] for pair in flat], dtype=float) for i in (0, 1))
    offsets = np.concatenate(([0], np.cumsum([len(run) for run in runs]))).astype(np.int64)
    rows, best = improving(times, values, offsets, tolerance)
    expected = [envelope([t for t, _ in run], [v for _, v in run], tolerance) for run in runs]
    assert times[rows].tolist() == [t for one in expected for t in one[0]]
    assert best.tolist() == [v for one in expected for v in one[1]]


def test_primal_gap_of_zeros_signs_and_nothing() -> None:
    assert primal_gap(0.0, 0.0) == 0
    assert primal_gap(3.0, 0.0) == 1
    assert primal_gap(-2.0, 3.0) == 1
    assert primal_gap(-4.0, -5.0) == pytest.approx(0.2)
    assert primal_gap(None, 3.0) == primal_gap(NAN, 3.0) == primal_gap(float("inf"), 3.0) == 1
    assert primal_gap(1e308, -1e308) == 1
    assert primal_gap(1.5e308, 1e308) == pytest.approx(1 / 3)


def test_areas_without_width_height_or_solution() -> None:
    assert area_score([1], [5], 5, 5, 1, 1) is None
    assert area_score([2], [5], 5, 5, 0, 10) == 0.2
    assert area_score([], [], 1, 2, 0, 10) == 1
    assert area_score([11], [1], 1, 2, 0, 10) == 1, "after the horizon"
    assert area_score([0], [1], 1, 2, 0, 10) == 0
    assert objective_score(5, 5, 5) == 0
    assert objective_score(5, 5, None) == 1


def test_a_proof_wins_at_equal_quality_and_time_decides_without_one() -> None:
    assert borda([[9, 1]], [[3, 3]], [[True, False]]).tolist() == [1, 0]
    assert borda([[9, 1]], [[2, 3]]).tolist() == [1, 0]
    assert borda([[9, 1]], [[3, 3]]).tolist() == pytest.approx([0.1, 0.9])
    assert borda([[0, 0]]).tolist() == [0.5, 0.5]
    assert borda([[NAN, np.inf]]).tolist() == [0, 0]
    assert borda([[NAN, 4]]).tolist() == [0, 1]


def test_solutions_after_the_budget_do_not_count_and_set_no_bound(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "optimizer": "early", "seconds": 1.0, "value": 8.0, "budget_seconds": 5},
        {"problem": "p", "optimizer": "early", "seconds": 2.0, "value": 4.0, "budget_seconds": 5},
        {"problem": "p", "optimizer": "late", "seconds": 3.0, "value": 6.0, "budget_seconds": 5},
        {"problem": "p", "optimizer": "late", "seconds": 7.0, "value": 1.0, "budget_seconds": 5},
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    assert view.table("bounds")["best"].to_list() == [4.0]
    late = view.instance.filter(pl.col("optimizer") == "late").row(0, named=True)
    assert late["objective_score"] == 0.5
    assert any("after the horizon" in note for note in view.notes)


def test_best_known_values_anchor_the_gap_and_proofs_count_as_solved(tmp_path: Path) -> None:
    common = {"problem": "p", "best_known": 10.0, "budget_seconds": 10}
    rows = [
        {**common, "optimizer": "a", "seconds": 1.0, "value": 20.0, "status": None},
        {**common, "optimizer": "a", "seconds": 4.0, "value": 10.0, "status": "optimal"},
        {**common, "optimizer": "b", "seconds": 2.0, "value": 12.5, "status": None},
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    one, two = (view.instance.filter(pl.col("optimizer") == name).row(0, named=True) for name in "ab")
    assert (one["solved"], one["proved"], one["status"], one["primal_gap"]) == (1, 1, "optimal", 0)
    assert two["primal_gap"] == pytest.approx(0.2)
    assert two["par10"] == 100
    assert one["par10"] == 4
    again = oa.open(tmp_path / "events").anytime(gap=0.25)
    assert again.summary["solved"].to_list() == [1, 1]


def test_runs_say_how_they_ended_in_the_words_of_solvers(tmp_path: Path) -> None:
    said = {
        "optimal": "optimal", "all solutions": "optimal", "infeasible": "infeasible", "unsatisfiable": "infeasible",
        "unknown": "no solution", "crashed": "crashed", "out of memory": "out of memory", "timeout": "timed out",
        "error": "failed", "unbounded": "unbounded",
    }  # fmt: skip
    common = {"problem": "p", "budget_seconds": 10}
    rows = [
        {**common, "problem": word, "optimizer": word, "seconds": 9.0, "value": None, "status": word} for word in said
    ]
    rows += [{**common, "optimizer": "b", "seconds": 1.0, "value": 3.0, "status": None}]
    rows += [{**common, "optimizer": "cut", "seconds": 1.0, "value": 3.0, "status": "interrupted"}]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    assert "crashed failed in 1 of 1 study: 1 without any value, which counts as the worst" in view.notes[:3]
    assert view.failed["infeasible"] == {"studies": 0, "of": 1, "evaluations": 0}, "a proof is no failure"
    assert {
        "3 runs failed (1 crashed, 1 out of memory, 1 failed): what they found counts",
        "1 runs are not finished (1 interrupted): what they found counts",
    } <= set(view.notes)
    table = view.instance
    told = dict(table.select("optimizer", "status").iter_rows())
    assert told == {**said, "b": "done", "cut": "interrupted", "optimal": "no solution", "all solutions": "no solution"}


def test_a_proof_after_the_budget_does_not_count_and_is_told(tmp_path: Path) -> None:
    common = {"problem": "p", "optimizer": "a", "budget_seconds": 5}
    rows = [
        {**common, "seconds": 1.0, "value": 3.0, "status": None},
        {**common, "seconds": 7.0, "value": None, "status": "optimal"},
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    row = view.table("runs").row(0, named=True)
    assert (row["proved"], row["solved_effort"]) == (False, 1)
    assert "1 proofs came after the horizon: they do not count" in view.notes


def test_the_owner_of_the_worst_value_is_named_and_an_order_that_hangs_on_one_is_told(tmp_path: Path) -> None:
    def run(problem: str, name: str, first: float, last: float) -> list[dict]:
        one = {"problem": problem, "optimizer": name, "budget_seconds": 10}
        return [{**one, "seconds": 1.0, "value": first}, {**one, "seconds": 5.0, "value": last}]

    rows = [
        *run("p", "a", 10, 0), *run("p", "b", 10, 6), *run("p", "awful", 1000, 6),
        *run("q", "a", 10, 5), *run("q", "b", 10, 0), *run("q", "awful", 10, 5),
    ]  # fmt: skip
    view = oa.open(sheet(tmp_path, rows)).anytime()
    assert view.table("bounds")["worst_of"].to_list()[0] == "awful"
    assert any(note.startswith("without awful the order of a and b") for note in view.notes)


def test_leaving_one_out_equals_scoring_the_rest(golden: Path) -> None:
    from optarena.views.anytime.scoring import bounds_of
    from optarena.views.anytime.tables import _without

    for horizon in ("budget", "box"):
        whole = oa.open(golden).anytime(horizon=horizon).scored
        assert whole is not None
        for c, name in enumerate(whole.runs.optimizers):
            objective, area = _without(whole, bounds_of(whole.runs, horizon, without=c))
            others = [other for other in whole.runs.optimizers if other != name]
            part = oa.open(golden).filter(optimizer=others).anytime(horizon=horizon).scored
            assert part is not None
            rest = whole.runs.optimizer != c
            there = np.isin([whole.runs.instances[i] for i in whole.runs.instance[rest]], part.runs.instances)
            np.testing.assert_allclose(objective[rest][there], part.objective, atol=1e-12)
            np.testing.assert_allclose(area[rest][there], part.area, atol=1e-12)


def test_trials_are_averaged_before_instances(tmp_path: Path) -> None:
    rows = [
        {"problem": p, "optimizer": o, "trial": t, "seconds": 1.0, "value": v, "budget_seconds": 2}
        for p, o, t, v in [("p", "a", 0, 0.0), ("p", "a", 1, 4.0), ("p", "b", 0, 8.0), ("q", "a", 0, 1.0)]
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    row = view.instance.filter((pl.col("optimizer") == "a") & (pl.col("problem") == "p")).row(0, named=True)
    assert (row["objective_score"], row["trials"], row["best"]) == (0.25, 2, 0.0)
    assert view.summary.filter(pl.col("optimizer") == "a")["objective_score"].to_list() == [0.25], "q was not run by b"
    assert (
        "averages and ranks are over the 1 of 2 problems that all optimizers ran; left out: q (b lacks 1)" in view.notes
    )


def test_optimizers_and_solvers_stand_in_one_table(tmp_path: Path) -> None:
    plan = oa.Experiment(
        optimizers=["RandomSearch", "QuasiRandom"], problems=["functions/sphere/d2"], trials=2, budget=20
    )
    plan.run(tmp_path / "s", workers=0)
    view = oa.open(tmp_path / "s").anytime(axis="evaluations")
    assert view.summary["optimizer"].to_list() != []
    assert view.instance["area_score"].is_between(0, 1).all()
    assert view.table("bounds")["end"].to_list() == [20.0]


def test_a_saved_frame_keeps_scores_whoever_takes_part(golden: Path, tmp_path: Path, capsys) -> None:
    file = tmp_path / "frame.json"
    assert main(["score", str(golden), "--view", "anytime", "--save-frame", str(file), "--format", "json"]) == 0
    whole = json.loads(capsys.readouterr().out)
    ask = ["score", str(golden), "--view", "anytime", "--frame", str(file), "--optimizer", "B", "--format", "json"]
    assert main(ask) == 0
    part = json.loads(capsys.readouterr().out)
    assert part["frame"]["hash"] == whole["frame"]["hash"]
    mine = [row for row in whole["tables"]["instance"] if row["optimizer"] == "B"]
    for one, two in zip(mine, part["tables"]["instance"], strict=True):
        assert {k: one[k] for k in ("objective_score", "area_score", "primal_gap")} == {
            k: two[k] for k in ("objective_score", "area_score", "primal_gap")
        }


@pytest.mark.parametrize("horizon", ["budget", "box"])
def test_a_frame_brings_its_axis_horizon_gap_and_tolerance_along(golden: Path, horizon: str) -> None:
    whole = oa.open(golden).anytime(axis="decisions", horizon=horizon, gap=0.25, tolerance=1.0)
    again = oa.open(golden).anytime(frame=whole.pinned)
    assert again.frame["hash"] == whole.frame["hash"]
    for name in ("instance", "summary", "runs"):
        assert again.table(name).equals(whole.table(name)), name
    with pytest.raises(OptarenaError, match=r"the frame has gap 0\.25, but 0\.5 was requested"):
        oa.open(golden).anytime(frame=whole.pinned, gap=0.5)


def test_a_proof_counts_within_a_saved_box_too(tmp_path: Path) -> None:
    common = {"problem": "p", "optimizer": "a", "budget_seconds": 9, "f_opt": 2.0}
    rows = [
        {**common, "seconds": 1.0, "value": 3.0, "status": None},
        {**common, "seconds": 2.0, "value": 2.0, "status": None},
        {**common, "seconds": 7.0, "value": None, "status": "optimal"},
    ]
    results = oa.open(sheet(tmp_path, rows))
    whole = results.anytime(horizon="box")
    assert whole.summary["proved"].to_list() == [1]
    assert results.anytime(frame=whole.pinned).table("runs").equals(whole.table("runs"))


def test_a_value_better_than_a_saved_frame_knows_has_no_gap(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "optimizer": name, "seconds": t, "value": v, "budget_seconds": 9}
        for name, t, v in [("old", 1.0, 8.0), ("old", 2.0, 4.0), ("new", 1.0, 8.0), ("new", 3.0, 2.0)]
    ]
    results = oa.open(sheet(tmp_path, rows))
    frame = results.filter(optimizer="old").anytime().pinned
    view = results.anytime(frame=frame)
    row = view.table("runs").filter(pl.col("optimizer") == "new").row(0, named=True)
    assert (row["primal_gap"], row["solved"], row["objective_score"]) == (0, True, -0.5)
    assert "on 1 instances runs are better than the frame's best: their scores may lie below 0" in view.notes


def test_a_store_in_which_nobody_found_anything_is_scored(tmp_path: Path, capsys) -> None:
    rows = [
        {"problem": "p", "optimizer": name, "seconds": 9.0, "value": None, "budget_seconds": 9, "status": "timeout"}
        for name in "abc"
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    assert view.summary["par10"].to_list() == [90, 90, 90]
    assert view.summary["area_score"].to_list() == [None] * 3
    for shape in ("table", "json", "csv", "latex", "html"):
        assert main(["score", str(tmp_path / "events"), "--view", "anytime", "--format", shape]) == 0
    for name, said in (("curves", "no study has a solution"), ("area", "no area score to draw"), ("gap", "no gap")):
        assert main(["figure", name, str(tmp_path / "events"), "-O", str(tmp_path / "x.svg")]) == 2
        assert said in capsys.readouterr().err


def test_unsolved_without_a_known_budget_is_not_free(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "optimizer": "a", "seconds": 2.0, "value": 1.0, "status": None},
        {"problem": "p", "optimizer": "b", "seconds": 2.0, "value": 2.0, "status": None},
        {"problem": "q", "optimizer": "a", "seconds": None, "value": None, "status": "unknown"},
        {"problem": "q", "optimizer": "b", "seconds": None, "value": None, "status": "unknown"},
    ]
    view = oa.open(sheet(tmp_path, rows)).anytime()
    assert dict(view.summary.select("optimizer", "par10").iter_rows()) == {"a": 2, "b": 20}
    means = dict(view.summary.select("optimizer", "shifted_geometric_mean").iter_rows())
    assert means == {"a": pytest.approx(2), "b": pytest.approx(2)}
    assert (
        "no budget is known for 1 instance: runs without a solution are not in PAR-k and similar scores" in view.notes
    )


def test_equal_means_are_no_order_that_somebody_could_turn(tmp_path: Path) -> None:
    def run(problem: str, name: str, first: float, last: float) -> list[dict]:
        one = {"problem": problem, "optimizer": name, "budget_seconds": 10}
        return [{**one, "seconds": 1.0, "value": first}, {**one, "seconds": 5.0, "value": last}]

    values = [
        8.0,
        6.0,
        5.0,
        3.0,
    ]  # a and b have the same, on other instances; as parts of 70 they add up to another sum
    rows = []
    for i, value in enumerate(values):
        rows += run(f"p{i}", "a", 10, value) + run(f"p{i}", "b", 10, values[-1 - i])
        rows += run(f"p{i}", "c", 10, 0) + run(f"p{i}", "awful", 70, 0)
    assert not [note for note in oa.open(sheet(tmp_path, rows)).anytime().notes if note.startswith("without")]


def test_what_is_wrong_is_said(golden: Path, tmp_path: Path, capsys) -> None:
    assert main(["score", str(golden), "--view", "anytime", "--mode", "coco"]) == 2
    assert "mode must be one of exact, aries; got 'coco'" in capsys.readouterr().err
    assert main(["score", str(golden), "--view", "fixed-cost", "--horizon", "box"]) == 2
    assert "--horizon is not an option of the fixed-cost view" in capsys.readouterr().err
    assert main(["score", str(golden), "--view", "anytime", "--axis", "nodes"]) == 2
    assert "no effort axis 'nodes'" in capsys.readouterr().err
    with pytest.raises(OptarenaError, match="horizon must be one of budget, box"):
        oa.open(golden).anytime(horizon="bocks")
    (tmp_path / "bad.json").write_text("{}")
    with pytest.raises(OptarenaError, match="not a frame of the anytime view"):
        oa.open(golden).anytime(frame=tmp_path / "bad.json")


@pytest.mark.parametrize("shape", ["table", "csv", "latex", "html", "json"])
def test_every_format_prints(golden: Path, shape: str, capsys) -> None:
    assert main(["score", str(golden), "--view", "anytime", "--format", shape]) == 0
    assert "A" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["curves", "area", "gap", "cactus"])
def test_every_figure_is_drawn_from_the_view(golden: Path, name: str) -> None:
    spec = oa.open(golden).anytime().figure(name).to_dict()
    assert "layer" in json.dumps(spec)


def test_curves_begin_at_the_worst_value_and_go_on_to_the_end(golden: Path) -> None:
    from optarena.views.anytime.figure_tables import cactus, curves, gaps, solved

    view = oa.open(golden).anytime()
    mine = curves(view, solved(view)).filter((pl.col("problem") == "M2") & (pl.col("optimizer") == "B"))
    assert mine["effort"].to_list() == [0.5, 2, 4, 10], "time is logarithmic: it begins at half of the first solution's"
    assert mine["value"].to_list() == [8, 12, 15, 15], "maximised, in its own units"
    assert mine["found"].to_list() == [None, 12, 15, None]
    last = gaps(view).group_by("optimizer", maintain_order=True).last()
    final = dict(view.summary.select("optimizer", "primal_gap").iter_rows())
    for row in last.iter_rows(named=True):
        assert row["gap"] == pytest.approx(final[row["optimizer"]])
    ended = cactus(view).group_by("optimizer", maintain_order=True).last()
    assert dict(ended.select("optimizer", "count").iter_rows()) == {"A": 2, "B": 0, "C": 2, "D": 0}


def test_a_report_of_runs_with_a_budget_of_time_has_the_section(golden: Path, tmp_path: Path) -> None:
    page = oa.open(golden).report(tmp_path / "report.html").read_text()
    assert "Area score by instance" in page


def test_a_tiny_gap_has_all_its_digits():
    assert primal_gap(1e6 + 2**-30, 1e6) == pytest.approx(2**-30 / 1e6, rel=1e-12)
    assert primal_gap(1e308, -1e-300) == 1.0
    assert primal_gap(1.5e308, 1e308) == pytest.approx(1 / 3)


def test_points_of_a_single_row_of_times_are_refused():
    with pytest.raises(OptarenaError, match="instances, optimizers"):
        borda([1.0, 2.0])
    assert borda([[1.0, None]]).tolist() == [1.0, 0.0]


@pytest.mark.parametrize("horizon", ["budget", "box"])
def test_scores_of_single_runs_are_those_of_the_view(golden: Path, horizon: str) -> None:
    of = oa.open(golden).anytime(horizon=horizon).scored
    runs, bounds = of.runs, of.bounds
    for k, i in enumerate(runs.instance.tolist()):
        if np.isnan(bounds.best[i]):
            continue
        best, worst, start, end = (float(x[i]) for x in (bounds.best, bounds.worst, bounds.start, bounds.end))
        times, values = (part[runs.offsets[k] : runs.offsets[k + 1]] for part in (runs.times, runs.values))
        assert objective_score(best, worst, of.last_value[k]) == of.objective[k]
        assert area_score(times, values, best, worst, start, end) == pytest.approx(of.area[k])
        assert primal_integral(times, values, bounds.anchor[i], start, end) == pytest.approx(of.integral[k])


def test_a_run_without_an_axis_is_missing_on_it_whether_solved_or_not(tmp_path: Path) -> None:
    common = {"problem": "p", "seconds": 1.0, "budget_seconds": 10}
    rows = [
        {**common, "optimizer": "a", "value": 5.0, "decisions": 7, "status": None},
        {**common, "optimizer": "b", "value": 6.0, "decisions": None, "status": None},
        {**common, "optimizer": "c", "value": None, "decisions": None, "status": "timeout"},
        {**common, "optimizer": "d", "value": None, "decisions": 90, "status": "timeout"},
    ]
    results = oa.open(sheet(tmp_path, rows))
    view = results.anytime(axis="decisions")
    assert view.summary["optimizer"].to_list() == ["a", "d"]
    assert [(item["optimizer"], item["reason"]) for item in view.excluded] == [
        ("b", "it has no decisions"),
        ("c", "it has no decisions"),
    ]
    assert set(results.anytime().summary["optimizer"]) == set("abcd")


def test_a_box_has_no_budget_to_note(tmp_path: Path) -> None:
    rows = [
        {"problem": "p", "optimizer": name, "seconds": 1.0, "value": 5.0, "budget_seconds": budget}
        for name, budget in (("a", 10), ("b", 20))
    ]
    results = oa.open(sheet(tmp_path, rows))
    assert [note for note in results.anytime().notes if "budget" in note] == [
        "the budgets of runs differ on 1 instance: the largest is the horizon"
    ]
    assert not [note for note in results.anytime(horizon="box").notes if "budget" in note]
    assert not [note for note in results.anytime(axis="evaluations", horizon="box").notes if "budget" in note]
