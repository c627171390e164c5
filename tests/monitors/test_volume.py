"""Monitors of how many evaluations arrive in a window."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from evalsvc.accounts.services import change_retention, switch_account
from evalsvc.evaluations.models import Evaluation, EvaluationRequest, Pruned
from evalsvc.events.models import OutboxEvent
from evalsvc.monitors import volume
from evalsvc.monitors.answers import describe_period
from evalsvc.monitors.volume import COUNTS
from evalsvc.rules import horizon
from evalsvc.tenancy.scope import EPOCH, SYSTEM, id_at
from tests import leftovers
from tests.conftest import Caller
from tests.events.shapes import new_endpoint
from tests.factories import ok
from tests.monitors.shapes import (
    BODY,
    MONITORS,
    advance,
    alarms,
    arrive,
    begin_at,
    describe,
    each,
    fail,
    get,
    monitor,
    new_monitor,
    rewind,
    send,
)

VOLUME = {"estimand": "volume", "limit": 10, "period_minutes": 60}
PENDING = {"status": "pending", "score": None, "passed": None, "in_history": False, "captured": None}
FAILED = {"status": "error", "score": None, "passed": None, "in_history": False, "captured": True}


@pytest.fixture(autouse=True)
def no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read evaluations as soon as their transactions are over."""
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)


@pytest.fixture
def noon() -> datetime:
    """Return a noon or midnight at least 30 hours ago: windows of up to 12 hours begin then, and are over."""
    half_day = timedelta(hours=12)
    return EPOCH + (datetime.now(UTC) - timedelta(hours=30) - EPOCH) // half_day * half_day


def settle() -> None:
    """Let monitors read; what is complete is known a round later."""
    for _ in range(3):
        advance()


