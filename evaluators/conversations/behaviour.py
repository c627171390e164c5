"""Repeats, loops, forbidden calls, valid arguments, refusals, counts and the final state of a conversation."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from evaluators import budget
from evaluators.base import CannotScore
from evaluators.checks.kinds.json_check import schema_problems
from evaluators.checks.kinds.json_schema import SchemaCheck
from evaluators.conversations.equality import Rulebook, Rules, is_matcher, matches
from evaluators.grounding.refusals import find_refusal
from evaluators.grounding.sentences import split_sentences
from evaluators.messages import Call, Conversation, Message, Tool
from evaluators.values import JSONValue

MAX_BLOCK = 8
N_LOOP = 3
"""So many times in a row a block of calls comes to be a loop."""
TOKEN_COUNTS = (("input_tokens", "prompt_tokens"), ("output_tokens", "completion_tokens"))


@dataclass(frozen=True, slots=True)
class PlacedCall:
    """A call and the message that makes it."""

    call: Call
    message: Message


def list_calls(conversation: Conversation) -> list[PlacedCall]:
    """Return the calls in the order of their messages."""
    return [PlacedCall(call, message) for message in conversation.messages_with_calls for call in message.calls]


def find_repeats(calls: Sequence[PlacedCall], rulebook: Rulebook, failed: frozenset[str]) -> list[PlacedCall]:
    """Return the calls that a call before them equals. A retry after an error is no repeat."""
    last: dict[Hashable, PlacedCall] = {}
    repeats = []
    for placed in calls:
        key = rulebook.get_key(placed.call)
        before = last.get(key)
        if before is not None and before.call.id not in failed:
            repeats.append(placed)
        last[key] = placed
    return repeats


def find_longest_loop(keys: Sequence[Hashable]) -> tuple[int, int]:
    """Return how often in a row a block of 1 to MAX_BLOCK calls comes at the most, and where that begins."""
    longest, begins = min(len(keys), 1), 0
    for size in range(1, MAX_BLOCK + 1):
        n_equal = 0
        for place in range(size, len(keys)):
            n_equal = n_equal + 1 if keys[place] == keys[place - size] else 0
            if (n_blocks := n_equal // size + 1) > longest:
                longest, begins = n_blocks, place - n_equal - size + 1
    return longest, begins


def find_forbidden(calls: Sequence[PlacedCall], forbidden: Sequence[Call], rulebook: Rulebook) -> PlacedCall | None:
    """Return the first call of a forbidden tool; where arguments are given, of one that has them."""
    for placed in calls:
        for expected in forbidden:
            if expected.name == placed.call.name and _has_arguments(placed.call, expected, rulebook):
                return placed
    return None


def _has_arguments(call: Call, expected: Call, rulebook: Rulebook) -> bool:
    args, rules = rulebook.fill(call), rulebook.get_rules(call.name)
    return all(name in args and matches(value, args[name], rules) for name, value in (expected.args or {}).items())


def find_premature(
    calls: Sequence[PlacedCall], requires: Mapping[str, Sequence[str]], failed: frozenset[str]
) -> tuple[PlacedCall, str] | None:
    """Return the first call before which a tool that it requires has not been called, and that tool.

    Calls of one message run at once, so that none is before the others; a call that ended in an error does not count.
    """
    before: set[str] = set()
    ahead: list[Call] = []
    message: Message | None = None
    for placed in calls:
        if placed.message is not message:
            before.update(call.name for call in ahead if call.id not in failed)
            ahead, message = [], placed.message
        ahead.append(placed.call)
        for tool in requires.get(placed.call.name, ()):
            if tool not in before:
                return placed, tool
    return None


def find_invalid(calls: Sequence[PlacedCall], tools: Sequence[Tool]) -> list[tuple[PlacedCall, str]]:
    """Return the calls of undefined tools, and those with arguments that break the tool's schema, each with the reason.

    Raises CannotScore("wrong_type") for a schema that cannot be used.
    """
    schemas = {tool.name: tool.parameters for tool in tools}
    checks = {
        name: SchemaCheck(_use_schema(name, schemas[name]))
        for name in {placed.call.name for placed in calls} & schemas.keys()
    }
    faults: dict[tuple[str, str | None], str | None] = {}
    invalid = []
    for placed in calls:
        budget.check()
        call = placed.call
        key = call.name, None if call.args is None else json.dumps(call.args)
        if key not in faults:
            faults[key] = _find_fault(call, checks)
        if reason := faults[key]:
            invalid.append((placed, reason))
    return invalid


def _use_schema(name: str, schema: Mapping[str, JSONValue] | None) -> Mapping[str, JSONValue]:
    if problem := _find_problem(json.dumps(schema or {})):
        raise CannotScore("wrong_type", f"The schema of the tool {name[:60]!r} cannot be used: {problem}.")
    return schema or {}


@lru_cache(maxsize=64)
def _find_problem(schema: str) -> str | None:
    """Return the first problem of a schema. To look takes longer than to apply it, and tools stay the same."""
    problem = next(schema_problems(json.loads(schema), ""), None)
    return f"{problem.pointer or '/'} {problem.detail}" if problem else None


def _find_fault(call: Call, checks: Mapping[str, SchemaCheck]) -> str | None:
    if call.name not in checks:
        return "no such tool is defined"
    if call.args is None:
        return "its arguments are no JSON object"
    broken = checks[call.name].breaches(dict(call.args), most=1)
    if not broken:
        return None
    place = "/".join(["", *map(str, broken[0].path)])
    return f"its arguments break `{broken[0].keyword}` of the schema{f' at {place}' if broken[0].path else ''}"


def count_refusals(messages: Sequence[Message]) -> tuple[list[Message], int]:
    """Return the messages of the assistant that decline, and how many have a text at all."""
    texts = [message for message in messages if message.role == "assistant" and message.text.strip()]
    return [message for message in texts if _declines(message.text)], len(texts)


def _declines(text: str) -> bool:
    budget.check()
    return any(find_refusal(text, span) is not None for span in split_sentences(text))


@dataclass(frozen=True, slots=True)
class StateCheck:
    """One thing that is expected of a final state: a JSON pointer, and whether it holds."""

    pointer: str
    holds: bool


_NOWHERE = object()


def check_state(expected: JSONValue, actual: object, rules: Rules, *, is_equal: bool) -> list[StateCheck]:
    """Compare a final state with the expected one, leaf by leaf; a list is one leaf.

    Where the states are to be equal, each expected object is one more check, of its keys.
    """
    return list(_check_state(expected, actual, rules, "", is_equal=is_equal))


def _check_state(
    expected: JSONValue, actual: object, rules: Rules, pointer: str, *, is_equal: bool
) -> Iterator[StateCheck]:
    if not isinstance(expected, dict) or is_matcher(expected):
        yield StateCheck(pointer, actual is not _NOWHERE and matches(expected, actual, rules))
        return
    members: Mapping[str, object] = actual if isinstance(actual, Mapping) else {}
    if is_equal:
        yield StateCheck(pointer, isinstance(actual, Mapping) and expected.keys() == actual.keys())
    elif not expected:
        yield StateCheck(pointer, isinstance(actual, Mapping))
    for name, value in expected.items():
        inner = f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"
        yield from _check_state(value, members.get(name, _NOWHERE), rules, inner, is_equal=is_equal)


def count(conversation: Conversation) -> dict[str, JSONValue]:
    """Return the counts of a conversation: turns, steps and calls; tokens and seconds where they were sent."""
    messages = conversation.messages
    counts: dict[str, JSONValue] = {
        "turns": sum(message.role == "user" for message in messages),
        "steps": sum(message.role == "assistant" for message in messages),
        "calls": sum(len(message.calls) for message in messages),
    }
    if (tokens := _count_tokens(conversation.usage)) is not None:
        counts["tokens"] = tokens
    if (seconds := _count_seconds(messages)) is not None:
        counts["seconds"] = seconds
    return counts


def _count_tokens(usage: Mapping[str, JSONValue] | None) -> int | None:
    if usage is None:
        return None
    parts = [next((usage[name] for name in names if name in usage), None) for names in TOKEN_COUNTS]
    total = usage.get("total_tokens")
    known = [part for part in ([total] if total is not None else parts) if type(part) is int and part >= 0]
    return sum(known) if known else None


def _count_seconds(messages: Sequence[Message]) -> float | None:
    """Return the seconds from the first to the last message that says when it was; None for fewer than two."""
    try:
        times = [datetime.fromisoformat(message.at) for message in messages if message.at]
        return (times[-1] - times[0]).total_seconds() if len(times) > 1 else None
    except (ValueError, TypeError):
        return None
