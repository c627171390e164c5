"""Processes that are killed while rules score and monitors read: every span is scored once, alarms are a replay's."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections import Counter
from typing import Any

import httpx
import pytest
from django.utils import timezone

from evalsvc.evaluations.models import Evaluation
from evalsvc.monitors.models import Alarm, Monitor
from evalsvc.monitors.progress import advance_monitors
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.sampling import draw_uniform
from evalsvc.rules.tasks import enqueue_rule
from evalsvc.tenancy.scope import SYSTEM
from tests.conftest import Caller, findings, new_caller, scores_of, start_worker, stop_group, wait_until
from tests.faults.conftest import Service
from tests.monitors.shapes import new_monitor
from tests.rules.shapes import answered, new_rule, send
from tests.telemetry.otlp import traces

pytestmark = pytest.mark.slow

N_SPANS, N_KILLS = 1500, 3
SECONDS, PER_SECOND, A_CALL = 300, 50, 5


@pytest.mark.timeout(600)
def test_each_span_is_scored_once_whenever_a_worker_is_killed() -> None:
    caller = new_caller(name="rules")
    rule = new_rule(caller, evaluators=[{"evaluator": "pii"}, {"evaluator": "exact-match"}])
    for begin in range(0, N_SPANS, 100):
        send(caller, *(answered(f"Write to jo{i}@example.com") for i in range(begin, begin + 100)))
    rows = RuleSpan.objects.using("system").filter(rule_id=rule["id"])

    for kill in range(1, N_KILLS + 1):
        process = start_worker("experiments", concurrency=1)
        enqueue_rule(caller.account.pk, int(rule["id"]))
        wait_until(lambda least=kill * N_SPANS // 5: rows.count() >= least, seconds=120, pause=0.02)
        os.killpg(process.pid, 9)
        process.wait()
        assert rows.count() < N_SPANS
        # The time of the dead worker's lease passes.
        Rule.objects.using("system").filter(pk=rule["id"]).update(lease_expires_at=None)
    process = start_worker("experiments", concurrency=1)
    try:
        enqueue_rule(caller.account.pk, int(rule["id"]))
        wait_until(lambda: rows.count() == N_SPANS, seconds=120, pause=0.2)
    finally:
        stop_group(process)

    evaluations = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    assert evaluations.count() == 2 * N_SPANS
    assert evaluations.values("trace_id").distinct().count() == N_SPANS
    assert set(rows.values_list("reason", flat=True)) == {None}
    assert rows.values("request_id").distinct().count() == N_SPANS
    assert len(scores_of(caller, "")) == N_SPANS
    assert Rule.objects.using("system").get(pk=rule["id"]).n_scored == N_SPANS
    assert findings(caller) == {}


class Application:
    """Sends spans at a steady rate, each call until it is accepted, as an exporter does."""

    def __init__(self, url: str, caller: Caller) -> None:
        self.url, self.caller = url, caller
        self.trace_ids: list[str] = []

    def run(self) -> None:
        """Send for `SECONDS`; in the last two fifths every second answer has an address, before that each tenth."""
        rng, began, n_calls = random.Random(7), time.monotonic(), SECONDS * PER_SECOND // A_CALL
        for i in range(n_calls):
            share = 0.5 if i >= 0.6 * n_calls else 0.1
            texts = ["Write to jo@example.com" if rng.random() < share else "Ask at the desk" for _ in range(A_CALL)]
            self.send_until_accepted([answered(text) for text in texts])
            time.sleep(max(0.0, began + i * A_CALL / PER_SECOND - time.monotonic()))

    def send_until_accepted(self, spans: list[dict[str, Any]]) -> None:
        body = json.dumps(traces(*spans, service="shop"))
        headers = {"X-API-KEY": self.caller.key, "Content-Type": "application/json"}
        until = time.monotonic() + 120
        while time.monotonic() < until:
            try:
                answer = httpx.post(f"{self.url}/v1/traces", content=body, headers=headers, timeout=30)
            except httpx.HTTPError:
                time.sleep(0.2)
                continue
            if answer.status_code == 200:
                self.trace_ids += [span["traceId"] for span in spans]
                return
            assert answer.status_code in (500, 503), answer.text
            time.sleep(0.2)
        raise AssertionError("spans were never accepted")


def read_alarms(monitor: Monitor) -> list[Any]:
    rows = Alarm.objects.using(SYSTEM).filter(monitor_id=monitor.pk).order_by("id")
    return list(rows.values_list("score_id", "state", "evidence"))


@pytest.mark.timeout(1500)
def test_a_watch_survives_the_death_of_each_part(service: Service) -> None:
    """Three rules at 50 spans a second while a worker, Valkey and PostgreSQL are killed once each."""
    caller = new_caller(name="watch")
    rules = [
        new_rule(caller, name="all", evaluators=[{"evaluator": "pii"}], app="all"),
        new_rule(caller, name="half", evaluators=[{"evaluator": "pii"}], app="half", sampling={"rate": 0.5}),
        new_rule(caller, name="tenth", evaluators=[{"evaluator": "toxicity"}], app="tenth", sampling={"rate": 0.1}),
    ]
    rows = RuleSpan.objects.using(SYSTEM).filter(account_id=caller.account.pk)
    worker = start_worker("experiments", concurrency=1)
    first = Application(service.url, caller)
    for i in range(60):
        texts = ["Write to jo@example.com" if i % 2 == 0 and j == 0 else "Ask at the desk" for j in range(A_CALL)]
        first.send_until_accepted([answered(text) for text in texts])
    wait_until(lambda: rows.filter(rule_id=rules[0]["id"]).count() == len(first.trace_ids), seconds=120, pause=0.2)
    made = new_monitor(caller, name="addresses", evaluator="pii", scope={"app": "all"})
    monitor = Monitor.objects.using(SYSTEM).get(pk=made["id"])
    application = Application(service.url, caller)
    sending = threading.Thread(target=application.run)
    sending.start()

    def wait_for(share: float) -> None:
        wait_until(lambda: len(application.trace_ids) >= share * SECONDS * PER_SECOND, seconds=SECONDS, pause=0.2)

    wait_for(0.2)
    service.kill_worker()
    stop_group(worker)
    worker = start_worker("experiments", concurrency=1)
    wait_for(0.4)
    service.servers.valkey.kill_hard()
    time.sleep(2)
    service.repair()
    wait_for(0.7)
    service.servers.postgres.kill_hard()
    time.sleep(2)
    service.repair()
    sending.join(timeout=600)

    sent = first.trace_ids + application.trace_ids
    assert len(sent) == len(set(sent)) == 300 + SECONDS * PER_SECOND
    drawn = {
        rule["id"]: {id for id in sent if draw_uniform(int(rule["id"]), f"trace:{id}") < rule["sampling"]["rate"]}
        for rule in rules
    }
    n_drawn = sum(map(len, drawn.values()))
    try:
        wait_until(lambda: rows.count() >= n_drawn, seconds=300, pause=0.5)
        evaluations = Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk)
        wait_until(lambda: not evaluations.filter(status="pending").exists(), seconds=300, pause=0.5)
    finally:
        stop_group(worker)
    for rule in rules:
        found = rows.filter(rule_id=rule["id"])
        assert set(found.values_list("reason", flat=True)) == {None}
        assert Counter(found.values_list("trace_id", flat=True)) == Counter(drawn[rule["id"]])
        scored = evaluations.filter(request__app=rule["name"])
        assert Counter(scored.values_list("trace_id", flat=True)) == Counter(drawn[rule["id"]])
        assert set(scored.values_list("status", flat=True)) == {"success"}
    assert findings(caller) == {}

    n_scores = len(drawn[rules[0]["id"]]) - len(first.trace_ids)
    states = Monitor.objects.using(SYSTEM).filter(pk=monitor.pk)
    wait_until(lambda: states.get().n_scores == n_scores, seconds=120, pause=0.5)
    seen, after = read_alarms(monitor), states.get()
    assert len(seen) >= 1 and seen[0][2]["after"] < seen[0][2]["before"]
    Alarm.objects.using(SYSTEM).filter(monitor_id=monitor.pk).delete()
    monitor.save(using=SYSTEM)
    wait_until(
        lambda: (advance_monitors(timezone.now(), portion=37), states.get().n_scores)[1] == n_scores, seconds=300
    )
    assert read_alarms(monitor) == seen
    assert states.get().progress == after.progress
