"""Judged evaluations through the API and the worker's own code: states, capture, postponement, several at once."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.verdicts import RetryableError, Verdict
from evalsvc.evaluations.workers.judging import recorder, store
from evalsvc.evaluations.workers.lane import score_in_batches
from evalsvc.judges import gateway
from tests.conftest import Caller, findings, scores_of, wait_until
from tests.judges.asking import Judge
from tests.judges.working import accept, profile, results, rows_of, running, work


def row_of(request_id: int) -> Evaluation:
    return Evaluation.objects.using("system").get(request_id=request_id)


def system(sql: str, *values: Any) -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(sql, values)


@pytest.mark.parametrize(("model", "passed"), [("stub-judge-pass", True), ("stub-judge-fail", False)])
def test_a_judge_s_verdict(judge: Judge, model: str, passed: bool) -> None:
    request_id = accept(judge.caller, profile(judge.caller, model=model))
    work(judge.caller, request_id)

    (found,) = results(judge.caller, request_id)
    assert found["status"] == "success"
    verdict = found["evaluation_result"]
    assert verdict["pass"] is passed
    assert verdict["usage_tokens"] > 0
    assert verdict["evaluation_metadata"]["judge"]["connection"] == judge.connection["name"]
    assert verdict["additional_info"]["extra"]["judge"]["calls"] == 1
    assert len(scores_of(judge.caller, "judge")) == 1


def test_without_a_connection_there_is_no_verdict(charlie: Caller) -> None:
    request_id = accept(charlie, profile(charlie))
    work(charlie, request_id)

    (found,) = results(charlie, request_id)
    assert (found["status"], found["error_code"]) == ("validation_error", "not_configured")
    assert found["evaluation_result"] is None and scores_of(charlie, "judge") == []


HOSTILE = [
    ("stub-judge-pass:types", "error", "bad_output"),
    ("stub-judge-pass:cut", "error", "bad_output"),
    ("stub-judge-pass:429-86400", "error", "rate_limited"),
    ("stub-judge-pass:429-300", "error", "rate_limited"),
    ("stub-judge-pass:refusal", "validation_error", "refused"),
    ("stub-judge-pass:quota", "validation_error", "budget_exhausted"),
    ("stub-judge-pass:401", "validation_error", "not_configured"),
    ("stub-judge-pass:context", "validation_error", "input_too_long"),
]


@pytest.mark.parametrize(("model", "status", "code"), HOSTILE)
def test_what_goes_wrong_has_a_status_and_a_code(judge: Judge, model: str, status: str, code: str) -> None:
    request_id = accept(judge.caller, profile(judge.caller, model=model))
    work(judge.caller, request_id)

    (found,) = results(judge.caller, request_id)
    assert (found["status"], found["error_code"]) == (status, code)
    assert found["error_info"]["judge"]["calls"] == judge.n_calls() <= 3
    assert scores_of(judge.caller, "judge") == []


def test_a_hang_ends_at_the_profile_s_timeout(judge: Judge) -> None:
    request_id = accept(judge.caller, profile(judge.caller, model="stub-judge-pass:hang", timeout_seconds=1))
    work(judge.caller, request_id)

    assert results(judge.caller, request_id)[0]["error_code"] == "timeout"
    assert judge.n_calls() == 1


def test_several_are_asked_at_once_and_written_as_they_end(judge: Judge) -> None:
    names = [profile(judge.caller, model=f"stub-judge-pass@{ms}") for ms in (60_000, 1, 60_001)]
    request_id = accept(judge.caller, *names)
    with running(grace_seconds=0.0):
        rows = rows_of(judge.caller).filter(request_id=request_id)
        wait_until(lambda: list(rows.filter(status="success").values_list("position", flat=True)) == [1])
        wait_until(lambda: judge.n_calls() == 3)
        assert [found["status"] for found in results(judge.caller, request_id)] == ["pending", "success", "pending"]


def test_one_bad_judge_does_not_fail_the_others(judge: Judge) -> None:
    bad, good = profile(judge.caller, model="stub-judge-pass:types"), profile(judge.caller)
    request_id = accept(judge.caller, bad, good)
    work(judge.caller, request_id)

    assert [found["status"] for found in results(judge.caller, request_id)] == ["error", "success"]


def test_a_turn_that_comes_later_is_waited_for_in_the_database(stub: RunningStub) -> None:
    judge = Judge(stub, rpm=1)
    name = profile(judge.caller)
    work(judge.caller, accept(judge.caller, name))
    second = accept(judge.caller, name)

    work(judge.caller, second)
    row = row_of(second)
    assert (row.status, row.n_attempts) == ("pending", 0)
    assert row.lease_expires_at is not None and row.lease_expires_at > row.created_at + timedelta(seconds=1)
    assert judge.n_calls() == 1

    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"rpm": None})
    work(judge.caller, second)
    assert [found["status"] for found in results(judge.caller, second)] == ["success"]
    assert len(scores_of(judge.caller, "judge")) == 2


def test_a_stall_of_the_database_puts_off(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    def stall(**which: Any) -> Any:
        raise OperationalError("server closed the connection")

    request_id = accept(judge.caller, profile(judge.caller, model="stub-judge-pass"))
    with monkeypatch.context() as patch:
        patch.setattr(gateway, "default_connection_facts", stall)
        work(judge.caller, request_id)
    row = row_of(request_id)
    assert (row.status, row.error_code, row.n_sweeps, row.n_attempts) == ("pending", None, 1, 0)
    assert judge.n_calls() == 0

    work(judge.caller, request_id)
    (found,) = results(judge.caller, request_id)
    assert found["status"] == "success" and len(scores_of(judge.caller, "judge")) == 1


def test_patience_has_an_end(stub: RunningStub) -> None:
    judge = Judge(stub, rpm=1)
    name = profile(judge.caller)
    work(judge.caller, accept(judge.caller, name))
    second = accept(judge.caller, name)
    system("UPDATE evaluations_evaluation SET created_at = now() - interval '110 s' WHERE request_id = %s", second)
    work(judge.caller, second)

    (found,) = results(judge.caller, second)
    assert (found["status"], found["error_code"]) == ("error", "rate_limited")


def test_a_missed_turn_is_no_answer_to_what_another_worker_has_taken(stub: RunningStub) -> None:
    judge = Judge(stub, rpm=1)
    name = profile(judge.caller)
    work(judge.caller, accept(judge.caller, name))
    second = accept(judge.caller, name)
    (claimed,) = store.claim_judging(limit=9, slots=9, lends=False, held={})
    store.give_back([claimed])
    (again,) = store.claim_judging(limit=9, slots=9, lends=False, held={})
    missed = RetryableError("error", error_code="rate_limited", retry_after_seconds=1)

    recorder.record([(claimed, missed)])
    row = row_of(second)
    assert (claimed.id, row.status, row.n_attempts) == (again.id, "pending", 2)


def test_a_deadline_that_has_passed_asks_nobody(judge: Judge) -> None:
    request_id = accept(judge.caller, profile(judge.caller))
    with override_settings(JUDGE_DEADLINE_SECONDS=0):
        work(judge.caller, request_id)

    assert results(judge.caller, request_id)[0]["error_code"] == "timeout"
    assert judge.n_calls() == 0


def test_a_busy_worker_keeps_its_lease(judge: Judge) -> None:
    request_id = accept(judge.caller, profile(judge.caller, model="stub-judge-pass@2500"))
    with override_settings(WORK_LEASE_SECONDS=1):
        work(judge.caller, request_id)

    assert row_of(request_id).status == "success"
    assert judge.n_calls() == 1


def test_a_second_try_costs_nothing_and_counts_once(judge: Judge) -> None:
    name = profile(judge.caller)
    request_id = accept(judge.caller, name, evaluated_model_output="The same.")
    work(judge.caller, request_id)
    again = accept(judge.caller, name, evaluated_model_output="The same.", tags={"n": "2"})
    work(judge.caller, again)

    (found,) = results(judge.caller, again)
    judged = found["evaluation_result"]["additional_info"]["extra"]["judge"]
    assert (judged["cached"], judged["cost"], judge.n_calls()) == (True, 0.0, 1)
    assert len(scores_of(judge.caller, "judge")) == 2
    assert findings(judge.caller) == {}


@pytest.mark.parametrize(("pause", "written"), [(0.0, [3]), (5.0, [1, 1, 1])])
def test_slow_verdicts_are_written_while_others_are_made(
    monkeypatch: pytest.MonkeyPatch, pause: float, written: list[int]
) -> None:
    now = [0.0]
    monkeypatch.setattr("evalsvc.evaluations.workers.lane.time.monotonic", lambda: now[0])

    def score(row: Evaluation) -> Verdict:
        now[0] += pause
        return Verdict("success")

    rows = [Evaluation(position=position) for position in range(3)]
    assert [len(done) for done in score_in_batches(rows, score)] == written
