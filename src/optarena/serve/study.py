"""One study: its trace, its best points, its parameters over time, what each evaluation cost, and its errors.

And the studies of one problem, by which a reader finds the one that matters.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena._json import strict
from optarena._text import shortened, visible
from optarena.dataset.facts import studies_of
from optarena.dataset.readers import OnDisk
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.report.drawing._style import config
from optarena.sense import sign as sign_of
from optarena.serve.choice import Choice
from optarena.status import EVALUATION, UNSUCCESSFUL
from optarena.store.columns import Attempt
from optarena.store.costs import EVALUATE, OBSERVE, SUGGEST
from optarena.store.following import Stores
from optarena.store.reading import key_of
from optarena.traces import Floats, Ints
from optarena.views.pareto.domination import non_dominated

Bools = npt.NDArray[np.bool_]

MOST_ROWS = 3000
"""Evaluations on the page; of more, every n-th, all improvements and all failures."""
BEST, ERRORS = 10, 50
LONGEST = 8000
MOST_FRONT = 50
"""Points of a front in the table of the best."""
MOST_STUDIES = 2000
"""Links of one problem."""


def on_disk(stores: Stores, attempt: Attempt, live_hosts: Collection[str]) -> Results:
    """One attempt as the files have it now, which may be more than the newest page knows."""
    columns = OnDisk(stores, [attempt.card]).read({key_of(attempt)})
    return Results(stores.path, columns, live_hosts=live_hosts)


def studies_of_problem(results: Results, choice: Choice, problem: str) -> dict[str, Any]:
    """Each optimizer's studies of one problem, the best first: their ids, trials, best values and how they ended."""
    part = choice.apply(results)
    places = studies_of(part, lambda _: True, lambda card: visible(card.id) == problem)
    if not len(places):  # it is planned, and nobody has begun
        return {"problem": problem, "sign": 1.0, "optimizers": [], "more": 0}
    rows = part.studies[places.tolist()]
    sign = sign_of(rows["sense"][0])
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.sort("trial", maintain_order=True).head(MOST_STUDIES).iter_rows(named=True):
        found.setdefault(visible(row["optimizer"]), []).append(
            {
                "study": row["study"],
                "trial": row["trial"],
                "best": _number(row["best"]) if row["best"] is not None else None,
                "status": row["status"],
                "failed": row["status"] in UNSUCCESSFUL,
            }
        )

    def standing(item: tuple[str, list[dict[str, Any]]]) -> float:
        return min((one["best"] * sign for one in item[1] if one["best"] is not None), default=math.inf)

    optimizers = [{"optimizer": name, "studies": some} for name, some in sorted(found.items(), key=standing)]
    return {"problem": problem, "sign": sign, "optimizers": optimizers, "more": max(0, rows.height - MOST_STUDIES)}


