"""What is mailed says nothing of who made it and where: no directory, user, machine or command line."""

from __future__ import annotations

import base64
import gzip
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena._process import host
from optarena._text import mailable, without_places
from optarena.formats import export
from optarena.runner.environment import environment

USER, HOST, WORD = "annelieseq", "quietbox77", "hunter2secret"

PROBLEM = """
import os, socket, tempfile
import optarena as oa

@oa.as_problem({"a": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
def mine(x):
    a = x["a"]
    if a < 0.3:
        open(os.path.join(os.getcwd(), "data", "gone.csv"))
    if a < 0.5:
        raise RuntimeError(f"{os.environ['HOME']} is full\\nat {tempfile.gettempdir()}/x by " + os.environ["LOGNAME"])
    if a < 0.7:
        host = socket.gethostname()
        raise ConnectionError(f"{os.environ['LOGNAME']}@{host}.example.org: refused by {host}")
    return a
"""

OPTIMIZER = """
import optarena as oa

class Broken(oa.Optimizer):
    def __init__(self, space, *, objectives, rng, file=""):
        self.file = file
    def suggest(self, n):
        raise FileNotFoundError(2, "No such file or directory", self.file)
    def observe(self, X, y):
        pass
"""


@pytest.fixture
def at_home(tmp_path, monkeypatch) -> Iterator[Path]:
    """A home, a current and a temporary directory, a user and a machine with names that nothing else has."""
    home = tmp_path / "home" / USER
    work, temporary = home / "my project", tmp_path / "quietscratch"
    for place in (work, temporary):
        place.mkdir(parents=True)
    for name in ("HOME", "LOGNAME", "USER"):
        monkeypatch.setenv(name, str(home) if name == "HOME" else USER)
    monkeypatch.setattr("socket.gethostname", lambda: HOST)
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    monkeypatch.chdir(work)
    host.cache_clear()
    yield work
    host.cache_clear()


@pytest.fixture
def store(at_home, monkeypatch) -> oa.Results:
    (at_home / "mine.py").write_text(PROBLEM)
    (at_home / "broken.py").write_text(OPTIMIZER)
    problems = [str(at_home / "mine.py:mine"), "bbob/f1/d2/i1", "functions/sphere/d2"]
    broken = oa.use(str(at_home / "broken.py:Broken"), file=str(at_home / "model.bin"))
    monkeypatch.setattr("sys.argv", ["/usr/bin/train.py", f"--password={WORD}", str(at_home)])
    oa.Experiment(["RandomSearch", "QuasiRandom", broken], problems, 12, trials=2, seed="7" * 32).run(
        "results", workers=0
    )
    monkeypatch.setattr("sys.argv", ["/usr/bin/optarena", "run", "--store", str(at_home / "results"), WORD])
    oa.Experiment(["RandomSearch"], "functions/ackley/d2", 12).run("results", workers=0)
    return oa.open(at_home / "results")


def secrets(tmp_path: Path) -> list[str]:
    return [str(tmp_path), str(Path.home()), str(Path.cwd()), "quietscratch", "my project", USER, HOST, WORD, "/home/"]


def everything_in(data: bytes) -> str:
    """The text of a file, and of what is packed in it."""
    if data[:2] == b"\x1f\x8b":
        return everything_in(gzip.decompress(data))
    parts = [data.decode("utf-8", "replace")]
    if data[:4] == b"PAR1":
        parts.append(pl.read_parquet(io.BytesIO(data)).write_csv())
    for found in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", data):
        raw = base64.b64decode(found + b"=" * (-len(found) % 4), validate=False) if len(found) % 4 != 1 else b""
        parts.append(raw.decode("latin-1"))
    return "\n".join([*parts, parts[0].replace("\\/", "/").replace("\\u002f", "/")])


def leaks(path: Path, words: list[str]) -> list[tuple[str, str]]:
    files = [path] if path.is_file() else [one for one in path.rglob("*") if one.is_file()]
    assert files
    named = [(one.relative_to(path).as_posix(), word) for one in files for word in words if word in one.name]
    return named + [
        (one.name, word)
        for one in files
        for text in [everything_in(one.read_bytes())]
        for word in words
        if word in text
    ]


