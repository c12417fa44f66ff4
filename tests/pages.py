"""Runs what README.md and docs/ print, as it is printed.

A page runs from top to bottom in a fresh directory that has the repository's `examples/`.

- A block `console`: lines that begin with `$ ` are typed into one shell, which the page shares. A command must end
  with 0, but if its message is printed (`optarena: …`) it must be refused. If lines follow a command, they are its
  output: a line `…` or `...` stands for any lines, a `…` within a line for any text.
  `python tests/pages.py --write docs/compare.md` renews what is printed. A block `text` right after it is what its last
  command once printed: `--write` renews it, but it is not compared, as times and drawn seeds differ.
- A block whose title is a file (```` ```csv title="old.csv" ````), or whose first line is `# mine.py`, is that file;
  a second block of the same file is added to it.
- Other blocks `python` run in one interpreter, which the whole page shares. Where the comment behind an expression
  begins with a value (`# 1.0`, `# None: undecided`), that is the result. A block `text` right after it is what it
  prints.
- A picture that lies beside its page (`![…](fronts.svg)`) is one that the page's run has written; `--write` renews it,
  and those of other folders that have the name of a file that was written.
- What would install something or run everything (make, pip, apt-get) is not run; its targets and extras must exist.
- Where an extra is missing, the rest of the page is left out: a test that is skipped.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from warm import client

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
FENCE = re.compile(r"(?P<indent> *)```(?P<kind>\w+)(?: title=\"(?P<title>[^\"]+)\")?\n")
FILE = re.compile(r"# ([\w./-]+\.(?:py|toml|csv|json))\b")
PICTURE = re.compile(r"!\[[^\]]*\]\((?P<file>[^)\s]*)\)")
ANY_LINES = ("…", "...")
NOT_RUN = ("make", "pip", "apt-get")


class MissingExtra(Exception):
    """A command needs a package that is not installed here."""


@dataclass
class Typed:
    """A command of a page, and the lines that the page prints below it."""

    text: str
    first: int
    """The line of the page after the command, counted from 0."""
    printed: list[str] = field(default_factory=list)


@dataclass
class Block:
    """A fenced block: its kind, its title, the page's line of its first line (from 0), and its text."""

    kind: str
    title: str
    first: int
    text: str
    after: str
    """The kind of the block right before it, with nothing between them."""

    @property
    def file(self) -> str:
        """The file that it is, if it is one."""
        named = FILE.match(self.text) if self.kind in ("python", "toml") else None
        return self.title or (named[1] if named else "")

    def commands(self) -> list[Typed]:
        out: list[Typed] = []
        for number, line in enumerate(self.text.splitlines(), self.first):
            if line.startswith("$ "):
                out.append(Typed(line[2:], number + 1))
            elif not out:
                raise ValueError(f"line {number + 1}: a block of commands begins with $")
            elif out[-1].text.endswith("\\") and not out[-1].printed:
                out[-1].text += "\n" + line
                out[-1].first = number + 1
            else:
                out[-1].printed.append(line)
        return out


@dataclass
class Wrong:
    """Where a page differs from what happens."""

    page: str
    line: int
    said: str
    printed: list[str] | None = None
    found: list[str] | None = None

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.said}"


def all_pages() -> list[str]:
    """The pages that have something to run."""
    files = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
    return [
        str(file.relative_to(ROOT))
        for file in files
        if any(block.kind in ("console", "python") for block in blocks(file.read_text(encoding="utf-8")))
    ]


