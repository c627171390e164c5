"""Answers are remembered for their own account, asked for once at a time, and never when they are none."""

from __future__ import annotations

import threading
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.test import override_settings
from redis.exceptions import ConnectionError as RedisDown

from benchmarks.stub_llm import RunningStub
from evalsvc.infra.redis import get_shared_client
from evalsvc.judges.calls.loop import run
from evalsvc.judges.failures import CallFailed
from evalsvc.judges.questions import cache
from evalsvc.judges.questions.cache import CachedAnswer, compute_question_digest
from evaluators.base import CannotScore
from tests.judges.asking import GOOD, SCHEMA, Judge, question
from tests.judges.conftest import facts


async def ask_alone(
    account: int, digest: str, *, seconds: float = 20, brings: CachedAnswer | None = None
) -> CachedAnswer | None:
    """Ask alone; return what was found, and bring something where nothing was."""
    async with cache.single_flight(account, digest, until=time.monotonic() + seconds) as held:
        if held.found is None and brings is not None:
            held.keep(brings)
        return held.found


def an_account() -> int:
    return uuid.uuid4().int % 2**40


def test_the_same_question_is_paid_for_once(judge: Judge) -> None:
    asked = question()
    first, second = judge.ask(asked=asked), judge.ask(asked=asked)

    assert second.data == first.data == GOOD
    assert judge.n_calls() == 1
    shown = dict(second.provenance)
    assert shown == shown | {"cached": True, "calls": 0, "input_tokens": 0, "output_tokens": 0, "cost": 0.0}
    original = shown["original_usage"]
    assert isinstance(original, dict)
    assert {name: first.provenance[name] for name in original} == original
    assert original["cost"] > 0  # type: ignore[operator]


def test_what_decides_the_answer_is_in_the_key(judge: Judge) -> None:
    asked = question("the same")
    judge.ask(asked=asked)
    others = [
        question("the same", prompt_id="test/2"),
        question("the same", system="Judge kindly."),
        question("the same", max_output_tokens=99),
        question("the same", schema={**SCHEMA, "title": "other"}),
    ]
    for other in others:
        judge.ask(asked=other)
    judge.ask("stub-judge-fail", asked)
    judge.ask(asked=asked, temperature=0)
    judge.gateway().ask(asked, {"model": "stub-judge-pass"}, sample_number=1)

    assert judge.n_calls() == len(others) + 4


def test_the_order_of_a_schema_is_in_the_key() -> None:
    connection = facts()
    one: dict[str, Any] = {"properties": {"reasoning": {}, "score": {}}}
    other: dict[str, Any] = {"properties": {"score": {}, "reasoning": {}}}

    assert compute_question_digest(connection, {"schema": one}) != compute_question_digest(
        connection, {"schema": other}
    )


def test_another_address_is_another_judge(judge: Judge) -> None:
    connection = facts()
    moved = facts(account_id=connection.account_id, id=connection.id, base_url="http://127.0.0.1:10/v1")

    assert compute_question_digest(connection, {}) != compute_question_digest(moved, {})


def test_no_cache_asks_again_and_keeps_nothing(judge: Judge) -> None:
    asked = question()
    for _ in range(2):
        assert judge.ask(asked=asked, no_cache=True).provenance["cached"] is False
    assert judge.ask(asked=asked).provenance["cached"] is False
    assert judge.n_calls() == 3


def test_failures_are_not_kept(judge: Judge) -> None:
    asked = question()
    for _ in range(2):
        with pytest.raises(CannotScore):
            judge.ask("stub-judge-pass:types", asked)

    assert judge.n_calls() == 4


def test_eight_that_ask_at_once_make_one_call(judge: Judge) -> None:
    asked, barrier = question(), threading.Barrier(8, timeout=60)

    def ask(_: int) -> bool:
        barrier.wait()
        return bool(judge.ask("stub-judge-pass@300", asked).provenance["cached"])

    with ThreadPoolExecutor(8) as pool:
        cached = sorted(pool.map(ask, range(8)))

    assert cached == [False] + [True] * 7
    assert judge.n_calls() == 1


def test_two_accounts_share_no_answer(stub: RunningStub) -> None:
    asked = question()
    judges = [Judge(stub), Judge(stub)]

    assert [each.ask(asked=asked).provenance["cached"] for each in judges] == [False, False]
    assert [each.n_calls() for each in judges] == [1, 1]


def test_a_dead_holder_s_flight_ends_by_itself() -> None:
    account, digest = an_account(), uuid.uuid4().hex
    get_shared_client().set(f"judge:{{{account}}}:answer:{digest}:flight", "dead", px=200)

    assert run(ask_alone(account, digest)) is None


def test_a_flight_that_does_not_end_in_time() -> None:
    account, digest = an_account(), uuid.uuid4().hex
    get_shared_client().set(f"judge:{{{account}}}:answer:{digest}:flight", "of another process", px=100_000)
    with pytest.raises(CallFailed, match="timeout"):
        run(ask_alone(account, digest, seconds=0.1))

    async def within_another() -> None:
        async with cache.single_flight(account, "other", until=time.monotonic() + 20):
            await ask_alone(account, "other", seconds=0.1)

    with pytest.raises(CallFailed, match="timeout"):
        run(within_another())


def test_a_flight_is_released() -> None:
    account, digest = an_account(), uuid.uuid4().hex
    for _ in range(2):
        assert run(ask_alone(account, digest)) is None
    assert not get_shared_client().exists(f"judge:{{{account}}}:answer:{digest}:flight")


def test_the_oldest_answers_make_room() -> None:
    account = an_account()
    with override_settings(JUDGE_CACHE_ANSWERS=3):
        for i in range(5):
            run(ask_alone(account, f"{i}", brings=CachedAnswer({"i": i}, {})))

    assert sum(run(ask_alone(account, f"{i}")) is not None for i in range(5)) == 3


def test_a_huge_answer_is_not_kept() -> None:
    account = an_account()
    run(ask_alone(account, "d", brings=CachedAnswer({"text": "x" * cache.MAX_BYTES}, {})))

    assert run(ask_alone(account, "d")) is None


def test_without_redis_every_question_is_asked(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    class Down:
        async def run(self, *args: object, **more: object) -> object:
            raise RedisDown

    asked = question()
    monkeypatch.setattr(cache, "ledger", Down)

    assert [judge.ask(asked=asked).data for _ in range(2)] == [GOOD, GOOD]
    assert judge.n_calls() == 2
