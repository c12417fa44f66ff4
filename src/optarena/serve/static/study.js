// One study: its trace, its parameters over time, what it cost, its best points and its errors.

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
      await embed(place, {...whole, width: Math.max(200, holder.clientWidth)});
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
    scale: {type: log ? "log" : "linear", zero: false},
  });
  const rows = trace.evaluation.map((evaluation, i) => ({evaluation, value: trace.value[i], best: trace.best[i]}));
  const name = data.objectives[0];
  const out = [
    studyFigure(
      data,
      "trace",
      "Trace",
      "Points are evaluations, the line is the best so far.",
      {
        layer: [
          {
            mark: {type: "point", size: 12, opacity: 0.4, filled: true},
            encoding: {x, y: {...y(name, data.log), field: "value"}},
          },
          {
            mark: {type: "line", interpolate: "step-after", strokeWidth: 2},
            encoding: {x, y: {...y(name, data.log), field: "best"}},
          },
        ],
      },
      data.log ? rows.filter((row) => Number(row.value) > 0) : rows,
    ),
  ];
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
  const best = new Set(data.top.map((one) => one.place));
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

async function showStudy() {
  const id = new URLSearchParams(location.search).get("id") ?? "";
  const main = byId("main");
  const answer = await fetch(`/study-data?id=${encodeURIComponent(id)}`, {credentials: "same-origin"});
  const data = /** @type {StudyData & {error?: string}} */ (await answer.json());
  if (!answer.ok) {
    main.replaceChildren(make("p", {class: "nothing"}, `${data.error ?? "The server did not answer"}.`));
    return;
  }
  document.title = `${data.optimizer} on ${data.problem} · optarena`;
  const short = (/** @type {number | null} */ value) => (value === null ? "–" : String(Number(value.toPrecision(6))));
  const facts = [
    ["status", data.reason ? `${data.status}: ${data.reason}` : data.status],
    ["evaluations", data.budget ? `${data.evaluations} of ${data.budget}` : String(data.evaluations)],
    ["best value", `${short(data.best)}${data.sense === "max" ? " (to be maximised)" : ""}`],
    ["settings", data.settings || "as they are by default"],
    ["where", data.where],
    ...(data.attempt ? [["attempt", `${data.attempt + 1}; earlier ones are kept, unscored`]] : []),
    ["id", data.study],
  ];
  const names = data.parameters.map((one) => one.name);
  main.replaceChildren(
    make("h1", {}, nameOf(data.optimizer), " on ", nameOf(data.problem), `, trial ${data.trial}`),
    make("dl", {class: "facts"}, ...facts.flatMap(([key, value]) => [make("dt", {}, key), make("dd", {}, value)])),
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
            "Its best points",
            ["evaluation", data.objectives[0], ...names],
            data.top.map((one) => [
              one.evaluation,
              short(one.value),
              ...data.parameters.map((parameter) => parameterText(parameter.values[one.place])),
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
    ...(data.traceback ? [make("h3", {}, "Traceback"), make("pre", {}, data.traceback)] : []),
  );
}

/** @param {Cell | undefined} value */
const parameterText = (value) =>
  typeof value === "number" ? String(Number(value.toPrecision(5))) : String(value ?? "–");

byId("again").addEventListener("click", () => void showStudy());
void showStudy();
