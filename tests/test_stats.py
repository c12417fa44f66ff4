"""The statistics: golden figures, identities, ties, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from optarena import stats

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
