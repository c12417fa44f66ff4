"""Spaces: the grammar, the three forms of a batch, and Bayesmark's encoding against its own figures."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optarena import _bayesmark_encoding as encoding
from optarena.errors import OptarenaError, SuggestionError
from optarena.space import Space

GOLDEN = json.loads((Path(__file__).parent / "data" / "bayesmark_spaces.json").read_text())
SPACES = GOLDEN["spaces"]

MIXED = Space(SPACES["mixed"]["api_config"])


def close(a, b):
    """Equal points: numbers to 1e-12 relative (libm's last digit), everything else exactly, types too."""
    assert type(a) is type(b) or {type(a), type(b)} == {int, float}
    if isinstance(a, dict):
        assert set(a) == set(b)
        for key in a:
            close(a[key], b[key])
    elif isinstance(a, list):
        assert len(a) == len(b)
        for x, y in zip(a, b, strict=True):
            close(x, y)
    elif isinstance(a, float):
        assert a == pytest.approx(b, rel=1e-12, abs=1e-12)
    else:
        assert a == b


@pytest.mark.parametrize("name", SPACES)
def test_bayesmark_encoding_equals_its_own_figures(name):
    golden = SPACES[name]
    space = Space(golden["api_config"])
    np.testing.assert_allclose(encoding.warped_bounds(space), golden["bounds_warped"], rtol=1e-13, atol=1e-13)
    points = golden["random_search_seed0_n8"]
    np.testing.assert_allclose(encoding.warp(space, points), golden["warp_of_those"], rtol=1e-12, atol=1e-12)
    close(encoding.unwarp(space, golden["warped_probe"]), golden["unwarp_of_probe"])
    close(encoding.grid(space, 8), golden["grid8"])


@pytest.mark.parametrize("name", SPACES)
def test_bayesmark_random_points_come_from_its_box(name):
    """Its random search is uniform in the warped box: the same legacy stream gives the same points."""
    golden = SPACES[name]
    space = Space(golden["api_config"])
    low, high = encoding.warped_bounds(space).T
    uniform = np.random.RandomState(0).uniform(low, high, size=(8, len(low)))
    close(encoding.unwarp(space, uniform), golden["random_search_seed0_n8"])


@pytest.mark.parametrize("case", GOLDEN["invalid_configs"], ids=lambda case: json.dumps(case["config"])[:60])
def test_invalid_grammar_is_refused_with_the_parameter_named(case):
    config = json.loads(json.dumps(case["config"]).replace('"-inf"', "-Infinity"))
    # Bayesmark cuts an int's [0.5, 3.5] to 0..3, which leaves the range: here it is refused like the others.
    with pytest.raises(OptarenaError, match="parameter 'p'"):
        Space({"p": config})


@pytest.mark.parametrize(
    "config",
    [
        {"type": "real", "space": "linear", "range": [0.0, 1.0], "rnage": [0, 1]},
        {"type": "real", "space": "linear", "range": [float("nan"), 1.0]},
        {"type": "real", "space": "linear", "range": "01"},
        {"type": "real", "space": "linear", "range": [True, 3]},
        {"type": "cat", "values": ["a", "a"]},
        {"type": "int", "space": "linear", "values": [1, 1, 2]},
        {"type": "int", "space": "linear", "range": [0, 2**60]},
        {"type": "cat", "values": "ab"},
        "real",
    ],
)
def test_more_grammar_that_is_refused(config):
    with pytest.raises(OptarenaError, match="parameter 'p'"):
        Space({"p": config})


def test_empty_or_nameless_spaces_are_refused():
    for config in ({}, {"": {"type": "bool"}}, {3: {"type": "bool"}}, None):
        with pytest.raises(OptarenaError):
            Space(config)


def test_value_checks():
    """As strict as the grammar reads: Bayesmark lets 3.7 pass as an int, and anything at all as a bool."""
    unit = {"type": "real", "space": "linear", "range": [0.0, 1.0]}
    for config, value, good in [
        (unit, 1.000000001, True),
        (unit, 1.1, False),
        (unit, float("nan"), False),
        ({"type": "int", "space": "linear", "range": [1, 5]}, 3.7, False),
        ({"type": "int", "space": "linear", "range": [1, 5]}, 6, False),
        ({"type": "int", "space": "linear", "range": [1, 5]}, np.int64(5), True),
        ({"type": "cat", "values": ["a", "b"]}, "c", False),
        ({"type": "bool"}, 2, False),
        ({"type": "bool"}, "x", False),
        ({"type": "bool"}, np.True_, True),
        ({"type": "real", "space": "linear", "values": [1.0, 2.0]}, 1.5, False),
        ({"type": "real", "space": "linear", "values": [1.0, 2.0]}, 2.0, True),
    ]:
        space = Space({"x": config})
        if good:
            space.to_matrix([{"x": value}])
        else:
            with pytest.raises(SuggestionError, match="point 0"):
                space.to_matrix([{"x": value}])
        with pytest.raises(SuggestionError, match="lacks x and has unknown y"):
            space.to_matrix([{"y": value}])


@pytest.mark.parametrize("name", SPACES)
def test_the_three_forms_agree(name):
    space = Space(SPACES[name]["api_config"])
    matrix = space.sample(500, np.random.default_rng(1))
    assert space.check(matrix)[1] == space.to_rows(matrix)
    assert [space.check(matrix[i : i + 1])[1][0] for i in range(50)] == space.to_rows(matrix[:50])
    dicts = space.to_dicts(matrix)
    np.testing.assert_array_equal(space.to_matrix(dicts), matrix)
    again = space.from_unit(space.to_unit(matrix))
    np.testing.assert_allclose(again, matrix, rtol=1e-9)
    assert Space(space.config) == space


@given(st.integers(1, 40), st.integers(0, 2**32 - 1))
def test_sampling_n_at_once_equals_one_by_one(n, seed):
    one, many = np.random.default_rng(seed), np.random.default_rng(seed)
    single = np.concatenate([MIXED.sample(1, one) for _ in range(n)])
    np.testing.assert_array_equal(single, MIXED.sample(n, many))


@given(st.lists(st.floats(-0.5, 1.5), min_size=10, max_size=10))
def test_every_point_of_the_cube_lies_in_the_space(unit):
    MIXED.check(MIXED.from_unit([unit]))
    MIXED.to_matrix(MIXED.to_dicts(MIXED.from_unit([unit])))


def test_each_integer_and_each_member_gets_an_equal_share():
    space = Space(
        {
            "i": {"type": "int", "space": "linear", "range": [1, 4]},
            "c": {"type": "cat", "values": ["z", "a", "m"]},
            "v": {"type": "int", "space": "log", "values": [1, 10, 1000, 5]},
        }
    )
    points = space.to_dicts(space.sample(24_000, np.random.default_rng(0)))
    for name, members in (("i", [1, 2, 3, 4]), ("c", ["z", "a", "m"]), ("v", [1, 5, 10, 1000])):
        counts = np.array([sum(point[name] == member for point in points) for member in members])
        expected = 24_000 / len(members)
        assert np.abs(counts - expected).max() < 5 * np.sqrt(expected), name


def test_warps_are_uniform_in_their_own_scale():
    space = Space({"x": {"type": "real", "space": "logit", "range": [0.01, 0.99]}})
    x = space.from_unit([[0.25], [0.5], [0.75]])[:, 0]
    np.testing.assert_allclose(np.log(x / (1 - x)), np.log(99) * np.array([-0.5, 0, 0.5]), atol=1e-12)


def test_check_names_the_point_and_the_parameter():
    space = Space.box(-5, 5, 3)
    with pytest.raises(SuggestionError, match=r"point 1: x3 = 5.5 is outside \[-5, 5\]"):
        space.check([[0, 0, 0], [0, 0, 5.5]])
    with pytest.raises(SuggestionError, match="nan"):
        space.check([[0, np.nan, 0]])
    with pytest.raises(SuggestionError, match=r"shape \(3,\)"):
        space.check([0, 0, 0])
    with pytest.raises(SuggestionError, match="array of numbers"):
        space.check("abc")
    with pytest.raises(SuggestionError, match="not an index"):
        MIXED.check([[0, 1, 7, 0, 0, 1, 1, 0, 0.5, 3]])


def test_rounding_is_forgiven_and_nothing_more():
    """On a parameter's own scale: nothing for integers, and no number that the scale does not have."""
    space = Space(
        {
            "i": {"type": "int", "space": "linear", "range": [0, 10**9]},
            "l": {"type": "real", "space": "log", "range": [1e-12, 1.0]},
            "g": {"type": "real", "space": "logit", "range": [1e-9, 0.5]},
        }
    )
    good = {"i": 5, "l": 1e-12 * (1 - 1e-9), "g": 0.5 + 1e-12}
    space.to_matrix([good])
    space.check(np.array([[5, 1e-12 * (1 - 1e-9), 0.5 + 1e-12]]))
    for name, value in (("i", 10**9 + 7), ("l", -5e-9), ("l", 0.0), ("g", 0.0), ("g", -1e-12)):
        bad = good | {name: value}
        with pytest.raises(SuggestionError, match=f"{name} = "):
            space.to_matrix([bad])
        for n in (1, 3):
            with pytest.raises(SuggestionError, match=f"{name} = "):
                space.check(np.array([[float(v) for v in bad.values()]] * n))


def test_ranges_beyond_floats_are_refused():
    for ends in ([0, 10**400], [-1.7e308, 1.7e308]):
        with pytest.raises(OptarenaError, match="parameter 'p'"):
            Space({"p": {"type": "real", "space": "linear", "range": ends}})
    with pytest.raises(OptarenaError, match="must be texts"):
        Space({"p": {"type": "cat", "values": ["a", "\udcff"]}})
