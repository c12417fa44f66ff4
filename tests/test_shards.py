"""Compaction, merging and replay: the same store in another form, and a proof that a study repeats."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import uuid
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import optarena as oa
from journals import rewrite
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.runner.again import replay
from optarena.store import Store
from optarena.store.compaction import compact
from optarena.store.merging import merge

ROOT = uuid.UUID(int=7)
TIMES = ["suggest_seconds", "evaluate_seconds", "observe_seconds", "cpu_seconds"]

MINE = """
import optarena as oa
S = {"a": {"type": "real", "space": "log", "range": [1e-3, 1.0]},
     "b": {"type": "int", "space": "linear", "range": [0, 9]},
     "c": {"type": "cat", "values": ["u", "v", "w"]}, "d": {"type": "bool"}}

@oa.as_problem(S, constraints=2, metrics=["hidden", "other"], sense="max")
def rich(x):
    if x["b"] == 7:
        raise ValueError("seven")
    if x["b"] == 8:
        return float("nan")
    value = float("inf") if x["b"] == 9 else x["a"]
    return oa.Evaluation([value], [x["b"] - 5, -1.0], {"hidden": -x["a"], "other": float("-inf")})

@oa.as_problem(S, sense=["min", "max"])
def two(x):
    return [x["a"], x["b"]]
