"""The programs `bayesmark-launch`, `bayesmark-exp` and so on: `optarena bayesmark` under Bayesmark's own names."""

from __future__ import annotations

import sys
from functools import partial

from optarena.cli import main


def _script(name: str) -> int:
    return main(["bayesmark", name, *sys.argv[1:]])


launch, exp, agg = partial(_script, "launch"), partial(_script, "exp"), partial(_script, "agg")
baseline, anal, init = partial(_script, "baseline"), partial(_script, "anal"), partial(_script, "init")
