"""Races: rounds until decided, the same verdict from any store, whatever was killed and whoever looks."""

from __future__ import annotations

import io
import json
import signal
import subprocess
import sys
import time
import uuid

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.cli._progress import RunProgress
from optarena.comparison.race import Race, race_of
from optarena.errors import OptarenaError
from optarena.facade import execute
from optarena.stats.sequences import sequence
from optarena.store import Look, RaceFile, Store

ROOT = uuid.UUID(int=23)
NAMED = ["functions/sphere/d2", "functions/rosenbrock/d2", "functions/ackley/d2"]


LINE = {"type": "real", "space": "linear", "range": [-1.0, 1.0]}


def problem(name):
    return oa.as_problem({"x": LINE, "y": LINE}, id=name, optimum=0.0)(lambda x: x["x"] ** 2 + x["y"] ** 2)


IDS = ["mine/a", "mine/b", "mine/c"]
PROBLEMS = [problem(name) for name in IDS]


class Near(oa.Optimizer):
    """Points around the middle of the space, where the optimum is: the nearer, the better."""

    spread = 0.5

    def suggest(self, n):
        u = 0.5 + self.spread * (self.rng.random((n, self.space.dimension)) - 0.5)
        return self.space.to_dicts(self.space.from_unit(u))


class Nearer(Near):
    spread = 0.2


class Twin(Near):
    pass


class Fails(oa.Optimizer):
    def suggest(self, n):
        raise RuntimeError("no idea")


def race(optimizers, store, problems=PROBLEMS, budget=5, **options):
    running = {key: options.pop(key) for key in ("workers",) if key in options}
    plan = oa.Experiment(optimizers, problems, budget, until_decided=True, seed=ROOT, **options)
    return plan.run(store, workers=0, **running) if "workers" not in running else plan.run(store, **running)


def looks_of(store):
    """Every look that is recorded, by its round."""
    runs = Store(store).runs()
    return {look.round: look for run in runs if run.race is not None for look in run.race.looks}


def verdicts(comparison):
    return {(pair["a"], pair["b"]): pair["verdict"] for pair in comparison.answer.pairs}


# ---- deciding --------------------------------------------------------------------------------------------------------


def test_a_race_ends_when_the_best_is_known(tmp_path):
    results = race(["RandomSearch", Near, Nearer], tmp_path / "s")
    found = race_of(results)
    assert found.end == "decided"
    assert found.live == ["Nearer"]
    assert set(found.out) == {"Near", "RandomSearch"}
    assert found.sentences[0] == f"Decided after {found.rounds} rounds: Nearer is best; it beats both others."
    # who is out runs no further trials
    trials = dict(results.studies.group_by("optimizer").agg(pl.col("trial").max()).iter_rows())
    for name, (_, when) in found.out.items():
        assert trials[name] == when - 1
    assert trials["Nearer"] == found.rounds - 1 < 99


def test_every_look_is_recorded_and_the_verdict_follows_from_the_data(tmp_path):
    results = race(["RandomSearch", Near, Nearer], tmp_path / "s")
    again = race_of(results)
    recorded = looks_of(tmp_path / "s")
    assert recorded == {look.round: look for look in again.looks}
    assert recorded[max(recorded)].end == "decided"
    # shares of duels, by hand
    best = {
        (row["optimizer"], row["problem"], row["trial"]): row["best"] for row in results.studies.iter_rows(named=True)
    }
    for look in recorded.values():
        for a, b, share, *_ in look.pairs:
            met = [
                np.mean([np.sign(best[b, id, r] - best[a, id, r]) / 2 + 0.5 for id in IDS])
                for r in range(look.round)
                if all((name, id, r) in best for name in (a, b) for id in IDS)
            ]
            assert share == pytest.approx(np.mean(met[: look.round]))
    comparison = results.compare()
    assert comparison.answer.at_every_look
    assert comparison.answer.winner == "Nearer"
    assert comparison.answer.scope == "trials"
    words = verdicts(comparison)
    for a, b, _, _, _, word in recorded[max(recorded)].pairs:
        turned = {"better": "worse", "worse": "better"}.get(word, word)
        assert words.get((a, b)) == word or words.get((b, a)) == turned
    assert "however often one looks" in str(comparison)
    assert comparison.to_data()["race"]["rounds"] == again.rounds


