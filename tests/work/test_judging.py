"""What runners of the judge lane claim, read and write in batches: fair, each account by itself, each verdict once."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connections

from evalsvc.catalog.models import Profile
from evalsvc.evaluations.evaluate import captures
from evalsvc.evaluations.evaluate.replies import Waiter, reply_dispatcher
from evalsvc.evaluations.maintenance import sweep
from evalsvc.evaluations.maintenance.sweep import LaneRef
from evalsvc.evaluations.models import EvaluationRequest, EvaluationTag
from evalsvc.evaluations.tasks import score_lane
from evalsvc.evaluations.verdicts import RetryableError, Verdict
from evalsvc.evaluations.workers import lane
from evalsvc.evaluations.workers.judging import recorder, store
from evalsvc.evaluations.workers.judging.shares import MOST_LENT, ClaimPlan, plan_claim
from evalsvc.evaluations.workers.judging.store import ClaimedEvaluation
from evalsvc.evaluations.workers.judging.wakeups import wake_judging
from evalsvc.infra.functions import function_text
from tests import leftovers
from tests.conftest import Caller, findings, scores_of
from tests.judges.working import rows_of, running
from tests.work.judging_tools import RUNS, claim, profile, waits

SUCCESS = Verdict("success", score=0.75, passed=True, explanation="Because.")


def shared(claimed: list[ClaimedEvaluation]) -> Counter[tuple[int, str]]:
    return Counter((one.account_id, one.connection) for one in claimed)


# --- Claims


def test_what_waits_for_a_judge_is_free_at_once_and_no_business_of_the_sweep(alice: Caller) -> None:
    (request_id,) = waits(alice, profile(alice))

    assert request_id not in {ref.request_id for ref in sweep.sweep()}
    (claimed,) = claim()
    assert (claimed.account_id, claimed.request_id, claimed.position) == (alice.account.pk, request_id, 0)
    assert (claimed.runs, claimed.n_attempts, claimed.connection) == (RUNS, 1, "")
    assert claim() == []


def test_a_long_queue_of_one_account_is_behind_a_short_one_of_another(alice: Caller, charlie: Caller) -> None:
    waits(alice, profile(alice), 200)
    waits(charlie, profile(charlie), 5)

    assert shared(claim(20)) == {(alice.account.pk, ""): 15, (charlie.account.pk, ""): 5}


def test_a_long_queue_of_one_connection_is_behind_a_short_one_of_another(alice: Caller) -> None:
    slow = profile(alice, "slow")
    for of, n in ((slow, 30), (profile(alice, "slow"), 30), (profile(alice, "fast"), 5)):
        waits(alice, of, n)

    assert shared(claim(20)) == {(alice.account.pk, "slow"): 15, (alice.account.pk, "fast"): 5}


def test_who_has_least_in_flight_is_next(alice: Caller, charlie: Caller) -> None:
    waits(alice, profile(alice, "a"), 20)
    waits(charlie, profile(charlie), 20)

    held = {(alice.account.pk, "b"): 6, (charlie.account.pk, ""): 2}
    assert shared(claim(10, held=held)) == {(alice.account.pk, "a"): 3, (charlie.account.pk, ""): 7}


def test_with_all_slots_taken_newcomers_are_lent_their_share(alice: Caller, charlie: Caller) -> None:
    waits(alice, profile(alice, "slow"), 100)
    waits(alice, profile(alice, "fast"), 100)
    held = {(alice.account.pk, "slow"): 60}
    assert shared(claim(180, slots=60, held=held)) == {(alice.account.pk, "fast"): 30}

    waits(charlie, profile(charlie), 100)
    held = {(alice.account.pk, "slow"): 60, (alice.account.pk, "fast"): 30}
    assert shared(claim(180, slots=60, held=held)) == {(charlie.account.pk, ""): 30}
    assert claim(180, slots=60, held=held | {(charlie.account.pk, ""): 30}) == []


def test_an_account_of_many_profiles_is_gone_through_by_and_by(alice: Caller, charlie: Caller) -> None:
    for _ in range(40):
        waits(alice, profile(alice))
    waits(charlie, profile(charlie))

    first = claim()
    assert shared(first)[charlie.account.pk, ""] == 1 and shared(first)[alice.account.pk, ""] == 32
    assert shared(claim()) == {(alice.account.pk, ""): 8}


def test_two_runners_never_claim_the_same(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        waits(caller, profile(caller), 40)

    def some(_: int) -> list[ClaimedEvaluation]:
        try:
            return claim(10)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(8) as pool:
        claimed = [one.id for part in pool.map(some, range(8)) for one in part]
    assert len(claimed) == len(set(claimed)) == 80


def test_what_is_held_is_kept_and_what_is_given_back_is_free(alice: Caller) -> None:
    waits(alice, profile(alice), 3)
    held = claim()

    assert store.extend(held) == {one.id for one in held}
    store.give_back(held[:1])
    (again,) = claim()
    assert (again.id, again.n_attempts) == (held[0].id, 2)
    # Who held it first holds it no longer.
    assert store.extend(held) == {one.id for one in held[1:]}


def test_what_is_put_off_waits_longer_each_time_and_counts_as_no_attempt(alice: Caller) -> None:
    waits(alice, profile(alice))
    (claimed,) = claim()
    assert store.postpone([claimed], [1.0]) == {claimed.id: True}

    (row,) = rows_of(alice)
    assert (row.status, row.n_attempts, row.n_sweeps) == ("pending", 0, 1)
    assert claim() == []
    assert store.postpone([claimed], [1.0]) == {}
    assert store._delay(claimed._replace(n_sweeps=3), 1.0) == 16.0
    assert store._delay(claimed._replace(n_sweeps=20), 1.0) == 30.0


def test_patience_ends(alice: Caller) -> None:
    waits(alice, profile(alice))
    (claimed,) = claim()

    assert store.postpone([claimed], [86_400.0]) == {claimed.id: False}
    missed = RetryableError("error", error_code="rate_limited", retry_after_seconds=86_400)
    assert recorder.record([(claimed, missed)]) == 1
    assert [(row.status, row.error_code) for row in rows_of(alice)] == [("error", "rate_limited")]


@pytest.mark.parametrize(
    ("held", "wanted"),
    [
        ({}, ClaimPlan(8, False, {})),
        ({(1, "a"): 3}, ClaimPlan(5, False, {(1, "a"): 3})),
        ({(1, "a"): 6, (2, ""): 2}, ClaimPlan(8 * MOST_LENT, True, {(1, "a"): 6, (2, ""): 2})),
        ({(1, "a"): 8 * (1 + MOST_LENT) - 1}, ClaimPlan(1, True, {(1, "a"): 31})),
        ({(1, "a"): 8 * (1 + MOST_LENT)}, None),
    ],
)
def test_what_a_runner_may_claim(held: dict[tuple[int, str], int], wanted: ClaimPlan | None) -> None:
    in_flight = [
        ClaimedEvaluation(0, id, 0, 0, None, "", 1, 0, name) for (id, name), n in held.items() for _ in range(n)
    ]

    assert plan_claim(in_flight, slots=8) == wanted


# --- Each account by itself


@contextmanager
def bare_functions() -> Iterator[None]:
    """Functions of the same text without any account in their queries: row-level security is the only wall."""
    texts = [function_text("evaluations", name) for name in ("functions", "judging")]
    named = "finish_evaluations|finish_judging|read_judging"
    found = [re.findall(rf"CREATE OR REPLACE FUNCTION (?:{named})\(.*?\nEND \$\$;", text, re.DOTALL) for text in texts]
    bare = "\n".join(function for part in found for function in part)
    bare = re.sub(r"\b\w+\.account_id = (?:p_account|part\.account) AND ", "", bare)
    assert len(re.findall("account_id", bare)) == len(re.findall("'app.account_id'", bare)) == 3
    with connections["owner"].cursor() as cursor:
        cursor.execute(re.sub(rf"\b({named})\(", r"bare_\1(", bare))
        try:
            yield
        finally:
            cursor.execute("DROP FUNCTION bare_finish_judging, bare_read_judging, bare_finish_evaluations")


def test_two_accounts_of_a_batch_see_nothing_of_each_other(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    for caller in (alice, charlie):
        waits(caller, profile(caller), output=f"Of {caller.account.pk}.")
    one, other = sorted(claim(), key=lambda claimed: claimed.account_id)
    with bare_functions():
        for name in ("READ", "FINISH"):
            monkeypatch.setattr(store, name, getattr(store, name).replace("FROM ", "FROM bare_"))
        read = store.read_claimed([one, other])
        assert {id: found.inputs.output for id, found in read.items()} == {
            one.id: f"Of {one.account_id}.",
            other.id: f"Of {other.account_id}.",
        }
        # An account that is wrong by mistake reads nothing and writes nothing.
        wrong = other._replace(account_id=one.account_id)
        assert store.read_claimed([one, wrong]).keys() == {one.id}
        assert store.finish_judging(recorder.build_request_items([(one, SUCCESS), (wrong, SUCCESS)])) == {
            (one.request_id, 0)
        }

    status = {row.account_id: row.status for row in rows_of(alice, charlie)}
    assert status == {one.account_id: "success", other.account_id: "pending"}


def test_inputs_are_read_once_for_a_request_and_what_is_gone_is_left_out(alice: Caller) -> None:
    of = profile(alice, "mine")
    kept = waits(alice, of, 2, output="Hello.", contexts=["one", "two"])
    claimed = sorted(claim(), key=lambda one: one.id)
    rows_of(alice).filter(request_id=kept[1]).delete()
    leftovers.spoil(alice.account.pk)

    found = store.read_claimed(claimed)
    assert found.keys() == {claimed[0].id}
    assert found[claimed[0].id].inputs.contexts == ["one", "two"]
    assert found[claimed[0].id].settings["connection"] == "mine"


# --- Verdicts


def test_verdicts_of_two_accounts_are_one_transaction_and_once_in_each_history(alice: Caller, charlie: Caller) -> None:
    for caller in (alice, charlie):
        waits(caller, profile(caller), 10)
    done = [(one, SUCCESS) for one in claim()]

    assert recorder.record(done) == 20
    assert recorder.record(done) == 0
    written = rows_of(alice, charlie)
    assert {row.status for row in written} == {"success"}
    assert len({row.request.completed_at.replace(microsecond=0) for row in written.select_related("request")}) <= 2
    assert [len(scores_of(caller, "judge")) for caller in (alice, charlie)] == [10, 10]
    assert findings(alice, charlie) == {}


def several(caller: Caller, of: Profile, capture: str) -> int:
    """Keep a request with three judged evaluations, of which the second one repeats the first."""
    row: dict[str, Any] = {"evaluator_id": RUNS, "runs": RUNS, "profile_id": str(of.pk), "profile_name": of.name}
    row |= {"profile_revision": 1, "family": "judge", "explain_strategy": "always", "lane": "judge"}
    row |= {"status": "pending", "in_history": False}
    rows = [row | {"position": i, "profile_name": name} for i, name in enumerate((of.name, of.name, "another"))]
    base = {
        "capture": capture,
        "strategy": "none",
        "fingerprint": 1,
        "output": "Good.",
        "app": "shop",
        "tags": {"a": "b"},
    }
    return captures.capture(caller.account.pk, base, rows, [None] * 3, epoch=None, lease_seconds=600).request_id


def what_is_stored(caller: Caller, request_id: int) -> Any:
    made_anew = ("id", "request_id", "created_at", "completed_at", "lease_expires_at")
    rows = list(rows_of(caller).filter(request_id=request_id).select_related("request").order_by("position"))
    facts = [
        {name: value for name, value in row.__dict__.items() if name not in (*made_anew, "_state")} for row in rows
    ]
    ids = {row.pk for row in rows}
    scores = [(profile, score) for profile, score, source_id in scores_of(caller, RUNS) if source_id in ids]
    tags = EvaluationTag.objects.using("system").filter(evaluation_id__in=ids).count()
    ended = [row.completed_at is not None for row in rows], rows[0].request.completed_at is not None
    return facts, sorted(scores), tags, ended


@pytest.mark.parametrize("capture", ["all", "fails-only", "none"])
@pytest.mark.parametrize("tells_ids", [True, False])
def test_a_batch_writes_what_a_request_by_itself_writes(
    alice: Caller, charlie: Caller, capture: str, tells_ids: bool
) -> None:
    of, failed = (
        profile(alice),
        Verdict("success", score=0.25, passed=False, spans=[[0, 2]], extra={"judge": {"calls": 1}}),
    )
    error = Verdict("error", error_code="timeout", error_message="Too late.", duration_us=2**40)
    alone, batch, part = (several(alice, of, capture) for _ in range(3))
    (theirs,) = waits(charlie, profile(charlie))
    verdicts = dict(enumerate((SUCCESS, failed, error)))
    done = [(one, SUCCESS if one.request_id == theirs else verdicts[one.position]) for one in claim()]
    items: list[Any] = recorder.build_request_items([one for one in done if one[0].request_id in (batch, theirs)])
    items += recorder.build_request_items([one for one in done if one[0].request_id == part and one[0].position == 1])
    own: Any
    (own,) = recorder.build_request_items([one for one in done if one[0].request_id == alone])
    if not tells_ids:
        for item in items:
            item["verdicts"] = [{k: v for k, v in one.items() if k != "id"} for one in item["verdicts"]]

    assert lane.finish_lane(alice.account.pk, alone, own["verdicts"]) == [0, 1, 2]
    assert store.finish_judging(items) == {(batch, 0), (batch, 1), (batch, 2), (theirs, 0), (part, 1)}
    assert store.finish_judging(items) == set()

    assert what_is_stored(alice, batch) == what_is_stored(alice, alone)
    facts, scores, _, ended = what_is_stored(alice, part)
    assert [row["status"] for row in facts] == ["pending", "success", "pending"]
    assert (scores, ended) == ([], ([False, True, False], False))
    assert findings(alice, charlie) == {}


@pytest.mark.parametrize(
    "poison",
    [
        Verdict("error", score=0.5),  # 23514: an error is no score
        Verdict("success", score=1.0, passed=True, explanation="\x00"),  # 22P05: no text
        Verdict("success", score=1.0, passed=True, duration_us=2**70),  # 22003: no number of a row
        Verdict("success", score=1.0, passed=True, extra={"a": object()}),  # no JSON
    ],
)
def test_what_cannot_be_stored_fails_alone(alice: Caller, charlie: Caller, poison: Verdict) -> None:
    for caller in (alice, charlie):
        waits(caller, profile(caller), 3)
    (first, *others) = claim()
    recorder.record([(first, poison), *((one, SUCCESS) for one in others)])

    rows = {row.pk: (row.status, row.error_code) for row in rows_of(alice, charlie)}
    assert rows.pop(first.id) == ("error", "evaluator_failed")
    assert list(rows.values()) == [("success", None)] * 5
    assert findings(alice, charlie) == {}


def test_verdicts_are_pushed_to_where_their_request_waits(alice: Caller, charlie: Caller) -> None:
    (mine,), (theirs,) = waits(alice, profile(alice)), waits(charlie, profile(charlie))
    box = reply_dispatcher()
    with (
        box.waiting_for(mine, Waiter(alice.account.pk)) as waiter,
        box.waiting_for(theirs, Waiter(charlie.account.pk)) as stranger,
    ):
        assert wake_judging(mine, reply_to=box.address)
        recorder.record([(one, SUCCESS) for one in claim()])
        (verdict,) = waiter.take(30)

        assert (verdict["position"], verdict["status"], verdict["score"]) == (0, "success", 0.75)
        assert verdict["explanation"] == "Because."
        assert stranger.take(0.1) == []


def test_a_message_of_an_earlier_version_is_handed_to_the_runners(alice: Caller) -> None:
    (request_id,) = waits(alice, profile(alice, "nobody"))
    rows_of(alice).update(lease_expires_at="2101-01-01T00:00:00Z")
    ref, box = LaneRef(alice.account.pk, request_id, "judge", 0), reply_dispatcher()
    with running(), box.waiting_for(request_id, Waiter(alice.account.pk)) as waiter:
        score_lane.apply(args=[*ref, box.address])
        (verdict,) = waiter.take(100)

    assert verdict["error_code"] == "not_configured"
    assert [row.status for row in rows_of(alice)] == ["validation_error"]


def test_a_message_of_an_earlier_version_frees_nothing_that_is_held(alice: Caller) -> None:
    (request_id,) = waits(alice, profile(alice))
    claim()
    score_lane.apply(args=[alice.account.pk, request_id, "judge", 0, None])

    assert claim() == []


def test_capture_none_is_purged_an_hour_after_its_verdict(alice: Caller) -> None:
    (request_id,) = waits(alice, profile(alice), capture="none")
    recorder.record([(one, SUCCESS) for one in claim()])

    assert alice.get(f"/v1/evaluate/{request_id}").json()["results"][0]["status"] == "success"
    request = EvaluationRequest.objects.using("system").get(pk=request_id)
    assert (request.input, request.output, request.contexts, request.gold, request.tags) == (None,) * 5
    assert scores_of(alice, "judge") == []
    with connections["system"].cursor() as cursor:
        sql = "UPDATE evaluations_evaluationrequest SET completed_at = '2001-01-01' WHERE id = %s"
        cursor.execute(sql, [request_id])
    sweep.prune_uncaptured()
    assert alice.get(f"/v1/evaluate/{request_id}").status_code == 404
