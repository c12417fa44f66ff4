"""A class for optarena_shim.py: an agent that asks a language model where to look next, and reports what that costs.

The model is a stub, so that the example runs anywhere: slow, paid by the token, and at times no use. Put yours in its
place: `complete(prompt)` returns a text and the number of tokens, of the prompt and of the text. A model that does not
repeat itself must be made to, by a seed or by a file of its answers: a study that is interrupted asks the same again.
"""

import json
import random
import time
import zlib


class StubModel:
    """Reads the points of the prompt and proposes one near the best; every tenth answer is not what was asked for."""

    def __init__(self, seed, seconds):
        self.seed, self.seconds = seed, seconds

    def complete(self, prompt):
        time.sleep(self.seconds)
        source = random.Random(self.seed + zlib.crc32(prompt.encode()))
        seen = [json.loads(line) for line in prompt.splitlines() if line.startswith("{")]
        if source.random() < 0.1:
            text = "As a model of language I would rather write a poem about minima."
        elif not seen:
            text = json.dumps([round(source.random(), 6) for _ in range(int(prompt.split()[1]))])
        else:
            width = 0.5 * 0.9 ** seen[0]["after"]
            text = json.dumps([round(x + source.gauss(0.0, width), 6) for x in seen[0]["point"]])
        return text, (len(prompt) + len(text)) // 4


class Agent:
    def __init__(self, space, seed, shown=5, price=2e-6, seconds=0.001):
        self.ranges = [line["range"] for line in space.values()]
        self.names, self.shown, self.price = list(space), shown, price
        self.model = StubModel(seed, seconds)
        self.history, self.asked = [], 0
        self.cost = {}  # what was spent since the shim last asked

    def prompt(self):
        lines = ["Minimise %d numbers between 0 and 1. Question %d." % (len(self.names), self.asked)]
        for value, _, point in sorted(self.history)[: self.shown]:
            lines.append(json.dumps({"point": point, "value": value, "after": len(self.history)}))
        lines.append("Answer with a list of %d numbers, and nothing else." % len(self.names))
        return "\n".join(lines)

    def ask_model(self):
        self.asked += 1
        text, tokens = self.model.complete(self.prompt())
        self.cost["tokens"] = self.cost.get("tokens", 0) + tokens
        self.cost["money"] = self.cost.get("money", 0.0) + tokens * self.price
        return text

    def suggest(self, n):
        return [self.one() for _ in range(n)]

    def one(self):
        while True:
            try:
                unit = [min(max(float(u), 0.0), 1.0) for u in json.loads(self.ask_model())]
            except (TypeError, ValueError):
                continue
            if len(unit) == len(self.names):
                return {name: low + u * (high - low) for name, u, (low, high) in zip(self.names, unit, self.ranges)}

    def observe(self, points, values):
        for point, value in zip(points, values):
            if value == value:  # not NaN: the evaluation did not fail
                unit = [
                    (point[name] - low) / ((high - low) or 1.0) for name, (low, high) in zip(self.names, self.ranges)
                ]
                self.history.append((value, len(self.history), [round(u, 6) for u in unit]))
