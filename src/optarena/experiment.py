"""The plan: optimizers x problems x trials and a budget, as plain data; and the studies it stands for.

    >>> experiment = Experiment(["RandomSearch"], "functions/sphere/d{2,5}", budget="10*D", trials=3)
    >>> plan = experiment.plan(root=uuid.UUID(int=1))
    >>> len(plan.studies)
    6

Ids and random streams are functions of this data and of the root alone; running lives in `runner`.
"""

from __future__ import annotations

import ast
import hashlib
import math
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
import numpy as np

from optarena import optimizer as optimizers_
from optarena import problem as problems_
from optarena import solver as solvers_
from optarena._files import parse_toml, read_text
from optarena._json import printable, strict
from optarena._plugins import class_hash, reference_of
from optarena.errors import OptarenaError, nearest
from optarena.optimizer import Optimizer, check_settings, get_optimizer, is_file, is_random_search, source_of
from optarena.problem import Problem, Subject
from optarena.solver import Solver
from optarena.space import Space

if TYPE_CHECKING:
    from optarena.store.results import Results

Named: TypeAlias = "str | Use | type[Optimizer] | type[Solver]"
"""What stands for an optimizer: a name, a file reference, a class, or any of these with settings."""
RECORD = ("all", "improvements")
MAX_STUDIES = 10_000_000
LEAST_MEMORY = 500.0


class Use(msgspec.Struct, frozen=True, omit_defaults=True, dict=True):
    """An optimizer (or solver) as an experiment uses it: a registered name or a file, settings, its name in tables."""

    use: str
    settings: dict[str, Any] = {}
    name: str = ""

    @property
    def label(self) -> str:
        return self.name or _label(_title(self.use), self.settings)

    @property
    def given(self) -> type[Optimizer] | None:
        """The class itself, where only this process has it: no part of the plain data."""
        return self.__dict__.get("given")

    @property
    def identity(self) -> str:
        """What stands in a study's id: the name without directories."""
        path = Path(self.use)
        if not is_file(self.use) and not self.use.endswith(".toml"):
            return self.use
        return f"{path.parent.name}/{path.name}" if path.name == "optimizer.py" else path.name


def _title(use: str) -> str:
    """What an optimizer is called in tables: a class by its name, a wrapper's file by its own or its folder's."""
    if use.endswith(".toml"):
        return Path(use).stem
    if not is_file(use):
        return use
    if ":" in use:
        return use.rpartition(":")[2]
    path = Path(use)
    return path.parent.name or path.stem if path.name == "optimizer.py" else path.name.removesuffix(".py")


def _label(base: str, settings: Mapping[str, Any]) -> str:
    if not settings:
        return base
    return f"{base}({', '.join(f'{key}={value}' for key, value in sorted(settings.items()))})"


def use(optimizer: str | type[Optimizer] | type[Solver], *, name: str = "", **settings: Any) -> Use:
    """An optimizer with settings: `use("QuasiRandom", sequence="halton")`, or `use(MyOptimizer)`, a class."""
    return _use(optimizer, settings, name)


