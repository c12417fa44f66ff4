"""An archive tells what it holds, notices every change, and its studies repeat."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import optarena as oa
from optarena.archive import check_bundle, publish
from optarena.cli import main


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "spheres"
    experiment = oa.Experiment(["RandomSearch", "QuasiRandom"], ["functions/sphere/d2"], budget=20, trials=3, seed=1)
    experiment.run(path, workers=0)
    return path


@pytest.fixture(scope="module")
def archive(store, tmp_path_factory):
    path = tmp_path_factory.mktemp("archive") / "archive"
    publish(store, path)
    return path


def test_a_bundle_explains_itself(store, archive):
    facts = json.loads((archive / "spheres" / "bundle.json").read_text())
    assert (facts["studies"], facts["evaluations"], facts["failed"]) == (6, 120, 0)
    assert facts["optimizers"] == ["QuasiRandom", "RandomSearch"]
    assert facts["problems"] == ["functions/sphere/d2"]
    assert facts["answer"] == oa.open(store).compare().answer.headline
    assert facts["experiments"][0]["budget"] == 20
    assert "numpy" in json.dumps(facts["environments"])
    assert '<a href="./spheres/report.html">spheres</a>' in (archive / "index.html").read_text()
    inside = oa.open(archive / "spheres" / "store")
    assert inside.in_full().traces().values.tolist() == oa.open(store).in_full().traces().values.tolist()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the system has no sha256sum")
def test_the_sums_are_those_of_other_tools(archive):
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=archive / "spheres", check=True)


def test_a_bundle_repeats(archive, capsys):
    assert main(["verify", str(archive), "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert "every sum is right; 1 of 1 studies repeat" in said
    assert check_bundle(archive / "spheres", random.Random(3)).proved


@pytest.fixture
def copy(archive, tmp_path):
    """An archive of which a test may change something."""
    shutil.copytree(archive, tmp_path / "archive", ignore=shutil.ignore_patterns(".*"))
    return tmp_path / "archive"


def renew_sums(bundle):
    """What a publisher can do who changes a bundle: all sums are right again."""
    files = [file for file in sorted(bundle.rglob("*")) if file.is_file() and file != bundle / "SHA256SUMS"]
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.relative_to(bundle)}\n" for file in files]
    (bundle / "SHA256SUMS").write_text("".join(lines))


def changed(shard):
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    shard.write_bytes(data)


def linked(shard):
    elsewhere = shard.parents[4] / "elsewhere"
    shard.rename(elsewhere)
    shard.symlink_to(elsewhere)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (changed, "{name} is not as it was published"),
        (Path.unlink, "{name} is missing"),
        (linked, "{name} is not a regular file"),
        (lambda shard: shard.with_name("more.parquet").touch(), "shards/more.parquet is not in SHA256SUMS"),
        (lambda shard: shard.with_name(".hidden").touch(), "shards/.hidden is not in SHA256SUMS"),
        (lambda shard: shard.with_name("SHA256SUMS").touch(), "shards/SHA256SUMS is not in SHA256SUMS"),
        (lambda shard: (shard.parent / "up").symlink_to("/"), "shards/up is not a regular file"),
        (lambda shard: os.mkfifo(shard.parent / "pipe"), "shards/pipe is not a regular file"),
    ],
)
def test_every_change_is_noticed(copy, change, said, capsys):
    shard = next((copy / "spheres" / "store" / "shards").glob("*.parquet"))
    change(shard)
    assert main(["verify", str(copy)]) == 1
    out = capsys.readouterr().out
    assert said.format(name=shard.name) in out
    assert "no study was run again" in out
    assert "--seed" not in out  # nothing was drawn


def test_what_reading_leaves_in_the_store_of_a_bundle_is_no_fault(copy):
    assert main(["status", str(copy / "spheres" / "store")]) == 0
    assert list((copy / "spheres").rglob(".*"))
    assert check_bundle(copy / "spheres", random.Random(1)).proved


@pytest.mark.parametrize("part", ["store", "evaluations.parquet", "report.html", "bundle.json"])
def test_a_bundle_without_one_of_its_parts_is_at_fault(copy, part, capsys):
    gone = copy / "spheres" / part
    shutil.rmtree(gone) if part == "store" else gone.unlink()
    renew_sums(copy / "spheres")
    assert main(["verify", str(copy)]) == 1
    assert part in capsys.readouterr().out
    assert main(["verify", str(copy / "spheres")]) == 1


@pytest.mark.parametrize("part", ["evaluations.parquet", "report.html", "store"])
def test_a_part_of_another_kind_is_no_part(copy, part, capsys):
    gone = copy / "spheres" / part
    if part == "store":
        shutil.rmtree(gone)
        gone.write_text("a file")
    else:
        gone.unlink()
        gone.mkdir()
    renew_sums(copy / "spheres")
    assert main(["verify", str(copy)]) == 1
    assert f"{part} is {'not a store' if part == 'store' else 'missing'}" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["bundle.json", "SHA256SUMS", "store/.verified.json", "report.html"])
def test_a_pipe_in_a_bundle_is_named_and_never_waited_for(copy, name):
    """What it holds would be read without end; the process has a limit, since a wait could not be tested otherwise."""
    place = copy / "spheres" / name
    place.unlink(missing_ok=True)
    os.mkfifo(place)
    done = subprocess.run(
        [sys.executable, "-m", "optarena", "verify", str(copy)], capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 1
    assert f"{name} is not a regular file" in done.stdout


def test_odd_lines_of_the_sums_are_named(copy, capsys):
    sums = copy / "spheres" / "SHA256SUMS"
    sums.write_text(f"{sums.read_text()}# a remark\n{'0' * 64}  ../../outside\n")
    assert main(["verify", str(copy)]) == 1
    out = capsys.readouterr().out
    assert "line 6 of SHA256SUMS is not a sum, two spaces and a name" in out
    assert "../../outside is missing" in out


def test_a_bundle_that_names_others_than_its_store_contradicts_itself(copy, capsys):
    file = copy / "spheres" / "bundle.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), "optimizers": ["Mine"], "name": "other"}))
    renew_sums(copy / "spheres")
    assert main(["verify", str(copy)]) == 1
    out = capsys.readouterr().out
    assert "bundle.json names other optimizers than the store has" in out
    assert out.startswith("spheres: ")  # the directory's name, not what it says of itself


def test_a_store_of_which_studies_were_taken_away_contradicts_its_bundle(copy, tmp_path, capsys):
    oa.Experiment(["RandomSearch"], ["functions/sphere/d2"], budget=20, trials=3, seed=1).run(
        tmp_path / "few", workers=0
    )
    shutil.rmtree(copy / "spheres" / "store")
    shutil.copytree(tmp_path / "few", copy / "spheres" / "store")
    renew_sums(copy / "spheres")
    assert main(["verify", str(copy)]) == 1
    assert "bundle.json says 6 studies, the store has 3" in capsys.readouterr().out


SPACE = "space = {'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}\n\n"
TRAP = "import pathlib\npathlib.Path('{place}').touch()\n"


@pytest.fixture
def own(tmp_path):
    """An archive of studies of a file, which is no part of it."""
    mine = tmp_path / "private" / "mine.py"
    mine.parent.mkdir()
    mine.write_text(f"{SPACE}def f(x):\n    return x ** 2\n")
    oa.Experiment(["RandomSearch"], f"{mine}:f", budget=5, trials=2, seed=1).run(tmp_path / "store", workers=0)
    publish(tmp_path / "store", tmp_path / "archive")
    return tmp_path / "archive"


def test_a_file_of_a_bundle_is_never_run(own, tmp_path, monkeypatch, capsys):
    """Not by its name, nor because the current directory has the name of a module."""
    bundle, trap = own / "store", tmp_path / "sprung"
    mine = (tmp_path / "private" / "mine.py").read_text()
    for name in ("mine.py", "random.py", "cma.py"):
        (bundle / name).write_text(TRAP.format(place=trap) + mine)
    renew_sums(bundle)
    monkeypatch.chdir(bundle)
    assert main(["verify", "."]) == 3
    out = capsys.readouterr().out
    assert "every sum is right; 1 of 1 could not be run" in out
    assert "not run: mine.py:f is a file" in out
    assert not trap.exists()
    for folder in (bundle, own):
        assert main(["verify", str(own), "--run-files", str(folder)]) == 2
        assert "came with the archive" in capsys.readouterr().err
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / "mine.py").symlink_to(bundle / "mine.py")
    assert main(["verify", ".", "--run-files", str(tmp_path / "links")]) == 3
    assert "mine.py is a file that came with the archive" in capsys.readouterr().out
    assert not trap.exists()


def test_workers_import_nothing_from_the_bundle_they_are_started_in(copy, tmp_path, monkeypatch):
    trap = tmp_path / "sprung"
    (copy / "spheres" / "random.py").write_text(TRAP.format(place=trap))
    renew_sums(copy / "spheres")
    monkeypatch.chdir(copy / "spheres")
    assert main(["verify", "."]) == 0
    assert not trap.exists()


def test_settings_that_name_a_file_run_nothing(tmp_path, monkeypatch, capsys):
    """Scalarised drives the optimizer that a setting names."""
    own = (
        "import optarena as oa\n\n\nclass Mine(oa.Optimizer):\n"
        "    def suggest(self, n):\n        return self.space.to_dicts(self.space.sample(n, self.rng))\n"
    )
    (tmp_path / "inner.py").write_text(own)
    used = oa.use("Scalarised", optimizer="inner.py:Mine")
    oa.Experiment([used], "zdt/zdt1/d3", budget=5, trials=1).run(tmp_path / "store", workers=0)
    publish(tmp_path / "store", tmp_path / "archive")
    (tmp_path / "archive" / "store" / "inner.py").write_text(TRAP.format(place=tmp_path / "sprung") + own)
    renew_sums(tmp_path / "archive" / "store")
    monkeypatch.chdir(tmp_path / "archive" / "store")
    assert main(["verify", "."]) == 3
    assert "inner.py is a file, and files run only from a folder that you name" in capsys.readouterr().out
    assert not (tmp_path / "sprung").exists()


def test_the_same_file_from_a_folder_of_ones_own_repeats(own, tmp_path, capsys):
    assert main(["verify", str(own), "--run-files", str(tmp_path / "private")]) == 0
    assert "1 of 1 studies repeat" in capsys.readouterr().out


@pytest.mark.parametrize("change", [("** 2", "** 3"), ("** 2", "**  2")])
def test_a_file_that_has_changed_is_no_repeat(own, tmp_path, change, capsys):
    """Even where its values are the same: who knows what else it does."""
    mine = tmp_path / "private" / "mine.py"
    mine.write_text(mine.read_text().replace(*change))
    assert main(["verify", str(own), "--run-files", str(tmp_path / "private")]) == 3
    out = capsys.readouterr().out
    assert "the problem's source changed since it was published" in out
    assert "1 of 1 could not be run" in out


def test_values_that_do_not_repeat_are_told(tmp_path, capsys):
    """The file is the same, but not what it reads."""
    mine = tmp_path / "mine.py"
    (tmp_path / "factor").write_text("1")
    factor = "import pathlib\nfactor = float(pathlib.Path(__file__).with_name('factor').read_text())\n"
    mine.write_text(f"{factor}{SPACE}def f(x):\n    return factor * x\n")
    oa.Experiment(["RandomSearch"], f"{mine}:f", budget=5, trials=1).run(tmp_path / "store", workers=0)
    publish(tmp_path / "store", tmp_path / "archive")
    (tmp_path / "factor").write_text("2")
    assert main(["verify", str(tmp_path / "archive"), "--run-files", str(tmp_path)]) == 1
    assert "differs" in capsys.readouterr().out


def test_a_bundle_of_failures_proves_nothing(tmp_path, capsys):
    (tmp_path / "mine.py").write_text(f"{SPACE}def f(x):\n    return 1 / 0\n")
    oa.Experiment(["RandomSearch"], f"{tmp_path}/mine.py:f", budget=3, trials=1).run(tmp_path / "store", workers=0)
    publish(tmp_path / "store", tmp_path / "archive")
    assert main(["verify", str(tmp_path / "archive")]) == 3
    said = capsys.readouterr().out
    assert "1 of 1 could not be run" in said
    assert "it ended as failed" in said


def test_other_studies_are_drawn_for_those_that_cannot_run(tmp_path, capsys):
    mine = tmp_path / "mine.py"
    mine.write_text(f"{SPACE}def f(x):\n    return x\n")
    problems = [f"{mine}:f", "functions/sphere/d2"]
    oa.Experiment(["RandomSearch"], problems, budget=3, trials=4).run(tmp_path / "store", workers=0)
    bundle = publish(tmp_path / "store", tmp_path / "archive")
    found = check_bundle(bundle, random.Random(1), share=0.25)
    assert (found.wanted, len(found.replayed)) == (2, 2)
    assert found.proved
    found = check_bundle(bundle, random.Random(1), share=0.75)
    assert (found.wanted, len(found.replayed), len(found.cannot)) == (6, 4, 4)
    assert found.good
    assert not found.proved


def test_a_bundle_names_files_without_their_directories(own, tmp_path, capsys):
    text = (own / "store" / "bundle.json").read_text()
    assert str(tmp_path) not in text
    assert "private" not in text
    facts = json.loads(text)
    assert facts["experiments"][0]["problems"] == ["mine.py:f"]
    assert facts["files"] == ["mine.py:f"]
    assert main(["publish", str(tmp_path / "store"), "-O", str(tmp_path / "other")]) == 0
    assert "not in it: mine.py:f" in capsys.readouterr().out


def test_a_bundle_that_lost_its_facts_is_not_passed_over(store, copy, tmp_path, capsys):
    shutil.copytree(store, tmp_path / "other")
    publish(tmp_path / "other", copy)
    (copy / "spheres" / "bundle.json").unlink()
    assert main(["verify", str(copy)]) == 1
    assert "bundle.json is missing" in capsys.readouterr().out


def test_a_second_bundle_joins_and_the_same_name_replaces(store, archive, tmp_path):
    place = tmp_path / "all"
    publish(store, place)
    other = tmp_path / "again"
    shutil.copytree(store, other)
    publish(other, place)
    publish(other, place)
    assert sorted(path.name for path in place.iterdir()) == ["again", "index.html", "spheres"]


def test_what_a_killed_publishing_left_is_cleared_away(store, archive, tmp_path):
    place = tmp_path / "all"
    shutil.copytree(archive / "spheres", place / ".spheres-0123abcd-old")  # killed between the two renames
    shutil.copytree(archive / "spheres", place / ".spheres-0123abcd")
    (place / ".mine").touch()
    publish(store, place)
    assert sorted(path.name for path in place.iterdir()) == [".mine", "index.html", "spheres"]


def test_the_old_bundle_stays_where_the_new_one_cannot_be_written(store, copy, monkeypatch, capsys):
    """Also where the bundle was away in that moment: a publishing before was killed between its two renames."""
    before = (copy / "spheres" / "SHA256SUMS").read_bytes()
    (copy / "spheres").rename(copy / ".spheres-0123abcd-old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("optarena.archive.publishing.export", full)
    assert main(["publish", str(store), "-O", str(copy)]) == 1
    assert "No space left" in capsys.readouterr().err
    assert (copy / "spheres" / "SHA256SUMS").read_bytes() == before
    assert not list(copy.glob(".*"))


def test_the_old_bundle_comes_back_if_the_new_one_cannot_take_its_place(store, copy, monkeypatch):
    before = (copy / "spheres" / "SHA256SUMS").read_bytes()
    rename = Path.rename

    def failing(self, target):
        if Path(target).name == "spheres" and not self.name.endswith("-old"):
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    assert main(["publish", str(store), "-O", str(copy)]) == 1
    assert (copy / "spheres" / "SHA256SUMS").read_bytes() == before
    assert not list(copy.glob(".*"))


def test_a_neighbour_neither_stops_publishing_nor_puts_markup_into_the_index(store, copy):
    hostile = '"><img src=x>'
    shutil.copytree(copy / "spheres", copy / hostile)
    (copy / "broken").mkdir()
    (copy / "broken" / "bundle.json").write_text("{")
    publish(store, copy)
    page = (copy / "index.html").read_text()
    assert "<img" not in page
    assert 'href="./%22%3E%3Cimg%20src%3Dx%3E/report.html"' in page
    assert "broken is left out" in page


@pytest.mark.parametrize(
    ("name", "said"),
    [("nothing", "does not exist"), ("a b", "cannot be the name of a bundle")],
)
def test_what_cannot_be_published_is_refused(name, said, store, tmp_path, capsys):
    if " " in name:
        shutil.copytree(store, tmp_path / name)
    assert main(["publish", str(tmp_path / name), "-O", str(tmp_path / "archive")]) == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "archive").exists()


def test_a_directory_that_is_no_bundle_is_not_replaced(store, tmp_path, capsys):
    (tmp_path / "archive" / "spheres").mkdir(parents=True)
    (tmp_path / "archive" / "spheres" / "mine.txt").write_text("mine")
    assert main(["publish", str(store), "-O", str(tmp_path / "archive")]) == 2
    assert "is not a bundle" in capsys.readouterr().err
    assert (tmp_path / "archive" / "spheres" / "mine.txt").read_text() == "mine"
