"""Problems, what is known of them, and the suites that hold them. Running them lives in `runner`.

>>> from optarena import as_problem
>>> @as_problem({"x": {"type": "real", "space": "linear", "range": [-5, 5]}}, optimum=0.0)
... def parabola(x):
...     return x["x"] ** 2
>>> parabola.evaluate({"x": 2.0})
4.0
"""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import msgspec
import numpy as np

from optarena import _patterns
from optarena._known_fronts import known_front
from optarena._numbers import counted
from optarena._source import code_hash, same_code
from optarena.costs import as_costs
from optarena.errors import SUGGESTED, OptarenaError, describe, nearest
from optarena.registry import Entry, Reference, Registry, in_a_file
from optarena.sense import Sense, sign
from optarena.space import Array, Point, Space


class Objective(msgspec.Struct, frozen=True):
    """A name and a sense. Values are kept in this sense; optimizers always see the minimised form."""

    name: str = "value"
    sense: Sense = "min"

    @property
    def sign(self) -> float:
        """What its values are multiplied by to be minimised."""
        return sign(self.sense)


class Known(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is known beforehand, in the objectives' own senses; None where it is not."""

    optimum: tuple[float, ...] | None = None
    best_known: tuple[float, ...] | None = None
    front: tuple[tuple[float, ...], ...] | None = None
    ideal: tuple[float, ...] | None = None
    nadir: tuple[float, ...] | None = None
    hypervolume: float | None = None
    """Of the best known front, scaled so that the ideal is (0, …) and the nadir, the reference point, (1, …)."""

    def __post_init__(self) -> None:
        for name in ("optimum", "best_known", "ideal", "nadir", "front", "hypervolume"):
            if getattr(self, name) is not None and not np.isfinite(np.array(getattr(self, name), dtype=float)).all():
                raise OptarenaError(f"known {name}: what is known must be finite, got {getattr(self, name)}")


class Evaluation(msgspec.Struct):
    """What one evaluation gave: objectives the optimizer may see, violations (<= 0 is feasible), hidden metrics."""

    values: Sequence[float]
    violations: Sequence[float] = ()
    metrics: Mapping[str, float] = {}
    costs: Mapping[str, float] = {}
    """What it spent beside time: `tokens`, `money`, `joules` (docs/scores.md 0.7)."""


class Subject:
    """What a study is about: a `Problem`, whose points are evaluated, or an `Instance`, which a solver takes whole.

    A subclass sets the attributes; stores keep them on a card, so that scoring needs nothing else of it.
    """

    id: str = ""
    version: str = "1"
    objectives: tuple[Objective, ...] = (Objective(),)
    known: Known = Known()
    suite: str = ""
    function: str = ""
    instance: int | None = None
    packages: tuple[str, ...] = ()
    source: Path | None = None

    @property
    def dimension(self) -> int:
        """How large it is."""
        raise NotImplementedError(f"{type(self).__name__} does not say its dimension")

    def signature(self) -> Sequence[float]:
        """Values at a few fixed points, where other packages decide what they are; kept in the card, and compared.

        Asked for where studies run, never where problems are only listed or planned; it may cost a few evaluations.
        """
        return ()

    def code(self) -> str | None:
        """A hash of its code where no file holds it (`source`), for the card: other code does not continue studies."""
        return None

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"


class Problem(Subject):
    """The contract. A subclass sets the attributes below and defines `evaluate`, or `evaluate_matrix` too.

    `evaluate(x)` takes a dict and returns an Evaluation, a number, or a sequence with one number per objective.
    An array-native problem (`array_native = True`, no constraints, no hidden metrics) also takes the matrix
    form of a batch in `evaluate_matrix(X)` and returns an (n,) or (n, m) array; it must give the same values.
    A `noisy` problem takes a random generator as a second argument of `evaluate`: it is keyed by the root, the
    problem, the trial and the number of the evaluation, so noise needs no state.
    """

    space: Space
    constraints: int = 0
    metrics: tuple[str, ...] = ()
    stateless: bool = True
    array_native: bool = False
    noisy: bool = False
    instances_only: bool = False
    """Whether its noise is fixed by the instance: another trial would meet the same, so instances are repetitions."""
    own_process: bool = False
    evaluation: int = 1
    """The number of the evaluation that comes next in its study; the loop sets it, `evaluate` may read it."""

    @property
    def dimension(self) -> int:
        """The number of parameters."""
        return self.space.dimension

    def __repr__(self) -> str:
        aims = ", ".join(f"{one.sense}imise {one.name}" for one in self.objectives)
        size = counted(self.dimension, "parameter") if hasattr(self, "space") else "no space"
        return f"<{type(self).__name__} {self.id}: {size}, {aims}>"

    @property
    def takes_matrix(self) -> bool:
        """Whether a batch may go to `evaluate_matrix`, which has no place for constraints, metrics or noise."""
        return self.array_native and not (self.constraints or self.metrics or self.noisy)

    def evaluate(self, x: Point) -> Any:
        """The value of a point: an Evaluation, a number, or one number per objective, in the objectives' own senses.

        What it raises makes this evaluation a failed one; the study goes on.
        """
        if not self.array_native:
            raise NotImplementedError(f"{type(self).__name__} does not define evaluate(x)")
        return self.evaluate_matrix(self.space.to_matrix([x]))[0]

    def evaluate_matrix(self, X: Array) -> Array:
        """The values of a batch, (n,) or (n, objectives); X: (n, parameters), the matrix form of the space."""
        raise NotImplementedError(f"{type(self).__name__} does not define evaluate_matrix(X)")

    def reset(self, rng: np.random.Generator) -> None:
        """Called before a study; the stream depends on root, problem and trial: all optimizers meet the same draw."""

    def close(self) -> None:
        """Called once after a study."""


class FunctionProblem(Problem):
    """A Python function with a space, callable like the function itself; `as_problem` says what the facts mean."""

    def __init__(
        self,
        function: Callable[..., Any],
        space: Mapping[str, Any] | Space,
        *,
        id: str | None = None,
        sense: str | Sequence[str] = "min",
        objectives: Sequence[str] | None = None,
        optimum: float | Sequence[float] | None = None,
        front: Sequence[Sequence[float]] | None = None,
        ideal: Sequence[float] | None = None,
        nadir: Sequence[float] | None = None,
        constraints: int = 0,
        metrics: Sequence[str] = (),
        noisy: bool = False,
        stateless: bool = True,
        own_process: bool = False,
        version: str = "1",
    ) -> None:
        self.call = function
        self.space = Space(space)
        self.named = id is not None
        """Whether it was given an id of its own."""
        self.id = self.function = id or getattr(function, "__name__", type(function).__name__).strip("<>")
        for name, given in (("noisy", noisy), ("stateless", stateless), ("own_process", own_process)):
            if not isinstance(given, bool):
                raise OptarenaError(f"problem {self.id}: {name} must be true or false, got {given!r}")
        for name, texts in (("objectives", objectives or ()), ("metrics", metrics)):
            listed = isinstance(texts, Sequence) and not isinstance(texts, str)
            if not listed or not all(isinstance(text, str) and text for text in texts):
                raise OptarenaError(f"problem {self.id}: {name} must be a list of names, got {texts!r}")
        if not isinstance(sense, (str, Sequence)):
            raise OptarenaError(f"problem {self.id}: sense must be 'min', 'max' or a list of them, got {sense!r}")
        senses = [sense] if isinstance(sense, str) else list(sense)
        names = objectives or (["value"] if len(senses) == 1 else [str(i + 1) for i in range(len(senses))])
        for each in senses:
            if each not in ("min", "max"):
                raise OptarenaError(f"problem {self.id}: sense must be 'min' or 'max', got {each!r}")
        if len(names) != len(senses) or len(set(names)) < len(names) or not names:
            raise OptarenaError(f"problem {self.id}: each objective needs a sense, and a name of its own")
        self.objectives = tuple(Objective(name, cast(Sense, each)) for name, each in zip(names, senses, strict=True))
        try:
            known = known_front([one.sign for one in self.objectives], front, ideal, nadir)
        except OptarenaError as error:
            raise OptarenaError(f"problem {self.id}: {error}") from None
        self.known = Known(optimum=None if optimum is None else self._as_optimum(optimum), **known)
        if isinstance(constraints, bool) or not isinstance(constraints, int) or constraints < 0:
            raise OptarenaError(f"problem {self.id}: constraints must say how many there are, got {constraints!r}")
        self.constraints, self.metrics = constraints, tuple(metrics)
        self.noisy, self.stateless, self.own_process, self.version = noisy, stateless, own_process, str(version)

    def _as_optimum(self, given: Any) -> tuple[float, ...]:
        values = list(given) if isinstance(given, (list, tuple, np.ndarray)) and np.ndim(given) else [given]
        if any(isinstance(v, (bool, np.bool_)) or not isinstance(v, (int, float, np.number)) for v in values):
            raise OptarenaError(f"problem {self.id}: optimum must be a number (a list of them), got {given!r}")
        if len(values) != len(self.objectives):
            raise OptarenaError(f"problem {self.id}: optimum needs a number for each objective, got {given!r}")
        return tuple(map(float, values))

    def evaluate(self, *args: Any) -> Any:
        return self.call(*args)

    __call__ = evaluate

    def code(self) -> str | None:
        return code_hash(self.call)


class PlainFunction(FunctionProblem):
    """A function that says nothing of a space, with a space that stands beside it.

    It takes a dict of parameters, as all problems do, or each parameter by its name: `def loss(rate, depth)`.
    """

    def __init__(self, function: Callable[..., Any], space: Mapping[str, Any] | Space, **facts: Any) -> None:
        super().__init__(function, space, **facts)
        self._by_name = _takes(function, **dict.fromkeys(self.space.names))
        if not self._by_name and not _takes(function, {}):
            name = getattr(function, "__name__", "function")
            raise OptarenaError(
                f"{name}{inspect.signature(function)} does not take the parameters of its space"
                f" ({', '.join(self.space.names)}): give both the same names, or let it take one dict"
            )

    def evaluate(self, x: Point) -> Any:
        return self.call(**x) if self._by_name else self.call(x)

    __call__ = evaluate


def _takes(function: Callable[..., Any], *values: Any, **named: Any) -> bool:
    """Whether it can be called so; of what has no signature (some of C), only that it takes one dict."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return not named
    try:
        signature.bind(*values, **named)
    except TypeError:
        return False
    return True


def plain_function(function: Callable[..., Any], space: Mapping[str, Any] | Space | None = None) -> FunctionProblem:
    """A problem of a plain function: with this space, or with what is called `space` and perhaps `sense` beside it.

    Both may be attributes of the function or variables of its module (of its notebook).
    """
    around = getattr(function, "__globals__", {})
    name = getattr(function, "__name__", type(function).__name__)
    if space is None:
        space = getattr(function, "space", around.get("space"))
        if not isinstance(space, (Mapping, Space)):
            raise OptarenaError(
                f"{name}() has no search space: write space = {{'x': {{'type': 'real', 'space': 'linear', 'range':"
                " [0, 1]}} beside it, or decorate it with @optarena.as_problem(space)"
            )
    sense = getattr(function, "sense", around.get("sense", "min"))
    return PlainFunction(function, space, sense=sense if isinstance(sense, (str, list, tuple)) else "min")


def given_problem(given: Any) -> str | Subject:
    """What an experiment takes for a problem: a text and a problem as they are, a plain function as a problem.

    What was imported from a file is the reference to it, `/path/mine.py:loss`: the same problem by both ways, which
    any process can load.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, Subject) and callable(given) and not isinstance(given, type):
        owner, given = given, plain_function(given)
    else:
        owner = given
    if not isinstance(given, FunctionProblem) or given.named:
        return cast(Subject, given)
    module, name = (getattr(given.call, key, "") for key in ("__module__", "__name__"))
    reference = Reference.of_object(owner, module, name)
    if reference is None:
        return given
    if module == "__main__":  # to load it would run the script again: it stays in this process
        given.id, given.source = reference.short, reference.path
        return given
    found = build(reference.text)
    facts = ("objectives", "constraints", "metrics", "noisy", "stateless", "known", "version", "own_process")
    changed = [fact for fact in facts if getattr(found, fact) != getattr(given, fact)]
    same = isinstance(found, FunctionProblem) and found.space.config == given.space.config
    if changed or not same or not same_code(cast(FunctionProblem, found).call, given.call):
        raise OptarenaError(
            f"{name} was changed after it was loaded from {reference.path.name}, and workers load the file: put the"
            " change into it, or give the problem an id of its own"
        )
    return reference.text


