"""Metrics over batches and over the whole result: computed here, and held to the type that they say."""

from __future__ import annotations

import math
from typing import Any

import pytest

from evalsvc.client import Client, CustomMetric, EvaluationResult, Row
from evalsvc.client.scoring.batches import compute_metrics
from evalsvc.client.scoring.estimates import estimate_running_mean
from evalsvc.client.scoring.scorers import build_plan_metrics, build_scorer
from evalsvc.stats.formulas.anytime import anytime_share

GOLDS = ["a", "b", "c", "d", "e", "f", "g"]


def rows(n_right: int = 5) -> list[Row]:
    made = [Row(str(i), i, {"q": i}, gold, gold if i < n_right else "wrong", index=i) for i, gold in enumerate(GOLDS)]
    return [*made, Row("7", 7, "q", "h", status="error", error_type="bug", index=7)]


def compute(batch: dict[str, list[Any]]) -> dict[str, Any]:
    pairs = zip(batch["output"], batch["expected"], strict=True)
    return {"Total": {"value": len(batch["input"])}, "Correct": {"value": sum(said == gold for said, gold in pairs)}}


def accumulate(results: dict[str, Any]) -> dict[str, Any]:
    total, correct = (sum(one["value"] for one in results[name]) for name in ("Total", "Correct"))
    return {
        "Total": {"value": total},
        "Correct": {"value": correct, "is_distributive": True, "value_range": (0, 1)},
        "Accuracy": {"value": correct / total, "is_algebraic": True, "value_range": [0, 1]},
    }


SEED = CustomMetric(compute=compute, accumulate=accumulate, batch_size=3)


def test_the_functions_of_the_seed_give_its_metrics() -> None:
    found = compute_metrics("seed", SEED, rows(), level=0.95)

    total, correct, accuracy = (found[name] for name in ("Total", "Correct", "Accuracy"))
    assert (total.value, total.type, total.lower) == (7, "untyped", None)
    assert (correct.value, correct.type, correct.lower, correct.covers) == (5, "distributive", None, "this set")
    assert accuracy.value == pytest.approx(5 / 7)
    assert (accuracy.n, accuracy.N, accuracy.n_error, accuracy.method) == (7, 8, 1, "wilson")
    assert accuracy.lower is not None and accuracy.upper is not None
    assert accuracy.lower < 5 / 7 < accuracy.upper


@pytest.mark.parametrize("size", [1, 2, 7, 100])
def test_the_size_of_batches_changes_nothing(size: int) -> None:
    metric = CustomMetric(compute=compute, accumulate=accumulate, batch_size=size)

    assert compute_metrics("seed", metric, rows(), level=0.95) == compute_metrics("seed", SEED, rows(), level=0.95)


def test_without_accumulate_everything_is_one_batch() -> None:
    seen: list[int] = []

    def distinct(batch: dict[str, list[Any]]) -> float:
        seen.append(len(batch["output"]))
        return len(set(batch["output"]))

    found = compute_metrics("distinct", CustomMetric(compute=distinct), rows(), level=0.95)["distinct"]
    assert (found.value, found.lower, found.type, seen) == (6.0, None, "untyped", [7])


def test_accumulate_gets_what_batches_returned() -> None:
    metric = CustomMetric(compute=lambda batch: len(batch["output"]), accumulate=max, batch_size=4)

    assert compute_metrics("largest", metric, rows(), level=0.95)["largest"].value == 4


def test_a_type_is_checked() -> None:
    def largest(batch: dict[str, list[Any]]) -> float:
        return float(sum(map(len, batch["output"]))) ** 2

    mean = CustomMetric(compute=largest, is_algebraic=True)
    total = CustomMetric(compute=largest, is_distributive=True)

    for metric, why in ((mean, "not the mean of its examples"), (total, "not the sum of its examples")):
        found = compute_metrics("m", metric, rows(), level=0.95)["m"]
        assert (found.type, found.lower, found.warnings) == ("untyped", None, (why,))


def test_what_the_function_raises_costs_this_metric_only() -> None:
    def broken(batch: dict[str, list[Any]]) -> float:
        raise KeyError("no such column")

    result = EvaluationResult("r", rows=rows())
    found = result.calculate_metrics(CustomMetric(compute=broken), SEED)

    assert found["broken"].value is None
    assert found["broken"].warnings == ("KeyError: 'no such column'",)
    assert found["Accuracy"].value == pytest.approx(5 / 7)


@pytest.mark.parametrize("value", [math.nan, math.inf, "x", None])
def test_only_finite_numbers_are_metrics(value: Any) -> None:
    found = compute_metrics("m", CustomMetric(compute=lambda _: value), rows(), level=0.95)["m"]

    assert found.value is None
    assert found.warnings


def test_nothing_answered_gives_nothing() -> None:
    found = compute_metrics("m", SEED, rows()[-1:], level=0.95)["m"]

    assert (found.value, found.warnings) == (None, ("ValueError: no outputs to compute it of",))


def test_the_spelling_of_the_seed_has_no_type_unless_it_says_one() -> None:
    def score(input: Any, output: Any, expected: Any) -> float:
        return 1.0

    plain, mean = build_plan_metrics(
        [], {"plain": {"value": score}, "mean": {"value": score, "is_algebraic": True, "value_range": (0, 1)}}
    )
    assert (plain["type"], mean["type"], mean["value_range"]) == ("untyped", "algebraic", [0, 1])
    assert build_plan_metrics([], {"bare": score})[0]["type"] == "algebraic"
    assert build_scorer({"value": score, "is_distributive": True}).kind == "distributive"


