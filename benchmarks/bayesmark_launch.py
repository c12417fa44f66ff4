"""A launch of 48 studies: optarena beside Bayesmark 0.0.8, evaluations included, in one run.

DT and SVM on iris and diabetes, all metrics, 15 calls, 3 repetitions; random search and a wrapper file that both run
as it is.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from _bayesmark import DATABASE, PEER, WRAPPERS, run_theirs
from _measure import cpu_of_command, load, write_table

FLAGS = ["-c", "DT", "SVM", "-d", "iris", "diabetes", "-n", "15", "-r", "3", "-u", "0123456789abcdef0123456789abcdef"]
FLAGS += ["-o", "RandomSearch", "Near", "-odir", str(WRAPPERS)]


def launch_ours(root: Path) -> float:
    """CPU seconds of our launch, workers and all."""
    program = [sys.executable, "-c", "import sys; from optarena.cli import main; sys.exit(main())", "bayesmark"]
    return cpu_of_command([*program, "launch", "-dir", str(root), "-b", DATABASE, *FLAGS])


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        (root / "theirs").mkdir()
        theirs = run_theirs("launch", "-dir", str(root / "theirs"), "-b", DATABASE, *FLAGS)
        ours = launch_ours(root / "ours")
        for name in ("ours", "theirs"):
            made = len(list((root / name / DATABASE / "eval").iterdir()))
            assert made == 48, f"{name}: {made} studies"
    rows = [("a launch of 48 studies of 15 evaluations, evaluations included", theirs, ours, "s")]
    write_table("bayesmark_launch", f"{PEER} (CPU; {load()})", rows)


if __name__ == "__main__":
    main()
