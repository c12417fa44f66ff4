"""SMAC: a random forest (or a Gaussian process) and expected improvement, without SMAC's runner and files."""

from __future__ import annotations

import weakref
from typing import Any, ClassVar

import numpy as np

from optarena._scratch import Scratch
from optarena.optimizer import Capabilities
from optarena.optimizers import _codec
from optarena.optimizers._ask_tell import AskTell, Values
from optarena.settings import choice, whole
from optarena.space import Parameter, Space

REGISTERED = {
    "library": "smac",
    "licence": "BSD-3-Clause",
    "extra": "smac",
    "needs": ["smac"],
    "names": {"SMAC": "SMAC"},
}

FACADES = {"hpo": "HyperparameterOptimizationFacade", "blackbox": "BlackBoxFacade"}
MANY = 10**9


class SMAC(AskTell):
    """SMAC3: Sobol' points, then a random forest and log expected improvement; every eighth point it learns again.

    Good for: tuning with integers and categories, 50 to 1,000 evaluations. Why SMAC: the forest that AutoML rests on.
    `facade` is hpo, the forest, or blackbox, a Gaussian process for few reals. Linear and log ranges, integers,
    ordinals and categories are its own. The first points are min(10 D, a quarter of the budget), as in SMAC
    (blackbox: 8 D), unless `n_initial` says otherwise; hence it uses the budget.

    `retrain_after`, `challengers` and `local_search_iterations` are SMAC's, and where none are given, so are their
    values. A failure is reported as crashed, with the worst value so far for its cost. SMAC suggests no point twice:
    where a space is exhausted, the study ends. Batches of more than some 30 points are slow, since at each point SMAC
    goes through all that are not told yet. Its output directory is a temporary one that is removed.
    """

    capabilities = Capabilities(array_native=True, uses_budget=True, failures="worst")
    packages = ("smac", "ConfigSpace", "scikit-learn")
    native = (_codec.REAL, _codec.REAL_LOG, _codec.INT, _codec.INT_LOG)
    repeats = False

    settings: ClassVar = {
        "facade": choice("hpo", list(FACADES)),
        "n_initial": whole(None),
        "retrain_after": whole(None),
        "challengers": whole(None),
        "local_search_iterations": whole(None),
    }

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: np.random.Generator | None = None,
        budget: int = MANY,
        **settings: Any,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._folder = Scratch("smac")
        self._removal = weakref.finalize(self, self._folder.cleanup)
        self._seed = 0  # of an evaluation: one for all, the first that SMAC meets
        with self._running():
            self._smac: Any = self._build(budget)

    def _build(self, budget: int) -> Any:
        import smac
        from ConfigSpace import ConfigurationSpace

        seed = int(self.rng.integers(2**31))
        configurations = ConfigurationSpace(seed=seed)
        parts = zip(self._names, self._codec.parameters, self._codec.kinds, strict=True)
        configurations.add([_parameter(*part) for part in parts])
        scenario = smac.Scenario(
            configurations, deterministic=True, n_trials=budget, seed=seed, output_directory=self._folder.name
        )
        kind = getattr(smac, FACADES[self.chosen["facade"]])
        n_initial = self.chosen["n_initial"]
        initial = {} if n_initial is None else {"n_configs": n_initial, "max_ratio": 1.0}
        return kind(
            scenario,
            initial_design=kind.get_initial_design(scenario, **initial),
            acquisition_maximizer=kind.get_acquisition_maximizer(
                scenario, **self._given("challengers", "local_search_iterations")
            ),
            config_selector=kind.get_config_selector(scenario, **self._given("retrain_after")),
            overwrite=True,
            logging_level=False,
        )

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: self.chosen[name] for name in names if self.chosen[name] is not None}

    def _ask(self, n: int) -> list[tuple[Any, Values]]:
        import joblib
        from smac.main.exceptions import ConfigurationSpaceExhaustedException

        asked = []
        with joblib.parallel_config("sequential"):  # its forest would take all cores for 10 trees
            try:
                for _ in range(n):
                    token = self._smac.ask()
                    self._seed = token.seed
                    asked.append((token, [token.config[name] for name in self._names]))
            except (ConfigurationSpaceExhaustedException, StopIteration):
                pass
        return asked

    def _tell(self, token: Any, value: float, failed: bool) -> None:
        from smac.runhistory import StatusType, TrialValue

        status = StatusType.CRASHED if failed else StatusType.SUCCESS
        self._smac.tell(token, TrialValue(cost=value, status=status), save=False)

    def _token(self, point: Values) -> Any:
        from ConfigSpace import Configuration
        from smac.runhistory import TrialInfo

        values = dict(zip(self._names, point, strict=True))
        return TrialInfo(Configuration(self._smac.scenario.configspace, values=values), seed=self._seed)

    def close(self) -> None:
        self._removal()


def _parameter(name: str, p: Parameter, kind: str) -> Any:
    from ConfigSpace import Categorical, Float, Integer, OrdinalHyperparameter

    indices = list(range(len(p.values or ())))
    if kind == _codec.CATEGORY:
        return Categorical(name, indices)
    if kind == _codec.INDEX:
        return OrdinalHyperparameter(name, indices)
    if kind == _codec.UNIT:
        return Float(name, (0.0, 1.0))
    if p.type == "int":
        return Integer(name, (int(p.low), int(p.high)), log=p.warp == "log")
    return Float(name, (p.low, p.high), log=p.warp == "log")
