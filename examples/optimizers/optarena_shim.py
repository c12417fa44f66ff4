"""Any Python class as an optimizer of optarena, in an environment of its own. One file, standard library only, 3.7+.

    [optimizer]
    command = ["python3", "optarena_shim.py", "mine.py:Mine", "batch=false"]
    files = ["optarena_shim.py", "mine.py"]

`mine.py:Mine` is a class of a file, `package.module:Mine` one of an installed package. Words behind it are capabilities
(docs/protocol.md). The class is loaded when a study starts, so what it imports may be slow. It may have

    suggest(n) -> n points, observe(points, values)     a wrapper for Bayesmark, or your own
    ask(n) -> n points,     tell(points, values)
    ask() -> one point,     tell(point, value)

A point is a dict, or a sequence of values in the order of the space; `tell` gets the object that `ask` gave. The
constructor gets the space, {"x": {"type": "real", "space": "linear", "range": [0, 1]}, ...}, the settings as keywords,
and of `seed`, `objectives` and `budget` those that it names. Python's and NumPy's global random states are seeded, too.
A value is a float to be minimised, a list with several objectives; NaN (for Bayesmark: inf) if an evaluation failed.
Raise StopIteration if there is nothing more to suggest. What is printed goes to stderr. A class that spends more than
time has a dict `cost` and adds to it, {"tokens": 812, "money": 0.002}: it is reported and emptied after each call.
"""

import importlib
import importlib.util
import inspect
import json
import os
import random
import sys
import types


class Adapter:
    """An object with suggest and observe, or with ask and tell, as the protocol wants it."""

    def __init__(self, cls, request):
        self.space = {line["name"]: {k: v for k, v in line.items() if k != "name"} for line in request["space"]}
        self.names = list(self.space)
        self.single = request["objectives"] == 1
        random.seed(request["seed"])
        seeded = _seed_numpy(request["seed"])
        given = dict(request["settings"])
        named = _parameters(cls)
        given.update({key: request[key] for key in ("seed", "objectives", "budget") if key in named})
        self.inner = cls(self.space, **given)
        if not seeded:  # the constructor may have imported it
            _seed_numpy(request["seed"])
        self.failed = float("inf") if _is_wrapper(cls) else float("nan")
        if hasattr(self.inner, "suggest"):
            self.ask, self.tell, self.many = self.inner.suggest, self.inner.observe, True
        else:
            self.ask, self.tell = self.inner.ask, self.inner.tell
            self.many = bool(_parameters(self.ask))
        self.pending = {}  # what was asked for, as it was given, until its values are known; points may be equal

    def suggest(self, n):
        given = self.ask(n) if self.many else [self.ask() for _ in range(n)]
        rows = []
        for point in given:
            values = [point[name] for name in self.names] if isinstance(point, dict) else list(point)
            row = [value.item() if hasattr(value, "item") else value for value in values]
            self.pending.setdefault(tuple(row), []).append(point)
            rows.append(row)
        return rows

    def observe(self, rows, values, violations):
        points = [self._as_given(row) for row in rows]
        found = [[self.failed if value == "nan" else float(value) for value in row] for row in values]
        found = [row[0] for row in found] if self.single else found
        if self.many:
            self.tell(points, found, *violations)
        else:
            for i, point in enumerate(points):
                self.tell(point, found[i], *[each[i] for each in violations])

    def _as_given(self, row):
        waiting = self.pending.get(tuple(row), [])
        point = waiting.pop(0) if waiting else dict(zip(self.names, row))
        if not waiting:
            self.pending.pop(tuple(row), None)
        return point


def _seed_numpy(seed):
    if "numpy" not in sys.modules:
        return False
    sys.modules["numpy"].random.seed(seed)
    return True


