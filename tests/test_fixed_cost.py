"""The fixed-cost view: Bayesmark's figures to the last digit, and what must hold for any data."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xarray as xr

import optarena as oa
from bayesmark_figures import CUBES, DATA, array, load, store_of
from optarena.cli import main
from optarena.errors import OptarenaError

KEYS = (
    *("optimizer", "problem", "metric", "iteration", "median", "median_lb", "median_ub", "median_normed"),
    *("mean", "mean_lb", "mean_ub", "mean_normed", "mean_normed_lb", "mean_normed_ub", "score"),
)


def expected(name):
    return load(f"cubes/{name}/expected.json.gz")["objectives"]


SOUND = [name for name in CUBES if all("error" not in outcome for outcome in expected(name).values())]


def same(got: xr.Dataset, golden: dict, rtol=1e-10) -> None:
    for name, variable in golden["vars"].items():
        coords = {dim: golden["coords"][dim] for dim in variable["dims"]}
        ours = got[name].sel(coords).transpose(*variable["dims"]).values
        np.testing.assert_allclose(ours, array(variable["data"]), rtol=rtol, atol=0, err_msg=name)


@pytest.mark.parametrize("name", SOUND)
def test_every_figure_equals_bayesmarks(name, tmp_path):
    results = store_of(f"cubes/{name}/input.csv.gz", tmp_path)
    for objective, golden in expected(name).items():
        frame = None
        if name == "c13_external_baseline":  # scored against the baseline of another cube
            frame = tmp_path / "baseline.json"
            frame.write_text(json.dumps(expected("c02_batch4")[objective]["baseline"]))
        view = results.fixed_cost(mode="bayesmark", metric=objective, frame=frame)
        datasets = view.to_xarray()
        for dataset in ("baseline", "agg_result", "summary"):
            same(datasets[dataset], golden[dataset])
        board = view.leaderboard()
        for optimizer, score in (
            golden["leaderboard_100x(1-mean)"].items()
            if isinstance(golden["leaderboard_100x(1-mean)"], dict)
            else zip(golden["summary"]["coords"]["optimizer"], golden["leaderboard_100x(1-mean)"], strict=True)
        ):
            ours = board.filter(pl.col("optimizer") == optimizer)["bayesmark_score"].item()
            assert ours == pytest.approx(float(score), rel=1e-10)


@pytest.mark.parametrize("name", ["e01_nan", "e03_median_random_inf", "e04_neg_inf"])
def test_what_stopped_bayesmark_is_left_out_by_name(name, tmp_path):
    results = store_of(f"cubes/{name}/input.csv.gz", tmp_path)
    view = results.fixed_cost(mode="bayesmark")
    (item,) = view.excluded
    assert item["problem"] == "P0_syn_mse"
    assert "finite" in item["reason"] or "nan" in item["reason"]
    assert view.summary["mean"].is_not_null().all()


@pytest.mark.parametrize(("name", "why"), [("e02_no_random_search", "bare"), ("e06_constant_huge", "overflows")])
def test_what_stopped_bayesmark_is_a_sentence(name, why, tmp_path):
    results = store_of(f"cubes/{name}/input.csv.gz", tmp_path)
    with pytest.raises(OptarenaError, match=why):
        results.fixed_cost(mode="bayesmark")
    assert results.fixed_cost().summary.height  # and no obstacle to the exact mode


def test_a_real_run_equals_bayesmarks_own_tables(tmp_path):
    results = store_of("real/r01/input.csv.gz", tmp_path)
    ours = results.fixed_cost(mode="bayesmark").to_xarray()
    for dataset in ("baseline", "agg_result", "summary"):
        golden = load(f"real/r01/{dataset}.json.gz")
        for name, variable in golden["vars"].items():
            coords = {dim: golden["coords"][dim] for dim in variable["dims"]}
            theirs = array(variable["data"])
            values = ours[dataset][name].sel(coords).transpose(*variable["dims"]).values
            bound = name.startswith("mean") and name.endswith(("LB", "UB"))  # by an older t.ppf, off by 2e-9
            np.testing.assert_allclose(values, theirs, rtol=1e-7 if bound else 1e-10, atol=1e-12, err_msg=name)


# ---- exact ---------------------------------------------------------------------------------------------------------


def table(rng, problems=6, trials=8, evaluations=30, **optimizers):
    """A made-up experiment; an optimizer is a function of (problem, uniform draws)."""
    rows = []
    for p in range(problems):
        for name, make in optimizers.items():
            for trial in range(trials):
                values = make(p, rng.random(evaluations))
                hidden = values + 0.3 * rng.normal(size=evaluations)
                for i, (v, h) in enumerate(zip(values, hidden, strict=True)):
                    rows.append((f"p{p}", name, trial, i + 1, float(v), float(h)))
    columns = ["problem", "optimizer", "trial", "evaluation", "value", "metric.test"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def sphere(p, u):
    return (1 + p) * (u - 0.3) ** 2


def better(p, u):
    return sphere(p, u) * np.linspace(1, 0.1, len(u))


@pytest.fixture
def frame():
    return table(np.random.default_rng(0), RandomSearch=sphere, Better=better, Same=sphere)


def scored(rows, tmp_path, name="s", **options):
    return oa.from_frame(rows, tmp_path / name).fixed_cost(**options)


def test_rows_have_the_keys_of_the_contract(frame, tmp_path, capsys):
    oa.from_frame(frame, tmp_path / "s")
    assert main(["score", str(tmp_path / "s"), "--view", "fixed-cost", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["view"], data["mode"], data["excluded"]) == ("fixed-cost", "exact", [])
    assert len(data["frame"]["hash"]) == 64
    for name in ("problem", "summary"):
        assert set(KEYS) <= set(data["tables"][name][0])
    row = data["tables"]["summary"][-1]
    assert row["score"] == pytest.approx(100 * (1 - row["mean"]))
    assert {"problem", "metric", "iteration", "median", "mean", "clip", "best"} <= set(data["tables"]["baseline"][0])
    assert {row["iteration"] for row in data["tables"]["summary"]} == set(range(1, 31))


@pytest.mark.parametrize("metric", ["value", "test"])
def test_affine_changes_of_an_objective_change_no_normalised_score(frame, tmp_path, metric):
    moved = frame.with_columns(pl.col("value", "metric.test") * 1000 - 77)
    one, other = (scored(f, tmp_path, n, metric=metric) for f, n in ((frame, "a"), (moved, "b")))
    for column in ("mean", "mean_lb", "median", "mean_normed", "mean_normed_ub", "score"):
        np.testing.assert_allclose(one.summary[column], other.summary[column], rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(
        one.problem["mean"] * 1000 - 77, other.problem["mean"], rtol=1e-9
    )  # restored in the units of the problem


def test_maximising_the_negative_is_the_same(frame, tmp_path):
    up = frame.with_columns(-pl.col("value", "metric.test"), sense=pl.lit("max"))
    one, other = scored(frame, tmp_path, "a"), scored(up, tmp_path, "b")
    for column in ("mean_normed", "mean_normed_lb", "median", "score"):
        np.testing.assert_allclose(one.summary[column], other.summary[column], rtol=1e-12)
    assert (one.problem["median_lb"] == -other.problem["median_ub"]).all()
    assert (one.problem["mean_ub"] == -other.problem["mean_lb"]).all()
    assert (one.baseline["best"] == -other.baseline["best"]).all()


def test_a_method_worse_than_all_changes_nobody_elses_score_when_the_frame_is_pinned(frame, tmp_path):
    first = scored(frame, tmp_path, "a")
    worse = table(np.random.default_rng(5), Worse=lambda p, u: 100 + u)
    more = scored(pl.concat([frame, worse]), tmp_path, "b", frame=first.pinned)
    assert more.frame["hash"] == first.frame["hash"]
    kept = more.summary.filter(pl.col("optimizer") != "Worse")
    assert kept.equals(first.summary)


def test_a_saved_frame_is_the_same_frame(frame, tmp_path, capsys):
    oa.from_frame(frame, tmp_path / "s")
    assert main(["score", str(tmp_path / "s"), "--save-frame", "f.json", "--format", "csv"]) == 0
    first = capsys.readouterr().out
    assert main(["score", str(tmp_path / "s"), "--frame", "f.json", "--format", "csv"]) == 0
    assert capsys.readouterr().out == first


@pytest.mark.parametrize("metric", ["value", "test"])
def test_random_search_against_itself_is_one(tmp_path, metric):
    inside = 0
    for seed in range(20):
        rows = table(np.random.default_rng(seed), problems=4, evaluations=12, RandomSearch=sphere, Better=better)
        last = scored(rows, tmp_path, f"s{seed}", metric=metric, over="trials").leaderboard(metric)
        mine = last.filter(pl.col("optimizer") == "RandomSearch").row(0, named=True)
        inside += mine["mean_normed_lb"] <= 1 <= mine["mean_normed_ub"]
    assert inside >= 17  # 95 % of 20, less what chance may do


def test_bayesmarks_baseline_of_a_hidden_metric_is_an_oracles_and_ours_is_not(frame, tmp_path):
    results = oa.from_frame(frame, tmp_path / "s")
    theirs = results.fixed_cost(mode="bayesmark", metric="test").leaderboard("test")
    ours = results.fixed_cost(metric="test").leaderboard("test")
    of = lambda board: board.filter(pl.col("optimizer") == "RandomSearch")["mean_normed"].item()  # noqa: E731
    assert of(theirs) > 1.3
    assert of(ours) == pytest.approx(1, abs=0.15)


def test_the_hidden_baseline_is_what_simulated_random_search_gives(tmp_path):
    rng = np.random.default_rng(3)
    frame = table(rng, problems=1, trials=40, evaluations=20, RandomSearch=sphere, Better=better)
    view = scored(frame, tmp_path, metric="test")
    pool = frame.filter(pl.col("optimizer") == "RandomSearch")
    v, h = pool["value"].to_numpy(), pool["metric.test"].to_numpy()
    clip = view.baseline["clip"][0]
    for m in (1, 5, 20):
        draws = rng.random((20_000, len(v))).argpartition(m, axis=1)[:, :m]
        chosen = h[np.take_along_axis(draws, v[draws].argmin(axis=1)[:, None], axis=1)[:, 0]]
        row = view.baseline.filter(pl.col("iteration") == m)
        error = np.minimum(chosen, clip).std() / np.sqrt(len(chosen))
        assert row["mean"].item() == pytest.approx(np.minimum(chosen, clip).mean(), abs=5 * error)
        assert np.mean(chosen <= row["median"].item()) == pytest.approx(0.5, abs=0.02)


def test_ties_in_the_visible_value_share_their_weight(tmp_path):
    frame = pl.DataFrame(
        {
            "problem": "p",
            "optimizer": ["RandomSearch"] * 4 + ["A"],
            "trial": [0, 0, 0, 0, 0],
            "value": [1.0, 1.0, 1.0, 2.0, 0.0],
            "metric.h": [3.0, 6.0, 9.0, 100.0, -1.0],
        }
    )
    base = scored(frame, tmp_path, metric="h").baseline
    # one draw: clip is the median 6; two draws: the tied three share all the weight
    assert base["clip"][0] == 6.0
    assert base["mean"][0] == pytest.approx((3 + 6 + 6 + 6) / 4)
    assert base["mean"][1] == pytest.approx((3 + 6 + 6) / 3)
    assert base["median"][1] == 6.0


def test_a_constant_problem_is_named_and_left_out_of_summaries(frame, tmp_path):
    flat = frame.filter(pl.col("problem") == "p0").with_columns(pl.lit("flat").alias("problem"), value=pl.lit(0.0))
    view = scored(pl.concat([frame, flat]), tmp_path, metric="value")
    assert [(item["problem"], item["optimizer"]) for item in view.excluded] == [("flat", None)]
    assert view.problem.filter(pl.col("problem") == "flat")["mean_normed"].is_null().all()
    assert view.summary.equals(scored(frame, tmp_path, "other", metric="value").summary)


def one_trial(problems=8):
    """After its last evaluation, random search's expected best is its best: the best value of all."""
    worse = {"RandomSearch": sphere, "Worse": lambda p, u: sphere(p, u) + 1}
    return table(np.random.default_rng(0), problems=problems, trials=1, **worse)


