"""`compare --by problem`: Scott-Knott ranks, medians and interquartile ranges per problem and measure; fronts without
any hypervolume; options of reference sets that change nothing."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.stats.scott_knott import scott_knott

BOX = {"ideal.1": 0.0, "ideal.2": 0.0, "nadir.1": 1.0, "nadir.2": 1.0}


def studies(fronts, problem="p", known=BOX):
    """Rows of studies: {optimizer: [front of a trial, …]}."""
    return [
        {"problem": problem, "optimizer": name, "trial": trial, "f.1": float(a), "f.2": float(b), **known}
        for name, trials in fronts.items()
        for trial, front in enumerate(trials)
        for a, b in front
    ]


def line(shift, n=5):
    return [(x + shift, 1 - x + shift) for x in np.linspace(0, 1, n)]


def results(tmp_path, rows, name="store"):
    return oa.from_frame(pl.DataFrame(rows, infer_schema_length=None), tmp_path / name)


def two(tmp_path, trials=6):
    """A is clearly better than B and C, which are alike."""
    rng = np.random.default_rng(1)
    fronts = {
        "A": [line(0.01 * rng.random()) for _ in range(trials)],
        "B": [line(0.3 + 0.05 * rng.random()) for _ in range(trials)],
        "C": [line(0.3 + 0.05 * rng.random()) for _ in range(trials)],
    }
    return results(tmp_path, studies(fronts) + studies(fronts, "q"))


def test_ranks_medians_and_iqrs_are_those_of_the_trials(tmp_path):
    found = two(tmp_path)
    made = found.ranks("hypervolume", "igd", "spread")
    assert made.metrics == ["hypervolume", "igd", "spread"]
    each = found.pareto().table("studies")
    for problem in ("p", "q"):
        for metric, sign in (("hypervolume", -1), ("igd", 1), ("spread", 1)):
            rows = made.table.filter(pl.col("problem") == problem, pl.col("metric") == metric)
            values = {
                n: each.filter(pl.col("optimizer") == n, pl.col("problem") == problem)[metric].to_numpy() for n in "ABC"
            }
            expected = scott_knott({name: sign * x for name, x in values.items()}).ranks
            assert dict(zip(rows["optimizer"], rows["rank"], strict=True)) == expected
            assert rows["better"].unique().to_list() == ["higher" if sign < 0 else "lower"]
            for row in rows.iter_rows(named=True):
                x = values[row["optimizer"]]
                assert row["median"] == pytest.approx(np.median(x))
                assert row["iqr"] == pytest.approx(np.quantile(x, 0.75) - np.quantile(x, 0.25))
                assert (row["n"], row["missing"]) == (6, 0)
    ranks = made.table.filter(pl.col("problem") == "p", pl.col("metric") == "hypervolume")
    assert dict(zip(ranks["optimizer"], ranks["rank"], strict=True)) == {"A": 1, "B": 2, "C": 2}


def test_an_empty_front_is_the_worst_and_has_no_numbers(tmp_path):
    empty = {"problem": "p", "optimizer": "B", "status": "failed", **BOX}
    rows = studies({"A": [line(0.5)] * 6}) + [{**empty, "trial": trial} for trial in range(6)]
    made = results(tmp_path, rows).ranks("igd", "hypervolume")
    last = made.table.filter(pl.col("optimizer") == "B", pl.col("metric") == "igd").row(0, named=True)
    assert (last["rank"], last["missing"], last["median"], last["iqr"]) == (2, 6, None, None)


def test_a_front_of_one_point_has_no_spread(tmp_path):
    made = results(tmp_path, studies({"A": [line(0.1)] * 6, "B": [[(0.0, 0.0)]] * 6})).ranks("igd", "spread")
    rows = made.table.filter(pl.col("metric") == "spread")
    assert rows["optimizer"].to_list() == ["A", "B"]
    assert rows["missing"].to_list() == [0, 6]


def test_spread_of_three_objectives_is_the_generalised_one(tmp_path):
    rng = np.random.default_rng(2)
    rows = [
        {"problem": "three", "optimizer": name, "trial": t, "f.1": a, "f.2": b, "f.3": c}
        for name in "AB"
        for t in range(3)
        for a, b, c in rng.random((20, 3)).tolist()
    ]
    made = results(tmp_path, rows).ranks("hypervolume", "spread")
    assert made.table["metric"].unique().sort().to_list() == ["generalised_spread", "hypervolume"]


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    two(tmp_path)
    return str(tmp_path / "store")


def test_the_command_gives_text_latex_json_and_csv(store, capsys):
    command = ["compare", store, "--by", "problem", "--metric", "hypervolume,igd,spread"]
    assert main(command) == 0
    text = capsys.readouterr().out
    assert [line for line in text.splitlines() if line.startswith(("p: ", "q: "))] == [
        f"{problem}: {measure}"
        for problem in "pq"
        for measure in ("hypervolume (more is better)", "igd (less is better)", "spread (less is better)")
    ]
    assert "Scott-Knott: no test separates" in text
    assert main([*command, "--format", "latex"]) == 0
    latex = capsys.readouterr().out
    assert latex.count("\\begin{tabular}") == 1
    assert latex.count("\\mathbf{1}") >= 6  # rank 1 on each problem by each measure
    assert "problem & measure & rank & optimizer & median & IQR" in latex
    assert main([*command, "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["by"], data["metrics"]) == ("problem", ["hypervolume", "igd", "spread"])
    assert len(data["ranks"]) == 2 * 3 * 3
    assert main([*command, "--format", "csv"]) == 0
    assert capsys.readouterr().out.startswith("problem,metric,better,rank,optimizer,n,missing,median,iqr,q10")
    assert main(["compare", store, "A", "B", "--by", "problem"]) == 0
    text = capsys.readouterr().out
    assert "hypervolume_ratio" in text
    assert "  C  " not in text


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--metric", "hypervolume,igd"], "one metric decides who is better: several need --by problem"),
        (["--metric", "spread"], "spread alone says nothing of how good a front is"),
        (["--by", "problem", "--metric", "spread"], "rank by another beside it: hypervolume,spread"),
        (["--by", "problem", "--metric", "hypervolum"], "Did you mean 'hypervolume'"),
        (["--by", "problem", "--metric", "igd,igd"], "a metric is named twice: igd, igd"),
        (["--by", "problem", "--details"], "--details has no effect on ranks by problem"),
        (["--by", "problem", "--alpha", "2"], "alpha lies between 0 and 1"),
        (["D", "--by", "problem"], "no scores of 'D'"),
    ],
)
def test_what_cannot_be_ranked_is_refused_in_a_sentence(store, words, said, capsys):
    assert main(["compare", store, *words]) == 2
    assert said in capsys.readouterr().err


def test_one_objective_is_ranked_by_its_values(tmp_path):
    rows = [
        {"problem": "f", "optimizer": name, "trial": t, "value": 10.0 * i + t}
        for i, name in enumerate("AB")
        for t in range(8)
    ]
    rows += [{"problem": "f", "optimizer": "RandomSearch", "trial": t, "value": 50.0 + t} for t in range(8)]
    made = results(tmp_path, rows).ranks()
    assert made.table["optimizer"].to_list() == ["A", "B", "RandomSearch"]
    assert made.table["rank"].to_list() == [1, 2, 3]
    assert made.table["median"].to_list() == [3.5, 13.5, 53.5]


# ---- fronts without any hypervolume ---------------------------------------------------------------------------------


def far(tmp_path, **more):
    """On `p` no front reaches the reference point, and A is nearer to it."""
    return results(tmp_path, studies({"A": [line(2.0)] * 3, "B": [line(4.0)] * 3}), **more)


def test_where_nobody_has_a_hypervolume_igd_plus_ranks_and_it_is_said(tmp_path, capsys):
    view = far(tmp_path).pareto()
    assert view.flat_problems == ["p"]
    assert view.leaderboard()["optimizer"].to_list() == ["A", "B"]
    assert view.leaderboard()["best_on"].to_list() == [1, 0]
    assert main(["score", str(tmp_path / "store"), "--view", "pareto"]) == 0
    assert "no front has any: ranked by IGD+" in capsys.readouterr().out
    assert main(["score", str(tmp_path / "store"), "--view", "pareto", "--format", "latex"]) == 0
    latex = capsys.readouterr().out
    assert "; no front has any: ranked by IGD+" in latex.splitlines()[0]
    assert "A & -- & -- & $0$ &" in latex  # a hypervolume of 0 is nobody's best
    made = oa.open(tmp_path / "store").ranks("hypervolume")
    assert made.table["metric"].to_list() == ["igd_plus", "igd_plus"]
    assert made.notes == ["p: no front has any hypervolume: ranked by IGD+"]


def test_b_first_by_name_does_not_win_where_all_hypervolumes_are_zero(tmp_path):
    found = results(tmp_path, studies({"A": [line(4.0)] * 3, "B": [line(2.0)] * 3}))
    assert found.pareto().leaderboard()["optimizer"].to_list() == ["B", "A"]


def test_latex_bolds_the_best_of_every_indicator(tmp_path, capsys):
    two(tmp_path)
    assert main(["score", str(tmp_path / "store"), "--view", "pareto", "--format", "latex"]) == 0
    rows = [text for text in capsys.readouterr().out.splitlines() if "&" in text]
    names = [cell.strip(" \\") for cell in rows[0].split("&")]
    bold = {name for row in rows[1:] for name, cell in zip(names, row.split("&"), strict=True) if "mathbf" in cell}
    assert {"hypervolume", "spread", "IGD", "IGD+", "epsilon", "GD"} <= bold


# ---- what the frame says --------------------------------------------------------------------------------------------


def test_the_frame_says_union_where_nothing_was_selected(tmp_path):
    found = results(tmp_path, studies({"A": [line(0.0, 5)], "B": [line(0.0, 3)]}, known={}))
    assert found.pareto().pinned.problems["p"].source == "union, 5 of all fronts"
    chosen = found.pareto(size=3, reference="cdom").pinned.problems["p"]
    assert chosen.source == "cdom, 3 of all fronts"


def test_size_and_epsilon_without_effect_say_so(tmp_path):
    found = results(tmp_path, studies({"A": [line(0.0, 5)], "B": [line(0.0, 3)]}, known={}))
    notes = found.pareto(size=50, epsilon=1e-6).notes
    assert "size has no effect on p: all fronts together have 5 points" in notes
    assert "epsilon has no effect on p: no two points are that near" in notes
    assert not any("no effect" in note for note in found.pareto(size=2, epsilon=0.3).notes)
    front = "[[0.0, 1.0], [1.0, 0.0]]"
    rows = [row | {"front": front} for row in studies({"A": [line(0.0, 5)]}, "r", known={})]
    notes = results(tmp_path, rows, "known").pareto(size=2, epsilon=0.1).notes
    assert "size has no effect on r: the true front is known" in notes
    assert "epsilon has no effect on r: the true front is known" in notes


def test_notes_say_which_problems_are_not_ranked_and_only_those(tmp_path, capsys):
    rows = ["problem,optimizer,evaluation,f.a,f.b,status", "p,A,1,1,2,", "p,B,1,2,1,", "q,A,1,1,2,", "s,A,1,,,error"]
    (tmp_path / "t.csv").write_text("\n".join(rows) + "\n")
    assert main(["import", "csv", str(tmp_path / "t.csv"), "--store", str(tmp_path / "store")]) == 0
    ranks = oa.open(tmp_path / "store").ranks("hypervolume")
    assert set(ranks.table["problem"]) == {"p", "q"}
    assert not [note for note in ranks.notes if "left out" in note]
    assert "some optimizers did not run on all problems: each problem ranks those that ran on it" in ranks.notes
    assert "not ranked: s (no study found a feasible point, and its true front is not known)" in ranks.notes
