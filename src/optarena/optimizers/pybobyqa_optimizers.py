"""Py-BOBYQA: BOBYQA in Python with models for noise and restarts, with its own sequence of evaluations. GPL."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState
from optarena.optimizers.closed_loop import START, ClosedLoop, Function
from optarena.settings import flag, number, whole
from optarena.space import Array

REGISTERED = {
    "library": "Py-BOBYQA",
    "licence": "GPL-3.0-or-later",
    "extra": "pybobyqa",
    "needs": ["pybobyqa"],
    "names": {"Py-BOBYQA": "PyBOBYQA"},
}

MOST = 100_000
"""Evaluations: it takes memory for them all, and shifts it at each step."""


class PyBOBYQA(ClosedLoop):
    """Quadratic models in a trust region within bounds (Cartis, Fiala, Marteau and Roberts 2019).

    Good for: smooth functions, and noisy ones with `objfun_has_noise`, of up to some 20 reals; local unless
    `seek_global_minimum`, which restarts. Why beside NLopt-BOBYQA: noise, restarts, and few evaluations each.
    Its package is under the GPL and hence an extra of its own.

    The variables are scaled to their bounds, as its authors advise where bounds are known, so `rhobeg`, the first
    radius, and `rhoend`, the last, are in that scale. `npt` points make a model: 2 D + 1 where none are given, and
    (D + 1)(D + 2) / 2 for noise. All else is its default, but for the limit of evaluations, which is 100,000.
    """

    packages = ("Py-BOBYQA",)

    settings: ClassVar = {
        "x0": START,
        "rhobeg": number(0.1, 0.0, 0.5, open_low=True),
        "rhoend": number(1e-8, open_low=True),
        "npt": whole(None, 2),
        "objfun_has_noise": flag(False),
        "seek_global_minimum": flag(False),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:
        if chosen["rhoend"] >= chosen["rhobeg"]:
            return f"rhoend must be below rhobeg ({chosen['rhobeg']:g}), got {chosen['rhoend']:g}"
        npt = chosen["npt"]
        if dimension is None or npt is None:
            return ""
        most = (dimension + 1) * (dimension + 2) // 2
        if dimension < npt <= most:
            return ""
        return f"npt must be from D + 1 to (D + 1)(D + 2) / 2, here {dimension + 1} to {most}, got {npt}"

    def minimise(self, fun: Function) -> str:
        import pybobyqa

        given = dict(self.chosen)
        x0 = self.start(given.pop("x0"))
        with _Inside(self.rng) as inside:
            soln = pybobyqa.solve(
                lambda x: inside.leave(fun, x),
                x0,
                bounds=(self.lower, self.upper),
                scaling_within_bounds=True,
                maxfun=MOST,
                do_logging=False,
                **given,
            )
        converged = soln.flag == soln.EXIT_SUCCESS
        return f"{'converged' if converged else 'ended without success'}: {soln.msg}"


class _Inside:
    """NumPy's global generator and warnings as the minimiser has them, put aside whenever it leaves for a value."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._state = GlobalState(rng, python=False)
        self._quiet: Any = None

    def __enter__(self) -> _Inside:
        self._enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._exit()

    def _enter(self) -> None:
        self._state.__enter__()
        self._quiet = warnings.catch_warnings(action="ignore")
        self._quiet.__enter__()

    def _exit(self) -> None:
        self._quiet.__exit__(None, None, None)
        self._state.__exit__(None, None, None)

    def leave(self, fun: Function, x: Array) -> float:
        self._exit()
        try:
            return fun(x)
        finally:
            self._enter()
