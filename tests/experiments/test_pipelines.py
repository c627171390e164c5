"""Pipelines: what is refused before a run, what a run answers, and what is asked only once."""

from __future__ import annotations

from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
    RunningStub,
    by_name,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.piping import READER_EM, RECALL, Rag, examples, refused, run
from tests.experiments.pushing import results


def test_nodes_read_each_other_and_the_answer_is_the_output(alice: Caller, rag: Rag) -> None:
    made = run(alice, [rag.pipeline()], metrics=[READER_EM, RECALL, {**EXACT, "sample": {"gold": "/expected/reader"}}])
    row = results(alice, made, "example_id=e3")[0]
    assert row["output"] == {
        "output": "a3",
        "retriever": {"documents": [{"id": "d-a3", "content": "a3"}]},
        "reader": {"answer": "a3"},
    }
    found = by_name(live(alice, made["id"]))["rag"]
    assert found["by_component"]["reader"]["integrated"]["em"]["value"] == 1.0
    assert found["by_component"]["retriever"]["integrated"]["recall"]["value"] == 1.0
    assert found["metrics"]["accuracy"]["value"] == 1.0


def test_every_output_says_how_its_nodes_came_by_theirs(alice: Caller, rag: Rag) -> None:
    made = run(alice, [rag.pipeline()], n=2, metrics=[READER_EM])
    row = results(alice, made, "example_id=e1")[0]
    stages = row["stages"]["integrated"]
    assert set(stages) == {"retriever", "reader"}
    assert row["latency_ms"] == pytest.approx(sum(stage["latency_ms"] for stage in stages.values()))
    assert row["stages"]["paid"]["n_asked"] == 2


def test_configs_that_share_a_stage_ask_it_once(alice: Caller, rag: Rag) -> None:
    readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(4)]
    configs = [rag.pipeline(f"reader {i}", nodes={"reader": reader}) for i, reader in enumerate(readers)]
    made = run(alice, configs, n=20, metrics=[READER_EM])
    assert rag.asked == {"retriever": 20, "reader": 80}
    view = live(alice, made["id"])
    assert (view["experiment"]["n_queries"], view["experiment"]["n_saved"]) == (100, 60)
    assert {config["metrics"]["em"]["value"] for config in view["configs"]} == {1.0}


def test_a_stage_that_is_not_to_be_reused_is_asked_by_everybody(alice: Caller, rag: Rag) -> None:
    readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(2)]
    nodes = [{"retriever": rag.retriever(reuse=False), "reader": reader} for reader in readers]
    run(alice, [rag.pipeline(f"c{i}", nodes=one) for i, one in enumerate(nodes)], n=4, metrics=[READER_EM])
    assert rag.asked["retriever"] == 8


def test_a_failure_is_not_reused(alice: Caller, rag: Rag) -> None:
    from tests.faults.application import as_json

    def failing(body: Any) -> Any:
        return as_json({}, 400) if body["of"] == "retriever" and not rag.asked[body["query"]] else rag.answer(body)

    def once(body: Any) -> Any:
        answer = failing(body)
        rag.asked[str(body.get("query"))] += 1
        return answer

    rag.server.answer = once
    readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(2)]
    configs = [rag.pipeline(f"c{i}", nodes={"reader": reader}) for i, reader in enumerate(readers)]
    made = run(alice, configs, n=4, metrics=[READER_EM])
    rows = results(alice, made)
    failed = [row for row in rows if row["status"] == "error"]
    assert (len(failed), len(rows)) == (4, 8)
    assert all("'retriever'" in row["error_message"] for row in failed)


def test_money_is_counted_once_and_shown_everywhere(alice: Caller, stub: RunningStub) -> None:
    prices = {"price_input_per_million": "1000", "price_output_per_million": "1000"}
    connection = make_connection(alice, stub.base_url, **prices)
    shared = {"kind": "chat", "connection": connection, "model": "stub-echo", "prompt": "{{input.q}}", "temperature": 0}
    configs = [
        {
            "name": f"c{i}",
            "kind": "pipeline",
            "parameters": {
                "nodes": {
                    "first": shared,
                    "second": {**shared, "temperature": 0.5, "prompt": f"{i} {{{{first.output}}}}"},
                }
            },
        }
        for i in range(3)
    ]
    made = make_experiment(
        alice,
        make_dataset(alice, [{**one, "expected": "x"} for one in examples(4)]),
        configs,
        metrics=[{"name": "cost", "source": "cost"}],
    )
    finish(alice, made["id"])
    view = live(alice, made["id"])
    rows = results(alice, made)
    paid = sum(row["stages"]["paid"]["cost"] for row in rows)
    assert view["experiment"]["cost"] == pytest.approx(paid)
    assert (view["experiment"]["n_queries"], view["experiment"]["n_saved"]) == (16, 8)
    # What an answer costs whoever asks for it alone: the same for all, whoever has paid.
    assert all(row["cost"] == sum(s["cost"] for s in row["stages"]["integrated"].values()) for row in rows)
    assert paid < sum(row["cost"] for row in rows)
    assert recounted(alice, made["id"]) == []


