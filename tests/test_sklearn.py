"""Bayesmark's tuning problems: their spaces, their numbers, their signatures, and a user's own CSV files."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import warnings
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest

import optarena as oa
from journals import lines_of
from journals import rewrite as rewrite_journal
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.problem import build, get_suite, select
from optarena.problems import _tuning_data as data_
from optarena.problems.sklearn import SIGNATURE_KEY, signature_points
from optarena.runner.again import replay
from optarena.store import Store
from optarena.store.journal import problem_card
from optarena.store.merging import merge
from optarena.testing import assert_problem

METRICS = ("acc", "nll", "mae", "mse")
DATA = Path(__file__).parent / "data"
SIGNATURES = json.loads((DATA / "sklearn" / "signatures.json").read_text())
SPACES = json.loads((DATA / "bayesmark_spaces.json").read_text())["spaces"]
# trees break ties between splits in another way since scikit-learn 1.1.3, and boosting amplifies it
TREES_DRIFTED = {"ada_digits_acc", "ada_digits_nll", "ada_iris_nll", "ada_boston_mae", "ada_boston_mse"}
# what has not changed since the figures of the 2020 challenge: the folds of these sets, and these solvers
SINCE_2020 = [
    *(f"{model}_{data}" for model in ("DT", "RF", "kNN") for data in ("breast_acc", "breast_nll", "wine_acc")),
    *(f"{model}_{data}_mse" for model in ("DT", "RF", "SVM", "kNN", "lasso", "linear") for data in ("boston",)),
    *(f"{model}_diabetes_mae" for model in ("DT", "RF", "kNN")),
]


def np_seed(key):
    """Bayesmark's seed of NumPy's generator for a study or a signature."""
    keys = random.Random(int(key, 16))
    keys.randint(0, 2**32 - 1)
    return keys.randint(0, 2**32 - 1)


def wanted(name):
    if "boston" in name:
        pytest.importorskip("mlxtend")
    return build(f"sklearn/{name}")


def kind(name):
    return "clf" if name.split("_")[1] in data_.CLASSES else "reg"


def test_there_are_108_problems_and_listing_them_does_not_load_scikit_learn():
    ids = list(get_suite("sklearn").ids())
    assert len(ids) == len(set(ids)) == 108
    assert {id.removeprefix("sklearn/") for id in ids} == set(SIGNATURES)
    code = (
        "import sys; from optarena.cli import main; main(['list', 'problems', 'sklearn']);"
        " assert 'sklearn' not in sys.modules"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0


@pytest.mark.parametrize("name", sorted(SIGNATURES))
def test_spaces_and_signature_points_are_bayesmarks(name):
    problem = wanted(name)
    golden = SPACES[f"model_{kind(name)}_{name.split('_')[0]}"]
    assert problem.space.config == golden["api_config"]
    for ours, theirs in zip(signature_points(problem.space), golden["signature_x_RandomState0_n5"], strict=True):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert type(ours[key]) is type(value)
            assert ours[key] == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("name", sorted(SIGNATURES))
@pytest.mark.slow
def test_every_problem_evaluates_and_gives_the_figure_of_scikit_learn_1_1(name):
    problem = wanted(name)
    stream = np.random.RandomState(np_seed(SIGNATURE_KEY))
    with warnings.catch_warnings(action="error"):
        found = problem.losses(signature_points(problem.space)[0], stream)
    assert np.isfinite(found.values[0])
    assert np.isfinite(found.metrics["generalization"])
    tolerance = 0.05 if name in TREES_DRIFTED else 1e-7
    assert found.values[0] == pytest.approx(SIGNATURES[name]["scikit-learn 1.1.3"][0], rel=tolerance)
    assert found.metrics["generalization"] == pytest.approx(SIGNATURES[name]["generalization"][0], rel=tolerance)


QUICK = [f"{m}_{d}" for m in ("DT", "SVM", "linear") for d in ("iris_acc", "iris_nll", "wine_nll", "diabetes_mae")]
QUICK += [
    "lasso_diabetes_mse",
    "lasso_boston_mae",
    "linear_boston_mse",
    "kNN_wine_nll",
    "kNN_breast_nll",
    "MLP-sgd_wine_nll",
]


@pytest.mark.parametrize("name", QUICK)
def test_signatures_are_those_of_bayesmark_with_scikit_learn_1_1(name):
    assert wanted(name).signature() == pytest.approx(SIGNATURES[name]["scikit-learn 1.1.3"], rel=1e-7)


@pytest.mark.parametrize("name", SINCE_2020)
def test_signatures_published_with_the_2020_challenge_still_hold_where_nothing_has_changed(name):
    assert wanted(name).signature() == pytest.approx(SIGNATURES[name]["published_2020"], rel=1e-9)


def test_every_random_search_of_a_real_bayesmark_run_gives_its_values_again():
    """Bayesmark's stream of random numbers is shared by random search (a draw a parameter) and the models."""
    studies = json.loads((DATA / "sklearn" / "random_search_r01.json").read_text())
    assert len(studies) == 24
    for uuid, study in studies.items():
        problem = wanted(study["problem"])
        stream = np.random.RandomState(np_seed(uuid))
        for row, y, hidden in zip(study["x"], study["y"], study["generalization"], strict=True):
            stream.uniform(size=len(row))
            found = problem.losses(dict(zip(study["names"], row, strict=True)), stream)
            assert found.values[0] == pytest.approx(y, rel=1e-9)
            assert found.metrics["generalization"] == pytest.approx(hidden, rel=1e-9)


