"use strict";
// Puts the report's data on the page. All that comes from a store is set as text, never as markup.
/** @type {PageData} What is shown: `take` sets it, and all that follows from it. */
let page;
const MOST_PROBLEMS = 60; // rows of a matrix
const MOST_PANELS = 24; // of small multiples
const MOST_ROWS = 200; // of a table, before "show all"
const MOST_PRINTED = 50; // problems that are opened for paper

/**
 * An element with its attributes (`on`: listeners by event) and children.
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Attributes} attributes
 * @param {Child[]} children
 * @returns {HTMLElementTagNameMap[K]}
 */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key === "on")
      for (const [event, call] of Object.entries(attributes.on ?? {})) node.addEventListener(event, call);
    else if (key === "hidden") node.hidden = Boolean(value);
    else node.setAttribute(key, value === true ? "" : String(value));
  }
  for (const child of children) if (child !== null && child !== undefined) node.append(child);
  return node;
}

/** @param {string} id An element that the page has. */
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/**
 * A table that is neither sorted nor filtered; a long text may be wrapped.
 * @param {string} title
 * @param {[string, string][]} heads label and class
 * @param {(Child | Child[])[][]} rows
 */
function plainTable(title, heads, rows) {
  return make(
    "div",
    {class: "table"},
    make("p", {class: "caption"}, title),
    make(
      "div",
      {class: "scroll", tabindex: 0, role: "region", "aria-label": title},
      make(
        "table",
        {},
        make(
          "thead",
          {},
          make("tr", {}, ...heads.map(([label, kind]) => make("th", {scope: "col", class: `plain ${kind}`}, label))),
        ),
        make(
          "tbody",
          {},
          ...rows.map((row) =>
            make(
              "tr",
              {},
              ...row.map((cell, j) =>
                make(j ? "td" : "th", {scope: j ? null : "row", class: heads[j][1] || longOf(cell)}, ...[cell].flat()),
              ),
            ),
          ),
        ),
      ),
    ),
  );
}

/** @param {Child | Child[]} cell */
const longOf = (cell) => (typeof cell === "string" && cell.length > 32 ? "long" : null);

/** @type {Map<string, PageData["optimizers"][0]>} */
let colourOf = new Map();
/** @type {string[]} */
let problemNames = [];
/** @type {string[]} */
let optimizerNames = [];
/** @type {string[]} */
let functionNames = [];
/** @type {Map<string, number | null>} */
let dimensionOf = new Map();
/** @type {Map<string, Dataset>} */
let datasets = new Map();
/** @type {string[]} Names that run from right to left. */
let turning = [];

/**
 * A name may run from right to left: it must not turn the text around it.
 * @param {string} text
 */
const nameOf = (text) => make("bdi", {}, text);
const TURNING = /[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]|[\ud802-\ud803\ud83a-\ud83b]/;

/**
 * Show these data from now on; what stands on the page is to be made again.
 * @param {PageData} data
 */
function take(data) {
  page = data;
  colourOf = new Map(page.optimizers.map((one) => [one.name, one]));
  problemNames = page.problems.map((one) => one.name);
  optimizerNames = page.optimizers.map((one) => one.name);
  functionNames = page.functions.map((one) => one.name);
  dimensionOf = new Map(page.problems.map((one) => [one.name, one.dimension]));
  datasets = new Map(Object.entries(page.datasets));
  turning = [...optimizerNames, ...problemNames]
    .filter((name) => TURNING.test(name))
    .sort((a, b) => b.length - a.length);
  takeTrials();
  takeFilters();
}

/**
 * A sentence, with such names in it set apart.
 * @param {string} text
 * @returns {(string | HTMLElement)[]}
 */
function sentence(text) {
  const name = turning.find((one) => text.includes(one));
  if (name === undefined) return [text];
  return text.split(name).flatMap((part, i) => (i ? [nameOf(name), ...sentence(part)] : sentence(part)));
}

/** @param {string} text Read out by screen readers. */
function say(text) {
  byId("said").textContent = text;
}

/**
 * @param {string} text
 * @param {string} what
 */
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

/**
 * A text that a spreadsheet would take for a formula is marked as text.
 * @param {Cell | undefined} value
 */
function csvCell(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return String(value);
  const plain = String(value);
  const text = /^[=+\-@\t\r]/.test(plain) && !/^[+-]?inf$/.test(plain) ? `'${plain}` : plain;
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/**
 * @param {string[]} headers
 * @param {Cell[][]} rows
 */
function csv(headers, rows) {
  return [headers, ...rows].map((row) => row.map(csvCell).join(",")).join("\r\n") + "\r\n";
}
