"""Performance and data profiles, the area over the convergence curve, means of times: pure functions.

See docs/scores.md 2.9 to 2.12.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.traces import Floats, Ints
from optarena.views.fixed_target.runtimes import ecdfs

LOWEST, HIGHEST = 1e-8, 1e2


def performance_profile(times: npt.ArrayLike, tau: npt.ArrayLike) -> Floats:
    """(solvers, tau): the fraction of problems that a solver solves within tau times the best time (Dolan and Moré).

    times: (problems, solvers), inf where a solver failed; a failure never counts, also where no solver succeeds.
    See docs/scores.md 2.10.
    """
    t = _times(times)
    with np.errstate(invalid="ignore", divide="ignore"):
        best = t.min(axis=1, keepdims=True, initial=np.inf)
        ratio = np.where(np.isfinite(t), np.where(t == best, 1.0, t / best), np.inf)
    return ecdfs(ratio.T, tau)


def data_profile(times: npt.ArrayLike, dimensions: npt.ArrayLike, k: npt.ArrayLike) -> Floats:
    """(solvers, k): the fraction of problems solved within k (D + 1) evaluations (Moré and Wild) (docs/scores.md 2.11).

    times: (problems, solvers), the evaluations to f <= f_best + tau (f_0 - f_best), inf where that was not reached.
    """
    t = _times(times)
    per_dimension = t / (np.broadcast_to(np.asarray(dimensions, dtype=float), len(t))[:, None] + 1.0)
    return ecdfs(per_dimension.T, k)


def _times(times: npt.ArrayLike) -> Floats:
    t = np.asarray(times, dtype=float)
    if t.ndim != 2:
        raise OptarenaError(f"times are (problems, solvers); got the shape {t.shape}")
    return t


def area_over_convergence_curve(
    precision: Floats,
    effort: Floats,
    offsets: Ints,
    budgets: npt.ArrayLike,
    lowest: float = LOWEST,
    highest: float = HIGHEST,
    shift: float = 1.0,
) -> Floats:
    """(runs,): the mean over the budget of how far log10 of the best precision has come; 1 best, 0 worst.

    precision: the best f - f_opt so far, run after run; it is clipped to [lowest, highest] and scaled to [0, 1]. Before
    its first evaluation a run stands at the worst; after its last, at its best. shift: evaluation t counts for
    [t - shift, t) of the budget; 0 for efforts that are not counted, as seconds. See docs/scores.md 2.9.
    """
    budget = np.asarray(budgets, dtype=float)
    runs = len(offsets) - 1
    lengths = np.diff(offsets)
    run = np.repeat(np.arange(runs), lengths)
    with np.errstate(divide="ignore"):
        height = np.log10(np.clip(precision, lowest, highest))
    gain = (np.log10(highest) - height) / (np.log10(highest) - np.log10(lowest))
    last = np.zeros(len(effort), dtype=bool)
    last[offsets[1:][lengths > 0] - 1] = True
    following = np.where(last, np.inf, np.append(effort[1:], np.inf))
    end = budget[run]
    # a value is in force from its evaluation until the next row
    width = np.clip(np.minimum(following - shift, end) - np.minimum(effort - shift, end), 0, None)
    total = np.bincount(run, weights=gain * width, minlength=runs)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(budget > 0, total / budget, np.nan)


def shifted_geometric_mean(times: npt.ArrayLike, shift: float = 10.0, weights: Floats | None = None) -> float:
    """exp(mean(log(t + shift))) - shift (docs/scores.md 2.12). weights: how much each time counts; equal by default."""
    logs = np.log(np.asarray(times, dtype=float) + shift)
    return float(np.exp(np.average(logs, weights=weights)) - shift)


def penalised_average(times: npt.ArrayLike, budgets: npt.ArrayLike, k: float = 10.0) -> float:
    """PAR-k: the mean time, a failure counting k times its budget (docs/scores.md 2.12)."""
    return float(np.mean(penalised(times, budgets, k)))


def penalised(times: npt.ArrayLike, budgets: npt.ArrayLike, k: float = 10.0) -> Floats:
    """The time of each run, k times its budget for a failure (docs/scores.md 2.12)."""
    t = np.asarray(times, dtype=float)
    return np.where(np.isfinite(t), t, k * np.asarray(budgets, dtype=float))
