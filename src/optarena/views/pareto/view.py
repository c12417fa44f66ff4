"""The view: a store in, the tables `problem`, `summary`, `anytime`, `studies` and `attainment` out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest, one_of
from optarena.traces import Bools, Floats
from optarena.views._scores import Measured, Scores
from optarena.views._view import View
from optarena.views.coverage import Coverage
from optarena.views.pareto import tables
from optarena.views.pareto.frame import REFERENCE_POINT, Frame, fitting, make_frame, read_frame
from optarena.views.pareto.measures import EXACT_UP_TO, GREATER, INDICATORS, NEVER_NEGATIVE, RANKED, Yardstick, measure
from optarena.views.pareto.studies import Studies, studies_of
from optarena.views.selection import COUNTED, cube
from optarena.views.summary import OVER, possible

if TYPE_CHECKING:
    from optarena.views.fixed_target import FixedTarget

INSTEAD = "igd_plus"
"""What ranks the fronts of a problem where none of them has any hypervolume (docs/scores.md 3.5)."""
MOMENTS = 24
"""Of the anytime table, at most, beside the ends of studies."""


@dataclass(repr=False)
class Pareto(View):
    """Scores of fronts: `.problem`, `.summary`, `.anytime`, `.table(name)`; `.pinned`, a frame to save."""

    pinned: Frame | None = None
    optimizers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    """(problems,)"""
    studies: Studies | None = field(default=None, repr=False, compare=False)
    name = "pareto"

    @property
    def problem(self) -> pl.DataFrame:
        """At the end: one row per optimizer, problem and indicator."""
        return self.tables["problem"]

    @property
    def summary(self) -> pl.DataFrame:
        """At the end, over all problems: one row per optimizer and indicator."""
        return self.tables["summary"]

    @property
    def anytime(self) -> pl.DataFrame:
        """Over effort; the problem is null over all problems."""
        return self.tables["anytime"]

    def leaderboard(self, indicator: str = "hypervolume_ratio") -> pl.DataFrame:
        """The summary of one indicator, best first, with the number of problems on which each is the best.

        Where no front of a problem has any hypervolume, the best has the least IGD+; where that is so on all problems,
        so is the order (docs/scores.md 3.5). The interval of the mean stays within what is possible; null: it is
        infinite.
        """
        one_of("the indicator that fronts are ranked by", indicator, RANKED)
        down = indicator in GREATER
        flat = self.flat_problems if down else []
        by = pl.when(pl.col("problem").is_in(flat)).then(pl.lit(INSTEAD)).otherwise(pl.lit(indicator))
        each = self.problem.filter(pl.col("indicator") == by, pl.col("mean").is_not_null())
        each = each.filter(~pl.col("problem").is_in(self.coverage["left_out"]))
        each = each.with_columns(
            loss=pl.col("mean") * pl.when(pl.col("indicator") == INSTEAD).then(1).otherwise(-1 if down else 1)
        )
        wins = each.filter(pl.col("loss") == pl.col("loss").min().over("problem"))
        wins = wins.group_by("optimizer").agg(best_on=pl.len())
        order = self.summary.filter(pl.col("indicator") == INSTEAD).select("optimizer", instead="mean")
        by_instead = down and self.all_flat
        low = 0.0 if indicator in NEVER_NEGATIVE else -np.inf
        high = max(1.0, float(np.nanmax(self._cube(indicator), initial=0.0))) if indicator == GREATER[1] else np.inf
        rows = self.summary.filter(pl.col("indicator") == indicator)
        if down and not rows.height:  # the reference sets have no volume either: there is no ratio
            rows = self.summary.filter(pl.col("indicator") == GREATER[0])
        return (
            rows.join(wins, on="optimizer", how="left")
            .with_columns(pl.col("best_on").fill_null(0))
            .with_columns(**{end: possible(end, low, high) for end in ("mean_lb", "mean_ub")})
            .join(order, on="optimizer", how="left")
            .sort(
                "instead" if by_instead else "mean",
                "optimizer",
                descending=[down and not by_instead, False],
                nulls_last=True,
            )
            .drop("instead")
        )

    @property
    def flat_problems(self) -> list[str]:
        """The problems on which no front has any hypervolume."""
        return [name for name, flat in zip(self.problems, self.without_volume, strict=True) if flat]

    @property
    def two_objectives(self) -> bool:
        """Whether all problems have two objectives."""
        assert self.pinned is not None
        return all(len(self.pinned.problems[name].senses) == 2 for name in self.problems)

    @property
    def all_flat(self) -> bool:
        """Whether no front has any hypervolume on any problem that averages are over."""
        return not set(self.problems) - set(self.coverage["left_out"]) - set(self.flat_problems)

    def scores(self, metric: str | None = None) -> Scores:
        """An indicator of every study's front at the end; where more is better (hypervolume), 1 less it."""
        metric = metric or "hypervolume_ratio"
        if metric in INDICATORS and metric not in RANKED:
            raise OptarenaError(
                f"{metric} alone says nothing of how good a front is: rank by others beside it, as in"
                f" --by problem --metric hypervolume,igd,{metric}"
            )
        one_of("metric", metric, RANKED)
        values = self._cube(metric)
        return Scores(
            view=self.name,
            metric=metric,
            what=f"1 - {metric} of the final front" if metric in GREATER else f"{metric} of the final front",
            problems=self.problems,
            optimizers=self.optimizers,
            values=1 - values if metric in GREATER else values,
            dimensions=[None] * len(self.problems),
            functions=self.functions,
        )

    def trial_scores(self, metric: str | None = None) -> Scores:
        """What `scores` gives, but inf for an empty front, and IGD+ where all fronts of a problem have no volume.

        Hypervolumes are negated, not taken from 1: equal ones would differ there by rounding (docs/scores.md 0.4).
        """
        scores = self.scores(metric)
        values, what = scores.values, scores.what
        if scores.metric in GREATER:
            values = -self._cube(scores.metric)
            flat = self.without_volume
            if flat.any():
                values = np.where(flat[:, None, None], self._cube(INSTEAD), values)
                what += f"; {INSTEAD} on {int(flat.sum())} problems where no front has a volume"
        empty = self._cube("non_dominated") == 0
        return replace(scores, what=what, values=np.where(empty & ~np.isnan(values), np.inf, values))

    def measured(self, metric: str | None = None) -> Measured:
        """An indicator of every study's front at the end; `spread` is the generalised one with more than two
        objectives, and IGD+ stands in for hypervolume where no front of a problem has any (docs/scores.md 3.5)."""
        metric = metric or "hypervolume_ratio"
        one_of("metric", metric, INDICATORS)
        values, names = self._cube(metric), [metric] * len(self.problems)
        said = [""] * len(self.problems)
        assert self.pinned is not None
        for p, problem in enumerate(self.problems):
            if metric in GREATER and self.without_volume[p]:
                names[p], said[p] = INSTEAD, "no front has any hypervolume: ranked by IGD+"
            elif metric == "spread" and len(self.pinned.problems[problem].senses) > 2:
                names[p] = "generalised_spread"
            values[p] = self._cube(names[p])[p] if names[p] != metric else values[p]
        there = ~np.isnan(self._cube("non_dominated"))
        empty = (self._cube("non_dominated") == 0) | np.isnan(values)  # a single point has no spread
        signs = [-1.0 if name in (*GREATER, "non_dominated") else 1.0 for name in names]
        values = np.where(there, np.where(empty, np.inf, values), np.nan)
        return Measured(metric, self.problems, self.optimizers, values, signs, names, said)

    @staticmethod
    def not_by_spread_alone(metrics: Sequence[str]) -> None:
        """Refuse measures that say nothing of how near a front is (docs/scores.md 3.9)."""
        if not set(metrics) & set(RANKED):
            shown, beside = ", ".join(metrics), ",".join(("hypervolume", *metrics))
            raise OptarenaError(f"{shown}: says nothing of how good a front is; rank by another beside it: {beside}")

    @property
    def without_volume(self) -> Bools:
        """(problems,): whether every front has hypervolume 0: its studies are ranked by IGD+ (docs/scores.md 3.5)."""
        return np.asarray(np.nanmax(self._cube("hypervolume"), axis=(1, 2), initial=0.0) == 0)

    def _cube(self, indicator: str) -> Floats:
        """(problems, optimizers, trials): an indicator of the final fronts."""
        table = self.table("studies")
        problem, optimizer = (
            np.array([known.index(name) for name in table[column]], dtype=np.int64)
            for column, known in (("problem", self.problems), ("optimizer", self.optimizers))
        )
        shape = (len(self.problems), len(self.optimizers))
        values = table[indicator].cast(pl.Float64).fill_null(np.nan).to_numpy()
        return cube(problem, optimizer, table["trial"].to_numpy(), values, shape)

    def ways(self, metric: str | None = None) -> list[tuple[str, Scores]]:
        first = metric or "hypervolume_ratio"
        return [(f"fronts by {name}", self.scores(name)) for name in (first, *(one for one in RANKED if one != first))]

    def runtimes(
        self, indicator: str = "hypervolume_ratio", targets: str | Sequence[float] | None = None, **options: Any
    ) -> FixedTarget:
        """How long until the distance of an indicator to the reference set's is within targets: the fixed-target view.

        targets: 51 from 1 to 1e-5 by default. options: those of `optarena.views.fixed_target.fixed_target`.
        """
        from optarena.views.pareto.quantity import runtimes

        assert self.studies is not None
        assert self.pinned is not None
        return runtimes(self.studies, self.pinned, indicator, targets, options)

    def fronts(self, problem: str) -> pl.DataFrame:
        """The front of each study of a problem at the end, in its own senses: optimizer, trial, f1, f2, …"""
        assert self.studies is not None
        assert self.pinned is not None
        if problem not in self.pinned.problems or problem not in self.studies.problems:
            raise OptarenaError(f"no problem {problem!r}.{nearest(problem, self.problems)}")
        signs = self.pinned.problems[problem].signs
        parts = []
        for i, points in self.studies.fronts(self.studies.problems.index(problem)):
            row = self.studies.table.row(i, named=True)
            values = {f"f{j + 1}": column for j, column in enumerate((points * signs + 0.0).T)}
            names = {"optimizer": row["optimizer"], "trial": row["trial"]}
            parts.append(pl.DataFrame(values).select(*(pl.lit(v).alias(k) for k, v in names.items()), pl.all()))
        schema = {"optimizer": pl.String, "trial": pl.Int64, **{f"f{j + 1}": pl.Float64 for j in range(len(signs))}}
        return pl.concat([pl.DataFrame(schema=schema), *(part.cast(schema) for part in parts)])  # type: ignore[arg-type]


