"use strict";
// Draws the one chart of a figure's page.
const given = JSON.parse(document.getElementById("data").textContent);
window.vegaEmbed(document.getElementById("chart"), given.spec, {
  mode: "vega-lite", ast: true, actions: false, defaultStyle: false, tooltip: false, renderer: "svg",
});
