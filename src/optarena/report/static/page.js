// The sections.

/** @param {{blocks: FigureData[]}} block */
const pairOf = (block) => make("div", {class: "pair"}, ...block.blocks.map(figureOf));
/** @type {Record<Block["kind"], (block: any) => HTMLElement>} */
const BLOCKS = {figure: figureOf, pair: pairOf, table: tableOf, answer: answerOf, problems: problemsOf, code: codeOf};

/**
 * Sentences that follow the filters.
 * @param {Record<string, string[]>} texts by scope
 * @param {string} kind the class of a sentence
 * @param {(part: Part) => string[]} say what the answer for the filters says
 */
function scopedWords(texts, kind, say) {
  const scoped = new Map(Object.entries(texts));
  const node = make("div", {class: `${kind}s`, "aria-live": "polite"});
  const told = () => {
    const {part} = state;
    if (part === null) return scoped.get(scopeNow()) ?? scoped.get("all") ?? [];
    return "why" in part ? (kind === "verdict" ? [part.why] : []) : say(part);
  };
  const tell = () => node.replaceChildren(...told().map((text) => make("p", {class: kind}, ...sentence(text))));
  listeners.push(tell);
  tell();
  return node;
}

/** @param {SectionData} part */
function sectionOf(part) {
  const first = part.id === "overview";
  const title = first ? make("h1", {}, "Which optimizer is best?") : make("h2", {}, part.title);
  const help = make("details", {class: "help"}, make("summary", {}, "How to read this"), make("p", {}, part.help));
  const node = make("section", {id: part.id, "aria-label": part.title, tabindex: -1});
  node.append(make("div", {class: "heading"}, title, help));
  if (part.absent) {
    node.append(make("p", {class: "absent"}, ...sentence(`Not here: ${part.absent}.`)));
    return node;
  }
  if (Object.keys(part.scoped).length) {
    const about = make(
      "p",
      {class: "about"},
      `About all ${trials ? "problems of the race" : "optimizers and problems"}: the filters do not change this answer.`,
    );
    node.append(scopedWords(part.scoped, "verdict", openingOf), about);
  }
  if (part.id === "method")
    node.append(
      make(
        "p",
        {class: "whole everything"},
        "About all optimizers and problems: the filters do not change this section.",
      ),
    );
  for (const text of part.words) node.append(make("p", {class: "word"}, ...sentence(text)));
  const blocks = part.blocks.map((block) =>
    BLOCKS[block.kind]({
      ...block,
      frame: part.frame,
      blocks: block.blocks?.map((one) => ({...one, frame: part.frame})),
    }),
  );
  const beside = first && blocks.length > 1;
  if (Object.keys(part.after).length) blocks.push(scopedWords(part.after, "word", closingOf));
  node.append(make("div", {class: beside ? "first" : "blocks"}, ...blocks));
  return node;
}
