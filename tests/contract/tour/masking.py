"""What differs from run to run, in the place of which an example has something that does not."""

from __future__ import annotations

import re
from typing import Any

MOST_ITEMS = 2
"""Of a longer list in an answer the first ones are enough."""
SAME: dict[str, Any] = {
    "latency_ms": 250.0,
    "last4": "3Fk8",
    "secret": "whsec_…",
    "next_cursor": "WzExNzI5MjI4MTA2ODc4MTYwM10",
}
"""By key: what the clock or chance has made."""
_volatile = re.compile(
    r"(?P<uuid>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00))"
    r"|(?P<second>\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC)"
    r"|(?P<id>(?<![\d.])\d{18}(?!\d))"
    r"|(?P<token>(?<=/enter/)[\w.-]+|(?<=evt_)[0-9a-f]{32}|(?<=\btour )[0-9a-f]{12})"
    r"|(?P<host>http://testserver)"
    r"|(?P<digest>\b[0-9a-f]{40,64}\b)"
)


def masked(example: dict[str, Any]) -> dict[str, Any]:
    """Return an example in which the same ids are the same again, by the order in which it names them."""
    shortened = {name: _cut(value) if name == "answer" else value for name, value in example.items()}
    found: dict[str, Any] = _masked(shortened, {})
    return found


def _cut(value: Any) -> Any:
    if isinstance(value, list):
        return [_cut(one) for one in value[:MOST_ITEMS]]
    return {name: _cut(one) for name, one in value.items()} if isinstance(value, dict) else value


def _masked(value: Any, names: dict[str, str], key: str = "") -> Any:
    if isinstance(value, dict):
        return {_text(name, names): _masked(one, names, name) for name, one in value.items()}
    if isinstance(value, list):
        return [_masked(one, names) for one in value]
    if value is not None and key in SAME:
        return SAME[key]
    return _text(value, names) if isinstance(value, str) else value


def _text(text: str, names: dict[str, str]) -> str:
    return _volatile.sub(lambda found: _name(found, names), text)


def _name(found: re.Match[str], names: dict[str, str]) -> str:
    number = len(names) + 1
    made = {
        "uuid": f"c5a46e8c-1f3c-4f3b-9a55-{number:012d}",
        "moment": "2026-11-26T09:00:00Z",
        "second": "2026-11-26 09:00:00 UTC",
        "id": f"1172922810687{number:05d}",
        "token": "…",
        "host": "https://evalsvc.example.com",
        "digest": f"{number:064x}",
    }[str(found.lastgroup)]
    return names.setdefault(found[0], made)
