"""Shared by all tests: each runs in a directory of its own, with roots of its own, and with pinned numeric kernels."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import uuid

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


@pytest.fixture(autouse=True)
def _no_terminal(monkeypatch):
    """What is captured has lines of any length, whatever terminal the tests were started in."""
    monkeypatch.delenv("COLUMNS", raising=False)


@pytest.fixture(autouse=True)
def _own_roots(request, monkeypatch):
    """An experiment without a seed draws a root: here the same one in every run of a test."""
    source = random.Random(request.node.nodeid)
    monkeypatch.setattr(uuid, "uuid4", lambda: uuid.UUID(int=source.getrandbits(128), version=4))
