"""Signing in, with a lockout after ten failures of one e-mail address from one IP address."""

from __future__ import annotations

import hashlib
import logging
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from redis.exceptions import RedisError
from unfold.forms import AuthenticationForm

from evalsvc.infra.redis import shared_client

log = logging.getLogger(__name__)
MAX_FAILURES = 10  # of one e-mail address from one IP address
MAX_FAILURES_PER_IP = 100  # of any e-mail addresses: one password tried on many people
LOCK_SECONDS = 900


class SignInForm(AuthenticationForm):
    """Django's sign-in form. It checks the password only while the caller has attempts left."""

    locked_seconds: int | None = None
    """How long the caller has none left; None for one who has."""

    def clean(self) -> dict[str, object]:
        """Count the attempt, then check the password. In the other order, parallel guesses would pass the limit."""
        email = self.cleaned_data.get("username") or ""
        counters = lockout_counters(email, caller_ip(self.request))
        if not count_attempt(counters):
            log.warning("sign-in locked after too many failures")
            self.locked_seconds = seconds_locked(counters)
            raise ValidationError(
                f"Too many failed attempts. Try again in {LOCK_SECONDS // 60} minutes.", code="locked"
            )
        cleaned: dict[str, Any] = super().clean()
        clear_failures(counters)
        return cleaned


def caller_ip(request: HttpRequest | None) -> str:
    """Return the caller's IP address, as the nearest proxy saw it.

    The proxy appends the last entry of X-Forwarded-For. The caller can write the entries before it.
    """
    if request is None:
        return ""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    nearest: str = forwarded.rsplit(",", 1)[-1].strip()
    return nearest or request.META.get("REMOTE_ADDR", "")


def lockout_counters(email: str, ip: str) -> dict[str, int]:
    """Return the keys of an attempt's counters, with their limits. They hold digests: Redis stores no addresses."""
    digest = hashlib.sha256(f"{email.lower()}\0{ip}".encode()).hexdigest()
    return {
        f"signin:{digest}": MAX_FAILURES,
        f"signin-ip:{hashlib.sha256(ip.encode()).hexdigest()}": MAX_FAILURES_PER_IP,
    }


def count_attempt(counters: dict[str, int]) -> bool:
    """Count an attempt. Return False when a counter is above its limit. Without Redis nobody is locked out."""
    try:
        with shared_client().pipeline(transaction=True) as pipe:
            for key in counters:
                # With `nx` the first attempt sets the expiry: later attempts do not make the lock longer.
                pipe.set(key, 0, ex=LOCK_SECONDS, nx=True)
                pipe.incr(key)
            counts = pipe.execute()[1::2]
    except RedisError:
        log.warning("sign-in attempt not counted: Redis does not answer")
        return True
    return all(count <= limit for count, limit in zip(counts, counters.values(), strict=True))


def seconds_locked(counters: dict[str, int]) -> int:
    """Return how long the counters hold: afterwards there are attempts again."""
    try:
        return max(1, *(int(shared_client().ttl(key)) for key in counters))
    except RedisError:
        return LOCK_SECONDS


def clear_failures(counters: dict[str, int]) -> None:
    """Clear the person's failures after a success.

    The count of the IP address loses only this attempt, because other people may use the same address.
    """
    own, of_ip = counters
    try:
        with shared_client().pipeline(transaction=True) as pipe:
            pipe.delete(own)
            pipe.decr(of_ip)
            pipe.execute()
    except RedisError:
        log.warning("sign-in failures not cleared: Redis does not answer")
