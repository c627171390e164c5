"""Finding the session that a call names among the spans of its account."""

from __future__ import annotations

from functools import partial

from evalsvc.evaluations.wire.sessions import POINTER, FindSession
from evalsvc.rest.edge.slow_turns import leave_turn, take_turn
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.telemetry.sessions.history import UnreadableSession
from evalsvc.telemetry.sessions.selectors import Session, get_session
from evalsvc.tenancy.scope import account_scope

KIND = "session"
"""Sessions take turns apart from other requests to evaluate, which are quick: a large one takes a second of CPU."""


def session_finder(account_id: int) -> FindSession:
    """Return what finds the sessions of an account, each in a scope of its own."""
    return partial(_find, account_id)


def _find(account_id: int, session_id: str, agent: str | None) -> Session:
    take_turn(account_id, KIND)
    try:
        with account_scope(account_id, one_snapshot=True):
            return get_session(account_id=account_id, session_id=session_id, agent=agent)
    except NotFound:
        detail = "No span of this session is stored."
    except UnreadableSession as exc:
        detail = str(exc)
    finally:
        # The rest of the request waits for workers, as any other one may.
        leave_turn()
    raise Invalid(FieldError(f"{POINTER}/session_id", detail))
