"""Outputs that are not there yet: coroutines to await, and streams to read to their end."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from evalsvc.client.coroutines import Loop, wait_if_awaitable
from evalsvc.client.shapes import join_stream


def collect_output(output: Any, loop: Loop) -> object:
    """Return a value as it is, wait for an awaitable, and join what a generator or another stream yields."""
    output = wait_if_awaitable(output, loop)
    if isinstance(output, AsyncIterator):
        return join_stream(loop.wait_for(_read_all(output)))
    if isinstance(output, Iterator):
        return join_stream(list(output))
    if type(output).__module__.startswith("llama_index."):
        return _collect_response(output, loop)
    return output


async def _read_all(stream: AsyncIterator[object]) -> list[object]:
    return [piece async for piece in stream]


def _collect_response(output: Any, loop: Loop) -> object:
    """Read a response that a query engine or a chat engine of LlamaIndex streams."""
    if callable(getattr(output, "get_response", None)):
        return wait_if_awaitable(output.get_response(), loop)
    if type(output).__name__ == "StreamingAgentChatResponse":
        return {"response": join_stream(list(output.response_gen)), "source_nodes": output.source_nodes}
    return output
