"""The figures of the anytime view."""

from __future__ import annotations

from functools import partial

import polars as pl

from optarena._text import visible
from optarena.errors import OptarenaError
from optarena.report.figures._figure import Options, Shown, few
from optarena.report.material import Material
from optarena.views.anytime import Anytime
from optarena.views.anytime import figure_tables as tables

CURVES = 12
"""Instances whose curves are drawn on the page."""
STILL = "Of all instances: filters by problem do not change it."
NO_AREA = "no solution was found within a horizon longer than 0: there is no area score to draw"
NO_GAP = "no instance has a horizon longer than 0: there is no gap over effort to draw"


def _view(material: Material) -> Anytime:
    view: Anytime = material.must("anytime")
    return view


def _exact(material: Material) -> Anytime:
    view = _view(material)
    if view.original is not None:
        raise OptarenaError("mode aries has the figures boxes and objective only")
    return view


def curves(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import curve

    view = _exact(material)
    unit = view.frame["axis"]
    every = tables.solved(view)
    steps = tables.curves(view, few(every, "a solution", options, CURVES))
    names = steps["problem"].unique(maintain_order=True).to_list()
    left = f"Curves of {len(every) - len(names)} more instances: optarena figure curves --problem NAME."
    out = []
    for i, name in enumerate(names):
        mine = steps.filter(pl.col("problem") == name)
        worst, drawn = mine["worst"][0], mine["box_worst"][0]
        cut = "" if drawn == worst else f"cut: the worst first value is {worst:,.10g}"
        head = visible(name) + f" ({cut})" * bool(cut)
        out.append(
            Shown(
                f"curves {name}",
                mine.drop("place") if options.page else mine,
                partial(curve, effort=unit, title=None if options.page else head),
                f"Curves on {name}",
                "Steps: the best value so far of a typical trial (that of the median area score). Diamonds: its proof. "
                "Dotted: the bound that it reported; at the foot where it is far away. The area between a step and the "
                "best value of all is scored, as a part of the dashed box, with time as it is, not its logarithm."
                + (f" It is {cut}." if cut else ""),
                f"Step chart of the best value so far by {unit} on {name}, one line per optimizer.",
                head="best value so far of a typical trial; diamond: proof; dotted: reported bound; dashed: scored box",
                view=view,
                legend=steps,
                id=f"curves-{i}",
                problem=name,
                note=left if not i and len(every) > len(names) else "",
            )
        )
    return out


def area(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import area_map

    view = _exact(material)
    table = tables.cells(view)
    shown = Shown(
        "area",
        table,
        area_map,
        "Area score by instance",
        "0: the best value of all at once; 1: no solution, or the worst first value until the end.",
        "Heat map with one row per instance and one column per optimizer; the table below has its numbers.",
        empty="" if table.height or options.page else NO_AREA,
        view=view,
        by=("problem",),
        widest=90 * max(3, len(material.colours.names)) + 260,
    )
    return [shown]


def objective(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import objective_map

    view = _view(material)
    table = tables.objectives(view)
    shown = Shown(
        "objective",
        table,
        objective_map,
        "Objective score by instance",
        "Where runs ended: 0 is the best value of all, 1 the worst first value of all, or no solution.",
        "Heat map with one row per instance and one column per optimizer; the table below has its numbers.",
        empty="" if table.height or options.page else "no instance has an objective score to draw",
        view=view,
        by=("problem",),
        widest=90 * max(3, len(material.colours.names)) + 260,
    )
    return [shown]


def boxes(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import boxes

    view = _view(material)
    out = []
    for name, title in tables.boxed(view):
        table = tables.boxes(view, name)
        out.append(
            Shown(
                f"boxes-{name}",
                table,
                partial(boxes, score=title),
                f"All runs by {title}",
                f"Box: median and quartiles over all runs. Whiskers: 1.5 interquartile ranges. Dots: runs. {STILL}",
                f"Box plot of the {title}, one box per optimizer.",
                head="all runs: 0 is the best of all, 1 the worst; boxes: median and quartiles; dots: runs",
                view=view,
                empty="" if table.height else f"no run has an {title}",
            )
        )
    return out


def gap(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import gap

    view = _exact(material)
    table = tables.gaps(view)
    shown = Shown(
        "gaps",
        table,
        partial(gap, effort=tables.effort_of_gaps(view), floor=tables.floor_of_gaps(table)),
        "Gap over effort",
        f"Mean primal gap over instances by effort. {STILL}",
        "Line chart of the mean primal gap, one line per optimizer.",
        empty="" if table.height else NO_GAP,
        view=view,
        id="gap",
    )
    return [shown]


def cactus(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.anytime import cactus

    view = _exact(material)
    unsure = (view.table("bounds")["anchor_from"] == tables.STORE).sum()
    solved = "A proof, or the best value that is known" + ("; else the best of this store" if unsure else "") + "."
    counts = tables.cactus(view)
    proofs = tables.cactus(view, "proved")
    return [
        Shown(
            "cactus",
            counts,
            partial(cactus, effort=view.frame["axis"], what="instances solved"),
            "Instances solved",
            f"How many instances were solved by when. {solved} {STILL}",
            "Step chart of the number of instances solved, one line per optimizer.",
            head=f"left: solved ({solved[0].lower()}{solved[1:-1]}); right: proved" if proofs.height else "",
            view=view,
            empty="" if counts.height else "no instance was run by all optimizers: there is nothing to count",
        ),
        Shown(
            "cactus-proved",
            proofs,
            partial(cactus, effort=view.frame["axis"], what="instances proved"),
            "Instances proved",
            f"How many instances were proved optimal, infeasible or unbounded by when. {STILL}",
            "Step chart of the number of instances proved, one line per optimizer.",
            view=view,
            empty="" if proofs.height else "no run has a proof",
        ),
    ]
