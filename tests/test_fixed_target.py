"""The fixed-target view: cocopp's figures, and what must hold for any data."""

from __future__ import annotations

import gzip
import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.views.fixed_target import (
    area_over_convergence_curve,
    data_profile,
    ecdf,
    ert,
    first_hits,
    penalised_average,
    performance_profile,
    rank_sum_test,
    restart_ecdf,
    restart_ecdfs,
    restart_quantile,
    restart_quantiles,
    runtimes,
    shifted_geometric_mean,
    simulated_restarts,
)
from optarena.views.fixed_target.ranksum import common_end, rank_sum_tests
from optarena.views.fixed_target.reference import runlength_targets

DATA = Path(__file__).parent / "data" / "coco_figures"
"""What cocopp 2.9.1 computed from runs of coco-experiment 2.8.2, and the runs."""
TARGETS = 10 ** np.arange(2, -8.2, -0.2)
STEP = (pl.col("target").log10() * 5).round(0).alias("step")


def figures(name: str) -> pl.DataFrame:
    path = DATA / name
    data = gzip.decompress(path.read_bytes()) if name.endswith("gz") else path.read_bytes()
    return pl.read_csv(data, infer_schema_length=None)


def tidy(traces: pl.DataFrame, runs: pl.DataFrame, keys: list[str], **more) -> pl.DataFrame:
    """The runs as a tidy table: df = f - f_opt, so the optimum is 0."""
    rows = traces.join(runs.select(*keys, "maxevals"), on=keys, how="left")
    return rows.select(
        problem=pl.format("bbob/f{}/d{}/i{}", "function", "dim", "instance"),
        suite=pl.lit("bbob"),
        function=pl.format("f{}", "function"),
        dimension="dim",
        instance="instance",
        evaluation="evals",
        value=pl.col("df").cast(pl.Float64),
        f_opt=pl.lit(0.0),
        budget="maxevals",
        evaluations="maxevals",
        record=pl.lit("improvements"),
        **more,
    )


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    rows = tidy(
        figures("traces.csv.gz"),
        figures("runs.csv"),
        ["algorithm", "function", "dim", "run", "instance"],
        optimizer="algorithm",
        trial=pl.lit(0),
    )
    return oa.from_frame(rows, tmp_path_factory.mktemp("coco") / "store")


def test_ert_successes_and_medians_equal_cocopps(store):
    golden = figures("ert_ps.csv.gz").with_columns(STEP, function=pl.format("f{}", "function"))
    ours = store.fixed_target(mode="coco").ert.with_columns(STEP)
    both = golden.join(
        ours, left_on=["algorithm", "function", "dim", "step"], right_on=["optimizer", "function", "dimension", "step"]
    )
    assert both.height == golden.height
    assert (both["nsucc"] == both["n_success"]).all()
    assert (both["nruns"] == both["n_runs"]).all()
    found = both.filter(pl.col("nsucc") > 0)
    np.testing.assert_allclose(found["ert_right"], found["ert"].cast(pl.Float64), rtol=1e-12)
    assert np.isinf(both.filter(pl.col("nsucc") == 0)["ert_right"].to_numpy()).all()
    medians = both["median_evals"].cast(pl.Float64).fill_null(np.inf).to_numpy()
    np.testing.assert_array_equal(both["median"].to_numpy(), medians)


def test_ecdfs_with_and_without_restarts_equal_the_exact_ones(store):
    golden = figures("ecdf.csv.gz").with_columns(
        function=pl.format("f{}", "function"), effort=pl.col("budget_div_dim").cast(pl.Float64)
    )
    both = golden.join(
        store.fixed_target(bootstrap=0).ecdf,
        left_on=["algorithm", "function", "dim", "effort"],
        right_on=["optimizer", "group", "dimension", "effort"],
    )
    assert both.height == golden.height
    np.testing.assert_allclose(both["fraction"], both["ecdf_simrestart_exact"], atol=1e-9)
    np.testing.assert_allclose(both["fraction_no_restarts"], both["ecdf_no_restarts"], atol=1e-12)
    sampled = (both["fraction"] - both["ecdf_simrestart_mc"]).abs()
    assert sampled.max() < 0.001  # what cocopp's 6000 draws a target may be off


