"""Every figure: drawn from tables that are right, to every format, in colours that stay."""

from __future__ import annotations

import itertools
import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.dataset import tables
from optarena.dataset.best_points import best_points
from optarena.errors import OptarenaError, WorkError
from optarena.report.colours import BASELINE, PALETTE, assign
from optarena.report.drawing._style import Look, colour, finished
from optarena.report.drawing._vega import Chart
from optarena.report.drawing.fixed_cost import heat_map
from optarena.report.figures import FIGURES, chart, figure, figure_tables, sheets
from optarena.report.material import Material
from optarena.report.output import save
from optarena.report.scales import scales_of
from optarena.report.svg import svg_of
from optarena.views.convergence import convergence
from optarena.views.fixed_target import ert_tables
from optarena.views.fixed_target import figure_tables as runtimes
from optarena.views.pareto import Pareto
from stores import hostile, imported


@pytest.fixture
def results(tmp_path):
    return imported(tmp_path / "store")


# ---- tables ----------------------------------------------------------------------------------------------------------


def test_convergence_is_the_median_and_the_mean_of_the_best_so_far_over_trials(results):
    table = convergence(results)
    traces, studies = results.in_full().traces(), results.studies
    best = np.split(traces.best_so_far(), traces.offsets[1:-1])
    mine = [
        i
        for i, row in enumerate(studies.iter_rows(named=True))
        if (row["optimizer"], row["problem"]) == ("Good", "a/d2")
    ]
    last = np.array([best[i][-1] for i in mine])
    row = table.filter((pl.col("optimizer") == "Good") & (pl.col("problem") == "a/d2")).row(-1, named=True)
    assert row["effort"] == 20
    assert row["n"] == 3
    assert row["median"] == np.median(last)
    assert row["mean"] == pytest.approx(last.mean())
    half = 4.302652729911275 * last.std(ddof=1) / np.sqrt(3)  # t.ppf(.975, 2)
    assert row["mean_lb"] == pytest.approx(last.mean() - half)
    assert row["mean_ub"] == pytest.approx(last.mean() + half)
    assert row["q1"] == np.sort(last)[0]
    assert row["q3"] == np.sort(last)[2]


def test_convergence_is_the_distance_to_the_optimum_where_that_is_known(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}}, sense="max", optimum=2.0)
    def up(x):
        return 1 + x["x"]

    results = oa.Experiment(["RandomSearch"], [up], 30, trials=3).run(tmp_path / "s", workers=0)
    table = convergence(results)
    assert table["measure"].unique().to_list() == ["gap"]
    assert (table["median"] >= 0).all()
    assert table["median"][-1] == pytest.approx(2 - results.studies["best"].median())
    assert scales_of(table)["up"]["log"]


def test_a_maximised_value_without_optimum_is_drawn_as_it_was_returned(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}}, sense="max")
    def up(x):
        return 1 + x["x"]

    table = convergence(oa.Experiment(["RandomSearch"], [up], 30, trials=3).run(tmp_path / "s", workers=0))
    assert (table["q1"] <= table["median"]).all()
    assert (table["median"] <= table["q3"]).all()
    assert (table["mean_lb"] <= table["mean"]).all()
    assert table["median"].is_sorted()


@pytest.mark.parametrize("axis", ["evaluations", "batches", "seconds"])
def test_curves_have_few_points_and_end_where_the_studies_end(tmp_path, axis):
    results = imported(tmp_path / "s", evaluations=400, problems=("a/d2",), trials=2)
    table = convergence(results, axis, points=40)
    assert table.group_by("optimizer").len()["len"].max() <= 40
    ends = {"evaluations": 400, "batches": 400, "seconds": 400 * 0.01 * 3}
    assert table["effort"].max() == pytest.approx(ends[axis])


def test_times_are_seconds_an_evaluation(tmp_path):
    results = oa.Experiment(["RandomSearch"], "functions/sphere/d2", 50, trials=3).run(tmp_path / "s", workers=0)
    table = tables.times(results)
    studies = results.studies
    row = table.filter(pl.col("phase") == "evaluate").row(0, named=True)
    assert row["median"] == pytest.approx((studies["evaluate_seconds"] / studies["evaluations"]).median())
    assert table["phase"].to_list() == ["suggest", "evaluate", "observe"]


def test_failures_are_counted_by_kind(results):
    table = tables.failures(results)
    assert table["count"].to_list() == [6, 6, 6]
    assert set(table["kind"]) == {"error"}
    assert set(table["optimizer"]) == {"Good"}


def test_progress_tells_ended_studies_from_all(results):
    table = tables.progress(results)
    assert table["studies"].to_list() == [3] * 9
    assert set(table["label"]) == {"3"}


def test_best_points_lie_in_the_unit_cube(results):
    table = best_points(results)
    assert table.height == results.studies.height * 2
    assert table["unit"].is_between(0, 1).all()
    assert set(table["parameter"]) == {"a", "<b>b"}


def test_problems_stand_in_the_order_that_a_person_expects(tmp_path):
    results = imported(tmp_path / "s", problems=("f10/d2", "f2/d10", "f2/d2", "é/d2", "2"), trials=1, evaluations=3)
    assert tables.problems(results)["problem"].to_list() == ["2", "f2/d2", "f2/d10", "f10/d2", "é/d2"]


# ---- colours ---------------------------------------------------------------------------------------------------------


def test_a_colour_stays_whatever_part_of_a_store_is_drawn(results):
    def colours(part):
        spec = figure("final", part).to_dict()
        return next(
            layer["encoding"]["color"]["scale"] for layer in spec["layer"] if "color" in layer.get("encoding", {})
        )

    assert colours(results) == colours(results.filter(optimizer=["RandomSearch", "Slow"]))


