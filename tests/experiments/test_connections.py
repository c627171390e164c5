"""`chat` configs send what their connection states, and keep within its longest answer."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conftest import Caller
from tests.experiments.conftest import by_name, chat, live, make_connection, make_dataset, make_experiment, run_units
from tests.judges.providers import Endpoint
from tests.judges.providers import chat as reply
from tests.judges.webhook_server import Server

ROWS = [{"id": f"r{n}", "input": f"q{n}", "expected": "yes"} for n in range(3)]
PRICES = {"price_input_per_million": 1, "price_output_per_million": 2}


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Server() as server:
        server.says(reply("yes"))
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        yield Endpoint(server)
        server.shutdown()
        thread.join()


def run_config(caller: Caller, endpoint: Endpoint, fields: dict[str, Any], **parameters: Any) -> dict[str, Any]:
    connection = make_connection(caller, endpoint.base_url, **PRICES, **fields)
    made = make_experiment(caller, make_dataset(caller, ROWS), [chat(connection, "m", "c", **parameters)])
    run_units()
    found: dict[str, Any] = by_name(live(caller, made["id"]))["c"]
    return found


def accuracy(config: dict[str, Any]) -> Any:
    return config["metrics"]["accuracy"]["value"]


def refuse_old_name(handler: Any) -> None:
    error = {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}
    handler.reply(400, json.dumps({"error": error}).encode())


def test_they_inherit_the_request(alice: Caller, endpoint: Endpoint) -> None:
    fields = {
        "query": {"api-version": "2024-10-21"},
        "headers": {"X-A": "b"},
        "extra_body": {"service_tier": "flex", "temperature": 1},
        "max_output_tokens": 300,
    }
    config = run_config(alice, endpoint, fields, temperature=0.2)

    assert accuracy(config) == 1.0
    assert {path for path, _, _ in endpoint.server.seen} == {"/v1/chat/completions?api-version=2024-10-21"}
    assert {headers["x-a"] for _, headers, _ in endpoint.server.seen} == {"b"}
    sent = endpoint.read_requests()
    assert {(body["service_tier"], body["temperature"], body["max_tokens"]) for body in sent} == {("flex", 0.2, 300)}


def test_they_speak_the_responses_protocol(alice: Caller, endpoint: Endpoint) -> None:
    text = {"type": "output_text", "text": "yes"}
    usage = {"input_tokens": 50, "output_tokens": 20, "output_tokens_details": {"reasoning_tokens": 15}}
    answer = {"object": "response", "status": "completed", "model": "m-2", "usage": usage}
    endpoint.server.says({**answer, "output": [{"type": "message", "content": [text]}]})

    config = run_config(alice, endpoint, {"protocol": "responses"}, max_tokens=200, reasoning_effort="low")

    assert accuracy(config) == 1.0
    assert config["cost"] == pytest.approx(3 * (50 * 1 + 20 * 2) / 1e6)
    bodies = endpoint.read_requests()
    assert {(body["max_output_tokens"], body["reasoning"]["effort"]) for body in bodies} == {(200, "low")}
    assert {path for path, _, _ in endpoint.server.seen} == {"/v1/responses"}


@pytest.mark.parametrize(
    ("cap", "parameters", "sent"),
    [
        (None, {}, (None, None)),
        (None, {"max_tokens": 900}, (900, None)),
        (300, {"max_tokens": 900}, (300, None)),
        (300, {"max_tokens": 200}, (200, None)),
        (300, {"max_completion_tokens": 900}, (None, 300)),
    ],
)
def test_no_answer_is_longer_than_the_connection_allows(
    alice: Caller, endpoint: Endpoint, cap: int | None, parameters: dict[str, Any], sent: tuple[int | None, int | None]
) -> None:
    run_config(alice, endpoint, {"max_output_tokens": cap}, **parameters)

    assert {(body.get("max_tokens"), body.get("max_completion_tokens")) for body in endpoint.read_requests()} == {sent}


def test_the_name_of_the_limit_is_learnt(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.server.says(refuse_old_name, reply("yes"))

    config = run_config(alice, endpoint, {"max_output_tokens": 300})

    assert accuracy(config) == 1.0
    names = ["max_tokens" if "max_tokens" in body else "max_completion_tokens" for body in endpoint.read_requests()]
    assert names[0] == "max_tokens" and set(names[1:]) == {"max_completion_tokens"}


def test_a_limit_of_the_config_is_renamed_as_for_judges(alice: Caller, endpoint: Endpoint) -> None:
    endpoint.server.says(refuse_old_name, reply("yes"))

    config = run_config(alice, endpoint, {}, max_tokens=200)

    assert (accuracy(config), config["n_error"]) == (1.0, 0)
    limits = [(body.get("max_tokens"), body.get("max_completion_tokens")) for body in endpoint.read_requests()]
    assert limits[0] == (200, None) and set(limits[1:]) == {(None, 200)}


def test_a_model_without_system_messages_gets_them_before_the_users(alice: Caller, endpoint: Endpoint) -> None:
    error = {"message": "System role not supported"}
    endpoint.server.says(lambda handler: handler.reply(400, json.dumps({"error": error}).encode()), reply("yes"))

    config = run_config(alice, endpoint, {}, system="Be brief.", prompt="Q: {{input}}")

    assert (accuracy(config), config["n_error"]) == (1.0, 0)
    first, *later = [body["messages"] for body in endpoint.read_requests()]
    assert [message["role"] for message in first] == ["system", "user"]
    assert all([message["role"] for message in sent] == ["user"] for sent in later)
    assert {sent[0]["content"] for sent in later} == {f"Be brief.\n\nQ: q{n}" for n in range(3)}


def test_a_refused_temperature_is_not_left_out(alice: Caller, endpoint: Endpoint) -> None:
    error = {"message": "Unsupported value: 'temperature' does not support 0.2.", "param": "temperature"}
    endpoint.server.says(lambda handler: handler.reply(400, json.dumps({"error": error}).encode()))

    config = run_config(alice, endpoint, {"max_output_tokens": 300}, temperature=0.2, system="Be brief.")

    assert (config["state"], config["stop_reason"]) == ("failed", "error")
    assert {body["temperature"] for body in endpoint.read_requests()} == {0.2}


def test_another_error_renames_no_limit(alice: Caller, endpoint: Endpoint) -> None:
    error = {"message": "Invalid model name passed in model=m", "code": "model_not_found"}
    endpoint.server.says(lambda handler: handler.reply(404, json.dumps({"error": error}).encode()))

    config = run_config(alice, endpoint, {"max_output_tokens": 300})

    assert (config["state"], config["stop_reason"]) == ("failed", "error")
    assert all("max_tokens" in body for body in endpoint.read_requests())
