"""Names as pages, charts and papers can show them: what cannot be seen is written out, what means something is not."""

from __future__ import annotations

import unicodedata

UNSEEN = ("Cc", "Cf", "Cs", "Zl", "Zp")
"""Control signs, signs that only direct or join others, lone halves of a sign, separators of lines."""
SHORT = {"\n": r"\n", "\r": r"\r", "\t": r"\t"}
PROPERTIES = frozenset(
    {"constructor", "toString", "toLocaleString", "valueOf", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable"}
    | {"__proto__", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__"}
)
"""What every object of JavaScript has: names that a table of Vega cannot hold as keys."""


def visible(text: str) -> str:
    r"""A text in which nothing is hidden: control signs and signs that turn the reading order are `\n`, `\u202e`, …"""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_written(sign) if unicodedata.category(sign) in UNSEEN else sign for sign in text)


def _written(sign: str) -> str:
    code = ord(sign)
    return SHORT.get(sign) or (f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}")


def charted(text: str) -> str:
    """A text as a chart can hold it: what is the name of a property gets a space, which is not seen."""
    shown = visible(text)
    return f"{shown} " if shown.rstrip(" ") in PROPERTIES else shown