def test_unbalanced_instances_count_the_same_in_mode_coco(tmp_path):
    runs = figures("unbalanced_runs.csv")
    rows = tidy(
        figures("unbalanced_traces.csv.gz"),
        runs,
        ["function", "dim", "run", "instance"],
        optimizer=pl.lit("A"),
        trial="run",
    )
    results = oa.from_frame(rows, tmp_path / "s")
    golden = figures("unbalanced_ert_ps.csv.gz").with_columns(STEP, function=pl.format("f{}", "function"))
    golden = golden.filter(pl.col("balance").cast(pl.String).str.to_lowercase() == "true")
    targets = golden["target"].unique().to_list()
    ours = results.fixed_target(mode="coco", targets=targets).ert.with_columns(STEP)
    both = golden.join(ours, left_on=["function", "dim", "step"], right_on=["function", "dimension", "step"])
    assert both.height == golden.height
    assert (both["nruns"] == both["n_runs"]).all()
    found = both.filter(pl.col("nsucc") > 0)
    np.testing.assert_allclose(found["ert_right"], found["ert"].cast(pl.Float64), rtol=1e-12)


def test_the_rank_sum_test_equals_cocopps(store):
    golden = figures("ranksum.csv.gz").with_columns(function=pl.format("f{}", "function"))
    wanted = golden["target"].unique().to_list()
    ours = store.fixed_target(mode="coco", targets=wanted, bootstrap=0).table("ranksum").with_columns(STEP)
    swapped = ours.with_columns(optimizer="other", other="optimizer", z=-pl.col("z"))
    both = golden.with_columns(STEP).join(
        pl.concat([ours, swapped]),
        left_on=["alg0", "alg1", "function", "dim", "step"],
        right_on=["optimizer", "other", "function", "dimension", "step"],
    )
    assert both.height == golden.height
    # not to be had from traces that are recorded by targets: CMA against NM on f8 in 5-D for 0.1 and less
    sure = both.filter(~((pl.col("function") == "f8") & (pl.col("dim") == 5) & (pl.col("target") <= 0.1)))
    np.testing.assert_allclose(sure["z_right"], sure["z"], rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sure["p_right"], sure["p"], atol=2e-9)  # its normal distribution is an approximation


def test_run_length_targets_of_mode_coco_are_cocopps():
    for row in figures("runlength_targets_best2009.csv.gz").iter_rows():
        ours = runlength_targets("bbob", f"f{row[0]}", row[1], np.array([0.5, 1.2, 3, 10, 50]), "coco")
        np.testing.assert_array_equal(ours, row[2:])


def test_run_length_targets_are_the_last_that_the_reference_reaches_in_time():
    (target,) = runlength_targets("bbob", "f8", 5, np.array([68.8]))  # ERT 344 at 0.063, 350 or more beyond
    assert target == pytest.approx(0.0631, rel=1e-2)
    assert runlength_targets("bbob", "f8", 7, np.array([1.0])) is None


# ---- identities ------------------------------------------------------------------------------------------------------

times = st.lists(st.one_of(st.integers(1, 50).map(float), st.just(np.inf)), min_size=1, max_size=8)


@given(times, st.data())
def test_ert_is_the_successes_mean_and_the_failures_share(hits, data):
    hits = np.array(hits)
    spent = np.array([h if np.isfinite(h) else data.draw(st.integers(1, 60)) for h in hits], dtype=float)
    good = np.isfinite(hits)
    value = ert(hits, spent)
    if not good.any():
        assert value == np.inf
        return
    p = good.mean()
    failures = spent[~good].mean() if (~good).any() else 0.0
    assert value == pytest.approx(hits[good].mean() + (1 - p) / p * failures)


def test_ert_charges_each_failure_its_own_budget():
    assert ert([10.0, np.inf, np.inf], [10, 5, 100]) == 115.0


@settings(max_examples=60)
@given(times, st.data())
def test_the_restart_distribution_satisfies_its_own_equation(hits, data):
    hits = np.array(hits)
    spent = np.array([h if np.isfinite(h) else data.draw(st.integers(3, 30)) for h in hits], dtype=float)
    x = np.arange(0.0, 121.0)
    value = restart_ecdf(hits, spent, x)
    assert (np.diff(value) >= -1e-12).all()
    assert ((value >= 0) & (value <= 1 + 1e-12)).all()
    fails = spent[~np.isfinite(hits)]
    lookup = lambda at: np.where(at >= 0, np.interp(at, x, value), 0.0)  # noqa: E731 (whole numbers: no interpolation)
    again = (np.sum(hits[:, None] <= x[None, :], axis=0) + sum(lookup(x - u) for u in fails)) / len(hits)
    np.testing.assert_allclose(value, again, atol=1e-12)
    if np.isfinite(hits).any():
        assert restart_ecdf(hits, spent, [1e6])[0] == pytest.approx(1, abs=1e-6)


