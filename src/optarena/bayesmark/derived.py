"""The cubes that Bayesmark derives from a database's studies, and whether they are still those of its studies."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from optarena.bayesmark.cubes import cubes, share
from optarena.bayesmark.database import Unfinished, put_into_database
from optarena.bayesmark.files import FileStudy, files_of, made_of, read_database, signatures_of, write_dataset
from optarena.errors import OptarenaError
from optarena.store.signatures import TOLERANCE


class Aggregated(NamedTuple):
    """What became of a database whose studies were put together."""

    missing: list[str]
    """What the cubes lack, in words."""
    roots: list[str]
    """The ids of the launches that have studies missing."""
    signature_errors: dict[str, list[float]]
    """By how much the signatures of each problem differ between its studies, point by point."""


def aggregate_database(path: Path, args: Mapping[str, Any]) -> Aggregated:
    """Put the studies of a database together, also those that only its store has; refuse if a problem has changed.

    args: the arguments of the command, for the files' metadata.
    """
    if not (path / "eval").is_dir():
        raise OptarenaError(f"{path} is not a database of Bayesmark: it has no folder eval")
    unfinished = put_into_database(path)
    if not any((path / "eval").glob("*.json")) and unfinished:
        raise OptarenaError(f"{path} has no complete study: {unfinished[0].text}")
    studies = read_database(path)
    if len({study.shape for study in studies}) > 1:  # what an extended launch has not made longer yet is not whole
        shorter = {study.uuid for study in unfinished if study.shorter}
        studies = [study for study in studies if study.uuid not in shorter]
    else:
        unfinished = [study for study in unfinished if not study.shorter]
    medians, errors = signatures_of(studies)
    far = {
        name: max(error)
        for name, error in errors.items()
        if (np.array(error) > TOLERANCE * np.abs(medians[name])).any()
    }
    if far:
        worst = max(far, key=lambda name: far[name])
        raise OptarenaError(
            f"{path}: the signature of {worst} differs between studies by up to {far[worst]:.3g}: the same points give"
            " other values, so these are two problems; keep them in two databases"
        )
    gone = _gone(unfinished, studies)
    left_out = aggregate(path, studies, args, gone)
    roots = sorted({uuid.UUID(study.root).hex for study in unfinished})
    return Aggregated([*gone, *left_out], roots, errors)


def _gone(unfinished: Sequence[Unfinished], studies: Sequence[FileStudy]) -> list[str]:
    """The missing studies in words; an optimizer that has no complete study at all comes first, with all of its own."""
    there = {str(study.args.get("--opt")) for study in studies}
    lost: dict[str, list[Unfinished]] = {}
    for study in unfinished:
        if study.optimizer not in there:
            lost.setdefault(study.optimizer, []).append(study)
    out = [f"{name}: none of its {len(found)} studies is complete, as {found[0].text}" for name, found in lost.items()]
    return out + [study.text for study in unfinished if study.optimizer in there]


def aggregate(
    path: Path, studies: Sequence[FileStudy], args: Mapping[str, Any] | None = None, gone: Sequence[str] = ()
) -> list[str]:
    """Write `derived/eval.json`, `time.json` and a file of points a problem; what had to be left out, in words.

    gone: what was left out before, to stand in the files' meta data, too.
    """
    whole, left_out = share(studies)
    made, missing = cubes(whole)
    medians, _ = signatures_of(whole)
    more = {key: value for key, value in {"missing": missing, "left_out": [*gone, *left_out]}.items() if value}
    for name, cube in made.items():
        of = {"made_of": files_of(path)} if name == "eval" else {}
        write_dataset(path / "derived" / f"{name}.json", args or {}, medians, cube, **more, **of)
    return left_out


def refuse_stale(path: Path) -> None:
    """Refuse cubes that were made of other studies than the database has now."""
    now = files_of(path)
    if not now["studies"]:  # only `derived` is left
        return
    was = made_of(path)
    if was.get("studies") == now["studies"] and was.get("hash", now["hash"]) == now["hash"]:
        return
    more = "they have changed since" if was["studies"] == now["studies"] else f"the database has {now['studies']} now"
    raise OptarenaError(
        f"{path / 'derived' / 'eval.json'} was made of {was['studies']} studies, and {more}: run"
        f" optarena bayesmark agg -dir {path.parent} -b {path.name} first"
    )
