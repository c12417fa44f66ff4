"""Shared by all tests: every test runs in a directory of its own, and with pinned numeric kernels, as workers do."""

from __future__ import annotations

import os
import subprocess
import sys

import hypothesis
import pytest

# before anybody loads NumPy: figures must not depend on the CPU that the tests run on
_PINS = subprocess.run([sys.executable, "-m", "optarena.runner.kernels"], capture_output=True, text=True, check=True)
os.environ.update(line.split("=", 1) for line in _PINS.stdout.splitlines())

hypothesis.settings.register_profile("quiet", deadline=None)  # no test fails because the machine is busy
hypothesis.settings.load_profile("quiet")


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
