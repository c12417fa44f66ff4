"""What Bayesmark derives from its studies: cubes, the baseline, performances. By the fixed-cost view."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from optarena.dataset import Dataset
from optarena.errors import OptarenaError
from optarena.formats._bayesmark_cubes import cubes, share
from optarena.formats._bayesmark_files import (
    FileStudy,
    dataset,
    files_of,
    made_of,
    read_cubes,
    signatures_of,
    write_dataset,
)
from optarena.formats.writing import write_journal
from optarena.store import Store
from optarena.views.fixed_cost import FixedCost, fixed_cost
from optarena.views.fixed_cost.datasets import arrays


def aggregate(
    path: Path, studies: Sequence[FileStudy], args: Mapping[str, Any] | None = None, gone: Sequence[str] = ()
) -> list[str]:
    """Write `derived/eval.json`, `time.json` and a file of points a problem; what had to be left out, in words.

    gone: what was left out before, to stand in the files' meta data, too.
    """
    whole, left_out = share(studies)
    made, missing = cubes(whole)
    medians, _ = signatures_of(whole)
    more = {key: value for key, value in {"missing": missing, "left_out": [*gone, *left_out]}.items() if value}
    for name, cube in made.items():
        of = {"made_of": files_of(path)} if name == "eval" else {}
        write_dataset(path / "derived" / f"{name}.json", args or {}, medians, cube, **more, **of)
    return left_out


def refuse_stale(path: Path) -> None:
    """Refuse cubes that were made of other studies than the database has now."""
    now = files_of(path)
    if not now["studies"]:  # only `derived` is left
        return
    was = made_of(path)
    if was.get("studies") == now["studies"] and was.get("hash", now["hash"]) == now["hash"]:
        return
    more = "they have changed since" if was["studies"] == now["studies"] else f"the database has {now['studies']} now"
    raise OptarenaError(
        f"{path / 'derived' / 'eval.json'} was made of {was['studies']} studies, and {more}: run"
        f" optarena bayesmark agg -dir {path.parent} -b {path.name} first"
    )


def score(path: Path, *, baseline: Path | None) -> tuple[FixedCost, dict[str, list[float]]]:
    """Score the cube in `derived/eval.json` in mode bayesmark, by a baseline if one is given; and its signatures."""
    from optarena.formats.bayesmark import records_of

    studies = read_cubes(path)
    if baseline is None and not any(study.method.partition("_")[0] == "RandomSearch" for study in studies):
        raise OptarenaError(
            f"{path} has no RandomSearch on these problems to make a baseline of: launch it, too (-o RandomSearch), or"
            " put a baseline.json into its folder derived"
        )
    with tempfile.TemporaryDirectory(prefix="optarena-bayesmark-") as directory:
        store = Store(Path(directory) / "store")
        write_journal([str(path)], records_of(studies, str(path), own_ids=False), store)
        results = Dataset.of_store(store.path)
        results.path = path  # what messages speak of
        view = fixed_cost(results, mode="bayesmark", frame=baseline)
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
