"""Bets and confidence sequences: what they are by definition, and what they promise at every look."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from optarena.stats import sequences
from optarena.stats.improvement import verdicts
from optarena.stats.sequences import FRACTIONS, Bets, levels_of, log_threshold, refuted, sequence


def bets(values: np.ndarray, levels: list[float], weights: np.ndarray | None = None) -> Bets:
    """values: (pairs, rounds, problems)"""
    weights = np.ones(values.shape[2]) if weights is None else weights
    made = Bets(weights, np.tile(levels, (len(values), 1)))
    for r in range(values.shape[1]):
        made.add(values[:, r])
    return made


def test_one_value_is_a_bet_by_definition():
    found = bets(np.array([[[1.0]], [[0.0]], [[0.5]]]), [0.4]).evidence
    for i, x in enumerate((1.0, 0.0, 0.5)):
        assert np.exp(found.above[i, 0]) == pytest.approx(np.mean(1 + FRACTIONS * (x - 0.4) / 0.4))
        assert np.exp(found.below[i, 0]) == pytest.approx(np.mean(1 + FRACTIONS * (0.4 - x) / 0.6))


@pytest.mark.parametrize("chances", [(0.5, 0.5), (0.2, 0.8), (0.05, 0.95), (0.0, 1.0)])
@pytest.mark.parametrize("weights", [(1.0, 1.0), (2.0, 1.0)])
def test_the_expected_e_value_is_at_most_one_after_every_round(chances, weights):
    """Every way in which three rounds of two problems can end, with its probability."""
    level = float(np.average(chances, weights=weights))
    paths = np.array(list(product((0.0, 1.0), repeat=6))).reshape(-1, 3, 2)
    chance = np.prod(np.where(paths == 1.0, chances, 1 - np.array(chances)), axis=(1, 2))
    before = np.ones(len(paths)), np.ones(len(paths))
    for rounds in (1, 2, 3):
        found = bets(paths[:, :rounds], [level], np.array(weights)).evidence
        now = np.exp(found.above[:, 0]), np.exp(found.below[:, 0])
        for was, is_ in zip(before, now, strict=True):
            assert chance @ is_ <= 1 + 1e-12
            assert chance @ is_ <= chance @ was + 1e-12  # a supermartingale
        before = now


def test_a_true_level_between_the_chances_keeps_it_with_ties_too():
    """Values 0, 0.5 and 1 on two problems, by enumeration."""
    chances = np.array([[0.2, 0.5, 0.3], [0.4, 0.3, 0.3]])
    level = float((chances @ [0.0, 0.5, 1.0]).mean())
    paths = np.array(list(product((0, 1, 2), repeat=4))).reshape(-1, 2, 2)
    chance = np.prod(chances[[0, 1], paths], axis=(1, 2))
    assert chance.sum() == pytest.approx(1)
    found = bets(paths / 2, [level]).evidence
    assert chance @ np.exp(found.above[:, 0]) <= 1 + 1e-12
    assert chance @ np.exp(found.below[:, 0]) <= 1 + 1e-12


def test_the_other_side_is_the_mirror():
    values = np.random.default_rng(0).integers(0, 3, (4, 9, 5)) / 2
    here, there = sequence(values, np.ones(5)), sequence(1 - values, np.ones(5))
    assert here.value == pytest.approx(1 - there.value)
    assert here.lower == pytest.approx(1 - there.upper, abs=1e-9)
    assert here.p == pytest.approx(there.p)


def test_evidence_falls_with_the_level_so_that_the_means_left_are_an_interval():
    values = (np.random.default_rng(1).random((3, 12, 7)) < np.linspace(0.1, 0.9, 7)).astype(float)
    for weights in (np.ones(7), np.arange(1.0, 8.0)):
        found = bets(values, np.linspace(0.02, 0.98, 49).tolist(), weights).evidence
        assert (np.diff(found.above, axis=1) <= 1e-9).all()
        assert (np.diff(found.below, axis=1) >= -1e-9).all()


def test_the_ends_are_where_the_evidence_reaches_the_threshold():
    values = (np.random.default_rng(2).random((5, 20, 6)) < 0.6).astype(float)
    found = sequence(values, np.ones(6))
    wanted = log_threshold(0.05, 5)
    for i in range(5):
        low, high = found.lower[i], found.upper[i]
        if low < 0.5:  # else it is kept away from 0.5
            assert bets(values[i : i + 1], [low]).evidence.above[0, 0] >= wanted
            assert bets(values[i : i + 1], [low + 3e-4]).evidence.above[0, 0] < wanted
        assert bets(values[i : i + 1], [high]).evidence.below[0, 0] >= wanted
        assert bets(values[i : i + 1], [high - 3e-4]).evidence.below[0, 0] < wanted


@pytest.mark.slow
def test_an_end_beside_a_half_is_where_the_evidence_reaches_the_threshold_too():
    """Not further from 0.5 than the evidence goes, though 0.5 is refuted by so little that it would not show."""
    near = 0
    for rounds in range(10, 60, 3):
        for wins in range(rounds // 2, rounds * 4 // 5):
            values = np.r_[np.ones(wins), np.zeros(rounds - wins)].reshape(1, rounds, 1)
            found = sequence(values, np.ones(1))
            if 0.5 < found.lower[0] < 0.51:
                near += 1
                bets = Bets(np.ones(1), np.array([[found.lower[0] + 2e-4, found.lower[0] - 2e-4]]))
                for r in range(rounds):
                    bets.add(values[:, r])
                inside, outside = bets.evidence.above[0]
                assert inside < log_threshold(0.05, 1) <= outside
    assert near >= 5


def test_verdicts_by_evidence_and_by_interval_agree():
    rng = np.random.default_rng(3)
    values = (rng.random((60, 40, 8)) < rng.uniform(0.3, 0.7, (60, 1, 1))).astype(float)
    found = sequence(values, np.ones(8))
    evidence = bets(values, levels_of(1)[0].tolist()).evidence
    above, below = refuted(evidence, 0.05, 60)
    words = verdicts(found.lower, found.upper)
    assert sequences.words(evidence, 0.05, 60) == words
    for i, word in enumerate(words):
        same = above[i, 0] and below[i, 2]
        assert word == ("better" if above[i, 1] else "worse" if below[i, 1] else "equivalent" if same else "undecided")
    assert {"better", "worse", "undecided"} <= set(words)
    assert ((found.p <= 0.05) == np.isin(words, ("better", "worse"))).all()


def test_enough_rounds_of_equal_optimizers_end_as_equivalent():
    values = (np.random.default_rng(4).random((1, 120, 24)) < 0.5).astype(float)
    found = sequence(values, np.ones(24))
    assert verdicts(found.lower, found.upper) == ["equivalent"]


def test_a_pair_that_left_keeps_what_it_had():
    values = (np.random.default_rng(5).random((2, 10, 4)) < 0.7).astype(float)
    gone = values.copy()
    gone[1, 6:] = np.nan
    found, short = sequence(gone, np.ones(4)), sequence(values[:, :6], np.ones(4))
    assert found.lower[1] == short.lower[1]
    assert found.value[1] == short.value[1]


def test_no_round_says_nothing():
    found = sequence(np.full((2, 3, 4), np.nan), np.ones(4))
    assert np.isnan(found.value).all()
    assert (found.lower == 0).all()
    assert (found.upper == 1).all()
    assert (found.p == 1).all()


def test_problems_that_are_always_won_or_lost_do_not_hide_a_difference():
    """Two of three problems always go to the first: after a while the bets are on what is new, not on the split."""
    values = np.tile([1.0, 1.0, 0.0], (1, 60, 1))
    assert verdicts(*sequence(values, np.ones(3))[1:3]) == ["better"]
    assert verdicts(*sequence(values[:, :20], np.ones(3))[1:3]) == ["better"]


def test_few_false_verdicts_when_looking_after_every_round():
    """In short; `benchmarks/races.py` has 10,000 races of each kind."""
    rng = np.random.default_rng(6)
    races, rounds = 1000, 40
    for chances in ([0.5], [0.5] * 6, [0.1, 0.9, 0.3, 0.7], [0.0, 1.0]):
        made = Bets(np.ones(len(chances)), np.full((races, 1), 0.5))
        wrong = np.zeros(races, dtype=bool)
        for _ in range(rounds):
            made.add((rng.random((races, len(chances))) < chances).astype(float))
            above, below = refuted(made.evidence, 0.05, 1)
            wrong |= above[:, 0] | below[:, 0]
        assert wrong.mean() <= 0.05


# ---- the peer --------------------------------------------------------------------------------------------------------


@pytest.mark.peer
@pytest.mark.parametrize("level", [0.3, 0.5, 0.64])
def test_a_fine_mixture_is_the_beta_binomial_e_value_of_ville(level, monkeypatch):
    """On values 0 and 1 a fraction is a likelihood ratio; all of them together are the peer's Beta(1, 1) mixture."""
    ville = pytest.importorskip("ville", reason="ville is not installed (extra peers)")
    n = 20_000
    monkeypatch.setattr(sequences, "FRACTIONS", (np.arange(n) + 0.5) / n)
    x = (np.random.default_rng(7).random(40) < 0.6).astype(float)
    found = bets(x.reshape(1, -1, 1), [level]).evidence
    ours = np.log((1 - level) * np.exp(found.above[0, 0]) + level * np.exp(found.below[0, 0]))
    assert ours == pytest.approx(ville.BernoulliTest(level).fit(x).log_e_values_[-1], abs=1e-5)


@pytest.mark.peer
def test_the_mixture_is_no_wider_than_the_plug_in_bets_of_ville():
    """Both are betting sequences of the same values; ours for one problem per round, at the same level."""
    ville = pytest.importorskip("ville", reason="ville is not installed (extra peers)")
    rng = np.random.default_rng(8)
    ours, theirs = [], []
    for chance in (0.5, 0.64, 0.9):
        for _ in range(5):
            x = (rng.random(150) < chance).astype(float)
            found = sequence(x.reshape(1, -1, 1), np.ones(1))
            peer = ville.BettingCS(grid=2001, intersect=False).fit(x)
            ours.append(found.upper[0] - found.lower[0])
            theirs.append(peer.upper_[-1] - peer.lower_[-1])
            assert found.lower[0] <= x.mean() <= found.upper[0]
            assert found.lower[0] < peer.upper_[-1]
            assert found.upper[0] > peer.lower_[-1]
    assert np.mean(ours) < np.mean(theirs)
