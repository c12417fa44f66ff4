// Ways to the page of one study.

const MOST_LINKS = 60; // of one optimizer on one problem

/**
 * A study's own page.
 * @param {string} study
 * @param {Child} text
 */
const studyLink = (study, text) =>
  make("a", {href: `/study?id=${encodeURIComponent(study)}`, "data-key": `study ${study}`}, text);

/** @type {Map<string, StudiesData>} The newest that is known of each problem. */
const studiesOf = new Map();

/** @param {Event} event A part of the report was opened or closed. */
function openedProblem(event) {
  const node = event.target;
  if (node instanceof HTMLDetailsElement && node.open && node.matches("details.problem")) void showStudies(node);
}

/**
 * The studies of a problem, below its figures.
 * @param {HTMLElement} node
 */
async function showStudies(node) {
  const problem = node.querySelector(":scope > summary .name")?.textContent ?? "";
  const place = node.querySelector(":scope > .studies") ?? node.appendChild(make("div", {class: "studies"}));
  const key = `${chosenNow()} ${problem}`;
  const known = studiesOf.get(key);
  if (known) place.replaceChildren(...studiesParts(known));
  const wanted = chosenNow();
  wanted.delete("problem");
  wanted.append("problem", problem);
  try {
    const data = await fetched(`/studies?${wanted}`);
    studiesOf.set(key, data);
    if (JSON.stringify(data) !== JSON.stringify(known)) place.replaceChildren(...studiesParts(data));
  } catch (error) {
    if (!known)
      place.replaceChildren(make("p", {class: "absent"}, `${error instanceof Error ? error.message : error}.`));
  }
}

/** @param {StudiesData} data */
function studiesParts(data) {
  if (!data.optimizers.length) return [make("p", {class: "note"}, "No study of it has begun.")];
  const failed = data.optimizers.some((one) => one.studies.some((study) => study.failed));
  /** @param {StudyRow[]} studies */
  const links = (studies) =>
    studies.flatMap((study) => {
      const link = studyLink(study.study, String(study.trial));
      link.title = `trial ${study.trial}: ${study.status}${study.best === null ? "" : `, ${brief(study.best)}`}`;
      if (study.failed) link.className = "failed";
      return [link, " "];
    });
  const rows = data.optimizers.map(({optimizer, studies}) => {
    const valued = studies
      .filter((one) => one.best !== null)
      .sort((x, y) => data.sign * (Number(x.best) - Number(y.best)));
    const lost = studies.filter((one) => one.failed);
    const rest = studies.slice(MOST_LINKS);
    return [
      colourOf.has(optimizer) ? [swatch(optimizer), nameOf(optimizer)] : nameOf(optimizer),
      valued.length ? studyLink(valued[0].study, brief(valued[0].best)) : "–",
      ...(failed ? [lost.length ? studyLink(lost[0].study, grouped(lost.length)) : "–"] : []),
      [
        ...links(studies.slice(0, MOST_LINKS)),
        rest.length ? make("details", {}, make("summary", {}, `${grouped(rest.length)} more`), ...links(rest)) : null,
      ],
    ];
  });
  return [
    plainTable(
      "Its studies, the best value first",
      [
        ["optimizer", ""],
        ["best", "right"],
        ...(failed ? /** @type {[string, string][]} */ ([["failed", "right"]]) : []),
        ["each trial", "trials"],
      ],
      rows,
    ),
    ...(data.more ? [make("p", {class: "note"}, `and ${grouped(data.more)} more studies`)] : []),
  ];
}

/** @param {number | null} value */
const brief = (value) => (value === null ? "–" : String(Number(value.toPrecision(4))));
