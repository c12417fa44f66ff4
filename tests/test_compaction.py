"""Compaction in blocks, by a run itself, beside a run, and under fire."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
import uuid
from operator import itemgetter
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import optarena as oa
from journals import rewrite
from optarena.runner import compacting
from optarena.store import Store, compaction, journal, lines
from optarena.store.compaction import compact
from optarena.store.lines import read_blocks
from optarena.store.reading import decode_record
from optarena.store.records import Count, End, Header, Rows

ROOT = uuid.UUID(int=7)
processes = pytest.mark.xdist_group("processes")
LARGE = oa.Experiment("RandomSearch", "functions/sphere/d40", 20_000, trials=6, seed=ROOT)
"""Its journals have 100 MB: more than goes into one shard."""
RUN = [sys.executable, "-m", "optarena", "run", "-o", "RandomSearch", "-p", "functions/sphere/d40", "-n", "20000"]
RUN += ["-r", "6", "--seed", str(ROOT), "--store", "s", "--workers", "2"]


def everything(store):
    results = oa.open(store)
    frame = results.studies.sort("study")
    times = [name for name in frame.columns if name.endswith("seconds") and name != "budget_seconds"]
    return (
        {study: [repr(row) for row in results.points(study)] for study in frame["study"]},
        frame.drop(times).rows(),
        np.nan_to_num(frame.select(times).to_numpy().astype(float)),
    )


def assert_same(one, other):
    assert one[:2] == other[:2]
    np.testing.assert_allclose(one[2], other[2], atol=1e-6)


@pytest.fixture(scope="module")
def calm(tmp_path_factory):
    """What a run of the large experiment gives that nobody disturbs and nobody compacts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compacting, "SHARD_BYTES", 10**12)
        return LARGE.run(tmp_path_factory.mktemp("calm") / "s", workers=0).traces().values


# ---- blocks of lines ------------------------------------------------------------------------------------------------


def written(tmp_path, rows, cut=b""):
    path = tmp_path / "j.jsonl"
    header = Header(1, "0", "host", 1, 0.0, {})
    path.write_bytes(b"".join(msgspec.json.encode(line) + b"\n" for line in (header, *rows)) + cut)
    return path


def as_rows(path):
    for found in read_blocks(path, decode_record, [], points=True):
        plain = [(at, row) for some in found.plain for at, row in zip(some.position, some.records(), strict=True)]
        yield from (line for _, line in sorted([*found.records, *plain], key=itemgetter(0)))


