"""Wrapper files that were written for Bayesmark run unchanged, and leave nothing behind."""

from __future__ import annotations

import json
import random
import shutil
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.bayesmark.standins import np_util, random_search
from optarena.bayesmark.standins.space import Boolean, Categorical, Integer, JointSpace, Real
from optarena.bayesmark.wrappers import seeds_of, wrappers_in
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.experiment import Use
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.space import Space
from optarena.testing import assert_optimizer

DATA = Path(__file__).parent / "data"
WRAPPERS = DATA / "bayesmark_wrappers"
SPACES = json.loads((DATA / "bayesmark_spaces.json").read_text())["spaces"]
SEEDS = json.loads((DATA / "bayesmark" / "seeds.json").read_text())

SMALL = """
from bayesmark.abstract_optimizer import AbstractOptimizer
from bayesmark.experiment import experiment_main
from bayesmark.random_search import suggest_dict

class {name}(AbstractOptimizer):
    def suggest(self, n_suggestions=1):
        return suggest_dict([], [], self.api_config, n_suggestions)
    def observe(self, X, y):
        pass
"""


def theirs() -> dict[str, object]:
    return {name: module for name, module in sys.modules.items() if name.partition(".")[0] == "bayesmark"}


# ---- finding and loading --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reference",
    ["configured:Near", "configured:Wide", "challenge/nudge_search", "challenge/nudge_search/optimizer.py",
     "challenge:nudge-search", "configured/near_wrapper.py", "configured/near_wrapper.py:NearBest"],
)  # fmt: skip
def test_every_form_of_a_wrapper_is_a_well_behaved_optimizer(reference: str) -> None:
    assert_optimizer(get_optimizer(reference, WRAPPERS))


def test_the_names_of_a_configuration_carry_their_own_arguments() -> None:
    space = Space.box(0, 1, 2)
    near, wide = (get_optimizer(f"configured:{name}", WRAPPERS)(space) for name in ("Near", "Wide"))
    assert (near._inner.width, wide._inner.width) == (0.1, 0.8)  # type: ignore[attr-defined]


def test_a_wrapper_is_called_by_its_name_and_known_without_directories() -> None:
    assert Use("/a/configured:Near").label == "Near"
    assert Use("/a/configured:Near").identity == "configured:Near"
    assert Use("/a/turbo/optimizer.py").label == Use("/a/turbo").label == "turbo"
    assert Use("/a/turbo/optimizer.py").identity == "turbo/optimizer.py"


@pytest.mark.parametrize(
    ("said", "packages"),
    [("", ()), ("    primary_import = 'numpy'\n", ("numpy",)), ("    primary_import = 'bayesmark'\n", ("optarena",))],
)
def test_a_wrapper_has_the_version_of_what_it_imports_and_ours_where_we_stand_in(
    tmp_path: Path, said: str, packages: tuple[str, ...]
) -> None:
    (tmp_path / "optimizer.py").write_text(SMALL.format(name="Mine") + said)
    assert get_optimizer(str(tmp_path / "optimizer.py")).packages == packages


def test_the_stand_ins_are_gone_after_loading(tmp_path: Path) -> None:
    before, path = theirs(), list(sys.path)
    get_optimizer("configured:Near", WRAPPERS)
    assert theirs() == before
    assert sys.path == path
    (tmp_path / "optimizer.py").write_text("import bayesmark.space\nraise RuntimeError('while loading')\n")
    with pytest.raises(OptarenaError, match="while loading"):
        get_optimizer(str(tmp_path / "optimizer.py"))
    assert theirs() == before
    assert sys.path == path


def test_an_installed_bayesmark_is_the_same_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    real, space = types.ModuleType("bayesmark"), types.ModuleType("bayesmark.space")
    monkeypatch.setitem(sys.modules, "bayesmark", real)
    monkeypatch.setitem(sys.modules, "bayesmark.space", space)
    optimizer = get_optimizer("configured:Near", WRAPPERS)(Space.box(0, 1, 2))
    optimizer.suggest(1)
    assert sys.modules["bayesmark"] is real
    assert sys.modules["bayesmark.space"] is space
    assert "bayesmark.np_util" not in sys.modules


def test_a_file_that_asks_for_more_than_the_stand_ins_have_says_so(tmp_path: Path) -> None:
    (tmp_path / "optimizer.py").write_text("import bayesmark.sklearn_funcs\n")
    says = (
        r"optimizer\.py: could not be loaded: .*nothing stands in for bayesmark\.sklearn_funcs here \(there are bayes"
    )
    before = list(sys.meta_path)
    with pytest.raises(OptarenaError, match=says):
        get_optimizer(str(tmp_path / "optimizer.py"))
    assert sys.meta_path == before


def test_two_submissions_may_have_files_of_one_name(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "helper.py").write_text(f"NAME = {name!r}\n")
        text = SMALL.format(name="Mine") + "import helper\nMine.told = helper.NAME\nexperiment_main(Mine)\n"
        (folder / "optimizer.py").write_text(text)
    told = [get_optimizer(str(tmp_path / name)).wrapped.told for name in ("one", "two")]  # type: ignore[attr-defined]
    assert told == ["one", "two"]
    assert "helper" not in sys.modules


