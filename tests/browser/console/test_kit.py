"""What moves, by pointer and by keys: tooltips, legends, the theme, tables that are walked through, a folded menu."""

from __future__ import annotations

from tests.browser.console.conftest import Signed


def test_points_speak_to_keys_and_to_the_pointer(signed: Signed) -> None:
    signed.open("kit")
    plot = signed.page.locator(".plot").first
    plot.focus()
    signed.page.keyboard.press("ArrowRight")
    first = signed.page.inner_text(".tip")
    signed.page.keyboard.press("End")

    assert first.startswith("all: 0.750 [0.690, 0.800], 2026-03-01") and signed.page.inner_text(".tip") != first
    signed.page.keyboard.press("Escape")
    assert signed.page.is_hidden(".tip")
    signed.page.locator(".plot .point").nth(3).hover()
    assert signed.page.inner_text(".tip").startswith("all: ")


def test_a_legend_puts_one_series_in_front(signed: Signed) -> None:
    signed.open("kit")
    button = signed.page.locator(".legend button", has_text="config-14")
    button.click()

    chart = signed.page.locator(".chart", has_text="Twenty configs")
    assert button.get_attribute("aria-pressed") == "true"
    assert chart.locator("[data-of='13'].faint").count() == 0 and chart.locator("[data-of='2'].faint").count() == 2
    button.click()
    assert chart.locator(".faint").count() == 0


def test_a_theme_is_kept_from_page_to_page(signed: Signed) -> None:
    signed.open("kit")
    with signed.page.expect_response(lambda answer: answer.url.endswith("/console/theme")):
        signed.page.select_option("#theme-choice", "dark")
    assert signed.page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    signed.open("histories")

    assert signed.page.evaluate("() => document.documentElement.dataset.theme") == "dark"
    assert signed.page.evaluate("() => getComputedStyle(document.body).backgroundColor") == "rgb(16, 20, 27)"


def test_a_table_is_walked_through_by_keys(signed: Signed) -> None:
    signed.open("kit")
    for key in ("j", "j", "j", "k"):
        signed.page.keyboard.press(key)
    assert signed.page.evaluate("() => document.activeElement.textContent") == "b-profile"

    signed.page.fill("#f-q", "jjj")
    assert signed.page.input_value("#f-q") == "jjj"


def test_on_a_phone_the_menu_is_folded_and_no_page_is_wider(signed: Signed) -> None:
    signed.page.set_viewport_size({"width": 360, "height": 800})
    signed.open("kit")

    assert signed.page.evaluate("() => document.querySelector('details.menu').open") is False
    assert signed.page.evaluate("() => document.documentElement.scrollWidth") == 360


def test_a_page_says_all_without_a_script(signed: Signed) -> None:
    context = signed.page.context.browser.new_context(java_script_enabled=False)
    context.add_cookies(signed.page.context.cookies())
    page = context.new_page()
    page.goto(f"{signed.browser.address}/console/histories")

    assert "exact-match-2026-11-28" in page.inner_text("main") and page.is_visible("nav.side a")
    context.close()