def test_a_ratio_to_a_random_search_next_to_the_best_value_is_undefined(tmp_path):
    view = scored(one_trial(), tmp_path, metric="value", bootstrap=5)
    last = view.summary.filter(pl.col("iteration") == 30)
    for name in ("median", "mean_normed", "mean_normed_lb", "mean_normed_ub"):
        assert last[name].is_null().all()
    assert last["score"].is_not_null().all()
    assert view.problem.filter(pl.col("iteration") == 30)["median_normed"].is_null().all()
    assert view.summary["mean_normed"].drop_nulls().max() < 1e6
    assert [note.partition(",")[0] for note in view.notes[:2]] == [
        "mean normed is undefined",
        "median normed is undefined",
    ]
    assert view.leaderboard()["optimizer"].to_list() == ["RandomSearch", "Worse"]


def test_an_undefined_ratio_leaves_the_median_over_problems_and_nothing_else(frame, tmp_path):
    whole = scored(frame, tmp_path, metric="value")
    one = one_trial(1).with_columns(pl.col("optimizer").replace("Worse", "Better"), problem=pl.lit("near"))
    one = pl.concat([one, one.filter(pl.col("optimizer") == "Better").with_columns(optimizer=pl.lit("Same"))])
    both = scored(pl.concat([frame, one]), tmp_path, "b", metric="value")
    for view in (whole, both):
        assert view.problem.filter(pl.col("problem") != "near")["median_normed"].is_not_null().all()
    medians = [
        view.summary.filter(pl.col("iteration") == 30, pl.col("optimizer") == "Better") for view in (whole, both)
    ]
    assert medians[0]["median"].item() == medians[1]["median"].item()
    assert medians[1]["n"].item() == 7, both.notes
    assert any("median normed is undefined" in note and "on near" in note for note in both.notes)


