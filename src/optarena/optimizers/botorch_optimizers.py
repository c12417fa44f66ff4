"""Bayesian optimization by BoTorch's parts: Gaussian processes, noisy expected improvement, and a loop of ours."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState, TorchState, import_apart, silent
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers._pending import Seen
from optarena.settings import whole
from optarena.space import Array, Space

REGISTERED = {
    "library": "botorch",
    "licence": "MIT",
    "extra": "botorch",
    "needs": ["botorch"],
    "names": {"BoTorch": "BoTorch"},
}

LISTED = 1000
"""Integers of a range with up to this many values are searched one by one; of a longer one as if it were real."""
THIN = 0.01
"""A front that covers less of an objective's range says nothing of the range that matters."""


class BoTorch(Optimizer):
    """A Gaussian process and log noisy expected improvement (qLogNEI), after a few scrambled Sobol' points.

    Good for: expensive and noisy functions of up to about 20 parameters, some hundred evaluations, also in batches.
    Why a loop of ours: BoTorch is a set of parts without a loop. The model is its `SingleTaskGP` with its priors, in
    the unit cube, where warps are linear, and with categories one-hot. The acquisition is optimized by gradients, and
    in spaces that are not all real by `optimize_acqf_mixed_alternating`, which tries neighbouring integers and other
    categories. Points of a batch are chosen one after the other, each knowing those before it; suggestions whose value
    is still unknown count as pending.

    With several objectives, each has such a model, and the acquisition is the log noisy expected improvement of the
    hypervolume (qLogNEHVI), each objective in the unit range of what was observed. Good for two to four of them. The
    reference point is beyond the worst of the front that the models see at the points observed, by a tenth of its range
    (Ishibuchi et al. 2011).

    A failure is reported as the worst value so far, in each objective. `n_initial` is max(5, 2 D) by default, at
    most 20; `num_restarts` and `raw_samples` are those of BoTorch's optimizer, `mc_samples` the draws of the
    acquisition.
    """

    capabilities = Capabilities(array_native=True, several_objectives=True, failures="worst")
    packages = ("botorch", "gpytorch", "torch")

    settings: ClassVar = {
        "n_initial": whole(None),
        "num_restarts": whole(8),
        "raw_samples": whole(256),
        "mc_samples": whole(128),
    }

    @classmethod
    def conflict(cls, chosen: Mapping[str, Any], dimension: int | None) -> str:  # noqa: ARG003
        samples, restarts = chosen["raw_samples"], chosen["num_restarts"]
        return f"raw_samples must be at least num_restarts ({restarts}), got {samples}" if samples < restarts else ""

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        from scipy.stats import qmc

        self._states = GlobalState(self.rng), TorchState(self.rng)
        import_apart("botorch")  # takes seconds, which are no part of the first suggestion
        self._columns = _Columns(space)
        usual = min(20, max(5, 2 * len(self._columns.kept)))
        self._n_initial = self.chosen["n_initial"] or usual
        self._sobol = qmc.Sobol(space.dimension, rng=self.rng, bits=62)
        self._seen = [Seen() for _ in range(objectives)]
        self._X = np.empty((0, space.dimension))
        self._y = np.empty((0, objectives))
        """As observed: each new model gets its own replacement for failures."""
        self._waiting: list[Array] = []

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        numpy, torch = self._states
        with numpy, torch, silent(), _no_compiler():
            yield

    def suggest(self, n: int) -> Array:
        first = min(n, max(0, self._n_initial - len(self._X) - len(self._waiting)))
        if not all(seen.known for seen in self._seen) or not self._columns.kept:
            first = n
        # one at a time: scipy warns when a first draw of Sobol' points is no power of 2
        unit = [self._sobol.random(1) for _ in range(first)]
        X = self.space.from_unit(np.concatenate(unit)) if unit else np.empty((0, self.space.dimension))
        self._waiting.extend(X)
        if first < n:
            with self._running():
                chosen = self._chosen(n - first)
            self._waiting.extend(chosen)
            X = np.concatenate([X, chosen])
        return X

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        matrix, values = np.array(X, dtype=float), np.array(y, dtype=float)
        values[np.isnan(values).any(axis=1)] = np.nan  # of what failed, no part counts
        for seen, column in zip(self._seen, values.T.tolist(), strict=True):
            seen.see(column)
        self._X = np.concatenate([self._X, matrix])
        self._y = np.concatenate([self._y, values])
        for row in matrix:
            at = next((k for k, point in enumerate(self._waiting) if np.array_equal(point, row)), None)
            if at is not None:
                del self._waiting[at]

    def _told(self) -> Array:
        """What the models get, (n, objectives), minimised; of several objectives each in a unit range.

        What is a small step and what a large volume is absolute in BoTorch, so that values need a common size.
        """
        columns = []
        for seen, column in zip(self._seen, self._y.T.tolist(), strict=True):
            values = np.array([seen.inside(value) for value in column])
            if self.objectives > 1:
                values = (values - seen.best) / ((seen.worst - seen.best) or 1.0)
            columns.append(values)
        return np.column_stack(columns)

    def _chosen(self, n: int) -> Array:
        import torch
        from botorch.acquisition.logei import qLogNoisyExpectedImprovement
        from botorch.sampling.normal import SobolQMCNormalSampler

        columns, seed = self._columns, int(self.rng.integers(2**31))
        inputs, values = torch.as_tensor(columns.encode(self._X)), torch.as_tensor(-self._told())
        models = [self._fitted(inputs, values[:, [j]]) for j in range(self.objectives)]
        given = {
            "X_baseline": inputs,
            "sampler": SobolQMCNormalSampler(torch.Size([self.chosen["mc_samples"]]), seed=seed),
            "X_pending": torch.as_tensor(columns.encode(np.array(self._waiting))) if self._waiting else None,
            "prune_baseline": True,
        }
        one = self.objectives == 1
        acquisition = qLogNoisyExpectedImprovement(models[0], **given) if one else self._hypervolume(models, **given)
        return columns.decode(self._optimized(acquisition, n).numpy())

    def _hypervolume(self, models: list[Any], **given: Any) -> Any:
        import torch
        from botorch.acquisition.multi_objective.logei import qLogNoisyExpectedHypervolumeImprovement
        from botorch.acquisition.multi_objective.utils import get_default_partitioning_alpha
        from botorch.models import ModelListGP
        from botorch.utils.multi_objective.pareto import is_non_dominated

        model = ModelListGP(*models)
        with torch.no_grad():
            means = model.posterior(given["X_baseline"]).mean  # of what was observed, noise would be part of the front
        front = means[is_non_dominated(means)]
        nadir, extent = front.amin(dim=0), front.amax(dim=0) - front.amin(dim=0)
        reference = nadir - 0.1 * torch.where(extent < THIN, torch.ones_like(extent), extent)
        alpha = get_default_partitioning_alpha(self.objectives)
        return qLogNoisyExpectedHypervolumeImprovement(model, reference, alpha=alpha, **given)

    def _fitted(self, inputs: Any, values: Any) -> Any:
        from botorch.exceptions import ModelFittingError
        from botorch.fit import fit_gpytorch_mll
        from botorch.models import SingleTaskGP
        from gpytorch.mlls import ExactMarginalLogLikelihood

        model = SingleTaskGP(inputs, values, input_transform=self._one_hot())
        try:
            fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
        except ModelFittingError:  # five attempts have failed: what the priors say of the kernel must do
            model = SingleTaskGP(inputs, values, input_transform=self._one_hot())
            model.eval()
        return model

    def _one_hot(self) -> Any:
        from botorch.models.transforms.input import NumericToCategoricalEncoding
        from torch.nn.functional import one_hot

        sizes = {at: len(indices) for at, indices in self._columns.categories.items()}
        if not sizes:
            return None
        encoders = {at: functools.partial(one_hot, num_classes=size) for at, size in sizes.items()}
        return NumericToCategoricalEncoding(len(self._columns.kept), categorical_features=sizes, encoders=encoders)

    def _optimized(self, acquisition: Any, n: int) -> Any:
        import torch
        from botorch.optim import optimize_acqf
        from botorch.optim.optimize_mixed import optimize_acqf_mixed_alternating

        columns = self._columns
        bounds = torch.as_tensor(columns.bounds)
        given: dict[str, Any] = {key: self.chosen[key] for key in ("num_restarts", "raw_samples")}
        if self.objectives > 1:  # each draw has a front of its own, and each of its cells would meet all raw samples
            given["options"] = {"init_batch_limit": 32}
        if columns.steps or columns.categories:
            found, _ = optimize_acqf_mixed_alternating(
                acquisition, bounds, discrete_dims=columns.steps, cat_dims=columns.categories, q=n, **given
            )
        else:
            found, _ = optimize_acqf(acquisition, bounds, q=n, sequential=True, **given)
        return found


