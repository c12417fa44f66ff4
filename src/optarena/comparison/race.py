"""A race: trials are added round by round until it is clear which optimizer is better (docs/race.md, docs/scores.md 6).

A round is one new trial of every optimizer that is still in the race, on every problem. Who is beaten leaves. The same
class drives a run and computes its verdict again from a store.
"""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from optarena._numbers import counted, probability
from optarena.comparison.answer import all_others
from optarena.comparison.pairs import Levels, all_pairs, pair_places
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Plan, Study
from optarena.problem import Problem
from optarena.runner.local import Standing
from optarena.solver import Solver
from optarena.stats.improvement import (
    BETTER,
    EQUIVALENT,
    ROPE,
    UNDECIDED,
    WORSE,
    duels,
    problem_weights,
)
from optarena.stats.sequences import Bets, levels_of, log_threshold, words
from optarena.status import FINISHED
from optarena.store import Look, RaceFile, RunFile
from optarena.traces import Bools, Floats
from optarena.views._options import VIEWS, dashed, view_named
from optarena.views._scores import Scores
from optarena.views.trial_scores import trial_scores

ALPHA = 0.05
DECIDED, LEADER, TRIALS, EVALUATIONS = "decided", "leader known", "max_trials reached", "max_evaluations reached"
"""Why a race is over."""
LISTED = 4
"""Pairs that a line names one by one."""


