"""The spaces on which optimizers are checked: reals, integers, and every kind of parameter."""

from __future__ import annotations

from optarena.space import Space

REAL = Space(
    {
        "a": {"type": "real", "space": "linear", "range": [-5.0, 5.0]},
        "b": {"type": "real", "space": "log", "range": [1e-4, 1e2]},
        "c": {"type": "real", "space": "linear", "range": [100.0, 101.0]},
    }
)
INTEGER = Space(
    {
        "a": {"type": "int", "space": "linear", "range": [-3, 7]},
        "b": {"type": "int", "space": "log", "range": [1, 1000]},
        "c": {"type": "int", "space": "linear", "range": [0, 1]},
    }
)
MIXED = Space(
    {
        "real": {"type": "real", "space": "bilog", "range": [-100.0, 100.0]},
        "rate": {"type": "real", "space": "logit", "range": [0.01, 0.99]},
        "whole": {"type": "int", "space": "log", "range": [1, 256]},
        "flag": {"type": "bool"},
        "colour": {"type": "cat", "values": ["red", "green", "blue"]},
        "size": {"type": "ordinal", "values": ["small", "middle", "large"]},
        "step": {"type": "real", "space": "log", "values": [0.1, 1.0, 10.0, 3.0]},
    }
)
SPACES = {"real": REAL, "integer": INTEGER, "mixed": MIXED}
