r"""Tables for papers: LaTeX with booktabs, numbers in math, the best in bold; ready to `\input`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from optarena._numbers import in_math
from optarena._text import visible

SIGNS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
}


def latex_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bold: Collection[tuple[int, int]] = (),
    comment: Sequence[str] = (),
) -> str:
    """A `tabular` with booktabs rules; columns of numbers are set flush right. `bold`: (row, column) of the best."""
    head, lines, tail = latex_parts(headers, rows, bold=bold, comment=comment)
    return "\n".join([head, *lines, tail]) + "\n"


def latex_parts(
    headers: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bold: Collection[tuple[int, int]] = (),
    comment: Sequence[str] = (),
) -> tuple[str, list[str], str]:
    """The same in parts: what comes before the rows, one line per row, what comes after."""
    numeric = [
        all(isinstance(row[i], (int, float, tuple)) or row[i] is None for row in rows) and bool(rows)
        for i in range(len(headers))
    ]
    top = commented(comment)
    top.append(r"\begin{tabular}{" + "".join("r" if right else "l" for right in numeric) + "}")
    top.append(r"\toprule")
    top.append(" & ".join(escaped(head) for head in headers) + r" \\")
    top.append(r"\midrule")
    lines = []
    for i, row in enumerate(rows):
        cells = [cell(value) for value in row]
        cells = [bolder(text) if (i, j) in bold else text for j, text in enumerate(cells)]
        lines.append(" & ".join(cells) + r" \\")
    return "\n".join(top), lines, "\n".join([r"\bottomrule", r"\end{tabular}"])


def commented(texts: Sequence[str]) -> list[str]:
    """Lines that TeX does not read, whatever they contain."""
    return [f"% {visible(text)}" for text in texts]


def bolder(text: str) -> str:
    return rf"$\mathbf{{{text[1:-1]}}}$" if text.startswith("$") else rf"\textbf{{{text}}}"


def cell(value: Any) -> str:
    """A text, a number, or an interval given as a pair."""
    if value is None:
        return "--"
    if isinstance(value, tuple):
        return f"$[{', '.join(in_math(end) for end in value)}]$"
    if isinstance(value, (int, float)):
        return f"${in_math(value)}$"
    return escaped(str(value))


def escaped(text: str) -> str:
    plain = "".join(SIGNS.get(sign, sign) for sign in visible(text))
    return re.sub("-(?=-)", "-{}", plain)  # TeX joins two hyphens to a dash
