"""Studies put together as cubes: every method on the same problems. What is missing is named, never made up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from optarena.bayesmark.files import CUBE, FileStudy, dataset
from optarena.errors import OptarenaError
from optarena.optimizer import is_random_search

NAMED = 3
Cells = dict[tuple[str, str], list[FileStudy]]


class Share(NamedTuple):
    """The studies that can be put together, and in words the methods, the problems and the studies that cannot."""

    studies: list[FileStudy]
    left_out: list[str]


def share(studies: Sequence[FileStudy]) -> Share:
    """Leave out what would make averages speak of different problems: where a method has no study on a problem, one
    of both goes, so that fewer studies are lost. A pairing with some of its repetitions stays, and is named.
    """
    if not studies:
        raise OptarenaError("there is no complete study to aggregate")
    shapes = Counter(study.shape for study in studies)
    if len(shapes) > 1:
        texts = ", ".join(f"{n} x {p} in {count}" for (n, p), count in sorted(shapes.items()))
        raise OptarenaError(
            f"the studies differ in iterations x suggestions ({texts}): launch the shorter ones again under their"
            f" --uuid with -n {max(shapes)[0]}, or keep them in databases of their own"
        )
    cells = _by_cell(studies)
    left_out = []
    while lacking := _lacking(cells):
        method = max(lacking, key=lambda m: (len(lacking[m]), m))
        gone = lacking[method]
        of_method = sum(len(found) for (_, m), found in cells.items() if m == method)
        of_problems = sum(len(found) for (p, _), found in cells.items() if p in gone)
        if of_method < of_problems and not _only_random(method, cells):
            left_out.append(f"{method}: it has no study on {_few(gone, 'problem')}")
            cells = {key: found for key, found in cells.items() if key[1] != method}
        else:
            left_out += [f"{problem}: {method} has no study on it" for problem in gone]
            cells = {key: found for key, found in cells.items() if key[0] not in gone}
    left_out += [f"{text}: scored by these" for text in _short(cells)]
    return Share([study for found in cells.values() for study in found], left_out)


def uneven(studies: Sequence[FileStudy]) -> str:
    """Which pairings have fewer studies than others, in words; nothing where all have as many."""
    found = _short(_by_cell(studies))
    return ", ".join(found[:NAMED]) + (f" and {len(found) - NAMED} more such" if len(found) > NAMED else "")


def _short(cells: Cells) -> list[str]:
    most = max(map(len, cells.values()))
    return [
        f"{method} on {problem} has {len(found)} of {most} studies"
        for (problem, method), found in cells.items()
        if len(found) < most
    ]


def _by_cell(studies: Sequence[FileStudy]) -> Cells:
    """The studies of every problem and method, by id as Bayesmark numbers them; some may have none."""
    problems, methods = sorted({study.problem for study in studies}), sorted({study.method for study in studies})
    cells: Cells = {key: [] for key in product(problems, methods)}
    for study in sorted(studies, key=lambda study: study.uuid):
        cells[study.problem, study.method].append(study)
    return cells


def _lacking(cells: Cells) -> dict[str, list[str]]:
    """Method -> the problems on which it has no study; none but those."""
    out: dict[str, list[str]] = {}
    for (problem, method), found in cells.items():
        if not found:
            out.setdefault(method, []).append(problem)
    return out


def _only_random(method: str, cells: Cells) -> bool:
    """Whether it is all the random search there is: the baseline is made of it."""
    return {m for _, m in cells if is_random_search(m)} == {method}


def _few(names: Sequence[str], noun: str) -> str:
    more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
    return f"{len(names)} {noun}{'s' if len(names) > 1 else ''} ({', '.join(names[:NAMED])}{more})"


# ---- the arrays -----------------------------------------------------------------------------------------------------

_OVER_BATCH: dict[str, Callable[..., Any]] = {"max": np.max, "sum": np.sum}


def cubes(studies: Sequence[FileStudy]) -> tuple[dict[str, dict[str, Any]], list[list[Any]]]:
    """The datasets `eval` and `time`, and one of points a problem; and the places that no study has, which are NaN.

    Every method must have every problem, with as many iterations: see `share`.
    """
    problems, methods = sorted({s.problem for s in studies}), sorted({s.method for s in studies})
    by_cell = _by_cell(studies)
    trials = max(map(len, by_cell.values()))
    missing: list[list[Any]] = [[p, m, n] for (p, m), found in by_cell.items() for n in range(len(found), trials)]
    rows, columns = studies[0].shape
    coords: dict[str, list[Any]] = {
        "iter": list(range(rows)),
        "suggestion": list(range(columns)),
        "function": problems,
        "optimizer": methods,
        "study_id": list(range(trials)),
    }

    def put_together(of: str, name: str, chosen: Sequence[str]) -> tuple[tuple[str, ...], Any]:
        kind = object if of == "points" else float

        def cell(problem: str, method: str) -> list[Any]:
            found = [np.asarray(getattr(study, of)[name], dtype=kind) for study in by_cell[problem, method]]
            return found + [np.full(found[0].shape, np.nan, dtype=kind)] * (trials - len(found))

        stacked = np.array([[cell(p, m) for m in methods] for p in chosen], dtype=kind)
        own = stacked.ndim - 3  # the study's own axes come first there
        order = (*range(3, 3 + own), 0, 1, 2)
        return CUBE[:own] + CUBE[2:], stacked.transpose(order)

    out = {"eval": dataset(coords, {n: put_together("values", n, problems) for n in _shared(studies, "values")})}
    if all(study.times for study in studies):
        suggest, observe, spent = (put_together("times", name, problems) for name in ("suggest", "observe", "eval"))
        sums = {f"eval_{name}": (suggest[0], reduce(spent[1], axis=1)) for name, reduce in _OVER_BATCH.items()}
        out["time"] = dataset(coords, {"suggest": suggest, "observe": observe, **sums})
    for problem in problems:
        mine = [study for study in studies if study.problem == problem]
        names = _shared(mine, "points")
        if names:
            variables = {name: put_together("points", name, [problem]) for name in names}
            out[problem] = dataset({**coords, "function": [problem]}, variables)
    return out, missing


def _shared(studies: Sequence[FileStudy], of: str) -> list[str]:
    return [name for name in getattr(studies[0], of) if all(name in getattr(study, of) for study in studies)]
