"""Comparisons: what is decided, in which words, how stable, for which stores; and numbers from standard input."""

from __future__ import annotations

import importlib.util
import io
import json
import sys
from dataclasses import replace
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena import stats
from optarena._numbers import p_value
from optarena.cli import main
from optarena.comparison import compare_scores
from optarena.comparison.numbers import chart, rank_numbers, read_numbers
from optarena.comparison.ratios import runtime_ratios
from optarena.comparison.words import short_names
from optarena.errors import OptarenaError
from optarena.views._scores import Scores
from optarena.views.selection import cube
from stores import frame, hostile, imported

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

FEW = {"resamples": 300}


def made_up(gaps=(0.0, 0.1, 0.3), problems=24, trials=5, noise=0.1, seed=0) -> Scores:
    rng = np.random.default_rng(seed)
    values = 0.3 + np.array(gaps)[None, :, None] + rng.normal(0, noise, (problems, len(gaps), trials))
    names = [f"o{i}" for i in range(len(gaps))]
    return Scores(
        "fixed-cost", "value", "made up", [f"p{i}" for i in range(problems)], names, values, [None] * problems
    )


# ---- figures ---------------------------------------------------------------------------------------------------------


def test_the_figures_of_a_pair_are_those_of_the_pure_functions():
    scores = made_up()
    found = compare_scores(scores, **FEW)
    means = scores.means
    row = found.table("pairs").filter(optimizer="o0", other="o1").row(0, named=True)
    each = [stats.a12(y, x) for x, y in zip(scores.values[:, 0], scores.values[:, 1], strict=True)]
    assert row["improvement"] == pytest.approx(np.mean(each))
    assert row["cliffs_delta"] == pytest.approx(2 * np.mean(each) - 1)
    assert row["difference"] == pytest.approx((means[:, 0] - means[:, 1]).mean())
    assert (row["wins"], row["losses"]) == (sum(x > 0.56 for x in each), sum(x < 0.44 for x in each))
    assert row["wins"] + row["ties"] + row["losses"] == 24
    assert row["improvement_lb"] < row["improvement"] < row["improvement_ub"]
    tests = [stats.wilcoxon(means[:, a], means[:, b]).p for a, b in ((0, 1), (0, 2), (1, 2))]
    assert found.table("pairs")["p_holm"].to_list() == pytest.approx(stats.holm(tests).tolist())
    bayes = stats.bayesian_signed_rank(0.5 - np.array(each), None, 0.06, samples=4000)
    assert row["p_better"] == pytest.approx(bayes.better, abs=0.03)
    assert found.rated.details.friedman.p == pytest.approx(stats.friedman(means).p)
    good = found.table("optimizers").filter(optimizer="o0").row(0, named=True)
    assert good["iqm"] == pytest.approx(stats.iqm(1 - scores.values[:, 0].T))
    assert good["score"] == pytest.approx(means[:, 0].mean())
    assert good["rank"] == pytest.approx(stats.average_ranks(means)[0])


def test_trials_that_are_not_there_count_neither_way_in_profiles():
    scores = made_up(problems=24, trials=4)
    scores.values[:12, 0, 1:] = np.nan
    found = compare_scores(scores, **FEW).table("profiles").filter(optimizer="o0")
    expected = stats.score_distribution(1 - scores.values[:, 0].T, found["tau"])
    assert found["fraction"].to_list() == pytest.approx(expected.tolist())
    assert found["fraction"][0] == 1  # every score that is there is below 1


@pytest.mark.parametrize("problems", [8, 30])
def test_the_interval_of_the_iqm_is_t_over_few_problems_and_widened_over_more(problems):
    scores = made_up(problems=problems, trials=3)
    row = compare_scores(scores, over="problems", resamples=2000).table("optimizers").filter(optimizer="o0")
    good = 1 - scores.values[:, 0].T
    without = np.array([stats.iqm(np.delete(good, p, axis=1)) for p in range(problems)])
    error = np.sqrt((problems - 1) / problems * np.sum((without - without.mean()) ** 2))
    half = {8: 2.3646242510102993, 30: 2.045229642132703}[problems] * error
    ends = row["iqm"].item() - half, row["iqm"].item() + half
    assert (row["iqm_lb"].item(), row["iqm_ub"].item()) == pytest.approx(
        ends, abs=1e-9 if problems < 20 else 0.3 * half
    )
    low, high = {8: (0, 7), 30: (9, 20)}[problems]
    means = np.sort(1 - scores.means[:, 0])
    assert (row["median_lb"].item(), row["median_ub"].item()) == pytest.approx((means[low], means[high]))


def test_one_function_says_nothing_of_others():
    with pytest.raises(OptarenaError, match="one function says nothing of others"):
        compare_scores(made_up(problems=1), over="problems", **FEW)


