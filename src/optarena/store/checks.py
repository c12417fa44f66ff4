"""The check that ends every line of a journal, so that no change of a file goes unnoticed.

A line ends with `"c":[before,check]`. `before` is the CRC-32 of the journal up to where the line begins, `check` that
up to the check itself, combined with the journal's mark: the CRC-32 of its first line. So a whole block of lines is
verified by one CRC over its bytes, each line can be verified by itself when that fails, and a line that was taken out,
came from another journal or moved is noticed too. CRC-32 of the standard library reads some gigabytes a second: that
costs much less than reading the numbers does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

_END = re.compile(rb',"c":\[(\d{1,10}),(\d{1,10})\]\}\n?\Z')
_ENDS = re.compile(rb',"c":\[\d{1,10},\d{1,10}\]\}\n')
_LONGEST = len(b',"c":[4294967295,4294967295]}\n')
SEALED = 2
"""The first format whose lines have checks."""
NO_MARK = -1
"""Of a journal in which no two lines agree on it: none can be verified."""
DIFFERS = "its content does not match its checksum"
GONE = "lines before it are missing"


class Chain:
    """Gives each line of a journal its check."""

    def __init__(self) -> None:
        self._state = 0
        self._mark: int | None = None
        self._crc32 = crc32  # whatever user code puts in its place later

    def seal(self, line: bytes) -> bytes:
        """A line, given as a JSON object, with its check and its end."""
        state = self._state
        head = b'%b,"c":[%d,' % (line[:-1], state)
        check = self._crc32(head, state)
        tail = b"%d]}\n" % (check if self._mark is None else check ^ self._mark)
        self._state = self._crc32(tail, check)
        if self._mark is None:
            self._mark = self._state
        return head + tail


def sealed(lines: Iterable[bytes]) -> bytes:
    """A complete journal of such lines."""
    return b"".join(map(Chain().seal, lines))


def has_check(line: bytes) -> bool:
    return _END.search(line, max(0, len(line) - _LONGEST)) is not None


def have_checks(data: bytes) -> bool:
    """Whether any of some lines ends with a check."""
    return _ENDS.search(data) is not None


def is_first(line: bytes) -> bool:
    """Whether a line is the intact first line of a journal; or all of a run file."""
    return followed(line, 0, 0) is not None


def mark_of(data: bytes) -> int:
    """The mark of a journal, of its first block of lines.

    Where the first line is damaged, the others are used: an intact line has the mark in its check.
    """
    first = data[: data.index(b"\n") + 1]
    state = followed(first, 0, 0)
    if state is not None:
        return state
    marks = Counter(mark for line in data.splitlines(keepends=True) if (mark := _mark_in(line)) is not None)
    mark, count = marks.most_common(1)[0] if marks else (0, 0)
    return mark if count > 1 else NO_MARK


def is_whole(line: bytes, mark: int) -> bool:
    """Whether a line with a check is intact, in the journal of this mark, wherever it is in it."""
    return _mark_in(line) == mark


def _mark_in(line: bytes) -> int | None:
    """The mark of the journal that a line belongs to, if it is intact; else any number, or None."""
    end = _END.search(line, max(0, len(line) - _LONGEST))
    if end is None or int(end[1]) >= 1 << 32:
        return None
    return crc32(line[: end.start(2)], int(end[1])) ^ int(end[2])


def _state_after(line: bytes, end: re.Match[bytes]) -> int:
    """The state of the chain after an intact line."""
    return crc32(line[end.start(2) :], crc32(line[: end.start(2)], int(end[1])))


def followed(data: bytes, state: int, mark: int) -> int | None:
    """The state of the chain after a block of complete lines; None unless each is intact and in its place.

    state: 0 at the beginning of a journal, whose first line has no mark.
    """
    end = _END.search(data, max(0, len(data) - _LONGEST))
    if end is None:
        return None
    at, check = end.start(2), crc32(memoryview(data)[: end.start(2)], state)
    only_first = state == 0 and data.find(b"\n") in (-1, len(data) - 1)
    return crc32(data[at:], check) if check ^ int(end[2]) == (0 if only_first else mark) else None


class Stretch(NamedTuple):
    """Lines of a block that follow each other: all intact, or none of them.

    what: what is wrong with the lines, or with the place before the first; empty if nothing.
    """

    low: int
    high: int
    lines: int
    good: bool
    what: str = ""


def stretches(data: bytes, state: int, mark: int) -> Iterator[tuple[Stretch, int]]:
    """A block of complete lines of which some are damaged; with the state of the chain after each.

    After a lost line the chain continues with the state in the next.
    """
    low = at = lines = 0
    known, good = True, True
    what = ""
    while at < len(data):
        high = data.index(b"\n", at) + 1
        line = data[at:high]
        was_good, good = good, is_whole(line, mark) or (at == state == 0 and is_first(line))
        end = _END.search(line, max(0, len(line) - _LONGEST)) if good else None
        gap = end is not None and known and int(end[1]) != state
        if at > low and (good != was_good or gap):
            yield Stretch(low, at, lines, was_good, what), state
            low, lines, what = at, 0, ""
        lines += 1
        if end is None:
            what, known = DIFFERS, False
        else:
            what = GONE if gap else what
            state, known = _state_after(line, end), True
        at = high
    if at > low:
        yield Stretch(low, at, lines, good, what), state
