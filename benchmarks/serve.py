"""The live page: the first screen of a large store, a filter, and what following a run costs.

    python benchmarks/serve.py [STUDIES]

It writes a store of so many studies (640,000 by default), serves it, and opens the page in Chromium. Then it follows
a run that makes 1,000 evaluations a second.
"""

from __future__ import annotations

import itertools
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import optarena as oa
from _measure import load
from optarena.experiment import Budget
from optarena.problem import Known, Objective
from optarena.store import Store
from optarena.store.journal import Journal
from optarena.store.records import End, PlainRow, ProblemCard, Rows, Start

OPTIMIZERS, PROBLEMS, EVALUATIONS = 8, 100, 6
SPACE = {f"x{i}": {"type": "real", "space": "linear", "range": [-5.0, 5.0]} for i in range(5)}
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")


def card(p: int) -> ProblemCard:
    return ProblemCard(
        f"card{p}", f"made/f{p % 25}/d5/i{p // 25}", "1", SPACE, 5, (Objective(),), "made", f"f{p % 25}", p // 25,
        known=Known(optimum=(0.0,)),
    )  # fmt: skip


def write_store(path: Path, studies: int) -> None:
    """Studies of made-up values, as a run would have written them."""
    store = Store(path)
    store.create()
    journal, trial = Journal(store.journals, {}), 0
    done = 0
    for trial in itertools.count():
        for p, o in itertools.product(range(PROBLEMS), range(OPTIMIZERS)):
            if done >= studies:
                journal.close()
                return
            if journal.full:
                journal.close()
                journal = Journal(store.journals, {})
            name = "RandomSearch" if o == 0 else f"Optimizer-{o}"
            start = Start(
                0, f"{trial:06d}-{p}-{o}", f"card{p}", name, name, trial, "00000000-0000-0000-0000-000000000000",
                time.time(), Budget(EVALUATIONS), life=1,
            )  # fmt: skip
            s = journal.start(start, card(p))
            seed = (trial * 7919 + p * 31 + o * 17) % 1000 / 1000
            y = [[(1 + seed + o / 20) / (k + 1) + 0.01 * seed] for k in range(EVALUATIONS)]
            points = [[seed] * 5 for _ in range(EVALUATIONS)]
            journal.write(Rows(s=s, k=1, y=y, w=[1000, 1000, 5000, 5000, 100, 100], x=points))
            journal.end(End(s, "done", EVALUATIONS, time.time(), [0] * 6, life=1))
            done += 1


def serve(path: Path) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "optarena", "serve", str(path), "--no-open", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def seconds_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes_of(pid: int) -> float:
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1000


def large(studies: int, path: Path, browser) -> None:
    began = time.monotonic()
    write_store(path, studies)
    print(f"{studies:,} studies written in {time.monotonic() - began:.0f} s")
    began = time.monotonic()
    process, address = serve(path)
    page = browser.new_page()
    page.set_default_timeout(1_800_000)
    page.goto(address)
    page.wait_for_function("() => live && live.total > 0 && document.querySelector('#live-groups tbody tr')")
    print(f"  first screen with numbers: {time.monotonic() - began:.1f} s after the server was started (to reach: 2)")
    page.wait_for_function("() => live && !live.unread")
    print(f"  everything is counted: {time.monotonic() - began:.1f} s")
    page.wait_for_selector("#overview")
    print(f"  the answer is there: {time.monotonic() - began:.1f} s; server {megabytes_of(process.pid):,.0f} MB")
    page.wait_for_selector("#how")
    print(f"  all its sections are there: {time.monotonic() - began:.1f} s; server {megabytes_of(process.pid):,.0f} MB")
    for query in ("optimizer=Optimizer-1&optimizer=Optimizer-2&optimizer=RandomSearch", "problem=made/f1/*"):
        took = page.evaluate(
            "async query => { const t = performance.now(), out = []; "
            "const parts = fetchedInParts('/data?' + query, new AbortController().signal); "
            "for await (const part of parts) out.push(performance.now() - t); return out; }",
            query,
        )
        first, *_, last = took
        print(f"  filter {query[:30]}…: the answer after {first:,.0f} ms (to reach: 300), all after {last:,.0f} ms")
    page.close()
    process.send_signal(signal.SIGINT)
    process.wait()


def running(path: Path, browser, rate: int = 1000, seconds: int = 60) -> None:
    """A run of `rate` evaluations a second, written by this process, and watched by a page."""
    store = Store(path)
    store.create()
    plan = oa.Experiment(["RandomSearch"], "functions/sphere/d2", 500).plan()
    store.begin_run(plan, [])  # this process is a run that goes on
    going = threading.Event()

    def write() -> None:
        journal, at, k = Journal(store.journals, {}), -1, 10**9
        next_one = time.monotonic()
        for n in itertools.count():
            if going.is_set():
                return
            if k >= 500:
                if at >= 0:
                    journal.end(End(at, "done", k, time.time(), [0] * 6, life=1))
                name = "RandomSearch" if n % 1000 < 500 else "Optimizer-1"
                start = Start(
                    0, f"study-{n}", "card0", name, name, n // 1000, "0" * 8, time.time(), Budget(500), life=1
                )
                at, k = journal.start(start, card(0)), 0
            k += 1
            journal.write(PlainRow(at, k, [[1.0 / k + n % 7]], [1000, 1000, 5000, 5000, 100, 100], [[0.5] * 5]))
            next_one += 1 / rate
            time.sleep(max(0.0, next_one - time.monotonic()))

    writer = threading.Thread(target=write)
    writer.start()
    time.sleep(2)
    process, address = serve(path)
    page = browser.new_page()
    page.set_default_timeout(600_000)
    page.goto(address)
    page.wait_for_selector("#overview")
    time.sleep(10)
    client = browser.new_browser_cdp_session()

    def tasks() -> float:
        """CPU seconds of the processes that draw pages, of which one has a page."""
        found = client.send("SystemInfo.getProcessInfo")["processInfo"]
        return sum(one["cpuTime"] for one in found if one["type"] == "renderer")

    before, drawn, began = seconds_of(process.pid), tasks(), time.monotonic()
    time.sleep(seconds)
    spent = time.monotonic() - began
    print(f"following {rate:,} evaluations a second for {spent:.0f} s, one page open")
    print(f"  server: {100 * (seconds_of(process.pid) - before) / spent:.1f} % of a core (to reach: 3)")
    print(f"  page: {100 * (tasks() - drawn) / spent:.1f} % of a core (to reach: 5)")
    print(f"  server: {megabytes_of(process.pid):,.0f} MB")
    going.set()
    writer.join()
    process.send_signal(signal.SIGINT)
    process.wait()


def main() -> None:
    from playwright.sync_api import sync_playwright

    studies = int(sys.argv[1]) if len(sys.argv) > 1 else 640_000
    print(load())
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        running(Path(directory) / "running", browser)
        large(studies, Path(directory) / "large", browser)
        browser.close()


if __name__ == "__main__":
    main()