def test_mode_bayesmark_divides_as_the_original_does(tmp_path):
    view = scored(one_trial(), tmp_path, metric="value", mode="bayesmark")
    worse = view.summary.filter(pl.col("iteration") == 30, pl.col("optimizer") == "Worse")
    assert worse["mean_normed"].item() > 1e6
    assert not any("undefined" in note for note in view.notes)


def test_an_undefined_score_is_a_dash_in_tables_and_null_in_json(tmp_path, capsys):
    oa.from_frame(one_trial().drop("metric.test"), tmp_path / "s")
    assert main(["score", str(tmp_path / "s")]) == 0
    text = capsys.readouterr().out
    assert "[–, –]" not in text
    assert "Worse             –" in text
    assert "note: mean normed is undefined" in text
    assert main(["score", str(tmp_path / "s"), "--format", "latex"]) == 0
    assert r"Worse & -- & -- & --" in capsys.readouterr().out
    assert main(["score", str(tmp_path / "s"), "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["summary"][29]["mean_normed"] is None
    assert main(["figure", "normalised", str(tmp_path / "s"), "-O", str(tmp_path / "n.svg")]) == 0
    assert main(["figure", "final", str(tmp_path / "s"), "-O", str(tmp_path / "f.svg")]) == 2
    assert "the normalised score is undefined" in capsys.readouterr().err
    assert main(["report", str(tmp_path / "s"), "-O", str(tmp_path / "r.html")]) == 0


def test_nan_and_minus_infinity_are_failures_of_an_evaluation(frame, tmp_path):
    broken = frame.with_columns(
        value=pl.when(pl.col("evaluation") == 3)
        .then(-np.inf)
        .when(pl.col("evaluation") == 5)
        .then(np.nan)
        .otherwise(pl.col("value"))
    )
    view = scored(broken, tmp_path, metric="value")
    assert view.excluded == []
    assert np.isfinite(view.baseline["best"].to_numpy()).all()
    assert view.summary["mean"].is_not_null().all()


def test_unequal_trials_budgets_and_failures_are_scored_and_said(frame, tmp_path):
    part = frame.filter(~((pl.col("optimizer") == "Same") & (pl.col("trial") > 4)))
    part = part.filter(~((pl.col("optimizer") == "Better") & (pl.col("problem") == "p1") & (pl.col("evaluation") > 9)))
    view = scored(part, tmp_path, metric="value")
    assert any("number of trials differs: from 5 to 8" in note for note in view.notes)
    assert view.coverage == {"problems": 6, "functions": 6, "left_out": []}
    assert any("budgets differ on 1 problem (p1: 9 to 30" in note for note in view.notes)
    rows = view.problem.filter((pl.col("problem") == "p1") & (pl.col("optimizer") == "Better"))
    assert rows["iteration"].max() == 9
    assert view.problem.filter(pl.col("optimizer") == "Same")["n"].unique().to_list() == [5]


def test_a_study_that_ended_early_keeps_its_best_until_the_end_of_its_budget(tmp_path):
    rows = pl.DataFrame(
        {
            "problem": "p",
            "optimizer": ["RandomSearch"] * 4 + ["Stops"] * 2,
            "trial": 0,
            "value": [4.0, 3.0, 2.0, 1.0, 5.0, 0.5],
            "budget": 4,
            "ended": ["done"] * 4 + ["stopped early"] * 2,
        }
    )
    view = scored(rows, tmp_path)
    last = view.problem.filter(pl.col("optimizer") == "Stops")
    assert last["median"].to_list() == [5.0, 0.5, 0.5, 0.5]
    assert any("1 study stopped early" in note for note in view.notes)


def test_problems_with_smaller_budgets_stand_at_their_last_iteration(frame, tmp_path):
    short = frame.filter((pl.col("problem") != "p0") | (pl.col("evaluation") <= 10))
    view = scored(short, tmp_path, metric="value")
    last = view.summary.filter(pl.col("iteration") == 30)
    assert last["n"].to_list() == [6, 6, 6]
    mine = view.problem.filter(pl.col("optimizer") == "Better")
    ends = [mine.filter(pl.col("problem") == f"p{p}")["mean_normed"][-1] for p in range(6)]
    assert last.filter(pl.col("optimizer") == "Better")["mean"].item() == pytest.approx(np.mean(ends))


def test_batches_count_as_so_many_draws_and_evaluations_as_one(tmp_path):
    results = store_of("cubes/c02_batch4/input.csv.gz", tmp_path)
    by_batch = results.fixed_cost(metric="value")
    by_evaluation = results.fixed_cost(metric="value", axis="evaluations")
    assert by_batch.frame["batch"] == 4
    for batch in (1, 8):
        one = by_batch.summary.filter(pl.col("iteration") == batch)
        other = by_evaluation.summary.filter(pl.col("iteration") == 4 * batch)
        for column in ("mean", "median", "mean_normed"):
            np.testing.assert_allclose(one[column], other[column], rtol=1e-12)


def test_by_seconds_the_baseline_knows_how_many_evaluations_random_search_made(frame, tmp_path):
    timed = frame.with_columns(
        seconds=pl.col("evaluation") * pl.when(pl.col("optimizer") == "Better").then(10.0).otherwise(1.0)
    )
    view = scored(timed, tmp_path, metric="value", axis="seconds")
    assert view.frame["axis"] == "seconds"
    assert view.summary["effort"].max() == 300.0
    half = view.problem.filter((pl.col("effort") < 10) & (pl.col("optimizer") == "Better"))
    assert (half["mean_normed"] == 1).all()  # nothing was found yet
    same = view.summary.filter((pl.col("optimizer") == "Same") & (pl.col("effort") > 2))
    np.testing.assert_allclose(same["mean_normed"], 1, atol=0.5)


def test_the_published_baselines_of_the_starter_kit_are_frames(tmp_path):
    import gzip

    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "problem": ["sklearn/DT_boston_mae"] * 30,
            "optimizer": "Mine",
            "trial": np.repeat([0, 1], 15),
            "batch": np.tile(np.arange(15), 2),
            "suggestion": 0,
            "value": rng.uniform(2, 5, 30),
            "metric.generalization": rng.uniform(2, 5, 30),
        }
    )
    path = tmp_path / "baseline.json"
    path.write_bytes(gzip.decompress((DATA / "baseline-15-1.json.gz").read_bytes()))
    view = scored(rows, tmp_path, frame=path)
    golden = load("baseline-15-1.json.gz")
    at = golden["coords"]["function"].index("DT_boston_mae")
    clip = array(golden["vars"]["clip"]["data"])[at]
    assert view.metrics == ["value", "generalization"]
    assert view.baseline["clip"].unique().sort().to_list() == sorted(clip.tolist())
    assert view.summary["mean"].is_not_null().all()


