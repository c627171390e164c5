"""docs/trust-your-judge.md: 1000 scores, 200 labels of a random draw, and an interval that holds the truth."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import CHECKOUT, Caller
from tests.docs.pages import blocks

PAGE = CHECKOUT / "docs" / "trust-your-judge.md"


def test_the_program_of_the_page_finds_the_truth(
    web: str, alice: Caller, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(os.environ, "EVALSVC_URL", web)
    monkeypatch.setitem(os.environ, "EVALSVC_API_KEY", alice.key)
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}

    exec("\n".join(block.text for block in blocks(PAGE) if block.language == "python"), names)  # nosec B102

    history = names["history"]
    truth = history.truth
    assert history.interval.upper < 0.65
    assert (truth.n, truth.population, truth.naive) == (200, 1000, 0.6)
    assert truth.lower < 0.85 < truth.upper
    assert truth.upper - truth.lower < 0.11
    assert truth.raw["specificity"]["value"] == 1.0
    assert truth.raw["sensitivity"]["value"] == pytest.approx(600 / 850, abs=0.12)
    assert truth.labels_saved > 0 and truth.n_for_width > 200
