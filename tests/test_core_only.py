"""The core alone, without the packages of its extras: it runs and scores, and names the extra for the rest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

WITHOUT = ["vl_convert", "altair", "sklearn", "cma", "optuna", "pymoo"]
REPORT = "reports and figures need the extra 'report': pip install 'optarena[report]'"


def core(*words: str) -> subprocess.CompletedProcess[str]:
    code = f"import sys; sys.modules.update(dict.fromkeys({WITHOUT})); from optarena.cli import main; sys.exit(main())"
    wide = {**os.environ, "COLUMNS": "400"}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=wide)


def test_the_demo_runs_and_says_why_there_is_no_report():
    done = core("demo")
    assert done.returncode == 0, done.stderr
    assert "Scipy-Powell" in done.stdout
    assert REPORT in done.stdout
    assert "pip install 'optarena[optuna]' adds it" in done.stdout


def test_what_draws_needs_an_extra_and_writes_nothing():
    run = core("run", "-o", "RandomSearch", "-p", "functions/sphere/d2", "-n", "5", "--store", "s", "--workers", "0")
    assert run.returncode == 0, run.stderr
    for words in (["report", "s"], ["figure", "ecdf", "s", "-O", "ecdf.pdf"], ["publish", "s", "-O", "archive"]):
        done = core(*words)
        assert (done.returncode, done.stdout) == (2, ""), words
        assert REPORT in done.stderr
    assert [path.name for path in Path().iterdir()] == ["s"]


@pytest.mark.parametrize("problem", ["sklearn/DT_iris_acc", "sklearn/*", "clf-mine.csv:kNN_nll"])
def test_problems_of_scikit_learn_need_an_extra(problem):
    Path("clf-mine.csv").write_text("a,b\n" + "1,0\n2,1\n" * 10)
    done = core("run", "-o", "RandomSearch", "-p", problem, "-n", "5", "--store", "s")
    assert done.returncode == 2
    assert "pip install 'optarena[problems]'" in done.stderr


def test_a_launch_of_bayesmark_needs_it_too():
    done = core("bayesmark", "launch", "-o", "RandomSearch", "-n", "3", "-r", "1")
    assert done.returncode == 2
    assert "pip install 'optarena[problems]'" in done.stderr
