"""Django's sessions, read together with the person and their memberships in one statement.

The database holds a digest of a session's key: who reads it cannot take a session over.

Nothing is cached between requests, so an ended session, a person without rights and a removed member are refused at
their next request. The statement finds the person through the tracked session (`signing_in/sessions.py`). The session's
own data decide: if the two differ, the person is read as Django does it.
"""

from __future__ import annotations

import functools
import hashlib
from dataclasses import fields
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.base import SessionBase
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore
from django.db import connections
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from evalsvc.accounts.models import User
from evalsvc.accounts.selectors import MembershipRow
from evalsvc.tenancy.scope import release, signin_role

NOBODYS_SECONDS = 900
"""A session without a person holds a sign-in that has begun, which is good for ten minutes."""
BACKEND = "django.contrib.auth.backends.ModelBackend"
"""What it asks of a person is asked below; sessions of any other backend are left to that."""
MEMBERSHIP = ", ".join(f"m.{field.name}" for field in fields(MembershipRow))
Memberships = list[MembershipRow]


def compute_digest(key: str) -> str:
    """Return what a session is stored under: 160 bits of SHA-256. Its key is random, so that a plain hash will do."""
    return hashlib.sha256(key.encode()).hexdigest()[:40]


@functools.cache
def _statement() -> str:
    # The names of columns are the model's own.
    return f"""
        SELECT s.session_data,
               (SELECT json_agg(json_build_array({MEMBERSHIP}) ORDER BY m.account_id)::text
                FROM memberships_and_factor_of(u.id) m),
               {", ".join(f'u."{field.column}"' for field in User._meta.concrete_fields)}
        FROM django_session s
        LEFT JOIN usersessions_usersession n ON n.session_key = s.session_key
        LEFT JOIN accounts_user u ON u.id = n.user_id
        WHERE s.session_key = %s AND s.expire_date > statement_timestamp()
    """  # noqa: S608  # nosec B608


class SessionStore(DatabaseStore):
    """A session of the database, and who was read with it."""

    _person: User | None = None
    _memberships: tuple[int, Memberships] | None = None

    def load(self) -> dict[str, Any]:
        """Load the session, the person it is tracked for, and that person's accounts."""
        alias = signin_role()
        row = _read(alias, self.session_key or "")
        if row is None:
            self._session_key = None
            return {}
        data, memberships, *person = row
        self._person = _build_person(alias, person)
        if self._person is not None:
            self._memberships = (
                self._person.pk,
                [MembershipRow(*values) for values in orjson.loads(memberships or "[]")],
            )
        return self.decode(data)

    def exists(self, session_key: str) -> bool:
        """Return whether there is a session with this key."""
        return super().exists(compute_digest(session_key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """Return the row to store, under the key's digest."""
        row = super().create_model_instance(data)
        row.session_key = compute_digest(row.session_key)
        return row

    def delete(self, session_key: str | None = None) -> None:
        """Delete the session with this key, by default this one."""
        key = self.session_key if session_key is None else session_key
        if key is not None:
            super().delete(compute_digest(key))

    def get_expiry_age(self, **facts: Any) -> int:
        """Return the session's lifetime in seconds; without a person it is short, because anyone can start one."""
        seconds: int = super().get_expiry_age(**facts)
        return seconds if SESSION_KEY in self else min(seconds, NOBODYS_SECONDS)

    def get_expiry_date(self, **facts: Any) -> datetime:
        """Return until when the session is good."""
        until: datetime = super().get_expiry_date(**facts)
        if SESSION_KEY in self:
            return until
        return min(until, facts.get("modification", timezone.now()) + timedelta(seconds=NOBODYS_SECONDS))

    def take_person(self) -> User | None:
        """Return the session's person, once; None if Django has to determine it.

        The checks are those of `django.contrib.auth.get_user`.
        """
        claimed, backend, digest = (self.get(name) for name in (SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY))
        person, self._person = self._person, None
        if person is None or claimed != str(person.pk) or backend != BACKEND or not person.is_active:
            return None
        return person if digest and constant_time_compare(digest, person.get_session_auth_hash()) else None

    def take_memberships(self, user: User) -> Memberships | None:
        """Return the memberships read with the session, once: they might have changed before a later call."""
        memberships, self._memberships = self._memberships, None
        return memberships[1] if memberships is not None and memberships[0] == user.pk else None


def _read(alias: str, key: str) -> tuple[Any, ...] | None:
    if not key.isalnum():
        return None  # no key of Django's, and a NUL byte would be an error of the database's
    with connections[alias].cursor() as cursor:
        cursor.execute(_statement(), [compute_digest(key)])
        row: tuple[Any, ...] | None = cursor.fetchone()
    release(alias)
    return row


def _build_person(alias: str, values: list[Any]) -> User | None:
    names = [field.attname for field in User._meta.concrete_fields]
    return User.from_db(alias, names, values) if values[0] is not None else None


def take_session_person(session: SessionBase) -> User | None:
    """Return the person who was read with a session; None for sessions of other kinds too."""
    return session.take_person() if isinstance(session, SessionStore) else None


def take_session_memberships(session: SessionBase, user: User) -> Memberships | None:
    """Return the memberships that were read with a session; None for sessions of other kinds too."""
    return session.take_memberships(user) if isinstance(session, SessionStore) else None
