"""COCO's tables: ratios of ERTs to the reference, dispersion, stars; and the same cells by cocopp itself."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from importlib.util import find_spec

import numpy as np
import polars as pl
import pytest

import optarena as oa
from coco_observer import observe
from optarena._numbers import compact
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.formats import import_files
from optarena.report.boards.fixed_target import ratio_tables
from optarena.views.fixed_target import rank_sum_test, restart_ecdf, restart_quantile
from optarena.views.fixed_target.ert_tables import losses_at
from optarena.views.fixed_target.groups import NAMES, name_of
from optarena.views.fixed_target.reference import reference_ert, reference_runs
from stores import TURNED

FAST, SLOW = [3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0], [30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 100.0]


def run(optimizer, hit, *, function="f1", dimension=5, instance=1, suite="bbob", budget=100):
    """A run that is at precision 50 until it hits 1e-8 after `hit` evaluations, or never."""
    rows = [(1, 50.0)] if np.isinf(hit) else [(1, 50.0), (int(hit), 1e-9)]
    return [
        {
            "optimizer": optimizer,
            "problem": f"{suite}/{function}/d{dimension}/i{instance}",
            "suite": suite,
            "function": function,
            "dimension": dimension,
            "instance": instance,
            "trial": 0,
            "evaluation": evaluation,
            "value": value,
            "f_opt": 0.0,
            "budget": budget,
            "evaluations": budget if np.isinf(hit) else int(hit),
            "record": "improvements",
        }
        for evaluation, value in rows
    ]


def store_of(path, *parts):
    """parts: (optimizer, hits), perhaps with settings of `run`."""
    rows = []
    for optimizer, hits, *more in parts:
        settings = more[0] if more else {}
        for i, hit in enumerate(hits):
            rows += run(optimizer, hit, **{"instance": i + 1, **settings})
    return oa.from_frame(pl.DataFrame(rows), path)


def cell(view, optimizer, target=1e-8, **keys):
    found = view.table("ratios").filter(
        pl.col("optimizer") == optimizer,
        (pl.col("target") / target).log10().abs() < 1e-6,
        *(pl.col(name) == value for name, value in keys.items()),
    )
    assert found.height == 1
    return found.row(0, named=True)


# ---- the table -------------------------------------------------------------------------------------------------------


def test_a_ratio_is_the_ert_by_that_of_best_2009_and_dispersion_half_its_10_to_90_percent(tmp_path):
    hits = [20.0, 30.0, 40.0, np.inf]
    view = store_of(tmp_path / "s", ("A", hits)).fixed_target(bootstrap=0)
    found = cell(view, "A")
    known = view.table("reference").filter(pl.col("target") < 1.1e-8)["best_2009"][0]
    assert (found["reference"], found["reference_ert"]) == ("best 2009", known)
    assert found["ert"] == (20 + 30 + 40 + 100) / 3
    assert found["ratio"] == found["ert"] / known
    low, high = (restart_quantile(hits, [20, 30, 40, 100], q) for q in (0.1, 0.9))
    assert (found["p10"], found["p90"]) == (low, high)
    assert found["dispersion"] == pytest.approx((high - low) / 2 / known)
    assert (found["n_success"], found["n_runs"], found["final_success"], found["budget"]) == (3, 4, 3, None)


def test_without_best_2009_the_best_of_the_store_is_the_reference_and_the_table_says_so(tmp_path):
    parts = [("A", FAST, {"suite": "mine"}), ("B", SLOW, {"suite": "mine"})]
    view = store_of(tmp_path / "s", *parts).fixed_target(bootstrap=0)
    assert set(view.table("ratios")["reference"]) == {"best of store"}
    assert (cell(view, "A")["ratio"], cell(view, "B")["ratio"]) == (1.0, 10.0)
    assert (cell(view, "A")["best"], cell(view, "B")["best"]) == (True, False)


def test_where_nothing_succeeded_the_table_has_the_median_budget(tmp_path):
    view = store_of(tmp_path / "s", ("A", [np.inf] * 3), ("B", SLOW)).fixed_target(bootstrap=0)
    found = cell(view, "A")
    assert (found["budget"], found["ratio"], found["dispersion"], found["best"]) == (100.0, np.inf, None, False)
    assert cell(view, "A", 1e2)["budget"] is None


def test_stars_count_the_powers_of_ten_of_p_times_the_functions(tmp_path):
    one = store_of(tmp_path / "one", ("A", FAST), ("B", SLOW)).fixed_target(bootstrap=0)
    p = rank_sum_test((FAST, SLOW), (FAST, SLOW), (np.zeros(8), np.zeros(8)))[1]
    assert 1e-4 < p < 1e-3
    assert (cell(one, "A")["stars"], cell(one, "B")["stars"]) == (3, 0)
    more = [(name, hits, {"function": f"f{i}"}) for i in range(1, 25) for name, hits in (("A", FAST), ("B", SLOW))]
    many = store_of(tmp_path / "many", *more).fixed_target(bootstrap=0)
    assert 0.01 < 24 * p < 0.05
    assert cell(many, "A", function="f3")["stars"] == 1
    # another dimension is another table with its own number of functions
    apart = [(name, hits, {"dimension": d}) for d in (2, 3, 5) for name, hits in (("A", FAST), ("B", SLOW))]
    assert cell(store_of(tmp_path / "apart", *apart).fixed_target(bootstrap=0), "A", dimension=3)["stars"] == 3


def test_the_best_gets_a_star_only_if_it_beats_every_other(tmp_path):
    third = [hit + 0.0 for hit in FAST[1:]] + [11.0]
    view = store_of(tmp_path / "s", ("A", FAST), ("B", SLOW), ("C", third)).fixed_target(bootstrap=0)
    assert cell(view, "A")["best"]
    assert set(view.table("ratios")["stars"]) == {0}
    alone = store_of(tmp_path / "alone", ("A", FAST)).fixed_target(bootstrap=0)
    assert set(alone.table("ratios")["stars"]) == {0}


def test_runs_that_are_not_faster_than_the_reference_are_counted_where_they_are_few(tmp_path):
    view = store_of(tmp_path / "s", ("A", [2.0] * 15 + [100.0])).fixed_target(bootstrap=0)
    found = cell(view, "A")  # best 2009 needs about 12
    assert found["ratio"] < 1
    assert found["n_worse"] == 1.0
    slow = store_of(tmp_path / "slow", ("A", [2.0] * 8 + [30.0] * 2)).fixed_target(bootstrap=0)
    assert cell(slow, "A")["ratio"] < 1
    assert cell(slow, "A")["n_worse"] is None


def test_mode_coco_takes_the_mean_of_two_jumps_where_the_distribution_is_flat_at_ten_percent(tmp_path):
    results = store_of(tmp_path / "s", ("A", [float(hit) for hit in range(10, 101, 10)]))
    exact, coco = (cell(results.fixed_target(bootstrap=0, mode=mode), "A") for mode in ("exact", "coco"))
    assert (exact["p10"], exact["p90"]) == (10.0, 90.0)
    assert (coco["p10"], coco["p90"]) == (15.0, 95.0)


def test_coco_repeats_runs_to_balance_instances_but_not_in_its_test(tmp_path):
    rows = [row for hit in FAST for row in run("A", hit)]
    for i, row in enumerate(rows):
        row["trial"] = i // 2
    rows += [row for i, hit in enumerate(SLOW) for row in run("B", hit, instance=i + 1)]
    rows += run("A", 11.0, instance=2)
    view = oa.from_frame(pl.DataFrame(rows), tmp_path / "s").fixed_target(mode="coco", bootstrap=0)
    assert cell(view, "A")["n_runs"] == 16  # the only run on instance 2 counts eight times
    hits = [*FAST, 11.0]
    p = rank_sum_test((hits, SLOW), (hits, SLOW), (np.zeros(9), np.zeros(8)))[1]
    found = view.table("ranksum").filter(pl.col("target") < 1.1e-8)
    assert found["p"].to_list() == [pytest.approx(p)]
    assert cell(view, "A")["stars"] == -np.ceil(np.log10(p))


def test_it_is_made_when_asked_for_and_not_printed_with_the_others(tmp_path, capsys):
    results = store_of(tmp_path / "s", ("A", FAST))
    view = results.fixed_target(bootstrap=0)
    assert view.table("ratios") is view.table("ratios")
    assert "ratios" not in view.to_data()["tables"]
    with pytest.raises(OptarenaError, match="Did you mean 'ratios'"):
        view.table("ratio")
    assert main(["score", str(results.path), "--view", "fixed-target", "--format", "csv", "--table", "ratios"]) == 0
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert head.startswith("optimizer,suite,function,dimension,target,ert,reference,reference_ert,ratio,dispersion")
    assert first.startswith("A,bbob,f1,5,100")


def test_where_best_2009_never_reaches_a_target_erts_are_not_divided(tmp_path):
    view = store_of(tmp_path / "s", ("A", SLOW, {"function": "f20", "dimension": 40})).fixed_target(bootstrap=0)
    found = cell(view, "A")
    assert (found["reference"], found["reference_ert"], found["ratio"]) == ("best 2009", np.inf, None)
    assert (found["reference_success"], found["reference_runs"]) == (0, 15)
    (table,) = ratio_tables(view)
    assert str(table.board.rows[0]["target 6"]) == "∞"
    assert str(table.board.rows[1]["target 6"]) == "65(35)↑0"
    assert "Where the reference is infinite, nothing is divided." in table.caption.text
    assert view.ert.filter(pl.col("target") < 1.1e-8)["loss"].to_list() == [None]


# ---- for papers ------------------------------------------------------------------------------------------------------


def test_tables_are_by_dimension_with_functions_in_numerical_order_and_their_names(tmp_path):
    parts = [("A", FAST, {"function": f"f{i}", "dimension": d}) for d in (10, 2) for i in (10, 2, 1)]
    view = store_of(tmp_path / "s", *parts, ("A", FAST, {"suite": "mine"})).fixed_target(bootstrap=0)
    tables = ratio_tables(view)
    found = [(table.suite, table.dimension, table.functions) for table in tables]
    assert found == [("bbob", 2, ["f1", "f2", "f10"]), ("bbob", 10, ["f1", "f2", "f10"]), ("mine", 5, ["f1"])]
    labels = [str(row["label"]) for row in tables[0].board.rows]
    assert labels == ["f1 Sphere", "A", "f2 Separable ellipsoid", "A", "f10 Ellipsoid", "A"]
    assert [str(row["label"]) for row in tables[2].board.rows] == ["f1", "A"]
    pages = ratio_tables(view, most_rows=5)
    assert [table.functions for table in pages[:2]] == [["f1", "f2"], ["f10"]]
    assert "functions f1 to f2" in pages[0].caption.text
    parts = [("A", FAST, {"function": f"f{i}"}) for i in range(1, 13)]
    pages = ratio_tables(store_of(tmp_path / "t", *parts).fixed_target(bootstrap=0), most_rows=11)
    assert [len(table.functions) for table in pages] == [4, 4, 4], "no short last table"
    assert "for 3 functions" not in pages[0].caption.text  # one optimizer: there is no test


@pytest.mark.parametrize(
    ("options", "heads"),
    [
        ({}, ["10", "1", "0.1", "1e-2", "1e-3", "1e-5", "1e-7"]),
        ({"targets": [10.0, 0.5]}, ["10", "0.5"]),
        ({"targets": [2.0 * i for i in range(20, 0, -1)]}, ["40", "34", "28", "20", "14", "8", "2"]),
        ({"targets": "runlength:0.5,1.2,3,10,50", "mode": "coco"}, ["0.5", "1.2", "3", "10", "50"]),
    ],
)
def test_a_table_has_the_targets_of_cocos_tables_or_those_that_were_asked_for(tmp_path, options, heads):
    view = store_of(tmp_path / "s", ("A", FAST)).fixed_target(bootstrap=0, **options)
    (table,) = ratio_tables(view)
    assert [column.label for column in table.board.columns[1:-1]] == heads


def test_a_line_shows_ratio_dispersion_star_budget_and_successes(tmp_path):
    view = store_of(tmp_path / "s", ("A", FAST), ("B", [np.inf] * 8), ("C", SLOW)).fixed_target(bootstrap=0)
    (table,) = ratio_tables(view)
    _, first, *lines = table.board.text().splitlines()
    by = cell(view, "A")["reference_ert"]
    by_target = [compact(value, 1e5) for value in erts(view, "A", "reference_ert")]
    assert first.split() == ["f1", "Sphere", *by_target, "15/15"]
    found = {line.split()[0]: line.split()[1:] for line in lines}
    assert found["A"][-2:] == [f"{compact(6.5 / by)}({compact(3.5 / by)})★3↑0", "8/8"]
    assert found["B"][-3:] == ["∞", "100", "0/8"]
    latex = table.latex()
    assert rf"\textbf{{{compact(6.5 / by)}}} & ({compact(3.5 / by)})$^{{\star 3\uparrow 0}}$ & 8 & /8 \\" in latex
    assert r"$\infty$ & \,\textit{100} & 0 & /8 \\" in latex
    html = table.html()
    assert f"<b>{compact(6.5 / by)}</b><small>({compact(3.5 / by)})</small><sup>★3↑0</sup>" in html
    assert "∞ <i>100</i>" in html


def erts(view, optimizer, column):
    table = view.table("ratios").filter(pl.col("optimizer") == optimizer)
    return [table.filter((pl.col("target") / t).log10().abs() < 1e-6)[column][0] for t in 10.0 ** np.array(POWERS)]


POWERS = (1, 0, -1, -2, -3, -5, -7)


def test_the_caption_states_what_is_shown_and_what_every_sign_means(tmp_path):
    view = store_of(tmp_path / "s", ("A", FAST), ("B", [np.inf] * 8), ("C", SLOW)).fixed_target(bootstrap=0)
    caption = ratio_tables(view)[0].caption
    for words in (
        *("bbob, dimension 5, function f1", "f - f_opt", "divided by that of best 2009", "8 runs per optimizer"),
        *("90th and the 10th percentile", "∞: no run", "in italics", "Bold: the least ERT", "★: better than every"),
        *("Bonferroni correction for 1 function.", "↑n: ", "#succ: runs that reached 1e-8"),
    ):
        assert words in caption.text
    alone = store_of(tmp_path / "alone", ("A", SLOW, {"suite": "mine"})).fixed_target(bootstrap=0)
    plain = ratio_tables(alone)[0].caption.text
    assert "the least of all optimizers of the store" in plain
    assert not any(words in plain for words in ("★", "↑", "∞", "Bold"))


def test_targets_off_the_grid_of_best_2009_are_marked_where_the_reference_is_the_best_of_the_store(tmp_path):
    view = store_of(tmp_path / "s", ("A", FAST)).fixed_target(bootstrap=0, targets=[1.0, 0.5])
    (table,) = ratio_tables(view)
    assert view.table("ratios")["reference"].to_list() == ["best 2009", "best of store"]
    assert [str(table.board.rows[0][f"target {i}"])[-1:] == "†" for i in (0, 1)] == [False, True]
    assert "where it is not known (†)" in table.caption.text


HOSTILE = [r"\input{/etc/passwd} & $x_1^2$ # 100 % ~ \\", "<script>alert(1)</script>", TURNED, "(μ/μ, λ)-ES", "a--b|c"]


@pytest.fixture
def hostile(tmp_path):
    parts = [(name, FAST, {"function": f}) for name in HOSTILE for f in ("f1", "f2_$%&")]
    return store_of(tmp_path / "s", *parts)


def test_names_are_escaped_in_every_medium(hostile, capsys):
    assert main(["score", str(hostile.path), "--view", "fixed-target", "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.startswith("<!doctype html>")
    assert page.rstrip().endswith("</html>")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "default-src 'none'" in page
    assert TURNED not in page
    assert main(["score", str(hostile.path), "--view", "fixed-target", "--format", "latex"]) == 0
    latex = capsys.readouterr().out
    assert r"\input" not in latex
    assert r"\textbackslash{}input\{/etc/passwd\}" in latex
    assert r"(\ensuremath{\mu}/\ensuremath{\mu}, \ensuremath{\lambda})-ES" in latex


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="needs pdflatex")
@pytest.mark.parametrize("targets", [None, "runlength:0.5,3,50"])
def test_the_tables_compile_with_their_captions(hostile, tmp_path, targets):
    results = hostile if targets is None else hostile.filter(problem="bbob/f1/*")
    tables = ratio_tables(results.fixed_target(bootstrap=0, targets=targets))
    body = "\n".join(
        f"\\begin{{table}}\\caption{{{table.caption.latex}}}\\tiny\n{table.latex()}\\end{{table}}" for table in tables
    )
    source = f"\\documentclass{{article}}\\usepackage{{booktabs}}\\begin{{document}}\n{body}\n\\end{{document}}\n"
    (tmp_path / "t.tex").write_text(source, encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, errors="replace")
    assert done.returncode == 0, done.stdout[-2000:]
    assert (tmp_path / "t.pdf").stat().st_size > 1000


@pytest.mark.parametrize("view", ["fixed-cost", "fixed-target"])
def test_every_view_has_its_tables_as_a_page(tmp_path, capsys, view):
    plan = oa.Experiment(["RandomSearch", "QuasiRandom"], ["functions/sphere/d2"], 5, trials=2)
    plan.run(tmp_path / "s", workers=0)
    assert main(["score", str(tmp_path / "s"), "--view", view, "--format", "html"]) == 0
    page = capsys.readouterr().out
    assert page.count("<table>") == page.count("</table>") == 1
    assert "QuasiRandom" in page
    assert f"<title>{view.replace('-', ' ')}</title>" in page


def test_every_function_of_cocos_suites_has_a_name():
    assert {suite: len(names) for suite, names in NAMES.items()} == {
        **dict.fromkeys(("bbob", "bbob-boxed", "bbob-largescale", "bbob-mixint"), 24),
        **{"bbob-noisy": 30, "bbob-constrained": 54, "bbob-biobj": 55},
    }
    assert name_of("bbob-biobj", "f55") == "Gallagher 101 peaks / Gallagher 101 peaks"
    assert name_of("bbob-noisy", "f130") == "Gallagher 101 peaks, Cauchy noise"
    assert name_of("bbob-constrained", "f8") == "Separable ellipsoid, 3 constraints"
    assert name_of("mine", "f1") is name_of("bbob", "f25") is name_of(None, "sphere") is None


@pytest.mark.parametrize(
    ("value", "text"),
    [(1.0, "1"), (1.04, "1.0"), (0.996, "1.0"), (0.123, "0.12"), (9.96, "10"), (9999.0, "9999"), (12345.0, "1.2e4"),
     (0.0012, "1.2e-3"), (0.0, "0"), (np.inf, "∞")],
)  # fmt: skip
def test_numbers_of_a_cell_have_two_digits(value, text):
    assert compact(value) == text


# ---- cocopp's own cells ----------------------------------------------------------------------------------------------

PPTABLES = """
import contextlib, io, json, sys, warnings
from pathlib import Path
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import numpy as np
    from cocopp import config, genericsettings, pproc, testbedsettings, toolsstats
    from cocopp.compall import pptables
    folder, lengths, *names = sys.argv[1:]
    genericsettings.runlength_based_targets = lengths == "yes"
    sets, algorithms, by_name = pproc.processInputArgs(names, True)
    config.config(sets[0].suite_name)
    np.random.seed(1)
    spread = []
    out = Path(folder)
    for d, some in sorted(pproc.dictAlgByDim(by_name).items()):
        (out / "pptables.html").write_text(f"<!--pptablesHtml_{d}-->\\n")
        (out / "commands.tex").write_text("")
        pptables.main(some, algorithms, str(out), True, str(out / "commands.tex"))
        (out / f"{d}.html").write_text((out / "pptables.html").read_text())
    interest = testbedsettings.current_testbed.pptablemany_targetsOfInterest
    for name in algorithms:
        for data in by_name[name]:
            for i, evals in enumerate(data.detEvals(interest((data.funcId, data.dim)))):
                hit = np.isfinite(evals)
                drawn = toolsstats.drawSP(evals[hit], data.maxevals[~hit], [10, 90], data.bootstrap_sample_size(20000))[0] if hit.any() else None
                spread.append([name, data.funcId, data.dim, i, drawn and list(map(float, drawn))])
    targets = {f"{data.funcId} {data.dim}": list(map(float, interest((data.funcId, data.dim)))) for data in sets}
