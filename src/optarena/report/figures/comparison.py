"""The figures of a comparison."""

from __future__ import annotations

from functools import partial

from optarena._numbers import counted, fixed
from optarena._text import visible
from optarena.comparison import figure_tables as tables
from optarena.report.figures._figure import Options, Shown
from optarena.report.material import Material


def critical_difference(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.comparison import critical_difference

    made = material.must_compare()
    found = made.rated.details.diagrams.get("wilcoxon-holm")
    bars = 0 if found is None else len(found.bars)
    name = min(40, max(len(visible(one)) for one in made.optimizers) + len("  1.00"))
    rank = "; ".join(f"{made.optimizers[o]} {fixed(made.rated.details.rank[0][o], 2)}" for o in made.rated.order[:12])
    shown = Shown(
        "verdict ranks",
        tables.critical_difference(made),
        partial(critical_difference, optimizers=len(made.optimizers), bars=bars),
        "Critical-difference diagram",
        f"Average ranks over {counted(len(set(made.scores.functions)), 'function')}, 1 the best. A black bar joins "
        "optimizers that Wilcoxon's signed ranks of functions, corrected by Holm, do not separate. Filters do not "
        "change it.",
        f"Average ranks: {rank}.",
        head="average ranks; bars: not separated by Wilcoxon's signed ranks of functions, corrected by Holm",
        legend=made.table("optimizers"),
        id="critical-difference",
        least=2 * 7 * name + 110,
    )
    return [shown]


def pairwise(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.comparison import pairwise

    made = material.must_compare()
    shown = Shown(
        "verdict pairs",
        tables.matrix(made),
        partial(pairwise, optimizers=len(made.optimizers)),
        "Every two of them",
        "The probability that a trial of the row's optimizer beats one of the column's. ▲ better, ▼ worse, "
        f"≈ equivalent, ? undecided: {made.pairs.method}.",
        "Matrix of probabilities of improvement; the table below has its numbers.",
        legend=made.table("optimizers"),
        id="pairwise",
        by=("optimizer",),
    )
    return [shown]


def effects(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.comparison import effects

    made = material.must_compare()
    shown = Shown(
        "verdict effects",
        tables.effects(made),
        effects,
        "Effect sizes",
        f"Probability of improvement with the interval that decides ({made.pairs.method}); 0.5 is no difference, pale "
        "is undecided.",
        "Dot plot of the probability of improvement of pairs; the table below has its numbers.",
        legend=made.table("optimizers"),
        id="effects",
        by=("pair",),
    )
    return [shown]


def scott_knott(material: Material, _: Options) -> list[Shown]:
    from optarena.report.drawing.comparison import groups

    made = material.must_compare()
    shown = Shown(
        "verdict groups",
        tables.knots(made),
        partial(groups, score=f"score: {made.scores.what}"),
        "Scott-Knott groups",
        "Median and quartiles over problems of the mean score (over trials, on a single problem). Optimizers of "
        f"different groups are separated: {made.rated.details.scott_knott.test}.",
        "Dot plot of medians with quartiles and groups; the table below has the groups.",
        legend=made.table("optimizers"),
        id="scott-knott",
        by=("optimizer",),
        margin=36,
    )
    return [shown]
