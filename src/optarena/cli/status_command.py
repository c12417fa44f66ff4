"""`optarena status`: the truth about a store, by optimizer, with every failure's reason."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from optarena._numbers import counted
from optarena._text import clean, lines, table
from optarena.cli._terminal import Wide, print_json, say, terminal_width
from optarena.facade import Results, open_store
from optarena.runner.kernels import PINNED
from optarena.runner.reasons import kind_of, reason_of
from optarena.status import ALL, ENDS, SUCCEEDED, UNSUCCESSFUL
from optarena.store import RunFile, Store
from optarena.store.runs import KILLED, LIVE, QUEUED, pilots, state, why_failed

SHOWN = 10
SHORT_ID = 8
"""Characters of a study's id that are shown at least."""
KINDS = 3
"""Kinds of messages that are shown without --failed."""
RUNS = {
    LIVE: "is running in process {pid}",
    KILLED: "stopped without recording its end: it was killed, or could not write",
    "interrupted": "was interrupted",
    "failed": "ended with an error",
    QUEUED: "waits for its pilots",
}
"""What is said of runs that did not end in order."""


class Format(StrEnum):
    table = "table"
    json = "json"


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    studies: Annotated[bool, typer.Option("--studies", help="Every study, with its id.")] = False,
    failed: Annotated[
        bool, typer.Option("--failed", help="Why studies and evaluations failed: every message, with counts.")
    ] = False,
    traceback: Annotated[
        bool, typer.Option("--traceback", help="One traceback: of the failure that was met most often.")
    ] = False,
    wide: Wide = False,
    format: Annotated[Format, typer.Option("--format", help="table or json.")] = Format.table,
) -> None:
    """Count, name and explain."""
    results = open_store(store)
    if format is Format.json:
        print_json(as_data(results))
        return
    frame = results.studies
    width = terminal_width(wide=wide)
    say(f"store {clean(store)} · {counted(frame.height, 'study')} · {frame['evaluations'].sum():,} evaluations")
    if not frame.height:
        say("nothing has been run here yet")
        return
    if traceback:
        _traceback(results)
        return
    statuses = [status for status in ALL if (frame["status"] == status).any()]
    optimizers = list(dict.fromkeys(frame["optimizer"]))
    rows = []
    for name in optimizers:
        part = frame.filter(pl.col("optimizer") == name)
        counts = [int((part["status"] == status).sum()) for status in statuses]
        rows.append([name, *counts, f"{part['evaluations'].sum():,}", f"{part['failures'].sum():,}"])
    headers = ["optimizer", *statuses, "evaluations", "of them failed"]
    print(table(headers, rows, right=headers[1:], width=width))
    ends = [word for word, status in zip(results.endings(), frame["status"], strict=False) if status == "done"]
    words = [f"{ends.count(word):,} {word}" for word in ENDS if word in ends]
    if words:
        say(f"how solvers ended: {', '.join(words)}")
    if studies:
        _every_study(frame, width)
    for status in ALL[len(SUCCEEDED) :]:
        part = frame.filter(pl.col("status") == status)
        if status in UNSUCCESSFUL:
            _grouped(part, f"{counted(part.height, 'study')} {status}", "studies", width, everything=failed)
        else:
            _studies(part, status, width, everything=failed)
    _studies(frame.filter(pl.col("conflicts") > 0), "with rows that contradict each other", width, everything=failed)
    again = frame.filter(pl.col("attempt") > 0).with_columns(reason=pl.col("study").replace_strict(results.causes()))
    _studies(again, "started again, earlier attempts unscored", width, everything=failed)
    each = results.failures()
    if each.height:
        why = [reason_of(*row) for row in each.select("status", "message").iter_rows()]
        title = f"{counted(each.height, 'evaluation')} failed, in {counted(each['study'].n_unique(), 'study')}"
        grouped = each.with_columns(reason=pl.Series(why, dtype=pl.String))
        _grouped(grouped, title, "evaluations", width, everything=failed)
    kernels = results.kernels()
    if kernels and set(kernels) != {PINNED}:
        shares = ", ".join(f"{clean(name)} in {counted(n, 'study')}" for name, n in kernels.items())
        say(f"\nnumeric kernels: {shares} (native ones may give other last digits on other machines)")
    for note in results.notes():
        say(f"\nnote: {clean(note)}")
    for run in results.runs:
        if text := _of_run(results, run):
            say(f"\n{clean(text)}")
    for text in _refused(results):
        say(text)


def _of_run(results: Results, run: RunFile) -> str:
    """What is said of a run that did not end in order, or of its pilots; nothing of a pilot by itself."""
    store = Store(results.path)
    how = state(store, run)
    if run.of or how not in RUNS:
        return ""
    if not run.pilots:
        return f"run {run.id} on {run.host} {RUNS[how].format(pid=run.pid)}"
    counts = pilots(store, run, results.runs)
    states = ", ".join(f"{n:,} {word}" for word, n in counts.items()) or "none began"
    what = "is running" if how == LIVE else "lost its pilots" if how == KILLED else RUNS[how]
    why = "".join(f"; a pilot failed: {reason}" for reason in why_failed(run, results.runs))
    return f"run {run.id} {what} (pilots: {states}){why}"


