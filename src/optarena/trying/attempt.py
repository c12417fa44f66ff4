"""Trying a panel of optimizers on one problem: its store, a first look at what an evaluation costs, and the race."""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from optarena._process import usable_cores
from optarena._scratch import Scratch
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Experiment, Use, evaluations
from optarena.experiment.fields import count
from optarena.experiment.identity import as_root
from optarena.experiment.panel import default_budget, must_be_possible, panel
from optarena.experiment.uses import Named, as_use
from optarena.facade import execute, open_store
from optarena.optimizer import is_random_search
from optarena.problem import Problem, Subject, build, given_problem, plain_function, select
from optarena.runner import local
from optarena.space import Space
from optarena.store import RunFile, Store
from optarena.store.journal import problem_card
from optarena.store.merging import differing, merge
from optarena.trying.naming import name_of
from optarena.trying.recommendation import Recommendation, first_failure
from optarena.trying.watching import FirstPoints, Watching

FIRST, MORE = 2, 10
"""Evaluations that show what one costs; and how many must all fail before it is taken for broken."""


def try_optimizers(
    problem: str | Subject | Callable[..., Any],
    budget: int | str | None = None,
    *,
    space: Mapping[str, Any] | Space | None = None,
    optimizers: Named | Sequence[Named | Mapping[str, Any]] | None = None,
    max_trials: int | None = None,
    seed: str | int | uuid.UUID | None = None,
    store: str | Path | None = None,
    workers: int | None = None,
    progress: Watching | None = None,
) -> Recommendation:
    """Run optimizers on one problem until it is decided which to use; called again, it goes on where it stopped.

    problem: a function with a space (`as_problem`, or `space=`), a Problem, or what the command line takes: an id,
    'mine.py:loss', 'mine.toml'. budget: evaluations of each run, a number or an expression such as '20*D'; by default
    it follows from the problem. optimizers: instead of a panel that fits the problem (docs/try.md); random search is
    always among them. max_trials: at most so many runs of each. seed: a number that makes the runs repeatable; it is
    drawn if there is none. store: where results are kept, by default `mine-results`. workers: processes, as in
    `Experiment.run`.
    """
    if space is not None:
        if isinstance(problem, (str, Subject)) or not callable(problem):
            raise OptarenaError("a space is for a plain function; this problem has its own", field="space")
        problem = plain_function(problem, space)
    given = given_problem(problem)
    subject = _the_problem(given)
    must_be_possible(subject)
    place = _place(store, subject, given)
    tried = _Try(subject, given, place, workers, progress or Watching(), as_it_was=Store(place).exists)
    return tried.run(budget, optimizers, max_trials, None if seed is None else as_root(seed))


def _the_problem(given: str | Subject) -> Problem:
    """The one problem that is meant."""
    if isinstance(given, str):
        found = select(given)
        if len(found) != 1:
            raise OptarenaError(
                f"try takes one problem, and {given!r} selects {len(found)}: choose one, such as {found[0]}, or compare"
                " optimizers on all of them with `optarena run`"
            )
        given = build(found[0])
    if not isinstance(given, Problem):
        raise OptarenaError(
            f"{given.id} is an instance for solvers, which try does not know: optarena run -s SOLVER -p {given.id}"
            " --seconds 10 --until-decided (optarena list solvers)"
        )
    if not isinstance(getattr(given, "space", None), Space):
        raise OptarenaError(f"{given!r} has no space; set space = optarena.Space({{…}})")
    return given


def _place(store: str | Path | None, problem: Problem, given: str | Subject) -> Path:
    """The store: the one that is named, or one named after the problem that has no results of another version of it."""
    if store is not None:
        return Path(store)
    name = name_of(given)
    for number in range(1, 1000):
        place = Path(f"{name}-results" if number == 1 else f"{name}-results-{number}")
        if not Store(place).exists or not _another(place, problem):
            return place
    raise OptarenaError(f"{name}-results to {name}-results-999 have results of other versions: give a --store")


def _another(place: Path, problem: Problem) -> bool:
    """Whether a store has results of a problem of this id whose definition or code was another."""
    now = problem_card(problem, signed=False)
    cards = [attempt.card for attempt in Dataset.of_store(place).attempts]
    return any(differing(now, card) is not None for card in cards if card.id == now.id and card.version == now.version)


class _Attempt(Experiment):
    """The race of a try, which has no option to start again in the same store."""

    afresh = "give another --store"