class Race:
    """Looks at rounds, and what follows from them. `plan` says who races, on what, and until when."""

    def __init__(self, plan: RaceFile) -> None:
        self.plan = plan
        self.first, self.second = all_pairs(len(plan.optimizers))
        names = plan.optimizers
        self.pairs = [(names[a], names[b]) for a, b in zip(self.first.tolist(), self.second.tolist(), strict=True)]
        self.live = list(plan.optimizers)
        self.out: dict[str, tuple[str, int]] = {}
        """Who has left: beaten by whom, in which round."""
        self.verdicts = [UNDECIDED] * len(self.first)
        self.values: list[Floats] = []
        """Of each round: (pairs, problems), 1 where the first won, 0.5 for a tie; NaN for pairs that did not meet."""
        self.evaluations = 0
        self.looks: list[Look] = []
        self.weights: Floats = np.ones(len(plan.problems))
        self._bets: Bets | None = None
        self.whole = True
        """Whether all its problems and optimizers are here."""
        self.places: list[int] = []
        """Of the studies of its rounds, in the dataset from which it was made again."""

    @property
    def rounds(self) -> int:
        return len(self.values)

    @property
    def end(self) -> str:
        """Why it is over; empty while it is not."""
        return self.looks[-1].end if self.looks else ""

    def look(self, results: Dataset) -> Look:
        """At a round: results has its studies, all of which have ended.

        Each round is scored by itself: what comes later never changes what was seen.
        """
        made, limits = results.studies["evaluations"].to_numpy(), self._limits(results)
        if self.plan.view != "fixed_cost" and (made > limits).any():
            i = int(np.argmax(made > limits))
            name, problem = results.studies["optimizer"][i], results.studies["problem"][i]
            raise OptarenaError(
                f"{name} on {problem} has {made[i]:,} evaluations in store {results.path}, more than the"
                f" {int(limits[i]):,} of this race: race with that budget, or use another --store"
            )
        scores = trial_scores(results, self.plan.view, self.plan.budgets)
        met = self._met(scores)
        self.values.append(met)
        self.evaluations += int(np.minimum(made, limits).sum())
        if self._bets is None:
            places = {name: i for i, name in enumerate(dict.fromkeys(scores.functions))}
            of = dict(zip(scores.problems, scores.functions, strict=True))
            function = [places.setdefault(of.get(name, name), len(places)) for name in self.plan.problems]
            self.weights = problem_weights(np.array(function))
            self._bets = Bets(self.weights, levels_of(len(self.first), self.plan.rope))
        self._bets.add(met)
        self._decide(self._bets)
        look = self._record(self._bets, len(self.live) * sum(self.plan.budgets.get(id, 0) for id in self.plan.problems))
        self.looks.append(look)
        return look

    def _limits(self, results: Dataset) -> Floats:
        """(studies,): how many evaluations of each are looked at."""
        return np.array([self.plan.budgets.get(id, np.inf) for id in results.studies["problem"]])

    def _met(self, scores: Scores) -> Floats:
        """(pairs, problems): how the round's duels ended. A trial without a score loses, as one without a value."""
        here = np.nan_to_num(ranks_among(scores, self.plan.problems, self.plan.optimizers), nan=np.inf)
        out = duels(here, self.first, self.second).share
        out[~self._open] = np.nan
        return out

    @property
    def _open(self) -> Bools:
        """(pairs,): which pairs still meet: both are in the race, and neither is known to be better."""
        live = np.array([name in self.live for name in self.plan.optimizers])
        settled = np.array([word in (BETTER, WORSE) for word in self.verdicts], dtype=bool)
        return live[self.first] & live[self.second] & ~settled

    def _decide(self, bets: Bets) -> None:
        now = words(bets.evidence, self.plan.alpha, len(self.pairs))
        for i in np.flatnonzero(self._open).tolist():
            self.verdicts[i] = now[i]
        beats: dict[str, set[str]] = {name: set() for name in self.live}
        for better, worse in self._won:
            if better in beats and worse in beats:
                beats[better].add(worse)
        # optimizers that beat each other in a circle stay: nobody outside the circle is better than they are
        unbeaten = [name for name in self.live if not any(name in others for others in beats.values())]
        gone: dict[str, str] = {}
        reached = list(unbeaten)
        for name in reached:
            for other in sorted(beats[name] - gone.keys()):
                gone[other] = name
                reached.append(other)
        self.out |= {name: (by, self.rounds) for name, by in gone.items()}
        self.live = [name for name in self.live if name not in gone]

    def _record(self, bets: Bets, next_round: int) -> Look:
        found, means = bets.evidence, bets.means
        pairs = [
            (a, b, float(means[i]), float(found.above[i, 1]), float(found.below[i, 1]), self.verdicts[i])
            for i, (a, b) in enumerate(self.pairs)
        ]
        return Look(self.rounds, self.evaluations, list(self.live), pairs, self._end(next_round))

    def _end(self, next_round: int) -> str:
        if not self.still_open:
            return DECIDED
        if self.plan.leader_only and any(self._leads(name) for name in self.live):
            return LEADER
        if self.rounds >= self.plan.max_trials:
            return TRIALS
        if self.plan.max_evaluations is not None and self.evaluations + next_round > self.plan.max_evaluations:
            return EVALUATIONS
        return ""

    def _leads(self, name: str) -> bool:
        """Whether it is better than, or equivalent to, all others that are in the race."""
        return all(
            word in (BETTER if name == a else WORSE, EQUIVALENT)
            for (a, b), word in zip(self.pairs, self.verdicts, strict=True)
            if name in (a, b) and {a, b} <= set(self.live)
        )

    # ---- what is known -----------------------------------------------------------------------------------------------

    def values_of(self, optimizers: Sequence[str]) -> Floats:
        """(pairs, rounds, problems): how the duels of all pairs of these optimizers ended, in their order."""
        at = np.array([self.plan.optimizers.index(name) for name in optimizers])
        first, second = (at[which] for which in all_pairs(len(at)))
        every = np.array(self.values).swapaxes(0, 1)[pair_places(len(self.plan.optimizers))[first, second]]
        return np.where((first > second)[:, None, None], 1.0 - every, every)

    @property
    def still_open(self) -> list[tuple[str, str]]:
        """The pairs that are in the race and undecided."""
        return self._live_pairs(UNDECIDED)

    @property
    def _likely(self) -> int | None:
        """How many more rounds it takes if all goes on as it did; None where no limit would be kept so."""
        if self._bets is None or not self.still_open:
            return 0
        found = self._bets.evidence
        strongest = np.maximum(found.above[:, 1], found.below[:, 1])
        missing = log_threshold(self.plan.alpha, len(self.first)) - strongest
        mine = self._open & np.array([word == UNDECIDED for word in self.verdicts], dtype=bool)
        with np.errstate(divide="ignore"):
            rounds = missing[mine] * self.rounds / np.maximum(strongest[mine], 0.0)
        slowest = float(rounds.max())
        return int(np.ceil(slowest)) if slowest <= self.plan.max_trials - self.rounds else None

    @property
    def standing(self) -> Standing:
        """Who beats whom since the last look, and what is open."""
        said = [f"{by} ▲ {name}" for name, (by, when) in self.out.items() if when == self.rounds]
        before = {pair[:2] for pair in self.looks[-2].pairs if pair[-1] == EQUIVALENT} if self.rounds > 1 else set()
        said += [f"{a} ≈ {b}" for a, b in self._live_pairs(EQUIVALENT) if (a, b) not in before]
        return Standing(self.rounds, self.plan.max_trials, said, len(self.still_open), self._likely, bool(self.end))

    def _live_pairs(self, word: str) -> list[tuple[str, str]]:
        return [
            pair
            for pair, verdict in zip(self.pairs, self.verdicts, strict=True)
            if verdict == word and set(pair) <= set(self.live)
        ]

    @property
    def sentences(self) -> list[str]:
        """How the race ended, or stands: one sentence each, of who is left, who was beaten, and what is open."""
        rounds = counted(self.rounds, "round")
        open_ones = self.still_open
        if not self.end:
            first = f"The race goes on after {rounds}: {counted(len(open_ones), 'pair')} undecided."
        elif len(self.live) == 1:
            first = f"Decided after {rounds}: {self._of_the_last}"
        elif not open_ones and not self._circle:
            first = f"Decided after {rounds}: {_names(self.live)} are equivalent."
        elif not open_ones:
            circle = [f"{a} beats {b}" for a, b in self._won if {a, b} <= set(self.live)]
            first = f"Decided after {rounds}, without a best one: {_names(circle)}."
        elif self.end == LEADER:
            best = next(name for name in self.live if self._leads(name))
            left = " that are left" if self.out else ""
            whom = f"{all_others(len(self.live) - 1)}{left}"
            first = f"Decided after {rounds}: {best} is better than or equivalent to {whom}."
        else:
            most = self.plan.max_trials if self.end == TRIALS else self.plan.max_evaluations or 0
            limit = f"its limit of {counted(most, 'trial' if self.end == TRIALS else 'evaluation')}"
            first = f"Not decided within {limit}, after {rounds}: {counted(len(open_ones), 'pair')} undecided."
        out = [first]
        by_round: dict[int, list[str]] = {}
        for name, (by, when) in self.out.items():
            by_round.setdefault(when, []).append(f"{name} (by {by})")
        if by_round:
            beaten = [f"{', '.join(names)} after round {when}" for when, names in by_round.items()]
            out.append(f"Beaten: {'; '.join(beaten)}.")
        if self.end and len(self.live) > 1 and (same := self._live_pairs(EQUIVALENT)) and open_ones:
            out.append(f"Equivalent: {', '.join(f'{a} and {b}' for a, b in same[:LISTED])}.")
        if open_ones:
            means = self._bets.means if self._bets is not None else np.zeros(0)
            some = [
                f"{a} against {b} ({probability(float(means[self.pairs.index((a, b))]))})"
                for a, b in open_ones[:LISTED]
            ]
            more = f" and {len(open_ones) - LISTED} more" if len(open_ones) > LISTED else ""
            out.append(f"Undecided: {', '.join(some)}{more}.")
        return out

    @property
    def _won(self) -> list[tuple[str, str]]:
        """Who was shown to be better than whom."""
        every = zip(self.pairs, self.verdicts, strict=True)
        decided = [(pair, word) for pair, word in every if word in (BETTER, WORSE)]
        return [(a, b) if word == BETTER else (b, a) for (a, b), word in decided]

    @property
    def _of_the_last(self) -> str:
        """Of the only one that is left: whom it beats; others left earlier, beaten by one that it beats in turn."""
        best = self.live[0]
        beaten = [b for a, b in self._won if a == best]
        unmet = [name for name in self.plan.optimizers if name != best and name not in beaten]
        if not unmet:
            return f"{best} is best; it beats {all_others(len(beaten))}."
        left = f"{best} is left; it beats {_names(beaten)}"
        whom = "it" if len(unmet) == 1 else "them"
        return f"{left}. It is not shown to beat {_names(unmet)}: others had beaten {whom} before."

    def to_data(self) -> dict[str, Any]:
        """As plain data: how it ended, who is left, who was beaten, and every look."""
        return {
            "rounds": self.rounds,
            "evaluations": self.evaluations,
            "end": self.end,
            "live": self.live,
            "out": {name: {"by": by, "round": when} for name, (by, when) in self.out.items()},
            "sentences": self.sentences,
            "looks": [msgspec.to_builtins(look) for look in self.looks],
        }

    @property
    def _circle(self) -> bool:
        return bool(self._live_pairs(BETTER) or self._live_pairs(WORSE))


