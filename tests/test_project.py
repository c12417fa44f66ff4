"""What holds the project together: one version, nothing skipped where all is installed, only the package in a wheel."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import optarena as oa

ROOT = Path(__file__).parents[1]

TESTS = """
import pytest

def test_runs(): pass

def test_lacks(): pytest.skip("needs Rscript")

def test_may_lack(): pytest.skip("there is no Python 3.7 here")

@pytest.mark.xfail
def test_known(): assert 0
"""


def test_the_version_is_that_of_the_changelog_and_of_the_citation():
    headings = re.findall(r"^## (\d\S*)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    cited = re.findall(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE)
    assert (headings[:1], cited) == ([oa.__version__], [oa.__version__])


@pytest.mark.parametrize(
    ("flags", "code", "said"),
    [([], 0, "1 passed, 3 skipped, 1 xfailed"), (["--nothing-missing"], 1, "1 failed, 1 passed, 1 skipped, 1 xfailed")],
)
def test_what_is_skipped_for_a_missing_program_fails_where_nothing_may_be_missing(flags, code, said):
    Path("test_some.py").write_text(TESTS)
    Path("test_module.py").write_text("import pytest\npytest.importorskip('nothing_of_this_name')\n")
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-c",
        os.devnull,
        "--rootdir=.",
        "-p",
        "conftest",
        "-p",
        "no:cacheprovider",
    ]
    path = os.pathsep.join([str(ROOT / "tests"), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [*command, "--continue-on-collection-errors", *flags, "test_some.py", "test_module.py"],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, said in done.stdout) == (code, True), done.stdout
    assert ("no test may be skipped: needs Rscript" in done.stdout) == bool(flags)
    assert ("could not import 'nothing_of_this_name'" in done.stdout) == bool(flags)


@pytest.mark.parametrize(
    ("name", "is_foreign"),
    [
        ("optarena/space.py", False),
        ("optarena/testing/_solvers.py", False),
        ("optarena-0.1.0.dist-info/RECORD", False),
        ("tests/test_space.py", True),
        ("optarena/tests/__init__.py", True),
        ("optarena/store/test_journal.py", True),
        ("optarena/conftest.py", True),
        ("optarena/problems/data/make.sh", True),
    ],
)
def test_a_wheel_with_tests_or_scripts_inside_is_refused(name, is_foreign):
    foreign = runpy.run_path(str(ROOT / "tools" / "wheel.py"))["foreign"]
    assert foreign([name]) == [name] * is_foreign


def test_the_python_versions_that_are_promised_are_those_that_the_wheel_is_tried_with():
    promised = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert f"for version in {' '.join(promised)}; do" in (ROOT / ".ci" / "pythons").read_text()
    listed = ", ".join(f'"{version}"' for version in promised)
    assert f"python: [{listed}]" in (ROOT / ".github" / "workflows" / "ci.yml").read_text()