def test_noise_comes_from_the_generator_alone():
    problem = build("sklearn/DT_wine_nll")
    x = signature_points(problem.space)[2]
    state = np.random.get_state()[1].tolist()  # noqa: NPY002
    one, same, other = (problem.evaluate(x, np.random.default_rng(seed)).values[0] for seed in (1, 1, 2))
    assert one == same != other
    assert np.random.get_state()[1].tolist() == state  # noqa: NPY002
    with pytest.raises(TypeError, match="random generator"):
        problem.evaluate(x)


def test_what_draws_no_random_number_is_not_noisy():
    noisy = {id for id in select("sklearn/*_{iris,diabetes}_*") if build(id).noisy}
    quiet = set(select("sklearn/*_{iris,diabetes}_*")) - noisy
    assert {id.split("/")[1].split("_")[0] for id in quiet} == {"SVM", "kNN", "lasso", "linear"}
    assert "sklearn/SVM_iris_acc" in quiet
    assert "sklearn/SVM_iris_nll" in noisy
    assert "sklearn/lasso_iris_nll" in noisy


@pytest.mark.parametrize("name", ["DT_iris_nll", "kNN_wine_acc", "lasso_diabetes_mae", "SVM_iris_nll"])
def test_problems_pass_the_conformance_kit(name):
    assert_problem(build(f"sklearn/{name}"))


class Watcher(oa.Optimizer):
    """Random search that remembers what it is told."""

    told: ClassVar[list] = []

    def suggest(self, n):
        return self.space.to_dicts(self.space.from_unit(self.rng.random((n, self.space.dimension))))

    def observe(self, X, y):
        Watcher.told.append(y.copy())


def test_the_hidden_loss_is_recorded_and_never_shown(monkeypatch):
    monkeypatch.setattr("optarena.optimizer.get_optimizer", lambda name, base=None: Watcher)
    monkeypatch.setattr(Watcher, "told", [])
    results = oa.Experiment("RandomSearch", "sklearn/kNN_iris_nll", 4).run("s", workers=0)
    columns = results.in_full().columns
    assert np.concatenate(Watcher.told).shape == (4, 1)
    assert np.concatenate(Watcher.told)[:, 0] == pytest.approx(columns.values[:, 0])
    assert np.isfinite(columns.metrics[:, 0]).all()
    assert (columns.metrics[:, 0] != columns.values[:, 0]).any()


def test_a_fit_that_fails_is_a_failed_evaluation(monkeypatch):
    problem = build("sklearn/kNN_iris_nll")
    nan = problem.model._replace(fit=lambda *_: lambda T: np.full((len(T), 3), np.nan))
    monkeypatch.setattr(problem, "model", nan)
    with pytest.raises(ArithmeticError, match="the loss is nan"):
        problem.evaluate({"n_neighbors": 1, "p": 1})


# ---- signatures in stores -------------------------------------------------------------------------------------------


def run(store, **options):
    return oa.Experiment("RandomSearch", "sklearn/kNN_iris_nll", 3).run(store, workers=0, **options)