def test_infinite_scores_are_refused_in_a_sentence():
    scores = made_up()
    scores.values[3, 1, 0] = np.inf
    with pytest.raises(OptarenaError, match="value of o1 on p3 is infinite"):
        compare_scores(scores, **FEW)
    assert compare_scores(made_up(), others=[("another", scores)], **FEW).table("rankings").height == 6


def test_equal_scores_share_their_place():
    scores = made_up((0.0, 0.0, 0.3), noise=0.0)
    found = compare_scores(scores, **FEW).table("rankings")
    assert found["place"].to_list() == [1, 1, 3]


def test_relabelling_and_reordering_change_nothing():
    scores = made_up()
    turned = scores.of(["o2", "o0", "o1"])
    shuffled = turned.on(np.ones(24, dtype=bool))
    shuffled = replace(shuffled, values=shuffled.values[::-1], problems=shuffled.problems[::-1])
    columns = ["optimizer", "other", "p_holm", "improvement", "difference", "wins", "verdict"]
    first, second = (compare_scores(one, **FEW).table("pairs").select(columns) for one in (scores, shuffled))
    for a, b in zip(first.rows(), second.rows(), strict=True):
        assert a[:2] == b[:2]
        assert a[2:5] == pytest.approx(b[2:5])
        assert a[5:] == b[5:]


def test_a_monotone_transform_keeps_what_only_the_order_of_trials_decides():
    scores = made_up(problems=1, trials=12)
    bent = replace(scores, values=np.exp(3 * scores.values))
    first, second = (compare_scores(one, over="trials", **FEW).table("pairs") for one in (scores, bent))
    assert first["p"].to_list() == pytest.approx(second["p"].to_list())
    assert first["improvement"].to_list() == pytest.approx(second["improvement"].to_list())


def test_the_same_seed_gives_the_same_comparison():
    scores = made_up()
    assert compare_scores(scores, **FEW).to_data() == compare_scores(scores, **FEW).to_data()


def test_the_answer_names_what_to_use_first():
    found = compare_scores(made_up(), **FEW)
    assert found.answer.winner == "o0"
    assert found.answer.headline == "o0 is best: it beats both others."
    lines = str(found).splitlines()
    assert lines[0].startswith("o0 is best: it beats both others.")
    assert lines[0].endswith("24 problems, 5 trials each")
    assert "▲ 0." in str(found)
    assert not any("significant" in text for text in found.sentences)


def test_equal_optimizers_stay_undecided_and_it_says_what_would_settle_a_medium_difference():
    found = compare_scores(made_up(gaps=(0.0, 0.02), noise=0.15, seed=3, problems=10, trials=2), **FEW)
    assert found.pairs.verdict == ["undecided"]
    assert found.answer.winner is None
    words = " ".join(found.sentences)
    assert "o0 against o1: 0." in words or "o1 against o0: 0." in words
    assert "would settle a medium difference (P(beats) 0.64)" in words


def test_the_same_optimizer_twice_is_equivalent_with_enough_data():
    found = compare_scores(made_up(gaps=(0.0, 0.0), problems=100, trials=15), **FEW)
    assert found.pairs.verdict == ["equivalent"]
    assert found.answer.winner == found.answer.order[0]
    assert found.answer.headline.endswith("is equivalent.")


def test_advice_does_not_depend_on_the_observed_difference():
    """The same noise with another mean: as many more functions for a medium difference."""
    rng = np.random.default_rng(2)
    noise = rng.normal(0, 0.3, (8, 2, 3))
    near, far = (
        compare_scores(replace(made_up(gaps=(0, 0), problems=8, trials=3), values=noise + np.array([[[0.0], [gap]]])))
        for gap in (0.0, 0.02)
    )
    assert near.power.functions[0] > 0
    assert abs(int(near.power.functions[0]) - int(far.power.functions[0])) <= 0.5 * near.power.functions[0]


def test_more_trials_help_where_functions_do_not_differ():
    """Eight functions that all favour one optimizer by 0.64 are decided: enough trials show that they do."""
    found = compare_scores(made_up(gaps=(0.0, 0.0), problems=8, noise=1.0, seed=4), **FEW)
    assert found.pairs.verdict == ["undecided"]
    assert 0 < found.power.trials[0] < 100
    shares = np.clip(0.64 + np.random.default_rng(0).normal(0, 0.03, (200, 1, 8)), 0, 1)
    assert np.mean([stats.improvement.over_functions(one).lower[0] > 0.5 for one in shares]) > 0.9


