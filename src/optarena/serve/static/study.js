// One study: its trace, its parameters over time, what it cost, its best points and its errors.

/** @type {Map<string, VegaView>} */
const views = new Map();

/**
 * @param {StudyData} data
 * @param {string} id
 * @param {string} title
 * @param {string} caption
 * @param {Spec} spec
 * @param {Row[]} rows
 */
function studyFigure(data, id, title, caption, spec, rows) {
  const holder = make("div", {class: "chart", id});
  // the old drawing stands until the new one is made
  const old = document.getElementById(id);
  if (old) holder.append(...old.childNodes);
  const figure = make("figure", {}, make("h3", {}, title), holder, make("figcaption", {}, make("p", {}, caption)));
  const whole = {
    ...spec,
    data: {values: rows},
    config: {...data.config, background: "transparent"},
    description: `${title}. ${caption}`,
    height: 220,
    autosize: {type: "fit-x", contains: "padding"},
  };
  setTimeout(async () => {
    try {
      const place = make("div", {});
      const {view} = await embed(place, {...whole, width: Math.max(200, holder.clientWidth)});
      views.get(id)?.finalize();
      views.set(id, view);
      holder.replaceChildren(place);
      holder.dataset.drawn = "yes";
    } catch (error) {
      holder.replaceChildren(make("p", {class: "nothing"}, `This figure could not be drawn: ${error}`));
    }
  });
  return figure;
}

/** @param {StudyData} data */
function studyFigures(data) {
  const {trace} = data;
  const x = {field: "evaluation", type: "quantitative", title: "evaluation", axis: {tickMinStep: 1}};
  const y = (/** @type {string} */ title, log = false) => ({
    type: "quantitative",
    title,
    scale: log ? {type: "log"} : {type: "linear", zero: false},
  });
  const several = data.objectives.length > 1;
  const out = data.objectives.map((objective, j) => {
    const rows = trace.evaluation.map((evaluation, i) => ({
      evaluation,
      value: objective.value[i],
      best: objective.line[i],
    }));
    const axis = y(objective.name, objective.log);
    return studyFigure(
      data,
      j ? `trace-${j}` : "trace",
      several ? `Trace of ${objective.name}` : "Trace",
      several
        ? "Points are evaluations, the line is the best so far of this objective alone."
        : "Points are evaluations, the line is the best so far.",
      {
        layer: [
          {mark: {type: "point", size: 12, opacity: 0.4, filled: true}, encoding: {x, y: {...axis, field: "value"}}},
          {
            mark: {type: "line", interpolate: "step-after", strokeWidth: 2},
            encoding: {x, y: {...axis, field: "best"}},
          },
        ],
      },
      objective.log ? rows.filter((row) => Number(row.value) > 0) : rows,
    );
  });
  const times = /** @type {const} */ (["suggest", "evaluate", "observe"]).flatMap((phase) =>
    trace.evaluation.map((evaluation, i) => ({evaluation, phase, milliseconds: 1000 * trace[phase][i]})),
  );
  out.push(
    studyFigure(
      data,
      "times",
      "What each evaluation took",
      "Milliseconds to suggest a point, to evaluate it, and to tell the optimizer.",
      {
        mark: {type: "point", size: 12, filled: true, opacity: 0.6},
        encoding: {
          x,
          y: {field: "milliseconds", type: "quantitative", scale: {type: "symlog", constant: 0.01}, title: "ms"},
          color: {field: "phase", type: "nominal", legend: {orient: "top", title: null}},
        },
      },
      times,
    ),
  );
  const best = new Set(data.top);
  for (const [j, parameter] of data.parameters.slice(0, 24).entries())
    out.push(
      studyFigure(
        data,
        `parameter-${j}`,
        parameter.name,
        "Over time; the best points stand out.",
        {
          mark: {type: "point", filled: true},
          encoding: {
            x,
            y: parameter.numeric
              ? {...y(parameter.name, parameter.log), field: "value"}
              : {field: "value", type: "nominal", title: parameter.name},
            size: {condition: {test: "datum.best", value: 60}, value: 12},
            opacity: {condition: {test: "datum.best", value: 1}, value: 0.4},
          },
        },
        trace.evaluation
          .map((evaluation, i) => ({evaluation, value: parameter.values[i], best: best.has(i)}))
          .filter((row) => row.value !== null),
      ),
    );
  return out;
}

/**
 * @param {string} title
 * @param {string[]} heads
 * @param {(string | number | null)[][]} rows
 */
const studyTable = (title, heads, rows) =>
  plainTable(
    title,
    heads.map((head) => [head, ""]),
    rows.map((row) => row.map((cell) => String(cell ?? "–"))),
  );

