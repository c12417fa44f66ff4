"""Python's search for cyclic garbage, put off while very many small objects are made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def no_collection() -> Iterator[None]:
    """Nothing is searched for garbage meanwhile: for work that makes hundreds of thousands of objects and no cycles.

    Each search looks at all objects that are there, again and again while they become more: it took half of the time.
    """
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
