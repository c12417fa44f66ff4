"use strict";
// Draws a chart by Vega under the page's policy, and tells of what Vega only logs.

const OPTIONS = {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, tooltip: false, renderer: "svg"};
/**
 * The live page shows its numbers before Vega is loaded; a file has it before this script.
 * @type {Promise<unknown>}
 */
const vegaLoaded =
  "vegaEmbed" in window
    ? Promise.resolve()
    : new Promise((done) => document.getElementById("vega")?.addEventListener("load", done));
/**
 * The class of views, which the bundle does not name: that of an empty chart.
 * @type {Promise<any>}
 */
const viewClass = vegaLoaded
  .then(() => window.vegaEmbed(document.createElement("div"), {marks: []}, {...OPTIONS, mode: "vega"}))
  .then(({view}) => view.finalize().constructor);

/**
 * Vega logs an error and goes on with a blank chart: here it is thrown.
 * @param {HTMLElement} place
 * @param {Spec} spec
 * @param {object} options
 */
async function embed(place, spec, options = {}) {
  /** @type {string[]} */
  const errors = [];
  const log = {
    level: () => log,
    error: (/** @type {unknown[]} */ ...texts) => {
      errors.push(texts.join(" "));
      return log;
    },
    warn: () => log,
    info: () => log,
    debug: () => log,
  };
  const View = await viewClass;
  class Telling extends View {
    constructor(/** @type {unknown} */ program, /** @type {object} */ given) {
      super(program, {...given, logger: log});
    }
  }
  const made = await window.vegaEmbed(place, spec, {...OPTIONS, ...options, viewClass: Telling});
  if (errors.length) {
    made.finalize();
    throw new Error(errors[0]);
  }
  return made;
}
