"""Fronts that users know: of a function, of a program, of a table; what is wrong with one is said in a sentence."""

from __future__ import annotations

import json
import stat

import numpy as np
import pytest

import optarena as oa
from optarena._known_fronts import known_front
from optarena.cli import main
from optarena.problem import build, select

SPACE = {"x": {"type": "real", "space": "linear", "range": [0, 1]}}
FRONT = [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]


def line(x):
    return [x["x"], 1 - x["x"]]


def made(**facts):
    return oa.as_problem(SPACE, id="line", **{"sense": ["min", "min"], **facts})(line)


def test_a_function_has_the_front_ideal_and_nadir_that_it_is_given():
    known = made(front=FRONT, ideal=[0, 0], nadir=[1, 1]).known
    assert known.front == ((0.0, 1.0), (0.5, 0.5), (1.0, 0.0))
    assert (known.ideal, known.nadir) == ((0.0, 0.0), (1.0, 1.0))
    turned = made(sense=["max", "max"], front=np.array(FRONT), ideal=(1, 1), nadir=(0, 0)).known
    assert turned.front == known.front


def test_the_pareto_view_measures_against_it(tmp_path):
    problem = made(front=FRONT, ideal=[0, 0], nadir=[2, 2])
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], [problem], 20, trials=2, seed="7" * 32).run(tmp_path / "s")
    one = results.pareto().pinned.problems["line"]
    assert one.source == "true"
    assert one.reference_set == [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]
    assert (one.ideal, one.nadir) == ([0.0, 0.0], [2.0, 2.0])
    assert one.bounds == "ideal known, nadir known"


def test_without_ideal_and_nadir_they_are_those_of_the_front(tmp_path):
    results = oa.Experiment(["RandomSearch"], [made(front=[[0.0, 3.0], [2.0, 0.0]])], 20, seed="7" * 32).run(
        tmp_path / "s"
    )
    one = results.pareto().pinned.problems["line"]
    assert (one.ideal, one.nadir) == ([0.0, 0.0], [2.0, 3.0])


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"front": []}, "front must be a list of points, each with 2 numbers, got '[]'"),
        ({"front": "front.csv"}, "front must be a list of points, each with 2 numbers, got 'front.csv'"),
        ({"front": 3}, "front must be a list of points"),
        ({"front": np.array(3.0)}, "front must be a list of points"),
        ({"front": FRONT, "nadir": [2, 0.5]}, "point 1 of the front is worse than the nadir in an objective"),
        ({"front": [[0, 1], [1]]}, "point 2 of the front must be a list of 2 numbers, one per objective, got '[1]'"),
        ({"front": [0, 1]}, "point 1 of the front must be a list of 2 numbers"),
        ({"front": [[0, "a"]]}, "point 1 of the front must be a list of 2 numbers"),
        ({"front": [[0, True]]}, "point 1 of the front must be a list of 2 numbers"),
        ({"front": [[0, np.inf]]}, "point 1 of the front must be finite"),
        ({"front": [[0, 10**400]]}, "point 1 of the front must be finite"),
        ({"front": [[0, 1], [1, 0], [1, 1]]}, "point 3 of the front is dominated by another one: leave it out"),
        ({"front": [[0, 1]], "ideal": [0.5, 0]}, "point 1 of the front is better than the ideal in an objective"),
        ({"ideal": [0]}, "ideal must be a list of 2 numbers, one per objective, got '[0]'"),
        ({"nadir": [np.nan, 1]}, "nadir must be finite"),
        ({"ideal": [0, 1], "nadir": [1, 1]}, "better than the nadir in every objective, and is not in number 2"),
        ({"sense": "min", "ideal": [0]}, "front, ideal and nadir are for several objectives; one has an optimum"),
    ],
)
def test_what_is_wrong_is_said_in_a_sentence(facts, said):
    with pytest.raises(oa.OptarenaError) as error:
        made(**facts)
    assert str(error.value).startswith("problem line: ")
    assert said in str(error.value)


def test_points_that_rounding_made_dominated_are_taken():
    points = [[0.5, 0.5], [0.5 + 1e-11, 0.5], [0.0, 1.0]]
    assert len(known_front([1, 1], points)["front"]) == 3
    assert known_front([1, 1], [[0, 1], [0, 1]])["front"] == ((0.0, 1.0),)


MANIFEST = """
[problem]
command = ["./line"]
mode = "evaluation"
sense = ["min", "max"]
front = [[0, 0], [1, 1]]
ideal = [0, 1]
nadir = [1, 0]
[problem.space.x]
type = "real"
space = "linear"
range = [0, 1]
"""


def test_a_program_has_the_front_of_its_manifest(tmp_path):
    program = tmp_path / "line"
    program.write_text("#!/bin/sh\nread line\necho '[0, 0]'\n")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    (tmp_path / "line.toml").write_text(MANIFEST)
    known = build("line.toml", tmp_path).known
    assert known.front == ((0.0, 0.0), (1.0, 1.0))
    assert known.ideal == (0.0, 1.0)
    (tmp_path / "line.toml").write_text(MANIFEST.replace("[[0, 0], [1, 1]]", "[[0, 0], [1]]"))
    with pytest.raises(
        oa.OptarenaError, match=r"line.toml: problem line.toml: point 2 of the front must be a list of 2"
    ):
        build("line.toml", tmp_path)


