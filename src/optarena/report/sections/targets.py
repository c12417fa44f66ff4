"""The section of the fixed-target view: distributions of runtimes, expected running times, profiles, losses."""

from __future__ import annotations

import polars as pl

from optarena.report.boards import fixed_target as boards
from optarena.report.material import Material
from optarena.report.sections._section import Content, Pair, look_of, spec_of
from optarena.report.tables import Drawing, Table
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target import figure_tables as runtimes

POINTS = 24
"""Of a curve in a small panel."""
ROWS = 12_000
"""Of the expected running times on the page, at most."""


def fixed_target_section(material: Material) -> Content:
    view, out = material.must_reach(), Content()
    board = runtimes.board(view, material.dimensions)
    out.words = [*_words(view, board), *(f"{note[:1].upper()}{note[1:]}." for note in view.notes[:8])]
    if len(view.notes) > 8:
        out.words.append(f"And {len(view.notes) - 8} more notes: optarena score --format json has all.")
    comment = [f"fixed target, frame {view.frame['hash']}, mode {view.mode}"]
    reached = boards.reached(board, runtimes.unit(view), runtimes.loss_reference(view))
    out.blocks.append(reached.table("runtimes", "Targets reached", scopes=board["scope"].to_list(), comment=comment))
    _distributions(material, view, out)
    _expected(material, view, out)
    _comparisons(material, view, out)
    return out


def _words(view: FixedTarget, board: pl.DataFrame) -> list[str]:
    rows = board.filter(pl.col("scope") == runtimes.ALL).rows(named=True)
    unit = runtimes.unit(view)
    told = "; ".join(
        f"{row['optimizer']} {100 * row['reached']:.0f} % ({row['budget']:.3g} {unit})" for row in rows[:6]
    )
    known = view.frame["optimum"] == "known"
    by = "Precision is the distance to the known optimum." if known else f"Precision: {view.frame['optimum']}."
    end = "; …" if len(rows) > 6 else "."
    return [f"Targets reached by the end of the runs (in brackets: the median of where they ended): {told}{end}", by]


def _distributions(material: Material, view: FixedTarget, out: Content) -> None:
    from optarena.report.figures.targets import ecdf, ecdf_groups, precision

    look, unit, reference = look_of(material), runtimes.unit(view), runtimes.reference_name(view)
    out.datasets["ecdf"] = runtimes.ecdf(view, material.dimensions)
    out.datasets["precision"] = runtimes.precision(view)
    behind = f"The pale line behind: the fraction of targets whose expected running time by {reference} is within x."
    left = Drawing(
        "ecdf",
        "ECDF of runtimes",
        f"Fraction of targets reached, with simulated restarts. Dots: where budgets end; beyond, nobody ran. {behind}",
        f"Line chart of the fraction of targets reached by {unit}, a line an optimizer; the table above has the ends.",
        spec_of(ecdf("ecdf", look, effort=unit)),
        "ecdf",
    )
    right = Drawing(
        "precision",
        "ECDF of precision",
        "Fraction of runs that are as precise: thick at their end, thin after D, 10 D, 100 D, … before it. "
        "Of all problems: filters by problem and dimension do not change it.",
        "Line chart of the fraction of runs by precision, a line an optimizer and budget.",
        spec_of(precision("precision", look, word=runtimes.word(view))),
        "precision",
    )
    out.blocks.append(Pair((left, right)))
    groups = runtimes.ecdf_groups(view, POINTS)
    if groups["panel"].n_unique() > 1:
        out.datasets["ecdf groups"] = groups
        out.blocks.append(
            Drawing(
                "ecdf-groups",
                "ECDFs of runtimes by group and dimension",
                f"As above, for each group of functions and dimension. {behind}",
                "Small line charts of the fraction of targets reached, a panel a group of functions and dimension.",
                spec_of(ecdf_groups("ecdf groups", look, effort=unit)),
                "ecdf groups",
            )
        )


