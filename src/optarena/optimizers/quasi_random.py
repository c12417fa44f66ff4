"""Quasi-random search: a low-discrepancy sequence through the unit cube (scipy.stats.qmc)."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities, Optimizer
from optarena.settings import choice, flag
from optarena.space import Array, Space

REGISTERED = {
    "library": "scipy",
    "licence": "BSD-3-Clause",
    "names": {"QuasiRandom": "QuasiRandom"},
}


class QuasiRandom(Optimizer):
    """Sobol' (default) or Halton points, scrambled by the study's seed: they fill the space evenly and do not learn."""

    capabilities = Capabilities(several_objectives=True, constraints=True, array_native=True, ahead=True)
    packages = ("scipy",)
    settings: ClassVar = {"sequence": choice("sobol", ("sobol", "halton")), "scramble": flag(True)}

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        from scipy.stats import qmc

        scramble = self.chosen["scramble"]
        self._engine: Any
        if self.chosen["sequence"] == "sobol":
            self._engine = qmc.Sobol(space.dimension, scramble=scramble, rng=self.rng, bits=62)
        else:
            self._engine = qmc.Halton(space.dimension, scramble=scramble, rng=self.rng)

    def suggest(self, n: int) -> Array:
        # scipy warns when a first draw of Sobol' points is no power of 2: a first point by itself is the same sequence
        if self._engine.num_generated == 0 and n > 1:
            return self.space.from_unit(np.concatenate([self._engine.random(1), self._engine.random(n - 1)]))
        return self.space.from_unit(self._engine.random(n))
