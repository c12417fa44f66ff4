"""Choco: constraint models of job shops, tours and knapsacks, through pychoco."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from optarena.settings import Setting, choice
from optarena.solver import Emit, Ended, Solver, Time

REGISTERED = {
    "library": "pychoco",
    "licence": "BSD-4-Clause",
    "extra": "solvers",
    "needs": ["pychoco"],
    "names": {"Choco": "Choco"},
}

SEARCHES = ("default", "dom-wdeg", "activity", "input-order", "random")


class Choco(Solver):
    """Choco's search on one thread, each solution better than the last; `search` chooses the next decision."""

    takes = ("jobshop", "tsp", "knapsack")
    modules = ("pychoco", "pychoco.backend")
    packages = ("pychoco",)
    settings: ClassVar[dict[str, Setting]] = {"search": choice("default", SEARCHES)}

    def solve(self, instance: Any, budget: Time, emit: Emit) -> Ended:
        from pychoco import Model, backend

        model = Model()
        build: dict[str, Callable[[Any, Any], tuple[Any, list[Any], Callable[[], Any]]]] = {
            "jobshop": _jobshop,
            "tsp": _tsp,
            "knapsack": _knapsack,
        }
        objective, decisions, read = build[self.form(instance)](model, instance)
        model.set_objective(objective, instance.maximise)
        solver = model.get_solver()
        search = self.chosen["search"]
        if search == "dom-wdeg":
            solver.set_dom_over_w_deg_search(*decisions)
        elif search == "activity":
            solver.set_activity_based_search(*decisions)
        elif search == "input-order":
            solver.set_input_order_lb_search(*decisions)
        elif search == "random":
            solver.set_random_search(*decisions, seed=self.seed)
        solver.limit_time(f"{max(0.001, budget.left()):.3f}s")

        def counters() -> dict[str, float]:
            return {
                # pychoco 0.4's own get_node_count() tells the time
                "decisions": float(backend.get_node_count(solver._handle)),
                "conflicts": float(solver.get_fail_count()),
                "restarts": float(solver.get_restart_count()),
            }

        solutions, over = 0, False
        while budget.left() > 0 and not over:
            over = not solver.solve()
            if not over:
                solutions += 1
                if not emit(objective.get_value(), read(), **counters()):
                    return Ended("feasible", efforts=counters())
        # a search that ended by itself has looked everywhere; one that was stopped says so, but only after its end:
        # between two solutions Choco calls any of them optimal
        complete = solver.is_objective_optimal() if solutions else str(solver.get_search_state()) == "TERMINATED"
        word = ("optimal" if solutions else "infeasible") if over and complete else "feasible"
        return Ended(word, efforts=counters())


def _jobshop(model: Any, instance: Any) -> tuple[Any, list[Any], Callable[[], Any]]:
    on: list[list[Any]] = [[] for _ in range(instance.machines)]
    makespan = model.intvar(0, instance.horizon, "makespan")
    starts: list[list[Any]] = []
    ends: list[Any] = []
    for job in instance.jobs:
        starts.append([model.intvar(0, instance.horizon, bounded_domain=True) for _ in job])
        for o, (machine, duration) in enumerate(job):
            on[machine].append(model.task(starts[-1][o], duration))
            if o + 1 < len(job):
                model.arithm(starts[-1][o + 1], "-", starts[-1][o], ">=", duration).post()
        ends.append(model.int_offset_view(starts[-1][-1], job[-1][1]))
    model.max(makespan, ends).post()  # no more than that: a search may choose the makespan before the starts
    one = model.intvar(1, 1)
    for tasks in on:
        model.cumulative(tasks, [one] * len(tasks), one).post()
    decisions = [start for job in starts for start in job]
    return makespan, [*decisions, makespan], lambda: [[start.get_value() for start in job] for job in starts]


def _tsp(model: Any, instance: Any) -> tuple[Any, list[Any], Callable[[], Any]]:
    n, distance = instance.size, instance.distance.tolist()
    after = [model.intvar([j for j in range(n) if j != i]) for i in range(n)]
    legs = [model.intvar(0, max(distance[i])) for i in range(n)]
    for i in range(n):
        model.element(legs[i], distance[i], after[i]).post()
    total = model.intvar(0, sum(map(max, distance)), bounded_domain=True)
    model.sum(legs, "=", total).post()
    model.circuit(after).post()

    def read() -> list[int]:
        tour = [0]
        while len(tour) < n:
            tour.append(after[tour[-1]].get_value())
        return tour

    return total, after, read


def _knapsack(model: Any, instance: Any) -> tuple[Any, list[Any], Callable[[], Any]]:
    take = model.boolvars(instance.size)
    for weights, capacity in zip(instance.weight.tolist(), instance.capacity.tolist(), strict=True):
        model.scalar(take, weights, "<=", capacity).post()
    total = model.intvar(0, int(instance.profit.sum()), bounded_domain=True)
    model.scalar(take, instance.profit.tolist(), "=", total).post()
    return total, take, lambda: [item.get_value() for item in take]
