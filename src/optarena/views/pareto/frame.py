"""What fronts are measured against on each problem: reference set, ideal, nadir, reference point, and how they came.

A frame is computed from the store, or read from a file that `--save-frame` wrote.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from optarena.errors import OptarenaError, one_of
from optarena.errors import nearest as nearest_name
from optarena.sense import signs
from optarena.traces import Floats
from optarena.views import frame as frames
from optarena.views.frame import saved
from optarena.views.pareto.domination import non_dominated
from optarena.views.pareto.indicators import front
from optarena.views.pareto.nearness import nearest
from optarena.views.pareto.reference_set import MODES, Selected, dominated_in, selected
from optarena.views.pareto.studies import Objectives, Studies

TRUE = "true"
UNION = "union"
"""All fronts together, where they have no more points than the reference set may have."""
REFERENCES = (TRUE, *MODES)
REFERENCE_POINT = 1.1
REFUTES = 1e-3
"""Where the ideal is 0 and the nadir 1: a point that is better by so much shows that a known front is none. Computed
fronts are not exact."""


@dataclass
class Reference:
    """A problem's part of the frame; values in the objectives' own senses."""

    objectives: list[str]
    senses: list[str]
    ideal: list[float]
    nadir: list[float]
    reference_point: list[float]
    reference_set: list[list[float]]
    """As it was chosen, including the dominated points that `bdom-count` and `cdom` can keep."""
    source: str
    bounds: str
    """Where ideal and nadir come from."""
    dominated: int
    """How many points of the reference set are dominated; indicators are computed without them."""

    @property
    def signs(self) -> Floats:
        return signs(self.senses)

    def normalised(self, points: Floats) -> Floats:
        """Minimised points with the ideal at 0 and the nadir at 1 (docs/scores.md 3.3)."""
        low, high = np.array(self.ideal) * self.signs, np.array(self.nadir) * self.signs
        return (points - low) / (high - low)

    @property
    def corner(self) -> Floats:
        """The reference point of hypervolumes, normalised."""
        return self.normalised(np.array(self.reference_point) * self.signs)

    @property
    def points(self) -> Floats:
        """The reference set that indicators use: minimised, normalised, non-dominated, without duplicates."""
        return self.normalised(front(np.array(self.reference_set) * self.signs))


@dataclass
class Frame(frames.Frame):
    """Every problem's reference, by its name."""

    problems: dict[str, Reference]
    optimizers: list[str]

    def to_data(self) -> dict[str, Any]:
        return {
            "view": "pareto",
            "optimizers": self.optimizers,
            "problems": {name: msgspec.to_builtins(one) for name, one in self.problems.items()},
        }


def make_frame(
    studies: Studies,
    reference: str | None = None,
    size: int | None = None,
    epsilon: float | Mapping[str, float] | None = None,
    reference_point: float = REFERENCE_POINT,
) -> Frame:
    """The frame of a store. Problems that cannot have one are named in `studies.excluded`."""
    if reference is not None:
        one_of("reference", reference, REFERENCES)
    if not reference_point > 0:
        raise OptarenaError(f"the reference point lies beyond the ideal, at 0; got {reference_point}")
    if isinstance(epsilon, Mapping):
        _known_names(studies, epsilon)
    out = {}
    idle = _Idle(size is not None, epsilon is not None)
    for p, name in enumerate(studies.problems):
        one = studies.objectives[p]
        if reference == TRUE and one.known.front is None:
            _leave_out(studies, name, "its true front is not known: choose another reference")
            continue
        true = one.minimised(one.known.front) if reference in (None, TRUE) else None
        fronts = studies.fronts(p)
        if true is None and not fronts:
            _leave_out(studies, name, "no study found a feasible point, and its true front is not known")
            continue
        mode = reference or "crowding"
        if true is None:
            found = _union(studies, fronts, size, mode, epsilon)
            chosen, how = found.points, UNION if found.is_union else mode
            source = f"{how}, {len(chosen)} of all fronts"
            idle.union(name, found)
        else:
            chosen, source = np.unique(true, axis=0), TRUE
            idle.true(name)
        with np.errstate(over="ignore", invalid="ignore"):
            made = _reference(studies, p, chosen, source, reference_point)
            spans = bool(np.isfinite([*made.reference_point, *made.corner]).all())
        if not spans:
            _leave_out(studies, name, "its objectives differ by more than a number can hold")
            continue
        out[name] = made
        _refuted(studies, p, out[name], [points for _, points in fronts])
    if not out:
        reasons = "; ".join(dict.fromkeys(item["reason"] for item in studies.excluded))
        raise OptarenaError(f"no problem of store {studies.results.path} can be scored: {reasons}")
    studies.notes += idle.notes()
    return Frame(out, sorted(studies.optimizers))


def _refuted(studies: Studies, problem: int, one: Reference, fronts: list[Floats]) -> None:
    """Note where points that were found show that what is said to be known of a problem cannot be true."""
    name, known = studies.problems[problem], studies.objectives[problem].known
    noisy = any(studies.results.cards[i].noisy for i in studies.kept[studies.problem == problem].tolist())
    if noisy or not fronts:
        return
    found = one.normalised(np.concatenate(fronts))
    if one.source == TRUE:
        (least,) = nearest(("epsilon",), found, one.points)
        beaten = int((least < -REFUTES).sum())
        if beaten:
            many = f"{beaten} of the {len(least)} points"
            studies.notes.append(
                f"{name}: points were found that dominate {many} of its known front: it is not the true one"
            )
    if known.ideal is not None and (found < -REFUTES).any():
        studies.notes.append(f"{name}: points were found that are better than its known ideal in an objective")


