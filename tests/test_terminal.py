"""The command line on a terminal: everything fits, and whatever ends leaves a clean screen."""

from __future__ import annotations

import io
import re
import shlex
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import optarena as oa
from optarena._text import table
from optarena._widths import apart, middle_cut, wrapped, wrapped_command
from optarena.cli import COMMANDS, _progress, main
from optarena.cli._examples import BAYESMARK, EXAMPLES
from optarena.cli._progress import RunProgress
from optarena.cli.bayesmark_command import PROGRAMS
from optarena.experiment import Experiment
from optarena.runner.estimate import TimeLeft, roughly
from optarena.runner.local import run
from terminals import Screen, cells, on_terminal, too_wide

LONG = "AnOptimizerWithAVeryLongNameThatNobodyTypesTwice"
OURS = f"""
import optarena as oa
class {LONG}(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))
class Bad(oa.Optimizer):
    def suggest(self, n):
        raise RuntimeError(f"no idea what to do with {{n}} points, and this is said at some length, for a terminal")
@oa.as_problem({{"learning_rate": {{"type": "real", "space": "log", "range": [1e-5, 1]}}}})
def a_problem_with_a_long_name_of_its_own(x):
    if x["learning_rate"] > 0.5:
        raise ValueError(f"a rate of {{x['learning_rate']}} is too large")
    return x["learning_rate"]
"""


@pytest.fixture(scope="module")
def stores(tmp_path_factory):
    """Stores of several kinds: long names and failures, many parameters and objectives, solvers."""
    root = tmp_path_factory.mktemp("stores")
    (root / "ours.py").write_text(OURS)
    names = [f"{root}/ours.py:{LONG}", f"{root}/ours.py:Bad", "RandomSearch", "QuasiRandom", "Scipy-NelderMead"]
    problems = [f"{root}/ours.py:a_problem_with_a_long_name_of_its_own", "functions/{sphere,ackley,failing}/d2"]
    optimizers = [*names, oa.use("QuasiRandom", sequence="halton"), oa.use("QuasiRandom", sequence="sobol")]
    Experiment(optimizers, problems, 20, trials=3, seed=1).run(root / "many", workers=0)
    Experiment(["RandomSearch", "QuasiRandom"], ["zdt/zdt1"], 30, trials=2, seed=2).run(root / "fronts", workers=0)
    Experiment(["Annealing"], ["tsp/n10/i{1,2}"], seconds=0.2, trials=2, seed=3).run(root / "solvers", workers=1)
    return root


SCREENS = [
    "--help",
    *(f"{name} --help" for name in COMMANDS),
    "status many", "status many --failed", "status many --studies", "status many --traceback",
    "score many", "score many --view fixed-target", "score fronts", "score solvers",
    "compare many", "compare many --details", "compare many --by problem", "compare fronts --details",
    "best many", "best fronts", "best solvers",
    "list optimizers", "list problems", "list solvers", "list formats", "list figures", "figure --list",
    *(f"bayesmark {name} --help" for name in PROGRAMS),
    "run -o RandomSearch -p functions/failing/d2 -n 5 -r 2 --workers 0 --store ran-{width}",
    "jobs -o RandomSearch -p functions/sphere/d2 -n 5 -k 2 -O jobs.txt --store queued-{width}", "cancel many",
    "check RandomSearch", "check ours.py:a_problem_with_a_long_name_of_its_own", "env list",
    "report fronts -O report.html", "figure hypervolume fronts -O figure.svg", "figure nothing fronts -O figure.svg",
    "merge fronts -O copy-{width}", "publish fronts -O archive-{width}", "replay fronts {study}", "compact fronts",
    "verify many", "rum", "run -o GA -p functions/sphere/d2 -n 5", "score many --format x", "compare nowhere",
]  # fmt: skip


