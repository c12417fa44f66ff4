"""Plans: fields, budgets, ids, streams and refusals."""

from __future__ import annotations

import sys
import types
import uuid
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.errors import OptarenaError
from optarena.experiment import evaluations, noise_rng, optimizer_rng, problem_rng
from optarena.optimizer import get_optimizer
from optarena.settings import choice, choose, flag, number, whole

ROOT = uuid.UUID(int=7)


def plan(**changes):
    fields = {"optimizers": ["RandomSearch"], "problems": "functions/sphere/d{2,5}", "budget": 10} | changes
    return oa.Experiment(**fields).plan(ROOT)


@pytest.mark.parametrize(
    ("budget", "dimension", "expected"),
    [
        (30, 5, 30),
        ("30", 5, 30),
        ("100*D", 5, 500),
        ("2*(D+1)**2", 3, 32),
        ("D/2", 5, 2),
        ("10 * D - 5", 2, 15),
        ("1e3", 1, 1000),
    ],
)
def test_budgets(budget, dimension, expected):
    assert evaluations(budget, dimension) == expected


@pytest.mark.parametrize(
    "budget",
    [
        "",
        "D*",
        "__import__('os')",
        "d*100",
        "D.real",
        "9**9**9",
        "(-1)**0.5*D",
        "1/0",
        "0",
        "-D",
        "D<3",
        "10*E",
        "1e99",
        True,
        2.5,
        "(" * 500,
        "'a'*9",
    ],
)
def test_a_budget_that_is_none_says_so_and_executes_nothing(budget):
    with pytest.raises(OptarenaError, match="budget"):
        evaluations(budget, 5)


def test_ids_do_not_depend_on_budget_order_or_company():
    small, large = plan(), plan(budget="100*D", trials=3, optimizers=["QuasiRandom", "RandomSearch"])
    ids = {study.id for study in large.studies}
    assert {study.id for study in small.studies} <= ids
    assert len(ids) == len(large.studies) == 2 * 2 * 3


def test_ids_depend_on_root_settings_batch_and_trial():
    base = plan().studies[0].id
    assert oa.Experiment(["RandomSearch"], "functions/sphere/d2", 10).plan(uuid.UUID(int=8)).studies[0].id != base
    assert plan(batch=2).studies[0].id != base
    plain = plan(optimizers=["QuasiRandom"]).studies[0]
    halton = plan(optimizers=[oa.use("QuasiRandom", sequence="halton")]).studies[0]
    named = plan(optimizers=[oa.use("QuasiRandom", sequence="halton", name="H")]).studies[0]
    assert plain.id != halton.id == named.id  # a name is for tables, the settings are what runs
    assert (halton.optimizer.label, named.optimizer.label) == ("QuasiRandom(sequence=halton)", "H")


def test_an_id_is_fixed_for_ever():
    """A change here would orphan every store: it must be meant."""
    assert plan().studies[0].id == "54114447-a0e7-573a-ae07-960bf3f1ad2d"


def test_all_optimizers_meet_the_same_problem_stream():
    one, two = plan(optimizers=["RandomSearch", "QuasiRandom"]).studies[:2]
    assert one.problem == two.problem
    assert problem_rng(one).random() == problem_rng(two).random()
    assert optimizer_rng(one).random() != optimizer_rng(two).random()
    assert problem_rng(one).random() != optimizer_rng(one).random()


def test_noise_streams_do_not_overlap_and_need_no_state():
    draws = np.array([noise_rng(5, k).random(100) for k in (1, 2, 3, 2**40)])
    assert len(np.unique(draws)) == draws.size
    assert noise_rng(5, 2).random() == draws[1, 0]
    assert noise_rng(6, 2).random() != draws[1, 0]


def test_random_search_is_always_recorded_in_full():
    studies = plan(record="improvements", optimizers=["RandomSearch", "QuasiRandom"]).studies
    assert {study.optimizer.label: study.record for study in studies} == {
        "RandomSearch": "all",
        "QuasiRandom": "improvements",
    }


class OneReal(oa.Optimizer):
    capabilities = oa.Capabilities(mixed=False, batch=False)


