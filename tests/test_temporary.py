"""Temporary files: not to be guessed or led astray, readable by their owner only, and removed."""

from __future__ import annotations

import os
import stat
import tempfile
import time
from pathlib import Path

import pytest

import optarena as oa
from optarena import _files
from optarena._files import remove_abandoned_beside, write_atomically
from optarena._scratch import WITHIN, Scratch, remove_abandoned
from optarena.errors import OptarenaError, WorkError
from optarena.formats import export
from stores import imported


@pytest.fixture
def temporary(tmp_path, monkeypatch) -> Path:
    place = tmp_path / "temporary"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.delenv(WITHIN, raising=False)
    return place


def aged(path: Path) -> Path:
    then = time.time() - 7200
    os.utime(path, (then, then), follow_symlinks=False)
    return path


# ---- files beside what they become ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["r.html", "e.csv", "e.csv.gz", "e.parquet"])
def test_an_output_that_is_a_link_is_replaced_and_what_it_points_to_is_not_touched(tmp_path, name):
    results = imported(tmp_path / "store")
    precious, link = tmp_path / "precious.txt", tmp_path / name
    precious.write_text("mine")
    link.symlink_to(precious)
    if name == "r.html":
        results.report(link)
    else:
        export(name.split(".")[1], results, link)
    assert precious.read_text() == "mine"
    assert not link.is_symlink()
    assert link.stat().st_size > 100
    assert sorted(one.name for one in tmp_path.iterdir()) == sorted(["precious.txt", "store", name])


def test_a_folder_that_is_a_dangling_link_is_refused(tmp_path):
    results = imported(tmp_path / "store", problems=("bbob/f1/d2",))
    (tmp_path / "out").symlink_to(tmp_path / "nowhere")
    with pytest.raises(OptarenaError, match="already exists"):
        export("coco", results, tmp_path / "out")
    assert not (tmp_path / "nowhere").exists()


def test_a_temporary_name_that_is_taken_is_not_written_through(tmp_path, monkeypatch):
    monkeypatch.setattr(_files.secrets, "token_hex", lambda n: "0" * (2 * n))
    precious = tmp_path / "precious.txt"
    precious.write_text("mine")
    (tmp_path / "a.txt.00000000.tmp").symlink_to(precious)
    with pytest.raises(WorkError, match="cannot write to"):
        write_atomically(tmp_path / "a.txt", b"other")
    assert precious.read_text() == "mine"


def test_what_a_killed_process_left_beside_a_file_goes_after_an_hour(tmp_path):
    old, young = tmp_path / "r.html.01234567.tmp", tmp_path / "r.html.89abcdef.tmp"
    others = [tmp_path / name for name in ("r.html.mine.tmp", "s.html.01234567.tmp", "r.html.01234567.tmp.txt")]
    for path in (old, young, *others):
        path.write_text("half")
    for path in (old, *others):
        aged(path)
    remove_abandoned_beside(tmp_path / "r.html")
    assert set(tmp_path.iterdir()) == {young, *others}


# ---- directories ---------------------------------------------------------------------------------------------------


def test_a_scratch_directory_is_its_owners_alone_and_is_removed(temporary):
    with Scratch("test") as folder:
        assert Path(folder).parent == temporary
        assert stat.S_IMODE(Path(folder).stat().st_mode) == 0o700
    assert list(temporary.iterdir()) == []


def test_a_scratch_directory_is_removed_after_an_error(temporary):
    def fails() -> None:
        with Scratch("test") as folder:
            (Path(folder) / "x").write_text("x")
            raise ValueError

    with pytest.raises(ValueError):
        fails()
    assert list(temporary.iterdir()) == []


def test_abandoned_directories_are_removed_and_those_in_use_are_not(temporary, tmp_path):
    abandoned = temporary / "optarena-solver-abcdefgh"
    (abandoned / "deep").mkdir(parents=True)
    (abandoned / "deep" / "model.mps").write_text("x")
    recent, foreign = temporary / "optarena-solver-recent", temporary / "other-solver-abc"
    elsewhere, link = tmp_path / "elsewhere", temporary / "optarena-solver-link"
    for path in (recent, foreign, elsewhere):
        path.mkdir()
    (elsewhere / "precious").write_text("mine")
    (abandoned / "way out").symlink_to(elsewhere)
    link.symlink_to(elsewhere)
    with Scratch("solver") as used:
        for path in (abandoned, foreign, link, Path(used)):
            aged(path)
        remove_abandoned()
        assert set(temporary.iterdir()) == {recent, foreign, link, Path(used)}
    assert (elsewhere / "precious").read_text() == "mine"


@pytest.mark.xdist_group("workers")
def test_a_run_with_workers_leaves_nothing_even_of_those_that_were_killed(temporary, tmp_path):
    (tmp_path / "mine.py").write_text(
        "import os, signal\nimport optarena as oa\nfrom optarena._scratch import Scratch\nkept = []\n"
        "@oa.as_problem({'a': {'type': 'real', 'space': 'linear', 'range': [0.0, 1.0]}})\n"
        "def mine(x):\n    kept.append(Scratch('left'))\n    os.kill(os.getpid(), signal.SIGSEGV)\n"
    )
    oa.Experiment(["RandomSearch"], [str(tmp_path / "mine.py:mine")], 2).run(tmp_path / "store", workers=1)
    assert oa.open(tmp_path / "store").failures()["status"].unique().to_list() == ["crashed"]
    assert list(temporary.iterdir()) == []


# ---- stores --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["journal", "runs"])
def test_a_run_does_not_write_through_a_linked_part_of_a_store(tmp_path, part):
    experiment = oa.Experiment(["RandomSearch"], "functions/sphere/d2", 5)
    experiment.run(tmp_path / "store", workers=0)
    (tmp_path / "store" / part).rename(tmp_path / "elsewhere")
    (tmp_path / "store" / part).symlink_to(tmp_path / "elsewhere")
    before = sorted((tmp_path / "elsewhere").iterdir())
    with pytest.raises(OptarenaError, match="is a link"):
        oa.Experiment(["RandomSearch"], "functions/ackley/d2", 5).run(tmp_path / "store", workers=0)
    assert sorted((tmp_path / "elsewhere").iterdir()) == before
    assert oa.open(tmp_path / "store").studies.height == 1  # it can be read


def test_the_directory_of_a_store_may_be_a_link(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "store").symlink_to(tmp_path / "real")
    oa.Experiment(["RandomSearch"], "functions/sphere/d2", 5).run(tmp_path / "store", workers=0)
    assert oa.open(tmp_path / "real").studies.height == 1
