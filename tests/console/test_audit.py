"""The audit trail: who did what and when, by filters and as a file, for admins alone."""

from __future__ import annotations

import csv
import io
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.admin.conftest import HOSTILE, new_user
from tests.conftest import Caller
from tests.console.conftest import Visitor


def note(account: Any, action: str, *, actor: str = "system", target: str = "t", **detail: Any) -> None:
    from evalsvc.accounts.services import record_audit
    from evalsvc.tenancy.scope import account_scope

    with account_scope(account.pk):
        record_audit(account=account, actor=actor, action=action, target=target, **detail)


def actions(page: str) -> list[str]:
    return re.findall(r'<span class="mono">([a-z_.0-9]+)</span>', page)


def minutes(n: int) -> str:
    return f"{datetime.now(UTC) + timedelta(minutes=n):%Y-%m-%dT%H:%M}"


def test_people_and_keys_appear_by_name_and_operators_do_not(admin: Visitor, alice: Caller) -> None:
    note(alice.account, "one.done", actor=f"user:{admin.user.pk}")
    note(alice.account, "two.done", actor=f"user:{new_user(is_superuser=True).pk}")
    alice.post("/v1/webhook-secret/rotate")
    note(alice.account, "three.done", actor="user:99999999999999999999999")
    page = admin.text("audit")

    assert admin.user.email in page and ">operator<" in page and "test (ek_" in page
    assert "user:99999999999999999999999" in page


def test_filters_are_in_the_address(admin: Visitor, alice: Caller) -> None:
    note(alice.account, "key.issued", actor=f"user:{admin.user.pk}", scope="read")
    note(alice.account, "dataset.made")
    by_action = admin.text("audit", action="key.")
    by_person = admin.text("audit", actor=f"user:{admin.user.pk}")

    assert set(actions(by_action)) == {"key.issued"} and "scope: read" in by_action
    assert actions(by_person) == ["key.issued"]
    assert re.search(r'<option value="user:\d+" selected>', by_person)


def test_times_are_bounds(admin: Visitor, alice: Caller) -> None:
    note(alice.account, "dataset.made")

    assert "dataset.made" in actions(admin.text("audit", since=minutes(-5), until=minutes(5)))
    assert actions(admin.text("audit", until=minutes(-5))) == []
    assert actions(admin.text("audit", since=minutes(5))) == []
    assert "A time from 2026 on" in admin.text("audit", since="yesterday")
    assert "A time from 2026 on" in admin.text("audit", until="9999-12-31T23:59-23:00")


def test_it_goes_on_where_the_page_ends(admin: Visitor, alice: Caller) -> None:
    for i in range(60):
        note(alice.account, f"step.{i}")
    page = admin.text("audit", action="step.")
    cursor = re.search(r"cursor=(\d+)", page)

    assert actions(page)[0] == "step.59" and len(actions(page)) == 50
    assert cursor and actions(admin.text("audit", action="step.", cursor=cursor[1])) == [
        f"step.{i}" for i in range(9, -1, -1)
    ]
    assert admin.n_queries("audit") <= 15


def test_a_file_has_the_same_entries_and_runs_no_formula(admin: Visitor, alice: Caller) -> None:
    note(alice.account, "step.one", target="=1+1", role="admin")
    answer = admin.get("audit.csv", action="step.")
    (row,) = csv.DictReader(io.StringIO(answer.content.decode()))

    assert answer["Content-Type"] == "text/csv; charset=utf-8"
    assert (row["action"], row["target"], row["detail"]) == ("step.one", "'=1+1", '{"role": "admin"}')


def test_texts_of_strangers_stay_texts(admin: Visitor, alice: Caller) -> None:
    note(alice.account, "step.one", target=HOSTILE[:200], said=HOSTILE)

    assert "<script>alert" not in admin.text("audit", action=HOSTILE) and "<script>alert" not in admin.text("audit")


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_lower_roles_see_nothing(request: pytest.FixtureRequest, who: str) -> None:
    person = request.getfixturevalue(who)

    assert [person.get(path).status_code for path in ("audit", "audit.csv")] == [403] * 2
    assert person.at("audit") not in person.text("limits")


def test_a_stranger_sees_their_own_alone(stranger: Visitor, alice: Caller) -> None:
    note(alice.account, "dataset.made", target="ours alone")

    assert "ours alone" not in stranger.text("audit") + stranger.get("audit.csv").content.decode()
