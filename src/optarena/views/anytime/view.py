"""The view: a store in, the tables `instance`, `summary`, `runs`, `bounds` and `contradictions` out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, one_of
from optarena.views._scores import Scores
from optarena.views._view import View
from optarena.views.anytime import tables
from optarena.views.anytime.aries import AXES, Original, original
from optarena.views.anytime.aries import tables as tables_of_original
from optarena.views.anytime.runs import Runs, runs_of
from optarena.views.anytime.scoring import Bounds, Scored, bounds_of, score
from optarena.views.coverage import Coverage
from optarena.views.frame import PlainFrame, saved
from optarena.views.summary import OVER, possible

HORIZONS = ("budget", "box")
MODES = ("exact", "aries")
METRICS = {
    "area": "area score of the whole curve (0 the best at once, 1 nothing found)",
    "objective": "objective score at the end (0 the best of all, 1 the worst first solution)",
    "gap": "primal gap at the end (0 the best known, 1 nothing found)",
}
"""What a run may be compared by."""


@dataclass(repr=False)
class Anytime(View):
    """Tables `.instance`, `.summary`, `runs`, `bounds`, `contradictions`; `.pinned`, a frame to save."""

    scored: Scored | None = field(default=None, repr=False, compare=False)
    """The envelopes and their scores, for figures."""
    original: Original | None = field(default=None, repr=False, compare=False)
    """In mode `aries`: that tool's scores."""
    name = "anytime"

    @property
    def instance(self) -> pl.DataFrame:
        """One row per optimizer and instance, averaged over trials."""
        return self.tables["instance"]

    @property
    def summary(self) -> pl.DataFrame:
        """One row per optimizer, over all instances, best area score first."""
        return self.tables["summary"]

    def leaderboard(self) -> pl.DataFrame:
        """The summary with intervals as they are shown: within what is possible; null: infinite."""
        if self.original is not None:
            return self.summary
        runs = self.table("runs")
        ends = {}
        for column in ("objective_score", "area_score", "primal_gap"):
            least, most = (float(end) if end is not None else 0.0 for end in (runs[column].min(), runs[column].max()))  # type: ignore[arg-type]
            for end in ("lb", "ub"):
                ends[f"{column}_{end}"] = possible(f"{column}_{end}", min(0.0, least), max(1.0, most))
        for end in ("lb", "ub"):
            ends[f"primal_integral_{end}"] = possible(f"primal_integral_{end}", 0.0, np.inf)
        return self.summary.with_columns(**ends)

    def scores(self, metric: str | None = None) -> Scores:
        """Of every run: `area` (under its curve), `objective` (at the end) or `gap` (primal, at the end)."""
        metric = metric or "area"
        one_of("metric", metric, METRICS)
        if self.original is not None:
            return self._original(metric, self.original)
        if self.scored is None:
            raise OptarenaError("this view was not made from a store: it has no runs")
        runs = self.scored.runs
        values = {"area": self.scored.area, "objective": self.scored.objective, "gap": self.scored.gap}[metric]
        return Scores(
            view=self.name,
            metric=metric,
            what=METRICS[metric],
            problems=runs.instances,
            optimizers=runs.optimizers,
            values=runs.cube(values),
            dimensions=[None] * len(runs.instances),
            functions=runs.functions,
        )

    def _original(self, metric: str, of: Original) -> Scores:
        """The same in mode `aries`, whose area is by the view's axis."""
        if metric == "gap":
            raise OptarenaError("aries-bench has no gap: choose area or objective")
        name = "objective_score" if metric == "objective" else AXES[self.frame["axis"]][1]
        chosen = of.chosen
        dimensions: list[int | None] = [None] * len(chosen.problems)
        what = f"{name} of aries-bench"
        cube = chosen.cube(of.scores[name])
        return Scores(
            self.name, metric, what, chosen.problems, chosen.optimizers, cube, dimensions, True, chosen.functions
        )

    def trial_scores(self, metric: str | None = None) -> Scores:
        """What `scores` gives; inf for a run without a solution."""
        scores = self.scores(metric)
        if self.original is not None:
            return scores
        assert self.scored is not None
        nothing = np.where(self.scored.solutions > 0, 0.0, np.inf)
        return replace(scores, values=scores.values + self.scored.runs.cube(nothing))

    def ways(self, metric: str | None = None) -> list[tuple[str, Scores]]:
        first = metric or "area"
        known = METRICS if self.original is None else ("area", "objective")
        return [(f"anytime by {name}", self.scores(name)) for name in (first, *(m for m in known if m != first))]


