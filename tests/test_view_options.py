"""Options of views: declared once, given wherever a view is used, and refused by name where a view lacks them."""

from __future__ import annotations

import importlib
import inspect
import json
import re
from pathlib import Path

import pytest

import optarena as oa
from optarena.cli import main
from optarena.cli._view_options import given
from optarena.errors import OptarenaError
from optarena.views._options import OPTIONS, VIEWS, options_by_view, options_of, view_named

COMMANDS = ("score", "compare", "figure", "report")
PYTHON_ONLY = {"results", "quantity", "only", "per_decade"}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom"], "functions/{sphere,ackley}/d{2,3}", 30, trials=3, seed="1" * 32
    )
    return experiment.run(tmp_path_factory.mktemp("options") / "s", workers=0)


@pytest.fixture(scope="module")
def fronts(tmp_path_factory):
    return few_points(tmp_path_factory.mktemp("fronts") / "s", 1)


def few_points(path, root):
    plan = ["RandomSearch", "QuasiRandom"], "zdt/zdt{1,2}/d5", 40
    return oa.Experiment(*plan, trials=3, seed=f"{root:032x}").run(path, workers=0)


@pytest.mark.parametrize("view", VIEWS)
def test_the_declared_options_are_those_of_the_function(view):
    function = getattr(importlib.import_module(f"optarena.views.{view}"), view)
    assert set(OPTIONS[view]) - {"indicator"} == set(inspect.signature(function).parameters) - PYTHON_ONLY


def test_the_command_line_has_every_option_of_every_view():
    assert set(inspect.signature(given).parameters) == {name for names in OPTIONS.values() for name in names}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_that_uses_a_view_has_all_options(command, capsys):
    assert main([command, "--help"]) == 0
    shown = set(re.findall(r"--[a-z-]+", capsys.readouterr().out))
    assert {f"--{name.replace('_', '-')}" for name in inspect.signature(given).parameters} | {"--view"} <= shown


def test_a_view_is_named_with_a_dash_or_an_underscore():
    assert view_named("fixed-cost") == view_named("fixed_cost") == "fixed_cost"
    with pytest.raises(OptarenaError, match=r"view must be one of fixed-cost, .*; got 'fixed-cots'\. Did you mean"):
        view_named("fixed-cots")


def test_an_option_that_a_view_lacks_is_named_with_those_that_it_has():
    assert options_of("anytime", {"gap": 0.1, "targets": None}) == {"gap": 0.1}
    expected = (
        r"--targets is not an option of the anytime view \(options: mode, axis, over, horizon, gap, tolerance, frame\)"
    )
    with pytest.raises(OptarenaError, match=expected):
        options_of("anytime", {"targets": "1"})


def test_options_go_to_every_view_that_has_them_unless_one_is_named():
    assert options_by_view({"targets": "1"}, None) == {"fixed_target": {"targets": "1"}}
    assert set(options_by_view({"axis": "seconds"}, None)) == set(VIEWS)
    assert options_by_view({"axis": "seconds"}, "pareto") == {"pareto": {"axis": "seconds"}}
    split = options_by_view({"indicator": "igd_plus", "reference": "cdom"}, None)
    assert split == {"fixed_target": {"indicator": "igd_plus", "reference": "cdom"}, "pareto": {"reference": "cdom"}}
    with pytest.raises(OptarenaError, match="--mode is different in each view: name the view too, with --view"):
        options_by_view({"mode": "coco"}, None)


def test_compare_takes_the_options_of_the_view_that_it_compares(results, fronts, capsys):
    easy = results.compare(view="fixed_target", targets="relative:1,0.5", resamples=200)
    assert easy.frame["targets"] == {"kind": "relative", "values": [1.0, 0.5]}
    for view, mode in (("fixed_target", "coco"), ("fixed_cost", "bayesmark")):
        alone = getattr(results, view)(mode=mode)
        assert results.compare(view=view, mode=mode, resamples=200).frame["hash"] == alone.frame["hash"]
    runtimes = fronts.compare(view="fixed-target", indicator="igd_plus", reference="crowding", resamples=200)
    assert runtimes.frame["precision"].startswith("igd_plus")
    flags = ["--view", "pareto", "--reference", "crowding", "--size", "5", "--resamples", "200", "--format", "json"]
    assert main(["compare", str(fronts.path), *flags]) == 0
    sized = json.loads(capsys.readouterr().out)["frame"]["hash"]
    assert sized == fronts.pareto(reference="crowding", size=5).frame["hash"] != fronts.pareto().frame["hash"]


def test_a_comparison_without_a_score_is_refused(tmp_path):
    results = few_points(tmp_path / "s", 4)  # five points of this reference set have no hypervolume
    with pytest.raises(OptarenaError, match=r"no problem has a score \(hypervolume_ratio\) to compare"):
        results.compare(view="pareto", reference="crowding", size=5)


def test_python_scores_runtimes_to_an_indicator_like_the_command_line(fronts):
    one = fronts.fixed_target(indicator="igd_plus", size=5, targets="1,0.1")
    assert one.ert.equals(fronts.pareto(size=5).runtimes("igd_plus", "1,0.1").ert)


def test_a_report_takes_the_options_of_its_views(results, tmp_path):
    plain = results.report(tmp_path / "plain.html").read_text()
    path = results.report(tmp_path / "r.html", fixed_target={"targets": "0.5,0.05"}, fixed_cost={"axis": "evaluations"})
    text = path.read_text()
    frame = results.fixed_target(targets="0.5,0.05").frame["hash"][:12]
    assert f"frame {frame}, mode exact" in text
    assert frame not in plain
    assert results.fixed_cost(axis="evaluations").frame["hash"][:12] in text


def test_a_report_is_written_with_options_from_the_command_line(results, fronts, tmp_path):
    call = ["report", str(results.path), "--view", "fixed-target", "--mode", "coco", "-O", str(tmp_path / "a.html")]
    assert main(call) == 0
    coco = results.fixed_target(mode="coco").frame["hash"][:12]
    assert f"frame {coco}, mode coco" in Path(tmp_path / "a.html").read_text()
    call = ["report", str(fronts.path), "--indicator", "igd_plus", "--size", "5", "-O", str(tmp_path / "b.html")]
    assert main(call) == 0
    text = (tmp_path / "b.html").read_text()
    for view in (fronts.fixed_target(indicator="igd_plus", size=5), fronts.pareto(size=5)):
        assert f"frame {view.frame['hash'][:12]}" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--targets", "few"], "few"),
        (["--axis", "second"], "Did you mean 'seconds'?"),
        (["--mode", "coco"], "name the view too, with --view fixed-cost or fixed-target"),
        (["--view", "pareto", "--targets", "1"], "--targets is not an option of the pareto view"),
        (["--epsilon", "x"], "--epsilon is a number"),
    ],
)
def test_a_report_with_a_wrong_option_is_not_written(results, arguments, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(results.path), *arguments]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1
    assert not list(tmp_path.iterdir())
