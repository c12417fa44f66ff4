"""The conformance kit passes what is good, and names what is bad and how to mend it."""

from __future__ import annotations

import numpy as np
import pytest

import optarena as oa
from optarena.optimizer import entries
from optarena.problem import build
from optarena.testing import assert_optimizer, assert_problem, check_optimizer, check_problem


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry.name)
def test_every_registered_optimizer_conforms(entry):
    if not entry.installed:
        pytest.skip(f"needs the extra {entry.extra}")
    assert_optimizer(entry.name)


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


@pytest.mark.parametrize(
    ("cls", "check", "mend"),
    [
        (Few, "points lie in the space", "as many points as asked for"),
        (Unseeded, "the same seed gives the same points", "rng"),
        (Meddling, "global random state is left alone", "restore it"),
        (HatesNan, "failed evaluations are survived", "must not raise"),
        (Own, "points it never suggested are taken", "unsuggested=False"),
        (Vandal, "what is observed is not changed", "Copy"),
    ],
)
def test_what_is_wrong_is_named_with_its_remedy(cls, check, mend):
    findings = [finding for finding in check_optimizer(cls) if finding.check == check]
    assert len(findings) == 3, [str(f) for f in check_optimizer(cls)]
    assert mend in findings[0].mend
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
