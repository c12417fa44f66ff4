"""The answer as text: what to use, the matrix of who beats whom, what to watch out for, what is undecided.

Fits any width. What the words mean is in docs/compare.md.
"""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Any

from optarena._numbers import ABSENT, counted, digits_apart, interval, number, probability, rough, significant
from optarena._text import clean
from optarena._widths import NAME, apart, cells, padded
from optarena.comparison.power import DETECT, MOST, NEVER, UNKNOWN
from optarena.stats.improvement import UNDECIDED

if TYPE_CHECKING:
    from optarena.comparison.answer import Answer
    from optarena.comparison.compare import Comparison

WIDTH = 80
WHOLE = 10**6
"""The width of a board that nothing is left out of."""
CELL, MOST_CELL = 9, 22
"""Characters of a column of the matrix, and at most: where a screen is wider than usual, heads have whole names."""
WARNINGS = 3
"""Shown; the JSON and the details have all."""
LISTED = 3
"""Undecided pairs that are listed one by one."""


def text(made: Comparison, width: int | None = None, command: str = "", *, wide: bool = False) -> str:
    """The whole answer. command: how it was asked, for the line that says where to read more; wide: with the whole
    matrix, whatever the width."""
    width = max(40, width or WIDTH)
    found = made.answer
    parts = ["\n".join([*head(made, width), *_wrapped(first_lines(found), width)])]
    parts.append("\n".join([*board(found, WHOLE if wide else width), "", *legend(found, width, made.alpha)]))
    notes = []
    shown, hidden = further_warnings(found)
    for i, warning in enumerate(shown):
        notes += _labelled("Watch out" if i == 0 else "", warning, width)
    if hidden:
        notes += _labelled("", f"{counted(len(hidden), 'more warning')}: --details.", width)
    for i, line in enumerate(undecided(made)):
        notes += _labelled("Undecided" if i == 0 else "", line, width)
    if made.race is not None:
        same = (made.alpha, made.rope) == (made.race.plan.alpha, made.race.plan.rope)
        level = "" if same else f"At {100 * (1 - made.race.plan.alpha):.4g} %, as it was run: "
        notes += _labelled("Race", f"{level}{made.race.sentences[0]}", width)
    if command:
        notes += _labelled("More", f"{command} --details   ·   {command.replace('compare', 'report', 1)}", width)
    if notes:
        parts.append("\n".join(notes))
    return "\n\n".join(parts)


def head(made: Comparison, width: int) -> list[str]:
    """The headline, and what it is about: on its right where there is room."""
    about = coverage(made.answer)
    line = clean(made.answer.headline)
    if len(line) + len(about) + 3 <= width:
        return [f"{line}{about:>{width - len(line)}}"]
    return _wrapped([line, about], width)


def coverage(found: Answer) -> str:
    """'48 problems (24 functions), 5 trials each'."""
    if not found.order:
        return "each pair on the problems that both have run"
    about = found.coverage
    low, high = about["trials"]
    functions = f" ({counted(about['functions'], 'function')})" if about["functions"] != about["problems"] else ""
    each = counted(low, "trial") if low == high else f"{low} to {high} trials"
    return f"{counted(about['problems'], 'problem')}{functions}, {each}{' each' if about['problems'] > 1 else ''}"


def first_lines(found: Answer) -> list[str]:
    """The warnings that stand above everything: failures, and problems that not all have run."""
    return found.first


def further_warnings(found: Answer) -> tuple[list[str], list[str]]:
    """The warnings that are not among the first lines: those that are shown, and those that `--details` adds."""
    return found.others[:WARNINGS], found.others[WARNINGS:]


