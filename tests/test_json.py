"""Strict JSON: tables are made strict column by column, with the same result as cell by cell."""

from __future__ import annotations

import math

import numpy as np
import pytest

from optarena._json import strict

INF = math.inf


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([{}, {}], [{}, {}]),
        ([{"a": 1, "b": "x"}, {"a": None, "b": None}], [{"a": 1, "b": "x"}, {"a": None, "b": None}]),
        ([{"a": 1.5}, {"a": INF}], [{"a": 1.5}, {"a": "inf"}]),
        ([{"a": None}, {"a": -INF}], [{"a": None}, {"a": "-inf"}]),
        ([{"a": np.float64("nan")}, {"a": 1.0}], [{"a": "nan"}, {"a": 1.0}]),
        ([{"a": 1e308}, {"a": 1e308}], [{"a": 1e308}, {"a": 1e308}]),
        ([{"a": 2**2000}, {"a": 1.0}], [{"a": 2**2000}, {"a": 1.0}]),
        ([{"a": "\udc80"}, {"a": "é"}], [{"a": "\\udc80"}, {"a": "é"}]),
        ([{"\udc80": 1}, {"\udc80": INF}], [{"\\udc80": 1}, {"\\udc80": "inf"}]),
        ([{"a": INF, "b": 1}, {"b": INF, "a": 1}], [{"a": "inf", "b": 1}, {"b": "inf", "a": 1}]),
        ([{"a": [INF]}, {"a": {"b": (INF,)}}], [{"a": ["inf"]}, {"a": {"b": ["inf"]}}]),
        ([{"a": INF}, INF], [{"a": "inf"}, "inf"]),
    ],
)
def test_every_cell_of_a_table_is_made_strict(rows, expected):
    before = repr(rows)
    assert strict(rows) == expected
    assert repr(rows) == before  # what was given is not changed