def in_sentences() -> Iterator[tuple[str, list[str]]]:
    """The commands that stand in sentences, each with its page: the words after `optarena`, but for dots."""
    for file in [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]:
        text = re.sub(r"^ *```.*?^ *```$", "", file.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
        for command in re.findall(r"`optarena ([^`]+)`", text):
            yield str(file.relative_to(ROOT)), [word for word in shlex.split(command) if word not in ANY_LINES]


def blocks(text: str) -> Iterator[Block]:
    """The fenced blocks of a page, without their indentation."""
    lines = text.splitlines(keepends=True)
    i, before, end = 0, "", -1
    while i < len(lines):
        fence = FENCE.fullmatch(lines[i])
        if fence is None:
            if lines[i].strip().startswith("```"):  # no kind: what is in it is no block of ours
                i = _closing(lines, i)
            i += 1
            continue
        close = _closing(lines, i)
        between = "".join(lines[end + 1 : i]).strip()
        inside = textwrap.dedent("".join(lines[i + 1 : close]))
        yield Block(fence["kind"], fence["title"] or "", i + 1, inside, "" if between else before)
        before, end, i = fence["kind"], close, close + 1


def _closing(lines: list[str], opening: int) -> int:
    return next(i for i in range(opening + 1, len(lines)) if lines[i].strip() == "```")


# ---- what runs them -------------------------------------------------------------------------------------------------

MARK = "the-command-has-ended"
INTERPRETER = f"""
import ast, contextlib, io, sys, traceback
sys.path.insert(0, "")
names = {{"__name__": "__main__"}}
for line in sys.stdin:
    code, file = 0, line.strip()
    try:
        text = open(file, encoding="utf-8").read()
        lines = text.splitlines()
        for node in ast.parse(text).body:
            if not isinstance(node, ast.Expr):
                exec(compile(ast.Module([node], []), file, "exec"), names)
                continue
            value = eval(compile(ast.Expression(node.value), file, "eval"), names)
            _, _, told = lines[node.end_lineno - 1][node.end_col_offset:].partition("#")
            for end in (len(told), *(i for i, sign in enumerate(told) if sign == ":")):
                try:
                    wanted = ast.literal_eval(told[:end].strip())
                except (ValueError, SyntaxError):
                    continue
                value = value.tolist() if hasattr(value, "tolist") else value
                if not (value == wanted or str(value) == str(wanted)):
                    raise AssertionError(f"line {{node.lineno}}: {{value!r}}, but the page says {{wanted!r}}")
                break
    except BaseException:
        traceback.print_exc()
        code = 1
    print("\\n{MARK}", code, flush=True)
"""


class Session:
    """A program that takes one thing to do per line, and says when it is done."""

    def __init__(self, words: list[str], directory: Path, environment: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            words, cwd=directory, env=environment, text=True, encoding="utf-8",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def do(self, text: str) -> tuple[int, list[str]]:
        """Its exit code, and the lines that it printed."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(text)
        self.process.stdin.flush()
        out = []
        for line in self.process.stdout:
            if line.startswith(MARK):
                out[-1:] = [] if out and not out[-1].strip() else out[-1:]
                return int(line.split()[1]), [line.rstrip() for line in "".join(out).rstrip("\n").split("\n") if out]
            out.append(line)
        return 1, [*out, "(the session has ended)"]

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def programs(folder: Path) -> None:
    """What an installation puts on the PATH: the project's scripts, and `python`; `interpreter` is that of a page."""
    folder.mkdir()
    for name, target in PROJECT["scripts"].items():
        client(folder / name, target)
    (folder / "python").write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n')
    (folder / "python").chmod(0o755)
    client(folder / "interpreter", "python")
    (folder / "interpreter.py").write_text(INTERPRETER, encoding="utf-8")


def run_page(page: str, directory: Path, examples: list[Wrong] | None = None) -> list[Wrong]:
    """Run a page in an empty directory; where it differs from what happens. To `examples`: what is not compared."""
    text = (ROOT / page).read_text(encoding="utf-8")
    here = directory / "here"
    here.mkdir()
    shutil.copytree(ROOT / "examples", here / "examples")
    programs(directory / "bin")
    environment = {
        **os.environ,
        "PATH": f"{directory / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT / "src"),
        "COLUMNS": "80",
        "PS1": "",
    }
    shell = Session(["bash"], here, environment)
    python = Session([str(directory / "bin" / name) for name in ("interpreter", "interpreter.py")], here, environment)
    wrong: list[Wrong] = []
    said: list[str] = []
    try:
        for number, block in enumerate(blocks(text)):
            if block.file:
                if block.kind != "console":
                    (here / block.file).parent.mkdir(parents=True, exist_ok=True)
                    with (here / block.file).open("a", encoding="utf-8") as stream:
                        stream.write(block.text)
            elif block.kind == "console":
                for typed in block.commands():
                    said, differs = _type(page, typed, shell)
                    wrong += differs
            elif block.kind == "python":
                file = directory / f"snippet-{number}.py"
                file.write_text(block.text, encoding="utf-8")
                code, said = python.do(f"{file}\n")
                if code:
                    _refuse_missing(said)
                    wrong.append(Wrong(page, block.first + 1, "the snippet fails:\n" + "\n".join(said)))
            elif block.kind == "text" and block.after == "python":
                printed = block.text.splitlines()
                if not same(printed, said):
                    wrong.append(_other(page, block.first, "the snippet", printed, said))
            elif block.kind == "text" and block.after == "console" and examples is not None:
                examples.append(_other(page, block.first, "the last command", block.text.splitlines(), said))
        wrong += [
            Wrong(page, number, f"nothing writes {picture['file']}")
            for number, line in enumerate(text.splitlines(), 1)
            for picture in PICTURE.finditer(line)
            if "/" not in picture["file"] and not (here / picture["file"]).is_file()
        ]
    finally:
        shell.close()
        python.close()
    return wrong


def _type(page: str, typed: Typed, shell: Session) -> tuple[list[str], list[Wrong]]:
    """What a command prints, and what is wrong."""
    words = shlex.split(typed.text, comments=True)
    if words and words[0] in NOT_RUN:
        return [], [Wrong(page, typed.first, said) for said in _not_there(words)]
    code, found = shell.do(f"{{ {typed.text}\n}} </dev/null\nprintf '\\n{MARK} %d\\n' $?\n")
    refused = any(line.startswith("optarena: ") for line in typed.printed)
    if bool(code) != refused:
        _refuse_missing(found)
        return found, [Wrong(page, typed.first, f"exit {code} of {typed.text}\n" + "\n".join(found[-20:]))]
    if typed.printed and not same(typed.printed, found):
        return found, [_other(page, typed.first, typed.text, typed.printed, found)]
    return found, []


def _other(page: str, line: int, what: str, printed: list[str], found: list[str]) -> Wrong:
    said = "\n".join([f"{what} prints", *found, "but the page has", *printed])
    return Wrong(page, line, said, printed, found)


def _refuse_missing(found: list[str]) -> None:
    said = " ".join(" ".join(found).split())  # the terminal may have broken it anywhere
    if missing := re.search(r"([\w-]+ is not installed: )?pip install 'optarena\[.*?\]'", said):
        raise MissingExtra(missing[0])


def _not_there(words: list[str]) -> list[str]:
    """What a command names that the project does not have."""
    if words[0] == "make":
        targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        return [f"the Makefile has no target {word}" for word in words[1:] if word not in targets]
    extras = re.findall(r"(?:optarena|\.)\[([\w,-]+)\]", " ".join(words))
    known = PROJECT["optional-dependencies"]
    return [f"there is no extra {name}" for names in extras for name in names.split(",") if name not in known]


def same(printed: list[str], found: list[str]) -> bool:
    """Whether lines of a page are the lines that were found, where `…` stands for anything."""
    pattern = ""
    for line in printed:
        if line.strip() in ANY_LINES:
            pattern += r"(?:[^\n]*\n)*?"
        else:
            pattern += r"[^\n]*?".join(map(re.escape, line.rstrip().split("…"))) + r"\n"
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in found)) is not None