def test_random_search_is_grey_and_no_two_optimizers_look_the_same():
    many = assign([f"opt{i}" for i in range(25)] + ["RandomSearch", "RandomSearch_0.1"])
    looks = list(zip(many.colours, many.dashes, strict=True))
    assert len(set(looks)) == len(looks)
    assert many.repeat
    assert [c for name, c in zip(many.names, many.colours, strict=True) if "Random" in name] == [BASELINE, BASELINE]
    assert assign(["b", "a"]).colours == PALETTE[:2]
    assert not assign(["b", "a"]).repeat


# ---- drawing ---------------------------------------------------------------------------------------------------------


# imported studies tell no phases; no function of theirs has two dimensions
LACKING = ("time", "ert-dimension", "scaling", *Pareto.figures)
"""Figures of what that store has not: times of phases, two dimensions, several objectives (see test_pareto_figures)."""


@pytest.mark.parametrize("name", [name for name in FIGURES if name not in LACKING])
@pytest.mark.slow
def test_every_figure_is_drawn_as_svg_with_names_as_text(name, tmp_path, capsys):
    hostile(tmp_path / "store")
    assert main(["figure", name, str(tmp_path / "store"), "-O", "fig.svg"]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "fig.svg"
    text = Path("fig.svg").read_text()
    assert "<script" not in text
    assert "<img" not in text
    assert "<svg" in text


def test_the_time_of_phases_is_drawn(tmp_path):
    results = oa.Experiment(["RandomSearch"], "functions/sphere/d2", 50, trials=3).run(tmp_path / "s", workers=0)
    assert figure("time", results).to_dict()["layer"]


@pytest.mark.parametrize(
    ("ending", "begins"), [("pdf", b"%PDF"), ("png", b"\x89PNG"), ("html", b"<!doctype html>"), ("json", b"{")]
)
def test_a_figure_is_written_in_every_format(ending, begins, results):
    assert main(["figure", "final", str(results.path), "-O", f"fig.{ending}", "--width", "300"]) == 0
    written = Path(f"fig.{ending}").read_bytes()
    assert written.startswith(begins)
    if ending == "json":
        assert json.loads(written)["width"] == 300


@pytest.mark.parametrize("axis", ["evaluations", "batches", "seconds"])
@pytest.mark.parametrize("statistic", ["median", "mean"])
def test_convergence_has_axes_and_statistics(results, axis, statistic):
    spec = figure("convergence", results, axis=axis, statistic=statistic).to_dict()
    first = spec["concat"][0]["layer"][1]["encoding"]
    assert first["x"]["title"] == axis
    assert first["y"]["field"] == statistic


def test_a_view_draws_itself(results):
    view = results.fixed_cost()
    assert view.figure().to_dict()["layer"]
    assert view.figure("heatmap").to_dict()["layer"]
    with pytest.raises(OptarenaError, match=r"no figure 'heatmp'\. Did you mean 'heatmap'\?"):
        view.figure("heatmp")


# ---- fixed target ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def classics(tmp_path_factory):
    experiment = oa.Experiment(
        ["RandomSearch", "Scipy-NelderMead", "Scipy-Powell"], "bbob/f{1,2,6}/d{2,3}/i{1,2}", "30*D", trials=1
    )
    return experiment.run(tmp_path_factory.mktemp("classics") / "s", workers=0)


def test_the_dot_of_a_budget_lies_on_the_curve_where_the_budget_ends(classics):
    view = classics.fixed_target()
    table = runtimes.ecdf(view)
    assert table["panel"].unique(maintain_order=True).to_list() == ["2-D", "3-D"], "dimensions are never pooled"
    for (_, _), part in table.group_by("optimizer", "panel"):
        dot = part.filter(pl.col("at_budget").is_not_null())
        assert dot.height == 1
        assert dot["within"][0] == dot["beyond"][0] == dot["at_budget"][0]
        assert part.filter(pl.col("effort") < dot["effort"][0])["beyond"].is_null().all()
        assert part.filter(pl.col("effort") > dot["effort"][0])["within"].is_null().all()
    drawn = table.filter(optimizer="Scipy-Powell", dimension=2).with_columns(fraction=pl.coalesce("within", "beyond"))
    whole = view.ecdf.filter(optimizer="Scipy-Powell", group="all", dimension=2)
    steps = drawn.sort("effort")
    at = np.searchsorted(steps["effort"].to_numpy(), whole["effort"].to_numpy(), side="right") - 1
    assert (at >= 0).all()
    assert steps["fraction"].to_numpy()[at] == pytest.approx(whole["fraction"].to_numpy(), abs=1e-12)


def test_how_far_runs_are_continues_how_many_reach_a_target(classics):
    """The right panel begins at the success probability, where the left one ends; no curve falls."""
    view = classics.fixed_target()
    reach, miss = runtimes.transition(view)
    assert set(reach["k"]) == {"k = 1", "k = -1", "k = -4", "k = -8"}
    behind = reach.filter(pl.col("optimizer").is_null())
    assert behind.height, "the ERTs of best 2009"
    for (optimizer, k, dimension), part in reach.drop_nulls("optimizer").group_by("optimizer", "k", "dimension"):
        after = miss.filter(optimizer=optimizer, k=k, dimension=dimension).sort("x")
        before = part.sort("x")
        target = 10.0 ** int(k.removeprefix("k = "))
        runs = classics.studies.filter(optimizer=optimizer, dimension=dimension)
        gap = (runs["best"] - runs["optimum"]).to_numpy()
        assert before["fraction"][-1] == after["fraction"][0] == pytest.approx(np.mean(gap <= target * (1 + 1e-9)))
        for curve in (before, after):
            assert (np.diff(curve["fraction"].to_numpy()) >= 0).all()
        at = after.filter(pl.col("x") > 1)
        for x, fraction in at.select("x", "fraction").iter_rows():
            assert fraction == pytest.approx(np.mean(np.maximum(gap / target, 1) <= x * (1 + 1e-9)))


def test_cuts_lie_on_the_runs(classics):
    name, table = runtimes.cuts(classics.fixed_target())
    assert name.endswith("in dimension 2")
    runs, points = (table.filter(pl.col(column).is_not_null()) for column in ("run", "kind"))
    assert set(points["kind"]) == {"fixed cost", "fixed target"}
    (budget,), (target,) = (
        points.filter(kind=kind)[column].unique().to_list()
        for kind, column in (("fixed cost", "effort"), ("fixed target", "precision"))
    )
    costs, times = [], []
    for (optimizer, _), run in runs.group_by("optimizer", "run"):
        run = run.sort("effort")
        costs.append((optimizer, run.filter(pl.col("effort") <= budget)["precision"].min()))
        reached = run.filter(pl.col("precision") <= target * (1 + 1e-9))
        times += [(optimizer, reached["effort"][0])] if reached.height else []
    found = {kind: points.filter(kind=kind) for kind in ("fixed cost", "fixed target")}
    assert sorted(found["fixed cost"].select("optimizer", "precision").rows()) == sorted(costs)
    assert sorted(found["fixed target"].select("optimizer", "effort").rows()) == sorted(times)


def test_the_line_behind_ecdfs_is_unbroken(classics, tmp_path):
    text = save(figure("ecdf", classics.filter(dimension=2)), tmp_path / "f.svg").read_text()
    lines = re.findall(r'<path [^>]*?\bd="([^"]*)"[^>]*stroke-dasharray="5,3"', text)
    assert len(lines) == 1
    assert lines[0].count("M") == 1
    assert lines[0].count("L") > 20


def test_an_ecdf_jumps_at_every_runtime(classics):
    view = classics.fixed_target()
    drawn = runtimes.ecdf(view).filter(optimizer="Scipy-Powell", dimension=3).sort("effort")
    scored = view.scored
    table = scored.runs.table
    mine = ((table["optimizer"] == "Scipy-Powell") & (table["dimension"] == 3)).to_numpy()
    hits = (scored.hits[mine] / scored.runs.per_dimension[mine, None]).ravel()
    ended = (scored.spent / scored.runs.per_dimension)[mine].min()
    for row in drawn.filter(pl.col("effort") < ended).iter_rows(named=True):
        assert row["within"] == pytest.approx(np.mean(hits <= row["effort"] * (1 + 1e-12)))
    early = np.unique(hits[hits < ended])
    assert set(np.round(early, 9)) <= set(np.round(drawn["effort"].to_numpy(), 9))


def test_the_background_is_the_reference_that_is_known_for_every_target(classics, results):
    table = runtimes.ecdf(classics.fixed_target()).filter(dimension=2)
    assert runtimes.reference_name(classics.fixed_target()) == "best 2009"
    erts = classics.fixed_target().table("reference").filter(dimension=2)
    at = table.row(20, named=True)
    assert at["reference"] == pytest.approx((erts["best_2009"] / erts["dimension"] <= at["effort"]).mean())
    assert runtimes.reference_name(results.fixed_target()) == "best of store"


@pytest.mark.parametrize("points", [5, 40, None])
def test_curves_of_few_points_are_right_where_they_have_one(classics, points):
    view = classics.fixed_target()
    table = runtimes.ecdf_functions(view, points, "best-2009")
    for _, panel in table.group_by("panel", "dimension"):
        behind = panel.drop_nulls("reference").sort("effort", "reference")["reference"]
        assert behind.len()
        assert behind.is_sorted()
    every = runtimes.ecdf_functions(view, 10**6, "best-2009")
    keys = ["panel", "dimension", "optimizer", "effort"]
    fraction = pl.coalesce("within", "beyond").alias("fraction")
    both = table.select(*keys, fraction, "at_budget").join(every.select(*keys, exact=fraction), on=keys)
    assert both.height == table.height
    assert (both["fraction"] == both["exact"]).all()
    assert both["at_budget"].drop_nulls().len() == every["at_budget"].drop_nulls().len()


def test_the_ecdf_of_precision_goes_on_from_the_easiest_target_to_the_hardest(classics):
    table = runtimes.precision(classics.fixed_target())
    assert table["precision"].min() == pytest.approx(1e-8)
    assert table["precision"].max() == pytest.approx(1e2)
    assert set(table["after"]) == {"D", "10 D", "end"}
    studies = classics.studies.filter(optimizer="Scipy-Powell", dimension=3)
    gap = (studies["best"] - studies["optimum"]).to_numpy()
    end = table.filter(pl.col("final"), pl.col("optimizer") == "Scipy-Powell", pl.col("dimension") == 3)
    for precision, fraction in end.filter(pl.col("precision") > 2e-8).select("precision", "fraction").iter_rows():
        assert fraction == pytest.approx(np.mean(gap <= precision * (1 + 1e-5)))


def test_groups_have_a_panel_for_each_dimension_in_the_order_of_the_suite(classics, results):
    panels = runtimes.ecdf_groups(classics.fixed_target())["panel"].unique(maintain_order=True).to_list()
    assert panels == ["separable, 2-D", "separable, 3-D", "moderate, 2-D", "moderate, 3-D", "all, 2-D", "all, 3-D"]
    without = runtimes.ecdf_groups(results.fixed_target())["panel"].unique(maintain_order=True).to_list()
    assert without[0].startswith("a/d2")


def test_expected_running_times_are_those_of_the_view_per_dimension(classics):
    view = classics.fixed_target()
    names = tables.functions(classics)
    assert names["name"].to_list()[0] == "bbob/f1/d2"
    table = ert_tables.ert(view, names, thin=True)
    assert table["target"].unique().len() == 11
    row = table.filter(function="bbob/f1/d3", optimizer="Scipy-Powell", target=1e-2).row(0, named=True)
    mine = view.ert.filter(function="f1", dimension=3, optimizer="Scipy-Powell")
    mine = mine.filter((pl.col("target") - 1e-2).abs() < 1e-9)
    assert row["ert"] == pytest.approx(mine["ert"][0] / 3)
    assert row["successes"] == f"{mine['n_success'][0]} of 2"
    assert table.filter(pl.col("upper").is_null() != pl.col("lower").is_null()).is_empty()


def test_expected_running_times_by_dimension_share_a_target_that_was_reached(classics):
    table = ert_tables.ert_by_dimension(classics.fixed_target())
    assert table["panel"].unique(maintain_order=True)[0] == "f1 Sphere to 10⁻⁸"
    assert set(table["D"]) == {2, 3}
    assert (table.group_by("panel", "D").agg(pl.col("ert").is_not_null().any())["ert"]).all()


def test_losses_count_what_was_reached(classics):
    view = classics.fixed_target()
    row = ert_tables.loss(view, []).filter(optimizer="RandomSearch").row(0, named=True)
    mine = view.ert.filter(optimizer="RandomSearch")
    assert row["reached"] == pytest.approx((mine["n_success"] > 0).mean())
    assert row["n"] == mine.height
    finite = mine.filter(pl.col("loss").is_finite())["loss"]
    assert row["low"] <= row["q1"] <= row["median"] <= row["q3"] <= row["high"]
    assert finite.min() <= row["low"]


@pytest.mark.parametrize("name", [one.name for one in FIGURES.values() if one.view == "fixed-target"])
@pytest.mark.slow
def test_figures_of_fixed_targets_are_written(classics, name, tmp_path):
    assert save(figure(name, classics), tmp_path / "f.svg").read_bytes().startswith(b"<svg")


def test_a_fixed_target_view_draws_itself_as_it_was_scored(classics):
    view = classics.fixed_target(targets=[1.0, 0.1])
    assert view.figure().to_dict()["hconcat"][0]["facet"]["field"] == "panel"
    (rows,) = view.figure("ert").to_dict()["datasets"].values()
    assert {row["target"] for row in rows} == {1.0, 0.1}


def test_a_figure_takes_the_options_of_its_view(classics, tmp_path):
    spec = figure("ert", classics, targets="1,0.1", mode="exact").to_dict()
    (rows,) = spec["datasets"].values()
    assert {row["target"] for row in rows} == {1.0, 0.1}
    call = [
        "figure",
        "ert",
        str(classics.path),
        "--targets",
        "1,0.1",
        "-o",
        "RandomSearch",
        "-O",
        str(tmp_path / "f.json"),
    ]
    assert main(call) == 0
    (drawn,) = json.loads((tmp_path / "f.json").read_text())["datasets"].values()
    assert {(row["optimizer"], row["target"]) for row in drawn} == {("RandomSearch", 1.0), ("RandomSearch", 0.1)}
    assert figure("final", classics, axis="seconds").to_dict() != figure("final", classics).to_dict()


def test_figures_of_comparisons_take_the_options_of_compare(classics):
    spec = figure("scott-knott", classics, view="fixed-target", targets="1,0.1").to_dict()
    assert spec != figure("scott-knott", classics).to_dict()
    with pytest.raises(OptarenaError, match="--targets is not an option of the fixed-cost view"):
        figure("scott-knott", classics, view="fixed-cost", targets="1")


def test_a_view_that_is_scored_takes_no_more_options(classics):
    with pytest.raises(OptarenaError, match="the view is already scored: give targets to the view"):
        classics.fixed_target().figure("ert", targets="1")


def test_figures_of_fixed_targets_say_what_is_missing(results):
    with pytest.raises(OptarenaError, match="same target in two dimensions"):
        figure("ert-dimension", results)
    with pytest.raises(OptarenaError, match="choose two with --optimizer"):
        figure("scatter", results.filter(optimizer=["Slow"]))
    with pytest.raises(OptarenaError, match=r"no background 'best-of-stor'\. Did you mean 'best-of-store'"):
        figure("ecdf", results, background="best-of-stor")
    with pytest.raises(OptarenaError, match="best 2009 is not known"):
        figure("ecdf", results, background="best-2009")


def test_a_figure_with_many_panels_has_sheets(results, tmp_path, capsys):
    many = imported(tmp_path / "many", problems=[f"p{i}/d2" for i in range(25)], trials=1, evaluations=3)
    for name in ("ert", "convergence"):
        found = sheets(name, many)
        assert len(found) == 2
        with pytest.raises(OptarenaError, match=f"the figure {name} has 2 sheets; got sheet 3"):
            figure(name, many, sheet=3)
    assert main(["figure", "ert", str(tmp_path / "many"), "-O", str(tmp_path / "f.svg")]) == 0
    assert capsys.readouterr().out.splitlines() == [str(tmp_path / "f.svg"), str(tmp_path / "f-2.svg")]
    panels = [len(set(re.findall(r">(p\d+/d2)<", (tmp_path / one).read_text()))) for one in ("f.svg", "f-2.svg")]
    assert panels == [24, 1]
    assert figure_tables("ert", many)["ert"]["function"].n_unique() == 25, "tables are of all sheets"


@pytest.mark.parametrize(("paper", "width"), [("column", 241), ("page", 506)])
@pytest.mark.parametrize(
    "name",
    [
        *(
            "ecdf",
            "ecdf-groups",
            "ert-dimension",
            "scatter",
            "run-lengths",
            "loss-budget",
            "transition",
            "ert",
            "loss",
            "profiles",
        )
    ],
)
@pytest.mark.slow
def test_a_figure_for_a_paper_fills_its_width(classics, name, paper, width, tmp_path):
    for sheet in sheets(name, classics, paper=paper):
        text = save(sheet.chart, tmp_path / "f.svg").read_text()
        found = float(re.search(r' width="([0-9.]+)"', text)[1])
        assert 0.93 * width <= found <= width
        dimensions = re.search("dimensions? ([0-9, ]+);", sheet.caption)[1]
        assert dimensions in ("2, 3", "2", "3")
        assert "bbob; f1, f2, f6; dimension" in sheet.caption
        assert "51 targets from 10² to 10⁻⁸; 2 runs per function and dimension" in sheet.caption
        assert "Filters" not in sheet.caption, "a paper has none"
        if paper == "page":
            assert "…" not in text, "no label is cut"
        assert "mode exact" not in text, "words stand in the caption"


def test_every_optimizer_has_its_label_on_paper(tmp_path):
    names = [f"optimizer-{i}" for i in range(20)]
    many = imported(tmp_path / "s", optimizers=names, problems=["p1/d2", "p2/d3"], trials=2, evaluations=5)
    for name in ("loss", "contributions"):
        for sheet in sheets(name, many, paper="column"):
            assert [one for one in names if f">{one}<" not in sheet.svg] == [], name


def test_a_curve_of_the_best_of_the_store_takes_the_fastest_for_each_target(classics):
    """Without restarts, by hand: for each function and target the runs of the optimizer with the least ERT."""
    view = classics.fixed_target(bootstrap=0)
    drawn = runtimes.ecdf(view, background="best-of-store").filter(optimizer="RandomSearch", dimension=2)
    scored, erts = view.scored, view.ert.filter(dimension=2)
    best = erts.sort("ert", maintain_order=True).group_by("function", "target", maintain_order=True).first()
    cells = {}
    for c, row in enumerate(scored.runs.cells.iter_rows(named=True)):
        cells[row["optimizer"], row["function"], row["dimension"]] = scored.of_cell[c]
    hits = []
    for row in best.iter_rows(named=True):
        runs = cells[row["optimizer"], row["function"], 2]
        t = int(np.argmin(np.abs(np.log(scored.targets[0] / row["target"]))))
        hits += (scored.hits[runs, t] / 2).tolist()
    end = min(scored.spent / scored.runs.per_dimension)
    for effort, reference in drawn.select("effort", "reference").iter_rows():
        if effort < end:
            assert reference == pytest.approx(np.mean(np.array(hits) <= effort * (1 + 1e-12)))
    assert drawn["reference"].is_not_null().all()


def test_an_optimizer_can_be_the_background(classics):
    view = classics.fixed_target(bootstrap=0)
    table = runtimes.ecdf(view, background="Scipy-Powell").filter(dimension=3)
    assert set(table["optimizer"]) == {"RandomSearch", "Scipy-NelderMead"}
    own = view.ecdf.filter(optimizer="Scipy-Powell", group="all", dimension=3)
    part = table.filter(optimizer="RandomSearch").sort("effort")
    at = np.searchsorted(part["effort"].to_numpy(), own["effort"].to_numpy(), side="right") - 1
    assert part["reference"].to_numpy()[at] == pytest.approx(own["fraction"].to_numpy(), abs=1e-12)
    reach, _ = runtimes.transition(view, "Scipy-Powell")
    behind, mine = reach.filter(pl.col("optimizer").is_null()), reach.filter(optimizer="Scipy-Powell")
    assert behind.drop("optimizer").equals(mine.drop("optimizer"))


def test_bands_hold_their_curve_and_shrink_to_nothing_without_differences(classics):
    table = runtimes.ecdf(classics.fixed_target(), bands=True)
    at = table.with_columns(y=pl.coalesce("within", "beyond")).drop_nulls(["lower", "upper"])
    assert at.height
    assert (at["lower"] <= at["upper"]).all()
    ends = at.sort("effort").group_by("optimizer", "dimension").last()
    assert (ends["lower"] <= ends["y"] + 1e-9).all()
    assert (ends["upper"] >= ends["y"] - 1e-9).all()


def test_contributions_share_the_targets_that_anyone_reached(classics):
    view = classics.fixed_target(bootstrap=0)
    table = ert_tables.contributions(view)
    for (dimension,), part in table.group_by(["dimension"]):
        assert part["best"].sum() == pytest.approx(1)
        erts = view.ert.filter(dimension=dimension).pivot("optimizer", index=["function", "target"], values="ert")
        names = part["optimizer"].to_list()
        values = erts.select(names).to_numpy()
        values = values[np.isfinite(values).any(axis=1)]
        assert set(part["n"]) == {len(values)}
        for i, row in enumerate(part.iter_rows(named=True)):
            others = np.delete(values, i, axis=1).min(axis=1)
            assert row["alone"] == pytest.approx(np.mean(np.isinf(others)))
            both = np.isfinite(others)
            slower = np.exp(np.mean(np.log(others[both] / values[both].min(axis=1))))
            assert row["slower"] == pytest.approx(slower)


def test_losses_over_budgets_are_those_of_their_definition(classics):
    view = classics.fixed_target(bootstrap=0)
    table = ert_tables.loss_by_budget(view)
    row = table.filter(optimizer="Scipy-Powell", dimension=2).row(-1, named=True)
    budget, losses, failed = 2 * row["effort"], [], []
    for function in ("f1", "f2", "f6"):
        mine = view.ert.filter(optimizer="Scipy-Powell", dimension=2, function=function)
        best = view.table("reference").filter(dimension=2, function=function)["best_2009"].to_numpy()
        erts = mine["ert"].to_numpy()
        reached, ahead = int((erts <= budget).sum()), int((best <= budget).sum())
        spent = budget if ahead > reached or not reached else erts[reached - 1]
        losses.append(spent / best[max(reached - 1, 0)])
        failed.append(np.isinf(erts[ahead - 1]))
    assert row["mean"] == pytest.approx(np.exp(np.mean(np.log(losses))))
    assert row["failed"] == pytest.approx(np.mean(failed))
    assert row["n"] == 3


def test_a_scatter_plot_has_every_target_that_one_of_two_reached(classics):
    view = classics.fixed_target(bootstrap=0)
    table = ert_tables.scatter(view, "RandomSearch", "Scipy-Powell")
    keys = ["function", "dimension", "target"]
    a, b = (view.ert.filter(optimizer=name).sort(keys)["ert"].to_numpy() for name in ("RandomSearch", "Scipy-Powell"))
    assert table.height == int((np.isfinite(a) | np.isfinite(b)).sum())
    counts = dict(table.group_by("who").len().iter_rows())
    assert counts.get("both", 0) == int((np.isfinite(a) & np.isfinite(b)).sum())
    assert counts.get("Scipy-Powell", 0) == int((np.isinf(a) & np.isfinite(b)).sum())
    edge = table["x"].max()
    assert set(table.filter(pl.col("who") == "Scipy-Powell")["x"]) == {edge}


def test_scaling_marks_where_not_all_runs_reached_the_hardest_target(classics):
    view = classics.fixed_target(bootstrap=0)
    table = ert_tables.scaling(view)
    assert table["k"].unique(maintain_order=True).to_list()[:2] == ["10", "1"]
    hardest = view.ert.filter((pl.col("target").log10() + 8).abs() < 1e-9)
    for row in hardest.iter_rows(named=True):
        name = f"{row['function']} "
        mine = table.filter(optimizer=row["optimizer"], D=row["dimension"], power=-8).filter(
            pl.col("panel").str.starts_with(name)
        )
        assert mine["missed"].is_not_null()[0] == (row["n_success"] < row["n_runs"])
        assert mine["count"][0] == row["n_success"]


def test_labels_beside_curves_do_not_touch(classics):
    table = runtimes.ecdf(classics.filter(dimension=2).fixed_target())
    ends = runtimes.ends(table, "the best")
    places = ends.sort("beside")["beside"].to_list()
    assert ends.height == 4
    assert ends.filter("behind")["optimizer"].to_list() == ["the best"]
    assert min(np.diff(places)) >= 0.055 - 1e-9


def test_the_list_names_every_figure(capsys):
    assert main(["figure", "--list"]) == 0
    out = capsys.readouterr().out
    assert all(f"\n  {name} " in out for name in FIGURES)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["final"], "give a figure's name and a store"),
        (["fnal", "store", "-O", "f.pdf"], "no figure 'fnal'. Did you mean 'final'?"),
        (["final", "store"], "give a file to write"),
        (["final", "store", "-O", "f.docx"], "f.docx: what format?"),
        (["final", "store", "-O", "."], "what format?"),
        (["time", "store", "-O", "f.pdf", "--axis", "seconds"], "the figure time has no axis to choose"),
        (["final", "store", "-O", "f.pdf", "--targets", "1"], "--targets is not an option of the fixed-cost view"),
        (["final", "store", "-O", "f.pdf", "--view", "pareto"], "final draws the fixed-cost view, not the pareto view"),
        (["ecdf", "store", "-O", "f.pdf", "--targets", "few"], "'few'"),
        (["final", "store", "-O", "f.pdf", "--statistic", "mean"], "the figure final has no statistic to choose"),
        (["final", "store", "-O", "f.pdf", "--metric", "valu"], "Did you mean 'value'?"),
        (["convergence", "store", "-O", "f.pdf", "--axis", "second"], "Did you mean 'seconds'?"),
        (["final", "store", "-O", "f.pdf", "--optimizer", "Good"], "no RandomSearch"),
        (["failures", "store", "-O", "f.pdf", "--optimizer", "Slow"], "no evaluation failed"),
    ],
)
def test_a_bad_call_gets_one_sentence(arguments, sentence, capsys):
    imported("store")
    assert main(["figure", *arguments]) == 2
    error = capsys.readouterr().err
    assert sentence in error
    assert error.count("\n") == 1


