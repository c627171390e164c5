"""Two prompts, which is better and why: from the board to the pairs behind the number, a label, and a gate."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import join, new_user
from tests.browser.conftest import Browser
from tests.browser.console.conftest import sign_in_by_cookie
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.experiments.conftest import make_dataset, make_experiment
from tests.experiments.pushing import Runner, post_next
from tests.factories import ok


@pytest.fixture
def editor(browser: Browser, alice: Caller) -> Browser:
    user = new_user()
    join(user, alice.account, "editor")
    sign_in_by_cookie(browser, user)
    return browser


def test_which_of_two_prompts_is_better_and_why(editor: Browser, alice: Caller) -> None:
    made = answered(alice, {"e1"}, {f"e{i}" for i in range(30)}, n=60)
    page = editor.page
    editor.open("/console/experiments")
    editor.follow(f"text={made['name']}")
    editor.follow("a[aria-label='Why? Compare old prompt with it']")
    editor.follow("text=Swap")
    assert "new prompt is better than old prompt by 0.48" in editor.text()

    editor.follow("text=Improvements: new prompt is better")
    assert page.locator("[data-example]").count() == 8
    assert page.locator("[data-example] mark").count() > 0
    page.keyboard.press("n")
    assert page.evaluate("document.activeElement.matches('[data-example]')")

    editor.follow("text=Create the question")
    with page.expect_navigation():
        page.locator("button[aria-label^='Fail: the answer of old prompt']").first.click()
    editor.settle()
    assert "is kept for the answer of old prompt" in editor.text()
    assert page.evaluate("Boolean(document.activeElement.closest('[id^=answer-]'))")

    page.select_option("#f-kind", "better_by")
    page.fill("#f-limit", "0.1")
    editor.follow("text='Ask the gate'")
    assert "The rule is shown to hold." in page.inner_text("#gate")
    (gate,) = ok(alice.get("/v1/gates"))["gates"]
    assert gate["outcome"] == "pass"


def answer_ten(caller: Caller, made: Any, i: int) -> None:
    post_next(Runner(caller, made, i), lambda example: example["expected"])


def test_the_board_moves_keeps_its_ticks_and_says_a_lost_connection(editor: Browser, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    page, first = editor.page, ids(made)[0]
    page.goto(f"{editor.address}/console/experiments/{made['id']}")
    page.check(f"input[value='{first}']")
    page.locator("h1").click()

    answer_ten(alice, made, 0)
    page.locator("#live", has_text="10 / 20").wait_for()
    assert page.is_checked(f"input[value='{first}']")

    page.route("**/live*", lambda route: route.abort())
    page.wait_for_selector("text=The connection is lost.")
    page.unroute("**/live*")
    answer_ten(alice, made, 1)
    page.locator("#live", has_text="20 of 40").wait_for()
    page.locator("#connection").wait_for(state="hidden")
    editor.errors.clear()

    with page.expect_navigation():
        page.press("button[aria-label='Stop new prompt']", "Enter")
    assert "Stopped new prompt." in editor.text()
    assert page.evaluate(f"Boolean(document.activeElement.closest('#config-{first}'))")
