"""Deletions that meet each other, or what writes meanwhile."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.evaluations.workers.lane import work_off
from tests.conftest import Caller, findings, scores_of
from tests.evaluations.deleting import audit, evaluate, id_of, keep, n_left


def together(*calls: Any) -> list[int]:
    start = threading.Barrier(len(calls))

    def run(call: Any) -> int:
        start.wait()
        return int(call().status_code)

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def test_two_who_delete_the_last_two_leave_no_request(alice: Caller) -> None:
    for _ in range(5):
        made = evaluate(alice, "exact-match", "exact-match-contains")
        paths = [f"/v1/evaluations/{id_of(made, i)}" for i in (0, 1)]
        statuses = together(*(lambda path=path: alice.call("DELETE", path) for path in paths * 2))
        assert sorted(statuses) == [204, 204, 404, 404]
    assert (n_left(alice), n_left(alice, EvaluationRequest)) == (0, 0)
    assert findings(alice) == {}


def test_bulk_deletes_at_once_share_the_work(alice: Caller) -> None:
    keep(alice, 200, app="cart", trace_id="t")
    queries = ["app=cart&batch_size=7", "trace_id=t&batch_size=11", "app=cart&batch_size=200", "trace_id=t"]
    statuses = together(*(lambda query=query: alice.call("DELETE", f"/v1/evaluations?{query}") for query in queries))

    assert statuses == [200] * 4
    assert sum(detail["n"] for _, _, detail in audit(alice)) == 200
    assert (n_left(alice), n_left(alice, EvaluationRequest), scores_of(alice, "")) == (0, 0, [])
    assert findings(alice) == {}


def test_marks_and_verdicts_meanwhile_break_nothing(alice: Caller) -> None:
    for _ in range(5):
        made = evaluate(alice, "toxicity", "exact-match", headers={"prefer": "wait=0"})
        marked = f"/v1/evaluation-results/{id_of(made, 1)}/favorite"

        def work(made: dict[str, Any] = made) -> Any:
            work_off(account_id=alice.account.pk, request_id=int(made["id"]), lane="cpu", expected_attempts=0)
            return alice.get("/v1/whoami")

        statuses = together(
            *(lambda i=i, made=made: alice.call("DELETE", f"/v1/evaluations/{id_of(made, i)}") for i in (0, 1)),
            lambda marked=marked: alice.post(marked),
            work,
        )
        assert statuses[:2] == [204, 204]
        assert statuses[2] in (204, 404)
    assert (n_left(alice), n_left(alice, EvaluationRequest), scores_of(alice, "")) == (0, 0, [])
    assert findings(alice) == {}
