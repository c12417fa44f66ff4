"""What a store holds, as tables and ragged arrays. Reading imports no problem and no optimizer, and executes nothing.

>>> results = optarena.open("results")          # doctest: +SKIP
>>> results.studies                             # a Polars frame, a row a study
>>> results.filter(optimizer="CMA-ES").traces().best_so_far()
"""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena._patterns import expand_braces
from optarena._process import alive, host
from optarena.errors import OptarenaError, nearest
from optarena.sense import sign_of
from optarena.status import EVALUATION, FINISHED
from optarena.store import RunFile, Store, signatures
from optarena.store.costs import CPU, EVALUATE, NUMBERS, OBSERVE, SECONDS, SUGGEST, WALL
from optarena.store.reading import Attempt, Codes, Columns, columns_of, read_columns
from optarena.store.records import ProblemCard, Record
from optarena.traces import Bools, Floats, Ints, Traces, first_argmin

if TYPE_CHECKING:
    from optarena.comparison import Comparison
    from optarena.views.anytime import Anytime
    from optarena.views.fixed_cost import FixedCost
    from optarena.views.fixed_target import FixedTarget
    from optarena.views.pareto import Pareto

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


def open_store(path: str | Path) -> Results:
    """Read a store as it is now; a run may go on meanwhile."""
    return open_part(path)


def open_part(path: str | Path, *mentioning: str) -> Results:
    """Read of a store what its journals have of some problems or studies, by their ids, and perhaps more.

    Studies of other problems may be there or pass for missing: ask only for those that were named.
    """
    store = Store(path)
    store.must_exist()
    columns = read_columns(store.journals.glob("*.jsonl"), lambda: store.shards.glob("*.parquet"), mentioning)
    runs = store.runs()
    return Results(store.path, columns, runs, {run.host for run in runs if store.is_live(run)})


def results_of(records: Iterable[Record], name: str) -> Results:
    """The results of the lines of a journal that is in no store: a header and what follows it. Nothing is written.

    name: what messages call their source, as a path.
    """
    path = Path(name)
    return Results(path, columns_of([(path, list(records))]), [], set())


