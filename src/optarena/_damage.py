"""Damaged input: whatever reading it raises becomes one sentence that names the file.

Readers check what is cheap to check and name the mistake by its place. What they do not foresee (a number beyond all
floats, an index beyond the end, nesting without end, a panic inside Polars) ends here, so no reader needs a list of
all that can be wrong with bytes.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator

from optarena.errors import OptarenaError, WorkError, describe

_BUGS = (NameError, ImportError, NotImplementedError)
"""Exceptions that no input causes: they are never hidden behind a sentence about a file."""


def is_damage(error: BaseException) -> bool:
    """Whether an exception can come from damaged data."""
    if isinstance(error, (OptarenaError, WorkError, *_BUGS)):
        return False
    return isinstance(error, Exception) or is_panic(error)


def is_panic(error: BaseException) -> bool:
    """Whether it is a panic of Polars, which is no `Exception` and which no module exports before it is raised."""
    return type(error).__name__ == "PanicException"


def damage_in_words(error: BaseException) -> str:
    """What damaged data made its reader say, in few words."""
    if isinstance(error, MemoryError):
        return "it needs more memory than there is"
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    if isinstance(error, ValueError) and "set_int_max_str_digits" in str(error):
        return "a whole number has too many digits"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return describe(error, length=200).replace("\n", " ")


@contextlib.contextmanager
def damage_named(place: object, what: str) -> Iterator[None]:
    """Turn what reading `place` raises into one sentence: it is not `what` it should be, or is damaged.

    >>> with damage_named("a.json", "a run file"):
    ...     {}["studies"]
    Traceback (most recent call last):
    optarena.errors.OptarenaError: a.json: not a run file, or damaged (KeyError: 'studies')
    """
    try:
        with quiet_panics():
            yield
    except BaseException as error:
        if not is_damage(error):
            raise
        if isinstance(error, (MemoryError, RecursionError, OSError)):
            raise OptarenaError(f"{place}: {damage_in_words(error)}") from error
        raise OptarenaError(f"{place}: not {what}, or damaged ({damage_in_words(error)})") from error


@contextlib.contextmanager
def quiet_panics() -> Iterator[None]:
    """Keep what a panic of Polars prints from the terminal: its threads write to descriptor 2 themselves.

    What anything else prints there meanwhile is printed afterwards.
    """
    try:
        kept = os.dup(2)
    except OSError:  # there is no stderr
        yield
        return
    try:
        with tempfile.TemporaryFile() as printed:
            os.dup2(printed.fileno(), 2)
            panicked = False
            try:
                yield
            except BaseException as error:
                panicked = is_panic(error) or is_panic(error.__cause__ or error)
                raise
            finally:
                os.dup2(kept, 2)
                printed.seek(0)
                if not panicked and (text := printed.read()):
                    with contextlib.suppress(OSError):
                        os.write(2, text)
    finally:
        os.close(kept)
