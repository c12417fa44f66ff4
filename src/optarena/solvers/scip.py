"""SCIP: linear models with integers, through PySCIPOpt."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from optarena.instance import Instance, Linear, LinearPoint
from optarena.settings import Setting, choice, number
from optarena.solver import Emit, Ended, Solver, Time

REGISTERED = {
    "library": "PySCIPOpt",
    "licence": "MIT",
    "extra": "solvers",
    "needs": ["pyscipopt"],
    "names": {"SCIP": "Scip"},
}

EMPHASES = ("default", "aggressive", "fast", "off")


class Scip(Solver):
    """SCIP's branch and cut, on one thread."""

    takes = ("linear",)
    modules = ("pyscipopt",)
    packages = ("PySCIPOpt",)
    settings: ClassVar[dict[str, Setting]] = {
        "heuristics": choice("default", EMPHASES),
        "presolve": choice("default", EMPHASES),
        "separating": choice("default", EMPHASES),
        "gap": number(0.0),
    }

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended:
        import pyscipopt

        linear = instance.model
        model = pyscipopt.Model()
        model.hideOutput()
        columns = _build(pyscipopt, model, linear)
        for what in ("heuristics", "presolve", "separating"):
            setting = getattr(pyscipopt.SCIP_PARAMSETTING, self.chosen[what].upper())
            getattr(model, {"presolve": "setPresolve"}.get(what, f"set{what.capitalize()}"))(setting)
        model.setParam("randomization/randomseedshift", self.seed % 2**31)
        model.setParam("limits/gap", self.chosen["gap"])
        found = pyscipopt.SCIP_EVENTTYPE.BESTSOLFOUND

        class Handler(pyscipopt.Eventhdlr):  # type: ignore[misc]
            def eventinit(self) -> None:
                self.model.catchEvent(found, self)

            def eventexit(self) -> None:
                self.model.dropEvent(found, self)

            def eventexec(self, _event: Any) -> None:
                best = self.model.getBestSol()
                point = LinearPoint(np.array([self.model.getSolVal(best, x) for x in columns]))
                value = self.model.getSolObjVal(best)
                bound, nodes = self.model.getDualbound(), self.model.getNTotalNodes()
                bound = bound if abs(bound) < self.model.infinity() else None
                go_on = emit(value, point, bound=bound, nodes=nodes, iterations=self.model.getNLPIterations())
                if not go_on:
                    self.model.interruptSolve()

        model.includeEventhdlr(Handler(), "optarena", "reports each better solution")
        model.setParam("limits/time", max(0.001, budget.left()))
        model.optimizeNogil()
        if model.getStatus() == "inforunbd" and budget.left() > 0:
            model.freeTransform()  # presolving does not tell which of the two: without it the search does
            model.setPresolve(pyscipopt.SCIP_PARAMSETTING.OFF)
            model.setParam("limits/time", max(0.001, budget.left()))
            model.optimizeNogil()
        status = model.getStatus()
        efforts = {"nodes": float(model.getNTotalNodes()), "iterations": float(model.getNLPIterations())}
        bound: float | None = float(model.getDualbound())
        if bound is not None and abs(bound) >= model.infinity():
            bound = None
        words = {"optimal": "optimal", "infeasible": "infeasible", "unbounded": "unbounded"}
        if status in ("infeasible", "unbounded", "inforunbd"):
            return Ended(words.get(status, "no solution"), None, efforts, "unbounded or infeasible")
        return Ended(words.get(status, "feasible"), bound, efforts)


def _build(pyscipopt: Any, model: Any, linear: Linear) -> list[Any]:
    def end(value: float) -> float | None:
        return None if np.isinf(value) else float(value)

    columns = [
        model.addVar(
            vtype="I" if linear.whole[j] else "C",
            lb=end(linear.low[j]),
            ub=end(linear.high[j]),
            obj=float(linear.cost[j]),
        )
        for j in range(linear.columns)
    ]
    for (used, values), low, high in zip(linear.by_rows(), linear.row_low, linear.row_high, strict=True):
        terms = pyscipopt.quicksum(v * columns[j] for j, v in zip(used.tolist(), values.tolist(), strict=True))
        if len(used) and (np.isfinite(low) or np.isfinite(high)):
            model.addCons(pyscipopt.ExprCons(terms, end(low), end(high)))
    model.addObjoffset(linear.constant)
    (model.setMaximize if linear.maximise else model.setMinimize)()
    return columns
