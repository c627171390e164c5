"""The worker's side and the upkeep: lanes, leases, sweeps, purges, recounts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import connections
from django.test import override_settings

from evalsvc.evaluations.maintenance import sweep
from evalsvc.evaluations.models import Evaluation, EvaluationRequest
from evalsvc.evaluations.workers.lane import finish_lane, work_off
from tests.conftest import Caller, findings, scores_of

KIND = "You are very kind."


def accept(caller: Caller, **fields: Any) -> int:
    """Accept a toxicity evaluation that no worker is told about; return the request's id."""
    answer = caller.post(
        "/v1/evaluate",
        {"evaluators": [{"evaluator": "toxicity"}], "output": KIND, "app": "work", **fields},
        prefer="respond-async",
    )
    assert answer.status_code == 202
    return int(answer.json()["id"])


def system(sql: str, *values: Any) -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(sql, values)


def expire_lease(request_id: int) -> None:
    system("UPDATE evaluations_evaluation SET lease_expires_at = '2001-01-01' WHERE request_id = %s", request_id)


def age(request_id: int) -> None:
    """Let a request be completed longer ago than any other: a purge takes a batch, the oldest first."""
    system("UPDATE evaluations_evaluationrequest SET completed_at = '2001-01-01' WHERE id = %s", request_id)


def only(request_id: int) -> Evaluation:
    return Evaluation.objects.using("system").get(request_id=request_id)


def work(caller: Caller, request_id: int, expected: int = 0) -> list[dict[str, Any]]:
    return work_off(account_id=caller.account.pk, request_id=request_id, lane="cpu", expected_attempts=expected)


@pytest.mark.parametrize("evaluator", ["exact-match", "toxicity"])
def test_an_output_counts_once_however_often_a_request_has_it_judged(
    alice: Caller, charlie: Caller, evaluator: str
) -> None:
    thrice = [{"evaluator": evaluator}] * 3
    request_id = accept(alice, evaluators=thrice, gold_answer=KIND)
    work(alice, request_id)

    answered = alice.get(f"/v1/evaluate/{request_id}").json()["results"]
    assert [result["status"] for result in answered] == ["success"] * 3
    assert alice.get(f"/v1/history?evaluator={evaluator}").json()["n_total"] == 1
    assert charlie.get(f"/v1/history?evaluator={evaluator}").json()["n_total"] == 0
    kept = Evaluation.objects.using("system").filter(request_id=request_id).order_by("position")
    assert list(kept.values_list("in_history", flat=True)) == [True, False, False]
    assert findings(alice) == {}


def test_it_scores_once(alice: Caller) -> None:
    request_id = accept(alice)

    assert [verdict["status"] for verdict in work(alice, request_id)] == ["success"]
    assert work(alice, request_id) == []
    assert len(scores_of(alice, "toxicity")) == 1
    assert EvaluationRequest.objects.using("system").get(id=request_id).completed_at is not None


def test_a_late_message_leaves_the_work_to_who_has_it(alice: Caller) -> None:
    request_id = accept(alice)
    system(
        "UPDATE evaluations_evaluation SET n_attempts = 1, lease_expires_at = now() + interval '1 hour' WHERE request_id = %s",
        request_id,
    )

    assert work(alice, request_id, expected=0) == []
    assert [verdict["status"] for verdict in work(alice, request_id, expected=1)] == ["success"]


def test_the_second_of_two_verdicts_changes_nothing(alice: Caller) -> None:
    request_id = accept(alice)
    verdict = {"position": 0, "status": "success", "score": 0.5, "passed": True}

    assert finish_lane(alice.account.pk, request_id, [verdict]) == [0]
    assert finish_lane(alice.account.pk, request_id, [verdict | {"score": 0.9}]) == []
    assert [score for _, score, _ in scores_of(alice, "toxicity")] == [0.5]


