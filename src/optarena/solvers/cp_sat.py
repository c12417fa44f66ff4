"""OR-tools' CP-SAT: constraint models of job shops and tours, and linear models whose numbers are all whole."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from optarena.instance import Instance, LinearPoint
from optarena.settings import Setting, flag, number, whole
from optarena.solver import Emit, Ended, Solver, Time

REGISTERED = {
    "library": "ortools",
    "licence": "Apache-2.0",
    "extra": "solvers",
    "needs": ["ortools"],
    "names": {"CP-SAT": "CpSat"},
}

LARGEST = 1 << 53


class CpSat(Solver):
    """CP-SAT, with as many threads as `threads` says; one thread makes a run repeatable up to its time limit."""

    takes = ("jobshop", "tsp", "linear")
    modules = ("ortools.sat.python.cp_model",)
    packages = ("ortools",)
    settings: ClassVar[dict[str, Setting]] = {
        "threads": whole(1),
        "linearization": whole(1, 0),
        "presolve": flag(True),
        "symmetry": whole(2, 0),
        "gap": number(0.0),
    }

    @classmethod
    def misfit(cls, instance: Instance, chosen: Mapping[str, Any]) -> str:  # noqa: ARG003
        if cls.form(instance) != "linear":
            return ""
        return "" if instance.model.integral() else "takes whole numbers only, the instance has others"

    def solve(self, instance: Any, budget: Time, emit: Emit) -> Ended:
        from ortools.sat.python import cp_model

        model = cp_model.CpModel()
        build: dict[str, Callable[[Any, Any], Callable[[Any], Any]]] = {
            "jobshop": _jobshop,
            "tsp": _tsp,
            "linear": _linear,
        }
        read = build[self.form(instance)](model, instance)
        solver = cp_model.CpSolver()
        parameters = solver.parameters
        parameters.num_workers = self.chosen["threads"]
        parameters.random_seed = self.seed
        parameters.linearization_level = self.chosen["linearization"]
        parameters.cp_model_presolve = self.chosen["presolve"]
        parameters.symmetry_level = self.chosen["symmetry"]
        parameters.relative_gap_limit = self.chosen["gap"]
        parameters.max_time_in_seconds = max(0.001, budget.left())
        alone = self.chosen["threads"] == 1  # with several threads a counter is that of the thread which found it

        class Callback(cp_model.CpSolverSolutionCallback):  # type: ignore[misc]
            def on_solution_callback(self) -> None:
                counters = {"decisions": self.num_branches, "conflicts": self.num_conflicts} if alone else {}
                if not emit(self.objective_value, read(self), bound=self.best_objective_bound, **counters):
                    self.stop_search()

        status = solver.solve(model, Callback())
        words = {cp_model.OPTIMAL: "optimal", cp_model.INFEASIBLE: "infeasible"}
        efforts = {"decisions": float(solver.num_branches), "conflicts": float(solver.num_conflicts)}
        if status == cp_model.MODEL_INVALID:
            raise ValueError(f"CP-SAT refuses the model: {model.validate()[:300]}")
        word = words.get(status, "feasible")
        bound = solver.best_objective_bound if status in (cp_model.OPTIMAL, cp_model.FEASIBLE) else None
        if word == "optimal" and self.chosen["gap"] > 0 and bound != solver.objective_value:
            word = "feasible"
        return Ended(word, bound, efforts)


def _jobshop(model: Any, instance: Any) -> Callable[[Any], Any]:
    on: list[list[Any]] = [[] for _ in range(instance.machines)]
    makespan = model.new_int_var(0, instance.horizon, "makespan")
    starts: list[list[Any]] = []
    for job in instance.jobs:
        before: Any = 0
        starts.append([])
        for machine, duration in job:
            start = model.new_int_var(0, instance.horizon, "")
            model.add(start >= before)
            on[machine].append(model.new_fixed_size_interval_var(start, duration, ""))
            starts[-1].append(start)
            before = start + duration
        model.add(makespan >= before)
    for used in on:
        model.add_no_overlap(used)
    model.minimize(makespan)
    return lambda found: [[found.value(start) for start in job] for job in starts]


def _tsp(model: Any, instance: Any) -> Callable[[Any], Any]:
    n = instance.size
    arcs = {(i, j): model.new_bool_var("") for i in range(n) for j in range(n) if i != j}
    model.add_circuit([(i, j, taken) for (i, j), taken in arcs.items()])
    model.minimize(sum(int(instance.distance[i, j]) * taken for (i, j), taken in arcs.items()))

    def read(found: Any) -> list[int]:
        after = {i: j for (i, j), taken in arcs.items() if found.value(taken)}
        tour = [0]
        while len(tour) < n:
            tour.append(after[tour[-1]])
        return tour

    return read


def _linear(model: Any, instance: Instance) -> Callable[[Any], Any]:
    linear = instance.model
    columns = [model.new_int_var(int(low), int(high), "") for low, high in zip(linear.low, linear.high, strict=True)]
    for (used, values), low, high in zip(linear.by_rows(), linear.row_low, linear.row_high, strict=True):
        terms = sum(int(value) * columns[j] for j, value in zip(used.tolist(), values.tolist(), strict=True))
        if np.isfinite(low):
            model.add(terms >= int(low))
        if np.isfinite(high):
            model.add(terms <= int(high))
    objective = sum(int(c) * x for c, x in zip(linear.cost, columns, strict=True) if c) + int(linear.constant)
    (model.maximize if linear.maximise else model.minimize)(objective)
    return lambda found: LinearPoint(np.array([found.value(x) for x in columns], dtype=float))
