// The report as a file: its data are inside it.

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

take(JSON.parse(byId("data").textContent ?? ""));
start();
