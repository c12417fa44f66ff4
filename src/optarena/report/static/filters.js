// The filters, and the rows of data sets that they leave.

/** @type {{optimizers: Set<Cell>, problem: string, dimension: number | null}} */
const chosen = {optimizers: new Set(), problem: "", dimension: null};
/** @type {(() => void)[]} */
const listeners = [];
/** @type {{part: Part | {why: string} | null}} The answer for the filters at work, if it is not that of the page. */
const state = {part: null};

/** @returns {(name: string) => boolean} */
function problemTest() {
  const text = chosen.problem.trim().toLowerCase();
  if (!text) return () => true;
  if (!text.includes("*")) return (name) => name.toLowerCase().includes(text);
  const pattern = new RegExp(
    "^" +
      text
        .split("*")
        .map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&"))
        .join(".*") +
      "$",
  );
  return (name) => pattern.test(name.toLowerCase());
}

/** @returns {Set<Value>} */
function chosenProblems() {
  const test = problemTest();
  return new Set(
    problemNames.filter(
      (name) => test(name) && (chosen.dimension === null || dimensionOf.get(name) === chosen.dimension),
    ),
  );
}

/** @type {Set<Value>} */
let problemsNow = new Set();
/**
 * A function is shown while one of its problems is.
 * @returns {Set<Value>}
 */
const chosenFunctions = () =>
  new Set(page.functions.filter((one) => one.problems.some((name) => problemsNow.has(name))).map((one) => one.name));
/** @type {Set<Value>} */
let functionsNow = new Set();
const scopeNow = () => (chosen.dimension === null ? "all" : String(chosen.dimension));

/** Nothing is filtered of the data that were taken, and nobody listens. */
function takeFilters() {
  Object.assign(chosen, {optimizers: new Set(page.present), problem: "", dimension: null});
  listeners.length = 0;
  state.part = null;
  decoded.clear();
  applyFilters();
}

function applyFilters() {
  problemsNow = chosenProblems();
  functionsNow = chosenFunctions();
  state.part = partNow();
  for (const listener of listeners) listener();
}

function changed() {
  applyFilters();
  const absent = page.present.filter((name) => !chosen.optimizers.has(name));
  const text = chosen.problem.trim();
  const all = !absent.length && !text && chosen.dimension === null;
  byId("shown").textContent = all
    ? ""
    : `${chosen.optimizers.size} of ${page.present.length} optimizers, ${problemsNow.size} of ${problemNames.length} problems`;
  byId("reset").hidden = all;
  byId("printed").textContent = [
    `Shown: ${absent.length ? page.present.filter((name) => chosen.optimizers.has(name)).join(", ") : "all optimizers"}`,
    text ? `problems ${text}` : "all problems",
    ...(chosen.dimension === null ? [] : [`dimension ${chosen.dimension}`]),
  ].join("; ");
  const active = [
    ...(absent.length > 6
      ? [activeChip(`without ${absent.length} optimizers`, () => showOptimizers())]
      : absent.map((name) => activeChip(["without ", nameOf(name)], () => showOptimizers([name])))),
    text ? activeChip(`problem: ${text}`, showProblems) : null,
    chosen.dimension === null ? null : activeChip(`dimension ${chosen.dimension}`, showDimensions),
  ].filter((chip) => chip !== null);
  byId("active").replaceChildren(...active);
  byId("active").hidden = !active.length;
  document.body.classList.toggle("by-problem", text !== "");
  document.body.classList.toggle("filtered", !all);
  document.body.classList.toggle("unanswered", state.part === null && !answeredByPage());
}

/**
 * Filters in force stay in sight; a click removes one.
 * @param {string | (string | HTMLElement)[]} label
 * @param {() => void} undo
 */
function activeChip(label, undo) {
  return make(
    "button",
    {
      type: "button",
      class: "active",
      title: "remove this filter",
      on: {
        click: () => {
          undo();
          changed();
        },
      },
    },
    ...[label].flat(),
    make("span", {"aria-hidden": "true"}, " ×"),
  );
}

function showOptimizers(names = page.present) {
  for (const name of names) chosen.optimizers.add(name);
  for (const box of /** @type {NodeListOf<HTMLInputElement>} */ (
    byId("filters").querySelectorAll("input[type=checkbox]")
  ))
    box.checked = chosen.optimizers.has(box.value);
}

function showProblems() {
  const input = /** @type {HTMLInputElement} */ (byId("problem-filter"));
  chosen.problem = input.value = "";
}

