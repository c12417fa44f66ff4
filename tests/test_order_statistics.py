"""Quantiles, extremes and intervals: equal to Bayesmark's own figures, and to what they mean."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesmark_figures import array, floats, load
from optarena.errors import OptarenaError
from optarena.stats.estimates import interval_indices, quantile_index
from optarena.views.fixed_cost import (
    cumulative_best,
    expected_maximum,
    expected_minimum,
    maximum_quantile_interval,
    minimum_quantile_interval,
    quantile_interval,
    t_interval,
)
from optarena.views.fixed_cost.order_statistics import minimum_weights

GOLDEN = load("functions.json.gz")
SAMPLES = {name: array(values) for name, values in GOLDEN["samples"].items()}


def agrees(call, outcome):
    if "error" in outcome:
        with pytest.raises(OptarenaError):
            call()
        return
    np.testing.assert_allclose(np.asarray(call(), dtype=float), array(outcome["ok"]), rtol=1e-10, atol=0)


def test_expected_extremes_equal_bayesmarks():
    for row in GOLDEN["expected_extreme"]:
        x = SAMPLES[row["sample"]]
        agrees(lambda x=x, row=row: expected_minimum(x, row["m"]), row["expected_min"])
        agrees(lambda x=x, row=row: expected_maximum(x, row["m"]), row["expected_max"])


def test_quantiles_and_their_intervals_equal_bayesmarks():
    for row in GOLDEN["quantiles"]:
        x = SAMPLES[row["sample"]]
        outcome = row.get("quantile_and_CI", row["quantile"])
        agrees(lambda x=x, row=row: quantile_interval(x, row["q"], row["alpha"]), outcome)


def test_quantiles_of_extremes_equal_bayesmarks():
    for row in GOLDEN["extreme_quantiles"]:
        x, arguments = SAMPLES[row["sample"]], (row["q"], row["m"], row["alpha"])
        agrees(lambda x=x, a=arguments: minimum_quantile_interval(x, *a), row["min_quantile_CI"])
        agrees(lambda x=x, a=arguments: maximum_quantile_interval(x, *a), row["max_quantile_CI"])


def test_indices_of_order_statistics_equal_bayesmarks():
    for row in GOLDEN["order_stat_indices"]:
        assert quantile_index(row["n"], row["q"]) == row["order_stat_idx"]["ok"]
        indices = interval_indices(row["n"], row["q"], row["alpha"])
        assert [int(i) for i in indices] == row["CI_idx"]["ok"]


def test_t_intervals_equal_bayesmarks():
    for row in GOLDEN["t_EB"]:
        x = SAMPLES[row["x"]] if isinstance(row["x"], str) else array(row["x"])
        agrees(lambda x=x, row=row: t_interval(x, row["alpha"], row.get("axis", -1)), row["result"])


def test_the_cumulative_best_by_a_key_equals_bayesmarks():
    for row in GOLDEN["cummin"]:
        agrees(lambda row=row: cumulative_best(floats(row["x_val"]), floats(row["x_key"])), row["result"])


@given(st.lists(st.integers(-50, 50), min_size=1, max_size=12), st.data())
def test_the_expected_minimum_is_the_mean_over_all_subsets(values, data):
    m = data.draw(st.integers(1, len(values)))
    ordered, n = sorted(values), len(values)
    exact = sum(Fraction(comb(n - k, m - 1), comb(n, m)) * x for k, x in enumerate(ordered, 1))
    assert expected_minimum(values, m) == pytest.approx(float(exact), rel=1e-12, abs=1e-12)
    assert expected_minimum(np.array(values), [1, m])[1] == pytest.approx(expected_minimum(values, m), rel=1e-14)


def test_weights_sum_to_one_and_give_the_expected_minimum():
    x = np.sort(np.random.default_rng(0).normal(size=300))
    for m in (1, 2, 7, 100, 299, 300):
        assert minimum_weights(300, m).sum() == pytest.approx(1, rel=1e-12)
        assert minimum_weights(300, m) @ x == pytest.approx(expected_minimum(x, m), rel=1e-10)


def test_many_sizes_at_once_equal_one_at_a_time_on_a_large_sample():
    x = np.random.default_rng(1).normal(size=50_000)
    sizes = [1, 2, 3, 10, 11, 500, 501, 20_000, 50_000]
    together = expected_minimum(x, sizes)
    np.testing.assert_allclose(together, [expected_minimum(x, m) for m in sizes], rtol=1e-11)
    assert together[-1] == x.min()
    assert (np.diff(together) < 0).all()


def test_one_huge_value_with_a_tiny_weight_is_not_forgotten():
    x = np.concatenate((np.zeros(99), [1e200]))
    assert expected_minimum(x, 1) == pytest.approx(1e198)
    assert expected_minimum(np.concatenate((np.ones(98), [1e200, 1e200])), 2) == pytest.approx(1e200 / comb(100, 2))


def test_zero_draws_are_refused():
    with pytest.raises(OptarenaError, match="at least 1"):
        expected_minimum([1.0], 0)


def test_a_quantiles_interval_covers_it_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for _ in range(2000):
        _, low, high = quantile_interval(rng.exponential(size=25), 0.5)
        inside += low <= np.log(2) <= high
    assert inside / 2000 >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / 2000)
