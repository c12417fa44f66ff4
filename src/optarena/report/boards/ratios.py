"""COCO's tables for papers: ERTs divided by those of the reference, one table per suite and dimension.

>>> for table in ratio_tables(view):                            # doctest: +SKIP
...     print(table.latex(), table.caption.latex)

See docs/scores.md 2.15.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import polars as pl

from optarena._numbers import compact, in_math
from optarena._text import visible
from optarena.report.boards._board import Board, Paper
from optarena.report.cells import Cell, written
from optarena.report.latex import escaped
from optarena.report.tables import Column
from optarena.views.fixed_target import FixedTarget, figure_tables
from optarena.views.fixed_target.groups import name_of
from optarena.views.fixed_target.reference import BEST_2009

MOST_TARGETS = 7
EVALUATIONS = 1e5
"""From here on evaluations are written with an exponent."""
POWERS = tuple(round(math.log10(target)) for target in figure_tables.SHOWN)
INFINITE, STAR, DAGGER = Cell("∞", r"$\infty$", "∞"), Cell("★", r"$\star$", "★"), Cell("†", r"$\dagger$", "†")
STAR_K, TENS = Cell("★k", r"$\star k$", "★k"), Cell("10^-k", r"$10^{-k}$", "10<sup>−k</sup>")
AT_MOST, UP = Cell("≤", r"$\le$", "≤"), Cell("↑n", r"$\uparrow n$", "↑n")
PRECISION, NOTHING = Cell("f - f_opt", r"$f - f_\mathrm{opt}$", "f − f<sub>opt</sub>"), Cell("", "", "")


@dataclass(frozen=True)
class RatioTable(Paper):
    """A table of one suite in one dimension. `functions`: those that it has, in order."""

    suite: str | None
    dimension: int | None
    functions: Sequence[str]


def ratio_tables(view: FixedTarget, most_rows: int | None = None) -> list[RatioTable]:
    """One table per suite and dimension, functions in order; several where they would have more than `most_rows`."""
    table = _shown(view.table("ratios"))
    tables = []
    keys = ["suite", "dimension", "heads"]
    for (suite, dimension, _), part in table.group_by(keys, maintain_order=True):
        functions = part["function"].unique(maintain_order=True).to_list()
        rows = part["optimizer"].n_unique() + 1
        each = len(functions) if most_rows is None else max(1, most_rows // rows)
        each = math.ceil(len(functions) / math.ceil(len(functions) / each))  # tables of about the same length
        for low in range(0, len(functions), each):
            some = functions[low : low + each]
            mine = part.filter(pl.col("function").is_in(some))
            tables.append(_table(view, mine, suite, dimension, some, part["function"].n_unique()))
    return tables


def _shown(table: pl.DataFrame) -> pl.DataFrame:
    """The rows of the targets that a table has room for, with their `place`, and the `heads` of their problem."""
    keys, label = ["suite", "function", "dimension"], "k" if "k" in table.columns else "target"
    problems = table.group_by(*keys, maintain_order=True).agg(pl.col(label).unique(maintain_order=True))
    few = {given: _few(given) for given in map(tuple, problems[label])}
    kept = problems.with_columns(
        pl.Series(label, [few[tuple(given)] for given in problems[label]], dtype=pl.List(pl.Float64)),
        heads=pl.Series([",".join(f"{value:.6g}" for value in few[tuple(given)]) for given in problems[label]]),
    )
    kept = kept.explode(label).with_columns(place=pl.int_range(pl.len()).over(keys))
    return table.join(kept, on=[*keys, label], nulls_equal=True, maintain_order="left")


def _few(given: Sequence[float]) -> list[float]:
    """All of few targets; of many, the powers of ten that COCO's tables have, or as many at equal distances."""
    if len(given) <= MOST_TARGETS:
        return list(given)
    tens = [value for value in given if _power(value) is not None]
    if len(tens) > MOST_TARGETS:
        usual = [value for value in tens if _power(value) in POWERS]
        tens = usual if _power(usual[-1]) == POWERS[-1] else [*usual, tens[-1]]  # bbob-constrained ends at 1e-6
    if 2 < len(tens) <= MOST_TARGETS:
        return tens
    return [given[round(i * (len(given) - 1) / (MOST_TARGETS - 1))] for i in range(MOST_TARGETS)]


def _power(value: float) -> int | None:
    """k, where the value is 10^k."""
    power = math.log10(value) if value > 0 else 0.5
    return round(power) if abs(power - round(power)) < 1e-6 else None


