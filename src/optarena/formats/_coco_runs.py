"""The runs of COCO's data files: the merged rows of one, of one objective or two, with what is known of its problem."""

from __future__ import annotations

import re

import numpy as np

from optarena.dataset.rows import CONSTRAINT_EVALUATIONS
from optarena.formats._coco_rows import MergedRows
from optarena.formats._coco_text import BlockOfNumbers, Entry, parse_blocks
from optarena.formats._number_blocks import Say
from optarena.formats.folders import Folder
from optarena.formats.runs import Run
from optarena.problem import Known, Objective, get_suite
from optarena.traces import Floats

DIFFERENCE = "f - f_opt"
INDICATOR = "indicator"
_ARCHIVE = re.compile(r"_f0*(\d+)_i0*(\d+)_d0*(\d+)_nondom_\w+\.adat\Z")
_END = re.compile(rb"%\s*evaluations\s*=\s*(\d{1,15})")


def one_objective(
    _folder: Folder, identity: tuple[str, int, int], entry: Entry, block: BlockOfNumbers, rows: MergedRows, say: Say
) -> Run:
    suite, function, dimension = identity
    _say_invalid(rows, say)
    if rows.disagreement is not None:
        say(f".dat and .tdat disagree at evaluation {rows.disagreement}; the better value is taken")
    evaluation, kept = rows.evaluation, rows.kept
    points = None
    if block.numbers.shape[1] == 5 + dimension:  # in a .tdat a row has the point it met, not the best
        points = np.full((len(kept), dimension), np.nan)
        known = kept < len(block.numbers)
        points[known] = block.numbers[kept[known], 5:]
    made = max(entry.evaluations or 0, int(evaluation.max(initial=0)))
    efforts, at_end = {}, {}
    second = rows.rows[:, 1]
    if suite == "bbob-constrained" and (second[kept] >= 0).all():
        efforts[CONSTRAINT_EVALUATIONS] = second[kept]
        last = second[evaluation == made]
        if len(last):  # the last evaluation has a row of its own
            at_end[CONSTRAINT_EVALUATIONS] = float(last.max())
    return Run(
        optimizer="",
        suite=suite,
        function=f"f{function}",
        dimension=dimension,
        instance=entry.instance,
        evaluations=made,
        evaluation=evaluation[kept],
        values=rows.values[kept][:, None],
        points=points,
        efforts=efforts,
        efforts_at_end=at_end,
        known=Known(optimum=(0.0,)),
        attributes={"values": DIFFERENCE, "coco_f_opt": block.f_opt},
    )


def _say_invalid(rows: MergedRows, say: Say) -> None:
    if rows.invalid:
        say(f"{rows.invalid} rows have no value (nan or -inf); they count as no improvement")


# ---- two objectives ------------------------------------------------------------------------------------------------


def two_objectives(
    folder: Folder, identity: tuple[str, int, int], entry: Entry, block: BlockOfNumbers, rows: MergedRows, say: Say
) -> Run:
    suite, function, dimension = identity
    _say_invalid(rows, say)
    evaluation, kept = rows.evaluation, rows.kept
    run = Run(
        optimizer="",
        suite=suite,
        function=f"f{function}",
        dimension=dimension,
        instance=entry.instance,
        evaluations=max(entry.evaluations or 0, int(evaluation.max(initial=0))),
        evaluation=evaluation[kept],
        values=rows.values[kept][:, None],
        objectives=(Objective(INDICATOR),),
        known=Known(optimum=(0.0,)),  # COCO's targets are distances to its reference, which may be passed
        attributes={"values": "reference - hypervolume", "coco_reference": block.reference},
    )
    archive = _archive(folder, (function, entry.instance, dimension), say)
    if archive is None or not len(archive):
        return run
    # it changes with the archive alone: a row tells it of the point before it that entered last
    at = np.searchsorted(archive[:, 0], run.evaluation, side="right") - 1
    if (at < 0).any():
        say(f"instance {entry.instance}: an indicator comes before the first point of the .adat; not used")
        return run
    metric = np.full(len(archive), np.nan)
    metric[at] = run.values[:, 0]
    run.metrics = {INDICATOR: metric}
    run.attributes.pop("values")
    run.evaluation, run.values = archive[:, 0].astype(np.int64), archive[:, 1:3]
    run.objectives, run.known = (Objective("1"), Objective("2")), _known(suite, function, dimension, entry.instance)
    run.points = archive[:, 3:] if archive.shape[1] == 3 + dimension else None
    return run


def _known(suite: str, function: int, dimension: int, instance: int) -> Known:
    """What is shipped of bbob-biobj: ideal, nadir and hypervolume."""
    id, biobj = f"{suite}/f{function}/d{dimension}/i{instance}", get_suite("bbob-biobj")
    return biobj.known(id) if biobj.contains(id) else Known()


def _archive(folder: Folder, key: tuple[int, int, int], say: Say) -> Floats | None:
    """The points that entered the archive of a run; None if there is no such file, or more than one."""
    names = [n for n in folder.names(".adat") if (m := _ARCHIVE.search(n)) and tuple(map(int, m.groups())) == key]
    if not names:
        return None
    if len(names) > 1:
        say(f"{len(names)} .adat files fit it ({names[0]}, …): none is used")
        return None
    data = folder.read(names[0])
    blocks = parse_blocks(data, lambda text: say(f"{names[0]}: {text}"), 3)
    if len(blocks) != 1 or _END.search(data) is None:
        say(f"{names[0]}: holds {len(blocks)} runs, or was not finished; not used")
        return None
    rows = blocks[0].numbers
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    if len(np.unique(rows[:, 0])) != len(rows) or not np.isfinite(rows[:, 1:3]).all():
        say(f"{names[0]}: it has a duplicate evaluation, or a value that is not finite; not used")
        return None
    return rows
