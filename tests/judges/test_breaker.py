"""An endpoint that is down is left alone: by this account, for this connection and model, for a while."""

from __future__ import annotations

from typing import Any

import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.judges.calls.loop import run
from evalsvc.judges.failures import CallFailed, ErrorKind
from evalsvc.judges.ledger import breaker, limits
from evalsvc.judges.ledger.breaker import FAILURES_TO_OPEN, CircuitOpen
from evalsvc.judges.ledger.limits import Reservation
from evaluators.base import TransientError
from tests.judges.asking import Judge
from tests.judges.conftest import facts
from tests.judges.reservations import acquired

DOWN = CallFailed("connection", "The endpoint is in trouble (HTTP 500).", status=500)


def shut(connection: Any, model: str = "m") -> str | None:
    try:
        acquired(connection, model, is_watched=True)
    except CircuitOpen as exc:
        return exc.code
    return None


def note(connection: Any, failed: CallFailed | None) -> None:
    """Tell how a call ended that was under way before anything happened."""
    reservation = Reservation(connection, "m", 0, 0.0, "", limits._keys(connection, "m"), is_watched=True)
    run(limits.release_call(reservation, used_tokens=0, used_cost=None, failed=failed, succeeded=failed is None))


def fail(connection: Any, n: int, failed: CallFailed = DOWN) -> None:
    for _ in range(n):
        note(connection, failed)


def test_it_opens_after_several_failures() -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN - 1)
    assert shut(connection) is None
    fail(connection, 1)

    assert shut(connection) == "connection"


def test_a_success_in_between_closes_it() -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN - 1)
    note(connection, None)
    fail(connection, FAILURES_TO_OPEN - 1)

    assert shut(connection) is None


@pytest.mark.parametrize("code", ["refused", "bad_output"])
def test_a_refusal_says_that_the_endpoint_is_there(code: str) -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN - 1)
    fail(connection, 1, CallFailed(code, "No."))
    fail(connection, 1)

    assert shut(connection) is None


@pytest.mark.parametrize(
    ("failed", "code"),
    [
        (CallFailed("budget_exhausted", "Spent.", status=429), "budget_exhausted"),
        (CallFailed("not_configured", "No such key.", status=401), "not_configured"),
        (CallFailed("not_configured", "No such key.", status=400, kind=ErrorKind.KEY), "not_configured"),
    ],
)
def test_it_opens_at_once_on_what_time_does_not_mend(failed: CallFailed, code: str) -> None:
    connection = facts()
    fail(connection, 1, failed)

    assert shut(connection) == code


def test_timeouts_open_it_as_connection() -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN, CallFailed("timeout", "Too late."))

    assert shut(connection) == "connection"


def test_after_the_pause_one_call_is_let_through(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0)
    connection = facts()
    fail(connection, FAILURES_TO_OPEN)

    assert [shut(connection) for _ in range(3)] == [None, "connection", "connection"]
    note(connection, None)
    assert shut(connection) is None


def test_calls_under_way_when_it_opens_do_not_make_its_pause_longer() -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN + 50)

    with pytest.raises(CircuitOpen) as caught:
        acquired(connection, is_watched=True)
    assert 0 < (caught.value.retry_after_seconds or 0) <= breaker.FIRST_PAUSE_SECONDS


def test_a_failed_probe_makes_it_longer_and_one_that_reveals_nothing_lets_another_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connection = facts()
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 0)
    fail(connection, FAILURES_TO_OPEN)
    probe = acquired(connection, is_watched=True)
    assert probe.is_probe and shut(connection) == "connection"
    run(limits.release_call(probe, used_tokens=0, used_cost=None, succeeded=False))

    probe = acquired(connection, is_watched=True)
    assert probe.is_probe
    monkeypatch.setattr(breaker, "FIRST_PAUSE_SECONDS", 5)
    run(limits.release_call(probe, used_tokens=0, used_cost=None, failed=DOWN, succeeded=False))
    with pytest.raises(CircuitOpen) as caught:
        acquired(connection, is_watched=True)
    assert 5 < (caught.value.retry_after_seconds or 0) <= 10


def test_other_models_epochs_and_accounts_are_not_concerned() -> None:
    connection = facts()
    fail(connection, FAILURES_TO_OPEN)
    changed = facts(account_id=connection.account_id, id=connection.id, epoch=2)
    foreign = facts(id=connection.id)

    assert shut(connection, "other") is None
    assert shut(changed) is None
    assert shut(foreign) is None


def test_an_open_breaker_calls_nobody(judge: Judge) -> None:
    codes = [judge.failing("stub-judge-pass:500").code for _ in range(4)]

    assert codes == ["connection"] * 4
    assert judge.n_calls() <= FAILURES_TO_OPEN + 2
    before = judge.n_calls()
    failed = judge.failing("stub-judge-pass:500")
    assert isinstance(failed, TransientError) and "left alone" in failed.detail
    assert judge.n_calls() == before


def test_a_spent_quota_calls_nobody_again(judge: Judge) -> None:
    assert [judge.failing("stub-judge-pass:quota").code for _ in range(3)] == ["budget_exhausted"] * 3
    assert judge.n_calls() == 1


def test_two_accounts_share_no_breaker(stub: RunningStub) -> None:
    first, second = Judge(stub), Judge(stub)
    for each in (first, second):
        assert each.failing("stub-judge-pass:quota").code == "budget_exhausted"

    assert (first.n_calls(), second.n_calls()) == (1, 1)


def test_a_new_key_closes_it(judge: Judge) -> None:
    judge.failing("stub-judge-pass:401")
    judge.caller.patch(f"/v1/connections/{judge.connection['id']}", {"key": judge.key})
    judge.failing("stub-judge-pass:401")

    assert judge.n_calls() == 2
