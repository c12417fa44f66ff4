"""The studies of a store as logs of improvements, as COCO's and IOHprofiler's files are; writing them is not here."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from optarena.dataset import Dataset
from optarena.dataset.rows import CONSTRAINT_EVALUATIONS
from optarena.errors import OptarenaError
from optarena.status import FINISHED
from optarena.store.columns import Attempt
from optarena.store.records import ProblemCard
from optarena.traces import Floats, Ints, cumulative_minimum, penalised, total_violation

_NUMBER = re.compile(r"f0*(\d{1,6})\Z")
NOISE_FREE = "noise_free"


@dataclass(eq=False)
class Log:
    """One study as a foreign log tells it; `best` falls strictly."""

    optimizer: str
    suite: str
    function: int
    dimension: int
    instance: int
    finished: bool
    evaluations: int
    evaluation: Ints
    best: Floats
    """f - f_opt, of the noiseless function, with what constraints are violated by added; f, minimised, if f_opt is not
    known."""
    f_opt: float
    points: Floats | None
    card: ProblemCard
    values: Floats
    """(rows, objectives) of the same rows."""
    constraint_evaluations: Ints
    """Of the same rows: how often the constraints had been evaluated."""
    constraint_evaluations_at_end: int | None
    """The same when the run ended, where that is known."""


def logs(results: Dataset, format: str) -> list[Log]:
    """All studies, or an OptarenaError that names those that have no place in such a log."""
    results = results.in_full()
    columns, attempts = results.columns, results.attempts
    refused = [text for attempt in attempts if (text := _unfit(attempt, format))]
    if refused:
        more = f"; and {len(refused) - 3:,} more" if len(refused) > 3 else ""
        raise OptarenaError(f"{'; '.join(refused[:3])}{more}. Choose others with --problem or --optimizer")
    rows, counts = results.rows
    offsets = np.concatenate(([0], np.cumsum(counts))).astype(np.int64)
    facts = results.studies.head(len(attempts)).select("status", "evaluations").rows()
    apart = differences(results, attempts, rows, counts)
    best = cumulative_minimum(apart, offsets)
    given = columns.extras.get(f"effort.{CONSTRAINT_EVALUATIONS}", np.full(len(columns.owner), np.nan))
    at_end = results.extra_at_end(f"effort.{CONSTRAINT_EVALUATIONS}")
    out = []
    for i, (attempt, (status, made)) in enumerate(zip(attempts, facts, strict=True)):
        low, high = offsets[i], offsets[i + 1]
        own = best[low:high]
        card = attempt.card
        if len(card.objectives) == 1:
            kept = np.flatnonzero(own < np.concatenate(([np.inf], own[:-1])))
        else:
            kept = np.flatnonzero(np.isfinite(apart[low:high]))
        chosen = rows[low:high][kept]
        out.append(
            Log(
                optimizer=attempt.start.optimizer,
                suite=card.suite,
                function=function_number(card) or 0,
                dimension=card.dimension,
                instance=card.instance or 1,
                finished=status in FINISHED,
                evaluations=int(made),
                evaluation=columns.evaluation[chosen],
                best=own[kept],
                f_opt=_f_opt(attempt),
                points=_points(columns.points(chosen), card),
                card=card,
                values=columns.values[chosen, : len(card.objectives)],
                constraint_evaluations=np.where(
                    np.isnan(given[chosen]), columns.evaluation[chosen] * bool(card.constraints), given[chosen]
                ).astype(np.int64),
                constraint_evaluations_at_end=None if np.isnan(at_end[i]) else int(at_end[i]),
            )
        )
    return out


def function_number(card: ProblemCard) -> int | None:
    """The number of a function that is called f1, f2, …"""
    found = _NUMBER.match(card.function)
    return int(found[1]) if found else None


def _unfit(attempt: Attempt, format: str) -> str | None:
    card, start = attempt.card, attempt.start
    known = card.known
    what = f"{start.optimizer} on {card.id} cannot be written in the format {format}"
    if function_number(card) is None or not card.suite:
        return f"{what}: its function has no number (such as f1 of bbob)"
    if format == "coco" and len(card.objectives) == 1 and known.optimum is None and known.best_known is None:
        return f"{what}: it has f - f_opt, and f_opt is not known"
    if len(card.objectives) > 2 or (len(card.objectives) == 2 and (known.ideal is None or known.nadir is None)):
        return f"{what}: several objectives must be two, with ideal and nadir known"
    if len(card.objectives) == 2 and format != "coco":
        return f"{what}: it is for one objective"
    if (NOISE_FREE in card.metrics or card.constraints) and start.record != "all":
        return f"{what}: only its improvements were recorded, which are not those that count there (--record all)"
    return None


def _f_opt(attempt: Attempt) -> float:
    try:
        return float(attempt.start.attributes["coco_f_opt"])
    except (KeyError, ValueError):
        known = attempt.card.known.optimum or attempt.card.known.best_known
        return known[0] if known else 0.0


def differences(results: Dataset, attempts: Sequence[Attempt], rows: Ints, counts: Ints) -> Floats:
    """f - f_opt of every row, minimised; inf where an evaluation failed."""
    columns = results.columns
    of = np.repeat(np.arange(len(attempts)), counts)
    sign = np.array([a.card.objectives[0].sign for a in attempts])
    known = [a.card.known.optimum or a.card.known.best_known for a in attempts]
    optimum = np.array([0.0 if k is None or len(a.card.objectives) > 1 else k[0] for a, k in zip(attempts, known)])  # noqa: B905
    values = columns.values[rows, 0].copy()
    hidden = np.array([a.card.metrics.index(NOISE_FREE) if NOISE_FREE in a.card.metrics else -1 for a in attempts])[of]
    if (hidden >= 0).any():
        noisy = np.flatnonzero(hidden >= 0)
        values[noisy] = columns.metrics[rows[noisy], hidden[noisy]]
    out = (values - optimum[of]) * sign[of]
    constrained = np.array([a.card.constraints > 0 for a in attempts], dtype=bool)[of]
    if constrained.any():
        out[constrained] = penalised(out[constrained], total_violation(columns.violations[rows[constrained]]))
    failed = (columns.status[rows] > 0) | np.isnan(out)
    return np.where(failed, np.inf, out)


def _points(points: list[list[object]], card: ProblemCard) -> Floats | None:
    """Points that are numbers throughout; else none."""
    kinds = {line["type"] for line in card.space.values()}
    if len(card.space) != card.dimension or not kinds <= {"real", "int"} or not any(points):
        return None
    blank = [np.nan] * card.dimension
    return np.array([point or blank for point in points], dtype=float).reshape(-1, card.dimension)


def by_folder(every: Sequence[Log]) -> Iterator[tuple[Path, str, list[Log]]]:
    """The logs of each optimizer on each suite, and a folder for them that names both and leads nowhere else."""
    groups: dict[tuple[str, str], list[Log]] = {}
    for log in every:
        groups.setdefault((log.suite, log.optimizer), []).append(log)
    taken: set[str] = set()
    for (suite, optimizer), some in groups.items():
        name = base = f"{_plain(suite)}/{_plain(optimizer)}"
        number = 2
        while name.lower() in taken:
            name, number = f"{base}-{number}", number + 1
        taken.add(name.lower())
        some.sort(key=lambda log: (log.function, log.dimension))  # stable: trials stay in their order
        yield Path(name), optimizer, some


def _plain(name: str) -> str:
    """A name as one step of a path."""
    return re.sub(r"[^\w+=@-]+", "_", name).strip("_")[:80] or "unnamed"
