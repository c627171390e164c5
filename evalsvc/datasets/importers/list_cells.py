"""Lists within text cells, as pandas, NumPy and JSON write them."""

from __future__ import annotations

import ast
import re

from evalsvc.datasets.importers.json_text import decode_json

MAX_CHARS = 1_000_000
_literal = r"""'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*\""""
_item = re.compile(rf"({_literal})(\s*,\s*|\s+|\s*\Z)")


def parse_text_list(cell: str) -> list[str] | None:
    """Return the texts of a cell that is, as a whole, a list of texts; None for any other text.

    Read are JSON (`["a", "b"]`), Python (`['a', 'b']`) and NumPy (`['a' 'b']`, without commas).
    """
    text = cell.strip()
    if not (text.startswith("[") and text.endswith("]")) or len(text) > MAX_CHARS:
        return None
    try:
        value = decode_json(text)
    except ValueError:
        return _parse_literals(text[1:-1].strip())
    return value if isinstance(value, list) and all(isinstance(part, str) for part in value) else None


def _parse_literals(text: str) -> list[str] | None:
    """Return texts that are separated by commas, or all by spaces: of two beside each other, Python would make one."""
    literals: list[str] = []
    separators: set[bool] = set()
    end = 0
    while end < len(text):
        if (item := _item.match(text, end)) is None:
            return None
        literals.append(item[1])
        end = item.end()
        if end < len(text):
            separators.add("," in item[2])
    return None if len(separators) > 1 else _evaluate(literals)


def _evaluate(literals: list[str]) -> list[str] | None:
    if not any("\\" in literal for literal in literals):
        return [literal[1:-1] for literal in literals]
    try:
        values: list[str] = ast.literal_eval(f"[{','.join(literals)}]")
    except (SyntaxError, ValueError, MemoryError):
        return None
    return values
