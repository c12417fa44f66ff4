"""Results, views, comparisons and figures show themselves: text in a terminal, tables and drawings in a notebook."""

from __future__ import annotations

import base64
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

import optarena as oa
from optarena.errors import OptarenaError


@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}}, id="bowl")
def bowl(x):
    return x["x"] ** 2 + 0.5


class Middle(oa.Optimizer):
    """Only points near the middle."""

    def suggest(self, n):
        return [{"x": 0.1 * self.rng.random()} for _ in range(n)]


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    experiment = oa.Experiment(["RandomSearch", Middle, "QuasiRandom"], bowl, 12, trials=3)
    return experiment.run(tmp_path_factory.mktemp("showing") / "results")


def cells(html: str) -> list[list[str]]:
    """The rows of the first table, as a strict parser reads them."""
    found = re.search(r"<table.*?</table>", html, re.DOTALL)
    assert found is not None
    return [["".join(cell.itertext()) for cell in row] for row in ElementTree.fromstring(found[0]).iter("tr")]


def test_results_are_a_table_of_optimizers(results):
    lines = repr(results).splitlines()
    assert lines[0].endswith("results: 9 studies (3 optimizers × 1 problem × 3 trials): 9 done")
    assert lines[1].split() == ["optimizer", "done", "evaluations", "best"]
    assert lines[3].split()[:3] == ["Middle", "3", "36"]
    rows = cells(results._repr_html_())
    assert [row[0] for row in rows] == ["optimizer", "RandomSearch", "Middle", "QuasiRandom"]
    assert rows[2] == lines[3].split()  # with the best value in the problem's own unit
    assert 0.5 <= float(rows[2][3]) < 0.51


def test_what_failed_and_what_is_missing_is_counted(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}})
    def torn(x):
        raise ValueError("no")

    found = oa.Experiment(["RandomSearch"], [torn, bowl], 4).run(tmp_path / "s")
    assert repr(found).splitlines()[0].endswith("2 studies (1 optimizer × 2 problems × 1 trial): 1 done, 1 failed")
    assert cells(found._repr_html_())[0] == ["optimizer", "done", "failed", "evaluations", "failed evaluations"]
    assert "best" not in repr(found)  # values of two problems have nothing in common


def test_an_empty_choice_says_so(results):
    assert repr(results.filter(optimizer="none")).endswith("0 studies (0 optimizers × 0 problems × 0 trials)")
    assert "<table" in results.filter(optimizer="none")._repr_html_()


@pytest.mark.parametrize("view", ["fixed_cost", "fixed_target", "anytime"])
def test_a_view_is_its_leaderboard(results, view):
    made = getattr(results, view)()
    text, html = repr(made), made._repr_html_()
    assert "array(" not in text
    assert "shape:" not in text
    for name in ("RandomSearch", "Middle", "QuasiRandom"):
        assert name in text
        assert [row for row in cells(html) if name in row]
    assert made.frame["hash"][:12] in text
    assert made.frame["hash"][:12] in html


def test_fronts_are_a_leaderboard_too(tmp_path):
    made = oa.Experiment(["RandomSearch", "QuasiRandom"], "zdt/zdt1/d2", 20, trials=2).run(tmp_path / "s").pareto()
    assert "QuasiRandom" in repr(made)
    assert {row[0] for row in cells(made._repr_html_())} == {"optimizer", "RandomSearch", "QuasiRandom"}


def test_a_comparison_is_the_answer(results, monkeypatch):
    made = results.compare(resamples=200)
    monkeypatch.setenv("COLUMNS", "100")
    assert repr(made) == made.text(100)
    assert str(made) == made.text()
    rows = cells(made._repr_html_())
    assert rows[0][-1] == "P(row beats column)"
    assert rows[1][:6] == ["", "optimizer", "median", "best", "score", "95 %"]
    assert [row[1] for row in rows[2:]] == made.answer.order
    assert rows[2][6:] == [made.answer.cell(made.answer.order[0], other) for other in made.answer.order]
    for sentence in made.sentences:
        assert sentence.replace(">", "&gt;") in made._repr_html_()


def test_ranks_print_themselves(results):
    made = results.ranks()
    assert repr(made).splitlines()[0] == "bowl: value (less is better)"
    assert cells(made._repr_html_())[0][:4] == ["problem", "measure", "rank", "optimizer"]


def test_what_names_hold_is_text(tmp_path):
    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [-1.0, 1.0]}}, id="<script>alert(1)</script>")
    def named(x):
        return x["x"] ** 2

    uses = ["RandomSearch", oa.use("QuasiRandom", name="<img src=x onerror=alert(1)>")]
    found = oa.Experiment(uses, named, 6, trials=2).run(tmp_path / "s")
    for one in (found, found.compare(resamples=200), found.fixed_cost(), found.ranks()):
        assert "<img" not in one._repr_html_()
        assert "<script" not in one._repr_html_()


