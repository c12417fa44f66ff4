"""Experiments as Bayesmark launches them, with its ids and seeds: models x data x metrics x optimizers x trials."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

import msgspec
import polars as pl

from optarena._bayesmark_names import bayesmark_name
from optarena.bayesmark.database import STORE
from optarena.bayesmark.wrappers import Wrapper, called, cleaned, wrappers_in
from optarena.dataset import Dataset
from optarena.errors import NotInstalled, OptarenaError, nearest
from optarena.experiment import Experiment, Plan, Study, Use
from optarena.experiment.uses import as_use
from optarena.optimizer import OPTIMIZERS as ALL_OPTIMIZERS
from optarena.optimizer import get_optimizer
from optarena.problem import Subject, get_suite
from optarena.problems.sklearn import DATA, FILE_KINDS, METRICS, MODELS, has_classes
from optarena.store import Store

ALL_METRICS = tuple(sorted({name for names in METRICS.values() for name in names}))
OPTIMIZERS = (
    *("HyperOpt", "Nevergrad-OnePlusOne", "OpenTuner-BanditA", "OpenTuner-GA", "OpenTuner-GA-DE"),
    *("PySOT", "RandomSearch", "Scikit-GBRT-Hedge", "Scikit-GP-Hedge", "Scikit-GP-LCB"),
)
"""The optimizers that a launch takes where it names none."""


class Command(NamedTuple):
    """One study, as `bayesmark exp` is told of it."""

    trial: int
    model: str
    data: str
    optimizer: str
    metric: str
    uuid: str


def study_uuid(
    root: uuid.UUID, trial: int, trials: int, model: str, data: str, optimizer: str, metric: str
) -> uuid.UUID:
    """Bayesmark's id: the repetition has as many digits as the greatest needs."""
    digits = len(str(trials - 1))
    return uuid.uuid5(root, "_".join([f"{trial:0{digits}}", model, data, optimizer, metric]))