def test_too_few_evaluations_are_an_alarm_until_enough_arrive(
    alice: Caller, charlie: Caller, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    arrive(alice, each(noon, 4, 30), app="shop")
    arrive(alice, each(noon + timedelta(minutes=130), 20, 2), app="shop")
    arrive(alice, each(noon + timedelta(minutes=300), 4, 30), app="shop")
    arrive(alice, each(noon, 1, 90), app="other")
    made = new_monitor(alice, **VOLUME, scope={"app": "shop"})
    assert (made["direction"], made["unit"], made["mean_run"]) == ("drop", "score", None)
    assert (made["limit"], made["period_minutes"], made["baseline"]) == (10.0, 60, None)
    new_endpoint(alice, event_types=["alarm.opened", "alarm.resolved"])
    row = begin_at(made["id"], noon)
    settle()

    last, first = alarms(alice)
    assert first["summary"] == describe_window("Fewer than 10 captured evaluations in 1 hour: 8", noon, 90, 150)
    assert (first["before"], first["after"], first["n_units"]) == (10.0, 8.0, 8)
    assert first["lower"] == {"score_id": None, "created_at": write(noon + timedelta(minutes=90))}
    assert (first["score_id"], first["slices"], len(first["examples"])) == (None, [], 5)
    assert (first["state"], first["reason"]) == ("resolved", "recovered")
    # Both were seen in one round.
    assert first["opened_at"] == first["resolved_at"] == last["opened_at"]
    # After the last evaluation nothing arrives any more.
    assert last["summary"] == describe_window("Fewer than 10 captured evaluations in 1 hour: 7", noon, 390, 450)
    assert (last["state"], last["id"]) == ("open", monitor(alice, made["id"])["alarm_id"])
    assert monitor(alice, made["id"])["n_scores"] == 62
    assert alarms(charlie) == []
    assert kinds_of_events(alice) == ["alarm.opened", "alarm.opened", "alarm.resolved"]

    seen = describe(row.pk)[0]
    for most in (1, 7):
        monkeypatch.setattr(volume, "MOST_QUARTERS", most)
        rewind(row)
        for _ in range(200 // most):
            advance()
        assert describe(row.pk)[0] == seen


def write(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def describe_window(begin: str, noon: datetime, start: int, stop: int) -> str:
    ends = [f"{noon + timedelta(minutes=minutes):%Y-%m-%d %H:%M:%S} UTC" for minutes in (start, stop)]
    return f"{begin} between {ends[0]} and {ends[1]}."


def kinds_of_events(caller: Caller) -> list[str]:
    rows = OutboxEvent.objects.using(SYSTEM).filter(account_id=caller.account.pk, type__startswith="alarm.")
    return sorted(rows.values_list("type", flat=True))


def test_nothing_at_all_is_an_alarm(alice: Caller, noon: datetime) -> None:
    arrive(alice, [noon + timedelta(minutes=10), noon + timedelta(hours=17)])
    made = new_monitor(alice, estimand="volume", limit=1, period_minutes=360)
    begin_at(made["id"], noon)
    settle()
    last, first = alarms(alice)
    assert first["summary"] == describe_window("No captured evaluation in 6 hours", noon, 90, 450)
    assert (first["reason"], first["examples"]) == ("recovered", [str(ids_of(alice)[0])])
    assert last["summary"] == describe_window("No captured evaluation in 6 hours", noon, 1080, 1440)


def test_too_many_are_an_alarm_of_a_rise(alice: Caller, noon: datetime) -> None:
    arrive(
        alice, [*each(noon, 5, 24), *each(noon + timedelta(hours=2), 2, 30), *each(noon + timedelta(hours=3), 5, 24)]
    )
    made = new_monitor(alice, **VOLUME | {"limit": 20}, direction="rise")
    begin_at(made["id"], noon)
    settle()
    (alarm,) = alarms(alice)
    assert alarm["summary"] == describe_window("More than 20 captured evaluations in 1 hour: 21", noon, 90, 150)
    assert alarm["reason"] == "recovered"


def test_failed_evaluations_arrive_too_and_pending_ones_are_waited_for(alice: Caller, noon: datetime) -> None:
    leftovers.spoil(alice.account.pk)
    fail(alice, 12)
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=alice.account.pk)
    for i, id in enumerate(ids_of(alice)):
        rows.filter(id=id).update(id=id_at(noon + timedelta(minutes=5 * i)))
    arrive(alice, [noon + timedelta(minutes=70)])
    pending = rows.filter(id=ids_of(alice)[-1])
    pending.update(status="pending", score=None, passed=None, in_history=False, captured=None)
    made = new_monitor(alice, **VOLUME)
    begin_at(made["id"], noon)
    settle()
    assert (monitor(alice, made["id"])["n_scores"], alarms(alice)) == (12, [])
    pending.update(status="error", error_code="timeout", captured=True)
    settle()
    assert monitor(alice, made["id"])["n_scores"] == 13
    assert alarms(alice)[0]["summary"] == describe_window(
        "Fewer than 10 captured evaluations in 1 hour: 7", noon, 30, 90
    )


@pytest.mark.parametrize("place", ["another app", "an experiment", "a call that keeps nothing"])
def test_what_is_pending_elsewhere_is_not_waited_for(alice: Caller, noon: datetime, place: str) -> None:
    arrive(alice, [*each(noon, 4, 30), noon + timedelta(minutes=119)], app="shop")
    (slow,) = list_rows(alice).filter(id__gte=id_at(noon + timedelta(minutes=119)))
    elsewhere: dict[str, Any] = {"another app": {"app": "other"}, "an experiment": {"experiment_id": 77}}
    list_rows(alice).filter(id=slow.pk).update(**PENDING, **elsewhere.get(place, {}))
    if place == "a call that keeps nothing":
        EvaluationRequest.objects.using(SYSTEM).filter(id=slow.request_id).update(capture="none")
    made = new_monitor(alice, **VOLUME, scope={"app": "shop"})
    begin_at(made["id"], noon)
    settle()
    (alarm,) = alarms(alice)
    assert alarm["summary"].startswith("Fewer than 10 captured evaluations in 1 hour: 7 ")


def test_what_has_failed_is_counted_once_it_is_retried(alice: Caller, noon: datetime) -> None:
    """A retry lets a failed evaluation pend again, while another one is waited for."""
    arrive(alice, each(noon, 1.25, 120))
    ids = ids_of(alice)
    retried, slow = (list_rows(alice).filter(id__in=some) for some in (ids[36:46], ids[47:48]))
    retried.update(**FAILED)
    slow.update(**PENDING)
    made = new_monitor(alice, **VOLUME | {"limit": 40})
    begin_at(made["id"], noon)
    settle()
    retried.update(**PENDING)
    slow.update(**FAILED)
    settle()
    assert monitor(alice, made["id"])["n_scores"] == 36
    retried.update(**FAILED)
    settle()
    assert monitor(alice, made["id"])["n_scores"] == 120
    # Each hour of the traffic has 48.
    (alarm,) = alarms(alice)
    assert alarm["summary"] == describe_window("Fewer than 40 captured evaluations in 1 hour: 36", noon, 105, 165)


def test_what_has_expired_before_it_was_counted_is_no_alarm(alice: Caller, noon: datetime) -> None:
    arrive(alice, each(noon, 4, 60))
    expired = id_at(noon + timedelta(minutes=130))
    list_rows(alice).filter(id__lt=expired).delete()
    Pruned.objects.using(SYSTEM).update_or_create(account_id=alice.account.pk, defaults={"evaluations_until": expired})
    made = new_monitor(alice, **VOLUME)
    begin_at(made["id"], noon)
    settle()
    # It counts from the next quarter on, and nothing arrives after four hours.
    assert monitor(alice, made["id"])["n_scores"] == 26
    (alarm,) = alarms(alice)
    assert alarm["summary"] == describe_window("Fewer than 10 captured evaluations in 1 hour: 7", noon, 210, 270)


def test_what_did_not_arrive_while_the_account_was_off_is_no_alarm(alice: Caller, noon: datetime) -> None:
    arrive(alice, each(noon, 4, 30))
    begin_at(new_monitor(alice, **VOLUME)["id"], noon)
    assert switch_account(account=alice.account, is_on=False, reason="unpaid", actor="tests")
    settle()
    assert switch_account(account=alice.account, is_on=True, reason="", actor="tests")
    settle()
    assert alarms(alice) == []


def test_a_quarter_of_a_window_must_be_over_before_its_evaluations_expire(alice: Caller) -> None:
    change_retention(account=alice.account, retention_days=1, retention_history_days=0, actor="tests")
    response = alice.post(MONITORS, BODY | VOLUME | {"period_minutes": 4 * 1440})
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["pointer"] == "/period_minutes"
    assert error["detail"] == "Less than 5760: a quarter of it must be over before evaluations expire, after 1 day."
    new_monitor(alice, **VOLUME | {"period_minutes": 4 * 1440 - 1})


def list_rows(caller: Caller) -> Any:
    return Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk)


def ids_of(caller: Caller) -> list[int]:
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk)
    return list(rows.order_by("id").values_list("id", flat=True))


