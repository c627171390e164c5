"""Pages of event webhooks: made with a secret that is shown once, what has not arrived and why, delivered again."""

from __future__ import annotations

import re
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from evalsvc.events.models import EventDelivery
from evalsvc.events.selectors import (
    LOOKED_AT,
    LOOKED_BACK,
    MOST_LEFT_OUT,
    STANDINGS,
    count_all_deliveries,
    list_endpoint_health,
)
from evalsvc.tenancy.scope import account_scope
from tests.admin.conftest import HOSTILE
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import acts_of_people
from tests.events.conftest import nothing_is_due, server
from tests.events.shapes import deliveries, new_endpoint, send_test_event, told, verified
from tests.factories import ok
from tests.judges.webhook_server import Server, status

LEFT_OUT = """
WITH happened AS (
  INSERT INTO events_outboxevent (id, account_id, type, payload, spread_at)
  SELECT 'evt_' || replace(gen_random_uuid()::text, '-', ''), e.account_id, 'evaluation.failed', '{}', now()
  FROM generate_series(1, %s), events_eventendpoint e WHERE e.id = %s RETURNING id, account_id
)
INSERT INTO events_eventdelivery
  (account_id, event_id, endpoint_id, status, n_attempts, first_at, next_at, finished_at, created_at)
SELECT h.account_id, h.id, e.id, 'limited', 0, now(), now(), now(), now() + interval '1 minute'
FROM happened h JOIN events_eventendpoint e USING (account_id)
"""
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")
ACTS = ("edit", "rotate", "switch", "test", "again", "delete")


def endpoints(caller: Caller) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = ok(caller.get("/v1/event-endpoints"))["event_endpoints"]
    return found


def refusing(caller: Caller, server: Server, code: int = 503) -> dict[str, Any]:
    """A webhook whose receiver refuses a test event, tried twice."""
    made = new_endpoint(caller, url=server.url)
    server.says(status(code))
    send_test_event(caller, made["id"])
    told()
    return made


def test_a_new_webhook_shows_its_secret_once(alice: Caller, admin: Visitor, server: Server) -> None:
    answer = admin.post("webhooks/new", url=server.url, **{"evaluation.failed": "on"}, per_hour="7", max_score="0.5")

    (secret,) = set(SECRET.findall(answer.content.decode()))
    (made,) = endpoints(alice)
    assert (made["url"], made["event_types"], made["per_hour"]) == (server.url, ["evaluation.failed"], 7)
    assert made["rules"]["max_score"] == 0.5 and secret.endswith(made["last4"] + secret[-1])
    for path in ("webhooks", f"webhooks/{made['id']}", f"webhooks/{made['id']}/edit"):
        assert not SECRET.search(admin.text(path)) and secret[6:] not in admin.text(path)
    admin.post(f"webhooks/{made['id']}/test")
    told()
    assert [event["type"] for event in verified(server, secret)] == ["endpoint.test"]
    assert acts_of_people(alice.account) == ["event_endpoint.created", "event_endpoint.tested"]


@pytest.mark.parametrize(
    ("field", "sent"),
    [
        ("url", {"url": "http://169.254.169.254/latest", "evaluation.failed": "on"}),
        ("url", {"url": "https://10.0.0.7/x", "evaluation.failed": "on"}),
        ("per_hour", {"url": "https://hooks.example.com/x", "evaluation.failed": "on", "per_hour": "0"}),
        ("max_score", {"url": "https://hooks.example.com/x", "evaluation.failed": "on", "max_score": "low"}),
        ("types", {"url": "https://hooks.example.com/x"}),
    ],
)
def test_what_cannot_be_is_said_at_its_field(alice: Caller, admin: Visitor, field: str, sent: dict[str, str]) -> None:
    answer = admin.post("webhooks/new", **sent)

    assert answer.status_code == 422 and f'id="e-{field}"' in answer.content.decode()
    assert endpoints(alice) == []


def test_all_that_is_wrong_is_said_at_once(alice: Caller, admin: Visitor) -> None:
    page = admin.post("webhooks/new", url="htp:/example").content.decode()

    assert 'id="e-url"' in page and "Choose at least one event." in page


