"""The cpu lane: whose turn it is, what is lost with a process, and what a stall leaves behind."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import OperationalError, connections
from django.test import override_settings
from django.utils import timezone

from evalsvc.evaluations.evaluate.replies import Waiter, reply_dispatcher
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.tasks import compute
from evalsvc.evaluations.verdicts import Verdict
from evalsvc.evaluations.workers.computing import drain as draining
from evalsvc.evaluations.workers.computing import store, wakeups
from evalsvc.evaluations.workers.computing.drain import compute_batch, drain, take_over
from evalsvc.evaluations.workers.computing.neighbours import Neighbours
from evalsvc.evaluations.workers.judging import store as judged
from evalsvc.evaluations.workers.pushes import PushListener
from evalsvc.infra.redis import get_shared_client
from tests.conftest import CHECKOUT, Caller, findings, new_caller, scores_of

BODY = {"output": "Paris", "gold_answer": "Paris", "app": "work"}


@pytest.fixture(autouse=True)
def called(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """The messages that would start a process; workers of other tests, which serve every account, hear of nothing."""
    sent: list[bool] = []
    for name in ("KEY", "CALLED_KEY"):
        monkeypatch.setattr(wakeups, name, f"test:{name}:{uuid.uuid4()}")
    monkeypatch.setattr(wakeups, "start_process", lambda: sent.append(True) or True)
    return sent


@pytest.fixture(autouse=True)
def _alone() -> Iterator[None]:
    """Leave nothing that other tests have left pending to the claims of this one, which serve every account."""
    later = timezone.now() + timedelta(days=1)
    others = Evaluation.objects.using("system").filter(status="pending", lane="cpu")
    others.update(n_attempts=1, lease_expires_at=later)
    with override_settings(INLINE_LANE="worker"):
        yield
    others.update(n_attempts=1, lease_expires_at=later)


def accept(caller: Caller, *evaluators: str, **fields: Any) -> int:
    answer = caller.evaluate(*(evaluators or ["exact-match"]), headers={"prefer": "respond-async"}, **BODY | fields)
    assert answer.status_code == 202
    return int(answer.json()["id"])


def rows(caller: Caller) -> list[Evaluation]:
    return list(Evaluation.objects.using("system").filter(account_id=caller.account.pk).order_by("id"))


def states(caller: Caller) -> list[str]:
    return [row.status for row in rows(caller)]


def let_leases_end() -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(
            "UPDATE evaluations_evaluation SET lease_expires_at = now() - interval '1 s' WHERE status = 'pending'"
            " AND lane = 'cpu' AND n_attempts > 0 AND lease_expires_at < now() + interval '1 h'"
        )


def test_several_requests_are_one_batch_and_each_hears_of_its_own(alice: Caller, charlie: Caller) -> None:
    box = reply_dispatcher()
    ids = [accept(alice, "exact-match", "pii"), accept(charlie), accept(alice, gold_answer="Rome")]
    wakeups.wake_computing(ids[0], reply_to=box.address)
    with box.waiting_for(ids[0], Waiter(alice.account.pk)) as waiter:
        assert compute_batch("one") is False
        assert {verdict["position"] for verdict in waiter.take(30)} == {0, 1}

    assert [states(alice), states(charlie)] == [["success"] * 3, ["success"]]
    assert [score for _, score, _ in scores_of(alice, "exact-match")] == [1.0, 0.0]
    assert findings(alice, charlie) == {}


def test_who_holds_least_is_first_however_much_another_has_sent(alice: Caller, charlie: Caller) -> None:
    for _ in range(12):
        accept(alice, "exact-match", "pii")
    accept(charlie)

    first = store.claim_computing(limit=4)
    assert [one.account_id for one in first] == [alice.account.pk] * 2 + [charlie.account.pk] + [alice.account.pk]

    accept(charlie)
    # Alice holds two requests by now, Charlie one: his second is as near as her third.
    second = store.claim_computing(limit=3)
    assert charlie.account.pk in [one.account_id for one in second]
    # What one begins first is claimed first, and nothing is claimed twice.
    assert not {one.id for one in first} & {one.id for one in second}


def test_what_stands_in_a_partition_of_another_time_is_claimed_all_the_same(alice: Caller, charlie: Caller) -> None:
    accept(alice)
    accept(charlie)
    with connections["system"].cursor() as cursor:
        # Alice's has waited for months; Charlie's has the id of a clock that ran ahead.
        for caller, ms in ((alice, -90 * 86_400_000), (charlie, 45 * 86_400_000)):
            cursor.execute(
                "UPDATE evaluations_evaluationrequest SET id = id + (%s << 22) WHERE account_id = %s",
                [ms, caller.account.pk],
            )
            cursor.execute(
                "UPDATE evaluations_evaluation SET id = id + (%s << 22), request_id = request_id + (%s << 22)"
                " WHERE account_id = %s",
                [ms, ms, caller.account.pk],
            )

    claimed = [one.account_id for _ in range(2) for one in store.claim_computing(limit=8)]

    assert sorted(claimed) == sorted([alice.account.pk, charlie.account.pk])


def test_accounts_by_the_hundred_have_their_turn_in_the_order_of_their_requests() -> None:
    callers = [new_caller() for _ in range(20)]
    for caller in callers:
        accept(caller)
        accept(caller)

    claimed = [one.account_id for _ in range(5) for one in store.claim_computing(limit=4)]

    assert claimed == [caller.account.pk for caller in callers]


def test_a_claim_that_is_full_calls_another_process(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "MOST_AT_ONCE", 2)
    nudged: list[bool] = []
    monkeypatch.setattr(wakeups, "nudge_computing", lambda: nudged.append(True))
    for _ in range(3):
        accept(alice)

    assert compute_batch("one") is True and nudged == [True]
    assert compute_batch("one") is False and nudged == [True]
    assert compute_batch("one") is False
    assert states(alice) == ["success"] * 3


def test_what_is_not_begun_within_a_slice_is_given_back_and_no_attempt(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draining, "SLICE_SECONDS", -1.0)
    for _ in range(3):
        accept(alice)

    assert compute_batch("one") is True
    assert [(row.status, row.n_attempts) for row in rows(alice)] == [("success", 1), ("pending", 0), ("pending", 0)]
    assert drain("one") is False
    assert [(row.status, row.n_attempts) for row in rows(alice)] == [("success", 1)] * 3


def test_short_texts_wait_for_no_long_one_and_long_ones_for_another_process(alice: Caller, charlie: Caller) -> None:
    for _ in range(2):
        accept(charlie, output="Paris " * 10_000)
    accept(alice)

    assert compute_batch("one") is True
    assert [states(alice), states(charlie)] == [["success"], ["pending"] * 2]
    assert [row.n_attempts for row in rows(charlie)] == [0, 0]
    assert compute_batch("one") is True
    assert [(row.status, row.n_attempts) for row in rows(charlie)] == [("success", 1), ("pending", 0)]
    assert compute_batch("one") is True, "Others may have left something to a process that was busy for long."
    assert states(charlie) == ["success"] * 2
    assert compute_batch("one") is False


class Neighbour:
    """Another process of the worker, in this one's eyes."""

    def __init__(self, neighbours: Neighbours, pid: int) -> None:
        self.neighbours, self.pid = neighbours, pid

    def begins(self, account_id: int = 0, *, is_long: bool = True) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.getpid", lambda: self.pid)
            self.neighbours.begin(account_id, is_long=is_long)

    def ends(self) -> None:
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr("os.getpid", lambda: self.pid)
            self.neighbours.end()


