"""`optarena check`: the conformance kit on an optimizer or a problem, by name or in a file."""

from __future__ import annotations

import contextlib
import inspect
import io
import sys
import textwrap
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import numpy as np
import typer

from optarena._numbers import counted, duration
from optarena._source import load_module
from optarena._text import clean, screen_width, shortened
from optarena.bayesmark.wrappers import load, wrapper_classes, wrappers_in
from optarena.errors import OptarenaError, nearest
from optarena.instance import Instance
from optarena.optimizer import OPTIMIZERS, Optimizer, check_settings, get_optimizer
from optarena.problem import SUITES, Subject, build, select
from optarena.settings import read_call
from optarena.solver import SOLVERS, Solver
from optarena.space import Space
from optarena.testing import (
    REAL,
    Finding,
    announced,
    check_instance,
    check_optimizer,
    check_solver,
    examine_problem,
    once,
    time_optimizer,
)

SLOW = 0.1
"""Seconds of an evaluation that are worth a line."""


def command(
    what: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE",
            help="An optimizer, also 'CMA-ES(popsize=8)', a solver, a problem (id or pattern), a file.",
        ),
    ],
) -> None:
    """Exit 0 if nothing is wrong, 1 if something must be fixed."""
    found = 0
    for name, thing in _things(what):
        with _Watching(name) as watching:
            kind, findings, notes = _checked(name, thing)
        found += _report(name, kind, findings, [*notes, *watching.notes()])
    if found:
        raise typer.Exit(1)


def _checked(name: str, thing: Any) -> tuple[str, list[Finding], list[str]]:
    """What kind of thing it is, what must be fixed, and what else is good to know."""
    if isinstance(thing, str):
        return "solver", check_solver(thing), []
    if isinstance(thing, OptarenaError):
        fix = "A problem is run by its name: a class takes no arguments and has a space; a function has one beside it."
        return "problem", [Finding("it can be made", name, str(thing), fix)], []
    if isinstance(thing, Instance):
        return "instance", check_instance(thing), []
    if isinstance(thing, type):
        settings = read_call(name)[1]
        findings = check_optimizer(thing, **settings)
        times = [f"{seconds * 1e3:.3g} ms on the {space} space" for space, seconds in _times(thing, settings).items()]
        return "optimizer", findings, [f"one suggest and one observe take {', '.join(times)}"] if times else []
    made = examine_problem(thing)
    notes = [line for note in made.notes for line in _lines(note, "problem")]
    if made.seconds >= SLOW:
        notes.append(f"one evaluation takes {duration(made.seconds)}")
    return "problem", made.findings, notes


def _report(name: str, kind: str, findings: list[Finding], notes: list[str]) -> int:
    """Each finding once, with the place to look at."""
    told = once(findings)
    if not told:
        print(f"{clean(name)}: a well-behaved {kind}")
    else:
        print(f"{clean(name)}: {counted(len(told), 'thing')} to fix")
    for line in [*(line for finding in told for line in _lines(finding, kind)), *notes]:
        indent = "  " + line[: len(line) - len(line.lstrip())]
        for part in textwrap.wrap(
            clean(line.strip()), max(40, screen_width()), initial_indent=indent, subsequent_indent=f"{indent}  ",
            break_long_words=False, break_on_hyphens=False,
        ):  # fmt: skip
            print(part)
    return len(told)


def _lines(finding: Finding, kind: str) -> list[str]:
    """A finding as it is printed: what and where, the traceback, what to do. Of a problem, `what` says it all."""
    at = f"{finding.place}: " if finding.place else ""
    head = f"{at}{finding.problem}{f' ({finding.check}: {finding.where})' if kind != 'problem' else ''}"
    return [head, *(f"    {line}" for line in finding.traceback.splitlines()), f"  {finding.fix}"]


