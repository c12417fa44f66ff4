"""The pictures of the demo, of its report's first screen and of its scores, one of the live page of a run, and all of
`explaining.py`.

make pictures        # these, and all that the pages of docs/ draw themselves; needs Chromium
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import explaining
from playwright.sync_api import Page, sync_playwright

IMAGES = Path(__file__).parent / "images"
PROGRAM = [sys.executable, "-m", "optarena"]


def main() -> None:
    explaining.main()
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([*PROGRAM, "demo"], check=True, cwd=directory)
        store = Path(directory) / "demo-store"
        photograph(store / "report.html", IMAGES / "report.png")
        # as docs/fixed_cost.md says
        subprocess.run([*PROGRAM, "figure", "normalised", store, "-O", IMAGES / "normalised.png"], check=True)
        photograph_a_run(Path(directory), IMAGES / "live.png")
    for picture in (IMAGES / "report.png", IMAGES / "normalised.png", IMAGES / "live.png"):
        print(f"{picture} ({picture.stat().st_size / 1e3:.0f} kB)")


def photograph(report: Path, picture: Path) -> None:
    with opened_page(report.as_uri()) as page:
        page.wait_for_selector("#normalised-0 svg")
        page.screenshot(path=picture)


def photograph_a_run(directory: Path, picture: Path) -> None:
    """The live page of a run that is a third done."""
    words = ["-o", "RandomSearch", "-o", "CMA-ES", "-o", "Optuna-TPE", "-p", "bbob/f{1..24}/d5/i1", "-n", "60*D"]
    run = subprocess.Popen([*PROGRAM, "run", *words, "-r", "5", "--store", "results"], cwd=directory)
    while not (directory / "results" / "journal").is_dir():
        time.sleep(0.1)
    serve = [*PROGRAM, "serve", "results", "--no-open", "--port", "0"]
    server = subprocess.Popen(serve, cwd=directory, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    try:
        with opened_page(server.stdout.readline().strip()) as page:
            page.wait_for_function("() => live && live.total > 0 && live.ended > live.total / 3", timeout=600_000)
            page.wait_for_selector("#normalised-0 svg", timeout=600_000)
            page.screenshot(path=picture)
    finally:
        for process in (server, run):
            process.send_signal(signal.SIGINT)
            process.wait()


@contextlib.contextmanager
def opened_page(address: str) -> Iterator[Page]:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
        page.goto(address)
        yield page
        browser.close()


if __name__ == "__main__":
    main()