class Launch(Experiment):
    """An experiment with Bayesmark's ids. `-n` counts batches: calls x suggestions evaluations a study."""

    afresh = "launch under another --uuid, or into another --dbid"

    def __init__(
        self,
        root: uuid.UUID,
        *,
        models: Sequence[str] | None = None,
        data: Sequence[str] | None = None,
        metrics: Sequence[str] | None = None,
        optimizers: Sequence[str] | None = None,
        calls: int = 100,
        suggestions: int = 1,
        repeat: int = 20,
        timeout: float | None = None,
        data_root: Path | None = None,
        optimizer_root: Path | None = None,
    ) -> None:
        self.notices: list[str] = []
        self.calls, self.timeout, self.optimizer_root = calls, timeout, optimizer_root
        self.models = _chosen(models, MODELS, "classifier")
        self.data_root = data_root
        self.data = _chosen(data or self._all_data(), DATA, "data set", own=FILE_KINDS)
        wanted = _chosen(metrics, ALL_METRICS, "metric")
        self.metrics = {name: [m for m in METRICS[has_classes(name)] if m in wanted] for name in self.data}
        for name, left in self.metrics.items():
            if not left:
                kinds = METRICS[has_classes(name)]
                raise OptarenaError(f"{name} needs one of the metrics {', '.join(kinds)}; given: {', '.join(wanted)}")
        self.elsewhere: frozenset[str] = frozenset()
        """Ids of studies that were made by others and are not made again."""
        self.unloadable: dict[str, str] = {}
        """Wrappers that cannot be loaded, and why: the others are launched without them."""
        uses = self._uses(optimizers, optimizer_root)
        super().__init__(
            uses,
            [self.problem_id(m, d, metric) for m, d in product(self.models, self.data) for metric in self.metrics[d]],
            calls * suggestions,
            trials=repeat,
            batch=suggestions,
            limits={"study": timeout} if timeout else None,
            seed=root,
        )

    def _all_data(self) -> tuple[str, ...]:
        """The built-in data sets and the user's own; what cannot be taken is left out, with a notice."""
        suite = get_suite("sklearn")
        if suite.missing("sklearn/DT_iris_acc") is not None:
            raise NotInstalled("the problems of Bayesmark need", "problems")
        missing = {name: suite.missing(f"sklearn/DT_{name}_{METRICS[has_classes(name)][0]}") for name in DATA}
        for name, package in missing.items():
            if package is not None:
                self.notices.append(f"left out: {name}, which needs {package} (pip install 'optarena[problems]')")
        own = []
        for file in sorted(self.data_root.glob("*.csv")) if self.data_root is not None else ():
            if file.name.startswith(FILE_KINDS):
                if "_" in file.stem:
                    self.notices.append(f"left out: {file.name}, whose name has an underscore")
                else:
                    own.append(file.stem)
        return (*(name for name in DATA if missing[name] is None), *own)

    def problem_id(self, model: str, data: str, metric: str) -> str:
        """Where the problem is found here."""
        if data in DATA:
            return f"sklearn/{model}_{data}_{metric}"
        if self.data_root is None:
            raise OptarenaError(f"{data}: give the folder of {data}.csv with --data-root")
        return f"{self.data_root.resolve() / data}.csv:{model}_{metric}"

    def _uses(self, names: Sequence[str] | None, root: Path | None) -> list[Use]:
        registered = {entry.name: entry for entry in ALL_OPTIMIZERS.entries()}
        folder = (root or Path.cwd()).resolve()
        own: dict[str, Wrapper] = {}
        if root is not None or any(name not in registered for name in names or ()):
            own = wrappers_in(folder)
        both = [name for name in own if name in ALL_OPTIMIZERS.built_in]
        if both:
            raise OptarenaError(f"{folder}: {both[0]!r} is the name of an optimizer that is built in; rename it")
        if names is None:
            there = [name for name in OPTIMIZERS if name in registered and registered[name].installed]
            names = [*own, *there]
            if len(there) < len(OPTIMIZERS):
                left = ", ".join(name for name in OPTIMIZERS if name not in there)
                self.notices.append(f"left out, since they are not installed: {left}")
        out: dict[str, Use] = {}
        for name in names:
            wrapper = called(name, own)
            if wrapper is not None:
                label = cleaned(wrapper.name)
                use = Use(f"{folder}:{wrapper.name}", name=label)
                if label != name:
                    self.notices.append(f"{name} is called {label}: Bayesmark puts names together by underscores")
                if out.setdefault(label, use) != use:
                    raise OptarenaError(f"{folder}: two optimizers would be called {label!r}; rename one")
                try:
                    get_optimizer(use.use)
                except OptarenaError as error:
                    self.unloadable[label] = str(error)
                    del out[label]
            elif name.startswith("RandomSearch("):  # with a setting it is the baseline, too
                asked = as_use(name, 0)
                out[asked.use] = Use(asked.use, asked.settings, asked.use)
            elif name in registered:
                get_optimizer(name)
                out[name] = Use(name)
            else:
                known = [*own, *registered]
                raise OptarenaError(
                    f"no optimizer named {name!r}.{nearest(name, known)} (optarena list optimizers; wrappers are looked"
                    f" for in {folder}: -odir names another directory)"
                )
        if not out and self.unloadable:
            raise OptarenaError(next(iter(self.unloadable.values())))
        self.notices += [f"left out: {name}: {why}" for name, why in self.unloadable.items()]
        return [out[label] for label in sorted(out)]

    def plan(self, root: uuid.UUID | None = None) -> Plan:
        """The studies, but for those that others made."""
        plan = super().plan(root)
        plan.studies = [study for study in plan.studies if study.id not in self.elsewhere]
        return plan

    def commands(self) -> Iterator[Command]:
        """The studies in the order in which Bayesmark would run them; a pairing that cannot work has none."""
        assert self.seed is not None
        refused = {(refusal.optimizer, bayesmark_name(refusal.problem)) for refusal in self.plan().refused}
        for trial, model, data, use in product(range(self.trials), self.models, self.data, self.optimizers):
            for metric in self.metrics[data]:
                if (use.label, f"{model}_{data}_{metric}") in refused:
                    continue
                id = study_uuid(self.seed, trial, self.trials, model, data, use.label, metric)
                yield Command(trial, model, data, use.label, metric, id.hex)

    def _study(self, plan: Plan, problem: Subject, item: Use, trial: int) -> Study:
        model, data, metric = bayesmark_name(problem.id).split("_")
        id = study_uuid(plan.root, trial, self.trials, model, data, item.label, metric)
        return _with_id(super()._study(plan, problem, item, trial), id)


