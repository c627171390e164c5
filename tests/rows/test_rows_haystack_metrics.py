"""Rows of Haystack's proposal: which metrics there are, of what, with which values."""

from __future__ import annotations

from typing import Any

import pytest
from rouge_score import rouge_scorer
from sacrebleu import sentence_bleu

from tests.rows.service import EXACT, Service, plan_body
from tests.rows.table import row

SAID, RIGHT = "The cat sat on the mat.", "A cat sat on a mat."


@row("H-08", "metrics chosen by what they judge", "GET /v1/evaluators?output_type=documents; ndcg of an answer | 422")
def test_metrics_are_listed_by_output_type(api: Service) -> None:
    found = api.get("/v1/evaluators?output_type=documents")["evaluators"]

    assert "ndcg" in {metric["name"] for one in found for metric in one["metrics"]}
    config = {"name": "x", "kind": "push", "parameters": {"output_schema": {"type": "number"}}}
    metrics = [{"name": "ndcg", "evaluator": "metrics", "criteria": "ndcg", "sample": {"contexts": "/output"}}]
    examples = [{"input": "q", "expected": {"gold_contexts": ["a"]}}]
    assert "contexts" in api.refused("/v1/experiments", plan_body(api.dataset(examples), [config], metrics))


@row("H-09", "extractive answers count where they stand", 'profile {"metric": "squad_em", "answer_scope": "context"}')
def test_a_span_counts_in_its_place_only(api: Service) -> None:
    criteria = api.profile("metrics", metric="squad_em", answer_scope="context")
    metric = {"name": "em", "evaluator": "metrics", "criteria": criteria}
    gold = {"text": "Rome", "document_id": "d1", "start": 10, "end": 14}

    rows = [
        {"id": str(start), "output": {**gold, "start": start, "end": start + 4}, "expected": gold} for start in (10, 40)
    ]

    found = api.results(api.scored(rows, [metric])["id"])
    assert {one["example_id"]: one["scores"]["em"]["value"] for one in found} == {"10": 1.0, "40": 0.0}


@row("H-10", "generative answers: EM, F1, SAS, BLEU, ROUGE", "POST /v1/evaluate | values of sacrebleu and rouge-score")
def test_generated_answers_score_as_the_libraries_say(api: Service) -> None:
    def score(criteria: str) -> Any:
        verdict = api.evaluate(f"metrics/{criteria}", output=SAID, gold_answer=RIGHT)["evaluation_result"]
        return verdict["score_raw"]

    rouge = rouge_scorer.RougeScorer(["rougeL"]).score(RIGHT, SAID)["rougeL"].fmeasure
    assert score("compute-bleu") == pytest.approx(sentence_bleu(SAID, [RIGHT]).score / 100, abs=0.006)
    assert score("compute-rouge") == pytest.approx(rouge, abs=1e-6)
    assert (score("compute-squad-em"), score("compute-squad-f1")) == (1.0, 1.0)
    names = {metric["name"] for one in api.get("/v1/evaluators")["evaluators"] for metric in one["metrics"]}
    assert "sas" in names


@row("H-11", "hallucination: is the answer backed by the documents", "POST /v1/score/batch faithfulness")
def test_faithfulness_is_the_share_of_statements_that_are_supported(judged: Service) -> None:
    rows = [{"id": "good", "input": "q", "output": "Rome is old.", "contexts": ["Rome is old."]}]
    metrics = [{"name": "faithfulness", "evaluator": "faithfulness"}]

    found = judged.scored(rows, metrics)["metrics"]["faithfulness"]

    assert (found["value"], found["n"], found["n_error"]) == (1.0, 1, 0)


@row("H-13", "evaluation data are loaded, e.g. BEIR", "POST /v1/datasets (zip) | counts of the files")
def test_a_beir_folder_is_loaded(api: Service) -> None:
    from tests.datasets.files import BEIR, zipped

    files = {"file": ("beir.zip", zipped(BEIR), "application/zip")}
    answer = api.http.post("/v1/datasets", data={"dataset_name": "beir", "format": "beir"}, files=files)

    assert answer.status_code == 200, answer.text
    assert answer.json()["dataset"]["version"]["n_examples"] == 2  # q1 and q2 are judged, q9 is not


@row("H-15", "as many expectations as inputs, or none", "client.eval(inputs of 3, expected of 2) | error naming both",
     differs="Over HTTP an example holds its own expectation, so no two lists can differ; the client refuses before it sends.")  # fmt: skip
def test_lengths_that_differ_are_refused(api: Service) -> None:
    from evalsvc.client import Client

    with Client(api.url, api.key) as client, pytest.raises(ValueError, match="3 inputs and 2 expected outputs"):
        client.eval(len, ["a", "b", "c"], [1, 2], evaluators=["exact-match"])


@row("H-16", "blind: what needs labels is not applicable, the rest works", "GET …/live | .em.n_na, .faithfulness.value")
def test_blind_outputs_are_judged_as_far_as_they_can_be(judged: Service) -> None:
    rows = [{"input": "q", "output": "Rome is old.", "contexts": ["Rome is old."]}]
    metrics = [EXACT, {"name": "faithfulness", "evaluator": "faithfulness"}]

    found = judged.scored(rows, metrics)["metrics"]

    assert (found["em"]["value"], found["em"]["n_na"], found["em"]["n_error"]) == (None, 1, 0)
    assert found["faithfulness"]["value"] is not None


@row("H-25", "the list of metrics", "GET /v1/evaluators | names")
def test_the_proposal_s_metrics_are_there(api: Service) -> None:
    found = api.get("/v1/evaluators")["evaluators"]

    names = {metric["name"] for one in found for metric in one["metrics"]}
    assert {"recall_multi_hit", "mrr", "map", "ndcg", "squad_em", "squad_f1", "sas", "bleu", "rougeL"} <= names


@row("H-26", "metrics of one's own: judge, safe rule, webhook", "POST /v1/evaluator-criteria; __class__ | 422")
def test_metrics_of_ones_own_run_no_code_here(api: Service) -> None:
    criteria = api.profile("custom", type="string", operation="contains", value="Rome")

    verdict = api.evaluate(f"custom/{criteria}", output="Rome it is.")

    assert verdict["evaluation_result"]["score_raw"] == 1.0
    families = api.call("GET", "/v1/evaluator-families").text
    assert all(f'"{name}"' in families for name in ("judge", "webhook", "custom"))
    grader = {
        "type": "string_check",
        "name": "a",
        "input": "{{sample.output_text}}",
        "reference": "x",
        "operation": "eq",
    }
    config = {"type": "multi", "graders": {"a": grader}, "calculate_output": "a.__class__"}
    bad = {"evaluator_family": "custom", "name": "bad", "config": config}
    assert api.call("POST", "/v1/evaluator-criteria", bad).status_code == 422
