"""Methods of rooms on the left whose work is done in rooms on the right, such as `view.figure()`.

The left room asks for a service by its name and imports nothing; the package itself, which is the right end, says in
`optarena/__init__.py` where each service is found.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

_WHERE: dict[str, str] = {}


def provide(name: str, where: str) -> None:
    """Say where a service is found: `module:function`."""
    _WHERE[name] = where


def service(name: str) -> Callable[..., Any]:
    """The function behind a service, loaded when it is first asked for."""
    module, _, attribute = _WHERE[name].partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), attribute)
    return found
