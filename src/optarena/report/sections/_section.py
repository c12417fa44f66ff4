"""What a section of the report is: when it applies, and its words, figures and tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import polars as pl

from optarena.report.drawing._style import Look
from optarena.report.drawing._vega import Chart
from optarena.report.figures import COMPARISON, FIGURES, Options, Shown
from optarena.report.material import Material
from optarena.report.tables import Drawing
from optarena.views._view import View


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

    `view`: the name of the view whose scores its figures draw, or what finds it; they then name its frame. `after`:
    words below the blocks, by scope; they may need more time than all above them.
    """

    id: str
    title: str
    help: str
    content: Callable[[Material], Content]
    absent: Callable[[Material], str] = lambda _: ""
    view: str | Callable[[Material], str] = ""
    after: Callable[[Material], dict[str, list[str]]] = lambda _: {}

    def view_of(self, material: Material) -> str:
        """The name of its view for this store; nothing where it has none."""
        return self.view(material) if callable(self.view) else self.view


def look_of(material: Material) -> Look:
    return Look(material.colours, ranking=tuple(material.ranking))


def add_figure(material: Material, name: str, out: Content, *, metric: str | None = None) -> list[Shown]:
    """Put a figure on the page by its name, as it is declared: two parts side by side, others one below the other.

    Gives the parts that were drawn: none where the store has nothing for it.
    """
    declared = FIGURES[name]
    parts = [one for one in declared.make(material, Options(page=True, metric=metric)) if not one.empty]
    drawings = []
    if declared.view != COMPARISON:  # its intervals are those that decide
        parts = [replace(one, table=material.so_far(one.table)) for one in parts]
    for one in parts:
        out.datasets[one.name] = one.table
        out.words += [one.note] if one.note else []
        drawings.append(
            Drawing(
                one.id or one.name,
                one.title,
                one.caption,
                one.alt,
                spec_of(one.draw(one.name, look_of(material))),
                one.name,
                by=one.by,
                widest=one.widest,
                problem=one.problem,
                least=one.least,
                margin=one.margin,
            )
        )
    out.blocks += drawings if declared.arrange == "below" else paired(drawings)
    return parts


def paired(drawings: list[Drawing]) -> list[Any]:
    """Two and two of them side by side."""
    pairs = [drawings[i : i + 2] for i in range(0, len(drawings), 2)]
    return [Pair((two[0], two[1])) if len(two) == 2 else two[0] for two in pairs]


def notes_of(view: View, command: str) -> list[str]:
    """What a reader of a view's tables should know, as sentences; `command` has all of them."""
    said = [f"{note[:1].upper()}{note[1:]}." for note in view.notes[:MOST_NOTES]]
    if len(view.notes) > MOST_NOTES:
        said.append(f"And {len(view.notes) - MOST_NOTES} more notes: {command} --format json has all.")
    return said


MOST_NOTES = 8


def so_far(material: Material) -> list[str]:
    """What stands above the numbers of all studies while a run goes on."""
    return [SO_FAR] if material.running else []


SO_FAR = (
    "So far: these are the numbers of all studies, unfinished ones too. There are no intervals while a run goes on: "
    "they would promise too much to whoever looks more than once."
)


def spec_of(chart: Chart) -> dict[str, Any]:
    """The chart's specification without what the page says once."""
    return {key: value for key, value in chart.to_dict().items() if key not in ("$schema", "config")}