def test_intervals_grow_when_the_baselines_own_uncertainty_is_counted(frame, tmp_path):
    results = oa.from_frame(frame, tmp_path / "s")
    plain = results.fixed_cost(metric="value", over="trials").summary
    wider = results.fixed_cost(metric="value", over="trials", bootstrap=20).summary
    width = lambda t: t["mean_normed_ub"] - t["mean_normed_lb"]  # noqa: E731
    assert (width(wider) >= width(plain) - 1e-12).all()
    assert (plain["mean_normed"] == wider["mean_normed"]).all()
    assert wider.equals(results.fixed_cost(metric="value", over="trials", bootstrap=20).summary)  # seeded


def test_intervals_over_trials_are_those_of_a_mean_of_means(tmp_path):
    frame = table(np.random.default_rng(4), problems=1, trials=12, RandomSearch=sphere, Better=better)
    view = scored(frame, tmp_path, metric="value", over="trials")
    for column in ("mean_lb", "mean_ub"):  # with one problem: the t interval over its trials
        of_problem = view.problem[f"mean_normed_{column[-2:]}"]
        np.testing.assert_allclose(view.summary[column], of_problem, rtol=1e-12)


# ---- what goes wrong -----------------------------------------------------------------------------------------------


def complaint(capsys, *arguments):
    assert main(["score", *map(str, arguments)]) == 2
    text = capsys.readouterr().err
    assert text.startswith("optarena: ")
    assert text.count("\n") == 1
    return text


