"""Environments for optimizers that cannot live together: each a Python with its packages, made when it is first used.

    [environment]                     # in a manifest (docs/environments.md)
    python = "3.10"
    packages = ["HEBO==0.3.6"]

They are kept in the user's cache, under a key of the Python and the packages that were asked for, and shared by all
processes. `environment.json` is written last and only once, so one whose making was interrupted does not count:

    environments/KEY.lock                 held while it is made or removed; it stays
    environments/KEY/environment.json     what it is, with the version of every package in it: its lock
    environments/KEY/FOLDER/              the environment itself
    environments/KEY/FOLDER.maker         who is making it: where locks do not work, nobody else removes it
    environments/KEY/failed.json          why it could not be made, for the workers of a run
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import itertools
import os
import platform
import re
import secrets
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from optarena._files import locked, user_cache, write_atomically, write_once
from optarena._json import printable
from optarena._numbers import duration
from optarena._process import alive, born, host
from optarena._process import place as place_of_pids
from optarena._text import clean, screen_width, shortened
from optarena.children import LOOK, Child
from optarena.errors import OptarenaError, WorkError, nearest

RECORD, FAILED, MAKER = "environment.json", "failed.json", ".maker"
SILENT_SECONDS = 3600.0
"""A step that says nothing for so long hangs: a large build may be silent for many minutes."""
MAKING_SECONDS = 86_400.0
"""A maker on another machine, which cannot be seen, has ended by then."""
FIELDS = ("python", "packages")
LONGEST_REASON = 400
MOST_OUTPUT = 1 << 26
APART = {"PYTHONPATH": "", "PYTHONHOME": "", "PYTHONNOUSERSITE": "1"}
"""Variables that keep an environment's Python to its own packages."""
FOR_PIP = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1", "PIP_USER": "0", "NO_COLOR": "1"}
_VERSION = re.compile(r"3\.\d+(\.\d+)?")


NUMPY = "NPY_DISABLE_CPU_FEATURES"
OLD_GROUPS = "AVX512F AVX512CD AVX512_KNL AVX512_KNM AVX512_SKX AVX512_CLX AVX512_CNL AVX512_ICL AVX512_SPR"
"""How NumPy 1 calls instructions beyond x86-64-v3. Each NumPy warns of those that it does not know."""
NO_WARNING = "ignore:During parsing environment variable"


def _pins() -> dict[str, str]:
    """Where this process is held to x86-64-v3 by its NumPy's names, the same by those of any other NumPy."""
    names = os.environ.get(NUMPY, "").replace(",", " ").split()
    if not names:
        return {}
    quiet = ",".join(filter(None, [os.environ.get("PYTHONWARNINGS"), NO_WARNING]))
    return {NUMPY: ",".join(dict.fromkeys([*names, *OLD_GROUPS.split()])), "PYTHONWARNINGS": quiet}


class NotMade(Exception):
    """An environment cannot be made; the text says why."""


class Wanted(msgspec.Struct, frozen=True):
    """What an environment is to be."""

    python: str
    """A version: 3.10, or 3.10.13."""
    packages: tuple[str, ...]
    """What pip is to install; a file with its directory."""

    @property
    def key(self) -> str:
        """Equal for what is the same environment on machines of one kind; the contents of files count."""
        packages = sorted(_content(text) for text in self.packages)
        facts = msgspec.json.encode([self.python, packages, sys.platform, platform.machine()])
        return hashlib.sha256(facts).hexdigest()[:12]

    def __str__(self) -> str:
        return f"Python {self.python} with {', '.join(map(_short, self.packages)) or 'no packages'}"


class Maker(msgspec.Struct, frozen=True):
    """A process that makes an environment."""

    host: str
    place: str
    """Where its pid means something."""
    pid: int
    born: int
    began: float

    @classmethod
    def here(cls) -> Maker:
        return cls(host(), place_of_pids(), os.getpid(), born(os.getpid()), time.time())

    @property
    def may_live(self) -> bool:
        if (self.host, self.place) == (host(), place_of_pids()):
            return alive(self.pid, self.born)
        booted_since = self.host == host() and self.place.split()[:1] != place_of_pids().split()[:1]
        return not booted_since and time.time() - self.began < MAKING_SECONDS


