"""The lead of a group: who calls, for whom, and that nobody waits for ever whatever happens to whoever leads."""

from __future__ import annotations

import os
import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from evalsvc.evaluations.evaluate.group_commit import CallInterrupted, Group
from tests.conftest import wait_until
from tests.work.group_tools import gathered, lead, results, started


class Doubling:
    """Doubles numbers, and keeps what was doubled together."""

    def __init__(self, hindrance: Callable[[Sequence[int]], Any] = lambda items: True) -> None:
        self.hindrance = hindrance
        self.calls: list[list[int]] = []
        self.lone: list[int] = []
        self.aside = self.prepared = 0

    def prepare(self) -> None:
        self.prepared += 1

    def step_aside(self) -> None:
        self.aside += 1

    def run_batch(self, items: Sequence[int]) -> list[int] | None:
        self.calls.append(list(items))
        return [2 * item for item in items] if self.hindrance(items) else None

    def run_single(self, item: int) -> int:
        self.lone.append(item)
        if item < 0:
            raise ValueError(f"{item} cannot be doubled")
        return 2 * item


def ask(group: Group[int, int], *items: int) -> list[Any]:
    return results(gathered([lambda item=item: group.submit(item) for item in items], group))


def is_free(group: Group[int, int]) -> bool:
    return not group._is_led and not group._waiting


def test_who_is_alone_calls_at_once() -> None:
    work = Doubling()
    group = Group(work, most=4)

    assert [group.submit(n) for n in (1, 2)] == [2, 4]
    assert (work.calls, work.aside, is_free(group)) == ([[1], [2]], 0, True)


def test_all_who_wait_go_together_in_their_order() -> None:
    work = Doubling()
    group = Group(work, most=32)

    assert ask(group, 1, 2, 3) == [2, 4, 6]
    assert (work.calls, work.aside, work.prepared) == ([[1, 2, 3]], 3, 1)
    assert is_free(group)


def test_a_call_takes_so_many_and_the_next_one_the_rest() -> None:
    work = Doubling()

    assert ask(Group(work, most=4), *range(10)) == list(range(0, 20, 2))
    assert work.calls == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_what_is_refused_together_is_tried_alone_each_by_its_own_caller() -> None:
    work = Doubling(lambda items: False)
    one, bad, three = ask(Group(work, most=4), 1, -2, 3)

    assert (one, three) == (2, 6)
    assert isinstance(bad, ValueError)
    assert sorted(work.lone) == [-2, 1, 3]


def test_who_tries_alone_holds_nobody_up() -> None:
    """The slow one leads no longer when it does its own item."""
    work, go_on = Doubling(lambda items: 1 not in items), threading.Event()
    work.run_single = lambda item: go_on.wait(60) and -1 if item == 1 else 2 * item  # type: ignore[method-assign]
    group = Group(work, most=2)
    slow, other = gathered([lambda: group.submit(1), lambda: group.submit(2)], group)

    assert other.result(60) == 4
    assert group.submit(5) == 10
    assert not slow.done()
    go_on.set()
    assert slow.result(60) == -1


def test_when_nobody_knows_everyone_gets_the_error_and_nothing_is_tried_again() -> None:
    def lost(items: Sequence[int]) -> bool:
        raise ConnectionError("lost", 5)

    work = Doubling(lost)
    group = Group(work, most=4)
    found = ask(group, 1, 2, 3)

    assert [(type(error), error.args) for error in found] == [(ConnectionError, ("lost", 5))] * 3
    assert len({id(error) for error in found}) == 3
    assert (work.calls, work.lone, is_free(group)) == ([[1, 2, 3]], [], True)


def test_a_wrong_number_of_answers_is_everyones_error() -> None:
    work = Doubling()
    work.run_batch = lambda items: [1]  # type: ignore[method-assign]

    assert {type(error) for error in ask(Group(work, most=4), 1, 2, 3)} == {ValueError}


@pytest.mark.parametrize("stop", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_a_leader_that_is_stopped_stops_nobody_else(stop: type[BaseException]) -> None:
    def stopped(items: Sequence[int]) -> bool:
        if 1 in items:
            raise stop
        return True

    work = Doubling(stopped)
    group = Group(work, most=2)
    leader, beside, *later = ask(group, 1, 2, 3, 4, 5)

    assert isinstance(leader, stop)
    assert isinstance(beside, CallInterrupted)
    assert later == [6, 8, 10]
    assert work.calls == [[1, 2], [3, 4], [5]]


def test_what_a_call_needs_and_cannot_get_is_the_error_of_all_who_waited_for_it() -> None:
    work = Doubling()
    group = Group(work, most=2)

    def refuse() -> None:
        raise TimeoutError("no connection")

    work.prepare = refuse  # type: ignore[method-assign]
    assert {type(error) for error in ask(group, 1, 2, 3, 4, 5)} == {TimeoutError}
    assert work.calls == []
    del work.prepare
    assert group.submit(1) == 2


def test_who_is_stopped_while_waiting_is_not_waited_for() -> None:
    work = Doubling()
    group = Group(work, most=4)

    def stop() -> None:
        raise KeyboardInterrupt

    lead(group)
    work.step_aside = stop  # type: ignore[method-assign]
    assert isinstance(results([started(lambda: group.submit(1))])[0], KeyboardInterrupt)
    assert not group._waiting
    del work.step_aside
    group._pass_on()
    assert (group.submit(2), work.calls) == (4, [[2]])


def test_who_is_stopped_as_the_lead_comes_passes_it_on() -> None:
    work = Doubling()
    group = Group(work, most=4)
    n_asides = iter(range(9))

    def stop_the_first() -> None:
        if next(n_asides) == 0:
            wait_until(lambda: len(group._waiting) == 2, pause=0.001)
            group._pass_on()
            raise KeyboardInterrupt

    lead(group)
    work.step_aside = stop_the_first  # type: ignore[method-assign]
    first = started(lambda: group.submit(1))
    wait_until(lambda: group._waiting, pause=0.001)
    second = started(lambda: group.submit(2))

    assert isinstance(results([first])[0], KeyboardInterrupt)
    assert second.result(60) == 4
    assert (work.calls, is_free(group)) == ([[2]], True)


def test_the_lead_goes_through_64_threads_without_loss() -> None:
    work = Doubling(lambda items: sum(items) % 5 != 0)
    group = Group(work, most=32)
    start = threading.Barrier(64)

    def ask_many(first: int) -> list[int]:
        start.wait(60)
        return [group.submit(n) for n in range(first, first + 50)]

    futures = [started(lambda first=first: ask_many(first)) for first in range(0, 64 * 50, 50)]

    assert [answer for found in results(futures) for answer in found] == [2 * n for n in range(64 * 50)]
    assert sorted(n for call in work.calls for n in call) == list(range(64 * 50))
    assert max(map(len, work.calls)) <= 32
    assert is_free(group)


def test_a_child_of_the_process_does_not_wait_for_threads_it_does_not_have() -> None:
    group = Group(Doubling(), most=4)
    lead(group)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # this process has threads: that is what is tested
        child = os.fork()
    if child == 0:
        try:
            os._exit(group.submit(21))
        finally:
            os._exit(1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 42
