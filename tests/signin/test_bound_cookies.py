"""Cookies that a browser binds to the host where https is required, and sessions from before they were."""

from __future__ import annotations

import pytest
from django.test import Client, override_settings

from tests.admin.conftest import Person, member
from tests.conftest import Caller
from tests.signin.conftest import YOU, Somebody

SESSION, FORMER = "__Host-sessionid", "sessionid"
BOUND = override_settings(
    SESSION_COOKIE_NAME=SESSION,
    CSRF_COOKIE_NAME="__Host-csrftoken",
    SESSION_COOKIE_SECURE=True,
    CSRF_COOKIE_SECURE=True,
)


@pytest.fixture
def person(alice: Caller) -> Person:
    """Somebody who signed in before cookies were bound."""
    return member(alice.account, "reader")


def browser(cookies: dict[str, str]) -> Client:
    client = Client()
    for name, value in cookies.items():
        client.cookies[name] = value
    return client


def test_a_session_from_before_goes_on_under_the_new_name(person: Person) -> None:
    before = person.client.cookies[FORMER].value
    with BOUND:
        client = browser({FORMER: before})
        answer = client.get(YOU)

        assert answer.status_code == 200
        cookie = answer.cookies[SESSION]
        assert (cookie.value, cookie["path"], cookie["domain"]) == (before, "/", "")
        assert cookie["secure"] and cookie["httponly"]
        assert browser({SESSION: before}).get(YOU).status_code == 200
        assert SESSION not in client.get(YOU).cookies, "it is written once"


def test_a_session_that_has_the_new_name_is_not_opened_by_the_former_one(person: Person) -> None:
    """A neighbour in the domain can set the former cookie, with a session that is good."""
    key = person.client.cookies[FORMER].value
    with BOUND:
        browser({FORMER: key}).get(YOU)

        assert browser({FORMER: key}).get(YOU).status_code == 302
        assert browser({SESSION: "x" * 32, FORMER: key}).get(YOU).status_code == 302


def test_a_sign_in_is_bound_from_the_start(ann: Somebody) -> None:
    with BOUND:
        client = ann.new_browser()
        answer = ann.sign_in(client=client)
        key = answer.cookies[SESSION].value

        assert answer.status_code == 302
        assert FORMER not in answer.cookies
        assert client.get(YOU).status_code == 200
        assert browser({FORMER: key}).get(YOU).status_code == 302


def test_a_former_session_that_was_ended_opens_nothing(person: Person) -> None:
    key = person.client.cookies[FORMER].value
    person.client.logout()

    with BOUND:
        assert browser({FORMER: key}).get(YOU).status_code == 302


def test_without_https_the_names_stay(person: Person) -> None:
    assert person.client.get(YOU).status_code == 200
    assert [name for name in person.client.cookies if name.startswith("__")] == []
