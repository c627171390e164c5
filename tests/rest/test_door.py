"""Turns at a web process' door: few at work, accounts in turns, and no place for who waits."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from evalsvc.rest.edge import door as doors
from evalsvc.rest.edge.door import (
    FEW,
    AdmittedRequest,
    ConcurrencyLimiter,
    aside,
    current_visit,
    serve_request,
    set_account,
)
from tests.conftest import wait_until

ALICE, STRANGER = 1, 2


class Street:
    """Who comes to a door, and in which order they begin."""

    def __init__(self, most: int) -> None:
        self.door = ConcurrencyLimiter(most=most)
        self.begun: list[str] = []

    def comes(self, name: str, account_id: int | None = ALICE) -> AdmittedRequest:
        visit = AdmittedRequest(lambda: self.begun.append(name), account_id)
        self.door.admit(visit)
        return visit


@pytest.fixture
def street(monkeypatch: pytest.MonkeyPatch) -> Street:
    """A door for two."""
    street = Street(2)
    monkeypatch.setattr(doors, "door", street.door)
    return street


@pytest.fixture(autouse=True)
def nobody_is_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a busy machine would make everybody."""
    monkeypatch.setattr(doors, "LONGEST_TURN_SECONDS", 1000.0)


def test_so_many_work_and_the_next_begins_when_one_goes(street: Street) -> None:
    first, *_ = [street.comes(name) for name in "abcd"]
    assert street.begun == ["a", "b"]
    street.door.finish(first)
    assert street.begun == ["a", "b", "c"]
    assert street.door.n_at_work == 2


def test_a_stranger_comes_before_the_rest_of_a_crowd(street: Street) -> None:
    came = {f"crowd {i}": street.comes(f"crowd {i}") for i in range(6)}
    came |= {name: street.comes(name, STRANGER) for name in ("stranger", "stranger again")}
    came["new"] = street.comes("new", None)
    for i in range(5):
        street.door.finish(came[street.begun[i]])
    assert street.begun[2:] == ["crowd 2", "stranger", "new", "crowd 3", "stranger again"]


def test_where_several_are_served_an_account_leaves_half_to_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    street = Street(4)
    street.door.finish(street.comes("before", STRANGER))
    crowd = [street.comes(f"crowd {i}") for i in range(4)]
    assert street.begun == ["before", "crowd 0", "crowd 1"]
    street.comes("stranger", STRANGER)
    assert street.begun[3:] == ["stranger"]
    street.door.finish(crowd[0])
    assert street.begun[4:] == ["crowd 2"]
    monkeypatch.setattr(doors, "PRESENT_SECONDS", -1.0)
    street.door.dispatch()
    assert street.begun[5:] == ["crowd 3"]


def test_one_account_by_itself_has_every_place() -> None:
    street = Street(4)
    street.door.finish(street.comes("before"))
    for i in range(5):
        street.comes(f"crowd {i}")
    assert street.begun == ["before", "crowd 0", "crowd 1", "crowd 2", "crowd 3"]


def test_new_connections_take_one_place_where_several_are_served() -> None:
    """A flood of one account comes by new connections, too."""
    street = Street(4)
    street.door.finish(street.comes("before"))
    new = [street.comes(f"new {i}", None) for i in range(2)]
    assert street.begun == ["before", "new 0", "new 1"]
    street.door.finish(street.comes("stranger", STRANGER))
    street.comes("new 2", None)
    assert street.begun[3:] == ["stranger"]
    street.door.finish(new[0])
    assert street.begun[4:] == []
    street.door.finish(new[1])
    assert street.begun[4:] == ["new 2"]


def test_who_is_aside_takes_no_place_and_comes_back_without_a_turn(street: Street) -> None:
    first, _, third = (street.comes(name) for name in "abc")
    street.door.release(first)
    assert street.begun == ["a", "b", "c"]
    street.door.reacquire(first)
    assert street.door.n_at_work == 3
    street.comes("d")
    street.door.finish(first)
    assert street.begun == ["a", "b", "c"]
    street.door.finish(third)
    assert street.begun[3:] == ["d"]


def test_who_has_gone_does_not_come_back(street: Street) -> None:
    """A verdict may wake a request that is ending of itself at the same moment."""
    visit = street.comes("a")
    street.door.release(visit)
    street.door.finish(visit)
    street.door.reacquire(visit)
    assert street.door.n_at_work == 0


def test_the_slow_lose_their_places(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    slow = [street.comes(name) for name in "abc"]
    monkeypatch.setattr(doors, "LONGEST_TURN_SECONDS", -1.0)
    street.door.dispatch()
    assert street.begun == ["a", "b", "c"]
    monkeypatch.setattr(doors, "LONGEST_TURN_SECONDS", 1000.0)
    street.comes("d")
    for visit in slow:
        street.door.finish(visit)
    assert street.begun == ["a", "b", "c", "d"]
    assert street.door.n_at_work == 1


def test_a_thread_knows_its_visit_and_whose_it_is(street: Street) -> None:
    visit = street.comes("a", None)
    with serve_request(visit):
        assert current_visit() is visit
        set_account(STRANGER)
        with aside():
            assert street.door.n_at_work == 0
        assert street.door.n_at_work == 1
    assert (visit.account_id, visit.is_over, current_visit()) == (STRANGER, True, None)
    assert street.door.n_at_work == 0


def test_without_a_door_nothing_is_counted(street: Street) -> None:
    set_account(ALICE)
    with aside():
        assert street.door.n_at_work == 0
    assert street.door.n_at_work == 0


def test_who_wakes_others_waits_until_few_work(street: Street, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doors, "LONGEST_PAUSE_SECONDS", 1000.0)
    first, *_ = [street.comes(str(i)) for i in range(FEW)]
    with ThreadPoolExecutor(1) as pool:
        waits = pool.submit(street.door.wait_for_capacity)
        wait_until(lambda: street.door.is_watched)
        assert not waits.done()
        street.door.finish(first)
        waits.result(50)


def test_and_not_for_long(street: Street) -> None:
    for i in range(FEW):
        street.comes(str(i))
    street.door.wait_for_capacity()
    assert street.door.n_at_work == FEW
