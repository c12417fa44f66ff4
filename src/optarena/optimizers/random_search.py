"""Random search: independent uniform points of the unit cube. The baseline of every fixed-cost score."""

from __future__ import annotations

from typing import ClassVar

from optarena._bayesmark_encoding import unwarp, warped_bounds
from optarena.optimizer import Capabilities, Optimizer
from optarena.settings import choice
from optarena.space import Array

REGISTERED = {"names": {"RandomSearch": "RandomSearch"}}


class RandomSearch(Optimizer):
    """Suggests at random and learns nothing: any space, any number of objectives, any constraint.

    `sampling`: "uniform" gives every integer of a range the same share. "bayesmark" draws as Bayesmark does: it rounds,
    so that the two ends of a range of integers get half a share, and a listed number gets a share by its distance from
    its neighbours.
    """

    capabilities = Capabilities(several_objectives=True, constraints=True, array_native=True, ahead=True)
    settings: ClassVar = {"sampling": choice("uniform", ("uniform", "bayesmark"))}

    def suggest(self, n: int) -> Array:
        if self.chosen["sampling"] == "uniform":
            return self.space.sample(n, self.rng)
        low, high = warped_bounds(self.space).T
        return self.space.to_matrix(unwarp(self.space, self.rng.uniform(low, high, size=(n, len(low)))))
