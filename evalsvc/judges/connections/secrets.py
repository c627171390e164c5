"""Secrets of connections, webhooks and event endpoints, encrypted for the row that they belong to."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

import orjson

from evalsvc.infra.encryption import UnreadableSecret, decrypt, encrypt


class Secret(NamedTuple):
    """What is encrypted together."""

    key: str
    headers: Mapping[str, str]
    query: Mapping[str, str] = MappingProxyType({})


def seal(secret: Secret, *, of: uuid.UUID) -> bytes:
    """Encrypt with the newest key. The connection's id goes in, so that a secret cannot be moved to another row."""
    fields = {"of": str(of), "key": secret.key, "headers": dict(secret.headers), "query": dict(secret.query)}
    return encrypt(orjson.dumps(fields))


def unseal(sealed: bytes, *, of: uuid.UUID) -> Secret:
    """Decrypt with whichever key fits; raises UnreadableSecret."""
    fields = orjson.loads(decrypt(sealed))
    if fields["of"] != str(of):
        raise UnreadableSecret
    # Sealed by an older release: no query.
    return Secret(fields["key"], fields["headers"], fields.get("query", {}))
