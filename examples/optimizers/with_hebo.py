"""HEBO, which won the challenge of 2020, for optarena_shim.py in an environment of its own (hebo.toml)."""

import numpy as np
import pandas as pd
import torch
from hebo.design_space.design_space import DesignSpace
from hebo.optimizers.hebo import HEBO


class Hebo:
    def __init__(self, space, seed, initial=None):
        torch.manual_seed(seed)
        parts = [dict(_part(line), name=name) for name, line in space.items()]
        self.inner = HEBO(DesignSpace().parse(parts), rand_sample=initial or None, scramble_seed=seed)

    def suggest(self, n):
        return self.inner.suggest(n_suggestions=n).to_dict("records")

    def observe(self, points, values):
        self.inner.observe(pd.DataFrame(points), np.array(values)[:, None])  # it leaves out what is not finite


def _part(line):
    """A parameter as HEBO declares one."""
    if line["type"] == "bool":
        return {"type": "bool"}
    if "values" in line:
        return {"type": "cat", "categories": line["values"]}
    kind = {"real": "num", "int": "int"}[line["type"]]
    if line["space"] == "log":
        kind = {"num": "pow", "int": "pow_int"}[kind]
    low, high = line["range"]
    return {"type": kind, "lb": low, "ub": high, "base": 10}
