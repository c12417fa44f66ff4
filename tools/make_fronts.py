"""Makes the fronts that are shipped: `python tools/make_fronts.py [NAME…]` writes `fronts.csv.gz` beside the problems.

All of them take some minutes; with names only those are made anew.

Each front is made of decisions, so that every point of it is attained and feasible: a dense set of candidates, of
which the non-dominated ones stay; where candidates are not exact, a search near them for what dominates them; and the
most evenly spaced of those. What the candidates are stands at each function. The tests check the table against runs of
two optimizers.
"""

from __future__ import annotations

import gzip
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import optarena.problems
from optarena.problems import dtlz, models, wfg, zdt
from optarena.problems._fronts import as_front, shipped
from optarena.space import Array

OUT = Path(optarena.problems.__file__).parent / "data" / "fronts.csv.gz"
POINTS = 400
GOLDEN = (np.sqrt(5.0) - 1.0) / 2.0
Formula = Callable[[Array], Array]
Indices = npt.NDArray[np.intp]
Bools = npt.NDArray[np.bool_]


def main(names: list[str]) -> None:
    fronts: dict[str, Callable[[], Array]] = {
        "zdt/zdt3": zdt3,
        **{f"dtlz/dtlz7/m{m}": partial(dtlz7, m) for m in (2, 3, 5)},
        **{f"wfg/{name}/m{m}": partial(wfg_pieces, name, m) for name in ("wfg1", "wfg2") for m in (2, 3, 5)},
        "wfg/wfg3/m3": wfg3,
        "models/kursawe": kursawe,
        "models/osyczka2": osyczka2,
        "models/tanaka": tanaka,
        "models/viennet2": partial(viennet, "viennet2"),
        "models/viennet3": viennet3,
        "models/viennet4": partial(viennet, "viennet4"),
        "models/golinski": golinski,
    }
    lines = ["# fronts of problems, a point a line: problem, objectives. Made by optarena.problems._make_fronts"]
    for name, make in fronts.items():
        points = make() if name in names or not names else shipped(name)
        assert points is not None
        rows = as_front(points[spaced(points, POINTS)])
        print(f"{name}: {len(rows)} points of {len(points):,}", flush=True)
        lines.extend(f"{name},{','.join(map(repr, row))}" for row in rows)
    OUT.write_bytes(gzip.compress(("\n".join(lines) + "\n").encode(), mtime=0))
    print(f"{OUT}: {OUT.stat().st_size:,} bytes")


# ---- tools --------------------------------------------------------------------------------------------------------


def non_dominated(F: Array) -> Indices:
    """The numbers of the rows that no other row dominates, a row once."""
    import moocore

    if F.shape[1] == 2:  # sorted by the first objective, those below all before them
        order = np.lexsort((F[:, 1], F[:, 0]))
        second = F[order, 1]
        return order[second < np.concatenate(([np.inf], np.minimum.accumulate(second)[:-1]))]
    return np.flatnonzero(moocore.is_nondominated(F, keep_weakly=False))


def spaced(F: Array, n: int) -> Indices:
    """Which rows: the best of each objective, and then always the one farthest from those chosen, in a unit box."""
    low, high = F.min(axis=0), F.max(axis=0)
    unit = (F - low) / np.where(high > low, high - low, 1.0)
    first = [int(np.lexsort((*np.delete(unit, j, axis=1).T, unit[:, j]))[0]) for j in range(F.shape[1])]
    chosen = list(dict.fromkeys(first))
    away = np.full(len(F), np.inf)
    for at in chosen:
        away = np.minimum(away, ((unit - unit[at]) ** 2).sum(axis=1))
    while len(chosen) < min(n, len(F)):
        at = int(away.argmax())
        chosen.append(at)
        away = np.minimum(away, ((unit - unit[at]) ** 2).sum(axis=1))
    return np.array(chosen, dtype=np.intp)


def improved(X: Array, formula: Formula, low: Array, high: Array, violations: Formula | None = None) -> Array:
    """Objectives after a search near X: first whatever nothing dominates comes in, then each point moves by itself."""
    rng = np.random.default_rng(1)

    def children(X: Array, step: float) -> tuple[Array, Array, Bools]:
        """A neighbour of each, its objectives, and whether it is feasible."""
        moved = rng.random(X.shape) < rng.choice([0.3, 1.0], (len(X), 1))
        sizes = step * 10.0 ** rng.uniform(-1.5, 0.5, (len(X), 1))
        Y = np.clip(X + moved * sizes * (high - low) * rng.standard_normal(X.shape), low, high)
        feasible: Bools = np.full(len(Y), True)
        if violations is not None:
            feasible = np.all(violations(Y) <= 0.0, axis=1)
        return Y, formula(Y), feasible

    F = formula(X)
    for step in np.logspace(-1, -4, 200):
        Y, G, feasible = children(X, step)
        X, F = np.vstack((X, Y[feasible])), np.vstack((F, G[feasible]))
        kept = non_dominated(F)
        if len(kept) > 1500:
            kept = kept[spaced(F[kept], 1000)]
        X, F = X[kept], F[kept]
    for step in 10.0 ** rng.uniform(-8, -1, 20_000):
        Y, G, feasible = children(X, step)
        better = feasible & (G <= F).all(axis=1) & (G < F).any(axis=1)
        X[better], F[better] = Y[better], G[better]
    return F[non_dominated(F)]


