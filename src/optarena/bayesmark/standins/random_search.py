"""Stands in for `bayesmark.random_search`: uniform points on the warped scale."""

from __future__ import annotations

from typing import Any

from optarena.bayesmark.standins.np_util import random as np_random
from optarena.bayesmark.standins.space import JointSpace


def suggest_dict(
    X: Any,  # noqa: ARG001 (random search learns nothing)
    y: Any,  # noqa: ARG001
    meta: dict[str, Any],
    n_suggestions: int = 1,
    random: Any = np_random,
) -> list[dict[str, Any]]:
    """So many independent points; the same stream gives the points that Bayesmark gives."""
    space = JointSpace(meta)
    bounds = space.get_bounds()
    return space.unwarp(random.uniform(bounds[:, 0], bounds[:, 1], size=(n_suggestions, len(bounds))))
