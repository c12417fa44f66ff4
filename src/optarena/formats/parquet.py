"""The columns of the tidy CSV as a Parquet file: smaller, typed, and quick to read anywhere."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from optarena._files import write_whole
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.from_store import tidy_frame
from optarena.formats.tidy import Table

REGISTERED = {
    "names": {"parquet": ""},
    "what": "the same columns, typed, in a Parquet file",
}

SUFFIXES = (".parquet",)


def read(path: Path) -> Table:
    """The table in a file."""
    try:
        return Table(str(path), pl.read_parquet(path))
    except OSError as error:
        raise OptarenaError(f"{path}: {error.strerror or 'cannot be read'}") from error
    except pl.exceptions.PolarsError as error:
        raise OptarenaError(f"{path}: not a Parquet file ({str(error).splitlines()[0]})") from error


def write(results: Dataset, path: Path) -> int:
    """Every row of some studies."""
    buffer = io.BytesIO()
    frame = tidy_frame(results, typed=True)
    frame.write_parquet(buffer, compression="zstd")
    write_whole(path, buffer.getvalue(), synced=False)
    return frame.height