def test_the_restart_distribution_is_that_of_sampled_restarts():
    hits, spent = np.array([30.0, np.inf, 12.0, np.inf, np.inf]), np.array([30.0, 40.0, 12.0, 55.0, 7.0])
    x = np.array([12.0, 30.0, 50.0, 100.0, 300.0])
    drawn = simulated_restarts(hits, spent, 40_000, seed=3)
    np.testing.assert_allclose(restart_ecdf(hits, spent, x), ecdf(drawn, x), atol=0.012)
    for q in (0.1, 0.5, 0.9):
        at = restart_quantile(hits, spent, q)
        assert restart_ecdf(hits, spent, [at])[0] >= q - 1e-9
        assert restart_ecdf(hits, spent, [at - 0.5])[0] < q
    assert (drawn == simulated_restarts(hits, spent, 40_000, seed=3)).all()
    assert np.mean(drawn) == pytest.approx(ert(hits, spent), rel=0.02)


def test_a_failure_that_spent_nothing_leaves_the_draw():
    assert restart_ecdf([5.0, np.inf], [5.0, 0.0], [4.0, 5.0]).tolist() == [0.0, 1.0]


def test_too_many_jumps_are_refused_by_the_function_and_sampled_by_the_view():
    rng = np.random.default_rng(0)
    hits = np.where(np.arange(40) == 0, 1e5, np.inf)
    with pytest.raises(OptarenaError, match="jumps"):
        restart_ecdf(hits, rng.uniform(1, 2, 40), [1e6])


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=30), st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=8))
def test_a_runtime_counts_the_evaluation_that_hits(values, targets):
    hits = runtimes(values, targets)
    for target, hit in zip(targets, hits, strict=True):
        first = next((i for i, v in enumerate(values, 1) if v <= target + 1e-9 * abs(target)), np.inf)
        assert hit == first


def test_runs_laid_end_to_end_are_scored_one_by_one():
    rng = np.random.default_rng(0)
    lengths = [3, 0, 7, 1, 0]
    values, effort = rng.lognormal(0, 4, 11), np.concatenate([np.cumsum(rng.random(n)) for n in lengths])
    offsets = np.concatenate(([0], np.cumsum(lengths)))
    together = first_hits(values, effort, offsets, TARGETS)
    for i, (a, b) in enumerate(pairwise(offsets)):
        np.testing.assert_array_equal(together[i], runtimes((effort[a:b], values[a:b]), TARGETS))


def test_scaling_values_and_targets_changes_nothing(store, tmp_path):
    part = store.filter(problem="bbob/f1/d2/*", optimizer=["CMA", "NM"])
    rows = tidy(
        figures("traces.csv.gz").filter(
            (pl.col("function") == 1) & (pl.col("dim") == 2) & (pl.col("algorithm") != "RS")
        ),
        figures("runs.csv"),
        ["algorithm", "function", "dim", "run", "instance"],
        optimizer="algorithm",
        trial=pl.lit(0),
    ).with_columns(pl.col("value") * 1024)
    scaled = oa.from_frame(rows, tmp_path / "s").fixed_target(targets=[1024.0, 1.0])
    plain = part.fixed_target(targets=[1.0, 1 / 1024])
    for column in ("ert", "n_success", "ert_lb", "ert_ub", "median"):
        assert (scaled.ert[column] == plain.ert[column]).all()


def test_the_background_of_an_ecdf_counts_the_targets_that_the_ert_of_the_reference_reaches(store):
    view = store.fixed_target(bootstrap=0)
    part = view.ecdf.filter(group="f1", dimension=2).sort("optimizer", "effort")
    erts = view.table("reference").filter(function="f1", dimension=2)
    for row in part.iter_rows(named=True):
        for name in ("best_of_store", "best_2009"):
            assert row[name] == pytest.approx((erts[name] / 2 <= row["effort"] * (1 + 1e-9)).mean())
    other = store.fixed_target(targets=[0.3], bootstrap=0)  # not on the grid of best 2009
    assert other.ecdf["best_2009"].is_null().all()
    assert other.ecdf["best_of_store"].is_not_null().all()


