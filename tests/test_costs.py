"""What optimizers and problems report as spent: recorded, resumed, exported, an axis of views (docs/scores.md 0.7)."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.dataset.rows import running
from optarena.formats import export
from optarena.problems.command import CommandProblem
from optarena.report.figures import figure
from optarena.space import Space

SQUARE = Space.box(-5.0, 5.0, 2)
PROGRAM = """
import json, random, sys
for line in sys.stdin:
    request = json.loads(line)
    call, answer = request["call"], {"id": request["id"]}
    if call == "hello":
        answer.update(protocol=1, capabilities={"mixed": False})
    if call == "start":
        source, ranges = random.Random(request["seed"]), [each["range"] for each in request["space"]]
        answer["cost"] = {"tokens": 50}
    if call == "suggest":
        answer["points"] = [[source.uniform(*each) for each in ranges] for _ in range(request["n"])]
        answer["cost"] = COST
    if call == "observe":
        answer["cost"] = {"tokens": 7}
    print(json.dumps(answer), flush=True)
"""


class Agent(oa.Optimizer):
    """Random search that pays: 50 tokens at first, 100 for a point, 7 for learning; a tenth as much money."""

    def __init__(self, space, *, objectives=1, rng=None, price=0.1):
        super().__init__(space, objectives=objectives, rng=rng)
        self.price = price
        self.pay(50)

    capabilities = oa.Capabilities(several_objectives=True)

    def pay(self, tokens):
        self.charge(tokens=tokens, money=self.price * tokens)

    def suggest(self, n):
        self.pay(100 * n)
        return self.space.to_dicts(self.space.sample(n, self.rng))

    def observe(self, X, y):
        self.pay(7)


@oa.as_problem(SQUARE)
def metered(x):
    if x["x1"] > 4:
        return oa.Evaluation([float("nan")], costs={"joules": 5})
    return oa.Evaluation([x["x1"] ** 2 + x["x2"] ** 2], costs={"joules": 2})


def run(optimizers, problem="functions/sphere/d2", budget=6, store="s", **fields):
    return oa.Experiment(optimizers, problem, budget, seed=7, **fields).run(store, workers=0)


def program(cost: object = None) -> str:
    """A manifest whose program reports this for a suggestion."""
    Path("paid.py").write_text(PROGRAM.replace("COST", repr({"tokens": 100, "money": 0.25} if cost is None else cost)))
    Path("paid.toml").write_text(f"[optimizer]\ncommand = {json.dumps([sys.executable, '-S', 'paid.py'])}\n")
    return "paid.toml"


def spent(results, axis="cost.tokens") -> list[float]:
    return results.in_full().efforts(axis).tolist()


def exported(results) -> list[tuple]:
    """All that an export has but seconds, which differ."""
    export("csv", results, "exported.csv")
    return pl.read_csv("exported.csv").drop("seconds").rows()


# ---- what is recorded -----------------------------------------------------------------------------------------------


def test_what_an_optimizer_charges_is_kept_with_each_evaluation():
    results = run([Agent], budget=3)
    assert results.axes == ["evaluations", "batches", "seconds", "cost.tokens", "cost.money"]
    assert spent(results) == [150, 257, 364]
    assert results.efforts_at_end("cost.tokens").tolist() == [371]
    np.testing.assert_allclose(spent(results, "cost.money"), [15, 25.7, 36.4])


def test_a_batch_is_charged_with_its_first_evaluation():
    assert spent(run([Agent], metered, budget=5, batch=2)) == [250, 250, 457, 457, 564]
    assert spent(run([Agent], budget=5, batch=2, store="matrix")) == [250, 250, 457, 457, 564]


def test_a_program_reports_what_its_answers_cost():
    results = run([program()], budget=3)
    assert spent(results) == [150, 257, 364]
    assert results.efforts_at_end("cost.tokens").tolist() == [371]
    assert spent(results, "cost.money") == [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    ("cost", "reason"),
    [
        ({"tokens": 10**400}, "the cost tokens must be from 0 to 1e+100, got " + "1" + "0" * 59),
        ({"tokens": 1.7e308}, "the cost tokens must be from 0 to 1e+100, got 1.7e+308"),
        (0, "costs must be names with numbers, got '0'"),
        ({"tokens": -1}, "the cost tokens must be from 0 to 1e+100, got -1"),
        ({"pounds": 1}, "no cost 'pounds' (known: tokens, money, joules)"),
        ({"tokens": "many"}, "the cost tokens must be a number, got 'many'"),
        ({"tokens": True}, "the cost tokens must be a number, got 'True'"),
        ([1], "costs must be names with numbers, got '[1]'"),
    ],
)
def test_a_wrong_cost_ends_the_study_with_the_reason(cost, reason):
    results = run([program(cost)])
    assert results.studies["status"].to_list() == ["failed"]
    assert results.studies["reason"][0] == f"suggest: CommandError: answered a wrong cost: {reason}"


def test_a_wrong_charge_is_an_error_of_the_optimizer():
    with pytest.raises(ValueError, match="no cost 'pounds'"):
        Agent(SQUARE).charge(pounds=1)
    with pytest.raises(ValueError, match=r"the cost money must be from 0 to 1e\+100, got nan"):
        Agent(SQUARE).charge(money=float("nan"))


def test_evaluations_report_costs_also_those_that_fail():
    results = run(["RandomSearch"], metered, budget=40)
    joules, statuses = np.diff([0, *spent(results, "cost.joules")]), results.in_full().row_statuses()
    assert set(statuses.tolist()) == {0, 2}
    assert joules.tolist() == [5.0 if status else 2.0 for status in statuses]


def test_a_wrong_cost_of_an_evaluation_is_a_failure_of_it():
    problem = oa.as_problem(SQUARE)(lambda x: oa.Evaluation([1.0], costs={"joules": float("inf")}))
    results = run(["RandomSearch"], problem, budget=2)
    assert results.failures()["message"].to_list() == ["the cost joules must be from 0 to 1e+100, got inf"] * 2


def test_a_program_that_is_a_problem_reports_costs():
    Path("p.py").write_text(
        "import json, sys\n"
        "for line in sys.stdin:\n"
        "    k = json.loads(line)['evaluation']\n"
        "    fine, bad = {'value': 1.0, 'cost': {'joules': 3}}, {'error': 'too hot', 'cost': {'joules': 8}}\n"
        "    print(json.dumps([fine, bad, 2.0, {'value': 1, 'cost': {'heat': 1}}][k - 1]), flush=True)\n"
    )
    problem = CommandProblem([sys.executable, "-S", "p.py"], SQUARE.config, id="p")
    results = run(["RandomSearch"], problem, budget=4)
    assert spent(results, "cost.joules") == [3, 11, 11, 11]
    told = results.failures()["message"].to_list()
    assert told == [
        "CommandError: too hot",
        "CommandError: answered a wrong cost: no cost 'heat' (known: tokens, money, joules)",
    ]


def test_an_optimizer_pays_for_those_that_it_drives():
    optimizer = oa.use("Scalarised", optimizer=program(), evaluations=5)
    results = run([optimizer], "zdt/zdt1/d2", 16)
    # 6 points at random; sub-runs of 5 start, and observe the best point so far, suggest, and observe
    assert np.diff([0, *spent(results)]).tolist() == [0] * 6 + [157] + [107] * 4 + [164] + [107] * 4
    assert results.efforts_at_end("cost.tokens").tolist() == [50 * 2 + 7 * 12 + 1000]


# ---- what is continued ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("record", ["all", "improvements"])
@pytest.mark.parametrize("batch", [1, 3])
def test_an_interrupted_study_is_charged_once(record, batch):
    count = 0

    @oa.as_problem(SQUARE)
    def interrupted(x):
        nonlocal count
        count += 1
        if count == 9:
            raise KeyboardInterrupt
        return oa.Evaluation([x["x1"] ** 2 + x["x2"] ** 2], costs={"joules": 0.1})

    with pytest.raises(KeyboardInterrupt):
        run([Agent], interrupted, 20, record=record, batch=batch)
    resumed = run([Agent], interrupted, 20, record=record, batch=batch)
    whole = run([Agent], interrupted, 20, record=record, batch=batch, store="whole")
    assert spent(resumed)[-1] > 2000 or record == "improvements"
    assert exported(resumed) == exported(whole)


def test_a_study_that_is_extended_goes_on_where_its_cost_ended():
    run([Agent], metered, 5)
    extended = run([Agent], metered, 9)
    assert exported(extended) == exported(run([Agent], metered, 9, store="whole"))


def test_a_compacted_store_has_the_same_costs(capsys):
    before = exported(run([Agent, "RandomSearch"], metered))
    assert main(["compact", "s"]) == 0
    after = oa.open("s")
    assert exported(after) == before
    assert spent(after.filter(optimizer="Agent"))[0] == 150


# ---- an axis of every view ------------------------------------------------------------------------------------------


def test_rows_that_tell_nothing_have_what_was_spent_before():
    costs = np.array([np.nan, 2.0, np.nan, 5.0, np.nan, np.nan, 1.0])
    assert running(costs, np.array([4, 0, 2, 1])).tolist() == [0, 2, 2, 5, 0, 0, 1]
    assert running(np.zeros(0), np.array([], dtype=int)).tolist() == []


FREE = "studies of RandomSearch report no cost.tokens: it counts as 0"


@pytest.fixture
def paid():
    return run([Agent, oa.use(Agent, name="Dear", price=0.2), "RandomSearch"], budget=30, trials=3)


def test_fixed_cost_by_tokens_measures_against_all_of_free_random_search(paid):
    tokens, evaluations = paid.fixed_cost(axis="cost.tokens"), paid.fixed_cost(axis="evaluations")
    assert FREE in tokens.notes
    last = [view.tables["baseline"].sort("effort")["mean"][-1] for view in (tokens, evaluations)]
    assert last[0] == last[1] == tokens.tables["baseline"].sort("effort")["mean"][0]


def test_fixed_target_by_tokens_is_by_evaluations_in_other_units(paid):
    one = paid.filter(optimizer="Agent")
    tokens, evaluations = (one.fixed_target(axis=axis).tables["ert"] for axis in ("cost.tokens", "evaluations"))
    reached = evaluations["ert"].is_finite() & (evaluations["n_success"] == 3)
    assert reached.any()
    np.testing.assert_allclose(tokens.filter(reached)["ert"], 107 * evaluations.filter(reached)["ert"] + 43)


def test_money_is_another_axis(paid):
    money = paid.filter(optimizer=["Agent", "Dear"]).anytime(axis="cost.money")
    assert money.frame["axis"] == "cost.money"
    assert not [note for note in money.notes if "report no" in note]


def test_fronts_by_tokens():
    results = run([Agent, "RandomSearch"], "zdt/zdt1/d5", 30, trials=2)
    view = results.pareto(axis="cost.tokens")
    assert FREE in view.notes
    assert view.tables["anytime"]["effort"].max() == pytest.approx(150 + 29 * 107)


@pytest.mark.parametrize("name", ["normalised", "ecdf", "ert", "gap", "convergence"])
def test_figures_by_tokens(paid, name):
    assert "cost.tokens" in figure(name, paid, axis="cost.tokens").to_json()


def test_commands_by_tokens(paid, capsys):
    for words in (["score", "s"], ["compare", "s", "--details"], ["report", "s", "-O", "r.html"]):
        assert main([*words, "--axis", "cost.tokens"]) == 0
    assert capsys.readouterr().out.count(FREE) == 2
    assert "cost.tokens" in Path("r.html").read_text()


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("view", ["fixed-cost", "fixed-target"])
def test_a_comparison_says_first_who_is_free(paid, capsys, view):
    assert main(["compare", "s", "--view", view, "--axis", "cost.tokens"]) == 0
    told = " ".join(capsys.readouterr().out.split())
    assert f"Watch out S{FREE[1:]}." in told
    assert "optarena compare s --axis cost.tokens --details · optarena report s --axis cost.tokens" in told
    made = paid.compare(view="fixed_target", axis="cost.tokens")
    ratios = {(row["optimizer"], row["other"]): row["ratio"] for row in made.table("pairs").iter_rows(named=True)}
    assert {ratio is None for pair, ratio in ratios.items() if "RandomSearch" in pair} == {True}
    assert not paid.compare("Agent", "Dear", axis="cost.tokens").answer.warnings[0].startswith("Studies of")


@pytest.mark.parametrize("words", [["score"], ["compare"], ["score", "--view", "anytime"]])
def test_a_store_without_costs_says_which_axes_it_has(words, capsys):
    run(["RandomSearch", "QuasiRandom"])
    assert main([words[0], "s", *words[1:], "--axis", "cost.tokens"]) == 2
    told = "optarena: no effort axis 'cost.tokens'. (there are evaluations, batches, seconds)\n"
    assert capsys.readouterr().err.replace("\n  ", " ") == told


def test_an_export_is_imported_with_its_costs(paid):
    export("csv", paid, "e.csv")
    assert main(["import", "csv", "e.csv", "--store", "t"]) == 0
    assert exported(oa.open("t")) == exported(paid)
