"""One study: its trace, its best points, its parameters over time, what each evaluation cost, and its errors."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from optarena._json import strict
from optarena._text import shortened, visible
from optarena.errors import OptarenaError
from optarena.facade import Results
from optarena.report.drawing._style import config
from optarena.status import EVALUATION
from optarena.store.costs import EVALUATE, OBSERVE, SUGGEST

MOST_ROWS = 3000
"""Evaluations on the page; of more, every n-th, all improvements and all failures."""
BEST, ERRORS = 10, 50
LONGEST = 8000


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
    values = columns.values[rows, 0] if len(rows) else np.zeros(0)
    sign = attempt.card.objectives[0].sign
    counted = (columns.status[rows] == 0) & columns.feasible[rows] & ~np.isnan(values)
    best = np.minimum.accumulate(np.where(counted, values * sign, np.inf)) if len(rows) else values
    improved = np.append(True, best[1:] < best[:-1]) if len(rows) else np.zeros(0, dtype=bool)
    shown = _shown(len(rows), improved | (columns.status[rows] > 0))
    points = part._points(rows[shown]) if len(shown) else []
    costs = columns.costs[rows][shown] if len(rows) else np.zeros((0, 6))
    space = attempt.card.space
    order = shown[np.argsort(np.where(counted, values * sign, np.inf)[shown], kind="stable")]
    place = {int(at): i for i, at in enumerate(shown)}
    end = attempt.last_end
    header = attempt.headers[-1] if attempt.headers else None
    errors = [i for i in shown.tolist() if columns.status[rows[i]] > 0][:ERRORS]
    names = [objective.name for objective in attempt.card.objectives]
    data = {
        "study": id,
        "optimizer": visible(row["optimizer"]),
        "problem": visible(row["problem"]),
        "trial": row["trial"],
        "status": row["status"],
        "reason": visible(shortened(row["reason"] or "", LONGEST)),
        "evaluations": row["evaluations"],
        "budget": row["budget"],
        "best": row["best"],
        "objectives": [visible(name) for name in names],
        "sense": row["sense"],
        "where": visible(f"{header.host}, process {header.pid}") if header is not None else "",
        "settings": visible(", ".join(f"{key}={value}" for key, value in attempt.start.settings.items())),
        "attempt": row["attempt"],
        "rows": len(rows),
        "shown": len(shown),
        "config": config(),
        "log": bool(len(rows) and _is_log(best[np.isfinite(best)] * sign)),
        "trace": {
            "evaluation": columns.evaluation[rows][shown].tolist(),
            "value": [_number(x) for x in values[shown].tolist()],
            "best": [_number(x * sign) for x in best[shown].tolist()],
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
        "top": [
            {"evaluation": int(columns.evaluation[rows[i]]), "value": _number(float(values[i])), "place": place[i]}
            for i in order.tolist()[:BEST]
            if counted[i]
        ],
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