def board(found: Answer, width: int) -> list[str]:
    """The leaderboard with the matrix at its right: as many columns as fit, the best first."""
    names = found.order or sorted({pair[key] for pair in found.pairs for key in ("a", "b")})
    shown = [clean(name) for name in names]
    whole = CELL * len(names)
    lacking = _wide(*_figures(found, names, shown, ends=True)) + 1 + whole - width
    longest = max(map(cells, shown))
    shown = apart(shown, max(min(NAME[0], longest), longest - max(0, lacking)))  # the matrix says more than long names
    heads, rows = _figures(found, names, shown, ends=True)
    room, less = (width - _wide(*_figures(found, names, shown, ends=ends)) - 1 for ends in (True, False))
    if room < 0 or room < whole <= less:  # the matrix decides, the intervals of scores do not: the details have them
        heads, rows = _figures(found, names, shown, ends=False)
    names_cut = max(map(cells, shown)) - len("optimizer")
    if found.values and _wide(heads, rows) - max(0, names_cut) > width:  # the median says more than the best
        heads, rows = [*heads[:3], *heads[4:]], [[*row[:3], *row[4:]] for row in rows]
    spare = width - _wide(heads, rows)
    if spare < 0:
        cut = apart(shown, max(8, max(map(cells, shown)) + spare))
        rows = [[row[0], name, *row[2:]] for row, name in zip(rows, cut, strict=True)]
    widths = _widths(heads, rows)
    left = sum(widths) + 2 * (len(widths) - 1)
    fits = min(max(0, (width - left - 1) // CELL), len(names))
    columns = names[:fits] if fits >= 2 else []
    cell = CELL
    if columns and fits == len(names) and width > WIDTH:
        cell = max(CELL, min((width - left - 1) // fits, 2 + max(map(cells, map(clean, names))), MOST_CELL))
    titles = "".join(padded(short, cell, right=True) for short in short_names(columns, cell - 2))
    above = [f"{' ' * (left + 1)}{'P(row beats column)':>{cell * fits}}"] if columns and cell * fits >= 19 else []
    lines = [*above, f"{_line(heads, widths)} {titles}"]
    for name, row in zip(names, rows, strict=True):
        lines.append(
            f"{_line(row, widths)} {''.join(_centred(found.cell(name, other)).rjust(cell) for other in columns)}"
        )
    if len(columns) < len(names):
        rest = f"({'the rest of the' if columns else 'the'} matrix needs more room: --wide shows it,"
        lines += textwrap.wrap(f"{rest} --details lists every pair)", width)
    return [line.rstrip() for line in lines]


def _figures(found: Answer, names: list[str], shown: list[str], *, ends: bool) -> tuple[list[str], list[list[str]]]:
    """Heads and rows of the leaderboard: place, name, values in the problem's unit, score, failures."""
    failed = any(count["studies"] for count in found.failed.values())
    heads = ["", "optimizer", *(["median", "best"] if found.values else [])]
    heads += ["score [95 %]" if ends else "score"] if found.order else []
    heads += ["failed"] if failed else []
    rows = []
    digits = digits_apart(row[key] for row in found.values.values() for key in ("median", "best"))
    for i, (name, written) in enumerate(zip(names, shown, strict=True), start=1):
        row = [str(i) if found.order else "", written]
        if found.values:
            row += [significant(found.values[name][key], digits) for key in ("median", "best")]
        if found.order:
            value, lower, upper = found.score[name]
            row.append(f"{number(value)} {interval(lower, upper)}" if ends and lower is not None else number(value))
        if failed:
            count = found.failed.get(name, {"studies": 0, "of": 0})
            row.append(f"{count['studies']} of {count['of']}" if count["studies"] else ABSENT)
        rows.append(row)
    return heads, rows


def _widths(heads: list[str], rows: list[list[str]]) -> list[int]:
    return [max(cells(head), *(cells(row[j]) for row in rows)) for j, head in enumerate(heads)]


def _wide(heads: list[str], rows: list[list[str]]) -> int:
    return sum(_widths(heads, rows)) + 2 * (len(heads) - 1)


def _line(cells: list[str], widths: list[int]) -> str:
    """Numbers flush right, the name flush left."""
    placed = (padded(cell, size, right=j != 1) for j, (cell, size) in enumerate(zip(cells, widths, strict=True)))
    return "  ".join(placed)


def legend(found: Answer, width: int, alpha: float = 0.05) -> list[str]:
    """What the numbers and signs mean."""
    scale = _labelled("score", found.scale, width, 8) if found.order else []
    return [*scale, *_wrapped([signs(found, alpha)], width)]


def signs(found: Answer, alpha: float = 0.05) -> str:
    """What the signs of the matrix mean."""
    level = f"{100 * (1 - alpha):.4g} %"
    every = f"{level} for all pairs together" if len(found.pairs) > 1 else level
    every += ", however often one looks" if found.at_every_look else ""
    return f"▲ better  ▼ worse  ≈ equivalent  ? undecided ({every})"


def undecided(made: Comparison) -> list[str]:
    """The undecided pairs, those of the leader first, and what would settle a medium difference."""
    found = made.answer
    pairs = [pair for pair in found.pairs if pair["verdict"] == UNDECIDED and pair["pi"] is not None]
    if not pairs:
        return []
    out = []
    left = [] if made.race is None else [pair for pair in pairs if not {pair["a"], pair["b"]} <= set(made.race.live)]
    pairs = [pair for pair in pairs if pair not in left]
    for pair in pairs[:LISTED]:
        ends = f"{probability(pair['pi'])} [{probability(pair['lower'])}, {probability(pair['upper'])}]"
        out.append(f"{pair['a']} against {pair['b']}: {ends}.")
    if len(pairs) > LISTED:
        out.append(f"{counted(len(pairs) - LISTED, 'more undecided pair')} (of {len(found.pairs):,} in all).")
    if left:
        gone = counted(len(left), "further pair" if pairs else "pair")
        out.append(f"{gone} of which one left the race: beaten by another, it was not followed further.")
    if found.at_every_look and pairs and not made.frame.get("provisional"):  # else trials are coming
        out.append(
            "More trials may settle that: give the same command a larger limit (-r of try, --max-trials of run)."
        )
    elif not found.at_every_look and made.overall is not None:
        out.append(settles(made, pairs))
    return out


def settles(made: Comparison, pairs: list[dict[str, Any]]) -> str:
    """How many more trials or functions would most likely decide a medium difference between undecided optimizers."""
    places = [made.pairs.place(*(made.optimizers.index(pair[key]) for key in ("a", "b")))[0] for pair in pairs]
    trials, functions = (
        [int(x) for x in figures[places] if x != UNKNOWN] for figures in (made.power.trials, made.power.functions)
    )
    size = f"a {'medium ' if made.power.detect == DETECT else ''}difference (P(beats) {made.power.detect:g})"
    if any(0 in figures and NEVER not in figures and max(figures) == 0 for figures in (trials, functions)):
        return f"{size[:1].upper()}{size[1:]} would most likely have shown: if they differ, then by less."
    needs = [
        f"about {rough(max(figures))} more {noun if max(figures) == 1 else noun + 's'}{each}"
        for figures, noun, each in ((trials, "trial", " each"), (functions, "function", ""))
        if figures and NEVER not in figures
    ]
    never = [noun for figures, noun in ((trials, "trials"), (functions, "functions")) if figures and NEVER in figures]
    hopeless = f"More {' or '.join(never)} would not help: up to {MOST} times as many were simulated." if never else ""
    if not needs:
        return hopeless or "What would settle them cannot be estimated from one trial or from fewer than 3 functions."
    said = f"{' or '.join(needs)} would settle {size}."
    return f"{said[:1].upper()}{said[1:]} {hopeless}".rstrip()


def _centred(cell: str) -> str:
    """A dot under the numbers, not under their last digits."""
    return f"{cell}   " if cell == "·" else cell


def short_names(names: list[str], room: int = CELL - 2) -> list[str]:
    """Heads of columns: how names begin; how they end, where two begin alike; else the numbers of their rows."""
    shown = [clean(name) for name in names]
    starts = [name[:room] for name in shown]
    ends = [name if len(name) <= room else f"…{name[1 - room :]}" for name in shown]
    numbers = [str(i) for i in range(1, len(shown) + 1)]
    return next((heads for heads in (starts, ends) if len(set(heads)) == len(heads)), numbers)


def _labelled(label: str, line: str, width: int, indent: int = 12) -> list[str]:
    """A paragraph beside a label: 'Watch out   By time …'. Names with hyphens stay in one piece."""
    return textwrap.wrap(
        clean(line), width, initial_indent=label.ljust(indent), subsequent_indent=" " * indent, break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip


def _wrapped(lines: list[str], width: int) -> list[str]:
    return [part for line in lines for part in textwrap.wrap(clean(line), width, break_on_hyphens=False)]


def sentences(made: Comparison) -> list[str]:
    """The answer without its table: the headline, every warning, what is undecided."""
    return [made.answer.headline, *made.answer.warnings, *undecided(made)]
