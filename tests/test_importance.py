"""Which parameters matter: found where they do, and nothing is said where nothing can be known (docs/scores.md 7)."""

from __future__ import annotations

import sys

import pytest

import optarena as oa
from optarena.errors import OptarenaError
from optarena.report.material import Material
from optarena.report.page import payload

SPACE = {
    "strong": {"type": "real", "space": "linear", "range": [-1, 1]},
    "weak": {"type": "real", "space": "log", "range": [0.1, 10]},
    "none": {"type": "int", "space": "linear", "range": [1, 9]},
    "kind": {"type": "cat", "values": ["a", "b"]},
}


@oa.as_problem(SPACE, id="mine")
def mine(x):
    if x["kind"] == "b" and x["strong"] > 0.9:
        raise ValueError("not there")
    return 10 * x["strong"] ** 2 + x["weak"] / 10 + (3 if x["kind"] == "b" else 0)


@oa.as_problem({"a": SPACE["strong"], "b": SPACE["weak"]}, id="noise", sense="max")
def noise(x):
    return hash((x["a"], x["b"])) % 1000 / 1000


@pytest.mark.slow
def test_what_moves_the_values_is_important_and_what_does_not_is_not():
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], [mine, noise], 150, trials=2, seed=1).run("s", workers=0)
    found = results.importance("mine")
    assert found.table["parameter"].to_list()[0] == "strong"
    shares = dict(found.table.select("parameter", "importance").iter_rows())
    assert shares["kind"] > shares["none"] < 0.05
    assert sum(shares.values()) == pytest.approx(1)
    assert 500 < found.evaluations <= 600  # failures are left out
    assert found.explained > 0.8
    assert found.table.equals(results.importance("mine").table)
    sections = payload(Material(results))["sections"]
    problems = next(section for section in sections if section["id"] == "problems")
    (table,) = [block for block in problems["blocks"] if block.get("id") == "importance"]
    assert [row[1] for row in table["rows"]] == found.table["parameter"].to_list()
    assert any("It is unknown which parameters of" in text and "noise matter" in text for text in problems["words"])
    nothing = results.importance("noise")
    assert not nothing.table.height
    assert "explain too little" in nothing.note


def test_without_scikit_learn_the_extra_is_named(monkeypatch):
    results = oa.Experiment("RandomSearch", mine, 50, seed=1).run("s", workers=0)
    for name in ("sklearn", "sklearn.ensemble", "sklearn.inspection"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(OptarenaError, match=r"pip install 'optarena\[problems\]'"):
        results.importance("mine")
    sections = payload(Material(results))["sections"]
    (problems,) = (section for section in sections if section["id"] == "problems")
    assert any("optarena[problems]" in text for text in problems["words"])


def test_too_few_evaluations_are_said_and_unknown_problems_refused():
    results = oa.Experiment("RandomSearch", [mine, "zdt/zdt1/d3"], 9, seed=1).run("s", workers=0)
    assert "evaluations of 4 parameters are too few" in results.importance("mine").note
    assert "several objectives" in results.importance("zdt/zdt1/d3").note
    with pytest.raises(OptarenaError, match="Did you mean 'mine'"):
        results.importance("min")
