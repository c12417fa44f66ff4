"""What the live page decides and shows while a run goes on: only what holds however often one looks (SCORES 6)."""

from __future__ import annotations

import gc
import json
import shutil
import weakref

import numpy as np
import pytest

import optarena as oa
from following import after
from optarena.facade import Results
from optarena.serve.choice import Choice
from optarena.serve.hub import Hub
from optarena.serve.pages import Pages
from optarena.serve.versus import versus

NAMES = ["RandomSearch", "QuasiRandom", "Scipy-Powell"]
PROBLEMS = "functions/{sphere,rosenbrock}/d2"
ROUND = 6
"""Studies of a round of these."""


@pytest.fixture(scope="module")
def raced(tmp_path_factory):
    """A race that goes to its limit of four rounds."""
    path = tmp_path_factory.mktemp("raced") / "race"
    oa.Experiment(NAMES, PROBLEMS, budget=10, until_decided=True, max_trials=4, seed=1).run(path, workers=0)
    return path


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """Four trials each of three optimizers on two problems."""
    path = tmp_path_factory.mktemp("plain") / "results"
    oa.Experiment(NAMES, PROBLEMS, budget=10, trials=4, seed=1).run(path, workers=0)
    return path


def live(results: Results) -> Pages:
    """The page while the last run has a process."""
    return Pages(1, results, results.runs[-1:])


def texts(pages: Pages) -> str:
    return json.dumps(json.loads(pages.data(Choice())), ensure_ascii=False)


def section(pages: Pages, id: str) -> dict:
    report = json.loads(pages.data(Choice()))["report"]
    return next(one for one in report["sections"] if one["id"] == id)


def columns(block: dict) -> list[str]:
    return [column["label"] for column in (block.get("table") or block).get("columns", [])]


# ---- verdicts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ended", [1, 3, 4, 5])
def test_a_race_in_its_first_round_decides_nothing(ended, raced, tmp_path):
    """Also where some problems are finished and others have not begun."""
    pages = live(after(raced, tmp_path / "race", ended, runs=1))
    assert pages.whole().comparison is None
    assert f"no round is complete yet, {ended} of {ROUND} studies" in pages.whole().why_no_comparison
    part = pages._material(Choice(problem=("sphere",)))
    assert part.comparison is None or part.must_compare().pairs.at_every_look


