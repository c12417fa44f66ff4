// Figures: drawn by Vega when they come near, and again when filters or sizes change.

/** @type {Set<Chart>} */
const charts = new Set();
const tip = byId("tip");

/**
 * Vega's tooltip handler.
 * @param {unknown} handler
 * @param {MouseEvent} event
 * @param {unknown} item
 * @param {Row | string | null | undefined} value
 */
function showTip(handler, event, item, value) {
  if (value === null || value === undefined || value === "") {
    tip.hidden = true;
    return;
  }
  tip.replaceChildren();
  for (const [key, shown] of Object.entries(value))
    tip.append(make("div", {}, make("b", {}, key), " ", nameOf(String(shown).trimEnd())));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - box.height - 8)}px`;
}

class Chart {
  dirty = true;
  near = false;
  drawn = 0; // the width at which it was drawn
  turn = 0;
  /** @type {VegaView | null} */
  view = null;

  /**
   * @param {HTMLElement} holder
   * @param {() => Described} describe Asked each time that it is drawn.
   * @param {number | null} [widest] Of a matrix.
   */
  constructor(holder, describe, widest) {
    this.holder = holder;
    this.describe = describe;
    this.widest = widest;
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
    const turn = ++this.turn;
    this.drawn = this.holder.clientWidth;
    const {spec, name, rows, alt, cut, by = [], least = 0, margin = 0} = this.describe();
    const note = this.holder.nextElementSibling;
    if (note && note.classList.contains("cut")) note.textContent = cut ?? "";
    if (!rows.length) {
      this.holder.replaceChildren(make("p", {class: "nothing"}, "Nothing to draw for this choice."));
      return;
    }
    const whole = structuredClone(spec);
    whole.datasets = {...spec.datasets, [name]: rows.map(charted)};
    whole.config = structuredClone(page.config);
    const present = optimizerNames.filter((one) => rows.some((row) => row.optimizer === one));
    legends(whole, present.map(vegaKey));
    const longest = Math.min(40, Math.max(...present.map((one) => one.length)));
    whole.config.legend.columns = Math.max(1, Math.floor((this.drawn - 60) / (7 * longest + 40)));
    whole.description = alt;
    if (whole.facet) spread(whole, this.drawn, new Set(rows.map((row) => row[whole.facet.field])).size);
    else {
      whole.width = this.widest
        ? matrixWidth(rows, present.length, this.drawn, this.widest)
        : Math.max(Math.min(this.drawn, 900), least);
      whole.autosize = {type: "fit-x", contains: "padding"};
      if (margin) whole.padding = {left: 5, right: margin, top: 5, bottom: 5};
    }
    if (whole.height && whole.height.step)
      whole.height = new Set(rows.map((row) => JSON.stringify(by.map((key) => row[key])))).size * whole.height.step;
    fold(
      whole,
      this.widest
        ? whole.width - labelsOf(rows)
        : Math.min(this.drawn, 900) - (by.length ? signsOf(rows, by) * 6.2 + 30 : 110),
    );
    const place = make("div", {class: "drawing"});
    try {
      const made = await embed(place, whole, {tooltip: showTip});
      if (turn !== this.turn) {
        // the filters changed meanwhile: a later drawing stands
        made.finalize();
        return;
      }
      if (this.view) this.view.finalize();
      this.view = made.view;
      this.holder.replaceChildren(place);
      this.holder.dataset.drawn = "yes";
    } catch (error) {
      if (turn !== this.turn) return;
      this.holder.replaceChildren(
        make(
          "p",
          {class: "nothing"},
          `This figure could not be drawn: ${error instanceof Error ? error.message : error}`,
        ),
      );
      console.error(error);
    }
  }
}

/**
 * Names that every object of JavaScript has are no keys for Vega: they get a space, which is not seen.
 * @param {string} text
 */
function vegaKey(text) {
  return text.replace(/ +$/, "") in Object.prototype ? `${text} ` : text;
}

/**
 * @param {Row} row
 * @returns {Row}
 */
function charted(row) {
  for (const value of Object.values(row)) {
    if (typeof value === "string" && vegaKey(value) !== value)
      return Object.fromEntries(
        Object.entries(row).map(([field, one]) => [field, typeof one === "string" ? vegaKey(one) : one]),
      );
  }
  return row;
}

/**
 * Legends name the optimizers that are drawn, not all that have a colour.
 * @param {Spec} part
 * @param {string[]} names
 */
function legends(part, names) {
  if (part === null || typeof part !== "object") return;
  if (part.field === "optimizer" && part.legend) part.legend.values = names;
  for (const [field, inner] of Object.entries(part)) if (field !== "datasets") legends(inner, names);
}

/**
 * Titles of axes and legends that are longer than their place are set in lines.
 * @param {Spec} part
 * @param {number} room
 */
function fold(part, room) {
  for (const {x, color} of [part, ...(part.layer ?? [])].map((one) => one.encoding ?? {})) {
    for (const titled of [x, color?.legend]) {
      const folded = typeof titled?.title === "string" ? lines(titled.title, room / 6.5) : [];
      if (folded.length > 1) titled.title = folded;
    }
    if (color?.legend?.gradientLength > room) color.legend.gradientLength = room;
  }
  if (part.spec) fold(part.spec, part.spec.width);
}

/**
 * @param {string} text
 * @param {number} most Characters in a line.
 */
function lines(text, most) {
  /** @type {string[]} */
  const out = [];
  for (const word of text.split(" ")) {
    const last = out.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= most) out[out.length - 1] += ` ${word}`;
    else out.push(word);
  }
  return out;
}

/**
 * The numbers of a matrix need room: on a narrow screen it is wider than its place, and scrolls.
 * @param {Row[]} rows
 * @param {number} columns
 * @param {number} room
 * @param {number} widest
 */
function matrixWidth(rows, columns, room, widest) {
  return Math.max(Math.min(room, widest), 40 * columns + labelsOf(rows));
}

/** @param {Row[]} rows */
const labelsOf = (rows) => Math.min(260, 7 * Math.max(...rows.map((row) => String(row.problem).length))) + 20;

/**
 * @param {Row[]} rows
 * @param {string[]} by
 */
const signsOf = (rows, by) =>
  Math.min(40, Math.max(...rows.flatMap((row) => by.map((key) => String(row[key]).length))));

/**
 * Small multiples: as many panels side by side as there is room for.
 * @param {Spec} spec
 * @param {number} width
 * @param {number} panels
 */
function spread(spec, width, panels) {
  const [axis, gap] = [66, 18 + 8];
  const room = spec.spec.width;
  spec.columns = Math.max(1, Math.min(panels, spec.columns + 1, Math.floor((width - axis) / (room + gap))));
  spec.spec.width = Math.max(80, Math.min(1.6 * room, Math.floor((width - axis) / spec.columns) - gap));
}

const watcher = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const chart = [...charts].find((one) => one.holder === entry.target);
      if (!chart) continue;
      chart.near = entry.isIntersecting;
      if (chart.near) chart.draw();
    }
  },
  {rootMargin: "400px"},
);

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
    for (const chart of charts)
      if (chart.drawn && chart.holder.clientWidth && Math.abs(chart.holder.clientWidth - chart.drawn) > 8) chart.mark();
  }, 200);
});

/**
 * A matrix with very many problems, or very many panels, shows the first of them.
 * @param {Row[]} rows
 * @param {string} key
 * @param {number} most
 * @param {string} what
 * @returns {{rows: Row[], cut?: string}}
 */
function capped(rows, key, most, what) {
  const names = [...new Set(rows.map((row) => row[key]))];
  if (names.length <= most) return {rows};
  const kept = new Set(names.slice(0, most));
  return {
    rows: rows.filter((row) => kept.has(row[key])),
    cut: `The first ${most} of ${names.length} ${what} are drawn: filter to see others.`,
  };
}

/**
 * @param {Framed} block
 * @param {() => Described} ask
 * @param {Child} extra
 */
function figureBlock(block, ask, extra = null) {
  const holder = make("div", {class: "chart", id: `chart-${block.id}`});
  const caption = make(
    "figcaption",
    {},
    make("p", {}, ...sentence(block.caption)),
    block.frame ? make("p", {class: "frame"}, `${block.frame[0].toUpperCase()}${block.frame.slice(1)}.`) : null,
  );
  const data = dataBlock(() => ask().rows, block.title);
  const svg = make(
    "button",
    {
      type: "button",
      on: {
        click: async () => {
          if (!chart.view) return;
          const text = await chart.view.toSVG();
          const link = make("a", {
            href: URL.createObjectURL(new Blob([text], {type: "image/svg+xml"})),
            download: `${block.id}.svg`,
          });
          link.click();
          setTimeout(() => URL.revokeObjectURL(link.href), 1000);
        },
      },
    },
    "Save as SVG",
  );
  const title = make("h3", {}, ...sentence(block.title));
  const figure = make(
    "figure",
    {id: block.id, "aria-label": block.title},
    title,
    extra ?? "",
    holder,
    make("p", {class: "cut"}),
    caption,
    make("div", {class: "tools"}, data, svg),
  );
  const chart = new Chart(holder, ask, block.widest);
  return Object.assign(figure, {chart});
}

/** @param {FigureData} block */
function figureOf(block) {
  const matrix = block.widest !== null && block.widest !== undefined;
  const ask = () => {
    const rows = rowsOf(block.dataset, block.problem ?? null);
    /** @type {{rows: Row[], cut?: string}} */
    let shown = {rows};
    if (matrix) shown = capped(rows, "problem", MOST_PROBLEMS, "problems");
    else if (block.spec.facet) shown = capped(rows, block.spec.facet.field, MOST_PANELS, "panels");
    return {
      spec: block.spec,
      name: block.dataset,
      alt: block.alt,
      by: block.by,
      least: block.least,
      margin: block.margin,
      ...shown,
    };
  };
  const figure = figureBlock(block, ask);
  if (datasets.get(block.dataset)?.columns.scope)
    figure.append(
      make(
        "p",
        {class: "whole"},
        "Over all problems of the chosen dimension: the filter by problem does not change it.",
      ),
    );
  listeners.push(() => figure.chart.mark());
  return figure;
}

/**
 * The rows that a figure shows, made when asked for.
 * @param {() => Row[]} rows
 * @param {string} title
 */
function dataBlock(rows, title) {
  const inner = make("div");
  const details = make("details", {class: "data"}, make("summary", {}, "Data"), inner);
  details.addEventListener("toggle", () => {
    if (!details.open) return;
    const all = rows();
    const keys = all.length ? Object.keys(all[0]).filter((key) => all.some((row) => row[key] !== null)) : [];
    /** @param {string} key */
    const numeric = (key) => typeof all.find((row) => row[key] !== null)?.[key] === "number";
    const columns = keys.map((key) => ({
      label: key,
      kind: ["optimizer", "problem", "function"].includes(key) ? key : "text",
      right: numeric(key),
    }));
    /** @type {TableData} */
    const table = {
      id: "",
      title: `Data of: ${title}`,
      columns,
      rows: all.map((row) => keys.map((key) => row[key])),
      note: "",
      titles: {},
      scopes: null,
      bold: [],
      latex: null,
    };
    inner.replaceChildren(tableBlock(table, {plain: true}).node);
  });
  return details;
}
