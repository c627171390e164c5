"""Rate limits and budgets of connections: one ledger in Redis for all workers.

Calls and tokens are counted in slots of one second over the last minute, for each connection and model, so that no
window of a minute exceeds the limit. Money is counted for each connection and day (UTC), in billionths.

If Redis does not answer, rates are not limited (callers still obey the endpoint's own 429), but a connection with a
daily budget is not called: money that cannot be counted is not spent.
"""

from __future__ import annotations

import hashlib
import logging
import math
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, cast

from prometheus_client import Counter
from redis.exceptions import RedisError

from evalsvc.infra.redis import Word, get_shared_client
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import BUDGET_EXHAUSTED, RATE_LIMITED, CallFailed
from evalsvc.judges.ledger import breaker
from evalsvc.judges.ledger.client import ledger
from evalsvc.judges.ledger.scripts import ACQUIRE, BLOCK, CIRCUIT_OPEN, NO_MONEY, NO_PERMIT, PASSED, RELEASE

log = logging.getLogger(__name__)
UNCOUNTED = Counter("evalsvc_judge_limits_skipped_total", "Calls to LLMs uncounted because Redis did not answer.")
NANOS = 1_000_000_000
WAIT_WITHOUT_REDIS_SECONDS = 5.0
SEMAPHORE_WAIT_SECONDS = 0.25
LONGEST_BLOCK_SECONDS = 3600.0
KEPT_SPEND_SECONDS = 3 * 86_400


@dataclass(frozen=True, slots=True)
class Reservation:
    """What was taken of the ledger for one call, and is settled when the call has ended."""

    connection: ConnectionFacts
    model: str
    tokens: int
    reserved: float
    permit: str
    keys: tuple[str, ...]
    is_watched: bool
    is_probe: bool = False
    """Whether it is the call that finds out whether an endpoint is back; see `breaker`."""


def estimate_cost(connection: ConnectionFacts, tokens: int) -> float:
    """Return the most that so many tokens can cost: all of them at the dearer price. 0 without prices."""
    prices = (connection.price_input_per_million or 0.0, connection.price_output_per_million or 0.0)
    return tokens * max(prices) / 1_000_000


async def acquire_call(
    connection: ConnectionFacts, model: str, *, tokens: int, seconds: float, is_watched: bool = False
) -> Reservation:
    """Acquire what a call of up to `tokens` tokens needs, or nothing: rate, budget, and a permit for `seconds`.

    The estimated cost is reserved from the daily budget. An amount above a limit takes the full limit. With
    `is_watched` the breaker must allow the call. Settle the reservation with `release_call`; if the caller is cancelled
    here, nothing stays acquired.

    Raises CallFailed `rate_limited` with the seconds to wait before a retry, `budget_exhausted` if the budget does not
    cover the cost (it resets at midnight UTC), and CircuitOpen.
    """
    reserved = estimate_cost(connection, tokens)
    permit = uuid.uuid4().hex if connection.max_concurrency is not None else ""
    reservation = Reservation(connection, model, tokens, reserved, permit, _keys(connection, model), is_watched)
    amounts: list[Word] = [tokens, connection.rpm or 0, connection.tpm or 0, _nanos(reserved)]
    amounts += [_nanos_or_none(connection.daily_budget), KEPT_SPEND_SECONDS]
    amounts += [connection.max_concurrency or 0, math.ceil(seconds * 1000), permit]
    probe = breaker.PROBE_SECONDS * 1000 if is_watched else 0
    try:
        reply = await ledger().run(
            ACQUIRE, keys=reservation.keys, args=[*amounts, probe], lost=lambda answer: _give_back(reservation, answer)
        )
    except RedisError:
        UNCOUNTED.inc()
        log.warning("limits of connection %s not counted: Redis does not answer", connection.id)
        if connection.daily_budget is not None:
            raise _not_yet(WAIT_WITHOUT_REDIS_SECONDS) from None
        return reservation
    result = cast("list[Any]", reply)
    if result[0] != PASSED:
        raise _refusal(connection, result)
    return replace(reservation, is_probe=True) if result[1] else reservation


def _refusal(connection: ConnectionFacts, found: list[Any]) -> CallFailed:
    if found[0] == CIRCUIT_OPEN:
        return breaker.circuit_open(*found[1:])
    if found[0] == NO_PERMIT:
        return _not_yet(SEMAPHORE_WAIT_SECONDS)
    if found[0] == NO_MONEY:
        detail = f"The daily budget of the connection {connection.name} does not hold this call."
        return CallFailed(BUDGET_EXHAUSTED, detail, retry_after_seconds=seconds_of_day_left())
    return _not_yet(found[1] / 1000)


def _not_yet(seconds: float) -> CallFailed:
    detail = "The connection's limits do not allow this call yet."
    return CallFailed(RATE_LIMITED, detail, is_transient=True, retry_after_seconds=seconds)


def _give_back(reservation: Reservation, answer: Any) -> None:
    if answer[0] == PASSED:
        taken = replace(reservation, is_probe=bool(answer[1]))
        ledger().tell_script(
            RELEASE,
            keys=taken.keys,
            args=_build_settlement(taken, 0, 0.0, succeeded=False, verdict=breaker.SILENT),
        )


