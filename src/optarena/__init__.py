"""optarena: which optimizer is best, on which problems, by how much, and how sure are we?"""

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
    from optarena.problem import Evaluation, Known, Objective, Problem, Suite, as_problem
    from optarena.solver import Solver
    from optarena.space import Space
    from optarena.trying import try_optimizers

__all__ = [
    "Capabilities",
    "Dataset",
    "Evaluation",
    "Exhausted",
    "Experiment",
    "Instance",
    "Known",
    "Objective",
    "OptarenaError",
    "Optimizer",
    "Problem",
    "Results",
    "Solver",
    "Space",
    "Suite",
    "WrongSolution",
    "__version__",
    "as_problem",
    "from_frame",
    "open",
    "read",
    "try_optimizers",
    "use",
]

# Names are found when first used, so that `optarena --help` and an import cost next to nothing.
_WHERE = {
    "Capabilities": "optarena.optimizer",
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
    return sorted(__all__)
