"""Continuous domination: how much points lose to other points. Pure functions, minimised (docs/scores.md 3.2)."""

from __future__ import annotations

import numpy as np

from optarena.traces import Floats


def difference(a: Floats, b: Floats) -> Floats:
    """a - b, and 0 between two equal infinities."""
    with np.errstate(invalid="ignore", over="ignore"):
        out: Floats = a - b
    return np.nan_to_num(out, copy=False, nan=0.0, posinf=np.inf, neginf=-np.inf) if np.isnan(out).any() else out


def losses(a: Floats, b: Floats, weights: Floats | None = None) -> Floats:
    """(…): the losses of normalised points a (…, m) against b (…, m), broadcast: the mean over objectives.

    `weights`, which sum to 1, make it a weighted mean. See docs/scores.md 3.2.
    """
    with np.errstate(over="ignore"):
        each = -np.exp(-difference(a, b) / a.shape[-1])
    return np.mean(each, axis=-1) if weights is None else np.asarray((each * weights).sum(axis=-1))