def test_without_random_search_the_error_says_what_to_do(frame, tmp_path, capsys):
    oa.from_frame(frame.filter(pl.col("optimizer") != "RandomSearch"), tmp_path / "s")
    text = complaint(capsys, tmp_path / "s", "--view", "fixed-cost")
    assert "no RandomSearch" in text
    assert "--frame" in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--axis", "second"], "Did you mean 'seconds'"),
        (["--metric", "tset"], "Did you mean 'test'"),
        (["--frame", "nowhere.json"], "nowhere.json"),
        (["--frame", "bad.json"], "not a frame"),
        (["--frame", "text.json"], "not JSON"),
        (["--optimizer", "Nobody"], "no study of store"),
        (["--bootstrap", "1"], "at least 2"),
        (["--format", "csv", "--table", "sumary"], "Did you mean 'summary'"),
    ],
)
def test_a_bad_call_is_one_sentence(frame, tmp_path, capsys, options, words):
    oa.from_frame(frame, tmp_path / "s")
    (tmp_path / "bad.json").write_text('{"coords": 3}')
    (tmp_path / "text.json").write_text("hello")
    assert words in complaint(capsys, "s", *options)


def test_batches_of_different_sizes_are_scored_by_evaluations_and_said(frame, tmp_path):
    mixed = frame.with_columns(batch_size=pl.when(pl.col("optimizer") == "Same").then(3).otherwise(1))
    view = scored(mixed, tmp_path)
    assert view.frame["axis"] == "evaluations"
    assert any("differ in size" in note for note in view.notes)
    with pytest.raises(OptarenaError, match="cannot share the axis"):
        oa.open(tmp_path / "s").fixed_cost(axis="batches")