def test_a_stranger_cannot_finish_or_lease(alice: Caller, charlie: Caller) -> None:
    request_id = accept(alice)

    assert (
        finish_lane(charlie.account.pk, request_id, [{"position": 0, "status": "success", "score": 1, "passed": True}])
        == []
    )
    assert work(charlie, request_id) == []
    assert only(request_id).status == "pending"


@override_settings(LEASE_SECONDS=300)
def test_the_sweep_finds_what_has_no_living_lease(alice: Caller) -> None:
    request_id = accept(alice)
    assert request_id not in {ref.request_id for ref in sweep.sweep()}

    expire_lease(request_id)

    assert request_id in {ref.request_id for ref in sweep.sweep()}
    assert request_id not in {ref.request_id for ref in sweep.sweep()}
    assert only(request_id).n_sweeps == 1


def test_what_kills_its_workers_ends_as_an_error(alice: Caller) -> None:
    request_id = accept(alice)
    system("UPDATE evaluations_evaluation SET n_attempts = 99 WHERE request_id = %s", request_id)

    (verdict,) = work(alice, request_id, expected=99)

    assert verdict["status"] == "error"
    assert verdict["error_code"] == "worker_lost"
    assert scores_of(alice, "toxicity") == []


def test_capture_none_is_purged_an_hour_after_completion(alice: Caller) -> None:
    request_id = accept(alice, app=None, capture="none")
    work(alice, request_id)
    assert alice.get(f"/v1/evaluate/{request_id}").json()["results"][0]["status"] == "success"
    assert scores_of(alice, "toxicity") == []

    sweep.prune_uncaptured()
    assert alice.get(f"/v1/evaluate/{request_id}").status_code == 200
    age(request_id)
    sweep.prune_uncaptured()

    assert alice.get(f"/v1/evaluate/{request_id}").status_code == 404
    assert not Evaluation.objects.using("system").filter(request_id=request_id).exists()


def test_fails_only_keeps_the_fails(alice: Caller) -> None:
    answer = alice.post(
        "/v1/evaluate",
        {
            "evaluators": [{"evaluator": "exact-match"}, {"evaluator": "toxicity"}],
            "output": KIND,
            "label": "Something else",
            "capture": "fails-only",
        },
        prefer="respond-async",
    )
    request_id = int(answer.json()["id"])
    work(alice, request_id)
    age(request_id)

    sweep.prune_uncaptured()
    sweep.prune_uncaptured()

    kept = Evaluation.objects.using("system").filter(request_id=request_id).values_list("family", "captured")
    assert list(kept) == [("exact-match", True)]
    assert scores_of(alice, "") == []


def test_verify_names_what_is_wrong(alice: Caller, charlie: Caller) -> None:
    request_id = accept(alice)
    work(alice, request_id)
    evaluation = only(request_id)
    assert findings(alice) == {}

    system("DELETE FROM evaluations_historyscore WHERE source_id = %s", evaluation.id)
    try:
        for arguments in ([], ["--account", str(alice.account.pk)]):
            with pytest.raises(CommandError, match="found something wrong"):
                call_command("verify", *arguments)
        call_command("verify", "--account", str(charlie.account.pk))
        found = findings(alice)
    finally:
        system(
            "INSERT INTO evaluations_historyscore (id, account_id, evaluator_id, profile_name, revision, app, score, passed, source, source_id)"
            " VALUES (%s, %s, %s, %s, %s, %s, %s, %s, 'evaluation', %s)",
            *(
                evaluation.id,
                alice.account.pk,
                evaluation.evaluator_id,
                evaluation.profile_name,
                evaluation.profile_revision,
                evaluation.app,
                evaluation.score,
                True,
                evaluation.id,
            ),
        )

    missing = "a captured success is missing from the history"
    assert found == {missing: 1}
    assert findings(alice) == {}
    with pytest.raises(CommandError, match="no account 0"):
        call_command("verify", "--account", "0")


