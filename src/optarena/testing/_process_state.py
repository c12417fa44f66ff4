"""What belongs to the whole process and not to an optimizer: looked at before and after, and put back."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np

Changed = Callable[[], list[str]]
"""What has changed, one text a thing; to be called after the block."""


@contextlib.contextmanager
def seeded() -> Iterator[Changed]:
    """Watch the global random states, in a state that they hardly have by chance."""
    kept, found = _random_state(), list[str]()
    random.seed(20231)
    np.random.seed(20231)  # noqa: NPY002 (the global state is what is watched)
    before = _random_state()
    try:
        yield lambda: found
    finally:
        after = _random_state()
        found += [name for name in before if repr(before[name]) != repr(after[name])]
        random.setstate(kept["random"])
        np.random.set_state(kept["numpy.random"])  # noqa: NPY002


def _random_state() -> dict[str, Any]:
    name, keys, *rest = cast("tuple[Any, ...]", np.random.get_state())  # noqa: NPY002
    return {"random": random.getstate(), "numpy.random": (name, keys.tolist(), *rest)}


@contextlib.contextmanager
def watched() -> Iterator[Changed]:
    """Watch NumPy's error handling, the current directory, the environment and the signal handlers."""
    found: list[str] = []
    errors, handler = np.geterr(), np.geterrcall()
    directory, environment, signals = Path.cwd(), dict(os.environ), _handlers()
    try:
        yield lambda: found
    finally:
        if np.geterr() != errors:
            found.append(f"np.seterr is changed, to {np.geterr()}")
            np.seterr(**errors)
        if np.geterrcall() is not handler:
            found.append("np.seterrcall is changed")
            np.seterrcall(handler)
        if Path.cwd() != directory:
            found.append(f"the current directory is changed, to {Path.cwd()}")
            os.chdir(directory)
        names = sorted(
            name for name in environment.keys() | os.environ.keys() if environment.get(name) != os.environ.get(name)
        )
        if names:
            found.append(f"the environment is changed: {', '.join(names)}")
            for name in names:
                os.environ.pop(name, None)
            os.environ.update({name: environment[name] for name in names if name in environment})
        now = _handlers()
        moved = [number for number in signals if now[number] is not signals[number]]
        if moved:
            found.append(f"signal handlers are changed: {', '.join(signal.Signals(number).name for number in moved)}")
            for number in moved:
                if threading.current_thread() is threading.main_thread() and signals[number] is not None:
                    signal.signal(number, signals[number])


def _handlers() -> dict[int, Any]:
    """The handler of every signal; those of ours are objects, so they can be compared by `is`."""
    return {number: signal.getsignal(number) for number in signal.valid_signals() if number in _NAMED}


_NAMED = {member.value for member in signal.Signals}