@pytest.mark.parametrize(("wrong", "why"), [
    ({}, "Give either `score`"),
    ({"score": len, "compute": len}, "Give either `score`"),
    ({"score": len, "accumulate": len}, "there is no `compute`"),
    ({"compute": len, "is_algebraic": True, "is_distributive": True}, "not both"),
    ({"compute": len, "batch_size": 0}, "at least 1"),
])  # fmt: skip
def test_a_metric_that_cannot_be_is_refused(wrong: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        CustomMetric(**wrong)


def test_an_evaluation_has_them_all(client: Client) -> None:
    def right(batch: dict[str, list[Any]]) -> float:
        return sum(map(str.__eq__, batch["output"], batch["expected"])) / len(batch["output"])

    result = client.eval(
        lambda text: text if text < "d" else "wrong",
        GOLDS,
        GOLDS,
        metrics={
            "seed": SEED,
            "right": CustomMetric(compute=right, is_algebraic=True, binary=True),
            "squares": CustomMetric(compute=lambda batch: len(batch["output"]) ** 2, is_distributive=True),
        },
        progress=False,
    )

    assert {name: metric.value for name, metric in result.metrics.items()} == {
        "right": pytest.approx(3 / 7), "squares": 49, "Total": 7, "Correct": 3, "Accuracy": pytest.approx(3 / 7),
    }  # fmt: skip
    # The service has estimated it while it ran, and it is what it says.
    assert result.metrics["right"].strategy == "exact"
    assert result.metrics["squares"].warnings == ("not the sum of its examples",)
    assert all(row.scores["right"].value in (0.0, 1.0) for row in result.rows)


def test_batches_are_computed_while_the_run_goes_on(client: Client) -> None:
    sizes: list[int] = []

    def counted(batch: dict[str, list[Any]]) -> dict[str, Any]:
        sizes.append(len(batch["output"]))
        return compute(batch)

    metrics = {"seed": CustomMetric(compute=counted, accumulate=accumulate, batch_size=4)}
    inputs = [f"q{i}" for i in range(30)]
    found = list(
        client.eval_iter(
            lambda q: "right" if q != "q3" else "wrong", inputs, ["right"] * 30, evaluators=[], metrics=metrics,
            progress=False, threads=1, micro_batch=3,
        )
    )  # fmt: skip

    running = [result.metrics["Accuracy"] for result in found[:-1] if "Accuracy" in result.metrics]
    assert running
    assert all(metric.n % 4 == 0 for metric in running)
    assert [metric.n for metric in running] == sorted(metric.n for metric in running)
    for metric in running:
        ends = anytime_share(round((metric.value or 0.0) * metric.n), metric.n, None, 0.95)
        assert (metric.lower, metric.upper) == pytest.approx(ends)
        assert (metric.method, metric.safe) == ("beta-binomial", "safe while watched")
    last = found[-1].metrics["Accuracy"]
    assert (last.value, last.n, last.N) == (29 / 30, 30, 30)
    assert (last.method, last.safe) == ("wilson", "one look")
    whole = [size for size in sizes if size > 1]
    assert whole == [4] * 7 + [2]


def test_what_compute_raises_in_a_batch_is_said_while_the_run_goes_on(client: Client) -> None:
    def broken(batch: dict[str, list[Any]]) -> dict[str, Any]:
        raise ZeroDivisionError("no pairs")

    metrics = {"seed": CustomMetric(compute=broken, accumulate=accumulate, batch_size=2)}
    inputs = [f"q{i}" for i in range(6)]
    found = list(
        client.eval_iter(lambda q: q, inputs, inputs, evaluators=[], metrics=metrics, progress=False, threads=1)
    )

    assert found[-1].metrics["seed"].warnings == ("ZeroDivisionError: no pairs",)
    assert len(found[-1].rows) == 6


@pytest.mark.parametrize(("ones", "n"), [(0, 1), (1, 1), (0, 40), (40, 40), (13, 40), (999, 1000)])
def test_intervals_while_scores_come_are_those_of_the_service(ones: int, n: int) -> None:
    metric = estimate_running_mean("m", [1.0] * ones + [0.0] * (n - ones), n_total=n, level=0.9)

    assert (metric.lower, metric.upper) == pytest.approx(anytime_share(ones, n, None, 0.9))


def test_other_scores_have_no_interval_before_the_end() -> None:
    metric = estimate_running_mean("m", [i / 40 for i in range(40)], n_total=40)

    assert (metric.lower, metric.upper, metric.method) == (None, None, None)
    assert "interval at the end" in metric.warnings


@pytest.mark.parametrize(("strips", "seen"), [(None, "yes"), (False, "<think>no</think>yes")])
def test_functions_get_the_answer_that_the_service_scores(client: Client, strips: bool | None, seen: str) -> None:
    got: list[object] = []

    def own(value: object, output: object, expected: object) -> float:
        got.append(output)
        return 1.0

    def count(batch: dict[str, list[Any]]) -> float:
        got.extend(batch["output"])
        return float(len(batch["output"]))

    metrics: Any = {"own": own, "count": CustomMetric(compute=count, accumulate=sum, batch_size=1)}
    parameters = {} if strips is None else {"strip_thinking": strips}
    result = client.eval(
        lambda value: "<think>no</think>yes", ["a", "b"], ["yes", "yes"], evaluators=["exact-match"], metrics=metrics,
        parameters=parameters, progress=False,
    )  # fmt: skip
    result.calculate_metrics(lambda value, output, expected: float(output == seen), name="late")

    assert set(got) == {seen}
    assert [row.output for row in result.rows] == [seen, seen]
    assert result.metrics["late"].value == 1.0
    assert result.metrics["exact-match"].value == float(strips is None)
