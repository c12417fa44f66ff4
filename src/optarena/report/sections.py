"""The sections of the report, in order. A new view adds a `Section` to `SECTIONS` and touches nothing else.

A section says when it applies, and gives words, figures and tables. Figures take their rows from data sets that the
page holds once, by name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from optarena.errors import OptarenaError
from optarena.report import data, how, words
from optarena.report.figures import is_log
from optarena.report.material import ALL, Material, units
from optarena.report.tables import Column, Drawing, Table

CURVES = 2400
"""Curves on the page, at most; and points of all of them together."""
CURVE_POINTS = 24_000


@dataclass
class Content:
    """What a section puts on the page: words, then blocks (figures, tables, texts); data sets by name."""

    words: list[str] = field(default_factory=list)
    blocks: list[Any] = field(default_factory=list)
    datasets: dict[str, pl.DataFrame] = field(default_factory=dict)


@dataclass(frozen=True)
class Section:
    """One part of the page. `absent` gives the reason why a store cannot have it, or nothing; '-': not worth a word."""

    id: str
    title: str
    help: str
    content: Callable[[Material], Content]
    absent: Callable[[Material], str] = lambda _: ""


def _look(material: Material) -> Any:
    from optarena.report.figures._style import Look

    return Look(material.colours)


def _spec(chart: Any) -> dict[str, Any]:
    """The chart's specification without what the page says once."""
    spec: dict[str, Any] = chart.to_dict(validate=False)
    return {key: value for key, value in spec.items() if key not in ("$schema", "config", "datasets")}


# ---- first screen -----------------------------------------------------------------------------------------------------


def _overview(material: Material) -> Content:
    out = Content(words=words.verdict(material))
    view = material.fixed_cost
    if view is None:
        return _without_scores(material, out)
    metric = view.metrics[0]
    out.blocks.append(_leaderboard(material, metric))
    out.blocks.append(_normalised(material, metric))
    out.datasets[f"summary {metric}"] = material.summary(metric)
    return out


def _without_scores(material: Material, out: Content) -> Content:
    """What the first screen shows where nothing can be normalised: one problem's curves."""
    from optarena.report.figures.runs import MEASURES, STATISTICS, convergence

    table = material.convergence("evaluations", _points(material))
    if not table.height:
        return out
    name = shown_problems(material)[0] if table["problem"][0] not in shown_problems(material) else table["problem"][0]
    way = data.scales(table)[name]
    log_effort = is_log("evaluations", float(table["effort"].max() or 0))  # type: ignore[arg-type]
    spec = convergence(
        "convergence evaluations",
        _look(material),
        statistic="median",
        effort="evaluations",
        measure=MEASURES[way["measure"]],
        log=way["log"],
        floor=way["floor"],
        log_effort=log_effort,
    )
    out.datasets["convergence evaluations"] = _shared(material, table)
    out.blocks.append(
        Drawing(
            "first",
            name,
            f"The best value so far, {STATISTICS['median'][3]}.",
            f"Line chart of the best value so far on {name}, a line an optimizer; its section has the numbers.",
            _spec(spec),
            "convergence evaluations",
            problem=name,
        )
    )
    return out


def _leaderboard(material: Material, metric: str) -> Table:
    rows, scopes, bold = [], [], set()
    for scope, view in material.scopes.items():
        board = view.leaderboard(metric).rows(named=True)
        for i, row in enumerate(board):
            if row["mean"] == board[0]["mean"]:
                bold.add((len(rows), 2))
            rows.append(
                [
                    i + 1,
                    row["optimizer"],
                    row["mean_normed"],
                    (row["mean_normed_lb"], row["mean_normed_ub"]),
                    row["score"],
                    row["median"],
                    f"{row['best_on']} of {row['n']}",
                ]
            )
            scopes.append(scope)
    view = material.must_score()
    after = f"{view.leaderboard(metric)['effort'][0]:g} {units(view)}"
    columns = [
        Column("rank", "number", 0),
        Column("optimizer", "optimizer"),
        Column("normalised", "number", 2, "mean over problems; 0 is the best known, 1 is random search at the same effort"),
        Column("95 % interval", "interval", 2, view.frame["intervals"]),
        Column("score", "number", 1, "100 × (1 − mean): 100 is the best known; Bayesmark's leaderboard"),
        Column("median", "number", 2, "median over problems of the normalised median"),
        Column("best on", "text", None, "problems on which its mean is the least"),
    ]
    return Table(
        f"leaderboard-{view.metrics.index(metric)}",
        f"Leaderboard after {after}" + _hidden(metric),
        columns,
        rows,
        scopes,
        bold,
        comment=[f"fixed cost after {after}, {metric}", f"frame {view.frame['hash']}, mode {view.mode}"],
    )