@pytest.mark.parametrize("width", [80, 120, 200])
@pytest.mark.parametrize("words", SCREENS)
def test_every_screen_fits(stores, words, width, capsys, monkeypatch):
    monkeypatch.chdir(stores)
    monkeypatch.setenv("COLUMNS", str(width))
    main(shlex.split(words.format(width=width, study=oa.open("fronts").studies["study"][0])))
    said = capsys.readouterr()
    lines = (said.out + said.err).splitlines()
    assert lines
    start = next((i for i, line in enumerate(lines) if line.startswith("Traceback")), len(lines))
    assert too_wide(lines[:start], width) == []  # a traceback has lines of programs: they are not wrapped


def test_a_real_terminal_gets_what_fits_and_a_pipe_all(stores, monkeypatch):
    monkeypatch.chdir(stores)
    code, screen, lines = on_terminal("status", "many", width=80)
    assert code == 0
    assert too_wide(lines, 80) == []
    assert "AnOptimizer" in screen.text
    assert LONG not in screen.text
    wide, _, lines = on_terminal("status", "many", "--wide", width=80)
    assert wide == 0
    assert any(LONG in line for line in lines)
    piped = subprocess.run([sys.executable, "-m", "optarena", "status", "many"], capture_output=True, text=True)
    assert LONG in piped.stdout


def test_the_heads_of_the_matrix_are_whole_names_where_there_is_room(stores, capsys, monkeypatch):
    monkeypatch.chdir(stores)
    heads = {}
    for width in (80, 200):
        monkeypatch.setenv("COLUMNS", str(width))
        assert main(["compare", "many", "QuasiRandom", "RandomSearch", "Scipy-NelderMead"]) == 0
        lines = capsys.readouterr().out.splitlines()
        above = next(i for i, line in enumerate(lines) if "P(row beats column)" in line)
        heads[width] = lines[above + 1].split("]")[-1]
    assert "RandomSearch" in heads[200]
    assert "Scipy-NelderMead" in heads[200]
    assert "RandomS" in heads[80]
    assert "RandomSearch" not in heads[80]


def test_studies_are_listed_with_as_much_of_their_ids_as_replay_needs(stores, capsys, monkeypatch):
    monkeypatch.chdir(stores)
    ids = oa.open("many").studies["study"].to_list()
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["status", "many", "--studies"]) == 0
    words = capsys.readouterr().out.split()
    assert all(name[:8] in words for name in ids)
    assert not any(name in words for name in ids)
    assert main(["status", "many", "--studies", "--wide"]) == 0
    words = capsys.readouterr().out.split()
    assert all(name in words for name in ids)


SLOW = """
import time, optarena as oa
@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
def slow(x):
    time.sleep(0.05)
    return x["x"]
"""
RUN = ["run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", "slow.py:slow", "-n", "30", "--workers", "1"]


def test_ctrl_c_leaves_a_clean_screen_and_a_command_to_copy():
    Path("slow.py").write_text(SLOW)

    def runs(screen: Screen) -> bool:
        return "now: RandomSearch on slow.py:slow" in screen.text

    store = f"a-directory-{'with-a-long-name-' * 3}"
    code, screen, lines = on_terminal(*RUN, "-r", "50", "--store", store, seen=runs)
    assert code == 130
    assert not screen.hidden
    assert too_wide(lines, 80) == []
    assert any("█" in line or "░" in line for line in lines)
    assert "░" not in screen.text
    assert "now:" not in screen.text
    said = screen.text.partition("Continue:")[2].replace(" \\\n", " ")
    assert shlex.split(said) == ["optarena", *RUN, "-r", "50", "--store", store]


def test_a_run_ends_with_its_summary_and_says_what_else_the_store_has(capsys):
    words = ["run", "-p", "functions/sphere/d2", "-n", "5", "--workers", "0"]
    assert main([*words, "-o", "RandomSearch", "-r", "2"]) == 0
    out = capsys.readouterr().out
    assert "besides these" not in out
    assert out.splitlines()[-1] == "look: optarena compare results   ·   optarena report results"
    assert main([*words, "-o", "QuasiRandom"]) == 0
    said = "the store has 2 studies besides these, of RandomSearch on functions/sphere/d2; scores count them too"
    assert said in capsys.readouterr().out


