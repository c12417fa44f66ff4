"""The report in a real browser: offline, without a complaint, every figure drawn, filters and sorting at work.

It needs Chromium on the machine (Debian: apt-get install chromium); CI has it.
"""

from __future__ import annotations

import json
import os
import random
import shlex
import shutil

import numpy as np
import polars as pl
import pytest

import optarena as oa
from optarena._numbers import number
from optarena.cli import main
from optarena.comparison.words import undecided
from optarena.errors import OptarenaError
from optarena.report.figures import figure
from optarena.report.material import Material
from optarena.report.output import save
from stores import CLOSING, IMAGE, NAMES, SCRIPT, TURNED, frame, hostile, imported

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'optarena[dev]'")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)"),
]


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        # a container has no user namespaces for the sandbox; the page comes from this test
        one = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield one
        one.close()


PATIENCE = 240_000  # milliseconds: however busy the machine is


class Opened:
    """A page opened from a file with the network off, and all that it complained of or asked for."""

    def __init__(self, browser, path, **options):
        self.context = browser.new_context(
            offline=True, viewport={"width": 1200, "height": 800}, accept_downloads=False, **options
        )
        self.context.set_default_timeout(PATIENCE)
        self.page = self.context.new_page()
        self.complaints: list[str] = []
        self.requests: list[str] = []
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", lambda dialog: (self.complaints.append("dialog"), dialog.dismiss()))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(path.resolve().as_uri())
        self.page.wait_for_selector("#how", state="attached")

    def drawn(self) -> None:
        """Wait until every figure that is on the page is drawn."""
        self.page.wait_for_function(
            "() => [...document.querySelectorAll('.chart')]"
            ".every(chart => !chart.clientWidth || chart.querySelector('svg, .nothing'))"
        )

    def texts(self, selector: str) -> list[str]:
        return self.page.locator(selector).all_inner_texts()


@pytest.fixture
def opened(browser):
    pages = []

    def open_it(path, **options):
        pages.append(Opened(browser, path, **options))
        return pages[-1]

    yield open_it
    for one in pages:
        one.context.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    place = tmp_path_factory.mktemp("report")
    single = (pl.col("optimizer") == "Slow") & (pl.col("problem") == "b/d2") & (pl.col("trial") > 0)
    return oa.from_frame(frame().filter(~single), place / "store").report(place / "report.html")


@pytest.fixture(scope="module")
def shared(browser, report):
    """To open a page costs more than to use it: most tests use the same."""
    one = Opened(browser, report, permissions=["clipboard-read", "clipboard-write"])
    one.drawn()
    yield one
    one.context.close()


@pytest.fixture
def one(shared):
    """The page without filters; it must not have complained at the end."""
    yield shared
    if shared.page.locator("#reset").is_visible():
        shared.page.locator("#reset").click()
    shared.page.evaluate("scrollTo(0, 0)")
    complaints, shared.complaints = shared.complaints, []
    assert complaints == []