def as_problem(space: Mapping[str, Any] | Space, **facts: Any) -> Callable[[Callable[..., Any]], FunctionProblem]:
    """Make a problem of a function that takes a dict of parameters and returns a number, a list or an Evaluation.

    Facts: `id`; `sense` ('min', 'max', or a list of them: one an objective) and `objectives` (their names);
    `optimum`, where it is known; of several objectives `front` (a list of points, none of which dominates another),
    `ideal` and `nadir`, where they are known: fronts are measured against them; `constraints` (how many violations the
    returned Evaluation carries); `metrics` (the names of the hidden ones it carries); `noisy` (the function takes a
    random generator as second argument); `stateless=False` (a value depends on what was evaluated before);
    `own_process`; `version` (change it with code).
    """
    return lambda function: FunctionProblem(function, space, **facts)


def as_evaluation(result: Any, problem: Problem) -> Evaluation:
    """What `evaluate` returned, in one form and plain floats; TypeError or ValueError says what is wrong with it."""
    if type(result) is float and len(problem.objectives) == 1 and not problem.constraints and not problem.metrics:
        return Evaluation([result])
    if isinstance(result, Evaluation):
        given = result
        if not isinstance(given.values, (list, tuple, np.ndarray)):
            raise TypeError(f"the values of an Evaluation must be a list, got {str(given.values)[:60]!r}")
        if not isinstance(given.metrics, Mapping):
            raise TypeError(f"the metrics of an Evaluation must be a dict, got {str(given.metrics)[:60]!r}")
    elif isinstance(result, (list, tuple)) or (isinstance(result, np.ndarray) and result.ndim == 1):
        given = Evaluation(list(result))
    else:
        given = Evaluation([result])
    values = [_as_float(value) for value in given.values]
    violations = [_as_float(value) for value in given.violations]
    metrics = {name: _as_float(value) for name, value in given.metrics.items()}
    wanted = len(problem.objectives)
    if len(values) != wanted:
        more = ": declare them by @optarena.as_problem(space, sense=[…])" if wanted == 1 and len(values) > 1 else ""
        returned, has = counted(len(values), "value"), counted(wanted, "objective")
        raise ValueError(f"evaluate returned {returned}, the problem has {has}{more}")
    if len(violations) != problem.constraints:
        declared = problem.constraints
        raise ValueError(f"evaluate returned {len(violations)} violations, the problem has {declared} constraints")
    if set(metrics) != set(problem.metrics):
        raise ValueError(f"evaluate returned metrics {sorted(metrics)}, declared are {sorted(problem.metrics)}")
    if any(math.isnan(value) for value in violations):
        raise ValueError("evaluate returned a violation that is nan")
    return Evaluation(values, violations, metrics, as_costs(given.costs) if given.costs else {})


