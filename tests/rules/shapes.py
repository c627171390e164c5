"""Spans that applications send, and rules about them."""

from __future__ import annotations

import json
from typing import Any

from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.rules.worker import run_rule
from tests.caller import Caller
from tests.factories import ok
from tests.telemetry.otlp import attribute, log, logs, new_id, span, traces

RULES = "/v1/rules"
BODY: dict[str, Any] = {"name": "answers", "evaluators": [{"evaluator": "pii"}]}


def answered(
    output: str | None, *, input: str = "Who?", trace_id: str | None = None, kind: str = "CHAIN", **fields: Any
) -> dict[str, Any]:
    """A span of OpenInference with an input and an output; other attributes have underscores for dots."""
    names = (
        "name",
        "kind_number",
        "status",
        "startTimeUnixNano",
        "endTimeUnixNano",
        "parentSpanId",
        "spanId",
        "events",
    )
    given = {name: fields.pop(name) for name in names if name in fields}
    attributes = {"openinference.span.kind": kind, "input.value": input}
    attributes |= {key.replace("__", "."): value for key, value in fields.items()}
    attributes |= {} if output is None else {"output.value": output}
    pairs = [attribute(key, value) for key, value in attributes.items()]
    return span(trace_id or new_id(), **{"name": "answer", "attributes": pairs, **given})


def send(caller: Caller, *spans: dict[str, Any], service: str = "shop") -> None:
    assert ok(caller.post("/v1/traces", raw=json.dumps(traces(*spans, service=service)))) == {}


def say(output: str, **ids: Any) -> dict[str, Any]:
    """A log of OpenTelemetry GenAI with the answer of the span of these ids."""
    said = {"kvlistValue": {"values": [attribute("content", output)]}}
    choice = {"kvlistValue": {"values": [{"key": "message", "value": said}]}}
    return log(eventName="gen_ai.choice", body=choice, **ids)


def send_logs(caller: Caller, *records: dict[str, Any]) -> None:
    ok(caller.post("/v1/logs", raw=json.dumps(logs(*records))))


def backfill(caller: Caller, rule: dict[str, Any]) -> dict[str, Any]:
    """Have a rule score all stored spans; return the rule after it."""
    body = {"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}
    ok(caller.post(f"{RULES}/{rule['id']}/backfill", body), 202)
    return run(caller, rule)


def new_rule(caller: Caller, **fields: Any) -> dict[str, Any]:
    rule: dict[str, Any] = ok(caller.post(RULES, BODY | fields), 201)["rule"]
    return rule


def run(caller: Caller, rule: dict[str, Any]) -> dict[str, Any]:
    """Let a worker work on a rule; return the rule after it."""
    while run_rule(account_id=caller.account.pk, rule_id=int(rule["id"]), enqueue=enqueue_lanes):
        pass
    after: dict[str, Any] = ok(caller.get(f"{RULES}/{rule['id']}"))["rule"]
    return after


def new_rule_with_spans(caller: Caller) -> dict[str, Any]:
    """A rule that has scored a span, after a backfill."""
    rule = new_rule(caller)
    send(caller, answered("Ada."))
    return backfill(caller, rule)


def list_evaluations(caller: Caller) -> list[Evaluation]:
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    return list(rows.select_related("request").order_by("id"))
