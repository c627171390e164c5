"""Monitors of scores that rules drew with unequal probabilities: the mean is that of the traffic."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from tests.conftest import Caller
from tests.evaluations.histories import insert
from tests.factories import ok
from tests.monitors.shapes import BODY, MONITORS, advance, alarms, describe, get, monitor, new_monitor, rewind


def score_traffic(caller: Caller, n: int, *, right: int, rate: float | None) -> None:
    """Store n scores of a traffic; all that are wrong, and of the right ones a share of the rate."""
    n_right = 0
    for i in range(n):
        if i % 10 >= right:
            insert(caller, [0.0], probability=None if rate is None else 1.0)
            continue
        n_right += 1
        if rate is None or n_right % round(1 / rate) == 0:
            insert(caller, [1.0], probability=rate)


def test_a_change_of_rates_is_no_drop(alice: Caller) -> None:
    """Each wrong answer and a fifth of the right ones: counted once each, 90 % would be 64 %."""
    score_traffic(alice, 300, right=9, rate=None)
    made = new_monitor(alice)
    assert (made["baseline"]["weighted"], made["baseline"]["n_eff"]) == (False, pytest.approx(300))
    score_traffic(alice, 500, right=9, rate=0.2)
    advance()
    assert alarms(alice) == []

    score_traffic(alice, 400, right=5, rate=0.2)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == pytest.approx(0.5, abs=0.12)
    assert alarm["summary"].startswith("The pass rate dropped from 90.0 % to ")
    assert monitor(alice, made["id"])["warnings"] == []


def test_a_change_of_rates_hides_no_drop(alice: Caller) -> None:
    """The baseline has each wrong answer and a fifth of the right ones; later ones are all there are."""
    score_traffic(alice, 1000, right=9, rate=0.2)
    made = new_monitor(alice)
    baseline = made["baseline"]
    assert (baseline["weighted"], baseline["mean"]) == (True, pytest.approx(0.9, abs=0.005))
    assert baseline["lower"] < 0.9 < baseline["upper"]
    assert baseline["n_eff"] < baseline["n_units"] == 280
    row = get(made["id"])
    score_traffic(alice, 200, right=9, rate=None)
    advance()
    assert alarms(alice) == []
    score_traffic(alice, 400, right=7, rate=None)
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == pytest.approx(0.7, abs=0.1)
    seen = describe(row.pk)
    for portion in (7, 5000):
        rewind(row)
        advance(portion)
        assert describe(row.pk) == seen


def test_the_false_alarm_of_a_much_lower_rate_recovers_and_does_not_come_again(alice: Caller) -> None:
    """Ten wrong answers come before the first right one that shows the new rate."""
    score_traffic(alice, 300, right=9, rate=None)
    new_monitor(alice, unit="score")
    score_traffic(alice, 4000, right=9, rate=0.01)
    advance()
    assert [alarm["reason"] for alarm in alarms(alice)] == ["recovered"]


def test_a_limit_weighs_scores_too(alice: Caller) -> None:
    score_traffic(alice, 100, right=9, rate=0.2)
    made = new_monitor(alice, limit=0.8, unit="score")
    score_traffic(alice, 800, right=9, rate=0.2)
    advance()
    assert (alarms(alice), monitor(alice, made["id"])["n_scores"]) == ([], 224)
    score_traffic(alice, 400, right=5, rate=0.2)
    advance()
    assert len(alarms(alice)) == 1


def test_a_baseline_of_too_unequal_weights_says_what_its_scores_are_worth(alice: Caller) -> None:
    for i in range(200):
        insert(alice, [float(i % 10 > 0)], probability=0.01 if i % 20 == 0 else 1.0)
    response = alice.post(MONITORS, BODY | {"unit": "score"})
    assert response.status_code == 422
    (error,) = response.json()["errors"]
    assert error["detail"].startswith(
        "A baseline needs at least 50 independent scores; the history has 200 scores, worth 14 independent ones. "
    )


def test_the_slices_of_an_alarm_are_weighed(alice: Caller) -> None:
    score_traffic(alice, 300, right=9, rate=None)
    new_monitor(alice, unit="score")
    for _ in range(40):
        insert(alice, [0.0], probability=1.0, app="shop")
        insert(alice, [1.0], probability=0.5, app="shop")
    advance()
    (alarm,) = alarms(alice)
    assert alarm["after"] == pytest.approx(2 / 3, abs=0.03)


@pytest.mark.parametrize("where", ["in the baseline", "in what is read"])
def test_unequal_probabilities_within_a_sample_are_a_warning(alice: Caller, where: str) -> None:
    began = timezone.now() - timedelta(hours=20)
    mixed: Any = [0.5, 1.0] if where == "in the baseline" else [1.0, 1.0]
    for sample in range(60):
        created = began + timedelta(minutes=sample)
        for p in mixed:
            insert(alice, [float(sample % 5 > 0)], probability=p, sample_hash=sample, created_at=created)
    body = {"unit": "sample", "baseline_scores": 120}
    shown = ok(alice.post(f"{MONITORS}/preview", BODY | body))["monitor"]
    made = new_monitor(alice, **body)
    assert shown["warnings"] == made["warnings"] == (["unweighted"] if where == "in the baseline" else [])
    assert made["baseline"]["weighted"] is False, "each sample has a score of the same largest probability"

    late = began + timedelta(hours=10)
    for sample in (1, 2, 3):
        for p in (0.5, 1.0):
            insert(alice, [1.0], probability=p, sample_hash=sample, created_at=late)
    insert(alice, [1.0], probability=1.0, sample_hash=99, created_at=late + timedelta(hours=1))
    advance()
    assert monitor(alice, made["id"])["warnings"] == ["unweighted"]


@pytest.mark.parametrize(
    ("baseline", "later", "warnings"),
    [
        ([0.5], [0.5], ([], [])),
        ([1.0], [0.5], ([], ["unweighted"])),
        ([0.5], [1.0], ([], ["unweighted"])),
        ([0.5, 1.0], [1.0], (["unweighted"], ["unweighted"])),
    ],
)
def test_unequal_probabilities_of_samples_of_several_scores_are_a_warning(
    alice: Caller, baseline: list[float], later: list[float], warnings: tuple[list[str], list[str]]
) -> None:
    """Scores that are drawn one by one bring a sample of two in more often than one score."""
    began = timezone.now() - timedelta(hours=20)

    def insert_samples(first: int, n: int, probabilities: list[float]) -> None:
        for sample in range(first, first + n):
            value, p = float(sample % 5 > 0), probabilities[sample % len(probabilities)]
            created = began + timedelta(minutes=10 * (sample - first) + first)
            insert(alice, [value, value], probability=p, sample_hash=sample, created_at=created)

    insert_samples(0, 60, baseline)
    made = new_monitor(alice, unit="sample", baseline_scores=120)
    insert_samples(600, 20, later)
    row = get(made["id"])
    advance()
    assert (made["warnings"], monitor(alice, made["id"])["warnings"]) == warnings
    seen = describe(row.pk)
    rewind(row)
    advance(3)
    assert describe(row.pk) == seen


def test_the_baseline_of_passes_alone_is_a_pass(alice: Caller) -> None:
    """Their weighted mean is another number by rounding, such as 0.9999999999999999."""
    for i in range(300):
        insert(alice, [1.0], probability=(0.7, 0.9, 0.6)[i % 3])

    assert new_monitor(alice, unit="score")["baseline"]["mean"] == 1.0
