"""Behaviours that give a verdict, as their providers write them."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

from tests.judges.endpoint.replies import (
    INPUT_TOKENS,
    OUTPUT_TOKENS,
    TEXT,
    USAGE,
    VERDICT,
    Reply,
    Script,
    VerdictCase,
    completion,
    error,
    reply,
)

Body = Mapping[str, Any]


def always(document: object) -> Script:
    """Answer every request alike."""
    return lambda body, n: reply(document)


def message(**fields: Any) -> Script:
    """Answer with a message of these fields."""
    return always(completion({"role": "assistant", "content": None, **fields}))


def content(value: object) -> Script:
    """Answer with a message that has this content."""
    return always(completion({"role": "assistant", "content": value}))


def once(first: Reply, then: object = None) -> Script:
    """Answer the first request otherwise."""
    return lambda body, n: first if n == 0 else reply(then or completion(TEXT))


def refusing(
    condition: Callable[[Body], bool], document: object, status: int = 400, then: Script | None = None
) -> Script:
    """Refuse requests that have something."""
    served = then or always(completion(TEXT))
    return lambda body, n: reply(document, status) if condition(body) else served(body, n)


def has(name: str) -> Callable[[Body], bool]:
    """Whether a request has a field."""
    return lambda body: name in body


def format_is(kind: str) -> Callable[[Body], bool]:
    """Whether a request asks for this format."""
    return lambda body: body.get("response_format", {}).get("type") == kind


def has_system(body: Body) -> bool:
    """Whether a request has a system message."""
    return any(part["role"] == "system" for part in body["messages"])


def limit(body: Body) -> int:
    """The token limit of a request."""
    return int(body.get("max_tokens") or body.get("max_completion_tokens") or 10**6)


def thinking(n_tokens: int, *, hides: bool = False) -> Script:
    """A model that thinks so many tokens before it writes."""

    def script(body: Body, n: int) -> Reply:
        needed, most = n_tokens + OUTPUT_TOKENS, limit(body)
        written = min(needed, most)
        details = {"completion_tokens_details": {"reasoning_tokens": min(n_tokens, written)}}
        counts = {"prompt_tokens": INPUT_TOKENS, "completion_tokens": written, "total_tokens": INPUT_TOKENS + written}
        if hides:
            details, counts = {}, {**counts, "completion_tokens": max(0, written - n_tokens)}
        if needed > most:
            return reply(completion("", "length", usage={**counts, **details}))
        return reply(completion(TEXT, usage={**counts, **details}))

    return script


def tool_only(call: Callable[[], dict[str, Any]]) -> Script:
    """A model that takes tools, and no other mode."""

    def script(body: Body, n: int) -> Reply:
        if "response_format" in body:
            return reply(error("response_format is not supported", param="response_format"), 400)
        return reply(completion({"role": "assistant", "content": None, **call()}, "tool_calls"))

    return script


def largest(most: int, sentence: str, n_tokens: int = 3000) -> Script:
    """A model that thinks so many tokens and refuses limits above its own."""
    thinks = thinking(n_tokens)
    return lambda body, n: reply(error(sentence), 400) if limit(body) > most else thinks(body, n)


def arguments(value: object) -> dict[str, Any]:
    """Return a message's tool call."""
    return {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "answer", "arguments": value}}]}


def compressed(method: Callable[[bytes], bytes], name: str) -> Script:
    """Answer with a compressed body."""
    return lambda body, n: Reply(
        200,
        method(json.dumps(completion(TEXT)).encode()),
        {"content-type": "application/json", "content-encoding": name},
    )


def used(**usage: Any) -> Script:
    """Answer with this usage."""
    return always(completion(TEXT, usage=usage))


def o_series(body: Body, n: int) -> Reply:
    """OpenAI's first reasoning models: another limit, no temperature, no system role."""
    if "max_tokens" in body:
        sentence = "Unsupported parameter: 'max_tokens' is not supported with this model."
        sentence += " Use 'max_completion_tokens' instead."
        return reply(error(sentence, "unsupported_parameter", param="max_tokens"), 400)
    if "temperature" in body:
        sentence = "Unsupported value: 'temperature' does not support 0 with this model."
        return reply(error(sentence, "unsupported_value", param="temperature"), 400)
    if has_system(body):
        sentence = "Unsupported value: 'messages[0].role' does not support 'system' with this model."
        return reply(error(sentence, "unsupported_value", param="messages[0].role"), 400)
    return reply(completion(TEXT))


