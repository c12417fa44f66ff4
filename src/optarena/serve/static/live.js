// The live page: what runs, what fails, and the report as it grows. All that comes from a store is set as text.

/** @type {LiveState | null} */
let live = null;
let shownVersion = 0;
let following = true;
let asking = false;
let askAgain = false;
let asked = "";
/** @type {LiveData | null} What waits until the reader has left the report. */
let waiting = null;
/** @type {LiveData | null} */
let shown = null;
/** @type {EventSource | null} */
let source = null;
const KINDS = /** @type {const} */ (["optimizer", "problem", "suite", "dimension", "setting", "tag"]);

// ---- what is chosen stands in the address ------------------------------------------------------------------------

function chosenNow() {
  const all = new URLSearchParams(location.search);
  const out = new URLSearchParams();
  for (const kind of KINDS) for (const value of all.getAll(kind)) out.append(kind, value);
  return out;
}

/** @param {URLSearchParams} chosen */
function choose(chosen) {
  const all = new URLSearchParams(location.search);
  for (const kind of KINDS) all.delete(kind);
  for (const [kind, value] of chosen) all.append(kind, value);
  const text = String(all);
  history.pushState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  ask();
}

// ---- the server --------------------------------------------------------------------------------------------------

/**
 * @param {string} url
 * @param {RequestInit} [options]
 */
async function fetched(url, options = {}) {
  const answer = await fetch(url, {credentials: "same-origin", ...options});
  const data = await answer.json().catch(() => ({error: `the server answered ${answer.status}`}));
  if (!answer.ok) throw new Error(data.error ?? `the server answered ${answer.status}`);
  return data;
}

/**
 * What the server answers in lines of JSON, each when it is there.
 * @param {string} url
 * @param {AbortSignal} signal
 */
async function* fetchedInParts(url, signal) {
  const headers = {accept: "application/x-ndjson"};
  const answer = await fetch(url, {credentials: "same-origin", headers, signal});
  if (!answer.ok || !answer.body) {
    const data = await answer.json().catch(() => ({}));
    throw new Error(data.error ?? `the server answered ${answer.status}`);
  }
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  /** @type {string[]} */
  const parts = [];
  for (;;) {
    const {done, value = ""} = await reader.read();
    const [end, ...lines] = value.split("\n");
    parts.push(end);
    for (const line of lines) {
      yield JSON.parse(parts.join(""));
      parts.splice(0, parts.length, line);
    }
    if (done) break;
  }
  if (parts.join("")) yield JSON.parse(parts.join(""));
}

/** @type {AbortController | null} The question that is being answered. */
let question = null;

/** Ask for the report of what is chosen; one question at a time, the last one counts. */
async function ask() {
  if (asking) {
    askAgain = true;
    // nobody waits for what was chosen before
    if (asked !== String(chosenNow())) question?.abort();
    return;
  }
  asking = true;
  byId("report").classList.add("old");
  const wanted = String(chosenNow());
  asked = wanted;
  question = new AbortController();
  let answered = false;
  try {
    for await (const data of fetchedInParts(`/data${wanted ? `?${wanted}` : ""}`, question.signal)) {
      if ("error" in data) throw new Error(data.error);
      if (wanted === String(chosenNow())) ("version" in data ? receive : receiveMore)(data);
      answered = true;
    }
  } catch (error) {
    if (!question.signal.aborted) {
      const report = byId("report");
      // an answer that is there stays
      for (const one of [...report.children]) if (!answered || one.matches(".old, #more")) one.remove();
      report.append(make("p", {class: "nothing"}, error instanceof Error ? error.message : String(error)));
      report.classList.remove("old");
    }
  }
  asking = false;
  if (askAgain) {
    askAgain = false;
    ask();
  }
}

/** @param {LiveData} data */
function receive(data) {
  if (!shownVersion && data.version) setTimeout(buildChanges);
  shownVersion = Math.max(shownVersion, data.version);
  const report = byId("report");
  const busy = isBusy(report);
  if (busy && waiting === null && page) say("New results are shown when you leave this part");
  if (busy && page) {
    waiting = data;
    report.classList.remove("old");
    return;
  }
  waiting = null;
  shown = data;
  showReport(data);
  buildChoices(data);
}

