"""Writing COCO's data folders, in its newest format: `<suite>/<optimizer>/` each, for cocopp and iohinspector to read.

A `.dat` has every improvement (COCO itself: one a hundredth of a decade) with all digits, a `.tdat` what is due by the
evaluation triggers, and both end with the last evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import groupby
from pathlib import Path

import numpy as np

from optarena._files import write_atomically
from optarena._version import __version__
from optarena.dataset import Dataset
from optarena.formats.from_results import Log, by_folder, logs
from optarena.staircase import coco_indicator, entering
from optarena.traces import Floats, Ints

COMMENT = f"% written by optarena {__version__}"
HEAD = (
    "% f evaluations | g evaluations | best noise-free fitness - Fopt ({f_opt:.12e}) + sum g_i+ | measured fitness"
    " | best measured fitness or single-digit g-values | x1 | x2..."
)
MOST_X = 22  # COCO logs points below this dimension


def write(results: Dataset, path: Path) -> None:
    """A folder an optimizer and suite."""
    for name, optimizer, some in by_folder(logs(results, "coco")):
        two = [log for log in some if log.suite.startswith("bbob-biobj")]
        _write_two(path / name, _quoted(optimizer), two)
        _write_one(path / name, _quoted(optimizer), [log for log in some if log not in two])


def _quoted(name: str) -> str:
    return name.replace("'", "").replace("\n", " ")


def _write_one(folder: Path, optimizer: str, every: list[Log]) -> None:
    for function, some in groupby(every, key=lambda log: log.function):
        info: list[str] = []
        for dimension, group in groupby(some, key=lambda log: log.dimension):
            runs = list(group)
            name = f"data_f{function}/bbobexp_f{function}_DIM{dimension}"
            head = (  # iohinspector does not read what has `settings`
                f"suite = '{runs[0].suite}', funcId = {function}, DIM = {dimension}, Precision = 1.000e-08,"
                f" algId = '{optimizer}', coco_version = 'optarena {__version__}', logger = '{runs[0].suite}',"
                " data_format = 'bbob-new2'"
            )
            info += [
                head,
                COMMENT,
                ", ".join([f"{name}.dat", *(_entry(run, run.best) for run in runs)]),
            ]
            _save(folder / f"{name}.dat", [line for run in runs for line in _target_rows(run)])
            _save(folder / f"{name}.tdat", [line for run in runs for line in _timed_rows(run)])
        _save(folder / f"bbobexp_f{function}.info", info)


def _entry(run: Log, best: Floats) -> str:
    """INSTANCE:EVALUATIONS|VALUE; what did not end has only the instance."""
    if not run.finished:
        return f"{run.instance}"
    return f"{run.instance}:{run.evaluations}|{best[-1] if len(best) else math.inf:.1e}"


def _save(path: Path, lines: Iterable[str]) -> None:
    write_atomically(path, "".join(f"{line}\n" for line in lines).encode(), synced=False)


def _with_last(run: Log, best: Floats) -> tuple[Ints, Ints]:
    """The rows that improve, and once more the last at the evaluation with which the run ended."""
    at, rows = run.evaluation, np.arange(len(best))
    if len(at) and run.finished and run.evaluations > at[-1]:
        return np.append(at, run.evaluations), np.append(rows, len(best) - 1)
    return at, rows


def _lines(run: Log, at: Ints, rows: Ints) -> Iterable[str]:
    """In both files a row has the best point so far, or none has one: iohinspector puts the two together."""
    yield HEAD.format(f_opt=run.f_opt)
    # between two rows constraints are taken to be evaluated once an evaluation
    gs = run.constraint_evaluations[rows]
    gs = gs + np.where(gs > 0, at - run.evaluation[rows], 0)
    if run.constraint_evaluations_at_end is not None:
        gs = np.where(at == run.evaluations, run.constraint_evaluations_at_end, gs)
        gs = np.minimum(gs, run.constraint_evaluations_at_end)
    values = run.best[rows] + run.f_opt
    tail = [""] * len(at)
    if run.points is not None and run.dimension < MOST_X and not np.isnan(run.points).any():
        form = " %+.16e" * run.dimension
        tail = [form % tuple(point) for point in run.points[rows].tolist()]
    for k, g, best, value, x in zip(
        at.tolist(), gs.tolist(), run.best[rows].tolist(), values.tolist(), tail, strict=True
    ):
        yield f"{k} {g} {best:+.16e} {value:+.9e} {value:+.9e}{x}"


def _target_rows(run: Log) -> Iterable[str]:
    return _lines(run, *_with_last(run, run.best))


def _triggers(dimension: int, last: int) -> Ints:
    """COCO's evaluation triggers: 20 a decade, and 1, 2, 5 times the dimension times powers of ten; and the last."""
    decades = math.ceil(math.log10(max(last, 1))) + 1
    usual = np.floor(10 ** (np.arange(20 * decades + 1) / 20)).astype(np.int64)
    scaled = np.outer(10 ** np.arange(decades), (1, 2, 5)).ravel() * dimension
    every = np.unique(np.concatenate((usual, scaled)))
    return np.unique(np.append(every[every <= last], last))


