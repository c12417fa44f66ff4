"""The live page's server: follows a store as it grows, counts, decides by complete rounds, and lets nobody else in."""

from __future__ import annotations

import json
import math
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from starlette.testclient import TestClient

import optarena as oa
from following import followed, unended
from optarena._process import alive
from optarena.cli import main
from optarena.dataset import Dataset
from optarena.errors import DamagedStore, OptarenaError, WorkError
from optarena.facade import Results
from optarena.runner.local import Silent
from optarena.serve.app import make_app
from optarena.serve.choice import Choice, offered
from optarena.serve.guard import HEADER, Guard
from optarena.serve.hub import Hub
from optarena.serve.pages import Pages
from optarena.serve.progress import Progress
from optarena.serve.rounds import complete_rounds
from optarena.serve.sides import sides
from optarena.serve.study import study_data
from optarena.serve.versus import versus
from optarena.store import Store
from optarena.store.following import Follower, Stores
from serving import HERE, PORT, ROUTES, Served
from stores import hostile
from waiting import wait_for


class Failing(oa.Optimizer):
    """Raises after some evaluations."""

    def __init__(self, space, **given):
        super().__init__(space, **given)
        self.made = 0

    def suggest(self, n):
        self.made += n
        if self.made > 6:
            raise RuntimeError(f"singular matrix at {self.made}")
        return self.space.to_dicts(self.space.sample(n, self.rng))


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A store with failures: two optimizers and one that fails, on four problems, three trials."""
    path = tmp_path_factory.mktemp("serve") / "results"
    problems = "functions/{sphere,rosenbrock}/d{2,3}"
    oa.Experiment(["RandomSearch", "QuasiRandom", Failing], problems, budget=20, trials=3).run(path, workers=0)
    return path


def same(ours: Dataset, theirs: Dataset) -> None:
    """Two datasets with the same studies, traces and answer."""
    assert ours.studies.equals(theirs.studies)
    for one, other in zip(vars(ours.traces()).values(), vars(theirs.traces()).values(), strict=True):
        if isinstance(one, np.ndarray) and one.dtype.kind in "fiub":
            np.testing.assert_array_equal(one, other)
    assert ours.failures().equals(theirs.failures())


# ---- following -------------------------------------------------------------------------------------------------------


def test_a_journal_that_grows_is_read_line_by_line_to_the_same_dataset(finished, tmp_path):
    """However a journal's bytes arrive, also in the middle of lines, what is known is what a reader of all finds."""
    (journal,) = Store(finished).journal_paths()
    data = journal.read_bytes()
    path = tmp_path / "growing"
    shutil.copytree(finished, path)
    (path / "journal" / journal.name).write_bytes(b"")
    follower = Follower(Stores([path]))
    rng = np.random.default_rng(1)
    cuts = sorted({*rng.integers(0, len(data), 40).tolist(), len(data)})
    for before, cut in zip([0, *cuts], cuts, strict=False):
        with (path / "journal" / journal.name).open("ab") as file:
            file.write(data[before:cut])
        follower.look()
        if cut in cuts[::8]:
            same(Dataset.of_follower(follower), Dataset.of_store(path))
    same(Dataset.of_follower(follower), Dataset.of_store(finished))
    assert not follower.look(), "nothing is new, so nothing is read"