def rewrite(store, *, version=None, signature=None, cpu=None):
    """As if the store had been made with another scikit-learn, or on another machine."""
    for path in Path(store, "journal").iterdir():
        lines = lines_of(path)
        for line in lines:
            if line["t"] == "problem":
                line["versions"]["scikit-learn"] = version or line["versions"]["scikit-learn"]
                line["signature"] = signature or line["signature"]
            if line["t"] == "journal":
                line["environment"]["cpu"] = cpu or line["environment"]["cpu"]
        rewrite_journal(path, lines)


def test_the_card_carries_version_and_signature_and_the_supervisor_never_computes_it():
    results = run("s")
    card = results.columns.attempts[0].card
    assert card.version == "1"
    assert list(card.signature) == pytest.approx(SIGNATURES["kNN_iris_nll"]["scikit-learn 1.1.3"], rel=1e-9)
    problem = build("sklearn/kNN_iris_nll")
    assert problem_card(problem, signed=False).signature == ()
    assert not hasattr(problem, "_signature")
    assert problem_card(problem).signature == card.signature


def test_going_on_in_the_same_environment_computes_no_signature(monkeypatch):
    run("s")
    monkeypatch.setattr("optarena.problems.sklearn.TuningProblem.signature", lambda self: 1 / 0)
    run("s")  # nothing is left to do, so no card is written either


def test_appending_to_a_store_whose_problem_has_other_values_is_refused():
    run("s")
    rewrite("s", version="0.20.2", signature=[0.1, 0.2, 0.3, 0.4, 0.5])
    with pytest.raises(OptarenaError, match=r"signature with scikit-learn \d.*made with scikit-learn 0\.20\.2"):
        run("s")
    with pytest.raises(OptarenaError, match="signature"):
        run("s", new=True)  # another root does not make it the same problem


def test_another_version_with_the_same_values_is_welcome():
    run("s")
    rewrite("s", version="1.8.0")
    assert oa.Experiment("RandomSearch", "sklearn/kNN_iris_nll", 5).run("s", workers=0).studies["evaluations"][0] == 5


def test_merging_stores_whose_problem_has_other_values_is_refused():
    run("a")
    run("b")
    rewrite("b", version="0.20.2", signature=[0.1, 0.2, 0.3, 0.4, 0.5])
    with pytest.raises(
        OptarenaError, match=r"kNN_iris_nll, version 1: its signature in .*keep these stores apart"
    ) as e:
        merge([Store("a"), Store("b")], Store("c"))
    assert "scikit-learn 0.20.2" in str(e.value)
    rewrite("b", version="0.20.2", signature=list(build("sklearn/kNN_iris_nll").signature()))
    merge([Store("a"), Store("b")], Store("c"))
    assert len(oa.open("c").studies) == 2


def elsewhere(store, factor=1.0026):
    """As if the store had been made with the same packages on a CPU that rounds otherwise."""
    rewrite(store, signature=[value * factor for value in build("sklearn/kNN_iris_nll").signature()], cpu="Other CPU")


def test_a_store_of_another_machine_goes_on_keeps_both_signatures_and_says_so(capsys):
    run("s")
    elsewhere("s")
    results = oa.Experiment("RandomSearch", "sklearn/kNN_iris_nll", 3, trials=2).run("s", workers=1)
    assert results.studies.select("status", "conflicts").unique().rows() == [("done", 0)]
    (signed,) = results.columns.signed.values()
    assert len({item.card.signature for item in signed}) == 2
    (note,) = results.notes()
    assert note.startswith(
        "sklearn/kNN_iris_nll: the same points gave values that differ by up to 2.6e-03 (relative) between Other CPU"
    )
    assert note in results.fixed_cost().notes
    assert main(["status", "s"]) == 0
    assert note in capsys.readouterr().out


def test_stores_of_two_machines_merge_with_a_note_and_those_of_one_without():
    run("a")
    run("b")
    merge([Store("a"), Store("b")], Store("c"))
    assert oa.open("c").notes() == []
    elsewhere("b")
    merge([Store("a"), Store("b")], Store("d"))
    assert "Other CPU" in oa.open("d").notes()[0]


@pytest.mark.slow
def test_packages_that_move_values_within_the_tolerance_are_welcome_and_noted():
    run("s")
    elsewhere("s", 1 + 1e-6)
    rewrite("s", version="1.8.0")
    results = oa.Experiment("RandomSearch", "sklearn/kNN_iris_nll", 4).run("s", workers=1)
    assert "1.0e-06" in results.notes()[0]
    assert "scikit-learn 1.8.0" in results.notes()[0]


