"""Tables for a web page that is only read: plain HTML, escaped, in one file without a script."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape
from typing import Any

from optarena._numbers import ABSENT, short, typeset
from optarena._text import visible
from optarena.report.cells import Cell

STYLE = """
body { font: 15px/1.45 system-ui, sans-serif; color: #222; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }
table { border-collapse: collapse; margin: 0 0 2.5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: #555; max-width: 60rem; padding: 0 0 .6rem; }
th, td { padding: .15rem .6rem; text-align: left; white-space: nowrap; font-weight: normal; }
th { border-bottom: 1px solid #888; font-weight: 600; vertical-align: bottom; }
.r { text-align: right; }
.text { white-space: normal; min-width: 16rem; }
.rule td { border-top: 1px solid #ccc; }
tbody tr:hover { background: #f4f4f2; }
small { color: #666; }
sup, sub { line-height: 0; }
@media (prefers-color-scheme: dark) {
  body { background: #1b1b1b; color: #ddd; } caption, small { color: #aaa; } tbody tr:hover { background: #262626; }
  .rule td { border-color: #444; }
}
"""


def html_table(
    headers: Sequence[Any],
    rows: Sequence[Sequence[Any]],
    caption: Cell,
    *,
    bold: Collection[tuple[int, int]] = (),
    right: Collection[int] = (),
    ruled: Collection[int] = (),
    text: Collection[int] = (),
) -> str:
    """A `<table>`.

    `bold`: (row, column) of the best; `right`: columns flush right; `ruled`: rows below a rule; `text`: columns of
    sentences, which wrap.
    """
    side = [' class="r"' if j in right else ' class="text"' if j in text else "" for j in range(len(headers))]
    lines = ["<table>", f"<caption>{caption.html}</caption>", "<thead><tr>"]
    lines += [f'<th scope="col"{side[j]}>{_cell(head)}</th>' for j, head in enumerate(headers)]
    lines += ["</tr></thead>", "<tbody>"]
    for i, row in enumerate(rows):
        cells = [f"<b>{_cell(value)}</b>" if (i, j) in bold else _cell(value) for j, value in enumerate(row)]
        lines.append('<tr class="rule">' if i in ruled else "<tr>")
        lines.append("".join(f"<td{side[j]}>{cell}</td>" for j, cell in enumerate(cells)) + "</tr>")
    return "\n".join([*lines, "</tbody>", "</table>"]) + "\n"


def page_of_tables(title: str, parts: Sequence[str], notes: Sequence[str] = ()) -> str:
    """A complete file. parts: HTML; notes: texts."""
    below = "".join(f"<li>{escape(visible(note))}</li>\n" for note in notes)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(visible(title))}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(visible(title))}</h1>\n{''.join(parts)}{f'<ul>{below}</ul>' if below else ''}\n</body>\n</html>\n"
    )


def _cell(value: Any) -> str:
    """A text, a number, an interval given as a pair, or what has its own `html`."""
    if isinstance(value, Cell):
        return value.html
    if isinstance(value, tuple):
        return f"[{', '.join(_cell(end) for end in value)}]"
    if isinstance(value, (int, float)):
        return typeset(short(value))
    return ABSENT if value is None else escape(visible(str(value)))
