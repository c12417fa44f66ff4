"""BoTorch with several objectives: better than chance, survives what is strange, and compiles nothing."""

from __future__ import annotations

import numpy as np
import pytest

from optarena.optimizer import get_optimizer
from optarena.space import Space
from optarena.testing import MIXED
from optarena.views.pareto import hypervolume
from playing import light, play

CUBE = Space.box(0.0, 1.0, 3)


@pytest.fixture(autouse=True)
def _library():
    pytest.importorskip("botorch")


def make(name="BoTorch", space=CUBE, objectives=2, seed=1, first=6):
    return get_optimizer(name)(
        space,
        objectives=objectives,
        rng=np.random.default_rng(seed),
        **(light(name, first) if name == "BoTorch" else {}),
    )


def bowls(space=CUBE):
    return lambda X: np.column_stack([((space.to_unit(X) - at) ** 2).sum(axis=1) for at in (0.2, 0.7)])


def test_its_hypervolume_after_20_evaluations_beats_random_search():
    volumes = {}
    for name in ("BoTorch", "RandomSearch"):
        _, y, _ = play(make(name, first=8), bowls(), 20, 4)
        volumes[name] = hypervolume(y, [0.8, 0.8])
    assert volumes["BoTorch"] > volumes["RandomSearch"] + 0.05


def test_objectives_of_any_size_give_the_same_points():
    """Factors are powers of two, so that the unit range of each objective is the same to the last bit."""
    points, _, _ = play(make(), bowls(), 9, 3)
    other, _, _ = play(make(), lambda X: bowls()(X) * [2.0**100, 2.0**-100], 9, 3)
    assert np.array_equal(points, other)


def test_points_of_a_mixed_space_are_valid_and_repeat():
    points, _, _ = play(make(space=MIXED), bowls(MIXED), 9, 3)
    again, _, _ = play(make(space=MIXED), bowls(MIXED), 9, 3)
    assert np.array_equal(points, again)


@pytest.mark.parametrize(
    "value",
    [
        lambda X: np.zeros((len(X), 2)),
        lambda X: np.column_stack((bowls()(X)[:, 0], np.full(len(X), 3.0))),
        lambda X: np.full((len(X), 2), np.nan),
        lambda X: np.where(X[:, :1] > 0.5, np.nan, bowls()(X)),
        lambda X: np.where(X[:, :1] > 0.5, [[-np.inf, 1e200]], bowls()(X)),
        lambda X: bowls()(X)[:, [0, 0]],
        lambda X: np.random.default_rng(int(X[0, 0] * 1e9)).standard_normal((len(X), 2)),
    ],
    ids=["constant", "one constant", "all fail", "some fail", "some infinite", "no conflict", "noise"],
)
@pytest.mark.filterwarnings("error")
def test_strange_values_are_survived_without_a_word(value, capfd):
    points, _, ended = play(make(), value, 8, 2)
    assert len(np.unique(points, axis=0)) == 8
    assert not ended
    assert capfd.readouterr() == ("", "")


def test_a_failure_is_told_as_the_worst_in_each_objective():
    optimizer = make(first=9)
    X = optimizer.suggest(5)
    y = np.array([[2.0, 10.0], [np.nan, -5.0], [np.inf, 30.0], [-np.inf, 20.0], [6.0, 10.0]])
    optimizer.observe(X, y)
    told = [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0], [0.0, 0.5], [1.0, 0.0]]
    assert optimizer._told().tolist() == told
    assert np.isnan(y).sum() == 1  # what is observed is left as it is


def test_no_kernel_is_compiled_and_the_librarys_choice_is_put_back(monkeypatch):
    """Points would depend on whether a machine has a compiler."""
    from botorch.acquisition.multi_objective import logei
    from torch.utils import cpp_extension

    if not hasattr(logei, "_load_attempted"):
        pytest.skip("this BoTorch has no kernel to compile")
    monkeypatch.setattr(cpp_extension, "load", lambda **_: pytest.fail("a kernel was to be compiled"))
    monkeypatch.setattr(logei, "_load_attempted", False)
    play(make(), bowls(), 7)
    assert logei._load_attempted is False
