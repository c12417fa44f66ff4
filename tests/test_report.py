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
from optarena.report import boards, how, latex, sections
from optarena.report.boards import fixed_cost
from optarena.report.drawing._style import POWERS_OF_TEN
from optarena.report.how import as_toml
from optarena.report.material import Material
from optarena.report.page import page, payload
from optarena.report.tables import Column, Table
from optarena.store import Store
from stores import SCRIPT, frame, hostile, imported


def data_of(text: str) -> dict:
    block = re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.DOTALL)
    return json.loads(block.group(1))


def without_vega(text: str) -> str:
    return text.replace(re.search(r"</script>\n<script>(.*?)</script>", text, re.DOTALL).group(1), "")


def section(data: dict, name: str) -> dict:
    return next(one for one in data["sections"] if one["id"] == name)


def table(data: dict, name: str) -> dict:
    blocks = [block.get("table", block) for one in data["sections"] for block in one.get("blocks", ())]
    return next(block for block in blocks if block.get("id") == name)


def column(shown: dict, label: str, scope: str | None = None) -> list:
    """A column of a table by its label, of the rows of one scope where it is given."""
    place = [one["label"] for one in shown["columns"]].index(label)
    scopes = shown["scopes"] or [None] * len(shown["rows"])
    return [row[place] for row, of in zip(shown["rows"], scopes, strict=True) if scope in (None, of)]


# ---- the file --------------------------------------------------------------------------------------------------------


def test_the_report_is_one_file_that_asks_for_nothing_else(tmp_path, capsys):
    imported(tmp_path / "store")
    assert main(["report", str(tmp_path / "store"), "-O", "r.html"]) == 0
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


def test_a_report_uses_a_view_that_is_scored_already(tmp_path):
    results = imported(tmp_path / "store")
    view = results.fixed_target()
    assert page(results, {"fixed_target": view}) == page(results)
    for wrong in ({"fixed_cost": view}, {"fixed_target": oa.open(tmp_path / "store").fixed_target()}):
        with pytest.raises(oa.OptarenaError, match="view of the studies of this report"):
            page(results, wrong)


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
    constant = {"format(datum.value, '~s') + 's'", "format(datum.count, ',') + ' ' + datum.kind", POWERS_OF_TEN}
    assert not any(sign in text for text in found - constant for sign in "<\"'`{")


def test_latex_of_the_page_escapes_names(tmp_path):
    data = payload(Material(hostile(tmp_path / "store")))
    latex = table(data, "leaderboard-0")["latex"]
    assert latex["head"].startswith("% fixed cost after 20 evaluations")
    assert r"\begin{tabular}{lrrlrlr}" in latex["head"]
    lines = "\n".join(latex["rows"])
    assert r"\textbackslash{}input\{/etc/passwd\}" in lines
    assert r"\mathbf" in lines
    assert latex["tail"].endswith(r"\end{tabular}")


# ---- its numbers -----------------------------------------------------------------------------------------------------


def test_the_leaderboard_is_that_of_the_view(tmp_path):
    results = imported(tmp_path / "store")
    board = results.fixed_cost().leaderboard()
    shown = table(payload(Material(results)), "leaderboard-0")
    assert column(shown, "optimizer", "all") == board["optimizer"].to_list()
    lower = [ends[0] for ends in column(shown, "95 % interval", "all")]
    assert lower == pytest.approx(board["score_lb"].to_list(), rel=1e-4)
    assert min(lower) >= 0
    for label, field in (("score", "mean_normed"), ("score", "score"), ("median normed", "median")):
        assert column(shown, label, "all") == pytest.approx(board[field].to_list(), rel=1e-4)


def test_a_board_shows_the_same_columns_and_numbers_in_a_terminal_in_a_paper_and_on_the_page(tmp_path):
    results = imported(tmp_path / "store").filter(dimension=2)
    view = results.fixed_cost()
    board = fixed_cost.board(view, "value")
    head, first, *_ = board.text().splitlines()
    shown = table(payload(Material(results)), "leaderboard-0")
    labels = [one["label"] for one in shown["columns"]]
    assert head.split() == " ".join(labels).split()
    assert " ".join(first.split()[1:4]) == f"{shown['texts'][1][0]} {shown['texts'][2][0]}"
    assert " & ".join(labels).replace(" %", r"\%") in view.to_latex()


