// The parts of the problems, made when they are opened.

/**
 * A specification with this problem's names, the statistic, the kind of the axis of effort and the foot of the other.
 * @param {Spec} spec
 * @param {Map<string, string>} titles
 * @param {Map<string, string>} fields
 * @param {number} floor
 * @param {Effort} axis
 * @returns {Spec}
 */
function filled(spec, titles, fields, floor, axis) {
  return JSON.parse(JSON.stringify(spec), (place, value) => {
    if (place === "domainMin") return floor;
    if (place === "title" && titles.has(value)) return titles.get(value); // names stand elsewhere
    if (place === "field" && fields.has(value)) return fields.get(value);
    if (place === "x" && value.scale) {
      value.scale.type = axis.log ? "log" : "linear";
      value.axis = axis.log ? {format: "~g", tickCount: 6} : axis.counted ? {tickMinStep: 1} : {};
    }
    return value;
  });
}

/** @param {ProblemsData} block */
function problemsOf(block) {
  const axes = Object.keys(block.axes);
  const [axisOf, scaleOf] = [new Map(Object.entries(block.axes)), new Map(Object.entries(block.scales))];
  const state = {axis: axes[0], statistic: "median"};
  /** @type {Map<string, ReturnType<typeof figureBlock>[]>} */
  const opened = new Map();
  const absentOf = new Map(Object.entries(block.absent));
  const redraw = () => {
    for (const [, figures] of opened) figures.forEach((figure) => figure.chart.mark());
  };
  /**
   * @param {string} label
   * @param {string[]} names
   * @param {"axis" | "statistic"} key
   */
  const choice = (label, names, key) => {
    const select = make(
      "select",
      {
        id: `${key}-choice`,
        on: {
          change: () => {
            state[key] = select.value;
            redraw();
          },
        },
      },
      ...names.map((name) => make("option", {value: name}, name)),
    );
    return names.length > 1 ? make("label", {}, label, select) : null;
  };
  const controls = make(
    "div",
    {class: "controls"},
    choice("By", axes, "axis"),
    axes.length ? choice("Statistic", Object.keys(block.statistics), "statistic") : "",
  );
  const shown = new Set(block.shown);

  /**
   * @param {string} name
   * @param {HTMLElement} inner
   */
  function open(name, inner) {
    /** @type {ReturnType<typeof figureBlock>[]} */
    const figures = [];
    const way = scaleOf.get(name);
    if (way && shown.has(name)) {
      const ask = () => {
        const axis = /** @type {Effort} */ (axisOf.get(state.axis));
        const spec = block.specs[way.log ? "log" : "linear"];
        const [middle, lower, upper, told] = block.statistics[state.statistic];
        const fields = new Map([middle, lower, upper].map((field, i) => [block.statistics.median[i], field]));
        const rows = rowsOf(axis.dataset, name);
        const caption = /** @type {HTMLElement} */ (figure.querySelector("figcaption p"));
        const measure = block.measures[way.measure];
        caption.textContent =
          `${measure[0].toUpperCase()}${measure.slice(1)}, ${told}, by ${state.axis}.` +
          (way.log ? " Logarithmic; what is too small is drawn at the foot." : "");
        const ends = rows
          .filter((row, i) => i + 1 === rows.length || rows[i + 1].optimizer !== row.optimizer)
          .map((row) => `${row.optimizer} ${row[state.statistic] ?? "–"}`);
        const alt = `Line chart of the ${measure} on ${name} by ${state.axis}, one line per optimizer. At the end: ${ends.join("; ")}.`;
        return {
          spec: filled(
            spec,
            new Map([
              ["@effort", vegaKey(state.axis)],
              ["@measure", measure],
              ["median", state.statistic],
            ]),
            fields,
            way.floor,
            axis,
          ),
          name: "rows",
          rows,
          alt,
        };
      };
      const figure = figureBlock(
        {id: `convergence-${problemNames.indexOf(name)}`, title: "Convergence", caption: ""},
        ask,
      );
      figures.push(figure);
    }
    const {parallel} = block;
    if (parallel && shown.has(name) && rowsOf(parallel, name).length) {
      const ask = () => ({
        spec: block.specs.parallel,
        name: "rows",
        rows: rowsOf(parallel, name),
        alt: `Parallel coordinates of the best point of every trial on ${name}: one line per trial, one axis per parameter.`,
      });
      figures.push(
        figureBlock(
          {
            id: `parallel-${problemNames.indexOf(name)}`,
            title: "Best points",
            caption: "One line per trial, one axis per parameter: where in its range the best point lies.",
          },
          ask,
        ),
      );
    }
    if (absentOf.has(name)) {
      inner.replaceChildren(make("p", {class: "absent"}, `No best value: ${absentOf.get(name)}.`));
      opened.set(name, []);
      return;
    }
    const table = tableBlock(block.table, {problem: name});
    inner.replaceChildren(make("div", {class: "pair"}, ...figures), table.node);
    opened.set(name, figures);
    tables.push(table);
  }

  /** @type {ReturnType<typeof tableBlock>[]} */
  const tables = [];
  const parts = problemNames.map((name) => {
    const inner = make("div", {class: "inner"});
    const dimension = dimensionOf.get(name);
    const node = make(
      "details",
      {class: "problem"},
      make(
        "summary",
        {},
        make("span", {class: "name"}, nameOf(name)),
        dimension ? make("span", {class: "soft"}, ` dimension ${dimension}`) : null,
      ),
      inner,
    );
    node.addEventListener("toggle", () => {
      if (node.open && !opened.has(name)) open(name, inner);
      if (node.open) opened.get(name)?.forEach((figure) => figure.chart.draw());
    });
    return {name, node, inner};
  });
  listeners.push(() => {
    for (const {name, node} of parts) node.hidden = !problemsNow.has(name);
    redraw();
    for (const table of tables) table.fill();
  });
  if (parts.length) parts[0].node.open = true;
  // paper has no clicks: what is chosen is opened for it, and closed again after
  const more = make("p", {class: "unprinted"});
  /** @type {typeof parts} */
  let forPaper = [];
  addEventListener("beforeprint", () => {
    const wanted = parts.filter(({name}) => problemsNow.has(name));
    forPaper = wanted.slice(0, MOST_PRINTED).filter(({node}) => !node.open);
    for (const {name, node, inner} of forPaper) {
      node.open = true;
      if (!opened.has(name)) open(name, inner);
    }
    const left = wanted.slice(MOST_PRINTED).filter(({node}) => !node.open).length;
    more.textContent = left ? `${left} more problems are not printed: filter, or open them first.` : "";
  });
  addEventListener("afterprint", () => {
    for (const {node} of forPaper) node.open = false;
  });
  const every = make(
    "button",
    {
      type: "button",
      on: {
        click: () => {
          for (const {node} of parts.slice(0, 50)) if (!node.hidden) node.open = true;
        },
      },
    },
    parts.length > 50 ? "Open the first 50" : "Open all",
  );
  controls.append(every);
  return make("div", {class: "problems"}, controls, ...parts.map((part) => part.node), more);
}

/** @param {CodeData} block */
function codeOf(block) {
  return make(
    "div",
    {class: "code"},
    make("h3", {}, block.title),
    make("pre", {tabindex: 0}, make("code", {}, block.text)),
    make(
      "div",
      {class: "tools"},
      make("button", {type: "button", on: {click: () => copy(block.text, block.title)}}, "Copy"),
    ),
  );
}
