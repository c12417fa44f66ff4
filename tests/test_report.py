"""The report as a file: whole, small, under a policy that holds, with names as text and every kind of store."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import tomllib
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
from optarena.cli import main
from optarena.report import sections
from optarena.report.how import as_toml
from optarena.report.material import Material
from optarena.report.page import page, payload
from optarena.store import Store
from stores import FORMULA, SCRIPT, frame, hostile, imported


def data_of(text: str) -> dict:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(block.group(1))


def without_vega(text: str) -> str:
    return text.replace(re.search(r"</script>\n<script>(.*?)</script>", text, re.DOTALL).group(1), "")


def section(data: dict, name: str) -> dict:
    return next(one for one in data["sections"] if one["id"] == name)


def table(data: dict, name: str) -> dict:
    return next(block for one in data["sections"] for block in one.get("blocks", ()) if block.get("id") == name)


# ---- the file --------------------------------------------------------------------------------------------------------


def test_the_report_is_one_file_that_asks_for_nothing_else(tmp_path, capsys):
    imported(tmp_path / "store")
    assert main(["report", str(tmp_path / "store"), "-o", "r.html"]) == 0
    assert "r.html" in capsys.readouterr().out
    text = Path("r.html").read_text()
    assert not re.search(r"(src|href)\s*=\s*[\"']?(https?:)?//", without_vega(text))
    assert len(text) < 2.5e6


def test_the_policy_allows_exactly_the_scripts_and_the_style_of_the_file(tmp_path):
    text = page(imported(tmp_path / "store"))
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text).group(1)
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy

    def allowed(kind):
        return set(re.findall(r"'(sha256-[^']*)'", re.search(rf"{kind}-src ([^;]*)", policy).group(1)))

    def hashes(found):
        return {f"sha256-{base64.b64encode(hashlib.sha256(one.encode()).digest()).decode()}" for one in found}

    assert allowed("script") == hashes(re.findall(r"<script>(.*?)</script>", text, re.DOTALL))
    assert allowed("style") == hashes(re.findall(r"<style>(.*?)</style>", text, re.DOTALL))
    assert " style=" not in text.split("<script", 1)[0]


def test_names_never_become_markup(tmp_path):
    text = page(hostile(tmp_path / "store"))
    assert text.count("<script") == 3  # the data, Vega, the page's own
    assert text.count("</script>") == 3
    assert "<img" not in without_vega(text)
    data = data_of(text)
    assert SCRIPT in [one["name"] for one in data["optimizers"]]
    rows = table(data, "failed-evaluations")["rows"]
    assert SCRIPT in rows[0][4]


def test_vega_is_given_names_as_data_and_never_as_expressions(tmp_path):
    data = payload(Material(hostile(tmp_path / "store")))

    def expressions(value):
        if isinstance(value, dict):
            for key, item in value.items():
                if key in ("test", "expr", "signal", "calculate", "filter", "labelExpr", "field") and isinstance(
                    item, str
                ):
                    yield item
                yield from expressions(item)
        elif isinstance(value, list):
            for item in value:
                yield from expressions(item)

    blocks = [block for one in data["sections"] for block in one.get("blocks", ())]
    blocks += [inner for block in blocks for inner in block.get("blocks", ())]
    specs = [block["spec"] for block in blocks if "spec" in block]
    specs += section(data, "problems")["blocks"][0]["specs"].values()
    found = set(expressions(specs))
    assert "optimizer" in found
    assert not any(sign in text for text in found for sign in "<\"'`{")


def test_latex_of_the_page_escapes_names(tmp_path):
    data = payload(Material(hostile(tmp_path / "store")))
    latex = table(data, "leaderboard-0")["latex"]
    assert latex["head"].startswith("% fixed cost after 20 evaluations")
    assert r"\begin{tabular}{lrrrl}" in latex["head"]
    lines = "\n".join(latex["rows"])
    assert r"\textbackslash{}input\{/etc/passwd\}" in lines
    assert r"\mathbf" in lines
    assert latex["tail"].endswith(r"\end{tabular}")


# ---- its numbers -----------------------------------------------------------------------------------------------------


def test_the_leaderboard_is_that_of_the_view(tmp_path):
    results = imported(tmp_path / "store")
    board = results.fixed_cost().leaderboard()
    rows = table(payload(Material(results)), "leaderboard-0")
    mine = [row for row, scope in zip(rows["rows"], rows["scopes"], strict=True) if scope == "all"]
    assert [row[0] for row in mine] == board["optimizer"].to_list()
    assert [row[1] for row in mine] == pytest.approx(board["mean_normed"].to_list(), rel=1e-4)
    assert [row[2][0] for row in mine] == pytest.approx(board["mean_normed_lb"].to_list(), rel=1e-4)
    assert [row[3] for row in mine] == pytest.approx(board["score"].to_list(), rel=1e-4)


def test_the_leaderboard_of_a_dimension_is_scored_in_the_frame_of_all(tmp_path):
    results = imported(tmp_path / "store")
    whole = results.fixed_cost()
    part = results.filter(dimension=2).fixed_cost(frame=whole.pinned).leaderboard()
    rows = table(payload(Material(results)), "leaderboard-0")
    mine = [row for row, scope in zip(rows["rows"], rows["scopes"], strict=True) if scope == "2"]
    assert [row[0] for row in mine] == part["optimizer"].to_list()
    assert [row[1] for row in mine] == pytest.approx(part["mean_normed"].to_list(), rel=1e-4)


def test_the_words_name_the_first_and_do_not_claim_what_overlaps(tmp_path):
    results = imported(tmp_path / "store")
    first, second = results.fixed_cost().leaderboard().rows(named=True)[:2]
    words = section(payload(Material(results)), "overview")["words"]
    assert words[0].startswith(f"{first['optimizer']} comes first of 3 optimizers on 3 problems, after 20 evaluations")
    assert second["optimizer"] in words[1]
    meet = first["mean_normed_ub"] >= second["mean_normed_lb"]
    assert ("overlap" in words[1]) == meet


def test_the_table_of_running_times_is_that_of_the_view(tmp_path):
    experiment = oa.Experiment(["RandomSearch", "Scipy-Powell"], "bbob/f{1,2}/d{2,3}/i{1,2}", "20*D", trials=1)
    results = experiment.run(tmp_path / "s", workers=0)
    data = payload(Material(results))
    part = section(data, "fixed-target")
    assert part["words"][0].startswith("Targets reached by the end of the runs")
    shown = table(data, "ert-table-0")
    assert [one["label"] for one in shown["columns"][2:-1]] == ["10", "1", "0.1", "0.01", "0.001", "1e-05", "1e-07"]
    erts = results.fixed_target().ert
    for row in shown["rows"]:
        function, dimension = row[0].split("/")[1], int(row[0].split("/d")[1])
        mine = erts.filter(function=function, dimension=dimension, optimizer=row[1])
        for value, target in zip(row[2:-1], [10, 1, 0.1, 0.01, 0.001, 1e-5, 1e-7], strict=True):
            known = mine.filter((pl.col("target") / target - 1).abs() < 1e-6)["ert"][0]
            assert value == ("inf" if known == float("inf") else pytest.approx(known, rel=1e-4))
    assert data["functions"][0] == {"name": "bbob/f1/d2", "problems": ["bbob/f1/d2/i1", "bbob/f1/d2/i2"]}
    kinds = [block["kind"] for block in part["blocks"]]
    assert kinds == ["table", "pair", "figure", "figure", "figure", "table", "figure", "figure"]
    assert len(table(data, "runtimes")["rows"]) == 2 * 3


def test_no_raw_evaluation_is_shipped_and_curves_are_thin(tmp_path):
    results = imported(tmp_path / "store", evaluations=3000, problems=("a/d2", "b/d5"))
    data = payload(Material(results))
    sizes = {name: one["size"] for name, one in data["datasets"].items()}
    assert sizes["convergence evaluations"] <= 2 * 3 * 100
    assert sizes["summary value"] <= 3 * 3 * 100
    assert len(page(results)) < 2.5e6


def test_many_problems_are_cut_and_the_page_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr("optarena.report.sections.problems.CURVES", 9)
    results = imported(tmp_path / "store", problems=[f"p{i}/d2" for i in range(6)], trials=2, evaluations=5)
    data = payload(Material(results))
    assert "Curves of 3 of 6 problems are here" in section(data, "problems")["words"][0]
    assert len(set(data["datasets"]["convergence evaluations"]["columns"]["problem"])) == 3


def test_how_it_was_run_gives_commands_that_run_it_again(tmp_path, capsys):
    arguments = ["-o", "RandomSearch", "-o", "QuasiRandom", "-p", "functions/{sphere,ackley}/d2", "-n", "8", "-r", "2"]
    assert main(["run", *arguments, "--store", "store", "--workers", "1"]) == 0
    text, commands = (
        block["text"]
        for block in section(payload(Material(oa.open("store"))), "how")["blocks"]
        if block["kind"] == "code"
    )
    Path("experiment.toml").write_text(text)
    run, report = commands.splitlines()
    assert main(run.split()[1:]) == 0
    assert main(report.split()[1:]) == 0
    keep = ["study", "optimizer", "problem", "trial", "best", "best_evaluation"]
    assert oa.open("again").studies.select(keep).equals(oa.open("store").studies.select(keep))


def test_an_experiment_as_toml_comes_back_the_same():
    data = {
        "optimizers": [{"use": "A", "settings": {"deep": {"x y": [1, 2.5, True]}, "none": '"q" \\ \n\x7f é'}}],
        "problems": ["a/{1..3}", "b"],
        "trials": 3,
        "limits": {"study": 2.0},
        "budget": "10*D",
    }
    assert tomllib.loads(as_toml(data)) == data


# ---- every kind of store ---------------------------------------------------------------------------------------------


def test_without_random_search_the_report_says_why_and_shows_the_rest(tmp_path):
    data = payload(Material(imported(tmp_path / "store", optimizers=("Good", "Slow"))))
    assert "no RandomSearch" in section(data, "fixed-cost")["absent"]
    assert "no RandomSearch" in section(data, "overview")["words"][0]
    assert section(data, "overview")["blocks"][0]["kind"] == "figure"
    assert data["datasets"]["convergence evaluations"]["size"]


def test_a_single_problem_has_intervals_over_its_trials(tmp_path):
    data = payload(Material(imported(tmp_path / "store", problems=("a/d2",))))
    row = table(data, "leaderboard-0")["rows"][0]
    assert all(isinstance(end, float) for end in row[2])
    assert "over trials" in table(data, "leaderboard-0")["columns"][2]["help"]


def test_an_empty_store_has_a_page(tmp_path):
    Store(tmp_path / "store").create()
    data = data_of(page(oa.open(tmp_path / "store")))
    assert section(data, "overview")["words"] == ["Nothing has been run here yet."]


def test_several_objectives_have_a_page(tmp_path):
    values = frame().rename({"value": "f.a"}).with_columns(pl.col("f.a").alias("f.b"))
    oa.from_frame(values, tmp_path / "store")
    data = data_of(page(oa.open(tmp_path / "store")))
    assert "several objectives" in section(data, "fixed-cost")["absent"]
    assert "several objectives" in section(data, "fixed-target")["absent"]
    assert data["datasets"]["progress"]["size"] == 9


def test_studies_that_were_planned_and_not_begun_are_there(tmp_path):
    experiment = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", 5, trials=2)
    store = Store(tmp_path / "store")
    store.create()
    plan = experiment.plan()
    store.begin_run(plan, [study.id for study in plan.studies])
    data = data_of(page(oa.open(store.path)))
    assert "4 missing" in data["counts"]
    assert set(data["datasets"]["progress"]["columns"]["state"]) == {"incomplete"}


def test_a_hidden_metric_has_figures_of_its_own(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}}, metrics=["held_out"])
    def loss(x):
        return oa.Evaluation([x["x"]], metrics={"held_out": x["x"] ** 2})

    experiment = oa.Experiment(["RandomSearch", "QuasiRandom"], [loss, "functions/sphere/d2"], 20, trials=3)
    data = payload(Material(experiment.run(tmp_path / "s", workers=0)))
    assert table(data, "leaderboard-1")["title"].endswith("held_out, hidden from the optimizers")


def test_part_of_a_store_can_be_reported(tmp_path, capsys):
    imported("store")
    assert main(["report", "store", "-o", "r.html", "--problem", "a/*", "--dimension", "2"]) == 0
    assert [one["name"] for one in data_of(Path("r.html").read_text())["problems"]] == ["a/d2"]
    assert main(["report", "store", "-o", "."]) == 2
    assert "is a directory: name a file" in capsys.readouterr().err


def test_the_results_write_their_report(tmp_path):
    assert imported(tmp_path / "store").report(tmp_path / "deep" / "r.html").is_file()


def test_sections_are_what_the_registry_says(tmp_path):
    data = payload(Material(imported(tmp_path / "store")))
    assert [one["id"] for one in data["sections"]] == [one.id for one in sections.SECTIONS]
    assert FORMULA.startswith("=")


def found_on(results: oa.Results, problem: str, optimizer: str) -> list:
    """The row of "What was found": problem, optimizer, median, quartiles, best, trials, …"""
    blocks = section(payload(Material(results)), "problems")["blocks"]
    rows = next(block["table"]["rows"] for block in blocks if "table" in block)
    return next(row for row in rows if (row[0], row[1]) == (problem, optimizer))


def test_medians_of_the_page_are_those_of_the_view(tmp_path):
    results = imported(tmp_path / "store", trials=4)
    last = results.fixed_cost().problem.filter((pl.col("problem") == "a/d2") & (pl.col("optimizer") == "Slow"))
    row = found_on(results, "a/d2", "Slow")
    assert row[2] == pytest.approx(last["median"][-1], rel=1e-4)
    assert row[3][0] <= row[2] <= row[3][1]
    up = oa.from_frame(frame(trials=4).with_columns(-pl.col("value"), sense=pl.lit("max")), tmp_path / "up")
    down = found_on(up, "a/d2", "Slow")
    assert down[2] == -row[2]
    assert down[3] == [-row[3][1], -row[3][0]]


def test_a_trial_that_found_nothing_counts_as_the_worst(tmp_path):
    rows = frame(trials=2).with_columns(
        value=pl.when((pl.col("optimizer") == "Slow") & (pl.col("trial") == 0)).then(float("nan")).otherwise("value"),
    )
    row = found_on(oa.from_frame(rows, tmp_path / "store"), "a/d2", "Slow")
    assert row[5] == 2
    assert row[3][1] == "inf"


def test_no_winner_is_named_where_optimizers_have_different_problems(tmp_path):
    rows = frame().filter(~((pl.col("optimizer") == "Good") & (pl.col("problem") == "c/d5")))
    words = section(payload(Material(oa.from_frame(rows, tmp_path / "store"))), "overview")["words"]
    assert words[0].startswith("No winner is named")
    assert "Good 2" in words[0]
