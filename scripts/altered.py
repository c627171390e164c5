"""What an AlterField of a migration changes: fields as earlier migrations of the app have left them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

# PostgreSQL takes these without a look at a row, and old code does not notice.
WIDER = {("CharField", "TextField")}


def problem_of_alter(new: ast.expr | None, old: ast.Call | None) -> str:
    """Return what code of the version before, or whoever writes meanwhile, cannot live with."""
    if not isinstance(new, ast.Call) or old is None:
        return ""
    if called(old) != called(new) and (called(old), called(new)) not in WIDER:
        return f"a {called(old)} becomes a {called(new)}: which rewrites the table behind a lock"
    if flag(old, "null") and not flag(new, "null"):
        return "SET NOT NULL reads the whole table behind a lock, and the version before may write null"
    before, now = number(old, "max_length"), number(new, "max_length")
    if now is not None and (before is None or now < before) and called(old) == called(new):
        return f"max_length becomes {now}: the version before writes longer texts"
    return ""


def field_before(texts: Iterable[str], model: str, name: str) -> ast.Call | None:
    """Return a field's last definition in migrations, the oldest first; None where they have none."""
    found = [field for text in texts for field in _definitions(ast.parse(text), model, name)]
    return found[-1] if found else None


def _definitions(tree: ast.AST, model: str, name: str) -> Iterator[ast.Call]:
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call):
            continue
        if called(call) == "CreateModel" and word(call, "name", 0) == model:
            yield from _created(argument(call, "fields", 1), name)
        elif called(call) in ("AddField", "AlterField") and word(call, "model_name", 0) == model:
            field = argument(call, "field", 2)
            if word(call, "name", 1) == name and isinstance(field, ast.Call):
                yield field


def _created(fields: ast.expr | None, name: str) -> Iterator[ast.Call]:
    for pair in getattr(fields, "elts", ()):
        key, field = pair.elts if isinstance(pair, ast.Tuple) and len(pair.elts) == 2 else (None, None)
        if isinstance(key, ast.Constant) and key.value == name and isinstance(field, ast.Call):
            yield field


def called(call: ast.Call) -> str:
    """Return the name of what is called, without its module."""
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def argument(call: ast.Call, name: str, position: int) -> ast.expr | None:
    """Return an argument that may be given by name or by position."""
    named = [keyword.value for keyword in call.keywords if keyword.arg == name]
    return named[0] if named else call.args[position] if len(call.args) > position else None


def word(call: ast.Call, name: str, position: int) -> str:
    """Return an argument that is a text, in small letters."""
    value = argument(call, name, position)
    return str(value.value).lower() if isinstance(value, ast.Constant) else ""


def flag(call: ast.Call, name: str) -> bool:
    """Return whether a keyword is True."""
    value = argument(call, name, len(call.args))
    return isinstance(value, ast.Constant) and value.value is True


def number(call: ast.Call, name: str) -> int | None:
    """Return a keyword that is a number."""
    value = argument(call, name, len(call.args))
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, int) else None
