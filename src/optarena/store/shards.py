"""Shards: compacted journals, columnar (Parquet), named by their content, never changed.

A shard is one table. Its first rows are events, one journal line each (`event`); the others are traces, an attempt a
row, with lists for its n evaluations: k (if not 1 to n), y (n x objectives), x (n x dimension, the space's matrix
form), v, m, status (if not all is well) and costs (n x 6 nanoseconds). Imported studies may have more: `points` (JSON,
instead of x, as their space is not known), `extras` (names x n numbers, with `names`) and `notes` (JSON).
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np
import polars as pl

from optarena._damage import damage_named
from optarena._files import write_atomically
from optarena.errors import OptarenaError
from optarena.space import Space
from optarena.store import Store
from optarena.store.columns import Block, Columns
from optarena.store.costs import NUMBERS, SECONDS
from optarena.store.reading import Events, Key, Line, age, as_written, decode_line, key_of
from optarena.store.records import Count, End, Header, ProblemCard, Record, Start
from optarena.store.verifying import name_of
from optarena.traces import Floats, Ints

_decode_event = msgspec.json.Decoder(Record).decode
_encode = msgspec.json.Encoder().encode
SCHEMA: dict[str, Any] = {
    "event": pl.String,
    "s": pl.Int32,
    "n": pl.Int64,
    "k": pl.List(pl.Int64),
    "y": pl.List(pl.Float64),
    "x": pl.List(pl.Float64),
    "v": pl.List(pl.Float64),
    "m": pl.List(pl.Float64),
    "status": pl.List(pl.UInt8),
    "w": pl.List(pl.Int64),
    "failures": pl.String,
    "points": pl.String,
    "names": pl.List(pl.String),
    "extras": pl.List(pl.Float64),
    "notes": pl.String,
}
LATER = ("points", "names", "extras", "notes")
"""Columns that a shard may lack."""
POINT_BYTES = 200_000_000
"""Of points that were read from shards, in memory."""
GROUP_ROWS = 250_000
"""Evaluations in a row group of a shard, roughly: groups have equal numbers of attempts."""


# ---- reading ------------------------------------------------------------------------------------------------------


class ShardSource:
    """A shard: a row is in the lists of its attempt's row."""

    _recent: ClassVar[list[ShardSource]] = []
    """Those whose points are in memory, the last used at the end."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._table: pl.DataFrame | None = None

    def _written(self) -> pl.DataFrame:
        """The points of each attempt; a shard has no index, so finding some costs as much as reading all.

        Those of the shards that were asked last stay in memory.
        """
        recent = ShardSource._recent
        if self._table is None:
            with _named(self.path):
                self._table = _read(self.path, ["s", "n", "x", "points"]).filter(pl.col("n").is_not_null())
        else:
            recent.remove(self)
        table = self._table
        recent.append(self)
        while len(recent) > 1 and sum(source.size for source in recent) > POINT_BYTES:
            recent.pop(0)._table = None
        return table

    @property
    def size(self) -> float:
        """The bytes of its points in memory."""
        return 0 if self._table is None else self._table.estimated_size()

    def points(self, positions: Ints, inner: Ints, card: ProblemCard) -> list[list[Any]]:
        table = self._written()
        places, matrices, texts = {s: i for i, s in enumerate(table["s"])}, table["x"], table["points"]
        out: list[list[Any]] = [[] for _ in range(len(positions))]
        for position in np.unique(positions).tolist():
            place, rows = places[position], np.flatnonzero(positions == position)
            wanted = inner[rows]
            if matrices[place] is None:
                points = msgspec.json.decode(texts[place]) if texts[place] is not None else []
                found = as_written([points[i] if points else [] for i in wanted.tolist()], card)
            else:
                space = Space(card.space)
                matrix = matrices[place].to_numpy().reshape(-1, space.dimension)[wanted]
                known = ~np.isnan(matrix).any(axis=1)
                rows, found = rows[known], space.to_rows(matrix[known])
            for row, point in zip(rows.tolist(), found, strict=True):
                out[row] = point
        return out


class ShardBlock(Block):
    """The rows of a shard; their costs are read when asked for."""

    path: Path
    numbers: list[int]
    """Of its attempts, in the shard."""
    counts: list[Count]
    lines: list[Line]
    """Those that are not evaluations, of the complete shard."""

    def load_costs(self) -> Floats:
        with _named(self.path):
            table = pl.read_parquet(self.path, columns=["s", "n", "w"]).filter(pl.col("n").is_not_null())
        lists = table.filter(pl.col("s").is_in(self.numbers))["w"]
        out = np.zeros((len(self.owner), NUMBERS))
        if len(lists):
            out[: len(out) - len(self.counts)] = lists.explode().to_numpy().reshape(-1, NUMBERS) * SECONDS
        for i, count in enumerate(reversed(self.counts), start=1):
            out[-i] = np.array(count.w) * SECONDS
        return out


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Name a shard that is damaged; one that is gone was put together with others, which callers know."""
    gone: FileNotFoundError | None = None
    with damage_named(path, "a shard"):
        try:
            yield
        except FileNotFoundError as error:
            gone = error
    if gone is not None:
        raise gone


