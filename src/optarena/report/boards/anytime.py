"""The board of the anytime view: one row per optimizer; and its area score on each instance."""

from __future__ import annotations

from typing import Any

from optarena._numbers import fixed, significant
from optarena._text import table
from optarena.report.boards._board import FAILED, Board, Paper, ranked, score_columns, with_failed
from optarena.report.tables import Column
from optarena.views.anytime import Anytime
from optarena.views.anytime.tables import DISPUTED

MOST_INSTANCES = 30
MOST_CONTRADICTIONS = 10
WRONG = Column(
    "wrong", "number", None, "instances on which it claims what cannot be true", field="wrong", better="lower",
    on="text page latex",
)  # fmt: skip


ORIGINAL = (
    ("objective_score", "objective", "|own best - best| / (greatest - least objective of all)"),
    ("autc_score", "area by time", "area under the curve over time, as a part of the box of all solutions"),
    ("audc_score", "area by decisions", "area under the curve over decisions"),
)  # fmt: skip


def board(view: Anytime) -> Board:
    if view.original is not None:
        return _original(view)
    unit = view.frame["axis"]
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        *score_columns(
            view, "mean area score: 0 the best value at once, 1 the worst first value to the end", digits=3
        ),
        FAILED[0],
        Column(
            "objective", "number", 3, "mean objective score: 0 the best of all, 1 the worst first value of all",
            field="objective_score", better="lower", bold="latex page",
        ),
        Column("95 % interval", "interval", 3, field=("objective_score_lb", "objective_score_ub"), minor=True),
        Column(
            "gap", "number", 4, "mean primal gap to the best known value or the best of the store",
            field="primal_gap", better="lower", bold="latex page",
        ),
        Column(
            "primal integral", "number", None, f"mean integral of the gap, in {unit}",
            field="primal_integral", better="lower", on="page",
        ),
        Column(
            "solved", "of", None,
            f"instances with a proof, or a gap of at most {view.frame['gap']:g} to what is known, else the best here",
            field=("solved", "instances"), better="higher",
        ),
        Column(
            "proved", "number", None, "instances proved optimal, infeasible or unbounded",
            field="proved", better="higher", on="text page", minor=True,
        ),
        *([WRONG] if view.table("runs")["wrong"].any() else []),
        Column(
            "PAR10", "number", None, "mean effort to solve; an unsolved instance counts ten budgets",
            field="par10", show=significant, better="lower", bold="latex page",
        ),
        Column(
            "geometric mean", "number", None, "of efforts to solve, shifted by 10; unsolved counts the budget",
            field="shifted_geometric_mean", better="lower", on="page",
        ),
        Column(
            "Borda", "number", 2, "points against all others over all instances",
            field="borda", better="higher", on="text page", minor=True,
        ),
        FAILED[1],
    ]  # fmt: skip
    return Board(columns, with_failed(view, ranked(view, view.leaderboard()).rows(named=True)))


def _original(view: Anytime) -> Board:
    """In mode `aries`: medians and quartiles, which its box plots show."""
    columns = [Column("optimizer", "optimizer", field="optimizer")]
    for field, label, text in ORIGINAL:
        columns += [
            Column(
                label,
                "number",
                4,
                f"median over runs: {text}",
                field=f"{field}_median",
                better="lower",
                bold="latex page",
            ),
            Column("quartiles", "interval", 4, "over runs", field=(f"{field}_q1", f"{field}_q3"), minor=True),
        ]
    columns += [Column("with solutions", "of", field=("solved", "runs"), better="higher"), *FAILED]
    return Board(columns, with_failed(view, view.summary.rows(named=True)))


def text(view: Anytime, width: int | None = None) -> str:
    """The board, then the area score on each instance."""
    if view.original is not None:
        head = "as aries-bench scores: medians over runs (0 best, 1 worst of all)"
        return "\n".join([head, board(view).text(width), ""])
    head = f"anytime by {view.frame['axis']}, {view.frame['horizon']}: means over instances (0 best, 1 worst of all)"
    lines = [head, board(view).text(width)]
    names = view.summary["optimizer"].to_list()
    instances = view.instance["problem"].unique(maintain_order=True).to_list()
    by_cell = {(row["problem"], row["optimizer"]): row for row in view.instance.iter_rows(named=True)}
    cells = [
        [problem, *(_area(by_cell.get((problem, name))) for name in names)] for problem in instances[:MOST_INSTANCES]
    ]
    lines += [
        "",
        "area score by instance",
        table(["instance", *names], cells, right=range(1, len(names) + 1), width=width),
    ]
    if len(instances) > MOST_INSTANCES:
        lines.append(f"… and {len(instances) - MOST_INSTANCES} more (--format json has all)")
    if len(names) > 1:
        lines += [
            "",
            "the virtual best solver takes the best of all on each instance: what each adds",
            virtual(view).text(width),
        ]
    if view.table("contradictions").height:
        lines += ["", "claims that cannot both be true", contradictions(view).text(width)]
        if (more := view.table("contradictions").height - MOST_CONTRADICTIONS) > 0:
            lines.append(f"… and {more} more (--format csv --table contradictions has all)")
    return "\n".join([*lines, ""])


def virtual(view: Anytime) -> Board:
    """What each optimizer contributes to the virtual best solver (docs/scores.md 4.13)."""
    less = "how much worse the mean of the virtual best would be without it"
    columns = [
        Column("optimizer", "optimizer", field="optimizer"),
        Column("PAR10", "number", None, field="par10", show=significant, better="lower"),
        Column(
            "contributes", "number", None, f"{less}, in PAR10",
            field="par10_contribution", show=significant, better="higher",
        ),
        Column("area", "number", 3, field="area_score", better="lower"),
        Column(
            "contributes to area", "number", 4, f"{less}, in area score",
            field="area_score_contribution", better="higher",
        ),
        Column("best on", "number", None, "instances with the least area score", field="first", better="higher"),
        Column("solved", "number", None, "instances, in any trial", field="solved", better="higher"),
        Column("alone", "number", None, "instances that no other optimizer solved", field="only", better="higher"),
    ]  # fmt: skip
    return Board(columns, view.table("virtual_best").rows(named=True))


def contradictions(view: Anytime, most: int = MOST_CONTRADICTIONS) -> Board:
    """Pairs of claims that cannot both be true, with both runs and who is wrong (docs/scores.md 4.10)."""
    columns = [
        Column("instance", "problem", field="problem"),
        Column("optimizer", "optimizer", field="optimizer"),
        Column("claim", "text", field="claim"),
        Column("contradicts", "optimizer", field="other_optimizer"),
        Column("its claim", "text", field="other_claim"),
        Column("verdict", "text", field="verdict"),
    ]
    rows = view.table("contradictions").head(most).iter_rows(named=True)
    return Board(columns, [{**row, **{key: _checked(row, key) for key in ("claim", "other_claim")}} for row in rows])


def _checked(row: dict[str, Any], key: str) -> str:
    trial, verified = (row[key.replace("claim", name)] for name in ("trial", "verified"))
    words = [row[key], f"trial {trial}" if trial else "", "verified" if verified else ""]
    return ", ".join(filter(None, words))


def _area(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    word = "wrong" if row["wrong"] == row["trials"] else DISPUTED if DISPUTED in row["status"] else "unsolved"
    return word if row["unsolved"] == row["trials"] else fixed(row["area_score"], 3)


def papers(view: Anytime) -> list[Paper]:
    note = f"anytime by {view.frame['axis']}, {view.frame['horizon']}, means over instances"
    return [Paper.of(view, board(view), note)]
