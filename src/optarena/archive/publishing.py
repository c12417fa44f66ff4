"""Writing a bundle: beside its place first, and moved there when it is whole."""

from __future__ import annotations

import os
import re
import secrets
import shutil
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from optarena._files import cannot_write, locked, write_atomically
from optarena._numbers import counted
from optarena._text import all_without_places
from optarena._version import __version__
from optarena.archive.bundle import (
    FACTS,
    INDEX,
    REPORT,
    STORE,
    SUMS,
    TABLE,
    Bundle,
    bundles_in,
    files_of,
    read_facts,
    sum_of,
)
from optarena.errors import OptarenaError
from optarena.facade import Results, open_store
from optarena.formats import export
from optarena.optimizer import OPTIMIZERS
from optarena.problem import SUITES
from optarena.report.cells import Cell, written
from optarena.report.html import html_table, page_of_tables
from optarena.report.library import vl_convert
from optarena.runner.again import files_needed
from optarena.status import SUCCEEDED
from optarena.store import Store
from optarena.store.compaction import compact
from optarena.store.merging import merge

_OLD = "-old"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def publish(store: str | Path, archive: str | Path) -> Path:
    """Write the bundle of a store into an archive, under the store's name, and the archive's index; the bundle's path.

    A bundle of that name is replaced when the new one is whole. A store that is still written to, or damaged, is
    refused. What a publishing that was killed has left in the archive is removed.
    """
    source, archive = Store(store), Path(archive)
    name = source.path.resolve().name
    if not NAME.fullmatch(name):
        raise OptarenaError(f"{name!r} cannot be the name of a bundle: use letters, digits, '-', '_' and '.'")
    results = open_store(source.path)
    _must_be_at_rest(results)
    place = archive / name
    try:
        archive.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(archive, error) from error
    with locked(archive):
        _finish_what_was_killed(archive, name)
        if place.exists() and not (place / FACTS).is_file():
            raise OptarenaError(f"{place} exists and is not a bundle: name another archive")
        beside = archive / f".{name}-{secrets.token_hex(4)}"
        try:
            beside.mkdir()
            _write(results, source, beside, name)
            _put_in_place(beside, place)
        except OSError as error:
            raise cannot_write(place, error) from error
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        write_index(archive)
    return place


def _put_in_place(beside: Path, place: Path) -> None:
    """The new bundle for the old one, which goes only when the new one is there."""
    if not place.exists():
        beside.rename(place)
        return
    old = beside.with_name(f"{beside.name}{_OLD}")
    place.rename(old)
    try:
        beside.rename(place)
    except OSError:
        old.rename(place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _finish_what_was_killed(archive: Path, name: str) -> None:
    """Remove what other publishings of this name have left, or put the old bundle back where no new one came."""
    ours = re.compile(rf"\.{re.escape(name)}-[0-9a-f]{{8}}({_OLD})?")
    for left in sorted(archive.iterdir()):
        if ours.fullmatch(left.name):
            if left.name.endswith(_OLD) and not (archive / name).exists():
                left.rename(archive / name)
            else:
                shutil.rmtree(left, ignore_errors=True)


def _must_be_at_rest(results: Results) -> None:
    vl_convert()
    if results.damage:
        raise OptarenaError(f"store {results.path} is damaged: 'optarena verify {results.path}' says where")
    running = results.studies.filter(results.studies["status"] == "running").height
    if running:
        raise OptarenaError(
            f"{counted(running, 'study')} of store {results.path} are running: publish it when they are done"
        )
    if not results.chosen:
        raise OptarenaError(f"store {results.path} has no studies to publish")


def _write(results: Results, source: Store, bundle: Path, name: str) -> None:
    target = Store(bundle / STORE)
    merge([source], target)
    compact(target)
    for mine in target.path.glob(".*"):  # a lock, and what is known of this machine's files
        mine.unlink()
    results.report(bundle / REPORT)
    export("parquet", results, bundle / TABLE)
    write_atomically(
        bundle / FACTS, msgspec.json.format(msgspec.json.encode(facts_of(results, name)), indent=1) + b"\n"
    )
    lines = [f"{sum_of(bundle / file)}  {file}\n" for file in files_of(bundle)]
    write_atomically(bundle / SUMS, "".join(lines).encode())


def facts_of(results: Results, name: str) -> Bundle:
    studies = results.studies
    return Bundle(
        name=name,
        optarena=__version__,
        studies=studies.height,
        evaluations=int(studies["evaluations"].sum()),
        failed=studies.filter(~studies["status"].is_in(SUCCEEDED)).height,
        optimizers=sorted(studies["optimizer"].unique()),
        problems=sorted(studies["problem"].unique()),
        answer=_answer(results),
        experiments=[{"root": run.root, **_mailable(run.experiment)} for run in results.all_runs if run.experiment],
        environments=results.environments(),
        files=sorted({file for attempt in results.attempts for file in files_needed(attempt)}),
    )


def _mailable(experiment: dict[str, Any]) -> dict[str, Any]:
    """An experiment as it was asked for, its files without their directories."""
    optimizers = [
        {**item, "use": OPTIMIZERS.reference(item["use"]).short} if "use" in item else item
        for item in experiment.get("optimizers", ())
    ]
    problems = [SUITES.reference(text).short for text in experiment.get("problems", ())]
    cleaned: dict[str, Any] = all_without_places({**experiment, "optimizers": optimizers, "problems": problems})
    return cleaned


def _answer(results: Results) -> str:
    try:
        return results.compare().answer.headline
    except OptarenaError as error:
        return f"No comparison: {error}"


def write_index(archive: Path) -> None:
    """The page over all bundles of an archive."""
    rows = []
    notes = ["'optarena verify ARCHIVE' checks every sum and runs a part of the studies again."]
    for bundle in bundles_in(archive):
        if not (bundle / FACTS).is_file():
            continue
        try:
            facts = read_facts(bundle)
        except OptarenaError:  # one that is damaged does not keep the others from the page
            notes.append(f"{bundle.name} is left out: its {FACTS} cannot be read.")
            continue
        link = escape(f"./{quote(os.fsencode(bundle.name))}/{REPORT}")
        report = Cell(bundle.name, bundle.name, f'<a href="{link}">{written(bundle.name).html}</a>')
        rows.append(
            [
                report,
                facts.studies,
                facts.evaluations,
                facts.failed,
                len(facts.optimizers),
                len(facts.problems),
                facts.answer,
            ]
        )
    heads = ["bundle", "studies", "evaluations", "failed", "optimizers", "problems", "answer"]
    caption = written("Each bundle has its store, a table of every evaluation, its report, versions and checksums.")
    table = html_table(heads, rows, caption, right=range(1, 6), text=[6])
    write_atomically(archive / INDEX, page_of_tables("Archive of experiments", [table], notes).encode())
