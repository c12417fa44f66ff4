"""The statistics beside the tools that people trust: scikit-posthocs, autorank, baycomp, choix."""

from __future__ import annotations

import numpy as np
import pytest

from optarena import stats

pytestmark = pytest.mark.peer

RNG = np.random.default_rng(11)
MATRIX = np.round(RNG.normal(0, 1, (25, 5)) + np.array([0, 0.2, 0.4, 0.9, 0.1]), 1)  # with ties


def test_posthoc_tests_are_those_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    nemenyi = posthocs.posthoc_nemenyi_friedman(MATRIX).to_numpy()
    assert stats.nemenyi(MATRIX).p == pytest.approx(nemenyi, abs=1e-9)
    conover = posthocs.posthoc_conover_friedman(MATRIX).to_numpy()
    assert stats.conover(MATRIX) == pytest.approx(conover, abs=1e-9)


def test_ranks_and_critical_difference_are_autoranks():
    autorank = pytest.importorskip("autorank")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(MATRIX, columns=list("ABCDE"))
    theirs = autorank.autorank(frame, order="ascending", force_mode="nonparametric", verbose=False)
    ours = stats.friedman(MATRIX)
    assert theirs.pvalue == pytest.approx(ours.p)
    ranks = theirs.rankdf["meanrank"]
    assert [ranks[name] for name in "ABCDE"] == pytest.approx(ours.ranks)
    assert theirs.cd == pytest.approx(stats.nemenyi(MATRIX).cd, rel=1e-4)  # its q is rounded


@pytest.mark.parametrize("rope", [0.0, 0.1, 0.5])
def test_bayesian_tests_are_baycomps(rope):
    baycomp = pytest.importorskip("baycomp")
    x, y = MATRIX[:, 0], MATRIX[:, 2]
    for test, ours in (
        (baycomp.SignedRankTest, stats.bayesian_signed_rank),
        (baycomp.SignTest, stats.bayesian_sign),
    ):
        theirs = test(x, y, rope, nsamples=20_000, random_state=1).probs(with_rope=True)
        assert ours(x, y, rope, samples=20_000)[:3] == pytest.approx(theirs[::-1], abs=0.015)
    assert stats.correlated_t(x, y, rope) == pytest.approx(_correlated(baycomp, x, y, rope))


def _correlated(baycomp, x, y, rope):
    found = baycomp.CorrelatedTTest(x, y, rope).probs()
    return found if rope > 0 else (found[0], 0.0, found[1])


def test_strengths_are_choixs():
    choix = pytest.importorskip("choix")
    wins = RNG.integers(1, 9, (4, 4)).astype(float) * (1 - np.eye(4))
    games = [(i, j) for i in range(4) for j in range(4) for _ in range(int(wins[i, j]))]
    assert stats.bradley_terry(wins) == pytest.approx(choix.ilsr_pairwise(4, games, alpha=0, tol=1e-12), abs=1e-6)
    rankings = [RNG.permutation(4).tolist() for _ in range(12)]
    theirs = choix.ilsr_rankings(4, rankings, alpha=0, tol=1e-12)
    assert stats.plackett_luce(rankings) == pytest.approx(theirs, abs=1e-6)
