"""The guides and the pages of the API, on a phone and wide, in the light and the dark: axe, by all of its rules."""

from __future__ import annotations

import pytest
from axe_playwright_python.base import AXE_FILE_PATH

from tests.browser.conftest import Browser

pytestmark = pytest.mark.slow

AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
RUN = """async () => (await axe.run(document, {resultTypes: ['violations']})).violations.map(
    (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(' | ')}`)"""
OPEN = "() => document.querySelectorAll('details').forEach((one) => { one.open = true; })"
WIDER = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
PAGES = ("/docs/", "/docs/concepts", "/docs/search?q=interval", "/docs/reference", "/docs/reference/evaluate")


@pytest.mark.parametrize(("width", "theme"), [(400, "dark"), (1400, "light")])
def test_nothing_shuts_anybody_out(browser: Browser, width: int, theme: str) -> None:
    browser.page.set_viewport_size({"width": width, "height": 900})
    browser.page.emulate_media(color_scheme=theme)
    for path in PAGES:
        assert browser.open(path).status == 200
        browser.page.evaluate(OPEN)
        browser.page.evaluate(AXE)
        assert browser.page.evaluate(RUN) == [], path
        assert browser.page.evaluate(WIDER) <= 0, path


def test_a_call_is_found_and_read_by_keyboard(browser: Browser) -> None:
    browser.open("/docs/reference")
    browser.page.focus("#call")
    browser.page.keyboard.type("lease item")
    browser.page.keyboard.press("Enter")
    browser.page.wait_for_url("**/docs/reference?q=lease+item")
    browser.page.click("a:has-text('/v1/reviews/{id}/lease')")

    assert "As it was answered" in browser.text() and "lease_token" in browser.text()
