"""Collects what coco-experiment knows and does not tell: `python tools/collect_coco.py`, in a new folder.

The hypervolumes of bbob-biobj's best known fronts stand in the headers of its observer's files (1 where there is none);
ideal points are optima of bbob, nadir points are told; the optima of bbob-constrained are asked of the C library. The
table is shipped, and read by `coco_suites`: run this again for a new version of the library and compare.
"""

from __future__ import annotations

import csv
import ctypes
import gzip
import io
import re
from pathlib import Path
from typing import Any

import optarena.problems

OUT = Path(optarena.problems.__file__).parent / "data" / "coco_known.csv.gz"
HEAD = ("suite", "function", "dimension", "instance", "optimum", "ideal1", "ideal2", "nadir1", "nadir2", "hypervolume")
_REFERENCE = re.compile(r"instance = (\d+), reference value = (\S+)")
_PARTS = re.compile(r"f0*(\d+)_i0*(\d+)_d0*(\d+)")


def main() -> None:
    import cocoex

    cocoex.log_level("warning")
    rows = [*_constrained(cocoex), *_biobj(cocoex)]
    text = io.StringIO()
    text.write(f"# coco-experiment {cocoex.__version__}\n")
    writer = csv.DictWriter(text, HEAD, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    OUT.write_bytes(gzip.compress(text.getvalue().encode(), mtime=0))
    print(f"{OUT}: {len(rows)} problems, {OUT.stat().st_size:,} bytes")


def _observed(cocoex: Any, suite: str, function: int, dimension: int) -> list[Any]:
    """Evaluate every instance once under an observer; what the problems say."""
    problems = cocoex.Suite(suite, "instances: 1-15", f"function_indices: {function} dimensions: {dimension}")
    observer = cocoex.Observer(suite, f"result_folder: {suite}-{function}-{dimension} log_nondominated: none")
    out = []
    for problem in problems:
        problem.observe_with(observer)
        problem(problem.initial_solution)
        out.append((problem.id_instance, problem.name, problem.largest_fvalues_of_interest))
    return out


def _constrained(cocoex: Any) -> list[dict[str, Any]]:
    """Asked of the C library itself: in the observer's files the optima have thirteen digits."""
    library = ctypes.CDLL(cocoex.interface.__file__)
    for name in ("coco_suite", "coco_suite_get_next_problem"):
        getattr(library, name).restype = ctypes.c_void_p
    library.coco_suite.argtypes = [ctypes.c_char_p] * 3
    library.coco_suite_get_next_problem.argtypes = [ctypes.c_void_p] * 2
    library.coco_problem_get_best_value.argtypes = [ctypes.c_void_p]
    library.coco_problem_get_best_value.restype = ctypes.c_double
    rows = []
    for f in range(1, 55):
        for d in (2, 3, 5, 10, 20, 40):
            some = f"function_indices: {f} dimensions: {d}".encode()
            suite = library.coco_suite(b"bbob-constrained", b"instances: 1-15", some)
            for instance in range(1, 16):
                value = library.coco_problem_get_best_value(library.coco_suite_get_next_problem(suite, None))
                key = {"suite": "bbob-constrained", "function": f, "dimension": d, "instance": instance}
                rows.append({**key, "optimum": repr(value)})
    return rows


def _biobj(cocoex: Any) -> list[dict[str, Any]]:
    rows = []
    for f in range(1, 56):
        for d in (2, 3, 5, 10, 20, 40):
            seen = _observed(cocoex, "bbob-biobj", f, d)
            (path,) = Path("exdata").glob(f"bbob-biobj-{f}-{d}/*/*_hyp.dat")
            found = dict(_REFERENCE.findall(path.read_text()))
            for instance, name, nadir in seen:
                key = {"suite": "bbob-biobj", "function": f, "dimension": d, "instance": instance}
                ideal = [
                    cocoex.BareProblem("bbob", int(g), int(e), int(i)).best_value() for g, i, e in _PARTS.findall(name)
                ]
                points = {f"ideal{k + 1}": repr(float(value)) for k, value in enumerate(ideal)}
                points |= {f"nadir{k + 1}": repr(float(value)) for k, value in enumerate(nadir)}
                rows.append({**key, **points, "hypervolume": repr(float(found[str(instance)]))})
    return rows


if __name__ == "__main__":
    main()
