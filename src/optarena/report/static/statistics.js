// The statistics of an answer (docs/scores.md 1.7, 1.8 and 5.3): what optarena.stats computes, for a choice of trials.

const LANCZOS = [
  0.99999999999980993, 676.5203681218851, -1259.1392167224028, 771.32342877765313, -176.61502916214059,
  12.507343278686905, -0.13857109526572012, 9.9843695780195716e-6, 1.5056327351493116e-7,
];

/** @param {number} x At least 0.5. */
function logGamma(x) {
  const t = x + 6.5;
  let sum = LANCZOS[0];
  for (let i = 1; i < 9; i++) sum += LANCZOS[i] / (x + i - 1);
  return 0.5 * Math.log(2 * Math.PI) + (x - 0.5) * Math.log(t) - t + Math.log(sum);
}

/**
 * The regularised incomplete beta function, by its continued fraction.
 * @param {number} a
 * @param {number} b
 * @param {number} x
 * @returns {number}
 */
function betaIncomplete(a, b, x) {
  if (x <= 0) return 0;
  if (x >= 1) return 1;
  if (x > (a + 1) / (a + b + 2)) return 1 - betaIncomplete(b, a, 1 - x);
  const [tiny, most] = [1e-300, 10_000];
  let [c, d] = [1, 1 - ((a + b) * x) / (a + 1)];
  d = 1 / (Math.abs(d) < tiny ? tiny : d);
  let fraction = d;
  for (let m = 1; m < most; m++) {
    for (const part of [
      (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m)),
      (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1)),
    ]) {
      d = 1 + part * d;
      d = 1 / (Math.abs(d) < tiny ? tiny : d);
      c = 1 + part / c;
      if (Math.abs(c) < tiny) c = tiny;
      fraction *= c * d;
    }
    if (Math.abs(c * d - 1) < 1e-15) break;
  }
  // log-gamma of less than 0.5 by one step of its recurrence
  const log = (/** @type {number} */ z) => (z < 0.5 ? logGamma(z + 1) - Math.log(z) : logGamma(z));
  return (Math.exp(log(a + b) - log(a) - log(b) + a * Math.log(x) + b * Math.log1p(-x)) * fraction) / a;
}

/**
 * Where a function that grows from below 0 to above 0 is 0, by halving.
 * @param {(x: number) => number} f
 * @param {number} low
 * @param {number} high
 */
function halved(f, low, high) {
  for (;;) {
    const middle = (low + high) / 2;
    if (middle <= low || middle >= high) return middle;
    if (f(middle) < 0) low = middle;
    else high = middle;
  }
}

/**
 * @param {number} a
 * @param {number} b
 * @param {number} p
 */
const betaQuantile = (a, b, p) => halved((x) => betaIncomplete(a, b, x) - p, 0, 1);

/**
 * P(T > t) of Student's t.
 * @param {number} t At least 0.
 * @param {number} freedom
 */
const studentTail = (t, freedom) => 0.5 * betaIncomplete(freedom / 2, 0.5, freedom / (freedom + t * t));

/** @type {Map<string, number>} */
const quantiles = new Map();
/**
 * The t that is exceeded with probability `tail`.
 * @param {number} tail Below 0.5.
 * @param {number} freedom
 */
function studentQuantile(tail, freedom) {
  const key = `${tail} ${freedom}`;
  let known = quantiles.get(key);
  if (known === undefined) {
    let high = 1;
    while (studentTail(high, freedom) > tail) high *= 2;
    known = halved((t) => tail - studentTail(t, freedom), 0, high);
    quantiles.set(key, known);
  }
  return known;
}

/** @param {number[]} values */
const sumOf = (values) => values.reduce((sum, value) => sum + value, 0);
/** @param {number[]} values */
const meanOf = (values) => sumOf(values) / values.length;
/**
 * @param {number} value
 * @param {number} digits
 */
const roundedTo = (value, digits) => Math.round(value * 10 ** digits) / 10 ** digits;

/**
 * Half the width of the t interval of a mean; infinite for a single value (docs/scores.md 1.7).
 * @param {number[]} values
 */
function meanHalf(values) {
  const n = values.length;
  if (n < 2) return Infinity;
  const mean = meanOf(values);
  const deviation = Math.sqrt(sumOf(values.map((value) => (value - mean) ** 2)) / (n - 1));
  return (studentQuantile(0.025, n - 1) * deviation) / Math.sqrt(n);
}