@contextlib.contextmanager
def _no_compiler() -> Iterator[None]:
    """BoTorch's hypervolume in torch alone.

    Its first use would compile a kernel for the machine at hand, into the user's cache, and points would depend on
    whether there is a compiler. Older versions have no such kernel.
    """
    from botorch.acquisition.multi_objective import logei

    inside: dict[str, Any] = {"_C": None, "_load_attempted": True}
    outside = {name: getattr(logei, name) for name in inside if hasattr(logei, name)}
    try:
        for name in outside:
            setattr(logei, name, inside[name])
        yield
    finally:
        for name, value in outside.items():
            setattr(logei, name, value)


class _Columns:
    """Points in matrix form as the model's inputs and back. A parameter with a single value is no input.

    Ranges stand in the unit cube; bools, ordinals, lists of numbers and categories of two from 0 to 1 in equal steps;
    a category of three or more is its index.
    """

    def __init__(self, space: Space) -> None:
        self.space = space
        low, high = space.low, space.high
        self.kept = [i for i in range(space.dimension) if low[i] < high[i]]
        self.steps: dict[int, list[float]] = {}
        """Which inputs have few values that are in order, and those values."""
        self.categories: dict[int, list[float]] = {}
        self._scale = np.ones(len(self.kept))
        """Of a list: the index of its last member, by which an index is divided unless it is a category."""
        self._listed: list[int] = []
        for at, i in enumerate(self.kept):
            p = space.parameters[i]
            if p.values is not None:
                count = len(p.values)
                self._listed.append(at)
                if p.type == "cat" and count > 2:
                    self.categories[at] = [float(k) for k in range(count)]
                else:
                    self._scale[at] = count - 1.0
                    self.steps[at] = [k / (count - 1.0) for k in range(count)]
            elif p.type == "int" and high[i] - low[i] < LISTED:
                line = np.tile(low, (int(high[i] - low[i]) + 1, 1))
                line[:, i] = np.arange(low[i], high[i] + 1)
                self.steps[at] = space.to_unit(line)[:, i].tolist()
        self._sizes = np.array([float(len(space.parameters[self.kept[at]].values or ())) for at in self._listed])
        self.bounds = np.array([np.zeros(len(self.kept)), np.ones(len(self.kept))])
        for at, values in (self.steps | self.categories).items():
            self.bounds[:, at] = values[0], values[-1]

    def encode(self, matrix: Array) -> Array:
        inputs = self.space.to_unit(matrix)[:, self.kept]
        # the unit cube has a member of a list at the centre of its share
        inputs[:, self._listed] = np.floor(inputs[:, self._listed] * self._sizes) / self._scale[self._listed]
        return inputs

    def decode(self, inputs: Array) -> Array:
        unit = np.zeros((len(inputs), self.space.dimension))
        moved = np.array(inputs, dtype=float)
        moved[:, self._listed] = (np.rint(moved[:, self._listed] * self._scale[self._listed]) + 0.5) / self._sizes
        unit[:, self.kept] = moved
        return self.space.from_unit(unit)
