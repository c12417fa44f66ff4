// The sections, and how the page begins.

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

/** The browser has shown the page so far; a page in the background is not waited for. */
function painted() {
  return new Promise((done) => {
    requestAnimationFrame(() => setTimeout(done));
    setTimeout(done, 200);
  });
}

async function start() {
  document.title = `optarena · ${page.store}`;
  byId("store").append(nameOf(page.store));
  byId("counts").textContent = page.counts;
  byId("footer").textContent = `Made by optarena ${page.version}. One file, nothing is loaded from elsewhere.`;
  const list = make(
    "ul",
    {},
    ...page.sections.map((part) => make("li", {}, make("a", {href: `#${part.id}`}, part.title))),
  );
  byId("nav").append(list, make("p", {id: "active", "aria-label": "Filters at work", hidden: true}));
  byId("main").prepend(make("p", {id: "printed"}));
  buildFilters();
  // the first screen, and its figure, before the rest
  const [first, ...others] = page.sections;
  byId("main").append(sectionOf(first));
  changed();
  await Promise.all([...charts].map((chart) => chart.draw()));
  await painted();
  byId("main").append(...others.map(sectionOf));
  changed();
  addEventListener("beforeprint", () => {
    for (const chart of charts) chart.draw();
  }); // after the parts are opened
  if (location.hash.length > 1) byId(location.hash.slice(1))?.scrollIntoView();
  setTimeout(() => (window.requestIdleCallback ?? setTimeout)(drawIdle), 200);
  const current = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        const link = list.querySelector(`a[href="#${entry.target.id}"]`);
        if (entry.isIntersecting) link?.setAttribute("aria-current", "true");
        else link?.removeAttribute("aria-current");
      }
    },
    {rootMargin: "-20% 0px -60% 0px"},
  );
  for (const part of page.sections) current.observe(byId(part.id));
}

start();