/**
 * Half the width of the interval of a mean over problems, where trials vary (docs/scores.md 1.8).
 * @param {number[][]} trials Of each problem.
 */
function halfOverTrials(trials) {
  const variances = trials.map((values) => {
    const freedom = Math.max(values.length - 1, 1);
    return (meanHalf(values) / studentQuantile(0.025, freedom)) ** 2;
  });
  const total = sumOf(variances);
  if (!Number.isFinite(total)) return Infinity;
  if (total === 0) return 0;
  const squares = sumOf(variances.map((v, i) => v ** 2 / Math.max(trials[i].length - 1, 1)));
  return (studentQuantile(0.025, total ** 2 / squares) * Math.sqrt(total)) / trials.length;
}

/**
 * The ranks of the trials of one problem: values that are equal but for rounding share one (docs/scores.md 0.4).
 * @param {number[][]} values Of each optimizer.
 * @param {number | null} optimum
 * @param {Constants} constants
 * @returns {number[][]}
 */
function rankedTrials(values, optimum, constants) {
  const flat = values
    .flatMap((mine, o) => mine.map((value, t) => ({value, o, t})))
    .sort((a, b) => (a.value < b.value ? -1 : Number(a.value > b.value)));
  /** @param {number} value */
  const near = (value) => optimum !== null && Math.abs(value - optimum) <= constants.at_optimum;
  const out = values.map((mine) => mine.map(() => 0));
  let rank = 0;
  flat.forEach(({value, o, t}, i) => {
    const before = i ? flat[i - 1].value : -Infinity;
    const size = Math.min(Math.max(Math.abs(before), Math.abs(value)), Number.MAX_VALUE);
    const same = i && (before === value || value - before <= constants.same * size || (near(before) && near(value)));
    if (!same) rank += 1;
    out[o][t] = rank;
  });
  return out;
}

/**
 * Of probabilities less 0.5, with half an observation at 0 and half a one at 1.
 * @param {ArrayLike<number>} away
 */
function halfAddedVariance(away) {
  const n = away.length;
  let [sum, squares] = [0, 0.25];
  for (let i = 0; i < n; i++) {
    sum += away[i];
    squares += away[i] ** 2;
  }
  return Math.max(squares / (n + 1) - (sum / (n + 1)) ** 2, 0);
}

/**
 * Every trial of one optimizer against every trial of another on one problem (docs/scores.md 5.3).
 * @param {number[]} x Ranks.
 * @param {number[]} y
 */
function duel(x, y) {
  const mine = x.map((one) => sumOf(y.map((other) => Math.sign(other - one))) / (2 * y.length));
  const theirs = y.map((other) => sumOf(x.map((one) => Math.sign(other - one))) / (2 * x.length));
  const parts = [mine, theirs].map((away) => halfAddedVariance(away) / away.length);
  return {
    share: 0.5 + meanOf(mine),
    variance: parts[0] + parts[1],
    squares: parts[0] ** 2 / Math.max(x.length - 1, 1) + parts[1] ** 2 / Math.max(y.length - 1, 1),
  };
}

/** Signs at random, the same as NumPy's PCG64 gives to Python: one bit of every 32. */
class Signs {
  /** @type {Int8Array} */
  known = new Int8Array(0);
  made = 0;

  /** @param {{state: string, inc: string}} generator */
  constructor(generator) {
    this.state = BigInt(generator.state);
    this.inc = BigInt(generator.inc);
  }

  /** @param {number} count The first so many. */
  first(count) {
    if (count > this.known.length) {
      const longer = new Int8Array(count + (count % 2));
      longer.set(this.known);
      this.known = longer;
    }
    const [low, word] = [(1n << 64n) - 1n, (1n << 128n) - 1n];
    for (; this.made < count; this.made += 2) {
      this.state = (this.state * 47026247687942121848144207491837523525n + this.inc) & word;
      const turn = this.state >> 122n;
      const mixed = (this.state >> 64n) ^ (this.state & low);
      const out = ((mixed >> turn) | (mixed << ((64n - turn) & 63n))) & low;
      this.known[this.made] = (out >> 31n) & 1n ? -1 : 1;
      this.known[this.made + 1] = out >> 63n ? -1 : 1;
    }
    return this.known;
  }
}

/**
 * P-values of shares less 0.5, corrected for all pairs, by flipping signs (docs/scores.md 5.3).
 * @param {number[][]} away Of each pair, by function.
 * @param {Signs} random
 * @param {Constants} constants
 */
