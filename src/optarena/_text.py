r"""Text that others wrote, made safe to show: in a terminal, a table, a web page, a paper, a spreadsheet.

>>> one_line("bad\x1b[31m name\nand more")
'bad\\u001b[31m name and more'
>>> mailable("no file '/home/anna/data/iris.csv'")
"no file 'iris.csv'"
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from optarena._widths import Shape, apart, fitted, fold_cell, head_width, padded, wrapped
from optarena._widths import cells as cells_of

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control characters, characters that only direct or join others, lone surrogates, separators of lines."""
SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
LONGEST = 20_000
"""Characters of one line of a terminal: names in it may have any length."""
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""How a cell begins that a spreadsheet would compute."""


def visible(text: str) -> str:
    r"""A text in which nothing is hidden: control characters and those that turn the reading order are `\u202e`."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written(sign) if unicodedata.category(sign) in UNSEEN else sign for sign in text)


def _written(sign: str) -> str:
    code = ord(sign)
    return SHORT.get(sign) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def one_line(text: str) -> str:
    """A text for one line of a terminal: line ends and tabs are spaces, whatever else is hidden is written out."""
    if text.isascii() and text.isprintable():
        return text
    return visible(text.replace("\r\n", " ").translate({ord(sign): " " for sign in SHORT}))


def lines(text: str, longest: int = LONGEST) -> str:
    """The same line by line: a sentence per line, as error messages are."""
    return "\n".join(shortened(one_line(line), longest) for line in text.split("\n"))


def shortened(text: str, longest: int = LONGEST) -> str:
    """A text of at most so many characters, with an ellipsis where it was cut."""
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def visible_json(text: str) -> str:
    """JSON that means the same, with nothing in it that a terminal would obey."""
    return text if text.isascii() and "\x7f" not in text else "".join(map(_json_sign, text))


def _json_sign(sign: str) -> str:
    if sign == "\n" or unicodedata.category(sign) not in UNSEEN:
        return sign
    units = sign.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[i : i + 4]}" for i in range(0, len(units), 4))


def not_a_formula(text: str) -> str:
    """A cell that a spreadsheet takes for text: what would begin a formula is marked by an apostrophe."""
    return f"'{text}" if text.startswith(FORMULA) else text


# ---- tables --------------------------------------------------------------------------------------------------------

WIDEST = 1_000
"""Characters of a cell: all rows of a table are as wide as its widest."""


def table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    right: Collection[str | int] = (),
    whole: Collection[str | int] = (),
    width: int | None = None,
    drop: Sequence[str | int] = (),
    fold: Collection[str | int] = (),
) -> str:
    """Aligned columns; those in `right` are set flush right. A long cell is cut, but not in a column of `whole`.
    Columns are named by their heads or their places.

    With a width the table fits it: the columns of `fold` take several lines, other texts are shortened in the middle,
    and if that is not enough columns are left out, those in `drop` first, and named.
    """
    flush, complete, folded = (
        [head in chosen or i in chosen for i, head in enumerate(headers)] for chosen in (right, whole, fold)
    )
    longest = [LONGEST if yes else WIDEST for yes in complete]
    cells = [[clean(cell, most) for most, cell in zip(longest, row, strict=True)] for row in rows]
    heads = [clean(head, WIDEST) for head in headers]
    shapes = []
    for i in range(len(headers)):
        kind = "fold" if folded[i] else "fixed" if flush[i] or complete[i] else "name"
        word = cells_of(heads[i]) if complete[i] and not flush[i] else head_width(heads[i])
        widest = max((cells_of(row[i]) for row in cells), default=0)
        shapes.append(Shape(word, cells_of(heads[i]), widest, kind))
    widths = {i: shape.natural for i, shape in enumerate(shapes)}
    if width is not None and sum(widths.values()) + 2 * len(widths) > width:
        order = [headers.index(one) if isinstance(one, str) else one for one in drop]
        widths = fitted(shapes, width, order)
        long = [i for i, size in widths.items() if " " not in heads[i] and cells_of(heads[i]) > size]
        for i, cut in zip(
            long, apart([heads[i] for i in long], min((widths[i] for i in long), default=0)), strict=True
        ):
            heads[i] = cut  # a name at the head of a column of numbers
    columns = [_column(heads[i], [row[i] for row in cells], shapes[i].kind, size) for i, size in widths.items()]
    lines = []
    for number, parts in enumerate(zip(*columns, strict=True)):  # of one row: the lines of each of its cells
        high = max(map(len, parts))
        for part in parts:  # heads stand at the bottom of their row, cells at its top
            part[:] = [""] * (high - len(part)) + part if number == 0 else part + [""] * (high - len(part))
        for texts in zip(*parts, strict=True):
            shown = (padded(text, widths[i], right=flush[i]) for i, text in zip(widths, texts, strict=True))
            lines.append("  " + "  ".join(shown).rstrip())
    if len(widths) < len(headers):
        gone = ", ".join(heads[i] for i in range(len(headers)) if i not in widths)
        lines.append(wrapped(f"  (no room for: {gone}; --wide shows all)", width))
    return "\n".join(lines)


