"""Shared by all tests: every test runs in a directory of its own."""

from __future__ import annotations

import hypothesis
import pytest

hypothesis.settings.register_profile("quiet", deadline=None)  # no test fails because the machine is busy
hypothesis.settings.load_profile("quiet")


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
