"""Environments: made once, whole or not at all, shared by processes; what cannot be made fails alone."""

from __future__ import annotations

import errno
import fcntl
import importlib.metadata
import os
import platform
import signal
import subprocess
import sys
import sysconfig
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
import pytest

import optarena as oa
import optarena.runner.again
from optarena import environments
from optarena._files import locked
from optarena.cli import main
from optarena.environments import NotMade, Wanted, as_wanted, find, find_python, known, ready, remove, unfinished
from optarena.errors import OptarenaError, WorkError
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.optimizers import command
from optarena.optimizers.isolated import isolated_optimizer, original_of
from optarena.optimizers.isolated import wanted as environment_of
from optarena.runner import far_pilots
from optarena.runner.pilot import announce, pilot
from optarena.testing import MIXED
from waiting import wait_for
from wheels import wheel

pytestmark = pytest.mark.xdist_group("processes")

EXAMPLES = Path(__file__).parents[1] / "examples" / "optimizers"
HERE = ".".join(platform.python_version_tuple()[:2])
OF_LIBRARY = """
import sys, the_library
class Mine:
    def __init__(self, space):
        assert "optarena" not in sys.modules and "numpy" not in sys.modules
        self.space = space
    def suggest(self, n):
        return [{name: the_library.WHERE for name in self.space} for _ in range(n)]
    def observe(self, points, values):
        pass
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """To make an environment takes seconds: tests that only use them share theirs."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _offline(cache, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.delenv("PIP_FIND_LINKS", raising=False)
    path = os.environ["PATH"].split(os.pathsep)
    monkeypatch.setenv("PATH", os.pathsep.join(folder for folder in path if not Path(folder, "uv").exists()))


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "own-cache"))


def library(version: str, where: float) -> str:
    return wheel("the_library", version, {"the_library.py": f"WHERE = {where}\n"})


def manifest(name: str, *packages: str, python: str = HERE) -> str:
    Path("optarena_shim.py").write_text((EXAMPLES / "optarena_shim.py").read_text())
    Path("mine.py").write_text(OF_LIBRARY)
    Path(name).write_text(
        '[optimizer]\ncommand = ["python", "optarena_shim.py", "mine.py:Mine"]\n'
        f"[environment]\npython = {python!r}\npackages = {list(packages)!r}\n"
    )
    return name


def best(results) -> dict[str, float]:
    return dict(results.studies.select("optimizer", "best").iter_rows())


# ---- use ------------------------------------------------------------------------------------------------------------


def test_two_versions_of_one_library_meet_in_one_experiment_and_the_locks_are_recorded(capsys):
    one = manifest("one.toml", f"./{library('1.0', 0.5)}")
    two = manifest("two.toml", f"./{library('2.0', 0.25)}")
    experiment = oa.Experiment([one, two, "RandomSearch"], "functions/sphere/d2", 4, trials=2, seed=1)
    results = experiment.run("s", workers=2)
    assert results.studies["status"].to_list() == ["done"] * 6
    found = results.studies.unique(["optimizer", "best"]).filter(pl.col("optimizer") != "RandomSearch")
    assert len(found) == 2
    versions = {attempt.start.optimizer: attempt.start.versions for attempt in results.attempts}
    assert versions["one"]["the_library"] == "1.0"
    assert versions["two"]["the_library"] == "2.0"
    assert versions["one"]["python"] == platform.python_version()
    assert "pip" not in versions["one"]
    assert "one.toml: making an environment, once: Python" in capsys.readouterr().err


def test_an_environment_is_made_once_and_replayed_in(capsys, monkeypatch):
    name = manifest("one.toml", f"./{library('1.0', 0.5)}")
    results = oa.Experiment([name], "functions/sphere/d2", 4, seed=1).run("s", workers=1)
    (key,) = {wanted(name).key}
    monkeypatch.setattr(environments, "_make", None)
    capsys.readouterr()
    get_optimizer(manifest("again.toml", f"./{library('1.0', 0.5)}"))
    assert capsys.readouterr().err == ""
    verdict = oa.runner.again.replay("s", results.studies["study"][0])
    assert verdict.same
    assert not verdict.facts
    assert key in {found.key for found in known()}


