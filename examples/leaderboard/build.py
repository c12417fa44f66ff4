"""A leaderboard that builds itself: runs the experiment of each board, and writes a page with the answers.

    python examples/leaderboard/build.py -O board              every board; the same command continues what was stopped
    python examples/leaderboard/build.py -O board --quick      a tiny version of every board, to see how it works
    python examples/leaderboard/build.py -O board --only tuning -o mine.py:Mine        your own optimizer among them
    python examples/leaderboard/build.py -O board --workers 8  what it does not know goes to `optarena run`: any backend
    python examples/leaderboard/build.py -O board --no-run --page docs/leaderboard.md  only write the page

A board is an experiment in a TOML file beside this script, and a store in the folder that -O names. The page is made of
the stores alone: all boards that the folder has. Only what stands between its two marks is written.
"""

from __future__ import annotations

import argparse
import shlex
import subprocess
import sys
import time
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import optarena as oa

HERE = Path(__file__).parent
BEGIN, END = "<!-- boards, written by examples/leaderboard/build.py -->", "<!-- end of the boards -->"
MODELS = ("Ax", "BoTorch", "Optuna-GP", "SMAC", "Scikit-GBRT-Hedge", "Scikit-GP-Hedge", "Scikit-GP-LCB")
QUICK = ("RandomSearch", "QuasiRandom", "CMA-ES", "Scipy-NelderMead", "AMOSA", "Pymoo-NSGA2")
QUICK += ("Annealing", "Annealing(temperature=0)", "CP-SAT")
"""Who takes part in the tiny versions."""
FIGURES = {
    "final": "the score at the end, with 95 % intervals",
    "scott-knott": "medians and quartiles of the scores, in groups that a test separates",
    "gap": "the mean distance to the best known value over time, both logarithmic",
}
CAREFUL = 5
"""Warnings that the page shows."""


@dataclass(frozen=True)
class Board:
    """What a board needs beside its experiment."""

    title: str
    about: str
    quick: str
    """What `optarena run` is given for the tiny version."""
    slow: tuple[str, ...] = ()
    """Those that run only with --slow."""
    baseline: str = "RandomSearch"
    view: str = "fixed-cost"
    figure: str = "final"


BOARDS = {
    "tuning": Board(
        "Tuning",
        "Hyperparameters and architectures of neural networks: tables of real results (suite `hpo`), looked up.",
        "-p hpo/hpobench/{car,vehicle} -n 10 -r 2",
        (*MODELS, "SyneTune-BORE", "SyneTune-CQR"),
    ),
    "bbob-small": Board(
        "bbob with few evaluations",
        "COCO's functions with 10 evaluations per dimension, as few as one has when each of them takes an hour.",
        "-p bbob/f{1,8}/d5/i1 -n 10 -r 2",
        (*MODELS, "SyneTune-BORE", "SyneTune-CQR"),
    ),
    "bbob-large": Board(
        "bbob with many evaluations",
        "The same functions with 200 evaluations per dimension, scored by how soon targets (100 to 1e-8) are reached.",
        "-p bbob/f{1,8}/d2/i{1,2} -n 60",
        ("HyperOpt", "PySOT", "OpenTuner-BanditA", "OpenTuner-GA", "OpenTuner-GA-DE", "Optuna-TPE", "SyneTune-KDE"),
        view="fixed-target",
        figure="scott-knott",
    ),
    "objectives": Board(
        "Several objectives",
        "Two and three objectives: test problems with known fronts, pairs of bbob functions, models of engineering and"
        " of software projects.",
        "-p zdt/zdt{1,4} -n 120 -r 2",
        ("Optuna-TPE", "Optuna-GP", "BoTorch"),
        view="pareto",
        figure="scott-knott",
    ),
    "solvers": Board(
        "Solvers",
        "Job shops, knapsacks and tours, one thread and a few seconds each, scored by the complete curve of values over"
        " time. **Times depend on the machine and on what else it does**: on this board numbers repeat only roughly.",
        "-p jobshop/ft06 -p tsp/n10/i1 --seconds 0.2",
        baseline="Annealing",
        view="anytime",
        figure="gap",
    ),
}


# ---- running ---------------------------------------------------------------------------------------------------------


def listed(name: str) -> tuple[str, list[str]]:
    """The flag of `optarena run`, and who is named in a board's file: optimizers or solvers."""
    fields = tomllib.loads((HERE / f"{name}.toml").read_text(encoding="utf-8"))
    return ("-s", fields["solvers"]) if "solvers" in fields else ("-o", fields["optimizers"])


def taking_part(name: str, given: argparse.Namespace) -> list[str]:
    """Who runs on a board, as flags; a line on each that does not."""
    flag, names = listed(name)
    out = []
    for one in names:
        if given.quick and one not in QUICK:
            continue
        if one in BOARDS[name].slow and not given.slow:
            print(f"{name} without {one}: it is slow (--slow takes it in)")
        elif why := not_installed(one):
            print(f"{name} without {one}: {why}")
        else:
            out.append(one)
    out += given.solver if flag == "-s" else given.optimizer
    return [word for one in out for word in (flag, one)]


