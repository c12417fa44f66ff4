"""The studies of a store as one tidy table: what `import` reads back as the same studies."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import polars as pl

from optarena._text import mailable
from optarena.dataset import Dataset
from optarena.formats.parameters import KINDS, TYPES
from optarena.formats.statuses import OF_RUNS
from optarena.formats.tidy import FRONT, KNOWN_VALUES, NAMES, OTHER, PREFIXES, as_named
from optarena.status import EVALUATION
from optarena.store.columns import Attempt
from optarena.store.records import IMPORTED
from optarena.traces import Ints

ORDER = (
    *("problem", "optimizer", "trial", "suite", "function", "dimension", "instance"),
    *("evaluation", "batch", "suggestion", "value", "f", "seconds", "decisions", "effort"),
    *("sense", "f_opt", "best_known", "ideal", "nadir", "front", "budget", "budget_seconds", "budget_target"),
    *("status", "message", "bound", "violation", "metric", "x"),
    *("batch_size", "record", "evaluations", "ended", "reason", "study", "root"),
)


def tidy_frame(results: Dataset, *, typed: bool) -> pl.DataFrame:
    """Every kept evaluation of the newest attempts, and a row for each run that ended without one, or after it.

    `typed`: for a format whose columns have types; else a parameter whose texts look like something else says so
    in its column's name.
    """
    table = _Table(results)
    frame = table.rows().with_columns(pl.col("_study").cast(pl.Int64))
    studies = table.studies()
    twice = [name for name in studies.columns if name in frame.columns and name != "_study"]
    frame = frame.join(studies.drop(twice), on="_study", how="left", maintain_order="left")
    if twice:  # kept with rows by one file, with the study by another
        more = studies.select("_study", *(pl.col(name).alias(f"_study {name}") for name in twice))
        frame = frame.join(more, on="_study", how="left", maintain_order="left")
        frame = frame.with_columns([pl.coalesce(name, f"_study {name}") for name in twice])
        frame = frame.drop([f"_study {name}" for name in twice])
    frame = frame.join(table.parameters(typed), on="_at", how="left", maintain_order="left").drop("_study", "_at")
    frame = _mailable(frame, results.hosts).rename(as_named)
    if FRONT in frame.columns:  # long: once a problem
        shared = [name for name in ("problem", "instance") if name in frame.columns]
        frame = frame.with_columns(pl.when(pl.int_range(pl.len()).over(shared) == 0).then(FRONT))
    kept = [
        name for name in frame.columns if frame[name].null_count() < frame.height or name in ("problem", "optimizer")
    ]
    if not any(name == "value" or name.startswith("f.") for name in kept):
        frame, kept = frame.with_columns(value=pl.lit(None, pl.Float64)), [*kept, "value"]
    return frame.select(sorted(kept, key=lambda name: _place(str(name))))


def _mailable(frame: pl.DataFrame, hosts: tuple[str, ...]) -> pl.DataFrame:
    """Error messages, reasons and what imported files say, without directories, users and machines."""
    texts = [name for name in frame.columns if name in ("message", "reason") or name.startswith(OTHER)]
    for name in texts:
        if frame.schema[name] == pl.String:
            known = {text: mailable(text, hosts) for text in frame[name].drop_nulls().unique()}
            changed = {text: cut for text, cut in known.items() if cut != text}
            frame = frame.with_columns(pl.col(name).replace(changed)) if changed else frame
    return frame


def _place(name: str) -> tuple[int, str]:
    """Where a column stands; those whose order no problem's card tells are sorted by name."""
    head = name if name in ORDER else name.partition(".")[0] if name.partition(".")[0] in PREFIXES else ""
    return (ORDER.index(head), name if head == "effort" else "") if head in ORDER else (len(ORDER), name)


