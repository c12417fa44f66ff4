"""The conformance kit passes what is good, and names what is bad and how to fix it."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import numpy as np
import pytest

import optarena as oa
from optarena.cli import main
from optarena.optimizer import OPTIMIZERS, get_optimizer
from optarena.problem import build
from optarena.testing import announced, assert_optimizer, assert_problem, check_optimizer, check_problem
from playing import light

ROUNDS = {
    "HyperOpt": 3,
    "Optuna-GP": 2,
    "SMAC": 2,
    "BoTorch": 2,
    "Ax": 2,
    "Scikit-GP-Hedge": 2,
    "Scikit-GP-LCB": 2,
    "Scikit-GBRT-Hedge": 2,
    "SyneTune-CQR": 2,
    "SyneTune-BORE": 3,
    "OpenTuner-BanditA": 3,
    "OpenTuner-GA": 3,
    "OpenTuner-GA-DE": 3,
}
"""Of 3 points each, the last of which are by the model: where a point takes its time."""


@pytest.mark.parametrize("entry", OPTIMIZERS.entries(), ids=lambda entry: entry.name)
@pytest.mark.filterwarnings("error")
def test_every_registered_optimizer_conforms_and_says_nothing(entry, capfd):
    if not entry.installed:
        pytest.skip(f"needs the extra {entry.extra}")
    assert_optimizer(entry.name, rounds=ROUNDS.get(entry.name, 6), **light(entry.name, 5))
    assert capfd.readouterr() == ("", "")


def test_the_documentation_names_every_optimizer_and_its_familys_page_every_setting():
    docs = Path(__file__).parents[1] / "docs"
    overview = (docs / "optimizers.md").read_text()
    pages = [(page.name, page.read_text()) for page in (docs / "optimizers").glob("*.md")]
    for entry in OPTIMIZERS.entries():
        assert f"`{entry.name}`" in overview
        (text,) = [text for name, text in pages if f"`{entry.name}`" in text and f"(optimizers/{name})" in overview]
        if entry.installed:
            missing = [key for key in get_optimizer(entry.name).settings if f"`{key}`" not in text]
            assert not missing, (entry.name, missing)


@pytest.mark.parametrize(
    "id",
    [
        "functions/sphere/d5",
        "functions/mixed-tuning/d9",
        "functions/sphere-noisy/d2",
        "functions/g06/d2",
        "functions/failing/d2",
        "bbob/f20/d5/i3",
    ],
)
def test_problems_conform(id):
    assert_problem(build(id))


class Base(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))


class Few(Base):
    def suggest(self, n):
        return super().suggest(n)[:1]


class Unseeded(Base):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, np.random.default_rng()))


class Meddling(Base):
    def suggest(self, n):
        np.random.seed(1)  # noqa: NPY002 (that is the fault)
        return super().suggest(n)


class HatesNan(Base):
    def observe(self, X, y):
        if np.isnan(y).any():
            raise ValueError("nan")


class Own(Base):
    def suggest(self, n):
        self.mine = super().suggest(n)
        return self.mine

    def observe(self, X, y):
        assert X is self.mine


class Vandal(Base):
    def observe(self, X, y):
        y[:] = 0


class Floats(Base):
    def suggest(self, n):
        points = super().suggest(n)
        return [{key: float(value) if type(value) is int else value for key, value in x.items()} for x in points]


class RaisesOnOverflow(Base):
    def suggest(self, n):
        np.seterr(over="raise")
        return super().suggest(n)


class OwnErrorCall(Base):
    def observe(self, X, y):
        np.seterrcall(lambda kind, flag: None)


class Moves(Base):
    def suggest(self, n):
        Path("elsewhere").mkdir(exist_ok=True)
        os.chdir("elsewhere")
        return super().suggest(n)


class Environment(Base):
    def close(self):
        os.environ["OPTARENA_TEST_THREADS"] = "1"
        os.environ.pop("OPTARENA_TEST_KEPT", None)


class Handler(Base):
    def observe(self, X, y):
        signal.signal(signal.SIGUSR1, lambda number, frame: None)


@pytest.mark.parametrize(
    ("cls", "said"),
    [
        (RaisesOnOverflow, "np.seterr is changed"),
        (OwnErrorCall, "np.seterrcall is changed"),
        (Moves, "the current directory is changed, to "),
        (Environment, "the environment is changed: OPTARENA_TEST_KEPT, OPTARENA_TEST_THREADS"),
        (Handler, "signal handlers are changed: SIGUSR1"),
    ],
)
def test_what_an_optimizer_leaves_changed_in_the_process_is_named_and_put_back(cls, said, monkeypatch):
    monkeypatch.setenv("OPTARENA_TEST_KEPT", "yes")

    def state():
        return np.geterr(), np.geterrcall(), Path.cwd(), dict(os.environ), signal.getsignal(signal.SIGUSR1)

    before = state()
    findings = [finding for finding in check_optimizer(cls) if finding.check == "the process is left as it was"]
    assert len(findings) == 3
    assert said in findings[0].problem
    assert "Put it back" in findings[0].fix
    assert state() == before


def test_whole_numbers_given_as_floats_are_named():
    findings = {finding.where: finding for finding in check_optimizer(Floats)}
    assert sorted(findings) == ["integer space", "mixed space"]
    assert findings["mixed space"].problem.startswith("point 0: whole = ")
    assert findings["mixed space"].problem.endswith(".0 is a float, not an int")


class NoObjectives(Base):
    def __init__(self, space, rng):
        super().__init__(space, rng=rng)


class Positional(Base):
    def __init__(self, space, objectives, rng, width):
        super().__init__(space, objectives=objectives, rng=rng)


class OneByOne(Base):
    def observe(self, x):
        pass


class NeedsViolations(Base):
    capabilities = oa.Capabilities(constraints=True)

    def observe(self, X, y):
        pass


class NoCount(Base):
    def suggest(self):
        return []


@pytest.mark.parametrize(
    ("cls", "where", "problem", "fix"),
    [
        (NoObjectives, "__init__", "(self, space, rng) does not fit", "def __init__(self, space, *, objectives=1, rng"),
        (Positional, "__init__", "missing a required argument: 'width'", "settings, each with a default"),
        (OneByOne, "observe", "observe(self, x) does not fit", "def observe(self, X, y)."),
        (NeedsViolations, "observe", "too many positional", "def observe(self, X, y, violations) (the third argument"),
        (NoCount, "suggest", "suggest(self) does not fit", "def suggest(self, n)."),
    ],
)
def test_a_wrong_signature_is_named_once_with_the_right_one(cls, where, problem, fix):
    (finding,) = check_optimizer(cls)
    assert (finding.check, finding.where) == ("it can be called", where)
    assert problem in finding.problem
    assert fix in finding.fix


@pytest.mark.parametrize(
    ("cls", "check", "fix"),
    [
        (Few, "points lie in the space", "as many points as asked for"),
        (Unseeded, "the same seed gives the same points", "rng"),
        (Meddling, "global random state is left alone", "restore it"),
        (HatesNan, "failed evaluations are survived", "must not raise"),
        (Own, "points it never suggested are taken", "unsuggested=False"),
        (Vandal, "what is observed is not changed", "Copy"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(cls, check, fix):
    findings = [finding for finding in check_optimizer(cls) if finding.check == check]
    assert len(findings) == 3, [str(f) for f in check_optimizer(cls)]
    assert fix in findings[0].fix
    with pytest.raises(AssertionError, match=check):
        assert_optimizer(cls)


def test_problems_that_are_wrong_are_named():
    space = {"x": {"type": "real", "space": "linear", "range": [0.0, 1.0]}}
    rng = np.random.default_rng(0)
    cases = {
        "evaluates": oa.as_problem(space)(lambda x: 1 / 0),
        "repeats": oa.as_problem(space)(lambda x: rng.random()),
        "optimum": oa.as_problem(space, optimum=5.0)(lambda x: x["x"]),
    }
    for check, problem in cases.items():
        assert [finding.check for finding in check_problem(problem)] == [check]


# ---- what `optarena check` shows -------------------------------------------------------------------------------------

FAULTY = """import numpy as np
import optarena as oa