/** @param {Element} part Whether the reader is using it. */
function isBusy(part) {
  const now = document.activeElement;
  return part.contains(now) && Boolean(now?.matches("button, select, input, summary"));
}

/** @param {MoreData} data */
function receiveMore(data) {
  const of = waiting ?? shown;
  if (!of?.report) return;
  const [first, ...others] = of.report.sections;
  const sections = [{...first, after: data.after}, ...others, ...data.sections];
  receive({...of, more: false, report: {...of.report, sections, datasets: {...of.report.datasets, ...data.datasets}}});
}

function listen() {
  source?.close();
  source = new EventSource("/events");
  source.addEventListener("state", (event) => {
    live = /** @type {LiveState} */ (JSON.parse(event.data));
    showState();
    if (following && live.version > shownVersion) ask();
  });
  source.onopen = () => connection("live");
  source.onerror = () => {
    connection("lost");
    // the browser tries again by itself, unless the server refused
    if (source?.readyState === EventSource.CLOSED) setTimeout(listen, 5000);
  };
}

let connected = "lost";
/** @param {string} how */
function connection(how) {
  connected = how;
  const button = byId("follow");
  const running = live?.live;
  const how_ = connected === "lost" ? "lost" : following ? (running ? "live" : "still") : "held";
  button.dataset.how = how_;
  button.setAttribute("aria-pressed", String(following));
  button.title = following ? "Stop updating this page" : "Update this page again";
  button.textContent =
    {
      lost: "connection lost, trying again",
      live: live?.paused ? "paused" : "live",
      still: "up to date",
      held: live && live.version > shownVersion ? "held: new results" : "held",
    }[how_] ?? "";
}

// ---- the report --------------------------------------------------------------------------------------------------

/** @param {LiveData} data */
function showReport(data) {
  const report = byId("report");
  report.classList.remove("old");
  if (!data.report) {
    report.replaceChildren(make("p", {class: "nothing", id: "waiting"}, `${data.why.replace(/\.$/, "")}.`));
    buildNav([]);
    return;
  }
  const before = remembered(report);
  take(data.report);
  const made = page.sections.map(sectionOf);
  // what is not made yet stands as it was
  const old = data.more ? [...report.querySelectorAll(":scope > section")].slice(made.length) : [];
  for (const section of old) section.classList.add("old");
  const follows = make("p", {class: "nothing", id: "more"}, "The other sections follow.");
  report.replaceChildren(...made, ...old, ...(data.more && !old.length ? [follows] : []));
  forgetCharts();
  restore(report, before);
  applyFilters();
  if (!old.length) buildNav(page.sections);
  byId("footer").textContent =
    `optarena ${page.version}. Version ${data.version} of the data; the page is served from your own machines, nothing is loaded from elsewhere.`;
  // while something runs, its own numbers stand in the header
  showState();
}

/** Charts that are gone, or stand only until there are new ones, are not drawn again. */
function forgetCharts() {
  for (const chart of [...charts])
    if (!chart.holder.isConnected || chart.holder.closest("section.old")) {
      watcher.unobserve(chart.holder);
      chart.view?.finalize();
      charts.delete(chart);
    }
}

/**
 * What the reader did to the page, so that the next version has it too.
 * @param {HTMLElement} root
 */
function remembered(root) {
  /** @type {Map<string, ChildNode[]>} */
  const drawings = new Map();
  for (const holder of root.querySelectorAll(".chart[data-drawn]")) drawings.set(holder.id, [...holder.childNodes]);
  const open = new Set([...root.querySelectorAll("details[open]")].map(pathOf));
  const sorted = [...root.querySelectorAll("th[aria-sort]")].map((head) => ({
    table: head.closest(".table")?.id ?? "",
    label: head.textContent,
    down: head.getAttribute("aria-sort") === "descending",
  }));
  const top = [...root.children].find((one) => one.getBoundingClientRect().bottom > 80);
  return {drawings, open, sorted, top: top?.id ?? "", at: top?.getBoundingClientRect().top ?? 0};
}

/** @param {Element} node */
function pathOf(node) {
  const section = node.closest("section")?.id ?? "";
  const name =
    node.querySelector(":scope > summary .name")?.textContent ?? node.querySelector(":scope > summary")?.textContent;
  return `${section}/${node.closest("figure, .table")?.id ?? ""}/${name}`;
}