def test_components_are_of_the_account(bob: Caller, charlie: Caller, alice: Caller, rag: Rag) -> None:
    made = make_experiment(alice, make_dataset(alice, examples(2)), [rag.pipeline()], start=False)
    assert ok(bob.get(f"/v1/experiments/{made['id']}/components"))["configs"][0]["name"] == "rag"
    ok(charlie.get(f"/v1/experiments/{made['id']}/components"), 404)


def test_a_preview_counts_the_queries_of_nodes_and_those_that_are_shared(alice: Caller, rag: Rag) -> None:
    readers = [rag.reader(body={**rag.reader()["body"], "style": style}) for style in range(4)]
    configs = [rag.pipeline(f"reader {i}", nodes={"reader": reader}) for i, reader in enumerate(readers)]
    plan = {"dataset_id": make_dataset(alice, examples(10)), "metrics": [READER_EM]}
    found = ok(alice.post("/v1/experiments/preview", {"name": "x", "plan": plan, "configs": configs}))
    assert (found["n_queries"], found["n_saved"]) == (10 + 40, 30)
    plan["modes"] = ["integrated", "isolated"]
    found = ok(alice.post("/v1/experiments/preview", {"name": "x", "plan": plan, "configs": configs[:1]}))
    assert found["n_queries"] == 30


def test_a_preview_estimates_nodes_that_read_others(alice: Caller, rag: Rag, stub: RunningStub) -> None:
    prices = {"price_input_per_million": "1", "price_output_per_million": "1"}
    connection = make_connection(alice, stub.base_url, **prices)
    reader = {"kind": "chat", "connection": connection, "prompt": "{{retriever.documents}} {{input.q}}"}
    plan = {"dataset_id": make_dataset(alice, examples(10)), "metrics": [READER_EM]}
    config = rag.pipeline(nodes={"reader": reader}, output="reader")
    found = ok(alice.post("/v1/experiments/preview", {"name": "x", "plan": plan, "configs": [config]}))
    assert found["configs"][0]["problem"] is None
    assert found["likely"]["n_tokens"] > 0
    assert found["likely"]["cost"] > 0.0
    assert found["cost"] is None
    assert found["warnings"] == ["node_outputs_assumed"]


@pytest.mark.parametrize("way", ["given", "by id", "expected", "metadata", "no kind"])
def test_a_simulated_component_is_not_called(alice: Caller, rag: Rag, way: str) -> None:
    given = {"documents": [{"id": "d", "content": "simulated"}]}
    rows = [{**row, "metadata": {"found": given}} for row in examples(3)]
    by_way: dict[str, dict[str, Any]] = {
        "given": {"simulated_outputs": {"retriever": given}},
        "by id": {"simulated_outputs_by_id": {f"e{i}": {"retriever": given} for i in range(3)}},
        "expected": {"nodes": {"retriever": rag.retriever(simulate_from="expected")}},
        "metadata": {"nodes": {"retriever": rag.retriever(simulate_from="/metadata/found")}},
        "no kind": {"nodes": {"retriever": {"simulate_from": "expected"}}},
    }
    made = make_experiment(alice, make_dataset(alice, rows), [rag.pipeline(**by_way[way])], metrics=[READER_EM])
    finish(alice, made["id"])
    # The reader is asked once where all three examples gave it the same.
    assert rag.asked == {"reader": 3 if way in ("expected", "no kind") else 1}
    row = results(alice, made, "example_id=e2")[0]
    assert row["output"]["output"] == ("a2" if way in ("expected", "no kind") else "simulated")
    assert row["stages"]["integrated"]["retriever"]["simulated"]


def test_an_input_without_a_node_is_that_of_the_only_one_that_has_it(alice: Caller, rag: Rag) -> None:
    retriever = rag.retriever(body={"of": "retriever", "query": "{{query}}"})
    config = rag.pipeline(nodes={"retriever": retriever}, inputs={"query": "{{input.q}}"})
    made = run(alice, [config], n=3, metrics=[READER_EM])
    assert made["configs"][0]["parameters"]["inputs"] == {"retriever": {"query": "{{input.q}}"}}
    assert by_name(live(alice, made["id"]))["rag"]["metrics"]["em"]["value"] == 1.0


