"""Make `best2009.csv.gz`: the least expected running times of the BBOB-2009 workshop, from the data that cocopp ships.

    python tools/make_best2009.py        # needs cocopp (extra peers)

One row per function and dimension, one column per target 10**(i/5), from the easiest that any of them has to 1e-8: the
evaluations after which the reference algorithm `best 2009` has reached it. Empty: easier than its first level, or never
reached.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
import tarfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np

TARGET = Path(__file__).parents[1] / "src/optarena/views/fixed_target/data/best2009.csv.gz"
LAST = -40


def main() -> None:
    spec = find_spec("cocopp")
    if spec is None or spec.origin is None:
        raise SystemExit("cocopp is not installed: pip install 'optarena[peers]'")
    levels: dict[tuple[int, int], list[tuple[int, float]]] = {}
    with tarfile.open(Path(spec.origin).parent / "refalgs" / "best2009-bbob.tar.gz") as archive:
        for member in archive:
            found = re.search(r"_f(\d+)_d(\d+)\.dat$", member.name)
            file = archive.extractfile(member) if found else None
            if found and file is not None:
                rows = [line.split() for line in file.read().decode().splitlines() if not line.startswith("%")]
                place = int(found[1]), int(found[2])
                levels[place] = [(round(5 * np.log10(float(row[1]))), float(row[0])) for row in rows]
    first = max(i for rows in levels.values() for i, _ in rows)
    grid = range(first, LAST - 1, -1)
    text = io.StringIO()
    out = csv.writer(text, lineterminator="\n")
    out.writerow(["function", "dimension", *(repr(10.0 ** (i / 5)) for i in grid)])
    for (f, d), rows in sorted(levels.items(), key=lambda item: (item[0][1], item[0][0])):
        evaluations = []
        for i in grid:
            hits = [ert for level, ert in rows if level <= i]
            evaluations.append("" if i > rows[0][0] or not hits else min(hits))
        out.writerow([f, d, *evaluations])
    TARGET.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    print(f"{TARGET.name}: {len(levels)} rows, targets from {10.0 ** (first / 5):g}")


if __name__ == "__main__":
    main()
