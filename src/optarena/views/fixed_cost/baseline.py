"""What fixed-cost scores are measured against: how well random search does on each problem, and the best value seen.

A baseline is computed from the store, or read from a file: one that was saved here, or one of Bayesmark's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

from optarena._damage import damage_in_words, is_damage
from optarena._json import numbers
from optarena.dataset import Pool
from optarena.errors import OptarenaError
from optarena.stats.estimates import order_statistics, quantile_index
from optarena.traces import Bools, Floats, Ints
from optarena.views import frame as frames
from optarena.views.fixed_cost.order_statistics import expected_minimum, minimum_level, minimum_weights

BAYESMARK = "Bayesmark"
NUDGE = 1e4  # spacings by which `best` is lowered, so that nobody reaches it (docs/scores.md 1.4)


@dataclass
class Baseline:
    """A metric's baseline: minimised values, one row per problem, one column per iteration. NaN: undefined.

    See docs/scores.md 1.4.
    """

    problems: list[str]
    median: Floats
    mean: Floats
    clip: Floats
    best: Floats
    """(problems,): the least value seen, lowered a little."""
    seen: Floats
    """(problems,): the least value seen; equal to `best` where the baseline was given."""
    draws: Ints
    """(problems,): how many evaluations of random search it was made of; 0 where it was given."""

    @property
    def width(self) -> Floats:
        """(problems,): from the best to random search's median, the unit of normalised means; inf where that is."""
        with np.errstate(over="ignore", invalid="ignore"):
            return self.clip - self.best

    def constant(self) -> Bools:
        """(problems,): where random search's median is the best that anyone saw: nothing can be told apart.

        See docs/scores.md 1.8.
        """
        hair = 1.01 * NUDGE * np.spacing(np.maximum(np.abs(self.best), 5e-324))
        return (self.seen >= self.clip) | (self.width <= hair)

    def select(self, problems: list[str], iterations: int, *, short: bool) -> Baseline:
        """The rows of these problems, NaN for those it lacks, and so many columns.

        short: names without a path, as Bayesmark's, stand for the one problem that ends with them.
        """
        at = {name: i for i, name in enumerate(self.problems)}
        ends = [problem.rpartition("/")[2] for problem in problems]

        def row(problem: str, end: str) -> int:
            if problem in at or not short or ends.count(end) > 1:
                return at.get(problem, -1)
            return at.get(end, -1)

        rows = np.array([row(problem, end) for problem, end in zip(problems, ends, strict=True)], dtype=np.int64)

        def pick(values: Floats) -> Floats:
            padded = np.concatenate((values, np.full((1, *values.shape[1:]), np.nan)))[rows]
            if padded.ndim == 2:
                more = np.full((len(rows), max(0, iterations - padded.shape[1])), np.nan)
                padded = np.concatenate((padded[:, :iterations], more), axis=1)
            return padded

        draws = np.append(self.draws, 0)[rows]
        return Baseline(
            problems, pick(self.median), pick(self.mean), pick(self.clip), pick(self.best), pick(self.seen), draws
        )


def compute(
    problems: list[str],
    pools: list[Pool],
    least: Floats,
    draws: Ints,
    *,
    mode: str,
    hidden: bool,
) -> Baseline:
    """The baseline of one metric from all that random search saw on each problem (docs/scores.md 1.4).

    `draws[p, t]`: how many evaluations random search has made on problem p at iteration t.
    """
    shape = draws.shape
    median, mean = np.full(shape, np.nan), np.full(shape, np.nan)
    clip = np.full(shape[0], np.nan)
    for p, (visible, values, _) in enumerate(pools):
        if not len(values):
            continue
        ordered = order_statistics(values)
        n = len(values)
        clip[p] = ordered[quantile_index(n, 0.5)]
        if not np.isfinite(clip[p]):
            continue
        sizes, back = np.unique(draws[p], return_inverse=True)
        some = (sizes >= 1) & (sizes <= n)
        m = sizes[some]
        middle, average = np.full(len(sizes), np.nan), np.full(len(sizes), np.nan)
        if mode == "exact" and hidden:
            middle[some], average[some] = _selected(visible, values, clip[p], m)
        else:
            middle[some] = ordered[quantile_index(n, minimum_level(0.5, m))]
            if mode == "exact":
                average[some] = np.minimum.accumulate(expected_minimum(np.minimum(values, clip[p]), m))
            else:
                average[some] = _as_bayesmark(np.minimum(ordered[1:-1], clip[p]), clip[p], m)
        middle[sizes == 0], average[sizes == 0] = np.inf, clip[p]  # nothing was found yet
        median[p], mean[p] = middle[back], average[back]
    with np.errstate(over="ignore", invalid="ignore"):
        best = least - NUDGE * np.spacing(np.maximum(np.abs(least), 5e-324))
    return Baseline(problems, median, mean, clip, best, least, np.array([len(v) for v, _, _ in pools], dtype=np.int64))


