"""Run by test_frameworks.py where the frameworks are installed: print what the client makes of what they return."""

# mypy: disable-error-code="import-not-found"

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import dspy
import numpy
from haystack import Pipeline
from haystack.components.builders import PromptBuilder
from haystack.dataclasses import ChatMessage as HaystackMessage
from langchain_core.documents import Document
from langchain_core.language_models import GenericFakeChatModel
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import RunnableLambda
from llama_index.core.base.response.schema import AsyncStreamingResponse, Response, StreamingResponse
from llama_index.core.chat_engine.types import AgentChatResponse
from llama_index.core.llms import ChatMessage, ChatResponse, CompletionResponse
from llama_index.core.query_engine import CustomQueryEngine
from llama_index.core.schema import NodeWithScore, TextNode
from openai.types.chat import ChatCompletion, ChatCompletionChunk
from openai.types.responses import Response as ModelResponse

from evalsvc.client.coroutines import Loop
from evalsvc.client.experiment.examples import to_components
from evalsvc.client.pipeline.runnables import Runner
from evalsvc.client.pipeline.streams import collect_output
from evalsvc.client.shapes import find_finish_reason

DOCUMENT = Document("Rome is it.", id="d1", metadata={"page": 1})
NODES = [NodeWithScore(node=TextNode(text="Rome is it.", id_="d1", metadata={"page": 1}), score=0.5)]
USAGE = {"prompt_tokens": 3, "completion_tokens": 1, "total_tokens": 4}
MESSAGE = {
    "type": "message",
    "id": "m",
    "role": "assistant",
    "status": "completed",
    "content": [{"type": "output_text", "text": text, "annotations": []} for text in ("Ro", "me")],
}


class Engine(CustomQueryEngine):
    """Answers each query alike."""

    def custom_query(self, query_str: str) -> Response:
        assert query_str == "Italy"
        return Response("Rome", source_nodes=NODES)


class Thinking(dspy.Module):
    """A module without a model."""

    def __init__(self) -> None:
        super().__init__()
        self.predict = dspy.Predict("country -> reasoning, answer")

    def forward(self, country: str) -> dspy.Prediction:
        assert country == "Italy"
        return dspy.Prediction(reasoning="So.", answer="Rome")


def text() -> Iterator[str]:
    """Yield the answer in two parts."""
    yield from ("Ro", "me")


async def text_later() -> AsyncIterator[str]:
    """Yield the answer in two parts, to those who wait."""
    for part in text():
        yield part


async def shout(value: str) -> str:
    """Answer late."""
    return value.upper()


def chat(reason: str = "stop", **message: Any) -> ChatCompletion:
    """Build a chat completion as the SDK does."""
    choice = {"index": 0, "finish_reason": reason, "message": {"role": "assistant", "content": None, **message}}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return ChatCompletion.model_validate(body)


def chat_chunks(reason: str | None = None) -> Iterator[ChatCompletionChunk]:
    """Yield a chat completion as the SDK streams it."""
    body = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for part in text():
        choice = {"index": 0, "delta": {"content": part}, "finish_reason": None}
        yield ChatCompletionChunk.model_validate({**body, "choices": [choice]})
    end = {"index": 0, "delta": {}, "finish_reason": reason}
    yield ChatCompletionChunk.model_validate({**body, "choices": [end]})
    yield ChatCompletionChunk.model_validate({**body, "choices": [], "usage": USAGE})


def build_pipeline() -> Pipeline:
    """Build a pipeline of one component."""
    pipeline = Pipeline()
    pipeline.add_component("builder", PromptBuilder("Say {{country}}", required_variables=["country"]))
    return pipeline


def returning(value: Any) -> Callable[[Any], Any]:
    """Return a function that returns a value."""
    return lambda _: value


def build_response(**fields: Any) -> ModelResponse:
    """Build a response of the Responses API, without checks of fields that differ from release to release."""
    body: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [MESSAGE]}
    body |= fields
    return ModelResponse.construct(**body)


