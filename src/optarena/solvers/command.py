"""Solvers that are programs: any language, one line per solution. Describing one takes a TOML file.

    [solver]
    command = ["./solve", "--seconds", "{seconds}", "--seed", "{seed}", "--alpha", "{alpha}", "{instance}"]
    output = "lines"        # time and objective; "json": an object a line; "minizinc": MiniZinc's stream
    [solver.settings]
    alpha = 0.5             # what {alpha} stands for, unless a configuration says otherwise

No shell is ever used: each word of the command is one argument. docs/solvers.md has what a line may say.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from optarena._damage import damage_named
from optarena._files import read_toml
from optarena._programs import as_environment, as_settings, find_program
from optarena._scratch import Scratch
from optarena.errors import OptarenaError, nearest
from optarena.instance import Instance
from optarena.registry import Reference
from optarena.solver import Emit, Ended, Solver, Time
from optarena.solvers._program import Program
from optarena.solvers.minizinc import follow
from optarena.status import ENDS

REGISTERED = {"opens": [".toml"]}

FIELDS = ("command", "output", "clock", "environment", "version", "settings")
OUTPUTS = ("lines", "json", "minizinc")
CLOCKS = ("program", "ours")
GIVEN = ("instance", "seconds", "seed")
_HOLE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


class CommandSolver(Solver):
    """The base of the classes that `open_reference` makes of files."""

    takes = ("file",)
    command: ClassVar[list[str]] = []
    output: ClassVar[str] = "lines"
    clock: ClassVar[str] = "program"
    environment: ClassVar[dict[str, str]] = {}
    directory: ClassVar[Path] = Path()
    told_version: ClassVar[str] = ""

    @classmethod
    def versions(cls, chosen: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003
        return {cls.__name__: cls.told_version} if cls.told_version else {}

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended | None:
        with Scratch("solver") as folder:
            file = instance.file()
            if not isinstance(file, Path):
                name, content = file
                file = Path(folder) / Path(name).name
                file.write_text(content, encoding="utf-8")
            values = {"instance": str(file), "seconds": f"{budget.left():.3f}", "seed": str(self.seed)}
            values |= {key: _word(value) for key, value in self.chosen.items()}
            command = [_HOLE.sub(lambda hole: values[hole[1]], word) for word in self.command]
            with Program(command, self.directory, self.environment) as program:
                if self.output == "minizinc":
                    return follow(program, instance, budget, emit)
                return self._follow(program, budget, emit)

    def _follow(self, program: Program, budget: Time, emit: Emit) -> Ended | None:
        """Take its lines to their end; lines of another kind are ignored, unless all are."""
        ended: Ended | None = None
        understood, first = False, b""
        for line in program.lines(budget):
            told = _object(line) if self.output == "json" else _numbers(line)
            if told is None:
                first = first or line.strip()
                continue
            understood = True
            status = told.pop("status", None)
            if "objective" not in told:
                counters = {key: float(value) for key, value in told.items() if _is_number(value)}
                ended = Ended(_end(status), counters.pop("bound", None), counters)
                continue
            value, solution = told.pop("objective"), told.pop("solution", None)
            efforts = {k: v for k, v in told.items() if _is_number(v) and k.isidentifier() and k != "self"}
            seconds, bound = efforts.pop("seconds", None), efforts.pop("bound", None)
            if not emit(value, solution, bound=bound, seconds=seconds if self.clock == "program" else None, **efforts):
                program.stop()
            if status is not None:
                ended = Ended(_end(status), bound)
        if first and not understood:
            wanted = "an object with an 'objective'" if self.output == "json" else "'time objective'"
            raise ValueError(f"none of its lines is {wanted}; the first is {first[:100]!r}")
        return ended


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _end(status: Any) -> str:
    word = str(status).strip().lower().replace("_", " ")
    aliases = {
        "unsatisfiable": "infeasible",
        "unknown": "no solution",
        "satisfied": "feasible",
        "time limit": "feasible",
    }
    word = aliases.get(word, word)
    if word not in ENDS:
        raise ValueError(f"it ended as {status!r}, expected one of {', '.join(ENDS)}")
    return word


def _numbers(line: bytes) -> dict[str, Any] | None:
    """`time objective`, or a word that says how it ended."""
    words = line.split()
    if len(words) == 2:
        try:
            return {"seconds": float(words[0]), "objective": float(words[1])}
        except ValueError:
            pass
    word = line.decode(errors="replace").strip().lower()
    return {"status": word} if word in ENDS else None


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        told = json.loads(line)  # takes Infinity and NaN too, which many programs print as bounds
    except (ValueError, RecursionError):
        return None
    return told if isinstance(told, dict) and ("objective" in told or "status" in told) else None


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# ---- the file -------------------------------------------------------------------------------------------------------


def open_reference(reference: Reference) -> type[CommandSolver]:
    """The class of the solver that a TOML file describes."""
    path = reference.path
    data = read_toml(path)
    table = data.get("solver")
    if not isinstance(table, dict) or len(data) > 1:
        raise OptarenaError(
            f"{path}: expected a table [solver] with a command, and nothing else (docs/solvers.md; of an optimizer:"
            " [optimizer], docs/protocol.md)"
        )
    for key in table:
        if key not in FIELDS:
            known = ", ".join(FIELDS)
            raise OptarenaError(f"no such field.{nearest(key, FIELDS)} (known: {known})", field=f"solver.{key}").within(
                str(path)
            )
    try:
        with damage_named("its fields", "those of a solver"):
            return _make(table, path)
    except OptarenaError as error:
        raise error.within(str(path)) from error


def _make(table: dict[str, Any], path: Path) -> type[CommandSolver]:
    command = table.get("command")
    if not isinstance(command, list) or not command or not all(isinstance(w, str) and w for w in command):
        raise OptarenaError(
            f"expected a list such as ['./solve', '{{instance}}'], got {command!r}", field="solver.command"
        )
    for key, known in (("output", OUTPUTS), ("clock", CLOCKS)):
        given = table.get(key, known[0])
        if given not in known:
            raise OptarenaError(f"expected one of {', '.join(known)}, got {given!r}", field=f"solver.{key}")
    declared = as_settings(table.get("settings", {}), "solver.settings", GIVEN)
    holes = {hole for word in command for hole in _HOLE.findall(word)}
    for hole in sorted(holes):
        if hole not in (*GIVEN, *declared):
            known_ = ", ".join((*GIVEN, *declared))
            raise OptarenaError(
                f"nothing is called {{{hole}}}.{nearest(hole, declared)} (known: {known_})", field="solver.command"
            )
    for key in declared:
        if key not in holes:
            raise OptarenaError(f"no word of the command has {{{key}}}", field=f"solver.settings.{key}")
    directory = path.resolve().parent
    environment = as_environment(table.get("environment", {}))
    return type(
        path.stem,
        (CommandSolver,),
        {
            "__doc__": f"The program that {path.name} describes.",
            "command": [find_program(command[0], directory, environment.get("PATH")), *command[1:]],
            "output": table.get("output", "lines"),
            "clock": table.get("clock", "program"),
            "environment": environment,
            "directory": directory,
            "settings": declared,
            "told_version": str(table.get("version", "")),
        },
    )