function flippedP(away, random, constants) {
  const n = away[0].length;
  const scaled = away.map((one) => {
    const size = Math.sqrt(sumOf(one.map((x) => x * x)) + 0.25);
    return Float64Array.from(one, (x) => x / size);
  });
  const all = n <= constants.enumerated;
  const [least, most] = constants.flips;
  const flips = Math.min(most, Math.max(least, Math.floor(constants.flip_work / (away.length * n))));
  const count = all ? 2 ** (n - 1) : 1000 * Math.max(1, Math.floor(flips / 1000));
  const signs = all ? null : random.first(count * n);
  const pattern = new Float64Array(n);
  const greatest = new Float64Array(count);
  for (let i = 0; i < count; i++) {
    // the first pattern is the data's own
    for (let f = 0; f < n; f++) pattern[f] = signs ? (i ? signs[i * n + f] : 1) : ((i << 1) >> f) & 1 ? -1 : 1;
    let top = 0;
    for (const one of scaled) {
      let sum = 0;
      for (let f = 0; f < n; f++) sum += one[f] * pattern[f];
      top = Math.max(top, Math.abs(sum));
    }
    greatest[i] = top;
  }
  return scaled.map((one) => {
    const seen = Math.abs(one.reduce((sum, x) => sum + x, 0)) * (1 - 1e-9);
    return greatest.reduce((reached, top) => reached + Number(top >= seen), 0) / count;
  });
}

/**
 * The ends of an interval, on one side of 0.5 where the test has excluded it, else around it.
 * @param {number} value
 * @param {number} lower
 * @param {number} upper
 * @param {boolean} rejected
 * @param {Constants} constants
 * @returns {Estimate}
 */
function decidedEnds(value, lower, upper, rejected, constants) {
  const near = Math.min(constants.apart, Math.abs(value - 0.5) / 2);
  [lower, upper] = [Math.min(lower, value), Math.max(upper, value)];
  lower = rejected && value > 0.5 ? Math.max(lower, 0.5 + near) : Math.min(lower, 0.5);
  upper = rejected && value < 0.5 ? Math.min(upper, 0.5 - near) : Math.max(upper, 0.5);
  return {value, lower: Math.max(lower, 0), upper: Math.min(upper, 1)};
}

/**
 * The mean over functions of shares, for claims about similar problems (docs/scores.md 5.3).
 * @param {number[][]} shares Of each pair, by function.
 * @param {number} alpha
 * @param {Signs} random
 * @param {Constants} constants
 */
function overFunctions(shares, alpha, random, constants) {
  const n = shares[0].length;
  const away = shares.map((one) => one.map((share) => share - 0.5));
  const p = flippedP(away, random, constants);
  const tail = alpha / (2 * shares.length);
  const critical = studentQuantile(tail, Math.max(n - 1, 1));
  return shares.map((one, i) => {
    const value = roundedTo(meanOf(one), constants.rounded);
    const centre = 0.5 + sumOf(away[i]) / (n + 1);
    const variance = halfAddedVariance(away[i]);
    const half = critical * Math.sqrt(variance / n);
    const worth = (n * centre * (1 - centre)) / variance; // so many draws of 0 or 1 would vary as much
    const [hits, misses] = [value * worth, (1 - value) * worth];
    const low = hits > 0 ? betaQuantile(Math.max(hits, 1e-9), misses + 1, tail) : 0;
    const high = misses > 0 ? betaQuantile(hits + 1, Math.max(misses, 1e-9), 1 - tail) : 1;
    return decidedEnds(value, Math.min(centre - half, low), Math.max(centre + half, high), p[i] <= alpha, constants);
  });
}

/**
 * The weighted mean over problems, for claims about just these (docs/scores.md 5.3).
 * @param {ReturnType<typeof duel>[][]} met Of each pair, by problem.
 * @param {number[]} weights
 * @param {number} alpha
 * @param {Constants} constants
 */
function overTrials(met, weights, alpha, constants) {
  return met.map((one) => {
    const value = roundedTo(sumOf(one.map(({share}, p) => share * weights[p])), constants.rounded);
    const variance = sumOf(one.map((at, p) => at.variance * weights[p] ** 2));
    const freedom = variance ** 2 / sumOf(one.map((at, p) => at.squares * weights[p] ** 4));
    const error = Math.sqrt(variance);
    const half = studentQuantile(alpha / (2 * met.length), freedom) * error;
    const p = Math.min(1, met.length * 2 * studentTail(Math.abs(value - 0.5) / error, freedom));
    return decidedEnds(value, value - half, value + half, p <= alpha, constants);
  });
}
