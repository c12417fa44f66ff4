"""iohinspector beside optarena on logs that ioh wrote: 720 runs on bbob; load, ERT, fixed budget, AOCC.

    python benchmarks/against_iohinspector.py

CPU seconds after both libraries are imported. The logs are made by ioh, once, under `benchmarks/.peers/`.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from _measure import load, write_table
from _peers import HERE, ask, python_of

MAKE = """
import sys
import ioh
import numpy as np
root = sys.argv[1]
for name in ("RandomSearch", "ES", "ES2"):
    logger = ioh.logger.Analyzer(root=root, folder_name=name, algorithm_name=name)
    for f in range(1, 25):
        for d in (2, 5):
            for i in range(1, 6):
                problem = ioh.get_problem(f, i, d, ioh.ProblemClass.BBOB)
                problem.attach_logger(logger)
                rng = np.random.default_rng(1000 * f + 10 * d + i)
                x, step = rng.uniform(-4, 4, d), 2.0 if name == "ES" else 0.5
                best = problem(x)
                for z in rng.standard_normal((200 * d - 1, d)):
                    if name == "RandomSearch":
                        problem(rng.uniform(-5, 5, d))
                        continue
                    value = problem(x + step * z)
                    better = value <= best
                    x, best, step = (x + step * z, value, step * 1.5) if better else (x, best, step * 1.5**-0.25)
                problem.reset()
    logger.close()
"""
THEIRS = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
import iohinspector
from iohinspector.metrics import aggregate_convergence, aggregate_running_time, get_aocc, transform_fval
keys = ["algorithm_name", "function_id", "dimension"]
began = time.process_time()
manager = iohinspector.DataManager()
for folder in sys.argv[1:]:
    manager.add_folder(folder)
frame = manager.load(monotonic=True, include_meta_data=True)
aggregate_running_time(frame, free_vars=keys, f_min=1e-8, f_max=1e2)
aggregate_convergence(frame, free_vars=keys)
get_aocc(transform_fval(frame), eval_max=1000, free_vars=keys)
print(json.dumps([time.process_time() - began, frame.height]))
"""
OURS = """
import json, sys, tempfile, time
from pathlib import Path
import optarena
from optarena.formats import import_files
from optarena.views.convergence import convergence
from optarena.views import fixed_target
began = time.process_time()
with tempfile.TemporaryDirectory() as scratch:
    store = Path(scratch) / "store"
    import_files("iohprofiler", [Path(name) for name in sys.argv[1:]], store)
    results = optarena.open(store)
    view = results.fixed_target(bootstrap=0, only=["aocc"])
    view.ert, view.table("aocc")
    convergence(results, "evaluations")
print(json.dumps([time.process_time() - began, results.studies.height]))
"""


def main() -> None:
    python = python_of("ioh", "ioh", "iohinspector")
    place = HERE / "ioh-data"
    if not (place / "done").exists():
        place.mkdir(parents=True, exist_ok=True)
        subprocess.run([str(python), "-c", MAKE, str(place)], check=True, capture_output=True)
        (place / "done").touch()
    folders = [str(place / name) for name in ("RandomSearch", "ES", "ES2")]
    theirs, rows = ask(python, THEIRS, *folders)
    ours, runs = ask(Path(sys.executable), OURS, *folders)
    work = f"load, ERT, fixed budget and AOCC of {runs:,} runs ({rows:,} rows)"
    write_table("iohinspector", f"iohinspector 0.0.8 (CPU; {load()})", [(work, theirs, ours, "s")])


if __name__ == "__main__":
    main()