def _expected(material: Material, view: FixedTarget, out: Content) -> None:
    from optarena.report.figures.targets import ert, ert_dimension

    look, unit, reference = look_of(material), runtimes.unit(view), runtimes.reference_name(view)
    table = runtimes.ert(view, material.functions, thin=True)
    if table.height > ROWS:
        each = table.group_by("function", maintain_order=True).len().filter(pl.col("len").cum_sum() <= ROWS)
        out.words.append(f"Expected running times of {each.height:,} functions are drawn: optarena figure has others.")
        table = table.filter(pl.col("function").is_in(each["function"].implode()))
    out.datasets["ert"] = table
    out.blocks.append(
        Drawing(
            "ert",
            "Expected running time by target",
            "ERT: all evaluations of all runs until they hit, divided by the number of hits; a line ends where no run "
            f"hits any more. Bands: {view.frame['intervals']}. Behind, pale: {reference}.",
            "Small line charts of the expected running time by target, a panel a function and dimension; "
            "the table below has its numbers.",
            spec_of(ert("ert", look, effort=unit, word=runtimes.word(view))),
            "ert",
        )
    )
    by_dimension = runtimes.ert_by_dimension(view)
    if by_dimension.height:
        out.datasets["ert by dimension"] = by_dimension
        wide = by_dimension["D"].unique().sort().to_list()
        out.blocks.append(
            Drawing(
                "ert-dimension",
                "Expected running time by dimension",
                "For each function to the hardest target that someone reached in most dimensions, which its title "
                f"names. Filters by problem and dimension do not change it. Behind, pale: {reference}.",
                "Small line charts of the expected running time by dimension, a panel a function.",
                spec_of(ert_dimension("ert by dimension", look, effort=unit, dimensions=wide)),
                "ert by dimension",
            )
        )
    out.blocks += _tables(material, view)


def _tables(material: Material, view: FixedTarget) -> list[Table]:
    """ERTs to a few targets, a row a function and optimizer; a table for each list of targets that the store has."""
    keys = ["suite", "function", "dimension"]
    names = material.functions.select(*keys, "name")
    table = view.ert.with_columns(pl.col("target").round_sig_figs(6))
    table = table.join(names, on=keys, how="left", nulls_equal=True, maintain_order="left")
    lists: dict[tuple[float, ...], list[str]] = {}
    for name, targets in table.group_by("name").agg(pl.col("target").unique().sort(descending=True)).rows():
        lists.setdefault(tuple(targets), []).append(name)
    out = []
    for i, (targets, mine) in enumerate(sorted(lists.items(), reverse=True)):
        shown = [target for target in targets if target in runtimes.SHOWN] or list(targets[:7])
        part = table.filter(pl.col("name").is_in(mine), pl.col("target").is_in(shown))
        out.append(_ert_table(view, part, shown, names["name"], i))
    return out


def _ert_table(view: FixedTarget, table: pl.DataFrame, shown: list[float], names: pl.Series, i: int) -> Table:
    heads = {rank: f"{target:g}" for rank, target in enumerate(shown)}
    ranks = pl.DataFrame({"target": shown, "rank": range(len(shown))})
    table = table.join(ranks, on="target", how="left").sort(pl.col("name").cast(pl.Enum(names)), "optimizer", "rank")
    axis = view.frame["axis"]
    note = f"Expected {axis} to a {runtimes.word(view)}; ∞: no run reached it."
    comment = [note, f"frame {view.frame['hash']}, mode {view.mode}"]
    board = boards.board(table, heads, axis, heads[len(shown) - 1])
    return board.table(f"ert-table-{i}", "Expected running times", note=note, comment=comment)


def _comparisons(material: Material, view: FixedTarget, out: Content) -> None:
    from optarena.report.figures.targets import loss, profiles

    look = look_of(material)
    out.datasets["profiles"] = runtimes.profiles(view)
    out.blocks.append(
        Drawing(
            "profiles",
            "Performance and data profiles",
            "Performance: the fraction of targets whose ERT is within so many times the least of the store. Data: the "
            "fraction of problems brought to a part of the way from the first value to the best, by evaluations / "
            "(D + 1). Filters by problem and dimension do not change them.",
            "Small line charts of performance and data profiles, a line an optimizer.",
            spec_of(profiles("profiles", look)),
            "profiles",
        )
    )
    losses = runtimes.loss(view, material.dimensions)
    if losses["median"].is_not_null().any():
        reference = runtimes.loss_reference(view)
        out.datasets["loss"] = losses
        out.blocks.append(
            Drawing(
                "loss",
                "Loss of expected running time",
                f"How many times the expected running time of {reference}: median, half (thick) and 80 % (thin) of the "
                "targets that one of its runs reached; beside it, how many of the reference's targets these are.",
                "Dot plot of the loss of expected running time; the first table of this section has the medians.",
                spec_of(loss("loss", look, reference=reference)),
                "loss",
                by=("optimizer",),
                margin=30,
            )
        )
