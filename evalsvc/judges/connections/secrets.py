"""Secrets of connections, webhooks and event endpoints, encrypted for the row that they belong to."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from typing import NamedTuple

import orjson

from evalsvc.infra.encryption import UnreadableSecret, decrypt, encrypt


class Secret(NamedTuple):
    """What is encrypted together."""

    key: str
    headers: Mapping[str, str]


def seal(secret: Secret, *, of: uuid.UUID) -> bytes:
    """Encrypt with the newest key. The connection's id goes in, so that a secret cannot be moved to another row."""
    return encrypt(orjson.dumps({"of": str(of), "key": secret.key, "headers": dict(secret.headers)}))


def unseal(sealed: bytes, *, of: uuid.UUID) -> Secret:
    """Decrypt with whichever key fits; raises UnreadableSecret."""
    fields = orjson.loads(decrypt(sealed))
    if fields["of"] != str(of):
        raise UnreadableSecret
    return Secret(fields["key"], fields["headers"])
