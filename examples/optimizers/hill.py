"""A class for optarena_shim.py, which needs nothing of optarena: a random step from the best point so far."""

import random


class Hill:
    def __init__(self, space, seed, width=0.1):
        self.space, self.width = space, width
        self.random = random.Random(seed)
        self.best, self.value = None, float("inf")

    def suggest(self, n):
        return [{name: self._near(name, line) for name, line in self.space.items()} for _ in range(n)]

    def _near(self, name, line):
        if "range" not in line:
            return self.random.choice(line.get("values", [False, True]))
        low, high = line["range"]
        x = self.random.uniform(low, high)
        if self.best is not None:
            x = self.best[name] + self.width * (high - low) * self.random.gauss(0.0, 1.0)
        x = min(max(x, low), high)
        return int(round(x)) if line["type"] == "int" else x

    def observe(self, points, values):
        for point, value in zip(points, values):
            if value < self.value:  # NaN, a failed evaluation, is never less
                self.best, self.value = point, value
