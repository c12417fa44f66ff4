"""Ways to score a dataset: traces in, tables out. A view never writes to a store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from optarena.errors import OptarenaError, nearest

if TYPE_CHECKING:
    from optarena.dataset import Dataset

VIEWS = ("fixed_cost", "fixed_target", "pareto", "anytime")
"""Each is a package with a function of its name, which takes a dataset."""


def score(dataset: Dataset, view: str, **options: Any) -> Any:
    """A view of a dataset, by the view's name: the same as `fixed_cost(dataset, ...)` and its siblings."""
    if view == "fixed_cost":
        from optarena.views.fixed_cost import fixed_cost

        return fixed_cost(dataset, **options)
    if view == "fixed_target":
        from optarena.views.fixed_target import fixed_target

        return fixed_target(dataset, **options)
    if view == "pareto":
        from optarena.views.pareto import pareto

        return pareto(dataset, **options)
    if view == "anytime":
        from optarena.views.anytime import anytime

        return anytime(dataset, **options)
    raise OptarenaError(f"no view named {view!r}.{nearest(view, VIEWS)} (views: {', '.join(VIEWS)})")