def test_more_functions_are_at_least_as_many_as_a_decision_needs():
    found = compare_scores(made_up(gaps=(0.0, 0.0), problems=4, trials=4, noise=0.05), over="problems", **FEW)
    assert not found.pairs.decided[0]
    assert found.power.functions[0] + 4 >= 6  # 2 / 2^6 < 0.05


def test_few_functions_speak_of_their_trials_and_say_so():
    found = compare_scores(made_up(problems=3), **FEW)
    assert found.over == "trials"
    assert "3 problems are too few for claims about other problems (7 would be enough)" in found.cautions[0]
    one = compare_scores(made_up(problems=3, trials=1), **FEW)
    assert one.over == "problems"
    assert not one.pairs.decided.any()
    assert "run more trials (-r 5)" in one.cautions[0]
    with pytest.raises(OptarenaError, match="one trial on one problem"):
        compare_scores(made_up(problems=1, trials=1), **FEW)


def test_instances_and_dimensions_repeat_a_function():
    """Fifteen instances of one function are no fifteen problems."""
    scores = made_up(gaps=(0.0, 0.3), problems=30, trials=3)
    same = replace(scores, functions=["f1"] * 15 + ["f2"] * 15)
    assert compare_scores(scores, **FEW).over == "problems"
    found = compare_scores(same, **FEW)
    assert found.over == "trials"
    assert found.answer.coverage["functions"] == 2
    uneven = replace(scores, functions=["f0"] * 16 + [f"f{i}" for i in range(1, 15)])
    found = compare_scores(uneven, over="problems", **FEW)
    each = [stats.a12(y, x) for x, y in zip(scores.values[:, 0], scores.values[:, 1], strict=True)]
    assert found.pairs.improvement[0] == pytest.approx(np.mean([np.mean(each[:16]), *each[16:]]))


def test_one_problem_is_about_its_trials():
    scores = made_up(problems=1, gaps=(0.0, 0.2), trials=9)
    found = compare_scores(scores, **FEW)
    assert found.over == "trials"
    x, y = scores.values[0]
    assert found.pairs.other_p[0] == pytest.approx(stats.mann_whitney(x, y, method="exact").p)
    assert found.pairs.verdict == ["better"]
    for value in found.answer.score.values():
        assert None not in value
    json.dumps(found.table("pairs").to_dicts())


def test_a_comparison_makes_its_tables_once():
    found = compare_scores(made_up(), **FEW)
    assert found.tables is found.tables
    assert found.table("pairs") is found.tables["pairs"]


def test_constant_scores_differ_in_nothing():
    scores = replace(made_up(), values=np.full((24, 3, 5), 0.5))
    for over in ("problems", "trials"):
        found = compare_scores(scores, over=over, **FEW)
        assert (found.pairs.p == 1).all()
        assert (found.pairs.improvement == 0.5).all()
        assert not found.pairs.decided.any()
        assert found.table("pairs")["ties"].to_list() == [24] * 3
        assert found.table("optimizers")["group"].to_list() == [1, 1, 1]
        assert found.sentences


def test_missing_cells_are_left_out_by_problem_and_named():
    scores = made_up()
    scores.values[:4, 1] = np.nan
    scores.values[7, 2, 0] = np.nan
    found = compare_scores(scores, **FEW)
    assert len(found.scores.problems) == 20
    assert found.answer.coverage["left_out"] == ["p0", "p1", "p2", "p3"]
    assert "this is about the 20 problems that all have run; 4 problems are left out (p0, p1, …)" in str(found).replace(
        "\n", " "
    )
    with pytest.raises(OptarenaError, match="two optimizers or more"):
        compare_scores(made_up().of(["o1"]), **FEW)


def test_without_a_common_problem_pairs_are_compared_on_what_they_share():
    scores = made_up(gaps=(0.0, 0.3, 0.6), problems=30, trials=4)
    scores.values[:10, 0] = scores.values[10:20, 1] = scores.values[20:, 2] = np.nan
    found = compare_scores(scores, **FEW)
    assert found.answer.order == []
    assert found.answer.winner is None
    assert "No ranking" in found.answer.headline
    alone = compare_scores(scores.of(["o0", "o1"]), **FEW)
    pair = found.answer.against("o0", "o1")
    assert pair["pi"] == pytest.approx(alone.answer.against("o0", "o1")["pi"])
    assert pair["verdict"] == "better"
    assert set(found.tables) == {"pairs", "problems"}
    assert found.to_data()["answer"]["score"] == {}
    assert "No ranking" in str(found)
    scores.values[:, 2] = np.nan
    scores.values[:20, 1] = np.nan
    scores.values[20:, 0] = np.nan
    with pytest.raises(OptarenaError, match="no two optimizers have run on the same problem"):
        compare_scores(scores, **FEW)


