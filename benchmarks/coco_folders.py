"""COCO data of three algorithms on bbob (24 functions, 5 dimensions, 15 instances): import, open, export, and cocopp.

The data is made by coco-experiment's observer, once, under `benchmarks/.peers/`.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import optarena as oa
from _measure import cpu, load
from _peers import HERE, ask, python_of
from optarena.formats import export, import_files

DATA = HERE / "coco-data"
MAKE = """
import sys
import cocoex
import numpy as np
cocoex.log_level("warning")
name = sys.argv[1]
suite = cocoex.Suite("bbob", "instances: 1-15", "dimensions: 2,3,5,10,20")
observer = cocoex.Observer("bbob", f"result_folder: {name} algorithm_name: {name}")
for n, problem in enumerate(suite):
    problem.observe_with(observer)
    rng, d = np.random.default_rng(n), problem.dimension
    if name == "RS":
        for x in rng.uniform(-5, 5, (300 * d, d)):
            problem(x)
    else:  # (1+1)-ES with the one-fifth rule
        x, step = rng.uniform(-4, 4, d), 2.0 if name == "ES" else 0.5
        best = problem(x)
        for z in rng.standard_normal((300 * d - 1, d)):
            if problem.final_target_hit:
                break
            value = problem(x + step * z)
            better = value <= best
            x, best, step = (x + step * z, value, step * 1.5) if better else (x, best, step * 1.5**-0.25)
"""
LOAD = """
import contextlib, io, json, sys, time, warnings
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import cocopp
    began = time.process_time()
    sets = [cocopp.load(folder) for folder in sys.argv[1:]]
print(json.dumps([time.process_time() - began, sum(map(len, sets))]))
"""


def data() -> list[Path]:
    """The folders of the three algorithms, made if they are not there."""
    names = ("RS", "ES", "ES2")
    DATA.mkdir(parents=True, exist_ok=True)
    for name in names:
        if not (DATA / name / "done").exists():
            with tempfile.TemporaryDirectory() as scratch:
                subprocess.run([sys.executable, "-c", MAKE, name], cwd=scratch, check=True, capture_output=True)
                subprocess.run(["cp", "-r", f"{scratch}/exdata/{name}", str(DATA)], check=True)
            (DATA / name / "done").touch()
    return [DATA / name for name in names]


def main() -> None:
    folders = data()
    with tempfile.TemporaryDirectory() as scratch:
        store = Path(scratch) / "store"
        imported = cpu(lambda: import_files("coco", folders, store), 1)
        opened = cpu(lambda: oa.open(store).studies)
        results = oa.open(store)
        exported = cpu(lambda: export("coco", results, Path(scratch) / "out"), 1)
        rows = int(results.traces().offsets[-1])
    peer, sets = ask(python_of("cocopp", "cocopp", "six"), LOAD, *map(str, folders))
    megabytes = sum(path.stat().st_size for folder in folders for path in folder.rglob("*dat")) / 1e6
    print(f"{results.studies.height:,} runs, {megabytes:.0f} MB, {rows:,} improvements ({load()})")
    print(f"import            {imported:6.2f} s CPU")
    print(f"open              {opened:6.2f} s CPU")
    print(f"export            {exported:6.2f} s CPU")
    print(f"cocopp, loading   {peer:6.2f} s CPU ({sets} data sets): {peer / (imported + opened):.1f}x import and open")


if __name__ == "__main__":
    main()
