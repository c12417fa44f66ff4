"""Problems that are programs: any language, JSON lines in and out. Describing one takes a TOML file.

    [problem]
    command = ["./simulate", "--fast"]    # beside this file, or found on the PATH; no shell is ever used
    mode = "study"                        # one process per study, one line per evaluation; or "evaluation"
    seconds = 10                          # for one evaluation
    [problem.space.x]
    type = "real"
    space = "linear"
    range = [-5, 5]

A request is a line `{"evaluation":1,"parameters":{"x":0.5}}`; docs/commands.md has the answers. What goes wrong is a
failed evaluation: nothing but an interrupt leaves a problem otherwise.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from optarena._asking import CommandError, answered_costs, ask, last_words, short, start
from optarena._damage import damage_named
from optarena._files import read_toml
from optarena._json import printable
from optarena._programs import as_command, as_environment, as_seconds, find_program
from optarena.children import Child
from optarena.errors import OptarenaError, nearest
from optarena.problem import Evaluation, FunctionProblem
from optarena.registry import Reference
from optarena.space import Point

REGISTERED = {"opens": [".toml"]}

MODES = ("study", "evaluation")
LONGEST_ANSWER = 1 << 20
FACTS = (
    "sense objectives optimum front ideal nadir constraints metrics noisy stateless version".split()  # noqa: SIM905
)
FIELDS = ("command", "mode", "seconds", "environment", "directory", "space", *FACTS)
ANSWERS = ("value", "values", "violations", "metrics", "cost", "error", "evaluation")


class CommandProblem(FunctionProblem):
    """A program as a problem. Facts are those of `as_problem`."""

    def __init__(
        self,
        command: Sequence[str],
        space: Mapping[str, Any],
        *,
        mode: str = "study",
        seconds: float | None = None,
        environment: Mapping[str, str] | None = None,
        directory: str | Path = ".",
        id: str = "command",
        **facts: Any,
    ) -> None:
        super().__init__(self._ask, space, id=id, **facts)
        words = as_command(command, "['./simulate', '--fast']")
        if mode not in MODES:
            raise OptarenaError(
                f"expected 'study' or 'evaluation', got {mode!r}.{nearest(str(mode), MODES)}", field="mode"
            )
        added = as_environment({} if environment is None else environment)
        self.directory = Path(directory).resolve()
        if not self.directory.is_dir():
            raise OptarenaError(f"there is no directory {self.directory}", field="directory")
        self.added = added
        self.command = [find_program(words[0], self.directory, added.get("PATH")), *words[1:]]
        self.mode = mode
        self.seconds = None if seconds is None else as_seconds(seconds, " (without it there is no limit)")
        self._process: Child | None = None

    @classmethod
    def load(cls, path: str | Path) -> CommandProblem:
        """The problem that a TOML file describes; its id is the name of the file."""
        path = Path(path)
        data = read_toml(path)
        table = data.pop("problem", None)
        if not isinstance(table, dict):
            raise OptarenaError(f"{path}: no table [problem]; a problem has a command and a space (docs/commands.md)")
        for key in data:
            under = f"; is it [problem.{key}], or a field of [problem]?" if key in FIELDS else ""
            raise OptarenaError(f"{path}: {key}: there is nothing but [problem] in such a file{under}")
        try:
            for key in table:
                if key not in FIELDS:
                    known = ", ".join(FIELDS)
                    raise OptarenaError(
                        f"no such field.{nearest(key, FIELDS)} (known: {known})", field=f"problem.{key}"
                    )
            for key in ("command", "space"):
                if key not in table:
                    raise OptarenaError("missing", field=f"problem.{key}")
            directory = table.pop("directory", ".")
            if not isinstance(directory, str):
                raise OptarenaError(f"expected a text, got {directory!r}", field="problem.directory")
            with damage_named("its fields", "those of a problem"):
                found = cls(**table, directory=path.resolve().parent / directory, id=path.name)
        except OptarenaError as error:
            raise error.within(str(path)) from error
        found.function, found.source = path.stem, path.resolve()
        return found

    def reset(self, rng: np.random.Generator) -> None:  # noqa: ARG002
        self.close()
        self.evaluation = 1

    def close(self) -> None:
        if self._process is not None:
            process, self._process = self._process, None
            process.end()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self.close()

    def _ask(self, x: Point, rng: np.random.Generator | None = None) -> Evaluation:
        request: dict[str, Any] = {"evaluation": self.evaluation, "parameters": x}
        self.evaluation += 1
        if rng is not None:
            request["seed"] = int(rng.integers(2**31))
        if self._process is None:
            self._process = start(self.command, self.directory, self.added, longest=LONGEST_ANSWER)
        try:
            once = self.mode == "evaluation"
            text = ask(self._process, msgspec.json.encode(request) + b"\n", self.seconds, once=once)
            answer = as_answer(text, request["evaluation"])
        except BaseException as error:
            # after a failure the next output of the process is uncertain: the next evaluation gets a new one
            process, self._process = self._process, None
            process.end(now=True)
            if isinstance(error, (CommandError, TimeoutError)):
                raise type(error)(str(error) + last_words(process)) from None
            raise
        if self.mode == "evaluation":
            self.close()
        if isinstance(answer, CommandError):
            raise answer
        return answer


def open_reference(reference: Reference) -> CommandProblem:
    """The problem that a manifest describes."""
    return CommandProblem.load(reference.path)


def as_answer(text: bytes, evaluation: int) -> Evaluation | CommandError:
    """What a line says: values, or an error that the program reports (it is fine, and continues)."""
    shown = short(text)
    try:
        answer = msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise CommandError(f"answered {shown}, which is not JSON") from None
    if isinstance(answer, (int, float, str)) and not isinstance(answer, bool):
        answer = {"value": answer}
    elif isinstance(answer, list):
        answer = {"values": answer}
    if not isinstance(answer, dict):
        raise CommandError(f"answered {shown}, which is neither a number nor an object")
    for key in answer:
        if key not in ANSWERS:
            raise CommandError(
                f"answered with an unknown {key!r}.{nearest(key, ANSWERS)} (known: {', '.join(ANSWERS)})"
            )
    if answer.get("evaluation", evaluation) != evaluation:
        raise CommandError(f"answered evaluation {answer['evaluation']!r}, but was asked for {evaluation}")
    costs = answered_costs(answer)
    if answer.get("error") is not None:
        return CommandError(printable(str(answer["error"]))[:400], costs)
    if ("value" in answer) == ("values" in answer):
        raise CommandError(f"answered {shown}, which has {'both' if 'value' in answer else 'neither'} value and values")
    values = [answer["value"]] if "value" in answer else answer["values"]
    violations, metrics = answer.get("violations") or [], answer.get("metrics") or {}
    if not isinstance(values, list) or not isinstance(violations, list) or not isinstance(metrics, dict):
        raise CommandError(f"answered {shown}: values and violations are lists, metrics is an object")
    return Evaluation(
        [_number(value) for value in values],
        [_number(value) for value in violations],
        {name: _number(value) for name, value in metrics.items()},
        costs,
    )


def _number(value: Any) -> float:
    if value in ("inf", "-inf", "nan"):
        return float(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise CommandError(f"answered {short(value)}, which is not a number (nor 'inf', '-inf', 'nan')")
    try:
        return float(value)
    except OverflowError:
        raise CommandError(f"answered {short(value)}, which is larger than any float") from None