def test_an_input_that_two_nodes_have_is_refused(alice: Caller, rag: Rag) -> None:
    nodes = {
        "retriever": rag.retriever(body={"of": "retriever", "query": "{{query}}"}),
        "reader": rag.reader(body={**rag.reader()["body"], "query": "{{query}}"}),
    }
    (error,) = refused(alice, rag.pipeline(nodes=nodes, inputs={"query": "{{input.q}}"}))
    assert error["pointer"] == "/configs/0/parameters/inputs/query"
    assert "`retriever` and `reader`" in error["detail"]
    assert rag.asked == {}


def loose(rag: Rag) -> dict[str, Any]:
    return {"nodes": {"ranker": rag.retriever()}}


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ("{{ranker.documents}}", "/configs/0/parameters/nodes/reader"),
        ("{{retriever.passages}}", "/configs/0/parameters/nodes/reader"),
        ("{{reader.answer}}", "/configs/0/parameters/nodes"),
        ("{{expected}}", "/configs/0/parameters/nodes/reader"),
        ("{{input.question}}{{retriever}}", "/configs/0/parameters"),
        ("none", "/configs/0/parameters/nodes/retriever"),
    ],
)
def test_what_no_node_could_read_is_refused(alice: Caller, rag: Rag, body: str, pointer: str) -> None:
    errors = refused(alice, rag.pipeline(nodes={"reader": rag.reader(body={"of": "reader", "documents": body})}))
    assert errors[0]["pointer"] == pointer
    assert rag.asked == {}


@pytest.mark.parametrize(
    ("changes", "pointer"),
    [
        ({"output": "raeder"}, "/output"),
        ({"output": None, "nodes": {"reader": {"simulate_from": "expected"}}}, "/output"),
        ({"nodes": {"reader": {"kind": "push"}}}, "/nodes/reader/kind"),
        ({"nodes": {"a.b": {"kind": "http"}}}, "/nodes/a.b"),
        ({"nodes": {"contexts": {"kind": "http"}}}, "/nodes/contexts"),
        ({"nodes": {"retriever": {"kind": "http", "url": "file:///etc/passwd"}}}, "/nodes/retriever/url"),
        (
            {"nodes": {"reader": {"kind": "chat", "connection": "none", "prompt": "{{retriever}}"}}},
            "/nodes/reader/connection",
        ),
        ({"nodes": {}, "simulated_outputs": {"raeder": {}}}, "/simulated_outputs/raeder"),
        ({"nodes": {"retriever": {"simulate_from": "/metadata/nothing"}}}, "/nodes/retriever/simulate_from"),
        ({"unknown": 1}, "/unknown"),
    ],
)
def test_bad_pipelines_are_refused(alice: Caller, rag: Rag, changes: dict[str, Any], pointer: str) -> None:
    errors = refused(alice, rag.pipeline(**changes))
    assert f"/configs/0/parameters{pointer}" in [error["pointer"] for error in errors]


def test_an_expectation_of_an_unknown_component_is_refused(alice: Caller, rag: Rag) -> None:
    rows = [{**row, "expected": {**row["expected"], "ranker": {"documents": []}}} for row in examples(2)]
    errors = refused(alice, rag.pipeline(), dataset_id=make_dataset(alice, rows))
    assert errors[0]["pointer"] == "/plan/dataset_id"
    assert "`ranker`" in errors[0]["detail"]


def test_a_knob_may_lie_in_a_node(alice: Caller, rag: Rag) -> None:
    config = {**rag.pipeline(), "search": {"nodes": {"reader": {"body": {"style": [1, 2]}}}}}
    made = make_experiment(alice, make_dataset(alice, examples(2)), [config], metrics=[READER_EM], start=False)
    assert [one["name"] for one in made["configs"]] == ["rag style=1", "rag style=2"]


def test_a_clone_changes_a_node(alice: Caller, rag: Rag) -> None:
    made = run(alice, [rag.pipeline()], n=4, metrics=[READER_EM])
    at = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    cloned = ok(alice.post(at, {"changes": {"/nodes/reader/body/style": 2}}))["config"]
    assert cloned["parameters"]["nodes"]["reader"]["body"]["style"] == 2
    finish(alice, made["id"])
    assert rag.asked == {"retriever": 4, "reader": 8}


def test_a_budget_counts_the_queries_of_nodes(alice: Caller, rag: Rag) -> None:
    made = make_experiment(
        alice, make_dataset(alice, examples(20)), [rag.pipeline()], metrics=[READER_EM], budget={"queries": 12}
    )
    run_units()
    assert live(alice, made["id"])["experiment"]["n_queries"] <= 12
    assert sum(rag.asked.values()) <= 12


