"""Foreign formats: a module each, which reads files to a tidy table or to runs, and writes a store to a file or folder.

>>> import_files("csv", ["old.csv"], "results")     # doctest: +SKIP
>>> export("csv", optarena.open("results"), "out")  # doctest: +SKIP
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from optarena._damage import damage_named
from optarena._files import locked, remove_abandoned_beside
from optarena._memory import no_collection
from optarena.errors import OptarenaError, shortened
from optarena.registry import Entry, Registry

if TYPE_CHECKING:
    from optarena.dataset import Dataset
    from optarena.formats.admission import Admission, Imported
    from optarena.formats.incoming import Incoming
    from optarena.formats.runs import Runs
    from optarena.formats.tidy import Table
    from optarena.store import Store


class Format(Entry, frozen=True):
    """A format: its module has SUFFIXES (none: it is a folder), `read(path)` and `write(results, path)`, one or both.

    `write` returns how many rows a table got, or what a folder cannot hold, in words.

    A folder that is one of several under a root says so by ROOTED. A format that knows more than a table or runs can
    tell has `incoming(paths, stored)` instead of `read`; one whose paths complete each other has
    `read_together(paths, stored)`.
    """

    what: str = ""
    reads: bool = True
    writes: bool = True


FORMATS: Registry[Format] = Registry("format", "formats", "bayesmark.format", entry=Format)


def get_format(name: str, does: str) -> Any:
    """The module of a format that `reads` or `writes`."""
    if not getattr(FORMATS.entry(name), does):
        raise OptarenaError(f"format {name!r} cannot be {'read' if does == 'reads' else 'written'}")
    return FORMATS.load(name)


def read_files(name: str, *paths: str | Path) -> Dataset:
    """Files of other tools as a dataset; nothing is written. All are checked first, as by an import."""
    return _in_memory(_admitted(_incoming(name, paths, None), None), name)


def read_frame(frame: Any) -> Dataset:
    """A pandas or Polars frame with the columns of the tidy CSV as a dataset; nothing is written."""
    return _in_memory(_admitted(_of_frame(frame, None), None), "frame")


@no_collection()
def import_files(name: str, paths: Sequence[str | Path], store: str | Path) -> list[Imported]:
    """Bring files into a store, which may be new. All are checked first: one mistake, and nothing is imported."""
    from optarena.store import Store

    place = Store(store)
    get_format(name, "reads")
    with _alone(place):
        stored = _stored(place)
        return _bring(_incoming(name, paths, stored), stored, place)


def import_frame(frame: Any, store: str | Path) -> None:
    """Bring a pandas or Polars frame with the columns of the tidy CSV into a store, which may be new.

    Runs that the store has already are not added again; a contradiction is refused, and then nothing is written.
    """
    from optarena.store import Store

    place = Store(store)
    with _alone(place):
        stored = _stored(place)
        _bring(_of_frame(frame, stored), stored, place)


def _stored(store: Store) -> Dataset | None:
    """What a store has, before something is added."""
    from optarena.dataset import Dataset

    if not store.exists:
        return None
    store.remove_stale()
    return Dataset.of_store(store.path)


def _incoming(name: str, paths: Sequence[str | Path], stored: Dataset | None) -> list[Incoming]:
    """What files have, compared with what a store says of its problems."""
    from optarena.formats.limits import refuse_beyond

    module = get_format(name, "reads")
    if not paths:
        raise OptarenaError("nothing to import: name a file")
    named = [Path(path) for path in paths]
    for path in named:
        try:
            path.lstat()
        except (FileNotFoundError, NotADirectoryError):
            continue  # named by who reads it
        except (OSError, ValueError) as error:  # too long, or with a NUL
            raise OptarenaError(f"{str(path)[:100]!r}: {getattr(error, 'strerror', None) or error}") from None
    found = _read(module, name, named, stored)
    for one in found:
        one.notices[:] = map(shortened, one.notices)
        refuse_beyond(one.name, one.records)
    return found


def _read(module: Any, name: str, paths: Sequence[Path], stored: Dataset | None) -> list[Incoming]:
    """What a format's module reads of the paths; damage is reported."""
    what = f"{name} data"
    together = ", ".join(map(str, paths[:3])) + (", …" if len(paths) > 3 else "")
    if hasattr(module, "incoming"):
        with damage_named(together, what):
            found: list[Incoming] = module.incoming(paths, stored)
            return found
    if hasattr(module, "read_together"):
        with damage_named(together, what):
            return _agreed(module.read_together(paths, stored), stored)
    read: list[Table | Runs] = []
    for path in paths:
        with damage_named(path, what):
            read.append(module.read(path))
    with damage_named(together, what):
        return _agreed(read, stored)


