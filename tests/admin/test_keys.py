"""API keys: issued with the secret shown once, revoked after a question."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest

from tests.admin.conftest import Person, key_of
from tests.conftest import Caller

SHAPE = re.compile(r"ek_[a-z0-9]{16}\.[A-Za-z0-9_-]{43}")


def issued(answer: Any) -> str:
    found = SHAPE.search(html.unescape(answer.content.decode()))
    assert found, answer.content.decode()
    return found[0]


def issue(person: Person, **fields: Any) -> Any:
    return person.post("accounts/apikey/add/", **({"name": "ci", "scope": "write"} | fields))


def test_it_issues(admin: Person, alice: Caller) -> None:
    answer = issue(admin)
    key = issued(answer)

    assert answer.status_code == 200
    assert "no-store" in answer["Cache-Control"]
    assert Caller(alice.account, key).get("/v1/whoami").json()["caller"]["api_key"]["account"]["id"] == str(
        alice.account.pk
    )


def test_the_secret_is_kept_nowhere(admin: Person, alice: Caller, caplog: pytest.LogCaptureFixture) -> None:
    from django.contrib.sessions.models import Session

    from evalsvc.accounts.access.session_store import compute_digest
    from evalsvc.accounts.models import AuditEntry

    key = issued(issue(admin))
    secret = key.split(".")[1]
    session = Session.objects.get(pk=compute_digest(admin.client.session.session_key))
    pages = [admin.get(path).content.decode() for path in ("", "accounts/apikey/", "accounts/auditentry/")]

    assert secret not in str(session.get_decoded())
    assert all(secret not in cookie.value for cookie in admin.client.cookies.values())
    assert all(secret not in page for page in pages)
    assert secret not in caplog.text
    entry = AuditEntry.objects.using("system").filter(account=alice.account, action="key.issued").latest("id")
    assert secret not in f"{entry.target} {entry.detail}"
    assert entry.actor == f"user:{admin.user.pk}"


def test_it_revokes_after_a_question(admin: Person, alice: Caller) -> None:
    key = issued(issue(admin))
    row = key_of(Caller(alice.account, key))

    assert "Revoke the key ci?" in admin.get(f"accounts/apikey/{row.pk}/revoke/").content.decode()
    assert Caller(alice.account, key).get("/v1/whoami").status_code == 200
    assert admin.post(f"accounts/apikey/{row.pk}/revoke/").status_code == 302
    assert Caller(alice.account, key).get("/v1/whoami").status_code == 401


def test_it_revokes_once(admin: Person, alice: Caller) -> None:
    row = key_of(alice)
    admin.post(f"accounts/apikey/{row.pk}/revoke/")

    answer = admin.client.post(f"/admin/accounts/apikey/{row.pk}/revoke/", follow=True)

    assert "has been revoked already" in answer.content.decode()


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_it_refuses_lower_roles(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person = request.getfixturevalue(who)

    assert issue(person).status_code == 403
    assert person.post(f"accounts/apikey/{key_of(alice).pk}/revoke/").status_code == 403
    assert alice.get("/v1/whoami").status_code == 200


def test_a_key_is_not_changed(admin: Person, alice: Caller) -> None:
    row = key_of(alice)

    assert admin.post(f"accounts/apikey/{row.pk}/change/", name="new", scope="write").status_code == 403


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"name": ""}, "name"),
        ({"name": "x" * 101}, "name"),
        ({"name": "a\0b"}, "name"),
        ({"scope": "root"}, "scope"),
        ({"expires_at_0": "2020-01-01", "expires_at_1": "00:00:00"}, "expires_at"),
    ],
)
def test_wrong_fields_are_named(admin: Person, fields: dict[str, str], field: str) -> None:
    answer = issue(admin, **fields)

    assert answer.status_code == 200
    assert list(answer.context_data["adminform"].form.errors) == [field]


def test_an_operator_issues_for_an_account(operator: Person, alice: Caller) -> None:
    key = issued(issue(operator, account=alice.account.pk))

    assert Caller(alice.account, key).get("/v1/whoami").status_code == 200
    assert list(issue(operator).context_data["adminform"].form.errors) == ["account"]
