"""Is what is uploaded whole? Installs the sdist alone and the wheel with light extras, each in a fresh environment, and
runs the demo; uvx runs it, too. The wheel has only the package, the sdist what its tests need, and the core is small.

python tools/wheel.py dist
"""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import tempfile
import venv
import zipfile
from pathlib import Path

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks"
PARTS = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CODE_OF_CONDUCT.md", "LICENSE", "CITATION.cff")
FOLDERS = ("src/optarena", "docs", "docs/images", "examples", "tests", "tests/data", "tools", "benchmarks")
"""What an sdist holds, so that its tests and its docs can be made from it."""
FOREIGN = re.compile(
    r"(^|/)(tests?|conftest\.py|test_[^/]*|[^/]*_test\.py|Makefile|setup\.py|[^/]*\.(sh|toml|cfg|ipynb))(/|$)"
)
"""Names of tests and of scripts that build."""


def main() -> None:
    directory = Path(sys.argv[1]).resolve()
    (wheel,), (source,) = directory.glob("*.whl"), directory.glob("*.tar.gz")
    only_the_package(wheel)
    all_of_the_project(source)
    for file, extras in ((source, ""), (wheel, "[light]")):
        with tempfile.TemporaryDirectory() as place:
            demo(file, extras, Path(place))
        print(f"{file.name}: installed by Python {sys.version_info[0]}.{sys.version_info[1]}, and its demo runs")
    with tempfile.TemporaryDirectory() as place:
        by_uvx(wheel, Path(place))
    print(f"{wheel.name}: uvx runs its demo")


def only_the_package(wheel: Path) -> None:
    """No test, no build script, nothing but the package and what is written about it."""
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    if other := foreign(names):
        raise SystemExit(f"{wheel.name} holds {', '.join(other[:5])}")


def foreign(names: list[str]) -> list[str]:
    """Which files of a wheel are no part of the package."""
    return [name for name in names if not name.startswith(("optarena/", "optarena-")) or FOREIGN.search(name)]


def all_of_the_project(source: Path) -> None:
    with tarfile.open(source) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    lacking = [name for name in PARTS if name not in names]
    lacking += [name for name in FOLDERS if not any(one.startswith(f"{name}/") for one in names)]
    if lacking:
        raise SystemExit(f"{source.name} lacks {', '.join(lacking)}")


def demo(file: Path, extras: str, place: Path) -> None:
    venv.create(place / "env", with_pip=True)
    programs = place / "env" / "bin"
    install = [programs / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", f"{file}{extras}"]
    subprocess.run(install, check=True)
    done = subprocess.run([programs / "optarena", "demo"], cwd=place, check=True, capture_output=True, text=True)
    if not extras:
        must_be_small(programs / "python")
    if extras and not (place / "demo-store" / "report.html").is_file():
        raise SystemExit(f"{file.name}: the demo wrote no report:\n{done.stdout}")
    subprocess.run(
        [programs / "python", "-c", "import optarena; optarena.open('demo-store').compare()"], cwd=place, check=True
    )


def must_be_small(python: Path) -> None:
    """The packages of the core are measured where nothing else is installed."""
    code = f"import sys; sys.path.insert(0, {str(BENCHMARKS)!r}); import startup; startup.must_be_small()"
    subprocess.run([python, "-c", code], check=True)


def by_uvx(wheel: Path, place: Path) -> None:
    """What a stranger types who has uv; from the index that pip uses."""
    uvx = Path(sys.executable).with_name("uvx")
    command = [uvx, "--quiet", "--python", sys.executable, "--from", wheel, "optarena", "demo"]
    subprocess.run(command, cwd=place, check=True, capture_output=True, text=True)
    if not (place / "demo-store").is_dir():
        raise SystemExit(f"{wheel.name}: uvx ran the demo, which left no store")


if __name__ == "__main__":
    main()
