"""Invitations: a link, shown once, lets one person in, once."""

from __future__ import annotations

import html
import re
import threading
import uuid
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client, override_settings
from django.utils import timezone

from tests.admin.conftest import new_user, signed_in
from tests.conftest import Caller
from tests.console.conftest import Visitor, visitor
from tests.console.trail import audit_of

GOOD = "a long and good password"
LINK = re.compile(r"http://testserver(/console/invitations/[a-z0-9]{16}\.[A-Za-z0-9_-]{43})")


def address() -> str:
    return f"{uuid.uuid4().hex[:12]}@example.com"


def invited(admin: Visitor, email: str, role: str = "editor") -> str:
    answer = admin.post("members/invite", email=email, role=role, ends="7")
    found = LINK.search(html.unescape(answer.content.decode()))
    assert found, answer.content.decode()
    return found[1]


def members_of(account: Any) -> dict[str, str]:
    from evalsvc.accounts.models import Member

    rows = Member.objects.using("system").filter(account=account)
    return dict(rows.values_list("user__email", "role"))


def token_row(account: Any) -> Any:
    from evalsvc.accounts.models import Invitation

    return Invitation.objects.using("system").filter(account=account).latest("id")


def test_a_new_person_chooses_a_password_and_is_in(admin: Visitor, alice: Caller) -> None:
    email, client = address(), Client()
    link = invited(admin, email.upper())
    page = client.get(link)
    answer = client.post(link, {"name": "Ann", "password": GOOD})

    assert page.status_code == 200 and alice.account.name in page.content.decode()
    assert answer["Location"] == admin.at()
    assert alice.account.name in client.get(admin.at()).content.decode()
    assert members_of(alice.account)[email] == "editor"
    assert [row[0] for row in audit_of(alice.account)[:2]] == ["signin.succeeded", "invitation.accepted"]
    assert Client().login(username=email, password=GOOD)


def test_the_link_is_shown_once_and_its_secret_is_kept_nowhere(admin: Visitor, alice: Caller) -> None:
    email = address()
    secret = invited(admin, email).split(".")[1]
    page = admin.text("members")

    assert email in page and secret not in page
    assert secret.encode() not in bytes(token_row(alice.account).secret_hash)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:443", "testserver"])
def test_the_link_begins_with_the_public_address(admin: Visitor, host: str) -> None:
    """Also where every name is let in: whoever can choose the host of a request must not choose where its link leads."""
    sent = {"email": address(), "role": "reader", "ends": "7"}
    with override_settings(PUBLIC_URL="https://evals.example.com/app", ALLOWED_HOSTS=["*"]):
        page = admin.client.post(admin.at("members/invite"), sent, headers={"Host": host}).content.decode()

    assert re.findall(r"(\S+)/console/invitations/", page.replace("<code>", " ")) == ["https://evals.example.com/app"]


def test_a_host_that_is_not_the_services_makes_no_link(admin: Visitor) -> None:
    sent = {"email": address(), "role": "reader", "ends": "7"}

    assert admin.client.post(admin.at("members/invite"), sent, headers={"Host": "evil.example"}).status_code == 400
    assert sent["email"] not in admin.text("members")


def test_looking_uses_nothing_up(admin: Visitor) -> None:
    link = invited(admin, address())
    answers = [Client().get(link) for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200] * 3
    assert answers[0]["Referrer-Policy"] == "strict-origin" and "no-store" in answers[0]["Cache-Control"]


def test_it_works_once(admin: Visitor) -> None:
    link = invited(admin, address())
    Client().post(link, {"password": GOOD})

    assert Client().get(link).status_code == Client().post(link, {"password": GOOD}).status_code == 404


