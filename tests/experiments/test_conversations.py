"""Configs that are asked turn by turn: the texts of a script, or those of a simulated user."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import (
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import results
from tests.judges.providers import Endpoint
from tests.judges.providers import chat as reply
from tests.judges.webhook_server import Server

TURNS = ["Refund order 7.", "It is broken.", "Thanks."]
PRICES = {"price_input_per_million": 1, "price_output_per_million": 2}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield Endpoint(server)
        server.shutdown()
        thread.join()


def talking(connection: str, **parameters: Any) -> dict[str, Any]:
    knobs = {"connection": connection, "model": "m", "prompt": "{{turn}}"} | parameters
    return {"name": "c", "kind": "chat", "parameters": knobs}


def test_a_model_is_asked_turn_by_turn(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("Why?"), reply("Done."), reply("Bye."))
    connection = make_connection(alice, endpoint.base_url, **PRICES)
    config = talking(connection, system="Be brief.", prompt="Customer: {{turn}}")
    made = make_experiment(alice, make_dataset(alice, [{"input": {"turns": TURNS}, "expected": "Bye."}]), [config])
    run_units()

    first, second, third = [body["messages"] for body in endpoint.read_requests()]
    assert first == [{"role": "system", "content": "Be brief."}, {"role": "user", "content": f"Customer: {TURNS[0]}"}]
    assert second[1:] == [
        {"role": "user", "content": TURNS[0]},
        {"role": "assistant", "content": "Why?"},
        {"role": "user", "content": f"Customer: {TURNS[1]}"},
    ]
    assert [message["content"] for message in third[1:]] == [
        TURNS[0],
        "Why?",
        TURNS[1],
        "Done.",
        f"Customer: {TURNS[2]}",
    ]
    (row,) = results(alice, made)
    assert [message["content"] for message in row["output"]["output"]["messages"]] == [
        *(TURNS[0], "Why?", TURNS[1], "Done.", TURNS[2], "Bye."),
    ]
    (config,) = live(alice, made["id"])["configs"]
    assert config["metrics"]["accuracy"]["value"] == 1.0
    assert config["cost"] == pytest.approx(3 * (100 * 1 + 10 * 2) / 1e6)
    assert live(alice, made["id"])["experiment"]["n_queries"] == 3
    assert recounted(alice, made["id"]) == []


def said(row: Any) -> list[tuple[str, Any]]:
    return [(message["role"], message.get("content")) for message in row["output"]["output"]["messages"]]


def refuse(handler: Any) -> None:
    handler.reply(400, b'{"error": {"message": "The prompt is not allowed.", "code": "content_filter"}}')


def held(caller: Caller, rows: list[Any], config: dict[str, Any], **plan: Any) -> tuple[Any, list[Any]]:
    """Run an experiment of one config to its end; return it with its results by position."""
    made = make_experiment(caller, make_dataset(caller, rows), [config], **plan)
    run_units()
    assert recounted(caller, made["id"]) == []
    return made, sorted(results(caller, made), key=lambda row: row["pos"])


def test_an_error_in_a_turn_fails_the_output_and_keeps_what_was_said(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("Why?"), reply("Done."), refuse)
    connection = make_connection(alice, endpoint.base_url, **PRICES)
    made, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "x"}], talking(connection))

    assert (row["status"], row["error_type"]) == ("error", "refused")
    assert row["error_message"].startswith("Turn 3: ")
    assert [text for _, text in said(row)] == [TURNS[0], "Why?", TURNS[1], "Done.", TURNS[2]]
    assert row["output"]["ended_by"] == "error"
    (config,) = live(alice, made["id"])["configs"]
    assert (config["metrics"]["accuracy"]["rows"]["n_failed"], config["metrics"]["accuracy"]["value"]) == (1, 0.0)
    assert config["cost"] == pytest.approx(2 * 120 / 1e6)


def test_messages_before_are_sent_before_the_only_question(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("42"))
    history = [{"role": "user", "content": "Hi."}, {"role": "assistant", "content": "Hello {{turn}}."}]
    rows = [{"input": {"messages": [*history, {"role": "user", "content": "How much {{input}}?"}]}, "expected": "42"}]
    _, (row,) = held(alice, rows, talking(make_connection(alice, endpoint.base_url)))

    (sent,) = endpoint.read_requests()
    assert sent["messages"] == rows[0]["input"]["messages"]  # type: ignore[index]
    assert said(row)[-2:] == [("user", "How much {{input}}?"), ("assistant", "42")]
    assert (row["output"]["ended_by"], row["scores"]["accuracy"]["value"]) == ("script", 1.0)


def test_a_call_of_a_tool_ends_the_conversation(alice: Caller, endpoint: Endpoint) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "refund", "arguments": '{"id": 7}'}}
    calling = {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}
    endpoint.server.says(reply("Which?"), {"model": "m-1", "choices": [calling]})
    tool = {"type": "function", "function": {"name": "refund", "parameters": {"type": "object", "required": ["id"]}}}
    metrics = [
        {"name": name, "evaluator": "trajectory", "criteria": f"patronus:trajectory-{name}"}
        for name in ("strict", "valid-arguments")
    ]
    rows = [{"input": {"turns": TURNS}, "expected": {"tool_calls": [{"name": "refund", "args": {"id": 7}}]}}]
    config = talking(make_connection(alice, endpoint.base_url), tools=[tool])
    _, (row,) = held(alice, rows, config, metrics=metrics)

    assert len(endpoint.read_requests()) == 2
    assert (row["status"], row["output"]["ended_by"]) == ("ok", "tool_calls")
    assert row["output"]["output"]["messages"][-1]["tool_calls"] == [call]
    assert {name: score["value"] for name, score in row["scores"].items()} == {"strict": 1.0, "valid-arguments": 1.0}


def refused(caller: Caller, config: dict[str, Any], row: Any) -> list[tuple[str, str]]:
    plan = {"dataset_id": make_dataset(caller, [row]), "metrics": [{"name": "a", "evaluator": "exact-match"}]}
    answer = ok(caller.post("/v1/experiments", {"name": "x", "plan": plan, "configs": [config]}), 422)
    return [(error["pointer"], error["detail"]) for error in answer["errors"]]


def test_a_script_has_at_most_thirty_turns(alice: Caller, endpoint: Endpoint) -> None:
    config = talking(make_connection(alice, endpoint.base_url))
    ((pointer, detail),) = refused(alice, config, {"id": "long", "input": {"turns": ["?"] * 31}})

    assert (pointer, detail) == (
        "/configs/0/parameters",
        "Example 'long' has 31 turns, and a conversation has at most 30.",
    )
    make_experiment(alice, make_dataset(alice, [{"input": {"turns": ["?"] * 30}}]), [config], start=False)


@pytest.mark.parametrize("turns", [[], "one", [""], [3], [None], {"a": 1}])
def test_a_dataset_without_a_script_is_refused(alice: Caller, endpoint: Endpoint, turns: Any) -> None:
    config = talking(make_connection(alice, endpoint.base_url))
    ((pointer, detail),) = refused(alice, config, {"input": {"turns": turns}})

    assert pointer == "/configs/0/parameters" and detail.startswith("None of the first examples has a script.")


@pytest.mark.parametrize(
    ("parameters", "pointer"),
    [
        ({"prompt": "{{turn.text}}"}, "/configs/0/parameters"),
        ({"prompt": "{{messages}}"}, "/configs/0/parameters"),
        ({"system": "{{turn}}", "prompt": "{{input}}"}, "/configs/0/parameters"),
        ({"prompt": "Hi", "simulated_user": {"connection": "CONNECTION", "goal": "x"}}, "/configs/0/parameters"),
        *[
            ({"simulated_user": user}, f"/configs/0/parameters/simulated_user{pointer}")
            for user, pointer in [
                (None, ""),
                ("text", ""),
                ({}, "/connection"),
                ({"connection": 3}, "/connection"),
                ({"connection": "nobody's"}, "/connection"),
                ({"connection": "CONNECTION", "goal": 3}, "/goal"),
                ({"connection": "CONNECTION", "goal": "{{expected}}"}, "/goal"),
                ({"connection": "CONNECTION", "persona": "{{turn}}"}, "/persona"),
                ({"connection": "CONNECTION", "stop": " "}, "/stop"),
                ({"connection": "CONNECTION", "max_turns": 0}, "/max_turns"),
                ({"connection": "CONNECTION", "max_turns": 31}, "/max_turns"),
                ({"connection": "CONNECTION", "max_turns": True}, "/max_turns"),
                ({"connection": "CONNECTION", "api_key": "x"}, "/api_key"),
            ]
        ],
    ],
)
def test_what_is_wrong_is_pointed_at(
    alice: Caller, endpoint: Endpoint, parameters: dict[str, Any], pointer: str
) -> None:
    connection = make_connection(alice, endpoint.base_url)
    if isinstance(user := parameters.get("simulated_user"), dict) and user.get("connection") == "CONNECTION":
        parameters = parameters | {"simulated_user": user | {"connection": connection}}
    errors = refused(alice, talking(connection, **parameters), {"input": {"turns": TURNS}})

    assert {at for at, _ in errors} == {pointer}


def test_the_connection_of_another_account_is_refused(alice: Caller, charlie: Caller, endpoint: Endpoint) -> None:
    theirs = make_connection(charlie, endpoint.base_url)
    config = talking(make_connection(alice, endpoint.base_url), simulated_user={"connection": theirs, "goal": "x"})
    ((pointer, detail),) = refused(alice, config, {"input": {"turns": TURNS}})

    assert pointer == "/configs/0/parameters/simulated_user/connection"
    assert detail == f"The account has no connection {theirs!r}; make it first."
