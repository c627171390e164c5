"""The conversation of a session from the spans of its agent, through POST /v1/evaluate."""

from __future__ import annotations

import json
import random
from types import MappingProxyType
from typing import Any

import pytest

from evalsvc.evaluations.evaluate.sessions import KIND
from evalsvc.evaluations.models import EvaluationRequest
from evalsvc.infra.cache import BoundedCache
from evalsvc.rest.edge import door as doors
from evalsvc.rest.edge import slow_turns
from evalsvc.rest.edge.door import AdmittedRequest, ConcurrencyLimiter, serve_request
from evalsvc.rest.edge.slow_turns import SlowTurns
from tests.conftest import Caller
from tests.rest.shapes import assert_problem
from tests.telemetry.otlp import attribute, new_id, span, traces
from tests.telemetry.traced import Recorder, build_message, called, returned, user

LOOP = {"evaluator": "trajectory", "criteria": "patronus:trajectory-loop"}
STRICT = {"evaluator": "trajectory", "criteria": "patronus:trajectory-strict"}
SYSTEM = json.dumps([{"type": "text", "content": "Be brief."}])
TOOLS = json.dumps([{"type": "function", "name": "find", "parameters": {"type": "object"}}])
FIRST = [user("Where is order 7?"), called("c1", "find", id=7), returned("c1", "sent")]
ANSWERED = [*FIRST, build_message("It is sent.")]
SECOND_TURN = [*ANSWERED, user("Refund it."), called("c2", "refund", id=7), returned("c2", {"error": "closed"})]


def store(caller: Caller, *spans: dict[str, Any]) -> None:
    for sent in spans:
        assert caller.post("/v1/traces", traces(sent)).json() == {}


def evaluate(caller: Caller, *evaluators: dict[str, Any], session: Any = "s1", **body: Any) -> list[dict[str, Any]]:
    named = session if isinstance(session, dict) else {"session_id": session}
    answer = caller.post("/v1/evaluate", {"evaluators": [*evaluators] or [LOOP], "conversation": named, **body})
    assert answer.status_code == 200, answer.json()
    results: list[dict[str, Any]] = answer.json()["results"]
    return results


def read(caller: Caller, **body: Any) -> dict[str, Any]:
    """The conversation of a session as it is evaluated."""
    conversation: dict[str, Any] = evaluate(caller, **body)[0]["evaluation_result"]["conversation"]
    return conversation


def show(conversation: dict[str, Any]) -> list[str]:
    """Each message in a few words."""
    words = []
    for message in conversation["messages"]:
        parts = ["?"] if message.get("missing") else [message["content"]] if "content" in message else []
        parts += [f"{call['name']}{call.get('arguments', '?')}" for call in message.get("tool_calls", ())]
        words.append(f"{message['role'][0]}{'!' if message.get('error') else ''}:{' '.join(parts)}")
    return words


WHOLE = [
    *("u:Where is order 7?", 'a:find{"id": 7}', "t:sent", "a:It is sent."),
    *("u:Refund it.", 'a:refund{"id": 7}', 't!:{"error": "closed"}', "a:I could not."),
]


def record_turns(recorder: Recorder) -> None:
    """Two turns of an agent, each a trace."""
    more = {"gen_ai.system_instructions": SYSTEM, "gen_ai.tool.definitions": TOOLS}
    agent = recorder.run_agent("shop")
    recorder.chat(FIRST[:1], FIRST[1], parent=agent, **more)
    recorder.run_tool("c1", "find", agent)
    recorder.chat(FIRST, ANSWERED[3], parent=agent, **more)
    recorder.begin_trace()
    agent = recorder.run_agent("shop")
    recorder.chat([*ANSWERED, SECOND_TURN[4]], SECOND_TURN[5], parent=agent, **more)
    recorder.run_tool("c2", "refund", agent, failed=True)
    recorder.chat(SECOND_TURN, build_message("I could not."), parent=agent, **more)


