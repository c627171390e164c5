"""New rows merged into a remembered history: as if all rows had been read again."""

from __future__ import annotations

import struct
import time
from array import array
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.test import override_settings
from hypothesis import given
from hypothesis import strategies as st

from evalsvc.evaluations.history import cache
from evalsvc.evaluations.history.cache import HISTORY_LENGTH, HistorySnapshot, get_cached_histories, update_histories
from evalsvc.infra.cache import AccountCache

PAIR = ("exact-match-2026-11-28", "patronus:exact-match")
rows = st.dictionaries(st.integers(1, 2**62), st.floats(0, 1), max_size=40)


@pytest.fixture(autouse=True)
def forget() -> Iterator[None]:
    cache._memory.clear()
    yield
    cache._memory.clear()


def fact(id: int) -> int:
    """Facts that tell whose they are."""
    return id % 2**31


def hashes(ids: Iterable[int]) -> list[int]:
    """Hashes and batches that tell whose they are."""
    return [-i for i in ids]


def probability(id: int) -> float:
    """A probability that tells whose it is."""
    return 1 / (2 + id % 7)


def packed(scores: dict[int, float], order: list[int], *, is_drawn: bool = False) -> tuple[bytes, ...]:
    facts = array("i", [fact(i) for i in order]).tobytes()
    others = array("q", hashes(order)).tobytes()
    drawn = array("d", [probability(i) for i in order] if is_drawn else []).tobytes()
    return array("q", order).tobytes(), array("d", [scores[i] for i in order]).tobytes(), facts, others, others, drawn


def snapshot(parts: tuple[bytes, ...], taken: str | None, epoch: str | None, until: float) -> HistorySnapshot:
    ids, scores, facts, hash_bytes, batches, probabilities = parts
    return HistorySnapshot(ids, scores, facts, taken, epoch, until, hash_bytes, batches, probabilities)


def newest(scores: dict[int, float]) -> list[int]:
    return sorted(scores, reverse=True)[:HISTORY_LENGTH]


def history(scores: dict[int, float], *, epoch: str | None = "1", until: float = 1e18) -> HistorySnapshot:
    return snapshot(packed(scores, newest(scores)), "1:1:", epoch, until)


def sent(scores: dict[int, float], order: list[int]) -> tuple[bytes | None, ...]:
    """Write rows as PostgreSQL's array_send does."""
    header = bytes(20)
    ids = b"".join(struct.pack(">iq", 8, i) for i in order)
    facts = b"".join(struct.pack(">ii", 4, fact(i)) for i in order)
    others = header + b"".join(struct.pack(">iq", 8, i) for i in hashes(order))
    values = b"".join(struct.pack(">id", 8, scores[i]) for i in order)
    return header + ids, header + values, header + facts, others, others, None


def answer(scores: dict[int, float], *, is_new: bool, taken: str | None = "2:2:") -> list[Any]:
    columns = sent(scores, newest(scores)) if scores else (None,) * 6
    return [*([column] for column in columns), [taken], [is_new]]


def pairs_of(found: HistorySnapshot) -> list[tuple[int, float]]:
    assert found.facts.tolist() == [fact(i) for i in found.ids]
    assert memoryview(found.hash_bytes).cast("q").tolist() == hashes(found.ids)
    assert found.batch_bytes == found.hash_bytes
    return list(zip(found.ids.tolist(), found.scores.tolist(), strict=True))


def model(scores: dict[int, float]) -> list[tuple[int, float]]:
    return [(i, scores[i]) for i in newest(scores)]


@given(rows, rows.filter(bool), st.randoms(use_true_random=False))
def test_it_equals_sorting_everything(old: dict[int, float], new: dict[int, float], draw: Any) -> None:
    order = list(new)
    draw.shuffle(order)
    # What is known under an id stays: rows of a history never change.
    everything = {**new, **old}
    parts = cache._insert_rows(packed(old, newest(old)), packed(new, order))

    assert pairs_of(snapshot(parts, None, None, 0.0)) == model(everything)


@given(rows, rows.filter(bool), st.booleans(), st.booleans())
def test_probabilities_stay_with_their_rows(
    old: dict[int, float], new: dict[int, float], old_drawn: bool, new_drawn: bool
) -> None:
    """They are left out where no rule drew any row, and 1 for the rows that none drew."""
    parts = cache._insert_rows(packed(old, newest(old), is_drawn=old_drawn), packed(new, list(new), is_drawn=new_drawn))

    found = snapshot(parts, None, None, 0.0)
    assert pairs_of(found) == model({**new, **old})
    expected = [probability(i) if (old_drawn if i in old else new_drawn) else 1.0 for i in found.ids]
    is_drawn = new_drawn or (old_drawn and bool(old))
    assert memoryview(found.probability_bytes).cast("d").tolist() == (expected if is_drawn else [])


