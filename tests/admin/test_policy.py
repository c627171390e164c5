"""Every address of the admin has its policy, and no page holds a style or a script of its own."""

from __future__ import annotations

import re
from typing import Any

import pytest

from evalsvc.rest.edge.policy import ADMIN_PAGE, HEADER, NO_PAGE
from tests.admin.conftest import Person, join, new_profile
from tests.admin.rows import addresses
from tests.conftest import Caller

pytestmark = pytest.mark.slow

# Style attributes are unfold's, and allowed; see tests/docs/test_pages.py for ours.
INLINE = re.compile(r"<style|<script(?![^>]*\ssrc=)|<[^>]*\son[a-z]+\s*=|javascript:", re.IGNORECASE)


def assert_policy(answer: Any, policy: str = ADMIN_PAGE) -> None:
    assert answer[HEADER] == policy
    assert INLINE.findall(answer.content.decode()) == []


@pytest.mark.parametrize("name", ["reader", "editor", "admin", "operator"])
def test_it_is_on_every_address(request: pytest.FixtureRequest, alice: Caller, name: str) -> None:
    person = request.getfixturevalue(name)

    statuses = {}
    for address in addresses(alice):
        answer = person.get(address)
        is_page = answer["Content-Type"].startswith("text/html")
        statuses[address] = (answer.status_code, is_page)
        assert_policy(answer, ADMIN_PAGE if is_page else NO_PAGE)

    assert {status for status, _ in statuses.values()} <= {200, 302, 403, 404, 405}
    assert len([1 for status, is_page in statuses.values() if status == 200 and is_page]) > 30
    # The list of texts for scripts and the search of select boxes are no pages.
    assert {address for address, (_, is_page) in statuses.items() if not is_page} <= {"jsi18n/", "autocomplete/"}


def test_it_is_on_pages_before_the_door(anonymous: Person, nobody: Person) -> None:
    for answer in (anonymous.get("login/"), anonymous.get("catalog/profile/"), nobody.get("")):
        assert_policy(answer)
    assert_policy(anonymous.post("login/", username="nobody@example.com", password="wrong"))


def test_it_is_on_what_a_form_answers(admin: Person, alice: Caller, other_account: Any) -> None:
    join(admin.user, other_account, "admin")
    profile = new_profile(alice.account)
    refused = {"family": "metrics", "name": "x", "settings": '{"metric": "bleu", "pass_threshold": 7}'}

    assert_policy(admin.post("catalog/profile/add/", **refused))
    assert_policy(admin.post(f"catalog/profile/{profile.pk}/archive/"))
    assert_policy(admin.post("accounts/apikey/add/", name="new", scope="write"))
    elsewhere = admin.post("catalog/profile/add/", **refused, _account=other_account.pk)
    assert elsewhere.status_code == 409
    assert_policy(elsewhere)


def test_a_stranger_s_row_is_a_missing_one_under_the_same_policy(admin: Person, charlie: Caller) -> None:
    foreign = admin.change("catalog/profile", new_profile(charlie.account).pk)
    missing = admin.change("catalog/profile", "00000000-0000-4000-8000-000000000000")

    assert (foreign.status_code, foreign[HEADER]) == (missing.status_code, missing[HEADER]) == (404, ADMIN_PAGE)
