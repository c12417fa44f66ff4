"""`optarena try`: a panel that fits the problem, an answer in the problem's units, failures shown at once."""

from __future__ import annotations

import ast
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import optarena as oa
from optarena._numbers import digits_apart
from optarena.cli import main
from optarena.errors import WorkError
from optarena.experiment import Use
from optarena.experiment.panel import FEWEST_TRIALS, SIZE, SMALL_SIZE, TRIALS, default_budget, panel
from optarena.optimizer import OPTIMIZERS
from optarena.problem import FunctionProblem, build
from optarena.store import Store
from optarena.trying import Recommendation
from optarena.trying.watching import Quiet
from waiting import wait_for

PROGRAM = [sys.executable, "-m", "optarena"]
REAL = {"type": "real", "space": "linear", "range": [-5, 5]}
KIND = {"type": "cat", "values": ["x", "y", "z"]}

MINE = '''
import optarena as oa

space = {"a": {"type": "real", "space": "linear", "range": [-5, 5]},
         "b": {"type": "real", "space": "linear", "range": [-5, 5]}}


@oa.as_problem(space)
def loss(x):
    return (x["a"] - 1) ** 2 + x["b"] ** 2


def named(a, b):
    return (a - 1) ** 2 + b**2


def gain(x):
    if x["a"] > 2:
        raise ValueError("a too large")
    return 7 - (x["a"] - 1) ** 2 - x["b"] ** 2


gain.sense = "max"


def broken(x):
    return missing_name


@oa.as_problem(space, sense=["min", "max"], objectives=["cost", "strength"])
def two(x):
    return [x["a"] ** 2 + x["b"] ** 2, -((x["a"] - 2) ** 2) - x["b"] ** 2]


@oa.as_problem(space, constraints=1)
def never(x):
    return oa.Evaluation([x["a"] ** 2], violations=[20 - x["a"]])


class Corner(oa.Optimizer):
    """Always the same corner: worse than anything."""

    def suggest(self, n):
        return [{"a": -5.0, "b": -5.0}] * n
'''


@pytest.fixture(autouse=True)
def mine(tmp_path, monkeypatch):
    """A directory with a file of one's own, in which everything happens."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(MINE)
    return tmp_path


@pytest.fixture
def imported(mine, monkeypatch):
    """The file as a module that was imported, as in a user's script."""
    monkeypatch.syspath_prepend(str(mine))
    sys.modules.pop("mine", None)
    import mine as module

    yield module
    sys.modules.pop("mine", None)


def call(capsys, *arguments):
    code = main(["try", *arguments])
    out = capsys.readouterr()
    return code, out.out, out.err


def flat(text):
    return re.sub(r"\s+", " ", text)


def problem(space, **facts):
    return FunctionProblem(lambda _: 0.0, space, id="p", **facts)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_one_command_says_what_to_use_the_best_point_and_whom_it_beats_and_writes_the_report(capsys):
    code, out, err = call(capsys, "mine.py:loss", "-n", "30", "-o", "Scipy-COBYQA", "-o", "mine.py:Corner")
    assert (code, err) == (0, "")
    assert all(len(line) <= 80 for line in out.splitlines())
    out = flat(out)
    assert "3 optimizers on mine.py:loss, 30 evaluations each, until decided (at most 20 trials)" in flat(out)
    assert out.startswith("evaluating 2 points to see what one costs")
    found = re.search(r"Use Scipy-COBYQA\. Best value (\S+) at \{'a': (\S+), 'b': (\S+)\}\.", out)
    assert float(found[1]) < 1e-6
    assert float(found[2]) == pytest.approx(1, abs=1e-3)
    assert re.search(r"It beats (RandomSearch and Corner|Corner and RandomSearch)\.", out)
    assert "A run of 30 evaluations usually finds" in out
    assert out.rstrip().endswith("Full report: mine-loss-report.html")
    assert "mine.py:loss" in Path("mine-loss-report.html").read_text()


