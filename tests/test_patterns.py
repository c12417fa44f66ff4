"""Selecting ids with braces and globs."""

from __future__ import annotations

import pytest

from optarena._patterns import expand_braces, matches
from optarena.errors import OptarenaError
from optarena.problem import build, select


def test_braces_expand_in_order():
    assert expand_braces("f{1..3}/d{2,5}") == ["f1/d2", "f1/d5", "f2/d2", "f2/d5", "f3/d2", "f3/d5"]
    assert expand_braces("f{1..9..4}") == ["f1", "f5", "f9"]
    assert expand_braces("{a,b{1..2}}") == ["a", "b1", "b2"]
    assert expand_braces("plain") == ["plain"]
    assert expand_braces("{f1,}/x") == ["f1/x", "/x"]


@pytest.mark.parametrize("bad", ["f{1..3", "f1}", "f}1{", "f{}", "f{1}", "f{3..1}", "f{1..5..0}"])
def test_broken_braces_are_named(bad):
    with pytest.raises(OptarenaError, match="pattern"):
        expand_braces(bad)


def test_expansion_is_bounded():
    for bomb in ("{1..999999999}", "{1..99999}{1..99999}", "{" * 9000 + "a" + ",b}" * 9000):
        with pytest.raises(OptarenaError, match="more than"):
            expand_braces(bomb)
    assert len(expand_braces("{" * 200 + "a" + ",b}" * 200)) == 201


def test_a_glob_matches_segments_and_a_prefix_matches_what_is_below():
    assert matches("bbob/f1/*/i3", "bbob/f1/d5/i3")
    assert not matches("bbob/f1/*", "bbob/f10/d5/i3")
    assert matches("bbob/f1", "bbob/f1/d5/i3")
    assert not matches("bbob/f1/d5/i3/x", "bbob/f1/d5/i3")
    assert matches("bbob/f[12]/d?/*", "bbob/f2/d5/i3")


def test_select_lists_without_building():
    ids = select("bbob/f{1..24}/d{2,5}/*")
    assert len(ids) == 24 * 2 * 15
    assert ids[0] == "bbob/f1/d2/i1"
    assert len(select("bbob/f3")) == 6 * 15
    assert select("bbob/f3/d7/i99") == ["bbob/f3/d7/i99"]  # not listed, but there
    assert select("bbob/f{1,1}/d2/i1") == ["bbob/f1/d2/i1"]
    assert select("f*/sphere/d2") == ["functions/sphere/d2"]


@pytest.mark.parametrize(
    ("pattern", "said"),
    [
        ("bob/f1/d2/i1", "no suite named 'bob'. Did you mean 'bbob'"),
        ("functions/spere/d2", "Did you mean 'functions/sphere/d2'"),
        ("bbob/f25/d2/i1", "no problem matches 'bbob/f25/d2/i1'"),
        ("bbob/f1/d1/i1", "no problem matches"),
        ("bbob/f1/d02/i1", "no problem matches"),
        ("bbob/f1/d2/i0", "no problem matches"),
        ("zzz*/x", "no suite matches 'zzz*'"),
        ("", "selects nothing"),
    ],
)
def test_unknown_ids_get_a_hint(pattern, said):
    with pytest.raises(OptarenaError) as error:
        select(pattern)
    assert said in str(error.value)


def test_building_an_unknown_id_is_refused_before_coco_could_end_the_process():
    for id in ("bbob/f25/d2/i1", "bbob/f1/d1/i1", "bbob/f0/d2/i1", "bbob/f1/d2/i0", "bbob/../x", "bbob"):
        with pytest.raises(OptarenaError):
            build(id)
