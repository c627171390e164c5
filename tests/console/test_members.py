"""Members: roles, removal, and the last admin who stays."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.admin.conftest import join, new_user
from tests.conftest import Caller
from tests.console.conftest import Visitor
from tests.console.trail import audit_of


def membership(account: Any, person: Visitor) -> Any:
    from evalsvc.accounts.models import Member

    return Member.objects.using("system").filter(account=account, user=person.user).first()


def role_of(account: Any, person: Visitor) -> str | None:
    found = membership(account, person)
    return found and found.role


def test_a_role_is_changed_and_holds_on_the_next_page(admin: Visitor, reader: Visitor, alice: Caller) -> None:
    path = f"members/{membership(alice.account, reader).pk}"
    assert admin.post(path, role="admin")["Location"] == admin.at("members")

    assert reader.get("members").status_code == 200
    assert f"{reader.user.email} is admin here" in admin.text("members")
    assert audit_of(alice.account)[0] == ("member.role_changed", f"user:{admin.user.pk}")


def test_who_is_removed_sees_nothing_more(admin: Visitor, editor: Visitor, alice: Caller) -> None:
    path = f"members/{membership(alice.account, editor).pk}/remove"
    assert admin.post(path, confirm="somebody@else").status_code == 422
    assert editor.get("").status_code == 200
    assert admin.post(path, confirm=editor.user.email)["Location"] == admin.at("members")

    assert editor.get("")["Location"].startswith("/console/accounts?next=")
    assert audit_of(alice.account)[0] == ("member.removed", f"user:{admin.user.pk}")
    assert admin.post(path, confirm=editor.user.email).status_code == 404


@pytest.mark.parametrize("act", ["lower", "leave"])
def test_the_last_admin_stays(admin: Visitor, editor: Visitor, alice: Caller, act: str) -> None:
    path = f"members/{membership(alice.account, admin).pk}"
    if act == "lower":
        answer = admin.post(path, role="reader")
    else:
        answer = admin.post(f"{path}/remove", confirm=admin.user.email)

    assert answer.status_code == 422 and "last admin" in answer.content.decode()
    assert role_of(alice.account, admin) == "admin"


def test_an_admin_who_cannot_sign_in_counts_for_nothing(admin: Visitor, alice: Caller) -> None:
    user = new_user(is_active=False)
    join(user, alice.account, "admin")

    assert admin.post(f"members/{membership(alice.account, admin).pk}", role="reader").status_code == 422


def test_one_of_two_admins_may_leave(admin: Visitor, alice: Caller) -> None:
    join(new_user(), alice.account, "admin")
    answer = admin.post(f"members/{membership(alice.account, admin).pk}/remove", confirm=admin.user.email)

    assert answer["Location"] == "/console/" and role_of(alice.account, admin) is None


def test_of_two_admins_who_leave_at_once_one_stays(alice: Caller) -> None:
    from django.db import connections

    from evalsvc.accounts.models import Member
    from evalsvc.accounts.services import remove_member
    from evalsvc.rest.problems import Invalid

    for _ in range(2):
        join(new_user(), alice.account, "admin")
    rows = list(Member.objects.using("system").filter(account=alice.account, role="admin"))
    gate, refused = threading.Barrier(2), []

    def leave(member: Any) -> None:
        gate.wait()
        try:
            remove_member(account=alice.account, member=member, actor="test")
        except Invalid as exc:
            refused.append(exc)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=leave, args=(row,)) for row in rows]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(refused) == 1
    assert Member.objects.using("system").filter(account=alice.account, role="admin").count() == 1


def test_the_operator_is_bound_by_it_too(operator: Visitor, admin: Visitor, alice: Caller) -> None:
    path = f"/admin/accounts/member/{membership(alice.account, admin).pk}/delete/"
    answer = operator.client.post(path, {"post": "yes"})

    assert answer.status_code == 422 and role_of(alice.account, admin) == "admin"


@pytest.mark.parametrize("who", ["reader", "editor"])
def test_lower_roles_see_and_do_nothing(
    request: pytest.FixtureRequest, who: str, admin: Visitor, alice: Caller
) -> None:
    person = request.getfixturevalue(who)
    path = f"members/{membership(alice.account, person).pk}"
    answers = [
        person.get("members"), person.get(path), person.post(path, role="admin"),
        person.post(f"{path}/remove", confirm=person.user.email), person.get("members/invite"),
        person.post("members/invite", email="a@example.com"), person.post("members/withdraw", invitation="1"),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [403] * 7
    assert role_of(alice.account, person) == who


def test_a_stranger_finds_nothing(stranger: Visitor, reader: Visitor, alice: Caller) -> None:
    path = f"members/{membership(alice.account, reader).pk}"
    answers = [
        stranger.get(path), stranger.post(path, role="admin"),
        stranger.post(f"{path}/remove", confirm=reader.user.email),
    ]  # fmt: skip
    assert [answer.status_code for answer in answers] == [404] * 3
    assert reader.user.email not in stranger.text("members")
    assert role_of(alice.account, reader) == "reader"


def test_a_role_that_is_none_is_refused(admin: Visitor, reader: Visitor, alice: Caller) -> None:
    assert admin.post(f"members/{membership(alice.account, reader).pk}", role="owner").status_code == 422


def test_many_members_cost_few_queries(admin: Visitor, alice: Caller) -> None:
    for _ in range(55):
        join(new_user(), alice.account, "reader")

    assert admin.n_queries("members") <= 15
    assert "page=2" in admin.text("members")
