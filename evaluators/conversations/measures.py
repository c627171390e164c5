"""The measures of a conversation, by name: each a value from 0 to 1, why, and what was counted."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from msgspec import UNSET

from evaluators.base import CannotScore
from evaluators.conversations import alignment as align
from evaluators.conversations import behaviour
from evaluators.conversations.alignment import Alignment
from evaluators.conversations.behaviour import PlacedCall
from evaluators.conversations.equality import SUBSET, Rulebook, Rules, compare_calls, grade_calls
from evaluators.messages import Call, Conversation, Message, Reference
from evaluators.values import JSONValue, Settings

MAX_SHOWN = 120
MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class Measurement:
    """A value, half a sentence on why, and further numbers."""

    value: float
    because: str
    extra: Mapping[str, JSONValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Subject:
    """What is measured: a conversation, what was expected of it, and the settings."""

    conversation: Conversation
    reference: Reference
    settings: Settings

    @property
    def rulebook(self) -> Rulebook:
        """Return how the arguments of each tool are compared."""
        return Rulebook(self.settings, self.conversation.tools)


Measure: TypeAlias = Callable[[Subject], Measurement]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """The calls of a conversation and the expected ones, those of a message in an order that does not depend on it."""

    calls: Sequence[Call]
    messages: Sequence[Message]
    expected: Sequence[Call]
    alignment: Alignment
    rulebook: Rulebook


def _align(subject: Subject) -> Trajectory:
    groups = _sort_groups(message.calls for message in subject.conversation.messages_with_calls)
    if subject.reference.calls is None:
        raise CannotScore("missing_input", "`reference` has no `tool_calls`.")
    expected_groups = _sort_groups(subject.reference.calls)
    calls, expected = (
        [call for group in groups for call in group],
        [call for group in expected_groups for call in group],
    )
    messages = [message for message in subject.conversation.messages_with_calls for _ in message.calls]
    rulebook = subject.rulebook
    fits = compare_calls(calls, expected, rulebook)
    alignment = Alignment(_places(groups), _places(expected_groups), subject.reference.is_flat, fits)
    return Trajectory(calls, messages, expected, alignment, rulebook)


_encode = json.JSONEncoder(sort_keys=True).encode


def _sort_groups(groups: Iterable[Sequence[Call]]) -> list[Sequence[Call]]:
    return [sorted(group, key=_sort_key) if len(group) > 1 else group for group in groups]


def _sort_key(call: Call) -> tuple[str, str]:
    return call.name, call.raw or _encode(call.args)


def _places(groups: Sequence[Sequence[Call]]) -> list[list[int]]:
    places, begin = [], 0
    for group in groups:
        places.append(list(range(begin, begin + len(group))))
        begin += len(group)
    return places


def show(call: Call) -> str:
    """Return a call as text, cut off where it is long, without characters that cannot be stored."""
    name = call.name[:MAX_SHOWN] if call.name.isprintable() else json.dumps(call.name[:MAX_SHOWN])
    text = f"{name}({json.dumps(call.raw if call.args is None else call.args)})"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def _strict(subject: Subject) -> Measurement:
    trajectory = _align(subject)
    index = align.find_first_unequal(trajectory.alignment)
    if index is None:
        return _verdict(trajectory, True, "each message makes the expected calls")
    return _verdict(trajectory, False, _describe_message(trajectory, index))


def _describe_message(trajectory: Trajectory, index: int) -> str:
    """Describe the first difference in a message, or the expected calls after the last one."""
    alignment = trajectory.alignment
    n_before = sum(map(len, alignment.groups[:index]))
    if index >= len(alignment.groups):
        return f"after the last message, {_list_missing(trajectory, n_before)} was expected"
    group = alignment.groups[index]
    wanted = list(alignment.expected[index]) if index < len(alignment.expected) else []
    if alignment.is_flat:
        wanted = list(range(n_before, min(n_before + len(group), alignment.n_expected)))
    columns = align.match_most(alignment.fits[group][:, wanted])
    missing = [trajectory.expected[place] for at, place in enumerate(wanted) if at not in columns]
    expected = f"where {show(missing[0])} was expected" if missing else "where no call was expected"
    unmatched = [trajectory.calls[place] for place, column in zip(group, columns, strict=True) if column < 0]
    what = f"calls {show(unmatched[0])}" if unmatched else "makes fewer calls"
    return f"message {trajectory.messages[group[0]].index} {what}, {expected}"


def _list_missing(trajectory: Trajectory, n_before: int) -> str:
    return show(trajectory.expected[min(n_before, len(trajectory.expected) - 1)])


def _in_order(subject: Subject) -> Measurement:
    trajectory = _align(subject)
    taken = align.take_in_order(trajectory.alignment)
    lost = next((place for place in range(len(trajectory.expected)) if place not in set(taken)), None)
    if lost is None:
        return _verdict(trajectory, True, "the expected calls come in their order")
    after = f" after {show(trajectory.expected[taken[-1]])}" if taken else ""
    return _verdict(trajectory, False, f"{show(trajectory.expected[lost])} was expected and does not come{after}")


def _verdict(trajectory: Trajectory, holds: bool, because: str) -> Measurement:
    return Measurement(1.0 if holds else 0.0, because, _count(trajectory))


def _count(trajectory: Trajectory) -> dict[str, JSONValue]:
    return {"n_calls": len(trajectory.calls), "n_expected": len(trajectory.expected)}


def _unordered(subject: Subject) -> Measurement:
    return _compare_sets(subject, lambda n, m, matched: n == m == matched)


def _superset(subject: Subject) -> Measurement:
    return _compare_sets(subject, lambda n, m, matched: m == matched, is_extra_fine=True)


def _subset(subject: Subject) -> Measurement:
    return _compare_sets(subject, lambda n, m, matched: n == matched)


def _compare_sets(
    subject: Subject, holds: Callable[[int, int, int], bool], *, is_extra_fine: bool = False
) -> Measurement:
    trajectory = _align(subject)
    columns = align.match_most(trajectory.alignment.fits)
    n_matched = sum(column >= 0 for column in columns)
    passed = holds(len(trajectory.calls), len(trajectory.expected), n_matched)
    because = _describe_pairs(trajectory, columns, is_extra_fine=is_extra_fine)
    return _verdict(trajectory, passed, because)


def _describe_pairs(trajectory: Trajectory, columns: Sequence[int], *, is_extra_fine: bool = False) -> str:
    """Name the first call without an equal expected one, else the first expected one that is not called."""
    extra = next((place for place, column in enumerate(columns) if column < 0), None)
    if extra is not None and not is_extra_fine:
        call, message = trajectory.calls[extra], trajectory.messages[extra]
        return f"message {message.index} calls {show(call)}, which matches no expected call that is left"
    missing = next((place for place in range(len(trajectory.expected)) if place not in set(columns)), None)
    if missing is not None:
        return f"{show(trajectory.expected[missing])} was expected and is not called"
    return "every expected call is made" if is_extra_fine else "the calls are the expected ones"


def _precision(subject: Subject) -> Measurement:
    return _rate(subject, lambda n, m, matched: None if n == 0 else matched / n)


def _recall(subject: Subject) -> Measurement:
    return _rate(subject, lambda n, m, matched: None if m == 0 else matched / m)


def _f1(subject: Subject) -> Measurement:
    return _rate(subject, lambda n, m, matched: 2 * matched / (n + m))


def _rate(subject: Subject, compute: Callable[[int, int, int], float | None]) -> Measurement:
    """Compute a share of matched calls: 1 where neither side has any. Raises CannotScore where it is undefined."""
    trajectory = _align(subject)
    columns = align.match_most(trajectory.alignment.fits)
    n_matched = sum(column >= 0 for column in columns)
    n, m = len(trajectory.calls), len(trajectory.expected)
    value = 1.0 if n == m == 0 else compute(n, m, n_matched)
    if value is None:
        reason = "no call is made" if n == 0 else "no call is expected"
        raise CannotScore("not_applicable", f"The share is undefined, since {reason}.")
    because = f"of {n} calls, {n_matched} match one of {m} expected ones: {_describe_pairs(trajectory, columns)}"
    return Measurement(value, because, {**_count(trajectory), "n_matched": n_matched})


def _accuracy(subject: Subject) -> Measurement:
    trajectory = _align(subject)
    longest = max(len(trajectory.calls), len(trajectory.expected))
    total = align.assign_best(grade_calls(trajectory.calls, trajectory.expected, trajectory.rulebook))
    because = _describe_pairs(trajectory, align.match_most(trajectory.alignment.fits))
    return Measurement(total / longest if longest else 1.0, because, _count(trajectory))


def _order_f1(subject: Subject) -> Measurement:
    trajectory = _align(subject)
    n_common = align.count_common(trajectory.alignment)
    n, m = len(trajectory.calls), len(trajectory.expected)
    because = f"of {n} calls, {n_common} are in the order of {m} expected ones{_describe_order(trajectory)}"
    value = 2 * n_common / (n + m) if n + m else 1.0
    return Measurement(value, because, {**_count(trajectory), "n_in_order": n_common})


def _edit(subject: Subject) -> Measurement:
    trajectory = _align(subject)
    n_edits = align.count_edits(trajectory.alignment)
    longest = max(len(trajectory.calls), len(trajectory.expected))
    because = f"the calls are {n_edits} edits from the expected ones{_describe_order(trajectory)}"
    value = 1 - n_edits / longest if longest else 1.0
    return Measurement(value, because, {**_count(trajectory), "n_edits": n_edits})


def _describe_order(trajectory: Trajectory) -> str:
    index = align.find_first_unequal(trajectory.alignment)
    return "" if index is None else f": {_describe_message(trajectory, index)}"


def _redundancy(subject: Subject) -> Measurement:
    calls = behaviour.list_calls(subject.conversation)
    repeats = behaviour.find_repeats(calls, subject.rulebook, subject.conversation.failed_calls)
    because = "no call repeats one before it"
    if repeats:
        because = f"of {len(calls)} calls, {len(repeats)} repeat one before them: {_place(repeats[0])}"
    value = 1 - len(repeats) / len(calls) if calls else 1.0
    return Measurement(value, because, {"n_calls": len(calls), "n_repeats": len(repeats)})


def _place(placed: PlacedCall) -> str:
    return f"message {placed.message.index} calls {show(placed.call)}"


def _loop(subject: Subject) -> Measurement:
    rulebook = subject.rulebook
    groups = _sort_groups(message.calls for message in subject.conversation.messages_with_calls)
    calls = [
        PlacedCall(call, message)
        for group, message in zip(groups, subject.conversation.messages_with_calls, strict=True)
        for call in group
    ]
    longest, begins = behaviour.find_longest_loop([rulebook.get_key(placed.call) for placed in calls])
    is_loop = longest >= behaviour.N_LOOP
    because = f"no calls come {behaviour.N_LOOP} times in a row"
    if is_loop:
        because = f"calls come {longest} times in a row, from where {_place(calls[begins])}"
    return Measurement(0.0 if is_loop else 1.0, because, {"n_calls": len(calls), "longest_loop": longest})


def _forbidden(subject: Subject) -> Measurement:
    """Look for forbidden calls, of the reference and the settings, and for calls that come before one they require."""
    names, requires = subject.settings.get("forbidden"), subject.settings.get("requires")
    forbidden = [
        *subject.reference.forbidden,
        *(Call(str(name), {}) for name in (names if isinstance(names, list) else ())),
    ]
    order = {
        name: [str(tool) for tool in tools]
        for name, tools in (requires.items() if isinstance(requires, dict) else ())
        if isinstance(tools, list)
    }
    if not forbidden and not order:
        raise CannotScore("missing_input", "Neither `reference` nor the profile names what is `forbidden`.")
    calls = behaviour.list_calls(subject.conversation)
    extra: dict[str, JSONValue] = {"n_calls": len(calls)}
    if (placed := behaviour.find_forbidden(calls, forbidden, subject.rulebook)) is not None:
        return Measurement(0.0, f"{_place(placed)}, which is forbidden", extra)
    if (early := behaviour.find_premature(calls, order, subject.conversation.failed_calls)) is not None:
        return Measurement(0.0, f"{_place(early[0])} before {early[1][:MAX_SHOWN]} is called", extra)
    return Measurement(1.0, "no call is forbidden", extra)


def _valid_arguments(subject: Subject) -> Measurement:
    calls, tools = behaviour.list_calls(subject.conversation), subject.conversation.tools
    if tools is None:
        raise CannotScore("missing_input", "`conversation` has no `tools` with the schemas of their arguments.")
    if not calls:
        raise CannotScore("not_applicable", "The share is undefined, since no call is made.")
    invalid = behaviour.find_invalid(calls, tools)
    because = "every call fits the schema of its tool"
    if invalid:
        because = f"of {len(calls)} calls, {len(invalid)} do not fit: {_place(invalid[0][0])}, but {invalid[0][1]}"
    value = (len(calls) - len(invalid)) / len(calls)
    return Measurement(value, because, {"n_calls": len(calls), "n_invalid": len(invalid)})


def _final_state(subject: Subject) -> Measurement:
    expected, actual = subject.reference.final_state, subject.conversation.final_state
    if expected is UNSET or actual is UNSET:
        name = "reference" if expected is UNSET else "conversation"
        raise CannotScore("missing_input", f"`{name}` has no `final_state`.")
    is_equal = subject.settings.get("state", SUBSET) != SUBSET
    rules: Rules = subject.rulebook.get_rules("")
    checks = behaviour.check_state(expected, actual, rules, is_equal=is_equal)
    failed: list[JSONValue] = [check.pointer for check in checks if not check.holds]
    because = "the final state is as expected"
    if failed:
        because = f"of {len(checks)} checks of the final state, {len(failed)} fail, the first at {failed[0] or '/'!r}"
    value = (len(checks) - len(failed)) / len(checks)
    return Measurement(value, because, {"n_checks": len(checks), "failed": failed[:MAX_LISTED]})


def _limit_count(subject: Subject) -> Measurement:
    """Hold a count against the limit of the profile, or steps against those of the reference."""
    name = str(subject.settings["metric"])
    counts = behaviour.count(subject.conversation)
    limit = subject.settings.get("limit")
    if limit is None and name == "steps":
        limit = subject.reference.max_steps
    if not isinstance(limit, int | float):
        raise CannotScore("missing_input", "Neither `reference` nor the profile says how many steps there may be.")
    n = counts.get(name)
    if not isinstance(n, int | float):
        raise CannotScore("missing_input", f"`conversation` does not tell its {name}.")
    return Measurement(1.0 if n <= limit else 0.0, f"the count of {name} is {n:g}, of at most {limit:g}", counts)


def _efficiency(subject: Subject) -> Measurement:
    """Compare the number of calls with the expected one, where nothing shows that the task failed."""
    if subject.reference.calls is None:
        raise CannotScore("missing_input", "`reference` has no `tool_calls`.")
    n, m = len(behaviour.list_calls(subject.conversation)), sum(map(len, subject.reference.calls))
    if n == 0 or m == 0:
        raise CannotScore("not_applicable", "Efficiency is undefined without calls, or without expected ones.")
    if subject.reference.final_state is not UNSET and _final_state(subject).value < 1:
        raise CannotScore("not_applicable", "Efficiency counts where the task passed, and the final state is another.")
    extra = {"n_expected": m, **behaviour.count(subject.conversation)}
    return Measurement(min(1.0, m / n), f"the agent makes {n} calls where {m} are expected", extra)


def _refusals(subject: Subject) -> Measurement:
    declining, n_texts = behaviour.count_refusals(subject.conversation.messages)
    if not n_texts:
        raise CannotScore("not_applicable", "The share is undefined, since the assistant says nothing.")
    where = f", the first message {declining[0].index}" if declining else ""
    because = f"of {n_texts} texts of the assistant, {len(declining)} decline{where}"
    return Measurement(len(declining) / n_texts, because, {"n_refusals": len(declining), "n_texts": n_texts})


EXPECTED_CALLS: dict[str, Measure] = {
    "strict": _strict,
    "in_order": _in_order,
    "unordered": _unordered,
    "superset": _superset,
    "subset": _subset,
    "precision": _precision,
    "recall": _recall,
    "f1": _f1,
    "accuracy": _accuracy,
    "order_f1": _order_f1,
    "edit": _edit,
}
"""Measures that need expected calls."""
COUNTED = ("steps", "turns", "tokens", "seconds")
MEASURES: dict[str, Measure] = {
    **EXPECTED_CALLS,
    "redundancy": _redundancy,
    "loop": _loop,
    "forbidden": _forbidden,
    "valid_arguments": _valid_arguments,
    "final_state": _final_state,
    "efficiency": _efficiency,
    **dict.fromkeys(COUNTED, _limit_count),
    "refusals": _refusals,
}
BINARY = ("strict", "in_order", "unordered", "superset", "subset", "loop", "forbidden", *COUNTED)
"""Measures that are 0 or 1."""