def _read(path: Path, names: list[str]) -> pl.DataFrame:
    """Some columns of a shard; those that it may lack are then empty."""
    present = pl.read_parquet_schema(path)
    table = pl.read_parquet(path, columns=[name for name in names if name not in LATER or name in present])
    lacking = [pl.lit(None, SCHEMA[name]).alias(name) for name in names if name in LATER and name not in present]
    return table.with_columns(lacking) if lacking else table


def age_of_shard(path: Path) -> tuple[float, str]:
    """What files are sorted by: when the first journal in it was begun, and its name."""
    try:
        first = pl.read_parquet(path, columns=["event"], n_rows=1)["event"].to_list()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise OptarenaError(f"{path}: not a shard, or damaged ({str(error).splitlines()[0]})") from error
    header = decode_line(first[0].encode()) if first and first[0] else None
    return age(path, header) if isinstance(header, Header) else (0.0, path.name)


def read_shard(path: Path, columns: Columns, events: Events, only: Collection[Key] | None = None) -> ShardBlock:
    """Add a shard's events to what is known, and give its rows; only: of some attempts."""
    names = ["event", "s", "n", "k", "y", "v", "m", "status", "failures", "names", "extras", "notes"]
    try:
        table = _read(path, names)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise OptarenaError(f"{path}: not a shard, or damaged ({str(error).splitlines()[0]})") from error
    columns.sources.append(ShardSource(path))
    records = [decode_line(line.encode()) for line in table["event"].drop_nulls()]
    here = events.journal(records)
    counts = [record for record in records if isinstance(record, Count)]
    table = table.filter(pl.col("n").is_not_null())
    if only is not None:
        mine = [s for s, owner in here.items() if key_of(columns.attempts[owner]) in only]
        table = table.filter(pl.col("s").is_in(mine))
        counts = [count for count in counts if count.s in mine]
    length = table["n"].to_numpy()
    owners = np.array([here[s] for s in table["s"]], dtype=np.int64)
    cards = [columns.attempts[owner].card for owner in owners.tolist()]
    rows = int(length.sum())
    block = ShardBlock(
        rows + len(counts),
        max((len(card.objectives) for card in cards), default=1),
        max((len(card.metrics) for card in cards), default=0),
        max((card.constraints for card in cards), default=0),
    )
    block.owner[:rows] = np.repeat(owners, length)
    block.position[:rows] = np.repeat(table["s"].to_numpy(), length)
    block.inner[:rows] = np.arange(rows) - np.repeat(np.cumsum(length) - length, length)
    block.source[:] = len(columns.sources) - 1
    block.path, block.numbers, block.counts, block.lines = path, table["s"].to_list(), counts, records
    if rows:
        block.evaluation[:rows] = block.inner[:rows] + 1
        _spread(block.evaluation[:, None], table["k"], length, [1] * len(cards))
        _spread(block.status[:, None], table["status"], length, [1] * len(cards))
        _spread(block.values, table["y"], length, [len(card.objectives) for card in cards])
        _spread(block.metrics, table["m"], length, [len(card.metrics) for card in cards])
        given = table.select(pl.col("m").list.eval(pl.element().is_not_null()))["m"]
        _spread(block.measured, given, length, [len(card.metrics) for card in cards])
        _spread(block.violations, table["v"], length, [card.constraints for card in cards])
        for offset, text in zip((np.cumsum(length) - length).tolist(), table["failures"], strict=True):
            if text is not None:
                failures = msgspec.json.decode(text, type=dict[int, str])
                block.messages.update({offset + row: message for row, message in failures.items()})
        if table["names"].null_count() + table["notes"].null_count() < 2 * table.height:
            _spread_more(block, table, length)
    for i, count in enumerate(counts, start=rows):
        block.owner[i], block.evaluation[i], block.counts_only[i] = here[count.s], count.k, True
    return block


