"""The benchmark of the console's pages in its smallest form: the pages that it opens answer, and ask little."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks.console_load import GOAL_QUERIES
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow


def test_pages_are_opened_and_answer() -> None:
    command = [sys.executable, "-m", "benchmarks.console_load", "--tiny"]

    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=110)

    assert ended.returncode == 0, ended.stderr
    rows = json.loads(ended.stdout.splitlines()[-1])["rows"]
    assert len(rows) > 15
    assert not [row["page"] for row in rows if row["status"] != 200]
    assert not [(row["page"], row["queries"]) for row in rows if row["queries"] > GOAL_QUERIES]
