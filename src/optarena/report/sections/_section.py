"""What a section of the report is: when it applies, and its words, figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from optarena.report.material import Material
from optarena.report.tables import Drawing


@dataclass
class Content:
    """What a section puts on the page: words, then blocks (figures, tables, texts); data sets by name.

    `scoped`: words that the filter by dimension chooses from, by scope: `all`, or a dimension as text.
    """

    scoped: dict[str, list[str]] = field(default_factory=dict)
    words: list[str] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    datasets: dict[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Pair:
    """Two figures side by side, where there is room."""

    figures: tuple[Drawing, Drawing]

    def to_data(self) -> dict[str, Any]:
        return {"kind": "pair", "blocks": [one.to_data() for one in self.figures]}


@dataclass(frozen=True)
class Section:
    """One part of the page. `absent` gives the reason why a store cannot have it, or nothing; '-': not worth a word.

    `view`: the name of the view whose scores its figures draw; they then name its frame.
    """

    id: str
    title: str
    help: str
    content: Callable[[Material], Content]
    absent: Callable[[Material], str] = lambda _: ""
    view: str = ""


def look_of(material: Material) -> Any:
    from optarena.report.figures._style import Look

    return Look(material.colours)


def spec_of(chart: Any) -> dict[str, Any]:
    """The chart's specification without what the page says once."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config")}
