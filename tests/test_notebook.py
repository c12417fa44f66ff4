"""A notebook is executed, exported and opened in Chromium without a network: tables, figures and progress are there.

It needs nbclient, nbconvert and ipykernel (the extra `notebook`); the browser's part needs Chromium, too.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pytest

import optarena as oa
from optarena.report.progress import NotebookProgress, in_notebook
from optarena.runner.attempt import Outcome

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")

CELLS = (
    """import optarena as oa

class MyOptimizer(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))

@oa.as_problem({"rate": {"type": "real", "space": "log", "range": [1e-5, 1e-1]}})
def my_problem(x):
    if x["rate"] > 0.05:
        raise ValueError("the rate is too large")
    return abs(x["rate"] - 1e-3)

names = ["RandomSearch", MyOptimizer, oa.use("QuasiRandom", sequence="halton")]""",
    'results = oa.Experiment(names, my_problem, budget=60, trials=3).run("results")',
    "results",
    "results.compare()",
    "results.fixed_cost()",
    'results.figure("ecdf")',
    "results.fixed_cost().figure()",
    'oa.Experiment("RandomSearch", my_problem, budget=60, trials=3).run("results"); None',
)
RUN, RESULTS, COMPARE, VIEW, ECDF, CURVES, AGAIN = range(1, 8)


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The notebook with its outputs, and its page."""
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install 'optarena[notebook]'")
    nbconvert = pytest.importorskip("nbconvert", reason="needs nbconvert: pip install 'optarena[notebook]'")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install 'optarena[notebook]'")
    from nbformat import v4

    folder = tmp_path_factory.mktemp("notebook")
    made = v4.new_notebook(cells=[v4.new_code_cell(source) for source in CELLS])
    nbclient.NotebookClient(made, timeout=600, resources={"metadata": {"path": str(folder)}}).execute()
    page = folder / "notebook.html"
    page.write_text(nbconvert.HTMLExporter().from_notebook_node(made)[0], encoding="utf-8")
    return made, page


def data(made, cell):
    (output,) = made.cells[cell].outputs
    return output.data


def test_a_run_is_one_output_that_says_what_it_did(executed):
    text = data(executed[0], RUN)["text/plain"]
    assert re.match(r"finished after [^·]+ · 9 done · 540 evaluations\n", text)
    assert "ValueError: the rate is too large" in text
    assert "<progress" not in data(executed[0], RUN)["text/html"]
    again = data(executed[0], AGAIN)["text/plain"]
    assert "nothing was left to do" in again
    assert "3 studies finished before" in again


def test_tables_have_real_content(executed):
    made = executed[0]
    assert "9 studies (3 optimizers × 1 problem × 3 trials)" in data(made, RESULTS)["text/html"]
    assert "P(row beats column)" in data(made, COMPARE)["text/html"]
    assert "score" in data(made, VIEW)["text/plain"]
    for cell in (RESULTS, COMPARE, VIEW):
        assert "MyOptimizer" in data(made, cell)["text/html"]
        assert "array(" not in data(made, cell)["text/plain"]


def test_figures_are_drawn_where_the_notebook_runs(executed):
    for cell in (ECDF, CURVES):
        found = data(executed[0], cell)
        assert "MyOptimizer" in found["image/svg+xml"]
        assert "image/png" in found
        assert "text/html" not in found  # nothing that needs a script


@pytest.mark.browser
@pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)")
def test_the_page_of_a_notebook_shows_all_of_it_offline(executed):
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'optarena[dev]'")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        page = browser.new_context(offline=True, viewport={"width": 1200, "height": 800}).new_page()
        page.goto(executed[1].resolve().as_uri(), timeout=240_000)
        drawings = page.locator(".jp-OutputArea .jp-RenderedSVG img")
        assert drawings.count() == 2
        for i in range(2):
            drawings.nth(i).scroll_into_view_if_needed()
            width, height = drawings.nth(i).evaluate("one => one.decode().then(() => [one.naturalWidth, one.height])")
            assert width > 200
            assert height > 100
        tables = page.locator(".jp-OutputArea table")
        assert tables.count() == 3
        assert all("MyOptimizer" in text for text in tables.all_inner_texts())
        browser.close()


