"""How results, views and comparisons show themselves in a notebook: small HTML tables without scripts.

Notebooks clean what they show, and have styles of their own: a cell says by itself on which side it stands.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from html import escape

from optarena._numbers import ABSENT, digits_apart, number, significant
from optarena._text import visible
from optarena.comparison import Comparison, words
from optarena.comparison.by_problem import Ranks
from optarena.dataset import Dataset
from optarena.dataset.summary import summary
from optarena.report.boards import comparison as boards
from optarena.report.boards import footnotes, leaders
from optarena.report.boards._board import LEFT, Board, text_of
from optarena.views._view import View

QUIET = "color: gray; font-size: 90%"
CELL = "white-space: nowrap; padding: 0.2em 0.7em"


def of_dataset(results: Dataset) -> str:
    found = summary(results)
    names = found.columns
    shown = table(names, found.rows, left=[0])
    methods = [one for one in ("compare", "fixed_cost", "fixed_target") if hasattr(results, one)]
    further = ", ".join(f"<code>.{one}()</code>" for one in methods)
    more = f"{further} {'score them; ' if further else ''}<code>.studies</code> has one row per study"
    return _heading(found.head) + shown + _small([found.more] if found.more else []) + f'<p style="{QUIET}">{more}</p>'


def of_view(view: View) -> str:
    """Its leaderboards, and what a reader should know."""
    parts = [_heading(title) + of_board(board) for title, board in leaders(view)]
    return "".join(parts) + _small(footnotes(view).splitlines())


def of_ranks(made: Ranks) -> str:
    frame = [f"frame {made.frame['hash'][:12]}"] if "hash" in made.frame else []
    about = f"Scott-Knott: no test separates optimizers of one rank ({made.test})"
    return of_board(boards.ranks(made), "page") + _small([about, *made.notes, *frame])


def of_comparison(made: Comparison) -> str:
    """The answer: the headline, the table with its matrix, what to know of it; one per kind of problems."""
    found = made.answer
    names = found.order or made.optimizers
    failed = any(count["studies"] for count in found.failed.values())
    heads = ["", "optimizer", *(["median", "best"] if found.values else [])]
    heads += [*(["score", "95 %"] if found.order else []), *(["failed"] if failed else [])]
    rows = []
    digits = digits_apart(row[key] for row in found.values.values() for key in ("median", "best"))
    for i, name in enumerate(names, start=1):
        row = [str(i) if found.order else "", name]
        if found.values:
            row += [significant(found.values[name][key], digits) for key in ("median", "best")]
        if found.order:
            value, lower, upper = found.score[name]
            row += [number(value), ABSENT if lower is None else f"[{number(lower)}, {number(upper)}]"]
        if failed:
            count = found.failed.get(name, {"studies": 0, "of": 0})
            row.append(f"{count['studies']:,} of {count['of']:,}" if count["studies"] else ABSENT)
        rows.append([*row, *(found.cell(name, other) for other in names)])
    tips = [*[""] * len(heads), *names]
    above = ("P(row beats column)", len(heads), len(names))
    warnings = [one for some in words.further_warnings(found) for one in some]
    return (
        _heading(found.headline, words.coverage(found))
        + _paragraph("", words.first_lines(found))
        + table([*heads, *words.short_names(names)], rows, left=[1], tips=tips, above=above)
        + _small([f"score: {found.scale}"] * bool(found.order) + [words.signs(found, made.alpha)])
        + _paragraph("Watch out", warnings)
        + _paragraph("Undecided", words.undecided(made))
        + "".join(of_comparison(other) for other in made.others)
    )


def of_board(board: Board, medium: str = "text") -> str:
    """A board with all its columns that say anything; the best of a column is bold where the page has it so."""
    columns = [column for column in board.columns if medium in column.on]
    columns = [one for one in columns if any(text_of(one, row) not in ("", ABSENT) for row in board.rows)]
    cells = [[text_of(column, row) for column in columns] for row in board.rows]
    left = [j for j, column in enumerate(columns) if column.kind in LEFT]
    tips = [column.help for column in columns]
    return table([column.label for column in columns], cells, left=left, tips=tips, bold=board.best(columns, "page"))


def table(
    heads: Sequence[str],
    rows: Sequence[Sequence[str]],
    *,
    left: Collection[int] = (),
    tips: Sequence[str] = (),
    bold: Collection[tuple[int, int]] = (),
    above: tuple[str, int, int] | None = None,
) -> str:
    """left: the columns that are set flush left; tips: what a mouse over a head shows; bold: (row, column).

    above: a head for several columns, the place of the first and their number.
    """
    side = [f"text-align: {'left' if j in left else 'right'}; {CELL}" for j in range(len(heads))]
    tip = [f' title="{escape(visible(text))}"' if text else "" for text in tips or [""] * len(heads)]
    head = "".join(f'<th style="{side[j]}"{tip[j]}>{escape(visible(text))}</th>' for j, text in enumerate(heads))
    first = ""
    if above is not None:
        group = f'<th colspan="{above[2]}" style="text-align: right; {CELL}">{escape(above[0])}</th>'
        first = f'<tr><td colspan="{above[1]}"></td>{group}</tr>'
    lines = []
    for i, row in enumerate(rows):
        cells = [escape(visible(text)) for text in row]
        cells = [f"<b>{cell}</b>" if (i, j) in bold else cell for j, cell in enumerate(cells)]
        lines.append("<tr>" + "".join(f'<td style="{side[j]}">{cell}</td>' for j, cell in enumerate(cells)) + "</tr>")
    return (
        '<table style="font-variant-numeric: tabular-nums; margin: 0">'
        f"<thead>{first}<tr>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table>"
    )


def _heading(text: str, beside: str = "") -> str:
    more = f'<br><span style="{QUIET}">{escape(visible(beside))}</span>' if beside else ""
    return f"<p><strong>{escape(visible(text))}</strong>{more}</p>"


def _paragraph(label: str, lines: Sequence[str]) -> str:
    title = f"<strong>{label}</strong><br>" if label else ""
    return f"<p>{title}{'<br>'.join(escape(visible(line)) for line in lines)}</p>" if lines else ""


def _small(lines: Sequence[str]) -> str:
    return f'<p style="{QUIET}">{"<br>".join(escape(visible(line)) for line in lines)}</p>' if lines else ""
