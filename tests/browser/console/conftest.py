"""One account with something of everything, its people, and a window that is signed in as one of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from django.conf import settings
from django.test import Client

from tests.admin.conftest import join, new_user
from tests.browser.conftest import Browser
from tests.browser.console.furnishing import FURNISHERS
from tests.browser.console.pages import PAGES, ROLES, Found
from tests.conftest import Caller
from tests.console.addresses import console_address


@dataclass
class Signed:
    """A window of the console, signed in."""

    browser: Browser
    found: Found

    @property
    def page(self) -> Any:
        return self.browser.page

    def open(self, path: str = "") -> Any:
        return self.browser.open(console_address(self.found["account"], path.format(**self.found)))


def sign_in_by_cookie(browser: Browser, user: Any, account: Any = None) -> None:
    """Sign in without the form, which hashes a password; an operator chooses the account."""
    client = Client()
    client.force_login(user)
    if account is not None:
        client.post("/console/accounts", {"account": account.pk})
    cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
    browser.page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": cookie, "url": browser.address}])


@pytest.fixture
def furnished(alice: Caller) -> Found:
    found: Found = {"account": alice.account.pk}
    for furnish in FURNISHERS:
        found |= furnish(alice)
    return found


@pytest.fixture
def signed(request: pytest.FixtureRequest, browser: Browser, alice: Caller, furnished: Found) -> Signed:
    """The window of a person of the account: of its admin, unless the test's parameter names another role."""
    role = getattr(request, "param", "admin")
    user = new_user(is_superuser=role == "operator")
    if role != "operator":
        join(user, alice.account, role)
    sign_in_by_cookie(browser, user, alice.account if role == "operator" else None)
    return Signed(browser, furnished)


def pages_for(role: str) -> Iterator[str]:
    for path, needed in PAGES:
        if ROLES.index(role) >= ROLES.index(needed):
            yield path
