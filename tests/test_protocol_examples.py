"""The templates of optimizers in other languages, and the file that makes one of any Python class."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.environments import NotMade, find_python
from optarena.errors import Exhausted
from optarena.optimizer import get_optimizer
from optarena.optimizers.command import CommandError
from optarena.space import Space
from optarena.testing import MIXED, assert_optimizer

pytestmark = pytest.mark.xdist_group("processes")

EXAMPLES = Path(__file__).parents[1] / "examples" / "optimizers"
NEEDS = {"evolve": "cc", "shrink": "awk", "nearby": "node", "climb": "Rscript", "hill": "python3", "agent": "python3"}


@pytest.fixture(autouse=True)
def _examples():
    shutil.copytree(EXAMPLES, ".", dirs_exist_ok=True)


@pytest.fixture(params=NEEDS)
def template(request) -> str:
    name = request.param
    if shutil.which(NEEDS[name]) is None:
        pytest.skip(f"needs {NEEDS[name]}")
    if name == "evolve":
        flags = ["-std=c99", "-Wall", "-Wextra", "-Werror", "-O2"]
        subprocess.run(["cc", *flags, "-o", "evolve", "evolve.c", "-lm"], check=True)
    return f"{name}.toml"


@pytest.mark.slow
def test_a_template_is_well_behaved(template):
    assert_optimizer(template, rounds=4)


def test_a_template_beats_random_search_on_the_sphere(template):
    results = oa.Experiment([template, "RandomSearch"], "functions/sphere/d5", 120, trials=3, seed=3).run(
        "s", workers=0
    )
    best = results.studies.group_by("optimizer").agg(pl.col("best").median()).sort("best")
    assert best["optimizer"][0] == template.removesuffix(".toml")
    assert best["best"][0] < 0.5 * best["best"][1]


def test_an_agent_that_reads_more_pays_more():
    uses = ["agent.toml", oa.use("agent.toml", shown=9, name="reader"), "RandomSearch"]
    results = oa.Experiment(uses, "functions/sphere/d2", 30, trials=2, seed=5).run("s", workers=0)
    tokens, names = results.efforts_at_end("cost.tokens"), np.array(results.studies["optimizer"])
    agent, reader, free = (tokens[names == name] for name in ("agent", "reader", "RandomSearch"))
    assert (reader > 1.3 * agent).all()
    assert (free == 0).all()
    np.testing.assert_allclose(results.efforts_at_end("cost.money"), 2e-6 * tokens)
    spent = results.filter(optimizer="agent").in_full().efforts("cost.tokens").reshape(2, 30)
    assert (np.diff(spent) > 0).all()
    made = results.compare(view="fixed-target", axis="cost.tokens")
    assert set(made.optimizers) == {"agent", "reader", "RandomSearch"}
    assert made.frame["axis"] == "cost.tokens"


# ---- the shim -------------------------------------------------------------------------------------------------------

SUGGESTED = """
class Mine:
    def __init__(self, space, seed, objectives, budget, width=1):
        self.given = (list(space), seed, objectives, budget, width)
        self.space, self.told = space, []
        print("hello from", self.given)
    def suggest(self, n):
        print("suggesting")
        if len(self.told) >= 4:
            raise StopIteration("converged")
        return [{name: 0.25 * (k + 1) for name in self.space} for k in range(n)]
    def observe(self, points, values, violations=None):
        self.told += [points, values, violations]
        open("told", "w").write(repr((self.given[2:], self.told)))
"""
ASKED = """
import random
class Candidate(list):
    pass
class One:
    def __init__(self, space):
        self.space, self.told = space, []
    def ask(self):
        self.given = Candidate(random.uniform(*line["range"]) for line in self.space.values())
        return self.given
    def tell(self, point, value):
        self.told.append((type(point).__name__, value))
        open("told", "w").write(repr(self.told))
class Many(One):
    def ask(self, n):
        return [One.ask(self) for _ in range(n)]
    def tell(self, points, values):
        self.told.append(([type(point).__name__ for point in points], values))
        open("told", "w").write(repr(self.told))
"""
WRAPPER = """
import numpy as np
from bayesmark.abstract_optimizer import AbstractOptimizer
from bayesmark.experiment import experiment_main

class Wrapper(AbstractOptimizer):
    primary_import = "numpy"
    def __init__(self, api_config, shift=0.0, **kwargs):
        AbstractOptimizer.__init__(self, api_config)
        assert not kwargs
        self.shift = shift
    def suggest(self, n_suggestions=1):
        draw = {"real": np.random.uniform, "int": lambda: np.random.randint(1, 3), "bool": lambda: np.bool_(True)}
        make = lambda line: line["values"][-1] if "values" in line else draw[line["type"]]()
        return [{name: make(line) for name, line in self.api_config.items()} for _ in range(n_suggestions)]
    def observe(self, X, y):
        open("told", "w").write(repr((X, y, self.shift)))

