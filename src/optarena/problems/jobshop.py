"""Job shops: the classic instances that are small enough to be written down, with their optimal makespans.

    >>> from optarena.problem import build
    >>> build("jobshop/ft06").known.optimum
    (55.0,)

Ids: `jobshop/ft06`. Instances of Fisher and Thompson (ft), Lawrence (la) and Adams, Balas and Zawack (abz) as the
OR-Library has them; all optima are proven. A solution is a list of start times for each job, in the order of its
operations. `data/jobshop.txt` has, for each job, a machine and a duration for each operation.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from importlib import resources
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from optarena.instance import TOLERANCE, Instance, Linear, WrongSolution
from optarena.problem import Known, Suite
from optarena.space import Array

REGISTERED = {"names": {"jobshop": "JobShopSuite"}}

Jobs = tuple[tuple[tuple[int, int], ...], ...]

MODEL = """
int: jobs; int: machines; int: horizon;
array[1..jobs, 1..machines] of int: machine;
array[1..jobs, 1..machines] of int: duration;
array[1..jobs, 1..machines] of var 0..horizon: start;
var 0..horizon: makespan;
include "disjunctive.mzn";
constraint forall(j in 1..jobs, o in 1..machines - 1)(start[j, o] + duration[j, o] <= start[j, o + 1]);
constraint forall(j in 1..jobs)(start[j, machines] + duration[j, machines] <= makespan);
constraint forall(m in 1..machines)(
  disjunctive([start[j, o] | j in 1..jobs, o in 1..machines where machine[j, o] = m],
              [duration[j, o] | j in 1..jobs, o in 1..machines where machine[j, o] = m]));