def test_an_import_inside_a_method_finds_the_stand_ins_and_the_folder(tmp_path: Path) -> None:
    folder = tmp_path / "late"
    folder.mkdir()
    (folder / "beside.py").write_text("N = 3\n")
    late = "    def suggest(self, n_suggestions=1):\n        import beside, bayesmark.space\n"
    (folder / "optimizer.py").write_text(
        SMALL.format(name="Late").replace("    def suggest(self, n_suggestions=1):\n", late)
    )
    assert len(get_optimizer(str(folder))(Space.box(0, 1, 2)).suggest(2)) == 2
    assert not theirs()
    assert "beside" not in sys.modules


def test_of_several_classes_the_one_given_to_experiment_main_is_meant(tmp_path: Path) -> None:
    text = SMALL.format(name="Base") + "class Other(Base):\n    pass\n"
    (tmp_path / "both.py").write_text(text)
    with pytest.raises(OptarenaError, match=r"several wrapper classes \(Base, Other\).*both\.py:Base"):
        get_optimizer(str(tmp_path / "both.py"))
    (tmp_path / "told.py").write_text(text + "if __name__ == '__main__':\n    experiment_main(Other)\n")
    assert get_optimizer(str(tmp_path / "told.py")).wrapped.__name__ == "Other"  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "not a configuration"),
        ("{}", "names no optimizer"),
        ('{"A": "a.py"}', "expected"),
        ('{"A": ["../a.py", {}]}', "is not a .py file in that directory"),
    ],
)
def test_a_bad_configuration_is_named(tmp_path: Path, text: str, says: str) -> None:
    (tmp_path / "config.json").write_text(text)
    with pytest.raises(OptarenaError, match=says):
        wrappers_in(tmp_path)


def test_a_configured_file_without_a_wrapper_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty.py").write_text("import bayesmark\n")
    (tmp_path / "config.json").write_text('{"Mine": ["empty.py", {}]}')
    flags = [
        "-dir",
        str(tmp_path),
        "-odir",
        str(tmp_path),
        "-o",
        "Mine",
        "-c",
        "DT",
        "-d",
        "iris",
        "-n",
        "2",
        "-r",
        "1",
    ]
    assert main(["bayesmark", "launch", *flags]) == 2
    err = capsys.readouterr().err
    assert f"{tmp_path / 'empty.py'}, the file of 'Mine', has no wrapper class: it should define a subclass of" in err


def test_installed_packages_below_a_folder_are_no_wrappers(tmp_path: Path) -> None:
    for folder in ("mine", ".venv/x", "venv/lib/site-packages/torch"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "optimizer.py").write_text(SMALL.format(name="Mine"))
    assert list(wrappers_in(tmp_path)) == ["mine"]


def test_an_unknown_name_lists_those_there_are() -> None:
    with pytest.raises(OptarenaError, match=r"no optimizer 'Naer'\. Did you mean 'Near'\? \(it has Near, Wide\)"):
        get_optimizer("configured:Naer", WRAPPERS)


def test_the_source_covers_the_file_its_neighbours_and_its_arguments(tmp_path: Path) -> None:
    shutil.copytree(WRAPPERS, tmp_path / "w")
    first = [OPTIMIZERS.source(name, tmp_path / "w") for name in ("challenge/nudge_search", "configured:Near")]
    assert first == [OPTIMIZERS.source(name, WRAPPERS) for name in ("challenge/nudge_search", "configured:Near")]
    config = tmp_path / "w" / "configured" / "config.json"
    config.write_text(config.read_text().replace("0.1", "0.2"))
    helper = tmp_path / "w" / "challenge" / "nudge_search" / "helper.py"
    helper.write_text(helper.read_text() + "\n")
    second = [OPTIMIZERS.source(name, tmp_path / "w") for name in ("challenge/nudge_search", "configured:Near")]
    assert first[0] != second[0]
    assert first[1] != second[1]


# ---- running --------------------------------------------------------------------------------------------------------


def test_wrappers_run_in_workers_and_their_studies_repeat(tmp_path: Path) -> None:
    names = [str(WRAPPERS / "configured:Near"), str(WRAPPERS / "challenge/nudge_search")]
    experiment = oa.Experiment(names, "functions/mixed-tuning/d9", 8, batch=2, trials=2, seed="0" * 31 + "1")
    here = experiment.run(tmp_path / "here", workers=0)
    there = experiment.run(tmp_path / "there", workers=2)
    assert here.studies["status"].to_list() == ["done"] * 4
    assert here.studies["best"].to_list() == there.studies["best"].to_list()
    assert not theirs()


