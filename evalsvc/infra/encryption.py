"""What is stored encrypted: by Fernet (AES-128-CBC, HMAC-SHA256) under the keys of ENCRYPTION_KEYS, newest first."""

from __future__ import annotations

from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class NoEncryptionKeys(Exception):
    """ENCRYPTION_KEYS is empty or contains something other than Fernet keys."""


class UnreadableSecret(Exception):
    """None of the keys opens the secret, or it belongs to another row."""


def encrypt(plain: bytes) -> bytes:
    """Encrypt with the newest key; raises NoEncryptionKeys."""
    return _fernet(tuple(settings.ENCRYPTION_KEYS)).encrypt(plain)


def decrypt(sealed: bytes) -> bytes:
    """Decrypt with whichever key fits; raises UnreadableSecret, or NoEncryptionKeys."""
    try:
        return _fernet(tuple(settings.ENCRYPTION_KEYS)).decrypt(sealed)
    except InvalidToken:
        raise UnreadableSecret from None


def encrypt_anew(sealed: bytes) -> bytes:
    """Encrypt with the newest key what an older one has encrypted; raises UnreadableSecret."""
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