if __name__ == "__main__":
    experiment_main(Wrapper)
"""


def shim(reference: str, text: str, *capabilities: str, settings: str = "", space=None, **fields):
    """An optimizer made of a class by the shim."""
    Path(reference.partition(":")[0]).write_text(text)
    command = [sys.executable, "optarena_shim.py", reference, *capabilities]
    Path("mine.toml").write_text(f"[optimizer]\ncommand = {command!r}\n[optimizer.settings]\n{settings}\n")
    return get_optimizer("mine.toml")(space or Space.box(0.0, 1.0, 2), rng=np.random.default_rng(1), **fields)


def test_the_shim_is_written_for_old_pythons_and_needs_nothing():
    tree = ast.parse((EXAMPLES / "optarena_shim.py").read_text(), feature_version=(3, 7))
    imported = {
        alias.name.partition(".")[0] for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names
    }
    assert imported <= set(sys.stdlib_module_names)
    assert not [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]


@pytest.mark.parametrize("version", [f"3.{minor}" for minor in range(7, 15)])
def test_the_shim_runs_on_every_python_that_is_here(version):
    try:
        python = find_python(version)
    except NotMade:
        pytest.skip(f"there is no Python {version} here")
    Path("mine.toml").write_text(f'[optimizer]\ncommand = ["{python}", "optarena_shim.py", "hill.py:Hill"]\n')
    optimizer = get_optimizer("mine.toml")(MIXED, rng=np.random.default_rng(1))
    for _ in range(3):
        optimizer.observe(optimizer.suggest(2), np.array([[1.0], [np.nan]]))
    optimizer.close()
    assert not optimizer.killed


def test_a_class_with_suggest_and_observe_gets_what_its_constructor_names():
    words = ("several_objectives=true", "constraints=true", "uses_budget=true")
    optimizer = shim("mine.py:Mine", SUGGESTED, *words, settings="width = 3", objectives=2, budget=9, width=4)
    X = optimizer.suggest(2)
    assert X.tolist() == [[0.25, 0.25], [0.5, 0.5]]
    optimizer.observe(X, np.array([[1.0, np.inf], [np.nan, np.nan]]), np.array([[0.5], [-1.0]]))
    points = [{"x1": 0.25, "x2": 0.25}, {"x1": 0.5, "x2": 0.5}]
    told = (2, 9, 4), [points, [[1.0, float("inf")], [float("nan")] * 2], [[0.5], [-1.0]]]
    assert Path("told").read_text() == repr(told)
    optimizer.observe(np.array([[0.1, 0.2]]), np.array([[1.0, 2.0]]), np.zeros((1, 1)))
    with pytest.raises(Exhausted, match="converged"):
        optimizer.suggest(1)
    optimizer.close()


def test_ask_and_tell_get_back_the_objects_that_they_gave():
    optimizer = shim("one.py:One", ASKED)
    X = optimizer.suggest(2)
    optimizer.observe(X, np.array([[1.0], [2.0]]))
    optimizer.observe(np.array([[0.5, 0.5]]), np.array([[3.0]]))
    optimizer.close()
    assert Path("told").read_text() == "[('Candidate', 1.0), ('Candidate', 2.0), ('dict', 3.0)]"
    assert len(np.unique(X)) == 4
    optimizer = shim("one.py:Many", ASKED)
    assert np.array_equal(optimizer.suggest(2), X), "the same seed, the same global random state"
    optimizer.observe(X, np.array([[1.0], [2.0]]))
    optimizer.close()
    assert Path("told").read_text() == "[(['Candidate', 'Candidate'], [1.0, 2.0])]"


def test_equal_points_of_a_batch_go_back_as_the_objects_that_they_were():
    text = ASKED.replace('random.uniform(*line["range"])', "0.5")
    optimizer = shim("one.py:One", text)
    X = optimizer.suggest(2)
    optimizer.observe(X, np.array([[1.0], [2.0]]))
    optimizer.observe(X[:1], np.array([[3.0]]))
    optimizer.close()
    assert Path("told").read_text() == "[('Candidate', 1.0), ('Candidate', 2.0), ('dict', 3.0)]"


LATE = """
class Mine:
    cost = {}
    def __init__(self, space):
        import numpy
        self.random = numpy.random
    def suggest(self, n):
        self.cost["tokens"] = 5
        if n == 2:
            raise ValueError("no pairs")
        return [self.random.random(2) for _ in range(n)]
    def observe(self, points, values):
        pass