def test_ecdfs_rise_from_0_to_1_with_restarts_and_to_the_success_rate_without(store):
    view = store.fixed_target(bootstrap=0)
    for _, part in view.ecdf.group_by("optimizer", "group", "dimension"):
        for column in ("fraction", "fraction_no_restarts"):
            values = part.sort("effort")[column].to_numpy()
            assert (np.diff(values) >= -1e-12).all()
            assert values[0] >= 0
            assert values[-1] <= 1 + 1e-12
    last = view.ecdf.filter((pl.col("group") == "f1") & (pl.col("dimension") == 2)).sort("effort")
    rates = view.ert.filter((pl.col("function") == "f1") & (pl.col("dimension") == 2))
    for name in ("RS", "NM", "CMA"):
        end = last.filter(pl.col("optimizer") == name)["fraction_no_restarts"][-1]
        assert end == pytest.approx(rates.filter(pl.col("optimizer") == name)["success_rate"].mean())


def test_an_interval_of_the_ert_holds_the_ert(store):
    table = store.fixed_target().ert
    assert (table["ert_lb"] <= table["ert"]).all()
    assert (table["ert_ub"] >= table["ert"]).all()


def test_loss_is_against_best_2009_on_bbob(store):
    table = store.fixed_target(bootstrap=0).ert
    row = table.filter((pl.col("function") == "f8") & (pl.col("dimension") == 5) & (pl.col("optimizer") == "CMA")).row(
        0, named=True
    )
    assert row["reference"] == "best 2009"
    assert row["loss"] == pytest.approx(row["ert"] / 44)


# ---- profiles --------------------------------------------------------------------------------------------------------


def test_a_performance_profile_counts_problems_within_a_factor_of_the_best():
    profile = performance_profile([[1.0, 2.0], [4.0, 1.0], [np.inf, 3.0], [np.inf, np.inf]], [1, 2, 4])
    np.testing.assert_array_equal(profile, [[0.25, 0.25, 0.5], [0.5, 0.75, 0.75]])


def test_a_data_profile_counts_in_simplex_gradients():
    profile = data_profile([[6.0, 3.0], [12.0, np.inf]], [2, 5], [1, 2])
    np.testing.assert_array_equal(profile, [[0.0, 1.0], [0.5, 0.5]])


def test_the_area_over_the_convergence_curve_is_1_at_best_and_0_at_worst():
    offsets = np.array([0, 1, 2, 4])
    area = area_over_convergence_curve(
        np.array([1e-9, 1e5, 1e2, 1e-3]), np.array([1.0, 1.0, 1.0, 6.0]), offsets, [10, 10, 10]
    )
    np.testing.assert_allclose(area, [1.0, 0.0, 0.5 * 5 / 10])


def test_quantiles_with_restarts_are_where_the_exact_distribution_reaches_them():
    rng = np.random.default_rng(12)
    levels = [0.1, 0.25, 0.5, 0.75, 0.9]
    for _ in range(100):
        runs = int(rng.integers(2, 9))
        times = rng.integers(1, 40, (runs, 3)).astype(float)
        failed = rng.random(runs) < 0.5
        failed[rng.integers(runs)] = False
        times[failed] = np.inf
        spent = np.where(failed, rng.integers(1, 60, runs), 1000).astype(float)
        for column, found in zip(times.T, restart_quantiles(times, spent, levels), strict=True):
            for level, x in zip(levels, found.tolist(), strict=True):
                before, at = restart_ecdf(column, spent, [x - 1, x])
                assert before < level - 1e-12 <= at


def test_means_of_times():
    assert shifted_geometric_mean([10.0, 10.0]) == pytest.approx(10)
    assert penalised_average([5.0, np.inf], [100, 100], k=10) == pytest.approx(502.5)


def test_the_rank_sum_test_where_nobody_succeeded_goes_to_the_better_one_only_if_it_spent_less():
    """As cocopp has it: with equal budgets nothing is shown."""
    nobody = (np.array([np.inf, np.inf]), np.array([np.inf, np.inf]))
    assert common_end(list(nobody), [np.array([5.0, 7.0]), np.array([9.0, 9.0])]) == 5
    assert rank_sum_test(nobody, ([9, 9], [9, 9]), ([1.0, 2.0], [3.0, 4.0]))[1] == 1.0
    assert rank_sum_test(nobody, ([5, 7], [9, 9]), ([3.0, 4.0], [1.0, 2.0]))[1] == 1.0
    assert rank_sum_test(nobody, ([5, 7], [9, 9]), ([1.0, 2.0], [3.0, 4.0]))[1] == pytest.approx(0.121335, abs=1e-6)


# ---- the command -----------------------------------------------------------------------------------------------------


