"""A response before it becomes a response of the web framework: returned by use cases, stored for idempotency."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpResponse

JSON = "application/json"


@dataclass(frozen=True, slots=True)
class WrittenAnswer:
    """Status, body and headers; the content type is one of the headers."""

    status: int
    body: bytes
    headers: Mapping[str, str]


def to_response(answer: WrittenAnswer) -> HttpResponse:
    """Return what Django sends."""
    return HttpResponse(answer.body, status=answer.status, headers=answer.headers)
