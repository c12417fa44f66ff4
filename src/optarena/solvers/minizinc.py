"""MiniZinc with any of its backends: models and data in, its stream of JSON lines out."""

from __future__ import annotations

import functools
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import msgspec

from optarena._scratch import Scratch
from optarena.errors import OptarenaError, describe, nearest
from optarena.instance import Instance
from optarena.settings import Setting, flag, text, whole
from optarena.solver import Emit, Ended, Solver, Time
from optarena.solvers._program import Program

REGISTERED = {
    "library": "MiniZinc",
    "licence": "MPL-2.0",
    "program": "minizinc",
    "program_from": "apt-get install minizinc flatzinc, or minizinc.org",
    "names": {"MiniZinc": "MiniZinc"},
}

STATUSES = {
    "OPTIMAL_SOLUTION": "optimal",
    "ALL_SOLUTIONS": "optimal",
    "UNSATISFIABLE": "infeasible",
    "UNBOUNDED": "unbounded",
}
COUNTERS = {"nodes": "nodes", "failures": "conflicts", "restarts": "restarts"}


class MiniZinc(Solver):
    """The minizinc program; `backend` is a solver that `minizinc --solvers` lists. Flattening is part of solving."""

    takes = ("minizinc",)
    settings: ClassVar[dict[str, Setting]] = {
        "backend": text("gecode"),
        "threads": whole(1),
        "free": flag(False),
        "optimisation": whole(1, 0),
    }

    @classmethod
    def misfit(cls, instance: Instance, chosen: Mapping[str, Any]) -> str:  # noqa: ARG003
        facts(chosen["backend"])
        return ""

    @classmethod
    def versions(cls, chosen: Mapping[str, Any]) -> dict[str, str]:
        backend = chosen.get("backend", cls.settings["backend"].default)
        return {"minizinc": version(), backend: str(facts(backend).get("version", "?"))}

    def __init__(self, *, seed: int = 0, **settings: Any) -> None:
        super().__init__(seed=seed, **settings)
        self.flags = facts(self.chosen["backend"]).get("stdFlags", [])

    def solve(self, instance: Instance, budget: Time, emit: Emit) -> Ended:
        model, data = instance.minizinc()
        with Scratch("minizinc") as folder:
            files = [_file(Path(folder) / "model.mzn", model)]
            if data is not None:
                files.append(_file(Path(folder) / "data.json", data))
            with Program(self._command(files, budget)) as program:
                return follow(program, instance, budget, emit)

    def _command(self, files: list[str], budget: Time) -> list[str]:
        words = [
            "minizinc",
            "--json-stream",
            "-i",
            "--output-time",
            "--output-objective",
            "--output-mode",
            "json",
            "-s",
        ]
        words += ["--solver", self.chosen["backend"], "-O", str(self.chosen["optimisation"])]
        words += ["--time-limit", str(max(1, round(budget.left() * 1000)))]
        if "-r" in self.flags:
            words += ["-r", str(self.seed)]
        if self.chosen["threads"] > 1:
            words += ["-p", str(self.chosen["threads"])]
        if self.chosen["free"]:
            words += ["-f"]
        return [*words, *files]


def follow(program: Program, instance: Instance, budget: Time, emit: Emit) -> Ended:
    """Take a stream of JSON lines to its end."""
    status, counters = "feasible", dict[str, float]()
    for line in program.lines(budget):
        if not line.strip():
            continue
        try:
            told = msgspec.json.decode(line)
            kind = told["type"]
        except (msgspec.DecodeError, UnicodeDecodeError, KeyError, TypeError):
            raise ValueError(f"MiniZinc's stream has an unknown line: {line[:100]!r}") from None
        if kind == "solution":
            given = told.get("output")
            output = given.get("json") if isinstance(given, dict) else None
            if not isinstance(output, dict) or ("_objective" not in output and not instance.decision):
                raise ValueError("a solution without an objective, though the model has one")
            told_values = {name: value for name, value in output.items() if name != "_objective"}
            solution = _solution(instance, output) if instance.verifies else told_values
            if not emit(0.0 if instance.decision else output["_objective"], solution, **counters):
                program.stop()
        elif kind == "statistics":
            numbers = told.get("statistics")
            numbers = numbers if isinstance(numbers, dict) else {}
            for theirs, ours in COUNTERS.items():
                if isinstance(numbers.get(theirs), (int, float)):
                    counters[ours] = float(numbers[theirs])
        elif kind == "status":
            status = STATUSES.get(str(told.get("status")), "feasible")
        elif kind == "error":
            raise ValueError(f"MiniZinc: {told.get('what', 'error')}: {told.get('message', '')}")
    return Ended(status, efforts=counters)


def _solution(instance: Instance, output: dict[str, Any]) -> Any:
    try:
        return instance.from_minizinc(output)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise ValueError(f"its output is not a solution of this instance: {describe(error)}") from error


def _file(path: Path, content: Path | str | dict[str, Any]) -> str:
    if isinstance(content, Path):
        return str(content)
    path.write_bytes(content.encode() if isinstance(content, str) else msgspec.json.encode(content))
    return str(path)


@functools.cache
def _run(*words: str) -> bytes:
    program = shutil.which("minizinc")
    if program is None:
        raise OptarenaError("the program 'minizinc' is not on the PATH: apt-get install minizinc flatzinc")
    try:
        return subprocess.run([program, *words], capture_output=True, timeout=60, check=False).stdout
    except (OSError, subprocess.TimeoutExpired) as error:
        raise OptarenaError(f"minizinc does not answer: {error}") from error


def version() -> str:
    """As `minizinc --version` tells it."""
    words = _run("--version").decode(errors="replace").split("version ")
    return words[1].split(",")[0].split()[0] if len(words) > 1 else "?"


def facts(backend: str) -> dict[str, Any]:
    """What minizinc knows of a backend, by its id or its tag."""
    try:
        known = msgspec.json.decode(_run("--solvers-json"), type=list[dict[str, Any]])
    except msgspec.DecodeError as error:
        raise OptarenaError(f"minizinc --solvers-json is not readable ({error})") from error
    usable = [each for each in known if each.get("version", "<unknown version>") != "<unknown version>"]
    for each in usable:
        called = {each["id"], each["id"].rpartition(".")[2], *each.get("tags", ())}
        if backend.lower() in {name.lower() for name in called}:
            return each
    names = [each["id"].rpartition(".")[2] for each in usable]
    raise OptarenaError(f"minizinc has no backend {backend!r}.{nearest(backend, names)} (it has {', '.join(names)})")
