"""Workers of rules that are killed: every span is scored once."""

from __future__ import annotations

import os

import pytest

from evalsvc.evaluations.models import Evaluation
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.tasks import enqueue_rule
from tests.conftest import findings, new_caller, scores_of, start_worker, stop_group, wait_until
from tests.rules.shapes import answered, new_rule, send

pytestmark = pytest.mark.slow

N_SPANS, N_KILLS = 1500, 3


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
