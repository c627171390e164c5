"""What was learnt of a model, in words for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

MODES = {
    "json_schema": "strict JSON Schema",
    "json_object": "JSON object, schema in words",
    "tool": "tool call",
    "plain": "schema in words",
}
USAGES = {
    "hidden_thinking": "usage with thinking only in the total",
    "other_names": "usage under other names",
    "estimated": "no usage, so tokens are estimates",
}


def describe_dialect(dialect: Mapping[str, Any]) -> str:
    """Return how a model is called, such as `strict JSON Schema; limit max_tokens; without seed`."""
    return "; ".join(_iter_parts(dialect))


def _iter_parts(dialect: Mapping[str, Any]) -> Iterator[str]:
    yield MODES.get(str(dialect.get("mode")), str(dialect.get("mode")))
    limit, least, most = (dialect.get(name) for name in ("limit", "least", "most"))
    least_words = f", at least {least} tokens" if least else ""
    most_words = f", at most {most} tokens" if most else ""
    yield f"limit {limit}{least_words}{most_words}" if limit else "no token limit"
    if dropped := dialect.get("dropped"):
        yield f"without {', '.join(map(str, dropped))}"
    if dialect.get("takes_system") is False:
        yield "no system message"
    if words := USAGES.get(str(dialect.get("usage"))):
        yield words
