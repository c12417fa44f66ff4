"""Which problems are aggregated: those that all optimizers have, so that like is compared with like.

See docs/scores.md 0.4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from optarena.traces import Bools

FIRST = 3
"""Names that a note gives one by one."""


def common(has: Bools) -> Bools:
    """(problems,): where every optimizer has something. has: (problems, optimizers).

    An optimizer that has nothing anywhere is not shown, so it does not count.
    """
    shown = has.any(axis=0)
    return np.asarray(has[:, shown].all(axis=1) & has.any(axis=1))


@dataclass(frozen=True)
class Coverage:
    """Over which problems a view aggregates."""

    problems: list[str]
    functions: list[str]
    """(problems,)"""
    optimizers: list[str]
    has: Bools
    """(problems, optimizers): which optimizer has what on which problem."""
    scored: Bools
    """(problems,): whether the view can score it at all."""
    original: str = ""
    """The tool whose rules hold: it averages each optimizer over its own problems."""

    @property
    def common(self) -> Bools:
        """(problems,)"""
        return common(self.has)

    @property
    def left_out(self) -> list[str]:
        """The problems that some optimizer lacks."""
        out = self.has.any(axis=1) & ~self.common
        return [self.problems[p] for p in np.flatnonzero(out).tolist()]

    def to_data(self) -> dict[str, Any]:
        """How many problems and functions are aggregated, and the names of those that some optimizer lacks."""
        kept = np.flatnonzero(self.common & self.scored).tolist()
        return {"problems": len(kept), "functions": len({self.functions[p] for p in kept}), "left_out": self.left_out}

    def notes(self) -> list[str]:
        """What a reader must know of a ranking over problems; nothing where all optimizers have all."""
        left_out = self.left_out
        if not left_out:
            return []
        somewhere = np.asarray(self.has.any(axis=1))
        total = int(somewhere.sum())
        lacking = np.where(self.has.any(axis=0), (~self.has & somewhere[:, None]).sum(axis=0), 0)
        order = np.argsort(-lacking, kind="stable")[:FIRST].tolist()
        who = ", ".join(f"{self.optimizers[o]} lacks {lacking[o]}" for o in order if lacking[o])
        if self.original:
            note = f"as in {self.original}, each is averaged over its own, so their averages cannot be compared"
            return [f"the optimizers ran on different problems ({who} of {total}): {note}"]
        if len(left_out) == total:
            return [f"no problem was run by all optimizers ({who} of {total}): nothing is averaged or ranked"]
        kept = f"averages and ranks are over the {total - len(left_out)} of {total} problems that all optimizers ran"
        return [f"{kept}; left out: {some(left_out)} ({who})"]


def some(names: Sequence[str]) -> str:
    """'p1', or 'p1, p2, p3 and 4 more'."""
    more = f" and {len(names) - FIRST} more" if len(names) > FIRST else ""
    return ", ".join(names[:FIRST]) + more