def _hidden(metric: str) -> str:
    return "" if metric == "value" else f": {metric}, hidden from the optimizers"


def _normalised(material: Material, metric: str) -> Drawing:
    from optarena.report.figures.scores import normalised

    view = material.must_score()
    table = material.summary(metric)
    log = is_log(view.frame["axis"], float(table["effort"].max() or 0))  # type: ignore[arg-type]
    name = f"summary {metric}"
    band = f"Bands: {view.frame['intervals']}."
    if not table["lower"].is_not_null().any():
        band = "Too few problems or trials for an interval."
    return Drawing(
        f"normalised-{view.metrics.index(metric)}",
        "Normalised score over time" + _hidden(metric),
        f"0 is the best known value, 1 is random search after the same effort; lower is better. {band}",
        f"Line chart of the normalised score by {units(view)}, a line an optimizer. "
        + words.describe_board(material, metric),
        _spec(normalised(name, _look(material), effort=units(view), log=log)),
        name,
    )


# ---- fixed cost -------------------------------------------------------------------------------------------------------


def _fixed_cost(material: Material) -> Content:
    from optarena.report.figures.scores import final, heat_map

    view, look, out = material.must_score(), _look(material), Content()
    out.words = [f"{note[:1].upper()}{note[1:]}." for note in view.notes[:8]]
    if len(view.notes) > 8:
        out.words.append(f"And {len(view.notes) - 8} more notes: optarena score --format json has all.")
    for i, metric in enumerate(view.metrics):
        if i:  # the first metric's are on the first screen
            out.blocks += [_leaderboard(material, metric), _normalised(material, metric)]
            out.datasets[f"summary {metric}"] = material.summary(metric)
        ends, each = f"final {metric}", f"problems {metric}"
        table = material.by_problem(metric)
        out.datasets[ends] = material.final(metric)
        out.datasets[each] = table.select("optimizer", "problem", "score", "lower", "upper", "n")
        out.blocks.append(
            Drawing(
                f"final-{i}",
                "Normalised score at the end" + _hidden(metric),
                f"Dots with intervals ({view.frame['intervals']}); the dashed line is random search.",
                "Dot plot of the normalised score at the end with intervals. " + words.describe_board(material, metric),
                _spec(final(ends, look)),
                ends,
            )
        )
        out.blocks.append(
            Drawing(
                f"heatmap-{i}",
                "Problem by problem" + _hidden(metric),
                "Mean over trials of the normalised value at the end; "
                "0 is the best known value, 1 the median of random search's single evaluations.",
                "Heat map with a row a problem and a column an optimizer; the table below has its numbers.",
                _spec(heat_map(each, look)),
                each,
                widest=90 * max(3, len(look.colours.names)) + 260,
            )
        )
        out.blocks.append(_by_problem(material, metric, table, i))
    return out


