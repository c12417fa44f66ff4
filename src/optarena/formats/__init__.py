"""Foreign formats: a module each, which reads files to a tidy table and writes a store to a file.

>>> import_files("csv", ["old.csv"], "results")     # doctest: +SKIP
>>> export("csv", optarena.open("results"), "out")  # doctest: +SKIP
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optarena.errors import OptarenaError, nearest

if TYPE_CHECKING:
    from optarena.formats.into_store import Imported
    from optarena.formats.tidy import Tidy
    from optarena.store.results import Results


class Format(NamedTuple):
    """A format: `module` has SUFFIXES, and `read(path)` and `write(results, path)` as it can do one or both."""

    name: str
    module: str
    what: str
    reads: bool = True
    writes: bool = True


FORMATS = {
    "csv": Format("csv", "optarena.formats.csv", "our own tidy CSV, a row an evaluation (docs/csv.md)"),
    "parquet": Format("parquet", "optarena.formats.parquet", "the same columns, typed, in a Parquet file"),
}


def get_format(name: str, does: str) -> Any:
    """The module of a format that `reads` or `writes`."""
    if name not in FORMATS:
        known = ", ".join(FORMATS)
        raise OptarenaError(f"no format named {name!r}.{nearest(name, FORMATS)} (formats: {known})")
    found = FORMATS[name]
    if not getattr(found, does):
        raise OptarenaError(f"format {name!r} cannot be {'read' if does == 'reads' else 'written'}")
    return importlib.import_module(found.module)


def import_files(name: str, paths: Sequence[str | Path], store: str | Path) -> list[Imported]:
    """Bring files into a store, which may be new. All are checked first: one mistake, and nothing is imported."""
    from optarena.formats.tidy import checked

    module = get_format(name, "reads")
    if not paths:
        raise OptarenaError("nothing to import: name a file")
    tables = [checked(module.read(Path(path))) for path in paths]
    return _bring(tables, store)


def _bring(tables: Sequence[Tidy], store: str | Path) -> list[Imported]:
    """Write tables to a store, if they do not contradict each other or what it holds."""
    from optarena.formats.agreement import refuse_contradictions
    from optarena.formats.into_store import into_store
    from optarena.store import Store

    refuse_contradictions(tables, Store(store))
    return [into_store(table, Store(store)) for table in tables]


def export(name: str, results: Results, output: str | Path) -> Path:
    """Write studies to a file, or into a directory under the name of their store; the path that was written."""
    module = get_format(name, "writes")
    path = Path(output)
    if not path.name.endswith(module.SUFFIXES):
        if path.suffix and not path.is_dir():
            raise OptarenaError(f"{path}: a {name} file ends in {' or '.join(module.SUFFIXES)}; else name a directory")
        path = path / f"{results.path.resolve().name}{module.SUFFIXES[0]}"
    if not results._attempts:
        raise OptarenaError(f"store {results.path} has no studies to export (or none that match)")
    module.write(results, path)
    return path


def from_frame(frame: Any, store: str | Path) -> Results:
    """A pandas or Polars frame with the columns of the tidy CSV as studies of a store, which is returned."""
    from optarena.formats.frames import as_polars
    from optarena.formats.tidy import Table, checked
    from optarena.store.results import open_store

    plain, from_pandas = as_polars(frame)
    _bring([checked(Table("frame", plain, nan_is_empty=from_pandas))], store)
    return open_store(store)
