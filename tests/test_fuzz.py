"""Damaged files end in one sentence, or are read; nothing else happens. `benchmarks/fuzz.py` does it at length."""

from __future__ import annotations

import pytest

import fuzzing

CASES = {"parquet": 8, "coco": 15, "iohprofiler": 15, "store": 20, "store-v1": 20}


@pytest.mark.parametrize("target", fuzzing.TARGETS)
@pytest.mark.slow
def test_damaged_files_are_read_or_named_in_one_sentence(target, tmp_path):
    files = fuzzing.corpus(target, tmp_path / "scratch")
    fuzzing.write(tmp_path / "in", files)
    assert fuzzing.attempt(target, tmp_path / "in", sorted(files), tmp_path / "good")
    findings = {number: fuzzing.finding(target, number, files, tmp_path) for number in range(CASES.get(target, 30))}
    assert {number: text for number, text in findings.items() if text} == {}


@pytest.mark.parametrize("target", fuzzing.TARGETS)
def test_the_same_number_makes_the_same_damage(target, tmp_path):
    files = fuzzing.corpus(target, tmp_path / "scratch")
    once, again = ([fuzzing.damaged(target, n, files) for n in range(5)] for _ in range(2))
    assert once == again
