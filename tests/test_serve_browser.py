"""The live page in a real browser: a run from start to end with a kill in between, filters, saving, keyboard, phone."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys

import pytest

import optarena as oa
from optarena.store import Store
from stores import CLOSING, IMAGE, SCRIPT, hostile

playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright: pip install 'optarena[dev]'")
pytest.importorskip("starlette", reason="needs the extra serve")
pytest.importorskip("uvicorn", reason="needs the extra serve")
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("chromium-browser")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.xdist_group("serve browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="needs Chromium (apt-get install chromium)"),
]
PATIENCE = 240_000  # milliseconds: however busy the machine is


@pytest.fixture(scope="module")
def browser():
    with playwright.sync_playwright() as driver:
        one = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"])
        yield one
        one.close()


@pytest.fixture
def serve():
    """Starts servers of stores; gives their addresses."""
    started = []

    def start(*stores, port=0):
        words = [sys.executable, "-m", "optarena", "serve", *map(str, stores), "--no-open", "--port", str(port)]
        started.append(subprocess.Popen(words, stdout=subprocess.PIPE, text=True))
        return started[-1].stdout.readline().strip()

    def stop():
        process = started.pop()
        process.send_signal(signal.SIGINT)
        assert process.wait(timeout=60) == 0
        process.stdout.close()

    start.stop = stop
    yield start
    while started:
        stop()


@pytest.fixture
def opened(browser):
    """Opens addresses; in the end nothing may have complained, and nothing was asked of others."""
    contexts, complaints, requests = [], [], []

    def go(address, ready="#how", **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 800}, **options})
        contexts.append(context)
        context.set_default_timeout(PATIENCE)
        page = context.new_page()
        page.on("console", lambda message: complaints.append(f"{message.type}: {message.text}"))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append("dialog"), dialog.dismiss()))
        page.on("request", lambda request: requests.append(request.url))
        page.goto(address)
        page.wait_for_selector(ready)
        return page

    go.complaints = complaints
    yield go
    for context in contexts:
        context.close()
    assert not complaints
    assert all(url.startswith(("http://127.0.0.1:", "data:", "blob:")) for url in requests)


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    path = tmp_path_factory.mktemp("served") / "results"
    problems = "functions/{sphere,rosenbrock}/d{2,3}"
    oa.Experiment(["RandomSearch", "QuasiRandom", "Scipy-NelderMead"], problems, budget=20, trials=3).run(
        path, workers=0
    )
    return path


SLOW = """
import time
space = {"x": {"type": "real", "space": "linear", "range": [-1, 1]}}
def loss(x):
    time.sleep(0.01)
    return x ** 2
