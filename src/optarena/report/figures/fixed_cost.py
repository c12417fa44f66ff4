"""The figures of the fixed-cost view."""

from __future__ import annotations

from functools import partial

from optarena.errors import one_of
from optarena.report import words
from optarena.report.figures._figure import Options, Shown, is_log, last_effort
from optarena.report.material import Material
from optarena.views.fixed_cost import FixedCost

UNDEFINED = "the normalised score is undefined, since random search itself is next to the best value: nothing to draw"


def hidden(metric: str) -> str:
    """What a title adds for a metric that optimizers do not see."""
    return "" if metric == "value" else f": {metric}, hidden from the optimizers"


def _metric(material: Material, options: Options) -> str:
    known = material.must_score().metrics
    if options.metric is not None:
        one_of("metric", options.metric, known)
    return options.metric or known[0]


def normalised(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_cost import BANDS, normalised

    view, metric = material.must_score(), _metric(material, options)
    table = material.summary(metric, every=options.page)
    many = f" of the best {BANDS} at the end" if table["optimizer"].n_unique() > BANDS else ""
    band = f"Bands{many}: intervals of the mean, {view.frame['intervals']}, cut a little above the highest line."
    if not table["lower"].is_not_null().any():
        band = "" if material.running else "One problem or one trial gives no band."
    shown = Shown(
        f"summary {metric}",
        table,
        partial(normalised, effort=view.units, log=is_log(view.frame["axis"], last_effort(table))),
        "Normalised score over time" + hidden(metric),
        f"0 is the best known value, 1 is random search after the same effort; lower is better. {band}".rstrip(),
        f"Line chart of the normalised score by {view.units}, one line per optimizer. "
        + words.describe_board(material.final(metric, every=options.page)),
        empty=UNDEFINED if table["score"].is_null().all() else "",
        view=view,
        id=f"normalised-{view.metrics.index(metric)}",
    )
    return [shown]


def median(material: Material, options: Options) -> list[Shown]:
    says = (
        "Median over problems; on each, 0 is the best known value, 1 the median of random search after as many batches"
    )
    return _over_time(material, options, "median", says)


def mean(material: Material, options: Options) -> list[Shown]:
    says = "Mean over problems; on each, 0 is the best known value, 1 the median of random search's single evaluations"
    return _over_time(material, options, "mean", says)


def _over_time(material: Material, options: Options, statistic: str, says: str) -> list[Shown]:
    """Bayesmark's two curves (docs/scores.md 1)."""
    from optarena.report.drawing.fixed_cost import normalised
    from optarena.views.fixed_cost.figure_tables import over_efforts

    view, metric = material.must_score(), _metric(material, options)
    table = over_efforts(view, metric, statistic)
    shown = Shown(
        f"{statistic} {metric}",
        table,
        partial(
            normalised,
            effort=view.units,
            log=is_log(view.frame["axis"], last_effort(table)),
            title=f"{statistic} score (0 best known)",
        ),
        f"{statistic.capitalize()} score over time" + hidden(metric),
        f"{says}; lower is better. Bands: {_bands(view, statistic)}.",
        f"Line chart of the {statistic} score by {view.units}, one line per optimizer.",
        empty=UNDEFINED if table["score"].is_null().all() else "",
        view=view,
    )
    return [shown]


def _bands(view: FixedCost, statistic: str) -> str:
    """What they are about: a median has an interval over problems only (docs/scores.md 1.8)."""
    return "95 % over problems" if statistic == "median" else str(view.frame["intervals"])


def final(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_cost import final

    view, metric = material.must_score(), _metric(material, options)
    table = material.final(metric, every=options.page)
    known = table["lower"].is_not_null().any()
    dots = (
        f"Dots with intervals ({view.intervals})"
        if known
        else f"Dots, without intervals: {'a run goes on' if material.running else 'one problem or trial'}"
    )
    shown = Shown(
        f"final {metric}",
        table,
        final,
        "Normalised score at the end" + hidden(metric),
        f"{dots}; the dashed line is random search.",
        "Dot plot of the normalised score at the end with intervals. " + words.describe_board(table),
        empty="" if table.height else UNDEFINED,
        view=view,
        id=f"final-{view.metrics.index(metric)}",
        by=("optimizer",),
    )
    return [shown]


def heatmap(material: Material, options: Options) -> list[Shown]:
    from optarena.report.drawing.fixed_cost import heat_map

    view, metric = material.must_score(), _metric(material, options)
    table = material.by_problem(metric)
    shown = Shown(
        f"problems {metric}",
        table.select("optimizer", "problem", "score", "lower", "upper", "n") if options.page else table,
        heat_map,
        "Problem by problem" + hidden(metric),
        "Mean over trials of the normalised value at the end; "
        "0 is the best known value, 1 the mean of random search over all problems: the mean of a row is the score.",
        "Heat map with one row per problem and one column per optimizer; the table below has its numbers.",
        view=view,
        id=f"heatmap-{view.metrics.index(metric)}",
        by=("problem",),
        widest=90 * max(3, len(material.colours.names)) + 260,
    )
    return [shown]
