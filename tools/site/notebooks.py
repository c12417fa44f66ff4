"""A page of docs/tutorials as a notebook: the same text, the same code, and the outputs that its tests have checked."""

from __future__ import annotations

import json
import re
import shlex
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))
from pages import NOT_RUN, PICTURE, blocks

LINK = re.compile(r"(?<!!)\[([^\]]+)\]\((?!\w+:)[^)]*\)")


def notebook(page: Path) -> str:
    """The notebook of a page, as JSON of nbformat 4.5; pictures are those beside the page."""
    text = page.read_text(encoding="utf-8")
    lines = text.splitlines()
    cells: list[dict[str, Any]] = []
    files: set[str] = set()
    place = 0
    for block in blocks(text):
        _prose(cells, lines[place : block.first - 1], page.parent)
        place = block.first + len(block.text.splitlines()) + 1
        if block.kind == "text" and block.after in ("python", "console") and cells[-1]["cell_type"] == "code":
            cells[-1]["outputs"].append(_stream(block.text))
        elif block.kind == "console":
            printed = "\n".join(line for typed in block.commands() for line in typed.printed)
            cells.append(_code("%%bash\n" + "\n".join(_typed(typed.text) for typed in block.commands())))
            cells[-1]["outputs"] = [_stream(printed + "\n")] if printed else []
        elif block.file:
            again = "-a " if block.file in files else ""
            files.add(block.file)
            cells.append(_code(f"%%writefile {again}{block.file}\n{block.text}"))
        elif block.kind == "python":
            cells.append(_code(block.text))
        else:
            _prose(cells, [f"```{block.kind}", *block.text.splitlines(), "```"], page.parent)
    _prose(cells, lines[place:], page.parent)
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    data = {"cells": cells, "metadata": kernel, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(data, ensure_ascii=False, indent=1) + "\n"


def _prose(cells: list[dict[str, Any]], lines: list[str], folder: Path) -> None:
    """Text, and its pictures as outputs. Links to other pages become their words: a notebook lies elsewhere."""
    text: list[str] = []
    for line in [*lines, "![]()"]:
        picture = PICTURE.fullmatch(line.strip())
        if picture is None:
            text.append(LINK.sub(r"\1", line))
            continue
        if source := "\n".join(text).strip():
            cells.append({"cell_type": "markdown", "metadata": {}, "source": source})
        text = []
        if name := picture["file"]:
            cells.append(_code(f'from IPython.display import SVG\n\nSVG("{Path(name).name}")'))
            drawn = {"image/svg+xml": (folder / name).read_text(encoding="utf-8")}
            cells[-1]["outputs"] = [{"output_type": "display_data", "metadata": {}, "data": drawn}]


def _typed(command: str) -> str:
    """A command; what would install something is left to the reader."""
    return f"# {command}" if shlex.split(command, comments=True)[0] in NOT_RUN else command


def _code(source: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "execution_count": None, "source": source.rstrip("\n"), "outputs": []}


def _stream(text: str) -> dict[str, Any]:
    return {"output_type": "stream", "name": "stdout", "text": text}
