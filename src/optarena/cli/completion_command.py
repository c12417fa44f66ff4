"""`optarena completion`: completion in a shell: of commands, options, optimizers, problems, figures and stores.

The script has all names in it, so that a shell completes at once and without starting Python.
"""

from __future__ import annotations

import enum
import importlib
import inspect
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any

import typer


class Shell(StrEnum):
    bash = "bash"
    zsh = "zsh"
    fish = "fish"


def command(shell: Annotated[Shell, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the script."""
    print(SCRIPTS[shell](list(commands()), words()), end="")


@dataclass(frozen=True)
class Taken:
    """Something that a command takes: an option by its flags, or what stands at a place.

    `what`: the list of words that it may be (a key of `words`), `stores`, `files`, or empty for anything else.
    """

    flags: tuple[str, ...]
    value: bool
    what: str


@dataclass(frozen=True)
class Command:
    name: str
    options: tuple[Taken, ...]
    places: tuple[Taken, ...]


OF = {
    "optimizer": "optimizers", "solver": "solvers", "problem": "problems", "view": "views", "store": "stores",
    "stores": "stores", "format": "formats", "what": "checked", "names": "optimizers", "file": "files",
    "output": "files", "frame": "files", "save_frame": "files", "paths": "files", "old": "files",
    "record": "record", "kernels": "kernels",
}  # fmt: skip
"""What is completed, by the name of a parameter; a parameter of a few words has these."""


def words() -> dict[str, list[str]]:
    """The lists of words: every name that is registered, and the words of options."""
    from optarena.cli.bayesmark_command import PROGRAMS
    from optarena.formats import FORMATS
    from optarena.optimizer import OPTIMIZERS
    from optarena.problem import SUITES, get_suite
    from optarena.report.figures import FIGURES
    from optarena.solver import SOLVERS
    from optarena.views._options import OPTIONS, dashed

    problems: dict[str, None] = {}
    for name in SUITES.names():
        for id in get_suite(name).ids():
            problems["/".join(id.split("/")[:2])] = None
    return {
        "optimizers": OPTIMIZERS.names(),
        "solvers": SOLVERS.names(),
        "problems": [*(f"{name}/" for name in SUITES.names()), *problems],
        "views": [dashed(name) for name in OPTIONS],
        "formats": FORMATS.names(),
        "figures": list(FIGURES),
        "record": ["all", "improvements"],
        "kernels": ["pinned", "native"],
        "bayesmark": list(PROGRAMS),
        "checked": [*OPTIMIZERS.names(), *SOLVERS.names(), *problems],
    } | {_key(kind): [str(one.value) for one in kind] for one in _parameters() for kind in _enums(one)}


def commands() -> Iterator[Command]:
    from optarena.cli import COMMANDS

    for name in COMMANDS:
        if name == "bayesmark":
            yield Command(name, (), (Taken((), True, "bayesmark"),))
            continue
        options, places = [Taken(("-h", "--help"), False, "")], []
        for parameter in _of(name):
            info = _info(parameter)
            if isinstance(info, typer.models.OptionInfo):
                given = (info.default, *(info.param_decls or ()))  # the first stands where a default might
                flags = tuple(flag for flag in given if isinstance(flag, str) and flag.startswith("-"))
                if not info.hidden:
                    options.append(Taken(flags, bool not in _types(parameter), _what(name, parameter)))
            else:
                places.append(Taken((), True, _what(name, parameter)))
        yield Command(name, tuple(options), tuple(places))


def _of(name: str) -> list[inspect.Parameter]:
    module = importlib.import_module(f"optarena.cli.{name}_command")
    return list(inspect.signature(module.command, eval_str=True).parameters.values())


def _parameters() -> Iterator[inspect.Parameter]:
    from optarena.cli import COMMANDS

    for name in COMMANDS:
        if name != "bayesmark":
            yield from _of(name)


def _info(parameter: inspect.Parameter) -> Any:
    return parameter.annotation.__metadata__[0]


def _types(parameter: inspect.Parameter) -> list[Any]:
    """The types of a parameter's values, whether there may be none or several."""
    kind = parameter.annotation.__origin__
    return [part for one in (kind, *getattr(kind, "__args__", ())) for part in (one, *getattr(one, "__args__", ()))]


def _enums(parameter: inspect.Parameter) -> list[type[enum.Enum]]:
    return [kind for kind in _types(parameter) if inspect.isclass(kind) and issubclass(kind, enum.Enum)]


def _key(kind: type[enum.Enum]) -> str:
    return f"{kind.__module__.rpartition('.')[2]}_{kind.__name__}".lower()


def _what(command: str, parameter: inspect.Parameter) -> str:
    if found := _enums(parameter):
        return _key(found[0])
    if (command, parameter.name) == ("figure", "name"):
        return "figures"
    return OF.get(parameter.name, "")


# ---- scripts ---------------------------------------------------------------------------------------------------------


def _bash(all_of_them: list[Command], lists: dict[str, list[str]]) -> str:
    """Where something is expected that has no list, the shell completes files, as everywhere."""
    out = ["# bash completion of optarena: optarena completion bash", "_optarena() {"]
    out += [
        '    local cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" name="${COMP_WORDS[1]}"',
        '    local what="" place=0 i options="" valued="" word=""',
        "    COMPREPLY=()",
        "    if ((COMP_CWORD == 1)); then",
        f'        COMPREPLY=($(compgen -W "{_joined(one.name for one in all_of_them)} --help --version" -- "$cur"))',
        "        return",
        "    fi",
        '    case "$name" in',
    ]
    for one in all_of_them:
        flags = _joined(flag for option in one.options for flag in option.flags)
        valued = "|".join(flag for option in one.options if option.value for flag in option.flags)
        out += [f"    {one.name})", f'        options="{flags}"', f'        valued="|{valued}|"', "        ;;"]
    out += [
        "    esac",
        "    for ((i = 2; i < COMP_CWORD; i++)); do",
        '        word="${COMP_WORDS[i]}"',
        '        if [[ $word == -* ]]; then [[ $valued == *"|$word|"* ]] && ((i++)); else ((place++)); fi',
        "    done",
        '    if [[ $valued == *"|$prev|"* ]]; then place="$prev"; elif [[ $cur == -* ]]; then',
        '        COMPREPLY=($(compgen -W "$options" -- "$cur"))',
        "        return",
        "    fi",
        '    case "$name:$place" in',
    ]
    for one in all_of_them:
        for pattern, what in _places(one):
            out.append(f"    {pattern}) what={what} ;;")
    out += ["    esac", '    case "$what" in', "    stores)", *_BASH_STORES, "        ;;"]
    for what, named in lists.items():
        out += [f"    {what})", f'        COMPREPLY=($(compgen -W "{_joined(named)}" -- "$cur"))', "        ;;"]
    out += [
        "    esac",
        "    [[ $what == problems && ${#COMPREPLY[@]} -gt 0 ]] && compopt -o nospace",
        "    return 0",
        "}",
        "complete -o bashdefault -o default -F _optarena optarena",
    ]
    return "\n".join(out) + "\n"


_BASH_STORES = [
    "        local path",
    '        for path in "$cur"*/; do',
    '            if [[ -d $path/journal || -d $path/shards || -d $path/runs ]]; then COMPREPLY+=("${path%/}"); fi',
    "        done",
]


def _places(one: Command) -> Iterator[tuple[str, str]]:
    """Patterns of `command:option` and `command:place`, with what is expected there."""
    for option in one.options:
        if option.value and option.what:
            yield "|".join(f"{one.name}:{flag}" for flag in option.flags), option.what
    for i, place in enumerate(one.places):
        if place.what:
            yield f"{one.name}:{i}", place.what
    if one.places and one.places[-1].what:  # the last one may be repeated
        yield f"{one.name}:[0-9]*", one.places[-1].what


def _zsh(all_of_them: list[Command], lists: dict[str, list[str]]) -> str:
    """The same function: zsh runs it as bash does."""
    head = "#compdef optarena\n# zsh completion of optarena: optarena completion zsh\n"
    return (
        f"{head}autoload -U +X compinit && compinit\nautoload -U +X bashcompinit && bashcompinit\n"
        + "\n".join(_bash(all_of_them, lists).splitlines()[1:])
        .replace("compopt -o nospace", ":")
        .replace("-o bashdefault ", "")
        + "\n"
    )


def _fish(all_of_them: list[Command], lists: dict[str, list[str]]) -> str:
    from optarena.cli import COMMANDS

    out = [
        "# fish completion of optarena: optarena completion fish",
        "function __optarena_stores",
        "    for path in (commandline -ct)*/",
        "        test -d $path/journal -o -d $path/shards -o -d $path/runs; and string trim -r -c / -- $path",
        "    end",
        "end",
    ]
    for what, named in lists.items():
        out.append(f"set -g __optarena_{what} {_joined(map(shlex.quote, named))}")
    begin = "complete -c optarena"
    for name, help in COMMANDS.items():
        out.append(f"{begin} -n __fish_use_subcommand -f -a {name} -d {shlex.quote(help)}")
    for one in all_of_them:
        here = f"{begin} -n '__fish_seen_subcommand_from {one.name}'"
        for option in one.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
            out.append(f"{here} {flags}{_fish_words(option.what) if option.value else ''}")
        for what in dict.fromkeys(place.what for place in one.places if place.what not in ("", "files")):
            out.append(f"{here}{_fish_words(what, alone=False)}")
    return "\n".join(out) + "\n"


def _fish_words(what: str, *, alone: bool = True) -> str:
    if what in ("", "files"):
        return " -r"
    found = "(__optarena_stores)" if what == "stores" else f"$__optarena_{what}"
    return f" {'-x ' if alone else ''}-a '{found}'"


def _joined(names: Any) -> str:
    return " ".join(names)


SCRIPTS = {Shell.bash: _bash, Shell.zsh: _zsh, Shell.fish: _fish}
