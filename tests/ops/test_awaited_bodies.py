"""Bodies that a process waits for: so many of each account, and every one is given back."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from evalsvc.ops.serving.pace import AwaitedBodies, bodies_per_account
from evalsvc.rest.basics.body_errors import TooManyBodies
from evalsvc.rest.problems import as_problem

ALICE, CHARLIE = 1, 2


def test_each_account_has_its_own_bound() -> None:
    bodies = AwaitedBodies(2)
    with ExitStack() as exits:
        for account_id in (ALICE, ALICE, CHARLIE):
            exits.enter_context(bodies.waiting(account_id))
        with pytest.raises(TooManyBodies, match="2 requests of this account"), bodies.waiting(ALICE):
            pass
        exits.enter_context(bodies.waiting(CHARLIE))
    with bodies.waiting(ALICE), bodies.waiting(ALICE):
        pass


@pytest.mark.parametrize(("n_threads", "most"), [(320, 40), (64, 8), (24, 8), (16, 8), (8, 4), (2, 1), (1, 1)])
def test_a_process_with_few_threads_takes_a_burst_of_one_client(n_threads: int, most: int) -> None:
    """Many clients send a body after its headers; half of the threads are left to other accounts."""
    bodies = AwaitedBodies(bodies_per_account(n_threads))
    with ExitStack() as exits:
        for _ in range(most):
            exits.enter_context(bodies.waiting(ALICE))
        with pytest.raises(TooManyBodies), bodies.waiting(ALICE):
            pass
        exits.enter_context(bodies.waiting(CHARLIE))


def test_who_was_refused_is_known_by_its_credentials_while_no_further_body_is_awaited() -> None:
    bodies = AwaitedBodies(1)
    with bodies.waiting(ALICE, b"alice"):
        assert bodies.find_full(b"alice") is None  # nobody was refused yet
        with pytest.raises(TooManyBodies), bodies.waiting(ALICE, b"second key"):
            pass
        assert bodies.find_full(b"second key") == ALICE
        assert bodies.find_full(b"charlie") is None
        with pytest.raises(TooManyBodies), bodies.waiting(ALICE):  # a request without a key, as of a page
            pass
        assert bodies.find_full(b"") is None
    with bodies.waiting(ALICE):
        assert bodies.find_full(b"second key") is None


def test_the_answer_says_when_to_come_back_and_what_to_do() -> None:
    bodies = AwaitedBodies(1)
    with bodies.waiting(ALICE), pytest.raises(TooManyBodies) as caught, bodies.waiting(ALICE):
        pass
    problem = as_problem(caught.value)

    assert problem is not None
    assert (problem.row.status, problem.headers["Retry-After"]) == (429, "1")
    assert "Send fewer at once" in problem.detail
