"""Rows of Haystack's proposal: pipelines, components, modes, simulated outputs, progress."""

from __future__ import annotations

from typing import Any

import pytest

from tests.rows.application import Application
from tests.rows.pipelines import BY_COMPONENT, CAPITALS, DOCUMENTS, EXAMPLES, answering, reading, staged
from tests.rows.service import EXACT, Service, plan_body
from tests.rows.table import row


@pytest.fixture(scope="module")
def rag(api: Service) -> str:
    """Two pipelines over one dataset: one is right, of the other the retriever is broken."""
    answers = {"good": answering(is_broken=False), "broken": answering(is_broken=True)}
    return api.pushed(EXAMPLES, answers, BY_COMPONENT)


@row("H-01", "whole pipelines, compared", "GET /v1/compare?a=A&b=B | metric, comparison")
def test_pipelines_are_compared(api: Service, rag: str) -> None:
    a, b = (api.config_id(rag, name) for name in ("good", "broken"))

    found = api.get(f"/v1/compare?a={a}&b={b}")

    assert (found["metric"], found["comparison"]["delta"], found["comparison"]["n"]) == ("em", 0.75, 4)


@row("H-02", "what each component put out is kept", "GET /v1/experiments/R/results | .output keys")
def test_intermediate_outputs_are_kept(api: Service, rag: str) -> None:
    outputs = [one["output"]["output"] for one in api.results(rag)]

    assert len(outputs) == 8
    assert [one for one in outputs if not {"retriever", "reader"} <= set(one)] == []


@row(
    "H-03",
    "isolated mode names the bottleneck",
    "GET …/live | .by_component.reader.isolated.em == 1 and integrated < 1",
)
def test_a_perfect_reader_behind_a_broken_retriever_is_seen(api: Service, rag: str) -> None:
    found = api.config(rag, "broken")["by_component"]["reader"]

    assert found["isolated"]["em alone"]["value"] == 1.0
    assert found["integrated"]["em"]["value"] == 0.25
    gaps = {one["name"]: one["gaps"] for one in api.get(f"/v1/experiments/{rag}/components")["configs"]}
    assert [one["gap"]["value"] for one in gaps["broken"] if one["component"] == "reader"] == [0.75]


@row("H-04", "metrics for each component", "GET …/live | .by_component.retriever.mrr and .reader.f1")
def test_each_component_has_its_metrics(api: Service, rag: str) -> None:
    found = api.config(rag, "good")["by_component"]

    assert found["retriever"]["integrated"]["mrr"]["value"] == 0.5
    assert found["reader"]["integrated"]["f1"]["value"] == 1.0


@row("H-05", "two readers compared, no retriever anywhere", "GET /v1/compare?a=reader&b=reader")
def test_components_are_compared_without_a_pipeline(api: Service) -> None:
    examples = [{"input": land, "expected": city, "contexts": [DOCUMENTS[land]]} for land, city in CAPITALS.items()]
    id = api.pushed(examples, {"one": reading, "other": lambda example: "Rome"})

    found = api.get(f"/v1/compare?a={api.config_id(id, 'one')}&b={api.config_id(id, 'other')}")

    assert found["comparison"]["delta"] == 0.75


@row("H-07", "a report: aggregates and the worst examples", "GET /v1/experiments/R/report?format=json")
def test_there_is_a_report(api: Service, rag: str) -> None:
    found = api.get(f"/v1/experiments/{rag}/report?format=json")

    assert (found["summary"]["primary_metric"], found["summary"]["n_examples"]) == ("em", 4)
    assert 0 < len(found["worst_examples"]) <= 3
    assert api.call("GET", f"/v1/experiments/{rag}/report?format=md").text.startswith("#")
    assert "<script" not in api.call("GET", f"/v1/experiments/{rag}/report?format=html").text


@row("H-12", "prompts with any template, against labels", "POST /v1/experiments, two chat configs; GET /v1/compare")
def test_two_prompts_are_compared(judged: Service, stub: Any) -> None:
    (connection,) = judged.get("/v1/connections")["connections"]
    chat = {"connection": connection["name"], "model": "stub-echo"}
    prompts = {"bare": "{{input}}", "wordy": "Question: {{input}}"}
    configs = [{"name": name, "kind": "chat", "parameters": {**chat, "prompt": text}} for name, text in prompts.items()]
    examples = [{"input": city, "expected": city} for city in CAPITALS.values()]

    id = judged.experiment(judged.dataset(examples), configs)["id"]
    judged.done(id)

    a, b = (judged.config_id(id, name) for name in prompts)
    assert judged.get(f"/v1/compare?a={a}&b={b}")["comparison"]["delta"] == 1.0


