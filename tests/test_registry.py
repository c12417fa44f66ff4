"""References, registries, what adapters declare of themselves, and what the contracts may import."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import importlib.util
import pickle
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import optarena as oa
from optarena.cli import main
from optarena.errors import OptarenaError
from optarena.formats import FORMATS
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.problem import SUITES, build
from optarena.registry import Entry, Reference, Registry, declarations
from optarena.solver import SOLVERS

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "optarena"
EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
REGISTRIES = {"optimizers": OPTIMIZERS, "solvers": SOLVERS, "problems": SUITES, "formats": FORMATS}
DECLARED = [(package, *item) for package in REGISTRIES for item in declarations(package)]
ADAPTERS = sorted(
    path.stem
    for path in (SOURCE / "optimizers").glob("[!_]*.py")
    if path.stem not in ("closed_loop", "isolated")  # a base that anyone may build upon, and one for all of ours
)

# ---- references -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind", "place", "part", "short", "title"),
    [
        ("CMA-ES", "name", "", "", "CMA-ES", "CMA-ES"),
        ("a/mine.py:Near", "object", "a/mine.py", "Near", "mine.py:Near", "Near"),
        ("a/mine.py", "file", "a/mine.py", "", "mine.py", "mine"),
        ("a/turbo/optimizer.py", "file", "a/turbo/optimizer.py", "", "turbo/optimizer.py", "turbo"),
        ("a/simulate.toml", "manifest", "a/simulate.toml", "", "simulate.toml", "simulate"),
        ("simulate.toml", "manifest", "simulate.toml", "", "simulate.toml", "simulate"),
        ("a/clf-mine.csv:SVM_nll", "file", "a/clf-mine.csv", "SVM_nll", "clf-mine.csv:SVM_nll", "SVM_nll"),
        ("a/p.mps.gz", "file", "a/p.mps.gz", "", "p.mps.gz", "p.mps.gz"),
        ("a/g.mzn:09.dzn", "file", "a/g.mzn", "09.dzn", "g.mzn:09.dzn", "09.dzn"),
        ("wrappers:Near", "folder", "wrappers", "Near", "wrappers:Near", "Near"),
        ("a/turbo", "folder", "a/turbo", "", "turbo", "turbo"),
    ],
)
def test_a_reference_is_a_name_an_object_a_manifest_a_file_or_a_folder(text, kind, place, part, short, title):
    found = Reference.of(text, folders=True)
    assert (found.kind, found.place, found.part, found.short, found.title) == (kind, place, part, short, title)
    assert found.on_disk == (kind != "name")


def test_ids_of_problems_are_no_folders():
    assert SUITES.reference("bbob/f1/d5/i3").kind == "name"
    assert OPTIMIZERS.reference("bbob/f1/d5/i3").kind == "folder"


def test_files_are_relative_to_the_base_else_to_the_current_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Reference.of("a/b.py:c").path == tmp_path / "a" / "b.py"
    assert Reference.of("a/b.py:c").absolute == f"{tmp_path}/a/b.py:c"
    assert Reference.of("a/b.py:c", Path("/elsewhere")).path == Path("/elsewhere/a/b.py")
    assert Reference.of("CMA-ES").absolute == "CMA-ES"


def test_a_missing_object_is_named_with_the_nearest(tmp_path):
    (tmp_path / "mine.py").write_text("class Nearest: ...\n")
    with pytest.raises(OptarenaError, match=r"mine.py has no 'Neerest'. Did you mean 'Nearest'\?"):
        Reference.of("mine.py:Neerest", tmp_path).load()
    with pytest.raises(OptarenaError, match="there is no file"):
        Reference.of("other.py:Nearest", tmp_path).load()


def test_a_python_file_without_an_object_is_no_problem_and_says_what_to_write(tmp_path):
    (tmp_path / "mine.py").touch()
    with pytest.raises(OptarenaError, match=r"mine\.py: name what is meant in it, such as mine\.py:NAME"):
        build("mine.py", tmp_path)
    (tmp_path / "mine.py").write_text("def _own(x): ...\ndef loss(x): ...\n")
    with pytest.raises(OptarenaError, match=r"such as mine\.py:loss"):
        build("mine.py", tmp_path)


# ---- what is declared -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_module_of_optimizers_declares_itself(name):
    declared = dict(declarations("optimizers"))
    assert f"optarena.optimizers.{name}" in declared, f"{name}.py has no REGISTERED (see optarena/registry.py)"


@pytest.mark.parametrize("name", ADAPTERS)
def test_an_adapter_of_a_library_has_its_licence_and_its_extra(name):
    """What it imports of others must be installed by optarena itself or by its extra."""
    declared = dict(declarations("optimizers")).get(f"optarena.optimizers.{name}", {})
    foreign = _foreign(SOURCE / "optimizers" / f"{name}.py")
    if declared.get("library", "optarena") != "optarena":
        assert declared.get("licence"), f"{name}.py: REGISTERED has no licence"
    if foreign:
        assert declared.get("library"), f"{name}.py imports {foreign}, and REGISTERED names no library"
        assert declared.get("extra"), f"{name}.py imports {foreign}, and REGISTERED names no extra"
    for entry in OPTIMIZERS.built_in.values():
        if entry.target.startswith(f"optarena.optimizers.{name}:"):
            assert entry.extra is None or entry.extra in EXTRAS, f"pyproject.toml has no extra {entry.extra!r}"
            assert bool(entry.extra) == bool(entry.needs)


def test_every_extra_of_a_library_is_in_all_unless_its_licence_forbids():
    installed, todo = set(), ["all"]
    while todo:
        inner = re.findall(r"optarena\[([a-z-]+)\]", " ".join(EXTRAS[todo.pop()]))
        todo += [extra for extra in inner if extra not in installed]
        installed |= set(inner)
    for entry in [*OPTIMIZERS.built_in.values(), *SOLVERS.built_in.values()]:
        if entry.extra:
            assert (entry.extra in installed) != entry.licence.startswith("GPL"), entry.name


def test_every_optimizer_has_its_entry_in_the_docs():
    pages = (ROOT / "docs" / "optimizers.md").read_text()
    assert [name for name in OPTIMIZERS.built_in if f"`{name}`" not in pages] == []


def test_one_library_has_one_licence_and_one_state():
    for registry in (OPTIMIZERS, SOLVERS):
        facts = {(entry.library, entry.licence, entry.last_release) for entry in registry.built_in.values()}
        assert len(facts) == len({library for library, *_ in facts})


@pytest.mark.parametrize(("package", "module", "declared"), DECLARED, ids=[item[1] for item in DECLARED])
def test_what_is_read_from_the_source_is_what_the_module_has(package, module, declared):
    loaded = importlib.import_module(module)
    assert declared == loaded.REGISTERED
    if "opens" in declared:
        assert callable(loaded.open_reference)
    registry = REGISTRIES[package]
    for name in declared.get("names", ()):
        assert registry.entry(name).load() is not None


def test_names_are_listed_without_importing_an_adapter_or_a_library():
    code = (
        "import sys\n"
        "from optarena.optimizer import OPTIMIZERS\n"
        "from optarena.problem import SUITES\n"
        "from optarena.solver import SOLVERS\n"
        "from optarena.formats import FORMATS\n"
        "for registry in (OPTIMIZERS, SUITES, SOLVERS, FORMATS): assert registry.names()\n"
        "print(sorted(name for name in sys.modules if name.startswith('optarena.') and name.count('.') > 1))\n"
        "print(sorted({'polars', 'sklearn', 'scipy', 'greenlet', 'cma', 'optuna', 'torch'} & set(sys.modules)))\n"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert out.split("\n")[:2] == ["[]", "[]"]


def test_a_field_that_no_entry_has_is_refused(tmp_path, monkeypatch):
    (tmp_path / "odd").mkdir()
    (tmp_path / "odd" / "mine.py").write_text('REGISTERED = {"license": "MIT", "names": {"Mine": "Mine"}}\n')
    monkeypatch.setattr("optarena.registry.__file__", str(tmp_path / "registry.py"))
    registry: Registry[Entry] = Registry("optimizer", "odd", entry=Entry)
    with pytest.raises(Exception, match="unknown field `license`"):
        registry.names()


# ---- plug-ins -------------------------------------------------------------------------------------------------------


@pytest.fixture
def plugged(tmp_path, monkeypatch):
    """A package with one of each kind, and one that does not load."""
    (tmp_path / "theirs.py").write_text(
        "import optarena as oa\n"
        "class Theirs(oa.Optimizer):\n"
        "    def suggest(self, n):\n"
        "        return self.space.to_dicts(self.space.from_unit(self.rng.random((n, self.space.dimension))))\n"
        "class Slow(oa.Solver):\n"
        "    takes = ('moves',)\n"
        "class Family(oa.Suite):\n"
        "    name, summary = 'family', 'of theirs'\n"
        "    def ids(self):\n"
        "        yield 'family/only'\n"
        "    def build(self, id):\n"
        "        return oa.as_problem({'x': {'type': 'real', 'space': 'linear', 'range': [0, 1]}})(lambda x: x['x'])\n"
    )
    info = tmp_path / "theirs-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: theirs\nVersion: 1.0\nLicense-Expression: ISC\n")
    (info / "entry_points.txt").write_text(
        "[optarena.optimizers]\nTheirs = theirs:Theirs\nBroken = theirs:Missing\nCMA-ES = theirs:Theirs\n"
        "[optarena.solvers]\nSlow = theirs:Slow\n[optarena.problems]\nfamily = theirs:Family\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importlib.invalidate_caches()
    for registry in (OPTIMIZERS, SOLVERS, SUITES):
        registry.__dict__.pop("plug_ins", None)
    yield
    for registry in (OPTIMIZERS, SOLVERS, SUITES):
        registry.__dict__.pop("plug_ins", None)


def test_packages_plug_in_optimizers_solvers_and_suites(plugged, capsys):
    entry = OPTIMIZERS.entry("Theirs")
    assert (entry.library, entry.licence, entry.maintained, entry.installed) == ("theirs", "ISC", "?", True)
    assert get_optimizer("Theirs").__name__ == "Theirs"
    assert OPTIMIZERS.name_of(get_optimizer("Theirs")) == "Theirs"
    assert "Slow" in SOLVERS
    assert build("family/only").suite == "family"
    assert OPTIMIZERS.entry("CMA-ES").library == "cma"  # nobody replaces what is built in
    assert main(["list", "optimizers"]) == 0
    assert "Theirs" in capsys.readouterr().out


def test_a_plug_in_that_does_not_load_is_named_with_its_package(plugged):
    with pytest.raises(OptarenaError, match="optimizer 'Broken' of theirs does not load: AttributeError"):
        get_optimizer("Broken")


# ---- errors carry their field ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "field", "top"),
    [
        ({"budget": "10*X"}, "budget", "budget"),
        ({"trials": 0}, "trials", "trials"),
        ({"limits": {"memory": 1}}, "limits.memory", "limits"),
        ({"limits": {"odd": 1}}, "limits.odd", "limits"),
        ({"optimizers": ["RandomSearch", {"use": 3}]}, "optimizers[1].use", "optimizers"),
        ({"problems": [3]}, "problems[0]", "problems"),
        ({"seed": "x"}, "seed", "seed"),
        ({"bugdet": 3}, "bugdet", "bugdet"),
    ],
)
def test_an_error_of_an_experiment_carries_its_field_and_begins_with_it(given, field, top):
    plain = {"optimizers": ["RandomSearch"], "problems": ["functions/sphere/d2"], "budget": 10}
    with pytest.raises(OptarenaError) as raised:
        oa.Experiment.from_data({**plain, **given})
    error = raised.value
    assert (error.field, error.top_field) == (field, top)
    assert str(error).startswith(f"{field}: ")
    assert pickle.loads(pickle.dumps(error)).field == field


def test_an_error_keeps_its_field_within_a_file(tmp_path):
    (tmp_path / "p.toml").write_text('[problem]\ncommand = ["true"]\nmode = "odd"\n[problem.space.x]\ntype = "bool"\n')
    with pytest.raises(OptarenaError) as raised:
        build("p.toml", tmp_path)
    assert raised.value.field == "mode"
    assert str(raised.value).startswith(f"{tmp_path / 'p.toml'}: mode: expected")


# ---- what may be imported -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("module", "forbidden"),
    [
        *((name, ("optimizers", "problems", "solvers")) for name in ("optimizer", "problem", "solver", "instance")),
        *((name, ("optimizers", "problems", "solvers")) for name in ("registry", "space", "settings", "experiment")),
        ("solvers", ("problems", "optimizers")),
        ("optimizers", ("problems", "solvers")),
        ("problems", ("solvers", "optimizers")),
    ],
)
def test_contracts_know_no_adapters_and_adapters_only_their_own_kind(module, forbidden):
    place = SOURCE / module
    files = sorted(place.glob("**/*.py")) if place.is_dir() else [place.with_suffix(".py")]
    imported = {(file.name, name) for file in files for name in _imported(file)}
    assert {
        item for item in imported if item[1].startswith("optarena.") and item[1].split(".")[1] in forbidden
    } == set()


def _imported(file: Path) -> set[str]:
    """Every module that a file imports, at import time or in a function."""
    out: set[str] = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            out |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            out |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "import_apart":
            out |= {argument.value for argument in node.args if isinstance(argument, ast.Constant)}
    return out


def _foreign(file: Path) -> set[str]:
    """The top-level modules that a file imports and that neither Python nor optarena's own dependencies bring."""
    ours = {"optarena", "numpy", "scipy", "msgspec", "greenlet", "polars", "sklearn", "moocore", "bayesmark"}
    return {name.partition(".")[0] for name in _imported(file)} - ours - set(sys.stdlib_module_names) - {"__future__"}
