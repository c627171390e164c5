"""POST /v1/evaluate against a no-op view on the same gunicorn: requests/s, latency, CPU, and where the time goes.

One inline evaluator, capture all, full-history over 1000 scores. Ratios are taken within one run, in interleaved rounds.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil

from benchmarks.load import Load, http_request, run_load
from benchmarks.stack import Stack, cpu_seconds, gunicorn, stack

BODY = {
    "evaluators": [{"evaluator": "exact-match", "explain_strategy": "always"}],
    "evaluated_model_input": "What is the capital of France?",
    "evaluated_model_output": "Paris",
    "evaluated_model_gold_answer": "Paris",
    "app": "bench",
    "capture": "all",
    "confidence_interval_strategy": "full-history",
}
GOALS = {"rate_ratio": 0.20, "rate_floor": 0.12, "cpu_ratio": 6.0, "cpu_ceiling": 8.0}


def main() -> None:
    """Run the benchmark; the last line is JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="length of each round (default 4)")
    parser.add_argument(
        "--rounds", type=int, default=3, help="interleaved rounds per number of connections (default 3)"
    )
    parser.add_argument("--connections", type=int, nargs="+", default=[1, 16, 64])
    options = parser.parse_args()
    with stack() as running, gunicorn() as (port, web):
        caller = prepare_account()
        requests = {
            "noop": http_request("/v1/noop", json.dumps(BODY).encode(), {}),
            "evaluate": http_request("/v1/evaluate", json.dumps(BODY).encode(), {"X-API-KEY": caller.key}),
        }
        servers = components(running, web)
        for name, request in requests.items():
            say(f"warm-up: {name}")
            run_load(port, request, connections=8, seconds=1.5)
        table = [measure(port, requests, servers, n, options) for n in options.connections]
        stages = where_the_time_goes(caller)
    report(table, stages)
    print(json.dumps({"benchmark": "evaluate", "goals": GOALS, "rows": table, "stages_us": stages}))


def say(text: str) -> None:
    """Tell the progress on stderr."""
    print(text, file=sys.stderr, flush=True)


def prepare_account() -> Any:
    """Make an account whose history holds 1000 scores."""
    from django.db import connections

    from tests.conftest import new_caller

    caller = new_caller(name="bench")
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "INSERT INTO evaluations_historyscore (account_id, evaluator_id, profile_name, score, passed, source, source_id)"
            " SELECT %s, 'exact-match-2026-11-01', 'patronus:exact-match', (i %% 4 > 0)::int, i %% 4 > 0, 'import', i"
            " FROM generate_series(1, 1000) i",
            [caller.account.pk],
        )
    with connections["owner"].cursor() as cursor:
        cursor.execute("VACUUM ANALYZE evaluations_historyscore")
    return caller


def components(running: Stack, web: psutil.Process) -> dict[str, psutil.Process]:
    """Return the processes whose CPU time is counted."""
    return {
        "web": web,
        "postgres": psutil.Process(running.postgres.process.pid),
        "valkey": psutil.Process(running.valkey.process.pid),
    }


def measure(
    port: int, requests: dict[str, bytes], servers: dict[str, psutil.Process], n: int, options: Any
) -> dict[str, Any]:
    """Measure both addresses in interleaved rounds with n connections."""
    rounds: dict[str, list[dict[str, float]]] = {name: [] for name in requests}
    for number in range(options.rounds):
        for name, request in requests.items():
            say(f"{n} connections, round {number + 1} of {options.rounds}: {name}")
            rounds[name].append(one_round(port, request, servers, n, options.seconds))
    row: dict[str, Any] = {"connections": n}
    for name, measured in rounds.items():
        row[name] = {key: round(statistics.median(part[key] for part in measured), 3) for key in measured[0]}
    pairs = list(zip(rounds["evaluate"], rounds["noop"], strict=True))
    row["rate_ratio"] = round(statistics.median(a["rate"] / b["rate"] for a, b in pairs), 3)
    row["cpu_ratio"] = round(statistics.median(a["cpu_us"] / b["cpu_us"] for a, b in pairs), 2)
    return row


