"""Nothing is corrupted unnoticed: what is not as it was written is named, never used, and made again."""

from __future__ import annotations

import os
import random
import shutil
import time
import uuid
import warnings
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from journals import lines_of, rewrite
from optarena.cli import main
from optarena.errors import DamagedStore, OptarenaError, WorkError
from optarena.store import Store
from optarena.store.checks import Chain, followed, has_check, mark_of, sealed, stretches
from optarena.store.compaction import compact
from optarena.store.merging import merge
from optarena.store.repairing import repair, verify

ROOT = uuid.UUID(int=7)
PLAN = oa.Experiment(["RandomSearch", "SimulatedAnnealing"], "functions/{sphere,ackley}/d3", 40, trials=2, seed=ROOT)
IMPROVEMENTS = oa.Experiment("SimulatedAnnealing", "functions/ackley/d3", 300, record="improvements", seed=ROOT)


def opened(store):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedStore)
        return oa.open(store)


def told(results):
    """All that a store tells, but for seconds."""
    full = results.in_full()
    traces = full.traces()
    seconds = [name for name in results.studies.columns if name.endswith("seconds")]
    return (
        results.studies.drop("started", "ended", "root", *seconds).rows(),
        traces.values.tobytes(),
        traces.evaluation.tobytes(),
        full.parameters(np.arange(len(traces.values))),
    )


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s"
    PLAN.run(path, workers=0)
    return path


@pytest.fixture
def store(whole):
    shutil.copytree(whole, "s")
    return Path("s")


# ---- checks of lines ------------------------------------------------------------------------------------------------


def test_a_block_of_lines_is_verified_at_once_and_each_line_by_itself():
    lines = [b'{"t":"close"}', b'{"t":"x","y":[[1.5]]}', b'{"t":"close"}']
    chain = Chain()
    each = [chain.seal(line) for line in lines]
    data = sealed(lines)
    assert data == b"".join(each)
    assert all(map(has_check, each))
    mark = mark_of(data)
    assert followed(data, 0, mark) is not None
    assert followed(each[1], 0, mark) is None  # it is not the first
    state = followed(each[0], 0, mark)
    assert state == mark
    assert followed(each[1] + each[2], state, mark) == followed(data, 0, mark)


@pytest.mark.parametrize("gone", range(3))
def test_a_line_that_was_taken_out_is_noticed_where_it_was(gone):
    chain = Chain()
    each = [chain.seal(b'{"t":"%d"}' % i) for i in range(4)]
    del each[gone]
    found = [stretch for stretch, _ in stretches(b"".join(each), 0, mark_of(b"".join(each)))]
    assert all(stretch.good for stretch in found)
    assert [stretch.what for stretch in found if stretch.what] == ["lines before it are missing"]


