// What the server sends: its state as it changes, and the report of what is chosen.

/** @type {LiveState | null} */
let live = null;
let shownVersion = 0;
let following = true;
let asking = false;
let askAgain = false;
let asked = "";
/** Whether the last question had no answer. */
let unanswered = false;
/** @type {LiveData | null} What waits until the reader has left the report. */
let waiting = null;
/** @type {LiveData | null} */
let shown = null;
/** @type {EventSource | null} */
let source = null;
/** When the server was last heard of. */
let heard = 0;
/** When the reader last used the report. */
let used = 0;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let retry;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let lookAgain;
const SILENCE = 45_000; // the server says something every 15 s: a connection without it is dead
const HOLD = 10_000; // new results wait so long for a reader who uses the report
const HIDDEN = 60_000; // between two looks of a page that nobody sees
const AGAIN = {lost: 5_000, refused: 30_000, over: 30_000};

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
    noFailure();
  } catch (error) {
    if (!question.signal.aborted) showFailure(error, answered);
  }
  asking = false;
  if (askAgain) {
    askAgain = false;
    ask();
  }
}

/**
 * What was shown stays, paler, below a line that says so.
 * @param {unknown} error
 * @param {boolean} answered Whether the first part of the answer has come.
 */
function showFailure(error, answered) {
  noFailure();
  unanswered = true;
  const report = byId("report");
  report.classList.remove("old");
  for (const one of report.querySelectorAll(":scope > .nothing")) one.remove();
  const sections = [...report.querySelectorAll(":scope > section")];
  if (!answered) for (const section of sections) section.classList.add("old");
  // a network error has another wording in every browser
  const why =
    error instanceof TypeError ? "The server does not answer" : String(error instanceof Error ? error.message : error);
  const retrying = make("button", {type: "button", on: {click: () => ask()}}, "Retry");
  const older = sections.length && !answered ? "What stands below is older. " : "";
  report.prepend(
    make("p", {class: "nothing", id: "unanswered", role: "status"}, `${why.replace(/\.$/, "")}. ${older}`, retrying),
  );
}

function noFailure() {
  unanswered = false;
  document.getElementById("unanswered")?.remove();
}

/** @param {LiveData} data */
function receive(data) {
  if (!shownVersion && data.version) setTimeout(buildChanges);
  shownVersion = data.version;
  const report = byId("report");
  const busy = isBusy(report);
  if (busy && page) {
    if (waiting === null) {
      say("New results are shown in a moment");
      setTimeout(showWaiting, HOLD);
    }
    waiting = data;
    byId("news").hidden = false;
    report.classList.remove("old");
    return;
  }
  waiting = null;
  byId("news").hidden = true;
  shown = data;
  showReport(data);
  buildChoices(data);
}

/** @param {Element} part Whether the reader is using it. */
function isBusy(part) {
  const now = document.activeElement;
  const has = part.contains(now) && Boolean(now?.matches("button, select, input, summary"));
  return has && Date.now() - used < HOLD;
}

/** Show what waits, as soon as the reader does nothing with the report. */
function showWaiting() {
  if (waiting === null) return;
  if (isBusy(byId("report"))) setTimeout(showWaiting, HOLD / 10);
  else receive(waiting);
}

/** @param {MoreData} data */
function receiveMore(data) {
  const of = waiting ?? shown;
  if (!of?.report) return;
  const [first, ...others] = of.report.sections;
  const sections = [{...first, after: data.after}, ...others, ...data.sections];
  receive({...of, more: false, report: {...of.report, sections, datasets: {...of.report.datasets, ...data.datasets}}});
}

/** @param {LiveState} state */
function hear(state) {
  // another server at the same address: its versions begin again, and it has another key
  if (live && live.server !== state.server) {
    shownVersion = 0;
    void findKeys();
  }
  live = state;
  showState();
  if (following && !document.hidden && live.version > shownVersion) ask();
}

/** Listen to the server, while somebody sees the page: a browser has six connections to a server for all its pages. */
function listen() {
  clearTimeout(retry);
  clearTimeout(lookAgain);
  source?.close();
  source = null;
  heard = Date.now();
  if (document.hidden) {
    lookAgain = setTimeout(lookHidden, HIDDEN);
    return;
  }
  const mine = new EventSource("/events");
  source = mine;
  mine.addEventListener("state", (event) => {
    heard = Date.now();
    hear(JSON.parse(event.data));
  });
  mine.addEventListener("beat", () => {
    heard = Date.now();
  });
  mine.addEventListener("end", () => {
    mine.close();
    connection("over");
    retry = setTimeout(listen, AGAIN.over);
  });
  mine.onopen = () => {
    connection("live");
    if (unanswered) ask();
  };
  mine.onerror = () => {
    if (mine !== source) return;
    if (connected !== "over") connection("lost");
    // the browser tries again by itself, unless the server refused
    if (mine.readyState === EventSource.CLOSED) void askWhy();
  };
}

/** Why the server refused the stream: without the session of its token there is none. */
async function askWhy() {
  const answer = await fetch("/state", {credentials: "same-origin"}).catch(() => null);
  const how = answer?.status === 401 ? "refused" : "lost";
  connection(how);
  clearTimeout(retry);
  retry = setTimeout(listen, AGAIN[how]);
}

/** The title of a page in the background says how far the run is. */
async function lookHidden() {
  if (!document.hidden) return;
  const state = await fetched("/state").catch(() => null);
  if (state && document.hidden) hear(state);
  lookAgain = setTimeout(lookHidden, HIDDEN);
}

/** A laptop that slept has a connection that says nothing any more. */
function watch() {
  if (!document.hidden && Date.now() - heard > SILENCE) listen();
}

let connected = "lost";
/** @param {string} how */
function connection(how) {
  connected = how;
  const button = byId("follow");
  const running = live?.live;
  const how_ = connected !== "live" ? connected : following ? (running ? "live" : "still") : "held";
  button.dataset.how = how_;
  button.setAttribute("aria-pressed", String(following));
  button.title = following ? "Stop updating this page" : "Update this page again";
  button.textContent =
    {
      lost: "connection lost, trying again",
      refused: "not let in: open the address that optarena serve printed",
      over: "the server has ended",
      live: live?.paused ? "paused" : "live",
      still: "up to date",
      held: live && live.version > shownVersion ? "held: new results" : "held",
    }[how_] ?? "";
}
