"""Figures of fronts and the report's section: drawn for two, three and more objectives, whatever the names are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.report.figures import figure
from optarena.report.material import Material
from optarena.report.page import payload
from optarena.views.pareto import Pareto, attainment_difference
from optarena.views.pareto import figure_tables as fronts
from stores import CLOSING, IMAGE, SCRIPT, imported

PROBLEMS = {f"{CLOSING}/d2": 2, "plain/d2": 2, "three/d2": 3, "five/d2": 5}


def rows(problem, m, rng):
    parts = []
    for o, optimizer in enumerate(("RandomSearch", SCRIPT, IMAGE)):
        for trial in range(3):
            x = np.abs(rng.normal(size=(40, m)))
            y = x / np.linalg.norm(x, axis=1)[:, None] * (1 + rng.random((40, 1)) / (1 + 3 * o))
            values = {f"f.<b>{j}": y[:, j] for j in range(m)}
            keys = {"problem": problem, "optimizer": optimizer, "trial": trial, "sense.<b>1": "max"}
            parts.append(
                pl.DataFrame({**values, "f.<b>1": -y[:, 1]}).with_columns(pl.lit(v).alias(k) for k, v in keys.items())
            )
    return pl.concat(parts)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    path = tmp_path_factory.mktemp("fronts") / "store"
    rng = np.random.default_rng(1)
    for problem, m in PROBLEMS.items():
        oa.from_frame(rows(problem, m, rng), path)
    return oa.open(path)


@pytest.fixture(scope="module")
def material(results):
    return Material(results)


@pytest.mark.parametrize("name", Pareto.figures)
def test_every_figure_of_fronts_is_drawn_with_names_as_text(results, name, capsys):
    assert main(["figure", name, str(results.path), "-O", "fig.svg"]) == 0
    text = Path("fig.svg").read_text()
    assert "<svg" in text
    assert "<script" not in text
    assert "<img" not in text


def test_a_store_of_single_objectives_says_why_it_has_no_fronts(tmp_path):
    with pytest.raises(OptarenaError, match="one objective: see the fixed-cost"):
        figure("fronts", imported(tmp_path / "store"))


def test_the_typical_front_is_that_of_the_median_hypervolume(material):
    view = material.must("pareto")
    mine = view.table("studies").filter(pl.col("problem") == "plain/d2", pl.col("optimizer") == SCRIPT)
    trial = fronts.typical(view, "plain/d2")[SCRIPT]
    assert mine.filter(pl.col("trial") == trial)["hypervolume"][0] == mine["hypervolume"].median()


def test_fronts_of_two_and_three_objectives_have_a_panel_a_pair_and_the_reference_set_behind(material):
    view = material.must("pareto")
    table = fronts.fronts(view, fronts.problems(view, range(2, 4)))
    assert table["panel"].n_unique() == 1 + 1 + 3
    first = table.group_by("panel", maintain_order=True).agg(pl.col("kind").first())["kind"]
    assert set(first) == {"reference"}
    many = fronts.parallel(view, ["five/d2"])
    assert many["objective"].n_unique() == 5
    assert many["value"].min() >= 0


def test_a_map_of_differences_has_the_value_of_the_exact_rectangles_at_its_places(material):
    view = material.must("pareto")
    sides = [fronts._runs(view, "plain/d2", optimizer) for optimizer in (SCRIPT, IMAGE)]
    exact = attainment_difference(*sides)
    boxes = fronts._difference(*sides)
    assert len(boxes) > 5
    centres = (boxes[:, :2] + boxes[:, 2:4]) / 2
    for (x, y), box in zip(centres, boxes, strict=True):
        # a merged column is sampled at the centres of its cells
        step = (boxes[:, 2] - boxes[:, 0]).min()
        inside = (exact[:, 0] <= x) & (x < exact[:, 2])
        inside &= (exact[:, 1] <= max(y, box[1] + step / 4)) & (y < exact[:, 3] + 1e-9)
        assert box[4] in exact[inside, 4].round(12).tolist() or np.isclose(exact[inside, 4], box[4]).any()


def test_the_report_has_a_section_on_fronts_where_there_are_any(material, tmp_path):
    page = payload(material)
    (section,) = [one for one in page["sections"] if one["id"] == "pareto"]
    drawn = [block["id"] for block in section["blocks"] if block["kind"] == "figure"]
    assert drawn == ["hypervolume", "fronts", "fronts-parallel", "attainment", "attainment-difference", "indicators"]
    assert {"fronts-board", "references"} <= {block["id"] for block in section["blocks"]}
    alone = payload(Material(imported(tmp_path / "one")))
    assert "pareto" not in [one["id"] for one in alone["sections"] if one.get("blocks")]


def test_the_view_draws_itself_as_it_was_scored(results):
    view = results.pareto(axis="batches")
    assert view.figure("hypervolume").to_dict()
    assert view.figure().to_dict()


@pytest.fixture
def nowhere(tmp_path):
    """A store whose true fronts are known, and whose every point violates a constraint."""

    class Nowhere(oa.Problem):
        id = "nowhere"
        space = oa.Space({"a": {"type": "real", "space": "linear", "range": [0, 1]}})
        objectives = (oa.Objective("1"), oa.Objective("2"))
        constraints = 1
        known = oa.Known(front=((0.0, 1.0), (1.0, 0.0)))

        def evaluate(self, x):
            return oa.Evaluation([x["a"], 1 - x["a"]], [1.0])

    names = ["RandomSearch", "QuasiRandom"]
    return oa.Experiment(names, [Nowhere()], 5, trials=2).run(tmp_path / "store", workers=0)


def test_a_store_without_a_feasible_point_has_a_report_that_names_nobody_the_best(nowhere):
    (section,) = [one for one in payload(Material(nowhere))["sections"] if one["id"] == "pareto"]
    assert section["words"][0] == "No front has a hypervolume."
    drawn = [block["id"] for block in section["blocks"] if block["kind"] == "figure"]
    assert drawn == ["hypervolume", "indicators"]


@pytest.mark.parametrize("name", ["fronts", "attainment", "attainment-difference"])
def test_figures_of_fronts_say_that_there_is_none(nowhere, name):
    with pytest.raises(OptarenaError, match=r"no study found a feasible point|no problem has fronts"):
        figure(name, nowhere)


def test_parallel_coordinates_show_points_from_all_over_a_front(tmp_path):
    x = np.linspace(0.01, 1, 300)
    frame = pl.DataFrame({"f.a": x, "f.b": 1 - x, "f.c": x**2, "f.d": 1 - x**2}).with_columns(
        problem=pl.lit("many/d2"), optimizer=pl.lit("RandomSearch"), trial=pl.lit(0)
    )
    table = fronts.parallel(oa.from_frame(frame, tmp_path / "store").pareto(), ["many/d2"])
    assert table["point"].n_unique() == fronts.LINES
    ends = table.group_by("objective").agg(low=pl.col("value").min(), high=pl.col("value").max())
    assert ends["low"].to_list() == [0.0] * 4
    assert ends["high"].to_list() == [1.0] * 4


def far_away(tmp_path, **fronts_of):
    """Fronts of one trial each on a problem whose true front is known."""
    rows = [
        {"problem": "p", "optimizer": name, "f.1": float(x), "f.2": float(y), "front": "[[0.0, 1.0], [1.0, 0.0]]"}
        for name, points in fronts_of.items()
        for x, y in points
    ]
    return oa.from_frame(pl.DataFrame(rows), tmp_path / "store").pareto()


def test_fronts_that_are_all_far_but_for_a_point_are_drawn(tmp_path):
    view = far_away(tmp_path, A=[(0, 5), (0.5, 4), (1, 1.2)], B=[(0.1, 6), (0.9, 3.5)], C=[(0.2, 5.5)])
    table = fronts.fronts(view, ["p"]).filter(pl.col("kind") == "front")
    assert table.height == 6
    assert table["panel"].unique().to_list() == ["p: 2 ↓ by 1 ↓"]


def test_an_outlier_is_not_drawn_and_the_panel_says_so(tmp_path):
    view = far_away(tmp_path, A=[(0, 1.1), (1, 0.1)], B=[(0.1, 1.2), (1, 0.2)], C=[(900, 900)])
    table = fronts.fronts(view, ["p"])
    assert table["x"].max() == 1.0
    assert table["panel"].unique().to_list() == ["p: 2 ↓ by 1 ↓, 1 outside"]


def test_the_surface_of_a_single_point_goes_on_to_the_edges(tmp_path):
    view = far_away(tmp_path, A=[(0.2, 0.9)], B=[(0.5, 1.5)])
    table = fronts.attainment(view, ["p"]).filter(pl.col("optimizer") == "A", pl.col("level") == "best")
    assert table.select("x", "y").rows() == [(0.2, 1.5), (0.2, 0.9), (0.5, 0.9)]
    high, low = np.array([[0.2, 0.3], [0.8, 0.6]]), np.array([0.0, 1.0])
    x, y = fronts._corners(high, True, low)  # the first is maximised, the second minimised
    assert list(zip(x, y, strict=True)) == [(0.0, 0.3), (0.2, 0.3), (0.2, 0.6), (0.8, 0.6), (0.8, 1.0)]
