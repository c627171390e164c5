"""What frameworks return, as plain values: dictionaries of their shapes, and streams."""

from __future__ import annotations

import asyncio
import functools
from collections.abc import AsyncIterator, Iterator
from datetime import date
from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import numpy
import pytest

from evalsvc.client import Client, Output
from evalsvc.client.coroutines import Loop
from evalsvc.client.experiment.examples import to_components
from evalsvc.client.pipeline.runnables import Runner
from evalsvc.client.pipeline.streams import collect_output
from evalsvc.client.shapes import find_finish_reason, split_answer
from evalsvc.client.values import to_json
from tests.client.capitals import run

CHAT = {"object": "chat.completion", "choices": [{"index": 0, "message": {"role": "assistant", "content": "Rome"}}]}
RESPONSE = {
    "object": "response",
    "output": [
        {"type": "reasoning", "summary": []},
        {"type": "message", "content": [{"type": "output_text", "text": "Ro"}, {"type": "output_text", "text": "me"}]},
    ],
}
MESSAGES = [{"role": "user", "content": "Italy"}, {"role": "assistant", "content": "Rome"}]
BLOCKS = [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "Ro"}, {"type": "text", "text": "me"}]
SHAPES: list[dict[str, Any]] = [
    {"query": "Italy", "answer": "Rome", "context": [{"page_content": "Rome is it.", "id": "d1"}]},
    {"query": "Italy", "result": "Rome", "source_documents": [{"page_content": "Rome is it.", "metadata": {}}]},
    {"response": "Rome", "source_nodes": [{"node": {"id_": "n1", "text": "Rome is it."}, "score": 0.5}]},
    {"llm_answer": "Rome", "llm_context_list": ["Rome is it."]},
    {"actual_output": "Rome", "retrieval_context": ["Rome is it."]},
]
EM = ["exact-match"]


class Opaque:
    """Has no text."""


class Telling:
    def __str__(self) -> str:
        return "Rome"


@pytest.fixture
def loop() -> Iterator[Loop]:
    one = Loop()
    yield one
    one.close()


def returns(value: Any) -> Any:
    return lambda _: value


@pytest.mark.parametrize("body", [CHAT, RESPONSE, MESSAGES[1], {"role": "assistant", "content": BLOCKS}])
def test_bodies_of_model_apis_become_their_text(body: Any) -> None:
    assert to_components(body) == {"output": "Rome"}


def test_a_refusal_is_the_answer() -> None:
    body = {"choices": [{"message": {"role": "assistant", "content": None, "refusal": "I cannot."}}]}

    assert to_components(body) == {"output": "I cannot."}


def test_values_of_numpy_are_plain() -> None:
    values = [numpy.bool_(True), numpy.float32(0.5), numpy.int64(3), numpy.array([1, 2]), numpy.str_("a")]

    assert to_json(values) == [True, 0.5, 3, [1, 2], "a"]
    assert to_json(SimpleNamespace(answer="a")) == {"answer": "a"}


@pytest.mark.parametrize(
    "value", [Opaque(), Opaque, test_values_of_numpy_are_plain, (x for x in "ab"), ValueError("Rome")]
)
def test_what_has_no_text_is_its_class(value: Any) -> None:
    found: Any = to_json(value)

    assert found["$type"] == "opaque"
    assert " at 0x" not in found["value"]
    assert to_json(Telling()) == "Rome"


@pytest.mark.parametrize("shape", SHAPES)
def test_answers_and_contexts_are_found(client: Client, shape: dict[str, Any]) -> None:
    found = run(client, returns(shape), ["Italy"], ["Rome"], evaluators=[*EM, "metrics/recall"])
    gold = {"answer": "Rome", "contexts": ["Rome is it."]}
    ranked = run(client, returns(shape), ["Italy"], [gold], evaluators=["metrics/recall"])

    assert found.metrics["exact-match"].value == 1.0
    assert ranked.metrics["metrics/recall"].value == 1.0
    assert split_answer(shape)[0] == "Rome"


@pytest.mark.parametrize(
    ("value", "says"),
    [
        (Opaque(), "test_shapes.Opaque"),
    ],
)
def test_what_is_no_answer_is_no_score(client: Client, value: Any, says: str) -> None:
    found = run(client, returns(value), ["Italy"], ["Rome"])

    score = found.rows[0].scores["exact-match"]
    assert (score.value, score.error_code) == (None, "wrong_type")
    assert says in str(score.error_message)


@pytest.mark.parametrize("value", [MESSAGES, {"messages": MESSAGES}], ids=["list", "object"])
def test_messages_are_a_conversation_with_an_answer(client: Client, value: Any) -> None:
    found = run(client, returns(value), ["Italy"], ["Rome"])

    assert found.metrics["exact-match"].value == 1.0


def test_text_blocks_are_joined(client: Client) -> None:
    found = run(client, returns(BLOCKS), ["Italy"], ["Rome"])

    assert found.metrics["exact-match"].value == 1.0
    assert client.evaluate(EM, output=BLOCKS, gold="Rome")[0].score == 1.0


def test_extractive_answers_are_still_ranked(client: Client) -> None:
    ranked = [{"text": "Rome", "score": 0.9}, {"text": "Milan", "score": 0.1}]

    assert client.evaluate(EM, output=ranked, gold="Rome")[0].score == 1.0


