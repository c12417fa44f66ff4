"""A wrapper as one would write it for Bayesmark: a random point near the best so far, on the warped scale."""

import random as pyrandom

import numpy as np
from bayesmark.abstract_optimizer import AbstractOptimizer
from bayesmark.experiment import experiment_main
from bayesmark.np_util import linear_rescale
from bayesmark.np_util import random as np_random
from bayesmark.space import JointSpace


class NearBest(AbstractOptimizer):
    primary_import = "numpy"

    def __init__(self, api_config, random=np_random, width=0.5):
        AbstractOptimizer.__init__(self, api_config)
        self.space = JointSpace(api_config)
        self.low, self.high = self.space.get_bounds().T
        self.random, self.width = random, width
        self.best, self.value = None, np.inf

    def suggest(self, n_suggestions=1):
        unit = self.random.uniform(size=(n_suggestions, len(self.low)))
        if self.best is not None and pyrandom.random() < 0.9:
            unit = np.clip(self.best + self.width * (unit - 0.5), 0, 1)
        return self.space.unwarp(linear_rescale(unit, 0.0, 1.0, self.low, self.high))

    def observe(self, X, y):
        assert isinstance(y, list)
        for row, value in zip(self.space.warp(X), y, strict=True):
            if value < self.value:
                self.best = linear_rescale(row, self.low, self.high, 0.0, 1.0)
                self.value = value


if __name__ == "__main__":
    experiment_main(NearBest)