def test_an_address_is_edited_and_a_private_one_refused(alice: Caller, admin: Visitor) -> None:
    made = new_endpoint(alice, rules={"evaluators": ["exact-match-2026-11-28"]})
    path = f"webhooks/{made['id']}/edit"
    assert 'value="exact-match-2026-11-28"' in admin.text(path)

    refused = admin.post(path, url="https://[fd00::1]/x", **{"evaluation.failed": "on"})
    assert refused.status_code == 422 and 'id="e-url"' in refused.content.decode()
    admin.post(path, url="https://hooks.example.com/new", **{"decision.made": "on"})
    (row,) = endpoints(alice)
    assert (row["url"], row["event_types"]) == ("https://hooks.example.com/new", ["decision.made"])
    assert row["rules"]["evaluators"] is None


def test_what_does_not_deliver_stands_out_with_its_remedy(alice: Caller, reader: Visitor, server: Server) -> None:
    made = refusing(alice, server)
    (said,) = deliveries(alice)

    for path in ("", "webhooks", f"webhooks/{made['id']}"):
        text = reader.text(path)
        assert "does not deliver" in text, path
        assert "answered 503 (Service Unavailable)" in text and "fix it, then deliver again" in text, path
    assert said["next_at"][:16].replace("T", " ") + " UTC" in text and "will be tried again" in text
    assert "answered 503" in reader.text(f"webhooks/deliveries/{said['id']}")


def test_delivered_again_it_is_well(alice: Caller, editor: Visitor, server: Server) -> None:
    made = refusing(alice, server)
    told(hours=30)
    assert "given up" in editor.text("webhooks")

    server.says({})
    ok(alice.patch(f"/v1/event-endpoints/{made['id']}", {"is_enabled": True}))
    editor.post(f"webhooks/{made['id']}/again")
    told()

    assert [one["status"] for one in deliveries(alice)] == ["delivered"]
    assert "does not deliver" not in editor.text() and ">delivers<" in editor.text("webhooks")
    assert acts_of_people(alice.account) == ["event_deliveries.replayed"]


def test_an_older_failure_is_not_forgotten_when_newer_ones_arrive(
    alice: Caller, editor: Visitor, server: Server
) -> None:
    made = refusing(alice, server)
    server.says({})
    send_test_event(alice, made["id"])
    told()

    text = editor.text()
    assert "delivers again" in text and "does not deliver" not in text
    (old,) = [one["id"] for one in deliveries(alice) if one["status"] != "delivered"]
    editor.post(f"webhooks/deliveries/{old}/again")
    told()
    assert "delivers again" not in editor.text()


def left_out(made: dict[str, Any], n: int) -> None:
    """Put deliveries behind the newest that the rate limit has left out, as an hour of many failing verdicts does."""
    with connections["system"].cursor() as cursor:
        cursor.execute(LEFT_OUT, [n, made["id"]])


def test_what_is_left_out_does_not_hide_what_fails(alice: Caller, editor: Visitor, server: Server) -> None:
    made = refusing(alice, server)
    left_out(made, 150)

    for path in ("", "webhooks"):
        assert "does not deliver" in editor.text(path) and "1 being tried again, 150 left out" in editor.text(path)
    text = editor.text(f"webhooks/{made['id']}")
    assert "Retry failed deliveries" in text and "150 left out" in text
    said = count_all_deliveries(now=timezone.now() + timedelta(minutes=1))
    assert (said.n_failing, said.n_failed) == (1, 0)


def test_what_is_left_out_alone_warns(alice: Caller, reader: Visitor, charlie: Caller) -> None:
    made = new_endpoint(alice)
    new_endpoint(charlie)
    send_test_event(alice, made["id"])
    left_out(made, MOST_LEFT_OUT + 1)

    text = reader.text("webhooks")
    assert '<span class="badge warn">leaves some out</span>' in text and "1000 or more left out" in text
    with account_scope(charlie.account.pk):
        (hers,) = list_endpoint_health(account=charlie.account, now=timezone.now())
    assert hers.n_limited == 0


def test_standings_read_no_table_from_end_to_end(alice: Caller, server: Server) -> None:
    made = new_endpoint(alice)
    send_test_event(alice, made["id"])
    left_out(made, 12_000)
    with connections["system"].cursor() as cursor:
        cursor.execute("ANALYZE events_eventdelivery")
        since = timezone.now() - LOOKED_BACK
        asked = (since, MOST_LEFT_OUT, since, LOOKED_AT)
        cursor.execute("EXPLAIN " + STANDINGS.format(which="e.is_enabled"), asked)
        plan = " ".join(line for (line,) in cursor.fetchall())
    assert "ix_event_delivery_begun" in plan and "ix_event_delivery_left_out" in plan
    assert "Seq Scan on events_eventdelivery" not in plan


