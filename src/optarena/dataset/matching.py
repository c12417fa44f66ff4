"""Which names match globs with braces, as experiments choose problems."""

from __future__ import annotations

import fnmatch
from collections.abc import Callable, Sequence

from optarena._patterns import LIMIT, expand_braces
from optarena.errors import OptarenaError


def matcher(globs: str | Sequence[str] | None, limit: int = LIMIT) -> Callable[[str], bool]:
    """Whether a text matches one of the globs. limit: alternatives that the braces of all may stand for."""
    if globs is None:
        return lambda _: True
    given = [globs] if isinstance(globs, str) else list(globs)
    names, wanted = set(given), list[str]()
    for glob in given:
        wanted += _alternatives(glob, limit)
        if len(wanted) > limit:
            raise OptarenaError(f"the braces stand for more than {limit:,} names: narrow them")
    return lambda text: text in names or any(fnmatch.fnmatchcase(text, glob) for glob in wanted)


def _alternatives(glob: str, limit: int) -> list[str]:
    """What its braces stand for; a name may have a brace of its own, which is none of these."""
    try:
        return expand_braces(glob, limit)
    except OptarenaError:
        return [glob]
