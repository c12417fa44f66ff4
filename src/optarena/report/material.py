"""What figures and sections are made from: a store's results, and the tables that several of them share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl

from optarena.dataset import Dataset, tables
from optarena.errors import OptarenaError
from optarena.report.colours import Colours, assign
from optarena.views import score
from optarena.views._options import options_of
from optarena.views._view import View

if TYPE_CHECKING:
    from optarena.comparison import Comparison
    from optarena.views.fixed_cost import FixedCost
    from optarena.views.fixed_target import FixedTarget

ALL = "all"
ENDS = ("lower", "upper", "interval")
"""Columns of intervals in the tables that are drawn."""
DRAWN = ("ecdf", "profiles", "aocc")
"""The tables of the fixed-target view that figures and sections need, besides those that are always made."""
FINE, PAGE = 40, 10
"""Efforts in a decade at which curves with restarts are computed, for a figure of its own and for the page."""


class Material:
    """Everything is computed when first asked for, and once."""

    def __init__(
        self,
        results: Dataset,
        options: Mapping[str, Mapping[str, Any]] | None = None,
        comparing: Mapping[str, Any] | None = None,
        decided: Dataset | None = None,
        going: str = "",
        **views: View,
    ) -> None:
        """options: of views, by the view's name; comparing: of the comparison; views: those already scored, by name.

        decided: the studies that are compared, where these are not all: of a run that goes on, its complete rounds.
        going: of such a run, what is to be said of it.
        """
        self.results = results
        self._options = {name: options_of(name, given) for name, given in (options or {}).items()}
        self._comparing = dict(comparing or {})
        self._decided = decided
        self.going = going
        self._fine = False
        self.colours: Colours = assign(results.all_optimizers)
        self._tables: dict[str, pl.DataFrame] = {}
        self._views: dict[str, tuple[View | None, str]] = {name: (view, "") for name, view in views.items()}

    @property
    def running(self) -> bool:
        """Whether it is of a run that goes on: intervals for a fixed number of trials would not hold."""
        return bool(self.going)

    def so_far(self, table: pl.DataFrame) -> pl.DataFrame:
        """The table without such intervals while a run goes on (docs/scores.md 6)."""
        ends = [name for name in table.columns if name in ENDS]
        if not (self.running and ends):
            return table
        return table.with_columns(pl.lit(None, table.schema[name]).alias(name) for name in ends)

    @classmethod
    def fine(cls, results: Dataset, options: Mapping[str, Mapping[str, Any]]) -> Material:
        """For figures of their own: curves have more points than the page draws."""
        made = cls(results, options)
        made._fine = True
        return made

    # ---- views -------------------------------------------------------------------------------------------------------

    def why_no(self, name: str) -> str:
        """Why the store does not allow a view; nothing where it does."""
        return self._view(name)[1]

    def must(self, name: str) -> Any:
        """A view; where the store does not allow it, the sentence that says what to do."""
        view, reason = self._view(name)
        if view is None:
            raise OptarenaError(reason)
        return view

    def _view(self, name: str) -> tuple[View | None, str]:
        if name not in self._views:
            options: dict[str, Any] = {}
            given = self._options.get(name, {})
            if name == "fixed_target" and "indicator" not in given:
                options = {"only": DRAWN, "per_decade": FINE if self._fine else PAGE}
            try:
                self._views[name] = (_scored(self.results, name, options | given), "")
            except OptarenaError as error:
                if given and not Material(self.results).why_no(name):  # the options are wrong, not the store
                    raise
                self._views[name] = (None, str(error))
        return self._views[name]

    # ---- the fixed-cost view -----------------------------------------------------------------------------------------

    @property
    def fixed_cost(self) -> FixedCost | None:
        """The view, or None where the store does not allow it; `why_not` then says why."""
        view: Any = self._view("fixed_cost")[0]
        return view

    @property
    def why_not(self) -> str:
        return self.why_no("fixed_cost")

    def must_score(self) -> FixedCost:
        """The view; where there is none, the sentence that says what to do."""
        view: FixedCost = self.must("fixed_cost")
        return view

    @cached_property
    def scopes(self) -> dict[str, FixedCost]:
        """The view over all problems and, where there are several dimensions, over those of each, in the same frame."""
        view = self.must_score()
        out = {ALL: view}
        dimensions = self.dimensions
        if len(dimensions) > 1 and view.pinned is not None:
            given = self._options.get("fixed_cost", {})
            kept = ("metric", "over", "bootstrap", "seed")
            options: dict[str, Any] = {name: given[name] for name in kept if name in given}
            # with resamples the baseline is made of the part's own random search: it is the same for each problem
            options |= {"axis": view.frame["axis"]} if "bootstrap" in given else {"frame": view.pinned}
            for dimension in dimensions:
                part = self.results.filter(dimension=dimension)
                try:
                    out[str(dimension)] = _scored(part, "fixed_cost", {"mode": view.mode, **options})
                except OptarenaError:  # none of its problems can be scored; the whole view names them
                    continue
        return out

    def scored(self, metric: str) -> dict[str, FixedCost]:
        """The scopes in which some problem has this metric."""
        return {scope: view for scope, view in self.scopes.items() if metric in view.metrics}

    @property
    def dimensions(self) -> list[int]:
        return sorted(self.results.studies["dimension"].drop_nulls().unique().to_list())

    @property
    def effort(self) -> str:
        """What the fixed-cost view counts, in words."""
        return self.must_score().units

    def summary(self, metric: str, *, every: bool = True) -> pl.DataFrame:
        """The normalised score over efforts, in every scope that has this metric, or in that of all problems."""
        from optarena.views.fixed_cost.figure_tables import normalised

        return self._once(f"summary/{metric}/{every}", lambda: self.so_far(normalised(self._of(metric, every), metric)))

    def final(self, metric: str, *, every: bool = True) -> pl.DataFrame:
        """The leaderboard of every scope, best first; without those whose score is undefined."""
        from optarena.views.fixed_cost.figure_tables import final

        return self._once(f"final/{metric}/{every}", lambda: self.so_far(final(self._of(metric, every), metric)))

    def _of(self, metric: str, every: bool) -> dict[str, FixedCost]:
        return self.scored(metric) if every else {ALL: self.must_score()}

    def by_problem(self, metric: str) -> pl.DataFrame:
        from optarena.views.fixed_cost.figure_tables import by_problem

        return self._once(f"problems/{metric}", lambda: self.so_far(by_problem(self.must_score(), metric)))

    # ---- the fixed-target view ---------------------------------------------------------------------------------------

    @property
    def why_no_targets(self) -> str:
        return self.why_no("fixed_target")

    def must_reach(self) -> FixedTarget:
        """The view; where there is none, the sentence that says what to do."""
        view: FixedTarget = self.must("fixed_target")
        return view

    @cached_property
    def functions(self) -> pl.DataFrame:
        """What instances and trials repeat, by name."""
        return tables.functions(self.results)

    # ---- the comparison ----------------------------------------------------------------------------------------------

    @cached_property
    def _compared(self) -> tuple[Comparison | None, str]:
        from optarena.comparison import compare

        try:
            ready: Mapping[str, View] = _Ready(self) if self._decided is None else self._in_frame(self._decided)
            made = compare(self._decided or self.results, views=ready, **self._comparing)
        except OptarenaError as error:
            return None, str(error)
        if self.running:  # what is compared has ended, but the run goes on
            made.frame = {**made.frame, "provisional": True}
        return made, ""

    def _in_frame(self, decided: Dataset) -> dict[str, View]:
        """The views of those studies for which there are options: they are in the same frame as the whole page."""
        part = Material(decided, self._options)
        found = {name: part._view(name)[0] for name in self._options}
        return {name: view for name, view in found.items() if view is not None}

    def forget(self) -> None:
        """Let go of all that was computed. Comparisons refer to themselves, so that only a search for garbage would
        find them: and with them all rows that they are of."""
        made = vars(self).pop("_compared", (None, ""))[0]
        for one in [*([made, *made.others] if made is not None else []), *vars(self).pop("answers", {}).values()]:
            vars(one).pop("answer", None)
        self._views.clear()
        self._tables.clear()

    @property
    def comparison(self) -> Comparison | None:
        """Every optimizer against every other, or None where the store does not allow it."""
        return self._compared[0]

    @cached_property
    def answers(self) -> dict[str, Comparison]:
        """The comparison on all problems and, where there are several dimensions, on those of each."""
        made = self.must_compare()
        out = {ALL: made}
        if made.pairs.at_every_look:  # a race is about all its problems
            return out
        _, trials = made.given or (made.scores, made.trials)
        found = sorted({d for d in trials.dimensions if d is not None})
        for dimension in found if len(found) > 1 else ():
            here = [name for name, d in zip(trials.problems, trials.dimensions, strict=True) if d == dimension]
            try:
                out[str(dimension)] = made.part(problems=here)
            except OptarenaError:  # one trial on one problem, say: the answer to all stands alone
                continue
        return out

    @property
    def why_no_comparison(self) -> str:
        return self._compared[1]

    def must_compare(self) -> Comparison:
        made, reason = self._compared
        if made is None:
            raise OptarenaError(reason)
        return made

    @cached_property
    def ranking(self) -> list[str]:
        """All optimizers, the best first: as the answer has them; without one, by their ranks on single problems."""
        made = self.__dict__.get("_compared", (None, ""))[0]
        first = [] if made is None else made.answer.order
        if not first and self.results.studies.height:
            found = tables.ends(self.results).with_columns(rank=pl.col("key").rank().over("problem"))
            mean = found.group_by("optimizer").agg(pl.col("rank").mean())
            first = mean.sort("rank", "optimizer", nulls_last=True)["optimizer"].to_list()
        return list(dict.fromkeys([*first, *self.colours.names]))

    # ---- the rest ----------------------------------------------------------------------------------------------------

    def convergence(self, axis: str, points: int | None = None) -> pl.DataFrame:
        from optarena.views.convergence import POINTS, convergence

        most = POINTS if points is None else points
        return self._once(f"convergence/{axis}/{most}", lambda: convergence(self.results, axis, most))

    def _once(self, key: str, make: Callable[[], pl.DataFrame]) -> pl.DataFrame:
        if key not in self._tables:
            self._tables[key] = make()
        return self._tables[key]

    @cached_property
    def problems(self) -> pl.DataFrame:
        return tables.problems(self.results)

    @cached_property
    def progress(self) -> pl.DataFrame:
        return tables.progress(self.results)

    @cached_property
    def failures(self) -> pl.DataFrame:
        return tables.failures(self.results)

    @cached_property
    def best_points(self) -> pl.DataFrame:
        from optarena.dataset.best_points import best_points

        return best_points(self.results)

    @cached_property
    def times(self) -> pl.DataFrame:
        """Of all studies, and of those of each dimension where there are several: optimizer, scope, phase, …"""
        return tables.times_by_scope(self.results)


def _scored(results: Dataset, name: str, options: Mapping[str, Any]) -> Any:
    """A view whose curves have the intervals of its leaderboard, where nobody chose what they are about."""
    view: View = score(results, name, **options)
    if name in ("fixed_cost", "pareto") and view.over is None and view.claims() == "trials":
        view = score(results, name, **{**options, "over": "trials"})
    return view


class _Ready(Mapping[str, View]):
    """The views of a material for a comparison, each scored when it is asked for."""

    def __init__(self, material: Material) -> None:
        self._of = material

    def __getitem__(self, name: str) -> View:
        known = name in ("fixed_cost", "fixed_target") or name in self._of._views
        view = self._of._view(name)[0] if known else None
        if view is None:
            raise KeyError(name)
        return view

    def __iter__(self) -> Iterator[str]:
        return iter(self._of._views)

    def __len__(self) -> int:
        return len(self._of._views)


def framed(view: View) -> str:
    """What a view's scores were measured against, in a line."""
    return f"frame {view.frame['hash'][:12]}, mode {view.mode}"
