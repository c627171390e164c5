"""The benchmark of growth in its smallest form: every figure is there."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from benchmarks import growth_hosts
from benchmarks.figures import figure
from tests.conftest import CHECKOUT

pytestmark = pytest.mark.slow


@pytest.mark.timeout(600)
def test_growth_has_every_figure() -> None:
    command = [sys.executable, "-m", "benchmarks.growth", "--tiny", "--deadline", "500"]

    ended = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, timeout=580)

    assert ended.returncode == 0, ended.stderr
    found = json.loads(ended.stdout.splitlines()[-1])
    rows = {row["name"]: row for row in found["rows"]}
    assert found["was_cut"] is False
    for name in ("capture", "newest 1000 scores", "search: newest", "search: app and fails", "deletion of an account"):
        assert rows[name]["now"]["median"] > 0
    assert 1000 < rows["bytes per evaluation, 2000 rows"]["now"]["median"] < 10_000
    assert rows["  WAL of one capture"]["now"]["median"] > 500
    assert 0 < rows["  their indexes, after ÷ before"]["now"]["median"] < 1.5
    assert "0 partitions" not in rows["  the same of all, by partitions and portions"]["note"]
    assert int(rows["deletion of an account"]["note"].split()[0]) > 100


def test_without_pgbouncer_nothing_is_started(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(SystemExit):
        growth_hosts.main([])

    assert "there is no PgBouncer" in capsys.readouterr().err


def test_two_hosts_are_held_against_one_of_the_same_round() -> None:
    rates = {f"{name}, {hosts}": values for name in growth_hosts.BODIES
             for hosts, values in (("one", [100.0, 50.0]), ("two", [190.0, 100.0]))}  # fmt: skip

    rows = {row.name: row for row in growth_hosts.rows_of(rates, {"postgres, inline, two": [0.3]})}

    assert rows["  two ÷ one, inline"].now == figure([1.9, 2.0])
    assert rows["  two ÷ one, inline"].verdict == "ok"
    assert rows["  postgres, inline, two"].now == figure([0.3])
