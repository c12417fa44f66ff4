"""What can be compared with each other: roots (runs that began anew), versions of packages, stores."""

from __future__ import annotations

import time

import numpy as np

from optarena._text import visible
from optarena.facade import Results
from optarena.store.columns import Attempt
from optarena.store.following import names_of


def sides(results: Results) -> list[dict[str, str]]:
    """The sides, of each kind two or more: their keys, and what to call them."""
    kinds: dict[str, dict[str, str]] = {}
    started = {run.root: run.time for run in reversed(results.all_runs)}
    for attempt in results.attempts:
        for key in marks_of(attempt):
            kind, _, value = key.partition(":")
            if key in kinds.get(kind, {}):
                continue
            when = started.get(value, attempt.start.time)
            name = f"run of {time.strftime('%Y-%m-%d %H:%M', time.localtime(when))} (root {value[:8]})"
            kinds.setdefault(kind, {})[key] = name if kind == "root" else visible(value)
    for key in set(stores_of(results).values()):
        kinds.setdefault("store", {})[key] = f"store {visible(key.partition(':')[2])}"
    return [{"key": key, "label": label} for some in kinds.values() if len(some) > 1 for key, label in some.items()]


def marks_of(attempt: Attempt) -> set[str]:
    """The sides that an attempt may be on."""
    versions = {f"{package}:{package} {version}" for package, version in attempt.start.versions.items()}
    versions |= {f"optarena:optarena {header.optarena}" for header in attempt.headers if header.optarena}
    return {f"root:{attempt.start.root}", *versions}


def stores_of(results: Results) -> dict[str, str]:
    """Study -> the store that has its rows; nothing where there is one store."""
    columns = results.columns
    paths = sorted({source.path.parent.parent for source in columns.sources})
    if len(paths) < 2:
        return {}
    name = dict(zip(paths, names_of([path.resolve() for path in paths]), strict=True))
    first = np.unique(columns.owner, return_index=True)
    out = {}
    for owner, row in zip(*(one.tolist() for one in first), strict=True):
        path = columns.sources[int(columns.source[row])].path
        out[columns.attempts[owner].start.study] = f"store:{name[path.parent.parent]}"
    return out
