"""What a reader of the scores is told: which studies and problems are left out, and what limits the rest."""

from __future__ import annotations

import numpy as np

from optarena.errors import OptarenaError
from optarena.traces import Bools, Floats
from optarena.views.fixed_cost.baseline import Baseline
from optarena.views.fixed_cost.curves import VISIBLE, Curves
from optarena.views.fixed_cost.scores import NEAR, Scores


def exclude(every: Curves, which: Bools, reason: str, name: str) -> None:
    for i in np.flatnonzero(which).tolist():
        every.excluded.append(
            {
                "optimizer": every.optimizers[every.optimizer[i]],
                "problem": every.problems[every.problem[i]],
                "trial": int(every.trial[i]),
                "metric": name,
                "reason": reason,
            }
        )


def find_left_out(every: Curves, base: Baseline, name: str, of_others: Floats | None) -> Bools:
    """(problems,): those without a usable baseline, each named; says where random search itself is the best.

    `of_others`: the least value of everyone but random search; None where the baseline was given.
    """
    constant = base.constant() if every.mode == "exact" else np.zeros(len(every.problems), dtype=bool)
    width = base.width
    reasons: dict[int, str] = {}
    first: list[str] = []
    for p, problem in enumerate(every.problems):
        if of_others is None and np.isnan(base.clip[p]):
            reasons[p] = "it is not in the frame"
        elif of_others is not None and not base.draws[p]:
            reasons[p] = "random search was not run on it" if name == VISIBLE else "random search has no such metric"
        elif not np.isfinite(base.clip[p]):
            reasons[p] = "the median of random search's evaluations is not finite"
        elif not np.isfinite(base.best[p]):
            reasons[p] = "the best value found is not finite"
        elif not np.isfinite(width[p]):
            reasons[p] = "its values lie further apart than floating-point numbers reach"
        elif constant[p]:
            reasons[p] = "no value better than random search's median was found: left out of summaries"
        elif of_others is not None:
            if of_others[p] > base.seen[p]:
                first.append(problem)
            if np.isnan(base.mean[p]).any():
                every.notes.append(
                    f"random search made only {base.draws[p]:,} evaluations on {problem}: "
                    "later iterations are not normalised"
                )
    if first:
        every.notes.append(f"random search has the best value of all on {_some(first)} ({name})")
    out = np.zeros(len(every.problems), dtype=bool)
    for p, reason in reasons.items():
        out[p] = True
        every.excluded.append(
            {"optimizer": None, "problem": every.problems[p], "trial": None, "metric": name, "reason": reason}
        )
    if out.all():
        raise OptarenaError(
            f"no problem can be scored on {name!r}: "
            + "; ".join(f"{every.problems[p]}: {reason}" for p, reason in list(reasons.items())[:3])
        )
    return out


def tell_gaps(every: Curves, scores: dict[str, Scores]) -> None:
    """Say whose averages are over fewer problems or trials than others'."""
    for name, one in scores.items():
        last = one.overall_mean.n[:, -1]
        for o in np.flatnonzero(last < last.max()).tolist():
            every.notes.append(
                f"{every.optimizers[o]} has values on {last[o]} of {last.max()} problems at the last iteration ({name})"
            )
        trials = one.mean.n
        shorter = int(((trials[:, :, -1] < trials.max(axis=2)) & (trials[:, :, -1] > 0)).sum())
        if shorter:
            every.notes.append(
                f"on {shorter} pairs of optimizer and problem some trials end before the last iteration ({name})"
            )
    every.note_unequal_trials()


def tell_undefined(every: Curves, scores: dict[str, Scores], grid: Floats) -> None:
    """Say first which ratios are undefined because random search is next to the best value (docs/scores.md 1.6)."""
    told = []
    for name, one in scores.items():
        lacking = (np.isnan(one.overall_normed.value) & (one.overall_normed.n > 0)).any(axis=0)
        if lacking.any():
            told.append(
                f"mean normed is undefined, first after {grid[np.argmax(lacking)]:g} {every.axis}: random search's own "
                f"mean is below {NEAR:g} ({name})"
            )
        which = np.flatnonzero(one.undefined.any(axis=1)).tolist()
        if which:
            start = grid[np.argmax(one.undefined.any(axis=0))]
            told.append(
                f"median normed is undefined, first after {start:g} {every.axis}, on "
                f"{_some([every.problems[p] for p in which])}: random search is closer to the best value than "
                f"{NEAR:g} (clip - best) ({name})"
            )
    every.notes[:0] = told


def _some(problems: list[str]) -> str:
    """'p1', or '7 problems (p1, p2, p3, …)'."""
    if len(problems) == 1:
        return problems[0]
    return f"{len(problems)} problems ({', '.join(problems[:3])}{', …' if len(problems) > 3 else ''})"
