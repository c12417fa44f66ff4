"""`optarena compare`: the verdict in words, then the tables behind it; or ranks of plain numbers."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._numbers import counted, fixed, p_said
from optarena._text import clean, table
from optarena.cli._choose import Dimensions, Optimizers, Problems, chosen
from optarena.cli._terminal import print_json, terminal_width
from optarena.cli._view_options import ViewName, with_view_options
from optarena.comparison import Comparison
from optarena.comparison.numbers import Ranked, rank_numbers, read_numbers
from optarena.errors import OptarenaError
from optarena.formats.csv import for_people
from optarena.report.boards.comparison import optimizers, pairs, ranked_numbers, ranked_table
from optarena.stats.ranks import Friedman
from optarena.stats.scott_knott import ScottKnott
from optarena.views._options import dashed


class Format(StrEnum):
    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"


class Method(StrEnum):
    permutation = "permutation"
    bootstrap = "bootstrap"


SHOWN = 20


@with_view_options
def command(
    store: Annotated[Path | None, typer.Argument(help="The store's directory, or a file of numbers.")] = None,
    names: Annotated[list[str] | None, typer.Argument(help="The optimizers to compare; all by default.")] = None,
    *,
    stdin: Annotated[
        bool, typer.Option("--stdin", help="Read lines of `name number number …` and rank the names.")
    ] = False,
    view: ViewName = None,
    options: dict[str, Any],
    rope: Annotated[float, typer.Option("--rope", help="Scores that differ by no more are ties.")] = 0.01,
    alpha: Annotated[float, typer.Option("--alpha", help="The level of tests, after correction.")] = 0.05,
    resamples: Annotated[int, typer.Option("--resamples", help="Resamples for intervals.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.", min=0)] = 0,
    maximise: Annotated[bool, typer.Option("--maximise", help="For plain numbers: larger is better.")] = False,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="For plain numbers: permutation, or the original bootstrap (not calibrated)."),
    ] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    format: Annotated[Format, typer.Option("--format", help="text, json, csv or latex.")] = Format.text,
    which: Annotated[str | None, typer.Option("--table", help="Which table as CSV; pairs by default.")] = None,
) -> None:
    """What the words mean is in docs/compare.md."""
    if stdin or (store is not None and store.is_file()):
        given = {
            "names": names, "--view": view, "--optimizer": optimizer, "--problem": problem, "--dimension": dimension,
            "--table": which, **{f"--{dashed(name)}": True for name in options},
        }  # fmt: skip
        if useless := next((name for name, value in given.items() if value), None):
            raise OptarenaError(f"plain numbers are ranked as they are: {useless} needs a store")
        _numbers(store, stdin, maximise, alpha, seed, format, method or Method.permutation)
        return
    if store is None:
        raise OptarenaError("give a store, a file of numbers, or --stdin: optarena compare STORE [OPTIMIZER …]")
    if maximise:
        raise OptarenaError("--maximise is for plain numbers: a store knows its senses")
    if method is not None:
        raise OptarenaError("--method is for plain numbers: a store is compared by the same rules everywhere")
    if which is not None and format is not Format.csv:
        raise OptarenaError("--table chooses what --format csv prints: give both")
    results = chosen(store, optimizer, problem, dimension)
    made = results.compare(
        *(names or []),
        view=view,
        rope=rope,
        alpha=alpha,
        resamples=resamples,
        seed=seed,
        **options,
    )
    if format is Format.json:
        print_json(made.to_data())
    elif format is Format.csv:
        print(for_people(made.table(which or "pairs")), end="")
    elif format is Format.latex:
        print(made.to_latex(), end="")
    else:
        print(text(made, terminal_width()))


def text(made: Comparison, width: int | None = None) -> str:
    """The verdict, the tables, and what they are made of."""
    parts = [
        *(clean(sentence) for sentence in made.sentences),
        "",
        clean(made.scores.what),
        optimizers(made).text(width),
        "",
    ]
    found = made.table("pairs")
    which = "every two of them" if made.pairs.all_are_here else "the leader against each other one"
    parts += [
        f"{which} ({made.pairs.test}, Holm over {counted(made.pairs.tests, 'test')})",
        pairs(made, SHOWN).text(width),
    ]
    if found.height > SHOWN:
        parts.append(f"  … and {found.height - SHOWN} more pairs (--format csv has all)")
    parts += ["", "places by other ways of scoring (tau: agreement with this one)", _rankings(made), ""]
    return "\n".join([*parts, *_footnotes(made)])


def _rankings(made: Comparison) -> str:
    found = made.table("rankings")
    names = made.table("optimizers")["optimizer"].to_list()
    rows = []
    for (label,), part in found.group_by(["ranking"], maintain_order=True):
        place = dict(zip(part["optimizer"], part["place"], strict=True))
        rows.append([label, *(place[name] for name in names[:SHOWN]), fixed(part["tau"][0], 2)])
    return table(["way of scoring", *names[:SHOWN], "tau"], rows, right=range(1, len(names[:SHOWN]) + 2))


def _footnotes(made: Comparison) -> list[str]:
    friedman = made.overall.friedman
    more = [note for note in made.notes if note not in made.cautions]
    lines = [f"note: {clean(note)}" for note in more[:5]]
    if len(more) > 5:
        lines.append(f"note: … and {len(more) - 5} more (--format json has all)")
    if made.excluded:
        lines.append(f"excluded: {len(made.excluded)} (optarena score names them)")
    lines.append(f"intervals 95 %: {made.pairs.intervals}; seed {made.seed}")
    if friedman is not None and made.overall.nemenyi is not None:
        lines.append(
            f"Friedman over {friedman.n} problems {p_said(friedman.p)} ({friedman.method}){_iman_davenport(friedman)}; "
            f"Nemenyi's critical difference {made.overall.nemenyi.cd:.2f} ranks"
        )
    if "hash" in made.frame:
        lines.append(f"frame {made.frame['hash'][:12]}")
    return lines


def _iman_davenport(friedman: Friedman) -> str:
    """Its p-value, where there are enough problems for it."""
    return "" if friedman.note else f", Iman-Davenport {p_said(friedman.iman_davenport_p)}"


def _numbers(
    store: Path | None, stdin: bool, maximise: bool, alpha: float, seed: int, format: Format, method: Method
) -> None:
    if stdin and store is not None:
        raise OptarenaError(f"give numbers on standard input or in {store}, not both")
    try:
        given = sys.stdin.read() if store is None else store.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OptarenaError(f"cannot read {store or 'standard input'}: {error}") from None
    ranked, knots = rank_numbers(read_numbers(given), maximise=maximise, alpha=alpha, seed=seed, method=method.value)
    if format is Format.json:
        splits = [
            {"left": list(s.left), "right": list(s.right), "p": s.p, "effect": s.effect, "kept": s.kept}
            for s in knots.splits
        ]
        print_json(
            {
                "test": f"Scott-Knott, {knots.test}",
                "method": knots.method,
                "calibrated": knots.calibrated,
                "alpha": alpha,
                "ranks": ranked_table(ranked).to_dicts(),
                "splits": splits,
            }
        )
    elif format is Format.csv:
        print(for_people(ranked_table(ranked)), end="")
    elif format is Format.latex:
        print(ranked_numbers(ranked).latex(), end="")
    else:
        print(_ranks(ranked, knots))


def _ranks(ranked: list[Ranked], knots: ScottKnott) -> str:
    lines = ranked_numbers(ranked).text().splitlines()
    out = [lines[0]]
    for i, r in enumerate(ranked):
        if i and r.rank != ranked[i - 1].rank:
            out.append("  " + "-" * (len(lines[0]) - 2))
        out.append(lines[i + 1])
    notes = [f"Scott-Knott: no test separates the names between two lines ({knots.test})"]
    if not knots.calibrated:
        notes.append("This original recipe is not calibrated: it often separates equal names (docs/scores.md 5.7)")
    return "\n".join([*out, *notes])
