"""What tests of pilots share: a slow problem, a plan of it, and what came of a run."""

from __future__ import annotations

import polars as pl

import optarena as oa
from optarena.cli import main
from optarena.store import Store

ROOT = "00000000-0000-0000-0000-00000000abcd"
FILE = """
import time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-5.0, 5.0]}})
def slow(x):
    time.sleep(0.02)
    return x["x"] ** 2
"""
PLAN = ["-o", "RandomSearch", "-o", "QuasiRandom", "-p", "mine.py:slow", "-p", "functions/sphere/d3", "-n", "20"]
PLAN += ["-r", "6", "--seed", ROOT]


def exported(store: str) -> pl.DataFrame:
    """A store as a table: all that does not depend on clocks."""
    assert main(["export", "csv", store, "-O", f"{store}.csv"]) == 0
    return pl.read_csv(f"{store}.csv", infer_schema_length=None).drop("seconds")


def local(experiment: oa.Experiment) -> pl.DataFrame:
    experiment.run("local", workers=2)
    return exported("local")


def rows(store: str = "shared") -> int:
    """Lines with evaluations that have arrived."""
    return sum(path.read_bytes().count(b'"t":"e"') for path in Store(store).journal_paths())
