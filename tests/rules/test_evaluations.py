"""Rules on evaluations: which calls of an application are scored again, with what, and each once."""

from __future__ import annotations

import threading
from datetime import timedelta
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.utils import timezone

from evalsvc.evaluations.models import Evaluation, EvaluationRequest, HistoryScore
from evalsvc.rules import horizon
from evalsvc.rules.models import Rule, RuleSpan
from evalsvc.rules.retention import prune_rule_spans
from evalsvc.rules.sampling import draw_uniform
from evalsvc.rules.worker import list_due_rules
from evalsvc.tenancy.scope import account_scope, id_at
from tests.conftest import Caller, new_caller, wait_until
from tests.factories import ok
from tests.rest.shapes import assert_problem
from tests.rules.shapes import BODY, RULES, answered, backfill, list_evaluations, new_rule, run, send
from tests.telemetry.otlp import new_id

MAIL = "Write to jo@example.com"


def new_evaluation_rule(caller: Caller, **fields: Any) -> dict[str, Any]:
    return new_rule(caller, source="evaluations", **fields)


def evaluate(caller: Caller, output: str, **fields: Any) -> dict[str, Any]:
    """An application's own evaluation, which passes if the output is `Ada.`."""
    body: dict[str, Any] = {"evaluators": [{"evaluator": "exact-match"}], "app": "shop", "input": "Who?"}
    answer: dict[str, Any] = ok(caller.post("/v1/evaluate", body | {"output": output, "gold_answer": "Ada."} | fields))
    return answer


def list_scored(caller: Caller) -> list[Evaluation]:
    """The evaluations that rules have made."""
    return [row for row in list_evaluations(caller) if row.request.probability is not None]


def list_outputs(caller: Caller) -> set[str | None]:
    return {row.request.output for row in list_scored(caller)}


def test_what_an_application_has_evaluated_is_scored_again_once(alice: Caller) -> None:
    rule = new_evaluation_rule(alice, tags={"by": "rule"})
    trace_id = new_id()
    evaluate(
        alice,
        MAIL,
        evaluators=[{"evaluator": "exact-match"}, {"evaluator": "metrics", "profile_inline": {"metric": "bleu"}}],
        contexts=[{"id": "7", "text": "Ada wrote it."}],
        gold_contexts=["Ada wrote it."],
        system_prompt="Be brief.",
        evaluated_model_name="small",
        tags={"lang": "en", "by": "app"},
        trace_id=trace_id,
        span_id="s1",
        log_id="log-1",
    )
    after = [run(alice, rule) for _ in range(2)][-1]
    (row,) = list_scored(alice)
    sent = list_evaluations(alice)[0].request

    assert (after["source"], after["n_scored"], sum(after["n_dropped"].values())) == ("evaluations", 1, 0)
    assert (row.family, row.status, row.passed, row.app, row.in_history) == ("pii", "success", False, "shop", True)
    assert (row.trace_id, row.request.span_id, row.log_id) == (trace_id, "s1", "log-1")
    assert row.request.tags == {"lang": "en", "by": "rule", "rule": "answers"}
    for name in ("input", "output", "contexts", "gold", "system_prompt", "extras", "sample_hash"):
        assert getattr(row.request, name) == getattr(sent, name), name
    (listed,) = ok(alice.get(f"{RULES}/{rule['id']}/spans"))["spans"]
    assert (listed["evaluated_request_id"], listed["trace_id"], listed["span_id"]) == (str(sent.pk), None, None)
    assert (listed["probability"], listed["request_id"]) == (1.0, str(row.request_id))