def test_importing_optarena_does_not_import_altair():
    code = "import optarena as oa, sys; oa.open, oa.Experiment; import optarena.views.fixed_cost, optarena.report.page;"
    code += "assert not {'altair', 'vl_convert'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_files_and_pages_need_no_altair(tmp_path):
    imported(tmp_path / "store")
    code = "import sys; from optarena.cli import main; store, out = sys.argv[1:];"
    code += "assert main(['figure', 'final', store, '-O', f'{out}/f.svg']) == 0;"
    code += "assert main(['report', store, '-O', f'{out}/r.html']) == 0;"
    code += "assert 'altair' not in sys.modules"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "store"), str(tmp_path)], check=True)


def test_a_chart_says_which_schema_it_follows():
    import altair as alt

    assert Chart([]).to_dict()["$schema"] == alt.SCHEMA_URL


@pytest.mark.parametrize("name", ["final", "convergence", "ert", "pairwise"])
def test_an_altair_chart_is_the_same_chart(name, tmp_path):
    results = imported(tmp_path / "store")
    assert figure(name, results).to_dict() == chart(name, results).to_dict()


# ---- what a reader may trust -----------------------------------------------------------------------------------------


def specs(part):
    """Every specification inside a specification."""
    if isinstance(part, dict):
        yield part
        part = list(part.values())
    if isinstance(part, list):
        for inner in part:
            yield from specs(inner)


