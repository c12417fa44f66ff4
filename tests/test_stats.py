"""The statistics: golden figures, identities, ties, and what is refused."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis.extra.numpy import arrays
from scipy import stats as scipy_stats

from optarena import stats
from optarena.errors import OptarenaError
from optarena.stats.aggregates import iqm_of_counts
from optarena.stats.bootstrap import interval_of_counts
from optarena.stats.effects import a12_of, score_interval
from optarena.stats.ranks import range_tail, tie_sums
from optarena.stats.signed_rank import least_p
from optarena.stats.stratified import stratified_mann_whitney

DATA = Path(__file__).parent / "data" / "stats"
GOLDEN = json.loads((DATA / "stats_expected.json").read_text())
EXACT = {"rel": 1e-9, "abs": 1e-12}


def load(name: str):
    return np.loadtxt(DATA / f"st_{name}.csv", delimiter=",")


X, Y, TX, TY, M, A, B = (load(name) for name in ("x", "y", "tx", "ty", "matrix", "rliable_A", "rliable_B"))
SAMPLES = {"x_vs_y": (X, Y), "tx_vs_ty_ties": (TX, TY)}


# ---- golden ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SAMPLES)
def test_two_samples_have_the_golden_effects_and_tests(name):
    x, y = SAMPLES[name]
    expected = GOLDEN[name]
    assert stats.a12(x, y) == pytest.approx(expected["A12"], **EXACT)
    assert stats.cliffs_delta(x, y) == pytest.approx(expected["cliffs_delta"], **EXACT)
    test = stats.mann_whitney(x, y, method="asymptotic")
    assert test.statistic == pytest.approx(expected["U"], **EXACT)
    assert test.p == pytest.approx(expected["p_asymptotic"], **EXACT)
    assert stats.mann_whitney(x, y, method="asymptotic", alternative="greater").p == pytest.approx(
        expected["p_greater"], **EXACT
    )
    assert test.statistic / (len(x) * len(y)) == pytest.approx(expected["A12_from_U"], **EXACT)
    if "p_exact" in expected:
        assert stats.mann_whitney(x, y, method="exact").p == pytest.approx(expected["p_exact"], **EXACT)
    assert list(stats.brunner_munzel(x, y)[:2]) == pytest.approx(expected["brunner_munzel"], **EXACT)
    assert list(stats.welch_t(x, y)[:2]) == pytest.approx(expected["welch_t"], **EXACT)
    assert list(stats.kolmogorov_smirnov(x, y)[:2]) == pytest.approx(expected["ks"], **EXACT)
    assert stats.cohens_d(x, y) == pytest.approx(expected["cohen_d"], **EXACT)
    assert stats.hedges_g(x, y) == pytest.approx(expected["hedges_g"], **EXACT)
    assert stats.hodges_lehmann(x, y) == pytest.approx(expected["hodges_lehmann"], **EXACT)


def test_wilcoxon_is_golden_with_and_without_a_zero_difference():
    whole, zero = GOLDEN["wilcoxon_c0_c3"], GOLDEN["wilcoxon_c0_c1_zero_diff"]
    test = stats.wilcoxon(M[:, 0], M[:, 3])
    assert (test.statistic, test.p) == pytest.approx((whole["W"], whole["p"]), **EXACT)
    test = stats.wilcoxon(M[:, 0], M[:, 1])
    assert (test.statistic, test.p) == pytest.approx((zero["W"], zero["p"]), **EXACT)
    assert test.n == 19


def test_friedman_iman_davenport_nemenyi_and_conover_are_golden():
    expected = GOLDEN["friedman"]
    found = stats.friedman(M)
    assert found.ranks == pytest.approx(expected["mean_ranks_lower_better"], **EXACT)
    assert (found.statistic, found.p) == pytest.approx((expected["chi2"], expected["p"]), **EXACT)
    assert stats.iman_davenport(M) == pytest.approx(
        (expected["iman_davenport_F"], expected["iman_davenport_p"]), **EXACT
    )
    nemenyi = stats.nemenyi(M)
    assert nemenyi.q == pytest.approx(expected["nemenyi_q05"], **EXACT)
    assert nemenyi.cd == pytest.approx(expected["nemenyi_CD05"], **EXACT)
    assert nemenyi.cd == pytest.approx(stats.critical_difference(20, 5), **EXACT)
    assert nemenyi.p == pytest.approx(np.array(expected["nemenyi_p"]), **EXACT)
    p = stats.conover(M)
    upper = np.triu_indices(5, 1)
    corrected = np.eye(5)
    corrected[upper] = stats.holm(p[upper])
    corrected.T[upper] = corrected[upper]
    assert corrected == pytest.approx(np.array(expected["conover_holm_p"]), **EXACT)
    posthoc = GOLDEN["autorank_nonparametric"]
    assert found.p == pytest.approx(posthoc["pvalue"], **EXACT)
    assert nemenyi.cd == pytest.approx(posthoc["cd"], rel=1e-4)  # autorank has q from a table


def test_pairwise_wilcoxon_and_its_corrections_are_golden():
    expected = GOLDEN["pairwise_wilcoxon"]
    p = [stats.wilcoxon(M[:, i], M[:, j], method="asymptotic").p for i, j in expected["pairs"]]
    assert p == pytest.approx(expected["p"], **EXACT)
    assert stats.holm(p) == pytest.approx(expected["holm"], **EXACT)
    assert stats.hochberg(p) == pytest.approx(expected["hochberg"], **EXACT)
    assert stats.benjamini_hochberg(p) == pytest.approx(expected["bh"], **EXACT)
    assert stats.benjamini_yekutieli(p) == pytest.approx(expected["by"], **EXACT)


def test_bayesian_tests_are_baycomps():
    expected = GOLDEN["baycomp"]
    a, d = M[:, 0], M[:, 3]
    left, rope, right = expected["signed_rank_A_vs_D_rope0p1"]
    assert stats.bayesian_signed_rank(a, d, 0.1)[:3] == pytest.approx((right, rope, left), abs=0.01)
    left, rope, right = expected["sign_A_vs_D_rope0p1"]
    assert stats.bayesian_sign(a, d, 0.1)[:3] == pytest.approx((right, rope, left), abs=0.01)
    assert stats.correlated_t(a, d, 0.1) == pytest.approx(expected["correlated_t_A_vs_D_rope0p1"], **EXACT)


def test_strengths_are_choixs():
    expected = GOLDEN["bradley_terry"]
    wins = np.zeros((3, 3))
    for pair, count in expected["wins"].items():
        i, j = map(int, pair.split(">"))
        wins[i, j] = count
    assert stats.bradley_terry(wins) == pytest.approx(expected["log_strength"], rel=1e-9, abs=1e-9)
    rankings = GOLDEN["plackett_luce"]
    assert stats.plackett_luce(rankings["rankings"]) == pytest.approx(rankings["log_strength"], rel=1e-7)


@pytest.mark.parametrize(("name", "scores"), [("A", A), ("B", B)])
def test_aggregates_are_rliables(name, scores):
    expected = GOLDEN["rliable"][name]
    assert stats.iqm(scores) == pytest.approx(expected["iqm"], **EXACT)
    assert stats.mean(scores) == pytest.approx(expected["mean"], **EXACT)
    assert stats.median(scores) == pytest.approx(expected["median_of_task_means"], **EXACT)
    assert stats.optimality_gap(scores) == pytest.approx(expected["optimality_gap"], **EXACT)
    interval = stats.stratified_bootstrap(scores, stats.iqm)
    ends = expected["iqm_ci95_percentile_stratified_bootstrap_mc_tol_0p01"]
    assert (interval.lower, interval.upper) == pytest.approx(ends, abs=0.01)
    profile = stats.score_distribution(scores, GOLDEN["rliable"]["profile_tau"])
    assert profile == pytest.approx(expected["performance_profile_gt_tau"], **EXACT)


def test_probability_of_improvement_is_rliables():
    expected = GOLDEN["rliable"]["prob_improvement_A_over_B"]
    assert stats.probability_of_improvement(A, B) == pytest.approx(expected, **EXACT)
    assert stats.probability_of_improvement(B, A) == pytest.approx(1 - expected, **EXACT)


# ---- identities and invariances --------------------------------------------------------------------------------------

numbers = st.floats(-1e3, 1e3).map(lambda x: round(x, 2))
samples = st.lists(numbers, min_size=2, max_size=12)


@given(samples, samples)
@settings(max_examples=25)
def test_a12_counts_ties_half_and_turns_round(x, y):
    pairs = [(a > b) + 0.5 * (a == b) for a in x for b in y]
    assert stats.a12(x, y) == pytest.approx(np.mean(pairs))
    assert stats.a12(x, y) + stats.a12(y, x) == pytest.approx(1)
    assert stats.cliffs_delta(x, y) == pytest.approx(-stats.cliffs_delta(y, x))
    assert stats.a12(x, y) == stats.a12(np.arctan(x), np.arctan(y)) or len(set(np.arctan([*x, *y]))) < len({*x, *y})
    lower, upper = score_interval(stats.a12(x, y), np.array([len(x)]), np.array([len(y)]))
    assert 0 <= lower <= stats.a12(x, y) <= upper <= 1


@given(arrays(float, st.tuples(st.integers(2, 8), st.integers(2, 5)), elements=st.integers(-4, 4).map(float)))
@settings(max_examples=25)
def test_rank_methods_know_only_the_order_within_a_problem(x):
    moved = np.exp(x) * np.arange(1, len(x) + 1)[:, None]  # increasing within each problem
    assert stats.friedman(x).statistic == pytest.approx(stats.friedman(moved).statistic)
    assert stats.average_ranks(x) == pytest.approx(stats.average_ranks(moved))
    order = np.random.default_rng(0).permutation(x.shape[1])
    assert stats.friedman(x[:, order]).ranks == pytest.approx(stats.friedman(x).ranks[order])
    assert stats.nemenyi(x[:, order]).p == pytest.approx(stats.nemenyi(x).p[np.ix_(order, order)], abs=1e-12)
    assert stats.ranks_of(x, axis=1).sum(axis=1) == pytest.approx(x.shape[1] * (x.shape[1] + 1) / 2)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_corrections_never_lower_a_p_value_and_keep_their_order(p):
    holm, hochberg, bh = stats.holm(p), stats.hochberg(p), stats.benjamini_hochberg(p)
    order = np.argsort(p, kind="stable")
    for corrected in (holm, hochberg, bh, stats.benjamini_yekutieli(p)):
        assert (corrected >= np.array(p) - 1e-15).all()
        assert (np.diff(corrected[order]) >= -1e-15).all()
    assert (hochberg <= holm + 1e-15).all()
    assert (bh <= hochberg + 1e-15).all()


# up to 8 pairs, and one case each side of where all signs are no longer tried: SciPy tries 2^n signs in a Python loop
@given(arrays(float, st.tuples(st.integers(1, 3), st.integers(1, 8)), elements=st.integers(-5, 5).map(float)))
@example(np.array([[1.0, -1, 2, 2, 0, 3, -4, 5, 5, 2, 1, -3]]))
@example(np.array([[1.0, -1, 2, 2, 0, 3, -4, 5, 5, 2, 1, -3, 4, 4], [1, 1, -1, 2, 2, 3, 3, -2, 4, 5, 5, 1, 2, 2]]))
@settings(max_examples=20)
def test_many_signed_rank_tests_at_once_are_scipys_one_by_one(d):
    p, sign = stats.signed_rank_p(d)
    for i, row in enumerate(d):
        found = scipy_stats.wilcoxon(row) if row.any() else None
        assert p[i] == pytest.approx(found.pvalue if found else 1.0, rel=1e-9)
        assert stats.wilcoxon(row)[:2] == (pytest.approx(found.statistic if found else 0.0), p[i])
        assert sign[i] in (-1, 0, 1)


@pytest.mark.parametrize("n", [6, 20, 51])
def test_many_signed_rank_tests_without_ties_are_scipys(n):
    d = np.random.default_rng(n).normal(0.3, 1, (3, n))
    assert stats.signed_rank_p(d)[0] == pytest.approx([scipy_stats.wilcoxon(row).pvalue for row in d], rel=1e-9)
    normal = [stats.wilcoxon(row, method="asymptotic").p for row in d]
    assert normal == pytest.approx([scipy_stats.wilcoxon(row, method="asymptotic").pvalue for row in d], rel=1e-9)


@pytest.mark.parametrize("method", ["auto", "exact", "asymptotic"])
@pytest.mark.parametrize("alternative", ["two-sided", "less", "greater"])
def test_mann_whitney_is_scipys_with_and_without_ties(method, alternative):
    rng = np.random.default_rng(11)
    for m, n, digits in ((5, 7, 9), (9, 12, 9), (9, 12, 0), (3, 3, 0)):
        x, y = np.round(rng.normal(size=m), digits), np.round(rng.normal(0.4, 2, size=n), digits)
        found = scipy_stats.mannwhitneyu(x, y, method=method, alternative=alternative)
        test = stats.mann_whitney(x, y, method=method, alternative=alternative)
        assert test[:2] == pytest.approx((found.statistic, found.pvalue), rel=1e-9)


def test_ties_are_counted_by_groups():
    values = np.array([[1.0, 1.0, 1.0, 2.0, 3.0, 3.0, np.nan, np.nan], np.arange(8.0)])
    assert tie_sums(values).tolist() == [3**3 - 3 + 2**3 - 2, 0.0]


def test_a12_of_many_samples_at_once_is_that_of_each():
    rng = np.random.default_rng(12)
    x, y = np.round(rng.normal(size=(3, 4, 6)), 1), np.round(rng.normal(size=(3, 4, 5)), 1)
    x[0, 0, 2:], y[1, 2, 0] = np.nan, np.nan
    each = [
        [stats.a12(a[~np.isnan(a)], b[~np.isnan(b)]) for a, b in zip(*rows, strict=True)]
        for rows in zip(x, y, strict=True)
    ]
    assert a12_of(x, y).tolist() == each
    assert np.array_equal(a12_of(x + 1e-13, y, equal=1e-12), a12_of(x, y))


def test_the_least_p_value_is_that_of_differences_of_one_sign():
    assert least_p(6) == stats.wilcoxon(np.arange(1.0, 7.0)).p


def test_range_tail_is_scipys_studentized_range():
    q = np.array([0.5, 2.0, 3.5, 5.0])
    for k in (2, 5, 20):
        assert range_tail(q, k) == pytest.approx(scipy_stats.studentized_range.sf(q, k, np.inf), abs=1e-10)


def test_trials_within_one_problem_are_mann_whitney():
    rng = np.random.default_rng(3)
    x, y = rng.normal(size=6), rng.normal(0.5, 1, 5)
    below = np.array([[stats.a12(x, y)]])
    p, exact = stratified_mann_whitney(below, np.array([[6]]), np.array([[5]]), np.zeros((1, 1)))
    assert exact
    assert p[0] == pytest.approx(stats.mann_whitney(x, y, method="exact").p)
    many, _ = stratified_mann_whitney(np.tile(below, (1, 4)), np.full((1, 4), 6), np.full((1, 4), 5), np.zeros((1, 4)))
    assert many[0] < p[0] or p[0] == 1


def test_the_bayesian_signed_rank_test_is_its_definition():
    rng = np.random.default_rng(5)
    d = np.round(rng.normal(0.1, 0.5, 7), 1)
    found = stats.bayesian_signed_rank(-d, None, 0.1, samples=4000, seed=1)
    whole = np.append(0.0, d)
    sums = whole[:, None] + whole[None, :]
    weights = rng.dirichlet(np.append(0.5, np.ones(7)), 4000)
    right = np.einsum("si,ij,sj->s", weights, (sums > 0.2) + 0.5 * (sums == 0.2), weights)
    left = np.einsum("si,ij,sj->s", weights, (-sums > 0.2) + 0.5 * (-sums == 0.2), weights)
    votes = np.bincount(np.argmax([right, 1 - left - right, left], axis=0), minlength=3) / 4000
    assert found[:3] == pytest.approx(votes, abs=0.03)
    assert sum(found[:3]) == pytest.approx(1)


def test_the_iqm_of_drawn_problems_is_that_of_the_repeated_ones():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(5, 9))
    x[3:, 2] = np.nan
    counts = stats.draws(9, 20, 1)
    drawn = [stats.iqm(np.repeat(x, row.astype(int), axis=1)) for row in counts]
    assert iqm_of_counts(x, counts) == pytest.approx(drawn, rel=1e-12)


def test_the_interval_of_an_iqm_does_not_depend_on_rounding_where_resamplings_tie():
    x = np.round(np.random.default_rng(5).normal(size=(3, 40)) * 0.2, 1)
    counts = stats.draws(40, 1000, 1)
    found = interval_of_counts(lambda drawn: iqm_of_counts(x, drawn), counts)
    rounded = interval_of_counts(lambda drawn: np.round(iqm_of_counts(x, drawn), 12), counts)
    assert found[:3] == pytest.approx(rounded[:3], abs=1e-11)


def test_bca_and_percentile_intervals_are_scipys():
    x = np.random.default_rng(4).lognormal(size=25)
    for name, theirs in (("bca", "BCa"), ("percentile", "percentile")):
        ours = stats.bootstrap(x, method=name, resamples=20_000, seed=1)
        ends = scipy_stats.bootstrap((x,), np.mean, method=theirs, n_resamples=20_000, rng=2).confidence_interval
        assert (ours.lower, ours.upper) == pytest.approx((ends.low, ends.high), rel=0.02)


def test_intervals_over_problems_keep_trials_whole_and_those_over_trials_keep_problems():
    rng = np.random.default_rng(6)
    apart = rng.normal(0, 5, (25, 1)) + rng.normal(0, 0.1, (25, 8))  # problems differ, trials hardly
    wide = stats.bootstrap(apart, over="problems", resamples=500)
    narrow = stats.bootstrap(apart, over="trials", resamples=500)
    assert wide.upper - wide.lower > 10 * (narrow.upper - narrow.lower)
    both = stats.bootstrap(apart, over="both", resamples=500)
    assert both.upper - both.lower > 5 * (narrow.upper - narrow.lower)
    student = stats.bootstrap(apart[:, :1], method="studentised", resamples=200)
    assert student.lower < student.value < student.upper


def test_few_problems_give_a_flagged_t_interval():
    x = np.random.default_rng(0).normal(size=12)
    found = stats.bootstrap(x)
    half = 2.200985160082949 * x.std(ddof=1) / np.sqrt(12)
    assert (found.lower, found.upper) == pytest.approx((x.mean() - half, x.mean() + half))
    assert "fewer than 20 problems" in found.note
    _, lower, upper, how = stats.mean_intervals(x[:, None], stats.draws(12, 100, 0))
    assert (lower[0], upper[0]) == pytest.approx((found.lower, found.upper))
    assert "fewer than 20" in how


def test_errors_over_trials_add_up_over_problems_and_over_both_are_those_of_problems():
    x = np.array([[1.0, 2.0, 4.0, 3.0], [10.0, 12.0, 11.0, 15.0], [5.0, 6.0, np.nan, np.nan]])
    error = np.sqrt(sum(row[~np.isnan(row)].var(ddof=1) / np.sum(~np.isnan(row)) for row in x)) / 3
    found = stats.bootstrap(x, over="trials", method="t")
    assert (found.upper - found.lower) / 2 == pytest.approx(3.182446305284263 * error)  # of 4 trials at most
    both, problems = (stats.bootstrap(x, over=over, method="t") for over in ("both", "problems"))
    assert both[:3] == problems[:3]


def test_the_same_seed_gives_the_same_interval():
    x = np.random.default_rng(0).normal(size=(30, 3))
    assert stats.bootstrap(x, resamples=300, seed=7) == stats.bootstrap(x, resamples=300, seed=7)
    assert stats.bootstrap(x, resamples=300, seed=7) != stats.bootstrap(x, resamples=300, seed=8)
    assert stats.a12_interval(X, Y, seed=3) == stats.a12_interval(X, Y, seed=3)


def test_scott_knott_splits_where_means_lie_apart_and_the_effect_is_not_small():
    rng = np.random.default_rng(0)
    data = {name: rng.normal(mean, 0.3, 30) for name, mean in (("b", 1.0), ("a", 1.0), ("d", 5.0), ("c", 3.0))}
    found = stats.scott_knott(data)
    assert [sorted(group) for group in found.groups] == [["a", "b"], ["c"], ["d"]]
    assert found.ranks == {"a": 1, "b": 1, "c": 2, "d": 3}
    first = found.splits[0]
    assert first.kept
    assert first.effect > 0.9
    near = {"x": np.linspace(0, 1, 400), "y": np.linspace(0.06, 1.06, 400)}  # surely different, hardly larger
    assert stats.scott_knott(near).ranks == {"x": 1, "y": 1}
    assert stats.scott_knott(near, least_effect=0.5).ranks == {"x": 1, "y": 2}
    again = {name: data[name] for name in ("c", "d", "a", "b")}
    assert stats.scott_knott(again).groups == found.groups


def test_the_original_scott_knott_is_there_by_name_and_says_that_it_is_not_calibrated():
    data = {"x1": [0.34, 0.49, 0.51, 0.6], "x2": [6, 7, 8, 9], "x3": [0.15, 0.25, 0.4, 0.35], "x4": [6, 7, 8, 9]}
    original = stats.scott_knott(data, method="bootstrap")
    assert original.groups == [["x3"], ["x1"], ["x2", "x4"]]
    assert not original.calibrated
    assert "not calibrated" in original.test
    assert stats.scott_knott(data).calibrated


def test_scott_knott_takes_functions_for_blocks_and_their_instances_for_repetitions():
    rng = np.random.default_rng(3)
    effect = np.repeat(rng.normal(0, 1, (4, 2, 1)), 15, axis=0)  # 4 functions of 15 instances, which agree
    effect -= effect.mean(axis=0) - np.array([[0.0], [1.5]])
    values = effect + rng.normal(0, 0.1, (60, 2, 3))
    functions = np.repeat(["f1", "f2", "f3", "f4"], 15).tolist()
    assert len(stats.scott_knott(values, ["a", "b"]).groups) == 2  # as if they were 60 functions
    found = stats.scott_knott(values, ["a", "b"], functions=functions, over="functions")
    assert found.groups == [["a", "b"]]  # 4 functions cannot decide
    assert found.splits[0].p > 0.05
    assert stats.scott_knott(values, functions=functions).over == "trials"  # so trials are exchanged
    better = [1 - stats.a12(x[0], x[1]) for x in values]
    assert found.splits[0].effect == pytest.approx(np.mean(better))


def test_scott_knott_does_not_depend_on_the_scale_of_a_problem_or_the_order_of_the_optimizers():
    rng = np.random.default_rng(0)
    values = rng.normal(0, 1, (12, 5, 4)) + np.array([0.0, 0.0, 2.0, 2.0, 5.0])[None, :, None]
    values[0, 4, 2:] = np.nan
    scaled = np.exp(values) * 10.0 ** rng.integers(-5, 5, (12, 1, 1))
    groups = [sorted(group) for group in stats.scott_knott(values, list("abcde")).groups]
    assert groups == [["a", "b"], ["c", "d"], ["e"]]
    assert [sorted(group) for group in stats.scott_knott(scaled, list("abcde")).groups] == groups
    turned = stats.scott_knott(values[:, ::-1], list("edcba"))
    assert [sorted(group) for group in turned.groups] == groups
    by_trials = stats.scott_knott(values, list("abcde"), over="trials")
    assert [sorted(group) for group in by_trials.groups] == groups
    failed = values.copy()
    failed[:, 4] = np.inf  # failures are the worst, and tie
    assert stats.scott_knott(failed, list("abcde")).groups[-1] == ["e"]


def test_the_test_over_trials_is_that_of_brunner_and_munzel_by_all_permutations():
    x, y = np.array([1.0, 2.0, 3.0, 4.0, 9.0]), np.array([5.0, 6.0, 7.0, 8.0, 10.0])
    split = stats.scott_knott({"x": x, "y": y}, alpha=0.9, permutations=20_000).splits[0]
    pool = np.concatenate((x, y))

    def statistic(a, b):
        n = len(a)
        spread = [np.array([np.mean((d < v) + 0.5 * (d == v)) for v in c]) for c, d in ((a, b), (b, a))]
        return (spread[0].mean() - 0.5) ** 2 / sum(np.sum((s - s.mean()) ** 2) / n**2 + 1 / 12 / n**2 for s in spread)

    every = [
        statistic(pool[list(i)], np.delete(pool, i)) >= statistic(x, y) - 1e-9
        for i in itertools.combinations(range(10), 5)
    ]
    assert split.p == pytest.approx(np.mean(every), abs=0.01)
    assert split.effect == pytest.approx(1 - stats.a12(x, y))


# ---- calibration of groups, in short (benchmarks/calibration_groups.py has the long form) ----------------------------


@pytest.fixture(scope="module")
def calibration():
    place = Path(__file__).parent.parent / "benchmarks" / "calibration_groups.py"
    spec = importlib.util.spec_from_file_location("calibration_groups", place)
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("design", "shape"),
    [
        ((1, 3, 15), "normal"),
        ((6, 6, 1), "Cauchy"),
        ((10, 10, 5), "ties"),
        ((24, 6, 5), "unequal variances"),
        ((10, 2, 5), "normal"),
        ((10, 20, 1), "normal"),
    ],
)
def test_equal_optimizers_are_seldom_split(calibration, design, shape):
    assert calibration.splits(300, design, shape, permutations=199) <= 0.05 + calibration.error(300)


def test_the_original_recipe_splits_equal_optimizers_and_a_clear_difference_is_found(calibration):
    assert calibration.splits(60, (10, 6, 1), method="bootstrap", permutations=199) > 0.2
    assert calibration.splits(60, (10, 6, 5), gap=1.0, permutations=199) > 0.8
    assert calibration.splits(60, (1, 6, 15), gap=1.0, permutations=199) > 0.7


def test_groups_of_equal_optimizers_beside_others_stay_whole(calibration):
    some, right, wrong = calibration.alternative(100, (24, 6, 5), gap=3.0)
    assert some == 1
    assert wrong <= 0.05 + calibration.error(100)
    assert right > 0.85


# ---- few blocks, bars, rankings --------------------------------------------------------------------------------------


def test_friedman_on_few_problems_is_a_permutation_test_and_refuses_iman_davenport():
    two = stats.friedman([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]])
    assert np.isnan(two.iman_davenport_p)
    assert two.p >= two.least_p == pytest.approx(1 / 6)
    assert two.p == pytest.approx(1 / 6, abs=0.02)
    assert "cannot support Iman-Davenport" in two.note
    assert "no p-value below 0.17 is possible" in two.note
    assert np.isnan(stats.iman_davenport([[1.0, 2.0], [1.0, 2.0]])[1])
    rng = np.random.default_rng(0)
    x = rng.normal(size=(4, 3))
    orders = [np.array(list(itertools.permutations(row))) for row in stats.ranks_of(x, axis=1)]
    observed = stats.friedman(x).statistic
    every = np.array([np.sum((sum(rows) / 4 - 2) ** 2) for rows in itertools.product(*orders)])
    assert stats.friedman(x).p == pytest.approx(np.mean(12 * 4 / 12 * every >= observed - 1e-9), abs=0.02)
    many = stats.friedman(rng.normal(size=(10, 3)))
    assert (many.method, many.note) == ("chi-squared", "")
    assert not np.isnan(many.iman_davenport_p)


def test_bars_follow_the_test_that_they_name():
    rng = np.random.default_rng(1)
    x = rng.normal(0, 1, (20, 4)) + np.array([0.0, 0.3, 1.5, 4.0])
    by_pairs = stats.rank_diagram(x)
    assert by_pairs.test == "wilcoxon-holm"
    pairs = list(itertools.combinations(range(4), 2))
    expected = stats.holm([stats.wilcoxon(x[:, a], x[:, b]).p for a, b in pairs])
    assert [by_pairs.p[a, b] for a, b in pairs] == pytest.approx(expected)
    assert by_pairs.cd is None
    by_ranks = stats.rank_diagram(x, test="nemenyi")
    assert by_ranks.p == pytest.approx(stats.nemenyi(x).p)
    assert by_ranks.cd == pytest.approx(stats.critical_difference(20, 4))
    for found in (by_pairs, by_ranks):
        assert found.bars == stats.groups(found.ranks, found.p < 0.05)
    few = stats.rank_diagram(x[:5])
    assert few.bars == [np.argsort(few.ranks).tolist()]
    assert "too few" in few.note
    with pytest.raises(OptarenaError, match="one of"):
        stats.rank_diagram(x, test="t")


def test_kendalls_tau_of_the_same_ranking_is_1_with_ties_or_without():
    assert stats.kendall_tau([1, 2, 2, 3], [1, 2, 2, 3]) == 1
    assert stats.kendall_tau([1, 2, 2, 3], [-1, -2, -2, -3]) == -1
    assert stats.kendall_tau([1, 1, 1], [2, 2, 2]) == 1
    assert stats.kendall_tau([1, 1, 1], [1, 2, 3]) == 0
    assert stats.kendall_tau([1], [5]) == 1


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=12))
def test_kendalls_tau_is_scipys_tau_b(pairs):
    x, y = np.array(pairs).T
    if len(set(x)) > 1 and len(set(y)) > 1:
        expected = scipy_stats.kendalltau(x, y, variant="b").statistic
        assert stats.kendall_tau(x, y) == pytest.approx(expected, abs=1e-12)


def test_strengths_follow_relabelling_and_have_intervals():
    rng = np.random.default_rng(0)
    wins = rng.integers(0, 4, (12, 4, 4)) * (1 - np.eye(4))
    value, lower, upper = stats.bradley_terry_interval(wins, stats.draws(12, 200, 0))
    assert (lower <= value).all()
    assert (value <= upper).all()
    order = np.array([2, 0, 3, 1])
    turned = stats.bradley_terry(wins.sum(axis=0)[np.ix_(order, order)], alpha=0.5)
    assert turned == pytest.approx(value[order], abs=1e-8)
    rankings = np.array([rng.permutation(4) for _ in range(10)])
    strength, low, high = stats.plackett_luce_interval(rankings, resamples=50)
    assert (low <= strength + 1e-9).all()
    assert (strength <= high + 1e-9).all()


# ---- ties, one trial, one problem, constant data ---------------------------------------------------------------------


def test_constant_data_have_a_defined_answer():
    same = [2.0] * 5
    assert stats.a12(same, same) == 0.5
    for test in (stats.mann_whitney, stats.brunner_munzel, stats.wilcoxon, stats.sign_test, stats.welch_t):
        assert test(same, same).p == 1.0
    found = stats.friedman(np.ones((4, 3)))
    assert (found.p, found.iman_davenport_p) == (1.0, 1.0)
    assert (stats.nemenyi(np.ones((4, 3))).p == 1).all()
    assert stats.scott_knott({"a": same, "b": same}).ranks == {"a": 1, "b": 1}
    assert stats.bayesian_signed_rank(same, same, 0.1, samples=100).equivalent == 1
    flat = stats.bootstrap([2.0] * 30, resamples=100)
    assert (flat.lower, flat.upper) == (2.0, 2.0)
    assert flat.note


def test_one_problem_and_one_trial_are_answered_or_refused():
    one = stats.bootstrap([[1.0, 2.0, 3.0]])
    assert (one.lower, one.upper) == (-np.inf, np.inf)
    assert "one problem" in one.note
    assert stats.wilcoxon([1.0]).p == 1.0
    assert stats.sign_test([1.0]).p == 1.0
    assert stats.iqm([[3.0]]) == 3.0
    assert stats.brunner_munzel([1.0, 2.0], [3.0, 4.0]).p == 0
    with pytest.raises(OptarenaError, match="at least 2"):
        stats.brunner_munzel([1.0], [2.0, 3.0])


@pytest.mark.parametrize(
    "call",
    [
        lambda: stats.a12([], [1.0]),
        lambda: stats.a12([np.nan], [1.0]),
        lambda: stats.a12([[1.0]], [1.0]),
        lambda: stats.wilcoxon([1.0, 2.0], [1.0]),
        lambda: stats.friedman([[1.0], [2.0]]),
        lambda: stats.friedman([[1.0, np.nan], [2.0, 3.0]]),
        lambda: stats.holm([1.5]),
        lambda: stats.bradley_terry([[0, 3], [0, 0]]),
        lambda: stats.plackett_luce([[0, 1], [0, 1]]),
        lambda: stats.plackett_luce([[0, 0], [1, 0]]),
        lambda: stats.bootstrap([1.0, 2.0], over="optimizers"),
        lambda: stats.bootstrap([1.0, 2.0], method="guess"),
        lambda: stats.bootstrap([[np.nan], [1.0]]),
        lambda: stats.scott_knott({}),
        lambda: stats.scott_knott({"a": [1.0]}, effect="size"),
        lambda: stats.bayesian_sign([1.0], [2.0], rope=-1),
        lambda: stats.probability_of_improvement(np.ones((2, 3)), np.ones((2, 4))),
        lambda: stats.a12_interval([1.0, 2.0], [1.0, 3.0], level=95),
        lambda: stats.a12_interval([1.0, 2.0], [1.0, 3.0], method="guess"),
        lambda: stats.stratified_bootstrap(np.ones((2, 3)), over="optimizers"),
        lambda: stats.improvement_interval(np.ones((2, 3)), np.ones((2, 4))),
        lambda: stats.signed_rank_p([[1.0, np.nan]]),
        lambda: stats.a12(["a"], [1.0]),
        lambda: stats.iqm([]),
        lambda: stats.mean([[np.nan]]),
        lambda: stats.critical_difference(0, 5),
        lambda: stats.scott_knott({"a": [1.0]}, alpha=5),
        lambda: stats.scott_knott({"a": [1.0]}, method="guess"),
        lambda: stats.scott_knott(np.ones((3, 2)), over="optimizers"),
        lambda: stats.scott_knott(np.ones((3, 2)), ["a"]),
        lambda: stats.scott_knott(np.ones((3, 2)), functions=["f"]),
        lambda: stats.scott_knott([[np.nan, 1.0], [1.0, 2.0]]),
        lambda: stats.scott_knott([1.0, 2.0]),
        lambda: stats.rank_diagram(np.ones((3, 2)), alpha=5),
    ],
)
def test_what_cannot_be_computed_is_refused_in_a_sentence(call):
    with pytest.raises(OptarenaError):
        call()


def test_no_difference_at_all_is_neither_better_nor_worse():
    found = stats.bayesian_signed_rank([1.0, 2.0, 0.3], [1.0, 2.0, 0.3], samples=200)
    assert (found.better, found.equivalent, found.worse) == (0.5, 0.0, 0.5)
    assert stats.bayesian_signed_rank([1.0, 2.0], [1.0, 2.0], rope=0.1, samples=200).equivalent == 1


def test_missing_trials_are_left_out():
    x = np.array([[1.0, 4.0], [3.0, np.nan]])
    assert stats.mean(x) == pytest.approx((2.0 + 4.0) / 2)
    assert stats.iqm(x) == pytest.approx(np.mean([1.0, 3.0, 4.0]))
    assert stats.probability_of_improvement(x, np.full((2, 2), 2.0)) == pytest.approx((0.5 + 1.0) / 2)
    assert stats.score_distribution(x, [2.0]) == pytest.approx([(0.5 + 1.0) / 2])


def test_groups_are_the_longest_runs_in_which_no_two_differ():
    apart = np.zeros((4, 4), dtype=bool)
    apart[0, 2] = apart[2, 0] = apart[0, 3] = apart[3, 0] = True
    assert stats.groups([1.0, 2.0, 3.0, 4.0], apart) == [[0, 1], [1, 2, 3]]
    assert stats.groups([1.0, 2.0], np.array([[False, True], [True, False]])) == []