def test_every_figure_is_drawn_offline_without_a_complaint_or_a_request(one, report):
    one.drawn()
    names = {element.get_attribute("id") for element in one.page.locator("figure").all()}
    assert {"normalised-0", "final-0", "heatmap-0", "progress", "failure-kinds", "convergence-0", "parallel-0"} <= names
    assert {"ecdf", "precision", "ecdf-groups", "ert", "profiles", "loss"} <= names
    assert one.page.locator("figure .chart svg").count() == len(names)
    ids = one.page.evaluate("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    for name in ("normalised-0", "heatmap-0", "ecdf"):
        assert "mode exact" in one.texts(f"#{name} figcaption .frame")[0]  # it names its frame
    assert one.requests == [report.resolve().as_uri()]


def test_all_problems_open_and_draw(one):
    one.page.get_by_role("button", name="Open all").click()
    one.page.wait_for_function("() => document.querySelectorAll('details.problem .chart svg').length === 6")
    one.drawn()
    one.page.locator("#axis-choice").select_option("seconds")
    one.page.locator("#statistic-choice").select_option("mean")
    one.page.wait_for_function("() => document.querySelector('#convergence-0 .chart').textContent.includes('seconds')")
    assert "95 % interval" in one.texts("#convergence-0 figcaption")[0]


def test_the_optimizer_filter_acts_on_tables_and_charts(one):
    assert "Slow" in "".join(one.texts("#leaderboard-0 tbody th"))
    one.page.locator("#filters label.chip", has_text="Slow").click()
    assert "Slow" not in "".join(one.texts("#leaderboard-0 tbody th"))
    one.page.locator("#final-0").scroll_into_view_if_needed()  # what is far away is drawn when it comes near
    one.page.wait_for_function("() => !document.querySelector('#final-0 .chart').textContent.includes('Slow')")
    assert one.texts("#shown") == ["2 of 3 optimizers, 3 of 3 problems"]
    one.page.wait_for_function("() => !document.querySelector('#normalised-0 .chart').textContent.includes('Slow')")
    assert "Slow" not in "".join(one.texts("#answer"))  # the answer is that of the two
    assert not one.page.locator(".about").is_visible()
    chip = one.page.locator("#active button")
    assert chip.all_inner_texts() == ["without Slow ×"]
    chip.click()
    assert "Slow" in "".join(one.texts("#answer"))
    assert one.page.locator("#filters input:checked").count() == 3
    one.page.wait_for_function("() => document.querySelector('#final-0 .chart').textContent.includes('Slow')")


def test_the_problem_and_dimension_filters_act_on_tables_and_charts(one):
    one.drawn()
    before = one.texts("#leaderboard-0 tbody td")
    one.page.locator("#problem-filter").fill("b*")
    one.page.locator("#heatmap-0").scroll_into_view_if_needed()  # what is far away is drawn when it comes near
    one.page.wait_for_function("() => !document.querySelector('#heatmap-0 .chart').textContent.includes('a/d2')")
    assert set(one.texts("#by-problem-0 tbody td:first-child")) == {"b/d2"}
    assert one.texts("details.problem:visible > summary .name") == ["b/d2"]
    assert one.page.locator("#leaderboard-0 .whole").is_visible()  # it says that it is over all problems
    assert one.texts("#leaderboard-0 tbody td") == before
    one.page.locator("#problem-filter").fill("")
    one.page.locator("#dimension-filter").select_option("5")
    one.page.wait_for_function("() => document.querySelector('#heatmap-0 .chart').textContent.includes('c/d5')")
    assert one.texts("details.problem:visible > summary .name") == ["c/d5"]
    assert one.texts("#leaderboard-0 tbody td") != before
    assert "1 problem, 3 trials of dimension 5" in one.texts(".verdict")[1]
    assert one.texts("#active button") == ["dimension 5 ×"]
    one.page.locator("#leaderboard-0 .copy-latex").click()
    one.page.wait_for_function("() => document.getElementById('said').textContent === 'LaTeX copied'")
    first = one.page.evaluate("navigator.clipboard.readText()").splitlines()[0]
    assert first == "% fixed cost after 20 evaluations, value, dimension 5"


def test_filters_choose_panels_and_rows_of_running_times(one):
    one.drawn()
    one.page.locator("#problem-filter").fill("b*")
    one.page.locator("#ert").scroll_into_view_if_needed()  # what is far away is drawn when it comes near
    one.page.wait_for_function("() => !document.querySelector('#ert .chart').textContent.includes('a/d2')")
    assert "b/d2" in one.page.locator("#ert .chart").text_content()
    assert set(one.texts("#ert-table-0 tbody td:first-child")) == {"b/d2"}
    one.page.locator("#problem-filter").fill("")
    one.page.locator("#dimension-filter").select_option("5")
    one.page.locator("#ecdf-groups").scroll_into_view_if_needed()
    one.page.wait_for_function("() => !document.querySelector('#ecdf-groups .chart').textContent.includes('2-D')")
    assert set(one.texts("#ert-table-0 tbody td:first-child")) == {"c/d5"}


def test_tables_sort_by_mouse_and_keyboard(one):
    head = one.page.locator("#by-problem-0 th", has_text="score")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    values = [float(text.replace("−", "-")) for text in one.texts("#by-problem-0 tbody td:nth-child(3)")]
    assert values == sorted(values)
    head.get_by_role("button").focus()
    one.page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    values = [float(text.replace("−", "-")) for text in one.texts("#by-problem-0 tbody td:nth-child(3)")]
    assert values == sorted(values, reverse=True)
    interval = one.page.locator("#by-problem-0 th", has_text="95 % interval").get_by_role("button")
    for _ in range(2):  # what has no interval is last, up and down
        interval.click()
        shown = one.texts("#by-problem-0 tbody td:nth-child(4)")
        assert [text == "–" for text in shown] == [False] * 8 + [True]
    other = one.page.locator("#by-problem-0 th", has_text="problem").first
    other.get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None


def test_tables_and_data_copy_as_csv_and_latex(one):
    one.page.locator("#leaderboard-0 .copy-csv").click()
    one.page.wait_for_function("() => document.getElementById('said').textContent === 'CSV copied'")
    text = one.page.evaluate("navigator.clipboard.readText()")
    first = "optimizer,score,95 % interval from,95 % interval to,failed,median normed,best on,failed evaluations"
    assert text.splitlines()[0] == first
    assert len(text.splitlines()) == 4
    one.page.locator("#leaderboard-0 .copy-latex").click()
    one.page.wait_for_function("() => document.getElementById('said').textContent === 'LaTeX copied'")
    text = one.page.evaluate("navigator.clipboard.readText()")
    assert r"\toprule" in text
    assert text.count(r" \\") == 4
    one.page.locator("#normalised-0 details.data summary").click()
    one.page.wait_for_function("() => document.querySelectorAll('#normalised-0 details.data tbody tr').length === 60")


def test_names_parameters_and_messages_stay_text(opened, tmp_path):
    path = hostile(tmp_path / "store").report(tmp_path / "report.html")
    one = opened(path, permissions=["clipboard-read", "clipboard-write"])
    one.page.get_by_role("button", name="Open all").click()
    one.drawn()
    one.page.locator("#parallel-0 details.data summary").click()
    whole = one.page.locator("body").inner_text()
    assert all(name in whole for name in (SCRIPT, IMAGE, CLOSING, "__proto__", "@measure", r"abc\u202edef|\u0007"))
    assert "\u202e" in TURNED
    assert "\u202e" not in one.page.content()
    assert one.page.locator("#leaderboard-0 tbody bdi").count() == len(NAMES)
    assert one.page.locator("#final-0 .mark-symbol.role-mark path").count() == len(NAMES)
    assert "@measure" in one.page.locator("#convergence-0 .role-legend").first.text_content()
    one.page.set_viewport_size({"width": 390, "height": 800})
    for name in ("heatmap-0", "progress"):
        one.page.locator(f"#{name}").scroll_into_view_if_needed()
        one.page.wait_for_function(f"() => document.querySelector('#{name} .chart').clientWidth < 390")
        one.page.wait_for_timeout(400)  # it waits a little before it draws anew
        one.page.wait_for_function(OVERLAPS.replace("NAME", name))
    one.page.set_viewport_size({"width": 1200, "height": 800})
    assert one.page.locator("#main img, #main script, #filters img, #nav script").count() == 0
    assert one.page.evaluate("window.bad") is None
    one.page.locator("#final-0 .chart svg").hover()
    one.page.locator("#leaderboard-0 .copy-csv").click()
    one.page.wait_for_function("() => document.getElementById('said').textContent === 'CSV copied'")
    csv = one.page.evaluate("navigator.clipboard.readText()")
    assert '"\'=HYPERLINK(""http://example.org"")"' in csv  # a spreadsheet must not run it
    assert one.complaints == []
    assert one.requests == [path.resolve().as_uri()]


OVERLAPS = """() => {
  const texts = [...document.querySelectorAll('#NAME .mark-text.role-mark text')];
  const boxes = texts.map(one => one.getBoundingClientRect());
  return boxes.length && boxes.every((a, i) => boxes.every((b, k) => k <= i ||
    a.right <= b.left || b.right <= a.left || a.bottom <= b.top + 3 || b.bottom <= a.top + 3));
}"""


def test_a_drawing_that_comes_late_does_not_replace_a_later_one(one):
    one.page.evaluate("""() => {
      const real = window.vegaEmbed;
      let calls = 0;
      window.vegaEmbed = async (...given) => {
        if (calls++ < 3) await new Promise(done => setTimeout(done, 600));
        return real(...given);
      };
      const box = document.querySelector('#filters input[value=Slow]');
      box.click();
      box.click();
      box.click();
      setTimeout(() => { window.vegaEmbed = real; window.settled = true; }, 1500);
    }""")
    one.page.wait_for_function("() => window.settled")
    assert "Slow" not in one.page.locator("#normalised-0 .chart").text_content()
    one.page.locator("#final-0").scroll_into_view_if_needed()
    one.page.wait_for_function("() => !document.querySelector('#final-0 .chart').textContent.includes('Slow')")


def test_what_vega_only_logs_is_told(one):
    spec = """{data: {values: [{a: 1}]}, transform: [{calculate: "format(datum.a, 'nonsense')", as: 'b'}],
               mark: 'point', encoding: {x: {field: 'b', type: 'nominal'}}}"""
    said = one.page.evaluate(
        f"embed(document.createElement('div'), {spec}).then(() => 'drawn', error => error.message)"
    )
    assert "invalid format" in said


def test_it_says_in_words_what_a_figure_shows(one):
    one.drawn()
    label = one.page.locator("#final-0 .chart [role=graphics-document]").get_attribute("aria-label")
    assert "At the end, best first" in label
    assert one.page.locator("main").count() == 1
    assert one.page.locator("nav[aria-label]").count() == 1
    assert one.page.locator("table:not(:has(caption))").count() == 0


def test_charts_follow_dark_light_and_paper(opened, report):
    def fill(one):
        return one.page.evaluate("getComputedStyle(document.querySelector('#final-0 .role-axis-label text')).fill")

    light, dark = opened(report, color_scheme="light"), opened(report, color_scheme="dark")
    light.drawn()
    dark.drawn()
    assert fill(light) == "rgb(28, 28, 28)"
    assert fill(dark) == "rgb(236, 236, 236)"
    dark.page.emulate_media(media="print")
    assert fill(dark) == "rgb(0, 0, 0)"
    assert not dark.page.locator("#filters").is_visible()
    dark.page.evaluate("""() => addEventListener('afterprint', () => {
      window.printed = document.querySelectorAll('details.problem .chart svg').length;
    })""")
    assert dark.page.locator("details.problem .chart svg").count() == 2
    assert dark.page.pdf().startswith(b"%PDF")
    assert dark.page.evaluate("window.printed") == 6  # paper has no clicks: all problems are opened and drawn
    assert dark.page.locator("details.problem[open]").count() == 1


BOARDS = """[...document.querySelectorAll('.table:not(details .table)')].filter(one => {
  const names = [...one.querySelectorAll('tbody tr')].map(row => row.firstElementChild);
  return names.every(name => name.matches('th')) && new Set(names.map(one => one.textContent)).size === names.length;
})"""
"""The tables that have a row for each optimizer."""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_is_beyond_the_edge_of_page_or_leaderboard_at_any_width(shared, scheme):
    page = shared.page
    page.emulate_media(color_scheme=scheme)
    try:
        for width in (390, 768, 1280):
            page.set_viewport_size({"width": width, "height": 844})
            page.wait_for_function(
                f"() => {BOARDS}.every(one => {{ const of = one.querySelector('.scroll');"
                " return of.clientWidth && of.scrollWidth <= of.clientWidth; })"
            )
            page.wait_for_function(f"() => document.documentElement.scrollWidth <= {width}")
            named = page.evaluate(f"{BOARDS}.map(one => one.id)")
            assert {"leaderboard-0", "runtimes", "verdict-optimizers"} <= set(named)
            assert page.locator("#leaderboard-0.stacked").count() == (width == 390)
        ink = page.evaluate("getComputedStyle(document.body).color")
        page.locator("#critical-difference").scroll_into_view_if_needed()
        page.wait_for_function(
            "ink => { const texts = [...document.querySelectorAll('#critical-difference .mark-text text')];"
            " return texts.length && texts.some(one => getComputedStyle(one).fill === ink); }",
            arg=ink,
        )  # who is compared is read in the dark, too
    finally:
        page.set_viewport_size({"width": 1200, "height": 800})
        page.emulate_media(color_scheme="light")


def test_a_leaderboard_in_lines_can_be_sorted_and_goes_back_to_columns(one):
    one.page.set_viewport_size({"width": 390, "height": 844})
    one.page.wait_for_selector("#leaderboard-0.stacked")
    before = one.texts("#leaderboard-0 tbody th")
    head = one.page.locator("#leaderboard-0 th", has_text="score")
    for _ in range(2):
        head.get_by_role("button").click()
    assert one.texts("#leaderboard-0 tbody th") == before[::-1]
    head.get_by_role("button").click()
    one.page.set_viewport_size({"width": 1200, "height": 800})
    one.page.wait_for_selector("#leaderboard-0:not(.stacked)")


def test_no_two_tables_have_the_same_title(one):
    titles = one.page.evaluate("[...document.querySelectorAll('main caption')].map(one => one.textContent)")
    assert "Leaderboard after 20 evaluations" in titles
    assert sorted(set(titles)) == sorted(titles)


def test_everything_is_reached_and_used_without_a_mouse(one):
    page = one.page
    focused = "(() => { const e = document.activeElement; return e.id || e.className || e.textContent; })()"

    def tab_to(selector):
        for _ in range(60):
            page.keyboard.press("Tab")
            if page.evaluate("selector => document.activeElement.matches(selector)", selector):
                assert page.evaluate("document.activeElement.matches(':focus-visible')"), selector
                page.wait_for_function(  # the page scrolls there softly
                    "() => { const {top, bottom} = document.activeElement.getBoundingClientRect();"
                    " return top < innerHeight && bottom > 0; }"
                )
                return
        raise AssertionError(f"{selector} is not reached; the focus is on {page.evaluate(focused)}")

    page.evaluate("document.activeElement.blur(); getSelection().removeAllRanges(); scrollTo(0, 0)")
    page.locator("body").evaluate("one => { one.tabIndex = -1; one.focus(); one.removeAttribute('tabindex'); }")
    tab_to(".skip")
    tab_to("#nav a[href='#fixed-cost']")
    tab_to("#filters input[value=Slow]")
    page.keyboard.press("Space")
    assert "Slow" not in "".join(one.texts("#leaderboard-0 tbody th"))
    tab_to("#problem-filter")
    page.keyboard.type("b*")
    page.wait_for_function("() => document.getElementById('shown').textContent.includes('1 of 3 problems')")
    tab_to("#reset")
    page.keyboard.press("Enter")
    assert "Slow" in "".join(one.texts("#leaderboard-0 tbody th"))
    assert page.locator("#problem-filter").input_value() == ""
    tab_to("#overview .help summary")
    page.keyboard.press("Enter")
    assert page.locator("#overview .help p").is_visible()
    page.keyboard.press("Enter")
    tab_to("#answer thead button")
    page.keyboard.press("Enter")
    assert page.locator("#answer th[aria-sort=ascending]").count() == 1
    page.locator("#nav a[href='#fixed-cost']").focus()
    page.keyboard.press("Enter")
    page.wait_for_function("() => location.hash === '#fixed-cost'")
    tab_to("#leaderboard-0 thead button")  # from there on, not from the top again


def test_a_narrow_page_has_nothing_beyond_its_edge(opened, report):
    one = opened(report)
    one.page.set_viewport_size({"width": 390, "height": 800})
    one.drawn()
    one.page.wait_for_function("() => document.documentElement.scrollWidth <= 390")
    one.page.wait_for_function(
        """() => ['final-0', 'heatmap-0', 'failure-kinds'].every(name => {
          const [holder] = document.querySelectorAll(`#${name} .chart`);
          const titles = [...holder.querySelectorAll('.role-axis-title text, .role-legend-title text')];
          const right = holder.getBoundingClientRect().right;
          return titles.length && titles.every(one => one.getBoundingClientRect().right <= right + 1);
        })"""
    )


def test_a_report_without_scores_draws_what_it_can(opened, tmp_path):
    path = imported(tmp_path / "store", optimizers=("Good", "Slow")).report(tmp_path / "report.html")
    one = opened(path)
    one.drawn()
    assert one.page.locator("#first .chart svg").count() == 1
    assert "no RandomSearch" in one.texts("#fixed-cost")[0]
    assert one.complaints == []


def test_a_figure_as_a_page_draws_itself_under_the_same_policy(opened, browser, tmp_path):
    results = oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/{sphere,ackley}/d2", 20, trials=3)
    path = save(figure("normalised", results.run(tmp_path / "s", workers=0)), tmp_path / "fig.html")
    context = browser.new_context(offline=True)
    context.set_default_timeout(PATIENCE)
    page = context.new_page()
    complaints = []
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(path.resolve().as_uri())
    page.wait_for_selector("#chart svg")
    assert complaints == []
    context.close()


# ---- the answer for chosen optimizers and problems -------------------------------------------------------------------

OPTIMIZERS = ["RandomSearch", "Alpha", "Beta", "Gamma", "A name that is longer than a sentence would like to have it"]


def varied(functions: int = 16) -> pl.DataFrame:
    """Functions in two dimensions, some maximised; ties, failures, no value at all, missing trials and pairs."""
    rng = np.random.default_rng(11)
    rows = []
    for f in range(functions):
        for dimension in (2, 5) if f % 2 else (2,):
            for o, optimizer in enumerate(OPTIMIZERS):
                if (f, o) in ((3, 2), (4, 4)):  # not all have run it
                    continue
                for trial in range(2 if f % 5 == 2 and o == 1 else 3):
                    lost = o == 3 and (f, trial) in ((1, 0), (2, 1), (7, 2))
                    for k in range(1, 7):
                        value = rng.random() * 10 / (1 + 0.3 * o * k) - (0.4 * o if f % 3 else 0)
                        value = 1.0 if f == 6 and o in (1, 2) else round(float(value), 3)
                        failed = lost or (o == 4 and k == 3 and f % 4 == 0)
                        rows.append(
                            {
                                "problem": f"s/f{f}/d{dimension}",
                                "suite": "s",
                                "function": f"f{f}",
                                "dimension": dimension,
                                "optimizer": optimizer,
                                "trial": trial,
                                "evaluation": k,
                                "value": None if failed else -value if f % 4 == 1 else value,
                                "sense": "max" if f % 4 == 1 else "min",
                                "status": "error" if failed else None,
                            }
                        )
    return pl.DataFrame(rows, infer_schema_length=None)


@pytest.fixture(scope="module")
def chosen(browser, tmp_path_factory):
    """A page with many kinds of trials, and its store."""
    place = tmp_path_factory.mktemp("varied")
    results = oa.from_frame(varied(), place / "store")
    one = Opened(browser, results.report(place / "report.html"))
    one.drawn()
    yield one, results
    assert one.complaints == []
    one.context.close()


PART = """([optimizers, problems]) => {
  const part = partOf(trials, new Set(optimizers), new Set(problems));
  const {order, score, pairs, failed, values, coverage, headline, first, warnings, scale, scope, winner} = part;
  return "why" in part ? part : {
    order, pairs, coverage, headline, first, warnings, scale, scope, winner, undecided: part.undecided,
    score: Object.fromEntries(score), values: values && Object.fromEntries(values), failed: Object.fromEntries(failed),
  };
}"""


def same(page, made, optimizers, problems) -> bool:
    """Whether the page says of a choice what `Comparison.part` says; False where both refuse it."""
    theirs = page.evaluate(PART, [optimizers, problems])
    try:
        part = made.part(optimizers, problems)
    except OptarenaError:
        assert "why" in theirs
        return False
    if part.overall is None:
        assert theirs == {"why": "No ranking: no problem was run by all of these optimizers."}
        return False
    ours = part.answer
    for name in ("headline", "order", "winner", "scale", "scope", "coverage"):
        assert theirs[name] == getattr(ours, name), name
    assert theirs["first"] == ours.first
    assert theirs["warnings"] == ours.others
    said = undecided(part)  # the last sentence, what would settle them, needs simulations
    assert theirs["undecided"] == said[:-1]
    for name in ours.order:
        assert theirs["score"][name] == pytest.approx(ours.score[name], rel=1e-9, abs=1e-12)
    for mine, pair in zip(ours.pairs, theirs["pairs"], strict=True):
        assert [pair[key] for key in ("a", "b", "verdict")] == [mine[key] for key in ("a", "b", "verdict")]
        assert [pair[key] for key in ("pi", "lower", "upper")] == pytest.approx(
            [mine[key] for key in ("pi", "lower", "upper")], rel=1e-9, abs=1e-12
        )
    shown = {name: {key: one[key] for key in ("best", "median")} for name, one in ours.values.items()}
    assert (theirs["values"] or {}) == shown
    failed = {name: {key: one[key] for key in ("studies", "of", "evaluations")} for name, one in ours.failed.items()}
    assert {name: {key: theirs["failed"][name][key] for key in one} for name, one in failed.items()} == failed
    return True


def test_the_answer_for_any_choice_is_that_of_python(chosen):
    one, results = chosen
    made = Material(results).comparison
    known = made.given[1]
    pick = random.Random(3)
    choices = [(OPTIMIZERS, known.problems), (OPTIMIZERS[:2], known.problems), (OPTIMIZERS[:1], known.problems)]
    choices += [(OPTIMIZERS, [name]) for name in known.problems[:6]]
    choices += [(OPTIMIZERS[:3], ["s/f3/d2", "s/f3/d5"]), (OPTIMIZERS, [])]
    for _ in range(40):
        names = pick.sample(OPTIMIZERS, pick.randint(2, 5))
        choices.append((names, pick.sample(known.problems, pick.randint(1, len(known.problems)))))
    compared = [same(one.page, made, *choice) for choice in choices]
    assert compared.count(True) > 40
    scopes = {made.part(*choice).over for choice, told in zip(choices, compared, strict=True) if told}
    assert scopes == {"problems", "trials"}  # both kinds of claims were among them


def test_filters_compute_the_answer_that_the_command_on_the_page_gives(chosen, capsys, monkeypatch):
    one, results = chosen
    page = one.page
    for name in ("Alpha", "Gamma"):
        page.locator("#filters label.chip", has_text=name).click()
    page.locator("#problem-filter").fill("f*d2")
    page.wait_for_function("() => document.querySelector('#answer') && state.part")
    page.locator("#problem-filter").fill("s/f*")
    page.locator("#dimension-filter").select_option("2")
    page.wait_for_function("() => document.querySelectorAll('.verdict')[1].textContent.includes('of dimension 2')")
    command = one.texts("#overview .word")[-1].partition(": ")[2]
    monkeypatch.chdir(results.path.parent)
    assert main([*shlex.split(command)[1:], "--format", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    answer = data["answer"]
    assert one.texts(".verdict")[0] == answer["headline"]
    assert one.texts("#answer tbody th") == answer["order"]
    columns = one.texts("#answer thead th")
    scores = one.texts(f"#answer tbody td:nth-child({1 + columns.index('score')})")
    assert scores == [number(answer["score"][name][0]) for name in answer["order"]]
    page.emulate_media(media="print")
    shown = "Shown: " + ", ".join(name for name in page.evaluate("page.present") if name not in ("Alpha", "Gamma"))
    assert one.texts("#printed") == [f"{shown}; problems s/f*; dimension 2"]
    page.emulate_media(media="screen")
    page.locator("#reset").click()
    assert one.texts(".verdict")[0] == results.compare().answer.headline


def test_one_problem_shows_values_in_its_own_unit(chosen):
    one, results = chosen
    one.page.locator("#problem-filter").fill("s/f1/d5")
    one.page.wait_for_function(
        "() => [...document.querySelectorAll('#answer thead th')].some(e => e.textContent === 'best')"
    )
    assert one.texts("#answer thead th")[:4] == ["optimizer", "median", "best", "score"]
    best = dict(zip(one.texts("#answer tbody th"), one.texts("#answer tbody td:nth-child(3)"), strict=True))
    found = results.filter(problem="s/f1/d5").studies.group_by("optimizer").agg(pl.col("best").max())  # it is maximised
    assert {name: float(text.replace("−", "-")) for name, text in best.items()} == pytest.approx(
        dict(found.iter_rows()), rel=1e-3
    )
    one.page.locator("#reset").click()


def test_the_answer_of_a_race_follows_the_optimizers_and_not_the_problems(opened, tmp_path):
    experiment = oa.Experiment(
        ["RandomSearch", "QuasiRandom", "Scipy-Powell"],
        "functions/{sphere,ackley}/d2",
        20,
        until_decided=True,
        max_trials=6,
    )
    results = experiment.run(tmp_path / "store", workers=0)
    one = opened(results.report(tmp_path / "report.html"))
    made = Material(results).comparison
    assert made.pairs.at_every_look
    for names in (["RandomSearch", "Scipy-Powell"], ["QuasiRandom", "RandomSearch"], list(made.optimizers)):
        theirs = one.page.evaluate(PART, [names, made.trials.problems])
        ours = made.part(names).answer
        assert theirs["headline"] == ours.headline
        assert theirs["pairs"] == [pytest.approx(pair) for pair in ours.pairs]
    one.page.locator("#problem-filter").fill("sphere")
    one.page.wait_for_function("() => document.body.classList.contains('unanswered')")
    assert one.texts(".about") == ["About all problems of the race: the filters do not change this answer."]
    assert one.complaints == []