@row("H-14", "anything with JSON in and out can be run", 'POST /v1/experiments {"kind": "http"}')
def test_an_unknown_kind_of_component_is_run(api: Service, application: Application) -> None:
    url = application.serve("/odd", lambda body: {"gadget": CAPITALS[body["input"]]})
    config = {"name": "odd", "kind": "http", "parameters": {"url": url, "output": {"output": "/gadget"}}}
    examples = [{"input": land, "expected": city} for land, city in CAPITALS.items()]

    id = api.experiment(api.dataset(examples), [config])["id"]
    api.done(id)

    assert (api.value(id, "em"), application.calls["/odd"]) == (1.0, 4)


@row("H-17", "blind outputs of two are looked at side by side", "POST /v1/comparisons; GET …/judgements")
def test_blind_outputs_are_compared(api: Service) -> None:
    blind = [{"id": land, "input": land} for land in CAPITALS]
    words = [{"name": "words", "source": "client", "value_range": [0, 9]}]
    id = api.pushed(blind, {"one": lambda example: "Rome", "other": lambda example: "Oslo"}, words)

    body = {"experiment_id": id, "judge": {"metric": "words"}}
    made = api.post("/v1/comparisons", body)["comparison"]["id"]

    rows = api.get(f"/v1/comparisons/{made}/judgements")["judgements"]
    assert sorted(row["example_id"] for row in rows) == sorted(CAPITALS)
    shown = {row["id"]: row["output"]["output"] for row in api.results(id)}
    assert {(shown[row["first_output_id"]], shown[row["second_output_id"]]) for row in rows} == {("Rome", "Oslo")}


@row(
    "H-18",
    "a result keeps what was run, on what, and what came",
    "GET …/report | .target_snapshot; …/results | input, expected, output",
)
def test_a_result_keeps_its_definition_inputs_and_outputs(api: Service, rag: str) -> None:
    made = api.get(f"/v1/experiments/{rag}")["experiment"]

    assert [one["kind"] for one in made["configs"]] == ["push", "push"]
    assert api.get(f"/v1/experiments/{rag}/report")["target_snapshot"]
    assert {key: made["plan"][key] for key in ("dataset_version", "n_examples")} == {
        "dataset_version": 1,
        "n_examples": 4,
    }
    assert all(one["input"] and one["expected"] and one["output"] for one in api.results(rag))


@row("H-20", "metrics later, again and again, nothing run again", "POST /v1/experiments/R/metrics; the stub's counter")
def test_a_second_evaluation_asks_nobody(api: Service, application: Application) -> None:
    url = application.serve("/once", lambda body: CAPITALS[body["input"]])
    examples = [{"input": land, "expected": city} for land, city in CAPITALS.items()]
    id = api.experiment(api.dataset(examples), [{"name": "app", "kind": "http", "parameters": {"url": url}}])["id"]
    api.done(id)

    api.post(
        f"/v1/experiments/{id}/metrics",
        {"metrics": [{"name": "f1", "evaluator": "metrics", "criteria": "compute-squad-f1"}]},
    )
    api.done(id)

    assert (api.value(id, "f1"), application.calls["/once"]) == (1.0, 4)


@row("H-21", "outputs simulated for chosen components", 'configs[].simulated_outputs {"retriever": {…}}')
def test_a_simulated_component_is_not_called(api: Service, application: Application) -> None:
    config = staged(application, "given")
    config["parameters"]["simulated_outputs"] = {"retriever": {"documents": [DOCUMENTS["Italy"]]}}

    id = api.experiment(api.dataset(EXAMPLES), [config], [{**EXACT, "component": "reader"}])["id"]
    api.done(id)

    assert application.calls["/given/find"] == 0
    assert all(asked["passages"] == [DOCUMENTS["Italy"]] for asked in application.asked["/given/read"])
    assert api.value(id, "em") == 0.25


@row("H-22", "expected outputs as the simulated ones", '"simulate_from": "expected"')
def test_a_component_is_simulated_by_its_label(api: Service, application: Application) -> None:
    config = staged(application, "labelled", simulate_from="expected")

    id = api.experiment(api.dataset(EXAMPLES), [config], [{**EXACT, "component": "reader"}])["id"]
    api.done(id)

    assert application.calls["/labelled/find"] == 0
    assert api.value(id, "em") == 1.0


@row("H-23", "partial results while it runs", "GET …/results between two leases | length grows")
def test_partial_results_are_read(api: Service) -> None:
    examples = [{"input": str(i), "expected": str(i)} for i in range(6)]
    made = api.experiment(api.dataset(examples), [{"name": "mine", "kind": "push"}], micro_batch=2)
    (config,) = made["configs"]

    seen = []
    for _ in range(3):
        api.answer(made["id"], config["id"], lambda example: example["input"], most=2)
        seen.append(len(api.results(made["id"])))

    assert seen == [2, 4, 6]


@row("H-24", "how far it is, and the final result", "GET …/live | .configs[].n_done of .experiment.n_examples, ETag")
def test_progress_only_grows_and_ends_whole(api: Service) -> None:
    examples = [{"input": str(i), "expected": str(i)} for i in range(4)]
    made = api.experiment(api.dataset(examples), [{"name": "mine", "kind": "push"}], micro_batch=1)
    (config,) = made["configs"]

    seen = [api.config(made["id"])["n_done"]]
    while api.answer(made["id"], config["id"], lambda example: example["input"], most=1):
        seen.append(api.config(made["id"])["n_done"])

    assert seen == [0, 1, 2, 3, 4]
    assert api.live(made["id"])["experiment"]["state"] == "done"


