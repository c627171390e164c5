"""The page that scores a file, and the form of an experiment, in a real browser."""

from __future__ import annotations

from tests.browser.console.conftest import Signed
from tests.console.output_files import ROWS

DROP = """(text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "answers.csv", { type: "text/csv" }));
    const form = document.querySelector("[data-drop]");
    for (const kind of ["dragover", "drop"]) {
        form.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
    }
}"""


def test_a_dropped_file_leads_to_its_intervals(signed: Signed) -> None:
    signed.open("evaluate")
    page = signed.page
    page.evaluate(DROP, ROWS)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Evaluate answers.csv").wait_for()
    assert page.get_by_label("Output", exact=True).input_value() == "answer"
    page.get_by_role("button", name="Evaluate 200 rows").click()
    page.wait_for_url("**/console/*/experiments/*")
    page.locator("figure.chart").first.wait_for()
    assert "hallucination" in signed.browser.text()
    assert not signed.browser.errors


def test_a_config_is_added_before_the_first_fields_are_filled(signed: Signed) -> None:
    signed.open("experiments/new")
    signed.page.get_by_role("button", name="Add a config").click()
    signed.page.locator("#f-c1-prompt").wait_for()
    assert signed.page.locator("#f-limit").is_hidden()
    signed.page.get_by_text("Advanced: examples").click()
    assert signed.page.locator("#f-limit").is_visible()