def test_a_number_is_a_seed(capsys):
    words = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--workers", "0", "--seed"]
    for seed, store in (("42", "a"), ("42", "b"), ("43", "c")):
        assert main([*words, seed, "--store", store]) == 0
    best = [oa.open(store).studies["best"][0] for store in "abc"]
    assert best[0] == best[1] != best[2]
    assert (
        Experiment(["RandomSearch"], ["functions/sphere/d2"], 5, seed=42).seed
        == Experiment(["RandomSearch"], ["functions/sphere/d2"], 5, seed="42").seed
    )


def test_failures_are_grouped_by_message_and_one_traceback_is_shown(stores, capsys):
    assert main(["status", f"{stores}/many", "--failed"]) == 0
    lines = capsys.readouterr().out.splitlines()
    bad = [line for line in lines if "no idea what to do" in line]
    assert len(bad) == 1
    assert bad[0].split()[:4] == ["12", "Bad", "4", "problems"]
    assert sum("is too large" in line for line in lines) == 1
    assert main(["status", f"{stores}/many", "--traceback"]) == 0
    out = capsys.readouterr().out
    assert out.count("Traceback") == 1
    assert "ours.py" in out
    assert "loop.py" not in out


def test_the_first_failed_evaluation_is_shown_while_its_study_still_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(_progress, "LOOK_SECONDS", 0.0)
    out, seen = io.StringIO(), []

    @oa.as_problem({"rate": {"type": "real", "space": "linear", "range": [0, 1]}})
    def mine(x):
        seen.append(out.getvalue())
        time.sleep(0.15)  # longer than between two ticks
        raise ValueError(f"{x['rate']:.3f} is too large")

    with RunProgress(str(tmp_path / "s"), out) as progress:
        run(Experiment(["RandomSearch"], [mine], 4, seed=1), tmp_path / "s", workers=0, progress=progress)
    said = re.findall(r"An evaluation failed: (.*)\n", out.getvalue())
    first = oa.open(tmp_path / "s").failures()["message"][0]
    assert len(said) == 1, "only the first"
    assert said[0].startswith(f"{first} at {{'rate': 0.")
    assert "test_terminal.py line" in said[0]
    assert said[0].endswith("of RandomSearch on mine. It has no value; the run goes on.")
    assert "An evaluation failed" in seen[-1], "before the study ended"
    assert "4 evaluations failed" in progress.screen(100, 20)[-1]


# ---- -o and -O -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (["report", "many", "-p", "functions/sphere/d2", "-o", "r.html"], "r.html"),
        (["export", "csv", "many", "-o", "r.csv"], "r.csv"),
        (["merge", "many", "-o", "copy"], "copy"),
        (["figure", "convergence", "many", "-p", "functions/sphere/d2", "-o", "f.json"], "f.json"),
    ],
)
def test_a_file_after_the_option_for_optimizers_is_taken_with_a_hint(stores, words, file, capsys):
    (Path.cwd() / "many").symlink_to(stores / "many")
    assert main(words) == 0
    assert f"taken as -O {file}" in capsys.readouterr().err
    assert Path(file).exists()


# ---- completion ------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def script(tmp_path_factory):
    path = tmp_path_factory.mktemp("completion") / "optarena.bash"
    done = subprocess.run(
        [sys.executable, "-m", "optarena", "completion", "bash"], capture_output=True, text=True, check=True
    )
    path.write_text(done.stdout)
    return path


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("ru", ["run"]),
        ("run -o CMA", ["CMA-ES"]),
        ("run -p bbob/f24", ["bbob/f24"]),
        ("run -p job", ["jobshop/"]),
        ("run --until", ["--until-decided"]),
        ("score fr", ["fronts"]),
        ("score many --view anyt", ["anytime"]),
        ("score many --format j", ["json"]),
        ("figure ecdf-g", ["ecdf-groups"]),
        ("figure ecdf sol", ["solvers"]),
        ("merge many fr", ["fronts"]),
        ("export parq", ["parquet"]),
        ("completion f", ["fish"]),
        ("bayesmark la", ["launch"]),
    ],
)
def test_bash_completes(script, stores, typed, found):
    words = ["optarena", *typed.split(" ")]
    asked = f"COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _optarena"
    program = f". {script}; {asked}; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "-c", program], cwd=stores, capture_output=True, text=True, check=True)
    assert set(found) <= set(done.stdout.split())
    assert all(word.startswith(words[-1]) for word in done.stdout.split())


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_have_scripts_with_the_same_names(shell, capsys):
    assert main(["completion", shell]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in ("CMA-ES", "ecdf-groups", "bbob/", "until-decided", *COMMANDS))