async def release_call(
    reservation: Reservation,
    *,
    used_tokens: int,
    used_cost: float | None,
    failed: CallFailed | None = None,
    succeeded: bool = True,
) -> None:
    """Replace the reservation of a call by its actual usage and release the permit, whether or not it was cancelled.

    `used_cost` None (prices are unknown) counts as zero. A success resets the back-off after 429. `failed` is the
    failure that is recorded in the breaker for a watched call.
    """
    verdict = breaker.verdict(failed, succeeded=succeeded) if reservation.is_watched else breaker.SILENT
    settling = _build_settlement(reservation, used_tokens, used_cost or 0.0, succeeded=succeeded, verdict=verdict)
    try:
        await ledger().run(RELEASE, keys=reservation.keys, args=settling)
    except RedisError:
        log.warning("calls of connection %s not settled: Redis does not answer", reservation.connection.id)


def _build_settlement(
    reservation: Reservation, used_tokens: int, used_cost: float, *, succeeded: bool, verdict: tuple[Word, ...]
) -> list[Word]:
    tpm = reservation.connection.tpm
    reserved_tokens = min(reservation.tokens, tpm) if tpm else reservation.tokens
    spend = _nanos(used_cost) - _nanos(reservation.reserved)
    return [
        used_tokens - reserved_tokens,
        tpm or 0,
        spend,
        KEPT_SPEND_SECONDS,
        int(succeeded),
        reservation.permit,
        *verdict,
        int(reservation.is_probe),
    ]


async def feed_back_429(connection: ConnectionFacts, model: str, retry_after_seconds: float | None = None) -> float:
    """Share a 429 of the endpoint with all workers; return the seconds for which `acquire_call` now refuses calls.

    If there was no Retry-After, the pause doubles from 1 s to 60 s until a call succeeds.
    """
    wait = -1 if retry_after_seconds is None else int(1000 * min(retry_after_seconds, LONGEST_BLOCK_SECONDS))
    _, _, block, _, strikes, _, _ = _keys(connection, model)
    try:
        return cast("int", await ledger().run(BLOCK, keys=[block, strikes], args=[wait])) / 1000
    except RedisError:
        log.warning("429 of connection %s not shared: Redis does not answer", connection.id)
        return 1.0 if retry_after_seconds is None else retry_after_seconds


def get_spend_today(*, account_id: int, connection_id: uuid.UUID) -> float | None:
    """Return the money spent and reserved today (UTC); None when Redis does not answer."""
    try:
        return int(get_shared_client().get(_spend(account_id, connection_id)) or 0) / NANOS
    except RedisError:
        return None


def failing_with(connection: Any, model: str) -> str | None:
    """Return the code of the failure for which a model's breaker is open or half-open; None if it is closed.

    Raises RedisError.
    """
    is_open, code = cast(
        "list[bytes | None]", get_shared_client().hmget(breaker.key(connection, model), ["until", "code"])
    )
    return (code or b"").decode() if is_open else None


def load_spend_and_failures(connections: Sequence[Any]) -> list[tuple[float | None, str | None]]:
    """Return for each what it has spent today, and the code for which its default model is left alone just now.

    One round trip; None for both when Redis does not answer.
    """
    try:
        pipe: Any = get_shared_client().pipeline(transaction=False)
        for connection in connections:
            pipe.get(_spend(connection.account_id, connection.id))
            pipe.hmget(breaker.key(connection, connection.model), ["until", "code"])
        replies = pipe.execute() if connections else []
    except RedisError:
        return [(None, None)] * len(connections)
    pairs = zip(replies[::2], replies[1::2], strict=True)
    return [(int(spend or 0) / NANOS, (code or b"").decode() if is_open else None) for spend, (is_open, code) in pairs]


def seconds_of_day_left() -> float:
    """Return the seconds until the next day (UTC)."""
    now = datetime.now(UTC)
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=1)
    return (midnight - now).total_seconds()


def _keys(connection: ConnectionFacts, model: str) -> tuple[str, ...]:
    calls, tokens, blocked, strikes = _keys_of_model(connection.account_id, connection.id, model)
    spend_key = _spend(connection.account_id, connection.id)
    return calls, tokens, blocked, spend_key, strikes, _semaphore(connection), breaker.key(connection, model)


@lru_cache(maxsize=4096)
def _keys_of_model(account_id: int, connection_id: uuid.UUID, model: str) -> list[str]:
    # The model name is arbitrary text; the braces put all keys of a connection in one slot of a cluster.
    of_model = hashlib.blake2b(model.encode(), digest_size=12).hexdigest()
    base = f"judge:{_tag(account_id, connection_id)}:{of_model}"
    return [f"{base}:calls", f"{base}:tokens", f"{base}:blocked", f"{base}:strikes"]


def _tag(account_id: int, connection_id: uuid.UUID) -> str:
    return f"{{{account_id}:{connection_id.hex}}}"


def _spend(account_id: int, connection_id: uuid.UUID) -> str:
    return f"judge:{_tag(account_id, connection_id)}:spent:{datetime.now(UTC):%Y%m%d}"


def _semaphore(connection: ConnectionFacts) -> str:
    return f"judge:{_tag(connection.account_id, connection.id)}:semaphore"


def _nanos(money: float) -> int:
    return math.ceil(money * NANOS)


def _nanos_or_none(money: float | None) -> int:
    return -1 if money is None else _nanos(money)