def test_a_study_meets_the_seeds_that_bayesmark_would_give_it() -> None:
    for case in SEEDS["setup_seeds"]:
        assert seeds_of(int(case["hex"], 16)) == (case["py_seed"], case["np_seed"])
        study_rng = np.random.default_rng(int(case["hex"], 16))
        optimizer = get_optimizer("configured:Near", WRAPPERS)(Space.box(0, 1, 2), rng=study_rng)
        with optimizer._state:  # type: ignore[attr-defined]
            assert np.random.rand(3).tolist() == case["first_np_rand"]  # noqa: NPY002
            assert [random.random() for _ in range(3)] == case["first_py_random"]


def test_a_failed_evaluation_is_told_as_an_infinite_one() -> None:
    optimizer = get_optimizer("challenge/nudge_search", WRAPPERS)(Space.box(0, 1, 2))
    points = optimizer.suggest(2)
    optimizer.observe(points, np.array([[np.nan], [1.0]]))
    assert [value for _, value in optimizer._inner.seen] == [np.inf, 1.0]  # type: ignore[attr-defined]


def test_check_speaks_of_files_and_directories(capsys: pytest.CaptureFixture[str]) -> None:
    for what in (WRAPPERS / "configured", WRAPPERS / "challenge", WRAPPERS / "configured" / "near_wrapper.py"):
        assert main(["check", str(what)]) == 0
    out = capsys.readouterr().out
    for name in ("Near", "Wide", "nudge-search", "NearBest"):
        assert f"{name}: a well-behaved optimizer" in out


# ---- the stand-ins --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(SPACES))
def test_the_joint_space_encodes_as_bayesmark_does(name: str) -> None:
    case = SPACES[name]
    space = JointSpace(case["api_config"])
    assert space.param_list == case["param_order"]
    np.testing.assert_allclose(space.get_bounds(), case["bounds_warped"], rtol=1e-14)
    assert space.blocks[-1] == len(case["bounds_warped"])
    points = random_search.suggest_dict([], [], case["api_config"], 8, random=np.random.RandomState(0))
    np.testing.assert_allclose(space.warp(points), case["warp_of_those"], rtol=1e-12, atol=1e-12)
    for mine, golden in zip(points, case["random_search_seed0_n8"], strict=True):
        assert list(mine) == list(case["api_config"])
        for key, value in golden.items():
            assert mine[key] == (pytest.approx(value, rel=1e-12) if isinstance(value, float) else value)
    grid = space.grid(8)
    for key, values in case["grid8"].items():
        numbers = isinstance(values[0], float)
        assert grid[key] == (pytest.approx(values, rel=1e-12) if numbers else values)


def test_single_parameters_encode_any_shape() -> None:
    real, whole = Real(warp="log", range_=(1, 10)), Integer(values=[1, 4, 2])
    assert real.warp(3.0).tolist() == [np.log(3.0)]
    assert real.warp([3.0, 3.0]).shape == (2, 1)
    assert real.unwarp(real.warp([3.0, 3.0])) == pytest.approx([3.0, 3.0])
    assert whole.unwarp([2.9]) == 2
    assert whole.grid() == [1, 2, 4]
    category = Categorical(values=["x", "y", "z"])
    assert category.warp("y").tolist() == [0.0, 1.0, 0.0]
    assert category.unwarp([[0, 1, 0], [1, 0, 0]]).tolist() == ["y", "x"]
    assert Boolean().unwarp([1.0])
    for bad in (30.0, 0.0):
        with pytest.raises(AssertionError):
            real.validate(bad)


def test_what_is_outside_the_space_is_not_encoded() -> None:
    space = JointSpace({"a": {"type": "real", "space": "log", "range": [1, 10]}, "c": {"type": "bool"}})
    with pytest.raises(AssertionError, match="a = 20"):
        space.warp([{"a": 20.0, "c": True}])
    with pytest.raises(AssertionError):
        space.unwarp([[11.0, 1.0]])
    assert space.unwarp([[np.log(10) + 1e-12, 0.4]]) == [{"a": 10.0, "c": False}]
    assert space.warp([]).shape == (0, 2)
    with pytest.raises(ValueError, match="Expected fixed value True"):
        space.unwarp([[1.0, 0.4]], fixed_vals={"c": True})


def test_small_helpers_do_what_bayesmark_s_do() -> None:
    np.testing.assert_allclose(np_util.linear_rescale([1, 2, 3], 1, 3, 0, 10), [0, 5, 10])
    with pytest.raises(AssertionError):
        np_util.linear_rescale(5, 1, 3, 0, 10)
    assert np_util.linear_rescale([5.0], 1, 3, 0, 10, enforce_bounds=False).tolist() == [20.0]
    assert np_util.clip_chk(2 + 1e-9, 1, 2) == 2.0
    assert np_util.random_seed(np.random.RandomState(0)) == 2357136044
    assert np_util.random_seed(random.Random(1)) == random.Random(1).randint(0, 2**32 - 1)
    assert np_util.argmin_2d([[3, 1], [0, 2]]) == (1, 0)
    assert np_util.cummin([[1.0], [2.0], [3.0]], [[0.0], [0.0], [1.0]]).tolist() == [[1.0], [2.0], [2.0]]
