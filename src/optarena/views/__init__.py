"""Ways to score a dataset: traces in, tables out. A view never writes to a store."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from optarena.errors import OptarenaError, nearest
from optarena.views._options import FRONTS, VIEWS

if TYPE_CHECKING:
    from optarena.dataset import Dataset

__all__ = ["VIEWS", "answering", "score"]


def answering(results: Dataset) -> list[str]:
    """Which views answer for a store, where none was named: one per kind of study, that of most studies first."""
    from optarena.views import _answering

    return _answering.answering(results)


def score(dataset: Dataset, view: str, **options: Any) -> Any:
    """A view of a dataset, by the view's name: the same as `fixed_cost(dataset, ...)` and its siblings.

    With an `indicator`, the fixed-target view has the runtimes to that indicator of fronts, in the pareto view's frame.
    """
    if view not in VIEWS:
        raise OptarenaError(f"no view named {view!r}.{nearest(view, VIEWS)} (views: {', '.join(VIEWS)})")
    if view == "fixed_target" and "indicator" in options:
        fronts = score(dataset, "pareto", **{name: options.pop(name) for name in FRONTS if name in options})
        return fronts.runtimes(**options)
    return getattr(importlib.import_module(f"{__name__}.{view}"), view)(dataset, **options)