def test_a_script_prints_something_sensible(results, tmp_path):
    code = (
        f"import optarena as oa; r = oa.open({str(results.path)!r}); print(r, r.compare(), r.fixed_cost(), sep='\\n')"
    )
    text = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert "array(" not in text
    assert len(text.splitlines()) < 60


# ---- figures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["ecdf", "final", "convergence", "pairwise"])
def test_a_figure_brings_its_own_drawing(results, name):
    data, meta = results.figure(name)._repr_mimebundle_()
    assert set(data) == {"image/svg+xml", "image/png", "text/plain"}
    drawn = ElementTree.fromstring(data["image/svg+xml"])
    assert "Middle" in "".join(drawn.itertext())
    assert base64.b64decode(data["image/png"]).startswith(b"\x89PNG")
    assert meta["image/png"]["width"] == round(float(drawn.get("width")))
    assert ".save(" in data["text/plain"]


def test_a_changed_figure_still_draws_itself(results):
    data, _ = results.fixed_cost().figure().properties(title="my own title")._repr_mimebundle_()
    assert "my own title" in data["image/svg+xml"]


def test_a_saved_figure_needs_no_network(results, tmp_path):
    chart = results.figure("final")
    chart.save(str(tmp_path / "f.html"))
    with (tmp_path / "g.html").open("w", encoding="utf-8") as file:
        chart.save(file, "html")  # as Altair takes it
    for name in ("f.html", "g.html"):
        text = (tmp_path / name).read_text(encoding="utf-8")
        assert not re.search(r"<script[^>]+src|<link|@import", text)
        assert len(text) > 500_000  # Vega is inside
    for ending, start in (("svg", b"<svg"), ("png", b"\x89PNG"), ("pdf", b"%PDF"), ("json", b"{")):
        chart.save(tmp_path / f"f.{ending}")
        assert (tmp_path / f"f.{ending}").read_bytes().startswith(start)
    with pytest.raises(OptarenaError, match="what format"):
        chart.save(tmp_path / "f.docx")


def test_an_unknown_figure_is_named(results):
    with pytest.raises(OptarenaError, match="Did you mean 'ecdf'"):
        results.figure("ecfd")


# ---- what experiments are made of ------------------------------------------------------------------------------------


def test_parts_of_experiments_are_written_as_in_python():
    class Own(Middle):
        """Only this process has it."""

    uses = ["RandomSearch", Own, oa.use("QuasiRandom", sequence="halton"), oa.use(Own, name="mine")]
    made = oa.Experiment(uses, [bowl, "bbob/f1/d2/i1"], 50, trials=5)
    assert repr(made) == (
        "Experiment(['RandomSearch', use(Own), use('QuasiRandom', sequence='halton'), use(Own, name='mine')],"
        " ['bowl', 'bbob/f1/d2/i1'], trials=5, budget=50)"
    )
    assert repr(oa.Experiment("RandomSearch", "bbob/f1/d2/i1", 9).plan()).startswith(
        "<Plan: 1 study of 1 optimizer on 1"
    )


def test_problems_and_optimizers_say_what_they_are():
    assert repr(bowl) == "<FunctionProblem bowl: 1 parameter, minimise value>"
    assert repr(Middle(bowl.space)) == "<Middle for 1 parameter>"
    assert repr(oa.Problem()) == "<Problem : no space, minimise value>"


def test_traces_are_one_line(results):
    assert re.fullmatch(r"<Traces: [\d,]+ rows of 9 studies, objectives: 1>", repr(results.traces()))


# ---- help ------------------------------------------------------------------------------------------------------------


def test_every_public_name_is_there_and_has_help():
    assert set(dir(oa)) == set(oa.__all__)
    for name in oa.__all__:
        assert getattr(oa, name).__doc__
    assert {"Experiment", "open", "as_problem", "Optimizer", "ClosedLoop"} <= set(oa.__all__)


def test_the_tour_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code = "\n".join(line[4:] for line in oa.__doc__.split("What is where")[0].splitlines() if line.startswith("    "))
    exec(code.replace("import optarena as oa", ""), {"oa": oa})
    assert (tmp_path / "report.html").is_file()


def test_what_docs_take_from_the_package_is_exported():
    docs = [*(Path(__file__).parent.parent / "docs").rglob("*.md"), Path(__file__).parent.parent / "README.md"]
    used = {name for page in docs for name in re.findall(r"\boa\.(\w+)", page.read_text(encoding="utf-8"))}
    assert len(used) > 10
    assert used <= set(oa.__all__)
