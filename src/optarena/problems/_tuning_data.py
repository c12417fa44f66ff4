"""The data that tuning problems fit: scikit-learn's small sets, boston from mlxtend, and a user's CSV files.

A set is split once, as Bayesmark does: 80 % to tune on, in five folds, and 20 % for the hidden score.
"""

from __future__ import annotations

import csv
import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from optarena.errors import OptarenaError
from optarena.space import Array

CLASSES = ("breast", "digits", "iris", "wine")
VALUES = ("boston", "diabetes")
EXTRA = {"boston": "mlxtend"}
KINDS = {"clf-": True, "reg-": False}
FOLDS = 5
HELD_OUT = 0.2
SPREAD = 0.86  # the share of a column between the two quantiles that its scale is taken from
FARTHEST = 100.0  # features are clipped there, after scaling
FEWEST_ROWS = 10


class Part(NamedTuple):
    """Rows to fit, and rows to score."""

    X: Array
    y: npt.NDArray[Any]
    tests: Array
    truth: npt.NDArray[Any]


class Data(NamedTuple):
    """The five folds, and last the whole 80 % against the 20 %."""

    parts: tuple[Part, ...]
    n_classes: int


@functools.lru_cache(maxsize=len(CLASSES) + len(VALUES))
def built_in(name: str) -> Data:
    """One of the sets above, split."""
    from sklearn import datasets

    if name == "boston":
        from mlxtend.data import boston_housing_data

        return split(*boston_housing_data(), classes=False)
    load = {"breast": "breast_cancer"}.get(name, name)
    X, y = getattr(datasets, f"load_{load}")(return_X_y=True)
    return split(X, y, classes=name in CLASSES)


def split(X: Array, y: npt.NDArray[Any], *, classes: bool) -> Data:
    """The split of Bayesmark: shuffled with seed 0, then folds in order, which keep the shares of classes."""
    from sklearn.model_selection import KFold, StratifiedKFold, train_test_split

    n_classes = 0
    if classes:
        labels, y = np.unique(y, return_inverse=True)
        n_classes = len(labels)
    X, tests, y, truth = train_test_split(X, y, test_size=HELD_OUT, random_state=0, shuffle=True)
    folds = (StratifiedKFold if classes else KFold)(FOLDS).split(X, y)
    parts = [Part(X[train], y[train], X[test], y[test]) for train, test in folds]
    return Data((*parts, Part(X, y, tests, truth)), n_classes)


# ---- a user's CSV ---------------------------------------------------------------------------------------------------


def is_classification(path: Path) -> bool:
    """Whether a file's name says classes (clf-) or values (reg-)."""
    for prefix, classes in KINDS.items():
        if path.name.startswith(prefix) and path.suffix == ".csv":
            return classes
    raise OptarenaError(f"{path.name}: name it clf-….csv (its last column is a class) or reg-….csv (a number)")


def read_csv(path: Path) -> tuple[Array, npt.NDArray[Any]]:
    """Features and target of a file: the last column is the target, texts and columns named …_cat become one-hot.

    Features, and the target of a regression, are scaled robustly; features are clipped to ±100 after that.
    """
    classes = is_classification(path)
    names, columns, lines = _cells(path)
    target = _target(path, names[-1], columns[-1], lines, classes)
    numbers, one_hot = [], {}
    for name, cells in zip(names[:-1], columns[:-1], strict=True):
        values = _numbers(path, name, cells, lines)
        if values is None or name.endswith("_cat"):
            # a column of numbers is ordered as numbers
            key: Any = dict(zip(cells, cells if values is None else values.tolist(), strict=True))
            found = sorted(set(cells), key=key.__getitem__)
            one_hot[name] = [np.array([cell == each for cell in cells], dtype=float) for each in found[1:]]
        else:
            numbers.append(values)
    features = [*numbers, *(column for name in sorted(one_hot) for column in one_hot[name])]
    if not features:
        raise OptarenaError(f"{path}: no feature is left: every column beside the target has one value only")
    X = np.clip(robust(np.column_stack(features)), -FARTHEST, FARTHEST)
    return X, target if classes else robust(target)


