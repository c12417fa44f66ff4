"""What came of trying optimizers on one problem: which to use, in the problem's own unit and sense."""

from __future__ import annotations

import html
import shutil
import sys
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena._numbers import counted, digits_apart, significant
from optarena._text import clean
from optarena._widths import wrapped
from optarena.comparison import Comparison
from optarena.comparison.race import Race, race_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Named
from optarena.facade import Results, open_store
from optarena.stats.improvement import BETTER, EQUIVALENT
from optarena.trying.naming import report_of
from optarena.views.pareto.best import best_points
from optarena.views.trial_scores import trial_scores

PARAMETERS = 12
"""Of a point, shown in a sentence."""
NARROW, WIDE = 80, 120


def on_screen(line: str, indent: str = "") -> str:
    """A sentence that fits the terminal, or 80 columns."""
    columns = shutil.get_terminal_size((NARROW, 24)).columns if sys.stdout.isatty() else NARROW
    return wrapped(f"{indent}{line}", max(40, min(columns, WIDE)), hanging=indent or "  ")


def first_failure(results: Dataset, problem: str) -> str:
    """The first evaluation of a problem that failed: its message, with the place in the user's code, and its point."""
    failed = results.failures().filter(pl.col("problem") == problem)
    if not failed.height:
        return ""
    row = failed.row(0, named=True)
    points = [one for one in results.points(row["study"]) if one["evaluation"] == row["evaluation"]]
    said = row["message"] if row["status"] in ("error", "nan") else f"{row['status']}: {row['message']}"
    return clean(said) + (f" at {said_point(points[0]['parameters'])}" if points and points[0]["parameters"] else "")


def said_point(point: dict[str, Any]) -> str:
    """{'rate': 0.0012, 'depth': 6}, with the digits that matter."""
    parts = [f"{clean(name)!r}: {_said(value)}" for name, value in list(point.items())[:PARAMETERS]]
    more = f", and {len(point) - PARAMETERS} more" if len(point) > PARAMETERS else ""
    return f"{{{', '.join(parts)}{more}}}"


def _said(value: Any) -> str:
    return (
        significant(value, 6)
        if isinstance(value, float)
        else repr(clean(value))
        if isinstance(value, str)
        else str(value)
    )