class One(Launch):
    """A single study under an id that is told, which gives its seeds. Its trial is only its number in the tables."""

    reads_all = False  # beside thousands of studies, others are not worth the time

    def __init__(self, id: uuid.UUID, **flags: object) -> None:
        super().__init__(id, repeat=1, **flags)  # type: ignore[arg-type]

    def settle(self, plan: Plan, before: Dataset) -> None:
        """Give the study the number that it has, or the next that no study of its pairing has; nobody else is at it."""
        (study,) = plan.studies
        known = before.studies.select("study", "optimizer", "problem", "trial", "batch")
        mine = known.filter(pl.col("study") == study.id)
        if mine.height:
            trial, batch = mine["trial"][0], mine["batch"][0]
            if batch not in (None, study.batch):
                raise OptarenaError(f"study {plan.root.hex} of {before.path} was run with -p {batch}")
        else:
            label = study.optimizer.label
            same = known.filter(pl.col("optimizer") == label, pl.col("problem") == study.problem)["trial"].to_list()
            trial = next(number for number in range(len(same) + 1) if number not in same)
        plan.studies = [msgspec.structs.replace(study, trial=trial)]

    def _study(self, plan: Plan, problem: Subject, item: Use, trial: int) -> Study:
        return _with_id(Experiment._study(self, plan, problem, item, trial), plan.root)


def _with_id(study: Study, id: uuid.UUID) -> Study:
    return msgspec.structs.replace(study, id=str(id), seed=id.hex)


def _chosen(given: Sequence[str] | None, known: Sequence[str], what: str, own: tuple[str, ...] = ()) -> list[str]:
    """What was asked for, sorted as Bayesmark sorts it, or all."""
    for name in given or ():
        if name not in known and not (own and name.startswith(own)):
            raise OptarenaError(f"no {what} named {name!r}.{nearest(name, known)} (there are {', '.join(known)})")
        if "_" in name or "/" in name:
            raise OptarenaError(f"{what} {name!r}: a name has no underscore and no slash")
    return sorted(set(known if given is None else given))


def killed_launch(path: Path, make: Callable[[uuid.UUID], Launch]) -> Launch | None:
    """The launch of a database that did not end and has just the studies of this one, whose root was not given.

    make: the launch under a root.
    """
    store = Store(path / STORE)
    last = {run.root: run for run in sorted(store.runs(), key=lambda run: (run.number, run.time))}
    for root, run in reversed(last.items()):
        if run.how != "done" and not store.is_live(run):
            launch = make(uuid.UUID(root))
            if {uuid.UUID(study.id).hex for study in run.studies} == {command.uuid for command in launch.commands()}:
                return launch
    return None


def refuse_other_batches(launch: Launch, path: Path) -> None:
    """The same ids with another number of suggestions would be other studies under their names."""
    if not Store(path / STORE).exists:
        return
    sizes = {row[0]: row[1] for row in Dataset.of_store(path / STORE).studies.select("study", "batch").iter_rows()}
    for command in launch.commands():
        size = sizes.get(str(uuid.UUID(command.uuid)))
        if size is not None and size != launch.batch:
            raise OptarenaError(
                f"{path}: this --uuid was launched with -p {size}; with -p {launch.batch} it needs another --uuid"
            )
