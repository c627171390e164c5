"""The page of an experiment as people use it: it moves while they watch, and its buttons act."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.decisions.step import step
from tests.admin.conftest import HOSTILE, HOSTILE_NAME, PASSWORD, join, new_user
from tests.browser.conftest import Browser
from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
    chat,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    run_units,
    stub,
)

__all__ = ["stub"]
PUSH = {"kind": "push", "parameters": {}}


@pytest.fixture
def ann(alice: Caller) -> Any:
    """An editor of Alice's account."""
    user = new_user(password=PASSWORD)
    join(user, alice.account, "editor")
    return user


def pushed(caller: Caller, *names: str) -> Any:
    configs = [{**PUSH, "name": name} for name in names]
    return make_experiment(caller, make_dataset(caller, n=20), configs)


def answer_some(caller: Caller, experiment: Any, config: Any, output: str) -> None:
    at = f"/v1/experiments/{experiment['id']}"
    unit = ok(caller.post(f"{at}/configs/{config['id']}/lease", {"n": 10}))["unit"]
    outputs = [{"pos": row["pos"], "output": output} for row in unit["examples"]]
    ok(caller.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))


def address(experiment: Any) -> str:
    return f"/admin/experiments/experimentplan/{experiment['id']}/change/"


def row(browser: Browser, config: Any) -> Any:
    return browser.page.locator(f"tr[data-config='{config['id']}']")


def watch(browser: Browser, experiment: Any) -> None:
    """Open the page; it never comes to rest, as it asks every second."""
    browser.page.goto(browser.address + address(experiment))
    browser.page.wait_for_selector("#live")


def test_the_board_moves_by_itself(browser: Browser, ann: Any, alice: Caller) -> None:
    experiment = pushed(alice, "first", "second")
    first = experiment["configs"][0]
    browser.sign_in(ann)
    watch(browser, experiment)
    assert "0 / 20" in row(browser, first).inner_text()

    answer_some(alice, experiment, first, "7")

    browser.page.wait_for_function("document.querySelector('#live').innerText.includes('10 / 20')")
    assert "new data, safe while watched" in row(browser, first).inner_text()


def test_the_board_has_quantiles_beside_the_mean_and_names_what_was_added_later(
    browser: Browser, ann: Any, alice: Caller
) -> None:
    metrics = [EXACT, {"name": "ms", "source": "latency_ms", "higher_is_better": False}]
    experiment = make_experiment(alice, make_dataset(alice, n=20), [{**PUSH, "name": "first"}], metrics=metrics)
    config = experiment["configs"][0]
    at = f"/v1/experiments/{experiment['id']}"
    unit = ok(alice.post(f"{at}/configs/{config['id']}/lease", {"n": 10}))["unit"]
    outputs = [
        {"pos": row["pos"], "output": "7", "latency_ms": 100.0 + row["pos"], "cost": 0.5} for row in unit["examples"]
    ]
    ok(alice.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))
    browser.sign_in(ann)
    watch(browser, experiment)

    shown = row(browser, config).inner_text()
    assert "p50: 104 [101, 108]" in shown
    assert "p95: 109, interval from 72 scores on" in shown
    assert "p99: 109, interval from 368 scores on" in shown
    assert "added later" not in browser.text()

    ok(alice.post(f"{at}/metrics", {"metrics": [{"name": "price", "source": "cost"}]}))
    run_units()

    browser.page.wait_for_function("document.querySelector('#live').innerText.includes('p50: 0.500')")
    assert "added later: one look" in browser.text()


@pytest.mark.parametrize("width", [1280, 1400])
def test_the_difference_is_in_sight_beside_four_metrics(
    browser: Browser, ann: Any, alice: Caller, width: int, tmp_path: Path
) -> None:
    sources = [{"name": name, "source": name, "higher_is_better": False} for name in ("latency_ms", "cost")]
    metrics = [EXACT, {**EXACT, "name": "normalised", "evaluator": "exact-match-normalised"}, *sources]
    configs = [{**PUSH, "name": name} for name in ("a prompt with a longer name", "another one")]
    experiment = make_experiment(alice, make_dataset(alice, n=20), configs, metrics=metrics)
    at = f"/v1/experiments/{experiment['id']}"
    for config in experiment["configs"]:
        unit = ok(alice.post(f"{at}/configs/{config['id']}/lease", {"n": 10}))["unit"]
        outputs = [
            {"pos": one["pos"], "output": "7", "latency_ms": 1234.5 + one["pos"], "cost": 0.125 * one["pos"]}
            for one in unit["examples"]
        ]
        ok(alice.post(f"{at}/units/{unit['id']}/outputs", {"token": unit["token"], "outputs": outputs}))
    step(account_id=alice.account.pk, experiment_id=int(experiment["id"]), wait=True)
    browser.sign_in(ann)
    browser.page.set_viewport_size({"width": width, "height": 900})
    watch(browser, experiment)
    folder = Path(os.environ.get("EVALSVC_SCREENSHOTS", tmp_path))
    browser.page.screenshot(path=folder / f"four-metrics-{width}.png")

    found = browser.page.locator("td[data-difference]").filter(has_text="may be chance")
    box = found.bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= width


