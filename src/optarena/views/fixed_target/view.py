"""The view: a store in, the tables `ert`, `ecdf`, `precision`, `profiles`, `aocc`, `reference`, `differences` out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest, one_of
from optarena.traces import Floats
from optarena.views._scores import Scores as TrialScores
from optarena.views._view import ORIGINALS, View
from optarena.views.coverage import Coverage
from optarena.views.fixed_target import tables
from optarena.views.fixed_target.measured import Measured
from optarena.views.fixed_target.ratios import ratios
from optarena.views.fixed_target.run_scores import METRICS, PARTS, Repeated, problems_of, scores_of_runs
from optarena.views.fixed_target.runs import Levels, Runs, runs_of
from optarena.views.fixed_target.scored import Scored, score
from optarena.views.fixed_target.targets import Targets, parse, per_cell, to_data
from optarena.views.frame import PlainFrame, saved
from optarena.views.selection import cube
from optarena.views.summary import OVER

MODES = ("exact", "coco")


@dataclass(repr=False)
class FixedTarget(View):
    """Fixed-target scores: `.ert`, `.ecdf`, `.table(name)`; `.pinned`, a frame to save."""

    optimizers: list[str] = field(default_factory=list)
    scored: Scored | None = field(default=None, repr=False, compare=False)
    """The runs with their hits: what the tables are made of."""
    name = "fixed-target"
    on_demand = ("ratios",)

    @property
    def ert(self) -> pl.DataFrame:
        """One row per optimizer, function, dimension and target."""
        return self.tables["ert"]

    @property
    def ecdf(self) -> pl.DataFrame:
        """One row per optimizer, group of functions, dimension and effort."""
        return self.tables["ecdf"]

    @property
    def runs(self) -> Scored:
        """The runs with their hits; a view that was not made from a store has none."""
        if self.scored is None:
            raise OptarenaError("this view was not made from a store: it has no runs")
        return self.scored

    @cached_property
    def ratios(self) -> pl.DataFrame:
        """COCO's table: one row per optimizer, function, dimension and target, with the reference and stars.

        See docs/scores.md 2.15.
        """
        return ratios(self.runs, self.tables["ert"], self.tables["reference"])

    def scores(self, metric: str | None = None, targets: str = "all") -> TrialScores:
        """A number for each run; instances and trials of a function in a dimension are its trials.

        metric: `area` (one minus the area under the run's ECDF of runtimes over log effort, up to the largest budget of
        the problem), `aocc` (one minus the area over the convergence curve) or `unreached` (the part of the targets).
        targets: `all`, or the `easy` or `hard` half of them.
        """
        metric = metric or "area"
        one_of("metric", metric, METRICS)
        one_of("targets", targets, PARTS)
        each = problems_of(self.runs.runs)
        values = scores_of_runs(self.runs, each.number, metric, targets)
        kind = "" if targets == "all" else f", the {targets} half of the targets"
        return self._scores(each, metric, METRICS[metric] + kind, values)

    def trial_scores(self, metric: str | None = None) -> TrialScores:
        """What `scores` gives; inf for a run without any value."""
        scores = self.scores(metric)
        assert self.scored is not None
        runs = self.scored.runs
        each = problems_of(runs)
        nothing = np.where(np.diff(runs.offsets) > 0, 0.0, np.inf)
        return replace(scores, values=scores.values + self._scores(each, scores.metric, "", nothing).values)

    def _scores(self, each: Repeated, metric: str, what: str, values: Floats) -> TrialScores:
        """values: (runs,)"""
        assert self.scored is not None
        table = self.scored.runs.table
        place = {name: i for i, name in enumerate(self.optimizers)}
        optimizer = np.array([place[name] for name in table["optimizer"]], dtype=np.int64)
        shape = (len(each.names), len(self.optimizers))
        return TrialScores(
            view=self.name,
            metric=metric,
            what=what,
            problems=each.names,
            optimizers=self.optimizers,
            values=cube(each.number, optimizer, table["trial"].to_numpy(), values, shape),
            dimensions=each.dimensions,
            functions=each.functions,
        )

    def ways(self, metric: str | None = None) -> list[tuple[str, TrialScores]]:
        """All targets, the easy and the hard half of them, and the area over the convergence curve."""
        first = metric or "area"
        out = [("fixed target" if first == "area" else f"fixed target by {first}", self.scores(first))]
        out += [(f"fixed target, {part} targets", self.scores("area", part)) for part in ("easy", "hard")]
        more = {"area": "fixed target", "aocc": "area over the convergence curve"}
        return out + [(label, self.scores(name)) for name, label in more.items() if name != first]


def fixed_target(
    results: Dataset,
    *,
    mode: str = "exact",
    targets: str | list[float] | Floats | None = None,
    axis: str = "evaluations",
    budget: float | None = None,
    over: str | None = None,
    bootstrap: int = 200,
    seed: int = 0,
    frame: str | Path | dict[str, Any] | None = None,
    quantity: Measured | None = None,
    per_decade: int = 10,
    only: Sequence[str] = tables.TABLES,
) -> FixedTarget:
    """Score a store by how long its optimizers take to reach targets of f - f_opt (docs/scores.md 2).

    mode: `exact`, or `coco` for what cocopp does (targets on its grid, runs end at 1e-8, balanced instances).
    targets: precisions, `relative:…` or `runlength:…`; by default COCO's 51, and parts of the way from
    random search to the best where no optimum is known. axis: any of `results.axes`. budget: cut runs off after so much
    effort per dimension. over: what the interval of the score is about, similar `problems` or new `trials` on exactly
    these; by default as in a comparison (docs/scores.md 5.3). bootstrap: resamplings for the intervals, seeded. frame:
    levels and targets of another view, from a file. quantity: what counts for each row, where it is not its value (an
    indicator of a front, say).
    per_decade: at how many efforts in a decade ECDFs with restarts are computed.
    only: the tables that are wanted besides `ert` and `reference`, where time counts.
    """
    for name in set(only) - set(tables.TABLES):
        raise OptarenaError(f"no table {name!r}.{nearest(name, tables.TABLES)} (there are {', '.join(tables.TABLES)})")
    one_of("mode", mode, MODES)
    if over is not None:
        one_of("over", over, OVER)
    if budget is not None and not budget > 0:
        raise OptarenaError(f"a budget per dimension is more than 0; got {budget}")
    pinned = read_frame(frame) if isinstance(frame, (str, Path)) else frame
    wanted = parse(targets)
    if pinned is not None and wanted is None and pinned["targets"]["kind"] != "default":
        wanted = Targets(pinned["targets"]["kind"], np.array(pinned["targets"]["values"], dtype=float))
    levels = None if pinned is None else _read_levels(pinned["levels"])
    parts = None if wanted is None else wanted.kind == "relative"
    runs = runs_of(results, axis, parts=parts, pinned=levels, quantity=quantity, original=mode == "coco")
    if mode == "coco":
        runs = _those_of_cocopp(runs)
    multiples = wanted.values if wanted is not None and wanted.kind == "runlength" else None
    called, compared = per_cell(runs, wanted, mode)
    scored = score(runs, called, compared, mode, budget, bootstrap, seed, multiples, per_decade)
    if wanted is not None and wanted.moved:
        scored.notes.append("targets were put in order, from the easiest to the hardest, each once")
    used = PlainFrame(
        {
            "view": "fixed-target",
            "mode": mode,
            "axis": axis,
            "budget": budget,
            "targets": to_data(wanted, called),
            "levels": {name: [None if np.isnan(level) else level, span] for name, (level, span) in runs.levels.items()},
            "optimizers": sorted(set(runs.table["optimizer"])),
        }
    )
    if pinned is not None:
        used.update(levels=pinned["levels"], optimizers=pinned["optimizers"])
    made = tables.make(scored, only)
    return FixedTarget(
        mode=mode,
        tables=made,
        frame={
            "hash": used.hash,
            "axis": axis,
            "budget": budget,
            "targets": used["targets"],
            "optimizers": used["optimizers"],
            "optimum": "best of the store where none is known" if runs.unknown.any() else "known",
            "precision": _precision(runs),
            "intervals": f"95 %, {bootstrap} seeded resamplings of runs (seed {seed})" if bootstrap else "none",
            "runs": len(runs),
        },
        excluded=runs.excluded,
        notes=[*runs.notes, *scored.notes],
        failures=runs.failures,
        covered=_covered(scored),
        pinned=used,
        optimizers=list(dict.fromkeys(runs.table["optimizer"])),
        results=results,
        over=over,
        scored=scored,
    )


def read_frame(path: str | Path) -> dict[str, Any]:
    """A frame that `--save-frame` wrote."""
    return saved(path, "fixed-target", _checked)


def _checked(data: dict[str, Any]) -> dict[str, Any]:
    _read_levels(data["levels"])
    list(data["optimizers"])
    Targets(data["targets"]["kind"], np.array(data["targets"]["values"], dtype=float))
    return dict(data)


def _read_levels(levels: dict[str, Any]) -> Levels:
    """Null: the optimum of the problem itself."""
    return {name: (np.nan if level is None else float(level), float(span)) for name, (level, span) in levels.items()}


def _precision(runs: Runs) -> str:
    """What precisions are measured in."""
    if runs.parts.all():
        return "parts of the way from random search to the optimum"
    usual = "f - f_opt" if not runs.indicator.any() else "reference - hypervolume"
    if runs.indicator.any() and not runs.indicator.all():
        usual = "f - f_opt, and reference - hypervolume"
    return f"{usual}, and parts of the way from random search to the best" if runs.parts.any() else usual


def _covered(scored: Scored) -> Coverage:
    """A problem is a function in a dimension."""
    runs = scored.runs
    each = problems_of(runs)
    optimizers, has = scored.having(each.number)
    every = np.ones(len(each.names), dtype=bool)
    original = ORIGINALS.get(scored.mode, "")
    return Coverage(each.names, each.functions, optimizers, has, every, original)


def _those_of_cocopp(runs: Runs) -> Runs:
    """cocopp counts the first ten instances of bi-objective problems."""
    late = runs.indicator & (runs.table["instance"].fill_null(0).to_numpy() > 10)
    if not late.any():
        return runs
    reason = "cocopp counts instances 1 to 10 of bi-objective problems (mode exact counts all)"
    for row in runs.table.filter(late).iter_rows(named=True):
        runs.excluded.append({**{key: row[key] for key in ("optimizer", "problem", "trial")}, "reason": reason})
    if late.all():
        raise OptarenaError(f"nothing in store {runs.results.path} can be scored: {reason}")
    return runs.only(~late)