@pytest.mark.slow
def test_the_same_command_goes_on_and_evaluates_nothing_again(capsys):
    code, first, _ = call(capsys, "mine.py:loss", "-n", "20", "-r", "3", "--workers", "1")
    assert code == 0
    assert "not decided yet" in flat(first)
    assert "Go on:" in first
    before = oa.open("mine-results").studies
    code, again, _ = call(capsys, "mine.py:loss", "-r", "3", "--workers", "1")
    assert code == 0
    assert again[again.index("Use ") :] == first[first.index("Use ") :].replace(" -n 20", "")
    assert oa.open("mine-results").studies.sort("study").equals(before.sort("study"))
    call(capsys, "mine.py:loss", "-r", "4", "--workers", "1")
    after = oa.open("mine-results").studies
    assert set(after["trial"]) == {0, 1, 2, 3}
    assert set(after["optimizer"]) == set(before["optimizer"])


def test_a_changed_function_gets_a_store_of_its_own_and_old_results_are_kept(capsys, mine):
    options = ("-n", "5", "-r", "1", "-o", "QuasiRandom", "--workers", "1")
    call(capsys, "mine.py:loss", *options)
    (mine / "mine.py").write_text(MINE.replace("** 2 + x", "** 4 + x"))
    code, _, _ = call(capsys, "mine.py:loss", *options)
    assert code == 0
    assert Store(Path("mine-results")).exists
    assert len(oa.open("mine-results").studies) == len(oa.open("mine-results-2").studies) == 2


def test_maximising_stays_maximising_and_the_first_failure_names_file_line_and_point(capsys):
    code, out, _ = call(capsys, "mine.py:gain", "-n", "20", "-r", "2", "--workers", "1")
    assert code == 0
    line = 1 + MINE.splitlines().index('        raise ValueError("a too large")')
    out = flat(out)
    assert f"An evaluation failed: ValueError: a too large (mine.py line {line}) at {{'a': " in out
    assert out.index("An evaluation failed") < out.index("Use ")
    assert 5 < float(re.search(r"Best value (\S+) at", out)[1]) <= 7
    assert re.search(r"\d+ of \d+ evaluations failed", out)


def test_a_function_that_always_fails_is_one_sentence_and_leaves_nothing_behind(capsys, mine):
    code, out, err = call(capsys, "mine.py:broken", "-n", "50", "--workers", "1")
    assert code == 2
    first, failed, more = (
        out.index("evaluating 2 points"),
        out.index("An evaluation failed"),
        out.index("8 more points"),
    )
    assert first < failed < more  # it is shown before anything more is evaluated
    line = 1 + MINE.splitlines().index("    return missing_name")
    err = flat(err)
    assert "mine.py:broken: all of its first 10 evaluations failed, so nothing more was run" in err
    assert f"NameError: name 'missing_name' is not defined (mine.py line {line}) at {{'a': " in err
    assert [path.name for path in mine.iterdir() if path.name != "__pycache__"] == ["mine.py"]


@pytest.mark.slow
def test_a_function_that_always_fails_leaves_the_results_of_its_neighbours_as_they_were(capsys, mine):
    assert call(capsys, "mine.py:loss", "-n", "10", "-r", "1", "--workers", "1")[0] == 0
    before = {path: path.read_bytes() for path in (mine / "mine-results").rglob("*") if path.is_file()}
    code, out, err = call(capsys, "mine.py:broken", "-n", "10", "--workers", "1")
    assert code == 2
    assert "all of its first 10 evaluations failed, so nothing more was run" in flat(err)
    assert {path: path.read_bytes() for path in (mine / "mine-results").rglob("*") if path.is_file()} == before
    code, out, _ = call(capsys, "mine.py:gain", "-n", "10", "-r", "1", "--workers", "1")
    assert (code, "Use " in out) == (0, True)
    assert set(oa.open("mine-results").studies["problem"]) == {"mine.py:loss", "mine.py:gain"}


def test_several_objectives_are_answered_by_the_size_of_the_front(capsys):
    code, out, _ = call(capsys, "mine.py:two", "-n", "20", "-r", "2", "--workers", "1")
    assert code == 0
    assert re.search(r"The best front of all runs has \d+ points: cost from \S+ to \S+, strength from", flat(out))


def test_where_nothing_is_feasible_nothing_is_recommended(capsys):
    code, out, _ = call(capsys, "mine.py:never", "-n", "10", "-r", "2", "--workers", "1")
    assert code == 0
    assert "Nothing to recommend: none of" in out
    assert "Use " not in out


