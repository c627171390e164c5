"""The pages of cards: one a family, written from the figures, and held to them."""

from __future__ import annotations

from pathlib import Path

import pytest

from evaluators.registry import families
from scripts import docs


def test_there_is_a_page_for_each_family_and_no_other() -> None:
    pages = {page.stem for page in (docs.CHECKOUT / "docs" / "evaluators").glob("*.md")}

    assert pages == {family.name for family in families()}


def test_a_page_that_is_missing_or_changed_fails_the_gate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(docs, "CHECKOUT", tmp_path)
    (tmp_path / "docs").mkdir()
    [page] = [page for page in docs.pages() if page.path == "docs/evaluators/phi.md"]

    assert not docs.is_current(page, write=False)
    assert docs.is_current(page, write=True)
    assert docs.is_current(page, write=False)

    path = tmp_path / page.path
    path.write_text(path.read_text().replace("phi-2026-11-28", "x"))
    assert not docs.is_current(page, write=False)


def test_a_page_shows_each_evaluator_and_what_it_misses() -> None:
    [page] = [page for page in docs.pages() if page.path == "docs/evaluators/toxicity.md"]

    text = page.generate()

    for words in (
        "## toxicity-2026-11-23",
        "## toxicity-moderation-2026-11-20",
        "What it misses:",
        "What changed since",
    ):
        assert words in text
