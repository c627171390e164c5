"""Callers beside a slow judge and beside an attack, in the smallest form: answered, once, and paid for once."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow

WAITING = [sys.executable, "-m", "benchmarks.waiting", "--tiny", "--deadline", "400"]


@pytest.mark.timeout(600)
def test_all_who_wait_are_answered_once_and_the_bill_is_right() -> None:
    ended = subprocess.run([*WAITING, "--accounts", "4:2"], cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    rows = {row["name"]: row for row in found["rows"]}

    assert found["was_cut"] is False
    # How many is told even where a busy machine had none within the seconds that count; the books have all of them.
    assert "judged evaluations" in rows
    for name in ("lost: accepted and without an answer", "double: scores beyond one a success"):
        assert rows[name]["now"]["median"] == 0
    assert found["pending"] == 0
    assert found["evaluations"] == found["successes"] == found["scores"] == found["calls"] == found["billed"] > 0
    assert [sum(outcomes.values()) > 0 for outcomes in found["outcomes"].values()] == [True, True]
    for name in ("inline evaluate", "/readyz", "admin sign-in"):
        assert rows[f"  {name} beside them, p99"]["now"]["median"] > 0


@pytest.mark.timeout(600)
def test_an_attack_is_refused_beside_verdicts() -> None:
    command = [sys.executable, "-m", "benchmarks.attack", "--tiny", "--deadline", "400"]
    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=True)
    found = json.loads(ended.stdout.splitlines()[-1])
    rows = {row["name"]: row["now"]["median"] for row in found["rows"]}

    assert found["was_cut"] is False
    assert min(found["verdicts"]) > 0 and rows["toxicity beside an attack ÷ alone, p99"] > 0
    # A fast machine gets through some of them in the second that they have.
    assert sum(found["outcomes"].values()) > 0 and set(found["outcomes"]) <= {"input_too_long", "success"}