def test_equal_optimizers_stay_undecided_or_turn_out_equivalent(tmp_path):
    results = race([Near, Twin], tmp_path / "s", max_trials=12)
    found = race_of(results)
    assert found.rounds == 12
    assert found.end == "max_trials reached"
    assert found.sentences[0].startswith("Not decided within its limit of 12 trials, after 12 rounds: 1 pair undecided")
    assert "Undecided: Near against Twin (0." in found.sentences[1]
    answer = results.compare().answer  # without random search: by another view than the race's, in the same rounds
    assert answer.at_every_look
    assert answer.view == "fixed-target"
    assert answer.winner is None


def test_equivalence_ends_a_race(tmp_path):
    many = [problem(f"mine/{i}") for i in range(100)]
    results = race([Near, Twin], tmp_path / "s", problems=many, budget=1, max_trials=60)
    found = race_of(results)
    assert found.end == "decided"
    assert found.sentences[0] == f"Decided after {found.rounds} rounds: Near and Twin are equivalent."


def test_other_views_and_some_problems_are_compared_in_the_same_rounds(tmp_path):
    results = race(["RandomSearch", Near, Nearer], tmp_path / "s")
    whole = results.compare()
    assert whole.race is not None
    for part in (results.compare(view="fixed_target"), results.filter(problem="mine/a").compare()):
        assert part.answer.at_every_look
        assert part.race is None, "its sentence is about the whole race"
    two = results.compare("Near", "Nearer")
    same = whole.answer.against("Near", "Nearer")
    assert two.answer.against("Near", "Nearer") == pytest.approx(same)
    assert not results.compare(sequence=False).answer.at_every_look
    with pytest.raises(OptarenaError, match="a sequence is about these problems"):
        results.compare(sequence=True, over="problems")


def test_one_that_always_fails_is_beaten_and_counted(tmp_path):
    results = race([Near, Fails, "RandomSearch"], tmp_path / "s", max_trials=30)
    found = race_of(results)
    assert "Fails" in found.out
    when = found.out["Fails"][1]
    failed = results.studies.filter(results.studies["status"] == "failed")
    assert failed.height == when * len(PROBLEMS)
    assert f"Fails failed in {failed.height} of {failed.height} studies" in str(results.compare())


def test_two_that_always_fail_tie(tmp_path):
    class FailsToo(Fails):
        pass

    found = race_of(race([Fails, FailsToo], tmp_path / "s", max_trials=3))
    assert [pair[2] for pair in found.looks[-1].pairs] == [0.5]


def test_a_limit_of_evaluations_is_kept(tmp_path):
    results = race([Near, Twin], tmp_path / "s", budget=7, max_evaluations=100)
    assert results.studies["evaluations"].sum() == 84  # two rounds of 42; a third would be too much
    found = race_of(results)
    assert found.end == "max_evaluations reached"
    assert "its limit of 100 evaluations" in found.sentences[0]
    with pytest.raises(OptarenaError, match="one round has 42 evaluations, got 41"):
        race([Near, Twin], tmp_path / "t", budget=7, max_evaluations=41)
    assert not list(Store(tmp_path / "t").run_paths())


def test_a_larger_limit_goes_on_where_it_stopped(tmp_path):
    race([Near, Twin], tmp_path / "s", max_trials=3)
    race([Near, Twin], tmp_path / "s", max_trials=5)
    looks = looks_of(tmp_path / "s")
    assert sorted(looks) == [1, 2, 3, 4, 5]
    race([Near, Twin], tmp_path / "t", max_trials=5)
    assert {r: look.pairs for r, look in looks_of(tmp_path / "t").items()} == {
        r: look.pairs for r, look in looks.items()
    }


