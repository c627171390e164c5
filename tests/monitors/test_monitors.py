"""/v1/monitors: what a monitor says of its baseline, and what is refused."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models import F
from django.utils import timezone

from evalsvc.evaluations.models import Evaluation
from evalsvc.monitors.models import Monitor
from evalsvc.tenancy.scope import SYSTEM
from tests import leftovers
from tests.conftest import Caller
from tests.evaluations.histories import insert
from tests.factories import make_profile, ok
from tests.monitors.shapes import BODY, MONITORS, advance, alarms, fail, monitor, new_monitor, send, verdicts


def refusals(response: Any) -> dict[str, str]:
    assert response.status_code == 422, response.content
    return {error["pointer"]: error["detail"] for error in response.json()["errors"]}


def test_it_says_its_baseline(alice: Caller) -> None:
    send(alice, verdicts(200, 10))
    shown = ok(alice.post(f"{MONITORS}/preview", BODY))["monitor"]
    assert alice.get(MONITORS).json()["monitors"] == []
    made = new_monitor(alice)
    assert {name: made[name] for name in shown} == shown
    assert made["evaluator_id"] == "exact-match-2026-11-28"
    assert (made["estimand"], made["direction"], made["mean_run"]) == ("pass_rate", "drop", 2000)
    assert (made["unit"], made["state"], made["scope"], made["alarm_id"]) == ("score", "active", "account", None)
    baseline = made["baseline"]
    assert (baseline["n_scores"], baseline["n_units"], baseline["unit"]) == (200, 200, "score")
    assert baseline["mean"] == pytest.approx(0.9)
    # Wilson's interval of 180 of 200 is [0.851, 0.934].
    assert baseline["lower"] == pytest.approx(0.851, abs=0.01)
    assert baseline["upper"] == pytest.approx(0.934, abs=0.01)
    assert monitor(alice, made["id"]) == made


def test_repeats_are_units(alice: Caller) -> None:
    """Twenty scores of each sample, all alike: a score is no unit, a sample is."""
    for sample in range(60):
        insert(alice, [1.0 if sample % 3 else 0.0] * 20, sample_hash=sample)
    found = ok(alice.post(f"{MONITORS}/preview", BODY | {"baseline_scores": 1200}))["monitor"]
    assert found["unit"] == "sample"
    assert found["baseline"]["n_units"] == 60
    assert found["baseline"]["design_effect"] == pytest.approx(20.0, rel=0.1)
    asked = ok(alice.post(f"{MONITORS}/preview", BODY | {"unit": "score", "mean_run": 500}))
    assert asked["monitor"]["unit"] == "score"


def test_too_few_scores_say_how_many_are_missing(alice: Caller) -> None:
    send(alice, verdicts(30, 10))
    found = refusals(alice.post(MONITORS, BODY))
    assert found == {
        "/baseline_scores": "A baseline needs at least 50 independent scores; the history has 30 scores."
        " 20 more are needed."
    }
    assert alice.get(MONITORS).json()["monitors"] == []


def test_what_is_refused(alice: Caller) -> None:
    cases: list[tuple[dict[str, Any], str]] = [
        ({"evaluator": "nothing-like-it"}, "/evaluator"),
        ({"criteria": "no such profile"}, "/criteria"),
        ({"scope": {"app": ""}}, "/scope/app"),
        ({"scope": {"experiment": "12"}}, "/scope/experiment"),
        ({"scope": {"project": "no such project"}}, "/scope/project"),
        ({"unit": "session"}, "/cluster_by"),
        ({"cluster_by": ""}, "/cluster_by"),
        ({"mean_run": 99}, "/mean_run"),
        ({"baseline_scores": 10_001}, "/baseline_scores"),
        ({"direction": "sideways"}, "/direction"),
        ({"name": ""}, "/name"),
        ({"name": "n" * 101}, "/name"),
        ({"name": "a\0b"}, "/name"),
        ({"evaluator": "e" * 101}, "/evaluator"),
        ({"evaluator": f"external:{'e' * 92}", "limit": 0.5, "estimand": "pass_rate"}, "/evaluator"),
        ({"evaluator": "external:own", "criteria": "c" * 121, "limit": 0.5, "estimand": "pass_rate"}, "/criteria"),
        ({"evaluator": "external:a\0b", "limit": 0.5, "estimand": "pass_rate"}, "/evaluator"),
        ({"cluster_by": "t" * 256, "limit": 0.5}, "/cluster_by"),
        ({"scope": {"app": "a" * 256}, "limit": 0.5}, "/scope/app"),
    ]
    for fields, pointer in cases:
        assert pointer in refusals(alice.post(MONITORS, BODY | fields)), fields
    profile = make_profile(alice, "toxicity")
    found = alice.post(MONITORS, {**BODY, "evaluator": "toxicity", "criteria": profile["name"]})
    assert found.status_code == 422


def test_strangers_and_readers(alice: Caller, bob: Caller, charlie: Caller) -> None:
    send(alice, verdicts(100, 10))
    made = new_monitor(alice)
    path = f"{MONITORS}/{made['id']}"
    assert monitor(bob, made["id"]) == made
    assert bob.post(MONITORS, BODY).status_code == 403
    assert bob.patch(path, {"state": "paused"}).status_code == 403
    assert charlie.get(MONITORS).json()["monitors"] == []
    for response in (charlie.get(path), charlie.patch(path, {"name": "x"}), charlie.call("DELETE", path)):
        assert response.status_code == 404
    assert alice.call("DELETE", path).status_code == 204
    assert alice.get(path).status_code == 404


def test_pages_and_filters(alice: Caller) -> None:
    send(alice, verdicts(100, 10))
    ids = [new_monitor(alice, name=f"monitor {i}")["id"] for i in range(3)]
    ok(alice.patch(f"{MONITORS}/{ids[0]}", {"state": "paused", "name": "renamed"}))
    first = ok(alice.get(f"{MONITORS}?limit=2"))
    rest = ok(alice.get(f"{MONITORS}?limit=2&cursor={first['next_cursor']}"))
    assert [row["id"] for row in first["monitors"] + rest["monitors"]] == ids[::-1]
    assert rest["next_cursor"] is None
    (paused,) = ok(alice.get(f"{MONITORS}?state=paused"))["monitors"]
    assert (paused["id"], paused["name"]) == (ids[0], "renamed")
    assert ok(alice.get(f"{MONITORS}?evaluator=other"))["monitors"] == []


def test_a_pause_is_not_read(alice: Caller) -> None:
    send(alice, verdicts(200, 10))
    path = f"{MONITORS}/{new_monitor(alice)['id']}"
    ok(alice.patch(path, {"state": "paused"}))
    send(alice, verdicts(100, 1))
    assert advance() == 0
    ok(alice.patch(path, {"state": "active"}))
    assert advance() == 0
    send(alice, verdicts(50, 10))
    assert advance() == 50
    assert alarms(alice) == []


def test_a_new_baseline_resolves_the_alarm(alice: Caller) -> None:
    send(alice, verdicts(200, 10))
    made = new_monitor(alice)
    send(alice, verdicts(100, 2))
    advance()
    assert [row["state"] for row in alarms(alice)] == ["open"]
    changed = ok(alice.patch(f"{MONITORS}/{made['id']}", {"rebaseline": True, "baseline_scores": 100}))["monitor"]
    assert changed["baseline"]["mean"] == pytest.approx(0.5)
    assert (changed["n_scores"], changed["alarm_id"]) == (0, None)
    assert [row["reason"] for row in alarms(alice)] == ["rebaselined"]
    send(alice, verdicts(60, 2))
    advance()
    assert [row["state"] for row in alarms(alice)] == ["resolved"]


def test_it_watches_its_scope_alone(alice: Caller) -> None:
    send(alice, verdicts(100, 10), app="shop", tags={"model": "a"})
    send(alice, verdicts(100, 2), app="other")
    by_app = new_monitor(alice, scope={"app": "shop"})
    by_tag = new_monitor(alice, scope={"tags": {"model": "a"}})
    for made in (by_app, by_tag):
        assert made["baseline"]["n_scores"] == 100
        assert made["baseline"]["mean"] == pytest.approx(0.9)
    send(alice, verdicts(50, 1), app="other")
    assert advance() == 0
    send(alice, verdicts(30, 1), app="shop")
    assert advance() == 30
    assert {row["monitor_id"] for row in alarms(alice)} == {by_app["id"]}
    send(alice, verdicts(30, 1), app="shop", tags={"model": "a"})
    advance()
    assert {row["monitor_id"] for row in alarms(alice)} == {by_app["id"], by_tag["id"]}


def test_a_rise_of_a_mean_score(alice: Caller) -> None:
    insert(alice, [0.2, 0.3, 0.25, 0.35] * 50)
    made = new_monitor(alice, estimand="mean_score", direction="rise")
    assert made["baseline"]["mean"] == pytest.approx(0.275)
    insert(alice, [0.8, 0.7] * 20)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == pytest.approx(0.75, abs=0.01)
    assert "rose from 0.275 to 0.75" in alarm["summary"]


def test_undecided_scores_are_counted(alice: Caller) -> None:
    """They are left out of the pass rate; a monitor that reads nothing else says so."""
    insert(alice, [1.0, 1.0, 0.0, 1.0] * 25)
    made = new_monitor(alice)
    assert (made["n_undecided"], made["warnings"], made["silence"]) == (0, [], None)
    for passed in (None, True, None):
        insert(alice, [0.5] * 19, passed=passed)
    advance()
    shown = monitor(alice, made["id"])
    assert (shown["n_scores"], shown["n_units"], shown["n_undecided"]) == (57, 19, 38)
    assert shown["warnings"] == []

    insert(alice, [0.5], passed=None)
    advance()
    shown = monitor(alice, made["id"])
    assert shown["warnings"] == ["no_verdicts"]
    assert shown["silence"] == "Nothing to compare: since the last score with a value, 20 undecided."
    ok(alice.patch(f"{MONITORS}/{made['id']}", {"state": "paused"}))
    assert monitor(alice, made["id"])["warnings"] == []
    ok(alice.patch(f"{MONITORS}/{made['id']}", {"state": "active"}))

    insert(alice, [1.0])
    advance()
    assert monitor(alice, made["id"])["warnings"] == []
    changed = ok(alice.patch(f"{MONITORS}/{made['id']}", {"rebaseline": True}))["monitor"]
    assert changed["n_undecided"] == 0


def test_failures_leave_nothing_to_compare(alice: Caller) -> None:
    send(alice, verdicts(100, 10), app="shop")
    made = new_monitor(alice, scope={"app": "shop"})
    elsewhere = new_monitor(alice)
    send(alice, verdicts(10, None), app="shop")
    advance()
    fail(alice, 15, app="shop")
    fail(alice, 30, app="shop", capture="fails-only")
    assert monitor(alice, made["id"])["warnings"] == []
    fail(alice, 15, app="other")
    assert monitor(alice, made["id"])["warnings"] == []
    assert monitor(alice, elsewhere["id"])["silence"].endswith(", 20 or more failed in the last day.")
    insert(alice, [0.5] * 6, passed=None, app="shop")
    advance()
    shown = monitor(alice, made["id"])
    assert shown["silence"].endswith(" 6 undecided and 15 failed in the last day.")
    assert [row["warnings"] for row in ok(alice.get(MONITORS))["monitors"]] == [["no_verdicts"]] * 2


def test_a_limit_needs_no_baseline(alice: Caller) -> None:
    made = new_monitor(alice, limit=0.8)
    assert (made["limit"], made["baseline"], made["unit"]) == (0.8, None, "sample")
    insert(alice, [1.0, 1.0, 1.0, 1.0, 0.0] * 20)
    watched = new_monitor(alice, limit=0.8, unit="score")
    insert(alice, [1.0, 1.0, 1.0, 1.0, 0.0] * 100)
    advance()
    assert alarms(alice) == []
    insert(alice, [1.0, 0.0] * 100)
    advance()
    (alarm,) = alarms(alice, f"monitor_id={watched['id']}")
    assert (alarm["before"], alarm["after"]) == (0.8, pytest.approx(0.5, abs=0.05))
    assert alarm["summary"].startswith("The pass rate is below its limit of 80.0 %: ")
    refused = alice.patch(f"{MONITORS}/{watched['id']}", {"rebaseline": True})
    assert refusals(refused) == {"/rebaseline": "The monitor has a fixed limit, and no baseline."}
    assert "It changed between " in alarm["summary"]
    insert(alice, [1.0] * 200)
    advance()
    assert [row["reason"] for row in alarms(alice, f"monitor_id={watched['id']}")] == ["recovered"]


@pytest.mark.parametrize(
    "scores",
    [[1.0, 0.0] * 50, [1.0] * 20 + [1.0, 1.0, 1.0, 1.0, 0.0] * 40],
    ids=["never kept", "kept at first"],
)
def test_an_alarm_of_a_limit_says_what_an_interval_from_the_start_shows(alice: Caller, scores: list[float]) -> None:
    """The interval of the change point reaches the first score whether the limit was kept before or not."""
    watched = new_monitor(alice, limit=0.9, unit="score")
    began = timezone.now()
    for i, score in enumerate(scores):
        insert(alice, [score], created_at=began + timedelta(seconds=i))
    advance()
    alarm = alarms(alice, f"monitor_id={watched['id']}")[-1]
    start, end = (f"{alarm[side]['created_at'][:19].replace('T', ' ')} UTC" for side in ("lower", "upper"))
    assert start == f"{began:%Y-%m-%d %H:%M:%S} UTC"
    assert alarm["summary"].startswith("The pass rate is below its limit of 90.0 %: ")
    when = f"It has been below it since {end} at the latest, maybe since {start} or before (95 % confidence interval)."
    assert alarm["summary"].endswith(f". {when}")


def test_the_unit_of_a_limit_is_the_score_where_scores_are_independent(alice: Caller) -> None:
    for sample in range(60):
        insert(alice, [float(sample % 5 > 0)], sample_hash=sample)
    assert new_monitor(alice, limit=0.5)["unit"] == "score"
    for sample in range(60):
        insert(alice, [float(sample % 3 > 0)] * 10, sample_hash=sample)
    assert new_monitor(alice, limit=0.5)["unit"] == "sample"


def test_a_limit_lies_within_the_range(alice: Caller) -> None:
    for limit in (0, 1, -0.5, 80):
        detail = "The limit must lie between 0 and 1, and be neither."
        assert refusals(alice.post(MONITORS, BODY | {"limit": limit})) == {"/limit": detail}, limit
    assert "/limit" in refusals(alice.post(MONITORS, BODY | {"limit": "high"}))


def test_the_longest_names_are_taken(alice: Caller) -> None:
    names = {"name": "n" * 100, "evaluator": f"external:{'e' * 91}", "criteria": "c" * 120, "cluster_by": "t" * 255}
    made = new_monitor(alice, **names, limit=0.5, estimand="pass_rate")
    assert (made["name"], made["evaluator_id"], made["profile_name"]) == tuple(list(names.values())[:3])
    path = f"{MONITORS}/{made['id']}"
    assert "/name" in refusals(alice.patch(path, {"name": "n" * 101}))


def test_failures_of_long_ago_are_no_warning(alice: Caller) -> None:
    send(alice, verdicts(100, 10))
    made = new_monitor(alice)
    fail(alice, 20)
    assert monitor(alice, made["id"])["warnings"] == ["no_verdicts"]
    leftovers.spoil(alice.account.pk)
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=alice.account.pk, status="validation_error")
    assert rows.update(created_at=F("created_at") - timedelta(hours=25)) == 20
    Monitor.objects.using(SYSTEM).filter(pk=made["id"]).update(baseline_at=F("baseline_at") - timedelta(hours=30))
    assert monitor(alice, made["id"])["warnings"] == []


def test_a_monitor_that_is_resumed_forgets_its_silence(alice: Caller) -> None:
    send(alice, verdicts(100, 10))
    made = new_monitor(alice)
    path = f"{MONITORS}/{made['id']}"
    insert(alice, [0.5] * 20, passed=None)
    advance()
    fail(alice, 20)
    assert monitor(alice, made["id"])["warnings"] == ["no_verdicts"]
    for state in ("paused", "active"):
        changed = ok(alice.patch(path, {"state": state}))["monitor"]
        assert (changed["warnings"], changed["silence"]) == ([], None)
    fail(alice, 19)
    insert(alice, [0.5], passed=None)
    advance()
    assert monitor(alice, made["id"])["silence"].endswith(", 1 undecided and 19 failed in the last day.")
