"""A product manager reads who has won and by how much, opens why, and hands the address to a colleague."""

from __future__ import annotations

from tests.admin.conftest import PASSWORD, join, new_user
from tests.browser.conftest import Browser
from tests.browser.console.conftest import sign_in_by_cookie
from tests.browser.console.door import choose_account, sign_in_at_the_door
from tests.browser.console.looking import assert_for_everyone
from tests.conftest import Caller
from tests.console.comparing import answered, ids
from tests.factories import ok

WON = "accuracy: new prompt is better than old prompt by 0.40 ["


def test_the_winner_is_on_the_first_page_and_a_colleague_sees_the_same(
    browser: Browser, alice: Caller, charlie: Caller
) -> None:
    made = answered(alice, {"e1", "e2"}, {f"e{i}" for i in range(3, 29)}, n=60)
    a, b = ids(made)
    found = ok(alice.get(f"/v1/compare?a={a}&b={b}"))["comparison"]
    assert found["word"] == "better"
    manager, colleague = new_user(password=PASSWORD), new_user()
    join(manager, alice.account, "reader")
    for account in (charlie.account, alice.account):
        join(colleague, account, "reader")
    page = browser.page

    page.goto(f"{browser.address}/")
    assert page.locator("main h1").inner_text() == "Sign in"
    sign_in_at_the_door(page, browser.address, manager.email, PASSWORD)
    said = page.locator("main .conclusion").first.inner_text()
    assert WON in said and "decided" in said and "not decided" not in said
    assert page.locator("main .conclusion").first.bounding_box()["y"] < 400, "without scrolling"
    assert_for_everyone(page)

    browser.follow("main .conclusion >> text=Why")
    sentence = page.inner_text("#verdict-title")
    assert said.removeprefix("accuracy: ").startswith(sentence)
    assert "On this dataset it is +0.400 exactly" in browser.text()
    address, data = page.url, page.inner_text("main")
    assert f"/console/{alice.account.pk}/compare?" in address

    page.context.clear_cookies()
    sign_in_by_cookie(browser, colleague)
    choose_account(page, browser.address, charlie.account.name)
    assert charlie.account.name in page.inner_text("header")
    page.goto(address)
    browser.settle()

    assert page.inner_text("main") == data
    assert alice.account.name in page.inner_text("header")
    browser.follow("nav.side >> text=Experiments")
    assert made["name"] in browser.text(), "the way on stays in the account of the address"
    browser.assert_quiet()