def test_latex_is_a_booktabs_table_with_the_best_in_bold(frame, tmp_path, capsys):
    oa.from_frame(frame.with_columns(optimizer=pl.col("optimizer").replace("Better", "B_%&")), tmp_path / "s")
    assert main(["score", str(tmp_path / "s"), "--metric", "value", "--format", "latex"]) == 0
    text = capsys.readouterr().out
    assert text.count(r"\toprule") == text.count(r"\bottomrule") == 1
    best = next(line for line in text.splitlines() if "mathbf" in line)
    assert best.startswith(r"B\_\%\& & $\mathbf{")


def test_the_table_names_scores_intervals_and_the_frame(frame, tmp_path, capsys):
    oa.from_frame(frame, tmp_path / "s")
    assert main(["score", str(tmp_path / "s")]) == 0
    text = capsys.readouterr().out
    assert "fixed cost after 30 evaluations" in text
    assert "Better" in text
    assert "frame " in text


# ---- frames and gaps -----------------------------------------------------------------------------------------------


def renamed(rows, old, new):
    return rows.with_columns(problem=pl.col("problem").str.replace(f"^{old}", new))


def test_a_frame_is_for_its_own_problems_only(frame, tmp_path):
    base = scored(renamed(frame, "p", "suite/a/p"), tmp_path, "a")
    other = renamed(frame, "p", "suite/b/p")
    with pytest.raises(OptarenaError, match="it is not in the frame"):
        scored(other, tmp_path, "b", frame=base.pinned)


def test_the_normalised_mean_is_over_the_same_problems_above_and_below(tmp_path):
    rows = table(np.random.default_rng(0), trials=1, evaluations=12, RandomSearch=sphere, Better=better)
    short = rows.filter(
        ~((pl.col("problem") == "p0") & (pl.col("optimizer") == "RandomSearch") & (pl.col("evaluation") > 5))
    )
    cut = (pl.col("problem") == "p0") & (pl.col("optimizer") == "RandomSearch")  # it did not come to its end there
    short = short.with_columns(ended=pl.when(cut).then(pl.lit("interrupted")).otherwise(pl.lit("done")))
    last = scored(short, tmp_path, "a", metric="value").leaderboard()
    without = scored(rows.filter(pl.col("problem") != "p0"), tmp_path, "b", metric="value").leaderboard()
    of = lambda board: board.filter(pl.col("optimizer") == "Better")["mean_normed"].item()  # noqa: E731
    assert of(last) == pytest.approx(of(without))


