"""The check that ends every line of a journal, so that no change of a file goes unnoticed.

A line ends with `"c":[before,check]`. `check` is the CRC-32 of the journal up to there, `before` what that was where
the line begins. So a whole block of lines is verified by one CRC over its bytes, each line can be verified by itself
when that fails, and a line that was taken out, or lines in another order, are noticed too. CRC-32 of the standard
library reads some gigabytes a second: that costs much less than reading the numbers does.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple
from zlib import crc32

_END = re.compile(rb',"c":\[(\d{1,10}),(\d{1,10})\]\}\n?\Z')
_ENDS = re.compile(rb',"c":\[\d{1,10},\d{1,10}\]\}\n')
_LONGEST = len(b',"c":[4294967295,4294967295]}\n')
SEALED = 2
"""The first format whose lines have checks."""
DIFFERS = "it is not as it was written"
GONE = "lines before it are missing"


class Chain:
    """Gives each line of a journal its check."""

    def __init__(self) -> None:
        self._state = 0

    def seal(self, line: bytes) -> bytes:
        """A line, given as a JSON object, with its check and its end."""
        state = self._state
        head = b'%b,"c":[%d,' % (line[:-1], state)
        check = crc32(head, state)
        tail = b"%d]}\n" % check
        self._state = crc32(tail, check)
        return head + tail


def sealed(lines: Iterable[bytes]) -> bytes:
    """A whole journal of such lines."""
    return b"".join(map(Chain().seal, lines))


def has_check(line: bytes) -> bool:
    return _END.search(line, max(0, len(line) - _LONGEST)) is not None


def have_checks(data: bytes) -> bool:
    """Whether any of some lines ends with a check."""
    return _ENDS.search(data) is not None


def is_whole(line: bytes) -> bool:
    """Whether a line with a check is as it was written, wherever it stands."""
    end = _END.search(line, max(0, len(line) - _LONGEST))
    if end is None or int(end[1]) >= 1 << 32:
        return False
    return crc32(line[: end.start(2)], int(end[1])) == int(end[2])


def followed(data: bytes, state: int) -> int | None:
    """Where the chain stands after a block of whole lines; None unless each is as it was written, where it was."""
    end = _END.search(data, max(0, len(data) - _LONGEST))
    if end is None:
        return None
    at, check = end.start(2), int(end[2])
    return crc32(data[at:], check) if crc32(memoryview(data)[:at], state) == check else None


class Stretch(NamedTuple):
    """Lines of a block that follow each other: all as they were written, or one that is not.

    what: what is wrong with the line, or with the place before the first; empty if nothing.
    """

    low: int
    high: int
    lines: int
    good: bool
    what: str = ""


def stretches(data: bytes, state: int) -> Iterator[tuple[Stretch, int]]:
    """A block of whole lines of which some are not as they were written; with where the chain stands after each.

    After a line that is lost the chain goes on with what the next says.
    """
    low = at = lines = 0
    known = True
    what = ""
    while at < len(data):
        high = data.index(b"\n", at) + 1
        line = data[at:high]
        good = is_whole(line)
        end = _END.search(line, max(0, len(line) - _LONGEST)) if good else None
        gap = end is not None and known and int(end[1]) != state
        if (not good or gap) and at > low:
            yield Stretch(low, at, lines, True, what), state
            low, lines, what = at, 0, ""
        if not good:
            yield Stretch(at, high, 1, False, DIFFERS), state
            low, lines, what, known = high, 0, "", False
        else:
            assert end is not None
            what = GONE if gap else what
            state, lines, known = crc32(line[end.start(2) :], int(end[2])), lines + 1, True
        at = high
    if at > low:
        yield Stretch(low, at, lines, True, what), state