def pareto(
    results: Dataset,
    *,
    reference: str | None = None,
    size: int | None = None,
    epsilon: float | Mapping[str, float] | None = None,
    reference_point: float = REFERENCE_POINT,
    axis: str = "evaluations",
    over: str | None = None,
    frame: str | Path | Frame | None = None,
) -> Pareto:
    """Score the fronts of a store's studies with several objectives, at the end and over effort (docs/scores.md 3).

    reference: `true`, `crowding`, `bdom-count` or `cdom`; by default the true front where it is known, else crowding.
    size: of a reference set made of all fronts; by default that of the largest front. epsilon: points whose numeric
    parameters differ by no more are duplicates; one number, or one for each parameter by name. reference_point: of
    hypervolumes, where the ideal is 0 and the nadir 1. axis: any of `results.axes`. over: whether intervals are for
    similar `problems`, or for new `trials` on exactly these; by default tables have the former and the leaderboard's
    score what a comparison claims (docs/scores.md 5.3). frame: a saved one instead of all this.
    """
    asked, over = over, over or "problems"
    one_of("over", over, OVER)
    own = (reference, size, epsilon, reference_point) != (None, None, None, REFERENCE_POINT)
    if frame is not None and own:
        raise OptarenaError("a given frame has its reference: leave reference, size, epsilon and reference_point out")
    given = read_frame(frame) if isinstance(frame, (str, Path)) else frame
    every = studies_of(results, axis)
    if given is None:
        used = make_frame(every, reference, size, epsilon, reference_point)
    else:
        used = fitting(given, every)
    grid = _grid(every)
    sticks = {name: Yardstick(one.points, one.corner) for name, one in used.problems.items() if name in every.problems}
    values = _values(every, used, sticks, grid)
    best = np.full((len(every.problems), len(INDICATORS)), np.nan)
    for p, name in enumerate(every.problems):
        if name in sticks:
            best[p] = sticks[name].figures
    scored = np.array([every.problems[p] in sticks for p in every.problem], dtype=bool)
    scores = tables.score(every, values, best, grid, over)
    attainment = tables.attainment_table(every, used)
    _tell(every, used, sticks)
    return Pareto(
        mode="exact",
        tables={
            "problem": tables.problem_table(every, scores),
            "summary": tables.summary_table(every, scores),
            "anytime": tables.anytime_table(every, scores, grid),
            "studies": tables.study_table(every, values, scored),
            "attainment": attainment,
        },
        frame={
            "hash": used.hash,
            "axis": axis,
            "optimizers": used.optimizers,
            "source": "given" if given is not None else "the store's fronts and what is known of its problems",
            "problems": {name: msgspec.to_builtins(one) for name, one in used.problems.items()},
            "hypervolume": {name: stick.volume for name, stick in sticks.items()},
            "intervals": f"95 % over {over}",
            "runs": int(scored.sum()),
        },
        excluded=every.excluded,
        notes=every.notes,
        failures=every.failures,
        covered=Coverage(
            every.problems,
            every.functions,
            every.optimizers,
            tables.having(every),
            np.array([name in sticks for name in every.problems], dtype=bool),
        ),
        results=results,
        over=asked,
        pinned=used,
        optimizers=every.optimizers,
        problems=[name for name in every.problems if name in sticks],
        functions=[function for function, name in zip(every.functions, every.problems, strict=True) if name in sticks],
        studies=every,
    )


