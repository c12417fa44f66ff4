"""The leaderboard of the pareto view: hypervolume, with other indicators beside it."""

from __future__ import annotations

import polars as pl

from optarena._numbers import significant
from optarena.comparison.answer import SCALES
from optarena.report.boards._board import FAILED, Board, Paper, ranked, score_columns, with_failed
from optarena.report.tables import Column
from optarena.views.pareto import Pareto

BESIDE = ("igd_plus", "additive_epsilon", "non_dominated", "igd", "gd", "r2", "spread", "generalised_spread")
ALL_FLAT = "no front has any: ranked by IGD+"
WHAT = "hypervolume as a part of the reference set's"


def board(view: Pareto) -> Board:
    two = "spread" if view.two_objectives else "generalised_spread"
    kind = "Deb's spread" if view.two_objectives else "generalised spread"
    spread = "spread" if view.two_objectives else "gen. spread"
    main, other = ("", "latex page") if view.all_flat else ("latex page", "latex page")
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        *score_columns(view, SCALES[view.name]),
        Column(
            "hypervolume", "number", 4, "as a part of the reference set's; more is better",
            field="mean", better="higher", bold=main, never=0.0,
        ),
        Column(
            "95 % interval", "interval", 4, f"{view.frame['intervals']}, of the hypervolume",
            field=("mean_lb", "mean_ub"), minor=True,
        ),
        FAILED[0],
        Column(
            spread, "number", 3, f"{kind}: 0 where gaps are equal; says nothing of nearness",
            field=two, better="lower", bold=other,
        ),
        Column(
            "IGD", "number", None, "mean distance of the reference set to the front; less is better",
            field="igd", show=significant, better="lower", bold=other,
        ),
        Column(
            "IGD+", "number", None, "mean distance that is missing to the reference set; less is better",
            field="igd_plus", show=significant, better="lower", bold=other,
        ),
        Column(
            "epsilon", "number", None, "the most that is missing to a point of the reference set",
            field="additive_epsilon", show=significant, better="lower", bold=other, minor=True,
        ),
        Column(
            "GD", "number", None, "mean distance of the front to the reference set",
            field="gd", show=significant, better="lower", on="latex page", bold=other,
        ),
        Column(
            "R2", "number", None, "two objectives",
            field="r2", show=significant, better="lower", on="page", bold="page",
        ),
        Column(
            "points", "number", None, "non-dominated points at the end",
            field="non_dominated", show=significant, on="text page", minor=True,
        ),
        Column(
            "mean normed", "number", 2, "hypervolume lost to the reference set; 1 is random search's loss",
            field="mean_normed", better="lower", bold=main, minor=True,
        ),
        Column(
            "best on", "of", None, "problems with the largest mean hypervolume (the least IGD+ if all are 0)",
            field=("best_on", "n"), better="higher", minor=True,
        ),
        FAILED[1],
    ]  # fmt: skip
    beside = view.summary.filter(pl.col("indicator").is_in(BESIDE))
    wide = beside.pivot("indicator", index="optimizer", values="mean")
    table = view.leaderboard().join(wide, on="optimizer", how="left", maintain_order="left")
    return Board(columns, with_failed(view, ranked(view, table).rows(named=True)))


def _part_flat(view: Pareto) -> list[str]:
    """What is said where some problems, not all, are without any hypervolume (docs/scores.md 3.5)."""
    flat = view.flat_problems
    if not flat or view.all_flat:
        return []
    many = f"{flat[0]} and {len(flat) - 1} more" if len(flat) > 1 else flat[0]
    return [f"no front has any hypervolume on {many}: it counts 0 there, and IGD+ says who is best on it"]


def text(view: Pareto, width: int | None = None) -> str:
    """The leaderboard by hypervolume, spread and IGD beside it."""
    first = f"pareto: fronts at the end; {WHAT}, mean over problems{'; ' * view.all_flat}{ALL_FLAT * view.all_flat}"
    second = "mean normed: what is lost to the reference set, 1 is random search's loss"
    return "\n".join([first, second, *_part_flat(view), board(view).text(width), ""])


def papers(view: Pareto) -> list[Paper]:
    note = f"fronts at the end: means over problems; {WHAT}"
    return [Paper.of(view, board(view), "; ".join([note, *([ALL_FLAT] if view.all_flat else _part_flat(view))]))]