def test_a_race_with_a_larger_budget_is_recorded_again(tmp_path, monkeypatch, capsys):
    """A larger budget is another race, on the same studies, which go on."""
    monkeypatch.chdir(tmp_path)
    words = ["run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", "functions/{sphere,ackley}/d2", "--workers", "0"]
    words += ["--until-decided", "--max-trials", "6", "--store", "s", "--seed", str(ROOT)]
    assert main([*words, "-n", "5"]) == 0
    before = looks_of("s")
    assert main([*words, "-n", "40"]) == 0
    assert "is not what it was" not in capsys.readouterr().out
    assert looks_of("s") != before
    assert list(looks_of("s").values()) == race_of(oa.open("s")).looks


def test_leader_only_does_not_wait_for_the_others():
    """The first is equivalent to both others, which are undecided: only with leader_only that is enough."""
    plan = RaceFile(["A", "B", "C"], ["p"], "fixed_cost", 0.05, 0.06, 100)
    for leader_only, end in ((False, ""), (True, "leader known")):
        plan.leader_only = leader_only
        made = Race(plan)
        made.verdicts = ["equivalent", "equivalent", "undecided"]  # A-B, A-C, B-C
        assert made._end(0) == end


def test_the_best_is_not_said_to_beat_whom_it_did_not():
    plan = RaceFile(["A", "B", "C"], ["p"], "fixed_cost", 0.05, 0.06, 100)
    for against_c, said in (
        ("better", "A is best; it beats both others."),
        ("undecided", "A is left; it beats B. It is not shown to beat C: others had beaten it before."),
    ):
        made = Race(plan)
        made.verdicts = ["better", against_c, "better"]  # A-B, A-C, B-C
        made.live, made.out = ["A"], {"C": ("B", 1), "B": ("A", 2)}
        made.looks = [Look(2, 0, ["A"], [], "decided")]
        assert said in made.sentences[0]


def test_a_circle_of_three_stays():
    plan = RaceFile(["A", "B", "C", "D"], ["p"], "fixed_cost", 0.05, 0.06, 100)
    made = Race(plan)
    # pairs: AB AC AD BC BD CD; A beats B, B beats C, C beats A; D is undecided against all
    made.verdicts = ["better", "worse", "undecided", "better", "undecided", "undecided"]
    made._decide(Undecided(6))
    assert made.live == ["A", "B", "C", "D"]
    made.verdicts = ["better", "worse", "better", "better", "undecided", "undecided"]
    made._decide(Undecided(6))
    assert made.live == ["A", "B", "C", "D"]  # D is beaten by A, which is itself beaten
    made.verdicts = ["better", "better", "undecided", "better", "undecided", "undecided"]
    made._decide(Undecided(6))
    assert made.live == ["A", "D"]
    assert made.out["C"][0] == "A"


def test_a_race_does_not_say_that_the_last_one_beats_whom_it_was_not_shown_to_beat():
    """A beats C, which leaves; then X beats A: nothing is known of X against C, which may well beat it."""
    made = Race(RaceFile(["A", "X", "C"], ["p"], "fixed_cost", 0.05, 0.06, 100))
    made.verdicts = ["undecided", "better", "undecided"]  # AX AC XC
    made._decide(Undecided(3))
    assert made.live == ["A", "X"]
    made.verdicts = ["worse", "better", "undecided"]
    made._decide(Undecided(3))
    assert made.live == ["X"]
    made.looks = [made._record(Undecided(3), 0)]
    assert made.sentences[0] == (
        "Decided after 0 rounds: X is left; it beats A. It is not shown to beat C: others had beaten it before."
    )
    made.verdicts = ["worse", "better", "better"]
    assert made.sentences[0] == "Decided after 0 rounds: X is best; it beats both others."


def test_a_circle_is_told_by_its_pairs():
    made = Race(RaceFile(["A", "B", "C", "D"], ["p"], "fixed_cost", 0.05, 0.06, 100))
    made.verdicts = ["better", "worse", "equivalent", "better", "equivalent", "equivalent"]
    made.looks = [made._record(Undecided(6), 0)]
    assert made.sentences[0] == "Decided after 0 rounds, without a best one: A beats B, C beats A and B beats C."


class Undecided:
    """Bets that show nothing."""

    def __init__(self, pairs):
        from optarena.stats.sequences import Evidence

        self.evidence = Evidence(np.zeros((pairs, 3)), np.zeros((pairs, 3)))
        self.means = np.full(pairs, 0.5)


