"""`optarena compare`: the answer, with `--details` the tables behind it; or ranks of plain numbers."""

from __future__ import annotations

import shlex
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from optarena._numbers import p_said
from optarena._text import clean
from optarena._widths import wrapped
from optarena.cli._choose import Dimensions, Machines, Optimizers, Problems, chosen
from optarena.cli._terminal import Wide, print_json, terminal_width
from optarena.cli._view_options import ViewName, with_view_options
from optarena.comparison import Comparison
from optarena.comparison.by_problem import Ranks
from optarena.comparison.numbers import Ranked, rank_numbers, read_numbers
from optarena.comparison.power import DETECT
from optarena.comparison.words import further_warnings
from optarena.errors import OptarenaError
from optarena.formats.csv import for_people
from optarena.report.boards.comparison import (
    optimizers,
    pairs,
    ranked_numbers,
    ranked_table,
    rankings,
    ranks_latex,
    ranks_text,
)
from optarena.stats.estimates import ALPHA
from optarena.stats.improvement import ROPE
from optarena.stats.ranks import Friedman
from optarena.stats.scott_knott import ScottKnott
from optarena.views._options import dashed


class Format(StrEnum):
    text = "text"
    json = "json"
    csv = "csv"
    latex = "latex"


class By(StrEnum):
    problem = "problem"


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
    by: Annotated[
        By | None,
        typer.Option(
            "--by", help="Scott-Knott ranks on each problem by each of the metrics: --metric hypervolume,igd,spread."
        ),
    ] = None,
    details: Annotated[bool, typer.Option("--details", help="The statistics behind the answer, too.")] = False,
    rope: Annotated[float, typer.Option("--rope", help="Equivalent: P(beats) within 0.5 plus or minus this.")] = ROPE,
    detect: Annotated[float, typer.Option("--detect", help="The P(beats) that advice on more runs is about.")] = DETECT,
    alpha: Annotated[float, typer.Option("--alpha", help="How often any false claim is accepted.")] = ALPHA,
    resamples: Annotated[int, typer.Option("--resamples", help="Resamples for intervals.")] = 10_000,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the resampling.", min=0)] = 0,
    sequence: Annotated[
        bool,
        typer.Option("--sequence", help="Intervals that hold however often one looks and adds trials (docs/race.md)."),
    ] = False,
    maximise: Annotated[bool, typer.Option("--maximise", help="For plain numbers: larger is better.")] = False,
    method: Annotated[
        Method | None,
        typer.Option("--method", help="For plain numbers: permutation, or the original bootstrap (not calibrated)."),
    ] = None,
    optimizer: Optimizers = None,
    problem: Problems = None,
    dimension: Dimensions = None,
    machine: Machines = None,
    format: Annotated[Format, typer.Option("--format", help="text, json, csv or latex.")] = Format.text,
    which: Annotated[str | None, typer.Option("--table", help="Which table as CSV; pairs by default.")] = None,
    wide: Wide = False,
) -> None:
    """First what to use, then who beats whom, then what is undecided. What the words mean is in docs/compare.md."""
    if stdin or (store is not None and store.is_file()):
        given = {
            "names": names, "--view": view, "--optimizer": optimizer, "--problem": problem, "--dimension": dimension,
            "--table": which, "--sequence": sequence, "--by": by, **{f"--{dashed(name)}": True for name in options},
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
    results = chosen(store, optimizer, problem, dimension, machine)
    metrics = [name.strip() for name in options.get("metric", "").split(",") if name.strip()]
    if by is not None:
        idle = {"--details": details, "--sequence": sequence, "--table": which}
        if word := next((name for name, value in idle.items() if value), None):
            raise OptarenaError(f"{word} has no effect on ranks by problem: leave it out")
        rest = {name: value for name, value in options.items() if name != "metric"}
        found = results.ranks(*metrics, optimizers=names or [], view=view, alpha=alpha, seed=seed, **rest)
        _show_ranks(found, format, terminal_width(wide=wide))
        return
    if len(metrics) > 1:
        raise OptarenaError(f"one metric decides who is better: several need --by problem; got {', '.join(metrics)}")
    made = results.compare(
        *(names or []),
        view=view,
        rope=rope,
        alpha=alpha,
        detect=detect,
        resamples=resamples,
        seed=seed,
        sequence=sequence or None,
        **options,
    )
    if format is Format.json:
        print_json(made.to_data())
    elif format is Format.csv:
        print(for_people(made.table(which or "pairs")), end="")
    elif format is Format.latex:
        print(made.to_latex(), end="")
    else:
        kept = {"optimizer": optimizer, "problem": problem, "dimension": [str(d) for d in dimension or ()]}
        part = [word for flag, values in kept.items() for one in values or () for word in (f"--{flag}", one)]
        part += ["--axis", options["axis"]] if options.get("axis") else []
        asked = clean(shlex.join(["optarena", "compare", str(store), *part]))
        print(made.text(terminal_width(), asked, wide=wide))
        if details:
            for one in [made, *made.others]:
                print("\n" + behind(one, terminal_width(wide=wide)))


def _show_ranks(made: Ranks, format: Format, width: int | None) -> None:
    if format is Format.json:
        print_json(made.to_data())
    elif format is Format.csv:
        print(for_people(made.table), end="")
    elif format is Format.latex:
        print(ranks_latex(made), end="")
    else:
        print(ranks_text(made, width))


def behind(made: Comparison, width: int | None = None) -> str:
    """The tables behind an answer, and what they are made of."""
    parts = []
    if made.overall is not None:
        parts += [f"optimizers (score: {clean(made.scale)})", optimizers(made).text(width), ""]
    found = made.table("pairs")
    which = "every two of them" if made.pairs.all_are_here else "the leader against each other one"
    parts += [f"{which} ({made.pairs.method})", pairs(made, SHOWN).text(width)]
    if found.height > SHOWN:
        parts.append(f"  … and {found.height - SHOWN} more pairs (--format csv has all)")
    if made.overall is not None:
        parts += ["", "places by other ways of scoring (tau: agreement with this one)"]
        parts += [rankings(made, SHOWN, short=width is not None).text(width), "", _left_out(made)]
    return wrapped("\n".join([*parts, "", *_footnotes(made)]), width)


def _left_out(made: Comparison) -> str:
    """How many conclusions hang on a single function, trial or optimizer."""
    if made.pairs.at_every_look:
        return "nothing was left out in turn: without it, trials would have been added for longer, or not for so long"
    tried = [change for change in made.changes if change.kind != "ranking"]
    changed = [clean(one.label) for one in tried if one.lost or one.reversed or not one.same_first]
    named = f" ({', '.join(changed[:5])}{', …' if len(changed) > 5 else ''})" if changed else ""
    return (
        f"left out in turn: {len(tried)} functions, trials and optimizers; a conclusion changes without "
        f"{len(changed)} of them{named}"
    )


def _footnotes(made: Comparison) -> list[str]:
    lines = [f"watch out: {clean(text)}" for text in further_warnings(made.answer)[1]]
    lines += [f"note: {clean(note)}" for note in made.notes[:5]]
    if len(made.notes) > 5:
        lines.append(f"note: … and {len(made.notes) - 5} more (--format json has all)")
    if made.excluded:
        lines.append(f"excluded: {len(made.excluded)} (optarena score names them)")
    friedman = None if made.overall is None else made.overall.details.friedman
    if friedman is not None:
        lines.append(
            f"Friedman over {friedman.n} functions {p_said(friedman.p)} ({friedman.method}){_iman_davenport(friedman)}"
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
        print(_ranks(ranked, knots, terminal_width()))


def _ranks(ranked: list[Ranked], knots: ScottKnott, width: int | None) -> str:
    lines = ranked_numbers(ranked).text(width).splitlines()
    out = [lines[0]]
    for i, r in enumerate(ranked):
        if i and r.rank != ranked[i - 1].rank:
            out.append("  " + "-" * (len(lines[0]) - 2))
        out.append(lines[i + 1])
    notes = [f"Scott-Knott: no test separates the names between two lines ({knots.test})"]
    if not knots.calibrated:
        notes.append("This original recipe is not calibrated: it often separates equal names (docs/scores.md 5.7)")
    return wrapped("\n".join([*out, *lines[len(ranked) + 1 :], *notes]), width)
