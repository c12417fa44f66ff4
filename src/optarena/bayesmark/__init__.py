"""Bayesmark's world: its launches, ids and seeds, wrappers, database folders, cubes, and its space encoding.

    launch = Launch(uuid.uuid4(), models=["SVM"], data=["iris"], optimizers=["RandomSearch"], calls=15, repeat=3)
    launch.run("root/db/optarena")              # as any experiment
    put_into_database(Path("root/db"))          # and Bayesmark's own files beside its store

`optarena bayesmark` has its commands; `optarena import bayesmark` and `export bayesmark` read and write its databases.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from optarena.bayesmark.database import STORE, made_elsewhere, prepare, put_into_database
    from optarena.bayesmark.jobs import deal
    from optarena.bayesmark.launch import Launch, One, study_uuid

__all__ = ["STORE", "Launch", "One", "deal", "made_elsewhere", "prepare", "put_into_database", "study_uuid"]

# Names are found when first used: a worker that runs a wrapper needs none of them.
_WHERE = {
    "STORE": "database",
    "Launch": "launch",
    "One": "launch",
    "deal": "jobs",
    "made_elsewhere": "database",
    "prepare": "database",
    "put_into_database": "database",
    "study_uuid": "launch",
}


def __getattr__(name: str) -> Any:
    if name not in _WHERE:
        raise AttributeError(f"module 'optarena.bayesmark' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"optarena.bayesmark.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