const LEAST_PAUSE = 5_000;
const SHARE = 50; // a page takes at most a fiftieth of the time of what reads it
let read = "";
/** @type {ReturnType<typeof setTimeout> | undefined} */
let readAgain;

/** Show the study as it is now; one that goes on is read again, while somebody sees the page. */
async function showStudy() {
  clearTimeout(readAgain);
  const id = new URLSearchParams(location.search).get("id") ?? "";
  const main = byId("main");
  const began = Date.now();
  /** @type {StudyData & {error?: string}} */
  let data;
  let text = "";
  try {
    const answer = await fetch(`/study-data?id=${encodeURIComponent(id)}`, {credentials: "same-origin"});
    text = await answer.text();
    if (answer.status === 401) throw new Error("Not let in: open the address that optarena serve printed");
    data = JSON.parse(text);
    if (!answer.ok) throw new Error(data.error ?? `The server answered ${answer.status}`);
  } catch (error) {
    const why =
      error instanceof TypeError ? "The server does not answer" : error instanceof Error ? error.message : error;
    const said = make("p", {class: "nothing", id: "unread", role: "status"}, `${why}.`);
    document.getElementById("unread")?.remove();
    if (read) main.prepend(said);
    else main.replaceChildren(said);
    return;
  }
  document.getElementById("unread")?.remove();
  if (data.open) {
    const pause = Math.max(LEAST_PAUSE, SHARE * (Date.now() - began));
    readAgain = setTimeout(() => (document.hidden ? null : showStudy()), pause);
  }
  byId("goes-on").hidden = !data.open;
  if (text === read) return;
  read = text;
  drawStudy(data);
}

/** @param {StudyData} data */
function drawStudy(data) {
  const main = byId("main");
  document.title = `${data.optimizer} on ${data.problem} · optarena`;
  const short = (/** @type {number | null} */ value) => (value === null ? "–" : String(Number(value.toPrecision(6))));
  const several = data.objectives.length > 1;
  const facts = [
    ["status", data.reason ? `${data.status}: ${data.reason}` : data.status],
    ["evaluations", data.budget ? `${data.evaluations} of ${data.budget}` : String(data.evaluations)],
    ...data.objectives.map((one) => [
      several ? `best ${one.name} alone` : "best value",
      `${short(one.best)}${one.sense === "max" ? " (to be maximised)" : ""}`,
    ]),
    ...(several ? [["front", `${data.front} ${data.front === 1 ? "point" : "points"} that no other dominates`]] : []),
    ["settings", data.settings || "as they are by default"],
    ["where", data.where],
    ...(data.attempt ? [["attempt", `${data.attempt + 1}; earlier ones are kept, unscored`]] : []),
    ["id", data.study],
  ];
  const names = data.parameters.map((one) => one.name);
  main.replaceChildren(
    make("h1", {}, nameOf(data.optimizer), " on ", nameOf(data.problem), `, trial ${data.trial}`),
    make("dl", {class: "facts"}, ...facts.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)])),
    ...(data.traceback ? [make("h3", {}, "Traceback"), make("pre", {tabindex: 0}, data.traceback)] : []),
    ...(data.shown < data.rows
      ? [
          make(
            "p",
            {class: "note"},
            `${data.shown} of ${data.rows} evaluations are drawn, with every improvement and failure.`,
          ),
        ]
      : []),
    ...(data.rows
      ? [make("div", {class: "study-grid"}, ...studyFigures(data))]
      : [make("p", {class: "nothing"}, "It has no evaluation yet.")]),
    ...(data.top.length
      ? [
          studyTable(
            several
              ? data.top.length < data.front
                ? `Its front: ${data.top.length} of ${data.front} points`
                : "Its front"
              : "Its best points",
            ["evaluation", ...data.objectives.map((one) => one.name), ...names],
            data.top.map((place) => [
              data.trace.evaluation[place],
              ...data.objectives.map((one) => short(one.value[place])),
              ...data.parameters.map((parameter) => parameterText(parameter.values[place])),
            ]),
          ),
        ]
      : []),
    ...(data.errors.length
      ? [
          studyTable(
            "Evaluations that failed",
            ["evaluation", "status", "message"],
            data.errors.map((one) => [one.evaluation, one.status, one.message]),
          ),
        ]
      : []),
  );
}

/** @param {Cell | undefined} value */
const parameterText = (value) =>
  typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value ?? "–");

byId("again").addEventListener("click", () => void showStudy());
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && !byId("goes-on").hidden) void showStudy();
});
addEventListener("online", () => void showStudy());
void showStudy();
