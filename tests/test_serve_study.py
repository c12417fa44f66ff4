"""The page of one study, and the ways to it."""

from __future__ import annotations

import json
import shutil

import pytest

import optarena as oa
from optarena.facade import Results
from optarena.serve.choice import Choice
from optarena.serve.study import studies_of_problem, study_data
from optarena.store import Store
from serving import Served
from waiting import wait_for


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("study") / "results"
    oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d{2,3}", budget=20, trials=3).run(path, workers=0)
    return path


def test_every_study_of_a_problem_has_a_link_and_the_best_optimizer_comes_first(finished):
    results = Results.of_store(finished)
    found = studies_of_problem(results, Choice(), "functions/sphere/d2")
    linked = [one["study"] for some in found["optimizers"] for one in some["studies"]]
    mine = results.studies.filter(problem="functions/sphere/d2")
    assert sorted(linked) == sorted(mine["study"])
    bests = [min(one["best"] for one in some["studies"]) for some in found["optimizers"]]
    assert bests == sorted(bests)
    assert bests[0] == mine["best"].min()
    only = studies_of_problem(results, Choice(optimizer=("QuasiRandom",)), "functions/sphere/d2")
    assert [some["optimizer"] for some in only["optimizers"]] == ["QuasiRandom"]
    assert studies_of_problem(results, Choice(), "functions/sphere")["optimizers"] == [], "a part of a name is none"


def test_a_study_that_began_after_the_page_was_made_is_answered(finished, tmp_path):
    """Links come from what the last look found; so does the study."""
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    (journal,) = Store(path).journal_paths()
    data = journal.read_bytes()
    lines = data.splitlines(keepends=True)
    last = max(i for i, line in enumerate(lines) if b'"t":"start"' in line)
    study = json.loads(lines[last])["study"]
    journal.write_bytes(b"".join(lines[:last]))
    mine = Served(path)
    with mine.client() as client:
        mine.inside(client)
        wait_for(lambda: mine.hub.pages is not None)
        answer = client.get("/study-data", params={"id": study})
        assert answer.status_code == 400
        assert answer.json()["error"] == "this study has not begun yet"
        mine.hub._may_renew = lambda: False  # the page stays as it is
        journal.write_bytes(b"".join(lines[: last + 1]))
        mine.hub.wake()
        wait_for(lambda: study in mine.hub.progress.studies)
        assert study not in set(mine.hub.pages.results.studies.filter(attempt=0)["study"])
        found = client.get("/study-data", params={"id": study}).json()
        assert found["evaluations"] == 0
        journal.write_bytes(data)
        mine.hub.wake()
        wait_for(lambda: client.get("/study-data", params={"id": study}).json()["status"] == "done")


def test_a_study_of_several_objectives_has_a_trace_of_each_and_its_front(tmp_path):
    oa.Experiment(["RandomSearch"], "zdt/zdt1/d30", budget=40, trials=1).run(tmp_path / "s", workers=0)
    results = Results.of_store(tmp_path / "s")
    data = study_data(results, results.studies["study"][0])
    assert len(data["objectives"]) == 2
    values = [one["value"] for one in data["objectives"]]
    assert [one["best"] for one in data["objectives"]] == [min(value) for value in values]
    front = [(values[0][i], values[1][i]) for i in data["top"]]
    assert data["front"] == len(front) > 1
    for point in zip(*values, strict=True):
        assert not any(point[0] <= x and point[1] <= y and point != (x, y) for x, y in front)
    assert front == sorted(front)


def test_a_store_that_is_gone_while_a_study_is_read_is_said_in_one_sentence(finished, tmp_path, monkeypatch):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    mine = Served(path)
    with mine.client() as client:
        mine.inside(client)
        wait_for(lambda: mine.hub.pages is not None)
        study = mine.hub.pages.results.studies["study"][0]
        path.rename(tmp_path / "away")
        answer = client.get("/study-data", params={"id": study})
        assert answer.status_code in (400, 503)
        assert list(answer.json()) == ["error"]

        def gone(*_given):
            raise FileNotFoundError(2, "No such file or directory", "/a/path/of/mine")

        monkeypatch.setattr("optarena.serve.study.OnDisk.read", gone)
        answer = client.get("/study-data", params={"id": study})
        assert answer.status_code == 503
        assert answer.json() == {"error": "the store cannot be read now (No such file or directory): try again"}
