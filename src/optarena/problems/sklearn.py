"""Tuning nine models on small data sets, Bayesmark's problems with Bayesmark's numbers. Models and data live beside it.

    >>> from optarena.problem import build
    >>> build("sklearn/kNN_iris_nll").evaluate({"n_neighbors": 5, "p": 2})  # doctest: +SKIP

Ids: `sklearn/<model>_<data>_<metric>`, and for a user's own data `path/to/clf-mine.csv:<model>_<metric>`. What the
optimizer sees is the mean loss of five folds; the loss on rows that no fold has is the hidden metric `generalization`.
All losses are minimised: acc is the accuracy with a minus sign. Most models draw random numbers, so most problems are
noisy, as they are in Bayesmark.
"""

from __future__ import annotations

import functools
import importlib.util
import math
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from optarena import _patterns
from optarena.errors import NotInstalled, OptarenaError, nearest
from optarena.problem import Evaluation, Problem, Suite
from optarena.problems import _tuning_data as data_
from optarena.problems._tuning_models import CLASSIFIERS, REGRESSORS
from optarena.registry import Reference
from optarena.space import Array, Point, Space

REGISTERED = {
    "names": {"sklearn": "SklearnSuite"},
    "opens": [".csv"],
}

MODELS = tuple(sorted(CLASSIFIERS))
DATA = (*data_.CLASSES, *data_.VALUES)
"""The built-in data sets."""
FILE_KINDS = tuple(data_.KINDS)
"""How the names of a user's data files begin."""
METRICS = {True: ("acc", "nll"), False: ("mae", "mse")}
LEAST_PROBABILITY = 1e-15  # where scikit-learn clipped before 1.3
SIGNATURE_POINTS = 5
SIGNATURE_KEY = "7e9f2cabb0dd4f44bc10cf18e440b427"
"""Bayesmark's key for the random numbers that a signature may use."""


class TuningProblem(Problem):
    """A model, a data set and a metric. Data are loaded at the first evaluation (a CSV file is read at once)."""

    metrics = ("generalization",)

    def __init__(self, model: str, data: str, metric: str, *, file: Path | None = None) -> None:
        self.classes = data_.is_classification(file) if file is not None else data in data_.CLASSES
        self.model = (CLASSIFIERS if self.classes else REGRESSORS)[model]
        self.metric = metric
        self.space = Space(self.model.space)
        self.noisy = self.model.noisy_labels if metric == "acc" and self.model.noisy else self.model.noisy
        self.function = f"{model}_{data}_{metric}"
        self.packages = ("scikit-learn", "numpy", "scipy", *filter(None, [data_.EXTRA.get(data)]))
        self._data_name = data
        self._own = None if file is None else data_.read_csv(file)
        if file is not None:
            self.source = file.resolve()

    @functools.cached_property
    def data(self) -> data_.Data:
        if self._own is None:
            return data_.built_in(self._data_name)
        return data_.split(*self._own, classes=self.classes)

    def evaluate(self, x: Point, rng: np.random.Generator | None = None) -> Evaluation:
        if self.noisy and rng is None:
            raise TypeError(f"{self.id} is noisy: evaluate needs a random generator, too")
        stream = np.random.RandomState(0 if rng is None else int(rng.integers(2**32)))
        return self.losses(x, stream)

    def losses(self, x: Point, stream: np.random.RandomState) -> Evaluation:
        """Both losses; models draw from the stream, fold after fold and then for the hidden one, as in Bayesmark."""
        import sklearn

        probabilities = self.metric == "nll"
        found = []
        # points lie in the space and the data are finite, so checking them again for each fit would only cost time
        with (
            sklearn.config_context(assume_finite=True, skip_parameter_validation=True),
            warnings.catch_warnings(action="ignore"),  # a model that has not converged is usual in a search
            np.errstate(all="ignore"),
        ):
            for part in self.data.parts:
                predict = self.model.fit(x, part.X, part.y, stream, probabilities)
                found.append(self._loss(predict(part.tests), part))
        visible, hidden = float(np.mean(found[:-1])), float(found[-1])
        if not (math.isfinite(visible) and math.isfinite(hidden)):
            raise ArithmeticError(f"the loss is {visible}, on the held-out rows {hidden}")
        return Evaluation([visible], metrics={"generalization": hidden})

    def _loss(self, predicted: npt.NDArray[Any], part: data_.Part) -> float:
        truth = part.truth
        if self.metric == "acc":
            return -float(np.mean(predicted == truth))
        if self.metric == "mae":
            return float(np.mean(np.abs(predicted - truth)))
        if self.metric == "mse":
            return float(np.mean((predicted - truth) ** 2))
        if predicted.shape[1] < self.data.n_classes:  # a class that was not there to learn has probability 0
            known = np.unique(part.y)
            every = np.zeros((len(truth), self.data.n_classes))
            every[:, known] = predicted
            predicted = every
        p = np.clip(predicted, LEAST_PROBABILITY, 1.0 - LEAST_PROBABILITY)
        if self.data.n_classes == 2:
            p[:, 0] = 1.0 - p[:, 1]  # in this order the clipped ones give the very digits of scikit-learn's scorer
        p /= p.sum(axis=1, keepdims=True)
        return -float(np.mean(np.log(p[np.arange(len(truth)), truth])))

    def signature(self) -> list[float]:
        """The objective at five fixed points with fixed random numbers, Bayesmark's: what this problem is, today."""
        if not hasattr(self, "_signature"):
            keys = random.Random(int(SIGNATURE_KEY, 16))
            keys.randint(0, 2**32 - 1)  # the first is for Python's own generator
            stream = np.random.RandomState(keys.randint(0, 2**32 - 1))
            self._signature = [self._signed(x, stream) for x in signature_points(self.space)]
        return list(self._signature)

    def _signed(self, x: Point, stream: np.random.RandomState) -> float:
        try:
            return float(self.losses(x, stream).values[0])
        except Exception:  # on a user's data a model may fail: that, too, is part of what the problem is
            return math.nan