def wanted(name: str) -> Wanted:
    from optarena.optimizers.command import Manifest

    found = Manifest.load(Path(name)).wanted
    assert found is not None
    return found


def test_programs_of_an_environment_come_first_and_the_users_packages_are_not_seen(monkeypatch):
    environment = ready(wanted(manifest("one.toml", f"./{library('1.0', 0.5)}")), "test")
    monkeypatch.setenv("PYTHONPATH", str(EXAMPLES))
    variables = {**os.environ, **environment.variables}
    ask = "import sys, the_library; print(sys.prefix, the_library.WHERE, sys.path)"
    said = subprocess.run(["python", "-c", ask], env=variables, capture_output=True, text=True, check=True).stdout
    assert said.startswith(f"{environment.folder} 0.5 ")
    assert str(EXAMPLES) not in said
    assert environment.bytes > 1000


# ---- making ---------------------------------------------------------------------------------------------------------


def test_the_key_follows_from_the_python_and_the_packages():
    one = Wanted("3.10", ("a==1", "b==2"))
    assert one.key == Wanted("3.10", ("b==2", "a==1")).key
    assert one.key != Wanted("3.11", ("a==1", "b==2")).key
    assert one.key != Wanted("3.10", ("a==1", "b==3")).key
    Path("x.whl").write_text("1")
    file = as_wanted({"python": "3.10", "packages": ["./x.whl"]}, Path.cwd())
    key = file.key
    Path("elsewhere").mkdir()
    Path("elsewhere/x.whl").write_text("1")
    assert as_wanted({"python": "3.10", "packages": ["./x.whl"]}, Path("elsewhere")).key == key
    Path("x.whl").write_text("2")
    assert file.key != key


def test_a_changed_package_file_is_another_source():
    name = manifest("one.toml", f"./{library('1.0', 0.5)}")
    before = OPTIMIZERS.source(name)
    assert OPTIMIZERS.source(name) == before
    library("1.0", 0.75)
    assert OPTIMIZERS.source(name) != before


MAKE = (
    "import sys; from optarena.environments import *; print(ready(Wanted(sys.argv[1], (sys.argv[2],)), 'test').folder)"
)


