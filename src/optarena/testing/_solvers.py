"""Checks of a solver: it runs on small instances in a process of its own, tells the truth, and ends in time."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from optarena._scratch import Scratch
from optarena.dataset import Dataset
from optarena.experiment import Experiment, Use
from optarena.instance import Instance, WrongSolution
from optarena.problem import build
from optarena.runner.local import run
from optarena.solver import check_settings, get_solver, refusal
from optarena.status import WRONG
from optarena.testing._finding import Finding

INSTANCES = ("tsp/n7/i1", "knapsack/m3n15/i1", "jobshop/ft06")
LATE = 0.5


def check_instance(instance: Instance, moves: int = 20) -> list[Finding]:
    """Walk through an instance's moves, and look at its linear model: they must agree with `verify`."""
    out: list[Finding] = []
    if "moves" in instance.forms:
        rng = np.random.default_rng(3)
        sign, state = (-1.0 if instance.maximise else 1.0), instance.first(rng)
        for _ in range(moves):
            state = instance.neighbour(state, rng)
            cost = instance.cost(state)
            try:
                value = instance.verify(instance.from_state(state)) if math.isfinite(cost) else sign * cost
            except WrongSolution as error:
                out.append(
                    Finding("moves", instance.id, f"a state is no solution ({error})", "Give it an infinite cost.")
                )
                break
            if sign * value != cost:
                fix = "A feasible state costs its objective, negated where that is maximised."
                out.append(Finding("moves", instance.id, f"a state costs {cost:g}, its objective is {value:g}", fix))
                break
    if "linear" in instance.forms and instance.model.maximise != instance.maximise:
        out.append(Finding("linear", instance.id, "its model goes the other way", "Correct `maximise` or the sense."))
    if not instance.forms:
        out.append(Finding("forms", instance.id, "it comes in no form", "Name the forms that it has, as 'moves'."))
    return out


def check_solver(
    solver: str, instances: Sequence[str] = (), seconds: float = 1.0, base: Path | None = None, **settings: Any
) -> list[Finding]:
    """Run a registered solver, `my.py:MySolver` or `program.toml`, on instances (else on small ones of ours).

    Those whose form it does not take are passed over.
    """
    cls = get_solver(solver, base)
    chosen = check_settings(cls, solver, settings)
    ids = [id for id in instances or INSTANCES if refusal(cls, build(id, base), seconds, chosen) is None]
    if not ids:
        forms = ", ".join(cls.takes) or "nothing"
        return [
            Finding(
                "takes", solver, f"it takes {forms}: none of the instances", "Name some: forms are in docs/solvers.md."
            )
        ]
    with Scratch("check") as folder:
        experiment = Experiment([Use(solver, settings, "it")], ids, seconds=seconds, base=base or Path.cwd())
        run(experiment, Path(folder) / "store", workers=1)
        results = Dataset.of_store(Path(folder) / "store")
    last = results.extra_at_end("seconds").tolist()
    out: list[Finding] = []
    for row, end, word in zip(results.studies.iter_rows(named=True), last, results.endings(), strict=True):
        what, reason = row["problem"], row["reason"]
        if row["status"] == "timed out":
            out.append(
                Finding("ends", what, f"it went on after its budget: {reason}", "Look at budget.left() and return.")
            )
        elif word == WRONG:
            out.append(
                Finding("truth", what, reason.removeprefix("wrong: "), "Emit what the instance's verify() gives.")
            )
        elif row["status"] == "failed":
            out.append(Finding("runs", what, reason, "Return a word of optarena.solver.ENDS; raise nothing."))
        elif end > seconds * 1.1 + LATE:
            out.append(
                Finding(
                    "ends", what, f"it ended {end - seconds:.2g} s late", "Look at budget.left() more often and return."
                )
            )
        elif not row["evaluations"]:
            out.append(
                Finding("finds", what, f"no solution in {seconds:g} s", "Emit a solution as soon as there is one.")
            )
    return out