def test_every_single_bit_of_a_journal_is_guarded():
    chain = Chain()
    data = b"".join(chain.seal(b'{"t":"e","s":%d,"y":[[%d.25]]}' % (i, i)) for i in range(3))
    for bit in range(8 * len(data)):
        changed = bytearray(data)
        changed[bit // 8] ^= 1 << bit % 8
        text = bytes(changed)
        assert not text.endswith(b"\n") or followed(text, 0, mark_of(text)) is None


def test_a_line_of_another_journal_is_not_taken_for_one_of_this():
    lines = [b'{"t":"e","s":0,"y":[[%d]]}' % i for i in range(4)]
    mine = sealed([b'{"t":"mine"}', *lines]).splitlines(keepends=True)
    other = sealed([b'{"t":"other"}', *lines]).splitlines(keepends=True)
    for replaced in (range(2, 3), range(2, 2)):  # instead of a line, or between two
        data = b"".join([*mine[:2], other[2], *mine[replaced.stop :]])
        found = [stretch for stretch, _ in stretches(data, 0, mark_of(data))]
        assert [data[s.low : s.high] for s in found if not s.good] == [other[2]]
    lost = b"".join([b"x" * 20 + b"\n", *mine[1:]])  # without its first line, the others tell whose they are
    assert [s.lines for s, _ in stretches(lost, 0, mark_of(lost)) if s.good] == [4]


# ---- flipped bits, zeroed pages, lost files --------------------------------------------------------------------------


def damaged(path, rng):
    """Flip a bit, zero a page, or cut the file."""
    data = bytearray(path.read_bytes())
    at = rng.randrange(len(data))
    kind = rng.choice(["bit", "bit", "bit", "page", "byte"])
    if kind == "bit":
        data[at] ^= 1 << rng.randrange(8)
    elif kind == "page":
        data[at : at + 512] = bytes(len(data[at : at + 512]))
    else:
        del data[at]
    path.write_bytes(data)


@pytest.mark.parametrize("kind", ["journal", "shards", "runs"])
def test_what_is_damaged_changes_nothing_or_is_named(store, kind):
    if kind == "shards":
        compact(Store(store))
    before = told(opened(store))
    values = {
        (row["study"], k): value
        for row, trace in zip(opened(store).studies.iter_rows(named=True), split(opened(store)), strict=True)
        for k, value in trace
    }
    (path,) = (store / kind).glob("*.*")
    data, rng = path.read_bytes(), random.Random(kind)
    for _ in range(60):
        damaged(path, rng)
        found = opened(store)
        if not found.damage:  # a last line that looks torn, say
            assert told(found)[0][: len(before[0])] == before[0] or set(found.studies["status"]) != {"done"}
        for row, trace in zip(found.studies.iter_rows(named=True), split(found), strict=False):
            assert all(values[row["study"], k] == value for k, value in trace)
        path.write_bytes(data)
    assert told(opened(store)) == before
    assert not opened(store).damage


def split(results):
    traces = results.in_full().traces()
    pairs = list(zip(traces.evaluation.tolist(), traces.values[:, 0].tolist(), strict=True))
    return [pairs[low:high] for low, high in zip(traces.offsets[:-1], traces.offsets[1:], strict=True)]


def test_a_damaged_line_costs_only_that_line_and_the_same_command_makes_it_again(store):
    before = told(opened(store))
    (path,) = (store / "journal").glob("*.jsonl")
    lines = path.read_bytes().splitlines(keepends=True)
    at = next(i for i, line in enumerate(lines) if line.startswith(b'{"t":"e"'))
    lines[at] = lines[at].replace(b'"y":[[', b'"y":[[1', 1)
    path.write_bytes(b"".join(lines))
    with pytest.warns(DamagedStore, match=rf"line {at + 1}: its content does not match its checksum"):
        found = oa.open(store)
    assert found.studies["status"].to_list().count("interrupted") == 1
    assert found.studies["reason"].max().endswith("evaluations are lost")
    assert found.damage[0].line == at + 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DamagedStore)
        assert told(PLAN.run(store, workers=0)) == before


def test_a_journal_whose_first_pages_are_lost_keeps_its_later_studies(store):
    """The cards of its problems are in other journals, too."""
    before = opened(store)
    (path,) = (store / "journal").glob("*.jsonl")
    more = oa.Experiment(
        ["RandomSearch", "SimulatedAnnealing"], "functions/{sphere,ackley}/d3", 40, trials=4, seed=ROOT
    )
    more.run(store, workers=0)
    data = bytearray(path.read_bytes())
    data[: len(data) // 3] = bytes(len(data) // 3)
    path.write_bytes(data)
    found = opened(store)
    status = dict(found.studies.select("study", "status").iter_rows())
    assert 0 < sum(status[study] == "done" for study in before.studies["study"]) < 8
    assert found.damage


def test_every_command_names_damage_in_a_sentence(store, capsys):
    (path,) = (store / "journal").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"ackley", b"bckley", 1))
    for command in ("status s", "best s", "score s", "compare s", "export csv s -O out.csv", "report s -O out.html"):
        main(command.split())
        assert capsys.readouterr().err.count("store s is damaged in 1 file (journal/") == 1, command


