"""Damaged files, made by seed: a corpus of good inputs, what can happen to bytes, and what readers must do with them.

A case is a target and a number: the number seeds the damage. `tests/test_fuzz.py` runs a few of each target,
`benchmarks/fuzz.py` a million.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import random
import re
import shutil
import tarfile
import traceback
import zipfile
from collections.abc import Callable, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

import numpy as np
import polars as pl

import optarena as oa
import stores
from bayesmark_figures import load
from optarena._bayesmark_names import VISIBLE
from optarena.cli import main
from optarena.errors import LONGEST_LINE, OptarenaError
from optarena.formats import import_files
from optarena.problems.command import CommandProblem
from optarena.registry import Reference
from optarena.solvers.command import open_reference

DATA = Path(__file__).parent / "data"
SAMPLES = DATA / "coco" / "samples"
Files = dict[str, bytes]
"""Path below the folder of a target -> bytes."""

# ---- the corpus -----------------------------------------------------------------------------------------------------

ARIES = (
    "type,num_solutions,objective,time(us),num_decisions,num_conflicts,num_dom_updates,num_restarts\n"
    "start,0,,0,0,0,0,0\nnew_solution,1,40,1500,7,1,90,0\nnew_solution,2,35,2000000,20,5,300,1\n"
)
GATHERED = ("problem,flatzinc,", "shop,one,", "shop,one,", "shop,one,")
MINIZINC = """{"type": "warning", "message": "old"}
{"type": "solution", "output": {"json": {"x": 1, "_objective": 5.0}}, "time": 10}
{"type": "solution", "output": {"json": {"x": 2, "_objective": 3}}, "time": 25}
{"type": "statistics", "statistics": {"nodes": 12, "failures": 3, "method": "minimize"}}
{"type": "status", "status": "OPTIMAL_SOLUTION", "time": 31}
"""
MANIFEST = "file,problem,configuration,trial,sense,budget_seconds,best_known\n"
EXPERIMENT = """
optimizers = ["RandomSearch", {use = "QuasiRandom", name = "Q", settings = {scramble = true}}]
problems = ["functions/sphere/d{2,5}"]
budget = "10*D"
trials = 3
batch = 2
record = "improvements"
seed = "00000000-0000-0000-0000-000000000001"
[limits]
evaluation = 5.0
memory = 900
"""
PROBLEM = """
[problem]
command = ["sh", "solve.sh"]
seconds = 5.0
[problem.space]
rate = {type = "real", space = "log", range = [1e-5, 1.0]}
size = {type = "int", space = "linear", range = [1, 9]}
kind = {type = "cat", values = ["a", "b"]}
"""
SOLVER = """
[solver]
command = ["sh", "{instance}", "{effort}"]
output = "lines"
version = "1.2"
[solver.settings]
effort = 3
"""


def from_folder(path: Path) -> Files:
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def _csv() -> bytes:
    frame = stores.frame(optimizers=("RandomSearch", "Good"), problems=("a/d2",), trials=2, evaluations=8)
    return frame.with_columns(sense=pl.lit("min"), f_opt=pl.lit(-1.0), ended=pl.lit("done")).write_csv().encode()


def _parquet() -> bytes:
    buffer = io.BytesIO()
    stores.frame(optimizers=("RandomSearch", "Good"), problems=("a/d2",), trials=2, evaluations=8).write_parquet(buffer)
    return buffer.getvalue()


def _bayesmark() -> Files:
    out: Files = {}
    for study in load("real/r01/studies.json.gz")[:3]:
        rows, columns = np.shape(study["eval"][VISIBLE]["data"])
        sizes = {"iter": rows, "suggestion": columns}
        coords = {name: {"dims": [name], "attrs": {}, "data": list(range(n))} for name, n in sizes.items()}
        meta = {"args": study["args"], "signature": [study["signature_x"], study["signature_y"]]}
        for folder in ("eval", "time", "suggest_log"):
            data = {"coords": coords, "attrs": {}, "dims": sizes, "data_vars": study[folder]}
            out[f"{folder}/{study['uuid']}.json"] = json.dumps({"meta": meta, "data": data}).encode()
    return out


def _zipped(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(zipfile.ZipInfo(name), data)
    return buffer.getvalue()


def _tarred(files: Mapping[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as archive:
        for name, data in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _compacted(folder: Path) -> Files:
    """A store of today: a run, an import, a shard and journals beside it."""
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom"], "functions/sphere/d2", budget=12, trials=2, seed=f"{1:032x}"
    )
    experiment.run(folder, workers=0)
    with redirect_stdout(io.StringIO()):
        main(["compact", str(folder)])
    oa.from_frame(stores.frame(trials=1, evaluations=6), folder)
    return from_folder(folder)


def corpus(target: str, scratch: Path) -> Files:
    """The good files of a target; `scratch` is an empty folder that may be written to."""
    coco = {f"{name}/{path}": data for name in ("bbob", "bbob-biobj", "bbob-constrained")
            for path, data in from_folder(SAMPLES / name).items()}  # fmt: skip
    ioh = {f"{name}/{path}": data for name in ("ioh", "ioh-max") for path, data in from_folder(SAMPLES / name).items()}
    make: dict[str, Callable[[], Files]] = {
        "csv": lambda: {"in.csv": _csv()},
        "csv.gz": lambda: {"in.csv.gz": gzip.compress(_csv(), mtime=0)},
        "parquet": lambda: {"in.parquet": _parquet()},
        "coco": lambda: coco,
        "iohprofiler": lambda: ioh,
        "zip": lambda: {"in.zip": _zipped(from_folder(SAMPLES / "bbob"))},
        "tar": lambda: {"in.tar.gz": _tarred(from_folder(SAMPLES / "ioh"))},
        "minizinc": lambda: {
            "gecode/queens.json": MINIZINC.encode(),
            "queens__chuffed__2.jsonl": MINIZINC.encode(),
            "told/manifest.csv": f"{MANIFEST}p.json,p,c,1,min,60,2.5\n".encode(),
            "told/p.json": MINIZINC.encode(),
        },
        "aries": lambda: {
            "never/shop/one/one.csv": ARIES.encode(),
            "never/shop/one/one.dzn": b"x = 1;\n----------\n==========\n",
            "luby/results.csv": "".join(
                head + line for head, line in zip(GATHERED, ARIES.splitlines(keepends=True), strict=True)
            ).encode(),
            "luby/manifest.csv": f"{MANIFEST}results.csv,shop,luby,0,min,60,\n".encode(),
        },
        "bayesmark": _bayesmark,
        "experiment": lambda: {"in.toml": EXPERIMENT.encode()},
        "problem": lambda: {"in.toml": PROBLEM.encode()},
        "solver": lambda: {"in.toml": SOLVER.encode()},
        "store-v1": lambda: from_folder(DATA / "store_v1"),
        "store": lambda: _compacted(scratch),
    }  # fmt: skip
    return make[target]()


TARGETS = (
    *("csv", "csv.gz", "parquet", "coco", "iohprofiler", "zip", "tar", "minizinc", "aries", "bayesmark"),
    *("experiment", "problem", "solver", "store-v1", "store"),
)
FORMAT = {"csv.gz": "csv", "zip": "coco", "tar": "iohprofiler"}
SINGLE = ("csv", "csv.gz", "parquet", "zip", "tar", "experiment", "problem", "solver")

# ---- damage ---------------------------------------------------------------------------------------------------------

NUMBERS = (
    *(
        b"0",
        b"-1",
        b"-0",
        b"1e308",
        b"1e999",
        b"-1e999",
        b"nan",
        b"inf",
        b"-Infinity",
        b"NaN",
        b"2147483648",
        b"1e-320",
    ),
    *(b"9223372036854775807", b"9223372036854775808", b"18446744073709551616", b"-9223372036854775809", b"2000000000"),
    *(b"9007199254740993", b"1" + b"0" * 400, b"9" * 5000, b"0x10", b"1_000", b"1,5", b"0.1.2", b"1e", b"\xd9\xa1"),
)
VALUES = (b"null", b"true", b"[]", b"{}", b'""', b"[[[]]]", b'{"a": 1}', b'"x"', b"1970-01-01", b"'", b'"', b"")
GARBAGE = (
    *(
        b"\xff\xfe",
        b"\x00",
        b"\xed\xa0\x80",
        b"\xef\xbb\xbf",
        b"\xc3",
        b"\xe2\x80\xae",
        b"\r",
        b"\x1b[31m",
        b"\xf4\x90",
    ),
    *(b"%s", b"../../etc/passwd", b"{x}", b",", b"\n", b"\n\n", b"%", b"\\u0000", b"\\ud800"),
)
_NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_VALUE = re.compile(rb'"[^"\n]*"|-?\d+(?:\.\d+)?|true|false|null|\[[^\[\]]*\]')
_WORD = re.compile(rb"[A-Za-z_]{2,}")


def _place(rng: random.Random, data: bytes) -> int:
    return rng.randrange(len(data) + 1)


def _span(rng: random.Random, data: bytes) -> tuple[int, int]:
    low = _place(rng, data)
    return low, min(len(data), low + int(2 ** rng.uniform(0, 10)))


def flip_bits(rng: random.Random, data: bytes) -> bytes:
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 8)) if data else 0):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def delete_span(rng: random.Random, data: bytes) -> bytes:
    low, high = _span(rng, data)
    return data[:low] + data[high:]


def repeat_span(rng: random.Random, data: bytes) -> bytes:
    low, high = _span(rng, data)
    return data[:high] + data[low:high] * rng.choice((1, 1, 3)) + data[high:]


def truncate(rng: random.Random, data: bytes) -> bytes:
    return data[: _place(rng, data)]


def zero_page(rng: random.Random, data: bytes) -> bytes:
    size = rng.choice((16, 512, 4096))
    low = _place(rng, data) // size * size
    return data[:low] + bytes(len(data[low : low + size])) + data[low + size :]


def splice_lines(rng: random.Random, data: bytes) -> bytes:
    lines = data.split(b"\n")
    i, j = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(4)
    if how == 0:
        lines[i], lines[j] = lines[j], lines[i]
    elif how == 1:
        lines.insert(i, lines[j])
    elif how == 2:
        lines[i] += lines[j]
    else:
        del lines[i]
    return b"\n".join(lines)


def _replaced(rng: random.Random, data: bytes, pattern: re.Pattern[bytes], by: bytes) -> bytes:
    """One of the first places after a random one where the pattern is found has something else."""
    found = pattern.search(data, _place(rng, data)) or pattern.search(data)
    return data[: found.start()] + by + data[found.end() :] if found else data


def extreme_number(rng: random.Random, data: bytes) -> bytes:
    return _replaced(rng, data, _NUMBER, rng.choice(NUMBERS))


def other_value(rng: random.Random, data: bytes) -> bytes:
    return _replaced(rng, data, _VALUE, rng.choice(VALUES))


def deep_nesting(rng: random.Random, data: bytes) -> bytes:
    n = rng.choice((50, 3000, 200_000))
    head, tail = rng.choice(((b"[", b"]"), (b'{"a":', b"}"), (b"a.", b""), (b"(", b")")))
    return _replaced(rng, data, _VALUE, head * n + b"1" + tail * n)


def long_name(rng: random.Random, data: bytes) -> bytes:
    return _replaced(rng, data, _WORD, b"n" * rng.choice((200, 2_000, 3_000_000)))


def garbage(rng: random.Random, data: bytes) -> bytes:
    at = _place(rng, data)
    return data[:at] + rng.choice(GARBAGE) + data[at:]


DAMAGE = (
    *(flip_bits, flip_bits, flip_bits, delete_span, repeat_span, truncate, zero_page, splice_lines, splice_lines),
    *(extreme_number, extreme_number, extreme_number, other_value, other_value, deep_nesting, long_name, garbage),
)


def damaged(target: str, number: int, files: Files) -> Files:
    """The files of a case: one to three kinds of damage in one file, or a file that is missing, swapped or empty."""
    rng = random.Random(f"{target} {number}")
    out = dict(files)
    name = rng.choice(sorted(files))
    if len(files) > 1 and rng.random() < 0.04:
        how = rng.randrange(3)
        if how == 0:
            del out[name]
        else:
            out[name] = b"" if how == 1 else files[rng.choice(sorted(files))]
        return out
    packed = name.endswith(".gz") and rng.random() < 0.5
    data = gzip.decompress(files[name]) if packed else files[name]
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(DAMAGE)(rng, data)
    out[name] = gzip.compress(data, mtime=0) if packed else data
    return out


# ---- what readers must do -------------------------------------------------------------------------------------------


def write(folder: Path, files: Files) -> None:
    """The files in a folder that has nothing else."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def attempt(target: str, folder: Path, names: list[str], store: Path) -> str:
    """Read damaged files as a user would; raises OptarenaError, or returns a digest of all that was read.

    Anything else that is raised is a finding. So is a store that exists although its import was refused.
    """
    path = folder / names[0] if target in SINGLE else folder
    if target == "experiment":
        return str(oa.Experiment.load(path).to_data())
    if target == "problem":
        return repr(CommandProblem.load(path).space.config)
    if target == "solver":
        return repr(open_reference(Reference.of(str(path))).settings)
    if target.startswith("store"):
        return read_store(folder)
    try:
        import_files(FORMAT.get(target, target), [path], store)
    except OptarenaError:
        assert not store.exists(), "the import was refused, and its store exists"
        raise
    return read_store(store)