@pytest.mark.parametrize(
    ("problem", "sentence"),
    [
        ("functions/sphere/*", "try takes one problem"),
        ("jobshop/ft06", "jobshop/ft06 is an instance for solvers, which try does not know: optarena run -s"),
        ("bbob-noisy/f101/d2/i1", "cannot be tried: its noise is fixed by its instance"),
        ("mine.py:los", "mine.py has no 'los'. Did you mean 'loss'?"),
        ("mine.py:zzz", "mine.py has no 'zzz'. It has loss, named, gain, broken, two."),
        ("mine.py", "mine.py: name what is meant in it, such as mine.py:loss"),
        ("other.py", "there is no file"),
        ("mine:loss", "no suite named 'mine:loss'. Did you mean 'mine.py:loss'?"),
        ("functions/brannin/d2", "no problem"),
        ("mine.py:space", "dict is not a problem"),
        ("mine.py:Corner", "is not a problem"),
    ],
)
def test_what_cannot_be_tried_is_refused_in_one_sentence(capsys, mine, problem, sentence):
    code, out, err = call(capsys, problem)
    assert (code, out) == (2, "")
    assert sentence in flat(err)
    assert not list(mine.glob("*-results*"))


@pytest.mark.parametrize(("output", "why"), [(".", "Is a directory"), ("mine.py/report.html", "Not a directory")])
def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(capsys, mine, output, why):
    code, out, err = call(capsys, "mine.py:loss", "-n", "5", "-O", output)
    assert (code, out) == (1, "")
    assert f"cannot write to {output}: {why}" in flat(err)
    assert not list(mine.glob("*-results*"))


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="a directory that not even root can write is needed")
def test_a_directory_that_cannot_be_written_is_noticed_also_by_root(capsys, mine):
    code, out, err = call(capsys, "mine.py:loss", "-n", "5", "-O", "/proc/x.html")
    assert (code, out) == (1, "")
    assert "cannot write to /proc/x.html" in flat(err)
    assert not list(mine.glob("*-results*"))


def test_a_report_that_fails_in_the_end_leaves_the_answer_and_says_how_to_write_it(capsys, mine, monkeypatch):
    def full(self, path):
        raise WorkError(f"cannot write to {path}: No space left on device")

    monkeypatch.setattr(Recommendation, "report", full)
    code, out, err = call(
        capsys, "mine.py:loss", "-n", "5", "-r", "1", "--workers", "1", "-o", "RandomSearch", "-o", "QuasiRandom"
    )
    assert (code, err) == (1, "")
    text = flat(out)
    assert "No report: cannot write to mine-loss-report.html: No space left on device." in text
    assert "Write it elsewhere: optarena report mine-results -O FILE" in text
    assert text.index("No report") < text.index("Go on:")


def test_a_report_given_by_o_is_told_its_flag(capsys, mine):
    code, out, err = call(capsys, "mine.py:loss", "-n", "5", "-o", "report.html")
    assert (code, out) == (2, "")
    assert "-o names an optimizer; the report's file is given by -O report.html" in flat(err)


def test_the_same_seed_repeats_a_try_and_another_one_does_not_continue_it(capsys):
    options = ("mine.py:loss", "-n", "8", "-r", "2", "-o", "QuasiRandom", "--workers", "1")
    answers = []
    for number, seed in enumerate(("7", "7", "8")):
        code, out, _ = call(capsys, *options, "--seed", seed, "--store", f"s{number}")
        assert code == 0
        answers.append(out[out.index("Use ") : out.index("Full report")])
    assert answers[0] == answers[1] != answers[2]
    code, _, err = call(capsys, *options, "--seed", "8", "--store", "s0")
    assert code == 2
    assert "s0 has results on mine.py:loss of another seed: leave out --seed to continue them" in flat(err)
    code, out, _ = call(capsys, *options, "--store", "s0")
    assert code == 0
    assert answers[0] in out
    code, _, _ = call(capsys, "mine.py:named", *options[1:], "--seed", "8", "--store", "s0")
    assert code == 0, "another problem of the store may have a seed of its own"


def test_what_a_run_usually_finds_is_at_the_budget_of_this_try_and_not_of_longer_runs(capsys):
    options = ("-o", "Scipy-COBYQA", "--workers", "1", "--seed", "1")
    call(capsys, "mine.py:loss", "-n", "40", "-r", "3", "--store", "longer", *options)
    _, after, _ = call(capsys, "mine.py:loss", "-n", "4", "-r", "2", "--store", "longer", *options)
    _, alone, _ = call(capsys, "mine.py:loss", "-n", "4", "-r", "2", "--store", "alone", *options)
    usual = re.search(r"A run of 4 evaluations usually finds .* \(medians of 2 trials\)", flat(alone))[0]
    assert usual in flat(after)
    assert re.search(r"Use (\S+) ", after)[1] == re.search(r"Use (\S+) ", alone)[1]