@pytest.mark.parametrize("ended", [6, 9, 11, 12, 23])
def test_a_race_that_goes_on_is_decided_by_its_complete_rounds(ended, raced, tmp_path):
    begun = -(-ended // ROUND)
    pages = live(after(raced, tmp_path / "race", ended, runs=begun))
    made = pages.whole().must_compare()
    assert made.pairs.at_every_look
    assert made.frame["provisional"]
    assert made.race is not None
    assert made.race.rounds == ended // ROUND
    assert "A run continues: these numbers are provisional." in texts(pages)


def test_filters_of_a_race_keep_the_level_of_all_its_pairs(raced, tmp_path):
    """Who chooses two of three optimizers while the race goes on gets the intervals that all three have."""
    pages = live(after(raced, tmp_path / "race", 20, runs=4))
    whole = pages.whole().must_compare()
    part = pages._material(Choice(optimizer=("RandomSearch", "Scipy-Powell"))).must_compare()
    assert set(part.optimizers) == {"RandomSearch", "Scipy-Powell"}
    assert between(part) == pytest.approx(between(whole))
    one = pages._material(Choice(problem=("sphere",)))
    assert one.must_compare().pairs.at_every_look
    assert "for the chosen problems alone" in one.going


def between(made) -> list[float]:
    """P(beats) of two optimizers with its interval."""
    a, b = (made.optimizers.index(name) for name in ("RandomSearch", "Scipy-Powell"))
    return list(made.pairs.between(a, b)[:3])


def test_filters_of_a_run_keep_the_level_of_all_pairs_of_the_plan(plain, tmp_path):
    pages = live(after(plain, tmp_path / "s", 20))
    whole = pages.whole().must_compare()
    part = pages._material(Choice(optimizer=("RandomSearch", "Scipy-Powell"))).must_compare()
    assert part.trials.trials.max() >= whole.trials.trials.max()
    alone = pages._material(Choice(optimizer=("RandomSearch", "Scipy-Powell"), problem=("sphere",)))
    assert "for the chosen problems alone" in alone.going
    decided = pages._material(Choice(optimizer=("RandomSearch", "Scipy-Powell")))._decided
    level = decided.compare(sequence=True, view="fixed_cost")
    ours, theirs = np.diff(between(part)[1:]), np.diff(between(level)[1:])
    assert ours > theirs, "the interval is as wide as for three pairs, not for one"


@pytest.mark.parametrize("ended", [5, 14])
def test_a_run_that_was_killed_or_is_queued_is_not_over(ended, plain, tmp_path):
    """Nothing beats, but half of a plan is no experiment of a fixed size."""
    results = after(plain, tmp_path / "s", ended)
    pages = Pages(1, results, [])
    data = json.loads(pages.data(Choice()))
    assert not data["live"]
    assert f"A run has not come to its end, {24 - ended} of 24 studies are missing" in json.dumps(data) or ended < 6
    made = pages.whole().comparison
    assert (made is None) == (ended < 6)
    assert made is None or (made.pairs.at_every_look and made.frame["provisional"])


def test_a_run_without_an_end_of_which_nothing_is_missing_is_over(plain, tmp_path):
    """It was killed after its last study, or another run did the rest."""
    made = Pages(1, after(plain, tmp_path / "s", 24), []).whole().must_compare()
    assert not made.pairs.at_every_look
    assert not made.frame["provisional"]


def test_an_optimizer_that_is_added_does_not_remove_the_others(plain, tmp_path):
    """Those that were run before stand in their own rounds; the new one joins them with its first round."""
    path = tmp_path / "added"
    shutil.copytree(plain, path)
    oa.Experiment(["Scipy-NelderMead"], PROBLEMS, budget=10, trials=4, seed=1).run(path, workers=0)
    before = live(after(path, tmp_path / "before", 25))
    assert len(before.results.runs) == 2
    made = before.whole().must_compare()
    assert set(made.optimizers) == set(NAMES)
    assert made.pairs.at_every_look
    assert made.trials.trials.min() == 4
    assert "for lack of a complete round: Scipy-NelderMead" in before.whole().going
    then = live(after(path, tmp_path / "then", 24 + 3)).whole().must_compare()
    assert set(then.optimizers) == {*NAMES, "Scipy-NelderMead"}
    # six pairs share the level before and after: nobody's interval depends on who has come
    assert between(made) == pytest.approx(between(then))


# ---- what stands beside them -----------------------------------------------------------------------------------------


def test_no_interval_for_a_fixed_number_of_trials_is_shown_while_a_run_goes_on(plain, tmp_path):
    """Of the intervals on the page, only those of P(beats) are left: they hold at every look."""
    running, over = live(after(plain, tmp_path / "s", 20)), Pages(1, Results.of_store(plain), [])
    for pages, shown in ((running, False), (over, True)):
        for id in ("overview", "fixed-cost", "method"):
            heads = [head for block in section(pages, id)["blocks"] for head in columns(block)]
            deciding = 1 if id == "method" else 0
            assert shown == (len([head for head in heads if "95 %" in head]) > deciding), (id, heads)
    report = json.loads(running.data(Choice()))["report"]
    for name in ("summary value", "final value", "problems value"):
        fields = report["datasets"][name]["columns"]
        for end in ("lower", "upper"):
            assert not any(value is not None for value in values_of(fields, end)), (name, end)
    assert "So far: these are the numbers of all studies" in texts(running)
    assert "So far: these are the numbers of all studies" not in texts(over)


def values_of(fields, name: str) -> list:
    found = fields[name] if isinstance(fields, dict) else next(one for one in fields if one.get("name") == name)
    return found if isinstance(found, list) else found.get("values", [])


def test_the_method_leaves_out_tests_for_a_fixed_number_of_trials(plain, tmp_path):
    running, over = live(after(plain, tmp_path / "s", 20)), Pages(1, Results.of_store(plain), [])
    for pages, fixed in ((running, False), (over, True)):
        method = json.dumps(section(pages, "method"), ensure_ascii=False)
        for word in ("critical-difference", "scott-knott", "p (Holm)"):
            assert (f'"{word}' in method or f"{word}:" in method) == fixed, word
        assert ("they are left out" in method) != fixed


def test_nobody_is_told_to_add_trials_to_a_run_that_goes_on(plain, raced, tmp_path):
    running = live(after(plain, tmp_path / "s", 20))
    assert running.whole().must_compare().answer.winner is None
    assert "larger limit" not in texts(running)
    assert "larger limit" in " ".join(oa.open(raced).compare().sentences)


# ---- rounds that are scored by themselves ----------------------------------------------------------------------------


def test_a_past_round_of_fronts_stays_what_it_was(tmp_path):
    """Without a reference set the frame grows with every trial; the rounds before keep their own."""
    path = tmp_path / "fronts"
    problem = "zdt/zdt1/d5"
    oa.Experiment(["RandomSearch", "QuasiRandom"], problem, budget=60, trials=6, seed=3).run(path, workers=0)
    results = oa.open(path)
    from optarena.comparison.of_store import _Rounds
    from optarena.views import score

    def alone(part):
        return score(part, "pareto").trial_scores()

    every = _Rounds(results, alone).ranks([problem], results.all_optimizers)
    early = results.select(np.flatnonzero(results.studies["trial"].to_numpy() < 2))
    first = _Rounds(early, alone).ranks([problem], results.all_optimizers)
    assert len(every) == 6
    assert len(first) == 2
    np.testing.assert_array_equal(every[:2], first)


# ---- two runs --------------------------------------------------------------------------------------------------------


def test_two_runs_are_compared_in_their_complete_trials_while_one_goes_on(tmp_path):
    path = tmp_path / "s"
    for new in (False, True):
        oa.Experiment(["RandomSearch", "QuasiRandom"], PROBLEMS, budget=10, trials=4).run(path, workers=0, new=new)
    for ended, trials in ((16 + 1, 0), (16 + 4, 1), (16 + 11, 2), (31, 3)):
        pages = live(after(path, tmp_path / str(ended), ended))
        roots = [one["key"] for one in pages.sides if one["key"].startswith("root:")]
        old = f"root:{pages.results.runs[0].root}"
        new = next(root for root in roots if root != old)
        for one in versus(pages, Choice(), old, new)["optimizers"]:
            if not trials:
                assert "no trial is complete on both sides yet" in one["said"]
                continue
            ((before, after_it),) = {tuple(row["trials"]) for row in one["problems"]}
            assert before == after_it, "as many on both sides, and on every problem"
            assert before in (trials, trials + 1), "the rounds of an optimizer do not wait for another one"
            assert {row["problem"] for row in one["problems"]} == {"functions/sphere/d2", "functions/rosenbrock/d2"}
            assert one["verdict"] == "undecided", "four trials on two problems of equals"
            part = versus(pages, Choice(optimizer=(one["optimizer"],)), old, new)["optimizers"][0]
            assert (part["lower"], part["upper"]) == (one["lower"], one["upper"]), (
                "the level is that of both optimizers"
            )


# ---- memory ----------------------------------------------------------------------------------------------------------


def test_a_page_that_is_replaced_frees_its_data_without_a_search_for_garbage(plain, tmp_path):
    """What is frozen is never searched; so nothing of an old page may hang in a circle."""
    gc.collect()
    gc.disable()
    try:
        for make in (lambda: Pages(1, Results.of_store(plain), []), lambda: live(after(plain, tmp_path / "s", 20))):
            pages = make()
            columns = weakref.ref(pages.results.columns)
            for choice in (Choice(), Choice(optimizer=("RandomSearch", "QuasiRandom")), Choice(problem=("sphere",))):
                pages.data(choice)
            pages.first(Choice(dimension=("2",)))
            pages.file(Choice())
            del pages
            assert columns() is None
    finally:
        gc.enable()


def test_a_state_is_sent_again_only_when_it_has_changed(plain):
    hub = Hub([plain])
    hub._look()
    hub._look()
    state = hub.state
    hub._look()
    assert hub.state == state