def test_the_tags_of_the_rule_come_before_those_that_do_not_fit(alice: Caller) -> None:
    rule = new_evaluation_rule(alice, tags={"by": "rule"})
    sent = {f"t{i}": "x" for i in range(99)} | {"by": "app"}
    evaluate(alice, "Ada.", tags=sent)
    assert run(alice, rule)["n_scored"] == 1
    (row,) = list_scored(alice)
    tags = dict(row.request.tags or {})

    assert len(tags) == 100 and {**sent, **tags, "by": "app"} == {**sent, "rule": "answers"}
    assert (tags["by"], tags["rule"]) == ("rule", "answers")


def test_no_rule_reads_what_rules_have_made(alice: Caller) -> None:
    rules = [new_evaluation_rule(alice), new_evaluation_rule(alice, name="others"), new_rule(alice, name="spans")]
    evaluate(alice, MAIL)
    send(alice, answered("Ada."))

    for _ in range(3):
        after = [run(alice, rule)["n_scored"] for rule in rules]

    assert after == [1, 1, 1]
    assert [backfill(alice, rule)["n_scored"] for rule in rules] == [1, 1, 1]


def test_only_what_is_kept_of_an_application_is_scored(alice: Caller) -> None:
    rule = new_evaluation_rule(alice)
    evaluate(alice, "not kept", capture="none")
    evaluate(alice, "a fail", capture="fails-only")
    score = {"evaluator_id": "mine", "score": 0.5, "log_id": "l", "app": "shop"}
    ok(alice.post("/v1/evaluations/batch", {"evaluations": [score]}))
    evaluate(alice, "kept")
    evaluate(alice, "kept without an app", app=None, capture="all")

    assert run(alice, rule)["n_scored"] == 2
    assert list_outputs(alice) == {"kept", "kept without an app"}


def test_another_account_is_not_read(alice: Caller) -> None:
    rule = new_evaluation_rule(alice)
    evaluate(new_caller(), MAIL)
    assert run(alice, rule)["n_scored"] == 0


def test_batches_are_read_a_sample_at_a_time(alice: Caller) -> None:
    rule = new_evaluation_rule(alice)
    samples = [{"output": f"{i}", "gold_answer": "1"} for i in range(3)]
    body = {"evaluators": [{"evaluator": "exact-match"}], "app": "shop", "samples": samples}
    ok(alice.post("/v1/evaluate/batch", body))

    assert run(alice, rule)["n_scored"] == 3
    assert list_outputs(alice) == {"0", "1", "2"}


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({}, {"Ada.", "Bob.", "no address", "none"}),
    ({"verdict": "fail"}, {"Bob."}),
    ({"verdict": "pass"}, {"Ada.", "no address"}),
    ({"verdict": ["fail", "undecided"]}, {"Bob.", "none"}),
    ({"evaluator": "pii"}, {"no address"}),
    ({"evaluator": ["pii", "exact-match"], "verdict": "pass"}, {"Ada.", "no address"}),
    ({"evaluator": "pii", "verdict": "fail"}, set()),
    ({"evaluator": "unknown"}, set()),
    ({"criteria": "patronus:exact-match"}, {"Ada.", "Bob."}),
    ({"criteria": "exact-match", "verdict": "pass"}, {"Ada."}),
    ({"criteria": "nope"}, set()),
    ({"app": ["shop", "desk"], "text": "BOB"}, {"Bob."}),
    ({"app": "desk"}, {"Bob."}),
    ({"tags": {"lang": "de"}}, {"Ada."}),
    ({"tags": {"lang": "de", "team": "a"}}, set()),
    ({"text": "who"}, {"Ada.", "Bob.", "no address", "none"}),
]


def evaluate_all(caller: Caller) -> None:
    """A pass, a fail, a pass of another evaluator, and what no line is drawn for."""
    evaluate(caller, "Ada.", tags={"lang": "de"})
    evaluate(caller, "Bob.", app="desk")
    evaluate(caller, "no address", evaluators=[{"evaluator": "pii"}])
    evaluate(caller, "none", evaluators=[{"evaluator": "metrics", "profile_inline": {"metric": "bleu"}}])