def test_json_has_the_tables_of_the_contract(store, capsys):
    assert main(["score", str(store.path), "--view", "fixed-target", "--targets", "1e1,1e-1", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["view"], data["mode"]) == ("fixed-target", "exact")
    keys = (
        *("optimizer", "suite", "function", "dimension", "target", "n_runs", "n_success", "success_rate"),
        *("ert", "ert_lb", "ert_ub", "rt_success", "rt_failure", "median"),
    )
    assert set(keys) <= set(data["tables"]["ert"][0])
    assert {"optimizer", "group", "dimension", "effort", "fraction"} <= set(data["tables"]["ecdf"][0])
    assert {"precision", "profiles"} <= set(data["tables"])
    assert any(row["ert"] == "inf" and row["rt_success"] is None for row in data["tables"]["ert"])


@pytest.mark.parametrize("format", ["table", "csv", "latex", "html"])
def test_other_formats(store, capsys, format):
    assert main(["score", str(store.path), "--view", "fixed-target", "-d", "2", "--format", format]) == 0
    assert "CMA" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--targets", "x"], "numbers with commas"),
        (["--targets", "runlenght:1"], "Did you mean 'runlength'?"),
        (["--targets", "1e-9", "--mode", "coco"], "harder targets"),
        (["--mode", "bayesmark"], "mode must be one of"),
        (["--metric", "value"], "not an option of the fixed-target view"),
        (["--budget", "0"], "more than 0"),
        (["--frame", "nowhere"], "nowhere"),
    ],
)
def test_a_bad_call_is_one_sentence(store, capsys, options, words):
    assert main(["score", str(store.path), "--view", "fixed-target", *options]) == 2
    assert words in capsys.readouterr().err


def test_a_budget_cuts_runs_off(store):
    view = store.fixed_target(targets=[1e1], budget=10, bootstrap=0)
    assert view.ert["n_success"].sum() < store.fixed_target(targets=[1e1], bootstrap=0).ert["n_success"].sum()
    assert view.ert.filter(pl.col("n_success") > 0)["rt_success"].max() <= 10 * 10


def test_without_a_known_optimum_targets_lie_between_random_search_and_the_best(tmp_path):
    rng = np.random.default_rng(0)
    rows = pl.DataFrame(
        {
            "problem": np.repeat(["a", "b"], 60),
            "optimizer": np.tile(np.repeat(["RandomSearch", "Better"], 30), 2),
            "trial": np.tile(np.repeat([0, 1, 2], 10), 4),
            "value": rng.random(120) + 50,
        }
    )
    rows = rows.with_columns(
        value=pl.when(pl.col("optimizer") == "Better").then(50 + (pl.col("value") - 50) / 100).otherwise("value")
    )
    results = oa.from_frame(rows, tmp_path / "s")
    view = results.fixed_target()
    assert any("no optimum is known of 2 problems" in note for note in view.notes)
    assert "best of the store" in view.frame["optimum"]
    better = view.ert.filter((pl.col("optimizer") == "Better") & (pl.col("target") <= 1e-2))
    assert better["n_success"].sum() > 0
    affine = oa.from_frame(rows.with_columns(pl.col("value") * 8 - 3), tmp_path / "t").fixed_target()
    assert (affine.ert["n_success"] == view.ert["n_success"]).all()
    assert results.fixed_target(frame=view.pinned).ert.equals(view.ert)


def test_a_saved_frame_pins_levels_and_targets(store, tmp_path, capsys):
    path = str(tmp_path / "f.json")
    base = ["score", str(store.path), "--view", "fixed-target", "--format", "csv"]
    assert main([*base, "--targets", "1,0.1", "--save-frame", path]) == 0
    first = capsys.readouterr().out
    assert main([*base, "--frame", path]) == 0
    assert capsys.readouterr().out == first


def test_runtimes_on_noisy_problems_are_to_the_noise_free_value(tmp_path):
    rows = pl.DataFrame(
        {
            "problem": "noisy",
            "optimizer": "A",
            "trial": 0,
            "value": [0.001, 5.0, 0.5],
            "metric.noise_free": [4.0, 4.5, 0.05],
            "f_opt": 0.0,
        }
    )
    view = oa.from_frame(rows, tmp_path / "s").fixed_target(targets=[4.0, 0.1], bootstrap=0)
    assert view.ert["ert"].to_list() == [1.0, 3.0]


# ---- what counts in the place of the value ---------------------------------------------------------------------------


def single(rows, path, **columns):
    """One study of one problem: a value a row."""
    frame = pl.DataFrame(rows).with_columns(problem=pl.lit("p"), optimizer=pl.lit("A"), **columns)
    return oa.from_frame(frame, path)