solve :: int_search([start[j, o] | j in 1..jobs, o in 1..machines], smallest, indomain_min) minimize makespan;
"""


class _Pair(NamedTuple):
    """Two operations on one machine; `first` before `second`, or not."""

    first: tuple[int, int]
    second: tuple[int, int]


class JobShop(Instance):
    """Jobs as (machine, duration) pairs in their order; the makespan is minimised."""

    forms = ("jobshop", "linear", "minizinc", "moves", "file")

    def __init__(self, name: str, jobs: Jobs, optimum: float | None = None) -> None:
        self.function, self.jobs = name, jobs
        self.machines = 1 + max(machine for job in jobs for machine, _ in job)
        self.size = sum(map(len, jobs))
        if optimum is not None:
            self.known = Known(optimum=(float(optimum),))

    @functools.cached_property
    def horizon(self) -> int:
        """A time by which everything can be done: the jobs' operations in turn, each as early as it can be."""
        longest = max(map(len, self.jobs))
        turns = [j for turn in range(longest) for j, job in enumerate(self.jobs) if turn < len(job)]
        return int(self.cost(turns))

    def verify(self, solution: Any) -> float:
        if len(solution) != len(self.jobs):
            raise WrongSolution(f"start times of {len(solution)} jobs, there are {len(self.jobs)}")
        busy: list[list[tuple[float, float, int]]] = [[] for _ in range(self.machines)]
        makespan = 0.0
        for j, (job, starts) in enumerate(zip(self.jobs, solution, strict=True)):
            if len(starts) != len(job):
                raise WrongSolution(f"{len(starts)} start times for job {j}, which has {len(job)} operations")
            free = 0.0
            for (machine, duration), start in zip(job, map(float, starts), strict=True):
                if not start >= free - TOLERANCE:
                    raise WrongSolution(f"job {j} starts an operation at {start:g}, before {free:g}")
                free = start + duration
                busy[machine].append((start, free, j))
            makespan = max(makespan, free)
        for machine, used in enumerate(busy):
            used.sort()
            for (_, end, one), (start, _, two) in pairwise(used):
                if start < end - TOLERANCE:
                    raise WrongSolution(f"jobs {one} and {two} are on machine {machine} at {start:g}")
        return makespan

    # ---- forms -------------------------------------------------------------------------------------------------------

    def _pairs(self) -> list[_Pair]:
        on: list[list[tuple[int, int]]] = [[] for _ in range(self.machines)]
        for j, job in enumerate(self.jobs):
            for o, (machine, _) in enumerate(job):
                on[machine].append((j, o))
        return [_Pair(a, b) for used in on for i, a in enumerate(used) for b in used[i + 1 :] if a[0] != b[0]]

    def linear(self) -> Linear:
        """Start times, the makespan, and for each two operations of a machine a binary that says which is first."""
        place = {
            (j, o): i for i, (j, o) in enumerate((j, o) for j, job in enumerate(self.jobs) for o in range(len(job)))
        }
        pairs = self._pairs()
        last, n, big = len(place), len(place) + 1 + len(pairs), float(self.horizon)
        entries: list[tuple[int, int, float]] = []  # column, row, value
        low: list[float] = []

        def row(least: float, *terms: tuple[int, float]) -> None:
            entries.extend((column, len(low), value) for column, value in terms)
            low.append(least)

        for j, job in enumerate(self.jobs):
            for o in range(len(job) - 1):
                row(job[o][1], (place[j, o + 1], 1.0), (place[j, o], -1.0))
            row(job[-1][1], (last, 1.0), (place[j, len(job) - 1], -1.0))
        for i, (a, b) in enumerate(pairs, start=last + 1):
            (j, o), (k, p) = a, b
            row(self.jobs[j][o][1] - big, (place[b], 1.0), (place[a], -1.0), (i, -big))  # binary 1: a before b
            row(float(self.jobs[k][p][1]), (place[a], 1.0), (place[b], -1.0), (i, big))
        entries.sort()
        columns = np.array([column for column, _, _ in entries])
        return Linear(
            cost=np.eye(1, n, last)[0],
            low=np.zeros(n),
            high=np.where(np.arange(n) > last, 1.0, big),
            whole=np.arange(n) > last,
            row_low=np.array(low),
            row_high=np.full(len(low), np.inf),
            start=np.searchsorted(columns, np.arange(n + 1)),
            row=np.array([r for _, r, _ in entries]),
            value=np.array([value for _, _, value in entries]),
        )

    def from_linear(self, x: Array) -> list[list[int]]:
        """The schedule with the same order on each machine, everything as early as it can be."""
        starts = iter(x.tolist())
        order = sorted((next(starts), o, j) for j, job in enumerate(self.jobs) for o in range(len(job)))
        return self.from_state([j for _, _, j in order])

    def minizinc(self) -> tuple[str, dict[str, Any]]:
        return MODEL, {
            "jobs": len(self.jobs),
            "machines": self.machines,
            "horizon": self.horizon,
            "machine": [[machine + 1 for machine, _ in job] for job in self.jobs],
            "duration": [[duration for _, duration in job] for job in self.jobs],
        }

    def from_minizinc(self, output: dict[str, Any]) -> Any:
        return output["start"]

    def first(self, rng: np.random.Generator) -> list[int]:
        """A state says whose turn it is, operation by operation."""
        state: list[int] = rng.permutation([j for j, job in enumerate(self.jobs) for _ in job]).tolist()
        return state

    def neighbour(self, state: Sequence[int], rng: np.random.Generator) -> list[int]:
        """One operation's turn is moved elsewhere."""
        out = list(state)
        a, b = (rng.random(2) * len(out)).astype(int).tolist()
        out.insert(b, out.pop(a))
        return out

    def cost(self, state: Sequence[int]) -> float:
        jobs, turn = self.jobs, [0] * len(self.jobs)
        ready, free = [0] * len(jobs), [0] * self.machines
        for j in state:
            machine, duration = jobs[j][turn[j]]
            turn[j] += 1
            begin = ready[j] if ready[j] > free[machine] else free[machine]
            ready[j] = free[machine] = begin + duration
        return float(max(ready))

    def from_state(self, state: Sequence[int]) -> list[list[int]]:
        starts: list[list[int]] = [[] for _ in self.jobs]
        ready, free = [0] * len(self.jobs), [0] * self.machines
        for j in state:
            machine, duration = self.jobs[j][len(starts[j])]
            begin = max(ready[j], free[machine])
            starts[j].append(begin)
            ready[j] = free[machine] = begin + duration
        return starts

    def file(self) -> tuple[str, str]:
        lines = [f"{len(self.jobs)} {self.machines}"]
        lines += [" ".join(f"{machine} {duration}" for machine, duration in job) for job in self.jobs]
        return f"{self.function}.txt", "\n".join(lines) + "\n"


@functools.cache
def _written() -> dict[str, tuple[float, Jobs]]:
    text = (resources.files("optarena.problems") / "data" / "jobshop.txt").read_text(encoding="utf-8")
    out = {}
    for block in text.strip().split("\n\n"):
        head, _, *lines = block.splitlines()
        name, optimum = head.split()
        jobs = []
        for line in lines:
            numbers = [int(word) for word in line.split()]
            jobs.append(tuple(zip(numbers[::2], numbers[1::2], strict=True)))
        out[name] = float(optimum), tuple(jobs)
    return out


class JobShopSuite(Suite):
    name = "jobshop"
    summary = "classic job shops with proven optima, for solvers"

    def ids(self) -> Iterator[str]:
        return (f"jobshop/{name}" for name in _written())

    def build(self, id: str) -> JobShop:
        name = id.partition("/")[2]
        optimum, jobs = _written()[name]
        return JobShop(name, jobs, optimum)
