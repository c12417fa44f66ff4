"""Section 0 of docs/scores.md: failures are scored, optimizers are compared on common problems, equal values tie."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.views._scores import Scores

INF, NAN = np.inf, np.nan


def scores(values, optimum=None, **more) -> Scores:
    cube = np.array(values, dtype=float)
    names = [f"p{i}" for i in range(len(cube))]
    return Scores(
        "v", "m", "what", names, [f"o{i}" for i in range(cube.shape[1])], cube, [None] * len(cube),
        optimum=np.full(len(cube), NAN) if optimum is None else np.array(optimum, dtype=float), **more,
    )  # fmt: skip


def study(optimizer, problem, trial, values, *, ended="done", **more) -> list[dict]:
    """Rows of one study; None is a failed evaluation; without values one row says how it ended."""
    base = {"optimizer": optimizer, "problem": problem, "trial": trial, "ended": ended, "record": "all", **more}
    if not values:
        return [{**base, "evaluation": None, "value": None, "status": None}]
    return [
        {**base, "evaluation": k, "value": value, "status": "error" if value is None else None}
        for k, value in enumerate(values, 1)
    ]


def store(path, rows) -> oa.Results:
    oa.from_frame(pl.DataFrame(rows, infer_schema_length=None), path)
    return oa.open(path)


# ---- equal values ----------------------------------------------------------------------------------------------------


def test_ranks_are_dense_within_each_problem_and_equal_values_share_one():
    ranked = scores([[[3.0, 1.0], [1.0, NAN]], [[5.0, INF], [INF, 5.0]]]).ranked()
    assert ranked[0].ravel().tolist()[:3] == [2, 1, 1]
    assert np.isnan(ranked[0, 1, 1])
    assert ranked[1].ravel().tolist() == [1, 2, 2, 1]


def test_values_are_equal_to_a_relative_1e_12():
    ranked = scores(
        [[[1.0, 1.0 + 9e-13, 1.0 + 3e-12]], [[1e9, 1e9 + 1e-4, 1e9 + 1e-2]], [[0.0, 1e-300, -1e-300]]]
    ).ranked()
    assert ranked[0, 0].tolist() == [1, 1, 2]
    assert ranked[1, 0].tolist() == [1, 1, 2]
    assert ranked[2, 0].tolist() == [2, 3, 1]


def test_values_within_1e_8_of_a_known_optimum_are_equal():
    value = [[[2.0, 2.0 + 9e-9, 2.0 - 9e-9, 2.0 + 2e-8]]]
    assert scores(value, [2.0]).ranked()[0, 0].tolist() == [1, 1, 1, 2]
    assert scores(value, [NAN]).ranked()[0, 0].tolist() == [2, 3, 1, 4]


def test_ranks_agree_with_pairwise_comparison():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (30, 3, 5)).astype(float)
    values[rng.random(values.shape) < 0.1] = INF
    values[rng.random(values.shape) < 0.1] = NAN
    made = scores(values)
    ranked = made.ranked()
    assert (np.isnan(ranked) == np.isnan(values)).all()
    for cube, ranks in zip(values, ranked, strict=True):
        less = cube.ravel()[:, None] < cube.ravel()[None, :]
        assert (less == (ranks.ravel()[:, None] < ranks.ravel()[None, :])).all()


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 2, 0), (2, 1, 1)])
def test_ranks_of_nothing_are_nothing(shape):
    assert scores(np.zeros(shape)).ranked().shape == shape


def test_choosing_problems_and_optimizers_keeps_functions_optima_and_scales():
    one = scores(
        [[[1.0], [2.0]], [[3.0], [NAN]], [[5.0], [6.0]]], [1, 2, 3],
        functions=["f", "f", "g"], scale=np.array([0.1, 0.2, 0.3]),
    ).of(["o1", "o0"]).complete()  # fmt: skip
    assert one.problems == ["p0", "p2"]
    assert one.functions == ["f", "g"]
    assert one.optimum.tolist() == [1, 3]
    assert one.scale.tolist() == [0.1, 0.3]


# ---- what orders trials ----------------------------------------------------------------------------------------------


def test_fixed_cost_orders_trials_by_the_value_at_the_end_of_the_budget(tmp_path):
    rows = [
        row
        for trial in range(2)
        for row in (
            *study("RandomSearch", "p", trial, [5.0, 3.0 + trial, 9.0], f_opt=1.0),
            *study("A", "p", trial, [4.0, None, 2.0 - trial], f_opt=1.0),
        )
    ]
    view = store(tmp_path / "s", rows).fixed_cost()
    trials = view.trial_scores()
    assert trials.values[0, trials.optimizers.index("RandomSearch")].tolist() == [3.0, 4.0]
    assert trials.values[0, trials.optimizers.index("A")].tolist() == [2.0, 1.0]
    assert trials.optimum.tolist() == [1.0]


def test_the_score_of_the_leaderboard_is_the_mean_over_the_scale(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        row
        for p in range(4)
        for trial in range(3)
        for o, name in enumerate(("RandomSearch", "A"))
        for row in study(name, f"p{p}", trial, (rng.random(10) / (1 + o)).tolist())
    ]
    view = store(tmp_path / "s", rows).fixed_cost()
    made = view.scores()
    expected = made.means.mean(axis=0) / made.scale.mean()
    board = dict(view.leaderboard().select("optimizer", "mean_normed").iter_rows())
    assert [board[name] for name in made.optimizers] == pytest.approx(expected.tolist())


def test_a_function_is_named_with_its_suite_and_a_problem_without_one_is_its_own(tmp_path):
    rows = []
    for instance in (1, 2):
        more = {"suite": "s", "function": "f", "instance": instance, "dimension": 2}
        rows += study("RandomSearch", f"s/f/i{instance}", 0, [3.0, 1.0, 4.0], **more)
    rows += study("RandomSearch", "alone", 0, [3.0, 1.0, 4.0], suite=None, function=None, instance=None, dimension=2)
    results = store(tmp_path / "s", rows)
    assert results.fixed_cost().trial_scores().functions == ["alone", "s/f", "s/f"]
    assert sorted(results.fixed_target().trial_scores().functions) == ["alone", "s/f"]
