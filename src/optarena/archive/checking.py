"""Is a bundle what was published, and does it repeat? Every sum, and some of its studies run again."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from pathlib import Path

import msgspec

from optarena.archive.bundle import STORE, SUMS, Bundle, files_of, read_facts, sum_of
from optarena.errors import OptarenaError
from optarena.facade import open_store
from optarena.runner.again import Verdict, replay
from optarena.status import SUCCEEDED
from optarena.store import Store
from optarena.store.repairing import verify

SHARE = 0.01
"""Of the studies that are run again; at least one is."""


class Checked(msgspec.Struct):
    """What checking a bundle found."""

    name: str
    files: int
    wrong: list[str]
    """Files that are missing, changed, or not named in the sums; what is damaged in the store."""
    replayed: list[Verdict] = []
    cannot: list[tuple[str, str]] = []
    """Studies that could not be run again here, and why."""

    @property
    def good(self) -> bool:
        """Whether no file is wrong and every study that was run again gave the same."""
        return not self.wrong and all(verdict.same for verdict in self.replayed)


def check_bundle(
    bundle: Path, rng: random.Random, share: float = SHARE, progress: Callable[[str], None] = lambda _: None
) -> Checked:
    """Compare sums, read the store, and run a random share of the studies again. progress: called before each."""
    wrong = _wrong_files(bundle)
    try:
        facts: Bundle | None = read_facts(bundle)
    except OptarenaError as error:
        facts = None
        wrong.append(str(error))
    out = Checked(facts.name if facts else bundle.name, len(files_of(bundle)), wrong)
    store = Store(bundle / STORE)
    if not store.exists:
        return out
    out.wrong += [item.text for item in verify(store).damage]
    if out.wrong:  # what is damaged need not be run again
        return out
    studies = open_store(store.path).studies
    can = studies.filter(studies["status"].is_in(SUCCEEDED))["study"].to_list()
    for study in sorted(rng.sample(can, min(len(can), max(1, math.ceil(share * len(can)))))):
        progress(study)
        try:
            out.replayed.append(replay(store.path, study))
        except OptarenaError as error:
            out.cannot.append((study, str(error)))
    return out


def _wrong_files(bundle: Path) -> list[str]:
    try:
        lines = (bundle / SUMS).read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError):
        return [f"{SUMS} cannot be read"]
    known: dict[str, str] = {}
    for line in lines:
        found, _, name = line.partition("  ")
        known[name] = found
    there = files_of(bundle)
    return [
        *(f"{name} is missing" for name in known if name not in there),
        *(f"{name} is not in {SUMS}" for name in there if name not in known),
        *(
            f"{name} is not as it was published"
            for name in there
            if name in known and sum_of(bundle / name) != known[name]
        ),
    ]
