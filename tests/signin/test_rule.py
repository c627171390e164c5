"""An account that asks its members for a second factor: who is led where, and who switches it."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from evalsvc.accounts.models import Account
from evalsvc.accounts.signing_in.factors import get_factor
from evalsvc.accounts.signing_in.rule import require_factor, stop_requiring_factor
from tests.admin.conftest import PASSWORD, Person, join, member, new_user, signed_in
from tests.conftest import Caller
from tests.console.trail import audit_of
from tests.factories import ok
from tests.reviews.shapes import review_of_outputs
from tests.signin.conftest import YOU, App, Clock, Somebody, give_factor, secret_of

FACTOR = f"{YOU}/factor"


def rule_of(caller: Caller) -> str:
    return f"/console/{caller.account.pk}/members/second-factor"


def row_of(caller: Caller) -> Any:
    return Account.objects.using("system").get(pk=caller.account.pk)


@pytest.fixture
def admin(alice: Caller) -> Person:
    """An admin who has a second factor."""
    person = member(alice.account, "admin")
    give_factor(person.user)
    return person


@pytest.fixture
def required(alice: Caller, admin: Person) -> Caller:
    """Alice's account, which asks for a second factor."""
    require_factor(account=alice.account, actor="test", by=admin.user)
    return alice


def test_an_admin_switches_it_on_and_off(admin: Person, alice: Caller) -> None:
    bare = member(alice.account, "reader")

    admin.client.post(rule_of(alice), {"required": "yes"})
    page = admin.client.get("/console/members", follow=True).content.decode()

    assert row_of(alice).require_second_factor and "One member has none" in page and bare.user.email in page
    assert "API keys and review links keep working" in page
    assert audit_of(alice.account)[0] == ("account.second_factor_required", f"user:{admin.user.pk}")
    assert bare.client.get("/console/").status_code == 302
    admin.client.post(rule_of(alice), {"confirm": "another name"})
    assert row_of(alice).require_second_factor
    admin.client.post(rule_of(alice), {"confirm": alice.account.name})
    assert not row_of(alice).require_second_factor
    assert audit_of(alice.account)[0] == ("account.second_factor_optional", f"user:{admin.user.pk}")
    assert bare.client.get("/console/", follow=True).status_code == 200


def test_whoever_asks_others_has_one(alice: Caller) -> None:
    bare = member(alice.account, "admin")

    page = bare.client.post(rule_of(alice), {"required": "yes"}, follow=True).content.decode()

    assert "Set up a second factor of your own first" in page and not row_of(alice).require_second_factor


@pytest.mark.parametrize("role", ["reader", "editor", "admin"])
def test_a_member_without_one_sees_the_page_that_sets_it_up(required: Caller, role: str) -> None:
    person = member(required.account, role)
    own = f"/console/{required.account.pk}"
    for path in ("/console/", "/console/keys", f"{own}/limits?a=1", f"{own}/nothing", "/admin/"):
        answer = person.client.get(path)
        assert (answer.status_code, answer["Location"].split("?")[0]) == (302, FACTOR), path

    page = person.client.get(f"{own}/limits?a=1", follow=True).content.decode()
    assert required.account.name in page and f'name="next" value="{own}/limits?a=1"' in page
    assert "Members" not in page, "no way to another page of the account"
    assert person.client.get("/console/accounts").status_code == 200


def test_a_form_and_a_poll_are_refused(required: Caller) -> None:
    person = member(required.account, "admin")

    form = person.client.post(f"/console/{required.account.pk}/limits/refusal", {"refusal": "refused"})
    poll = person.client.get(f"/console/{required.account.pk}/experiments/1/live", headers={"HX-Request": "true"})
    of_admin = person.client.post("/admin/delete-account/", {"name": required.account.name})

    assert [form.status_code, poll.status_code, of_admin.status_code] == [403] * 3
    assert "Nothing was saved" in form.content.decode() and required.account.name in of_admin.content.decode()
    assert poll["HX-Redirect"] == FACTOR
    assert not row_of(required).refuse_unrunnable and row_of(required).deleted_at is None