@pytest.mark.parametrize(
    ("code", "remedy"),
    [
        (301, "Redirects are not followed"),
        (401, "secret at the receiver (rotate it"),
        (404, "edit the URL"),
        (429, "Lower the maximum deliv"),
    ],
)
def test_each_answer_has_its_remedy(alice: Caller, reader: Visitor, server: Server, code: int, remedy: str) -> None:
    made = refusing(alice, server, code)

    assert remedy in reader.text(f"webhooks/{made['id']}")


def test_a_secret_is_rotated_and_the_old_one_signs_on(alice: Caller, admin: Visitor, server: Server) -> None:
    made = new_endpoint(alice, url=server.url)
    (new,) = set(SECRET.findall(admin.post(f"webhooks/{made['id']}/rotate").content.decode()))
    send_test_event(alice, made["id"])
    told()

    assert new != made["secret"] and verified(server, new) == verified(server, made["secret"])
    assert "the one before signs too" in admin.text(f"webhooks/{made['id']}")


def test_it_is_switched_off_and_on_and_deleted_by_its_address(alice: Caller, admin: Visitor) -> None:
    made = new_endpoint(alice)
    path = f"webhooks/{made['id']}"
    admin.post(f"{path}/switch", to="off")
    assert not endpoints(alice)[0]["is_enabled"] and ">off<" in admin.text("webhooks")
    admin.post(f"{path}/switch", to="on")
    admin.post(f"{path}/delete", confirm="https://elsewhere.example.com")
    assert endpoints(alice)[0]["is_enabled"]
    admin.post(f"{path}/delete", confirm=made["url"])

    assert endpoints(alice) == []
    assert acts_of_people(alice.account) == [
        "event_endpoint.changed",
        "event_endpoint.changed",
        "event_endpoint.deleted",
    ]


def test_a_reader_changes_nothing_and_an_editor_makes_none(
    alice: Caller, reader: Visitor, editor: Visitor, server: Server
) -> None:
    made = refusing(alice, server)
    (sent,) = deliveries(alice)
    for act in ACTS:
        assert reader.post(f"webhooks/{made['id']}/{act}", confirm=made["url"]).status_code == 403, act
    for act in ("edit", "rotate", "switch", "delete"):
        assert editor.post(f"webhooks/{made['id']}/{act}", confirm=made["url"]).status_code == 403, act
    assert editor.post("webhooks/new", url=server.url, **{"decision.made": "on"}).status_code == 403
    assert reader.post(f"webhooks/deliveries/{sent['id']}/again").status_code == 403
    assert (endpoints(alice), deliveries(alice)) == ([{k: v for k, v in made.items() if k != "secret"}], [sent])
    assert "Deliver again" not in reader.text(f"webhooks/{made['id']}")


def test_a_stranger_finds_none_of_it(alice: Caller, stranger: Visitor, server: Server) -> None:
    made = refusing(alice, server)
    (sent,) = deliveries(alice)
    for path in (f"webhooks/{made['id']}", f"webhooks/deliveries/{sent['id']}", f"webhooks/{uuid.uuid4()}"):
        assert stranger.get(path).status_code == 404, path
    for act in ACTS:
        assert stranger.post(f"webhooks/{made['id']}/{act}", confirm=made["url"]).status_code == 404, act
    assert stranger.post(f"webhooks/deliveries/{sent['id']}/again").status_code == 404
    assert made["url"] not in stranger.text("webhooks") and "does not deliver" not in stranger.text()
    assert deliveries(alice) == [sent]


def test_hostile_addresses_stay_text_and_queries_are_few(alice: Caller, reader: Visitor, server: Server) -> None:
    made = refusing(alice, server)
    for _ in range(30):
        send_test_event(alice, made["id"])
    EventDelivery.objects.using("system").update(last_error=f"connection: {HOSTILE}", last_status=None)
    for path in ("webhooks", f"webhooks/{made['id']}", ""):
        assert "<script>alert(1)" not in reader.text(path) and reader.n_queries(path) <= 15, path


__all__ = ["nothing_is_due", "server"]


def test_home_and_the_page_say_why_the_service_disabled_it(alice: Caller, admin: Visitor, server: Server) -> None:
    id = refusing(alice, server, 410)["id"]

    for path in ("", "webhooks", f"webhooks/{id}"):
        assert "Disabled: The receiver answered 410 (Gone)." in admin.text(path), path
