"""Data flows one way: no module imports what stands on its right, when it is loaded or later in a function."""

from __future__ import annotations

import ast
import importlib
from collections import defaultdict
from pathlib import Path

import pytest

import optarena

SOURCE = Path(optarena.__file__).parent
ROOT = Path(__file__).parent.parent

# Left to right. A room imports those before it; rooms of one line do not import each other.
FLOW = [
    ["_version", "_json", "_memory", "_numbers", "_order", "_process", "_widths", "costs", "sense", "status", "traces"],
    ["_text"],
    ["errors"],
    ["_damage"],
    [
        "_files",
        "_global_state",
        "_known_fronts",
        "_losses",
        "_scratch",
        "_patterns",
        "_services",
        "_source",
        "settings",
        "space",
        "staircase",
    ],
    ["registry", "_bayesmark_encoding", "_bayesmark_names", "_lattice"],
    ["problem"],
    ["instance", "optimizer"],
    ["solver"],
    ["_programs", "children"],
    ["_asking", "environments"],
    ["problems", "optimizers", "solvers"],
    ["experiment"],
    ["store"],
    ["dataset"],
    ["runner", "stats"],
    ["testing", "formats", "views"],
    ["bayesmark", "comparison"],
    ["report"],
    ["facade"],
    ["archive", "trying", "serve"],
    ["cli"],
    ["__main__", "__init__"],
]
PLACE = {room: i for i, line in enumerate(FLOW) for room in line}


def modules() -> dict[str, Path]:
    out = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 1 else parts)
        out[name] = path
    return out


MODULES = modules()


def imports(module: str) -> set[str]:
    """The modules of ours that a module imports, anywhere in it; names for the type checker only are none."""
    tree = ast.parse(MODULES[module].read_text(encoding="utf-8"))
    typing_only = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    found = set()
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "optarena":
            assert not node.level, f"{module}: relative imports hide where they lead"
            parent = node.module.removeprefix("optarena").lstrip(".")
            for alias in node.names:
                full = f"{parent}.{alias.name}".lstrip(".")
                found.add(full if full in MODULES else parent or "__init__")
        elif isinstance(node, ast.Import):
            found |= {
                alias.name.removeprefix("optarena.") for alias in node.names if alias.name.startswith("optarena.")
            }
    return found


GRAPH = {module: imports(module) for module in MODULES}


def room(module: str) -> str:
    return module.split(".")[0]


def test_every_room_has_a_place_in_the_flow():
    assert {room(module) for module in MODULES} == set(PLACE)


@pytest.mark.parametrize("module", sorted(MODULES))
def test_no_import_points_to_the_right(module):
    wrong = [
        other
        for other in sorted(GRAPH[module])
        if room(other) != room(module) and PLACE[room(other)] >= PLACE[room(module)]
    ]
    assert not wrong, f"{module} imports {', '.join(wrong)}"


def test_no_modules_import_each_other_in_a_circle():
    assert not circles(GRAPH)


def test_a_circle_is_found():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules that reach each other (Tarjan's strongly connected components, without recursion)."""
    reach: dict[str, set[str]] = defaultdict(set)
    for start in graph:
        todo = [start]
        while todo:
            for other in graph.get(todo.pop(), ()):
                if other not in reach[start]:
                    reach[start].add(other)
                    todo.append(other)
    groups = {frozenset(b for b in reach[a] if a in reach[b]) for a in graph if a in reach[a]}
    return sorted(sorted(group) for group in groups)


SCRIPTS = sorted(
    path
    for folder in ("benchmarks", "examples", "tools")
    for path in (ROOT / folder).rglob("*.py")
    if not {"node_modules", ".peers"} & set(path.parts)  # installed, not ours
)


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_scripts_import_what_exists(script):
    for node in ast.walk(ast.parse(script.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "optarena":
            module = importlib.import_module(node.module)
            for alias in node.names:
                assert hasattr(module, alias.name) or importlib.import_module(f"{node.module}.{alias.name}")
