"""What a study may spend: evaluations as a number or an expression in the dimension, such as `100*D`."""

from __future__ import annotations

import ast
from typing import Any

import msgspec

from optarena.errors import OptarenaError
from optarena.experiment.fields import shortened


class Budget(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a study may spend; it ends at whichever comes first."""

    evaluations: int | None = None
    seconds: float | None = None
    target: float | None = None


_LARGEST = 10**12


def evaluations(budget: int | str, dimension: int) -> int:
    """A budget in evaluations: a number, or an expression of numbers, D and + - * / // ** ( )."""
    try:
        value = _compute(parse(budget), dimension)
    except (ValueError, ZeroDivisionError, OverflowError):
        raise OptarenaError(f"{shortened(budget)} has no value for D = {dimension}", field="budget") from None
    if not 1 <= value <= _LARGEST:
        raise OptarenaError(
            f"{shortened(budget)} gives {shortened(value)} evaluations for D = {dimension};"
            f" it must be from 1 to {_LARGEST:g}",
            field="budget",
        )
    return int(value)


def parse(budget: Any) -> ast.expr:
    """The syntax tree of a budget, every node of it one that a budget may have: nothing is executed."""
    if isinstance(budget, bool) or not isinstance(budget, (int, str)):
        raise OptarenaError(
            f"expected a whole number or an expression such as '100*D', got {shortened(budget)}", field="budget"
        )
    if isinstance(budget, int):
        return ast.Constant(budget)
    allowed = (ast.BinOp, ast.UnaryOp, ast.USub, ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow, ast.Load)
    try:
        if len(budget) > 200:
            raise ValueError
        tree = ast.parse(budget.strip(), mode="eval").body
        for node in ast.walk(tree):
            number = isinstance(node, ast.Constant) and type(node.value) in (int, float)
            dimension = isinstance(node, ast.Name) and node.id == "D"
            if not (number or dimension or isinstance(node, allowed)):
                raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise OptarenaError(
            f"{shortened(budget)} is not an expression of numbers, D and + - * / // ** ( ), such as '100*D'",
            field="budget",
        ) from None
    return tree


def _compute(node: ast.expr, dimension: int) -> float:
    if isinstance(node, ast.Constant):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.Name):
        return dimension
    if isinstance(node, ast.UnaryOp):
        return -_compute(node.operand, dimension)
    if isinstance(node, ast.BinOp):
        left, right = _compute(node.left, dimension), _compute(node.right, dimension)
        match node.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
            case ast.FloorDiv():
                return left // right
            case ast.Pow() if abs(left) <= 1e6 and abs(right) <= 10:
                power = left**right
                if isinstance(power, complex):
                    raise ValueError
                return power
    raise ValueError
