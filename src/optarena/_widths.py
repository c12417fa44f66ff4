"""Text in a given width: wrapped sentences, names shortened in the middle, columns that fit.

>>> middle_cut("AnOptimizerWithALongName", 12)
'AnOptim…Name'
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAME, FOLD = (20, 12), (28, 16)
"""How narrow a column of names, and one of folded texts, may become: at first, and where nothing else helps."""
HEAD = 12
"""How narrow the head of a column of numbers may become, if it is one word."""
SHARES = (0.65, 0.5, 0.35, 1.0, 0.0)
"""How much of a shortened name is its beginning: the first share is used that keeps all names apart."""


def cells(text: str) -> int:
    """How many cells of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in text)


def padded(text: str, width: int, *, right: bool = False) -> str:
    """A text with spaces up to this width, on its left where it is set flush right."""
    spaces = " " * (width - cells(text))
    return spaces + text if right else text + spaces


def middle_cut(text: str, longest: int, share: float = SHARES[0]) -> str:
    """A text of at most so many cells, with an ellipsis where its middle was; share: of its beginning."""
    if cells(text) <= longest:
        return text
    head = round((longest - 1) * share)
    return f"{_begin(text, head)}…{_begin(text[::-1], longest - 1 - head)[::-1]}"


def _begin(text: str, room: int) -> str:
    taken = 0
    for i, sign in enumerate(text):
        taken += cells(sign)
        if taken > room:
            return text[:i]
    return text


def apart(names: Sequence[str], longest: int) -> list[str]:
    """Names of at most so many cells each, cut where different names stay different."""
    if all(cells(name) <= longest for name in names):
        return list(names)
    tried = [[middle_cut(name, longest, share) for name in names] for share in SHARES]
    return next((cut for cut in tried if len(set(cut)) == len(set(names))), tried[0])


def wrapped(text: str, width: int | None, *, hanging: str | None = None) -> str:
    """Sentences, one per line, that break between words; what follows a break stands two spaces further right, or
    after `hanging`. A word that is longer than a line, such as a path, stays in one piece."""
    if width is None:
        return text
    return "\n".join(part for line in text.split("\n") for part in _folded(line, width, hanging))


def wrapped_command(before: str, words: Sequence[str], width: int | None) -> str:
    """A sentence that ends with a command: where it is too long the command follows below, in lines that a shell joins
    when they are copied."""
    whole = f"{before} {' '.join(words)}"
    if width is None or cells(whole) <= width:
        return whole
    lines = [f"  {words[0]}"]
    for word in words[1:]:
        if cells(f"{lines[-1]} {word} \\") <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"    {word}")
    return f"{wrapped(before, width)}\n" + " \\\n".join(lines)


def _folded(line: str, width: int, hanging: str | None) -> list[str]:
    if cells(line) <= width:
        return [line]
    begin = line[: len(line) - len(line.lstrip())]
    further = begin + "  " if hanging is None else hanging
    return textwrap.wrap(
        line.strip(), width, initial_indent=begin, subsequent_indent=further, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def fold_cell(text: str, width: int) -> list[str]:
    """The lines of a text in a column; a word that is longer than the column is broken."""
    return [text] if cells(text) <= width else textwrap.wrap(text, width, break_on_hyphens=False)


def head_width(head: str) -> int:
    """How narrow a column's head may become: it takes two lines, and one long word is shortened."""
    words = head.split()
    if len(words) < 2:
        return min(HEAD, cells(head))
    return next(width for width in range(max(map(cells, words)), cells(head) + 1) if len(fold_cell(head, width)) <= 2)


@dataclass(frozen=True)
class Shape:
    """A column of a table: the least width of its head, and the widths of its head and of its widest cell."""

    word: int
    head: int
    cell: int
    kind: str = "name"
    """`name` is shortened, `fold` takes several lines, `fixed` stays as it is but for its head."""

    @property
    def natural(self) -> int:
        return max(self.head, self.cell)

    def least(self, level: int) -> int:
        if self.kind == "fixed":
            return max(self.word, self.cell)
        return min(self.natural, max(self.word, (FOLD if self.kind == "fold" else NAME)[level]))


def fitted(shapes: Sequence[Shape], width: int, drop: Iterable[int] = ()) -> dict[int, int]:
    """The columns that fit, each with its width. Names, texts and heads are made narrower first; then columns go, those
    in `drop` in this order; then names become as narrow as they can, and further columns go from the right."""
    kept = set(range(len(shapes)))

    def needed(level: int) -> int:
        return sum(shapes[i].least(level) + 2 for i in kept)

    for level, going in ((0, drop), (1, range(len(shapes) - 1, 0, -1))):
        for i in going:
            if needed(level) > width:
                kept.discard(i)
    level = 0 if needed(0) <= width else 1
    least = {i: shapes[i].least(level) for i in kept}
    widths = {i: shapes[i].natural for i in sorted(kept)}
    while sum(widths.values()) + 2 * len(widths) > width:
        loose = [i for i in kept if widths[i] > least[i]]
        if not loose:
            break
        widths[max(loose, key=lambda i: widths[i])] -= 1
    return widths
