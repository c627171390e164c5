"""A drop in live scores becomes one alarm with its evidence, and recovery resolves it."""

from __future__ import annotations

import pytest

from tests.conftest import Caller
from tests.factories import ok
from tests.monitors.shapes import ALARMS, MONITORS, advance, alarms, monitor, new_alarm, new_monitor, send, verdicts

BAD = {"app": "checkout", "tags": {"model": "small"}}
GOOD = {"app": "search", "tags": {"model": "large"}}


def test_a_drop_becomes_one_alarm(alice: Caller) -> None:
    send(alice, verdicts(100, 10), **GOOD)
    send(alice, verdicts(100, 10), **BAD)
    made = new_monitor(alice)
    assert made["baseline"]["mean"] == pytest.approx(0.9)
    assert made["baseline"]["lower"] < 0.9 < made["baseline"]["upper"]

    send(alice, verdicts(60, 10), **GOOD)
    advance()
    assert alarms(alice) == []

    send(alice, verdicts(80, 2), **BAD)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["state"] == "open"
    assert alarm["monitor_id"] == made["id"]
    assert alarm["before"] == pytest.approx(0.9)
    assert alarm["after"] == pytest.approx(0.5, abs=0.12)
    assert 5 <= alarm["n_units"] <= 60
    assert alarm["lower"]["created_at"] <= alarm["at"]["created_at"] <= alarm["upper"]["created_at"]
    assert {(part["by"], part["value"]) for part in alarm["slices"]} == {("app", "checkout"), ("tags.model", "small")}
    assert len(alarm["examples"]) == 5
    for id in alarm["examples"]:
        evaluation = ok(alice.get(f"/v1/evaluations/{id}"))["evaluation"]
        assert evaluation["pass"] is False
        assert evaluation["app"] == "checkout"
    assert monitor(alice, made["id"])["alarm_id"] == alarm["id"]


def test_recovery_resolves_it(alice: Caller) -> None:
    send(alice, verdicts(200, 10))
    made = new_monitor(alice)
    send(alice, verdicts(100, 2))
    advance()
    (alarm,) = alarms(alice, "state=unresolved")
    send(alice, verdicts(100, 10))
    advance()
    (resolved,) = alarms(alice)
    assert (resolved["id"], resolved["state"], resolved["reason"]) == (alarm["id"], "resolved", "recovered")
    assert resolved["resolved_by"] is None
    # What is watched again is a drop.
    send(alice, verdicts(100, 2))
    advance()
    again, _ = alarms(alice, f"monitor_id={made['id']}")
    assert again["state"] == "open"


def test_it_is_acknowledged_and_resolved(alice: Caller, bob: Caller, charlie: Caller) -> None:
    send(alice, verdicts(200, 10))
    new_monitor(alice)
    send(alice, verdicts(60, 2))
    advance()
    (alarm,) = alarms(bob)
    path = f"{ALARMS}/{alarm['id']}"
    for verb in ("acknowledge", "resolve"):
        assert bob.post(f"{path}/{verb}").status_code == 403
        assert charlie.post(f"{path}/{verb}").status_code == 404
    assert charlie.get(path).status_code == 404
    assert alarms(charlie) == []

    acknowledged = ok(alice.post(f"{path}/acknowledge"))["alarm"]
    assert acknowledged["state"] == "acknowledged"
    assert acknowledged["acknowledged_by"]
    assert ok(alice.post(f"{path}/acknowledge"))["alarm"] == acknowledged
    assert [row["id"] for row in alarms(alice, "state=unresolved")] == [alarm["id"]]

    resolved = ok(alice.post(f"{path}/resolve"))["alarm"]
    assert (resolved["state"], resolved["reason"]) == ("resolved", "person")
    assert resolved["resolved_by"] == acknowledged["acknowledged_by"]
    assert ok(alice.post(f"{path}/resolve"))["alarm"] == resolved
    assert alice.post(f"{path}/acknowledge").status_code == 422
    # The scores are as bad as before: the monitor starts again and detects it again.
    send(alice, verdicts(60, 2))
    advance()
    assert [row["state"] for row in alarms(alice)] == ["open", "resolved"]


def test_a_resolve_ends_no_newer_alarm(alice: Caller) -> None:
    """A repeat for an alarm that is over answers as before; the alarm that the monitor has now stays open."""
    first = new_alarm(alice)
    resolved = ok(alice.post(f"{ALARMS}/{first['id']}/resolve"))["alarm"]
    send(alice, verdicts(60, 2))
    advance()
    newer = alarms(alice)[0]
    before = monitor(alice, first["monitor_id"])

    assert ok(alice.post(f"{ALARMS}/{first['id']}/resolve"))["alarm"] == resolved

    assert alarms(alice) == [newer, resolved]
    assert newer["state"] == "open"
    assert monitor(alice, first["monitor_id"]) == before


def test_an_alarm_outlasts_a_pause(alice: Caller) -> None:
    """Scores as bad as before do not end it; the recovery is measured on the scores after the pause."""
    alarm = new_alarm(alice)
    path = f"{MONITORS}/{alarm['monitor_id']}"
    ok(alice.patch(path, {"state": "paused"}))
    send(alice, verdicts(200, None))
    ok(alice.patch(path, {"state": "active"}))

    send(alice, verdicts(200, 2))
    advance()
    assert [(row["id"], row["state"]) for row in alarms(alice)] == [(alarm["id"], "open")]

    send(alice, verdicts(100, 10))
    advance()
    assert [(row["id"], row["reason"]) for row in alarms(alice)] == [(alarm["id"], "recovered")]


def test_a_person_resolves_the_alarm_of_a_paused_monitor(alice: Caller) -> None:
    alarm = new_alarm(alice)
    path = f"{MONITORS}/{alarm['monitor_id']}"
    ok(alice.patch(path, {"state": "paused"}))
    assert ok(alice.post(f"{ALARMS}/{alarm['id']}/resolve"))["alarm"]["reason"] == "person"
    ok(alice.patch(path, {"state": "active"}))
    send(alice, verdicts(60, 2))
    advance()
    assert [row["state"] for row in alarms(alice)] == ["open", "resolved"]