CHAIN = {"input": "Italy", "context": [DOCUMENT], "answer": "Rome"}
CASES: dict[str, tuple[Any, Any]] = {
    "langchain message": (GenericFakeChatModel(messages=iter([AIMessage("Rome")])), "Italy"),
    "langchain message in blocks": (returning(AIMessage([{"type": "text", "text": part} for part in text()])), "Italy"),
    "langchain chain": (RunnableLambda(returning(CHAIN)), {"input": "Italy"}),
    "langchain stream": (GenericFakeChatModel(messages=iter([AIMessage("Rome")])).stream, "Italy"),
    "langchain chain, whole input": (RunnableLambda(lambda value: list(value)), {"input": "Italy"}),
    "langchain asynchronous": (RunnableLambda(shout).ainvoke, "Italy"),
    "langchain result": (
        returning(LLMResult(generations=[[ChatGeneration(message=AIMessage("Rome"))]])),
        "Italy",
    ),
    "llama-index query engine": (Engine(), "Italy"),
    "llama-index query engine, by name": (Engine(), {"query": "Italy"}),
    "llama-index streaming": (lambda _: StreamingResponse(text(), source_nodes=NODES), "Italy"),
    "llama-index asynchronous streaming": (lambda _: AsyncStreamingResponse(text_later(), source_nodes=NODES), "Italy"),
    "llama-index agent": (returning(AgentChatResponse(response="Rome")), "Italy"),
    "llama-index chat": (returning(ChatResponse(message=ChatMessage(role="assistant", content="Rome"))), "Italy"),
    "llama-index completion": (returning(CompletionResponse(text="Rome")), "Italy"),
    "dspy module": (Thinking(), "Italy"),
    "dspy prediction": (returning(dspy.Prediction(answer="Rome")), "Italy"),
    "haystack pipeline": (build_pipeline(), {"builder": {"country": "Italy"}}),
    "openai chat": (returning(chat(content="Rome")), "Italy"),
    "openai refusal": (returning(chat(refusal="I cannot.")), "Italy"),
    "openai response": (returning(build_response()), "Italy"),
    "openai chat stream": (lambda _: chat_chunks(), "Italy"),
    "numpy": (returning(numpy.bool_(True)), "Italy"),
}


CUT: dict[str, Callable[[], Any]] = {
    "openai chat": lambda: chat("length", content="Ro"),
    "openai chat stream": lambda: collect_output(chat_chunks("length"), Loop()),
    "openai response": lambda: build_response(status="incomplete", incomplete_details={"reason": "max_output_tokens"}),
    "openai refusal": lambda: chat(refusal="I cannot."),
    "langchain message": lambda: AIMessage("Ro", response_metadata={"finish_reason": "length"}),
    "langchain chain": lambda: {"answer": AIMessage("Ro", response_metadata={"stop_reason": "max_tokens"})},
    "langchain result": lambda: LLMResult(
        generations=[[ChatGeneration(message=AIMessage("Ro"), generation_info={"finish_reason": "length"})]]
    ),
    "llama-index chat": lambda: ChatResponse(
        message=ChatMessage(role="assistant", content="Ro"), raw=chat("length", content="Ro")
    ),
    "haystack message": lambda: {"replies": [HaystackMessage.from_assistant("Ro", meta={"finish_reason": "length"})]},
    "haystack generator": lambda: {"replies": ["Ro"], "meta": [{"finish_reason": "length"}]},
    "haystack pipeline": lambda: {"llm": {"replies": ["Ro"], "meta": [{"finish_reason": "length"}]}},
    "whole": lambda: AIMessage("Rome"),
}
"""Outputs that tell how they ended."""


def main() -> None:
    """Print, by case, what is stored of an output, and how cut ones ended."""
    loop = Loop()
    try:
        found = {name: to_components(Runner(runnable, loop)(value)) for name, (runnable, value) in CASES.items()}
    finally:
        loop.close()
    reasons = {name: find_finish_reason(build()) for name, build in CUT.items()}
    print(json.dumps({"outputs": found, "reasons": reasons}))


if __name__ == "__main__":
    main()
