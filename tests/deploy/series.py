"""The alert rules, and the series of a healthy installation that they are held against."""

from __future__ import annotations

import yaml

from tests.deploy.tools import MONITORING

RULES = [rule for group in yaml.safe_load((MONITORING / "rules.yaml").read_text())["groups"] for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in RULES}
HOURS = 40
AWAY: dict[str, str] = {}
"""A series that is not there."""


def steady(value: float) -> str:
    return f"{value}x{HOURS * 240}"


def rising(by: float, since: float = 0) -> str:
    """A counter that rises by so much every 15 seconds."""
    return f"{since}+{by}x{HOURS * 240}"


def up(host: str, value: float = 1) -> dict[str, str]:
    return {f'up{{job="evalsvc", instance="{host}"}}': steady(value)}


def workers(**n: float) -> dict[str, str]:
    return {f'evalsvc_workers_alive{{queue="{queue}", instance="a"}}': steady(value) for queue, value in n.items()}


def requests(status: int, by: float, route: str = "v1/evaluate") -> dict[str, str]:
    return {f'evalsvc_http_requests_total{{method="POST", route="{route}", status="{status}"}}': rising(by)}


def ages(**seconds: str) -> dict[str, str]:
    return {f'evalsvc_periodic_task_age_seconds{{task="{task}", instance="a"}}': text for task, text in seconds.items()}


def waited(lane: str, seconds: float) -> dict[str, str]:
    return {f'evalsvc_queue_oldest_seconds{{lane="{lane}", instance="a"}}': steady(seconds)}


def judged(in_flight: float, slots: float = 512) -> dict[str, str]:
    return {"evalsvc_judge_in_flight": steady(in_flight), "evalsvc_judge_slots": steady(slots)}


def waits(no_place: float, answered: float) -> dict[str, str]:
    return {
        'evalsvc_waits_total{end="no_place"}': rising(no_place),
        'evalsvc_waits_total{end="answered"}': rising(answered),
    }


def calls(good: float, bad: float) -> dict[str, str]:
    return {
        'evalsvc_outbound_calls_total{end="2xx"}': rising(good),
        'evalsvc_outbound_calls_total{end="timeout"}': rising(bad),
    }


def deliveries(good: float, bad: float) -> dict[str, str]:
    return {
        'evalsvc_event_deliveries_total{outcome="delivered"}': rising(good),
        'evalsvc_event_deliveries_total{outcome="retry"}': rising(bad),
    }


TASKS = (
    "sweep",
    "plan",
    "sweep_comparisons",
    "sweep_rules",
    "advance_monitors",
    "deliver_events",
    "prune",
    "retain",
    "prune_telemetry",
    "prune_rules",
    "prune_events",
    "prune_sessions",
    "delete_accounts",
    "make_partitions",
    "fold_rollups",
    "recount_rollups",
)
BACKLOG = ("evalsvc_queue", "evalsvc_experiment")
HEALTHY: dict[str, str] = (
    up("a")
    | up("b")
    | workers(cpu=1, judge=1, experiments=1, system=1, beat=1)
    | {"evalsvc_backlog_known": steady(1)}
    | {'evalsvc_build_info{version="1.0.0", instance="a"}': steady(1)}
    | ages(**dict.fromkeys(TASKS, steady(3)))
    | waited("inline", 0) | waited("cpu", 2) | waited("judge", 40)
    | judged(100)
    | waits(0, 10)
    | requests(200, 100) | requests(500, 0)
    | {'evalsvc_database_waiting{role="app"}': steady(0)}
    | calls(10, 1) | deliveries(10, 1)
    | {"evalsvc_throttle_skipped_total": steady(7), "evalsvc_judge_limits_skipped_total": steady(0)}
)  # fmt: skip