def test_pairings_that_cannot_work_are_refused_and_listed(monkeypatch):
    from optarena.optimizer import OPTIMIZERS
    from optarena.registry import Entry

    monkeypatch.setitem(OPTIMIZERS.built_in, "OneReal", Entry("OneReal", f"{__name__}:OneReal"))
    made = plan(
        optimizers=["OneReal", "RandomSearch"],
        problems=["functions/sphere/d2", "functions/mixed-tuning/d9", "functions/g06/d2"],
    )
    assert len(made.studies) == 4
    assert [(r.problem, r.reason) for r in made.refused] == [
        ("functions/mixed-tuning/d9", "takes real parameters only, the problem has bool, cat, int, ordinal, real"),
        ("functions/g06/d2", "takes no constraints, the problem has 2"),
    ]
    batch = plan(optimizers=["OneReal"], batch=4)
    assert not batch.studies
    assert batch.refused[0].reason == "gives one point at a time, the batch is 4"


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"optimizers": ["RandomSerch"]}, "no optimizer named 'RandomSerch'. Did you mean 'RandomSearch'?"),
        ({"optimizers": []}, "optimizers: the list is empty"),
        ({"optimizers": ["RandomSearch", "RandomSearch"]}, "'RandomSearch' appears twice"),
        ({"optimizers": [{"name": "x"}]}, "optimizers[0].use: missing"),
        (
            {"optimizers": [{"use": "QuasiRandom", "setings": {}}]},
            "optimizers[0].setings: no such field. Did you mean 'settings'?",
        ),
        (
            {"optimizers": [oa.use("QuasiRandom", sequnce="halton")]},
            "has no setting 'sequnce'. Did you mean 'sequence'?",
        ),
        ({"optimizers": [3]}, "optimizers[0]: expected a name"),
        ({"optimizers": [oa.use("QuasiRandom", sequence="sobl")]}, "one of sobol, halton, got 'sobl'. Did you mean"),
        ({"problems": "functions/spere/d2"}, "Did you mean 'functions/sphere/d2'?"),
        ({"problems": [3]}, "problems[0]"),
        ({"budget": None}, "budget: give evaluations"),
        ({"trials": 0}, "trials: expected a whole number of at least 1, got 0"),
        ({"batch": "2"}, "batch: expected"),
        ({"seconds": -1}, "seconds: expected a number above 0"),
        ({"target": float("nan")}, "target: expected a number"),
        ({"record": "al"}, "record: expected 'all' or 'improvements', got 'al'. Did you mean 'all'?"),
        ({"seed": "xyz"}, "seed: expected a whole number such as 42"),
    ],
)
def test_a_wrong_field_is_named(fields, said):
    with pytest.raises(OptarenaError) as error:
        plan(**fields)
    assert said in str(error.value)


def test_toml(tmp_path):
    file = tmp_path / "e.toml"
    file.write_text(
        'problems = ["functions/sphere/d2"]\nbudget = "10*D"\ntrials = 2\n'
        '[[optimizers]]\nuse = "QuasiRandom"\nname = "H"\nsettings = {sequence = "halton"}\n'
    )
    experiment = oa.Experiment.load(file)
    assert [study.optimizer.label for study in experiment.plan(ROOT).studies] == ["H", "H"]
    assert oa.Experiment.load(file, trials=5).trials == 5
    assert oa.Experiment.from_data(experiment.to_data()).to_data() == experiment.to_data()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("problems = [\n", "e.toml: not valid TOML: "),
        ('optimizers = ["RandomSearch"]\nbudget = 3\n', "e.toml: problems: missing"),
        (
            'optimizers = ["RandomSearch"]\nproblems = ["functions/sphere/d2"]\nbugdet = 3\n',
            "e.toml line 3: bugdet: no such field. Did you mean 'budget'?",
        ),
        (
            'optimizers = ["RandomSearch"]\nproblems = ["functions/sphere/d2"]\nbudget = "x"\n',
            "e.toml line 3: budget: 'x' is not an expression",
        ),
        (
            'problems = "functions/sphere/d2"\nbudget = 3\n[[optimizers]]\nname = "a"\n',
            "e.toml line 3: optimizers[0].use: missing",
        ),
    ],
)
def test_a_wrong_file_is_named_with_line_and_field(tmp_path, text, said):
    file = tmp_path / "e.toml"
    file.write_text(text)
    with pytest.raises(OptarenaError) as error:
        oa.Experiment.load(file)
    assert said in str(error.value)


def test_a_file_that_is_not_there():
    with pytest.raises(OptarenaError, match="there is no file"):
        oa.Experiment.load(Path("none.toml"))


