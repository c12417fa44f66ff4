"""Puts the stand-ins, and a folder's own modules, where `import` finds them, and takes them away again."""

from __future__ import annotations

import contextlib
import importlib
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import ClassVar

MODULES = (
    *("abstract_optimizer", "constants", "experiment", "np_util", "random_search", "space"),
    *("builtin_opt", "builtin_opt.config", "builtin_opt.hyperopt_optimizer", "builtin_opt.nevergrad_optimizer"),
    *("builtin_opt.opentuner_optimizer", "builtin_opt.pysot_optimizer", "builtin_opt.random_optimizer"),
    "builtin_opt.scikit_optimizer",
)


class _NothingElse:
    """Says of Bayesmark's other modules, when one is imported, that nothing stands in for them."""

    @staticmethod
    def find_spec(name: str, _path: object = None, _target: object = None) -> None:
        if name.startswith("bayesmark."):
            known = ", ".join(f"bayesmark.{module}" for module in MODULES if "." not in module)
            raise ModuleNotFoundError(f"nothing stands in for {name} here (there are {known})", name=name)


class Room:
    """`with room:` the stand-ins are imported under Bayesmark's names, and a folder's files see each other."""

    _rooms: ClassVar[dict[Path, Room]] = {}

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.modules = _standins()
        self._outside: list[tuple[dict[str, ModuleType | None], int]] = []

    @classmethod
    def of(cls, folder: Path) -> Room:
        """One room a folder, so that its files import each other once."""
        return cls._rooms.setdefault(folder, cls(folder))

    def __enter__(self) -> Room:
        self._outside.append(({name: sys.modules.get(name) for name in self.modules}, 0))
        sys.modules.update(self.modules)
        sys.path.insert(0, str(self.folder))
        sys.meta_path.insert(0, _NothingElse)
        self._outside[-1] = (self._outside[-1][0], len(sys.modules))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        outside, count = self._outside.pop()
        with contextlib.suppress(ValueError):
            sys.path.remove(str(self.folder))
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(_NothingElse)
        if len(sys.modules) != count:  # looking through all of them takes longer than most calls
            for name, module in list(sys.modules.items()):
                if name not in outside and self._is_neighbour(name, module):
                    self.modules[name], outside[name] = module, None
        for name, before in outside.items():
            if before is None:
                sys.modules.pop(name, None)
            else:
                sys.modules[name] = before

    def _is_neighbour(self, name: str, module: ModuleType) -> bool:
        """Whether a module was found in the folder itself: as a file there, or in a package there."""
        file, top = getattr(module, "__file__", None), name.partition(".")[0]
        if file is None or top.startswith("_optarena_user_"):
            return False
        return Path(file) == self.folder / f"{top}.py" or (self.folder / top) in Path(file).parents


def _standins() -> dict[str, ModuleType]:
    package = ModuleType("bayesmark", "Stands in for Bayesmark while one of its wrappers is loaded or called.")
    package.__path__ = []  # a package, in which nothing else is found
    out = {"bayesmark": package}
    for name in MODULES:
        out[f"bayesmark.{name}"] = importlib.import_module(f"optarena.bayesmark.standins.{name}")
        if "." not in name:
            setattr(package, name, out[f"bayesmark.{name}"])
    return out
