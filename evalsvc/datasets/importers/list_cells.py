"""Lists within text cells, as pandas, NumPy and JSON write them."""

from __future__ import annotations

import ast
import io
import tokenize

from evalsvc.datasets.importers.json_text import decode_json

MAX_CHARS = 1_000_000
SKIPPED = {tokenize.NL, tokenize.NEWLINE, tokenize.ENDMARKER, tokenize.INDENT, tokenize.DEDENT}


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
        return _parse_literals(text)
    return value if isinstance(value, list) and all(isinstance(part, str) for part in value) else None


def _parse_literals(text: str) -> list[str] | None:
    try:
        tokens = [token for token in tokenize.generate_tokens(io.StringIO(text).readline) if token.type not in SKIPPED]
        inner = tokens[1:-1]
        values = [ast.literal_eval(token.string) for token in inner if token.type == tokenize.STRING]
    except (tokenize.TokenError, SyntaxError, ValueError, MemoryError):
        return None
    commas = [i for i, token in enumerate(inner) if token.type == tokenize.OP and token.string == ","]
    if len(values) + len(commas) != len(inner) or not values or not all(isinstance(value, str) for value in values):
        return None
    return values if not commas or commas == list(range(1, len(inner), 2)) else None
