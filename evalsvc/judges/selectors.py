"""Reads of connections."""

from __future__ import annotations

import uuid
from decimal import Decimal

from django.db.models import Exists, Q, QuerySet

from evalsvc.accounts.models import Account
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret
from evalsvc.judges.connections.facts import ANSWERING, ConnectionFacts, parse_connection_id
from evalsvc.judges.connections.secrets import Secret, unseal
from evalsvc.judges.failures import UnusableConnection
from evalsvc.judges.models import Connection, WebhookSecret
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import account_scope

__all__ = [
    "ConnectionFacts",
    "connection_facts",
    "decrypt_secret",
    "default_connection_facts",
    "facts_of_connection",
    "get_connection",
    "list_connections",
]


def list_connections(*, account: Account) -> QuerySet[Connection]:
    """Return the account's connections by name, without the deleted ones."""
    return Connection.objects.filter(account=account, deleted_at=None).order_by("name")


def get_connection(*, account: Account, id: uuid.UUID) -> Connection:
    """Return one connection of the account; NotFound for missing, foreign and deleted."""
    connection = Connection.objects.filter(account=account, id=id, deleted_at=None).first()
    if connection is None:
        raise NotFound
    return connection


def has_connection(*, account: Account, ref: str) -> bool:
    """Return whether the account has a connection with this id or this name, switched on or not."""
    id = parse_connection_id(ref)
    condition = Q(name=ref) if id is None else Q(name=ref) | Q(id=id)
    return Connection.objects.filter(condition, account=account, deleted_at=None).exists()


def get_judge_availability(*, account: Account) -> tuple[bool, bool, bool]:
    """Return whether the account has an enabled LLM connection, a webhook secret, and any enabled connection.

    It takes one statement.
    """
    connections = Connection.objects.filter(account=account, is_enabled=True, deleted_at=None)
    llms = connections.filter(protocol__in=ANSWERING)
    secrets = WebhookSecret.objects.filter(account=account)
    rows = Account.objects.filter(pk=account.pk).values_list(Exists(llms), Exists(secrets), Exists(connections))
    return rows.get()


def connection_facts(*, account_id: int, ref: str) -> ConnectionFacts:
    """Return the settings of the connection with this id or name, its secret decrypted.

    Raises UnusableConnection (a CallFailed with `not_configured`) for a connection that is missing, foreign, deleted or
    disabled, or that has an unreadable secret.
    """
    return facts_of_connection(choose_connection(account_id=account_id, ref=ref))


def default_connection_facts(*, account_id: int) -> ConnectionFacts:
    """Return the settings of the account's default connection, as above."""
    return facts_of_connection(choose_connection(account_id=account_id, ref=None))


def choose_connection(*, account_id: int, ref: str | None) -> Connection:
    """Return the connection with this id or name; without one, the account's default.

    Raises UnusableConnection for a connection that is missing, foreign, deleted or disabled.
    """
    if ref is None:
        return _choose_default(account_id)
    id = parse_connection_id(ref)
    condition = Q(name=ref) if id is None else Q(name=ref) | Q(id=id)
    with account_scope(account_id):
        rows = list(Connection.objects.filter(condition, account_id=account_id, deleted_at=None))
    if not rows:
        raise UnusableConnection(f"The account has no connection {ref[:100]!r}.")
    # An id wins over a name that looks like one.
    connection = next((row for row in rows if row.id == id), rows[0])
    if not connection.is_enabled:
        raise UnusableConnection(f"The connection {connection.name} is switched off.")
    return connection


def _choose_default(account_id: int) -> Connection:
    """Return the account's default connection, or its only enabled one.

    Classifiers do not count. Raises UnusableConnection if there is neither. A disabled default is not replaced by
    another: texts must not go to an endpoint that the account did not choose.
    """
    with account_scope(account_id):
        of_account = Connection.objects.filter(account_id=account_id, deleted_at=None, protocol__in=ANSWERING)
        rows = list(of_account.order_by("name"))
    marked = next((row for row in rows if row.is_default), None)
    if marked is not None and not marked.is_enabled:
        raise UnusableConnection(f"The account's default connection {marked.name} is switched off.")
    enabled = [row for row in rows if row.is_enabled]
    if marked is None and not enabled:
        raise UnusableConnection(
            "The account has no connection to an LLM: add one under Connections or POST /v1/connections."
        )
    if marked is None and len(enabled) > 1:
        remedy = "mark one as default, or name one as `connection` in the profile"
        raise UnusableConnection(f"The account has {len(enabled)} connections and none is its default: {remedy}.")
    return marked or enabled[0]


def facts_of_connection(connection: Connection) -> ConnectionFacts:
    """Return a connection's facts, its secret decrypted; raises UnusableConnection when that cannot be done."""
    secret = decrypt_secret(connection)
    return ConnectionFacts(
        account_id=connection.account_id,
        id=connection.id,
        name=connection.name,
        base_url=connection.base_url,
        model=connection.model,
        key=secret.key,
        headers=secret.headers,
        query=secret.query,
        protocol=connection.protocol,
        extra_body=connection.extra_body,
        max_output_tokens=connection.max_output_tokens,
        currency=connection.currency,
        price_input_per_million=_float(connection.price_input_per_million),
        price_output_per_million=_float(connection.price_output_per_million),
        timeout_seconds=connection.timeout_seconds,
        rpm=connection.rpm,
        tpm=connection.tpm,
        max_concurrency=connection.max_concurrency,
        daily_budget=_float(connection.daily_budget),
        sees_images=connection.sees_images,
        hears_audio=connection.hears_audio,
        epoch=connection.epoch,
        dialects=connection.dialects,
    )


def decrypt_secret(connection: Connection) -> Secret:
    """Return the key, the headers and the query; empty where none are stored.

    Raises UnusableConnection when they cannot be read.
    """
    if connection.secret is None:
        return Secret("", {})
    try:
        return unseal(bytes(connection.secret), of=connection.id)
    except (UnreadableSecret, NoEncryptionKeys):
        detail = f"The key of the connection {connection.name} cannot be decrypted; enter it again."
        raise UnusableConnection(detail) from None


def _float(value: Decimal | None) -> float | None:
    return None if value is None else float(value)
