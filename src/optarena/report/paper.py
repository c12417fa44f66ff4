"""A workshop paper's figures and tables on a suite of COCO's kind, with a LaTeX file that includes them all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optarena._files import write_together
from optarena._order import natural
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.report.figures import sheets
from optarena.report.latex import commented, escaped
from optarena.report.material import Material
from optarena.report.output import pdf
from optarena.views.fixed_target import FixedTarget
from optarena.views.fixed_target import figure_tables as tables

PAGE_OF_TABLES = 42
"""Rows of a table on one page."""
NOT_IN_FONTS = "ÐðÞþ¤"
"""Signs of Latin-1 that TeX's usual fonts lack."""
HERE = "!htp"
"""Where figures and tables stand: below the heading of their section, else on a page of their own."""


@dataclass(frozen=True)
class Part:
    """A section of the paper: its title, its figures and their widths."""

    title: str
    figures: tuple[tuple[str, str], ...]


PARTS = (
    Part("What was reached", (("ecdf", "page"), ("ecdf-groups", "page"), ("contributions", "column"))),
    Part("Scaling with the dimension", (("ert-dimension", "page"), ("scaling", "page"))),
    Part("Loss against the reference", (("loss-budget", "page"),)),
    Part("Two by two", (("scatter", "column"), ("scatter-functions", "page"))),
    Part("Function by function", (("ecdf-functions", "page"),)),
    Part("Single optimizers", (("run-lengths", "page"),)),
)


def write_paper(results: Dataset, directory: str | Path, **options: Any) -> list[Path]:
    """Write `paper.tex`, `figures/*.pdf` and `tables/*.tex` into a directory; gives what was written, the paper first.

    options: of the fixed-target view. A figure that the store has no data for is left out, and the paper says why.
    """
    directory = Path(directory)
    if directory.exists() and not directory.is_dir():
        raise OptarenaError(f"{directory} is a file: name a directory")
    material = Material.fine(results, {"fixed_target": options})
    view = material.must_reach()
    files: dict[Path, bytes] = {}
    body: list[str] = []
    for part in PARTS:
        figures = [line for name, paper in part.figures for line in _figures(material, name, paper, files)]
        drawn = any(not line.startswith("%") for line in figures)
        body += ["", *([rf"\section{{{escaped(part.title)}}}"] if drawn else []), *figures, r"\clearpage"]
    body += ["", r"\section{Expected running times}", *_tables(view, files)]
    tabled = [data.decode() for path, data in files.items() if path.suffix == ".tex"]
    text = "\n".join([*_head(view, [*body, *tabled]), *body, r"\end{document}", ""])
    # the paper is there when all that it includes is there
    write_together({directory / name: data for name, data in {**files, Path("paper.tex"): text.encode()}.items()})
    return [directory / name for name in (Path("paper.tex"), *files)]


def _figures(material: Material, name: str, paper: str, files: dict[Path, bytes]) -> Iterator[str]:
    try:
        found = sheets(name, material, paper=paper)
    except OptarenaError as error:
        yield from commented([f"{name}: {error}"])
        return
    for i, sheet in enumerate(found):
        path = Path("figures") / f"{name}{f'-{i + 1}' if i else ''}.pdf"
        files[path] = pdf(sheet.chart, sheet.svg)
        size = r"width=0.6\textwidth" if paper == "column" else r"width=\textwidth"
        yield from (
            rf"\begin{{figure}}[{HERE}]",
            r"\centering",
            rf"\includegraphics[{size},height=0.8\textheight,keepaspectratio]{{{path.as_posix()}}}",
            rf"\caption{{{escaped(sheet.caption)}}}",
            r"\end{figure}",
        )


def _tables(view: FixedTarget, files: dict[Path, bytes]) -> Iterator[str]:
    from optarena.report.boards.ratios import ratio_tables

    for i, table in enumerate(ratio_tables(view, PAGE_OF_TABLES)):
        path = Path("tables") / f"ratios-{i + 1}.tex"
        files[path] = table.latex().encode()
        yield from (
            rf"\begin{{table}}[{HERE}]",
            r"\centering\footnotesize",
            rf"\resizebox{{\textwidth}}{{!}}{{\input{{{path.as_posix()}}}}}",
            rf"\caption{{{table.caption.latex}}}",
            r"\end{table}",
        )
    yield r"\clearpage"


def _head(view: FixedTarget, texts: Iterable[str]) -> list[str]:
    """What a LaTeX file begins with; signs of its texts that its fonts lack are shown by their number."""
    names = tables.ranked(view)
    suites = " and ".join(natural(view.ert["suite"].drop_nulls().unique().to_list()))
    title = (
        f"{' and '.join(names) if len(names) < 3 else f'{len(names)} optimizers'}{f' on {suites}' if suites else ''}"
    )
    first = [
        rf"Data: {escaped(tables.described(view))}.",
        rf"Optimizers, the one that reached most targets first: {escaped(', '.join(names))}.",
        *(rf"{escaped(note[:1].upper() + note[1:])}." for note in view.notes[:8]),
    ]
    signs = {sign for line in [*texts, *first, escaped(title)] for sign in line}
    unknown = sorted(sign for sign in signs if ord(sign) > 0xFF or sign in NOT_IN_FONTS)
    return [
        *commented(["Compile with pdflatex. Figures and tables stand beside this file; captions say what they show."]),
        r"\documentclass[10pt]{article}",
        r"\usepackage[utf8]{inputenc}",
        r"\usepackage[margin=2cm]{geometry}",
        r"\usepackage{graphicx}",
        r"\usepackage{booktabs}",
        r"\usepackage{amssymb}",
        *(rf"\DeclareUnicodeCharacter{{{ord(sign):04X}}}{{\texttt{{U+{ord(sign):04X}}}}}" for sign in unknown),
        rf"\title{{{escaped(title)}}}",
        r"\date{}",
        r"\begin{document}",
        r"\maketitle",
        *first,
    ]
