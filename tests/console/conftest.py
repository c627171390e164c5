"""People of the console's pages, and what a page of it says."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import Person, join, member, new_user, signed_in
from tests.conftest import Caller, new_account
from tests.console.addresses import console_address
from tests.docs.conftest import web
from tests.queries import queries_of


class Visitor(Person):
    """Somebody signed in who opens pages of the console."""

    account: int | None = None
    """The selected account: read once, as queries are counted."""

    def at(self, path: str = "") -> str:
        """The address of a page in the account that is selected."""
        self.account = self.account or selected_account(self)
        return console_address(self.account, path)

    def get(self, path: str = "", **query: str) -> Any:
        return self.client.get(self.at(path), query)

    def post(self, path: str, **fields: Any) -> Any:
        answer = self.client.post(self.at(path), fields)
        if path == "accounts":
            self.account = selected_account(self)
        return answer

    def text(self, path: str = "", **query: str) -> str:
        answer = self.get(path, **query)
        assert answer.status_code == 200, answer.status_code
        return str(answer.content.decode())

    def n_queries(self, path: str = "", **query: str) -> int:
        """How many queries of rows the page makes when it is opened again; savepoints and scopes are none."""
        self.text(path, **query)
        return len(queries_of(lambda: self.text(path, **query)))


def selected_account(person: Person) -> int | None:
    """The account whose pages are opened without one in their address; None if there is none."""
    from evalsvc.accounts.selectors import list_memberships

    chosen = person.client.session.get("account_id") if "sessionid" in person.client.cookies else None
    members_of = [row.account_id for row in list_memberships(user=person.user)]
    if chosen is not None and (chosen in members_of or person.user.is_superuser):
        return int(chosen)
    return members_of[0] if members_of else None


def visitor(person: Person) -> Visitor:
    found = Visitor(person.user, person.client)
    found.at()
    return found


@pytest.fixture
def reader(alice: Caller) -> Visitor:
    return visitor(member(alice.account, "reader"))


@pytest.fixture
def editor(alice: Caller) -> Visitor:
    return visitor(member(alice.account, "editor"))


@pytest.fixture
def admin(alice: Caller) -> Visitor:
    return visitor(member(alice.account, "admin"))


@pytest.fixture
def stranger(charlie: Caller) -> Visitor:
    """Somebody who may do everything in another account."""
    return visitor(member(charlie.account, "admin"))


@pytest.fixture
def operator() -> Visitor:
    return visitor(signed_in(new_user(is_superuser=True)))


@pytest.fixture
def nobody() -> Visitor:
    return visitor(signed_in(new_user()))


@pytest.fixture
def other_account() -> Any:
    return new_account("other")


__all__ = ["Visitor", "join", "visitor", "web"]
