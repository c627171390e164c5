"""The page of a review in a real browser: by keys, by a link, on a phone, without a script."""

from __future__ import annotations

from typing import Any

import pytest

from tests.annotations.shapes import new_criteria
from tests.browser.conftest import Browser
from tests.conftest import Caller, wait_until
from tests.reviews.linking import new_link, path_of, queue_of
from tests.reviews.shapes import answered_experiment, items, new_review, outputs_of, pairs_of, report, review_of_outputs

LONG = "An answer that goes on and on. " * 120


def enter(browser: Browser, caller: Caller, review: Any) -> None:
    """Come by a link: its address is of this test's server."""
    browser.open(path_of(new_link(caller, review)))
    browser.follow("button.primary")


SHOWN = "document.body.dataset.shown || '0'"


def press(browser: Browser, key: str) -> None:
    """Press a key and wait for the item that follows."""
    before = browser.page.evaluate(SHOWN)
    browser.page.keyboard.press(key)
    browser.page.wait_for_function(f"(before) => ({SHOWN}) !== before", arg=before)


def outcomes(caller: Caller, review: Any) -> list[str]:
    return [said["outcome"] for item in items(caller, review) for said in item["answers"]]


def test_one_key_is_one_answer(browser: Browser, alice: Caller) -> None:
    review, criteria = review_of_outputs(alice, 3)
    enter(browser, alice, review)
    for key in ("1", "2", "u", "1"):
        press(browser, key)

    said = [one["answers"][criteria["id"]]["value_pass"] for item in items(alice, review) for one in item["answers"]]
    assert said == [True, True]
    assert "2 of 3" in browser.text()


def test_the_next_item_comes_alone(browser: Browser, alice: Caller) -> None:
    """No second document, style sheet or script; and the focus is on what came."""
    review, _ = review_of_outputs(alice, 3)
    enter(browser, alice, review)
    browser.page.evaluate("window.stays = true")
    browser.requests.clear()
    for key in ("1", "2"):
        press(browser, key)

    assert browser.page.evaluate("window.stays")
    assert [url.removeprefix(browser.address) for url in browser.requests] == [queue_of(review)] * 4
    assert browser.page.evaluate("document.activeElement.id") == "content"
    assert browser.page.inner_text("#said").startswith("2 of 3")


def test_two_questions_take_three_keys(browser: Browser, alice: Caller) -> None:
    asked = [new_criteria(alice), new_criteria(alice)]
    review = new_review(alice, outputs_of(answered_experiment(alice), "good"), *asked)
    enter(browser, alice, review)
    for key in ("1", "2"):
        browser.page.keyboard.press(key)
    press(browser, "Enter")

    ((said,),) = [item["answers"] for item in items(alice, review, status="complete")]
    assert [said["answers"][one["id"]]["value_pass"] for one in asked] == [True, False]


def test_on_a_phone_the_answer_is_within_reach_of_a_thumb(browser: Browser, alice: Caller) -> None:
    """In the lower half of the window, and large, whether the texts are long or short."""
    for text in (LONG, "short"):
        made = answered_experiment(alice, 1, good=text)
        browser.page.set_viewport_size({"width": 360, "height": 740})
        enter(browser, alice, new_review(alice, outputs_of(made, "good"), new_criteria(alice)))
        boxes = [one.bounding_box() for one in browser.page.locator(".answer button, .answer summary").all()]

        assert len(boxes) == 4
        for box in boxes:
            assert box["y"] >= 370 and box["y"] + box["height"] <= 740
            assert box["x"] >= 0 and box["x"] + box["width"] <= 360
        assert all(box["height"] >= 44 and box["width"] >= 100 for box in boxes[:2])


def test_pairs_by_keys_and_what_is_passed_over(browser: Browser, alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)))
    enter(browser, alice, review)
    for key in ("3", "s", "1"):
        press(browser, key)

    assert len(outcomes(alice, review)) == 2 and outcomes(alice, review)[0] == "tie"
    assert report(alice, review)["n_skipped"] == 1


def test_keys_that_are_typed_answer_nothing(browser: Browser, alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    enter(browser, alice, review)
    browser.page.click("summary:has-text('Say why')")
    browser.page.fill("#explanation", "")
    browser.page.type("#explanation", "12us?")
    browser.page.keyboard.press("Escape")
    press(browser, "1")

    ((said,),) = [item["answers"] for item in items(alice, review, status="complete")]
    assert said["explanation"] == "12us?"


def test_a_double_click_answers_one_item(browser: Browser, alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    enter(browser, alice, review)
    browser.page.dblclick("button[data-key='1']")

    wait_until(lambda: report(alice, review)["n_answered"] == 1)
    browser.open(queue_of(review))
    assert report(alice, review)["n_answered"] == 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [400, 1280])
def test_nothing_is_cut_off(browser: Browser, alice: Caller, width: int, scheme: Any) -> None:
    """Four questions, a long text, one without a blank, and a language that is written from right to left."""
    asked = [new_criteria(alice, kind) for kind in ("binary", "continuous", "categorical", "text_annotation")]
    made = answered_experiment(alice, good=LONG + "x" * 400 + " مرحبا")
    review = new_review(alice, outputs_of(made, "good"), *asked, instructions="Look at the tone.")
    browser.page.set_viewport_size({"width": width, "height": 860})
    browser.page.emulate_media(color_scheme=scheme)
    enter(browser, alice, review)
    browser.page.click("summary:has-text('Show the rest')")

    assert browser.page.evaluate("document.documentElement.scrollWidth") <= width
    colors = browser.page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    assert colors[0] != colors[1]


def test_it_works_without_a_script(browser: Browser, alice: Caller) -> None:
    review = new_review(alice, pairs_of(answered_experiment(alice)))
    browser.page.route("**/*.js", lambda route: route.fulfill(body="", content_type="text/javascript"))
    enter(browser, alice, review)
    browser.follow("button[value='tie']")

    assert outcomes(alice, review) == ["tie"]


def test_whoever_has_the_keyboard_only_sees_where_they_are(browser: Browser, alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    enter(browser, alice, review)
    seen = []
    for _ in range(8):
        browser.page.keyboard.press("Tab")
        seen.append(
            browser.page.evaluate(
                "document.activeElement === document.body ? '' : "
                "document.activeElement.innerText + getComputedStyle(document.activeElement).outlineStyle"
            )
        )

    assert any("Pass" in one for one in seen)
    assert all(one.endswith(("solid", "auto")) for one in seen if "Pass" in one)