@given(st.data())
def test_rows_that_are_already_known_count_once(data: st.DataObject) -> None:
    old = data.draw(rows.filter(bool))
    again = data.draw(st.lists(st.sampled_from(sorted(old)), min_size=1, unique=True))

    parts = cache._insert_rows(packed(old, newest(old)), packed(old, again))

    assert pairs_of(snapshot(parts, None, None, 0.0)) == model(old)


@given(st.integers(900, 1000), st.lists(st.integers(1, 4000), min_size=1, max_size=300, unique=True))
def test_it_keeps_the_newest_thousand(n_old: int, odd: list[int]) -> None:
    old = {2 * i: i / 1000 for i in range(1, n_old + 1)}
    new = {2 * i + 1: 0.5 for i in odd}
    parts = cache._insert_rows(packed(old, newest(old)), packed(new, list(new)))
    found = pairs_of(snapshot(parts, None, None, 0.0))

    assert found == model({**new, **old})
    assert len(found) <= HISTORY_LENGTH


def test_a_row_older_than_all_of_a_full_history_does_not_enter() -> None:
    old = {i: 0.25 for i in range(10, 1010)}
    parts = cache._insert_rows(packed(old, newest(old)), packed({1: 1.0}, [1]))

    assert parts == packed(old, newest(old))


@given(st.lists(rows, min_size=1, max_size=6))
def test_any_number_of_merges_equals_one_read(batches: list[dict[int, float]]) -> None:
    cache._memory.clear()
    everything: dict[int, float] = {}
    for i, batch in enumerate(batches):
        everything = {**batch, **everything}
        known = get_cached_histories(1, "1", [PAIR])
        assert (known[0] is not None) is (i > 0)
        (found,) = update_histories(1, "1", [PAIR], known, answer(batch, is_new=i > 0))
        assert found is not None
        assert pairs_of(found) == model(everything)


def test_a_full_read_replaces_what_was_known() -> None:
    known = [history({1: 0.1, 2: 0.2})]
    (found,) = update_histories(1, "1", [PAIR], known, answer({3: 0.3}, is_new=False))

    assert found is not None and pairs_of(found) == [(3, 0.3)]


def test_nothing_new_moves_the_snapshot_and_not_the_time_limit() -> None:
    known = [history({1: 0.1}, until=time.monotonic() + 50)]
    (found,) = update_histories(1, "1", [PAIR], known, answer({}, is_new=True, taken="9:9:"))
    assert found is not None and known[0] is not None

    assert (found.snapshot, found.until, pairs_of(found)) == ("9:9:", known[0].until, [(1, 0.1)])


def test_entries_that_want_no_history_get_none_in_their_place() -> None:
    row = [*([None, column] for column in sent({1: 0.1}, [1])), [None, "2:2:"], [False, False]]
    found = update_histories(1, "1", [None, PAIR], [None, None], row)

    assert found[0] is None
    assert found[1] is not None and pairs_of(found[1]) == [(1, 0.1)]


def test_a_history_without_rows_is_empty_and_remembered() -> None:
    (found,) = update_histories(1, "1", [PAIR], [None], answer({}, is_new=False))

    assert found is not None and found.scores.size == 0
    assert get_cached_histories(1, "1", [PAIR]) == [found]


@pytest.mark.parametrize(("epoch", "taken"), [(None, "2:2:"), ("1", None), (None, None)])
def test_what_could_not_be_brought_up_to_date_is_not_remembered(epoch: str | None, taken: str | None) -> None:
    update_histories(1, epoch, [PAIR], [None], answer({1: 0.1}, is_new=False, taken=taken))

    assert len(cache._memory) == 0


def test_it_remembers_by_account_pair_and_epoch() -> None:
    (found,) = update_histories(1, "1", [PAIR], [None], answer({1: 0.1}, is_new=False))

    assert get_cached_histories(1, "1", [PAIR, None]) == [found, None]
    assert get_cached_histories(2, "1", [PAIR]) == [None]
    assert get_cached_histories(1, "2", [PAIR]) == [None]
    assert get_cached_histories(1, None, [PAIR]) == [None]
    assert get_cached_histories(1, "1", [(PAIR[0], "other"), ("other", PAIR[1])]) == [None, None]


@override_settings(API_KEY_CACHE_SECONDS=-1)
def test_a_memory_ends_with_its_time_limit() -> None:
    update_histories(1, "1", [PAIR], [None], answer({1: 0.1}, is_new=False))

    assert get_cached_histories(1, "1", [PAIR]) == [None]


def test_a_process_remembers_a_bounded_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_memory", AccountCache(3))
    for account_id in (1, 2, 3, 3, 2, 1):
        update_histories(account_id, "1", [PAIR], [None], answer({1: 0.1}, is_new=False))
    assert {key[0] for key in cache._memory} == {1, 2, 3}

    update_histories(4, "1", [PAIR], [None], answer({1: 0.1}, is_new=False))

    assert get_cached_histories(4, "1", [PAIR]) != [None]
    assert len(cache._memory) <= 3
