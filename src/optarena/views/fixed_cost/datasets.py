"""The tables of the fixed-cost view as xarray datasets, with Bayesmark's names, dimensions and 0-based iterations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from optarena.errors import OptarenaError

if TYPE_CHECKING:
    from optarena.views.fixed_cost.view import FixedCost

PROBLEM = ("median", "median_lb", "median_ub", "median_normed", "mean", "mean_lb", "mean_ub", "mean_normed")
SUMMARY = (
    *("median", "median_lb", "median_ub", "mean", "mean_lb", "mean_ub"),
    *("mean_normed", "mean_normed_lb", "mean_normed_ub"),
)


def datasets(view: FixedCost, metric: str | None) -> dict[str, Any]:
    """`baseline`, `agg_result` and `summary`; with the dimension `objective` where several metrics were scored."""
    try:
        import xarray as xr
    except ImportError:
        raise OptarenaError("datasets need the extra 'xarray': pip install 'optarena[xarray]'") from None
    metrics = view.metrics if metric is None else [metric]
    names = {"iter": "iteration", "optimizer": "optimizer", "function": "problem", "objective": "metric"}

    def dataset(table: pl.DataFrame, dims: list[str], columns: dict[str, list[str]]) -> Any:
        """`columns`: which dimensions each has."""
        table = table.filter(pl.col("metric").is_in(metrics))
        values = {
            "iter": sorted(table["iteration"].unique()),
            "optimizer": view.optimizers,
            "function": view.problems,
            "objective": metrics,
        }
        dims = [*dims, "objective"] if len(metrics) > 1 else dims
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
        coords = {dim: values[dim] for dim in dims}
        coords["iter"] = [iteration - 1 for iteration in values["iter"]]
        if "objective" in coords:
            coords["objective"] = ["_visible_to_opt" if name == "value" else name for name in metrics]
        return xr.Dataset(variables, coords)

    over_time = {name: ["iter", "function"] for name in ("median", "mean")}
    return {
        "baseline": dataset(
            view.baseline, ["iter", "function"], {**over_time, "clip": ["function"], "best": ["function"]}
        ),
        "agg_result": dataset(
            view.problem,
            ["iter", "optimizer", "function"],
            {name: ["iter", "optimizer", "function"] for name in PROBLEM},
        ),
        "summary": dataset(view.summary, ["iter", "optimizer"], {name: ["iter", "optimizer"] for name in SUMMARY}),
    }


def _title(name: str) -> str:
    """`median_lb` is "median LB" there."""
    return name.replace("_lb", " LB").replace("_ub", " UB").replace("_", " ")