def test_a_budget_need_not_make_sense_in_every_dimension():
    assert plan(budget="100*(D-1)").studies[0].budget.evaluations == 100
    with pytest.raises(OptarenaError, match="gives 0 evaluations for D = 2"):
        plan(budget="D-2")
    with pytest.raises(OptarenaError, match="has no value for D = 2"):
        plan(budget="1/(D-2)")


@pytest.mark.parametrize("budget", [10**400, "1" + "0" * 400, "1" + "0" * 5000])
def test_a_huge_budget_is_one_sentence(budget):
    with pytest.raises(OptarenaError, match="budget"):
        plan(budget=budget)


FREE = """
import optarena as oa
class Free(oa.Optimizer):
    def __init__(self, space, *, objectives=1, rng=None, width=None):
        super().__init__(space, objectives=objectives, rng=rng)
"""


def test_settings_that_differ_only_in_infinities_differ():
    Path("mine.py").write_text(FREE)
    ids = {
        plan(optimizers=[oa.use("mine.py:Free", width=value)]).studies[0].id
        for value in (float("inf"), float("nan"), None)
    }
    assert len(ids) == 3


def test_settings_are_plain_data():
    Path("mine.py").write_text(FREE)
    with pytest.raises(OptarenaError, match="plain data"):
        plan(optimizers=[oa.use("mine.py:Free", width=object())])


DECLARED = """
import optarena as oa
from optarena.settings import number, whole
class Near(oa.Optimizer):
    settings = {"width": number(0.1, 0, 1, open_low=True), "most": whole(None)}
class Nearer(Near):
    def __init__(self, space, *, objectives=1, rng=None, steps=3, **more):
        super().__init__(space, objectives=objectives, rng=rng, **more)
"""


def test_a_users_declared_settings_are_checked_when_planning():
    Path("mine.py").write_text(DECLARED)
    for name, settings, says in (
        ("Near", {"width": 0}, "mine.py:Near: width must be a number above 0 and at most 1, got 0"),
        ("Near", {"widht": 1}, "has no setting 'widht'. Did you mean 'width'"),
        ("Near", {"most": 0}, "most must be a whole number from 1 to 100,000, got 0"),
        ("Nearer", {"width": 2, "steps": 1}, "width must be"),
        ("Nearer", {"stpes": 2}, "Did you mean 'steps'"),
    ):
        with pytest.raises(OptarenaError, match=says):
            plan(optimizers=[oa.use(f"mine.py:{name}", **settings)])
    plan(optimizers=[oa.use("mine.py:Near", width=1, most=None), oa.use("mine.py:Nearer", steps="x", most=2)])
    made = get_optimizer("mine.py:Near")(oa.Space.box(0.0, 1.0, 1), width=1)
    assert made.chosen == {"width": 1.0, "most": None}
    with pytest.raises(OptarenaError, match="Near: width must be"):
        type(made)(made.space, width=-1)


def test_limits_are_checked():
    assert plan(limits={"evaluation": 2, "memory": 1000}).experiment.limits.evaluation == 2.0
    for bad, said in [
        ({"evaluate": 3}, "limits.evaluate: no such field"),
        ({"study": 0}, "limits.study"),
        ({"memory": 5}, "needs 500 MB"),
        (3, "limits: expected a table"),
    ]:
        with pytest.raises(OptarenaError, match=said):
            plan(limits=bad)


@pytest.mark.parametrize(
    ("declared", "wrong", "says"),
    [
        (number(0.5, 0.0, 1.0, open_low=True), 0, "a number above 0 and at most 1, got 0"),
        (whole(3, 2), None, "a whole number from 2 to 100,000, got None"),
        (flag(False), 1, "true or false, got 1"),
        (choice("best", ("best", "rand")), "bset", "one of best, rand, got 'bset'. Did you mean 'best'"),
    ],
)
def test_a_wrong_setting_is_refused_in_words(declared, wrong, says):
    with pytest.raises(OptarenaError, match=f"Mine: width must be {says}"):
        choose("Mine", {"width": declared}, {"width": wrong})


@pytest.mark.parametrize("item", [{"use": "QuasiRandom", "name": "RandomSearch"}, "mine.py:RandomSearch_2"])
def test_only_random_search_may_be_called_so_for_scores_are_measured_against_it(item):
    with pytest.raises(OptarenaError, match="baseline of scores: give it another name"):
        oa.Experiment([item], "functions/sphere/d2", 10)