/**
 * @param {HTMLElement} root
 * @param {ReturnType<typeof remembered>} before
 */
function restore(root, before) {
  for (const details of root.querySelectorAll("details")) if (before.open.has(pathOf(details))) details.open = true;
  // the old drawing stands until the new one is made
  for (const [id, nodes] of before.drawings) {
    const holder = document.getElementById(id);
    if (holder) {
      holder.replaceChildren(...nodes);
      holder.dataset.drawn = "yes";
    }
  }
  for (const {table, label, down} of before.sorted)
    for (const head of document.getElementById(table)?.querySelectorAll("th") ?? [])
      if (head.textContent === label && head.getAttribute("aria-sort") !== (down ? "descending" : "ascending"))
        for (let i = 0; i <= Number(down); i++) head.querySelector("button")?.click();
  if (before.top) {
    const now = document.getElementById(before.top)?.getBoundingClientRect().top ?? before.at;
    if (scrollY > 0) scrollBy({top: now - before.at, behavior: "instant"});
  }
}

/** @param {SectionData[]} sections */
function buildNav(sections) {
  const parts = [{id: "progress", title: "Progress"}, ...sections];
  if (!byId("changes").hidden) parts.push({id: "changes", title: "Two runs"});
  const now = parts.map((one) => one.id).join();
  const nav = byId("nav");
  if (nav.dataset.now === now) return;
  nav.dataset.now = now;
  nav.replaceChildren(
    make("ul", {}, ...parts.map((part) => make("li", {}, make("a", {href: `#${part.id}`}, part.title)))),
  );
}

// ---- the filters -------------------------------------------------------------------------------------------------

let offeredNow = "";

/** @param {LiveData} data */
function buildChoices(data) {
  const form = byId("filters");
  const text = JSON.stringify(data.offered);
  if (text !== offeredNow && !form.contains(document.activeElement)) {
    offeredNow = text;
    form.replaceChildren(...choices(data.offered));
  }
  const chosen = chosenNow();
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[name]"))) {
    if (field.type === "checkbox")
      field.checked = !chosen.has("optimizer") || chosen.getAll("optimizer").includes(field.value);
    else if (field !== document.activeElement) field.value = chosen.get(field.name) ?? "";
  }
  const all = !String(chosen);
  byId("reset").hidden = byId("apart").hidden = all;
  /** @type {HTMLAnchorElement} */ (byId("save")).href = `/save${all ? "" : `?${chosen}`}`;
}

/** @param {LiveData["offered"]} offered */
function choices(offered) {
  const read = () => {
    const out = new URLSearchParams();
    const boxes = /** @type {HTMLInputElement[]} */ ([...byId("filters").querySelectorAll("input[type=checkbox]")]);
    if (boxes.some((box) => !box.checked) && boxes.some((box) => box.checked))
      for (const box of boxes) if (box.checked) out.append("optimizer", box.value);
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (byId("filters").querySelectorAll("[name]")))
      if (field.type !== "checkbox" && field.value.trim()) out.append(field.name, field.value.trim());
    if (String(out) !== String(chosenNow())) choose(out);
  };
  byId("filters").onsubmit = (event) => {
    event.preventDefault();
    read();
  };
  const place = (/** @type {string} */ name) => optimizerNames.indexOf(name) + 1 || optimizerNames.length + 1;
  const ranked = [...offered.optimizer].sort((a, b) => place(a) - place(b));
  const boxes = ranked.map((name) =>
    make(
      "label",
      {class: "chip"},
      make("input", {type: "checkbox", name: "optimizer", value: name, on: {change: read}}),
      colourOf.has(name) ? swatch(name) : null,
      nameOf(name),
    ),
  );
  const problem = make("input", {
    type: "search",
    id: "problem-filter",
    name: "problem",
    placeholder: "all; * stands for anything",
    list: "problem-names",
    autocomplete: "off",
    on: {input: () => later(read)},
  });
  const selects = /** @type {const} */ (["suite", "dimension", "setting", "tag"]).map((kind) => {
    if (offered[kind].length < (kind === "suite" || kind === "dimension" ? 2 : 1)) return null;
    const options = offered[kind].map((name) => make("option", {value: name}, name));
    const select = make(
      "select",
      {id: `${kind}-filter`, name: kind, on: {change: read}},
      make("option", {value: ""}, "all"),
      ...options,
    );
    return make("label", {for: select.id}, `${kind[0].toUpperCase()}${kind.slice(1)}`, select);
  });
  const reset = make(
    "button",
    {type: "button", id: "reset", on: {click: () => choose(new URLSearchParams())}},
    "Show all",
  );
  return [
    make("fieldset", {}, make("legend", {}, "Optimizers"), make("div", {class: "chips"}, ...boxes)),
    make("label", {for: "problem-filter"}, "Problem", problem),
    make("datalist", {id: "problem-names"}, ...offered.problem.map((name) => make("option", {value: name}))),
    ...selects.filter((one) => one !== null),
    make(
      "span",
      {class: "some"},
      make("span", {id: "apart", class: "note"}, "Progress and failures are of everything."),
      reset,
      make("a", {id: "save", href: "/save", download: "report.html"}, "Save as file"),
    ),
  ];
}