def make(file: str, **variables: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", MAKE, HERE, str(Path(file).resolve())]
    return subprocess.Popen(
        command, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


@pytest.mark.usefixtures("own_cache")
def test_two_processes_that_need_the_same_environment_make_one():
    file = library("1.0", 0.5)
    both = [make(file), make(file)]
    said = [process.communicate() for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert said[0][0] == said[1][0]
    assert sorted(["making" in err for _, err in said]) == [False, True]
    (found,) = known()
    assert len([path for path in Path(found.folder).parent.iterdir() if path.is_dir()]) == 1


@pytest.mark.usefixtures("own_cache")
def test_a_killed_making_leaves_nothing_that_is_taken_for_an_environment(monkeypatch):
    Path("bin").mkdir()
    Path("bin/uv").write_text(
        '#!/bin/sh\nfor last; do :; done\nmkdir -p "$last/bin" && touch "$last/bin/python"\nsleep 600\n'
    )
    Path("bin/uv").chmod(0o755)
    file = library("1.0", 0.5)
    process = make(file, PATH=f"{Path('bin').resolve()}:{os.environ['PATH']}")
    want = Wanted(HERE, (str(Path(file).resolve()),))
    home = environments.place() / want.key
    wait_for(lambda: home.is_dir() and any(home.glob("*/bin/python")))
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert find(want) is None
    assert known() == []
    assert unfinished() == [home]
    made = ready(want, "test")
    assert find(want) == made
    assert [path.name for path in home.iterdir() if path.is_dir()] == [Path(made.folder).name]
    made.program.unlink()
    assert find(want) is None, "the Python that it stands on is gone"
    remove(want.key)
    assert not home.exists()
    assert known() == unfinished() == []


@pytest.mark.usefixtures("own_cache")
def test_whoever_waited_while_an_environment_was_removed_makes_it():
    file = library("1.0", 0.5)
    home = environments.place() / Wanted(HERE, (str(Path(file).resolve()),)).key
    home.mkdir(parents=True)
    with locked(home.with_suffix(".lock")):
        waiter = make(file)
        assert waiter.stderr is not None
        assert "waiting for another process that makes its environment" in waiter.stderr.readline()
        home.rmdir()
    assert Path(waiter.communicate()[0].strip()).is_dir()
    assert waiter.returncode == 0


@pytest.fixture
def _no_locks(own_cache, monkeypatch):
    """A file system without locks, as NFS may be."""

    def flock(descriptor, how):
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", flock)


def as_if_made(monkeypatch, meanwhile=lambda home: None):
    """The steps of a making, without the work."""

    def install(command, tool, tell):
        folder = Path(command[3])
        (folder / "bin").mkdir(parents=True)
        (folder / "bin" / "python").symlink_to(sys.executable)
        meanwhile(folder.parent)

    monkeypatch.setattr(environments, "_install", install)


@pytest.mark.usefixtures("_no_locks")
def test_without_locks_nobody_removes_what_another_process_is_making(monkeypatch):
    as_if_made(monkeypatch)
    want = Wanted(HERE, ())
    home = environments.place() / want.key
    (home / "theirs").mkdir(parents=True)
    (home / "dead").mkdir()
    maker = environments.Maker.here()
    living = msgspec.structs.replace(maker, pid=os.getppid(), born=0)
    (home / "theirs.maker").write_bytes(msgspec.json.encode(living))
    (home / "dead.maker").write_bytes(msgspec.json.encode(msgspec.structs.replace(maker, born=maker.born + 1)))
    assert unfinished() == []
    with pytest.raises(WorkError, match="another process is making it"):
        remove(want.key)
    made = ready(want, "test")
    assert {path.name for path in home.iterdir() if path.is_dir()} == {"theirs", Path(made.folder).name}
    elsewhere = msgspec.structs.replace(maker, host="elsewhere")
    assert elsewhere.may_live
    assert not msgspec.structs.replace(elsewhere, began=0.0).may_live
    (home / "theirs.maker").unlink()
    remove(want.key)
    assert known() == []


@pytest.mark.usefixtures("_no_locks")
def test_without_locks_the_first_of_two_that_make_an_environment_counts_for_both(monkeypatch):
    want = Wanted(HERE, ())
    first = []

    def other(home):
        if not first:
            first.append(None)
            first[0] = environments._make(want, home, lambda _: None)

    as_if_made(monkeypatch, other)
    made = ready(want, "test")
    assert made == first[0] == find(want)
    assert [path.name for path in environments.place().glob(f"{want.key}/*") if path.is_dir()] == [
        Path(made.folder).name
    ]


@pytest.mark.usefixtures("own_cache")
def test_a_step_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(environments, "SILENT_SECONDS", 0.2)
    with pytest.raises(NotMade, match=r"pip has said nothing for .*: building"):
        environments._install(["/bin/sh", "-c", "echo building; sleep 600"], "pip", lambda _: None)


@pytest.mark.usefixtures("own_cache")
def test_an_interrupt_removes_what_was_begun(monkeypatch):
    def interrupted(command, *rest):
        Path(command[-1]).mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(environments, "_install", interrupted)
    want = Wanted(HERE, ())
    with pytest.raises(KeyboardInterrupt):
        ready(want, "test")
    assert list((environments.place() / want.key).iterdir()) == []


# ---- what cannot be made --------------------------------------------------------------------------------------------


def test_what_cannot_be_made_fails_with_the_reason_and_the_others_go_on(monkeypatch):
    needy = wheel("needy", "1.0", {"needy.py": ""}, requires=["the_library==7.0"])
    names = [
        manifest("good.toml", f"./{library('1.0', 0.5)}"),
        manifest("absent.toml", "nothing-of-this-name==3"),
        manifest("needy.toml", f"./{needy}"),
        manifest("old.toml", python="3.1"),
    ]
    made = []
    usual = environments._make
    monkeypatch.setattr(environments, "_make", lambda *given: made.append(given) or usual(*given))
    results = oa.Experiment([*names, "RandomSearch"], "functions/sphere/d2", 4, trials=2, seed=1).run("s", workers=2)
    status = {(row["optimizer"], row["status"]) for row in results.studies.iter_rows(named=True)}
    assert status == {
        ("good", "done"), ("RandomSearch", "done"), ("absent", "failed"), ("needy", "failed"), ("old", "failed")
    }  # fmt: skip
    reasons = {row["optimizer"]: row["reason"] for row in results.studies.iter_rows(named=True)}
    first = "creating the optimizer: CommandError: its environment cannot be made: "
    told = "pip: Could not find a version that satisfies the requirement"
    assert reasons["absent"].startswith(f"{first}{told} nothing-of-this-name==3")
    assert reasons["needy"].startswith(f"{first}{told} the_library==7.0")
    assert reasons["old"].startswith(f"{first}there is no Python 3.1 here: python3.1, python3, python on the PATH and ")
    assert len(made) <= 4, "workers make none"
    with pytest.raises(Exception, match=r"there is no Python 3\.1 here"):
        get_optimizer("old.toml")(oa.Space.box(0, 1, 2))


def test_a_cache_that_cannot_be_written_fails_only_those_who_need_it(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    results = oa.Experiment([manifest("one.toml"), "RandomSearch"], "functions/sphere/d2", budget=2).run("s", workers=2)
    frame = results.studies.sort("optimizer")
    assert frame["status"].to_list() == ["done", "failed"]
    assert "its environment cannot be made: " in frame["reason"][1]
    assert "Not a directory" in frame["reason"][1]


def test_a_wheel_of_the_web_is_no_file_beside_the_manifest():
    url = "https://example.com/x-1.0-py3-none-any.whl"
    assert as_wanted({"packages": [url]}, Path()).packages == (url,)


@pytest.mark.usefixtures("own_cache")
def test_pip_is_one_process_so_that_it_dies_with_who_started_it():
    make, install = environments._tools(Path(sys.executable), Path("there"))
    assert "--without-pip" in make
    assert install[0] == "there/bin/python"


def test_a_pip_that_is_killed_says_so_and_not_what_it_said_last():
    with pytest.raises(NotMade, match="pip was killed: SIGTERM"):
        environments._install(["/bin/sh", "-c", "echo half of it; kill -TERM $$"], "pip", lambda _: None)


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["Collecting x", "ERROR: No such x", "ERROR: Nothing found"], "No such x"),
        (["  Retrying (Retry(total=4)) after", "ERROR: No x"], "No x (and the package index cannot be reached)"),
        (["the last", "line", ""], "line"),
        (["  × None:", "  ╰─▶ Because x is absent,", "      there is none"], "Because x is absent, there is none"),
        (["ERROR: Exception:", "Traceback (most recent call last):", "InvalidMarker: 'what'"], "InvalidMarker: 'what'"),
        (
            ["× Building did not run.", "running", "RuntimeError: no Fortran", "[end of output]", "", "ERROR: Failed"],
            "Building did not run: RuntimeError: no Fortran",
        ),
        (
            ["× Building did not run.", "a.c:1: fatal error: no.h: No such file", "error: gcc", "[end of output]"],
            "Building did not run: a.c:1: fatal error: no.h: No such file",
        ),
        (["fatal: no host", "× git clone did not run.", "note: not pip"], "git clone did not run: fatal: no host"),
        ([], ""),
        (["ERROR: " + "x" * 1000], "x" * 399 + "…"),
    ],
)  # fmt: skip
def test_the_reason_is_a_sentence_of_what_the_tool_wrote(said, reason):
    assert environments._reason(said) == reason


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        ("environment = 3", "environment: expected a table"),
        ("[environment]\npyhton = '3.10'", "environment.pyhton: no such field. Did you mean 'python'?"),
        ("[environment]\npython = 3.10", "environment.python: expected a version such as '3.10', in quotes, got 3.1"),
        ("[environment]\npython = '2.7'", "environment.python: expected a version"),
        ("[environment]\npython = '3.10; rm'", "environment.python: expected a version"),
        ("[environment]\npackages = 'HEBO'", "environment.packages: expected a list such as"),
        ("[environment]\npackages = ['--index-url=x']", "environment.packages: expected a package such as"),
        ("[environment]\npackages = ['']", "environment.packages: expected a package such as"),
        ("[environment]\npackages = ['./none.whl']", "environment.packages: there is no file "),
        ("[environments]", "environments: there is nothing but [optimizer] and [environment] in such a file"),
    ],
)
def test_a_mistake_in_a_manifest_is_one_sentence(table, sentence):
    first, second = ("", table) if table.startswith("[") else (table, "")
    Path("mine.toml").write_text(f'{first}\n[optimizer]\ncommand = ["python"]\n{second}\n')
    with pytest.raises(OptarenaError) as caught:
        get_optimizer("mine.toml")
    assert f"mine.toml: {sentence}" in str(caught.value)


