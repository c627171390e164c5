"""Days of an account: what pages read of them, by app, profile and day."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

from evalsvc.evaluations.rollups.counts import DayCounts, DayRange
from evalsvc.evaluations.rollups.read import read_days
from evalsvc.stats.formulas.intervals import wilson
from tests.conftest import Caller
from tests.evaluations.deleting import delete, evaluate, id_of, keep

EXACT = ("exact-match-2026-11-28", "patronus:exact-match")


def latest(n: int = 14) -> DayRange:
    """The last days until now: this module may have been read on another day."""
    return DayRange.latest(n)


def rates(caller: Caller, n: int = 14) -> dict[tuple[str | None, str], DayCounts]:
    found = read_days(account=caller.account, days=latest(n)).rates
    return {(rate.app, rate.evaluator_id): rate.counts for rate in found}


def test_a_pass_rate_is_of_one_app_and_profile(alice: Caller) -> None:
    for app, label in (("shop", "a"), ("shop", "a"), ("shop", "b"), ("desk", "b")):
        evaluate(alice, app=app, label=label)
    shop, desk = read_days(account=alice.account, days=latest()).rates
    assert (shop.app, shop.evaluator_id, shop.profile_name) == ("shop", *EXACT)
    assert shop.counts == DayCounts(n=3, n_scored=3, n_pass=2, n_fail=1, total=2.0, squares=2.0)
    assert (desk.app, desk.counts.rate) == ("desk", 0.0)
    assert shop.counts.interval() == wilson(2, 3)


def test_every_day_of_the_range_is_there(alice: Caller) -> None:
    yesterday = datetime.now(UTC) - timedelta(days=1)
    keep(alice, 2, created_at=yesterday.isoformat(), app="shop", evaluator_id="mine")
    (rate,) = read_days(account=alice.account, days=latest()).rates
    assert [day.n for day in rate.days] == [0] * 12 + [2, 0]
    assert latest().days[12] == yesterday.date()
    assert rates(alice, 1) == {}


def test_a_day_is_one_of_utc(alice: Caller) -> None:
    keep(alice, 1, created_at="2026-11-02T01:00:00+02:00", evaluator_id="mine")
    first = date(2026, 11, 1)
    (rate,) = read_days(account=alice.account, days=DayRange(first, first)).rates
    assert (rate.app, rate.counts.n) == ("default", 1)


def test_errors_are_counted_and_are_no_scores(alice: Caller) -> None:
    evaluate(alice, label=None)
    evaluate(alice)
    (counts,) = rates(alice).values()
    assert (counts.n, counts.n_error, counts.n_scored, counts.rate) == (2, 1, 1, 1.0)


def test_failures_are_told_by_their_code(alice: Caller) -> None:
    for label in (None, None, "a"):
        evaluate(alice, label=label)
    (failure,) = read_days(account=alice.account, days=latest()).failures
    assert (failure.code, failure.app, failure.n) == ("missing_input", "shop", 2)
    assert failure.last_day == datetime.now(UTC).date()


def test_what_only_failures_are_kept_of_has_no_rate(alice: Caller) -> None:
    for label in ("a", "b"):
        evaluate(alice, label=label, capture="fails-only")
    (counts,) = rates(alice).values()
    assert (counts.n, counts.n_scored, counts.rate, counts.interval()) == (1, 0, None, None)


def test_what_is_deleted_counts_no_more(alice: Caller) -> None:
    evaluate(alice)
    delete(alice, id_of(evaluate(alice, label="b")))
    (counts,) = rates(alice).values()
    assert counts == DayCounts(n=1, n_scored=1, n_pass=1, total=1.0, squares=1.0)


def test_nobody_reads_another_accounts_days(alice: Caller, charlie: Caller) -> None:
    evaluate(alice)
    assert read_days(account=charlie.account, days=latest()) == ([], [])
