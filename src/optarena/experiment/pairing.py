"""Which optimizers and solvers can work on which problems: what cannot is refused when planning, with the reason."""

from __future__ import annotations

from typing import Protocol

from optarena import optimizer as optimizers_
from optarena import solver as solvers_
from optarena.errors import OptarenaError
from optarena.experiment.uses import Use
from optarena.optimizer import Optimizer
from optarena.problem import Problem, Subject
from optarena.settings import written_call
from optarena.solver import Solver


class Terms(Protocol):
    """What an experiment gives to each of its studies, as far as not every optimizer can take it."""

    budget: int | str | None
    seconds: float | None
    target: float | None
    trials: int
    batch: int


def misfit(cls: type[Optimizer] | type[Solver], problem: Subject, terms: Terms, item: Use) -> str | None:
    """Why this optimizer or solver, as it is used, cannot work on this problem on these terms, or None."""
    if issubclass(cls, Solver):
        if terms.target is not None:
            return "is a solver and takes no target"
        chosen = solvers_.check_settings(cls, item.use, item.settings)
        return solvers_.refusal(cls, problem, terms.seconds, chosen)
    if not isinstance(problem, Problem):
        return "needs a search space, the problem is an instance for solvers (optarena list solvers)"
    can = cls.capabilities
    if len(problem.objectives) > 1 and not can.several_objectives:
        return f"takes one objective, the problem has {len(problem.objectives)}: {_for_several(cls, item)}"
    if len(problem.objectives) == 1 and not can.one_objective:
        return "takes several objectives, the problem has one"
    if problem.constraints and not can.constraints:
        return f"takes no constraints, the problem has {problem.constraints}"
    if not problem.space.continuous and not can.mixed:
        return f"takes real parameters only, the problem has {', '.join(sorted(problem.space.types))}"
    if terms.batch > 1 and not can.batch:
        return f"gives one point at a time, the batch is {terms.batch}"
    if problem.instances_only and terms.trials > 1:
        return "its noise is fixed by its instance, so trials would repeat it: take more instances instead"
    if can.uses_budget and terms.budget is None:
        return "needs to know its budget in evaluations"
    if terms.target is not None and len(problem.objectives) > 1:
        return "a target needs a single objective"
    try:
        optimizers_.check_settings(cls, item.use, item.settings, problem.dimension)
    except OptarenaError as error:
        return str(error)
    return None


def _for_several(cls: type[Optimizer], item: Use) -> str:
    """What to use instead of an optimizer for one objective."""
    listed = "one for several objectives (optarena list optimizers)"
    if item.use not in optimizers_.OPTIMIZERS:
        return f"use {listed}"
    return f"use {cls.on_several or listed}, or Scalarised(optimizer={written_call(item.use, item.settings)})"
