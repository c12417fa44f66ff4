"""Section 0 of docs/scores.md: failures are scored, optimizers are compared on common problems, equal values tie."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.views import answering
from optarena.views._scores import Scores

INF, NAN = np.inf, np.nan


def scores(values, optimum=None, **more) -> Scores:
    cube = np.array(values, dtype=float)
    names = [f"p{i}" for i in range(len(cube))]
    return Scores(
        "v", "m", "what", names, [f"o{i}" for i in range(cube.shape[1])], cube, [None] * len(cube),
        optimum=np.full(len(cube), NAN) if optimum is None else np.array(optimum, dtype=float), **more,
    )  # fmt: skip


def study(optimizer, problem, trial, values, *, ended="done", **more) -> list[dict]:
    """Rows of one study; None is a failed evaluation; without values one row says how it ended."""
    base = {"optimizer": optimizer, "problem": problem, "trial": trial, "ended": ended, "record": "all", **more}
    if not values:
        return [{**base, "evaluation": None, "value": None, "status": "crashed"}]
    return [
        {**base, "evaluation": k, "value": value, "status": "error" if value is None else None}
        for k, value in enumerate(values, 1)
    ]


def store(path, rows) -> oa.Results:
    oa.from_frame(pl.DataFrame(rows, infer_schema_length=None), path)
    return oa.open(path)


# ---- equal values ----------------------------------------------------------------------------------------------------


def test_ranks_are_dense_within_each_problem_and_equal_values_share_one():
    ranked = scores([[[3.0, 1.0], [1.0, NAN]], [[5.0, INF], [INF, 5.0]]]).ranked()
    assert ranked[0].ravel().tolist()[:3] == [2, 1, 1]
    assert np.isnan(ranked[0, 1, 1])
    assert ranked[1].ravel().tolist() == [1, 2, 2, 1]


def test_values_are_equal_to_a_relative_1e_12():
    ranked = scores(
        [[[1.0, 1.0 + 9e-13, 1.0 + 3e-12]], [[1e9, 1e9 + 1e-4, 1e9 + 1e-2]], [[0.0, 1e-300, -1e-300]]]
    ).ranked()
    assert ranked[0, 0].tolist() == [1, 1, 2]
    assert ranked[1, 0].tolist() == [1, 1, 2]
    assert ranked[2, 0].tolist() == [2, 3, 1]


def test_values_within_1e_8_of_a_known_optimum_are_equal():
    value = [[[2.0, 2.0 + 9e-9, 2.0 - 9e-9, 2.0 + 2e-8]]]
    assert scores(value, [2.0]).ranked()[0, 0].tolist() == [1, 1, 1, 2]
    assert scores(value, [NAN]).ranked()[0, 0].tolist() == [2, 3, 1, 4]


def test_ranks_agree_with_pairwise_comparison():
    rng = np.random.default_rng(0)
    values = rng.integers(0, 4, (30, 3, 5)).astype(float)
    values[rng.random(values.shape) < 0.1] = INF
    values[rng.random(values.shape) < 0.1] = NAN
    made = scores(values)
    ranked = made.ranked()
    assert (np.isnan(ranked) == np.isnan(values)).all()
    for cube, ranks in zip(values, ranked, strict=True):
        less = cube.ravel()[:, None] < cube.ravel()[None, :]
        assert (less == (ranks.ravel()[:, None] < ranks.ravel()[None, :])).all()


@pytest.mark.parametrize("shape", [(0, 2, 3), (2, 2, 0), (2, 1, 1)])
def test_ranks_of_nothing_are_nothing(shape):
    assert scores(np.zeros(shape)).ranked().shape == shape


def test_choosing_problems_and_optimizers_keeps_functions_optima_and_scales():
    one = scores(
        [[[1.0], [2.0]], [[3.0], [NAN]], [[5.0], [6.0]]], [1, 2, 3],
        functions=["f", "f", "g"], scale=np.array([0.1, 0.2, 0.3]),
    ).of(["o1", "o0"]).complete()  # fmt: skip
    assert one.problems == ["p0", "p2"]
    assert one.functions == ["f", "g"]
    assert one.optimum.tolist() == [1, 3]
    assert one.scale.tolist() == [0.1, 0.3]


# ---- what orders trials ----------------------------------------------------------------------------------------------


def test_fixed_cost_orders_trials_by_the_value_at_the_end_of_the_budget(tmp_path):
    rows = [
        row
        for trial in range(2)
        for row in (
            *study("RandomSearch", "p", trial, [5.0, 3.0 + trial, 9.0], f_opt=1.0),
            *study("A", "p", trial, [4.0, None, 2.0 - trial], f_opt=1.0),
        )
    ]
    view = store(tmp_path / "s", rows).fixed_cost()
    trials = view.trial_scores()
    assert trials.values[0, trials.optimizers.index("RandomSearch")].tolist() == [3.0, 4.0]
    assert trials.values[0, trials.optimizers.index("A")].tolist() == [2.0, 1.0]
    assert trials.optimum.tolist() == [1.0]


def test_the_score_of_the_leaderboard_is_the_mean_over_the_scale(tmp_path):
    rng = np.random.default_rng(1)
    rows = [
        row
        for p in range(4)
        for trial in range(3)
        for o, name in enumerate(("RandomSearch", "A"))
        for row in study(name, f"p{p}", trial, (rng.random(10) / (1 + o)).tolist())
    ]
    view = store(tmp_path / "s", rows).fixed_cost()
    made = view.scores()
    expected = made.means.mean(axis=0) / made.scale.mean()
    board = dict(view.leaderboard().select("optimizer", "mean_normed").iter_rows())
    assert [board[name] for name in made.optimizers] == pytest.approx(expected.tolist())


def test_a_function_is_named_with_its_suite_and_a_problem_without_one_is_its_own(tmp_path):
    rows = []
    for instance in (1, 2):
        more = {"suite": "s", "function": "f", "instance": instance, "dimension": 2}
        rows += study("RandomSearch", f"s/f/i{instance}", 0, [3.0, 1.0, 4.0], **more)
    rows += study("RandomSearch", "alone", 0, [3.0, 1.0, 4.0], suite=None, function=None, instance=None, dimension=2)
    results = store(tmp_path / "s", rows)
    assert results.fixed_cost().trial_scores().functions == ["alone", "s/f", "s/f"]
    assert sorted(results.fixed_target().trial_scores().functions) == ["alone", "s/f"]


# ---- failures are scored ---------------------------------------------------------------------------------------------


def crashing(path, crashed: int = 3) -> oa.Results:
    """`Crashes` finds better values than random search, where it does not fail: in `crashed` of 4 trials it does."""
    rng = np.random.default_rng(3)
    rows = []
    for p in range(3):
        for trial in range(4):
            rows += study("RandomSearch", f"p{p}", trial, (1 + rng.random(10)).tolist())
            found = [] if trial < crashed else (0.5 + rng.random(10)).tolist()
            rows += study("Crashes", f"p{p}", trial, found, ended="done" if found else "failed")
    return store(path, rows)


def test_a_wrapper_that_crashed_in_most_studies_does_not_lead(tmp_path):
    view = crashing(tmp_path / "s").fixed_cost()
    board = view.leaderboard()
    assert board["optimizer"].to_list() == ["RandomSearch", "Crashes"]
    assert view.failed["Crashes"] == {"studies": 9, "of": 12, "evaluations": 0}
    assert view.notes[0] == "Crashes failed in 9 of 12 studies: 9 without any value, which count as the worst"
    last = view.problem.filter(pl.col("optimizer") == "Crashes", pl.col("iteration") == 10)
    assert last["n"].to_list() == [4, 4, 4]
    assert last["median"].to_list() == [INF] * 3, "without a value it is inf in medians"
    cube = view.trial_scores().values[:, view.optimizers.index("Crashes")]
    assert np.isinf(cube).sum() == 9
    assert not view.excluded


def test_in_bayesmarks_mode_such_studies_are_left_out_and_counted(tmp_path):
    view = crashing(tmp_path / "s").fixed_cost(mode="bayesmark")
    assert view.failed["Crashes"] == {"studies": 9, "of": 12, "evaluations": 0}
    assert view.notes[0] == (
        "Crashes failed in 9 of 12 studies: 9 without any value, of which 9 are left out, as in Bayesmark"
    )
    assert len(view.excluded) == 9


def test_an_optimizer_whose_every_evaluation_failed_is_last_everywhere(tmp_path):
    rng = np.random.default_rng(4)
    rows = []
    for p in range(2):
        for trial in range(3):
            rows += study("RandomSearch", f"p{p}", trial, rng.random(10).tolist())
            rows += study("Fails", f"p{p}", trial, [None] * 10)
    results = store(tmp_path / "s", rows)
    cost, target = results.fixed_cost(), results.fixed_target()
    assert cost.leaderboard()["optimizer"].to_list() == ["RandomSearch", "Fails"]
    for view in (cost, target, results.anytime(axis="evaluations")):
        assert view.failed["Fails"] == {"studies": 6, "of": 6, "evaluations": 60}
        assert "60 evaluations failed" in view.notes[0]
        trials = view.trial_scores()
        assert np.isinf(trials.values[:, trials.optimizers.index("Fails")]).all()
    ert = target.ert.filter(pl.col("optimizer") == "Fails")
    assert (ert["n_runs"] == 3).all()
    assert ert["ert"].is_infinite().all()


def test_a_study_that_did_not_end_and_has_no_value_is_missing_and_named(tmp_path):
    rows = []
    for trial in range(3):
        rows += study("RandomSearch", "p", trial, [3.0, 2.0 + trial, 5.0])
        rows += study(
            "A", "p", trial, [2.0, 1.0, 1.0] if trial else [None, None], ended=None if trial else "interrupted"
        )
    results = store(tmp_path / "s", rows)
    for view in (results.fixed_cost(), results.fixed_target(), results.anytime(axis="evaluations")):
        assert [item["reason"] for item in view.excluded] == ["it has no value yet (interrupted)"], view.name
        assert view.failed["A"]["of"] == 2
        assert view.failed["A"]["studies"] == 0


def test_a_failed_study_of_several_objectives_has_an_empty_front(tmp_path):
    rng = np.random.default_rng(5)
    rows = []
    for o in ("RandomSearch", "Crashes"):
        for trial in range(3):
            base = {"optimizer": o, "problem": "p", "trial": trial, "ended": "done", "record": "all"}
            if o == "Crashes" and trial:
                rows.append(
                    {**base, "ended": "failed", "evaluation": None, "f.a": None, "f.b": None, "status": "crashed"}
                )
                continue
            rows += [{**base, "evaluation": k, "f.a": rng.random(), "f.b": rng.random()} for k in range(1, 6)]
    view = store(tmp_path / "s", rows).pareto()
    assert view.failed["Crashes"] == {"studies": 2, "of": 3, "evaluations": 0}
    mine = view.table("studies").filter(pl.col("optimizer") == "Crashes").sort("trial")
    assert mine["hypervolume"].to_list()[1:] == [0.0, 0.0]
    assert mine["igd_plus"].to_list()[1:] == [INF, INF]
    trials = view.trial_scores()
    assert trials.values[0, trials.optimizers.index("Crashes")].tolist()[1:] == [INF, INF]
    assert trials.values[0, trials.optimizers.index("Crashes"), 0] == -mine["hypervolume_ratio"][0], "not 1 less it"


def test_a_failed_import_without_a_budget_counts_to_the_end_of_the_problem(tmp_path):
    rows = study("RandomSearch", "p", 0, [3.0, 2.0, 5.0, 1.0]) + study("A", "p", 0, [2.5], ended="failed")
    last = store(tmp_path / "s", rows).fixed_cost().problem.filter(pl.col("optimizer") == "A")
    assert last["median"].to_list() == [2.5] * 4


# ---- common problems -------------------------------------------------------------------------------------------------


def test_a_failed_import_with_a_budget_of_which_nothing_was_made_is_a_loss(tmp_path):
    rows = [row for t in range(3) for row in study("RandomSearch", "p", t, [2.0, 1.0, 3.0], budget=3)]
    rows += [row for t in range(3) for row in study("A", "p", t, [] if t else [0.0], ended="failed", budget=3)]
    view = store(tmp_path / "s", rows).fixed_cost()
    assert view.failed["A"] == {"studies": 3, "of": 3, "evaluations": 0}
    assert view.trial_scores().of(["A"]).values.ravel().tolist() == [0.0, INF, INF]


def test_a_second_run_on_two_easy_problems_does_not_lead_over_one_on_all(tmp_path):
    rng = np.random.default_rng(6)
    rows = []
    for p in range(12):
        easy = p < 2
        for trial in range(3):
            rows += study("RandomSearch", f"p{p:02}", trial, rng.random(20).tolist())
            steps = np.linspace(0.5, 0.0 if easy else 0.3, 20) + rng.random(20) / 100
            rows += study("Thorough", f"p{p:02}", trial, steps.tolist())
            if easy:
                rows += study("Late", f"p{p:02}", trial, (steps + 0.01).tolist())
    results = store(tmp_path / "s", rows)
    view = results.fixed_cost()
    assert view.coverage["problems"] == 2
    assert view.coverage["left_out"] == [f"p{p:02}" for p in range(2, 12)]
    board = view.leaderboard()
    assert board["n"].to_list() == [2, 2, 2]
    assert board["optimizer"][0] == "Thorough"
    assert view.notes[0].startswith(
        "averages and ranks are over the 2 of 12 problems that all optimizers ran; left out: p02"
    )
    assert view.problem["problem"].n_unique() == 12, "tables of problems have all"
    alone = results.filter(problem=["p00", "p01"]).fixed_cost(frame=view.pinned).leaderboard()
    assert board["score"].to_list() == pytest.approx(alone["score"].to_list())
    assert results.fixed_cost(mode="bayesmark").leaderboard()["n"].to_list().count(12) == 2
    assert results.anytime(axis="evaluations").summary["n"].to_list() == [2, 2, 2]


def test_ecdfs_pool_only_the_dimensions_that_all_optimizers_ran(tmp_path):
    rows = []
    for dimension in (2, 20):
        more = {"dimension": dimension, "suite": "s", "function": "f", "f_opt": 0.0}
        reached = [10.0, 1e-9] if dimension == 2 else [10.0, 10.0]
        rows += study("Both", f"s/f/d{dimension}", 0, reached, **more)
        if dimension == 2:
            rows += study("Small", "s/f/d2", 0, [10.0, 1e-6], **more)
    results = store(tmp_path / "s", rows)

    def reached(view) -> dict[str, float]:
        last = view.ecdf.filter(pl.col("group") == "all", pl.col("dimension").is_null())
        return dict(last.group_by("optimizer").agg(pl.col("fraction_no_restarts").last()).iter_rows())

    view = results.fixed_target()
    assert reached(view)["Both"] == 1.0 > reached(view)["Small"]
    assert view.coverage == {"problems": 1, "functions": 1, "left_out": ["s/f/d20"]}
    assert set(view.ert["dimension"]) == {2, 20}
    assert view.ecdf.filter(pl.col("dimension") == 20, pl.col("group") == "f").height, "alone it is shown"
    assert "all optimizers ran; left out: s/f/d20 (Small lacks 1)" in view.notes[0]
    theirs = results.fixed_target(mode="coco")
    assert reached(theirs)["Both"] < reached(theirs)["Small"], "cocopp pools what there is"
    assert "as in cocopp, each is averaged over its own" in theirs.notes[0]


def test_without_a_common_problem_nothing_is_ranked(tmp_path):
    rng = np.random.default_rng(7)
    rows = []
    for trial in range(2):
        for p in ("p", "q"):
            rows += study("RandomSearch", p, trial, rng.random(10).tolist())
        rows += study("A", "p", trial, rng.random(10).tolist())
        rows += study("B", "q", trial, rng.random(10).tolist())
    results = store(tmp_path / "s", rows)
    view = results.fixed_cost()
    assert view.leaderboard()["score"].to_list() == [None] * 3
    assert view.coverage == {"problems": 0, "functions": 0, "left_out": ["p", "q"]}
    assert view.notes[0].startswith("no problem was run by all optimizers (A lacks 1, B lacks 1 of 2): nothing is")
    assert results.fixed_target().ecdf.filter(pl.col("group") == "all").height == 0
    assert results.anytime(axis="evaluations").summary["area_score"].to_list() == [None] * 3


# ---- one scale, and intervals within it ------------------------------------------------------------------------------


def test_intervals_that_are_shown_stay_within_what_is_possible(tmp_path):
    rng = np.random.default_rng(8)
    rows = []
    for p in range(3):
        for trial in range(2):
            rows += study("RandomSearch", f"p{p}", trial, rng.random(10).tolist())
            rows += study("A", f"p{p}", trial, (rng.random(10) / (50 if p else 1)).tolist())
    view = store(tmp_path / "s", rows).fixed_cost()
    assert (view.leaderboard()["score_lb"] >= 0).all()
    assert view.leaderboard()["score"].to_list() == view.leaderboard()["mean_normed"].to_list()
    assert (view.summary["mean_normed_lb"] < 0).any(), "the table behind it has the t interval"


def test_a_failure_without_a_value_does_not_lengthen_the_budget_of_others(tmp_path):
    """Every optimizer has a failure without a value, and the budgets differ: all are compared after the least."""
    rows = []
    for name, budget in (("RandomSearch", 3), ("A", 5)):
        for trial in range(3):
            rows += study(name, "p", trial, [float(9 - k) for k in range(budget)], budget=budget)
        rows += study(name, "p", 3, [], ended="failed", budget=budget)
    trials = store(tmp_path / "s", rows).fixed_cost().trial_scores().of(["RandomSearch", "A"])
    assert trials.values[0].tolist() == [[7.0, 7.0, 7.0, INF]] * 2


def test_values_that_are_not_finite_are_failed_evaluations_and_never_the_best(tmp_path):
    rows = []
    for trial in range(2):
        rows += study("RandomSearch", "p", trial, [3.0, INF, INF, 2.0])
        rows += study("A", "p", trial, [4.0, -INF, -INF, 1.0])
    results = store(tmp_path / "s", rows)
    assert {name: one["evaluations"] for name, one in results.fixed_cost().failed.items()} == {
        "RandomSearch": 4,
        "A": 4,
    }
    made = results.compare(resamples=100).answer
    assert made.values["A"] == {"best": 1.0, "median": 1.0, "trials": 2}
    assert any(text.startswith("Failed evaluations: 4 of") for text in made.first), "what failed stands first"
    alone = store(tmp_path / "t", [row for row in rows if row["optimizer"] == "A"] + study("B", "p", 0, [INF, 2.0]))
    assert alone.compare(resamples=100).answer.values["A"]["best"] == 1.0, "by fixed target, too"


# ---- which view answers ----------------------------------------------------------------------------------------------


def events() -> list[dict]:
    """A run of a solver, as a table has it."""
    return [{"problem": "i", "optimizer": "S", "trial": 0, "evaluation": k, "seconds": float(k)} for k in (1, 2)]


def test_the_kind_of_studies_chooses_the_view(tmp_path):
    single = study("RandomSearch", "p", 0, [3.0, 1.0, 2.0], dimension=2) + study("A", "p", 0, [2.0, 1.0], dimension=2)
    assert answering(store(tmp_path / "a", single)) == ["fixed_cost"]
    assert answering(store(tmp_path / "b", [row for row in single if row["optimizer"] == "A"])) == ["fixed_target"]
    assert answering(store(tmp_path / "c", [{**row, "f.a": 1.0, "f.b": 2.0} for row in events()])) == ["pareto"]
    assert answering(store(tmp_path / "d", [{**row, "value": 3.0} for row in events()])) == ["anytime"]


def test_a_failure_without_rows_is_of_the_kind_of_its_problem(tmp_path):
    found = study("A", "p", 0, [3.0, 1.0]) + study("B", "p", 0, [2.0, 1.0]) + study("B", "p", 1, [], ended="failed")
    results = store(tmp_path / "a", found)
    assert answering(results) == ["fixed_target"]
    assert results.fixed_target().failed["B"]["studies"] == 1
    end = {"problem": "i", "optimizer": "T", "trial": 0, "evaluation": None, "status": "crashed"}
    assert answering(store(tmp_path / "b", [{**row, "value": 3.0} for row in events()] + [end])) == ["anytime"]


def test_runs_of_a_solver_from_a_table_stay_so_beside_random_search_elsewhere(tmp_path):
    oa.Experiment(["RandomSearch"], ["functions/sphere/d2"], 8, trials=2).run(tmp_path / "s", workers=0)
    oa.from_frame(pl.DataFrame([{**row, "value": 3.0} for row in events()]), tmp_path / "s")
    assert answering(oa.open(tmp_path / "s")) == ["fixed_cost", "anytime"]


def test_runs_of_a_solver_are_scored_over_seconds(tmp_path, capsys):
    plan = oa.Experiment(optimizers=["Annealing"], problems=["tsp/n10/i1"], seconds=0.2)
    plan.run(tmp_path / "s", workers=1)
    assert answering(oa.open(tmp_path / "s")) == ["anytime"]
    assert main(["score", str(tmp_path / "s")]) == 0
    assert capsys.readouterr().out.startswith("anytime by seconds")


def test_a_mixed_store_is_scored_by_one_view_per_kind_most_studies_first(tmp_path, capsys):
    for problems, trials in ((["functions/sphere/d2"], 3), (["zdt/zdt1/d30"], 1)):
        oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 8, trials=trials).run(tmp_path / "s", workers=0)
    assert answering(oa.open(tmp_path / "s")) == ["fixed_cost", "pareto"]
    assert main(["score", str(tmp_path / "s"), "--format", "json"]) == 0
    assert [one["view"] for one in json.loads(capsys.readouterr().out)["views"]] == ["fixed-cost", "pareto"]
    assert main(["score", str(tmp_path / "s"), "--reference", "crowding", "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["view"] == "pareto", "the view that has the option"
    assert main(["score", str(tmp_path / "s"), "--format", "csv"]) == 2
    assert "--view fixed-cost or pareto" in capsys.readouterr().err
    assert main(["score", str(tmp_path / "s")]) == 0
    out = capsys.readouterr().out
    assert out.index("fixed cost after") < out.index("pareto: fronts")
