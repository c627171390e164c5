"""Captures of several requests in one transaction: what each gets, and what becomes of them when something fails."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.db import DatabaseError, DataError, IntegrityError, OperationalError, connection, connections

from evalsvc.evaluations.evaluate import captures as capturing
from evalsvc.evaluations.evaluate.captures import captures
from evalsvc.evaluations.models import Evaluation, HistoryScore
from evalsvc.projects.services import delete_project
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller, findings, scores_of, wait_until
from tests.contract.counting import counted
from tests.rest.shapes import assert_problem
from tests.work.group_tools import KEPT, gathered, held_up, lead, nobody_writes, results, started, tell_server
from tests.work.keeping import PAIR, keep

BODY = {"output": "Paris", "app": "shop", "confidence_interval_strategy": "full-history"}


def calls(*callers: Caller, evaluator: str = "exact-match", **fields: Any) -> list[Callable[[], Any]]:
    """Return evaluations to be asked for at once: the n-th says n in its tags, and passes when n is even."""
    return [
        lambda n=n, caller=caller: caller.evaluate(
            evaluator, label="Rome" if n % 2 else "Paris", tags={"n": str(n)}, **BODY | fields
        )
        for n, caller in enumerate(callers)
    ]


def result_of(answer: Any) -> dict[str, Any]:
    assert answer.status_code == 200, answer.content
    return answer.json()["results"][0]["evaluation_result"]


def warm(*callers: Caller) -> None:
    """Let this process find the app and the profile, and each history have two scores."""
    for caller in callers:
        for label in ("Paris", "Rome"):
            result_of(caller.evaluate("exact-match", label=label, **BODY))


def stored(caller: Caller) -> list[Evaluation]:
    rows = Evaluation.objects.using("system").filter(account_id=caller.account.pk)
    return list(rows.order_by("id"))


def test_all_who_wait_are_one_statement_and_each_gets_its_own(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(alice, charlie)
    callers = [alice, charlie, alice, alice, charlie, alice]
    with counted(monkeypatch) as seen:
        answers = results(gathered(calls(*callers)))

    assert len([sql for sql in seen if "capture_" in sql]) == len(seen) == 1
    for n, answer in enumerate(answers):
        found = result_of(answer)
        assert (found["tags"], found["pass"]) == ({"n": str(n)}, n % 2 == 0)
        assert found["additional_info"]["confidence_interval"]["n"] == 2
    assert len({answer.json()["id"] for answer in answers}) == 6
    assert [len(scores_of(caller, "exact-match")) for caller in (alice, charlie)] == [6, 4]
    assert findings(alice, charlie) == {}


def test_an_interval_that_is_asked_for_again_is_that_of_the_answer(alice: Caller, charlie: Caller) -> None:
    """The others of its group were not before it, though their ids were given in the same moment."""
    warm(alice, charlie)
    callers = [alice, alice, charlie, alice]
    answers = [answer.json() for answer in results(gathered(calls(*callers)))]

    assert [
        caller.get(f"/v1/evaluate/{answer['id']}").json() for caller, answer in zip(callers, answers, strict=True)
    ] == answers


def test_ids_are_in_the_order_of_positions_and_of_callers(alice: Caller) -> None:
    positions = [(2, 0, 1), (1, 0), (0,)]
    works = [lambda each=each: keep(alice, *({"position": n} for n in each)) for each in positions]
    kept = results(gathered(works))

    assert [len(one.evaluation_ids) for one in kept] == [3, 2, 1]
    for one in kept:
        rows = Evaluation.objects.using("system").filter(request_id=one.request_id).order_by("position")
        assert [row.id for row in rows] == one.evaluation_ids
    drawn = [one.request_id for one in kept] + [id for one in kept for id in sorted(one.evaluation_ids)]
    assert drawn == sorted(drawn)
    assert [one.created_at for one in kept] == sorted(one.created_at for one in kept)


@pytest.mark.parametrize(
    ("poison", "error"),
    [
        ({"position": 70_000}, DataError),  # 22003: no smallint
        ({"status": "error", "score": 0.5}, IntegrityError),  # 23514: an error is no score
        ({"evaluator_id": None}, IntegrityError),  # 23502: nothing where something must be
    ],
)
def test_what_cannot_be_kept_fails_alone(
    alice: Caller, charlie: Caller, poison: dict[str, Any], error: type[DatabaseError]
) -> None:
    wanted = [(alice, KEPT), (charlie, poison), (charlie, KEPT), (alice, KEPT)]
    works = [lambda caller=caller, row=row: keep(caller, row) for caller, row in wanted]
    first, poisoned, *others = results(gathered(works))

    assert isinstance(poisoned, error)
    assert all(isinstance(one, capturing.CaptureResult) for one in (first, *others))
    assert [len(stored(caller)) for caller in (alice, charlie)] == [2, 1]
    assert findings(alice, charlie) == {}


def test_a_connection_that_is_lost_in_the_middle_is_everyones_and_nothing_is_there(
    alice: Caller, charlie: Caller
) -> None:
    warm(alice, charlie)
    with nobody_writes():
        futures = gathered(calls(alice, charlie, alice))
        tell_server("pg_terminate_backend", *wait_until(held_up))
        answers = results(futures)

    for answer in answers:
        assert_problem(answer, "unavailable")
    assert [len(stored(caller)) for caller in (alice, charlie)] == [2, 2]
    assert result_of(alice.evaluate("exact-match", label="Paris", **BODY))["pass"]


def test_a_commit_whose_answer_is_lost_is_not_made_again(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(alice, charlie)
    together = capturing.capture_together

    def lose(wanted: Any) -> Any:
        together(wanted)
        raise OperationalError("server closed the connection unexpectedly")

    with monkeypatch.context() as patch:
        patch.setattr(capturing, "capture_together", lose)
        for answer in results(gathered(calls(alice, charlie, alice))):
            assert_problem(answer, "unavailable")

    assert [len(stored(caller)) for caller in (alice, charlie)] == [4, 3]
    assert findings(alice, charlie) == {}


def test_a_mistake_after_the_commit_is_everyones_and_nothing_is_written_twice(
    alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    warm(alice)
    with monkeypatch.context() as patch:
        patch.setattr(capturing, "update_histories", lambda *args: 1 / 0)
        answers = results(gathered(calls(alice, alice, alice)))

    assert [answer.status_code for answer in answers] == [500] * 3
    assert len(stored(alice)) == 5


def test_a_call_that_the_server_cancels_is_tried_alone(alice: Caller, charlie: Caller) -> None:
    """As `statement_timeout` does: the server says that it wrote nothing."""
    warm(alice, charlie)
    with nobody_writes():
        futures = gathered(calls(alice, charlie, alice))
        tell_server("pg_cancel_backend", *wait_until(held_up))
        wait_until(lambda: held_up("capture_request"))

    assert [result_of(answer)["tags"] for answer in results(futures)] == [{"n": str(n)} for n in range(3)]
    assert [len(stored(caller)) for caller in (alice, charlie)] == [4, 3]


def test_one_that_waits_for_a_deletion_holds_nobody_up(alice: Caller, charlie: Caller) -> None:
    warm(alice, charlie)
    project_id = uuid.UUID(alice.post("/v1/projects", {"name": "checkout"}).json()["id"])
    for _ in range(2):  # the process knows the project by then
        kept = result_of(alice.evaluate("exact-match", label="Paris", project_name="checkout", **BODY))
        for table, column in ((Evaluation, "id"), (HistoryScore, "source_id")):
            table.objects.using("system").filter(**{column: kept["id"]}).delete()
    in_project = calls(alice, project_name="checkout")

    with account_scope(alice.account.pk):
        delete_project(account=alice.account, id=project_id, actor="key:1")
        waiting, *others = gathered(in_project + calls(alice, charlie, alice))
        alone = started(calls(charlie)[0])
        assert [result_of(answer)["pass"] for answer in results([*others, alone])] == [True, False, True, True]
        wait_until(lambda: held_up("capture_request"))
        assert not waiting.done()

    assert result_of(results([waiting])[0])["pass"]
    assert {row.project_id for row in stored(alice)} == {None}
    assert findings(alice, charlie) == {}


def test_who_waits_holds_no_connection(alice: Caller) -> None:
    opened = []

    def work() -> capturing.CaptureResult:
        connection.ensure_connection()
        opened.append(connections["default"])
        return keep(alice, {})

    lead()
    try:
        futures = [started(work) for _ in range(5)]
        wait_until(lambda: len(captures._waiting) == 5)
        wait_until(lambda: all(one.connection is None for one in opened))
    finally:
        captures._pass_on()

    assert len({one.request_id for one in results(futures)}) == 5
    assert len(stored(alice)) == 5


def test_a_transaction_of_its_own_or_another_role_does_not_wait(alice: Caller) -> None:
    """A named call looks for the one before it in its transaction; an Idempotency-Key is kept with the answer."""
    warm(alice)
    lead()
    try:
        for headers, fields in (({}, {"log_id": str(uuid.uuid4())}), ({"Idempotency_Key": uuid.uuid4().hex}, {})):
            answer = alice.evaluate("exact-match", headers=headers, label="Paris", **BODY | fields)
            assert result_of(answer)["pass"]
    finally:
        captures._pass_on()


@pytest.mark.parametrize(
    "rows", [[{"text_output": "x" * capturing.MOST_CHARS}], [{}] * (capturing.MOST_EVALUATIONS + 1)]
)
def test_what_is_large_does_not_wait_or_let_wait(alice: Caller, rows: list[dict[str, Any]]) -> None:
    lead()
    try:
        assert len(keep(alice, *rows).evaluation_ids) == len(rows)
    finally:
        captures._pass_on()


def test_sixty_four_callers_at_once_lose_and_mix_nothing(alice: Caller, charlie: Caller) -> None:
    callers = [alice, charlie] * 32

    def work(n: int) -> list[capturing.CaptureResult]:
        return [keep(callers[n], {**KEPT, "score": n / 64, "text_output": f"{n}-{i}"}) for i in range(6)]

    found = results([started(lambda n=n: work(n)) for n in range(64)])

    for n, (caller, kept) in enumerate(zip(callers, found, strict=True)):
        rows = [Evaluation.objects.using("system").get(id=one.evaluation_ids[0]) for one in kept]
        assert [row.text_output for row in rows] == [f"{n}-{i}" for i in range(6)]
        assert {row.account_id for row in rows} == {caller.account.pk}
        assert [row.request_id for row in rows] == [one.request_id for one in kept]
    assert [len(stored(caller)) for caller in (alice, charlie)] == [192, 192]
    assert findings(alice, charlie) == {}
    assert PAIR[0] in {row.evaluator_id for row in stored(alice)}
