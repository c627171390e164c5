"""Pipelines with each node on what is expected of the one before: what that says, and when it is refused."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import (
    by_name,
    finish,
    live,
    make_dataset,
    make_experiment,
    ok,
)
from tests.experiments.piping import READER_EM, RECALL, Rag, examples, refused, run
from tests.experiments.pushing import results


def test_isolated_mode_finds_what_the_reader_could_do(alice: Caller, rag: Rag) -> None:
    rag.is_broken = True
    made = run(alice, [rag.pipeline()], n=30, metrics=[READER_EM, RECALL], modes=["integrated", "isolated"])
    found = by_name(live(alice, made["id"]))["rag"]["by_component"]
    assert found["reader"]["integrated"]["em"]["value"] == 0.0
    assert found["reader"]["isolated"]["em"]["value"] == 1.0
    assert found["retriever"]["isolated"]["recall"]["n_na"] == 30
    row = results(alice, made, "example_id=e0")[0]
    assert row["isolated"] == {"reader": {"answer": "a0"}}


def gaps_of(caller: Caller, made: Any, name: str = "rag") -> Any:
    view = ok(caller.get(f"/v1/experiments/{made['id']}/components"))
    return next(config for config in view["configs"] if config["name"] == name)


def test_the_gap_names_the_retriever_that_holds_the_reader_back(alice: Caller, rag: Rag) -> None:
    rag.is_broken = True
    made = run(alice, [rag.pipeline()], n=30, metrics=[READER_EM, RECALL], modes=["integrated", "isolated"])
    found = gaps_of(alice, made)
    (gap,) = [one for one in found["gaps"] if one["component"] == "reader"]
    assert (gap["integrated"], gap["isolated"], gap["gap"]["value"], gap["gap"]["n"]) == (0.0, 1.0, 1.0, 30)
    assert gap["gap"]["lower"] > 0.0
    assert (gap["gap"]["method"], gap["gap"]["covers"]) == ("bonett-price", "new data")
    assert gap["gap"]["this_set"] == {"lower": 1.0, "upper": 1.0}
    assert found["bottleneck"]["components"] == ["retriever"]
    assert found["bottleneck"]["seen_in"] == "reader"


def test_a_gap_of_two_examples_may_be_chance(alice: Caller, rag: Rag) -> None:
    rag.broken = {"q3", "q7"}
    made = run(alice, [rag.pipeline()], n=20, metrics=[READER_EM], modes=["integrated", "isolated"])
    found = gaps_of(alice, made)
    assert (found["gaps"][0]["integrated"], found["gaps"][0]["gap"]["n_improved"]) == (0.9, 2)
    assert found["gaps"][0]["gap"]["lower"] < 0.0 < found["gaps"][0]["gap"]["upper"]
    assert (found["bottleneck"], found["reason"]) == (None, "may_be_chance")


def test_a_pipeline_without_a_gap_has_no_bottleneck(alice: Caller, rag: Rag) -> None:
    made = run(alice, [rag.pipeline()], n=10, metrics=[READER_EM], modes=["integrated", "isolated"])
    found = gaps_of(alice, made)
    assert (found["gaps"][0]["gap"]["value"], found["bottleneck"], found["reason"]) == (0.0, None, "no_gap")


def test_examples_without_labels_have_no_pair(alice: Caller, rag: Rag) -> None:
    rows = examples(8)
    for row in rows[:3]:
        del row["expected"]["retriever"]
    made = make_experiment(
        alice, make_dataset(alice, rows), [rag.pipeline()], metrics=[READER_EM], modes=["integrated", "isolated"]
    )
    finish(alice, made["id"])
    (gap,) = gaps_of(alice, made)["gaps"]
    assert (gap["gap"]["n"], gap["n_unpaired"], gap["n_na"]) == (5, 3, 3)


def test_a_broken_predecessor_does_not_keep_a_node_from_running_alone(alice: Caller, rag: Rag) -> None:
    from tests.faults.application import as_json

    rag.server.answer = lambda body: as_json({}, 400) if body.get("query") == "q0" else rag.answer(body)
    made = run(alice, [rag.pipeline()], n=3, metrics=[READER_EM], modes=["integrated", "isolated"])
    found = by_name(live(alice, made["id"]))["rag"]["by_component"]["reader"]
    assert (found["integrated"]["em"]["n"], found["integrated"]["em"]["n_error"]) == (2, 1)
    assert (found["isolated"]["em"]["value"], found["isolated"]["em"]["n"]) == (1.0, 3)


def test_without_an_expectation_of_what_it_reads_a_node_is_not_run_alone(alice: Caller, rag: Rag) -> None:
    rows = [{**row, "expected": {"reader": row["expected"]["reader"]}} for row in examples(3)]
    made = make_experiment(
        alice, make_dataset(alice, rows), [rag.pipeline()], metrics=[READER_EM], modes=["integrated", "isolated"]
    )
    finish(alice, made["id"])
    score = results(alice, made, "example_id=e0")[0]["scores"]["em:isolated"]
    assert (score["value"], score["error_code"]) == (None, "not_applicable")
    assert "'retriever'" in score["error_message"]
    assert rag.asked == {"retriever": 3, "reader": 3}


def with_prompt(rag: Rag) -> dict[str, Any]:
    """A pipeline with a node between retriever and reader, of which no example expects anything."""
    body = {"of": "prompt", "documents": "{{retriever.documents}}"}
    prompt = {"kind": "http", "url": rag.server.url, "body": body, "output": {"documents": "/documents"}}
    reader = rag.reader(body={"of": "reader", "documents": "{{prompt.documents}}"})
    return rag.pipeline(nodes={"prompt": prompt, "reader": reader})


def pass_on(rag: Rag, body: Any) -> Any:
    """Answer as the application does; the node `prompt` gives on what it gets."""
    from tests.faults.application import as_json

    return as_json({"documents": body["documents"]}) if body["of"] == "prompt" else Rag.answer(rag, body)


def test_a_broken_retriever_is_found_behind_a_node_of_which_nothing_is_expected(alice: Caller, rag: Rag) -> None:
    rag.is_broken = True
    rag.server.answer = lambda body: pass_on(rag, body)
    made = run(alice, [with_prompt(rag)], n=20, metrics=[READER_EM], modes=["integrated", "isolated"])

    found = gaps_of(alice, made)
    (gap,) = found["gaps"]
    assert (gap["replaced"], gap["integrated"], gap["isolated"]) == (["retriever"], 0.0, 1.0)
    assert found["bottleneck"]["components"] == ["retriever"]


def test_a_node_that_fails_on_expected_inputs_is_the_error_of_its_reader(alice: Caller, rag: Rag) -> None:
    from tests.faults.application import as_json

    def answer(body: Any) -> Any:
        is_bad = body["of"] == "prompt" and body["documents"][0]["content"] == "a1"
        return as_json({}, 400) if is_bad else pass_on(rag, body)

    rag.server.answer = answer
    made = run(alice, [with_prompt(rag)], n=3, metrics=[READER_EM], modes=["integrated", "isolated"])

    found = by_name(live(alice, made["id"]))["rag"]["by_component"]["reader"]
    assert (found["isolated"]["em"]["n"], found["isolated"]["em"]["n_error"]) == (2, 1)
    score = results(alice, made, "example_id=e1")[0]["scores"]["em:isolated"]
    assert "'prompt', which it reads, failed" in score["error_message"]


def test_a_reader_that_does_as_well_on_the_labels_is_asked_once(alice: Caller, rag: Rag) -> None:
    made = run(alice, [rag.pipeline()], n=5, metrics=[READER_EM], modes=["integrated", "isolated"])
    assert rag.asked == {"retriever": 5, "reader": 5}
    assert live(alice, made["id"])["experiment"]["n_saved"] == 5


@pytest.mark.parametrize("kind", ["opaque", "cyclic"])
def test_isolated_mode_is_refused_where_components_cannot_run_alone(alice: Caller, rag: Rag, kind: str) -> None:
    loop = {
        "components": ["retriever", "reader"],
        "connections": ["retriever.x -> reader.x", "reader.y -> retriever.y"],
    }
    configs = {
        "opaque": {"name": "app", "kind": "http", "parameters": {"url": rag.server.url}},
        "cyclic": {"name": "agent", "kind": "push", "parameters": loop},
    }
    errors = refused(alice, configs[kind], modes=["integrated", "isolated"])
    assert errors[0]["pointer"] == "/configs/0/kind"
    make_experiment(alice, make_dataset(alice, examples(2)), [configs[kind]], start=False)


def answer_by_both(body: Any, *, is_ranker_broken: bool) -> Any:
    """Find one of the two documents that are needed, or both; rank them; answer from both."""
    from tests.faults.application import as_json

    if body["of"] == "reader":
        found = {document["id"] for document in body["documents"]}
        name = next((id for id in found if id.startswith("d-a")), "d-x")[2:]
        return as_json({"answer": name if "d-more" in found else "nothing"})
    if body["of"] == "retriever":
        first = {"id": f"d-a{body['query'][1:]}", "content": "x"}
        return as_json({"documents": [first, *([{"id": "d-more", "content": "y"}] if is_ranker_broken else [])]})
    return as_json({"documents": body["documents"][: 0 if is_ranker_broken else 2]})


@pytest.mark.parametrize(("is_ranker_broken", "culprit"), [(False, "retriever"), (True, "ranker")])
def test_a_retriever_that_is_half_broken_is_named(
    alice: Caller, rag: Rag, is_ranker_broken: bool, culprit: str
) -> None:
    rag.server.answer = lambda body: answer_by_both(body, is_ranker_broken=is_ranker_broken)
    body = {"of": "ranker", "documents": "{{retriever.documents}}"}
    ranker = {"kind": "http", "url": rag.server.url, "body": body, "output": {"documents": "/documents"}}
    reader = rag.reader(body={"of": "reader", "documents": "{{ranker.documents}}"})
    rows = examples(20)
    for row in rows:
        documents = [*row["expected"]["retriever"]["documents"], {"id": "d-more", "content": "y"}]
        row["expected"] |= {"retriever": {"documents": documents}, "ranker": {"documents": documents}}
    metrics = [READER_EM, RECALL, {"name": "kept", "evaluator": "metrics/recall", "component": "ranker"}]
    made = make_experiment(
        alice,
        make_dataset(alice, rows),
        [rag.pipeline(nodes={"ranker": ranker, "reader": reader})],
        metrics=metrics,
        modes=["integrated", "isolated"],
    )
    finish(alice, made["id"])

    found = gaps_of(alice, made)
    assert found["bottleneck"]["components"] == [culprit]
    assert found["bottleneck"]["seen_in"] == "reader"
