"""The picture of the report in the README: runs the demo and photographs the first screen of its report.

python docs/screenshot.py        # needs Chromium and playwright (pip install 'optarena[dev]')
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from playwright.sync_api import sync_playwright

PICTURE = Path(__file__).parent / "images" / "report.png"


def main() -> None:
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with tempfile.TemporaryDirectory() as directory, sync_playwright() as driver:
        command = [sys.executable, "-c", "from optarena.cli import main; raise SystemExit(main())", "demo"]
        subprocess.run(command, check=True, cwd=directory)
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1200, "height": 900}, color_scheme="light")
        page.goto((Path(directory) / "demo-store" / "report.html").as_uri())
        page.wait_for_selector("#normalised-0 svg")
        page.screenshot(path=PICTURE)
        browser.close()
    print(f"{PICTURE} ({PICTURE.stat().st_size / 1e3:.0f} kB)")


if __name__ == "__main__":
    main()
