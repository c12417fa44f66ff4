"""Make `best2009.csv.gz`: the least expected running times of the BBOB-2009 workshop, from the data that cocopp ships.

    python tools/make_best2009.py        # needs cocopp (extra peers)

One row per function (f1 to f24 are bbob's, f101 to f130 bbob-noisy's) and dimension, one column per target 10**(i/5),
from the easiest that any of them has to 1e-8: the evaluations after which the reference algorithm `best 2009` has
reached it. Empty: easier than its first level; inf: never reached. `best2009_runs.csv.gz` has successes/runs.
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

DATA = Path(__file__).parents[1] / "src/optarena/views/fixed_target/data"
ARCHIVES = ("best2009-bbob.tar.gz", "best2009-bbob-noisy.tar.gz")
LAST = -40
Level = tuple[int, float, int, int]
"""i of the target 10**(i/5), evaluations, successes, runs."""


def main() -> None:
    spec = find_spec("cocopp")
    if spec is None or spec.origin is None:
        raise SystemExit("cocopp is not installed: pip install 'optarena[peers]'")
    levels: dict[tuple[int, int], list[Level]] = {}
    for name in ARCHIVES:
        with tarfile.open(Path(spec.origin).parent / "refalgs" / name) as archive:
            for member in archive:
                found = re.search(r"_f(\d+)_d(\d+)\.dat$", member.name)
                file = archive.extractfile(member) if found else None
                if found and file is not None:
                    lines = [line.split() for line in file.read().decode().splitlines() if not line.startswith("%")]
                    levels[int(found[1]), int(found[2])] = [_level(line) for line in lines]
    first = max(i for rows in levels.values() for i, *_ in rows)
    grid = range(first, LAST - 1, -1)
    erts, runs = [], []
    for (f, d), rows in sorted(levels.items(), key=lambda item: (item[0][1], item[0][0])):
        reached = [next((row for row in rows if row[0] <= i), None) for i in grid]
        easier = [i > rows[0][0] for i in grid]
        erts.append([f, d, *("" if e else row[1] if row else "inf" for e, row in zip(easier, reached, strict=True))])
        counts = [f"{row[2]}/{row[3]}" if row else f"0/{rows[-1][3]}" for row in reached]
        runs.append([f, d, *("" if e else text for e, text in zip(easier, counts, strict=True))])
    head = ["function", "dimension", *(repr(10.0 ** (i / 5)) for i in grid)]
    _write("best2009.csv.gz", [head, *erts])
    _write("best2009_runs.csv.gz", [head, *runs])
    print(f"{len(levels)} functions and dimensions, targets from {10.0 ** (first / 5):g}")


def _level(line: list[str]) -> Level:
    return round(5 * np.log10(float(line[1]))), float(line[0]), int(line[-2]), int(line[-1])


def _write(name: str, rows: list[list[object]]) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    (DATA / name).write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))


if __name__ == "__main__":
    main()