"""


@pytest.fixture
def mine(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)


def fill(name, trials=2, budget=30, **fields):
    problems = ["mine.py:rich", "mine.py:two", "functions/sphere/d3", "functions/g06/d2"]
    for number, record in enumerate(("all", "improvements"), start=7):
        fields["seed"] = uuid.UUID(int=number)
        experiment = oa.Experiment(
            ["RandomSearch", "QuasiRandom"], problems, budget, trials=trials, batch=4, record=record, **fields
        )
        experiment.run(name, workers=0)
    return Path(name)


def everything(store):
    results = oa.open(store)
    rows = {study: [repr(row) for row in results.points(study)] for study in sorted(results.studies["study"])}
    return rows, results.studies.drop(TIMES).sort("study").rows()


@pytest.mark.usefixtures("mine")
def test_a_shard_holds_exactly_what_the_journals_held():
    store = fill("s")
    before, seconds = everything(store), oa.open(store).studies.sort("study").select(TIMES).to_numpy()
    traces = oa.open(store).in_full().traces()
    done = compact(Store(store))
    assert done.journals == 2
    assert not list((store / "journal").iterdir())
    assert everything(store) == before
    np.testing.assert_allclose(oa.open(store).studies.sort("study").select(TIMES).to_numpy(), seconds, atol=1e-6)
    np.testing.assert_allclose(oa.open(store).in_full().traces().seconds, traces.seconds, atol=1e-6)
    assert compact(Store(store)).shards == []
    more = fill("s", trials=3, budget=50)  # goes on from the shard
    assert compact(Store(more)).journals == 2
    assert len(list((store / "shards").iterdir())) == 2
    whole = fill("whole", trials=3, budget=50)
    assert everything(more)[0] == everything(whole)[0]
    assert oa.open(more).studies["conflicts"].sum() == 0


@pytest.mark.usefixtures("mine")
def test_a_shard_is_named_by_its_content_and_compacting_twice_is_harmless():
    store = fill("s")
    shutil.copytree(store, "copy")
    names = [compact(Store(path)).shards for path in ("s", "copy")]
    assert names[0] == names[1]
    shutil.copytree("copy/shards", "s/shards", dirs_exist_ok=True)
    assert oa.open("s").studies["conflicts"].sum() == 0


@pytest.mark.usefixtures("mine")
def test_half_of_the_files_there_and_back_changes_nothing():
    store = fill("s")
    compact(Store(store))
    fill("s", trials=3, budget=45)
    before = everything(store)
    files = sorted(
        path.relative_to(store) for part in ("journal", "shards", "runs") for path in (store / part).iterdir()
    )
    for path in files[::2]:
        (Path("t") / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(store / path, Path("t") / path)
    assert oa.open("t").studies.height  # opens, whatever is missing
    for path in files[::2]:
        shutil.copy(Path("t") / path, store / path)
    assert everything(store) == before


@pytest.mark.usefixtures("mine")
def test_a_deleted_shard_leaves_a_store_that_opens_and_tells_the_truth():
    store = fill("s")
    done = compact(Store(store))
    (store / "shards" / done.shards[0]).unlink()
    frame = oa.open(store).studies
    assert set(frame["status"]) == {"missing"}
    assert frame.height == 32
    again = fill("s")
    assert set(oa.open(again).studies["status"]) == {"done"}


def test_what_is_being_written_is_not_compacted():
    left = []

    @oa.as_problem({"x": {"type": "bool"}})
    def watched(x):
        left.extend(compact(Store("s")).left)
        return 1.0

    oa.Experiment("RandomSearch", watched, 2).run("s", workers=0)
    assert [reason for _, reason in left] == ["its process is running"] * 2
    assert compact(Store("s")).journals == 1


def test_points_can_be_read_while_their_journal_is_compacted():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 5, seed=ROOT).run("s", workers=0)
    before = oa.open("s")
    study = before.studies["study"][0]
    compact(Store("s"))
    assert before.points(study) == oa.open("s").points(study)


def test_a_journal_that_has_only_just_begun_is_left_alone():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 5, seed=ROOT).run("s", workers=0)
    path = Path("s/journal/host-1-0000.jsonl")
    path.touch()
    assert [name for name, _ in compact(Store("s")).left] == [path.name]
    os.utime(path, (0, 0))
    assert compact(Store("s")).journals == 1
    assert not path.exists()


def test_two_compactions_at_once_do_not_disturb_each_other():
    fill_simple = oa.Experiment("RandomSearch", "functions/sphere/d2", 200, trials=40, seed=ROOT)
    whole = fill_simple.run("s", workers=0)
    code = "import sys; from optarena.cli import main; sys.exit(main(['compact', 's']))"
    both = [subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)]
    for process in both:
        _, err = process.communicate(timeout=60)
        assert process.returncode == 0, err
    assert len(list(Path("s/shards").glob("*.parquet"))) == 1
    np.testing.assert_array_equal(oa.open("s").in_full().traces().values, whole.in_full().traces().values)


def test_contradictions_are_left_where_they_can_be_seen():
    oa.Experiment("RandomSearch", "functions/ackley/d2", 5, seed=ROOT).run("s", workers=0)
    (path,) = Path("s/journal").iterdir()
    lines = path.read_text().splitlines()
    at = next(i for i, line in enumerate(lines) if json.loads(line)["t"] == "e")
    row = json.loads(lines[at])
    row["y"][1][0] = -1.0
    lines[at] = json.dumps(row)
    rewrite(path.with_name("zz.jsonl"), lines)
    done = compact(Store("s"))
    assert done.shards == []
    assert {reason for _, reason in done.left} == {"rows contradict each other"}
    assert oa.open("s").studies["conflicts"].to_list() == [1]


# ---- merging --------------------------------------------------------------------------------------------------------


def test_merging_collapses_what_is_equal_and_names_what_is_not(capsys):
    def run(store, problem, trials):
        return oa.Experiment("RandomSearch", problem, 10, trials=trials, seed=ROOT).run(store, workers=0)

    run("a", "functions/sphere/d2", 2)
    run("b", "functions/sphere/d2", 3)
    run("b", "functions/ackley/d2", 1)
    compact(Store("b"))
    run("b", "functions/levy/d2", 1)
    assert main(["merge", "a", "b", "-O", "c"]) == 0
    assert "c has 5 studies, 50 evaluations" in capsys.readouterr().out
    assert main(["merge", "a", "-O", "c"]) == 0  # again changes nothing
    merged = oa.open("c")
    assert merged.studies.height == 5
    assert merged.studies["conflicts"].sum() == 0
    for part, study in [("a", oa.open("a").studies["study"][0]), ("b", oa.open("b").studies["study"][-1])]:
        assert oa.open(part).points(study) == merged.points(study)


def test_a_journal_that_grew_is_taken_in_its_longer_form():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 10, seed=ROOT).run("a", workers=0)
    shutil.copytree("a", "b")
    (path,) = Path("a/journal").iterdir()
    path.write_bytes(path.read_bytes()[:-60])
    merge([Store("a"), Store("b")], Store("c"))
    assert oa.open("c").studies["status"].to_list() == ["done"]
    (other,) = Path("b/journal").iterdir()
    rewrite(other, other.read_text().replace("RandomSearch", "RandomSerach").splitlines())
    with pytest.raises(OptarenaError, match="was changed by hand"):
        merge([Store("b")], Store("c"))


def test_two_problems_under_one_name_are_not_merged():
    for name, bound in (("a", 1.0), ("b", 2.0)):
        space = {"x": {"type": "real", "space": "linear", "range": [0.0, bound]}}
        oa.Experiment("RandomSearch", oa.as_problem(space, id="p")(lambda x: x["x"]), 3).run(name)
    with pytest.raises(OptarenaError, match=r"p, version 1: its space in b is not that in a"):
        merge([Store("a"), Store("b")], Store("c"))
    assert not Path("c").exists()


@pytest.mark.parametrize(
    ("arguments", "said"), [(["a", "-O", "a"], "both a source and the target"), (["none", "-O", "c"], "does not exist")]
)
def test_merging_what_cannot_be_merged(arguments, said, capsys):
    oa.Experiment("RandomSearch", "functions/sphere/d2", 3).run("a", workers=0)
    assert main(["merge", *arguments]) == 2
    assert said in capsys.readouterr().err


# ---- replay ---------------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("mine")
@pytest.mark.slow
def test_replay_proves_that_a_study_repeats():
    fill("s", trials=1)
    compact(Store("s"))
    frame = oa.open("s").studies
    for row in frame.filter(pl.col("optimizer") == "QuasiRandom").iter_rows(named=True):
        verdict = replay("s", row["study"][:12])
        assert verdict.same, verdict
        assert verdict.compared == len(oa.open("s").points(row["study"]))
        assert verdict.facts == []


def test_replay_names_the_first_difference_and_the_facts(capsys):
    oa.Experiment("RandomSearch", "functions/ackley/d2", 6, seed=ROOT).run("s", workers=0)
    (path,) = Path("s/journal").iterdir()
    study = oa.open("s").studies["study"][0]
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    lines[0]["environment"]["numpy"] = "0.9"
    at = next(line for line in lines if line["t"] == "e")
    value = at["y"][3][0]
    at["y"][3][0] = 0.125
    rewrite(path, lines)
    assert main(["replay", "s", study]) == 1
    out = capsys.readouterr().out
    assert f"first difference: evaluation 4: gave [{value}], but recorded is [0.125]" in out
    assert "changed: numpy: 0.9, now" in out
    at["y"][3][0], at["x"][1][0] = value, 0.5
    rewrite(path, lines)
    assert main(["replay", "s", study]) == 1
    assert "first difference: evaluation 2: suggested x1 = " in capsys.readouterr().out


def test_replay_of_what_is_not_there_is_one_sentence(capsys):
    oa.Experiment("RandomSearch", "functions/ackley/d2", 6, trials=2, seed=ROOT).run("s", workers=0)
    for study, said in (("zzz", "no study begins with 'zzz'"), ("", "no study begins with")):
        assert main(["replay", "s", study]) == 2
        assert said in capsys.readouterr().err


def test_replay_of_a_pairing_that_no_longer_works_says_why(monkeypatch):
    from optarena.optimizers.quasi_random import QuasiRandom

    results = oa.Experiment("QuasiRandom", "functions/sphere/d2", 4, batch=2).run("s", workers=0)
    can = msgspec.structs.replace(QuasiRandom.capabilities, batch=False)
    monkeypatch.setattr(QuasiRandom, "capabilities", can)
    with pytest.raises(OptarenaError, match="again: QuasiRandom gives one point at a time, the batch is 2"):
        replay("s", results.studies["study"][0])


def test_replay_does_not_try_again_what_had_to_be_killed(tmp_path):
    (tmp_path / "sleepy.py").write_text(
        "import time, optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def sleepy(x):\n    time.sleep(3600 if x['x'] > 0.7 else 0)\n    return x['x']\n"
    )
    experiment = oa.Experiment("RandomSearch", "sleepy.py:sleepy", 10, limits={"evaluation": 3}, seed=ROOT)
    results = experiment.run("s", workers=1)
    assert results.studies["failures"][0] > 0
    verdict = replay("s", results.studies["study"][0])
    assert verdict.same
    assert verdict.compared == 10


def test_a_store_of_the_first_format_opens_for_ever():
    """Written by the first version of the format; if this fails, old stores no longer open."""
    shutil.copytree(Path(__file__).parent / "data" / "store_v1", "old")
    results = oa.open("old")
    assert results.studies.select("status", "evaluations", "conflicts").unique().rows() == [("done", 12, 0)]
    assert results.studies.height == 4
    assert results.best()[0]["best"] == pytest.approx(results.studies["best"].min(), abs=10)
    assert len(results.in_full().traces().seconds) == 48