class _Watching:
    """Shows what is being checked, on a terminal, and keeps what the checked code prints out of the report."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.printed = io.StringIO()
        self._out = sys.stderr
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Watching:
        self._stack.enter_context(announced(self._show))
        self._stack.enter_context(contextlib.redirect_stdout(self.printed))
        self._stack.enter_context(contextlib.redirect_stderr(self.printed))
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()
        if self._out.isatty():
            print("\r\x1b[K", end="", file=self._out, flush=True)

    def _show(self, step: str) -> None:
        if self._out.isatty():
            line = shortened(clean(f"{self.name}: {step} …"), screen_width() - 1)
            print(f"\r\x1b[K{line}", end="", file=self._out, flush=True)

    def notes(self) -> list[str]:
        """What was printed is counted, not shown."""
        lines = self.printed.getvalue().splitlines()
        return [f"it printed {counted(len(lines), 'line')}, first: {shortened(clean(lines[0]), 60)}"] if lines else []


def _times(cls: type[Optimizer], settings: Mapping[str, Any]) -> dict[str, float]:
    try:
        return time_optimizer(cls, **settings)
    except (Exception, SystemExit):
        return {}


def _things(what: str) -> list[tuple[str, Any]]:
    """The optimizers and problems that a name, a pattern or a file stands for; a solver by its name."""
    named, settings = read_call(what)
    if settings:
        cls = get_optimizer(named)
        check_settings(cls, named, settings)
        return [(what, cls)]
    reference = OPTIMIZERS.reference(what)
    if reference.kind == "file" and reference.form == ".py":
        wrapped = [(name, get_optimizer(f"{what}:{name}")) for name in wrapper_classes(Path(what))]
        module = load_module(Path(what))
        mine = {name: thing for name, thing in vars(module).items() if _is_own(thing, module.__name__)}
        own = [(name, thing) for name, thing in mine.items() if not _is_base(thing, mine.values())]
        own += [(name, _made(f"{what}:{name}")) for name in [*_problem_classes(module), *_problem_functions(module)]]
        closed = [
            (name, f"{what}:{name}") for name, thing in vars(module).items() if _is_solver(thing, module.__name__)
        ]
        checked: list[tuple[str, Any]] = [*wrapped, *own, *closed]
        if not checked:
            only = "only abstract optimizers" if mine else "no optimizer, no solver and no problem"
            raise OptarenaError(f"{what} defines {only}")
        return checked
    if reference.kind == "object":
        wrappers = wrapper_classes(reference.path)
        thing = get_optimizer(what) if reference.part in wrappers else reference.load()
        if (inspect.isclass(thing) and issubclass(thing, Subject)) or inspect.isfunction(thing):
            thing = build(what)
        if _is_solver(thing, thing.__module__ if inspect.isclass(thing) else ""):
            return [(reference.short, what)]
        if isinstance(thing, Subject) or (inspect.isclass(thing) and issubclass(thing, Optimizer)):
            return [(reference.short, thing)]
        raise OptarenaError(f"{what}: {type(thing).__name__} is not an optimizer, a solver or a problem")
    if reference.kind == "manifest":
        if reference.describes("optimizer"):
            return [(reference.short, get_optimizer(what))]
        return [(reference.short, what if reference.describes("solver") else build(what))]
    if what in OPTIMIZERS:
        return [(what, get_optimizer(what))]
    if what in SOLVERS:
        return [(what, what)]
    if SUITES.opener(reference) is not None or what.split("/")[0] in SUITES or "*" in what or "{" in what:
        return [(id, build(id)) for id in select(what)]
    if Path(what).is_dir():
        offered = wrappers_in(Path(what))
        if not offered:
            raise OptarenaError(f"{what} has neither a config.json nor a folder with an optimizer.py")
        return [(name, load(wrapper)[0]) for name, wrapper in offered.items()]
    if reference.on_disk:
        return [(what, get_optimizer(what))]
    hint = nearest(what, [*OPTIMIZERS.names(), *SOLVERS.names(), *SUITES.names()])
    listed = "optarena list optimizers, solvers, problems"
    raise OptarenaError(f"no optimizer, solver or problem is called {what!r}.{hint} ({listed})")


def _is_own(thing: Any, module: str) -> bool:
    if inspect.isclass(thing):
        return issubclass(thing, Optimizer) and thing.__module__ == module
    return isinstance(thing, Subject)


def _made(reference: str) -> Subject | OptarenaError:
    """A problem, or why it cannot be made: the rest of the file is checked all the same."""
    try:
        return build(reference)
    except OptarenaError as error:
        return error


def _problem_classes(module: ModuleType) -> list[str]:
    """Classes of problems that can be run by their names; those of which the file has others, or objects, are not."""
    things = vars(module).values()
    out = []
    for name, thing in vars(module).items():
        if not (inspect.isclass(thing) and issubclass(thing, Subject) and thing.__module__ == module.__name__):
            continue
        used = any(isinstance(other, thing) or (thing in getattr(other, "__mro__", ())[1:]) for other in things)
        parameters = inspect.signature(thing).parameters.values()
        needed = any(p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)
        if not used and not needed:
            out.append(name)
    return out


def _problem_functions(module: ModuleType) -> list[str]:
    """Functions that can be run by their names: with a space of their own, or that take what one beside them has."""
    found = vars(module).get("space")
    try:
        beside = set(Space(found).names if isinstance(found, (Mapping, Space)) else ())
    except OptarenaError:  # of something else, or wrong: `check FILE:FUNCTION` says so
        beside = set()
    own: list[str] = []
    by_name: list[str] = []
    by_dict: list[str] = []
    for name, thing in vars(module).items():
        if not inspect.isfunction(thing) or thing.__module__ != module.__name__:
            continue
        takes = list(inspect.signature(thing).parameters)
        if hasattr(thing, "space"):
            own.append(name)
        elif beside and beside <= set(takes):
            by_name.append(name)
        elif beside and len(takes) == 1:
            by_dict.append(name)
    return own + (by_name or (by_dict if len(by_dict) == 1 else []))  # several that take one thing: helpers


def _is_solver(thing: Any, module: str) -> bool:
    return inspect.isclass(thing) and issubclass(thing, Solver) and thing.__module__ == module


def _is_base(thing: Any, others: Iterable[Any]) -> bool:
    """Whether a class is abstract: it says so, or another class of the file completes it."""
    if not inspect.isclass(thing):
        return False
    if inspect.isabstract(thing):
        return True
    if not any(inspect.isclass(other) and issubclass(other, thing) and other is not thing for other in others):
        return False
    make: Any = thing
    try:
        optimizer = make(REAL, objectives=1, rng=np.random.default_rng(1))
        try:
            optimizer.suggest(1)
        finally:
            optimizer.close()
    except NotImplementedError:
        return True
    except (Exception, SystemExit):
        return False  # the kit will say what is wrong with it
    return False