def _parameters(function):
    """The names of what it takes, but for `self`, *args and **keywords."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [each.name for each in found if each.kind not in (each.VAR_POSITIONAL, each.VAR_KEYWORD)]


def _is_wrapper(cls):
    return any(base.__name__ == "AbstractOptimizer" for base in cls.__mro__)


def load(reference):
    """The class of `file.py:Class` or `module:Class`."""
    place, _, name = reference.rpartition(":")
    if not place.endswith(".py"):
        return getattr(importlib.import_module(place), name)
    sys.path.insert(0, os.path.dirname(os.path.abspath(place)))
    _stand_in_for_bayesmark()
    spec = importlib.util.spec_from_file_location(os.path.basename(place)[:-3], place)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return getattr(module, name)


def _stand_in_for_bayesmark():
    """What every wrapper imports. Of Bayesmark itself only the runner: it is unused, and needs an old scikit-learn."""
    main = types.ModuleType("bayesmark.experiment")
    main.experiment_main = lambda *args, **kwargs: None
    sys.modules[main.__name__] = main
    if importlib.util.find_spec("bayesmark") is not None:
        return

    class AbstractOptimizer(object):
        primary_import = None

        def __init__(self, api_config, **kwargs):
            self.api_config = api_config

    package, base = types.ModuleType("bayesmark"), types.ModuleType("bayesmark.abstract_optimizer")
    constants, builtin = types.ModuleType("bayesmark.constants"), types.ModuleType("bayesmark.builtin_opt")
    config = types.ModuleType("bayesmark.builtin_opt.config")
    package.__path__ = builtin.__path__ = []
    config.CONFIG = {}
    base.AbstractOptimizer = AbstractOptimizer
    constants.__dict__.update(ARG_DELIM="_", METRICS=("acc", "mae", "mse", "nll"), RANDOM_SEARCH="RandomSearch")
    for module in (package, base, constants, builtin, config):
        parent, _, name = module.__name__.rpartition(".")
        sys.modules[module.__name__] = module
        if parent:
            setattr(sys.modules[parent], name, module)


def _with_cost(answer, adapter):
    cost = None if adapter is None else getattr(adapter.inner, "cost", None)
    if cost and isinstance(cost, dict):
        answer["cost"] = dict(cost)
        cost.clear()
    return answer


def serve(cls, **capabilities):
    """Answer until the input ends. cls: a class, or `file.py:Class`; capabilities: batch=False, say."""
    answers = os.dup(1)  # what anybody prints must not be among the answers
    os.dup2(2, 1)
    encode, read = json.JSONEncoder(separators=(",", ":")).encode, sys.stdin.buffer.readline
    adapter = None
    for line in iter(read, b""):
        request = json.loads(line.decode("utf-8"))
        call, answer = request["call"], {"id": request["id"]}
        if call == "close":
            return
        try:
            if call == "hello":
                answer.update(protocol=1, capabilities=capabilities)
            elif call == "start":
                adapter = Adapter(load(cls) if isinstance(cls, str) else cls, request)
            elif call == "suggest":
                answer["points"] = adapter.suggest(request["n"])
            elif call == "observe":
                violations = [request["violations"]] if "violations" in request else []
                adapter.observe(request["points"], request["values"], violations)
            text = encode(_with_cost(answer, adapter))
        except StopIteration as stop:
            answer["exhausted"] = str(stop) or "nothing more to suggest"
            text = encode(_with_cost(answer, adapter))
        except Exception as error:
            import traceback

            traceback.print_exc()
            last = traceback.extract_tb(error.__traceback__)[-1]
            place = " (%s line %d)" % (os.path.basename(last[0]), last[1])
            answer = {"id": request["id"], "error": "%s: %s%s" % (type(error).__name__, error, place)}
            text = encode(_with_cost(answer, adapter))
        data = (text + "\n").encode("utf-8")
        while data:
            data = data[os.write(answers, data) :]


if __name__ == "__main__":
    if len(sys.argv) < 2 or any(word.partition("=")[2] not in ("true", "false") for word in sys.argv[2:]):
        sys.exit("usage: python3 optarena_shim.py mine.py:Mine [capability=true|false ...]")
    serve(sys.argv[1], **{key: value == "true" for key, _, value in (word.partition("=") for word in sys.argv[2:])})
