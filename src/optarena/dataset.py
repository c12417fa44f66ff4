"""The dataset: studies in memory, as tables and ragged arrays; all that scores, compares, draws or exports takes one.

>>> dataset = Dataset.of_store("results")       # doctest: +SKIP
>>> dataset.studies                             # a Polars frame, one row per study
>>> dataset.filter(optimizer="CMA-ES").traces().best_so_far()

Reading imports no problem and no optimizer, and executes nothing.
"""

from __future__ import annotations

import copy
import fnmatch
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
import numpy.typing as npt
import polars as pl

from optarena._patterns import expand_braces
from optarena._process import alive, host
from optarena.errors import OptarenaError, nearest
from optarena.sense import sign_of
from optarena.status import EVALUATION, FINISHED
from optarena.store import RunFile, Store, signatures
from optarena.store.columns import Attempt, Codes, Columns
from optarena.store.costs import CPU, EVALUATE, OBSERVE, SECONDS, SUGGEST
from optarena.store.reading import Key, columns_of, key_of
from optarena.store.records import ProblemCard, Record
from optarena.store.streaming import every_row, read_columns, read_store
from optarena.store.thinning import thinned
from optarena.traces import Bools, Floats, Ints, Traces, first_argmin

SCHEMA = {
    "study": pl.String,
    "optimizer": pl.String,
    "problem": pl.String,
    "suite": pl.String,
    "function": pl.String,
    "dimension": pl.Int64,
    "instance": pl.Int64,
    "trial": pl.Int64,
    "status": pl.String,
    "reason": pl.String,
    "evaluations": pl.Int64,
    "budget": pl.Int64,
    "budget_seconds": pl.Float64,
    "batch": pl.Int64,
    "sense": pl.String,
    "best": pl.Float64,
    "best_evaluation": pl.Int64,
    "optimum": pl.Float64,
    "best_known": pl.Float64,
    "failures": pl.Int64,
    "suggest_seconds": pl.Float64,
    "evaluate_seconds": pl.Float64,
    "observe_seconds": pl.Float64,
    "cpu_seconds": pl.Float64,
    "record": pl.String,
    "attempt": pl.Int64,
    "conflicts": pl.Int64,
    "root": pl.String,
    "started": pl.Float64,
    "ended": pl.Float64,
}


class Reader(Protocol):
    """Gives every row that was recorded."""

    def read(self, attempts: Collection[Key]) -> Columns:
        """All rows of some attempts."""

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:
        """The same, some at a time; an evaluation may come twice."""


class _OnDisk(NamedTuple):
    store: Store

    def read(self, attempts: Collection[Key]) -> Columns:
        return read_columns(self.store.journal_paths(), self.store.shard_paths, attempts)

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:
        return every_row(self.store.journal_paths, self.store.shard_paths, attempts)


class _InMemory(NamedTuple):
    columns: Columns

    def read(self, attempts: Collection[Key]) -> Columns:  # noqa: ARG002
        return self.columns

    def pieces(self, attempts: Collection[Key]) -> Iterable[Columns]:  # noqa: ARG002
        return [self.columns]


class Pool(NamedTuple):
    """Every evaluation of some studies, in their order: the value, a metric's value, and the study's place."""

    visible: Floats
    """Minimised; inf where the evaluation failed, violates a constraint, or is -inf."""
    values: Floats
    study: npt.NDArray[np.int32]