@dataclass
class Recommendation:
    """`print(it)`, or a last line in a notebook, shows the answer; the attributes have what it is made of."""

    problem: str
    results: Results
    """The studies of this problem."""
    race: Race
    """How it was decided, round by round (docs/race.md)."""

    @classmethod
    def of_store(cls, store: str | Path, problem: str) -> Recommendation:
        """The newest answer about a problem that a store has."""
        results = open_store(store)
        mine = np.flatnonzero((results.studies["problem"] == problem).to_numpy()[: len(results.attempts)])
        results = results.select(mine)
        race = race_of(results)
        if race is None:
            raise OptarenaError(f"store {store} has no finished round of a race on {problem} yet")
        return cls(problem, results, race)

    # ---- what it is made of ------------------------------------------------------------------------------------------

    def compare(self, *optimizers: Named, **options: Any) -> Comparison:
        """Who beats whom, by how much: see `Results.compare`."""
        return self.results.compare(*optimizers, **options)

    def report(self, path: str | Path | None = None) -> Path:
        """Write the report, one page that works offline; returns its path, by default `mine-loss-report.html`."""
        return self.results.report(report_of(self.problem) if path is None else path)

    @cached_property
    def comparison(self) -> Comparison:
        """Of all optimizers of the panel."""
        return self.compare()

    @property
    def use(self) -> str:
        """The optimizer to use: the one that is shown to be best, else the best of those that nobody beats."""
        found = self.comparison.answer
        order = found.order or self.race.plan.optimizers
        if self._beyond:  # scores are of all that was run, and this is about the race
            by_median = {name: value * self._sign for name, value in self._medians.items() if value is not None}
            order = sorted(order, key=lambda name: by_median.get(name, np.inf))
        return found.winner or next((name for name in order if name in self.race.live), order[0])

    @property
    def decided(self) -> bool:
        """Whether it is shown to be better than, or equivalent to, all others."""
        return self.comparison.answer.winner is not None

    @cached_property
    def _best(self) -> dict[str, Any]:
        found = self.results.best()
        return found[0] if found else {}

    @property
    def best_value(self) -> float | None:
        """The best value that anyone found, in the problem's own sense; None if no point is feasible, or for fronts."""
        value: float | None = self._best.get("best")
        return value

    @property
    def best_point(self) -> dict[str, Any]:
        """Where it was found."""
        point: dict[str, Any] = self._best.get("parameters", {})
        return point

    @cached_property
    def front(self) -> list[dict[str, Any]]:
        """Of several objectives: the points that nothing dominates, each with `values` and `parameters`."""
        return best_points(self.results)

    # ---- what it says ------------------------------------------------------------------------------------------------

    @cached_property
    def sentences(self) -> list[str]:
        """The answer: what to use and the best found; whom it beats; what a usual run finds; what failed."""
        if self.best_value is None and not self.front:
            made = counted(int(self.results.studies["evaluations"].sum()), "evaluation")
            what = "found a feasible point" if self.results.cards[0].constraints else "has a finite value"
            return [f"Nothing to recommend: none of {made} {what}.", *filter(None, [self._failed])]
        first = f"Use {clean(self.use)}{'' if self.decided else ' for now; it is not decided yet'}."
        return [f"{first} {self._found}", *filter(None, [self._others, self._usual, self._failed])]

    @property
    def _found(self) -> str:
        if self.best_value is None:
            ends = [
                f"{clean(key)} from {significant(min(values))} to {significant(max(values))}"
                for key in self.front[0]["values"]
                for values in [[point["values"][key] for point in self.front]]
            ]
            return f"The best front of all runs has {counted(len(self.front), 'point')}: {', '.join(ends)}."
        by = "" if self._best["optimizer"] == self.use else f" (found by {clean(self._best['optimizer'])})"
        name = self.results.cards[0].objectives[0].name
        what = "value" if name == "value" else clean(name)
        return f"Best {what} {significant(self.best_value, 6)} at {said_point(self.best_point)}{by}."

    @property
    def _others(self) -> str:
        """Whom it beats, who is equivalent, with whom it is undecided."""
        found, mine = self.comparison.answer, self.use
        groups: dict[str, list[str]] = {"beats": [], "same": [], "gone": [], "open": []}
        for name in found.order or self.race.plan.optimizers:
            pair = found.met.get((mine, name))
            if pair is None:
                continue
            if pair["verdict"] == BETTER:
                groups["beats"].append(clean(name))
            elif pair["verdict"] == EQUIVALENT:
                groups["same"].append(clean(name))
            elif name in self.race.out:
                groups["gone"].append(f"{clean(name)} (by {clean(self.race.out[name][0])})")
            else:
                unit = "" if groups["open"] else " of duels"
                share = "" if pair["pi"] is None else f" (wins {100 * pair['pi']:.0f} %{unit})"
                groups["open"].append(f"{clean(name)}{share}")
        parts = [f"It beats {listed(groups['beats'])}"] if groups["beats"] else []
        if groups["same"]:
            parts.append(f"{listed(groups['same'])} {'is' if len(groups['same']) == 1 else 'are'} equivalent")
        if groups["gone"]:
            parts.append(f"{listed(groups['gone'])} {'was' if len(groups['gone']) == 1 else 'were'} beaten before")
        if groups["open"]:
            after = f"after {counted(self.race.rounds, 'trial')}"
            parts.append(f"not decided {after} against {listed(groups['open'])}")
        said = "; ".join(parts)
        return f"{said[:1].upper()}{said[1:]}." if said else ""

    @property
    def _usual(self) -> str:
        """What one run finds, beside random search."""
        mine = self._medians.get(self.use)
        if mine is None:
            return ""
        budget = self.race.plan.budgets.get(self.problem)
        run = "A run" if budget is None else f"A run of {counted(budget, 'evaluation')}"
        chance = self._medians.get("RandomSearch")
        digits = digits_apart([mine, chance, self.best_value])
        with_chance = chance is not None and self.use != "RandomSearch"
        beside = f", RandomSearch {significant(chance, digits)}" if with_chance else ""
        medians = f"(medians of {counted(self.race.rounds, 'trial')})"
        return f"{run} usually finds {significant(mine, digits)}{beside} {medians}."

    @property
    def _sign(self) -> float:
        return self.results.cards[0].objectives[0].sign

    @property
    def _beyond(self) -> bool:
        """Whether the store has longer runs of this problem than the race, or more of them."""
        studies, budget = self.results.studies, self.race.plan.budgets.get(self.problem, np.inf)
        return bool((studies["trial"] >= self.race.rounds).any() or (studies["evaluations"] > budget).any())

    @cached_property
    def _medians(self) -> dict[str, float | None]:
        """By optimizer: the median value of its rounds at the budget of the race; trials beyond it may be longer."""
        if self.race.plan.view != "fixed_cost" or self.best_value is None:
            return {}
        scored = trial_scores(self.results, self.race.plan.view, self.race.plan.budgets)
        out: dict[str, float | None] = {}
        for name, values in zip(scored.optimizers, scored.values[0, :, : self.race.rounds], strict=True):
            there = values[~np.isnan(values)]
            middle = float(np.median(there)) if there.size else np.inf
            out[name] = middle * self._sign if np.isfinite(middle) else None
        return out

    @property
    def _failed(self) -> str:
        studies = self.results.studies
        made, failed = int(studies["evaluations"].sum()), int(studies["failures"].sum())
        parts = [f"{failed:,} of {counted(made, 'evaluation')} failed"] if failed else []
        lost = studies.filter(pl.col("status") == "failed")
        if lost.height:
            names = listed(list(dict.fromkeys(clean(name) for name in lost["optimizer"])))
            count = "counts" if lost.height == 1 else "count"
            parts.append(f"{counted(lost.height, 'run')} of {names} failed and {count} as lost")
        return f"{'; '.join(parts)} (optarena status {clean(self.results.path)} --failed)." if parts else ""

    def __str__(self) -> str:
        first, *more = self.sentences
        return "\n".join([on_screen(first), *(on_screen(line, "  ") for line in more)])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        first, *more = (html.escape(line) for line in self.sentences)
        table = self.comparison._repr_html_()
        return f"<p><strong>{first}</strong></p><p>{'<br>'.join(more)}</p>{table}"


def listed(names: list[str]) -> str:
    """A, B and C."""
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
