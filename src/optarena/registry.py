"""What a name stands for: one `Reference` to anything that can be named, one `Registry` per kind of thing.

    >>> Reference.of("folder/mine.py:NearBest").kind
    'object'
    >>> from optarena.optimizer import OPTIMIZERS
    >>> OPTIMIZERS.entry("CMA-ES").licence
    'BSD-3-Clause'

An adapter module declares what it offers in a literal of its own, and nothing else lists it:

    REGISTERED = {
        "library": "cma",                   # the distribution
        "licence": "BSD-3-Clause",
        "extra": "cma",                     # of pyproject.toml
        "needs": ["cma"],                   # modules whose absence means that the extra is not installed
        "names": {"CMA-ES": "CMAES"},       # registered name: class
    }

The literal is read from the source text. No adapter is imported before it is used, so listing names costs next to
nothing, and an adapter that fails to import harms no other. The fields are those of `Entry`; a name may override some
of them by a table of its own, `{"target": "OptunaGP", "extra": "optuna-gp"}`. A module that reads a kind of file
declares it by `"opens": [".toml"]` and defines `open_reference(reference)`.

Other packages add theirs by entry points.
"""

from __future__ import annotations

import ast
import functools
import importlib
import importlib.metadata
import importlib.util
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, Literal, NamedTuple, TypeVar

import msgspec

from optarena._files import read_toml
from optarena._source import load_module, must_be_trusted, source_hash
from optarena.errors import OptarenaError, describe, nearest

FOLDER = "folder"
"""How a module declares that it opens folders."""
_WITH_PART = re.compile(r"(.*(\.py|\.csv|\.mzn)):(.*)", re.DOTALL)
_ALONE = (".py", ".toml", ".mps", ".mps.gz", ".mzn")
LISTED = 5
"""Names of a file that a message lists."""
_NAMED_BY_FOLDER = "optimizer.py"  # what every file of Bayesmark's challenge is called


class Reference(NamedTuple):
    """What stands for an optimizer, a solver or a problem in an experiment, on the command line or in Python.

    | kind | as |
    | --- | --- |
    | name | a registered name, or an id or pattern of problems: `CMA-ES`, `bbob/f1/d5/i3` |
    | object | an object in a Python file: `folder/mine.py:NearBest` |
    | manifest | a description of a program: `folder/simulate.toml` |
    | file | another file, perhaps with a part of it: `clf-mine.csv:SVM_nll`, `p0033.mps`, `golomb.mzn:09.dzn` |
    | folder | a folder, perhaps with a name in it: `wrappers:Near`, `submissions/turbo` |
    """

    text: str
    kind: Literal["name", "object", "manifest", "file", "folder"]
    place: str = ""
    """The file or folder, as it is written."""
    part: str = ""
    """What stands behind the colon."""
    form: str = ""
    """The suffix of a file, `folder`, or nothing."""
    base: Path | None = None

    @classmethod
    def of(cls, text: str, base: Path | None = None, *, folders: bool = False) -> Reference:
        """Read a text. Files are relative to `base`, else to the current directory; nothing is opened.

        Ids of problems have slashes, too: only with `folders` a slash or a colon makes a folder of what is no file.
        """
        if "." not in text and "/" not in text and ":" not in text:
            return cls(text, "name", base=base)
        found = _WITH_PART.fullmatch(text)
        if found is not None:
            return cls(text, "object" if found[2] == ".py" else "file", found[1], found[3], found[2], base)
        form = next((suffix for suffix in _ALONE if text.endswith(suffix)), "")
        if form:
            return cls(text, "manifest" if form == ".toml" else "file", text, "", form, base)
        if folders and (":" in text or "/" in text):
            place, colon, part = text.rpartition(":")
            return cls(text, "folder", place if colon else text, part if colon else "", FOLDER, base)
        return cls(text, "name", base=base)

    @classmethod
    def of_class(cls, given: type) -> Reference | None:
        """`path/to/file.py:Class`, by which another process can load a class; None where only this process has it.

        The file of `__main__` may be the script that runs the experiment, and a module of a package may need its
        package: neither can be loaded as a file by itself.
        """
        found = cls.of_object(given, given.__module__, given.__name__)
        return found if given.__module__ != "__main__" else None

    @classmethod
    def of_object(cls, given: object, module_name: str, name: str) -> Reference | None:
        """`path/to/file.py:name` of what a module outside any package calls so; of `__main__` the script."""
        module = sys.modules.get(module_name)
        file = getattr(module, "__file__", None)
        alone = module_name == "__main__" or not getattr(module, "__package__", None)
        if not alone or not file or not file.endswith(".py") or getattr(module, name, None) is not given:
            return None
        return cls.of(f"{Path(file).resolve()}:{name}")

    @property
    def on_disk(self) -> bool:
        """Whether it names a file or a folder."""
        return self.kind != "name"

    @property
    def path(self) -> Path:
        """The file or folder."""
        return (self.base or Path.cwd()) / self.place

    def must_be_possible(self) -> None:
        """Refuse a path that no file can have: too long, with a NUL, or a link to itself."""
        try:
            if self.on_disk:
                self.path.resolve().exists()
        except (OSError, ValueError, RuntimeError) as error:
            raise OptarenaError(f"{self.place[:100]}: {describe(error)}") from None

    @property
    def absolute(self) -> str:
        """The same reference, whatever the directory from which it is read."""
        return str((self.base or Path.cwd()) / self.text) if self.on_disk else self.text

    @property
    def short(self) -> str:
        """The reference without directories, so that a store can move from one machine to another."""
        if not self.on_disk:
            return self.text
        path = Path(self.text)
        return f"{path.parent.name}/{path.name}" if path.name == _NAMED_BY_FOLDER else path.name

    @property
    def title(self) -> str:
        """What it is called in tables: an object by its name, a file by its own or its folder's."""
        if not self.on_disk:
            return self.text
        if ":" in self.text and self.kind != "manifest":
            return self.text.rpartition(":")[2]
        path = Path(self.text)
        if self.kind == "manifest":
            return path.stem
        return path.parent.name or path.stem if path.name == _NAMED_BY_FOLDER else path.name.removesuffix(".py")

    def load(self) -> Any:
        """The object in a Python file; the file runs once per process and content."""
        path = self.path.resolve()
        module = load_module(path)
        if not hasattr(module, self.part):
            named = vars(module).items()
            public = [key for key, value in named if not key.startswith("_") and not isinstance(value, ModuleType)]
            has = _defined_in(path)[:LISTED]
            near = nearest(self.part, public) or (f" It has {', '.join(has)}." if has else "")
            raise OptarenaError(f"{path.name} has no {self.part!r}.{near}")
        return getattr(module, self.part)

    def contains(self, word: bytes) -> bool:
        """Whether the file exists and has this word in it: a look that executes nothing."""
        path = self.path
        return path.is_file() and word in path.read_bytes()

    def describes(self, kind: str) -> bool:
        """Whether it is a manifest with such a table: [problem], [optimizer] or [solver]. Who opens it says more."""
        try:
            return self.kind == "manifest" and kind in read_toml(self.path)
        except OptarenaError:
            return False