print(json.dumps([spread, targets]))
"""  # noqa: E501
SAMPLED = 20_000


def cocopps_cells(folders, out, lengths=False):
    """(algorithm, function, dimension, place) -> what its page of tables shows; its percentiles; its targets."""
    command = [sys.executable, "-c", PPTABLES, str(out), "yes" if lengths else "no", *map(str, folders)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    spread, targets = json.loads(done.stdout.splitlines()[-1])
    cells = {}
    for page in out.glob("[0-9]*.html"):
        for table in page.read_text().split('<table class="sortable"')[1:]:
            function, dimension = re.search(r"<b>f(\d+), (\d+)-D</b>", table).groups()
            head, *rows = table.split("<tr>\n<th style")
            (counted,) = re.findall(r"#succ<br>([^<]*)</td>", head)
            references = re.findall(r"<td[^>]*>[^<]*<br>(?:<i>[^<]*</i>:)?([^<]*)</td>", head)
            for row in rows:
                name = re.search(r">([^<]*)</th>", row)[1]
                parts = re.findall(r"<td([^>]*)>(.*?)</td>", row)
                successes = parts.pop()[1]
                for i, (attributes, text) in enumerate(parts):
                    stars = re.search(r"&#9733;(\d?)", text)
                    arrow = re.search(r"&uarr;(\d+)", text)
                    italics = re.search(r"<i>([^<]*)</i>", text)
                    cells[name, f"f{function}", int(dimension), i] = {
                        "key": float(re.search(r'customkey="([^"]*)"', attributes)[1]),
                        "infinite": "&infin;" in text,
                        "bold": "<b>" in text,
                        "stars": 0 if stars is None else int(stars[1] or 1),
                        "n_worse": None if arrow is None else int(arrow[1]),
                        "budget": None if italics is None else float(italics[1]),
                        "reference": references[i] if i < len(references) else "",
                        "successes": successes,
                        "reference_runs": counted,
                    }
    found = {(name.split("/")[-1], f"f{f}", d, i): ends for name, f, d, i, ends in spread}
    return cells, found, targets


@pytest.mark.peer
@pytest.mark.skipif(find_spec("cocopp") is None, reason="cocopp is not installed (extra peers)")
@pytest.mark.parametrize(
    ("suite", "functions", "dimensions", "instances", "lengths"),
    [
        ("bbob", "1,8,21", "2,5", "1,2,3,4,5,6,7,8,9,10", False),
        ("bbob", "1,8", "2", "1,2,3,4,5,6,7,8,9", True),
        ("bbob", "1,6", "2", "1,1,1,2,2,3,4,5,6", False),
        ("bbob-noisy", "1,10", "2", "1,2,3,4,5,6,7,8", False),
        ("bbob-constrained", "1,8,19", "2", "1,2,3,4,5,6,7", False),
        ("bbob-biobj", "1,3", "2", "1,2,3,4,5,6,7,8", False),
    ],
)
def test_every_cell_is_that_of_cocopp(suite, functions, dimensions, instances, lengths, tmp_path):
    names, budget = ["RS", "ES", "ES-slow"], 300 if suite == "bbob-biobj" else 2000
    folders = [observe(suite, functions, dimensions, instances, budget, name) for name in names]
    import_files("coco", folders, "s")
    theirs, percentiles, targets = cocopps_cells(folders, tmp_path, lengths)
    options = {"targets": "runlength:0.5,1.2,3,10,50"} if lengths else {}
    view = oa.open("s").fixed_target(mode="coco", bootstrap=0, **options)
    folder_of = dict(zip(names, (folder.name for folder in folders), strict=True))
    shown = {
        (folder_of[row["optimizer"]], row["function"], row["dimension"], place): row
        for row in view.table("ratios").iter_rows(named=True)
        for place, target in enumerate(targets[f"{row['function'][1:]} {row['dimension']}"])
        if (row["k"] == (0.5, 1.2, 3, 10, 50)[place] if lengths else abs(row["target"] / target - 1) < 1e-6)
    }
    assert set(shown) == set(theirs)
    assert len(theirs) >= 3 * len(functions.split(",")) * len(dimensions.split(",")) * 4
    last = max(key[3] for key in theirs)
    for key, ours in shown.items():
        cell = theirs[key]
        assert cell["successes"] == f"{ours['final_success']}/{ours['n_runs']}", key
        assert cell["infinite"] == np.isinf(ours["ert"]), key
        if ours["reference"] == "best 2009":
            assert compact(ours["reference_ert"], 1e5) == cell["reference"], key
            assert f"{ours['reference_success']}/{ours['reference_runs']}" == cell["reference_runs"], key
        if np.isfinite(ours["ert"]):
            known = ours["reference"] == "best 2009" and ours["ratio"] is not None
            divided = ours["ratio"] if known else ours["ert"]
            if suite != "bbob-biobj":  # it divides by a reference that we do not have
                assert cell["key"] == pytest.approx(divided, abs=1e-6), key
            assert cell["bold"] or not ours["best"], key
        elif key[3] == last:
            assert float(f"{ours['budget']:.0e}" if ours["budget"] >= 1e4 else ours["budget"]) == cell["budget"], key
        assert cell["stars"] == ours["stars"], key
        if suite != "bbob-biobj":
            assert cell["n_worse"] == (None if ours["n_worse"] is None else int(ours["n_worse"] + 0.5)), key
        close(ours, percentiles[key], runs_of(view, ours))
    assert any(cell["stars"] for cell in theirs.values()) or suite != "bbob"
    assert any(cell["infinite"] for cell in theirs.values())


PPLOGLOSS = """
import contextlib, io, json, sys, warnings
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    import numpy as np
    from cocopp import config, pplogloss, pproc
    folder, *multiples = sys.argv[1:]
    sets = pproc.DataSetList(folder)
    config.config(sets[0].suite_name)
    found = [
        [f, d, [float(loss) for loss in losses]]
        for d, some in sets.dictByDim().items()
        for f, losses in pplogloss.generateData(some, d * np.array(multiples, dtype=float), 0.0).items()
    ]
