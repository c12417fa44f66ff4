"""Seconds of different machines: as measured, converted by a calibration, or refused; evaluations never change."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.runner import calibration
from optarena.store import Store
from optarena.views.anytime import runs as anytime
from optarena.views.fixed_target import runs as target_runs

PROBLEMS = ["functions/sphere/d2", "functions/rastrigin/d2"]


def run_on(monkeypatch, host: str, speed: float | None, optimizer: str, trials: int = 2, **budget: float) -> None:
    """Run an optimizer as a machine of this name and speed would; None: it measured no speed."""
    for place in ("optarena.store.host", "optarena.store.journal.host"):
        monkeypatch.setattr(place, lambda: host)
    cpu = f"cpu of {host}"
    monkeypatch.setattr("optarena.runner.environment.cpu", lambda: cpu)
    facts = {} if speed is None else {"cpu": cpu, "cores": 4, "speed": speed}
    monkeypatch.setattr("optarena.runner.local.machine", lambda: facts)
    oa.Experiment([optimizer], PROBLEMS, trials=trials, seed=1, **(budget or {"budget": 8})).run("store", workers=0)


@pytest.fixture
def two(monkeypatch):
    """RandomSearch on a machine of speed 100, another optimizer on one of the given speed."""

    def make(speed: float | None, **budget: float) -> oa.Results:
        run_on(monkeypatch, "alpha", 100.0, "RandomSearch", 3, **budget)
        run_on(monkeypatch, "beta", speed, "QuasiRandom", 2, **budget)
        return oa.open("store")

    return make


def factors(results: oa.Results) -> dict[str, set[float]]:
    """By optimizer: what its seconds were multiplied by."""
    ratio = results.efforts("seconds") / results.traces().seconds
    who = np.repeat(results.studies["optimizer"].to_list(), results.traces().lengths)
    return {name: set(np.round(ratio[who == name], 12).tolist()) for name in set(who.tolist())}


def test_every_run_keeps_the_speed_of_its_machine():
    oa.Experiment(["RandomSearch"], PROBLEMS, 4).run("store", workers=0)
    (run,) = Store(Path("store")).runs()
    assert run.machine == calibration.machine()
    assert run.machine["speed"] > 0
    assert calibration.piece() == calibration.piece()


def test_seconds_of_one_machine_are_as_measured(monkeypatch):
    run_on(monkeypatch, "alpha", 100.0, "RandomSearch")
    run_on(monkeypatch, "alpha", 50.0, "QuasiRandom")  # disturbed by others
    results = oa.open("store")
    assert factors(results) == {"RandomSearch": {1.0}, "QuasiRandom": {1.0}}
    assert not results.clocks.note


def test_seconds_are_converted_to_the_machine_of_most_studies_and_noted(two):
    results = two(25.0)
    assert factors(results) == {"RandomSearch": {1.0}, "QuasiRandom": {0.25}}
    note = "seconds are converted to those of alpha (cpu of alpha) by a calibration: beta (cpu of beta) x 0.25"
    for view in (results.fixed_cost(axis="seconds", over="trials"), results.fixed_target(axis="seconds")):
        assert note in view.notes
    assert note not in results.fixed_cost(over="trials").notes
    assert factors(results.filter(machine="beta")) == {"QuasiRandom": {1.0}}


def test_running_times_are_charged_in_converted_seconds(two):
    results = two(25.0)
    charged = results.studies.select("suggest_seconds", "evaluate_seconds", "observe_seconds").sum_horizontal()
    expected = charged.to_numpy() * np.where(results.studies["optimizer"] == "QuasiRandom", 0.25, 1.0)
    assert target_runs.runs_of(results, "seconds").spent.tolist() == pytest.approx(expected.tolist())


def test_equally_fast_machines_are_not_converted_and_noted(two):
    results = two(110.0)
    assert factors(results) == {"RandomSearch": {1.0}, "QuasiRandom": {1.0}}
    note = "seconds are as measured on 2 machines, whose speeds differ by less than 20%"
    assert note in results.fixed_cost(axis="seconds", over="trials").notes


def test_unknown_speeds_are_refused_by_name_and_one_machine_can_be_chosen(two, capsys):
    results = two(None)
    with pytest.raises(OptarenaError, match=r"the speed of beta \(cpu of beta\) was not measured; .*--machine alpha"):
        results.fixed_cost(axis="seconds")
    assert main(["score", "store", "--axis", "seconds"]) == 2
    assert main(["score", "store", "--over", "trials"]) == 0  # batches are the same everywhere
    assert main(["score", "store", "--axis", "seconds", "--over", "trials", "--machine", "alpha"]) == 0
    assert main(["score", "store", "--machine", "gamma"]) == 2
    assert "matches --machine gamma" in capsys.readouterr().err
    assert main(["report", "store", "-O", "report.html"]) == 0


def test_a_budget_in_seconds_ends_where_the_slower_machine_had_it(two):
    results = two(50.0, seconds=0.04)
    assert anytime.runs_of(results, "seconds", 0.0).budget.tolist() == [0.02, 0.02]
    note = "10 studies had a budget in seconds, on machines of different speed"
    assert note in results.fixed_target().notes
    assert any("compared after the least" in text for text in results.fixed_cost(axis="seconds", over="trials").notes)


def test_a_study_that_moved_between_machines_of_different_speed_has_no_seconds(monkeypatch):
    run_on(monkeypatch, "alpha", 100.0, "RandomSearch", budget=4)
    run_on(monkeypatch, "alpha", 100.0, "QuasiRandom", budget=8)
    run_on(monkeypatch, "beta", 50.0, "RandomSearch", budget=8)
    results = oa.open("store")
    who = np.repeat(results.studies["optimizer"].to_list(), results.traces().lengths)
    assert (np.isnan(results.efforts("seconds")) == (who == "RandomSearch")).all()
    view = results.fixed_target(axis="seconds")
    assert {item["reason"] for item in view.excluded} == {"it has no seconds"}
    assert any("4 studies ran on machines of different speed and have no seconds" in text for text in view.notes)
