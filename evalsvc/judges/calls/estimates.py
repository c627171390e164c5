"""Token estimates, for calls before they are made and for responses that report no usage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

CHARS_PER_TOKEN = 3.5
DEFAULT_ANSWER_TOKENS = 1024
IMAGE_TOKENS = 1_600
"""What the usual models charge for an image of about a thousand by a thousand, the dearest of them."""
RECORDING_BYTES_PER_TOKEN = 500
"""32 tokens a second, the dearest that is usual, of 128 kbit/s; a recording that is not compressed counts for more."""


@dataclass(frozen=True, slots=True)
class ExpectedUsage:
    """What a call uses by estimate: tokens sent, and the most that its answer may have."""

    input_tokens: int
    longest_answer: int


def expected_usage(
    messages: Sequence[Mapping[str, object]], parameters: Mapping[str, object] | None = None
) -> ExpectedUsage:
    """Estimate a call from what it sends."""
    return ExpectedUsage(prompt_tokens(messages), answer_limit(parameters or {}) or DEFAULT_ANSWER_TOKENS)


def estimate_tokens(messages: Sequence[Mapping[str, object]], parameters: Mapping[str, object] | None = None) -> int:
    """Return how many tokens a call can use: its text plus the longest response it allows."""
    expected = expected_usage(messages, parameters)
    return expected.input_tokens + expected.longest_answer


def prompt_tokens(messages: Sequence[Mapping[str, object]]) -> int:
    """Return about how many tokens messages are: 3.5 bytes each, and eight a message for its frame."""
    return sum(_content_tokens(message.get("content")) for message in messages) + 8 * len(messages)


def _content_tokens(content: object) -> int:
    if isinstance(content, list):
        return sum(_part_tokens(part) for part in content if isinstance(part, dict))
    return text_tokens(str(content or ""))


def _part_tokens(part: Mapping[str, Any]) -> int:
    """Estimate one part of a message: an image as one of full size, and a recording by its length."""
    match part.get("type"):
        case "image_url":
            return IMAGE_TOKENS
        case "input_audio":
            return int(len(part["input_audio"]["data"]) * 3 / 4 / RECORDING_BYTES_PER_TOKEN) + 1
    return text_tokens(str(part.get("text") or ""))


def text_tokens(text: str) -> int:
    """Return about how many tokens a text is."""
    return int(len(text.encode("utf-8", "replace")) / CHARS_PER_TOKEN)


def answer_limit(parameters: Mapping[str, object]) -> int | None:
    """Return the most tokens that an answer may have; None where the call names no limit."""
    limit = parameters.get("max_completion_tokens") or parameters.get("max_tokens")
    return limit if isinstance(limit, int) and limit > 0 else None
