"""The second factor: codes of an authenticator app (TOTP, RFC 6238), and recovery codes for a lost app.

A code is valid for one sign-in. Its time step is stored in the row, and the row is locked while a code is checked, so
that neither another process nor a concurrent request accepts it again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.core.internal.cryptokit import compare_user_code
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal.auth import (
    TOTP,
    format_hotp_value,
    generate_totp_secret,
    hotp_value,
    yield_hotp_counters_from_time,
)
from allauth.mfa.utils import decrypt
from django.db import transaction
from django.utils import timezone

from evalsvc.accounts.models import User
from evalsvc.infra.encryption import UnreadableSecret, encrypt_anew
from evalsvc.tenancy.scope import SYSTEM, current_role, role_scope, signin_role

APP_CODE, RECOVERY_CODE = Authenticator.Type.TOTP.value, Authenticator.Type.RECOVERY_CODES.value
LAST_STEP = "last_step"
SEALED = ("secret", "seed")


@dataclass(frozen=True, slots=True)
class Factor:
    """What a person is shown of their second factor."""

    since: datetime
    used_at: datetime | None
    n_codes: int
    """Recovery codes that are left."""


def new_secret() -> str:
    """Return a secret for an app: 160 random bits in base32."""
    return str(generate_totp_secret())


def has_factor(user: User | None) -> bool:
    return user is not None and Authenticator.objects.filter(user_id=user.pk, type=APP_CODE).exists()


def get_factor(user: User) -> Factor | None:
    rows = _rows(user)
    if APP_CODE not in rows:
        return None
    codes = rows.get(RECOVERY_CODE)
    n_codes = len(RecoveryCodes(codes).get_unused_codes()) if codes else 0
    return Factor(rows[APP_CODE].created_at, rows[APP_CODE].last_used_at, n_codes)


def switch_on(*, user: User, secret: str, code: str) -> list[str] | None:
    """Enable the second factor with this secret and return the recovery codes, only once; None if the code is wrong."""
    step = find_step(secret, code)
    if step is None:
        return None
    with lock_person(user) as is_same:
        if not is_same or APP_CODE in _rows(user):
            return None
        row = TOTP.activate(user, secret).instance
        row.data[LAST_STEP] = step
        row.save(update_fields=["data"])
        return _generate_codes(user)


def take_code(*, user: User, code: str) -> str | None:
    """Use a code up and return what kind it was; None for one that is wrong, or was used."""
    with lock_person(user) as is_same:
        rows = _rows(user)
        if not is_same or (app := rows.get(APP_CODE)) is None:
            return None
        step = find_step(decrypt(app.data["secret"]), code)
        if step is not None and step > app.data.get(LAST_STEP, 0):
            app.data[LAST_STEP], app.last_used_at = step, timezone.now()
            app.save(update_fields=["data", "last_used_at"])
            return APP_CODE
        codes = rows.get(RECOVERY_CODE)
        return RECOVERY_CODE if codes is not None and RecoveryCodes(codes).validate_code(code) else None


def renew_codes(*, user: User) -> list[str] | None:
    """Replace the recovery codes and return the new ones, only once; None without a second factor."""
    with lock_person(user) as is_same:
        return _generate_codes(user) if is_same and APP_CODE in _rows(user) else None


def switch_off(*, user: User) -> bool:
    """Disable the second factor; return whether one was enabled."""
    n, _ = Authenticator.objects.filter(user_id=user.pk).delete()
    return bool(n)


def find_step(secret: str, code: str) -> int | None:
    """Return the time step of the code, among the current one and its neighbours; None if it matches none."""
    for step in yield_hotp_counters_from_time():
        if compare_user_code(actual=code, expected=format_hotp_value(hotp_value(secret, step))):
            return int(step)
    return None


def reencrypt_factors() -> tuple[int, list[int]]:
    """Encrypt all secrets with the newest of ENCRYPTION_KEYS; return the count and the users with unreadable ones."""
    n, unreadable = 0, []
    with role_scope(SYSTEM):
        for pk, user_id in list(Authenticator.objects.values_list("pk", "user_id")):
            try:
                n += _reencrypt(pk)
            except UnreadableSecret:
                unreadable.append(user_id)
    return n, unreadable


def _reencrypt(pk: int) -> int:
    with transaction.atomic(using=current_role()):
        row = Authenticator.objects.select_for_update().filter(pk=pk).first()
        if row is None:
            return 0
        secrets = {name: row.data[name] for name in SEALED if name in row.data}
        row.data |= {name: encrypt_anew(value.encode()).decode() for name, value in secrets.items()}
        row.save(update_fields=["data"])
        return 1


def _generate_codes(user: User) -> list[str]:
    Authenticator.objects.filter(user_id=user.pk, type=RECOVERY_CODE).delete()
    codes: list[str] = RecoveryCodes.activate(user).generate_codes()
    return codes


def _rows(user: User) -> dict[str, Any]:
    return {row.type: row for row in Authenticator.objects.filter(user_id=user.pk)}


@contextmanager
def lock_person(user: User) -> Iterator[bool]:
    """Lock the person's row for a transaction, so that concurrent changes of one person wait.

    Yields whether the password is still the one that the person was read with: proof by an older password is void once
    a new one or single sign-on has replaced it.
    """
    with transaction.atomic(using=signin_role()):
        now = User.objects.select_for_update(no_key=True).get(pk=user.pk)
        yield now.password == user.password
