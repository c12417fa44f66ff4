// Tables: sorted, filtered, copied.

/**
 * Numbers are written by the program that made the page; those of a figure's rows are shown as they are.
 * @param {Value | undefined} value
 * @param {string | null | undefined} text
 */
function cellText(value, text) {
  if (text !== null && text !== undefined) return text;
  return value === null || value === undefined ? "–" : String(value);
}

/**
 * An interval by its lower end; without one it is absent.
 * @param {Value | undefined} value
 * @returns {Cell | undefined}
 */
function sortKey(value) {
  if (Array.isArray(value)) return sortKey(value[0]) ?? sortKey(value[1]);
  if (value === "nan") return null;
  if (value === "inf") return Infinity;
  if (value === "-inf") return -Infinity;
  return value;
}

/** @param {Cell | undefined} value */
const absent = (value) => value === null || value === undefined;

/**
 * @param {Cell | undefined} x
 * @param {Cell | undefined} y
 */
function compare(x, y) {
  if (typeof x === "number" && typeof y === "number") return x - y;
  return String(x).localeCompare(String(y), "en", {numeric: true});
}

const NAMED = ["optimizer", "problem", "function"];

/**
 * A leaderboard is never wider than its place: it is set below the figure beside it, or in lines, one optimizer each.
 * @param {HTMLElement} node
 * @param {HTMLElement} region
 * @param {HTMLElement} table
 */
function keepInSight(node, region, table) {
  const fit = () => {
    node.classList.remove("stacked");
    table.style.width = "min-content";
    const needed = table.offsetWidth;
    table.style.width = "";
    const first = node.closest(".first");
    if (first) first.classList.toggle("below", needed > 0.55 * first.clientWidth);
    node.classList.toggle("stacked", needed > region.clientWidth);
  };
  const observer = new ResizeObserver(() => requestAnimationFrame(fit));
  observer.observe(region);
  observer.observe(table); // its rows change with the filters
}

/**
 * @param {TableData} table
 * @param {{problem?: string, plain?: boolean}} options problem: only its rows; plain: rows are already chosen.
 */