def robust(X: Array) -> Array:
    """Scaled so that normal numbers become standard normal ones, whatever a few of them are."""
    from scipy.special import ndtri

    low, high = 0.5 * (1.0 - SPREAD), 0.5 * (1.0 + SPREAD)
    width = np.asarray(np.percentile(X, 100 * high, axis=0) - np.percentile(X, 100 * low, axis=0))
    width = np.where(width == 0.0, 1.0, width)
    out: Array = (X - np.median(X, axis=0)) / width * (ndtri(high) - ndtri(low))
    return out


def _cells(path: Path) -> tuple[list[str], list[list[str]], list[int]]:
    """The header, the cells by column, and the line of each row."""
    rows, lines = [], []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            for row in reader:
                if row:
                    rows.append([cell.strip() for cell in row])
                    lines.append(reader.line_num)
    except FileNotFoundError:
        raise OptarenaError(f"there is no file {path}") from None
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise OptarenaError(f"{path}: cannot be read as CSV in UTF-8 ({error})") from error
    if not rows or len(rows[0]) < 2:
        raise OptarenaError(f"{path}: a header line with at least two columns, separated by commas, comes first")
    names = rows[0]
    for name in names:
        if not name or names.count(name) > 1:
            raise OptarenaError(f"{path} line {lines[0]}: every column needs a unique name, got {name!r}")
    for row, line in zip(rows[1:], lines[1:], strict=True):
        if len(row) != len(names):
            raise OptarenaError(f"{path} line {line}: {len(row)} cells, the header has {len(names)}")
        if "" in row:
            raise OptarenaError(
                f"{path} line {line}, column {names[row.index('')]!r}: an empty cell; fill it or leave the line out"
            )
    if len(rows) - 1 < FEWEST_ROWS:
        raise OptarenaError(f"{path}: {len(rows) - 1} rows, five folds need at least {FEWEST_ROWS}")
    return names, [list(column) for column in zip(*rows[1:], strict=True)], lines[1:]


def _number(cell: str) -> float | None:
    if cell.lower() in ("true", "false"):
        return float(cell.lower() == "true")
    try:
        return float(cell)
    except ValueError:
        return None


def _numbers(path: Path, name: str, cells: Sequence[str], lines: Sequence[int]) -> Array | None:
    """A column of finite numbers, or None where all its cells are texts; a mixture is a mistake."""
    values = [_number(cell) for cell in cells]
    wrong = [i for i, value in enumerate(values) if value is None or not math.isfinite(value)]
    if not wrong:
        return np.array(values, dtype=float)
    if all(value is None for value in values) or name.endswith("_cat"):
        return None
    raise OptarenaError(
        f"{path} line {lines[wrong[0]]}, column {name!r}: {cells[wrong[0]]!r} is not a finite number, other cells are;"
        " fix it, or end the column's name in _cat if these are categories"
    )


def _target(path: Path, name: str, cells: Sequence[str], lines: Sequence[int], classes: bool) -> npt.NDArray[Any]:
    values = _numbers(path, name, cells, lines)
    if not classes:
        if values is None:
            raise OptarenaError(f"{path}, column {name!r}: the target of a reg-….csv must be numbers, got {cells[0]!r}")
        return values
    if values is None:
        out: npt.NDArray[Any] = np.array(cells)
    elif (values == np.round(values)).all():
        out = values
    else:
        wrong = int(np.flatnonzero(values != np.round(values))[0])
        raise OptarenaError(
            f"{path} line {lines[wrong]}, column {name!r}: a class is a text or a whole number, got {cells[wrong]!r}"
        )
    if len(np.unique(out)) < 2:
        raise OptarenaError(f"{path}, column {name!r}: the target has one class only")
    return out