def one_round(
    port: int, request: bytes, servers: dict[str, psutil.Process], n: int, seconds: float
) -> dict[str, float]:
    """Run one round and account for the CPU time of each server."""
    before = {name: cpu_seconds(process) for name, process in servers.items()}
    load: Load = run_load(port, request, connections=n, seconds=seconds)
    used = {
        name: (cpu_seconds(process) - before[name]) * 1e6 / len(load.latencies) for name, process in servers.items()
    }
    if load.n_failed:
        raise SystemExit(f"{load.n_failed} of {len(load.latencies)} requests failed")
    return {
        "rate": load.rate,
        "p50_ms": load.percentile(0.50),
        "p99_ms": load.percentile(0.99),
        "cpu_us": sum(used.values()),
        **{f"{name}_cpu_us": value for name, value in used.items()},
    }


def where_the_time_goes(caller: Any, repeats: int = 300) -> dict[str, float]:
    """Time each stage of the view in this process, in microseconds of wall time (median)."""
    import orjson

    from evalsvc.accounts.authentication import identify
    from evalsvc.accounts.keys import parse_key
    from evalsvc.evaluations import services
    from evalsvc.evaluations.answers import evaluate_answer
    from evalsvc.evaluations.asks import IntervalAsk
    from evalsvc.evaluations.call import fingerprint, read_call
    from evalsvc.evaluations.intervals import interval_of
    from evalsvc.evaluations.scoring import score_sample

    body = json.dumps(BODY).encode()
    text = parse_key(caller.key)
    assert text is not None
    epoch = identify(text).admission.epoch  # type: ignore[union-attr]
    account_id, call = caller.account.pk, read_call(body)
    entries = services.plan(account_id=account_id, epoch=epoch, call=call)
    run = entries[0].resolved
    assert run is not None
    accepted = services.accept(account_id=account_id, epoch=epoch, call=call, entries=entries, fingerprint=1)
    history = services.store.read_histories(account_id, [(run.evaluator_id, run.profile.name)], epoch=epoch)[0]
    stages: dict[str, Callable[[], Any]] = {
        "key and rate limit (1 Redis round trip)": lambda: identify(text),
        "decode and check the body": lambda: (read_call(body), fingerprint(account_id, body)),
        "resolve evaluators and profiles": lambda: services.plan(account_id=account_id, epoch=epoch, call=call),
        "score": lambda: score_sample(run.family, run.spec, run.settings, call.sample, "always"),
        "capture and read 1000 scores (1 database round trip, with its commit)": lambda: services._store(
            accepted, entries, 1, epoch, None
        ),
        "of which reading the scores": lambda: services.store.read_histories(
            account_id, [(run.evaluator_id, run.profile.name)], epoch=epoch
        ),
        "interval over 1000 scores": lambda: interval_of(IntervalAsk("full-history"), run.family, history),
        "write the answer": lambda: orjson.dumps(evaluate_answer(*services.facts_of(accepted))),
    }
    return {name: median_us(stage, repeats) for name, stage in stages.items()}


def median_us(stage: Callable[[], Any], repeats: int) -> float:
    """Return the median wall time of a call in microseconds."""
    times = []
    for _ in range(repeats):
        started = time.perf_counter_ns()
        stage()
        times.append((time.perf_counter_ns() - started) / 1000)
    return round(statistics.median(times), 1)


def report(table: list[dict[str, Any]], stages: dict[str, float]) -> None:
    """Print the table for people."""
    print(
        f"{'':>5}  {'requests/s':>21}  {'ratio':>5}  {'p50 / p99 ms':>27}  {'CPU us a request (web + postgres + valkey)':>44}  ratio"
    )
    for row in table:
        a, b = row["evaluate"], row["noop"]
        cpu = f"{a['cpu_us']:.0f} ({a['web_cpu_us']:.0f} + {a['postgres_cpu_us']:.0f} + {a['valkey_cpu_us']:.0f}) vs {b['cpu_us']:.0f}"
        print(
            f"c={row['connections']:>3}  {a['rate']:>9.0f} vs {b['rate']:>8.0f}  {row['rate_ratio']:>5.2f}  "
            f"{a['p50_ms']:>6.1f}/{a['p99_ms']:<6.1f}vs {b['p50_ms']:>5.1f}/{b['p99_ms']:<5.1f}  {cpu:>44}  {row['cpu_ratio']:>5.2f}"
        )
    print("\nWhere the time goes (one call in one process, microseconds):")
    for name, value in stages.items():
        print(f"{value:>9.1f}  {name}")


if __name__ == "__main__":
    main()
