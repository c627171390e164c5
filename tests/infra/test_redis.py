"""One way to Redis: scripts by their digest, and one clock for all of them."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from redis.exceptions import NoScriptError

from evalsvc.accounts.access import rate_limiter
from evalsvc.infra.redis import CLOCK, Script, get_shared_client, make_client
from tests.docs.pages import CHECKOUT


def echo() -> Script:
    """A script that no Redis has met."""
    return Script(f"return ARGV[1] .. '{uuid.uuid4().hex}'")


def sources(folder: str) -> dict[Path, str]:
    return {path: path.read_text(encoding="utf-8") for path in (CHECKOUT / folder).rglob("*.py")}


def test_a_script_is_sent_whole_once_and_by_its_digest_then() -> None:
    script, client = echo(), get_shared_client()
    with pytest.raises(NoScriptError):
        client.execute_command(*script.build_evalsha([], ["x"]))

    first = script.run(keys=[], args=["x"])

    assert client.execute_command(*script.build_evalsha([], ["x"])) == first


def test_a_script_that_redis_has_forgotten_is_sent_again() -> None:
    script = echo()
    first = script.run(keys=[], args=["x"])
    get_shared_client().script_flush()
    assert script.run(keys=[], args=["x"]) == first


def test_the_clock_is_redis_own_in_three_units() -> None:
    before, _ = get_shared_client().time()
    seconds, millis, micros = Script(CLOCK, "return {clock()}").run(keys=[])
    after, _ = get_shared_client().time()

    assert before <= seconds <= after
    assert (millis // 1000, micros // 1000) == (seconds, millis)


def test_an_epoch_is_the_time_in_microseconds() -> None:
    account_id = -uuid.uuid4().int % 10**12
    before, _ = get_shared_client().time()
    epoch = rate_limiter.count_requests(account_id).epoch
    get_shared_client().delete(f"epoch:{{{account_id}}}")

    assert epoch is not None and before <= int(epoch) // 10**6 <= before + 60


def test_who_asks_for_the_same_patience_shares_a_client() -> None:
    assert get_shared_client() is get_shared_client() is not get_shared_client(timeout=2.0)
    assert make_client(timeout=1.0) is not make_client(timeout=1.0)


@pytest.mark.parametrize("words", ["redis.call('TIME')", "register_script", '"EVALSHA"', "Redis.from_url"])
def test_nobody_else_has_a_way_of_their_own(words: str) -> None:
    assert {path.name for path, text in sources("evalsvc").items() if words in text} <= {"redis.py"}