def helper(x):
    return x["nope"]


class Raises(oa.Optimizer):
    def suggest(self, n):
        return helper({"a": n})


class Finite(oa.Optimizer):
    def suggest(self, n):
        print("suggesting")
        return self.space.to_dicts(self.space.sample(n, self.rng))

    def observe(self, X, y):
        assert np.isfinite(y).all(), "not finite"


class Global(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.from_unit(np.random.rand(n, self.space.dimension)))


class Clears(oa.Optimizer):
    def suggest(self, n):
        return self.space.to_dicts(self.space.sample(n, self.rng))

    def observe(self, X, y):
        X[0].clear()


@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
def sometimes(x):
    if x["x"] > 0.5:
        raise ValueError("too large")
    return x["x"]


@oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
def never(x):
    return helper(x)
"""


@pytest.fixture
def faulty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    (tmp_path / "mine.py").write_text(FAULTY)

    def check(name, capsys):
        code = main(["check", f"mine.py:{name}"])
        return code, capsys.readouterr().out

    return check


def test_a_fault_is_shown_once_with_the_users_own_traceback(faulty, capsys):
    code, out = faulty("Raises", capsys)
    assert code == 1
    assert out == (
        "mine.py:Raises: 1 thing to fix\n"
        "  mine.py:6: raised KeyError: 'nope' (points lie in the space: real, integer and\n"
        "    mixed space)\n"
        "      mine.py:11, in suggest\n"
        '        return helper({"a": n})\n'
        "      mine.py:6, in helper\n"
        '        return x["nope"]\n'
        "    It must not raise here (Exhausted ends a study early).\n"
    )


def test_one_line_that_fails_in_several_checks_is_one_finding(faulty, capsys):
    code, out = faulty("Finite", capsys)
    assert code == 1
    assert "1 thing to fix" in out
    assert "mine.py:20: raised AssertionError: not finite (failed evaluations are\n    survived; infinite" in out
    assert "\nsuggesting" not in out
    assert "lines, first: suggesting" in out


def test_a_global_random_state_is_one_fault(faulty, capsys):
    code, out = faulty("Global", capsys)
    assert code == 1
    assert "1 thing to fix\n  mine.py:24: the state of numpy.random changed, and two runs" in out


def test_points_that_are_emptied_are_named_as_changed(faulty, capsys):
    code, out = faulty("Clears", capsys)
    assert code == 1
    assert "1 thing to fix\n  mine.py:32: observe changed the points or the values" in out


def test_points_of_a_problem_may_fail_and_it_is_said(faulty, capsys):
    code, out = faulty("sometimes", capsys)
    assert code == 0
    assert "mine.py:sometimes: a well-behaved problem\n  mine.py:39: 9 of 20 random points failed" in out
    assert 'raise ValueError("too large")' in out
    code, out = faulty("never", capsys)
    assert code == 1
    assert "  mine.py:6: all 20 random points failed: KeyError: 'nope'\n      mine.py:45, in never\n" in out


def test_steps_are_announced():
    steps = []
    with announced(steps.append):
        check_optimizer("QuasiRandom")
    assert "points lie in the space (real space)" in steps
    assert "failed evaluations are survived (mixed space)" in steps


def test_of_a_slow_problem_fewer_points_are_evaluated(monkeypatch):
    made = []

    @oa.as_problem({"x": {"type": "real", "space": "linear", "range": [0, 1]}})
    def slow(x):
        made.append(x)
        return x["x"]

    monkeypatch.setattr("optarena.testing._problems.SECONDS", 0.0)
    assert check_problem(slow) == []
    assert len(made) == 6  # three points, twice


def test_a_minimiser_that_asks_for_no_number_has_ended():
    class Lost(oa.ClosedLoop):
        def minimise(self, fun):
            fun(self.start())
            fun(np.full(self.space.dimension, np.nan))
            return "converged"

    lost = Lost(build("functions/sphere/d2").space, rng=np.random.default_rng(1))
    lost.observe(lost.suggest(1), np.array([[1.0]]))
    with pytest.raises(oa.Exhausted, match="not a number"):
        lost.suggest(1)
    lost.close()
