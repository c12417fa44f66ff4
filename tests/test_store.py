"""Stores: what survives, what is refused, and that reading executes nothing and imports no problem."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from journals import rewrite
from optarena.dataset import Dataset
from optarena.errors import DamagedStore, OptarenaError, WorkError
from optarena.runner.kernels import NATIVE
from optarena.runner.local import Silent
from optarena.runner.past import from_columns
from optarena.runner.supervisor import Supervisor
from optarena.runner.worker import Task
from optarena.store import Store
from optarena.store.compaction import compact

ROOT = uuid.UUID(int=7)


@pytest.fixture
def store():
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d{2,3}", 40, batch=4, trials=2, seed=ROOT).run(
        "s", workers=0
    )
    return Path("s")


def journal(store):
    (path,) = (store / "journal").glob("*.jsonl")
    return path


def test_the_first_line_has_format_version_and_environment(store):
    head = json.loads(journal(store).read_text().splitlines()[0])
    assert (head["t"], head["version"]) == ("journal", 2)
    assert {"python", "numpy", "blas", "cpu", "platform"} <= set(head["environment"])


def test_a_card_has_all_that_scoring_needs(store):
    lines = [json.loads(line) for line in journal(store).read_text().splitlines()]
    cards = {line["id"]: line for line in lines if line["t"] == "problem"}
    assert sorted(cards) == ["functions/sphere/d2", "functions/sphere/d3"]  # once a journal, not once a study
    card = cards["functions/sphere/d2"]
    assert card["known"] == {"optimum": [0.0]}
    assert (card["dimension"], card["suite"], card["function"]) == (2, "functions", "sphere")
    assert list(card["space"]) == ["x1", "x2"]


def test_reading_imports_neither_problems_nor_optimizers(store):
    code = (
        "import sys, optarena; r = optarena.open('s'); r.studies; r.in_full().traces(); r.best();"
        "heavy = ('optarena.problems.', 'optarena.optimizers.', 'cocoex', 'scipy');"
        "bad = [m for m in sys.modules if m.startswith(heavy)];"
        "assert not bad, bad"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_importing_the_package_imports_nothing_heavy():
    heavy = {"numpy", "polars", "scipy", "msgspec", "rich", "altair"}
    code = f"import sys, optarena; bad = {heavy} & set(sys.modules); assert not bad, bad"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_journal_cut_at_any_byte_opens_and_tells_the_truth(store):
    path = journal(store)
    data = path.read_bytes()
    whole = oa.open(store)
    rows = {row["study"]: row for row in whole.studies.iter_rows(named=True)}
    values = dict(
        zip(
            whole.studies["study"],
            np.split(whole.in_full().traces().values[:, 0], whole.in_full().traces().offsets[1:-1]),
            strict=True,
        )
    )
    rng = np.random.default_rng(0)
    for cut in [0, 1, len(data) - 1, *rng.integers(0, len(data), 60).tolist()]:
        path.write_bytes(data[:cut])
        results = oa.open(store)
        assert results.studies.height == 8  # the run file still says what was meant
        traces = results.in_full().traces()
        begun = results.studies.filter(results.studies["status"] != "missing")
        for i, row in enumerate(begun.iter_rows(named=True)):
            part = traces.values[traces.offsets[i] : traces.offsets[i + 1], 0]
            np.testing.assert_array_equal(part, values[row["study"]][: len(part)])
            assert row["evaluations"] == len(part)
            if row["status"] == "done":
                assert row["evaluations"] == rows[row["study"]]["evaluations"]
            else:
                # this process wrote the journal and is alive, so what has no end counts as running
                assert row["status"] == "running"


def test_copying_the_files_of_two_stores_together_merges_them(store):
    other = oa.Experiment("RandomSearch", "functions/ackley/d2", 10, seed=ROOT).run("other", workers=0)
    for part in ("journal", "runs"):
        shutil.copytree(Path("other") / part, store / part, dirs_exist_ok=True)
    assert oa.open(store).studies.height == 8 + other.studies.height


def test_equal_duplicates_collapse_and_different_ones_are_named(store):
    before = oa.open(store)
    path = journal(store)
    copy = path.with_name("zz-1-00000000.jsonl")
    shutil.copy(path, copy)
    twice = oa.open(store)
    assert twice.studies.drop("suggest_seconds", "evaluate_seconds", "observe_seconds", "cpu_seconds").equals(
        before.studies.drop("suggest_seconds", "evaluate_seconds", "observe_seconds", "cpu_seconds")
    )
    np.testing.assert_array_equal(twice.in_full().traces().values, before.in_full().traces().values)
    lines = copy.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if json.loads(line)["t"] == "e")
    row = json.loads(lines[at])
    row["y"][2][0] += 1.0
    lines[at] = json.dumps(row)
    rewrite(copy, lines)
    changed = oa.open(store)
    assert changed.studies["conflicts"].to_list() == [1] + [0] * 7
    np.testing.assert_array_equal(changed.in_full().traces().values, before.in_full().traces().values)


def test_a_newer_format_is_refused_clearly(store):
    path = journal(store)
    lines = path.read_text().splitlines()
    head = json.loads(lines[0]) | {"version": 99, "brand_new": True}
    rewrite(path, [json.dumps(head), '{"t":"unheard"}'])
    with pytest.raises(OptarenaError, match=r"has format 99, this optarena reads up to 2: pip install --upgrade"):
        oa.open(store)
    path.unlink()
    (run,) = (store / "runs").glob("*.json")
    run.write_text('{"version": 99}')
    with pytest.raises(OptarenaError, match="has format 99"):
        oa.open(store)


def test_a_directory_that_is_no_store_is_refused(tmp_path):
    with pytest.raises(OptarenaError, match="does not exist"):
        oa.open("nowhere")
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.tex").write_text("x")
    with pytest.raises(OptarenaError, match="is not a store"):
        oa.open("full")
    with pytest.raises(OptarenaError, match="is not a store and is not empty"):
        oa.Experiment("RandomSearch", "functions/sphere/d2", 5).run("full", workers=0)


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("x")
    with pytest.raises(OptarenaError, match="cannot write to"):
        oa.Experiment("RandomSearch", "functions/sphere/d2", 5).run("file/store", workers=0)


def test_a_full_disk_loses_nothing_that_was_acknowledged():
    experiment = oa.Experiment("RandomSearch", "functions/sphere/d5", 3000, seed=ROOT)
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, limits[1]))  # the kernel refuses to let a file grow beyond
    try:
        with pytest.raises(WorkError, match="What was evaluated before is safe"):
            experiment.run("s", workers=0)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    (path,) = Path("s/journal").glob("*.jsonl")
    assert path.read_bytes().endswith(b"\n")
    kept = oa.open("s")
    some = kept.in_full().traces().values
    assert 0 < len(some) < 3000
    again = experiment.run("s", workers=0)
    assert again.studies.select("status", "evaluations", "conflicts").rows() == [("done", 3000, 0)]
    np.testing.assert_array_equal(again.in_full().traces().values[: len(some)], some)


def test_results_can_be_read_while_the_journal_grows():
    seen = []

    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
    def watched(x):
        results = oa.open("s")
        seen.append(results.studies.select("status", "evaluations").rows()[0])
        return x["x"]

    oa.Experiment("RandomSearch", watched, 5, seed=ROOT).run("s")
    assert seen == [("running", k) for k in range(5)]


def test_filters(store):
    results = oa.open(store)
    assert results.filter(optimizer="Quasi*").studies.height == 4
    assert results.filter(problem="functions/*/d3", optimizer=["RandomSearch"]).studies.height == 2
    assert results.filter(dimension=2).studies.height == 4
    assert results.filter(suite="bbob").studies.height == 0
    assert results.filter(problem="functions/*/d{2..3}").studies.height == results.studies.height
    assert results.filter(optimizer="{Random,Grid}Search").studies.height == 4
    assert results.filter(optimizer="no{thing").studies.height == 0
    part = results.filter(dimension=3)
    assert len(part.in_full().traces()) == part.studies.height
    assert part.in_full().traces().lengths.tolist() == [40] * 4


def test_best_names_who_found_what_with_which_parameters(store):
    results = oa.open(store)
    for row in results.best():
        value = sum(1 for _ in row["parameters"])
        assert value == int(row["problem"][-1])
        points = results.points(row["study"])
        found = points[row["best_evaluation"] - 1]
        assert found["parameters"] == row["parameters"]
        assert found["values"] == {"value": row["best"]}
        assert row["best"] == results.filter(problem=row["problem"]).studies["best"].min()


def test_seconds_add_up(store):
    results = oa.open(store)
    traces = results.in_full().traces()
    frame = results.studies
    spent = (frame["suggest_seconds"] + frame["evaluate_seconds"] + frame["observe_seconds"]).to_numpy()
    ends = traces.seconds[traces.offsets[1:] - 1]
    assert (ends <= spent + 1e-12).all()
    assert (ends > 0).all()
    inner = np.diff(traces.seconds)[np.setdiff1d(np.arange(len(traces.seconds) - 1), traces.offsets[1:-1] - 1)]
    assert (inner >= 0).all()


def test_what_fails_under_a_lock_is_not_taken_for_the_lock(tmp_path):
    place = Store(tmp_path / "s")
    place.create()
    with pytest.raises(FileNotFoundError, match="elsewhere"), place.lock("run"):
        (tmp_path / "elsewhere").read_text()


def test_a_dead_workers_costs_are_not_counted_again_where_its_study_is_in_a_shard(store):
    experiment = oa.Experiment("QuasiRandom", "functions/sphere/d2", 60, batch=4, seed=ROOT)
    plan, place = experiment.plan(ROOT), Store(store)
    compact(place)
    past = from_columns(oa.open(store).in_full().columns, plan.studies[0].id)
    experiment.run(store, workers=0)  # as a worker that wrote 20 more rows before it died
    journal = next((store / "journal").glob("*.jsonl"))
    supervisor = Supervisor(place, plan, experiment, Silent(), lambda: None, NATIVE)
    told = supervisor._recorded(Task(1, plan.studies[0], "functions/sphere/d2", past=past), journal.name)
    assert told.last == 60
    new = sum(line["w"][0] + line["w"][2] + line["w"][4] for line in rows_of(journal))
    assert abs(told.spent - past.spent - new) <= 60


def rows_of(journal):
    return [line for line in map(json.loads, journal.read_text().splitlines()) if line["t"] in ("e", "end")]


def test_of_a_part_only_the_journals_that_mention_it_are_read(store):
    oa.Experiment("RandomSearch", "functions/sphere/d20", 5, seed=ROOT).run(store, workers=0)
    whole = oa.open(store).studies
    part = Dataset.of_store(store, "functions/sphere/d20").studies  # no prefix of it, either way
    assert part.filter(part["status"] == "done")["problem"].to_list() == ["functions/sphere/d20"]
    study = whole["study"][0]
    one = Dataset.of_store(store, study).studies
    assert one.filter(one["study"] == study).equals(whole.filter(whole["study"] == study))


def test_a_journal_whose_numbers_were_changed_by_hand_is_named(store):
    path = journal(store)
    rewrite(path, re.sub(r'"w":\[\d+,', '"w":[', path.read_text(), count=1).splitlines())
    with pytest.warns(DamagedStore, match=rf"{path.name}: the line at byte [\d,]+ has numbers that do not fit"):
        found = oa.open(store)
    assert set(found.studies["status"]) == {"done", "interrupted"}


def test_opening_a_store_in_the_moment_in_which_it_is_created_never_fails():
    names = [f"new{i}" for i in range(300)]

    def create():
        for name in names:
            Store(name).create()

    with ThreadPoolExecutor(1) as other:
        done = other.submit(create)
        for name in names:
            while not Path(name).exists():
                pass
            assert oa.open(name).studies.height == 0
        done.result()


def test_a_store_is_created_where_an_empty_directory_or_a_link_stands(tmp_path):
    Path("empty").mkdir()
    Path("linked").symlink_to("elsewhere", target_is_directory=True)
    Path("elsewhere").mkdir()
    for name in ("empty", "linked"):
        Store(name).create()
        assert oa.open(name).studies.height == 0
    assert Path("linked").is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["elsewhere", "empty", "linked"]


def test_a_store_that_is_gone_is_not_made_again_by_the_end_of_a_run(tmp_path):
    store = Store(tmp_path / "s")
    store.create()
    run = store.begin_run(oa.Experiment(["RandomSearch"], "functions/sphere/d2", 5).plan(), [])
    store.path.rename(tmp_path / "elsewhere")
    store.end_run(run, "failed")
    with pytest.raises(WorkError, match="is gone"):
        store.end_run(run, "done")
    assert not store.path.exists()


@pytest.mark.parametrize("error", [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP])
def test_a_file_system_without_locks_goes_on_without_them(error, monkeypatch):
    def none(*_: object) -> None:
        raise OSError(error, "no locks")

    Store("results").create()
    monkeypatch.setattr(fcntl, "flock", none)
    oa.Experiment("RandomSearch", "functions/sphere/d2", 5).run("results", workers=0)
    assert set(oa.open("results").studies["status"]) == {"done"}


def test_another_machine_is_alive_by_the_clock_of_the_file_system_however_wrong_ours_is(monkeypatch):
    store = Store("results")
    store.create()
    pilot = store.begin_pilot("0" * 12, "00000000-0000-0000-0000-00000000abcd", 1, 1)
    pilot.host = "another"
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + 3600)
    assert Store("results").is_live(pilot)
    os.utime(next(store.run_paths()), (real() - 120, real() - 120))
    assert not Store("results").is_live(pilot)
    assert sorted(path.name for path in Path("results/runs").iterdir()) == [f"{pilot.id}.json"]