def test_where_scores_and_duels_disagree_the_answer_says_so():
    values = np.full((30, 2, 2), 0.5)
    values[:, 0] = 0.45
    values[:3, 0] = 3.0  # a few large losses, many small wins
    values += np.random.default_rng(0).normal(0, 1e-3, values.shape)
    found = compare_scores(replace(made_up(gaps=(0, 0), problems=30), values=values), **FEW)
    assert found.answer.order[0] == "o1"
    assert found.answer.winner == "o0"
    assert any("o0 wins more often, but where it loses, it loses by more" in text for text in found.answer.warnings)


def test_rankings_that_disagree_are_shown_as_disagreeing():
    scores = made_up()
    other = replace(scores, values=scores.values[:, ::-1])
    found = compare_scores(scores, others=[("the other way", other)], **FEW)
    assert "Other ways of scoring disagree: o2 comes first by the other way." in found.answer.warnings
    row = found.table("stability").filter(kind="ranking").row(0, named=True)
    assert row["tau"] == -1
    assert "o2 > o0" in row["reversed"]


def test_leaving_out_each_thing_in_turn_is_what_comparing_without_it_gives():
    scores = made_up(gaps=(0.0, 0.03, 0.05), problems=14, trials=4)
    found = compare_scores(scores, **FEW)
    changes = [c for c in found.changes if c.kind == "function"]
    assert [c.label for c in changes] == scores.problems
    decided = {(r[0], r[1]) for r in _decided(found)}
    for i in (0, 5):
        again = compare_scores(scores.on(np.arange(14) != i), over="problems", **FEW)
        now = {(r[0], r[1]) for r in _decided(again)}
        assert set(changes[i].lost) | set(changes[i].reversed) == decided - now
        assert changes[i].order == [again.optimizers[o] for o in again.rated.order]
    assert len([c for c in found.changes if c.kind == "trial"]) == 4
    assert len([c for c in found.changes if c.kind == "optimizer"]) == 3


def _decided(found):
    table = found.table("pairs").filter(pl.col("verdict") != "undecided")
    return [
        (r["optimizer"], r["other"]) if r["verdict"] == "better" else (r["other"], r["optimizer"])
        for r in table.to_dicts()
    ]


def test_ratios_of_running_times_are_geometric_means_over_targets_that_both_reach():
    erts = np.array([[[10.0, 20.0], [40.0, 160.0]], [[5.0, np.inf], [np.inf, np.inf]], [[9.0, 9.0], [np.inf, 3.0]]])
    found = runtime_ratios(erts, "evaluations", np.array([0]), np.array([1]), 100, 0)
    assert found.ratio[0] == pytest.approx(np.sqrt(np.sqrt(1 / 8) * 1.0))
    assert (found.both[0], found.only_first[0], found.only_second[0]) == (3, 1, 1)
    assert found.lower[0] < found.ratio[0] < found.upper[0]


def test_a_cube_stands_by_problem_optimizer_and_trial():
    problem, optimizer, trial = (np.array(x) for x in ([0, 1, 0, 0], [1, 0, 1, 0], [7, 0, 2, 0]))
    made = cube(problem, optimizer, trial, np.array([1.0, 2.0, 3.0, 4.0]), (2, 2))
    np.testing.assert_array_equal(made, [[[4, np.nan], [3, 1]], [[2, np.nan], [np.nan, np.nan]]])


# ---- calibration, in short (benchmarks/calibration.py has the long form) ---------------------------------------------


@pytest.fixture(scope="module")
def calibration():
    place = Path(__file__).parent.parent / "benchmarks" / "calibration.py"
    spec = importlib.util.spec_from_file_location("calibration", place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("shape", ["normal", "ties", "heavy tails", "unequal variances"])
@pytest.mark.parametrize(
    ("functions", "trials", "optimizers", "scope"), [(6, 1, 5, "problems"), (10, 5, 2, "problems"), (2, 5, 3, "trials")]
)
def test_false_verdicts_are_rare_and_intervals_cover(calibration, functions, trials, optimizers, scope, shape):
    found = calibration.calibrate(calibration.Design(functions, trials, optimizers, shape, scope), 200)
    assert found.false <= 0.05 + calibration.error(200)
    assert found.coverage >= 0.94 - calibration.error(200)


# ---- stores and the command ------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("compare") / "store"
    imported(path, problems=tuple(f"p{i}/d{2 + i % 2}" for i in range(8)), trials=3, evaluations=10)
    return path


def test_scores_of_trials_average_to_the_views_own(store):
    results = oa.open(store)
    view = results.fixed_cost()
    scores = view.scores()
    last = view.problem.filter(pl.col("iteration") == pl.col("iteration").max())
    for row in last.iter_rows(named=True):
        p, o = scores.problems.index(row["problem"]), scores.optimizers.index(row["optimizer"])
        assert scores.means[p, o] == pytest.approx(row["mean_normed"])
    targets = results.fixed_target(bootstrap=0)
    aocc = {(r["function"], r["optimizer"]): r["aocc"] for r in targets.table("aocc").to_dicts()}
    areas = targets.scores("aocc")
    for p, problem in enumerate(areas.problems):
        for o, optimizer in enumerate(areas.optimizers):
            assert 1 - areas.means[p, o] == pytest.approx(aocc[problem, optimizer])
    for way, one in (*view.ways(), *targets.ways()):
        assert np.nanmin(one.values) >= -1, way
        assert np.nanmax(one.values) <= 1, way
    with pytest.raises(OptarenaError, match="Did you mean 'aocc'"):
        targets.scores("aoc")


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """One objective, with 51 targets, and two, with COCO's 58."""
    path = tmp_path_factory.mktemp("mixed") / "store"
    problems = ["bbob/f1/d2/i1", "bbob-biobj/f1/d2/i1"]
    oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 20, trials=3, seed="7" * 32).run(path, workers=0)
    return path