def _grid(every: Studies) -> Floats:
    """The moments of the anytime table: every one where they are few, else a geometric grid, ends among it."""
    ends = np.where(np.isinf(every.end), every.last, every.end)
    last = float(ends.max())
    if every.axis in COUNTED:
        if last <= MOMENTS:
            return np.arange(1.0, last + 1)
        few = np.unique(ends)
        few = few if len(few) <= MOMENTS // 4 else few[-1:]
        return np.unique(np.concatenate((np.round(np.geomspace(1, last, MOMENTS)), few)))
    if not last > 0:
        raise OptarenaError(f"every study ends at 0 on the axis {every.axis!r}")
    return np.geomspace(last / 1000, last, MOMENTS)


def _values(every: Studies, frame: Frame, sticks: dict[str, Yardstick], grid: Floats) -> Floats:
    """[studies, moments, indicators]: NaN beyond a study's end and without a frame; the last moment is the end."""
    out = np.full((len(every), len(grid) + 1, len(INDICATORS)), np.nan)
    for i, effort in enumerate(every.efforts):
        name = every.problems[every.problem[i]]
        if name not in sticks:
            continue
        made = np.searchsorted(effort * (1 - 1e-12), grid, side="right")
        points = frame.problems[name].normalised(every.points(i))
        out[i] = measure(points, sticks[name], np.append(made, len(effort)))
        out[i, :-1][grid > every.end[i] * (1 + 1e-12)] = np.nan
    return out


