"""What stands behind the answer: every optimizer against every other, in sentences, figures and tables."""

from __future__ import annotations

from optarena._numbers import counted
from optarena.report.boards.comparison import optimizers, pairs, rankings
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, paired


def method_section(material: Material) -> Content:
    made = material.must_compare()
    out = Content(words=made.sentences)
    if made.overall is None:
        out.blocks.append(pairs(made).table("verdict-pairs", "Every two optimizers"))
        return out
    fixed = not made.pairs.at_every_look  # else tests for a fixed number of trials say more than is known
    if fixed:
        add_figure(material, "critical-difference", out)
    else:
        out.words.append(AT_EVERY_LOOK)
    left, right = Content(), Content()
    add_figure(material, "pairwise", left)
    add_figure(material, "effects", right)
    out.datasets |= left.datasets | right.datasets
    out.blocks += paired([*left.blocks, *right.blocks])
    if fixed:
        add_figure(material, "scott-knott", out)
    comment = [made.scores.what, f"frame {made.frame.get('hash', '')}"]
    note = f"Intervals: {made.pairs.method}, for {counted(made.pairs.tests, 'pair')}."
    note += f" p (Holm): {made.pairs.other_test}." if fixed else ""
    out.blocks += [
        optimizers(made).table("verdict-optimizers", "Optimizers over all problems", comment=comment),
        pairs(made).table("verdict-pairs", "Every two optimizers", note=note, comment=[note]),
        rankings(made).table("verdict-rankings", "Places by other ways of scoring"),
    ]
    return out


AT_EVERY_LOOK = (
    "The intervals and p-values of pairs hold however often one looks. The critical-difference diagram, Scott-Knott "
    "groups, other tests and the intervals of scores are for a number of trials that was fixed beforehand: they are "
    "left out."
)
