"""Choosing an evaluator by what it judges: formula, inputs, scale, direction, parts, and calls of a judge."""

from __future__ import annotations

from typing import Any

import pytest

from evaluators.base import Field
from evaluators.facts import OUTPUT_TYPES, build_facts, build_metrics
from evaluators.registry import all_evaluators, find_evaluator, get_family
from tests.conftest import Caller
from tests.experiments.conftest import make_dataset, make_experiment, ok
from tests.factories import make_profile

EVALUATORS = [pytest.param(family, spec, id=spec.id) for family, spec in all_evaluators()]


def listed(caller: Caller, output_type: str) -> dict[str, Any]:
    found = ok(caller.get(f"/v1/evaluators?output_type={output_type}"))["evaluators"]
    return {row["id"]: row for row in found}


@pytest.mark.parametrize(("family", "spec"), EVALUATORS)
def test_every_evaluator_says_what_it_is(family: Any, spec: Any) -> None:
    facts = build_facts(family, spec)

    assert facts.formula != spec.description, "its EvaluatorSpec has no formula"
    assert facts.output_types and set(facts.output_types) <= set(OUTPUT_TYPES)
    assert facts.components == spec.components or not spec.components
    asks = family.lane_of(spec.settings) == "judge" and family.name != "webhook"
    assert (facts.judge_calls != "0") == asks


def test_every_metric_says_what_it_is() -> None:
    family = get_family("metrics")
    schema: Any = family.settings_schema["properties"]

    assert set(build_metrics(family)) == set(schema["metric"]["enum"])
    for name, facts in build_metrics(family).items():
        reads_documents = Field.CONTEXT in family.fields_for({"metric": name})
        assert (facts.output_types == ("documents",)) == reads_documents


def test_documents_have_their_metrics(alice: Caller) -> None:
    found = listed(alice, "documents")

    assert "exact-match-2026-11-28" not in found
    metrics = {metric["name"]: metric for metric in found["metrics-2026-11-28"]["metrics"]}
    assert {"ndcg", "mrr", "map"} <= set(metrics)
    assert "rougeL" not in metrics
    assert metrics["ndcg"]["required_input_fields"] == [
        "evaluated_model_retrieved_context", "evaluated_model_gold_context",
    ]  # fmt: skip
    precision = found["retrieval-precision-2026-11-23"]
    assert (precision["judge_calls"], precision["scale"], precision["higher_is_better"]) == ("n", [0.0, 1.0], True)
    assert precision["components"] == ["retriever"]


def test_answers_have_theirs(alice: Caller) -> None:
    extractive, generated = listed(alice, "extractive_answer"), listed(alice, "generated_answer")

    assert "retrieval-precision-2026-11-23" not in extractive.keys() | generated.keys()
    assert {metric["name"] for metric in extractive["metrics-2026-11-28"]["metrics"]} == {"sas", "squad_em", "squad_f1"}
    rouge = next(metric for metric in generated["metrics-2026-11-28"]["metrics"] if metric["name"] == "rougeL")
    assert rouge["profiles"] == ["patronus:compute-rouge"]
    assert generated["answer-consistency-2026-11-23"]["judge_calls"] == "1 + m"
    assert "answer-consistency-2026-11-23" not in extractive


def test_an_unknown_type_is_refused(alice: Caller) -> None:
    answer = alice.get("/v1/evaluators?output_type=pictures")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/output_type")


def test_a_check_of_contexts_judges_documents() -> None:
    found = find_evaluator("custom")
    assert found is not None

    assert build_facts(*found, {"type": "count", "of": "words", "field": "context", "max": 9}).output_types == (
        "documents",
    )
    assert "documents" not in build_facts(*found, {"type": "json"}).output_types


@pytest.mark.parametrize(("output_types", "criteria", "fits"), [
    (["generated_answer"], "compute-rouge", True),
    (["extractive_answer"], "compute-rouge", False),
    (["documents"], "compute-rouge", False),
    (["documents", "generated_answer"], "compute-rouge", True),
    (["extractive_answer"], "compute-squad-f1", True),
])  # fmt: skip
def test_a_plan_takes_metrics_of_its_outputs(alice: Caller, output_types: list[str], criteria: str, fits: bool) -> None:
    metrics = [{"name": "latency", "source": "latency_ms"}, {"name": "m", "evaluator": "metrics", "criteria": criteria}]
    dataset, configs = make_dataset(alice, n=2), [{"name": "mine", "kind": "push"}]
    if fits:
        make_experiment(alice, dataset, configs, metrics=metrics, output_types=output_types)
        return
    plan = {"dataset_id": dataset, "metrics": metrics, "output_types": output_types}
    answer = alice.post("/v1/experiments", {"name": "x", "plan": plan, "configs": configs})
    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (422, "/plan/metrics/1/evaluator")
    assert "?output_type=" in answer.json()["errors"][0]["detail"]


def test_ndcg_of_an_answer_is_refused(alice: Caller) -> None:
    make_profile(alice, "metrics", "my-ndcg", metric="ndcg")
    plan = {
        "dataset_id": make_dataset(alice, n=2),
        "metrics": [{"name": "ndcg", "evaluator": "metrics", "criteria": "my-ndcg"}],
        "output_types": ["generated_answer"],
    }
    answer = alice.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [{"name": "a", "kind": "push"}]})

    assert answer.status_code == 422
    assert "'ndcg' judges documents" in answer.json()["errors"][0]["detail"]
