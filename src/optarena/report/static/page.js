// The sections, and how the page begins.

/** @param {{blocks: FigureData[]}} block */
const pairOf = (block) => make("div", {class: "pair"}, ...block.blocks.map(figureOf));
/** @type {Record<Block["kind"], (block: any) => HTMLElement>} */
const BLOCKS = {figure: figureOf, pair: pairOf, table: tableOf, problems: problemsOf, code: codeOf};

/**
 * Sentences that follow the filter by dimension.
 * @param {Record<string, string[]>} texts by scope
 * @param {string} kind the class of a sentence
 */
function scopedWords(texts, kind) {
  const scoped = new Map(Object.entries(texts));
  const node = make("div", {class: `${kind}s`, "aria-live": "polite"});
  const tell = () =>
    node.replaceChildren(
      ...(scoped.get(scopeNow()) ?? scoped.get("all") ?? []).map((text) => make("p", {class: kind}, ...sentence(text))),
    );
  listeners.push(tell);
  tell();
  return node;
}

/** @param {SectionData} part */
function sectionOf(part) {
  const first = part.id === "overview";
  const heading = first ? make("h1", {}, "Which optimizer is best?") : make("h2", {}, part.title);
  const help = make("details", {class: "help"}, make("summary", {}, "What is this?"), make("p", {}, part.help));
  const node = make("section", {id: part.id, "aria-label": part.title, tabindex: -1}, heading);
  if (part.absent) {
    node.append(make("p", {class: "absent"}, ...sentence(`Not here: ${part.absent}.`)));
    return node;
  }
  if (Object.keys(part.scoped).length) {
    const about = make(
      "p",
      {class: "about"},
      "About all optimizers and problems of the chosen dimension: filters by optimizer and problem do not change these sentences.",
    );
    node.append(scopedWords(part.scoped, "verdict"), about);
  }
  for (const text of part.words) node.append(make("p", {class: "word"}, ...sentence(text)));
  const blocks = part.blocks.map((block) =>
    BLOCKS[block.kind]({
      ...block,
      frame: part.frame,
      blocks: block.blocks?.map((one) => ({...one, frame: part.frame})),
    }),
  );
  const beside = first && blocks.length > 1;
  if (Object.keys(part.after).length) blocks.push(scopedWords(part.after, "word"));
  node.append(make("div", {class: beside ? "first" : "blocks"}, ...blocks), help);
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
