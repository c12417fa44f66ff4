"""An archive tells what it holds, notices every change, and its studies repeat."""

from __future__ import annotations

import json
import random
import shutil
import subprocess

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
    assert '<a href="spheres/report.html">spheres</a>' in (archive / "index.html").read_text()
    inside = oa.open(archive / "spheres" / "store")
    assert inside.in_full().traces().values.tolist() == oa.open(store).in_full().traces().values.tolist()


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="the system has no sha256sum")
def test_the_sums_are_those_of_other_tools(archive):
    subprocess.run(["sha256sum", "--check", "--strict", "SHA256SUMS"], cwd=archive / "spheres", check=True)


def test_a_bundle_repeats(archive, capsys):
    assert main(["verify", str(archive), "--seed", "3"]) == 0
    said = capsys.readouterr().out
    assert "every sum is right; 1 of 1 studies repeat" in said
    assert check_bundle(archive / "spheres", random.Random(3)).good


@pytest.mark.parametrize("how", ["changed", "missing", "added", "link"])
def test_every_change_is_noticed(archive, tmp_path, how, capsys):
    copy = tmp_path / "archive"
    shutil.copytree(archive, copy)
    file = next((copy / "spheres" / "store" / "shards").glob("*.parquet"))
    if how == "changed":
        data = bytearray(file.read_bytes())
        data[len(data) // 2] ^= 1
        file.write_bytes(data)
    elif how == "missing":
        file.unlink()
    elif how == "added":
        file.with_name("more.parquet").write_bytes(b"")
    else:
        file.rename(tmp_path / "elsewhere")
        file.symlink_to(tmp_path / "elsewhere")
    assert main(["verify", str(copy)]) == 1
    assert file.name in capsys.readouterr().out or how == "added"


def test_values_that_do_not_repeat_are_told(tmp_path, capsys):
    """The problem's file has changed since it was published."""
    mine = tmp_path / "mine.py"
    mine.write_text("space = {'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}\n\ndef f(x):\n    return x\n")
    oa.Experiment(["RandomSearch"], f"{mine}:f", budget=5, trials=1).run(tmp_path / "store", workers=0)
    publish(tmp_path / "store", tmp_path / "archive")
    mine.write_text(mine.read_text().replace("return x", "return x + 1"))
    assert main(["verify", str(tmp_path / "archive")]) == 1
    assert "differs" in capsys.readouterr().out


def test_a_second_bundle_joins_and_the_same_name_replaces(store, archive, tmp_path):
    place = tmp_path / "all"
    publish(store, place)
    other = tmp_path / "again"
    shutil.copytree(store, other)
    publish(other, place)
    publish(other, place)
    assert sorted(path.name for path in place.iterdir()) == ["again", "index.html", "spheres"]


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