def _use(optimizer: Any, settings: dict[str, Any], name: str = "") -> Use:
    """A class is used by the name or the file under which any process finds it, where it has one."""
    if isinstance(optimizer, str):
        return Use(optimizer, settings, name)
    if not (isinstance(optimizer, type) and issubclass(optimizer, (Optimizer, Solver))):
        raise OptarenaError(
            f"optimizers: expected a name, 'file.py:Class' or a subclass of optarena.Optimizer, got {optimizer!r}"
        )
    kind = optimizers_ if issubclass(optimizer, Optimizer) else solvers_
    target = f"{optimizer.__module__}:{optimizer.__qualname__}"
    known = next((entry.name for entry in kind.entries() if entry.target == target), None)
    title = optimizer.__name__
    if known is not None:
        return Use(known, settings, name)
    reference = reference_of(optimizer)
    if reference is not None:
        found = get_optimizer(reference) if issubclass(optimizer, Optimizer) else solvers_.get_solver(reference)
        if class_hash(found) != class_hash(optimizer):
            raise OptarenaError(
                f"optimizers: {title} was changed after it was loaded from {reference.rpartition(':')[0]}, and workers"
                " load the file: put the change into it, or make it a setting"
            )
        return Use(reference, settings, name)
    if issubclass(optimizer, Solver):
        raise OptarenaError(
            f"optimizers: every run of a solver is a process of its own, and only this process has {title}: put it in a"
            " file and name it 'file.py:Class'"
        )
    out = Use(f"{optimizer.__module__}.{title}", settings, name or _label(title, settings))
    out.__dict__["given"] = optimizer
    return out


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a study may spend; it ends at whichever comes first."""

    evaluations: int | None = None
    seconds: float | None = None
    target: float | None = None


class Limits(msgspec.Struct, frozen=True, omit_defaults=True):
    """Hard limits that a supervisor keeps by killing; no part of a study's identity."""

    evaluation: float | None = None
    """Seconds for one evaluation; beyond, it is recorded as timed out and the study goes on."""
    study: float | None = None
    """Seconds for a study, in this life of it; beyond, it ends as timed out."""
    memory: float | None = None
    """Megabytes for a worker; beyond, allocations fail, or the evaluation is recorded as crashed."""
    deaths: int = 3
    """How often a worker may be killed from outside at the same evaluation before that counts as its crash."""


class Study(msgspec.Struct, frozen=True, omit_defaults=True):
    """One optimizer on one problem, one trial: plain data that can be printed, hashed and sent to another machine."""

    id: str
    root: str
    problem: str
    optimizer: Use
    trial: int
    budget: Budget
    batch: int = 1
    record: str = "all"
    version: str = "1"
    seed: str = ""
    """Where a foreign rule made the id: the key of all its streams, in hexadecimal digits."""
    solver: bool = False
    """Whether a solver runs it, in one go: such a study begins anew where another goes on."""


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
        self.refused: list[Refusal] = []
        self.problems: dict[str, Subject] = {}
        self.classes: dict[str, type[Optimizer] | type[Solver]] = {}
        self.sources: dict[str, str] = {}
        self.references: dict[str, str] = {}
        """Problem id -> how another process builds it; a problem that is only an object here has none."""
        self.notices: list[str] = []
        """What the patterns would select and this machine cannot build, in words."""


