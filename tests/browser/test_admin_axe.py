"""The admin's pages against WCAG A and AA by axe: unfold's, with what `pages.css` and `pages.js` mend of them."""

from __future__ import annotations

import os
from typing import Any

import pytest
from axe_playwright_python.base import AXE_FILE_PATH
from django.contrib import admin

from tests.admin.conftest import new_user
from tests.attacks.belongings import Belongings, belongings
from tests.browser.conftest import Browser
from tests.browser.console.conftest import sign_in_by_cookie

pytestmark = pytest.mark.slow

__all__ = ["belongings"]

AXE = AXE_FILE_PATH.read_text(encoding="utf-8")
LOOKS = [(width, theme) for width in (400, 1400) for theme in ("light", "dark")]
WHOLE = bool(os.environ.get("EVALSVC_ALL_PAGES"))
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
RUN = """async (rules) => (await axe.run(document, {runOnly: rules, resultTypes: ['violations']})).violations.map(
    (one) => `${one.id}: ${one.nodes.map((node) => node.html.slice(0, 200)).join(' | ')}`)"""
FIRST_ROW = """() => document.querySelector('#result_list a[href*="/change/"]')?.href ?? ''"""


def pages_of(browser: Browser, model: Any) -> list[str]:
    """Open the list of a model; return it, the page of its first row, and the form for another."""
    base = f"/admin/{model._meta.app_label}/{model._meta.model_name}/"
    browser.open(base)
    row = browser.page.evaluate(FIRST_ROW).removeprefix(browser.address)
    add = [f"{base}add/"] if browser.page.locator(f"a[href*='{base}add/']").count() else []
    return [base, *([row] if row else []), *add]


def wrong_with(browser: Browser, path: str) -> list[str]:
    assert browser.open(path).status == 200, path
    browser.page.evaluate(AXE)
    found: list[str] = browser.page.evaluate(RUN, RULES)
    return [f"{path}: {one}" for one in found]


@pytest.mark.timeout(600 if WHOLE else 180)
def test_no_page_shuts_anybody_out(browser: Browser, belongings: Belongings) -> None:
    """Each page in one look, by turns: a phone's in the dark, a wide one in the light; in all with EVALSVC_ALL_PAGES=1."""
    sign_in_by_cookie(browser, new_user(is_superuser=True))
    models = admin.site._registry
    pages = ["/admin/", "/admin/password_change/", *(path for model in models for path in pages_of(browser, model))]
    assert len(pages) > 2 * len(models)
    looks = LOOKS if WHOLE else LOOKS[1:3]
    for i, (width, theme) in enumerate(looks):
        browser.page.set_viewport_size({"width": width, "height": 900})
        browser.page.emulate_media(color_scheme=theme)
        looked_at = pages if WHOLE else pages[i :: len(looks)]
        assert [one for path in looked_at for one in wrong_with(browser, path)] == [], (width, theme)