@pytest.fixture
def neighbour(monkeypatch: pytest.MonkeyPatch) -> Neighbour:
    """A process that lives, and has looked for work."""
    neighbours = Neighbours()
    monkeypatch.setattr(draining, "neighbours", neighbours)
    neighbour = Neighbour(neighbours, os.getppid())
    neighbour.ends()
    return neighbour


def test_one_process_is_left_to_others_while_all_the_rest_are_slow(
    alice: Caller, charlie: Caller, neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    nudged: list[bool] = []
    monkeypatch.setattr(wakeups, "nudge_computing", lambda: nudged.append(True))
    bob = new_caller(name="bob")
    neighbour.begins(charlie.account.pk)
    for _ in range(20):
        accept(charlie)
    accept(bob, output="Paris " * 10_000)
    assert (compute_batch("one"), nudged) == (False, [])
    accept(alice)

    assert compute_batch("one") is False
    assert states(alice) == ["success"]
    assert {(row.status, row.n_attempts) for who in (bob, charlie) for row in rows(who)} == {("pending", 0)}

    neighbour.ends()
    assert drain("one") is False
    assert {state for who in (bob, charlie) for state in states(who)} == {"success"}


def test_a_process_left_to_others_holds_nothing_that_it_may_not_compute(
    alice: Caller, charlie: Caller, neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Claiming it, reading its text and giving it back would take longer than what another account waits for."""
    claimed: list[list[int]] = []
    released: list[object] = []
    nudged: list[bool] = []
    claim = store.claim_computing

    def note_claim(**facts: Any) -> Any:
        found = claim(**facts)
        claimed.append([evaluation.account_id for evaluation in found])
        return found

    monkeypatch.setattr(store, "claim_computing", note_claim)
    monkeypatch.setattr(store, "release", lambda *args, **facts: released.append(args))
    monkeypatch.setattr(wakeups, "nudge_computing", lambda: nudged.append(True))
    neighbour.begins(charlie.account.pk)
    for _ in range(4):
        accept(charlie, output="Paris " * 10_000)
    accept(alice)

    assert compute_batch("one") is False, "What it leaves is no reason to look again."
    assert compute_batch("one") is False
    assert (claimed, released, nudged) == ([[alice.account.pk], []], [], [])
    assert (states(alice), states(charlie)) == (["success"], ["pending"] * 4)


def test_what_another_held_when_the_slow_one_ended_is_computed_at_once(
    charlie: Caller, neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The process that was slow has found nothing meanwhile, and waits for a push."""
    nudged: list[bool] = []
    monkeypatch.setattr(wakeups, "nudge_computing", lambda: nudged.append(True))
    release = store.release

    def end_and_release(*args: Any, **facts: Any) -> None:
        neighbour.ends()
        release(*args, **facts)

    claim = store.claim_computing

    def claim_and_begin(**facts: Any) -> Any:
        found = claim(**facts)
        neighbour.begins(charlie.account.pk)
        return found

    monkeypatch.setattr(store, "release", end_and_release)
    monkeypatch.setattr(store, "claim_computing", claim_and_begin)
    accept(charlie, output="Paris " * 10_000)

    assert (compute_batch("one"), nudged) == (False, [True])
    assert [(row.status, row.n_attempts) for row in rows(charlie)] == [("pending", 0)]


def test_processes_of_the_last_release_claim_for_all_accounts(alice: Caller) -> None:
    accept(alice)
    with connections["system"].cursor() as cursor:
        cursor.execute("SELECT account_id, turn FROM claim_computing(8, 30)")
        assert cursor.fetchall() == [(alice.account.pk, 1)]


def test_a_neighbour_is_slow_with_a_long_text_or_after_a_while(
    neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbours = neighbour.neighbours
    assert neighbours.slow_accounts() is None
    neighbour.begins(7, is_long=False)
    monkeypatch.setattr("evalsvc.evaluations.workers.computing.neighbours.SLOW_SECONDS", 1000.0)
    assert neighbours.slow_accounts() is None
    monkeypatch.setattr("evalsvc.evaluations.workers.computing.neighbours.SLOW_SECONDS", -1.0)
    assert neighbours.slow_accounts() == {7}
    monkeypatch.setattr("evalsvc.evaluations.workers.computing.neighbours.SLOW_SECONDS", 1000.0)
    neighbour.begins(8)
    assert neighbours.slow_accounts() == {8}
    neighbours.begin(9, is_long=True)
    assert neighbours.slow_accounts() == {8}, "What this one does is no reason."


def test_what_an_account_sends_after_something_slow_is_slow_from_the_start(
    neighbour: Neighbour, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Short texts can take seconds, too, and nobody knows that before the first has been computed."""
    cpu, clock = [100.0], [1000.0]
    monkeypatch.setattr("time.process_time", lambda: cpu[0])
    monkeypatch.setattr("time.monotonic", lambda: clock[0])
    neighbour.begins(7, is_long=False)
    cpu[0] += 3.0
    neighbour.begins(8, is_long=False)
    assert neighbour.neighbours.slow_accounts() is None, "It computes for another account."
    neighbour.begins(7, is_long=False)
    assert neighbour.neighbours.slow_accounts() == {7}
    cpu[0] += 0.5
    neighbour.ends()
    clock[0] += 61.0
    neighbour.begins(7, is_long=False)
    assert neighbour.neighbours.slow_accounts() is None, "It has had a minute without anything slow."


def test_a_neighbour_that_is_gone_keeps_nothing(neighbour: Neighbour) -> None:
    gone = subprocess.Popen(["true"])
    gone.wait()
    neighbour.begins(7)
    Neighbour(neighbour.neighbours, gone.pid).ends()
    assert neighbour.neighbours.slow_accounts() == {7}
    neighbour.ends()
    Neighbour(neighbour.neighbours, gone.pid).begins(8)
    assert neighbour.neighbours.slow_accounts() is None


def test_two_processes_that_claim_at_once_do_not_both_take_something_slow(alice: Caller) -> None:
    """One process is left to others, though each of the two has seen the other one idle."""
    for _ in range(2):
        accept(alice, output="Paris " * 10_000)
    command = [sys.executable, "-m", "tests.work.simultaneous_claims", f"test:{uuid.uuid4()}"]
    found = subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False)

    assert (found.returncode, found.stdout) == (0, "1\n"), found.stderr
    assert sorted(states(alice)) == ["pending", "success"]
    assert sorted(row.n_attempts for row in rows(alice)) == [0, 1], "What was left counts as no attempt."


def test_alone_a_process_takes_everything(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draining, "neighbours", Neighbours())
    accept(alice, output="Paris " * 10_000)
    assert compute_batch("one") is True
    assert states(alice) == ["success"]


def test_what_a_process_was_lost_with_is_claimed_again_alone(alice: Caller, charlie: Caller) -> None:
    for _ in range(3):
        accept(alice)
    lost = store.claim_computing(limit=8)
    assert len(lost) == 3
    assert store.claim_computing(limit=8) == []
    accept(charlie)
    assert [one.account_id for one in store.claim_computing(limit=8)] == [charlie.account.pk]

    let_leases_end()

    for _ in range(4):
        (alone,) = store.claim_computing(limit=8)
        assert alone.n_attempts == 2
    assert store.claim_computing(limit=8) == []


def test_a_message_that_comes_again_does_not_wait_for_a_lost_process(alice: Caller) -> None:
    name = str(uuid.uuid4())
    accept(alice)
    wakeups.note_computing(name, store.claim_computing(limit=8))
    assert compute_batch("another") is False
    assert states(alice) == ["pending"]

    compute.push_request(id=name, delivery_info={"redelivered": True})
    try:
        compute.run()
    finally:
        compute.pop_request()

    assert [(row.status, row.n_attempts) for row in rows(alice)] == [("success", 2)]
    assert len(scores_of(alice, "exact-match")) == 1
    take_over(name)  # changes nothing any more
    assert states(alice) == ["success"]


def test_what_loses_its_process_again_and_again_ends(alice: Caller) -> None:
    accept(alice)
    with override_settings(MAX_ATTEMPTS=2):
        for _ in range(2):
            assert len(store.claim_computing(limit=8)) == 1
            let_leases_end()
        compute_batch("one")

    assert [(row.status, row.error_code) for row in rows(alice)] == [("error", "worker_lost")]


@pytest.mark.parametrize("where", ["claim_computing", "read_claimed"])
def test_a_database_that_is_away_leaves_all_to_the_next_lease(
    alice: Caller, where: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*args: Any, **kwargs: Any) -> Any:
        raise OperationalError("the connection is closed")

    accept(alice)
    monkeypatch.setattr(draining, "PAUSE_SECONDS", 0.0)
    with monkeypatch.context() as patch:
        patch.setattr(store if where == "claim_computing" else draining, where, away)
        assert compute_batch("one") is False
    assert states(alice) == ["pending"]
    let_leases_end()
    compute_batch("one")
    assert states(alice) == ["success"]


def test_verdicts_wait_for_the_database(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    accept(alice)
    calls = iter([OperationalError("away"), None])

    def finish(items: Any, finish: Any = judged.finish_judging) -> Any:
        if error := next(calls):
            raise error
        return finish(items)

    monkeypatch.setattr(draining, "PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(judged, "finish_judging", finish)
    compute_batch("one")

    assert [(row.status, row.n_attempts) for row in rows(alice)] == [("success", 1)]


def test_without_redis_the_sweep_finds_it(alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    import redis

    def away(**_: Any) -> Any:
        return redis.Redis(port=1, socket_connect_timeout=0.1)

    accept(alice)
    monkeypatch.setattr(wakeups, "get_shared_client", away)
    assert wakeups.nudge_computing() is False
    assert compute_batch("one") is False
    assert states(alice) == ["success"]


def test_what_was_deleted_meanwhile_has_no_verdict(alice: Caller) -> None:
    accept(alice)
    claimed = store.claim_computing(limit=8)
    Evaluation.objects.using("system").filter(account_id=alice.account.pk).delete()

    assert draining._work_off(claimed, was_restricted=False) is False
    assert rows(alice) == []


def test_a_verdict_that_cannot_be_kept_fails_alone(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    accept(alice)
    accept(charlie)
    whole = draining.compute_evaluation  # type: ignore[attr-defined]  # as it is patched
    poisoned = iter([Verdict("success", score=float("nan"), passed=True)])
    monkeypatch.setattr(
        draining, "compute_evaluation", lambda *args, **facts: next(poisoned, None) or whole(*args, **facts)
    )
    compute_batch("one")

    assert [(row.status, row.error_code) for row in rows(alice)] == [("error", "evaluator_failed")]
    assert states(charlie) == ["success"]


def test_no_message_is_sent_where_somebody_listens_and_one_where_nobody_does(
    called: list[bool],
) -> None:
    assert wakeups.wake_computing(1, reply_to=None) and called == [True]
    assert wakeups.wake_computing(2, reply_to=None) and called == [True]  # whoever starts finds both
    wakeups.answer_call()
    assert wakeups.wake_computing(3, reply_to=None) and called == [True, True]
    assert PushListener(wakeups.KEY, 1.0).wait_for_push() is True
    assert get_shared_client().llen(wakeups.KEY) == 0


def test_each_turn_of_a_conversation_is_scored(alice: Caller) -> None:
    texts = ("Hello?", "Good morning.", "Help me.", "You are a stupid worthless idiot, shut up.", "Oh.", "I am sorry.")
    conversation = [{"role": ("user", "assistant")[at % 2], "content": text} for at, text in enumerate(texts)]
    asked = [{"evaluator": "toxicity", "profile_inline": {"unit": unit}} for unit in ("turn", "conversation")]
    body = {"evaluators": asked, "conversation": conversation}
    answer = alice.post("/v1/evaluate", body, prefer="respond-async")
    assert answer.status_code == 202
    drain("one")

    by_turn, whole = Evaluation.objects.using("system").filter(account_id=alice.account.pk).order_by("position")
    turns = (by_turn.extra or {})["turns"]
    assert [turn["pass"] for turn in turns] == [True, False, True]
    assert by_turn.passed is False
    assert by_turn.score == pytest.approx(sum(turn["score"] for turn in turns) / 3)
    assert whole.passed is False