// ---- progress ----------------------------------------------------------------------------------------------------

/** @type {Map<string, string>} */
const stood = new Map();

/**
 * Put something on the page unless it stands there already; what was open or had the focus keeps it.
 * @param {HTMLElement} place
 * @param {unknown} data
 * @param {() => (Node | string)[]} build
 */
function put(place, data, build) {
  const text = JSON.stringify(data);
  if (stood.get(place.id) === text) return;
  stood.set(place.id, text);
  const open = new Set([...place.querySelectorAll("details[open]")].map((one) => one.getAttribute("data-key")));
  const focus = place.contains(document.activeElement) ? document.activeElement?.getAttribute("data-key") : null;
  place.replaceChildren(...build());
  for (const one of place.querySelectorAll("details")) if (open.has(one.getAttribute("data-key"))) one.open = true;
  if (focus) {
    const again = [...place.querySelectorAll("[data-key]")].find((one) => one.getAttribute("data-key") === focus);
    if (again instanceof HTMLElement) again.focus({preventScroll: true});
  }
}

/** @param {number} n */
const grouped = (n) => n.toLocaleString("en");
/**
 * @param {number} n
 * @param {string} noun
 */
const plural = (n, noun) => `${grouped(n)} ${n === 1 ? noun : noun === "study" ? "studies" : `${noun}s`}`;

/** The line in the header, and the section of progress. */
function showState() {
  if (!live) return;
  const now = live;
  document.title = `${now.live ? `${Math.floor((100 * now.ended) / Math.max(1, now.total))} % · ` : ""}${now.store} · optarena`;
  byId("store").replaceChildren(nameOf(now.store));
  byId("counts").textContent = [
    now.ended < now.total ? `${grouped(now.ended)} of ${plural(now.total, "study")}` : plural(now.total, "study"),
    ...(now.failed ? [`${grouped(now.failed)} failed`] : []),
    ...(now.live
      ? [`${grouped(Math.round(now.rate))} evaluations a second`]
      : [`${grouped(now.evaluations)} evaluations`]),
    ...(now.left ? [`about ${now.left} left${now.racing ? " of this round" : ""}`] : []),
    ...(now.live || now.unread ? [] : [howItEnded(now)]),
    ...(now.unread ? [`${Math.floor(100 * (1 - now.unread))} % of the store is read`] : []),
  ].join(" · ");
  bar(byId("whole-bar"), now.ended - now.failed, now.failed, now.counts.running ?? 0, now.total);
  byId("trouble").hidden = !now.problem;
  if (byId("trouble").textContent !== now.problem) byId("trouble").textContent = now.problem;
  connection(connected);
  showProgress(now);
  showLead();
}

/** Who leads, above the progress: the answer itself stands below it, where the reader may not look yet. */
function showLead() {
  const said = document.querySelector("#overview .verdict")?.textContent ?? "";
  const fold = document.querySelector("#fold");
  const lead = byId("lead");
  lead.hidden = !said || !(fold instanceof HTMLDetailsElement && fold.open);
  if (lead.textContent !== said) lead.replaceChildren(make("a", {href: "#overview"}, said));
}

/** @param {LiveState} now */
function howItEnded(now) {
  if (!now.total) return "nothing has been run yet";
  const last = now.runs[0];
  if (now.ended === now.total) return "finished";
  return last && last.how !== "done"
    ? `not running: the last run ${last.how === "queued" ? "waits for its pilots" : last.how === "killed" ? "was killed" : last.said}`
    : "not running";
}

