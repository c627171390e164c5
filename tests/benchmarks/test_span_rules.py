"""Rules over spans in the smallest form: every span that was sent is scored by every rule."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_each_figure_is_there_and_verdicts_follow_spans() -> None:
    command = [sys.executable, "-m", "benchmarks.span_rules", "--tiny", "--deadline", "400"]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])

    assert found["was_cut"] is False
    assert len(found["rows"]) == 4 and all(row["now"]["median"] > 0 for row in found["rows"])
    # Four seconds of 50 spans, by five rules.
    assert found["delays"]["n"] == 5 * 200
    assert found["backfill"]["scored"] > 0
