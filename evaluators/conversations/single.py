"""What evaluators of single answers read of a conversation, where a field was not sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evaluators.messages import Conversation, Message, Reference


def derive_fields(conversation: Conversation | None, reference: Reference | None) -> dict[str, Any]:
    """Return the fields of `build_sample` that a conversation and a reference contain.

    The output is the last text of the assistant, unless it calls tools there; the input is the last text of the user
    before it; neither where it is missing. The contexts are the results of tools without errors, and the gold answer is
    the last text of a reference that is a list of messages.
    """
    fields: dict[str, Any] = {}
    if reference is not None and reference.text is not None:
        fields["gold"] = reference.text
    if conversation is None:
        return fields
    messages = conversation.messages
    last = next((at for at in reversed(range(len(messages))) if messages[at].role == "assistant"), None)
    asked = [message for message in messages[:last] if message.role == "user"]
    results = list_results(messages)
    if last is not None and not messages[last].calls and not messages[last].missing:
        fields["output"] = messages[last].text
    if asked and not asked[-1].missing:
        fields["input"] = asked[-1].text
    if results:
        fields["contexts"] = [{"id": result.call_id, "text": result.text} for result in results]
    if conversation.system is not None:
        fields["system_prompt"] = conversation.system
    return fields


def list_results(messages: Sequence[Message]) -> list[Message]:
    """Return the results of tools that are contexts: those with a text and without an error."""
    return [message for message in messages if message.role == "tool" and message.text and not message.error]