def test_an_optimizer_that_cannot_take_the_problem_is_refused_before_anything_runs(capsys, mine):
    code, _, err = call(capsys, "mine.py:two", "-o", "CMA-ES", "-n", "20")
    assert code == 2
    assert "CMA-ES on mine.py:two takes one objective" in flat(err)
    assert not list(mine.glob("*-results*"))


def test_an_interrupt_answers_with_what_is_known_and_says_how_to_go_on(mine):
    (mine / "slow.py").write_text(
        "import time\nspace = {'a': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}\n"
        "def slow(x):\n    time.sleep(0.02)\n    return x['a']\n"
    )
    words = [*PROGRAM, "try", "slow.py:slow", "-n", "10", "-o", "QuasiRandom", "--workers", "1"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def a_round_is_over():
        place = Store(Path("slow-results"))
        return place.exists and any(run.race is not None and run.race.looks for run in place.runs())

    wait_for(a_round_is_over, 60)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert re.search(r"After \d+ of at most 20 rounds:\nUse ", out)
    assert "interrupted; what was evaluated is kept. Continue: optarena try slow.py:slow -n 10" in flat(err)
    assert "Traceback" not in out + err


def test_values_that_differ_look_different():
    assert [digits_apart(some) for some in ([0.99996, 0.99998], [0.5, 0.5, None], [1.0, 1.0 + 1e-12])] == [5, 4, 6]


# ---- the panel -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("space", "facts"),
    [
        ({"a": REAL, "b": REAL}, {}),
        ({"a": REAL, "k": KIND}, {}),
        ({"a": REAL, "k": KIND}, {"constraints": 2}),
        ({"a": REAL, "b": REAL}, {"sense": ["min", "max"]}),
        ({"a": REAL, "b": REAL}, {"sense": ["min"] * 5, "constraints": 1}),
        ({f"p{i}": REAL for i in range(80)}, {}),
        ({"a": REAL}, {"noisy": True}),
    ],
)
@pytest.mark.parametrize("budget", [10, 5_000])
def test_a_panel_is_of_installed_optimizers_that_can_run_on_the_problem(space, facts, budget):
    made = problem(space, **facts)
    chosen = panel(made, budget, 1e-3)
    assert 3 <= len(chosen.optimizers) <= SIZE
    assert chosen.optimizers[-1] == Use("RandomSearch")
    assert all(OPTIMIZERS.entry(item.use).installed for item in chosen.optimizers)
    plan = oa.Experiment(chosen.optimizers, made, budget, until_decided=True).plan()
    assert not plan.refused


def test_a_noisy_problem_gets_no_local_search_and_a_smooth_one_does():
    local = {"Scipy-COBYQA", "NLopt-BOBYQA", "Scipy-Powell"}
    for noisy in (True, False):
        uses = {item.use for item in panel(problem({"a": REAL, "b": REAL}, noisy=noisy), 100, 1e-3).optimizers}
        assert bool(uses & local) is not noisy


def test_dear_evaluations_get_fewer_optimizers_and_trials_but_enough_to_decide():
    made = problem({"a": REAL, "b": REAL})
    cheap, dear = panel(made, 50, 1e-4), panel(made, 50, 600.0)
    assert (len(cheap.optimizers), cheap.max_trials) == (SIZE, TRIALS)
    assert (len(dear.optimizers), dear.max_trials) == (SMALL_SIZE, FEWEST_TRIALS)
    assert default_budget(made, 1e-4) == 50
    assert default_budget(problem({f"p{i}": REAL for i in range(6)}), 1e-4) == 120
    assert default_budget(problem({f"p{i}": REAL for i in range(6)}), 5.0) == 50


def test_an_optimizer_that_thinks_longer_than_the_problem_is_left_out_of_a_panel_and_named(monkeypatch):
    monkeypatch.setitem(panel.__globals__["OWN_SECONDS"], "CMA-ES", 10.0)
    made = problem({"a": REAL, "b": REAL})
    cheap, dear = panel(made, 50, 1e-4), panel(made, 50, 11.0)
    assert "CMA-ES" in cheap.slow
    assert "CMA-ES" not in {item.use for item in cheap.optimizers}
    assert "CMA-ES" not in dear.slow