class Entry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Something registered, known without importing it."""

    name: str
    target: str
    """`module:object`, or the module."""
    library: str = "optarena"
    """The distribution that does the work."""
    licence: str = "BSD-3-Clause"
    last_release: int | None = None
    """The year, where a library had no release for two years and is taken for unmaintained."""
    extra: str | None = None
    needs: tuple[str, ...] = ()
    """The modules whose absence means that the extra is not installed."""
    program: str | None = None
    """The program that must be on the PATH, and how it is installed."""
    program_from: str = ""
    plug_in: bool = False
    """Whether another package registered it, of which nothing more is known."""

    @property
    def installed(self) -> bool:
        modules = all(importlib.util.find_spec(module) is not None for module in self.needs)
        return modules and (self.program is None or shutil.which(self.program) is not None)

    @property
    def install(self) -> str:
        """What to do where it is not installed."""
        if self.program is not None:
            return f"needs the program {self.program!r}: {self.program_from}"
        return f"pip install 'optarena[{self.extra}]'"

    @property
    def maintained(self) -> str:
        """Yes, or no and since when."""
        if self.plug_in:
            return "?"
        return "yes" if self.last_release is None else f"no (last release {self.last_release})"

    def load(self) -> Any:
        """The object behind the target."""
        return importlib.metadata.EntryPoint(self.name, self.target, "").load()


E = TypeVar("E", bound=Entry)
_REGISTERED = re.compile(r"^REGISTERED = (\{.*?\})$", re.MULTILINE | re.DOTALL)


def declarations(*packages: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """What modules of ours declare, those of packages or single ones, by their names; none of them is imported."""
    for package in packages:
        place = Path(__file__).parent.joinpath(*package.split("."))
        for file in sorted(place.glob("*.py")) if place.is_dir() else [place.with_suffix(".py")]:
            found = _REGISTERED.search(file.read_text(encoding="utf-8"))
            if found is not None:
                module = f"optarena.{package}.{file.stem}" if place.is_dir() else f"optarena.{package}"
                yield module, ast.literal_eval(found[1])


def in_a_file(name: str) -> str:
    """' Did you mean …?' for module:object, where a file in this directory has it; else nothing."""
    stem, colon, part = name.partition(":")
    return f" Did you mean '{stem}.py:{part}'?" if colon and Path(f"{stem}.py").is_file() else ""


def _defined_in(path: Path) -> list[str]:
    """The functions and classes of a Python file that are public; nothing is executed."""
    try:
        body = ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
    defined = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [one.name for one in body if isinstance(one, defined) and not one.name.startswith("_")]


class Registry(Generic[E]):
    """The optimizers, solvers, suites or formats that can be named: ours, those plugged in, and files.

    `packages` (or single modules) are ours, `group` is the entry points' group (none: nothing can be plugged in),
    `listed` what `optarena list` calls them. With `folders`, a slash in a name makes a folder of it.
    """

    def __init__(
        self,
        kind: str,
        *packages: str,
        entry: type[E],
        group: str = "",
        listed: str = "",
        folders: bool = False,
    ) -> None:
        self.kind, self.packages, self.group, self.folders = kind, packages, group, folders
        self.listed = listed or f"{kind}s"
        self._entry = entry

    @functools.cached_property
    def _declared(self) -> dict[str, dict[str, Any]]:
        return dict(declarations(*self.packages))

    @functools.cached_property
    def built_in(self) -> dict[str, E]:
        """Ours by name: first those that need nothing installed, ours before others', then by module."""
        out = []
        for module, declared in self._declared.items():
            shared = {key: value for key, value in declared.items() if key not in ("names", "opens")}
            for name, given in declared.get("names", {}).items():
                own = {"target": given} if isinstance(given, str) else given
                target = f"{module}:{own['target']}".removesuffix(":")
                out.append(msgspec.convert({**shared, **own, "name": name, "target": target}, self._entry))
        out.sort(key=lambda entry: (entry.extra is not None, entry.library != "optarena"))
        return {entry.name: entry for entry in out}

    @functools.cached_property
    def plug_ins(self) -> dict[str, E]:
        """Those of other packages by name, announced by entry points; reading these imports nothing of them."""
        found = importlib.metadata.entry_points(group=self.group) if self.group else ()
        return {
            point.name: self._entry(
                point.name,
                point.value,
                library=point.dist.name if point.dist else "?",
                licence=_licence(point.dist),
                plug_in=True,
            )
            for point in sorted(found, key=lambda point: point.name)
            if point.name not in self.built_in
        }

    def entries(self) -> list[E]:
        """Everything that is registered, ours first."""
        return [*self.built_in.values(), *self.plug_ins.values()]

    def names(self) -> list[str]:
        return [entry.name for entry in self.entries()]

    def __contains__(self, name: str) -> bool:
        return name in self.built_in or name in self.plug_ins

    def entry(self, name: str) -> E:
        """What is registered under a name."""
        found = self.built_in.get(name) or self.plug_ins.get(name)
        if found is None:
            near = in_a_file(name) or nearest(name, self.names())
            raise OptarenaError(f"no {self.kind} named {name!r}.{near} (optarena list {self.listed} shows all)")
        return found

    def name_of(self, target: type) -> str | None:
        """The first name under which a class is registered."""
        wanted = f"{target.__module__}:{target.__qualname__}"
        return next((entry.name for entry in self.entries() if entry.target == wanted), None)

    def reference(self, text: str, base: Path | None = None) -> Reference:
        """What a text stands for, where one of this kind is expected."""
        return Reference.of(text, base, folders=self.folders)

    def load(self, text: str, base: Path | None = None) -> Any:
        """The object that a registered name, a file or a folder stands for."""
        reference = self.reference(text, base)
        reference.must_be_possible()
        if reference.on_disk:
            must_be_trusted(reference.path)
        opener = self.opener(reference)
        if opener is not None:
            return opener.open_reference(reference)
        if reference.kind == "object":
            return reference.load()
        if reference.on_disk:
            if reference.form == ".py":
                if not reference.path.is_file():
                    raise OptarenaError(f"there is no file {text}")
                it = next(iter(_defined_in(reference.path)), "NAME")
                raise OptarenaError(f"{text}: name what is meant in it, such as {reference.path.name}:{it}")
            raise OptarenaError(f"{text}: such a file is not expected here")
        entry = self.entry(text)
        if not entry.installed:
            raise OptarenaError(f"{text} is not installed: {entry.install}")
        try:
            return entry.load()
        except Exception as error:  # a plug-in may fail in any way
            raise OptarenaError(f"{self.kind} {text!r} of {entry.library} does not load: {describe(error)}") from error

    def source(self, text: str, base: Path | None = None) -> str | None:
        """The hash of the files behind a reference, for the card; None for a registered name."""
        reference = self.reference(text, base)
        opener = self.opener(reference)
        if hasattr(opener, "source_of"):
            return str(opener.source_of(reference))
        return source_hash(reference.path) if reference.on_disk else None

    def opener(self, reference: Reference) -> Any:
        """The module that opens such a file or folder, if any; one that opens only some of them has `opens`."""
        if reference.form not in self._openers:
            return None
        module: Any = importlib.import_module(self._openers[reference.form])
        return module if not hasattr(module, "opens") or module.opens(reference) else None

    @functools.cached_property
    def _openers(self) -> dict[str, str]:
        return {form: module for module, said in self._declared.items() for form in said.get("opens", ())}


def _licence(distribution: importlib.metadata.Distribution | None) -> str:
    """What a package says of its licence."""
    facts: Any = distribution.metadata if distribution is not None else {}
    said = [facts[key].strip() for key in ("License-Expression", "License") if key in facts]
    return next((text.splitlines()[0] for text in said if text), "?")
