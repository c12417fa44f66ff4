"""What users of Bayesmark bring along: its scripts by their names, logs, wrappers that import more, killed launches."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import uuid
from pathlib import Path

import msgspec
import numpy as np
import pytest

import optarena as oa
from optarena._bayesmark_names import bayesmark_name
from optarena.bayesmark import Launch, study_uuid
from optarena.bayesmark.launch import killed_launch
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.optimizer import get_optimizer
from optarena.space import Space
from optarena.store import RunFile
from pages import ROOT as REPOSITORY
from pages import programs

DATA = Path(__file__).parent / "data"
ROOT = "0123456789abcdef0123456789abcdef"
SMALL = ["-c", "DT", "-d", "iris", "-m", "acc", "-n", "3", "-r", "1", "--workers", "1"]
TALKS = """
import sys
import bayesmark.constants as cc
from bayesmark.builtin_opt.config import CONFIG
from bayesmark.builtin_opt.random_optimizer import RandomOptimizer
from bayesmark.experiment import experiment_main

assert cc.RANDOM_SEARCH in CONFIG

class Talks(RandomOptimizer):
    def suggest(self, n_suggestions=1):
        print("suggesting", n_suggestions)
        print("a warning", file=sys.stderr)
        return super().suggest(n_suggestions)

if __name__ == "__main__":
    experiment_main(Talks)