def test_a_narrow_terminal_goes_without_minor_columns_and_says_so(tmp_path):
    board = fixed_cost.board(imported(tmp_path / "store").fixed_cost(), "value")
    whole = board.text()
    assert board.text(200) == whole
    lines = board.text(50).splitlines()
    assert max(map(len, lines)) <= 50
    assert "median normed" not in lines[0]
    assert "score" in lines[0]
    assert "(no room for: median normed, best on, failed evaluations; --wide shows all)" in " ".join(
        " ".join(lines).split()
    )


def test_numbers_of_the_page_have_the_digits_that_their_column_declares():
    table = Table("t", "T", [Column("n", "number", 2), Column("p", "p"), Column("s", "seconds"), Column("x")], [
        [-1234.567, 1e-9, 0.0123, "a"], [-0.001, 0.5, None, "b"], [float("inf"), None, 3e-8, None],
    ])  # fmt: skip
    texts = table.to_data()["texts"]
    assert texts == [["−1,234.57", "0.00", "∞"], ["< 0.0001", "0.50", "–"], ["12.3 ms", "–", "30 ns"], None]


def test_the_leaderboard_of_a_dimension_is_scored_in_the_frame_of_all(tmp_path):
    results = imported(tmp_path / "store")
    whole = results.fixed_cost()
    part = results.filter(dimension=2).fixed_cost(frame=whole.pinned).leaderboard()
    shown = table(payload(Material(results)), "leaderboard-0")
    assert column(shown, "optimizer", "2") == part["optimizer"].to_list()
    assert column(shown, "score", "2") == pytest.approx(part["score"].to_list(), rel=1e-4)


def test_the_first_screen_opens_with_the_answer(tmp_path):
    results = imported(tmp_path / "store")
    answer = results.compare().answer
    data = payload(Material(results))
    part = section(data, "overview")
    words, after = part["scoped"]["all"], part["after"]["all"]
    assert words[:2] == [answer.headline, "3 problems, 3 trials each; fixed-cost."]
    assert any("too few for claims about other problems" in text for text in after)
    shown = table(data, "answer")
    assert column(shown, "optimizer", "all") == answer.order
    assert column(shown, "score", "all") == pytest.approx([answer.score[name][0] for name in answer.order], rel=1e-4)
    first, second = answer.order[:2]
    cell = column(shown, second, "all")[0]
    assert cell.split()[1] == f"{answer.against(first, second)['pi']:.2f}"
    assert section(data, "method")["words"] == results.compare().sentences
    blocks = section(data, "method")["blocks"]
    figures = [one["id"] for block in blocks for one in block.get("blocks", [block]) if one["kind"] == "figure"]
    assert figures == ["critical-difference", "pairwise", "effects", "scott-knott"]


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
    assert kinds == ["table", *["figure"] * 5, "table", "figure", "figure"]
    assert len(table(data, "runtimes")["rows"]) == 2 * 3
    ranking = ["Scipy-Powell", "RandomSearch"]
    assert [row[1] for row in shown["rows"]] == ranking * 4, "within each function the best first, not by name"
    text = boards.text(results.fixed_target(), 200).partition("expected evaluations")[2]
    assert re.findall("|".join(ranking), text) == ranking * 4


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


def test_an_old_run_file_says_when_it_ended_and_not_how():
    oa.Experiment("RandomSearch", "functions/sphere/d2", 5, trials=3).run("s", workers=0)
    (file,) = Path("s/runs").glob("*.json")
    data = json.loads(file.read_text())
    assert data.pop("how") == "done"
    data["version"] = 1  # of the format that had no checks
    del data["c"]
    file.write_text(json.dumps(data))
    assert [row[2:6] for row in how.runs(oa.open("s")).rows] == [[3, 3, 3, "ended"]]
    file.write_text(json.dumps({**data, "todo": [*data["todo"], "another"]}))
    assert [row[2:6] for row in how.runs(oa.open("s")).rows] == [[3, 4, 3, "ended before all were finished"]]


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
    assert section(data, "overview")["scoped"]["all"][1].endswith("; fixed-target.")
    assert [block["kind"] for block in section(data, "overview")["blocks"]][:2] == ["answer", "figure"]
    assert data["datasets"]["convergence evaluations"]["size"]


def test_a_single_problem_has_intervals_over_its_trials(tmp_path):
    data = payload(Material(imported(tmp_path / "store", problems=("a/d2",))))
    shown = table(data, "leaderboard-0")
    assert all(isinstance(end, float) for end in column(shown, "95 % interval")[0])
    assert "over trials" in shown["columns"][2]["help"]


