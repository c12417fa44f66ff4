"""The code that a study ran: a user's file as a module, hashes of files and classes, versions of packages."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import importlib.metadata
import importlib.util
import inspect
import re
import sys
import sysconfig
import traceback
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from pathlib import Path
from types import CellType, CodeType, FunctionType, ModuleType
from typing import Any, NamedTuple

from optarena.errors import OptarenaError, describe


class _Trusted(NamedTuple):
    folder: Path | None
    but: Path


_trusted: ContextVar[_Trusted | None] = ContextVar("trusted", default=None)


@contextlib.contextmanager
def only_files_of(folder: Path | None, *, but: Path) -> Iterator[None]:
    """Within this, files of a folder (None: no files) can be loaded, and never those in `but`, wherever links lead."""
    token = _trusted.set(_Trusted(None if folder is None else folder.resolve(), but.resolve()))
    try:
        yield
    finally:
        _trusted.reset(token)


def must_be_trusted(path: Path) -> None:
    """Refuse a file that may not be executed here."""
    trusted = _trusted.get()
    if trusted is None:
        return
    if trusted.folder is None:
        raise OptarenaError(f"{path.name} is a file, and files run only from a folder that you name (--run-files DIR)")
    place = path.resolve()
    if place.is_relative_to(trusted.but):
        raise OptarenaError(f"{path.name} is a file that came with the archive, and those are never run")
    if not place.is_relative_to(trusted.folder):
        raise OptarenaError(f"{path.name} is a file outside {trusted.folder}")


def load_module(path: Path) -> ModuleType:
    """A user's file as a module of its own name, so that two files of one name do not meet."""
    must_be_trusted(path)
    path = path.resolve()
    if not path.is_file():
        raise OptarenaError(f"there is no file {path}")
    digest = hashlib.sha256(str(path).encode("utf-8", "surrogateescape") + path.read_bytes()).hexdigest()[:12]
    name = f"_optarena_user_{path.stem}_{digest}".replace("-", "_")
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        sys.path.insert(0, str(path.parent))  # a file may import its neighbours, as it may when run by itself
        try:
            spec.loader.exec_module(module)
        except KeyboardInterrupt:
            del sys.modules[name]
            raise
        except BaseException as error:  # a file may call sys.exit(), too
            del sys.modules[name]
            lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(path)]
            line = f" (line {lines[-1]})" if lines else ""
            raise OptarenaError(f"{path}: could not be loaded: {describe(error)}{line}") from error
        finally:
            with contextlib.suppress(ValueError):
                sys.path.remove(str(path.parent))
    return sys.modules[name]


def source_hash(path: Path) -> str:
    """What a user's file held, for the card."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def class_hash(cls: type) -> str:
    """What a class held that no file has, for the card: its own methods and attributes, with those of its bases."""
    digest = hashlib.sha256()
    for one in cls.__mro__:
        if one.__module__ == cls.__module__:
            for key in sorted(set(vars(one)) - _MADE_BY_PYTHON):
                digest.update(f"{key}={_text_of(vars(one)[key])}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


def code_hash(function: Any) -> str | None:
    """What a function held that no file has, for the card; None of what is not written in Python.

    Numbers and texts around it are a part of it; lists and other objects, which it may change itself, are not.
    """
    inner = getattr(function, "__func__", function)
    if not isinstance(inner, FunctionType):
        return None
    enclosed = [_enclosed(cell) for cell in inner.__closure__ or () if _is_plain(cell)]
    try:
        source = inspect.getsource(inner)
    except (OSError, TypeError):
        source = _compiled(inner.__code__)
    return hashlib.sha256(f"{source}{enclosed}".encode("utf-8", "surrogateescape")).hexdigest()[:16]


def _is_plain(cell: CellType) -> bool:
    try:
        return isinstance(cell.cell_contents, (int, float, str, bytes, type(None)))
    except ValueError:  # not set yet
        return False


def same_code(one: Any, two: Any) -> bool:
    """Whether two functions were compiled from the same source."""
    codes = [getattr(getattr(function, "__func__", function), "__code__", None) for function in (one, two)]
    texts = [_compiled(code) for code in codes if isinstance(code, CodeType)]
    return len(texts) == 2 and texts[0] == texts[1]


_LIBRARIES = tuple(
    {str(Path(__file__).parent), *map(sysconfig.get_path, ("stdlib", "platstdlib", "purelib", "platlib"))}
)


def place_in_code(error: BaseException) -> str:
    """' (mine.py line 7)': where in the user's own code an exception was raised; nothing where that was a library."""
    steps = traceback.StackSummary.extract(traceback.walk_tb(error.__traceback__), lookup_lines=False)
    mine = [step for step in steps if not step.filename.startswith(("<frozen", *_LIBRARIES))]
    if not mine or mine[-1].lineno is None:
        return ""
    file = Path(mine[-1].filename)
    place = f"{file.name} line" if file.is_file() else f"{mine[-1].name}, line"  # a cell of a notebook is no file
    return f" ({place} {mine[-1].lineno})"


_MADE_BY_PYTHON = {"__module__", "__doc__", "__dict__", "__weakref__", "__firstlineno__", "__static_attributes__"}


def _text_of(value: Any) -> str:
    """The source of a function, or what it was compiled to where there is no source; else the value as text."""
    inner = value.fget if isinstance(value, property) else getattr(value, "__func__", value)
    if not isinstance(inner, FunctionType):
        return re.sub(r" at 0x[0-9a-f]+", "", repr(value))  # an address says nothing
    enclosed = [_enclosed(cell) for cell in inner.__closure__ or ()]
    try:
        return f"{inspect.getsource(inner)}{enclosed}"
    except (OSError, TypeError):
        return f"{_compiled(inner.__code__)}{enclosed}"


def _enclosed(cell: CellType) -> str:
    """The value of a variable around a function, as text: another value is another function."""
    try:
        value = cell.cell_contents
    except ValueError:  # not set yet
        return ""
    return value.__qualname__ if isinstance(value, type) else re.sub(r" at 0x[0-9a-f]+", "", repr(value))


def _compiled(code: CodeType) -> str:
    constants = [_compiled(part) if isinstance(part, CodeType) else repr(part) for part in code.co_consts]
    return repr((code.co_code, code.co_names, code.co_varnames, constants))


def versions_of(packages: Sequence[str]) -> dict[str, str]:
    """Installed versions of distributions, for the card."""
    return {package: _version(package) for package in packages}


@functools.cache
def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
