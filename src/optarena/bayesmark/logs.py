"""A study's log in Bayesmark's words, made of what was recorded: `log/<id>.log`. What it printed is beside it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from optarena._bayesmark_names import VISIBLE
from optarena._files import write_atomically
from optarena.bayesmark.files import FileStudy


def write_log(path: Path, study: FileStudy, ended: str = "done") -> None:
    """The log of a study, whole or as far as it went. ended: its last line."""
    write_atomically(path / "log" / f"{study.uuid}.log", "".join(f"{line}\n" for line in _lines(study, ended)).encode())


def read_log(path: Path, uuid: str) -> str:
    """A study's log; empty where there is none."""
    return _text(path / "log" / f"{uuid}.log")


def read_printed(path: Path, uuid: str) -> str:
    """What a study printed."""
    return _text(path / "log" / f"{uuid}.out")


def _text(file: Path) -> str:
    return file.read_text(encoding="utf-8", errors="replace") if file.is_file() else ""


def _lines(study: FileStudy, ended: str) -> Iterator[str]:
    args = study.args
    yield f"running: {args}"
    yield f"computed signature: {tuple(study.signature)}"
    names = " ".join(str(args[key]) for key in ("--opt", "--classifier", "--data", "--metric"))
    yield f"starting sklearn study {names} {args['--calls']} {args['--suggestions']}"
    yield f"with data root: {args['--data-root']}"
    values = study.values[VISIBLE]
    rows, columns = values.shape
    best = np.minimum.accumulate(values.min(axis=1)) if rows else values
    for t in range(rows):
        points = [{name: rows_of[t][j] for name, rows_of in study.points.items()} for j in range(columns)]
        yield f"suggestion time taken {study.times['suggest'][t]:f} iter {t} next_points {points}"
        for j, point in enumerate(points):
            spent = study.times["eval"][t, j]
            yield f"function_evaluation time {spent:f} value {values[t, j]:f} suggestion {point}"
        yield f"observation time {study.times['observe'][t]:f}, current best {best[t]:f} at iter {t}"
    yield ended
