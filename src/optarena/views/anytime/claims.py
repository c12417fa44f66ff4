"""Claims about one instance that cannot both be true: who says what, who is wrong, what is left open.

A run claims its values, that its last value is optimal, bounds, or that the instance is infeasible or unbounded. A
value whose solution was checked is a fact. What a run with checked solutions says beyond its values is believed before
what one without says. See docs/scores.md 4.10.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from optarena._numbers import counted
from optarena._text import visible
from optarena.dataset import Dataset
from optarena.instance import TOLERANCE
from optarena.sense import signs
from optarena.status import DECIDED, OPTIMAL, SATISFIABLE, WRONG
from optarena.traces import Bools, Floats, Ints, first_argmin
from optarena.views.selection import Candidates

FACT, CHECKED, REPORTED = 2, 1, 0
"""How far a claim is believed: a checked value; a proof or bound of a run whose best value is checked; others."""
KNOWN = -1
"""The owner of a claim that comes with the instance: its optimum or its best known value."""
MET = 1e-9
"""How near a bound must come to a value to prove it, relative: solvers round bounds."""
NAMED = 3
"""Contradictions that notes tell one by one."""
TABLE = {
    "problem": pl.String,
    **{
        f"{who}{column}": kind
        for who in ("", "other_")
        for column, kind in (
            ("optimizer", pl.String),
            ("trial", pl.Int64),
            ("claim", pl.String),
            ("verified", pl.Boolean),
        )
    },
    "verdict": pl.String,
}


class Claim(NamedTuple):
    """Something that a run says about its instance; x is minimised."""

    owner: int
    """The begun study, or KNOWN."""
    kind: str
    """value, bound (nothing is better than it), infeasible or unbounded."""
    x: float
    rank: int
    text: str
    verified: bool

    def excludes(self, other: Claim) -> bool:
        """Whether the two cannot both be true; asked both ways."""
        if self.kind == "value":
            below = other.kind == "bound" and self.x < other.x - TOLERANCE * max(1.0, abs(self.x), abs(other.x))
            return below or other.kind == "infeasible"
        return self.kind == "unbounded" and other.kind in ("bound", "infeasible")


@dataclass
class Reported:
    """What the begun studies say; all arrays are (started studies,) and minimised."""

    best: Floats
    """The best value; NaN without one."""
    checked: Floats
    """The best value whose solution was checked; NaN without one."""
    optimal: Bools
    """Whether the run says that its best value is optimal, or its bound met it."""
    bound: Floats
    """The tightest bound; -inf without one."""
    ending: list[str]
    lied: Bools
    """Whether the run was found out while it ran: its reason is `wrong`."""
    unchecked: Bools
    """(rows,): which values were not checked."""


@dataclass
class Audit:
    """Who is wrong; arrays are (started studies,)."""

    reported: Reported
    wrong: Bools
    disputed: Bools
    """Whether the claims about its instance contradict each other, and none of them was checked."""
    contradictions: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=TABLE))

    def decided(self) -> list[str]:
        """(started studies,): infeasible or unbounded, where the run proved it and nothing contradicts it."""
        fine = ~self.wrong & ~self.disputed
        return [
            word if word in DECIDED and good else ""
            for word, good in zip(self.reported.ending, fine.tolist(), strict=True)
        ]

    def notes(self) -> list[str]:
        """What a reader must know of the contradictions."""
        table = self.contradictions
        if not table.height:
            return []
        said = [
            f"on {row['problem']} {_who(row, '')} says '{row['claim']}' and {_who(row, 'other_')} says "
            f"'{row['other_claim']}' ({row['verdict']})"
            for row in table.head(NAMED).iter_rows(named=True)
        ]
        more = f"; and {table.height - NAMED:,} more" if table.height > NAMED else ""
        many = f"{counted(table.height, 'pair')} of claims cannot both be true"
        return [f"{many}: {'; '.join(said)}{more}"]


def _who(row: dict[str, Any], prefix: str) -> str:
    trial = row[f"{prefix}trial"]
    return visible(row[f"{prefix}optimizer"]) + (f" (trial {trial})" if trial else "")


def reported_by(results: Dataset) -> Reported:
    """What every begun study says about its instance (docs/scores.md 4.7)."""
    traces = results.traces()
    y = traces.values[:, 0]
    y = np.where(traces.feasible & np.isfinite(y), y, np.nan)
    imported = np.array([card.imported for card in results.cards], dtype=bool)
    unchecked = np.repeat(imported, traces.lengths) | (results.note("verified") == "no")
    best, checked = _least(y, traces.offsets), _least(np.where(unchecked, np.nan, y), traces.offsets)
    sign = signs(card.objectives[0].sense for card in results.cards)
    study = np.repeat(np.arange(len(traces)), traces.lengths)
    bounds = results.extra("bound")
    rows = np.flatnonzero(~np.isnan(bounds))
    tight = np.full(len(traces), -np.inf)
    np.maximum.at(tight, study[rows], bounds[rows] * sign[study[rows]])
    tight = np.fmax(tight, results.extra_at_end("bound") * sign)
    ending = results.endings()
    lied = np.array([word == WRONG for word in ending], dtype=bool)
    tight[lied | np.isposinf(tight)] = -np.inf  # found out already; an infinite bound comes with infeasible
    with np.errstate(invalid="ignore"):
        met = tight >= best - MET * np.maximum(1.0, np.abs(best))
    said = np.array([word in OPTIMAL for word in ending], dtype=bool)
    return Reported(best, checked, (said | met) & ~np.isnan(best), tight, ending, lied, unchecked)


def _least(values: Floats, offsets: Ints) -> Floats:
    least = first_argmin(np.where(np.isnan(values), np.inf, values), offsets)
    return np.where(least >= 0, np.append(values, np.nan)[least], np.nan)


def audit(found: Candidates) -> Audit:
    """Hold all claims about each instance against each other."""
    results, table = found.results, found.table
    reported = reported_by(results)
    n = table.height
    out = Audit(reported, reported.lied.copy(), np.zeros(n, dtype=bool))
    exact = [not card.noisy and "noisy" not in card.suite and len(card.objectives) == 1 for card in results.cards]
    claiming = (
        reported.optimal
        | (reported.bound > -np.inf)
        | np.array([word in DECIDED for word in reported.ending], dtype=bool)
    )
    # an optimum that comes with the instance contradicts unchecked values
    optimum = table["optimum"].fill_null(np.nan).to_numpy() * signs(table["sense"])
    with np.errstate(invalid="ignore"):
        claiming |= (reported.best < optimum - TOLERANCE * np.maximum(1.0, np.abs(optimum))) & (
            reported.best != reported.checked
        )
    fine = pl.Series(exact, dtype=pl.Boolean)
    concerned = table["problem"].is_in(table.filter(pl.Series(claiming) & fine)["problem"].unique().to_list())
    places = table.select("problem", study=pl.int_range(pl.len())).filter(concerned & fine)
    rows: list[dict[str, Any]] = []
    for _, part in places.group_by("problem", maintain_order=True):
        mine = part["study"].to_list()
        claims = [*_of_instance(found, mine), *(claim for i in mine for claim in _of_study(found, reported, i))]
        rows += _settle(found, mine, claims, out)
    out.contradictions = pl.DataFrame(rows, schema=TABLE)
    return out


def _of_study(found: Candidates, reported: Reported, i: int) -> Iterator[Claim]:
    sign = signs([found.table["sense"][i]])[0]
    best, checked, bound, ending = (
        float(reported.best[i]),
        float(reported.checked[i]),
        float(reported.bound[i]),
        reported.ending[i],
    )
    trusted = best == checked
    satisfied = ending == SATISFIABLE
    proof = ", proved optimal" if reported.optimal[i] and bound <= best + MET * max(1.0, abs(best)) else ""
    if checked == checked:
        text = "a solution" if satisfied else f"{checked * sign:.10g}{proof if trusted else ''}"
        yield Claim(i, "value", checked, FACT, text, True)
    if best == best and not trusted:
        yield Claim(i, "value", best, REPORTED, "a solution" if satisfied else f"{best * sign:.10g}{proof}", False)
    rank = CHECKED if trusted else REPORTED
    if reported.optimal[i] and bound <= best:
        text = "a solution" if satisfied else f"{best * sign:.10g}{proof}"
        yield Claim(i, "bound", best, rank, text, trusted)
    elif bound > -np.inf:
        yield Claim(i, "bound", bound, rank, f"the bound {bound * sign:.10g}", trusted)
    if ending in DECIDED:
        yield Claim(i, ending, np.nan, REPORTED, ending, False)


def _of_instance(found: Candidates, mine: list[int]) -> Iterator[Claim]:
    """What is known of an instance, from whoever did not only read it in a file."""
    for imported in (False, True):
        for i in mine:
            row = found.table.row(i, named=True)
            if found.results.cards[i].imported is not imported:
                continue
            sign = signs([row["sense"]])[0]
            rank = REPORTED if imported else FACT
            for name, text in (
                ("optimum", "the known optimum {:.10g}"),
                ("best_known", "the best known value {:.10g}"),
            ):
                if row[name] is not None and np.isfinite(row[name]):
                    said = text.format(row[name])
                    yield Claim(KNOWN, "value", row[name] * sign, rank, said, not imported)
                    if name == "optimum":
                        yield Claim(KNOWN, "bound", row[name] * sign, min(rank, CHECKED), said, not imported)
                    return


def _settle(found: Candidates, mine: list[int], claims: list[Claim], out: Audit) -> list[dict[str, Any]]:
    """Decide who is wrong on one instance; gives a row per pair of runs that contradict each other."""
    ends = [_extreme(claims, "value", min), _extreme(claims, "bound", max)]
    ends += [claim for claim in claims if claim.kind in DECIDED]
    if not any(a.excludes(b) for a in ends if a is not None for b in ends if b is not None):
        return []
    pairs = [
        (a, b) if a.rank >= b.rank else (b, a)
        for k, a in enumerate(claims)
        for b in claims[k + 1 :]
        if (a.excludes(b) or b.excludes(a)) and not _forgiven(a, b)
    ]
    if not pairs:
        return []
    wrong = {a.owner for a, b in pairs if a.owner == b.owner} | {i for i in mine if out.reported.lied[i]}
    for rank in (FACT, CHECKED):
        # a run that is wrong may still have checked values; nothing else of it stands
        wrong |= {b.owner for a, b in pairs if a.rank == rank > b.rank and (rank == FACT or a.owner not in wrong)}
    open_ = [(a, b) for a, b in pairs if a.owner not in wrong and b.owner not in wrong]
    out.wrong[[i for i in wrong if i != KNOWN]] = True
    out.disputed[mine] |= bool(open_)
    seen: set[tuple[int, int]] = set()
    rows = []
    for a, b in sorted(pairs, key=lambda pair: (-pair[0].rank, pair[0].owner, pair[1].owner)):
        who = min(a.owner, b.owner), max(a.owner, b.owner)
        if who in seen:
            continue
        seen.add(who)
        rows.append({**_row(found, mine, a), **_row(found, mine, b, "other_"), "verdict": _verdict(found, a, b, wrong)})
    return rows


def _extreme(claims: list[Claim], kind: str, least: Callable[..., Claim]) -> Claim | None:
    mine = [claim for claim in claims if claim.kind == kind]
    return least(mine, key=lambda claim: claim.x) if mine else None


def _forgiven(a: Claim, b: Claim) -> bool:
    """Whether only an instance's own optimum and a checked value disagree: `Dataset.notes` names that."""
    known, other = (a, b) if a.owner == KNOWN else (b, a)
    return known.owner == KNOWN and (other.owner == KNOWN or (known.kind == "bound" and other.rank == FACT))


def _row(found: Candidates, mine: list[int], claim: Claim, prefix: str = "") -> dict[str, Any]:
    row = found.table.row(mine[0] if claim.owner == KNOWN else claim.owner, named=True)
    out = {
        "optimizer": "the instance" if claim.owner == KNOWN else row["optimizer"],
        "trial": None if claim.owner == KNOWN else row["trial"],
        "claim": claim.text,
        "verified": claim.verified,
    }
    return {"problem": row["problem"], **{f"{prefix}{key}": value for key, value in out.items()}}


def _verdict(found: Candidates, a: Claim, b: Claim, wrong: set[int]) -> str:
    names = [
        "the instance" if owner == KNOWN else str(found.table["optimizer"][owner])
        for owner in dict.fromkeys((a.owner, b.owner))
        if owner in wrong
    ]
    if not names:
        return "neither is verified: the instance is excluded"
    return f"{names[0]} is wrong" if len(set(names)) == 1 else "both are wrong"
