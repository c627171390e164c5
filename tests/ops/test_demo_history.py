"""The demo's two weeks: an account to look at, apart from those whose keys are printed."""

from __future__ import annotations

import pytest

from evalsvc.accounts.models import Account, ApiKey, Member, User
from evalsvc.accounts.services import create_account
from evalsvc.evaluations.models import Evaluation
from evalsvc.evaluations.rollups.counts import DayRange
from evalsvc.evaluations.rollups.read import read_days
from evalsvc.local.supervisor.demo.accounts import MEMBERS
from evalsvc.ops.demo import history
from evalsvc.tenancy.scope import SYSTEM, role_scope
from tests import leftovers
from tests.conftest import Caller, findings, new_caller

N_DAYS = 15


@pytest.fixture(scope="module")
def demo() -> Account:
    with role_scope(SYSTEM):
        if not User.objects.filter(email=MEMBERS[0][1]).exists():
            User.objects.create_user(MEMBERS[0][1], "demo", is_staff=True)
    assert history.seed_demo_history() > 4000
    account = Account.objects.using(SYSTEM).get(name=history.NAME)
    leftovers.note(account.pk)
    return account


def test_it_has_two_weeks_of_three_apps_with_errors(demo: Account) -> None:
    rates, failures = read_days(account=demo, days=DayRange.latest(N_DAYS))
    assert {rate.app for rate in rates} == {"support", "search", "summaries"}
    assert all(day.n > 0 for rate in rates for day in rate.days[1:-1])
    assert {failure.code for failure in failures} == {"missing_input"}


def test_one_app_is_worse_than_it_was(demo: Account) -> None:
    rate = next(one for one in read_days(account=demo, days=DayRange.latest(N_DAYS)).rates if one.app == "support")
    before, after = (
        sum(day.n_pass for day in days) / sum(day.n_scored for day in days) for days in (rate.days[:10], rate.days[11:])
    )
    assert before - after > 0.05  # the hour of the day moves the days by some calls


def test_its_one_member_only_reads_and_it_has_no_key(demo: Account) -> None:
    members = Member.objects.using(SYSTEM).filter(account=demo)
    assert [(member.user.email, member.role) for member in members] == [(MEMBERS[0][1], "reader")]
    assert not ApiKey.objects.using(SYSTEM).filter(account=demo).exists()


def test_all_its_counts_are_right(demo: Account) -> None:
    assert findings(Caller(demo, "")) == {}


def test_a_second_time_adds_nothing(demo: Account) -> None:
    n = Evaluation.objects.using(SYSTEM).filter(account=demo).count()
    assert history.seed_demo_history() == 0
    assert Evaluation.objects.using(SYSTEM).filter(account=demo).count() == n


def test_the_first_evaluation_of_another_key_meets_no_score_of_it(demo: Account) -> None:
    with role_scope(SYSTEM):
        account = create_account(name=f"first {demo.pk}")
    leftovers.note(account.pk)
    answer = new_caller(account).evaluate(
        "exact-match", output="a", label="a", confidence_interval_strategy="full-history"
    )
    info = answer.json()["results"][0]["evaluation_result"]["additional_info"]
    assert info["confidence_interval"]["n"] == 0
