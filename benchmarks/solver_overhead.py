"""What a run of a solver costs over calling its library by hand: at most 5 % of a 10-second run.

By hand: a Python that imports OR-tools, builds the model of a knapsack, solves it within a time limit and prints each
solution. Ours: `optarena run` of the same, plan, workers, verification, journal and all; its own start is shared by the
runs of an experiment, here by four. Both search until the limit, so what differs is the rest. Wall seconds tell only on
a machine that does nothing else: the second part lets the solver sleep, so that all processor time is overhead.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from _measure import load

SECONDS = 10.0
RUNS = 4
REPEATS = 2
INSTANCE = "knapsack/m30n100/i1"

BY_HAND = """
from ortools.sat.python import cp_model
profit, weight, capacity = {profit!r}, {weight!r}, {capacity!r}
model = cp_model.CpModel()
take = [model.new_bool_var("") for _ in profit]
for row, most in zip(weight, capacity):
    model.add(sum(w * x for w, x in zip(row, take)) <= most)
model.maximize(sum(p * x for p, x in zip(profit, take)))
solver = cp_model.CpSolver()
solver.parameters.num_workers = 1
solver.parameters.max_time_in_seconds = {seconds!r}
class Print(cp_model.CpSolverSolutionCallback):
    def on_solution_callback(self):
        print(self.wall_time, self.objective_value, [self.value(x) for x in take], flush=True)
solver.solve(model, Print())
"""

SLEEPER = """
import time
import optarena as oa

class Sleeper(oa.Solver):
    takes = ("knapsack",)
    modules = ("ortools.sat.python.cp_model",)
    def solve(self, instance, budget, emit):
        nothing = [0] * instance.size
        for _ in range(50):
            emit(0, nothing, decisions=1)
        time.sleep(1)
"""

Spent = tuple[float, float]


def spent(command: Sequence[str], cwd: str | None = None) -> Spent:
    """Wall and CPU seconds of a command with its children."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(list(command), check=True, capture_output=True, cwd=cwd)
    after, wall = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter() - began
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def by_hand(code: str) -> Spent:
    return spent([sys.executable, "-c", code])


def ours(solver: str, seconds: float, files: dict[str, str]) -> Spent:
    """Of one run, where several are made."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in files.items():
            (Path(folder) / name).write_text(text)
        words = ["run", "-s", solver, "-p", INSTANCE, "--seconds", str(seconds), "--workers", "1", "-r", str(RUNS)]
        wall, cpu = spent([sys.executable, "-c", "from optarena.cli import main; main()", *words], cwd=folder)
        return wall / RUNS, cpu / RUNS


def main() -> None:
    from optarena.problem import build

    knapsack = build(INSTANCE)
    facts = {name: getattr(knapsack, name).tolist() for name in ("profit", "weight", "capacity")}
    real = BY_HAND.format(**facts, seconds=SECONDS)
    asleep = "import time\nfrom ortools.sat.python import cp_model\ntime.sleep(1)"
    print(f"{INSTANCE}, {SECONDS:g} s, one thread ({load()})")
    for what, calls, column in (
        ("wall seconds of a real run", (lambda: by_hand(real), lambda: ours("CP-SAT", SECONDS, {})), 0),
        (
            "CPU seconds beside a solver that sleeps",
            (lambda: by_hand(asleep), lambda: ours("mine.py:Sleeper", 2.0, {"mine.py": SLEEPER})),
            1,
        ),
    ):
        hand, run = (min(call()[column] for _ in range(REPEATS)) for call in calls)
        more = run - hand
        print(
            f"  {what}: by hand {hand:.2f}, optarena {run:.2f}: {more:.2f} more, {more / SECONDS:.1%} (to reach: 5 %)"
        )


if __name__ == "__main__":
    main()
