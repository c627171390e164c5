"""Verbs on connections. Secrets go in here and come out only through `selectors.connection_facts`."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret, encrypt_anew
from evalsvc.judges.connections.checks import check, check_moved
from evalsvc.judges.connections.facts import ConnectionFields
from evalsvc.judges.connections.memory import forget_when_committed
from evalsvc.judges.connections.secrets import Secret, seal
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.models import Connection, WebhookSecret
from evalsvc.judges.selectors import decrypt_secret
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import SYSTEM, account_scope, current_role, role_scope

MAX_CONNECTIONS = 200
PLAIN_FIELDS = (
    *("name", "base_url", "model", "price_input_per_million", "price_output_per_million", "timeout_seconds"),
    *("rpm", "tpm", "max_concurrency", "daily_budget", "is_enabled", "is_default"),
    *("sees_images", "hears_audio", "protocol", "extra_body", "max_output_tokens", "currency"),
)
sealed_models: list[tuple[Any, tuple[str, ...]]] = [
    (Connection, ("secret",)),
    (WebhookSecret, ("secret", "previous")),
]
"""What holds secrets: the model, and its encrypted fields. Apps above this one add theirs."""
SECRET_FIELDS = ("key", "headers", "query")
SHOWN_OF_LONG_KEYS = 4
LONG_KEY = 16


def create_connection(*, account: Account, fields: ConnectionFields, actor: str) -> Connection:
    """Make a connection. `fields` are those of the model by name, and `key`, `headers` and `query`; see `checks`.

    A new default takes the place of the old one.

    Raises Invalid for fields that cannot be accepted, `already_exists` for a name that is taken.
    """
    plain = {name: value for name, value in fields.items() if name in PLAIN_FIELDS}
    connection = Connection(account=account, **plain)
    _set_secret(connection, Secret(fields.get("key") or "", fields.get("headers") or {}, fields.get("query") or {}))
    check(connection, fields)
    with account_scope(account.pk):
        if Connection.objects.filter(account=account, deleted_at=None).count() >= MAX_CONNECTIONS:
            raise Invalid(FieldError("", f"An account has at most {MAX_CONNECTIONS} connections."))
        _make_room_for_default(connection)
        _save(connection)
        record_audit(account=account, actor=actor, action="connection.created", target=connection.name)
        forget_when_committed(account.pk)
    return connection


def revise_connection(*, account: Account, connection: Connection, changes: ConnectionFields, actor: str) -> Connection:
    """Change a connection; fields not in `changes` are unchanged. An empty secret is removed.

    A new default replaces the old one. A new server requires the key to be sent with it: otherwise anyone with write
    access could have it sent to their own server.
    """
    with account_scope(account.pk):
        locked = Connection.objects.select_for_update().filter(account=account, pk=connection.pk, deleted_at=None)
        row = locked.first()
        if row is None:
            raise NotFound
        check_moved(row, changes)
        for name, value in changes.items():
            if name in PLAIN_FIELDS:
                setattr(row, name, value)
        if any(name in changes for name in SECRET_FIELDS):
            _set_secret(row, _merge_secret(row, changes))
        check(row, changes)
        row.epoch += 1
        row.dialects = {}
        row.revised_at = Now()
        _make_room_for_default(row)
        _save(row)
        fields = ", ".join(sorted(set(changes) & {*PLAIN_FIELDS, *SECRET_FIELDS}))
        record_audit(account=account, actor=actor, action="connection.changed", target=row.name, fields=fields)
        forget_when_committed(account.pk)
    return row


def delete_connection(*, account: Account, connection: Connection, now: datetime, actor: str) -> None:
    """Take a connection out of use and forget its secret. Configs that name its id answer `not_configured`."""
    with account_scope(account.pk):
        tombstone: dict[str, Any] = {
            "deleted_at": now,
            "secret": None,
            "has_key": False,
            "key_last4": "",
            "header_names": [],
            "query_names": [],
            "is_default": False,
        }
        rows = Connection.objects.filter(account=account, pk=connection.pk, deleted_at=None)
        if rows.update(is_enabled=False, revised_at=now, **tombstone) != 1:
            raise NotFound
        record_audit(account=account, actor=actor, action="connection.deleted", target=connection.name)
        forget_when_committed(account.pk)


def note_test(*, account: Account, connection: Connection, actor: str) -> None:
    """Record in the audit trail that an actor tested a connection."""
    record_audit(account=account, actor=actor, action="connection.tested", target=connection.name)


def reencrypt_secrets() -> tuple[int, list[uuid.UUID]]:
    """Encrypt every secret with the newest of ENCRYPTION_KEYS; return how many, and the ids of unreadable ones.

    After it the older keys are no longer needed, but for backups. Runs as the system role, over all accounts.
    """
    n, unreadable = 0, []
    with role_scope(SYSTEM):
        for model, fields in sealed_models:
            for id in list(model.objects.exclude(secret=None).values_list("id", flat=True)):
                try:
                    n += _reseal_row(model, fields, id)
                except UnreadableSecret:
                    unreadable.append(id)
    return n, unreadable


def _reseal_row(model: Any, fields: Sequence[str], id: uuid.UUID) -> int:
    """Re-encrypt one row; return the number of rows changed."""
    with transaction.atomic(using=current_role()):
        row = model.objects.select_for_update().exclude(secret=None).filter(id=id).first()
        if row is None:
            return 0
        values = {name: getattr(row, name) for name in fields}
        anew = {name: encrypt_anew(bytes(value)) for name, value in values.items() if value is not None}
        return int(model.objects.filter(id=id).update(**anew))


def _make_room_for_default(connection: Connection) -> None:
    if connection.is_default:
        others = Connection.objects.filter(account_id=connection.account_id, is_default=True).exclude(pk=connection.pk)
        others.update(is_default=False, revised_at=Now())


def _merge_secret(row: Connection, changes: ConnectionFields) -> Secret:
    try:
        current = decrypt_secret(row)
    except UnusableConnection as exc:
        needed = SECRET_FIELDS if row.query_names else SECRET_FIELDS[:2]
        if not all(name in changes for name in needed):
            rest = " and ".join(f"`{name}`" for name in needed[1:])
            raise Invalid(FieldError("/key", f"{exc.detail} Send {rest} along with `key`.")) from None
        current = Secret("", {})
    return Secret(
        (changes["key"] or "") if "key" in changes else current.key,
        (changes["headers"] or {}) if "headers" in changes else current.headers,
        (changes["query"] or {}) if "query" in changes else current.query,
    )


def _set_secret(connection: Connection, secret: Secret) -> None:
    connection.has_key = bool(secret.key)
    # Of a short key, four characters would be too much of it.
    connection.key_last4 = secret.key[-SHOWN_OF_LONG_KEYS:] if len(secret.key) >= LONG_KEY else ""
    connection.header_names, connection.query_names = sorted(secret.headers), sorted(secret.query)
    if not any(secret):
        connection.secret = None
        return
    try:
        connection.secret = seal(secret, of=connection.id)
    except NoEncryptionKeys:
        detail = "The operator has not set ENCRYPTION_KEYS, which is required to store secrets."
        raise Invalid(FieldError("/key", detail)) from None


def _save(connection: Connection) -> None:
    try:
        with transaction.atomic(using=current_role()):
            connection.save()
    except IntegrityError as exc:
        if "uq_connection_default" in str(exc):
            detail = "Another connection was made the default at the same time; try again."
            raise Invalid(FieldError("/is_default", detail)) from None
        detail = f"A connection named {connection.name!r} exists already."
        raise Invalid(FieldError("/name", detail), code="already_exists") from None
    connection.refresh_from_db()
