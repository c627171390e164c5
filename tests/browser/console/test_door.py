"""The door before anybody is signed in: its pages are for everyone too."""

from __future__ import annotations

from tests.browser.conftest import Browser
from tests.browser.console.looking import LOOKS, wrong_with

PAGES = ("sign-in", "sign-in/reset/1/not-a-link")


def test_its_pages_shut_nobody_out(browser: Browser) -> None:
    for width, theme in LOOKS:
        browser.page.set_viewport_size({"width": width, "height": 900})
        browser.page.emulate_media(color_scheme=theme)
        for path in PAGES:
            browser.page.goto(f"{browser.address}/console/{path}")
            browser.settle()
            assert browser.page.locator("main h1").count() == 1, path
            assert wrong_with(browser.page) == [], (path, width, theme)
    browser.errors.clear()


def test_what_is_wrong_is_said_where_the_eye_and_the_reader_are(browser: Browser) -> None:
    browser.open("/console/sign-in")
    browser.page.fill("input[name=username]", "nobody@example.com")
    browser.page.fill("input[name=password]", "wrong")
    browser.follow("main button[type=submit]")

    assert browser.page.locator("[role=alert]").inner_text()
    assert browser.page.input_value("input[name=username]") == "nobody@example.com"
    assert wrong_with(browser.page) == []
