"""The verdict: every optimizer against every other, in sentences, figures and tables."""

from __future__ import annotations

from typing import Any

from optarena._numbers import counted
from optarena._text import visible
from optarena.comparison import Comparison
from optarena.comparison import figure_tables as differences
from optarena.report.boards.comparison import optimizers, pairs
from optarena.report.material import Material
from optarena.report.sections._section import Content, Pair, look_of, spec_of
from optarena.report.tables import Column, Drawing, Table


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
    _figures(material, made, out)
    comment = [made.scores.what, f"frame {made.frame.get('hash', '')}"]
    note = f"{made.pairs.test}; p-values corrected by Holm for {counted(made.pairs.tests, 'test')}."
    out.blocks += [
        optimizers(made).table("verdict-optimizers", "Optimizers over all problems", comment=comment),
        pairs(made).table("verdict-pairs", "Every two optimizers", note=note, comment=[note]),
        _rankings(made),
    ]
    return out


def _figures(material: Material, made: Comparison, out: Content) -> None:
    from optarena.report.figures.verdict import critical_difference, effects, groups, pairwise

    look = look_of(material)
    how = f"{made.pairs.test}, Holm over {counted(made.pairs.tests, 'test')}"
    out.datasets["verdict ranks"] = differences.critical_difference(made)
    bars = len(made.overall.test_groups) + len(made.overall.nemenyi_groups)
    grey = "" if made.overall.nemenyi is None else ", a grey one those within Nemenyi's critical difference, CD"
    still = "Filters do not change it."
    name = min(40, max(len(visible(one)) for one in made.optimizers) + len("  1.00"))
    rank = "; ".join(f"{made.optimizers[o]} {made.overall.rank[0][o]:.2f}" for o in made.overall.order[:12])
    out.blocks.append(
        Drawing(
            "critical-difference",
            "Critical-difference diagram",
            f"Average ranks over {counted(len(made.scores.problems), 'problem')}, 1 the best. A black bar joins "
            f"optimizers that no pairwise test tells apart ({how}){grey}. {still}",
            f"Average ranks: {rank}.",
            spec_of(critical_difference("verdict ranks", look, optimizers=len(made.optimizers), bars=bars)),
            "verdict ranks",
            least=2 * 7 * name + 110,
        )
    )
    out.datasets["verdict pairs"] = differences.matrix(made)
    out.datasets["verdict effects"] = differences.effects(made)
    left = Drawing(
        "pairwise",
        "Every two of them",
        f"The probability that a trial of the row's optimizer beats one of the column's, mean over problems. "
        f"A star: decided ({how}).",
        "Matrix of probabilities of improvement; the table below has its numbers.",
        spec_of(pairwise("verdict pairs", look, optimizers=len(made.optimizers))),
        "verdict pairs",
        by=("optimizer",),
    )
    right = Drawing(
        "effects",
        "Effect sizes",
        f"Probability of improvement with its 95 % interval ({made.pairs.intervals}); 0.5 is no difference, pale is "
        "undecided.",
        "Dot plot of the probability of improvement of pairs; the table below has its numbers.",
        spec_of(effects("verdict effects", look)),
        "verdict effects",
        by=("pair",),
    )
    out.blocks.append(Pair((left, right)))
    out.datasets["verdict groups"] = differences.knots(made)
    out.blocks.append(
        Drawing(
            "scott-knott",
            "Scott-Knott groups",
            "Median and quartiles over problems of the mean score (over trials, on a single problem). Optimizers of "
            "one group are not told apart by a bootstrap test (p < 0.05) with an effect that is not small (A12 0.6).",
            "Dot plot of medians with quartiles and groups; the table below has the groups.",
            spec_of(groups("verdict groups", look, score=f"score: {made.scores.what}")),
            "verdict groups",
            by=("optimizer",),
            margin=36,
        )
    )


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
