"""A profile is made by keys alone, and an evaluation is tried again with it."""

from __future__ import annotations

from tests.browser.console.conftest import Signed
from tests.conftest import Caller
from tests.factories import ok


class Keys:
    """Presses keys and counts them; each character that is typed is one."""

    def __init__(self, signed: Signed) -> None:
        self.signed, self.n = signed, 0

    def press(self, *keys: str) -> None:
        for key in keys:
            self.signed.page.keyboard.press(key)
            self.n += 1

    def type(self, text: str) -> None:
        self.press(*text)


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
    assert "The profile strict is made" in signed.page.inner_text("#messages")
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
