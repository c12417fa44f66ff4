// A random search near the best point so far, in JavaScript for Node, as an optimizer of optarena (docs/protocol.md).
// It takes every type of parameter: a range is searched on its own scale, a list by the places of its members.
"use strict";

const scales = {
  linear: [(x) => x, (w) => w],
  log: [Math.log, Math.exp],
  logit: [(x) => Math.log(x / (1 - x)), (w) => 1 / (1 + Math.exp(-w))],
  bilog: [(x) => Math.sign(x) * Math.log1p(Math.abs(x)), (w) => Math.sign(w) * Math.expm1(Math.abs(w))],
};

let space, width, best, bestValue, state;

function uniform() {
  // mulberry32: Math.random cannot be seeded
  state = (state + 0x6d2b79f5) | 0;
  let t = Math.imul(state ^ (state >>> 15), state | 1);
  t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}

const members = (p) => (p.type === "bool" ? [false, true] : p.values);

/** A parameter's value at a place in [0, 1], and the other way round. */
function valueAt(p, at) {
  const list = members(p);
  if (list) return list[Math.min(Math.floor(at * list.length), list.length - 1)];
  const [warp, back] = scales[p.space];
  const [low, high] = p.range.map(warp);
  const x = Math.min(Math.max(back(low + at * (high - low)), p.range[0]), p.range[1]);
  return p.type === "int" ? Math.round(x) : x;
}

function placeOf(p, value) {
  const list = members(p);
  if (list) return (list.indexOf(value) + 0.5) / list.length;
  const [warp] = scales[p.space];
  const [low, high] = p.range.map(warp);
  return high > low ? (warp(value) - low) / (high - low) : 0.5;
}

const calls = {
  hello: () => ({ protocol: 1, name: "nearby", version: "1", capabilities: {} }),
  start(request) {
    ({ space, seed: state } = request);
    width = request.settings.width;
    best = null;
    bestValue = Infinity;
    return {};
  },
  suggest(request) {
    const point = () =>
      space.map((p, i) => {
        const at = best === null ? uniform() : best[i] + width * (uniform() - 0.5);
        // now and then anywhere: what has no order has no neighbours
        return valueAt(p, best !== null && uniform() < 0.1 ? uniform() : Math.min(Math.max(at, 0), 1));
      });
    return { points: Array.from({ length: request.n }, point) };
  },
  observe(request) {
    request.points.forEach((point, k) => {
      const value = { inf: Infinity, "-inf": -Infinity, nan: NaN }[request.values[k][0]] ?? request.values[k][0];
      if (value < bestValue) {
        // NaN, a failed evaluation, is never less
        bestValue = value;
        best = point.map((x, i) => placeOf(space[i], x));
      }
    });
    return {};
  },
};

const lines = require("readline").createInterface({ input: process.stdin });
lines.on("line", (line) => {
  const request = JSON.parse(line);
  if (request.call === "close") process.exit(0);
  process.stdout.write(`${JSON.stringify({ id: request.id, ...calls[request.call](request) })}\n`);
});
