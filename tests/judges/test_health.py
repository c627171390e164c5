"""How calls end is counted by the hour and forgotten after a day; it is of one account, and costs nobody a wait."""

from __future__ import annotations

import time
from datetime import timedelta

from django.utils import timezone

from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.calls.loop import run
from evalsvc.judges.connections.facts import ConnectionFacts
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.ledger.client import ledger
from evalsvc.judges.ledger.health import HOURS, ConnectionHealth, _key, load_connection_health, note_call
from tests.judges.conftest import facts


def told() -> None:
    """Wait until all is written that was told: what is asked later is answered later."""

    async def ask() -> None:
        await ledger().ask("PING")

    run(ask())


def health(connection: ConnectionFacts, **later: float) -> ConnectionHealth:
    now = timezone.now() + timedelta(**later)
    (found,) = load_connection_health(account_id=connection.account_id, connection_ids=[connection.id], now=now)
    assert found is not None
    return found


def test_calls_are_counted_by_code_and_time() -> None:
    connection = facts()
    for ms in (5.0, 90.0, 90.0, 3000.0):
        note_call(connection, failed=None, latency_ms=ms)
    note_call(connection, failed=CallFailed("timeout", "Too late."), latency_ms=30_000.0)
    told()

    found = health(connection)
    assert (found.n_calls, found.n_failed, found.failed) == (5, 1, {"timeout": 1})
    assert found.p50_ms is not None and 90 <= found.p50_ms <= 90 * 2**0.5
    assert found.p95_ms is not None and 30_000 <= found.p95_ms <= 30_000 * 2**0.5
    assert (found.last_code, found.failed_code, found.failed_detail) == ("timeout", "timeout", "Too late.")


def test_a_success_after_it_is_the_last_and_the_failure_is_remembered() -> None:
    connection = facts()
    note_call(connection, failed=CallFailed("connection", "Down."), latency_ms=1.0)
    note_call(connection, failed=None, latency_ms=1.0)
    told()

    found = health(connection)
    assert found.last_code is None and found.failed_code == "connection"


def test_after_a_day_it_is_counted_no_more_and_then_forgotten() -> None:
    connection = facts()
    key, hour = _key(connection.account_id, connection.id), int(time.time()) // 3600
    get_shared_client().hset(
        key, mapping={f"{hour - HOURS}|ok": 7, f"{hour - HOURS}|#3": 7, f"{hour - HOURS + 1}|ok": 1}
    )
    assert health(connection).n_calls == 1
    note_call(connection, failed=None, latency_ms=1.0)
    told()

    assert health(connection).n_calls == 2
    assert f"{hour - HOURS}|ok".encode() not in get_shared_client().hgetall(key)
    assert health(connection, hours=HOURS + 1).n_calls == 0


def test_nobody_reads_another_s() -> None:
    connection = facts()
    note_call(connection, failed=None, latency_ms=1.0)
    told()

    (other,) = load_connection_health(
        account_id=connection.account_id + 1, connection_ids=[connection.id], now=timezone.now()
    )
    assert other == ConnectionHealth()
