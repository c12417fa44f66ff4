"""Small travelling salesman problems: points in the plane, distances rounded to whole numbers as TSPLIB does.

    >>> from optarena.problem import build
    >>> build("tsp/berlin52").known.optimum
    (7542.0,)

Ids: `tsp/berlin52` (TSPLIB's, with its proven optimum) and `tsp/n<cities>/i<instance>`, points drawn from a square of
1000 by 1000; any numbers may be named. A solution is a tour: every city once, from 0, in the order of the visits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from optarena.instance import Instance, Linear, WrongSolution
from optarena.problem import Known, Suite
from optarena.space import Array

REGISTERED = {"names": {"tsp": "TspSuite"}}

CITIES = (10, 20, 50)
INSTANCES = range(1, 6)
_ID = re.compile(r"tsp/n([1-9][0-9]{0,2})/i([1-9][0-9]{0,5})\Z")

BERLIN52 = """
565 575 25 185 345 750 945 685 845 655 880 660 25 230 525 1000 580 1175 650 1130 1605 620 1220 580 1465 200 1530 5
845 680 725 370 145 665 415 635 510 875 560 365 300 465 520 585 480 415 835 625 975 580 1215 245 1320 315 1250 400
660 180 410 250 420 555 575 665 1150 1160 700 580 685 595 685 610 770 610 795 645 720 635 760 650 475 960 95 260
875 920 700 500 555 815 830 485 1170 65 830 610 605 625 595 360 1340 725 1740 245
"""

MODEL = """
include "circuit.mzn";
int: cities;
array[1..cities, 1..cities] of int: distance;
array[1..cities] of var 1..cities: next;
var 0..sum(i in 1..cities)(max(j in 1..cities)(distance[i, j])): total = sum(i in 1..cities)(distance[i, next[i]]);
constraint circuit(next);
solve :: int_search(next, first_fail, indomain_min) minimize total;
output ["\\(next)"];
"""


class Tsp(Instance):
    """A symmetric travelling salesman problem with whole distances."""

    forms = ("tsp", "linear", "minizinc", "moves", "file")

    def __init__(self, points: Array, optimum: float | None = None) -> None:
        self.points, self.size = points, len(points)
        apart = points[:, None, :] - points[None, :, :]
        self.distance = np.floor(np.sqrt((apart**2).sum(axis=2)) + 0.5).astype(np.int64)
        self._rows: list[list[int]] = self.distance.tolist()
        if optimum is not None:
            self.known = Known(optimum=(float(optimum),))

    def verify(self, solution: Any) -> float:
        tour = [int(city) for city in solution]
        if [float(city) for city in solution] != tour:
            raise WrongSolution("a city is a whole number")
        if sorted(tour) != list(range(self.size)):
            raise WrongSolution(f"a tour visits each of the {self.size} cities once")
        return self.cost(tour)

    def linear(self) -> Linear:
        """Miller, Tucker and Zemlin's model: a binary for each arc, and the place of each city but the first."""
        n = self.size
        arcs = [(i, j) for i in range(n) for j in range(n) if i != j]
        # rows: out of each city, into each city, and an order for each arc between cities that are not the first
        order = {arc: 2 * n + r for r, arc in enumerate(arc for arc in arcs if 0 not in arc)}
        entries = []
        for column, (i, j) in enumerate(arcs):
            entries += [(column, i, 1.0), (column, n + j, 1.0)]
            if 0 not in (i, j):
                r = order[i, j]
                entries += [(column, r, float(n - 1)), (len(arcs) + i - 1, r, 1.0), (len(arcs) + j - 1, r, -1.0)]
        entries.sort()
        columns, rows = len(arcs) + n - 1, 2 * n + len(order)
        owner = np.array([column for column, _, _ in entries])
        is_arc = np.arange(columns) < len(arcs)
        return Linear(
            cost=np.append(np.array([self.distance[arc] for arc in arcs], dtype=float), np.zeros(n - 1)),
            low=np.where(is_arc, 0.0, 1.0),
            high=np.where(is_arc, 1.0, float(n - 1)),
            whole=is_arc,
            row_low=np.where(np.arange(rows) < 2 * n, 1.0, -np.inf),
            row_high=np.where(np.arange(rows) < 2 * n, 1.0, float(n - 2)),
            start=np.searchsorted(owner, np.arange(columns + 1)),
            row=np.array([r for _, r, _ in entries]),
            value=np.array([value for _, _, value in entries]),
        )

    def from_linear(self, x: Array) -> list[int]:
        n = self.size
        after, column = {}, 0
        for i in range(n):
            for j in range(n):
                if i != j:
                    if x[column] > 0.5:
                        after[i] = j
                    column += 1
        return self._follow(after)

    def _follow(self, after: dict[int, int]) -> list[int]:
        tour = [0]
        while len(tour) < self.size and tour[-1] in after:
            tour.append(after[tour[-1]])
        return tour

    def minizinc(self) -> tuple[str, dict[str, Any]]:
        return MODEL, {"cities": self.size, "distance": self._rows}

    def from_minizinc(self, output: dict[str, Any]) -> list[int]:
        return self._follow({i: j - 1 for i, j in enumerate(output["next"])})

    def first(self, rng: np.random.Generator) -> list[int]:
        """A state is a tour."""
        return [0, *(1 + rng.permutation(self.size - 1)).tolist()]

    def neighbour(self, state: Sequence[int], rng: np.random.Generator) -> list[int]:
        """Two arcs are exchanged: what lies between them is walked the other way round."""
        a, b = sorted((1 + rng.random(2) * (self.size - 1)).astype(int).tolist())
        return [*state[:a], *reversed(state[a : b + 1]), *state[b + 1 :]]

    def cost(self, state: Sequence[int]) -> float:
        rows, before, total = self._rows, state[-1], 0
        for city in state:
            total += rows[before][city]
            before = city
        return float(total)

    def file(self) -> tuple[str, str]:
        lines = [f"NAME: {self.function}", "TYPE: TSP", f"DIMENSION: {self.size}", "EDGE_WEIGHT_TYPE: EUC_2D"]
        lines += ["NODE_COORD_SECTION", *(f"{i} {x:g} {y:g}" for i, (x, y) in enumerate(self.points, start=1)), "EOF"]
        return f"{self.function}.tsp", "\n".join(lines) + "\n"


class TspSuite(Suite):
    name = "tsp"
    summary = "small travelling salesman problems: berlin52, and random points, for solvers"

    def ids(self) -> Iterator[str]:
        yield "tsp/berlin52"
        yield from (f"tsp/n{n}/i{i}" for n in CITIES for i in INSTANCES)

    def contains(self, id: str) -> bool:
        found = _ID.match(id)
        return id == "tsp/berlin52" or (found is not None and int(found[1]) >= 3)

    def build(self, id: str) -> Tsp:
        if id == "tsp/berlin52":
            out = Tsp(np.array(BERLIN52.split(), dtype=float).reshape(-1, 2), 7542.0)
            out.function = "berlin52"
            return out
        found = _ID.match(id)
        assert found is not None
        n, instance = int(found[1]), int(found[2])
        raw = np.random.PCG64([n, instance]).random_raw(2 * n)  # the same in every version of NumPy
        out = Tsp(((raw >> np.uint64(11)) % np.uint64(1001)).astype(float).reshape(n, 2))
        out.function, out.instance = f"n{n}", instance
        return out