@row("H-28", "an input without a component's name, when only one takes it", "POST /v1/experiments (pipeline)")
def test_a_shorthand_input_finds_its_node(api: Service, application: Application) -> None:
    config = staged(application, "short")
    config["parameters"]["nodes"]["retriever"]["body"] = {"q": "{{query}}"}
    config["parameters"]["inputs"] = {"query": "{{input.query}}"}

    made = api.experiment(api.dataset(EXAMPLES), [config], [{**EXACT, "component": "reader"}])
    api.done(made["id"])

    assert made["configs"][0]["parameters"]["inputs"] == {"retriever": {"query": "{{input.query}}"}}
    assert [asked["q"] for asked in application.asked["/short/find"]].count("Italy") == 1


@row("H-29", "an ambiguous one is refused before anything runs", "POST /v1/experiments (pipeline) | 422 naming both")
def test_an_ambiguous_shorthand_is_refused(api: Service, application: Application) -> None:
    config = staged(application, "both")
    for node in config["parameters"]["nodes"].values():
        node["body"] = {**node["body"], "q": "{{query}}"}
    config["parameters"]["inputs"] = {"query": "{{input.query}}"}

    told = api.refused("/v1/experiments", plan_body(api.dataset(EXAMPLES), [config]))

    assert "retriever" in told and "reader" in told
    assert (application.calls["/both/find"], application.calls["/both/read"]) == (0, 0)


@row("H-30", "expectations by component; an unknown one is refused", 'expected: {"reader": …}; 422 for "raeder"')
def test_expectations_name_components(api: Service, rag: str) -> None:
    examples = [{"input": "Italy", "expected": {"raeder": {"answer": "Rome"}}}]
    config = {"name": "x", "kind": "push", "parameters": {"components": ["retriever", "reader"]}}

    told = api.refused("/v1/experiments", plan_body(api.dataset(examples), [config]))

    assert "raeder" in told
    assert api.value(rag, "em", "good") == 1.0


@row("H-31", "a runnable that hides its components is run end to end", "mode: isolated | not_applicable, em scored")
def test_an_opaque_runnable_has_integrated_metrics_only(api: Service) -> None:
    examples = [{"input": land, "expected": city} for land, city in CAPITALS.items()]
    metrics = [EXACT, {**EXACT, "name": "alone", "component": "reader", "mode": "isolated"}]

    id = api.pushed(examples, {"opaque": lambda example: CAPITALS[example["input"]]}, metrics)

    found = api.config(id)["metrics"]
    assert (found["em"]["value"], found["em"]["n"]) == (1.0, 4)
    assert (found["alone"]["value"], found["alone"]["n_na"], found["alone"]["n_error"]) == (None, 4, 0)


@row("H-32", "loops: integrated only", "POST /v1/experiments (pipeline with a cycle) | 422; as http or push: runs")
def test_a_cycle_is_refused_as_a_pipeline_and_run_as_a_whole(api: Service, application: Application) -> None:
    config = staged(application, "loop")
    config["parameters"]["nodes"]["retriever"]["body"] = {"q": "{{reader.answer}}"}

    assert "reader" in api.refused("/v1/experiments", plan_body(api.dataset(EXAMPLES), [config]))
    circle = {"connections": ["retriever.documents -> reader.documents", "reader.answer -> retriever.query"]}
    whole = {"name": "agent", "kind": "push", "parameters": {"components": ["retriever", "reader"], **circle}}
    metrics = [{**EXACT, "component": "reader"}]
    both = plan_body(api.dataset(EXAMPLES), [whole], metrics, modes=["integrated", "isolated"])
    assert "isolated" in api.refused("/v1/experiments", both)
    made = api.experiment(api.dataset(EXAMPLES), [whole], metrics)
    api.answer(made["id"], made["configs"][0]["id"], answering(is_broken=False))
    assert api.value(made["id"], "em") == 1.0


@row("H-34", "metrics at a lower k, nothing run again", 'POST …/metrics {"name": "recall@1"}')
def test_recall_at_a_lower_k_equals_a_run_that_stops_there(api: Service, rag: str) -> None:
    api.post(f"/v1/experiments/{rag}/metrics", {"metrics": [{"name": "recall@1", "component": "retriever"}]})
    api.done(rag)

    def cut(example: dict[str, Any]) -> Any:
        found = answering(is_broken=False)(example)
        found["output"]["retriever"]["documents"] = found["output"]["retriever"]["documents"][:1]
        return found

    again = api.pushed(EXAMPLES, {"good": cut}, BY_COMPONENT)
    assert api.value(rag, "recall", "good") == 1.0
    assert api.value(rag, "recall@1", "good") == api.value(again, "recall", "good") == 0.0
