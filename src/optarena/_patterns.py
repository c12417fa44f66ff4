"""Selecting ids: braces and globs on paths such as `bbob/f{1..24}/d{2,5}/*`. Nothing here knows a problem."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Iterator

from optarena.errors import OptarenaError

LIMIT = 100_000  # ids that one pattern may stand for: far beyond any experiment, and cheap to list
LENGTH = 1_000  # signs of a pattern: bounds how deep braces can nest

_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})(?:\.\.(\d{1,9}))?\Z")


def expand_braces(pattern: str, limit: int = LIMIT) -> list[str]:
    """`f{1..3}/d{2,5}` as the 6 texts it stands for; `{a..b..step}` and nesting work; order is kept."""
    if len(pattern) > LENGTH:
        raise OptarenaError(f"pattern {pattern[:40]!r}… has more than {LENGTH:,} signs: use several patterns")
    out: list[str] = []
    for text in _expand(pattern, pattern):
        out.append(text)
        if len(out) > limit:
            raise OptarenaError(f"pattern {pattern!r} stands for more than {limit:,} ids: narrow it")
    return out


def _expand(text: str, whole: str) -> Iterator[str]:
    start = text.find("{")
    if start < 0:
        if "}" in text:
            raise OptarenaError(f"pattern {whole!r}: a }} without its {{")
        yield text
        return
    if "}" in text[:start]:
        raise OptarenaError(f"pattern {whole!r}: a }} without its {{")
    depth, parts, begin = 0, [], start + 1
    for at in range(start, len(text)):
        sign = text[at]
        if sign == "{":
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                parts.append(text[begin:at])
                break
        elif sign == "," and depth == 1:
            parts.append(text[begin:at])
            begin = at + 1
    else:
        raise OptarenaError(f"pattern {whole!r}: a {{ without its }}")
    head, tail = text[:start], text[at + 1 :]
    for part in parts:
        for middle in _members(part, alone=len(parts) == 1, whole=whole):
            for rest in _expand(tail, whole):
                yield head + middle + rest


def _members(part: str, *, alone: bool, whole: str) -> Iterable[str]:
    found = _RANGE.match(part) if alone else None
    if found:
        low, high, step = int(found[1]), int(found[2]), int(found[3] or 1)
        if step < 1:
            raise OptarenaError(f"pattern {whole!r}: the step of a range must be at least 1")
        if low > high:
            raise OptarenaError(f"pattern {whole!r}: the range {part} runs backwards")
        return map(str, range(low, high + 1, step))
    if alone and "{" not in part:
        raise OptarenaError(f"pattern {whole!r}: {{{part}}} is neither a list {{a,b}} nor a range {{1..5}}")
    return _expand(part, whole)


def has_glob(text: str) -> bool:
    """Whether a text (braces expanded) has a wildcard in it."""
    return any(sign in text for sign in "*?[")


def matches(pattern: str, path: str) -> bool:
    """Segment by segment; a pattern with fewer segments selects everything below it."""
    wanted, given = pattern.split("/"), path.split("/")
    return len(wanted) <= len(given) and all(
        fnmatch.fnmatchcase(part, glob) for glob, part in zip(wanted, given, strict=False)
    )
