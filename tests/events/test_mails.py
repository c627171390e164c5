"""Events as e-mails: to members of the account, once, and tried again while the mail server does not answer."""

from __future__ import annotations

from collections.abc import Iterator
from smtplib import SMTPRecipientsRefused, SMTPServerDisconnected
from typing import Any

import pytest
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.test import override_settings

from evalsvc.accounts.models import Member
from evalsvc.tenancy.scope import SYSTEM
from tests.admin.conftest import member
from tests.conftest import Caller
from tests.events.shapes import ENDPOINTS, deliveries, new_endpoint, send_test_event, told
from tests.factories import ok
from tests.monitors.shapes import new_alarm
from tests.rest.shapes import assert_problem

PUBLIC = "https://eval.example.com"


@pytest.fixture(autouse=True)
def _outbox() -> Iterator[None]:
    mail.outbox = []
    backend = "django.core.mail.backends.locmem.EmailBackend"
    with override_settings(EMAIL_BACKEND=backend, EMAIL_HOST="mail.example", PUBLIC_URL=PUBLIC):
        yield


def new_recipient(caller: Caller) -> Any:
    return member(caller.account, "reader").user


def test_members_get_one_mail_of_an_alarm(alice: Caller) -> None:
    first, second = new_recipient(alice), new_recipient(alice)
    url = f"mailto:{first.email},{second.email.upper()}"
    new_endpoint(alice, url=url, event_types=["alarm.opened"], format="email")
    alarm = new_alarm(alice)
    for minutes in (0, 1, 2):
        told(minutes=minutes)

    (sent,) = mail.outbox
    assert sent.to == [first.email, second.email]
    assert sent.subject == "Alarm: watched"
    assert alarm["summary"] in sent.body
    assert f"{PUBLIC}/console/{alice.account.pk}/alerts/{alarm['id']}" in sent.body
    (delivery,) = deliveries(alice)
    assert (delivery["status"], delivery["last_status"]) == ("delivered", 250)
    assert delivery["event_id"] in sent.extra_headers["Message-ID"]


def test_who_has_left_the_account_gets_no_more(alice: Caller) -> None:
    stays, leaves = new_recipient(alice), new_recipient(alice)
    new_endpoint(alice, url=f"mailto:{leaves.email},{stays.email}", event_types=["alarm.opened"], format="email")
    new_endpoint(alice, url=f"mailto:{leaves.email}", event_types=["alarm.opened"], format="email")
    Member.objects.using(SYSTEM).filter(user=leaves).delete()
    new_alarm(alice)
    told()

    (sent,) = mail.outbox
    assert sent.to == [stays.email]
    assert sorted(row["status"] for row in deliveries(alice)) == ["delivered", "failed"]


def test_a_mail_server_that_does_not_answer_is_asked_again(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """What it refuses for good is not."""
    reader = new_recipient(alice)
    endpoint = new_endpoint(alice, url=f"mailto:{reader.email}", event_types=["alarm.opened"], format="email")
    for error, status in (
        (SMTPServerDisconnected("gone"), "pending"),
        (ConnectionRefusedError(), "pending"),
        (SMTPRecipientsRefused({reader.email: (550, b"no such user")}), "failed"),
    ):

        def refuse(*args: Any, error: Exception = error) -> int:
            raise error

        with monkeypatch.context() as patched:
            patched.setattr(EmailBackend, "send_messages", refuse)
            send_test_event(alice, endpoint["id"])
            told()
        assert deliveries(alice)[0]["status"] == status
        assert "mail: " in deliveries(alice)[0]["last_error"]
    told(minutes=5)

    assert [message.subject for message in mail.outbox] == ["Test event", "Test event"]
    assert sorted(row["status"] for row in deliveries(alice)) == ["delivered", "delivered", "failed"]


def test_an_address_that_cannot_be_mailed_is_refused(alice: Caller, charlie: Caller) -> None:
    reader, stranger = new_recipient(alice), new_recipient(charlie)
    body = {"event_types": ["alarm.opened"], "format": "email"}
    many = "mailto:" + ",".join(f"a{i}@example.com" for i in range(21))
    for url in (f"mailto:{stranger.email}", f"mailto:{reader.email},{stranger.email}", "mailto:", many):
        errors = assert_problem(alice.post(ENDPOINTS, body | {"url": url}), "validation_failed")["errors"]
        assert [error["pointer"] for error in errors] == ["/url"]
    errors = assert_problem(
        alice.post(ENDPOINTS, {"event_types": ["alarm.opened"], "url": f"mailto:{reader.email}"}), "validation_failed"
    )["errors"]
    assert [error["pointer"] for error in errors] == ["/format"]
    with override_settings(EMAIL_HOST=""):
        answer = alice.post(ENDPOINTS, body | {"url": f"mailto:{reader.email}"})
        (error,) = assert_problem(answer, "validation_failed")["errors"]
        assert error["pointer"] == "/format" and "EVALSVC_SMTP_HOST" in error["detail"]
    assert ok(alice.get(ENDPOINTS))["event_endpoints"] == []


def test_an_endpoint_whose_recipient_has_left_can_be_disabled(alice: Caller) -> None:
    """What is not sent is not checked again; an address that is sent is."""
    leaves, stays = new_recipient(alice), new_recipient(alice)
    made = new_endpoint(alice, url=f"mailto:{leaves.email}", event_types=["alarm.opened"], format="email")
    path = f"{ENDPOINTS}/{made['id']}"
    Member.objects.using(SYSTEM).filter(user=leaves).delete()
    for changes in ({"is_enabled": False}, {"per_hour": 7}, {"event_types": ["alarm.resolved"]}):
        changed = ok(alice.patch(path, changes))["event_endpoint"]
        assert {name: changed[name] for name in changes} == changes
    with override_settings(EMAIL_HOST=""):
        ok(alice.patch(path, {"is_enabled": False}))
    for name in ("url", "format"):
        (error,) = assert_problem(alice.patch(path, {name: made[name]}), "validation_failed")["errors"]
        assert error["pointer"] == "/url"
    assert ok(alice.patch(path, {"url": f"mailto:{stays.email}"}))["event_endpoint"]["is_enabled"] is False