function showDimensions() {
  chosen.dimension = null;
  const select = /** @type {HTMLSelectElement | null} */ (document.getElementById("dimension-filter"));
  if (select) select.value = "";
}

function buildFilters() {
  const form = byId("filters");
  const boxes = page.present.map((name) => {
    const box = make("input", {
      type: "checkbox",
      value: name,
      on: {
        change: () => {
          if (box.checked) chosen.optimizers.add(name);
          else chosen.optimizers.delete(name);
          changed();
        },
      },
    });
    box.checked = true;
    return make("label", {class: "chip"}, box, swatch(name), nameOf(name));
  });
  const set = make("fieldset", {}, make("legend", {}, "Optimizers"), make("div", {class: "chips"}, ...boxes));
  const text = make("input", {
    type: "search",
    id: "problem-filter",
    placeholder: "all; * stands for anything",
    list: "problem-names",
    autocomplete: "off",
    on: {
      input: () => {
        chosen.problem = text.value;
        later(changed);
      },
    },
  });
  const options = make(
    "datalist",
    {id: "problem-names"},
    ...problemNames.slice(0, 300).map((name) => make("option", {value: name})),
  );
  const select = make(
    "select",
    {
      id: "dimension-filter",
      on: {
        change: () => {
          chosen.dimension = select.value === "" ? null : Number(select.value);
          changed();
        },
      },
    },
    make("option", {value: ""}, "all"),
    ...page.dimensions.map((d) => make("option", {value: d}, String(d))),
  );
  const reset = make(
    "button",
    {
      type: "button",
      id: "reset",
      on: {
        click: () => {
          showOptimizers();
          showProblems();
          showDimensions();
          changed();
        },
      },
    },
    "Show all",
  );
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(
    set,
    make("label", {for: "problem-filter"}, "Problem", text),
    options,
    page.dimensions.length > 1 ? make("label", {for: "dimension-filter"}, "Dimension", select) : "",
    make("span", {class: "end"}, make("output", {id: "shown"}), reset),
  );
}

let timer = 0;
/** @param {() => void} call */
function later(call) {
  clearTimeout(timer);
  timer = setTimeout(call, 150);
}

/** @param {string} name */
function swatch(name) {
  const known = colourOf.get(name);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({
    class: "swatch",
    viewBox: "0 0 22 10",
    width: 22,
    height: 10,
    "aria-hidden": "true",
  }))
    svg.setAttribute(key, String(value));
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const dash = known && known.dash[1] ? known.dash.join(" ") : "";
  for (const [key, value] of Object.entries({
    x1: 1,
    y1: 5,
    x2: 21,
    y2: 5,
    stroke: known ? known.colour : "#888",
    "stroke-width": 4,
    "stroke-dasharray": dash,
  }))
    line.setAttribute(key, String(value));
  svg.append(line);
  return svg;
}

// ---- data sets --------------------------------------------------------------------------------------------------

/** @type {Map<string, {size: number, columns: Record<string, Cell[]>}>} */
const decoded = new Map();

/** @param {string} name */
function columnsOf(name) {
  let known = decoded.get(name);
  if (known === undefined) {
    const set = /** @type {Dataset} */ (datasets.get(name));
    const columns = {...set.columns};
    for (const key of set.coded) {
      const names = {optimizer: optimizerNames, problem: problemNames, function: functionNames}[key];
      columns[key] = columns[key].map((place) => names[Number(place)]);
    }
    known = {size: set.size, columns};
    decoded.set(name, known);
  }
  return known;
}

/**
 * The rows of a data set that the filters leave, as objects.
 * @param {string} name
 * @param {string | null} problem Only rows of this one.
 */
function rowsOf(name, problem = null) {
  const {size, columns} = columnsOf(name);
  const keys = Object.keys(columns);
  const scope = columns.scope && scopeNow();
  /** @type {Row[]} */
  const rows = [];
  for (let i = 0; i < size; i++) {
    if (columns.optimizer && !chosen.optimizers.has(columns.optimizer[i])) continue;
    if (scope && columns.scope[i] !== scope) continue;
    if (columns.problem && (problem === null ? !problemsNow.has(columns.problem[i]) : columns.problem[i] !== problem))
      continue;
    if (columns.function && !functionsNow.has(columns.function[i])) continue;
    if (columns.dimension && chosen.dimension !== null && columns.dimension[i] !== chosen.dimension) continue;
    /** @type {Row} */
    const row = {};
    for (const key of keys) row[key] = columns[key][i];
    rows.push(row);
  }
  return rows;
}
