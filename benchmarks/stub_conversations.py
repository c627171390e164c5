"""What the stub judge answers about a conversation: a verdict for everything that is to decide, with a right quote."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

LISTS = ("turns", "messages", "facts", "intentions", "calls")
"""Where answers decide messages or calls."""
NOTHING = -1
_entry = re.compile(r"(\d+) (user|assistant|result|error)[^:]*: ?(.*)", re.DOTALL)


def read_texts(data: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Return the index, the speaker and the text of each entry of the conversation, calls of tools left out."""
    matches = [_entry.fullmatch(entry) for entry in data["CONVERSATION"]]
    return [(int(found[1]), found[2], found[3]) for found in matches if found]


def decide(entry: Mapping[str, Any], item: str, data: Mapping[str, Any]) -> dict[str, Any]:
    """Return an entry about a message or a call, such as `2.1`; `entry` has the verdicts."""
    texts = read_texts(data)
    index, _, call = item.partition(".")
    own = next((text for at, _, text in texts if at == int(index)), "")
    answers = [(at, text) for at, speaker, text in texts if speaker == "assistant" and at > int(index)]
    answer, reply = answers[0] if answers else (NOTHING, "")
    is_good = next((entry[name] for name in ("met", "kept", "answered", "in_role", "right") if name in entry), True)
    quote = {"answer": reply, "call": texts[0][2]}.get(
        next((name for name in ("answer", "call") if name in entry), ""), own
    )
    values = {
        "message": int(index),
        "call": int(call or 0),
        "quote": quote,
        "passage": own,
        "answer": answer if is_good or "on_topic" in entry else NOTHING,
        "broken_by": NOTHING if is_good else answer,
        **dict.fromkeys(("is_fact", "is_intention", "on_topic"), True),
    }
    return {name: values.get(name, value) for name, value in entry.items()}


def decide_goal(instance: dict[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    """Return the answer about a goal, which the last message of the assistant decides."""
    texts = read_texts(data)
    index, _, text = [part for part in texts if part[1] == "assistant"][-1]
    asked = next((at for at, speaker, _ in texts if speaker == "user"), 0)
    values = {"message": index, "quote": text, "goal_message": asked}
    return {name: values.get(name, value) for name, value in instance.items()}
