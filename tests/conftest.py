"""Shared by all tests: each runs in a directory of its own, with roots of its own, and with pinned numeric kernels."""

from __future__ import annotations

import gc
import json
import os
import random
import re
import subprocess
import sys
import uuid
from pathlib import Path

import hypothesis
import pytest

# before anybody loads NumPy: figures must not depend on the CPU that the tests run on
_PINS = subprocess.run([sys.executable, "-m", "optarena.runner.kernels"], capture_output=True, text=True, check=True)
os.environ.update(line.split("=", 1) for line in _PINS.stdout.splitlines())

# one core for each process of tests that run side by side, and so one worker for each run that names no number of them
_worker = os.environ.get("PYTEST_XDIST_WORKER")
if _worker and hasattr(os, "sched_setaffinity"):
    _cores = sorted(os.sched_getaffinity(0))
    os.sched_setaffinity(0, {_cores[int(_worker.removeprefix("gw")) % len(_cores)]})

hypothesis.settings.register_profile("quiet", deadline=None)  # no test fails because the machine is busy
hypothesis.settings.load_profile("quiet")


def pytest_addoption(parser):
    parser.addoption("--passed", metavar="FILE", help="write the ids of the tests that pass to FILE")
    parser.addoption("--not-again", metavar="FILE", help="leave out the tests whose ids are in FILE, if it exists")
    parser.addoption(
        "--nothing-missing", action="store_true", help="a test that is skipped for a missing program or package fails"
    )


def pytest_configure(config):
    if config.getoption("passed") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Passed(Path(config.getoption("passed"))))


class _Passed:
    """Writes which tests passed, when all have ended."""

    def __init__(self, file):
        self.file, self.ids = file, {}

    def pytest_runtest_logreport(self, report):
        if report.when == "call":
            self.ids[_without_group(report.nodeid)] = report.passed
        elif report.failed:
            self.ids[_without_group(report.nodeid)] = False

    def pytest_sessionfinish(self):
        self.file.write_text(json.dumps([name for name, passed in self.ids.items() if passed]))


MAY_LACK = re.compile(
    "there is no Python 3|this BoTorch has no kernel|this CPU has no AVX2|other versions than those of the page"
)
"""Reasons for which tests may be skipped where every extra and every program is installed: no installation helps."""


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    return _unless_missing(report, item.config)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_make_collect_report(collector):
    report = yield
    return _unless_missing(report, collector.config)


def _unless_missing(report, config):
    """The report; a failure where a test was skipped that must run."""
    if config.getoption("nothing_missing") and report.skipped and not hasattr(report, "wasxfail"):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        reason = reason.removeprefix("Skipped: ")
        if not MAY_LACK.search(reason):
            report.outcome, report.longrepr = "failed", f"with --nothing-missing no test may be skipped: {reason}"
    return report


def _without_group(test):
    """A test's id as it is without pytest-xdist, which adds the group."""
    return test.rpartition("@")[0] if test.rfind("@") > test.rfind("]") else test


def pytest_collection_modifyitems(config, items):
    file = config.getoption("not_again") and Path(config.getoption("not_again"))
    if file and file.exists():
        done = set(json.loads(file.read_text()))
        again = [_without_group(item.nodeid) in done for item in items]
        config.hook.pytest_deselected(items=[item for item, seen in zip(items, again, strict=True) if seen])
        items[:] = [item for item, seen in zip(items, again, strict=True) if not seen]


def pytest_collection_finish():
    """What was imported so far stays: tests that collect garbage need not look at it again."""
    gc.collect()
    gc.freeze()


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch):
    """What is captured has lines of any length, whatever terminal the tests were started in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def _own_roots(request, monkeypatch):
    """An experiment without a seed draws a root: here the same one in every run of a test."""
    source = random.Random(request.node.nodeid)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=source.getrandbits(128), version=4))
