"""Checks of a problem: it evaluates, repeats itself, and does not beat its own optimum."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from optarena.errors import describe
from optarena.experiment import noise_rng
from optarena.problem import Evaluation, Problem, as_evaluation
from optarena.space import Array
from optarena.testing._finding import Finding


def check_problem(problem: Problem, points: int = 20) -> list[Finding]:
    """Evaluate random points twice; failures of single evaluations are allowed, but not of all."""
    rng = np.random.default_rng(5)
    out = _guarded(problem, "reset", lambda: problem.reset(rng))
    if out:
        return out
    return _check_problem(problem, points) + _guarded(problem, "close", problem.close)


def _guarded(problem: Problem, method: str, step: Callable[[], None]) -> list[Finding]:
    try:
        step()
    except (Exception, SystemExit) as error:
        return [Finding(method, problem.id, f"{method} raised {describe(error)}", "It must not raise.")]
    return []


def _check_problem(problem: Problem, points: int) -> list[Finding]:
    out: list[Finding] = []

    def say(check: str, what: str, fix: str) -> None:
        out.append(Finding(check, problem.id, what, fix))

    X = problem.space.sample(points, np.random.default_rng(3))
    dicts = problem.space.to_dicts(X)
    first = [_evaluate(problem, point, k) for k, point in enumerate(dicts)]
    errors = [item for item in first if isinstance(item, Exception)]
    if len(errors) == len(first):
        say("evaluates", f"all {points} random points failed ({errors[0]})", "Return a number (or an Evaluation).")
        return out
    if problem.stateless:
        second = [_evaluate(problem, point, k) for k, point in enumerate(dicts)]
        if [_plain(item) for item in first] != [_plain(item) for item in second]:
            say(
                "repeats",
                "the same point gave two values",
                "Declare noisy=True and use the generator given to evaluate, or stateless=False.",
            )
    if problem.takes_matrix:
        good = [i for i, item in enumerate(first) if isinstance(item, Evaluation)]
        singly = np.array([first[i].values for i in good])  # type: ignore[union-attr]
        try:
            matrix = np.asarray(problem.evaluate_matrix(X[good]), dtype=float).reshape(len(good), -1)
        except (Exception, SystemExit) as error:
            say("matrix", f"evaluate_matrix raised {describe(error)}", "It must give what evaluate gives, row by row.")
            return out
        if not np.array_equal(matrix, singly, equal_nan=True):
            say("matrix", "evaluate_matrix and evaluate differ", "They must agree bit for bit, whatever the batch.")
        out += _fortran_order(problem, X[good], matrix)
    optimum = problem.known.optimum
    if optimum is not None and len(problem.objectives) == 1 and not problem.noisy:
        sign = problem.objectives[0].sign
        for item in first:
            feasible = isinstance(item, Evaluation) and all(v <= 0 for v in item.violations)
            if feasible and sign * item.values[0] < sign * optimum[0] - 1e-9 * max(1.0, abs(optimum[0])):  # type: ignore[union-attr]
                say(
                    "optimum",
                    f"a random point is better than the known optimum {optimum[0]}",
                    "Correct the optimum or the sense.",
                )
                break
    return out


def _fortran_order(problem: Problem, X: Array, expected: Array) -> list[Finding]:
    """Compiled code may refuse or misread a matrix that is stored column by column."""
    fix = "Begin with X = np.ascontiguousarray(X)."
    try:
        found = np.asarray(problem.evaluate_matrix(np.asfortranarray(X)), dtype=float).reshape(expected.shape)
    except (Exception, SystemExit) as error:
        what = f"evaluate_matrix of a matrix in Fortran order raised {describe(error)}"
        return [Finding("matrix order", problem.id, what, fix)]
    if not np.array_equal(found, expected, equal_nan=True):
        what = "evaluate_matrix gives other values for a matrix in Fortran order"
        return [Finding("matrix order", problem.id, what, fix)]
    return []


def _evaluate(problem: Problem, point: dict[str, Any], k: int) -> Evaluation | Exception:
    try:
        extra = (noise_rng(11, k),) if problem.noisy else ()
        return as_evaluation(problem.evaluate(dict(point), *extra), problem)
    except (Exception, SystemExit) as error:
        return error if isinstance(error, Exception) else RuntimeError(f"SystemExit: {error}")


def _plain(item: Evaluation | Exception) -> str:
    return str(item) if isinstance(item, Exception) else repr((item.values, item.violations, item.metrics))
