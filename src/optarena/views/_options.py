"""Which options each view has: declared once, for Python and for every command that uses a view."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from optarena.errors import OptarenaError, one_of

VIEWS = ("fixed_cost", "fixed_target", "pareto", "anytime")
"""Each is a package with a function of its name, which takes a dataset."""
OPTIONS: dict[str, tuple[str, ...]] = {
    "fixed_cost": ("mode", "metric", "axis", "over", "bootstrap", "seed", "frame"),
    "fixed_target": ("mode", "targets", "budget", "axis", "over", "bootstrap", "seed", "frame", "indicator"),
    "pareto": ("axis", "over", "reference", "size", "epsilon", "reference_point", "frame"),
    "anytime": ("mode", "axis", "over", "horizon", "gap", "tolerance", "frame"),
}
FRONTS = tuple(name for name in OPTIONS["pareto"] if name != "over")
"""Options of the pareto view that runtimes to an indicator have too."""
RUNTIMES = ("targets", "budget", "over", "bootstrap", "seed")
"""Options of the fixed-target view that runtimes to an indicator have too."""
DIFFERENT = ("mode", "frame", "bootstrap")
"""Options that mean something different in each view."""


def dashed(view: str) -> str:
    """A view's name in texts and on the command line: `fixed-cost`."""
    return view.replace("_", "-")


def view_named(name: str) -> str:
    """The view's name in Python, from `fixed-cost` or `fixed_cost`."""
    view = name.replace("-", "_")
    if view not in VIEWS:
        one_of("view", name, map(dashed, VIEWS))
    return view


def options_of(view: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given (None: not given), as keyword arguments of the view; refuses one that it lacks."""
    options = {name: value for name, value in given.items() if value is not None}
    known, owner = OPTIONS[view], f"the {dashed(view)} view"
    if view == "fixed_target" and "indicator" in options:
        known, owner = ("indicator", *RUNTIMES, *FRONTS), "runtimes to an indicator"
    for name in options:
        if name not in known:
            raise OptarenaError(
                f"--{dashed(name)} is not an option of {owner} (options: {', '.join(dashed(one) for one in known)})"
            )
    return options


def options_by_view(given: Mapping[str, Any], view: str | None) -> dict[str, dict[str, Any]]:
    """Which options each of several views gets: those of the named view, else of every view that has the option."""
    options = {name: value for name, value in given.items() if value is not None}
    if view is not None:
        return {view: options_of(view, options)} if options else {}
    for name in options:
        if name in DIFFERENT:
            having = " or ".join(dashed(one) for one in VIEWS if name in OPTIONS[one])
            raise OptarenaError(f"--{name} is different in each view: name the view too, with --view {having}")
    split = {one: {name: value for name, value in options.items() if name in OPTIONS[one]} for one in VIEWS}
    if "indicator" in options:
        split["fixed_target"] |= {name: value for name, value in options.items() if name in FRONTS}
    return {one: options_of(one, part) for one, part in split.items() if part}
