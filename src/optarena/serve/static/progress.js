// The progress of a run: what is done, what runs, what failed.

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
