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
    # The draw is another one in each run: these hold within 6 standard errors of it.
    assert truth.estimate == pytest.approx(0.85, abs=0.15)
    assert truth.raw["specificity"]["value"] == 1.0
    assert truth.raw["sensitivity"]["value"] == pytest.approx(600 / 850, abs=0.2)
    # And these for every draw.
    width = truth.upper - truth.lower
    assert truth.lower < truth.estimate < truth.upper and width < 0.17
    assert (truth.n_for_width is None) is (truth.least_width > 0.05)
    assert truth.n_for_width is None or (truth.n_for_width > 200) is (width > 0.05)
    assert truth.labels_saved == truth.raw["n_alone"] - 200
