"""What a monitor watches beside scores: undecided ones, errors, latency, tokens, and the agreement with labels."""

from __future__ import annotations

import random
import uuid
from typing import Any

import pytest

from evalsvc.digits import digits_text
from evalsvc.evaluations.models import Evaluation
from evalsvc.rules import horizon
from evalsvc.tenancy.scope import SYSTEM
from tests import leftovers
from tests.annotations.shapes import new_criteria, say
from tests.conftest import Caller
from tests.evaluations.histories import insert
from tests.factories import ok
from tests.monitors.shapes import (
    BODY,
    MONITORS,
    advance,
    alarms,
    describe,
    fail,
    get,
    monitor,
    new_monitor,
    rewind,
    send,
    verdicts,
)


@pytest.fixture(autouse=True)
def no_margin(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read evaluations as soon as their transactions are over."""
    monkeypatch.setattr(horizon, "MARGIN_SECONDS", 0)


def settle(portion: int = 2000) -> None:
    """Let monitors read; those of evaluations need a round to see what is complete."""
    for _ in range(3):
        advance(portion)


def ids_of(caller: Caller) -> list[int]:
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk, evaluator_id__startswith="exact-match")
    return list(rows.order_by("id").values_list("id", flat=True))


def send_with(caller: Caller, numbers: list[float], column: Any, **shared: Any) -> None:
    """Evaluate samples, and write a column of each evaluation from one of the numbers."""
    leftovers.spoil(caller.account.pk)
    send(caller, [True] * len(numbers), **shared)
    for id, number in zip(ids_of(caller)[-len(numbers) :], numbers, strict=True):
        Evaluation.objects.using(SYSTEM).filter(account_id=caller.account.pk, id=id).update(**column(number))


def seconds(number: float) -> dict[str, Any]:
    return {"duration_us": round(1e6 * number)}


def tokens(number: float) -> dict[str, Any]:
    return {"extra": {"judge": {"input_tokens": int(number) - 10, "output_tokens": 10}}}


def cost(number: float) -> dict[str, Any]:
    return {"extra": {"judge": {"input_tokens": 10, "output_tokens": 10, "cost": number}}}


def lognormal(n: int, scale: float, seed: int) -> list[float]:
    rng = random.Random(seed)
    return [scale * rng.lognormvariate(0.0, 0.5) for _ in range(n)]


def assert_replays(id: str) -> None:
    """Read again from the start of a monitor that was created just now, in other rounds: all is the same."""
    row = get(id)
    settle()
    seen = describe(row.pk)
    assert seen[0], "there is an alarm"
    for portion in (7, 5000):
        rewind(row)
        settle(portion)
        assert describe(row.pk) == seen


def test_a_share_of_undecided_scores(alice: Caller) -> None:
    for _ in range(5):
        insert(alice, [1.0] * 19)
        insert(alice, [0.5], passed=None)
    made = new_monitor(alice, estimand="undecided_rate")
    assert (made["direction"], made["baseline"]["mean"]) == ("rise", pytest.approx(0.05))
    row = get(made["id"])
    insert(alice, [0.5, 0.9] * 30, passed=None)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == 1.0
    assert monitor(alice, made["id"])["n_undecided"] == 60
    assert alarm["summary"].startswith("The share of undecided scores rose from 5.0 % to 100.0 % on ")
    seen = describe(row.pk)
    rewind(row)
    advance(portion=1)
    assert describe(row.pk) == seen


def test_an_error_rate(alice: Caller, charlie: Caller) -> None:
    for _ in range(4):
        send(alice, verdicts(24, 2), app="shop")
        fail(alice, 1, app="shop")
    fail(alice, 50, app="other")
    made = new_monitor(alice, estimand="error_rate", scope={"app": "shop"})
    assert (made["direction"], made["baseline"]["mean"]) == ("rise", pytest.approx(0.04))
    row = get(made["id"])
    send(alice, verdicts(60, 2), app="shop")
    settle()
    assert (get(made["id"]).n_scores, alarms(alice)) == (60, [])
    for _ in range(10):
        fail(alice, 3, app="shop")
        send(alice, [True] * 2, app="shop")
    fail(alice, 20, app="other")
    fail(alice, 20, app="shop", capture="fails-only")
    fail(charlie, 60, app="shop")
    settle()
    (alarm,) = alarms(alice)
    assert get(made["id"]).n_scores == 110
    assert alarm["after"] == pytest.approx(0.6, abs=0.15)
    assert alarm["summary"].startswith("The error rate rose from 4.0 % to ")
    example = ok(alice.get(f"/v1/evaluations/{alarm['examples'][0]}"))["evaluation"]
    assert (example["status"], example["app"]) == ("validation_error", "shop")
    assert alarms(charlie) == []
    seen = describe(row.pk)
    for portion in (7, 5000):
        rewind(row)
        settle(portion)
        assert describe(row.pk) == seen


def test_an_evaluation_that_is_pending_is_waited_for(alice: Caller) -> None:
    leftovers.spoil(alice.account.pk)
    send(alice, verdicts(100, 2))
    made = new_monitor(alice, estimand="error_rate")
    send(alice, [True] * 5)
    rows = Evaluation.objects.using(SYSTEM).filter(account_id=alice.account.pk)
    pending = rows.filter(id=ids_of(alice)[-3])
    pending.update(status="pending", score=None, passed=None, in_history=False, captured=None)
    settle()
    assert get(made["id"]).n_scores == 2
    pending.update(status="error", error_code="timeout", captured=True)
    settle()
    assert get(made["id"]).n_scores == 5
    settle()
    assert get(made["id"]).n_scores == 5


@pytest.mark.parametrize(
    ("estimand", "column", "scale"), [("latency", seconds, 1.0), ("tokens", tokens, 1000.0), ("cost", cost, 0.01)]
)
def test_a_quantile_is_watched_as_a_share(alice: Caller, estimand: str, column: Any, scale: float) -> None:
    numbers = lognormal(200, scale, seed=4)
    send_with(alice, numbers, column)
    made = new_monitor(alice, estimand=estimand)
    above = sorted(numbers)[189]
    assert made["above"] == pytest.approx(above, rel=0.01)
    assert (made["direction"], made["baseline"]["mean"]) == ("rise", pytest.approx(0.05))
    send_with(alice, lognormal(80, 2.0 * scale, seed=5), column)
    assert_replays(made["id"])
    # A recovery may be announced too early, and the change be detected again.
    found = alarms(alice)
    alarm = found[-1]
    assert 0.2 < alarm["after"] <= 1.0
    over = digits_text(made["above"], 3) + {"latency": " s", "tokens": " tokens", "cost": ""}[estimand]
    assert f" (over {over}) rose from 5.0 % to " in alarm["summary"]
    changed = ok(alice.patch(f"{MONITORS}/{made['id']}", {"rebaseline": True, "baseline_scores": 80}))["monitor"]
    assert changed["above"] > 1.3 * above
    summaries = [row["summary"] for row in alarms(alice)]
    assert summaries == [row["summary"] for row in found], "an alarm says what was watched when it was raised"


def test_a_quantile_has_a_limit(alice: Caller) -> None:
    """The 95 % quantile of the latency lies above 2 s where more than one in twenty takes longer."""
    made = new_monitor(alice, estimand="latency", above=2, limit=0.05, unit="score")
    send_with(alice, [1.0] * 60, seconds)
    settle()
    assert alarms(alice) == []
    send_with(alice, [1.0, 3.0] * 20, seconds)
    settle()
    (alarm,) = alarms(alice, f"monitor_id={made['id']}")
    assert alarm["summary"].startswith("The share of slow evaluations (over 2 s) is above its limit of 5.0 %: ")


def test_the_agreement_with_labels(alice: Caller) -> None:
    criteria = new_criteria(alice)
    send(alice, verdicts(200, 4), app="shop")
    ids = ids_of(alice)
    judge(alice, criteria, ids[:100], 20)
    made = new_monitor(alice, estimand="agreement", labels=criteria["id"])
    assert (made["direction"], made["labels"]) == ("drop", criteria["id"])
    assert (made["baseline"]["mean"], made["baseline"]["n_scores"]) == (pytest.approx(0.95), 100)
    row = get(made["id"])
    send(alice, verdicts(50, 2), app="shop")
    advance()
    assert get(made["id"]).n_scores == 0, "only labels are read"
    judge(alice, criteria, ids[100:160], 2)
    say(alice, criteria, "log", str(uuid.uuid4()), value_pass=True)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == pytest.approx(0.5, abs=0.12)
    assert alarm["summary"].startswith("The agreement with labels dropped from 95.0 % to ")
    assert get(made["id"]).n_scores == 61
    assert monitor(alice, made["id"])["n_undecided"] == 0, "one label is of something without a verdict"
    seen = describe(row.pk)
    rewind(row)
    advance(portion=1)
    assert describe(row.pk) == seen


def judge(caller: Caller, criteria: dict[str, Any], ids: list[int], every: int) -> None:
    """Label evaluations as the evaluator did, except for each `every`-th."""
    rows = dict(Evaluation.objects.using(SYSTEM).filter(id__in=ids).values_list("id", "passed"))
    for i, id in enumerate(ids):
        agrees = i % every != every - 1
        say(caller, criteria, "evaluation", str(id), value_pass=rows[id] == agrees)


def test_what_is_refused(alice: Caller, charlie: Caller) -> None:
    send(alice, verdicts(100, 2))
    foreign, grades = new_criteria(charlie)["id"], new_criteria(alice, "continuous")["id"]
    own = new_criteria(alice)["id"]
    cases: list[tuple[dict[str, Any], str]] = [
        ({"estimand": "latency", "limit": 0.05}, "/above"),
        ({"estimand": "pass_rate", "above": 2}, "/above"),
        ({"estimand": "cost", "limit": 0.05}, "/above"),
        ({"estimand": "cost", "above": -1}, "/above"),
        ({"estimand": "latency", "above": -1}, "/above"),
        ({"estimand": "agreement"}, "/labels"),
        ({"labels": own}, "/labels"),
        ({"estimand": "agreement", "labels": foreign}, "/labels"),
        ({"estimand": "agreement", "labels": grades}, "/labels"),
        ({"estimand": "agreement", "labels": "helpful"}, "/labels"),
        ({"estimand": "agreement", "labels": own, "scope": {"tags": {"model": "a"}}}, "/scope"),
        ({"estimand": "error_rate", "evaluator": "external:own"}, "/estimand"),
        ({"estimand": "tokens"}, "/baseline_scores"),
        ({"estimand": "throughput"}, "/estimand"),
        ({"estimand": "agreement", "labels": own, "cluster_by": "session"}, "/cluster_by"),
        ({"estimand": "agreement", "labels": own, "cluster_by": "session", "unit": "session"}, "/unit"),
        ({"estimand": "agreement", "labels": own, "unit": "sample"}, "/unit"),
    ]
    for fields, pointer in cases:
        response = alice.post(MONITORS, BODY | fields)
        assert response.status_code == 422, (fields, response.content)
        assert pointer in {error["pointer"] for error in response.json()["errors"]}, (fields, response.content)
    assert ok(alice.get(MONITORS))["monitors"] == []


def test_a_label_is_a_unit(alice: Caller) -> None:
    made = new_monitor(alice, estimand="agreement", labels=new_criteria(alice)["id"], limit=0.9)
    assert made["unit"] == "score"


def test_scores_without_a_measure_are_not_undecided(alice: Caller) -> None:
    made = new_monitor(alice, estimand="latency", above=2, limit=0.05, unit="score")
    send_with(alice, [1.0] * 3, seconds)
    insert(alice, [1.0] * 20)
    settle()
    shown = monitor(alice, made["id"])
    assert (shown["n_scores"], shown["n_units"], shown["n_undecided"]) == (23, 3, 0)
    assert shown["silence"] == "Nothing to compare: since the last score with a value, 20 without a latency."