def read_store(store: Path) -> str:
    """Open a store, and ask what status and score say; a digest of that, to compare with that of the good store."""
    results = oa.open(store)
    digest = hashlib.sha256(results.studies.write_json().encode())
    for study in results.studies["study"].to_list()[:5]:
        digest.update(repr(results.points(study)).encode())
    for command in (["status"], ["score"]):
        out, said = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(said):
            code = main([*command, str(store)])
        assert code in (0, 1, 2), f"{command[0]} ended with {code}"
        digest.update(out.getvalue().encode("utf-8", "backslashreplace"))
    return digest.hexdigest()


def finding(target: str, number: int, files: Files, place: Path, good: str = "") -> str:
    """What is wrong in a case; empty if nothing is.

    good: what undamaged files read as; with it, a silent difference is wrong, too.
    """
    made = damaged(target, number, files)
    shutil.rmtree(place / "store", ignore_errors=True)
    write(place / "in", made)
    try:
        read = attempt(target, place / "in", sorted(files), place / "store")
    except OptarenaError as error:
        longest = max(map(len, str(error).split("\n")))
        return f"a line of {longest:,} characters in a sentence" if longest > LONGEST_LINE else ""
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "optarena" in frame.filename]
        where = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}" if frames else "?"
        return f"{type(error).__name__} at {where}: {str(error)[:200]}"
    return "read differently, and nothing said so" if good and made != files and read != good else ""