# ---- Python ----------------------------------------------------------------------------------------------------------


def test_a_plain_function_with_a_space_is_tried_and_the_result_shows_itself(tmp_path):
    def loss(a, b):
        return (a - 1) ** 2 + b**2

    space = {"a": REAL, "b": REAL}
    found = oa.try_optimizers(loss, 15, space=space, optimizers="Scipy-COBYQA", max_trials=2, progress=Quiet())
    assert found.problem == "loss"
    assert found.use == "Scipy-COBYQA"
    assert found.best_value == loss(**found.best_point)
    assert str(found).startswith("Use Scipy-COBYQA")
    assert "Use Scipy-COBYQA" in found._repr_html_()
    assert "<table" in found._repr_html_()
    assert found.compare().optimizers == found.comparison.optimizers
    assert found.report(tmp_path / "page.html").stat().st_size > 10_000
    assert set(found.results.studies["optimizer"]) == {"Scipy-COBYQA", "RandomSearch"}


def test_a_changed_function_of_a_notebook_does_not_continue_the_results_of_the_old_one():
    options = {"space": {"a": REAL}, "optimizers": "QuasiRandom", "max_trials": 1, "progress": Quiet()}
    namespace = {}
    for text in ("def f(x): return x['a'] ** 2", "def f(x): return x['a'] ** 4"):
        exec(text, namespace)
        found = oa.try_optimizers(namespace["f"], 5, **options)
        assert found.best_value == namespace["f"](found.best_point)
    with pytest.raises(oa.OptarenaError, match=r"its source has changed .*; give another --store$"):
        oa.try_optimizers(namespace["f"], 5, store="f-results", **options)


def test_a_function_of_one_parameter_may_take_it_by_its_name_or_in_a_dict():
    options = {"space": {"a": REAL}, "optimizers": "QuasiRandom", "max_trials": 1, "progress": Quiet()}
    by_name = oa.try_optimizers(lambda a: a**2, 5, store="by-name", **options)
    assert by_name.best_value == by_name.best_point["a"] ** 2
    in_a_dict = oa.try_optimizers(lambda x: x["a"] ** 2, 5, store="in-a-dict", **options)
    assert in_a_dict.best_value == in_a_dict.best_point["a"] ** 2


@pytest.mark.parametrize(("flag", "wrong"), [("-r", "0"), ("-r", "-1"), ("--workers", "-1")])
def test_wrong_numbers_are_refused_before_anything_is_evaluated(capsys, flag, wrong):
    code, out, err = call(capsys, "mine.py:loss", "-n", "5", flag, wrong)
    assert (code, out) == (2, "")
    assert f"expected a whole number of at least {0 if flag == '--workers' else 1}, got {wrong}" in err
    assert not Path("mine-results").exists()


def test_the_command_that_goes_on_can_be_pasted(capsys, monkeypatch):
    place = "a-directory-for-results-whose-name-is-long"
    words = ["try", "mine.py:loss", "-n", "5", "-o", "QuasiRandom", "--workers", "1", "--store", place, "-r", "1"]
    monkeypatch.setattr(sys, "argv", ["optarena", *words])
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = call(capsys, *words[1:])
    assert code == 0
    lines = out[out.index("Go on:") :].splitlines()
    assert len(lines) > 1
    assert all(len(line) <= 80 for line in lines)
    assert shlex.split("\n".join(lines).replace("\\\n", ""))[2:] == ["optarena", *words[:-1], "2"]


def test_values_that_are_all_infinite_are_called_so():
    found = oa.try_optimizers(
        lambda a: float("inf"),
        5,
        space={"a": REAL},
        optimizers="QuasiRandom",
        max_trials=1,
        store="infinite",
        progress=Quiet(),
    )
    assert str(found) == "Nothing to recommend: none of 10 evaluations has a finite value."


def test_a_function_whose_parameters_are_not_those_of_its_space_is_refused_with_both():
    with pytest.raises(oa.OptarenaError, match=r"<lambda>\(a, c\) does not take the parameters of its space \(a, b\)"):
        oa.try_optimizers(lambda a, c: a + c, 5, space={"a": REAL, "b": REAL})


