"""Which names match globs with braces, as experiments choose problems."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence

from optarena._patterns import expand_braces
from optarena.errors import OptarenaError


def matcher(globs: str | Sequence[str] | None) -> Callable[[str], bool]:
    if globs is None:
        return lambda _: True
    given = [globs] if isinstance(globs, str) else list(globs)
    names, wanted = set(given), [one for glob in given for one in _alternatives(glob)]
    return lambda text: text in names or any(fnmatch.fnmatchcase(text, glob) for glob in wanted)


def _alternatives(glob: str) -> list[str]:
    """What its braces stand for; a name may have a brace of its own, which is none of these."""
    try:
        return expand_braces(glob)
    except OptarenaError:
        return [glob]