def test_a_dataset_of_a_follower_never_changes(finished, tmp_path):
    (journal,) = Store(finished).journal_paths()
    data = journal.read_bytes()
    path = tmp_path / "growing"
    shutil.copytree(finished, path)
    half = data.index(b"\n", len(data) // 2) + 1
    (path / "journal" / journal.name).write_bytes(data[:half])
    follower = followed(path)
    early = Dataset.of_follower(follower)
    ends = [len(attempt.ends) for attempt in early.attempts]
    (path / "journal" / journal.name).write_bytes(data)
    follower.look()
    assert sum(len(attempt.ends) for attempt in follower.attempts) > sum(ends)
    assert [len(attempt.ends) for attempt in early.attempts] == ends


def test_a_store_that_is_compacted_merged_or_replaced_is_read_again(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    follower = followed(path)
    assert main(["compact", str(path)]) == 0
    growth = follower.look()
    assert growth.again
    same(Dataset.of_follower(follower), Dataset.of_store(path))
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", budget=5, trials=1).run(path, workers=0)
    follower.look()
    same(Dataset.of_follower(follower), Dataset.of_store(path))
    shutil.rmtree(path)
    with pytest.raises(OptarenaError, match="does not exist"):
        follower.look()
    shutil.copytree(finished, path)
    assert follower.look().again
    same(Dataset.of_follower(follower), Dataset.of_store(finished))


@pytest.mark.filterwarnings("ignore::optarena.errors.DamagedStore")
def test_a_damaged_store_is_shown_as_a_reader_of_all_shows_it(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    (journal,) = Store(path).journal_paths()
    data = bytearray(journal.read_bytes())
    data[len(data) // 2] ^= 1
    journal.write_bytes(bytes(data))
    follower = followed(path)
    assert follower.damage
    same(Dataset.of_follower(follower), Dataset.of_store(path))


def test_numbers_that_fit_nowhere_are_damage(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    (journal,) = Store(path).journal_paths()
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    lines[0]["version"] = 1  # its lines had no checks
    [line for line in lines if "k" in line][-1]["k"] = 2**70
    next(line for line in lines if line.get("t") == "problem")["objectives"] = []
    journal.write_text("".join(json.dumps(line) + "\n" for line in lines))
    follower = followed(path)
    assert any("do not fit" in str(one) for one in follower.damage)
    assert any("at least one objective" in str(one) for one in follower.damage)
    with pytest.warns(DamagedStore):
        same(Dataset.of_follower(follower), Dataset.of_store(path))


def test_several_stores_are_one(finished, tmp_path):
    other = tmp_path / "other"
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", budget=5, trials=2).run(other, workers=0)
    follower = Follower(Stores([finished, other]))
    follower.look()
    found = Dataset.of_follower(follower)
    assert found.studies.height == Dataset.of_store(finished).studies.height + 2
    assert found.path.name == "results + other"


def test_pieces_of_a_journal_become_one_when_they_are_many(finished, tmp_path):
    path = tmp_path / "growing"
    shutil.copytree(finished, path)
    (journal,) = Store(path).journal_paths()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"")
    follower = Follower(Stores([path]))
    for i in range(0, len(lines), 10):
        with journal.open("ab") as file:
            file.writelines(lines[i : i + 10])
        follower.look()
    assert max(len(one.pieces) for one in follower._journals.values()) <= 9 < len(lines) / 10
    same(Dataset.of_follower(follower), Dataset.of_store(path))


# ---- progress --------------------------------------------------------------------------------------------------------


def test_progress_counts_what_status_counts(finished):
    follower = Follower(Stores([finished]))
    progress = Progress(follower)
    progress.update(follower.look())
    found = progress.snapshot()
    studies = Dataset.of_store(finished).studies
    assert found["total"] == studies.height == 36
    assert found["counts"] == dict(studies["status"].value_counts().iter_rows())
    assert found["evaluations"] == studies["evaluations"].sum()
    assert not found["live"]
    (failure,) = found["failures"]
    assert failure["what"] == "12 studies"
    assert "singular matrix" in failure["reason"]
    assert "RuntimeError" in failure["traceback"]
    assert failure["optimizers"] == "Failing"
    assert {row["optimizer"]: row["failed"] for row in found["groups"]}["Failing"] == 12


def test_progress_follows_a_run_from_its_plan_to_its_end(tmp_path):
    """Every state on the way adds up, and the last is that of the finished store."""
    path = tmp_path / "results"
    experiment = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d{2,3}", budget=30, trials=3)
    seen = []
    Store(path).create()
    follower = Follower(Stores([path]))
    progress = Progress(follower)

    class Watching(Silent):
        def begin(self, *given):
            self.ended()

        def ended(self, *given):
            progress.update(follower.look())
            seen.append(progress.snapshot())

    experiment.run(path, workers=0, progress=Watching())
    progress.update(follower.look())
    last = progress.snapshot()
    assert [one["ended"] for one in seen] == sorted(one["ended"] for one in seen)
    assert seen[1]["total"] == last["total"] == last["ended"] == 12
    assert seen[1]["live"]
    assert not last["live"]
    assert last["evaluations"] == 360
    assert last["groups"][0]["total"] == 6


OWN = """
import math
space = {"x": {"type": "real", "space": "linear", "range": [-1, 1]}}
def loss(x):
    if x > 0.5:
        raise ValueError(f"too far: {x}")
    return math.nan if x < -0.5 else x**2
"""


def test_planned_and_begun_studies_of_a_problem_of_ones_own_are_one_group(tmp_path):
    path, problem = tmp_path / "results", tmp_path / "own.py"
    problem.write_text(OWN)
    experiment = oa.Experiment(["RandomSearch"], [f"{problem}:loss", "functions/sphere/d2"], budget=9, trials=4)
    experiment.run(path, workers=0)
    (journal,) = Store(path).journal_paths()
    lines = journal.read_bytes()
    journal.write_bytes(lines.splitlines(keepends=True)[0])
    progress = Progress(follower := Follower(Stores([path])))
    progress.update(follower.look())
    assert {row["suite"]: row["total"] for row in progress.snapshot()["groups"]} == {"": 4, "functions": 4}
    journal.write_bytes(lines)
    unended(path, 3)
    progress.update(follower.look())
    assert {row["suite"]: row["total"] for row in progress.snapshot()["groups"]} == {"": 4, "functions": 4}


def test_a_traceback_stands_only_beside_what_it_is_about(tmp_path):
    """A study keeps one traceback, of its own end or of an evaluation."""
    path, problem = tmp_path / "results", tmp_path / "own.py"
    problem.write_text(OWN)
    oa.Experiment(["RandomSearch", Failing], f"{problem}:loss", budget=20, trials=5, seed=1).run(path, workers=0)
    progress = Progress(follower := Follower(Stores([path])))
    progress.update(follower.look())
    found = {one["reason"]: one["traceback"] for one in progress.snapshot()["failures"]}
    tracebacks = {
        word: next(found[reason] for reason in found if word in reason) for word in ("singular", "far", "nan")
    }
    assert "singular matrix" in tracebacks["singular"]
    assert "too far" in tracebacks["far"]
    assert not tracebacks["nan"]


# ---- what is decided while a run goes on -----------------------------------------------------------------------------


def test_only_complete_rounds_decide_while_a_run_goes_on(finished, tmp_path):
    everything = lambda optimizer, problem: True  # noqa: E731
    for keep, rounds in ((11, 0), (12, 1), (23, 1), (24, 2), (36, 3)):
        path = tmp_path / str(keep)
        shutil.copytree(finished, path)
        unended(path, keep)
        results = Results.of_follower(followed(path))
        if not rounds:
            with pytest.raises(OptarenaError, match="no round is complete yet, 11 of 12 studies"):
                complete_rounds(results, results.runs, everything)
            continue
        found = complete_rounds(results, results.runs, everything)
        assert found.studies.height == 12 * rounds
        assert set(found.studies["trial"]) == set(range(rounds))


def test_a_page_of_a_running_store_has_intervals_that_hold_at_every_look(finished):
    results = Results.of_store(finished)
    running, ended = Pages(1, results, results.runs), Pages(1, results, [])
    assert running.whole().must_compare().pairs.at_every_look
    assert running.whole().must_compare().frame["provisional"]
    assert not ended.whole().must_compare().pairs.at_every_look
    part = running._material(Choice(optimizer=("QuasiRandom", "Failing")))
    assert part.must_compare().pairs.at_every_look
    assert set(part.must_compare().optimizers) == {"QuasiRandom", "Failing"}


# ---- choosing --------------------------------------------------------------------------------------------------------


def test_a_choice_keeps_the_scale_of_the_whole(finished):
    """The score of an optimizer is the same whether or not random search is chosen too."""
    pages = Pages(1, Results.of_store(finished), [])
    whole = pages.whole().must_compare()
    part = pages._material(Choice(optimizer=("QuasiRandom", "Failing"))).must_compare()
    assert part.scores.view == whole.scores.view == "fixed-cost"
    for name in ("QuasiRandom", "Failing"):
        ours, theirs = (one.scores.means[:, one.optimizers.index(name)] for one in (part, whole))
        np.testing.assert_allclose(ours, theirs)


def test_a_choice_may_leave_out_what_is_maximised(tmp_path):
    problems = ["functions/sphere/d2", "functions/cosine-mixture-max/d2"]
    oa.Experiment(["RandomSearch", "QuasiRandom"], problems, budget=9, trials=3).run(tmp_path / "s", workers=0)
    pages = Pages(1, Results.of_store(tmp_path / "s"), [])
    data = json.loads(pages.data(Choice(problem=("sphere",))))
    assert [one["name"] for one in data["report"]["problems"]] == ["functions/sphere/d2"]


def test_choices_select_studies(finished):
    results = Results.of_store(finished)
    assert Choice.of([]).apply(results) is results
    cases = [
        ({"optimizer": ["QuasiRandom"]}, 12),
        ({"problem": ["sphere"]}, 18),
        ({"problem": ["functions/*/d2"]}, 18),
        ({"dimension": ["3"]}, 18),
        ({"suite": ["functions"], "dimension": ["2", "3"]}, 36),
        ({"other": ["x"]}, 36),
    ]
    for given, n in cases:
        choice = Choice.of([(key, value) for key, values in given.items() for value in values])
        assert choice.apply(results).studies.height == n
    for bad in ([("dimension", "x")], [("optimizer", "y" * 501)], [("optimizer", str(i)) for i in range(501)]):
        with pytest.raises(OptarenaError):
            Choice.of(bad)
    with pytest.raises(OptarenaError, match="no study matches"):
        Choice(optimizer=("nobody",)).apply(results)
    assert offered(results)["dimension"] == ["2", "3"]
    assert Choice(problem=("functions/{sphere,none}/d{1..500}",)).apply(results).studies.height == 18
    for many in (("{a,b}" * 9,) * 7, ("x{1..3001}",)):
        with pytest.raises(OptarenaError, match=r"no study|braces stand for more than 3,000"):
            Choice(problem=tuple(f"{one}{i}" for i, one in enumerate(many))).apply(results)


def test_settings_and_tags_can_be_chosen(tmp_path):
    uses = [oa.use("Scipy-DifferentialEvolution", popsize=n) for n in (5, 8)]
    oa.Experiment(["RandomSearch", *uses], "functions/sphere/d2", budget=10, trials=1).run(tmp_path / "s", workers=0)
    results = oa.open(tmp_path / "s")
    assert {"popsize=5", "popsize=8"} <= set(offered(results)["setting"])
    assert Choice(setting=("popsize=8",)).apply(results).studies.height == 1


# ---- one study, two runs ---------------------------------------------------------------------------------------------


def test_a_study_has_its_trace_points_times_and_errors(finished):
    results = Results.of_store(finished)
    row = results.studies.filter(optimizer="QuasiRandom").row(0, named=True)
    data = study_data(results, row["study"])
    assert data["trace"]["evaluation"] == list(range(1, 21))
    (objective,) = data["objectives"]
    assert min(objective["value"]) == objective["line"][-1] == objective["best"] == row["best"]
    assert objective["value"][data["top"][0]] == row["best"]
    assert [len(one["values"]) for one in data["parameters"]] == [20] * row["dimension"]
    assert all(seconds >= 0 for phase in ("suggest", "evaluate", "observe") for seconds in data["trace"][phase])
    failed = results.studies.filter(optimizer="Failing").row(0, named=True)
    assert "RuntimeError" in study_data(results, failed["study"])["traceback"]
    with pytest.raises(OptarenaError, match="no study has this id"):
        study_data(results, "../../etc/passwd")


def test_two_runs_are_compared_problem_by_problem(tmp_path):
    path = tmp_path / "s"
    for name in ("first", "second"):
        oa.Experiment(["RandomSearch"], "functions/sphere/d{2,3}", budget=10, trials=4).run(
            path, workers=0, new=name == "second"
        )
    pages = Pages(1, Results.of_store(path), [])
    roots = [one["key"] for one in sides(pages.results) if one["key"].startswith("root:")]
    assert len(roots) == 2
    data = versus(pages, Choice(), *roots)
    (one,) = data["optimizers"]
    assert one["optimizer"] == "RandomSearch"
    assert one["verdict"] in ("undecided", "equivalent", "better", "worse")
    assert {row["problem"] for row in one["problems"]} == {"functions/sphere/d2", "functions/sphere/d3"}
    turned = versus(pages, Choice(), *roots[::-1])["optimizers"][0]
    assert turned["value"] == pytest.approx(1 - one["value"])
    with pytest.raises(OptarenaError, match="no such run"):
        versus(pages, Choice(), roots[0], "root:nothing")


# ---- the server ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def served(finished):
    return Served(finished)


@pytest.fixture
def client(served):
    # a server of its own: an application lives once
    mine = Served(*[store.path for store in served.hub.stores.stores])
    with mine.client() as client:
        client.guard = mine.guard
        client.hub = mine.hub
        yield client


def test_nothing_is_shown_without_the_token(client):
    for route in ROUTES:
        answer = client.get(route)
        assert answer.status_code == 401, route
        assert "token" in answer.text
        assert client.get(f"{route}?token=wrong").status_code == 401
    assert client.get("/", cookies={client.guard.cookie: "wrong"}).status_code == 401


def test_the_token_becomes_a_cookie_that_no_script_and_no_other_site_can_use(client):
    answer = client.get(f"/?token={client.guard.token}&optimizer=A%26B")
    assert answer.headers["location"] == "/?optimizer=A%26B"
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie
    assert "samesite=lax" in cookie, "a link in a chat opens the page"
    assert client.guard.token.lower() not in cookie
    assert client.get("/").status_code == 200
    for path in ("//evil.example/", "/\\evil.example"):
        where = client.get(f"{HERE}{path}?token={client.guard.token}").headers.get("location", "/")
        assert where.startswith("/")
        assert not where.startswith(("//", "/\\"))


def test_other_names_and_other_sites_are_refused(client):
    client.get(f"/?token={client.guard.token}")
    for host in ("evil.example", "evil.example:8770", "127.0.0.1:1", "127.0.0.1.evil.example:8770", "", "[::2]:8770"):
        assert client.get("/data", headers={"host": host}).status_code == 421, host
    for host in ("localhost:8770", "127.0.0.1:8770", "[::1]:8770"):
        assert client.get("/state", headers={"host": host}).status_code in (200, 401), host
    for headers in (
        {"origin": "http://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9999"},
        {"sec-fetch-site": "cross-site", "sec-fetch-mode": "cors"},
        {"sec-fetch-site": "same-site", "sec-fetch-mode": "no-cors"},
    ):
        for route in ROUTES:
            assert client.get(route, headers=headers).status_code == 403, (route, headers)


def test_elsewhere_than_on_loopback_addresses_are_names(finished):
    guard = Guard("0.0.0.0", PORT)
    assert guard._is_our_name(f"192.168.1.7:{PORT}")
    assert not guard._is_our_name(f"evil.example:{PORT}")
    assert not guard.local
    assert guard.token in guard.address


def test_every_answer_has_a_strict_policy(client):
    def policy(answer):
        return answer.headers["content-security-policy"]

    assert "default-src 'none'" in policy(client.get("/"))
    client.get(f"/?token={client.guard.token}")
    for route in (*(route for route in ROUTES if route != "/events"), "/nothing", "/study-data?id=x"):
        answer = client.get(route)
        assert "unsafe" not in policy(answer)
        assert "frame-ancestors 'none'" in policy(answer)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
    assert "<script>" not in client.get("/").text, "no script is inline"


def test_no_file_of_the_machine_has_an_address(client):
    client.get(f"/?token={client.guard.token}")
    for name in ("../app.py", "..%2fapp.py", "%2e%2e/%2e%2e/etc/passwd", "live.html", "page.css", "/etc/passwd", ""):
        assert client.get(f"/assets/{name}").status_code == 404, name
    for id in ("../../../etc/passwd", "%00", "<script>", "'; --"):
        answer = client.get("/study-data", params={"id": id})
        assert answer.status_code == 400
        assert "root:" not in answer.text
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        for route in ROUTES:
            assert client.request(method, route).status_code in (404, 405), (method, route)
    assert client.get("/data?" + "optimizer=x&" * 2000).status_code == 414


def test_the_page_is_fed_with_the_report(client, finished):
    client.get(f"/?token={client.guard.token}")
    data = client.get("/data").json()
    ours = [section["id"] for section in data["report"]["sections"]]
    assert ours[0] == "overview"
    assert {"fixed-cost", "problems", "failures", "how"} <= set(ours)
    assert data["offered"]["optimizer"] == ["Failing", "QuasiRandom", "RandomSearch"]
    part = client.get("/data", params={"optimizer": ["QuasiRandom", "RandomSearch"], "dimension": "2"}).json()
    assert {one["name"] for one in part["report"]["problems"]} == {"functions/rosenbrock/d2", "functions/sphere/d2"}
    assert part["report"]["present"] != data["report"]["present"]
    nothing = client.get("/data", params={"problem": "no such"}).json()
    assert nothing["report"] is None
    assert "no study matches" in nothing["why"]
    assert client.get("/data?dimension=x").status_code == 400
    state = client.get("/state").json()
    assert state["ended"] == 36
    assert state["problem"] == ""


def test_the_answer_comes_before_the_rest_of_the_report(client):
    client.get(f"/?token={client.guard.token}")
    for chosen in ({}, {"optimizer": ["QuasiRandom", "RandomSearch"]}):
        answer = client.get("/data", params=chosen, headers={"accept": "application/x-ndjson"})
        first, rest = map(json.loads, answer.text.splitlines())
        assert [section["id"] for section in first["report"]["sections"]] == ["overview"]
        assert first["more"]
        whole = client.get("/data", params=chosen).json()["report"]
        overview = {**first["report"]["sections"][0], "after": rest["after"]}
        assert [overview, *rest["sections"]] == whole["sections"]
        assert first["report"]["datasets"] | rest["datasets"] == whole["datasets"]
    (nothing,) = client.get("/data?problem=none", headers={"accept": "application/x-ndjson"}).text.splitlines()
    assert "no study matches" in json.loads(nothing)["why"]
    assert not json.loads(nothing)["more"]


def test_an_answer_stays_when_the_rest_of_the_report_cannot_be_made(client, monkeypatch):
    def broken(pages, choice):
        raise ValueError("no such column")

    client.get(f"/?token={client.guard.token}")
    monkeypatch.setattr(Pages, "rest", broken)
    answer = client.get("/data", headers={"accept": "application/x-ndjson"})
    first, rest = map(json.loads, answer.text.splitlines())
    assert first["report"]["sections"][0]["id"] == "overview"
    assert rest == {"error": "The other sections could not be made: no such column"}


def test_a_view_is_saved_as_the_offline_report(client):
    client.get(f"/?token={client.guard.token}")
    answer = client.get("/save", params={"optimizer": ["QuasiRandom", "RandomSearch"]})
    assert "attachment" in answer.headers["content-disposition"]
    text = answer.text
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    live = client.get("/data", params={"optimizer": ["QuasiRandom", "RandomSearch"]}).json()["report"]
    assert data == live


def test_a_page_that_nobody_looked_at_is_of_the_run_that_goes_on(finished):
    """What was decided before it began is not shown meanwhile."""
    hub = Hub([finished])
    hub._look()
    assert not hub.pages.live
    (run,) = Store(finished).runs()
    hub.stores.live = lambda runs: [run]
    hub._look()
    assert hub.pages.live == [run]


def test_a_store_that_disappears_is_said_and_comes_back(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    hub = Hub([path])
    hub._look()
    first = json.loads(hub.state)
    assert first["problem"] == ""
    path.rename(tmp_path / "away")
    hub._look()
    gone = json.loads(hub.state)
    assert "does not exist" in gone["problem"]
    assert not gone["readable"]
    assert gone["total"] == first["total"], "what was known stays"
    (tmp_path / "away").rename(path)
    hub._look()
    assert json.loads(hub.state)["problem"] == ""


def test_a_look_that_fails_in_any_way_is_said_and_the_next_begins_anew(finished, monkeypatch):
    hub = Hub([finished])
    hub._look()
    whole = json.loads(hub.state)

    def fail(_self, _growth):
        raise KeyError("nobody thought of it")

    with monkeypatch.context() as patched:
        patched.setattr(Progress, "update", fail)
        hub._look()
    assert "nobody thought of it" in json.loads(hub.state)["problem"]
    hub._look()
    state = json.loads(hub.state)
    assert state["problem"] == ""
    assert {state[key] == whole[key] for key in ("total", "ended", "counts", "groups")} == {True}


def test_hostile_names_are_only_data(tmp_path):
    hostile(tmp_path / "store")
    mine = Served(tmp_path / "store")
    with mine.client() as client:
        mine.inside(client)
        for route in ("/data", "/state", "/compare"):
            answer = client.get(route)
            assert answer.headers["content-type"].startswith("application/json")
            assert answer.status_code == 200
        assert "<script>alert" not in client.get("/").text


def test_serve_says_what_is_wrong(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["serve", "nothing", "--no-open"]) == 2
    assert "does not exist" in capsys.readouterr().err
    oa.Experiment(["RandomSearch"], "functions/sphere/d2", budget=5, trials=1).run("s", workers=0)
    assert main(["serve", "s", "--no-open", "--host", "256.1.1.1"]) == 2
    assert "cannot listen" in capsys.readouterr().err
    assert not Path("s/shards").exists()


# ---- control ---------------------------------------------------------------------------------------------------------


def test_a_command_needs_this_machine_the_page_and_its_key(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    mine = Served(path)
    good = {"origin": HERE, HEADER: mine.guard.control}
    with mine.client() as client:
        assert client.post("/control/pause", headers=good).status_code == 401
        mine.inside(client)
        assert client.get("/keys").json() == {"control": mine.guard.control}
        for bad in (
            {"origin": HERE},
            {HEADER: mine.guard.control},
            {**good, HEADER: mine.guard.token},
            {**good, "x-forwarded-for": "10.0.0.1"},
            {**good, "via": "1.0 proxy"},
            {**good, "origin": "http://evil.example"},
            {**good, "sec-fetch-site": "cross-site"},
        ):
            assert client.post("/control/resume", headers=bad).status_code == 403, bad
        assert not (path / "control.jsonl").exists()
        for action, body in (
            ("explode", "{}"),
            ("trials", '{"trials": 0}'),
            ("retry", "[" * 900),
            ("trials", '{"other": 1}'),
            ("pause", "{}"),
        ):
            assert client.post(f"/control/{action}", headers=good, content=body).status_code == 400, action
        assert client.post("/control/resume", headers=good, content=b" " * 2000).status_code == 400
        assert client.post("/control/resume", headers=good).json()["did"] == "Resumed."
    lines = [json.loads(line) for line in (path / "control.jsonl").read_text().splitlines()]
    assert [(line["action"], line["state"]) for line in lines] == [
        ("pause", "asked"), ("pause", "refused"), ("resume", "asked"), ("resume", "done"),
    ]  # fmt: skip
    assert lines[-1]["did"] == "Resumed."
    far = Served(path, host="0.0.0.0")
    with far.client() as client:
        far.inside(client)
        assert client.get("/keys").json() == {"control": ""}
        assert client.post("/control/resume", headers={**good, HEADER: far.guard.control}).status_code == 403


def test_a_link_or_a_pipe_in_a_store_is_not_followed(finished, tmp_path):
    path, mine = tmp_path / "store", tmp_path / "mine"
    shutil.copytree(finished, path)
    mine.write_text("precious")
    hub = Hub([path])
    hub._look()
    (path / ".control.log").symlink_to(mine)
    with pytest.raises(WorkError, match="cannot write"):
        hub.control.do("retry", hub.follower.runs, [])
    (path / "control.jsonl").unlink()
    (path / "control.jsonl").symlink_to(mine)
    with pytest.raises(WorkError, match="cannot write"):
        hub.control.do("resume", hub.follower.runs, [])
    assert mine.read_text() == "precious"
    (path / "control.jsonl").unlink()
    os.mkfifo(path / "control.jsonl")
    hub._look()
    assert json.loads(hub.state)["commands"] == []


def test_what_the_page_began_is_not_begun_twice(finished, tmp_path, monkeypatch):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    hub = Hub([path])
    hub._look()

    class Running:
        returncode = None

        def __init__(self, *_words, **_options):
            pass

        def poll(self):
            return self.returncode

    monkeypatch.setattr("optarena.serve.control.subprocess.Popen", Running)
    hub.control.do("retry", hub.follower.runs, [])
    with pytest.raises(OptarenaError, match="something runs"):
        hub.control.do("trials", hub.follower.runs, [], 2)
    Running.returncode = 0
    assert hub.control.do("trials", hub.follower.runs, [], 2) == "Adding 2 trials."


def test_a_run_of_the_page_that_was_stopped_is_no_trouble(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    hub = Hub([path])
    hub._look()
    hub.control.do("trials", hub.follower.runs, [], 1000)
    ((process, *_),) = hub.control._begun
    wait_for(lambda: hub._look() or json.loads(hub.state)["live"])
    hub.control.do("stop", hub.follower.runs, hub.progress.live)
    assert process.wait(60) == 130
    hub._look()
    assert json.loads(hub.state)["trouble"] == ""


def test_a_server_beside_a_run_that_died_at_once_ends(finished):
    """The run may be gone before the server's process has begun."""
    code = f"import os; from optarena.serve.server import serve_beside as s; print(s({str(finished)!r})[1].pid); "
    code += "os.sys.stdout.flush(); os.kill(os.getpid(), 9)"
    pid = int(subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True).stdout)
    wait_for(lambda: not alive(pid, 0))


def command_line(*words) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "optarena", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


WAITS = """
import time

import optarena as oa


@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
def waits(x):
    time.sleep(0.02)
    return 1.0
"""


def test_a_run_is_paused_resumed_and_stopped_and_trials_are_added(tmp_path):
    path, problem = tmp_path / "results", tmp_path / "problem.py"
    problem.write_text(WAITS)  # at least 40 seconds of it, however fast the machine is
    run = command_line(
        "run", "-o", "RandomSearch", "-p", f"{problem}:waits", "-n", "5", "-r", "400", "--workers", "1", "--store", path
    )
    hub = Hub([path])

    def ended() -> int:
        hub._look()
        return json.loads(hub.state).get("ended", 0)

    wait_for(lambda: path.exists() and ended() > 5)
    hub.control.do("pause", hub.follower.runs, hub.progress.live)
    state = json.loads(hub.state)
    assert state["live"]

    def still() -> bool:
        before = ended()
        time.sleep(1.5)
        return ended() == before

    wait_for(still)
    assert ended() < 400
    assert json.loads(hub.state)["paused"]
    paused_at = ended()
    hub.control.do("resume", hub.follower.runs, hub.progress.live)
    wait_for(lambda: ended() > paused_at)
    hub.control.do("stop", hub.follower.runs, hub.progress.live)
    run.communicate(timeout=120)
    assert run.returncode == 130
    hub._look()
    state = json.loads(hub.state)
    assert not state["live"]
    assert state["runs"][0]["how"] == "interrupted"
    assert [line["action"] for line in state["commands"]] == ["stop", "resume", "pause"]
    with pytest.raises(OptarenaError, match="nothing runs"):
        hub.control.do("pause", hub.follower.runs, hub.progress.live)


def test_failed_studies_are_retried_and_trials_added_by_a_run_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "results"
    assert (
        main(["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "-r", "2", "--store", str(path)])
        == 0
    )
    hub = Hub([path])
    hub._look()
    assert hub.control.do("trials", hub.follower.runs, [], 3) == "Adding 3 trials."
    wait_for(lambda: hub._look() or json.loads(hub.state)["ended"] == 5)
    wait_for(lambda: hub._look() or not (json.loads(hub.state)["live"] or hub.control._begun))
    hub.control.do("retry", hub.follower.runs, [])
    with pytest.raises(OptarenaError, match="whole number"):
        hub.control.do("trials", hub.follower.runs, [], 0)


def test_a_run_can_be_served(tmp_path, monkeypatch):
    """The page is there while it runs, and gone when it has ended; a bad plan writes nothing."""
    monkeypatch.chdir(tmp_path)
    run = command_line("run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "200", "-r", "40", "--serve")
    out, _ = run.communicate(timeout=240)
    assert run.returncode == 0, out
    assert "live page: http://127.0.0.1:" in out
    bad = command_line("run", "-o", "Nobody", "-p", "functions/sphere/d2", "-n", "9", "--serve", "--store", "other")
    said = bad.communicate(timeout=240)[0]
    assert "no optimizer named" in said
    assert "live page" not in said
    assert not Path("other").exists()


def test_a_large_store_is_read_in_slices_to_the_same_dataset(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    assert main(["compact", str(path)]) == 0
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", budget=30, trials=2).run(path, workers=0)
    follower, looks = Follower(Stores([path])), 0
    progress = Progress(follower)
    while follower.unread or not looks:
        progress.update(follower.look(0.0))
        looks += 1
        assert looks < 100_000
    assert looks > 1
    same(Dataset.of_follower(follower), Dataset.of_store(path))
    assert progress.snapshot()["total"] == Dataset.of_store(path).studies.height


def test_a_page_is_made_of_a_store_that_grows_during_every_look(finished, tmp_path, monkeypatch):
    """However fast a run writes: what existed when the look began is shown."""
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    journal = next(Store(path).journal_paths())
    text = journal.read_bytes()
    half = text.index(b"\n", len(text) // 2) + 1
    journal.write_bytes(text[:half])
    hub, measure = Hub([path]), Follower._measure
    hub._slice = math.inf

    def grow_and_measure(self, *given):
        journal.write_bytes(text)
        measure(self, *given)

    monkeypatch.setattr(Follower, "_measure", grow_and_measure)
    hub._look()
    assert hub.follower.unread > 0
    assert hub.follower.caught_up
    assert hub.pages is not None


def test_a_store_of_which_only_a_slice_was_read_has_no_page_yet(finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", budget=30, trials=2).run(path, workers=0)
    hub = Hub([path])
    hub._slice = 0.0
    hub._look()
    assert not hub.follower.caught_up
    assert hub.pages is None
    wait_for(lambda: hub._look() or hub.follower.caught_up)
    assert hub.pages is not None


def test_the_first_numbers_are_told_once(finished):
    told = []
    hub = Hub([finished], shown=lambda: told.append(json.loads(hub.state)["ended"]))
    hub._slice = math.inf  # all of it, however busy the machine is
    with TestClient(make_app(hub, Guard("127.0.0.1", PORT))):
        wait_for(lambda: told)
        before = hub._news
        hub.wake()
        wait_for(lambda: hub._news is not before)
    assert told == [36]


@pytest.mark.skipif(sys.platform != "linux", reason="priorities of threads are read from /proc")
def test_a_server_has_low_priority_in_all_its_threads_once_it_has_read(finished):
    server = command_line("serve", finished, "--no-open", "--port", "0")
    try:

        def all_are_low():
            try:
                tasks = [int(one.name) for one in Path(f"/proc/{server.pid}/task").iterdir()]
                return all(os.getpriority(os.PRIO_PROCESS, task) >= 10 for task in tasks)
            except ProcessLookupError:  # a thread that has ended meanwhile
                return False

        assert server.stdout.readline().startswith("http://127.0.0.1:")
        wait_for(all_are_low)
    finally:
        server.send_signal(signal.SIGINT)
        server.communicate(timeout=60)
    assert server.returncode == 0
