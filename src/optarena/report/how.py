"""How a store came about: roots, versions, machines, and the commands that make it again."""

from __future__ import annotations

import json
import time
from typing import Any

import polars as pl

from optarena._text import all_without_places, visible
from optarena.dataset import Dataset
from optarena.dataset.facts import finished_by_runs
from optarena.report.tables import Column, Table
from optarena.store import RunFile, Store
from optarena.store.runs import KILLED, LIVE, QUEUED, state

FACTS = ("python", "platform", "cpu", "cores", "numpy", "scipy", "blas", "kernels")


def _ended(done: int, wanted: int) -> str:
    """Of a run whose file says when it ended, and not how."""
    return "ended" if done == wanted else "ended before all were finished"


STATES = {
    "done": "ended",
    "interrupted": "interrupted",
    "failed": "ended by an error",
    LIVE: "running",
    KILLED: "killed: no end was recorded",
    QUEUED: "waits for its pilots",
}


def runs_of(results: Dataset) -> list[RunFile]:
    """The runs that planned these studies: of a part of a store, those that concern it."""
    if results.all_runs is results.runs:
        return results.runs
    chosen = set(results.studies["study"])
    return [run for run in results.all_runs if any(study.id in chosen for study in run.studies)]


def runs(results: Dataset) -> Table:
    """One row per run: what it was to do, what of that it finished, and how it ended."""
    store, counts = Store(results.path), finished_by_runs(results, results.all_runs)
    rows = [
        [
            time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(run.time)),
            run.root,
            len(run.studies),
            len(run.todo),
            counts[run.id],
            STATES.get(state(store, run)) or _ended(counts[run.id], len(run.todo)),
        ]
        for run in runs_of(results)
        if not run.of
    ]
    columns = [
        Column("began", "time"),
        Column("root"),
        Column("studies planned", "number"),
        Column("to run", "number", None, "of these studies; the others were finished before"),
        Column("finished", "number", None, "of the studies to run, when the run ended"),
        Column("state"),
    ]
    return Table("runs", "Runs", columns, rows)


def versions(results: Dataset) -> Table:
    """One row per package and version; a package with two versions is worth a look."""
    table = results.versions()
    twice = table.group_by("package").len().filter(pl.col("len") > 1)["package"].to_list()
    note = f"Mixed versions: {', '.join(twice)}." if twice else ""
    columns = [Column("package"), Column("version"), Column("studies", "number")]
    return Table("versions", "Versions", columns, table.rows(), note=note)


def machines(results: Dataset) -> Table:
    """One row per machine."""
    seen = [[_text(facts.get(key)) for key in FACTS] for facts in results.environments()]
    rows = [list(row) for row in dict.fromkeys(tuple(row) for row in seen)]
    return Table("machines", "Machines", [Column(key) for key in FACTS], rows)


def roots(results: Dataset) -> list[str]:
    return results.studies["root"].drop_nulls().unique(maintain_order=True).to_list()


def recipes(results: Dataset) -> list[tuple[str, str]]:
    """For every different experiment of the store: its file's text and the commands that run it again.

    Files of users are named without their directories.
    """
    newest: dict[str, RunFile] = {}
    for run in runs_of(results):
        newest[json.dumps([run.root, run.experiment], sort_keys=True)] = run
    out = []
    for i, run in enumerate(newest.values(), start=1):
        name = "experiment.toml" if len(newest) == 1 else f"experiment-{i}.toml"
        kernels = " --kernels native" if run.kernels == "native" else ""
        commands = [
            f"optarena run {name} --seed {run.root} --store again{kernels}",
            "optarena report again -O report.html",
        ]
        out.append((f"# {name}\n{as_toml(all_without_places(run.experiment))}", "\n".join(commands)))
    return out


def as_toml(data: dict[str, Any]) -> str:
    """Plain data of an experiment as TOML; nested tables are written inline."""
    return "".join(f"{key} = {_value(value)}\n" for key, value in data.items() if value is not None)


def _value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return visible(json.dumps(value, ensure_ascii=False))  # TOML writes signs out as JSON does
    if isinstance(value, dict):
        pairs = (f"{_key(key)} = {_value(item)}" for key, item in value.items() if item is not None)
        return "{ " + ", ".join(pairs) + " }"
    if isinstance(value, list) and any(isinstance(item, dict) for item in value):
        return "[\n" + "".join(f"  {_value(item)},\n" for item in value) + "]"
    if isinstance(value, list):
        return "[" + ", ".join(map(_value, value)) + "]"
    return repr(value)


def _key(key: str) -> str:
    return key if key.replace("-", "_").isidentifier() and key.isascii() else _value(key)


def _text(value: Any) -> str:
    return "" if value is None else str(value)
