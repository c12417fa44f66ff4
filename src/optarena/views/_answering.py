"""Which view answers for a store, where none was named: decided once, for every command.

>>> answering(optarena.open("results"))       # doctest: +SKIP
['fixed_cost']
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from optarena.dataset import Dataset
from optarena.dataset.facts import of_cards
from optarena.optimizer import is_random_search
from optarena.traces import Bools
from optarena.views._options import OPTIONS, VIEWS, view_named

MODES = {"aries": "anytime", "bayesmark": "fixed_cost", "coco": "fixed_target"}
"""The view that a mode belongs to."""


def answering(results: Dataset) -> list[str]:
    """One view per kind of study, that of most studies first (docs/scores.md 0.5).

    Solver runs: `anytime`. Several objectives: `pareto`. Else `fixed_cost` where random search was run, else
    `fixed_target`.
    """
    return list(kinds(results)) or ["fixed_cost"]


def kinds(results: Dataset) -> dict[str, Bools]:
    """By the view that answers: (started studies,), which studies are of its kind; the kind of most studies first."""
    begun = results.studies.filter(results.studies["status"] != "missing")
    several = begun["sense"].is_null().to_numpy()
    solver = solver_runs(results) & ~several
    rest = ~several & ~solver
    names = [name for name in begun["optimizer"].unique() if is_random_search(name)]
    random = begun["optimizer"].is_in(names).to_numpy()
    whole = (begun["record"] == "all").to_numpy() & (begun["evaluations"] > 0).to_numpy()
    found = {
        "fixed_cost" if (rest & random & whole).any() or not rest.any() else "fixed_target": rest,
        "pareto": several,
        "anytime": solver,
    }
    return {view: found[view] for view in sorted(found, key=lambda view: -found[view].sum()) if found[view].any()}


def solver_runs(results: Dataset) -> Bools:
    """(started studies,): whether a solver ran it: its problem has no space of points to choose from.

    An imported table does not say so: there it is a run on a problem with seconds, without parameters, dimension or
    random search in the table. A run without any row is what the others of its problem are.
    """
    begun = results.studies.filter(results.studies["status"] != "missing")
    no_space = of_cards(results, lambda card: not card.space)
    imported = of_cards(results, lambda card: card.imported) & no_space
    if not imported.any():
        return no_space
    traces = results.traces()
    study = np.repeat(np.arange(len(traces)), traces.lengths)
    unknown = np.bincount(study[np.isnan(traces.seconds)], minlength=len(traces)) > 0
    random = any(is_random_search(name) for name in begun.filter(imported)["optimizer"])
    timed = ~unknown & (traces.lengths > 0) & (begun["dimension"].fill_null(0) == 0).to_numpy() & (not random)
    rows = begun.select("problem", timed=pl.when(pl.Series(traces.lengths > 0)).then(pl.Series(timed)))
    alike = rows.select(pl.coalesce("timed", pl.col("timed").max().over("problem"))).to_series()
    return no_space & (~imported | alike.fill_null(bool(timed.any())).to_numpy())


def chosen(results: Dataset, options: Mapping[str, Any]) -> list[str]:
    """The views that answer, given some options: of those that answer, the ones that have them; else one that has."""
    frame, mode = options.get("frame"), options.get("mode")
    if frame is not None:
        return [_of_frame(Path(frame))]
    if mode in MODES:
        return [MODES[mode]]
    if "indicator" in options:  # with options of fronts, whose indicator it is
        return ["fixed_target"]
    found = answering(results)
    able = [view for view in found if set(options) <= set(OPTIONS[view])]
    return able or [view for view in VIEWS if set(options) <= set(OPTIONS[view])][:1] or found[:1]


def _of_frame(path: Path) -> str:
    """The view that a saved frame belongs to; a baseline of Bayesmark is one of fixed cost."""
    try:
        return view_named(json.loads(path.read_bytes())["view"])
    except Exception:  # the view says what is wrong with it
        return "fixed_cost"
