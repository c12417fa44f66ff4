"""How close two workers come to half the time, on studies of 50 ms."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

import optarena as oa
from _measure import load

STUDIES = 200
FILE = """
import time
import optarena as oa

@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}})
def fifty(x):
    time.sleep(0.010)
    return x["x"]
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        (Path(directory) / "mine.py").write_text(FILE)
        seconds = {}
        for workers in (1, 2):
            for studies in (2, 2 + STUDIES):
                experiment = oa.Experiment("RandomSearch", "mine.py:fifty", 5, trials=studies, base=Path(directory))
                began = time.perf_counter()
                results = experiment.run(Path(directory) / f"{workers}-{studies}", workers=workers)
                seconds[workers, studies] = time.perf_counter() - began
                assert set(results.studies["status"]) == {"done"}
        pace = {workers: (seconds[workers, 2 + STUDIES] - seconds[workers, 2]) / STUDIES for workers in (1, 2)}
        ideal = 0.050 / 2
        print(f"studies of 50 ms, start-up taken off ({load()})")
        print(f"  1 worker: {pace[1] * 1e3:.1f} ms a study; 2 workers: {pace[2] * 1e3:.1f} ms")
        print(f"  2 workers reach {ideal / pace[2]:.0%} of ideal (to reach: 90 %)")


if __name__ == "__main__":
    main()