def _admitted(read: Sequence[Incoming], stored: Dataset | None) -> Admission:
    """What of it the store lacks."""
    from optarena.formats.admission import admit

    with damage_named(", ".join(incoming.name for incoming in read[:3]), "data of studies"):
        return admit(read, stored)


def _of_frame(frame: Any, stored: Dataset | None) -> list[Incoming]:
    from optarena.formats.frames import as_polars
    from optarena.formats.tidy import Table

    plain, from_pandas = as_polars(frame)
    return _agreed([Table("frame", plain, nan_is_empty=from_pandas)], stored)


def _in_memory(admission: Admission, name: str) -> Dataset:
    from optarena.dataset import Dataset
    from optarena.formats.writing import journal_header

    names = [imported.name for imported in admission.imported]
    return Dataset.of_records(names[0] if len(names) == 1 else name, [journal_header(names, 0.0), *admission.records])


@contextmanager
def _alone(store: Store) -> Iterator[None]:
    """One import into a store at a time, so that what was compared is what exists when it is written.

    An import that makes the store holds the directory above it until it is done.
    """
    whole = store.path.resolve()
    made: list[Path] = []
    with ExitStack() as held:
        with suppress(OSError):  # so that all hold the same directory; one that cannot be made is named by `create`
            made = [path for path in whole.parents if not path.exists()]
            whole.parent.mkdir(parents=True, exist_ok=True)
        held.enter_context(locked(whole.parent))
        if store.exists:
            held.close()  # no process is making it: its own lock suffices, and imports into other stores need not wait
            held.enter_context(locked(store.path))
        try:
            yield
        finally:
            for path in () if store.exists else made:
                with suppress(OSError):
                    path.rmdir()


def _agreed(read: Sequence[Table | Runs], stored: Dataset | None) -> list[Incoming]:
    """What was read as studies, if it does not contradict itself or the store about a problem.

    A foreign log says what its values are, and may stand beside others if it is of the same optimum.
    """
    from optarena.formats.agreement import refuse_contradictions
    from optarena.formats.into_store import incoming
    from optarena.formats.runs import Runs
    from optarena.formats.tidy import checked

    ready = [item if isinstance(item, Runs) else checked(item) for item in read]
    refuse_contradictions(ready, stored)
    return [incoming(item) for item in ready]


def _bring(read: Sequence[Incoming], stored: Dataset | None, store: Store) -> list[Imported]:
    """Write what the store lacks, after all of it was compared."""
    from optarena.formats.writing import write_journal

    admission = _admitted(read, stored)
    if admission.records:
        names = [imported.name for imported in admission.imported if imported.new]
        write_journal(names, admission.records, store)
    return admission.imported


class Exported(NamedTuple):
    """What an export wrote."""

    path: Path
    rows: int | None
    """How many rows, where the format is a table."""
    left_out: list[str]
    """What the format cannot hold, in words."""


def export(
    name: str, results: Dataset, output: str | Path, notices: list[str] | None = None, *, spreadsheet: bool = False
) -> Path:
    """Write studies to a file, or into a directory under the name of their store; the path that was written.

    What the format cannot hold goes to `notices`, in words. spreadsheet: of csv, texts that a spreadsheet would take
    for formulas are marked as texts; such a file is not for `import`.
    """
    exported = export_counted(name, results, output, spreadsheet=spreadsheet)
    if notices is not None:
        notices.extend(exported.left_out)
    return exported.path


def export_counted(name: str, results: Dataset, output: str | Path, *, spreadsheet: bool = False) -> Exported:
    """The same, with what was written."""
    module = get_format(name, "writes")
    if spreadsheet and name != "csv":
        raise OptarenaError(f"spreadsheet: only csv is made for spreadsheets, not {name}")
    path = Path(output)
    if not module.SUFFIXES:
        path = path / results.path.resolve().name if getattr(module, "ROOTED", False) else path
        if os.path.lexists(path) and not (path.is_dir() and not any(path.iterdir())):
            raise OptarenaError(f"{path} already exists: name a new directory for a {name} folder")
    elif not path.name.endswith(module.SUFFIXES):
        if path.suffix and not path.is_dir():
            raise OptarenaError(f"{path}: a {name} file ends in {' or '.join(module.SUFFIXES)}; else name a directory")
        path = path / f"{results.path.resolve().name}{module.SUFFIXES[0]}"
    if not results.chosen:
        raise OptarenaError(f"store {results.path} has no studies to export (or none that match)")
    remove_abandoned_beside(path)
    written = module.write(results, path, **({"spreadsheet": True} if spreadsheet else {}))
    rows, left_out = (written, []) if isinstance(written, int) else (None, list(written or ()))
    return Exported(path, rows, left_out)
