"""The sections of the report, in order. A new view adds a `Section` to `SECTIONS` and touches nothing else.

A section says when it applies, and gives words, figures and tables. Figures take their rows from data sets that the
page holds once, by name.
"""

from __future__ import annotations

from collections.abc import Sequence

from optarena.report.sections._section import Content, Pair, Section
from optarena.report.sections.anytime import anytime_section, worth_showing
from optarena.report.sections.comparison import method_section
from optarena.report.sections.fixed_cost import fixed_cost_section
from optarena.report.sections.fixed_target import fixed_target_section
from optarena.report.sections.overview import answering_view, doubts, overview_section
from optarena.report.sections.pareto import has_fronts, pareto_section
from optarena.report.sections.problems import problems_section
from optarena.report.sections.runs import failures_section, how_section, time_section

__all__ = ["SECTIONS", "Content", "Pair", "Section"]

SECTIONS: Sequence[Section] = (
    Section(
        "overview",
        "Overview",
        "What to use, and how sure that is. P(row beats column) is the probability that a trial of the one ends better "
        "than a trial of the other on a problem like these. Its interval decides: above 0.5 the one is better, within "
        "0.44 and 0.56 the two are equivalent, else it is undecided. A study without any value loses.",
        overview_section,
        view=answering_view,
        after=doubts,
    ),
    Section(
        "fixed-cost",
        "Fixed cost",
        "How good is an optimizer after so many evaluations? On each problem, S is the best value so far, cut at clip, "
        "the median of random search's single evaluations: mean of (min(S, clip) − best) / (clip − best) over trials. "
        "The leaderboard's score is the mean of that over problems at the end, divided by random search's own.",
        fixed_cost_section,
        lambda material: material.why_not,
        "fixed_cost",
    ),
    Section(
        "fixed-target",
        "Fixed target",
        "How long to reach a target? A target is a precision of a function in a dimension; instances and trials repeat "
        "it. The expected running time is (runtimes of the successes + all evaluations of each failure) / number of "
        "successes. An ECDF is the fraction of targets reached by so many evaluations per dimension; with restarts a "
        "failed run is followed by another, drawn at random, until one succeeds, and that is computed, not sampled.",
        fixed_target_section,
        lambda material: material.why_no_targets if material.results.studies.height else "-",
        "fixed_target",
    ),
    Section(
        "pareto",
        "Pareto",
        "How good are fronts of several objectives? Objectives are scaled so that the ideal is 0 and the nadir 1. The "
        "hypervolume is the volume between a front and the reference point, shown as a part of the reference set's. "
        "IGD+ is how far the points of the reference set are, on average, from being reached; the additive epsilon is "
        "the farthest of them. Normed: what is lost to the reference set, where random search's loss is 1.",
        pareto_section,
        has_fronts,
    ),
    Section(
        "anytime",
        "Anytime",
        "Who finds good solutions early, who finishes best? On each instance the best value of all is 0 and the worst "
        "first value of all is 1. The objective score is where a run ends, the area score the mean height of its best "
        "value so far over the horizon. The primal gap is measured from the best known value: "
        "|value − best| / max(|value|, |best|).",
        anytime_section,
        worth_showing,
        "anytime",
    ),
    Section(
        "method",
        "Method",
        "All that stands behind the answer: every warning, ranks, pairs, groups, other tests, what changes when "
        "something is left out. Intervals of pairs hold for all pairs together, over functions (instances and "
        "dimensions of a function repeat it) or, where these are too few, over trials.",
        method_section,
        lambda material: material.why_no_comparison if material.results.studies.height else "-",
    ),
    Section(
        "problems",
        "Problems",
        "A part for each problem: the best value so far by evaluations or seconds, the best point of every trial, and "
        "what each optimizer found. Where the optimum is known, curves show the distance to it.",
        problems_section,
        lambda material: "" if material.results.studies.height else "-",
    ),
    Section(
        "time",
        "Time",
        "The seconds of a study, divided by its evaluations: suggesting where to look, evaluating, learning from it.",
        time_section,
        lambda material: "" if material.times.height else "no study recorded what its evaluations cost",
    ),
    Section(
        "failures",
        "Failures",
        "What failed, what is unfinished, what no score could use. A failed evaluation is never replaced by a number.",
        failures_section,
        lambda material: "" if material.results.studies.height else "-",
    ),
    Section("how", "How this was run", "All that is needed to run it again.", how_section),
)