class Environment(msgspec.Struct, frozen=True):
    """An environment that exists."""

    key: str
    python: str
    """The version, in full."""
    packages: tuple[str, ...]
    lock: dict[str, str]
    """Every package in it, with its version."""
    folder: str
    made: float

    @property
    def program(self) -> Path:
        """Its Python."""
        return Path(self.folder, "bin", "python")

    @property
    def variables(self) -> dict[str, str]:
        """What is added to the environment of a program that runs in it: its programs come first on the PATH."""
        path = f"{self.program.parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
        return {**APART, **_pins(), "PATH": path, "VIRTUAL_ENV": self.folder}

    @property
    def versions(self) -> dict[str, str]:
        """For the card of a study."""
        return {"python": self.python, **self.lock}

    @property
    def bytes(self) -> int:
        """What it takes on the disk; a file with two names counts once."""
        sizes = {}
        for directory, _, files in os.walk(self.folder):
            for name in files:
                with contextlib.suppress(OSError):
                    found = Path(directory, name).lstat()
                    sizes[found.st_ino] = found.st_size
        return sum(sizes.values())


# ---- what a manifest says -------------------------------------------------------------------------------------------


def as_wanted(given: Any, directory: Path) -> Wanted:
    """The table [environment] of a manifest, checked; files are relative to its directory."""
    if not isinstance(given, Mapping):
        raise OptarenaError(f"expected a table {{python = …, packages = […]}}, got {given!r}", field="environment")
    for key in given:
        if key not in FIELDS:
            known = ", ".join(FIELDS)
            raise OptarenaError(f"no such field.{nearest(key, FIELDS)} (known: {known})", field=f"environment.{key}")
    python = given.get("python", _minor(platform.python_version()))
    if not isinstance(python, str) or not _VERSION.fullmatch(python):
        raise OptarenaError(f"expected a version such as '3.10', in quotes, got {python!r}", field="environment.python")
    packages = given.get("packages", [])
    if not isinstance(packages, list) or not all(isinstance(text, str) for text in packages):
        raise OptarenaError(f"expected a list such as ['HEBO==0.3.6'], got {packages!r}", field="environment.packages")
    return Wanted(python, tuple(_package(text.strip(), directory) for text in packages))


def _package(text: str, directory: Path) -> str:
    """A requirement as pip reads it; no option of pip."""
    if not re.match(r"[A-Za-z0-9./]", text) or text != printable(text):
        raise OptarenaError(
            f"expected a package such as 'HEBO==0.3.6', or a file, got {text!r}", field="environment.packages"
        )
    if not _is_file(text):
        return text
    file = (directory / text).resolve()
    if not file.is_file():
        raise OptarenaError(f"there is no file {file}", field="environment.packages")
    return str(file)


def _is_file(text: str) -> bool:
    return text.startswith((".", "/")) or (text.endswith((".whl", ".tar.gz")) and "://" not in text)


def _content(package: str) -> str:
    """A file by what it holds."""
    if not package.startswith("/"):
        return package
    return f"{Path(package).name} {hashlib.sha256(Path(package).read_bytes()).hexdigest()}"


def _short(package: str) -> str:
    return Path(package).name if package.startswith("/") else package


# ---- finding and making ---------------------------------------------------------------------------------------------

_makes = True


def only_find() -> None:
    """From now on, this process makes none: a worker uses what was made when its run was planned."""
    global _makes
    _makes = False


def is_worker() -> bool:
    """Whether this process only uses what others have made."""
    return not _makes


_locks: dict[str, Mapping[str, str]] = {}


def make_as(locks: Mapping[str, Mapping[str, str]]) -> None:
    """From now on, what is made for these keys gets the very packages of these locks."""
    _locks.update(locks)


def place() -> Path:
    """The directory of all environments."""
    return user_cache() / "environments"


def find(wanted: Wanted) -> Environment | None:
    """The environment, if it exists."""
    return _read(place() / wanted.key)


