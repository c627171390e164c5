"""Secrets at rest: Fernet (AES-128-CBC with HMAC-SHA256) under the keys of ENCRYPTION_KEYS, the newest first."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

import orjson
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class NoEncryptionKeys(Exception):
    """ENCRYPTION_KEYS is empty or holds something else than Fernet keys."""


class UnreadableSecret(Exception):
    """None of the keys opens the secret, or it belongs to another connection."""


class Secret(NamedTuple):
    """What is encrypted together."""

    key: str
    headers: Mapping[str, str]


def seal(secret: Secret, *, of: uuid.UUID) -> bytes:
    """Encrypt with the newest key. The connection's id goes in, so that a secret cannot be moved to another row."""
    plain = orjson.dumps({"of": str(of), "key": secret.key, "headers": dict(secret.headers)})
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(plain)


def unseal(sealed: bytes, *, of: uuid.UUID) -> Secret:
    """Decrypt with whichever key fits; raises UnreadableSecret."""
    try:
        found = orjson.loads(_fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed))
    except InvalidToken:
        raise UnreadableSecret from None
    if found["of"] != str(of):
        raise UnreadableSecret
    return Secret(found["key"], found["headers"])


def reseal(sealed: bytes) -> bytes:
    """Encrypt anew with the newest key; raises UnreadableSecret."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).rotate(sealed)
    except InvalidToken:
        raise UnreadableSecret from None


@lru_cache(maxsize=4)
def _fernet(keys: tuple[str, ...]) -> MultiFernet:
    try:
        return MultiFernet([Fernet(key) for key in keys])
    except ValueError:
        raise NoEncryptionKeys from None
