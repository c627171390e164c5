"""The verdicts on the turns of a conversation, as the verdict on all of it tells them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from evalsvc.thoughts import split_thinking
from evaluators.base import Sample
from evaluators.judging.readings import add_usage

Extra: TypeAlias = "Mapping[str, Any] | None"
MAX_NAMED = 5


def strip_messages(sample: Sample) -> Sample:
    """Return the sample without the thinking before what its assistant says; what is nothing else stays."""
    conversation = sample.conversation
    if conversation is None or not sample.strips_thinking:
        return sample
    messages = [
        replace(message, text=split_thinking(message.text)[0] or message.text)
        if message.role == "assistant" and message.text
        else message
        for message in conversation.messages
    ]
    return replace(sample, conversation=replace(conversation, messages=tuple(messages)))


def sum_judges(extras: Sequence[Extra]) -> dict[str, Any]:
    """Return what the judges of all turns have cost, as `judge`; nothing without a judge."""
    used = [judge for extra in extras if isinstance(judge := (extra or {}).get("judge"), Mapping)]
    return {"judge": add_usage(used)} if used else {}


def find_common_extra(extras: Sequence[Extra]) -> dict[str, Any]:
    """Return the threshold that each turn was held against, and whether the text of one speaks to its judge."""
    thresholds = [extra["threshold"] for extra in extras if extra and "threshold" in extra]
    found = {"threshold": thresholds[0]} if thresholds else {}
    suspicions = [extra["injection_suspected"] for extra in extras if extra and "injection_suspected" in extra]
    return {**found, "injection_suspected": any(suspicions)} if suspicions else found


def explain_turns(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return how many turns pass, the worst one, and which are not judged."""
    judged = [row for row in rows if row["score"] is not None]
    worst = min(judged, key=lambda row: row["score"])
    begin = f"The mean of {len(judged)} judged turns."
    n_undecided = sum("why" in row and row["pass"] is None for row in judged)
    if all(row["pass"] is not None or "why" in row for row in judged):
        rest = f", {n_undecided} {'is' if n_undecided == 1 else 'are'} undecided" if n_undecided else ""
        begin = f"Of {len(judged)} judged turns, {sum(row['pass'] is True for row in judged)} pass{rest}."
    because = f" {worst['explanation']}" if "explanation" in worst else ""
    lowest = f"The lowest score is {worst['score']:.4g}, of message {worst['message']}.{because}"
    return f"{begin} {lowest} {list_unjudged(rows)}".strip()


def list_unjudged(rows: Sequence[Mapping[str, Any]]) -> str:
    """Name the first turns that are not judged, each with the reason."""
    left_out = [f"Message {row['message']} is not judged: {row['reason']}" for row in rows if row["score"] is None]
    return " ".join(left_out[:MAX_NAMED])
