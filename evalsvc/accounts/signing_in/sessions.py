"""A person's sessions: tracked when they begin and while they are used, listed, and ended.

Django's session stores who is signed in; the library's table stores since when, from where and with which browser.
Both tables hold the digest of its key. Deleting Django's row ends a session: the next request with it is anonymous.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from ipaddress import ip_address

from allauth.usersessions.models import UserSession
from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.models import Session
from django.db import connections
from django.db.models import Exists, OuterRef, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from evalsvc.accounts.access.session_store import compute_digest
from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.models import User
from evalsvc.infra.cache import BoundedCache
from evalsvc.tenancy.scope import SYSTEM, release, signin_role

SEEN_EVERY_SECONDS = 300
"""A session that is used is noted this often by each process, and in between costs no query."""
MAX_AGENT = 200
PRUNED_AT_ONCE, MAX_PORTIONS = 1000, 20
NOTE = """
INSERT INTO usersessions_usersession AS s (user_id, session_key, ip, user_agent, created_at, last_seen_at, data)
VALUES (%s, %s, %s, %s, statement_timestamp(), statement_timestamp(), '{}')
ON CONFLICT (session_key) DO UPDATE
SET user_id = excluded.user_id, ip = excluded.ip, user_agent = excluded.user_agent, last_seen_at = excluded.last_seen_at
"""
"""By hand, as the ORM would open a transaction around it: three round trips for one."""
_noted: BoundedCache[str, bool] = BoundedCache(10_000, seconds=lambda: SEEN_EVERY_SECONDS)


@dataclass(frozen=True, slots=True)
class PersonSession:
    """A session, as its owner is shown it."""

    id: int
    began_at: datetime
    seen_at: datetime
    address: str
    browser: str
    is_this: bool


def begin_session(request: HttpRequest, user: User) -> None:
    """Note a session that has just begun, and forget those of the person that are over."""
    _rows(user).exclude(_is_alive()).delete()
    note_session(request, user)


def note_session(request: HttpRequest, user: User) -> None:
    """Note that a session is used, in one statement; nothing where this process has done so a moment ago."""
    key = request.session.session_key
    if key is None or _noted.get(key):
        return
    agent = request.headers.get("User-Agent", "")[:MAX_AGENT]
    alias = signin_role()
    with connections[alias].cursor() as cursor:
        cursor.execute(NOTE, [user.pk, compute_digest(key), _get_address(request), agent])
    release(alias)
    _noted.put(key, True)


def _get_address(request: HttpRequest) -> str:
    try:
        return str(ip_address(caller_ip(request).partition("%")[0]))
    except ValueError:
        return "0.0.0.0"  # noqa: S104  # nosec B104  nobody listens there


def list_sessions(*, user: User, current: str | None) -> list[PersonSession]:
    """Return the person's sessions, the one that was used last first."""
    this = compute_digest(current) if current else None
    return [
        PersonSession(row.pk, row.created_at, row.last_seen_at, row.ip, row.user_agent, row.session_key == this)
        for row in _rows(user).filter(_is_alive()).order_by("-last_seen_at", "-pk")[:100]
    ]


def end_session(*, user: User, id: int) -> bool:
    """End one session of the person; False for one that is not theirs, or over."""
    keys = list(_rows(user).filter(pk=id).values_list("session_key", flat=True))
    return bool(_end(keys))


def end_sessions(*, user: User, but: str | None = None) -> int:
    """End all sessions of the person but one; return how many that were."""
    tracked_keys = set(_rows(user).values_list("session_key", flat=True))
    kept = compute_digest(but) if but else None
    return _end([key for key in tracked_keys | set(_find_untracked(user)) if key != kept])


def prune_sessions(now: datetime) -> int:
    """Delete sessions that are over, with what was noted of them; return how many. A long queue takes several calls."""
    total = 0
    for _ in range(MAX_PORTIONS):
        over = Session.objects.using(SYSTEM).filter(expire_date__lt=now)
        keys = list(over.order_by("expire_date").values_list("session_key", flat=True)[:PRUNED_AT_ONCE])
        # Filtered again, because a session that was used in the meantime is valid for longer.
        n, _ = over.filter(session_key__in=keys).delete()
        alive = Session.objects.using(SYSTEM).filter(session_key__in=keys).values("session_key")
        UserSession.objects.using(SYSTEM).filter(session_key__in=keys).exclude(session_key__in=alive).delete()
        total += n
        if len(keys) < PRUNED_AT_ONCE:
            break
    return total


def _end(keys: list[str]) -> int:
    n, _ = Session.objects.filter(session_key__in=keys).delete()
    UserSession.objects.filter(session_key__in=keys).delete()
    return n


def _find_untracked(user: User) -> Iterator[str]:
    """Yield sessions from before sessions were tracked and unused since. Only their data identify the person.

    Anonymous sessions are read with them, but are few: each address can start some, and they expire soon.
    """
    tracked_sessions = UserSession.objects.filter(session_key=OuterRef("session_key"))
    alive = Session.objects.exclude(Exists(tracked_sessions)).filter(expire_date__gt=timezone.now())
    for row in alive.iterator(chunk_size=PRUNED_AT_ONCE):
        if row.get_decoded().get(SESSION_KEY) == str(user.pk):
            yield row.session_key


def _rows(user: User) -> QuerySet[UserSession]:
    return UserSession.objects.filter(user_id=user.pk)


def _is_alive() -> Exists:
    return Exists(Session.objects.filter(session_key=OuterRef("session_key"), expire_date__gt=timezone.now()))