class _Try:
    """One problem, and the store in which it is tried."""

    def __init__(
        self,
        problem: Problem,
        given: str | Subject,
        place: Path,
        workers: int | None,
        progress: Watching,
        *,
        as_it_was: bool,
    ) -> None:
        self.problem, self.given, self.place = problem, given, place
        self.workers, self.progress, self.existed = workers, progress, as_it_was

    def run(
        self,
        budget: int | str | None,
        optimizers: Named | Sequence[Named | Mapping[str, Any]] | None,
        max_trials: int | None,
        seed: uuid.UUID | None = None,
    ) -> Recommendation:
        local.must_be_workers(self.workers)
        if max_trials is not None:
            count(max_trials, "max_trials")
        past = self._past()
        runs = Store(self.place).runs() if self.existed else []
        root = self._root(past, runs, seed)
        least = None if budget is None else evaluations(budget, self.problem.dimension)
        uses = None if optimizers is None else _uses(optimizers)
        if uses is not None:  # what is wrong with them is said before anything is evaluated
            refused = self._experiment(uses, least or MORE, max_trials or 1, root).plan().refused
            if refused:
                raise OptarenaError(f"{refused[0].optimizer} on {refused[0].problem} {refused[0].reason}")
        seconds = self._seconds(root, least or MORE)
        if least is None:
            known = past.race.budgets if past is not None and past.race is not None else {}
            least = known.get(self.problem.id) or default_budget(self.problem, seconds)
        chosen = panel(self.problem, least, seconds, self._shared_by)
        if uses is not None:
            chosen = replace(chosen, optimizers=uses, slow=[])
        elif past is not None:
            chosen = replace(chosen, optimizers=[as_use(one, i) for i, one in enumerate(past.experiment["optimizers"])])
        chosen = replace(chosen, max_trials=max_trials or chosen.max_trials)
        self.progress.chosen(self.problem.id, chosen, least)
        experiment = self._experiment(chosen.optimizers, least, chosen.max_trials, root)
        self.progress.watch(self.place, self.problem.id)
        with self.progress:
            execute(experiment, self.place, workers=self.workers, progress=self.progress)
        return Recommendation.of_store(self.place, self.problem.id)

    def _experiment(self, uses: list[Use], budget: int, max_trials: int, root: uuid.UUID) -> Experiment:
        return _Attempt(uses, self.given, budget, until_decided=True, max_trials=max_trials, seed=root)

    def _root(self, past: RunFile | None, runs: Sequence[RunFile], seed: uuid.UUID | None) -> uuid.UUID:
        """What all seeds come from: that of the results it continues, else the one that is given, else a new one."""
        if seed is None:
            return uuid.UUID((past or runs[-1]).root) if runs else uuid.uuid4()
        if self.existed:
            mine = Dataset.of_store(self.place).studies.filter(problem=self.problem.id)
            if set(mine["root"]) - {str(seed)}:
                raise OptarenaError(
                    f"store {self.place} has results on {self.problem.id} of another seed: leave out --seed to continue"
                    " them, or give another --store",
                    field="seed",
                )
        return seed

    @property
    def _shared_by(self) -> int:
        """How many processes share the work."""
        if self.workers is not None:
            return max(1, self.workers)
        return usable_cores() if isinstance(self.given, str) else 1

    def _past(self) -> RunFile | None:
        """The newest race on this problem in the store."""
        runs = Store(self.place).runs() if self.existed else []
        mine = [run for run in runs if run.race is not None and run.race.problems == [self.problem.id]]
        return mine[-1] if mine else None

    def _seconds(self, root: uuid.UUID, budget: int) -> float:
        """What an evaluation costs: as the store says, else by the first points of random search, part of the race."""
        known = self._measured(self.place)
        if known is not None:
            return known
        if not self.existed:
            try:
                return self._first_look(self.place, root, budget)
            except OptarenaError:
                shutil.rmtree(self.place, ignore_errors=True)
                raise
        with Scratch("try") as folder:  # if all fails, the store with other problems stays as it was
            apart = Path(folder) / "first"
            seconds = self._first_look(apart, root, budget)
            merge([Store(apart)], Store(self.place))
        return seconds

    def _first_look(self, place: Path, root: uuid.UUID, budget: int) -> float:
        """Evaluate the first points into a store; an error if all of them fail."""
        made, workers = 0, 1 if isinstance(self.given, str) and self.workers != 0 else 0
        for wanted in (min(FIRST, budget), min(MORE, budget)):
            first = _Attempt("RandomSearch", self.given, wanted, seed=root)
            self.progress.first_points(place, self.problem.id, wanted - made)
            local.run(first, place, workers=workers, progress=FirstPoints(self.progress))
            made = wanted
            seconds = self._measured(place)
            if seconds is not None:
                return seconds
        results = open_store(place)
        said = first_failure(results, self.problem.id)
        reason = results.studies["reason"].drop_nulls().to_list()
        raise OptarenaError(
            f"{self.problem.id}: all of its first {wanted} evaluations failed, so nothing more was run. The first:"
            f" {said or (reason[0] if reason else 'without a word')}"
        )

    def _measured(self, place: Path) -> float | None:
        """Seconds of an evaluation on average, where a store knows."""
        if not Store(place).exists:
            return None
        studies = open_store(place).studies.filter(problem=self.problem.id)
        made, failed, spent = (float(studies[key].sum()) for key in ("evaluations", "failures", "evaluate_seconds"))
        return spent / made if made > failed else None


def _uses(optimizers: Named | Sequence[Named | Mapping[str, Any]]) -> list[Use]:
    """What was asked for, with random search: scores are measured against it."""
    several = isinstance(optimizers, Sequence) and not isinstance(optimizers, str)
    items: Sequence[Any] = optimizers if several else [optimizers]  # type: ignore[assignment]
    uses = [as_use(item, i) for i, item in enumerate(items)]
    return uses if any(is_random_search(item.label) for item in uses) else [*uses, Use("RandomSearch")]
