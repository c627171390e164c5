"""Who may open which page: the matrix of people and pages."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import Person
from tests.admin.rows import row_of
from tests.conftest import Caller

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


@pytest.fixture(params=PEOPLE)
def person(request: pytest.FixtureRequest) -> tuple[str, Person]:
    return request.param, request.getfixturevalue(request.param)


@pytest.mark.parametrize("page", LISTS)
def test_lists_open_by_role(person: tuple[str, Person], page: str) -> None:
    name, who = person

    assert who.get(page).status_code == expected(name, LISTS[page])


@pytest.mark.parametrize("page", LISTS)
def test_rows_open_by_role(person: tuple[str, Person], alice: Caller, reader: Person, page: str) -> None:
    name, who = person
    row = row_of(page, alice)

    assert who.change(page.rstrip("/"), row.pk).status_code == expected(name, LISTS[page])


@pytest.mark.parametrize("page", LISTS)
def test_adding_opens_by_role(person: tuple[str, Person], page: str) -> None:
    name, who = person

    assert who.get(f"{page}add/").status_code == expected(name, ADDS.get(page, ()))
    assert who.post(f"{page}add/").status_code == expected(name, ADDS.get(page, ()))


@pytest.mark.parametrize("page", LISTS)
def test_rows_with_a_history_stay(person: tuple[str, Person], alice: Caller, reader: Person, page: str) -> None:
    name, who = person
    row = row_of(page, alice)
    if page == "accounts/member/":
        pytest.skip("members are taken out of accounts; see test_people")

    assert who.post(f"{page}{row.pk}/delete/", post="yes").status_code == expected(name, ())
    assert type(row).objects.using("system").filter(pk=row.pk).exists()


@pytest.mark.parametrize("page", ["", "switch-account/", "password_change/"])
def test_everybody_has_a_start_page(person: tuple[str, Person], page: str) -> None:
    name, who = person
    people = (*ALL, "nobody") if page == "password_change/" else ALL

    assert who.get(page).status_code == expected(name, people)


def test_somebody_without_an_account_is_told_so(nobody: Person) -> None:
    answer = nobody.get("catalog/profile/")

    assert "You belong to no account yet" in answer.content.decode()
    assert "patronus:" not in answer.content.decode()


def test_somebody_without_an_account_can_leave(nobody: Person) -> None:
    assert nobody.post("logout/").status_code == 200
    assert nobody.get("").status_code == 302


def test_pages_that_look_across_accounts_are_gone(admin: Person) -> None:
    from django.contrib.contenttypes.models import ContentType

    from evalsvc.accounts.models import User

    content_type = ContentType.objects.get_for_model(User)

    assert admin.get(f"r/{content_type.pk}/{admin.user.pk}/").status_code == 404
    assert admin.get("search/", s="user").status_code == 404


def test_a_database_that_does_not_answer_is_a_page_not_a_trace(
    admin: Person, alice: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    from django.db import OperationalError

    from evalsvc.catalog.admin.profiles import ProfileAdmin

    def fail(*args: Any) -> Any:
        raise OperationalError("canceling statement due to statement timeout")

    monkeypatch.setattr(ProfileAdmin, "get_queryset", fail)
    answer = admin.get("catalog/profile/")

    assert answer.status_code == 503
    assert "statement timeout" not in answer.content.decode()


def test_a_failed_page_leaves_nothing_behind(admin: Person, alice: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    from evalsvc.catalog.admin.profiles import ProfileAdmin
    from evalsvc.catalog.models import Profile

    def fail(*args: Any, **fields: Any) -> Any:
        raise RuntimeError("after the service has written")

    monkeypatch.setattr(ProfileAdmin, "response_add", fail)
    admin.client.raise_request_exception = False
    answer = admin.post("catalog/profile/add/", family="metrics", name="lost", settings='{"metric": "bleu"}')

    assert answer.status_code == 500
    assert not Profile.objects.using("system").filter(account=alice.account, name="lost").exists()


def test_message_pages_have_the_colours_of_the_others(reader: Person) -> None:
    missing, refused = reader.get("catalog/profile/nope/change/"), reader.get("accounts/user/")

    for answer, status in ((missing, 404), (refused, 403)):
        assert answer.status_code == status
        assert "/static/evalsvc/pages.css" in answer.content.decode()
    assert "does not exist for you" in missing.content.decode()
