"""How studies and evaluations end: the words, and what each of them means. Nothing else groups them.

A study is `done`, `stopped early` (its optimizer had nothing more to suggest), `failed`, `timed out` or `interrupted`;
one without an end is `running`, `stale` (its machine gives no sign of life) or, if it was planned only, `missing`.
"""

from __future__ import annotations

SUCCEEDED = ("done", "stopped early")
UNSUCCESSFUL = ("failed", "timed out")
"""What `--retry` runs again."""
FINISHED = (*SUCCEEDED, *UNSUCCESSFUL)
"""Nothing is left to do: the study keeps its best value to the end of its budget."""
RECORDED = (*FINISHED, "interrupted")
"""What an end record says."""
ALL = (*RECORDED, "stale", "running", "missing")
"""In the order in which tables show them."""

EVALUATION = ("ok", "error", "nan", "timed out", "crashed")
"""How an evaluation ended; stores keep the place in this tuple."""
KILLED = ("timed out", "crashed")
"""Evaluations whose worker had to be replaced: they are not tried again."""

SATISFIABLE = "satisfiable"
"""How a run ends that found a solution of an instance without an objective."""
OPTIMAL = ("optimal", SATISFIABLE)
"""Ends of a solver that say that nothing is better than its last value."""
DECIDED = ("infeasible", "unbounded")
"""Ends of a solver that say that the instance has no best solution."""
PROVEN = (*OPTIMAL, *DECIDED)
"""Ends of a solver after which more time changes nothing."""
ENDS = (*PROVEN, "feasible", "no solution")
"""How a run of a solver may end that did not fail."""
WRONG, CRASHED, OUT_OF_MEMORY, ERROR = "wrong", "crashed", "out of memory", "error"
"""How a run of a solver fails."""
NOT_REPEATABLE = "not repeatable"
"""How a study fails whose optimizer, or whose problem, twice did not repeat what was recorded: it cannot go on."""
SYNONYMS = {"optimal solution": "optimal", "all solutions": "optimal", "unsatisfiable": "infeasible"}
"""What other tools call some of these ends."""
ENDINGS = (*ENDS, WRONG, CRASHED, OUT_OF_MEMORY, ERROR, NOT_REPEATABLE)
"""Words that say more of an end than the status of its study."""
