"""The experiment and its plan: optimizers x problems x trials and a budget, as the studies they stand for."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from types import FunctionType
from typing import TYPE_CHECKING, Any

import msgspec

from optarena import optimizer as optimizers_
from optarena import problem as problems_
from optarena import solver as solvers_
from optarena._damage import damage_named
from optarena._files import parse_toml, read_text
from optarena._json import printable
from optarena._numbers import counted
from optarena._services import service
from optarena._source import class_hash
from optarena.errors import OptarenaError, nearest
from optarena.experiment.budget import Budget, evaluations, parse
from optarena.experiment.fields import (
    FIELDS,
    RACE,
    RECORD,
    Limits,
    as_limits,
    as_list,
    as_race,
    count,
    finite,
    line_of,
    positive,
)
from optarena.experiment.identity import Study, as_root, canonical
from optarena.experiment.pairing import misfit
from optarena.experiment.uses import Named, Use, apart, as_use
from optarena.optimizer import OPTIMIZERS, Optimizer, is_random_search
from optarena.problem import Problem, Subject
from optarena.solver import SOLVERS, Solver
from optarena.space import Space

if TYPE_CHECKING:
    from optarena.facade import Results

MAX_STUDIES = 10_000_000
NO_TRIALS = "a race finds out how many are needed: give max_trials instead"


class Refusal(msgspec.Struct, frozen=True):
    """A pairing that cannot work, and why."""

    optimizer: str
    problem: str
    reason: str


class Plan:
    """The studies of an experiment under one root, the pairings it refused, and what they are made of."""

    def __init__(self, experiment: Experiment, root: uuid.UUID) -> None:
        self.experiment = experiment
        self.root = root
        self.studies: list[Study] = []
        """All of them; of a race, those of its current round."""
        self.pairs: list[tuple[Subject, Use]] = []
        """What runs on what, in every trial."""
        self.refused: list[Refusal] = []
        self.problems: dict[str, Subject] = {}
        self.classes: dict[str, type[Optimizer] | type[Solver]] = {}
        self.sources: dict[str, str] = {}
        self.references: dict[str, str] = {}
        """Problem id -> how another process builds it; a problem that is only an object here has none."""
        self.notices: list[str] = []
        """What the patterns would select and this machine cannot build, in words."""

    def __repr__(self) -> str:
        made = [counted(len(self.classes), "optimizer"), counted(len(self.problems), "problem")]
        refused = f", {counted(len(self.refused), 'pairing')} refused" if self.refused else ""
        return f"<Plan: {counted(len(self.studies), 'study')} of {' on '.join(made)}{refused}; root {self.root}>"


class Experiment:
    """What to run. Every argument may stand in a TOML file under the same name (see `Experiment.load`).

    budget: evaluations a study, a number or an expression in the dimension such as "100*D"; None with `seconds`.
    seconds: time for suggesting, evaluating and observing, all together. target: stop when f - optimum <= target
    (with no known optimum: when f itself reaches it). record: "all", or "improvements" only. limits: hard ones, on time
    and memory (see `Limits`). isolated: each optimizer that needs a library gets an environment of its own
    (docs/environments.md). until_decided: a race, which adds trials until it is clear which optimizer is better,
    instead of `trials` (docs/race.md): at most max_trials of each (100) and max_evaluations of all together;
    leader_only: until the best one is known; view: whose score of a trial decides.
    """

    afresh = "use --new to start again beside the old studies, or another --store"
    """What to do where a store's studies cannot be continued."""
    reads_all = True
    """Whether all of a store is read before a run, or only what it has of the plan's problems."""
    prints: Path | None = None
    """The directory that keeps what workers' studies print, one file per study; None: it is not kept."""

    def __init__(
        self,
        optimizers: Named | Sequence[Named | Mapping[str, Any]],
        problems: str | Subject | Callable[..., Any] | Sequence[str | Subject | Callable[..., Any]],
        budget: int | str | None = None,
        *,
        seconds: float | None = None,
        target: float | None = None,
        trials: int = 1,
        batch: int = 1,
        record: str = "all",
        limits: Mapping[str, Any] | Limits | None = None,
        seed: str | int | uuid.UUID | None = None,
        isolated: bool = False,
        until_decided: bool = False,
        max_trials: int | None = None,
        max_evaluations: int | None = None,
        leader_only: bool = False,
        view: str | None = None,
        base: Path | None = None,
    ) -> None:
        self.optimizers = [
            as_use(item, i) for i, item in enumerate(as_list(optimizers, (str, Use, type), "optimizers"))
        ]
        if not isinstance(isolated, bool):
            raise OptarenaError(f"expected true or false, got {isolated!r}", field="isolated")
        if isolated:
            self.optimizers = [apart(item) for item in self.optimizers]
        labels = [item.label for item in self.optimizers]
        for label in labels:
            if labels.count(label) > 1:
                raise OptarenaError(f"{label!r} appears twice; give one of them a name of its own", field="optimizers")
        for item in self.optimizers:
            if is_random_search(item.label) and item.use != "RandomSearch":
                raise OptarenaError(
                    f"{item.use!r} would be called {item.label!r} in tables, a name that is kept for the"
                    " baseline of scores: give it another name",
                    field="optimizers",
                )
        self.problems: list[str | Subject] = []
        for i, item in enumerate(as_list(problems, (str, Subject, FunctionType), "problems")):
            if not isinstance(item, (str, Subject)) and (isinstance(item, type) or not callable(item)):
                raise OptarenaError(
                    f"expected an id, a pattern, a Problem or a function, got {item!r}", field=f"problems[{i}]"
                )
            self.problems.append(problems_.given_problem(item))
        if budget is None and seconds is None:
            raise OptarenaError(
                "give evaluations (a number or an expression such as '100*D'), or seconds", field="budget"
            )
        if isinstance(budget, str) and budget.isdecimal() and len(budget) < 16:
            budget = int(budget)
        self.budget = budget
        if budget is not None:
            parse(budget)
        self.seconds = None if seconds is None else positive(seconds, "seconds")
        self.target = None if target is None else finite(target, "target")
        race = dict(zip(RACE, (max_trials, max_evaluations, leader_only, view), strict=True))
        self.race = as_race(until_decided, race)
        self.trials = count(trials, "trials")
        if self.race is not None:
            if self.trials != 1:
                raise OptarenaError(NO_TRIALS, field="trials")
            if len(self.optimizers) < 2:
                raise OptarenaError("a race needs two optimizers or more", field="optimizers")
            self.trials = self.race.max_trials
        self.batch = count(batch, "batch")
        if record not in RECORD:
            raise OptarenaError(
                f"expected {' or '.join(map(repr, RECORD))}, got {record!r}.{nearest(str(record), RECORD)}",
                field="record",
            )
        self.record = record
        self.limits = as_limits(limits)
        self.seed = as_root(seed) if seed is not None else None
        self.base = base

    def __repr__(self) -> str:
        """As it is written in Python."""
        optimizers = [item if item.settings or item.name or item.isolated else item.use for item in self.optimizers]
        problems = [item if isinstance(item, str) else item.id for item in self.problems]
        given = {key: value for key, value in self.to_data().items() if key not in ("optimizers", "problems")}
        usual = {"trials": 1, "batch": 1, "record": "all"}
        parts = [f"{key}={value!r}" for key, value in given.items() if usual.get(key) != value]
        return f"{type(self).__name__}({', '.join([repr(optimizers), repr(problems), *parts])})"

    @classmethod
    def load(cls, path: str | Path, **replaced: Any) -> Experiment:
        """An experiment from a TOML file, some of its fields replaced; files that it names are looked up beside it."""
        path = Path(path)
        text = read_text(path)
        data = parse_toml(text, path)
        if isinstance(data.get("problem"), dict) and "command" in data["problem"]:
            raise OptarenaError(f"{path} describes a problem, not an experiment: optarena run -p {path} -o … -n …")
        if isinstance(data.get("solver"), dict) and "command" in data["solver"]:
            raise OptarenaError(
                f"{path} describes a solver, not an experiment: optarena run -s {path} -p … --seconds …"
            )
        if isinstance(data.get("optimizer"), dict) and "command" in data["optimizer"]:
            raise OptarenaError(f"{path} describes an optimizer, not an experiment: optarena run -o {path} -p … -n …")
        if "optimizers" in replaced:  # the flags -o and -s name all that take part
            data.pop("solvers", None)
        try:
            with damage_named("its fields", "those of an experiment"):
                return cls.from_data({**data, **replaced}, base=path.resolve().parent)
        except OptarenaError as error:
            if error.top_field in replaced:
                raise
            line = line_of(error.top_field, text)
            raise error.within(str(path) if line is None else f"{path} line {line}") from error

    @classmethod
    def from_data(cls, data: Mapping[str, Any], base: Path | None = None) -> Experiment:
        """An experiment from the plain data of a TOML file or of `to_data`."""
        for key in data:
            if key not in FIELDS:
                raise OptarenaError(f"no such field.{nearest(key, FIELDS)} (known: {', '.join(FIELDS)})", field=key)
        fields = dict(data)
        if "solvers" in fields:
            given = as_list(fields.pop("solvers"), (str, Use, type), "solvers")
            for i, item in enumerate(given):
                name = as_use(item, i, "solvers").use
                if not solvers_.is_solver(name, base):
                    raise OptarenaError(
                        f"no solver {name!r}.{nearest(name, SOLVERS.names())} (optarena list solvers)",
                        field=f"solvers[{i}]",
                    )
            others = as_list(fields["optimizers"], (str, Use, type), "optimizers") if "optimizers" in fields else []
            fields["optimizers"] = [*others, *given]
        if fields.get("until_decided") is True and "trials" in fields:  # also where it is the 1 that is meant anyway
            raise OptarenaError(NO_TRIALS, field="trials")
        for key in ("optimizers", "problems"):
            if key not in fields:
                what = "optimizers, or of solvers" if key == "optimizers" else key
                raise OptarenaError(f"missing; give a list of {what}", field=key)
        return cls(**fields, base=base)

    def to_data(self) -> dict[str, Any]:
        """The plain data again; a Problem object is its id."""
        out: dict[str, Any] = {
            "optimizers": [msgspec.to_builtins(item) for item in self.optimizers],
            "problems": [item if isinstance(item, str) else item.id for item in self.problems],
            "trials": self.trials,
            "batch": self.batch,
            "record": self.record,
        }
        for key in ("budget", "seconds", "target"):
            if getattr(self, key) is not None:
                out[key] = getattr(self, key)
        if self.race is not None:
            del out["trials"]
            limits = msgspec.to_builtins(self.race)
            out |= {"until_decided": True} | {key: limits[key] for key in RACE if limits[key] not in (None, False)}
        if self.limits != Limits():
            out["limits"] = msgspec.to_builtins(self.limits)
        return out

    def plan(self, root: uuid.UUID | None = None) -> Plan:
        """The studies under a root (else this experiment's seed, else a fresh one), trial by trial."""
        plan = Plan(self, root or self.seed or uuid.uuid4())
        self._find_classes(plan)
        self._find_problems(plan)
        if len(plan.problems) * len(self.optimizers) * self.trials > MAX_STUDIES:
            field = {} if self.race is None else {"field": "max_trials"}
            raise OptarenaError(f"the experiment has more than {MAX_STUDIES:,} studies: narrow it", **field)
        for id, problem in plan.problems.items():
            for item in self.optimizers:
                reason = misfit(plan.classes[item.label], problem, self, item)
                if reason:
                    plan.refused.append(Refusal(item.label, id, reason))
                else:
                    plan.pairs.append((problem, item))
        if self.race is not None:
            self._keep_common(plan)
        for trial in range(self.trials if self.race is None else 1):
            plan.studies.extend(self.of_trial(plan, trial))
        seen: dict[str, Study] = {}
        for study in plan.studies[: len(plan.pairs)]:
            other = seen.setdefault(study.id, study)
            if other is not study:
                one, two = other.optimizer.label, study.optimizer.label
                raise OptarenaError(
                    f"{one!r} and {two!r} are the same optimizer with the same settings", field="optimizers"
                )
        return plan

    def of_trial(self, plan: Plan, trial: int, labels: Collection[str] | None = None) -> list[Study]:
        """The studies of a trial, of all optimizers or of some."""
        return [
            self._study(plan, problem, item, trial)
            for problem, item in plan.pairs
            if labels is None or item.label in labels
        ]

    def _keep_common(self, plan: Plan) -> None:
        """A race is run on the problems that all its optimizers can take: only there can they be compared."""
        unfit = {refusal.problem for refusal in plan.refused}
        plan.pairs = [(problem, item) for problem, item in plan.pairs if problem.id not in unfit]
        if unfit and plan.pairs:
            some = ", ".join(sorted(unfit)[:2]) + (", …" if len(unfit) > 2 else "")
            what = counted(len(unfit), "problem")
            plan.notices.append(
                f"left out, since not all optimizers can take {'it' if len(unfit) == 1 else 'them'}: {what} ({some})"
            )

    def _find_classes(self, plan: Plan) -> None:
        """Load the optimizers and solvers, check their settings, and note what their files held."""
        for item in self.optimizers:
            source: str | None
            if item.given is not None:
                optimizers_.check_settings(item.given, item.label, item.settings)
                plan.classes[item.label] = item.given.as_used(item.settings)
                source = class_hash(item.given)
            elif item.isolated:
                plan.classes[item.label] = service("isolated optimizer")(item.use, item.settings)
                source = None
            elif solvers_.is_solver(item.use, self.base):
                solver = solvers_.get_solver(item.use, self.base)
                solvers_.check_settings(solver, item.use, item.settings)
                plan.classes[item.label] = solver
                source = SOLVERS.source(item.use, self.base)
            else:
                cls = optimizers_.get_optimizer(item.use, self.base)
                optimizers_.check_settings(cls, item.use, item.settings)
                plan.classes[item.label] = cls.as_used(item.settings)
                source = OPTIMIZERS.source(item.use, self.base)
            if source is not None:
                plan.sources[item.label] = source

    def _find_problems(self, plan: Plan) -> None:
        """Select and build the problems; two of one name are refused."""
        selected: set[str] = set()
        for given in self.problems:
            if isinstance(given, Subject):
                if not given.id or given.id != printable(given.id):
                    raise OptarenaError(f"{given!r} needs an id", field="problems")
                if isinstance(given, Problem) and not isinstance(getattr(given, "space", None), Space):
                    raise OptarenaError(f"{given!r} has no space; set space = optarena.Space({{…}})", field="problems")
                if plan.problems.get(given.id, given) is not given:
                    raise OptarenaError(
                        f"two different problems are called {given.id!r}; give one another id", field="problems"
                    )
                plan.problems[given.id] = given
                continue
            for id in problems_.select(given, self.base, plan.notices):
                if id in selected:
                    continue
                selected.add(id)
                built = problems_.build(id, self.base)
                if built.id in plan.problems:
                    raise OptarenaError(
                        f"{given!r} and another one are both called {built.id!r}; rename a file", field="problems"
                    )
                plan.problems[built.id] = built
                plan.references[built.id] = id

    def _study(self, plan: Plan, problem: Subject, item: Use, trial: int) -> Study:
        limit = None if self.budget is None else evaluations(self.budget, problem.dimension)
        cls = plan.classes[item.label]
        if issubclass(cls, Solver):
            return self._run(plan, problem, item, trial)
        identity: list[Any] = [problem.id, problem.version, item.identity, item.settings, self.batch, trial]
        if cls.capabilities.uses_budget:
            identity.append([limit, self.seconds])
        return Study(
            id=str(uuid.uuid5(plan.root, canonical(identity))),
            root=str(plan.root),
            problem=problem.id,
            optimizer=item,
            trial=trial,
            budget=Budget(limit, self.seconds, self.target),
            batch=self.batch,
            # baselines pool every value of random search, so it is always kept in full
            record="all" if item.use == "RandomSearch" else self.record,
            version=problem.version,
        )

    def run(self, store: str | Path, **options: Any) -> Results:
        """Run what the store does not have yet, and return what it has, as results (`optarena.facade.run`)."""
        results: Results = service("run of an experiment")(self, store, **options)
        return results

    def settle(self, plan: Plan, before: Any) -> None:
        """What a plan takes from the dataset of its store: called once, while no other run can register studies."""

    def _run(self, plan: Plan, problem: Subject, item: Use, trial: int) -> Study:
        """A solver's study: its budget is in seconds, and no part of what it is."""
        identity = [problem.id, problem.version, item.identity, item.settings, trial]
        return Study(
            id=str(uuid.uuid5(plan.root, canonical(["solver", *identity]))),
            root=str(plan.root),
            problem=problem.id,
            optimizer=item,
            trial=trial,
            budget=Budget(seconds=self.seconds),
            record=self.record,
            version=problem.version,
            solver=True,
        )