def smaller(svg: str) -> str:
    """The same picture to a tenth of a point: steps of curves that cannot be seen are left out."""

    def path(found: re.Match[str]) -> str:
        points: list[list[str]] = []
        for point in (step.split(",") for step in found[1].split("L")):
            if len(points) > 1 and any(points[-2][i] == points[-1][i] == point[i] for i in (0, 1)):
                points.pop()
            if not points or points[-1] != point:
                points.append(point)
        return 'd="M' + "L".join(map(",".join, points)) + '"'

    svg = re.sub(r"-?\d+\.\d+", lambda number: f"{float(number[0]):.1f}".removesuffix(".0"), svg)
    return re.sub(r'd="M((?:-?[\d.]+,-?[\d.]+L?)+)"', path, svg)


def renew(page: str, directory: Path) -> list[Wrong]:
    """Put what commands print into a page, and what they draw beside it; what is wrong beyond that."""
    examples: list[Wrong] = []
    wrong = run_page(page, directory, examples)
    text = (ROOT / page).read_text(encoding="utf-8")
    for picture in PICTURE.finditer(text):
        drawn, place = directory / "here" / Path(picture["file"]).name, (ROOT / page).parent / picture["file"]
        if drawn.suffix == ".svg" and drawn.is_file():
            place.write_text(smaller(drawn.read_text(encoding="utf-8")), encoding="utf-8")
        elif drawn.is_file():
            shutil.copy(drawn, place)
    lines = text.splitlines()
    for place in sorted((w for w in [*wrong, *examples] if w.printed is not None), key=lambda w: -w.line):
        assert place.found is not None
        lines[place.line : place.line + len(place.printed or ())] = place.found
    (ROOT / page).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return [w for w in wrong if w.printed is None]


if __name__ == "__main__":
    import tempfile

    write = "--write" in sys.argv[1:]
    for name in [word for word in sys.argv[1:] if word != "--write"] or all_pages():
        with tempfile.TemporaryDirectory() as folder:
            try:
                for place in (renew if write else run_page)(name, Path(folder)):
                    print(place)
            except MissingExtra as missing:
                print(f"{name}: left out from here on: {missing}")
