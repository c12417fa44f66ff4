"use strict";
// Draws a chart by Vega under the page's policy, and tells of what Vega only logs.

const OPTIONS = {mode: "vega-lite", ast: true, actions: false, defaultStyle: false, tooltip: false, renderer: "svg"};
// the class of views, which the bundle does not name: that of an empty chart
const viewClass = window.vegaEmbed(document.createElement("div"), {marks: []}, {...OPTIONS, mode: "vega"}).then(({view}) => view.finalize().constructor);

// Vega logs an error and goes on with a blank chart: here it is thrown
async function embed(place, spec, options = {}) {
  const errors = [];
  const log = {level: () => log, error: (...texts) => { errors.push(texts.join(" ")); return log; }, warn: () => log, info: () => log, debug: () => log};
  const View = await viewClass;
  class Telling extends View {
    constructor(program, given) {
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
