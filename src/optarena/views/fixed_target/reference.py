"""Reference algorithms: the best ERT that is known for each function of bbob and bbob-noisy, dimension and target.

best 2009: for every target the least ERT of the algorithms of the BBOB-2009 workshop, as bundled with cocopp 2.9.1
(its reference algorithm `best 2009`), for the targets 10**(i/5) from the easiest that it has to 1e-8, f1 to f24 of bbob
and f101 to f130 of bbob-noisy, D = 2, 3, 5, 10, 20, 40; `tools/make_best2009.py` reads it. Runtimes of single runs are
not in it.
"""

from __future__ import annotations

import gzip
from functools import cache
from importlib import resources

import numpy as np
import polars as pl

from optarena.traces import Bools, Floats, Ints
from optarena.views.fixed_target.runtimes import reachable

BEST_2009, OF_STORE = "best 2009", "best of store"
"""The names of the two references."""
SUITES = ("bbob", "bbob-noisy")
"""The suites of best 2009: no function of one has the number of a function of the other."""


def where_known(best_2009: pl.Expr, best_of_store: pl.Expr) -> dict[str, pl.Expr]:
    """`reference` and `reference_ert`: best 2009 where it is known, else the best of the store (docs/scores.md 2.8)."""
    known = pl.when(best_2009.is_not_null())
    return {
        "reference": known.then(pl.lit(BEST_2009)).otherwise(pl.lit(OF_STORE)),
        "reference_ert": known.then(best_2009).otherwise(best_of_store),
    }


@cache
def best_2009() -> tuple[dict[tuple[str, int], Floats], Floats]:
    """(function, dimension) -> ERTs, and their targets; NaN where a target is easier than its first level.

    inf where it never reached the target.
    """
    table = _table("best2009.csv.gz")
    targets = np.array([float(name) for name in table.columns[2:]])
    erts = table.select(pl.all().exclude("function", "dimension").cast(pl.Float64)).to_numpy()
    keys = zip(table["function"].to_list(), table["dimension"].to_list(), strict=True)
    return {(f"f{f}", int(d)): erts[i] for i, (f, d) in enumerate(keys)}, targets


def reference_ert(suite: str, function: str, dimension: int, targets: Floats) -> Floats:
    """best 2009 for each target, NaN where it is not known: another suite, or a target that is not on its grid.

    inf where it never reached the target.
    """
    out = np.full(len(targets), np.nan)
    at, same = _places(suite, function, dimension, targets)
    if same.any():
        out[same] = best_2009()[0][function, dimension][at[same]]
    return out


def reference_runs(suite: str, function: str, dimension: int, target: float) -> tuple[int, int] | None:
    """How many runs of best 2009 reached a target, of how many; None where that is not known."""
    at, same = _places(suite, function, dimension, np.array([target]))
    return _best_2009_runs()[function, dimension][at[0]] if same[0] else None


def _places(suite: str, function: str, dimension: int, targets: Floats) -> tuple[Ints, Bools]:
    """The column of best 2009 for each target, and whether it has one."""
    erts, known = best_2009()
    if suite not in SUITES or (function, dimension) not in erts:
        return np.zeros(len(targets), dtype=np.int64), np.zeros(len(targets), dtype=bool)
    at = np.minimum(np.searchsorted(-known, -reachable(targets)), len(known) - 1)
    same = np.isclose(known[at], targets, rtol=1e-8)
    first = int(np.flatnonzero(~np.isnan(erts[function, dimension]))[0])  # what is easier is reached with it
    return np.maximum(at, first), same


@cache
def _best_2009_runs() -> dict[tuple[str, int], list[tuple[int, int]]]:
    """(function, dimension) -> successes and runs for each target of `best_2009`; nobody where that has no level."""
    rows = _table("best2009_runs.csv.gz").with_columns(pl.all().exclude("function", "dimension").fill_null("0/0"))
    return {(f"f{f}", int(d)): [_fraction(text) for text in texts] for f, d, *texts in rows.iter_rows()}


def _fraction(text: str) -> tuple[int, int]:
    successes, _, runs = text.partition("/")
    return int(successes), int(runs)


def runlength_targets(
    suite: str, function: str, dimension: int, multiples: Floats, mode: str = "exact"
) -> Floats | None:
    """For each k the last target that best 2009 reaches with ERT <= max(1, k D); None where it has no data.

    Where k is too small for any, its easiest level, which may be far above 1e2. Two k may give one target. In mode
    coco, for k = 0.5, 1.2, 3, 10, 50: the targets that cocopp itself takes, a step harder. See docs/scores.md 2.8.
    """
    erts, known = best_2009()
    if suite != "bbob" or (function, dimension) not in erts:
        return None
    if mode == "coco":
        theirs, ks = _coco_runlength()
        if set(multiples.tolist()) <= set(ks):
            return np.array([theirs[function, dimension][ks.index(k)] for k in multiples.tolist()])
    mine = erts[function, dimension]
    out = np.full(len(multiples), np.nan)
    for i, k in enumerate(multiples.tolist()):
        within = np.flatnonzero(mine <= max(1.0, k * dimension))
        out[i] = known[within[-1] if len(within) else np.flatnonzero(~np.isnan(mine))[0]]
    return out


@cache
def _coco_runlength() -> tuple[dict[tuple[str, int], list[float]], list[float]]:
    table = _table("runlength2009.csv.gz")
    names = table.columns[2:]
    rows = {(f"f{row[0]}", int(row[1])): [float(value) for value in row[2:]] for row in table.iter_rows()}
    return rows, [float(name.removeprefix("rl")) for name in names]


def _table(name: str) -> pl.DataFrame:
    data = resources.files("optarena.views.fixed_target").joinpath(f"data/{name}").read_bytes()
    return pl.read_csv(gzip.decompress(data), infer_schema_length=None)