SHAPES = (
    ("openai", "plain", content(TEXT)),
    ("openai", "refusal-null", message(content=TEXT, refusal=None)),
    ("openai", "refusal-empty", message(content=TEXT, refusal="")),
    ("openai", "annotations", message(content=TEXT, annotations=[], audio=None)),
    ("azure", "filter-results", always(completion(TEXT, prompt_filter_results=[{"prompt_index": 0}]))),
    ("mistral", "text-parts", content([{"type": "text", "text": TEXT}])),
    (
        "mistral",
        "thinking-parts",
        content([{"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]}, {"type": "text", "text": TEXT}]),
    ),
    ("openai", "output-text", content([{"type": "output_text", "text": TEXT, "annotations": []}])),
    ("assistants", "text-value", content([{"type": "text", "text": {"value": TEXT}}])),
    ("litellm", "split-parts", content([{"type": "text", "text": TEXT[:9]}, {"type": "text", "text": TEXT[9:]}])),
    ("proxy", "bare-strings", content([TEXT])),
    ("proxy", "parsed-object", content(VERDICT)),
    ("deepseek", "reasoning-content", message(content=TEXT, reasoning_content="Let me see.")),
    ("openrouter", "reasoning", message(content=TEXT, reasoning="Let me see.", reasoning_details=[{"type": "x"}])),
    ("groq", "reasoning", message(content=TEXT, reasoning="Let me see.")),
    ("vllm", "all-in-reasoning", message(content=None, reasoning_content=TEXT)),
    ("sglang", "all-in-reasoning", message(content="", reasoning_content=f"\n{TEXT}\n")),
    ("qwen", "think-tags", content(f"<think>\nLet me see.\n</think>\n\n{TEXT}")),
    ("qwen", "empty-think", content(f"<think>\n\n</think>\n\n{TEXT}")),
    ("deepseek", "bare-end-of-thinking", content(f"Let me see.\n</think>\n{TEXT}")),
    ("ollama", "fence", content(f"```json\n{TEXT}\n```")),
    ("lm studio", "prose-and-fence", content(f"Here it is:\n```json\n{TEXT}\n```\nDone.")),
    ("llama.cpp", "leading-blanks", content(f"\n\n   {TEXT}")),
    ("proxy", "bom-in-text", content(f"\ufeff{TEXT}")),
    ("proxy", "bom-in-body", always(b"\xef\xbb\xbf" + json.dumps(completion(TEXT)).encode())),
    ("openrouter", "blanks-before-body", always(b"\n   \n\n" + json.dumps(completion(TEXT)).encode())),
    ("cloudflare", "gzip", compressed(gzip.compress, "gzip")),
    ("proxy", "deflate", compressed(zlib.compress, "deflate")),
    ("proxy", "deflate-raw", compressed(lambda data: zlib.compress(data, wbits=-15), "deflate")),
    ("vllm", "nan-in-body", always(json.dumps({**completion(TEXT), "score": float("nan")}))),
    ("proxy", "latin-bytes", always(json.dumps({**completion(TEXT), "note": "x"}).encode().replace(b'"x"', b'"\xe9"'))),
    ("proxy", "delta", always({"choices": [{"delta": {"content": TEXT}, "finish_reason": "stop"}], "usage": USAGE})),
    ("proxy", "text", always({"choices": [{"text": TEXT, "finish_reason": "stop"}], "usage": USAGE})),
    (
        "copilot",
        "two-choices",
        always({"choices": [{"message": {"content": None}}, {"message": {"content": TEXT}}], "usage": USAGE}),
    ),
    ("gemini", "no-finish-reason", always(completion(TEXT, None))),
    ("anthropic", "end-turn", always(completion(TEXT, "end_turn"))),
    ("gemini", "capital-stop", always(completion(TEXT, "STOP"))),
    ("litellm", "error-null", always(completion(TEXT, error=None))),
    (
        "openrouter",
        "choice-error-null",
        always({**completion(TEXT), "provider": "Together", "native_finish_reason": "x"}),
    ),
    (
        "anthropic",
        "native",
        always(
            {
                "type": "message",
                "content": [{"type": "thinking", "thinking": "Hm."}, {"type": "text", "text": TEXT}],
                "stop_reason": "end_turn",
                "usage": {"input_tokens": 60, "cache_read_input_tokens": 40, "output_tokens": 20},
            }
        ),
    ),
    (
        "ollama",
        "native",
        always(
            {
                "model": "m",
                "message": {"role": "assistant", "content": TEXT},
                "done": True,
                "done_reason": "stop",
                "prompt_eval_count": 100,
                "eval_count": 20,
            }
        ),
    ),
)
OF_SHAPE = tuple(VerdictCase(provider, name, script) for provider, name, script in SHAPES)
DIALECTS = (
    VerdictCase("openai", "o-series", o_series, calls=3),
    VerdictCase(
        "groq",
        "no-schema",
        refusing(format_is("json_schema"), error("response_format json_schema unsupported")),
        calls=2,
    ),
    VerdictCase(
        "deepseek",
        "this-format-not-now",
        refusing(format_is("json_schema"), error("This response_format type is unavailable now")),
        calls=2,
    ),
    VerdictCase("lm studio", "no-json-object", refusing(has("response_format"), {"error": "response_format"}), calls=3),
    VerdictCase(
        "openrouter",
        "no-endpoint",
        refusing(has("response_format"), error("No endpoints found that can handle the requested parameters."), 404),
        calls=3,
    ),
    VerdictCase(
        "llama.cpp", "grammar", refusing(format_is("json_schema"), error("failed to parse grammar"), 500), calls=2
    ),
    VerdictCase(
        "vllm", "system-role", refusing(has_system, error("System role not supported", kind="BadRequestError")), calls=2
    ),
    VerdictCase(
        "gemini",
        "gemma-system",
        refusing(has_system, [{"error": {"code": 400, "message": "Developer instruction is not enabled for gemma-3"}}]),
        calls=2,
    ),
    VerdictCase(
        "vllm",
        "alternating-roles",
        refusing(has_system, error("Conversation roles must alternate user/assistant/user/assistant/...")),
        calls=2,
    ),
    VerdictCase(
        "mistral",
        "extra-forbidden",
        refusing(
            has("temperature"),
            {"object": "error", "message": {"detail": [{"loc": ["body", "temperature"], "msg": "Extra inputs"}]}},
            422,
        ),
        calls=1,
    ),
    VerdictCase("bedrock", "tool-string", tool_only(lambda: arguments(TEXT)), calls=3),
    VerdictCase("ollama", "tool-object", tool_only(lambda: arguments(VERDICT)), calls=3),
    VerdictCase(
        "azure", "function-call", tool_only(lambda: {"function_call": {"name": "answer", "arguments": TEXT}}), calls=3
    ),
)
THINKING = (
    VerdictCase("deepseek", "thinks-3000", thinking(3000), calls=2, output_tokens=3020, reasoning_tokens=3000),
    VerdictCase("qwen", "thinks-5000", thinking(5000), calls=3, output_tokens=5020, reasoning_tokens=5000),
    VerdictCase("openai", "thinks-12000", thinking(12_000), calls=3, output_tokens=12_020, reasoning_tokens=12_000),
    VerdictCase("gemini", "hides-3000", thinking(3000, hides=True), calls=2, output_tokens=3020, reasoning_tokens=3000),
    VerdictCase(
        "anthropic",
        "most-3500",
        largest(3500, "max_tokens: 4096 > 3500, which is the maximum allowed number of output tokens for m"),
        calls=3,
        output_tokens=3020,
        reasoning_tokens=3000,
    ),
    VerdictCase(
        "openai",
        "most-3500",
        largest(3500, "max_tokens is too large: 4096. This model supports at most 3500 completion tokens."),
        calls=3,
        output_tokens=3020,
        reasoning_tokens=3000,
    ),
)
LIMITS = (
    VerdictCase(
        "qwen",
        "range",
        largest(3500, "Range of max_tokens should be [1, 3500]"),
        calls=3,
        output_tokens=3020,
        reasoning_tokens=3000,
    ),
    VerdictCase(
        "vllm",
        "context-with-answer",
        largest(4000, "This model's maximum context length is 4500 tokens. However, you requested 4596 tokens.", 1600),
        calls=3,
        output_tokens=1620,
        reasoning_tokens=1600,
    ),
    VerdictCase(
        "anthropic",
        "thinking-budget",
        lambda body, n: (
            reply(error("max_tokens must be greater than thinking.budget_tokens"), 400)
            if limit(body) < 3000
            else reply(completion(TEXT))
        ),
        calls=2,
    ),
)
USAGES = (
    VerdictCase(
        "xai",
        "thinking-beside",
        used(
            prompt_tokens=100,
            completion_tokens=20,
            total_tokens=420,
            completion_tokens_details={"reasoning_tokens": 300},
        ),
        output_tokens=320,
        reasoning_tokens=300,
    ),
    VerdictCase(
        "gemini",
        "thinking-in-total",
        used(prompt_tokens=100, completion_tokens=20, total_tokens=620),
        output_tokens=520,
        reasoning_tokens=500,
    ),
    VerdictCase("openai", "responses-names", used(input_tokens=100, output_tokens=20, total_tokens=120)),
    VerdictCase("anthropic", "cache-names", used(input_tokens=10, cache_creation_input_tokens=90, output_tokens=20)),
    VerdictCase("proxy", "floats", used(prompt_tokens=100.0, completion_tokens=20.0)),
    VerdictCase(
        "moonshot",
        "usage-in-choice",
        always({"choices": [{"message": {"content": TEXT}, "finish_reason": "stop", "usage": USAGE}]}),
    ),
)
AGAIN = (
    VerdictCase(
        "openrouter", "error-in-200", once(reply({"error": {"code": 502, "message": "Provider error"}})), calls=2
    ),
    VerdictCase(
        "openrouter",
        "error-in-choice",
        once(
            reply({"choices": [{"error": {"code": 502, "message": "x"}, "message": {"content": "{"}}], "usage": USAGE})
        ),
        calls=2,
    ),
    VerdictCase(
        "anthropic", "overloaded-once", once(reply({"type": "error", "error": {"message": "x"}}, 529)), calls=2
    ),
    VerdictCase("cloudflare", "bad-gateway-once", once(reply("<html>502</html>", 502)), calls=2),
    VerdictCase("groq", "429-once", once(reply(error("Please try again in 50ms."), 429)), calls=2),
)
GIVING: tuple[VerdictCase, ...] = (*OF_SHAPE, *DIALECTS, *THINKING, *LIMITS, *USAGES, *AGAIN)