# ---- help ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_each_help_has_two_examples_that_run(capsys, monkeypatch):
    for name in COMMANDS:
        main([name, "--help"])
        out = capsys.readouterr().out
        assert all(example in out for example in EXAMPLES[name])
    for name, examples in BAYESMARK.items():
        assert main(["bayesmark", name, "--help"]) == 0
        out = capsys.readouterr().out
        assert all(f"optarena bayesmark {example}\n" in out for example in examples)
    first = ("run", "status", "best", "score", "compare", "list", "export", "import", "merge", "compact", "verify")
    for name in (*first, "repair", "check", "bayesmark"):
        for example in EXAMPLES[name]:
            words = shlex.split(example)
            assert words[0] == "optarena"
            assert main(words[1:]) == 0, example
    for example in EXAMPLES["report"] + EXAMPLES["figure"][:1]:
        assert main(shlex.split(example)[1:]) == 0, example
    id = oa.open("results").studies["study"][0]
    assert main(["replay", "results", id[:8]]) == 0


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["score"], "give STORE (optarena score --help)"),
        (["list"], "give KIND: optimizers, problems, solvers, formats, figures (optarena list --help)"),
        (["score", "s", "--format", "y"], "--format: 'y' is not one of 'table', 'json', 'csv', 'latex', 'html' ("),
        (["run", "-r", "x"], "-r/--trials: expected a whole number, got 'x' (optarena run --help)"),
        (["figure", "ecdf", "s", "--width", "3"], "--width: expected 50 or more, got '3' ("),
        (["score", "s", "--veiw", "x"], "no option '--veiw'. Did you mean '--view'? (optarena score --help shows all)"),
        (["run", "-o"], "option '-o' requires an argument (optarena run --help)"),
        (["list", "problems", "bbob/f25"], "no problem matches 'bbob/f25': there are only f1 to f24 ("),
        (["list", "problems", "bbob/f1/d7"], "there are only d2, d3, d5, d10, d20, d40 ("),
        (["list", "problems", "zdt/zdt7"], "there are only zdt1 to zdt6 ("),
        (["list", "problems", "pom3/*"], "no suite named 'pom3'. Did you mean 'se/pom3a' or"),
        (["run", "-o", "GA", "-p", "functions/sphere/d2", "-n", "5"], "or 'Pymoo-GA'?"),
        (
            ["run", "-o", f"CMA-ES(popsize={10**30})", "-p", "functions/sphere/d2", "-n", "5"],
            "popsize must be a whole number from 4 to 100,000, got 1",
        ),
    ],
)
def test_a_wrong_call_is_one_sentence_of_ours(words, said, capsys):
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("optarena: ")
    assert said in err
    assert err.count("\n") == 1


# ---- text in a width -------------------------------------------------------------------------------------------------


def test_names_are_cut_where_they_stay_different():
    assert middle_cut("abcdefghij", 7) == "abcd…ij"
    names = ["CMA-ES(popsize=10, restarts=True)", "CMA-ES(popsize=20, restarts=True)"]
    assert len(set(apart(names, 20))) == 2
    assert all(cells(name) <= 20 for name in apart(names, 20))
    assert cells(middle_cut("最適化" * 9, 12)) <= 12


@pytest.mark.parametrize("width", range(40, 130, 5))
def test_a_table_fits_any_width_and_names_what_it_leaves_out(width):
    heads = ["optimizer", "score", "failed evaluations", "licence", "what it is"]
    rows = [[LONG, 0.25, 3, "BSD-3-Clause", "a text of many words that takes several lines"], ["B", 1.5, 0, "MIT", "b"]]
    right, drop = ("score", "failed evaluations"), ("licence",)
    text = table(heads, rows, right=right, drop=drop, fold=("what it is",), width=width)
    assert too_wide(text.splitlines(), width) == []
    words = " ".join(text.split())
    assert ("BSD-3-Clause" in words) != ("licence" in words.partition("(no room for")[2])
    assert table(heads, rows, right=right).splitlines()[1].endswith("several lines")


