"""Cursors: stable pages, and no way to make one up."""

from __future__ import annotations

from typing import Any

import pytest
from django.core import signing
from django.test import override_settings
from hypothesis import assume, given
from hypothesis import strategies as st

from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.services import issue_key
from evalsvc.rest.answering.pagination import SALT, page, read_cursor, write_cursor
from evalsvc.rest.problems import Invalid
from evalsvc.tenancy.scope import account_scope
from tests.conftest import new_account

ids = st.integers(1, 2**63 - 1)


@given(ids, st.text(max_size=20))
def test_a_cursor_is_read_as_it_was_written(last: int, of: str) -> None:
    assert read_cursor(write_cursor(last, of=of), of=of) == last


@given(ids)
def test_a_cursor_fits_into_an_address(last: int) -> None:
    assert set(write_cursor(last, of="keys:1")) <= set(
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_:."
    )


@given(st.text() | st.text(st.characters(codec="ascii")) | st.characters().map(lambda char: char * 9))
def test_made_up_cursors_are_refused(text: str) -> None:
    with pytest.raises(Invalid) as refused:
        read_cursor(text, of="keys:1")
    assert [error.pointer for error in refused.value.errors] == ["/cursor"]


@given(ids, st.data())
def test_a_changed_cursor_is_refused(last: int, data: Any) -> None:
    cursor = write_cursor(last, of="keys:1")
    # The last character of a signature holds bits that decoding drops, but the signature is compared as text.
    at = data.draw(st.integers(0, len(cursor) - 1))
    other = data.draw(st.sampled_from("Aa0-_:"))
    assume(other != cursor[at])
    with pytest.raises(Invalid):
        read_cursor(cursor[:at] + other + cursor[at + 1 :], of="keys:1")


@pytest.mark.parametrize("of", ["keys:2", "audit:1", "keys:11", "keys", "", "keys:1 "])
def test_a_cursor_of_another_list_is_refused(of: str) -> None:
    with pytest.raises(Invalid):
        read_cursor(write_cursor(5, of="keys:1"), of=of)


@pytest.mark.parametrize("value", [[], ["x"], [None], [[1]], None, 7, "x"])
def test_a_signed_value_of_another_type_is_refused(value: Any) -> None:
    with pytest.raises(Invalid):
        read_cursor(signing.dumps(value, salt=f"{SALT}:keys:1"), of="keys:1")


def test_a_cursor_of_another_secret_is_refused() -> None:
    with override_settings(SECRET_KEY="another-secret-of-an-attacker"):
        cursor = write_cursor(5, of="keys:1")
    with pytest.raises(Invalid):
        read_cursor(cursor, of="keys:1")


@pytest.fixture(scope="module")
def seven() -> Any:
    account = new_account()
    for n in range(7):
        issue_key(account=account, name=str(n))
    return account


def read_all(account: Any, limit: int) -> list[list[str]]:
    pages, cursor = [], None
    with account_scope(account.pk):
        while True:
            rows, cursor = page(ApiKey.objects.filter(account=account), limit=limit, cursor=cursor, of="keys")
            pages.append([row.name for row in rows])
            if cursor is None:
                return pages


@pytest.mark.parametrize("limit", range(1, 10))
def test_pages_hold_every_row_once_newest_first(seven: Any, limit: int) -> None:
    pages = read_all(seven, limit)
    assert [name for part in pages for name in part] == list("6543210")
    assert all(len(part) == limit for part in pages[:-1])
    assert 1 <= len(pages[-1]) <= limit


def test_an_empty_list_is_one_empty_page() -> None:
    assert read_all(new_account(), 3) == [[]]


def test_rows_added_meanwhile_do_not_move_the_next_page() -> None:
    account = new_account()
    for name in "abcd":
        issue_key(account=account, name=name)
    with account_scope(account.pk):
        rows = ApiKey.objects.filter(account=account)
        first, cursor = page(rows, limit=2, cursor=None, of="keys")
        issue_key(account=account, name="late")
        second, end = page(rows, limit=2, cursor=cursor, of="keys")
    assert [[row.name for row in part] for part in (first, second)] == [["d", "c"], ["b", "a"]]
    assert end is None
