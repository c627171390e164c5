"""An admin ends the account, by its name: at once nobody gets in or sees a row, and what it had goes in turns."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from django.db import connections
from django.utils import timezone

from evalsvc.accounts.models import Account, AccountDeletion, Member
from evalsvc.ops.deletion import accounts as account_deletion
from evalsvc.ops.deletion import departures
from evalsvc.ops.deletion.departures import work_on_deletions
from evalsvc.tenancy.scope import SYSTEM
from tests.admin.conftest import Person, join, member, signed_in
from tests.conftest import Caller
from tests.factories import new_account
from tests.rest.shapes import assert_problem
from tests.tenancy import shapes

PAGE = "delete-account/"


def end(person: Person, caller: Caller) -> Any:
    return person.post(PAGE, name=caller.account.name)


def n_rows(account_id: int) -> dict[str, int]:
    found = {}
    with connections["owner"].cursor() as cursor:
        cursor.execute(shapes.TABLES)
        for table, column, _ in cursor.fetchall():
            cursor.execute(f"SELECT count(*) FROM {table} WHERE {column} = %s", [account_id])
            found[table] = cursor.fetchone()[0]
    return {table: n for table, n in found.items() if n}


def let_grace_pass(account_id: int) -> None:
    late = timezone.now() - timedelta(seconds=account_deletion.GRACE_SECONDS + 1)
    Account.objects.using(SYSTEM).filter(pk=account_id).update(deleted_at=late)


def test_only_an_admin_may(alice: Caller, reader: Person, editor: Person, operator: Person, anonymous: Person) -> None:
    for person in (reader, editor, operator):
        assert person.get(PAGE).status_code == 403
        assert end(person, alice).status_code == 403
    assert anonymous.get(PAGE).status_code == 302
    assert alice.get("/v1/whoami").status_code == 200
    assert "Delete this account" in member(alice.account, "admin").get("").content.decode()
    assert "Delete this account" not in editor.get("").content.decode()


@pytest.mark.parametrize("typed", ["", "acme", " "])
def test_another_name_deletes_nothing(alice: Caller, typed: str) -> None:
    admin = member(alice.account, "admin")

    page = admin.post(PAGE, name=typed)

    assert (page.status_code, "Nothing was deleted" in page.content.decode()) == (200, True)
    assert alice.get("/v1/whoami").status_code == 200


def test_from_then_on_nobody_gets_in_or_sees_a_row(operator: Person) -> None:
    alice = shapes.new_filled_account("alice")
    admin = member(alice.account, "admin")
    elsewhere = new_account("elsewhere")
    join(admin.user, elsewhere, "reader")
    before = n_rows(alice.account.pk)

    assert end(admin, alice).status_code == 302

    assert_problem(alice.get("/v1/whoami"), "unauthenticated")
    assert not Member.objects.using(SYSTEM).filter(account=alice.account).exists()
    # Its admin is where else they belong; the operator's lists show nothing of it either.
    assert elsewhere.name in admin.get("").content.decode()
    for model in ("accounts/account", "accounts/apikey", "accounts/auditentry", "projects/project", "catalog/profile"):
        page = operator.get(f"{model}/")
        assert page.status_code == 200
        assert alice.account.name not in page.content.decode(), model
    assert operator.change("accounts/account", alice.account.pk).status_code == 404
    # Nothing has gone yet but keys' lives and memberships: that is what turns are for.
    assert {**n_rows(alice.account.pk), "accounts_member": 0, "accounts_auditentry": 0} == {
        **before, "accounts_member": 0, "accounts_auditentry": 0,
    }  # fmt: skip


def test_what_it_had_goes_in_turns_and_a_line_stays(charlie: Caller) -> None:
    alice = shapes.new_filled_account("alice")
    assert end(member(alice.account, "admin"), alice).status_code == 302

    # Calls that were let in before may still write: the account itself waits for them. Others may be gone by now.
    work_on_deletions(seconds=60)
    assert (
        {"accounts_account"}
        <= set(n_rows(alice.account.pk))
        <= {
            "accounts_account",
            "accounts_apikey",
            "accounts_auditentry",
            "accounts_invitation",
            "evaluations_pruned",
        }
    )
    let_grace_pass(alice.account.pk)
    assert work_on_deletions(seconds=60) >= 1

    assert n_rows(alice.account.pk) == {}
    assert charlie.get("/v1/whoami").status_code == 200
    line = AccountDeletion.objects.using(SYSTEM).get(pk=alice.account.pk)
    assert (line.ordered_by, line.scrubbed_at) == ("admin", None)
    assert line.began_at < line.ended_at


def test_a_turn_that_is_over_goes_on_in_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    alice = shapes.new_filled_account("alice")
    end(member(alice.account, "admin"), alice)
    let_grace_pass(alice.account.pk)
    left = [sum(n_rows(alice.account.pk).values())]

    # A turn ends after some portions; other tests' accounts may come first.
    for _ in range(300):
        looks = itertools.count()
        work_on_deletions(seconds=12, clock=looks.__next__)
        left.append(sum(n_rows(alice.account.pk).values()))
        if not left[-1]:
            break

    assert left[-1] == 0
    assert len(set(left)) > 3
    assert left == sorted(left, reverse=True)
    assert departures.TURN_SECONDS <= 5


def test_the_clock_orders_turns() -> None:
    from evalsvc.celery import app

    entry = app.conf.beat_schedule["delete_accounts"]
    assert (entry["task"], entry["options"]["queue"]) == ("evalsvc.ops.delete_accounts", "system")
    app.loader.import_default_modules()
    assert entry["task"] in app.tasks


def test_who_was_signed_in_elsewhere_has_nothing_left(alice: Caller) -> None:
    first, second = member(alice.account, "admin"), member(alice.account, "editor")
    assert end(first, alice).status_code == 302
    for person in (first, second, signed_in(second.user)):
        assert person.get("projects/project/").status_code == 403
