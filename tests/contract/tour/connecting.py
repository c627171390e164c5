"""What goes in and out: LLMs that are asked, servers that are told, spans, and the account as a file."""

from __future__ import annotations

from tests.contract.tour.teller import Tour
from tests.telemetry.otlp import span, traces

ENDPOINT = "/v1/event-endpoints/{id}"
DELIVERY = "/v1/event-deliveries/{id}"
TRACE_ID, SPAN_ID = "5b8efff798038103d269b633813fc60c", "eee19b7ec3c1b174"


def connect(tour: Tour) -> None:
    """Tell of connections, events, telemetry, and take all along in the end."""
    asked = {"name": "small", "base_url": "http://127.0.0.1:9/v1", "model": "small-1", "key": "sk-0123456789abcdef"}
    made = tour.show("POST", "/v1/connections", asked)["connection"]
    tour.show("POST", "/v1/connections/{id}/test", id=made["id"])
    tour.show("GET", "/v1/connections")
    _be_told(tour)
    _trace(tour)
    # The first line says which tables there are, of which version; the second is the account itself.
    tour.show("GET", "/v1/account/export", lines=slice(1, 2))


def _be_told(tour: Tour) -> None:
    asked = {"url": "https://hooks.example.com/evalsvc", "event_types": ["evaluation.failed"]}
    endpoint = {"id": tour.call("POST", "/v1/event-endpoints", asked)["event_endpoint"]["id"]}
    tour.show("GET", ENDPOINT, **endpoint)
    tour.show("PATCH", ENDPOINT, {"per_hour": 20}, **endpoint)
    tour.show("POST", f"{ENDPOINT}/rotate", **endpoint)
    delivery = {"id": tour.show("POST", f"{ENDPOINT}/test", **endpoint)["event_delivery"]["id"]}
    tour.show("GET", DELIVERY, **delivery)
    tour.show("POST", f"{DELIVERY}/replay", **delivery)


def _trace(tour: Tour) -> None:
    tour.show("POST", "/v1/traces/v1/traces", traces(span(TRACE_ID, spanId=SPAN_ID, name="answer"), service="bot"))
    by_trace = {"field": "trace_id", "op": "eq", "value": TRACE_ID}
    tour.show("POST", "/v1/otel/spans/search", {"filters": [by_trace], "order": "timestamp desc", "limit": 10})
    for found in ("trace-insight/search", "trace-insight/errors", "span-analysis/search"):
        tour.show("POST", f"/v1/{found}", {"trace_id": TRACE_ID})
    tour.show("GET", "/v1/trace-insight-jobs", query="limit=10")
