"""While a judge's endpoint is away its judgements wait in the database; what a person sees of it, and what ends it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.test import override_settings

from benchmarks.stub_llm import RunningStub
from evalsvc.evaluations.workers.judging import store
from evalsvc.judges.ledger import breaker
from tests.conftest import scores_of, wait_until
from tests.judges.asking import Judge
from tests.judges.outages import FLAGGED, MODERATION, SENTENCE, Endpoint, body_of, running_endpoint
from tests.judges.working import accept, profile, results, rows_of, running, work

WAITING = re.compile(r"Waiting for the judge endpoint until \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\. ")


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with running_endpoint() as running_one:
        yield running_one


@pytest.fixture
def away(endpoint: Endpoint) -> Judge:
    """An account whose judge is at an endpoint that a test can switch off."""
    return Judge(endpoint, model="stub-judge-pass")  # type: ignore[arg-type]


@pytest.fixture
def is_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for parts of a second where the service waits for seconds."""
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0.2)
    monkeypatch.setattr(breaker, "LONGEST_PAUSE_SECONDS", 0.4)
    monkeypatch.setattr(store, "FIRST_DELAY_SECONDS", 0.1)
    monkeypatch.setattr(store, "LONGEST_DELAY_SECONDS", 0.5)


def statuses(judge: Judge) -> Counter[tuple[str, str | None]]:
    return Counter(rows_of(judge.caller).values_list("status", "error_code"))


def questions(judge: Judge, n: int, **settings: Any) -> list[str]:
    """Make profiles each of which asks something else of a text, so that none is answered by the cache."""
    return [profile(judge.caller, pass_criteria=f"The MODEL OUTPUT has fault {i}.", **settings) for i in range(n)]


OUTAGES: dict[str, Callable[[Endpoint], None]] = {
    "500": lambda endpoint: endpoint.fail(500),
    "503 without a body": lambda endpoint: endpoint.fail(503, b""),
    "504": lambda endpoint: endpoint.fail(504),
    "refused": lambda endpoint: endpoint.refuse(),
}


@pytest.mark.parametrize("kind", OUTAGES)
@pytest.mark.usefixtures("is_quick")
def test_no_judgement_is_lost_in_an_outage(endpoint: Endpoint, away: Judge, kind: str) -> None:
    names = questions(away, 10)
    with running():
        for _ in range(4):
            accept(away.caller, *names)
        wait_until(lambda: statuses(away)["success", None] == 40)
        OUTAGES[kind](endpoint)
        for _ in range(16):
            accept(away.caller, *names)
        wait_until(lambda: rows_of(away.caller).filter(status="pending", n_sweeps__gt=0).count() > 100)
        assert statuses(away).keys() <= {
            ("success", None),
            ("pending", None),
            ("pending", "connection"),
            ("pending", "timeout"),
        }
        endpoint.recover()
        for _ in range(4):
            accept(away.caller, *names)
        wait_until(lambda: not rows_of(away.caller).filter(status="pending").exists())

    assert statuses(away) == {("success", None): 240}
    assert len(scores_of(away.caller, "judge")) == 240


@pytest.mark.usefixtures("is_quick")
def test_calls_under_way_when_the_endpoint_restarts_are_made_again(endpoint: Endpoint, away: Judge) -> None:
    names = questions(away, 20, model="stub-judge-pass@500")
    with running():
        accept(away.caller, *names)
        wait_until(lambda: endpoint.n_answered > 0)
        endpoint.refuse()
        endpoint.listen()
        wait_until(lambda: not rows_of(away.caller).filter(status="pending").exists())

    assert statuses(away) == {("success", None): 20}


