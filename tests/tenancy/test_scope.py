"""Scopes: whose rows, which role, one snapshot."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import OperationalError, connections, transaction

from evalsvc.accounts.models import Account, ApiKey
from evalsvc.accounts.services import issue_key
from evalsvc.tenancy.scope import APP, OWNER, SYSTEM, RoleRouter, account_scope, current_role, role_scope
from tests.conftest import new_account


class Stop(Exception):
    """Ends a scope from inside."""


def setting(alias: str = APP) -> str:
    with connections[alias].cursor() as cursor:
        cursor.execute("SELECT coalesce(current_setting('app.account_id', true), '')")
        return str(cursor.fetchone()[0])


def in_a_thread(work: Any) -> Any:
    def run() -> Any:
        try:
            return work()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as threads:
        return threads.submit(run).result()


def test_the_account_holds_inside_and_ends_outside() -> None:
    assert setting() == ""
    with account_scope(11):
        assert setting() == "11"
    assert setting() == ""


def test_scopes_nest_three_deep() -> None:
    with account_scope(1):
        with account_scope(2):
            with account_scope(3):
                assert setting() == "3"
            assert setting() == "2"
        assert setting() == "1"
    assert setting() == ""


@pytest.mark.parametrize("inner", [1, 2])
def test_a_failed_inner_scope_gives_the_account_back(inner: int) -> None:
    with account_scope(1):
        with pytest.raises(Stop), account_scope(inner):
            raise Stop
        assert setting() == "1"


def test_a_failed_scope_leaves_nothing() -> None:
    account = new_account()
    with pytest.raises(Stop), account_scope(account.pk):
        Account.objects.filter(pk=account.pk).update(name="never")
        raise Stop
    assert setting() == ""
    with account_scope(account.pk):
        assert Account.objects.get().name == account.name


def test_a_failed_inner_scope_takes_back_only_its_own() -> None:
    account = new_account()
    with account_scope(account.pk):
        issue_key(account=account, name="kept")
        with pytest.raises(Stop), account_scope(account.pk):
            issue_key(account=account, name="lost")
            raise Stop
    with account_scope(account.pk):
        assert [key.name for key in ApiKey.objects.all()] == ["kept"]


def test_two_threads_have_two_accounts() -> None:
    meet = threading.Barrier(2, timeout=100)

    def look(account_id: int) -> str:
        try:
            with account_scope(account_id):
                meet.wait()
                found = setting()
                meet.wait()
                return found
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(look, [21, 22])) == ["21", "22"]


def test_one_snapshot_refuses_writes() -> None:
    account = new_account()
    with pytest.raises(OperationalError, match="read-only"), account_scope(account.pk, one_snapshot=True):
        issue_key(account=account, name="never")
    issue_key(account=account, name="afterwards")


def test_one_snapshot_does_not_see_what_came_later() -> None:
    account = new_account()
    with account_scope(account.pk, one_snapshot=True):
        assert not ApiKey.objects.exists()
        in_a_thread(lambda: issue_key(account=account, name="late"))
        assert not ApiKey.objects.exists()
    with account_scope(account.pk):
        assert ApiKey.objects.count() == 1


def test_an_ordinary_scope_sees_what_was_committed_meanwhile() -> None:
    account = new_account()
    with account_scope(account.pk):
        assert not ApiKey.objects.exists()
        in_a_thread(lambda: issue_key(account=account, name="late"))
        assert ApiKey.objects.count() == 1


def test_one_snapshot_inside_a_scope_keeps_the_outer_one_writable() -> None:
    account = new_account()
    with account_scope(account.pk):
        with account_scope(account.pk, one_snapshot=True):
            assert not ApiKey.objects.exists()
        issue_key(account=account, name="written")
    with account_scope(account.pk):
        assert ApiKey.objects.count() == 1


def test_a_role_ends_with_its_scope() -> None:
    assert current_role() == APP
    with role_scope(SYSTEM):
        with pytest.raises(Stop), role_scope(OWNER):
            assert current_role() == OWNER
            raise Stop
        assert current_role() == SYSTEM
    assert current_role() == APP


def test_a_role_is_not_another_threads() -> None:
    with role_scope(SYSTEM):
        assert in_a_thread(current_role) == APP


def test_an_account_of_one_role_is_not_the_others() -> None:
    with account_scope(31):
        with role_scope(SYSTEM), account_scope(32):
            assert (setting(SYSTEM), setting(APP)) == ("32", "31")
        assert (setting(SYSTEM), setting(APP)) == ("", "31")


@pytest.mark.parametrize("alias", [APP, OWNER, SYSTEM])
def test_the_router_follows_the_role(alias: str) -> None:
    router = RoleRouter()
    with role_scope(alias):
        assert router.db_for_read(Account) == router.db_for_write(Account) == alias
        assert Account.objects.all().db == alias
    assert router.allow_migrate(alias, "accounts") is (alias == OWNER)
    assert router.allow_relation(Account(), ApiKey())


def test_each_role_is_itself_in_the_database() -> None:
    users = {connections[alias].settings_dict["USER"] for alias in (APP, OWNER, SYSTEM)}
    assert len(users) == 3
    for alias in (APP, OWNER, SYSTEM):
        with connections[alias].cursor() as cursor:
            cursor.execute("SELECT current_user::text")
            assert cursor.fetchone()[0] == connections[alias].settings_dict["USER"]


def test_no_transaction_is_left_open() -> None:
    with account_scope(41, one_snapshot=True):
        assert connections[APP].in_atomic_block
    assert not connections[APP].in_atomic_block
    with transaction.atomic(), connections[APP].cursor() as cursor:
        cursor.execute("SHOW transaction_read_only")
        assert cursor.fetchone() == ("off",)
