"""What others build on does not change by accident: names, arguments and defaults of `optarena.__all__`.

`python tests/test_public_api.py` writes the list anew, for a change that is meant and in the changelog.
"""

from __future__ import annotations

import inspect
from pathlib import Path

import optarena as oa

LIST = Path(__file__).parent / "data" / "public_api.txt"


def public() -> str:
    """One line per name, method and property."""
    lines = []
    for name in sorted(oa.__all__):
        if name.startswith("_"):
            continue
        thing = getattr(oa, name)
        lines.append(f"{name}{_arguments(thing)}")
        if inspect.isclass(thing):
            lines += sorted(
                f"{name}.{member}{_arguments(inspect.getattr_static(thing, member))}" for member in _members(thing)
            )
    return "\n".join(lines) + "\n"


def _members(cls: type) -> list[str]:
    """What the class and those of ours that it is made of define."""
    ours = [part for part in cls.__mro__ if part.__module__.partition(".")[0] == "optarena"]
    return sorted({name for part in ours for name in vars(part) if not name.startswith("_")})


def _arguments(thing: object) -> str:
    if isinstance(thing, (classmethod, staticmethod)):
        thing = thing.__func__
    if not callable(thing):
        return ""
    try:
        signature = inspect.signature(thing)
    except ValueError:
        return ""
    bare = [p.replace(annotation=inspect.Parameter.empty) for p in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))


def test_the_public_api_is_the_listed_one():
    assert public() == LIST.read_text(encoding="utf-8"), (
        "python tests/test_public_api.py, if it is meant (CHANGELOG.md)"
    )


if __name__ == "__main__":
    LIST.write_text(public(), encoding="utf-8")
