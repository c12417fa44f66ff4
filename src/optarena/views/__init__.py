"""Ways to score a dataset: traces in, tables out. A view never writes to a store."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from optarena.errors import OptarenaError, nearest

if TYPE_CHECKING:
    from optarena.dataset import Dataset

VIEWS = ("fixed_cost", "fixed_target", "pareto", "anytime")
"""Each is a package with a function of its name, which takes a dataset."""


def score(dataset: Dataset, view: str, **options: Any) -> Any:
    """A view of a dataset, by the view's name: the same as `fixed_cost(dataset, ...)` and its siblings."""
    if view not in VIEWS:
        raise OptarenaError(f"no view named {view!r}.{nearest(view, VIEWS)} (views: {', '.join(VIEWS)})")
    return getattr(importlib.import_module(f"{__name__}.{view}"), view)(dataset, **options)
