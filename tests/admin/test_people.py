"""Accounts, users and members, by the operator. For signing in see tests/signin."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from tests.admin.conftest import PASSWORD, Person, new_user
from tests.conftest import Caller


def test_only_the_nearest_proxy_is_believed(settings_behind_proxy: None) -> None:
    from django.test import RequestFactory

    from evalsvc.accounts.access.signin import caller_ip

    request = RequestFactory().get("/", HTTP_X_FORWARDED_FOR="1.1.1.1, 2.2.2.2", REMOTE_ADDR="3.3.3.3")

    assert caller_ip(request) == "2.2.2.2"


@pytest.fixture
def settings_behind_proxy() -> Any:
    from django.test import override_settings

    with override_settings(BEHIND_PROXY=True):
        yield


def test_the_password_is_changed_on_the_persons_own_page(operator: Person) -> None:
    assert operator.get("password_change/")["Location"] == "/console/you"


def test_an_operator_makes_an_account_with_limits(operator: Person) -> None:
    from evalsvc.accounts.models import Account

    name = f"account {uuid.uuid4().hex[:8]}"

    assert operator.post("accounts/account/add/", name=name, rpm_limit="7").status_code == 302
    row = Account.objects.using("system").get(name=name)
    assert row.rpm_limit == 7
    again = operator.post("accounts/account/add/", name=name)
    assert list(again.context_data["adminform"].form.errors) == ["name"]


def test_a_limit_holds_from_the_next_request(operator: Person, alice: Caller) -> None:
    path, name = f"accounts/account/{alice.account.pk}/change/", alice.account.name
    assert alice.get("/v1/whoami").status_code == 200

    assert operator.post(path, name=name, rpm_limit="1", monthly_limit="").status_code == 302
    statuses = {alice.get("/v1/whoami").status_code for _ in range(3)}

    assert 429 in statuses


def test_an_operator_lets_people_in(operator: Person, alice: Caller) -> None:
    from evalsvc.accounts.models import AuditEntry, Member, User

    email = f"New.{uuid.uuid4().hex[:8]}@Example.com"
    fields = {"email": email, "usable_password": "true", "password1": PASSWORD, "password2": PASSWORD, "is_staff": "on"}
    assert operator.post("accounts/user/add/", **fields).status_code == 302
    user = User.objects.using("system").get(email=email.lower())

    added = operator.post("accounts/member/add/", account=alice.account.pk, user=user.pk, role="editor")

    assert added.status_code == 302
    row = Member.objects.using("system").get(user=user)
    assert (row.account_id, row.role) == (alice.account.pk, "editor")
    assert operator.post(f"accounts/member/{row.pk}/change/", role="reader").status_code == 302
    row.refresh_from_db(using="system")
    assert row.role == "reader"
    actors = AuditEntry.objects.using("system").filter(account=alice.account, action="member.added")
    assert set(actors.values_list("actor", flat=True)) == {f"user:{operator.user.pk}"}


def test_an_operator_changes_a_person(operator: Person) -> None:
    user = new_user()
    path = f"accounts/user/{user.pk}/change/"

    assert operator.get(path).status_code == 200
    assert operator.post(path, email=user.email, name="Ann", is_active="on").status_code == 302
    user.refresh_from_db(using="system")
    assert (user.name, user.is_staff) == ("Ann", False)
    fields = {"usable_password": "true", "password1": PASSWORD, "password2": PASSWORD}
    assert operator.post(f"accounts/user/{user.pk}/password/", **fields).status_code == 302


def test_a_taken_address_is_an_error_of_the_address(operator: Person) -> None:
    user = new_user()
    fields = {"email": user.email.upper(), "usable_password": "false"}

    answer = operator.post("accounts/user/add/", **fields)

    assert answer.status_code == 200
    assert "email" in answer.context_data["adminform"].form.errors


def test_the_trail_names_people(admin: Person, operator: Person, alice: Caller) -> None:
    operator.post(f"accounts/account/{alice.account.pk}/change/", name=alice.account.name)
    admin.post("accounts/apikey/add/", name="ci", scope="read")

    page = admin.get("accounts/auditentry/").content.decode()

    assert admin.user.email in page
    assert "operator" in page and operator.user.email not in page