def not_installed(name: str) -> str:
    """Why an optimizer or solver cannot be used here: which extra it needs."""
    try:
        oa.Experiment(name, "functions/sphere/d2", 1, seconds=1).plan()
    except oa.OptarenaError as error:
        if "is not installed" not in str(error):
            raise
        return str(error)
    return ""


def run(name: str, store: Path, given: argparse.Namespace, backend: list[str]) -> None:
    """Run what the board's store does not have yet."""
    who = taking_part(name, given)
    if len(who) < 4:
        print(f"no board {name}: it needs two that are installed")
        return
    quick = shlex.split(BOARDS[name].quick) if given.quick else []
    words = ["run", HERE / f"{name}.toml", *who, *quick, "--store", store, *backend]
    print(f"\n{BOARDS[name].title}: {store}", flush=True)
    with subprocess.Popen([sys.executable, "-m", "optarena", *map(str, words)]) as process:
        try:
            code = process.wait()
        except KeyboardInterrupt:  # the run has been interrupted, too, and ends by itself
            process.wait()
            sys.exit(130)
    if code not in (0, 1):  # 1: some studies failed, which is a result
        sys.exit(code)


# ---- the page --------------------------------------------------------------------------------------------------------


def section(name: str, store: Path, images: Path) -> str:
    """A board's part of the page, made of its store."""
    board, results = BOARDS[name], oa.open(store)
    try:
        answer = results.compare(view=board.view).answer
    except oa.OptarenaError as error:  # jobs that have not begun, for instance
        return f"## {board.title}\n\n{board.about}\n\nNothing to compare yet: {error}"
    kind = "solver" if listed(name)[0] == "-s" else "optimizer"
    view = f" --view {board.view}" if board.view == "fixed-target" else ""
    parts = [
        f"## {board.title}",
        board.about,
        f"**{answer.headline}**",
        drawing(results, name, board, images),
        table(answer, board.baseline, kind),
        f"Score: {answer.scale}. {duels(answer, board.baseline)}",
        f"Every pair, and the statistics: `optarena compare board/{name}{view} --details`.",
        careful(answer),
        "**What was run:** " + facts(results, name, kind),
        one_number(results, name, answer.order),
    ]
    return "\n\n".join(part for part in parts if part)


def table(answer: Any, baseline: str, kind: str) -> str:
    lines = [
        f"| | {kind} | score | 95 % | beats {baseline} | 95 % | failed |",
        "| ---: | --- | ---: | --- | --- | --- | ---: |",
    ]
    for place, one in enumerate(answer.order, 1):
        value, *ends = answer.score[one]
        duel = answer.against(one, baseline) if one != baseline and baseline in answer.order else None
        beats = (answer.cell(one, baseline), between(duel["lower"], duel["upper"])) if duel else ("", "")
        failed = answer.failed.get(one, {"studies": 0, "of": 0})
        cells = [place, one, f"{value:.2f}", between(*ends), *beats, f"{failed['studies']} of {failed['of']}"]
        lines.append("| " + " | ".join(map(str, cells)) + " |")
    return "\n".join(lines)


def careful(answer: Any) -> str:
    """What may mislead; of pairs whose score and duels disagree, only those of the leader."""
    said = [text for text in answer.warnings if "has a better score than" not in text or answer.order[0] in text]
    said = said[:CAREFUL]
    more = len(answer.warnings) - len(said)
    said += [f"The command above has {more} more, mostly about pairs further down."] if more else []
    return "**Be careful:**\n\n" + "\n".join(f"- {text}" for text in said) if said else ""


def between(lower: float | None, upper: float | None) -> str:
    return "–" if lower is None or upper is None else f"{lower:.2f} to {upper:.2f}"


def duels(answer: Any, baseline: str) -> str:
    """Who is better and who is worse than the baseline, and what that is about."""
    decided = sum(pair["verdict"] != "undecided" for pair in answer.pairs)
    about = "similar problems" if answer.scope == "problems" else "new trials on just these problems"
    said = (
        "Duels are trial against trial: ▲ better, ▼ worse, ≈ equivalent, ? undecided. Their intervals hold together for"
        f" all pairs ({decided} of {len(answer.pairs)} are decided), and are about {about}."
    )
    for verdict in ("better", "worse"):
        found = [one for one in answer.order if answer.met.get((one, baseline), {}).get("verdict") == verdict]
        said += f" Shown to be {verdict} than {baseline}: {', '.join(found) or 'nobody'}."
    return said