/**
 * @param {HTMLElement} place
 * @param {number} good
 * @param {number} failed
 * @param {number} running
 * @param {number} total
 */
function bar(place, good, failed, running, total) {
  if (!place.firstChild) place.append(...["good", "failed", "running"].map((name) => make("span", {class: name})));
  [good, failed, running].forEach((n, i) => {
    /** @type {HTMLElement} */ (place.children[i]).style.width = `${(100 * n) / Math.max(1, total)}%`;
  });
  place.setAttribute("aria-valuenow", String(Math.round((100 * (good + failed)) / Math.max(1, total))));
  return place;
}

/**
 * A study's own page.
 * @param {string} study
 * @param {Child} text
 */
const studyLink = (study, text) =>
  make("a", {href: `/study?id=${encodeURIComponent(study)}`, "data-key": `study ${study}`}, text);

let wasLive = false;

/** @param {LiveState} now */
function showProgress(now) {
  const section = byId("progress");
  if (!section.firstChild) {
    const parts = ["groups", "running", "failures"].map((name) => make("div", {id: `live-${name}`}));
    section.append(
      make("div", {id: "control", hidden: true}),
      make(
        "details",
        {class: "folded", id: "fold", open: true, on: {toggle: showLead}},
        make("summary", {}, "Progress"),
        make("div", {class: "live-grid"}, make("div", {}, parts[0]), make("div", {}, parts[1], parts[2])),
      ),
    );
    /** @type {HTMLDetailsElement} */ (byId("fold")).open = now.live || now.ended < now.total || now.failed > 0;
  }
  // a run that begins is looked at, also where the page was opened before it
  if (now.live && !wasLive) /** @type {HTMLDetailsElement} */ (byId("fold")).open = true;
  wasLive = now.live;
  showControl(now);
  put(byId("live-groups"), [now.groups, optimizerNames, now.live], () => [groupsTable(now)]);
  put(byId("live-running"), [now.running, now.runs, now.live], () => runningParts(now));
  put(byId("live-failures"), now.failures, () => failureParts(now));
}

/** @param {LiveState} now */
function groupsTable(now) {
  const place = (/** @type {string} */ name) => optimizerNames.indexOf(name) + 1 || optimizerNames.length + 1;
  const groups = [...now.groups].sort((x, y) => place(x.optimizer) - place(y.optimizer)); // the best first
  const suites = new Set(now.groups.map((one) => one.suite)).size > 1;
  const failed = now.groups.some((one) => one.failed);
  /** @type {[string, string][]} */
  const heads = [
    ["optimizer", ""],
    ...(suites ? /** @type {[string, string][]} */ ([["suite", ""]]) : []),
    ["", "wide"],
    ["ended", "right"],
    ...(failed ? /** @type {[string, string][]} */ ([["failed", "right"]]) : []),
    ["each takes", "right minor"],
    ...(now.live ? /** @type {[string, string][]} */ ([["left", "right"]]) : []),
  ];
  const rows = groups.map((one) => [
    colourOf.has(one.optimizer) ? [swatch(one.optimizer), nameOf(one.optimizer)] : nameOf(one.optimizer),
    ...(suites ? [one.suite || "own"] : []),
    bar(
      make("div", {
        class: "bar",
        role: "progressbar",
        "aria-label": one.optimizer,
        "aria-valuemin": 0,
        "aria-valuemax": 100,
      }),
      one.good,
      one.failed,
      one.running,
      one.total,
    ),
    `${grouped(one.good + one.failed)} of ${grouped(one.total)}`,
    ...(failed ? [one.failed ? grouped(one.failed) : "–"] : []),
    one.each || "–",
    ...(now.live ? [one.good + one.failed === one.total ? "–" : one.left || "…"] : []),
  ]);
  return plainTable("Studies by optimizer", heads, rows);
}