def test_an_empty_store_has_a_page(tmp_path):
    Store(tmp_path / "store").create()
    data = data_of(page(oa.open(tmp_path / "store")))
    assert section(data, "overview")["scoped"]["all"] == ["Nothing has been run here yet."]


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
    assert main(["report", "store", "-O", "r.html", "--problem", "a/*", "--dimension", "2"]) == 0
    assert [one["name"] for one in data_of(Path("r.html").read_text())["problems"]] == ["a/d2"]
    assert main(["report", "store", "-O", "."]) == 2
    assert "is a directory: name a file" in capsys.readouterr().err


def test_the_results_write_their_report(tmp_path):
    assert imported(tmp_path / "store").report(tmp_path / "deep" / "r.html").is_file()


def test_sections_are_what_the_registry_says(tmp_path):
    material = Material(imported(tmp_path / "store"))
    wanted = [one.id for one in sections.SECTIONS if one.absent(material) != "-"]
    assert [one["id"] for one in payload(material)["sections"]] == wanted
    assert {"overview", "fixed-cost", "fixed-target", "problems", "time", "failures", "how"} <= set(wanted)


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


def test_the_overview_is_about_the_problems_that_all_optimizers_ran(tmp_path):
    rows = frame().filter(~((pl.col("optimizer") == "Good") & (pl.col("problem") == "c/d5")))
    words = section(payload(Material(oa.from_frame(rows, tmp_path / "store"))), "overview")["scoped"]["all"]
    assert words[1].startswith("2 problems, ")
    assert "this is about the 2 problems that all have run; 1 problem is left out (c/d5)" in words[3]


# ---- what a reader may trust -----------------------------------------------------------------------------------------


def unequal(path) -> oa.Results:
    """Problems of dimension 2 with 20 evaluations, of dimension 5 with 50."""
    longer = frame(problems=("c/d5",), evaluations=50)
    return oa.from_frame(pl.concat([frame(problems=("a/d2", "b/d2")), longer]), path)


def test_a_leaderboard_says_at_which_budgets_its_scores_were_taken(tmp_path):
    data = payload(Material(unequal(tmp_path / "store")))
    board = table(data, "leaderboard-0")
    assert board["title"] == "Leaderboard at the end of the budget (20 to 50 evaluations)"
    assert board["titles"]["2"] == "Leaderboard after 20 evaluations"
    assert board["titles"]["5"] == "Leaderboard after 50 evaluations"
    assert board["latex"]["head"].startswith("% fixed cost at the end of the budget (20 to 50 evaluations), value\n")
    assert board["latex"]["heads"]["5"].startswith("% fixed cost after 50 evaluations, value, dimension 5\n")


def test_the_verdict_follows_the_dimension(tmp_path):
    results = unequal(tmp_path / "store")
    scoped = section(payload(Material(results)), "overview")["scoped"]
    first = results.filter(dimension=5).fixed_cost(frame=results.fixed_cost().pinned).leaderboard()["optimizer"][0]
    assert scoped["all"][1].startswith("3 problems, ")
    assert first in scoped["5"][0]
    assert scoped["5"][1].startswith("1 problem, 3 trials of dimension 5")


def test_the_terminal_and_latex_say_it_too(tmp_path, capsys):
    unequal("store")
    for shape in ("table", "latex"):
        assert main(["score", "store", "--format", shape]) == 0
        assert (
            "fixed cost at the end of the budget (20 to 50 evaluations), mean over problems" in capsys.readouterr().out
        )


def test_one_trial_on_one_problem_has_no_interval_and_the_page_says_so(tmp_path):
    data = payload(Material(imported(tmp_path / "store", problems=("a/d2",), trials=1)))
    words = section(data, "overview")["scoped"]["all"]
    assert "one trial on one problem does not show the noise" in words[0]
    assert "gives no interval" in table(data, "leaderboard-0")["note"]
    assert not any(sign in text for text in words for sign in ("∞", "–"))


def test_ids_on_the_page_are_different(tmp_path):
    data = payload(Material(imported(tmp_path / "store")))
    blocks = [block for one in data["sections"] for block in one.get("blocks", ())]
    blocks += [inner for block in blocks for inner in block.get("blocks", ())]
    ids = [one["id"] for one in data["sections"]] + [block["id"] for block in blocks if block.get("id")]
    assert len(ids) == len(set(ids))


