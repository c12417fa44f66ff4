"""What others build on does not change by accident: names, arguments and defaults of the public modules.

`python tests/test_public_api.py` writes the list again, for a change that is meant and in the changelog.
"""

from __future__ import annotations

import inspect
import re
import sys
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "tests" / "data" / "public_api.txt"

sys.path.insert(0, str(ROOT / "tools" / "site"))
from public import MODULES, everything, members  # noqa: E402


def public() -> str:
    """One line per name, method and property."""
    lines = []
    for name, thing in sorted(everything().items()):
        lines.append(f"{name}{_arguments(thing)}")
        if inspect.isclass(thing):
            lines += [f"{name}.{member}{_arguments(found)}" for member, found in members(thing).items()]
    return "\n".join(lines) + "\n"


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
    written = str(signature.replace(parameters=bare, return_annotation=inspect.Signature.empty))
    return re.sub(r" at 0x[0-9a-f]+", "", written)


def test_the_public_api_is_the_listed_one():
    assert public() == LIST.read_text(encoding="utf-8"), (
        "python tests/test_public_api.py, if it is meant (CHANGELOG.md)"
    )


def test_every_public_function_class_method_and_property_has_a_docstring():
    bare = []
    for name, thing in everything().items():
        if (callable(thing) or inspect.isclass(thing)) and not inspect.getdoc(thing):
            bare.append(name)
        if inspect.isclass(thing):
            bare += [
                f"{name}.{member}"
                for member, found in members(thing).items()
                if (inspect.isroutine(found) or isinstance(found, (property, cached_property)))
                and not inspect.getdoc(getattr(thing, member, found))
            ]
    assert bare == []


def test_the_guide_for_contributors_names_the_public_modules():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text[text.index("## What may change") :]
    assert set(re.findall(r"`(optarena(?:\.\w+)*)`", section)) == set(MODULES)


if __name__ == "__main__":
    LIST.write_text(public(), encoding="utf-8")
