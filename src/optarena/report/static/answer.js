// The answer for chosen optimizers and problems, from the trials in the page: what `Comparison.part` says in Python.

const [BETTER, WORSE, EQUIVALENT, UNDECIDED] = ["better", "worse", "equivalent", "undecided"];

// ---- numbers as Python writes them ----------------------------------------------------------------------------------

/**
 * So many digits after the point; a number halfway between two goes to the even one.
 * @param {number} value
 * @param {number} digits
 */
function fixedDigits(value, digits) {
  const halves = value * 2 ** (digits + 1); // only such numbers have 5 as their last digit
  if (!Number.isInteger(halves) || halves % 2 === 0) return value.toFixed(digits);
  const below = Math.floor(value * 10 ** digits);
  return ((below % 2 === 0 ? below : below + 1) / 10 ** digits).toFixed(digits);
}

/**
 * So many significant digits, an exponent where it is very large or small.
 * @param {number} value
 * @param {number} digits
 */
function general(value, digits) {
  if (value === 0) return "0";
  const [mantissa, power] = value.toExponential(digits - 1).split("e");
  const exponent = Number(power);
  /** @param {string} text */
  const bare = (text) => (text.includes(".") ? text.replace(/\.?0+$/, "") : text);
  if (exponent >= -4 && exponent < digits) return bare(value.toFixed(digits - 1 - exponent));
  return `${bare(mantissa)}e${exponent < 0 ? "-" : "+"}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** @param {number} n */
const thousands = (n) => n.toLocaleString("en-US", {maximumFractionDigits: 0});

/** @param {number | null} value */
function numberText(value) {
  if (value === null || Number.isNaN(value)) return "–";
  if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
  if (Math.abs(value) >= 100) return thousands(Number(fixedDigits(value, 0)));
  const text = Math.abs(value) >= 0.095 || value === 0 ? fixedDigits(value, 2) : general(value, 2);
  return text.includes("e") ? text : text.replace("-", "−");
}

/** @param {number} value */
function probabilityText(value) {
  const texts = [2, 3, 4, 5, 6].map((digits) => fixedDigits(value, digits));
  const even = [0, 0.5, 1];
  return even.includes(value) ? texts[0] : (texts.find((text) => !even.includes(Number(text))) ?? texts[0]);
}

/** @param {number | null} value */
const valueText = (value) => (value === null ? "–" : signed(general(value, 4)));
/** @param {string} text */
const signed = (text) => text.replaceAll("-", "−");

/**
 * @param {number} n
 * @param {string} noun
 */
function countedText(n, noun) {
  const plural = noun === "study" ? "studies" : `${noun}s`;
  return `${thousands(n)} ${n === 1 ? noun : plural}`;
}

// ---- who beats whom ---------------------------------------------------------------------------------------------------

/** @param {Cell} value */
const numberOf = (value) => (value === "inf" ? Infinity : value === "-inf" ? -Infinity : Number(value));

/**
 * The answer, or why there is none.
 * @param {TrialsData} data
 * @param {Set<Value>} optimizers
 * @param {Set<Value>} problems
 * @returns {Part | {why: string}}
 */
function partOf(data, optimizers, problems) {
  const places = data.optimizers.map((_, o) => o).filter((o) => optimizers.has(data.optimizers[o]));
  const names = places.map((o) => data.optimizers[o]);
  const k = names.length;
  if (k < 2) return {why: `A comparison needs two optimizers or more; chosen: ${names[0] ?? "none"}.`};
  const here = data.problems
    .filter((one) => problems.has(one.name))
    .map((one) => ({
      ...one,
      values: places.map((o) => one.values[o].map(numberOf)),
      scores: one.scores === null ? null : places.map((o) => /** @type {Cell[][]} */ (one.scores)[o].map(numberOf)),
    }));
  const run = here.filter((one) => one.values.some((mine) => mine.length));
  if (!run.some((one) => one.scores?.some((mine) => mine.length))) return {why: "None of these problems has a score."};
  const ordered = run.filter((one) => one.values.every((mine) => mine.length));
  if (!ordered.length) return {why: "No ranking: no problem was run by all of these optimizers."};
  const whole = ordered.filter((one) => one.scores?.every((mine) => mine.length));
  if (!whole.length) return {why: "No problem that all of these optimizers ran has a score."};
  const scores = whole.map((one) => /** @type {number[][]} */ (one.scores));
  if (scores.flat(2).some((value) => !Number.isFinite(value))) return {why: "A score is infinite, and so is its mean."};

  const tests = (k * (k - 1)) / 2;
  const functionsOf = [...new Set(ordered.map((one) => one.function))];
  const {scope, why, error} = data.decided
    ? {scope: "trials", why: "", error: ""}
    : scopeOf(ordered, functionsOf.length, tests, data.alpha);
  if (error) return {why: error};

  // every two of them
  const ranks = ordered.map((one) => rankedTrials(one.values, one.optimum, data.constants));
  /** @type {[number, number][]} */
  const every = names.flatMap((_, a) =>
    names.slice(a + 1).map((_, i) => /** @type {[number, number]} */ ([a, a + 1 + i])),
  );
  const met = every.map(([a, b]) => ranks.map((one) => duel(one[a], one[b])));
  const sizes = new Map(functionsOf.map((name) => [name, ordered.filter((one) => one.function === name).length]));
  const weights = ordered.map((one) => 1 / (Number(sizes.get(one.function)) * functionsOf.length));
  /** @type {Estimate[]} */
  let found;
  if (data.decided) {
    const known = new Map(data.decided.map(([a, b, value, lower, upper]) => [`${a}\n${b}`, {value, lower, upper}]));
    found = every.map(([a, b]) => /** @type {Estimate} */ (known.get(`${names[a]}\n${names[b]}`)));
  } else if (scope === "trials") found = overTrials(met, weights, data.alpha, data.constants);
  else {
    signs ??= new Signs(data.generator);
    const shares = met.map((one) =>
      functionsOf.map((name) => meanOf(one.filter((_, p) => ordered[p].function === name).map(({share}) => share))),
    );
    found = overFunctions(shares, data.alpha, signs, data.constants);
  }

  const {order, score, unit} = scored(data, whole, scores, scope, k);
  const rank = new Map(order.map((o, i) => [o, i]));
  const ranking = order.map((o) => names[o]);
  const pairs = every
    .map(([a, b], i) => {
      const {value, lower, upper} = found[i];
      const turned = Number(rank.get(a)) > Number(rank.get(b));
      const known = value !== null;
      const ends = known ? (turned ? [1 - value, 1 - upper, 1 - lower] : [value, lower, upper]) : [null, null, null];
      return {
        a: names[turned ? b : a],
        b: names[turned ? a : b],
        pi: ends[0],
        lower: ends[1],
        upper: ends[2],
        verdict: known ? verdictOf(Number(ends[1]), Number(ends[2]), data.rope) : UNDECIDED,
      };
    })
    .sort((x, y) => byPlace(x, y, ranking));
  const counts = ordered.flatMap((one) => one.values.map((mine) => mine.length));
  /** @type {Part} */
  const part = {
    order: ranking,
    score: new Map(names.map((name, o) => [name, score[o]])),
    pairs,
    met: new Map(pairs.flatMap((pair) => [pair, turnedPair(pair)].map((one) => [`${one.a}\n${one.b}`, one]))),
    failed: failedOf(data, names, problems),
    values: ordered.length === 1 ? ownValues(data, ordered[0], names) : null,
    coverage: {
      problems: ordered.length,
      functions: functionsOf.length,
      trials: [Math.min(...counts), Math.max(...counts)],
      left_out: run.filter((one) => !ordered.includes(one)).map((one) => one.name),
    },
    scale: unit === 1 ? data.scale.undefined : data.scale.usual,
    scope,
    winner: null,
    headline: "",
    first: [],
    warnings: [],
    undecided: [],
  };
  part.winner = winnerOf(part);
  part.headline = headlineOf(part, data.constants);
  part.first = [...failedStudies(part, data), ...failedEvaluations(part, data), ...leftOut(part)];
  const gone = data.unscored.filter(([name]) => problems.has(name));
  part.warnings = [
    ...(why ? [why] : []),
    ...data.standing,
    ...notScored(gone),
    ...(data.same_view ? contradictionsOf(part, data) : []),
  ];
  part.undecided = undecidedOf(part, data);
  return part;
}

/** @type {Signs | null} */
let signs = null;

/**
 * @param {{a: string, b: string}} x
 * @param {{a: string, b: string}} y
 * @param {string[]} order
 */
const byPlace = (x, y, order) => order.indexOf(x.a) - order.indexOf(y.a) || order.indexOf(x.b) - order.indexOf(y.b);

/**
 * What claims can be about, and why not about similar problems (docs/scores.md 5.3).
 * @param {{values: number[][]}[]} ordered
 * @param {number} functions
 * @param {number} tests
 * @param {number} alpha
 */
function scopeOf(ordered, functions, tests, alpha) {
  if (tests * 2 ** (1 - functions) <= alpha) return {scope: "problems", why: "", error: ""};
  const trials = Math.max(...ordered.flatMap((one) => one.values.map((mine) => mine.length)));
  const need = Math.ceil(1 + Math.log2(tests / alpha) - 1e-9);
  const noun = functions === ordered.length ? "problem" : "function";
  const few = `${countedText(functions, noun)} ${functions === 1 ? "is" : "are"} too few for claims about other problems (${need} would be enough)`;
  if (trials > 1) {
    const these = ordered.length === 1 ? "this problem" : "these problems";
    return {scope: "trials", why: `${few}: this is about just ${these}.`, error: ""};
  }
  if (functions < 2)
    return {scope: "", why: "", error: "One trial on one problem does not show the noise: run more trials (-r 5)."};
  return {
    scope: "problems",
    why: `${few}, and one trial each says nothing of these: run more trials (-r 5).`,
    error: "",
  };
}

/**
 * The main score of each with its interval, and their order (docs/scores.md 1.8 and 5.5).
 * @param {TrialsData} data
 * @param {{scale: number | null}[]} whole
 * @param {number[][][]} scores
 * @param {string} scope
 * @param {number} k
 */
function scored(data, whole, scores, scope, k) {
  const scaled = whole.map((_, p) => p).filter((p) => whole[p].scale !== null);
  const used = scaled.length ? scaled : whole.map((_, p) => p);
  const mean = scaled.length ? meanOf(scaled.map((p) => Number(whole[p].scale))) : NaN;
  const unit = mean >= 1e-6 ? mean : 1;
  const all = scores.flat(2);
  const [lowest, highest] = [Math.min(...all), Math.max(...all)];
  /** @type {(number | null)[][]} */
  const score = [];
  const means = used.map((p) => scores[p].map((mine) => roundedTo(meanOf(mine), 12)));
  for (let o = 0; o < k; o++) {
    const each = used.map((p) => meanOf(scores[p][o]));
    const value = meanOf(each);
    const half = scope === "trials" ? halfOverTrials(used.map((p) => scores[p][o])) : meanHalf(each);
    let [lower, upper] = [value - half, value + half];
    if (data.unit && lowest >= 0) lower = Math.max(lower, 0);
    if (data.unit && highest <= 1) upper = Math.min(upper, 1);
    const known = Number.isFinite(half);
    score.push([value / unit, known ? lower / unit : null, known ? upper / unit : null]);
  }
  const overall = score.map((_, o) => roundedTo(meanOf(means.map((row) => row[o])), 12));
  const rank = overall.map((_, o) => meanOf(means.map((row) => rankIn(row, o))));
  const order = overall.map((_, o) => o).sort((a, b) => overall[a] - overall[b] || rank[a] - rank[b] || a - b);
  return {order, score, unit};
}

/**
 * From 1; equal ones share the mean.
 * @param {number[]} row
 * @param {number} o
 */
const rankIn = (row, o) =>
  1 + row.filter((value) => value < row[o]).length + (row.filter((value) => value === row[o]).length - 1) / 2;

/**
 * @param {number} lower
 * @param {number} upper
 * @param {number} rope
 */
function verdictOf(lower, upper, rope) {
  if (lower > 0.5) return BETTER;
  if (upper < 0.5) return WORSE;
  return lower >= 0.5 - rope && upper <= 0.5 + rope ? EQUIVALENT : UNDECIDED;
}

/**
 * @param {Pair} pair
 * @returns {Pair}
 */
function turnedPair(pair) {
  /** @param {number | null} value */
  const flip = (value) => (value === null ? null : 1 - value);
  const verdict = pair.verdict === BETTER ? WORSE : pair.verdict === WORSE ? BETTER : pair.verdict;
  return {a: pair.b, b: pair.a, pi: flip(pair.pi), lower: flip(pair.upper), upper: flip(pair.lower), verdict};
}

/**
 * Best and median in the problem's unit; a trial without a value is last.
 * @param {TrialsData} data
 * @param {{values: number[][], sign: number}} problem
 * @param {string[]} names
 */
function ownValues(data, problem, names) {
  if (data.view !== "fixed-cost" || data.metric !== "value") return null;
  /** @param {number} value */
  const shown = (value) => (Number.isFinite(value) ? value * problem.sign : null);
  return new Map(
    names.map((name, o) => {
      const values = [...problem.values[o]].sort((a, b) => (a < b ? -1 : Number(a > b)));
      const middle = (values.length - 1) / 2;
      const median = (values[Math.floor(middle)] + values[Math.ceil(middle)]) / 2;
      return [name, {best: shown(values[0]), median: shown(median)}];
    }),
  );
}

// ---- words --------------------------------------------------------------------------------------------------------------

/** @param {Part} part */
function winnerOf(part) {
  const {order, pairs} = part;
  const good = new Map(order.map((name) => [name, 0]));
  for (const pair of pairs) {
    const better = pair.verdict === WORSE ? pair.b : pair.verdict === UNDECIDED ? null : pair.a;
    if (better !== null) good.set(better, Number(good.get(better)) + 1);
  }
  return order.find((name) => good.get(name) === order.length - 1) ?? null;
}

/**
 * @param {string[]} names
 * @param {Constants} constants
 */
function named(names, constants) {
  const shown = names.map((name) => shortened(name, constants));
  if (shown.length > 3) return `${shown.slice(0, 2).join(", ")} and ${shown.length - 2} more`;
  return shown.length > 1 ? `${shown.slice(0, -1).join(", ")} and ${shown.at(-1)}` : shown.join("");
}

/**
 * @param {string} name
 * @param {Constants} constants
 */
function shortened(name, constants) {
  const signs = [...name];
  if (signs.length <= constants.longest_name) return name;
  const tail = constants.longest_name - 1 - constants.name_begin;
  return `${signs.slice(0, constants.name_begin).join("")}…${signs.slice(-tail).join("")}`;
}

/**
 * @param {Part} part
 * @param {Constants} constants
 */
function headlineOf(part, constants) {
  const {order} = part;
  const first = part.winner ?? order[0];
  const leader = shortened(first, constants);
  /** @param {string} word */
  const those = (word) => order.filter((name) => part.met.get(`${first}\n${name}`)?.verdict === word);
  const [better, worse, equivalent, undecided] = [BETTER, WORSE, EQUIVALENT, UNDECIDED].map(those);
  /** @param {string[]} names */
  const told = (names) => named(names, constants);
  if (part.winner !== null) {
    const n = order.length - 1;
    const others = n === 1 ? "the other" : n === 2 ? "both others" : `all ${n} others`;
    if (!equivalent.length) return `${leader} is best: it beats ${others}.`;
    const beats = better.length ? `it beats ${told(better)}, and ` : "";
    return `Use ${leader}: ${beats}${told(equivalent)} ${equivalent.length === 1 ? "is" : "are"} equivalent.`;
  }
  if (worse.length)
    return `No single winner: ${leader} has the best score, but ${told(worse)} ${worse.length === 1 ? "beats" : "beat"} it more often than not.`;
  const tied = order.filter((name) => part.score.get(name)?.[0] === part.score.get(first)?.[0]);
  if (tied.length > 1) return `No winner: ${told(tied)} share the best score.`;
  if (!better.length) {
    const rest = order.length === 2 ? "the other" : "any other";
    return `No winner yet: ${leader} leads, but it is not shown to be better than ${rest}.`;
  }
  const rest = told([...equivalent, ...undecided]);
  return `No winner yet: ${leader} leads and beats ${told(better)}; ${rest} may be as good or better.`;
}

/**
 * What failed, by optimizer, on the chosen problems.
 * @param {TrialsData} data
 * @param {string[]} names
 * @param {Set<Value>} problems
 */
function failedOf(data, names, problems) {
  /** @type {Map<string, Failed>} */
  const out = new Map();
  for (const [problem, optimizer, studies, of, evaluations, without, left] of data.failed) {
    if (!problems.has(problem) || !names.includes(optimizer)) continue;
    const sum = out.get(optimizer) ?? {studies: 0, of: 0, evaluations: 0, without: 0, left: 0};
    out.set(optimizer, {
      studies: sum.studies + studies,
      of: sum.of + of,
      evaluations: sum.evaluations + evaluations,
      without: sum.without + without,
      left: sum.left + left,
    });
  }
  return out;
}

/**
 * @param {Part} part
 * @param {TrialsData} data
 */
function failedStudies(part, data) {
  const most = data.constants.failures;
  const failed = [...part.failed]
    .filter(([, one]) => one.studies)
    .sort(([, x], [, y]) => y.studies / y.of - x.studies / x.of);
  const out = failed.slice(0, most).map(([name, one]) => {
    const {without, left} = one;
    const kept = one.studies - without;
    let text = `${name} failed in ${thousands(one.studies)} of ${countedText(one.of, "study")}: `;
    if (!without) text += "what it had found counts";
    else if (left)
      text += `${thousands(without)} without any value, of which ${thousands(left)} ${left === 1 ? "is" : "are"} left out, as in ${data.original}`;
    else {
      text += `${thousands(without)} without any value, which ${without === 1 ? "counts" : "count"} as the worst`;
      if (kept) text += `; in ${thousands(kept)} what it had found counts`;
    }
    return `${text}${one.evaluations ? `; ${thousands(one.evaluations)} evaluations failed` : ""}.`;
  });
  if (failed.length > most) {
    /** @param {"studies" | "of" | "without"} key */
    const total = (key) => thousands(sumOf(failed.slice(most).map(([, one]) => one[key])));
    out.push(
      `${failed.length - most} more optimizers failed in ${total("studies")} of ${total("of")} studies: ${total("without")} without any value.`,
    );
  }
  return out;
}

/**
 * @param {Part} part
 * @param {TrialsData} data
 */
function failedEvaluations(part, data) {
  const most = data.constants.failures;
  const only = [...part.failed].filter(([, one]) => !one.studies && one.evaluations);
  only.sort(([, x], [, y]) => y.evaluations - x.evaluations);
  if (!only.length) return [];
  const each = only.slice(0, most).map(([name, one]) => `${thousands(one.evaluations)} of ${name}`);
  const rest = only.length > most ? ` and some of ${only.length - most} more optimizers` : "";
  return [`Failed evaluations: ${each.join(", ")}${rest}.`];
}

/** @param {string[]} names */
const someOf = (names) => names.slice(0, 2).join(", ") + (names.length > 2 ? ", …" : "");

/** @param {Part} part */
function leftOut(part) {
  const left = part.coverage.left_out;
  if (!left.length) return [];
  const gone = `${countedText(left.length, "problem")} ${left.length === 1 ? "is" : "are"} left out (${someOf(left)})`;
  const common = countedText(part.coverage.problems, "problem");
  return [`The optimizers did not run on the same problems: this is about the ${common} that all have run; ${gone}.`];
}

/** @param {[string, string][]} gone */
function notScored(gone) {
  if (!gone.length) return [];
  const verb = gone.length === 1 ? "is" : "are";
  return [
    `${countedText(gone.length, "problem")} ${verb} not in the score (${someOf(gone.map(([name]) => name))}): ${gone[0][1]}.`,
  ];
}

/**
 * Where the order by score and the duels disagree, the decided ones first.
 * @param {Part} part
 * @param {TrialsData} data
 */
function contradictionsOf(part, data) {
  /** @type {string[]} */
  const decided = [];
  /** @type {string[]} */
  const open = [];
  const followed = data.race ? data.race.live : part.order;
  for (const {a, b, pi, verdict} of part.pairs) {
    const [x, y] = [a, b].map((name) => part.score.get(name)?.[0] ?? null);
    if (pi === null || x === y) continue;
    if (verdict === WORSE)
      decided.push(
        `${b} beats ${a} in ${fixedDigits(100 * (1 - pi), 0)} % of duels, yet ${a} has the better score: ${b} wins more often, but where it loses, it loses by more.`,
      );
    else if (pi < 0.5 - data.constants.rope && followed.includes(a) && followed.includes(b))
      open.push(
        `${a} has a better score than ${b} (${numberText(x)} against ${numberText(y)}), but wins only ${fixedDigits(100 * pi, 0)} % of their duels so far: where ${b} loses, it loses by more.`,
      );
  }
  return [...decided, ...open];
}

/**
 * The undecided pairs, those of the leader first.
 * @param {Part} part
 * @param {TrialsData} data
 */
function undecidedOf(part, data) {
  const {race, constants} = data;
  const pairs = part.pairs.filter((pair) => pair.verdict === UNDECIDED && pair.pi !== null);
  const left = pairs.filter(({a, b}) => race && !(race.live.includes(a) && race.live.includes(b)));
  const rest = pairs.filter((pair) => !left.includes(pair));
  const out = rest.slice(0, constants.listed).map(({a, b, pi, lower, upper}) => {
    const [value, low, high] = [pi, lower, upper].map((one) => probabilityText(Number(one)));
    return `${a} against ${b}: ${value} [${low}, ${high}].`;
  });
  if (rest.length > constants.listed)
    out.push(
      `${countedText(rest.length - constants.listed, "more undecided pair")} (of ${thousands(part.pairs.length)} in all).`,
    );
  if (left.length)
    out.push(
      `${countedText(left.length, rest.length ? "further pair" : "pair")} of which one left the race: beaten by another, it was not followed further.`,
    );
  return out;
}

/** @param {Part} part '48 problems (24 functions), 5 trials each' */
function coverageText(part) {
  const {problems, functions, trials} = part.coverage;
  const [low, high] = trials;
  const some = functions === problems ? "" : ` (${countedText(functions, "function")})`;
  const each = low === high ? countedText(low, "trial") : `${low} to ${high} trials`;
  return `${countedText(problems, "problem")}${some}, ${each}${problems > 1 ? " each" : ""}`;
}

// ---- on the page --------------------------------------------------------------------------------------------------------

/** @type {TrialsData | null} */
let trials = null;

function takeTrials() {
  trials = page.sections.flatMap((one) => one.blocks ?? []).find((one) => one.kind === "answer")?.trials ?? null;
}

/**
 * The answer for the filters at work; null where that of the page, or of a dimension, is it.
 * @returns {Part | {why: string} | null}
 */
function partNow() {
  if (answeredByPage() || !trials) return null;
  if (trials.decided && !trials.problems.every((one) => problemsNow.has(one.name))) return null; // of a race
  return partOf(trials, chosen.optimizers, problemsNow);
}

/** Whether the page was made with the answer for the filters at work. */
function answeredByPage() {
  const all = (trials?.optimizers ?? page.present).every((name) => chosen.optimizers.has(name));
  return all && !chosen.problem.trim() && Object.hasOwn(page.sections[0].scoped ?? {}, scopeNow());
}

/**
 * The sentences above the leaderboard.
 * @param {Part} part
 */
const openingOf = (part) => [
  part.headline,
  `${coverageText(part)}${chosen.dimension === null ? "" : ` of dimension ${chosen.dimension}`}; ${trials?.view}.`,
  ...part.first,
];

/**
 * The sentences below it.
 * @param {Part} part
 */
function closingOf(part) {
  const most = trials?.constants.warnings ?? 0;
  const left = part.warnings.length - most;
  return [
    ...part.warnings.slice(0, most).map((text) => `Watch out: ${text}`),
    ...(left > 0 ? [`${left} more ${left === 1 ? "warning is" : "warnings are"} shown by the command below.`] : []),
    ...(part.undecided.length ? [`Undecided: ${part.undecided.join(" ")}`] : []),
    `In a terminal, with all that stands behind it: ${commandNow()}`,
  ];
}

/** The command that compares what is chosen. */
function commandNow() {
  /** @param {string} text */
  const quoted = (text) => (/^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);
  const all = page.present.every((name) => chosen.optimizers.has(name));
  const text = chosen.problem.trim();
  return [
    "optarena compare",
    quoted(page.store),
    ...(all ? [] : page.present.filter((name) => chosen.optimizers.has(name)).map(quoted)),
    ...(text ? ["--problem", quoted(text.includes("*") ? text : `*${text}*`)] : []),
    ...(chosen.dimension === null ? [] : ["--dimension", String(chosen.dimension)]),
  ].join(" ");
}

/**
 * The leaderboard with who beats whom, as the page's own table is made.
 * @param {Part} part
 * @param {AnswerData} block
 * @returns {TableData}
 */
function leaderboard(part, block) {
  const {constants} = /** @type {TrialsData} */ (trials);
  const against = part.order.slice(0, constants.matrix);
  const failed = [...part.failed.values()].some((one) => one.studies);
  /** @type {[Column, (name: string) => [Value, string | null]][]} */
  const columns = [
    [{label: "optimizer", kind: "optimizer", right: false}, (name) => [name, null]],
    ...(part.values ? /** @type {const} */ (["median", "best"]) : []).map((key) => {
      const help = key === "best" ? "of all trials" : "of the best values of all trials";
      /** @type {[Column, (name: string) => [Value, string | null]]} */
      const column = [
        {label: key, kind: "number", right: true, help},
        (name) => {
          const value = part.values?.get(name)?.[key] ?? null;
          return [value, valueText(value)];
        },
      ];
      return column;
    }),
    [
      {label: "score", kind: "number", right: true, help: part.scale},
      (name) => {
        const value = part.score.get(name)?.[0] ?? null;
        return [value, numberText(value)];
      },
    ],
    [
      {label: "95 %", kind: "interval", right: true, help: `95 % over ${part.scope}`},
      (name) => {
        const [, lower = null, upper = null] = part.score.get(name) ?? [];
        return [[lower, upper], lower === null ? "–" : `[${numberText(lower)}, ${numberText(upper)}]`];
      },
    ],
  ];
  if (failed)
    columns.push([
      {
        label: "failed",
        kind: "text",
        right: false,
        help: "studies that failed; without any value they count as losses",
      },
      (name) => {
        const one = part.failed.get(name);
        return [one?.studies ? `${thousands(one.studies)} of ${thousands(one.of)}` : "–", null];
      },
    ]);
  against.forEach((other, i) =>
    columns.push([
      {
        label: shortNames(against)[i],
        kind: "against",
        right: false,
        help: `P(row beats ${other}): ▲ better, ▼ worse, ≈ equivalent, ? undecided`,
      },
      (name) => [cellOf(part, name, other, constants), null],
    ]),
  );
  const cells = part.order.map((name) => columns.map(([, cell]) => cell(name)));
  const [value] = part.score.get(part.order[0]) ?? [];
  const place = columns.findIndex(([column]) => column.label === "score");
  return {
    ...block.table,
    columns: columns.map(([column]) => column),
    rows: cells.map((row) => row.map(([one]) => one)),
    texts: columns.map((_, j) => cells.map((row) => row[j][1])),
    note: `Score: ${part.scale}. ▲ better, ▼ worse, ≈ equivalent, ? undecided.`,
    scopes: null,
    bold: part.order.flatMap((name, i) => (part.score.get(name)?.[0] === value ? [[i, place]] : [])),
    latex: null,
  };
}

/**
 * A cell of the matrix: '▲ 0.90'.
 * @param {Part} part
 * @param {string} row
 * @param {string} column
 * @param {Constants} constants
 */
function cellOf(part, row, column, constants) {
  if (row === column) return "·";
  const pair = part.met.get(`${row}\n${column}`);
  if (!pair || pair.pi === null) return "–";
  const figure = probabilityText(pair.pi);
  return `${constants.signs[pair.verdict]} ${figure.length <= constants.longest_figure ? figure : fixedDigits(pair.pi, 2)}`;
}

/**
 * Heads of columns: how names begin; how they end, where two begin alike; else the numbers of their rows.
 * @param {string[]} names
 */
function shortNames(names) {
  const starts = names.map((name) => [...name].slice(0, 7).join(""));
  const ends = names.map((name) => ([...name].length <= 7 ? name : `…${[...name].slice(-6).join("")}`));
  return [starts, ends].find((heads) => new Set(heads).size === heads.length) ?? names.map((_, i) => String(i + 1));
}

/** @param {AnswerData} block The first screen's table: that of the page, or one made for the filters. */
function answerOf(block) {
  const own = tableBlock(block.table);
  const place = make("div", {class: "answer"}, own.node);
  listeners.push(() => {
    const part = state.part;
    if (part === null) {
      own.fill();
      place.replaceChildren(own.node);
    } else
      place.replaceChildren(
        "why" in part
          ? make("p", {class: "nothing"}, "Nothing to compare for this choice.")
          : tableBlock(leaderboard(part, block), {plain: true}).node,
      );
  });
  return place;
}
