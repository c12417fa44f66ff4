"""What the live page's server refuses to do, and what it says when something goes wrong."""

from __future__ import annotations

import json
import os
import shutil
import stat
import subprocess
import sys

import pytest

import optarena as oa
from optarena.cli.serve_command import open_page, redirect
from optarena.errors import OptarenaError, WorkError
from optarena.serve.control import key_of
from optarena.serve.guard import HEADER
from optarena.serve.hub import Hub
from optarena.store import Store
from optarena.store.following import Follower, Stores, names_of
from serving import HERE, ROUTES, Served
from waiting import wait_for


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("safe") / "results"
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", budget=20, trials=3).run(path, workers=0)
    return path


@pytest.fixture
def store(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    return path


@pytest.fixture
def hub(store):
    hub = Hub([store])
    hub._look()
    return hub


def commands(store) -> list[tuple[str, str]]:
    lines = (store / "control.jsonl").read_text().splitlines()
    return [(line["action"], line["state"]) for line in map(json.loads, lines)]


# ---- who may command -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["forwarded", "via", "x-real-ip", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto"]
)
def test_the_key_of_commands_is_not_given_through_a_proxy(store, name):
    mine = Served(store)
    with mine.client() as client:
        mine.inside(client)
        assert client.get("/keys").json() == {"control": mine.guard.control}
        assert client.get("/keys", headers={name: "x"}).json() == {"control": ""}
        good = {"origin": HERE, HEADER: mine.guard.control}
        assert client.post("/control/resume", headers={**good, name: "x"}).status_code == 403
        assert client.post("/control/resume", headers=good).status_code == 200


def test_a_run_is_started_only_after_what_would_run_was_shown(store):
    mine = Served(store)
    with mine.client() as client:
        mine.inside(client)
        good = {"origin": HERE, HEADER: mine.guard.control}
        wait_for(lambda: mine.hub.follower.runs)
        asked = client.post("/control/trials", headers=good, json={"trials": 2}).json()
        assert "Add 2 trials" in asked["ask"]
        assert "optimizers: RandomSearch, QuasiRandom; problems: functions/sphere/d2; trials 5" in asked["ask"]
        assert "executes" not in asked["ask"], "what is ours is no file"
        assert client.post("/control/trials", headers=good, json={"trials": 2, "sure": "x"}).json() == asked
        assert not (store / "control.jsonl").exists()
        done = client.post("/control/trials", headers=good, json={"trials": 2, "sure": asked["sure"]}).json()
        assert done == {"did": "Adding 2 trials."}
        wait_for(lambda: mine.hub.progress.snapshot()["ended"] == 10)
        wait_for(lambda: not mine.hub.control._begun and not mine.hub.progress.live)


def changed(store, **fields) -> None:
    """Another experiment in the run file."""
    (path,) = Store(store).run_paths()
    (run,) = Store(store).runs()
    for name, value in fields.items():
        setattr(run, name, value)
    path.unlink()
    Store(store)._write_run(run)


def test_no_file_of_a_store_is_executed(store, monkeypatch):
    (store / "evil.py").write_text("raise SystemExit('executed')")
    monkeypatch.chdir(store.parent)
    for named in (
        "store/evil.py:Evil",
        str(store / "evil.py:Evil"),
        "store/../store/evil.py:Evil",
        {"use": "store/evil.py:Evil"},
    ):
        changed(store, experiment={"optimizers": [named], "problems": ["functions/sphere/d2"]})
        hub = Hub([store])
        hub._look()
        for action in ("retry", "trials"):
            for call in (hub.control.question, hub.control.do):
                with pytest.raises(OptarenaError, match="lies in the store"):
                    call(action, hub.follower.runs, [], 1)
    changed(store, experiment={"optimizers": ["RandomSearch"], "problems": ["st{or,}e/evil.py:loss"]})
    hub._look()
    with pytest.raises(OptarenaError, match="cannot be shown before"):
        hub.control.question("retry", hub.follower.runs, [])
    # also where the server stands in the store
    monkeypatch.chdir(store)
    changed(store, experiment={"optimizers": ["evil.py:Evil"], "problems": ["functions/sphere/d2"]})
    hub._look()
    with pytest.raises(OptarenaError, match="lies in the store"):
        hub.control.question("retry", hub.follower.runs, [])


