"""What a process remembers: bounded, believed for a while, and safe to read while others write."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from evalsvc.infra.cache import AccountCache, BoundedCache


class Watch:
    """A clock that goes when it is told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def bounded(watch: Watch) -> BoundedCache[str, int]:
    return BoundedCache(3, seconds=lambda: 10.0, clock=watch)


@pytest.fixture
def of_accounts(watch: Watch) -> AccountCache[int, str]:
    return AccountCache(3, seconds=lambda: 10.0, clock=watch)


def test_a_value_is_believed_for_so_long(bounded: BoundedCache[str, int], watch: Watch) -> None:
    bounded.put("a", 1)
    watch.now += 9.9
    assert bounded.get("a") == 1

    watch.now += 0.1
    assert bounded.get("a") is None


def test_what_is_too_old_is_there_for_who_has_nothing_better(bounded: BoundedCache[str, int], watch: Watch) -> None:
    bounded.put("a", 1)
    watch.now += 10
    entry = bounded.find("a")

    assert entry is not None and (entry.value, entry.until) == (1, 110.0)
    bounded.drop_old()
    assert bounded.find("a") is None


def test_what_is_still_believed_stays_when_the_old_goes(bounded: BoundedCache[str, int], watch: Watch) -> None:
    bounded.put("old", 1)
    watch.now += 5
    bounded.put("new", 2)
    watch.now += 5
    bounded.drop_old()

    assert list(bounded) == ["new"]


def test_what_was_put_in_longest_ago_goes_first(bounded: BoundedCache[str, int]) -> None:
    for n, key in enumerate("abcd"):
        bounded.put(key, n)

    assert (set(bounded), len(bounded), "a" in bounded) == ({"b", "c", "d"}, 3, False)


def test_what_is_put_in_again_counts_as_new(bounded: BoundedCache[str, int]) -> None:
    for key in "abcad":
        bounded.put(key, 1)

    assert set(bounded) == {"c", "a", "d"}


def test_keys_are_dropped_singly_by_what_they_are_and_all(bounded: BoundedCache[str, int]) -> None:
    for key in ("a1", "a2", "b1"):
        bounded.put(key, 1)
    bounded.drop("a1")
    bounded.drop("never there")
    assert list(bounded) == ["a2", "b1"]

    bounded.drop_all(lambda key: key.startswith("a"))
    assert list(bounded) == ["b1"]
    bounded.clear()
    assert list(bounded) == []


def test_nothing_grows_old_that_nothing_makes_untrue(watch: Watch) -> None:
    cache: BoundedCache[str, int] = BoundedCache(3, clock=watch)
    cache.put("a", 1)
    watch.now += 1e9

    assert cache.get("a") == 1


def test_a_setting_is_asked_each_time(watch: Watch) -> None:
    seconds = [10.0]
    cache: BoundedCache[str, int] = BoundedCache(3, seconds=lambda: seconds[0], clock=watch)
    cache.put("a", 1)
    seconds[0] = -1.0
    cache.put("b", 2)

    assert (cache.get("a"), cache.get("b")) == (1, None)


def test_what_was_read_under_another_epoch_is_not_taken(of_accounts: AccountCache[int, str]) -> None:
    of_accounts.put(1, "x", "e1")

    assert (of_accounts.get(1, "e1"), of_accounts.get(1, "e2"), of_accounts.get(2, "e1")) == ("x", None, None)


def test_without_an_epoch_nothing_is_remembered_and_nothing_taken(of_accounts: AccountCache[int, str]) -> None:
    of_accounts.put(1, "x", None)
    assert 1 not in of_accounts

    of_accounts.put(1, "x", "e1")
    assert of_accounts.get(1, None) is None


def test_an_account_s_value_ends_with_its_time(of_accounts: AccountCache[int, str], watch: Watch) -> None:
    of_accounts.put(1, "x", "e1")
    watch.now += 10
    entry = of_accounts.find(1)

    assert of_accounts.get(1, "e1") is None
    assert entry is not None and not of_accounts.holds(entry, "e1")


def test_an_entry_holds_under_its_own_epoch_alone(of_accounts: AccountCache[int, str]) -> None:
    of_accounts.put(1, "x", "e1")
    entry = of_accounts.find(1)

    assert entry is not None
    assert [of_accounts.holds(entry, epoch) for epoch in ("e1", "e2", None)] == [True, False, False]


def test_what_is_made_of_something_older_ends_with_that(of_accounts: AccountCache[int, str], watch: Watch) -> None:
    until = of_accounts.end()
    watch.now += 9
    of_accounts.put(1, "merged", "e1", until=until)
    watch.now += 1

    assert of_accounts.get(1, "e1") is None


def test_threads_read_while_others_write_and_nobody_errs() -> None:
    cache: BoundedCache[int, int] = BoundedCache(50)

    def work(seed: int) -> None:
        acts: list[Callable[[int], object]] = [lambda key: cache.put(key, key), cache.get, cache.find, cache.drop]
        for n in range(3000):
            acts[(n * seed + n // 7) % 4]((n * seed) % 200)
        cache.drop_all(lambda key: key % 7 == seed)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(partial(work), range(1, 9)))

    assert len(cache) <= 50
    assert all(cache.get(key) == key for key in cache)
