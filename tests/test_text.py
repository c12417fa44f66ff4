"""Text of others, before a terminal, a paper, a spreadsheet or a program shows it."""

from __future__ import annotations

import json

import polars as pl
import pytest

import optarena as oa
from optarena._text import not_a_formula, one_line, table, visible, visible_json
from optarena.cli import main
from optarena.errors import OptarenaError, WorkError
from optarena.formats import export
from optarena.report.latex import escaped
from stores import FORMULA, TURNED, hostile, imported

HOSTILE = "a\x1b[2Jb\x9b31mc\x07d\u202ee\u2066f\x7f\u2028g\rh"
ODD = ["\x1b", "\x9b", "\x07", "\u202e", "\u2066", "\x7f", "\u2028", "\r"]


def harmless(text: str) -> bool:
    return not any(sign in text for sign in ODD)


@pytest.mark.parametrize("shown", [visible, one_line, escaped, lambda text: visible_json(json.dumps(text))])
def test_nothing_that_a_terminal_obeys_is_left(shown):
    assert harmless(shown(HOSTILE))
    assert shown("plain é 漢字 text") in ("plain é 漢字 text", json.dumps("plain é 漢字 text"))


def test_lines_of_a_name_become_one_line():
    assert one_line("a\nb\tc\r\nd") == "a b c d"


def test_errors_are_harmless_wherever_they_are_printed():
    for error in (
        OptarenaError(f"no {HOSTILE}", field="x\x1b"),
        OptarenaError("y").within(HOSTILE),
        WorkError(HOSTILE),
    ):
        assert harmless(str(error))
    assert str(OptarenaError("first\nsecond")) == "first\nsecond"  # a sentence per line
    assert len(str(OptarenaError("x" * 10_000_000))) < 100_000


def test_json_with_hidden_signs_written_out_means_the_same():
    data = {HOSTILE: ["\U000e0001", "é", "\n"]}
    text = visible_json(json.dumps(data, ensure_ascii=False))
    assert json.loads(text) == data
    assert harmless(text)
    assert "\U000e0001" not in text


def test_a_table_stays_a_table_whatever_the_names_are():
    text = table(["name\x1b[1m", "best"], [[HOSTILE, 1.0], ["x" * 5_000_000, 2.0]], right=("best",))
    assert harmless(text)
    assert len(text.splitlines()) == 3
    assert len(text) < 10_000


@pytest.mark.parametrize(
    "words",
    [
        ["status"], ["status", "--failed"], ["status", "--format", "json"], ["best"], ["best", "--format", "json"],
        *(["score", "--format", kind] for kind in ("table", "json", "csv", "latex", "html")),
        *(["compare", "--format", kind] for kind in ("text", "json", "csv", "latex")),
    ],
)  # fmt: skip
def test_no_command_prints_what_a_terminal_obeys(tmp_path, monkeypatch, capsys, words):
    monkeypatch.chdir(tmp_path)
    odd = ("RandomSearch", HOSTILE, TURNED)
    imported("s", optimizers=odd, problems=("a/d2", f"b{HOSTILE}/d2"), message=HOSTILE)
    assert main([words[0], "s", *words[1:]]) == 0
    out, err = capsys.readouterr()
    assert harmless(out)
    assert harmless(err)


# ---- spreadsheets --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@SUM(A1)", "\tx", "\rx", "＝1"])
def test_what_a_spreadsheet_would_compute_is_marked(text):
    assert not_a_formula(text) == f"'{text}"


def test_an_export_for_spreadsheets_has_no_formula_and_keeps_its_numbers(tmp_path):
    results = hostile(tmp_path / "store")
    plain = pl.read_csv(export("csv", results, tmp_path / "plain.csv"))
    safe = pl.read_csv(export("csv", results, tmp_path / "safe.csv", spreadsheet=True))
    assert FORMULA in plain["optimizer"]
    assert f"'{FORMULA}" in safe["optimizer"]
    assert "'@measure" in safe["optimizer"]
    texts = [text for name in safe.columns if safe.schema[name] == pl.String for text in safe[name].drop_nulls()]
    assert not [text for text in [*texts, *safe.columns] if text.startswith(("=", "+", "-", "@", "\t", "\r"))]
    numbers = [name for name in plain.columns if plain.schema[name].is_numeric()]
    assert plain.select(numbers).equals(safe.select(numbers))
    assert harmless((tmp_path / "safe.csv").read_text())


def test_only_csv_is_made_for_spreadsheets(tmp_path, capsys):
    imported(tmp_path / "s")
    assert main(["export", "parquet", str(tmp_path / "s"), "-O", str(tmp_path), "--spreadsheet"]) == 2
    assert "only csv" in capsys.readouterr().err
    assert main(["export", "csv", str(tmp_path / "s"), "-O", str(tmp_path), "--spreadsheet"]) == 0
    assert oa.read("csv", tmp_path / "s.csv").studies.height == 27  # of good names, it is the usual table
