"""`optarena status`: the truth about a store, by optimizer, with every failure's reason."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import polars as pl
import typer

from optarena._numbers import counted
from optarena._text import clean, table
from optarena.cli._terminal import print_json
from optarena.facade import Results, open_store
from optarena.runner.kernels import PINNED
from optarena.status import ALL, ENDS, SUCCEEDED
from optarena.store import RunFile, Store
from optarena.store.runs import KILLED, LIVE, QUEUED, pilots, state

SHOWN = 10
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
        bool, typer.Option("--failed", help="Every failed study and evaluation, with its reason.")
    ] = False,
    format: Annotated[Format, typer.Option("--format", help="table or json.")] = Format.table,
) -> None:
    """Count, name and explain."""
    results = open_store(store)
    if format is Format.json:
        print_json(as_data(results))
        return
    frame = results.studies
    print(f"store {clean(store)} · {counted(frame.height, 'study')} · {frame['evaluations'].sum():,} evaluations")
    if not frame.height:
        print("nothing has been run here yet")
        return
    statuses = [status for status in ALL if (frame["status"] == status).any()]
    optimizers = list(dict.fromkeys(frame["optimizer"]))
    rows = []
    for name in optimizers:
        part = frame.filter(pl.col("optimizer") == name)
        counts = [int((part["status"] == status).sum()) for status in statuses]
        rows.append([name, *counts, f"{part['evaluations'].sum():,}", f"{part['failures'].sum():,}"])
    headers = ["optimizer", *statuses, "evaluations", "of them failed"]
    print(table(headers, rows, right=headers[1:]))
    ends = [word for word, status in zip(results.endings(), frame["status"], strict=False) if status == "done"]
    words = [f"{ends.count(word):,} {word}" for word in ENDS if word in ends]
    if words:
        print(f"how solvers ended: {', '.join(words)}")
    if studies:
        columns = ["study", "problem", "optimizer", "trial", "status", "reason", "evaluations", "best"]
        print(table(columns, frame.select(columns).rows(), right=("trial", "evaluations", "best")))
    for status in ALL[len(SUCCEEDED) :]:
        _studies(frame.filter(pl.col("status") == status), status, everything=failed)
    _studies(frame.filter(pl.col("conflicts") > 0), "with rows that contradict each other", everything=failed)
    again = frame.filter(pl.col("attempt") > 0).with_columns(reason=pl.col("study").replace_strict(results.causes()))
    _studies(again, "started again, earlier attempts unscored", everything=failed)
    kinds = results.failures().group_by("status", maintain_order=True).len().rows()
    if kinds:
        print(f"\nfailed evaluations: {', '.join(f'{n:,} {kind}' for kind, n in kinds)} (--failed shows each)")
    if failed:
        rows = [
            list(row)
            for row in results.failures()
            .select("problem", "optimizer", "trial", "evaluation", "status", "message")
            .iter_rows()
        ]
        if rows:
            print(f"\n{counted(len(rows), 'evaluation')} failed")
            print(
                table(
                    ["problem", "optimizer", "trial", "evaluation", "status", "message"],
                    rows,
                    right=("trial", "evaluation"),
                )
            )
    kernels = results.kernels()
    if kernels and set(kernels) != {PINNED}:
        shares = ", ".join(f"{clean(name)} in {counted(n, 'study')}" for name, n in kernels.items())
        print(f"\nnumeric kernels: {shares} (native ones may give other last digits on other machines)")
    for note in results.notes():
        print(f"\nnote: {clean(note)}")
    for run in results.runs:
        if text := _of_run(results, run):
            print(f"\n{clean(text)}")
    for text in _refused(results):
        print(text)


def _of_run(results: Results, run: RunFile) -> str:
    """What is said of a run that did not end in order, or of its pilots; nothing of a pilot by itself."""
    store = Store(results.path)
    how = state(store, run)
    if run.of or how not in RUNS:
        return ""
    if not run.pilots:
        return f"run {run.id} on {run.host} {RUNS[how].format(pid=run.pid)}"
    counts = pilots(store, run, results.runs)
    told = ", ".join(f"{n:,} {word}" for word, n in counts.items())
    what = "is running" if how == LIVE else "lost its pilots" if how == KILLED else RUNS[how]
    return f"run {run.id} {what} (pilots: {told})"


def _studies(part: pl.DataFrame, what: str, *, everything: bool) -> None:
    if not part.height:
        return
    print(f"\n{counted(part.height, 'study')} {what}")
    rows = part.select("problem", "optimizer", "trial", "evaluations", "reason").rows()
    shown = rows if everything else rows[:SHOWN]
    print(table(["problem", "optimizer", "trial", "evaluations", "reason"], shown, right=("trial", "evaluations")))
    if len(rows) > len(shown):
        print(f"  … and {len(rows) - len(shown):,} more (--failed shows all)")


def _refused(results: Results) -> list[str]:
    lines = dict.fromkeys(tuple(item) for run in results.runs for item in run.refused)
    out = [f"  {clean(o)} on {clean(p)}: {clean(reason)}" for o, p, reason in lines]
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