def _selected(visible: Floats, values: Floats, clip: float, sizes: Ints) -> tuple[Floats, Floats]:
    """Median and mean of the metric at the point with the least visible of m draws, for each m (docs/scores.md 1.5).

    The k-th smallest visible value is chosen with the chance C(n-k, m-1)/C(n, m); ties share theirs.
    """
    n = len(visible)
    order = np.argsort(visible, kind="stable")
    v, h = visible[order], values[order]
    starts = np.flatnonzero(np.append(True, v[1:] != v[:-1]))
    counts = np.diff(np.append(starts, n))
    by_value = np.argsort(h, kind="stable")
    clipped = np.minimum(h, clip)
    middle, average = np.empty(len(sizes)), np.empty(len(sizes))
    for i, m in enumerate(sizes.tolist()):
        weights = minimum_weights(n, m)
        if len(starts) < n:
            weights = np.repeat(np.add.reduceat(weights, starts) / counts, counts)
        average[i] = weights @ clipped
        reached = np.cumsum(weights[by_value])
        at = min(int(np.searchsorted(reached, 0.5 - 1e-12)), n - 1)
        middle[i] = h[by_value[at]]
    return middle, average


def _as_bayesmark(ordered: Floats, clip: float, sizes: Ints) -> Floats:
    """The expected minimum with Bayesmark's own rounding, which shows on constant problems (docs/scores.md 1.10).

    The sum itself is rounded once, as by a processor with fused multiply-add; the weights are what is not exact.
    """
    y = -ordered[::-1].astype(np.longdouble)
    n = len(y)
    log_factorial = special.gammaln(np.arange(1.0, n + 1))  # gammaln(i) for i = 1..n
    out = np.empty(len(sizes))
    for i, m in enumerate(sizes.tolist()):
        lw = log_factorial[m - 1 :] - log_factorial[: n - m + 1]
        logsumexp = np.log(np.sum(np.exp(lw - lw[-1]))) + lw[-1]  # the last is the greatest
        weights = np.exp(lw - logsumexp).astype(np.longdouble)
        out[i] = min(-float(weights @ y[m - 1 :]), clip)
    return np.minimum.accumulate(out)


# ---- frames: a baseline as a file ------------------------------------------------------------------------------------


@dataclass
class Frame(frames.Frame):
    """The baselines of all metrics, on one axis, and how they came about; has a hash, can be saved and pinned."""

    axis: str
    batch: int | None
    grid: Floats
    metrics: dict[str, Baseline]
    facts: dict[str, Any]
    """What else belongs to it: mode, the optimizers that took part, its source."""

    def to_data(self) -> dict[str, Any]:
        """Plain data; values are minimised."""
        return {
            "view": "fixed-cost",
            "axis": self.axis,
            "batch": self.batch,
            "iterations": numbers(self.grid.tolist()),
            **self.facts,
            "metrics": {
                name: {
                    "problems": b.problems,
                    "draws": b.draws.tolist(),
                    "best": numbers(b.best.tolist()),
                    "seen": numbers(b.seen.tolist()),
                    "clip": numbers(b.clip.tolist()),
                    "median": [numbers(row) for row in b.median.tolist()],
                    "mean": [numbers(row) for row in b.mean.tolist()],
                }
                for name, b in self.metrics.items()
            },
        }


