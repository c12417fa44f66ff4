"""A leaderboard of every optimizer for one objective that is installed, on tuning tables and on bbob in 5 dimensions.

    python examples/leaderboard.py                     what is fast: some minutes
    python examples/leaderboard.py --slow --trials 3   all: two hours of one core; goes on in the same store
    python examples/leaderboard.py --quick             a few seconds, to see how it works

Stop it at any time; the same command goes on where it stopped, and more evaluations or trials extend what is there.
It ends with the answer and with `report.html` in the store. An optimizer that is not installed is left
out with a line that says how to install it; so is one that takes more than 0.05 s of CPU a point, unless `--slow`.

Score: 0 is the best value that anyone saw on a problem, 1 random search with as many evaluations, more is worse.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import optarena as oa
from optarena.comparison import Comparison
from optarena.optimizer import OPTIMIZERS

PROBLEMS = {
    "tuning tables": "hpo/{hpobench/{car,vehicle},hpolib/protein_structure,nasbench201/cifar100}",
    "bbob, 5 dimensions": "bbob/f{1,6,10,15,21}/d5/i1",
}
QUICK = {"tuning tables": "hpo/hpobench/car", "bbob, 5 dimensions": "bbob/f1/d5/i1"}
SLOW = {
    "Ax",
    "BoTorch",
    "Optuna-GP",
    "SMAC",
    "Scikit-GBRT-Hedge",
    "Scikit-GP-Hedge",
    "Scikit-GP-LCB",
    "SyneTune-BORE",
    "SyneTune-CQR",
}
"""More than 0.05 s of CPU a point: in 5 dimensions, on average over the first 50."""
SAME = {"Scipy-DualAnnealing"}
"""A second name of another one (SimulatedAnnealing)."""
QUICKEST = {"RandomSearch", "QuasiRandom", "CMA-ES", "Pymoo-GA", "Scipy-NelderMead", "NLopt-BOBYQA"}


def chosen(slow: bool, quick: bool) -> list[str]:
    """The optimizers that take part; a line on each that does not."""
    out = []
    for entry in OPTIMIZERS.entries():
        several = not entry.load().capabilities.one_objective
        if several or entry.name in SAME or (quick and entry.name not in QUICKEST):
            continue
        if not entry.installed:
            print(f"without {entry.name}: pip install 'optarena[{entry.extra}]'")
        elif entry.name in SLOW and not slow:
            print(f"without {entry.name}: more than 0.05 s a point (--slow takes it in)")
        else:
            out.append(entry.name)
    return out


def table(made: Comparison) -> str:
    """The answer as Markdown: score, and the duels with random search."""
    lines = ["| | optimizer | score | 95 % | beats random search |", "| ---: | --- | ---: | --- | --- |"]
    for place, name in enumerate(made.answer.order, 1):
        value, lower, upper = made.answer.score[name]
        pair = made.answer.met.get((name, "RandomSearch"))
        ends = "–" if lower is None or upper is None else f"{lower:.2f} to {upper:.2f}"
        duels = (
            ""
            if pair is None
            else f"{made.answer.cell(name, 'RandomSearch')} [{pair['lower']:.2f}, {pair['upper']:.2f}]"
        )
        lines.append(f"| {place} | {name} | {value:.2f} | {ends} | {duels} |")
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, default=Path("leaderboard-store"), help="directory of the results")
    parser.add_argument("--evaluations", type=int, default=50, help="of each study (50)")
    parser.add_argument("--trials", type=int, default=5, help="repetitions of each study (5)")
    parser.add_argument("--workers", type=int, help="processes (one a core; 0: in this one)")
    parser.add_argument("--slow", action="store_true", help="also those that take more than 0.05 s a point")
    parser.add_argument("--quick", action="store_true", help="six optimizers, two problems, 10 evaluations, 2 trials")
    parser.add_argument("--table", type=Path, help="write the answer's table to this Markdown file")
    given = parser.parse_args()
    problems = QUICK if given.quick else PROBLEMS
    evaluations, trials = (10, 2) if given.quick else (given.evaluations, given.trials)

    experiment = oa.Experiment(chosen(given.slow, given.quick), list(problems.values()), evaluations, trials=trials)
    print(
        f"{len(experiment.plan().studies)} studies of {evaluations} evaluations; watch: optarena status {given.store}"
    )
    results = experiment.run(given.store, workers=given.workers)

    made = results.compare()
    print(f"\n{made.text(120)}")
    if given.table is not None:
        given.table.write_text(table(made), encoding="utf-8")
    print(f"\nreport: {results.report(given.store / 'report.html')}")


if __name__ == "__main__":
    main()