def _as_float(value: Any) -> float:
    """A real number as a float; nothing else passes for one."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise TypeError(f"evaluate returned {str(value)[:60]!r} ({type(value).__name__}), not a number")
    return float(value)


# ---- suites ---------------------------------------------------------------------------------------------------------


class Suite:
    """A named family of problems. `ids` lists without building; `build` makes one; `contains` may know more than `ids`
    lists (any instance of bbob, say, where `ids` names the usual fifteen)."""

    name: str = ""
    summary: str = ""

    def ids(self) -> Iterator[str]:
        """The ids of its problems, such as `mine/sphere/d2`, without building any."""
        raise NotImplementedError

    def contains(self, id: str) -> bool:
        """Whether `build` can make this problem; it may be one that `ids` does not list."""
        if not hasattr(self, "_ids"):
            self._ids = frozenset(self.ids())
        return id in self._ids

    def missing(self, id: str) -> str | None:  # noqa: ARG002
        """The package of the extra `problems` that this problem needs and that is not installed."""
        return None

    def build(self, id: str) -> Subject:
        """The problem of an id."""
        raise NotImplementedError

    def unknown(self, id: str) -> OptarenaError:
        """The error for an id that it does not have."""
        return OptarenaError(f"no problem {id!r}.{nearest(id, self.ids())}")

    def known(self, id: str) -> Known:
        """What is known of a problem; a suite that can look it up need not build the problem."""
        return self.build(id).known


SUITES: Registry[Entry] = Registry("suite", "problems", entry=Entry, group="optarena.problems", listed="problems")


_NUMBERED = re.compile(r"([A-Za-z][A-Za-z_-]*)(\d{1,9})")
"""A segment of an id that ends with a number: f24, d5, zdt1."""


def get_suite(name: str) -> Suite:
    """A suite by its name."""
    if name not in SUITES:
        raise OptarenaError(
            f"no suite named {name!r}.{in_a_file(name) or _elsewhere(name)} (optarena list problems shows all)"
        )
    found = SUITES.load(name)
    suite: Suite = found() if isinstance(found, type) else found
    return suite


def select(pattern: str, base: Path | None = None, notices: list[str] | None = None) -> list[str]:
    """The ids that a pattern stands for, in the suite's order, without building a problem.

    `bbob/f{1..3}/d5/*` selects; `functions/sphere` (fewer segments) selects all below; `my.py:problem` and
    `my.toml` are themselves; `folder/clf-*.csv:SVM_*` looks into the folder (relative to `base`, else the current one).
    What needs a package that is not installed is an error where it is named, and else left out, with a notice.
    """
    reference = SUITES.reference(pattern, base)
    if reference.on_disk:
        opener = SUITES.opener(reference)
        return opener.select_references(reference) if hasattr(opener, "select_references") else [pattern]
    out: dict[str, None] = {}
    for text in _patterns.expand_braces(pattern):
        text = text.strip("/")
        if not text:
            raise OptarenaError(f"pattern {pattern!r} selects nothing: give a suite, as in 'functions/sphere/d2'")
        head = text.split("/")[0]
        if _patterns.has_glob(head):
            names = [name for name in SUITES.names() if _patterns.matches(head, name)]
            if not names:
                raise OptarenaError(f"no suite matches {head!r} (optarena list problems shows all)")
        else:
            names = [head]
        found = False
        left_out: dict[str, int] = {}
        for name in names:
            suite = get_suite(name)
            if not _patterns.has_glob(text) and suite.contains(text):
                chosen: Iterable[str] = [text]
            else:
                chosen = (id for id in suite.ids() if _patterns.matches(text, id))
            for id in chosen:
                package = suite.missing(id)
                if package is not None and id == text:
                    raise OptarenaError(_needs(id, package))
                if package is not None:
                    left_out[package] = left_out.get(package, 0) + 1
                    continue
                found = True
                out[id] = None
        for package, count in left_out.items():
            if not found:
                raise OptarenaError(_needs(text, package))
            if notices is not None:
                notices.append(f"left out: {count} of the problems that {text!r} selects: each {_needs('', package)}")
        if not found:
            raise OptarenaError(f"no problem matches {text!r}{_hint(text, names)} (optarena list problems shows all)")
    return list(out)


def _needs(id: str, package: str) -> str:
    return f"{id} needs the extra 'problems' ({package}): pip install 'optarena[problems]'".lstrip()


def _hint(text: str, names: Sequence[str]) -> str:
    """What would be right: the numbers that ids may have, or the most similar id."""
    return (_ranges(text, get_suite(names[0])) if len(names) == 1 else "") or f".{_nearest_id(text, names)}"


def _ranges(text: str, suite: Suite) -> str:
    """Which numbers a segment of ids may have, where that of the text is none of them: f1 to f24."""
    parts = [_NUMBERED.fullmatch(part) for part in text.split("/")]
    numbers: list[set[int]] = [set() for _ in parts]
    for id in suite.ids():
        for found, given, segment in zip(numbers, parts, id.split("/"), strict=False):
            other = _NUMBERED.fullmatch(segment)
            if given is not None and other is not None and given[1] == other[1]:
                found.add(int(other[2]))
    out = []
    for found, given in zip(numbers, parts, strict=True):
        if given is not None and found and int(given[2]) not in found:
            low, high = min(found), max(found)
            run = len(found) > 2 and found == set(range(low, high + 1))
            said = f"{given[1]}{low} to {given[1]}{high}" if run else ", ".join(f"{given[1]}{n}" for n in sorted(found))
            out.append(said)
    return f": there are only {' and '.join(out)}" if out else ""


def _elsewhere(head: str) -> str:
    """What is meant by a first segment that is no suite: a suite with a similar name, or problems of that name."""
    if near := nearest(head, SUITES.names()):
        return near
    found: dict[str, None] = {}
    for name in SUITES.names():
        for id in get_suite(name).ids():
            steps = id.split("/")
            for i, step in enumerate(steps[1:], start=1):
                if len(head) > 1 and step.lower().startswith(head.lower()):
                    found["/".join(steps[: i + 1])] = None
    return f" Did you mean {' or '.join(map(repr, list(found)[:SUGGESTED]))}?" if found else ""


def _nearest_id(text: str, names: Sequence[str]) -> str:
    known = [id for name in names for id in get_suite(name).ids()]
    return nearest(text, known) or nearest(text, {"/".join(id.split("/")[: text.count("/") + 1]) for id in known})


def build(id: str, base: Path | None = None) -> Subject:
    """The problem or instance of an id; a user's file is looked up relative to `base` (else the current directory)."""
    reference = SUITES.reference(id, base)
    if reference.on_disk:
        return _from_disk(reference)
    suite = get_suite(id.split("/")[0])
    if not suite.contains(id):
        raise OptarenaError(f"no problem {id!r}{_hint(id, [id.split('/')[0]])} (optarena list problems shows all)")
    package = suite.missing(id)
    if package is not None:
        raise OptarenaError(_needs(id, package))
    problem = suite.build(id)
    problem.id, problem.suite = id, suite.name
    return problem


def _from_disk(reference: Reference) -> Subject:
    """The problem in a file of a user, by whoever opens such files, or as an object of a Python file."""
    id = reference.text
    found = SUITES.load(id, reference.base)
    if reference.kind != "object":
        problem: Subject = found
        return problem
    if isinstance(found, type) and issubclass(found, Subject):
        try:
            found = found()
        except Exception as error:
            raise OptarenaError(f"{id}: cannot be made without arguments: {describe(error)}") from error
    if not isinstance(found, Subject) and callable(found) and not isinstance(found, type):
        try:
            found = plain_function(found)
        except OptarenaError as error:
            raise error.within(id) from None
    if not isinstance(found, Subject):
        raise OptarenaError(
            f"{id}: {type(found).__name__} is not a problem; decorate the function with @optarena.as_problem(space)"
        )
    if isinstance(found, Problem) and not isinstance(getattr(found, "space", None), Space):
        raise OptarenaError(f"{id}: {type(found).__name__} has no space; set space = optarena.Space({{…}})")
    # the name without directories, so that a store can move from one machine to another
    path = reference.path.resolve()
    found.id = f"{path.name}:{reference.part}"
    found.source = path
    return found
