"""Endpoints and deliveries, made through the API, and what a receiver has got."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from standardwebhooks import Webhook

from evalsvc.events.models import EventDelivery, EventEndpoint
from evalsvc.events.services import notify_endpoints
from tests.conftest import Caller
from tests.judges.webhook_server import Server

ENDPOINTS, DELIVERIES = "/v1/event-endpoints", "/v1/event-deliveries"
ENDPOINT = {"url": "https://hooks.example.com/evalsvc", "event_types": ["evaluation.failed"]}
FAILING = {"evaluators": [{"evaluator": "exact-match"}], "output": "a secret text", "label": "another", "app": "shop"}


def new_endpoint(caller: Caller, **fields: Any) -> dict[str, Any]:
    """Make an endpoint and return it, with its secret."""
    answer = caller.post(ENDPOINTS, ENDPOINT | fields)
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()["event_endpoint"]
    return made


def send_test_event(caller: Caller, endpoint_id: str) -> dict[str, Any]:
    """Ask for a test event and return its delivery."""
    answer = caller.post(f"{ENDPOINTS}/{endpoint_id}/test")
    assert answer.status_code == 201, answer.content
    made: dict[str, Any] = answer.json()["event_delivery"]
    return made


def deliveries(caller: Caller, query: str = "") -> list[dict[str, Any]]:
    """Return the deliveries that a query finds, the newest first."""
    answer = caller.get(f"{DELIVERIES}?{query}")
    assert answer.status_code == 200, answer.content
    found: list[dict[str, Any]] = answer.json()["event_deliveries"]
    return found


def fail(caller: Caller, **fields: Any) -> str:
    """Capture a verdict that fails and return its id."""
    answer = caller.post("/v1/evaluate", FAILING | fields)
    assert answer.status_code == 200, answer.content
    id: str = answer.json()["results"][0]["evaluation_result"]["id"]
    return id


def told(**moved: float) -> datetime:
    """Deliver what is due at a moment so far ahead, and return it."""
    now = timezone.now() + timedelta(**moved)
    notify_endpoints(now)
    return now


def ids(server: Server) -> list[str]:
    """Return the `webhook-id` of all that the server has got."""
    return [headers["webhook-id"] for _, headers, _ in server.seen]


def verified(server: Server, secret: str) -> list[dict[str, Any]]:
    """Return all that the server has got, as `standardwebhooks` reads it with a secret."""
    return [Webhook(secret).verify(body, headers) for _, headers, body in server.seen]


def endpoint_of(caller: Caller) -> EventEndpoint:
    """Make an endpoint and return its row."""
    return EventEndpoint.objects.using("system").get(pk=new_endpoint(caller)["id"])


def delivery_of(caller: Caller) -> EventDelivery:
    """Make a delivery and return its row."""
    return EventDelivery.objects.using("system").get(pk=send_test_event(caller, new_endpoint(caller)["id"])["id"])