def test_a_window_is_counted_when_it_is_over(alice: Caller) -> None:
    made = new_monitor(alice, **VOLUME)
    began = get(made["id"])
    send(alice, [True])
    settle()
    row = get(made["id"])
    assert row.progress[COUNTS] == began.progress[COUNTS]
    assert row.progress[COUNTS]["next"] * timedelta(minutes=15) + EPOCH > row.baseline_at
    assert alarms(alice) == []


def test_a_pause_is_not_counted_and_a_resolved_alarm_may_come_again(alice: Caller, noon: datetime) -> None:
    arrive(alice, [noon])
    path = f"{MONITORS}/{new_monitor(alice, **VOLUME)['id']}"
    id = path.rsplit("/", maxsplit=1)[1]
    begin_at(id, noon)
    ok(alice.patch(path, {"state": "paused"}))
    settle()
    assert alarms(alice) == []
    ok(alice.patch(path, {"state": "active"}))
    settle()
    assert alarms(alice) == []
    begin_at(id, noon)
    settle()
    (alarm,) = alarms(alice)
    ok(alice.post(f"/v1/alarms/{alarm['id']}/resolve", {}))
    settle()
    assert [row["reason"] for row in alarms(alice)] == ["person"]
    refused = alice.patch(path, {"rebaseline": True})
    assert refused.status_code == 422
    assert alice.call("DELETE", path).status_code == 204


def test_what_is_refused(alice: Caller) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"limit": None}, "/limit"),
        ({"limit": 0}, "/limit"),
        ({"limit": -1}, "/limit"),
        ({"limit": 2.5}, "/limit"),
        ({"limit": 1e300}, "/limit"),
        ({"period_minutes": None}, "/period_minutes"),
        ({"period_minutes": 4}, "/period_minutes"),
        ({"period_minutes": 10_081}, "/period_minutes"),
        ({"period_minutes": 7.5}, "/period_minutes"),
        ({"mean_run": 2000}, "/mean_run"),
        ({"cluster_by": "session"}, "/cluster_by"),
        ({"unit": "sample"}, "/unit"),
        ({"above": 2}, "/above"),
        ({"evaluator": "external:own"}, "/estimand"),
        ({"estimand": "pass_rate", "limit": 0.9}, "/period_minutes"),
    ]
    for fields, pointer in cases:
        response = alice.post(MONITORS, BODY | VOLUME | fields)
        assert response.status_code == 422, (fields, response.content)
        assert pointer in {error["pointer"] for error in response.json()["errors"]}, (fields, response.content)
    assert ok(alice.get(MONITORS))["monitors"] == []


@pytest.mark.parametrize(
    ("minutes", "words"), [(5, "5 minutes"), (60, "1 hour"), (90, "90 minutes"), (360, "6 hours"), (2880, "2 days")]
)
def test_a_period_in_words(minutes: int, words: str) -> None:
    assert describe_period(minutes) == words
