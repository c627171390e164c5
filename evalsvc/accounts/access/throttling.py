"""Rate limits per account: a clock minute and a calendar month, counted by the rate limiter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from django.http import HttpResponseBase
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from evalsvc.accounts.access.authentication import Caller, get_limits
from evalsvc.accounts.access.rate_limiter import Admission, count_requests
from evalsvc.accounts.models import Account
from evalsvc.rest.problems import Problem

if TYPE_CHECKING:
    from rest_framework.views import APIView


class AccountThrottle(BaseThrottle):
    """Refuse what is above the account's limit; the counting was done when the key was checked."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Return True, or raise 429 with the headers that clients pace themselves by."""
        caller = request.user
        if not isinstance(caller, Caller):
            return True
        check_limits(caller)
        return True


def check_limits(caller: Caller) -> None:
    """Raise 429 with the headers that clients pace themselves by, where the request is one too many."""
    if count_excess(caller):
        raise build_rate_limit_problem(caller)


def count_excess(caller: Caller) -> int:
    """Return how many of the requests that were counted last are above a limit."""
    rpm, monthly = get_limits(caller.key)
    return max(0, caller.admission.n_minute - rpm, caller.admission.n_month - monthly)


def build_rate_limit_problem(caller: Caller) -> Problem:
    """Make the 429."""
    wait = seconds_left(caller)
    if caller.admission.n_month > get_limits(caller.key)[1]:
        wait = seconds_left_of_month()
    return Problem(
        code="too_many_requests", headers=with_zero_floor(rate_limit_headers(caller)) | {"Retry-After": str(wait)}
    )


def charge_requests(caller: Caller, n: int) -> tuple[Caller, int]:
    """Charge a request as `n`; return its caller and the number allowed. One was already counted with its key."""
    if n > 1:
        caller = replace(caller, admission=count_requests(caller.account.pk, n=n - 1))
    return caller, max(0, n - count_excess(caller))


@dataclass(frozen=True, slots=True)
class MemberCall:
    """A call that a member makes at a page, without a key."""

    account: Account
    admission: Admission


def admit_member(account: Account) -> MemberCall:
    """Count a member's call as one with a key; raise 429 where it is one too many. `account` is the whole row."""
    call = MemberCall(account, count_requests(account.pk))
    rpm, monthly = get_limits(account)
    if call.admission.n_minute > rpm or call.admission.n_month > monthly:
        raise Problem(code="too_many_requests")
    return call


def seconds_left(caller: Caller) -> int:
    """Return the seconds until the next clock minute."""
    return max(1, 60 - caller.admission.second)


def seconds_left_of_month() -> int:
    """Return the seconds until the next calendar month."""
    now = datetime.now(UTC)
    month_after = (now.replace(day=28) + timedelta(days=4)).replace(day=1, hour=0, minute=0, second=0)
    return max(1, int((month_after - now).total_seconds()))


def rate_limit_headers(caller: Caller) -> dict[str, str]:
    """Return the IETF headers and those that Patronus clients read; remaining values can be negative."""
    rpm, monthly = get_limits(caller.key)
    left_minute, left_month = rpm - caller.admission.n_minute, monthly - caller.admission.n_month
    return {
        "RateLimit-Policy": f'"minute";q={rpm};w=60, "month";q={monthly};w=2592000',
        "RateLimit": f'"minute";r={max(0, left_minute)};t={seconds_left(caller)}',
        "x-ratelimit-rpm-limit-requests": str(rpm),
        "x-ratelimit-rpm-remaining-requests": str(left_minute),
        "x-ratelimit-monthly-limit-requests": str(monthly),
        "x-ratelimit-monthly-remaining-requests": str(left_month),
    }


def with_zero_floor(headers: dict[str, str]) -> dict[str, str]:
    """Write negative remainders as 0."""
    return {name: "0" if value.startswith("-") else value for name, value in headers.items()}


def add_rate_limit_headers(response: HttpResponseBase, caller: object) -> None:
    """Tell an admitted caller what is left."""
    if isinstance(caller, Caller):
        for name, value in with_zero_floor(rate_limit_headers(caller)).items():
            response.headers.setdefault(name, value)
