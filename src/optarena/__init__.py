"""optarena: which optimizer is best, on which problems, by how much, and how sure are we?

Run an experiment with your own problem, and look at the answer. In a notebook each line shows itself:

    import optarena as oa

    @oa.as_problem({"rate": {"type": "real", "space": "log", "range": [1e-5, 1e-1]}})
    def loss(x):
        return abs(x["rate"] - 1e-3)

    results = oa.Experiment(["RandomSearch", "QuasiRandom"], loss, budget=100, trials=5).run("results")
    results.compare()               # what to use, who beats whom, what is undecided
    results.fixed_cost()            # how good after so many evaluations; also fixed_target, pareto, anytime
    results.figure("convergence")   # draws offline; .save("figure.pdf")
    results.best()                  # the best point of each problem
    results.report("report.html")   # all of it on one page, to mail

What is where:

    try         try_optimizers: which one for my problem? It runs a panel until decided
    run         Experiment, use (an optimizer with settings)
    read        open (a store), read (files of other tools), from_frame (your own table); all give Results
    problems    as_problem (a function), Problem, Suite, Space, Objective, Known, Evaluation; Instance for solvers
    optimizers  Optimizer (suggest and observe), ClosedLoop (a library with a loop of its own), Solver, Capabilities
    errors      OptarenaError; Exhausted and WrongSolution are for you to raise
    checks      optarena.testing: is my optimizer, problem or solver well-behaved?

`optarena list optimizers` and `optarena list problems` in a terminal show the names that may be used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from optarena._services import provide
from optarena._version import __version__

if TYPE_CHECKING:
    from optarena.dataset import Dataset
    from optarena.errors import Exhausted, OptarenaError
    from optarena.experiment import Experiment, use
    from optarena.facade import Results, from_frame, read
    from optarena.facade import open_store as open
    from optarena.instance import Instance, WrongSolution
    from optarena.optimizer import Capabilities, Optimizer
    from optarena.optimizers.closed_loop import ClosedLoop
    from optarena.problem import Evaluation, Known, Objective, Problem, Suite, as_problem
    from optarena.solver import Solver
    from optarena.space import Space
    from optarena.trying import try_optimizers

__all__ = [  # noqa: RUF022 (in the order of the tour above)
    "try_optimizers",
    "Experiment",
    "use",
    "Results",
    "Dataset",
    "open",
    "read",
    "from_frame",
    "as_problem",
    "Problem",
    "Suite",
    "Space",
    "Objective",
    "Known",
    "Evaluation",
    "Instance",
    "Optimizer",
    "ClosedLoop",
    "Solver",
    "Capabilities",
    "OptarenaError",
    "Exhausted",
    "WrongSolution",
    "__version__",
]

# Names are found when first used, so that `optarena --help` and an import cost next to nothing.
_WHERE = {
    "Capabilities": "optarena.optimizer",
    "ClosedLoop": "optarena.optimizers.closed_loop",
    "Dataset": "optarena.dataset",
    "Evaluation": "optarena.problem",
    "Exhausted": "optarena.errors",
    "Experiment": "optarena.experiment",
    "Instance": "optarena.instance",
    "Known": "optarena.problem",
    "Objective": "optarena.problem",
    "Optimizer": "optarena.optimizer",
    "OptarenaError": "optarena.errors",
    "Problem": "optarena.problem",
    "Results": "optarena.facade",
    "Solver": "optarena.solver",
    "Space": "optarena.space",
    "Suite": "optarena.problem",
    "WrongSolution": "optarena.instance",
    "as_problem": "optarena.problem",
    "from_frame": "optarena.facade",
    "open": "optarena.facade:open_store",
    "read": "optarena.facade",
    "try_optimizers": "optarena.trying",
    "use": "optarena.experiment",
}

provide("isolated optimizer", "optarena.optimizers.isolated:isolated_optimizer")
provide("figure of a view", "optarena.report.figures:figure_of_view")
provide("tables of a figure", "optarena.report.figures:tables_of_view")
provide("figures of a view", "optarena.report.figures:figures_of_view")
provide("chart to a file", "optarena.report.output:save")
provide("run of an experiment", "optarena.facade:run")
provide("view as LaTeX", "optarena.report.boards:latex")
provide("comparison as LaTeX", "optarena.report.boards.comparison:latex")
provide("view as text", "optarena.report.boards:text")
provide("ranks as text", "optarena.report.boards.comparison:ranks_text")
provide("view as HTML", "optarena.report.showing:of_view")
provide("comparison as HTML", "optarena.report.showing:of_comparison")
provide("ranks as HTML", "optarena.report.showing:of_ranks")
provide("dataset as HTML", "optarena.report.showing:of_dataset")


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'optarena' has no attribute {name!r}")
    module, _, attribute = _WHERE[name].partition(":")
    value = getattr(importlib.import_module(module), attribute or name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return list(__all__)
