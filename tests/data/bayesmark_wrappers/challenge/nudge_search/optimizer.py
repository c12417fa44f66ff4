"""A submission in the style of the challenge's starter kit: random search, then small changes of the best point."""

import copy

import bayesmark.random_search as rs
import helper
from bayesmark import np_util
from bayesmark.abstract_optimizer import AbstractOptimizer
from bayesmark.experiment import experiment_main


class NudgeSearch(AbstractOptimizer):
    primary_import = None

    def __init__(self, api_config, random=np_util.random):
        AbstractOptimizer.__init__(self, api_config)
        self.random = random
        self.seen = []

    def suggest(self, n_suggestions=1):
        points = rs.suggest_dict([], [], self.api_config, n_suggestions=n_suggestions, random=self.random)
        if not self.seen:
            return points
        best = min(self.seen, key=lambda pair: pair[1])[0]
        name = helper.pick(sorted(self.api_config), self.random)
        return [{**copy.deepcopy(best), name: point[name]} for point in points]

    def observe(self, X, y):
        self.seen.extend(zip(X, y, strict=True))


if __name__ == "__main__":
    experiment_main(NudgeSearch)