def test_sentences_break_between_words_and_commands_where_a_shell_joins_them():
    assert wrapped("one two three", 8) == "one two\n  three"
    assert wrapped("one two three", None) == "one two three"
    assert wrapped_command("Go on:", ["optarena", "run"], 40) == "Go on: optarena run"
    text = wrapped_command("Go on:", ["optarena", "run", "-o", "RandomSearch", "-n", "100"], 26)
    assert text == "Go on:\n  optarena run -o \\\n    RandomSearch -n 100"


# ---- time left -------------------------------------------------------------------------------------------------------


def planned(**budget: float):
    plan = Experiment(["RandomSearch", "QuasiRandom"], ["functions/sphere/d2"], trials=10, **budget).plan()
    by = {label: [s for s in plan.studies if s.optimizer.label == label] for label in ("RandomSearch", "QuasiRandom")}
    return plan.studies, by["RandomSearch"], by["QuasiRandom"]


def test_the_time_left_knows_that_optimizers_differ():
    studies, quick, slow = planned(budget=100)
    left = TimeLeft(1, 0.0)
    left.add(studies)
    left.runs(quick[0], 0, 0.0)
    assert left.left(1.0) is None  # nobody can know
    now = 0.0
    for study in quick:
        left.runs(study, 0, now)
        now += 1.0
        left.ended(study, now)
    left.runs(slow[0], 0, now)
    left.runs(slow[0], 10, now + 10.0)  # a tenth of one of ten: 100 s each
    assert left.left(now + 10.0) == pytest.approx(990.0)


def test_the_time_left_does_not_jump():
    studies, quick, slow = planned(budget=100)
    left = TimeLeft(1, 0.0)
    left.add(studies)
    left.runs(quick[0], 0, 0.0)
    left.ended(quick[0], 5.0)
    first = left.left(5.0)
    assert first == pytest.approx(19 * 5.0)
    left.ended(slow[0], 5.1)  # very quick, by chance
    assert left.left(5.1) > 0.9 * first
    assert left.left(25.0) < 0.9 * first


def test_the_time_left_grows_while_a_study_takes_longer_than_those_before():
    studies, quick, _ = planned(budget=100)
    left = TimeLeft(1, 0.0)
    left.add(studies)
    left.runs(quick[0], 0, 0.0)
    left.ended(quick[0], 5.0)
    left.runs(quick[1], 0, 5.0)
    first = left.left(5.0)
    left.runs(quick[1], 10, 105.0)  # a tenth of it took 100 s
    assert left.left(105.0) == pytest.approx(19 * (5.0 + 1000.0) / 2 - 100.0)
    assert left.left(105.0) > 10 * first


def test_estimates_are_round():
    assert [roughly(s) for s in (0.2, 7.4, 43.0, 100.0, 400.0, 3000.0, 12345.0)] == [
        "1 s", "7 s", "45 s", "100 s", "6 min 30 s", "50 min", "3 h 20 min",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [40, 79, 119, 199])
def test_the_progress_screen_fits_with_many_optimizers(width):
    settings = [oa.use("Scipy-DifferentialEvolution", name=f"{LONG}-{i}", popsize=9 + i) for i in range(60)]
    plan = Experiment(settings, ["functions/sphere/d2"], 10, trials=2).plan()
    progress = RunProgress("store")
    progress.begin(plan, plan.studies, 0, 2)
    for study in plan.studies[:3]:
        progress.tick(study, 4)
    lines = progress.screen(width, 24)
    assert too_wide(lines, width) == []
    assert len(lines) <= 24
    assert "and 43 more optimizers" in "\n".join(lines)
    assert lines[-1].startswith("  now: ")
    assert "2 more" in lines[-1] or width > 150