def read_frame(path: str | Path) -> Frame:
    """A frame that was saved here, or Bayesmark's baseline (`derived/baseline.json`, or its `coords` and `vars`)."""
    try:
        data = json.loads(Path(path).read_bytes())  # takes the Infinity and NaN that Bayesmark writes
    except OSError as error:
        raise OptarenaError(f"cannot read the frame {path}: {error.strerror or error}") from None
    except (ValueError, RecursionError) as error:
        raise OptarenaError(f"{path} is not JSON: {damage_in_words(error)}") from None
    try:
        if isinstance(data, dict) and data.get("view") == "fixed-cost":
            return _own(data)
        return _bayesmark(data)
    except Exception as error:
        if not is_damage(error):
            raise
        raise OptarenaError(
            f"{path} is not a frame of the fixed-cost view (optarena score --save-frame writes one) "
            f"nor a baseline of Bayesmark: {damage_in_words(error)}"
        ) from None


def _floats(values: Any) -> Floats:
    """Nested lists with "inf" and "nan" as texts."""
    return np.array(values, dtype=object).astype(float)


def _own(data: Mapping[str, Any]) -> Frame:
    metrics = {}
    grid = _floats(data["iterations"])
    for name, b in data["metrics"].items():
        shape = (len(b["problems"]), len(grid))
        metrics[name] = Baseline(
            [str(problem) for problem in b["problems"]],
            _floats(b["median"]).reshape(shape),
            _floats(b["mean"]).reshape(shape),
            _floats(b["clip"]),
            _floats(b["best"]),
            _floats(b["seen"]),
            np.array(b["draws"], dtype=np.int64),
        )
    kept = {key: data[key] for key in data if key not in ("view", "axis", "batch", "iterations", "metrics")}
    return _checked(Frame(str(data["axis"]), data["batch"], grid, metrics, kept))


def _checked(frame: Frame) -> Frame:
    """A frame whose parts fit together; ValueError otherwise."""
    if not len(frame.grid) or (np.diff(frame.grid) <= 0).any():
        raise ValueError("its iterations are not ascending")
    for name, base in frame.metrics.items():
        count = len(base.problems)
        if len(set(base.problems)) < count:
            raise ValueError(f"duplicate problem ({name})")
        if any(len(column) != count for column in (base.clip, base.best, base.seen, base.draws)):
            raise ValueError(f"it has {count} problems, but a different number of values ({name})")
        if base.median.shape != (count, len(frame.grid)) or base.mean.shape != base.median.shape:
            raise ValueError(f"a baseline has a different number of iterations ({name})")
        if (base.best > base.clip).any():
            raise ValueError(f"a best value is above random search's median ({name})")
    return frame


def _bayesmark(data: Mapping[str, Any]) -> Frame:
    """coords and vars, or an xarray Dataset's to_dict under "data"; with or without the dimension `objective`."""
    meta = data.get("meta") or {}
    data = data.get("data", data)
    coords = {name: list(c["data"] if isinstance(c, Mapping) else c) for name, c in data["coords"].items()}
    variables = data["vars"] if "vars" in data else data["data_vars"]

    def array(name: str, *dims: str) -> Floats:
        """The variable with these dimensions in this order, `objective` first."""
        values, has = _floats(variables[name]["data"]), list(variables[name]["dims"])
        if "objective" not in has:
            values, has = values[None], ["objective", *has]
        return values.transpose([has.index(dim) for dim in ("objective", *dims)])

    problems = [str(name) for name in coords["function"]]
    median, mean = array("median", "function", "iter"), array("mean", "function", "iter")
    clip, best = array("clip", "function"), array("best", "function")
    names = [str(name) for name in coords.get("objective", [""])]
    none = np.zeros(len(problems), dtype=np.int64)
    metrics = {
        name: Baseline(problems, median[i], mean[i], clip[i], best[i], best[i], none) for i, name in enumerate(names)
    }
    grid = np.arange(1.0, len(coords["iter"]) + 1)
    told = {str(name): [float(v) for v in values] for name, values in (meta.get("signature") or {}).items()}
    return _checked(Frame("batches", meta.get("suggestions"), grid, metrics, {"source": BAYESMARK, "signatures": told}))
