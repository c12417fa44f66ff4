"""Fronts: every indicator equal to the reference figures, and the identities that they keep."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from optarena.errors import OptarenaError
from optarena.views.pareto import (
    additive_epsilon,
    anytime_hypervolume,
    continuous_loss,
    cuboid,
    dominated_in,
    dominates,
    domination_count,
    front,
    gd,
    generalised_spread,
    hypervolume,
    hypervolume_contributions,
    igd,
    igd_plus,
    lifetimes,
    non_dominated,
    pareto_ranks,
    r2,
    reference_set,
    spread,
    total_loss,
)
from optarena.views.pareto.domination import crowding_order
from optarena.views.pareto.nearness import figure, nearness, so_far

FIGURES = json.loads(gzip.decompress((Path(__file__).parent / "data" / "pareto" / "figures.json.gz").read_bytes()))
"""From moocore 0.3.2 and, where it has none, from plain NumPy; hypervolumes cross-checked with pygmo 2.20."""


def same(ours, golden):
    ours = np.array([np.nan if x is None else x for x in np.atleast_1d(np.array(ours, dtype=object))], dtype=float)
    golden = np.array([np.nan if x is None else x for x in np.atleast_1d(np.array(golden, dtype=object))], dtype=float)
    np.testing.assert_allclose(ours, golden, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", FIGURES["sets"])
def test_every_indicator_equals_the_reference(name):
    golden = FIGURES["expected"][name]
    a, r = (np.array(FIGURES["sets"][name][part]) for part in "AR")
    best = non_dominated(a)
    same(best, golden["nondominated"])
    same(non_dominated(a, keep_duplicates=True), golden["nondominated_keep_weakly"])
    same(pareto_ranks(a), golden["pareto_rank"])
    same(domination_count(a), golden["domination_count"])
    same(hypervolume(a, golden["ref"]), golden["hv"])
    same(hypervolume(r, golden["ref"]), golden["hv_R"])
    same(hypervolume_contributions(a[best], golden["ref"]), golden["hv_contrib_nd"])
    same(gd(a, r), golden["gd"])
    same(igd(a, r), golden["igd"])
    same(igd_plus(a, r), golden["igd_plus"])
    same(additive_epsilon(a, r), golden["eps_add"])
    same(total_loss(a, golden["cdom_lo"], golden["cdom_hi"]), golden["cdom_total_loss"])
    if len(a) > 1:
        same(continuous_loss(a[0], a[1], golden["cdom_lo"], golden["cdom_hi"]), golden["cdom_loss_0_1"])
        same(continuous_loss(a[1], a[0], golden["cdom_lo"], golden["cdom_hi"]), golden["cdom_loss_1_0"])
    room = cuboid(a[best])
    same([None if np.isinf(x) else x for x in room], golden["cuboid_nd"])
    same(generalised_spread(a[best], r), golden["gen_spread_nd"])
    if a.shape[1] == 2:
        same(spread(a[best], golden["extremes"]), golden["deb_spread_nd"])
        same(spread(a[best]), golden["deb_spread_nd_noext"])
        same(r2(a, np.minimum(a.min(axis=0), r.min(axis=0))), golden["r2_exact"])


def test_the_hypervolume_of_every_prefix_equals_the_reference():
    trace = np.array(FIGURES["trace2"])
    np.testing.assert_allclose(anytime_hypervolume(trace[:, 1:3], FIGURES["expected"]["trace2"]["ref"]), trace[:, 3])


points = st.integers(2, 4).flatmap(
    lambda m: arrays(float, st.tuples(st.integers(1, 12), st.just(m)), elements=st.integers(0, 8).map(float))
)


@settings(max_examples=60)
@given(points)
def test_the_hypervolume_of_every_prefix_is_that_of_the_prefix(x):
    reference = np.full(x.shape[1], 7.5)
    whole = [hypervolume(x[: k + 1], reference) for k in range(len(x))]
    np.testing.assert_allclose(anytime_hypervolume(x, reference), whole, atol=1e-9)


@settings(max_examples=40)
@given(points)
def test_the_area_under_anytime_hypervolume_is_one_hypervolume_more(x):
    reference = np.full(x.shape[1], 7.5)
    times = np.arange(1.0, len(x) + 1)
    end = len(x) + 1.0
    area = (anytime_hypervolume(x, reference) * np.diff(np.append(times, end))).sum()
    assert area == pytest.approx(hypervolume(np.column_stack((x, times)), [*reference, end]), abs=1e-9)


@given(points)
def test_binary_domination_implies_continuous(x):
    low, high = x.min(axis=0), x.max(axis=0)
    for a in x:
        for b in x:
            if dominates(a, b):
                assert continuous_loss(a, b, low, high) < continuous_loss(b, a, low, high)


@given(points)
def test_a_front_is_what_no_point_dominates(x):
    kept = non_dominated(x, keep_duplicates=True)
    expected = [not any(dominates(other, point) for other in x) for point in x]
    assert kept.tolist() == expected
    assert len(front(np.concatenate((x, x)))) == len(front(x))
    assert ((pareto_ranks(x) == 0) == kept).all()


@given(points)
def test_indicators_of_a_front_against_itself_are_zero(x):
    kept = front(x)
    assert gd(kept, kept) == igd(kept, kept) == igd_plus(kept, kept) == additive_epsilon(kept, kept) == 0


def test_hypervolumes_of_true_fronts_tend_to_what_is_known():
    f = np.linspace(0, 1, 4001)
    assert hypervolume(np.column_stack((f, 1 - np.sqrt(f))), [1.1, 1.1]) == pytest.approx(1.21 - 1 / 3, abs=1e-3)
    assert hypervolume(np.column_stack((f, 1 - f**2)), [1.1, 1.1]) == pytest.approx(1.21 - 2 / 3, abs=1e-3)


def test_degenerate_fronts_have_defined_results():
    one, none = np.array([[1.0, 1.0]]), np.zeros((0, 2))
    assert hypervolume(none, [2.0, 2.0]) == 0
    assert hypervolume([[3.0, 3.0]], [2.0, 2.0]) == 0
    assert hypervolume([[np.inf, 0.0], [1.0, 1.0]], [2.0, 2.0]) == 1
    assert np.isnan(spread(one))
    assert igd(none, one) == igd_plus(none, one) == additive_epsilon(none, one) == r2(none, [0.0, 0.0]) == np.inf
    assert np.isnan(gd(none, one))
    assert np.isnan(igd(one, none))
    assert hypervolume([], [2.0, 2.0]) == 0
    assert reference_set([none]).shape == (0, 2)
    assert spread(np.ones((5, 2))) != spread(np.ones((5, 2)))
    assert anytime_hypervolume(none, [1.0, 1.0]).shape == (0,)
    assert non_dominated(none).shape == (0,)
    assert cuboid(np.ones((3, 2))).tolist() == [np.inf, 0.0, np.inf]
    with pytest.raises(OptarenaError, match="nan"):
        hypervolume([[np.nan, 1.0]], [2.0, 2.0])
    with pytest.raises(OptarenaError, match="objectives"):
        hypervolume(one, [2.0])
    with pytest.raises(OptarenaError, match="matrix"):
        igd([1.0, 2.0], one)


INF = np.inf
STRANGE = {
    "one": [[1.0, 2.0, 3.0]],
    "equal": np.ones((5, 3)),
    "inf": [[INF, 0.0, 1.0], [0.0, INF, 1.0], [1.0, 1.0, 1.0]],
    "all inf": np.full((3, 3), INF),
    "-inf": [[-INF, 1.0, 1.0], [1.0, -INF, 1.0], [0.0, 0.0, 0.0]],
    "both": [[-INF, INF, 0.0], [INF, -INF, 0.0], [1.0, 1.0, 1.0]],
    "huge": [[1e308, -1e308, 0.0], [-1e308, 1e308, 0.0], [-np.finfo(float).max] * 3],
    "outside": np.full((4, 3), 9.0) + np.eye(4, 3),
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("width", [2, 3])
@pytest.mark.parametrize("name", STRANGE)
def test_strange_points_have_defined_results(name, width):
    x, reference = np.array(STRANGE[name])[:, :width], np.full(width, 3.0)
    ends = np.eye(3, width)
    kept = non_dominated(x, keep_duplicates=True)
    assert kept.tolist() == [not any(dominates(other, point) for other in x) for point in x]
    assert ((pareto_ranks(x) == 0) == kept).all()
    assert len(domination_count(x)) == len(cuboid(x)) == len(total_loss(x, ends[0] * 0, ends[0] * 0 + 1)) == len(x)
    assert not np.isnan(total_loss(x, x.min(axis=0), x.max(axis=0))).any()
    whole = hypervolume(x, reference)
    assert whole == anytime_hypervolume(x, reference)[-1] >= 0
    assert (whole == INF) == bool(((x < reference).all(axis=1) & (x == -INF).any(axis=1)).any() or name == "huge")
    added = hypervolume_contributions(x, reference)
    assert (added >= 0).all()
    assert (added <= whole).all()
    for distance in (gd, igd, igd_plus):
        assert distance(x, ends) >= 0
        assert distance(ends, x) >= 0
    assert not np.isnan(additive_epsilon(x, ends))
    assert generalised_spread(x, ends) is not None
    if width == 2:
        assert spread(x, ends) is not None
        assert r2(x, [0.0, 0.0]) >= 0
    for mode in ("crowding", "bdom-count", "cdom"):
        assert len(reference_set([x, x], n=1, mode=mode)) == 1
        assert len(reference_set([x, x], n=1, mode=mode, epsilon=0.1)) == 1


@settings(max_examples=40)
@given(points)
def test_a_point_is_in_the_front_from_when_it_enters_to_when_it_is_dominated(x):
    rows, until = lifetimes(x)
    for k in range(1, len(x) + 1):
        now = rows[(rows < k) & (until >= k)]
        assert sorted(now.tolist()) == np.flatnonzero(non_dominated(x[:k])).tolist()


def test_cells_that_are_halved_give_the_same_anytime_hypervolume(monkeypatch):
    x = np.random.default_rng(3).random((60, 3))
    whole = anytime_hypervolume(x, [1.0, 1.0, 1.0])
    monkeypatch.setattr("optarena.views.pareto.anytime.CELLS", 8)
    np.testing.assert_allclose(anytime_hypervolume(x, [1.0, 1.0, 1.0]), whole, rtol=1e-12)


@settings(max_examples=40)
@given(points, st.integers(1, 6))
def test_thinning_recomputes_the_room_after_each_drop(x, n):
    kept = front(x)
    plain = kept
    while len(plain) > n:
        plain = np.delete(plain, crowding_order(plain)[-1], axis=0)
    assert reference_set([x], n=n).tolist() == plain.tolist()


def test_a_reference_set_by_crowding_is_non_dominated_and_keeps_the_ends():
    rng = np.random.default_rng(0)
    f = rng.random(60)
    a = np.column_stack((f, 1 - f))
    b = a + 0.1
    chosen = reference_set([a, b], n=10)
    assert len(chosen) == 10
    assert dominated_in(chosen) == 0
    assert chosen[0, 0] == a[:, 0].min()
    assert chosen[-1, 0] == a[:, 0].max()
    assert (chosen[:, 0] == np.sort(chosen[:, 0])).all()
    assert (reference_set([b, a], n=10) == chosen).all()


def test_counts_and_losses_can_keep_dominated_points_and_crowding_cannot():
    rng = np.random.default_rng(1)
    a, b = rng.random((40, 2)), rng.random((40, 2))
    n = int(non_dominated(np.concatenate((a, b))).sum()) - 1
    counts = {mode: dominated_in(reference_set([a, b], n=n, mode=mode)) for mode in ("crowding", "bdom-count", "cdom")}
    assert counts["crowding"] == 0
    assert max(counts["bdom-count"], counts["cdom"]) > 0


def test_near_duplicates_in_the_decisions_count_once():
    a = np.array([[1.0, 2.0], [1.1, 2.1], [2.0, 1.0]])
    decisions = np.array([[0.50, "x"], [0.51, "x"], [0.51, "y"]], dtype=object)
    kept = reference_set([a], epsilon=[0.02], decisions=[decisions])
    assert kept.tolist() == [[1.0, 2.0], [2.0, 1.0]]
    assert len(reference_set([a, a])) == 2


def test_a_reference_set_needs_a_front_and_a_known_mode():
    with pytest.raises(OptarenaError, match="no front"):
        reference_set([])
    with pytest.raises(OptarenaError, match="Did you mean 'crowding'"):
        reference_set([[[1.0, 2.0]]], mode="crowdin")


PAIR, WIDE, NARROW = [[1.0, 2.0], [2.0, 1.0]], [[1.0, 2.0, 3.0]], [[1.0]]


@pytest.mark.parametrize("other", [WIDE, NARROW])
@pytest.mark.parametrize("measure", [gd, igd, igd_plus, additive_epsilon, generalised_spread, spread])
def test_sets_with_different_numbers_of_objectives_are_refused_not_stretched(measure, other):
    with pytest.raises(OptarenaError, match="objectives, the points have"):
        measure(PAIR, other)


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (lambda: dominates([1.0], [1.0, 2.0]), "as many objectives"),
        (lambda: continuous_loss([1, 2], [1, 2, 3], [0, 0], [1, 1]), "as many objectives"),
        (lambda: continuous_loss([1, np.nan], [1, 2], [0, 0], [1, 1]), "nan"),
        (lambda: total_loss(PAIR, [1, 1], [0, 0]), "lo must not be above hi"),
        (lambda: r2(PAIR, [0, 0, 0]), "two numbers"),
        (lambda: non_dominated([[1], [1, 2]]), "matrix of numbers"),
        (lambda: reference_set([PAIR, WIDE]), "differ in how many objectives"),
        (lambda: reference_set([PAIR], decisions=[[[1]]]), "a row for each"),
        (lambda: reference_set([PAIR, PAIR], decisions=[[[1], [2]]]), "a list for each front"),
        (lambda: reference_set([PAIR], epsilon=-1), "0 or more"),
    ],
)
def test_what_would_give_a_wrong_figure_is_refused(call, why):
    with pytest.raises(OptarenaError, match=why):
        call()


def test_spread_without_any_extreme_is_not_known():
    assert np.isnan(spread(PAIR, []))


def test_nearness_to_targets_is_the_same_for_one_kind_for_all_and_for_growing_sets():
    rng = np.random.default_rng(8)
    x, r = rng.random((50, 3)), rng.random((40, 3))
    sorted_front = front(x)
    for kind, pure in (("distance", igd), ("plus", igd_plus), ("epsilon", additive_epsilon)):
        assert figure(kind, getattr(nearness(sorted_front, r), kind)) == pytest.approx(pure(sorted_front, r), rel=1e-12)
        grown = so_far(kind, x, r)
        assert grown == pytest.approx([pure(x[: k + 1], r) for k in range(len(x))], rel=1e-12)
