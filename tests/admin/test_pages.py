"""Who may open which page: the matrix of people and pages.

Nobody changes anything here, which is what is tested. So all of it meets the same people and the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import Person, member, new_user, signed_in
from tests.admin.rows import row_of
from tests.conftest import Caller, new_caller

PEOPLE = ("anonymous", "nobody", "reader", "editor", "admin", "operator")
ALL = ("reader", "editor", "admin", "operator")
WRITERS = ("editor", "admin", "operator")
ADMINS = ("admin", "operator")
OPERATOR = ("operator",)
LISTS = {
    "catalog/evaluator/": ALL,
    "catalog/profile/": ALL,
    "evaluations/evaluation/": ALL,
    "annotations/annotationcriteria/": ALL,
    "telemetry/span/": ALL,
    "telemetry/logrecord/": ALL,
    "datasets/dataset/": ALL,
    "datasets/datasetversion/": ALL,
    "judges/connection/": ALL,
    "projects/project/": ALL,
    "projects/app/": ALL,
    "projects/experiment/": ALL,
    "experiments/experimentplan/": ALL,
    "accounts/apikey/": ADMINS,
    "accounts/auditentry/": ADMINS,
    "accounts/account/": OPERATOR,
    "accounts/user/": OPERATOR,
    "accounts/member/": OPERATOR,
}
ADDS = {
    "catalog/evaluator/": WRITERS,
    "catalog/profile/": WRITERS,
    "annotations/annotationcriteria/": WRITERS,
    "judges/connection/": ADMINS,
    "accounts/apikey/": ADMINS,
    "accounts/account/": OPERATOR,
    "accounts/user/": OPERATOR,
    "accounts/member/": OPERATOR,
}


def expected(name: str, allowed: tuple[str, ...]) -> int:
    return 200 if name in allowed else 302 if name == "anonymous" else 403


@pytest.fixture(scope="module")
def alice() -> Caller:
    return new_caller(name="alice")


@pytest.fixture(scope="module")
def people(alice: Caller) -> dict[str, Person]:
    members = {role: member(alice.account, role) for role in ("reader", "editor", "admin")}
    others = {"anonymous": Person(None, Client()), "nobody": signed_in(new_user())}
    return others | members | {"operator": signed_in(new_user(is_superuser=True))}


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest, people: dict[str, Person]) -> tuple[str, Person]:
    return request.param, people[request.param]


@pytest.fixture(scope="module")
def row(alice: Caller) -> Callable[[str], Any]:
    """Return the row of a page, made when it is first asked for."""
    return cache(lambda page: row_of(page, alice))


@pytest.mark.parametrize("page", LISTS)
def test_lists_open_by_role(person: tuple[str, Person], page: str) -> None:
    name, who = person

    assert who.get(page).status_code == expected(name, LISTS[page])


@pytest.mark.parametrize("page", LISTS)
def test_rows_open_by_role(person: tuple[str, Person], row: Callable[[str], Any], page: str) -> None:
    name, who = person

    assert who.change(page.rstrip("/"), row(page).pk).status_code == expected(name, LISTS[page])


@pytest.mark.parametrize("page", LISTS)
def test_adding_opens_by_role(person: tuple[str, Person], page: str) -> None:
    name, who = person

    assert who.get(f"{page}add/").status_code == expected(name, ADDS.get(page, ()))
    assert who.post(f"{page}add/").status_code == expected(name, ADDS.get(page, ()))


@pytest.mark.parametrize("page", LISTS)
def test_rows_with_a_history_stay(person: tuple[str, Person], row: Callable[[str], Any], page: str) -> None:
    name, who = person
    if page == "accounts/member/":
        pytest.skip("members are taken out of accounts; see test_people")
    stays = row(page)

    assert who.post(f"{page}{stays.pk}/delete/", post="yes").status_code == expected(name, ())
    assert type(stays).objects.using("system").filter(pk=stays.pk).exists()


@pytest.mark.parametrize("page", ["", "switch-account/"])
def test_everybody_has_a_start_page(person: tuple[str, Person], page: str) -> None:
    name, who = person

    assert who.get(page).status_code == expected(name, ALL)
