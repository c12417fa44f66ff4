"""Figures of fronts: directions on axes, outliers, three objectives two by two, and fronts without any hypervolume."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.views.pareto import figure_tables as tables

KNOWN = {"ideal.cost": 0.0, "ideal.gain": 1.0, "nadir.cost": 1.0, "nadir.gain": 0.0, "sense.gain": "max"}


def view(tmp_path, fronts, known=KNOWN):
    """{optimizer: front}, cost is minimised and gain maximised; two trials each."""
    rows = [
        {"problem": "p", "optimizer": name, "trial": t, "f.cost": float(a), "f.gain": float(b), **known}
        for name, front in fronts.items()
        for t in range(2)
        for a, b in front
    ]
    return oa.from_frame(pl.DataFrame(rows, infer_schema_length=None), tmp_path / "s").pareto()


GOOD = [(0.0, 0.2), (0.5, 0.6), (0.9, 1.0)]


def test_axes_and_panels_say_which_direction_is_better(tmp_path):
    made = view(tmp_path, {"A": GOOD, "B": GOOD})
    assert tables.axis_titles(made, ["p"]) == ("cost (less is better)", "gain (more is better)")
    assert tables.fronts(made, ["p"])["panel"].unique().to_list() == ["p: gain ↑ by cost ↓"]
    titles = str(made.figure("fronts").to_dict())
    assert "cost (less is better)" in titles


def test_an_outlier_does_not_hide_the_front(tmp_path):
    made = view(tmp_path, {"A": GOOD, "B": [(0.2, 0.3), (1e9, 1.2)]})
    drawn = tables.fronts(made, ["p"]).filter(pl.col("kind") == "front")
    assert drawn["x"].max() <= 2.0
    assert drawn.filter(pl.col("optimizer") == "A").height == 3
    assert tables.attainment(made, ["p"])["x"].max() <= 2.0


def test_where_nobody_has_a_hypervolume_nobody_is_painted_best_and_igd_plus_names_the_pair(tmp_path):
    made = view(tmp_path, {"A": [(5.0, -4.0)], "B": [(3.0, -2.0)], "C": [(2.0, -1.0)]})
    assert made.flat_problems == ["p"]
    cells = tables.indicators(made)
    assert cells.filter(pl.col("panel") == "hypervolume")["part"].drop_nulls().is_empty()
    assert cells.filter(pl.col("panel") == "IGD+", pl.col("part") == 0)["optimizer"].to_list() == ["C"]
    assert tables.attainment_differences(made, ["p"])["panel"].unique().to_list() == ["p: C − B"]


def test_both_spreads_are_among_the_indicators(tmp_path):
    panels = tables.indicators(view(tmp_path, {"A": GOOD, "B": GOOD[:2]}))["panel"].unique().to_list()
    assert {"spread (two objectives)", "generalised spread"} <= set(panels)


def test_bands_stay_within_what_is_possible(tmp_path):
    made = view(tmp_path, {"A": GOOD, "B": [(0.9, 0.1)]})
    table = tables.hypervolume(made, ["p"])
    most = max(1.0, table["value"].max())
    assert table["lower"].drop_nulls().min() >= 0
    assert table["upper"].drop_nulls().max() <= most


def test_three_objectives_are_drawn_two_by_two_whatever_the_third_is(tmp_path):
    points = [(0.0, 1.0, 0.5), (1.0, 0.0, 0.5), (0.6, 0.6, 0.0)]
    rows = [{"problem": "p", "optimizer": "A", "trial": 0, "f.1": a, "f.2": b, "f.3": c} for a, b, c in points]
    made = oa.from_frame(pl.DataFrame(rows), tmp_path / "s").pareto()
    table = tables.attainment(made, ["p"])
    assert table["panel"].unique().sort().to_list() == ["p: 2 ↓ by 1 ↓", "p: 3 ↓ by 1 ↓", "p: 3 ↓ by 2 ↓"]
    line = table.filter(pl.col("panel") == "p: 2 ↓ by 1 ↓", pl.col("level") == "best").select("x", "y").to_numpy()
    assert {tuple(map(float, row)) for row in np.round(line, 6)} >= {(0.0, 1.0), (0.6, 0.6), (1.0, 0.0)}


@pytest.mark.parametrize("name", ["fronts", "attainment", "attainment-difference", "indicators", "hypervolume"])
def test_captions_say_where_igd_plus_ranks(name, tmp_path):
    made = view(tmp_path, {"A": [(5.0, -4.0), (4.5, -4.5)], "B": [(3.0, -2.0)]})
    assert made.figure(name).to_dict()
