"""Evaluations to delete, and the calls that delete them."""

from __future__ import annotations

import uuid
from typing import Any

from evalsvc.accounts.models import AuditEntry
from evalsvc.evaluations.models import Evaluation
from tests.conftest import Caller

RESULTS = "/v1/evaluation-results/batch"


def evaluate(caller: Caller, *evaluators: str, **fields: Any) -> dict[str, Any]:
    return caller.evaluate(
        *evaluators or ("exact-match",), **{"output": "a", "label": "a", "app": "shop"} | fields
    ).json()


def id_of(answer: dict[str, Any], position: int = 0) -> str:
    return answer["results"][position]["evaluation_id"]


def keep(caller: Caller, n: int, **fields: Any) -> list[str]:
    rows = [{"evaluator_id": "mine", "score_raw": i, **fields} for i in range(n)]
    answer = caller.post(RESULTS, {"evaluation_results": rows}, idempotency_key=uuid.uuid4().hex)
    assert answer.json()["errors"] == []
    return [row["id"] for row in answer.json()["evaluation_results"]]


def delete(caller: Caller, id: str) -> None:
    answer = caller.call("DELETE", f"/v1/evaluations/{id}")
    assert (answer.status_code, answer.content) == (204, b"")


def bulk(caller: Caller, query: str) -> tuple[int, bool]:
    answer = caller.call("DELETE", f"/v1/evaluations?{query}")
    assert answer.status_code == 200, answer.content
    assert set(answer.json()) == {"n_deleted", "done"}
    return answer.json()["n_deleted"], answer.json()["done"]


def n_left(caller: Caller, model: Any = Evaluation) -> int:
    return model.objects.using("system").filter(account_id=caller.account.pk).count()


def interval(caller: Caller, *, profile: str | None = None) -> dict[str, Any]:
    """The interval of the history, as an evaluation that is not kept tells it."""
    answer = caller.evaluate(
        "exact-match", output="a", label="a", capture="none", confidence_interval_strategy="full-history"
    )
    return answer.json()["results"][0]["evaluation_result"]["additional_info"]["confidence_interval"]


def audit(caller: Caller) -> list[tuple[str, str, dict[str, Any]]]:
    rows = AuditEntry.objects.using("system").filter(account=caller.account, action__startswith="evaluation")
    return list(rows.order_by("id").values_list("action", "target", "detail"))