def _read(home: Path) -> Environment | None:
    try:
        found = msgspec.json.decode((home / RECORD).read_bytes(), type=Environment)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
    return found if found.program.exists() else None  # the Python that it stands on may be gone


def ready(wanted: Wanted, title: str) -> Environment:
    """The environment, made if it does not exist; NotMade says why it cannot be. title: who needs it."""
    found = find(wanted)
    if found is not None:
        return found
    home = place() / wanted.key
    try:
        home.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise _not_made(error) from error
    if not _makes:
        raise NotMade(_failure(home) or "it has no environment: its making failed, or it was removed")
    wait = "waiting for another process that makes its environment"
    with telling(title) as tell, locked(_lock_file(wanted.key), waiting=lambda: tell(wait)):
        found = find(wanted)  # which others may have made meanwhile
        return found or _make(wanted, home, tell)


def _lock_file(key: str) -> Path:
    """Outside the directory, which is removed while others wait."""
    return place() / f"{key}.lock"


def _failure(home: Path) -> str:
    try:
        return msgspec.json.decode((home / FAILED).read_bytes(), type=str)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ""


def _make(wanted: Wanted, home: Path, tell: Callable[[str], None]) -> Environment:
    """Make it, under the lock; whatever fails leaves nothing but the reason."""
    folder = home / secrets.token_hex(4)
    maker = folder.with_suffix(MAKER)
    tell(f"making an environment, once: {wanted}")
    try:
        home.mkdir(parents=True, exist_ok=True)  # it may have been removed while the lock was waited for
        _clear(home)
        write_atomically(maker, msgspec.json.encode(Maker.here()), synced=False)
        lock = _locks.get(wanted.key, {})
        make, install = _tools(_python_for(wanted.python, lock), folder)
        _install(make, "venv", tell)
        exact = [f"{name}=={version}" for name, version in _packages(lock).items()]
        if wanted.packages or exact:
            _install([*install, *wanted.packages, *exact], "uv" if shutil.which("uv") else "pip", tell)
        version = _version_of(folder / "bin" / "python") or wanted.python
        made = Environment(wanted.key, version, wanted.packages, _lock(folder), str(folder), time.time())
        if differing := different(made.versions, lock):
            raise NotMade(f"its packages are not those of the lock: {differing}")
        if not write_once(home / RECORD, msgspec.json.encode(made)):  # others were faster, where there are no locks
            shutil.rmtree(folder, ignore_errors=True)
            made = find(wanted) or made
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if isinstance(error, (NotMade, WorkError, OSError)):
            failure = _not_made(error)
            with contextlib.suppress(WorkError):
                write_atomically(home / FAILED, msgspec.json.encode(str(failure)), synced=False)
            raise failure from error
        raise
    finally:
        with contextlib.suppress(OSError):
            maker.unlink(missing_ok=True)
    return made


def _not_made(error: Exception) -> NotMade:
    text = f"{error.filename}: {error.strerror}" if isinstance(error, OSError) and error.filename else error
    return NotMade(f"its environment cannot be made: {printable(str(text))}")


def _tools(python: Path, folder: Path) -> tuple[list[str], list[str]]:
    """The commands that make an environment and install into it: uv's, else the Python's own."""
    own = str(folder / "bin" / "python")
    if uv := shutil.which("uv"):
        return [uv, "venv", "--python", str(python), str(folder)], [uv, "pip", "install", "--python", own]
    make = [str(python), "-m", "venv", str(folder)]
    if str(python) == sys.executable and (runner := _pip_runner()):  # no second pip, which is slow
        return [*make, "--without-pip"], [own, runner, "install"]
    return make, [own, "-m", "pip", "install"]


def _pip_runner() -> str:
    """The file by which this Python's pip serves another, as `pip --python` does, but as one process; empty if none."""
    spec = importlib.util.find_spec("pip")
    file = Path(spec.origin).with_name("__pip-runner__.py") if spec is not None and spec.origin else None
    return str(file) if file is not None and file.is_file() else ""


