"""Whoever leaves an account, or is its admin no more, has links that let people in: they open nothing any more."""

from __future__ import annotations

import re
import uuid
from typing import Any

import pytest
from django.test import Client

from tests.admin.conftest import join, member, new_user, signed_in
from tests.conftest import Caller
from tests.console.conftest import Visitor, visitor
from tests.console.trail import audit_of
from tests.reviews.linking import fields_of, queue_of
from tests.reviews.linking import visitor as visitor_by
from tests.reviews.shapes import review_of_outputs

GOOD = "a long and good password"


def link_of(admin: Visitor, email: str, role: str = "admin") -> str:
    answer = admin.post("members/invite", email=email, role=role, ends="30")
    found = re.search(r"/console/invitations/[a-z0-9]{16}\.[A-Za-z0-9_-]{43}", answer.content.decode())
    assert found
    return found[0]


def address() -> str:
    return f"{uuid.uuid4().hex[:12]}@example.com"


def row_of(user: Any, caller: Caller) -> int:
    from evalsvc.accounts.models import Member

    return int(Member.objects.using("system").get(account=caller.account, user=user).pk)


def test_an_admin_who_is_removed_left_no_way_in(admin: Visitor, alice: Caller) -> None:
    """They know the address of the link, and could choose the password of whoever they have invited."""
    mallory = visitor(member(alice.account, "admin"))
    link, email = link_of(mallory, address()), mallory.user.email
    others = link_of(admin, address())

    assert admin.post(f"members/{row_of(mallory.user, alice)}/remove", confirm=email).status_code == 302
    assert Client().get(link).status_code == Client().post(link, {"password": GOOD}).status_code == 404
    assert Client().get(others).status_code == 200
    assert sorted(row[0] for row in audit_of(alice.account)[:2]) == ["invitation.withdrawn", "member.removed"]


def test_an_admin_who_is_made_less_left_no_way_to_be_more(admin: Visitor, alice: Caller) -> None:
    mallory = visitor(member(alice.account, "admin"))
    link = link_of(mallory, address())

    assert admin.post(f"members/{row_of(mallory.user, alice)}", role="reader").status_code == 302
    assert Client().get(link).status_code == 404


def test_an_invitation_of_before_does_not_let_a_removed_person_in_again(admin: Visitor, alice: Caller) -> None:
    """They were invited, and let in by the operator before they had opened the link."""
    user = new_user()
    link = link_of(admin, user.email, "reader")
    join(user, alice.account, "reader")

    assert admin.post(f"members/{row_of(user, alice)}/remove", confirm=user.email).status_code == 302
    assert signed_in(user).client.post(link).status_code == 404


def test_an_admin_who_is_switched_off_lets_nobody_in(admin: Visitor) -> None:
    link = link_of(admin, address())
    type(admin.user).objects.using("system").filter(pk=admin.user.pk).update(is_active=False)

    assert Client().get(link).status_code == 404


def review_link_of(editor: Visitor, review: Any, name: str = "Dana") -> str:
    sent = {"act": "link", "name": name, "days": "90"}
    page = editor.post(f"reviews/{review['id']}/act", **sent).content.decode()
    found = re.search(r"/reviews/[0-9a-f-]{36}/enter/rl_[a-z0-9]{16}\.[A-Za-z0-9_-]{43}", page)
    assert found
    return found[0]


def removed(admin: Visitor, gone: Visitor, caller: Caller) -> None:
    admin.post(f"members/{row_of(gone.user, caller)}/remove", confirm=gone.user.email)


def made_a_reader(admin: Visitor, gone: Visitor, caller: Caller) -> None:
    admin.post(f"members/{row_of(gone.user, caller)}", role="reader")


def switched_off(admin: Visitor, gone: Visitor, caller: Caller) -> None:
    type(gone.user).objects.using("system").filter(pk=gone.user.pk).update(is_active=False)


@pytest.mark.parametrize("end", [removed, made_a_reader, switched_off])
def test_an_editor_who_leaves_reads_on_by_no_link_of_theirs(
    admin: Visitor, editor: Visitor, alice: Caller, end: Any
) -> None:
    review, criteria = review_of_outputs(alice)
    link, path = review_link_of(editor, review), queue_of(review)
    client = visitor_by({"url": f"http://testserver{link}"})
    fields = fields_of(client.get(path))
    others = review_link_of(admin, review, "Dan")
    end(admin, editor, alice)

    assert client.get(path).status_code == 302
    assert client.post(path, fields | {f"q-{criteria['id']}": "pass"}).status_code == 302
    assert Client().get(link).status_code == 404
    assert Client().get(others).status_code == 200
    shown = admin.text(f"reviews/{review['id']}", tab="links")
    assert (shown.count("opens the queue"), shown.count("inactive: its creator can no longer edit")) == (1, 1)
    assert shown.count("> the link of Dan") == 2, "who comes back would open it again"


def test_an_operators_link_needs_no_membership(operator: Visitor, alice: Caller) -> None:
    review, _ = review_of_outputs(alice)
    operator.post("accounts", account=str(alice.account.pk))

    assert Client().get(review_link_of(operator, review)).status_code == 200


def test_an_operators_invitation_needs_no_membership(operator: Visitor, alice: Caller) -> None:
    operator.post("accounts", account=str(alice.account.pk))

    assert Client().get(link_of(operator, address())).status_code == 200
