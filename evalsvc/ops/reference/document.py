"""The OpenAPI document, made once: it is the same for everyone."""

from __future__ import annotations

import threading
from functools import cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator

_one_at_a_time = threading.Lock()
"""The generator mends parts that all its runs share: two that run at once trip over each other."""


def openapi_bytes() -> bytes:
    """Return the document as it is sent."""
    with _one_at_a_time:
        return _build_document()


@cache
def _build_document() -> bytes:
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return orjson.dumps(generator.get_schema(request=None, public=True), default=str)  # type: ignore[no-untyped-call]


@cache
def openapi() -> dict[str, Any]:
    """Return the document as its readers parse it."""
    document: dict[str, Any] = orjson.loads(openapi_bytes())
    return document
