"""What the stub LLM says: good answers, errors as OpenAI words them, and bad manners that fit into one write."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from typing import Any

import orjson

from benchmarks.stub_tasks import answer_to

EMBEDDING_SIZE = 8


def answer(status: int, body: bytes, *, kind: str = "application/json", more: str = "") -> bytes:
    """Write an HTTP answer."""
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n{more}\r\n"
    return head.encode() + body


def error(status: int, message: str, code: str | None = None, more: str = "") -> bytes:
    """Write an error as OpenAI does."""
    return answer(status, orjson.dumps({"error": {"message": message, "type": "stub", "code": code}}), more=more)


def completion(
    model: str,
    prompt: str,
    text: str | None,
    finish: str = "stop",
    *,
    has_usage: bool = True,
    logprobs: Any = None,
    **message: Any,
) -> bytes:
    """Write a chat completion; a token is four characters."""
    sent, written = len(prompt) // 4 + 1, len(text or "") // 4 + 1
    body: dict[str, Any] = {
        "id": "chatcmpl-stub",
        "object": "chat.completion",
        "created": 1,
        "model": model,
        "choices": [
            {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish}
        ],
    }
    if logprobs is not None:
        body["choices"][0]["logprobs"] = logprobs
    if has_usage:
        body["usage"] = {"prompt_tokens": sent, "completion_tokens": written, "total_tokens": sent + written}
    return answer(200, orjson.dumps(body))


def tool_call(model: str, prompt: str, tools: list[dict[str, Any]]) -> bytes:
    """Call the first tool for a question, with the question as its argument; repeat what is none."""
    if not tools or "?" not in prompt:
        return completion(model, prompt, prompt)
    called = {"name": tools[0]["function"]["name"], "arguments": orjson.dumps({"question": prompt}).decode()}
    calls = [{"id": "call_1", "type": "function", "function": called}]
    return completion(model, prompt, None, "tool_calls", tool_calls=calls)


def text_of(message: dict[str, Any]) -> str:
    """Return the text of a message; of parts that are none their kind and their size."""
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return "".join(str(part["text"]) if "text" in part else f"\n[{_told(part)}]" for part in content)


def _told(part: dict[str, Any]) -> str:
    inner = part[part["type"]]
    written = inner.get("url") or inner["data"]
    return f"{part['type']} {written[:22]} {len(written)}"


def embeddings(call: dict[str, Any]) -> dict[str, Any]:
    """Return a small vector for each text, from its bytes."""
    texts = call.get("input")
    listed = texts if isinstance(texts, list) else [texts]
    vectors = [[sum(str(text).encode()[i::EMBEDDING_SIZE]) % 97 / 97 for i in range(EMBEDDING_SIZE)] for text in listed]
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {
        "object": "list",
        "model": call.get("model"),
        "data": data,
        "usage": {"prompt_tokens": 1, "total_tokens": 1},
    }


def throttled(model: str, prompt: str, key: str, n: int) -> bytes:
    return error(429, "Slow down.", "rate_limit_exceeded", more="retry-after: 1\r\n")


def squeezed(model: str, prompt: str, key: str, n: int) -> bytes:
    return answer(200, gzip.compress(b"{" + b" " * 10_000_000 + b"}"), more="content-encoding: gzip\r\n")


# What one write answers: (model, prompt, key, how often this prompt has come) -> bytes.
PLAIN: dict[str, Callable[[str, str, str, int], bytes]] = {
    "stub-429": lambda m, p, k, n: throttled(m, p, k, n) if n == 1 else completion(m, p, answer_to(m, p)),
    "stub-429-forever": throttled,
    "stub-quota": lambda m, p, k, n: error(429, "You exceeded your current quota.", "insufficient_quota"),
    "stub-401": lambda m, p, k, n: error(401, f"Incorrect API key provided: {k}.", "invalid_api_key"),
    "stub-400": lambda m, p, k, n: error(400, f"Unsupported parameter, said {k}.", "unsupported_parameter"),
    "stub-rude": lambda m, p, k, n: error(422, f"\0\x1b[31m{k}\u202e " + "x" * 5000, "\0" * 500),
    "stub-context": lambda m, p, k, n: error(400, "Too many tokens.", "context_length_exceeded"),
    "stub-500": lambda m, p, k, n: error(500, "The server had an error."),
    "stub-garbage": lambda m, p, k, n: answer(200, b"\x00\xff not json {"),
    "stub-html": lambda m, p, k, n: answer(200, b"<html>sign in</html>", kind="text/html"),
    "stub-odd": lambda m, p, k, n: answer(200, b'{"choices": [{"message": "hello"}], "usage": "none"}'),
    "stub-truncate": lambda m, p, k, n: completion(m, p, "The answer is fo", "length"),
    "stub-reasons": lambda m, p, k, n: completion(m, p, p, reasoning_content="Hm."),
    "stub-reasons-only": lambda m, p, k, n: completion(m, p, "", reasoning_content="Hm."),
    "stub-filtered": lambda m, p, k, n: completion(m, p, "Half of", "content_filter"),
    "stub-refusal": lambda m, p, k, n: completion(m, p, None, refusal="I cannot help with that."),
    "stub-empty": lambda m, p, k, n: completion(m, p, ""),
    "stub-gzip": squeezed,
    "stub-redirect": lambda m, p, k, n: answer(302, b"", more="location: http://169.254.169.254/latest/meta-data\r\n"),
}
