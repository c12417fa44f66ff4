"""Tidy tables that the figures of a comparison draw: ranks with bars, pairs, groups."""

from __future__ import annotations

import numpy as np
import polars as pl

from optarena._numbers import fixed, number, p_value, probability
from optarena.comparison.answer import SIGNS
from optarena.comparison.compare import Comparison
from optarena.comparison.pairs import TURNED

MOST_PAIRS = 15
"""Beyond, the effect sizes of the first against all others are shown, not those of every pair."""


ARM = 0.06
"""How far beyond the first and the last rank the lines to the names reach, as a part of all ranks."""


def critical_difference(made: Comparison, test: str = "wilcoxon-holm") -> pl.DataFrame:
    """The lines and texts of the diagram by `kind`: stem and arm (optimizers), bar (not told apart), scale, tick.

    Half of the names stand left and half right of an axis of average ranks, the best at the top left.
    """
    found = made.rated.details.diagrams.get(test)
    ranks = made.rated.details.rank[0]
    order = np.argsort(ranks, kind="stable").tolist()
    k = len(order)
    low, high = 1.0 - ARM * (k - 1), k + ARM * (k - 1)
    bars = [] if found is None else found.bars
    first = 1.0 + 0.7 * len(bars) + 0.6
    rows: list[dict[str, object]] = []

    def add(kind: str, x: float, y: float, x2: float, y2: float, who: str = "", text: str = "", test: str = "") -> None:
        rows.append({"kind": kind, "x": x, "y": y, "x2": x2, "y2": y2, "who": who, "text": text, "test": test})

    left = (k + 1) // 2
    for place, o in enumerate(order):
        name, rank = made.optimizers[o], float(ranks[o])
        on_left = place < left
        y = first + (place if on_left else k - 1 - place)
        end = low if on_left else high
        add("stem", rank, 0.0, rank, y, name)
        add("arm", rank, y, end, y, name)
        add(
            "left" if on_left else "right",
            end,
            y,
            end,
            y,
            name,
            f"{name}  {fixed(rank, 2)}" if on_left else f"{fixed(rank, 2)}  {name}",
        )
    for i, members in enumerate(bars):
        mine = [float(ranks[o]) for o in members]
        y = 1.0 + 0.7 * i
        reach = 0.03 * (k - 1) * 0.4
        add("bar", min(mine) - reach, y, max(mine) + reach, y, test=test)
    for tick in range(1, k + 1):
        add("tick", float(tick), 0.0, float(tick), -0.25, text=str(tick))
    add("axis", 1.0, 0.0, float(k), 0.0)
    if found is not None and found.cd is not None:
        add("scale", 1.0, -1.9, 1.0 + found.cd, -1.9, text=f"CD {fixed(found.cd, 2)}")
    return pl.DataFrame(rows)


def matrix(made: Comparison) -> pl.DataFrame:
    """One row per ordered pair: how probable it is that the first does better, with the numbers of a cell."""
    table = made.table("pairs")
    names = [made.optimizers[i] for i in made.rated.order]
    rows = []
    for row in table.iter_rows(named=True):
        for there in (False, True):
            a, b = (row["other"], row["optimizer"]) if there else (row["optimizer"], row["other"])
            value = 1 - row["improvement"] if there else row["improvement"]
            ends = (
                (1 - row["improvement_ub"], 1 - row["improvement_lb"])
                if there
                else (row["improvement_lb"], row["improvement_ub"])
            )
            won, lost = (row["losses"], row["wins"]) if there else (row["wins"], row["losses"])
            word = TURNED.get(row["verdict"], row["verdict"]) if there else row["verdict"]
            rows.append(
                {
                    "optimizer": a,
                    "other": b,
                    "improvement": value,
                    "interval": f"[{probability(ends[0])}, {probability(ends[1])}]",
                    "record": f"{won}-{row['ties']}-{lost}",
                    "label": f"{SIGNS[word]} {probability(value)}",
                    "p": p_value(row["p"]),
                    "verdict": word,
                }
            )
    where = {name: i for i, name in enumerate(names)}
    table = pl.DataFrame(rows).with_columns(
        row=pl.col("optimizer").replace_strict(where, return_dtype=pl.Int64),
        column=pl.col("other").replace_strict(where, return_dtype=pl.Int64),
    )
    return table.sort("row", "column")


def effects(made: Comparison) -> pl.DataFrame:
    """One row per pair: the probability of improvement with its interval."""
    table = made.table("pairs")
    if table.height > MOST_PAIRS:
        first = made.optimizers[int(made.rated.order[0])]
        table = table.filter((pl.col("optimizer") == first) | (pl.col("other") == first))
    return table.select(
        "optimizer",
        "other",
        pair=pl.format("{} against {}", "optimizer", "other"),
        improvement="improvement",
        lower="improvement_lb",
        upper="improvement_ub",
        decided=pl.col("verdict") != "undecided",
        verdict="verdict",
        record=pl.format("{}-{}-{}", "wins", "ties", "losses"),
        p=pl.col("p").map_elements(p_value, return_dtype=pl.String),
        difference=pl.col("difference").map_elements(number, return_dtype=pl.String),
    )


def knots(made: Comparison) -> pl.DataFrame:
    """One row per optimizer: its Scott-Knott group and quartiles."""
    return made.table("scott_knott").with_columns(label=pl.format("group {}", "group"))
