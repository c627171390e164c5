"""The alert rules against Prometheus' own clock: each fires for its cause, alone, and stays silent just below."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.series import (
    ALERTS,
    AWAY,
    BACKLOG,
    HEALTHY,
    RULES,
    TASKS,
    ages,
    calls,
    deliveries,
    judged,
    requests,
    rising,
    steady,
    up,
    waited,
    waits,
    workers,
)
from tests.deploy.tools import MONITORING, run


def without(*prefixes: str) -> dict[str, str]:
    """Return series that a healthy installation has, as ended."""
    return {name: "_" for name in HEALTHY if name.startswith(prefixes)}


OLDER = ages(**dict.fromkeys(TASKS, rising(15)))
PLAN_LATE = {"plan", "sweep", "deliver_events"}
BEFORE = 'evalsvc_build_info{version="0.9.0", instance="b"}'
NO_REDIS = without("evalsvc_workers_alive", "evalsvc_judge_in_flight", "evalsvc_judge_slots", "evalsvc_periodic")
SKIPPED = {"evalsvc_throttle_skipped_total": rising(5)}
# What is different, after how many minutes it is looked, and the alerts that there must be, with labels that tell them.
FIRES: dict[str, tuple[dict[str, str], int, set[tuple[str, str]]]] = {
    "all-is-well": (AWAY, 60, set()),
    "one-host-gone": (up("b", 0), 5, {("EvalsvcHostDown", "instance=b")}),
    "all-hosts-gone": (up("a", 0) | up("b", 0) | without("evalsvc"), 5, {("EvalsvcDown", "")}),
    "nothing-is-asked": (without("up", "evalsvc"), 5, {("EvalsvcDown", "")}),
    "database-gone": (
        {"evalsvc_backlog_known": steady(0), 'evalsvc_database_waiting{role="app"}': steady(9)}
        | without(*BACKLOG) | OLDER | requests(503, 50),
        30, {("EvalsvcDatabaseDown", "")},
    ),
    "valkey-gone": (NO_REDIS | requests(503, 50) | SKIPPED, 30, {("EvalsvcValkeyDown", "")}),
    "no-worker-that-computes": (workers(cpu=0) | waited("cpu", 900), 10, {("EvalsvcWorkersGone", "queue=cpu")}),
    "no-worker-that-judges": (
        workers(judge=0) | waited("judge", 900) | ages(deliver_events=rising(15)), 10, {("EvalsvcWorkersGone", "queue=judge")},
    ),
    "no-worker-that-plans": (
        workers(experiments=0) | ages(plan=rising(15)), 10, {("EvalsvcWorkersGone", "queue=experiments")},
    ),
    "no-worker-that-sweeps": (workers(system=0) | OLDER, 20, {("EvalsvcWorkersGone", "queue=system")}),
    "no-beat": (workers(beat=0) | OLDER, 20, {("EvalsvcClockStopped", "")}),
    "a-task-fails": (ages(plan=steady(90)), 5, {("EvalsvcTaskLate", "task=plan")}),
    "a-slow-task-fails": (ages(retain=steady(700)), 5, {("EvalsvcTaskLate", "task=retain")}),
    "no-partitions-are-made": (ages(make_partitions=steady(36100)), 5, {("EvalsvcTaskLate", "task=make_partitions")}),
    "the-lane-stands": (waited("cpu", 90), 10, {("EvalsvcQueueStands", "lane=cpu")}),
    "judges-stand": (waited("judge", 200), 10, {("EvalsvcQueueStands", "lane=judge")}),
    "places-for-judges-are-taken": (judged(500), 15, {("EvalsvcJudgePlacesFull", "")}),
    "threads-are-short": (waits(1, 10), 20, {("EvalsvcNoPlaceToWait", "")}),
    "the-service-breaks": (requests(500, 2), 15, {("EvalsvcErrors", "")}),
    "connections-are-short": ({'evalsvc_database_waiting{role="app"}': steady(3)}, 10, {("EvalsvcPoolShort", "role=app")}),
    "judges-fail": (calls(1, 10), 25, {("EvalsvcOutboundFailing", "")}),
    "receivers-fail": (deliveries(1, 10), 90, {("EvalsvcEventsUndelivered", "")}),
    "limits-are-not-counted": (SKIPPED, 15, {("EvalsvcLimitsUncounted", "")}),
    "an-old-process-stays": ({BEFORE: steady(1)}, 130, {("EvalsvcVersionsMixed", "")}),
    # Just below.
    "a-short-break": (up("b", 0), 1, set()),
    "an-upgrade": ({BEFORE: steady(1)}, 110, set()),
    "tasks-take-their-time": (
        ages(plan=steady(59), sweep=steady(55), retain=steady(590), make_partitions=steady(3700)), 60, set(),
    ),
    "judges-take-their-time": (waited("judge", 170), 60, set()),
    "many-judges-at-once": (judged(450), 60, set()),
    "some-errors": (requests(500, 0.9), 60, set()),
    "readyz-says-draining": (requests(503, 50, "readyz"), 60, set()),
    "nobody-calls-and-one-fails": (requests(200, 0) | requests(500, 0.5), 60, set()),
    "a-busy-pool": ({'evalsvc_database_waiting{role="app"}': "0 3x5 0x9000"}, 4, set()),
    "some-calls-fail": (calls(10, 9), 60, set()),
    "no-events": (deliveries(0, 0), 90, set()),
    "no-judges": ({"evalsvc_judge_in_flight": "_", "evalsvc_judge_slots": steady(0)}, 60, set()),
}  # fmt: skip


def alerts_of(expected: set[tuple[str, str]], name: str) -> list[dict[str, Any]]:
    """Return the alerts of a name as promtool wants them: with all their labels."""
    severity = ALERTS[name]["labels"]["severity"]
    found = [dict([label.split("=")]) if label else {} for one, label in sorted(expected) if one == name]
    return [
        {"exp_labels": labels | {"severity": severity} | ({"job": "evalsvc"} if "instance" in labels else {})}
        for labels in found
    ]


@pytest.mark.parametrize("case", FIRES)
def test_the_right_alert_fires_and_no_other(tmp_path: Path, case: str) -> None:
    series, minutes, expected = FIRES[case]
    rules = [{**rule, "annotations": {}} for rule in RULES]
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": [{"name": "evalsvc", "rules": rules}]}))
    tests = {
        "rule_files": ["rules.yaml"],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": text} for name, text in (HEALTHY | series).items()],
                "alert_rule_test": [
                    {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": alerts_of(expected, name)}
                    for name in ALERTS
                ],
            }
        ],
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests))
    done = run("promtool", "test", "rules", tmp_path / "tests.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_each_alert_is_made_to_fire() -> None:
    assert {name for _, _, expected in FIRES.values() for name, _ in expected} == set(ALERTS)


# Ten minutes well, ten minutes not, and well again.
OUTAGES = {
    "database": {"evalsvc_backlog_known": "1x40 0x40 1x1000"},
    "valkey": dict.fromkeys(NO_REDIS, "1x40 stale _x39 1x1000")
    | {"evalsvc_throttle_skipped_total": "7x40 7+5x40 207x1000"},
}


@pytest.mark.parametrize("part", OUTAGES)
def test_after_an_outage_nothing_is_told_of_it(tmp_path: Path, part: str) -> None:
    """Rates look back: errors of the outage are in them for some minutes after its end."""
    errors = {'evalsvc_http_requests_total{method="POST", route="v1/evaluate", status="503"}': "0x40 0+50x40 2000x1000"}
    series = HEALTHY | OUTAGES[part] | errors
    names = ("EvalsvcErrors", "EvalsvcLimitsUncounted", "EvalsvcTaskLate", "EvalsvcPoolShort")
    tests = {
        "rule_files": [str(MONITORING / "rules.yaml")],
        "evaluation_interval": "15s",
        "tests": [
            {
                "interval": "15s",
                "input_series": [{"series": name, "values": text} for name, text in series.items()],
                "alert_rule_test": [
                    {"eval_time": f"{minutes}m", "alertname": name, "exp_alerts": []}
                    for name in names
                    for minutes in (15, 20, 22, 24, 26, 28, 30, 32)
                ],
            }
        ],
    }
    (tmp_path / "tests.yaml").write_text(yaml.safe_dump(tests))
    done = run("promtool", "test", "rules", tmp_path / "tests.yaml")

    assert done.returncode == 0, done.stdout + done.stderr


def test_a_wrong_rule_is_found(tmp_path: Path) -> None:
    text = (MONITORING / "rules.yaml").read_text()
    (tmp_path / "typo.yaml").write_text(text.replace("expr: max(", "expr: mux(", 1))

    assert run("promtool", "check", "rules", MONITORING / "rules.yaml").returncode == 0
    assert run("promtool", "check", "rules", tmp_path / "typo.yaml").returncode != 0
