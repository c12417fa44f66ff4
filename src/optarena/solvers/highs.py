"""HiGHS: linear models with integers, through highspy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from optarena.instance import Instance, Linear, LinearPoint
from optarena.settings import Setting, choice, number, whole
from optarena.solver import Emit, Ended, Solver, Time

REGISTERED = {
    "library": "highspy",
    "licence": "MIT",
    "extra": "solvers",
    "needs": ["highspy"],
    "names": {"HiGHS": "Highs"},
}


class Highs(Solver):
    """HiGHS' branch and bound; a model without integers is solved by its simplex or interior point method."""

    takes = ("linear",)
    modules = ("highspy",)
    packages = ("highspy",)
    settings: ClassVar[dict[str, Setting]] = {
        "threads": whole(1),
        "presolve": choice("choose", ("choose", "on", "off")),
        "heuristics": number(0.05, 0.0, 1.0),
        "gap": number(0.0),
    }

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended:
        import highspy

        highs = highspy.Highs()
        model = instance.model
        options: Mapping[str, Any] = {
            "output_flag": False,
            "threads": self.chosen["threads"],
            "random_seed": self.seed,
            "presolve": self.chosen["presolve"],
            "mip_heuristic_effort": self.chosen["heuristics"],
            "mip_rel_gap": self.chosen["gap"],
        }
        for name, value in options.items():
            highs.setOptionValue(name, value)
        highs.passModel(_lp(highspy, model))

        def improved(event: Any) -> None:
            out = event.data_out
            point = LinearPoint(np.array(out.mip_solution, dtype=float))
            go_on = emit(
                out.objective_function_value,
                point,
                bound=out.mip_dual_bound,
                nodes=out.mip_node_count,
            )
            stop[0] = not go_on

        def interrupt(event: Any) -> None:
            if stop[0]:
                event.interrupt()

        stop = [False]
        highs.cbMipImprovingSolution += improved
        highs.cbMipInterrupt += interrupt
        highs.setOptionValue("time_limit", max(0.001, budget.left()))
        highs.run()
        if highs.getModelStatus() == highspy.HighsModelStatus.kUnboundedOrInfeasible and budget.left() > 0:
            highs.clearSolver()  # presolve does not tell which of the two: without it the search does
            highs.setOptionValue("presolve", "off")
            highs.setOptionValue("time_limit", max(0.001, budget.left()))
            highs.run()
        info, status = highs.getInfo(), highs.getModelStatus()
        return self._ended(highspy, highs, model, status, info, emit)

    def _ended(self, highspy: Any, highs: Any, model: Linear, status: Any, info: Any, emit: Emit) -> Ended:
        words = highspy.HighsModelStatus
        efforts = {"iterations": float(max(0, info.simplex_iteration_count))}
        discrete = bool(model.whole.any())
        if discrete:
            efforts["nodes"] = float(max(0, info.mip_node_count))
        if status == words.kInfeasible:
            return Ended("infeasible", efforts=efforts)
        if status in (words.kUnbounded, words.kUnboundedOrInfeasible):
            known = status == words.kUnbounded
            return Ended("unbounded" if known else "no solution", efforts=efforts, remark="unbounded or infeasible")
        if status in (words.kModelError, words.kLoadError, words.kSolveError, words.kPresolveError):
            raise ValueError(f"HiGHS says: {highs.modelStatusToString(status)}")
        bound = float(info.mip_dual_bound) if discrete else None
        if status != words.kOptimal:
            return Ended("feasible", bound, efforts)
        value = float(info.objective_function_value)
        if not discrete:  # no callback reports the solution of a linear program
            bound = value
            emit(value, LinearPoint(np.array(highs.getSolution().col_value)), bound=value, **efforts)
        reached = bound is not None and abs(value - bound) > 1e-6 * max(1.0, abs(value))
        return Ended("feasible" if self.chosen["gap"] > 0 and reached else "optimal", bound, efforts)


def _lp(highspy: Any, model: Linear) -> Any:
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = model.columns, model.rows
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.cost, model.low, model.high
    lp.row_lower_, lp.row_upper_ = model.row_low, model.row_high
    lp.offset_ = model.constant
    lp.sense_ = highspy.ObjSense.kMaximize if model.maximise else highspy.ObjSense.kMinimize
    lp.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    lp.a_matrix_.start_, lp.a_matrix_.index_, lp.a_matrix_.value_ = model.start, model.row, model.value
    kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
    if model.whole.any():
        lp.integrality_ = [kinds[bool(yes)] for yes in model.whole]
    return lp
