"""kill -9 of the primary in 500 evaluations, with and without PgBouncer: nothing lost, nothing double, within 5 s."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.deploy.drills.running import run_drill

pytestmark = [pytest.mark.deploy, pytest.mark.timeout(1600)]

WAYS = ("without PgBouncer", "with PgBouncer")


def test_nothing_is_lost_or_double_and_answers_come_within_five_seconds(tmp_path: Path) -> None:
    ended = run_drill("failover", tmp_path)

    assert ended.code == 0, ended.wrong
    assert set(ended.summary["losses"]) == set(WAYS)
    for way in WAYS:
        losses = ended.summary["losses"][way]
        assert (losses["expected"], losses["found"], losses["lost"], losses["double"]) == (500, 500, 0, 0)
        assert ended.summary["seconds"][f"first_answer_{way.lower().replace(' ', '_')}"] <= 5
        assert ended.summary["checks"][f"verify is clean on the new primary, {way}"]


def test_without_synchronous_commit_it_loses_and_the_drill_says_so(tmp_path: Path) -> None:
    """The loss is a real one: 20 calls were answered whose WAL had not left the primary."""
    ended = run_drill("failover", tmp_path, "--only", "direct", "--evaluations", "200", "--asynchronous")

    assert (ended.code, ended.wrong) == (1, [])
    assert ended.lost >= 20
    assert f"FAILED; lost: {ended.lost}." in ended.said


def test_rows_that_are_lost_are_counted(tmp_path: Path) -> None:
    ended = run_drill("failover", tmp_path, "--only", "pgbouncer", "--evaluations", "60", "--lose", "3")

    assert (ended.code, ended.lost, ended.wrong) == (1, 3, [])