def test_long_texts_leave_the_web_process(alice: Caller) -> None:
    answer = alice.post(
        "/v1/evaluate",
        {"evaluators": [{"evaluator": "pii"}], "output": "word " * 5000},
        prefer="respond-async",
    )

    assert only(int(answer.json()["id"])).lane == "cpu"


def test_past_the_wait_it_answers_pending_and_goes_on(alice: Caller) -> None:
    answer = alice.evaluate(
        "toxicity", "exact-match", output=KIND, label=KIND, app="work", headers={"prefer": "wait=0"}
    )

    assert [result["status"] for result in answer.json()["results"]] == ["pending", "success"]
    request_id = int(answer.json()["id"])
    work(alice, request_id)
    assert alice.get(f"/v1/evaluate/{request_id}").json()["results"][0]["status"] == "success"


def test_a_caller_who_was_told_pending_and_calls_again_gets_the_same_evaluation(alice: Caller) -> None:
    asked = {"output": KIND, "app": "work", "headers": {"prefer": "wait=0"}}
    first = alice.evaluate("toxicity", **asked).json()
    assert first["results"][0]["status"] == "pending"
    work(alice, int(first["id"]))

    second = alice.evaluate("toxicity", **asked).json()
    assert (second["id"], second["results"][0]["status"]) == (first["id"], "success")
    assert len(scores_of(alice, "toxicity")) == 1
    assert alice.evaluate("toxicity", **asked).json()["id"] != first["id"]


def test_concurrent_retries_are_one_evaluation(alice: Caller) -> None:
    def retry(count: int) -> str:
        answer = alice.evaluate(
            "exact-match", output="a", label="a", app="retries", headers={"x_stainless_retry_count": str(count)}
        )
        return str(answer.json()["id"])

    with ThreadPoolExecutor(8) as pool:
        ids = set(pool.map(retry, range(1, 9)))

    assert len(ids) == 1
    assert len(scores_of(alice, "exact-match")) == 1


@pytest.mark.parametrize("count", ["0", "000", "", "-1", "abc", "²"])
def test_only_a_count_above_zero_is_a_retry(alice: Caller, count: str) -> None:
    answers = [
        alice.evaluate(
            "exact-match", output="a", label="a", app="xx", headers={"x_stainless_retry_count": count}
        ).json()
        for _ in range(2)
    ]

    assert answers[0]["id"] != answers[1]["id"]


def test_a_repeated_key_sees_how_far_the_work_has_come(alice: Caller) -> None:
    asked = {"output": KIND, "app": "work", "headers": {"prefer": "respond-async", "idempotency_key": "k"}}
    first = alice.evaluate("toxicity", **asked)
    work(alice, int(first.json()["id"]))
    second = alice.evaluate("toxicity", **asked)

    assert first.status_code == 202
    assert second.headers["Idempotency-Replayed"] == "true"
    assert (second.json()["id"], second.json()["results"][0]["status"]) == (first.json()["id"], "success")
    assert len(scores_of(alice, "toxicity")) == 1


@pytest.mark.parametrize("count", ["1", "01", "9" * 6000])
def test_any_count_above_zero_is_a_retry(alice: Caller, count: str) -> None:
    asked = {"output": "a", "label": "a", "app": "xx", "headers": {"x_stainless_retry_count": count}}
    first, second = (alice.evaluate("exact-match", **asked) for _ in range(2))

    assert (first.status_code, second.status_code) == (200, 200)
    assert first.json()["id"] == second.json()["id"]
    assert len(scores_of(alice, "exact-match")) == 1


def test_two_idempotency_keys_are_two_evaluations(alice: Caller) -> None:
    asked = {"output": KIND, "app": "work"}
    answers = [
        alice.evaluate("toxicity", **asked, headers={"prefer": "wait=0", "idempotency_key": key}).json() for key in "ab"
    ]

    assert answers[0]["id"] != answers[1]["id"]
