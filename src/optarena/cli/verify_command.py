"""`optarena verify`: is every byte of a store intact, and is the store complete? Of an archive: does it repeat?"""

from __future__ import annotations

import random
import secrets
import warnings
from pathlib import Path
from typing import Annotated

import typer

from optarena._numbers import counted
from optarena._text import clean
from optarena.archive import Checked, bundles_in, check_bundle, is_archive
from optarena.archive.checking import must_be_apart
from optarena.cli._terminal import say
from optarena.errors import DamagedStore
from optarena.facade import open_store
from optarena.store import Store
from optarena.store.repairing import verify

NOT_PROVED = 3
"""The exit code where nothing is wrong, but too few studies could be run again."""


def command(
    store: Annotated[Path, typer.Argument(help="The directory of a store, a bundle or an archive.")],
    seed: Annotated[
        int | None, typer.Option("--seed", help="archive: which studies are run again [random, and printed].")
    ] = None,
    run_files: Annotated[
        Path | None,
        typer.Option(
            "--run-files",
            metavar="DIR",
            help="archive: also run studies that need a file, with the same file from this folder (it is executed).",
        ),
    ] = None,
) -> None:
    """Read all of it again, and of an archive run 1 % of the studies.

    Exit 1 if something is damaged or differs, 3 if nothing does but studies of an archive could not be run again.
    """
    if is_archive(store):
        _verify_archive(store, secrets.randbelow(10**6) if seed is None else seed, run_files)
    else:
        _verify_store(store)


def _verify_archive(path: Path, seed: int, run_files: Path | None) -> None:
    if run_files is not None:
        must_be_apart(run_files, path)
    rng = random.Random(seed)
    found = []
    for bundle in bundles_in(path):
        found.append(
            check_bundle(
                bundle,
                rng,
                progress=lambda study: say(f"running study {clean(study)} again"),
                run_files=run_files,
            )
        )
        _say_bundle(found[-1])
    if any(one.wanted for one in found):
        say(f"'optarena verify {path} --seed {seed}' runs the same studies again")
    if not all(one.good for one in found):
        raise typer.Exit(1)
    if not all(one.proved for one in found):
        raise typer.Exit(NOT_PROVED)


def _say_bundle(found: Checked) -> None:
    files = "every sum is right" if not found.wrong else f"{counted(len(found.wrong), 'fault')}"
    say(f"{clean(found.name)}: {counted(found.files, 'file')}, {files}; {_repeated(found)}")
    for text in found.wrong:
        say(f"  {clean(text)}")
    for verdict in found.replayed:
        if not verdict.same:
            say(f"  study {verdict.study} differs: {clean(verdict.difference)}")
        for fact in verdict.facts:
            say(f"  study {verdict.study}, changed: {clean(fact)}")
    reasons: dict[str, list[str]] = {}
    for study, why in found.cannot:
        reasons.setdefault(why, []).append(study)
    for why, studies in reasons.items():
        which = f"study {clean(studies[0])}" + (f" and {len(studies) - 1:,} more" if len(studies) > 1 else "")
        say(f"  {which} could not be run again: {clean(why)}")


def _repeated(found: Checked) -> str:
    """What came of running studies again, in words."""
    if found.wrong:
        return "no study was run again"
    same, lacking = sum(verdict.same for verdict in found.replayed), found.wanted - len(found.replayed)
    not_run = f"{lacking} of {found.wanted} could not be run"
    if not found.replayed:
        return not_run
    return f"{same} of {found.wanted} studies repeat" + (f", {not_run}" if lacking else "")


def _verify_store(store: Path) -> None:
    found = verify(Store(store))
    files = [
        counted(n, what) for n, what in ((found.journals, "journal"), (found.shards, "shard"), (found.runs, "run file"))
    ]
    say(f"store {store}: {', '.join(files)}, {found.size / 1e6:,.1f} MB")
    lost = _lost(Store(store))
    if found.damage:
        say(f"{counted(len(found.damage), 'place')} damaged; its contents count as missing")
        for item in found.damage:
            say(f"  {clean(item.text)}")
    elif lost:
        say("the files that exist are intact, but something is missing")
    else:
        say("no damage was found" if found.unchecked else "everything matches its checksum")
    if found.unchecked:
        say(
            f"{counted(found.unchecked, 'journal')} of format 1 without checks: readable, but a changed digit would not"
            " be noticed"
        )
    for run, studies in lost.items():
        say(
            f"run {run} finished {counted(studies, 'study')} that are now incomplete: a file is missing,"
            " cut short or damaged"
        )
    if found.damage:
        say(f"'optarena repair {store}' moves it aside, and the same 'optarena run …' as before makes the data again")
    elif lost:
        say("copy the missing files here again, or run the same 'optarena run …' as before: it makes the data again")
    if found.damage or lost:
        raise typer.Exit(1)


def _lost(store: Store) -> dict[str, int]:
    """Run that ended in order -> how many of the studies that it ran are not whole any more."""
    last = {study: run for run in store.runs() for study in run.todo}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedStore)
        studies = open_store(store.path).studies
    out: dict[str, int] = {}
    for study, status in studies.select("study", "status").iter_rows():
        if status in ("missing", "interrupted") and study in last and last[study].how == "done":
            out[last[study].id] = out.get(last[study].id, 0) + 1
    return out