"""
KIT = """
set -ex -o pipefail
which bayesmark-init bayesmark-launch bayesmark-exp bayesmark-agg bayesmark-anal
mkdir -p ./output
bayesmark-init -dir ./output -b run
cp ./input/baseline-16-8.json ./output/run/derived/baseline.json
bayesmark-launch -dir ./output -b run -n 16 -r 1 -p 8 -o talks --opt-root ./submissions -v
bayesmark-agg -dir ./output -b run
bayesmark-anal -dir ./output -b run -v
"""
"""What the starter kit of the 2020 challenge types, in its order: no RandomSearch, but the published baseline."""


def published_baseline() -> dict:
    """`input/baseline-16-8.json` of the kit, in the form that Bayesmark writes."""
    figures = json.loads(gzip.decompress((DATA / "bayesmark" / "baseline-16-8.json.gz").read_bytes()))
    signatures = json.loads((DATA / "sklearn" / "signatures.json").read_text())
    coords = {name: {"dims": [name], "attrs": {}, "data": values} for name, values in figures["coords"].items()}
    sizes = {name: len(values) for name, values in figures["coords"].items()}
    variables = {name: {**one, "attrs": {}} for name, one in figures["vars"].items()}
    return {
        "meta": {"args": {}, "signature": {name: one["published_2020"] for name, one in signatures.items()}},
        "data": {"coords": coords, "attrs": {}, "dims": sizes, "data_vars": variables},
    }


@pytest.fixture
def submissions():
    Path("submissions/talks").mkdir(parents=True)
    Path("submissions/talks/optimizer.py").write_text(TALKS)
    return Path("submissions")


@pytest.mark.slow
def test_the_commands_of_the_challenge_run_unchanged(submissions, tmp_path):
    programs(tmp_path / "bin")
    (tmp_path / "fewer").mkdir()
    fewer = tmp_path / "fewer" / "bayesmark-launch"  # all 108 problems take an hour
    fewer.write_text(f'#!/bin/sh\nexec {tmp_path}/bin/bayesmark-launch "$@" -c DT -d breast iris\n')
    fewer.chmod(0o755)
    Path("input").mkdir()
    Path("input/baseline-16-8.json").write_text(json.dumps(published_baseline()))
    environment = {
        **os.environ,
        "PATH": f"{tmp_path / 'fewer'}:{tmp_path / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(REPOSITORY / "src"),
    }
    done = subprocess.run(["bash", "-c", KIT], env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "0 failures of benchmark script after 4 studies." in done.stdout
    # scikit-learn has corrected two flowers since: what is scored is said
    assert re.findall("left out: (.*) gives other values than when", done.stderr) == ["DT_iris_acc", "DT_iris_nll"]
    assert "normed mean score @ 16:" in done.stdout
    assert "Final score `100 x (1-loss)` for leaderboard:" in done.stdout
    assert done.stdout.count("suggesting 8\n") == done.stdout.count("a warning\n") == 4 * 16
    assert done.stderr.count("observation time") == 4 * 16
    logs = sorted(path.suffix for path in Path("output/run/log").iterdir())
    assert logs == [".log"] * 4 + [".out"] * 4


def test_a_launch_without_choices_is_of_the_108_problems_of_the_challenge():
    pytest.importorskip("mlxtend", reason="it has the data set boston")
    plan = Launch(uuid.UUID(ROOT), optimizers=["RandomSearch"], repeat=1).plan()
    published = published_baseline()["data"]["coords"]["function"]["data"]
    assert [bayesmark_name(study.problem) for study in plan.studies] == published
    assert len(published) == 108
    assert plan.refused == []


@pytest.mark.slow
def test_ids_have_dashes_or_not(capsys):
    words = ["bayesmark", "launch", *SMALL, "-o", "RandomSearch", "-b", "db", "-u", str(uuid.UUID(ROOT))]
    assert main(words) == 0
    assert f"Supply --uuid {ROOT}" in capsys.readouterr().out
    study = study_uuid(uuid.UUID(ROOT), 0, 1, "DT", "iris", "RandomSearch", "acc")
    for id in (study.hex, str(study), study.hex[:10]):
        assert main(["replay", "db", id]) == 0
        assert f"of study {study}, bit for bit" in capsys.readouterr().out


def test_a_database_is_read_by_its_own_path(capsys):
    assert main(["bayesmark", "launch", *SMALL, "-o", "RandomSearch", "-b", "db"]) == 0
    assert oa.open("db").studies.equals(oa.open("db/optarena").studies)
    capsys.readouterr()
    assert main(["status", "db"]) == 0
    assert "1 study · 3 evaluations" in capsys.readouterr().out
    assert main(["bayesmark", "init", "-b", "empty"]) == 0
    capsys.readouterr()
    assert main(["score", "empty"]) == 2
    assert "'optarena import bayesmark empty --store results' makes one" in capsys.readouterr().err


def test_a_launch_that_was_killed_goes_on_under_its_uuid(monkeypatch, capsys):
    words = ["bayesmark", "launch", *SMALL, "-o", "RandomSearch", "-b", "db"]
    assert main(words) == 0
    (file,) = Path("db/optarena/runs").glob("*.json")
    first = capsys.readouterr().out.splitlines()[0]
    # what a killed process leaves: a run file without an end, of a process that is gone
    run = json.loads(file.read_text().splitlines()[0])
    run.update(ended=None, how="", pid=2**22 + 1)
    monkeypatch.setattr("optarena.store.Store.runs", lambda self, damage=None: [msgspec.convert(run, RunFile)])

    def launch(root: uuid.UUID, **more: object) -> Launch:
        flags: dict = {"models": ["DT"], "data": ["iris"], "metrics": ["acc"], "optimizers": ["RandomSearch"]}
        return Launch(root, **{**flags, "calls": 3, "repeat": 1, **more})

    found = killed_launch(Path("db"), launch)
    assert found is not None
    assert found.seed is not None
    assert first == f"Supply --uuid {found.seed.hex} to reproduce this run."
    assert killed_launch(Path("db"), lambda root: launch(root, repeat=2)) is None, "other studies are another launch"
    run.update(how="done")
    assert killed_launch(Path("db"), launch) is None, "what has ended is not gone on with: a new launch adds to it"


def test_one_wrapper_that_cannot_be_loaded_does_not_stop_the_others(submissions, capsys):
    (submissions / "broken").mkdir()
    (submissions / "broken/optimizer.py").write_text("import nowhere_to_be_found\n")
    words = ["bayesmark", "launch", *SMALL, "-b", "db", "-odir", "submissions", "-o", "talks", "broken"]
    assert main(words) == 1
    done = capsys.readouterr()
    assert "left out: broken: " in done.err
    assert "No module named 'nowhere_to_be_found'" in done.err
    assert "0 failures of benchmark script after 1 studies." in done.out
    assert main([*words[:-2], "broken"]) == 2, "nothing is left to launch"


def test_a_study_that_fails_has_a_log_until_there(submissions):
    (submissions / "talks/optimizer.py").write_text(
        TALKS.replace(
            "        return super()",
            "        if hasattr(self, 'done'):\n            raise RuntimeError('no more')\n"
            "        self.done = True\n        return super()",
        )
    )
    assert main(["bayesmark", "launch", *SMALL, "-b", "db", "-odir", "submissions", "-o", "talks"]) == 1
    (log,) = Path("db/log").glob("*.log")
    lines = log.read_text().splitlines()
    assert sum(line.startswith("function_evaluation time ") for line in lines) == 1
    assert lines[-1].startswith("failed: ")
    assert "no more" in lines[-1]
    (printed,) = Path("db/log").glob("*.out")
    assert printed.read_text() == "suggesting 1\na warning\n" * 2


def test_a_baseline_scores_the_problems_that_are_still_the_same(capsys):
    place = ["-dir", ".", "-b", "db"]
    assert main(["bayesmark", "launch", *SMALL, "-m", "acc", "nll", *place, "-o", "RandomSearch"]) == 0
    for command in ("agg", "anal"):
        assert main(["bayesmark", command, *place]) == 0
    file = Path("db/derived/baseline.json")
    data = json.loads(file.read_text())
    data["meta"]["signature"]["DT_iris_acc"][0] += 0.1
    file.write_text(json.dumps(data))
    capsys.readouterr()
    assert main(["bayesmark", "anal", *place]) == 0
    said = capsys.readouterr()
    assert "left out: DT_iris_acc gives other values than when the baseline was made" in said.err
    assert "DT_iris_nll" not in said.err


@pytest.mark.parametrize(
    "name", ["HyperOpt", "PySOT", "RandomSearch", "Scikit-GP-LCB", "OpenTuner-GA", "Nevergrad-OnePlusOne"]
)
def test_built_in_wrappers_stand_in(name):
    from importlib import import_module

    from optarena.bayesmark.standins.builtin_opt.config import CONFIG
    from optarena.errors import OptarenaError

    file, arguments = CONFIG[name]
    module = import_module(f"optarena.bayesmark.standins.builtin_opt.{file.removesuffix('.py')}")
    config = {
        "a": {"type": "int", "space": "linear", "range": [1, 9]},
        "b": {"type": "real", "space": "log", "range": [1e-3, 1]},
    }
    try:
        wrapper = module.opt_wrapper(config, **arguments)
    except (OptarenaError, ModuleNotFoundError) as error:
        pytest.skip(str(error))
    for _ in range(3):
        points = wrapper.suggest(2)
        Space(config).to_matrix(points)
        wrapper.observe(points, [points[0]["b"], float("inf")])


def test_random_search_draws_integers_evenly_or_as_bayesmark_does():
    space = Space({"a": {"type": "int", "space": "linear", "range": [0, 4]}, "b": {"type": "bool"}})
    shares = {}
    for sampling in ("uniform", "bayesmark"):
        search = get_optimizer("RandomSearch")(space, rng=np.random.default_rng(1), sampling=sampling)
        shares[sampling] = np.bincount(search.suggest(40_000)[:, 0].astype(int)) / 40_000
    assert shares["uniform"] == pytest.approx([0.2] * 5, abs=0.01)
    assert shares["bayesmark"] == pytest.approx([0.125, 0.25, 0.25, 0.25, 0.125], abs=0.01)


def test_a_launch_takes_random_search_as_bayesmark_draws_it():
    launch = Launch(uuid.UUID(ROOT), models=["DT"], data=["iris"], optimizers=["RandomSearch(sampling=bayesmark)"])
    (use,) = launch.optimizers
    assert (use.label, use.settings) == ("RandomSearch", {"sampling": "bayesmark"})
    with pytest.raises(OptarenaError, match="sampling"):
        Launch(uuid.UUID(ROOT), models=["DT"], data=["iris"], optimizers=["RandomSearch(sampling=best)"]).plan()