def test_problems_with_different_numbers_of_targets_are_compared_and_reported(mixed, tmp_path, capsys):
    for view in ("fixed-cost", "fixed-target"):
        assert main(["compare", str(mixed), "--view", view, "--resamples", "200"]) == 0
    assert main(["report", str(mixed), "-O", str(tmp_path / "r.html")]) == 0


def test_a_run_is_scored_by_the_targets_of_its_own_problem(mixed):
    both = oa.open(mixed).fixed_target(bootstrap=0)
    alone = oa.open(mixed).filter(problem="bbob/*").fixed_target(bootstrap=0)
    for metric, part in (("area", "all"), ("area", "easy"), ("area", "hard"), ("unreached", "all")):
        one, other = both.scores(metric, part), alone.scores(metric, part)
        values = one.of(other.optimizers).values[one.problems.index("bbob/f1/d2/i1")]
        np.testing.assert_allclose(values, other.values[0], rtol=1e-12)


def test_compare_prints_the_answer_first_in_every_format(store, capsys):
    assert main(["compare", str(store), "--resamples", "200", "--details"]) == 0
    text = capsys.readouterr().out
    assert text.splitlines()[0].startswith(("Good", "Slow", "RandomSearch", "Use", "No"))
    assert "P(row beats column)" in text
    assert "every two of them (simultaneous over functions" in text
    assert main(["compare", str(store), "Good", "Slow", "--format", "json", "--resamples", "200"]) == 0
    data = msgspec.json.decode(capsys.readouterr().out)
    assert data["tests"] == 1
    assert next(iter(data)) == "answer"
    assert set(data["answer"]) >= {
        "winner", "scope", "view", "score", "order", "pairs", "failed", "coverage", "warnings"
    }  # fmt: skip
    assert {"a", "b", "pi", "lower", "upper", "verdict"} == set(data["answer"]["pairs"][0])
    assert {"optimizers", "pairs", "rankings", "stability", "groups", "profiles"} <= set(data["tables"])
    assert main(["compare", str(store), "--format", "csv", "--table", "optimizers", "--resamples", "200"]) == 0
    assert capsys.readouterr().out.startswith("optimizer,score,score_lb")
    assert main(["compare", str(store), "--view", "fixed-target", "--format", "latex", "--resamples", "200"]) == 0
    out = capsys.readouterr().out
    assert out.count(r"\begin{tabular}") == 2


@pytest.mark.parametrize("width", [40, 60, 80, 120, 200])
def test_the_answer_fits_any_width(store, width):
    for made in (
        oa.open(store).compare(resamples=200),
        compare_scores(made_up(gaps=tuple(np.linspace(0, 1, 12))), **FEW),
    ):
        assert max(map(len, made.text(width).splitlines())) <= width


def test_one_problem_with_failures_fits_a_narrow_terminal():
    long = rows(["RandomSearch", "A-name-of-some-length"], ["p"], 5, seed=1, ended="done", status=None)
    lost = [{**row, "trial": 5, "ended": "failed", "value": None, "status": "error"} for row in long[:5]]
    made = compared([{**row, "value": row["value"] * 1e6} for row in long], lost)
    assert "failed" in made.text(40)
    assert max(map(len, made.text(40).splitlines())) <= 40


def test_plain_data_of_a_comparison_is_strict_json():
    """With five problems, the medians of the table of optimizers have infinite ends."""
    frame = pl.DataFrame(rows(["RandomSearch", "A"], EIGHT[:5]))
    made = oa.from_frame(frame).compare(over="problems", **FEW).to_data()
    assert made == json.loads(json.dumps(made, allow_nan=False))
    assert made["tables"]["optimizers"][0]["median_ub"] == "inf"


