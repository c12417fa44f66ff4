"""`optarena report`: everything on one page that works offline and can be mailed."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from optarena._text import clean
from optarena.cli._choose import Dimensions, OptimizersLong, Problems, chosen
from optarena.report.page import write_report


def command(
    store: Annotated[Path, typer.Argument(help="The store's directory.")],
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")] = Path("report.html"),
    optimizer: OptimizersLong = None,
    problem: Problems = None,
    dimension: Dimensions = None,
) -> None:
    """Write it and say where it is."""
    path = write_report(chosen(store, optimizer, problem, dimension), output)
    print(f"{clean(path)} ({path.stat().st_size / 1e6:.1f} MB; opens offline in any browser)")
