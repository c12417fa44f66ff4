"""Optimizers that are programs: any language, JSON lines in and out. Describing one takes a TOML file.

    [optimizer]
    command = ["./mine", "--fast"]    # beside this file, or found on the PATH; no shell is ever used
    files = ["mine.c"]                # what it is made of: if one changes, its studies are not continued
    seconds = 60                      # for one answer
    [optimizer.settings]
    width = 0.1                       # what may be set, with its default
    [environment]                     # where it runs in one of its own (docs/environments.md)
    python = "3.10"
    packages = ["HEBO==0.3.6"]

docs/protocol.md has what is said. Whatever goes wrong ends the study as failed, with the reason.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import msgspec
import numpy as np

from optarena._asking import CommandError, Patience, answered_costs, last_words, short, start, too_long
from optarena._damage import damage_named
from optarena._files import read_toml
from optarena._json import numbers, printable, strict
from optarena._numbers import counted
from optarena._programs import as_command, as_seconds, as_settings, find_program
from optarena._version import __version__
from optarena.children import Child, TooLong
from optarena.environments import Environment, NotMade, Wanted, as_wanted, is_worker, ready, telling
from optarena.errors import Exhausted, OptarenaError, SuggestionError, nearest
from optarena.optimizer import Capabilities, Optimizer
from optarena.registry import Reference
from optarena.space import Array, Space

REGISTERED = {"opens": [".toml"]}

PROTOCOL = 1
FIELDS = ("command", "files", "seconds", "settings")
RESERVED = ("self", "space", "objectives", "rng", "budget")
"""What every optimizer is made with: no names of settings."""
SECONDS = 300.0
"""For one answer, where a manifest says nothing: models can be slow, but nothing may hang for ever."""
SLOW_SECONDS = 2.0
LONGEST_ANSWER = 1 << 26
MOST_STRAY = 1000
"""Lines that are no answers, in the place of one."""
SEEDS = 2**31
ANSWERS = {
    "hello": ("protocol", "name", "version", "capabilities"),
    "start": ("cost",),
    "suggest": ("points", "exhausted", "cost"),
    "observe": ("cost",),
}
CAPABILITIES = ("batch", "unsuggested", "mixed", "one_objective", "several_objectives", "constraints", "uses_budget")
ANYTHING = Capabilities(several_objectives=True, constraints=True, array_native=True)
"""What is assumed of a program that did not say hello: its studies are planned, and fail with the reason."""


class Hello(msgspec.Struct, frozen=True):
    """What a program says of itself."""

    capabilities: Capabilities = ANYTHING
    version: str = ""
    trouble: str = ""
    """Why it said nothing."""


# ---- talking --------------------------------------------------------------------------------------------------------


class Conversation:
    """One life of a program: a request, its answer. After a failure it has ended, with all that it started."""

    def __init__(
        self, command: Sequence[str], directory: Path, seconds: float | None, added: Mapping[str, str] | None = None
    ) -> None:
        self._seconds = seconds
        self._asked = 0
        self._stray = b""
        self.killed = False
        """Whether it did not end by itself when it was told to."""
        self._child: Child | None = start(command, directory, added, longest=LONGEST_ANSWER)

    def ask(self, call: str, **fields: Any) -> dict[str, Any]:
        """A request, and the answer to it."""
        child = self._child
        if child is None:
            raise CommandError("it has ended")
        self._asked += 1
        request = {"id": self._asked, "call": call, **fields}
        try:
            self._refuse_unasked(child)
            child.say(msgspec.json.encode(request) + b"\n")
            return self._answer(call, self._line(child))
        except BaseException as error:
            self.end(now=True)
            first = "" if call in ("suggest", "observe") else f"{call}: "  # which the loop says itself
            if isinstance(error, CommandError):
                raise CommandError(f"{first}{error}{self._aside()}{last_words(child)}", error.costs) from None
            if isinstance(error, TimeoutError):
                raise TimeoutError(f"{first}{error}{self._aside()}{last_words(child)}") from None
            raise

    def end(self, *, now: bool = False) -> None:
        """Say that nothing more will be asked, and see to it that it ends."""
        if self._child is None:
            return
        child, self._child = self._child, None
        try:
            if not now:
                child.say(b'{"id":%d,"call":"close"}\n' % (self._asked + 1), last=True)
                child.look(0.0)
        finally:
            child.end(now=now)
            self.killed = not now and child.code() in (-signal.SIGTERM, -signal.SIGKILL)

    def _refuse_unasked(self, child: Child) -> None:
        """What it said since its last answer must not be taken for the next one."""
        try:
            child.listen()
        except TooLong as error:
            raise too_long(child, error) from None
        while child.heard and (line := child.line()) is not None:
            if not self._is_stray(line):
                raise CommandError(f"wrote {short(line)} before it was asked")

    def _line(self, child: Child) -> bytes:
        """The next line that is an answer; others are skipped."""
        patience = Patience(self._seconds)
        try:
            for _ in range(MOST_STRAY):
                line = patience.line(child)
                if not self._is_stray(line):
                    return line
        except TooLong as error:
            raise too_long(child, error) from None
        raise CommandError(f"wrote {MOST_STRAY:,} lines that are no answers")

    def _is_stray(self, line: bytes) -> bool:
        """Whether a line is no answer, but something that a library prints."""
        if line.lstrip().startswith(b"{"):
            return False
        self._stray = self._stray or line.strip()[:200]
        return True

    def _aside(self) -> str:
        return f" (it also wrote {short(self._stray)}, which is no answer)" if self._stray else ""

    def _answer(self, call: str, line: bytes) -> dict[str, Any]:
        try:
            answer = msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            raise CommandError(f"answered {short(line)}, which is not JSON") from None
        if answer.get("id") != self._asked or isinstance(answer["id"], bool):
            raise CommandError(f"answered {short(line)}, which lacks the id of the request, {self._asked}")
        known = ("id", "error", *ANSWERS[call])
        for key in answer:
            if key not in known:
                raise CommandError(
                    f"answered with an unknown {short(key)}.{nearest(key, known)} (known: {', '.join(known)})"
                )
        if answer.get("error") is not None:
            costs = answered_costs(answer) if "cost" in known else {}
            raise CommandError(printable(str(answer["error"]))[:400], costs)
        return answer


def hello(conversation: Conversation) -> Hello:
    """Ask it what it can do."""
    said = conversation.ask("hello", protocol=PROTOCOL, optarena=__version__)
    if said.get("protocol") != PROTOCOL or isinstance(said["protocol"], bool):
        raise CommandError(f"hello: it speaks protocol {short(said.get('protocol'))}, expected {PROTOCOL}")
    given = said.get("capabilities", {})
    if not isinstance(given, dict):
        raise CommandError(f"hello: capabilities must be an object, got {short(given)}")
    for key, value in given.items():
        if key not in CAPABILITIES:
            known = ", ".join(CAPABILITIES)
            raise CommandError(f"hello: no capability {short(key)}.{nearest(key, CAPABILITIES)} (known: {known})")
        if not isinstance(value, bool):
            raise CommandError(f"hello: the capability {key} must be true or false, got {short(value)}")
    if not (given.get("one_objective", True) or given.get("several_objectives", False)):
        raise CommandError("hello: it takes neither one objective nor several")
    words = [said.get(key, "") for key in ("name", "version")]
    if not all(isinstance(word, str) for word in words):
        raise CommandError(f"hello: name and version must be texts, got {short(words)}")
    version = printable(" ".join(filter(None, words)))[:100]
    return Hello(Capabilities(**given, array_native=True), version)


# ---- the optimizer --------------------------------------------------------------------------------------------------


class CommandOptimizer(Optimizer):
    """The base of the classes that `open_reference` makes of files."""

    manifest: ClassVar[str] = ""
    command: ClassVar[list[str]] = []
    directory: ClassVar[Path] = Path()
    seconds: ClassVar[float | None] = SECONDS
    environment: ClassVar[Environment | None] = None
    said: ClassVar[Hello] = Hello()
    _conversation: Conversation | None = None

    def __init__(
        self,
        space: Space,
        *,
        objectives: int = 1,
        rng: np.random.Generator | None = None,
        budget: int | None = None,
        **settings: Any,
    ) -> None:
        super().__init__(space, objectives=objectives, rng=rng, **settings)
        if self.said.trouble:
            raise CommandError(self.said.trouble)
        added = None if self.environment is None else self.environment.variables
        self._conversation = Conversation(self.command, self.directory, self.seconds, added)
        try:
            if hello(self._conversation) != self.said:
                raise CommandError("hello: it says something else than when the study was planned")
            self._ask("start", **self._first(budget))
        except BaseException:
            self._conversation.end(now=True)
            raise

    def _first(self, budget: int | None) -> dict[str, Any]:
        """What a study begins with."""
        return {
            "space": [{"name": name, **line} for name, line in self.space.config.items()],
            "objectives": self.objectives,
            "seed": int(self.rng.integers(SEEDS)),
            "budget": budget,
            "settings": strict(self.chosen),
        }

    @classmethod
    def versions(cls, chosen: Mapping[str, Any]) -> dict[str, str]:  # noqa: ARG003
        locked = {} if cls.environment is None else cls.environment.versions
        return locked | ({cls.__name__: cls.said.version} if cls.said.version else {})

    def _ask(self, call: str, **fields: Any) -> dict[str, Any]:
        assert self._conversation is not None
        try:
            answer = self._conversation.ask(call, **fields)
        except CommandError as error:
            self.charge(**error.costs)
            raise
        if "cost" in answer:
            self.charge(**answered_costs(answer))
        return answer

    def suggest(self, n: int) -> Array:
        answer = self._ask("suggest", n=n)
        if (reason := answer.get("exhausted")) is not None:
            if not isinstance(reason, str):
                raise CommandError(f"exhausted must be a text that says why, got {short(reason)}")
            raise Exhausted(printable(reason)[:400])
        points = answer.get("points")
        if not isinstance(points, list):
            raise SuggestionError("the answer has no list of points")
        if len(points) != n:
            raise SuggestionError(f"suggest({n}) returned {counted(len(points), 'point')}")
        names, rows = self.space.names, []
        for i, point in enumerate(points):
            if not isinstance(point, list) or len(point) != len(names):
                raise SuggestionError(f"point {i} is not a list of {len(names)} values but {short(point)}")
            rows.append(dict(zip(names, point, strict=True)))
        return self.space.to_matrix(rows)

    def observe(self, X: Array, y: Array, violations: Array | None = None) -> None:
        told = {} if violations is None else {"violations": [numbers(row) for row in violations.tolist()]}
        self._ask("observe", points=self.space.to_rows(X), values=[numbers(row) for row in y.tolist()], **told)

    def close(self) -> None:
        if self._conversation is not None:
            self._conversation.end()

    @property
    def killed(self) -> bool:
        """Whether the program did not end by itself when it was closed."""
        return self._conversation is not None and self._conversation.killed

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            if self._conversation is not None:
                self._conversation.end(now=True)


# ---- the file -------------------------------------------------------------------------------------------------------


class Manifest(msgspec.Struct, frozen=True):
    """What a TOML file says of a program, checked."""

    path: Path
    command: list[str]
    files: list[str]
    seconds: float
    settings: dict[str, Any]
    wanted: Wanted | None = None
    """The environment that it needs."""

    @classmethod
    def load(cls, path: Path) -> Manifest:
        """Read a file; a mistake is one sentence."""
        data = read_toml(path)
        table = data.pop("optimizer", None)
        if not isinstance(table, dict):
            raise OptarenaError(f"{path}: no table [optimizer]; an optimizer has a command (docs/protocol.md)")
        environment = data.pop("environment", None)
        for key in data:
            under = f"; is it [optimizer.{key}], or a field of [optimizer]?" if key in FIELDS else ""
            both = "[optimizer] and [environment]"
            raise OptarenaError(f"{path}: {key}: there is nothing but {both} in such a file{under}")
        try:
            with damage_named("its fields", "those of an optimizer"):
                where = path.resolve().parent
                wanted = None if environment is None else as_wanted(environment, where)
                return cls._read(table, path.resolve(), wanted)
        except OptarenaError as error:
            raise error.within(str(path)) from error

    @classmethod
    def _read(cls, table: dict[str, Any], path: Path, wanted: Wanted | None) -> Manifest:
        for key in table:
            if key not in FIELDS:
                known = ", ".join(FIELDS)
                raise OptarenaError(f"no such field.{nearest(key, FIELDS)} (known: {known})", field=f"optimizer.{key}")
        if "command" not in table:
            raise OptarenaError("missing", field="optimizer.command")
        words = as_command(table["command"], "['./mine', '--fast']")
        later = wanted is not None and "/" not in words[0]  # a program of its environment, perhaps
        installed = [name for name in wanted.packages if name.startswith("/")] if wanted is not None else []
        return cls(
            path,
            [words[0] if later else find_program(words[0], path.parent, None), *words[1:]],
            _files(table.get("files"), words, path.parent) + installed,
            as_seconds(table.get("seconds", SECONDS)),
            as_settings(table.get("settings", {}), "settings", RESERVED),
            wanted,
        )

    @property
    def parts(self) -> list[Path]:
        """All files that it takes to run it: itself, its files, and those of its command."""
        named = [*self.files, *_files(None, self.command, self.path.parent)]
        program = [self.command[0]] if "/" in self.command[0] else []
        return list(dict.fromkeys([self.path, *(self.path.parent / name for name in [*named, *program])]))

    @property
    def source(self) -> str:
        """The hash of the file and of those that belong to it."""
        digest = hashlib.sha256(self.path.read_bytes())
        for name in self.files:
            content = (self.path.parent / name).read_bytes()
            label = Path(name).name if name.startswith("/") else name
            digest.update(f"\0{label}\0{len(content)}\0".encode("utf-8", "surrogateescape") + content)
        return digest.hexdigest()[:16]


def _files(given: Any, words: list[str], directory: Path) -> list[str]:
    """The files that belong to a program: those that are listed, else the words of its command that are files.

    `mine.py:Mine` is a class of one.
    """
    if given is None:
        beside = [word for word in words[1:] + words[:1] * ("/" in words[0]) if not Path(word).is_absolute()]
        parts = [part for word in beside for part in dict.fromkeys([word, word.partition(":")[0]]) if part]
        return [part for part in parts if os.path.isfile(directory / part)]  # noqa: PTH113 (a word may be any text)
    if not isinstance(given, list) or not all(isinstance(name, str) and name and "\0" not in name for name in given):
        raise OptarenaError(f"expected a list of files, got {given!r}", field="files")
    for name in given:
        if not (directory / name).is_file():
            raise OptarenaError(f"there is no file {directory / name}", field="files")
    return given


_made: dict[tuple[Path, str], type[CommandOptimizer]] = {}
"""Programs that have said hello to this process."""


def open_reference(reference: Reference) -> type[CommandOptimizer]:
    """The class of the optimizer that a TOML file describes; the program is asked what it can do."""
    manifest = Manifest.load(reference.path)
    key = manifest.path, manifest.source
    known = _made.get(key)
    if known is not None and (known.said.trouble or known.environment is None or known.environment.program.exists()):
        return known
    said, environment = _greeted(manifest)
    made = type(
        manifest.path.stem,
        (CommandOptimizer,),
        {
            "__doc__": f"The program that {manifest.path.name} describes.",
            "manifest": manifest.path.name,
            "command": manifest.command,
            "directory": manifest.path.parent,
            "seconds": manifest.seconds,
            "settings": manifest.settings,
            "environment": environment,
            "said": said,
            "capabilities": said.capabilities,
        },
    )
    if not said.trouble or is_worker():  # what failed may work in the next run, but is not waited for in each study
        _made[key] = made
    return made


def source_of(reference: Reference) -> str:
    """The hash of what it is made of."""
    return Manifest.load(reference.path).source


def _greeted(manifest: Manifest) -> tuple[Hello, Environment | None]:
    """What the program says of itself, or why it says nothing: then its studies fail, and others go on."""
    environment = None
    try:
        if manifest.wanted is not None:
            environment = ready(manifest.wanted, manifest.path.name)
        added = None if environment is None else environment.variables
        conversation = Conversation(manifest.command, manifest.path.parent, manifest.seconds, added)
        try:
            with _telling_of_slow(manifest.path.name):
                return hello(conversation), environment
        finally:
            conversation.end()
    except (CommandError, TimeoutError, NotMade) as error:
        return Hello(trouble=str(error)), environment


@contextlib.contextmanager
def _telling_of_slow(name: str) -> Iterator[None]:
    """Say whom a plan waits for, if it waits long; a worker says nothing."""
    if is_worker():
        yield
        return
    with telling(name) as tell:
        timer = threading.Timer(SLOW_SECONDS, tell, ["waiting for its answer to hello"])
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
