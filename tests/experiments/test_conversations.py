"""Configs that are asked turn by turn: the texts of a script, or those of a simulated user."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from evalsvc.experiments.definition import plans
from evalsvc.experiments.models import WorkUnit
from evalsvc.experiments.runner.scheduling.scheduler import Scheduler
from evalsvc.experiments.runner.units import conversations, unit
from tests.conftest import Caller, wait_until
from tests.experiments.conftest import (
    by_name,
    finish,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
    scheduling,
)
from tests.experiments.pushing import results
from tests.faults.application import Application, as_json
from tests.judges.providers import Endpoint
from tests.judges.providers import chat as reply
from tests.judges.webhook_server import Server, status

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


def read_texts(row: Any) -> list[tuple[str, Any]]:
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
    assert [text for _, text in read_texts(row)] == [TURNS[0], "Why?", TURNS[1], "Done.", TURNS[2]]
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
    assert read_texts(row)[-2:] == [("user", "How much {{input}}?"), ("assistant", "42")]
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
                ({"connection": "charlies"}, "/connection"),
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


@pytest.fixture
def application() -> Iterator[Application]:
    server = Application()
    threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def posting(application: Application, **parameters: Any) -> dict[str, Any]:
    body = {"say": "{{turn}}", "so_far": "{{messages}}"}
    return {"name": "c", "kind": "http", "parameters": {"url": application.url, "body": body} | parameters}


def bodies(application: Application) -> list[Any]:
    return [body for _, _, body in application.asked]


def user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, str]:
    return {"role": "assistant", "content": text}


def test_an_application_is_asked_turn_by_turn(alice: Caller, application: Application) -> None:
    application.answer = lambda body: as_json({"answer": f"{len(body['so_far'])} messages"})
    _, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "5 messages"}], posting(application))

    assert bodies(application) == [
        {"say": TURNS[0], "so_far": [user(TURNS[0])]},
        {"say": TURNS[1], "so_far": [user(TURNS[0]), assistant("1 messages"), user(TURNS[1])]},
        {
            "say": TURNS[2],
            "so_far": [
                *(user(TURNS[0]), assistant("1 messages"), user(TURNS[1]), assistant("3 messages"), user(TURNS[2]))
            ],
        },
    ]
    assert read_texts(row)[-1] == ("assistant", "5 messages")
    assert row["scores"]["accuracy"]["value"] == 1.0


CALL = {"role": "assistant", "tool_calls": [{"id": "c1", "name": "refund", "args": {"id": 7}}]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "ok"}


@pytest.mark.parametrize("is_whole", [True, False])
def test_calls_and_the_final_state_are_part_of_the_conversation(
    alice: Caller, application: Application, is_whole: bool
) -> None:
    """Whether an application answers with the new messages or with all of them."""

    def answer(body: Any) -> Any:
        is_first = len(body["so_far"]) == 1
        new = [CALL, RESULT, assistant("Done.")] if is_first else [assistant("Bye.")]
        usage = {"input_tokens": 10, "output_tokens": 3, "cached": True}
        state = {"refunds": [] if is_first else [7]}
        return as_json({"messages": [*body["so_far"], *new] if is_whole else new, "final_state": state, "usage": usage})

    application.answer = answer
    metrics = [
        {"name": name, "evaluator": "trajectory", "criteria": f"patronus:trajectory-{name}"}
        for name in ("strict", "final-state")
    ]
    expected = {"tool_calls": [{"name": "refund", "args": {"id": 7}}], "final_state": {"refunds": [7]}}
    rows = [{"input": {"turns": TURNS[:2]}, "expected": expected}]
    _, (row,) = held(alice, rows, posting(application), metrics=metrics)

    talk = [user(TURNS[0]), CALL, RESULT, assistant("Done."), user(TURNS[1]), assistant("Bye.")]
    assert row["output"]["output"] == {
        "messages": talk,
        "final_state": {"refunds": [7]},
        "usage": {"input_tokens": 20, "output_tokens": 6},
    }
    assert bodies(application)[1]["so_far"] == talk[:5]
    assert {name: score["value"] for name, score in row["scores"].items()} == {"strict": 1.0, "final-state": 1.0}


@pytest.mark.parametrize(
    "answer",
    [
        "Done.",
        {"reply": "Done."},
        assistant("Done."),
        [assistant("Done.")],
        {"choices": [{"message": assistant("Done.")}]},
        {"output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]}]},
        {"messages": [{"type": "human", "content": "Hi"}, {"type": "ai", "content": "Done."}]},
    ],
)
def test_answers_have_many_forms(alice: Caller, application: Application, answer: Any) -> None:
    application.answer = lambda body: as_json(answer)
    _, (row,) = held(alice, [{"input": {"turns": ["Hi"]}, "expected": "Done."}], posting(application))

    assert row["scores"]["accuracy"]["value"] == 1.0
    assert len(row["output"]["output"]["messages"]) == 2


@pytest.mark.parametrize("answer", ["", None, {"a": 1, "b": 2}, [], [user("Hi")], {"messages": [user("Hi")]}, 3])
def test_an_answer_without_a_message_fails_the_turn(alice: Caller, application: Application, answer: Any) -> None:
    application.answer = lambda body: as_json(answer if body["say"] == TURNS[1] else "Done.")
    _, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "Done."}], posting(application))

    assert (row["status"], row["error_type"], row["error_message"][:7]) == ("error", "bad_output", "Turn 2:")
    assert read_texts(row) == [("user", TURNS[0]), ("assistant", "Done."), ("user", TURNS[1])]
    assert (row["scores"]["accuracy"]["error_code"], len(bodies(application))) == ("failed_output", 2)


def test_parts_of_an_answer_lie_where_the_config_says(alice: Caller, application: Application) -> None:
    application.answer = lambda body: as_json(
        {"data": {"text": "Done.", "state": {"n": len(body["messages"])}}, "m": 1}
    )
    output = {"output": "/data/text", "final_state": "/data/state", "model": "/m"}
    config = posting(application, body={"messages": "{{messages}}"}, output=output)
    _, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "Done."}], config)

    assert row["output"]["output"]["final_state"] == {"n": 5}
    assert (row["output"]["model"], row["output"]["ended_by"]) == (1, "script")


def test_the_answers_of_a_conversation_take_a_limited_time(
    alice: Caller, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MAX_SECONDS", 0.0)
    application.answer = lambda body: as_json("Done.")
    _, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "Done."}], posting(application))

    assert (row["status"], row["error_type"], row["error_message"][:7]) == ("timeout", "timeout", "Turn 2:")
    assert len(bodies(application)) == 1


def test_conversations_are_limited_in_size(
    alice: Caller, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversations, "MAX_CHARS", 1000)
    application.answer = lambda body: as_json("x" * 500)
    _, (row,) = held(alice, [{"input": {"turns": TURNS}, "expected": "Done."}], posting(application))

    assert (row["error_type"], row["error_message"]) == (
        "bad_output",
        "Turn 2: The messages have more than 1000 characters.",
    )
    assert len(read_texts(row)) == 3


def test_samples_are_conversations_and_trials(alice: Caller, application: Application) -> None:
    answers = iter(range(100))
    application.answer = lambda body: as_json("Done." if next(answers) % 4 == 1 else "No.")
    metric = {"name": "pass", "evaluator": "exact-match", "trials": {"of": "pass@k", "k": 1}}
    made, (row,) = held(
        alice,
        [{"input": {"turns": TURNS[:2]}, "expected": "Done."}],
        posting(application),
        metrics=[metric],
        n_samples=4,
    )

    assert [len(sample["output"]["output"]["messages"]) for sample in row["samples"]] == [4] * 4
    assert row["scores"]["pass"]["value"] == 0.5
    assert row["stages"]["paid"]["n_asked"] == live(alice, made["id"])["experiment"]["n_queries"] == 8


def prompts(endpoint: Endpoint) -> list[str]:
    """Return what the simulated user was asked, without its part."""
    return [body["messages"][-1]["content"] for body in endpoint.read_requests()]


def simulated(caller: Caller, endpoint: Endpoint, **parameters: Any) -> dict[str, Any]:
    return {"connection": make_connection(caller, endpoint.base_url, **PRICES), "model": "m"} | parameters


GOAL_ROW = {"input": {"goal": "money back for order 7 {{input}}", "persona": "curt"}, "expected": "2 of 7"}


def test_a_simulated_user_speaks_until_it_says_the_stop_word(
    alice: Caller, application: Application, endpoint: Endpoint
) -> None:
    endpoint.server.says(reply("Money back!"), reply(" 7 "), reply("Good. [STOP]"))
    application.answer = lambda body: as_json({"answer": "Which order?" if body["say"] != "7" else "2 of 7"})
    config = posting(application, simulated_user=simulated(alice, endpoint))
    made, (row,) = held(alice, [GOAL_ROW], config)

    assert read_texts(row) == [
        *(("user", "Money back!"), ("assistant", "Which order?"), ("user", "7"), ("assistant", "2 of 7")),
    ]
    assert (row["output"]["ended_by"], row["scores"]["accuracy"]["value"]) == ("stop", 1.0)
    part = endpoint.read_requests()[0]["messages"][0]["content"]
    assert "What the user wants: money back for order 7 {{input}}\n" in part
    assert "Who the user is: curt\n" in part and "write [STOP] and nothing else" in part
    assert prompts(endpoint)[0] == "The conversation has not begun.\n\nWrite the user's next message."
    assert prompts(endpoint)[2] == (
        "The conversation so far:\n\nUser: Money back!\n\nApplication: Which order?\n\nUser: 7\n\nApplication: 2 of 7"
        "\n\nWrite the user's next message."
    )
    # What the user costs is spent, and is not the agent's.
    cost = pytest.approx(3 * 120 / 1e6)
    assert (row["cost"], row["input_tokens"]) == (None, None)
    assert row["stages"]["paid"] == {
        "n_asked": 5, "n_saved": 0, "input_tokens": 300, "output_tokens": 30, "cost": cost,
    }  # fmt: skip
    of_user = row["stages"]["simulated_user"]
    assert (of_user["n_asked"], of_user["input_tokens"], of_user["cost"]) == (3, 300, cost)
    assert live(alice, made["id"])["configs"][0]["cost"] == cost
    assert live(alice, made["id"])["experiment"]["n_queries"] == 5


def test_a_conversation_has_at_most_so_many_turns(alice: Caller, application: Application, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("More."))
    application.answer = lambda body: as_json("Here.")
    who = simulated(
        alice, endpoint, goal="all of {{input.what}}", persona="{{metadata.who}}", stop="ENOUGH", max_turns=3
    )
    rows = [{"input": {"what": "it", "turns": ["Hi."]}, "metadata": {"who": "a child"}, "expected": "Here."}]
    _, (row,) = held(alice, rows, posting(application, simulated_user=who))

    assert [text for role, text in read_texts(row) if role == "user"] == ["Hi.", "More.", "More."]
    assert row["output"]["ended_by"] == "max_turns"
    part = endpoint.read_requests()[0]["messages"][0]["content"]
    assert "What the user wants: all of it\nWho the user is: a child\n" in part and "write ENOUGH and" in part
    assert prompts(endpoint)[0].startswith("The conversation so far:\n\nUser: Hi.\n\nApplication: Here.\n\n")


def test_a_simulated_user_knows_no_calls_of_tools(alice: Caller, application: Application, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("Refund!"), reply("[STOP]"))
    application.answer = lambda body: as_json([CALL, RESULT, assistant("Done.")])
    _, (row,) = held(alice, [GOAL_ROW], posting(application, simulated_user=simulated(alice, endpoint)))

    assert len(read_texts(row)) == 4
    assert prompts(endpoint)[1] == (
        "The conversation so far:\n\nUser: Refund!\n\nApplication: Done.\n\nWrite the user's next message."
    )


FAILURES = {
    "empty": (reply(""), "simulated_user"),
    "refused": (refuse, "simulated_user"),
    "cut": ({"choices": [{"message": {"content": "I w"}, "finish_reason": "length"}]}, "simulated_user"),
    "stop at once": (reply("[STOP]"), "simulated_user"),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_a_user_that_fails_is_no_fault_of_the_agent(
    alice: Caller, application: Application, endpoint: Endpoint, failure: str
) -> None:
    answer, code = FAILURES[failure]
    endpoint.server.says(answer)
    application.answer = lambda body: as_json("Here.")
    made, (row,) = held(alice, [GOAL_ROW], posting(application, simulated_user=simulated(alice, endpoint)))

    assert (row["status"], row["error_type"], row["scores"]["accuracy"]["error_code"]) == ("error", code, "no_output")
    assert row["error_message"].startswith("The simulated user did not write message 1: ")
    rows = live(alice, made["id"])["configs"][0]["metrics"]["accuracy"]["rows"]
    assert (rows["n_failed"], rows["n_missing"]) == (0, 1)


def test_a_user_whose_endpoint_refuses_is_waited_for_and_leaves_the_score_missing(
    alice: Caller, application: Application, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unit, "MAX_REFUSALS", 1)
    endpoint.server.says(status(429, **{"retry-after": "0"}))
    application.answer = lambda body: as_json("Here.")
    config = posting(application, simulated_user=simulated(alice, endpoint))
    made = make_experiment(alice, make_dataset(alice, [GOAL_ROW]), [config])
    with scheduling():
        wait_until(lambda: live(alice, made["id"])["experiment"]["state"] != "running")

    (found,) = live(alice, made["id"])["configs"]
    assert (found["state"], found["stop_reason"], found["n_error"]) == ("failed", "error", 0)
    assert (found["metrics"]["accuracy"]["n"], found["metrics"]["accuracy"]["rows"]["n_failed"]) == (0, 0)


def test_a_conversation_that_is_put_off_continues_where_it_was(
    alice: Caller, application: Application, endpoint: Endpoint
) -> None:
    """A rate limit in the middle: no answer is asked for twice, and none is counted twice."""
    endpoint.server.says(
        *(reply("One."), reply("Two."), status(429, **{"retry-after": "0"}), reply("Three."), reply("[STOP]"))
    )
    application.answer = lambda body: as_json({"answer": f"Got {body['say']}"})
    config = posting(application, simulated_user=simulated(alice, endpoint))
    made = make_experiment(alice, make_dataset(alice, [GOAL_ROW]), [config])
    finish(alice, made["id"])

    (row,) = results(alice, made)
    assert recounted(alice, made["id"]) == []
    assert [body["say"] for body in bodies(application)] == ["One.", "Two.", "Three."]
    assert [text for _, text in read_texts(row)] == ["One.", "Got One.", "Two.", "Got Two.", "Three.", "Got Three."]
    assert row["stages"]["paid"]["n_asked"] == live(alice, made["id"])["experiment"]["n_queries"] == 7
    assert live(alice, made["id"])["configs"][0]["cost"] == pytest.approx(4 * 120 / 1e6)


def test_a_stopped_experiment_ends_between_turns_and_resumes_there(
    alice: Caller, application: Application, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_stopped, is_known = threading.Event(), threading.Event()
    learn = Scheduler._learn_epochs

    def learn_epochs(self: Scheduler) -> None:
        was_stopped = is_stopped.is_set()
        learn(self)
        if was_stopped:
            is_known.set()

    def answer(body: Any) -> Any:
        assert len(application.asked) != 2 or is_known.wait(60)
        return as_json(f"Got {body['say']}")

    monkeypatch.setattr(Scheduler, "_learn_epochs", learn_epochs)
    application.answer = answer
    rows = [{"input": {"turns": ["1", "2", "3", "4"]}, "expected": "Got 4"}]
    made = make_experiment(alice, make_dataset(alice, rows), [posting(application)])
    config = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}"
    with scheduling():
        wait_until(lambda: len(application.asked) == 2)
        ok(alice.post(f"{config}/stop"))
        is_stopped.set()
        units = WorkUnit.objects.using("system").filter(experiment_id=made["id"])
        wait_until(lambda: is_known.is_set() and not units.filter(state="leased").exists())
    assert ([body["say"] for body in bodies(application)], results(alice, made)) == (["1", "2"], [])

    ok(alice.post(f"{config}/resume"))
    finish(alice, made["id"])
    assert [body["say"] for body in bodies(application)] == ["1", "2", "3", "4"]
    (row,) = results(alice, made)
    assert row["scores"]["accuracy"]["value"] == 1.0
    assert live(alice, made["id"])["experiment"]["n_queries"] == row["stages"]["paid"]["n_asked"] == 4
    assert recounted(alice, made["id"]) == []


def test_a_budget_counts_each_turn(alice: Caller, application: Application) -> None:
    application.answer = lambda body: as_json("Here.")
    rows = [{"input": {"turns": ["1", "2"]}, "expected": f"{n}"} for n in range(40)]
    plan = {"budget": {"queries": 60}, "micro_batch": 1}
    made = make_experiment(alice, make_dataset(alice, rows), [posting(application)], **plan)
    run_units()

    head = live(alice, made["id"])["experiment"]
    assert (live(alice, made["id"])["configs"][0]["stop_reason"], head["state"]) == ("budget", "idle")
    # A conversation is begun where thirty queries are left: it might take as many.
    assert 30 < head["n_queries"] <= 60 and head["n_queries"] == len(application.asked)


def test_a_failed_conversation_is_tried_again_as_a_whole(alice: Caller, application: Application) -> None:
    is_broken = [True]

    def answer(body: Any) -> Any:
        is_wrong = is_broken[0] and body["say"] == TURNS[1]
        return as_json({"a": 1, "b": 2} if is_wrong else f"Got {body['say']}")

    application.answer = answer
    made, _ = held(alice, [{"input": {"turns": TURNS}, "expected": f"Got {TURNS[2]}"}], posting(application))
    is_broken[0] = False
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}))
    run_units()

    (row,) = results(alice, made)
    assert (row["status"], row["scores"]["accuracy"]["value"]) == ("ok", 1.0)
    assert live(alice, made["id"])["experiment"]["n_queries"] == len(application.asked) == 5
    assert recounted(alice, made["id"]) == []


def test_another_user_is_another_config(alice: Caller, application: Application, endpoint: Endpoint) -> None:
    endpoint.server.says(reply("More."))
    application.answer = lambda body: as_json("Here.")
    config = posting(application, simulated_user=simulated(alice, endpoint, max_turns=1, persona="curt"))
    made, _ = held(alice, [GOAL_ROW], config)
    clone = f"/v1/experiments/{made['id']}/configs/{made['configs'][0]['id']}/clone"
    ok(alice.post(clone, {"name": "again"}))
    finish(alice, made["id"])
    ok(alice.post(clone, {"name": "polite", "changes": {"/simulated_user/persona": "polite"}}))
    finish(alice, made["id"])

    found = by_name(live(alice, made["id"]))
    assert {name: found[name]["n_reused"] for name in found} == {"c": 0, "again": 1, "polite": 0}
    assert len(application.asked) == 2
    assert live(alice, made["id"])["experiment"]["n_queries"] == 4
    assert recounted(alice, made["id"]) == []


def test_a_preview_counts_the_calls_of_conversations_and_no_cost(alice: Caller, endpoint: Endpoint) -> None:
    connection = make_connection(alice, endpoint.base_url, **PRICES)
    who = {"connection": connection, "goal": "x", "max_turns": 4}
    configs = [talking(connection, max_tokens=10), talking(connection, simulated_user=who) | {"name": "d"}]
    dataset_id = make_dataset(alice, [{"input": {"turns": TURNS}, "expected": "x"}] * 2)
    plan = {"dataset_id": dataset_id, "metrics": [{"name": "a", "evaluator": "exact-match"}], "n_samples": 2}
    told = ok(alice.post("/v1/experiments/preview", {"name": "e", "plan": plan, "configs": configs}))

    assert [row["n_queries"] for row in told["configs"]] == [2 * 2 * 30, 2 * 2 * 8]
    assert (told["cost"], told["n_tokens"], told["warnings"]) == (None, None, ["conversation_not_estimated"])


@pytest.mark.parametrize("second", [{"turns": 3}, {"messages": [{"text": "no role"}]}, {"turns": ["?"] * 31}])
def test_a_row_without_a_script_fails_without_a_call(
    alice: Caller, application: Application, monkeypatch: pytest.MonkeyPatch, second: dict[str, Any]
) -> None:
    monkeypatch.setattr(plans, "MAX_TURNS", 100)  # As for rows behind those that are read beforehand.
    application.answer = lambda body: as_json("Here.")
    rows = [{"id": "a", "input": {"turns": ["Hi."]}, "expected": "Here."}, {"id": "b", "input": second}]
    made, found = held(alice, rows, posting(application))

    (row,) = [row for row in found if row["example_id"] == "b"]
    assert (row["status"], row["error_type"], row["output"]["ended_by"]) == ("error", "bug", "error")
    assert row["error_message"].startswith("`input.")
    assert live(alice, made["id"])["experiment"]["n_queries"] == len(application.asked) == 1
