"""PySOT's surrogate optimization: a radial basis function, and candidates near the best point (SRBF)."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState, import_apart
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers._pending import Finite, Pending
from optarena.settings import Setting, number, whole
from optarena.space import Array, Space

REGISTERED = {
    "library": "pySOT",
    "licence": "BSD-3-Clause",
    "last_release": 2020,
    "extra": "pysot",
    "needs": ["pySOT", "poap", "six"],
    "names": {"PySOT": "PySOT"},
}

UNLIMITED = 2**31 - 1


def _weights(value: Any) -> list[float]:
    if not isinstance(value, (list, tuple)) or not value:
        raise ValueError
    return [number(0.0, 0.0, 1.0).read(weight) for weight in value]


class PySOT(Optimizer):
    """Stochastic RBF (Regis and Shoemaker 2007): a cubic radial basis function with a linear tail; candidates around
    the best point are weighed by their predicted value and by their distance from known points. It restarts when it
    has converged.

    Good for: expensive functions of up to some 20 reals, 50 to 500 evaluations; quick for a surrogate. Why PySOT: it is
    the one in the slides, with the strategy, the surrogate and the design that the slides' harness gives it.

    It first evaluates a symmetric Latin hypercube of 2 (D + 1) points. It searches the unit cube, in which every warp
    is linear and an integer or ordinal is a step; a category is one coordinate a member, of which the largest wins, so
    that no order is made up. (Its own integers need a design without equal points, which a small space has not.) A
    failure is reported as the worst value so far. A point that was never suggested joins the surrogate.

    `num_cand` is the number of candidates (100 D), `weights` the cycle of weights of the predicted value.
    """

    capabilities = Capabilities(array_native=True, failures="worst")
    packages = ("pySOT", "POAP")

    settings: ClassVar = {
        "num_cand": whole(None),
        "weights": Setting([0.3, 0.5, 0.8, 0.95], "a list of numbers from 0 to 1", _weights),
        "eta": number(1e-4, open_low=True),
    }

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._onehot = _OneHot(space)
        self._finite = Finite()
        self._state = GlobalState(self.rng, python=False)
        self._pending: Pending[Any] = Pending()
        self._early: list[tuple[Array, float]] = []
        self._strategy: Any = None
        self._record = import_apart("poap.strategy").EvalRecord
        import_apart("pySOT.strategy")  # takes a second, which is not part of the first suggestion

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        with self._state, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
            yield

    def _start(self, n: int) -> None:
        from pySOT.experimental_design import SymmetricLatinHypercube
        from pySOT.optimization_problems import OptimizationProblem
        from pySOT.strategy import SRBFStrategy
        from pySOT.surrogate import CubicKernel, LinearTail, RBFInterpolant

        dim = self._onehot.width
        problem = OptimizationProblem()
        problem.dim, problem.lb, problem.ub = dim, np.zeros(dim), np.ones(dim)
        problem.int_var, problem.cont_var = np.array([], dtype=int), np.arange(dim)
        surrogate = RBFInterpolant(
            dim=dim, lb=problem.lb, ub=problem.ub, kernel=CubicKernel(), tail=LinearTail(dim), eta=self.chosen["eta"]
        )
        self._strategy = SRBFStrategy(
            max_evals=UNLIMITED,
            opt_prob=problem,
            exp_design=SymmetricLatinHypercube(dim=dim, num_pts=max(n, 2 * (dim + 1))),
            surrogate=surrogate,
            asynchronous=True,
            use_restarts=True,
            weights=list(self.chosen["weights"]),
            num_cand=self.chosen["num_cand"],
        )
        for coordinates, value in self._early:
            self._tell_foreign(coordinates, value)
        self._early.clear()

    def suggest(self, n: int) -> Array:
        with self._running():
            if self._strategy is None:
                self._start(n)
            strategy, dim = self._strategy, self._onehot.width
            # an asynchronous strategy has the failures' tolerance of one worker; a batch counts as one step
            strategy.failtol = n * int(max(np.ceil(dim / n), np.ceil(4 / n)))
            records = [self._propose() for _ in range(n)]
        X = self.space.from_unit(self._onehot.decode(np.array([record.params[0] for record in records])))
        self._pending.put(X, records)
        return X

    def _propose(self) -> Any:
        strategy = self._strategy
        if not strategy.batch_queue and not strategy.converged and len(strategy._X) <= self._onehot.width:
            # too few values to fit a surrogate: all failed so far, or none was observed yet
            design = strategy.exp_design.generate_points(lb=strategy.opt_prob.lb, ub=strategy.opt_prob.ub)
            strategy.batch_queue.extend(design)
            strategy.phase = 1
        return self._accept(strategy.propose_action())

    def _accept(self, proposal: Any) -> Any:
        proposal.record = self._record(proposal.args, status="pending")
        proposal.accept()  # PySOT then listens to the record
        return proposal.record

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        rows = np.ascontiguousarray(X, dtype=float)
        items = [self._pending.take(row) for row in rows]
        foreign = [i for i, item in enumerate(items) if item is None]
        if foreign:
            encoded = self._onehot.encode(self.space.to_unit(rows[foreign]))
            for i, coordinates in zip(foreign, encoded, strict=True):
                items[i] = coordinates
        with self._running():
            for item, value in self._finite(items, y[:, 0].tolist()):
                if not isinstance(item, np.ndarray):
                    item.complete(value)
                elif self._strategy is None:
                    self._early.append((item, value))
                else:
                    self._tell_foreign(item, value)

    def _tell_foreign(self, coordinates: Array, value: float) -> None:
        """A point that was never suggested, as if it belonged to the design."""
        proposal = self._strategy.make_proposal(coordinates)
        proposal.add_callback(self._strategy.on_initial_proposal)
        self._accept(proposal).complete(value)


class _OneHot:
    """The unit cube with a coordinate for each member of a category of three or more."""

    def __init__(self, space: Space) -> None:
        self.widths = [
            len(p.values or ()) if p.type == "cat" and len(p.values or ()) > 2 else 1 for p in space.parameters
        ]
        self.starts = np.cumsum([0, *self.widths[:-1]]).tolist()
        self.width = sum(self.widths)

    def decode(self, coordinates: Array) -> Array:
        unit = coordinates[:, self.starts]
        for column, (start, width) in enumerate(zip(self.starts, self.widths, strict=True)):
            if width > 1:
                unit[:, column] = (coordinates[:, start : start + width].argmax(axis=1) + 0.5) / width
        return unit

    def encode(self, unit: Array) -> Array:
        coordinates = np.zeros((len(unit), self.width))
        for column, (start, width) in enumerate(zip(self.starts, self.widths, strict=True)):
            if width > 1:
                member = np.minimum((unit[:, column] * width).astype(int), width - 1)
                coordinates[np.arange(len(unit)), start + member] = 1.0
            else:
                coordinates[:, start] = unit[:, column]
        return coordinates
