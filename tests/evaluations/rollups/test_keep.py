"""Counts by day are kept exactly once: by whoever writes, corrects or deletes; folded by one; and counted anew."""

from __future__ import annotations

import threading
import uuid
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connections

from evalsvc.celery import app
from evalsvc.evaluations.models import DailyRollup, RollupDelta
from evalsvc.evaluations.rollups.counts import DayCounts, DayRange
from evalsvc.evaluations.rollups.keep import apply_deltas, recount_days
from evalsvc.evaluations.rollups.read import read_days
from tests import leftovers
from tests.annotations.shapes import label, new_criteria
from tests.conftest import Caller, findings
from tests.evaluations.deleting import delete, evaluate, id_of, keep

# The notes of an account, written anew with one of them before the others: a fold takes them as they lie in the table.
ANOTHER_ORDER = """
WITH gone AS (DELETE FROM evaluations_rollupdelta WHERE account_id = %s RETURNING *)
INSERT INTO evaluations_rollupdelta SELECT (g.note).* FROM (
  SELECT gone AS note, row_number() OVER (ORDER BY n, n_pass) - 1 AS at FROM gone) g ORDER BY g.at <> %s, g.at
"""
CHECK = "the counts of a day differ from its evaluations"


def counts(caller: Caller) -> DayCounts:
    (rate,) = read_days(account=caller.account, days=DayRange.latest(14)).rates
    return rate.counts


def n_rows(caller: Caller) -> tuple[int, int]:
    """Days, and notes that are not folded."""
    days, notes = (
        model.objects.using("system").filter(account_id=caller.account.pk).count()
        for model in (DailyRollup, RollupDelta)
    )
    return days, notes


def system(sql: str, *values: Any) -> None:
    with connections["system"].cursor() as cursor:
        cursor.execute(sql, values)


def test_a_fold_changes_nothing_that_is_read(alice: Caller) -> None:
    for gold in ("a", "b"):
        evaluate(alice, label=gold)
    before = counts(alice)
    apply_deltas(seconds=None)
    assert counts(alice) == before
    assert n_rows(alice) == (1, 0)
    evaluate(alice)
    apply_deltas(seconds=None)
    assert (counts(alice).n, n_rows(alice)) == (3, (1, 0))


def test_a_day_without_evaluations_has_no_row(alice: Caller) -> None:
    answer = evaluate(alice)
    apply_deltas(seconds=None)
    delete(alice, id_of(answer))
    apply_deltas(seconds=None)
    assert n_rows(alice) == (0, 0)


def test_scores_of_any_size_leave_nothing_behind(alice: Caller) -> None:
    ids = [keep(alice, 1, score_raw=score)[0] for score in (123456789012.0, 0.1, -3e11, 3e-9)]
    for id in (ids[0], ids[2], ids[3]):
        delete(alice, id)
    assert (counts(alice).total, counts(alice).squares) == (0.1, 0.01)


def test_a_batch_that_is_sent_again_counts_once(alice: Caller) -> None:
    rows = [{"evaluator_id": "mine", "score_raw": 1, "pass": True, "log_id": str(uuid.uuid4())}]
    for _ in range(2):
        alice.post("/v1/evaluation-results/batch", {"evaluation_results": rows})
    assert counts(alice).n == 1


def test_a_label_that_is_corrected_counts_as_what_it_says_now(alice: Caller) -> None:
    criteria, log_id = new_criteria(alice), str(uuid.uuid4())
    for said in (True, False):
        label(alice, criteria, log_id, value_pass=said)
    assert (counts(alice).n, counts(alice).n_pass, counts(alice).n_fail) == (1, 0, 1)
    apply_deltas(seconds=None)
    assert findings(alice) == {}


def test_a_verdict_that_comes_later_counts_when_it_is_there(alice: Caller) -> None:
    id = id_of(evaluate(alice))
    system(
        "UPDATE evaluations_evaluation SET status = 'pending', captured = NULL, in_history = false, score = NULL,"
        " passed = NULL WHERE account_id = %s",
        alice.account.pk,
    )
    leftovers.spoil(alice.account.pk)
    assert read_days(account=alice.account, days=DayRange.latest(14)).rates == []
    system(
        "SELECT finish_evaluations(%s, (SELECT request_id FROM evaluations_evaluation WHERE id = %s),"
        """ '[{"position": 0, "status": "error", "error_code": "worker_lost"}]')""",
        *(alice.account.pk, id),
    )
    assert (counts(alice).n, counts(alice).n_error, counts(alice).n_scored) == (1, 1, 0)
    assert CHECK not in findings(alice)


