"""What Bayesmark derives from its cubes: the baseline and the performances. By the fixed-cost view."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from optarena.bayesmark.files import dataset, read_cubes, signatures_in, signatures_of, write_dataset
from optarena.bayesmark.records import records_of
from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats.writing import journal_header
from optarena.optimizer import is_random_search
from optarena.store.signatures import TOLERANCE, relative_gap
from optarena.views.fixed_cost import FixedCost, fixed_cost
from optarena.views.fixed_cost.datasets import arrays


def changed_since(path: Path, baseline: Path) -> list[str]:
    """The problems of a database whose signature is not that in a baseline: the same points give other values.

    None of them where that is so of all: such a baseline is of another version of them, and `score` refuses it.
    """
    recorded = signatures_in(baseline)
    ours = signatures_of(read_cubes(path))[0]
    gaps = {name: relative_gap(recorded[name], values) for name, values in ours.items() if recorded.get(name)}
    changed = [name for name, gap in gaps.items() if gap > TOLERANCE]
    return changed if len(changed) < len(ours) else []


def score(
    path: Path, *, baseline: Path | None, without: Collection[str] = ()
) -> tuple[FixedCost, dict[str, list[float]]]:
    """Score the cube in `derived/eval.json` in mode bayesmark, by a baseline if one is given; and its signatures.

    without: problems that are left out.
    """
    studies = [study for study in read_cubes(path) if study.problem not in without]
    if baseline is None and not any(is_random_search(study.method) for study in studies):
        raise OptarenaError(
            f"{path} has no RandomSearch on these problems to make a baseline of: launch it, too (-o RandomSearch), or"
            " put a baseline.json into its folder derived"
        )
    lines = [journal_header([str(path)], 0.0), *records_of(studies, str(path), own_ids=False)]
    view = fixed_cost(Dataset.of_records(str(path), lines), mode="bayesmark", frame=baseline)
    return view, signatures_of(studies)[0]


def write_baseline(path: Path, view: FixedCost, signatures: Mapping[str, Any], args: Mapping[str, Any]) -> None:
    """`derived/baseline.json`."""
    _write(path, {"baseline": "baseline"}, view, signatures, args, suggestions=view.frame["batch"])


def write_performance(path: Path, view: FixedCost, signatures: Mapping[str, Any], args: Mapping[str, Any]) -> None:
    """`derived/perf.json` and `derived/summary.json`."""
    _write(path, {"perf": "agg_result", "summary": "summary"}, view, signatures, args)


def _write(
    path: Path,
    files: Mapping[str, str],
    view: FixedCost,
    signatures: Mapping[str, Any],
    args: Mapping[str, Any],
    **more: Any,
) -> None:
    made = arrays(view, objective=True)
    for file, name in files.items():
        write_dataset(path / "derived" / f"{file}.json", args, dict(signatures), dataset(*made[name]), **more)