HEADER = "problem,optimizer,trial,f.a,f.b,ideal.a,ideal.b,nadir.a,nadir.b,front\n"
CELL = '"[[0.0, 1.0], [1.0, 0.0]]"'


def imported(tmp_path, text, store="store"):
    (tmp_path / "t.csv").write_text(text)
    return main(["import", "csv", str(tmp_path / "t.csv"), "--store", str(tmp_path / store)])


def test_a_table_tells_a_front_once_for_all_studies_of_a_problem(tmp_path):
    rows = f"p,A,0,0.5,0.6,0,0,2,2,{CELL}\np,A,0,0.4,0.7,,,,,\np,B,0,0.1,0.95,,,,,\nq,A,0,1,2,,,,,\n"
    assert imported(tmp_path, HEADER + rows) == 0
    frame = oa.open(tmp_path / "store").pareto().pinned
    assert frame.problems["p"].source == "true"
    assert frame.problems["p"].reference_set == [[0.0, 1.0], [1.0, 0.0]]
    assert frame.problems["q"].source != "true"
    fronts = {card.id: card.known.front for card in oa.open(tmp_path / "store").cards}
    assert fronts == {"p": ((0.0, 1.0), (1.0, 0.0)), "q": None}


def test_an_export_has_the_front_once_and_comes_back(tmp_path, capsys):
    problem = made(front=FRONT, ideal=[0, 0], nadir=[2, 2])
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], [problem], 5, trials=2, seed="7" * 32).run(tmp_path / "s")
    assert main(["export", "csv", str(tmp_path / "s"), "-O", str(tmp_path / "t.csv")]) == 0
    text = (tmp_path / "t.csv").read_text()
    assert text.count(json.dumps(FRONT, separators=(",", ":"))) == 1
    assert main(["import", "csv", str(tmp_path / "t.csv"), "--store", str(tmp_path / "back")]) == 0
    back = oa.open(tmp_path / "back").pareto()
    assert back.pinned.problems == results.pareto().pinned.problems


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("nonsense", "line 2, column 'front': 'nonsense' is not a list of points as JSON"),
        ('"{""a"": 1}"', "is not a list of points as JSON"),
        ('"[[0.0]]"', "problem 'p': point 1 of the front must be a list of 2 numbers"),
        ('"[[0.0, 1.0], [1.0, 1.0]]"', "problem 'p': point 2 of the front is dominated by another one"),
        ('"[[-1.0, 1.0]]"', "problem 'p': point 1 of the front is better than the ideal"),
    ],
)
def test_a_bad_front_in_a_table_is_refused_and_nothing_is_written(cell, said, tmp_path, capsys):
    assert imported(tmp_path, f"{HEADER}p,A,0,0.5,0.6,0,0,2,2,{cell}\n") == 2
    assert said in capsys.readouterr().err
    assert not (tmp_path / "store").exists()


def test_two_fronts_of_one_problem_are_refused(tmp_path, capsys):
    other = '"[[0.0, 2.0], [1.0, 0.0]]"'
    rows = f"p,A,0,0.5,0.6,,,,,{CELL}\np,B,0,0.4,0.7,,,,,{other}\n"
    assert imported(tmp_path, HEADER + rows) == 2
    assert "differs from another one of the same problem" in capsys.readouterr().err
    assert imported(tmp_path, f"{HEADER}p,A,0,0.5,0.6,,,,,{CELL}\n") == 0
    assert imported(tmp_path, f"{HEADER}p,B,0,0.5,0.6,,,,,{other}\n") == 2
    assert "for problem 'p', but" in capsys.readouterr().err


def test_an_ideal_beyond_the_nadir_is_refused(tmp_path, capsys):
    assert imported(tmp_path, f"{HEADER}p,A,0,0.5,0.6,2,2,0,0,\n") == 2
    assert "the ideal must be better than the nadir in every objective" in capsys.readouterr().err


def test_half_an_ideal_is_refused(tmp_path, capsys):
    text = "problem,optimizer,f.a,f.b,ideal.a\np,A,1,2,0\n"
    assert imported(tmp_path, text) == 2
    assert "ideal.b is not given, and other objectives have theirs; nothing was imported" in capsys.readouterr().err


@pytest.mark.filterwarnings("error")
def test_a_problem_whose_objectives_no_number_can_span_is_left_out_and_the_others_are_scored(tmp_path):
    text = "problem,optimizer,evaluation,f.a,f.b\np,A,1,-1e308,1e308\np,A,2,1e308,-1e308\nq,A,1,1,2\nq,A,2,2,1\n"
    assert imported(tmp_path, text) == 0
    view = oa.open(tmp_path / "store").pareto()
    assert set(view.problem["problem"]) == {"q"}
    assert [(one["problem"], one["reason"]) for one in view.excluded] == [
        ("p", "its objectives differ by more than a number can hold")
    ]


@pytest.mark.parametrize("pattern", ["zdt/*", "dtlz/*", "wfg/*/m{2,3}", "models/*"])
def test_what_is_shipped_is_a_front_as_users_must_give_it(pattern):
    for problem in select(pattern):
        signs = [one.sign for one in build(problem).objectives]
        known = build(problem).known
        assert known_front(signs, known.front, known.ideal, known.nadir)["front"] if known.front else True
