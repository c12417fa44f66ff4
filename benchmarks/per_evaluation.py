"""What an evaluation costs, everything included, and how much of it is the harness: the rest is asking and evaluating.

RandomSearch does not learn, so its points are drawn ahead in blocks; an optimizer that learns is asked point by point.
"""

from __future__ import annotations

import numpy as np

import optarena as oa
from _measure import cpu, load, register, study
from optarena.problem import build

N = 20_000


class Learner(oa.Optimizer):
    """Random points, asked for one by one as from any optimizer that learns."""

    capabilities = oa.Capabilities(array_native=True)

    def suggest(self, n):
        return self.space.sample(n, self.rng)


class DictLearner(oa.Optimizer):
    """The same in dicts."""

    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))


def main() -> None:
    register("Learner", Learner)
    register("DictLearner", DictLearner)
    print(f"CPU microseconds an evaluation, {N:,} evaluations, least of 3 ({load()})")
    for id, limit in (("bbob/f1/d5/i1", 15), ("functions/mixed-tuning/d9", 40)):
        problem = build(id)
        points = problem.space.sample(N, np.random.default_rng(0))
        alone = cpu(lambda problem=problem, points=points: [problem.evaluate_matrix(x[None]) for x in points]) / N * 1e6
        print(f"{id}: the problem alone, point by point, {alone:.1f}")
        cost = cpu(study("RandomSearch", id, N)) / N * 1e6
        print(f"  RandomSearch   {cost:6.1f} (to reach: {limit})")
        for cls in (Learner, DictLearner):
            learner = cls(problem.space)
            asked = cpu(lambda learner=learner: [learner.suggest(1) for _ in range(N)]) / N * 1e6
            cost = cpu(study(cls.__name__, id, N)) / N * 1e6
            harness = cost - alone - asked
            print(f"  {cls.__name__:14s} {cost:6.1f}, of which harness {harness:.1f} (to reach: 10 on bbob)")
    print(
        "Bayesmark 0.0.8, 9 parameters, RandomSearch: 2,900 (published with it; it does not start on a current Python)"
    )


if __name__ == "__main__":
    main()
