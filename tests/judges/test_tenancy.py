"""Row-level security of connections, under the filters."""

from __future__ import annotations

import pytest
from django.db import ProgrammingError

from evalsvc.judges.models import Connection
from evalsvc.tenancy.scope import account_scope
from tests.conftest import Caller
from tests.judges.conftest import made


def test_the_database_hides_strangers_rows(alice: Caller, charlie: Caller) -> None:
    connection = made(alice)

    with account_scope(charlie.account.pk):
        assert not Connection.objects.filter(id=connection["id"]).exists()
        assert Connection.objects.filter(id=connection["id"]).update(rpm=1) == 0
        assert Connection.objects.filter(id=connection["id"]).delete()[0] == 0
    with account_scope(alice.account.pk):
        assert Connection.objects.filter(id=connection["id"]).exists()


def test_nothing_is_written_for_a_stranger(alice: Caller, charlie: Caller) -> None:
    with pytest.raises(ProgrammingError, match="row-level security"), account_scope(charlie.account.pk):
        Connection.objects.create(account=alice.account, name="x", base_url="https://a.example", model="m")


def test_without_an_account_there_are_no_rows(alice: Caller) -> None:
    made(alice)

    assert not Connection.objects.exists()
