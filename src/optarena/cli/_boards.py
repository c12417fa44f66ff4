"""Views as text: what `optarena score` prints as a table or as LaTeX, one function a view."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena.cli._text import clean, counted, table
from optarena.report.latex import latex_table
from optarena.views._view import View
from optarena.views.fixed_cost import FixedCost
from optarena.views.fixed_target import FixedTarget

SHOWN = 5


FIRST = {"fixed-cost": "summary", "fixed-target": "ert"}
"""The table of each view that `--format csv` prints by default."""


def text(scored: View) -> str:
    """A view for the terminal: its tables, then what a reader should know."""
    if isinstance(scored, FixedCost):
        parts = [f"{title(scored, name)}\n{board(scored, name)}\n" for name in scored.metrics]
        return "\n".join([*parts, footnotes(scored)])
    assert isinstance(scored, FixedTarget)
    return "\n".join([runtimes(scored), "", footnotes(scored)])


def latex(scored: View) -> str:
    """A view for a paper."""
    if isinstance(scored, FixedCost):
        return "\n".join(_latex_board(scored, name) for name in scored.metrics)
    assert isinstance(scored, FixedTarget)
    return _latex_runtimes(scored)


def title(scored: FixedCost, metric: str) -> str:
    """What a table shows, in a line."""
    last = scored.leaderboard(metric)
    end = f"{last['effort'][0]:g} {_units(scored)}" if last.height else "nothing"
    what = "" if metric == "value" else f" · {clean(metric)}, hidden from the optimizers"
    return f"fixed cost after {end}, normalised (0 best known, 1 random search), mean over problems{what}"


def _units(scored: FixedCost) -> str:
    if scored.frame["axis"] != "batches" or scored.frame["batch"] is None:
        return str(scored.frame["axis"])
    return "evaluations" if scored.frame["batch"] == 1 else f"batches of {scored.frame['batch']} evaluations"


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
    else:
        source = f"{frame['runs']:,} runs, optimum {frame['optimum']}"
    state = ", provisional: a run goes on" if frame["provisional"] else ""
    lines.append(f"frame {frame['hash'][:12]} ({source}, {frame['intervals']}{state}), mode {scored.mode}")
    return "\n".join(lines)


def _fixed(value: float | None, digits: int) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _latex_board(scored: FixedCost, metric: str) -> str:
    rows = scored.leaderboard(metric).rows(named=True)
    cells = [
        [
            row["optimizer"],
            row["score"],
            row["mean_normed"],
            (row["mean_normed_lb"], row["mean_normed_ub"]),
            row["median"],
            row["best_on"],
        ]
        for row in rows
    ]
    best = {0, *(i for i, row in enumerate(rows) if row["mean"] == rows[0]["mean"])} if rows else set()
    headers = ["optimizer", "score", "mean normed", "95% interval", "median normed", "best on"]
    return latex_table(
        headers,
        cells,
        bold={(i, 1) for i in best},
        comment=[title(scored, metric), f"frame {scored.frame['hash']}, mode {scored.mode}"],
    )


# ---- fixed target ----------------------------------------------------------------------------------------------------

MOST_TARGETS = 7


def _columns(scored: FixedTarget) -> list[float]:
    """The targets to show: all, or some of many; by rank, as problems may have their own."""
    ranks = range(scored.ert.group_by("optimizer", "suite", "function", "dimension").len()["len"].max() or 0)  # type: ignore[arg-type]
    if len(ranks) <= MOST_TARGETS:
        return list(ranks)
    return [round(i * (len(ranks) - 1) / (MOST_TARGETS - 1)) for i in range(MOST_TARGETS)]


def _ranked(scored: FixedTarget) -> pl.DataFrame:
    keys = ["optimizer", "suite", "function", "dimension"]
    return scored.ert.with_columns(rank=pl.int_range(pl.len()).over(keys))


def runtimes(scored: FixedTarget) -> str:
    """The ERT of each optimizer on each function and dimension, with its successes, target by target."""
    shown = _columns(scored)
    rows = _ranked(scored).filter(pl.col("rank").is_in(shown))
    unit = scored.frame["axis"]
    lines = [f"fixed target: expected {unit} to reach a precision (successes of runs), mode {scored.mode}"]
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


def _latex_runtimes(scored: FixedTarget) -> str:
    shown = _columns(scored)
    rows = _ranked(scored).filter(pl.col("rank").is_in(shown))
    cells: list[list[Any]] = []
    bold = set()
    best = {
        (row["suite"], row["function"], row["dimension"], row["rank"]): row["ert"]
        for row in rows.group_by("suite", "function", "dimension", "rank").agg(pl.col("ert").min()).to_dicts()
    }
    keys = ["suite", "function", "dimension", "optimizer"]
    for (suite, function, dimension, optimizer), mine in rows.group_by(keys, maintain_order=True):
        by_rank = {row["rank"]: row["ert"] for row in mine.to_dicts()}
        for j, rank in enumerate(shown):
            if rank in by_rank and by_rank[rank] == best[suite, function, dimension, rank] < float("inf"):
                bold.add((len(cells), j + 3))
        cells.append([function, dimension, optimizer, *(by_rank.get(rank) for rank in shown)])
    targets = rows.group_by("rank").agg(pl.col("target").unique()).sort("rank")["target"].to_list()
    heads = [f"{cell[0]:.3g}" if len(cell) == 1 else f"target {i + 1}" for i, cell in enumerate(targets)]
    note = [f"expected {scored.frame['axis']} to a precision", f"frame {scored.frame['hash']}, mode {scored.mode}"]
    return latex_table(["function", "D", "optimizer", *heads], cells, bold=bold, comment=note)
