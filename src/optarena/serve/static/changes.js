// Two runs or versions against each other.

async function buildChanges() {
  const section = byId("changes");
  const query = new URLSearchParams(location.search);
  const [a, b] = [query.get("a") ?? "", query.get("b") ?? ""];
  /** @type {ChangesData} */
  let data;
  let why = "";
  try {
    data = await fetched(`/compare${a && b ? `?${new URLSearchParams({a, b})}&${chosenNow()}` : ""}`);
  } catch (error) {
    why = error instanceof Error ? error.message : String(error);
    data = await fetched("/compare").catch(() => ({sides: []}));
  }
  section.hidden = data.sides.length < 2;
  buildNav(page ? page.sections : []);
  if (section.hidden) return;
  /** @param {"a" | "b"} side */
  const select = (side) => {
    const node = make(
      "select",
      {
        id: `side-${side}`,
        on: {
          change: () => {
            const all = new URLSearchParams(location.search);
            all.set(side, node.value);
            history.pushState(null, "", `${location.pathname}?${all}${location.hash}`);
            if (all.get("a") && all.get("b")) buildChanges();
          },
        },
      },
      make("option", {value: ""}, "choose"),
      ...data.sides.map((one) => make("option", {value: one.key}, one.label)),
    );
    node.value = side === "a" ? a : b;
    return make("label", {}, side === "a" ? "Before (A)" : "After (B)", node);
  };
  section.replaceChildren(
    make("div", {class: "heading"}, make("h2", {}, "What changed between two runs or versions?")),
    make("div", {class: "controls"}, select("a"), select("b")),
    ...(why ? [make("p", {class: "absent"}, `${why}.`)] : []),
    ...(data.optimizers ?? []).map(changedOptimizer),
    ...(data.only ? onlyHere(data) : []),
  );
}

/** @param {ChangedOptimizer} one */
function changedOptimizer(one) {
  const wins = (/** @type {string} */ word) => one.problems.filter((row) => row.verdict === word).length;
  const counts = `B does better on ${wins("better")}, worse on ${wins("worse")} and about as well on ${wins("same")} of ${plural(one.problems.length, "problem")}.`;
  const rows = one.problems.map((row) => [
    nameOf(row.problem),
    row.before,
    row.after,
    make(
      "span",
      {class: row.verdict},
      `${row.verdict === "better" ? "▲" : row.verdict === "worse" ? "▼" : "≈"} ${row.p.toFixed(2)}`,
    ),
    row.trials.join(" / "),
  ]);
  return make(
    "div",
    {class: "changed"},
    make(
      "h3",
      {},
      nameOf(one.optimizer),
      one.verdict ? `: ${one.verdict === "undecided" ? "no change is shown" : `B is ${one.verdict}`}` : "",
    ),
    make("p", {class: "word"}, `${one.said.replace(/\.$/, "")}.${one.problems.length ? ` ${counts}` : ""}`),
    rows.length
      ? make(
          "details",
          {class: "data", open: one.problems.length <= 12},
          make("summary", {}, "Each problem"),
          plainTable(
            "Mean score before and after, and P(B beats A)",
            [
              ["problem", ""],
              ["A", "right"],
              ["B", "right"],
              ["P(B beats A)", "right"],
              ["trials A / B", "right"],
            ],
            rows,
          ),
        )
      : null,
  );
}

/** @param {ChangesData} data */
function onlyHere(data) {
  return /** @type {const} */ (["A", "B"])
    .filter((side) => data.only?.[side].length)
    .map((side) => make("p", {class: "note"}, `Only in ${side}: ${data.only?.[side].join(", ")}.`));
}
