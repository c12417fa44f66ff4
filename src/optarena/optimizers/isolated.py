"""Optimizers of ours in environments of their own: the library that one needs, and nothing of the others'.

    optarena run -o Ax -o Nevergrad-DE --isolated -p functions/sphere/d5 -n 50

Its class is known here, so what it can do and what may be set is checked as ever; what it does is done by
`optarena.runner.host` in its environment, behind the optimizer protocol. The host gets the state of the random stream,
so that the same versions give the same points as in this process.
"""

from __future__ import annotations

import importlib.metadata
import platform
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from optarena.environments import NotMade, Wanted, ready
from optarena.errors import OptarenaError
from optarena.optimizer import OPTIMIZERS, Capabilities, Optimizer, check_settings
from optarena.optimizers.command import CommandOptimizer, Hello

CORE = ("numpy", "scipy", "msgspec", "greenlet", "moocore")
"""What optimizers of ours need besides their libraries."""
PACKAGE = str(Path(__file__).parents[1])
HOST = """
import importlib.util, sys
place, name = sys.argv[1:]
spec = importlib.util.spec_from_file_location("optarena", place + "/__init__.py", submodule_search_locations=[place])
sys.modules["optarena"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["optarena"])
importlib.import_module("optarena.runner.host").main(name)
"""
"""optarena is not installed in an environment, but loaded from where it is: so both sides are always the same."""
_EXTRA = re.compile(r"(.*?)\s*;\s*extra\s*==\s*['\"](.+)['\"]")


class IsolatedOptimizer(CommandOptimizer):
    """The base of the classes that `isolated_optimizer` makes."""

    original: ClassVar[type[Optimizer]] = Optimizer

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:
        return cls.original.conflict(chosen, dimension)

    def _first(self, budget: int | None) -> dict[str, Any]:
        return {"stream": as_stream(self.rng), **super()._first(budget)}


def isolated_optimizer(name: str, settings: Mapping[str, Any]) -> type[IsolatedOptimizer]:
    """The class of an optimizer of ours, as it is used, that works in its own environment; made if it does not exist.

    If it cannot be made, the class says so when it is used: then its studies fail, and others go on.
    """
    original = original_of(name)
    check_settings(original, name, settings)
    original = original.as_used(settings)
    said, environment = Hello(Capabilities(array_native=True)), None
    try:
        environment = ready(wanted(name, *original.wraps), name)
    except NotMade as error:
        said = Hello(trouble=str(error))
    return type(
        name,
        (IsolatedOptimizer,),
        {
            "__doc__": original.__doc__,
            "original": original,
            "command": ["python", "-P", "-c", HOST, PACKAGE, name],
            "directory": Path("/"),
            "seconds": None,  # as in this process: the limits of a run apply
            "settings": original.settings,
            "on_several": original.on_several,
            "environment": environment,
            "said": said,
            "capabilities": msgspec.structs.replace(original.capabilities, array_native=True, own_process=False),
        },
    )


def original_of(name: str) -> type[Optimizer]:
    """The class of an optimizer of ours, whether its library is installed here or not."""
    entry = OPTIMIZERS.built_in.get(name)
    if entry is None:
        OPTIMIZERS.load(name)  # which says what is wrong with a name
        raise OptarenaError(
            f"{name}: only optimizers of optarena's own can be isolated (optarena list optimizers); another one can"
            " have a manifest with an [environment] (docs/environments.md)"
        )
    found: type[Optimizer] = entry.load()
    return found


def wanted(*names: str) -> Wanted:
    """The environment of an optimizer of ours, and of those that it drives: this Python, and what their extras name."""
    needed = _required(None, CORE)
    for name in names:
        extra = OPTIMIZERS.entry(name).extra
        needed += [text for text in _required(extra) if text not in needed] if extra else []
    return Wanted(".".join(platform.python_version_tuple()[:2]), tuple(needed))


def _required(extra: str | None, names: Sequence[str] = ()) -> list[str]:
    """What an extra requires; of the core, what these packages must be."""
    try:
        given = importlib.metadata.requires("optarena") or []
    except importlib.metadata.PackageNotFoundError:
        raise OptarenaError("optarena is not installed, so what its extras need is not known: pip install it") from None
    parts = [(found[1], found[2]) if (found := _EXTRA.fullmatch(text)) else (text, None) for text in given]
    of_extra = [text for text, which in parts if which == extra]
    if not names:
        return of_extra
    return [text for text in of_extra if (found := re.match(r"[\w.-]+", text)) and found[0] in names]


def as_stream(rng: np.random.Generator) -> list[Any]:
    """The state of a generator; its numbers have 128 bits, so they are texts."""
    state: Any = rng.bit_generator.state
    if state["bit_generator"] != "PCG64":
        raise OptarenaError(f"a generator of NumPy's default kind is expected, got {state['bit_generator']}")
    inner = state["state"]
    return [hex(inner["state"]), hex(inner["inc"]), state["has_uint32"], state["uinteger"]]


def from_stream(stream: Sequence[Any]) -> np.random.Generator:
    """The generator again."""
    rng = np.random.default_rng()
    rng.bit_generator.state = {
        "bit_generator": "PCG64",
        "state": {"state": int(stream[0], 16), "inc": int(stream[1], 16)},
        "has_uint32": stream[2],
        "uinteger": stream[3],
    }
    return rng
