"""The secret that an account's webhook requests are signed with: made, shown once, changed, read by the signer."""

from __future__ import annotations

import base64
import secrets
import uuid
from datetime import datetime, timedelta

from django.utils import timezone

from evalsvc.accounts.models import Account
from evalsvc.accounts.services import record_audit
from evalsvc.infra.encryption import NoEncryptionKeys, UnreadableSecret
from evalsvc.judges.connections.memory import forget_when_committed
from evalsvc.judges.connections.secrets import Secret, seal, unseal
from evalsvc.judges.models import WebhookSecret
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope
from evaluators.base import CannotScore

PREFIX = "whsec_"
N_BYTES = 32
OVERLAP = timedelta(hours=24)


def webhook_secret(*, account: Account) -> WebhookSecret | None:
    """Return the account's secret, still encrypted; None when it has none."""
    with account_scope(account.pk):
        return WebhookSecret.objects.filter(account=account).first()


def rotate_webhook_secret(*, account: Account, now: datetime, actor: str) -> tuple[WebhookSecret, str]:
    """Make a new secret and return it in plain text, this once; for 24 hours requests carry the old signature as well.

    Raises Invalid when the operator has set no ENCRYPTION_KEYS.
    """
    plain = new_webhook_key()
    with account_scope(account.pk):
        # Concurrent rotations serialize on the account's row, since the row of the secret might not exist yet.
        Account.objects.select_for_update(no_key=True).get(pk=account.pk)
        row = WebhookSecret.objects.filter(account=account).first()
        if row is None:
            row = WebhookSecret(account=account)
        else:
            row.previous, row.previous_until = row.secret, now + OVERLAP
        row.secret, row.last4, row.created_at = seal_webhook_key(plain, of=row.id), plain[-5:-1], now
        row.save()
        record_audit(account=account, actor=actor, action="webhook_secret.rotated", target=row.last4)
        forget_when_committed(account.pk)
    return row, plain


def signing_keys(account_id: int) -> list[bytes]:
    """Return the keys to sign with, the newest first; raises CannotScore("not_configured") when there is none."""
    with account_scope(account_id):
        row = WebhookSecret.objects.filter(account_id=account_id).first()
    if row is None:
        raise CannotScore(
            "not_configured", "The account has no webhook secret yet; make one with POST /v1/webhook-secret/rotate."
        )
    sealed = [row.secret]
    if row.previous is not None and row.previous_until is not None and row.previous_until > timezone.now():
        sealed.append(row.previous)
    try:
        return [signing_key(unseal(bytes(ciphertext), of=row.id).key) for ciphertext in sealed]
    except (UnreadableSecret, NoEncryptionKeys):
        raise CannotScore(
            "not_configured", "The account's webhook secret cannot be decrypted; rotate it to make a new one."
        ) from None


def signing_key(plain: str) -> bytes:
    """Return the bytes that a secret encodes."""
    return base64.b64decode(plain.removeprefix(PREFIX))


def new_webhook_key() -> str:
    """Return a new secret in plain text."""
    return PREFIX + base64.b64encode(secrets.token_bytes(N_BYTES)).decode()


def seal_webhook_key(plain: str, *, of: uuid.UUID) -> bytes:
    """Encrypt a secret for its row; raises Invalid when the operator has set no ENCRYPTION_KEYS."""
    try:
        return seal(Secret(plain, {}), of=of)
    except NoEncryptionKeys:
        detail = "The operator has not set ENCRYPTION_KEYS, which is required to store secrets."
        raise Invalid(FieldError("", detail)) from None