class Experiment:
    """What to run. Every argument may stand in a TOML file under the same name (see `Experiment.load`).

    budget: evaluations a study, a number or an expression in the dimension such as "100*D"; None with `seconds`.
    seconds: time for suggesting, evaluating and observing, all together. target: stop when f - optimum <= target
    (with no known optimum: when f itself reaches it). record: "all", or "improvements" only. limits: hard ones, on time
    and memory (see `Limits`).
    """

    afresh = "use --new to begin afresh beside the old studies, or another --store"
    """How to go on where a store's studies cannot be gone on with."""
    reads_all = True
    """Whether all of a store is read before a run, or only what it has of the plan's problems."""

    def __init__(
        self,
        optimizers: Named | Sequence[Named | Mapping[str, Any]],
        problems: str | Subject | Sequence[str | Subject],
        budget: int | str | None = None,
        *,
        seconds: float | None = None,
        target: float | None = None,
        trials: int = 1,
        batch: int = 1,
        record: str = "all",
        limits: Mapping[str, Any] | Limits | None = None,
        seed: str | uuid.UUID | None = None,
        base: Path | None = None,
    ) -> None:
        self.optimizers = [
            _as_use(item, i) for i, item in enumerate(_as_list(optimizers, (str, Use, type), "optimizers"))
        ]
        labels = [item.label for item in self.optimizers]
        for label in labels:
            if labels.count(label) > 1:
                raise OptarenaError(f"optimizers: {label!r} is there twice; give one of them a name of its own")
        for item in self.optimizers:
            if is_random_search(item.label) and item.use != "RandomSearch":
                raise OptarenaError(
                    f"optimizers: {item.use!r} would be called {item.label!r} in tables, and what is called so is what"
                    " scores are measured against: give it another name"
                )
        self.problems = _as_list(problems, (str, Subject), "problems")
        for i, item in enumerate(self.problems):
            if not isinstance(item, (str, Subject)):
                raise OptarenaError(f"problems[{i}]: expected an id, a pattern or a Problem, got {item!r}")
        if budget is None and seconds is None:
            raise OptarenaError("budget: give evaluations (a number or an expression such as '100*D'), or seconds")
        if isinstance(budget, str) and budget.isdecimal() and len(budget) < 16:
            budget = int(budget)
        self.budget = budget
        if budget is not None:
            _parse(budget)
        self.seconds = None if seconds is None else _positive(seconds, "seconds")
        self.target = None if target is None else _finite(target, "target")
        self.trials = _count(trials, "trials")
        self.batch = _count(batch, "batch")
        if record not in RECORD:
            raise OptarenaError(
                f"record: expected {' or '.join(map(repr, RECORD))}, got {record!r}.{nearest(str(record), RECORD)}"
            )
        self.record = record
        self.limits = _as_limits(limits)
        self.seed = as_root(seed) if seed is not None else None
        self.base = base

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
        if "optimizers" in replaced:  # the flags -o and -s name all that take part
            data.pop("solvers", None)
        try:
            return cls.from_data({**data, **replaced}, base=path.resolve().parent)
        except OptarenaError as error:
            if _field_of(str(error)) in replaced:
                raise
            raise OptarenaError(f"{path}{_line_of(text, str(error))}: {error}") from error

    @classmethod
    def from_data(cls, data: Mapping[str, Any], base: Path | None = None) -> Experiment:
        """An experiment from the plain data of a TOML file or of `to_data`."""
        for key in data:
            if key not in _FIELDS:
                raise OptarenaError(f"{key}: no such field.{nearest(key, _FIELDS)} (known: {', '.join(_FIELDS)})")
        fields = dict(data)
        if "solvers" in fields:
            given = _as_list(fields.pop("solvers"), (str, Use, type), "solvers")
            for i, item in enumerate(given):
                name = _as_use(item, i, "solvers").use
                if not solvers_.is_solver(name, base):
                    known = [entry.name for entry in solvers_.entries()]
                    raise OptarenaError(
                        f"solvers[{i}]: no solver {name!r}.{nearest(name, known)} (optarena list solvers)"
                    )
            others = _as_list(fields["optimizers"], (str, Use, type), "optimizers") if "optimizers" in fields else []
            fields["optimizers"] = [*others, *given]
        for key in ("optimizers", "problems"):
            if key not in fields:
                what = "optimizers, or of solvers" if key == "optimizers" else key
                raise OptarenaError(f"{key}: missing; give a list of {what}")
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
        if self.limits != Limits():
            out["limits"] = msgspec.to_builtins(self.limits)
        return out

    def plan(self, root: uuid.UUID | None = None) -> Plan:
        """The studies under a root (else this experiment's seed, else a fresh one), trial by trial."""
        plan = Plan(self, root or self.seed or uuid.uuid4())
        for item in self.optimizers:
            source: str | None
            if item.given is not None:
                check_settings(item.given, item.label, item.settings)
                plan.classes[item.label] = item.given
                source = class_hash(item.given)
            elif solvers_.is_solver(item.use, self.base):
                solver = solvers_.get_solver(item.use, self.base)
                solvers_.check_settings(solver, item.use, item.settings)
                plan.classes[item.label] = solver
                source = solvers_.source_of(item.use, self.base)
            else:
                cls = get_optimizer(item.use, self.base)
                check_settings(cls, item.use, item.settings)
                plan.classes[item.label] = cls
                source = source_of(item.use, self.base)
            if source is not None:
                plan.sources[item.label] = source
        for given in self.problems:
            if isinstance(given, Subject):
                if not given.id or given.id != printable(given.id):
                    raise OptarenaError(f"problems: {given!r} needs an id")
                if isinstance(given, Problem) and not isinstance(getattr(given, "space", None), Space):
                    raise OptarenaError(f"problems: {given!r} has no space; set space = optarena.Space({{…}})")
                if plan.problems.get(given.id, given) is not given:
                    raise OptarenaError(
                        f"problems: two different problems are called {given.id!r}; give one another id"
                    )
                plan.problems[given.id] = given
                continue
            for id in problems_.select(given, self.base, plan.notices):
                if id in plan.references.values():
                    continue
                built = problems_.build(id, self.base)
                if built.id in plan.problems:
                    raise OptarenaError(
                        f"problems: {given!r} and another one are both called {built.id!r}; rename a file"
                    )
                plan.problems[built.id] = built
                plan.references[built.id] = id
        if len(plan.problems) * len(self.optimizers) * self.trials > MAX_STUDIES:
            raise OptarenaError(f"the experiment has more than {MAX_STUDIES:,} studies: narrow it")
        pairs = []
        for id, problem in plan.problems.items():
            for item in self.optimizers:
                reason = misfit(plan.classes[item.label], problem, self, item)
                if reason:
                    plan.refused.append(Refusal(item.label, id, reason))
                else:
                    pairs.append((problem, item))
        for trial in range(self.trials):
            plan.studies.extend(self._study(plan, problem, item, trial) for problem, item in pairs)
        seen: dict[str, Study] = {}
        for study in plan.studies[: len(pairs)]:
            other = seen.setdefault(study.id, study)
            if other is not study:
                one, two = other.optimizer.label, study.optimizer.label
                raise OptarenaError(f"optimizers: {one!r} and {two!r} are the same optimizer with the same settings")
        return plan

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

    def settle(self, plan: Plan, before: Results) -> None:
        """What a plan takes from the store: called once, while no other run can register studies there."""

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

    def run(self, store: str | Path, **options: Any) -> Results:
        """Run what the store does not have yet, and return what it has (see `optarena.runner.local.run`)."""
        from optarena.runner.local import run
        from optarena.store.results import open_store

        run(self, store, **options)
        return open_store(store)


