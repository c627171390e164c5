"""Rows of Tonic Validate: its metrics with known replies of the judge, batches, tables, sweeps."""

from __future__ import annotations

import io
from importlib.metadata import distributions
from typing import Any

import pandas
import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.client import Client
from tests.rows.application import Application
from tests.rows.pipelines import CAPITALS
from tests.rows.service import EXACT, Service
from tests.rows.table import row

ROME, TIBER, BANANA = "Rome is old.", "The Tiber flows through Rome.", "A banana is yellow."
ASKED = {"input": "What is old?", "output": "Rome is old."}


def scored(judged: Service, evaluator: str, **sample: Any) -> Any:
    """Return the score of one sample; the judge says yes to all but what has the word banana in it."""
    name, _, criteria = evaluator.partition("/")
    metric = {"name": "m", "evaluator": name, **({"criteria": criteria} if criteria else {})}
    (found,) = judged.results(judged.scored([{**ASKED, **sample}], [metric])["id"])
    score = found["scores"]["m"]
    return score["value"] if score["value"] is not None else score["error_code"]


@row("T-01", "five inputs of a row", "GET /v1/openapi.json | schema of POST /v1/evaluate")
def test_the_five_inputs_are_in_the_schema(api: Service) -> None:
    document = api.get("/v1/openapi.json")

    body = document["paths"]["/v1/evaluate"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = document["components"]["schemas"][body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    assert {"task_input", "task_output", "gold_answer", "task_context", "top_k_context"} <= set(schema["properties"])


@row("T-02", "answer similarity: 0 to 5, told as 0 to 1", "POST /v1/score/batch answer-similarity | judge says 3 -> 0.6",
     differs="Scores are from 0 to 1 everywhere; `extra.raw` keeps the 0 to 5.")  # fmt: skip
def test_answer_similarity(judged: Service) -> None:
    criteria = judged.profile("rag-metrics", metrics=["answer_similarity"], model="stub-judge-0.6")

    assert scored(judged, f"answer-similarity/{criteria}", expected="Rome") == pytest.approx(0.6)


@row("T-03", "retrieval precision: relevant / retrieved", "POST /v1/score/batch retrieval-precision | 1 of 2")
def test_retrieval_precision(judged: Service) -> None:
    assert scored(judged, "retrieval-precision", contexts=[ROME, BANANA]) == 0.5


@row(
    "T-04",
    "augmentation accuracy: used in the answer / retrieved",
    "POST /v1/score/batch augmentation-accuracy | 2 of 3",
)
def test_augmentation_accuracy(judged: Service) -> None:
    assert scored(judged, "augmentation-accuracy", contexts=[ROME, TIBER, BANANA]) == pytest.approx(2 / 3)


@row(
    "T-05",
    "augmentation precision: relevant and used / relevant",
    "POST /v1/score/batch augmentation-precision | 1; none 0",
)
def test_augmentation_precision(judged: Service) -> None:
    assert scored(judged, "augmentation-precision", contexts=[ROME, BANANA]) == 1.0
    assert scored(judged, "augmentation-precision", contexts=[BANANA]) == 0.0


@row("T-06", "answer consistency: points derivable / points", "POST /v1/score/batch answer-consistency | 1; no points: n/a",
     differs="An answer without points is not applicable, and not an error: there is nothing to judge.")  # fmt: skip
def test_answer_consistency(judged: Service) -> None:
    assert scored(judged, "answer-consistency", contexts=[ROME]) == 1.0
    assert scored(judged, "answer-consistency", contexts=[BANANA]) == 0.0


@row(
    "T-07", "answer consistency, yes or no: 1 is consistent", "POST /v1/score/batch answer-consistency-binary | 1 and 0"
)
def test_answer_consistency_binary(judged: Service) -> None:
    assert scored(judged, "answer-consistency-binary", contexts=[ROME]) == 1.0
    assert scored(judged, "answer-consistency-binary", contexts=[BANANA]) == 0.0


@row(
    "T-08",
    "retrieval k-recall: relevant and retrieved / relevant in top-k",
    "POST /v1/score/batch retrieval-k-recall | 1 of 2",
)
def test_retrieval_k_recall(judged: Service) -> None:
    top = {"top_k_contexts": [ROME, TIBER, BANANA]}
    assert scored(judged, "retrieval-k-recall", contexts=[ROME], metadata=top) == 0.5


@row("T-09", "overall: the mean of what was computed", "POST /v1/evaluate rag-overall | extra.components")
def test_the_overall_score_is_the_mean_of_its_components(judged: Service) -> None:
    made = judged.scored(
        [{**ASKED, "expected": "Rome", "contexts": [ROME, BANANA]}], [{"name": "m", "evaluator": "rag-overall"}]
    )

    (found,) = judged.results(made["id"])
    parts = found["scores"]["m"]["extra"]["components"]
    values = [one["score"] if isinstance(one, dict) else one for one in parts.values()]
    assert found["scores"]["m"]["value"] == pytest.approx(sum(values) / len(values))
    assert len(values) == 5


@row("T-10", "the default set, when no metric is named", "client.eval(…) without evaluators | metrics")
def test_the_default_set_is_theirs(judged: Service) -> None:
    with Client(judged.url, judged.key) as client:
        result = client.eval(
            lambda text: ROME, ["What is old?"], ["Rome"], contexts=[[ROME]], progress=False, threads=1
        )

    assert set(result.metrics) == {
        "answer-similarity", "retrieval-precision", "augmentation-precision", "augmentation-accuracy",
        "answer-consistency", "rag-overall",
    }  # fmt: skip


@row("T-11", "a metric asks for its own inputs only", "retrieval-precision without answer; k-recall without top-k",
     differs="A row that lacks what a metric needs has no score and says which input (not_applicable, missing_input); the other rows are scored.")  # fmt: skip
def test_only_the_inputs_of_a_metric_are_needed(judged: Service) -> None:
    assert scored(judged, "retrieval-precision", output="", contexts=[ROME]) == 1.0
    lacking = judged.evaluate("retrieval-k-recall", input="q", retrieved_context=[ROME])
    assert (lacking["error_code"], "top_k" in str(lacking)) == ("missing_input", True)


@row("T-12", "no reference answers: all but similarity", "GET …/live | similarity n_na, rest scored")
def test_without_references_all_but_similarity_is_scored(judged: Service) -> None:
    metrics = [
        {"name": name, "evaluator": name} for name in ("answer-similarity", "retrieval-precision", "answer-consistency")
    ]

    found = judged.scored([{**ASKED, "contexts": [ROME]}], metrics)["metrics"]

    assert (found["answer-similarity"]["n_na"], found["answer-similarity"]["value"]) == (1, None)
    assert [found[one["name"]]["n"] for one in metrics[1:]] == [1, 1]


@row("T-13", "the judge is a choice, its key stays secret", "GET /v1/connections | grep -c SECRET = 0")
def test_no_answer_has_the_key(api: Service, stub: RunningStub) -> None:
    secret = "sk-rows-0123456789-secret"
    body = {"name": "other", "base_url": stub.base_url, "model": "stub-judge-pass", "key": secret, "is_default": False}

    told = api.call("POST", "/v1/connections", body).text + api.call("GET", "/v1/connections").text

    assert '"other"' in told and secret not in told


@row("T-14", "score() of one row", "POST /v1/evaluate")
def test_one_row_is_scored_at_once(api: Service) -> None:
    assert api.evaluate("exact-match", output="Rome", gold_answer="Rome")["evaluation_result"]["score_raw"] == 1.0


@row("T-15", "score_batch() of a thousand rows", "POST /v1/score/batch | n_pending 0")
def test_a_thousand_rows_are_scored(api: Service) -> None:
    rows = [{"id": f"r{i}", "output": "a", "expected": "a" if i % 2 else "b"} for i in range(1000)]

    found = api.scored(rows, [EXACT])["metrics"]["em"]

    assert (found["value"], found["n"], found["n_pending"]) == (0.5, 1000, 0)


@row("T-16", "means over the batch, with what was counted", "POST /v1/score/batch | value, n, n_error, n_na")
def test_the_mean_is_over_what_was_scored(api: Service) -> None:
    rows = [
        {"output": "a", "expected": "a"},
        {"output": "a", "expected": "b"},
        {"output": "a", "expected": "a"},
        {"output": "a"},
    ]

    found = api.scored(rows, [EXACT])["metrics"]["em"]

    assert found["value"] == pytest.approx(2 / 3)
    assert (found["n"], found["n_error"], found["n_na"], found["N"]) == (3, 0, 1, 4)


@row("T-17", "a data frame of inputs and scores", "GET …/results?format=parquet | pandas columns")
def test_a_run_is_a_data_frame(api: Service) -> None:
    id = api.scored([{"id": "x", "input": "q", "output": "a", "expected": "a"}], [EXACT])["id"]

    frame = pandas.read_parquet(io.BytesIO(api.call("GET", f"/v1/experiments/{id}/results?format=parquet").content))

    assert len(frame) == 1
    assert any("em" in name for name in frame.columns)
    with Client(api.url, api.key) as client:
        columns = client.resume_experiment(id).result(api.config(id)["name"]).to_dataframe().columns
    assert "contexts" not in columns  # nothing is in it


@row("T-18", "metric -> inputs, formula, which component", "GET /v1/evaluators?by_alias_or_id=retrieval-precision")
def test_a_metric_says_what_it_judges(api: Service) -> None:
    (found,) = api.get("/v1/evaluators?by_alias_or_id=retrieval-precision")["evaluators"]

    assert (found["components"], found["judge_calls"], found["scale"]) == (["retriever"], "n", [0.0, 1.0])
    assert found["higher_is_better"] and "relevant contexts / retrieved contexts" in found["formula"]
    assert "evaluated_model_retrieved_context" in found["required_input_fields"]


@row("T-19", "a benchmark of questions through a RAG system", 'POST /v1/experiments {"kind": "http"}')
def test_a_benchmark_runs_through_an_application(api: Service, application: Application) -> None:
    url = application.serve("/rag", lambda body: {"text": CAPITALS[body["question"]], "passages": [ROME]})
    parameters = {"url": url, "body": {"question": "{{input}}"}, "output": {"output": "/text", "contexts": "/passages"}}
    examples = [{"input": land, "expected": city} for land, city in CAPITALS.items()]

    id = api.experiment(api.dataset(examples), [{"name": "rag", "kind": "http", "parameters": parameters}])["id"]
    api.done(id)

    assert api.value(id, "em") == 1.0
    assert all(one["output"]["contexts"] == [ROME] for one in api.results(id))


@row("T-20", "experiments are tracked over runs", "GET /v1/experiments?tags=…; GET /v1/history")
def test_runs_are_found_by_label(api: Service) -> None:
    examples = [{"input": "q", "expected": "a"}]
    for wave in ("one", "two"):
        api.pushed(examples, {"mine": lambda example: "a"}, tags={"wave": wave, "team": "tonic"})

    assert len(api.get("/v1/experiments?tags=team:tonic")["experiments"]) == 2
    assert len(api.get("/v1/experiments?tags=wave:two")["experiments"]) == 1


@row("T-21", "a sweep: scores by number of chunks", "GET …/aggregates?by=parameters.k | one group a value")
def test_a_sweep_is_a_table(api: Service) -> None:
    configs = [{"name": f"k={k}", "kind": "push", "parameters": {"k": k}} for k in (2, 4, 8)]
    made = api.experiment(api.dataset([{"input": str(i), "expected": str(i % 2)} for i in range(4)]), configs)
    for config in made["configs"]:
        api.answer(made["id"], config["id"], lambda example: "0")

    found = api.get(f"/v1/experiments/{made['id']}/aggregates?by=parameters.k&metric=em")

    assert [one["values"]["parameters.k"] for one in found["rows"]] == [2, 4, 8]
    assert all(one["lower"] <= one["value"] <= one["upper"] for one in found["rows"])


@row("T-22", "judges by an OpenAI-compatible address", "POST /v1/connections/ID/test")
def test_any_compatible_endpoint_is_a_judge(judged: Service) -> None:
    connection = judged.get("/v1/connections")["connections"][0]

    assert judged.post(f"/v1/connections/{connection['id']}/test")["ok"] is True


@row("T-23", "no langchain", "pip list | grep -ci langchain = 0")
def test_langchain_is_not_needed() -> None:
    assert [one.name for one in distributions() if "langchain" in (one.name or "").lower()] == []


@row("T-24", "metrics without a judge: contains, regex, lengths, duplication, PII", "POST /v1/evaluate custom/…")
def test_rules_score_as_counted_by_hand(api: Service) -> None:
    def passes(evaluator: str, **sample: Any) -> Any:
        return api.evaluate(evaluator, **sample)["evaluation_result"]["pass"]

    def rule(**config: Any) -> str:
        return f"custom/{api.profile('custom', **config)}"

    text = "one two two. one two two."
    assert passes(rule(type="string", operation="contains", value="two"), output=text)
    assert passes(rule(type="count", of="matches", pattern="two", min=4, max=4), output=text)
    assert passes(rule(type="count", of="words", max=6), output=text)
    assert not passes(rule(type="count", of="texts", field="context", min=3), output=text, retrieved_context=["a", "b"])
    assert not passes(rule(type="duplication"), output=text)
    assert not passes("pii", output="Write to jo.smith@example.org")
    assert passes("exact-match", output="a", gold_answer="a")
