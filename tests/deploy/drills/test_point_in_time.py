"""An account is deleted by mistake: the database goes back to the second before, with everything that was answered."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.drills.running import run_drill

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1600)]

CHECKS = {
    "the account is gone from the old database",
    "verify is clean after the restore",
    "the API key of Acme works",
    "the API key of Mistake works",
    "verify is clean after the workers have gone on",
}


def test_it_goes_back_to_a_second(tmp_path: Path) -> None:
    ended = run_drill("point_in_time", tmp_path)

    assert ended.code == 0, ended.wrong
    assert set(ended.summary["checks"]) == CHECKS
    assert len(ended.summary["losses"]) == 2
    assert ended.losses("expected") == ended.losses("found") >= 1000
    assert (ended.lost, ended.losses("double"), ended.losses("too_late")) == (0, 0, 0)
    # Something was answered later, or nothing was gone back to.
    answered = ended.summary["counts"]["answered_acme"] + ended.summary["counts"]["answered_mistake"]
    assert answered > ended.losses("expected") + ended.losses("between")


def test_rows_that_are_lost_are_counted(tmp_path: Path) -> None:
    ended = run_drill("point_in_time", tmp_path, "--evaluations", "60", "--lose", "3")

    assert (ended.code, ended.lost, ended.wrong) == (1, 3, [])
    assert ended.said.endswith("FAILED; lost: 3.\n")