def _records(values: Array) -> Bools:
    """Which values are greater than all before them."""
    return values > np.concatenate(([-np.inf], np.maximum.accumulate(values)[:-1]))


# ---- the fronts -----------------------------------------------------------------------------------------------------


def zdt3() -> Array:
    """g = 1, and a million values of x1."""
    X = np.zeros((1_000_001, 2))
    X[:, 0] = np.linspace(0.0, 1.0, len(X))
    F = zdt.zdt3(X)
    return F[non_dominated(F)]


def dtlz7(m: int) -> Array:
    """g = 1; f_m = 2m - Σ φ(x_i), so each x_i must be one whose φ no smaller x_i has; end points are among them."""
    t = np.linspace(0.0, dtlz.DTLZ7_PEAK[0], 200_001)
    t = t[_records(t * (1.0 + np.sin(3.0 * np.pi * t)))]
    return dtlz.dtlz7(np.hstack((_product(t, m - 1), np.zeros((len(_product(t, m - 1)), 1)))), m)


def wfg_pieces(name: str, m: int) -> Array:
    """Distance 0. wfg1: all positions. wfg2: those whose first has a greater x cos²(5πx) than any smaller one."""
    x1 = np.linspace(0.0, 1.0, 200_001)
    if name == "wfg2":
        x1 = x1[_records(x1 * np.cos(5.0 * np.pi * x1) ** 2)]
    rest = np.linspace(0.0, 1.0, 200_001)
    positions = _product(x1, m - 1, rest)
    return wfg.objectives(name, np.hstack((positions, np.zeros((len(positions), 1)))))


def _product(first: Array, k: int, rest: Array | None = None) -> Array:
    """Combinations of k values, the first of `first`, the others of `rest`: ends of intervals, and many in between."""
    rest = first if rest is None else rest
    if k == 1:
        return first[:, None]
    rng = np.random.default_rng(2)
    n = 300_000
    out = np.column_stack([rng.choice(first if i == 0 else rest, n) for i in range(k)])
    for i in range(k):  # a third of them with a coordinate at an end of its pieces
        ends = _ends(first if i == 0 else rest)
        some = rng.random(n) < 1.0 / 3.0
        out[some, i] = rng.choice(ends, int(some.sum()))
    corners = np.stack(np.meshgrid(_ends(first), *[_ends(rest)] * (k - 1)), axis=-1).reshape(-1, k)
    return np.vstack((corners, out))


def _ends(values: Array) -> Array:
    gaps = np.diff(values)
    at = np.flatnonzero(gaps > 10.0 * np.median(gaps))
    return np.concatenate((values[[0, -1]], values[at], values[at + 1]))


def wfg3() -> Array:
    """Three objectives: the line z -> (z, 2z, 6 - 6z) at distance 0, and a surface further off.

    With x the first position, d the distance and w = d (2 t2 - 1), t2 the second position, the objectives are
    d + x (1 + w), d + 2x (1 - w), d + 6 (1 - x). All grow with d where w is kept, so that w = d, t2 = 1. Of those the
    line dominates what has 2d/3 >= x w, so that x > 2/3.
    """
    line = np.column_stack((np.linspace(0.0, 1.0, 2001), np.full(2001, 0.5), np.zeros(2001)))
    x, d = np.meshgrid(np.linspace(2.0 / 3.0, 1.0, 501), np.linspace(0.0, 1.0, 501)[1:])
    T = np.vstack((line, np.column_stack((x.ravel(), np.ones(x.size), d.ravel()))))
    F = wfg.objectives("wfg3", T)
    return F[non_dominated(F)]


