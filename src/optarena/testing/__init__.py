"""The conformance kit: is an optimizer, a problem or a solver well-behaved? Anyone may use it in their own tests.

    from optarena.testing import assert_optimizer
    def test_mine():
        assert_optimizer(MyOptimizer)

A finding says what was expected, what happened, and how to fix it.
"""

from __future__ import annotations

from typing import Any

from optarena.optimizer import Optimizer
from optarena.problem import Problem
from optarena.testing._finding import Finding, announced, once
from optarena.testing._optimizers import check_optimizer, time_optimizer
from optarena.testing._problems import Examined, check_problem, examine_problem
from optarena.testing._solvers import check_instance, check_solver
from optarena.testing._spaces import INTEGER, MIXED, REAL, SPACES

__all__ = [
    "INTEGER",
    "MIXED",
    "REAL",
    "SPACES",
    "Examined",
    "Finding",
    "announced",
    "assert_optimizer",
    "assert_problem",
    "assert_solver",
    "check_instance",
    "check_optimizer",
    "check_problem",
    "check_solver",
    "examine_problem",
    "once",
    "time_optimizer",
]


def assert_optimizer(optimizer: str | type[Optimizer], *, rounds: int = 6, **settings: Any) -> None:
    """Raise AssertionError with every finding. Of one that takes seconds, fewer rounds will do."""
    findings = check_optimizer(optimizer, rounds=rounds, **settings)
    assert not findings, "\n".join(map(str, once(findings)))


def assert_problem(problem: Problem) -> None:
    """Raise AssertionError with every finding."""
    findings = check_problem(problem)
    assert not findings, "\n".join(map(str, once(findings)))


def assert_solver(solver: str, **options: Any) -> None:
    """Raise AssertionError with every finding; `solver` is a name, `my.py:MySolver` or `program.toml`."""
    findings = check_solver(solver, **options)
    assert not findings, "\n".join(map(str, once(findings)))
