"""Is a bundle what was published, and does it repeat? Every sum, and some of its studies run again.

A bundle comes from strangers. What runs again is what is installed here, by its registered name; a study whose problem
or optimizer is a file runs only with the same file from a folder that the reader names, and never from the archive.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from optarena._source import only_files_of
from optarena.archive.bundle import FACTS, REPORT, STORE, SUMS, TABLE, Bundle, entries_of, read_facts, sum_of
from optarena.errors import OptarenaError
from optarena.facade import Results, open_store
from optarena.runner.again import Verdict, files_needed, replay
from optarena.status import SUCCEEDED
from optarena.store import Store
from optarena.store.columns import Attempt
from optarena.store.repairing import verify

_SUM = re.compile("[0-9a-f]{64}")
SHARE = 0.01
"""Of the studies that are run again; at least one is."""


class Checked(msgspec.Struct):
    """What checking a bundle found."""

    name: str
    files: int
    wrong: list[str]
    """What is missing, changed, not named in the sums, no regular file, or contradictory; damage in the store."""
    wanted: int = 0
    """How many studies were to be run again; none where something is wrong."""
    replayed: list[Verdict] = []
    cannot: list[tuple[str, str]] = []
    """Studies that were drawn and could not be run again here, and why; others were drawn in their place."""

    @property
    def good(self) -> bool:
        """Whether no file is wrong and every study that was run again gave the same."""
        return not self.wrong and all(verdict.same for verdict in self.replayed)

    @property
    def proved(self) -> bool:
        """Whether as many studies as wanted are the same, too."""
        return self.good and len(self.replayed) >= self.wanted > 0


def check_bundle(
    bundle: Path,
    rng: random.Random,
    share: float = SHARE,
    progress: Callable[[str], None] = lambda _: None,
    *,
    run_files: Path | None = None,
) -> Checked:
    """Compare sums, read the store, and run a random share of the studies again. progress: called before each.

    run_files: a folder outside the bundle, whose files may be executed for studies that need the same files.
    """
    if run_files is not None:
        must_be_apart(run_files, bundle)
    entries = entries_of(bundle)
    odd = [f"{name} is not a regular file" for name, regular in entries if not regular]
    if odd:  # nothing is read: a pipe would be waited for without end, and a link may lead to one
        return Checked(_name_of(bundle), len(entries) - len(odd), odd)
    wrong = _wrong_files(bundle, {name for name, _ in entries})
    facts: Bundle | None = None
    try:
        facts = read_facts(bundle)
    except OptarenaError as error:
        wrong.append(str(error))
    out = Checked(_name_of(bundle), len(entries), wrong)
    store = Store(bundle / STORE)
    if not store.exists:
        if f"{STORE} is missing" not in wrong:
            wrong.append(f"{STORE} is not a store")
        return out
    out.wrong += [item.text for item in verify(store).damage]
    if out.wrong:  # what is damaged need not be run again
        return out
    results = open_store(store.path)
    assert facts is not None
    out.wrong += _contradictions(facts, results)
    if not out.wrong:
        with only_files_of(run_files, but=bundle), _nothing_imported_from_here():
            _repeat(results, out, rng, share, progress, run_files)
    return out


def _repeat(
    results: Results,
    out: Checked,
    rng: random.Random,
    share: float,
    progress: Callable[[str], None],
    run_files: Path | None,
) -> None:
    """Run studies again, drawn at random until as many as wanted have run."""
    good = results.studies["status"].is_in(SUCCEEDED).head(len(results.attempts)).to_list()
    attempts = [attempt for attempt, ended in zip(results.attempts, good, strict=True) if ended]
    out.wanted = max(1, math.ceil(share * len(attempts)))
    if not attempts:
        out.cannot += [(study, f"it ended as {status}") for study, status in results.studies["study", "status"].rows()]
    hopeless: dict[tuple[str, str], str] = {}
    for attempt in rng.sample(attempts, len(attempts)):
        if len(out.replayed) == out.wanted:
            break
        study, same = attempt.start.study, (attempt.start.use, attempt.card.hash)
        why = _why_not(attempt, run_files) or hopeless.get(same)
        if why is None:
            progress(study)
            try:
                out.replayed.append(replay(results, study, files=run_files, changed=False))
            except OptarenaError as error:
                why = hopeless[same] = str(error).removeprefix(f"study {study} cannot be run again: ")
        if why is not None:
            out.cannot.append((study, why))


def _why_not(attempt: Attempt, run_files: Path | None) -> str | None:
    """Why a study is not even tried."""
    if attempt.card.imported:
        return "it was imported"
    files = files_needed(attempt)
    if files and run_files is None:
        return f"not run: {' and '.join(files)} is a file (--run-files DIR runs the same file in a folder of yours)"
    return None


def must_be_apart(folder: Path, bundle: Path) -> None:
    """Refuse a folder for files that may run if it does not exist, or is in an archive or a bundle."""
    if not folder.is_dir():
        raise OptarenaError(f"there is no folder {folder}", field="--run-files")
    if folder.resolve().is_relative_to(bundle.resolve()):
        raise OptarenaError(
            f"{folder} came with the archive: files that may run must be in another folder, after you have read them",
            field="--run-files",
        )


@contextlib.contextmanager
def _nothing_imported_from_here() -> Iterator[None]:
    """Workers start without the current directory on their path: it may be the bundle, with a `random.py` in it."""
    name = "PYTHONSAFEPATH"
    before = os.environ.get(name)
    os.environ[name] = "1"
    try:
        yield
    finally:
        if before is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = before


def _name_of(bundle: Path) -> str:
    """The name of its directory: what its facts say is no more than the publisher's word."""
    return bundle.resolve().name


def _wrong_files(bundle: Path, there: set[str]) -> list[str]:
    out: list[str] = [] if (bundle / STORE).exists() else [f"{STORE} is missing"]
    out += [f"{name} is missing" for name in (TABLE, REPORT) if name not in there]
    try:
        lines = (bundle / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, MemoryError):
        return [*out, f"{SUMS} cannot be read"]
    known: dict[str, str] = {}
    for number, line in enumerate(lines, 1):
        found, _, name = line.partition("  ")
        if not _SUM.fullmatch(found) or not name:
            out.append(f"line {number} of {SUMS} is not a sum, two spaces and a name")
        elif name in known:
            out.append(f"{name} is twice in {SUMS}")
        else:
            known[name] = found
    out += [f"{name} is missing" for name in known if name not in there]
    out += [f"{name} is not in {SUMS}" for name in sorted(there) if name not in known]
    out += [
        f"{name} is not as it was published"
        for name in sorted(there)
        if name in known and sum_of(bundle / name) != known[name]
    ]
    return list(dict.fromkeys(out))


def _contradictions(facts: Bundle, results: Results) -> list[str]:
    """Where the facts say something else than the store."""
    studies = results.studies
    pairs = (
        ("studies", facts.studies, studies.height),
        ("evaluations", facts.evaluations, int(studies["evaluations"].sum())),
        ("failed studies", facts.failed, studies.filter(~studies["status"].is_in(SUCCEEDED)).height),
    )
    lists = (
        ("optimizers", facts.optimizers, sorted(studies["optimizer"].unique())),
        ("problems", facts.problems, sorted(studies["problem"].unique())),
    )
    return [f"{FACTS} says {said} {what}, the store has {has}" for what, said, has in pairs if said != has] + [
        f"{FACTS} names other {what} than the store has" for what, said, has in lists if said != has
    ]
