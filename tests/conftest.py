"""Shared by all tests: every test runs in a directory of its own."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def _own_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
