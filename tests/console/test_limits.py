"""Limits and what is used of them, retention, and the end of the account."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import override_settings
from django.utils import timezone

from evalsvc.accounts.services import change_account, change_retention
from evalsvc.evaluations.selectors import count_arrived_before
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import audit_of
from tests.evaluations.deleting import keep
from tests.factories import ok


def account_row(caller: Caller) -> Any:
    from evalsvc.accounts.models import Account

    return Account.objects.using("system").get(pk=caller.account.pk)


def rule_of(caller: Caller) -> tuple[int | None, int | None]:
    row = account_row(caller)
    return row.retention_days, row.retention_history_days


def change(person: Visitor, texts: str, scores: str, confirm: str) -> Any:
    return person.post("limits/retention", retention_days=texts, retention_history_days=scores, confirm=confirm)


def test_it_shows_what_is_used_as_the_api_says_it(reader: Visitor, alice: Caller) -> None:
    change_account(account=alice.account, name=alice.account.name, rpm_limit=500, monthly_limit=9000, actor="test")
    answer = alice.get("/v1/whoami")
    page = reader.text("limits")
    used = 9000 - int(answer.headers["x-ratelimit-monthly-remaining-requests"])

    assert f"{used} of 9\u202f000" in page and "of 500" in page
    assert "The operator of the service sets them" in page and "Change retention" not in page


def test_a_limit_of_none_at_all_is_shown_as_such(reader: Visitor, alice: Caller) -> None:
    change_account(account=alice.account, name=alice.account.name, rpm_limit=0, monthly_limit=None, actor="test")

    assert " of 0 " in reader.text("limits") and " of 0 " in reader.text()


def test_what_a_rule_takes_is_counted_before_it_holds(admin: Visitor, alice: Caller) -> None:
    keep(alice, 7, evaluator_id="mine", created_at=(timezone.now() - timedelta(days=40)).isoformat())
    keep(alice, 2, evaluator_id="mine")
    page = admin.text("limits/retention", retention_days="30", retention_history_days="30")

    # They came in today; their scores are of another day.
    assert "0 captured evaluations" in page and "goes: 7 scores" in page
    assert (
        admin.text("limits/retention", retention_days="", retention_history_days="0").count("nothing is deleted") == 2
    )
    assert rule_of(alice) == (None, None)


def test_texts_are_counted_by_their_arrival_up_to_a_limit(alice: Caller) -> None:
    keep(alice, 5, evaluator_id="mine", created_at=(timezone.now() - timedelta(days=40)).isoformat())

    def counted(moment: datetime, most: int = 100) -> int:
        with account_scope(alice.account.pk):
            return count_arrived_before(account=alice.account, moment=moment, most=most)

    later = timezone.now() + timedelta(minutes=1)
    assert (counted(later), counted(later, 3), counted(later - timedelta(minutes=30))) == (5, 4, 0)


def test_a_rule_holds_once_the_name_was_typed(admin: Visitor, alice: Caller) -> None:
    refused = change(admin, "30", "90", "another")
    assert refused.status_code == 422 and "the name does not match" in refused.content.decode()
    assert rule_of(alice) == (None, None)

    assert change(admin, "30", "90", alice.account.name)["Location"] == admin.at("limits")
    assert rule_of(alice) == (30, 90)
    assert audit_of(alice.account)[0] == ("account.retention_changed", f"user:{admin.user.pk}")
    page = admin.text("limits")
    assert "30 days" in page and "90 days" in page and "the account&#x27;s own" in page


@override_settings(RETENTION_DAYS=60)
def test_an_admin_keeps_nothing_for_longer_than_the_service(admin: Visitor, operator: Visitor, alice: Caller) -> None:
    name = alice.account.name

    assert [change(admin, days, "", name).status_code for days in ("0", "61")] == [422] * 2
    assert change(admin, "60", "0", name).status_code == 302
    operator.post("accounts", account=alice.account.pk)
    assert change(operator, "365", "", name).status_code == 302
    assert change(admin, "365", "10", name).status_code == 302
    assert rule_of(alice) == (365, 10)


@pytest.mark.parametrize("days", ["-1", "x", "1.5", "99999999", "٣"])
def test_what_is_no_number_of_days_is_told_at_its_field(admin: Visitor, alice: Caller, days: str) -> None:
    page = admin.get("limits/retention", retention_days=days)

    assert page.status_code == 422 and "e-retention_days" in page.content.decode()
    assert change(admin, days, "", alice.account.name).status_code == 422 and rule_of(alice) == (None, None)


def test_the_choice_of_what_cannot_run_is_the_apis(admin: Visitor, alice: Caller) -> None:
    admin.post("limits/refusal", refusal="refused")

    assert ok(alice.get("/v1/account"))["account"]["refuse_unrunnable"] is True
    assert '<option value="refused" selected>' in admin.text("limits")


def test_an_account_ends_by_its_name(admin: Visitor, alice: Caller) -> None:
    admin.post("limits/deletion", confirm="another")
    assert "Nothing was deleted" in admin.text("limits")
    assert admin.post("limits/deletion", confirm=alice.account.name)["Location"] == "/console/accounts"

    assert alice.get("/v1/whoami").status_code == 401
    assert alice.account.name not in admin.text("accounts")


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_lower_roles_change_nothing(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person, name = request.getfixturevalue(who), alice.account.name
    answers = [
        person.get("limits/retention"), change(person, "1", "1", name),
        person.post("limits/refusal", refusal="refused"), person.post("limits/deletion", confirm=name),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [403] * 4
    assert rule_of(alice) == (None, None) and not account_row(alice).refuse_unrunnable


def test_a_form_of_another_account_changes_neither(admin: Visitor, alice: Caller, charlie: Caller) -> None:
    fields = {"retention_days": "1", "retention_history_days": "1", "confirm": alice.account.name}
    answer = admin.post("limits/retention", _account=charlie.account.pk, **fields)

    assert answer.status_code == 409 and rule_of(alice) == rule_of(charlie) == (None, None)


def test_it_costs_few_queries(admin: Visitor, alice: Caller) -> None:
    change_retention(account=alice.account, retention_days=1, retention_history_days=1, actor="test")

    assert admin.n_queries("limits") <= 15
    assert admin.n_queries("limits/retention", retention_days="1", retention_history_days="1") <= 15