def _table(
    view: FixedTarget, part: pl.DataFrame, suite: str | None, dimension: int | None, functions: list[str], tests: int
) -> RatioTable:
    lengths = "k" in part.columns
    first = part.filter(pl.col("function") == functions[0], pl.col("optimizer") == part["optimizer"][0])
    heads = [_head(value) for value in first["k" if lengths else "target"]]
    mixed = part["reference"].n_unique() > 1
    rows: list[dict[str, Any]] = []
    groups: list[str] = []
    for function in functions:
        mine = part.filter(pl.col("function") == function)
        made = [_reference_row(suite, function, mine, lengths, mixed)]
        for (optimizer,), cells in mine.group_by(["optimizer"], maintain_order=True):
            row: dict[str, Any] = {"label": written(str(optimizer))}
            for cell in cells.iter_rows(named=True):
                row[f"target {cell['place']}"] = _ratio(cell, last=cell["place"] == len(heads) - 1)
            wins, runs = cells["final_success"][0], cells["n_runs"][0]
            row["successes"] = _pair(str(wins), f"/{runs}")
            made.append(row)
        rows += made
        groups += [function] * len(made)
    corner = "evaluations / D" if lengths else "target"
    columns = [
        Column(corner, "cell", field="label"),
        *(
            Column(head.text, "pair", field=f"target {i}", head=head, help=f"ERT by that of the reference to {head}")
            for i, head in enumerate(heads)
        ),
        Column("#succ", "pair", field="successes", help="runs that reached the hardest target, of all"),
    ]
    found = Board(columns, rows, groups, ruled=True)
    caption = _caption(view, part, suite, dimension, functions, tests)
    return RatioTable(found, caption, f"frame {view.frame['hash']}, mode {view.mode}", suite, dimension, functions)


def _head(value: float) -> Cell:
    """A target, as a power of ten where it is one."""
    k = _power(value)
    if k is None or abs(k) < 2:
        return Cell(f"{value:.3g}", f"${in_math(value)}$", f"{value:.3g}".replace("-", "−"))
    return Cell(f"1e{k}", f"$10^{{{k}}}$", f"10<sup>{k}</sup>".replace("-", "−"))


# ---- cells -----------------------------------------------------------------------------------------------------------


def _pair(left: str, right: str) -> Cell:
    """A number and what follows it."""
    return Cell(f"{left}{right}", f"{_tex(left)} & {_tex(right)}", escape(f"{left}{right}"))


def _tex(number: str) -> str:
    return number.replace("-", "$-$").replace("∞", r"$\infty$")


def _reference_row(suite: str | None, function: str, mine: pl.DataFrame, lengths: bool, mixed: bool) -> dict[str, Any]:
    """The line of a function: the reference's own ERTs; of run lengths with their targets."""
    name = name_of(suite, function) or ""
    wins, runs = mine.select("reference_success", "reference_runs").row(0)
    row: dict[str, Any] = {
        "label": Cell(
            f"{function} {name}".rstrip(),
            rf"\textbf{{{escaped(function)}}} {escaped(name)}".rstrip(),
            f"<b>{escape(visible(function))}</b> {escape(name)}".rstrip(),
        ),
        "successes": _pair("", "") if runs is None else _pair(str(wins), f"/{runs}"),
    }
    columns = mine.select("place", "target", "reference_ert", "reference").unique(subset="place")
    for place, target, ert, reference in columns.iter_rows():
        number = compact(ert, EVALUATIONS)
        mark = DAGGER if mixed and reference != BEST_2009 else NOTHING
        if not lengths:
            row[f"target {place}"] = Cell(
                f"{number}{mark.text}", f"{_tex(number)} & {mark.latex}", f"{number}{mark.html}"
            )
            continue
        at = compact(target)
        row[f"target {place}"] = Cell(
            f"{at}:{number}", rf"\textit{{{_tex(at)}}}: & {_tex(number)}", f"<i>{at}</i>:{number}"
        )
    return row


