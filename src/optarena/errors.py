"""The exceptions for users: one sentence each (what, where, what would be right)."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from optarena._json import printable
from optarena._text import lines

LONGEST_LINE = 2000
LONGEST_FIELD = 200
SUGGESTED = 3
"""Words that a message suggests at most."""


def shortened(text: str, most: int = LONGEST_LINE) -> str:
    """A text none of whose lines is longer than this: what it quotes may be a name of ten megabytes."""
    if len(text) <= most:
        return text
    return "\n".join(line if len(line) <= most else line[: most - 1] + "…" for line in text.split("\n"))


class OptarenaError(Exception):
    """Bad input or a bad call. The command line prints the sentence and exits with 2.

    `field` is the path of the field that is wrong, such as `limits.memory` or `optimizers[1].use`; the sentence begins
    with it. An error around another one (which file it was in, say) keeps the field.

    >>> str(OptarenaError("expected a list", field="problems"))
    'problems: expected a list'
    """

    def __init__(self, text: str, *, field: str = "") -> None:
        super().__init__(lines(shortened(f"{shortened(field, LONGEST_FIELD)}: {text}" if field else text)))
        self.field = field

    @property
    def top_field(self) -> str:
        """The field of the outermost table: `limits` of `limits.memory`, `optimizers` of `optimizers[1].use`."""
        return self.field.partition(".")[0].partition("[")[0]

    def within(self, place: str) -> OptarenaError:
        """The same error, where it happened in front of it."""
        out = OptarenaError(f"{place}: {self}")
        out.field = self.field
        return out


class NotInstalled(OptarenaError):
    """A package is missing that an extra brings.

    >>> str(NotInstalled("reports and figures need", "report"))
    "reports and figures need the extra 'report': pip install 'optarena[report]'"
    """

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(f"{what} the extra {extra!r}: pip install 'optarena[{extra}]'")


class DamagedStore(UserWarning):
    """Files of a store are damaged. Intact data is used, the rest counts as missing."""


class WorkError(Exception):
    """Work that was rightly asked for and failed (a full disk, say). The command line exits with 1."""

    def __init__(self, text: str) -> None:
        super().__init__(lines(text))


class Harmed(WorkError):
    """Somebody else's code closed, replaced or changed what belongs to the harness; the text says what."""


class SuggestionError(Exception):
    """An optimizer suggested what it may not: a wrong count, or a point outside the space."""


class Exhausted(Exception):
    """Raised by an optimizer that has nothing more to suggest; its study ends as `stopped early`."""


def describe(error: BaseException, *, named: bool = True, length: int = 500) -> str:
    """'ValueError: what it said', whatever the exception does when asked for its text; never longer than `length`."""
    try:
        text = str(error)
    except BaseException as trouble:
        text = f"(its text raised {type(trouble).__name__})"
    whole = printable(
        text if text and not named else f"{type(error).__name__}: {text}" if text else type(error).__name__
    )
    return whole if len(whole) <= length else whole[: length - 1] + "…"


def one_of(what: str, given: str, known: Iterable[str]) -> None:
    """Refuse a word that is not among the known ones."""
    known = list(known)
    if given not in known:
        raise OptarenaError(f"{what} must be one of {', '.join(known)}; got {given!r}.{nearest(given, known)}")


def nearest(word: str, known: Iterable[str]) -> str:
    """' Did you mean …?' for the nearest of the known words, or nothing when none is near.

    A word that is only a part of others stands for them: GA for Pymoo-GA and OpenTuner-GA.
    """
    found = _near(word.lower(), {name.lower(): name for name in known})
    return f" Did you mean {' or '.join(map(repr, found[:SUGGESTED]))}?" if found else ""


def _near(word: str, by_lower: dict[str, str]) -> list[str]:
    if close := difflib.get_close_matches(word, by_lower, n=1, cutoff=0.85):
        return [by_lower[close[0]]]
    if len(word) > 1:
        for fits in (lambda name: word in re.split(r"[^a-z0-9]+", name), lambda name: name.startswith(word)):
            if found := [by_lower[name] for name in by_lower if fits(name)]:
                return found
    if close := difflib.get_close_matches(word, by_lower, n=1, cutoff=0.6):
        return [by_lower[close[0]]]
    return [by_lower[name] for name in by_lower if len(word) > 1 and word in name]
