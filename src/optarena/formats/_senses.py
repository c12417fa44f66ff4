"""Which way is better in logs of solvers: as a manifest or the solver states it, else as solutions show it.

Solutions of one run only ever improve: whether they rise or fall tells the sense. A problem whose runs have one
solution each takes the sense of its family, the other instances of its model.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from optarena.errors import OptarenaError

if TYPE_CHECKING:
    from optarena.formats._solver_logs import Log

MANIFEST = "manifest.csv"
STATE_IT = f"say it in a {MANIFEST} with the columns 'file' and 'sense' (min or max)"


def find_senses(name: str, logs: Sequence[Log]) -> tuple[dict[str, str], list[str]]:
    """Problem -> its sense, and what was inferred or assumed, in words."""
    families: dict[str, list[Log]] = {}
    for log in logs:
        families.setdefault(log.family, []).append(log)
    senses: dict[str, str] = {}
    notices: list[str] = []
    for family, some in families.items():
        problems: dict[str, list[Log]] = {}
        for log in some:
            problems.setdefault(log.problem, []).append(log)
        if any(log.model for log in some):
            _refuse_both(name, family, some)
        for problem, own in problems.items():
            _refuse_both(name, problem, own)
        shared = _told(some)
        for problem, own in problems.items():
            senses[problem] = next(iter(_told(own) or (shared if len(shared) == 1 else ())), "min")
        notices += _notices(family, problems, senses, shared)
    return senses, notices


def _told(logs: Sequence[Log]) -> set[str]:
    """The senses that runs state, or show where they state none."""
    return {sense for log in logs for sense in ({log.sense} if log.sense else _shown(log))}


def _shown(log: Log) -> set[str]:
    values = [row["value"] for row in log.rows]
    return {"max" if b > a else "min" for a, b in pairwise(values) if a != b}


def _refuse_both(name: str, what: str, logs: Sequence[Log]) -> None:
    if len(_told(logs)) > 1:
        raise OptarenaError(
            f"{name}: the objectives of {what} rise here and fall there, so nobody knows which way is better:"
            f" {STATE_IT}"
        )


def _notices(family: str, problems: dict[str, list[Log]], senses: dict[str, str], shared: set[str]) -> list[str]:
    """What nobody stated: one sentence per family, or per problem where a folder holds several senses."""
    groups = {family: [log for own in problems.values() for log in own]} if len(shared) <= 1 else problems
    out = []
    for what, logs in groups.items():
        showing = sum(bool(_shown(log)) for log in logs)
        if any(log.sense for log in logs) or not any(log.rows for log in logs):
            continue
        sense = senses[logs[0].problem]
        if showing:
            runs = f"{showing} run{'s' * (showing > 1)} with solutions that {'rise' if sense == 'max' else 'fall'}"
            out.append(f"sense of {what} inferred as {sense} from {runs}, of {len(logs)}")
        else:
            out.append(f"sense of {what} assumed to be {sense}: no run has two different solutions; {STATE_IT}")
    return out
