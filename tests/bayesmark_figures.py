"""Reads the figures in tests/data/bayesmark, which Bayesmark 0.0.8 itself computed (with scipy 1.17)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

import optarena as oa

DATA = Path(__file__).parent / "data" / "bayesmark"
CUBES = sorted(path.name for path in (DATA / "cubes").iterdir())
COLUMNS = {"function": "problem", "study_id": "trial", "iter": "batch", "_visible_to_opt": "value"}


def load(path: str) -> Any:
    return json.loads(gzip.decompress((DATA / path).read_bytes()))


def floats(values: Any) -> Any:
    """Nested lists in which "inf" and "nan" are texts."""
    return [floats(item) for item in values] if isinstance(values, list) else float(values)


def array(values: Any) -> np.ndarray:
    return np.array(floats(values), dtype=float)


def tidy(path: str) -> pl.DataFrame:
    """Bayesmark's long form (objective, function, optimizer, study_id, iter, suggestion, value) as our tidy table."""
    rows = pl.read_csv(gzip.decompress((DATA / path).read_bytes()), schema_overrides={"value": pl.String})
    wide = rows.pivot(on="objective", index=["function", "optimizer", "study_id", "iter", "suggestion"], values="value")
    metrics = {name: f"metric.{name}" for name in wide.columns if name == "generalization"}
    return wide.select(pl.exclude("signature_median")).rename({**COLUMNS, **metrics})


def store_of(path: str, place: Path) -> oa.Results:
    """The cube as a store, by the way that a user would take: a tidy CSV."""
    from optarena.cli import main

    tidy(path).write_csv(place / "cube.csv")
    assert main(["import", "csv", str(place / "cube.csv"), "--store", str(place / "store")]) == 0
    return oa.open(place / "store")