def _clear(home: Path) -> None:
    """Remove all of an environment, first what says that it is complete; but nothing that another process makes."""
    kept = _being_made(home)
    for name in (RECORD, FAILED):
        (home / name).unlink(missing_ok=True)
    for left in home.iterdir() if home.is_dir() else ():
        if left.name.partition(".")[0] in kept:
            continue
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)
        else:
            left.unlink(missing_ok=True)


def _being_made(home: Path) -> set[str]:
    """The folders whose maker may be alive."""
    out = set()
    for path in home.glob(f"*{MAKER}"):
        with contextlib.suppress(OSError, msgspec.MsgspecError, UnicodeDecodeError):
            if msgspec.json.decode(path.read_bytes(), type=Maker).may_live:
                out.add(path.stem)
    return out


def _install(command: Sequence[str], tool: str, tell: Callable[[str], None]) -> None:
    """Run a step to its end, telling its lines."""
    merged = ["/bin/sh", "-c", 'exec "$@" 2>&1', "sh", *command]
    child = Child(merged, None, {**APART, **FOR_PIP}, listens=False, longest=MOST_OUTPUT)
    said: list[str] = []
    heard = time.monotonic()
    try:
        while not child.quiet or child.heard:
            raw = child.line()
            if raw is None and child.quiet:
                raw = child.rest()
            if raw is None:
                if time.monotonic() - heard > SILENT_SECONDS:
                    raise NotMade(f"{tool} has said nothing for {duration(SILENT_SECONDS)}: {_reason(said)}")
                child.look(LOOK)
                continue
            heard = time.monotonic()
            line = printable(raw.decode("utf-8", "replace")).strip()
            said = [*said[-300:], line]
            tell(f"{tool}: {line}")
        child.wait(None)
        code, death = child.code(), child.death()
    finally:
        child.kill()
    if code < 0:
        raise NotMade(f"{tool} was killed: {death}")
    if code:
        raise NotMade(f"{tool}: {_reason(said) or death}")


def _reason(said: Sequence[str]) -> str:
    """The sentence of what a tool wrote that says why it failed."""
    if any("╰─▶" in line for line in said):  # uv breaks its sentence into lines
        text = re.sub(r"\s+", " ", " ".join(said).partition("╰─▶")[2])
    else:
        text = _built(said) or _error(said)
        if any("Retrying" in line for line in said):
            text += " (and the package index cannot be reached)"
    return shortened(text.strip(), LONGEST_REASON)


def _error(said: Sequence[str]) -> str:
    """What a tool calls an error, else its last line; pip's own crash is a traceback."""
    lines = [line for line in said if line]
    errors = [line.partition(":")[2].strip() for line in lines if line.startswith("ERROR:")]
    return errors[0] if errors and errors[0] != "Exception:" else (lines or [""])[-1]


def _built(said: Sequence[str]) -> str:
    """What failed of a package that pip had to fetch or to build, and why; empty if nothing."""
    failed = [line.removeprefix("×").strip(" .") for line in said if line.startswith("×")]
    if not failed:
        return ""
    fatal = [line for line in said if re.search(r"\bfatal( error)?: ", line)]
    ends = [before for before, line in itertools.pairwise(filter(None, said)) if line == "[end of output]"]
    return ": ".join([failed[0], *(fatal or ends)[:1]])


def _lock(folder: Path) -> dict[str, str]:
    """Every package of an environment with its version, but for pip, which only makes it."""
    out = {}
    for pattern in ("*.dist-info/METADATA", "*.egg-info/PKG-INFO"):
        for file in folder.glob(f"lib/python*/site-packages/{pattern}"):
            head = file.read_text(encoding="utf-8", errors="replace").partition("\n\n")[0]
            found = dict(re.findall(r"^(Name|Version): *(.+?)\s*$", head, re.MULTILINE))
            if len(found) == 2 and found["Name"].lower() != "pip":
                out[found["Name"]] = found["Version"]
    return dict(sorted(out.items(), key=lambda item: item[0].lower()))


def _packages(lock: Mapping[str, str]) -> dict[str, str]:
    return {name: version for name, version in lock.items() if name != "python"}


