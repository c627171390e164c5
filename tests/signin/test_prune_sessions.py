"""Sessions end in the database too: those that are over go, and a browser that is nobody's is soon forgotten."""

from __future__ import annotations

from datetime import timedelta

import pytest
from allauth.usersessions.models import UserSession
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from evalsvc.accounts.access.session_store import NOBODYS_SECONDS, SessionStore, compute_digest
from evalsvc.accounts.signing_in import sessions
from evalsvc.accounts.tasks import run_session_prune
from evalsvc.celery import app
from tests.signin.conftest import Somebody, is_signed_in


def let_end(client: Client) -> str:
    """Let a browser's session be over; return what it is stored under."""
    key = compute_digest(str(client.session.session_key))
    Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1))
    return key


def test_what_is_over_goes_with_its_note(ann: Somebody) -> None:
    over = let_end(ann.enter(ann.new_browser()))
    ann.enter()

    assert run_session_prune() >= 1

    assert not Session.objects.filter(pk=over).exists()
    assert not UserSession.objects.filter(session_key=over).exists()
    assert is_signed_in(ann.client)
    assert UserSession.objects.filter(session_key=compute_digest(str(ann.client.session.session_key))).exists()


def test_it_goes_in_portions_and_stops_after_some(ann: Somebody, monkeypatch: pytest.MonkeyPatch) -> None:
    run_session_prune()
    monkeypatch.setattr(sessions, "PRUNED_AT_ONCE", 2)
    monkeypatch.setattr(sessions, "MAX_PORTIONS", 2)
    for _ in range(5):
        let_end(ann.enter(ann.new_browser()))

    assert [run_session_prune() for _ in range(3)] == [4, 1, 0]


def test_beat_prunes() -> None:
    app.loader.import_default_modules()
    entry = app.conf.beat_schedule["prune_sessions"]

    assert entry["task"] in app.tasks
    assert entry["options"]["queue"] == "system"


def seconds_left(store: SessionStore) -> float:
    row = Session.objects.get(pk=compute_digest(str(store.session_key)))
    return (row.expire_date - timezone.now()).total_seconds()


@pytest.mark.parametrize("expiry", [None, 12 * 3600])
def test_a_session_of_nobody_is_soon_over(expiry: int | None) -> None:
    store = SessionStore()
    store["begun"] = True
    if expiry is not None:
        store.set_expiry(expiry)
    store.save()

    assert seconds_left(store) <= NOBODYS_SECONDS
    assert store.get_expiry_age() <= NOBODYS_SECONDS, "the cookie too"


def test_a_session_of_somebody_is_good_for_long(ann: Somebody) -> None:
    ann.enter()

    assert seconds_left(SessionStore(ann.client.session.session_key)) > 13 * 86_400
