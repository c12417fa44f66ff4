"""Damaged and oversized input is refused in one sentence, with bounded memory; failed writes say what is safe."""

from __future__ import annotations

import errno
import gzip
import json
import os
import shutil
from pathlib import Path

import polars as pl
import pytest

import optarena as oa
import stores
from optarena import store as store_module
from optarena._damage import damage_named, quiet_panics
from optarena.cli import main
from optarena.errors import LONGEST_LINE, OptarenaError, WorkError
from optarena.formats import csv, import_files, limits, parquet
from optarena.store import Store

SAMPLES = Path(__file__).parent / "data" / "coco" / "samples"
HEAD = "problem,optimizer,value\n"


class PanicException(BaseException):
    """What a panic of Polars is called."""


# ---- one sentence ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [KeyError("a"), IndexError(1), OverflowError("far"), UnicodeDecodeError("utf-8", b"x", 0, 1, "no")]
)
def test_what_reading_raises_becomes_a_sentence_with_the_name_of_the_file(error):
    says = r"^in.json: not a run file, or damaged \("
    with pytest.raises(OptarenaError, match=says) as told, damage_named("in.json", "a run file"):
        raise error
    assert told.value.__cause__ is error


def test_memory_and_nesting_are_named_as_such():
    for error, words in ((MemoryError(), "more memory than there is"), (RecursionError(), "nested too deeply")):
        with pytest.raises(OptarenaError, match=words), damage_named("in", "data"):
            raise error


def test_a_panic_prints_nothing_and_other_text_is_printed(capfd):
    def panic() -> None:
        os.write(2, b"thread panicked\n")
        raise PanicException("out of range")

    with pytest.raises(OptarenaError, match="PanicException: out of range"), damage_named("in", "data"):
        panic()
    with quiet_panics():
        os.write(2, b"a warning\n")
    assert capfd.readouterr().err == "a warning\n"


def test_bugs_and_interrupts_are_not_hidden():
    for error in (KeyboardInterrupt, NameError, WorkError):
        with pytest.raises(error), damage_named("in", "data"):
            raise error("stop")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("a = " + "[" * 3000 + "]" * 3000, "nested too deeply"),
        (".".join("a" * 500) + " = 1", "nested more than 100 levels deep"),
        (".".join("a" * 200_000) + " = 1", "nested more than 100 levels deep"),
        ("trials = 18446744073709551616", "trials: a whole number beyond 64 bits"),
        ("budget = " + "9" * 5000, "too many digits"),
        ("n" * 3_000_000 + " = 1", "no such field"),
    ],
)
def test_odd_toml_is_named(tmp_path, text, says):
    (tmp_path / "in.toml").write_text(text)
    with pytest.raises(OptarenaError, match=says) as told:
        oa.Experiment.load(tmp_path / "in.toml")
    assert len(str(told.value)) <= LONGEST_LINE


@pytest.mark.parametrize("data", [b"\xff\xfe", b"[" * 3000, b"{}", b'{"version": 1e400}'])
def test_a_damaged_run_file_is_named(tmp_path, data):
    stores.imported(tmp_path / "store")
    (tmp_path / "store" / "runs" / "odd.json").write_bytes(data)
    damage = []
    Store(tmp_path / "store").runs(damage)
    assert [item.text.startswith("runs/odd.json: not a run file (") for item in damage] == [True]


def test_a_parquet_file_that_ends_its_reader_is_named(tmp_path, monkeypatch):
    stores.frame().write_parquet(tmp_path / "in.parquet")
    monkeypatch.setattr(
        parquet, "_REHEARSAL", "import os, sys; print('no memory', file=sys.stderr, flush=True); os.abort()"
    )
    with pytest.raises(OptarenaError, match=r"in.parquet: not a Parquet file, or damaged \(no memory\)"):
        import_files("parquet", [tmp_path / "in.parquet"], tmp_path / "store")
    assert not (tmp_path / "store").exists()


# ---- limits ---------------------------------------------------------------------------------------------------------


def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_BYTES", 5 << 20)
    (tmp_path / "in.csv.gz").write_bytes(gzip.compress(HEAD.encode() + b"a" * (6 << 20)))
    with pytest.raises(OptarenaError, match=r"in.csv.gz: unpacks to more than"):
        import_files("csv", [tmp_path / "in.csv.gz"], tmp_path / "store")


