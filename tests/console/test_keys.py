"""Keys: issued by an admin, shown in one answer, used, and revoked by name."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import HOSTILE_NAME, key_of
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import audit_of
from tests.factories import ok

SHAPE = re.compile(r"ek_[a-z0-9]{16}\.[A-Za-z0-9_-]{43}")


def issue(person: Visitor, **fields: Any) -> Any:
    return person.post("keys/new", **({"name": "ci", "scope": "write", "ends": "", "_once": "a word"} | fields))


def issued(answer: Any) -> str:
    found = SHAPE.search(html.unescape(answer.content.decode()))
    assert found, answer.content.decode()
    return found[0]


def test_a_key_is_issued_and_works(admin: Visitor, alice: Caller) -> None:
    answer = issue(admin, scope="read", ends="7")
    told = ok(Caller(alice.account, issued(answer)).get("/v1/whoami"))["caller"]["api_key"]

    assert answer.status_code == 200 and "no-store" in answer["Cache-Control"]
    assert (told["account"]["id"], told["scope"]) == (str(alice.account.pk), "read") and told["expires_at"]
    assert audit_of(alice.account)[0] == ("key.issued", f"user:{admin.user.pk}")


def test_it_is_shown_in_no_other_answer(admin: Visitor, alice: Caller, caplog: pytest.LogCaptureFixture) -> None:
    text = issued(issue(admin))
    secret = text.split(".")[1]
    row = key_of(Caller(alice.account, text))
    pages = [admin.text(path) for path in ("keys", "keys?state=all", f"keys/{row.pk}", "keys/new", "")]

    assert all(secret not in page for page in pages) and secret not in caplog.text
    assert all(secret not in cookie.value for cookie in admin.client.cookies.values())


def test_a_form_sent_twice_issues_one_key(admin: Visitor, alice: Caller) -> None:
    from evalsvc.accounts.models import ApiKey

    issue(admin)
    again = issue(admin)

    assert again["Location"] == admin.at("keys") and not SHAPE.search(admin.text("keys"))
    assert ApiKey.objects.using("system").filter(account=alice.account, name="ci").count() == 1
    assert issued(issue(admin, _once="another word"))


def test_two_people_may_send_the_same_word(admin: Visitor, stranger: Visitor) -> None:
    assert issued(issue(admin)).split(".")[0] != issued(issue(stranger)).split(".")[0]


def test_the_list_says_who_issued_it_and_when_it_was_used(admin: Visitor, alice: Caller) -> None:
    text = issued(issue(admin))
    unused = admin.text("keys")
    ok(Caller(alice.account, text).get("/v1/whoami"))
    used = admin.text(f"keys/{key_of(Caller(alice.account, text)).pk}")

    assert admin.user.email in unused and "not yet" not in used
    assert re.search(r"Last used</dt><dd><time", used)


def test_a_use_is_written_now_and_then(alice: Caller) -> None:
    from evalsvc.accounts.access.rate_limiter import bump_epoch

    ok(alice.get("/v1/whoami"))
    first = key_of(alice).used_at
    bump_epoch(alice.account.pk)
    ok(alice.get("/v1/whoami"))

    assert first is not None and key_of(alice).used_at == first


def test_it_is_revoked_by_its_name(admin: Visitor, alice: Caller) -> None:
    caller = Caller(alice.account, issued(issue(admin)))
    path = f"keys/{key_of(caller).pk}"
    assert admin.post(path, confirm="other").status_code == 422
    ok(caller.get("/v1/whoami"))
    assert admin.post(path, confirm="ci")["Location"] == admin.at("keys")

    assert caller.get("/v1/whoami").status_code == 401
    assert "is revoked. Requests with it" in admin.text("keys")
    assert "revoked" in admin.text("keys", state="all") and "Revoke</h2>" not in admin.text(path)
    assert audit_of(alice.account)[0] == ("key.revoked", f"user:{admin.user.pk}")
    assert admin.post(path, confirm="ci").status_code == 422


@pytest.mark.parametrize("name", ["", "x" * 101, "a\u202eb", "   "])
def test_a_wrong_name_is_told_at_its_field(admin: Visitor, name: str) -> None:
    answer = issue(admin, name=name, scope="read")
    page = answer.content.decode()

    assert answer.status_code == 422 and 'aria-describedby="e-name"' in page
    assert re.search(r'<option value="read" selected>', page)


def test_what_is_not_offered_gives_the_least(admin: Visitor, alice: Caller) -> None:
    row = key_of(Caller(alice.account, issued(issue(admin, scope="root", ends="-1"))))

    assert (row.scope, row.expires_at) == ("read", None)


def test_a_hostile_name_stays_a_text(admin: Visitor, alice: Caller) -> None:
    row = key_of(Caller(alice.account, issued(issue(admin, name=HOSTILE_NAME[:100]))))
    pages = [admin.text("keys"), admin.text(f"keys/{row.pk}")]

    assert not [page for page in pages if "<script>alert" in page or "<img src=x" in page]


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_lower_roles_see_and_do_nothing(request: pytest.FixtureRequest, who: str, alice: Caller) -> None:
    person = request.getfixturevalue(who)
    path = f"keys/{key_of(alice).pk}"
    answers = [
        person.get("keys"),
        person.get(path),
        person.get("keys/new"),
        issue(person),
        person.post(path, confirm="test"),
    ]

    assert [answer.status_code for answer in answers] == [403] * 5
    ok(alice.get("/v1/whoami"))
    assert person.at("keys") not in person.text("limits")


def test_a_stranger_finds_nothing(stranger: Visitor, alice: Caller) -> None:
    path = f"keys/{key_of(alice).pk}"
    ours = stranger.get(path).content
    nowhere = stranger.get("keys/1").content

    assert stranger.get(path).status_code == stranger.post(path, confirm="test").status_code == 404
    assert ours.replace(path.encode(), b"") == nowhere.replace(b"keys/1", b"") or b"no such" not in ours
    assert key_of(alice).public not in stranger.text("keys", state="all")
    ok(alice.get("/v1/whoami"))


def test_forms_need_their_token_and_their_account(admin: Visitor, charlie: Caller) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(admin.user)

    assert client.post(admin.at("keys/new"), {"name": "ci"}).status_code == 403
    assert issue(admin, _account=charlie.account.pk).status_code == 409
    assert 'name="_account"' in admin.text("keys/new")


def test_many_keys_cost_few_queries(admin: Visitor, alice: Caller) -> None:
    from evalsvc.accounts.services import issue_key

    for i in range(55):
        issue_key(account=alice.account, name=f"k{i}", actor=f"user:{admin.user.pk}")
    page = admin.text("keys")
    cursor = re.search(r"cursor=(\d+)", page)

    assert admin.n_queries("keys") <= 15
    assert "k54" in page and ">k0<" not in page
    assert cursor and ">k0<" in admin.text("keys", cursor=cursor[1])
