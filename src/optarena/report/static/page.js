"use strict";
// Puts the report's data on the page. All that comes from a store is set as text, never as markup.
const page = JSON.parse(document.getElementById("data").textContent);
const MOST_PROBLEMS = 60; // rows of a matrix
const MOST_PANELS = 24; // of small multiples
const MOST_ROWS = 200; // of a table, before "show all"

// ---- small helpers ----------------------------------------------------------------------------------------------

function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on") for (const [event, call] of Object.entries(value)) node.addEventListener(event, call);
    else if (key === "hidden") node.hidden = Boolean(value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

const byId = (id) => document.getElementById(id);
const colourOf = new Map(page.optimizers.map((one) => [one.name, one]));
const problemNames = page.problems.map((one) => one.name);
const optimizerNames = page.optimizers.map((one) => one.name);
const functionNames = page.functions.map((one) => one.name);
const dimensionOf = new Map(page.problems.map((one) => [one.name, one.dimension]));

function say(text) {
  byId("said").textContent = text;
}

function short(value, digits) {
  if (value === null || value === undefined || value === "nan") return "–";
  if (value === "inf" || value === "-inf") return value === "inf" ? "∞" : "−∞";
  if (typeof value !== "number") return String(value);
  let text;
  if (digits !== null && digits !== undefined) text = value.toLocaleString("en", {minimumFractionDigits: digits, maximumFractionDigits: digits});
  else if (value === 0) text = "0";
  else if (Math.abs(value) >= 1e6 || Math.abs(value) < 1e-4) text = value.toExponential(3).replace(/\.?0+e/, "e").replace("e+", "e");
  else text = String(Number(value.toPrecision(5)));
  return (/[1-9]/.test(text) ? text : text.replace("-", "")).replaceAll("-", "−");
}

function seconds(value) {
  if (typeof value !== "number") return short(value);
  for (const [unit, size] of [["s", 1], ["ms", 1e-3], ["µs", 1e-6]]) {
    if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
  }
  return `${Number((value / 1e-9).toPrecision(3))} ns`;
}

async function copy(text, what) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = make("textarea", {class: "offscreen"});
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand("copy");
    area.remove();
  }
  say(`${what} copied`);
}

