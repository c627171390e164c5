"""The table that tags are searched by: kept with every way in, and right after every change."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connections

from evalsvc.evaluations.maintenance.sweep import verify
from evalsvc.evaluations.models import Evaluation
from evalsvc.tenancy.scope import account_scope
from tests import leftovers
from tests.conftest import Caller

SEARCH = "/v1/evaluations/search"
TAGS = {"env": "prod", "user": "u1"}


def ids(caller: Caller, **tags: str) -> list[str]:
    answer = caller.post(SEARCH, {"filters": [{"field": "tags", "value": tags}]})
    assert answer.status_code == 200, answer.content
    return [row["id"] for row in answer.json()["evaluations"]]


def n_kept(caller: Caller) -> int:
    with connections["owner"].cursor() as cursor:
        cursor.execute("SELECT count(*) FROM evaluations_evaluationtag WHERE account_id = %s", [caller.account.pk])
        return int(cursor.fetchone()[0])


def found_wrong(caller: Caller) -> list[str]:
    return [what for what, finding in verify(caller.account.pk) if finding is not None]


def evaluated(caller: Caller) -> list[str]:
    answer = caller.evaluate("exact-match", "metrics/compute-squad-f1", output="x", label="x", capture="all", tags=TAGS)
    return [result["evaluation_id"] for result in answer.json()["results"]]


def kept(caller: Caller) -> list[str]:
    row = {"evaluator_id": "mine", "log_id": "log", "score": 1, "tags": TAGS}
    answer = caller.post("/v1/evaluations/batch", {"evaluations": [row, row | {"log_id": "untagged", "tags": None}]})
    return [row["id"] for row in answer.json()["evaluations"][:1]]


def brought(caller: Caller) -> list[str]:
    row = {"evaluator_id": "mine", "score_raw": 1, "evaluated_model_output": "x", "tags": TAGS}
    answer = caller.post("/v1/evaluation-results/batch", {"evaluation_results": [row, row]})
    return [row["id"] for row in answer.json()["evaluation_results"]]


@pytest.mark.parametrize("keep", [evaluated, kept, brought], ids=["evaluated", "kept", "brought"])
def test_what_comes_in_is_found_by_its_tags(alice: Caller, bob: Caller, charlie: Caller, keep: Any) -> None:
    made = sorted(keep(alice))

    assert sorted(ids(alice, env="prod")) == sorted(ids(bob, **TAGS)) == made
    assert ids(bob, env="dev") == ids(charlie, **TAGS) == []
    assert n_kept(alice) == 2 * len(made)
    assert found_wrong(alice) == []


def test_a_stranger_with_the_same_tags_finds_his_own(alice: Caller, charlie: Caller) -> None:
    mine, his = kept(alice), kept(charlie)

    assert ids(alice, **TAGS) == mine
    assert ids(charlie, **TAGS) == his


def test_results_are_found_by_their_tags(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made = brought(alice)

    def found(caller: Caller, **wanted: Any) -> list[str]:
        return [row["id"] for row in caller.post("/v1/evaluation-results/search", wanted).json()["results"]]

    assert found(bob, tags=TAGS, order="+created_at") == sorted(made, key=int)
    assert found(bob, tags=TAGS, order="dataset_sample_id", score_raw_min=2) == found(charlie, tags=TAGS) == []


def test_what_capture_does_not_keep_is_found_by_no_tag(alice: Caller) -> None:
    alice.evaluate("exact-match", output="x", label="x", capture="none", tags=TAGS)
    alice.evaluate("exact-match", output="x", label="x", capture="fails-only", tags=TAGS)

    assert ids(alice, **TAGS) == []


def test_tags_go_with_their_evaluation(alice: Caller, bob: Caller, charlie: Caller) -> None:
    made, his = evaluated(alice), evaluated(charlie)
    alice.call("DELETE", f"/v1/evaluations/{made[0]}")

    assert ids(bob, **TAGS) == made[1:]
    assert n_kept(alice) == 2
    assert sorted(ids(charlie, **TAGS)) == sorted(his)
    assert found_wrong(alice) == []


def test_tags_move_in_time_with_their_evaluation(alice: Caller) -> None:
    made = evaluated(alice)
    newest = ids(alice, **TAGS)[0]
    with account_scope(alice.account.pk):
        Evaluation.objects.filter(id=newest).update(created_at=datetime(2026, 1, 2, tzinfo=UTC))

    assert ids(alice, **TAGS) == [*(id for id in made if id != newest), newest]
    assert found_wrong(alice) == []


def test_a_cursor_walks_through_all_with_a_tag(alice: Caller) -> None:
    rows = [
        {
            "evaluator_id": "mine",
            "log_id": f"log-{i}",
            "score": i,
            "tags": TAGS,
            "created_at": f"2026-03-01T1{i // 3}:00:00Z",
        }
        for i in range(9)
    ]
    made = alice.post("/v1/evaluations/batch", {"evaluations": rows}).json()["evaluations"]
    body: dict[str, Any] = {"filters": [{"field": "tags", "value": TAGS}], "limit": 2}
    seen: list[str] = []
    while body.get("cursor", "") is not None:
        page = alice.post(SEARCH, body).json()
        seen += [row["id"] for row in page["evaluations"]]
        body["cursor"] = page["next_cursor"]

    assert seen == ids(alice, **TAGS)
    assert sorted(seen) == sorted(row["id"] for row in made)


def test_verify_tells_of_tags_that_are_not_the_requests(alice: Caller) -> None:
    leftovers.spoil(alice.account.pk)
    kept(alice)
    with connections["owner"].cursor() as cursor:
        cursor.execute("DELETE FROM evaluations_evaluationtag WHERE account_id = %s", [alice.account.pk])

    assert found_wrong(alice) == ["an evaluation is found by other tags, or at another time, than its request has"]


def test_tags_follow_whether_an_evaluation_is_kept(alice: Caller, bob: Caller) -> None:
    """As work that is queued learns it last, and an error that is tried again forgets it."""
    (id,) = kept(alice)
    for captured, found in ((None, []), (True, [id]), (False, []), (True, [id])):
        with account_scope(alice.account.pk):
            Evaluation.objects.filter(id=id).update(captured=captured)

        assert ids(bob, **TAGS) == found
        assert found_wrong(alice) == []