def test_a_method_that_goes_further_changes_nobody_elses_score_when_the_frame_is_pinned(frame, tmp_path):
    short = frame.filter((pl.col("problem") != "p0") | (pl.col("evaluation") <= 10))
    first = scored(short, tmp_path, "a", metric="value")
    worse = table(np.random.default_rng(5), Worse=lambda p, u: 100 + u)
    more = scored(pl.concat([short, worse]), tmp_path, "b", metric="value", frame=first.pinned)
    assert more.summary.filter(pl.col("optimizer") != "Worse").equals(first.summary)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"bootstrap": 20}, "no random search to resample"),
        ({"mode": "bayesmark"}, "made in mode exact"),
        ({"axis": "evaluations"}, "the frame is by batches"),
    ],
)
def test_a_frame_that_does_not_fit_is_refused(frame, tmp_path, options, words):
    first = scored(frame, tmp_path, "a")
    with pytest.raises(OptarenaError, match=words):
        scored(frame, tmp_path, "b", frame=first.pinned, **options)


def test_a_frame_of_the_other_sense_is_refused(frame, tmp_path):
    first = scored(frame, tmp_path, "a")
    up = frame.with_columns(sense=pl.lit("max"))
    with pytest.raises(OptarenaError, match="maximised"):
        scored(up, tmp_path, "b", frame=first.pinned)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["iterations"].reverse(),
        lambda data: data["metrics"]["value"]["clip"].pop(),
        lambda data: data["metrics"]["value"]["problems"].__setitem__(1, "p0"),
        lambda data: data["metrics"]["value"]["best"].__setitem__(0, 1e9),
        lambda data: data["metrics"]["value"]["mean"].pop(),
    ],
)
def test_a_damaged_frame_is_refused(frame, tmp_path, change):
    data = scored(frame, tmp_path, "a").pinned.to_data()
    change(data)
    (tmp_path / "f.json").write_text(json.dumps(data))
    with pytest.raises(OptarenaError, match="is not a frame"):
        oa.open(tmp_path / "a").fixed_cost(frame=tmp_path / "f.json")


def test_names_that_look_like_numbers_survive_in_a_frame(frame, tmp_path, capsys):
    oa.from_frame(renamed(frame, "p", "a NaN, Infinity "), tmp_path / "s")
    assert main(["score", "s", "--save-frame", "f.json"]) == 0
    assert main(["score", "s", "--frame", "f.json"]) == 0


def test_a_constant_problem_of_a_given_baseline_is_left_out_too(tmp_path):
    golden = expected("c04_ties")["_visible_to_opt"]["baseline"]
    (tmp_path / "b.json").write_text(json.dumps(golden))
    results = store_of("cubes/c04_ties/input.csv.gz", tmp_path)
    own = results.fixed_cost(metric="value")
    given = results.fixed_cost(metric="value", frame=tmp_path / "b.json")
    assert {item["problem"] for item in given.excluded} == {item["problem"] for item in own.excluded} != set()


def test_studies_without_seconds_are_not_scored_by_seconds(frame, tmp_path):
    timed = frame.with_columns(
        seconds=pl.when(pl.col("optimizer") != "Same").then(pl.col("evaluation").cast(pl.Float64))
    )
    view = scored(timed, tmp_path, metric="value", axis="seconds")
    assert {item["reason"] for item in view.excluded} == {"it has no seconds"}
    assert {item["optimizer"] for item in view.excluded} == {"Same"}


def test_a_hidden_metric_that_cannot_be_scored_does_not_stop_the_others(frame, tmp_path):
    flat = frame.with_columns(pl.lit(1.0).alias("metric.flat"))
    view = scored(flat, tmp_path)
    assert view.metrics == ["value", "test"]
    assert any(item["metric"] == "flat" and item["problem"] is None for item in view.excluded)
    with pytest.raises(OptarenaError, match="flat"):
        oa.open(tmp_path / "s").fixed_cost(metric="flat")


def test_trials_that_end_early_are_said(frame, tmp_path):
    part = frame.filter(~((pl.col("optimizer") == "Same") & (pl.col("trial") > 2) & (pl.col("evaluation") > 9)))
    view = scored(part, tmp_path, metric="value")
    assert any("some trials end before the last iteration" in note for note in view.notes)