def test_folds_and_writers_at_once_lose_nothing(alice: Caller) -> None:
    ids: list[str] = []

    def write() -> None:
        for _ in range(20):
            ids.append(id_of(evaluate(alice)))
        connections.close_all()

    evaluate(alice)
    writers = [threading.Thread(target=write) for _ in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        apply_deltas()
    assert len(set(ids)) == 60
    assert counts(alice).n == 61
    assert CHECK not in findings(alice)


@pytest.mark.parametrize("first", range(4))
def test_a_portion_that_ends_between_notes_loses_nothing(alice: Caller, first: int) -> None:
    """A label said yes, then no, then yes again: four notes of one day, of which a fold may take any one first."""
    criteria, log_id = new_criteria(alice), str(uuid.uuid4())
    label(alice, criteria, log_id, value_pass=True)
    apply_deltas(seconds=None)
    for said in (False, True):
        label(alice, criteria, log_id, value_pass=said)
    system(ANOTHER_ORDER, alice.account.pk, first)
    assert n_rows(alice) == (1, 4)

    before = counts(alice)
    for _ in range(4):
        system("SELECT fold_rollups(1)")
        assert counts(alice) == before
    assert (before.n, before.n_pass, before.n_fail, n_rows(alice)) == (1, 1, 0, (1, 0))
    assert CHECK not in findings(alice)


def test_a_recount_finds_what_is_wrong_and_mends_it(alice: Caller) -> None:
    for _ in range(3):
        evaluate(alice)
    apply_deltas(seconds=None)
    system("UPDATE evaluations_dailyrollup SET n = 7, n_pass = 1 WHERE account_id = %s", alice.account.pk)
    system("DELETE FROM evaluations_rollupdelta WHERE account_id = %s", alice.account.pk)
    assert findings(alice) == {CHECK: 1}
    assert sum(n for _, n in recount_days(alice.account.pk)) == 1
    assert counts(alice) == DayCounts(n=3, n_scored=3, n_pass=3, total=3.0, squares=3.0)
    assert sum(n for _, n in recount_days(alice.account.pk)) == 0


def test_a_command_mends_and_says_what_was_wrong(alice: Caller, capsys: pytest.CaptureFixture[str]) -> None:
    evaluate(alice)
    system("DELETE FROM evaluations_rollupdelta WHERE account_id = %s", alice.account.pk)
    for _ in range(2):
        call_command("recount_rollups", "--account", str(alice.account.pk))
    assert capsys.readouterr().out.splitlines() == ["1 counts were wrong, and are mended.", "All counts were right."]


def test_undecided_scores_that_an_earlier_release_counted_are_told_apart_by_a_recount(alice: Caller) -> None:
    keep(alice, 2, verdict="undecided")
    keep(alice, 1)
    apply_deltas(seconds=None)
    known = counts(alice)
    assert (known.n, known.n_error, known.n_without, known.n_undecided) == (3, 0, 3, 2)
    assert read_days(account=alice.account, days=DayRange.latest(14)).failures == []

    # Earlier releases counted all of them together.
    days = DailyRollup.objects.using("system").filter(account_id=alice.account.pk)
    days.filter(error_code="undecided").delete()
    days.update(n=3, n_scored=3, total=1, squares=1)
    assert (counts(alice).n_undecided, findings(alice)) == (0, {CHECK: 2})
    assert sum(n for _, n in recount_days(alice.account.pk)) == 2

    assert (counts(alice), findings(alice)) == (known, {})
    apply_deltas(seconds=None)
    assert counts(alice) == known


def test_what_was_there_before_the_triggers_is_counted(alice: Caller) -> None:
    evaluate(alice)
    system("DELETE FROM evaluations_rollupdelta WHERE account_id = %s", alice.account.pk)
    assert sum(n for _, n in recount_days(alice.account.pk)) == 1
    assert counts(alice).n == 1


def test_two_recounts_at_once_mend_once(alice: Caller) -> None:
    evaluate(alice)
    system("DELETE FROM evaluations_rollupdelta WHERE account_id = %s", alice.account.pk)

    def mend() -> None:
        list(recount_days(alice.account.pk))
        connections.close_all()

    menders = [threading.Thread(target=mend) for _ in range(3)]
    for mender in menders:
        mender.start()
    for mender in menders:
        mender.join()
    assert counts(alice).n == 1


def test_beat_folds_and_recounts() -> None:
    app.loader.import_default_modules()
    for name in ("fold_rollups", "recount_rollups"):
        assert app.conf.beat_schedule[name]["task"] in app.tasks