class _Table:
    def __init__(self, results: Dataset) -> None:
        # by problem, optimizer and trial, whatever the order of plans and files: equal stores give equal bytes
        ranks = [_rank(attempt) for attempt in results.attempts]
        self.results = results.select(np.array(sorted(range(len(ranks)), key=ranks.__getitem__), dtype=int)).in_full()
        self.columns, self.attempts = self.results.columns, self.results.attempts
        self.at, self.counts = self.results.rows
        self.of = np.repeat(np.arange(len(self.attempts)), self.counts)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def rows(self) -> pl.DataFrame:
        """One row per evaluation, then those that only say how a run ended, sorted by study."""
        columns, at, of = self.columns, self.at, self.of
        out: dict[str, Any] = {"_study": of, "_at": at, "evaluation": columns.evaluation[at]}
        status = columns.status[at]
        for name, column, present in self._objectives():
            values = columns.values[at, column]
            out.setdefault(name, np.full(len(at), np.nan))
            out[name] = np.where(present, values, out[name])
            out.setdefault(f"_has {name}", np.zeros(len(at), dtype=bool))
            # an evaluation that failed has no value; one that gave nan has nan
            out[f"_has {name}"] |= present & (~np.isnan(values) | (status == EVALUATION.index("nan")) | (status == 0))
        extras = {name: column[at] for name, column in columns.extras.items()}
        seconds = self.results.traces().seconds if len(at) else np.zeros(0)
        charged = np.isnan(extras.get("seconds", np.full(len(at), np.nan)))
        imported = np.array([attempt.card.imported for attempt in self.attempts], dtype=bool)[of]
        extras["seconds"] = np.where(charged & imported, np.nan, seconds)
        sizes = np.array([attempt.start.batch for attempt in self.attempts], dtype=np.int64)[of]
        nothing = np.full(len(at), np.nan)
        usual = np.isnan(extras.get("batch", nothing)) & np.isnan(extras.get("suggestion", nothing)) & (sizes > 1)
        for name, number in zip(("batch", "suggestion"), np.divmod(columns.evaluation[at] - 1, sizes), strict=True):
            extras[name] = np.where(usual, number, extras.get(name, nothing))
        out.update(extras)
        for prefix, matrix, names in (
            ("metric", columns.metrics, lambda attempt: list(attempt.card.metrics)),
            ("violation", columns.violations, lambda attempt: _violations(attempt.card.constraints)),
        ):
            for name, column, present in self._named(names):
                full = f"{prefix}.{name}" if name else prefix
                out[full] = np.where(present, matrix[at, column], out.get(full, np.nan))
                if prefix == "metric":  # one that was nan is not one that was not there
                    out[f"_has {full}"] = out.get(f"_has {full}", False) | (present & columns.measured[at, column])
        for name, texts in columns.notes.items():
            out[OTHER + name] = pl.Series(texts[at].tolist(), dtype=pl.String)
        frame = pl.DataFrame(out)
        frame = frame.with_columns(
            [
                pl.when(pl.col(f"_has {name}")).then(pl.col(name)).alias(name)
                for name in [n.removeprefix("_has ") for n in out if n.startswith("_has ")]
            ]
        ).drop([name for name in out if name.startswith("_has ")])
        numbers = [name for name in out if name == "violation" or name.startswith("violation.") or name in extras]
        frame = frame.with_columns(pl.col(numbers).fill_nan(None))
        whole = [name for name in ("batch", "suggestion") if name in frame.columns]
        frame = frame.with_columns(pl.col(whole).cast(pl.Int64), **self._failures(status))
        endings = self._endings()
        if endings.height:
            frame = pl.concat([frame, endings], how="diagonal_relaxed").sort("_study", maintain_order=True)
        return frame

    def _objectives(self) -> list[tuple[str, int, Any]]:
        def names(attempt: Attempt) -> list[str]:
            given = [objective.name for objective in attempt.card.objectives]
            return given if given == ["value"] else [f"f.{name}" for name in given]

        return self._named(names)

    def _named(self, names: Any) -> list[tuple[str, int, Any]]:
        """(name, column of the matrix, which rows): what the studies call the columns of a matrix."""
        where: dict[tuple[str, int], list[int]] = {}
        for i, attempt in enumerate(self.attempts):
            for column, name in enumerate(names(attempt)):
                where.setdefault((name, column), []).append(i)
        order = _merged([names(attempt) for attempt in self._by_card()])
        out = []
        for (name, column), studies in sorted(where.items(), key=lambda item: order.index(item[0][0])):
            mask = np.zeros(len(self.attempts), dtype=bool)
            mask[studies] = True
            out.append((name, column, mask[self.of]))
        return out

    def _by_card(self) -> list[Attempt]:
        """An attempt at each problem."""
        return list({attempt.card.hash: attempt for attempt in self.attempts}.values())

    def _failures(self, status: Any) -> dict[str, pl.Series]:
        if not status.any():
            return {}
        texts: list[str | None] = [None] * len(status)
        messages: list[str | None] = [None] * len(status)
        for i in np.flatnonzero(status).tolist():
            texts[i] = EVALUATION[status[i]]
            messages[i] = self.columns.messages.get(int(self.at[i])) or None
        return {"status": pl.Series(texts, dtype=pl.String), "message": pl.Series(messages, dtype=pl.String)}

    def _endings(self) -> pl.DataFrame:
        """A row without a value for a run that has none, or that gives its effort at its end."""
        rows = []
        for i in range(len(self.attempts)):
            stood = self.columns.at_end(self.results.chosen[i])
            if stood or not self.counts[i]:
                status, reason = self._ended(i)
                # a word that import knows; any other reason is in its own column
                text = reason if reason and status == OF_RUNS.get(reason) == "done" else status
                stood = {name: None if number is None else float(number) for name, number in stood.items()}
                rows.append({"_study": i, "status": text, **stood})
        return pl.DataFrame(rows, infer_schema_length=None)

    # ---- studies -----------------------------------------------------------------------------------------------------

    def _ended(self, i: int) -> tuple[str, str]:
        row = self._status.row(i)
        return row[0], row[1] or ""

    @property
    def _status(self) -> pl.DataFrame:
        return self.results.studies.head(len(self.attempts)).select("status", "reason", "evaluations")

    def studies(self) -> pl.DataFrame:
        """What is the same for all rows of a study."""
        facts = self._status.rows()
        rows: list[dict[str, Any]] = []
        for i, (attempt, (status, reason, made)) in enumerate(zip(self.attempts, facts, strict=True)):
            start, card = attempt.start, attempt.card
            names = [objective.name for objective in card.objectives]
            row: dict[str, Any] = {
                "_study": i,
                "problem": card.id,
                "optimizer": start.optimizer,
                "trial": start.trial,
                "suite": card.suite or None,
                "function": card.function or None,
                "dimension": card.dimension or None,
                "instance": card.instance,
                "budget": start.budget.evaluations,
                "budget_seconds": start.budget.seconds,
                "budget_target": start.budget.target,
                "batch_size": start.batch if start.batch > 1 else None,
                "record": start.record if start.record != "all" else None,
                "evaluations": made,
                "ended": status,
                "reason": reason or None,
                "study": start.study,
                "root": start.root,
                **{OTHER + name: text for name, text in start.attributes.items() if name not in NAMES},
            }
            if card.version not in (IMPORTED, "1"):
                row[OTHER + "version"] = card.version
            senses = {objective.sense for objective in card.objectives}
            if len(senses) == 1:
                row["sense"] = senses.pop()
            else:
                row.update({f"sense.{objective.name}": objective.sense for objective in card.objectives})
            for head, field in KNOWN_VALUES.items():
                given = getattr(card.known, field)
                if given is not None:
                    row.update(
                        {head if len(names) == 1 else f"{head}.{n}": v for n, v in zip(names, given, strict=True)}
                    )
            if card.known.front is not None:
                row[FRONT] = msgspec.json.encode(card.known.front).decode()
            rows.append(row)
        frame = pl.DataFrame(rows, infer_schema_length=None)
        return _without_the_usual(frame, self.counts)

    # ---- parameters --------------------------------------------------------------------------------------------------

    def parameters(self, typed: bool) -> pl.DataFrame:
        """The parameters of all rows: one column per name, or per name and kind where that must be stated."""
        bounds = np.concatenate(([0], np.cumsum(self.counts)))
        by_card: dict[str, tuple[Attempt, list[list[Any]], list[Ints]]] = {}
        for i, attempt in enumerate(self.attempts):
            rows = self.at[bounds[i] : bounds[i + 1]]
            if not len(rows) or not attempt.card.space:
                continue
            width = len(attempt.card.space)
            points = [point or [None] * width for point in self.columns.points(rows)]
            entry = by_card.setdefault(attempt.card.hash, (attempt, [], []))
            entry[1].extend(points)
            entry[2].append(rows)
        frames = []
        for attempt, points, parts in by_card.values():
            kinds = [_kind(line["type"]) for line in attempt.card.space.values()]
            series = [
                pl.Series(f"{name}\n{kind}", list(values), dtype=TYPES[kind], strict=False)
                for name, kind, values in zip(attempt.card.space, kinds, zip(*points, strict=True), strict=True)
            ]
            frames.append(pl.DataFrame([pl.Series("_at", np.concatenate(parts)), *series]))
        if not frames:
            return pl.DataFrame({"_at": self.at[:0]})
        order = _merged([frame.columns for frame in frames])
        frame = pl.concat(frames, how="diagonal").select(order)
        return frame.rename(_titles(frame, typed))


