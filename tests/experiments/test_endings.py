"""How answers end: thinking is no answer, what was cut is a failure, and every ending is counted and said."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import orjson
import pytest

from benchmarks.stub_llm import RunningStub
from evalsvc.experiments.runner.generate import ConfigClient, produce
from tests.conftest import Caller
from tests.experiments.conftest import (
    EXACT,
    by_name,
    chat,
    live,
    make_connection,
    make_dataset,
    make_experiment,
    ok,
    recounted,
    run_units,
)
from tests.experiments.pushing import Runner, results

THINKING = "<think>Is it no? It is yes.</think>\n\n{{input}}"
SAME = [{"id": f"r{n}", "input": "yes", "expected": "yes"} for n in range(5)]


def run_chats(caller: Caller, stub: RunningStub, *models: tuple[str, dict[str, Any]], **plan: Any) -> Any:
    """Run a chat config for each model with its parameters, and return the live view."""
    connection = make_connection(caller, stub.base_url)
    configs = [chat(connection, model, f"c{i}", **parameters) for i, (model, parameters) in enumerate(models)]
    made = make_experiment(caller, make_dataset(caller, SAME), configs, **plan)
    run_units()
    view = live(caller, made["id"])
    assert view["experiment"]["state"] in ("done", "failed")
    return view


def run_push(caller: Caller, *rows: dict[str, Any], parameters: dict[str, Any] | None = None, **plan: Any) -> Any:
    """Post these answers of a push config, and return the experiment."""
    examples = [{"id": f"r{n}", "input": f"q{n}", "expected": "yes"} for n in range(len(rows))]
    config = {"name": "mine", "kind": "push", "parameters": parameters or {}}
    made = make_experiment(caller, make_dataset(caller, examples), [config], **plan)
    runner = Runner(caller, made)
    while unit := runner.lease()["unit"]:
        runner.post(unit, [{"pos": e["pos"], **rows[int(e["id"][1:])]} for e in unit["examples"]])
    return made


def measured(caller: Caller, made: Any) -> tuple[float | None, dict[str, int]]:
    config = by_name(live(caller, made["id"]))["mine"]
    return config["metrics"]["accuracy"]["value"], config["endings"]


def test_thinking_before_an_answer_is_stripped_and_kept(alice: Caller, stub: RunningStub) -> None:
    view = run_chats(
        alice,
        stub,
        ("stub-echo", {"prompt": THINKING}),
        ("stub-echo", {"prompt": THINKING, "strip_thinking": False}),
        ("stub-reasons", {}),
    )

    values = [by_name(view)[name]["metrics"]["accuracy"]["value"] for name in ("c0", "c1", "c2")]
    assert values == [1.0, 0.0, 1.0]
    outputs = {row["config"]: row["output"] for row in results(alice, {"id": view["experiment"]["id"]}, "limit=100")}
    assert (outputs["c0"]["output"], outputs["c0"]["thinking"]) == ("yes", "Is it no? It is yes.")
    assert outputs["c1"]["output"].startswith("<think>") and "thinking" not in outputs["c1"]
    assert (outputs["c2"]["output"], outputs["c2"]["thinking"]) == ("yes", "Hm.")


@pytest.mark.parametrize(
    ("model", "parameters", "ending", "error_type", "output"),
    [
        ("stub-truncate", {}, "length", "bad_output", "The answer is fo"),
        ("stub-filtered", {}, "content_filter", "refused", None),
        ("stub-refusal", {}, "refusal", "refused", None),
        ("stub-empty", {}, "empty", "bad_output", None),
        ("stub-reasons-only", {}, "thinking_only", "bad_output", ""),
        ("stub-echo", {"prompt": "<think>{{input}}"}, "thinking_only", "bad_output", ""),
        ("stub-echo", {"prompt": "<think>{{input}}</think>"}, "thinking_only", "bad_output", ""),
    ],
)
def test_an_answer_that_is_none_fails_and_says_how_it_ended(
    alice: Caller, stub: RunningStub, model: str, parameters: Any, ending: str, error_type: str, output: str | None
) -> None:
    view = run_chats(alice, stub, (model, parameters))

    config = by_name(view)["c0"]
    assert config["endings"] == {ending: 5}
    accuracy = config["metrics"]["accuracy"]
    assert (accuracy["value"], accuracy["rows"]["n_failed"], accuracy["rows"]["failed_as"]) == (0.0, 5, "worst")
    assert ("truncated" in accuracy["warnings"]) is (ending == "length")
    row = results(alice, {"id": view["experiment"]["id"]})[0]
    assert (row["status"], row["error_type"], row["ending"]) == ("error", error_type, ending)
    assert (row["output"] or {}).get("output") == output


def test_the_counts_and_the_warning_are_in_the_report_and_on_the_board(alice: Caller, stub: RunningStub) -> None:
    view = run_chats(alice, stub, ("stub-truncate", {}), ("stub-echo", {}))
    path = f"/v1/experiments/{view['experiment']['id']}/report"

    markdown = alice.get(f"{path}?format=md").content.decode()
    assert "## How answers ended" in markdown and "| c0 | 0 | 5 |" in markdown and "| c1 | 5 | 0 |" in markdown
    assert "truncated" in markdown
    page = alice.get(f"{path}?format=html").content.decode()
    assert "How answers ended" in page and "truncated" in page


def test_few_answers_that_were_cut_do_not_warn(alice: Caller) -> None:
    endings = ["length" if n == 7 else "stop" for n in range(60)]
    rows: list[dict[str, Any]] = [{"output": "yes", "finish_reason": ending} for ending in endings]
    made = run_push(alice, *rows)
    view = by_name(live(alice, made["id"]))["mine"]
    assert view["endings"] == {"stop": 59, "length": 1}
    assert "truncated" not in view["metrics"]["accuracy"]["warnings"]

    made = run_push(alice, *rows[:40])
    assert "truncated" in by_name(live(alice, made["id"]))["mine"]["metrics"]["accuracy"]["warnings"]


def test_pushed_answers_end_as_they_say(alice: Caller) -> None:
    made = run_push(
        alice,
        {"output": "yes", "finish_reason": "end_turn"},
        {"output": "<think>no</think>yes"},
        {"output": {"output": "yes", "finish_reason": "MAX_TOKENS"}},
        {"output": "yes", "finish_reason": "tool_use"},
        {"output": "yes", "finish_reason": "SAFETY"},
        {"output": ""},
        {"output": None},
        {"error": {"type": "refused"}},
        {"error": {"type": "timeout"}},
        {"output": "<think>no end"},
    )

    counts = {"stop": 2, "length": 1, "content_filter": 1, "refusal": 1, "tool_calls": 1, "thinking_only": 1}
    assert measured(alice, made) == (0.3, counts | {"empty": 2, "error": 1})
    endings = {row["example_id"]: row["ending"] for row in results(alice, made, "limit=100")}
    assert [endings[f"r{n}"] for n in (0, 2, 8)] == ["stop", "length", "error"]
    assert recounted(alice, made["id"]) == []


def test_messages_tell_how_they_end(alice: Caller) -> None:
    cut = {"role": "assistant", "content": "yes", "finish_reason": "length"}
    made = run_push(
        alice,
        {"output": [{"role": "user", "content": "q"}, cut]},
        {"output": {"choices": [{"index": 0, "message": {"content": "yes"}, "finish_reason": "length"}]}},
        {"output": {"choices": [{"message": {"refusal": "No."}, "finish_reason": "stop"}]}},
        {"output": {"output": [cut], "finish_reason": "stop"}},
        {"output": {"finish_reason": "length"}},
        {"output": []},
    )

    assert measured(alice, made)[1] == {"stop": 3, "length": 2, "refusal": 1}


def test_a_push_config_may_keep_its_thinking(alice: Caller) -> None:
    rows = [{"output": "<think>no</think>yes"}] * 2

    assert measured(alice, run_push(alice, *rows))[0] == 1.0
    assert measured(alice, run_push(alice, *rows, parameters={"strip_thinking": False}))[0] == 0.0


def test_thinking_that_is_kept_breaks_no_schema(alice: Caller) -> None:
    schema = {"type": "object", "properties": {"output": {"type": "string"}}, "additionalProperties": False}
    made = run_push(alice, {"output": "<think>no</think>yes"}, parameters={"output_schema": schema})

    assert measured(alice, made) == (1.0, {"stop": 1})


def test_each_sample_has_its_ending_and_a_failed_one_counts(alice: Caller) -> None:
    rows: list[dict[str, Any]] = [
        {"samples": [{"output": "yes"}, {"output": "yes", "finish_reason": "length"}]},
        {"samples": [{"output": "yes"}, {"error": {"type": "bug"}}]},
        {"samples": [{"output": "yes"}, {"output": "<think>a</think>yes"}]},
    ]
    made = run_push(alice, *rows, n_samples=2)

    value, endings = measured(alice, made)
    assert value == pytest.approx((0.5 + 0.5 + 1.0) / 3)
    assert endings == {"stop": 4, "length": 1, "error": 1}


@pytest.mark.parametrize(
    ("answer", "status", "output", "ending"),
    [
        ({"a": "<think>no</think>yes", "r": "stop"}, "ok", "yes", None),
        ({"a": "ye", "r": "max_output_tokens"}, "error", "ye", "length"),
        ({"a": "", "r": None}, "ok", "", "empty"),
        ({"a": {"label": "yes"}, "r": "tool_calls"}, "ok", {"label": "yes"}, "tool_calls"),
    ],
)
def test_an_application_s_answer_ends_as_it_says(
    monkeypatch: pytest.MonkeyPatch, answer: Any, status: str, output: Any, ending: str | None
) -> None:
    called = SimpleNamespace(status=200, headers={}, body=orjson.dumps(answer))
    monkeypatch.setattr("evalsvc.experiments.runner.generate.post_json", lambda *args, **how: called)
    parameters = {"url": "https://app.example.com", "output": {"output": "/a", "finish_reason": "/r"}}

    made = produce(ConfigClient(1, "http", parameters), {"input": "q"})

    assert (made.status, (made.output or {})["output"], made.ending) == (status, output, ending)


def test_a_retry_counts_the_new_ending(alice: Caller) -> None:
    made = run_push(alice, {"output": "ye", "finish_reason": "length"}, {"output": "yes"})
    config = made["configs"][0]["id"]
    ok(alice.post(f"/v1/experiments/{made['id']}/retry", {"what": "outputs"}))
    runner = Runner(alice, made)
    unit = runner.lease()["unit"]
    runner.post(unit, [{"pos": e["pos"], "output": "yes"} for e in unit["examples"]])

    assert config and measured(alice, made) == (1.0, {"stop": 2})


def test_the_parameter_is_true_or_false(alice: Caller, stub: RunningStub) -> None:
    connection = make_connection(alice, stub.base_url)
    body = {
        "name": "x",
        "plan": {"dataset_id": make_dataset(alice, SAME), "metrics": [EXACT]},
        "configs": [chat(connection, "stub-echo", strip_thinking="yes")],
    }
    answer = alice.post("/v1/experiments", body)

    assert answer.status_code == 422
    assert [error["pointer"] for error in answer.json()["errors"]] == ["/configs/0/parameters/strip_thinking"]
