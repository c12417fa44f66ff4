"""What a whole process shares and a library uses as its own: random states, torch's threads, warnings, logs."""

from __future__ import annotations

import contextlib
import importlib
import logging
import random
import warnings
from collections.abc import Iterator
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


class TorchState:
    """The same for torch's generator; inside, torch has one thread, so that sums do not depend on the machine."""

    def __init__(self, rng: np.random.Generator) -> None:
        torch = import_apart("torch")
        self._torch = torch
        self._inside = torch.Generator().manual_seed(int(rng.integers(2**63))).get_state()
        self._outside: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        self._outside.append((self._torch.get_rng_state(), self._torch.get_num_threads()))
        self._torch.set_rng_state(self._inside)
        self._torch.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outside, threads = self._outside.pop()
        self._inside = self._torch.get_rng_state()
        self._torch.set_rng_state(outside)
        self._torch.set_num_threads(threads)


@contextlib.contextmanager
def silent() -> Iterator[None]:
    """No warnings, no log lines, no errors of NumPy; a handler that the root logger is given is taken away again."""
    handlers, level, disabled = list(logging.root.handlers), logging.root.level, logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    try:
        with warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            yield
    finally:
        logging.disable(disabled)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)


def import_apart(name: str) -> Any:
    """A module, imported without a word and without a draw from the user's states: some draw when they are imported."""
    with GlobalState(np.random.default_rng(0)), warnings.catch_warnings(action="ignore"):
        return importlib.import_module(name)
