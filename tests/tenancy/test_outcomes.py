"""Outcomes of several accounts in one transaction: row-level security keeps them apart, whatever the SQL forgets."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator
from dataclasses import replace

import pytest
from django.db import connections

from evalsvc.experiments.models import Output
from evalsvc.experiments.runner import store
from evalsvc.experiments.runner.store import Outcome, Unit
from evalsvc.infra.functions import function_text
from tests.conftest import Caller
from tests.experiments.claimed import claimed, made, outcome

FUNCTIONS = ("record_unit", "record_units")
FORGOTTEN = ("c.account_id = item.account AND ", "u.account_id = p_account AND ")


@functools.cache
def source() -> str:
    return function_text("experiments", "functions")


def careless(name: str) -> str:
    """Return the definition of a function without the account in its queries, under another name."""
    definition = re.search(rf"CREATE OR REPLACE FUNCTION {name}\(.*?\nEND \$\$;\n", source(), re.DOTALL)
    assert definition is not None
    text = definition[0]
    for forgotten in FORGOTTEN:
        text = text.replace(forgotten, "")
    for function in FUNCTIONS:
        text = text.replace(f"{function}(", f"careless_{function}(")
    return text.replace("%", "%%")


@pytest.fixture
def without_accounts(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let outcomes be recorded by functions that forget the account in their queries."""
    assert all(forgotten in source() for forgotten in FORGOTTEN)
    with connections["owner"].cursor() as cursor:
        for name in FUNCTIONS:
            cursor.execute(careless(name), [])
    ask = store._rows
    monkeypatch.setattr(
        store, "_rows", lambda role, sql, values: ask(role, sql.replace(" record_", " careless_record_"), values)
    )
    yield
    with connections["owner"].cursor() as cursor:
        for name in reversed(FUNCTIONS):
            cursor.execute(f"DROP FUNCTION careless_{name}")


def as_if_of(account_id: int, unit: Unit) -> Outcome:
    """The outcome of a unit as somebody would send it who has learnt its token, for an account of his own."""
    forged = Unit(**{name: getattr(unit, name) for name in Unit.__slots__} | {"account_id": account_id})
    return replace(outcome(unit, "forged"), unit=forged)


@pytest.mark.usefixtures("without_accounts")
def test_nobody_writes_for_another_without_the_account_in_the_query(
    alice: Caller, charlie: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, theirs = made(alice, "a"), made(charlie, "c")
    units = {unit.account_id: unit for unit in claimed(2)}
    victim = units[alice.account.pk]

    found = store.record_units(
        [outcome(units[charlie.account.pk]), as_if_of(charlie.account.pk, victim)], lease_seconds=60
    )

    assert [recorded is not None for recorded in found] == [True, False]
    written = Output.objects.using("system").filter(experiment_id__in=[mine["id"], theirs["id"]])
    assert set(written.values_list("account_id", "output__output")) == {(charlie.account.pk, "4")}
    # In a role that no policy binds, the query alone would have had to tell them apart.
    monkeypatch.setattr(store, "APP", "system")
    (forged,) = store.record_units([as_if_of(charlie.account.pk, victim)], lease_seconds=60)
    assert forged is not None
    assert forged.accepted


def test_the_account_ends_with_the_group(alice: Caller, charlie: Caller) -> None:
    made(alice, "a"), made(charlie, "c")
    store.record_units([outcome(unit) for unit in claimed(2)], lease_seconds=60)
    with connections["default"].cursor() as cursor:
        cursor.execute("SELECT nullif(current_setting('app.account_id', true), '')")
        assert cursor.fetchone() == (None,)