def _by_problem(material: Material, metric: str, table: pl.DataFrame, i: int) -> Table:
    least = table.group_by("problem").agg(least=pl.col("score").min())
    table = table.join(least, on="problem", how="left", maintain_order="left")
    rows, bold = [], set()
    for row in table.iter_rows(named=True):
        if row["score"] is not None and row["score"] == row["least"]:
            bold.add((len(rows), 2))
        rows.append(
            [
                row["problem"],
                row["optimizer"],
                row["score"],
                (row["lower"], row["upper"]),
                row["median"],
                (row["median_lb"], row["median_ub"]),
                row["n"],
            ]
        )
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column("normalised", "number", 3, "mean over trials; 0 best known, 1 the median of random search's evaluations"),
        Column("95 % interval", "interval", 3),
        Column("median value", "number", None, "median over trials of the best value found"),
        Column("95 % interval of the median", "interval", None, "distribution-free; infinite where trials are few"),
        Column("trials", "number", 0),
    ]
    return Table(f"by-problem-{i}", "Scores by problem" + _hidden(metric), columns, rows, bold=bold)


# ---- problems ---------------------------------------------------------------------------------------------------------


def _problems(material: Material) -> Content:
    """Each problem's convergence and best points; the page makes a part of it when it is opened."""
    from optarena.report.figures.runs import MEASURES, STATISTICS, convergence, parallel

    out, look = Content(), _look(material)
    names, shown = material.problems["problem"].to_list(), shown_problems(material)
    if len(shown) < len(names):
        out.words.append(
            f"Curves of {len(shown):,} of {len(names):,} problems are here, so that the page stays small: "
            "optarena report --problem … shows others."
        )
    points = _points(material)
    axes: dict[str, dict[str, Any]] = {}
    scales: dict[str, dict[str, Any]] = {}
    for axis in _axes(material):
        try:
            table = material.convergence(axis, points)
        except OptarenaError:  # the studies do not share this axis
            continue
        if not table.height:
            continue
        scales = scales or data.scales(table)
        last = float(table["effort"].max() or 0)  # type: ignore[arg-type]
        axes[axis] = {"dataset": f"convergence {axis}", "log": is_log(axis, last)}
        out.datasets[f"convergence {axis}"] = _shared(material, table)
    specs = {
        f"{statistic} {'log' if log else 'linear'} {'log' if log_effort else 'linear'}": _spec(
            convergence(
                "@data",
                look,
                statistic=statistic,
                effort="@effort",
                measure="@measure",
                log=log,
                floor=1.0,  # the page puts the problem's own in
                log_effort=log_effort,
            )
        )
        for statistic in STATISTICS
        for log in {bool(way["log"]) for way in scales.values()}
        for log_effort in {bool(one["log"]) for one in axes.values()}
    }
    best = material.best_points
    if best.height:
        out.datasets["best points"] = best.filter(pl.col("problem").is_in(shown))
        specs["parallel"] = _spec(parallel("@data", look))
    out.blocks.append(
        {
            "kind": "problems",
            "axes": axes,
            "statistics": {name: one[3] for name, one in STATISTICS.items()},
            "measures": MEASURES,
            "scales": scales,
            "specs": specs,
            "floor": data.FLOOR,
            "shown": shown,
            "parallel": "best points" if best.height else None,
            "table": _ends(material).to_data(),
        }
    )
    return out