def test_a_budget_cuts_precision_and_profiles_off_too(tmp_path):
    results = single({"value": [10.0, 1.0, 1e-9], "f_opt": 0.0, "dimension": 1}, tmp_path / "s")
    view = results.fixed_target(targets=[1.0], budget=2, bootstrap=0)
    end = view.table("precision").filter((pl.col("panel") == "end") & (pl.col("of") == 1e-8))
    assert end.filter(pl.col("ratio") < 1e7)["fraction"].sum() == 0
    later = view.table("precision").filter((pl.col("panel") == "budget") & (pl.col("of") == 10) & (pl.col("ratio") < 2))
    assert later["fraction"].sum() == 0


def test_the_area_over_the_curve_in_seconds_counts_from_the_value_on(tmp_path):
    rows = {"value": [1e2, 1e-8], "seconds": [0.25, 0.5], "f_opt": 0.0, "budget": 2}
    view = single(rows, tmp_path / "s").fixed_target(axis="seconds", bootstrap=0, budget=1.0)
    assert view.table("aocc")["aocc"].to_list() == [0.0]  # it ends as it becomes precise
    two = single({"value": [1e-8, 1.0], "seconds": [0.25, 0.5], "f_opt": 0.0}, tmp_path / "t")
    assert two.fixed_target(axis="seconds", bootstrap=0).table("aocc")["aocc"].to_list() == [0.5]


def test_a_failure_is_charged_the_seconds_after_its_last_improvement(tmp_path):
    experiment = oa.Experiment("QuasiRandom", "bbob/f1/d2/i1", 200, record="improvements")
    results = experiment.run(tmp_path / "s", workers=0)
    (row,) = results.studies.to_dicts()
    view = results.fixed_target(targets=[1e-30], axis="seconds", bootstrap=0)
    spent = row["suggest_seconds"] + row["evaluate_seconds"] + row["observe_seconds"]
    assert view.ert["rt_failure"].to_list() == pytest.approx([spent])
    batches = results.fixed_target(targets=[1e-30], axis="batches", bootstrap=0)
    assert batches.ert["rt_failure"].to_list() == [200.0]


def test_absolute_targets_are_not_parts_where_no_optimum_is_known(tmp_path):
    results = single({"value": [500.0, 150.0, 100.0]}, tmp_path / "s")
    view = results.fixed_target(targets=[60.0, 1.0], bootstrap=0)
    assert view.ert["ert"].to_list() == [2.0, 3.0]
    assert "the best value in the store is used instead" in view.notes[0]
    assert results.fixed_target(targets="relative:0.125", bootstrap=0).ert["ert"].to_list() == [2.0]


def test_runs_without_an_optimum_take_that_of_the_others(tmp_path):
    oa.from_frame(pl.DataFrame({"problem": "p", "optimizer": "A", "value": [3.0, 2.5], "f_opt": 2.0}), tmp_path / "s")
    results = oa.from_frame(pl.DataFrame({"problem": "p", "optimizer": "B", "value": [9.0, 2.25]}), tmp_path / "s")
    view = results.fixed_target(targets=[0.5], bootstrap=0)
    assert view.frame["optimum"] == "known"
    assert view.ert["ert"].to_list() == [2.0, 2.0]


def test_constrained_problems_of_coco_score_what_its_logger_writes(tmp_path):
    rows = {"value": [-5.0, 3.0, 2.5], "violation.1": [0.25, -1.0, 0.5], "violation.2": [-2.0, -3.0, 0.5]}
    coco = single(rows, tmp_path / "s", suite=pl.lit("bbob-constrained"), f_opt=pl.lit(2.0), function=pl.lit("f1"))
    # max(f - f_opt, 0) + what is violated: 0.25, 1, 1.5
    assert coco.fixed_target(targets=[1.0, 0.25], bootstrap=0).ert["ert"].to_list() == [1.0, 1.0]
    other = single(rows, tmp_path / "t", f_opt=pl.lit(2.0))
    assert other.fixed_target(targets=[1.0, 0.25], bootstrap=0).ert["ert"].to_list() == [2.0, float("inf")]


def test_improvements_of_what_was_seen_are_not_those_that_count(tmp_path):
    rows = {"value": [-5.0, 3.0], "violation.1": [0.25, -1.0], "record": "improvements", "budget": 5}
    results = single(rows, tmp_path / "s", suite=pl.lit("bbob-constrained"), f_opt=pl.lit(2.0))
    with pytest.raises(OptarenaError, match="only its improvements were recorded"):
        results.fixed_target()