"""


def test_numpy_is_seeded_where_the_constructor_is_the_first_to_import_it():
    seen = []
    for _ in range(2):
        optimizer = shim("late.py:Mine", LATE)
        seen.append(optimizer.suggest(1).tolist())
        optimizer.close()
    assert seen[0] == seen[1]


def test_the_shim_reports_what_a_failed_call_has_cost():
    optimizer = shim("late.py:Mine", LATE)
    with pytest.raises(CommandError, match="no pairs"):
        optimizer.suggest(2)
    assert optimizer.take_charges() == {"tokens": 5.0}


def test_a_capability_of_the_shim_is_true_or_false():
    with pytest.raises(CommandError, match=r"usage: python3 optarena_shim\.py mine\.py:Mine"):
        shim("mine.py:Mine", SUGGESTED, "batch=True")


def test_a_climber_takes_a_parameter_of_one_value(template):
    space = Space({name: {"type": "real", "space": "linear", "range": ends} for name, ends in RANGES.items()})
    optimizer = get_optimizer(template)(space, rng=np.random.default_rng(1))
    for value in (3.0, 2.0, 2.5, 1.0):
        X = optimizer.suggest(1)
        assert X[0][1] == 2.0
        optimizer.observe(X, np.array([[value]]))
    optimizer.close()


RANGES = {"x": [0.0, 1.0], "fixed": [2.0, 2.0]}


def test_a_wrapper_for_bayesmark_runs_where_bayesmark_is_not_installed():
    names = "from bayesmark.builtin_opt.config import CONFIG\nfrom bayesmark.constants import ARG_DELIM\n"
    optimizer = shim("wrapper.py:Wrapper", names + WRAPPER, settings="shift = 0.5", space=MIXED_SMALL)
    X = optimizer.suggest(2)
    optimizer.observe(X, np.array([[1.0], [np.nan]]))
    optimizer.close()
    assert Path("told").read_text().endswith("[1.0, inf], 0.5)")
    again = shim("wrapper.py:Wrapper", WRAPPER, settings="shift = 0.5", space=MIXED_SMALL)
    assert np.array_equal(again.suggest(2), X), "NumPy's global state is seeded"
    again.close()


def test_a_wrapper_runs_with_a_bayesmark_whose_runner_cannot_be_imported():
    """Bayesmark 0.0.8 beside scikit-learn 1.2 or later."""
    Path("bayesmark").mkdir()
    Path("bayesmark/__init__.py").touch()
    Path("bayesmark/experiment.py").write_text("from sklearn.datasets import load_boston_which_was_removed\n")
    base = "class AbstractOptimizer:\n    def __init__(self, api_config):\n        self.api_config = api_config\n"
    Path("bayesmark/abstract_optimizer.py").write_text(base + "        open('real', 'w').close()\n")
    optimizer = shim("wrapper.py:Wrapper", WRAPPER, space=MIXED_SMALL)
    optimizer.observe(optimizer.suggest(1), np.array([[np.nan]]))
    optimizer.close()
    assert Path("real").exists(), "all but its runner is Bayesmark's own"
    assert Path("told").read_text().endswith("[inf], 0.0)")


MIXED_SMALL = Space(
    {
        "x": {"type": "real", "space": "linear", "range": [0.0, 1.0]},
        "i": {"type": "int", "space": "linear", "range": [1, 3]},
        "flag": {"type": "bool"},
        "kind": {"type": "cat", "values": ["a", "b"]},
    }
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "import nothing_of_this_name",
            r"start: ModuleNotFoundError: No module named 'nothing_of_this_name' \(mine.py",
        ),
        ("class Other: ...", "start: AttributeError: .*'Mine'"),
        ("class Mine:\n    def __init__(self, space): 1 / 0", r"start: ZeroDivisionError: .* \(mine.py line 2\)"),
        ("class Mine:\n    def __init__(self, space): pass", "start: AttributeError: .*ask"),
    ],
)
def test_a_class_that_cannot_be_loaded_is_the_reason_of_the_failure(text, reason):
    with pytest.raises(CommandError, match=reason):
        shim("mine.py:Mine", text)


def test_a_class_of_a_file_in_every_type_of_space():
    text = (EXAMPLES / "hill.py").read_text()
    optimizer = shim("mine.py:Hill", text, space=MIXED)
    optimizer.observe(optimizer.suggest(3), np.ones((3, 1)))
    optimizer.close()
    done = subprocess.run([sys.executable, "optarena_shim.py"], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("usage: python3 optarena_shim.py")
