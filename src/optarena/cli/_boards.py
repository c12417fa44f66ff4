"""Views as text: what `optarena score` prints as a table, one function a view."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.cli._text import clean, counted, table
from optarena.report.papers import board_of_fronts, ranked, shown_targets, title
from optarena.views._view import View
from optarena.views.anytime import Anytime
from optarena.views.fixed_cost import FixedCost
from optarena.views.fixed_target import FixedTarget
from optarena.views.pareto import Pareto

SHOWN = 5


FIRST = {"fixed-cost": "summary", "fixed-target": "ert", "pareto": "summary", "anytime": "summary"}
"""The table of each view that `--format csv` prints by default."""


def text(scored: View) -> str:
    """A view for the terminal: its tables, then what a reader should know."""
    if isinstance(scored, FixedCost):
        parts = [f"{clean(title(scored, name))}\n{board(scored, name)}\n" for name in scored.metrics]
        return "\n".join([*parts, footnotes(scored)])
    if isinstance(scored, Pareto):
        return "\n".join([fronts(scored), "", footnotes(scored)])
    if isinstance(scored, Anytime):
        return "\n".join([solving(scored), "", footnotes(scored)])
    assert isinstance(scored, FixedTarget)
    return "\n".join([runtimes(scored), "", footnotes(scored)])


def board(scored: FixedCost, metric: str) -> str:
    """The leaderboard, lined up."""
    rows = [
        [
            row["optimizer"],
            _fixed(row["score"], 1),
            _fixed(row["mean_normed"], 2),
            f"[{_fixed(row['mean_normed_lb'], 2)}, {_fixed(row['mean_normed_ub'], 2)}]",
            _fixed(row["median"], 2),
            f"{row['best_on']} of {row['n']}",
        ]
        for row in scored.leaderboard(metric).iter_rows(named=True)
    ]
    headers = ["optimizer", "score", "mean normed", "95 % interval", "median normed", "best on"]
    return table(headers, rows, right=headers[1:])


def footnotes(scored: View) -> str:
    """What a reader should know, what was left out, and the frame."""
    lines = [f"note: {clean(note)}" for note in scored.notes[:SHOWN]]
    if len(scored.notes) > SHOWN:
        lines.append(f"note: … and {len(scored.notes) - SHOWN} more (--format json has all)")
    reasons: dict[str, list[dict[str, Any]]] = {}
    for item in scored.excluded:
        reasons.setdefault(item["reason"], []).append(item)
    for reason, items in list(reasons.items())[:SHOWN]:
        noun = "study" if items[0]["trial"] is not None else "problem"
        first = " ".join(clean(items[0][key]) for key in ("optimizer", "problem") if items[0][key])
        more = f" and {len(items) - 1} more" if len(items) > 1 else ""
        lines.append(f"excluded: {counted(len(items), noun)}: {clean(reason)} ({first}{more})")
    frame = scored.frame
    if "random_evaluations" in frame:
        count = frame["random_evaluations"]
        source = f"{count:,} random evaluations" if count else frame["source"]
    elif "optimum" in frame:
        source = f"{frame['runs']:,} runs, optimum {frame['optimum']}"
    elif isinstance(scored, Pareto):
        source = f"{frame['runs']:,} fronts, {counted(len(frame['problems']), 'reference set')}"
    else:
        source = f"{frame['runs']:,} runs, {frame['horizon']}"
    state = ", provisional: a run is in progress" if frame["provisional"] else ""
    lines.append(f"frame {frame['hash'][:12]} ({source}, {frame['intervals']}{state}), mode {scored.mode}")
    return "\n".join(lines)


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


# ---- fixed target ----------------------------------------------------------------------------------------------------


def runtimes(scored: FixedTarget) -> str:
    """The ERT of each optimizer on each function and dimension, with its successes, target by target."""
    shown = shown_targets(scored)
    rows = ranked(scored).filter(pl.col("rank").is_in(shown))
    unit = scored.frame["axis"]
    lines = [f"fixed target: expected {unit} to reach a precision (successes of runs), mode {scored.mode}"]
    if "pareto" in scored.frame:  # fronts: precisions are of an indicator
        lines.append(scored.frame["precision"])
    for (suite, dimension), part in rows.group_by(["suite", "dimension"], maintain_order=True):
        targets = part.group_by("rank", maintain_order=True).agg(pl.col("target").unique()).sort("rank")
        heads = [f"{cell[0]:.3g}" if len(cell) == 1 else f"target {rank + 1}" for rank, cell in targets.rows()]
        cells = []
        for (function, optimizer), mine in part.group_by(["function", "optimizer"], maintain_order=True):
            by_rank = {row["rank"]: row for row in mine.to_dicts()}
            cells.append([function, optimizer, *(_hit(by_rank.get(rank)) for rank in targets["rank"])])
        where = " · ".join(str(name) for name in (suite or "", f"{dimension}-D" if dimension else "") if name)
        lines += [f"\n{clean(where)}", table(["function", "optimizer", *heads], cells, right=heads)]
    return "\n".join(lines)


def _hit(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if not row["n_success"]:
        return f"– (0/{row['n_runs']})"
    return f"{row['ert']:.4g} ({row['n_success']}/{row['n_runs']})"


# ---- anytime ---------------------------------------------------------------------------------------------------------

MOST_INSTANCES = 30


def solving(scored: Anytime) -> str:
    """The summary of each configuration, then its area score on each instance."""
    unit = scored.frame["axis"]
    rows = [
        [
            row["configuration"],
            _fixed(row["area_score"], 3),
            f"[{_fixed(row['area_score_lb'], 3)}, {_fixed(row['area_score_ub'], 3)}]",
            _fixed(row["objective_score"], 3),
            f"[{_fixed(row['objective_score_lb'], 3)}, {_fixed(row['objective_score_ub'], 3)}]",
            _fixed(row["primal_gap"], 4),
            f"{row['solved']:g} of {row['instances']}",
            f"{row['proved']:g}",
            _figures(row["par10"]),
            _fixed(row["borda"], 2),
        ]
        for row in scored.summary.iter_rows(named=True)
    ]
    headers = [
        *("configuration", "area", "95 % interval", "objective", "95 % interval", "gap", "solved", "proved"),
        *("PAR10", "Borda"),
    ]
    lines = [
        f"anytime by {unit}, {scored.frame['horizon']}: means over instances (0 best, 1 worst of all)",
        table(headers, rows, right=headers[1:]),
    ]
    names = scored.summary["configuration"].to_list()
    instances = scored.instance["problem"].unique(maintain_order=True).to_list()
    by_cell = {(row["problem"], row["configuration"]): row for row in scored.instance.iter_rows(named=True)}
    cells = [
        [problem, *(_area(by_cell.get((problem, name))) for name in names)] for problem in instances[:MOST_INSTANCES]
    ]
    lines += ["", "area score by instance", table(["instance", *names], cells, right=names)]
    if len(instances) > MOST_INSTANCES:
        lines.append(f"… and {len(instances) - MOST_INSTANCES} more (--format json has all)")
    return "\n".join(lines)


def _area(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    return "unsolved" if row["unsolved"] == row["trials"] else _fixed(row["area_score"], 3)


def _figures(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"


# ---- pareto ----------------------------------------------------------------------------------------------------------


def fronts(scored: Pareto) -> str:
    """The leaderboard by hypervolume, IGD+ beside it."""
    rows = [
        [
            row["optimizer"],
            _fixed(row["mean"], 4),
            f"[{_fixed(row['mean_lb'], 4)}, {_fixed(row['mean_ub'], 4)}]",
            _short(row["igd_plus"]),
            _short(row["additive_epsilon"]),
            _short(row["non_dominated"]),
            _fixed(row["mean_normed"], 2),
            f"{row['best_on']} of {row['n']}",
        ]
        for row in board_of_fronts(scored).iter_rows(named=True)
    ]
    headers = ["optimizer", "hypervolume", "95 % interval", "IGD+", "epsilon", "points", "mean normed", "best on"]
    first = "pareto: fronts at the end; hypervolume as a part of the reference set's, mean over problems"
    second = "mean normed: what is lost to the reference set, 1 is random search's loss"
    return "\n".join([first, second, table(headers, rows, right=headers[1:])])


def _short(value: float | None) -> str:
    return "–" if value is None else f"{value:.4g}"
