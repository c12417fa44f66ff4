"""COCO's data folders, old and new, of one objective or two: read here, written by `_coco_write`. docs/coco.md.

A value is the best f - f_opt so far (of the noiseless function, plus violated constraints), as COCO logs it, so the
optimum is 0. `.dat` has a row for each hundredth of a decade that was crossed, `.tdat` has more: their improvements are
merged. With two objectives the points that entered the archive (`.adat`) are the trace and COCO's indicator is a hidden
metric; where there is no archive, the indicator is the only objective.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from optarena.errors import OptarenaError
from optarena.formats._coco_rows import merged
from optarena.formats._coco_runs import one_objective, two_objectives
from optarena.formats._coco_text import (
    BlockOfNumbers,
    DataFile,
    Entry,
    count_runs,
    intact_blocks,
    parse_blocks,
    parse_info,
)
from optarena.formats._coco_write import write
from optarena.formats._number_blocks import Say
from optarena.formats.folders import Folder
from optarena.formats.limits import is_dimension
from optarena.formats.runs import Run, Runs
from optarena.problem import get_suite
from optarena.store.merging import Optimum, told_optimum

REGISTERED = {
    "names": {"coco": ""},
    "what": "COCO's data folders, or archives of them (docs/coco.md)",
}

__all__ = ["SUFFIXES", "read", "write"]
SUFFIXES: tuple[str, ...] = ()
OPTIMUM_DIGITS = 1e-6  # COCO's optima have two decimals; fewer digits do not tell instances apart


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
    files = parse_info(folder.read(info).decode("utf-8", "backslashreplace"), say)
    data = _data_of(folder, info, files)
    for file in files:
        name = _data_name(folder, info, file)
        if name is None:
            say(f"{file.name!r} points outside the folder; its {len(file.entries)} runs are left out")
        elif name not in folder:
            say(f"{file.name} is missing; its {len(file.entries)} runs are left out")
        else:
            read.append(name)
            identity = _identity(file, say)
            if identity is not None:
                _read_data(folder, name, file, identity, data, out)
    return read


def _data_name(folder: Folder, info: str, file: DataFile) -> str | None:
    """The name of a data file in the folder; None if it points outside."""
    named = file.name if not _has_two(file) else f"{file.facts.get('folder', '')}/{file.name}".lstrip("/")
    return folder.beside(info, named)


def _has_two(file: DataFile) -> bool:
    """Whether a data file is of two objectives."""
    return "function" in file.facts


def _columns(file: DataFile) -> int:
    """How many columns its rows have, at least."""
    return 2 if _has_two(file) else 3


def _timed_name(name: str) -> str:
    return name.removesuffix(".dat") + ".tdat"


class _Data(NamedTuple):
    """The data files of an `.info`: the runs of those that are not damaged, read together, and all texts."""

    texts: dict[str, bytes]
    intact: dict[str, list[BlockOfNumbers]]

    def blocks(self, name: str, say: Say, columns: int, only: int | None = None) -> list[BlockOfNumbers]:
        found = self.intact.get(name)
        return parse_blocks(self.texts[name], say, columns, only) if found is None else found


def _data_of(folder: Folder, info: str, files: Sequence[DataFile]) -> _Data:
    out = _Data({}, {})
    for columns in {_columns(file) for file in files}:
        named = [
            _data_name(folder, info, file)
            for file in files
            if _columns(file) == columns and _identity(file, lambda _: None) is not None
        ]
        names = [each for name in named if name is not None for each in (name, _timed_name(name)) if each in folder]
        texts = {name: folder.read(name) for name in names}
        out.texts.update(texts)
        out.intact.update(intact_blocks(texts, columns))
    return out


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


def _read_data(
    folder: Folder,
    name: str,
    file: DataFile,
    identity: tuple[str, int, int],
    data: _Data,
    out: Runs,
) -> None:
    def speaker(name: str) -> Say:
        return lambda text: out.notices.append(f"{name}: {text}")

    say, columns = speaker(name), _columns(file)
    blocks = data.blocks(name, say, columns)
    timed_name = _timed_name(name)
    timed: list[BlockOfNumbers] = []
    if timed_name in folder:
        timed = data.blocks(timed_name, speaker(timed_name), columns, only=columns)
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
    rows = merged(blocks, timed, columns - 1)
    for i, (entry, block) in enumerate(zip(entries, blocks, strict=False)):
        if entry is None:
            continue  # named when it was met
        if block.instance is not None and block.instance != entry.instance:
            say(f"run {i + 1} is of instance {block.instance}, its .info says {entry.instance}; left out")
            continue
        where: Say = lambda text, i=i: say(f"run {i + 1}: {text}")  # type: ignore[misc] # noqa: E731
        make = two_objectives if _has_two(file) else one_objective
        run = make(folder, identity, entry, block, rows[i], where)
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
