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


def chat(**message: Any) -> ChatCompletion:
    """Build a chat completion as the SDK does."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None, **message}}
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": USAGE}
    return ChatCompletion.model_validate(body)


def chat_chunks() -> Iterator[ChatCompletionChunk]:
    """Yield a chat completion as the SDK streams it."""
    body = {"id": "x", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    for part in text():
        choice = {"index": 0, "delta": {"content": part}, "finish_reason": None}
        yield ChatCompletionChunk.model_validate({**body, "choices": [choice]})
    yield ChatCompletionChunk.model_validate({**body, "choices": [], "usage": USAGE})


def build_pipeline() -> Pipeline:
    """Build a pipeline of one component."""
    pipeline = Pipeline()
    pipeline.add_component("builder", PromptBuilder("Say {{country}}", required_variables=["country"]))
    return pipeline


def returning(value: Any) -> Callable[[Any], Any]:
    """Return a function that returns a value."""
    return lambda _: value


def build_response() -> ModelResponse:
    """Build a response of the Responses API, without checks of fields that differ from release to release."""
    body: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m", "output": [MESSAGE]}
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


def main() -> None:
    """Print, by case, what is stored of an output."""
    loop = Loop()
    try:
        found = {name: to_components(Runner(runnable, loop)(value)) for name, (runnable, value) in CASES.items()}
    finally:
        loop.close()
    print(json.dumps(found))


if __name__ == "__main__":
    main()