def test_instances_that_share_an_id_are_problems_of_their_own(frame, tmp_path):
    both = pl.concat(
        [
            frame.with_columns(instance=pl.lit(1), f_opt=pl.lit(0.0)),
            frame.with_columns(pl.col("value") + 1000, instance=pl.lit(2), f_opt=pl.lit(1000.0)),
        ]
    )
    view = scored(both, tmp_path, "a", metric="value")
    plain = scored(frame, tmp_path, "b", metric="value")
    assert len(view.problems) == 2 * len(plain.problems)
    np.testing.assert_allclose(view.summary["mean"], plain.summary["mean"], rtol=1e-4)


def test_an_empty_store_is_one_sentence(tmp_path, capsys):
    (tmp_path / "s" / "journal").mkdir(parents=True)
    (tmp_path / "s" / "runs").mkdir()
    assert "it is empty" in complaint(capsys, "s")


def test_batches_of_any_size_count_the_evaluations_that_were_made(tmp_path):
    rng = np.random.default_rng(0)
    sizes = [4, 1, 4, 1]
    rows = pl.DataFrame(
        [
            ("p", name, trial, batch, s, float(rng.random() * (0.1 if name == "A" else 1)))
            for name in ("RandomSearch", "A")
            for trial in range(4)
            for batch, size in enumerate(sizes)
            for s in range(size)
        ],
        schema=["problem", "optimizer", "trial", "batch", "suggestion", "value"],
        orient="row",
    )
    view = scored(rows, tmp_path, "a")
    by_evaluation = oa.open(tmp_path / "a").fixed_cost(axis="evaluations")
    for batch, made in enumerate(np.cumsum(sizes), 1):
        one = view.baseline.filter(pl.col("iteration") == batch)["mean"].item()
        assert one == pytest.approx(by_evaluation.baseline.filter(pl.col("iteration") == made)["mean"].item())
    assert any("batches differ in size" in note for note in view.notes)


def test_values_beyond_what_floats_reach_are_named(tmp_path):
    rows = pl.DataFrame(
        {
            "problem": "p",
            "optimizer": ["RandomSearch"] * 4 + ["A"],
            "trial": 0,
            "value": [1.7e308, 1.7e308, 1.6e308, 1.7e308, -1.7e308],
        }
    )
    with pytest.raises(OptarenaError, match="further apart"):
        scored(rows, tmp_path)


def test_the_frames_hash_does_not_depend_on_the_order_of_optimizers(frame, tmp_path):
    one = scored(frame, tmp_path, "a")
    other = scored(frame.sort("optimizer", descending=True, maintain_order=True), tmp_path, "b")
    assert one.frame["hash"] == other.frame["hash"]


ROOT = "0123456789abcdef0123456789abcdef"
STUCK = """
import optarena as oa
class Stuck(oa.Optimizer):
    "Suggests points that are not feasible."
    capabilities = oa.Capabilities(constraints=True)
    def suggest(self, n):
        return [{"x": 1.0}] * n
    def observe(self, X, y, violations=None):
        pass
"""


def test_a_study_that_found_nothing_scores_the_same_with_only_its_improvements(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("stuck.py").write_text(STUCK)

    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}}, constraints=1)
    def problem(x):
        return oa.Evaluation([x["x"]], violations=[x["x"] - 0.9])

    views = {}
    for record in ("all", "improvements"):
        plan = oa.Experiment(["RandomSearch", "stuck.py:Stuck"], [problem], 12, trials=2, record=record, seed=ROOT)
        results = plan.run(record, workers=0)
        views[record] = results.fixed_cost(axis="evaluations")
        assert set(results.studies["record"]) == {"all", record}
    assert views["improvements"].excluded == views["all"].excluded == []
    for table in ("problem", "summary", "baseline"):
        assert views["improvements"].table(table).equals(views["all"].table(table))
    last = views["improvements"].summary.filter(pl.col("optimizer") == "Stuck")
    assert last["mean"].to_list() == [1.0] * 12


@pytest.mark.parametrize("batch", [1, 4])
def test_minus_infinity_hides_nothing_that_comes_later(batch, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
    def problem(x):
        return -np.inf if 0.4 < x["x"] < 0.6 else x["x"]

    tables = []
    for record in ("all", "improvements"):
        plan = oa.Experiment(
            ["RandomSearch", "QuasiRandom"], [problem], 40, trials=2, batch=batch, record=record, seed=ROOT
        )
        tables.append(plan.run(record, workers=0).fixed_cost().problem)
    assert tables[0].equals(tables[1])
