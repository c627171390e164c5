"""Rows of another account: never in a list, by id, by search, by autocomplete, by a raw POST, or without the filter."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.admin.conftest import Person, join, key_of, member, new_evaluation, new_evaluator, new_profile
from tests.annotations.shapes import criteria_of
from tests.conftest import Caller
from tests.datasets.shapes import new_version
from tests.events.shapes import delivery_of, endpoint_of
from tests.judges.conftest import made
from tests.prompts.shapes import prompt_of, prompt_revision_of

PAGES = (
    "catalog/evaluator",
    "catalog/profile",
    "evaluations/evaluation",
    "annotations/annotationcriteria",
    "prompts/prompt",
    "prompts/promptrevision",
    "events/eventendpoint",
    "events/eventdelivery",
    "accounts/apikey",
    "projects/app",
    "datasets/dataset",
    "datasets/datasetversion",
    "judges/connection",
)


def app_of(caller: Caller) -> Any:
    from evalsvc.projects.models import App

    new_evaluation(caller, app="secret-app")
    return App.objects.using("system").get(account=caller.account, name="secret-app")


def connection_of(caller: Caller) -> Any:
    from evalsvc.judges.models import Connection

    return Connection.objects.using("system").get(pk=made(caller)["id"])


MAKERS = {
    "catalog/evaluator": lambda caller: new_evaluator(caller.account),
    "catalog/profile": lambda caller: new_profile(caller.account),
    "evaluations/evaluation": lambda caller: new_evaluation(caller, app="secret-app"),
    "annotations/annotationcriteria": criteria_of,
    "prompts/prompt": prompt_of,
    "prompts/promptrevision": prompt_revision_of,
    "events/eventendpoint": endpoint_of,
    "events/eventdelivery": delivery_of,
    "accounts/apikey": key_of,
    "projects/app": app_of,
    "judges/connection": connection_of,
    "datasets/dataset": lambda caller: new_version(caller).dataset,
    "datasets/datasetversion": new_version,
}


def traces(row: Any) -> str:
    """A text that only this row would put on a list page."""
    return f"/{row.pk}/change/"


@pytest.mark.parametrize("page", PAGES)
def test_lists_and_searches_hide_strangers(admin: Person, alice: Caller, charlie: Caller, page: str) -> None:
    foreign, own = MAKERS[page](charlie), MAKERS[page](alice)

    for query in ({}, {"q": str(foreign.pk)}, {"q": str(getattr(foreign, "name", foreign.pk))}):
        assert traces(foreign) not in admin.get(f"{page}/", **query).content.decode()
    assert traces(own) in admin.get(f"{page}/").content.decode()


@pytest.mark.parametrize("page", PAGES)
def test_foreign_and_missing_rows_look_the_same(admin: Person, charlie: Caller, page: str) -> None:
    foreign = MAKERS[page](charlie)
    missing = "00000000-0000-4000-8000-000000000000" if len(str(foreign.pk)) == 36 else "1"

    for method in (admin.get, admin.post):
        by_id, by_nothing = method(f"{page}/{foreign.pk}/change/"), method(f"{page}/{missing}/change/")
        assert by_id.status_code == by_nothing.status_code
        # A POST where nothing can be changed is refused before any row is looked for.
        assert by_id.status_code in ((404,) if method == admin.get else (404, 403))
        assert without_token(by_id) == without_token(by_nothing)


def without_token(answer: Any) -> str:
    return re.sub(r'name="csrfmiddlewaretoken" value="[^"]+"', "", answer.content.decode())


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("pk", ["abc", "1%00", "9" * 40, "../", "-1", "é"])
def test_ids_that_are_none_are_not_found(admin: Person, page: str, pk: str) -> None:
    assert admin.get(f"{page}/{pk}/change/").status_code == 404


@pytest.mark.parametrize("page", PAGES)
def test_rls_hides_strangers_even_without_the_filter(
    monkeypatch: pytest.MonkeyPatch, admin: Person, charlie: Caller, page: str
) -> None:
    from unfold.admin import ModelAdmin

    from evalsvc.accounts.admin.base import ScopedAdmin

    foreign = MAKERS[page](charlie)
    monkeypatch.setattr(ScopedAdmin, "get_queryset", ModelAdmin.get_queryset)

    assert traces(foreign) not in admin.get(f"{page}/").content.decode()
    assert admin.get(f"{page}/{foreign.pk}/change/").status_code == 404


def test_raw_posts_cannot_name_another_account(admin: Person, alice: Caller, charlie: Caller) -> None:
    from evalsvc.catalog.models import Profile

    fields = {"family": "metrics", "name": "smuggled", "settings": '{"metric": "bleu"}', "account": charlie.account.pk}

    assert admin.post("catalog/profile/add/", **fields).status_code == 302
    owners = Profile.objects.using("system").filter(name="smuggled").values_list("account_id", flat=True)
    assert charlie.account.pk not in owners
    assert alice.account.pk in owners


def test_raw_posts_cannot_act_on_foreign_rows(admin: Person, charlie: Caller) -> None:
    key, profile, evaluator = key_of(charlie), new_profile(charlie.account), new_evaluator(charlie.account)

    assert admin.post(f"accounts/apikey/{key.pk}/revoke/").status_code == 404
    assert admin.post(f"catalog/profile/{profile.pk}/archive/").status_code == 404
    assert admin.post(f"catalog/evaluator/{evaluator.pk}/switch-off/").status_code == 404
    for row in (key, profile, evaluator):
        row.refresh_from_db(using="system")
    assert (key.revoked_at, profile.archived_at, evaluator.is_enabled) == (None, None, True)


def test_foreign_profiles_are_no_defaults(editor: Person, charlie: Caller) -> None:
    foreign = new_profile(charlie.account)
    fields = {"evaluator_id": "mine", "name": "Mine", "base": "bleu-2026-11-01", "default_profile": foreign.name}
    base = next(base for base in managed_ids("metrics"))

    answer = editor.post("catalog/evaluator/add/", **(fields | {"base": base}))

    assert answer.status_code == 200
    assert "Family metrics has no profile" in answer.content.decode()


def managed_ids(family: str) -> list[str]:
    from evaluators.registry import get_family

    return [spec.id for spec in get_family(family).evaluators]


@pytest.mark.parametrize(("model", "field"), [("apikey", "account"), ("member", "user"), ("member", "account")])
def test_autocomplete_is_for_operators(admin: Person, operator: Person, model: str, field: str) -> None:
    query = {"app_label": "accounts", "model_name": model, "field_name": field, "term": ""}

    assert admin.get("autocomplete/", **query).status_code == 403
    assert operator.get("autocomplete/", **query).status_code == 200


def test_filters_by_url_are_refused(admin: Person, operator: Person) -> None:
    for who in (admin, operator):
        assert who.get("accounts/apikey/", secret_hash__startswith="a").status_code == 400
        assert who.get("evaluations/evaluation/", request__input__contains="a").status_code == 400
        assert who.get("catalog/profile/", account__name__startswith="a").status_code == 400


def test_a_member_switches_between_their_accounts_only(alice: Caller, charlie: Caller, other_account: Any) -> None:
    person = member(alice.account, "admin")
    join(person.user, other_account, "reader")
    row = new_profile(other_account)

    assert person.get("catalog/profile/").status_code == 200
    assert person.change("catalog/profile", row.pk).status_code == 404
    person.post("switch-account/", account=str(charlie.account.pk))
    assert person.change("catalog/profile", row.pk).status_code == 404
    person.post("switch-account/", account=str(other_account.pk))
    assert person.change("catalog/profile", row.pk).status_code == 200
    assert person.get("accounts/apikey/").status_code == 403, "the role is the one in the account looked at"


def test_a_form_of_the_other_account_is_refused(alice: Caller, other_account: Any) -> None:
    from evalsvc.catalog.models import Profile

    person = member(alice.account, "admin")
    join(person.user, other_account, "admin")
    fields = {"family": "metrics", "name": "late", "settings": '{"metric": "bleu"}', "_account": alice.account.pk}
    person.post("switch-account/", account=str(other_account.pk))

    assert person.post("catalog/profile/add/", **fields).status_code == 409
    assert not Profile.objects.using("system").filter(account__in=[alice.account, other_account]).exists()


def test_a_removed_member_sees_nothing_on_the_next_page(editor: Person, operator: Person, alice: Caller) -> None:
    from evalsvc.accounts.models import Member

    row = Member.objects.using("system").get(account=alice.account, user=editor.user)

    assert operator.post(f"accounts/member/{row.pk}/delete/", post="yes").status_code == 302
    assert editor.get("catalog/profile/").status_code == 403


def test_no_admin_log_is_written(editor: Person, alice: Caller) -> None:
    from django.contrib.admin.models import LogEntry

    fields = {"family": "metrics", "name": "logged", "settings": '{"metric": "bleu"}'}

    assert editor.post("catalog/profile/add/", **fields).status_code == 302
    assert not LogEntry.objects.using("system").filter(user=editor.user).exists()
