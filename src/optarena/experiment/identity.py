"""What a study is: its id, and the random streams that follow from it. Functions of plain data alone."""

from __future__ import annotations

import hashlib
import uuid
from typing import Any

import msgspec
import numpy as np

from optarena._json import strict
from optarena.errors import OptarenaError
from optarena.experiment.budget import Budget
from optarena.experiment.uses import Use


class Study(msgspec.Struct, frozen=True, omit_defaults=True):
    """One optimizer on one problem, one trial: plain data that can be printed, hashed and sent to another machine."""

    id: str
    root: str
    problem: str
    optimizer: Use
    trial: int
    budget: Budget
    batch: int = 1
    record: str = "all"
    version: str = "1"
    seed: str = ""
    """Where a foreign rule made the id: the key of all its streams, in hexadecimal digits."""
    solver: bool = False
    """Whether a solver runs it, in one go: such a study starts again where another continues."""


def canonical(value: Any) -> str:
    """Equal data, equal text: sorted keys, no spaces, non-finite numbers as texts."""
    try:
        return msgspec.json.encode(strict(value), order="sorted").decode()
    except TypeError as error:
        raise OptarenaError(f"settings must be plain data (numbers, texts, lists, tables): {error}") from error


def _entropy(*parts: Any) -> int:
    return int.from_bytes(hashlib.sha256(canonical(parts).encode()).digest(), "big")


def _key(study: Study) -> tuple[Any, ...]:
    """What a study's streams depend on: a seed of its own alone, as in Bayesmark, else what all optimizers share."""
    return (study.seed,) if study.seed else (study.root, study.problem, study.version, study.trial)


def problem_rng(study: Study) -> np.random.Generator:
    """The problem's stream: every optimizer meets the same draw, unless the study has a seed of its own."""
    return np.random.default_rng(_entropy("problem", *_key(study)))


def optimizer_rng(study: Study) -> np.random.Generator:
    """The optimizer's stream: the problem's key and its own name and settings, unless the study has a seed."""
    if study.seed:
        return np.random.default_rng(int(study.seed, 16))
    own = (study.optimizer.identity, study.optimizer.settings)
    return np.random.default_rng(_entropy("optimizer", *_key(study), *own))


def noise_key(study: Study) -> int:
    """The key of the noise of a study's evaluations; with evaluation k as the counter it needs no state."""
    return _entropy("noise", *_key(study)) >> 128


def noise_rng(key: int, k: int) -> np.random.Generator:
    """The stream for evaluation k. Philox takes a position at no cost, and two positions never overlap."""
    return np.random.Generator(np.random.Philox(key=key, counter=k << 128))


SEEDS = uuid.UUID("9b2f5d4e-6f0a-5b55-8d6e-2f1f0c7a4e21")
"""Roots that are given as a whole number are uuid5(SEEDS, the number)."""


def as_root(seed: str | int | uuid.UUID) -> uuid.UUID:
    """A root, as `optarena run` prints it, or the one that a whole number such as 42 stands for."""
    if isinstance(seed, uuid.UUID):
        return seed
    text = seed if isinstance(seed, str) else str(seed) if isinstance(seed, int) and not isinstance(seed, bool) else ""
    if text.isascii() and text.isdecimal() and len(text) < 32:
        return uuid.uuid5(SEEDS, str(int(text)))
    try:
        return uuid.UUID(text)
    except ValueError:
        raise OptarenaError(
            f"expected a whole number such as 42, or a root as 'optarena run' prints it (a UUID), got {seed!r}",
            field="seed",
        ) from None
