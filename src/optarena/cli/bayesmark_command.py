"""`optarena bayesmark`, also installed as `bayesmark-launch` and so on: Bayesmark's commands with its flags.

The work is done in `optarena.bayesmark`.
"""

from __future__ import annotations

import argparse
import re
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from optarena._widths import wrapped
from optarena.cli._bayesmark_flags import program
from optarena.cli._terminal import say, terminal_width
from optarena.errors import OptarenaError, nearest

PROGRAMS = {
    "launch": "Run models x data x metrics x optimizers x repetitions, or write them to a jobs file.",
    "exp": "Run one study: one line of a jobs file.",
    "agg": "Put the studies of a database together.",
    "baseline": "Compute from random search what scores are measured against.",
    "anal": "Score a database and print the summary.",
    "init": "Make the folders of a database.",
}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise OptarenaError(f"{self.prog.removeprefix('optarena ')}: {message} ({self.prog} --help shows its flags)")


def command(arguments: Sequence[str]) -> int:
    """Take what follows `optarena bayesmark` on the command line; the exit code."""
    if not arguments or arguments[0] in ("-h", "--help"):
        from optarena.cli._examples import EXAMPLES

        say("Usage: optarena bayesmark COMMAND [flags as Bayesmark's]\n")
        say("\n".join(f"  {name:10}{text}" for name, text in PROGRAMS.items()))
        print("\n".join(["\n  Examples:", *(f"    {text}" for text in EXAMPLES["bayesmark"])]))
        return 0
    name, *rest = arguments
    if name not in PROGRAMS:
        raise OptarenaError(
            f"bayesmark has no command {name!r}.{nearest(name, PROGRAMS)} (it has {', '.join(PROGRAMS)})"
        )
    flags = _parser(name).parse_args(rest)
    if name in ("launch", "exp"):
        from optarena.cli import _bayesmark_run as programs

        return {"launch": programs.launch, "exp": programs.exp}[name](flags, rest)
    from optarena.cli import _bayesmark_scores as scores

    {"agg": scores.agg, "baseline": scores.baseline, "anal": scores.anal, "init": scores.init}[name](flags)
    print("done")
    return 0


# ---- flags ----------------------------------------------------------------------------------------------------------


def _parser(name: str) -> _Parser:
    from optarena.cli._examples import BAYESMARK

    called = program(name)
    examples = ["examples:", *(f"  {called.removesuffix(name)}{text}" for text in BAYESMARK[name])]
    parser = _Parser(
        prog=called,
        description=wrapped(PROGRAMS[name], terminal_width(), hanging=""),
        epilog="\n".join(examples),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("-dir", "-db-root", dest="db_root", type=Path, default=Path(), help="root directory of all databases [.]")
    add("-odir", "--opt-root", dest="opt_root", type=_directory, help="directory with wrappers of optimizers [.]")
    add("-v", "--verbose", action="store_true", help="print each study's flags and log")
    add("-b", "--db", "--dbid", dest="db", type=_db, required=name != "launch", help="the database, a folder there")
    if name in ("launch", "exp"):
        many: dict[str, Any] = {"nargs": "+"} if name == "launch" else {"required": True}
        required = name == "exp"
        what = "experiment" if name == "launch" else "study"
        add("-u", "--uuid", type=_uuid, required=required, help=f"32 hexadecimal digits: the id of this {what}")
        add("-dr", "--data-root", dest="data_root", type=_directory, help="directory of clf-….csv and reg-….csv")
        add("-o", "--opt", dest="opt", metavar="OPTIMIZER", help="names of optimizers", **many)
        add("-d", "--data", dest="data", metavar="DATA", help="data sets", **many)
        add("-c", "--classifier", dest="classifier", metavar="MODEL", help="models", **many)
        add("-m", "--metric", dest="metric", metavar="METRIC", help="acc, mae, mse, nll", **many)
        add("-n", "--calls", dest="calls", type=_positive, default=100, help="batches per study [100]")
        add("-p", "--suggestions", dest="suggestions", type=_positive, default=1, help="suggestions per batch [1]")
        add("-t", "--timeout", type=_whole, default=0, help="seconds that a study may take; 0: no limit [0]")
        add("--retry", action="store_true", help="run what failed or timed out again")
    if name == "launch":
        add("-r", "--repeat", dest="repeat", type=_positive, default=20, help="repetitions [20]")
        add("-nj", "--num-jobs", dest="num_jobs", type=_whole, default=0, help="write this many jobs, run nothing [0]")
        add("-ofile", "--jobs-file", dest="jobs_file", type=Path, default=Path("jobs.txt"), help="[jobs.txt]")
        add("--workers", type=_whole, help="processes [all cores]")
    if name == "agg":
        add("-rv", "--ravel", action="store_true", help=argparse.SUPPRESS)
    return parser


def _uuid(text: str) -> str:
    digits = text.replace("-", "").lower()
    if not re.fullmatch(r"[0-9a-f]{32}", digits):
        raise argparse.ArgumentTypeError(f"{text!r} is not 32 hexadecimal digits")
    return uuid.UUID(digits).hex


def _db(text: str) -> str:
    if not re.fullmatch(r"[\w.+=@ -]+", text) or text.strip(". ") == "":
        raise argparse.ArgumentTypeError(f"{text!r} is not the name of a folder")
    return text


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number of at least 1, got {text!r}")
    return int(text)


def _whole(text: str) -> int:
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"expected a whole number, got {text!r}")
    return int(text)


def _directory(text: str) -> Path:
    path = Path(text)
    if not path.is_dir():
        raise argparse.ArgumentTypeError(f"there is no directory {text!r}")
    return path.resolve()