def _grouped(part: pl.DataFrame, title: str, what: str, width: int | None, *, everything: bool) -> None:
    """Why studies or evaluations failed: one row per kind of message, the most frequent first."""
    if not part.height:
        return
    kinds = part.with_columns(kind=pl.col("reason").map_elements(kind_of, pl.String))
    groups = sorted(
        (group for _, group in kinds.group_by("kind", maintain_order=True)), key=lambda group: -group.height
    )
    shown = groups if everything else groups[:KINDS]
    rows = [
        [f"{group.height:,}", _one_or_many(group, "optimizer"), _one_or_many(group, "problem"), group["reason"][0]]
        for group in shown
    ]
    say(f"\n{title}")
    print(table([what, "optimizer", "problem", "message"], rows, right=(what,), fold=("message",), width=width))
    if len(groups) > len(shown):
        rest = sum(group.height for group in groups[len(shown) :])
        say(f"  … and {rest:,} with {counted(len(groups) - len(shown), 'other message')} (--failed shows all)")


def _one_or_many(group: pl.DataFrame, column: str) -> str:
    names = group[column].unique()
    return names[0] if len(names) == 1 else counted(len(names), column)


def _traceback(results: Results) -> None:
    """The traceback of the failure that was met most often: of studies that failed, else of evaluations."""
    found = results.tracebacks()
    failed = set(results.studies.filter(pl.col("status").is_in(UNSUCCESSFUL))["study"])
    found = {study: text for study, text in found.items() if study in failed} or found
    if not found:
        say("no traceback was recorded: nothing that ran here raised an exception")
        return
    kinds: dict[str, list[str]] = {}
    for study, text in found.items():
        kinds.setdefault(kind_of(text.rstrip().rpartition("\n")[2]), []).append(study)
    met = max(kinds.values(), key=len)
    row = results.studies.filter(pl.col("study") == met[0]).row(0, named=True)
    others = f" ({len(met) - 1:,} more failed alike)" if len(met) > 1 else ""
    say(f"{clean(row['optimizer'])} on {clean(row['problem'])}, trial {row['trial']}{others}")
    print(lines(found[met[0]].rstrip()))  # not wrapped: lines of programs


def _every_study(frame: pl.DataFrame, width: int | None) -> None:
    """A row per study. Where the width is limited, of its id only as much as `replay` needs."""
    columns = ["study", "problem", "optimizer", "trial", "status", "reason", "evaluations", "best"]
    if (frame["reason"].fill_null("") == "").all():
        columns.remove("reason")
    if width is not None:
        ids = frame["study"].to_list()
        apart = (n for n in range(SHORT_ID, max(map(len, ids))) if len({name[:n] for name in ids}) == len(ids))
        frame = frame.with_columns(pl.col("study").str.slice(0, next(apart, None)))
    right = ("trial", "evaluations", "best")
    rows = frame.select(columns).rows()
    whole, fold = ("study",), [name for name in columns if name == "reason"]
    print(table(columns, rows, right=right, whole=whole, width=width, drop=("evaluations",), fold=fold))


def _studies(part: pl.DataFrame, what: str, width: int | None, *, everything: bool) -> None:
    if not part.height:
        return
    say(f"\n{counted(part.height, 'study')} {what}")
    rows = part.select("problem", "optimizer", "trial", "evaluations", "reason").rows()
    shown = rows if everything else rows[:SHOWN]
    heads = ["problem", "optimizer", "trial", "evaluations", "reason"]
    print(table(heads, shown, right=("trial", "evaluations"), width=width, fold=("reason",)))
    if len(rows) > len(shown):
        say(f"  … and {len(rows) - len(shown):,} more (--failed shows all)")


def _refused(results: Results) -> list[str]:
    found = dict.fromkeys(tuple(item) for run in results.runs for item in run.refused)
    out = [f"  {clean(o)} on {clean(p)}: {clean(reason)}" for o, p, reason in found]
    return [f"\n{counted(len(out), 'pairing')} refused when planning", *out] if out else []


def as_data(results: Results) -> dict[str, Any]:
    """The same as plain data."""
    frame = results.studies
    counts = {status: int((frame["status"] == status).sum()) for status in ALL}
    return {
        "store": str(results.path),
        "counts": counts,
        "studies": frame.to_dicts(),
        "failures": results.failures().to_dicts(),
        "runs": [
            {
                "id": run.id,
                "root": run.root,
                "host": run.host,
                "pid": run.pid,
                "started": run.time,
                "ended": run.ended,
                "state": "ended" if run.ended else "live" if Store(results.path).is_live(run) else "stale",
                "how": state(Store(results.path), run),
                **({"pilots": pilots(Store(results.path), run, results.runs)} if run.pilots else {}),
            }
            for run in results.runs
            if not run.of
        ],
        "kernels": results.kernels(),
        "notes": results.notes(),
        "damage": [item.text for item in results.damage],
        "refused": [list(item) for run in results.runs for item in run.refused],
    }
