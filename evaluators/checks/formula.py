"""The arithmetic of a `multi` grader's `calculate_output`, without anything else that Python could do."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Callable, Mapping

MAX_CHARS = 1_000
MAX_DEPTH = 100
_BINARY: dict[type[ast.operator], Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    # Of floats: the result has 64 bits, however large the exponent.
    ast.Pow: math.pow,
}
_UNARY: dict[type[ast.unaryop], Callable[[float], float]] = {ast.UAdd: operator.pos, ast.USub: operator.neg}
_ONE: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "exp": math.exp,
    "sqrt": math.sqrt,
    "log": math.log,
}
FUNCTIONS = ("min", "max", *_ONE)


class BadFormula(Exception):
    """The formula is invalid, or does not have a finite result for these grades; the message is a sentence fragment."""


Formula = Callable[[Mapping[str, float]], float]


def parse_formula(text: str, names: frozenset[str]) -> Formula:
    """Compile a formula over named grades to a function of them, or raise BadFormula.

    Supported are numbers, the names, + - * / ^ (also written **), parentheses, and min max abs floor ceil exp sqrt log.
    The function raises BadFormula where the result is not finite: division by zero, the root of a negative number.
    """
    if len(text) > MAX_CHARS:
        raise BadFormula(f"must be at most {MAX_CHARS} characters")
    try:
        tree = ast.parse(text.replace("^", "**").strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise BadFormula("is not a formula") from None
    _require_known(tree, names, 0)
    return lambda grades: _result(tree, grades)


def _require_known(node: ast.expr, names: frozenset[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise BadFormula(f"nests deeper than {MAX_DEPTH} levels")
    if isinstance(node, ast.BinOp) and type(node.op) in _BINARY:
        inner = [node.left, node.right]
    elif isinstance(node, ast.UnaryOp) and type(node.op) in _UNARY:
        inner = [node.operand]
    elif isinstance(node, ast.Call):
        inner = _arguments(node)
    elif isinstance(node, ast.Name):
        inner = []
        if node.id not in names:
            raise BadFormula(f"names {node.id[:60]!r}, and the graders are {', '.join(sorted(names))}")
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        inner = []
    else:
        raise BadFormula(f"may hold numbers, names of graders, + - * / ^ and {', '.join(FUNCTIONS)}")
    for child in inner:
        _require_known(child, names, depth + 1)


def _arguments(node: ast.Call) -> list[ast.expr]:
    name = node.func.id if isinstance(node.func, ast.Name) else ""
    if name not in FUNCTIONS or node.keywords:
        raise BadFormula(f"may call {', '.join(FUNCTIONS)}")
    if not node.args or (name in _ONE and len(node.args) != 1):
        raise BadFormula(f"calls {name} with {len(node.args)} arguments")
    return node.args


def _result(tree: ast.expr, grades: Mapping[str, float]) -> float:
    try:
        value = float(_evaluate(tree, grades))
    except (ArithmeticError, ValueError):
        raise BadFormula("has no result for these grades") from None
    if not math.isfinite(value):
        raise BadFormula("has no finite result for these grades")
    return value


def _evaluate(node: ast.expr, grades: Mapping[str, float]) -> float:
    if isinstance(node, ast.BinOp):
        return _BINARY[type(node.op)](_evaluate(node.left, grades), _evaluate(node.right, grades))
    if isinstance(node, ast.UnaryOp):
        return _UNARY[type(node.op)](_evaluate(node.operand, grades))
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        values = [_evaluate(argument, grades) for argument in node.args]
        if node.func.id in _ONE:
            return _ONE[node.func.id](values[0])
        return max(values) if node.func.id == "max" else min(values)
    if isinstance(node, ast.Name):
        return grades[node.id]
    assert isinstance(node, ast.Constant)  # noqa: S101  _require_known has refused the rest
    return float(node.value)  # type: ignore[arg-type]
