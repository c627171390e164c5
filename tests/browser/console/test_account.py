"""A key is issued by keys alone; it is shown once, and a reload shows the list."""

from __future__ import annotations

import re

from tests.browser.console.conftest import Signed
from tests.browser.console.pressing import Keys
from tests.conftest import Caller
from tests.factories import ok


def test_twelve_keys_issue_a_key(signed: Signed, alice: Caller) -> None:
    signed.open("keys")
    page, keys = signed.page, Keys(signed)
    keys.press("Tab", "Enter", "Tab")  # past the navigation, to the button
    assert page.evaluate("document.activeElement.textContent") == "Issue a key"
    with page.expect_navigation():
        keys.press("Enter")
    keys.type("ci")
    with page.expect_navigation():
        keys.press("Enter")
    (text,) = re.findall(r"ek_[a-z0-9]{16}\.[A-Za-z0-9_-]{43}", page.inner_text("#issued"))

    assert keys.n <= 12
    assert ok(Caller(alice.account, text).get("/v1/whoami"))["caller"]["api_key"]["scope"] == "write"
    page.reload()
    page.wait_for_selector("main a:has-text('Issue a key')")  # the list is there, and not the answer before it
    assert (
        page.url.endswith(f"/console/{alice.account.pk}/keys")
        and text not in page.content()
        and "ci" in page.inner_text("main")
    )
    signed.browser.assert_quiet()
