"""Endpoints that the service disables: after 410, and after a day in which nothing could be delivered."""

from __future__ import annotations

import json
from typing import Any

from evalsvc.accounts.models import AuditEntry
from tests.conftest import Caller
from tests.events.shapes import ENDPOINTS, deliveries, fail, new_endpoint, send_test_event, told
from tests.judges.webhook_server import Server, status


def get(caller: Caller, id: str) -> dict[str, Any]:
    found: dict[str, Any] = caller.get(f"{ENDPOINTS}/{id}").json()["event_endpoint"]
    return found


def state(caller: Caller, id: str) -> tuple[bool, str | None]:
    endpoint = get(caller, id)
    return endpoint["is_enabled"], endpoint["disabled_reason"]


def test_410_disables_an_endpoint_and_others_are_told(alice: Caller, bob: Caller, server: Server) -> None:
    gone = new_endpoint(alice, url=server.url)["id"]
    other = new_endpoint(alice, url=server.url, event_types=["endpoint.disabled"])["id"]
    server.says(status(410))
    fail(alice)
    told()
    n_sent = len(server.seen)
    server.says({})
    told(minutes=1)

    assert state(alice, gone) == (False, "gone")
    assert state(alice, other) == (True, None)
    (told_of,) = deliveries(alice, f"endpoint_id={other}")
    assert told_of["status"] == "delivered"
    assert json.loads(server.seen[-1][2])["type"] == "endpoint.disabled"
    assert len(server.seen) == n_sent + 1
    entries = AuditEntry.objects.using("system").filter(account_id=alice.account.pk, action="event_endpoint.disabled")
    assert [(entry.actor, entry.target, entry.detail) for entry in entries] == [("system", gone, {"reason": "gone"})]


def test_a_day_without_a_delivery_disables_an_endpoint(alice: Caller, server: Server) -> None:
    id = new_endpoint(alice, url=server.url)["id"]
    server.says(status(500))
    fail(alice)
    for hours in (0.0, 2.0, 6.0, 12.0):
        told(hours=hours)
    assert state(alice, id) == (True, None)
    for hours in (23.9, 30):
        told(hours=hours)

    assert state(alice, id) == (False, "failing")


def test_one_refused_event_among_delivered_ones_disables_nothing(alice: Caller, server: Server) -> None:
    id = new_endpoint(alice, url=server.url)["id"]
    server.says(status(400))
    fail(alice)
    told()
    for hours in (2.0, 6.0, 12.0):
        server.says(status(400))
        told(hours=hours)
    server.says({})
    send_test_event(alice, id)
    told(hours=12)
    server.says(status(400))
    for hours in (23.9, 30):
        told(hours=hours)

    assert state(alice, id) == (True, None)


def test_a_person_enables_it_again(alice: Caller, server: Server) -> None:
    id = new_endpoint(alice, url=server.url)["id"]
    server.says(status(410))
    send_test_event(alice, id)
    told()
    answer = alice.patch(f"{ENDPOINTS}/{id}", {"is_enabled": True})
    server.says({})
    fail(alice)
    told(minutes=1)

    assert answer.status_code == 200
    assert state(alice, id) == (True, None)
    assert deliveries(alice, f"endpoint_id={id}&status=delivered")
