"""Metrics of one component: what it made of its predecessors' outputs, and what it makes of the expected ones."""

from __future__ import annotations

from typing import Any

from tests.conftest import Caller, scores_of
from tests.experiments.conftest import (
    EXACT,
    by_name,
    live,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import PUSH, Runner, results

DOCUMENTS = [{"id": f"d{i}", "content": f"Passage {i}."} for i in range(4)]
EXAMPLES = [
    {
        "id": f"e{i}",
        "input": {"query": f"q{i}"},
        "expected": {"retriever": {"documents": [DOCUMENTS[0]]}, "reader": {"answer": f"a{i}"}},
    }
    for i in range(4)
]
READER = {**EXACT, "name": "em", "component": "reader"}
ALONE = {**READER, "name": "em alone", "mode": "isolated"}
RECALL = {"name": "recall", "component": "retriever"}


def answered(example: Any) -> dict[str, Any]:
    """A retriever that finds the passage second, and a reader that is right about even examples only."""
    answer = example["expected"]["reader"]["answer"] if example["pos"] % 2 else "wrong"
    return {"retriever": {"documents": [DOCUMENTS[1], DOCUMENTS[0]]}, "reader": {"answer": answer}}


def alone(example: Any) -> dict[str, Any]:
    return {"reader": {"answer": example["expected"]["reader"]["answer"]}}


def pushed(caller: Caller, made: Any, isolated: Any = alone) -> None:
    runner = Runner(caller, made)
    while unit := runner.lease()["unit"]:
        rows = [{"pos": e["pos"], "output": answered(e), "isolated": isolated(e)} for e in unit["examples"]]
        runner.post(unit, rows)


def test_a_metric_reads_its_component(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, RECALL])
    pushed(alice, made)
    found = by_name(live(alice, made["id"]))["mine"]["by_component"]
    assert found["reader"]["integrated"]["em"]["value"] == 0.5
    assert found["retriever"]["integrated"]["recall"]["value"] == 1.0
    assert recounted(alice, made["id"]) == []


def test_an_isolated_metric_reads_what_came_of_the_labels(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, ALONE])
    pushed(alice, made)
    found = by_name(live(alice, made["id"]))["mine"]["by_component"]["reader"]
    assert (found["integrated"]["em"]["value"], found["isolated"]["em alone"]["value"]) == (0.5, 1.0)
    # Only what the application said is its history.
    assert len(scores_of(alice, "exact-match")) == 4
    assert recounted(alice, made["id"]) == []


def test_the_results_show_what_was_isolated(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, ALONE])
    pushed(alice, made)
    row = results(alice, made, "example_id=e0")[0]
    assert row["isolated"] == {"reader": {"answer": "a0"}}
    assert row["by_component"]["reader"]["isolated"] == {"em alone": 1.0}


def test_without_an_isolated_output_the_metric_does_not_apply(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, ALONE])
    pushed(alice, made, isolated=lambda example: None)
    view = by_name(live(alice, made["id"]))["mine"]["metrics"]["em alone"]
    assert (view["n"], view["n_na"], view["n_error"], view["value"]) == (0, 4, 0, None)
    score = results(alice, made, "example_id=e0")[0]["scores"]["em alone"]
    assert score["error_code"] == "not_applicable"
    assert "'reader'" in score["error_message"]


def test_an_output_that_hides_its_components_has_no_metrics_of_them(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER])
    Runner(alice, made).run(lambda example: "only the answer")
    score = results(alice, made, "example_id=e0")[0]["scores"]["em"]
    assert (score["value"], score["error_code"]) == (None, "not_applicable")


def test_pointers_start_in_the_component(alice: Caller) -> None:
    pointed = {**READER, "name": "pointed", "sample": {"output": "/output/texts/0", "gold": "/expected/reader/answer"}}
    made = make_experiment(
        alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[pointed], sample={"output": "/output/retriever"}
    )
    Runner(alice, made).run(lambda e: {"retriever": "x", "reader": {"texts": [e["expected"]["reader"]["answer"]]}})
    assert by_name(live(alice, made["id"]))["mine"]["metrics"]["pointed"]["value"] == 1.0


