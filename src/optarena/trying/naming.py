"""What the files of a try are called, after its problem."""

from __future__ import annotations

from pathlib import Path

from optarena.problem import SUITES, Subject


def name_of(given: str | Subject) -> str:
    """What files about a problem are called: mine.py:loss, mine; functions/branin/d2, functions-branin-d2."""
    text = given if isinstance(given, str) else given.id
    reference = SUITES.reference(text)
    return _as_file_name(Path(reference.place).name.split(".")[0] if reference.on_disk else text)


def report_of(given: str | Subject) -> str:
    """The report's name: mine.py:loss, mine-loss-report.html. Another function of the file has another report."""
    reference = SUITES.reference(given if isinstance(given, str) else given.id)
    function = f"-{_as_file_name(reference.part)}" if reference.kind == "object" else ""
    return f"{name_of(given)}{function}-report.html"


def _as_file_name(text: str) -> str:
    return "".join(sign if sign.isalnum() or sign in "-_." else "-" for sign in text).strip("-.") or "problem"
