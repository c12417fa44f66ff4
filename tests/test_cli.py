"""The command line as a person meets it: what it prints, its exit codes, and its sentences for bad input."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import optarena as oa
from optarena.cli import main
from optarena.cli.demo_command import OPTIMIZERS as SHOWN
from optarena.optimizer import OPTIMIZERS
from waiting import wait_for

PROGRAM = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())"]


def call(capsys, *arguments):
    code = main(list(arguments))
    out = capsys.readouterr()
    return code, out.out, out.err


def test_help_names_every_command_and_loads_nothing_heavy():
    code = (
        "import sys\nfrom optarena.cli import main\nmain(['--help'])\n"
        "bad = {'numpy', 'polars', 'rich', 'msgspec', 'scipy'} & set(sys.modules)\nassert not bad, bad"
    )
    out = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert all(f"\n  {name} " in out for name in ("run", "status", "best", "list", "demo"))


def test_python_m_optarena_is_the_program():
    program = [sys.executable, "-m", "optarena"]
    told = subprocess.run([*program, "--version"], check=True, capture_output=True, text=True).stdout
    assert told == f"optarena {oa.__version__}\n"
    done = subprocess.run([*program, "status", "nothing"], check=False, capture_output=True, text=True)
    assert (done.returncode, done.stderr[:10]) == (2, "optarena: ")


def test_a_reader_who_goes_is_no_failure_and_a_full_disk_is_a_sentence():
    read, write = os.pipe()
    os.close(read)
    gone = subprocess.run([*PROGRAM, "list", "formats"], stdout=write, stderr=subprocess.PIPE, text=True, check=False)
    os.close(write)
    assert (gone.returncode, gone.stderr) == (0, "")
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with Path("/dev/full").open("w") as disk:
        full = subprocess.run(
            [*PROGRAM, "list", "formats"], stdout=disk, stderr=subprocess.PIPE, text=True, check=False
        )
    assert full.returncode == 1
    assert full.stderr == "optarena: writing the output: No space left on device\n"


def test_signs_that_an_output_cannot_have_are_written_as_numbers():
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    words = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5"]
    done = subprocess.run([*PROGRAM, *words], env=environment, capture_output=True, text=True, check=True)
    assert "1 optimizer \\xd7 1 problem" in done.stdout


def test_run_from_flags_alone_then_status_and_best(capsys):
    code, out, _ = call(
        capsys, "run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", "functions/sphere/d{2,3}", "-n", "10*D"
    )
    assert code == 0
    root = oa.open("results").studies["root"][0]
    assert f"root {root}" in out
    assert "2 optimizers × 2 problems × 1 trial: 4 studies" in out
    assert "4 done" in out
    code, out, _ = call(capsys, "status", "results")
    assert code == 0
    assert "4 studies · 100 evaluations" in out
    code, out, _ = call(capsys, "best", "results")
    assert code == 0
    assert "functions/sphere/d3" in out
    assert "x3=" in out


def test_the_printed_root_reproduces_the_run(capsys):
    flags = ["run", "-o", "RandomSearch", "-p", "functions/ackley/d2", "-n", "20"]
    call(capsys, *flags, "--store", "one")
    root = oa.open("one").studies["root"][0]
    call(capsys, *flags, "--store", "two", "--seed", root)
    call(capsys, *flags, "--store", "three")
    best = [oa.open(name).studies["best"][0] for name in ("one", "two", "three")]
    assert best[0] == best[1] != best[2]


def test_the_same_command_again_has_nothing_to_do_and_new_begins_afresh(capsys):
    flags = ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5"]
    call(capsys, *flags)
    _, out, _ = call(capsys, *flags)
    assert "1 of them finished before" in out
    assert "nothing was left to do" in out
    _, out, _ = call(capsys, *flags, "--new")
    assert "1 done" in out
    assert oa.open("results").studies.height == 2


def test_a_file_and_flags_that_replace_its_fields(capsys, tmp_path):
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "mine.py").write_text(
        "import optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}, optimum=0.0)\n"
        "def square(x):\n    return x['x'] ** 2\n"
        "class Fixed(oa.Optimizer):\n    def suggest(self, n):\n        return [{'x': 0.5}] * n\n"
    )
    (tmp_path / "plan" / "e.toml").write_text(
        'optimizers = ["RandomSearch", "mine.py:Fixed"]\nproblems = ["mine.py:square"]\nbudget = 5\n'
    )
    code, out, _ = call(capsys, "run", "plan/e.toml", "-r", "3", "--store", "s")  # named beside the file, not beside us
    assert code == 0
    frame = oa.open("s").studies
    assert frame.height == 6
    assert set(frame["problem"]) == {"mine.py:square"}
    assert set(frame["optimizer"]) == {"RandomSearch", "Fixed"}
    assert frame.filter(frame["optimizer"] == "Fixed")["best"].to_list() == [0.25] * 3
    code, out, err = call(
        capsys, "run", "-o", "plan/mine.py:Fixed", "-p", "plan/mine.py:square", "-n", "5", "--store", "s"
    )
    assert code == 0
    assert "nothing was left to do" in out
    (tmp_path / "plan" / "mine.py").write_text((tmp_path / "plan" / "mine.py").read_text() + "\n# changed\n")
    code, out, err = call(
        capsys, "run", "-o", "plan/mine.py:Fixed", "-p", "plan/mine.py:square", "-n", "9", "--store", "s"
    )
    assert code == 2
    assert "mine.py:Fixed: its source has changed" in err


def test_failures_are_told_and_the_rest_completes(capsys, tmp_path):
    (tmp_path / "bad.py").write_text(
        "import optarena as oa\n"
        "class Bad(oa.Optimizer):\n    def suggest(self, n):\n        raise RuntimeError('no\\x1b[31m idea')\n"
    )
    code, out, _ = call(
        capsys, "run", "-o", "bad.py:Bad", "-o", "RandomSearch", "-p", "functions/failing/d2", "-n", "50"
    )
    assert code == 1
    assert "1 done · 1 failed\n1 of 2 studies failed:\n  1 × Bad: suggest: RuntimeError: no\\u001b[31m idea\n" in out
    failed = oa.open("results").studies["failures"].sum()
    assert f"{failed} of 50 evaluations failed, in 1 study:\n  {failed} × ValueError: outside the domain\n" in out
    assert "see all: optarena status results --failed" in out
    _, out, _ = call(capsys, "status", "results")
    assert "1 study failed" in out
    assert "\x1b" not in out
    _, out, _ = call(capsys, "status", "results", "--failed")
    assert f"  {failed:>11}  RandomSearch  functions/failing/d2  ValueError: outside the domain\n" in out
    _, out, _ = call(capsys, "status", "results", "--format", "json")
    data = json.loads(out)
    assert data["counts"]["failed"] == data["counts"]["done"] == 1


def test_json_on_the_command_line_is_strict(capsys, tmp_path):
    (tmp_path / "inf.py").write_text(
        "import optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}, sense='max')\n"
        "def up(x):\n    return float('inf')\n"
    )
    call(capsys, "run", "-o", "RandomSearch", "-p", "inf.py:up", "-n", "3")
    _, out, _ = call(capsys, "best", "results", "--format", "json")
    (row,) = json.loads(out, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    assert row["best"] == "inf"
    assert row["optimum"] is None


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["rum"], "no command 'rum'. Did you mean 'run'?"),
        (["run"], "nothing to run: give an EXPERIMENT.toml, or -o OPTIMIZER"),
        (["run", "-o", "RandomSearch"], "or -p PROBLEM"),
        (["run", "-o", "RandomSearch", "-p", "functions/sphere/d2"], "no budget: give evaluations with -n"),
        (["run", "-o", "RandomSerch", "-p", "functions/sphere/d2", "-n", "5"], "Did you mean 'RandomSearch'?"),
        (["run", "-o", "RandomSearch", "-p", "functions/sfere/d2", "-n", "5"], "Did you mean 'functions/sphere/d2'?"),
        (["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5*X"], "is not an expression"),
        (["run", "-o", "none.py:X", "-p", "functions/sphere/d2", "-n", "5"], "there is no file"),
        (["run", "none.toml"], "there is no file none.toml"),
        (
            ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--seed", "7x"],
            "expected a whole number such as 42",
        ),
        (
            ["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--seed", "7" * 32, "--new"],
            "new and seed both choose the root",
        ),
        (["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--record", "some"], "record: expected"),
        (["run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "-r", "0"], "trials: expected"),
        (["status", "nowhere"], "store nowhere does not exist"),
        (["best", "nowhere"], "store nowhere does not exist"),
        (["list", "problems", "bob/*"], "Did you mean 'bbob'?"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_2(capsys, arguments, said):
    code, _, err = call(capsys, *arguments)
    assert code == 2
    assert err.startswith("optarena: ")
    assert said in err
    assert err.count("\n") == 1
    assert not Path("results").exists() or not list(Path("results").rglob("*.jsonl"))


def test_no_pairing_that_works_is_said(capsys, tmp_path):
    (tmp_path / "o.py").write_text(
        "import optarena as oa\nclass Reals(oa.Optimizer):\n    capabilities = oa.Capabilities(mixed=False)\n"
    )
    code, out, err = call(capsys, "run", "-o", "o.py:Reals", "-p", "functions/mixed-tuning/d9", "-n", "5")
    assert code == 2
    assert "refused: Reals on functions/mixed-tuning/d9: takes real parameters only" in out
    assert "no pairing" in err


def test_ctrl_c_loses_nothing_and_says_how_to_go_on(tmp_path):
    (tmp_path / "slow.py").write_text(
        "import os, time, optarena as oa\n"
        "@oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "def slow(x):\n    time.sleep(0 if os.path.exists('quick') else 0.5)\n    return x['x']\n"
    )
    flags = ["run", "-o", "RandomSearch", "-p", "slow.py:slow", "-n", "100"]
    process = subprocess.Popen([*PROGRAM, *flags], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for(lambda: Path("results").exists() and (oa.open("results").studies["evaluations"].sum() or 0) > 3)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert "Continue: optarena run -o RandomSearch -p slow.py:slow -n 100" in err
    (row,) = oa.open("results").studies.iter_rows(named=True)
    assert row["status"] == "interrupted"
    assert 3 < row["evaluations"] < 100
    Path("quick").touch()
    subprocess.run([*PROGRAM, *flags], check=True, capture_output=True)
    assert oa.open("results").studies.select("status", "evaluations", "conflicts").rows() == [("done", 100, 0)]


def test_on_a_terminal_there_are_bars():
    parent, child = pty.openpty()
    process = subprocess.Popen(
        [
            *PROGRAM,
            "run",
            "-o",
            "RandomSearch",
            "-o",
            "QuasiRandom",
            "-p",
            "functions/sphere/d2",
            "-n",
            "2000",
            "-r",
            "20",
        ],
        stdout=child,
        stderr=child,
        env=os.environ | {"TERM": "xterm", "COLUMNS": "100"},
    )
    os.close(child)
    seen = b""
    while True:
        try:
            block = os.read(parent, 65536)
        except OSError:
            break
        if not block:
            break
        seen += block
    assert process.wait(timeout=60) == 0
    text = seen.decode()
    assert "20/20" in text
    assert "evaluations" in text


@pytest.mark.slow
def test_the_demo_ends_with_the_answer_and_the_report(capsys):
    code, out, _ = call(capsys, "demo")
    assert code == 0
    there = [name for name in SHOWN if OPTIMIZERS.built_in[name].installed]
    assert f"{30 * len(there)} studies" in out
    assert "failed in" not in out
    assert all(name in out for name in SHOWN)  # in the table, or with how to install it
    assert "6 problems, 5 trials each" in out
    assert "P(row beats column)" in out
    assert "RandomSearch" in out
    assert "report: demo-store/report.html" in out
    assert Path("demo-store/report.html").read_text().startswith("<!doctype html>")


def test_check_speaks_of_optimizers_problems_and_files(capsys, tmp_path):
    code, out, _ = call(capsys, "check", "QuasiRandom")
    assert code == 0
    assert "QuasiRandom: a well-behaved optimizer" in out
    assert "one suggest and one observe take" in out
    code, out, _ = call(capsys, "check", "functions/*/d2")
    assert code == 0
    assert out.count("a well-behaved problem") > 20
    (tmp_path / "mine.py").write_text(
        "import numpy as np, optarena as oa\n"
        "class Good(oa.Optimizer):\n    def suggest(self, n):\n"
        "        return self.space.to_dicts(self.space.sample(n, self.rng))\n"
        "class Bad(Good):\n    def suggest(self, n):\n"
        "        return self.space.to_dicts(self.space.sample(n, np.random.default_rng()))\n"
        "@oa.as_problem({'x': {'type': 'bool'}})\ndef none(x):\n    return None\n"
    )
    code, out, _ = call(capsys, "check", "mine.py")
    assert code == 1
    assert "Good: a well-behaved optimizer" in out
    assert "mine.py:6: two runs with the same seed differ (the same seed gives the same" in out
    assert out.count("differ") == 1
    assert "Draw all randomness from the `rng` that __init__ is given." in out
    assert "none: 1 thing to fix" in out
    code, out, _ = call(capsys, "check", "mine.py:Good")
    assert code == 0
    (tmp_path / "bases.py").write_text(
        "import abc, optarena as oa\n"
        "class Said(oa.Optimizer, abc.ABC):\n    @abc.abstractmethod\n    def suggest(self, n): ...\n"
        "class Unsaid(oa.Optimizer):\n    def suggest(self, n):\n        return self.points(n)\n"
        "    def points(self, n):\n        raise NotImplementedError\n"
    )
    assert call(capsys, "check", "bases.py:Unsaid")[0] == 1
    with (tmp_path / "bases.py").open("a") as file:
        file.write(
            "class Whole(Unsaid):\n    def points(self, n):\n"
            "        return self.space.to_dicts(self.space.sample(n, self.rng))\n"
            "class Ended(oa.Optimizer):\n    def suggest(self, n):\n        raise oa.Exhausted('nothing')\n"
        )
    code, out, _ = call(capsys, "check", "bases.py")
    assert code == 0
    assert "Whole: a well-behaved optimizer" in out
    assert "aid:" not in out
    assert out.count("one suggest and one observe take") == 1
    for wrong, said in (
        ("QuasyRandom", "Did you mean 'QuasiRandom'?"),
        ("mine.py:oa", "is not an optimizer, a solver or a problem"),
        ("no.py", "there is no file"),
    ):
        code, _, err = call(capsys, "check", wrong)
        assert code == 2
        assert said in err


def test_check_takes_the_readmes_own_problem_by_file_and_by_name(capsys, tmp_path):
    readme = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    block = next(part for part in readme.split("```python\n")[1:] if part.startswith("# mine.py"))
    mine = tmp_path / "mine.py"
    mine.write_text(block.split("```")[0] + "\n\ndef helper(x):\n    return x\n")
    assert main(["check", str(mine)]) == 0
    assert capsys.readouterr().out == "loss: a well-behaved problem\n"
    assert main(["check", f"{mine}:loss"]) == 0
    assert "a well-behaved problem" in capsys.readouterr().out
    dicts = tmp_path / "dicts.py"
    dicts.write_text(
        "space = {'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}}\n\ndef f(p):\n    return p['x']\n"
    )
    assert main(["check", str(dicts)]) == 0
    assert capsys.readouterr().out.startswith("f: a well-behaved problem")


def test_check_looks_at_classes_of_problems_and_survives_what_they_raise(capsys, tmp_path):
    (tmp_path / "classes.py").write_text(
        "import optarena as oa\n"
        "class Base(oa.Problem):\n"
        "    space = oa.Space({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "    def evaluate(self, x): return x['x']\n"
        "class Good(Base): pass\n"
        "class Given(Base):\n"
        "    def __init__(self, power): self.id = 'given'\n"
        "given = Given(2)\n"
        "class Breaks(Base):\n"
        "    def reset(self, rng): raise RuntimeError('no reset')\n"
        "class Unmade(Base):\n"
        "    def __init__(self): raise ValueError('no way')\n"
        "class Nowhere(oa.Problem):\n"
        "    def evaluate(self, x): return 1.0\n"
        "class Matrix(Base):\n"
        "    array_native = True\n"
        "    def evaluate_matrix(self, X): raise RuntimeError('no matrix')\n"
    )
    code, out, err = call(capsys, "check", "classes.py")
    assert (code, err) == (1, "")
    assert [line for line in out.splitlines() if not line.startswith(" ")] == [
        "given: a well-behaved problem",
        "Good: a well-behaved problem",
        "Breaks: 1 thing to fix",
        "Unmade: 1 thing to fix",
        "Nowhere: 1 thing to fix",
        "Matrix: 1 thing to fix",
    ]
    for said in ("reset raised RuntimeError: no reset", "ValueError: no way", "has no space", "no matrix"):
        assert said in out
    code, _, err = call(capsys, "run", "-o", "RandomSearch", "-p", "classes.py:Nowhere", "-n", "3")
    assert (code, err.endswith("Nowhere has no space; set space = optarena.Space({…})\n")) == (2, True)
