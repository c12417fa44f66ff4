"""The façade: what `import optarena` offers. Running an experiment, and a dataset with views as methods.

>>> results = optarena.open("results")          # doctest: +SKIP
>>> results.fixed_cost().leaderboard()
>>> print(results.compare())
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.experiment import Named, label_of
from optarena.views import score
from optarena.views._options import view_named

if TYPE_CHECKING:
    from optarena.comparison import Comparison
    from optarena.comparison.by_problem import Ranks
    from optarena.comparison.race import Race
    from optarena.experiment import Experiment
    from optarena.views._view import View
    from optarena.views.anytime import Anytime
    from optarena.views.fixed_cost import FixedCost
    from optarena.views.fixed_target import FixedTarget
    from optarena.views.importance import Importance
    from optarena.views.pareto import Pareto


class Results(Dataset):
    """The studies of a store, with views, comparison and report. `.studies` has one row per study, begun or planned."""

    def fixed_cost(self, **options: Any) -> FixedCost:
        """How good after a given effort, normalised: see `optarena.views.fixed_cost.fixed_cost`."""
        made: FixedCost = score(self, "fixed_cost", **options)
        return made

    def fixed_target(self, **options: Any) -> FixedTarget:
        """How long to reach a target: see `optarena.views.fixed_target.fixed_target`."""
        made: FixedTarget = score(self, "fixed_target", **options)
        return made

    def anytime(self, **options: Any) -> Anytime:
        """The complete curve of each run: see `optarena.views.anytime.anytime`."""
        made: Anytime = score(self, "anytime", **options)
        return made

    def pareto(self, **options: Any) -> Pareto:
        """How good are fronts of several objectives: see `optarena.views.pareto.pareto`."""
        made: Pareto = score(self, "pareto", **options)
        return made

    def compare(self, *optimizers: Named, **options: Any) -> Comparison:
        """Who is better, by how much, how sure that is: see `optarena.comparison`; `print` it for the verdict.

        optimizers: those that are compared, by their names in tables, as classes or as `use(...)`; by default all.
        options: `view`, those of that view, and those of `optarena.comparison.compare`.
        """
        from optarena.comparison import compare

        return compare(self, [label_of(item) for item in optimizers], **options)

    def ranks(self, *metrics: str, **options: Any) -> Ranks:
        """Scott-Knott ranks, medians and interquartile ranges on each problem by each measure: `ranks("igd")`.

        options: those of `optarena.comparison.by_problem.ranks_by_problem`.
        """
        from optarena.comparison.by_problem import ranks_by_problem

        return ranks_by_problem(self, metrics, **options)

    def importance(self, problem: str, *, seed: int = 0) -> Importance:
        """Which parameters of a problem matter: see `optarena.views.importance.importance`."""
        from optarena.views.importance import importance

        return importance(self, problem, seed=seed)

    def figure(self, name: str, **options: Any) -> Any:
        """A figure by its name (`optarena figure --list` shows all), which shows itself in a notebook, offline.

        It is an Altair chart: `.save("figure.pdf")` writes it, `.properties(width=300)` changes it. options: those of
        the figure, and of the view that it draws.
        """
        from optarena.report.figures import figure

        return figure(name, self, **options)

    def report(self, path: str | Path, **options: Mapping[str, Any] | View) -> Path:
        """Write one HTML file that shows everything, works offline and can be mailed; returns its path.

        options: of the views on the page, by the view's name, such as `fixed_target={"targets": [1e-1, 1e-3]}`; or a
        view of these studies, which is not scored again, such as `fixed_target=results.fixed_target()`.
        """
        from optarena.report.page import write_report

        return write_report(self, path, {view_named(view): given for view, given in options.items()})


def run(experiment: Experiment, store: str | Path, **options: Any) -> Results:
    """Run what the store does not have yet, and return what it has (see `optarena.runner.local.run`).

    A notebook shows the progress, unless another `progress` is given.
    """
    from optarena.report.progress import NotebookProgress, in_notebook

    if options.get("progress") is None and in_notebook():
        with NotebookProgress(str(store)) as progress:
            execute(experiment, store, **{**options, "progress": progress})
    else:
        execute(experiment, store, **options)
    return open_store(store)


def execute(experiment: Experiment, store: str | Path, **options: Any) -> Race | None:
    """Run what the store does not have yet; of a race, as many rounds as it takes (see `optarena.runner.local.run`).

    client: a `distributed.Client`, to run on its workers (see `optarena.runner.dask_pilots.run_on_dask`).
    """
    from optarena.runner import local

    client = options.pop("client", None)
    if client is not None:
        from optarena.runner.dask_pilots import run_on_dask

        run_on_dask(experiment, store, client, **options)
        return None
    if experiment.race is None:
        local.run(experiment, store, **options)
        return None
    from optarena.comparison.race import Rounds

    if options.get("retry"):
        raise OptarenaError("a race counts its failures: to retry would change rounds that were looked at")
    rounds = Rounds()
    local.run(experiment, store, rounds=rounds, **options)
    return rounds.race


def from_frame(frame: Any, store: str | Path | None = None) -> Results:
    """A pandas or Polars frame with the columns of the tidy CSV as results, in memory or as studies of a store.

    Without a store nothing is written. Runs that a store has already are not added again; a contradiction is refused,
    and then nothing is written.
    """
    from optarena.formats import import_frame, read_frame

    if store is None:
        return Results.of(read_frame(frame))
    import_frame(frame, store)
    return open_store(store)


def read(format: str, *paths: str | Path) -> Results:
    """Files of other tools as results, in memory: `read("coco", "exdata/mine")`; no store is needed."""
    from optarena.formats import read_files

    return Results.of(read_files(format, *paths))


def open_store(path: str | Path) -> Results:
    """Read a store as it is now; a run may go on meanwhile."""
    return Results.of_store(path)