def test_buttons_act_while_the_board_moves(browser: Browser, ann: Any, alice: Caller) -> None:
    experiment = pushed(alice, "first", "second")
    first, second = experiment["configs"]
    browser.sign_in(ann)
    watch(browser, experiment)

    row(browser, first).locator("button:has-text('Stop')").click()
    browser.page.wait_for_selector("text=Stopped 1 config.")
    row(browser, first).locator("text=by user").first.wait_for()
    row(browser, first).locator("button:has-text('Resume')").click()
    browser.page.wait_for_selector("text=Resumed 1 config.")
    browser.page.click("button:has-text('Stop all')")
    browser.page.wait_for_selector("text=Stopped 2 configs.")
    assert "stopped" in row(browser, second).inner_text().lower()

    row(browser, second).locator("a:has-text('Clone')").click()
    browser.page.fill("#id_name", "third")
    browser.page.fill("#id_parameters", '{"note": "other"}')
    browser.page.click("button[name=confirm]")
    browser.page.wait_for_selector("text=third was made from second.")
    assert "clone of second" in browser.text()

    row(browser, second).locator("a:has-text('Delete')").click()
    browser.page.click("button[name=confirm]")
    browser.page.wait_for_selector("text=second is deleted.")
    assert row(browser, second).count() == 0


def test_somebody_who_is_signed_out_is_led_to_the_door(browser: Browser, ann: Any, alice: Caller) -> None:
    experiment = pushed(alice, "first")
    browser.sign_in(ann)
    watch(browser, experiment)

    browser.page.context.clear_cookies()

    browser.page.wait_for_url("**/admin/login/**")


def test_hostile_text_does_nothing(browser: Browser, ann: Any, alice: Caller) -> None:
    experiment = pushed(alice, HOSTILE_NAME[:90], "second")
    answer_some(alice, experiment, experiment["configs"][0], HOSTILE)
    browser.sign_in(ann)

    watch(browser, experiment)
    assert "<script>alert(1)" in browser.text()
    browser.open(address(experiment).replace("change", "outputs"))
    assert "<script>alert(1)" in browser.text()


@pytest.mark.parametrize("width", [1280, 390])
def test_no_page_is_wider_than_the_window(
    browser: Browser, ann: Any, alice: Caller, stub: RunningStub, width: int, tmp_path: Path
) -> None:
    folder = Path(os.environ.get("EVALSVC_SCREENSHOTS", tmp_path))
    connection = make_connection(alice, stub.base_url)
    configs = [chat(connection, f"stub-accuracy-0.{n}-{'x' * 60}") for n in (15, 60, 70, 80)]
    metrics = [{"name": "accuracy", "evaluator": "exact-match"}, {"name": "latency", "source": "latency_ms"}]
    dataset = make_dataset(alice, n=120)
    experiment = make_experiment(alice, dataset, configs, policy="race_default", metrics=metrics)
    run_units()
    pages = {
        "experiments": "/admin/experiments/experimentplan/",
        "experiment": address(experiment),
        "outputs": address(experiment).replace("change", "outputs"),
        "clone": address(experiment).replace("change", f"configs/{experiment['configs'][0]['id']}/clone"),
    }
    browser.sign_in(ann)
    browser.page.set_viewport_size({"width": width, "height": 900})
    for scheme in ("light", "dark"):
        browser.page.emulate_media(color_scheme=scheme)
        for name, path in pages.items():
            browser.open(path)
            browser.page.screenshot(path=folder / f"{name}-{width}-{scheme}.png", full_page=True)
            overflow = browser.page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
            assert overflow <= 0, (name, width, overflow)
