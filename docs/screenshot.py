"""The pictures of the demo: runs it, photographs the first screen of its report, and draws its scores.

make pictures        # these, and all that the pages of docs/ draw themselves; needs Chromium
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).parent / "images"
PROGRAM = [sys.executable, "-m", "optarena"]


def main() -> None:
    with tempfile.TemporaryDirectory() as directory:
        subprocess.run([*PROGRAM, "demo"], check=True, cwd=directory)
        store = Path(directory) / "demo-store"
        photograph(store / "report.html", IMAGES / "report.png")
        # as docs/fixed_cost.md says
        subprocess.run([*PROGRAM, "figure", "normalised", store, "-O", IMAGES / "normalised.png"], check=True)
    for picture in (IMAGES / "report.png", IMAGES / "normalised.png"):
        print(f"{picture} ({picture.stat().st_size / 1e3:.0f} kB)")


def photograph(report: Path, picture: Path) -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
        page.goto(report.as_uri())
        page.wait_for_selector("#normalised-0 svg")
        page.screenshot(path=picture)
        browser.close()


if __name__ == "__main__":
    main()
