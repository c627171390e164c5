"""Pages of the admin where something is missing, fails or may not be seen."""

from __future__ import annotations

from typing import Any

import pytest

from tests.admin.conftest import Person
from tests.conftest import Caller


def test_somebody_without_an_account_is_told_so(nobody: Person) -> None:
    answer = nobody.get("catalog/profile/")

    assert "You belong to no account that you may use" in answer.content.decode()
    assert "patronus:" not in answer.content.decode()


def test_somebody_without_an_account_can_leave(nobody: Person) -> None:
    answer = nobody.post("logout/")
    assert (answer.status_code, answer["Location"]) == (302, "/console/sign-in")
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
