"""What an optimizer's settings may be: declared once, checked when an experiment is planned and when one is created.

    class NearBest(optarena.Optimizer):
        settings = {"width": number(0.1, 0, 1, open_low=True), "restarts": flag(False)}

`self.chosen` then has every setting, given or by default. A default of None means that None may be given, too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from optarena.errors import OptarenaError, nearest


class Setting(msgspec.Struct, frozen=True):
    """A default, what is expected (in words), and how a value is read (ValueError: it is not what is expected)."""

    default: Any
    expected: str
    read: Callable[[Any], Any]
    words: tuple[str, ...] = ()
    """The words among which one is chosen."""


def number(
    default: float | None, low: float = 0.0, high: float = math.inf, *, open_low: bool = False, open_high: bool = False
) -> Setting:
    """A finite number between low and high (above low, if `open_low`; below high, if `open_high`)."""
    least = f"above {low:g}" if open_low else f"of {low:g} or more"
    most = "" if high == math.inf else f" and {'below' if open_high else 'at most'} {high:g}"

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            raise ValueError
        if not low <= value <= high or (open_low and value == low) or (open_high and value == high):
            raise ValueError
        return float(value)

    return Setting(default, f"a number {least}{most}", read)


MOST = 100_000
"""Of a setting that counts something: a library that is asked for 10**30 of them hangs, or takes all memory."""


def whole(default: int | None, low: int = 1, high: int = MOST) -> Setting:
    """A whole number from low to high."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError
        return value

    return Setting(default, f"a whole number from {low:,} to {high:,}", read)


def flag(default: bool | None) -> Setting:
    """True or false."""

    def read(value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value

    return Setting(default, "true or false", read)


def text(default: str) -> Setting:
    """Any text without a NUL in it."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or "\0" in value:
            raise ValueError
        return value

    return Setting(default, "a text", read)


def choice(default: str, known: Sequence[str]) -> Setting:
    """One of the known words."""

    def read(value: Any) -> str:
        if not isinstance(value, str) or value not in known:
            raise ValueError
        return value

    return Setting(default, f"one of {', '.join(known)}", read, tuple(known))


_CALL = re.compile(r"([^()]+)\((.*)\)", re.DOTALL)


def read_call(given: str) -> tuple[str, dict[str, Any]]:
    """A name with settings, as tables write them: `CMA-ES(popsize=8, restarts=false)`; a name alone has none.

    A value is JSON (a number, true, false, null, a text in quotes, a list) or else a text as it stands, in which commas
    stand in brackets only.
    """
    found = _CALL.fullmatch(given.strip())
    if found is None or (found[2].strip() and "=" not in found[2]):
        return given, {}
    name, inside = found[1].strip(), found[2]
    settings: dict[str, Any] = {}
    for part in _parts(inside) if inside.strip() else ():
        key, equals, value = (side.strip() for side in part.partition("="))
        if not equals or not key.isidentifier() or not value:
            raise OptarenaError(f"{given}: expected setting=value between the commas, got {part.strip()!r}")
        if key in settings:
            raise OptarenaError(f"{given}: {key} is given twice")
        settings[key] = _value(value)
    return name, settings


def _parts(inside: str) -> list[str]:
    """The parts between commas that no bracket and no quotes enclose."""
    out, depth, quoted = [""], 0, False
    for sign in inside:
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign in "([{") - (sign in ")]}")
        if sign == "," and depth == 0 and not quoted:
            out.append("")
        else:
            out[-1] += sign
    return out


def _value(written: str) -> Any:
    try:
        return msgspec.json.decode({"True": "true", "False": "false", "None": "null"}.get(written, written))
    except msgspec.DecodeError:
        return written


def written_call(name: str, settings: Mapping[str, Any]) -> str:
    """A name with its settings, as `read_call` reads them."""
    if not settings:
        return name
    return f"{name}({', '.join(f'{key}={value}' for key, value in sorted(settings.items()))})"


def choose(
    name: str, declared: Mapping[str, Setting], given: Mapping[str, Any], *, kind: str = "optimizer"
) -> dict[str, Any]:
    """Every declared setting: what was given where it was given, else the default. `name` and `kind` (optimizer,
    solver) are for the message."""
    refuse_unknown(name, list(declared), given, kind=kind)
    out = {key: setting.default for key, setting in declared.items()}
    for key, value in given.items():
        setting = declared[key]
        if value is None and setting.default is None:
            continue
        try:
            out[key] = setting.read(value)
        except (ValueError, OverflowError):
            hint = nearest(value, setting.words) if isinstance(value, str) else ""
            raise OptarenaError(
                f"{name}: {key} must be {setting.expected}, got {value!r}{'.' * bool(hint)}{hint}"
            ) from None
    return out


def refuse_unknown(name: str, known: Sequence[str], given: Mapping[str, Any], *, kind: str = "optimizer") -> None:
    """Refuse a setting that is not among the known ones."""
    for key in given:
        if key not in known:
            listed = f"it has {', '.join(known)}" if known else "it has none"
            raise OptarenaError(f"{kind} {name!r} has no setting {key!r}.{nearest(key, known)} ({listed})")