def study_data(results: Results, id: str) -> dict[str, Any]:
    """All of it as plain data."""
    found = [i for i, attempt in enumerate(results.attempts) if attempt.start.study == id]
    if not found:
        raise OptarenaError("no study has this id; it may not have begun yet")
    row = results.studies.row(found[0], named=True)
    part = results.select(np.array(found, dtype=np.int64)).in_full()
    columns, (owner,) = part.columns, part.chosen
    attempt = columns.attempts[owner]
    rows = np.flatnonzero((columns.owner == owner) & ~columns.counts_only)
    objectives = attempt.card.objectives
    values = columns.values[rows, : len(objectives)] if len(rows) else np.zeros((0, len(objectives)))
    signs = np.array([objective.sign for objective in objectives])
    counted = (columns.status[rows] == 0) & columns.feasible[rows] & ~np.isnan(values).any(axis=1)
    losses = np.where(counted[:, None], values * signs, np.inf)
    best = np.minimum.accumulate(losses, axis=0) if len(rows) else values
    improved = np.append(True, (best[1:] < best[:-1]).any(axis=1)) if len(rows) else np.zeros(0, dtype=bool)
    front = _front(losses) if len(objectives) > 1 else np.zeros(len(rows), dtype=bool)
    shown = _shown(len(rows), improved | front | (columns.status[rows] > 0))
    points = part._points(rows[shown]) if len(shown) else []
    costs = columns.costs[rows][shown] if len(rows) else np.zeros((0, 6))
    space = attempt.card.space
    end = attempt.last_end
    header = attempt.headers[-1] if attempt.headers else None
    errors = [i for i in shown.tolist() if columns.status[rows[i]] > 0][:ERRORS]
    data = {
        "study": id,
        "optimizer": visible(row["optimizer"]),
        "problem": visible(row["problem"]),
        "trial": row["trial"],
        "status": row["status"],
        "open": row["status"] in ("running", "stale"),
        "reason": visible(shortened(row["reason"] or "", LONGEST)),
        "evaluations": row["evaluations"],
        "budget": row["budget"],
        "where": visible(f"{header.host}, process {header.pid}") if header is not None else "",
        "settings": visible(", ".join(f"{key}={value}" for key, value in attempt.start.settings.items())),
        "attempt": row["attempt"],
        "rows": len(rows),
        "shown": len(shown),
        "config": config(),
        "objectives": [
            {
                "name": visible(objective.name),
                "sense": objective.sense,
                "best": _number(float(best[-1, j] * signs[j])) if len(rows) else None,
                "log": bool(len(rows) and _is_log(best[np.isfinite(best[:, j]), j] * signs[j])),
                "value": [_number(x) for x in values[shown, j].tolist()],
                "line": [_number(x) for x in (best[shown, j] * signs[j]).tolist()],
            }
            for j, objective in enumerate(objectives)
        ],
        "trace": {
            "evaluation": columns.evaluation[rows][shown].tolist(),
            "suggest": costs[:, SUGGEST].tolist(),
            "evaluate": costs[:, EVALUATE].tolist(),
            "observe": costs[:, OBSERVE].tolist(),
        },
        "parameters": [
            {
                "name": visible(name),
                "numeric": line["type"] in ("real", "int"),
                "log": line.get("space") == "log",
                "values": [_cell(point[j]) if len(point) > j else None for point in points],
            }
            for j, (name, line) in enumerate(space.items())
        ],
        "front": int(front.sum()),
        "top": _top(shown, losses, counted, front if len(objectives) > 1 else None),
        "errors": [
            {
                "evaluation": int(columns.evaluation[rows[i]]),
                "status": EVALUATION[columns.status[rows[i]]],
                "message": visible(shortened(columns.messages.get(int(rows[i]), ""), LONGEST)),
            }
            for i in errors
        ],
        "traceback": "\n".join(map(visible, shortened(end.detail if end else "", LONGEST).split("\n"))),
    }
    out: dict[str, Any] = strict(data)
    return out


def _front(losses: Floats) -> Bools:
    """The evaluations that no other one dominates."""
    out, finite = np.zeros(len(losses), dtype=bool), np.flatnonzero(np.isfinite(losses).all(axis=1))
    out[finite[non_dominated(losses[finite])]] = True
    return out


def _top(shown: Ints, losses: Floats, counted: Bools, front: Bools | None) -> list[int]:
    """The places, among those shown, of the best points: of several objectives, those that no other dominates."""
    chosen = shown[counted[shown] if front is None else front[shown]]
    order = chosen[np.argsort(losses[chosen, 0], kind="stable")][: BEST if front is None else MOST_FRONT]
    return np.searchsorted(shown, order).tolist()


def _shown(n: int, always: Any) -> Any:
    """The places of the rows that are drawn."""
    if n <= MOST_ROWS:
        return np.arange(n)
    every = np.zeros(n, dtype=bool)
    every[:: math.ceil(n / MOST_ROWS)] = True
    every[np.flatnonzero(always)[:MOST_ROWS]] = True
    return np.flatnonzero(every)


def _is_log(values: Any) -> bool:
    return bool(len(values) and values.min() > 0 and values.max() / values.min() > 1000)


def _number(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cell(value: Any) -> Any:
    return visible(value) if isinstance(value, str) else value