_FIELDS = (
    "optimizers",
    "solvers",
    "problems",
    "budget",
    "seconds",
    "target",
    "trials",
    "batch",
    "record",
    "limits",
    "seed",
)


# ---- what may be paired -------------------------------------------------------------------------------------------


def misfit(cls: type[Optimizer] | type[Solver], problem: Subject, experiment: Experiment, item: Use) -> str | None:
    """Why this optimizer or solver, as it is used, cannot work on this problem in this experiment, or None."""
    if issubclass(cls, Solver):
        if experiment.target is not None:
            return "is a solver and takes no target"
        chosen = solvers_.check_settings(cls, item.use, item.settings)
        return solvers_.refusal(cls, problem, experiment.seconds, chosen)
    if not isinstance(problem, Problem):
        return "needs a search space, the problem is an instance for solvers (optarena list solvers)"
    can = cls.capabilities
    if len(problem.objectives) > 1 and not can.several_objectives:
        return f"takes one objective, the problem has {len(problem.objectives)}"
    if len(problem.objectives) == 1 and not can.one_objective:
        return "takes several objectives, the problem has one"
    if problem.constraints and not can.constraints:
        return f"takes no constraints, the problem has {problem.constraints}"
    if not problem.space.continuous and not can.mixed:
        return f"takes real parameters only, the problem has {', '.join(sorted(problem.space.types))}"
    if experiment.batch > 1 and not can.batch:
        return f"gives one point at a time, the batch is {experiment.batch}"
    if problem.instances_only and experiment.trials > 1:
        return "its noise is fixed by its instance, so trials would repeat it: take more instances instead"
    if can.uses_budget and experiment.budget is None:
        return "needs to know its budget in evaluations"
    if experiment.target is not None and len(problem.objectives) > 1:
        return "a target needs a single objective"
    try:
        check_settings(cls, item.use, item.settings, problem.dimension)
    except OptarenaError as error:
        return str(error)
    return None


