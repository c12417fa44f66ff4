"""COCO's data folders, old and new, of one objective or two: read to runs here, written by `_coco_write`. docs/coco.md.

A value is the best f - f_opt so far (of the noiseless function, plus violated constraints), as COCO logs it, so the
optimum is 0. `.dat` has a row for each hundredth of a decade that was crossed, `.tdat` has more: their improvements are
merged. With two objectives the points that entered the archive (`.adat`) are the trace and COCO's indicator is a hidden
metric; where there is no archive, the indicator is the only objective.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from optarena.errors import OptarenaError
from optarena.formats._coco_text import BlockOfNumbers, DataFile, Entry, count_runs, parse_blocks, parse_info
from optarena.formats._coco_write import write
from optarena.formats._number_blocks import Say
from optarena.formats.folders import Folder
from optarena.formats.from_results import CONSTRAINT_EVALUATIONS
from optarena.formats.limits import is_dimension
from optarena.formats.runs import Run, Runs, improvements
from optarena.problem import Known, Objective, get_suite
from optarena.store.merging import Optimum, told_optimum
from optarena.traces import Floats, Ints

REGISTERED = {
    "names": {"coco": ""},
    "what": "COCO's data folders, or archives of them (docs/coco.md)",
}

__all__ = ["SUFFIXES", "read", "write"]
SUFFIXES: tuple[str, ...] = ()
DIFFERENCE = "f - f_opt"
INDICATOR = "indicator"
OPTIMUM_DIGITS = 1e-6  # COCO's optima have two decimals; fewer digits do not tell instances apart
_ARCHIVE = re.compile(r"_f0*(\d+)_i0*(\d+)_d0*(\d+)_nondom_\w+\.adat\Z")
_END = re.compile(rb"%\s*evaluations\s*=\s*(\d{1,15})")


def read(path: Path) -> Runs:
    """Every run of a folder or an archive; what cannot be read is named in the notices."""
    folder = Folder(path)
    out = Runs(str(path), [], folder.notices)
    infos = folder.names(".info")
    if not infos:
        raise OptarenaError(f"{path} has no .info file: not a COCO data folder")
    named = {file for name in infos for file in _read_info(folder, name, out)}
    _name_orphans(folder, named, out)
    if not out.runs:
        reasons = "; ".join(out.notices[:3])
        raise OptarenaError(f"{path}: no run can be read ({reasons or 'its .info files name none'})")
    return out


def _name_orphans(folder: Folder, named: set[str], out: Runs) -> None:
    """Say which runs no `.info` names: they are of an instance that is not known."""
    for name in folder.names(".dat"):
        runs = 0 if name in named else count_runs(folder.read(name))
        if runs:
            text = "no .info file names it: is one cut, or missing?"
            out.notices.append(f"{name}: {text} Its {runs} run{'s are' if runs > 1 else ' is'} left out")


def _read_info(folder: Folder, info: str, out: Runs) -> list[str]:
    """Read the runs that a file names; the data files that exist of them."""

    def say(text: str) -> None:
        out.notices.append(f"{info}: {text}")

    read = []
    for file in parse_info(folder.read(info).decode("utf-8", "backslashreplace"), say):
        named = file.name if "function" not in file.facts else f"{file.facts.get('folder', '')}/{file.name}"
        name = folder.beside(info, named.lstrip("/") if "function" in file.facts else named)
        if name is None:
            say(f"{file.name!r} points outside the folder; its {len(file.entries)} runs are left out")
        elif name not in folder:
            say(f"{file.name} is missing; its {len(file.entries)} runs are left out")
        else:
            read.append(name)
            identity = _identity(file, say)
            if identity is not None:
                _read_data(folder, name, file, identity, out)
    return read


def _identity(file: DataFile, say: Say) -> tuple[str, int, int] | None:
    """Suite, function and dimension; data from before suites had names is of bbob, or of bbob-noisy."""
    facts = file.facts
    function, dimension = facts.get("funcId", facts.get("function", "")), facts.get("DIM", facts.get("dim", ""))
    if not (function.isdecimal() and dimension.isdecimal() and len(function) < 7 and len(dimension) < 8):
        what = f"unknown function {function!r} or dimension {dimension!r}"
        say(f"{file.name}: {what}; its {len(file.entries)} runs are left out")
        return None
    if not is_dimension(int(dimension)):
        say(f"{file.name}: impossible dimension {dimension}; its {len(file.entries)} runs are left out")
        return None
    suite = facts.get("suite", "")
    if not suite:
        suite = "bbob-noisy" if 100 < int(function) <= 130 else "bbob" if int(function) <= 24 else "coco"
    return suite, int(function), int(dimension)


def _read_data(folder: Folder, name: str, file: DataFile, identity: tuple[str, int, int], out: Runs) -> None:
    def speaker(name: str) -> Say:
        return lambda text: out.notices.append(f"{name}: {text}")

    say = speaker(name)
    two = "function" in file.facts
    columns = 2 if two else 3
    blocks = parse_blocks(folder.read(name), say, columns)
    timed_name = name.removesuffix(".dat") + ".tdat"
    timed: list[BlockOfNumbers] = []
    if timed_name in folder:
        timed = parse_blocks(folder.read(timed_name), speaker(timed_name), columns, only=columns)
    else:
        say("it has no .tdat: improvements between two targets are unknown")
    entries = file.entries
    if len(blocks) != len(entries):
        text = f"has {len(blocks)} runs, its .info names {len(entries)}"
        pairs = list(zip(entries, blocks, strict=False))
        if len(blocks) < len(entries) or not all(_fits(entry, block) for entry, block in pairs):
            say(f"{text}: it is unclear which is which, so all are left out")
            return
        say(f"{text}: the last {len(blocks) - len(entries)} are left out, as the .info is cut or was not finished")
    if timed and len(timed) != len(blocks):
        speaker(timed_name)(f"has {len(timed)} runs, the .dat has {len(blocks)}: not used")
        timed = []
    for i, (entry, block) in enumerate(zip(entries, blocks, strict=False)):
        if entry is None:
            continue  # named when it was met
        if block.instance is not None and block.instance != entry.instance:
            say(f"run {i + 1} is of instance {block.instance}, its .info says {entry.instance}; left out")
            continue
        where: Say = lambda text, i=i: say(f"run {i + 1}: {text}")  # type: ignore[misc] # noqa: E731
        rows = [block.numbers, timed[i].numbers] if timed else [block.numbers]
        make = _two_objectives if two else _one_objective
        run = make(folder, identity, entry, block, rows, where)
        if entry.may_be_cut and block.instance is None and not _has_optimum_of_its_instance(run):
            where(f"lost: its .info is cut, perhaps within the number of the instance ({entry.instance}…); left out")
            continue
        run.optimizer = file.facts.get("algId") or file.facts.get("algorithm") or "unknown"
        if entry.evaluations is None:
            run.status, run.reason = "interrupted", "COCO's .info has no end of it"
            where(f"instance {entry.instance} was not finished; kept as interrupted")
        if not len(run.evaluation):
            run.status, run.reason = "failed", "its file has no rows"
            where("has no rows")
        run.attributes |= {
            "coco_comment": file.comment,
            "coco_version": file.facts.get("coco_version", ""),
            "coco_format": file.facts.get("data_format", ""),
        }
        run.source = name
        out.runs.append(run)


def _has_optimum_of_its_instance(run: Run) -> bool:
    """Whether the optimum in the head of its rows is that of its instance, as far as that can be computed here."""
    try:
        if not run.suite.startswith("bbob"):  # COCO's own; nothing else is loaded because a file names it
            return False
        suite = get_suite(run.suite)
        known = suite.known(run.problem).optimum if suite.contains(run.problem) else None
    except OptarenaError:
        return False
    told = told_optimum(run.card, run.attributes)
    if known is None or told is None:
        return False
    return told.within <= OPTIMUM_DIGITS and told.agrees(Optimum(known[0], OPTIMUM_DIGITS))


def _fits(entry: Entry | None, block: BlockOfNumbers) -> bool:
    """Whether a block ends with the evaluation with which its run did."""
    return entry is not None and len(block.numbers) > 0 and entry.evaluations == block.numbers[-1, 0]


def _one_objective(
    _folder: Folder, identity: tuple[str, int, int], entry: Entry, block: BlockOfNumbers, rows: list[Floats], say: Say
) -> Run:
    suite, function, dimension = identity
    evaluation, best = _stacked(rows, 0).astype(np.int64), _stacked(rows, 2)
    best = _without_nan(best, say)
    _disagreements(evaluation, best, say)
    kept = improvements(evaluation, best)
    points = None
    if block.numbers.shape[1] == 5 + dimension:  # in a .tdat a row has the point it met, not the best
        points = np.full((len(evaluation), dimension), np.nan)
        points[: len(block.numbers)] = block.numbers[:, 5:]
        points = points[kept]
    made = max(entry.evaluations or 0, int(evaluation.max(initial=0)))
    efforts, at_end = {}, {}
    second = _stacked(rows, 1)
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
        values=best[kept][:, None],
        points=points,
        efforts=efforts,
        efforts_at_end=at_end,
        known=Known(optimum=(0.0,)),
        attributes={"values": DIFFERENCE, "coco_f_opt": block.f_opt},
    )


def _stacked(rows: list[Floats], column: int) -> Floats:
    return np.concatenate([part[:, column] for part in rows])


def _without_nan(best: Floats, say: Say) -> Floats:
    bad = np.isnan(best) | (best == -np.inf)
    if bad.any():
        say(f"{int(bad.sum())} rows have no value (nan or -inf); they count as no improvement")
        return np.where(bad, np.inf, best)
    return best


def _disagreements(evaluation: Ints, best: Floats, say: Say) -> None:
    """The same evaluation must have the same best in both files."""
    order = np.lexsort((best, evaluation))
    k, value = evaluation[order], best[order]
    with np.errstate(invalid="ignore"):
        apart = (k[1:] == k[:-1]) & (value[1:] - value[:-1] > 1e-6 * np.abs(value[:-1]) + 1e-14)
    if apart.any():
        say(f".dat and .tdat disagree at evaluation {k[1:][apart][0]}; the better value is taken")


# ---- two objectives ------------------------------------------------------------------------------------------------


def _two_objectives(
    folder: Folder, identity: tuple[str, int, int], entry: Entry, block: BlockOfNumbers, rows: list[Floats], say: Say
) -> Run:
    suite, function, dimension = identity
    evaluation, indicator = _stacked(rows, 0).astype(np.int64), _without_nan(_stacked(rows, 1), say)
    kept = improvements(evaluation, indicator)
    run = Run(
        optimizer="",
        suite=suite,
        function=f"f{function}",
        dimension=dimension,
        instance=entry.instance,
        evaluations=max(entry.evaluations or 0, int(evaluation.max(initial=0))),
        evaluation=evaluation[kept],
        values=indicator[kept][:, None],
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
