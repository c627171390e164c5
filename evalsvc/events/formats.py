"""The bodies of deliveries: our own, those that Slack, PagerDuty and Teams read, and the words of e-mails.

Slack: incoming webhooks, `text` and blocks. PagerDuty: Events API v2, where the alarm's id is the `dedup_key`. Teams: a
workflow that posts an adaptive card when a webhook request is received.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
from django.conf import settings

from evalsvc.events.models import TEST, EventEndpoint, EventType, OutboxEvent
from evalsvc.rest.basics.links import public_address
from evaluators.base import JSONValue

EVAL_RUNS = (EventType.EVAL_RUN_SUCCEEDED, EventType.EVAL_RUN_FAILED, EventType.EVAL_RUN_CANCELED)
ACTIONS = {
    EventType.ALARM_OPENED: "trigger",
    EventType.ALARM_ACKNOWLEDGED: "acknowledge",
    EventType.ALARM_RESOLVED: "resolve",
}
"""What PagerDuty is told of the events of an alarm; it takes no others."""
TITLES = {
    EventType.ALARM_OPENED: "Alarm",
    EventType.ALARM_ACKNOWLEDGED: "Acknowledged",
    EventType.ALARM_RESOLVED: "Resolved",
}
DELETED = "deleted"
"""The reason of an alarm that is gone with its monitor: it has no page."""
HIDDEN_KEY = "…"
MAX_SUMMARY = 1024
CARD = "application/vnd.microsoft.card.adaptive"
CARD_SCHEMA = "http://adaptivecards.io/schemas/adaptive-card.json"


@dataclass(frozen=True, slots=True)
class Message:
    """An event as people read it."""

    title: str
    text: str
    link: str | None
    """Of the alarm's page; None for other events, of a deleted monitor, and without EVALSVC_PUBLIC_URL."""


def write_body(event: OutboxEvent, format: str, *, routing_key: str = HIDDEN_KEY) -> bytes:
    """Return what is sent of an event in the format of an endpoint: the same bytes each time."""
    match format:
        case EventEndpoint.Format.SLACK:
            body = _build_slack(build_message(event))
        case EventEndpoint.Format.TEAMS:
            body = _build_teams(build_message(event))
        case EventEndpoint.Format.PAGERDUTY:
            body = _build_pagerduty(event, build_message(event), routing_key)
        case EventEndpoint.Format.EMAIL:
            message = build_message(event)
            body = {"subject": message.title, "text": message.text, "link": message.link}
        case _:
            body = _build_standard(event)
    return orjson.dumps(body, option=orjson.OPT_SORT_KEYS | orjson.OPT_UTC_Z)


def build_message(event: OutboxEvent) -> Message:
    """Return an event in words: of an alarm its summary, of others what is known of them."""
    data = event.payload
    if event.type in TITLES:
        title, text = f"{TITLES[EventType(event.type)]}: {data['monitor_name']}", str(data["summary"])
        if data["reason"] == DELETED:
            return Message(title, f"{text} The monitor was deleted.", None)
        path = f"/console/{event.account_id}/alerts/{data['alarm_id']}"
        return Message(title, text, public_address(path) if settings.PUBLIC_URL else None)
    title = "Test event" if event.type == TEST else str(EventType(event.type).label)
    return Message(title, ", ".join(f"{name}: {value}" for name, value in _list_facts(data)), None)


def _list_facts(data: Mapping[str, Any]) -> list[tuple[str, str]]:
    return [(name, str(value)) for name, value in sorted(data.items()) if value is not None]


def _build_standard(event: OutboxEvent) -> dict[str, Any]:
    message = {"type": event.type, "timestamp": event.created_at, "data": event.payload}
    if event.type in EVAL_RUNS:
        # What OpenAI's clients read besides.
        message |= {"id": event.pk, "object": "event", "created_at": int(event.created_at.timestamp())}
    return message


def _build_slack(message: Message) -> dict[str, Any]:
    title, text = _escape(message.title), _escape(message.text)
    shown = f"*{title}*\n{text}" + (f"\n<{message.link}|Open the alarm>" if message.link else "")
    section = {"type": "section", "text": {"type": "mrkdwn", "text": shown}}
    # `text` is what notifications show.
    return {"text": f"{title}: {text}", "blocks": [section]}


def _escape(text: str) -> str:
    # Slack's three; anything else is as it stands.
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _build_teams(message: Message) -> dict[str, Any]:
    card: dict[str, Any] = {
        "$schema": CARD_SCHEMA,
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [
            {"type": "TextBlock", "text": message.title, "weight": "Bolder", "size": "Medium", "wrap": True},
            {"type": "TextBlock", "text": message.text, "wrap": True},
        ],
    }
    if message.link:
        card["actions"] = [{"type": "Action.OpenUrl", "title": "Open the alarm", "url": message.link}]
    return {"type": "message", "attachments": [{"contentType": CARD, "contentUrl": None, "content": card}]}


def _build_pagerduty(event: OutboxEvent, message: Message, routing_key: str) -> dict[str, Any]:
    is_alarm = event.type in ACTIONS
    action = ACTIONS[EventType(event.type)] if is_alarm else "trigger"
    body: dict[str, Any] = {
        "routing_key": routing_key,
        "event_action": action,
        "dedup_key": f"evalsvc-alarm-{event.payload['alarm_id']}" if is_alarm else event.pk,
        "client": "evalsvc",
    }
    if action == "trigger":
        details: dict[str, JSONValue] = dict(event.payload)
        body["payload"] = {
            "summary": f"{message.title}. {message.text}"[:MAX_SUMMARY],
            "source": str(event.payload.get("monitor_name", "evalsvc")),
            "severity": "error" if is_alarm else "info",
            "timestamp": event.created_at.isoformat(),
            "custom_details": details,
        }
    if message.link:
        body["links"] = [{"href": message.link, "text": "Open the alarm"}]
    return body
