"""Prometheus counters of the HTTP edge; `/metrics` writes them out."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from prometheus_client import Counter, Histogram

REQUESTS = Counter("evalsvc_http_requests_total", "Answered requests.", ["method", "route", "status"])
SECONDS = Histogram(
    "evalsvc_http_request_seconds",
    "Time to answer.",
    ["route"],
    buckets=(0.005, 0.02, 0.1, 0.5, 2.5, 10, 30),
)
REPLAYS = Counter("evalsvc_idempotent_replays_total", "Answers given again for a repeated Idempotency-Key.")
METHODS = {"GET", "POST", "PATCH", "PUT", "DELETE", "HEAD", "OPTIONS"}
_children: dict[tuple[str, str, int], tuple[object, object]] = {}


def get_method_label(request: HttpRequest) -> str:
    """Return the request's method, which callers may invent."""
    return request.method if request.method in METHODS else "other"


def get_route(request: HttpRequest) -> str:
    """Return the pattern of the request's route."""
    match = request.resolver_match
    return match.route if match else "unmatched"


def count_request(request: HttpRequest, response: HttpResponse, seconds: float) -> None:
    """Count one answer under its route's pattern, never under the raw path (which callers choose)."""
    key = (get_method_label(request), get_route(request), response.status_code)
    pair = _children.get(key)
    if pair is None:
        pair = _children[key] = (REQUESTS.labels(*map(str, key)), SECONDS.labels(key[1]))
    pair[0].inc()  # type: ignore[attr-defined]
    pair[1].observe(seconds)  # type: ignore[attr-defined]
