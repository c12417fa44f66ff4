"""The studies of a store as Bayesmark would have kept them: names, values, times, points, signatures."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Collection
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from optarena._bayesmark_names import VISIBLE
from optarena._version import __version__
from optarena.bayesmark.files import FileStudy, method_name, problem_name
from optarena.dataset import Dataset
from optarena.problems.sklearn import signature_points
from optarena.space import Space
from optarena.store.columns import Attempt
from optarena.store.costs import EVALUATE, NUMBERS, OBSERVE, SECONDS, SUGGEST
from optarena.store.records import ProblemCard
from optarena.traces import Floats


def studies_of(
    results: Dataset, path: Path, wanted: Callable[[str], bool] = lambda _: True
) -> tuple[list[FileStudy], dict[str, str]]:
    """The complete studies of a store as Bayesmark keeps them, minimised; and why it cannot hold the others, by id."""
    out, left_out = [], {}
    results = results.in_full()
    rows = _Rows(results)
    for i, (attempt, status) in enumerate(zip(results.attempts, results.studies["status"], strict=False)):
        start, card = attempt.start, attempt.card
        if not wanted(start.study):
            continue
        low, high = rows.traces.offsets[i : i + 2].tolist()
        n = high - low
        reason = ""
        if status != "done" or not n:
            reason = status
        elif len(card.objectives) > 1:
            reason = "it has several objectives"
        elif start.record != "all" or (rows.traces.evaluation[low:high] != np.arange(1, n + 1)).any():
            reason = "only some of its evaluations are recorded"
        elif n % start.batch:
            reason = f"its last batch is incomplete ({n} evaluations in batches of {start.batch})"
        if reason:
            left_out[start.study] = f"{start.optimizer} on {card.id}, trial {start.trial}: {reason}"
        else:
            out.append(rows.study(attempt, low, high, path))
    return out, left_out


def begun_studies(results: Dataset, path: Path, ids: Collection[str]) -> list[FileStudy]:
    """These studies as far as they went: the batches that are complete."""
    if not ids:
        return []
    results = results.in_full()
    rows = _Rows(results)
    out = []
    for i, attempt in enumerate(results.attempts):
        if attempt.start.study in ids and len(attempt.card.objectives) == 1 and attempt.start.record == "all":
            low, high = rows.traces.offsets[i : i + 2].tolist()
            out.append(rows.study(attempt, low, high - (high - low) % attempt.start.batch, path))
    return out


class _Rows:
    """The rows of all studies, and those of one as Bayesmark's files have them."""

    def __init__(self, results: Dataset) -> None:
        self.traces = results.traces()
        self._results = results
        self._statuses = results.row_statuses()
        self._metrics = {name: results.metric(name)[0] for name in results.metrics}

    @cached_property
    def _costs(self) -> Floats:
        return self._results.costs()

    def study(self, attempt: Attempt, low: int, high: int, path: Path) -> FileStudy:
        start, card = attempt.start, attempt.card
        shape = ((high - low) // start.batch, start.batch)
        failed = self._statuses[low:high] > 0

        def grid(values: Floats) -> Floats:
            return np.where(failed | np.isnan(values), np.inf, values).reshape(shape)  # as Bayesmark records failures

        values = {VISIBLE: grid(self.traces.values[low:high, 0])}
        values.update({name: grid(self._metrics[name][low:high]) for name in card.metrics})
        costs = self._costs[low:high].reshape(*shape, NUMBERS)
        last = sum(end.w[OBSERVE] for end in attempt.ends) * SECONDS
        points = self._results.parameters(np.arange(low, high))
        names = list(card.space) if all(points) else []
        args = _args(attempt, path, shape)
        return FileStudy(
            args["--uuid"],
            problem_name(args),
            method_name(args),
            values,
            {
                "suggest": costs[:, :, SUGGEST].sum(axis=1),
                "eval": costs[:, :, EVALUATE],
                "observe": np.append(costs[1:, :, OBSERVE].sum(axis=1), last),
            },
            {
                n: [[points[t * shape[1] + j][k] for j in range(shape[1])] for t in range(shape[0])]
                for k, n in enumerate(names)
            },
            _signature(card),
            args,
        )


def bayesmark_names(attempt: Attempt) -> tuple[str, str]:
    """What Bayesmark calls its problem and its method."""
    args = _args(attempt, Path(), (0, 0))
    return problem_name(args), method_name(args)


def _args(attempt: Attempt, path: Path, shape: tuple[int, int]) -> dict[str, Any]:
    """What Bayesmark's own command would have been told."""
    start, card = attempt.start, attempt.card
    model, data, metric = _parts(card)
    version = next(iter(start.versions.values()), "") or next((h.optarena for h in attempt.headers), "0")
    told = {
        "opt": _cleaned(start.optimizer),
        "opt_rev": _cleaned(version),
        "rev": revision(attempt),
        **start.attributes,
    }
    return {
        "--uuid": uuid.UUID(start.study).hex,
        "-db-root": ".",  # wherever the database is; the directory would tell whose it is
        "--opt-root": None,
        "--data-root": None,
        "--db": path.name,
        "--opt": told["opt"],
        "--data": data,
        "--classifier": model,
        "--metric": metric,
        "--calls": shape[0],
        "--suggestions": shape[1],
        "--jobs-file": None,
        "--verbose": False,
        "dry_run": False,
        "rev": told["rev"],
        "opt_rev": told["opt_rev"],
    }


def revision(attempt: Attempt | None = None) -> str:
    """Seven digits that stand for the version of optarena, where Bayesmark has those of its own commit."""
    version = next((header.optarena for header in attempt.headers), __version__) if attempt else __version__
    return hashlib.sha256(f"optarena {version}".encode()).hexdigest()[:7]


def _parts(card: ProblemCard) -> tuple[str, str, str]:
    """Model, data and metric; of a problem that is no tuning problem, the first step of its path, the rest, `value`."""
    parts = card.function.split("_") if card.suite == "sklearn" or card.imported else []
    if len(parts) == 3:
        return parts[0], parts[1], parts[2]
    head, _, rest = card.id.partition("/")
    return _cleaned(head), _cleaned(rest) or "none", _cleaned(card.objectives[0].name)


def _cleaned(text: str) -> str:
    """A text that can be part of one of Bayesmark's names: no underscore, nothing that a file's name cannot have."""
    return "".join(sign if sign.isalnum() or sign in ".-+()=, " else "-" for sign in text)


def _signature(card: ProblemCard) -> tuple[list[dict[str, Any]], list[float]]:
    if not card.signature:
        return ([], [])
    values = [float(value) for value in card.signature if value is not None]
    points = signature_points(Space(card.space)) if not card.imported else []
    return points, values
