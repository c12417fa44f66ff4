"""The pareto view of a store: what enters a front, what it is measured against, and what stays the same."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena import stats
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.staircase import staircase
from optarena.views.pareto import (
    additive_epsilon,
    anytime_hypervolume,
    attainment,
    attainment_difference,
    front,
    gd,
    generalised_spread,
    hypervolume,
    igd,
    igd_plus,
    non_dominated,
    r2,
    reference_set,
    spread,
)
from optarena.views.pareto.attainment import surface
from optarena.views.pareto.measures import INDICATORS, RANKED
from optarena.views.pareto.nearness import nearest, nearness

FIGURES = json.loads(gzip.decompress((Path(__file__).parent / "data" / "pareto" / "figures.json.gz").read_bytes()))
NAMES = ("RandomSearch", "Near", "Nearer")


def rows(m=2, evaluations=60, trials=3, problems=("a/d2", "b/d2"), seed=0) -> pl.DataFrame:
    """Fronts that come near a sphere at different speeds."""
    rng = np.random.default_rng(seed)
    parts = []
    for p, problem in enumerate(problems):
        for o, optimizer in enumerate(NAMES):
            for trial in range(trials):
                x = np.abs(rng.normal(size=(evaluations, m)))
                x /= np.linalg.norm(x, axis=1)[:, None]
                far = rng.random((evaluations, 1)) * np.exp(-o * np.arange(evaluations)[:, None] / 20)
                y = (1 + p) * x * (1 + far)
                parts.append(
                    pl.DataFrame(
                        {
                            "problem": problem,
                            "optimizer": optimizer,
                            "trial": trial,
                            "evaluation": np.arange(1, evaluations + 1),
                            "seconds": 0.1 * np.arange(1, evaluations + 1),
                            "x.a": x[:, 0],
                            "x.b": y[:, 1],
                            **{f"f.{j + 1}": y[:, j] for j in range(m)},
                        }
                    )
                )
    return pl.concat(parts)


def scored(frame, path, **options):
    oa.from_frame(frame, path)
    return oa.open(path).pareto(**options)


@pytest.fixture(scope="module")
def view(tmp_path_factory):
    return scored(rows(), tmp_path_factory.mktemp("two") / "store")


def of(view, study):
    """The indicators of a study at the end."""
    return np.array(
        [np.nan if value is None else value for value in view.table("studies").row(study)[-len(INDICATORS) :]]
    )


# ---- against the pure functions --------------------------------------------------------------------------------------


@pytest.mark.parametrize("m", [2, 3, 4])
def test_indicators_at_the_end_are_those_of_the_pure_functions_on_the_normalised_front(tmp_path, m):
    frame = rows(m, evaluations=150, trials=2, problems=("a/d2",))
    view = scored(frame, tmp_path / "s")
    one = view.frame["problems"]["a/d2"]
    low, high = np.array(one["ideal"]), np.array(one["nadir"])
    reference = (np.array(one["reference_set"]) - low) / (high - low)
    assert len(view.table("studies")) == 6
    for i, row in enumerate(view.table("studies").iter_rows(named=True)):
        mine = frame.filter(pl.col("optimizer") == row["optimizer"], pl.col("trial") == row["trial"])
        points = front((mine.select(pl.col("^f\\..*$")).to_numpy() - low) / (high - low))
        corner = np.full(m, 1.1)
        expected = {
            "hypervolume": hypervolume(points, corner),
            "hypervolume_ratio": hypervolume(points, corner) / hypervolume(reference, corner),
            "igd_plus": igd_plus(points, reference),
            "igd": igd(points, reference),
            "gd": gd(points, reference),
            "additive_epsilon": additive_epsilon(points, reference),
            "r2": r2(points, [0, 0]) if m == 2 else np.nan,
            "spread": spread(points, reference[np.argsort(reference[:, 0])[[0, -1]]]) if m == 2 else np.nan,
            "generalised_spread": generalised_spread(points, reference),
            "non_dominated": len(points),
        }
        np.testing.assert_allclose(of(view, i), [expected[name] for name in INDICATORS], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("m", [2, 3])
def test_anytime_figures_are_those_of_the_first_evaluations_alone(tmp_path, m):
    frame = rows(m, evaluations=80, trials=2, problems=("a/d2",))
    whole = scored(frame, tmp_path / "whole")
    oa.from_frame(frame.filter(pl.col("evaluation") <= 10), tmp_path / "part")
    part = oa.open(tmp_path / "part").pareto(frame=whole.pinned)
    efforts = whole.anytime["effort"].unique().to_list()
    at = min(efforts, key=lambda effort: abs(effort - 10))
    oa.from_frame(frame.filter(pl.col("evaluation") <= at), tmp_path / "exact")
    part = oa.open(tmp_path / "exact").pareto(frame=whole.pinned)
    keys = ["optimizer", "problem", "indicator"]
    then = whole.anytime.filter(pl.col("effort") == at, pl.col("problem").is_not_null()).sort(keys)
    now = part.problem.sort(keys)
    assert then.select(keys).equals(now.select(keys))
    for name in ("mean", "median", "mean_lb"):
        np.testing.assert_allclose(then[name].to_numpy(), now[name].to_numpy(), rtol=1e-9)


def test_the_statistics_are_those_of_fixed_cost(view):
    table = view.table("studies").filter(pl.col("optimizer") == "Near", pl.col("problem") == "a/d2")
    values = np.sort(table["igd_plus"].to_numpy())
    keys = {"optimizer": "Near", "problem": "a/d2", "indicator": "igd_plus"}
    row = view.problem.filter(*(pl.col(key) == value for key, value in keys.items())).row(0, named=True)
    assert row["n"] == 3
    assert row["median"] == values[1]
    assert (row["median_lb"], row["median_ub"]) == (-np.inf, np.inf)  # of three trials
    assert row["mean"] == pytest.approx(values.mean())
    half = 4.302652729911275 * values.std(ddof=1) / np.sqrt(3)  # t.ppf(.975, 2)
    assert row["mean_ub"] == pytest.approx(values.mean() + half)
    random = view.table("studies").filter(pl.col("optimizer") == "RandomSearch", pl.col("problem") == "a/d2")
    assert row["mean_normed"] == pytest.approx(values.mean() / random["igd_plus"].mean())
    each = view.problem.filter(pl.col("optimizer") == "Near", pl.col("indicator") == "hypervolume_ratio")["mean"]
    over = view.summary.filter(pl.col("optimizer") == "Near", pl.col("indicator") == "hypervolume_ratio")
    assert over["mean"][0] == pytest.approx(each.mean())
    assert over["n"][0] == 2
    board = view.leaderboard()
    assert board["optimizer"].to_list() == ["Nearer", "Near", "RandomSearch"]
    assert board["best_on"].sum() == 2
    ones = view.problem.filter(pl.col("optimizer") == "RandomSearch", pl.col("indicator").is_in(RANKED))
    np.testing.assert_allclose(ones["mean_normed"].to_numpy(), 1)


# ---- what stays the same ---------------------------------------------------------------------------------------------


def figures(view):
    keys = ["optimizer", "problem", "indicator"]
    return view.problem.sort(keys).select(*keys, "mean", "median", "mean_normed")


def same(a, b):
    assert a.select(pl.selectors.string()).equals(b.select(pl.selectors.string()))
    for name in ("mean", "median", "mean_normed"):
        np.testing.assert_allclose(a[name].to_numpy(), b[name].to_numpy(), rtol=1e-9)


def test_the_view_does_not_change_with_order_duplicates_or_scale(view, tmp_path):
    frame = rows()
    turned = frame.with_columns(
        pl.col("evaluation").max().over("problem", "optimizer", "trial") + 1 - pl.col("evaluation")
    )
    turned = turned.drop("seconds").sort("optimizer", "problem", "trial", "evaluation")
    same(figures(scored(turned, tmp_path / "turned")), figures(view))
    later = frame.with_columns(pl.col("evaluation") + 60, pl.col("seconds") + 6)
    same(figures(scored(pl.concat([frame, later]), tmp_path / "twice")), figures(view))
    scaled = frame.with_columns(pl.col("f.1") * 1000 - 5, pl.col("f.2") * 1e-3 + 7)
    same(figures(scored(scaled, tmp_path / "scaled")), figures(view))


def test_maximised_objectives_are_scored_like_their_negatives_and_shown_as_they_are(view, tmp_path):
    frame = rows().with_columns((-pl.col("f.2")).alias("f.2"), pl.lit("max").alias("sense.2"))
    other = scored(frame, tmp_path / "max")
    same(figures(other), figures(view))
    one, two = view.frame["problems"]["a/d2"], other.frame["problems"]["a/d2"]
    assert two["senses"] == ["min", "max"]
    assert two["nadir"] == [one["nadir"][0], -one["nadir"][1]]
    assert other.fronts("a/d2")["f2"].max() < 0
    assert other.table("attainment")["f2"].max() < 0
    assert other.frame["hash"] != view.frame["hash"]


def test_what_failed_or_is_infeasible_or_infinite_enters_no_front_and_is_counted(view, tmp_path):
    frame = rows().with_columns(violation=0.0, status=pl.lit(None, dtype=pl.String))
    bad = frame.filter(pl.col("evaluation") <= 3).with_columns(
        pl.col("evaluation") + 60,
        pl.col("seconds") + 6,
        **{"f.1": -100.0, "f.2": pl.when(pl.col("evaluation") == 3).then(-np.inf).otherwise(-100.0)},
        violation=pl.when(pl.col("evaluation") == 1).then(0.1).otherwise(0.0),
        status=pl.when(pl.col("evaluation") == 2).then(pl.lit("error")),
    )
    bad = bad.with_columns(pl.when(pl.col("status").is_null()).then(pl.col("f.1", "f.2")))
    other = scored(pl.concat([frame, bad]), tmp_path / "bad")
    same(figures(other), figures(view))
    assert other.table("studies").select("failed", "infeasible", "not_finite").unique().rows() == [(1, 1, 1)]
    assert other.notes[1:4] == [
        f"18 {what} evaluations entered no front" for what in ("failed", "infeasible", "not finite")
    ]


def test_a_study_without_a_feasible_point_has_the_worst_figures_not_none(tmp_path):
    frame = rows(trials=2).with_columns(
        violation=pl.when(pl.col("optimizer") == "Near", pl.col("trial") == 0).then(1.0).otherwise(0.0)
    )
    view = scored(frame, tmp_path / "s")
    row = view.table("studies").filter(pl.col("optimizer") == "Near", pl.col("trial") == 0).row(0, named=True)
    assert (row["hypervolume"], row["igd_plus"], row["gd"], row["non_dominated"]) == (0, np.inf, None, 0)
    mean = view.problem.filter(pl.col("optimizer") == "Near", pl.col("indicator") == "igd_plus")["mean"]
    assert mean.to_list() == [np.inf, np.inf]
    assert any("no feasible point" in note for note in view.notes)
    worst = view.table("attainment").filter(pl.col("optimizer") == "Near", pl.col("level") == "worst")
    assert not worst.height
    msgspec.json.decode(msgspec.json.encode(oa._json.strict(view.to_data())))


# ---- frames ----------------------------------------------------------------------------------------------------------


def test_the_true_front_is_the_reference_where_it_is_known(tmp_path):
    line = [[a / 10, 1 - a / 10] for a in range(11)]

    class Line(oa.Problem):
        id = "line"
        space = oa.Space({name: {"type": "real", "space": "linear", "range": [0, 1]} for name in "ab"})
        objectives = (oa.Objective("1"), oa.Objective("2", "max"))
        known = oa.Known(front=tuple((a, -b) for a, b in line))

        def evaluate(self, x):
            return [x["a"], -(1 - x["a"] + x["b"])]

    results = oa.Experiment(["RandomSearch"], [Line()], 50, trials=2).run(tmp_path / "s", workers=0)
    view = results.pareto()
    one = view.frame["problems"]["line"]
    assert (one["source"], one["ideal"], one["nadir"]) == ("true", [0.0, 0.0], [1.0, -1.0])
    assert view.frame["hypervolume"]["line"] == pytest.approx(hypervolume(line, [1.1, 1.1]))
    assert results.pareto(reference="crowding").frame["problems"]["line"]["source"].startswith("union")
    assert (view.table("studies")["hypervolume_ratio"] < 1).all()


@pytest.mark.parametrize("mode", ["crowding", "bdom-count", "cdom"])
def test_reference_sets_are_made_of_all_fronts_by_the_mode_that_is_named(view, tmp_path, mode):
    results = view.results
    chosen = results.pareto(reference=mode, size=12)
    fronts = [part.select("f1", "f2").to_numpy() for part in view.fronts("a/d2").partition_by("optimizer", "trial")]
    expected = reference_set(fronts, 12, mode)
    one = chosen.frame["problems"]["a/d2"]
    np.testing.assert_allclose(one["reference_set"], expected)
    assert one["dominated"] == int((~non_dominated(expected)).sum())
    assert one["source"] == f"{mode}, {len(expected)} of all fronts"


def test_near_duplicates_of_parameters_leave_the_reference_set(view):
    coarse = view.results.pareto(epsilon=10.0)  # every point is the same
    assert [len(one["reference_set"]) for one in coarse.frame["problems"].values()] == [1, 1]
    assert "range of what was seen" in coarse.frame["problems"]["a/d2"]["bounds"]
    fine = view.results.pareto(epsilon={"a": 0.2, "b": 10.0})
    assert len(fine.frame["problems"]["a/d2"]["reference_set"]) < len(view.frame["problems"]["a/d2"]["reference_set"])
    with pytest.raises(OptarenaError, match="no parameter 'c'"):
        view.results.pareto(epsilon={"c": 0.2})


def test_a_pinned_frame_gives_the_same_figures_to_fewer_studies(view, tmp_path, capsys):
    path, store = tmp_path / "frame.json", str(view.results.path)
    assert main(["score", store, "--view", "pareto", "--save-frame", str(path)]) == 0
    capsys.readouterr()
    part = view.results.filter(optimizer=["RandomSearch", "Near"]).pareto(frame=path)
    same(figures(part), figures(view).filter(pl.col("optimizer") != "Nearer"))
    assert part.frame["hash"] == view.frame["hash"]
    assert view.results.filter(optimizer="Near").pareto().frame["hash"] != view.frame["hash"]
    data = json.loads(path.read_text())
    data["problems"]["c/d2"] = data["problems"].pop("b/d2")
    path.write_text(json.dumps(data))
    lacking = view.results.pareto(frame=path)
    assert lacking.problems == ["a/d2"]
    assert {
        "optimizer": None,
        "problem": "b/d2",
        "trial": None,
        "reason": "it is not in the frame",
    } in lacking.excluded
    path.write_text("{}")
    with pytest.raises(OptarenaError, match="not a frame of the pareto view"):
        view.results.pareto(frame=path)
    with pytest.raises(OptarenaError, match="leave reference"):
        view.results.pareto(frame=view.pinned, size=3)


def test_bad_options_are_named(view):
    with pytest.raises(OptarenaError, match="Did you mean 'crowding'"):
        view.results.pareto(reference="crowdin")
    with pytest.raises(OptarenaError, match="over must be"):
        view.results.pareto(over="runs")
    with pytest.raises(OptarenaError, match="true front is not known"):
        view.results.pareto(reference="true")
    with pytest.raises(OptarenaError, match="no effort axis"):
        view.results.pareto(axis="hours")
    with pytest.raises(OptarenaError, match="ranked by"):
        view.leaderboard("spread")
    for epsilon in (-1.0, float("nan"), {"x1": -0.1}):
        with pytest.raises(OptarenaError, match="epsilon"):
            view.results.pareto(epsilon=epsilon)
    assert view.results.pareto(axis="seconds", over="trials").anytime["effort"].max() == pytest.approx(6)


def test_studies_with_one_objective_are_named_or_refused(tmp_path):
    single = rows(problems=("one/d2",)).rename({"f.1": "value"}).drop("f.2")
    oa.from_frame(single, tmp_path / "one")
    with pytest.raises(OptarenaError, match="has a front to score: it has one objective: see the fixed-cost"):
        oa.open(tmp_path / "one").pareto()
    oa.from_frame(rows(), tmp_path / "one")
    view = oa.open(tmp_path / "one").pareto()
    assert {item["problem"] for item in view.excluded} == {"one/d2"}
    assert len(view.excluded) == 9


# ---- the command line ------------------------------------------------------------------------------------------------


def test_the_command_line_prints_every_format(view, capsys):
    store = str(view.results.path)
    assert main(["score", store, "--view", "pareto", "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data["view"] == "pareto"
    assert {"problem", "summary", "anytime"} <= set(data["tables"])
    assert data["frame"]["problems"]["a/d2"]["reference_set"]
    assert main(["score", store, "--view", "pareto"]) == 0
    assert "Nearer" in capsys.readouterr().out
    assert main(["score", store, "--view", "pareto", "--format", "latex"]) == 0
    assert r"\toprule" in capsys.readouterr().out
    assert main(["score", store, "--view", "pareto", "--format", "csv", "--table", "anytime"]) == 0
    assert capsys.readouterr().out.startswith("optimizer,problem,indicator,effort")
    assert main(["score", store, "--view", "pareto", "--epsilon", "a=0.1,b=1", "--reference", "cdom"]) == 0
    capsys.readouterr()
    assert main(["score", store, "--view", "pareto", "--epsilon", "much"]) == 2
    assert main(["score", store, "--view", "pareto", "--targets", "1"]) == 2
    assert main(["score", store, "--view", "fixed-cost", "--reference-point", "1"]) == 2
    assert "--reference-point is not an option" in capsys.readouterr().err


# ---- runtimes, attainment, searches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("indicator", ["hypervolume", "igd_plus", "additive_epsilon", "igd", "gd", "r2"])
def test_a_target_of_an_indicator_is_hit_when_the_front_reaches_it(view, indicator):
    target = 0.2
    ert = view.runtimes(indicator, targets=[target], bootstrap=0).ert
    row = ert.filter(pl.col("optimizer") == "Nearer", pl.col("function") == "a/d2").row(0, named=True)
    one = view.frame["problems"]["a/d2"]
    low, high = np.array(one["ideal"]), np.array(one["nadir"])
    reference = (np.array(one["reference_set"]) - low) / (high - low)
    value = {
        "hypervolume": lambda x: hypervolume(reference, [1.1, 1.1]) - hypervolume(x, [1.1, 1.1]),
        "igd_plus": lambda x: igd_plus(x, reference),
        "additive_epsilon": lambda x: additive_epsilon(x, reference),
        "igd": lambda x: igd(front(x), reference),
        "gd": lambda x: gd(front(x), reference),
        "r2": lambda x: r2(x, [0, 0]) - r2(reference, [0, 0]),
    }[indicator]
    hits = []
    for trial in range(3):
        mine = rows().filter(pl.col("optimizer") == "Nearer", pl.col("problem") == "a/d2", pl.col("trial") == trial)
        points = (mine.select("f.1", "f.2").to_numpy() - low) / (high - low)
        hits.append(next(k for k in range(1, 61) if value(points[:k]) <= target))
    assert row["n_success"] == 3
    assert row["ert"] == pytest.approx(np.mean(hits))


def test_the_command_line_counts_runtimes_to_an_indicator_in_the_frame_of_fronts(view, tmp_path, capsys):
    store, frame = str(view.results.path), str(tmp_path / "frame.json")
    asked = ["score", store, "--view", "fixed-target", "--indicator", "igd_plus", "--targets", "0.2,0.1"]
    assert main([*asked, "--reference", "cdom", "--save-frame", frame, "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    same = view.results.pareto(reference="cdom").runtimes("igd_plus", targets=[0.2, 0.1])
    assert told["frame"]["hash"] == same.frame["hash"]
    assert told["tables"]["ert"] == oa._json.strict(same.ert.to_dicts())
    assert main([*asked, "--frame", frame, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["tables"]["ert"] == told["tables"]["ert"]
    assert main([*asked, "--mode", "coco"]) == 2
    assert "--mode is not an option of runtimes to an indicator" in capsys.readouterr().err
    assert main(["score", store, "--view", "pareto", "--indicator", "igd"]) == 2
    assert main(["score", store, "--view", "fixed-target", "--indicator", "igd_plu"]) == 2
    assert "Did you mean 'igd_plus'" in capsys.readouterr().err


def test_nobody_reaches_the_hypervolume_of_a_reference_set_that_has_none(view):
    with pytest.raises(OptarenaError, match="its reference set has no hypervolume"):
        view.results.pareto(reference_point=1e-6).runtimes("hypervolume_ratio")


def test_runtimes_are_to_what_fronts_may_be_ranked_by(view):
    with pytest.raises(OptarenaError, match="indicator must be one of"):
        view.runtimes("spread")
    whole = view.runtimes()
    assert whole.frame["pareto"] == view.frame["hash"]
    assert whole.frame["precision"].startswith("hypervolume_ratio")


def test_attainment_surfaces_equal_the_reference():
    given, expected = (np.array(FIGURES[name]) for name in ("eaf_in", "eaf_out"))
    ours = attainment(given[:, :2], given[:, 2])
    assert sorted(map(tuple, ours.round(9).tolist())) == sorted(map(tuple, expected.round(9).tolist()))


def test_surfaces_and_differences_count_the_runs_that_attain_a_place():
    rng = np.random.default_rng(2)
    first = [rng.random((4, 2)) for _ in range(3)] + [np.zeros((0, 2))]
    second = [rng.random((3, 2)) for _ in range(2)]
    boxes = attainment_difference(first, second)
    for place in rng.random((300, 2)) * 1.2:
        counts = [sum(bool((x <= place).all(axis=1).any()) for x in side) for side in (first, second)]
        for k in range(1, 5):
            assert bool((surface(first, k) <= place).all(axis=1).any()) == (counts[0] >= k)
        inside = ((boxes[:, :2] <= place) & (place < boxes[:, 2:4])).all(axis=1)
        assert boxes[inside, 4].sum() == pytest.approx(counts[0] / 4 - counts[1] / 2)
    with pytest.raises(OptarenaError, match="two objectives"):
        attainment_difference([np.zeros((1, 3))], [np.zeros((1, 3))])
    with pytest.raises(OptarenaError, match="two or three"):
        attainment(np.zeros((1, 4)), [1])


@pytest.mark.parametrize(("n", "off"), [(0, 0.0), (1, 0.3), (40, 0.0), (200, 0.01), (200, 0.3), (90, -0.1)])
def test_sorted_search_finds_what_all_pairs_find(n, off):
    rng = np.random.default_rng(n)
    targets = front(np.column_stack([a := rng.random(80), 1 - np.sqrt(a)]))
    points = front(np.column_stack([b := rng.random(n), 1 - b**2]) + off) if n else np.zeros((0, 2))
    found = nearness(points, targets)
    distance, plus, epsilon = nearest(("distance", "plus", "epsilon"), points, targets)
    np.testing.assert_allclose(found, (distance, plus, epsilon), rtol=1e-12)
    assert igd(points, targets) == pytest.approx(distance.mean(), rel=1e-12)
    assert igd_plus(points[::-1], targets) == pytest.approx(plus.mean(), rel=1e-12)
    assert additive_epsilon(points, targets) == pytest.approx(epsilon.max(), rel=1e-12)


def test_a_dominated_point_can_be_the_nearest():
    edge = np.linspace(0.0, 1.0, 40)
    points = np.vstack((np.column_stack([edge, 1 - edge]), [[2.0, 2.0]]))
    assert igd(points, [[2.0, 2.0]]) == 0.0


def test_a_staircase_gives_points_outside_the_reference_no_volume():
    rng = np.random.default_rng(7)
    x = rng.integers(0, 12, (200, 2)).astype(float)
    gain, until = staircase(x, (7.5, 8.5))
    np.testing.assert_allclose(np.cumsum(gain), anytime_hypervolume(x, [7.5, 8.5]))
    assert sorted(np.flatnonzero(until == len(x)).tolist()) == np.flatnonzero(non_dominated(x)).tolist()


class Rare(oa.Problem):
    """Few points are feasible."""

    id = "rare"
    space = oa.Space({"a": {"type": "real", "space": "linear", "range": [0, 1]}})
    objectives = (oa.Objective("1"), oa.Objective("2"))
    constraints = 1
    known = oa.Known(front=((0.0, 1.0), (1.0, 0.0)))

    def evaluate(self, x):
        return oa.Evaluation([x["a"], 1 - x["a"]], [0.95 - x["a"]])


def test_a_study_without_a_feasible_point_counts_also_where_only_improvements_are_kept(tmp_path):
    views = []
    for record in ("all", "improvements"):
        plan = oa.Experiment(["RandomSearch", "QuasiRandom"], [Rare()], 12, trials=6, record=record, seed="1" * 32)
        views.append(plan.run(tmp_path / record, workers=0).pareto())
    kept = views[1].results.in_full().traces().lengths
    assert kept.min() == 0
    assert (views[1].table("studies")["non_dominated"] > 0).any()
    assert not views[1].excluded
    for name in ("problem", "summary", "anytime"):
        assert views[0].table(name).equals(views[1].table(name))


def test_a_note_says_where_fronts_at_the_end_had_different_budgets(tmp_path):
    short = rows(problems=("a/d2",)).filter((pl.col("optimizer") != "Near") | (pl.col("evaluation") <= 30))
    (note,) = [note for note in scored(short, tmp_path / "s").notes if "different" in note]
    assert note == "studies of a/d2 end after different numbers of evaluations: `anytime` compares them at equal effort"
    assert not [note for note in scored(rows(), tmp_path / "t").notes if "different" in note]


def test_two_optimizers_with_empty_fronts_are_as_far_from_the_reference_set(recwarn):
    assert stats.kendall_tau(np.array([1.0, 2.0]), np.array([np.inf, np.inf])) == 0
    assert stats.kendall_tau(np.array([1.0, 2.0, 3.0]), np.array([0.5, np.inf, np.inf])) == pytest.approx(2 / 6**0.5)
    assert not recwarn.list


@pytest.mark.parametrize(("noisy", "said"), [(False, True), (True, False)])
def test_a_known_front_that_found_points_refute_is_named(tmp_path, noisy, said):
    space = {name: {"type": "real", "space": "linear", "range": [0, 1]} for name in "ab"}

    def make(name, **known):
        def evaluate(x, rng=None):
            return [x["a"], 1 - x["a"] + x["b"]]

        one = (lambda x, rng: evaluate(x)) if noisy else (lambda x: evaluate(x))
        return oa.as_problem(space, sense=["min", "min"], id=name, noisy=noisy, **known)(one)

    problems = [
        make("lie", front=[[0.5, 1.5], [1.5, 0.6]]),
        make("true", front=[[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]]),
        make("ideal", ideal=[0.5, 0.5], nadir=[1, 1]),
    ]
    view = oa.Experiment(["RandomSearch"], problems, 60, trials=2).run(tmp_path / "store", workers=0).pareto()
    notes = "\n".join(view.notes)
    assert ("lie: points were found that dominate 2 of the 2 points of its known front" in notes) is said
    assert ("ideal: points were found that are better than its known ideal" in notes) is said
    assert "true:" not in notes


def test_the_leaderboard_says_on_which_problems_no_front_has_any_hypervolume(tmp_path, capsys):
    rows = [
        {"problem": problem, "optimizer": name, "f.1": x, "f.2": y, "front": "[[0.0, 1.0], [1.0, 0.0]]"}
        for problem, far in (("near", 0.0), ("far", 9.0))
        for name, x, y in (("A", far, 0.8), ("B", far + 0.1, 0.9 + far))
    ]
    oa.from_frame(pl.DataFrame(rows), tmp_path / "store")
    assert main(["score", str(tmp_path / "store"), "--view", "pareto"]) == 0
    assert "no front has any hypervolume on far: it counts 0 there" in capsys.readouterr().out
