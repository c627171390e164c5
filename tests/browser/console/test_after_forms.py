"""Pages that only a form leads to are for everyone too: no address leads there, so the walk over all pages misses them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tests.browser.console.conftest import Signed
from tests.browser.console.looking import assert_for_everyone

pytestmark = pytest.mark.slow

HOOKS = "http://127.0.0.1:9/hooks"
PRIMARY = "main button.primary"
# What is opened, what is typed into it, and a part of what comes then.
SHOWN_ONCE: dict[str, tuple[str, Mapping[str, str], str]] = {
    "key": ("keys/new", {"name": "ci"}, "#issued"),
    "webhook": ("webhooks/new", {"url": HOOKS, "evaluation.failed": ""}, "main >> text=Secret"),
    "invitation": ("members/invite", {"email": "ann@example.net"}, "main >> text=Link"),
    "link": ("reviews/{review}?tab=links", {"name": "Ann"}, "#h-issued"),
}
ANSWERS: dict[str, tuple[str, Mapping[str, str], str]] = {
    "verdict": ("playground?from={evaluation}", {"evaluator-0": "exact-match"}, "#h-answers"),
    "refused": ("webhooks/new", {"url": HOOKS}, "main >> text=Choose at least one event"),
    "gate": ("compare?a={candidate}&b={baseline}", {"limit": "1", "looks": "watched"}, "#gate .badge"),
    "gate-refused": ("compare?a={candidate}&b={baseline}", {}, "main >> text=which holds however often you look"),
}
FORMS = SHOWN_ONCE | ANSWERS


def fill(page: Any, selector: str, text: str) -> None:
    kind = page.get_attribute(selector, "type")
    if page.evaluate("(one) => document.querySelector(one).tagName", selector) == "SELECT":
        page.select_option(selector, text)
    elif kind == "checkbox":
        page.check(selector)
    else:
        page.fill(selector, text)


@pytest.mark.parametrize("form", FORMS)
def test_what_comes_of_a_form_shuts_nobody_out(signed: Signed, form: str) -> None:
    path, typed, part = FORMS[form]
    signed.open(path)
    for name, text in typed.items():
        fill(signed.page, f"main [name='{name}']", text)
    with signed.page.expect_navigation():
        signed.page.click(PRIMARY)
    signed.browser.settle()

    signed.page.wait_for_selector(part)
    assert_for_everyone(signed.page)
    if "refused" in form:
        signed.browser.errors.clear()  # the browser notes that the answer was 422


def test_what_is_not_there_shuts_nobody_out(signed: Signed) -> None:
    assert signed.open("experiments/404").status == 404
    assert_for_everyone(signed.page)
    signed.browser.errors.clear()  # the browser notes that the page was 404