def test_plain_lines_are_read_to_the_last_bit(tmp_path):
    rng = np.random.default_rng(3)
    numbers = rng.standard_normal((500, 4)) * 10.0 ** rng.integers(-320, 300, (500, 4))
    numbers[0], numbers[1, 0] = 0.0, -0.0
    rows = [
        Rows(i // 7, i, [[row[0]]], [2**50 + i, 1, 2, 3, 4, 5], x=[[row[1], row[2], int(i)]])
        for i, row in enumerate(numbers.tolist())
    ]
    read = next(read_blocks(written(tmp_path, rows), decode_record, [], points=True))
    assert len(read.records) == 1
    (found,) = read.plain
    assert [s for s, _, _ in found.studies()] == list(range(500 // 7 + 1))
    for name in "skw":
        np.testing.assert_array_equal(getattr(found, name), [getattr(row, name) for row in rows])
    assert found.y.tobytes() == np.array([row.y for row in rows]).tobytes()
    assert found.x.tobytes() == np.array([row.x for row in rows], dtype=float).tobytes()
    assert found.records() == rows


def test_lines_that_are_not_plain_are_read_as_records(tmp_path, monkeypatch):
    monkeypatch.setattr(lines, "BLOCK_BYTES", 100)
    monkeypatch.setattr(lines, "FEW_ROWS", 0)
    rows = [
        Rows(0, 1, [[1.0]], [0] * 6, x=[[1.0]]),
        Rows(0, 2, [["inf"]], [0] * 6, x=[[1.0]]),
        Rows(0, 3, [[None]], [0] * 6, {0: ("crashed", "[1,2]")}, x=[]),
        Rows(0, 4, [[1.0, 2.0], [3.0, 4.0]], [0] * 6, x=[["a", True], ["b", False]]),
        Rows(0, 6, [[1.0], [2.0]], [0] * 6, x=[[1.0], []]),
        Rows(0, 8, [[1.0]], [0] * 6, v=[[0.5]], m=[["nan"]], x=[[1.0]]),
        Rows(0, 9, [[1.0]], [2**60 + 1] * 6, x=[[1.0]]),
        Count(0, 12, [1] * 6),
        End(0, "done", 12, 1e9, [0] * 6),
        Rows(1, 1, [[1e-300], [-1e300]], [0] * 6, x=[[1, 2.5], [3, 4.5]]),
    ]
    path = written(tmp_path, rows, cut=b'{"t":"e","s":1,"k":3,"y":[[1')
    assert list(as_rows(path))[1:] == rows


@pytest.mark.parametrize("few", [0, 10**9])
def test_plain_lines_and_records_make_the_same_columns(monkeypatch, few):
    """The same store, read with all plain lines as arrays, and with none."""
    for problem, budget in (("functions/sphere/d3", 300), ("functions/mixed-tuning/d9", 100), ("functions/g06/d2", 70)):
        oa.Experiment(["RandomSearch", "SimulatedAnnealing"], problem, budget, trials=2, seed=ROOT).run("s", workers=0)
    before = everything("s")
    monkeypatch.setattr(lines, "FEW_ROWS", few)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 5_000)
    after = everything("s")
    assert_same(after, before)
    assert after[2].tobytes() == before[2].tobytes()


@pytest.mark.parametrize(
    "line", [b'{"t":"e","s":1,"k":', b'{"t":"e","s":1,"k":1-2,"y":[[1]],"w":[1,2,3,4,5,6],"x":[[1]]}', b"\xff", b"[]"]
)
def test_a_line_that_is_damaged_is_named(tmp_path, line):
    """Of a journal without checks."""
    rows = [Rows(0, k, [[1.0]], [0] * 6, x=[[1.0]]) for k in range(5)]
    damage = []
    found = list(read_blocks(written(tmp_path, rows, cut=line + b"\n"), decode_record, damage, points=True))
    assert [record for some in found for _, record in some.records][1:] == rows
    assert [(item.line, item.what[:23]) for item in damage] == [(7, "not a line of a journal")]


# ---- shards of bounded size -----------------------------------------------------------------------------------------


def test_journals_larger_than_a_shard_are_cut_and_nothing_changes(monkeypatch):
    problems = ["functions/sphere/d3", "functions/mixed-tuning/d9", "functions/g06/d2"]
    for seed, record in ((7, "all"), (8, "improvements")):
        experiment = oa.Experiment(
            ["RandomSearch", "QuasiRandom"], problems, 40, trials=3, record=record, seed=uuid.UUID(int=seed)
        )
        experiment.run("s", workers=0)
    before = everything("s")
    monkeypatch.setattr(compaction, "SHARD_BYTES", 3_000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1_000)
    done = compact(Store("s"))
    assert done.journals == 2
    assert len(done.shards) > 10
    assert_same(everything("s"), before)


def test_one_study_larger_than_a_shard_is_in_several(monkeypatch):
    oa.Experiment("SimulatedAnnealing", "functions/ackley/d3", 300, seed=ROOT).run("s", workers=0)
    before = everything("s")
    monkeypatch.setattr(compaction, "SHARD_BYTES", 5_000)
    monkeypatch.setattr(lines, "BLOCK_BYTES", 1_000)
    done = compact(Store("s"))
    assert len(done.shards) > 3
    assert done.rows == 300
    assert_same(everything("s"), before)


def test_row_groups_are_small(monkeypatch):
    monkeypatch.setattr("optarena.store.shards.GROUP_ROWS", 100)
    oa.Experiment("RandomSearch", "functions/sphere/d2", 50, trials=20, seed=ROOT).run("s", workers=0)
    before = everything("s")
    (name,) = compact(Store("s")).shards
    assert pl.read_parquet(f"s/shards/{name}").height > 20
    assert_same(everything("s"), before)


def test_a_study_that_a_closed_journal_left_open_is_not_running():
    """Its process goes on (a notebook, say), but not with this study."""

    @oa.as_problem({"x": {"type": "bool"}})
    def interrupting(x):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        oa.Experiment("RandomSearch", interrupting, 2, seed=ROOT).run("s", workers=0)
    (path,) = Path("s/journal").iterdir()
    kept = [line for line in path.read_text().splitlines() if json.loads(line)["t"] != "end"]
    rewrite(path, kept)
    before = oa.open("s").studies["status"].to_list()
    assert before == ["interrupted"]
    assert compact(Store("s")).journals == 1
    assert oa.open("s").studies["status"].to_list() == before


# ---- by a run itself ------------------------------------------------------------------------------------------------


def test_a_small_store_stays_a_journal():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 50, trials=3).run("s", workers=0)
    assert len(list(Path("s/journal").iterdir())) == 1
    assert not Path("s/shards").exists()


@processes
@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.slow
def test_a_run_compacts_what_it_has_finished(workers, calm, monkeypatch):
    monkeypatch.setattr(compacting, "LOOK_SECONDS", 0.0)
    results = LARGE.run("s", workers=workers)
    left = sum(path.stat().st_size for path in Path("s/journal").iterdir())
    assert left < journal.SHARD_BYTES
    assert list(Path("s/shards").glob("*.parquet"))
    assert set(results.studies["status"]) == {"done"}
    np.testing.assert_array_equal(results.traces().values, calm)


@processes
def test_a_compaction_that_fails_is_a_notice_and_not_the_end_of_the_run(monkeypatch, capsys):
    from optarena.cli import main

    monkeypatch.setattr(compacting, "SHARD_BYTES", 1)
    Path("s/journal").mkdir(parents=True)
    Path("s/shards").touch()  # where no shard can be written
    command = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--store", "s", "--workers", "1"]
    assert main(command) == 0
    assert "journals were not compacted (cannot write to" in capsys.readouterr().out
    assert oa.open("s").studies["status"].to_list() == ["done"]


def test_journals_that_a_live_run_may_still_read_are_left():
    seen = []

    @oa.as_problem({"x": {"type": "bool"}})
    def watched(x):
        seen.append(compact(Store("s")))
        return 1.0

    oa.Experiment("RandomSearch", "functions/sphere/d2", 5, seed=ROOT).run("s", workers=0)
    oa.Experiment("RandomSearch", watched, 1, seed=ROOT).run("s", workers=0)
    (found,) = seen
    assert found.journals == 0
    assert sorted(reason for _, reason in found.left) == ["a live run may still read it", "its process is running"]
    assert compact(Store("s")).journals == 2


# ---- beside a run, and under fire -----------------------------------------------------------------------------------


@processes
def test_compacting_beside_a_run_loses_and_repeats_nothing(calm):
    process = subprocess.Popen(RUN, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    rows = seen = 0
    while process.poll() is None:
        if Path("s/journal").exists():
            rows += compact(Store("s")).rows
            made = int(oa.open("s").studies["evaluations"].sum())
            assert made >= seen
            seen = made
        time.sleep(0.05)
    assert process.returncode == 0, process.communicate()[1]
    rows += compact(Store("s")).rows
    results = oa.open("s")
    assert rows <= 120_000
    assert sum(map(_evaluations, Path("s/shards").iterdir())) == 120_000
    assert results.studies["conflicts"].sum() == 0
    np.testing.assert_array_equal(results.traces().values, calm)


def _evaluations(shard):
    return pl.read_parquet(shard, columns=["n"])["n"].sum()


@processes
def test_killing_a_compaction_at_any_moment_loses_nothing(calm, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(compacting, "SHARD_BYTES", 10**12)
        LARGE.run("s", workers=0)
    rng = random.Random(5)
    for _ in range(3):
        command = [sys.executable, "-m", "optarena", "compact", "s"]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=os.environ | {"POLARS_MAX_THREADS": "1"})
        time.sleep(rng.uniform(0.3, 1.5))
        process.kill()
        process.wait()
        np.testing.assert_array_equal(oa.open("s").traces().values, calm)
    compact(Store("s"))
    results = oa.open("s")
    assert results.studies["conflicts"].sum() == 0
    assert not list(Path("s/journal").iterdir())
    np.testing.assert_array_equal(results.traces().values, calm)