@pytest.mark.parametrize(("wanted", "outputs"), FILTERS)
def test_filters(alice: Caller, wanted: dict[str, Any], outputs: set[str]) -> None:
    rule = new_evaluation_rule(alice, filter=wanted)
    evaluate_all(alice)
    run(alice, rule)

    assert list_outputs(alice) == outputs
    preview = ok(alice.post(f"{RULES}/preview", {"source": "evaluations", "filter": wanted}))
    assert {row["sample"]["output"] for row in preview["spans"]} == outputs
    assert all(row["evaluated_request_id"] and row["name"] for row in preview["spans"])


def test_a_call_is_scored_when_all_its_evaluators_have_answered(alice: Caller) -> None:
    rule = new_evaluation_rule(alice, filter={"evaluator": "exact-match", "verdict": "fail"})
    evaluate(alice, "Bob.")
    sent = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk)
    sent.update(completed_at=None)
    assert run(alice, rule)["n_scored"] == 0

    sent.update(completed_at=timezone.now())

    assert run(alice, rule)["n_scored"] == 1


def test_a_call_that_is_committed_late_is_scored(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)
    rule = new_evaluation_rule(alice)
    written, may_commit = threading.Event(), threading.Event()

    def write() -> None:
        try:
            with account_scope(alice.account.pk):
                fields: dict[str, Any] = {"account": alice.account, "capture": "all", "output": "late"}
                request = EvaluationRequest.objects.create(**fields, fingerprint=1, completed_at=timezone.now())
                request.refresh_from_db()
                fields = {"account": alice.account, "request": request, "evaluator_id": "mine"}
                Evaluation.objects.create(
                    **fields, position=0, status="error", error_code="internal_error", in_history=False
                )
                written.set()
                assert may_commit.wait(60)
        finally:
            connections.close_all()

    writer = threading.Thread(target=write)
    writer.start()
    try:
        assert written.wait(30)
        for i in range(3):
            evaluate(alice, f"later {i}")
            assert run(alice, rule)["n_scored"] == i + 1
    finally:
        may_commit.set()
        writer.join()
    after = [run(alice, rule)["n_scored"] for _ in range(3)]

    assert after == [4, 4, 4]
    assert list_outputs(alice) == {"late", "later 0", "later 1", "later 2"}


def test_evaluations_of_a_trace_are_drawn_together_and_others_alone(alice: Caller) -> None:
    rule = new_evaluation_rule(alice, sampling={"rate": 0.5})
    traces = [new_id() for _ in range(20)]
    for id in traces:
        evaluate(alice, "first", trace_id=id)
        evaluate(alice, "second", trace_id=id)
    for _ in range(20):
        evaluate(alice, "alone", trace_id="0" * 32)
    run(alice, rule)

    sent = [row for row in list_evaluations(alice) if row.request.probability is None]
    alone = [row.request_id for row in sent if row.request.output == "alone"]
    units = {f"trace:{id}": 2 for id in traces} | {f"evaluation:{id}": 1 for id in alone}
    expected = {unit: n for unit, n in units.items() if draw_uniform(int(rule["id"]), unit) < 0.5}
    rows = RuleSpan.objects.using("system").filter(rule_id=rule["id"])
    drawn = {row.evaluated_request_id for row in rows}
    assert len(expected) not in (0, len(units))
    assert rows.count() == sum(expected.values())
    assert {str(id) for id in alone if f"evaluation:{id}" in expected} <= drawn
    assert set(rows.values_list("probability", flat=True)) == {0.5}


def test_fails_are_drawn_by_a_rate_of_their_own(alice: Caller) -> None:
    strata = [{"filter": {"evaluator": "exact-match", "verdict": ["fail", "undecided"]}, "rate": 1.0}]
    rule = new_evaluation_rule(alice, sampling={"rate": 0.1, "strata": strata})
    for _ in range(10):
        evaluate(alice, "Bob.")
        evaluate(alice, "Ada.")
    run(alice, rule)

    rows = [(row.request.output, row.request.probability) for row in list_scored(alice)]
    assert [row for row in rows if row[0] == "Bob."] == [("Bob.", 1.0)] * 10
    assert {row for row in rows if row[0] == "Ada."} <= {("Ada.", 0.1)}


