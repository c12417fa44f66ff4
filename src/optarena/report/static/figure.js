// Draws the one chart of a figure's page.
const given = JSON.parse(document.getElementById("data")?.textContent ?? "");
const chart = /** @type {HTMLElement} */ (document.getElementById("chart"));
embed(chart, given.spec).catch((error) => {
  chart.textContent = `This figure could not be drawn: ${error.message}`;
  console.error(error);
});
