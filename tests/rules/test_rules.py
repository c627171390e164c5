"""Rules on live spans: which are scored, with what, how often, and what is dropped."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from evalsvc.evaluations.queueing import enqueue_lanes
from evalsvc.evaluations.wire.inputs import MAX_CONTEXTS
from evalsvc.rules import worker
from evalsvc.rules.candidates import CandidateSpan
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.samples import build_body
from evalsvc.rules.sampling import draw_uniform
from evalsvc.rules.scorer import Scorer, SpanOutcome
from evalsvc.rules.worker import list_due_rules, run_rule
from tests.conftest import Caller, new_caller, wait_until
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.rules.shapes import BODY, RULES, answered, backfill, list_evaluations, new_rule, run, say, send, send_logs
from tests.telemetry.otlp import NOON, SECOND, attribute, log, logs, new_id, span

MAIL = "Write to jo@example.com"


def test_a_span_is_scored_once(alice: Caller) -> None:
    rule = new_rule(alice, tags={"team": "search"}, sampling={"rate": 1.0})
    sent = answered(MAIL, input="How do I reach you?", llm__model_name="small-1")
    send(alice, sent)
    after = run(alice, rule)
    run(alice, rule)
    (row,) = list_evaluations(alice)

    assert (after["n_scored"], sum(after["n_dropped"].values())) == (1, 0)
    assert (row.evaluator_id.startswith("pii"), row.status, row.passed, row.in_history) == (
        True,
        "success",
        False,
        True,
    )
    assert (row.request.input, row.request.output, row.app) == ("How do I reach you?", MAIL, "shop")
    assert (row.trace_id, row.request.tags) == (sent["traceId"], {"team": "search", "rule": "answers"})
    (listed,) = ok(alice.get(f"{RULES}/{rule['id']}/spans"))["spans"]
    assert (listed["span_id"], listed["probability"], listed["reason"]) == (sent["spanId"], 1.0, None)
    found = ok(alice.get(f"/v1/evaluate/{listed['request_id']}"))["results"]
    assert [result["status"] for result in found] == ["success"]


def test_the_score_is_found_by_its_trace(alice: Caller) -> None:
    rule, sent = new_rule(alice), answered(MAIL)
    send(alice, sent)
    run(alice, rule)
    wanted = {"filters": [{"field": "trace_id", "operation": "eq", "value": sent["traceId"]}]}
    (found,) = ok(alice.post("/v1/evaluations/search", wanted))["evaluations"]

    assert found["evaluator_id"].startswith("pii")


def test_spans_of_before_are_left_to_a_backfill(alice: Caller) -> None:
    early, late = answered(MAIL), answered("Ada.")
    send(alice, early)
    rule = new_rule(alice)
    Rule.objects.using("system").filter(pk=rule["id"]).update(watermark=_newest_id(alice))
    send(alice, late)
    assert run(alice, rule)["n_scored"] == 1

    body = {"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}
    first = ok(alice.post(f"{RULES}/{rule['id']}/backfill", body), 202)["backfill"]
    assert (first["state"], first["n_scored"]) == ("running", 0)
    assert run(alice, rule)["n_scored"] == 2
    ok(alice.post(f"{RULES}/{rule['id']}/backfill", body), 202)
    assert run(alice, rule)["n_scored"] == 2
    states = [(row["state"], row["n_scored"]) for row in ok(alice.get(f"{RULES}/{rule['id']}/backfill"))["backfills"]]
    assert states == [("finished", 0), ("finished", 1)]


def _pass_spans(caller: Caller, rule: dict[str, Any]) -> None:
    """Have a rule be done with the spans that are stored, as it is some seconds later."""
    Rule.objects.using("system").filter(pk=rule["id"]).update(watermark=_newest_id(caller))


def _newest_id(caller: Caller) -> int:
    from evalsvc.telemetry.models import Span

    newest = Span.objects.using("system").filter(account_id=caller.account.pk).latest("id")
    return int(newest.pk)


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"a", "b", "c"}),
    ({"service_name": "shop"}, {"a", "b", "c"}),
    ({"service_name": ["other"]}, set()),
    ({"span_name": "answer"}, {"a", "b"}),
    ({"kind": "llm"}, {"b"}),
    ({"kind": ["llm", "chain"]}, {"a", "b", "c"}),
    ({"model": "small-1"}, {"b"}),
    ({"status": "error"}, {"c"}),
    ({"attributes": {"tier": "gold", "n": 3}}, {"a"}),
    ({"text": "REFUND"}, {"b"}),
    ({"text": "100%", "kind": "chain"}, {"c"}),
]


@pytest.mark.parametrize(("wanted", "names"), FILTERS)
def test_filters(alice: Caller, wanted: dict[str, Any], names: set[str]) -> None:
    rule = new_rule(alice, filter=wanted)
    send(
        alice,
        answered("a", tier="gold", n=3),
        answered("b", input="Refund it.", kind="LLM", llm__model_name="small-1", tier="gold"),
        answered("c", input="100% sure?", name="other", status={"code": 2}, tier="silver", n=3),
    )
    run(alice, rule)

    assert {row.request.output for row in list_evaluations(alice)} == names
    preview = ok(alice.post(f"{RULES}/preview", {"filter": wanted}))
    assert {row["sample"]["output"] for row in preview["spans"]} == names


def test_what_cannot_be_scored_is_counted_with_its_reason(alice: Caller) -> None:
    rule = new_rule(alice)
    send(
        alice,
        answered(None),
        answered(None, gen_ai__input__messages="{broken"),
        answered("Ada."),
        *(answered("x" * 60_000, **{f"input__{i}": "y" * 60_000 for i in range(1)}) for _ in range(1)),
    )
    after = run(alice, rule)
    reasons = {row["reason"] for row in ok(alice.get(f"{RULES}/{rule['id']}/spans"))["spans"]}

    assert after["n_scored"] == 2
    assert after["n_dropped"] == {"over_cap": 0, "budget": 0, "no_output": 1, "unreadable": 1, "invalid": 0}
    assert reasons == {None, "no_output", "unreadable"}
    (one,) = ok(alice.get(f"{RULES}/{rule['id']}/spans?reason=unreadable"))["spans"]
    assert "gen_ai.input.messages" in one["detail"]


def test_the_cap_of_an_hour_drops_and_a_backfill_takes_up(alice: Caller) -> None:
    rule = new_rule(alice, cap_per_hour=3)
    send(alice, *(answered(f"{i}") for i in range(5)))
    after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["over_cap"]) == (3, 2)

    body = {"since": "2020-01-01T00:00:00Z", "until": "2030-01-01T00:00:00Z"}
    ok(alice.post(f"{RULES}/{rule['id']}/backfill", body), 202)
    after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["over_cap"]) == (5, 0)
    assert sorted(str(row.request.output) for row in list_evaluations(alice)) == ["0", "1", "2", "3", "4"]


def test_a_later_version_of_a_span_is_scored(alice: Caller) -> None:
    rule, id = new_rule(alice), new_id(8)
    trace_id = new_id()
    send(alice, answered(None, trace_id=trace_id, spanId=id))
    assert run(alice, rule)["n_dropped"]["no_output"] == 1
    send(alice, answered("Ada.", trace_id=trace_id, spanId=id, endTimeUnixNano=str(NOON + 9 * SECOND)))
    after = run(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["no_output"]) == (1, 0)
    assert [row.request.output for row in list_evaluations(alice)] == ["Ada."]


@pytest.mark.parametrize("kind", ["EVALUATOR", "Evaluator", "evaluator"])
def test_evaluators_and_what_runs_within_them_feed_no_rule(alice: Caller, kind: str) -> None:
    rule, trace_id = new_rule(alice), new_id()
    judge, inner, deep = new_id(8), new_id(8), new_id(8)
    send(
        alice,
        answered("verdict", kind=kind, trace_id=trace_id, spanId=judge),
        answered("thought", kind="CHAIN", trace_id=trace_id, spanId=inner, parentSpanId=judge),
        answered("asked", kind="LLM", trace_id=trace_id, spanId=deep, parentSpanId=inner),
        answered("answer", kind="LLM", trace_id=trace_id),
        answered("going on", logfire__span_type="pending_span"),
    )
    send(alice, answered("ours", kind="LLM"), service="evalsvc")
    run(alice, rule)

    assert [row.request.output for row in list_evaluations(alice)] == ["answer"]


def test_sampling_takes_all_of_a_trace_or_nothing(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5, "by": "trace"})
    traces_of = [new_id() for _ in range(40)]
    send(alice, *(answered(f"{i}", trace_id=id) for id in traces_of for i in range(2)))
    run(alice, rule)
    expected = {id for id in traces_of if draw_uniform(int(rule["id"]), f"trace:{id}") < 0.5}
    rows = RuleSpan.objects.using("system").filter(rule_id=rule["id"])

    assert 8 < len(expected) < 32
    assert sorted(rows.values_list("trace_id", flat=True)) == sorted([*expected, *expected])
    assert set(rows.values_list("probability", flat=True)) == {0.5}


def test_sampling_by_session_crosses_traces(alice: Caller) -> None:
    rule = new_rule(alice, sampling={"rate": 0.5, "by": "session"})
    send(alice, *(answered(f"{s}", session__id=f"s{s}") for s in range(20) for _ in range(2)))
    run(alice, rule)
    scored = [str(row.request.output) for row in list_evaluations(alice)]

    assert sorted(scored) == sorted(
        f"{s}" for s in range(20) if draw_uniform(int(rule["id"]), f"session:s{s}") < 0.5 for _ in range(2)
    )


def test_draws_are_uniform_and_independent_between_rules() -> None:
    draws = [draw_uniform(1, f"trace:{i}") for i in range(20_000)]
    others = [draw_uniform(2, f"trace:{i}") for i in range(20_000)]
    both = sum(one < 0.3 and other < 0.3 for one, other in zip(draws, others, strict=True))

    assert abs(sum(draw < 0.1 for draw in draws) / 20_000 - 0.1) < 0.01
    assert abs(both / 20_000 - 0.09) < 0.01


def test_a_mapping_by_pointers(alice: Caller) -> None:
    mapping = {
        "preset": "none",
        "input": "/attributes/question",
        "output": "/attributes/replies/1",
        "gold_answer": "/attributes/gold",
        "contexts": "/attributes/found",
    }
    rule = new_rule(alice, mapping=mapping, evaluators=[{"evaluator": "exact-match"}])
    listed = {"arrayValue": {"values": [{"stringValue": "no"}, {"stringValue": "Ada."}]}}
    send(alice, answered("not this", question="Who?", replies=listed, found=listed, gold="Ada."))
    run(alice, rule)
    (row,) = list_evaluations(alice)

    assert (row.request.input, row.request.output, row.request.gold) == ("Who?", "Ada.", "Ada.")
    assert (row.request.contexts, row.passed) == (["no", "Ada."], True)


def test_a_span_whose_texts_come_later_in_logs_is_scored_once(alice: Caller) -> None:
    rule, ids = new_rule(alice), {"traceId": new_id(), "spanId": new_id(8)}
    pairs = [attribute("gen_ai.operation.name", "chat")]
    send(alice, span(ids["traceId"], spanId=ids["spanId"], attributes=pairs))
    before = run(alice, rule)
    send_logs(alice, say(MAIL, **ids))
    after = [run(alice, rule) for _ in range(2)]

    assert (before["n_scored"], before["n_dropped"]["no_output"]) == (0, 1)
    assert [(row["n_scored"], row["n_dropped"]["no_output"]) for row in after] == [(1, 0), (1, 0)]
    assert [row.request.output for row in list_evaluations(alice)] == [MAIL]


def test_texts_in_logs_of_a_span_that_did_not_match_without_them(alice: Caller) -> None:
    ids = {"traceId": new_id(), "spanId": new_id(8)}
    before, pairs = {"traceId": new_id(), "spanId": new_id(8)}, [attribute("gen_ai.operation.name", "chat")]
    send(alice, span(before["traceId"], spanId=before["spanId"], attributes=pairs))
    rule = new_rule(alice, filter={"text": "jo@"})
    send(alice, span(ids["traceId"], spanId=ids["spanId"], attributes=pairs))
    first = run(alice, rule)
    _pass_spans(alice, rule)
    send_logs(alice, say(MAIL, **ids), say(MAIL, **before), log(**ids), log(traceId=ids["traceId"], spanId=new_id(8)))
    after = [run(alice, rule) for _ in range(2)]

    assert (first["n_scored"], sum(first["n_dropped"].values())) == (0, 0)
    assert [(row["n_scored"], sum(row["n_dropped"].values())) for row in after] == [(1, 0), (1, 0)]
    # A span of before the rule is left to a backfill.
    assert [row.trace_id for row in list_evaluations(alice)] == [ids["traceId"]]


def test_logs_of_hopeless_spans_starve_no_others(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PAGE", 5)
    monkeypatch.setattr(worker, "PORTION", 5)
    rule, pairs = new_rule(alice), [attribute("gen_ai.operation.name", "chat")]
    ids = [{"traceId": f"{i:032x}", "spanId": new_id(8)} for i in range(1, 14)]
    send(alice, *(span(row["traceId"], spanId=row["spanId"], attributes=pairs) for row in ids))
    assert run(alice, rule)["n_dropped"]["no_output"] == 13
    _pass_spans(alice, rule)
    send_logs(alice, say(MAIL, **ids[0]))
    send_logs(alice, *(log(f"l{i}", eventName="gen_ai.user.message", **row) for i, row in enumerate(ids[1:])))
    after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["no_output"]) == (1, 12)
    assert [row.trace_id for row in list_evaluations(alice)] == [ids[0]["traceId"]]


def test_later_versions_without_an_output_starve_no_others(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "PORTION", 2)
    rule, ids = new_rule(alice, filter={"kind": "chain"}), [(f"{i:032x}", new_id(8)) for i in range(1, 6)]
    send(alice, *(answered(None, trace_id=trace_id, spanId=id) for trace_id, id in ids))
    run(alice, rule)
    _pass_spans(alice, rule)
    later = {"endTimeUnixNano": str(NOON + 9 * SECOND)}
    # The first four do not match any more.
    send(alice, *(answered("x", trace_id=trace_id, spanId=id, kind="TOOL", **later) for trace_id, id in ids[:4]))
    send(alice, answered("Ada.", trace_id=ids[4][0], spanId=ids[4][1], **later))
    for _ in range(4):
        after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["no_output"]) == (1, 4)


def test_a_backfill_scores_what_an_earlier_mapping_dropped(alice: Caller) -> None:
    wrong = {"preset": "none", "output": "/attributes/nothing"}
    rule = new_rule(alice, mapping=wrong)
    pages = {"arrayValue": {"values": [{"stringValue": "page"}] * (MAX_CONTEXTS + 1)}}
    send(
        alice,
        *(answered(text, pages=pages) for text in "ab"),
        answered(None, gen_ai__input__messages="{broken", pages=pages),
    )
    assert run(alice, rule)["n_dropped"] == {"over_cap": 0, "budget": 0, "no_output": 2, "unreadable": 1, "invalid": 0}
    ok(alice.patch(f"{RULES}/{rule['id']}", {"mapping": {"output": "/name", "contexts": "/attributes/pages"}}))
    assert backfill(alice, rule)["n_dropped"] == {
        "over_cap": 0,
        "budget": 0,
        "no_output": 0,
        "unreadable": 0,
        "invalid": 3,
    }
    ok(alice.patch(f"{RULES}/{rule['id']}", {"mapping": {"output": "/name"}}))
    for _ in range(2):
        after = backfill(alice, rule)
        assert (after["n_scored"], sum(after["n_dropped"].values())) == (3, 0)
    rows = ok(alice.get(f"{RULES}/{rule['id']}/spans"))["spans"]
    assert [(row["revision"], row["reason"]) for row in rows] == [(3, None)] * 3
    assert len(list_evaluations(alice)) == 3


@pytest.mark.parametrize(
    "pointer",
    [
        "/events/0000001",
        "/events/00",
        f"/events/{'9' * 400}",
        f"/events/0{'9' * 400}",
        "/content/contexts/01",
        "/attributes/a~b",
        "/attributes/a~2",
    ],
)
def test_pointers_that_lead_nowhere_are_refused_and_never_stop_a_rule(alice: Caller, pointer: str) -> None:
    bad = {"mapping": {"contexts": pointer}}
    rule = new_rule(alice)
    for answer in (
        alice.post(RULES, BODY | bad | {"name": "other"}),
        alice.patch(f"{RULES}/{rule['id']}", bad),
        alice.post(f"{RULES}/preview", bad),
        alice.post("/v1/datasets/spans", bad | {"dataset_name": "traffic"}),
    ):
        assert_problem(answer, "validation_failed", "/mapping/contexts")
    # As an earlier release has stored it.
    Rule.objects.using("system").filter(pk=rule["id"]).update(mapping=bad["mapping"])
    send(alice, answered("Ada.", events=[{"timeUnixNano": str(NOON), "name": "e"}]))
    assert run(alice, rule)["n_scored"] == 1


def test_names_of_digits_are_no_indices(alice: Caller) -> None:
    rule = new_rule(alice, mapping={"preset": "none", "output": "/attributes/007"})
    send(alice, answered("not this", **{"007": "Bond."}))
    run(alice, rule)
    assert [row.request.output for row in list_evaluations(alice)] == ["Bond."]


@pytest.mark.parametrize("fault", [IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError])
def test_a_span_that_raises_is_invalid_and_stops_nothing(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, fault: type[Exception]
) -> None:
    def build(sample: dict[str, Any], *args: Any, **kwargs: Any) -> bytes:
        if sample["output"] == "bad":
            raise fault("of the span")
        return build_body(sample, *args, **kwargs)

    monkeypatch.setattr("evalsvc.rules.scorer.build_body", build)
    rule = new_rule(alice)
    send(alice, answered("a"), answered("bad"), answered("b"))
    after = run(alice, rule)
    (dropped,) = ok(alice.get(f"{RULES}/{rule['id']}/spans?reason=invalid"))["spans"]
    assert (after["n_scored"], after["n_dropped"]["invalid"]) == (2, 1)
    assert fault.__name__ in dropped["detail"] and "of the span" in dropped["detail"]


@pytest.mark.parametrize("others", [0, 2])
def test_a_span_that_the_database_refuses_is_invalid(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, others: int
) -> None:
    record = Scorer.record

    def refuse(scorer: Scorer, outcomes: Sequence[SpanOutcome], *, strict: bool = False) -> None:
        candidates = [outcome.candidate for outcome in outcomes]
        if strict and any(isinstance(row, CandidateSpan) and row.content.output == "bad" for row in candidates):
            with connection.cursor() as cursor:
                cursor.execute("SELECT 1 / 0")
        record(scorer, outcomes, strict=strict)

    monkeypatch.setattr(Scorer, "record", refuse)
    rule = new_rule(alice)
    send(alice, answered("bad"), *(answered("fine") for _ in range(others)))
    after = run(alice, rule)
    (dropped,) = ok(alice.get(f"{RULES}/{rule['id']}/spans?reason=invalid"))["spans"]
    assert (after["n_scored"], after["n_dropped"]["invalid"]) == (others, 1)
    assert "division by zero" in dropped["detail"] and len(list_evaluations(alice)) == others


def test_texts_in_logs_of_patronus(alice: Caller) -> None:
    rule, trace_id, id = new_rule(alice), new_id(), new_id(8)
    pairs = {"function.arguments": "Who?", "function.output": "Ada."}
    body = {"kvlistValue": {"values": [attribute(key, value) for key, value in pairs.items()]}}
    send(alice, span(trace_id, spanId=id, name="ask"))
    ok(alice.post("/v1/logs", logs(log("one", body=body, traceId=trace_id, spanId=id))))
    run(alice, rule)

    assert [(row.request.input, row.request.output) for row in list_evaluations(alice)] == [("Who?", "Ada.")]


def test_a_worker_that_lost_its_lease_stores_nothing(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    rule = new_rule(alice)
    send(alice, *(answered(f"{i}") for i in range(3)))

    def lose(*args: Any, **kwargs: Any) -> bytes:
        Rule.objects.using("system").filter(pk=rule["id"]).update(token=uuid.uuid4(), lease_expires_at=None)
        return build_body(*args, **kwargs)

    monkeypatch.setattr("evalsvc.rules.scorer.build_body", lose)
    assert not run_rule(account_id=alice.account.pk, rule_id=int(rule["id"]), enqueue=enqueue_lanes)
    assert list_evaluations(alice) == []
    monkeypatch.undo()
    assert run(alice, rule)["n_scored"] == 3
    assert len(list_evaluations(alice)) == 3


def test_a_rule_has_work_only_after_spans(alice: Caller) -> None:
    def is_due(rule: dict[str, Any]) -> bool:
        return int(rule["id"]) in {id for _, id in list_due_rules()}

    rule, other = new_rule(alice), new_rule(new_caller())
    assert not is_due(rule)
    send(alice, answered("Ada."))
    assert is_due(rule)
    assert not is_due(other)
    wait_until(lambda: run(alice, rule) and not is_due(rule))
    assert run(alice, rule)["n_scored"] == 1
    send(alice, answered(None))
    wait_until(lambda: run(alice, rule)["n_dropped"]["no_output"] == 1)
    # A later version of a dropped span may come.
    assert is_due(rule)


@pytest.mark.parametrize("is_resumed", [False, True])
@pytest.mark.parametrize("skew", [timedelta(hours=-1), timedelta(hours=1)])
def test_a_rule_begins_by_the_clock_of_the_database(
    alice: Caller, monkeypatch: pytest.MonkeyPatch, is_resumed: bool, skew: timedelta
) -> None:
    send(alice, answered("before"))
    rule = new_rule(alice, state="paused") if is_resumed else None
    moment = timezone.now() + skew
    with monkeypatch.context() as patch:
        patch.setattr(timezone, "now", lambda: moment)
        if rule is None:
            rule = new_rule(alice)
        else:
            ok(alice.patch(f"{RULES}/{rule['id']}", {"state": "active"}))
    send(alice, answered("after"))

    assert run(alice, rule)["n_scored"] == 1
    assert [row.request.output for row in list_evaluations(alice)] == ["after"]


def test_a_paused_rule_does_nothing(alice: Caller) -> None:
    rule = new_rule(alice, state="paused")
    send(alice, answered("Ada."))
    assert int(rule["id"]) not in {id for _, id in list_due_rules()}
    assert run(alice, rule)["n_scored"] == 0
    again = ok(alice.patch(f"{RULES}/{rule['id']}", {"state": "active"}))["rule"]
    assert (again["state"], again["revision"]) == ("active", 1)
    send(alice, answered("Eve."))
    run(alice, rule)
    assert [row.request.output for row in list_evaluations(alice)] == ["Eve."]


def test_a_change_of_what_is_scored_makes_a_revision(alice: Caller) -> None:
    rule = new_rule(alice)
    renamed = ok(alice.patch(f"{RULES}/{rule['id']}", {"name": "others", "cap_per_hour": 5}))["rule"]
    assert_problem(alice.patch(f"{RULES}/{rule['id']}", {"cap_per_hour": 0}), "validation_failed", "/cap_per_hour")
    changed = ok(alice.patch(f"{RULES}/{rule['id']}", {"sampling": {"rate": 0.5}, "cap_per_hour": None}))["rule"]

    assert (renamed["revision"], renamed["name"], renamed["cap_per_hour"]) == (1, "others", 5)
    assert (changed["revision"], changed["cap_per_hour"], changed["sampling"]) == (
        2,
        None,
        {"rate": 0.5, "by": "trace"},
    )
    assert alice.call("DELETE", f"{RULES}/{rule['id']}").status_code == 204
    assert alice.get(f"{RULES}/{rule['id']}").status_code == 404


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"evaluators": []}, "/evaluators"),
        ({"evaluators": [{"evaluator": "nope"}]}, "/evaluators/0"),
        ({"evaluators": [{"criteria": "x"}]}, "/evaluators/0/evaluator"),
        ({"evaluators": [{"evaluator": "pii", "nope": 1}]}, "/evaluators/0"),
        ({"filter": {"kind": "nope"}}, "/filter/kind"),
        ({"filter": {"nope": 1}}, "/filter"),
        ({"filter": {"attributes": {"a": [1]}}}, "/filter/attributes/a"),
        ({"mapping": {"output": "nope"}}, "/mapping/output"),
        ({"sampling": {"rate": 0}}, "/sampling/rate"),
        ({"sampling": {"rate": 1.5}}, "/sampling/rate"),
        ({"cap_per_hour": 0}, "/cap_per_hour"),
        ({"app": "x"}, "/app"),
        ({"tags": {"rule": "x"}}, "/tags/rule"),
        ({"name": ""}, "/name"),
        ({"state": "nope"}, "/state"),
    ],
)
def test_what_a_rule_must_not_be(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post(RULES, BODY | fields), "validation_failed", pointer)
    assert ok(alice.get(RULES))["rules"] == []


def test_names_are_unique(alice: Caller) -> None:
    new_rule(alice)
    assert_problem(alice.post(RULES, BODY), "already_exists", "/name")


def test_backfills_have_a_range(alice: Caller) -> None:
    path = f"{RULES}/{new_rule(alice)['id']}/backfill"
    backwards = {"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}
    assert_problem(alice.post(path, backwards), "validation_failed", "/until")
    assert_problem(alice.post(path, {"since": "x", "until": "2026-01-01T00:00:00Z"}), "validation_failed", "/since")


def test_strangers_find_nothing_and_readers_change_nothing(alice: Caller, bob: Caller, charlie: Caller) -> None:
    rule = new_rule(alice)
    path = f"{RULES}/{rule['id']}"
    for answer in (
        charlie.get(path),
        charlie.get(f"{path}/spans"),
        charlie.patch(path, {}),
        charlie.post(f"{path}/backfill", {}),
    ):
        assert answer.status_code == 404
    assert ok(charlie.get(RULES))["rules"] == []
    assert ok(bob.get(path))["rule"]["name"] == "answers"
    assert bob.post(RULES, BODY | {"name": "other"}).status_code == 403
    assert bob.call("DELETE", path).status_code == 403


def test_a_call_with_a_score_that_somebody_gave_it_is_scored_all_the_same(alice: Caller) -> None:
    """A span with a result that says neither what it is nor an output is an evaluator's."""
    result = [attribute("gen_ai.evaluation.name", "helpful"), attribute("gen_ai.evaluation.score.value", 1.0)]
    event = {"timeUnixNano": str(NOON), "name": "gen_ai.evaluation.result", "attributes": result}
    bare = [attribute("input.value", "Who?"), attribute("output.value", "Ada.")]
    rule = new_rule(alice)
    send(alice, answered("jo@example.com", kind="LLM", events=[event]), span(new_id(), attributes=bare, events=[event]))
    send(alice, span(new_id(), attributes=bare[:1], events=[event]))

    after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["no_output"]) == (2, 0)
    outputs = {row.request.output for row in list_evaluations(alice) if row.family == "pii"}
    assert outputs == {"jo@example.com", "Ada."}
