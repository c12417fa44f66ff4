"""For libraries that draw from the global random states of `random` and NumPy: one of a study's own."""

from __future__ import annotations

import importlib
import random
import warnings
from types import TracebackType
from typing import Any

import numpy as np


class GlobalState:
    """`with state:` around every call of such a library. Inside, the global states are a study's own, seeded once.

    What was drawn in one call is gone on with in the next. On leaving, the states are as if nothing had been drawn.
    NumPy's is exchanged as a whole, in a microsecond; that of `random` has to be written out and in, which costs a
    tenth of a millisecond a step: say `python=False` of a library that does not use it.
    """

    def __init__(self, rng: np.random.Generator, *, python: bool = True) -> None:
        seed = int(rng.integers(2**63))
        self._random: Any = random.Random(seed).getstate() if python else None
        self._numpy: Any = np.random.MT19937(np.random.SeedSequence(seed))
        self._outside: list[tuple[Any, Any]] = []

    def __enter__(self) -> None:
        outside = None
        if self._random is not None:
            outside = random.getstate()
            random.setstate(self._random)
        self._outside.append((outside, np.random.get_bit_generator()))  # type: ignore[attr-defined]
        np.random.set_bit_generator(self._numpy)  # type: ignore[attr-defined]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outside, bits = self._outside.pop()
        if outside is not None:
            self._random = random.getstate()
            random.setstate(outside)
        self._numpy = np.random.get_bit_generator()  # type: ignore[attr-defined]
        np.random.set_bit_generator(bits)  # type: ignore[attr-defined]


def import_apart(name: str) -> Any:
    """A module, imported without a word and without a draw from the user's states: some draw when they are imported."""
    with GlobalState(np.random.default_rng(0)), warnings.catch_warnings(action="ignore"):
        return importlib.import_module(name)
