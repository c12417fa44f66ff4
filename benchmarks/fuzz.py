"""Damage every kind of input a million times: each case ends in data or in one sentence, never in anything else.

    python benchmarks/fuzz.py [--cases 1000000] [--minutes 10] [--target csv]... [--work benchmarks/.fuzz]
    python benchmarks/fuzz.py --reproduce csv 4711

The targets and the kinds of damage are in `tests/fuzzing.py`. A call goes on where the last one stopped: the work
directory has the number of the next case of each target, the corpus and the findings; `--reproduce` makes a case again.
Cases run in child processes with bounded memory and time, so a crash, an abort inside a library or memory without end
is a finding, too. Exit code 1 if there is any.

For stores a finding is any exception but OptarenaError. With --strict, a damaged store that reads differently from
the good one without a sentence that says so is one as well.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve()
sys.path.insert(0, str(HERE.parent.parent / "tests"))

import fuzzing  # noqa: E402

BLOCK = 200  # cases per child
MEMORY = 6 << 30  # of addresses; what is really used is far less
SECONDS = 120  # for a case: nothing here takes one, unless the machine is very busy


def good_files(target: str, work: Path) -> fuzzing.Files:
    """The corpus of a target, made once: a store has times and ids in it, and cases must stay the same."""
    place = work / "corpus" / target
    if not place.exists():
        made = fuzzing.corpus(target, work / "scratch" / target)
        fuzzing.write(place.with_suffix(".new"), made)
        place.with_suffix(".new").rename(place)
    return fuzzing.from_folder(place)


def child(target: str, start: int, stop: int, work: Path, strict: bool) -> None:
    """Run some cases; a line of JSON for each finding, and the number of the case that runs in a file."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    files, place = good_files(target, work), work / "now" / target
    good = ""
    if strict and target.startswith("store"):
        fuzzing.write(place / "in", files)
        good = fuzzing.attempt(target, place / "in", sorted(files), place / "store")
    for number in range(start, stop):
        (work / f"{target}.now").write_text(str(number))
        signal.alarm(SECONDS)
        wrong = fuzzing.finding(target, number, files, place, good)
        signal.alarm(0)
        if wrong:
            print(json.dumps([number, wrong]), flush=True)


def block(target: str, start: int, stop: int, work: Path, strict: bool) -> dict[int, str]:
    """The findings of some cases; a child that dies is a finding, and another one takes the rest."""
    found: dict[int, str] = {}
    while start < stop:
        command = [sys.executable, str(HERE), "--child", target, str(start), str(stop), "--work", str(work)]
        done = subprocess.run(command + ["--strict"] * strict, capture_output=True, text=True, check=False)
        found.update(dict(json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")))
        if done.returncode == 0:
            break
        at = int((work / f"{target}.now").read_text()) if (work / f"{target}.now").exists() else start
        if at < start or "Error" in done.stderr[-2000:].partition("\n")[0]:
            raise SystemExit(f"the child does not start:\n{done.stderr}")
        how = f"died ({signal.Signals(-done.returncode).name})" if done.returncode < 0 else "ended"
        last = done.stderr.strip().splitlines()[-1:]
        found[at] = f"{how}: {last[0][:200] if last else 'nothing said'}"
        start = at + 1
    return found


def kinds(found: dict[str, list[Any]]) -> dict[str, list[int]]:
    """Findings of one kind, and their numbers."""
    out: dict[str, list[int]] = {}
    for number, text in found.values():
        out.setdefault(text[:80], []).append(number)
    return out


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--cases", type=int, default=1_000_000, help="in all targets together")
    options.add_argument("--minutes", type=float, default=10.0, help="after which this call stops")
    options.add_argument("--target", action="append", choices=fuzzing.TARGETS, help="only this one (may be repeated)")
    options.add_argument("--work", type=Path, default=HERE.parent / ".fuzz")
    options.add_argument("--strict", action="store_true", help="stores: a silent difference is a finding")
    options.add_argument("--reproduce", nargs=2, metavar=("TARGET", "NUMBER"))
    options.add_argument("--child", nargs=3, metavar=("TARGET", "START", "STOP"), help=argparse.SUPPRESS)
    given = options.parse_args()
    work = given.work.resolve()
    work.mkdir(parents=True, exist_ok=True)
    if given.child:
        target, start, stop = given.child
        child(target, int(start), int(stop), work, given.strict)
        return 0
    if given.reproduce:
        target, number = given.reproduce[0], int(given.reproduce[1])
        place, files = work / "reproduced", good_files(target, work)
        fuzzing.write(place / "in", fuzzing.damaged(target, number, files))
        print(f"the files are in {place / 'in'}")
        print(fuzzing.attempt(target, place / "in", sorted(files), place / "store"))
        return 0
    return campaign(given.target or list(fuzzing.TARGETS), given.cases, given.minutes, work, given.strict)


def campaign(targets: list[str], cases: int, minutes: float, work: Path, strict: bool) -> int:
    """Blocks of all targets in turn, until the cases or the minutes are over."""
    state_file = work / "state.json"
    state: dict[str, Any] = {"next": {}, "findings": {}}
    with contextlib.suppress(FileNotFoundError):
        state = json.loads(state_file.read_text())
    until = time.monotonic() + 60 * minutes
    per_target = -(-cases // len(targets))
    while time.monotonic() < until:
        todo = [target for target in targets if state["next"].get(target, 0) < per_target]
        if not todo:
            break
        target = min(todo, key=lambda name: state["next"].get(name, 0))
        start = state["next"].get(target, 0)
        stop = min(per_target, start + BLOCK)
        for number, wrong in block(target, start, stop, work, strict).items():
            state["findings"].setdefault(target, {})[str(number)] = [number, wrong]
            print(f"{target} {number}: {wrong}", flush=True)
        state["next"][target] = stop
        state_file.with_suffix(".new").write_text(json.dumps(state))
        os.replace(state_file.with_suffix(".new"), state_file)  # noqa: PTH105
    print("\ntarget        cases   findings")
    for target in targets:
        found = state["findings"].get(target, {})
        print(f"{target:12} {state['next'].get(target, 0):7,} {len(found):7,}")
        for text, numbers in kinds(found).items():
            print(f"    {len(numbers):5,} x {text} (--reproduce {target} {numbers[0]})")
    return 1 if any(state["findings"].get(target) for target in targets) else 0


if __name__ == "__main__":
    raise SystemExit(main())
