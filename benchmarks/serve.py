"""The live page: the first screen of a large store, a filter, and what following a run costs.

    python benchmarks/serve.py [STUDIES] [SECONDS]

It runs the same experiment with and without a page that follows it, then follows a run that makes 1,000 evaluations a
second for so many seconds (60 by default), then writes a store of so many studies (640,000 by default), serves it, and
opens the page in Chromium; at last that store grows by a million rows while filters are asked. Figures are ratios where
they can be: the load of the machine is printed with them.
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
            write_study(journal, p, o, trial)
            done += 1


def write_study(journal: Journal, p: int, o: int, trial: int) -> None:
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


def serve(path: Path) -> tuple[subprocess.Popen[str], str]:
    words = [sys.executable, "-m", "optarena", "serve", str(path), "--no-open", "--port", "0"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, process.stdout.readline().strip()


def seconds_of(pid: int) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def megabytes_of(pid: int, what: str = "VmHWM") -> float:
    """The most memory that a process had; VmRSS: what it has now."""
    line = next(line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(what))
    return int(line.split()[1]) / 1000


FILTERS = ("optimizer=Optimizer-1&optimizer=Optimizer-2&optimizer=RandomSearch", "problem=made/f1/*", "dimension=5")
ASKED = (
    "async query => { const t = performance.now(), out = []; "
    "const parts = fetchedInParts('/data?' + query, new AbortController().signal); "
    "for await (const part of parts) out.push(performance.now() - t); return out; }"
)
"""Milliseconds until each part of a page was there."""


def beside(directory: Path, browser, trials: int) -> None:
    """The same run alone and while a page follows it, in turn: what following costs the run."""
    spent: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    code = (
        "import sys, time, resource, optarena as oa; began = time.monotonic();"
        "oa.Experiment(['RandomSearch', 'QuasiRandom'], 'functions/{sphere,rosenbrock}/d5', budget=200, "
        f"trials={trials}, seed=1).run(sys.argv[1], workers=1);"
        "u = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)];"
        "print(time.monotonic() - began, sum(one.ru_utime + one.ru_stime for one in u))"
    )
    for i in range(4):
        watched = i % 2 == 1
        path = directory / f"run{i}"
        Store(path).create()
        process, address = serve(path) if watched else (None, "")
        page = browser.new_page() if watched else None
        if page is not None:
            page.goto(address)
            page.wait_for_selector("#live-groups", state="attached")
        found = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
        wall, cpu = map(float, found.stdout.splitlines()[-1].split())
        spent[watched].append((wall, cpu))
        if process is not None and page is not None:
            page.close()
            process.send_signal(signal.SIGINT)
            process.wait()
    for j, word in enumerate(("wall", "CPU")):
        alone, followed = (min(one[j] for one in spent[watched]) for watched in (False, True))
        print(f"  a run followed by a page: {100 * (followed / alone - 1):+.1f} % {word} (to reach: 2; best of 2 each)")
    print(f"  {load()}")


def growing(path: Path, process: subprocess.Popen[str], page, rows: int) -> None:
    """Memory while a store grows and filters are asked."""
    store, studies = Store(path), 0
    before = megabytes_of(process.pid, "VmRSS")
    for step in range(5):
        journal = Journal(store.journals, {})
        while studies < (step + 1) * rows // 5 // EVALUATIONS:
            p, o = studies % PROBLEMS, studies // PROBLEMS % OPTIMIZERS
            write_study(journal, p, o, 10**6 + studies // (PROBLEMS * OPTIMIZERS))
            studies += 1
        journal.close()
        for query in FILTERS:
            page.evaluate(ASKED, query)
        time.sleep(10)
        now = megabytes_of(process.pid, "VmRSS")
        print(f"  after {studies * EVALUATIONS:,} more rows: {now:,.0f} MB, {now / before:.2f} times what it was")


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
    print(f"  the answer is there, the first useful screen: {time.monotonic() - began:.1f} s (to reach: 2)")
    print(f"  server {megabytes_of(process.pid):,.0f} MB")
    page.wait_for_selector("#how")
    print(f"  all its sections are there: {time.monotonic() - began:.1f} s; server {megabytes_of(process.pid):,.0f} MB")
    for query in FILTERS:
        first, *_, last = page.evaluate(ASKED, query)
        print(f"  filter {query[:30]}…: the answer after {first:,.0f} ms, all statistics after {last:,.0f} ms", end="")
        print(f" ({last / 300:.1f} times the 300 ms to reach)")
    growing(path, process, page, max(10_000, min(1_000_000, 2 * studies)))
    print(f"  {load()}")
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
    seconds = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    print(load())
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        beside(Path(directory), browser, max(3, studies // 6_400))
        running(Path(directory) / "running", browser, seconds=seconds)
        large(studies, Path(directory) / "large", browser)
        browser.close()


if __name__ == "__main__":
    main()
