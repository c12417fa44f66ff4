"""An optimizer of ours in an environment of its own: the program that speaks the protocol there (docs/protocol.md).

`optarena.optimizers.isolated` starts it. The environment has the optimizer's library and a few packages; optarena
itself is this very source, wherever it is.
"""

from __future__ import annotations

import os
import sys
from typing import Any

import msgspec
import numpy as np

from optarena._json import unstrict
from optarena.errors import Exhausted, describe
from optarena.optimizer import Optimizer, ready_optimizer
from optarena.optimizers.command import PROTOCOL
from optarena.optimizers.isolated import from_stream
from optarena.runner.kernels import PINNED, in_use
from optarena.runner.torch_kernels import pin_torch
from optarena.space import Space


class Host:
    """One study; every optimizer of ours speaks the matrix form of its space."""

    def __init__(self, name: str, request: dict[str, Any]) -> None:
        settings = unstrict(request["settings"])
        cls = ready_optimizer(name, None, settings)
        self.space = Space({line.pop("name"): line for line in request["space"]})
        if cls.capabilities.uses_budget:
            settings["budget"] = request["budget"]
        rng = from_stream(request["stream"])
        self.optimizer: Optimizer = cls(self.space, objectives=request["objectives"], rng=rng, **settings)

    def suggest(self, n: int) -> list[list[Any]]:
        return self.space.check(self.optimizer.suggest(n))[1]

    def observe(self, rows: list[list[Any]], *values: list[list[Any]]) -> None:
        """values: of the objectives, perhaps the violations."""
        told = [np.array([list(map(float, row)) for row in given]) for given in values]
        self.optimizer.observe(self.space.encode_rows(rows), *told)


def main(name: str) -> None:
    """Answer until the input ends."""
    answers = os.dup(1)  # what libraries print must not be among the answers
    os.dup2(2, 1)
    if in_use() == PINNED:
        pin_torch()
    host: Host | None = None
    try:
        for line in iter(sys.stdin.buffer.readline, b""):
            request = msgspec.json.decode(line)
            call, answer = request["call"], {"id": request["id"]}
            if call == "close":
                break
            try:
                if call == "hello":
                    answer["protocol"] = PROTOCOL
                elif call == "start":
                    host = Host(name, request)
                elif call == "suggest" and host is not None:
                    answer["points"] = host.suggest(request["n"])
                elif call == "observe" and host is not None:
                    more = [request["violations"]] if "violations" in request else []
                    host.observe(request["points"], request["values"], *more)
            except Exhausted as stop:
                answer = {"id": request["id"], "exhausted": str(stop) or "nothing more to suggest"}
            except Exception as error:
                answer = {"id": request["id"], "error": describe(error)}
            data = msgspec.json.encode(answer) + b"\n"
            while data:
                data = data[os.write(answers, data) :]
    finally:
        if host is not None:
            host.optimizer.close()