def test_rows_of_one_study_that_differ_between_stores_stop_a_merge_before_it_writes():
    seed = "0b7e9d31-6a44-4c9b-8f7a-0d5c9b3f1a22"
    for name in ("a", "b"):
        oa.Experiment("RandomSearch", "functions/sphere/d2", 3, seed=seed).run(name, workers=0)
    (path,) = Path("b", "journal").iterdir()
    lines = lines_of(path)
    row = next(line for line in lines if line["t"] == "e")
    row["y"][0][0] += 1e-9
    rewrite_journal(path, lines)
    with pytest.raises(OptarenaError, match=r"RandomSearch on functions/sphere/d2, trial 0.*nothing was merged"):
        merge([Store("a"), Store("b")], Store("c"))
    assert not Path("c").exists()


@pytest.mark.slow
def test_a_study_in_a_worker_replays():
    oa.Experiment("RandomSearch", "sklearn/DT_iris_nll", 3).run("s", workers=1)
    study = oa.open("s").studies["study"][0]
    verdict = replay("s", study)
    assert verdict.same
    assert verdict.compared == 3


# ---- boston ---------------------------------------------------------------------------------------------------------


def test_boston_without_mlxtend_is_an_error_where_named_and_left_out_elsewhere(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "mlxtend", None)
    for call in (select, build):
        with pytest.raises(OptarenaError, match=r"SVM_boston_mae needs the extra 'problems' \(mlxtend\)"):
            call("sklearn/SVM_boston_mae")
    with pytest.raises(OptarenaError, match="pip install 'optarena\\[problems\\]'"):
        select("sklearn/*_boston_*")
    notices: list[str] = []
    assert len(select("sklearn", notices=notices)) == 108 - 18
    left_out = "left out: 18 of the problems that 'sklearn' selects: each needs the extra 'problems' (mlxtend)"
    assert notices == [f"{left_out}: pip install 'optarena[problems]'"]
    assert main(["list", "problems", "sklearn/kNN_*_mae"]) == 0
    out = capsys.readouterr()
    assert out.out == "sklearn/kNN_diabetes_mae\n"
    assert out.err.startswith("left out: 1 of the problems")
    assert main(["run", "-o", "RandomSearch", "-p", "sklearn/kNN_*_mae", "-n", "2", "--workers", "0"]) == 0
    assert "left out: 1 of the problems" in capsys.readouterr().out


# ---- a folder of CSV files ------------------------------------------------------------------------------------------


def write(path, rows, header="size,colour,grade_cat,flag,target"):
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def rows(n=60, target="{c}"):
    draw = np.random.default_rng(0)
    for i in range(n):
        c = i % 2
        size, colour, grade = c + draw.normal(), "rgb"[i % 3], (10, 9, 2)[i % 3]
        yield f"{size:.6f},{colour},{grade},{'true' if c else 'false'},{target.format(c=c, v=size * 3)}"


def test_categories_become_columns_and_everything_is_scaled_robustly():
    X, y = data_.read_csv(write("clf-mine.csv", rows()))
    assert X.shape == (60, 2 + 2 + 2)  # size, flag; colours g and r; grades 9 and 10
    assert set(y) == {0.0, 1.0}
    assert np.median(X[:, 0]) == pytest.approx(0)
    # categories in order, the first left out, after the numbers; numbers among them in the order of numbers
    colour, grade = np.arange(60) % 3, np.array([10, 9, 2])[np.arange(60) % 3]
    for column, member in zip(X.T[2:], [colour == 1, colour == 0, grade == 9, grade == 10], strict=True):
        assert column[member].min() > column[~member].max()
        assert len(np.unique(column)) == 2
    _, target = data_.read_csv(write("reg-mine.csv", rows(target="{v}")))
    assert np.median(target) == pytest.approx(0)


def test_robust_scaling_is_bayesmarks():
    golden = json.loads((DATA / "sklearn" / "robust_standardize.json").read_text())
    assert golden
    for case in golden.values():
        assert data_.robust(np.array(case["x"])) == pytest.approx(np.array(case["result"]), rel=1e-12, abs=1e-14)


