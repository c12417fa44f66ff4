"""Checks of a problem: it evaluates, repeats itself, and does not beat its own optimum."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from optarena.errors import describe
from optarena.experiment import noise_rng
from optarena.problem import Evaluation, Problem, as_evaluation
from optarena.space import Array
from optarena.testing._finding import Finding, announce, blame, place_of

SECONDS = 10.0
"""Of a slow problem fewer points are evaluated: no new one after so long."""
LEAST = 3
"""Points that are evaluated however long it takes."""


class Examined(NamedTuple):
    """What must be fixed, what is allowed but good to know, and the median seconds of an evaluation."""

    findings: list[Finding]
    notes: list[Finding]
    seconds: float


def check_problem(problem: Problem, points: int = 20) -> list[Finding]:
    """Evaluate random points twice; failures of single evaluations are allowed, but not of all."""
    return examine_problem(problem, points).findings


def examine_problem(problem: Problem, points: int = 20) -> Examined:
    """The same, with what is allowed but good to know."""
    rng = np.random.default_rng(5)
    out = _guarded(problem, "reset", lambda: problem.reset(rng))
    if out:
        return Examined(out, [], 0.0)
    found = _check_problem(problem, points)
    return found._replace(findings=found.findings + _guarded(problem, "close", problem.close))


def _guarded(problem: Problem, method: str, step: Callable[[], None]) -> list[Finding]:
    try:
        step()
    except (Exception, SystemExit) as error:
        what = f"{method} raised {describe(error)}"
        return [Finding(method, problem.id, what, "It must not raise.", *blame(error))]
    return []


def _check_problem(problem: Problem, points: int) -> Examined:
    out: list[Finding] = []
    notes: list[Finding] = []
    home = place_of(getattr(problem, "call", problem.evaluate))

    def say(check: str, what: str, fix: str, place: str = "", frames: str = "") -> None:
        out.append(Finding(check, problem.id, what, fix, place or home, frames))

    X = problem.space.sample(points, np.random.default_rng(3))
    dicts = problem.space.to_dicts(X)
    first: list[Evaluation | Exception] = []
    times: list[float] = []
    for k, point in enumerate(dicts):
        if k >= LEAST and sum(times) > SECONDS:
            break
        announce(f"evaluating point {k + 1} of {points}")
        began = time.perf_counter()
        first.append(_evaluate(problem, point, k))
        times.append(time.perf_counter() - began)
    seconds = float(np.median(times))
    points = len(first)
    X, dicts = X[:points], dicts[:points]
    errors = [item for item in first if isinstance(item, Exception)]
    if len(errors) == points:
        what = f"all {points} random points failed: {_reason(errors[0])}"
        say(
            "evaluates",
            what,
            "Return a number (or an Evaluation). Single points may fail, but not all.",
            *blame(errors[0]),
        )
        return Examined(out, notes, seconds)
    if errors:
        what = f"{len(errors)} of {points} random points failed, such as: {_reason(errors[0])}"
        allowed = "That is allowed: it is recorded, and the optimizer is told."
        notes.append(Finding("evaluates", problem.id, what, allowed, *blame(errors[0])))
    if problem.stateless:
        second = []
        for k, point in enumerate(dicts):
            announce(f"evaluating point {k + 1} of {points} again")
            second.append(_evaluate(problem, point, k))
        for k, (one, two) in enumerate(zip(first, second, strict=True)):
            if _plain(one) != _plain(two):
                say(
                    "repeats",
                    f"the same point gave two values: {_shown(one)}, then {_shown(two)}, at {dicts[k]}",
                    "Declare noisy=True and use the generator given to evaluate, or stateless=False.",
                )
                break
    if problem.takes_matrix:
        good = [i for i, item in enumerate(first) if isinstance(item, Evaluation)]
        singly = np.array([first[i].values for i in good])  # type: ignore[union-attr]
        try:
            matrix = np.asarray(problem.evaluate_matrix(X[good]), dtype=float).reshape(len(good), -1)
        except (Exception, SystemExit) as error:
            fix = "It must give what evaluate gives, row by row."
            say("matrix", f"evaluate_matrix raised {describe(error)}", fix, *blame(error))
            return Examined(out, notes, seconds)
        home = place_of(problem.evaluate_matrix)
        if not np.array_equal(matrix, singly, equal_nan=True):
            say("matrix", "evaluate_matrix and evaluate differ", "They must agree bit for bit, whatever the batch.")
        out += _fortran_order(problem, X[good], matrix)
    optimum = problem.known.optimum
    if optimum is not None and len(problem.objectives) == 1 and not problem.noisy:
        sign = problem.objectives[0].sign
        for k, item in enumerate(first):
            feasible = isinstance(item, Evaluation) and all(v <= 0 for v in item.violations)
            if feasible and sign * item.values[0] < sign * optimum[0] - 1e-9 * max(1.0, abs(optimum[0])):  # type: ignore[union-attr]
                say(
                    "optimum",
                    f"a random point is better than the known optimum {optimum[0]}: {_shown(item)} at {dicts[k]}",
                    "Correct the optimum or the sense.",
                )
                break
    return Examined(out, notes, seconds)


def _reason(error: Exception) -> str:
    """What was raised; a refusal of ours, of what it returned, needs no name of a class."""
    return describe(error, named=bool(blame(error)[0]))


def _shown(item: Evaluation | Exception) -> str:
    if isinstance(item, Exception):
        return describe(item, length=100)
    return ", ".join(f"{value:g}" for value in item.values)


def _fortran_order(problem: Problem, X: Array, expected: Array) -> list[Finding]:
    """Compiled code may refuse or misread a matrix that is stored column by column."""
    fix = "Begin with X = np.ascontiguousarray(X)."
    try:
        found = np.asarray(problem.evaluate_matrix(np.asfortranarray(X)), dtype=float).reshape(expected.shape)
    except (Exception, SystemExit) as error:
        what = f"evaluate_matrix of a matrix in Fortran order raised {describe(error)}"
        return [Finding("matrix order", problem.id, what, fix, *blame(error))]
    if not np.array_equal(found, expected, equal_nan=True):
        what = "evaluate_matrix gives other values for a matrix in Fortran order"
        return [Finding("matrix order", problem.id, what, fix, place_of(problem.evaluate_matrix))]
    return []


def _evaluate(problem: Problem, point: dict[str, Any], k: int) -> Evaluation | Exception:
    try:
        extra = (noise_rng(11, k),) if problem.noisy else ()
        return as_evaluation(problem.evaluate(dict(point), *extra), problem)
    except (Exception, SystemExit) as error:
        if isinstance(error, Exception):
            return error
        return RuntimeError(f"SystemExit: {error}").with_traceback(error.__traceback__)


def _plain(item: Evaluation | Exception) -> str:
    return str(item) if isinstance(item, Exception) else repr((item.values, item.violations, item.metrics))