def test_names_of_properties_are_drawn_as_any_other(tmp_path):
    names = ("RandomSearch", "__proto__", "constructor", "toString")
    results = imported(tmp_path / "s", optimizers=names, problems=("__proto__", "b/d2"))
    text = save(figure("final", results), tmp_path / "f.svg").read_text()
    assert text.count('<path aria-label="') + text.count("<path transform=") >= len(names)
    assert all(name in text for name in names)
    dots = re.search(r'<g class="mark-symbol role-mark[^>]*>(.*?)</g>', text, re.DOTALL).group(1)
    assert dots.count("<path") == len(names)
    assert "__proto__" in save(figure("heatmap", results), tmp_path / "h.svg").read_text()


def test_signs_that_cannot_be_seen_are_written_out_in_figures(tmp_path):
    results = imported(tmp_path / "s", optimizers=("RandomSearch", "abc\u202edef\u200b"))
    text = save(figure("final", results), tmp_path / "f.svg").read_text()
    assert r"abc\u202edef\u200b" in text
    assert "\u202e" not in text


def test_an_empty_drawing_is_refused(tmp_path):
    import altair as alt

    nothing = alt.Chart(alt.InlineData(values=[])).mark_point().encode(x="a:Q")
    for ending in ("svg", "html", "json"):
        with pytest.raises(WorkError, match="the figure came out empty"):
            save(nothing, tmp_path / f"f.{ending}")
        assert not (tmp_path / f"f.{ending}").exists()


