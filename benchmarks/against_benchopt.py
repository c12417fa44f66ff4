"""A study with next to nothing to evaluate: optarena beside benchopt, in one run.

What a further study costs: the CPU of a run of many less that of a run of few, so that start-up counts for neither.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _measure import cpu_of_command, load, write_table
from _peers import python_of

REQUIREMENTS = ("benchopt==1.10.0",)
FEW, MANY = 10, 410
FILES = {
    "objective.py": """
from benchopt import BaseObjective
class Objective(BaseObjective):
    name = "nothing"
    def set_data(self, x):
        self.x = x
    def get_objective(self):
        return dict(x=self.x)
    def evaluate_result(self, value):
        return dict(value=value)
    def get_one_result(self):
        return dict(value=0.0)
""",
    "datasets/one.py": """
from benchopt import BaseDataset
class Dataset(BaseDataset):
    name = "one"
    def get_data(self):
        return dict(x=1.0)
""",
    "solvers/nothing.py": """
from benchopt import BaseSolver
class Solver(BaseSolver):
    name = "nothing"
    sampling_strategy = "run_once"
    def set_objective(self, x):
        self.x = x
    def run(self, _):
        self.value = self.x
    def get_result(self):
        return dict(value=self.value)
""",
}


def theirs(python: Path, place: Path, studies: int) -> float:
    command = [str(python.parent / "benchopt"), "run", ".", "--no-plot", "--no-html", "--no-display", "--no-cache"]
    return cpu_of_command([*command, "-r", str(studies)], cwd=place)


def ours(place: Path, studies: int) -> float:
    program = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())", "run"]
    flags = ["-o", "RandomSearch", "-p", "functions/sphere/d5", "-n", "1", "-r", str(studies)]
    return cpu_of_command([*program, *flags, "--store", str(place / f"store{studies}")])


def main() -> None:
    python = python_of("benchopt", *REQUIREMENTS)
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name, text in FILES.items():
            (place / name).parent.mkdir(exist_ok=True)
            (place / name).write_text(text)
        peer = (theirs(python, place, MANY) - theirs(python, place, FEW)) / (MANY - FEW)
        mine = (ours(place, MANY) - ours(place, FEW)) / (MANY - FEW)
    rows = [("a further study of one evaluation", peer * 1e3, mine * 1e3, "ms")]
    write_table("benchopt", f"benchopt 1.10.0 (CPU; {load()})", rows)


if __name__ == "__main__":
    main()