def _names(names: Sequence[str]) -> str:
    return " and ".join([", ".join(names[:-1]), names[-1]]) if len(names) > 1 else names[0]


# ---- running one -----------------------------------------------------------------------------------------------------


class Rounds:
    """A race that is being run: gives the runner the studies of one round after the other."""

    race: Race

    def begin(self, plan: Plan, runs: Sequence[RunFile]) -> None:
        """runs: of the store, with the looks that are recorded."""
        wanted = plan.experiment.race
        assert wanted is not None
        file = RaceFile(
            optimizers=[item.label for item in plan.experiment.optimizers],
            problems=list(dict.fromkeys(problem.id for problem, _ in plan.pairs)),
            view=_view_of(plan, wanted.view),
            alpha=ALPHA,
            rope=ROPE,
            max_trials=wanted.max_trials,
            max_evaluations=wanted.max_evaluations,
            leader_only=wanted.leader_only,
        )
        if wanted.max_evaluations is not None and any(study.budget.evaluations is None for study in plan.studies):
            raise OptarenaError(
                "studies with a budget in seconds only may make any number: give max_trials instead",
                field="max_evaluations",
            )
        file.budgets = {s.problem: s.budget.evaluations for s in plan.studies if s.budget.evaluations is not None}
        one = sum(study.budget.evaluations or 0 for study in plan.studies)
        if wanted.max_evaluations is not None and one > wanted.max_evaluations:
            raise OptarenaError(
                f"one round has {one:,} evaluations, got {wanted.max_evaluations:,}", field="max_evaluations"
            )
        self._plan, self.race = plan, Race(file)
        mine = _key(file, str(plan.root), plan.experiment.to_data())
        self._known = {
            look.round: look
            for run in runs
            if run.race is not None and _key(run.race, run.root, run.experiment) == mine
            for look in run.race.looks
        }
        self._saved = set(self._known)
        self._changed = False

    def studies(self) -> list[Study]:
        """Of the next round; none when the race is over."""
        if self.race.end:
            return []
        return self._plan.experiment.of_trial(self._plan, self.race.rounds, self.race.live)

    def look(self, results: Dataset) -> None:
        """At the studies of the round. What was recorded of it before must be what its data say now."""
        look = self.race.look(results)
        known = self._known.get(look.round, look)
        if (known.evaluations, known.live, known.pairs) != (look.evaluations, look.live, look.pairs):
            self._saved.discard(look.round)
            if not self._changed:
                self._plan.notices.append(
                    f"round {look.round} is not what it was when it was looked at: its studies have changed since"
                )
            self._changed = True

    def record(self) -> RaceFile:
        """For the run file of the round: with the looks that no other run file has."""
        new = [look for look in self.race.looks if look.round not in self._saved]
        return msgspec.structs.replace(self.race.plan, looks=new)

    def saved(self) -> None:
        """What `record` gave is in a run file that will not change any more."""
        self._saved |= {look.round for look in self.race.looks}

    @property
    def standing(self) -> Standing:
        """Who beats whom since the last look, and what is open."""
        return self.race.standing


