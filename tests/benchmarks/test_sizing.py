"""The arithmetic of sizing: linear where it says so, from measured files, and right at the one point that was measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.sizing import (
    MONTH_SECONDS,
    Costs,
    Load,
    cores,
    costs_from,
    limits,
    main,
    months_of,
    needed,
    rate_of,
    read,
)

LOAD = Load(1000, 1e9)


def values(load: Load, costs: Costs | None = None) -> dict[str, float]:
    return {line.what: line.value for line in needed(load, costs or Costs())}


def test_it_is_right_where_it_was_measured() -> None:
    """Two cores, sixteen connections, everything on one machine: 569 requests a second (455 to 694), client 0.25 ms."""
    assert rate_of(2, Costs(), client_ms=0.25) == pytest.approx(569, rel=0.15)


def test_cores_are_those_of_the_rate_and_the_cost() -> None:
    assert cores(1000, 2.0, busy=1.0) == 2.0
    one, two = values(LOAD), values(Load(2000, 1e9))
    for part in ("web, cores", "PostgreSQL, cores", "Valkey, cores", "WAL"):
        assert two[part] == pytest.approx(2 * one[part])


def test_rows_come_at_the_mean_and_not_at_the_peak() -> None:
    assert months_of(Load(1000, 1000 * MONTH_SECONDS, peak_to_mean=1)) == pytest.approx(1)
    assert months_of(Load(1000, 1000 * MONTH_SECONDS, peak_to_mean=4)) == pytest.approx(4)
    assert values(Load(1000, 1e9, peak_to_mean=3))["rows in one partition"] < 1e9


def test_a_month_that_is_over_is_packed() -> None:
    costs = Costs(row_bytes=2000, packed_bytes=1000)
    # Two months: one fresh, one packed.
    load = Load(100, 2 * 100 * MONTH_SECONDS, peak_to_mean=1, text_bytes=0)

    assert values(load, costs)["disk, rows"] * 2**40 == pytest.approx(100 * MONTH_SECONDS * 3000)
    assert values(load, costs)["partitions"] == 4 * 3
    # Less than a month: all of it fresh, and no row twice.
    few = Load(1000, 1000, peak_to_mean=1, text_bytes=0)
    assert values(few, costs)["disk, rows"] * 2**40 == pytest.approx(1000 * 2000)


def test_what_is_full_first_comes_first() -> None:
    found = limits(LOAD, Costs())
    assert [line.value for line in found] == sorted(line.value for line in found)
    assert limits(LOAD, Costs(postgres_ms=1e6))[0].what == "PostgreSQL, CPU"
    assert limits(LOAD, Costs(valkey_ms=1e6))[0].what == "Valkey, one thread"


def test_costs_are_those_that_were_measured(tmp_path: Path) -> None:
    def row(name: str, median: float) -> dict[str, object]:
        return {"name": name, "now": {"median": median}}

    first, second = tmp_path / "bench.json", tmp_path / "growth.log"
    first.write_text(json.dumps({"rows": [row("  of it web, c = 16", 1.5), row("  of it web, c = 1", 9), row("x", 1)]}))
    sizes = [row("bytes per evaluation, 1000000 rows", 1900), row("bytes per evaluation, repacked", 1200)]
    second.write_text("a table\n" + json.dumps({"rows": [*sizes, row("  WAL of one capture", 5000)]}))

    assert read([first, second]) == Costs(web_ms=1.5, row_bytes=1900, packed_bytes=1200, wal_bytes=5000)
    assert costs_from([{"name": "of it web, c = 16", "now": None}]) == Costs()


def test_the_command_prints_both_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--requests-per-second", "50", "--rows", "1e8", "--postgres-ms", "2"]) == 0

    said = capsys.readouterr().out
    assert "50 requests a second at the peak, 1e+08 rows" in said
    assert "2 ms each" in said
    assert "PostgreSQL, CPU" in said
