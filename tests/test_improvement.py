"""The probability of improvement: one estimand, intervals that decide, for all pairs together (docs/scores.md 5.3)."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from optarena.stats.effects import ordering
from optarena.stats.improvement import (
    Duels,
    by_function,
    duels,
    enough_functions,
    flipped_p,
    over_functions,
    over_trials,
    problem_weights,
    shares_without,
    verdicts,
)

PAIR = (np.array([0]), np.array([1]))


def every_pair(k):
    first, second = np.triu_indices(k, 1)
    return first, second


def test_the_share_is_that_of_all_pairs_of_trials_with_ties_half():
    rng = np.random.default_rng(1)
    values = np.round(rng.normal(size=(7, 4, 5)), 1)
    values[2, 1, 3:] = np.nan
    found = duels(values, *every_pair(4))
    for i, (a, b) in enumerate(zip(*every_pair(4), strict=True)):
        for p in range(7):
            x, y = (one[~np.isnan(one)] for one in (values[p, a], values[p, b]))
            expected = np.mean([1.0 if s < t else 0.5 if s == t else 0.0 for s in x for t in y])
            assert found.share[i, p] == pytest.approx(expected)


def test_no_value_loses_to_every_value_and_ties_with_none():
    values = np.array([[[1.0, np.inf], [np.inf, np.inf], [1e300, 2.0]]])
    found = duels(values, np.array([0, 0, 1]), np.array([1, 2, 2])).share[:, 0]
    assert found.tolist() == [0.75, 0.5, 0.0]
    missing = duels(np.array([[[1.0], [np.nan]]]), *PAIR)
    assert np.isnan(missing.share).all()
    assert np.isnan(missing.variance).all()


def test_samples_that_do_not_overlap_still_vary():
    found = duels(np.array([[[1.0, 2, 3, 4, 5], [6.0, 7, 8, 9, 10]]]), *PAIR)
    assert found.share[0, 0] == 1
    assert found.variance[0, 0] > 0.02


def test_flipping_signs_gives_the_p_value_of_its_definition():
    rng = np.random.default_rng(3)
    away = rng.uniform(-0.5, 0.5, (3, 7))
    scaled = away / np.sqrt((away**2).sum(axis=1) + 0.25)[:, None]
    greatest = [np.abs(scaled @ np.array(signs)).max() for signs in itertools.product((-1, 1), repeat=7)]
    expected = [np.mean(np.array(greatest) >= seen - 1e-12) for seen in np.abs(scaled.sum(axis=1))]
    assert flipped_p(away).tolist() == pytest.approx(expected)


def test_six_unanimous_functions_decide_one_pair_and_five_do_not():
    assert verdicts(*over_functions(np.ones((1, 6)))[1:3]) == ["better"]
    assert verdicts(*over_functions(np.zeros((1, 6)))[1:3]) == ["worse"]
    assert verdicts(*over_functions(np.ones((1, 5)))[1:3]) == ["undecided"]
    assert [enough_functions(n, 1) for n in (5, 6)] == [False, True]
    assert [enough_functions(n, 10) for n in (8, 9)] == [False, True]


def test_one_unanimous_pair_of_many_is_not_enough():
    """Among ten equal pairs some pair often wins six functions by chance: the trap of plain intervals."""
    rng = np.random.default_rng(5)
    shares = (rng.random((10, 6)) < 0.5).astype(float)
    shares[0] = 1.0
    assert verdicts(*over_functions(shares)[1:3])[0] == "undecided"


@pytest.mark.parametrize("seed", range(40))
def test_interval_p_value_and_verdict_always_agree(seed):
    rng = np.random.default_rng(seed)
    k, n, trials = int(rng.integers(2, 6)), int(rng.integers(2, 30)), int(rng.integers(1, 6))
    values = rng.normal(0, 1, (n, k, trials)) + rng.choice([0, 0.3, 3]) * np.arange(k)[:, None]
    values = np.round(values, int(rng.integers(0, 3))) if rng.random() < 0.5 else values
    found = duels(values, *every_pair(k))
    turned = duels(values, *every_pair(k)[::-1])
    for made, other in (
        (over_functions(found.share), over_functions(turned.share)),
        (over_trials(found, problem_weights(np.arange(n))), over_trials(turned, problem_weights(np.arange(n)))),
        (over_functions(found.share, tests=500), over_functions(turned.share, tests=500)),
    ):
        assert ((made.lower >= 0) & (made.upper <= 1) & (made.lower <= made.value) & (made.value <= made.upper)).all()
        assert ((made.p <= 0.05) == ((made.lower > 0.5) | (made.upper < 0.5))).all()
        np.testing.assert_allclose(made.lower, 1 - other.upper, atol=1e-9)
        np.testing.assert_allclose(made.p, other.p, atol=1e-9)
        for verdict, low, high in zip(verdicts(made.lower, made.upper), made.lower, made.upper, strict=True):
            assert (verdict == "better") == (low > 0.5)
            assert (verdict == "worse") == (high < 0.5)
            assert verdict != "equivalent" or (low >= 0.44 and high <= 0.56)


def test_only_the_order_of_trials_counts():
    rng = np.random.default_rng(2)
    values = rng.normal(size=(12, 3, 4))
    one, other = (duels(v, *every_pair(3)) for v in (values, np.exp(5 * values)))
    for a, b in zip(one, other, strict=True):
        np.testing.assert_array_equal(a, b)


def test_functions_count_the_same_whatever_their_number_of_problems():
    share = np.array([[1.0, 1.0, 1.0, 0.0]])
    function = np.array([0, 0, 0, 1])
    assert by_function(share, function).tolist() == [[1.0, 0.0]]
    assert problem_weights(function).tolist() == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])
    found = over_trials(Duels(share, np.full((1, 4), 0.01), np.full((1, 4), 1e-5)), problem_weights(function))
    assert found.value.tolist() == [0.5]


def test_many_ties_are_equivalent():
    assert verdicts(*over_functions(np.full((1, 40), 0.5))[1:3]) == ["equivalent"]
    assert verdicts(*over_functions(np.full((1, 6), 0.5))[1:3]) == ["undecided"]


def test_a_tiny_difference_that_is_sure_is_a_difference():
    found = over_functions(np.full((1, 100), 0.504))
    assert 0.5 < found.lower[0] <= found.value[0]


@pytest.mark.parametrize("shape", [(3, 4, 30), (1, 2, 40), (7, 2, 17)])
def test_many_trials_are_counted_and_give_the_very_figures_of_comparing_each_with_each(shape):
    rng = np.random.default_rng(shape[2])
    values = rng.integers(0, 12, shape).astype(float)
    values[rng.random(shape) < 0.1], values[rng.random(shape) < 0.05] = np.nan, np.inf
    values[0, 0] = np.nan
    first, second = np.triu_indices(shape[1], 1)
    found = duels(values, first, second)
    for i, (a, b) in enumerate(zip(first, second, strict=True)):
        order = ordering(values[:, a], values[:, b])
        size = np.sum(~np.isnan(values[:, a]), axis=1) * np.sum(~np.isnan(values[:, b]), axis=1)
        with np.errstate(invalid="ignore"):
            share = 0.5 - 0.5 * order.sum(axis=(1, 2), dtype=np.int64) / size
        np.testing.assert_array_equal(found.share[i], share)
    few = duels(values[:, :, :2], first, second)  # few enough to be compared: other trials change nothing
    more = np.concatenate((values[:, :, :2], np.full(shape, np.nan)), axis=2)
    for one, alone in zip(few, duels(more, first, second), strict=True):
        np.testing.assert_array_equal(one, alone)


def test_shares_without_a_trial_are_those_of_the_other_trials():
    rng = np.random.default_rng(1)
    values = rng.integers(0, 9, (4, 3, 12)).astype(float)
    values[rng.random(values.shape) < 0.2] = np.nan
    first, second = np.triu_indices(3, 1)
    for t, found in enumerate(shares_without(values, first, second)):
        np.testing.assert_array_equal(found, duels(np.delete(values, t, axis=2), first, second).share)
