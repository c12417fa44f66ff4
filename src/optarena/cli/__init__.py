"""The command line. A command's module is imported when that command is called, so `--help` costs next to nothing.

Commands only call what a Python user can call. Errors are one sentence on stderr: exit 2 for a bad call or bad input,
1 for work that failed, 130 for an interrupt.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import io
import itertools
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from inspect import isclass
from typing import Any, get_args

import typer
from typer.utils import get_params_from_function

from optarena._memory import no_collection
from optarena._text import lines
from optarena._version import __version__
from optarena.cli._examples import EXAMPLES
from optarena.cli._terminal import say, terminal_width
from optarena.errors import DamagedStore, OptarenaError, WorkError, nearest

COMMANDS = {
    "try": "Which optimizer for my problem? Answers, and writes a report.",
    "run": "Run an experiment, given by a TOML file or by flags.",
    "jobs": "Write an experiment as jobs for a cluster, one line each.",
    "pilot": "Do a part of a run that was announced; jobs call it.",
    "cancel": "Stop the pilots of a store; what was evaluated is kept.",
    "status": "What is done, running, failed and why, interrupted, missing.",
    "best": "The best found on each problem, with its parameters.",
    "score": "A view's scores: who is best, by how much, how sure.",
    "compare": "What to use: who beats whom, and how sure that is.",
    "figure": "One figure of a store, for a paper, a slide or a page.",
    "paper": "The figures and tables of a paper, with a LaTeX file.",
    "report": "Everything on one page that works offline and can be mailed.",
    "serve": "The same page, live while experiments run.",
    "check": "Is an optimizer, a problem or a solver well-behaved?",
    "replay": "Run a study again, and prove that it is the same.",
    "compact": "Make a store smaller, and faster to open.",
    "verify": "Is a store or an archive as it was written?",
    "repair": "Move damaged parts of a store aside; good data stays.",
    "merge": "Merge several stores into one.",
    "publish": "Put a store into an archive that strangers can check.",
    "import": "Import data of other tools, or of a spreadsheet, into a store.",
    "export": "Write a store in a format that others read.",
    "bayesmark": "Bayesmark's commands: launch, exp, agg, baseline, anal, init.",
    "list": "List optimizers, problems, solvers or formats.",
    "env": "Environments of optimizers that cannot live together.",
    "demo": "A small experiment from start to end, in under a minute.",
    "completion": "Completion of commands and names in a shell.",
}

SHOWING = ("try", "score", "compare", "figure", "paper", "report", "serve")
"""Commands that work on many small tables: threads for each cost more than they save."""


def main(argv: Sequence[str] | None = None) -> int:
    """The program `optarena`; returns its exit code."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a terminal that lacks a sign shows its number instead
            stream.reconfigure(errors="backslashreplace")
    chosen = next((word for word in arguments if not word.startswith("-")), None)
    if chosen is not None and chosen not in COMMANDS:
        known = ", ".join(COMMANDS)
        return _complain(f"no command {chosen!r}.{nearest(chosen, COMMANDS)} (commands: {known})", 2)
    if chosen in SHOWING:
        os.environ.setdefault("POLARS_MAX_THREADS", "1")
    try:
        with _damage_told():
            code = _call(chosen, arguments, program=argv is None)
        sys.stdout.flush()
        return code
    except OptarenaError as error:
        return _complain(str(error), 2)
    except WorkError as error:
        return _complain(str(error), 1)
    except KeyboardInterrupt:
        return _complain("interrupted", 130)
    except BrokenPipeError:  # the reader of our output has gone (`| head`): nothing is wrong
        _write_nowhere()
        return 0
    except OSError as error:  # a disk that is full, say
        _write_nowhere()
        return _complain(f"{error.filename or 'writing the output'}: {error.strerror}", 1)


def _call(chosen: str | None, arguments: list[str], *, program: bool) -> int:
    """Do what the arguments say; the exit code. program: this process does nothing else."""
    try:
        if chosen == "bayesmark":  # its flags take several values each, which Typer's cannot
            from optarena.cli.bayesmark_command import command

            return command(arguments[arguments.index(chosen) + 1 :])
        with no_collection():
            app = _app(chosen)
        if program:
            gc.freeze()  # modules stay: a search for garbage, now or when the process ends, need not look at them
        whole = _named(app)
        code = whole(arguments, prog_name="optarena", standalone_mode=False)
        return code if isinstance(code, int) else 0
    except REFUSED as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            error.show()
            return error.exit_code
        return _complain(_sentence(error, chosen, arguments), 2)
    except typer.Abort:
        return _complain("interrupted", 130)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # which Typer takes for a failure
            raise stop.__context__ from None
        return stop.code if isinstance(stop.code, int) else 1


REFUSED: Any = next(cls for cls in typer.BadParameter.__mro__ if cls.__name__ == "ClickException")
"""What the library of the command line raises where a call is wrong."""