# ---- which Python ---------------------------------------------------------------------------------------------------


def python_that_says(file: str, version: str) -> Path:
    Path(file).parent.mkdir(parents=True, exist_ok=True)
    Path(file).write_text(f"#!/bin/sh\n{f'echo {version}' if version else 'exit 1'}\n")
    Path(file).chmod(0o755)
    return Path(file).resolve()


def test_a_python_is_found_where_it_runs_on_the_path_and_by_pyenv(monkeypatch):
    assert find_python(HERE) == Path(sys.executable)
    python_that_says("shims/python3.77", "")  # pyenv's, of a version that is not chosen
    first = python_that_says("bin/python3.77", "3.77.2")
    python_that_says("pyenv/versions/3.78.9/bin/python", "3.78.9")
    second = python_that_says("pyenv/versions/3.78.13/bin/python", "3.78.13")
    plain = python_that_says("bin/python", "3.79.1")
    monkeypatch.setenv("PYENV_ROOT", str(Path("pyenv").resolve()))
    monkeypatch.setenv("PATH", f"{Path('bin').resolve()}")
    assert find_python("3.77") == first
    assert find_python("3.77.2") == first
    assert find_python("3.78") == second
    assert find_python("3.79") == plain
    for absent in ("3.7", "3.77.1", "3.80"):
        with pytest.raises(NotMade, match=f"there is no Python {absent} here: .*pyenv/versions were tried, and uv is"):
            find_python(absent)


