"""The conversation of the vectors in its normal form, and as real libraries wrote it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from evaluators.messages import Conversation, Message

FOLDER = Path(__file__).parent
VECTORS = json.loads((FOLDER / "trajectories.json").read_text(encoding="utf-8"))
RECORDED = FOLDER / "recorded"
"""Written by the programs in `recorders` with the versions that `tests.cli.peers` pins."""
RECORDINGS = sorted(f"{file.parent.name}/{file.name}" for file in RECORDED.glob("*/*.json"))
TELLING_ERRORS = ("anthropic", "dumpd", "messages_to_dict", "model_dump", "objects", "to_dict", "all_messages_json")
"""The forms that tell whether a tool failed; the others have its text alone."""
FAILURES = {
    "openai_agents": "An error occurred while running the tool. Please try again.",
    "haystack": "Failed to invoke Tool `find_order` with parameters {'id': 8}. Error: not found",
}
"""What a library tells the model of a tool that raises "not found", where it is more than that."""
WITHOUT_SYSTEM = ("openai_agents", "langgraph")
"""The libraries whose messages are without the instructions of the agent."""


def read_recording(name: str) -> Any:
    """Return the JSON that a library wrote, by the name of its folder and file."""
    return json.loads((RECORDED / name).read_text(encoding="utf-8"))


def build_expected(*, tells_errors: bool, failure: str = "not found") -> dict[str, Any]:
    """Return the conversation of the vectors, with what a format tells of the tool that fails."""
    vector = next(vector for vector in VECTORS["formats"] if vector["says_errors"])
    messages = [
        {**message, "error": tells_errors, "text": failure} if message.get("error") else message
        for message in vector["normal"]["messages"]
    ]
    return {**vector["normal"], "messages": messages}


def build_expected_of(name: str) -> dict[str, Any]:
    """Return the conversation that a recording is read as."""
    library, form = name.removesuffix(".json").split("/")
    form_of_vectors = build_expected(tells_errors=form in TELLING_ERRORS, failure=FAILURES.get(library, "not found"))
    return form_of_vectors | ({"system": None} if library in WITHOUT_SYSTEM else {})


def normal(conversation: Conversation) -> dict[str, Any]:
    """Return a conversation as the vectors write it."""
    return {"system": conversation.system, "messages": [as_json(message) for message in conversation.messages]}


def as_json(message: Message) -> dict[str, Any]:
    """Return a message as the vectors write it."""
    if message.role == "tool":
        text, error = message.text, message.error
        return {"role": "tool", "call_id": message.call_id, "name": message.name, "text": text, "error": error}
    if message.role == "user":
        return {"role": "user", "text": message.text}
    calls = [{"id": call.id, "name": call.name, "args": call.args} for call in message.calls]
    return {"role": "assistant", "text": message.text, "calls": calls}
