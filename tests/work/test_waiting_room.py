"""Places to wait are bounded, and shared by the accounts that want them."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field

import pytest

from evalsvc.evaluations.evaluate.wait import places_for
from evalsvc.evaluations.evaluate.waiting_room import Release, WaitSlots


@dataclass(eq=False)
class Someone:
    account_id: int
    released: list[Release] = field(default_factory=list)

    def release(self, why: Release) -> None:
        self.released.append(why)


def fill(room: WaitSlots, account_id: int, n: int) -> list[Someone]:
    guests = [Someone(account_id) for _ in range(n)]
    assert all(room.admit(guest) for guest in guests)
    return guests


def test_an_account_alone_may_have_every_place_and_no_more() -> None:
    room = WaitSlots(3)
    guests = fill(room, 1, 3)

    assert not room.admit(Someone(1))
    assert [guest.released for guest in guests] == [[], [], []]


def test_who_asks_first_is_told_what_admission_would_say_and_takes_nothing() -> None:
    room = WaitSlots(3)
    assert room.has_place_for(1)
    guests = fill(room, 1, 3)

    assert not room.has_place_for(1)
    assert room.has_place_for(2)
    assert [guest.released for guest in guests] == [[], [], []]
    room.close()
    assert not room.has_place_for(2)


def test_a_place_that_is_left_is_there_for_the_next() -> None:
    room = WaitSlots(1)
    (guest,) = fill(room, 1, 1)
    room.leave(guest)
    room.leave(guest)

    fill(room, 2, 1)
    assert not room.admit(Someone(1))


def test_a_stranger_gets_the_place_of_whoever_has_waited_longest() -> None:
    room = WaitSlots(4)
    guests = fill(room, 1, 4)

    assert room.admit(Someone(2))
    assert room.admit(Someone(2))
    assert not room.admit(Someone(2))
    assert [guest.released for guest in guests] == [[Release.PLACE_NEEDED]] * 2 + [[]] * 2


def test_whoever_was_sent_away_takes_no_place_along() -> None:
    room = WaitSlots(2)
    first, _ = fill(room, 1, 2)
    (stranger,) = fill(room, 2, 1)
    room.leave(first)

    assert not room.admit(Someone(3))
    room.leave(stranger)
    assert room.admit(Someone(3))


def test_the_one_with_most_places_gives() -> None:
    room = WaitSlots(6)
    few, many = fill(room, 1, 2), fill(room, 2, 4)

    assert room.admit(Someone(3))
    assert room.admit(Someone(3))
    assert not room.admit(Someone(3))
    assert [len(guest.released) for guest in few + many] == [0, 0, 1, 1, 0, 0]


def test_more_accounts_than_places_have_one_each_at_most() -> None:
    room = WaitSlots(2)
    guests = [Someone(account_id) for account_id in range(5)]

    assert [room.admit(guest) for guest in guests] == [True, True, False, False, False]


def test_a_closed_room_is_empty_and_stays_so() -> None:
    room = WaitSlots(2)
    (guest,) = fill(room, 1, 1)
    room.close()
    room.close()
    room.leave(guest)

    assert guest.released == [Release.STOPPING]
    assert not room.admit(Someone(1))


def test_a_room_without_places_admits_nobody() -> None:
    assert not WaitSlots(0).admit(Someone(1))


def test_a_smaller_room_sends_nobody_away() -> None:
    room = WaitSlots(3)
    guests = fill(room, 1, 3)
    room.resize(1)
    room.leave(guests[0])

    assert not room.admit(Someone(1))
    assert [guest.released for guest in guests] == [[], [], []]


@pytest.mark.parametrize("seed", range(20))
def test_whoever_keeps_asking_gets_an_equal_share(seed: int) -> None:
    """Accounts of which each wants more than its share end within one place of each other, in whatever order."""
    rng, room = random.Random(seed), WaitSlots(12)
    inside: list[Someone] = []
    for _ in range(600):
        guest = Someone(rng.choice([1, 1, 1, 1, 1, 2, 3]))
        inside += [guest] if room.admit(guest) else []
        inside = [one for one in inside if not one.released]
        assert len(inside) <= 12
        if rng.random() < 0.2:
            leaver = rng.choice(inside)
            room.leave(leaver)
            inside.remove(leaver)
    for account_id in [1, 2, 3] * 12:
        guest = Someone(account_id)
        inside += [guest] if room.admit(guest) else []
    held = Counter(guest.account_id for guest in inside if not guest.released)

    assert sum(held.values()) == 12
    assert max(held.values()) - min(held.values()) <= 1


@pytest.mark.parametrize(
    ("n_threads", "setting", "n_places"),
    [
        (320, None, 288),
        (64, None, 48),
        (8, None, 6),
        (2, None, 1),
        (1, None, 0),
        (8, 100, 7),
        (8, 3, 3),
        (8, 0, 0),
        (8, -5, 0),
    ],
)
def test_those_who_wait_are_always_fewer_than_the_threads(
    monkeypatch: pytest.MonkeyPatch, n_threads: int, setting: int | None, n_places: int
) -> None:
    monkeypatch.setattr("django.conf.settings.MAX_WAITERS", setting)

    assert places_for(n_threads) == n_places
