"""`optarena bayesmark agg`, `baseline`, `anal` and `init`: from a database's studies to the printed summary."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from optarena._bayesmark_names import VISIBLE
from optarena._text import clean, table
from optarena.bayesmark.database import prepare, put_into_database
from optarena.bayesmark.derived import aggregate_database, refuse_stale
from optarena.bayesmark.files import left_out_of_cubes
from optarena.bayesmark.scores import changed_since, score, write_baseline, write_performance
from optarena.cli._bayesmark_flags import as_bayesmark_says, database, name_some, say
from optarena.views.fixed_cost import FixedCost


def init(flags: argparse.Namespace) -> None:
    """Make the folders."""
    prepare(database(flags))


def agg(flags: argparse.Namespace) -> None:
    """Studies to cubes, if the problems are what they were in all of them; what is missing is named."""
    made = aggregate_database(database(flags), as_bayesmark_says(flags))
    _tell_missing(made.missing, flags.verbose)
    if made.roots:
        say(
            "To make the missing studies, launch again with the same --uuid, and --retry for what failed"
            f" (studies are missing of {', '.join(made.roots)})"
        )
    if flags.verbose:
        rows = [[name, *error, max(error)] for name, error in made.signature_errors.items()]
        print("Signature errors:")
        print(table(["", "0", "1", "2", "3", "4", "max"], rows, right=("0", "1", "2", "3", "4", "max")))


def _tell_missing(lines: Sequence[str], verbose: bool) -> None:
    name_some([f"missing: {line}" for line in lines], verbose)


def baseline(flags: argparse.Namespace) -> None:
    """The baseline, from the cube."""
    path = database(flags)
    _refuse_stale(path)
    _tell_missing(left_out_of_cubes(path), flags.verbose)
    view, signatures = score(path, baseline=None)
    write_baseline(path, view, signatures, as_bayesmark_says(flags))
    _tell(view, flags.verbose)


def anal(flags: argparse.Namespace) -> None:
    """Scores by the database's baseline, which is made if it is missing."""
    path = database(flags)
    args = as_bayesmark_says(flags)
    file = path / "derived" / "baseline.json"
    _refuse_stale(path)
    _tell_missing(left_out_of_cubes(path), flags.verbose)
    if not file.is_file():
        say("Baselines not found. Need to construct baseline.")
        view, signatures = score(path, baseline=None)
        write_baseline(path, view, signatures, args)
    elif file.stat().st_mtime < (path / "derived" / "eval.json").stat().st_mtime:
        say(
            "note: derived/baseline.json is older than the scored studies (optarena bayesmark baseline makes a new one)"
        )
    changed = changed_since(path, file)
    name_some(
        [f"left out: {name} gives other values than when the baseline was made" for name in changed], flags.verbose
    )
    if changed:
        say("(bayesmark-baseline makes a baseline of the RandomSearch of this database, with which they are scored)")
    view, signatures = score(path, baseline=file, without=changed)
    write_performance(path, view, signatures, args)
    _tell(view, flags.verbose)
    for metric in view.metrics:
        _print_summary(view, metric)


def _refuse_stale(path: Path) -> None:
    """Refuse to score older cubes than the database has studies; the store may have some that are not in files yet."""
    if (path / "derived" / "eval.json").is_file():
        put_into_database(path)
        refuse_stale(path)


def _tell(view: FixedCost, verbose: bool) -> None:
    for note in view.notes if verbose else view.frame["unchecked"]:
        say(f"note: {clean(note)}")
    for item in view.excluded:
        say("excluded: " + clean(" ".join(str(value) for value in item.values() if value is not None)))


def _print_summary(view: FixedCost, metric: str) -> None:
    """The blocks of the slides: scores at the last batch, an optimizer a line."""
    rows = view.summary.filter(pl.col("metric") == metric)
    rows = rows.filter(pl.col("iteration") == pl.col("iteration").max()).sort("optimizer")
    last = rows["iteration"][0]
    print(f"{VISIBLE if metric == 'value' else metric}:")
    names = rows["optimizer"].to_list()
    for title, column in (("median", "median"), ("mean", "mean"), ("normed mean", "mean_normed")):
        ends = zip(rows[f"{column}_lb"].to_list(), rows[f"{column}_ub"].to_list(), strict=True)
        _print_block(f"{title} score @ {last}:", names, rows[column].to_list(), list(ends))
    if metric == "value":
        _print_block("Final score `100 x (1-loss)` for leaderboard:", names, rows["score"].to_list(), [])


def _print_block(title: str, names: list[str], values: list[Any], intervals: list[tuple[Any, Any]]) -> None:
    """One line per optimizer: its score, and behind it the 95 % interval over problems, where there is one."""
    print(title)
    print("optimizer")
    width = max(map(len, names))
    small = any(value is not None and 0 < abs(value) < 1e-4 for value in values)

    def text(value: Any) -> str:
        return "NaN" if value is None else f"{value:.6e}" if small else f"{value:.6f}"

    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        low, high = intervals[i] if intervals else (None, None)
        finite = all(end is not None and math.isfinite(end) for end in (low, high))
        print(f"{clean(name):{width}}    {text(value)}" + (f"    [{text(low)}, {text(high)}]" if finite else ""))