# ---- identity and streams -------------------------------------------------------------------------------------------


def canonical(value: Any) -> str:
    """Equal data, equal text: sorted keys, no spaces, non-finite numbers as texts."""
    try:
        return msgspec.json.encode(strict(value), order="sorted").decode()
    except TypeError as error:
        raise OptarenaError(f"settings must be plain data (numbers, texts, lists, tables): {error}") from error


def _entropy(*parts: Any) -> int:
    return int.from_bytes(hashlib.sha256(canonical(parts).encode()).digest(), "big")


def _key(study: Study) -> tuple[Any, ...]:
    """What a study's streams depend on: a seed of its own alone, as in Bayesmark, else what all optimizers share."""
    return (study.seed,) if study.seed else (study.root, study.problem, study.version, study.trial)


def problem_rng(study: Study) -> np.random.Generator:
    """The problem's stream: every optimizer meets the same draw, unless the study has a seed of its own."""
    return np.random.default_rng(_entropy("problem", *_key(study)))


def optimizer_rng(study: Study) -> np.random.Generator:
    """The optimizer's stream: the problem's key and its own name and settings, unless the study has a seed."""
    if study.seed:
        return np.random.default_rng(int(study.seed, 16))
    own = (study.optimizer.identity, study.optimizer.settings)
    return np.random.default_rng(_entropy("optimizer", *_key(study), *own))


def noise_key(study: Study) -> int:
    """The key of the noise of a study's evaluations; with evaluation k as the counter it needs no state."""
    return _entropy("noise", *_key(study)) >> 128


def noise_rng(key: int, k: int) -> np.random.Generator:
    """The stream for evaluation k. Philox takes a position at no cost, and two positions never overlap."""
    return np.random.Generator(np.random.Philox(key=key, counter=k << 128))


def as_root(seed: str | uuid.UUID) -> uuid.UUID:
    if isinstance(seed, uuid.UUID):
        return seed
    try:
        return uuid.UUID(seed)
    except (ValueError, AttributeError, TypeError):
        raise OptarenaError(
            f"seed: {seed!r} is not a UUID (32 hexadecimal digits, as 'optarena run' prints it)"
        ) from None


# ---- budgets ------------------------------------------------------------------------------------------------------

_LARGEST = 10**12


def evaluations(budget: int | str, dimension: int) -> int:
    """A budget in evaluations: a number, or an expression of numbers, D and + - * / // ** ( )."""
    try:
        value = _compute(_parse(budget), dimension)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise OptarenaError(f"budget: {_short(budget)} has no value for D = {dimension}") from None
    if not 1 <= value <= _LARGEST:
        raise OptarenaError(
            f"budget: {_short(budget)} gives {_short(value)} evaluations for D = {dimension};"
            f" it must be from 1 to {_LARGEST:g}"
        )
    return int(value)


def _parse(budget: Any) -> ast.expr:
    """The syntax tree of a budget, every node of it one that a budget may have: nothing is executed."""
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise OptarenaError(f"budget: expected a whole number or an expression such as '100*D', got {_short(budget)}")
    if isinstance(budget, int):
        return ast.Constant(budget)
    allowed = (ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.Load)
    try:
        if len(budget) > 200:
            raise ValueError
        tree = ast.parse(budget.strip(), mode="eval").body
        for node in ast.walk(tree):
            number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            dimension = isinstance(node, ast.Name) and node.id == "D"
            if not (number or dimension or isinstance(node, allowed)):
                raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise OptarenaError(
            f"budget: {_short(budget)} is not an expression of numbers, D and + - * / // ** ( ), such as '100*D'"
        ) from None
    return tree


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a huge number"
    return text if len(text) <= 60 else text[:57] + "…"