def test_a_notebook_shows_the_answer(store):
    made = oa.open(store).compare(resamples=200)
    assert made.answer.headline in made._repr_html_()
    assert "<table" in made._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["Goood", "Slow"], "Did you mean 'Good'?"),
        (["Good", "Good"], "named twice"),
        (["Good"], "two optimizers or more"),
        (["--view", "fixed"], "view must be one of"),
        (["--view", "fixed-cost", "--targets", "1"], "--targets is not an option of the fixed-cost view"),
        (["--metric", "hidden"], "metric must be one of"),
        (["--resamples", "5"], "resamples must be at least 100; got 5"),
        (["--maximise"], "--maximise is for plain numbers"),
        (["--format", "csv", "--table", "pair"], "Did you mean 'pairs'?"),
    ],
)
def test_a_wrong_call_is_one_sentence(store, arguments, said, capsys):
    assert main(["compare", str(store), *arguments]) == 2
    assert said in capsys.readouterr().err


def test_fronts_and_whole_curves_are_compared_too(tmp_path, store):
    space = {name: {"type": "real", "space": "linear", "range": [0, 1]} for name in "xy"}

    @oa.as_problem(space, sense=["min", "min"])
    def two(x):
        return [x["x"] + x["y"], (1 - x["x"]) ** 2 + x["y"]]

    results = oa.Experiment(["RandomSearch", "QuasiRandom"], [two], 15, trials=3).run(tmp_path / "s", workers=0)
    found = results.compare(resamples=200)
    assert found.scores.view == "pareto"
    ratio = results.pareto().table("studies").filter(optimizer="RandomSearch")["hypervolume_ratio"].mean()
    assert found.scores.means[0, found.optimizers.index("RandomSearch")] == pytest.approx(1 - ratio)
    curves = oa.open(store).compare(view="anytime", axis="evaluations", resamples=200)
    assert curves.scores.view == "anytime"
    assert {c.label for c in curves.changes} >= {"anytime by objective", "fixed cost at the end", "fixed target"}


def test_hostile_names_are_only_text(tmp_path, capsys):
    hostile(tmp_path / "s")
    assert main(["compare", str(tmp_path / "s"), "--resamples", "200"]) == 0
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert "<script>" not in oa.open(tmp_path / "s").compare(resamples=200)._repr_html_()


# ---- numbers ---------------------------------------------------------------------------------------------------------

NUMBERS = """# a comment
x1 0.34 0.49 0.51 0.6
"x 2"  6  7  8  9
x3: 0.15 0.25 0.4, 0.35
0.2 0.3
x4 6 7 8 9.5
"""


def test_numbers_on_standard_input_are_ranked(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(NUMBERS))
    assert main(["compare", "--stdin"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:4] == ["rank", "name", "median", "IQR"]
    assert lines[1].split()[:2] == ["1", "x3"]
    assert [line.split()[0] for line in lines if "x 2" in line or "x4" in line] == ["2", "2"]
    assert "by permuting numbers" in lines[-1]
    monkeypatch.setattr(sys, "stdin", io.StringIO(NUMBERS))
    assert main(["compare", "--stdin", "--method", "bootstrap"]) == 0  # the original recipe
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines if "x 2" in line or "x4" in line] == ["3", "3"]
    assert "not calibrated" in lines[-1]
    Path("n.txt").write_text(NUMBERS)
    assert main(["compare", "n.txt", "--format", "json", "--maximise"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["method"], found["calibrated"]) == ("permutation", True)
    ranks = found["ranks"]
    assert {row["name"] for row in ranks if row["rank"] == 1} == {"x 2", "x4"}
    assert ranks[1]["name"] == "x 2"
    assert ranks[1]["iqr"] == pytest.approx(np.subtract(*np.quantile([6, 7, 8, 9], [0.75, 0.25])))
    assert main(["compare", "n.txt", "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("rank,name,n,median,iqr,q10")
    assert main(["compare", "n.txt", "--format", "latex"]) == 0


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "there are no numbers"),
        ("1 2 3", "line 1: a line begins with a name"),
        ("a 1 b", "line 1: 'b' is not a number"),
        ("a\nb 1", "'a' has no numbers"),
        ('"a 1', "line 1: a quotation mark is not closed"),
        ("a 1 nan", "'nan' is not a number"),
    ],
)
def test_lines_that_are_not_numbers_are_refused(text, said):
    with pytest.raises(OptarenaError, match=said):
        read_numbers(text)