def _tell(every: Studies, frame: Frame, sticks: dict[str, Yardstick]) -> None:
    """Say what a reader should know of the frame."""
    many = [name for name, stick in sticks.items() if len(stick.corner) > EXACT_UP_TO]
    if many:
        every.notes.append(
            f"hypervolumes with more than {EXACT_UP_TO} objectives are approximated ({', '.join(many[:3])})"
        )
    wide = [name for name, stick in sticks.items() if len(stick.corner) > 2]
    if wide:
        every.notes.append("r2 and spread are for two objectives: see generalised_spread for more")
    kept = {name: one.dominated for name, one in frame.problems.items() if one.dominated}
    for name, count in list(kept.items())[:3]:
        every.notes.append(f"{name}: {count} points of the reference set are dominated and not used for indicators")
    empty = sum(not len(rows) for rows in every.final)
    if empty:
        every.notes.append(f"{counted(empty, 'study')} found no feasible point: an empty front")
    if every.axis in COUNTED:
        uneven = [name for p, name in enumerate(every.problems) if len(np.unique(every.end[every.problem == p])) > 1]
        if uneven:
            more = f" and {len(uneven) - 1} more" if len(uneven) > 1 else ""
            every.notes.append(
                f"studies of {uneven[0]}{more} end after different numbers of {every.axis}: "
                "`anytime` compares them at equal effort"
            )
    every.note_unequal_trials()
