r"""Tables for papers: LaTeX with booktabs, numbers in math, the best in bold; ready to `\input`."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

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
}


def latex_table(
    headers: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    bold: Collection[tuple[int, int]] = (),
    comment: Sequence[str] = (),
) -> str:
    """A `tabular` with booktabs rules; columns of numbers are set flush right. `bold`: (row, column) of the best."""
    numeric = [
        all(isinstance(row[i], (int, float, tuple)) or row[i] is None for row in rows) and bool(rows)
        for i in range(len(headers))
    ]
    lines = [f"% {text}".replace("\n", " ") for text in comment]
    lines.append(r"\begin{tabular}{" + "".join("r" if right else "l" for right in numeric) + "}")
    lines.append(r"\toprule")
    lines.append(" & ".join(escaped(head) for head in headers) + r" \\")
    lines.append(r"\midrule")
    for i, row in enumerate(rows):
        cells = [cell(value) for value in row]
        cells = [bolder(text) if (i, j) in bold else text for j, text in enumerate(cells)]
        lines.append(" & ".join(cells) + r" \\")
    lines += [r"\bottomrule", r"\end{tabular}"]
    return "\n".join(lines) + "\n"


def bolder(text: str) -> str:
    return rf"$\mathbf{{{text[1:-1]}}}$" if text.startswith("$") else rf"\textbf{{{text}}}"


def cell(value: Any) -> str:
    """A text, a number, or an interval given as a pair."""
    if value is None:
        return "--"
    if isinstance(value, tuple):
        return f"$[{', '.join(number(end) for end in value)}]$"
    if isinstance(value, (int, float)):
        return f"${number(value)}$"
    return escaped(str(value))


def number(value: float | None) -> str:
    if value is None or math.isnan(value):
        return r"\text{--}"
    if math.isinf(value):
        return r"\infty" if value > 0 else r"-\infty"
    if isinstance(value, int):
        return str(value)
    text = f"{value:.3g}" if abs(value) < 1000 else f"{value:.4g}"
    if "e" in text:
        mantissa, _, exponent = text.partition("e")
        return rf"{mantissa} \cdot 10^{{{int(exponent)}}}"
    return text


def escaped(text: str) -> str:
    return "".join(SIGNS.get(sign, sign if sign.isprintable() else "?") for sign in text)