def anytime(
    results: Dataset,
    *,
    mode: str = "exact",
    axis: str | None = None,
    over: str | None = None,
    horizon: str | None = None,
    gap: float | None = None,
    tolerance: float | None = None,
    frame: str | Path | dict[str, Any] | None = None,
) -> Anytime:
    """Score a store by the whole curve of each run (docs/scores.md 4).

    mode: `exact`, or `aries` for the numbers of aries-bench (docs/scores.md 4.12), which has no other options but its
    axes. axis: any of `results.axes`, `seconds` by default. over: what intervals of the leaderboard are about, similar
    `problems` or new `trials` on exactly these; by default as in a comparison (docs/scores.md 5.3). horizon: `budget`
    (the default), from 0 to the declared budget, or `box`, from the least to the greatest time of anyone's solutions.
    gap: up to which primal gap an instance counts as solved, 0 by default. tolerance: by how much a solution must be
    better than the one before it to count, 0 by default. frame: bounds of another view, from a file; the other
    arguments are then the frame's.
    """
    one_of("mode", mode, MODES)
    if over is not None:
        one_of("over", over, OVER)
    if mode == "aries":
        given = {"over": over, "horizon": horizon, "gap": gap, "tolerance": tolerance, "frame": frame}
        return _as_aries(results, axis or "seconds", [name for name, value in given.items() if value is not None])
    pinned = read_frame(frame) if isinstance(frame, (str, Path)) else frame
    axis, horizon, gap, tolerance = _chosen(
        pinned, {"axis": axis, "horizon": horizon, "gap": gap, "tolerance": tolerance}
    )
    one_of("horizon", horizon, HORIZONS)
    if not 0 <= gap < 1:
        raise OptarenaError(f"a gap is at least 0 and less than 1; got {gap}")
    runs = runs_of(results, axis, tolerance, horizon)
    if pinned is not None:
        bounds = _from_frame(pinned, runs)
        there = ~np.isnan(bounds.end)
        if horizon == "budget":
            runs.budget = np.where(there, bounds.end, runs.budget)
        runs = runs.until(np.where(there, bounds.end, np.inf), proofs=horizon == "budget")
        runs.notes.extend(_beyond(runs, bounds))
    else:
        if horizon == "budget":
            runs = runs.until(runs.budget)
        bounds = bounds_of(runs, horizon)
    scored = score(runs, bounds, gap)
    used = PlainFrame(
        pinned
        or {
            "view": "anytime",
            "axis": axis,
            "horizon": horizon,
            "gap": gap,
            "tolerance": tolerance,
            "bounds": {
                name: [_number(x[i]) for x in (bounds.best, bounds.worst, bounds.start, bounds.end, bounds.anchor)]
                for i, name in enumerate(runs.instances)
            },
            "optimizers": sorted(runs.optimizers),
        }
    )
    _exclude_unsolved(runs, bounds, pinned is not None)
    made = tables.make(scored)
    runs.notes.extend(tables.gaps(scored))
    if pinned is None:
        runs.notes.extend(tables.sensitive(scored, horizon))
    known = int((~np.isnan(runs.best_known)).sum())
    return Anytime(
        mode="exact",
        tables=made,
        frame={
            "hash": used.hash,
            "axis": axis,
            "horizon": "from 0 to the budget" if horizon == "budget" else "from the first to the last solution of all",
            "gap": used["gap"],
            "tolerance": used["tolerance"],
            "best_known": f"of {known} of {len(runs.instances)} instances; the best of the store where better",
            "optimizers": used["optimizers"],
            "problems": len(runs.instances),
            "runs": len(runs),
            "intervals": "95 % over instances",
        },
        excluded=runs.excluded,
        notes=list(dict.fromkeys(runs.notes)),
        failures=runs.failures,
        covered=Coverage(runs.instances, runs.functions, runs.optimizers, runs.has, ~np.isnan(bounds.best)),
        results=results,
        over=over,
        pinned=used,
        scored=scored,
    )