def _view_of(plan: Plan, wanted: str | None) -> str:
    """The view that answers for the studies of a plan (docs/scores.md 0.5); fixed cost needs no random search here.

    wanted: the one that is asked for instead.
    """
    view = None if wanted is None else view_named(wanted)
    found = set()
    for problem, item in plan.pairs:
        if issubclass(plan.classes[item.label], Solver):
            found.add("anytime")
        else:
            assert isinstance(problem, Problem)
            found.add("pareto" if len(problem.objectives) > 1 else "fixed_cost")
    if len(found) > 1:
        raise OptarenaError(
            "problems of one objective, of several, and instances for solvers cannot be in one race: run one for each",
            field="problems",
        )
    answering = found.pop()
    if view is not None and (view == "pareto") != (answering == "pareto"):
        fit = "pareto" if answering == "pareto" else ", ".join(dashed(name) for name in VIEWS if name != "pareto")
        raise OptarenaError(f"these problems cannot be scored by {dashed(view)}, but by {fit}", field="view")
    return view or answering


def _key(race: RaceFile, root: str, experiment: Mapping[str, Any]) -> bytes:
    """Tells races apart: who races on what, scored how. Limits are no part of it: a race may go on to others."""
    how = [experiment.get(key) for key in ("batch", "seconds", "target")]
    plain = msgspec.structs.replace(race, max_trials=0, max_evaluations=None, leader_only=False, looks=[])
    return msgspec.json.encode([root, plain, how])