def test_a_missing_directory_is_made(results):
    assert main(["figure", "progress", str(results.path), "-O", "new/deep/fig.svg"]) == 0
    assert Path("new/deep/fig.svg").is_file()


def test_the_legend_names_only_who_is_drawn_the_best_first(results):
    some = results.filter(optimizer=["RandomSearch", "Slow"])
    spec = figure("normalised", some).to_dict()
    legends = [one["legend"]["values"] for one in specs(spec) if one.get("field") == "optimizer" and one.get("legend")]
    assert legends
    ranked = some.fixed_cost().leaderboard()["optimizer"].to_list()
    assert set(ranked) == {"RandomSearch", "Slow"}
    assert all(names == ranked for names in legends)


def test_a_figure_of_scores_names_its_frame(results):
    for view, names in ((results.fixed_cost(), ("normalised", "heatmap")), (results.fixed_target(), ("ecdf", "loss"))):
        for name in names:
            title = figure(name, results).to_dict()["title"]
            assert f"frame {view.frame['hash'][:12]}, mode exact" in (title["text"], title.get("subtitle"))


def test_the_best_so_far_is_drawn_as_steps(results):
    spec = figure("convergence", results).to_dict()
    marks = [one["mark"] for one in specs(spec) if isinstance(one.get("mark"), dict)]
    ways = {mark["type"]: mark.get("interpolate") for mark in marks}
    assert ways == {"area": "step-after", "line": "step-after", "point": None}