def _compute(node: ast.expr, dimension: int) -> float:
    if isinstance(node, ast.Constant):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        return dimension
    if isinstance(node, ast.UnaryOp):
        return -_compute(node.operand, dimension)
    if isinstance(node, ast.BinOp):
        left, right = _compute(node.left, dimension), _compute(node.right, dimension)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
            case ast.FloorDiv():
                return left // right
            case ast.Pow() if abs(left) <= 1e6 and abs(right) <= 10:
                power = left**right
                if isinstance(power, complex):
                    raise ValueError
                return power
    raise ValueError


# ---- reading arguments --------------------------------------------------------------------------------------------


def _as_list(given: Any, single: tuple[type, ...], field: str) -> list[Any]:
    if isinstance(given, single):
        return [given]
    if not isinstance(given, Sequence) or isinstance(given, bytes):
        raise OptarenaError(f"{field}: expected a list, got {given!r}")
    if not given:
        raise OptarenaError(f"{field}: the list is empty")
    return list(given)


def _as_use(item: Any, index: int, where: str = "optimizers") -> Use:
    if isinstance(item, Use):
        return item
    if isinstance(item, (str, type)):
        return _use(item, {})
    field = f"{where}[{index}]"
    if not isinstance(item, Mapping):
        raise OptarenaError(f"{field}: expected a name, a class or a table {{use = …, settings = {{…}}}}, got {item!r}")
    for key in item:
        if key not in ("use", "settings", "name"):
            hint = nearest(str(key), ("use", "settings", "name"))
            raise OptarenaError(f"{field}.{key}: no such field.{hint} (known: use, settings, name)")
    if not isinstance(item.get("use"), (str, type)):
        raise OptarenaError(f"{field}.use: missing; name an optimizer or a solver (optarena list {where} shows all)")
    if not isinstance(item.get("settings", {}), Mapping):
        raise OptarenaError(f"{field}.settings: expected a table, got {item['settings']!r}")
    if not isinstance(item.get("name", ""), str):
        raise OptarenaError(f"{field}.name: expected a text, got {item['name']!r}")
    return _use(item["use"], dict(item.get("settings", {})), item.get("name", ""))


def _as_limits(given: Mapping[str, Any] | Limits | None) -> Limits:
    if isinstance(given, Limits):
        given = msgspec.to_builtins(given)
    if given is None:
        return Limits()
    if not isinstance(given, Mapping):
        raise OptarenaError(f"limits: expected a table {{evaluation = …, study = …, memory = …}}, got {given!r}")
    known = ("evaluation", "study", "memory", "deaths")
    for key in given:
        if key not in known:
            raise OptarenaError(f"limits.{key}: no such field.{nearest(str(key), known)} (known: {', '.join(known)})")
    values = {key: _positive(given[key], f"limits.{key}") for key in known[:3] if given.get(key) is not None}
    if values.get("memory", LEAST_MEMORY) < LEAST_MEMORY:
        raise OptarenaError(f"limits.memory: a worker itself needs {LEAST_MEMORY:g} MB, got {given['memory']!r}")
    return Limits(**values, deaths=_count(given.get("deaths", 3), "limits.deaths"))


def _count(value: Any, field: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise OptarenaError(f"{field}: expected a whole number of at least 1, got {value!r}")
    if value > 10**9:
        raise OptarenaError(f"{field}: expected at most a thousand million, got {_short(value)}")
    return value


def _finite(value: Any, field: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise OptarenaError(f"{field}: expected a number, got {value!r}")
    return float(value)


def _positive(value: Any, field: str) -> float:
    number = _finite(value, field)
    if number <= 0:
        raise OptarenaError(f"{field}: expected a number above 0, got {value!r}")
    return number


def _field_of(message: str) -> str:
    return message.split(":")[0].split("[")[0].split(".")[0]


def _line_of(text: str, message: str) -> str:
    """' line 7' of the field that a message begins with, where the text shows it."""
    field = _field_of(message)
    for number, line in enumerate(text.splitlines(), start=1):
        head = line.strip().strip("[]").split("=")[0].strip().strip('"').split(".")[0]
        if field and head == field:
            return f" line {number}"
    return ""