def test_a_failed_evaluation_that_is_retried_has_the_rate_of_what_it_says_then(alice: Caller) -> None:
    """Any that fails its retry is in the sample then: one that the base rate had drawn stands for itself alone."""
    strata = [{"filter": {"verdict": "fail"}, "rate": 1.0}]
    rule = new_evaluation_rule(alice, sampling={"rate": 0.5, "strata": strata})
    ids = [new_id() for _ in range(8)]
    is_drawn = {id: draw_uniform(int(rule["id"]), f"trace:{id}") < 0.5 for id in ids}
    for id in ids:
        evaluate(alice, "Bob.", trace_id=id)
    said = Evaluation.objects.using("system").filter(account_id=alice.account.pk, family="exact-match")
    (verdict,) = said.values("status", "score", "passed", "error_code", "in_history")[:1]
    said.update(status="error", score=None, passed=None, error_code="internal_error", in_history=False)
    run(alice, rule)
    rows = RuleSpan.objects.using("system").filter(rule_id=rule["id"])
    assert list(rows.values_list("probability", flat=True)) == [0.5] * sum(is_drawn.values())

    said.update(**verdict)
    sent = EvaluationRequest.objects.using("system").filter(account_id=alice.account.pk, probability=None)
    sent.update(completed_at=timezone.now())
    run(alice, rule)

    assert list(rows.values_list("probability", flat=True)) == [1.0] * 8
    assert [row.request.probability for row in list_scored(alice)] == [1.0] * 8
    scores = HistoryScore.objects.using("system").filter(account_id=alice.account.pk, evaluator_id__startswith="pii")
    assert list(scores.values_list("probability", flat=True)) == [1.0] * 8


def test_a_cap_drops_and_a_backfill_scores_what_was_finished_in_a_range(alice: Caller) -> None:
    evaluate(alice, "before")
    moment = timezone.now()
    rule = new_evaluation_rule(alice, cap_per_hour=2)
    Rule.objects.using("system").filter(pk=rule["id"]).update(watermark=id_at(moment + timedelta(milliseconds=1)))
    for i in range(3):
        evaluate(alice, f"{i}")
    after = run(alice, rule)
    assert (after["n_scored"], after["n_dropped"]["over_cap"]) == (2, 1)

    body = {"since": moment.isoformat(), "until": (moment + timedelta(days=1)).isoformat()}
    ok(alice.post(f"{RULES}/{rule['id']}/backfill", body), 202)
    assert run(alice, rule)["n_scored"] == 3
    assert list_outputs(alice) == {"0", "1", "2"}
    assert backfill(alice, rule)["n_scored"] == 4


def test_a_mapping_by_pointers(alice: Caller) -> None:
    mapping = {"output": "/sample/gold_answer", "input": "/tags/question"}
    rule = new_evaluation_rule(alice, mapping=mapping)
    evaluate(alice, "Bob.", tags={"question": "Which?"})
    run(alice, rule)
    (row,) = list_scored(alice)

    assert (row.request.input, row.request.output, row.request.gold) == ("Which?", "Ada.", "Ada.")


def test_what_has_nothing_to_be_scored_is_counted(alice: Caller) -> None:
    rule = new_evaluation_rule(alice, mapping={"preset": "none", "output": "/sample/nothing"})
    evaluate(alice, "Bob.")
    after = run(alice, rule)

    assert (after["n_scored"], after["n_dropped"]["invalid"]) == (0, 1)
    preview = ok(alice.post(f"{RULES}/preview", {"source": "evaluations", "mapping": rule["mapping"]}))
    assert [row["reason"] for row in preview["spans"]] == ["invalid"]


