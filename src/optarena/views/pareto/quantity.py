"""An indicator of the front after every evaluation, as the quantity whose targets runtimes are counted to.

>>> view.runtimes("igd_plus", targets=[1e-1, 1e-2]).ert          # doctest: +SKIP

See docs/scores.md 3.13.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from optarena.errors import one_of
from optarena.staircase import entering
from optarena.traces import Floats
from optarena.views.frame import hash_of
from optarena.views.pareto.anytime import anytime_hypervolume
from optarena.views.pareto.frame import Frame
from optarena.views.pareto.measures import EXACT_UP_TO, GREATER, INDICATORS, RANKED, Yardstick, measure
from optarena.views.pareto.nearness import Kind, so_far
from optarena.views.pareto.studies import Studies

if TYPE_CHECKING:
    from optarena.views.fixed_target import FixedTarget

TARGETS = 10.0 ** (np.arange(0, -51, -1) / 10)
"""51 distances to the reference set, 1 … 1e-5."""
GROWING: dict[str, Kind] = {"igd_plus": "plus", "additive_epsilon": "epsilon"}
"""Those that a point never spoils: the least over all points so far."""


def distance_trace(points: Floats, by: Yardstick, indicator: str) -> Floats:
    """(rows,): how far the front of the first k points is from the reference set's own value of an indicator.

    points: normalised, in the order they were made. What is greater the better is subtracted from the reference's.
    See docs/scores.md 3.13.
    """
    if indicator in GREATER:
        lost = by.volume - anytime_hypervolume(points, by.corner)
        return lost / by.volume if indicator == "hypervolume_ratio" else lost
    entered = entering(points)
    if indicator in GROWING:
        found = so_far(GROWING[indicator], points[entered], by.points)
    else:
        found = measure(points, by, entered + 1)[:, INDICATORS.index(indicator)]
    # between two points that enter nothing changes
    return (
        found[np.searchsorted(entered, np.arange(len(points)), side="right") - 1]
        - by.figures[INDICATORS.index(indicator)]
    )


def _unfit(by: Yardstick, indicator: str) -> str:
    """Why fronts of a problem have no distance by an indicator, if so."""
    if indicator == "r2" and len(by.corner) > 2:
        return "r2 is for two objectives"
    if indicator in GREATER and len(by.corner) > EXACT_UP_TO:
        return f"hypervolumes after every evaluation are for up to {EXACT_UP_TO} objectives"
    if indicator in GREATER and not by.volume > 0:  # else everybody would be as good at once
        return "its reference set has no hypervolume"
    return ""


def runtimes(
    every: Studies, frame: Frame, indicator: str, targets: str | Sequence[float] | None, options: dict[str, Any]
) -> FixedTarget:
    """The fixed-target view of an indicator's distance to the reference set."""
    from optarena.views.fixed_target import fixed_target
    from optarena.views.fixed_target.measured import Measured

    traces = every.results.traces()
    count = len(traces)
    values = np.full(len(traces.values), np.inf)
    unfit = dict.fromkeys(range(count), "its fronts were not scored: see the pareto view")
    one_of("indicator", indicator, RANKED)
    sticks = {name: Yardstick(one.points, one.corner) for name, one in frame.problems.items() if name in every.problems}
    for i, rows in enumerate(every.rows):
        name, study = every.problems[every.problem[i]], int(every.kept[i])
        if name not in sticks:
            continue
        unfit[study] = _unfit(sticks[name], indicator)
        if not unfit[study]:
            del unfit[study]
            points = frame.problems[name].normalised(every.points(i))
            values[rows] = distance_trace(points, sticks[name], indicator)
    quantity = Measured(values, np.zeros(count), np.ones(count, dtype=bool), np.zeros(count, dtype=bool), unfit)
    asked = TARGETS if targets is None else targets
    view = fixed_target(every.results, targets=asked, axis=every.axis, quantity=quantity, **options)  # type: ignore[arg-type]
    view.frame["precision"] = f"{indicator}: the distance to the reference set's"
    view.frame["pareto"] = frame.hash
    view.pinned = frame  # what the pareto view reads back; distances have no levels of their own
    view.frame["hash"] = hash_of({"targets": view.frame["hash"], "indicator": indicator, "pareto": frame.hash})
    return view