def _timed_rows(run: Log) -> Iterable[str]:
    at = _triggers(run.dimension, run.evaluations)
    rows = np.searchsorted(run.evaluation, at, side="right") - 1
    found = rows >= 0
    return _lines(run, at[found], rows[found])


# ---- two objectives ------------------------------------------------------------------------------------------------


def _write_two(folder: Path, optimizer: str, every: list[Log]) -> None:
    for function, some in groupby(every, key=lambda log: log.function):
        part = f"data_f{function:02}"
        suite = every[0].suite
        head = (
            f"suite = '{suite}', algorithm = '{optimizer}', indicator = 'hyp', folder = '{part}',"
            f" coco_version = 'optarena {__version__}', settings = ''"
        )
        info = [head, COMMENT]
        for dimension, group in groupby(some, key=lambda log: log.dimension):
            runs = list(group)
            traces = [_indicated(run) for run in runs]
            name = f"{suite}_f{function:02}_d{dimension:02}_hyp.dat"
            entries = [_entry(run, best) for run, (_, best) in zip(runs, traces, strict=True)]
            info.append(", ".join([f"function = {function:2}, dim = {dimension:2}", name, *entries]))
            for suffix in (".dat", ".tdat"):
                lines = [
                    line
                    for i, (run, (at, best)) in enumerate(zip(runs, traces, strict=True))
                    for line in _indicator_rows(i, run, at, best, suffix)
                ]
                _save(folder / part / f"{name.removesuffix('.dat')}{suffix}", lines)
            for run in runs:
                if len(run.card.objectives) == 2 and [r.instance for r in runs].count(run.instance) == 1:
                    file = f"{suite}_f{function:02}_i{run.instance:02}_d{dimension:02}_nondom_all.adat"
                    _save(folder / "archive" / file, _archive_rows(run))
        _save(folder / f"{suite}_f{function:02}_hyp.info", info)


def _reference(run: Log) -> float:
    return 1.0 if run.card.known.hypervolume is None else run.card.known.hypervolume  # COCO's own stand-in


def _indicated(run: Log) -> tuple[Ints, Floats]:
    """Where the indicator falls, and to what."""
    known = run.card.known
    if len(run.card.objectives) == 1:
        return run.evaluation, run.best
    assert known.ideal is not None
    assert known.nadir is not None
    values = coco_indicator(run.values, known.ideal, known.nadir, _reference(run))
    kept = np.flatnonzero(values < np.concatenate(([np.inf], values[:-1])))
    return run.evaluation[kept], values[kept]


def _indicator_rows(i: int, run: Log, at: Ints, best: Floats, suffix: str) -> Iterable[str]:
    yield "%"
    yield f"% index = {i}, name = {run.card.id}"
    yield f"% instance = {run.instance}, reference value = {_reference(run):.15e}"
    yield "% function evaluation | indicator value" + (" | target hit" if suffix == ".dat" else "")
    if suffix == ".dat":
        if len(at) and run.finished and run.evaluations > at[-1]:
            at, best = np.append(at, run.evaluations), np.append(best, best[-1])
        for k, value in zip(at.tolist(), best.tolist(), strict=True):
            yield f"{k}\t{value:.16e}\t{_target(value):.15e}"
        return
    wanted = _triggers(run.dimension, run.evaluations)
    rows = np.searchsorted(at, wanted, side="right") - 1
    for k, row in zip(wanted[rows >= 0].tolist(), rows[rows >= 0].tolist(), strict=True):
        yield f"{k}\t{best[row]:.16e}"


def _target(value: float) -> float:
    """The hardest of COCO's targets (20 a decade, and their negatives) that a value reaches."""
    if value > 0:
        return 10 ** (math.ceil(20 * math.log10(value)) / 20)
    return 0.0 if value > -1e-5 else -(10 ** (math.floor(20 * math.log10(-value)) / 20))


def _archive_rows(run: Log) -> Iterable[str]:
    yield f"% instance = {run.instance}, name = {run.card.id}"
    yield f"% function evaluation | 2 objectives | {run.dimension} variables"
    points: Sequence[Sequence[float]] = [[]] * len(run.evaluation)
    if run.points is not None and not np.isnan(run.points).any():
        points = run.points.tolist()
    for i in entering(run.values).tolist():
        cells = [*run.values[i].tolist(), *points[i]]
        yield "\t".join([str(run.evaluation[i]), *(f"{cell:.16e}" for cell in cells)])
    yield f"% evaluations = {run.evaluations}"