def signature_points(space: Space) -> list[dict[str, Any]]:
    """Bayesmark's five points of a space: uniform on its warped scale, from NumPy's old generator with seed 0."""
    from optarena.space import WARPS

    names = sorted(space.names)
    lines = [space.config[name] for name in names]
    ends = [
        [0.0, 1.0] if line["type"] == "bool" else WARPS[line["space"]][0](np.array(line["range"], dtype=float))
        for line in lines
    ]
    low, high = np.array(ends, dtype=float).T
    drawn: Array = np.random.RandomState(0).uniform(low, high, size=(SIGNATURE_POINTS, len(names)))
    points: list[dict[str, Any]] = [{} for _ in drawn]
    for name, line, column in zip(names, lines, drawn.T, strict=True):
        if line["type"] == "bool":
            values: list[Any] = (np.round(column) == 1.0).tolist()
        else:
            values = np.clip(WARPS[line["space"]][1](column), *line["range"]).tolist()
            if line["type"] == "int":
                values = [round(value) for value in values]
        for point, value in zip(points, values, strict=True):
            point[name] = value
    return points


class SklearnSuite(Suite):
    name = "sklearn"
    summary = "tuning nine scikit-learn models on six small data sets: Bayesmark's 108 problems"

    def ids(self) -> Iterator[str]:
        for model in CLASSIFIERS:
            for data in DATA:
                yield from (f"sklearn/{model}_{data}_{metric}" for metric in METRICS[has_classes(data)])

    def missing(self, id: str) -> str | None:
        if not _is_installed("sklearn"):
            return "scikit-learn"
        package = data_.EXTRA.get(id.split("_")[1])
        return package if package is not None and not _is_installed(package) else None

    def build(self, id: str) -> Problem:
        return TuningProblem(*id.partition("/")[2].split("_"))


def has_classes(data: str) -> bool:
    """Whether a data set, built in or a user's file, is one of classes rather than of numbers."""
    return data in data_.CLASSES or any(classes and data.startswith(kind) for kind, classes in data_.KINDS.items())


def _is_installed(package: str) -> bool:
    return importlib.util.find_spec(package) is not None


# ---- a user's CSV files ---------------------------------------------------------------------------------------------


def choices(path: Path) -> list[str]:
    """What may follow a file's name: `<model>_<metric>`."""
    classes = data_.is_classification(path)
    return [f"{model}_{metric}" for model in CLASSIFIERS for metric in METRICS[classes]]


def select_references(reference: Reference) -> list[str]:
    """The problems of `folder/clf-*.csv:*_nll`: wildcards and braces may stand for files, models and metrics."""
    if not _is_installed("sklearn"):
        raise NotInstalled(f"{reference.text} needs", "problems")
    out: dict[str, None] = {}
    for text in _patterns.expand_braces(reference.text):
        one = Reference.of(text, reference.base)
        file, place, wanted = one.place, one.path, one.part
        if place.exists() or not _patterns.has_glob(file):
            paths = [(file, place)]
        else:
            found = sorted(place.parent.glob(place.name))
            paths = [
                (str(Path(file).parent / path.name), path) for path in found if path.name.startswith((*data_.KINDS,))
            ]
            if not paths:
                raise OptarenaError(f"{text!r}: no file clf-….csv or reg-….csv matches {place}")
        chosen = [
            f"{name}:{choice}" for name, path in paths for choice in choices(path) if _patterns.matches(wanted, choice)
        ]
        if not chosen:
            known = choices(paths[0][1])
            raise OptarenaError(
                f"{text!r}: no model and metric matches {wanted!r}.{nearest(wanted, known)} (as {known[0]})"
            )
        out.update(dict.fromkeys(chosen))
    return list(out)


def open_reference(reference: Reference) -> Problem:
    """The problem of `folder/clf-mine.csv:SVM_nll`; its id is without the folder."""
    path, choice = reference.path.resolve(), reference.part
    if choice not in choices(path):
        raise OptarenaError(
            f"{reference.text!r}: {choice!r} is not a model and metric.{nearest(choice, choices(path))}"
        )
    model, metric = choice.split("_")
    problem = TuningProblem(model, path.stem, metric, file=path)
    problem.id, problem.suite = f"{path.name}:{choice}", SklearnSuite.name
    return problem