@pytest.mark.parametrize(("axis", "whole"), [("evaluations", True), ("seconds", False)])
def test_counts_have_no_ticks_between_whole_numbers(results, axis, whole):
    spec = figure("convergence", results, axis=axis).to_dict()
    axes = [one["x"]["axis"] for one in specs(spec) if isinstance(one.get("x"), dict)]
    assert axes
    assert all(("tickMinStep" in one) == whole for one in axes)


def test_times_are_order_statistics_as_all_quantiles_here(tmp_path):
    results = oa.Experiment(["RandomSearch"], "functions/sphere/d2", 20, trials=4).run(tmp_path / "s", workers=0)
    each = np.sort((results.studies["evaluate_seconds"] / results.studies["evaluations"]).to_numpy())
    row = tables.times(results).filter(pl.col("phase") == "evaluate").row(0, named=True)
    assert [row["q1"], row["median"], row["q3"]] == [each[0], each[1], each[2]]


def test_a_view_gives_the_tables_that_its_figures_draw(results):
    view = results.fixed_target()
    found = view.figure_tables("ecdf")
    assert list(found) == ["ecdf"]
    assert view.figure_tables("precision")["precision"].equals(runtimes.precision(view))
    assert list(results.fixed_cost().figure_tables()) == ["summary value"]