def _column(head: str, texts: list[str], kind: str, width: int) -> list[list[str]]:
    """The head and the cells of a column, each as lines of at most this width."""
    top = fold_cell(head, width)
    if kind == "fold":
        return [top, *(fold_cell(text, width) for text in texts)]
    return [top, *([text] for text in (apart(texts, width) if kind == "name" else texts))]


def screen_width() -> int:
    """Characters that fit in a line of the terminal; 80 where there is none."""
    return shutil.get_terminal_size().columns


def clean(value: Any, longest: int = LONGEST) -> str:
    """A value as one line of text that a terminal only shows, whatever a name or an error message contains."""
    text = "" if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
    return shortened(one_line(text), longest)


# ---- what is mailed ------------------------------------------------------------------------------------------------

_NAME = r"[^\s/\\'\"`<>|:,;()\[\]{}]"
_TOPS = "home|Users|root|tmp|var|private|mnt|media|opt|usr|srv|scratch|work|data|nfs|Volumes|run|dev|proc|etc"
_PLACES = re.compile(
    r"(?P<quote>['\"`])(?:file://)?(?:[A-Za-z]:[/\\]|/)(?P<quoted>[^'\"`\n]*[/\\][^'\"`\n]*)(?P=quote)"
    rf"|(?<![\w/.~-])(?:file://)?(?:[A-Za-z]:\\|/(?!/))(?P<plain>{_NAME}+(?:[/\\]{_NAME}+)+)[/\\]?"
    rf"|(?:file://)?/(?P<top>(?:{_TOPS})/{_NAME}+(?:/{_NAME}+)*)/?"
    rf"|(?<!\w)~{_NAME}*/(?P<own>{_NAME}+(?:/{_NAME}+)*)/?"
)
_HERE = "/\0/"  # stands for a directory of this user, until all paths are cut
_COMMON = {"", "root", "user", "admin", "localhost", "home", "test"}
"""Names of users and machines that say nothing of anybody."""


def mailable(text: str, hosts: Iterable[str] = ()) -> str:
    """A sentence without directories, users and machines. `hosts`: the machines that it may have come from."""
    text = without_places(text)
    users = (Path(os.environ.get("HOME", "")).name, os.environ.get("USER", ""), os.environ.get("LOGNAME", ""))
    for name, stand_in in _own_names(users, *hosts):
        if name in text:
            text = re.sub(rf"(?:[\w.-]+@|(?<![\w.-])){re.escape(name)}(?:\.[\w.-]*\w)?(?![\w-])", stand_in, text)
    return text


def without_places(text: str) -> str:
    """A text whose absolute paths are cut to the name of their file: directories tell whose it is, and where.

    What is below the home, current or temporary directory is found whatever stands around it, also where names have
    spaces; of other paths, what looks like one.
    """
    if "/" not in text and "\\" not in text:
        return text
    for place in _own_places(os.environ.get("HOME", ""), str(Path.cwd()), tempfile.gettempdir()):
        if place in text:
            text = re.sub(rf"{re.escape(place)}(?:/|(?![\w.-]))", lambda _: _HERE, text)
    return _PLACES.sub(_file_name, text).replace(_HERE, "")


def all_without_places(value: Any) -> Any:
    """The same for every text of some plain data."""
    if isinstance(value, str):
        return without_places(value)
    if isinstance(value, dict):
        return {key: all_without_places(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [all_without_places(item) for item in value]
    return value


def _file_name(found: re.Match[str]) -> str:
    whole = next(found[name] for name in ("quoted", "plain", "top", "own") if found[name] is not None)
    steps = re.split(r"[/\\]", whole.rstrip("/\\"))
    last = "~" if len(steps) == 2 and steps[0] in ("home", "Users") else steps[-1].replace("\0", "")
    quote = found["quote"] or ""
    return f"{quote}{last}{quote}"


@cache
def _own_places(*given: str) -> list[str]:
    """The directories of this process and user, the longest first; `/` and `/tmp` are no secrets."""
    both = {str(path) for place in given if place for path in (Path(place), Path(place).resolve())}
    return sorted((place for place in both if place.count("/") > 1), key=len, reverse=True)


@cache
def _own_names(names: tuple[str, ...], *hosts: str) -> list[tuple[str, str]]:
    """The names of this user and of machines, and what stands for them."""
    users = dict.fromkeys(names, "(user)")
    machines = {part: "(host)" for host in hosts for part in (host, host.partition(".")[0])}
    found = {name: text for name, text in {**users, **machines}.items() if name not in _COMMON and len(name) > 1}
    return sorted(found.items(), key=lambda item: -len(item[0]))
