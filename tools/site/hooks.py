"""Pages of the site that are made, not written: each from the one place that says it.

The first page is README.md; tutorials are notebooks, too; commands are their own help; Python names are those of
`public.py`; examples are the files of `examples/`.
"""

from __future__ import annotations

import os
import posixpath
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
from notebooks import notebook
from public import MODULES, RETURNED, names_of

ROOT = Path(__file__).parents[2]
LANGUAGES = {".py": "python", ".c": "c", ".sh": "sh", ".js": "js", ".R": "r", ".toml": "toml"}
SCORES = ("stats", "views.fixed_cost", "views.fixed_target", "views.pareto", "views.anytime")
"""The modules with the functions of scores, which have a page of their own."""

MADE_OF = {
    "index.md": "README.md",
    "reference/changes.md": "CHANGELOG.md",
    "project/contributing.md": "CONTRIBUTING.md",
    "project/conduct.md": "CODE_OF_CONDUCT.md",
    "project/security.md": "SECURITY.md",
    "benchmarks/README.md": "benchmarks/README.md",
}
SOURCES = {**MADE_OF, "project/citing.md": "CITATION.cff"}
PAGES = {made_of: page for page, made_of in SOURCES.items()}


def on_files(files: Files, config: Any) -> Files:
    pages = {
        "reference/commands.md": _commands(),
        "reference/python.md": _python(),
        "reference/functions.md": _functions(),
        "reference/examples.md": _examples(),
        "project/citing.md": _citing(),
        **{page: _text(made_of) for page, made_of in MADE_OF.items()},
    }
    for page in (ROOT / "docs" / "tutorials").glob("*.md"):
        pages[f"tutorials/{page.stem}.ipynb"] = notebook(page)
    for place, text in pages.items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """Links to the repository's other files, as links within the site; tutorials can be downloaded."""
    if page.file.src_uri.startswith("tutorials/"):
        name = posixpath.basename(page.file.src_uri).replace(".md", ".ipynb")
        markdown += f"\n\n[Download this page as a notebook]({name})"
    if markdown.startswith("## "):  # a table that a script of benchmarks/ prints, and that is a page here
        markdown = re.sub(r"^#(#+ )", r"\1", markdown, flags=re.MULTILINE)
    up = "../" * page.file.src_uri.count("/")
    made_of = SOURCES.get(page.file.src_uri, f"docs/{page.file.src_uri}")

    def link(found: re.Match[str]) -> str:
        place = posixpath.normpath(posixpath.join(posixpath.dirname(made_of), found[1]))
        if place.startswith("examples"):
            return f"]({up}reference/examples.md{_anchor(place.removeprefix('examples/'))})"
        if place == "docs/benchmarks":
            return f"]({up}benchmarks/README.md)"
        return f"]({up}{PAGES.get(place, place.removeprefix('docs/'))}{found[2] or ''})"

    return re.sub(r"\]\((?!\w+:|#)([^)#\s]+)(#[^)\s]*)?\)", link, markdown)


def on_post_page(output: str, page: Any, **_: Any) -> str:
    """Nothing is fetched from elsewhere: the site works without a network."""
    if found := re.search(r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="(https?:[^"]*)"', output):
        raise PluginError(f"{page.file.src_uri} loads {found[1]}")
    return output


def _text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def _commands() -> str:
    """The help of every command, as the terminal shows it."""
    sys.path.insert(0, str(ROOT / "src"))
    from optarena.cli import COMMANDS

    parts = ["# Commands", "Each command's own help. `optarena --help` lists them in a terminal.", ""]
    for name, text in COMMANDS.items():
        said = _help(name)
        parts += [f"## {name}", text, "```text", said, "```", ""]
        if "COMMAND [" in said.splitlines()[0]:  # it has commands of its own
            for part in re.findall(r"^  (\w+)  ", said.partition("Examples:")[0], flags=re.MULTILINE):
                parts += [f"### {name} {part}", "```text", _help(name, part), "```", ""]
    return "\n\n".join(parts)


def _help(*names: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "COLUMNS": "100", "NO_COLOR": "1"}
    command = [sys.executable, "-m", "optarena", *names, "--help"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


def _python() -> str:
    """The public modules but those of the functions of scores, and what they return."""
    import optarena

    listed = "\n".join(f"- [`{module}`]({_place(module)})" for module in MODULES)
    parts = [
        "# Python",
        "These modules are public, with what this reference shows of them; the rest may change without notice.",
        listed,
        "Classes whose objects they return are [at the end of this page](#what-these-return).",
        "## optarena",
        "What `import optarena as oa` offers.",
    ]
    for name in names_of("optarena"):
        module, _, other = optarena._WHERE[name].partition(":")
        parts.append(_reference(f"{module}.{other or name}", name))
    for module in MODULES:
        if module != "optarena" and module.removeprefix("optarena.") not in SCORES:
            parts += [f"## {module}", *(_reference(f"{module}.{name}", name) for name in names_of(module))]
    parts += ["## What these return", "Import them from nowhere: calls return them."]
    parts += [_reference(f"{module}.{name}", name) for name, module in RETURNED.items()]
    return "\n\n".join(parts)


def _place(module: str) -> str:
    """Where the reference has a module."""
    page = "functions.md" if module.removeprefix("optarena.") in SCORES else "python.md"
    anchor = module if page == "functions.md" else module.replace(".", "")
    return f"{page}#{anchor}"


def _reference(identifier: str, heading: str) -> str:
    return f'::: {identifier}\n    options:\n      heading: "{heading}"\n      toc_label: "{heading}"'


def _functions() -> str:
    """The pure functions of the formulas."""
    parts = ["# Functions of scores", "Each cites its part of [every formula](../scores.md).", ""]
    for name in SCORES:
        parts += [
            f"::: optarena.{name}",
            "    options:",
            f'      heading: "optarena.{name}"',
            "      heading_level: 2",
            "",
        ]
    return "\n".join(parts)


def _citing() -> str:
    cite = _text("CITATION.cff")
    return f"# How to cite\n\nReference managers read [CITATION.cff](https://citation-file-format.github.io):\n\n```yaml\n{cite}```\n"


def _examples() -> str:
    parts = ["# Examples", ""]
    for file in sorted((ROOT / "examples").rglob("*")):
        if file.suffix in LANGUAGES:
            place = file.relative_to(ROOT / "examples").as_posix()
            parts += [
                f"## {place} {{ {_anchor(place)} }}",
                f"```{LANGUAGES[file.suffix]}",
                file.read_text("utf-8").rstrip(),
                "```",
                "",
            ]
    return "\n".join(parts)


def _anchor(place: str) -> str:
    return "#" + re.sub(r"\W+", "-", place) if place.strip("/") and "." in place else ""