def _rank(attempt: Attempt) -> tuple[Any, ...]:
    start, instance = attempt.start, attempt.card.instance
    return attempt.card.id, start.optimizer, start.trial, -1 if instance is None else instance, start.study


def _merged(lists: list[list[str]]) -> list[str]:
    """All names once, each after the one that stands before it in the longest list that has it."""
    out: list[str] = []
    for names in sorted({tuple(names): None for names in lists}, key=len, reverse=True):
        at = 0
        for name in names:
            if name not in out:
                out.insert(at, name)
            at = out.index(name) + 1
    return out


def _kind(type_: str) -> str:
    return {"cat": "text", "ordinal": "text"}.get(type_, type_)


def _violations(constraints: int) -> list[str]:
    return [""] if constraints == 1 else [str(i + 1) for i in range(constraints)]


def _titles(frame: pl.DataFrame, typed: bool) -> dict[str, str]:
    """The names of the columns of parameters; with the kind where it would not be found out, or where names clash."""
    names = [title.rpartition("\n")[0] for title in frame.columns if title != "_at"]
    out = {}
    for title in frame.columns:
        name, _, kind = title.rpartition("\n")
        if title == "_at":
            continue
        told = names.count(name) > 1 or name.rpartition(":")[2] in KINDS
        if not told and not typed:
            column = frame[title].drop_nulls()
            if kind == "text":
                cells = column.str.strip_chars()
                cells = cells.filter(cells != "")
                told = bool(
                    cells.cast(pl.Float64, strict=False).is_not_null().all()
                    or cells.str.to_lowercase().is_in(["true", "false"]).all()
                    # what looks like a number in one of several problems
                    or cells.cast(pl.Float64, strict=False).is_not_null().any()
                    or cells.str.to_lowercase().is_in(["true", "false"]).any()
                )
        out[title] = f"x.{name}:{kind}" if told else f"x.{name}"
    return out


def _without_the_usual(frame: pl.DataFrame, counts: Ints) -> pl.DataFrame:
    """Leave out what every study has by default, so that a plain store gives a plain table."""
    usual = frame.select(
        ended=((pl.col("ended") == "done") & pl.col("reason").is_null()).all(),
        evaluations=(pl.col("evaluations") == pl.Series(counts)).all() & pl.col("record").is_null().all(),
        sense=(pl.col("sense") == "min").all() if "sense" in frame.columns else pl.lit(False),
    ).row(0, named=True)
    budgets = frame.filter(pl.col("budget").is_not_null() & (pl.col("budget") != pl.col("evaluations"))).height
    drop = [name for name, yes in usual.items() if yes and not (name == "evaluations" and budgets)]
    return frame.drop([name for name in drop if name in frame.columns])
