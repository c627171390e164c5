"""What the demo's account holds beside its two weeks, made through the API: broken off, begun again, and there once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from evalsvc.accounts.models import Account, ApiKey
from evalsvc.comparisons.worker import work_on
from evalsvc.evaluations.models import Evaluation
from evalsvc.ops.demo.calls import DemoRefused, Send
from evalsvc.ops.demo.contents import N_FAILURES, N_TRACES
from evalsvc.ops.demo.seeder import fill_account
from evalsvc.tenancy.scope import SYSTEM
from tests.conftest import Caller, findings, new_caller
from tests.factories import ok

BREAKS = (3, 40)
"""After how many calls it is broken off."""


def sender_until(account: Account, n: int) -> Any:
    """Make calls in this process, of which the n-th is the last that is answered."""

    def sender(key: str) -> Send:
        caller, left = Caller(account, key), [n]

        def send(method: str, path: str, body: Any, headers: Mapping[str, str]) -> tuple[int, str]:
            if not left[0]:
                raise InterruptedError
            left[0] -= 1
            answer = caller.call(method, path, body, **{name.replace("-", "_"): one for name, one in headers.items()})
            return answer.status_code, answer.content.decode()

        return send

    return sender


@pytest.fixture(scope="module")
def demo() -> Caller:
    caller = new_caller(name="demo filled")
    account = caller.account
    for n in BREAKS:
        with pytest.raises(InterruptedError):
            fill_account(account=account, sender=sender_until(account, n))
    for _ in range(2):
        fill_account(account=account, sender=sender_until(account, 1000))
    return caller


def test_a_finished_experiment_has_four_configs_and_a_best_one(demo: Caller) -> None:
    running, finished = ok(demo.get("/v1/experiments"))["experiments"]
    live = ok(demo.get(f"/v1/experiments/{finished['id']}/live"))

    right = {one["name"]: one["metrics"]["right"] for one in live["configs"]}
    assert live["experiment"]["state"] == "done" and len(right) == 4
    assert {one["n"] for one in right.values()} == {30}
    assert right["in steps · large"]["value"] > right["short · small"]["value"] + 0.2
    assert ok(demo.get(f"/v1/experiments/{running['id']}/live"))["experiment"]["state"] == "running"


def test_each_score_is_the_evaluators_own(demo: Caller) -> None:
    finished = ok(demo.get("/v1/experiments"))["experiments"][1]
    results = ok(demo.get(f"/v1/experiments/{finished['id']}/results?limit=200"))["results"]

    assert len(results) == 120
    assert {row["scores"]["right"]["value"] for row in results} == {0, 1}
    assert sum(row["scores"]["no personal data"]["value"] < 1 for row in results) == 1


def test_pairs_are_ranked(demo: Caller) -> None:
    (comparison,) = ok(demo.get("/v1/comparisons"))["comparisons"]
    while work_on(account_id=demo.account.pk, id=int(comparison["id"])):
        pass

    places = ok(demo.get(f"/v1/comparisons/{comparison['id']}"))["ranking"]["places"]
    assert places[0]["config"] == "in steps · large"


def test_one_gate_passes_and_one_fails(demo: Caller) -> None:
    gates = ok(demo.get("/v1/gates"))["gates"]
    assert [(gate["name"], gate["outcome"]) for gate in gates] == [
        ("Demo: cheapest prompt", "fail"),
        ("Demo: best prompt", "pass"),
    ]


def test_a_review_is_half_answered(demo: Caller) -> None:
    (review,) = ok(demo.get("/v1/reviews"))["reviews"]
    assert (review["state"], review["n_items"], review["n_answers"]) == ("partial", 24, 2)
    assert 0 < review["n_answered"] < 24


def test_the_judge_that_nobody_reaches_is_asked_once_for_each_sample(demo: Caller) -> None:
    asked = Evaluation.objects.using(SYSTEM).filter(account=demo.account, family="judge")
    assert [(one.profile_name, one.score) for one in asked] == [("polite", None)] * N_FAILURES


def test_a_webhook_has_one_test_event(demo: Caller) -> None:
    (endpoint,) = ok(demo.get("/v1/event-endpoints"))["event_endpoints"]
    deliveries = ok(demo.get("/v1/event-deliveries"))["event_deliveries"]
    assert [one["event_type"] for one in deliveries if one["event_type"] == "endpoint.test"] == ["endpoint.test"]
    assert endpoint["url"].endswith("/hooks")


def test_traces_have_scores(demo: Caller) -> None:
    spans = ok(demo.post("/v1/otel/spans/search", {"filters": []}))["spans"]
    assert len({span["trace_id"] for span in spans}) == N_TRACES


def test_no_key_of_it_works_and_all_its_counts_are_right(demo: Caller) -> None:
    keys = ApiKey.objects.using(SYSTEM).filter(account=demo.account, name="demo")
    assert keys and all(key.revoked_at for key in keys)
    assert findings(demo) == {}


def test_a_refusal_is_told_with_its_call(demo: Caller) -> None:
    def refusing(_: str) -> Send:
        return lambda *call: (422, "no")

    with pytest.raises(DemoRefused, match=r"POST /v1/datasets: HTTP 422, 'no'"):
        fill_account(account=demo.account, sender=refusing)