def shown_problems(material: Material) -> list[str]:
    """The problems whose curves the page holds: all, unless there are very many."""
    names = material.problems["problem"].to_list()
    most = max(1, CURVES // max(1, len(material.colours.names)))
    return names[:most]


def _points(material: Material) -> int:
    """How many points a curve has, so that all together stay few."""
    return max(12, min(data.POINTS, CURVE_POINTS // max(1, material.progress.height)))


def _shared(material: Material, table: pl.DataFrame) -> pl.DataFrame:
    """The part of the curves that the page holds."""
    return table.filter(pl.col("problem").is_in(shown_problems(material))).drop("measure")


def _axes(material: Material) -> list[str]:
    one_by_one = (material.results.studies["batch"].drop_nulls() <= 1).all()
    return [axis for axis in material.results.axes if axis != "batches" or not one_by_one]


def _ends(material: Material) -> Table:
    """What every optimizer found on every problem, from the studies themselves."""
    down = pl.col("sense") == "max"
    table = (
        material.results.studies.filter(pl.col("best").is_not_null())
        .group_by("problem", "optimizer")
        .agg(
            n=pl.len(),
            best=pl.when(down.first()).then(pl.col("best").max()).otherwise(pl.col("best").min()),
            median=pl.col("best").median(),
            q1=pl.col("best").quantile(0.25),
            q3=pl.col("best").quantile(0.75),
            evaluations=pl.col("evaluations").median(),
            failures=pl.col("failures").sum(),
            key=pl.when(down.first()).then(-pl.col("best").median()).otherwise(pl.col("best").median()),
        )
        .sort("problem", "key", "optimizer")
    )
    rows = [
        [
            row["problem"],
            row["optimizer"],
            row["median"],
            (row["q1"], row["q3"]),
            row["best"],
            row["n"],
            row["evaluations"],
            row["failures"],
        ]
        for row in table.iter_rows(named=True)
    ]
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column("median", "number", None, "over trials, of the best value found, in the problem's own sense"),
        Column("quartiles", "interval"),
        Column("best", "number"),
        Column("trials", "number", 0),
        Column("evaluations", "number", 0, "median over trials"),
        Column("failed evaluations", "number", 0),
    ]
    return Table("ends", "What was found", columns, rows)


# ---- time, failures, how ----------------------------------------------------------------------------------------------


def _time(material: Material) -> Content:
    from optarena.report.figures.runs import time

    table = material.times()
    rows = [
        [row["optimizer"], row["phase"], row["median"], (row["q1"], row["q3"]), row["n"]]
        for row in table.iter_rows(named=True)
    ]
    columns = [
        Column("optimizer", "optimizer"),
        Column("phase"),
        Column("median", "seconds"),
        Column("quartiles", "interval"),
        Column("studies", "number", 0),
    ]
    drawing = Drawing(
        "time",
        "Seconds an evaluation",
        "What an evaluation costs in each phase: median over studies, and quartiles, on a logarithmic axis.",
        "Dot plot of seconds an evaluation, by optimizer and phase. " + words.describe_times(table),
        _spec(time("times", _look(material))),
        "times",
    )
    listed = Table("times", "Seconds an evaluation", columns, rows, table["scope"].to_list())
    return Content(blocks=[drawing, listed], datasets={"times": table})


def _failures(material: Material) -> Content:
    from optarena.report.figures.runs import failures, progress

    out, look, results = Content(), _look(material), material.results
    out.datasets["progress"] = material.progress
    states = {state: part.height for (state,), part in material.progress.group_by("state")}
    told = "; ".join(f"{count} pairs {state}" for state, count in sorted(states.items()))
    out.blocks.append(
        Drawing(
            "progress",
            "Progress",
            "The number of studies of each optimizer on each problem; 3/5: three of five ended.",
            f"Matrix with a row a problem and a column an optimizer: {told}.",
            _spec(progress("progress", look)),
            "progress",
            widest=90 * max(3, len(look.colours.names)) + 260,
        )
    )
    if material.failures.height:
        out.datasets["failures"] = material.failures.drop("message")
        total = int(material.failures["count"].sum())
        out.words.append(f"{words.counted(total, 'evaluation')} failed; the optimizers were told, and went on.")
        out.blocks.append(
            Drawing(
                "failures",
                "Failed evaluations by kind",
                "error: it raised an exception; nan: it returned no number; timed out; crashed: its process died.",
                "Bar chart of failed evaluations by optimizer and kind; the table below has its numbers.",
                _spec(failures("failures", look)),
                "failures",
            )
        )
        columns = [
            Column("problem", "problem"),
            Column("optimizer", "optimizer"),
            Column("kind"),
            Column("evaluations", "number", 0),
            Column("one of the messages"),
        ]
        rows = material.failures.select("problem", "optimizer", "kind", "count", "message").rows()
        out.blocks.append(Table("failed-evaluations", "Failed evaluations", columns, rows))
    columns = [
        Column("problem", "problem"),
        Column("optimizer", "optimizer"),
        Column("trial", "number", 0),
        Column("status"),
        Column("evaluations", "number", 0),
        Column("reason"),
    ]
    broken = results.studies.filter(~pl.col("status").is_in(data.ENDED))
    if broken.height:
        rows = broken.select("problem", "optimizer", "trial", "status", "evaluations", "reason").rows()
        out.blocks.append(Table("unfinished", "Studies that did not end well", columns, rows))
    else:
        out.words.append("Every study ended well.")
    refused = list(dict.fromkeys(tuple(item) for run in results.runs for item in run.refused))
    if refused:
        columns = [Column("optimizer", "optimizer"), Column("problem", "problem"), Column("reason")]
        out.blocks.append(Table("refused", "Pairings refused when planning", columns, refused))
    view = material.fixed_cost
    if view is not None and view.excluded:
        columns = [
            Column("problem", "problem"),
            Column("optimizer", "optimizer"),
            Column("trial", "number", 0),
            Column("reason"),
        ]
        rows = [tuple(item.get(key) for key in ("problem", "optimizer", "trial", "reason")) for item in view.excluded]
        out.blocks.append(Table("excluded", "Left out of scores", columns, rows))
    elif view is not None:
        out.words.append("Nothing was left out of the scores.")
    return out


def _how(material: Material) -> Content:
    results, out = material.results, Content()
    roots = how.roots(results)
    out.words.append(f"{'Root' if len(roots) == 1 else 'Roots'}: {', '.join(roots) or 'none'}. The same root, plan, "
                     "package versions and CPU kernel give the same results, bit for bit.")
    for file, commands in how.recipes(results):
        out.blocks.append({"kind": "code", "title": "The experiment", "text": file})
        out.blocks.append({"kind": "code", "title": "The commands that run it again", "text": commands})
    if not results.runs:
        out.words.append("No run is recorded here: the data were imported, or a part of a store was chosen.")
    view = material.fixed_cost
    if view is not None:
        rows = [[key.replace("_", " "), _fact(value)] for key, value in view.frame.items()]
        rows = [["view", view.name], ["mode", view.mode], *rows]
        out.blocks.append(Table("frame", "Frame of the scores", [Column("fact"), Column("value")], rows,
                                note="What the scores were measured against; another frame gives other scores."))
    out.blocks += [table for table in (how.runs(results), how.versions(results), how.machines(results)) if table.rows]
    return out


def _fact(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list) else "" if value is None else str(value)


SECTIONS: Sequence[Section] = (
    Section(
        "overview",
        "Overview",
        "The normalised score compares optimizers over problems of different scales. On each problem 0 is the best value "
        "known and 1 is what random search finds with the same effort: "
        "mean over problems of (value − best) / (clip − best), divided by the same of random search.",
        _overview,
    ),
    Section(
        "fixed-cost",
        "Fixed cost",
        "How good is an optimizer after so many evaluations? On each problem, S is the best value so far, cut at clip, the "
        "median of random search's single evaluations: mean of (min(S, clip) − best) / (clip − best) over trials. "
        "The leaderboard's score is 100 × (1 − the mean of that over problems) at the end.",
        _fixed_cost,
        lambda material: material.why_not,
    ),
    Section(
        "problems",
        "Problems",
        "A part for each problem: the best value so far by evaluations or seconds, the best point of every trial, and what "
        "each optimizer found. Where the optimum is known, curves show the distance to it.",
        _problems,
        lambda material: "" if material.results.studies.height else "-",
    ),
    Section(
        "time",
        "Time",
        "The seconds of a study, divided by its evaluations: suggesting where to look, evaluating, and learning from it.",
        _time,
        lambda material: "" if material.times().height else "no study recorded what its evaluations cost",
    ),
    Section(
        "failures",
        "Failures",
        "What failed, what is not finished, and what no score could use. A failed evaluation is never replaced by a number.",
        _failures,
        lambda material: "" if material.results.studies.height else "-",
    ),
    Section("how", "How this was run", "All that is needed to run it again.", _how),
)
