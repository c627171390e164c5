"""API keys as strings: how they are made, parsed and compared."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from typing import NamedTuple

from django.conf import settings

PREFIX = "ek_"
_shape = re.compile(r"ek_([a-z0-9]{16})\.([A-Za-z0-9_-]{43})")
ALPHABET = "abcdefghijklmnopqrstuvwxyz0123456789"


class KeyText(NamedTuple):
    """A key taken apart: the public half finds the row, the secret half proves it."""

    public: str
    secret: str

    def __str__(self) -> str:
        return f"{PREFIX}{self.public}.{self.secret}"


def new_key_text() -> KeyText:
    """Draw a key with 256 bits of secret."""
    return KeyText("".join(secrets.choice(ALPHABET) for _ in range(16)), secrets.token_urlsafe(32))


def parse_key(text: str) -> KeyText | None:
    """Take a key apart, or return None when it does not look like one."""
    match = _shape.fullmatch(text.strip())
    return KeyText(*match.groups()) if match else None


def hash_secret(secret: str) -> bytes:
    """Return HMAC-SHA256 of the secret under the pepper, which is in the environment and not in the database."""
    return hmac.digest(settings.KEY_PEPPER.encode(), secret.encode(), hashlib.sha256)


def same_secret(secret: str, stored: bytes) -> bool:
    """Compare in constant time."""
    return hmac.compare_digest(hash_secret(secret), stored)
