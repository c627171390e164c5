"""A session read together with the person and their memberships: what has changed since counts at the next request."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib.sessions.models import Session
from django.db import connections
from django.test import Client, RequestFactory, override_settings
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from evalsvc.accounts.access.session_store import SessionStore, compute_digest
from evalsvc.accounts.membership import choose_account, get_current_membership
from evalsvc.accounts.models import Account, Member, User
from tests.admin.conftest import Person, join, member, new_user, signed_in
from tests.conftest import Caller

BOARD = "/console/experiments"


@pytest.fixture
def ann(alice: Caller) -> Person:
    """Somebody whose session is noted, so that one statement reads who they are."""
    person = member(alice.account, "reader")
    assert person.client.get(BOARD, follow=True).status_code == 200
    assert UserSession.objects.filter(user=person.user).count() == 1
    return person


def led_to(person: Person) -> str:
    return str(person.client.get(BOARD).headers.get("Location", "")).partition("?")[0]


def statements(client: Client) -> list[str]:
    path = client.get(BOARD).headers["Location"]
    with CaptureQueriesContext(connections["signin"]) as queries:
        client.get(path)
    return [one["sql"] for one in queries if "django_session" in one["sql"] or "accounts_user" in one["sql"]]


def memberships() -> Any:
    return Member.objects.using("system")


def test_one_statement_says_who_asks(ann: Person) -> None:
    assert len(statements(ann.client)) == 1


def test_somebody_suspended_is_refused(ann: Person) -> None:
    User.objects.using("system").filter(pk=ann.user.pk).update(is_active=False)

    assert led_to(ann) == "/console/sign-in"


def test_a_session_of_before_a_new_password_is_refused(ann: Person) -> None:
    user = User.objects.get(pk=ann.user.pk)
    user.set_password("another one, and long")
    user.save(update_fields=["password"])

    assert led_to(ann) == "/console/sign-in"


def test_a_session_that_has_expired_is_refused(ann: Person) -> None:
    key = compute_digest(ann.client.session.session_key)
    assert Session.objects.filter(pk=key).update(expire_date=timezone.now() - timedelta(seconds=1)) == 1

    assert led_to(ann) == "/console/sign-in"


def test_a_deleted_person_is_refused(ann: Person) -> None:
    memberships().filter(user=ann.user).delete()
    User.objects.using("system").filter(pk=ann.user.pk).delete()

    assert led_to(ann) == "/console/sign-in"


def test_a_removed_member_sees_nothing(ann: Person) -> None:
    memberships().filter(user=ann.user).delete()

    assert led_to(ann) == "/console/accounts"


def test_an_account_that_is_off_is_not_shown(ann: Person, alice: Caller) -> None:
    Account.objects.using("system").filter(pk=alice.account.pk).update(off_at=timezone.now())

    assert led_to(ann) == "/console/accounts"


def test_an_account_that_asks_for_a_second_factor_is_not_shown(ann: Person, alice: Caller) -> None:
    Account.objects.using("system").filter(pk=alice.account.pk).update(require_second_factor=True)

    assert led_to(ann) == "/console/you/factor"


def test_another_role_counts_at_once(ann: Person) -> None:
    assert ann.client.get("/console/members", follow=True).status_code == 403

    memberships().filter(user=ann.user).update(role="admin")

    assert ann.client.get("/console/members", follow=True).status_code == 200


def test_what_the_session_says_decides_and_not_its_note(ann: Person, charlie: Caller) -> None:
    """Otherwise whoever could write a note would be somebody else."""
    other = new_user(is_superuser=True)
    join(other, charlie.account, "admin")
    UserSession.objects.filter(user=ann.user).update(user=other)

    page = ann.client.get("/console/accounts").content.decode()

    assert charlie.account.name not in page and ann.client.get("/console/operator").status_code == 404


def test_a_session_without_a_note_is_read_as_before(ann: Person) -> None:
    UserSession.objects.filter(user=ann.user).delete()

    assert ann.client.get(BOARD, follow=True).status_code == 200
    assert len(statements(ann.client)) == 2


def test_a_session_under_a_former_secret_goes_on(ann: Person) -> None:
    with override_settings(SECRET_KEY="a new one" * 8, SECRET_KEY_FALLBACKS=[settings.SECRET_KEY]):
        assert ann.client.get(BOARD, follow=True).status_code == 200


def test_of_two_people_in_turns_each_is_themselves(ann: Person, charlie: Caller) -> None:
    other = member(charlie.account, "reader")

    for _ in range(2):
        assert ann.user.email in ann.client.get("/console/you").content.decode()
        assert other.user.email in other.client.get("/console/you").content.decode()


def test_an_account_that_was_joined_on_this_request_can_be_chosen(alice: Caller, charlie: Caller) -> None:
    """What was read with the session is of before."""
    person = signed_in(new_user())
    join(person.user, alice.account, "reader")
    person.client.get(BOARD, follow=True)
    request = RequestFactory().get("/")
    request.session, request.user = SessionStore(person.client.session.session_key), person.user
    assert request.session.get("account_id") is None

    join(person.user, charlie.account, "reader")
    first = get_current_membership(request)

    assert first is not None and first.account_id == alice.account.pk
    assert choose_account(request, str(charlie.account.pk)) is not None
    assert get_current_membership(request).account_id == charlie.account.pk  # type: ignore[union-attr]


@pytest.mark.parametrize("sent", ["", "x" * 41, "short", '"\\000aaaaaaaa"', "é" * 12])
def test_a_cookie_that_is_none_is_nobody(sent: str, alice: Caller) -> None:
    client = Client(HTTP_COOKIE=f"sessionid={sent}", raise_request_exception=False)

    assert client.get(BOARD).headers["Location"].startswith("/console/sign-in")
