"""Replies of the scripted endpoint, and the cases that are made of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

INPUT_TOKENS, OUTPUT_TOKENS = 100, 20
USAGE = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": OUTPUT_TOKENS, "total_tokens": 120}
VERDICT = {"reasoning": "Because.", "score": 1.0, "verdict": "correct"}
TEXT = json.dumps(VERDICT)


@dataclass(frozen=True, slots=True)
class Reply:
    """What is sent back for one request."""

    status: int = 200
    content: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


Script = Callable[[Mapping[str, Any], int], Reply]
"""Takes a request's body and how many came before it."""


def reply(document: object, status: int = 200, **headers: str) -> Reply:
    """Return a reply with JSON, or with a text as it is."""
    if isinstance(document, bytes):
        content = document
    else:
        content = document.encode() if isinstance(document, str) else json.dumps(document).encode()
    kind = "application/json" if content[:1] in (b"{", b"[") else "text/html"
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, content, {"content-type": kind, **named})


def completion(message: object, reason: object = "stop", **fields: Any) -> dict[str, Any]:
    """Return a chat completion around a message, or around a content."""
    if not isinstance(message, Mapping) or "content" not in message:
        message = {"role": "assistant", "content": message}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    shell = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m-2026"}
    return {**shell, "choices": [choice], "usage": USAGE, **fields}


def error(message: str, code: object = None, kind: str | None = None, **fields: Any) -> dict[str, Any]:
    """Return an error as OpenAI writes it."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **fields}}


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A behaviour that fails well: with a code, the provider's sentence, and so many calls and tokens."""

    provider: str
    name: str
    reply: Reply
    code: str
    sentence: str
    calls: int = 1
    tokens: int = 0
    kind: str | None = None


@dataclass(frozen=True, slots=True)
class VerdictCase:
    """A behaviour that gives a verdict, in so many calls the first and the second time."""

    provider: str
    name: str
    script: Script
    calls: int = 1
    again: int = 1
    input_tokens: int = INPUT_TOKENS
    output_tokens: int = OUTPUT_TOKENS
    is_estimated: bool = False
    reasoning_tokens: int = 0
