"""cocopp beside optarena, in one run: three algorithms on bbob (24 functions, 5 dimensions, 15 instances), all of it.

    python benchmarks/against_cocopp.py

Ours: import, ERTs for 51 targets, all ECDFs and tables as JSON, and the HTML report; and then, of the same store, the
figures and tables of a paper. Theirs: its command, which loads the folders and writes tables and figures. All are CPU
seconds of a process and its children.
"""

from __future__ import annotations

import compileall
import sys
import tempfile
from pathlib import Path

import optarena
from _measure import cpu_of_command, load, write_table
from _peers import python_of
from coco_folders import data

JOB = """
import sys
from pathlib import Path
import optarena
import msgspec
from optarena._json import strict
from optarena.formats import import_files
out = Path(sys.argv[1])
import_files("coco", [Path(name) for name in sys.argv[2:]], out / "store")
results = optarena.open(out / "store")
view = results.fixed_target()
(out / "tables.json").write_bytes(msgspec.json.encode(strict(view.to_data())))
results.report(out / "report.html", fixed_target=view)
"""


def main() -> None:
    folders = [str(folder) for folder in data()]
    # pip compiles the peer; a source tree may have no bytecode, and PYTHONDONTWRITEBYTECODE would keep it so
    compileall.compile_dir(Path(optarena.__file__).parent, quiet=1)
    with tempfile.TemporaryDirectory() as scratch:
        ours = cpu_of_command([sys.executable, "-c", JOB, scratch, *folders])
        command = [sys.executable, "-m", "optarena", "paper", "coco", f"{scratch}/store", "-O", f"{scratch}/paper"]
        papers = cpu_of_command(command)
        peer = [str(python_of("cocopp", "cocopp", "six")), "-m", "cocopp", "-o", f"{scratch}/ppdata", *folders]
        theirs = cpu_of_command(peer, cwd=Path(scratch))
    rows = [
        ("import, ERTs for 51 targets, ECDFs, tables and report of 5,400 runs", theirs, ours, "s"),
        ("the figures and tables of a paper (`optarena paper coco`)", theirs, papers, "s"),
    ]
    write_table("cocopp", f"cocopp 2.9.1 (CPU; {load()})", rows)


if __name__ == "__main__":
    main()