def _as_aries(results: Dataset, axis: str, given: list[str]) -> Anytime:
    """The view in mode `aries`."""
    if given:
        raise OptarenaError(f"mode aries takes no {given[0]}: aries-bench has none")
    one_of("axis", axis, AXES)
    of = original(results)
    chosen = of.chosen
    frame = PlainFrame(
        {"view": "anytime", "mode": "aries", "axis": axis, "optimizers": sorted(chosen.optimizers), "runs": len(chosen)}
    )
    has = np.zeros((len(chosen.problems), len(chosen.optimizers)), dtype=bool)
    has[chosen.problem, chosen.optimizer] = True
    return Anytime(
        mode="aries",
        tables=tables_of_original(of),
        frame={
            "hash": frame.hash,
            "axis": axis,
            "horizon": "from the first to the last solution of all",
            "optimizers": frame["optimizers"],
            "problems": len(chosen.problems),
            "runs": len(chosen),
            "intervals": "quartiles over runs",
        },
        excluded=chosen.excluded,
        notes=of.notes,
        failures=chosen.failures,
        covered=Coverage(
            chosen.problems,
            chosen.functions,
            chosen.optimizers,
            has,
            np.asarray(has.any(axis=1)),
            original="aries-bench",
        ),
        results=results,
        original=of,
    )


def _chosen(pinned: dict[str, Any] | None, asked: dict[str, Any]) -> tuple[str, str, float, float]:
    """What was asked, else what the frame has, else the defaults; a frame is for what it was made with."""
    default: dict[str, Any] = {"axis": "seconds", "horizon": "budget", "gap": 0.0, "tolerance": 0.0}
    for name, value in asked.items():
        if pinned is not None and value is not None and value != pinned[name]:
            raise OptarenaError(f"the frame has {name} {pinned[name]}, but {value} was requested")
    axis, horizon, gap, tolerance = (
        value if value is not None else (pinned or default)[name] for name, value in asked.items()
    )
    return str(axis), str(horizon), float(gap), float(tolerance)


def _beyond(runs: Runs, bounds: Bounds) -> list[str]:
    """Who found better values than the frame knows of: scores there may lie below 0."""
    some = np.diff(runs.offsets) > 0
    better = runs.instance[some][runs.values[runs.offsets[1:][some] - 1] < bounds.best[runs.instance[some]]]
    n = len(np.unique(better))
    return [f"on {n} instances runs are better than the frame's best: their scores may lie below 0"] if n else []


def read_frame(path: str | Path) -> dict[str, Any]:
    """A frame that `--save-frame` wrote."""
    return saved(path, "anytime", _checked)


def _checked(data: dict[str, Any]) -> dict[str, Any]:
    for numbers in data["bounds"].values():
        _, _, _, _, _ = (float("nan") if x is None else float(x) for x in numbers)
    str(data["axis"] + data["horizon"]), float(data["gap"]), float(data["tolerance"]), list(data["optimizers"])
    return dict(data)


def _from_frame(pinned: dict[str, Any], runs: Runs) -> Bounds:
    nothing = [None] * 5
    rows = [pinned["bounds"].get(name, nothing) for name in runs.instances]
    columns = np.array([[np.nan if x is None else float(x) for x in row] for row in rows]).reshape(-1, 5).T
    return Bounds(*columns)


def _exclude_unsolved(runs: Runs, bounds: Bounds, pinned: bool) -> None:
    for i in np.flatnonzero(np.isnan(bounds.best)).tolist():
        why = "it is not in the frame, or was unsolved there" if pinned else "no optimizer found a solution"
        why = "claims about it contradict each other, and none is verified" if runs.disputed[i] else why
        runs.excluded.append({"optimizer": None, "problem": runs.instances[i], "trial": None, "reason": why})


def _number(x: float) -> float | None:
    return None if np.isnan(x) else float(x)
