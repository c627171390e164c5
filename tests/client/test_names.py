"""What metrics and options may be called, and which functions are metrics."""

from __future__ import annotations

from typing import Any

import pytest

from evalsvc.client import Client, CustomMetric, EvaluationResult, EvaluatorName
from tests.client.capitals import CAPITALS, EXPECTED, INPUTS, knows, run

pytestmark = pytest.mark.usefixtures("scheduler_running")

DOCUMENTS = [{"id": city, "text": f"{city} is the capital of {land}."} for land, city in CAPITALS.items()]


def length(input: Any, output: Any, expected: Any) -> int:
    return len(output)


def only_right(input: Any, output: Any, expected: Any) -> float | None:
    return 1.0 if output == expected else None


def failed_share(result: EvaluationResult, *, weight: float = 1.0, **options: Any) -> float:
    return weight * result.n_error / len(result)


@pytest.mark.parametrize("name", ["f1", "em", "bleu", "rouge", EvaluatorName.F1])
def test_metrics_are_found_by_name(client: Client, name: str) -> None:
    result = run(client, knows, evaluators=[name])
    added = run(client, knows).calculate_metrics(name)

    assert result.metrics[name].value == added[name].value == pytest.approx(0.75, abs=0.01)


def test_ranking_metrics_are_found_by_name(client: Client) -> None:
    gold = [{"documents": [city]} for city in EXPECTED]
    found = run(client, lambda query: {"documents": DOCUMENTS}, INPUTS, gold, evaluators=["mrr", "recall@2", "map"])

    values = {name: metric.value for name, metric in found.metrics.items()}
    assert values == {"mrr": pytest.approx((1 + 1 / 2 + 1 / 3 + 1 / 4) / 4), "recall@2": 0.5, "map": values["mrr"]}


def test_the_names_are_those_of_the_catalogue(client: Client) -> None:
    for name in EvaluatorName:
        verdict = client.evaluate([name], output="a", gold="a", input="a", contexts=["a"], gold_contexts=["a"], wait=0)[
            0
        ]
        assert verdict.error_code not in ("unknown_evaluator", "unknown_profile"), name


def test_functions_may_stand_among_evaluators(client: Client) -> None:
    result = run(client, knows, evaluators=["exact-match", length])

    assert result.metrics["length"].value == 5.75
    with pytest.raises(ValueError, match="different names"):
        run(client, knows, evaluators=[length, length])
    with pytest.raises(TypeError, match="'length'"):
        client.evaluate([length], output="a")


def test_none_is_not_applicable(client: Client) -> None:
    result = run(client, knows, metrics={"right": only_right})
    later = run(client, knows).calculate_metrics(CustomMetric(only_right, value_range=(0, 1)), name="right")["right"]
    local = EvaluationResult("a", rows=result.rows, n_examples=4).calculate_metrics(only_right)["only_right"]

    for metric in (result.metrics["right"], later, local):
        assert (metric.value, metric.n, metric.n_error, metric.n_na) == (1.0, 3, 0, 1)
    assert [row.scores["right"].error_code for row in result] == [None, None, "not_applicable", None]


def test_a_metric_of_the_result_is_recognised(client: Client) -> None:
    result = run(client, knows)
    found = result.calculate_metrics(failed_share, lambda result, **_: {"n": len(result)}, weight=2.0)

    assert (found["failed_share"].value, found["n"].value, found["n"].type) == (0.0, 4.0, "untyped")
    assert result.calculate_metrics(lambda result, **_: None, name="none")["none"].n_na == 4
    with pytest.raises(ZeroDivisionError):
        result.calculate_metrics(lambda result, **_: 1 / 0)


@pytest.mark.parametrize(("metric", "words"), [(lambda output: 1, "is no metric"), (failed_share, "complete result")])
def test_what_cannot_be_called_is_refused_before_anything_runs(client: Client, metric: Any, words: str) -> None:
    ran: list[str] = []

    with pytest.raises(ValueError, match=words):
        run(client, ran.append, metrics={"m": metric})
    assert ran == []


def test_singular_names_are_taken(client: Client) -> None:
    result = client.eval(knows, INPUTS, expected_output=EXPECTED, evaluators=["exact-match"], progress=False)

    assert result.metrics["exact-match"].value == 0.75
    with pytest.raises(TypeError, match="one option"):
        run(client, knows, expected_output=EXPECTED)


@pytest.mark.parametrize(("name", "near"), [("thread", "threads"), ("simulated_ouput", "simulated_output")])
def test_unknown_options_name_what_was_meant(client: Client, name: str, near: str) -> None:
    with pytest.raises(TypeError, match=f"Did you mean .*{near}"):
        run(client, knows, **{name: 2})
    with pytest.raises(TypeError, match="Did you mean component"):
        EvaluationResult("a").calculate_metrics(length, components="a")