def _sentence(error: Any, chosen: str | None, arguments: list[str]) -> str:
    """What is wrong with a call, in our words."""
    kind, text = type(error).__name__, error.format_message().strip()
    help = f"optarena {chosen} --help" if chosen else "optarena --help"
    flag = "/".join(re.findall(r"'([^']+)'", text.partition(": ")[0])) if kind == "BadParameter" else ""
    if kind == "NoSuchOption":
        known = [flag for parameter in error.ctx.command.params for flag in parameter.opts if flag.startswith("--")]
        return f"no option {error.option_name!r}.{nearest(error.option_name, known)} ({help} shows all)"
    if kind == "MissingParameter":
        few = re.sub(r"\s+", " ", text.partition("Choose from:")[2]).strip()
        return f"give {error.param.name.upper()}{f': {few}' if few else ''} ({help})"
    if kind == "BadParameter":
        text = text.partition(": ")[2].removeprefix("Value error, ").rstrip(".")
        given = [word for before, word in itertools.pairwise(arguments) if before in flag.split("/")]
        for theirs, ours in WORDS.items():
            text = re.sub(theirs, ours, text)
        got = f", got {given[-1]!r}" if given and f"'{given[-1]}'" not in text else ""
        return f"{flag}: {text}{got} ({help})"
    return f"{text[:1].lower()}{text[1:].rstrip('.')} ({help})"


WORDS = {
    r"'.*' is not a valid int": "expected a whole number",
    r"'.*' is not a valid float": "expected a number",
    r"\S+ is not in the range x>=(\S+)": r"expected \1 or more",
    r"\S+ is not in the range x<=(\S+)": r"expected \1 or less",
    r"\S+ is not in the range (\S+)<=x<=(\S+)": r"expected \1 to \2",
}
"""Messages of the library, and ours."""


@contextlib.contextmanager
def _damage_told() -> Iterator[None]:
    """Say in a sentence that a store is damaged, whatever the command does with it; other warnings as ever."""
    told: set[str] = set()
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
        if not issubclass(category, DamagedStore):
            usual(message, category, *where, **more)
        elif str(message) not in told:
            told.add(str(message))
            _complain(f"warning: {message}", 0)

    with warnings.catch_warnings():
        warnings.simplefilter("always", DamagedStore)
        warnings.showwarning = show
        yield


def _write_nowhere() -> None:
    """What is still to be written would fail again when the process ends."""
    with contextlib.suppress(io.UnsupportedOperation):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _complain(sentence: str, code: int) -> int:
    say(f"optarena: {lines(sentence)}", file=sys.stderr)  # it may have names of files
    return code


def _app(chosen: str | None) -> typer.Typer:
    """The application with the chosen command loaded and the others by name and help only."""
    app = typer.Typer(
        help="Which optimizer is best, on which problems, by how much, and how sure are we?",
        add_completion=False,
        no_args_is_help=True,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback(invoke_without_command=True)
    def optarena(
        version: bool = typer.Option(False, "--version", help="Print the version and exit."),
    ) -> None:
        if version:
            print(f"optarena {__version__}")
            raise typer.Exit

    for name, text in COMMANDS.items():
        command: Callable[..., Any]
        if name == chosen:
            command = importlib.import_module(f"optarena.cli.{name}_command").command
        else:
            command = lambda: None  # noqa: E731 (stands for a command that this call does not use)
        context = {"max_content_width": max(80, min(terminal_width() or 80, 110))}
        app.command(name, help=text, epilog=_examples(name), context_settings=context)(command)
    return app


def _named(app: typer.Typer) -> Any:
    """The commands with plain words for what their options take, where the library would show types of Python."""
    group: Any = typer.main.get_command(app)
    for info in app.registered_commands:
        taken = get_params_from_function(info.callback) if info.callback else {}
        for parameter in group.commands[info.name].params:
            if parameter.name not in taken:  # --help
                continue
            kind = taken[parameter.name].annotation
            kinds = {kind, *get_args(kind)}
            if parameter.metavar is None and not any(issubclass(one, (bool, Enum)) for one in kinds if isclass(one)):
                number = kinds & {int, float}
                parameter.metavar = "NUMBER" if number else parameter.name.upper().replace("_", "-")
            if parameter.param_type_name == "argument" and parameter.required:
                written = (parameter.metavar or parameter.name.upper()) + "…" * (parameter.nargs != 1)
                parameter.get_usage_pieces = partial(_pieces, written)
    return group


def _pieces(written: str, _context: Any) -> list[str]:
    return [written]


def _examples(name: str) -> str:
    """The examples of a command, each on a line of its own."""
    return "\n".join(["\b", "Examples:", *(f"  {text}" for text in EXAMPLES.get(name, ()))])