# ---- the words, without a notebook -----------------------------------------------------------------------------------


def test_a_script_is_no_notebook():
    assert not in_notebook()


class Shown(NotebookProgress):
    """Shows nothing: the words are what is tested."""

    def _show(self, end=""):
        self._next = 0.0


@pytest.fixture
def plan():
    return oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d2", 10, trials=2).plan()


def test_what_runs_and_what_failed_is_named_at_once(plan):
    with Shown("s") as shown:
        shown.begin(plan, plan.studies, 0, 2)
        assert shown.head == "2 optimizers × 1 problem × 2 trials, 2 workers"
        shown.tick(plan.studies[0], 5)
        assert shown.lines()[0].startswith("0 of 4 studies · 5 evaluations · about ")
        assert shown.lines()[1] == "running: RandomSearch on functions/sphere/d2"
        assert 'value="0.500" max="4"' in shown.html()
        shown.ended(plan.studies[0], Outcome("done", 10, failures=2, reasons={"ValueError: <b>": 2}))
        shown.ended(plan.studies[1], Outcome("failed", 3, "suggest raised KeyError: 'x'"))
        assert shown.lines()[1:] == [
            "failed: 1 study and 2 evaluations",
            "  2 × ValueError: <b>",
            "  1 × QuasiRandom: suggest raised KeyError: 'x'",
        ]
        assert "<b>" not in shown.html()


def test_an_interrupted_run_says_how_to_continue(plan):
    shown = Shown("s")
    shown.begin(plan, plan.studies, 0, 0)
    shown.ended(plan.studies[0], Outcome("done", 10))
    lines = shown.lines("interrupted")
    assert lines[0].startswith("interrupted after ")
    assert "1 done" in lines[0]
    assert "run the same again to continue" in lines[1]


def test_refused_pairings_are_named():
    made = oa.Experiment(["RandomSearch", "CMA-ES"], ["zdt/zdt1/d2", "functions/sphere/d2"], 10).plan()
    shown = Shown("s")
    shown.begin(made, made.studies, 0, 0)
    assert any(line.startswith("refused: CMA-ES on zdt/zdt1/d2: ") for line in shown.lines())


# ---- tutorials as notebooks -----------------------------------------------------------------------------------------

ROOT = Path(__file__).parents[1]
TUTORIALS = sorted((ROOT / "docs" / "tutorials").glob("*.md"))


@pytest.fixture(scope="module")
def notebook():
    sys.path.insert(0, str(ROOT / "tools" / "site"))
    from notebooks import notebook

    return notebook


@pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
def test_a_tutorial_is_a_valid_notebook_with_its_outputs(page, notebook):
    nbformat = pytest.importorskip("nbformat", reason="needs nbformat: pip install 'optarena[notebook]'")
    made = nbformat.reads(notebook(page), as_version=4)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    prose = "".join(cell.source for cell in made.cells if cell.cell_type == "markdown")
    assert any(cell.outputs for cell in code)
    assert "](../" not in prose
    assert "How sure are we?" in prose
    shown = [output.data["image/svg+xml"] for cell in code for output in cell.outputs if "data" in output]
    drawn = re.findall(r"!\[.*\]\((.*)\)", page.read_text(encoding="utf-8"))
    assert shown == [(page.parent / name).read_text(encoding="utf-8") for name in drawn]
    assert all(len(picture) < 60_000 for picture in shown)


def test_the_notebook_of_a_tutorial_runs(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient", reason="needs nbclient: pip install 'optarena[notebook]'")
    pytest.importorskip("ipykernel", reason="needs ipykernel: pip install 'optarena[notebook]'")
    import nbformat

    import pages

    pages.programs(tmp_path / "bin")
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "src"))
    monkeypatch.setenv("COLUMNS", "80")
    made = nbformat.reads(notebook(ROOT / "docs" / "tutorials" / "model.md"), as_version=4)
    (best,) = (cell for cell in made.cells if "optarena best" in cell.source)
    wanted = best.outputs[0].text
    nbclient.NotebookClient(made, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert "".join(output.text for output in best.outputs) == wanted  # the kernel may send it in pieces
    assert (tmp_path / "convergence.svg").is_file()
