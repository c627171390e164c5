"""The counters and the epoch that every request reads."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from evalsvc.accounts.access.rate_limiter import bump_epoch, count_requests
from evalsvc.infra.redis import get_shared_client
from tests.conftest import new_account


def test_a_month_counts_every_request_once() -> None:
    account = new_account().pk
    with ThreadPoolExecutor(8) as threads:
        counts = [one.n_month for one in threads.map(lambda _: count_requests(account), range(40))]
    assert sorted(counts) == list(range(1, 41))


def test_accounts_are_counted_apart() -> None:
    first, second = new_account().pk, new_account().pk
    count_requests(first)
    count_requests(first)
    assert count_requests(second).n_month == 1
    assert count_requests(first).n_month == 3


def test_an_epoch_stays_while_nothing_changes() -> None:
    account = new_account().pk
    assert len({count_requests(account).epoch for _ in range(5)}) == 1


def test_every_bump_is_a_later_epoch() -> None:
    account = new_account().pk
    epochs = [count_requests(account).epoch]
    for _ in range(20):
        bump_epoch(account)
        epochs.append(count_requests(account).epoch)
    numbers = [int(epoch or 0) for epoch in epochs]
    assert numbers[1:] == sorted(set(numbers[1:]))
    assert len(set(numbers)) == 21


def test_a_bump_is_one_accounts() -> None:
    first, second = new_account().pk, new_account().pk
    before = count_requests(second).epoch
    bump_epoch(first)
    assert count_requests(second).epoch == before


def test_parallel_bumps_leave_a_new_epoch() -> None:
    account = new_account().pk
    before = count_requests(account).epoch
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(bump_epoch, [account] * 32))
    assert count_requests(account).epoch not in {before, None}


def test_a_lost_epoch_never_comes_back() -> None:
    account = new_account().pk
    seen = set()
    for _ in range(5):
        seen.add(count_requests(account).epoch)
        assert get_shared_client().delete(f"epoch:{{{account}}}") == 1
    assert len(seen) == 5
    assert count_requests(account).epoch not in seen


def test_an_epoch_does_not_expire_and_the_counters_do() -> None:
    account = new_account().pk
    count_requests(account)
    redis = get_shared_client()
    assert redis.ttl(f"epoch:{{{account}}}") == -1
    lifetimes = sorted(redis.ttl(key) for key in redis.scan_iter(f"rl:{{{account}}}:*", count=1000))
    assert len(lifetimes) == 2
    assert 0 < lifetimes[0] <= 120 < lifetimes[1] <= 32 * 86400


def test_a_second_request_does_not_prolong_the_minute() -> None:
    account, redis = new_account().pk, get_shared_client()
    count_requests(account)
    keys = list(redis.scan_iter(f"rl:{{{account}}}:*", count=1000))
    for key in keys:
        redis.expire(key, 77)
    count_requests(account)
    assert all(redis.ttl(key) <= 77 for key in keys)
