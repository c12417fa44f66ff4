"""One score scale for a store, the same on every screen: the comparison, the leaderboards, the report, the figures."""

from __future__ import annotations

import json

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.report.material import Material
from optarena.report.page import payload
from stores import frame

TABLES = {
    "fixed-cost": "leaderboard-0",
    "fixed-target": "runtimes",
    "pareto": "fronts-board",
    "anytime": "anytime",
}
"""The leaderboard of each view on a report's page."""


def fronts() -> pl.DataFrame:
    rng = np.random.default_rng(3)
    rows = []
    for p in range(3):
        for o, optimizer in enumerate(("RandomSearch", "Good")):
            for trial in range(4):
                for k in range(1, 9):
                    x = float(rng.random())
                    name = {"problem": f"p{p}/d2", "optimizer": optimizer, "trial": trial, "evaluation": k}
                    rows.append({**name, "f.1": x, "f.2": 1.2 - x + float(rng.random()) / (1 + o)})
    return pl.DataFrame(rows)


def solvers() -> pl.DataFrame:
    rng = np.random.default_rng(4)
    rows = []
    for p in range(4):
        for o, optimizer in enumerate(("Exact", "Greedy", "Slow")):
            for trial in range(3):
                for k in range(1, 6):
                    name = {"problem": f"i{p}", "optimizer": optimizer, "trial": trial, "budget_seconds": 10.0}
                    rows.append({**name, "seconds": k * (1 + o / 2), "value": 100 / k + o * float(rng.random())})
    return pl.DataFrame(rows)


STORES = {
    "fixed-cost": lambda: frame(),
    "fixed-target": lambda: frame(optimizers=("Better", "Good", "Slow")),
    "pareto": fronts,
    "anytime": solvers,
}


@pytest.fixture(scope="module", params=STORES)
def store(request, tmp_path_factory):
    path = tmp_path_factory.mktemp("scale") / "store"
    oa.from_frame(STORES[request.param](), path)
    return request.param, path


COLUMNS = ("optimizer", "score", "score_lb", "score_ub")


def rounded(rows) -> list[tuple]:
    """Name, score and interval of each row, in order; rounded, since a page does not have every digit."""
    return [(row[0], *(None if x is None else float(f"{x:.5g}") for x in row[1:])) for row in rows]


def named(rows) -> list[tuple]:
    return rounded([row[name] for name in COLUMNS] for row in rows)


def on_the_page(table) -> list[tuple]:
    """The same of a table of the report's page, for all dimensions."""
    labels = [column["label"] for column in table["columns"]]
    name, score = labels.index("optimizer"), labels.index("score")
    interval = next(i for i, label in enumerate(labels) if i > score and label.startswith("95 %"))
    scopes = table["scopes"] or ["all"] * len(table["rows"])
    kept = [row for row, scope in zip(table["rows"], scopes, strict=True) if scope == "all"]
    return rounded((row[name], row[score], *row[interval]) for row in kept)


def test_the_answer_and_the_leaderboard_have_the_same_scores_intervals_and_order(store, capsys):
    view, path = store
    assert main(["compare", str(path), "--format", "json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert compared["over"] == "trials"  # so few functions say nothing of others
    assert main(["score", str(path), "--format", "json"]) == 0
    scored = json.loads(capsys.readouterr().out)
    assert scored["view"] == view
    rows = compared["tables"]["optimizers"]
    assert named(rows) == named(scored["leaderboard"]["rows"])
    assert scored["leaderboard"]["intervals"] == "95 % over trials"


def test_what_was_asked_for_stays(store, capsys):
    _, path = store
    asked = ["--over", "problems", "--format", "json"]
    assert main(["compare", str(path), *asked]) == 0
    rows = json.loads(capsys.readouterr().out)["tables"]["optimizers"]
    assert main(["score", str(path), *asked]) == 0
    assert named(rows) == named(json.loads(capsys.readouterr().out)["leaderboard"]["rows"])


def test_the_report_has_them_in_its_answer_its_leaderboard_and_its_figure(store):
    view, path = store
    results = oa.open(path)
    compared = rounded(results.compare().table("optimizers").select(COLUMNS).iter_rows())
    material = Material(results)
    blocks = [block for section in payload(material)["sections"] for block in section.get("blocks", ())]
    tables = {table["id"]: table for block in blocks if "columns" in (table := block.get("table", block))}
    for name in ("answer", TABLES[view]):
        assert on_the_page(tables[name]) == compared, name
    if view == "fixed-cost":
        final = material.final("value").filter(pl.col("scope") == "all")
        assert rounded(final.select("optimizer", "score", "lower", "upper").iter_rows()) == compared


def test_a_leaderboard_is_sorted_by_the_score_and_shows_it_first(store, capsys):
    view, path = store
    assert main(["score", str(path), "--wide"]) == 0
    lines = capsys.readouterr().out.splitlines()
    at = next(i for i, line in enumerate(lines) if line.split()[:2] == ["optimizer", "score"])
    shown = [line.split()[0] for line in lines[at + 1 : at + 3]]
    assert shown == oa.open(path).compare().table("optimizers")["optimizer"].to_list()[:2], view


def test_the_scores_of_problems_average_to_the_leaderboard(tmp_path):
    oa.from_frame(frame(), tmp_path / "store")
    results = oa.open(tmp_path / "store")
    by_problem = Material(results).by_problem("value").group_by("optimizer").agg(pl.col("score").mean())
    board = results.fixed_cost().leaderboard()
    assert dict(by_problem.iter_rows()) == pytest.approx(dict(board.select("optimizer", "score").iter_rows()))


def test_a_table_of_the_view_keeps_its_documented_intervals(tmp_path):
    oa.from_frame(frame(), tmp_path / "store")
    results = oa.open(tmp_path / "store")
    assert results.fixed_cost().summary.equals(results.fixed_cost(over="problems").summary)
    assert not results.fixed_cost().leaderboard().equals(results.fixed_cost(over="problems").leaderboard())
