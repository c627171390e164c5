"""The account's switch that refuses calls with evaluators which can only answer null."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.accounts.models import AuditEntry
from tests.conftest import Caller, scores_of
from tests.rest.shapes import assert_problem

GOOD = {"evaluator": "exact-match"}
SAMPLE = {"input": "Where?", "output": "Paris", "label": "Paris", "capture": "all"}
CANNOT_RUN: dict[str, dict[str, Any]] = {
    "judge": {"evaluator": "judge", "criteria": "patronus:is-concise"},
    "webhook": {"evaluator": "webhook", "profile_config": {"url": "https://hooks.example.com/score"}},
    "unknown": {"evaluator": "no-such-thing"},
    "profile": {"evaluator": "metrics", "criteria": "no-such-profile"},
}


def switch(caller: Caller, on: bool) -> None:
    answer = caller.call("PATCH", "/v1/account", {"refuse_unrunnable": on})
    assert answer.status_code == 200, answer.content
    assert answer.json()["account"] == caller.get("/v1/account").json()["account"]
    assert answer.json()["account"]["refuse_unrunnable"] is on


def send(caller: Caller, *evaluators: dict[str, Any], **headers: str) -> Any:
    return caller.post("/v1/evaluate", SAMPLE | {"evaluators": list(evaluators)}, **headers)


@pytest.mark.parametrize("kind", CANNOT_RUN)
def test_what_cannot_run_is_null_by_default_and_refused_on_demand(alice: Caller, kind: str) -> None:
    answer = send(alice, GOOD, CANNOT_RUN[kind], Prefer="wait=0")
    assert answer.status_code == 200, answer.content
    assert len(scores_of(alice, "exact-match")) == 1

    switch(alice, True)
    problem = assert_problem(send(alice, GOOD, CANNOT_RUN[kind]), "unrunnable")

    assert [error["pointer"] for error in problem["errors"]] == ["/evaluators/1"]
    assert len(scores_of(alice, "exact-match")) == 1
    switch(alice, False)
    assert send(alice, GOOD, CANNOT_RUN[kind], Prefer="wait=0").status_code == 200


def test_what_can_run_runs(alice: Caller) -> None:
    switch(alice, True)
    connection = {"name": "house", "base_url": "https://llm.example.com/v1", "model": "m", "is_default": True}
    assert alice.post("/v1/connections", connection).status_code == 201

    assert send(alice, GOOD).status_code == 200
    assert send(alice, CANNOT_RUN["judge"], Prefer="wait=0").status_code == 200


def test_a_key_of_a_refused_call_is_free_again(alice: Caller) -> None:
    switch(alice, True)
    assert_problem(send(alice, CANNOT_RUN["unknown"], Idempotency_Key="one"), "unrunnable")

    assert send(alice, GOOD, Idempotency_Key="one").status_code == 200


def test_in_a_batch_the_sample_is_refused(alice: Caller) -> None:
    switch(alice, True)
    samples = [SAMPLE | {"evaluators": [GOOD]}, SAMPLE | {"evaluators": [CANNOT_RUN["unknown"]]}]
    body = {"samples": samples}

    answer = alice.post("/v1/evaluate/batch", body)
    text = answer.content.decode()
    assert text.count('"unrunnable"') == 1
    assert len(scores_of(alice, "exact-match")) == 1


def test_the_switch_is_each_account_s_own_and_writers(alice: Caller, bob: Caller, charlie: Caller) -> None:
    switch(alice, True)

    assert bob.get("/v1/account").json()["account"]["refuse_unrunnable"] is True
    assert bob.call("PATCH", "/v1/account", {"refuse_unrunnable": False}).status_code == 403
    assert charlie.get("/v1/account").json()["account"]["refuse_unrunnable"] is False
    assert send(charlie, CANNOT_RUN["unknown"]).status_code == 200
    assert_problem(alice.call("PATCH", "/v1/account", {"refuse": True}), "validation_failed")
    rows = AuditEntry.objects.using("system").filter(account=alice.account, action="account.refusal_changed")
    assert [row.detail for row in rows] == [{"refuse_unrunnable": True}]
