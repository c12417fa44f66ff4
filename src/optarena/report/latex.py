r"""Tables for papers: LaTeX with booktabs, numbers in math, the best in bold; ready to `\input`."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from optarena._numbers import in_math
from optarena._text import visible

_LETTERS = "αβγδεζηθικλμνξπρστυφχψωΓΔΘΛΞΠΣΦΨΩ"
_NAMES = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi pi rho sigma tau upsilon phi chi psi "
    "omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega"
)
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
    **{letter: rf"\ensuremath{{\{name}}}" for letter, name in zip(_LETTERS, _NAMES.split(), strict=True)},
}
"""What TeX reads differently, or does not know."""
SIGNS |= {sign: rf"\textsuperscript{{{plain}}}" for sign, plain in zip("⁰¹²³⁴⁵⁶⁷⁸⁹ᵏ·", "0123456789k.", strict=True)}
SIGNS |= {"⁻": r"\textsuperscript{$-$}", "−": "$-$", "×": r"$\times$", "✕": r"$\times$", "∞": r"$\infty$"}
SIGNS |= {"…": r"\dots{}", "≤": r"$\le$", "★": r"$\star$"}


def latex_table(
    headers: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    bold: Collection[tuple[int, int]] = (),
    comment: Sequence[str] = (),
    pairs: Collection[int] = (),
    ruled: Collection[int] = (),
) -> str:
    """A `tabular` with booktabs rules; columns of numbers are set flush right. `bold`: (row, column) of the best.

    `pairs`: columns whose cells have two parts that meet in the middle; `ruled`: rows below a rule.
    """
    head, lines, tail = latex_parts(headers, rows, bold=bold, comment=comment, pairs=pairs)
    lines = [rf"\midrule{chr(10)}{line}" if i in ruled else line for i, line in enumerate(lines)]
    return "\n".join([head, *lines, tail]) + "\n"


def latex_parts(
    headers: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    *,
    bold: Collection[tuple[int, int]] = (),
    comment: Sequence[str] = (),
    pairs: Collection[int] = (),
) -> tuple[str, list[str], str]:
    """The same in parts: what comes before the rows, one line per row, what comes after."""
    numeric = [
        all(isinstance(row[i], (int, float, tuple)) or row[i] is None for row in rows) and bool(rows)
        for i in range(len(headers))
    ]
    top = commented(comment)
    kinds = ["r@{}l" if i in pairs else "r" if right else "l" for i, right in enumerate(numeric)]
    heads = [rf"\multicolumn{{2}}{{c}}{{{cell(head)}}}" if i in pairs else cell(head) for i, head in enumerate(headers)]
    top.append(rf"\begin{{tabular}}{{{''.join(kinds)}}}")
    top.append(r"\toprule")
    top.append(" & ".join(heads) + r" \\")
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
    """A text, a number, an interval given as a pair, or what has its own `latex`."""
    if value is None:
        return "--"
    if hasattr(value, "latex"):
        return str(value.latex)
    if isinstance(value, tuple):
        return f"$[{', '.join(in_math(end) for end in value)}]$"
    if isinstance(value, (int, float)):
        return f"${in_math(value)}$"
    return escaped(str(value))


def escaped(text: str) -> str:
    plain = "".join(SIGNS.get(sign, sign) for sign in visible(text))
    return re.sub("-(?=-)", "-{}", plain)  # TeX joins two hyphens to a dash
