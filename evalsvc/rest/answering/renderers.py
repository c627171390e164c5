"""Responses are rendered by orjson, regardless of the Accept header: clients of this API send various ones."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from evalsvc.rest.answering.shapes import to_plain


class OrjsonRenderer(BaseRenderer):
    """JSON by orjson; NaN cannot be written (it becomes null), and no family may produce one."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self, data: object, accepted_media_type: str | None = None, renderer_context: Mapping[str, object] | None = None
    ) -> bytes:
        """Return the body; None is an empty body (204)."""
        return b"" if data is None else dumps(data)


def dumps(data: object) -> bytes:
    """Write JSON as all answers are written."""
    try:
        return orjson.dumps(data, default=to_plain)
    except TypeError:
        # PostgreSQL stores 1e20 as an integer of 21 digits, and orjson writes none beyond 64 bits.
        return json.dumps(data, default=_to_json_value, ensure_ascii=False, separators=(",", ":")).encode()


def _to_json_value(value: Any) -> Any:
    # As orjson does: with a T between date and time.
    return value.isoformat() if isinstance(value, datetime) else to_plain(value)


class AnyAccept(BaseContentNegotiation):
    """Always the first parser that matches and the first renderer."""

    def select_parser(self, request: Request, parsers: Iterable[object]) -> Any:
        """Return the JSON parser."""
        return next(iter(parsers))

    def select_renderer(self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None) -> object:
        """Return the JSON renderer."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