def test_a_chart_marks_quartiles_and_median():
    assert chart((0.0, 1.0, 2.0, 3.0, 4.0), 0.0, 4.0, width=9) == "--==*==--"
    assert chart((1.0,) * 5, 1.0, 1.0, width=4) == "* | "
    ranked, _ = rank_numbers({"a": np.array([1.0])})
    assert ranked[0].median == 1.0


@pytest.mark.parametrize("text", [",", '"" 1 2', "a 1e308 2\nb -1e308 3", "a 1 nan"])
def test_odd_lines_of_numbers_are_refused_in_a_sentence(text, monkeypatch, capsys):
    monkeypatch.setattr(sys, "stdin", io.StringIO(text))
    assert main(["compare", "--stdin"]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


def test_a_mark_of_byte_order_and_commas_do_not_hurt():
    assert list(read_numbers("\ufeffa, 1, 2\n , \nb 3")) == ["a", "b"]


def test_options_of_a_store_are_refused_with_plain_numbers(tmp_path, capsys):
    (tmp_path / "n.txt").write_text(NUMBERS)
    for more in (["x3"], ["--view", "pareto"], ["--table", "pairs"], ["--alpha", "7"]):
        assert main(["compare", str(tmp_path / "n.txt"), *more]) == 2
    assert main(["compare", str(tmp_path / "n.txt"), "--alpha", "0.01"]) == 0
    assert "p < 0.01" in capsys.readouterr().out


# ---- claims that are not too strong ----------------------------------------------------------------------------------


def test_functions_that_all_agree_do_not_make_an_interval_empty():
    found = compare_scores(made_up(gaps=(0.0, 5.0), problems=8), **FEW)
    assert (found.pairs.improvement[0], found.pairs.upper[0]) == (1, 1)
    assert 0.5 < found.pairs.lower[0] < 0.7
    turned = compare_scores(made_up(gaps=(5.0, 0.0), problems=8), **FEW)
    assert turned.pairs.upper[0] == pytest.approx(1 - found.pairs.lower[0])


def test_a_shared_first_place_disagrees_with_nobody():
    scores = made_up(gaps=(0.0, 0.3))
    same = replace(scores, values=np.ones_like(scores.values))
    found = compare_scores(scores, others=[("again", scores), ("no target", same)], **FEW)
    assert not any("disagree" in text for text in found.answer.warnings)
    assert found.table("rankings").filter(ranking="no target")["place"].to_list() == [1, 1]


def test_a_p_value_just_below_the_level_is_not_shown_as_the_level():
    assert p_value(0.046875) == "0.047"


def test_no_warning_is_lost_and_none_is_told_twice():
    found = compare_scores(made_up(gaps=(0.0, 0.02), problems=10), **FEW)
    study, evaluation = "o1 failed in 2 of 40 studies: what it had found counts.", "Failed evaluations: 3 of o0."
    caution = "Only this is a caution."
    found.failures, found.cautions = [study, evaluation], [caution]
    shown = " ".join(found.text().split())
    assert [shown.count(one) for one in (study, evaluation, caution)] == [1, 1, 1]
    assert shown.index(study) < shown.index(evaluation) < shown.index("optimizer") < shown.index(caution)
    assert {study, evaluation, caution} <= set(found.answer.warnings)


def test_columns_of_names_that_begin_alike_are_told_apart():
    assert short_names(["CMA-ES", "RandomSearch"]) == ["CMA-ES", "RandomS"]
    assert short_names(["Optuna-TPE", "Optuna-GP"]) == ["…na-TPE", "…una-GP"]
    assert short_names(["aaaaaaa1bbbbbbb", "aaaaaaa2bbbbbbb"]) == ["1", "2"]


def test_figures_next_to_one_half_stay_in_their_cell_of_the_matrix():
    found = compare_scores(made_up(), **FEW).answer
    for value, shown in ((0.500005787, "0.50"), (0.5004, "0.5004"), (0.4649, "0.46")):
        pairs = [{**pair, "pi": value, "verdict": "undecided"} for pair in found.pairs]
        assert replace(found, pairs=pairs).cell("o0", "o1") == f"? {shown}"


def test_the_legend_names_the_level_that_was_asked_for():
    assert "undecided (99 %)" in compare_scores(made_up(gaps=(0.0, 0.0)), alpha=0.01, **FEW).text()


# ---- like compared with like -----------------------------------------------------------------------------------------

EIGHT = tuple(f"p{i}" for i in range(8))


def rows(optimizers, problems=EIGHT, trials=3, evaluations=5, seed=0, **more):
    rng = np.random.default_rng([seed, *map(ord, "".join(optimizers))])
    return [
        {"problem": p, "optimizer": o, "trial": t, "evaluation": e, "value": float(rng.random())} | more
        for p in problems
        for o in optimizers
        for t in range(trials)
        for e in range(1, evaluations + 1)
    ]


def compared(*parts):
    return oa.from_frame(pl.DataFrame([row for part in parts for row in part], infer_schema_length=None)).compare(**FEW)


def test_optimizers_with_different_budgets_are_compared_after_the_least():
    found = compared(rows(["A", "B"], evaluations=5), rows(["RandomSearch"], evaluations=9))
    assert found.answer.coverage["problems"] == 8
    assert len(found.answer.order) == 3
    assert any("budgets differ on 8 problems (p0: 5 to 9" in note for note in found.notes)


def test_random_search_elsewhere_does_not_hide_what_two_optimizers_share():
    found = compared(rows(["A", "B"]), rows(["RandomSearch"], ("z",)))
    alone = compared(rows(["A", "B"]), rows(["RandomSearch"]))
    assert found.answer.against("A", "B")["pi"] == pytest.approx(alone.answer.against("A", "B")["pi"])
    assert found.answer.against("A", "RandomSearch")["pi"] is None


def test_problems_that_have_no_score_count_in_duels():
    """One evaluation each: where random search is the best there is no scale, yet it wins the duel."""
    for seed in range(5):
        found = compared(rows(["RandomSearch", "Mine"], [f"p{i}" for i in range(20)], 1, 1, seed))
        assert found.answer.coverage["problems"] == 20
        assert found.answer.winner is None
        assert any("not in the score" in text for text in found.answer.warnings)


def test_without_a_scale_on_any_problem_targets_answer():
    """Random search sees the best value in most evaluations: its median is the best there is."""
    random = [{**row, "value": 0.0 if row["evaluation"] > 1 else 1.0} for row in rows(["RandomSearch"])]
    found = compared(random, [{**row, "value": row["value"] + 0.5} for row in rows(["A"])])
    assert found.answer.view == "fixed-target"
    assert found.answer.winner == "RandomSearch"
    assert any("there is no fixed-cost score: no problem can be scored" in text for text in found.answer.warnings)


def test_an_optimizer_without_any_value_yet_is_named():
    nothing = [
        {"problem": p, "optimizer": "B", "trial": t, "evaluation": None, "value": None, "status": "interrupted"}
        for p in EIGHT
        for t in range(3)
    ]
    found = compared(rows(["A", "RandomSearch"], status=None), nothing)
    assert any(text.startswith("B is missing: 24 studies") for text in found.answer.warnings)


def test_each_kind_of_studies_has_an_answer(tmp_path):
    problems = ["functions/{sphere,ackley}/d2", "zdt/zdt1/d30"]
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], problems, 12, trials=3).run(tmp_path / "s", workers=0)
    found = results.compare(**FEW)
    assert [one.scores.view for one in (found, *found.others)] == ["fixed-cost", "pareto"]
    assert len(found.to_data()["others"]) == 1
    assert "By pareto" in str(found)


