"""Reading an experiment's fields: each is checked once, where it enters, and a mistake is named by its field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from optarena.errors import OptarenaError, nearest

FIELDS = (
    "optimizers",
    "solvers",
    "problems",
    "budget",
    "seconds",
    "target",
    "trials",
    "batch",
    "record",
    "limits",
    "seed",
)
RECORD = ("all", "improvements")
LEAST_MEMORY = 500.0


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hard limits that a supervisor keeps by killing; no part of a study's identity."""

    evaluation: float | None = None
    """Seconds for one evaluation; beyond, it is recorded as timed out and the study continues."""
    study: float | None = None
    """Seconds for a study, in this life of it; beyond, it ends as timed out."""
    memory: float | None = None
    """Megabytes for a worker; beyond, allocations fail, or the evaluation is recorded as crashed."""
    deaths: int = 3
    """How often a worker may be killed from outside at the same evaluation before that counts as its crash."""


def shortened(value: Any) -> str:
    """A value in a message, however long it is."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "…"


def as_list(given: Any, single: tuple[type, ...], field: str) -> list[Any]:
    """A list of things; a single one may stand for itself."""
    if isinstance(given, single):
        return [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise OptarenaError(f"expected a list, got {given!r}", field=field)
    if not given:
        raise OptarenaError("the list is empty", field=field)
    return list(given)


def as_limits(given: Mapping[str, Any] | Limits | None) -> Limits:
    """The limits of a table; None stands for the defaults."""
    if isinstance(given, Limits):
        given = msgspec.to_builtins(given)
    if given is None:
        return Limits()
    if not isinstance(given, Mapping):
        raise OptarenaError(
            f"expected a table {{evaluation = …, study = …, memory = …}}, got {given!r}", field="limits"
        )
    known = ("evaluation", "study", "memory", "deaths")
    for key in given:
        if key not in known:
            raise OptarenaError(
                f"no such field.{nearest(str(key), known)} (known: {', '.join(known)})", field=f"limits.{key}"
            )
    values = {key: positive(given[key], f"limits.{key}") for key in known[:3] if given.get(key) is not None}
    if values.get("memory", LEAST_MEMORY) < LEAST_MEMORY:
        raise OptarenaError(
            f"a worker itself needs {LEAST_MEMORY:g} MB, got {given['memory']!r}", field="limits.memory"
        )
    return Limits(**values, deaths=count(given.get("deaths", 3), "limits.deaths"))


def count(value: Any, field: str) -> int:
    """A whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptarenaError(f"expected a whole number of at least 1, got {value!r}", field=field)
    if value > 10**9:
        raise OptarenaError(f"expected at most a thousand million, got {shortened(value)}", field=field)
    return value


def finite(value: Any, field: str) -> float:
    """A finite number."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise OptarenaError(f"expected a number, got {value!r}", field=field)
    return float(value)


def positive(value: Any, field: str) -> float:
    """A number above 0."""
    number = finite(value, field)
    if number <= 0:
        raise OptarenaError(f"expected a number above 0, got {value!r}", field=field)
    return number


def line_of(field: str, text: str) -> int | None:
    """The line of a TOML text that sets a field of the outermost table, where the text shows it."""
    for number, line in enumerate(text.splitlines(), start=1):
        head = line.strip().strip("[]").split("=")[0].strip().strip('"').split(".")[0]
        if field and head == field:
            return number
    return None