def test_every_figure_is_declared_once_and_named_by_its_view(results):
    for view in (results.fixed_cost(), results.fixed_target()):
        assert view.figures == tuple(one.name for one in FIGURES.values() if one.view == view.name)
        assert view.figures
    for one in FIGURES.values():
        module = import_module(f"optarena.report.figures.{one.view.replace('-', '_') or 'runs'}")
        assert callable(getattr(module, one.name.replace("-", "_")))


def odd(*, without=(), **columns):
    """Two optimizers on two functions; the columns that are given change what they find."""
    rows = []
    for o, f, t, i in itertools.product("ac", ("f1", "f2"), range(2), range(6)):
        row = {"problem": f"s/{f}", "optimizer": o, "trial": t, "evaluation": i + 1, "value": 10.0 ** (1 - 2 * i)}
        row |= {"suite": "s", "function": f, "f_opt": 0.0, "dimension": 2}
        rows.append({**row, **{name: of(row) for name, of in columns.items()}})
    return oa.from_frame(pl.DataFrame(rows).drop(without))


def test_a_curve_of_runs_that_all_succeed_goes_on_to_the_end_with_its_mark_at_the_budget():
    results = odd(value=lambda row: 0.0 if row["optimizer"] == "c" else 10.0 - row["evaluation"])
    table = figure_tables("ecdf", results)["ecdf"]
    ends = {name: table.filter(pl.col("optimizer") == name)["effort"].max() for name in ("a", "c")}
    assert ends["a"] == ends["c"]
    mark = table.filter(pl.col("optimizer") == "c", pl.col("at_budget").is_not_null())
    assert mark["effort"].to_list() == [3.0]
    assert mark["at_budget"].to_list() == pytest.approx([1.0])