def _ratio(cell: Mapping[str, Any], last: bool) -> Cell:
    """A ratio with its dispersion, in bold where it is the best, with its star; where no run succeeded, the budget."""
    plain = cell["ratio"] is None  # the reference never reaches it: the ERT itself
    number = compact(cell["ert"], EVALUATIONS) if plain else compact(cell["ratio"])
    spread = cell["dispersion"]
    if plain and math.isfinite(cell["p90"]):
        spread = (cell["p90"] - cell["p10"]) / 2
    around = "" if spread is None else f"({compact(spread, EVALUATIONS if plain else 1e4)})"
    latex, html = _tex(number), number
    if cell["best"]:
        latex, html = rf"\textbf{{{latex}}}", f"<b>{html}</b>"
    after = Cell(around, _tex(around), f"<small>{around}</small>" if around else "")
    if not cell["n_success"] and last:
        budget = compact(cell["budget"], EVALUATIONS)
        after = Cell(f" {budget}", rf"\,\textit{{{_tex(budget)}}}", f" <i>{budget}</i>")
    star = "" if not cell["stars"] else "★" if cell["stars"] == 1 else f"★{cell['stars']}"
    up = "" if cell["n_worse"] is None else f"↑{int(cell['n_worse'] + 0.5)}"
    signs = (star + up).replace("★", r"\star ").replace("↑", r"\uparrow ")
    title = f"ERT {compact(cell['ert'], EVALUATIONS)}, {cell['n_success']} of {cell['n_runs']} runs"
    return Cell(
        f"{number}{after.text}{star}{up}",
        f"{latex} & {after.latex}" + (f"$^{{{signs.strip()}}}$" if signs else ""),
        f'<span title="{title}">{html}{after.html}' + (f"<sup>{star}{up}</sup>" if signs else "") + "</span>",
    )


# ---- captions --------------------------------------------------------------------------------------------------------


def _caption(
    view: FixedTarget, part: pl.DataFrame, suite: str | None, dimension: int | None, functions: list[str], tests: int
) -> Cell:
    """What the table shows, and what every sign in it means."""
    axis, runs = view.frame["axis"], sorted(set(part["n_runs"]))
    lengths, several = "k" in part.columns, part["optimizer"].n_unique() > 1
    where = [suite or "", f"dimension {dimension}" if dimension else "", _named(functions)]
    before, precision, after = figure_tables.word(view).partition("f − f_opt")
    reached: list[str | Cell] = [f"each {before}", *([PRECISION] if precision else []), after]
    if lengths:
        reached = ["the target that best 2009 reaches within so many evaluations per dimension, in italics,"]
    count = runs[0] if len(runs) == 1 else f"{runs[0]} to {runs[-1]}"
    said: list[str | Cell] = [
        f"{', '.join(filter(None, where))}: expected running time (ERT, in {axis}) to reach ",
        *reached,
        " divided by ",
        *_of_reference(part),
        ", which is in the line of each function. ",
        f"{count} run{'s' * (runs != [1])} per optimizer and function. ",
        "In parentheses: half the difference between the 90th and the 10th percentile of runtimes with simulated ",
        "restarts, divided by the same ERT. ",
    ]
    if (part["reference_ert"].is_infinite() & part["ert"].is_finite()).any():
        said.append("Where the reference is infinite, nothing is divided. ")
    if (part["n_success"] == 0).any():
        said += [
            INFINITE,
            f": no run reached the target; the last target has the median {axis} of the runs in italics. ",
        ]
    if several:
        said += [
            "Bold: the least ERT. ",
            STAR,
            ": better than every other optimizer by COCO's rank-sum test, p < 0.05, ",
        ]
        said += ["or p ", AT_MOST, " ", TENS, " for ", STAR_K]
        said.append(f", after Bonferroni correction for {tests} function{'s' * (tests != 1)}. ")
    if part["n_worse"].is_not_null().any():
        said += [UP, ": the ERT is less than that of best 2009, and n runs were not faster than that. "]
    finals = part["final_target"].unique().to_list()
    said += ["#succ: runs that reached ", "the last target" if len(finals) > 1 else _head(finals[0]), ", of all."]
    pieces = [written(piece) if isinstance(piece, str) else piece for piece in said]
    return Cell(*("".join(getattr(piece, medium) for piece in pieces) for medium in ("text", "latex", "html")))


def _named(functions: Sequence[str]) -> str:
    return f"function {functions[0]}" if len(functions) == 1 else f"functions {functions[0]} to {functions[-1]}"


def _of_reference(part: pl.DataFrame) -> list[str | Cell]:
    """Whose ERT the others are divided by."""
    known = "that of best 2009 (for each target the best algorithm of the BBOB-2009 workshop)"
    names = set(part["reference"])
    if names == {BEST_2009}:
        return [known]
    best = "the least of all optimizers of the store"
    return [best] if BEST_2009 not in names else [f"{known} or, where it is not known (", DAGGER, f"), by {best}"]
