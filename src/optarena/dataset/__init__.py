"""The dataset: studies in memory, as tables and ragged arrays; all that scores, compares, draws or exports takes one.

>>> dataset = Dataset.of_store("results")       # doctest: +SKIP
>>> dataset.studies                             # a Polars frame, one row per study
>>> dataset.filter(optimizer="CMA-ES").traces().best_so_far()

Reading imports no problem and no optimizer, and executes nothing.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import polars as pl

from optarena._memory import no_collection
from optarena._numbers import counted
from optarena._order import natural, natural_key
from optarena._services import service
from optarena.costs import is_cost
from optarena.dataset.clocks import listed, machines_of
from optarena.dataset.doubts import beyond_optimum
from optarena.dataset.facts import Facts, crews, different_cards, studies_of
from optarena.dataset.matching import matcher
from optarena.dataset.pools import Pool, pool_of
from optarena.dataset.readers import InMemory, OnDisk, Reader
from optarena.dataset.rows import RowsOfStudies
from optarena.dataset.studies import SCHEMA, finished, missing, rows_of, table_of
from optarena.dataset.summary import text
from optarena.errors import DamagedStore
from optarena.experiment import Named, Use, label_of
from optarena.sense import sign_of
from optarena.status import EVALUATION
from optarena.store import RunFile, Store, signatures
from optarena.store.columns import Attempt, Columns
from optarena.store.damage import Damage, sentence
from optarena.store.following import Follower
from optarena.store.reading import columns_of, key_of
from optarena.store.records import ProblemCard, Record
from optarena.store.streaming import cards_of, read_store
from optarena.store.thinning import thinned
from optarena.traces import Ints

__all__ = ["Dataset", "Pool"]


class Dataset(RowsOfStudies):
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
        """Those of the complete store, also where `filter` chose a part of it."""
        self.columns = thinned(columns)
        self._reader: Reader = reader or InMemory(columns)
        self._live_hosts = live_hosts
        self._complete = True
        """Whether all begun studies are chosen."""
        self.chosen = _in_order(self._facts, list(self.columns.newest.values()), self.runs)

    @classmethod
    def of_store(cls, path: str | Path, *mentioning: str) -> Self:
        """Read a store as it is now; a run may go on meanwhile.

        mentioning: only what its journals have of some problems or studies, by their ids, and perhaps more. Studies of
        other problems may be there or pass for missing: ask only for those that were named.
        """
        store = Store(path)
        store.must_exist()
        columns = read_store(store.journal_paths, store.shard_paths, mentioning)
        runs = store.runs(columns.damage)
        if columns.damage:
            warnings.warn(sentence(store.path, columns.damage), DamagedStore, stacklevel=2)
        live = {run.host for run in runs if store.is_live(run)}
        return cls(store.path, columns, runs, live, OnDisk(store, cards_of(columns)))

    @classmethod
    def of_follower(cls, follower: Follower) -> Self:
        """What a follower of a store knows now; its later looks do not change it."""
        columns, runs = follower.columns(), follower.runs
        columns.damage += follower.all_damage()[len(columns.damage) :]
        live = {run.host for run in follower.stores.live(runs)}
        return cls(follower.stores.path, columns, runs, live, OnDisk(follower.stores, cards_of(columns)))

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

    def in_full(self) -> Self:
        """The same studies with every row that was recorded, for whoever needs points, costs or each evaluation."""
        if not self.columns.thin:
            return self
        last = dict(zip(map(key_of, self.attempts), self.columns.tally.last[self.chosen].tolist(), strict=True))
        columns = self._reader.read(last.keys())
        at = {key_of(attempt): i for i, attempt in enumerate(columns.attempts)}
        ends = np.zeros(len(at), dtype=np.int64)
        for attempt, (key, end) in zip(self.attempts, last.items(), strict=True):
            ends[at[key]] = end
            columns.attempts[at[key]] = attempt  # unchanged: it may have continued since
        return self._with(columns.until(ends), [at[key] for key in last], self.runs)

    def __repr__(self) -> str:
        """A table with one row per optimizer."""
        return text(self)

    def _repr_html_(self) -> str:
        html: str = service("dataset as HTML")(self)
        return html

    # ---- tables ----------------------------------------------------------------------------------------------------

    @cached_property
    def studies(self) -> pl.DataFrame:
        """One row per study: who, on what, how it ended, how much it spent, and the best it found."""
        if self._facts.table is None:
            mine = table_of(self._facts, self._places, self.traces(), self._live_hosts)
            if self._complete:  # what is chosen of it later need not be gathered again
                self._facts.table = rows_of(self._places, len(self.columns.attempts)), mine
        else:
            row, table = self._facts.table
            mine = table[row[self._places]]
        begun = finished(mine, self.attempts if self.runs else [], self.runs)
        planned = missing(self.runs, set(begun["study"])) if self.runs else None
        return begun if planned is None or not planned.height else pl.concat([begun, planned])

    @property
    def all_optimizers(self) -> list[str]:
        """The name of every optimizer of the store, sorted, also of those that `filter` left out."""
        planned = (study.optimizer for run in self.all_runs for study in run.studies)
        return sorted({*self._facts.optimizers, *planned})

    @property
    def spaces(self) -> dict[str, dict[str, dict[str, Any]]]:
        """The search space of every problem that was begun, by the problem's id."""
        return {card.id: card.space for card in self.cards}

    def versions(self) -> pl.DataFrame:
        """With which version of which package how many studies were run: `package`, `version`, `studies`."""
        counts: dict[tuple[str, str], int] = {}
        facts, at = self._facts, self._places
        packages, package = facts.versions
        kinds, n = np.unique(np.stack((facts.crew[at], package[at], facts.card[at])), axis=1, return_counts=True)
        for crew, started, card, count in zip(*kinds.tolist(), n.tolist(), strict=True):
            made = {("optarena", header.optarena) for header in facts.crews[crew]}
            for pair in made | {*packages[started], *facts.cards[card].versions.items()}:
                counts[pair] = counts.get(pair, 0) + count
        rows = [(package, version, n) for (package, version), n in sorted(counts.items())]
        return pl.DataFrame(rows, {"package": pl.String, "version": pl.String, "studies": pl.Int64}, orient="row")

    def notes(self) -> list[str]:
        """What whoever reads these studies should know: damage, values that cannot be, machines that differ, studies
        that do not repeat."""
        damaged = [sentence(self.path, self.damage, places=False)] if self.damage else []
        signed = signatures.notes(self.columns, {card.id for card in different_cards(self)})
        return [*damaged, *beyond_optimum(self), *signed, *self._unrepeatable()]

    def _unrepeatable(self) -> list[str]:
        """A sentence that names whose studies did not reproduce what they had recorded, with the same kernels."""
        if not self._facts.diverged:
            return []
        kernels = self._kernels_of_studies()
        begun_again = {self.columns.attempts[i].start.study for i in self._facts.diverged}
        diverged = {study for study in begun_again if len(kernels[study]) < 2}
        found = [attempt.start for attempt in self.attempts if attempt.start.study in diverged]
        if not found:
            return []
        names = listed(natural({start.optimizer for start in found}))
        what = "did not suggest or evaluate again what was recorded, and started again when continued"
        return [f"not repeatable: {counted(len(found), 'study')} of {names} {what}"]

    def notes_on(self, axis: str) -> list[str]:
        """What whoever compares efforts on an axis should know: seconds of different machines, costs of nobody."""
        if is_cost(axis):
            codes = np.unique(self._facts.optimizer[self._places[~self.reporting(axis)]])
            silent = natural({self._facts.optimizers[i] for i in codes.tolist()})
            return [f"studies of {listed(silent)} report no {axis}: it counts as 0"] if silent else []
        limited = len(self.chosen) - self.studies["budget_seconds"].head(len(self.chosen)).null_count()
        return self.clocks.notes(axis, limited)

    @property
    def damage(self) -> list[Damage]:
        """Damaged places of the store's files: their contents count as missing."""
        return self.columns.damage

    def causes(self) -> dict[str, str]:
        """Why the newest attempt of each study was started; empty for a first one."""
        words = {
            "diverged": "the recorded evaluations could not be reproduced",
            "extended": "a larger budget than its last batch or its seconds",
            "retried": "retried",
        }
        kernels = self._kernels_of_studies()
        out = {}
        for i in self.chosen:
            start = self.columns.attempts[i].start
            other = start.cause == "diverged" and len(kernels[start.study]) > 1
            out[start.study] = words.get(start.cause, start.cause) + (" with other numeric kernels" if other else "")
        return out

    def _kernels_of_studies(self) -> dict[str, set[str]]:
        """Study -> the numeric kernels that its attempts ran with."""
        out: dict[str, set[str]] = {}
        for attempt in self.columns.attempts:
            ran = {signatures.facts_of(header)[-1] for header in attempt.headers}
            out.setdefault(attempt.start.study, set()).update(ran)
        return out

    def tracebacks(self) -> dict[str, str]:
        """The traceback of each study that failed with one, or of its first evaluation that did."""
        ends = ((attempt.start.study, attempt.last_end) for attempt in self.attempts)
        return {study: end.detail for study, end in ends if end is not None and end.detail}

    def kernels(self) -> dict[str, int]:
        """How many studies ran with which numeric kernels: `x86-64-v3`, or `native`."""
        used = np.bincount(self._facts.crew[self._places], minlength=len(self._facts.crews)).tolist()
        return dict(signatures.kernels_of(zip(self._facts.crews, used, strict=True)))

    @property
    def hosts(self) -> tuple[str, ...]:
        """The names of the machines that ran these studies: what is mailed does not have them."""
        headers = {header.host for crew in crews(self) for header in crew}
        return tuple(sorted({*headers, *(run.host for run in self.all_runs)}))

    def environments(self) -> list[dict[str, Any]]:
        """The different machines and processes that ran these studies, as their journals describe them."""
        out: list[dict[str, Any]] = []
        for crew in crews(self):
            for header in crew:
                # older journals have the command line
                facts = {key: value for key, value in header.environment.items() if key != "argv"}
                if "imported" not in facts and facts not in out:
                    out.append(facts)
        return out

    # ---- rows ------------------------------------------------------------------------------------------------------

    @cached_property
    def attributes(self) -> pl.DataFrame:
        """What imported files say of their studies beyond the usual: `study`, and a column for each attribute."""
        if not self._facts.attributes:
            return self.studies.select("study").head(len(self.chosen))
        starts = [attempt.start for attempt in self.attempts]
        names = list(dict.fromkeys(name for start in starts for name in start.attributes))
        rows = [{"study": start.study, **start.attributes} for start in starts]
        return pl.DataFrame(rows, schema=dict.fromkeys(["study", *names], pl.String))

    def endings(self) -> list[str]:
        """How each begun study ended, in a word of `optarena.status.ENDINGS`; empty where its status says it all."""
        statuses = self.studies["status"].head(len(self.chosen)).to_list()
        last = [attempt.last_end for attempt in self.attempts]
        return [
            end.ending if end is not None and end.status == status else ""
            for end, status in zip(last, statuses, strict=True)
        ]

    def pool(self, studies: Ints, metric: str | None = None) -> Pool:
        """Every evaluation of some begun studies of one objective, by their places; 8 bytes each per number."""
        if not len(studies):
            return Pool(np.zeros(0), np.zeros(0), np.zeros(0, dtype=np.int32))
        columns, last = self.columns, self.columns.tally.last[self._places]
        mine = np.full(len(columns.attempts), -1, dtype=np.int64)
        mine[self._places[studies]] = studies
        there = np.bincount(columns.owner[~columns.counts_only], minlength=len(mine))
        if (there == columns.tally.rows)[mine >= 0].all():  # each is an improvement, say: nothing needs to be read
            return pool_of([columns], lambda _: mine, last, metric)
        place = {key_of(self.attempts[i]): i for i in studies.tolist()}

        def owners(rows: Columns) -> Ints:
            return np.array([place.get(key_of(attempt), -1) for attempt in rows.attempts], dtype=np.int64)

        with no_collection():
            return pool_of(self._reader.pieces(place.keys()), owners, last, metric)

    def _points(self, rows: Ints) -> list[list[Any]]:
        try:
            return super()._points(rows)
        except FileNotFoundError:  # a journal was compacted since: its rows are in a shard now
            columns = self.columns
            attempts = [columns.attempts[owner] for owner in columns.owner[rows].tolist()]
            again = self._reader.read({key_of(attempt) for attempt in attempts})
            at = {key_of(attempt): i for i, attempt in enumerate(again.attempts)}
            owners = np.array([at[key_of(attempt)] for attempt in attempts], dtype=np.int64)
            place = {key: i for i, key in enumerate(zip(again.owner.tolist(), again.evaluation.tolist(), strict=True))}
            wanted = zip(owners.tolist(), columns.evaluation[rows].tolist(), strict=True)
            return again.points(np.array([place[key] for key in wanted], dtype=np.int64))

    def points(self, study: str) -> list[dict[str, Any]]:
        """Every kept row of a study in full: evaluation, parameters, objectives, status; to read, not to score."""
        found = [i for i, attempt in enumerate(self.attempts) if attempt.start.study == study]
        part = self.select(np.array(found, dtype=np.int64)).in_full()
        columns, out = part.columns, []
        for i in part.chosen:
            attempt = columns.attempts[i]
            rows = np.flatnonzero((columns.owner == i) & ~columns.counts_only)
            names = [objective.name for objective in attempt.card.objectives]
            for row, point in zip(rows.tolist(), part._points(rows), strict=True):
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

        Instances that share a problem's id have one row each: each has an optimum of its own.
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
            .sort(
                pl.col("problem").cast(pl.Enum(natural(frame["problem"]))),
                *("_variant", "_key", "best_evaluation", "optimizer", "trial"),
            )
            .group_by("problem", "_variant", maintain_order=True)
            .first()
        )
        parameters = self.best_parameters(winners["study"].to_list())
        solutions = self.best_solutions(winners["study"].to_list())
        kept = ("problem", "instance", "best", "optimum", "sense", "optimizer", "trial", "best_evaluation", "study")
        return [
            {
                **{key: row[key] for key in kept},
                "parameters": parameters.get(row["study"], {}),
                **({"solution": solutions[row["study"]]} if row["study"] in solutions else {}),
            }
            for row in winners.iter_rows(named=True)
        ]

    def best_parameters(self, studies: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The parameters of the best evaluation of each of these studies that has one and kept its point."""
        found = self._best_points(studies)
        spaced = ((study, card.space, point) for study, (card, point) in found.items() if card.space)
        return {study: dict(zip(space, point, strict=True)) for study, space, point in spaced}

    def best_solutions(self, studies: Sequence[str]) -> dict[str, Any]:
        """The best solution of each of these runs of solvers that kept it, in the form that its instance verifies."""
        return {study: point[0] for study, (card, point) in self._best_points(studies).items() if not card.space}

    def _best_points(self, studies: Sequence[str]) -> dict[str, tuple[ProblemCard, list[Any]]]:
        """The point of the best evaluation of each of these studies, as it was written; only those that have one."""
        columns = self.columns
        begun = self.studies.head(len(self.chosen)).select("study", "best_evaluation").with_row_index("place")
        wanted = begun.filter(pl.col("study").is_in(set(studies))).drop_nulls()
        rows: dict[int, Ints] = {}
        for place, _, best in wanted.iter_rows():
            i = self.chosen[place]
            # rows are sorted by attempt, then by evaluation
            first, last = np.searchsorted(columns.owner, [i, i + 1])
            mine = columns.evaluation[first:last]
            rows[i] = first + np.flatnonzero((mine == best) & ~columns.counts_only[first:last])[:1]
        # file by file, each of which is read once
        order = sorted(rows, key=lambda i: int(columns.source[rows[i][0]]))
        points = {i: self._points(rows[i])[0] for i in order}
        attempts = {i: columns.attempts[i] for i in rows if points[i]}
        return {attempt.start.study: (attempt.card, points[i]) for i, attempt in attempts.items()}

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
        optimizer: Named | Sequence[Named] | None = None,
        problem: str | Sequence[str] | None = None,
        suite: str | Sequence[str] | None = None,
        dimension: int | Sequence[int] | None = None,
        machine: str | Sequence[str] | None = None,
    ) -> Self:
        """The studies whose optimizer, problem and suite match one of the globs, and whose dimension is given.

        machine: only studies that ran on machines with these names (globs), and on no other.

        Braces stand for several, as where experiments choose problems: `bbob/f{1..5}/*`."""
        given = [optimizer] if isinstance(optimizer, (str, Use, type)) else optimizer
        names = None if given is None else [label_of(item) for item in given]
        tests = [matcher(names), matcher(problem), matcher(suite)]
        ours = matcher(machine)
        wanted = None if dimension is None else set(np.atleast_1d(dimension).tolist())

        def is_on(card: ProblemCard) -> bool:
            return tests[1](card.id) and tests[2](card.suite) and (wanted is None or card.dimension in wanted)

        chosen = self._places[studies_of(self, tests[0], is_on)].tolist()
        if machine is not None:
            chosen = [i for i in chosen if _ran_on(self.columns.attempts[i], ours)]
        return self._with(self.columns, chosen, [])  # what was not begun has no card to filter by

    def select(self, studies: Ints) -> Self:
        """Some of the begun studies, by their places in `.studies`."""
        return self._with(self.columns, self._places[studies].tolist(), [])

    def _with(self, columns: Columns, chosen: list[int], runs: list[RunFile]) -> Self:
        """Another choice of studies, or of rows."""
        out = copy.copy(self)
        for name in ("studies", "attributes", "rows", "_traces", "clocks", "attempts", "cards", "_places"):
            vars(out).pop(name, None)
        if columns is not self.columns:
            vars(out).pop("_facts", None)
        out.columns, out.chosen, out.runs, out._complete = columns, chosen, runs, False
        return out


def _ran_on(attempt: Attempt, wanted: Callable[[str], bool]) -> bool:
    hosts = {machine.host for machine in machines_of(attempt.card, attempt.headers)}
    return bool(hosts) and all(map(wanted, hosts))


def _in_order(facts: Facts, newest: list[int], runs: Sequence[RunFile]) -> list[int]:
    """Attempts in the order of the plans, whoever ran them: the same experiment gives the same tables."""
    attempts = facts.attempts
    planned: dict[str, int] = {}
    for run in runs:
        for study in run.studies:
            planned.setdefault(study.id, len(planned))
    at = np.array(newest, dtype=np.int64)
    plan = [planned.get(attempts[i].start.study, len(planned)) for i in newest] if planned else np.zeros(len(at))
    trial = np.array([attempts[i].start.trial for i in newest], dtype=np.int64)
    problem = _ranks([(natural_key(card.id), card.id) for card in facts.cards])[facts.card[at]]
    optimizer = _ranks(facts.optimizers)[facts.optimizer[at]]
    keys = np.stack((trial, optimizer, problem, np.asarray(plan, dtype=np.int64)))
    order = np.lexsort(keys)
    ties = (keys[:, order[1:]] == keys[:, order[:-1]]).all(axis=0)
    out: list[int] = at[order].tolist()
    if ties.any():  # then by the study's id
        place = np.concatenate(([0], np.cumsum(~ties))).tolist()
        out = [i for _, _, i in sorted((n, attempts[i].start.study, i) for n, i in zip(place, out, strict=True))]
    return out


def _ranks(names: Sequence[Any]) -> Ints:
    """The place of each in their order; equal ones share it."""
    place = {name: i for i, name in enumerate(sorted(set(names)))}
    return np.array([place[name] for name in names], dtype=np.int64)
