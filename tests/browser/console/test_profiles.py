"""A profile is made by keys alone, and an evaluation is tried again with it."""

from __future__ import annotations

from tests.browser.console.conftest import Signed
from tests.browser.console.pressing import Keys
from tests.conftest import Caller
from tests.factories import ok


def test_twenty_keys_make_a_profile(signed: Signed, alice: Caller) -> None:
    signed.open("profiles/new?family=toxicity")
    keys = Keys(signed)
    keys.type("strict")
    # Past the button; the threshold is the first setting.
    keys.press("Tab", "Tab")
    keys.type("0.9")
    with signed.page.expect_navigation():
        keys.press("Enter")
    made = ok(alice.get("/v1/evaluator-criteria?name=strict"))["evaluator_criteria"]

    assert [one["config"] for one in made] == [{"pass_threshold": 0.9}]
    assert keys.n <= 20
    assert "The profile strict is created" in signed.page.inner_text("#messages")
    signed.browser.assert_quiet()


def test_an_evaluation_is_tried_again_with_another_profile(signed: Signed) -> None:
    signed.open("evaluations/{evaluation}")
    signed.page.get_by_role("link", name="Try again with another profile").click()
    signed.page.fill("#f-evaluator-0", "pii")
    signed.page.fill("#f-profile-0", "")
    signed.page.fill("#f-evaluator-1", "exact-match")
    signed.page.fill("#f-gold", "330 metres")
    signed.page.get_by_role("button", name="Evaluate").click()
    answers = signed.page.inner_text("#answers")

    assert "failed" in answers and "EMAIL" in answers
    signed.browser.assert_quiet()