print(json.dumps(found))
"""


@pytest.mark.peer
@pytest.mark.skipif(find_spec("cocopp") is None, reason="cocopp is not installed (extra peers)")
def test_losses_over_budgets_are_those_of_cocopp():
    """Where a target of at most 100 is reached: it has easier ones too."""
    folder = observe("bbob", "1,3,8,14,21", "2,5", "1,2,3,4,5,6", 2000, "ES")
    import_files("coco", [folder], "s")
    multiples = [1, 3, 10, 20, 50, 100, 200, 400]
    command = [sys.executable, "-c", PPLOGLOSS, str(folder), *map(str, multiples)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    view = oa.open("s").fixed_target(mode="coco", bootstrap=0)
    compared = 0
    for f, d, theirs in json.loads(done.stdout.splitlines()[-1]):
        erts = view.ert.filter(function=f"f{f}", dimension=d)["ert"].to_numpy()
        best = view.table("reference").filter(function=f"f{f}", dimension=d)["best_2009"].to_numpy()
        budgets = d * np.array(multiples, dtype=float)
        ours, _ = losses_at(erts, best, budgets, "coco")
        for i in np.flatnonzero(budgets >= erts[0]).tolist():
            assert ours[i] == pytest.approx(theirs[i], rel=1e-6), (f, d, multiples[i])
            compared += 1
    assert compared > 50


BEST_2009 = """
import contextlib, io, json, warnings
warnings.simplefilter("ignore")
with contextlib.redirect_stdout(io.StringIO()):
    from cocopp import bestalg, config, testbedsettings
    out = []
    for suite in ("bbob", "bbob-noisy"):
        bestalg.reset_reference_algorithm()
        config.config(suite)
        name = testbedsettings.current_testbed.reference_algorithm_filename
        found = bestalg.load_reference_algorithm(name, force=True)
        for (d, f), data in found.items():
            for i in (10, 5, 0, -3, -25, -40):
                target = 10 ** (i / 5)
                counts = list(map(int, data.get_success_ratio(target)))
                out.append([suite, f"f{f}", d, target, float(data.detERT([target])[0]), counts])
