"""Ragged arrays: the running minimum and its place, against the plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from optarena.traces import cumulative_minimum, first_argmin, positions

studies = st.lists(
    st.lists(st.sampled_from([np.inf, -np.inf, 0.0, 1.0, 2.0, -3.5, 7.25]), max_size=9), min_size=1, max_size=8
)


def ragged(lists):
    offsets = np.concatenate(([0], np.cumsum([len(values) for values in lists]))).astype(np.int64)
    return np.array([value for values in lists for value in values], dtype=float), offsets


@given(studies)
def test_cumulative_minimum_is_that_of_each_study(lists):
    values, offsets = ragged(lists)
    expected = [m for part in lists for m in np.minimum.accumulate(part).tolist()] if len(values) else []
    assert cumulative_minimum(values, offsets).tolist() == expected


@given(studies)
def test_first_argmin_is_the_first_least_row(lists):
    values, offsets = ragged(lists)
    expected = [
        offset + part.index(min(part)) if part and min(part) < np.inf else -1
        for part, offset in zip(lists, offsets, strict=False)
    ]
    assert first_argmin(values, offsets).tolist() == expected
    assert positions(offsets).tolist() == [i for part in lists for i in range(len(part))]
