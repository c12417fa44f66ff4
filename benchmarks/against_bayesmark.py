"""An evaluation and a study: optarena beside Bayesmark 0.0.8, RandomSearch, in one run.

Bayesmark does not start on a current Python; here it gets the versions it was last run with, and one line that gives
`IntEnum` its old text back.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import optarena as oa
from _measure import cpu, cpu_of_command, load, study, write_table
from _peers import ask, python_of
from optarena.problem import build

REQUIREMENTS = (
    "setuptools<66",
    "bayesmark==0.0.8",
    "numpy==1.23.5",
    "scipy==1.10.1",
    "scikit-learn==1.1.3",
    "xarray<2023",
    "pandas<2",
    "pathvalidate<3",
)
SHIM = "import enum; enum.IntEnum.__str__ = enum.Enum.__str__\n"
EVALUATIONS = (
    SHIM
    + """
import json, sys, time
from bayesmark.builtin_opt.random_optimizer import RandomOptimizer
from bayesmark.experiment import run_study
space, n = json.loads(sys.argv[1]), int(sys.argv[2])
class Nothing:
    def get_api_config(self):
        return space
    def evaluate(self, point):
        return (0.0,)
times = []
for _ in range(3):
    began = time.process_time()
    run_study(RandomOptimizer(space), Nothing(), n, 1)
    times.append((time.process_time() - began) / n)
print(json.dumps(min(times)))
"""
)
STUDY = SHIM + "import sys\nfrom bayesmark.{module} import main\nmain()\n"
N = 2_000


def main() -> None:
    import json

    python = python_of("bayesmark", *REQUIREMENTS)
    rows = []
    space = build("functions/mixed-tuning/d9").space
    # Bayesmark's `ordinal` and value lists are as ours; three, six and nine of the nine parameters
    for size in (3, 6, 9):
        part = dict(list(space.config.items())[:size])
        theirs = ask(python, EVALUATIONS, json.dumps(part), str(N)) * 1e6
        nothing = oa.as_problem(part, id=f"nothing{size}")(_nothing)
        ours = cpu(study("RandomSearch", nothing, N)) / N * 1e6
        rows.append((f"an evaluation, {size} parameters, problem called with a dict", theirs, ours, "us"))
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        arguments = ["-dir", directory, "-b", "db"]
        cpu_of_command([str(python), "-c", STUDY.format(module="experiment_db_init"), *arguments], cwd=place)
        one = ["-c", "kNN", "-d", "iris", "-o", "RandomSearch", "-u", "0" * 31 + "1", "-m", "acc", "-n", "1", "-p", "1"]
        theirs = cpu_of_command([str(python), "-c", STUDY.format(module="experiment"), *one, *arguments], cwd=place)
        rows.append(
            ("a study of one evaluation, whole process (theirs: kNN on iris)", theirs * 1e3, _study() * 1e3, "ms")
        )
    write_table("bayesmark", f"Bayesmark 0.0.8 (CPU; {load()})", rows)


def _nothing(_point: dict[str, object]) -> float:
    return 0.0


def _study() -> float:
    """One of our studies in a run of many, whole run divided by its studies."""
    import sys

    with tempfile.TemporaryDirectory() as directory:
        program = [sys.executable, "-c", "from optarena.cli import main; main()", "run", "-o", "RandomSearch"]
        flags = ["-p", "functions/sphere/d5", "-n", "1", "-r", "500", "--store", directory + "/s"]
        return cpu_of_command([*program, *flags]) / 500


if __name__ == "__main__":
    main()
