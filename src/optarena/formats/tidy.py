"""The tidy table, one row per evaluation or event: what its columns mean, and every mistake in one, named by its place.

Reading files lives in `csv` and `parquet`; what is checked here goes to a store in `into_store`. Any format that can
be put into this table can be imported. Everything is a Polars expression over all rows at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import msgspec
import polars as pl

from optarena.errors import OptarenaError, nearest
from optarena.formats.frames import plain_frame
from optarena.formats.parameters import find_parameters
from optarena.formats.statuses import OF_ROWS, OF_RUNS, unknown
from optarena.traces import Ints

REPETITIONS = ("seed", "rep", "repeat", "repetition", "repetitions", "trials", "run_id")
"""What others call a trial: left as an attribute it would put several studies into one."""
REQUIRED = ("problem", "optimizer")
FACTS = ("suite", "function")  # texts, one a study
FRONT = "front"  # a list of points as JSON, one per problem
WHOLE = {"dimension": 1, "instance": None, "budget": 0, "evaluations": 0, "batch_size": 1}  # name -> the least allowed
LAST = ("budget", "budget_seconds", "budget_target", "evaluations")  # the last row says
ENDINGS = ("ended", "reason", "record", "root")
ROWWISE = ("seconds", "decisions", "bound", "batch", "suggestion")  # numbers of a row, beside effort.<name>
KNOWN_VALUES = {"f_opt": "optimum", "best_known": "best_known", "ideal": "ideal", "nadir": "nadir"}
PREFIXES = ("f", "effort", "metric", "violation", "x", "sense", *KNOWN_VALUES)
NAMES = (
    *REQUIRED,
    *("value", "trial", "evaluation", "sense", "status", "message", "violation", "study"),
    *(*FACTS, FRONT, *WHOLE, *LAST, *ENDINGS, *ROWWISE, *KNOWN_VALUES),
)
SHOWN = 20
OTHER = "@"
"""Stands before the name of every other column while the table is checked, so that no name of ours can be theirs."""
FAILED = tuple(dict.fromkeys(status for status in OF_ROWS.values() if status != "ok"))
BAYESMARK = ("objective", "function", "optimizer", "study_id", "iter", "suggestion", "value")
BAYESMARK_ADVICE = (
    "these are the columns of Bayesmark's long table: rename function to problem, study_id to trial and iter to batch,"
    " take the rows whose objective is _visible_to_opt as 'value' and every other objective as a column 'metric.<name>'"
)


@dataclass
class Table:
    """A table as it was read. `lines`: the line of each row; `typed`: whether its columns have types."""

    name: str
    frame: pl.DataFrame
    lines: Ints | None = None
    typed: bool = True
    unit: str = "row"
    nan_is_empty: bool = False
    """Whether an empty value may stand for NaN, as it does in pandas."""
    notices: list[str] = field(default_factory=list)
    """What was assumed when it was read."""

    def where(self, row: int) -> str:
        return f"{self.name} {self.place(row)}"

    def place(self, row: int) -> str:
        return f"{self.unit} {row + 1 if self.lines is None else int(self.lines[row])}"


@dataclass
class Mistakes:
    """Mistakes found so far, each a sentence with its place."""

    table: Table
    found: list[tuple[int, str]] = field(default_factory=list)
    count: int = 0

    def cells(self, column: str, rows: pl.Series, say: Callable[[str, int], str]) -> None:
        """The cells of a column in these rows are wrong; `say` gets the cell as it was written, and its row."""
        self.count += len(rows)
        for row in rows[:SHOWN]:
            cell = self.table.frame[column][int(row)]
            shown = repr("" if cell is None else str(cell))
            shown = shown if len(shown) <= 60 else shown[:57] + "…'"
            self.found.append((int(row), f"{self.table.where(int(row))}, column {column!r}: {say(shown, int(row))}"))

    def whole(self, text: str) -> None:
        """Something is wrong with the table itself."""
        self.count += 1
        self.found.append((-1, f"{self.table.name}: {text}"))

    def raise_any(self) -> None:
        if self.count:
            texts = [text for _, text in sorted(self.found, key=lambda item: item[0])][:SHOWN]
            if self.count > len(texts):
                texts.append(more_mistakes(self.count - len(texts)))
            if self.count > 1:
                texts.append("nothing was imported")
            raise OptarenaError("\n".join(texts))


def more_mistakes(n: int) -> str:
    return f"… and {n:,} more mistake{'s' * (n > 1)}"


@dataclass
class Tidy:
    """A table without mistakes: its rows sorted by study (`_study`, `_event`, evaluation, …), and its studies."""

    table: Table
    rows: pl.DataFrame
    studies: pl.DataFrame
    objectives: list[str]
    metrics: list[str]
    violations: list[str]
    extras: list[str]
    notes: list[str]
    attributes: list[str]
    parameters: dict[str, list[tuple[str, str, str]]]
    """Problem -> (name, column, kind) of its parameters."""


def checked(table: Table) -> Tidy:
    """The table in order, or an OptarenaError that names up to twenty mistakes."""
    return _Check(table).run()


class _Check:
    def __init__(self, table: Table) -> None:
        self.table = table
        self.mistakes = Mistakes(table)
        self.raw = table.frame
        self.columns: list[str] = self.raw.columns

    def run(self) -> Tidy:
        self.raw = plain_frame(self.table)
        self._names()
        self.mistakes.raise_any()
        rows = self._typed()
        self.mistakes.raise_any()
        rows = self._studied(rows)
        rows = self._events(rows)
        rows = self._ordered(rows)
        studies = self._facts(rows)
        self._senses(rows)
        self._fronts(rows)
        self.mistakes.raise_any()
        notes, attributes = self._others(rows)
        parameters = find_parameters(rows, self.inputs, self.table, self.mistakes)
        self.mistakes.raise_any()
        return Tidy(
            self.table,
            rows,
            studies,
            self.objectives,
            self.metrics,
            self.violations,
            self.extras,
            notes,
            attributes,
            parameters,
        )

    # ---- columns -----------------------------------------------------------------------------------------------------

    def _names(self) -> None:
        """Which columns there are, and what each is for."""
        if set(BAYESMARK) <= set(self.columns) and "problem" not in self.columns:
            self.mistakes.whole(BAYESMARK_ADVICE)
            self.mistakes.raise_any()
        for name in REQUIRED:
            if name not in self.columns:
                self._lacking(f"no column {name!r}", name)
        kind: dict[str, list[str]] = {prefix: [] for prefix in PREFIXES}
        self.others: list[str] = []
        for name in self.columns:
            head, dot, rest = name.partition(".")
            if dot and head in PREFIXES:
                if not rest:
                    self.mistakes.whole(f"column {name!r} needs a name after the dot")
                kind[head].append(name)
            elif name not in NAMES:
                meant = name.strip().lower().replace(" ", "_")
                right = "trial" if meant in REPETITIONS else meant
                if right in NAMES and right not in self.columns and right not in (*REQUIRED, "value"):
                    self.mistakes.whole(f"column {name!r}: call it {right!r}, or give it a less similar name")
                else:
                    self.others.append(name)
        self.objectives = [*(["value"] if "value" in self.columns else []), *kind["f"]]
        if not self.objectives:
            self._lacking("no column 'value' (nor 'f.1', 'f.2', … for several objectives)", "value")
        for name in kind["effort"]:
            if name.partition(".")[2] in ("evaluation", "evaluations", "batch", "batches", "seconds", "decisions"):
                self.mistakes.whole(
                    f"column {name!r} has a name of its own: 'evaluation', 'batch', 'seconds', 'decisions'"
                )
        self.metrics, self.inputs = kind["metric"], kind["x"]
        self.violations = [name for name in self.columns if name == "violation"] + kind["violation"]
        self.extras = [name for name in ROWWISE if name in self.columns] + kind["effort"]
        self.efforts = [name for name in ("seconds", "decisions") if name in self.columns] + kind["effort"]
        self.senses = [name for name in self.columns if name == "sense"] + kind["sense"]
        self.known = [n for head in KNOWN_VALUES for n in [*([head] if head in self.columns else []), *kind[head]]]
        if not self.raw.height and not self.mistakes.count:
            self.mistakes.whole("it has a header but no rows")

    def _lacking(self, text: str, name: str) -> None:
        hint = nearest(name, [column for column in self.columns if column not in NAMES]).replace(
            "Did you mean", "Is it"
        )
        self.mistakes.whole(f"{text}.{hint} The columns are {', '.join(map(repr, self.columns))[:300]}")

    def _typed(self) -> pl.DataFrame:
        """Every known column in its type; the others stay texts."""
        out: dict[str, pl.Series] = {}
        for name in REQUIRED:
            out[name] = self._text(name)
            self._bad(name, out[name].is_null(), lambda _, name=name: f"is empty; every row names its {name}")  # type: ignore[misc]
        for name in ("status", "message", *FACTS, FRONT, *ENDINGS, "study", *self.senses):
            if name in self.columns:
                out[name] = self._text(name, strip=name not in ("message", "reason"))
        for name in self.objectives:
            out[name] = self._number(name, "use nan or leave it empty with a status")
        for name in [*self.metrics, *self.violations, *self.extras, *self.known]:
            out[name] = self._number(name)
        for name in ("budget_seconds", "budget_target"):
            if name in self.columns:
                out[name] = self._number(name)
        for name in [*self.efforts, *(["budget_seconds"] if "budget_seconds" in self.columns else [])]:
            bad = (out[name] < 0) | out[name].is_infinite() | out[name].is_nan()
            self._bad(name, bad, lambda cell: f"{cell} is not an effort: it must be finite and at least 0, or empty")
        for name in [n for n in ("bound", *self.violations) if n in out]:
            self._bad(
                name, out[name].is_nan(), lambda cell: f"{cell} is not a number (leave it empty if there is none)"
            )
        for name, least in {"trial": 0, "evaluation": 1, **WHOLE, "batch": 0, "suggestion": 0}.items():
            if name in self.columns:
                out[name] = self._number(name, whole=True, least=least)
        for name in self.known:
            bad = out[name].is_infinite() | out[name].is_nan()
            self._bad(name, bad, lambda cell: f"{cell} is not finite (leave it empty if it is not known)")
        for name in self.senses:
            out[name] = out[name].str.to_lowercase()
            bad = ~out[name].is_in(["min", "max"])
            self._bad(name, bad, lambda cell: f"{cell} is not a sense: give min or max")
        if "record" in out:
            bad = ~out["record"].is_in(["all", "improvements"])
            self._bad("record", bad, lambda cell: f"{cell} is neither 'all' nor 'improvements'")
        for name in self.inputs:
            out[name] = self.raw[name]
        for name in self.others:
            out[OTHER + name] = self._text(name, strip=False)
        self.others = [OTHER + name for name in self.others]
        frame = pl.DataFrame(out)
        if "trial" not in out:
            frame = frame.with_columns(trial=pl.lit(0.0))
        return frame.with_columns(pl.col("trial").fill_null(0.0)).with_row_index("_row")

    def _bad(self, column: str, mask: pl.Series, say: Callable[[str], str]) -> None:
        self.mistakes.cells(column, mask.fill_null(False).arg_true(), lambda cell, _: say(cell))

    def _text(self, name: str, *, strip: bool = True) -> pl.Series:
        given = self.raw[name]
        text = given if given.dtype == pl.String else given.cast(pl.String, strict=False)
        text = text.str.strip_chars() if strip else text
        return text.set(text == "", None) if len(text) else text

    def _number(self, name: str, advice: str = "", *, whole: bool = False, least: int | None = None) -> pl.Series:
        given = self.raw[name]
        advice = advice or "leave it empty if there is none"
        if given.dtype == pl.String:
            text = given.str.strip_chars()
            out = text.cast(pl.Float64, strict=False)
            bad = out.is_null() & (text != "")
            comma = bad & text.str.contains(r"^[+-]?\d+,\d+([eE][+-]?\d+)?$")
            self._bad(name, comma, lambda cell: f"{cell} has a decimal comma; write a point: {cell.replace(',', '.')}")
            bad &= ~comma
        elif given.dtype.is_numeric() or given.dtype == pl.Null:
            out = given.cast(pl.Float64)
            bad = pl.Series([False]).new_from_index(0, len(out))
        else:
            out = pl.Series([None], dtype=pl.Float64).new_from_index(0, len(given))
            bad = given.is_not_null()
        self._bad(name, bad, lambda cell: f"{cell} is not a number ({advice})")
        if whole:
            bad = (out != out.floor()) | (out.abs() > 2**53) | out.is_nan()
            self._bad(name, bad, lambda cell: f"{cell} is not a whole number")
            if least is not None:
                self._bad(name, (out < least) & ~bad, lambda cell: f"{cell} is below {least}")
        return out.alias(name)

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _studied(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Give every row the number of its study, in the order in which studies first appear."""
        keys = ["problem", "optimizer", "trial", *(["instance"] if "instance" in rows.columns else [])]
        if "study" in rows.columns and _are_ids(rows["study"]):
            each = rows.group_by("study").agg(pl.struct(keys).n_unique().alias("n")).filter(pl.col("n") > 1)
            if each.height:
                bad = rows.filter(pl.col("study").is_in(each["study"].implode()))["_row"]
                self.mistakes.cells("study", bad[:1], lambda cell, _: f"{cell} is the id of two different studies")
            keys.append("study")
        elif "study" in rows.columns:
            name = "study_name"
            while OTHER + name in self.others:
                name += "_"
            rows = rows.rename({"study": OTHER + name})
            self.others.append(OTHER + name)
        numbered = rows.select(keys).unique(maintain_order=True).with_row_index("_study")
        self.keys = keys
        return rows.join(numbered, on=keys, how="left", nulls_equal=True, maintain_order="left")

    def _events(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Tell evaluations from rows that only say how a run ended, and give each evaluation its status."""
        word = plain_words(pl.col("status")).fill_null("") if "status" in rows.columns else pl.lit("")
        given = pl.col("evaluation").is_not_null() if "evaluation" in rows.columns else pl.lit(False)
        placed = [pl.col(name).is_not_null() for name in ("batch", "suggestion") if name in rows.columns]
        some = pl.any_horizontal(pl.col(self.objectives).is_not_null())
        used = [pl.col(name).is_not_null().any().over("problem") for name in self.objectives]
        rows = rows.with_columns(
            _status=word,
            _word=word.replace_strict(OF_ROWS, default="", return_dtype=pl.String),
            _value=some,
            _numbered=given.any().over("_study"),
            _placed=pl.any_horizontal(placed) if placed else pl.lit(False),
            _length=pl.len().over("_study"),
            _partial=some
            & pl.any_horizontal([u & pl.col(n).is_null() for u, n in zip(used, self.objectives, strict=True)]),
            _nan=pl.any_horizontal(pl.col(self.objectives).is_nan().fill_null(False)),
        )
        if self.table.nan_is_empty:
            empty = ~pl.col("_value") & (pl.col("_status") == "")
            rows = rows.with_columns(
                _value=pl.col("_value") | empty,
                _nan=pl.col("_nan") | empty | (pl.col("_partial") & (pl.col("_status") == "")),
                _partial=pl.col("_partial") & (pl.col("_status") != ""),
            )
        last = pl.int_range(pl.len()).over("_study") == pl.col("_length") - 1
        # without numbers, a last row without a value is about the run, unless its word is only used for evaluations
        ending = last & ~pl.col("_placed") & ((pl.col("_length") == 1) | ~pl.col("_status").is_in(["error", "nan"]))
        unnumbered = pl.col("_value") | (pl.col("_word").is_in(FAILED) & ~ending)
        rows = rows.with_columns(
            _event=pl.when("_numbered").then(given | pl.col("_value")).otherwise(unnumbered), _ends=last
        )
        self._words(rows)
        self._empty(rows)
        failed = (
            pl.when(~pl.col("_event")).then(pl.lit("ok"))
            .when(pl.col("_status").is_in(["error", "nan"]) | ~pl.col("_value")).then(pl.col("_word"))
            .when(pl.col("_nan") | pl.col("_partial")).then(pl.lit("nan"))
            .otherwise(pl.lit("ok"))
        )  # fmt: skip
        return rows.with_columns(_failed=failed)

    def _words(self, rows: pl.DataFrame) -> None:
        """Every status is a word that is known, where it can be said."""
        if "ended" in rows.columns:
            bad = rows.filter(~plain_words(pl.col("ended")).is_in(list(OF_RUNS)))["_row"]
            self.mistakes.cells("ended", bad, lambda cell, _: f"{cell} is not a known end of a run (docs/csv.md)")
        if "status" not in rows.columns:
            return
        event, word, known = pl.col("_event"), pl.col("_status"), pl.col("_status").is_in([*OF_ROWS, *OF_RUNS])
        words = dict(rows.filter(~known).select("_row", "_status").head(SHOWN).iter_rows())
        self.mistakes.cells("status", rows.filter(~known)["_row"], lambda cell, row: unknown(cell, words[row]))
        no_reason = event & ~pl.col("_value") & ~pl.col("_word").is_in(FAILED)
        early = ~event & ~pl.col("_ends")
        lone = event & pl.col("_value") & ~pl.col("_ends") & ~word.is_in(["error", "nan"]) & (pl.col("_word") != "ok")
        for wrong, say in (
            (no_reason, "does not say why an evaluation has no value (error, nan, timed out, crashed)"),
            (early, "with an empty value says how a run ended, but rows of its run follow"),
            (lone, "appears beside a value, but rows of its run follow; an evaluation that failed has no value"),
        ):
            bad = rows.filter(known & (word != "") & wrong)["_row"]
            self.mistakes.cells("status", bad, lambda cell, _, say=say: f"{cell} {say}")  # type: ignore[misc]

    def _empty(self, rows: pl.DataFrame) -> None:
        """A cell that is empty and must not be."""
        if "evaluation" in rows.columns:
            bad = rows.filter(pl.col("_numbered") & pl.col("_value") & pl.col("evaluation").is_null())["_row"]
            self.mistakes.cells("evaluation", bad, lambda *_: "is empty, and others of its study have one")
        say = "is empty and there is no status (give a number, nan, or a status that says why)"
        bare = rows.filter(pl.col("_status") == "")
        self.mistakes.cells(self.objectives[0], bare.filter(~pl.col("_value"))["_row"], lambda *_: say)
        used = [name for name in self.objectives if rows[name].null_count() < rows.height]
        for name in used:
            used_here = pl.col(name).is_not_null().any().over("problem")
            here = rows.filter(used_here).filter(pl.col(name).is_null(), "_partial", pl.col("_status") == "")
            self.mistakes.cells(name, here["_row"], lambda *_: say)

    def _ordered(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Sort by study; number evaluations that have no number, and check the numbers of those that have."""
        order = ["_study", pl.col("_event").not_()]
        for name in ("batch", "suggestion"):
            if name in rows.columns:
                order.append(pl.when("_numbered").then(None).otherwise(pl.col(name)))
        rows = rows.sort([*order, "_row"], nulls_last=False)
        counted = pl.col("_event").cast(pl.Int64).cum_sum().over("_study")
        if "evaluation" in rows.columns:
            numbered = pl.when("_numbered").then(pl.col("evaluation").cast(pl.Int64)).otherwise(counted)
        else:
            numbered = counted
        rows = rows.with_columns(evaluation=pl.when("_event").then(numbered))
        before = pl.col("evaluation").shift(1).over("_study")
        bad = rows.filter(pl.col("_event") & (pl.col("evaluation") <= before)).with_columns(_before=before)
        if bad.height:
            self._not_increasing(rows)
        self._efforts_grow(rows)
        if "batch" in rows.columns and "suggestion" in rows.columns:
            twice = rows.filter(pl.col("batch").is_not_null() & pl.col("suggestion").is_not_null())
            twice = twice.filter(pl.struct("_study", "batch", "suggestion").is_first_distinct().not_())
            if twice.height:
                self.mistakes.cells("suggestion", twice["_row"], lambda cell, _: f"{cell} is a duplicate in its batch")
        return rows

    def _efforts_grow(self, rows: pl.DataFrame) -> None:
        """What a study has spent never becomes less."""
        for name in self.efforts:
            before = pl.col(name).cum_max().forward_fill().shift(1).over("_study")
            bad = rows.select("_row", name, _before=before).filter(pl.col(name) < pl.col("_before")).sort("_row")
            was = dict(bad.select("_row", "_before").head(SHOWN).iter_rows())
            self.mistakes.cells(
                name,
                bad["_row"],
                lambda cell, row, was=was: f"{cell} is less than {was[row]:g}, which its study had spent before",  # type: ignore[misc]
            )

    def _not_increasing(self, rows: pl.DataFrame) -> None:
        frame = rows.filter("_event").with_columns(
            _before=pl.col("evaluation").shift(1).over("_study"),
            _first=pl.col("_row").first().over("_study", "evaluation"),
        )
        bad = frame.filter(pl.col("evaluation") <= pl.col("_before")).sort("_row")
        self.mistakes.count += bad.height
        for row in bad.head(SHOWN).iter_rows(named=True):
            study = f"problem {row['problem']!r}, optimizer {row['optimizer']!r}, trial {int(row['trial'])}"
            if row["_first"] != row["_row"]:
                first = self.table.place(row["_first"])
                text = f"{row['evaluation']} is a duplicate for {study} (first in {first}); is it another trial?"
            else:
                text = f"{row['evaluation']} comes after {row['_before']} for {study}; evaluations must increase"
            self.mistakes.found.append((row["_row"], f"{self.table.where(row['_row'])}, column 'evaluation': {text}"))

    # ---- studies -----------------------------------------------------------------------------------------------------

    def _facts(self, rows: pl.DataFrame) -> pl.DataFrame:
        """One row per study: what its rows say of it, which must be the same in all of them."""
        same = [n for n in (*FACTS, "dimension", "batch_size", *ENDINGS, *self.known) if n in rows.columns]
        for name in same:
            self._one(rows, name, "_study", "study")
        last = [name for name in LAST if name in rows.columns]
        if FRONT in rows.columns:  # one row may tell it for all studies of a problem
            rows = rows.with_columns(pl.col(FRONT).drop_nulls().first().over(self._shared))
            same.append(FRONT)
        events = pl.col("evaluation").filter("_event")
        return rows.group_by("_study", maintain_order=True).agg(
            *[pl.col(name).first() for name in self.keys],
            *[pl.col(name).drop_nulls().first() for name in same],
            *[pl.col(name).drop_nulls().last() for name in last],
            _events=pl.col("_event").sum(),
            _made=events.max().fill_null(0),
            _contiguous=(events == pl.int_range(1, pl.len() + 1).head(pl.col("_event").sum())).all(),
            _last=pl.col("_row").max(),
            _end_status=pl.col("_status").last(),
            _end_event=pl.col("_event").last(),
            _end_failed=pl.col("_failed").last(),
        )

    def _one(self, rows: pl.DataFrame, name: str, over: str, what: str) -> None:
        """Each study, or problem, has one value in this column; any other is named beside the first."""
        given = rows.select("_row", over, name).drop_nulls()
        if given.select((pl.col(name) == pl.col(name).first().over(over)).all()).item():
            return
        given = given.sort("_row").with_columns(
            _first=pl.col(name).first().over(over), _from=pl.col("_row").first().over(over)
        )
        bad = given.filter(pl.col(name) != pl.col("_first"))
        firsts = {
            row: f"{first!r} in {self.table.place(place)}"
            for row, first, place in bad.select("_row", "_first", "_from").head(SHOWN).iter_rows()
        }
        self.mistakes.cells(
            name, bad["_row"], lambda cell, row: f"{cell} differs from {firsts[row]} of the same {what}"
        )

    def _senses(self, rows: pl.DataFrame) -> None:
        for name in self.senses:
            self._one(rows, name, "problem", "problem")
        if "value" in self.objectives and len(self.objectives) > 1:
            both = pl.col("value").is_not_null().any() & pl.any_horizontal(
                pl.col(self.objectives[1:]).is_not_null().any()
            )
            bad = rows.group_by("problem", maintain_order=True).agg(both=both, row=pl.col("_row").min()).filter("both")
            if bad.height:
                say = "its problem has both 'value' and 'f.' columns: use one of them"
                self.mistakes.cells("value", bad["row"], lambda *_: say)

    @property
    def _shared(self) -> list[str]:
        """What studies share that are of one problem, in one instance."""
        return [name for name in ("problem", "instance") if name in self.keys]

    def _fronts(self, rows: pl.DataFrame) -> None:
        """A front is a list of points; each problem, in each instance, has one."""
        if FRONT not in rows.columns:
            return
        given = rows.filter(pl.col(FRONT).is_not_null()).sort("_row")
        bad = given.filter(pl.col(FRONT) != pl.col(FRONT).first().over(self._shared))
        self.mistakes.cells(FRONT, bad["_row"], lambda cell, _: f"{cell} differs from another one of the same problem")
        for row, cell in given.unique(FRONT, keep="first", maintain_order=True).select("_row", FRONT).iter_rows():
            if not isinstance(read_front(cell), list):
                say = "is not a list of points as JSON, such as [[0.0, 1.0], [1.0, 0.0]]"
                self.mistakes.cells(FRONT, pl.Series([row]), lambda cell, _, say=say: f"{cell} {say}")  # type: ignore[misc]

    def _others(self, rows: pl.DataFrame) -> tuple[list[str], list[str]]:
        """The other columns: those that change within a study are kept with its rows, the rest with the study."""
        if not self.others:
            return [], []
        changes = rows.select(
            [(pl.col(name).ne_missing(pl.col(name).first().over("_study"))).any().alias(name) for name in self.others]
        ).row(0, named=True)
        notes = [name for name, yes in changes.items() if yes]
        return notes, [name for name in self.others if name not in notes]


_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def _are_ids(column: pl.Series) -> bool:
    return not column.null_count() and bool(column.str.contains(f"^{_ID.pattern}$").all())


def read_front(text: str) -> Any:
    """The points of a front that a cell has; None if it is not JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return None


def plain_words(column: pl.Expr) -> pl.Expr:
    """Statuses as they are compared: 'TIMED_OUT' is 'timed out'."""
    return column.str.to_lowercase().str.replace_all("[_ -]+", " ")


def plain_word(text: str) -> str:
    return re.sub("[_ -]+", " ", text.lower())


def as_named(column: str) -> str:
    """An other column's own name."""
    return column.removeprefix(OTHER)
