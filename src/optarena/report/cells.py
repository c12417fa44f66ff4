"""A cell that is written in its own way in each medium."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape

from optarena._text import visible
from optarena.report.latex import escaped


@dataclass(frozen=True)
class Cell:
    """What terminals, papers and web pages show. In a column of pairs `latex` has an `&` in the middle."""

    text: str
    latex: str
    html: str

    def __str__(self) -> str:
        return self.text


def written(text: str) -> Cell:
    """The same words in every medium."""
    return Cell(text, escaped(text), escape(visible(text)))