def test_a_reader_is_judged_by_the_passages_that_it_was_given() -> None:
    from evalsvc.experiments.definition.fields.components import ComponentPart, integrated_part, isolated_part

    output = {"output": {"retriever": {"documents": ["found"]}, "reader": {"answer": "x"}}}
    example = {"expected": {"retriever": {"documents": ["wanted"]}, "reader": {"answer": "x"}}, "contexts": None}
    fed = integrated_part(example, output, "reader")
    isolated = isolated_part(example, {"reader": {"answer": "x"}}, "reader")
    assert isinstance(fed, ComponentPart)
    assert isinstance(isolated, ComponentPart)
    assert (fed.components["contexts"], isolated.components["contexts"]) == (["found"], ["wanted"])


def test_a_component_that_the_config_does_not_have_is_refused_before_the_run(alice: Caller) -> None:
    config = {**PUSH, "parameters": {"components": ["retriever", "reader"]}}
    plan = {"dataset_id": make_dataset(alice, EXAMPLES), "metrics": [{**READER, "component": "raeder"}]}
    answer = ok(alice.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [config]}), 422)
    assert answer["errors"][0]["pointer"] == "/plan/metrics/0/component"


def test_isolated_needs_a_component(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, EXAMPLES), "metrics": [{**EXACT, "mode": "isolated"}]}
    answer = ok(alice.post("/v1/experiments", {"name": "x", "plan": plan}), 422)
    assert answer["errors"][0]["pointer"] == "/plan/metrics/0/mode"


def test_recall_at_a_lower_k_needs_no_new_run(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[RECALL])
    pushed(alice, made)
    lower = [{**RECALL, "name": "recall@1"}, {**RECALL, "name": "mrr", "k": 1}]
    ok(alice.post(f"/v1/experiments/{made['id']}/metrics", {"metrics": lower}))
    run_units()
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]
    assert [found[name]["value"] for name in ("recall", "recall@1", "mrr")] == [1.0, 0.0, 0.0]
    assert recounted(alice, made["id"]) == []


def test_only_metrics_of_ranks_have_a_k(alice: Caller) -> None:
    plan = {"dataset_id": make_dataset(alice, EXAMPLES), "metrics": [{**EXACT, "k": 3}]}
    answer = ok(alice.post("/v1/experiments", {"name": "x", "plan": plan}), 422)
    assert answer["errors"][0]["pointer"] == "/plan/metrics/0/k"


def test_a_component_that_breaks_alone_is_an_error_and_no_score(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, ALONE])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    rows = [{"pos": e["pos"], "output": answered(e), "isolated_errors": {"reader": "broke"}} for e in unit["examples"]]
    runner.post(unit, rows)
    view = by_name(live(alice, made["id"]))["mine"]["metrics"]["em alone"]
    assert (view["n"], view["n_error"], view["n_na"]) == (0, 4, 0)
    assert "broke" in results(alice, made, "example_id=e0")[0]["scores"]["em alone"]["error_message"]
    assert recounted(alice, made["id"]) == []


def test_what_ran_alone_is_kept_beside_a_failed_answer(alice: Caller) -> None:
    made = make_experiment(alice, make_dataset(alice, EXAMPLES), [PUSH], metrics=[READER, ALONE])
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    error = {"type": "bug", "message": "the retriever is down"}
    runner.post(unit, [{"pos": e["pos"], "error": error, "isolated": alone(e)} for e in unit["examples"]])
    found = by_name(live(alice, made["id"]))["mine"]["metrics"]
    assert (found["em"]["n_error"], found["em alone"]["value"]) == (4, 1.0)
