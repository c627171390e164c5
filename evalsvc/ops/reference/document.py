"""The OpenAPI document, made once: it is the same for everyone."""

from __future__ import annotations

from functools import cache
from typing import Any

import orjson
from drf_spectacular.generators import SchemaGenerator


@cache
def openapi_bytes() -> bytes:
    """Return the document as it is sent."""
    generator = SchemaGenerator()  # type: ignore[no-untyped-call]
    return orjson.dumps(generator.get_schema(request=None, public=True), default=str)  # type: ignore[no-untyped-call]


@cache
def openapi() -> dict[str, Any]:
    """Return the document as its readers parse it."""
    document: dict[str, Any] = orjson.loads(openapi_bytes())
    return document