# ---- views and solvers -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("optimizers", "problems", "view"),
    [
        (["RandomSearch", "Pymoo-NSGA2"], ["zdt/zdt1/d5", "zdt/zdt2/d5"], "pareto"),
        (["QuasiRandom", "Scipy-Powell"], NAMED, "fixed_target"),
    ],
)
def test_any_view_can_decide(optimizers, problems, view, tmp_path):
    pytest.importorskip("pymoo")
    options = {} if view == "pareto" else {"view": "fixed-target"}
    results = race(optimizers, tmp_path / "s", problems=problems, budget=150, max_trials=12, **options)
    found = race_of(results)
    assert found.plan.view == view
    comparison = results.compare(view=view)
    assert comparison.answer.at_every_look
    word = found.looks[-1].pairs[0][-1]
    assert next(iter(verdicts(comparison).values())) in (word, {"better": "worse", "worse": "better"}.get(word))
    values = found.values_of(comparison.optimizers)
    assert comparison.pairs.improvement[0] == pytest.approx(np.mean(values))


def test_compare_says_what_the_race_said_without_random_search(tmp_path):
    """Fixed cost has no scale then, and scores are by fixed target: the duels are those of the race all the same."""
    results = race([Near, Nearer], tmp_path / "s")
    found = race_of(results)
    assert found.live == ["Nearer"]
    comparison = results.compare()
    assert comparison.race is not None
    assert comparison.answer.winner == "Nearer"
    assert comparison.answer.view == "fixed-target"
    assert any("as in the race" in warning for warning in comparison.answer.warnings)
    pair = comparison.answer.against("Near", "Nearer")
    assert pair["pi"] == pytest.approx(np.mean(found.values_of(["Near", "Nearer"])))
    asked = results.compare(view="fixed-target")  # whoever asks for another view gets it
    assert asked.race is None
    assert asked.answer.at_every_look


def test_compare_answers_by_the_view_of_the_race(tmp_path):
    results = race(["RandomSearch", "Scipy-Powell"], tmp_path / "s", NAMED, 60, max_trials=3, view="fixed-target")
    assert results.compare().race.plan.view == "fixed_target"
    other = results.compare(targets=[1.0, 0.1], view="fixed-target")  # other targets are other duels
    assert other.race is None
    assert other.answer.at_every_look


def test_problems_outside_the_race_are_left_out_or_compared_by_themselves(tmp_path):
    optimizers = ["RandomSearch", "QuasiRandom"]
    race(optimizers, tmp_path / "s", NAMED, 20, max_trials=4)
    oa.Experiment(optimizers, ["functions/rastrigin/d2"], 20, trials=3, seed=ROOT).run(tmp_path / "s", workers=0)
    answer = oa.open(tmp_path / "s").compare().answer
    assert answer.coverage["problems"] == len(NAMED)
    assert any("1 problem outside it is left out" in warning for warning in answer.warnings)
    alone = oa.open(tmp_path / "s").filter(problem="functions/rastrigin/d2").compare().answer
    assert alone.coverage["trials"] == [3, 3]
    assert not alone.at_every_look


SOLVERS = """
import numpy as np
import optarena as oa
from optarena.problems.tsp import Tsp

square = Tsp(np.array([[0.0, 0.0], [0.0, 9.0], [9.0, 9.0], [9.0, 0.0], [20.0, 5.0]]), 60.0)
LONG, BEST = [0, 2, 1, 3, 4], [0, 1, 2, 4, 3]
square.known = oa.Known(optimum=(square.cost(BEST),))

class Good(oa.Solver):
    takes = ("tsp",)
    tour = BEST
    def solve(self, instance, budget, emit):
        emit(instance.cost(self.tour), self.tour)
        return "feasible"

class Bad(Good):
    tour = LONG
"""