@pytest.mark.slow
def test_uv_makes_environments_where_it_is_installed(own_cache, monkeypatch):
    calls = Path("calls").resolve()
    Path("bin").mkdir()
    Path("bin/uv").write_text(
        f"""#!/bin/sh
echo "$@" >> {calls}
case "$1 $2" in
  "venv --python") exec "$3" -m venv "$4" ;;
  "pip install") shift; shift; shift; python=$1; shift; exec "$python" -m pip install "$@" ;;
esac
"""
    )
    Path("bin/uv").chmod(0o755)
    monkeypatch.setenv("PATH", f"{Path('bin').resolve()}:{os.environ['PATH']}")
    file = str(Path(library("1.0", 0.5)).resolve())
    made = ready(Wanted(HERE, (file,)), "test")
    assert made.lock["the_library"] == "1.0"
    venv, install = calls.read_text().splitlines()
    assert venv == f"venv --python {sys.executable} {made.folder}"
    assert install == f"pip install --python {made.program} {file}"


# ---- locks -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def _index(tmp_path, own_cache, monkeypatch):
    """Two versions of one library; what is not pinned gets the newer one."""
    (tmp_path / "index").mkdir()
    for version, where in (("1.0", 0.5), ("2.0", 0.25)):
        wheel("the_library", version, {"the_library.py": f"WHERE = {where}\n"}, folder=tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    monkeypatch.setattr(environments, "_locks", {})


@pytest.mark.usefixtures("_index")
def test_an_environment_is_made_again_of_the_packages_that_a_study_recorded(tmp_path, capsys):
    newer = tmp_path / "index" / "the_library-2.0-py3-none-any.whl"
    newer.rename(tmp_path / newer.name)
    name = manifest("one.toml", "the_library>=1.0")
    results = oa.Experiment([name], "functions/sphere/d2", 3, seed=1).run("s", workers=1)
    study = results.studies["study"][0]
    (tmp_path / newer.name).rename(newer)
    assert main(["env", "remove", name]) == 0
    usual = ready(wanted(name), "test")
    assert usual.lock["the_library"] == "2.0", "resolved on another day"
    assert not oa.runner.again.replay("s", study).same
    assert main(["env", "create", "--lock", "s", study]) == 2
    assert f"the_library 2.0, expected 1.0; remove it first (optarena env remove {usual.key})" in " ".join(
        capsys.readouterr().err.split()
    )
    remove(usual.key)
    assert main(["env", "create", "--lock", "s", study]) == 0
    assert known()[0].lock["the_library"] == "1.0"
    verdict = oa.runner.again.replay("s", study)
    assert (verdict.same, verdict.facts) == (True, [])
    assert main(["env", "create", "--lock", "s", study]) == 0
    assert "has its environment" in capsys.readouterr().out


@pytest.mark.usefixtures("_index")
def test_a_lock_that_cannot_be_had_is_a_sentence_and_a_file_is_taken_with_its_dependencies(tmp_path):
    want = Wanted(HERE, ("the_library",))
    environments.make_as({want.key: {"python": platform.python_version(), "the_library": "7.0"}})
    with pytest.raises(NotMade, match=r"cannot be made: pip: .*the_library==7\.0"):
        ready(want, "test")
    needy = wheel("needy", "1.0", {"needy.py": ""}, requires=["the_library"])
    of_file = Wanted(HERE, (str(Path(needy).resolve()),))
    environments.make_as({of_file.key: {"python": f"{HERE}.0", "needy": "1.0", "the_library": "1.0"}})
    assert ready(of_file, "test").lock == {"needy": "1.0", "the_library": "1.0"}


@pytest.mark.parametrize(
    ("lock", "what"),
    [
        ({"python": "3.11.1", "a": "1"}, ""),
        ({"python": "3.12.7"}, "python 3.11.7, expected 3.12.7"),
        ({"a": "2"}, "a 1, expected 2"),
        ({"c": "1"}, "c is missing, expected 1"),
    ],
)
def test_a_lock_is_compared_by_its_packages_and_the_kind_of_python(lock, what):
    assert environments.different({"python": "3.11.7", "a": "1", "b": "1"}, lock) == what


def elsewhere(tmp_path, monkeypatch):
    """As on another machine, which has nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "elsewhere"))
    monkeypatch.setattr(command, "_made", {})


@pytest.mark.usefixtures("_index")
def test_a_pilot_makes_environments_of_the_locks_of_its_run_and_refuses_others(tmp_path, monkeypatch):
    newer = tmp_path / "index" / "the_library-2.0-py3-none-any.whl"
    newer.rename(tmp_path / newer.name)
    names = [manifest("one.toml", "the_library>=1.0"), manifest("bad.toml", "the_library==2.0")]
    run = announce(oa.Experiment(names, "functions/sphere/d2", 3, seed=1), "s", pilots=1).run
    assert run is not None
    (tmp_path / newer.name).rename(newer)
    elsewhere(tmp_path, monkeypatch)
    other = ready(wanted("one.toml"), "test")
    with pytest.raises(
        OptarenaError, match=rf"one on this machine has other packages .* 'optarena env remove {other.key}'"
    ):
        pilot("s", run.id)
    remove(other.key)
    assert pilot("s", run.id, workers=1).how == "done"
    frame = {attempt.start.optimizer: attempt.start.versions for attempt in oa.open("s").attempts}
    assert frame["one"]["the_library"] == "1.0"
    assert frame["bad"]["the_library"] == "2.0", "which could not be made where the run was announced"


@pytest.mark.usefixtures("_index")
def test_a_pilot_that_cannot_make_an_environment_says_why(tmp_path, monkeypatch):
    run = announce(oa.Experiment([manifest("one.toml", "the_library")], "functions/sphere/d2", 3), "s", pilots=1).run
    assert run is not None
    elsewhere(tmp_path, monkeypatch)
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(
        OptarenaError, match="this machine cannot run one: its environment cannot be made: pip: Could not"
    ):
        pilot("s", run.id)


def test_what_a_pilot_needs_of_a_manifest_goes_with_it():
    file = library("1.0", 0.5)
    name = manifest("one.toml", f"./{file}")
    Path("own").mkdir()
    Path("own/run.sh").write_text("#!/bin/sh\nexec python3 own.py\n")
    Path("own/run.sh").chmod(0o755)
    Path("own/data.txt").write_text("1")
    Path("own/own.toml").write_text('[optimizer]\ncommand = ["./run.sh"]\nfiles = ["data.txt"]\nseconds = 5\n')
    plan = oa.Experiment([name, "own/own.toml", "RandomSearch"], "functions/sphere/d2", 3).plan()
    files = far_pilots._files(plan, Path.cwd())
    mine = {"one.toml", "mine.py", "optarena_shim.py", file}
    assert set(files) == mine | {"own/own.toml", "own/run.sh", "own/data.txt"}
    assert files[file] == Path(file).read_bytes()
    assert far_pilots.executable(files, Path.cwd()) == ["own/run.sh"]


# ---- optimizers of ours ----------------------------------------------------------------------------------------------


@pytest.fixture
def _packages_of_here(tmp_path, monkeypatch):
    """An index of the packages that run these tests: each wheel only says where they are."""
    here = sysconfig.get_path("purelib")
    (tmp_path / "index").mkdir()
    for name in ("numpy", "scipy", "msgspec", "greenlet", "moocore", "cma"):
        version = importlib.metadata.version(name)
        wheel(name, version, {f"{name}_of_here.pth": here}, folder=tmp_path / "index")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))


def points_and_values(results) -> list[list[float]]:
    columns = results.in_full().columns
    rows = np.arange(len(columns.evaluation))
    return [[*point, *value] for point, value in zip(columns.points(rows), columns.values.tolist(), strict=True)]


@pytest.mark.usefixtures("_packages_of_here")
@pytest.mark.slow
def test_an_isolated_optimizer_does_what_it_does_in_this_process():
    given = {"problems": ["functions/{sphere,rastrigin}/d3"], "budget": 30, "seed": 3}
    usual = oa.Experiment([oa.use("CMA-ES", popsize=6)], **given).run("usual", workers=0)
    apart = oa.Experiment([oa.use("CMA-ES", popsize=6)], isolated=True, **given).run("apart", workers=1)
    assert apart.studies["status"].to_list() == ["done", "done"]
    assert points_and_values(apart) == points_and_values(usual)
    assert apart.studies["study"].to_list() == usual.studies["study"].to_list()
    start = apart.attempts[0].start
    assert start.isolated
    assert start.versions["cma"] == importlib.metadata.version("cma")
    assert start.versions["python"] == platform.python_version()
    verdict = oa.runner.again.replay("apart", start.study)
    assert verdict.same
    assert not verdict.facts
    assert main(["env", "list", "CMA-ES"]) == 0
    one = isolated_optimizer("CMA-ES", {})(oa.Space.box(-1, 1, 2), rng=np.random.default_rng(1))
    other = get_optimizer("CMA-ES")(oa.Space.box(-1, 1, 2), rng=np.random.default_rng(1))
    told = np.array([[0.5, -0.5]]), np.array([[1.0]])  # which it never suggested
    for optimizer in (one, other):
        optimizer.observe(*told)
        optimizer.observe(optimizer.suggest(3), np.array([[np.nan], [np.inf], [1.0]]))
    assert np.array_equal(one.suggest(2), other.suggest(2))
    one.close()


@pytest.mark.usefixtures("_packages_of_here")
def test_those_that_need_no_library_can_be_isolated_too():
    for name in ("SimulatedAnnealing", "Scipy-DIRECT"):
        space = MIXED if get_optimizer(name).capabilities.mixed else oa.Space.box(-1, 1, 2)
        assert get_optimizer(name).capabilities.array_native
        values = np.random.default_rng(7).random((40, 1))
        seen = []
        for cls in (isolated_optimizer(name, {}), get_optimizer(name)):
            optimizer = cls(space, rng=np.random.default_rng(1))
            rows = []
            for value in values:
                suggested = optimizer.suggest(1)
                rows.append(suggested[0].tolist())
                optimizer.observe(suggested, value[None])
            optimizer.close()
            seen.append(rows)
        assert seen[0] == seen[1]


def test_what_an_optimizer_of_ours_needs_is_what_its_extra_says():
    assert all(original_of(name).capabilities.array_native for name in OPTIMIZERS.built_in), "which the host expects"
    packages = environment_of("Ax").packages
    assert [text for text in packages if text.startswith(("ax-platform", "torch"))]
    assert not [text for text in packages if text.startswith(("polars", "altair", "optuna"))]
    assert environment_of("Scalarised", "CMA-ES").packages[-1].startswith("cma")
    assert environment_of("CMA-ES").key == environment_of("Scalarised", "CMA-ES").key


def test_isolated_is_a_field_of_an_experiment_and_of_an_optimizer():
    experiment = oa.Experiment(["Ax", "RandomSearch", "QuasiRandom"], "functions/sphere/d2", 5, isolated=True)
    assert [item.isolated for item in experiment.optimizers] == [True, False, False]
    assert oa.Experiment.from_data(experiment.to_data()).optimizers == experiment.optimizers
    assert oa.use("Ax", isolated=True).identity == oa.use("Ax").identity
    assert repr(oa.use("Ax", isolated=True, method="fast")) == "use('Ax', isolated=True, method='fast')"
    Path("e.toml").write_text(
        'optimizers = [{ use = "Ax", isolated = true }, "RandomSearch"]\n'
        'problems = ["functions/sphere/d2"]\nbudget = 3\n'
    )
    assert [item.isolated for item in oa.Experiment.load("e.toml").optimizers] == [True, False]


@pytest.mark.parametrize(
    ("item", "fields", "sentence"),
    [
        ({"use": "Ax", "isolated": 1}, {}, "optimizers[0].isolated: expected true or false, got 1"),
        ("Ax", {"isolated": "yes"}, "isolated: expected true or false, got 'yes'"),
        (oa.use("my.py:Mine", isolated=True), {}, "my.py:Mine: only optimizers of optarena's own can be isolated"),
        (oa.use("Axx", isolated=True), {}, "no optimizer named 'Axx'. Did you mean 'Ax'?"),
        (oa.use("CMA-ES", isolated=True, popsize=-1), {}, "CMA-ES: popsize must be"),
    ],
)
def test_a_mistake_with_isolated_optimizers_is_one_sentence(item, fields, sentence):
    Path("my.py").write_text("import optarena\nclass Mine(optarena.Optimizer):\n    pass\n")
    with pytest.raises(OptarenaError) as caught:
        oa.Experiment([item], "functions/sphere/d2", 5, **fields).plan()
    assert str(caught.value).startswith(sentence)


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own_cache")
def test_environments_are_created_listed_and_removed(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["env", "list"]) == 0
    assert capsys.readouterr().out.startswith("0 environments, 0.0 MB, in")
    name, bad = manifest("one.toml", f"./{library('1.0', 0.5)}"), manifest("bad.toml", "nothing-of-this-name")
    assert main(["env", "create", name, bad]) == 1
    said = capsys.readouterr()
    key = wanted(name).key
    assert said.out.startswith(f"one.toml: {key}, 1 package, ")
    assert "optarena: bad.toml: its environment cannot be made: pip: Could not find a version" in said.err.replace(
        "\n ", ""
    )
    assert main(["env", "create", name]) == 0
    assert capsys.readouterr().out == f"one.toml: has its environment, {key}\n"
    assert main(["env", "list"]) == 0
    out = capsys.readouterr().out
    assert all(word in out for word in (key, platform.python_version(), "the_library-1.0", "1 environment, "))
    assert "1 environment not complete" in out
    assert max(map(len, out.splitlines()[:-2])) <= 80
    assert main(["env", "list", key]) == 0
    assert capsys.readouterr().out.splitlines()[1:] == ["the_library==1.0"]
    assert main(["env", "remove", name]) == 0
    assert capsys.readouterr().out.startswith("removed 1 environment, ")
    assert known() == []
    assert main(["env", "remove", "--all"]) == 0
    assert unfinished() == []


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["list", "CMA-ES"], "CMA-ES has no environment yet (optarena env list shows all)"),
        (["create"], "give the names of optimizers, or my.toml (optarena env create --help)"),
        (["create", "--all"], "--all goes with remove, and without names"),
        (["create", "plain.toml"], "plain.toml: there is no [environment] in it (docs/environments.md)"),
        (["remove", "123456789abc"], "no optimizer named '123456789abc'."),
    ],
)
@pytest.mark.usefixtures("own_cache")
def test_a_wrong_call_is_one_sentence(words, sentence, capsys):
    Path("plain.toml").write_text('[optimizer]\ncommand = ["true"]\n')
    assert main(["env", *words]) == 2
    assert capsys.readouterr().err.startswith(f"optarena: {sentence}")
