"""Stored responses: sealed under the request that they answer, so that the database alone cannot reveal them.

The key of the seal is derived (HKDF) from the caller's raw key, the digest of the request, and the account. None of
these is stored: a record is found by digests, and opened by a client that sends the same request again.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, field

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

# Not ASCII, so that no key that a caller may send begins with it.
MADE_PREFIX = "\u21bb "
# JSON, CSV and text begin with other bytes: a body without a version prefix was stored in plain text by 0.2.
VERSION = b"\x01"
NONCE_BYTES = 12
MAX_KEPT_BYTES = 1024 * 1024
"""A longer answer of work that has rows of its own is written from them again."""


class SealError(Exception):
    """The body was sealed by another request, or it was changed."""


@dataclass(frozen=True, slots=True)
class Seal:
    """The digests by which a request finds its record, and the key that opens it.

    `plain_key` and `plain_fingerprint` identify the same request in records of versions before 0.3.
    """

    account_id: int
    plain_key: str = field(repr=False)
    plain_fingerprint: bytes = field(repr=False)

    @property
    def key(self) -> str:
        """Return what the record is found by: 64 hexadecimal digits after a prefix."""
        return f"{MADE_PREFIX}1 {self._digest(b'key', self.plain_key.encode()).hex()}"

    @property
    def fingerprint(self) -> bytes:
        """Return 32 bytes that are the same for the same request."""
        return self._digest(b"fingerprint", self.plain_fingerprint)

    def matches(self, fingerprint: bytes) -> bool:
        """Return whether a record's fingerprint is this request's."""
        return fingerprint in (self.fingerprint, self.plain_fingerprint)

    def close(self, body: bytes, place: str = "") -> bytes:
        """Return a body as it is stored. `place` is the row of a batch that it answers, and opens no other."""
        nonce = os.urandom(NONCE_BYTES)
        return VERSION + nonce + self._cipher().encrypt(nonce, body, place.encode())

    def open(self, kept: bytes, place: str = "") -> bytes:
        """Return the sealed body, or one stored in plain text by an earlier version; raise SealError for another
        request's.
        """
        if kept[:1] != VERSION:
            return kept
        nonce, sealed = kept[1 : 1 + NONCE_BYTES], kept[1 + NONCE_BYTES :]
        try:
            return self._cipher().decrypt(nonce, sealed, place.encode())
        except (InvalidTag, ValueError) as exc:
            raise SealError from exc

    def _cipher(self) -> AESGCM:
        secret = self._digest(b"secret", self.plain_fingerprint, self.plain_key.encode())
        derived = HKDF(SHA256(), 32, salt=None, info=b"evalsvc idempotency 1").derive(secret)
        return AESGCM(derived)

    def _digest(self, purpose: bytes, *parts: bytes) -> bytes:
        head = b"evalsvc %s %d\n" % (purpose, self.account_id)
        return hashlib.sha256(head + b"\n".join(parts)).digest()