class _Idle:
    """Where size and epsilon, which were given, change nothing, and why."""

    def __init__(self, size: bool, epsilon: bool) -> None:
        self._asked = {"size": size, "epsilon": epsilon}
        self._found: dict[tuple[str, str], list[str]] = {}

    def true(self, problem: str) -> None:
        for option in self._asked:
            self._add(option, "the true front is known", problem)

    def union(self, problem: str, found: Selected) -> None:
        if found.is_union:
            self._add("size", f"all fronts together have {found.union} points", problem)
        if not found.near:
            self._add("epsilon", "no two points are that near", problem)

    def _add(self, option: str, why: str, problem: str) -> None:
        if self._asked[option]:
            self._found.setdefault((option, why), []).append(problem)

    def notes(self) -> list[str]:
        out = []
        for (option, why), problems in self._found.items():
            more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
            out.append(f"{option} has no effect on {problems[0]}{more}: {why}")
        return out


def _union(
    studies: Studies,
    fronts: list[tuple[int, Floats]],
    size: int | None,
    mode: str,
    epsilon: float | Mapping[str, float] | None,
) -> Selected:
    points = [points for _, points in fronts]
    if epsilon is None:
        return selected(points, size, mode)
    decisions = [studies.results.parameters(studies.final[i]) for i, _ in fronts]
    if not all(row for rows in decisions for row in rows):
        where = studies.problems[studies.problem[fronts[0][0]]]
        if isinstance(epsilon, Mapping):
            raise OptarenaError(f"epsilon names parameters, but some points of {where} are not recorded")
        studies.notes.append(f"{where}: some points are not recorded, so epsilon is applied to the objectives")
        return selected(points, size, mode, epsilon)
    names = list(studies.results.cards[studies.kept[fronts[0][0]]].space)
    rows = [np.array(part, dtype=object).reshape(len(part), len(names)) for part in decisions]
    if not isinstance(epsilon, Mapping):
        return selected(points, size, mode, epsilon, rows)
    every = np.concatenate(rows)
    numeric = [j for j in range(len(names)) if all(type(cell) in (int, float) for cell in every[:, j])]
    return selected(points, size, mode, [float(epsilon.get(names[j], 0.0)) for j in numeric], rows)


def _known_names(studies: Studies, epsilon: Mapping[str, float]) -> None:
    known = {name for i in studies.kept.tolist() for name in studies.results.cards[i].space}
    for name in epsilon:
        if name not in known:
            raise OptarenaError(f"epsilon: no parameter {name!r}.{nearest_name(name, sorted(known))}")


def _reference(studies: Studies, problem: int, chosen: Floats, source: str, reference_point: float) -> Reference:
    one = studies.objectives[problem]
    best = chosen[non_dominated(chosen, keep_duplicates=True)]
    ideal, nadir = one.minimised(one.known.ideal), one.minimised(one.known.nadir)
    bounds = ["known" if ideal is not None else "of the reference set"]
    bounds.append("known" if nadir is not None else "of the reference set")
    low = best.min(axis=0) if ideal is None else ideal
    high = best.max(axis=0) if nadir is None else nadir
    flat = ~(high > low)
    if flat.any():  # a single point, or the same value everywhere: what was seen is the unit
        seen = np.concatenate([studies.points(i) for i in np.flatnonzero(studies.problem == problem).tolist()])
        width = np.ptp(seen, axis=0) if len(seen) else np.zeros(len(low))
        high = np.where(flat, low + np.where(width > 0, width, 1.0), high)
        bounds[1] += ", where that is the ideal by the range of what was seen"
    corner = low + reference_point * (high - low)
    return Reference(
        objectives=one.names,
        senses=["max" if sign < 0 else "min" for sign in one.signs],
        ideal=_list(low * one.signs),
        nadir=_list(high * one.signs),
        reference_point=_list(corner * one.signs),
        reference_set=(chosen * one.signs + 0.0).tolist(),
        source=source,
        bounds=f"ideal {bounds[0]}, nadir {bounds[1]}",
        dominated=dominated_in(chosen),
    )


def _list(values: Floats) -> list[float]:
    return [float(value) for value in values + 0.0]  # no -0


def fitting(frame: Frame, studies: Studies) -> Frame:
    """A given frame for the problems of a store; what it lacks, or knows with other objectives, is named."""
    for p, name in enumerate(studies.problems):
        one = frame.problems.get(name)
        if one is None:
            _leave_out(studies, name, "it is not in the frame")
        elif not _same(one, studies.objectives[p]):
            raise OptarenaError(f"the objectives of {name} or their senses differ between the frame and the store")
    if not set(frame.problems) & set(studies.problems):
        raise OptarenaError("the frame has none of the problems of the store")
    return frame


def _same(one: Reference, objectives: Objectives) -> bool:
    return len(one.senses) == len(objectives.signs) and bool((one.signs == objectives.signs).all())


def _leave_out(studies: Studies, problem: str, reason: str) -> None:
    studies.excluded.append({"optimizer": None, "problem": problem, "trial": None, "reason": reason})


def read_frame(path: str | Path) -> Frame:
    """A frame that `--save-frame` wrote."""
    return saved(path, "pareto", _from_data)


def _from_data(data: dict[str, Any]) -> Frame:
    problems = {name: msgspec.convert(one, Reference) for name, one in data["problems"].items()}
    for one in problems.values():
        m = len(one.senses)
        shapes = {len(one.ideal), len(one.nadir), len(one.reference_point), *map(len, one.reference_set)}
        if shapes != {m} or not (one.normalised(np.array(one.nadir) * one.signs) == 1).all():
            raise ValueError("shape")
    return Frame(problems, [str(name) for name in data["optimizers"]])
