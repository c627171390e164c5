"""Accounts, users and members, by the operator; signing in and passwords, by everybody."""

from __future__ import annotations

import uuid
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import PASSWORD, Person, new_user
from tests.conftest import Caller

NEW_PASSWORD = "another long secret phrase"


def sign_in(email: str, password: str, ip: str = "10.0.0.1") -> Any:
    fields = {"username": email, "password": password}
    return Client(REMOTE_ADDR=ip).post("/admin/login/", fields)


def test_it_signs_in_whatever_the_case() -> None:
    user = new_user(password=PASSWORD)

    answer = sign_in(user.email.upper(), PASSWORD)

    assert (answer.status_code, answer.url) == (302, "/console/")
    assert sign_in(user.email, "wrong").status_code == 200


def test_ten_failures_close_the_door_for_one_address(monkeypatch: pytest.MonkeyPatch) -> None:
    user, ip = new_user(password=PASSWORD), f"10.1.{uuid.uuid4().int % 250}.7"
    monkeypatch.setattr("django.contrib.auth.forms.authenticate", lambda *args, **fields: None)
    for _ in range(10):
        assert "Too many" not in sign_in(user.email, "wrong", ip).content.decode()
    monkeypatch.undo()

    locked = sign_in(user.email, PASSWORD, ip)

    assert locked.status_code == 429
    assert 0 < int(locked["Retry-After"]) <= 900
    assert "Too many failed attempts" in locked.content.decode()
    assert sign_in(user.email, PASSWORD, "10.2.0.1").status_code == 302, "from elsewhere the door is open"


def test_unknown_people_are_locked_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    email = f"{uuid.uuid4().hex}@example.com"
    monkeypatch.setattr("django.contrib.auth.forms.authenticate", lambda *args, **fields: None)

    answers = [sign_in(email, "wrong", "10.3.0.1").content.decode() for _ in range(11)]

    assert ["Too many" in answer for answer in answers] == [False] * 10 + [True]


def test_a_success_clears_earlier_failures() -> None:
    from evalsvc.accounts.access.signin import lockout_counters
    from evalsvc.infra.redis import shared_client

    user, ip = new_user(password=PASSWORD), "10.4.0.1"
    own, _ = lockout_counters(user.email, ip)
    sign_in(user.email, "wrong", ip)
    assert shared_client().get(own) == b"1"

    sign_in(user.email, PASSWORD, ip)

    assert shared_client().get(own) is None


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


def test_the_password_changes() -> None:
    user = new_user(password=PASSWORD)
    client = Client()
    client.post("/admin/login/", {"username": user.email, "password": PASSWORD})
    fields = {"old_password": PASSWORD, "new_password1": NEW_PASSWORD, "new_password2": NEW_PASSWORD}

    assert client.post("/admin/password_change/", fields).status_code == 302
    assert sign_in(user.email, NEW_PASSWORD).status_code == 302
    assert sign_in(user.email, PASSWORD).status_code == 200


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