def test_a_part_of_a_store_tells_how_it_was_run(tmp_path):
    experiment = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/{sphere,ackley}/d2", 8, trials=2)
    results = experiment.run(tmp_path / "store", workers=0)
    part = section(payload(Material(results.filter(problem="*sphere*"))), "how")
    assert [block["title"] for block in part["blocks"] if block["kind"] == "code"] == [
        "The experiment",
        "The commands that run it again",
    ]
    assert any("a part of the store" in text for text in part["words"])
    assert {block["id"] for block in part["blocks"] if block["kind"] == "table"} >= {"runs", "versions", "frame"}


def test_sections_of_scores_name_their_frame(tmp_path):
    results = imported(tmp_path / "store")
    data = payload(Material(results))
    assert section(data, "fixed-cost")["frame"] == f"frame {results.fixed_cost().frame['hash'][:12]}, mode exact"
    assert section(data, "fixed-target")["frame"] == f"frame {results.fixed_target().frame['hash'][:12]}, mode exact"
    assert section(data, "time")["absent"]
    assert section(data, "problems")["frame"] == ""


def test_a_long_table_keeps_its_rows_as_data_and_says_what_is_cut(monkeypatch):
    monkeypatch.setattr("optarena.report.tables.MOST_LATEX", 3)
    monkeypatch.setattr("optarena.report.tables.MOST_ROWS", 5)
    columns = [Column("n", "number")]
    short, long, longest = (Table("t", "T", columns, [[i] for i in range(n)]).to_data() for n in (3, 5, 6))
    assert short["latex"] is not None
    assert short["note"] == ""
    assert len(long["rows"]) == 5
    assert long["latex"] is None
    assert "copies as CSV" in long["note"]
    assert len(longest["rows"]) == 5
    assert "The first 5 of 6 rows are here: optarena report with --problem" in longest["note"]


def test_a_page_without_scores_whose_first_problems_have_no_curve_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("optarena.report.sections.problems.CURVES", 1)
    oa.Experiment(["QuasiRandom"], "functions/sphere/d2", 5).run(tmp_path / "store", workers=0)
    plan = oa.Experiment(["QuasiRandom"], "functions/ackley/d2", 5).plan()
    Store(tmp_path / "store").begin_run(plan, [study.id for study in plan.studies])  # planned, not started
    data = payload(Material(oa.open(tmp_path / "store")))
    assert "needs two optimizers or more" in section(data, "overview")["scoped"]["all"][0]


def test_signs_that_cannot_be_seen_are_written_out(tmp_path):
    text = page(hostile(tmp_path / "store"))
    assert "\u202e" not in without_vega(text)
    assert r"abc\u202edef|\u0007" in [one["name"] for one in data_of(text)["optimizers"]]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a|b", r"a\textbar{}b"),
        ("a--b---c", "a-{}-b-{}-{}-c"),
        ("a\u202eb\r", r"a\textbackslash{}u202eb\textbackslash{}r"),
        ("é", "é"),
    ],
)
def test_names_in_latex_are_what_they_are(name, shown):
    assert latex.escaped(name) == shown


def test_latex_needs_no_package_but_booktabs():
    text = latex.latex_table(["a", "b"], [["x", (None, 1.0)], ["y", float("nan")]], comment=["a\rb"])
    assert r"\text{" not in text
    assert r"$[\mbox{--}, 1]$" in text
    assert text.startswith("% a\\rb\n")


def test_an_experiment_with_hidden_signs_is_written_so_that_they_are_seen_and_come_back():
    data = {"problems": ["a\u202eb\x7f"], "optimizers": ["é"]}
    assert "\u202e" not in as_toml(data)
    assert tomllib.loads(as_toml(data)) == data


@pytest.mark.parametrize("problems", [("functions/sphere/d2", "functions/branin/d2"), ("zdt/zdt1/d3", "zdt/zdt2/d3")])
def test_optimizers_that_have_no_problem_in_common_have_a_page_too(tmp_path, problems):
    for optimizer, problem in zip(("RandomSearch", "QuasiRandom"), problems, strict=True):
        oa.Experiment([optimizer], problem, budget=8, trials=2).run(tmp_path / "store", workers=0)
    titles = [section["title"] for section in payload(Material(oa.open(tmp_path / "store")))["sections"]]
    assert {"Fixed target", "Pareto"} & set(titles)