function tableBlock(table, options = {}) {
  const right = table.columns.map((column) => column.right);
  /** @param {string} kind */
  const place = (kind) => table.columns.findIndex((column) => column.kind === kind);
  /**
   * The name in a row; null where it has none.
   * @param {number} i
   * @param {number} j
   * @returns {any}
   */
  const name = (i, j) => table.rows[i][j];
  const [o, p, f] = [place("optimizer"), place("problem"), place("function")];
  const bold = new Set(table.bold.map(([i, j]) => `${i} ${j}`));
  /**
   * In a leaderboard every optimizer has one row.
   * @param {unknown} _
   * @param {number} i
   */
  const rowKey = (_, i) => JSON.stringify([table.scopes?.[i], p < 0 || name(i, p), name(i, o)]);
  const state = {column: -1, down: false, all: false};
  const dropped = options.problem ? p : -1;

  /** The rows that the filters leave, in the order that was asked. */
  function visible() {
    let rows = table.rows.map((_, i) => i);
    if (!options.plain) {
      const {scopes} = table;
      if (scopes) rows = rows.filter((i) => scopes[i] === scopeNow());
      if (o >= 0)
        rows = rows.filter(
          (i) => name(i, o) === null || !page.present.includes(name(i, o)) || chosen.optimizers.has(name(i, o)),
        );
      if (p >= 0)
        rows = rows.filter((i) =>
          options.problem
            ? name(i, p) === options.problem
            : name(i, p) === null || problemsNow.has(name(i, p)) || !dimensionOf.has(name(i, p)),
        );
    }
    if (f >= 0 && !options.plain) rows = rows.filter((i) => functionsNow.has(name(i, f)));
    if (state.column >= 0) {
      const c = state.column;
      rows.sort((a, b) => {
        const [x, y] = [sortKey(table.rows[a][c]), sortKey(table.rows[b][c])];
        if (absent(x) || absent(y)) return Number(absent(x)) - Number(absent(y)) || a - b; // last both ways
        return (state.down ? -compare(x, y) : compare(x, y)) || a - b;
      });
    }
    return rows;
  }

  const titles = new Map(Object.entries(table.titles ?? {}));
  const titleNow = () => titles.get(scopeNow()) ?? table.title;
  const body = make("tbody");
  const caption = make("caption", {});
  const title = make("p", {class: "caption", "aria-hidden": "true"}); // seen whole, however wide the table is
  const more = make("button", {
    type: "button",
    class: "more",
    on: {
      click: () => {
        state.all = true;
        fill();
      },
    },
  });
  const heads = table.columns.map((column, j) => {
    if (j === dropped) return null;
    const sort = make(
      "button",
      {
        type: "button",
        title: column.help || null,
        on: {
          click: () => {
            state.down = state.column === j ? !state.down : false;
            state.column = j;
            heads.forEach(
              (other, k) =>
                other &&
                (k === j
                  ? other.setAttribute("aria-sort", state.down ? "descending" : "ascending")
                  : other.removeAttribute("aria-sort")),
            );
            fill();
            say(`sorted by ${column.label}, ${state.down ? "descending" : "ascending"}`);
          },
        },
      },
      column.label,
    );
    return make("th", {scope: "col", class: right[j] ? "right" : null}, sort);
  });

  function fill() {
    const rows = visible();
    const shown = state.all ? rows : rows.slice(0, MOST_ROWS);
    caption.textContent = title.textContent = titleNow();
    region.setAttribute("aria-label", titleNow());
    body.replaceChildren(
      ...shown.map((i) =>
        make(
          "tr",
          {},
          ...table.columns.map((column, j) => {
            if (j === dropped) return null;
            const value = table.rows[i][j];
            const against = column.kind === "against" ? `against ${value === "·" ? "self " : ""}` : "";
            const cell = make(column.kind === "optimizer" ? "th" : "td", {
              "data-label": column.kind === "optimizer" ? null : column.label,
              class:
                `${against}${right[j] ? "right " : ""}${typeof value === "string" && value.length > 32 ? "long " : ""}${bold.has(`${i} ${j}`) ? "best" : ""}`.trim() ||
                null,
              scope: column.kind === "optimizer" ? "row" : null,
            });
            if (column.kind === "optimizer" && typeof value === "string" && colourOf.has(value))
              cell.append(swatch(value));
            cell.append(
              NAMED.includes(column.kind) && typeof value === "string"
                ? nameOf(value)
                : cellText(value, table.texts?.[j]?.[i]),
            );
            return cell;
          }),
        ),
      ),
    );
    if (!rows.length)
      body.replaceChildren(
        make("tr", {}, make("td", {colspan: table.columns.length, class: "nothing"}, "Nothing for this choice.")),
      );
    more.hidden = shown.length === rows.length;
    more.textContent = `Show all ${rows.length} rows`;
  }

  function asCsv() {
    const headers = table.columns.flatMap((column) =>
      column.kind.endsWith("interval") ? [`${column.label} from`, `${column.label} to`] : [column.label],
    );
    const rows = visible().map((i) =>
      table.columns.flatMap((column, j) =>
        column.kind.endsWith("interval") ? (table.rows[i][j] ?? [null, null]) : table.rows[i][j],
      ),
    );
    return csv(headers, rows);
  }

  const latexHeads = new Map(Object.entries(table.latex?.heads ?? {}));
  function asLatex() {
    const {latex} = table;
    if (!latex) return "";
    const head = latexHeads.get(scopeNow()) ?? latex.head;
    return [head, ...visible().map((i) => latex.rows[i]), latex.tail].join("\n") + "\n";
  }
  const tools = make(
    "div",
    {class: "tools"},
    make("button", {type: "button", class: "copy-csv", on: {click: () => copy(asCsv(), "CSV")}}, "Copy as CSV"),
    table.latex
      ? make(
          "button",
          {type: "button", class: "copy-latex", on: {click: () => copy(asLatex(), "LaTeX")}},
          "Copy as LaTeX",
        )
      : null,
  );
  const inner = make("table", {}, caption, make("thead", {}, make("tr", {}, ...heads)), body);
  const region = make("div", {class: "scroll", tabindex: 0, role: "region"}, inner);
  const node = make(
    "div",
    {class: "table", id: options.problem ? null : table.id || null},
    title,
    region,
    table.note ? make("p", {class: "note"}, table.note) : null,
    more,
    table.scopes
      ? make(
          "p",
          {class: "whole"},
          "Over all problems of the chosen dimension: the filter by problem does not change it.",
        )
      : null,
    tools,
  );
  fill();
  if (o === (dropped === 0 ? 1 : 0) && new Set(table.rows.map(rowKey)).size === table.rows.length)
    keepInSight(node, region, inner);
  return {node, fill, asCsv, asLatex};
}

/** @param {TableData} block */
function tableOf(block) {
  const table = tableBlock(block);
  listeners.push(table.fill);
  return table.node;
}
