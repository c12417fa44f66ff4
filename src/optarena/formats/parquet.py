"""The columns of the tidy CSV as a Parquet file: smaller, typed, and quick to read anywhere."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

import polars as pl

from optarena._files import write_atomically
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.from_store import tidy_frame
from optarena.formats.limits import MAX_CELLS, refuse_large
from optarena.formats.tidy import Table

REGISTERED = {
    "names": {"parquet": ""},
    "what": "the same columns, typed, in a Parquet file",
}

SUFFIXES = (".parquet",)
_REHEARSAL = f"""
import os, resource, sys
import polars as pl

memory, most = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"), resource.getrlimit(resource.RLIMIT_DATA)[1]
resource.setrlimit(resource.RLIMIT_DATA, (memory if most == resource.RLIM_INFINITY else min(memory, most), most))
rows, columns = pl.scan_parquet(sys.argv[1]).select(pl.len()).collect().item(), len(pl.read_parquet_schema(sys.argv[1]))
print(rows, columns, flush=True)
if rows * columns <= {MAX_CELLS}:
    pl.read_parquet(sys.argv[1])
"""


def read(path: Path) -> Table:
    """The table in a file."""
    try:
        _rehearse(path)
        return Table(str(path), pl.read_parquet(path))
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror or 'cannot be read'}") from error
    except pl.exceptions.PolarsError as error:
        raise OptarenaError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from error


def _rehearse(path: Path) -> None:
    """Have another process read the file first: where sizes in it are damaged, Polars ends the process that reads it.

    It cannot have more memory than the machine has.
    """
    try:
        done = subprocess.run([sys.executable, "-P", "-c", _REHEARSAL, path], capture_output=True, check=False)
    except OSError:  # there is no room for another process
        return
    if done.returncode in (0, 1):  # 1: an error that this process will meet, and name
        rows, columns = map(int, done.stdout.split() or (0, 0))
        refuse_large(path, rows * columns, columns)
        return
    said = done.stderr.decode(errors="replace").strip().partition("\n")[0][:200]
    raise OptarenaError(f"{path}: not a Parquet file, or damaged ({said or 'its reader was killed'})")


def write(results: Dataset, path: Path) -> int:
    """Every row of some studies."""
    buffer = io.BytesIO()
    frame = tidy_frame(results, typed=True)
    frame.write_parquet(buffer, compression="zstd")
    write_atomically(path, buffer.getvalue(), synced=False)
    return frame.height
