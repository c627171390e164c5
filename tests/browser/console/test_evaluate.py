"""A file of answers is dropped on the page, its columns are checked, and it ends on the chart: in a real browser."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.browser.console.conftest import Signed
from tests.console.test_evaluate import ROWS

DROP = """(text) => {
    const data = new DataTransfer();
    data.items.add(new File([text], "answers.csv", { type: "text/csv" }));
    const form = document.querySelector("[data-drop]");
    for (const kind of ["dragover", "drop"]) {
        form.dispatchEvent(new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
    }
}"""


def shoot(page: Any, name: str) -> None:
    if folder := os.environ.get("EVALSVC_SHOTS"):
        page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


def test_a_dropped_file_leads_to_its_intervals(signed: Signed) -> None:
    signed.open("evaluate")
    page = signed.page
    shoot(page, "evaluate-start")
    page.evaluate(DROP, ROWS)
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("heading", name="Evaluate answers.csv").wait_for()
    shoot(page, "evaluate-setup")
    assert page.get_by_label("Output", exact=True).input_value() == "answer"
    page.get_by_role("button", name="Evaluate 200 rows").click()
    page.wait_for_url("**/console/experiments/*")
    page.locator("figure.chart").first.wait_for()
    shoot(page, "evaluate-results")
    assert "hallucination" in signed.browser.text()
    assert not signed.browser.errors