@pytest.mark.xdist_group("processes")
@pytest.mark.slow
def test_solvers_race_too(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(SOLVERS)
    words = ["run", "-s", "mine.py:Good", "-s", "mine.py:Bad", "-p", "mine.py:square", "--seconds", "2"]
    assert main([*words, "--until-decided", "--max-trials", "15", "--store", "s"]) == 0
    said = capsys.readouterr().out
    found = race_of(oa.open("s"))
    assert found.plan.view == "anytime"
    assert found.live == ["Good"]
    assert f"Decided after {found.rounds} rounds: Good is best; it beats the other." in said
    answer = oa.open("s").compare().answer
    assert answer.winner == "Good"
    assert answer.view == "anytime"


# ---- killed and continued --------------------------------------------------------------------------------------------


OURS = """
import numpy as np, optarena as oa

class Near(oa.Optimizer):
    spread = 0.5
    def suggest(self, n):
        u = 0.5 + self.spread * (self.rng.random((n, self.space.dimension)) - 0.5)
        return self.space.to_dicts(self.space.from_unit(u))

class Nearer(Near):
    spread = 0.4

LINE = {"type": "real", "space": "linear", "range": [-1.0, 1.0]}

@oa.as_problem({"x": LINE, "y": LINE})
def first(x):
    return x["x"] ** 2 + x["y"] ** 2

@oa.as_problem({"x": LINE, "y": LINE})
def second(x):
    return abs(x["x"]) + abs(x["y"])
"""


def command(store, *more):
    words = ["run", "-o", "ours.py:Near", "-o", "ours.py:Nearer", "-o", "RandomSearch", "-n", "6", "--until-decided"]
    words += ["-p", "ours.py:first", "-p", "ours.py:second"]
    return [*words, "--max-trials", "25", "--seed", str(ROOT), "--store", str(store), *more]


@pytest.mark.xdist_group("processes")
@pytest.mark.slow
def test_a_killed_race_ends_with_the_same_verdict_on_any_number_of_workers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.py").write_text(OURS)
    assert main(command("whole", "--workers", "2")) == 0
    said = capsys.readouterr().out.splitlines()
    sentence = next(line for line in said if line.startswith(("Decided", "Not decided")))
    rng = np.random.default_rng(5)
    for _ in range(5):
        going = subprocess.Popen(
            [sys.executable, "-m", "optarena", *command("killed", "--workers", str(rng.integers(1, 3)))],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        time.sleep(float(rng.uniform(0.5, 3.0)))
        going.send_signal(signal.SIGKILL)
        going.wait()
    assert main(command("killed", "--workers", "1")) == 0
    assert sentence in capsys.readouterr().out
    whole, killed = looks_of("whole"), looks_of("killed")
    assert whole.keys() == killed.keys()
    assert whole == killed
    assert oa.open("whole").compare().answer.pairs == oa.open("killed").compare().answer.pairs


def test_the_same_race_in_this_process(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ours.py").write_text(OURS)
    assert main(command("a", "--workers", "0")) == 0
    assert main(command("b", "--workers", "0")) == 0
    assert looks_of("a") == looks_of("b")


def test_a_race_that_goes_on_in_the_middle_of_a_round_shows_its_bars(tmp_path):
    """Then the first studies are those of some optimizers only."""

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    oa.Experiment([Near], PROBLEMS, 5, trials=2, seed=ROOT).run(tmp_path / "s", workers=0)
    plan = oa.Experiment([Near, Twin], PROBLEMS, 5, until_decided=True, max_trials=4, seed=ROOT)
    with RunProgress("s", Terminal()) as shown:
        execute(plan, tmp_path / "s", workers=0, progress=shown)
    assert shown.outcomes["done"] == 4 * 6 - 2 * 3


# ---- stores that were extended ---------------------------------------------------------------------------------------


def test_a_store_that_was_extended_by_looking_warns_and_offers_the_sequence(tmp_path, capsys):
    store = str(tmp_path / "s")
    words = ["run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", NAMED[0], "-n", "10", "--workers", "0"]
    assert main([*words, "-r", "3", "--store", store]) == 0
    results = oa.open(store)
    assert not any("runs" in text for text in results.compare().answer.warnings)
    assert main([*words, "-r", "6", "--store", store]) == 0
    results = oa.open(store)
    warnings = results.compare().answer.warnings
    assert any(text.startswith("Trials came in 2 runs") and "--sequence" in text for text in warnings)
    capsys.readouterr()
    assert main(["compare", store, "--sequence", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert answer["at_every_look"]
    assert not any("Trials came in" in text for text in answer["warnings"])
    # a larger budget, or another optimizer, adds no trials
    other = str(tmp_path / "t")
    assert main([*words, "-r", "3", "--store", other]) == 0
    assert main([*words, "-r", "3", "-o", "Scipy-Powell", "--store", other]) == 0
    assert not any("came in" in text for text in oa.open(other).compare().answer.warnings)


def test_trials_beyond_a_race_and_intervals_that_do_not_cover_it_are_said(tmp_path):
    results = race(["RandomSearch", "QuasiRandom"], tmp_path / "s", NAMED, 20, max_trials=3)
    assert not any("beyond" in warning for warning in results.compare().answer.warnings)
    assert any("decided by looking" in warning for warning in results.compare(over="problems").answer.warnings)
    oa.Experiment(["RandomSearch", "QuasiRandom"], NAMED, 20, trials=5, seed=ROOT).run(tmp_path / "s", workers=0)
    answer = oa.open(tmp_path / "s").compare().answer
    assert answer.coverage["trials"] == [5, 5]
    assert any("the 3 rounds of the race" in warning for warning in answer.warnings)


def test_imported_trials_are_taken_by_rounds_since_their_problems_may_share_a_seed():
    """Six rounds in which one wins everywhere are six duels, not thirty-six."""
    rows = [
        {"problem": f"p{p}", "optimizer": name, "trial": t, "evaluation": 1, "value": value + 0.001 * t}
        for p in range(6) for t in range(6) for name, value in (("a", 1.0), ("b", 2.0))
    ]  # fmt: skip
    results = oa.from_frame(pl.DataFrame(rows))
    pair = results.compare(sequence=True).answer.against("a", "b")
    alone = sequence(np.ones((1, 6, 1)), np.ones(1))
    assert (pair["lower"], pair["verdict"]) == (pytest.approx(float(alone.lower[0])), "undecided")


def test_a_race_on_a_store_that_has_trials_uses_them(tmp_path):
    oa.Experiment([Near, Nearer], PROBLEMS, 5, trials=4, seed=ROOT).run(tmp_path / "s", workers=0)
    results = race([Near, Nearer], tmp_path / "s")
    race([Near, Nearer], tmp_path / "t")
    found, alone = race_of(results), race_of(oa.open(tmp_path / "t"))
    assert found.looks == alone.looks
    assert looks_of(tmp_path / "s") == looks_of(tmp_path / "t")
    # more than it needs: nothing is run, and the race is the same
    oa.Experiment([Near, Nearer], PROBLEMS, 5, trials=30, seed=ROOT).run(tmp_path / "u", workers=0)
    results = race([Near, Nearer], tmp_path / "u")
    assert race_of(results).looks == alone.looks
    assert results.studies.height == 30 * 2 * 3
    assert looks_of(tmp_path / "u") == looks_of(tmp_path / "t")


# ---- stores with more than one race ----------------------------------------------------------------------------------


class Batchy(Near):
    """The better, the more points are asked for at a time."""

    def suggest(self, n):
        u = 0.5 + (self.rng.random((n, self.space.dimension)) - 0.5) / n
        return self.space.to_dicts(self.space.from_unit(u))


def kept(store):
    """The looks of the newest race, as its run files have them."""
    newest = Store(store).runs()[-1]
    same = [run for run in Store(store).runs() if run.race and run.experiment == newest.experiment]
    return [look for run in same for look in run.race.looks]


def test_trials_that_ran_longer_are_looked_at_only_as_far_as_the_race_goes(tmp_path):
    """Else who has run longer would beat its equal."""
    alone = race_of(race([Near, Twin], tmp_path / "s", max_trials=12)).looks
    oa.Experiment([Near], PROBLEMS, 200, trials=12, seed=ROOT).run(tmp_path / "before", workers=0)
    results = race([Near, Twin], tmp_path / "before", max_trials=12)
    assert race_of(results).looks == kept(tmp_path / "before") == alone
    # nor does it change anything to run them longer afterwards
    oa.Experiment([Near], PROBLEMS, 200, trials=12, seed=ROOT).run(tmp_path / "s", workers=0)
    assert race_of(oa.open(tmp_path / "s")).looks == alone
    with pytest.raises(OptarenaError, match=r"has 200 evaluations in store .*, more than the 5 of this race"):
        race([Near, Twin], tmp_path / "s", max_trials=12, view="fixed-target")


def test_races_with_other_batches_and_budgets_are_kept_apart(tmp_path):
    store = tmp_path / "s"
    for options in ({"batch": 5}, {}, {"budget": 7}):
        results = race([Batchy, Near], store, max_trials=3, **options)
        assert race_of(results).looks == kept(store), options
    race([Batchy, Near], store, max_trials=4, batch=5)
    race([Batchy, Near], tmp_path / "t", max_trials=4, batch=5)
    looks = (race_of(oa.open(place)).looks for place in (store, tmp_path / "t"))
    assert [look.pairs for look in next(looks)] == [look.pairs for look in next(looks)]


def test_a_race_that_has_no_round_yet_hides_no_other(tmp_path):
    class Stops(Near):
        def suggest(self, n):
            raise KeyboardInterrupt

    done = race(["RandomSearch", Nearer], tmp_path / "s").compare()
    with pytest.raises(KeyboardInterrupt):
        race(["RandomSearch", Stops], tmp_path / "s", problems=[problem("mine/d")])
    again = oa.open(tmp_path / "s").compare("RandomSearch", "Nearer")
    assert again.answer.at_every_look
    assert again.race is not None
    assert again.answer.pairs == done.answer.pairs


def test_verdicts_are_about_the_problems_that_are_compared(tmp_path):
    """Of a race on one problem nothing follows for others, which the store has too."""
    race(["RandomSearch", Nearer], tmp_path / "s", problems=PROBLEMS[:1])
    more = oa.Experiment(["RandomSearch", Nearer], PROBLEMS[1:2], 5, trials=3, seed=ROOT)
    results = more.run(tmp_path / "s", workers=0)
    both = results.compare()
    assert both.answer.at_every_look
    assert "This is about the race: 1 problem outside it is left out (mine/b)." in both.answer.warnings
    assert both.answer.coverage["problems"] == 1
    alone = results.filter(problem="mine/b").compare()
    assert not alone.answer.at_every_look
    assert results.filter(problem="mine/a").compare().race is not None


def test_what_another_run_planned_takes_nobody_out_of_a_race(tmp_path):
    """A race that was stopped early stays where it was, whatever trials other runs have of some of its optimizers."""
    oa.Experiment([Near, Twin], PROBLEMS, 5, trials=20, seed=ROOT).run(tmp_path / "s", workers=0)
    race([Near, Twin, Nearer], tmp_path / "s", max_trials=2)
    (newest,) = [run for run in Store(tmp_path / "s").runs()[-1:] if run.race]
    newest.race.max_trials = 50
    Store(tmp_path / "s")._write_run(newest)
    found = race_of(oa.open(tmp_path / "s"))
    assert found.rounds == 2
    assert found.live == ["Near", "Twin", "Nearer"]


def test_a_lost_run_file_loses_no_round(tmp_path):
    looks = race_of(race(["RandomSearch", Near, Nearer], tmp_path / "s")).looks
    runs = Store(tmp_path / "s").runs()
    (tmp_path / "s" / "runs" / f"{runs[2].id}.json").unlink()
    assert race_of(oa.open(tmp_path / "s")).looks == looks


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("alpha", 0.0), ("alpha", -1.0), ("rope", 3.0), ("view", "nonsense"), ("view", "pareto"), ("problems", []),
        ("problems", ["not/there"]), ("optimizers", ["Near"]), ("max_trials", -5),
    ],
)  # fmt: skip
def test_a_race_that_makes_no_sense_is_not_taken_for_one(key, value, tmp_path):
    race(["RandomSearch", Nearer], tmp_path / "s", max_trials=3)
    store = Store(tmp_path / "s")
    for run in store.runs():
        setattr(run.race, key, value)
        store._write_run(run)
    assert race_of(oa.open(tmp_path / "s")) is None
    assert oa.open(tmp_path / "s").compare().race is None


def test_nobody_else_takes_rounds_that_are_to_come(tmp_path):
    """While a race is run: neither the same race, nor trials of it."""
    refused = []

    class Asks(Near):
        def suggest(self, n):
            if self.rng.random() < 0.05:
                for options in ({"until_decided": True, "max_trials": 9}, {"trials": 30}):
                    other = oa.Experiment(["RandomSearch", Near], PROBLEMS, 5, seed=ROOT, **options)
                    try:
                        other.run(tmp_path / "s", workers=0)
                    except OptarenaError as error:
                        refused.append("is being run by process" in str(error))
            return super().suggest(n)

    race(["RandomSearch", Near, Asks], tmp_path / "s", max_trials=6)
    assert len(refused) >= 2
    assert all(refused)
    assert len(race_of(oa.open(tmp_path / "s")).looks) == 6


@pytest.mark.parametrize("options", [{"alpha": 0}, {"rope": 0.5}])
def test_bad_settings_of_a_comparison_are_refused_first(options, tmp_path):
    results = race(["RandomSearch", Nearer], tmp_path / "s", max_trials=2)
    with pytest.raises(OptarenaError, match="must be"):
        results.compare(**options)


# ---- bad calls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"trials": 5}, "trials: a race finds out how many are needed: give max_trials instead"),
        ({"trials": 1}, "trials: a race finds out how many are needed"),
        ({"max_trials": 0}, "max_trials: expected a whole number of at least 1"),
        ({"view": "nonsense"}, "view must be one of fixed-cost"),
        ({"optimizers": ["RandomSearch"]}, "optimizers: a race needs two optimizers or more"),
        ({"until_decided": False, "max_trials": 5}, "max_trials: this belongs to a race"),
        ({"max_trials": False}, "max_trials: expected a whole number of at least 1"),
        ({"max_trials": 10**9}, "max_trials: the experiment has more than"),
        ({"view": "pareto"}, "view: these problems cannot be scored by pareto, but by fixed-cost"),
        ({"view": "fixed-cost", "problems": ["functions/sphere/d2", "zdt/zdt1"]}, "one race"),
        ({"view": "fixed-cost", "problems": ["zdt/zdt1"]}, "cannot be scored by fixed-cost, but by pareto"),
        ({"until_decided": "yes"}, "until_decided: expected true or false"),
        (
            {"budget": None, "seconds": 1, "max_evaluations": 50},
            "max_evaluations: studies with a budget in seconds only",
        ),
        ({"problems": ["functions/sphere/d2", "zdt/zdt1"], "optimizers": ["RandomSearch", "QuasiRandom"]}, "one race"),
    ],
)
def test_what_cannot_be_raced_is_refused_in_a_sentence(fields, message, tmp_path):
    data = {"optimizers": ["RandomSearch", "QuasiRandom"], "problems": NAMED, "budget": 5, "until_decided": True}
    with pytest.raises(OptarenaError, match=message):
        oa.Experiment.from_data(data | fields).run(tmp_path / "s", workers=0)


def test_a_race_counts_its_failures(tmp_path):
    with pytest.raises(OptarenaError, match="a race counts its failures"):
        oa.Experiment([Near, Twin], PROBLEMS, 5, until_decided=True).run(tmp_path / "s", workers=0, retry=True)


def test_a_race_from_a_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = 'optimizers = ["RandomSearch", "QuasiRandom"]\nproblems = ["functions/sphere/d2"]\nbudget = 5\n'
    (tmp_path / "race.toml").write_text(text + "until_decided = true\nmax_trials = 2\n")
    assert main(["run", "race.toml", "--workers", "0"]) == 0
    said = capsys.readouterr().out
    assert "2 optimizers × 1 problem, until decided (at most 2 trials each)" in said
    assert "Not decided within its limit of 2 trials, after 2 rounds: 1 pair undecided." in said
    assert oa.Experiment.load("race.toml").to_data()["until_decided"] is True