"""


def test_a_run_is_followed_from_its_start_to_its_end_with_a_kill_between(serve, opened, tmp_path):
    store, problem = tmp_path / "results", tmp_path / "slow.py"
    problem.write_text(SLOW)
    words = [
        sys.executable, "-m", "optarena", "run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", f"{problem}:loss",
        "-n", "20", "-r", "60", "--workers", "1", "--store", str(store),
    ]  # fmt: skip
    Store(store).create()
    page = opened(serve(store), "#waiting:has-text('Nothing has been run here yet')")
    first = subprocess.Popen(words, stdout=subprocess.DEVNULL, start_new_session=True)
    page.wait_for_selector("#follow[data-how=live]")
    page.wait_for_function("() => live && live.ended > 3 && live.running.count > 0")
    assert page.locator("#live-running a").count() >= 1
    page.wait_for_selector("#overview")
    # while it runs there is a verdict by complete rounds, or none
    said = page.locator("#overview").inner_text()
    assert "no round is complete yet" in said or "provisional" in said
    os.killpg(first.pid, signal.SIGKILL)
    first.wait()
    page.wait_for_function("() => live && !live.live && live.runs[0].how === 'killed'")
    page.wait_for_function("() => document.getElementById('counts').textContent.includes('was killed')")
    page.wait_for_selector("#live-running:has-text('The same command goes on where it stopped')")
    page.wait_for_function(
        "() => byId('lead').textContent === document.querySelector('#overview .verdict')?.textContent"
    )
    before = page.evaluate("live.ended")
    assert 0 < before < 120
    assert subprocess.run(words, stdout=subprocess.DEVNULL, check=False).returncode == 0
    page.wait_for_function("() => live && live.ended === 120 && !live.live")
    assert "finished" in page.locator("#counts").inner_text()
    # the last version is that of the offline report
    wanted = oa.open(store).compare().answer.headline
    page.wait_for_function(
        "text => document.querySelector('#overview .verdict')?.textContent === text", arg=wanted, timeout=PATIENCE
    )


def test_filters_are_recomputed_stand_in_the_address_and_are_saved(serve, opened, finished, tmp_path):
    page = opened(serve(finished))
    page.locator("#filters input[value='RandomSearch']").uncheck()
    page.wait_for_function("() => page.present.length === 2")
    assert page.evaluate("location.search") == "?optimizer=QuasiRandom&optimizer=Scipy-NelderMead"
    assert page.locator("#overview .verdict").first.inner_text().strip()
    page.select_option("#dimension-filter", "2")
    page.wait_for_function("() => page.problems.length === 2 && page.sections.length > 1")
    address = page.url
    with page.expect_download() as download:
        page.locator("#save").click()
    file = tmp_path / "saved.html"
    download.value.save_as(file)
    data = json.loads(file.read_text().partition('id="data">')[2].partition("</script>")[0])
    assert data == json.loads(page.evaluate("JSON.stringify(page)"))
    page.go_back()
    page.wait_for_function("() => page.problems.length === 4 && page.present.length === 2")
    page.goto(address)
    page.wait_for_function("() => page && page.problems.length === 2 && page.present.length === 2")
    assert not page.locator("#filters input[value='RandomSearch']").is_checked()
    assert page.locator("#apart").is_visible(), "it is said that progress is of everything"
    page.locator("#reset").click()
    page.wait_for_function("() => page.present.length === 3 && page.problems.length === 4")
    assert not page.locator("#apart").is_visible()
    page.fill("#problem-filter", "nothing like that")
    page.wait_for_function("() => document.querySelector('#report .nothing')")
    assert "no study matches" in page.locator("#report").inner_text()


def test_a_run_is_commanded_by_buttons_and_shown_with_rate_and_time_left(serve, opened, tmp_path):
    store, problem = tmp_path / "results", tmp_path / "slow.py"
    problem.write_text(SLOW.replace("0.01", "0.05"))
    words = [
        sys.executable, "-m", "optarena", "run", "-o", "RandomSearch", "-p", f"{problem}:loss",
        "-n", "10", "-r", "400", "--workers", "1", "--store", str(store),
    ]  # fmt: skip
    Store(store).create()
    page = opened(serve(store), "#waiting")
    run = subprocess.Popen(words, stdout=subprocess.DEVNULL)
    press = lambda name: page.locator("#control button", has_text=name).first.press("Enter")  # noqa: E731
    try:
        page.wait_for_function("() => live && live.live && live.ended > 3 && live.rate > 0 && live.left")
        said = page.locator("#counts").inner_text()
        assert re.search(r"\d+ of 400 studies", said)
        assert re.search(r"\d+ evaluations a second · about .+ left", said)
        press("Pause")
        page.wait_for_function("() => live.paused")
        assert Store(store).paused
        page.wait_for_selector("#follow:has-text('paused')")
        press("Resume")
        page.wait_for_function("() => !live.paused")
        before = page.evaluate("live.ended")
        page.wait_for_function("before => live.ended > before", arg=before)
        press("Stop")
        assert page.evaluate("live.live"), "one press stops nothing"
        press("sure?")
        assert run.wait(120) == 130
        page.wait_for_function("() => !live.live && live.ended < 400")
    finally:
        run.kill()
        run.wait()


def test_trials_are_added_and_failures_retried_after_a_look_at_what_would_run(serve, opened, tmp_path):
    store, problem, broken = tmp_path / "results", tmp_path / "own.py", tmp_path / "broken"
    broken.touch()
    problem.write_text(
        f"import pathlib\nspace = {{'x': {{'type': 'real', 'space': 'linear', 'range': [-1, 1]}}}}\n"
        f"def loss(x):\n    if pathlib.Path({str(broken)!r}).exists():\n"
        "        raise ValueError('not yet')\n    return x ** 2\n"
    )
    experiment = oa.Experiment(["RandomSearch"], f"{problem}:loss", budget=5, trials=2)
    experiment.run(store, workers=0)
    page = opened(serve(store), "#control button")
    assert page.evaluate("live.total") == 2
    page.locator("#control input").fill("3")
    page.locator("#control button", has_text="Add trials").click()
    page.wait_for_selector("#control .question")
    said = page.locator("#control .question").inner_text()
    assert "Add 3 trials" in said
    assert f"It executes {problem}." in said
    page.locator("#control button", has_text="Cancel").click()
    page.wait_for_selector("#control .question", state="detached")
    assert not (store / "control.jsonl").exists()
    broken.unlink()
    page.locator("#control input").fill("3")
    page.locator("#control button", has_text="Add trials").click()
    page.locator("#control button", has_text="Run it").click()
    page.wait_for_function("() => live.total === 5 && live.ended === 5 && !live.live")
    assert oa.open(store).studies.filter(status="done").height >= 3
    if page.evaluate("live.failed"):
        page.locator("#control button", has_text="Retry failed").click()
        page.locator("#control button", has_text="Run it").click()
        page.wait_for_function("() => live.failed === 0 && !live.live")
        assert set(oa.open(store).studies["status"]) == {"done"}


def test_the_end_of_a_run_is_shown_before_its_server_ends(opened, tmp_path):
    """Outside a terminal the live page ends with the run; whoever looks at it sees how it ended."""
    problem, store = tmp_path / "slow.py", tmp_path / "results"
    problem.write_text(SLOW)
    words = [
        sys.executable, "-m", "optarena", "run", "-o", "RandomSearch", "-o", "QuasiRandom", "-p", f"{problem}:loss",
        "-n", "20", "-r", "30", "--workers", "1", "--store", str(store), "--serve",
    ]  # fmt: skip
    run = subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    address = next(line for line in run.stdout if "live page:" in line).partition("live page:")[2].strip()
    page = opened(address, "#progress")
    page.wait_for_function("() => live && live.live")
    page.wait_for_selector("#follow[data-how=over]")
    run.communicate(timeout=60)
    assert run.returncode == 0
    assert page.evaluate("live.ended === 60 && !live.live")
    assert page.evaluate("page.counts.includes('60') && shownVersion === live.version")
    wanted = oa.open(store).compare().answer.headline
    assert page.locator("#overview .verdict").first.inner_text() == wanted
    opened.complaints[:] = [text for text in opened.complaints if "ERR_CONNECTION_REFUSED" not in text]


def test_every_section_of_the_report_is_there_and_drawn(serve, opened, finished):
    page = opened(serve(finished))
    for id in page.evaluate("page.sections.map(one => one.id)"):
        page.evaluate("id => document.getElementById(id).scrollIntoView()", id)
        page.wait_for_function(
            "id => [...document.querySelectorAll(`#${id} .chart`)].every(chart => !chart.clientWidth || "
            "chart.getBoundingClientRect().top > innerHeight + 400 || chart.querySelector('svg, .nothing'))",
            arg=id,
        )


def test_the_answer_is_shown_first_and_old_sections_stand_until_there_are_new_ones(serve, opened, finished):
    page = opened(serve(finished))
    ids = page.evaluate("page.sections.map(one => one.id)")
    page.evaluate(
        "fetched('/data').then(data => { globalThis.whole = data.report; const [first, ...rest] = data.report.sections;"
        " globalThis.rest = {after: first.after, sections: rest, datasets: data.report.datasets};"
        " receive({...data, more: true, report: {...data.report, sections: [{...first, after: {}}]}}); })"
    )
    page.wait_for_selector("#report > section.old")
    assert page.evaluate("[...document.querySelectorAll('#report > section.old')].map(one => one.id)") == ids[1:]
    page.evaluate("receiveMore(rest)")
    assert page.locator("#report > section.old").count() == 0
    assert page.evaluate("[...document.querySelectorAll('#report > section')].map(one => one.id)") == ids
    assert page.evaluate("JSON.stringify(page) === JSON.stringify(whole)")


def test_several_of_a_kind_in_an_address_stay_chosen(serve, opened, finished, tmp_path):
    other = tmp_path / "other"
    oa.Experiment(["RandomSearch"], "bbob/f{1,2}/d2/i1", budget=9, trials=3).run(other, workers=0)
    tagged = oa.Experiment(
        [oa.use("Scipy-DifferentialEvolution", popsize=n) for n in (5, 8)], "functions/sphere/d2", budget=20, trials=3
    )
    tagged.run(other, workers=0)
    address = serve(finished, other)
    page = opened(f"{address}&suite=bbob&suite=functions&dimension=2")
    assert page.locator("#suite-filter").input_value() == "bbob, functions"
    page.locator("#filters input[value='QuasiRandom']").uncheck()
    page.wait_for_function("() => !page.present.includes('QuasiRandom')")
    assert "suite=bbob&suite=functions&dimension=2" in page.url
    assert page.evaluate("problemNames.filter(name => name.startsWith('bbob')).length") == 2
    page.locator("#reset").click()
    page.wait_for_function("() => page.present.includes('QuasiRandom')")
    # by keyboard
    page.locator("#setting-filter").focus()
    page.keyboard.press("p")
    page.wait_for_function("() => page.present.length === 1")
    assert "setting=popsize" in page.url
    assert page.locator("#store").inner_text() == "results + other"


def test_a_page_that_is_renewed_keeps_what_the_reader_did(serve, opened, finished):
    page = opened(serve(finished))
    page.wait_for_function("() => document.querySelector('.chart svg')")
    page.locator("#overview .help summary").click()
    page.locator("#overview th button", has_text="score").click()
    page.evaluate("document.getElementById('problems').scrollIntoView({behavior: 'instant'})")
    at = page.evaluate("document.getElementById('problems').getBoundingClientRect().top")
    page.evaluate("document.activeElement.blur(); const old = page; fetched('/data').then(receive)")
    page.wait_for_function("() => page !== undefined && document.querySelector('#overview .help[open]')")
    assert page.locator("#overview th[aria-sort=ascending]").inner_text().startswith("score")
    assert abs(page.evaluate("document.getElementById('problems').getBoundingClientRect().top") - at) < 40
    # whoever works in the report is not disturbed
    page.locator("#overview th button", has_text="score").focus()
    page.evaluate("fetched('/data').then(receive)")
    page.wait_for_function("() => waiting !== null")
    page.evaluate("document.activeElement.blur()")
    page.wait_for_function("() => waiting === null")


def test_the_page_works_by_keyboard_on_a_phone_and_in_the_dark(serve, opened, finished):
    page = opened(
        serve(finished), viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True, is_mobile=True
    )
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 22, 22)"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.id") == "follow"
    page.keyboard.press("Enter")
    page.wait_for_selector("#follow[data-how=held]")
    page.keyboard.press("Enter")
    page.wait_for_selector("#follow[data-how=still]")
    for name in page.evaluate("[...document.querySelectorAll('button, select, input')].map(one => one.textContent + "
                              "(one.labels?.[0]?.textContent ?? '') + (one.ariaLabel ?? ''))"):  # fmt: skip
        assert name.strip(), "everything that can be pressed has a name"


def test_one_study_and_two_runs(serve, opened, tmp_path):
    path = tmp_path / "two"
    for new in (False, True):
        oa.Experiment(["RandomSearch", "QuasiRandom"], "functions/sphere/d{2,3}", budget=15, trials=3).run(
            path, workers=0, new=new
        )
    address = serve(path)
    page = opened(address)
    page.wait_for_selector("#changes:not([hidden])")
    page.select_option("#side-a", index=1)
    page.select_option("#side-b", index=2)
    page.wait_for_selector(".changed")
    assert page.locator(".changed h3").count() == 2
    assert "P(B beats A)" in page.locator(".changed").first.inner_text()
    study = oa.open(path).studies["study"][0]
    page.goto(f"{page.evaluate('location.origin')}/study?id={study}")
    page.wait_for_function("() => document.querySelectorAll('.chart[data-drawn] svg').length === 4")
    assert "RandomSearch on functions/sphere/d2" in page.locator("h1").inner_text()
    page.route("**/study-data*", lambda route: route.fulfill(status=500, body="no JSON"))
    page.locator("#again").click()
    page.wait_for_selector("#unread")
    assert page.locator(".chart").count() == 4, "what was read stays"
    page.unroute("**/study-data*")
    page.goto(f"{page.evaluate('location.origin')}/study?id=%3Cscript%3E")
    page.wait_for_selector(".nothing:has-text('no study has this id')")
    # the browser says that a request was refused; nothing else
    assert [text for text in opened.complaints if "400" not in text and "500" not in text] == []
    opened.complaints.clear()


def test_every_study_is_reached_by_links(serve, opened, finished):
    page = opened(serve(finished))
    page.wait_for_selector("details.problem[open] .studies a")
    studies = oa.open(finished).studies.filter(problem=page.evaluate("problemNames[0]"))
    links = page.locator("details.problem[open] .studies td.trials a")
    assert links.count() == studies.height == 9
    wanted = {link.get_attribute("href") for link in links.all()}
    assert wanted == {f"/study?id={study}" for study in studies["study"]}
    # the best of the best optimizer is the first link of all
    page.locator("details.problem[open] .studies a").first.click()
    page.wait_for_selector("h1:has-text('trial')")
    best = studies.sort("best").row(0, named=True)
    assert best["optimizer"] in page.locator("h1").inner_text()
    assert best["study"] in page.locator(".facts").inner_text()
    # a filter holds for the links too
    page.goto(f"{page.evaluate('location.origin')}/?optimizer=QuasiRandom")
    page.wait_for_selector("details.problem[open] .studies a")
    assert page.locator("details.problem[open] .studies tbody tr").count() == 1


def test_an_answer_that_does_not_come_leaves_the_old_one_and_is_asked_again(serve, opened, finished):
    page = opened(serve(finished))
    page.wait_for_function("() => page.sections.length > 1 && !document.querySelector('#report > section.old')")
    before = page.locator("#report > section").count()
    page.route("**/data*", lambda route: route.abort())
    page.locator("#filters input[value='RandomSearch']").uncheck()
    page.wait_for_selector("#unanswered")
    assert "The server does not answer" in page.locator("#unanswered").inner_text()
    assert page.locator("#report > section.old").count() == before, "what was known stays, paler"
    page.unroute("**/data*")
    page.locator("#unanswered button").click()
    page.wait_for_function("() => page.present.length === 2")
    page.wait_for_selector("#unanswered", state="detached")
    # and without a click, when the connection is back
    page.route("**/data*", lambda route: route.abort())
    page.locator("#reset").click()
    page.wait_for_selector("#unanswered")
    page.unroute("**/data*")
    page.evaluate("listen()")
    page.wait_for_function("() => page.present.length === 3")
    page.wait_for_selector("#unanswered", state="detached")
    assert all("ERR_FAILED" in text for text in opened.complaints)
    opened.complaints.clear()


SEEN = """seen => {
    Object.defineProperty(document, 'hidden', {get: () => !seen, configurable: true});
    document.dispatchEvent(new Event('visibilitychange'));
}"""


def test_eight_tabs_of_one_browser_are_served(serve, opened, finished):
    """A browser has six connections to a server: a page that nobody sees holds none."""
    address = serve(finished)
    first = opened(address)
    tabs = [first]
    for _ in range(7):
        tabs[-1].evaluate(SEEN, False)
        assert tabs[-1].evaluate("source === null")
        tabs.append(first.context.new_page())
        tabs[-1].goto(address.partition("?")[0])
        tabs[-1].wait_for_selector("#how")
        tabs[-1].wait_for_selector("#follow[data-how=still]")
    tabs[-1].evaluate(SEEN, False)
    # who comes back hears at once
    first.evaluate("live = null")
    first.evaluate(SEEN, True)
    first.wait_for_function("() => live && live.ended === 36 && source !== null")
    # and the title of a page in the background is kept
    tabs[1].evaluate("live = null; void lookHidden()")
    tabs[1].wait_for_function("() => live && live.ended === 36")


def test_new_results_wait_ten_seconds_for_a_reader_at_most(serve, opened, finished):
    page = opened(serve(finished))
    page.wait_for_function("() => page.sections.length > 1")
    page.clock.install()
    button = page.locator("#overview th button", has_text="score")
    button.click()
    page.evaluate("fetched('/data').then(receive)")
    page.wait_for_function("() => waiting !== null")
    assert page.locator("#news").is_visible()
    page.clock.run_for(12_000)
    page.wait_for_function("() => waiting === null")
    assert not page.locator("#news").is_visible()
    assert page.evaluate("document.activeElement.closest('#overview th') !== null"), "the focus is where it was"
    # or until the reader asks for them
    button.click()
    page.evaluate("fetched('/data').then(receive)")
    page.wait_for_function("() => waiting !== null")
    page.locator("#news").click()
    page.wait_for_function("() => waiting === null")


def test_another_server_at_the_same_address_is_noticed(serve, opened, finished, tmp_path):
    address = serve(finished)
    page = opened(address)
    page.wait_for_selector("#control:not([hidden])")
    page.evaluate("shownVersion = 1000")  # as after hours of a run
    key = page.evaluate("controlKey")
    serve.stop()
    page.wait_for_selector("#follow[data-how=over], #follow[data-how=lost]")
    other = tmp_path / "other"
    oa.Experiment(["RandomSearch"], "functions/sphere/d2", budget=5, trials=1).run(other, workers=0)
    again = serve(other, port=page.evaluate("Number(location.port)"))
    page.evaluate("listen()")
    page.wait_for_selector("#follow[data-how=refused]")
    assert "open the address that optarena serve printed" in page.locator("#follow").inner_text()
    page.context.new_page().goto(again)  # the cookie is the browser's
    page.evaluate("listen()")
    page.wait_for_function("() => live.total === 1 && page && page.present.length === 1")
    page.wait_for_function("key => controlKey && controlKey !== key", arg=key)
    assert all("Failed to load resource" in text for text in opened.complaints)
    opened.complaints.clear()


def test_a_connection_that_says_nothing_is_made_again(serve, opened, finished):
    """After a sleep the browser may hold a connection that nobody answers."""
    page = opened(serve(finished))
    page.wait_for_selector("#follow[data-how=still]")
    page.evaluate("heard = Date.now() - 44000; globalThis.before = source; watch()")
    assert page.evaluate("source === before"), "a beat may be late"
    page.evaluate("heard = Date.now() - 46000; watch()")
    assert page.evaluate("source !== before && before.readyState === EventSource.CLOSED")
    page.wait_for_selector("#follow[data-how=still]")
    page.context.set_offline(True)
    page.evaluate("live = null; source.close()")
    page.context.set_offline(False)  # the browser tells the page
    page.wait_for_function("() => live && live.ended === 36")
    opened.complaints[:] = [text for text in opened.complaints if "ERR_INTERNET_DISCONNECTED" not in text]


class Hostile(oa.Optimizer):
    """Fails with markup in its message."""

    def suggest(self, n):
        raise RuntimeError(f"{IMAGE} {CLOSING} {SCRIPT}")


def test_hostile_names_do_nothing(serve, opened, tmp_path):
    """Of optimizers, problems, parameters, messages, tracebacks, settings, tags, stores, machines and commands."""
    first, second = tmp_path / '<img src=x onerror="window.bad=4">', tmp_path / "'><b>second"
    hostile(first)
    problem = "functions/sphere/d2"
    oa.Experiment(["RandomSearch", oa.use(Hostile, name=f"{IMAGE}{SCRIPT}")], problem, budget=9, trials=2).run(
        second, workers=0
    )
    (run,) = Store(second).runs()
    next(Store(second).run_paths()).unlink()
    run.host, run.how = f"{IMAGE}{SCRIPT}", CLOSING
    Store(second)._write_run(run)
    (first / "control.jsonl").write_text(json.dumps({"time": 1, "action": IMAGE, "did": f"{SCRIPT}{IMAGE}"}) + "\n")
    page = opened(serve(first, second), "#report section, #report .nothing")
    page.wait_for_function("() => live && !live.unread && live.total > 0")
    page.wait_for_function("() => page && page.sections.length > 1")

    def nothing_happened():
        assert page.evaluate("window.bad === undefined")
        assert page.locator("main img, header img, main script, main b").count() == 0

    for part in page.locator("main details:not([open]) > summary").all():
        if part.is_visible():
            part.click()
    page.wait_for_selector(".studies a")
    assert page.locator("pre", has_text="RuntimeError").count() > 0, "the traceback is there"
    assert "Last command" in page.locator("#control").inner_text()
    nothing_happened()
    page.wait_for_selector("#changes:not([hidden])")
    page.select_option("#side-a", index=1)
    page.select_option("#side-b", index=2)
    page.wait_for_selector(".changed, #changes .absent")
    nothing_happened()
    for store in (first, second):
        studies = oa.open(store).studies
        worst = studies.filter(optimizer=IMAGE)["study"] if store == first else studies.filter(status="failed")["study"]
        page.goto(f"{page.evaluate('location.origin')}/study?id={worst[0]}")
        page.wait_for_selector(".facts")
        nothing_happened()
        assert "onerror" in page.locator("main").inner_text(), "it is shown as text"


def test_a_store_that_is_compacted_and_merged_into_while_open_is_shown(serve, opened, finished, tmp_path):
    store, other = tmp_path / "store", tmp_path / "other"
    shutil.copytree(finished, store)
    oa.Experiment(["RandomSearch"], "functions/ackley/d2", budget=9, trials=3).run(other, workers=0)
    page = opened(serve(store))
    compact = [sys.executable, "-m", "optarena", "compact", str(store)]
    subprocess.run(compact, check=True, stdout=subprocess.DEVNULL)
    shutil.copytree(other, store, dirs_exist_ok=True)
    page.wait_for_function("() => live.total === 39 && page.problems.length === 5")
    assert not page.locator("#trouble").is_visible()


def test_the_page_of_a_study_on_a_phone_and_in_the_dark(serve, opened, finished):
    study = oa.open(finished).studies["study"][0]
    origin, _, token = serve(finished).partition("/?")
    page = opened(
        f"{origin}/study?id={study}&{token}", ".facts",
        viewport={"width": 390, "height": 844}, color_scheme="dark", has_touch=True, is_mobile=True,
    )  # fmt: skip
    page.wait_for_function("() => document.querySelectorAll('.chart[data-drawn] svg').length === 4")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 22, 22)"
    assert "token" not in page.url


def test_a_store_that_goes_away_is_said_and_comes_back(serve, opened, finished, tmp_path):
    path = tmp_path / "store"
    shutil.copytree(finished, path)
    page = opened(serve(path))
    path.rename(tmp_path / "away")
    page.wait_for_selector("#trouble:not([hidden])")
    assert "does not exist" in page.locator("#trouble").inner_text()
    assert page.locator("#overview").count() == 1, "what was known stays"
    (tmp_path / "away").rename(path)
    page.wait_for_selector("#trouble", state="hidden")


def test_many_pages_are_served_by_one_reader(serve, finished):
    """A hundred clients, most of them slow: each hears, and the last state is the same for all."""
    import urllib.request
    from http.cookiejar import CookieJar

    address = serve(finished)
    origin = address.partition("/?")[0]
    jar = CookieJar()
    first = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(jar))
    first.open(address).close()
    streams = [first.open(f"{origin}/events") for _ in range(100)]
    for stream in streams:
        states = (
            json.loads(line.partition(b":")[2]) for line in iter(stream.readline, b"") if line.startswith(b"data:")
        )
        assert next(state["ended"] for state in states if not state["unread"]) == 36
    for stream in streams:
        stream.close()
    assert json.loads(first.open(f"{origin}/state").read())["ended"] == 36