def test_features_far_out_are_clipped():
    far = [f"{i % 7 + (1e9 if i == 3 else 0)},{i % 2}" for i in range(40)]
    X, _ = data_.read_csv(write("clf-far.csv", far, header="a,t"))
    assert X.max() == 100.0


def test_a_folder_is_selected_by_wildcards_and_runs_by_worker():
    write("data/clf-mine.csv", rows())
    write("data/reg-mine.csv", rows(target="{v}"))
    write("data/other.csv", rows())
    assert len(select("data/*.csv:*")) == 36
    assert select("data/{clf,reg}-mine.csv:kNN_*") == [
        f"data/{kind}-mine.csv:kNN_{metric}" for kind, metric in zip(["clf"] * 2 + ["reg"] * 2, METRICS, strict=True)
    ]
    assert main(["run", "-o", "RandomSearch", "-p", "data/*.csv:{DT,linear}_*", "-n", "3", "--workers", "1"]) == 0
    results = oa.open("results")
    assert set(results.studies["problem"]) == {
        f"{file}-mine.csv:{model}_{metric}"
        for file, metrics in (("clf", ("acc", "nll")), ("reg", ("mae", "mse")))
        for model in ("DT", "linear")
        for metric in metrics
    }
    card = results.columns.attempts[0].card
    assert (card.suite, card.function) == ("sklearn", "DT_clf-mine_acc")
    assert card.source is not None
    with Path("data/clf-mine.csv").open("a") as file:
        file.write("0.5,r,2,true,1\n")
    with pytest.raises(OptarenaError, match=r"clf-mine\.csv:DT_acc: its source has changed"):
        oa.Experiment("RandomSearch", "data/clf-mine.csv:DT_acc", 5).run("results", workers=0)


def test_texts_may_be_classes():
    problem = build(f"{write('clf-texts.csv', rows(target='class{c}'))}:DT_acc")
    assert problem.evaluate(signature_points(problem.space)[2], np.random.default_rng(0)).values[0] < -0.7


@pytest.mark.parametrize(
    ("name", "lines", "says"),
    [
        ("clf-a.csv", [*rows(12), "1.0,r,2,true"], r"line 14: 4 cells, the header has 5"),
        ("clf-a.csv", [*rows(12), "n/a,r,2,true,1"], r"line 14, column 'size': 'n/a' is not a finite number"),
        ("clf-a.csv", [*rows(12), "inf,r,2,true,1"], r"line 14, column 'size': 'inf' is not a finite number"),
        ("clf-a.csv", [*rows(12), ",r,2,true,1"], r"line 14, column 'size': an empty cell"),
        ("clf-a.csv", [*rows(12), "1.0,r,2,true,0.5"], r"line 14, column 'target': a class is a text or a whole"),
        ("reg-a.csv", rows(12, "x{c}"), r"column 'target': the target of a reg-….csv must be numbers"),
        ("clf-a.csv", rows(12, "1"), r"the target has one class only"),
        ("clf-a.csv", rows(5), r"5 rows, five folds need at least 10"),
        ("mine.csv", rows(12), r"mine.csv: name it clf-"),
    ],
)
def test_a_bad_file_is_named_with_its_line_and_column(name, lines, says):
    with pytest.raises(OptarenaError, match=says):
        build(f"{write(name, lines)}:SVM_" + ("mae" if name.startswith("reg") else "nll"))


def test_a_file_or_a_model_that_is_not_there_is_said():
    write("clf-a.csv", rows())
    with pytest.raises(OptarenaError, match="there is no file"):
        build("clf-none.csv:SVM_nll")
    with pytest.raises(OptarenaError, match=r"no file clf-….csv or reg-….csv matches"):
        select("none/*.csv:SVM_nll")
    with pytest.raises(OptarenaError, match="Did you mean 'SVM_nll'"):
        select("clf-a.csv:SVM_nl")
    with pytest.raises(OptarenaError, match="'SVM_mae' is not a model and metric"):
        build("clf-a.csv:SVM_mae")


def test_a_class_that_a_fold_did_not_learn_has_probability_zero():
    few = [f"{i / 7:.3f},{0 if i < 20 else 1 if i < 39 else 2}" for i in range(40)]
    problem = build(f"{write('clf-rare.csv', few, header='a,t')}:kNN_nll")
    assert np.isfinite(problem.evaluate({"n_neighbors": 3, "p": 2}).values[0])
