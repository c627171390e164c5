"""What a load needs, on paper: cores, disk, partitions, sessions, and what is full first.

Costs are those that the other benchmarks measure; --from takes them from their JSON (`make bench ARGS="--json f.json"`,
the last line of `python -m benchmarks.growth`), later files outweigh earlier ones. See docs/sizing.md for how far to
trust it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

MONTH_SECONDS = 30.44 * 86_400
BUSY = 0.6
"""The part of a core that may be used: beyond it, requests wait for each other (p99 grows faster than the load)."""
ROOM = 1.4
"""Disk that is to be there for each byte of rows: WAL, sorting, the index that repack builds beside the old one."""
WHOLE_PAGES = 2.0
"""WAL for each byte of it that was measured: after a checkpoint, whole pages come on top."""
HOST_CORES = 8
PROCESS_MIB = 65
"""A forked web process after ten minutes of load (PSS)."""
# What one node of each can do, as one may buy it.
POSTGRES_CORES, WAL_BYTES_A_SECOND, SYNCS_A_SECOND, MEMORY_BYTES = 32, 200e6, 2000, 256 * 2**30
GROUP = 8
"""Captures in one commit when they come faster than commits end."""


@dataclass(frozen=True)
class Costs:
    """What one request costs, measured: the row that has the figure in the JSON is named beside it."""

    web_ms: float = 1.89  # "of it web, c = 16"
    postgres_ms: float = 1.07  # "of it postgres, c = 16"
    valkey_ms: float = 0.03  # "of it valkey, c = 16"
    row_bytes: float = 1997.0  # "bytes per evaluation, N rows"
    packed_bytes: float = 1552.0  # "bytes per evaluation, repacked"
    wal_bytes: float = 2600.0  # "  WAL of one capture"
    random_bytes: float = 22.6  # "  of it in the index of fingerprints"


ROWS = {
    "web_ms": "of it web, c = 16",
    "postgres_ms": "of it postgres, c = 16",
    "valkey_ms": "of it valkey, c = 16",
    "row_bytes": "bytes per evaluation,",
    "packed_bytes": "bytes per evaluation, repacked",
    "wal_bytes": "WAL of one capture",
    "random_bytes": "of it in the index of fingerprints",
}


@dataclass(frozen=True)
class Load:
    """What comes in: requests a second at the peak, and rows that are kept, one evaluation each."""

    requests_per_second: float
    rows: float
    peak_to_mean: float = 3.0
    text_bytes: float = 500.0


@dataclass(frozen=True)
class Line:
    """One result: what, how much, and how it comes about."""

    what: str
    value: float
    unit: str
    why: str


def costs_from(rows: Iterable[Mapping[str, Any]], known: Costs | None = None) -> Costs:
    """Return costs with what rows of benchmarks say of them; what they do not say stays."""
    found: dict[str, float] = {}
    for row in rows:
        name = str(row["name"]).strip()
        now = row.get("now")
        for cost, wanted in ROWS.items():
            is_it = name == wanted or (cost == "row_bytes" and name.startswith(wanted) and name != ROWS["packed_bytes"])
            if is_it and now is not None:
                found[cost] = float(now["median"])
    return replace(known or Costs(), **found)


def cores(rate: float, ms: float, busy: float = BUSY) -> float:
    """Return the cores that so many requests a second need at so many CPU milliseconds each."""
    return rate * ms / 1000 / busy


def rate_of(n_cores: float, costs: Costs, client_ms: float = 0.0) -> float:
    """Return the requests a second of one machine that does everything, all its cores busy; the client's share too."""
    return n_cores * 1000 / (costs.web_ms + costs.postgres_ms + costs.valkey_ms + client_ms)


def months_of(load: Load) -> float:
    """Return in how many months so many rows come."""
    return load.rows / (load.requests_per_second / load.peak_to_mean * MONTH_SECONDS)