// a text that a spreadsheet would take for a formula is marked as text
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) && !/^[+-]?inf$/.test(value) ? `'${value}` : String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function csv(headers, rows) {
  return [headers, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}

// ---- filters ----------------------------------------------------------------------------------------------------

const chosen = {optimizers: new Set(page.present), problem: "", dimension: null};
const listeners = [];

function problemTest() {
  const text = chosen.problem.trim().toLowerCase();
  if (!text) return () => true;
  if (!text.includes("*")) return (name) => name.toLowerCase().includes(text);
  const pattern = new RegExp("^" + text.split("*").map((part) => part.replace(/[.+?^${}()|[\]\\]/g, "\\$&")).join(".*") + "$");
  return (name) => pattern.test(name.toLowerCase());
}

function chosenProblems() {
  const test = problemTest();
  return new Set(problemNames.filter((name) => test(name) && (chosen.dimension === null || dimensionOf.get(name) === chosen.dimension)));
}

let problemsNow = chosenProblems();
// a function is shown while one of its problems is
const chosenFunctions = () => new Set(page.functions.filter((one) => one.problems.some((name) => problemsNow.has(name))).map((one) => one.name));
let functionsNow = chosenFunctions();
const scopeNow = () => (chosen.dimension === null ? "all" : String(chosen.dimension));

function changed() {
  problemsNow = chosenProblems();
  functionsNow = chosenFunctions();
  for (const listener of listeners) listener();
  const all = chosen.optimizers.size === page.present.length && problemsNow.size === problemNames.length;
  byId("shown").textContent = all ? "" : `${chosen.optimizers.size} of ${page.present.length} optimizers, ${problemsNow.size} of ${problemNames.length} problems`;
  byId("reset").hidden = all;
  document.body.classList.toggle("by-problem", chosen.problem.trim() !== "");
}

function buildFilters() {
  const form = byId("filters");
  const boxes = page.present.map((name) => {
    const box = make("input", {type: "checkbox", value: name, on: {change: () => {
      if (box.checked) chosen.optimizers.add(name);
      else chosen.optimizers.delete(name);
      changed();
    }}});
    box.checked = true;
    return make("label", {class: "chip"}, box, swatch(name), name);
  });
  const set = make("fieldset", {}, make("legend", {}, "Optimizers"), make("div", {class: "chips"}, ...boxes));
  const text = make("input", {type: "search", id: "problem-filter", placeholder: "all; * stands for anything", list: "problem-names", autocomplete: "off",
    on: {input: () => { chosen.problem = text.value; later(changed); }}});
  const options = make("datalist", {id: "problem-names"}, ...problemNames.slice(0, 300).map((name) => make("option", {value: name})));
  const select = make("select", {id: "dimension-filter", on: {change: () => {
    chosen.dimension = select.value === "" ? null : Number(select.value);
    changed();
  }}}, make("option", {value: ""}, "all"), ...page.dimensions.map((d) => make("option", {value: d}, String(d))));
  const reset = make("button", {type: "button", id: "reset", on: {click: () => {
    for (const label of boxes) label.querySelector("input").checked = true;
    chosen.optimizers = new Set(page.present);
    chosen.problem = text.value = "";
    chosen.dimension = null;
    select.value = "";
    changed();
  }}}, "Show all");
  form.addEventListener("submit", (event) => event.preventDefault());
  form.append(set,
    make("label", {for: "problem-filter"}, "Problem", text), options,
    page.dimensions.length > 1 ? make("label", {for: "dimension-filter"}, "Dimension", select) : null ?? "",
    make("span", {class: "end"}, make("output", {id: "shown"}), reset));
}

let timer = 0;
function later(call) {
  clearTimeout(timer);
  timer = setTimeout(call, 150);
}

function swatch(name) {
  const known = colourOf.get(name);
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  for (const [key, value] of Object.entries({class: "swatch", viewBox: "0 0 22 10", width: 22, height: 10, "aria-hidden": "true"})) svg.setAttribute(key, value);
  const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
  const dash = known && known.dash[1] ? known.dash.join(" ") : "";
  for (const [key, value] of Object.entries({x1: 1, y1: 5, x2: 21, y2: 5, stroke: known ? known.colour : "#888", "stroke-width": 4, "stroke-dasharray": dash})) svg.append(line), line.setAttribute(key, value);
  return svg;
}

// ---- data sets --------------------------------------------------------------------------------------------------

const decoded = new Map();

function columnsOf(name) {
  if (!decoded.has(name)) {
    const set = page.datasets[name];
    const columns = {...set.columns};
    for (const key of set.coded) {
      const names = {optimizer: optimizerNames, problem: problemNames, function: functionNames}[key];
      columns[key] = columns[key].map((place) => names[place]);
    }
    decoded.set(name, {size: set.size, columns});
  }
  return decoded.get(name);
}

// the rows of a data set that the filters leave, as objects; problem: only this one's
function rowsOf(name, problem = null) {
  const {size, columns} = columnsOf(name);
  const keys = Object.keys(columns);
  const scope = columns.scope && scopeNow();
  const rows = [];
  for (let i = 0; i < size; i++) {
    if (columns.optimizer && !chosen.optimizers.has(columns.optimizer[i])) continue;
    if (scope && columns.scope[i] !== scope) continue;
    if (columns.problem && (problem === null ? !problemsNow.has(columns.problem[i]) : columns.problem[i] !== problem)) continue;
    if (columns.function && !functionsNow.has(columns.function[i])) continue;
    if (columns.dimension && chosen.dimension !== null && columns.dimension[i] !== chosen.dimension) continue;
    const row = {};
    for (const key of keys) row[key] = columns[key][i];
    rows.push(row);
  }
  return rows;
}

// ---- charts -----------------------------------------------------------------------------------------------------

const charts = new Set();
const tip = byId("tip");

function showTip(handler, event, item, value) {
  if (value === null || value === undefined || value === "") {
    tip.hidden = true;
    return;
  }
  tip.replaceChildren();
  for (const [key, shown] of Object.entries(value)) tip.append(make("div", {}, make("b", {}, key), ` ${shown}`));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - box.height - 8)}px`;
}

class Chart {
  // describe(): {spec, name, rows, alt}, asked each time it is drawn
  constructor(holder, describe, widest) {
    Object.assign(this, {holder, describe, widest, dirty: true, near: false, drawn: 0, view: null});
    charts.add(this);
    watcher.observe(holder);
  }

  mark() {
    this.dirty = true;
    if (this.near) this.draw();
  }

  async draw() {
    if (!this.dirty || !this.holder.isConnected || !this.holder.clientWidth) return;
    this.dirty = false;
    this.drawn = this.holder.clientWidth;
    const {spec, name, rows, alt, cut, by} = this.describe();
    const note = this.holder.nextElementSibling;
    if (note && note.classList.contains("cut")) note.textContent = cut ?? "";
    if (!rows.length) {
      this.holder.replaceChildren(make("p", {class: "nothing"}, "Nothing to draw for this choice."));
      return;
    }
    const whole = structuredClone(spec);
    whole.datasets = {...spec.datasets, [name]: rows};
    whole.config = structuredClone(page.config);
    const longest = Math.min(40, Math.max(...optimizerNames.map((one) => one.length)));
    whole.config.legend.columns = Math.max(1, Math.floor((this.drawn - 60) / (7 * longest + 40)));
    whole.description = alt;
    if (whole.facet) spread(whole, this.drawn, new Set(rows.map((row) => row[whole.facet.field])).size);
    else {
      whole.width = Math.min(this.drawn, this.widest ?? 900);
      whole.autosize = {type: "fit-x", contains: "padding"};
    }
    if (whole.height && whole.height.step) whole.height = new Set(rows.map((row) => JSON.stringify(by.map((key) => row[key])))).size * whole.height.step;
    const place = make("div", {class: "drawing"});
    try {
      const made = await window.vegaEmbed(place, whole, {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, renderer: "svg", tooltip: showTip, logLevel: 1});
      if (this.view) this.view.finalize();
      this.view = made.view;
      this.holder.replaceChildren(place);
      this.holder.dataset.drawn = "yes";
    } catch (error) {
      this.holder.replaceChildren(make("p", {class: "nothing"}, `This figure could not be drawn: ${error.message}`));
      console.error(error);
    }
  }
}

// small multiples: as many panels side by side as there is room for
function spread(spec, width, panels) {
  const [axis, gap] = [66, 18 + 8];
  const room = spec.spec.width;
  spec.columns = Math.max(1, Math.min(panels, spec.columns + 1, Math.floor((width - axis) / (room + gap))));
  spec.spec.width = Math.max(80, Math.min(1.6 * room, Math.floor((width - axis) / spec.columns) - gap));
}

const watcher = new IntersectionObserver((entries) => {
  for (const entry of entries) {
    const chart = [...charts].find((one) => one.holder === entry.target);
    if (!chart) continue;
    chart.near = entry.isIntersecting;
    if (chart.near) chart.draw();
  }
}, {rootMargin: "400px"});

function drawAll() {
  for (const chart of charts) chart.draw();
}

function drawIdle() {
  const next = [...charts].find((chart) => chart.dirty && chart.holder.isConnected && chart.holder.clientWidth);
  if (!next) return;
  next.draw();
  (window.requestIdleCallback ?? setTimeout)(drawIdle);
}

let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    for (const chart of charts) if (chart.drawn && chart.holder.clientWidth && Math.abs(chart.holder.clientWidth - chart.drawn) > 8) chart.mark();
  }, 200);
});
addEventListener("beforeprint", drawAll);

// a matrix with very many problems, or very many panels, shows the first of them
function capped(rows, key, most, what) {
  const names = [...new Set(rows.map((row) => row[key]))];
  if (names.length <= most) return {rows};
  const kept = new Set(names.slice(0, most));
  return {rows: rows.filter((row) => kept.has(row[key])), cut: `The first ${most} of ${names.length} ${what} are drawn: filter to see others.`};
}

function figureBlock(block, ask, extra = null) {
  const holder = make("div", {class: "chart", id: `chart-${block.id}`});
  const caption = make("figcaption", {}, make("p", {}, block.caption));
  const data = dataBlock(() => ask().rows, block.title);
  const svg = make("button", {type: "button", on: {click: async () => {
    if (!chart.view) return;
    const text = await chart.view.toSVG();
    const link = make("a", {href: URL.createObjectURL(new Blob([text], {type: "image/svg+xml"})), download: `${block.id}.svg`});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }}}, "Save as SVG");
  const title = make("h3", {}, block.title);
  const figure = make("figure", {id: block.id, "aria-label": block.title}, title, extra ?? "", holder, make("p", {class: "cut"}), caption, make("div", {class: "tools"}, data, svg));
  const chart = new Chart(holder, ask, block.widest);
  figure.chart = chart;
  return figure;
}

function figureOf(block) {
  const matrix = block.widest !== null && block.widest !== undefined;
  const ask = () => {
    const rows = rowsOf(block.dataset, block.problem ?? null);
    let shown = {rows};
    if (matrix) shown = capped(rows, "problem", MOST_PROBLEMS, "problems");
    else if (block.spec.facet) shown = capped(rows, block.spec.facet.field, MOST_PANELS, "panels");
    return {spec: block.spec, name: block.dataset, alt: block.alt, by: block.by, ...shown};
  };
  const figure = figureBlock(block, ask);
  if (page.datasets[block.dataset].columns.scope) figure.append(make("p", {class: "whole"}, "Over all problems of the chosen dimension: the filter by problem does not change it."));
  listeners.push(() => figure.chart.mark());
  return figure;
}

// the rows that a figure shows, made when asked for
function dataBlock(rows, title) {
  const inner = make("div");
  const details = make("details", {class: "data"}, make("summary", {}, "Data"), inner);
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    const all = rows();
    const keys = all.length ? Object.keys(all[0]).filter((key) => all.some((row) => row[key] !== null)) : [];
    const columns = keys.map((key) => ({label: key, kind: key === "optimizer" ? "optimizer" : typeof all.find((row) => row[key] !== null)[key] === "number" ? "number" : "text"}));
    const table = {id: "", title: `Data of: ${title}`, columns, rows: all.map((row) => keys.map((key) => row[key])), note: "", scopes: null, bold: [], latex: null};
    inner.replaceChildren(tableBlock(table, {plain: true}).node);
  });
  return details;
}

// ---- tables -----------------------------------------------------------------------------------------------------

function cellText(value, column) {
  if (value === null || value === undefined) return "–";
  const one = (x) => (column.kind.startsWith("seconds") ? seconds(x) : short(x, column.digits));
  if (Array.isArray(value)) return value.every((end) => end === null) ? "–" : `[${value.map(one).join(", ")}]`;
  if (column.kind === "seconds") return seconds(value);
  if (typeof value === "number" || column.kind === "number") return short(value, column.digits);
  return String(value);
}

function sortKey(value) {
  if (Array.isArray(value)) return sortKey(value[0]);
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return value;
}

function compare(a, b) {
  const [x, y] = [sortKey(a), sortKey(b)];
  const none = (v) => v === null || v === undefined;
  if (none(x) || none(y)) return none(x) - none(y);
  if (typeof x === "number" && typeof y === "number") return x - y;
  return String(x).localeCompare(String(y), "en", {numeric: true});
}

// options: problem, only its rows; plain, rows are already chosen
function tableBlock(table, options = {}) {
  const right = table.columns.map((column) => ["number", "interval", "seconds", "seconds interval"].includes(column.kind));
  const place = (kind) => table.columns.findIndex((column) => column.kind === kind);
  const [o, p, f] = [place("optimizer"), place("problem"), place("function")];
  const bold = new Set(table.bold.map(([i, j]) => `${i} ${j}`));
  const state = {column: -1, down: false, all: false};
  const dropped = options.problem ? p : -1;

  function visible() {
    let rows = table.rows.map((_, i) => i);
    if (!options.plain) {
      if (table.scopes) rows = rows.filter((i) => table.scopes[i] === scopeNow());
      if (o >= 0) rows = rows.filter((i) => table.rows[i][o] === null || !page.present.includes(table.rows[i][o]) || chosen.optimizers.has(table.rows[i][o]));
      if (p >= 0) rows = rows.filter((i) => (options.problem ? table.rows[i][p] === options.problem : table.rows[i][p] === null || problemsNow.has(table.rows[i][p]) || !dimensionOf.has(table.rows[i][p])));
    }
    if (f >= 0 && !options.plain) rows = rows.filter((i) => functionsNow.has(table.rows[i][f]));
    if (state.column >= 0) {
      const c = state.column;
      rows.sort((a, b) => {
        const [x, y] = [table.rows[a][c], table.rows[b][c]];
        if (x === null || y === null) return compare(x, y) || a - b; // what is absent stays last
        return (state.down ? -compare(x, y) : compare(x, y)) || a - b;
      });
    }
    return rows;
  }

  const body = make("tbody");
  const more = make("button", {type: "button", class: "more", on: {click: () => { state.all = true; fill(); }}});
  const heads = table.columns.map((column, j) => {
    if (j === dropped) return null;
    const sort = make("button", {type: "button", title: column.help || null, on: {click: () => {
      state.down = state.column === j ? !state.down : false;
      state.column = j;
      heads.forEach((other, k) => other && (k === j ? other.setAttribute("aria-sort", state.down ? "descending" : "ascending") : other.removeAttribute("aria-sort")));
      fill();
      say(`sorted by ${column.label}, ${state.down ? "descending" : "ascending"}`);
    }}}, column.label);
    return make("th", {scope: "col", class: right[j] ? "right" : null}, sort);
  });

  function fill() {
    const rows = visible();
    const shown = state.all ? rows : rows.slice(0, MOST_ROWS);
    body.replaceChildren(...shown.map((i) => make("tr", {}, ...table.columns.map((column, j) => {
      if (j === dropped) return null;
      const value = table.rows[i][j];
      const cell = make(column.kind === "optimizer" ? "th" : "td", {class: `${right[j] ? "right " : ""}${typeof value === "string" && value.length > 32 ? "long " : ""}${bold.has(`${i} ${j}`) ? "best" : ""}`.trim() || null, scope: column.kind === "optimizer" ? "row" : null});
      if (column.kind === "optimizer" && colourOf.has(value)) cell.append(swatch(value));
      cell.append(cellText(value, column));
      return cell;
    }))));
    if (!rows.length) body.replaceChildren(make("tr", {}, make("td", {colspan: table.columns.length, class: "nothing"}, "Nothing for this choice.")));
    more.hidden = shown.length === rows.length;
    more.textContent = `Show all ${rows.length} rows`;
  }

  function asCsv() {
    const headers = table.columns.flatMap((column) => (column.kind.endsWith("interval") ? [`${column.label} from`, `${column.label} to`] : [column.label]));
    const rows = visible().map((i) => table.columns.flatMap((column, j) => (column.kind.endsWith("interval") ? table.rows[i][j] ?? [null, null] : [table.rows[i][j]])));
    return csv(headers, rows);
  }

  const asLatex = () => [table.latex.head, ...visible().map((i) => table.latex.rows[i]), table.latex.tail].join("\n") + "\n";
  const tools = make("div", {class: "tools"},
    make("button", {type: "button", class: "copy-csv", on: {click: () => copy(asCsv(), "CSV")}}, "Copy as CSV"),
    table.latex ? make("button", {type: "button", class: "copy-latex", on: {click: () => copy(asLatex(), "LaTeX")}}, "Copy as LaTeX") : null);
  const node = make("div", {class: "table", id: options.problem ? null : table.id || null},
    make("div", {class: "scroll", tabindex: 0, role: "region", "aria-label": table.title},
      make("table", {}, make("caption", {}, table.title), make("thead", {}, make("tr", {}, ...heads)), body)),
    table.note ? make("p", {class: "note"}, table.note) : null, more,
    table.scopes ? make("p", {class: "whole"}, "Over all problems of the chosen dimension: the filter by problem does not change it.") : null, tools);
  fill();
  return {node, fill, asCsv, asLatex};
}

function tableOf(block) {
  const table = tableBlock(block);
  listeners.push(table.fill);
  return table.node;
}

// ---- problems ---------------------------------------------------------------------------------------------------

// a specification with this problem's names and the foot of its logarithmic axis in place of the placeholders
function filled(spec, words, floor = null) {
  return JSON.parse(JSON.stringify(spec), (key, value) => {
    if (key === "domainMin") return floor;
    return typeof value === "string" && Object.hasOwn(words, value) ? words[value] : value;
  });
}

function problemsOf(block) {
  const axes = Object.keys(block.axes);
  const state = {axis: axes[0], statistic: "median"};
  const opened = new Map();
  const redraw = () => { for (const [, figures] of opened) figures.forEach((figure) => figure.chart.mark()); };
  const choice = (label, names, key) => {
    const select = make("select", {id: `${key}-choice`, on: {change: () => { state[key] = select.value; redraw(); }}}, ...names.map((name) => make("option", {value: name}, name)));
    return names.length > 1 ? make("label", {}, label, select) : null;
  };
  const controls = make("div", {class: "controls"}, choice("By", axes, "axis"), choice("Statistic", Object.keys(block.statistics), "statistic"));
  const shown = new Set(block.shown);

  function open(name, inner) {
    const figures = [];
    const way = block.scales[name];
    if (way && shown.has(name)) {
      const ask = () => {
        const axis = block.axes[state.axis];
        const spec = block.specs[`${state.statistic} ${way.log ? "log" : "linear"} ${axis.log ? "log" : "linear"}`];
        const rows = rowsOf(axis.dataset, name);
        const caption = figure.querySelector("figcaption p");
        const measure = block.measures[way.measure];
        caption.textContent = `${measure[0].toUpperCase()}${measure.slice(1)}, ${block.statistics[state.statistic]}, by ${state.axis}.` + (way.log ? " Logarithmic; what is too small is drawn at the foot." : "");
        const ends = rows.filter((row, i) => i + 1 === rows.length || rows[i + 1].optimizer !== row.optimizer).map((row) => `${row.optimizer} ${short(row[state.statistic])}`);
        const alt = `Line chart of the ${block.measures[way.measure]} on ${name} by ${state.axis}, a line an optimizer. At the end: ${ends.join("; ")}.`;
        return {spec: filled(spec, {"@data": "rows", "@effort": state.axis, "@measure": block.measures[way.measure]}, way.floor), name: "rows", rows, alt};
      };
      const figure = figureBlock({id: `convergence-${problemNames.indexOf(name)}`, title: "Convergence", caption: ""}, ask);
      figures.push(figure);
    }
    if (block.parallel && shown.has(name) && rowsOf(block.parallel, name).length) {
      const ask = () => ({spec: filled(block.specs.parallel, {"@data": "rows"}), name: "rows", rows: rowsOf(block.parallel, name),
        alt: `Parallel coordinates of the best point of every trial on ${name}: a line a trial, an axis a parameter.`});
      figures.push(figureBlock({id: `parallel-${problemNames.indexOf(name)}`, title: "Best points", caption: "A line a trial, an axis a parameter: where in its range the best point lies."}, ask));
    }
    const table = tableBlock(block.table, {problem: name});
    inner.replaceChildren(make("div", {class: "pair"}, ...figures), table.node);
    opened.set(name, figures);
    tables.push(table);
  }

  const tables = [];
  const parts = problemNames.map((name) => {
    const inner = make("div", {class: "inner"});
    const dimension = dimensionOf.get(name);
    const node = make("details", {class: "problem"}, make("summary", {}, make("span", {class: "name"}, name), dimension ? make("span", {class: "soft"}, ` dimension ${dimension}`) : null), inner);
    node.addEventListener("toggle", () => {
      if (node.open && !opened.has(name)) open(name, inner);
      if (node.open) opened.get(name).forEach((figure) => figure.chart.draw());
    });
    return {name, node};
  });
  listeners.push(() => {
    for (const {name, node} of parts) node.hidden = !problemsNow.has(name);
    redraw();
    for (const table of tables) table.fill();
  });
  if (parts.length) parts[0].node.open = true;
  const every = make("button", {type: "button", on: {click: () => { for (const {node} of parts.slice(0, 50)) if (!node.hidden) node.open = true; }}}, parts.length > 50 ? "Open the first 50" : "Open all");
  controls.append(every);
  return make("div", {class: "problems"}, controls, ...parts.map((part) => part.node));
}

function codeOf(block) {
  return make("div", {class: "code"}, make("h3", {}, block.title), make("pre", {tabindex: 0}, make("code", {}, block.text)),
    make("div", {class: "tools"}, make("button", {type: "button", on: {click: () => copy(block.text, block.title)}}, "Copy")));
}

// ---- the page ---------------------------------------------------------------------------------------------------

const pairOf = (block) => make("div", {class: "pair"}, ...block.blocks.map(figureOf));
const BLOCKS = {figure: figureOf, pair: pairOf, table: tableOf, problems: problemsOf, code: codeOf};

function sectionOf(part) {
  const first = part.id === "overview";
  const heading = first ? make("h1", {}, "Which optimizer is best?") : make("h2", {}, part.title);
  const help = make("details", {class: "help"}, make("summary", {}, "What is this?"), make("p", {}, part.help));
  const node = make("section", {id: part.id, "aria-label": part.title, tabindex: -1}, heading);
  if (part.absent) {
    node.append(make("p", {class: "absent"}, `Not here: ${part.absent}.`));
    return node;
  }
  for (const text of part.words) node.append(make("p", {class: first ? "verdict" : "word"}, text));
  const blocks = part.blocks.map((block) => BLOCKS[block.kind](block));
  node.append(make("div", {class: first && blocks.length > 1 ? "first" : "blocks"}, ...blocks), help);
  return node;
}

// the browser has shown what is there; a page in the background is not waited for
function painted() {
  return new Promise((done) => { requestAnimationFrame(() => setTimeout(done)); setTimeout(done, 200); });
}

async function start() {
  document.title = `optarena · ${page.store}`;
  byId("store").textContent = page.store;
  byId("counts").textContent = page.counts;
  byId("footer").textContent = `Made by optarena ${page.version}. One file, nothing is loaded from elsewhere.`;
  const list = make("ul", {}, ...page.sections.map((part) => make("li", {}, make("a", {href: `#${part.id}`}, part.title))));
  byId("nav").append(list);
  buildFilters();
  // the first screen, and its figure, before the rest
  const [first, ...others] = page.sections;
  byId("main").append(sectionOf(first));
  changed();
  await Promise.all([...charts].map((chart) => chart.draw()));
  await painted();
  byId("main").append(...others.map(sectionOf));
  changed();
  if (location.hash.length > 1) byId(location.hash.slice(1))?.scrollIntoView();
  setTimeout(() => (window.requestIdleCallback ?? setTimeout)(drawIdle), 200);
  const current = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      const link = list.querySelector(`a[href="#${entry.target.id}"]`);
      if (entry.isIntersecting) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  }, {rootMargin: "-20% 0px -60% 0px"});
  for (const part of page.sections) current.observe(byId(part.id));
}

start();
