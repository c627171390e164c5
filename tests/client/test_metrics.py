"""Names of evaluators, scorers of one's own, and estimates computed here, against scipy."""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy import stats

from evalsvc.client import CustomMetric
from evalsvc.client.scoring.estimates import estimate_mean
from evalsvc.client.scoring.scorers import build_plan_metrics, check_score


def score(input: Any, output: Any, expected: Any) -> float:
    return 0.5


def test_evaluators_become_metrics() -> None:
    assert build_plan_metrics(["pii", "metrics/my/rouge"], None) == [
        {"name": "pii", "evaluator": "pii"},
        {"name": "metrics/my/rouge", "evaluator": "metrics", "criteria": "my/rouge"},
    ]


def test_an_entry_may_say_everything() -> None:
    entry = {"name": "fast", "source": "latency_ms", "higher_is_better": False}

    assert build_plan_metrics([entry, {"evaluator": "pii", "criteria": "c", "source": "pass"}], None) == [
        entry,
        {"name": "pii/c", "evaluator": "pii", "criteria": "c", "source": "pass"},
    ]


def test_scorers_become_metrics_of_the_client() -> None:
    own: dict[str, Any] = {
        "plain": score,
        "binary": CustomMetric(score, binary=True),
        "ratio": CustomMetric(score, ratio=True, higher_is_better=False),
        "ranged": CustomMetric(score, value_range=(0, 5)),
    }

    plain, binary, ratio, ranged = build_plan_metrics([], own)
    assert plain == {"name": "plain", "source": "client", "type": "algebraic", "higher_is_better": True}
    assert (binary["binary"], binary["value_range"]) == (True, [0, 1])
    assert (ratio["type"], ratio["higher_is_better"]) == ("ratio", False)
    assert ranged["value_range"] == [0, 5]


def test_something_is_always_estimated() -> None:
    assert [one["source"] for one in build_plan_metrics([], None)] == ["latency_ms"]


def test_names_are_different() -> None:
    with pytest.raises(ValueError, match="pii is there more than once"):
        build_plan_metrics(["pii", {"evaluator": "pii"}], None)


@pytest.mark.parametrize(("value", "ratio", "posted"), [
    (True, False, 1.0), (3, False, 3.0), ((1, 2), True, {"numerator": 1.0, "denominator": 2.0}),
])  # fmt: skip
def test_numbers_are_posted(value: Any, ratio: bool, posted: Any) -> None:
    assert check_score(value, ratio=ratio) == posted


@pytest.mark.parametrize(
    ("value", "ratio"), [(math.nan, False), (math.inf, False), ((1, 2), False), (1, True), ((1,), True)]
)
def test_other_things_are_not(value: Any, ratio: bool) -> None:
    with pytest.raises((ValueError, TypeError)):
        check_score(value, ratio=ratio)


@pytest.mark.parametrize(("k", "n"), [(0, 5), (3, 10), (40, 40), (7, 400)])
@pytest.mark.parametrize("level", [0.8, 0.95, 0.99])
def test_zeros_and_ones_get_wilson_s_interval(k: int, n: int, level: float) -> None:
    found = estimate_mean("m", [1.0] * k + [0.0] * (n - k), n_total=n, level=level)
    expected = stats.binomtest(k, n).proportion_ci(level, method="wilson")

    assert (found.lower, found.upper) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("n", [6, 10, 30, 200])
@pytest.mark.parametrize("level", [0.8, 0.95])
def test_other_numbers_get_student_s_interval(n: int, level: float) -> None:
    scores = [math.sin(i) for i in range(n)]
    found = estimate_mean("m", scores, n_total=n, level=level)
    lower, upper = stats.t.interval(level, n - 1, loc=stats.tmean(scores), scale=stats.sem(scores))

    assert (found.lower, found.upper) == pytest.approx((lower, upper), abs=2e-3)
    assert ("n<30" in found.warnings) == (n < 30)


@pytest.mark.parametrize(("scores", "why"), [
    ([0.5] * 50, "all scores are equal"), ([0.1, 0.7, 0.3], "n<6"), ([0.3], "n<6"), ([], "no scores"),
])  # fmt: skip
def test_no_interval_is_made_up(scores: list[float], why: str) -> None:
    found = estimate_mean("m", scores, n_total=60)

    assert (found.lower, found.upper) == (None, None)
    assert why in found.warnings
    assert (found.n, found.N, found.n_error) == (len(scores), 60, 60 - len(scores))