def test_few_calls_find_out_whether_it_is_back(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail()
    request_id = accept(away.caller, *questions(away, 40))
    work(away.caller, request_id)
    n_asked = endpoint.n_asked
    for _ in range(3):
        work(away.caller, request_id)

    assert statuses(away) == {("pending", "connection"): 40}
    # All 40 were under way when it opened, or none later than that.
    assert n_asked <= 40 * 3
    assert endpoint.n_asked <= n_asked + 3


def test_a_flagged_text_is_refused_and_no_other(endpoint: Endpoint, away: Judge) -> None:
    (name,) = questions(away, 1)
    texts = [f"{FLAGGED}, number {i}." if i in (20, 30) else f"Text {i}." for i in range(46)]
    with running():
        ids = [accept(away.caller, name, evaluated_model_output=text) for text in texts]
        wait_until(lambda: not rows_of(away.caller).filter(status="pending").exists())

    assert statuses(away) == {("success", None): 44, ("validation_error", "refused"): 2}
    for i in (20, 30):
        assert MODERATION in results(away.caller, ids[i])[0]["error_message"]


def test_a_person_sees_what_it_waits_for(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail()
    request_id = accept(away.caller, profile(away.caller))
    work(away.caller, request_id)

    (found,) = results(away.caller, request_id)
    assert (found["status"], found["error_code"], found["evaluation_result"]) == ("pending", "connection", None)
    assert WAITING.match(found["error_message"]) and SENTENCE in found["error_message"]

    endpoint.recover()
    work(away.caller, request_id)
    (found,) = results(away.caller, request_id)
    assert (found["status"], found["error_code"], found["error_message"]) == ("success", None, None)


def test_patience_ends_as_an_error_that_a_retry_may_mend(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail()
    with override_settings(JUDGE_PATIENCE_SECONDS=0):
        request_id = accept(away.caller, profile(away.caller))
        work(away.caller, request_id)

    (found,) = results(away.caller, request_id)
    assert (found["status"], found["error_code"]) == ("error", "connection")
    assert SENTENCE in found["error_message"] and "Waiting" not in found["error_message"]


def test_a_wait_for_an_outage_is_cut_at_the_end_of_the_patience(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail()
    request_id = accept(away.caller, profile(away.caller))
    with override_settings(JUDGE_PATIENCE_SECONDS=60):
        rows = rows_of(away.caller).filter(request_id=request_id)
        rows.update(n_sweeps=10)
        work(away.caller, request_id)
        assert [row.status for row in rows] == ["pending"]
    (row,) = rows
    assert (row.lease_expires_at - row.created_at).total_seconds() <= 60.001


def test_a_deleted_connection_ends_the_wait(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail()
    request_id = accept(away.caller, profile(away.caller))
    work(away.caller, request_id)
    assert away.caller.call("delete", f"/v1/connections/{away.connection['id']}").status_code == 204
    work(away.caller, request_id)

    (found,) = results(away.caller, request_id)
    assert (found["status"], found["error_code"]) == ("validation_error", "not_configured")


def test_a_key_that_is_revoked_meanwhile_ends_the_wait(endpoint: Endpoint, away: Judge, is_quick: None) -> None:
    endpoint.fail()
    request_id = accept(away.caller, *questions(away, 3))
    work(away.caller, request_id)
    assert statuses(away) == {("pending", "connection"): 3}
    endpoint.fail(401, body_of("Incorrect API key provided.", "invalid_api_key"))
    with running():
        wait_until(lambda: not rows_of(away.caller).filter(status="pending").exists())

    # Of a key that one call has shown to be wrong, the open breaker is no statement on the other texts.
    assert set(statuses(away)) <= {("validation_error", "not_configured"), ("error", "not_configured")}


def test_what_the_breaker_refuses_for_a_wrong_key_is_no_verdict_on_the_text(endpoint: Endpoint, away: Judge) -> None:
    endpoint.fail(401, body_of("Incorrect API key provided.", "invalid_api_key"))
    found = []
    for _ in range(2):
        request_id = accept(away.caller, profile(away.caller))
        work(away.caller, request_id)
        found += results(away.caller, request_id)

    assert [(result["status"], result["error_code"]) for result in found] == [
        ("validation_error", "not_configured"),
        ("error", "not_configured"),
    ]
    assert endpoint.n_asked == 1


def test_other_accounts_do_not_wait_for_this_outage(endpoint: Endpoint, away: Judge, stub: RunningStub) -> None:
    endpoint.fail()
    other = Judge(stub)
    with running(slots=8):
        accept(away.caller, *questions(away, 40))
        wait_until(lambda: statuses(away)["pending", "connection"] > 0)
        accept(other.caller, *questions(other, 10))
        wait_until(lambda: statuses(other)["success", None] == 10)

    assert statuses(away)["success", None] == 0


def test_an_evaluation_that_waits_spends_nothing(endpoint: Endpoint) -> None:
    judge = Judge(endpoint, model="stub-judge-pass", daily_budget=1.0)  # type: ignore[arg-type]
    endpoint.fail()
    request_id = accept(judge.caller, profile(judge.caller))
    for _ in range(3):
        work(judge.caller, request_id)
    assert spent(judge) == 0

    endpoint.recover()

    def has_spent() -> bool:
        work(judge.caller, request_id)  # asks nothing as long as the endpoint counts as away
        return bool(spent(judge))

    wait_until(has_spent)
    assert spent(judge) < 0.01


def spent(judge: Judge) -> Any:
    (found,) = judge.caller.get("/v1/connections").json()["connections"]
    return found["spent_today"]