def different(versions: Mapping[str, str], lock: Mapping[str, str]) -> str:
    """The first thing of a lock that is another one here; empty if nothing. Of Python only 3.11, say, must be equal,
    and what is here besides does not matter: venv itself brings setuptools, in a version of its Python."""
    for name, wanted in sorted(lock.items()):
        have = versions.get(name, "")
        if (_minor(have) != _minor(wanted)) if name == "python" else have != wanted:
            return f"{name} {have or 'is missing'}, expected {wanted}"
    return ""


def _minor(version: str) -> str:
    return ".".join(version.split(".")[:2])


# ---- which Python ---------------------------------------------------------------------------------------------------


def find_python(version: str) -> Path:
    """A Python of this version: the one that runs, or as found on the PATH, by pyenv or by uv."""
    for program in _candidates(version):
        found = _version_of(program)
        if found == version or found.startswith(f"{version}."):
            return program
    names = ", ".join(_names(version))
    uv = "uv has none" if shutil.which("uv") else "uv is not installed"
    raise NotMade(f"there is no Python {version} here: {names} on the PATH and {_pyenv()} were tried, and {uv}")


def _python_for(version: str, lock: Mapping[str, str]) -> Path:
    """The Python of a lock, else one of its kind."""
    if "python" in lock:
        with contextlib.suppress(NotMade):
            return find_python(lock["python"])
    return find_python(version)


def _names(version: str) -> list[str]:
    return [f"python{_minor(version)}", "python3", "python"]


def _pyenv() -> Path:
    return Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"


def _candidates(version: str) -> Iterator[Path]:
    yield Path(sys.executable)
    yield from (Path(found) for name in _names(version) if (found := shutil.which(name)))
    with contextlib.suppress(OSError):
        yield from sorted(_pyenv().glob(f"{version}*/bin/python"), key=_numbers, reverse=True)
    if uv := shutil.which("uv"):
        done = subprocess.run([uv, "python", "find", version], capture_output=True, text=True, check=False)
        yield from map(Path, done.stdout.split("\n")[: done.returncode == 0])


def _numbers(program: Path) -> list[int]:
    """By which 3.10.13 is newer than 3.10.9."""
    return [int(digits) for digits in re.findall(r"\d+", program.parts[-3])]


def _version_of(program: Path) -> str:
    """What a Python says of itself; empty if it is none."""
    ask = [str(program), "-c", "import platform; print(platform.python_version())"]
    try:
        done = subprocess.run(ask, capture_output=True, text=True, check=False, timeout=60, env={**os.environ, **APART})
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


# ---- all of them ----------------------------------------------------------------------------------------------------


def known() -> list[Environment]:
    """The environments that exist, the oldest first."""
    homes = sorted(place().iterdir()) if place().is_dir() else []
    return sorted(filter(None, map(_read, homes)), key=lambda found: found.made)


def unfinished() -> list[Path]:
    """What is left of environments that are not complete, unless somebody is making them now."""
    homes = sorted(place().iterdir()) if place().is_dir() else []
    return [home for home in homes if home.is_dir() and _read(home) is None and not _being_made(home)]


def remove(key: str) -> None:
    """Remove an environment, or what is left of one; whoever makes it now is waited for."""
    home = place() / key
    with locked(_lock_file(key)):
        if _being_made(home):
            raise WorkError(f"environment {key}: another process is making it")
        _clear(home)
        with contextlib.suppress(FileNotFoundError):
            home.rmdir()


# ---- telling --------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def telling(title: str) -> Iterator[Callable[[str], None]]:
    """Tell on stderr what is done for whom: on a terminal in one line that is gone at the end, else the first step."""
    terminal, began, shown = sys.stderr.isatty(), time.monotonic(), False

    def tell(step: str) -> None:
        nonlocal shown
        line = clean(f"{title}: {step}")
        if terminal:
            spent = duration(time.monotonic() - began)
            print(f"\r\x1b[K{shortened(f'{spent}  {line}', screen_width() - 1)}", end="", file=sys.stderr, flush=True)
        elif not shown:
            print(line, file=sys.stderr, flush=True)
        shown = True

    try:
        yield tell
    finally:
        if terminal and shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