def test_problems_that_one_python_function_made_are_functions_of_their_own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.py").write_text(
        "import optarena as oa\n"
        "def make(k):\n"
        "    @oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})\n"
        "    def f(x):\n"
        "        return (x['x'] - k / 10) ** 2\n"
        "    return f\n"
        "one, two = make(1), make(2)\n"
    )
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], ["mine.py:one", "mine.py:two"], 8, trials=3).run(
        "s", workers=0
    )
    assert results.compare(**FEW).answer.coverage["functions"] == 2


def test_a_part_of_a_comparison_is_the_comparison_of_that_part(tmp_path):
    rows = frame(optimizers=("RandomSearch", "Good", "Slow", "Other"), problems=tuple(f"p{i}/d2" for i in range(8)))
    results = oa.from_frame(rows.filter(~((pl.col("optimizer") == "Slow") & (pl.col("problem") == "p1/d2"))), tmp_path)
    whole = results.compare()
    for names, problems in (
        (["Good", "Slow"], ["p1/d2", "p2/d2", "p3/d2"]),
        (["RandomSearch", "Good"], [f"p{i}/d2" for i in range(7)]),
        (["Good", "Other", "RandomSearch"], ["p4/d2"]),
    ):
        part, alone = whole.part(names, problems), results.filter(problem=problems).compare(*names)
        for key in ("winner", "headline", "scope", "order", "coverage", "failed", "values"):
            assert getattr(part.answer, key) == getattr(alone.answer, key), key
        for ours, theirs in zip(part.answer.pairs, alone.answer.pairs, strict=True):
            assert ours == pytest.approx(theirs)
        assert part.answer.score == {name: pytest.approx(ends) for name, ends in alone.answer.score.items()}
        # what leaving out and other ways of scoring change is not looked at in a part
        assert set(part.answer.warnings) <= set(alone.answer.warnings)