def test_a_rule_has_work_only_after_evaluations(alice: Caller) -> None:
    def is_due(rule: dict[str, Any]) -> bool:
        return int(rule["id"]) in {id for _, id in list_due_rules()}

    rule = new_evaluation_rule(alice)
    evaluate(new_caller(), "Ada.")
    send(alice, answered("Ada."))
    assert not is_due(rule)
    evaluate(alice, "Ada.")
    assert is_due(rule)
    wait_until(lambda: run(alice, rule) and not is_due(rule))
    assert run(alice, rule)["n_scored"] == 1


def test_a_conversation_is_sent_as_it_came(alice: Caller) -> None:
    rule = new_evaluation_rule(alice)
    messages = [{"role": "user", "content": "Who?"}, {"role": "assistant", "content": MAIL}]
    body = {"evaluators": [{"evaluator": "pii"}], "app": "shop", "conversation": messages}
    ok(alice.post("/v1/evaluate", body))
    run(alice, rule)
    (row,) = list_scored(alice)

    assert (row.status, row.passed) == ("success", False)
    assert row.request.extras == list_evaluations(alice)[0].request.extras


def test_rows_stay_as_long_as_the_evaluations(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows that go before would let a backfill score an evaluation again."""
    rule, spans = new_evaluation_rule(alice), new_rule(alice, name="spans")
    evaluate(alice, "Ada.")
    send(alice, answered("Ada."))
    run(alice, rule)
    run(alice, spans)
    old = id_at(timezone.now() - timedelta(days=40))
    for id in (rule["id"], spans["id"]):
        RuleSpan.objects.using("system").filter(rule_id=id).update(id=old + int(id) % 1000)
    monkeypatch.setattr(settings, "RETENTION_TELEMETRY_DAYS", 30)
    monkeypatch.setattr(settings, "RETENTION_DAYS", 0)

    def count_rows() -> tuple[int, int]:
        rows = RuleSpan.objects.using("system")
        return rows.filter(rule_id=rule["id"]).count(), rows.filter(rule_id=spans["id"]).count()

    prune_rule_spans()
    assert count_rows() == (1, 0)
    monkeypatch.setattr(settings, "RETENTION_DAYS", 35)
    prune_rule_spans()
    assert count_rows() == (0, 0)


@pytest.mark.parametrize(
    ("fields", "pointer"),
    [
        ({"source": "logs"}, "/source"),
        ({"source": "evaluations", "filter": {"kind": "llm"}}, "/filter/kind"),
        ({"source": "evaluations", "filter": {"verdict": "error"}}, "/filter/verdict"),
        ({"source": "evaluations", "filter": {"tags": {}}}, "/filter/tags"),
        ({"source": "evaluations", "sampling": {"by": "session"}}, "/sampling/by"),
        (
            {"source": "evaluations", "sampling": {"strata": [{"filter": {"status": "error"}, "rate": 1}]}},
            "/sampling/strata/0/filter/status",
        ),
        ({"filter": {"verdict": "fail"}}, "/filter/verdict"),
        ({"source": "spans", "filter": {"tags": {"a": "b"}}}, "/filter/tags"),
        (
            {"sampling": {"strata": [{"filter": {"evaluator": "pii"}, "rate": 1}]}},
            "/sampling/strata/0/filter/evaluator",
        ),
    ],
)
def test_each_source_has_its_conditions(alice: Caller, fields: dict[str, Any], pointer: str) -> None:
    assert_problem(alice.post(RULES, BODY | fields), "validation_failed", pointer)
    made = new_rule(alice, source=fields.get("source") if fields.get("source") == "evaluations" else "spans")
    changes = {name: value for name, value in fields.items() if name != "source"}
    if changes:
        assert_problem(alice.patch(f"{RULES}/{made['id']}", changes), "validation_failed", pointer)
