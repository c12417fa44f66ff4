"""What scripts build on does not change by accident: commands with their options, and columns of exported tables.

`python tests/test_public_commands.py` writes both lists again, for a change that is meant and in the changelog.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import polars as pl
import pytest
import typer

import optarena as oa
from optarena.cli import COMMANDS, _app
from optarena.cli.bayesmark_command import PROGRAMS, _parser
from optarena.formats import export

DATA = Path(__file__).parent / "data"
RENEW = "if it is meant and in CHANGELOG.md: python tests/test_public_commands.py, and look at what git diff says"


def commands() -> list[str]:
    """One line per command, and one per argument or option with its default."""
    lines = []
    for name in COMMANDS:
        if name != "bayesmark":
            lines += _lines(name, typer.main.get_command(_app(name)))
    for name in PROGRAMS:
        lines.append(f"bayesmark {name}")
        for action in _parser(name)._actions:
            if action.dest != "help":
                must = " required" if action.required else f" = {action.default}"
                lines.append(f"  {', '.join(action.option_strings)}{must}")
    return lines


def _lines(name, command):
    inner = getattr(command, "commands", {})
    if name in inner:  # the program holds it
        return _lines(name, inner[name])
    lines = [name] if not inner else []
    for parameter in () if inner else command.params:
        written = ", ".join([*parameter.opts, *parameter.secondary_opts])
        shown = written if parameter.param_type_name == "option" else parameter.name.upper()
        several = " …" if getattr(parameter, "multiple", False) or parameter.nargs != 1 else ""
        default = " required" if parameter.required else f" = {parameter.default}"
        if "--help" not in parameter.opts:
            choices = " ".join(map(str, getattr(parameter.type, "choices", ())))
            lines.append(f"  {shown}{several}{default}{f' of {choices}' if choices else ''}")
    return lines + [line for part, found in inner.items() for line in _lines(f"{name} {part}", found)]


def exported_tables(place: Path) -> dict[str, pl.DataFrame]:
    """Every table that `score`, `compare` and `export` write, of small runs; by its view and its name."""
    both = ["RandomSearch", "QuasiRandom"]
    one = oa.Experiment(both, "functions/sphere/d2", 8, trials=2, seed=1).run(place / "one", workers=0)
    two = oa.Experiment("RandomSearch", "zdt/zdt1/d5", 8, trials=2, seed=1).run(place / "two", workers=0)
    runs = {"problem": "p", "optimizer": ["a", "a", "b"], "value": [3.0, 2.0, 2.0], "seconds": [1.0, 2.0, 3.0]}
    views = {
        "fixed-cost": one.fixed_cost(),
        "fixed-target": one.fixed_target(),
        "fixed-target coco": one.fixed_target(mode="coco"),
        "pareto": two.pareto(),
        "anytime": oa.from_frame(pl.DataFrame(runs)).anytime(axis="seconds"),
    }
    out = {"studies": one.studies}
    for title, view in views.items():
        out |= {f"{title}: {name}": view.table(name) for name in (*view.tables, *view.on_demand)}
    made = one.compare()
    out |= {f"compare: {name}": table for name, table in made.tables.items()}
    for title, results in (("one objective", one), ("two objectives", two)):
        export("csv", results, place / f"{title}.csv")
        out[f"csv of {title}"] = pl.read_csv(place / f"{title}.csv")
    return out


def columns(place: Path) -> list[str]:
    """One line per table."""
    return [f"{name}: {', '.join(table.columns)}" for name, table in exported_tables(place).items()]


LISTS = {"public_commands.txt": lambda place: commands(), "public_columns.txt": columns}


def written(name: str, place: Path) -> str:
    return "\n".join(LISTS[name](place)) + "\n"


@pytest.mark.parametrize("name", LISTS)
def test_commands_options_and_columns_are_the_listed_ones(name, tmp_path):
    listed = (DATA / name).read_text(encoding="utf-8")
    assert written(name, tmp_path) == listed, RENEW


def test_the_list_has_what_a_caller_sees():
    lines = commands()
    assert "publish" in lines
    assert "  -O, --output = None" in lines
    assert "  ACTION required of create list remove" in lines
    assert "  -r, --repeat = 20" in lines


if __name__ == "__main__":
    for name in LISTS:
        with tempfile.TemporaryDirectory() as scratch:
            (DATA / name).write_text(written(name, Path(scratch)), encoding="utf-8")
    print(f"written: {', '.join(LISTS)}", file=sys.stderr)
