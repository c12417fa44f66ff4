"""OpenTuner's ensembles of search techniques, each led by a bandit, with their database in memory and no log."""

from __future__ import annotations

import contextlib
import functools
import logging
import math
import random
import warnings
from collections.abc import Callable, Iterator
from datetime import datetime
from types import SimpleNamespace
from typing import Any, ClassVar

import numpy as np

from optarena._global_state import GlobalState
from optarena.errors import Exhausted
from optarena.optimizer import Capabilities, Optimizer
from optarena.optimizers import _codec
from optarena.optimizers._pending import Pending
from optarena.settings import whole
from optarena.space import WARPS, Array, Parameter, Space

REGISTERED = {
    "library": "opentuner",
    "licence": "MIT",
    "last_release": 2022,
    "extra": "opentuner",
    "needs": ["opentuner"],
    "names": {
        "OpenTuner-BanditA": "OpenTunerBanditA",
        "OpenTuner-GA": "OpenTunerGA",
        "OpenTuner-GA-DE": "OpenTunerGADE",
    },
}

LOG = logging.getLogger("opentuner")


class OpenTuner(Optimizer):
    """What OpenTuner's ensembles share: results that are desired, and reported.

    Linear reals and integers are OpenTuner's own, ordinals are integers, categories are switches. Other warps are
    parameters that are searched on their own scale, in the way of OpenTuner's LogIntegerParameter (whose logarithm is
    of the distance from the lower end, and so not the one of our spaces). A failure is a result with the state "ERROR"
    and an infinite time. `parallelism` is the batch.

    OpenTuner never asks for the same configuration twice. When it has had them all, or has found nothing new in
    `bail_threshold` rounds (its own rule), the study stops early; the rest of the batch in which that happens is drawn
    at random. A value that is reported again is ignored.

    Fixed: OpenTuner keeps the dict that a technique goes on changing, and rereads it from the database by the clock
    (after 30 seconds) or when memory is freed, so that two runs differ; here a configuration is a copy, and nothing is
    committed by the clock. The swarm's step of a switch writes into the best configuration instead of the particle's;
    here it writes where it says. With SQLAlchemy 2 a desired result is no longer in the session by itself, so that no
    duplicate was noticed; here it is put there. The formatter that OpenTuner gives to all of Python's logging is taken
    back.
    """

    capabilities = Capabilities(array_native=True, failures="native")
    packages = ("opentuner", "SQLAlchemy")
    technique: ClassVar[str]

    settings: ClassVar = {"bail_threshold": whole(500)}

    def __init__(
        self, space: Space, *, objectives: int = 1, rng: np.random.Generator | None = None, **settings: Any
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        self._codec = _codec.Codec(space, (_codec.REAL, _codec.INT))
        self._names = [f"p{i}" for i in range(len(self._codec.kinds))]  # OpenTuner reads a "/" in a name as a path
        self._known: set[bytes] = set()
        self._pending: Pending[Any] = Pending()
        self._state = GlobalState(self.rng)
        with self._running():
            self._tools = _tools()
            self._manager = self._create()
        self._manager.last_commit_time = math.inf

    @contextlib.contextmanager
    def _running(self) -> Iterator[None]:
        heard, LOG.propagate = LOG.propagate, False  # (logging.disable would go through all loggers, at each step)
        try:
            with self._state, warnings.catch_warnings(action="ignore"), np.errstate(all="ignore"):
                yield
        finally:
            LOG.propagate = heard

    def _create(self) -> Any:
        tools = self._tools
        pairs = zip(self._names, self._codec.parameters, self._codec.kinds, strict=True)
        manipulator = tools.Manipulator()
        for name, p, kind in pairs:
            manipulator.add_parameter(_parameter(tools, name, p, kind))
        options = [
            "--no-dups",
            "--quiet",
            "--database",
            "sqlite://",
            "--technique",
            self.technique,
            "--parallelism",
            "1",
        ]
        args = tools.parser.parse_args(options)
        interface = tools.Interface(args=args, manipulator=manipulator, project_name="optarena", program_name="study")
        return tools.Manager(interface, args, search_driver=tools.Driver)

    def suggest(self, n: int) -> Array:
        with self._running():
            desired, end = self._desired(n)
            if not desired:
                raise Exhausted(end)
            X = self._decode([result.configuration.data for result in desired])
        self._pending.put(X, desired)
        return X if len(X) == n else np.concatenate([X, self.space.sample(n - len(X), self.rng)])

    def _desired(self, n: int) -> tuple[list[Any], str]:
        """n results that OpenTuner desires, or fewer and why there are no more."""
        desired: list[Any] = []
        rounds = 0
        while len(desired) < n:
            if len(self._known) + len(desired) >= self._codec.size:
                return desired, f"OpenTuner has asked for all {self._codec.size:.0f} points of the space"
            self._manager.args.parallelism = n - len(desired)
            result = self._manager.get_next_desired_result()
            rounds += 1
            if result is not None:
                desired.append(result)
                rounds = 0
            elif rounds > self.chosen["bail_threshold"]:
                return desired, f"OpenTuner has found no new point in {self.chosen['bail_threshold']} rounds"
        return desired, ""

    def _decode(self, configurations: list[dict[str, Any]]) -> Array:
        return self._codec.decode([[data[name] for name in self._names] for data in configurations])

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:  # noqa: ARG002
        with self._running():
            for row, value in zip(np.ascontiguousarray(X, dtype=float), y[:, 0].tolist(), strict=True):
                desired = self._pending.take(row) or self._foreign(row)
                self._known.add(row.tobytes())
                if desired is None:
                    continue
                failed = math.isnan(value)
                result = self._tools.Result(state="ERROR" if failed else "OK", time=math.inf if failed else value)
                self._manager.report_result(desired, result)

    def _foreign(self, row: Array) -> Any:
        """The desired result of a point that was never suggested; None if the point has a result."""
        data = dict(zip(self._names, self._codec.encode(row), strict=True))
        driver = self._manager.search_driver
        configuration = driver.get_configuration(data)
        if driver.has_results(configuration):
            return None
        desired = self._tools.DesiredResult(
            configuration=configuration,
            requestor="seed",
            generation=driver.generation,
            request_date=datetime.now(),
            tuning_run=self._manager.tuning_run,
            state="RUNNING",
        )
        self._manager.session.add(desired)
        return desired

    def close(self) -> None:
        with self._running():
            self._manager.session.close()
            self._manager.Session.remove()
            self._manager.engine.dispose()


class OpenTunerBanditA(OpenTuner):
    """Differential evolution, two greedy mutations and Nelder-Mead, led by a bandit that pays for new bests.

    Good for: program tuning, integers and switches, where nothing is known; each suggestion takes some milliseconds of
    database. Why OpenTuner: its default ensemble, AUCBanditMetaTechniqueA.
    """

    technique = "AUCBanditMetaTechniqueA"


class OpenTunerGA(OpenTuner):
    """Five particle swarms, five genetic algorithms and a mutation, led by a bandit: PSO_GA_Bandit."""

    technique = "PSO_GA_Bandit"


class OpenTunerGADE(OpenTuner):
    """Three particle swarms, three genetic algorithms, differential evolution and a global GA: PSO_GA_DE."""

    technique = "PSO_GA_DE"


def _parameter(tools: Any, name: str, p: Parameter, kind: str) -> Any:
    if kind == _codec.REAL:
        return tools.Float(name, p.low, p.high)
    if kind == _codec.INT:
        return tools.Integer(name, int(p.low), int(p.high))
    if kind == _codec.INDEX:
        return tools.Integer(name, 0, len(p.values or ()) - 1)
    if kind == _codec.CATEGORY:
        return tools.Category(name, len(p.values or ()))
    return tools.Stepped(name, p) if p.type == "int" else tools.Float(name, 0.0, 1.0)


def _scalar(warp: Callable[[Array], Array], value: float) -> float:
    return float(warp(np.array([value]))[0])


@functools.cache
def _tools() -> SimpleNamespace:
    """What we need of OpenTuner, with what has to be fixed."""
    formatter = logging.Formatter
    try:
        import opentuner
        from opentuner import tuningrunmain
        from opentuner.api import TuningRunManager
        from opentuner.measurement import MeasurementInterface
        from opentuner.resultsdb.models import DesiredResult, Result
        from opentuner.search import manipulator
        from opentuner.search.driver import SearchDriver
        from opentuner.search.technique import all_techniques

        all_techniques()
    finally:
        logging.Formatter = formatter  # type: ignore[misc]
    LOG.addHandler(logging.NullHandler())  # else Python writes warnings that no one handles to stderr
    tuningrunmain.init_logging = lambda: None  # it would write opentuner.log and take over the root logger

    class Driver(SearchDriver):  # type: ignore[misc]
        def get_configuration(self, cfg: dict[str, Any]) -> Any:
            return super().get_configuration(dict(cfg))

        def register_result_callback(self, desired_result: Any, callback: Any) -> None:
            self.session.add(desired_result)
            super().register_result_callback(desired_result, callback)

    class Category(manipulator.SwitchParameter):  # type: ignore[misc]
        def opn_stochastic_mix(
            self, cfg: dict[str, Any], cfgs: list[dict[str, Any]], ratio: list[float], *_: Any, **__: Any
        ) -> None:
            (chosen,) = random.choices(cfgs, ratio)
            self.copy_value(chosen, cfg)

    class Stepped(manipulator.FloatParameter):  # type: ignore[misc]
        """An integer with a warp: the place in our unit cube, always at an integer."""

        def __init__(self, name: str, p: Parameter) -> None:
            self._forward, self._back = (functools.partial(_scalar, warp) for warp in WARPS[p.warp or "linear"])
            self._ends = p.low, p.high
            self._start, end = (self._forward(x) for x in (p.low - 0.5, p.high + 0.5))
            self._width = end - self._start
            super().__init__(name, 0.0, 1.0)

        def _to_storage_type(self, val: float) -> float:
            whole = round(self._back(self._start + val * self._width))
            inside = min(max(whole, self._ends[0]), self._ends[1])
            return (self._forward(inside) - self._start) / self._width

        def normalize(self, config: dict[str, Any]) -> None:
            self._set(config, self._get(config))

    return SimpleNamespace(
        parser=opentuner.default_argparser(),
        Manager=TuningRunManager,
        Interface=MeasurementInterface,
        Driver=Driver,
        Result=Result,
        DesiredResult=DesiredResult,
        Manipulator=manipulator.ConfigurationManipulator,
        Float=manipulator.FloatParameter,
        Integer=manipulator.IntegerParameter,
        Category=Category,
        Stepped=Stepped,
    )
