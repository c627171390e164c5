"""What is kept for repeated requests is sealed, echoes nothing that capture does not keep, and ends with its resource."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from evalsvc.rest.kept import Seal, SealError
from evalsvc.rest.models import IdempotencyRecord
from tests.conftest import Caller, scores_of
from tests.evaluations.bulk.shapes import BATCH, rows_of
from tests.rest.shapes import assert_problem

CANARY = "canary-4711"
FIELDS = ("input", "output", "gold_answer", "system_prompt", "retrieved_context", "id", "name", "provider")
EXACT = {"evaluators": [{"evaluator": "exact-match"}], "output": f"{CANARY} o", "label": f"{CANARY} o"}
FULL = {
    "evaluators": [{"evaluator": "exact-match", "criteria": "exact-match"}],
    **{f"evaluated_model_{name}": f"{CANARY} {name}" for name in FIELDS},
    "evaluated_model_params": {"seed": CANARY},
    "tags": {"who": CANARY},
    "log_id": CANARY,
    "dataset_id": CANARY,
    f"{CANARY}_unknown": 1,
}


def dump() -> bytes:
    """The table as `COPY` writes it, and as its bytes are."""
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT r::text, r.body FROM rest_idempotencyrecord r")
        return b"\n".join(text.encode() + bytes(body or b"") for text, body in cursor.fetchall())


def records(caller: Caller) -> Any:
    return IdempotencyRecord.objects.using("system").filter(account_id=caller.account.pk)


def dumped_contains(text: str) -> bool:
    found = dump()
    return text.encode() in found or text.encode().hex().encode() in found


@pytest.mark.parametrize("capture", ["none", "all"])
def test_the_table_holds_nothing_that_was_sent(alice: Caller, capture: str) -> None:
    alice.post("/v1/evaluate", FULL | {"capture": capture}, Idempotency_Key=f"key {CANARY}")
    body = {name: value for name, value in EXACT.items() if name == "evaluators"} | {"capture": capture}
    samples = {"samples": [{"output": f"{CANARY} {i}", "label": CANARY} for i in range(3)]}
    alice.post(BATCH, body | samples, Idempotency_Key=f"batch {CANARY}")
    alice.post("/v1/evaluations/search", {"limit": 5}, Idempotency_Key=f"search {CANARY}")

    assert records(alice).count() == 6
    assert not dumped_contains("canary")


def test_with_capture_none_the_repeat_has_the_verdict_without_echoes(alice: Caller) -> None:
    first, second = (alice.post("/v1/evaluate", FULL | {"capture": "none"}, Idempotency_Key="k") for _ in range(2))

    assert CANARY in first.content.decode()
    assert CANARY not in second.content.decode()
    results = [answer.json()["results"][0]["evaluation_result"] for answer in (first, second)]
    for name in ("score_raw", "pass", "explanation", "evaluator_id", "criteria_revision", "evaluation_duration"):
        assert results[0][name] == results[1][name]
    assert {results[1][name] for name in results[1] if name.startswith("evaluated_model_")} == {None}
    assert results[1]["tags"] == {}


def test_with_capture_none_the_rows_of_a_batch_have_no_echoes_either(alice: Caller) -> None:
    body = {"evaluators": EXACT["evaluators"], "capture": "none", "samples": [{"output": CANARY, "label": CANARY}] * 2}
    first, second = (rows_of(alice.post(BATCH, body, Idempotency_Key="k")) for _ in range(2))

    assert CANARY in json.dumps(first)
    assert CANARY not in json.dumps(second)
    scores = [
        [row["answer"]["results"][0]["evaluation_result"]["score_raw"] for row in rows] for rows in (first, second)
    ]
    assert scores[0] == scores[1] == [1.0, 1.0]


def test_a_deleted_evaluation_is_not_answered_again(alice: Caller) -> None:
    body = EXACT | {"app": "shop"}
    first = alice.post("/v1/evaluate", body, Idempotency_Key="k")
    batch = {"evaluators": EXACT["evaluators"], "app": "shop", "samples": [{"output": CANARY, "label": CANARY}]}
    alice.post(BATCH, batch, Idempotency_Key="b")
    found = alice.post("/v1/evaluation-results/search", {"limit": 5}, Idempotency_Key="s")
    assert (CANARY in first.content.decode(), CANARY in found.content.decode()) == (True, True)
    other = alice.post("/v1/evaluate", EXACT | {"app": "bar"}, Idempotency_Key="other")

    alice.call("DELETE", "/v1/evaluations?app=shop")

    for path, sent, key in (("/v1/evaluate", body, "k"), ("/v1/evaluation-results/search", {"limit": 5}, "s")):
        again = alice.post(path, sent, Idempotency_Key=key)
        assert_problem(again, "not_found")
        assert CANARY not in again.content.decode()
    (row,) = rows_of(alice.post(BATCH, batch, Idempotency_Key="b"))
    assert row["problem"]["code"] == "not_found"
    assert alice.post("/v1/evaluate", EXACT | {"app": "bar"}, Idempotency_Key="other").content == other.content


def test_a_long_answer_is_read_from_its_evaluation(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.rest.idempotency.MAX_KEPT_BYTES", 1000)
    body = EXACT | {"input": CANARY, "app": "shop"}
    first, second = (alice.post("/v1/evaluate", body, Idempotency_Key="k") for _ in range(2))

    assert len(first.content) > 1000
    assert records(alice).get().body is None
    assert second["Idempotency-Replayed"] == "true"
    results = [answer.json()["results"][0]["evaluation_result"] for answer in (first, second)]
    assert results[0]["evaluated_model_input"] == results[1]["evaluated_model_input"] == CANARY
    assert results[0]["id"] == results[1]["id"]
    assert len(scores_of(alice, "exact-match")) == 1


def test_only_the_same_request_opens_it() -> None:
    request = Seal(1, "k", b"f" * 32)
    kept = request.close(b"answer", "row 1")

    assert request.open(kept, "row 1") == b"answer"
    for other in (Seal(2, "k", b"f" * 32), Seal(1, "l", b"f" * 32), Seal(1, "k", b"g" * 32)):
        with pytest.raises(SealError):
            other.open(kept, "row 1")
    for changed, place in ((kept, "row 2"), (kept[:-1], "row 1"), (kept[:5], "row 1"), (kept + b"x", "row 1")):
        with pytest.raises(SealError):
            request.open(changed, place)


def test_a_record_of_the_version_before_is_answered_and_done_once(alice: Caller) -> None:
    raw = json.dumps(EXACT).encode()
    digest = hashlib.sha256(b"POST /v1/evaluate\n" + raw).digest()
    plain = {"key": "k", "fingerprint": digest, "claim": "0" * 32, "lease_expires_at": "2026-01-01T00:00:00Z"}
    headers = {"Content-Type": "application/json"}
    record = IdempotencyRecord.objects.using("system").create(
        account_id=alice.account.pk, status=200, body=b'{"id":null,"results":[]}', headers=headers, **plain
    )
    again = alice.post("/v1/evaluate", raw=raw, Idempotency_Key="k")

    assert (again.json(), again["Idempotency-Replayed"]) == ({"id": None, "results": []}, "true")
    assert_problem(alice.post("/v1/evaluate", EXACT | {"app": "x"}, Idempotency_Key="k"), "idempotency_key_reused")

    records(alice).filter(pk=record.pk).update(
        status=None, body=None, lease_expires_at=timezone.now() + timedelta(minutes=1)
    )
    assert_problem(alice.post("/v1/evaluate", raw=raw, Idempotency_Key="k"), "in_progress")
    records(alice).filter(pk=record.pk).update(lease_expires_at="2026-01-01T00:00:00Z")
    assert alice.post("/v1/evaluate", raw=raw, Idempotency_Key="k").json()["results"][0]["status"] == "success"