def test_of_two_who_accept_at_once_one_is_let_in(admin: Visitor, alice: Caller) -> None:
    link, gate, codes = invited(admin, address()), threading.Barrier(2), []

    def accept() -> None:
        from django.db import connections

        gate.wait()
        codes.append(Client().post(link, {"password": GOOD}).status_code)
        connections.close_all()

    threads = [threading.Thread(target=accept) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert codes.count(302) == 1
    assert [action for action, _ in audit_of(alice.account)].count("invitation.accepted") == 1


def test_whoever_has_a_sign_in_uses_it(admin: Visitor, alice: Caller) -> None:
    person = signed_in(new_user())
    link = invited(admin, person.user.email)
    told = Client().post(link, {"password": GOOD})

    assert told.status_code == 302 and link.replace("/", "%2F") in told["Location"].replace("/", "%2F")
    assert person.client.post(link)["Location"] == admin.at()
    assert members_of(alice.account)[person.user.email] == "editor"


def test_it_is_for_one_person(admin: Visitor, stranger: Visitor, alice: Caller) -> None:
    link = invited(admin, address())

    assert "who is not invited" in stranger.client.get(link).content.decode()
    assert stranger.client.post(link).status_code == 403
    assert stranger.user.email not in members_of(alice.account)


def test_a_bad_password_is_told_at_its_field(admin: Visitor, alice: Caller) -> None:
    email = address()
    link = invited(admin, email)
    answer = Client().post(link, {"name": "Ann", "password": "short"})

    assert answer.status_code == 422 and "e-password" in answer.content.decode()
    assert 'value="Ann"' in answer.content.decode() and ">short<" not in answer.content.decode()
    assert email not in members_of(alice.account)
    uniform = Client().post(link, {"name": "Ann", "password": "a" * 12})
    assert uniform.status_code == 422 and "at least 5 different characters" in uniform.content.decode()
    assert Client().post(link, {"password": GOOD}).status_code == 302


def test_withdrawn_over_and_replaced_links_open_nothing(admin: Visitor, alice: Caller) -> None:
    from evalsvc.accounts.models import Invitation

    email = address()
    replaced, withdrawn = invited(admin, email), invited(admin, email)
    admin.post("members/withdraw", invitation=token_row(alice.account).pk)
    over = invited(admin, address())
    Invitation.objects.using("system").filter(pk=token_row(alice.account).pk).update(
        expires_at=timezone.now() - timedelta(seconds=1)
    )

    assert [Client().get(link).status_code for link in (replaced, withdrawn, over)] == [404] * 3
    assert [Client().post(link, {"password": GOOD}).status_code for link in (replaced, over)] == [404] * 2
    assert ">over<" in admin.text("members")
    assert "invitation.withdrawn" in [action for action, _ in audit_of(alice.account)]


def test_a_forged_link_opens_nothing(admin: Visitor) -> None:
    link = invited(admin, address())
    forged = [f"{link[:-1]}{'A' if link[-1] != 'A' else 'B'}", "/console/invitations/x", f"{link}x", f"{link}%00"]

    assert [Client().get(one).status_code for one in forged] == [404] * 4


def test_an_account_that_is_off_lets_nobody_in(admin: Visitor, alice: Caller) -> None:
    from evalsvc.accounts.services import switch_account

    link = invited(admin, address())
    switch_account(account=alice.account, is_on=False, reason="test", actor="test")

    assert Client().post(link, {"password": GOOD}).status_code == 404
    switch_account(account=alice.account, is_on=True, reason="test", actor="test")


def test_a_member_is_not_invited_and_keeps_their_role(admin: Visitor, reader: Visitor, alice: Caller) -> None:
    from tests.admin.conftest import join

    answer = admin.post("members/invite", email=reader.user.email, role="admin")
    late = signed_in(new_user())
    link = invited(admin, late.user.email, "admin")
    join(late.user, alice.account, "reader")
    late.client.post(link)

    assert answer.status_code == 422 and "member already" in answer.content.decode()
    assert members_of(alice.account)[late.user.email] == "reader"


@pytest.mark.parametrize("email", ["", "nobody", "a@b@c", "x" * 260 + "@example.com"])
def test_a_wrong_address_is_told_at_its_field(admin: Visitor, email: str) -> None:
    answer = admin.post("members/invite", email=email, role="reader")

    assert answer.status_code == 422 and "e-email" in answer.content.decode()


def test_what_is_not_offered_gives_the_least(admin: Visitor, alice: Caller) -> None:
    admin.post("members/invite", email=address(), role="owner", ends="9999")
    row = token_row(alice.account)

    assert row.role == "reader" and row.expires_at < timezone.now() + timedelta(days=8)


def test_a_stranger_withdraws_nothing(admin: Visitor, stranger: Visitor, alice: Caller) -> None:
    link = invited(admin, address())

    assert stranger.post("members/withdraw", invitation=token_row(alice.account).pk).status_code == 404
    assert Client().get(link).status_code == 200


def test_an_invited_person_needs_the_forms_token(admin: Visitor, alice: Caller) -> None:
    email = address()
    link = invited(admin, email)

    assert Client(enforce_csrf_checks=True).post(link, {"password": GOOD}).status_code == 403
    assert email not in members_of(alice.account)


def test_many_tries_of_an_address_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evalsvc.accounts.invitations.TRIES_PER_ADDRESS", 0)

    response = Client(REMOTE_ADDR="203.0.113.9").get("/console/invitations/x")

    assert response.status_code == 429
    assert 0 < int(response.headers["Retry-After"]) <= 900


def test_another_account_is_shown_once_it_was_joined(admin: Visitor, stranger: Visitor, alice: Caller) -> None:
    stranger.client.post(invited(admin, stranger.user.email, "reader"))

    assert alice.account.name in visitor(stranger).text()
