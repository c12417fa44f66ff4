"""Every figure by its name: one function draws it, from tables that are already computed.

>>> chart = optarena.open("results").fixed_cost().figure()            # doctest: +SKIP
>>> figure("convergence", results, axis="seconds").save("fig.pdf")    # doctest: +SKIP
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import polars as pl

from optarena._text import visible
from optarena.dataset import Dataset
from optarena.errors import OptarenaError, nearest
from optarena.report import curves, data, differences, fronts, runtimes
from optarena.report.material import ALL, Material, framed
from optarena.views._options import OPTIONS, dashed, view_named
from optarena.views._view import View
from optarena.views.anytime import Anytime
from optarena.views.fixed_target import FixedTarget
from optarena.views.pareto import Pareto

PANELS = 24
NO_FRONT = "no study found a feasible point: there is no front to draw"
COMPARISON = "comparison"
LOG_FROM = 1000
"""An axis of effort that goes so far is logarithmic."""


@dataclass(frozen=True)
class Options:
    """What a figure may be asked for, beyond which studies."""

    axis: str | None = None
    statistic: str = "median"
    metric: str | None = None
    width: int | None = None
    height: int | None = None


@dataclass(frozen=True)
class Figure:
    """A figure: its name, what it shows, the function that makes it, its own options, and the view whose scores it
    draws, if any: it then names that view's frame and takes that view's options. COMPARISON: it draws a comparison,
    and takes the options of the view that is compared."""

    name: str
    text: str
    make: Callable[[Material, Options], Any]
    options: tuple[str, ...] = ()
    view: str = ""


def figure(name: str, results: Dataset | Material, **options: Any) -> Any:
    """An Altair chart by its name; `FIGURES` lists them, with the options that each takes."""
    if name not in FIGURES:
        raise OptarenaError(f"no figure {name!r}.{nearest(name, FIGURES)} (optarena figure --list shows all)")
    from optarena.report.figures._style import finished, legend_columns

    known = FIGURES[name]
    given = {option: value for option, value in options.items() if value is not None}
    own = {option: given.pop(option) for option in ("width", "height", "statistic") if option in given}
    asked = Options(**own, **{option: given.pop(option) for option in known.options if option in given})
    if asked.statistic not in ("median", "mean"):
        raise OptarenaError(f"statistic must be median or mean; got {asked.statistic!r}")
    if asked.statistic != "median" and "statistic" not in known.options:
        raise OptarenaError(f"the figure {name} has no statistic to choose")
    material = _material(results, known, given)
    if not material.results.studies.height:
        raise OptarenaError(f"store {material.results.path} is empty: there is nothing to draw")
    chart = known.make(material, asked)
    note = framed(material.must(known.view)) if known.view in OPTIONS else ""
    return finished(chart, legend_columns(_look(material, asked, material.results.studies), asked.width or 480), note)


def _material(results: Dataset | Material, known: Figure, given: dict[str, Any]) -> Material:
    """What the figure draws; given: options of its view, or of the comparison that it draws."""
    if isinstance(results, Material):
        for option in given:
            raise OptarenaError(f"the view is already scored: give {option} to the view, not to its figure")
        return results
    if known.view == COMPARISON:
        return Material(results, comparing=given)
    if known.view not in OPTIONS:
        for option in given:
            raise OptarenaError(f"the figure {known.name} has no {option} to choose")
        return Material(results)
    view = given.pop("view", None)
    if view is not None and view_named(view) != known.view:
        raise OptarenaError(f"the figure {known.name} draws the {dashed(known.view)} view, not the {view} view")
    return Material(results, {known.view: given})


def figure_of_view(view: View, name: str | None = None, **options: Any) -> Any:
    """A chart of a view as it was scored; the first of its `figures` unless one is named."""
    if not view.figures:
        raise OptarenaError(f"the {view.name} view has no figure of its own (optarena figure --list shows all)")
    chosen = name or view.figures[0]
    if chosen not in view.figures:
        known = ", ".join(view.figures)
        raise OptarenaError(f"no figure {chosen!r}.{nearest(chosen, view.figures)} (the {view.name} view has {known})")
    if view.results is None:
        raise OptarenaError("this view was not made from a store: there is nothing to draw")
    views: Any = {view.name.replace("-", "_"): view}  # drawn as it was scored, not scored again
    return figure(chosen, Material(view.results, **views), **options)


def _look(material: Material, options: Options, table: pl.DataFrame) -> Any:
    """How it is drawn; `table`: whose optimizers the legend names."""
    from optarena.report.figures._style import Look

    present = tuple(sorted(table["optimizer"].unique().to_list()))
    return Look(material.colours, options.width, options.height, present)


def _metric(material: Material, options: Options) -> str:
    known = material.must_score().metrics
    if options.metric is not None and options.metric not in known:
        given = options.metric
        raise OptarenaError(f"metric must be one of {', '.join(known)}; got {given!r}.{nearest(given, known)}")
    return options.metric or known[0]


UNDEFINED = "the normalised score is undefined, since random search itself is next to the best value: nothing to draw"


def _normalised(material: Material, options: Options) -> Any:
    from optarena.report.figures.scores import normalised

    table = material.summary(_metric(material, options)).filter(pl.col("scope") == ALL)
    if table["score"].is_null().all():
        raise OptarenaError(UNDEFINED)
    last = float(table["effort"].max() or 0)  # type: ignore[arg-type]
    log = is_log(material.must_score().frame["axis"], last)
    return normalised(table, _look(material, options, table), effort=material.effort, log=log)


def is_log(axis: str, last: float) -> bool:
    """Whether an axis of effort is drawn logarithmically."""
    return axis not in ("evaluations", "batches") or last >= LOG_FROM


def _final(material: Material, options: Options) -> Any:
    from optarena.report.figures.scores import final

    table = material.final(_metric(material, options)).filter(pl.col("scope") == ALL)
    if not table.height:
        raise OptarenaError(UNDEFINED)
    return final(table, _look(material, options, table))


def _heat_map(material: Material, options: Options) -> Any:
    from optarena.report.figures.scores import heat_map

    table = material.by_problem(_metric(material, options))
    return heat_map(table, _look(material, options, table))


def _panels(charts: list[Any], text: str) -> Any:
    import altair as alt

    columns = min(3, math.ceil(math.sqrt(len(charts))))
    return _titled(alt.concat(*charts, columns=columns, spacing=28).resolve_scale(color="shared"), text)


def _few(names: list[str], what: str) -> list[str]:
    if not names:
        raise OptarenaError(f"no study has {what} to draw")
    if len(names) > PANELS:
        raise OptarenaError(
            f"{len(names)} problems do not fit on one figure: choose at most {PANELS} with --problem or --dimension"
        )
    return names


def _convergence(material: Material, options: Options) -> Any:
    from optarena.report.figures._style import COUNTED
    from optarena.report.figures.runs import MEASURES, STATISTICS, convergence

    axis = options.axis or "evaluations"
    table = material.convergence(axis)
    ways = data.scales(table)
    look = _look(material, options, table)
    log_effort = is_log(axis, float(table["effort"].max() or 0))  # type: ignore[arg-type]
    charts = [
        convergence(
            table.filter(pl.col("problem") == name),
            look,
            statistic=options.statistic,
            effort=axis,
            measure=MEASURES[ways[name]["measure"]],
            log=ways[name]["log"],
            floor=ways[name]["floor"],
            log_effort=log_effort,
            counted=axis in COUNTED,
            title=visible(name),
        )
        for name in _few([name for name in material.problems["problem"] if name in ways], "one objective and a value")
    ]
    return _panels(charts, STATISTICS[options.statistic][3])


def _parallel(material: Material, options: Options) -> Any:
    from optarena.report.figures.runs import parallel

    table = material.best_points
    there = set(table["problem"])
    names = _few(
        [name for name in material.problems["problem"] if name in there], "a best point of two parameters or more"
    )
    look = _look(material, options, table)
    charts = [parallel(table.filter(pl.col("problem") == name), look, title=visible(name)) for name in names]
    return _panels(charts, "the best point of every trial: a line a trial, an axis a parameter")


def _time(material: Material, options: Options) -> Any:
    from optarena.report.figures.runs import time

    table = data.times(material.results)
    if not table.height:
        raise OptarenaError("no study recorded what its evaluations cost")
    return time(table, _look(material, options, table))


def _failures(material: Material, options: Options) -> Any:
    from optarena.report.figures.runs import failures

    if not material.failures.height:
        raise OptarenaError("no evaluation failed: there is nothing to draw")
    return failures(material.failures, _look(material, options, material.failures))


def _progress(material: Material, options: Options) -> Any:
    from optarena.report.figures.runs import progress

    return progress(material.progress, _look(material, options, material.progress))


# ---- fixed target ----------------------------------------------------------------------------------------------------


def _ecdf(material: Material, options: Options) -> Any:
    import altair as alt

    from optarena.report.figures.targets import ecdf, precision

    view = material.must_reach()
    look = _look(material, options, view.ecdf)
    left = ecdf(runtimes.ecdf(view, []), look, effort=runtimes.unit(view))
    right = precision(runtimes.precision(view), look, word=runtimes.word(view))
    return _titled(alt.hconcat(left, right, spacing=30), f"{_behind(view)}; right: thick at the end, thin before")


def _ecdf_groups(material: Material, options: Options) -> Any:
    from optarena.report.figures.targets import ecdf_groups

    view = material.must_reach()
    table = runtimes.ecdf_groups(view)
    _fit(table)
    return _titled(ecdf_groups(table, _look(material, options, table), effort=runtimes.unit(view)), _behind(view))


def _ert(material: Material, options: Options) -> Any:
    from optarena.report.figures.targets import ert

    view = material.must_reach()
    table = runtimes.ert(view, material.functions)
    _fit(table, "function")
    chart = ert(table, _look(material, options, table), effort=runtimes.unit(view), word=runtimes.word(view))
    return _titled(chart, f"expected running time with its 95 % interval; pale: {runtimes.reference_name(view)}")


def _ert_dimension(material: Material, options: Options) -> Any:
    from optarena.report.figures.targets import ert_dimension

    view = material.must_reach()
    table = runtimes.ert_by_dimension(view)
    if not table.height:
        raise OptarenaError("no function was solved to the same target in two dimensions: there is nothing to draw")
    _fit(table)
    wide = table["D"].unique().sort().to_list()
    chart = ert_dimension(table, _look(material, options, table), effort=runtimes.unit(view), dimensions=wide)
    return _titled(chart, f"to the hardest target reached in most dimensions; pale: {runtimes.reference_name(view)}")


def _profiles(material: Material, options: Options) -> Any:
    from optarena.report.figures.targets import profiles

    table = runtimes.profiles(material.must_reach())
    return profiles(table, _look(material, options, table))


def _loss(material: Material, options: Options) -> Any:
    from optarena.report.figures.targets import loss

    view = material.must_reach()
    table = runtimes.loss(view, [])
    if not table["median"].is_not_null().any():
        raise OptarenaError("no optimizer reached a target: there is no loss to draw")
    chart = loss(table, _look(material, options, table), reference=runtimes.loss_reference(view))
    return _titled(chart, "median, half and 80 % of the targets; per cent: how many of the targets were reached")


# ---- anytime ---------------------------------------------------------------------------------------------------------


def _curves(material: Material, options: Options) -> Any:
    from optarena.report.figures.solving import curve

    view: Anytime = material.must("anytime")
    names = _few(curves.solved(view), "a solution")
    table = curves.curves(view, names)
    look = _look(material, options, table)
    charts = [
        curve(table.filter(pl.col("problem") == name), look, effort=view.frame["axis"], title=visible(name))
        for name in names
    ]
    return _panels(charts, "best value so far of a typical trial; shaded: the area that is scored, in its dashed box")


def _area(material: Material, options: Options) -> Any:
    from optarena.report.figures.solving import area_map

    table = curves.cells(material.must("anytime"))
    if not table.height:
        raise OptarenaError("nobody found a solution within a horizon of some width: there is no area score to draw")
    return area_map(table, _look(material, options, table))


def _gap(material: Material, options: Options) -> Any:
    from optarena.report.figures.solving import gap

    view: Anytime = material.must("anytime")
    table = curves.gaps(view)
    if not table.height:
        raise OptarenaError("no instance has a horizon of some width: there is no gap over effort to draw")
    return gap(table, _look(material, options, table), effort=curves.effort_of_gaps(view))


def _cactus(material: Material, options: Options) -> Any:
    from optarena.report.figures.solving import cactus

    view: Anytime = material.must("anytime")
    table = curves.cactus(view)
    return cactus(table, _look(material, options, table), effort=view.frame["axis"])


# ---- pareto ----------------------------------------------------------------------------------------------------------


def _fronts(material: Material, options: Options) -> Any:
    from optarena.report.figures.pareto import fronts as draw
    from optarena.report.figures.pareto import parallel

    view: Pareto = material.must("pareto")
    look = _look(material, options, view.table("studies"))
    few, many = fronts.problems(view, range(2, 4)), fronts.problems(view, range(4, 1000))
    _few([*few, *many], "a front")
    charts = []
    table, lines = fronts.fronts(view, few), fronts.parallel(view, many)
    if table.height:
        _fit(table)
        charts.append(draw(table, look))
    if lines.height:
        charts.append(parallel(lines, look))
    if not charts:
        raise OptarenaError(NO_FRONT)
    chart = charts[0]
    if len(charts) > 1:
        import altair as alt

        chart = alt.vconcat(*charts)
    return _titled(chart, "the front of the trial with the median hypervolume; behind: the reference set")


def _hypervolume(material: Material, options: Options) -> Any:
    from optarena.report.figures.pareto import hypervolume

    view: Pareto = material.must("pareto")
    table = fronts.hypervolume(view, fronts.problems(view, range(2, 1000)))
    _fit(table)
    axis = view.frame["axis"]
    log = is_log(axis, float(table["effort"].max() or 0))  # type: ignore[arg-type]
    return _titled(
        hypervolume(table, _look(material, options, table), effort=axis, log=log),
        "mean hypervolume of the front so far, as a part of the reference set's; bands: 95 %",
    )


def _attainment(material: Material, options: Options) -> Any:
    from optarena.report.figures.pareto import attainment

    view: Pareto = material.must("pareto")
    names = _few(fronts.problems(view, range(2, 3)), "two objectives")
    table = fronts.attainment(view, names)
    if not table.height:
        raise OptarenaError(NO_FRONT)
    chart = attainment(table, _look(material, options, table))
    return _titled(chart, "attained by half of the runs (thick), by the best (thin), by all (dashed)")


def _attainment_difference(material: Material, options: Options) -> Any:
    from optarena.report.figures.pareto import attainment_difference

    view: Pareto = material.must("pareto")
    names = _few(fronts.problems(view, range(2, 3)), "two objectives")
    table = fronts.attainment_differences(view, names)
    if not table.height:
        raise OptarenaError("no problem has fronts of two optimizers that differ: there is no difference to draw")
    look = _look(material, options, table)
    return _titled(attainment_difference(table, look), "the best two optimizers of each problem")


def _indicators(material: Material, options: Options) -> Any:
    from optarena.report.figures.pareto import indicators

    table = fronts.indicators(material.must("pareto"))
    return indicators(table, _look(material, options, table))


# ---- the verdict -----------------------------------------------------------------------------------------------------


def _critical_difference(material: Material, options: Options) -> Any:
    from optarena.report.figures.verdict import critical_difference

    made = material.must_compare()
    bars = len(made.overall.test_groups) + len(made.overall.nemenyi_groups)
    table, k = differences.critical_difference(made), len(made.optimizers)
    chart = critical_difference(table, _look(material, options, made.table("optimizers")), optimizers=k, bars=bars)
    return _titled(
        chart, "average ranks; black bars: no pairwise test tells them apart (Holm); grey: nor does Nemenyi's"
    )


def _pairwise(material: Material, options: Options) -> Any:
    from optarena.report.figures.verdict import pairwise

    made = material.must_compare()
    look = _look(material, options, made.table("optimizers"))
    return pairwise(differences.matrix(made), look, optimizers=len(made.optimizers))


def _effects(material: Material, options: Options) -> Any:
    from optarena.report.figures.verdict import effects

    made = material.must_compare()
    return effects(differences.effects(made), _look(material, options, made.table("optimizers")))


def _scott_knott(material: Material, options: Options) -> Any:
    from optarena.report.figures.verdict import groups

    made = material.must_compare()
    return groups(
        differences.knots(made), _look(material, options, made.table("optimizers")), score=f"score: {made.scores.what}"
    )


def _behind(view: FixedTarget) -> str:
    return f"dots: budgets end; pale line: the ERTs of {runtimes.reference_name(view)}"


def _titled(chart: Any, text: str) -> Any:
    import altair as alt

    return chart.properties(title=alt.Title(text, fontWeight="normal", fontSize=12))


def _fit(table: pl.DataFrame, by: str = "panel") -> None:
    count = table[by].n_unique()
    if count > PANELS:
        raise OptarenaError(
            f"{count} panels do not fit on one figure: choose at most {PANELS} with --problem or --dimension"
        )


FIGURES: dict[str, Figure] = {
    one.name: one
    for one in (
        Figure(
            "normalised",
            "the normalised score over iterations, with 95 % bands",
            _normalised,
            ("metric",),
            "fixed_cost",
        ),
        Figure("final", "the normalised score at the end, with 95 % intervals", _final, ("metric",), "fixed_cost"),
        Figure("heatmap", "the normalised score at the end on every problem", _heat_map, ("metric",), "fixed_cost"),
        Figure(
            "critical-difference",
            "average ranks, with bars that join what is not told apart",
            _critical_difference,
            (),
            COMPARISON,
        ),
        Figure(
            "pairwise",
            "the probability that one optimizer does better than another, all pairs",
            _pairwise,
            (),
            COMPARISON,
        ),
        Figure("effects", "the same with 95 % intervals, a row a pair", _effects, (), COMPARISON),
        Figure(
            "scott-knott", "medians and quartiles of the scores, in Scott-Knott groups", _scott_knott, (), COMPARISON
        ),
        Figure(
            "ecdf", "ECDFs of runtimes with restarts and of precision, before the reference", _ecdf, (), "fixed_target"
        ),
        Figure(
            "ecdf-groups",
            "ECDFs of runtimes, a panel a group of functions and dimension",
            _ecdf_groups,
            (),
            "fixed_target",
        ),
        Figure("ert", "expected running times against the target, a panel a function", _ert, (), "fixed_target"),
        Figure(
            "ert-dimension",
            "expected running times against the dimension, a panel a function",
            _ert_dimension,
            (),
            "fixed_target",
        ),
        Figure("profiles", "performance and data profiles", _profiles, (), "fixed_target"),
        Figure("loss", "how many times the reference's expected running time", _loss, (), "fixed_target"),
        Figure("fronts", "fronts of typical trials with the reference set, a panel a problem", _fronts, (), "pareto"),
        Figure("hypervolume", "the hypervolume of fronts over effort, with 95 % bands", _hypervolume, (), "pareto"),
        Figure("attainment", "attainment surfaces of two objectives, a panel a problem", _attainment, (), "pareto"),
        Figure(
            "attainment-difference",
            "where one optimizer attains more often than the next, a panel a problem",
            _attainment_difference,
            (),
            "pareto",
        ),
        Figure("indicators", "every indicator of fronts on every problem", _indicators, (), "pareto"),
        Figure(
            "curves",
            "the best value so far of each configuration in its box, a panel an instance",
            _curves,
            (),
            "anytime",
        ),
        Figure("area", "the area score of each configuration on every instance", _area, (), "anytime"),
        Figure("gap", "the mean primal gap over effort, with 95 % bands", _gap, (), "anytime"),
        Figure("cactus", "how many instances each configuration has solved by when", _cactus, (), "anytime"),
        Figure("convergence", "the best value so far, a panel a problem", _convergence, ("axis", "statistic")),
        Figure("parallel", "the parameters of the best point of every trial, a panel a problem", _parallel),
        Figure("time", "seconds an evaluation: suggesting, evaluating, observing", _time),
        Figure("failures", "failed evaluations by kind", _failures),
        Figure("progress", "how far each optimizer came on each problem", _progress),
    )
}
