"""The sections of time, of failures, and of how it was run."""

from __future__ import annotations

from typing import Any

import polars as pl

from optarena._numbers import counted
from optarena.report import how
from optarena.report.material import Material
from optarena.report.sections._section import Content, add_figure
from optarena.report.tables import Column, Table
from optarena.status import SUCCEEDED


def time_section(material: Material) -> Content:
    table = material.times
    rows = [
        [row["optimizer"], row["phase"], row["median"], (row["q1"], row["q3"]), row["n"]]
        for row in table.iter_rows(named=True)
    ]
    columns = [
        Column("optimizer", "optimizer"),
        Column("phase"),
        Column("median", "seconds"),
        Column("quartiles", "seconds interval"),
        Column("studies", "number", 0),
    ]
    listed = Table("times", "Seconds per evaluation", columns, rows, table["scope"].to_list())
    out = Content()
    if material.results.clocks.differ:
        out.words.append("These seconds are as measured, on machines of different speed.")
    add_figure(material, "time", out)
    out.blocks.append(listed)
    return out


def failures_section(material: Material) -> Content:
    out, results = Content(), material.results
    add_figure(material, "progress", out)
    if material.failures.height:
        total = int(material.failures["count"].sum())
        out.words.append(f"{counted(total, 'evaluation')} failed; the optimizers were informed and continued.")
        add_figure(material, "failures", out)
        columns = [
            Column("problem", "problem"),
            Column("optimizer", "optimizer"),
            Column("kind"),
            Column("evaluations", "number", 0),
            Column("one of the messages"),
        ]
        rows = material.failures.select("problem", "optimizer", "kind", "count", "message").rows()
        out.blocks.append(Table("failed-evaluations", "Failed evaluations", columns, rows))
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column("trial", "number", 0),
        Column("status"),
        Column("evaluations", "number", 0),
        Column("reason"),
    ]
    broken = results.studies.filter(~pl.col("status").is_in(SUCCEEDED))
    if broken.height:
        rows = broken.select("problem", "optimizer", "trial", "status", "evaluations", "reason").rows()
        out.blocks.append(Table("unfinished", "Studies that did not end well", columns, rows))
    else:
        out.words.append("Every study ended well.")
    refused = list(dict.fromkeys(tuple(item) for run in results.runs for item in run.refused))
    if refused:
        columns = [Column("optimizer", "optimizer"), Column("problem", "problem"), Column("reason")]
        out.blocks.append(Table("refused", "Pairings refused when planning", columns, refused))
    view = material.fixed_cost
    if view is not None and view.excluded:
        columns = [
            Column("problem", "problem"),
            Column("optimizer", "optimizer"),
            Column("trial", "number", 0),
            Column("reason"),
        ]
        rows = [tuple(item.get(key) for key in ("problem", "optimizer", "trial", "reason")) for item in view.excluded]
        out.blocks.append(Table("excluded", "Left out of scores", columns, rows))
    elif view is not None:
        out.words.append("Nothing was left out of the scores.")
    return out


def how_section(material: Material) -> Content:
    results, out = material.results, Content()
    roots = how.roots(results)
    out.words.append(
        f"{'Root' if len(roots) == 1 else 'Roots'}: {', '.join(roots) or 'none'}. The same root, plan, "
        "package versions and CPU kernel give the same results, bit for bit."
    )
    for file, commands in how.recipes(results):
        out.blocks.append({"kind": "code", "title": "The experiment", "text": file})
        out.blocks.append({"kind": "code", "title": "The commands that run it again", "text": commands})
    if not how.runs_of(results):
        out.words.append("No run is recorded here: the data were imported.")
    elif results.all_runs is not results.runs:
        out.words.append("This page shows a part of the store; the commands run the whole experiment again.")
    view = material.fixed_cost
    if view is not None:
        rows = [[key.replace("_", " "), _fact(value)] for key, value in view.frame.items() if value != []]
        rows = [["view", view.name], ["mode", view.mode], *rows]
        out.blocks.append(
            Table(
                "frame",
                "Frame of the scores",
                [Column("fact"), Column("value")],
                rows,
                note="What the scores were measured against; another frame gives other scores.",
            )
        )
    out.blocks += [table for table in (how.runs(results), how.versions(results), how.machines(results)) if table.rows]
    return out


def _fact(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)
