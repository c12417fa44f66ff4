"""HyperOpt's tree-structured Parzen estimator, fed with trial documents as its own loop would write them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

import numpy as np

from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers import _codec
from optarena.optimizers._pending import Pending
from optarena.settings import number, whole
from optarena.space import Array, Parameter, Space

REGISTERED = {
    "library": "hyperopt",
    "licence": "BSD-3-Clause",
    "extra": "hyperopt",
    "needs": ["hyperopt"],
    "names": {"HyperOpt": "HyperOpt"},
}


class HyperOpt(Optimizer):
    """TPE by HyperOpt (Bergstra 2011): densities of good and of bad points, each parameter by itself.

    Good for: tuning with mixed parameters and 50 to 1,000 evaluations; weak where parameters interact. The first
    `n_startup_jobs` points are random. Why, beside Optuna-TPE: it is the original, and the one in older comparisons.

    Linear and log ranges, of reals and integers, are HyperOpt's own; logit and bilog are a uniform in our unit cube.
    An ordinal is an integer, a category a `randint`, which HyperOpt takes as a category. A failure is a trial with
    the status "fail", which HyperOpt ranks as infinitely bad, as it does with trials that are still running. Of a
    batch each point is asked for by itself, the others running: HyperOpt gives one at a time. It may suggest a point
    again in a small space. The sequence is that of `hyperopt.fmin` with `rstate` set to the study's generator.
    """

    capabilities = Capabilities(array_native=True, failures="native")
    packages = ("hyperopt",)

    settings: ClassVar = {
        "n_startup_jobs": whole(20),
        "n_EI_candidates": whole(24),
        "gamma": number(0.25, open_low=True),
        "prior_weight": number(1.0, open_low=True),
    }

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        from hyperopt import Trials, base, tpe

        native = (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG)
        self._codec = _codec.Codec(space, native)
        self._labels = [p.name for p in self._codec.parameters]
        expression = {p.name: _node(p, kind) for p, kind in zip(self._codec.parameters, self._codec.kinds, strict=True)}
        self._domain = base.Domain(None, expression, pass_expr_memo_ctrl=False)
        self._trials = Trials()
        self._algorithm = tpe.suggest
        self._done = base.JOB_STATE_DONE
        self._pending: Pending[dict[str, Any]] = Pending()

    def suggest(self, n: int) -> Array:
        documents = []
        for _ in range(n):
            ids = self._trials.new_trial_ids(1)
            seed = int(self.rng.integers(2**31 - 1))
            (new,) = self._algorithm(ids, self._domain, self._trials, seed, verbose=False, **self.chosen)
            documents.append(self._insert(new))
            self._trials.refresh()
        X = self._codec.decode([[doc["misc"]["vals"][label][0] for label in self._labels] for doc in documents])
        self._pending.put(X, documents)
        return X

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        for row, value in zip(np.ascontiguousarray(X, dtype=float), y[:, 0].tolist(), strict=True):
            document = self._pending.take(row) or self._foreign(row)
            document["state"] = self._done
            document["result"] = {"status": "fail"} if math.isnan(value) else {"status": "ok", "loss": value}
        self._trials.refresh()

    def _foreign(self, row: Array) -> dict[str, Any]:
        """The document of a point that was never suggested."""
        (tid,) = self._trials.new_trial_ids(1)
        values = dict(zip(self._labels, self._codec.encode(row), strict=True))
        misc = {
            "tid": tid,
            "cmd": self._domain.cmd,
            "workdir": self._domain.workdir,
            "idxs": {label: [tid] for label in values},
            "vals": {label: [value] for label, value in values.items()},
        }
        (document,) = self._trials.new_trial_docs([tid], [None], [self._domain.new_result()], [misc])
        return self._insert(document)

    def _insert(self, document: dict[str, Any]) -> dict[str, Any]:
        """The document as HyperOpt keeps it: a copy, where pymongo is installed."""
        self._trials.insert_trial_docs([document])
        return self._trials._dynamic_trials[-1]


def _node(p: Parameter, kind: str) -> Any:
    """A parameter as HyperOpt declares one; an integer owns half a step on either side, as in our unit cube."""
    from hyperopt import hp

    if kind == _codec.REAL:
        return hp.uniform(p.name, p.low, p.high)
    if kind == _codec.REAL_LOG:
        return hp.loguniform(p.name, math.log(p.low), math.log(p.high))
    if kind == _codec.INT:
        return hp.quniform(p.name, p.low - 0.5, p.high + 0.5, 1)
    if kind == _codec.INT_LOG:
        return hp.qloguniform(p.name, math.log(p.low - 0.5), math.log(p.high + 0.5), 1)
    if kind == _codec.UNIT:
        return hp.uniform(p.name, 0.0, 1.0)
    count = len(p.values or ())
    if kind == _codec.INDEX:
        return hp.quniform(p.name, -0.5, count - 0.5, 1)
    return hp.randint(p.name, count)