def test_bi_objective_indicators_score_as_cocopp_scores_them(tmp_path):
    keys = ["algorithm", "function", "dim", "instance"]
    folder = DATA.parent / "coco"
    traces, runs = (
        pl.read_csv(gzip.decompress((folder / f"biobj_{n}.csv.gz").read_bytes())) for n in ("traces", "runs")
    )
    rows = traces.join(runs.select(*keys, "maxevals"), on=keys).select(
        problem=pl.format("bbob-biobj/f{}/d{}/i{}", "function", "dim", "instance"),
        suite=pl.lit("bbob-biobj"),
        function=pl.format("f{}", "function"),
        dimension="dim",
        instance="instance",
        evaluation="evals",
        optimizer="algorithm",
        evaluations="maxevals",
        record=pl.lit("improvements"),
        f_opt=pl.lit(0.0),
        **{"f.indicator": "indicator"},
    )
    late = rows.filter(pl.col("instance") == 1).with_columns(
        instance=pl.lit(11), problem=pl.format("bbob-biobj/{}/d{}/i11", "function", "dimension")
    )
    view = oa.from_frame(pl.concat([rows, late], how="vertical_relaxed"), tmp_path / "s").fixed_target(
        mode="coco", bootstrap=0
    )
    assert {"cocopp counts instances 1 to 10" in row["reason"] for row in view.excluded} == {True}
    golden = pl.read_csv(gzip.decompress((DATA / "biobj_ert_ps.csv.gz").read_bytes()), infer_schema_length=None)
    golden = golden.with_columns(pl.format("f{}", "function").alias("function"))
    ours = view.ert.sort("function", "dimension", "target", descending=[False, False, True])
    theirs = golden.sort("function", "dim", "target", descending=[False, False, True])
    assert ours.height == theirs.height == len(golden.unique(["function", "dim"])) * 58
    assert ours["target"].to_list() == pytest.approx(theirs["target"].to_list(), rel=1e-12)
    assert ours["n_success"].to_list() == theirs["nsucc"].to_list()
    assert ours["ert"].to_list() == pytest.approx(theirs["ert"].cast(pl.Float64).to_list(), rel=1e-12)


def test_our_own_bi_objective_runs_score_by_the_indicator(tmp_path):
    results = oa.Experiment("RandomSearch", "bbob-biobj/f1/d2/i1", 300).run(tmp_path / "s", workers=0)
    view = results.fixed_target(mode="coco", bootstrap=0)
    assert view.ert.height == 58
    assert view.frame["precision"] == "reference - hypervolume"
    oa.Experiment("RandomSearch", "bbob/f1/d2/i1", 30).run(tmp_path / "s", workers=0)
    both = oa.open(tmp_path / "s").fixed_target(bootstrap=0)
    assert both.ert.group_by("suite").len().sort("suite").rows() == [("bbob", 51), ("bbob-biobj", 58)]
    assert {"bbob/f1", "bbob-biobj/f1", "all"} <= set(both.ecdf["group"])