def test_a_secret_goes_to_its_node_and_nowhere_else(alice: Caller, rag: Rag) -> None:
    secret = "sk-of-the-retriever-0815"
    connection = make_connection(alice, rag.server.url, key=secret)
    headers = {"Authorization": f"Bearer {{{{connection.{connection}}}}}"}
    made = run(alice, [rag.pipeline(nodes={"retriever": rag.retriever(headers=headers)})], n=2, metrics=[READER_EM])
    sent = {body["of"]: sent.get("authorization") for _, sent, body in rag.server.asked}
    assert sent == {"retriever": f"Bearer {secret}", "reader": None}
    for path in ("", "/live", "/results", "/components"):
        assert secret.encode() not in alice.get(f"/v1/experiments/{made['id']}{path}").content


def test_another_key_is_another_question(alice: Caller, rag: Rag) -> None:
    """What an application answers may depend on who asks."""
    connections = [make_connection(alice, rag.server.url, key=f"sk-{i}-0123456789") for i in range(2)]
    nodes = [
        {"retriever": rag.retriever(headers={"X-Key": f"{{{{connection.{connection}}}}}"})}
        for connection in connections
    ]
    run(alice, [rag.pipeline(f"c{i}", nodes=one) for i, one in enumerate(nodes)], n=3, metrics=[READER_EM])
    assert rag.asked["retriever"] == 6


def test_a_node_takes_its_prompt_by_name(alice: Caller, rag: Rag, stub: RunningStub) -> None:
    from tests.prompts.shapes import revise

    revise(alice, prompt_name="reading", body="{{retriever.documents}}")
    reader = {"kind": "chat", "connection": make_connection(alice, stub.base_url), "prompt_from": {"name": "reading"}}
    made = run(alice, [rag.pipeline(nodes={"reader": reader}, output="reader")], n=2)
    pinned = made["configs"][0]["parameters"]["nodes"]["reader"]
    assert (pinned["prompt"], pinned["prompt_from"]["revision"]) == ("{{retriever.documents}}", 1)


def test_a_sampled_answer_is_kept_while_a_later_node_is_put_off(alice: Caller, stub: RunningStub) -> None:
    node = {"kind": "chat", "connection": make_connection(alice, stub.base_url), "temperature": 0.7}
    nodes = {
        "retriever": node | {"model": "stub-echo", "prompt": "{{input.q}}"},
        "reader": node | {"model": "stub-429", "prompt": "{{retriever.output}}"},
    }
    stub.reset()
    made = run(alice, [{"name": "c", "kind": "pipeline", "parameters": {"nodes": nodes}}], n=3)
    calls = stub.calls()["by_model"]
    assert (calls["stub-echo"], calls["stub-429"]) == (3, 6)
    assert live(alice, made["id"])["experiment"]["n_queries"] == 6


def test_a_retry_asks_only_the_nodes_that_failed(alice: Caller, rag: Rag) -> None:
    from tests.faults.application import as_json

    def failing(body: Any) -> Any:
        return as_json({}, 400) if str(body).count("a1'") and body["of"] == "reader" else rag.answer(body)

    rag.server.answer = failing
    made = run(alice, [rag.pipeline()], n=3, metrics=[READER_EM])
    assert (len(results(alice, made, "status=failed")), rag.asked["retriever"]) == (1, 3)
    rag.server.answer = rag.answer
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {}))
    run_units()

    assert results(alice, made, "status=failed") == []
    assert (rag.asked["retriever"], rag.asked["reader"]) == (3, 3)
    assert by_name(live(alice, made["id"]))["rag"]["by_component"]["reader"]["integrated"]["em"]["value"] == 1.0
    assert recounted(alice, made["id"]) == []


def test_a_retry_takes_over_what_the_first_try_has_found(alice: Caller, rag: Rag) -> None:
    from tests.faults.application import as_json

    broken = {"reader"}
    rag.server.answer = lambda body: as_json({}, 400) if body["of"] in broken else rag.answer(body)
    made = make_experiment(alice, make_dataset(alice, examples(3)), [rag.pipeline()], metrics=[READER_EM])
    run_units()
    broken.clear()
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}))
    run_units()
    assert by_name(live(alice, made["id"]))["rag"]["n_ok"] == 3
    assert rag.asked == {"retriever": 3, "reader": 3}
    # The three that the broken reader was asked in vain count too.
    assert live(alice, made["id"])["experiment"]["n_queries"] == 9
    assert recounted(alice, made["id"]) == []
