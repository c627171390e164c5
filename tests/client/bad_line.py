"""A line to the service that loses requests and answers."""

from __future__ import annotations

import json
from collections.abc import Callable

import httpx

Fault = Callable[[httpx.Request, httpx.Response | None], httpx.Response | None]


class BadLine(httpx.BaseTransport):
    """A network in front of the real service. A fault may answer in its place, before or after it did the work."""

    def __init__(self, before: list[Fault] | None = None, after: list[Fault] | None = None) -> None:
        self.real = httpx.HTTPTransport()
        self.before, self.after = before or [], after or []
        self.sent: list[httpx.Request] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        self.sent.append(request)
        if self.before and (answer := self.before.pop(0)(request, None)) is not None:
            return answer
        response = self.real.handle_request(request)
        response.read()
        return (self.after.pop(0)(request, response) if self.after else None) or response

    def close(self) -> None:
        self.real.close()

    @property
    def keys(self) -> list[str | None]:
        return [request.headers.get("Idempotency-Key") for request in self.sent]


def lost(request: httpx.Request, response: httpx.Response | None) -> httpx.Response | None:
    raise httpx.ReadError("the line is cut", request=request)


def answering(status: int, code: str = "unavailable", **headers: str) -> Fault:
    body = {"code": code, "detail": "Not now.", "remedy": "Later.", "errors": [], "request_id": "r1"}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda request, response: httpx.Response(status, headers=names, content=json.dumps(body))