class Results:
    """A snapshot of a store. `.studies` has a row for every study that was begun or planned."""

    def __init__(self, path: Path, columns: Columns, runs: Sequence[RunFile], live_hosts: set[str]) -> None:
        self.path = path
        self.runs = list(runs)
        self.all_runs = self.runs
        """Those of the whole store, also where `filter` chose a part of it."""
        self._columns = columns
        self._live_hosts = live_hosts
        newest = columns.newest
        planned: dict[str, int] = {}
        for run in self.runs:
            for study in run.studies:
                planned.setdefault(study.id, len(planned))
        # in the order of the plans, whoever ran them: the same experiment gives the same tables
        self._attempts = sorted(newest.values(), key=lambda i: _rank(columns.attempts[i], planned))

    def __repr__(self) -> str:
        return f"<Results {self.path}: {self.studies.height} studies>"

    # ---- tables ----------------------------------------------------------------------------------------------------

    @cached_property
    def studies(self) -> pl.DataFrame:
        """A row a study: who, on what, how it ended, how much it spent, and the best it found."""
        rows = [self._facts(self._columns.attempts[i]) for i in self._attempts]
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
        columns, chosen = self._columns, np.array(self._attempts, dtype=np.int64)
        total = len(columns.attempts)
        traces = self.traces()
        seconds = np.column_stack(
            [np.bincount(columns.owner, weights=columns.costs[:, i], minlength=total) for i in range(NUMBERS)]
        ).astype(float)
        for i in self._attempts:
            for end in columns.attempts[i].ends:
                seconds[i] += np.array(end.w) * SECONDS
        made = np.zeros(total, dtype=np.int64)
        if len(columns.owner):  # sorted by attempt, then by evaluation: the last is the greatest
            last = np.flatnonzero(np.append(columns.owner[1:] != columns.owner[:-1], True))
            made[columns.owner[last]] = columns.evaluation[last]
        for i in self._attempts:
            ends = [end.evaluations for end in columns.attempts[i].ends]
            made[i] = max([int(made[i]), columns.attempts[i].counted, *ends])
        # where every evaluation is kept, what is not there was lost with a file; it is made again by the same command
        kept = np.bincount(columns.owner[~columns.counts_only], minlength=total)
        whole = np.array([attempt.start.record == "all" for attempt in columns.attempts], dtype=bool)
        lost = np.where(whole, made - kept, 0) if total else made
        made -= lost
        failures = np.bincount(columns.owner[columns.status > 0], minlength=total)
        y = np.where(traces.feasible & ~np.isnan(traces.values[:, 0]), traces.values[:, 0], np.inf)
        row = first_argmin(y, traces.offsets)
        single = np.array([len(columns.attempts[i].card.objectives) == 1 for i in self._attempts], dtype=bool)
        found = (row >= 0) & single
        sign = np.array([_sign(columns.attempts[i]) for i in self._attempts])
        best = np.full(len(chosen), np.nan)
        best[found] = y[row[found]] * sign[found]
        at = np.zeros(len(chosen), dtype=np.int64)
        at[found] = traces.evaluation[row[found]]
        spent = seconds[chosen]
        return {
            "evaluations": pl.Series(made[chosen]),
            "lost": pl.Series(lost[chosen]),
            "best": pl.Series(best).fill_nan(None),
            "best_evaluation": pl.Series(at).set(pl.Series(~found), None) if len(at) else pl.Series(at),
            "failures": pl.Series(failures[chosen]),
            "suggest_seconds": pl.Series(spent[:, SUGGEST]),
            "evaluate_seconds": pl.Series(spent[:, EVALUATE]),
            "observe_seconds": pl.Series(spent[:, OBSERVE]),
            "cpu_seconds": pl.Series(spent[:, CPU[0]] + spent[:, CPU[1]] + spent[:, CPU[2]]),
        }

    def _missing(self) -> pl.DataFrame:
        """Studies that a run meant to do and no journal has begun."""
        begun = {self._columns.attempts[i].start.study for i in self._attempts}
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
        return sorted({*(attempt.start.optimizer for attempt in self._columns.attempts), *planned})

    @property
    def spaces(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The search space of every problem that was begun, by the problem's id."""
        return {card.id: card.space for i in self._attempts for card in [self._columns.attempts[i].card]}

    @property
    def attempts(self) -> list[Attempt]:
        """The newest attempt at each begun study, in the order of `.studies`: its start, card, ends and processes."""
        return [self._columns.attempts[i] for i in self._attempts]

    @property
    def cards(self) -> list[ProblemCard]:
        """What each begun study says of its problem, in the order of `.studies`."""
        return [self._columns.attempts[i].card for i in self._attempts]

    def versions(self) -> pl.DataFrame:
        """With which version of which package how many studies were run: `package`, `version`, `studies`."""
        counts: dict[tuple[str, str], int] = {}
        for i in self._attempts:
            attempt = self._columns.attempts[i]
            made = {("optarena", header.optarena) for header in attempt.headers}
            made |= {*attempt.start.versions.items(), *attempt.card.versions.items()}
            for pair in made:
                counts[pair] = counts.get(pair, 0) + 1
        rows = [(package, version, n) for (package, version), n in sorted(counts.items())]
        return pl.DataFrame(rows, {"package": pl.String, "version": pl.String, "studies": pl.Int64}, orient="row")

    def notes(self) -> list[str]:
        """What whoever reads these studies should know: problems whose values differ between machines."""
        return signatures.notes(self._columns, {card.id for card in self.cards})

    def causes(self) -> dict[str, str]:
        """Why the newest attempt of each study was started; empty for a first one."""
        words = {
            "diverged": "what was recorded did not repeat",
            "extended": "a larger budget than its last batch or its seconds",
            "retried": "retried",
        }
        kernels: dict[str, set[str]] = {}
        for attempt in self._columns.attempts:
            ran = {signatures.facts_of(header)[-1] for header in attempt.headers}
            kernels.setdefault(attempt.start.study, set()).update(ran)
        out = {}
        for i in self._attempts:
            start = self._columns.attempts[i].start
            other = start.cause == "diverged" and len(kernels[start.study]) > 1
            out[start.study] = words.get(start.cause, start.cause) + (" with other numeric kernels" if other else "")
        return out

    def kernels(self) -> dict[str, int]:
        """How many studies ran with which numeric kernels: `x86-64-v3`, or `native`."""
        return dict(signatures.kernels_of(self._columns, self._attempts))

    def environments(self) -> list[dict[str, Any]]:
        """The different machines and processes that ran these studies, as their journals describe them."""
        out: list[dict[str, Any]] = []
        for i in self._attempts:
            for header in self._columns.attempts[i].headers:
                facts = {key: value for key, value in header.environment.items() if key != "argv"}
                if "imported" not in facts and facts not in out:
                    out.append(facts)
        return out

    # ---- rows ------------------------------------------------------------------------------------------------------

    @property
    def attributes(self) -> pl.DataFrame:
        """What imported files say of their studies beyond the usual: `study`, and a column for each attribute."""
        starts = [self._columns.attempts[i].start for i in self._attempts]
        names = list(dict.fromkeys(name for start in starts for name in start.attributes))
        rows = [{"study": start.study, **start.attributes} for start in starts]
        return pl.DataFrame(rows, schema=dict.fromkeys(["study", *names], pl.String))

    @cached_property
    def _rows(self) -> tuple[Ints, Ints]:
        """The rows of all begun studies, in the order of `.studies`, and how many each has."""
        columns = self._columns
        order = np.full(len(columns.attempts), -1, dtype=np.int64)
        order[self._attempts] = np.arange(len(self._attempts))
        place = order[columns.owner]
        rows = np.flatnonzero((place >= 0) & ~columns.counts_only)
        rows = rows[np.argsort(place[rows], kind="stable")]
        return rows, np.bincount(place[rows], minlength=len(self._attempts)).astype(np.int64)

    def traces(self) -> Traces:
        """The rows of all begun studies, in the order of `.studies`, minimised."""
        return self._traces

    @cached_property
    def _traces(self) -> Traces:
        columns = self._columns
        rows, counts = self._rows
        width = columns.values.shape[1]
        signs = np.array([_signs(attempt, width) for attempt in columns.attempts]).reshape(-1, width)
        values = columns.values[rows]
        if (signs < 0).any():
            values *= signs[columns.owner[rows]]
        values[columns.status[rows] > 0] = np.nan
        return Traces(
            offsets=np.concatenate(([0], np.cumsum(counts))).astype(np.int64),
            evaluation=columns.evaluation[rows],
            values=values,
            feasible=np.all(~(columns.violations[rows] > 0), axis=1),
            spent=lambda: self._seconds()[rows],
        )

    def _seconds(self) -> Floats:
        """For every row of the store: the seconds since its study began, as imported or as charged."""
        columns = self._columns
        charged: Floats = _cumulative(columns.costs[:, WALL].sum(axis=1), columns.owner)
        given = columns.extras.get("seconds")
        imported = np.array([attempt.card.imported for attempt in columns.attempts], dtype=bool)
        if imported.any():  # what a file does not tell is not known
            charged = np.where(imported[columns.owner], np.nan, charged)
        return charged if given is None else np.where(np.isnan(given), charged, given)

    @property
    def axes(self) -> list[str]:
        """The names that `efforts` knows: evaluations, batches, seconds, and those that imported rows have."""
        more = [name for name in self._columns.extras if name == "decisions" or name.startswith("effort.")]
        return ["evaluations", "batches", "seconds", *(name.removeprefix("effort.") for name in more)]

    def efforts(self, axis: str) -> Floats:
        """What each row of `traces()` stood at on an effort axis (see `axes`); NaN where its study has no such axis.

        Batches are counted from 1, so that an effort is what was spent when the row was there.
        """
        columns = self._columns
        rows, counts = self._rows
        if axis == "evaluations":
            return columns.evaluation[rows].astype(float)
        if axis == "seconds":
            return self._seconds()[rows]
        if axis == "batches":
            size = np.repeat([columns.attempts[i].start.batch for i in self._attempts], counts)
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
        return list(dict.fromkeys(name for i in self._attempts for name in self._columns.attempts[i].card.metrics))

    def metric(self, name: str) -> tuple[Floats, Bools]:
        """A hidden metric for each row of `traces()`, NaN where there is none, and whether each begun study has it."""
        columns = self._columns
        rows, counts = self._rows
        places = np.array([_place(columns.attempts[i].card.metrics, name) for i in self._attempts], dtype=np.int64)
        out = np.full(len(rows), np.nan)
        for place in set(places.tolist()) & set(range(columns.metrics.shape[1])):  # no row may have any metric yet
            mine = np.repeat(places == place, counts)
            out[mine] = columns.metrics[rows[mine], place]
        return out, places >= 0

    def violation(self) -> Floats:
        """By how much each row of `traces()` violates its constraints, all in all; 0 where it is feasible."""
        violated: Floats = np.nansum(np.maximum(self._columns.violations[self._rows[0]], 0.0), axis=1)
        return violated

    def costs(self) -> Floats:
        """(rows, 6): the seconds that each row of `traces()` cost, in the order of `store.costs`."""
        return self._columns.costs[self._rows[0]]

    def row_statuses(self) -> Codes:
        """How each row of `traces()` ended: an index into `EVALUATION`."""
        return self._columns.status[self._rows[0]]

    def extra(self, name: str) -> Floats:
        """A number that imported rows carry (`bound`, say) for each row of `traces()`; NaN where there is none."""
        rows, _ = self._rows
        column = self._columns.extras.get(name)
        return np.full(len(rows), np.nan) if column is None else column[rows]

    def extra_at_end(self, name: str) -> Floats:
        """Where each begun study stood when it ended (`seconds`, `decisions`, `effort.<name>`, `bound`), if that was
        imported as a row of its own: a run may go on long after its last solution. NaN where it was not."""
        found = [[end.a[name] for end in self._columns.attempts[i].ends if name in end.a] for i in self._attempts]
        return np.array([float(given[-1]) if given else np.nan for given in found])  # type: ignore[arg-type]

    def parameters(self, rows: Ints) -> list[list[Any]]:
        """The parameters of rows of `traces()`, all of one study, in the order of its space; empty where not kept."""
        return self._columns.points(self._rows[0][rows])

    def points(self, study: str) -> list[dict[str, Any]]:
        """Every kept row of a study in full: evaluation, parameters, objectives, status; to read, not to score."""
        columns = self._columns
        out = []
        for i in self._attempts:
            attempt = columns.attempts[i]
            if attempt.start.study != study:
                continue
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
        columns, wanted = self._columns, set(studies)
        at = dict(self.studies.select("study", "best_evaluation").drop_nulls().iter_rows())
        out = {}
        for i in self._attempts:
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
        columns = self._columns
        chosen = set(self._attempts)
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

    # ---- views -----------------------------------------------------------------------------------------------------

    def fixed_cost(self, **options: Any) -> FixedCost:
        """How good after so many evaluations, normalised: see `optarena.views.fixed_cost.fixed_cost`."""
        from optarena.views.fixed_cost import fixed_cost

        return fixed_cost(self, **options)

    def fixed_target(self, **options: Any) -> FixedTarget:
        """How long to reach a target: see `optarena.views.fixed_target.fixed_target`."""
        from optarena.views.fixed_target import fixed_target

        return fixed_target(self, **options)

    def anytime(self, **options: Any) -> Anytime:
        """The whole curve of each run: see `optarena.views.anytime.anytime`."""
        from optarena.views.anytime import anytime

        return anytime(self, **options)

    def pareto(self, **options: Any) -> Pareto:
        """How good are fronts of several objectives: see `optarena.views.pareto.pareto`."""
        from optarena.views.pareto import pareto

        return pareto(self, **options)

    def compare(self, *optimizers: str, **options: Any) -> Comparison:
        """Who is better, by how much, how sure that is: see `optarena.comparison`; `print` it for the verdict."""
        from optarena.comparison import compare

        return compare(self, optimizers, **options)

    def report(self, path: str | Path) -> Path:
        """Write one HTML file that shows everything, works offline and can be mailed; returns where it is."""
        from optarena.report.page import write_report

        return write_report(self, path)

    # ---- choosing ----------------------------------------------------------------------------------------------------

    def filter(
        self,
        optimizer: str | Sequence[str] | None = None,
        problem: str | Sequence[str] | None = None,
        suite: str | Sequence[str] | None = None,
        dimension: int | Sequence[int] | None = None,
    ) -> Results:
        """The studies whose optimizer, problem and suite match one of the globs, and whose dimension is given.

        Braces stand for several, as where experiments choose problems: `bbob/f{1..5}/*`."""
        tests = [_matcher(optimizer), _matcher(problem), _matcher(suite)]
        wanted = None if dimension is None else set(np.atleast_1d(dimension).tolist())
        out = Results(self.path, self._columns, [], self._live_hosts)  # what was not begun has no card to filter by
        out.all_runs = self.all_runs
        out._attempts = [
            i
            for i in self._attempts
            for attempt in [self._columns.attempts[i]]
            if tests[0](attempt.start.optimizer)
            and tests[1](attempt.card.id)
            and tests[2](attempt.card.suite)
            and (wanted is None or attempt.card.dimension in wanted)
        ]
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


def _place(names: Sequence[str], name: str) -> int:
    return list(names).index(name) if name in names else -1


def _cumulative(values: np.ndarray[Any, Any], owner: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The running sum within each owner; rows of one owner stand together."""
    total = np.cumsum(values)
    first = np.flatnonzero(np.concatenate(([True], owner[1:] != owner[:-1]))) if len(owner) else np.empty(0, int)
    before = np.concatenate(([0.0], total))[first]
    return total - np.repeat(before, np.diff(np.append(first, len(owner))))


def _status(attempt: Attempt, live_hosts: set[str]) -> tuple[str, str, float | None]:
    """How a study stands: its last end, unless it was begun again since."""
    last = max(attempt.ends, key=lambda end: end.time, default=None)
    if last is None or (attempt.open_in and attempt.start.time > last.time):
        elsewhere = [header.host for header in attempt.open_in if header.host != host()]
        if any(header.host == host() and alive(header.pid, header.born) for header in attempt.open_in):
            return "running", "", None
        if elsewhere:
            if not live_hosts.isdisjoint(elsewhere):
                return "running", f"on {elsewhere[0]}", None
            return "stale", f"no heartbeat from {elsewhere[0]}", None
        return "interrupted", "its process ended without a word", None
    return last.status, last.reason, last.time