def test_the_last_span_has_the_whole_conversation(alice: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    reference = [{"name": "find", "args": {"id": 7}}, {"name": "refund", "args": {"id": 7}}]
    (result,) = evaluate(alice, STRICT, reference=reference)

    verdict = result["evaluation_result"]
    assert verdict["pass"] is True
    conversation = verdict["conversation"]
    assert show(conversation) == WHOLE
    assert (conversation["session_id"], conversation["agent"]) == ("s1", "shop")
    assert (conversation["system"], conversation["usage"]) == ("Be brief.", {"input_tokens": 40, "output_tokens": 8})
    assert conversation["tools"] == [{"name": "find", "parameters": {"type": "object"}}]
    assert verdict["evaluated_model_output"] == "I could not."
    assert verdict["evaluated_model_input"] == "Refund it."
    # A result with an error is no context.
    assert [context["id"] for context in verdict["evaluated_model_retrieved_context"]] == ["c1"]


def test_spans_may_arrive_in_any_order(alice: Caller) -> None:
    for seed in range(5):
        recorder = Recorder(f"s{seed}")
        record_turns(recorder)
        random.Random(seed).shuffle(recorder.spans)
        store(alice, *recorder.spans)
        assert show(read(alice, session=f"s{seed}")) == WHOLE


def test_what_was_evaluated_is_stored_and_leads_to_the_trace(alice: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    (result,) = evaluate(alice, app="shop")
    row = EvaluationRequest.objects.using("system").get(account_id=alice.account.pk)

    assert (row.extras or {})["sent"]["conversation"]["session_id"] == "s1"
    stored = alice.get(f"/v1/evaluations/{result['evaluation_id']}").json()["evaluation"]
    assert stored["trace_id"] == recorder.trace_id
    # What was evaluated stays, whatever the session gains.
    more = [*SECOND_TURN, build_message("I could not."), user("Why?")]
    recorder.chat(more, build_message("It is closed."), parent=recorder.run_agent("shop"))
    store(alice, *recorder.spans)
    (again,) = evaluate(alice, trace_id="mine", app="shop")
    assert len(again["evaluation_result"]["conversation"]["messages"]) == 10
    assert alice.get(f"/v1/evaluations/{again['evaluation_id']}").json()["evaluation"]["trace_id"] == "mine"


def test_a_compacted_history_is_joined_at_its_overlap(alice: Caller) -> None:
    recorder = Recorder()
    recorder.chat(FIRST, ANSWERED[3])
    compacted = [user("Summary: order 7 was asked for."), ANSWERED[3], user("Refund it.")]
    recorder.chat(compacted, SECOND_TURN[5])
    recorder.chat([*compacted, *SECOND_TURN[5:]], build_message("I could not."))
    store(alice, *recorder.spans)

    assert show(read(alice)) == [word.replace("!", "") for word in WHOLE]


def test_a_compacted_history_may_begin_with_a_result(alice: Caller) -> None:
    recorder = Recorder()
    recorder.chat(FIRST[:1], FIRST[1])
    recorder.chat([FIRST[2]], ANSWERED[3])
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_turns_that_repeat_nothing_follow_one_another(alice: Caller) -> None:
    recorder = Recorder()
    for question, answer in (("Hello", "Hi"), ("Order?", "Which?"), ("Hello", "Hi again"), ("Bye", "Bye")):
        recorder.begin_trace()
        recorder.chat([user(question)], build_message(answer))
    store(alice, *recorder.spans)

    assert show(read(alice)) == ["u:Hello", "a:Hi", "u:Order?", "a:Which?", "u:Hello", "a:Hi again", "u:Bye", "a:Bye"]


def test_a_question_beside_the_conversation_is_left_out(alice: Caller) -> None:
    recorder = Recorder()
    recorder.chat(FIRST[:1], FIRST[1])
    recorder.chat([user("Write a title for: Where is order 7?")], build_message("Order 7"))
    recorder.chat(FIRST, ANSWERED[3])
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_an_answer_that_was_asked_for_again_is_left_out(alice: Caller) -> None:
    recorder = Recorder()
    recorder.chat(FIRST[:1], build_message("I do not know."))
    recorder.chat(FIRST[:1], FIRST[1])
    recorder.chat(FIRST, ANSWERED[3])
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_agents_stay_apart(alice: Caller) -> None:
    recorder = Recorder()
    outer = recorder.run_agent("shop")
    recorder.chat(FIRST[:1], FIRST[1], parent=outer)
    tool = recorder.run_tool("c1", "find", outer)
    inner = recorder.run_agent("finder", tool, seconds=1)
    recorder.chat([user("Find order 7")], build_message("sent"), parent=inner)
    recorder.chat(FIRST, ANSWERED[3], parent=outer)
    # It ends last, and is another's.
    recorder.chat([user("Find order 8")], build_message("not there"), parent=inner)
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]
    apart = read(alice, session={"session_id": "s1", "agent": "finder"})
    assert show(apart) == ["u:Find order 7", "a:sent", "u:Find order 8", "a:not there"]
    assert apart["agent"] == "finder"


def test_an_agent_that_takes_over_has_read_what_was_said(alice: Caller) -> None:
    recorder = Recorder()
    root = recorder.write("turn", {})
    recorder.chat(FIRST[:1], FIRST[1], parent=recorder.run_agent("triage", root))
    recorder.chat(FIRST, ANSWERED[3], parent=recorder.run_agent("orders", root))
    store(alice, *recorder.spans)

    conversation = read(alice)
    assert (show(conversation), conversation["agent"]) == (WHOLE[:4], "orders")


def test_the_span_of_an_agent_repeats_what_is_in_it(alice: Caller) -> None:
    recorder = Recorder()
    agent = recorder.chat(FIRST[:1], ANSWERED[3], **{"gen_ai.operation.name": "invoke_agent"})
    recorder.chat(FIRST[:1], FIRST[1], parent=agent)
    recorder.chat(FIRST, ANSWERED[3], parent=agent)
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_texts_that_were_not_captured_are_missing(alice: Caller) -> None:
    recorder = Recorder()
    agent = recorder.run_agent("shop")
    recorder.write("chat", {"gen_ai.operation.name": "chat"}, agent)
    recorder.run_tool("c1", "find", agent, arguments='{"id": 7}')
    recorder.run_tool("c2", "refund", agent, failed=True)
    recorder.write("chat", {"gen_ai.operation.name": "chat"}, agent)
    store(alice, *recorder.spans)
    exact = {"evaluator": "exact-match"}
    reference = [[{"name": "find", "args": {"id": 7}}, {"name": "refund"}]]
    ignoring = {
        "evaluator": "trajectory",
        "profile_inline": {"metric": "strict", "tools": {"refund": {"args": "ignore"}}},
    }
    results = evaluate(alice, STRICT, ignoring, exact, reference=reference, gold_answer="x")

    assert show(results[0]["evaluation_result"]["conversation"]) == [
        "u:?",
        'a:? find{"id": 7} refund?',
        "t:?",
        "t!:?",
        "a:?",
    ]
    # What was not captured is equal to nothing.
    assert [result["evaluation_result"]["score_raw"] for result in results[:2]] == [0.0, 1.0]
    assert results[2]["error_code"] == "missing_input"


def test_calls_without_spans_of_models_run_at_once_where_they_overlap(alice: Caller) -> None:
    recorder = Recorder()
    for seconds, id in ((3, "c1"), (1, "c2"), (1, "c3")):
        recorder.write(
            "tool",
            {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": id, "gen_ai.tool.call.id": "same"},
            seconds=seconds,
        )
    recorder.run_tool("c4", "last")
    store(alice, *recorder.spans)

    assert show(read(alice)) == ["u:?", "a:? c1? c2? c3?", "t:?", "t:?", "t:?", "a:? last?", "t:?"]


def test_the_attributes_of_openinference(alice: Caller) -> None:
    recorder = Recorder(None)
    session = {"session.id": "s1"}
    agent = recorder.write("agent", {**session, "openinference.span.kind": "AGENT", "input.value": "Where is order 7?"})
    asked = {
        "llm.input_messages.0.message.role": "system",
        "llm.input_messages.0.message.content": "Be brief.",
        "llm.input_messages.1.message.role": "user",
        "llm.input_messages.1.message.content": "Where is order 7?",
    }
    call = "message.tool_calls.0.tool_call"
    model = {"openinference.span.kind": "LLM", "llm.token_count.prompt": 7, "input.mime_type": "application/json"}
    recorder.write(
        "ChatCompletion",
        {
            **session, **model, **asked, "input.value": '{"messages": [{"role": "user", "content": "x"}]}',
            "llm.output_messages.0.message.role": "assistant",
            f"llm.output_messages.0.{call}.id": "c1",
            f"llm.output_messages.0.{call}.function.name": "find",
            f"llm.output_messages.0.{call}.function.arguments": '{"id": 7}',
            "llm.tools.0.tool.json_schema": '{"type": "function", "function": {"name": "find", "parameters": {}}}',
        },
        agent,
    )  # fmt: skip
    tool = {"openinference.span.kind": "TOOL", "tool.name": "find", "tool_call.id": "c1"}
    recorder.write("find", {**session, **tool, "input.value": '{"id": 7}'}, agent, failed=True)
    recorder.write(
        "ChatCompletion",
        {
            **session, **model, **asked,
            "llm.input_messages.2.message.role": "assistant",
            f"llm.input_messages.2.{call}.id": "c1",
            f"llm.input_messages.2.{call}.function.name": "find",
            f"llm.input_messages.2.{call}.function.arguments": '{"id": 7}',
            "llm.input_messages.3.message.role": "tool",
            "llm.input_messages.3.message.content": "sent",
            "llm.input_messages.3.message.tool_call_id": "c1",
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "It is sent.",
        },
        agent,
    )  # fmt: skip
    store(alice, *recorder.spans)

    conversation = read(alice)
    assert show(conversation) == [*WHOLE[:2], "t!:sent", WHOLE[3]]
    assert (conversation["system"], conversation["tools"]) == ("Be brief.", [{"name": "find", "parameters": {}}])
    assert conversation["usage"] == {"input_tokens": 14}


def test_the_observations_of_langfuse(alice: Caller) -> None:
    recorder = Recorder(None)
    session = {"session.id": "s1"}
    root = recorder.write(
        "turn", {**session, "langfuse.observation.type": "agent", "langfuse.observation.input": '"Hi"'}
    )
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Where is order 7?"},
        {"role": "assistant", "content": None, "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"id": 7}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "sent"},
    ]  # fmt: skip
    generation = {**session, "langfuse.observation.type": "generation"}
    recorder.write(
        "OpenAI-generation",
        {
            **generation,
            "langfuse.observation.input": json.dumps({"messages": messages[:2], "tools": []}),
            "langfuse.observation.output": json.dumps(messages[2]),
        },
        root,
    )
    recorder.write(
        "find",
        {
            **session,
            "langfuse.observation.type": "tool",
            "langfuse.observation.input": '[{"role": "user", "content": "x"}]',
        },
        root,
    )
    recorder.write(
        "OpenAI-generation",
        {
            **generation,
            "langfuse.observation.input": json.dumps(messages),
            "langfuse.observation.output": "It is sent.",
        },
        root,
    )
    store(alice, *recorder.spans)

    conversation = read(alice)
    assert show(conversation) == WHOLE[:4]
    assert (conversation["system"], conversation["agent"]) == ("Be brief.", "turn")


def test_a_graph_that_returns_its_state(alice: Caller) -> None:
    recorder = Recorder(None)
    state = [{"type": "human", "content": "Where is order 7?"}]
    answer = {"type": "ai", "content": "It is sent."}
    recorder.write(
        "LangGraph",
        {
            "metadata": '{"thread_id": "s1"}', "openinference.span.kind": "CHAIN",
            "input.value": json.dumps({"messages": state}),
            "output.value": json.dumps({"messages": [*state, answer]}),
        },
    )  # fmt: skip
    store(alice, *recorder.spans)

    assert show(read(alice)) == [WHOLE[0], WHOLE[3]]


def test_the_attributes_of_openllmetry(alice: Caller) -> None:
    recorder = Recorder(None)
    session = {"session.id": "s1", "llm.request.type": "chat", "gen_ai.usage.input_tokens": 5}
    asked = {
        "gen_ai.prompt.0.role": "system",
        "gen_ai.prompt.0.content": "Be brief.",
        "gen_ai.prompt.1.role": "user",
        "gen_ai.prompt.1.content": '[{"type": "text", "text": "Where is order 7?"}]',
    }

    def call(message: str) -> dict[str, str]:
        parts = {"id": "c1", "name": "find", "arguments": '{"id": 7}'}
        return {f"{message}.tool_calls.0.{name}": value for name, value in parts.items()}

    tool = {"name": "find", "description": "Finds an order", "parameters": '{"type": "object"}'}
    functions = {f"llm.request.functions.0.{name}": value for name, value in tool.items()}
    completion = {"gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.finish_reason": "tool_calls"}
    recorder.write("openai.chat", {**session, **asked, **functions, **completion, **call("gen_ai.completion.0")})
    recorder.write(
        "openai.chat",
        {
            **session, **asked, **functions,
            "gen_ai.prompt.2.role": "assistant", **call("gen_ai.prompt.2"),
            "gen_ai.prompt.3.role": "tool", "gen_ai.prompt.3.content": "sent", "gen_ai.prompt.3.tool_call_id": "c1",
            "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.content": "It is sent.",
            "gen_ai.completion.1.role": "assistant", "gen_ai.completion.1.content": "Sent.",
        },
    )  # fmt: skip
    store(alice, *recorder.spans)

    conversation = read(alice)
    assert show(conversation) == WHOLE[:4]
    assert (conversation["system"], conversation["tools"]) == (
        "Be brief.",
        [{"name": "find", "parameters": {"type": "object"}}],
    )
    assert conversation["usage"] == {"input_tokens": 10}


def test_messages_of_an_event(alice: Caller) -> None:
    pairs = [
        attribute("gen_ai.input.messages", json.dumps(FIRST)),
        attribute("gen_ai.output.messages", json.dumps(ANSWERED[3:])),
    ]
    event = {"timeUnixNano": "1", "name": "gen_ai.client.inference.operation.details", "attributes": pairs}
    session = attribute("gen_ai.conversation.id", "s1")
    store(alice, span(new_id(), attributes=[session], events=[event]))

    assert show(read(alice)) == WHOLE[:4]


def test_structured_messages(alice: Caller) -> None:
    def structure(value: Any) -> Any:
        if isinstance(value, dict):
            return {"kvlistValue": {"values": [{"key": key, "value": structure(part)} for key, part in value.items()]}}
        if isinstance(value, list):
            return {"arrayValue": {"values": [structure(part) for part in value]}}
        return {"intValue": value} if isinstance(value, int) else {"stringValue": value}

    recorder = Recorder()
    recorder.write(
        "chat", {"gen_ai.input.messages": structure(FIRST), "gen_ai.output.messages": structure(ANSWERED[3:])}
    )
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_spans_without_a_session_belong_to_the_one_around_them(alice: Caller) -> None:
    recorder = Recorder()
    agents = []
    for session in ("s1", "s2"):
        recorder.session = session
        agents.append(recorder.run_agent("shop"))
    recorder.session = None
    recorder.chat([user("one")], build_message("first"), parent=agents[0])
    recorder.chat([user("two")], build_message("second"), parent=agents[1])
    # Neither's.
    recorder.chat([user("three")], build_message("third"))
    store(alice, *recorder.spans)

    assert show(read(alice, session="s1")) == ["u:one", "a:first"]
    assert show(read(alice, session="s2")) == ["u:two", "a:second"]


def test_spans_beside_the_only_session_of_a_trace_belong_to_it(alice: Caller) -> None:
    recorder = Recorder()
    root = recorder.add("request")
    recorder.session = None
    recorder.chat(FIRST, ANSWERED[3], parent=new_id(8))
    recorder.run_tool("c1", "find", root, failed=True)
    store(alice, *recorder.spans)

    assert show(read(alice)) == [*WHOLE[:2], "t!:sent", WHOLE[3]]


def refuse(caller: Caller, session: Any, *, pointer: str = "/conversation/session_id") -> str:
    body = {"evaluators": [LOOP], "conversation": session, "app": "shop"}
    problem = assert_problem(caller.post("/v1/evaluate", body), "validation_failed")
    assert [error["pointer"] for error in problem["errors"]] == [pointer]
    assert not EvaluationRequest.objects.using("system").filter(account_id=caller.account.pk).exists()
    return str(problem["errors"][0]["detail"])


def test_a_stranger_finds_no_session(alice: Caller, charlie: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)

    assert refuse(charlie, {"session_id": "s1"}) == refuse(charlie, {"session_id": "nowhere"})
    # Nor does a trace that both have a part in lead from one to the other.
    store(charlie, span(recorder.trace_id, attributes=[attribute("session.id", "s1")]))
    assert refuse(charlie, {"session_id": "s1"}) == "The session has no messages and no calls of tools."
    assert show(read(alice)) == WHOLE


@pytest.mark.parametrize(
    ("session", "pointer"),
    [
        ({"session_id": ""}, "/conversation/session_id"),
        ({"session_id": "s" * 256}, "/conversation/session_id"),
        ({"session_id": 7}, "/conversation/session_id"),
        ({"session_id": None}, "/conversation/session_id"),
        ({"session_id": "s1", "agent": ""}, "/conversation/agent"),
        ({"session_id": "s1", "agent": "nobody"}, "/conversation/session_id"),
        ({"session_id": "nowhere"}, "/conversation/session_id"),
    ],
)
def test_what_is_not_there_is_refused_with_a_pointer(alice: Caller, session: Any, pointer: str) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    refuse(alice, session, pointer=pointer)


def test_sessions_are_evaluated_one_by_one(alice: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    body = {"evaluators": [LOOP], "samples": [{"conversation": {"session_id": "s1"}}]}
    (row,) = alice.post("/v1/evaluate/batch", body).json()["rows"]
    assert (row["status"], row["problem"]["errors"][0]["pointer"]) == (422, "/conversation/session_id")


def test_a_final_state_may_be_sent_with_a_session(alice: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    state = {"evaluator": "trajectory", "criteria": "patronus:trajectory-final-state"}
    session = {"session_id": "s1", "final_state": {"order": 7}}
    (result,) = evaluate(alice, state, session=session, reference={"final_state": {"order": 7}})
    assert result["evaluation_result"]["pass"] is True


def test_messages_with_a_session_id_are_an_ordinary_conversation(alice: Caller) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    conversation = read(alice)
    (result,) = evaluate(alice, session=conversation)
    assert result["evaluation_result"]["conversation"] == conversation


@pytest.mark.parametrize("sent", ['[{"role": "user"', "7", '"text"', '[{"parts": []}]', '{"a": 1}'])
def test_broken_messages_are_refused_and_name_their_span(alice: Caller, sent: str) -> None:
    recorder = Recorder()
    id = recorder.write("chat", {"gen_ai.input.messages": sent})
    store(alice, *recorder.spans)
    assert id in refuse(alice, {"session_id": "s1"})


def test_characters_that_cannot_be_stored_are_replaced(alice: Caller) -> None:
    recorder = Recorder()
    sent = json.dumps([user("a\0b \ud83d c"), called("c1", "find", text="\0", more=10**250)])
    recorder.write("chat", {"gen_ai.input.messages": sent})
    store(alice, *recorder.spans)
    (result,) = evaluate(alice, app="shop")

    assert result["evaluation_result"]["conversation"]["messages"][0]["content"] == "a\ufffdb \ufffd c"
    assert alice.get(f"/v1/evaluations/{result['evaluation_id']}").status_code == 200


def test_a_cycle_of_parents_ends(alice: Caller) -> None:
    recorder = Recorder()
    first = recorder.chat(FIRST[:1], FIRST[1])
    second = recorder.chat(FIRST, ANSWERED[3], parent=first)
    recorder.spans[0]["parentSpanId"] = second
    recorder.chat(SECOND_TURN, build_message("I could not."))
    recorder.spans[2]["parentSpanId"] = recorder.spans[2]["spanId"]
    store(alice, *recorder.spans)

    assert show(read(alice))[:4] == WHOLE[:4]


def test_a_long_conversation_within_the_limits_is_evaluated_whole(alice: Caller) -> None:
    texts = [f"{i} " + "x" * 850 for i in range(500)]
    messages = [(user if i % 2 == 0 else build_message)(text) for i, text in enumerate(texts)]
    recorder = Recorder()
    for n in (100, 250, 499):
        recorder.chat(messages[:n], messages[n])
    store(alice, *recorder.spans)
    body = {"evaluators": [LOOP], "conversation": {"session_id": "s1"}, "app": "shop"}
    answer = alice.post("/v1/evaluate", body, Prefer="respond-async")

    assert answer.status_code == 202
    row = EvaluationRequest.objects.using("system").get(account_id=alice.account.pk)
    assert [message["content"] for message in (row.extras or {})["sent"]["conversation"]["messages"]] == texts


@pytest.mark.parametrize(
    ("n_messages", "n_characters", "pointer"), [(502, 1, "/conversation/session_id"), (100, 5_000, "")]
)
def test_a_conversation_beyond_the_limits_is_refused(
    alice: Caller, n_messages: int, n_characters: int, pointer: str
) -> None:
    recorder = Recorder()
    recorder.chat([user("x" * n_characters)] * n_messages, build_message("y"))
    store(alice, *recorder.spans)
    refuse(alice, {"session_id": "s1"}, pointer=pointer)


def test_a_session_of_too_many_spans_or_bytes_is_refused(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    module = "evalsvc.telemetry.sessions.selectors"
    monkeypatch.setattr(f"{module}.MAX_SESSION_BYTES", 1_000)
    assert "bytes" in refuse(alice, {"session_id": "s1"})
    monkeypatch.undo()
    monkeypatch.setattr(f"{module}.MAX_REPEATED", 7)
    assert "more than 7 messages" in refuse(alice, {"session_id": "s1"})
    monkeypatch.undo()
    monkeypatch.setattr("evalsvc.telemetry.sessions.history.MAX_MESSAGES", 1)
    recorder.chat([user("Else")], build_message("so"), parent=recorder.run_agent("shop"))
    store(alice, *recorder.spans)
    assert "more than 1 messages" in refuse(alice, {"session_id": "s1"})
    monkeypatch.setattr(f"{module}.MAX_SPANS", 3)
    assert "3 spans" in refuse(alice, {"session_id": "s1"})


def test_texts_written_in_two_ways_are_one_conversation(alice: Caller) -> None:
    recorder = Recorder()
    recorder.chat(FIRST[:1], FIRST[1])
    repeated = json.dumps(FIRST, indent=1)
    output = json.dumps(ANSWERED[3:])
    recorder.write("chat", {"gen_ai.input.messages": repeated, "gen_ai.output.messages": output})
    store(alice, *recorder.spans)

    assert show(read(alice)) == WHOLE[:4]


def test_large_sessions_are_read_one_at_a_time(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    recorder = Recorder()
    record_turns(recorder)
    store(alice, *recorder.spans)
    limiter, turns = ConcurrencyLimiter(most=4), SlowTurns(patience=0.0)
    monkeypatch.setattr(doors, "door", limiter)
    monkeypatch.setattr(slow_turns, "door", limiter)
    monkeypatch.setattr(slow_turns, "turns", turns)
    monkeypatch.setattr(slow_turns, "_seconds", BoundedCache(100))

    def ask(conversation: Any = MappingProxyType({"session_id": "s1"})) -> Any:
        admitted = AdmittedRequest(lambda: None, alice.account.pk)
        limiter.admit(admitted)
        with serve_request(admitted):
            return alice.post("/v1/evaluate", {"evaluators": [LOOP], "conversation": dict(conversation)})

    assert ask().status_code == 200
    # The one before has taken long, and another one is being read.
    slow_turns._seconds.put((alice.account.pk, KIND), 0.2)
    turns.take(alice.account.pk)
    assert_problem(ask(), "too_many_requests")
    messages = {"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}
    assert ask(messages).status_code == 200
    turns.leave(alice.account.pk)
    assert ask().status_code == 200
    assert not turns._holders and not turns._queues


def test_the_ai_sdk_and_pydantic_ai(alice: Caller) -> None:
    sdk, agent = Recorder("sdk"), Recorder("agent")
    asked = [{"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]}]
    outer = sdk.write("ai.generateText", {"ai.prompt": json.dumps({"messages": asked})}, seconds=10)
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "find", "input": {"id": 7}}
    result = {
        "type": "tool-result",
        "toolCallId": "c1",
        "toolName": "find",
        "output": {"type": "text", "value": "sent"},
    }
    more = [*asked, {"role": "assistant", "content": [call]}, {"role": "tool", "content": [result]}]
    sdk.write("doGenerate", {"ai.prompt.messages": json.dumps(more), "ai.response.text": "It is sent."}, outer)
    history = [
        user("Where is order 7?"),
        called("c1", "find", id=7),
        {"role": "user", "parts": [{"type": "tool_call_response", "id": "c1", "name": "find", "result": "sent"}]},
        build_message("It is sent."),
    ]
    agent.write("agent run", {"pydantic_ai.all_messages": json.dumps(history), "final_result": "It is sent."})
    store(alice, *sdk.spans, *agent.spans)

    assert show(read(alice, session="sdk")) == WHOLE[:4]
    assert show(read(alice, session="agent")) == WHOLE[:4]
