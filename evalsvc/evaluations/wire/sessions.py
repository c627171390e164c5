"""A conversation that a request names by its session."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol, TypeGuard

from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.telemetry.sessions.selectors import Session

MAX_ID = 255
KEYS = frozenset(("session_id", "agent", "final_state"))
POINTER = "/conversation"


class FindSession(Protocol):
    """Finds the conversation of a session of the caller's account."""

    def __call__(self, session_id: str, agent: str | None) -> Session:
        """Return it, or raise Invalid with a pointer."""


def is_session_request(conversation: Any) -> TypeGuard[Mapping[str, Any]]:
    """Return whether a conversation names a session, and has no messages."""
    return isinstance(conversation, dict) and "session_id" in conversation and conversation.keys() <= KEYS


def read_session(named: Mapping[str, Any], find_session: FindSession | None) -> Session:
    """Return the session that a request names, with the final state that it sends. Raises Invalid with a pointer."""
    errors = [
        FieldError(f"{POINTER}/{name}", f"1 to {MAX_ID} characters.")
        for name in ("session_id", "agent")
        if name in named and not (isinstance(named[name], str) and 1 <= len(named[name]) <= MAX_ID)
    ]
    if not errors and find_session is None:
        detail = "Sessions are evaluated one by one, with POST /v1/evaluate."
        errors = [FieldError(f"{POINTER}/session_id", detail)]
    if errors or find_session is None:
        raise Invalid(*errors)
    session = find_session(named["session_id"], named.get("agent"))
    if "final_state" in named:
        session.conversation["final_state"] = named["final_state"]
    return session
