"""The board as people use it: it moves while they watch, its buttons act, and long or hostile names break nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from evalsvc.experiments.decisions.step import step
from tests.admin.conftest import HOSTILE, HOSTILE_NAME, join, new_user
from tests.browser.conftest import Browser
from tests.browser.console.conftest import sign_in_by_cookie
from tests.conftest import Caller
from tests.console.comparing import TWO, answered, ids
from tests.experiments.conftest import EXACT, make_dataset, make_experiment
from tests.experiments.pushing import Runner


@pytest.fixture
def editor(browser: Browser, alice: Caller) -> Browser:
    user = new_user()
    join(user, alice.account, "editor")
    sign_in_by_cookie(browser, user)
    return browser


def watch(browser: Browser, made: Any) -> None:
    """Open the board; it never comes to rest, as it asks every second."""
    browser.page.goto(f"{browser.address}/console/experiments/{made['id']}")
    browser.page.wait_for_selector("#live")


def row(browser: Browser, config: str) -> Any:
    return browser.page.locator(f"#config-{config}")


def half(caller: Caller, made: Any, i: int, **took: float) -> None:
    """Answer ten examples of a config."""
    runner = Runner(caller, made, i)
    unit = runner.lease(n=10)["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": HOSTILE, **took} for e in unit["examples"]])


def test_buttons_act_while_the_board_moves(editor: Browser, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    first, second = ids(made)
    page = editor.page
    watch(editor, made)

    page.click("button[aria-label='Stop new prompt']")
    page.wait_for_selector("text=Stopped new prompt.")
    assert "by a person" in row(editor, first).inner_text()
    page.click("button[aria-label='Resume new prompt']")
    page.wait_for_selector("text=Resumed new prompt.")
    page.click("button:has-text('Stop all configs')")
    page.wait_for_selector("text=Stopped 2 configs.")

    row(editor, second).locator("a:has-text('Clone')").click()
    page.fill("#f-name", "third")
    page.fill("#f-parameters", '{"note": "other"}')
    page.click("main button[type=submit]:has-text('Clone')")
    page.wait_for_selector("text=third was made from old prompt.")
    assert "clone of old prompt" in editor.text()

    row(editor, second).locator("a:has-text('Delete')").click()
    page.fill("#f-confirm", "old prompt")
    page.click("main button[type=submit]:has-text('Delete')")
    page.wait_for_selector("text=old prompt is deleted.")
    assert row(editor, second).count() == 0


def test_three_keys_stop_a_config_and_the_board_moves_on_under_the_focus(editor: Browser, alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, n=20), list(TWO))
    second = ids(made)[1]
    page = editor.page
    watch(editor, made)

    for key in ("j", "j"):
        page.keyboard.press(key)
    half(alice, made, 0)
    page.wait_for_selector("text=10 of 40 asked")
    assert page.evaluate("document.activeElement.id") == f"config-{second}"

    page.keyboard.press("s")
    page.wait_for_selector("text=Stopped old prompt.")
    half(alice, made, 0)
    page.wait_for_selector("text=20 of 40 asked")
    assert "by a person" in row(editor, second).inner_text()


def test_somebody_who_is_signed_out_is_led_to_the_door(editor: Browser, alice: Caller) -> None:
    watch(editor, make_experiment(alice, make_dataset(alice, n=20), list(TWO)))

    editor.page.context.clear_cookies()

    editor.page.wait_for_url("**/console/sign-in**")


def test_the_difference_is_in_sight_beside_four_metrics(editor: Browser, alice: Caller) -> None:
    sources = [{"name": name, "source": name, "higher_is_better": False} for name in ("latency_ms", "cost")]
    metrics = [EXACT, {**EXACT, "name": "normalised", "evaluator": "exact-match-normalised"}, *sources]
    configs = [{"kind": "push", "name": name} for name in ("a prompt with a longer name", "another one")]
    made = make_experiment(alice, make_dataset(alice, n=20), configs, metrics=metrics)
    for i in range(2):
        half(alice, made, i, latency_ms=1234.5, cost=0.125)
    step(account_id=alice.account.pk, experiment_id=int(made["id"]), wait=True)

    for width in (1280, 1400):
        editor.page.set_viewport_size({"width": width, "height": 900})
        watch(editor, made)
        box = editor.page.locator("td[data-difference]").filter(has_text="inconclusive").bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= width


def test_no_page_is_wider_than_the_window_and_hostile_names_do_nothing(
    editor: Browser, alice: Caller, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("EVALSVC_SCREENSHOTS", tmp_path))
    names = [HOSTILE_NAME[:90], *(f"stub-accuracy-0.{n}-{'x' * 60}" for n in (15, 60, 70))]
    metrics = [EXACT, {"name": "latency", "source": "latency_ms", "higher_is_better": False}]
    configs = [{"kind": "push", "name": name} for name in names]
    made = answered(alice, *({f"e{i}"} for i in range(4)), configs=configs, metrics=metrics)
    at = f"/console/experiments/{made['id']}"
    pages = {"experiments": "/console/experiments", "experiment": at, "clone": f"{at}/configs/{ids(made)[0]}/clone"}
    for width in (1280, 390):
        editor.page.set_viewport_size({"width": width, "height": 900})
        for name, path in pages.items():
            editor.open(path)
            editor.page.screenshot(path=folder / f"{name}-{width}.png", full_page=True)
            overflow = editor.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert overflow <= 0, (name, width, overflow)
            assert "<script>alert(1)" in editor.text()