/** @param {LiveState} now */
function runningParts(now) {
  const runs = now.runs
    .filter((run, i) => i === 0 || ["live", "queued"].includes(run.how))
    .map((run) =>
      make(
        "p",
        {class: "note"},
        `Run ${run.id} on ${run.where}: ${run.said}${run.pilots ? ` (pilots: ${run.pilots})` : ""}.${
          ["killed", "interrupted"].includes(run.how) && now.ended < now.total && !now.live
            ? " The same command goes on where it stopped."
            : ""
        }`,
      ),
    );
  if (!now.running.count) return runs;
  const rows = now.running.rows.map((one) => [
    studyLink(one.study, one.optimizer),
    nameOf(one.problem),
    String(one.trial),
    one.budget ? `${grouped(one.evaluations)} of ${grouped(one.budget)}` : grouped(one.evaluations),
    one.since,
    one.where,
  ]);
  const more = now.running.count - now.running.rows.length;
  return [
    plainTable(
      `Running now: ${plural(now.running.count, "study")}`,
      [
        ["optimizer", ""],
        ["problem", "name"],
        ["trial", "right minor"],
        ["evaluations", "right"],
        ["since", "right"],
        ["where", "minor"],
      ],
      rows,
    ),
    ...(more > 0 ? [make("p", {class: "note"}, `and ${grouped(more)} more`)] : []),
    ...runs,
  ];
}

/** @param {LiveState} now */
function failureParts(now) {
  if (!now.failures.length) return [make("p", {class: "note"}, now.total ? "Nothing has failed." : "")];
  return [
    make("p", {class: "caption"}, "What failed, and why"),
    ...now.failures.map((one) =>
      make(
        "div",
        {class: "failure"},
        make("p", {}, make("span", {class: "count"}, one.what), ` · ${one.reason}`),
        make(
          "p",
          {class: "note"},
          `${one.optimizers} on ${one.problems}. `,
          ...one.studies
            .slice(0, 3)
            .map((study, i) => [
              studyLink(study, `study ${study.slice(0, 8)}`),
              i < Math.min(3, one.studies.length) - 1 ? ", " : "",
            ])
            .flat(),
        ),
        one.traceback
          ? make(
              "details",
              {"data-key": `why ${one.reason}`},
              make("summary", {}, "Traceback"),
              make("pre", {}, one.traceback),
            )
          : null,
      ),
    ),
  ];
}

// ---- control -----------------------------------------------------------------------------------------------------

let controlKey = "";

async function findKeys() {
  controlKey = (await fetched("/keys").catch(() => ({control: ""}))).control;
  if (live) showProgress(live);
}

/**
 * @param {string} action
 * @param {object} body
 */
async function command(action, body = {}) {
  try {
    const answer = await fetched(`/control/${action}`, {
      method: "POST",
      headers: {"X-Optarena-Token": controlKey, "Content-Type": "application/json"},
      body: JSON.stringify(body),
    });
    say(answer.did);
  } catch (error) {
    say(error instanceof Error ? error.message : String(error));
  }
}

/** @param {LiveState} now */
function showControl(now) {
  const place = byId("control");
  place.hidden = !controlKey;
  if (!controlKey) return;
  const ended = !now.live && now.runs.length > 0;
  const last = now.commands[0];
  put(place, [now.live, now.paused, now.failed > 0, ended, last, now.trouble], () => {
    /**
     * @param {string} label
     * @param {() => void} call
     */
    const button = (label, call) => make("button", {type: "button", "data-key": label, on: {click: call}}, label);
    const more = make("input", {
      type: "number",
      min: 1,
      max: 1000,
      value: 1,
      "aria-label": "trials to add",
      "data-key": "n",
    });
    const stop = button("Stop", () => {
      // asked twice, on the page: a stray click stops nothing
      if (stop.dataset.sure) command("stop");
      else {
        stop.dataset.sure = "yes";
        stop.textContent = "Stop: sure?";
        setTimeout(() => {
          delete stop.dataset.sure;
          stop.textContent = "Stop";
        }, 4000);
      }
    });
    return [
      ...(now.live
        ? [now.paused ? button("Resume", () => command("resume")) : button("Pause", () => command("pause")), stop]
        : []),
      ...(ended && now.failed ? [button("Retry failed", () => command("retry"))] : []),
      ...(ended ? [more, button("Add trials", () => command("trials", {trials: Number(more.value)}))] : []),
      make(
        "span",
        {},
        now.trouble
          ? now.trouble
          : now.paused && now.live
            ? "Paused: what was begun goes on to its end."
            : last
              ? `Last command (${new Date(1000 * last.time).toLocaleString()}): ${last.did}`
              : "",
      ),
    ];
  });
}