def facts(results: oa.Results, name: str, kind: str) -> str:
    """How much was run, when, where and with which versions."""
    studies = results.studies
    ran = studies.filter(pl.col("status").is_in(["missing", "running", "interrupted", "stale"]).not_())
    each = ran.group_by("optimizer", "problem").len()["len"].unique().sort()
    seconds = [f"{some:g} s" for some in ran["budget_seconds"].drop_nulls().unique().sort()]
    budget = seconds or [f"{some:,} evaluations" for some in ran["budget"].unique().sort()]
    machines = {(made["python"], made["cpu"], made["cores"]) for made in results.environments()}
    absent = sorted(set(listed(name)[1]) - set(ran["optimizer"]))
    size = f"{ran['optimizer'].n_unique()} {kind}s on {ran['problem'].n_unique()} problems"
    spent = f"{ran.height:,} studies, {ran['cpu_seconds'].sum():,.0f} s of CPU"
    ended = time.strftime("%Y-%m-%d", time.gmtime(max(ran["ended"])))
    said = [
        f"{size}; budget {' or '.join(budget)}; trials per problem: {' or '.join(map(str, each))}; {spent}; {ended}.",
        *[f"Python {python}, {cpu}, {cores} cores." for python, cpu, cores in sorted(machines)],
        ", ".join(f"{package} {version}" for package, version, _ in results.versions().rows()) + ".",
    ]
    if unfinished := studies.height - ran.height:
        said.insert(0, f"**Not finished: {unfinished} studies are missing; the same command continues.**")
    if absent:
        said.append(f"Listed in the file but not run here (slow, not installed, or not quick): {', '.join(absent)}.")
    return " ".join(said)


def one_number(results: oa.Results, name: str, order: list[str]) -> str:
    """A study of the leader, and the commands that run it again."""
    flag, names = listed(name)
    leader = next(one for one in order if one in names)
    ended = results.studies.filter(pl.col("optimizer") == leader, pl.col("status").is_in(["done", "stopped early"]))
    study = ended.sort("trial", "problem").row(0, named=True)
    budget = ["--seconds", study["budget_seconds"]] if flag == "-s" else ["-n", study["budget"]]
    words = [
        f"examples/leaderboard/{name}.toml",
        flag,
        leader,
        "-p",
        study["problem"],
        *budget,
        "-r",
        study["trial"] + 1,
    ]
    found = "" if study["best"] is None else f", which found {study['best']:.6g}"
    return (
        f"**Replay** any number, such as study `{study['study'][:8]}`: {leader} on {study['problem']}{found}. The first"
        " two commands run it alone; it has the same id there. The third runs it again in your board, and compares.\n\n"
        f"```sh\noptarena run {shlex.join(map(str, words))} --store one\noptarena status one --studies\n"
        f"optarena replay board/{name} {study['study'][:8]}\n```"
    )


def drawing(results: oa.Results, name: str, board: Board, images: Path) -> str:
    """The board's figure, as a file beside the page."""
    file = images / f"leaderboard-{name}.svg"
    options = {"view": board.view} if board.figure == "scott-knott" else {}
    try:
        images.mkdir(parents=True, exist_ok=True)
        results.figure(board.figure, **options).save(str(file))
    except oa.OptarenaError as error:
        print(f"no figure of {name}: {error}")
        return ""
    return f"![{board.title}: {FIGURES[board.figure]}]({images.name}/{file.name})"


def write_page(page: Path, sections: list[str]) -> None:
    """Replace what stands between the marks of a page; a new page has nothing else."""
    text = page.read_text(encoding="utf-8") if page.exists() else f"# Leaderboard\n\n{BEGIN}\n{END}\n"
    before, _, rest = text.partition(BEGIN)
    _, found, after = rest.partition(END)
    if not found:
        sys.exit(f"{page} has no lines\n{BEGIN}\n{END}")
    page.write_text("\n\n".join([before + BEGIN, *sections, END + after]), encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter, allow_abbrev=False
    )
    parser.add_argument("-O", "--output", type=Path, required=True, help="folder of the stores and of the page")
    parser.add_argument("--page", type=Path, help="the page to write [leaderboard.md in the folder]")
    parser.add_argument("--only", choices=BOARDS, action="append", help="run only this board; repeat")
    parser.add_argument("-o", "--optimizer", action="append", default=[], help="one more optimizer; repeat")
    parser.add_argument("-s", "--solver", action="append", default=[], help="one more solver; repeat")
    parser.add_argument("--slow", action="store_true", help="also those that take long")
    parser.add_argument("--quick", action="store_true", help="a tiny version of every board")
    parser.add_argument("--no-run", action="store_true", help="only write the page of what the folder has")
    given, backend = parser.parse_known_args()
    for name in [] if given.no_run else given.only or BOARDS:
        run(name, given.output / name, given, backend)
    page = given.page or given.output / "leaderboard.md"
    there = [name for name in BOARDS if (given.output / name).exists()]
    write_page(page, [section(name, given.output / name, page.parent / "images") for name in there])
    print(f"\npage: {page}")


if __name__ == "__main__":
    main()
