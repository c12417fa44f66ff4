"""The tables of the fixed-cost view as xarray datasets, with Bayesmark's names, dimensions and 0-based iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import polars as pl

from optarena._bayesmark_names import VISIBLE, bayesmark_name
from optarena.traces import Floats
from optarena.views._datasets import xarray

if TYPE_CHECKING:
    from optarena.views.fixed_cost.view import FixedCost

Arrays: TypeAlias = tuple[dict[str, list[Any]], dict[str, tuple[list[str], Floats]]]

PROBLEM = ("median", "median_lb", "median_ub", "median_normed", "mean", "mean_lb", "mean_ub", "mean_normed")
SUMMARY = (
    *("median", "median_lb", "median_ub", "mean", "mean_lb", "mean_ub"),
    *("mean_normed", "mean_normed_lb", "mean_normed_ub"),
)


def arrays(view: FixedCost, metric: str | None = None, *, objective: bool = False) -> dict[str, Arrays]:
    """`baseline`, `agg_result` and `summary` as (coords, variables).

    They have the dimension `objective` where several metrics were scored, or where it is asked for.
    """
    metrics = view.metrics if metric is None else [metric]
    names = {"iter": "iteration", "optimizer": "optimizer", "function": "problem", "objective": "metric"}

    def of_table(table: pl.DataFrame, dims: list[str], columns: dict[str, list[str]]) -> Arrays:
        """`columns`: which dimensions each has."""
        table = table.filter(pl.col("metric").is_in(metrics))
        values = {
            "iter": sorted(table["iteration"].unique()),
            "optimizer": view.optimizers,
            "function": view.problems,
            "objective": metrics,
        }
        dims = [*dims, "objective"] if objective or len(metrics) > 1 else dims
        place = [
            table[names[dim]].replace_strict(values[dim], range(len(values[dim])), return_dtype=pl.Int64).to_numpy()
            for dim in dims
        ]
        variables = {}
        for name, of in columns.items():
            mine = [dim for dim in dims if dim in of or dim == "objective"]
            data = np.full([len(values[dim]) for dim in mine], np.nan)
            data[tuple(place[dims.index(dim)] for dim in mine)] = table[name].cast(pl.Float64).fill_null(np.nan)
            variables[_title(name)] = (mine, data)
        coords: dict[str, list[Any]] = {dim: values[dim] for dim in dims}
        coords["iter"] = [iteration - 1 for iteration in values["iter"]]
        if "function" in coords:
            coords["function"] = [bayesmark_name(problem) for problem in view.problems]
        if "objective" in coords:
            coords["objective"] = [VISIBLE if name == "value" else name for name in metrics]
        return coords, variables

    over_time = {name: ["iter", "function"] for name in ("median", "mean")}
    return {
        "baseline": of_table(
            view.baseline, ["iter", "function"], {**over_time, "clip": ["function"], "best": ["function"]}
        ),
        "agg_result": of_table(
            view.problem,
            ["iter", "optimizer", "function"],
            {name: ["iter", "optimizer", "function"] for name in PROBLEM},
        ),
        "summary": of_table(view.summary, ["iter", "optimizer"], {name: ["iter", "optimizer"] for name in SUMMARY}),
    }


def datasets(view: FixedCost, metric: str | None) -> dict[str, Any]:
    """The same as xarray datasets."""
    made = arrays(view, metric)
    return {name: xarray().Dataset(variables, coords) for name, (coords, variables) in made.items()}


def _title(name: str) -> str:
    """`median_lb` is "median LB" there."""
    return name.replace("_lb", " LB").replace("_ub", " UB").replace("_", " ")
