"""Is what is uploaded whole? Installs the sdist alone and the wheel with light extras, each in a fresh environment, and
runs the demo.

python tools/wheel.py dist
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
import zipfile
from pathlib import Path


def main() -> None:
    directory = Path(sys.argv[1]).resolve()
    (wheel,), (source,) = directory.glob("*.whl"), directory.glob("*.tar.gz")
    only_the_package(wheel)
    for file, extras in ((source, ""), (wheel, "[light]")):
        with tempfile.TemporaryDirectory() as place:
            demo(file, extras, Path(place))
        print(f"{file.name}: installed by Python {sys.version_info[0]}.{sys.version_info[1]}, and its demo runs")


def only_the_package(wheel: Path) -> None:
    """No test, no build script, nothing but the package and what is written about it."""
    with zipfile.ZipFile(wheel) as archive:
        other = [name for name in archive.namelist() if not name.startswith(("optarena/", "optarena-"))]
    if other:
        raise SystemExit(f"{wheel.name} holds {', '.join(other[:5])}")


def demo(file: Path, extras: str, place: Path) -> None:
    venv.create(place / "env", with_pip=True)
    programs = place / "env" / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{file}{extras}"]
    subprocess.run(install, check=True)
    done = subprocess.run([programs / "optarena", "demo"], cwd=place, check=True, capture_output=True, text=True)
    if extras and not (place / "demo-store" / "report.html").is_file():
        raise SystemExit(f"{file.name}: the demo wrote no report:\n{done.stdout}")
    subprocess.run(
        [programs / "python", "-c", "import optarena; optarena.open('demo-store').compare()"], cwd=place, check=True
    )


if __name__ == "__main__":
    main()
