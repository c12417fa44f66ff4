"""Random search: independent uniform points of the unit cube. The baseline of every fixed-cost score."""

from __future__ import annotations

from optarena.optimizer import Capabilities, Optimizer
from optarena.space import Array

REGISTERED = {"names": {"RandomSearch": "RandomSearch"}}


class RandomSearch(Optimizer):
    """Suggests at random and learns nothing: any space, any number of objectives, any constraint."""

    capabilities = Capabilities(several_objectives=True, constraints=True, array_native=True, ahead=True)

    def suggest(self, n: int) -> Array:
        return self.space.sample(n, self.rng)