def test_files_that_would_be_executed_are_named(store, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    changed(store, experiment={"optimizers": ["RandomSearch"], "problems": ["mine.py:loss"], "trials": 3})
    hub = Hub([store])
    hub._look()
    asked = hub.control.question("retry", hub.follower.runs, [])
    assert f"It executes {tmp_path / 'mine.py'}." in asked.text
    assert str(tmp_path) in asked.text


def test_runs_of_other_machines_and_users_are_not_continued(store, monkeypatch):
    changed(store, host="another")
    hub = Hub([store])
    hub._look()
    with pytest.raises(OptarenaError, match="not started here by you"):
        hub.control.question("retry", hub.follower.runs, [])
    changed(store, host=os.uname().nodename)
    hub._look()
    assert hub.control.question("retry", hub.follower.runs, []) is not None
    mine = os.geteuid()
    monkeypatch.setattr("optarena.serve.control.os.geteuid", lambda: mine + 1)
    with pytest.raises(OptarenaError, match="not started here by you"):
        hub.control.question("retry", hub.follower.runs, [])


def test_a_run_that_changed_after_it_was_shown_is_not_run(store):
    (run,) = Store(store).runs()
    words = [sys.executable, "-m", "optarena.serve.control", str(store), run.id, "retry", "0", key_of(run)]
    changed(store, experiment={**run.experiment, "problems": ["functions/rosenbrock/d2"]})
    found = subprocess.run(words, capture_output=True, text=True, check=False)
    assert found.returncode == 2
    assert "has changed" in found.stdout


def test_no_other_process_is_stopped(store):
    """A run file names a process: one that is no run of this user is left alone."""
    other = subprocess.Popen(["sleep", "600"])
    try:
        from optarena._process import born, host, place

        changed(store, ended=None, how="", pid=other.pid, born=born(other.pid), host=host(), place=place())
        hub = Hub([store])
        hub._look()
        assert hub.progress.live
        with pytest.raises(OptarenaError, match="not a run of yours"):
            hub.control.do("stop", hub.follower.runs, hub.progress.live)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()
    assert commands(store) == [("stop", "asked"), ("stop", "refused")]


def test_what_cannot_be_recorded_is_not_done(store, hub):
    (store / "control.jsonl").mkdir()
    Store(store).pause()
    with pytest.raises(WorkError, match="cannot write"):
        hub.control.do("resume", hub.follower.runs, [])
    assert Store(store).paused


def test_the_last_commands_are_shown_and_intents_are_not(store, hub):
    for _ in range(4):
        hub.control.do("resume", hub.follower.runs, [])
    hub._look()
    assert [line["did"] for line in json.loads(hub.state)["commands"]] == ["Resumed."] * 4
    assert commands(store)[:2] == [("resume", "asked"), ("resume", "done")]


# ---- what is answered ------------------------------------------------------------------------------------------------


def test_an_error_that_nobody_thought_of_is_a_sentence_under_the_same_policy(store, monkeypatch):
    mine = Served(store)

    def fail(*_given):
        raise KeyError("<script>nobody</script>")

    with mine.client() as client:
        mine.inside(client)
        wait_for(lambda: mine.hub.pages is not None)
        monkeypatch.setattr("optarena.serve.choice.Choice.of", fail)
        answer = client.get("/data")
        assert answer.status_code == 500
        assert answer.headers["content-type"] == "application/json"
        assert "nobody" in answer.json()["error"]
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"


def test_bodies_change_nothing_on_any_route(store):
    mine = Served(store)
    with mine.client() as client:
        mine.inside(client)
        good = {"origin": HERE, HEADER: mine.guard.control}
        for route in ROUTES:
            for body in (b"{}", b"x" * 2_000_000):
                assert client.post(route, headers=good, content=body).status_code in (404, 405), route
        for route in (
            "/control/resume",
            "/control/pause",
            "/control/stop",
            "/control/retry",
            "/control/trials",
            "/control/x",
        ):
            assert client.post(route, headers=good, content=b"x" * 2_000_000).status_code == 400, route
            assert client.get(route).status_code == 405, route
        assert not (store / "control.jsonl").exists()
        assert client.get("/state").status_code == 200


def test_others_do_not_see_the_token_among_the_words_of_the_browser(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setenv("DISPLAY", ":0")
    told = []
    monkeypatch.setattr("optarena.cli.serve_command.webbrowser.open", told.append)
    address = "http://127.0.0.1:8770/?token=secret&x=%22%3E"
    open_page(address)
    wait_for(lambda: told)
    (uri,) = told
    assert uri.startswith("file:///")
    assert "secret" not in uri
    (file,) = tmp_path.glob("optarena-*.html")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert "token=secret&amp;x=" in file.read_text()
    assert redirect(address) != file


# ---- what changes under its hands ------------------------------------------------------------------------------------


def same_time_apart(path) -> None:
    facts = path.stat()
    os.utime(path, ns=(facts.st_atime_ns, facts.st_mtime_ns + 1_000_000_000))


def test_a_journal_that_was_changed_in_its_place_is_read_again(store):
    follower = Follower(Stores([store]))
    follower.look()
    follower.look()
    assert not follower.all_damage()
    (journal,) = Store(store).journal_paths()
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    with journal.open("r+b") as file:
        file.write(data)
    same_time_apart(journal)  # however coarse the clock of the file system is
    follower.look()
    assert follower.look().again, "at the second look: a writer may have been about to append"
    assert follower.all_damage()
    assert not follower.look().again


def test_a_journal_that_grows_is_never_taken_for_a_changed_one(store):
    (journal,) = Store(store).journal_paths()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0])
    follower = Follower(Stores([store]))
    follower.look()
    for line in lines[1:12]:
        with journal.open("ab") as file:
            file.write(line)
        same_time_apart(journal)
        assert not follower.look().again
        assert not follower.look().again


def test_a_shard_that_was_changed_in_its_place_is_read_again(store):
    from optarena.cli import main

    assert main(["compact", str(store)]) == 0
    follower = Follower(Stores([store]))
    follower.look()
    assert not follower.look().again
    (shard,) = Store(store).shard_paths()
    data = bytearray(shard.read_bytes())
    data[len(data) // 2] ^= 1
    with shard.open("r+b") as file:
        file.write(data)
    same_time_apart(shard)
    assert follower.look().again
    assert follower.all_damage()
    assert not follower.look().again


def test_stores_with_one_name_are_told_apart(tmp_path):
    paths = [tmp_path / "a" / "results", tmp_path / "b" / "results", tmp_path / "other"]
    assert names_of(paths) == ["results (a)", "results (b)", "other"]
    deep = [tmp_path / "x" / "same" / "results", tmp_path / "y" / "same" / "results"]
    assert names_of(deep) == ["results (same in x)", "results (same in y)"]
    assert Stores(paths).path.name == "results (a) + results (b) + other"
