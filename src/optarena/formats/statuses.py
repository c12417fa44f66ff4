"""The words that may stand in a tidy table's `status` column, and what each says of an evaluation or of a run."""

from __future__ import annotations

from optarena.errors import nearest

OF_ROWS = {
    **dict.fromkeys(("", "ok", "done", "complete", "completed", "success", "feasible", "satisfied", "unknown"), "ok"),
    **dict.fromkeys(("error", "failed", "failure", "exception", "invalid", "infeasible"), "error"),
    "nan": "nan",
    **dict.fromkeys(("timed out", "timeout", "time out", "time limit", "out of time"), "timed out"),
    **dict.fromkeys(("crashed", "crash", "killed", "out of memory", "memory limit"), "crashed"),
}
"""Word -> the status of an evaluation."""

OF_RUNS = {
    **dict.fromkeys(("", "ok", "done", "complete", "completed", "success"), "done"),
    # done, and the word is the reason
    **dict.fromkeys(("optimal", "optimal solution", "infeasible", "unbounded", "unsat or unbounded"), "done"),
    "satisfiable": "done",
    **dict.fromkeys(("unsatisfiable", "feasible", "satisfied", "all solutions", "unknown", "no solution"), "done"),
    **dict.fromkeys(("converged", "target reached"), "done"),
    **dict.fromkeys(("stopped early", "stopped"), "stopped early"),
    **dict.fromkeys(("timed out", "timeout", "time out", "time limit", "out of time"), "timed out"),
    **dict.fromkeys(("failed", "failure", "error", "exception", "invalid", "nan"), "failed"),
    **dict.fromkeys(("crashed", "crash", "killed", "out of memory", "memory limit"), "failed"),
    **dict.fromkeys(("interrupted", "cancelled", "canceled", "running", "stale", "missing"), "interrupted"),
}
"""Word -> how a run ended."""

SAID = ("", "ok", "complete", "completed", "success")
"""Words that are no reason of their own."""


def of_run(word: str) -> tuple[str, str]:
    """How a run ended, and the reason, if the word says more than that."""
    status = OF_RUNS[word]
    return status, "" if word in (*SAID, status) else word


def unknown(cell: str, word: str) -> str:
    """What is wrong with a word that is not known."""
    words = [known for known in dict.fromkeys((*OF_ROWS, *OF_RUNS)) if known]
    few = "error, nan, timed out, crashed; of a run also done, stopped early, failed, interrupted, optimal, infeasible"
    return f"unknown status {cell}.{nearest(word, words)} Words are {few}, … (docs/csv.md); others belong in 'message'"