def test_a_function_without_a_space_is_told_how_to_write_one():
    with pytest.raises(oa.OptarenaError) as told:
        oa.try_optimizers(lambda a: a, 5)
    example = re.search(r"write space = (.*) beside it", str(told.value))[1]
    assert oa.Space(ast.literal_eval(example)).names == ["x"]


def test_what_a_function_changes_itself_does_not_make_it_another_one():
    def counting(weight):
        calls = []

        def f(x):
            calls.append(x)
            return weight * x["a"] ** 2

        return f

    f = counting(1.0)
    options = {"space": {"a": REAL}, "optimizers": "QuasiRandom", "store": "s", "progress": Quiet()}
    oa.try_optimizers(f, 5, max_trials=1, **options)
    assert len(oa.try_optimizers(f, 5, max_trials=2, **options).results.studies) == 4
    with pytest.raises(oa.OptarenaError, match="its source has changed"):
        oa.try_optimizers(counting(2.0), 5, **options)


def test_the_same_problem_by_file_and_by_object_is_one_problem(imported):
    by_file = oa.Experiment("RandomSearch", "mine.py:loss", 4, seed="00000000-0000-0000-0000-000000000001")
    by_object = oa.Experiment("RandomSearch", imported.loss, 4, seed="00000000-0000-0000-0000-000000000001")
    one, two = by_file.plan(), by_object.plan()
    assert [study.id for study in one.studies] == [study.id for study in two.studies]
    assert list(two.problems) == ["mine.py:loss"]
    assert set(two.references) == {"mine.py:loss"}  # workers can load it
    results = by_object.run("s", workers=1)
    assert results.studies["status"].to_list() == ["done"]
    assert len(by_file.run("s", workers=1).studies) == 1


def test_a_plain_function_of_a_file_takes_the_space_beside_it(imported):
    for item in ("mine.py:named", imported.named):
        plan = oa.Experiment("RandomSearch", item, 4).plan()
        assert list(plan.problems) == ["mine.py:named"]
        assert plan.problems["mine.py:named"].evaluate({"a": 3.0, "b": 1.0}) == 5.0
    assert build("mine.py:gain").objectives[0].sense == "max"
    with pytest.raises(oa.OptarenaError, match=r"lonely\(\) has no search space: write space = "):
        oa.Experiment("RandomSearch", lonely, 4)


def lonely(x):
    return x


def test_an_object_that_was_changed_after_its_import_is_not_taken_for_its_file(imported):
    imported.loss.version = "2"
    with pytest.raises(oa.OptarenaError, match=r"loss was changed after it was loaded from mine\.py"):
        oa.Experiment("RandomSearch", imported.loss, 4)


def test_a_problem_of_a_script_has_the_id_of_its_file_and_runs_in_its_process(mine):
    (mine / "script.py").write_text(
        MINE + "\nresults = oa.Experiment(['RandomSearch', Corner], loss, 3).run('s')\n"
        "print(results.studies['problem'].unique().to_list(), results.studies['status'].unique().to_list())\n"
        "try:\n    oa.Experiment(Corner, 'functions/sphere/d2', 3).run('t', workers=1)\n"
        "except oa.OptarenaError as error:\n    print(error)\n"
    )
    done = subprocess.run([sys.executable, "script.py"], capture_output=True, text=True, check=False, env=os.environ)
    assert done.stderr == ""
    first, second = done.stdout.splitlines()
    assert first == "['script.py:loss'] ['done']"
    assert "optimizer 'Corner' is an object of this process" in second
    assert "file.py:name" in second


def test_classes_and_uses_stand_wherever_a_name_does(imported):
    items = [imported.Corner, oa.use("QuasiRandom", sequence="halton"), "RandomSearch"]
    results = oa.Experiment(items, imported.loss, 6, trials=3).run("s", workers=1)
    assert set(results.studies["optimizer"]) == {"Corner", "QuasiRandom(sequence=halton)", "RandomSearch"}
    assert results.compare(imported.Corner, "RandomSearch").optimizers == ["Corner", "RandomSearch"]
    compared = results.compare(oa.use("QuasiRandom", sequence="halton"), imported.Corner, "RandomSearch")
    assert len(compared.optimizers) == 3
    assert set(results.filter(optimizer=imported.Corner).studies["optimizer"]) == {"Corner"}
    found = oa.try_optimizers(imported.loss, 6, optimizers=[imported.Corner], max_trials=2, workers=1, progress=Quiet())
    assert set(found.results.studies["optimizer"]) == {"Corner", "RandomSearch"}
