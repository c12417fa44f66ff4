"""The verdict: every optimizer against every other, in sentences, figures and tables."""

from __future__ import annotations

from typing import Any

from optarena._numbers import counted
from optarena._text import visible
from optarena.comparison import Comparison
from optarena.report.boards.comparison import optimizers, pairs
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, paired
from optarena.report.tables import Column, Table


def opening(material: Material) -> list[str]:
    """The verdict for the first screen: who wins, the first pair, the first undecided one, the first caution."""
    made = material.comparison
    if made is None:
        return []
    every = made.sentences
    kinds = ("Undecided", "Careful")
    rest = [text for text in every[1:] if " beats " in text and not text.startswith(kinds)][:1]
    rest += [text for kind in kinds for text in [t for t in every if t.startswith(kind)][:1]]
    more = len(every) - 1 - len(made.cautions) - len(rest)
    told = [f"{more} more {'sentence is' if more == 1 else 'sentences are'} in the section Verdict."] if more else []
    going = ["A run goes on: these numbers are provisional."] if made.frame.get("provisional") else []
    limits = every[1 : 1 + len(made.cautions)]
    return [every[0], f"Score: {made.scores.what}.", *limits, *rest, *told, *going]


def verdict_section(material: Material) -> Content:
    made = material.must_compare()
    out = Content(words=made.sentences)
    add_figure(material, "critical-difference", out)
    left, right = Content(), Content()
    add_figure(material, "pairwise", left)
    add_figure(material, "effects", right)
    out.datasets |= left.datasets | right.datasets
    out.blocks += paired([*left.blocks, *right.blocks])
    add_figure(material, "scott-knott", out)
    comment = [made.scores.what, f"frame {made.frame.get('hash', '')}"]
    note = f"{made.pairs.test}; p-values corrected by Holm for {counted(made.pairs.tests, 'test')}."
    out.blocks += [
        optimizers(made).table("verdict-optimizers", "Optimizers over all problems", comment=comment),
        pairs(made).table("verdict-pairs", "Every two optimizers", note=note, comment=[note]),
        _rankings(made),
    ]
    return out


def _rankings(made: Comparison) -> Table:
    """Places by other ways of scoring, side by side."""
    names = made.table("optimizers")["optimizer"].to_list()
    found = made.table("rankings")
    place = {(row["ranking"], row["optimizer"]): row["place"] for row in found.iter_rows(named=True)}
    tau = dict(found.select("ranking", "tau").iter_rows())
    rows: list[list[Any]] = [[name, *(place[way, name] for way in tau)] for name in names]
    help = "its place; Kendall's tau with the first column {:.2f}: 1 is the same order, −1 the reverse"
    columns = [
        Column("optimizer", "optimizer"),
        *(Column(visible(way), "number", 0, help.format(value)) for way, value in tau.items()),
    ]
    return Table("verdict-rankings", "Places by other ways of scoring", columns, rows)
