"""The format `bayesmark`: its databases as studies of a store, and the studies of a store as such a database.

optarena import bayesmark ROOT/DB --store results
optarena export bayesmark results -O ROOT
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from optarena.bayesmark.cubes import share, uneven
from optarena.bayesmark.derived import aggregate
from optarena.bayesmark.files import FOLDERS, read_database, write_study
from optarena.bayesmark.records import records_of, refuse_other_signature
from optarena.bayesmark.studies import studies_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.incoming import Incoming
from optarena.store.columns import Attempt
from optarena.store.records import ProblemCard

REGISTERED = {
    "names": {"bayesmark": ""},
    "what": "Bayesmark's database folders (docs/bayesmark.md)",
}

SUFFIXES: tuple[str, ...] = ()
ROOTED = True


def incoming(paths: Sequence[Path], stored: Dataset | None) -> list[Incoming]:
    """Databases as lines of journals; an error if a problem's signature is not that of its other studies."""
    known: dict[str, tuple[ProblemCard, str]] = {}
    own: dict[str, Attempt] = {}
    if stored is not None:
        for attempt in stored.columns.attempts:
            own[attempt.start.study] = attempt
            if attempt.card.signature:
                known.setdefault(attempt.card.id, (attempt.card, f"store {stored.path}"))
    out = []
    for path in paths:
        studies = read_database(path)
        lines = list(records_of(studies, str(path), own=own))
        for card in (record for record in lines if isinstance(record, ProblemCard)):
            there, where = known.setdefault(card.id, (card, str(path)))
            refuse_other_signature(card, there, str(path), where)
        stated = all(study.uuid for study in studies)
        out.append(Incoming(str(path), lines, ids_stated=stated, trials_stated=False))
    return out


def write(results: Dataset, path: Path) -> list[str]:
    """Write a database folder; returns what could not be written, in words.

    Cubes with holes are not written: Bayesmark's own commands end on them, with an assertion that says nothing.
    """
    studies, reasons = studies_of(results, path)
    left_out = list(reasons.values())
    if not studies:
        raise OptarenaError(f"store {results.path} has no study that Bayesmark could hold: {'; '.join(left_out[:3])}")
    for folder in FOLDERS:
        (path / folder).mkdir(parents=True, exist_ok=True)
    for study in studies:
        write_study(path, study)
    try:
        if holes := uneven(share(studies).studies):
            left_out.append(
                f"derived: Bayesmark needs as many studies of every method on every problem, but {holes}, so its own"
                " agg and anal refuse this database (optarena bayesmark agg and anal score what is there)"
            )
        else:
            left_out += [f"derived: {text}" for text in aggregate(path, studies)]
    except OptarenaError as error:
        left_out.append(f"derived: {error}")
    return left_out