# ---- from a store ----------------------------------------------------------------------------------------------------


def race_of(results: Dataset) -> Race | None:
    """The newest race of a store that has a round, looked at again round by round; None where there is none.

    Where only some problems or optimizers were chosen, it is the race on these.
    """
    seen = set()
    for run in reversed(results.all_runs):
        if run.race is not None and (key := _key(run.race, run.root, run.experiment)) not in seen:
            seen.add(key)
            try:
                found = _again(results, run, run.race, key)
            except OptarenaError:  # it could not be scored when it was run, either
                continue
            if found is not None:
                return found
    return None


def race_so_far(results: Dataset, run: RunFile, problems: Container[str]) -> Race:
    """A race that goes on: the rounds that are complete by its plan, on some of its problems; perhaps none.

    What nobody has begun yet is lacking here, where `race_of` takes it for not chosen.
    """
    assert run.race is not None
    file, key = run.race, _key(run.race, run.root, run.experiment)
    wanted = {name for name in file.problems if name in problems}
    try:
        made = _again(results, run, file, key, (set(file.optimizers), wanted))
    except OptarenaError as error:
        raise OptarenaError(f"the race cannot be scored: {error}") from None
    if made is not None:
        return made
    first = [
        (name, problem, 0) for name in dict.fromkeys(file.optimizers) for problem in file.problems if problem in wanted
    ]
    if not first:
        raise OptarenaError("the race that goes on is on none of these problems")
    have = _trials(results, run)
    raise OptarenaError(no_round(sum(one in have for one in first), len(first)))


def no_round(have: int, of: int) -> str:
    """Why nothing is decided yet."""
    return f"no round is complete yet, {have:,} of {counted(of, 'study')} of the first have ended"


