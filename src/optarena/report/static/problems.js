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
        const fields = new Map(
          block.statistics[state.statistic].map((field, i) => [block.statistics.median[i], field]),
        );
        const rows = rowsOf(axis.dataset, name);
        const [caption, alt] =
          block.words.convergence[`${way.measure} ${way.log ? "log" : "linear"}`][state.axis][state.statistic];
        /** @type {HTMLElement} */ (figure.querySelector("figcaption p")).textContent = caption;
        return {
          spec: filled(
            spec,
            new Map([
              ["@effort", vegaKey(state.axis)],
              ["@measure", block.measures[way.measure]],
              ["median", state.statistic],
            ]),
            fields,
            way.floor,
            axis,
          ),
          name: "rows",
          rows,
          alt: alt.replace("@problem", () => name),
        };
      };
      const figure = figureBlock(
        {id: `convergence-${problemNames.indexOf(name)}`, title: block.titles.convergence, caption: ""},
        ask,
      );
      figures.push(figure);
    }
    const {parallel} = block;
    if (parallel && shown.has(name) && rowsOf(parallel, name).length) {
      const [caption, alt] = block.words.parallel;
      const ask = () => ({
        spec: block.specs.parallel,
        name: "rows",
        rows: rowsOf(parallel, name),
        alt: alt.replace("@problem", () => name),
      });
      figures.push(
        figureBlock(
          {
            id: `parallel-${problemNames.indexOf(name)}`,
            title: block.titles.parallel,
            caption,
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
    const table = tableBlock({...block.table, title: `${block.table.title}: ${name}`}, {problem: name});
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
