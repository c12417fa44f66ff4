"""Stores that several tests share: small ones that run nothing, with names that would like to be more than text."""

from __future__ import annotations

import numpy as np
import polars as pl

import optarena as oa

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror=alert(2)>'
CLOSING = "</script><script>window.bad=3</script><!--"
FORMULA = '=HYPERLINK("http://example.org")'
TURNED = "abc\u202edef|\x07"  # what follows would be read from right to left
NAMES = ["RandomSearch", SCRIPT, IMAGE, "{{x}} ${y} \\input{/etc/passwd} %", FORMULA, "__proto__", "@measure", TURNED]
PROBLEMS = ["__proto__", f"{CLOSING}/d2", "a'b\"c`/d5", "datum.x + 1/d5"]


def frame(
    optimizers=("RandomSearch", "Good", "Slow"),
    problems=("a/d2", "b/d2", "c/d5"),
    trials=3,
    evaluations=20,
    message="it broke",
) -> pl.DataFrame:
    """Values that fall at different speeds; every seventh evaluation of the second optimizer fails."""
    rng = np.random.default_rng(5)
    rows = []
    for problem in problems:
        dimension = int(problem.rpartition("/d")[2]) if "/d" in problem else 2
        for o, optimizer in enumerate(optimizers):
            for trial in range(trials):
                for k in range(1, evaluations + 1):
                    failed = o == 1 and k % 7 == 0
                    rows.append(
                        {
                            "problem": problem,
                            "optimizer": optimizer,
                            "trial": trial,
                            "evaluation": k,
                            "value": None if failed else float(rng.random() * 10 / (1 + o * k / 5)),
                            "status": "error" if failed else None,
                            "message": message if failed else None,
                            "seconds": k * 0.01 * (o + 1),
                            "dimension": dimension,
                            "x.a": float(rng.random()),
                            "x.<b>b": float(rng.random()),
                        }
                    )
    return pl.DataFrame(rows, infer_schema_length=None)


def imported(path, **options) -> oa.Results:
    oa.from_frame(frame(**options), path)
    return oa.open(path)


def hostile(path) -> oa.Results:
    """Optimizers, problems, parameters and messages with markup, quotes, formulas and TeX in them."""
    return imported(path, optimizers=NAMES, problems=PROBLEMS, message=f"{SCRIPT} {IMAGE}")
