"""The studies of a store as Bayesmark would have kept them: names, values, times, points, signatures."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from optarena.dataset import Dataset
from optarena.formats._bayesmark_files import VISIBLE, FileStudy, method_name, problem_name
from optarena.space import Space
from optarena.store.columns import Attempt
from optarena.store.records import ProblemCard


def studies_of(
    results: Dataset, path: Path, wanted: Callable[[str], bool] = lambda _: True
) -> tuple[list[FileStudy], dict[str, str]]:
    """The whole studies of a store as Bayesmark keeps them, minimised; and why it cannot hold the others, by id."""
    out, left_out = [], {}
    results = results.in_full()
    status = results.studies.head(len(results.chosen))["status"].to_list()
    rows, counts = results.rows
    bounds = np.concatenate(([0], np.cumsum(counts))).tolist()
    for i, attempt in enumerate(results.attempts):
        start, card = attempt.start, attempt.card
        if not wanted(start.study):
            continue
        here = rows[bounds[i] : bounds[i + 1]]
        n = len(here)
        reason = ""
        if status[i] != "done" or not n:
            reason = status[i]
        elif len(card.objectives) > 1:
            reason = "it has several objectives"
        elif start.record != "all" or (results.columns.evaluation[here] != np.arange(1, n + 1)).any():
            reason = "only some of its evaluations are recorded"
        elif n % start.batch:
            reason = f"its last batch is not whole ({n} evaluations in batches of {start.batch})"
        if reason:
            left_out[start.study] = f"{start.optimizer} on {card.id}, trial {start.trial}: {reason}"
        else:
            out.append(_study(results, attempt, here, path))
    return out, left_out


def _study(results: Dataset, attempt: Attempt, rows: Any, path: Path) -> FileStudy:
    columns, start, card = results.columns, attempt.start, attempt.card
    shape = (len(rows) // start.batch, start.batch)
    sign = -1.0 if card.objectives[0].sense == "max" else 1.0
    bad = columns.status[rows] > 0

    def grid(values: Any) -> Any:
        whole = np.where(bad | np.isnan(values), np.inf, values)  # what Bayesmark records of a failed evaluation
        return whole.reshape(shape)

    values = {VISIBLE: grid(columns.values[rows, 0] * sign)}
    values.update({name: grid(columns.metrics[rows, j]) for j, name in enumerate(card.metrics)})
    costs = columns.costs[rows].reshape(*shape, 6)
    observe = np.append(costs[1:, :, 4].sum(axis=1), sum(end.w[4] for end in attempt.ends) * 1e-9)
    points = columns.points(rows)
    names = list(card.space) if all(points) else []
    args = _args(attempt, path, shape)
    return FileStudy(
        args["--uuid"],
        problem_name(args),
        method_name(args),
        values,
        {"suggest": costs[:, :, 0].sum(axis=1), "eval": costs[:, :, 2], "observe": observe},
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
        "-db-root": str(path.parent.resolve()),
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
    from optarena._version import __version__

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
    from optarena.problems.sklearn import signature_points

    values = [float(value) for value in card.signature if value is not None]
    points = signature_points(Space(card.space)) if not card.imported else []
    return points, values