class Dataset:
    """Studies in memory: `.studies` has a row for every one that was begun or planned. Never changed.

    Of the rows only those are kept that a score can depend on, and counts of the others; `in_full` reads all of them.
    """

    def __init__(
        self,
        path: Path,
        columns: Columns,
        runs: Sequence[RunFile] = (),
        live_hosts: Collection[str] = (),
        reader: Reader | None = None,
    ) -> None:
        """reader: gives every row of some attempts, where the columns have only those that are kept."""
        self.path = path
        """Where it comes from."""
        self.runs = list(runs)
        self.all_runs = self.runs
        """Those of the whole store, also where `filter` chose a part of it."""
        self.columns = thinned(columns)
        self._reader: Reader = reader or _InMemory(columns)
        self._live_hosts = live_hosts
        newest = self.columns.newest
        planned: dict[str, int] = {}
        for run in self.runs:
            for study in run.studies:
                planned.setdefault(study.id, len(planned))
        # in the order of the plans, whoever ran them: the same experiment gives the same tables
        self.chosen = sorted(newest.values(), key=lambda i: _rank(columns.attempts[i], planned))
        """The newest attempt of each study: indices into `columns.attempts`, in the order of `.studies`."""

    @classmethod
    def of_store(cls, path: str | Path, *mentioning: str) -> Self:
        """Read a store as it is now; a run may go on meanwhile.

        mentioning: only what its journals have of some problems or studies, by their ids, and perhaps more. Studies of
        other problems may be there or pass for missing: ask only for those that were named.
        """
        store = Store(path)
        store.must_exist()
        columns = read_store(store.journal_paths, store.shard_paths, mentioning)
        runs = store.runs()
        live = {run.host for run in runs if store.is_live(run)}
        return cls(store.path, columns, runs, live, _OnDisk(store))

    @classmethod
    def of_records(cls, name: str, records: Sequence[Record]) -> Self:
        """Studies as the lines of a journal, its header first; nothing is read from a disk."""
        return cls(Path(name), columns_of([(Path(name), records)]))

    @classmethod
    def of(cls, other: Dataset) -> Self:
        """The same studies in a class of one's own."""
        out = cls.__new__(cls)
        vars(out).update(vars(other))
        return out

    @property
    def attempts(self) -> list[Attempt]:
        """The newest attempt of each begun study, in the order of `.studies`."""
        return [self.columns.attempts[i] for i in self.chosen]

    def in_full(self) -> Self:
        """The same studies with every row that was recorded, for whoever needs points, costs or each evaluation."""
        if not self.columns.thin:
            return self
        last = dict(zip(map(key_of, self.attempts), self.columns.tally.last[self.chosen].tolist(), strict=True))
        columns = self._reader.read(last.keys())
        at = {key_of(attempt): i for i, attempt in enumerate(columns.attempts)}
        ends = np.zeros(len(at), dtype=np.int64)
        for key, end in last.items():
            ends[at[key]] = end
        return self._with(columns.until(ends), [at[key] for key in last], self.runs)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.path}: {self.studies.height} studies>"

    # ---- tables ----------------------------------------------------------------------------------------------------

    @cached_property
    def studies(self) -> pl.DataFrame:
        """A row a study: who, on what, how it ended, how much it spent, and the best it found."""
        rows = [self._facts(self.columns.attempts[i]) for i in self.chosen]
        frame = pl.DataFrame(rows, schema={key: kind for key, kind in SCHEMA.items() if key not in _REDUCED})
        frame = frame.with_columns(**self._reductions())
        lost = pl.col("lost") > 0
        told = pl.col("status").is_in(FINISHED)
        frame = frame.with_columns(
            status=pl.when(lost & told).then(pl.lit("interrupted")).otherwise("status"),
            reason=pl.when(pl.col("lost") == 1)
            .then(pl.lit("1 evaluation is lost"))
            .when(lost)
            .then(pl.format("{} evaluations are lost", "lost"))
            .otherwise("reason"),
        ).select(list(SCHEMA))
        missing = self._missing()
        return pl.concat([frame, missing]) if missing.height else frame

    def _facts(self, attempt: Attempt) -> dict[str, Any]:
        start, card = attempt.start, attempt.card
        status, reason, ended = _status(attempt, self._live_hosts)
        single = len(card.objectives) == 1
        return {
            "study": start.study,
            "optimizer": start.optimizer,
            "problem": card.id,
            "suite": card.suite,
            "function": card.function,
            "dimension": card.dimension,
            "instance": card.instance,
            "trial": start.trial,
            "status": status,
            "reason": reason,
            "budget": start.budget.evaluations,
            "budget_seconds": start.budget.seconds,
            "batch": start.batch,
            "sense": card.objectives[0].sense if single else None,
            "optimum": card.known.optimum[0] if single and card.known.optimum else None,
            "best_known": card.known.best_known[0] if single and card.known.best_known else None,
            "record": start.record,
            "attempt": start.attempt,
            "conflicts": len(attempt.conflicts),
            "root": start.root,
            "started": start.time,
            "ended": ended,
        }

    def _reductions(self) -> dict[str, pl.Series]:
        """What rows say of their studies, for all studies at once."""
        columns, chosen = self.columns, np.array(self.chosen, dtype=np.int64)
        traces, tally = self.traces(), columns.tally
        nanoseconds, made = tally.spent.copy(), tally.last.copy()
        for i in self.chosen:
            attempt = columns.attempts[i]
            made[i] = max([int(made[i]), attempt.counted, *(end.evaluations for end in attempt.ends)])
            for end in attempt.ends:
                nanoseconds[i] += np.array(end.w)
        # where every evaluation is kept, what is not there was lost with a file; it is made again by the same command
        whole = np.array([attempt.start.record == "all" for attempt in columns.attempts], dtype=bool)
        lost = np.where(whole, made - tally.rows, 0) if len(whole) else made
        made -= lost
        y = np.where(traces.feasible & ~np.isnan(traces.values[:, 0]), traces.values[:, 0], np.inf)
        row = first_argmin(y, traces.offsets)
        single = np.array([len(columns.attempts[i].card.objectives) == 1 for i in self.chosen], dtype=bool)
        found = (row >= 0) & single
        sign = np.array([_sign(columns.attempts[i]) for i in self.chosen])
        best = np.full(len(chosen), np.nan)
        best[found] = y[row[found]] * sign[found]
        at = np.zeros(len(chosen), dtype=np.int64)
        at[found] = traces.evaluation[row[found]]
        spent = nanoseconds[chosen] * SECONDS
        return {
            "evaluations": pl.Series(made[chosen]),
            "lost": pl.Series(lost[chosen]),
            "best": pl.Series(best).fill_nan(None),
            "best_evaluation": pl.Series(at).set(pl.Series(~found), None) if len(at) else pl.Series(at),
            "failures": pl.Series(tally.failures[chosen]),
            "suggest_seconds": pl.Series(spent[:, SUGGEST]),
            "evaluate_seconds": pl.Series(spent[:, EVALUATE]),
            "observe_seconds": pl.Series(spent[:, OBSERVE]),
            "cpu_seconds": pl.Series(spent[:, CPU[0]] + spent[:, CPU[1]] + spent[:, CPU[2]]),
        }

    def _missing(self) -> pl.DataFrame:
        """Studies that a run meant to do and no journal has begun."""
        begun = {self.columns.attempts[i].start.study for i in self.chosen}
        rows: dict[str, dict[str, Any]] = {}
        for run in self.runs:
            for study in run.studies:
                if study.id not in begun:
                    rows[study.id] = {
                        "study": study.id,
                        "optimizer": study.optimizer,
                        "problem": study.problem,
                        "trial": study.trial,
                        "status": "missing",
                        "root": run.root,
                        "evaluations": 0,
                        "failures": 0,
                        "conflicts": 0,
                    }
        return pl.DataFrame(list(rows.values()), schema=SCHEMA)

    @property
    def all_optimizers(self) -> list[str]:
        """The name of every optimizer of the store, sorted, also of those that `filter` left out."""
        planned = (study.optimizer for run in self.all_runs for study in run.studies)
        return sorted({*(attempt.start.optimizer for attempt in self.columns.attempts), *planned})

    @property
    def spaces(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The search space of every problem that was begun, by the problem's id."""
        return {card.id: card.space for i in self.chosen for card in [self.columns.attempts[i].card]}

    @property
    def cards(self) -> list[ProblemCard]:
        """What each begun study says of its problem, in the order of `.studies`."""
        return [self.columns.attempts[i].card for i in self.chosen]

    def versions(self) -> pl.DataFrame:
        """With which version of which package how many studies were run: `package`, `version`, `studies`."""
        counts: dict[tuple[str, str], int] = {}
        for i in self.chosen:
            attempt = self.columns.attempts[i]
            made = {("optarena", header.optarena) for header in attempt.headers}
            made |= {*attempt.start.versions.items(), *attempt.card.versions.items()}
            for pair in made:
                counts[pair] = counts.get(pair, 0) + 1
        rows = [(package, version, n) for (package, version), n in sorted(counts.items())]
        return pl.DataFrame(rows, {"package": pl.String, "version": pl.String, "studies": pl.Int64}, orient="row")

    def notes(self) -> list[str]:
        """What whoever reads these studies should know: problems whose values differ between machines."""
        return signatures.notes(self.columns, {card.id for card in self.cards})

    def causes(self) -> dict[str, str]:
        """Why the newest attempt of each study was started; empty for a first one."""
        words = {
            "diverged": "what was recorded did not repeat",
            "extended": "a larger budget than its last batch or its seconds",
            "retried": "retried",
        }
        kernels: dict[str, set[str]] = {}
        for attempt in self.columns.attempts:
            ran = {signatures.facts_of(header)[-1] for header in attempt.headers}
            kernels.setdefault(attempt.start.study, set()).update(ran)
        out = {}
        for i in self.chosen:
            start = self.columns.attempts[i].start
            other = start.cause == "diverged" and len(kernels[start.study]) > 1
            out[start.study] = words.get(start.cause, start.cause) + (" with other numeric kernels" if other else "")
        return out

    def kernels(self) -> dict[str, int]:
        """How many studies ran with which numeric kernels: `x86-64-v3`, or `native`."""
        return dict(signatures.kernels_of(self.columns, self.chosen))

    def environments(self) -> list[dict[str, Any]]:
        """The different machines and processes that ran these studies, as their journals describe them."""
        out: list[dict[str, Any]] = []
        for i in self.chosen:
            for header in self.columns.attempts[i].headers:
                facts = {key: value for key, value in header.environment.items() if key != "argv"}
                if "imported" not in facts and facts not in out:
                    out.append(facts)
        return out

    # ---- rows ------------------------------------------------------------------------------------------------------

    @property
    def attributes(self) -> pl.DataFrame:
        """What imported files say of their studies beyond the usual: `study`, and a column for each attribute."""
        starts = [self.columns.attempts[i].start for i in self.chosen]
        names = list(dict.fromkeys(name for start in starts for name in start.attributes))
        rows = [{"study": start.study, **start.attributes} for start in starts]
        return pl.DataFrame(rows, schema=dict.fromkeys(["study", *names], pl.String))

    @cached_property
    def rows(self) -> tuple[Ints, Ints]:
        """The rows of all begun studies, in the order of `.studies`, and how many each has."""
        columns = self.columns
        order = np.full(len(columns.attempts), -1, dtype=np.int64)
        order[self.chosen] = np.arange(len(self.chosen))
        place = order[columns.owner]
        rows = np.flatnonzero((place >= 0) & ~columns.counts_only)
        rows = rows[np.argsort(place[rows], kind="stable")]
        return rows, np.bincount(place[rows], minlength=len(self.chosen)).astype(np.int64)

    def traces(self) -> Traces:
        """The rows of all begun studies, in the order of `.studies`, minimised."""
        return self._traces

    @cached_property
    def _traces(self) -> Traces:
        columns = self.columns
        rows, counts = self.rows
        width = columns.values.shape[1]
        signs = np.array([_signs(attempt, width) for attempt in columns.attempts]).reshape(-1, width)
        values = columns.values[rows]
        if (signs < 0).any():
            values *= signs[columns.owner[rows]]
        values += 0.0  # no -0
        values[columns.status[rows] > 0] = np.nan
        out = Traces(
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            evaluation=columns.evaluation[rows],
            values=values,
            feasible=np.all(~(columns.violations[rows] > 0), axis=1),
            spent=lambda: self._seconds()[rows],
        )
        for array in (out.offsets, out.evaluation, out.values, out.feasible):
            array.setflags(write=False)
        return out

    def _seconds(self) -> Floats:
        """For every row of the store: the seconds since its study began, as imported or as charged."""
        columns = self.columns
        charged: Floats = columns.charged * SECONDS
        given = columns.extras.get("seconds")
        imported = np.array([attempt.card.imported for attempt in columns.attempts], dtype=bool)
        if imported.any():  # what a file does not tell is not known
            charged = np.where(imported[columns.owner], np.nan, charged)
        return charged if given is None else np.where(np.isnan(given), charged, given)

    @property
    def axes(self) -> list[str]:
        """The names that `efforts` knows: evaluations, batches, seconds, and those that imported rows have."""
        more = [name for name in self.columns.extras if name == "decisions" or name.startswith("effort.")]
        return ["evaluations", "batches", "seconds", *(name.removeprefix("effort.") for name in more)]

    def efforts(self, axis: str) -> Floats:
        """What each row of `traces()` stood at on an effort axis (see `axes`); NaN where its study has no such axis.

        Batches are counted from 1, so that an effort is what was spent when the row was there.
        """
        columns = self.columns
        rows, counts = self.rows
        if axis == "evaluations":
            return columns.evaluation[rows].astype(float)
        if axis == "seconds":
            return self._seconds()[rows]
        if axis == "batches":
            size = np.repeat([columns.attempts[i].start.batch for i in self.chosen], counts)
            usual = (columns.evaluation[rows] - 1) // np.maximum(size, 1) + 1.0
            given = self.extra("batch")
            return np.where(np.isnan(given), usual, given + 1.0)
        if axis not in self.axes:
            raise OptarenaError(
                f"no effort axis {axis!r}.{nearest(axis, self.axes)} (there are {', '.join(self.axes)})"
            )
        return self.extra("decisions" if axis == "decisions" else f"effort.{axis}")

    @property
    def metrics(self) -> list[str]:
        """The hidden metrics that any begun study has."""
        return list(dict.fromkeys(name for i in self.chosen for name in self.columns.attempts[i].card.metrics))

    def metric(self, name: str) -> tuple[Floats, Bools]:
        """A hidden metric for each row of `traces()`, NaN where there is none, and whether each begun study has it."""
        columns = self.columns
        rows, counts = self.rows
        places = np.array([_place(columns.attempts[i].card.metrics, name) for i in self.chosen], dtype=np.int64)
        out = np.full(len(rows), np.nan)
        for place in set(places.tolist()) & set(range(columns.metrics.shape[1])):  # no row may have any metric yet
            mine = np.repeat(places == place, counts)
            out[mine] = columns.metrics[rows[mine], place]
        return out, places >= 0

    def violation(self) -> Floats:
        """By how much each row of `traces()` violates its constraints, all in all; 0 where it is feasible."""
        violated: Floats = np.nansum(np.maximum(self.columns.violations[self.rows[0]], 0.0), axis=1)
        return violated

    def costs(self) -> Floats:
        """(rows, 6): the seconds that each row of `traces()` cost, in the order of `store.costs`; only `in_full`."""
        return self.columns.costs[self.rows[0]]

    def row_statuses(self) -> Codes:
        """How each row of `traces()` ended: an index into `EVALUATION`."""
        return self.columns.status[self.rows[0]]

    def infeasible(self) -> Ints:
        """(begun studies,): how many recorded evaluations violate a constraint and did not fail."""
        return self.columns.tally.infeasible[self.chosen]

    def pool(self, studies: Ints, metric: str | None = None) -> Pool:
        """Every evaluation of some begun studies of one objective, by their places; 8 bytes each per number."""
        attempts = self.attempts
        place = {key_of(attempts[i]): i for i in studies.tolist()}
        last = self.columns.tally.last[self.chosen]
        parts: list[tuple[Ints, Pool]] = []
        for rows in self._reader.pieces(place.keys()):
            owner = np.array([place.get(key_of(attempt), -1) for attempt in rows.attempts], dtype=np.int32)
            study = owner[rows.owner]
            mine = np.flatnonzero((study >= 0) & ~rows.counts_only & (rows.evaluation <= last[study]))
            if len(mine):
                found = _pooled(rows, mine, metric)
                parts.append((rows.evaluation[mine], Pool(*found, study[mine])))
        if not parts:
            return Pool(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int32))
        evaluation = np.concatenate([at for at, _ in parts])
        visible, study = (np.concatenate([part[i] for _, part in parts]) for i in (0, 2))
        values = visible if metric is None else np.concatenate([part.values for _, part in parts])
        order = np.lexsort((evaluation, study))
        again = (np.diff(evaluation[order]) == 0) & (np.diff(study[order]) == 0)
        order = order[np.append(True, ~again)]
        visible = visible[order]
        return Pool(visible, visible if metric is None else values[order], study[order])

    def extra(self, name: str) -> Floats:
        """A number that imported rows carry (`bound`, say) for each row of `traces()`; NaN where there is none."""
        rows, _ = self.rows
        column = self.columns.extras.get(name)
        return np.full(len(rows), np.nan) if column is None else column[rows]

    def endings(self) -> list[str]:
        """How each begun study ended, in a word of `optarena.status.ENDINGS`; empty where its status says it all."""
        statuses = self.studies["status"].head(len(self.chosen)).to_list()
        last = [max(attempt.ends, key=lambda end: end.time, default=None) for attempt in self.attempts]
        return [
            end.ending if end is not None and end.status == status else ""
            for end, status in zip(last, statuses, strict=True)
        ]

    def extra_at_end(self, name: str) -> Floats:
        """Where each begun study stood when it ended (`seconds`, `decisions`, `effort.<name>`, `bound`), if that was
        imported as a row of its own: a run may go on long after its last solution. NaN where it was not."""
        found = [[end.a[name] for end in self.columns.attempts[i].ends if name in end.a] for i in self.chosen]
        return np.array([float(given[-1]) if given else np.nan for given in found])  # type: ignore[arg-type]

    def parameters(self, rows: Ints) -> list[list[Any]]:
        """The parameters of rows of `traces()`, all of one study, in the order of its space; empty where not kept."""
        return self.columns.points(self.rows[0][rows])

    def points(self, study: str) -> list[dict[str, Any]]:
        """Every kept row of a study in full: evaluation, parameters, objectives, status; to read, not to score."""
        found = [i for i, attempt in enumerate(self.attempts) if attempt.start.study == study]
        part = self.select(np.array(found, dtype=np.int64)).in_full()
        columns, out = part.columns, []
        for i in part.chosen:
            attempt = columns.attempts[i]
            rows = np.flatnonzero((columns.owner == i) & ~columns.counts_only)
            names = [objective.name for objective in attempt.card.objectives]
            for row, point in zip(rows.tolist(), columns.points(rows), strict=True):
                out.append(
                    {
                        "evaluation": int(columns.evaluation[row]),
                        "parameters": dict(zip(attempt.card.space, point, strict=False)),
                        "values": dict(zip(names, columns.values[row].tolist(), strict=False)),
                        "status": EVALUATION[columns.status[row]],
                        "message": columns.messages.get(row, ""),
                        "violations": columns.violations[row, : attempt.card.constraints].tolist(),
                        "metrics": dict(zip(attempt.card.metrics, columns.metrics[row].tolist(), strict=False)),
                    }
                )
        return out

    def best(self) -> list[dict[str, Any]]:
        """The best feasible point found on each problem with one objective, by whom, when, and its parameters.

        Instances that share a problem's id are told apart: each has an optimum of its own.
        """
        frame = self.studies.filter(pl.col("best").is_not_null())
        if not frame.height:
            return []
        # measured from each study's own optimum: imported values may be f - f_opt, whose optimum is 0
        apart = pl.col("best") - pl.col("optimum").fill_null(0.0)
        key = sign_of("sense") * apart
        several = pl.col("instance").drop_nulls().n_unique().over("problem") > 1
        winners = (
            frame.with_columns(_key=key, _variant=pl.when(several).then("instance"))
            .sort("problem", "_variant", "_key", "best_evaluation", "optimizer", "trial")
            .group_by("problem", "_variant", maintain_order=True)
            .first()
        )
        parameters = self.best_parameters(winners["study"].to_list())
        kept = ("problem", "instance", "best", "optimum", "sense", "optimizer", "trial", "best_evaluation", "study")
        return [
            {**{key: row[key] for key in kept}, "parameters": parameters.get(row["study"], {})}
            for row in winners.iter_rows(named=True)
        ]

    def best_parameters(self, studies: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The parameters of the best evaluation of each of these studies that has one and kept its point."""
        columns, wanted = self.columns, set(studies)
        at = dict(self.studies.select("study", "best_evaluation").drop_nulls().iter_rows())
        out = {}
        for i in self.chosen:
            attempt = columns.attempts[i]
            study = attempt.start.study
            if study not in wanted or study not in at:
                continue
            # rows are sorted by attempt, then by evaluation
            first, last = np.searchsorted(columns.owner, [i, i + 1])
            mine = columns.evaluation[first:last]
            rows = first + np.flatnonzero((mine == at[study]) & ~columns.counts_only[first:last])[:1]
            point = columns.points(rows)[0]
            if point:
                out[study] = dict(zip(attempt.card.space, point, strict=True))
        return out

    def failures(self) -> pl.DataFrame:
        """A row for every evaluation that failed."""
        columns = self.columns
        chosen = set(self.chosen)
        rows = [
            {
                "study": columns.attempts[owner].start.study,
                "optimizer": columns.attempts[owner].start.optimizer,
                "problem": columns.attempts[owner].card.id,
                "trial": columns.attempts[owner].start.trial,
                "evaluation": int(columns.evaluation[row]),
                "status": EVALUATION[columns.status[row]],
                "message": columns.messages.get(row, ""),
            }
            for row in np.flatnonzero(columns.status > 0).tolist()
            if (owner := int(columns.owner[row])) in chosen
        ]
        schema = ("study", "optimizer", "problem", "trial", "evaluation", "status", "message")
        return pl.DataFrame(rows, schema={key: SCHEMA.get(key, pl.String) for key in schema} | {"evaluation": pl.Int64})

    # ---- choosing ----------------------------------------------------------------------------------------------------

    def filter(
        self,
        optimizer: str | Sequence[str] | None = None,
        problem: str | Sequence[str] | None = None,
        suite: str | Sequence[str] | None = None,
        dimension: int | Sequence[int] | None = None,
    ) -> Self:
        """The studies whose optimizer, problem and suite match one of the globs, and whose dimension is given.

        Braces stand for several, as where experiments choose problems: `bbob/f{1..5}/*`."""
        tests = [_matcher(optimizer), _matcher(problem), _matcher(suite)]
        wanted = None if dimension is None else set(np.atleast_1d(dimension).tolist())
        chosen = [
            i
            for i in self.chosen
            for attempt in [self.columns.attempts[i]]
            if tests[0](attempt.start.optimizer)
            and tests[1](attempt.card.id)
            and tests[2](attempt.card.suite)
            and (wanted is None or attempt.card.dimension in wanted)
        ]
        return self._with(self.columns, chosen, [])  # what was not begun has no card to filter by

    def select(self, studies: Ints) -> Self:
        """Some of the begun studies, by their places in `.studies`."""
        return self._with(self.columns, [self.chosen[i] for i in studies.tolist()], [])

    def _with(self, columns: Columns, chosen: list[int], runs: list[RunFile]) -> Self:
        """Another choice of studies, or of rows."""
        out = copy.copy(self)
        for name in ("studies", "rows", "_traces"):
            vars(out).pop(name, None)
        out.columns, out.chosen, out.runs = columns, chosen, runs
        return out


_REDUCED = {
    "evaluations",
    "best",
    "best_evaluation",
    "failures",
    "suggest_seconds",
    "evaluate_seconds",
    "observe_seconds",
    "cpu_seconds",
}


def _matcher(globs: str | Sequence[str] | None) -> Callable[[str], bool]:
    if globs is None:
        return lambda _: True
    given = [globs] if isinstance(globs, str) else list(globs)
    names, wanted = set(given), [one for glob in given for one in _alternatives(glob)]
    return lambda text: text in names or any(fnmatch.fnmatchcase(text, glob) for glob in wanted)


def _alternatives(glob: str) -> list[str]:
    """What its braces stand for; a name may have a brace of its own, which is none of these."""
    try:
        return expand_braces(glob)
    except OptarenaError:
        return [glob]


def _rank(attempt: Attempt, planned: dict[str, int]) -> tuple[int, str, str, int, str]:
    start = attempt.start
    return planned.get(start.study, len(planned)), attempt.card.id, start.optimizer, start.trial, start.study


def _sign(attempt: Attempt) -> float:
    return attempt.card.objectives[0].sign


def _signs(attempt: Attempt, width: int) -> list[float]:
    signs = [objective.sign for objective in attempt.card.objectives]
    return signs + [1.0] * (width - len(signs))


def _pooled(rows: Columns, mine: Ints, metric: str | None) -> tuple[Floats, Floats]:
    """The value and a metric of some rows, minimised, inf where they do not count."""
    owner = rows.owner[mine]
    sign = np.array([_sign(attempt) for attempt in rows.attempts])[owner]
    y = rows.values[mine, 0] * sign + 0.0  # no -0
    fine = (rows.status[mine] == 0) & rows.feasible[mine] & (y > -np.inf)
    visible = np.where(fine, y, np.inf)
    if metric is None:
        return visible, visible
    at = np.array([_place(attempt.card.metrics, metric) for attempt in rows.attempts], dtype=np.int64)[owner]
    known = (at >= 0) & (at < rows.metrics.shape[1])
    h = np.full(len(mine), np.nan)
    h[known] = rows.metrics[mine[known], at[known]] * sign[known]
    return visible, np.where(fine & (h > -np.inf), h, np.inf)


def _place(names: Sequence[str], name: str) -> int:
    return list(names).index(name) if name in names else -1


def _status(attempt: Attempt, live_hosts: Collection[str]) -> tuple[str, str, float | None]:
    """How a study stands: its last end, unless it was begun again since."""
    last = max(attempt.ends, key=lambda end: end.time, default=None)
    if last is None or (attempt.open_in and attempt.start.time > last.time):
        elsewhere = [header.host for header in attempt.open_in if header.host != host()]
        if any(header.host == host() and alive(header.pid, header.born) for header in attempt.open_in):
            return "running", "", None
        if elsewhere:
            if any(name in live_hosts for name in elsewhere):
                return "running", f"on {elsewhere[0]}", None
            return "stale", f"no heartbeat from {elsewhere[0]}", None
        return "interrupted", "its process ended without a word", None
    return last.status, last.reason, last.time