def test_a_report_of_a_damaged_store_does_not_name_the_machine(store):
    (path,) = (store / "journal").glob("*.jsonl")
    (path := path.rename(path.with_name("annas_laptop-77-01234567.jsonl"))).write_bytes(
        path.read_bytes().replace(b"ackley", b"bckley", 1)
    )
    main(["report", "s", "-O", "r.html"])
    page = Path("r.html").read_text()
    assert "tore s is damaged in 1 file: its contents count as missing" in page
    assert path.stem not in page
    assert "annas" not in page


def test_verify_tells_and_repair_moves_aside_what_is_damaged(store, capsys):
    before = told(opened(store))
    assert main(["verify", "s"]) == 0
    assert "everything matches its checksum" in capsys.readouterr().out
    compact(Store(store))
    oa.Experiment("RandomSearch", "functions/sphere/d2", 10, seed=ROOT).run(store, workers=0)
    for part in ("journal", "shards", "runs"):
        path = next((store / part).glob("*.*"))
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 1
        path.write_bytes(data)
    assert main(["verify", "s"]) == 1
    out = capsys.readouterr().out
    assert all(f"  {part}/" in out for part in ("journal", "shards", "runs"))
    assert main(["repair", "s"]) == 0
    assert "is now in damaged/" in capsys.readouterr().out
    assert sorted(path.parent.name for path in (store / "damaged").glob("*/*")) == ["journal", "runs", "shards"]
    assert verify(Store(store)).damage == []
    PLAN.run(store, workers=0)
    assert told(oa.open(store).filter(problem="functions/{sphere,ackley}/d3"))[1:] == before[1:]
    assert repair(Store(store)).moved == []