def test_an_optimizer_keeps_its_name_in_a_store():
    def run(name):
        oa.Experiment([oa.use("QuasiRandom", name=name)], "functions/sphere/d2", 4).run("names", workers=0)

    run("Sobol")
    run("Sobol")
    with pytest.raises(OptarenaError, match="store names calls this optimizer, with these settings, 'Sobol'; keep"):
        run("Quasi")


def test_a_run_that_begins_while_another_is_planned_shares_its_root():
    class Slow(oa.Experiment):
        def plan(self, root=None):
            plan = super().plan(root)
            if not Path("shared").exists():
                oa.Experiment("RandomSearch", "functions/sphere/d2", 4).run("shared", workers=0)
            return plan

    results = Slow("RandomSearch", "functions/sphere/d2", 4).run("shared", workers=0)
    assert results.studies.height == 1


# ---- classes as optimizers ------------------------------------------------------------------------------------------

MINE = """
import optarena as oa
class Mine(oa.Optimizer):
    def __init__(self, space, *, objectives=1, rng=None, width=1.0):
        super().__init__(space, objectives=objectives, rng=rng)
        self.width = width
    def suggest(self, n):
        return self.space.to_dicts(self.space.from_unit(self.width * self.rng.random((n, 2))))
"""
PROBLEM = "functions/sphere/d2"


def class_of(text, module, file=None):
    """A class as a module of this process has it: one with a file, or `__main__` as in a notebook."""
    made = types.ModuleType(module)
    if file is not None:
        made.__file__ = str(file)
    exec(compile(text, str(file or "<cell>"), "exec"), made.__dict__)
    return made, made.__dict__["Mine"]


def test_a_class_of_a_file_is_used_by_its_file_and_runs_in_workers(tmp_path, monkeypatch):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    module, cls = class_of(MINE, "mine", file)
    monkeypatch.setitem(sys.modules, "mine", module)
    given = oa.Experiment([cls, oa.use(cls, width=0.5)], PROBLEM, 5, seed=ROOT)
    named = oa.Experiment(["mine.py:Mine", oa.use("mine.py:Mine", width=0.5)], PROBLEM, 5, seed=ROOT)
    assert [item.label for item in given.optimizers] == ["Mine", "Mine(width=0.5)"]
    assert [study.id for study in given.plan().studies] == [study.id for study in named.plan().studies]
    assert given.plan().sources == named.plan().sources
    assert given.run("s", workers=1).studies["status"].to_list() == ["done", "done"]


def test_a_registered_class_is_used_by_its_name():
    assert oa.use(get_optimizer("QuasiRandom"), sequence="halton") == oa.use("QuasiRandom", sequence="halton")


def test_a_class_that_only_this_process_has_runs_here(monkeypatch):
    module, cls = class_of(MINE, "__main__")
    monkeypatch.setitem(sys.modules, "__main__", module)
    experiment = oa.Experiment([cls, {"use": cls, "name": "Half", "settings": {"width": 0.5}}], PROBLEM, 5)
    results = experiment.run("s")
    assert results.studies["optimizer"].to_list() == ["Mine", "Half"]
    assert results.studies["status"].to_list() == ["done", "done"]
    assert experiment.run("s").studies["evaluations"].to_list() == [5, 5]
    with pytest.raises(OptarenaError, match="optimizer 'Mine' is an object of this process"):
        experiment.run("s", workers=1)
    _, changed = class_of(MINE.replace("self.rng.random((n, 2))", "0.5"), "__main__")
    with pytest.raises(OptarenaError, match=r"__main__\.Mine: its source has changed"):
        oa.Experiment(changed, PROBLEM, 10).run("s")
    _, again = class_of(MINE, "__main__")
    assert oa.Experiment(again, PROBLEM, 10).run("s").studies["evaluations"].to_list() == [10, 5]


@pytest.mark.parametrize("given", [3, dict, get_optimizer("RandomSearch")(oa.Space({"x": {"type": "bool"}}))])
def test_what_is_no_optimizer_is_one_sentence(given):
    with pytest.raises(OptarenaError, match="expected a name"):
        oa.use(given)
    with pytest.raises(OptarenaError, match="expected a name"):
        oa.Experiment([given], PROBLEM, 5)
