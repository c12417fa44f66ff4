"""Foreign formats: a module each, which reads files to a tidy table or to runs, and writes a store to a file or folder.

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
    from optarena.formats.runs import Runs
    from optarena.formats.tidy import Tidy
    from optarena.store.results import Results


class Format(NamedTuple):
    """A format: `module` has SUFFIXES (none: it is a folder), `read(path)` and `write(results, path)`, one or both.

    A folder that is one of several under a root says so by ROOTED. A format that knows more than a table or runs can
    tell has `records(paths, store)` instead of `read`.
    """

    name: str
    module: str
    what: str
    reads: bool = True
    writes: bool = True


FORMATS = {
    "csv": Format("csv", "optarena.formats.csv", "our own tidy CSV, a row an evaluation (docs/csv.md)"),
    "coco": Format("coco", "optarena.formats.coco", "COCO's data folders, or archives of them (docs/coco.md)"),
    "iohprofiler": Format(
        "iohprofiler", "optarena.formats.iohprofiler", "IOHprofiler's data folders, or archives of them (docs/coco.md)"
    ),
    "parquet": Format("parquet", "optarena.formats.parquet", "the same columns, typed, in a Parquet file"),
    "minizinc": Format(
        "minizinc", "optarena.formats.minizinc", "MiniZinc's JSON streams, a file a run (docs/solvers.md)", writes=False
    ),
    "aries": Format(
        "aries", "optarena.formats.aries", "aries-bench's CSV files and folders (docs/solvers.md)", writes=False
    ),
    "bayesmark": Format("bayesmark", "optarena.formats.bayesmark", "Bayesmark's database folders (docs/bayesmark.md)"),
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
    from optarena.formats.runs import Runs, number_trials
    from optarena.formats.tidy import checked

    module = get_format(name, "reads")
    if not paths:
        raise OptarenaError("nothing to import: name a file")
    if hasattr(module, "records"):
        from optarena.formats.into_store import write_records
        from optarena.store import Store

        place = Store(store)
        found = module.records([Path(path) for path in paths], place)
        return [write_records(lines, str(path), place) for path, lines in zip(paths, found, strict=True)]
    read = [module.read(Path(path)) for path in paths]
    number_trials([item for item in read if isinstance(item, Runs)])
    return _bring([item if isinstance(item, Runs) else checked(item) for item in read], store)


def _bring(ready: Sequence[Tidy | Runs], store: str | Path) -> list[Imported]:
    """Write what was read to a store, if it does not contradict itself or what is there.

    A foreign log says what its values are, and may stand beside others if it is of the same optimum.
    """
    from optarena.formats.agreement import refuse_contradictions
    from optarena.formats.into_store import into_store
    from optarena.store import Store

    refuse_contradictions(ready, Store(store))
    return [into_store(item, Store(store)) for item in ready]


def export(name: str, results: Results, output: str | Path, notices: list[str] | None = None) -> Path:
    """Write studies to a file, or into a directory under the name of their store; the path that was written.

    What the format cannot hold goes to `notices`, in words.
    """
    module = get_format(name, "writes")
    path = Path(output)
    if not module.SUFFIXES:
        path = path / results.path.resolve().name if getattr(module, "ROOTED", False) else path
        if path.exists() and not (path.is_dir() and not any(path.iterdir())):
            raise OptarenaError(f"{path} is there already: name a new directory for a {name} folder")
    elif not path.name.endswith(module.SUFFIXES):
        if path.suffix and not path.is_dir():
            raise OptarenaError(f"{path}: a {name} file ends in {' or '.join(module.SUFFIXES)}; else name a directory")
        path = path / f"{results.path.resolve().name}{module.SUFFIXES[0]}"
    if not results._attempts:
        raise OptarenaError(f"store {results.path} has no studies to export (or none that match)")
    left_out = module.write(results, path)
    if notices is not None:
        notices.extend(left_out or ())
    return path


def from_frame(frame: Any, store: str | Path) -> Results:
    """A pandas or Polars frame with the columns of the tidy CSV as studies of a store, which is returned."""
    from optarena.formats.frames import as_polars
    from optarena.formats.tidy import Table, checked
    from optarena.store.results import open_store

    plain, from_pandas = as_polars(frame)
    _bring([checked(Table("frame", plain, nan_is_empty=from_pandas))], store)
    return open_store(store)
