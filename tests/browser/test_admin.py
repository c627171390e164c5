"""The admin as people use it: sign in, make and revise a profile, issue and revoke a key, read an evaluation."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.admin.conftest import HOSTILE, PASSWORD, join, new_evaluation, new_user
from tests.browser.conftest import Browser
from tests.conftest import Caller

pytestmark = pytest.mark.slow


@pytest.fixture
def ann(alice: Caller) -> Any:
    """An admin of Alice's account."""
    user = new_user(password=PASSWORD)
    join(user, alice.account, "admin")
    return user


def submit(browser: Browser, name: str = "_save") -> None:
    browser.follow(f"button[name={name}]")


def test_a_member_makes_and_revises_a_profile(browser: Browser, ann: Any, alice: Caller) -> None:
    page = browser.page
    browser.sign_in(ann)
    assert alice.account.name in browser.text()

    page.click("text=Profiles")
    page.click("a.addlink, a[href$='/profile/add/'] >> nth=0")
    page.select_option("#id_family", "metrics")
    page.fill("#id_name", "overlap")
    page.fill("#id_settings", '{"metric": "bleu", "pass_threshold": 7}')
    submit(browser)
    assert "must be at most 1" in browser.text()

    page.fill("#id_settings", '{"metric": "bleu", "pass_threshold": 0.5}')
    submit(browser)
    assert "overlap" in browser.text()

    page.click("a:has-text('overlap') >> nth=0")
    page.fill("#id_settings", '{"metric": "rougeL", "pass_threshold": 0.25}')
    page.fill("#id_description", "less strict")
    submit(browser)
    browser.follow("a:has-text('overlap') >> nth=0")

    assert "less strict" in page.content()
    assert '"bleu"' in page.inner_text("#revisions-group")


def test_a_key_works_until_it_is_revoked(browser: Browser, ann: Any, alice: Caller) -> None:
    page = browser.page
    browser.sign_in(ann)
    browser.open("/admin/accounts/apikey/add/")
    page.fill("#id_name", "from the browser")
    submit(browser)
    key = page.inner_text("#issued-key").strip()
    whoami = {"url": f"{browser.address}/v1/whoami", "headers": {"X-API-KEY": key}}

    assert page.request.get(**whoami).json()["caller"]["api_key"]["account"]["name"] == alice.account.name
    page.reload()
    assert "/apikey/" in page.url and key not in page.content(), "reloading neither shows nor issues a key again"

    page.click("a:has-text('from the browser')")
    page.click("a:has-text('Revoke')")
    submit(browser, "confirm")
    assert "is revoked" in browser.text()
    assert page.request.get(**whoami).status == 401


def test_hostile_text_does_nothing(browser: Browser, ann: Any, alice: Caller) -> None:
    row = new_evaluation(alice, evaluated_model_input=HOSTILE, evaluated_model_output=HOSTILE, app=HOSTILE[:50])
    browser.sign_in(ann)

    browser.open("/admin/evaluations/evaluation/")
    assert "<script>alert(1)" in browser.text()
    browser.open(f"/admin/evaluations/evaluation/{row.pk}/change/")
    assert HOSTILE.split("\u202e")[0].strip() in browser.text()


def test_an_operator_opens_everything(browser: Browser, alice: Caller) -> None:
    new_evaluation(alice)
    browser.sign_in(new_user(password=PASSWORD, is_superuser=True))

    links = browser.page.eval_on_selector_all("#nav-sidebar-apps a", "all => all.map(one => one.pathname)")
    assert len(links) == 23  # the console, and the pages of rows
    for link in links:
        assert browser.open(link).status == 200, link
    browser.open("/admin/accounts/member/add/")
    browser.page.click(".select2-selection >> nth=0")
    browser.page.fill(".select2-search__field", alice.account.name)
    browser.page.click(f".select2-results__option:has-text('{alice.account.name}')")


def test_the_api_documents_render_offline(browser: Browser) -> None:
    browser.open("/docs/try")
    browser.page.wait_for_selector(".opblock")

    assert "/v1/evaluate" in browser.text()


PAGES = {
    "start": "/admin/",
    "profiles": "/admin/catalog/profile/",
    "profile": "/admin/catalog/profile/{profile}/change/",
    "profile-add": "/admin/catalog/profile/add/",
    "evaluators": "/admin/catalog/evaluator/",
    "evaluator-add": "/admin/catalog/evaluator/add/",
    "evaluations": "/admin/evaluations/evaluation/",
    "evaluation": "/admin/evaluations/evaluation/{evaluation}/change/",
    "keys": "/admin/accounts/apikey/",
    "key-add": "/admin/accounts/apikey/add/",
    "revoke": "/admin/accounts/apikey/{key}/revoke/",
    "audit": "/admin/accounts/auditentry/",
    "switch": "/admin/switch-account/",
}


WIDEST = """[...document.querySelectorAll('#content *')].filter(one => one.getBoundingClientRect().right > innerWidth)
    .slice(0, 20).map(one => `${one.tagName}.${one.className}`.slice(0, 100)).join("\\n")"""


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(
    browser: Browser, ann: Any, alice: Caller, width: int, tmp_path: Path
) -> None:
    from tests.admin.conftest import key_of, new_profile

    folder = Path(os.environ.get("EVALSVC_SCREENSHOTS", tmp_path))
    long = "long words " * 300 + "x" * 3000
    ids = {
        "profile": new_profile(alice.account, "overlap").pk,
        "evaluation": new_evaluation(alice, evaluated_model_output=long, app=HOSTILE[:50]).pk,
        "key": key_of(alice).pk,
    }
    browser.sign_in(ann)
    browser.page.set_viewport_size({"width": width, "height": 900})
    for scheme in ("light", "dark"):
        browser.page.emulate_media(color_scheme=scheme)
        for name, path in PAGES.items():
            browser.open(path.format(**ids))
            browser.page.screenshot(path=folder / f"{name}-{width}-{scheme}.png")
            overflow = browser.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert overflow <= 0, (name, width, overflow, browser.page.evaluate(WIDEST))
