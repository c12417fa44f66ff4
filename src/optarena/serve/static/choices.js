// The filters of the live page: what is chosen stands in the address, and the server computes it.

const KINDS = /** @type {const} */ (["optimizer", "problem", "suite", "dimension", "setting", "tag"]);

function chosenNow() {
  const all = new URLSearchParams(location.search);
  const out = new URLSearchParams();
  for (const kind of KINDS) for (const value of all.getAll(kind)) out.append(kind, value);
  return out;
}

/** @param {URLSearchParams} chosen */
function choose(chosen) {
  const all = new URLSearchParams(location.search);
  for (const kind of KINDS) all.delete(kind);
  for (const [kind, value] of chosen) all.append(kind, value);
  const text = String(all);
  history.pushState(null, "", `${location.pathname}${text ? `?${text}` : ""}${location.hash}`);
  ask();
}

let offeredNow = "";

/** @param {LiveData} data */
function buildChoices(data) {
  const form = byId("filters");
  const text = JSON.stringify(data.offered);
  if (text !== offeredNow && !form.contains(document.activeElement)) {
    offeredNow = text;
    form.replaceChildren(...choices(data.offered));
  }
  const chosen = chosenNow();
  for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (form.querySelectorAll("[name]"))) {
    if (field.type === "checkbox")
      field.checked = !chosen.has("optimizer") || chosen.getAll("optimizer").includes(field.value);
    else if (field !== document.activeElement) showChosen(field, asOne(chosen.getAll(field.name)));
  }
  const all = !String(chosen);
  byId("reset").hidden = byId("apart").hidden = all;
  /** @type {HTMLAnchorElement} */ (byId("save")).href = `/save${all ? "" : `?${chosen}`}`;
}

/**
 * An address may choose several of a kind: a field shows them as one text, and leaves them as they are.
 * @param {string[]} values
 */
const asOne = (values) => values.join(", ");

/**
 * @param {HTMLInputElement | HTMLSelectElement} field
 * @param {string} text
 */
function showChosen(field, text) {
  if (field instanceof HTMLSelectElement && ![...field.options].some((one) => one.value === text))
    field.append(make("option", {value: text}, text));
  field.value = text;
}

/** @param {LiveData["offered"]} offered */
function choices(offered) {
  const read = () => {
    const out = new URLSearchParams();
    const boxes = /** @type {HTMLInputElement[]} */ ([...byId("filters").querySelectorAll("input[type=checkbox]")]);
    if (boxes.some((box) => !box.checked) && boxes.some((box) => box.checked))
      for (const box of boxes) if (box.checked) out.append("optimizer", box.value);
    for (const field of /** @type {NodeListOf<HTMLInputElement>} */ (byId("filters").querySelectorAll("[name]")))
      if (field.type !== "checkbox" && field.value.trim()) {
        const before = chosenNow().getAll(field.name);
        const values = field.value === asOne(before) ? before : [field.value.trim()];
        for (const value of values) out.append(field.name, value);
      }
    if (String(out) !== String(chosenNow())) choose(out);
  };
  byId("filters").onsubmit = (event) => {
    event.preventDefault();
    read();
  };
  const place = (/** @type {string} */ name) => optimizerNames.indexOf(name) + 1 || optimizerNames.length + 1;
  const ranked = [...offered.optimizer].sort((a, b) => place(a) - place(b));
  const boxes = ranked.map((name) =>
    make(
      "label",
      {class: "chip"},
      make("input", {type: "checkbox", name: "optimizer", value: name, on: {change: read}}),
      colourOf.has(name) ? swatch(name) : null,
      nameOf(name),
    ),
  );
  const problem = make("input", {
    type: "search",
    id: "problem-filter",
    name: "problem",
    placeholder: "all; * stands for anything",
    list: "problem-names",
    autocomplete: "off",
    on: {input: () => later(read)},
  });
  const selects = /** @type {const} */ (["suite", "dimension", "setting", "tag"]).map((kind) => {
    if (offered[kind].length < (kind === "suite" || kind === "dimension" ? 2 : 1)) return null;
    const options = offered[kind].map((name) => make("option", {value: name}, name));
    const select = make(
      "select",
      {id: `${kind}-filter`, name: kind, on: {change: read}},
      make("option", {value: ""}, "all"),
      ...options,
    );
    return make("label", {for: select.id}, `${kind[0].toUpperCase()}${kind.slice(1)}`, select);
  });
  const reset = make(
    "button",
    {type: "button", id: "reset", on: {click: () => choose(new URLSearchParams())}},
    "Show all",
  );
  return [
    make("fieldset", {}, make("legend", {}, "Optimizers"), make("div", {class: "chips"}, ...boxes)),
    make("label", {for: "problem-filter"}, "Problem", problem),
    make("datalist", {id: "problem-names"}, ...offered.problem.map((name) => make("option", {value: name}))),
    ...selects.filter((one) => one !== null),
    make(
      "span",
      {class: "some"},
      offered.cut?.length
        ? make(
            "span",
            {id: "cut", class: "note"},
            `Offered here: ${offered.cut.join(", ")}. Type others, or put them into the address.`,
          )
        : null,
      make("span", {id: "apart", class: "note"}, "Progress and failures are of everything."),
      reset,
      make("a", {id: "save", href: "/save", download: "report.html"}, "Save as file"),
    ),
  ];
}
