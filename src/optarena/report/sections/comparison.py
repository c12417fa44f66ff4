"""The verdict: every optimizer against every other, in sentences, figures and tables."""

from __future__ import annotations

from optarena._numbers import counted
from optarena.comparison.pairs import METHODS
from optarena.comparison.words import WARNINGS, coverage, undecided
from optarena.report.boards.comparison import optimizers, pairs, rankings
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure, paired


def opening(material: Material) -> list[str]:
    """The answer for the first screen: what to use, on what, what failed, what to watch out for, what is undecided."""
    made = material.comparison
    if made is None:
        return []
    found = made.answer
    going = ["A run goes on: these numbers are provisional."] if made.frame.get("provisional") else []
    out = [f"{found.headline} ({coverage(found)}; {found.view})", *going, *found.warnings[:WARNINGS]]
    left = len(found.warnings) - WARNINGS
    more = [f"{left} more {'warning is' if left == 1 else 'warnings are'} in the section Method."] if left > 0 else []
    open_pairs = undecided(made)
    out += more + ([f"Undecided: {' '.join(open_pairs)}"] if open_pairs else [])
    return out + [f"By {other.scores.view}: {other.answer.headline}" for other in made.others]


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
    note = (
        f"Intervals: {METHODS[made.over]}, for {counted(made.pairs.tests, 'pair')}. p (Holm): {made.pairs.other_test}."
    )
    out.blocks += [
        optimizers(made).table("verdict-optimizers", "Optimizers over all problems", comment=comment),
        pairs(made).table("verdict-pairs", "Every two optimizers", note=note, comment=[note]),
        rankings(made).table("verdict-rankings", "Places by other ways of scoring"),
    ]
    return out