def test_optimizers_with_the_names_of_backgrounds_keep_their_curves():
    names = {"a": "best-of-store", "c": "none"}
    results = odd(optimizer=lambda row: names[row["optimizer"]])
    assert set(figure_tables("ecdf", results)["ecdf"]["optimizer"]) == set(names.values())
    assert len(sheets("run-lengths", results)) == 2
    reach, _ = runtimes.transition(results.fixed_target(), "none")
    assert reach["optimizer"].null_count() == 0


def test_functions_of_dimension_0_are_not_divided_by_it():
    view = odd(without=["dimension"]).fixed_target()
    table = ert_tables.scatter(view, "a", "c")
    assert table.height
    assert table["x"].is_finite().all()
    with pytest.raises(OptarenaError, match="no function has a dimension"):
        view.figure("scaling")


def test_a_reference_that_took_no_time_gives_no_ratio():
    view = odd(seconds=lambda row: 0.0 if row["optimizer"] == "c" else float(row["evaluation"])).fixed_target(
        axis="seconds"
    )
    reached = view.ert.filter(pl.col("target") == 10.0)
    assert reached["loss"].null_count() == reached.height
    assert view.table("ratios").filter(pl.col("target") == 10.0)["ratio"].null_count() == reached.height
    assert ert_tables.contributions(view)["slower"].is_null().all()
    assert not ert_tables.loss_by_budget(view).height


def test_contributions_say_that_no_target_was_reached():
    with pytest.raises(OptarenaError, match="no target was reached"):
        sheets("contributions", odd(value=lambda _: 1e6))


def test_bands_are_those_of_the_best_and_do_not_set_the_scale(tmp_path):
    names = ("RandomSearch", *(f"O{i}" for i in range(9)))
    results = imported(tmp_path / "store", optimizers=names)
    drawn = chart("normalised", results).to_dict()
    svg = svg_of(chart("normalised", results))
    bands, lines = (svg.split(f'<g class="mark-{kind} role-mark')[1:] for kind in ("area", "line"))
    assert len(bands) == len({*names[:5]})
    assert len(lines) == len(names)
    kept = [one for one in drawn["layer"][0]["transform"] if "filter" in one]
    assert {"filter": {"field": "place", "lte": 5}} in kept
    _, _, caption = (sheets("normalised", results)[0].caption).partition("Bands")
    assert caption.startswith(" of the best 5 at the end: intervals of the mean, 95 % over trials")


def test_failures_are_drawn_with_their_numbers(results):
    svg = svg_of(chart("failures", results))
    total = int(tables.failures(results)["count"].sum())
    assert f">{total} error</text>" in svg


def test_a_cell_without_a_score_has_a_dash(tmp_path):
    table = pl.DataFrame({"optimizer": ["A", "B"], "problem": ["p", "p"], "score": [0.25, None]}).with_columns(
        lower=0.0, upper=1.0, n=3
    )
    svg = svg_of(finished(heat_map(table, Look(assign(["A", "B"])))))
    assert ">0.25</text>" in svg
    assert ">–</text>" in svg
    assert "null" not in svg
    assert "NaN" not in svg


def test_of_many_optimizers_the_best_point_of_each_is_drawn(tmp_path):
    few, many = (
        svg_of(
            chart("parallel", imported(tmp_path / str(n), optimizers=[f"O{i}" for i in range(n)], problems=("a/d2",)))
        )
        for n in (8, 9)
    )
    assert [svg.count('aria-roledescription="line mark container"') for svg in (few, many)] == [0, 0]  # quiet marks
    assert len(few.split('<g class="mark-line role-mark')) - 1 == 8 * 3
    assert len(many.split('<g class="mark-line role-mark')) - 1 == 9
    assert "the best point of every trial: one line per trial, one axis per parameter" in few
    assert "the best point of the best trial of each optimizer: one line per optimizer" in many


def test_a_legend_on_paper_tells_dashed_lines_from_whole_ones():
    names = [f"O{i}" for i in range(20)]
    many, few = (colour(Look(assign(some), paper=True))["legend"] for some in (names, names[:3]))
    assert many["symbolSize"] ** 0.5 > max(sum(dashes) for dashes in assign(names).dashes)
    assert "symbolSize" not in few


def test_panels_below_each_other_stand_flush(results):
    spec = chart("convergence", results).to_dict()
    axes = [layer["encoding"]["y"]["axis"] for panel in spec["concat"] for layer in panel["layer"]]
    assert {(axis["minExtent"], axis["maxExtent"]) for axis in axes} == {(38, 38)}


def test_optimizers_stand_in_ranked_order_in_figures_without_a_view(results):
    ranked = Material(results).ranking
    ends = tables.ends(results)
    mean = ends.with_columns(rank=pl.col("key").rank().over("problem")).group_by("optimizer").agg(pl.col("rank").mean())
    assert ranked == mean.sort("rank", "optimizer")["optimizer"].to_list()
    assert chart("progress", results).to_dict()["layer"][0]["encoding"]["x"]["sort"] == ranked
