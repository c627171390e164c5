"""What is drawn across the chart of a history, and filters on a phone."""

from __future__ import annotations

from tests.browser.console.conftest import Signed

HISTORY = "histories/one?evaluator=exact-match-2026-11-28&profile=patronus:exact-match&x=n&include_experiments=none"


def test_a_span_is_drawn_and_leads_to_its_evaluations(signed: Signed) -> None:
    signed.open(HISTORY)
    page = signed.page
    n_all = page.inner_text("[data-brush] output")
    box = page.locator(".plot .area").first.bounding_box()
    page.mouse.move(box["x"] + 0.3 * box["width"], box["y"] + 80)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 90, steps=4)
    page.mouse.up()
    n = int(page.inner_text("[data-brush] output").removeprefix("n = "))
    places = page.evaluate("[...document.querySelectorAll('[data-brush] select')].map((s) => s.selectedIndex)")

    assert 0 < places[0] < places[1] and 20 < n < 40 and n_all == "n = 100"
    signed.browser.follow("[data-brush] button")
    assert "first=" in page.url and "last=" in page.url and "scored=pass" in page.url
    signed.browser.assert_quiet()


def test_filters_are_folded_on_a_phone(signed: Signed) -> None:
    signed.page.set_viewport_size({"width": 360, "height": 740})
    signed.open("evaluations?app=shop&period=7d")
    assert signed.page.inner_text(".fold > summary") == "Filters: 2 set"
    assert not signed.page.is_visible("#f-app")
    signed.page.set_viewport_size({"width": 1200, "height": 740})
    signed.page.wait_for_selector("#f-app")

    assert not signed.page.is_visible(".fold > summary")
    signed.browser.assert_quiet()
