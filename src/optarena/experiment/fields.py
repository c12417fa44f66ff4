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
    "isolated",
    "until_decided",
    "max_trials",
    "max_evaluations",
    "leader_only",
    "view",
)
RACE = FIELDS[-4:]
"""The fields that only a race has."""
MAX_TRIALS = 100
"""Rounds of a race, where no other limit is given."""
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


class Race(msgspec.Struct, frozen=True):
    """How long trials are added: until it is clear which optimizer is better, or until a limit (docs/race.md)."""

    max_trials: int = MAX_TRIALS
    max_evaluations: int | None = None
    """Of all optimizers on all problems together; a round that would exceed it is not begun."""
    leader_only: bool = False
    """Whether it ends when one optimizer is better than, or equivalent to, every other one."""
    view: str | None = None
    """By which score of a trial; by default the view that answers for such studies."""


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


def as_race(until_decided: Any, given: Mapping[str, Any]) -> Race | None:
    """The limits of a race, if there is to be one; given: its fields, None where they were not given."""
    fields = {
        key: value for key, value in given.items() if value is not None and (key != "leader_only" or value is not False)
    }
    for key, value in (("until_decided", until_decided), ("leader_only", given["leader_only"])):
        if not isinstance(value, bool | None):
            raise OptarenaError(f"expected true or false, got {value!r}", field=key)
    if not until_decided:
        for key in fields:
            raise OptarenaError("this belongs to a race: add until_decided (--until-decided)", field=key)
        return None
    for key in ("max_trials", "max_evaluations"):
        if key in fields:
            fields[key] = count(fields[key], key)
    if not isinstance(fields.get("view", ""), str):
        raise OptarenaError(f"expected the name of a view, got {fields['view']!r}", field="view")
    return Race(**fields)


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