@pytest.mark.parametrize("kind", ["cut", "deleted"])
def test_verify_tells_that_a_copy_of_a_store_is_not_whole(store, kind, capsys):
    (path,) = (store / "journal").glob("*.jsonl")
    data = path.read_bytes()
    path.unlink() if kind == "deleted" else path.write_bytes(data[: len(data) // 2])
    assert main(["verify", "s"]) == 1
    out = capsys.readouterr().out
    assert "the files that exist are intact, but something is missing" in out
    assert f"finished {8 if kind == 'deleted' else 4} studies that are now incomplete" in out
    PLAN.run(store, workers=0)
    assert main(["verify", "s"]) == 0


def test_a_repaired_store_can_be_merged_with_the_whole_one(store, whole):
    (path,) = (store / "journal").glob("*.jsonl")
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    assert repair(Store(store)).kept
    merge([Store(store), Store(whole)], Store("t"))
    merge([Store(whole), Store(store)], Store("u"))
    assert told(oa.open("t")) == told(oa.open("u")) == told(oa.open(whole))


def test_a_damaged_store_is_not_merged_and_its_damaged_journal_not_compacted(store):
    (path,) = (store / "journal").glob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(b"ackley", b"bckley", 1))
    with pytest.raises(OptarenaError, match=r"store s is damaged .* nothing was merged"):
        merge([Store(store)], Store("t"))
    assert compact(Store(store)).left[0][1].startswith("damaged: its content does not match its checksum")
    assert path.exists()


def test_a_shard_of_another_name_is_not_read(store):
    compact(Store(store))
    (path,) = (store / "shards").glob("*.parquet")
    shutil.copy(path, path.with_name("mine.parquet"))
    found = opened(store)
    assert [item.text for item in found.damage] == ["shards/mine.parquet: not the name of a shard"]
    assert told(found)[1] == told(opened(store))[1]


def test_that_a_shard_was_verified_is_remembered_until_it_changes(store, monkeypatch):
    compact(Store(store))
    oa.open(store)
    monkeypatch.setattr("hashlib.file_digest", None)
    oa.open(store)
    (path,) = (store / "shards").glob("*.parquet")
    os.utime(path, (0, 0))
    with pytest.raises(TypeError):
        oa.open(store)


def test_improvements_that_were_lost_with_a_journal_are_noticed():
    store = Path("s")
    for budget in (100, 200, 300):
        oa.Experiment("SimulatedAnnealing", "functions/ackley/d3", budget, record="improvements", seed=ROOT).run(
            store, workers=0
        )
    whole = opened(store)
    assert whole.studies["status"].to_list() == ["done"]
    oldest = sorted((store / "journal").glob("*.jsonl"), key=lambda path: path.stat().st_mtime)[:2]
    for path in oldest:
        path.unlink()
    left = opened(store)
    assert left.studies["status"].to_list() == ["interrupted"]
    assert left.studies["reason"][0].endswith("evaluations are lost")
    again = IMPROVEMENTS.run(store, workers=0)
    assert again.studies["status"].to_list() == ["done"]
    assert again.studies["best"][0] == whole.studies["best"][0]


def test_a_store_of_the_first_format_opens_as_before(store, capsys):
    before = told(opened(store))
    (path,) = (store / "journal").glob("*.jsonl")
    header, *lines = path.read_text().splitlines()
    texts = [line[: line.rindex(',"c":[')] + "}" for line in (header.replace('"version":2', '"version":1'), *lines)]
    path.write_text("\n".join(texts) + "\n")
    (run,) = (store / "runs").glob("*.json")
    text = run.read_text()
    run.write_text(text[: text.rindex(',"c":[')].replace('"version":2', '"version":1') + "}")
    found = oa.open(store)
    assert told(found) == before
    found = verify(Store(store))
    assert (found.damage, found.unchecked) == ([], 1)
    assert main(["verify", "s"]) == 0
    out = capsys.readouterr().out
    assert "1 journal of format 1 without checks" in out
    assert "everything matches its checksum" not in out
    compact(Store(store))
    assert told(oa.open(store)) == before


# ---- clocks, disks, values that cannot be ----------------------------------------------------------------------------


def test_a_clock_that_steps_back_does_not_freeze_how_a_study_ended(monkeypatch):
    ready = []

    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
    def moody(point):
        if not ready:
            raise KeyboardInterrupt
        return point["x"]

    def run():
        return oa.Experiment("RandomSearch", moody, 5, seed=ROOT).run("s", workers=0)

    with pytest.raises(KeyboardInterrupt):
        run()
    ready.append(True)
    now = time.time
    monkeypatch.setattr(time, "time", lambda: now() - 1e6)
    monkeypatch.setattr("optarena.store.journal._clock", time.time)
    monkeypatch.setattr("optarena.runner.attempt._clock", time.time)
    assert run().studies.select("status", "attempt").rows() == [("done", 0)]
    compact(Store("s"))
    assert oa.open("s").studies.select("status", "attempt").rows() == [("done", 0)]


def test_what_a_disk_did_not_take_is_evaluated_again(monkeypatch):
    whole = told(PLAN.run("whole", workers=0))
    sync, calls = os.fsync, []

    def fails(descriptor):
        if Path(f"/proc/self/fd/{descriptor}").readlink().suffix == ".jsonl":
            calls.append(descriptor)
            if len(calls) == 4:
                raise OSError(5, "Input/output error")
        sync(descriptor)

    with monkeypatch.context() as patch:
        patch.setattr("optarena.store.journal.SHARED_SECONDS", 0.0)
        patch.setattr("optarena.store.journal._fsync", fails)
        with pytest.raises(WorkError, match="the disk did not store what was written"):
            PLAN.run("s", workers=0)
    left = opened("s")
    assert (left.studies["status"] == "done").sum() < 8
    assert not left.damage
    assert told(PLAN.run("s", workers=0)) == whole


def test_a_value_better_than_the_known_optimum_is_named(store, capsys):
    (path,) = (store / "journal").glob("*.jsonl")
    lines = lines_of(path)
    next(line for line in lines if line["t"] == "e")["y"][0][0] = -1.6e88
    rewrite(path, lines)
    main(["score", "s"])
    out = " ".join(capsys.readouterr().out.split())
    assert "better than the known optimum, which is impossible" in out
    assert "-1.6e+88, optimum 0.0" in out


# ---- stores that change while they are read --------------------------------------------------------------------------


def test_small_shards_are_put_together_and_nothing_changes():
    for trials in range(1, 10):
        oa.Experiment(["RandomSearch", "SimulatedAnnealing"], "functions/ackley/d3", 40, trials=trials, seed=ROOT).run(
            "s", workers=0
        )
        before = oa.open("s")
        compact(Store("s"))
        assert oa.open("s").studies.equals(before.studies)
        assert told(oa.open("s")) == told(before)
    assert len(list(Path("s/shards").glob("*.parquet"))) == 2
    oa.Experiment(["RandomSearch", "SimulatedAnnealing"], "functions/ackley/d3", 60, trials=9, seed=ROOT).run(
        "s", workers=0
    )
    compact(Store("s"))
    assert set(oa.open("s").studies["evaluations"]) == {60}
    assert verify(Store("s")).damage == []


def test_points_are_found_after_more_journals_than_stay_open_were_compacted(monkeypatch):
    monkeypatch.setattr("optarena.store.streaming.MAX_OPEN", 2)
    for trials in range(1, 5):
        oa.Experiment("RandomSearch", "functions/ackley/d3", 10, trials=trials, seed=ROOT).run("s", workers=0)
    results = oa.open("s")
    full = results.in_full()
    compact(Store("s"))
    now = oa.open("s")
    assert results.best() == now.best()
    every = np.arange(40)
    assert full.parameters(every) == now.in_full().parameters(every)


def test_a_damaged_memory_of_what_was_verified_is_forgotten(store):
    compact(Store(store))
    before = told(opened(store))
    for data in (b'{"\xff\xfe":[1,2]}', b"[" * 100_000, b"null", b'{"a":[1]}'):
        (store / ".verified.json").write_bytes(data)
        assert told(opened(store)) == before


def test_what_is_no_file_is_not_opened_in_any_part_of_a_store(store, capsys):
    compact(Store(store))
    before = told(opened(store))
    for part, name in (("runs", "a.json"), ("shards", f"{'0' * 24}.parquet"), ("journal", "a.jsonl")):
        (store / part / f"1{name[1:]}").mkdir()
        os.mkfifo(store / part / f"2{name[1:]}")
        (store / part / f"3{name[1:]}").symlink_to("/dev/zero")
    results = opened(store)
    assert told(results) == before
    assert not results.damage
    assert main(["verify", str(store)]) == 0
    merge([Store(store)], Store("merged"))
    assert told(opened("merged")) == before


def test_a_run_file_that_lost_its_check_is_damaged(store):
    path = next((store / "runs").glob("*.json"))
    path.write_bytes(path.read_bytes().replace(b'"c":[', b'"b":['))
    damage = []
    assert Store(store).runs(damage) == []
    assert damage


def test_a_journal_whose_first_lines_are_all_lost_still_has_checks(store):
    path = next((store / "journal").glob("*.jsonl"))
    lines = path.read_bytes().split(b"\n")
    lines[:9] = [b"a line of another file"] * 9
    at = next(i for i in range(len(lines) - 1, 0, -1) if lines[i].startswith(b'{"t":"e"'))
    lines[at] = lines[at].replace(b'"y":[[', b'"y":[[1')
    path.write_bytes(b"\n".join(lines))
    assert any(item.line == at + 1 for item in verify(Store(store)).damage)


def test_a_shard_that_changed_behind_its_time_is_named_when_it_cannot_be_read(store):
    compact(Store(store))
    opened(store)
    path = next((store / "shards").glob("*.parquet"))
    facts, data = path.stat(), bytearray(path.read_bytes())
    data[100:-2000] = bytes(len(data[100:-2000]))
    path.write_bytes(data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert [item.file for item in opened(store).damage] == [f"shards/{path.name}"]


def test_a_shard_that_verify_found_damaged_is_not_used_again(store):
    compact(Store(store))
    opened(store)
    path = next((store / "shards").glob("*.parquet"))  # the only one
    facts, data = path.stat(), bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert [item.file for item in verify(Store(store)).damage] == [f"shards/{path.name}"]
    assert [item.file for item in opened(store).damage] == [f"shards/{path.name}"]


# ---- what was lost is made again -------------------------------------------------------------------------------------


def improving(budget, store="s"):
    plan = {"trials": 2, "record": "improvements", "seed": "77cf84ea-5171-4be7-8990-fc30d124d960"}
    return oa.Experiment(["CMA-ES", "RandomSearch"], "bbob/f1/d2/i1", budget, **plan).run(store, workers=0)


def found_by(results):
    frame = results.studies.sort("optimizer", "trial")
    traces = results.traces()
    return frame.select("optimizer", "trial", "status", "evaluations", "best", "attempt").rows(), traces.values.tolist()


def test_lost_improvements_are_written_again_in_the_same_attempt_however_often():
    for budget in (100, 200, 300):
        improving(budget)
    order = sorted(Path("s/journal").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    for path in order[:2]:
        path.unlink()
    assert set(oa.open("s").studies["status"]) == {"interrupted"}
    first = found_by(improving(300))
    assert first == found_by(improving(300, "whole"))
    improving(400)
    newest = max(Path("s/journal").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    newest.unlink()
    assert found_by(improving(400)) == found_by(improving(400, "whole"))


def test_a_study_whose_last_extension_is_lost_is_not_called_done(capsys):
    plan = {"trials": 2, "seed": "77cf84ea-5171-4be7-8990-fc30d124d960"}
    oa.Experiment("RandomSearch", "functions/sphere/d2", 50, **plan).run("s", workers=0)
    before = set(Path("s/journal").iterdir())
    oa.Experiment("RandomSearch", "functions/sphere/d2", 70, **plan).run("s", workers=0)
    (added,) = set(Path("s/journal").iterdir()) - before
    added.unlink()
    studies = oa.open("s").studies
    assert set(studies["status"]) == {"interrupted"}
    assert set(studies["reason"]) == {"a later run of it is lost"}
    assert main(["verify", "s"]) == 1
    assert "finished 2 studies that are now incomplete" in capsys.readouterr().out
    again = oa.Experiment("RandomSearch", "functions/sphere/d2", 70, **plan).run("s", workers=0)
    assert again.studies.select("status", "evaluations").unique().rows() == [("done", 70)]


def test_a_zeroed_end_of_a_journal_is_named():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 50).run("s", workers=0)
    (path,) = Path("s/journal").iterdir()
    data = path.read_bytes()
    path.write_bytes(data[:-200] + bytes(200))
    with pytest.warns(DamagedStore):
        assert [item.what for item in oa.open("s").damage] == ["its content does not match its checksum"]
    path.write_bytes(data[:-200])  # a writer that was killed left it so
    assert oa.open("s").damage == []


def test_a_study_that_does_not_learn_is_extended_beside_others_without_evaluating_again():
    for budget in (100, 200):
        improving(budget)
    newest = max(Path("s/journal").iterdir(), key=lambda path: path.stat().st_mtime_ns)
    lines = lines_of(newest)
    random = {line["s"] for line in lines if line.get("optimizer") == "RandomSearch"}
    assert min(line["k"] for line in lines if line["t"] == "e" and line["s"] in random) == 101
