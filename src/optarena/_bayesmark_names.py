"""What Bayesmark calls problems and objectives: for views that write its names, and for `bayesmark/`."""

from __future__ import annotations

import re

VISIBLE = "_visible_to_opt"
"""The objective that the optimizer sees."""


def bayesmark_name(problem: str) -> str:
    """`sklearn/SVM_iris_nll` is SVM_iris_nll there, `clf-mine.csv:SVM_nll` is SVM_clf-mine_nll; others stay."""
    own = re.fullmatch(r"((?:clf|reg)-[^_/]+)\.csv:([^_]+)_([^_]+)", problem)
    return f"{own[2]}_{own[1]}_{own[3]}" if own else problem.removeprefix("sklearn/")
