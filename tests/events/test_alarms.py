"""An alarm is told once to each endpoint, in the endpoint's format."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core import mail
from django.test import override_settings

from evalsvc.events.models import EventEndpoint
from evalsvc.tenancy.scope import SYSTEM
from tests.admin.conftest import member
from tests.conftest import Caller
from tests.events.shapes import ENDPOINT, ENDPOINTS, deliveries, new_endpoint, told, verified
from tests.factories import ok
from tests.judges.webhook_server import Server
from tests.monitors.shapes import ALARMS, MONITORS, advance, new_alarm, send, verdicts

ALARM_EVENTS = ["alarm.opened", "alarm.acknowledged", "alarm.resolved"]
KEY = "R0123456789abcdef0123456789abcde"


def bodies(server: Server) -> list[Any]:
    return [json.loads(body) for _, _, body in server.seen]


def live(caller: Caller) -> Any:
    """Let a monitor raise its alarm, which is acknowledged and recovers; return the alarm."""
    alarm = new_alarm(caller)
    ok(caller.post(f"{ALARMS}/{alarm['id']}/acknowledge"))
    send(caller, verdicts(100, 10))
    advance()
    return ok(caller.get(f"{ALARMS}/{alarm['id']}"))["alarm"]


def test_each_event_of_an_alarm_is_sent_once(alice: Caller, server: Server) -> None:
    endpoint = new_endpoint(alice, url=server.url, event_types=ALARM_EVENTS)
    assert endpoint["format"] == "standard"
    alarm = live(alice)
    for minutes in (0, 1, 2):
        told(minutes=minutes)
    events = {event["type"]: event["data"] for event in verified(server, endpoint["secret"])}
    assert sorted(events) == sorted(ALARM_EVENTS)
    assert len(server.seen) == 3
    data = events["alarm.resolved"]
    assert (data["alarm_id"], data["monitor_id"]) == (alarm["id"], alarm["monitor_id"])
    assert (data["summary"], data["reason"]) == (alarm["summary"], "recovered")
    assert (data["before"], data["after"], data["n_units"]) == (alarm["before"], alarm["after"], alarm["n_units"])
    assert events["alarm.opened"]["examples"] == alarm["examples"]


@override_settings(PUBLIC_URL="https://eval.example.com")
def test_slack_reads_a_text_and_blocks(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url, event_types=["alarm.opened"], format="slack")
    alarm = new_alarm(alice)
    told()
    (body,) = bodies(server)
    assert body["text"] == f"Alarm: watched: {alarm['summary']}"
    (section,) = body["blocks"]
    assert section["type"] == "section"
    assert section["text"]["type"] == "mrkdwn"
    page = f"https://eval.example.com/console/{alice.account.pk}/alerts/{alarm['id']}"
    assert f"<{page}|Open the alarm>" in section["text"]["text"]


def test_teams_reads_an_adaptive_card(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url, event_types=["alarm.opened"], format="teams")
    alarm = new_alarm(alice)
    told()
    (body,) = bodies(server)
    assert body["type"] == "message"
    (attachment,) = body["attachments"]
    assert attachment["contentType"] == "application/vnd.microsoft.card.adaptive"
    card = attachment["content"]
    assert card["type"] == "AdaptiveCard"
    assert [block["text"] for block in card["body"]] == ["Alarm: watched", alarm["summary"]]


def test_pagerduty_follows_an_alarm_by_its_key(alice: Caller, server: Server) -> None:
    new_endpoint(alice, url=server.url, event_types=ALARM_EVENTS, format="pagerduty", routing_key=KEY)
    alarm = live(alice)
    told()
    sent = {body["event_action"]: body for body in bodies(server)}
    assert sorted(sent) == ["acknowledge", "resolve", "trigger"]
    assert {body["dedup_key"] for body in sent.values()} == {f"evalsvc-alarm-{alarm['id']}"}
    assert {body["routing_key"] for body in sent.values()} == {KEY}
    payload = sent["trigger"]["payload"]
    assert alarm["summary"] in payload["summary"]
    assert payload["severity"] in ("critical", "error", "warning", "info")
    assert payload["source"] == "watched"
    # The key is a secret: no answer has it.
    shown = json.dumps([ok(alice.get(ENDPOINTS)), deliveries(alice)])
    assert KEY not in shown


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"format": "pigeon"}, "/format"),
        ({"format": "pagerduty", "event_types": ["alarm.opened"]}, "/routing_key"),
        ({"format": "pagerduty", "event_types": ["alarm.opened"], "routing_key": "short"}, "/routing_key"),
        ({"format": "pagerduty", "routing_key": KEY}, "/event_types"),
    ],
)
def test_what_a_format_refuses(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    answer = alice.post(ENDPOINTS, ENDPOINT | fields)
    assert answer.status_code == 422
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert ok(alice.get(ENDPOINTS))["event_endpoints"] == []


def test_an_endpoint_becomes_one_of_pagerduty(alice: Caller) -> None:
    path = f"{ENDPOINTS}/{new_endpoint(alice, event_types=['alarm.opened'])['id']}"
    assert alice.patch(path, {"format": "pagerduty"}).status_code == 422
    assert ok(alice.patch(path, {"format": "pagerduty", "routing_key": KEY}))["event_endpoint"]["format"] == "pagerduty"
    assert alice.patch(path, {"event_types": ["evaluation.failed"]}).status_code == 422


@pytest.mark.parametrize("is_resolved", [False, True])
def test_a_monitor_that_is_deleted_closes_its_alarm(alice: Caller, server: Server, is_resolved: bool) -> None:
    """As a resolve does, once, though monitor and alarm are gone when the event is delivered."""
    new_endpoint(alice, url=server.url, event_types=ALARM_EVENTS, format="pagerduty", routing_key=KEY)
    standard = new_endpoint(alice, url=server.url, event_types=["alarm.resolved"])
    alarm = new_alarm(alice)
    if is_resolved:
        ok(alice.post(f"{ALARMS}/{alarm['id']}/resolve"))
    assert alice.call("DELETE", f"{MONITORS}/{alarm['monitor_id']}").status_code == 204
    told()
    assert [row["status"] for row in deliveries(alice)] == ["delivered"] * 3
    keys = {body["event_action"]: body["dedup_key"] for body in bodies(server) if "event_action" in body}
    assert keys == dict.fromkeys(["trigger", "resolve"], f"evalsvc-alarm-{alarm['id']}")
    (event,) = [body for body in bodies(server) if "type" in body]
    assert (event["type"], event["data"]["alarm_id"], event["data"]["reason"]) == (
        "alarm.resolved", alarm["id"], "person" if is_resolved else "deleted",
    )  # fmt: skip
    assert event["data"]["summary"] == alarm["summary"]
    assert standard["id"] in {row["endpoint_id"] for row in deliveries(alice)}


@override_settings(
    PUBLIC_URL="https://eval.example.com",
    EMAIL_BACKEND="django.core.mail.backends.locmem.EmailBackend",
    EMAIL_HOST="mail.example",
)
@pytest.mark.parametrize("format", ["slack", "teams", "pagerduty", "email"])
def test_the_alarm_of_a_deleted_monitor_has_no_link(alice: Caller, server: Server, format: str) -> None:
    is_mail = format == "email"
    url = f"mailto:{member(alice.account, 'reader').user.email}" if is_mail else server.url
    fields = {"routing_key": KEY} if format == "pagerduty" else {}
    new_endpoint(alice, url=url, event_types=["alarm.resolved"], format=format, **fields)
    alarm = new_alarm(alice)
    assert alice.call("DELETE", f"{MONITORS}/{alarm['monitor_id']}").status_code == 204
    mail.outbox = []
    told()
    (delivery,) = deliveries(alice)
    assert delivery["status"] == "delivered"
    (sent,) = [message.body for message in mail.outbox] if is_mail else [json.dumps(body) for body in bodies(server)]
    assert "/alerts/" not in sent and "Open the alarm" not in sent
    # PagerDuty shows no text of what is resolved.
    assert ("The monitor was deleted." in sent) == (format != "pagerduty")


def test_a_pagerduty_endpoint_without_its_key_can_be_disabled(alice: Caller) -> None:
    fields = {"event_types": ["alarm.opened"], "format": "pagerduty", "routing_key": KEY}
    made = new_endpoint(alice, **fields)
    path = f"{ENDPOINTS}/{made['id']}"
    rows = EventEndpoint.objects.using(SYSTEM).filter(pk=made["id"])
    rows.update(routing_key=None, event_types=["evaluation.failed"])
    assert ok(alice.patch(path, {"is_enabled": False}))["event_endpoint"]["is_enabled"] is False
    assert ok(alice.patch(path, {"per_hour": 5}))["event_endpoint"]["per_hour"] == 5
    for changes, pointer in (
        ({"format": "pagerduty"}, "/routing_key"),
        ({"event_types": ["decision.made"]}, "/event_types"),
    ):
        answer = alice.patch(path, changes)
        assert answer.status_code == 422
        assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert ok(alice.patch(path, {"event_types": ["alarm.opened"]}))["event_endpoint"]["is_enabled"] is False
