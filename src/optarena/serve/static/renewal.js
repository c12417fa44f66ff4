// Shows another version of the report; what the reader did to the page stays.

/** @param {LiveData} data */
function showReport(data) {
  const report = byId("report");
  report.classList.remove("old");
  if (!data.report) {
    report.replaceChildren(make("p", {class: "nothing", id: "waiting"}, `${data.why.replace(/\.$/, "")}.`));
    buildNav([]);
    return;
  }
  const before = remembered(report);
  take(data.report);
  const made = page.sections.map(sectionOf);
  // what is not made yet stands as it was
  const old = data.more ? [...report.querySelectorAll(":scope > section")].slice(made.length) : [];
  for (const section of old) section.classList.add("old");
  const follows = make("p", {class: "nothing", id: "more"}, "The other sections follow.");
  report.replaceChildren(...made, ...old, ...(data.more && !old.length ? [follows] : []));
  forgetCharts();
  restore(report, before);
  applyFilters();
  refocus(before.focus);
  if (!old.length) buildNav(page.sections);
  byId("footer").textContent =
    `optarena ${page.version}. Version ${data.version} of the data; the page is served from your own machines, nothing is loaded from elsewhere.`;
  // while something runs, its own numbers stand in the header
  showState();
}

/** Charts that are gone, or stand only until there are new ones, are not drawn again. */
function forgetCharts() {
  for (const chart of [...charts])
    if (!chart.holder.isConnected || chart.holder.closest("section.old")) {
      watcher.unobserve(chart.holder);
      chart.view?.finalize();
      charts.delete(chart);
    }
}

/**
 * What the reader did to the page, so that the next version has it too.
 * @param {HTMLElement} root
 */
function remembered(root) {
  /** @type {Map<string, ChildNode[]>} */
  const drawings = new Map();
  for (const holder of root.querySelectorAll(".chart[data-drawn]")) drawings.set(holder.id, [...holder.childNodes]);
  const open = new Set([...root.querySelectorAll("details[open]")].map(pathOf));
  const sorted = [...root.querySelectorAll("th[aria-sort]")].map((head) => ({
    table: head.closest(".table")?.id ?? "",
    label: head.textContent,
    down: head.getAttribute("aria-sort") === "descending",
  }));
  const top = [...root.children].find((one) => one.getBoundingClientRect().bottom > 80);
  /** @type {Map<string, string>} */
  const selected = new Map();
  for (const select of root.querySelectorAll("select")) if (select.id) selected.set(select.id, select.value);
  return {
    drawings,
    open,
    sorted,
    selected,
    focus: focusIn(root),
    top: top?.id ?? "",
    at: top?.getBoundingClientRect().top ?? 0,
  };
}

const USABLE = "a, button, select, input, summary";

/**
 * Where the focus is: the part that has a name, and the how-manieth thing in it.
 * @param {HTMLElement} root
 */
function focusIn(root) {
  const now = document.activeElement;
  const part = root.contains(now) ? now?.closest("[id]") : null;
  if (!now || !part || !root.contains(part) || part === root) return null;
  return {part: part.id, at: part === now ? -1 : [...part.querySelectorAll(USABLE)].indexOf(now)};
}

/** @param {ReturnType<typeof focusIn>} focus */
function refocus(focus) {
  if (!focus) return;
  const part = document.getElementById(focus.part);
  const again = focus.at < 0 ? part : part?.querySelectorAll(USABLE)[focus.at];
  const when = used;
  if (again instanceof HTMLElement) again.focus({preventScroll: true});
  used = when; // that was not the reader
}

/** @param {Element} node */
function pathOf(node) {
  const section = node.closest("section")?.id ?? "";
  const name =
    node.querySelector(":scope > summary .name")?.textContent ?? node.querySelector(":scope > summary")?.textContent;
  return `${section}/${node.closest("figure, .table")?.id ?? ""}/${name}`;
}

/**
 * @param {HTMLElement} root
 * @param {ReturnType<typeof remembered>} before
 */
function restore(root, before) {
  for (const details of root.querySelectorAll("details")) if (before.open.has(pathOf(details))) details.open = true;
  // the old drawing stands until the new one is made
  for (const [id, nodes] of before.drawings) {
    const holder = document.getElementById(id);
    if (holder) {
      holder.replaceChildren(...nodes);
      holder.dataset.drawn = "yes";
    }
  }
  for (const {table, label, down} of before.sorted)
    for (const head of document.getElementById(table)?.querySelectorAll("th") ?? [])
      if (head.textContent === label && head.getAttribute("aria-sort") !== (down ? "descending" : "ascending"))
        for (let i = 0; i <= Number(down); i++) head.querySelector("button")?.click();
  for (const [id, value] of before.selected) {
    const select = document.getElementById(id);
    if (
      select instanceof HTMLSelectElement &&
      select.value !== value &&
      [...select.options].some((one) => one.value === value)
    ) {
      select.value = value;
      select.dispatchEvent(new Event("change"));
    }
  }
  if (before.top) {
    const now = document.getElementById(before.top)?.getBoundingClientRect().top ?? before.at;
    if (scrollY > 0) scrollBy({top: now - before.at, behavior: "instant"});
  }
}

/** @param {SectionData[]} sections */
function buildNav(sections) {
  const parts = [{id: "progress", title: "Progress"}, ...sections];
  if (!byId("changes").hidden) parts.push({id: "changes", title: "Two runs"});
  const now = parts.map((one) => one.id).join();
  const nav = byId("nav");
  if (nav.dataset.now === now) return;
  nav.dataset.now = now;
  nav.replaceChildren(
    make("ul", {}, ...parts.map((part) => make("li", {}, make("a", {href: `#${part.id}`}, part.title)))),
  );
}