def words(text: str) -> Iterator[str]:
    yield from ("Ro", text)


async def later(text: str) -> AsyncIterator[str]:
    for word in words(text):
        await asyncio.sleep(0)
        yield word


def parts(text: str) -> Iterator[dict[str, Any]]:
    yield {"context": ["a"]}
    yield {"answer": "Ro"}
    yield {"answer": text, "context": ["b"]}


def chunks(text: str) -> Iterator[Any]:
    for word in words(text):
        yield SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=word))])
    yield SimpleNamespace(choices=[])


def events(text: str) -> Iterator[Any]:
    yield SimpleNamespace(type="response.created", response={})
    for word in words(text):
        yield SimpleNamespace(type="response.output_text.delta", delta=word)
    yield SimpleNamespace(type="response.completed", response={})


@pytest.mark.parametrize("stream", [words, later, chunks, events, lambda text: functools.partial(later, text)()])
def test_streams_are_read_to_their_end(loop: Loop, stream: Any) -> None:
    assert Runner(stream, loop)("me") == "Rome"


def test_dictionaries_of_a_stream_are_merged(loop: Loop) -> None:
    assert collect_output(parts("me"), loop) == {"answer": "Rome", "context": ["a", "b"]}
    assert collect_output(iter([1, 2]), loop) == [1, 2]


def test_a_stream_within_an_output_is_read(client: Client) -> None:
    found = run(client, lambda _: Output(words("me"), output_tokens=2), ["Italy"], ["Rome"])

    assert (found.rows[0].output, found.rows[0].output_tokens) == ("Rome", 2)
    assert found.metrics["exact-match"].value == 1.0


class Runnable:
    """As those of LangChain: the parameter `input` is the whole input."""

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        return input


class Late:
    async def ainvoke(self, input: Any, config: Any = None) -> Any:
        return input


class Engine:
    def query(self, str_or_query_bundle: str) -> str:
        return str_or_query_bundle.upper()


class Question:
    def query(self, question: str, k: int = 1) -> Any:
        return question, k


@pytest.mark.parametrize(
    ("runnable", "value", "output"),
    [
        (Runnable(), {"input": "a", "chat_history": []}, {"input": "a", "chat_history": []}),
        (Runnable().invoke, {"input": "a"}, {"input": "a"}),
        (Runnable(), "a", "a"),
        (Late(), {"input": "a"}, {"input": "a"}),
        (Engine(), "a", "A"),
        (Engine(), {"query": "a"}, "A"),
        (Question(), {"question": "a", "k": 2}, ("a", 2)),
    ],
)
def test_methods_of_frameworks_are_called(loop: Loop, runnable: Any, value: Any, output: Any) -> None:
    assert Runner(runnable, loop)(value) == output


def test_decimals_and_dates_are_read_as_written(client: Client) -> None:
    found = run(client, returns(Decimal("1.10")), ["price"], ["1.10"])
    dated = run(client, returns(date(2026, 1, 2)), ["when"], [date(2026, 1, 2)])

    assert found.metrics["exact-match"].value == dated.metrics["exact-match"].value == 1.0


CUT = {"object": "chat.completion", "choices": [{"message": {"content": "Ro"}, "finish_reason": "length"}]}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (CUT, "length"),
        ({"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "stop"}]}, "refusal"),
        (
            {"object": "response", "output": [], "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
        ),
        ({"object": "response", "output": [], "incomplete_details": None}, None),
        ({"answer": CUT, "context": ["x"]}, "length"),
        ({"llm": {"replies": ["Ro"], "meta": [{"finish_reason": "length"}]}}, "length"),
        ({"stop_reason": "s" * 60, "content": "Ro"}, "s" * 50),
        ("Rome", None),
        (["Ro", "me"], None),
        (None, None),
    ],
)
def test_the_finish_reason_is_found(value: object, reason: str | None) -> None:
    assert find_finish_reason(value) == reason


def test_the_finish_reason_of_a_stream_is_kept() -> None:
    parts = [("Ro", None), ("", "length")]
    pieces = [
        SimpleNamespace(choices=[SimpleNamespace(delta=SimpleNamespace(content=text), finish_reason=reason)])
        for text, reason in parts
    ]
    joined = collect_output(iter(pieces), Loop())

    assert joined == "Ro"
    assert find_finish_reason(joined) == "length"


def test_cut_answers_fail_in_calls_batches_and_experiments(client: Client) -> None:
    whole = {**CUT, "choices": [{"message": {"content": "Ro"}, "finish_reason": "stop"}]}
    evaluators = ["exact-match"]

    assert [client.evaluate(evaluators, output=output, gold="Ro")[0].passed for output in (CUT, whole)] == [False, True]
    samples = [{"output": output, "gold": "Ro"} for output in (CUT, whole)]
    assert [result.passed for result in client.evaluate_batch(samples, evaluators)] == [False, True]
    outputs = {"a": CUT, "b": whole}
    result = client.eval(lambda value: outputs[value], ["a", "b"], ["Ro", "Ro"], evaluators=evaluators)
    metric = result.metrics["exact-match"]
    assert (metric.value, metric.rows["n_failed"] if metric.rows else None) == (0.5, 1)
