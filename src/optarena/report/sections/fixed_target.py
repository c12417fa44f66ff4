"""The section of the fixed-target view: distributions of runtimes, expected running times, profiles, losses."""

from __future__ import annotations

import polars as pl

from optarena._numbers import fixed, significant
from optarena.report.boards import fixed_target as boards
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, notes_of, so_far
from optarena.report.tables import Table
from optarena.views.fixed_target import FixedTarget, ert_tables
from optarena.views.fixed_target import figure_tables as runtimes


def fixed_target_section(material: Material) -> Content:
    view, out = material.must_reach(), Content()
    board = ert_tables.board(view, material.dimensions)
    out.words = [*so_far(material), *_words(view, board), *notes_of(view, "optarena score")]
    comment = [f"fixed target, frame {view.frame['hash']}, mode {view.mode}"]
    reached = boards.reached(view, board, runtimes.unit(view), runtimes.loss_reference(view))
    out.blocks.append(reached.table("runtimes", "Targets reached", scopes=board["scope"].to_list(), comment=comment))
    for name in ("ecdf", "precision", "ecdf-groups", "ert", "ert-dimension"):
        add_figure(material, name, out)
    out.blocks += _tables(material, view)
    for name in ("profiles", "loss"):
        add_figure(material, name, out)
    return out


def _words(view: FixedTarget, board: pl.DataFrame) -> list[str]:
    rows = board.filter(pl.col("scope") == runtimes.ALL).rows(named=True)
    unit = runtimes.unit(view)
    told = "; ".join(
        f"{row['optimizer']} {fixed(100 * row['reached'], 0)} % ({significant(row['budget'], 3)} {unit})"
        for row in rows[:6]
    )
    known = view.frame["optimum"] == "known"
    by = "Precision is the distance to the known optimum." if known else f"Precision: {view.frame['optimum']}."
    if not rows:
        return [by]
    end = "; …" if len(rows) > 6 else "."
    return [f"Targets reached by the end of the runs (in brackets: the median of where they ended): {told}{end}", by]


def _tables(material: Material, view: FixedTarget) -> list[Table]:
    """ERTs to a few targets, one row per function and optimizer; one table per list of targets in the store."""
    keys = ["suite", "function", "dimension"]
    names = material.functions.select(*keys, "name")
    table = boards.ordered(view, view.ert).with_columns(pl.col("target").round_sig_figs(6))
    table = table.join(names, on=keys, how="left", nulls_equal=True, maintain_order="left")
    lists: dict[tuple[float, ...], list[str]] = {}
    for name, targets in table.group_by("name").agg(pl.col("target").unique().sort(descending=True)).rows():
        lists.setdefault(tuple(targets), []).append(name)
    out = []
    for i, (targets, mine) in enumerate(sorted(lists.items(), reverse=True)):
        shown = [target for target in targets if target in runtimes.SHOWN] or list(targets[:7])
        part = table.filter(pl.col("name").is_in(mine), pl.col("target").is_in(shown))
        # several lists of targets: each table says of which functions it is
        some = f": {mine[0]}{', …' if len(mine) > 1 else ''}" if len(lists) > 1 else ""
        out.append(_ert_table(view, part, shown, names["name"], i, some))
    return out


def _ert_table(
    view: FixedTarget, table: pl.DataFrame, shown: list[float], names: pl.Series, i: int, some: str
) -> Table:
    heads = {rank: f"{target:g}" for rank, target in enumerate(shown)}
    ranks = pl.DataFrame({"target": shown, "rank": range(len(shown))})
    table = table.join(ranks, on="target", how="left").sort(pl.col("name").cast(pl.Enum(names)), maintain_order=True)
    axis = view.frame["axis"]
    note = f"Expected {axis} to a {runtimes.word(view)}; ∞: no run reached it."
    comment = [note, f"frame {view.frame['hash']}, mode {view.mode}"]
    board = boards.board(table, heads, axis, heads[len(shown) - 1])
    return board.table(f"ert-table-{i}", f"Expected running times{some}", note=note, comment=comment)
