"""One account's floods beside another's evaluations, in the smallest form."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_others_are_served_beside_searches_and_slow_bodies() -> None:
    command = [sys.executable, "-m", "benchmarks.shares", "--tiny", "--deadline", "400"]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])

    assert found["was_cut"] is False
    assert found["search"]["answers"]["200"] > 0
    assert min(*found["search"]["calls"], *found["bodies"]["calls"]) > 0
    assert sum(found["bodies"]["answers"].values()) >= 20
