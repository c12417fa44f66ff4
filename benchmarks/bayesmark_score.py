"""Scoring 48 studies: `optarena score` beside Bayesmark's agg, baseline and anal, whole processes, one database."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

from _bayesmark import DATABASE, PEER, run_theirs
from _measure import cpu_of_command, load, write_table
from bayesmark_launch import launch_ours


def main() -> None:
    program = [sys.executable, "-c", "import sys; from optarena.cli import main; sys.exit(main())"]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        launch_ours(root / "ours")
        shutil.copytree(root / "ours", root / "theirs")
        flags = ["-dir", str(root / "theirs"), "-b", DATABASE]
        theirs = sum(run_theirs(command, *flags) for command in ("agg", "baseline", "anal"))
        flags = ["-dir", str(root / "ours"), "-b", DATABASE]
        same = sum(cpu_of_command([*program, "bayesmark", name, *flags]) for name in ("agg", "baseline", "anal"))
        ours = cpu_of_command([*program, "score", str(root / "ours" / DATABASE / "optarena"), "--mode", "bayesmark"])
    rows = [
        ("48 studies scored (theirs: agg, baseline, anal; ours: score)", theirs, ours, "s"),
        ("the same three commands, which write the same files", theirs, same, "s"),
    ]
    write_table("bayesmark_score", f"{PEER} (CPU; {load()})", rows)


if __name__ == "__main__":
    main()