// ---- two runs or versions ----------------------------------------------------------------------------------------

async function buildChanges() {
  const section = byId("changes");
  const query = new URLSearchParams(location.search);
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  /** @type {ChangesData} */
  let data;
  let why = "";
  try {
    data = await fetched(`/compare${a && b ? `?${new URLSearchParams({a, b})}&${chosenNow()}` : ""}`);
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
    data = await fetched("/compare").catch(() => ({sides: []}));
  }
  section.hidden = data.sides.length < 2;
  buildNav(page ? page.sections : []);
  if (section.hidden) return;
  /** @param {"a" | "b"} side */
  const select = (side) => {
    const node = make(
      "select",
      {
        id: `side-${side}`,
        on: {
          change: () => {
            const all = new URLSearchParams(location.search);
            all.set(side, node.value);
            history.pushState(null, "", `${location.pathname}?${all}${location.hash}`);
            if (all.get("a") && all.get("b")) buildChanges();
          },
        },
      },
      make("option", {value: ""}, "choose"),
      ...data.sides.map((one) => make("option", {value: one.key}, one.label)),
    );
    node.value = side === "a" ? a : b;
    return make("label", {}, side === "a" ? "Before (A)" : "After (B)", node);
  };
  section.replaceChildren(
    make("div", {class: "heading"}, make("h2", {}, "What changed between two runs or versions?")),
    make("div", {class: "controls"}, select("a"), select("b")),
    ...(why ? [make("p", {class: "absent"}, `${why}.`)] : []),
    ...(data.optimizers ?? []).map(changedOptimizer),
    ...(data.only ? onlyHere(data) : []),
  );
}

/** @param {ChangedOptimizer} one */
function changedOptimizer(one) {
  const wins = (/** @type {string} */ word) => one.problems.filter((row) => row.verdict === word).length;
  const counts = `B does better on ${wins("better")}, worse on ${wins("worse")} and about as well on ${wins("same")} of ${plural(one.problems.length, "problem")}.`;
  const rows = one.problems.map((row) => [
    nameOf(row.problem),
    row.before,
    row.after,
    make(
      "span",
      {class: row.verdict},
      `${row.verdict === "better" ? "▲" : row.verdict === "worse" ? "▼" : "≈"} ${row.p.toFixed(2)}`,
    ),
    row.trials.join(" / "),
  ]);
  return make(
    "div",
    {class: "changed"},
    make(
      "h3",
      {},
      nameOf(one.optimizer),
      one.verdict ? `: ${one.verdict === "undecided" ? "no change is shown" : `B is ${one.verdict}`}` : "",
    ),
    make("p", {class: "word"}, `${one.said.replace(/\.$/, "")}.${one.problems.length ? ` ${counts}` : ""}`),
    rows.length
      ? make(
          "details",
          {class: "data", open: one.problems.length <= 12},
          make("summary", {}, "Each problem"),
          plainTable(
            "Mean score before and after, and P(B beats A)",
            [
              ["problem", ""],
              ["A", "right"],
              ["B", "right"],
              ["P(B beats A)", "right"],
              ["trials A / B", "right"],
            ],
            rows,
          ),
        )
      : null,
  );
}

/** @param {ChangesData} data */
function onlyHere(data) {
  return /** @type {const} */ (["A", "B"])
    .filter((side) => data.only?.[side].length)
    .map((side) => make("p", {class: "note"}, `Only in ${side}: ${data.only?.[side].join(", ")}.`));
}

// ---- how it begins -----------------------------------------------------------------------------------------------

byId("follow").addEventListener("click", () => {
  following = !following;
  connection(connected);
  if (following && live && live.version > shownVersion) ask();
});
byId("report").addEventListener("focusout", () =>
  setTimeout(() => {
    if (waiting && !byId("report").contains(document.activeElement)) receive(waiting);
  }, 300),
);
addEventListener("popstate", () => {
  ask();
  buildChanges();
});
addEventListener("beforeprint", () => {
  for (const chart of charts) chart.draw();
});
// a laptop that slept, or a page in the background: look at once
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && (connected === "lost" || source?.readyState === EventSource.CLOSED)) listen();
});
listen();
ask();
void findKeys();