print(json.dumps(out))
"""


@pytest.mark.peer
@pytest.mark.skipif(find_spec("cocopp") is None, reason="cocopp is not installed (extra peers)")
def test_best_2009_has_cocopps_erts_and_successes():
    done = subprocess.run([sys.executable, "-c", BEST_2009], capture_output=True, text=True, check=True)
    rows = json.loads(done.stdout.splitlines()[-1])
    assert len(rows) == (24 + 30) * 6 * 6
    for suite, function, dimension, target, ert, counts in rows:
        (ours,) = reference_ert(suite, function, dimension, np.array([target]))
        assert (ours, reference_runs(suite, function, dimension, target)) == (ert, tuple(counts)), (function, dimension)


def runs_of(view, row):
    """Runtimes and budgets of the runs behind a row."""
    scored = view.scored
    (number,) = scored.runs.cells.with_row_index("n").filter(
        *(pl.col(name) == row[name] for name in ("optimizer", "function", "dimension"))
    )["n"]
    (column, *_) = np.flatnonzero(scored.targets[number] == row["target"])
    part = scored.of_cell[number]
    return scored.hits[part, column], scored.spent[part]


def close(ours, drawn, runs):
    """cocopp draws every run equally often, so without failures its percentiles are exact; else within four errors."""
    if drawn is None:
        assert ours["n_success"] == 0
        return
    if ours["n_success"] == ours["n_runs"]:
        assert [ours["p10"], ours["p90"]] == drawn
        return
    for q, value in zip((0.1, 0.9), drawn, strict=True):
        error = 4 * np.sqrt(q * (1 - q) / SAMPLED)
        assert restart_ecdf(*runs, value * (1 - 1e-9)) <= q + error
        assert restart_ecdf(*runs, value * (1 + 1e-9)) >= q - error
