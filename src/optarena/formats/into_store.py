"""What was read, a checked tidy table or runs, as the lines of a journal."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from optarena._json import printable, strict
from optarena._known_fronts import known_front
from optarena.errors import OptarenaError
from optarena.experiment import Budget
from optarena.formats.incoming import Cards, Incoming, imported_start, study_id
from optarena.formats.parameters import parameter_values
from optarena.formats.runs import NOTHING, Runs, records
from optarena.formats.statuses import of_run
from optarena.formats.tidy import FRONT, KNOWN_VALUES, Tidy, as_named, plain_word, read_front
from optarena.problem import Known, Objective
from optarena.store.records import IMPORTED, End, ProblemCard, Record, Rows


def incoming(read: Tidy | Runs) -> Incoming:
    """The studies of what was read, as lines of a journal."""
    if isinstance(read, Tidy):
        return Incoming(read.table.name, list(_records(read)), read.table.notices)
    sources = {s: run.source for s, run in enumerate(read.runs)}
    return Incoming(
        read.name, list(records(read)), read.notices, ids_stated=False, trials_stated=False, sources=sources
    )


class _Columns:
    """The columns of the table as plain lists, made when first used: slices of them are the rows of a study."""

    def __init__(self, tidy: Tidy) -> None:
        self.rows = tidy.rows
        self._made: dict[str, list[Any]] = {}
        self._some: dict[str, Any] = {}

    def plain(self, name: str, kind: str = "") -> list[Any]:
        key = f"{name}\n{kind}"
        if key not in self._made:
            series = parameter_values(self.rows[name], kind) if kind else self.rows[name]
            self._made[key] = _plain(series)
        return self._made[key]

    def some(self, name: str, low: int, high: int) -> bool:
        """Whether a study has anything in a column."""
        if name not in self._some:
            present = self.rows[name].is_not_null().to_numpy()
            self._some[name] = np.concatenate(([0], np.cumsum(present)))
        return bool(self._some[name][high] > self._some[name][low])

    def table(self, names: list[tuple[str, str]], low: int, high: int) -> list[list[Any]]:
        parts = [self.plain(name, kind)[low:high] for name, kind in names]
        return [list(row) for row in zip(*parts, strict=True)]


def _plain(series: pl.Series) -> list[Any]:
    """A column as JSON can hold it."""
    out = series.to_list()
    if series.dtype == pl.Float64:
        odd = (series.is_nan() | series.is_infinite()).fill_null(False).arg_true()
        for i in odd.to_list():
            out[i] = "nan" if out[i] != out[i] else ("inf" if out[i] > 0 else "-inf")
    elif series.dtype == pl.String:
        out = [text if text is None or text.isascii() else printable(text) for text in out]
    return out


def _records(tidy: Tidy) -> Iterator[Record]:
    """The lines of the journal, study by study; times are left at 0."""
    written: set[str] = set()
    columns = _Columns(tidy)
    rows = tidy.rows
    present = _present(tidy)
    lengths = rows.group_by("_study", maintain_order=True).len()["len"].to_list()
    bounds = list(pairwise(np.concatenate(([0], np.cumsum(lengths))).tolist()))
    studies = zip(tidy.studies.iter_rows(named=True), study_cards(tidy), bounds, strict=True)
    for s, (study, card, (low, high)) in enumerate(studies):
        problem = study["problem"]
        has = present[problem]
        if card.hash not in written:
            written.add(card.hash)
            yield card
        events = study["_events"]
        last = low + events
        batch, regular = _batches(columns, study, low, last)
        ending = _ending(study)
        made, record = _made(study, ending[0])
        instance = _whole(study.get("instance"))
        yield imported_start(
            s,
            card,
            study["optimizer"],
            int(study["trial"]),
            Budget(_whole(study.get("budget")), study.get("budget_seconds"), study.get("budget_target")),
            study=study.get("study") or study_id(problem, study["optimizer"], int(study["trial"]), instance),
            root=study.get("root") or "",
            batch=batch,
            record=record,
            attributes={
                strict(as_named(name)): columns.plain(name)[low]
                for name in tidy.attributes
                if columns.plain(name)[low] is not None
            },
        )
        if events:
            yield _rows(tidy, columns, s, problem, has, low, last, regular)
        end = End(s, ending[0], made, 0.0, NOTHING, ending[1])
        if last < high:  # a row of its own for the end
            end.a = {name: columns.plain(name)[last] for name in tidy.extras if columns.some(name, last, high)}
        yield end


def _rows(
    tidy: Tidy,
    columns: _Columns,
    s: int,
    problem: str,
    has: dict[str, list[str]],
    low: int,
    high: int,
    regular: bool,
) -> Rows:
    evaluation = columns.plain("evaluation")[low:high]
    parameters = [(column, kind) for _, column, kind in tidy.parameters[problem]]
    points = columns.table(parameters, low, high) if parameters else []
    if not any(columns.some(column, low, high) for column, _ in parameters):
        points = []
    out = Rows(
        s=s,
        k=evaluation[0],
        x=points,
        y=columns.table([(name, "") for name in has["objectives"]], low, high),
        w=NOTHING,
    )
    if evaluation[-1] - evaluation[0] != len(evaluation) - 1:
        out.e = evaluation
    failed = columns.plain("_failed")[low:high]
    if any(status != "ok" for status in failed):
        texts = columns.plain("message")[low:high] if "message" in tidy.rows.columns else [""] * len(failed)
        given = columns.plain("_status")[low:high]
        out.f = {
            i: (status, text or ("" if given[i] == status else given[i]))
            for i, (status, text) in enumerate(zip(failed, texts, strict=True))
            if status != "ok"
        }
    if has["violations"]:
        out.v = columns.table([(name, "") for name in has["violations"]], low, high)
    if has["metrics"]:
        out.m = columns.table([(name, "") for name in has["metrics"]], low, high)
    extras = [name for name in tidy.extras if not (regular and name in ("batch", "suggestion"))]
    out.a = {name: columns.plain(name)[low:high] for name in extras if columns.some(name, low, high)}
    out.n = {as_named(name): columns.plain(name)[low:high] for name in tidy.notes if columns.some(name, low, high)}
    return out


def study_cards(tidy: Tidy) -> list[ProblemCard]:
    """What the table says of the problem of each study; those that are equal are one card."""
    cards, senses, present = Cards(), _senses(tidy), _present(tidy)
    return [
        cards.add(_card(tidy, study, senses, present[study["problem"]]))[0]
        for study in tidy.studies.iter_rows(named=True)
    ]


def _present(tidy: Tidy) -> dict[str, dict[str, list[str]]]:
    """For each problem the objectives, metrics and violations that it has."""
    names = [*tidy.objectives, *tidy.metrics, *tidy.violations]
    found = tidy.rows.group_by("problem").agg([pl.col(name).is_not_null().any() for name in names])
    out = {}
    for row in found.iter_rows(named=True):
        objectives = [name for name in tidy.objectives if row[name]]
        if not objectives:  # nothing but runs without an event
            objectives = ["value"] if "value" in tidy.objectives else tidy.objectives
        out[row["problem"]] = {
            "objectives": objectives,
            "metrics": [name for name in tidy.metrics if row[name]],
            "violations": [name for name in tidy.violations if row[name]],
        }
    return out


def _senses(tidy: Tidy) -> dict[str, dict[str, Any]]:
    names = [name for name in tidy.rows.columns if name == "sense" or name.startswith("sense.")]
    found = tidy.rows.group_by("problem").agg([pl.col(name).drop_nulls().first() for name in names])
    return {row["problem"]: row for row in found.iter_rows(named=True)}


def _card(tidy: Tidy, study: dict[str, Any], senses: dict[str, Any], has: dict[str, list[str]]) -> ProblemCard:
    problem = study["problem"]
    names = [name.removeprefix("f.") for name in has["objectives"]]
    sense = senses[problem]
    parameters = tidy.parameters[problem]
    known: dict[str, Any] = {}
    for head, name_there in KNOWN_VALUES.items():
        given = [study.get(f"{head}.{name}", study.get(head) if len(names) == 1 else None) for name in names]
        lacking = [name for name, value in zip(names, given, strict=True) if value is None]
        if not lacking:
            known[name_there] = tuple(given)
        elif head in ("ideal", "nadir") and len(lacking) < len(names):
            raise OptarenaError(
                f"{tidy.table.name}: problem {problem!r}: {head}.{lacking[0]} is not given, and other objectives have "
                "theirs; nothing was imported"
            )
    objectives = tuple(Objective(name, sense.get(f"sense.{name}") or sense.get("sense") or "min") for name in names)
    told = {name: known.get(name) for name in ("ideal", "nadir")}
    front = None if study.get(FRONT) is None else read_front(study[FRONT])
    try:
        known |= known_front([one.sign for one in objectives], front, **told)
    except OptarenaError as error:
        raise OptarenaError(f"{tidy.table.name}: problem {problem!r}: {error}; nothing was imported") from None
    return ProblemCard(
        hash="",
        id=problem,
        version=IMPORTED,
        space={name: {"type": "cat" if kind == "text" else kind} for name, _, kind in parameters},
        dimension=_whole(study.get("dimension")) or len(parameters),
        objectives=objectives,
        suite=study.get("suite") or "",
        function=study.get("function") or "",
        instance=_whole(study.get("instance")),
        constraints=len(has["violations"]),
        metrics=tuple(name.removeprefix("metric.") for name in has["metrics"]),
        known=Known(**known),
    )


def _batches(columns: _Columns, study: dict[str, Any], low: int, high: int) -> tuple[int, bool]:
    """The size of its batches, and whether batch and suggestion follow from it."""
    size = _whole(study.get("batch_size"))
    names = columns.rows.columns
    if high == low or "batch" not in names or "suggestion" not in names:
        return size or 1, False
    part = columns.rows[low:high]
    if part["batch"].null_count() or part["suggestion"].null_count():
        return size or 1, False
    batch, suggestion = part["batch"].to_numpy(), part["suggestion"].to_numpy()
    size = size or int(suggestion.max()) + 1
    regular = (part["evaluation"].to_numpy() - 1 == batch * size + suggestion).all() and suggestion.max() < size
    return size, bool(regular)


def _ending(study: dict[str, Any]) -> tuple[str, str]:
    """How a study ended, and why: as a column says, else as the status of its last row does."""
    text = study["_end_status"] if not study["_end_event"] or study["_end_failed"] == "ok" else ""
    status, reason = of_run(plain_word(study["ended"]) if study.get("ended") else text)
    return status, printable(study.get("reason") or reason)


def _made(study: dict[str, Any], status: str) -> tuple[int, str]:
    """How many evaluations it made, and whether the table has them all."""
    made = int(study["_made"])
    budget = _whole(study.get("budget"))
    if study.get("evaluations") is not None:
        total = max(made, int(study["evaluations"]))
    else:
        known = made > 0 or study.get("record") == "all"  # a failed run may have made none, where all of them are kept
        cut_short = status != "done" and study["_contiguous"] and known
        total = made if budget is None or cut_short else max(made, budget)
    complete = study["_contiguous"] and total == made and (made > 0 or budget is None)
    return total, study.get("record") or ("all" if complete else "improvements")


def _whole(value: float | None) -> int | None:
    return None if value is None else int(value)
