"""Which benchmarks there are, how long each may take, and how it is started."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Benchmark:
    """A module of this package, by its name unless `module` says otherwise; its last line is JSON."""

    title: str
    # What it takes on a quiet machine of two cores, the older version included: its share of all the time there is.
    seconds: float
    arguments: tuple[str, ...] = ()
    tiny: tuple[str, ...] = ("--tiny",)
    module: str = ""
    # It has the options of `frame`: it keeps `--deadline` itself.
    is_framed: bool = True
    # It starts both versions itself, by `--against`. Others run once in each, so often, in turns.
    takes_turns_itself: bool = False
    turns: int = 1
    # What is the same in every version, or too slow to ask twice.
    only_now: bool = False
    is_in_table: bool = True


def other(title: str, *tiny: str, seconds: float = 300) -> Benchmark:
    """Return one that is no part of the table."""
    return Benchmark(title, seconds, tiny=tiny, is_framed=False, only_now=True, is_in_table=False)


BENCHMARKS = {
    "evaluate": Benchmark("POST /v1/evaluate against a view that does nothing", 200, takes_turns_itself=True),
    "queued": Benchmark("five evaluators through Celery against inline", 90, takes_turns_itself=True),
    "batch": Benchmark("finished scores, 1000 a call", 60, takes_turns_itself=True),
    "bulk": Benchmark("many samples in one call against single calls; killed once in the middle", 150, only_now=True),
    "history": Benchmark("the interval of a history against arch", 60, only_now=True),
    "waiting": Benchmark("500 callers who wait for a judge of 2 s, and what others get beside them", 90, only_now=True),
    "attack": Benchmark(
        "one account's costly patterns beside another's toxicity",
        150,
        arguments=("--seconds", "20"),
        only_now=True,
        is_in_table=False,
    ),
    "shares": Benchmark(
        "one account's searches and slow bodies beside another's evaluations", 300, only_now=True, is_in_table=False
    ),
    "experiments": Benchmark(
        "16 configs through real workers, against a bare loop of the same client",
        240,
        arguments=("--examples", "100", "--rounds", "2"),
    ),
    "span_rules": Benchmark(
        "5 rules over spans: what ingest and another account pay, how soon a verdict is there, and a backfill",
        700,
        only_now=True,
        is_in_table=False,
    ),
    "pipelines": Benchmark(
        "16 pipelines that share their first node, against the same without sharing",
        200,
        only_now=True,
        is_in_table=False,
    ),
    "memory": Benchmark("what the whole stack holds under load of every kind (PSS)", 180, arguments=("--minutes", "1")),
    "start": Benchmark(
        "`make up` to its first verdict",
        120,
        module="memory",
        arguments=("--start", "2"),
        tiny=("--tiny", "--start", "1"),
    ),
    "evaluators": other("accuracy, latency, memory and throughput of the embedded evaluators", "--quick"),
    "racing": other("what each policy of a race costs, and how often it keeps the best", "--quick"),
    "search": other(
        "each kind of search over 10^6 evaluations, and what its indexes cost a capture", "--rows", "10000"
    ),
    "planner_statistics": other(
        "imports, captures, searches and histories while the statistics of the tables are stale",
        "--rows",
        "2000",
        "--imports",
        "2000",
    ),
    "latest": other("reading the newest 1000 scores of 10^4, 10^6 and 10^7", "--rows", "10000"),
    "console_load": other(
        "the console's pages over 10^6 evaluations of one account", "--rows", "2000", "--repeats", "2", seconds=900
    ),
    "growth": Benchmark(
        "captures, searches, retention, deletion and migration among 10^6 evaluations of months",
        1800,
        only_now=True,
        is_in_table=False,
    ),
    "hosts": Benchmark(
        "one host for web and workers against two, through PgBouncer",
        400,
        module="growth_hosts",
        only_now=True,
        is_in_table=False,
    ),
    "scopes": other("what each window of an interval costs beside the whole account"),
}