def _model(name: str, X: Array) -> Array:
    """The feasible of many decisions, improved."""
    model = models.MODELS[name]
    if model.violations is not None:
        X = X[(model.violations(X) <= 0.0).all(axis=1)]
    low, high = np.array(model.ranges).T
    chosen = non_dominated(model.formula(X))
    chosen = chosen[:: max(1, len(chosen) // 3000)]
    return improved(X[chosen], model.formula, low, high, model.violations)


def kursawe() -> Array:
    """A grid of 201³, zeros included."""
    axis = np.linspace(-5.0, 5.0, 201)
    X = np.stack(np.meshgrid(axis[axis <= 0.5], axis[axis <= 0.5], axis[axis <= 0.5]), axis=-1).reshape(-1, 3)
    anywhere = np.random.default_rng(3).uniform(-5.0, 5.0, (2_000_000, 3))
    return _model("kursawe", np.vstack((X, anywhere)))


def osyczka2() -> Array:
    """x4 = x6 = 0, and the five segments of Deb 2001, table 8.4."""
    s = np.linspace(0.0, 1.0, 20_000)
    zero, one = np.zeros_like(s), np.ones_like(s)
    x3, x1 = 1.0 + 4.0 * s, 4.0 + s
    lower = 1.0 + (np.sqrt(3.0) + 1.0) * s
    parts = [
        (5.0 * one, one, x3, 5.0 * one),
        (5.0 * one, one, x3, one),
        (x1, (x1 - 2.0) / 3.0, one, one),
        (zero, 2.0 * one, lower, one),
        (s, 2.0 - s, one, one),
    ]
    X = np.vstack([np.column_stack((a, b, c, zero, d, zero)) for a, b, c, d in parts])
    X = X[np.all(models.osyczka2_violations(X) <= 0.0, axis=1)]
    F = models.osyczka2(X)
    return F[non_dominated(F)]


def tanaka() -> Array:
    """The boundary r² = 1 + 0.1 cos(16 φ), by angle."""
    angle = np.linspace(0.0, np.pi / 2.0, 400_001)
    r = np.sqrt(1.0 + 0.1 * np.cos(16.0 * angle)) * (1.0 + 1e-12)
    X = np.clip(np.column_stack((r * np.sin(angle), r * np.cos(angle))), 0.0, np.pi)
    X = X[(models.tanaka_violations(X) <= 0.0).all(axis=1)]
    return X[non_dominated(X)]


def viennet(name: str) -> Array:
    """A grid of 801²."""
    low, high = models.MODELS[name].ranges[0]
    axis = np.linspace(low, high, 801)
    return _model(name, np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2))


def viennet3() -> Array:
    """A curve: f1 and f3 depend on r = x² + y² alone, so that of a circle only the point of least f2 can stay.

    200,001 circles, and those where f1 or f2 is least among its neighbours. On each, in each quadrant's arc within the
    box, the best of 60 angles, and a golden section between its two neighbours (f2 is a wave with four turns at most).
    """
    (_, side), _ = models.MODELS["viennet3"].ranges
    r = np.concatenate((np.linspace(0.0, 2.0 * side**2, 200_001), [4.0 * np.pi / 3.0, 10.0 * np.pi / 3.0, 5.0]))
    radius = np.sqrt(r)

    def decisions(angle: Array) -> Array:
        return np.clip(np.column_stack((radius * np.cos(angle), radius * np.sin(angle))), -side, side)

    def f2(angle: Array) -> Array:
        return models.viennet3(decisions(angle))[:, 1]

    corner = np.arccos(np.minimum(1.0, side / np.maximum(radius, side)))
    found = []
    for quadrant in np.arange(4) * np.pi / 2.0:
        start, width = quadrant + corner, np.maximum(0.0, np.pi / 2.0 - 2.0 * corner)
        parts = np.linspace(0.0, 1.0, 60)
        best = np.argmin([f2(start + part * width) for part in parts], axis=0)
        low, high = (start + parts[np.clip(best + step, 0, 59)] * width for step in (-1, 1))
        for _ in range(50):
            c, d = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            left = f2(c) < f2(d)
            low, high = np.where(left, low, c), np.where(left, d, high)
        found += [low, high]
    angles = np.array(found)
    F = models.viennet3(decisions(angles[np.argmin([f2(angle) for angle in angles], axis=0), np.arange(len(r))]))
    return F[non_dominated(F)]


def golinski() -> Array:
    """For each number of teeth the least weight under limits of the stress, by SLSQP from the design before.

    More teeth than the least weigh so much more that they only pay where fewer cannot lower the stress further.
    """
    from scipy.optimize import minimize

    model = models.MODELS["golinski"]
    violations = model.violations
    assert violations is not None
    found, reach = [], 1300.0
    for teeth in range(17, 29):
        limits = [(teeth, teeth) if i == 2 else pair for i, pair in enumerate(model.ranges)]

        def solved(at: Array, objective: int, stress: float, limits: Any = limits) -> Array:
            result = minimize(
                lambda x: model.formula(x[None])[0, objective] / 1000.0,
                at,
                bounds=limits,
                method="SLSQP",
                options={"maxiter": 500, "ftol": 1e-15},
                constraints=[
                    {"type": "ineq", "fun": lambda x: -violations(x[None])[0] * _SCALE - 1e-9},
                    {"type": "ineq", "fun": lambda x: 1.0 - model.formula(x[None])[0, 1] / stress},
                ],
            )
            return np.clip(result.x, *np.array(limits, dtype=float).T)

        at = solved(np.array([3.55, 0.71, teeth, 7.8, 8.0, 3.85, 5.3]), 1, 1300.0)
        least = float(model.formula(at[None])[0, 1])
        found.append(at)
        for part in np.linspace(0.0, 1.0, 300 if teeth == 17 else 25)[1:]:
            at = solved(at, 0, least + part**2 * (reach - least))
            found.append(at)
        reach = least
    X = np.array(found)
    X = X[np.all(violations(X) <= 0.0, axis=1)]
    F = model.formula(X)
    return F[non_dominated(F)]


_SCALE = np.array([27.0, 397.5, 1.93, 1.93, 0.1, 0.1, 0.1, 0.5, 0.5, 1e-3, 1e-3])
"""Brings the constraints of golinski to one size."""


if __name__ == "__main__":
    main(sys.argv[1:])