def test_the_store_has_secrets_to_lose(store, tmp_path):
    texts = "\n".join(one.read_text() for one in Path("results").rglob("*.json*"))
    assert [word for word in secrets(tmp_path) if word not in texts] == [WORD]


def test_neither_journals_nor_run_files_have_a_command_line(store):
    assert store.all_runs
    assert all("argv" not in path.read_text() for path in Path(store.path, "runs").glob("*.json"))
    assert "argv" not in environment()


def test_a_report_says_nothing_of_its_maker(store, tmp_path):
    path = store.report(tmp_path / "r.html")
    assert leaks(path, secrets(tmp_path)) == []
    assert "model.bin" in path.read_text()  # the file's own name is part of what went wrong


@pytest.mark.parametrize("name", ["e.csv", "e.csv.gz", "e.parquet"])
def test_tables_say_nothing_of_their_maker(store, tmp_path, name):
    path = export(name.split(".")[1], store, tmp_path / "out" / name)
    assert leaks(path, secrets(tmp_path)) == []


@pytest.mark.parametrize("format", ["coco", "iohprofiler", "bayesmark"])
def test_folders_of_other_tools_say_nothing_of_their_maker(store, tmp_path, format):
    part = store.filter(problem="bbob/*") if format != "bayesmark" else store
    path = export(format, part, tmp_path / "out" / format)
    assert leaks(path, secrets(tmp_path)) == []


@pytest.mark.parametrize("ending", ["json", "html", "svg", "pdf"])
def test_figures_say_nothing_of_their_maker(store, tmp_path, ending):
    from optarena.report.figures import figure
    from optarena.report.output import save

    path = save(figure("failures", store), tmp_path / f"f.{ending}")
    assert leaks(path, secrets(tmp_path)) == []


@pytest.mark.parametrize("name", ["e.csv", "e.parquet"])
def test_a_table_whose_messages_were_cut_is_still_the_same_studies(store, tmp_path, name):
    from optarena.formats import import_files

    path = export(name.split(".")[1], store, tmp_path / "out" / name)
    done = import_files(name.split(".")[1], [path], "results")
    assert [one.new for one in done] == [0]


@pytest.mark.parametrize(
    ("text", "cut"),
    [
        ("no file '/home/anna/data/iris.csv'", "no file 'iris.csv'"),
        ('File "/home/anna maria/x.py", line 3, in f', 'File "x.py", line 3, in f'),
        ("/home/bob/x.py:33: in f", "x.py:33: in f"),
        ("file:///home/bob/y.txt", "y.txt"),
        ("-I/home/bob/include", "-Iinclude"),
        (r"\n/home/bob/x/y\n", r"\ny\n"),
        ("at:/srv/anna/x", "at:x"),
        ("(/srv/anna/x)", "(x)"),
        ("in /home/bob", "in ~"),
        ("~bob/x/y.py", "y.py"),
        (r"C:\Users\bob\x.py", "x.py"),
        ("b'/home/bob/zz'", "b'zz'"),
    ],
)
def test_paths_are_cut_to_the_name_of_their_file(text, cut):
    assert without_places(text) == cut


@pytest.mark.parametrize(
    "text",
    ["bbob/f1/d5/i3", "1/2/3 of 4", "https://example.org/a/b", "a / b / c", "d/dx", r"\d+\w", "km/h", "/", "x // y"],
)
def test_what_is_no_path_stays(text):
    assert without_places(text) == text


def test_machines_and_users_are_not_named(monkeypatch):
    monkeypatch.setenv("HOME", "/home/anneliese")
    assert mailable("anneliese@box.example.org refused, said box", ["box"]) == "(user)@(host) refused, said (host)"
    assert mailable("no right for anneliese; annelieses stay", ["box"]) == "no right for (user); annelieses stay"
    monkeypatch.setenv("USER", "asmith")
    assert mailable("no right for asmith or anneliese") == "no right for (user) or (user)"
    monkeypatch.setenv("HOME", "/root")
    assert mailable("the root of the box", ["localhost"]) == "the root of the box"


def test_databases_of_bayesmark_do_not_know_where_they_are(store, tmp_path):
    path = export("bayesmark", store, tmp_path / "out")
    for file in path.rglob("*.json"):
        args = json.loads(file.read_text())["meta"]["args"]
        assert args.get("-db-root", ".") == "."
