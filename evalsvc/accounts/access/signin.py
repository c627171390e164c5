"""Limits on sign-in attempts: ten failures per email address and IP address, ten codes per person."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterable

from django.conf import settings
from django.http import HttpRequest
from redis.exceptions import RedisError

from evalsvc.infra.redis import get_shared_client
from evalsvc.rest.problems import Problem

log = logging.getLogger(__name__)
MAX_FAILURES = 10  # of one e-mail address from one IP address, and of one person's codes from anywhere
MAX_FAILURES_PER_IP = 100  # of any e-mail addresses: one password tried on many people
LOCK_SECONDS = 900


class LockedOut(Exception):
    """Too many failed attempts; further ones are refused for a while."""

    email, address = "", ""
    """Whose sign-in was tried and from where; empty where it was none."""

    def __init__(self, seconds: int, *, is_new: bool) -> None:
        self.seconds, self.is_new = seconds, is_new
        """How long the caller has none left, and whether this is the first attempt that is refused."""
        super().__init__(f"Too many failed attempts. Try again in {max(1, -(-seconds // 60))} minutes.")


def caller_ip(request: HttpRequest | None) -> str:
    """Return the caller's IP address, as the nearest proxy saw it.

    The proxy appends the last entry of X-Forwarded-For. The caller can write the entries before it.
    """
    if request is None:
        return ""
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "") if settings.BEHIND_PROXY else ""
    nearest = _strip_port(forwarded.rsplit(",", 1)[-1].strip())
    return nearest or request.META.get("REMOTE_ADDR", "")


def _strip_port(address: str) -> str:
    # Some proxies name it, and it is another one with each connection: counters would never count to two.
    if address.startswith("["):
        return address[1:].partition("]")[0]
    return address.partition(":")[0] if address.count(":") == 1 else address


def lockout_counters(email: str, ip: str) -> dict[str, int]:
    """Return an attempt's counter keys with their limits. The keys are digests, so Redis stores no addresses."""
    return {f"signin:{_digest(email.lower(), ip)}": MAX_FAILURES, **_counter_of_ip(ip)}


def code_counters(user_id: int, ip: str) -> dict[str, int]:
    """Return the counters of second-factor codes, shared by all IP addresses: the caller already has the password."""
    return {f"signin-code:{_digest(str(user_id))}": MAX_FAILURES, **_counter_of_ip(ip)}


def reset_counters(email: str, ip: str) -> dict[str, int]:
    """Return the counters of password reset mails: ten per address, whatever the requester."""
    return {f"signin-mail:{_digest(email.lower())}": MAX_FAILURES, **_counter_of_ip(ip)}


def provider_counters(ip: str) -> dict[str, int]:
    """Return the counters of sign-ins through the provider: each one calls the provider and creates a session.

    They are separate from the password counters, so that an office that signs in through the provider is not locked
    out.
    """
    return {f"signin-provider:{_digest(ip)}": MAX_FAILURES_PER_IP}


def _counter_of_ip(ip: str) -> dict[str, int]:
    return {f"signin-ip:{_digest(ip)}": MAX_FAILURES_PER_IP}


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def take_attempt(counters: dict[str, int]) -> None:
    """Count an attempt, before it is made: otherwise parallel guesses would pass the limit. Raises LockedOut."""
    if count_attempt(counters):
        return
    log.warning("sign-in locked after too many failures")
    raise LockedOut(seconds_locked(counters), is_new=_is_first_refusal(next(iter(counters))))


def count_attempt(counters: dict[str, int]) -> bool:
    """Count an attempt. Return False if a counter is above its limit. Without Redis the attempt is allowed."""
    try:
        with get_shared_client().pipeline(transaction=True) as pipe:
            for key in counters:
                # With `nx` the first attempt sets the expiry: later attempts do not make the lock longer.
                pipe.set(key, 0, ex=LOCK_SECONDS, nx=True)
                pipe.incr(key)
            counts = pipe.execute()[1::2]
    except RedisError:
        log.warning("sign-in attempt not counted: Redis does not answer")
        return True
    return all(count <= limit for count, limit in zip(counts, counters.values(), strict=True))


def _is_first_refusal(key: str) -> bool:
    try:
        return bool(get_shared_client().set(f"{key}:told", 1, ex=LOCK_SECONDS, nx=True))
    except RedisError:
        return False


def seconds_locked(counters: dict[str, int]) -> int:
    """Return the seconds until the counters expire and attempts are allowed again."""
    try:
        return max(1, *(int(get_shared_client().ttl(key)) for key in counters))
    except RedisError:
        return LOCK_SECONDS


def clear_failures(counters: dict[str, int]) -> None:
    """Clear the first counter after a success.

    The count of the IP address, where it is another, loses only this attempt: other people may use the same address.
    """
    first_key, *of_ip = counters
    _take_back(cleared=[first_key], reduced=of_ip)


def count_link_attempt(counters: dict[str, int]) -> None:
    """Count an attempt to open a link. Raises `too_many_requests` if a counter is above its limit."""
    if not count_attempt(counters):
        raise Problem(code="too_many_requests", headers={"Retry-After": str(seconds_locked(counters))})


def refund_attempt(counters: dict[str, int]) -> None:
    """Take an attempt back that has succeeded, so that people behind one IP address do not lock each other out."""
    _take_back(cleared=[], reduced=counters)


def _take_back(*, cleared: Iterable[str], reduced: Iterable[str]) -> None:
    try:
        with get_shared_client().pipeline(transaction=True) as pipe:
            for key in cleared:
                pipe.delete(key)
            for key in reduced:
                # Where it has ended since the attempt, a counter that never ends would come of it.
                pipe.set(key, 0, ex=LOCK_SECONDS, nx=True)
                pipe.decr(key)
            pipe.execute()
    except RedisError:
        log.warning("sign-in failures not cleared: Redis does not answer")