def _again(
    results: Dataset, run: RunFile, file: RaceFile, key: bytes, chosen: tuple[set[str], set[str]] | None = None
) -> Race | None:
    """A race with all its rounds of which a store has all studies; None where it has none.

    chosen: the optimizers and problems whose studies a round needs; by default those that have a trial.
    """
    if not (0 < file.alpha < 1 and 0 <= file.rope < 0.5 and file.view in VIEWS and file.max_trials > 0):
        return None
    have = _trials(results, run)
    optimizers, problems = chosen or tuple({name[part] for name in have} for part in (0, 1))
    plan = msgspec.structs.replace(
        file,
        optimizers=[name for name in dict.fromkeys(file.optimizers) if name in optimizers],
        problems=[name for name in dict.fromkeys(file.problems) if name in problems],
        looks=[],
    )
    if len(plan.optimizers) < 2 or not plan.problems:
        return None
    race = Race(plan)
    race.whole = (plan.optimizers, plan.problems) == (file.optimizers, file.problems)
    stayed = {} if race.whole else _stayed(results, key)
    while not race.end:
        race.live = [name for name in race.live if name in stayed.get(race.rounds, race.live)]
        wanted = [(name, problem, race.rounds) for name in race.live for problem in plan.problems]
        if len(race.live) < 2 or not all(one in have for one in wanted):
            break
        places = [have[one] for one in wanted]
        race.look(results.select(np.array(places, dtype=np.int64)))
        race.places += places
    return race if race.rounds else None


def _trials(results: Dataset, run: RunFile) -> dict[tuple[str, str, int], int]:
    """(optimizer, problem, trial) -> the place of the study that has ended.

    Where there are several, of other budgets or batches, it is the one that runs like this one planned.
    """

    def asked(one: RunFile) -> list[Any]:
        return [one.root, *(one.experiment.get(key) for key in ("budget", "seconds", "batch"))]

    planned = {study.id for one in results.all_runs if asked(one) == asked(run) for study in one.studies}
    out: dict[tuple[str, str, int], int] = {}
    sure = set()
    for i, (attempt, status) in enumerate(zip(results.attempts, results.studies["status"], strict=False)):
        start = attempt.start
        key = (start.optimizer, attempt.card.id, start.trial)
        if start.root == run.root and status in FINISHED and (start.study in planned or key not in sure):
            out[key] = i
            if start.study in planned:
                sure.add(key)
    return out


def _stayed(results: Dataset, key: bytes) -> dict[int, set[str]]:
    """Round (from 0) -> who took part in it, where that is known: what some problems alone do not tell."""
    out: dict[int, set[str]] = {}
    for one in results.all_runs:
        if one.race is not None and _key(one.race, one.root, one.experiment) == key:
            for study in one.studies:
                out.setdefault(study.trial, set()).add(study.optimizer)
            out |= {look.round: set(look.live) for look in one.race.looks}
    return out


def by_trial(trials: Scores, alone: Sequence[Floats] | None = None) -> tuple[Floats, Floats]:
    """Trials of any store as rounds: (pairs, rounds, problems) with NaN where a pair lacks some, and weights.

    trials: by what trials are ordered, on the problems that all optimizers have run. alone: `ranks_among` these of each
    round scored by itself, where scores depend on who is there.
    """
    first, second = all_pairs(len(trials.optimizers))
    weights = problem_weights(Levels.of(trials).function)
    if alone is None:
        ranks = trials.ranked()
        alone = [ranks[:, :, r : r + 1] for r in range(ranks.shape[2])]
    return np.array([duels(one, first, second).share for one in alone]).swapaxes(0, 1), weights


def ranks_among(scores: Scores, problems: Sequence[str], optimizers: Sequence[str]) -> Floats:
    """(problems, optimizers, 1): the ranks of the first trials; NaN where there is no score."""
    rows = [scores.problems.index(name) if name in scores.problems else -1 for name in problems]
    columns = [scores.optimizers.index(name) if name in scores.optimizers else -1 for name in optimizers]
    ranks = np.pad(scores.ranked()[:, :, :1], ((0, 1), (0, 1), (0, 0)), constant_values=np.nan)
    return ranks[rows][:, columns]


def grown(results: Dataset) -> int:
    """In how many runs the trials of a store came, where later ones added trials to what earlier ones had; else 1."""
    last: dict[tuple[str, str, str], int] = {}
    added = set()
    for run in results.all_runs:
        if run.race is None:
            trials: dict[tuple[str, str, str], int] = {}
            for study in run.studies:
                key = (run.root, study.optimizer, study.problem)
                trials[key] = max(trials.get(key, -1), study.trial)
            if any(most > last.get(key, most) for key, most in trials.items()):
                added.add(run.id)
            last |= trials
    return len(added) + 1