@given(st.integers(1, 6), st.integers(0, 6), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_many_targets_at_once_have_the_restart_distribution_of_each(wins, fails, seed):
    rng = np.random.default_rng(seed)
    times = np.concatenate((rng.integers(1, 30, wins).astype(float), np.full(fails, np.inf)))[:, None]
    spent = np.concatenate((rng.integers(30, 60, wins), np.full(fails, 30))).astype(float)
    x = np.arange(0, 200, 0.5)
    assert restart_ecdfs(times, spent, x)[0] == pytest.approx(restart_ecdf(times[:, 0], spent, x), abs=1e-9)
    q = (0.1, 0.25, 0.5, 0.75, 0.9)
    assert restart_quantiles(times, spent, q)[0].tolist() == [restart_quantile(times[:, 0], spent, p) for p in q]


@given(st.integers(1, 4), st.integers(1, 4), st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_restarts_after_unequal_failures_are_those_of_any_unit_of_effort(wins, fails, seed):
    rng = np.random.default_rng(seed)
    spent = rng.integers(5, 60, wins + fails).astype(float)
    times = np.where(np.arange(wins + fails) < wins, np.ceil(spent * rng.uniform(0.1, 1, wins + fails)), np.inf)
    x, unit = np.arange(0.5, 200), 1 / 3
    # whole efforts go through a recursion on whole numbers, others through all sums of failures
    parts = restart_ecdf(times * unit, spent * unit, x * unit)
    np.testing.assert_allclose(restart_ecdf(times, spent, x), parts, atol=1e-9)
    both = restart_ecdfs(np.column_stack((times, times + 1)), spent, x)
    np.testing.assert_array_equal(both[0], restart_ecdf(times, spent, x))
    assert restart_quantile(times, spent, 0.5) * unit == pytest.approx(
        restart_quantile(times * unit, spent * unit, 0.5)
    )


def test_a_failure_after_one_evaluation_leaves_restarts_exact():
    hits, spent = np.array([900.0, np.inf, np.inf, np.inf]), np.array([900.0, 1.0, 700.0, 333.0])
    x = np.array([899.0, 900.0, 5e3, 1e5])
    drawn = simulated_restarts(hits, spent, 40_000)
    np.testing.assert_allclose(restart_ecdf(hits, spent, x), ecdf(drawn, x), atol=0.012)


def test_draws_of_many_targets_are_those_of_each():
    hits = np.array([[3.0, 9.0, np.inf], [5.0, np.inf, np.inf], [np.inf, np.inf, np.inf], [np.inf, np.inf, np.inf]])
    spent = np.array([12.0, 7.0, 20.0, 0.0])
    many = simulated_restarts(hits, spent, 200, seed=5)
    assert many.shape == (3, 200)
    for t in range(3):
        np.testing.assert_array_equal(many[t], simulated_restarts(hits[:, t], spent, 200, seed=5))


def test_the_rank_sum_test_of_many_problems_is_that_of_each():
    rng = np.random.default_rng(3)
    spent = (rng.integers(20, 40, (5, 6)).astype(float), rng.integers(20, 40, (7, 6)).astype(float))
    hits = tuple(np.where(rng.random((*b.shape, 4)) < 0.5, np.ceil(b[:, :, None] * 0.7), np.inf) for b in spent)
    reached = tuple(rng.random(t.shape) for t in hits)
    z, p = rank_sum_tests(hits, spent, reached)
    for c, t in np.ndindex(6, 4):
        one = rank_sum_test(
            *(tuple(x[:, c, t] if x.ndim == 3 else x[:, c] for x in two) for two in (hits, spent, reached))
        )
        assert (z[c, t], p[c, t]) == pytest.approx(one)


def test_percentiles_are_computed_or_say_that_they_are_sampled(store):
    table = store.fixed_target(targets=[1e1, 1e-1], bootstrap=0).table("percentiles")
    assert {"p10", "p25", "p50", "p75", "p90", "sampled"} <= set(table.columns)
    ordered = table.filter(pl.col("p90").is_finite())
    assert (ordered["p10"] <= ordered["p50"]).all()
    assert (ordered["p50"] <= ordered["p90"]).all()


def test_a_frame_of_differences_does_not_shift_what_has_values(tmp_path):
    rows = pl.DataFrame({"problem": "p", "optimizer": "A", "value": [9.0, 5.5], "f_opt": 5.0})
    results = oa.from_frame(rows, tmp_path / "s")
    pinned = {"view": "fixed-target", "targets": {"kind": "default", "values": []}, "optimizers": ["A"]}
    frame = {**results.fixed_target(bootstrap=0).pinned, **pinned, "levels": {"p": [None, 1.0]}}
    view = results.fixed_target(targets=[0.5], frame=frame, bootstrap=0)
    assert view.ert["ert"].to_list() == [2.0]


def test_pure_functions_take_lists_and_single_numbers():
    inf = float("inf")
    assert runtimes((5.0, 0.5, 2.0), [1.0, 0.1]).tolist() == [2.0, inf]
    assert runtimes([5.0, 0.5], 1.0) == 2.0
    assert runtimes(([3, 8], [5.0, 0.5]), 1.0) == 8.0
    assert restart_ecdf([2, inf], 10, 12) == 0.75
    assert ecdf([2, inf], 2) == 0.5
    assert performance_profile([[1, 2], [inf, 3]], 2).tolist() == [0.5, 1.0]
    assert data_profile([[3, 6], [inf, 3]], 2, 2).tolist() == [0.5, 1.0]


def test_scores_of_areas_on_seconds_are_those_of_the_table(tmp_path):
    rows = {"value": [1e2, 1e-8], "seconds": [0.1, 0.3], "f_opt": 0.0, "budget": 2}
    view = single(rows, tmp_path / "s").fixed_target(axis="seconds", bootstrap=0)
    assert 1 - view.scores("aocc").means[0, 0] == pytest.approx(view.table("aocc")["aocc"].item())


def test_one_run_has_no_interval(tmp_path):
    view = single({"value": [3.0, 0.5], "f_opt": 0.0}, tmp_path / "s").fixed_target(targets=[1.0])
    assert view.ert.select("ert", "ert_lb", "ert_ub").row(0) == (2.0, None, None)
