"""Which way is better in logs of solvers: as a manifest or the solver states it, else as solutions show it.

Solutions of one run only ever improve: whether they rise or fall tells the sense. A problem whose runs have one
solution each takes the sense of its family, the other instances of its model: in all paths of an import, and in the
store.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from optarena.dataset import Dataset
from optarena.errors import OptarenaError

if TYPE_CHECKING:
    from optarena.formats._solver_logs import Log

MANIFEST = "manifest.csv"
STATE_IT = f"state it in a {MANIFEST} with the columns 'file' and 'sense' (min or max)"


def family_of(problem: str) -> str:
    """The folder of a problem, or the problem itself where it has none."""
    return problem.rpartition("/")[0] or problem


@dataclass
class Stored:
    """The senses that problems have in the store; those without a solution count for nobody else."""

    where: str = ""
    senses: Mapping[str, str] = field(default_factory=dict)
    solved: frozenset[str] = frozenset()

    def of_family(self, family: str) -> dict[str, str]:
        return {problem: self.senses[problem] for problem in sorted(self.solved) if family_of(problem) == family}


def stored_senses(known: Dataset | None) -> Stored:
    """The senses of the problems of a store, if there is one."""
    if known is None:
        return Stored()
    rows = known.studies.select("problem", "sense", "evaluations").rows()
    senses = {problem: sense for problem, sense, _ in rows if sense in ("min", "max")}
    solved = frozenset(problem for problem, _, made in rows if made and problem in senses)
    return Stored(f"store {known.path}", senses, solved)


def find_senses(logs: Sequence[Log], stored: Stored) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Problem -> its sense; family -> what was inferred or assumed, in words."""
    families: dict[str, list[Log]] = {}
    for log in logs:
        families.setdefault(log.family, []).append(log)
    senses: dict[str, str] = {}
    notices: dict[str, list[str]] = {}
    for family, some in families.items():
        problems: dict[str, list[Log]] = {}
        for log in some:
            problems.setdefault(log.problem, []).append(log)
        there = stored.of_family(family)
        if any(log.model for log in some):
            _refuse_both(family, some)
            _refuse_stored(family, some, there.values(), stored.where)
        for problem, own in problems.items():
            _refuse_both(problem, own)
            _refuse_stored(problem, own, [stored.senses[problem]] if problem in stored.senses else [], stored.where)
        known_senses = _senses_of(some)
        shared = known_senses | set(there.values())
        for problem, own in problems.items():
            own_sense = _senses_of(own) or ({there[problem]} if problem in there else set())
            senses[problem] = next(iter(own_sense or (shared if len(shared) == 1 else ())), "min")
        notices[family] = _notices(family, problems, senses, known_senses, there, stored.where)
    return senses, notices


def _senses_of(logs: Sequence[Log]) -> set[str]:
    """The senses that runs state, or show where they state none."""
    return {sense for log in logs for sense in ({log.sense} if log.sense else _shown(log))}


def _shown(log: Log) -> set[str]:
    values = [row["value"] for row in log.rows]
    return {"max" if b > a else "min" for a, b in pairwise(values) if a != b}


def _refuse_both(what: str, logs: Sequence[Log]) -> None:
    if len(_senses_of(logs)) > 1:
        ways = {sense: next(log for log in logs if sense in _senses_of([log])) for sense in ("max", "min")}
        raise OptarenaError(
            f"{ways['max'].path}: the objectives of {what} rise here and fall there ({ways['max'].file},"
            f" {_place(ways['min'], ways['max'])}), so it is unclear which direction is better: {STATE_IT}; nothing was"
            " imported"
        )


def _place(log: Log, other: Log) -> str:
    return log.file if log.path == other.path else f"{log.path}: {log.file}"


def _refuse_stored(what: str, logs: Sequence[Log], there: Iterable[str], where: str) -> None:
    """Refuse a sense that contradicts the store, which may only have assumed its own."""
    known = sorted(set(there))
    for log in logs:
        for sense in _senses_of([log]) - set(known) if known else ():
            how = "has sense" if log.sense else f"has solutions that {_way(sense)}, so its sense is"
            advice = "import all into a new store" + ("" if log.sense else f", or {STATE_IT} if {sense} is wrong")
            raise OptarenaError(
                f"{log.path}: {log.file}: {log.problem} {how} {sense}, but {what} has {' and '.join(known)} in {where};"
                f" {advice}; nothing was imported"
            )


def _way(sense: str) -> str:
    return "rise" if sense == "max" else "fall"


def _notices(
    family: str,
    problems: dict[str, list[Log]],
    senses: dict[str, str],
    known_senses: set[str],
    there: Mapping[str, str],
    where: str,
) -> list[str]:
    """What was not stated: one sentence per family, or per problem where a folder holds several senses."""
    together = len(known_senses | set(there.values())) <= 1
    groups = {family: [log for own in problems.values() for log in own]} if together else problems
    out = []
    for what, logs in groups.items():
        showing = sum(bool(_shown(log)) for log in logs)
        if any(log.sense for log in logs) or not any(log.rows for log in logs):
            continue
        sense = senses[logs[0].problem]
        if showing:
            runs = f"{showing} run{'s' * (showing > 1)} with solutions that {_way(sense)}"
            out.append(f"sense of {what} inferred as {sense} from {runs}, of {len(logs)}")
        elif there and (together or what in there):
            out.append(f"sense of {what} taken as {sense} from {where}")
        else:
            out.append(f"sense of {what} assumed to be {sense}: no run has two different solutions; {STATE_IT}")
    return out
