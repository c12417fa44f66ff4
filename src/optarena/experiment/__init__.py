"""The plan: optimizers x problems x trials and a budget, as plain data; and its studies.

    >>> experiment = Experiment(["RandomSearch"], "functions/sphere/d{2,5}", budget="10*D", trials=3)
    >>> plan = experiment.plan(root=uuid.UUID(int=1))
    >>> len(plan.studies)
    6

Ids and random streams are functions of this data and of the root alone; running lives in `runner`.
"""

from optarena.experiment.budget import Budget, evaluations
from optarena.experiment.fields import Limits
from optarena.experiment.identity import Study, noise_key, noise_rng, optimizer_rng, problem_rng
from optarena.experiment.plan import Experiment, Plan, Refusal
from optarena.experiment.uses import Named, Use, label_of, use

__all__ = [
    "Budget",
    "Experiment",
    "Limits",
    "Named",
    "Plan",
    "Refusal",
    "Study",
    "Use",
    "evaluations",
    "label_of",
    "noise_key",
    "noise_rng",
    "optimizer_rng",
    "problem_rng",
    "use",
]