def _spread(out: np.ndarray[Any, Any], lists: pl.Series, length: Ints, widths: list[int]) -> None:
    """Flat lists of n x width numbers into the first columns of a matrix, attempt by attempt or all at once."""
    if not out.shape[1] or lists.null_count() == len(lists):
        return
    if len(set(widths)) == 1 and lists.null_count() == 0:
        out[: int(length.sum()), : widths[0]] = lists.explode().to_numpy().reshape(-1, widths[0])
        return
    at = 0
    for item, n, width in zip(lists, length.tolist(), widths, strict=True):
        if item is not None:
            out[at : at + n, :width] = item.to_numpy().reshape(n, width)
        at += n


def _spread_more(block: Block, table: pl.DataFrame, length: Ints) -> None:
    """What imported studies say beyond the usual, attempt by attempt."""
    at = 0
    for n, names, extras, notes in zip(length.tolist(), table["names"], table["extras"], table["notes"], strict=True):
        if names is not None:
            for name, column in zip(names, extras.to_numpy().reshape(-1, n), strict=True):
                block.extras.setdefault(name, np.full(len(block.owner), np.nan))[at : at + n] = column
        if notes is not None:
            for name, texts in msgspec.json.decode(notes).items():
                block.notes.setdefault(name, np.full(len(block.owner), None, dtype=object))[at : at + n] = texts
        at += n


# ---- writing ------------------------------------------------------------------------------------------------------


def write_shard(store: Store, events: Sequence[bytes], traces: Sequence[dict[str, Any]]) -> str:
    """Write one shard of journal lines and of traces (columns by their names in `SCHEMA`); its name.

    Row groups hold about `GROUP_ROWS` evaluations, so that a reader can take one at a time.
    """
    table = pl.DataFrame([*({"event": line.decode()} for line in events), *traces], schema=SCHEMA)
    return _write(store, table)


def _write(store: Store, table: pl.DataFrame) -> str:
    rows = int(table["n"].sum())
    group = max(1, table.height * GROUP_ROWS // rows) if rows > GROUP_ROWS else None
    buffer = io.BytesIO()
    table.write_parquet(buffer, compression="zstd", statistics=False, row_group_size=group)
    data = buffer.getvalue()
    name = name_of(data)
    write_atomically(store.shards / name, data)
    return name


def put_together(store: Store, paths: Sequence[Path]) -> str:
    """Write one shard that has all that these have, oldest first, and remove them; its name."""
    tables: list[pl.DataFrame] = []
    studies = 0
    for path in sorted(paths, key=age_of_shard):
        table = _read(path, list(SCHEMA))
        records = [_decode_event(line.encode()) for line in table["event"].drop_nulls()]
        for record in records:
            if isinstance(record, (Start, Count, End)):
                record.s += studies
        events = pl.DataFrame({"event": [_encode(record).decode() for record in records]}, schema={"event": pl.String})
        traces = table.filter(pl.col("n").is_not_null()).with_columns(s=pl.col("s") + studies)
        tables += [events.with_columns(*(pl.lit(None, SCHEMA[c]).alias(c) for c in list(SCHEMA)[1:])), traces]
        studies += sum(isinstance(record, Start) for record in records)
    name = _write(store, pl.concat(tables))
    for path in paths:
        if path.name != name:
            path.unlink(missing_ok=True)
    return name
