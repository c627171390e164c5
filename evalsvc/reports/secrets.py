"""What of a config may leave with a report or a bundle: its headers' names, and never their values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

HEADERS = "headers"
PUSHED = "push"


def strip_secrets(kind: str, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters with empty headers, at whatever depth; connections are references by name anyway.

    Of the caller's own code the service knows no header: there a knob of this name is a knob.
    """
    return dict(parameters) if kind == PUSHED else {name: _emptied(name, value) for name, value in parameters.items()}


def _emptied(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        if name == HEADERS:
            return dict.fromkeys(value, "")
        return {key: _emptied(key, inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [_emptied("", inside) for inside in value]
    return value