def test_a_review_is_closed_to_them_and_stays_unknown_to_strangers(required: Caller, charlie: Caller) -> None:
    review, _ = review_of_outputs(required, 2)
    path = f"/console/reviews/{review['id']}/queue"
    bare, stranger = member(required.account, "editor"), member(charlie.account, "editor")
    opened = [one.client.get(path) for one in (bare, stranger)]

    assert opened[0]["Location"].split("?")[0] == FACTOR and opened[1].status_code == 404


def test_setting_one_up_opens_the_account(ann: Somebody, required: Caller, clock: Clock) -> None:
    ann.enter()
    assert ann.client.get("/console/").status_code == 302

    ann.set_up(clock)

    assert ann.client.get("/console/", follow=True).status_code == 200


def test_the_codes_lead_on_to_the_page_that_was_asked_for(ann: Somebody, required: Caller, clock: Clock) -> None:
    ann.enter()
    app = App(secret_of(ann.client.get(FACTOR).content.decode()), clock)
    page = ann.post("/factor", code=app.code(), proof=PASSWORD, next="/console/limits").content.decode()

    assert 'href="/console/limits">I have copied them' in page


def test_the_codes_lead_to_no_other_site(ann: Somebody, required: Caller) -> None:
    ann.enter()
    for wanted in ("https://evil.example/", "//evil.example", "javascript:alert(1)"):
        page = ann.client.get(FACTOR, {"next": wanted}).content.decode()
        assert f'<input type="hidden" name="next" value="{YOU}">' in page
    give_factor(ann.user)
    assert ann.client.get(FACTOR, {"next": "//evil.example"})["Location"] == YOU


def test_it_cannot_be_switched_off_meanwhile(guarded: Somebody, required: Caller, admin: Person) -> None:
    guarded.enter()
    assert "It is required by" in guarded.client.get(YOU).content.decode()

    guarded.post("/factor/off", proof=PASSWORD)

    page = guarded.client.get(YOU).content.decode()
    assert "Two-factor authentication stays on" in page and required.account.name in page
    assert get_factor(guarded.user) is not None
    stop_requiring_factor(account=required.account, actor="test")
    guarded.post("/factor/off", proof=PASSWORD)
    assert get_factor(guarded.user) is None


def test_the_accounts_that_do_not_ask_stay_open(required: Caller, charlie: Caller) -> None:
    person = member(required.account, "reader")
    join(person.user, charlie.account, "reader")
    assert person.client.get("/console/").status_code == 302

    person.client.post("/console/accounts", {"account": charlie.account.pk})

    assert charlie.account.name in person.client.get("/console/", follow=True).content.decode()
    assert person.client.get("/console/", follow=True).status_code == 200


def test_keys_and_operators_are_not_asked(required: Caller) -> None:
    operator = signed_in(new_user(is_superuser=True))
    operator.client.post("/console/accounts", {"account": required.account.pk})

    assert required.get("/v1/whoami").status_code == 200
    assert operator.client.get("/console/", follow=True).status_code == 200


@pytest.mark.parametrize("role", ["reader", "editor"])
def test_lower_roles_do_not_switch_it(alice: Caller, role: str) -> None:
    person = member(alice.account, role)
    give_factor(person.user)

    assert person.client.post(rule_of(alice), {"required": "yes"}).status_code == 403
    assert Client().post(rule_of(alice), {"required": "yes"})["Location"].startswith("/console/sign-in")
    assert not row_of(alice).require_second_factor


def test_a_key_switches_it_on_alone(alice: Caller, bob: Caller, charlie: Caller) -> None:
    def patch(caller: Caller, on: bool) -> Any:
        return caller.call("PATCH", "/v1/account", {"require_second_factor": on})

    assert patch(bob, True).status_code == 403
    early = patch(alice, True)
    assert early.status_code == 422 and "No admin" in early.json()["errors"][0]["detail"]
    give_factor(member(alice.account, "admin").user)
    assert patch(alice, True).json()["account"]["require_second_factor"] is True
    late = patch(alice, False)
    assert late.status_code == 422 and late.json()["errors"][0]["pointer"] == "/require_second_factor"
    assert ok(alice.get("/v1/account"))["account"]["require_second_factor"] is True
    assert ok(charlie.get("/v1/account"))["account"]["require_second_factor"] is False
    assert [action for action, _ in audit_of(alice.account)].count("account.second_factor_required") == 1