def test_tables_with_too_many_cells_or_columns_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_CELLS", 30)
    (tmp_path / "in.csv").write_text(HEAD + "p,o,1\n" * 10)
    frame = pl.DataFrame({"problem": ["p"] * 11, "optimizer": ["o"] * 11, "value": [1.0] * 11})
    frame.write_parquet(tmp_path / "in.parquet")
    for format in ("csv", "parquet"):
        with pytest.raises(OptarenaError, match="more than 30 cells; import it in parts"):
            import_files(format, [tmp_path / f"in.{format}"], tmp_path / "store")
    wide = ",".join(f"x.{i}" for i in range(limits.MAX_COLUMNS))
    monkeypatch.setattr(limits, "MAX_CELLS", 10**9)
    with pytest.raises(OptarenaError, match="20,003 columns, at most 20,000 are allowed"):
        csv.parse(f"problem,optimizer,value,{wide}\n".encode(), "in")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (HEAD + "p" * 10_000_000 + ",o,1\n", "a text of 10,000,000 bytes"),
        (HEAD + "p" * 2_000 + ",o,1\n", "has 2,000 characters; a name has at most 1,000"),
        (HEAD.replace("value", "value," + "n" * 10_000_000) + "p,o,1,2\n", "a name of 10,000,000 characters"),
    ],
)
def test_long_names_are_refused_in_a_short_sentence(tmp_path, text, says):
    (tmp_path / "in.csv").write_text(text)
    with pytest.raises(OptarenaError, match=says) as told:
        import_files("csv", [tmp_path / "in.csv"], tmp_path / "store")
    assert len(str(told.value)) <= LONGEST_LINE


def test_a_csv_file_reads_the_same_whatever_the_pieces(monkeypatch):
    text = 'problem,optimizer,value,"a ""b"""\np,"o,\n\nq",1,é\n\np,o,2,"x\n"\n'.encode()
    whole = csv.parse(text, "in")
    for size in (1, 2, 3, 7):
        monkeypatch.setattr(csv, "PIECE", size)
        table = csv.parse(text, "in")
        assert table.frame.equals(whole.frame)
        assert table.lines.tolist() == whole.lines.tolist() == [2, 6]


def ioh(tmp_path: Path, change) -> list[str]:
    """Import ioh's sample with something changed in one of its JSON files; what was said."""
    folder = tmp_path / "ioh"
    shutil.copytree(SAMPLES / "ioh", folder)
    file = folder / "IOHprofiler_f1_Sphere.json"
    data = json.loads(file.read_text())
    change(data["scenarios"][0])
    file.write_text(json.dumps(data))
    (imported,) = import_files("iohprofiler", [folder], tmp_path / "store")
    return imported.notices


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda scenario: scenario.update(dimension=2**64), "impossible dimension 18446744073709551616;"),
        (lambda scenario: scenario["runs"][0].update(instance=10**400), "instance a huge number"),
        (lambda scenario: scenario["runs"][0].update(evals=-1), "or -1 evaluations; left out"),
    ],
)
def test_numbers_of_iohprofiler_that_cannot_be_are_named_and_left_out(tmp_path, change, says):
    assert any(says in text for text in ioh(tmp_path, change))


def test_a_claim_of_two_thousand_million_evaluations_costs_no_memory(tmp_path):
    ioh(tmp_path, lambda scenario: scenario["runs"][0].update(evals=2_000_000_000))
    assert oa.open(tmp_path / "store").studies["evaluations"].max() == 2_000_000_000
    assert main(["score", str(tmp_path / "store")]) in (0, 2)


# ---- writing --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("code", "advice"), [(errno.ENOSPC, "make room"), (errno.EROFS, "make it writable")])
def test_a_failed_write_of_a_run_file_says_what_is_safe_and_names_no_temporary_file(
    tmp_path, monkeypatch, code, advice
):
    def fails(path: Path, data: bytes) -> None:
        raise WorkError(f"cannot write to {path}") from OSError(code, os.strerror(code))

    experiment = oa.Experiment(["RandomSearch"], "functions/sphere/d2", budget=3)
    plan, place = experiment.plan(), Store(tmp_path / "store")
    place.create()
    run = place.begin_run(plan, [study.id for study in plan.studies])
    monkeypatch.setattr(store_module, "write_atomically", fails)
    with pytest.raises(WorkError) as told:
        place.end_run(run, "done")
    text = f"{os.strerror(code)}. What was evaluated before is safe; {advice} and run the same command again"
    assert str(told.value) == f"cannot write to {tmp_path / 'store' / 'runs'}: {text}"


def test_a_run_whose_end_could_not_be_written_is_not_in_the_way_of_the_next(tmp_path, monkeypatch):
    experiment = oa.Experiment(["RandomSearch"], "functions/sphere/d2", budget=3)
    plan, place = experiment.plan(), Store(tmp_path / "store")
    todo = [study.id for study in plan.studies]
    place.create()
    run = place.begin_run(plan, todo)
    with pytest.raises(OptarenaError, match="is being run by process"):
        place.begin_run(plan, todo)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda _: (_ for _ in ()).throw(OSError(errno.ENOSPC, "full")))
        place.end_run(run, "failed")  # the error that ended it is the one to show
        with pytest.raises(WorkError, match="is safe; make room"):
            place.end_run(run, "done")
    assert place.begin_run(plan, todo).id != run.id
