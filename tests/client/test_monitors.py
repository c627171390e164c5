"""Rules, monitors and alarms in the client: what is scored of live spans, what is watched, and what was detected."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from evalsvc.client import Client, ForbiddenError, InvalidError, NotFoundError
from tests.conftest import Caller
from tests.monitors.shapes import advance, new_alarm, send, verdicts
from tests.rules.shapes import answered, run
from tests.rules.shapes import send as send_spans


def test_a_rule_is_previewed_created_and_changed(client: Client, stranger: Client) -> None:
    preview = client.rules.preview({"kind": "llm"}, evaluators="pii")
    rule = client.rules.create(
        "addresses", ["pii"], filter={"kind": "llm"}, sampling={"rate": 0.5, "by": "session"}, cap_per_hour=10
    )

    assert (list(preview.spans), preview.n_read) == ([], 0)
    assert (rule.state, rule.revision, rule.filter, rule.cap_per_hour) == ("active", 1, {"kind": "llm"}, 10)
    assert [entry["evaluator"] for entry in rule.evaluators] == ["pii"]
    assert client.rules.get(rule) == rule
    assert [found.id for found in client.rules.list()] == [rule.id]
    changed = client.rules.update(rule, evaluators="toxicity", filter={}, cap_per_hour=None, state="paused")
    assert (changed.state, changed.revision, changed.filter, changed.cap_per_hour) == ("paused", 2, {}, None)
    assert [entry["evaluator"] for entry in changed.evaluators] == ["toxicity"]
    with pytest.raises(InvalidError):
        client.rules.update(rule, nme="x")
    with pytest.raises(NotFoundError):
        stranger.rules.get(rule)
    client.rules.delete(rule)
    assert client.rules.list().first() is None


def test_a_rule_scores_live_and_stored_spans(client: Client, alice: Caller) -> None:
    stored = answered("Ada.", kind="LLM")
    send_spans(alice, stored)
    (shown,) = client.rules.preview({"kind": "llm"}).spans
    rule = client.rules.create("people", "pii", filter={"kind": "llm"})
    send_spans(alice, answered("Grace.", kind="LLM"), answered(None, kind="LLM"))
    backfill = client.rules.backfill(rule, "2020-01-01T00:00:00Z", datetime(2030, 1, 1, tzinfo=UTC))
    run(alice, {"id": rule.id})

    assert (shown["span_id"], shown["sample"]["output"]) == (stored["spanId"], "Ada.")
    assert (backfill.state, client.rules.get(rule).n_scored) == ("running", 2)
    (finished,) = client.rules.backfills(rule)
    assert (finished.id, finished.state) == (backfill.id, "finished")
    assert len([span for span in client.rules.spans(rule) if span.request_id]) == 2
    assert {span.reason for span in client.rules.spans(rule, "no_output")} == {"no_output"}


def test_stored_spans_become_examples(client: Client, alice: Caller) -> None:
    stored = answered("Ada.", kind="LLM")
    send_spans(alice, stored, answered("Grace.", kind="LLM"), answered(None, kind="LLM"), answered("step"))
    options: dict[str, Any] = {"mapping": {"gold_answer": "/name"}, "sampling": {"rate": 1}}
    added = client.datasets.add_spans("traffic", {"kind": "llm"}, since=datetime(2020, 1, 1, tzinfo=UTC), **options)
    again = client.datasets.add_spans(client.datasets.get(added.dataset_id), {"kind": "llm"}, limit=1)

    assert str(added) == "2 added, 1 no_output; version 1 has 2 examples"
    assert (added.left_out[0]["reason"], added.next_cursor, added.n_read) == ("no_output", None, 4)
    assert (again.n_added, again.n_unchanged, again.created) == (0, 2, False)
    rows = {row["id"]: row for row in client.datasets.examples(added.dataset_id)}
    row = rows[f"{stored['traceId']}-{stored['spanId']}"]
    assert (row["input"], row["expected"]) == ("Who?", "answer")


def test_a_monitor_is_previewed_created_and_steered(client: Client, alice: Caller, stranger: Client) -> None:
    send(alice, verdicts(100, 10), app="shop")
    preview = client.monitors.preview("answers", "exact-match", scope={"app": "shop"}, mean_run=500)
    monitor = client.monitors.create("answers", "exact-match", scope={"app": "shop"}, mean_run=500)

    assert preview.baseline is not None and monitor.baseline is not None
    assert (preview.baseline["mean"], preview.unit, preview.mean_run) == (0.9, "score", 500)
    assert (monitor.name, monitor.state, monitor.alarm_id, monitor.scope) == (
        "answers",
        "active",
        None,
        {"app": "shop"},
    )
    assert monitor.baseline["n_scores"] == 100
    assert client.monitors.pause(monitor).state == "paused"
    assert [found.id for found in client.monitors.list(state="paused", evaluator=monitor.evaluator_id)] == [monitor.id]
    assert client.monitors.resume(monitor).state == "active"
    send(alice, verdicts(100, 2), app="shop")
    again = client.monitors.rebaseline(monitor, baseline_scores=100)
    assert again.baseline is not None and (again.baseline["mean"], again.baseline["n_scores"]) == (0.5, 100)
    assert client.monitors.get(monitor).baseline == again.baseline
    limit = client.monitors.create("slow", "exact-match", estimand="latency", above=2, limit=0.05)
    assert (limit.baseline, limit.above, limit.limit, limit.n_undecided, limit.silence) == (None, 2.0, 0.05, 0, None)
    client.monitors.delete(limit)
    with pytest.raises(NotFoundError):
        stranger.monitors.pause(monitor)
    client.monitors.delete(monitor)
    assert client.monitors.list().first() is None


def test_a_history_that_is_too_short_is_refused(client: Client) -> None:
    with pytest.raises(InvalidError):
        client.monitors.create("answers", "exact-match/patronus:exact-match")

    assert client.monitors.list().first() is None


def test_an_alarm_is_acknowledged_and_resolved(client: Client, alice: Caller, bob: Caller, web: str) -> None:
    id = new_alarm(alice, app="shop")["id"]
    (alarm,) = client.alarms.list(state="open")

    assert (alarm.id, alarm.monitor_name, alarm.before) == (id, "watched", 0.9)
    assert alarm.summary.startswith("The pass rate dropped from 90.0 % to ")
    assert len(alarm.examples) == 5
    with Client(web, bob.key) as reader, pytest.raises(ForbiddenError):
        reader.alarms.acknowledge(alarm)
    assert client.alarms.acknowledge(alarm).state == "acknowledged"
    assert client.alarms.list(state="open").first() is None
    assert [found.id for found in client.alarms.list(state="unresolved", monitor=alarm.monitor_id)] == [id]
    assert (client.alarms.resolve(id).reason, client.alarms.get(id).state) == ("person", "resolved")
    advance()
    assert client.monitors.get(alarm.monitor_id).alarm_id is None
