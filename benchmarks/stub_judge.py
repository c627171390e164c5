"""The stub LLM as a judge: an answer of whatever form it is asked for, and every bad manner that judges have.

What it answers is in the model's name, for example `stub-judge-pass`, and so is how it behaves, after a colon, for example
`stub-judge-pass:fences`. The schema is read where an endpoint would read it, or out of the words of the messages.

    stub-judge-pass, stub-judge-fail     every boolean true or false, every number the highest or lowest that is allowed,
                                         every choice the best or worst (the first or the last, unless their names tell)
    stub-judge-0.7                       numbers at 0.7 of their range, booleans true from 0.5 on
    stub-judge-echo                      as pass, with the last user message as every free text

    :object, :tool, :words               400 for every mode that is stricter than this one
    :nolimit, :newlimit, :notemp         400 for max_tokens and its younger name; for max_tokens; for temperature
    :fences, :prose, :think, :loose      the JSON in a fence, in prose, after thinking, with single quotes
    :ignores                             prose, until it is asked for a schema in words
    :types, :missing, :two               wrong types; a property missing; two JSON objects: always
    :once                                wrong types the first time a question comes, then right
    :short                               cut off at the token limit, unless it is at least 2000
    :cut                                 cut off, always
    :429-<s>                             429 with Retry-After: <s>, always; :429once-<s> the first time
    :quota, :401, :500, :context, :vllm-context, :refusal, :hang, :missing-model
    :flaky, :flaky-200                   500 the first time, then right; the same as an error within 200
    :error-200                           an error within 200, always
    :parts, :wrapped, :more, :quoted     the JSON as content parts; in another object; with a key more; its numbers as texts
    :no-claims, :one-claim, :excuses     lists no claim; only one; says of every sentence that it claims nothing
    :invents, :unmatched                 quotes that stand nowhere; personal data that stand nowhere
    :once-<one of those five>            the first time only, then right
    :logprobs, :logprobs-odd             tells the probabilities of tokens: 0.8 for what it says; such that say nothing
    :refuses-logprobs                    400 for the parameters that ask for them
    :biased                              of two answers the first one, always; others prefer the longer one, `fail` the shorter
    :no-usage                            does not say what it used
    :unless-<word>                       as its name says, but as fail where the question has the word; nothing to list
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import orjson

from benchmarks.stub_answers import answer, completion, error, text_of
from benchmarks.stub_verdicts import data_in, instance_of, lie, token_chances

_named = re.compile(r"stub-judge-(pass|fail|echo|[01](?:\.\d+)?)(?::([a-z0-9-]+))?(?:@\d+)?$")
_in_words = re.compile(r"JSON Schema: (\{.*\})", re.DOTALL)
STRICTEST = {
    "object": ("json_schema",),
    "tool": ("json_schema", "json_object"),
    "words": ("json_schema", "json_object", "tool"),
}


def is_judge(model: str) -> bool:
    """Say whether this is one of the models here."""
    return model.startswith("stub-judge")


def behaviour_of(model: str) -> str:
    """Return what stands after the colon."""
    found = _named.match(model)
    return (found[2] or "") if found else ""


def judged(call: dict[str, Any], key: str, n: int) -> bytes | None:
    """Answer a call, the n-th with this prompt; None to say nothing at all."""
    model = str(call["model"])
    found = _named.match(model)
    if found is None:
        return error(404, f"The model {model} does not exist.", "model_not_found")
    manner = found[2] or ""
    if manner == "hang":
        return None
    return refused(call, manner, n, key) or answered(call, found[1], manner, n)


def refused(call: dict[str, Any], manner: str, n: int, key: str) -> bytes | None:
    """Return the error that this manner calls for, if it does."""
    if mode_of(call) in STRICTEST.get(manner, ()):
        field = "tools" if mode_of(call) == "tool" else "response_format"
        return error(400, f"'{field}' of type {mode_of(call)} is not supported by this model.", "unsupported_parameter")
    if manner == "nolimit" and "max_tokens" in call:
        return error(400, "Unrecognized request argument supplied: max_tokens")
    if manner in ("nolimit", "newlimit") and (
        "max_tokens" in call or ("max_completion_tokens" in call and manner == "nolimit")
    ):
        return error(
            400, f"Unsupported parameter: {'max_tokens' if 'max_tokens' in call else 'max_completion_tokens'}."
        )
    if manner == "refuses-logprobs" and (named := next((n for n in ("logprobs", "top_logprobs") if n in call), None)):
        return error(
            400, f"Unsupported parameter: '{named}' is not supported with this model.", "unsupported_parameter"
        )
    if manner == "notemp" and "temperature" in call:
        return error(400, "Unsupported value: 'temperature' does not support 0 with this model.", "unsupported_value")
    waits = re.fullmatch(r"429(once)?-(\d+)", manner)
    if waits and (not waits[1] or n == 1):
        return error(429, "Slow down.", "rate_limit_exceeded", more=f"retry-after: {waits[2]}\r\n")
    if manner == "flaky" and n == 1:
        return error(500, "The server had an error.")
    if manner == "error-200" or (manner == "flaky-200" and n == 1):
        return answer(200, orjson.dumps({"error": {"message": "Provider returned error", "code": 502}}))
    errors: dict[str, Callable[[], bytes]] = {
        "quota": lambda: error(429, "You exceeded your current quota.", "insufficient_quota"),
        "401": lambda: error(401, f"Incorrect API key provided: {key}.", "invalid_api_key"),
        "500": lambda: error(500, "The server had an error."),
        "context": lambda: error(400, "Too many tokens.", "context_length_exceeded"),
        "vllm-context": lambda: error(400, "This model's maximum context length is 4096 tokens; reduce the length."),
        "missing-model": lambda: error(404, "The model does not exist.", "model_not_found"),
    }
    return errors[manner]() if manner in errors else None


def answered(call: dict[str, Any], verdict: str, manner: str, n: int) -> bytes:
    """Write an answer in this manner."""
    messages, model = call["messages"], str(call["model"])
    prompt = "".join(map(text_of, messages))
    if manner.startswith("unless-") and manner.removeprefix("unless-") in prompt.lower():
        verdict = "none"
    if manner == "refusal":
        return completion(model, prompt, None, refusal="I cannot help with that.")
    schema = schema_of(call)
    if schema is None or (manner == "ignores" and len(messages) < 3):
        return completion(model, prompt, "I think that it is quite good, all in all.")
    is_first = n == 1 and len(messages) < 3
    instance = instance_of(schema, verdict, text_of(messages[-1]), data_in(call))
    text = spoiled(lie(instance, manner, is_first=len(messages) < 3), manner, is_first=is_first)
    limit = call.get("max_tokens") or call.get("max_completion_tokens") or 0
    if manner == "cut" or (manner == "short" and limit < 2000):
        return completion(model, prompt, text[: len(text) // 2], "length")
    if mode_of(call) == "tool":
        called = {"id": "call_1", "type": "function", "function": {"name": "answer", "arguments": text}}
        return completion(model, prompt, None, "tool_calls", tool_calls=[called])
    told = (
        token_chances(text, manner.removeprefix("logprobs")) if call.get("logprobs") and "logprobs" in manner else None
    )
    parts = {"content": [{"type": "text", "text": text}]} if manner == "parts" else {}
    return completion(model, prompt, text, has_usage=manner != "no-usage", logprobs=told, **parts)


def spoiled(instance: dict[str, Any], manner: str, *, is_first: bool) -> str:
    """Write an instance as models do that were not asked nicely."""
    text = orjson.dumps(instance).decode()
    if manner == "types" or (manner == "once" and is_first):
        return orjson.dumps({name: [str(value)] for name, value in instance.items()}).decode()
    if manner == "missing":
        return orjson.dumps(dict(list(instance.items())[:-1])).decode()
    manners = {
        "fences": f"```json\n{text}\n```",
        "prose": f"Here is my verdict:\n{text}\nI hope that this helps.",
        "think": f'<think>The text says {{"score": 1}}.</think>\n{text}',
        "loose": repr(instance).replace("True", "true").replace("False", "false") + ",",
        "two": f"{text}\n{text}",
        "wrapped": f'{{"result": {text}}}',
        "more": f'{text[:-1]}, "confidence": 0.9}}',
        "quoted": re.sub(r'(?<=":)([0-9][0-9.]*)', r'"\1"', text),
    }
    return manners.get(manner, text)


def mode_of(call: dict[str, Any]) -> str:
    """Return how the form of the answer is asked for."""
    if call.get("tools"):
        return "tool"
    return str((call.get("response_format") or {}).get("type", "words"))


def schema_of(call: dict[str, Any]) -> dict[str, Any] | None:
    """Return the schema of the answer, from where the mode puts it."""
    match mode_of(call):
        case "json_schema":
            return call["response_format"]["json_schema"]["schema"]  # type: ignore[no-any-return]
        case "tool":
            return call["tools"][0]["function"]["parameters"]  # type: ignore[no-any-return]
    for message in call["messages"]:
        found = _in_words.search(text_of(message))
        if found:
            return orjson.loads(found[1])  # type: ignore[no-any-return]
    return None


def moderations(call: dict[str, Any]) -> bytes:
    """Answer as a moderation endpoint: what says `hate` or `violence` is flagged, each in its category."""
    from benchmarks.stub_answers import answer

    given = call.get("input")
    text = str(given[0] if isinstance(given, list) else given).lower()
    scores = {
        name: 0.97 if name in text else 0.001 for name in ("harassment", "hate", "self-harm", "sexual", "violence")
    }
    flags = {name: score > 0.5 for name, score in scores.items()}
    result = {"flagged": any(flags.values()), "categories": flags, "category_scores": scores}
    model = call.get("model") or "stub-moderation"
    return answer(200, orjson.dumps({"id": "modr-stub", "model": model, "results": [result]}))