def needed(load: Load, costs: Costs) -> list[Line]:
    """Return what the load needs."""
    rate, months = load.requests_per_second, months_of(load)
    web = cores(rate, costs.web_ms)
    processes = math.ceil(web)
    hosts = max(2, math.ceil(web / HOST_CORES))
    a_month = min(load.rows, load.rows / months)
    fresh, packed = min(load.rows, a_month), max(0.0, load.rows - a_month)
    bytes_of_rows = fresh * (costs.row_bytes + load.text_bytes) + packed * (costs.packed_bytes + load.text_bytes)
    partitions = math.ceil(months) + 1
    return [
        Line("months in which the rows come", months, "", f"{load.peak_to_mean:g} times the mean at the peak"),
        Line("web, cores", web, "cores", f"{costs.web_ms:g} ms each, {BUSY:.0%} busy; one process a core"),
        Line("web, hosts", hosts, f"of {HOST_CORES} cores", "two at least: one may be away"),
        Line("web, memory", processes * PROCESS_MIB / 1024, "GiB", f"{PROCESS_MIB} MiB a process, and its host's own"),
        Line("PostgreSQL, cores", cores(rate, costs.postgres_ms), "cores", f"{costs.postgres_ms:g} ms each"),
        Line("Valkey, cores", cores(rate, costs.valkey_ms), "cores", f"{costs.valkey_ms:g} ms each; it has one thread"),
        Line("disk, rows", bytes_of_rows / 2**40, "TiB", "packed but for the month that runs, with texts"),
        Line("disk, to have", bytes_of_rows * ROOM / 2**40, "TiB", f"{ROOM:g} times: WAL, and room to repack"),
        Line(
            "WAL",
            rate * (WHOLE_PAGES * costs.wal_bytes + load.text_bytes) / 2**20,
            "MiB/s",
            "at the peak; the same to each replica",
        ),
        Line("memory for random pages", fresh * costs.random_bytes / 2**30, "GiB", "fingerprints of the running month"),
        Line("partitions", 4 * partitions, "", f"4 tables, {partitions} months"),
        Line("rows in one partition", a_month, "", "a month of one table"),
        Line("sessions, by pools", processes * 10, "", "ten a web process at most, workers come on top"),
        Line(
            "sessions that work at once",
            cores(rate, costs.postgres_ms, 1.0) * 3,
            "",
            "through PgBouncer: thrice the CPU time",
        ),
    ]


def limits(load: Load, costs: Costs) -> list[Line]:
    """Return how many requests a second each part holds that there is one of, the narrowest first."""
    random = costs.random_bytes * MONTH_SECONDS / load.peak_to_mean
    found = [
        Line(
            "PostgreSQL, CPU", POSTGRES_CORES * BUSY * 1000 / costs.postgres_ms, "requests/s", f"{POSTGRES_CORES} cores"
        ),
        Line("Valkey, one thread", BUSY * 1000 / costs.valkey_ms, "requests/s", "then split by account (cluster)"),
        Line(
            "WAL, bytes",
            WAL_BYTES_A_SECOND / (WHOLE_PAGES * costs.wal_bytes + load.text_bytes),
            "requests/s",
            "200 MB/s",
        ),
        Line("WAL, fsync", SYNCS_A_SECOND * GROUP, "requests/s", f"{SYNCS_A_SECOND} a second, {GROUP} captures each"),
        Line(
            "memory, random pages",
            MEMORY_BYTES * 0.5 / random,
            "requests/s",
            "half of 256 GiB; beyond it, a disk read each",
        ),
    ]
    return sorted(found, key=lambda line: line.value)


def read(paths: Sequence[Path]) -> Costs:
    """Return the costs that these files have measured; the last line of each is JSON with `rows`."""
    found = Costs()
    for path in paths:
        text = path.read_text()
        try:
            said = json.loads(text)
        except json.JSONDecodeError:
            said = json.loads(text.strip().splitlines()[-1])
        found = costs_from(said["rows"], found)
    return found


def shown(lines: Sequence[Line]) -> str:
    """Lay lines out for people."""
    width = max(len(line.what) for line in lines)
    return "\n".join(f"{line.what:<{width}}  {text_of(line.value):>10} {line.unit:<11} {line.why}" for line in lines)


def text_of(value: float) -> str:
    """Write a number with as many digits as the model deserves: two."""
    if value == 0:
        return "0"
    digits = 1 - math.floor(math.log10(abs(value)))
    rounded = round(value, digits)
    return f"{rounded:,.0f}".replace(",", " ") if digits <= 0 else f"{rounded:.{digits}f}"


def main(argv: list[str] | None = None) -> int:
    """Print what a load needs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests-per-second", type=float, default=1000, help="at the peak (default 1000)")
    parser.add_argument("--rows", type=float, default=1e9, help="evaluations that are kept (default 1e9)")
    parser.add_argument("--peak-to-mean", type=float, default=3, help="the peak ÷ the mean over the months (default 3)")
    parser.add_argument(
        "--text-bytes", type=float, default=500, help="of input, output and explanation, as stored (500)"
    )
    parser.add_argument("--from", dest="files", type=Path, nargs="+", default=[], metavar="FILE", help="measured JSON")
    for field in fields(Costs):
        parser.add_argument(f"--{field.name.replace('_', '-')}", type=float, help=f"default {field.default}")
    options = parser.parse_args(argv)
    said = {field.name: getattr(options, field.name) for field in fields(Costs)}
    costs = replace(read(options.files), **{name: value for name, value in said.items() if value is not None})
    load = Load(options.requests_per_second, options.rows, options.peak_to_mean, options.text_bytes)
    print(f"{load.requests_per_second:g} requests a second at the peak, {load.rows:g} rows\n")
    print(shown(needed(load, costs)))
    print("\nOne primary of 32 cores and 256 GiB, one Valkey: what is full first\n")
    print(shown(limits(load, costs)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
