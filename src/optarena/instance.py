"""Instances: problems that a solver works on as a whole, and the forms in which they can be had. No solving here.

    class Tour(optarena.Instance):
        forms = ("tsp", "moves")
        def verify(self, solution):
            ...                     # the objective, or WrongSolution

A form is a way to read an instance: its own kind (`jobshop`: the data themselves), `linear` (a linear model with
integers), `minizinc` (a model and its data), `moves` (a solution and its neighbours), `file` (the text of a file). A
solver says which forms it takes; the first that both know is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from optarena.problem import Subject
from optarena.space import Array
from optarena.traces import Bools, Ints

TOLERANCE = 1e-6
"""How far objectives, rows, bounds and whole numbers may be missed, relative to their size where that is above 1."""


class WrongSolution(Exception):
    """The output of a solver is not a solution of the instance; the text says where."""


class Linear(NamedTuple):
    """A linear model: minimise or maximise cost @ x + constant, row_low <= A x <= row_high, low <= x <= high.

    A is given by its columns: entries start[j] to start[j + 1] of `row` and `value` belong to column j.
    """

    cost: Array
    low: Array
    high: Array
    whole: Bools
    """Which columns are integers, as bools."""
    row_low: Array
    row_high: Array
    start: Ints
    row: Ints
    value: Array
    maximise: bool = False
    constant: float = 0.0

    @property
    def columns(self) -> int:
        """The number of variables."""
        return len(self.cost)

    @property
    def rows(self) -> int:
        """The number of constraints."""
        return len(self.row_low)

    def by_rows(self) -> list[tuple[Ints, Array]]:
        """Columns and values of each row."""
        column: Ints = np.repeat(np.arange(self.columns), np.diff(self.start))
        order = np.lexsort((column, self.row))
        ends = np.searchsorted(self.row[order], np.arange(self.rows + 1))
        column, value = column[order], self.value[order]
        return [(column[a:b], value[a:b]) for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]

    def integral(self) -> bool:
        """Whether every column is a bounded integer and every coefficient a whole number."""
        numbers = (self.cost, self.value, self.row_low, self.row_high)
        fractional = any(((x != np.rint(x)) & np.isfinite(x)).any() for x in numbers)
        return bool(self.whole.all() and np.isfinite([*self.low, *self.high]).all() and not fractional)

    def objective(self, x: Sequence[float] | Array) -> float:
        """The objective of a point that satisfies everything; WrongSolution says what one violates."""
        point = np.asarray(x, dtype=float)
        if point.shape != (self.columns,):
            raise WrongSolution(f"{point.size} values for {self.columns} columns")
        if not np.isfinite(point).all():
            raise WrongSolution(f"column {int(np.flatnonzero(~np.isfinite(point))[0])} is not finite")
        slack = TOLERANCE * np.maximum(1.0, np.abs(point))
        outside = (point < self.low - slack) | (point > self.high + slack)
        if outside.any():
            j = int(np.flatnonzero(outside)[0])
            raise WrongSolution(f"column {j} is {point[j]:g}, outside [{self.low[j]:g}, {self.high[j]:g}]")
        broken = self.whole & (np.abs(point - np.rint(point)) > TOLERANCE)
        if broken.any():
            j = int(np.flatnonzero(broken)[0])
            raise WrongSolution(f"column {j} is {point[j]:g}, not a whole number")
        terms = self.value * np.repeat(point, np.diff(self.start))
        activity = np.bincount(self.row, weights=terms, minlength=self.rows)
        # a row's terms may be large and cancel: what rounding may add grows with them
        scale = np.maximum(1.0, np.bincount(self.row, weights=np.abs(terms), minlength=self.rows))
        outside = (activity < self.row_low - TOLERANCE * scale) | (activity > self.row_high + TOLERANCE * scale)
        if outside.any():
            i = int(np.flatnonzero(outside)[0])
            raise WrongSolution(f"row {i} is {activity[i]:g}, outside [{self.row_low[i]:g}, {self.row_high[i]:g}]")
        return float(self.cost @ point + self.constant)


class LinearPoint(NamedTuple):
    """A point of an instance's linear model, as a solver of such models gives it."""

    x: Array


class Instance(Subject):
    """The contract. A subclass sets `forms`, `size` and what is known; it defines `verify` and the forms it names."""

    forms: tuple[str, ...] = ()
    size: int = 0
    """How large it is, in its own unit (operations, items, cities, columns): its dimension in tables."""
    verifies: bool = True
    """Whether `verify` can check a solution; else objectives are taken as reported, and marked."""

    exact: bool = True
    """Whether every objective is a whole number."""
    decision: bool = False
    """Whether any solution will do, as there is no objective: its value is 0, and the first one ends a run."""

    @property
    def dimension(self) -> int:
        """Its size, which stands for the dimension in tables."""
        return self.size

    @property
    def maximise(self) -> bool:
        """Whether its objective is maximised."""
        return self.objectives[0].sign < 0

    def verify(self, solution: Any) -> float:
        """The objective of a solution (in the form that docs/solvers.md gives for each suite), or WrongSolution."""
        raise NotImplementedError(f"{type(self).__name__} does not define verify(solution)")

    def check(self, solution: Any) -> float:
        """The objective of a solution, or of a point of the linear model; WrongSolution where it is none."""
        if not isinstance(solution, LinearPoint):
            return self._exactly(self.verify(solution))
        value = self.model.objective(solution.x)
        worth = self.verify(self.from_linear(solution.x))
        sign = -1.0 if self.maximise else 1.0
        if sign * (worth - value) > TOLERANCE * max(1.0, abs(value)):
            raise WrongSolution(f"its point has the objective {value:g}, and stands for a solution of {worth:g}")
        return self._exactly(value)

    def _exactly(self, value: float) -> float:
        """A whole objective without what a solver's tolerances add to it."""
        near = abs(value - round(value)) <= TOLERANCE * max(1.0, abs(value))
        return float(round(value)) if self.exact and near else value

    @cached_property
    def model(self) -> Linear:
        """The linear model, made once."""
        return self.linear()

    # ---- forms -------------------------------------------------------------------------------------------------------

    def linear(self) -> Linear:
        """Form `linear`: a linear model of the instance."""
        raise NotImplementedError

    def from_linear(self, x: Array) -> Any:
        """The solution that a point of the linear model stands for."""
        return x

    def minizinc(self) -> tuple[Path | str, dict[str, Any] | Path | None]:
        """Form `minizinc`: a model (its text, or its file) and data (a dict, or a file, or none)."""
        raise NotImplementedError

    def from_minizinc(self, output: dict[str, Any]) -> Any:
        """The solution that a line of MiniZinc's output stands for; None where it cannot be verified."""
        raise NotImplementedError

    def first(self, rng: np.random.Generator) -> Any:
        """Form `moves`: some solution to begin with, in a form that suits the moves."""
        raise NotImplementedError

    def neighbour(self, state: Any, rng: np.random.Generator) -> Any:
        """Form `moves`: a state near this one, which stays as it is."""
        raise NotImplementedError

    def cost(self, state: Any) -> float:
        """Form `moves`: what is minimised; a feasible state costs its objective (negated where that is maximised)."""
        raise NotImplementedError

    def from_state(self, state: Any) -> Any:
        """Form `moves`: the solution that a state stands for."""
        return state

    def file(self) -> tuple[str, str] | Path:
        """Form `file`: a file that other programs read, or a name for it and its text."""
        raise NotImplementedError
