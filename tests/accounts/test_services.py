"""The verbs on accounts, people and keys: what each writes, what it refuses, and that all of it or nothing happens."""

from __future__ import annotations

import uuid
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import IntegrityError

from evalsvc.accounts.access.authentication import identify
from evalsvc.accounts.access.keys import hash_secret, new_key_text, parse_key
from evalsvc.accounts.access.rate_limiter import count_requests
from evalsvc.accounts.membership import Membership
from evalsvc.accounts.models import Account, ApiKey, AuditEntry, Member, User
from evalsvc.accounts.selectors import (
    MembershipRow,
    find_key,
    get_account,
    get_key,
    list_audit,
    list_keys,
    list_members,
    list_memberships,
)
from evalsvc.accounts.services import (
    add_member,
    change_account,
    create_account,
    issue_key,
    record_audit,
    remove_member,
    revoke_key,
)
from evalsvc.rest.problems import Invalid, NotFound
from evalsvc.tenancy.scope import SYSTEM, account_scope, role_scope
from tests.conftest import Caller, new_account

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


class Stop(Exception):
    """Ends a transaction from inside."""


def new_person() -> User:
    with role_scope(SYSTEM):
        return User.objects.create_user(f"{uuid.uuid4().hex}@example.org")


def trail(account: Any) -> list[tuple[str, str, str, dict[str, Any]]]:
    # By time: ids of one millisecond that two connections drew are in no order.
    with account_scope(account.pk):
        entries = list_audit(account=account).order_by("-created_at")
        return [(entry.actor, entry.action, entry.target, entry.detail) for entry in entries]


def epoch_of(account: Any) -> str | None:
    return count_requests(account.pk).epoch


def test_a_new_account_starts_its_own_trail() -> None:
    name = f"new {uuid.uuid4().hex}"
    with role_scope(SYSTEM):
        account = create_account(name=name, actor="user:7")
    assert (account.name, account.rpm_limit, account.monthly_limit) == (name, None, None)
    assert trail(account) == [("user:7", "account.created", name, {})]
    assert get_account(id=account.pk).name == name


def test_an_account_name_is_taken_once() -> None:
    first = new_account()
    with role_scope(SYSTEM), pytest.raises(IntegrityError):
        create_account(name=first.name)
    assert len(trail(first)) == 1


def test_ids_of_later_accounts_are_larger() -> None:
    ids = [new_account().pk for _ in range(5)]
    assert ids == sorted(set(ids))


def test_an_account_that_is_not_there_is_not_found() -> None:
    with pytest.raises(NotFound):
        get_account(id=1)


@pytest.mark.parametrize(
    ("limits", "detail"),
    [
        ({"rpm_limit": 5, "monthly_limit": 9}, {"rpm_limit": 5, "monthly_limit": 9}),
        ({"rpm_limit": 0, "monthly_limit": None}, {"rpm_limit": 0}),
        ({"rpm_limit": None, "monthly_limit": None}, {}),
    ],
)
def test_changed_limits_are_stored_and_noted(limits: dict[str, Any], detail: dict[str, int]) -> None:
    account = new_account()
    before, name = epoch_of(account), f"renamed {uuid.uuid4().hex}"
    with role_scope(SYSTEM):
        change_account(account=account, name=name, actor="user:1", **limits)
    found = get_account(id=account.pk)
    assert (found.name, found.rpm_limit, found.monthly_limit) == (name, *limits.values())
    assert trail(account)[0] == ("user:1", "account.changed", name, detail)
    assert epoch_of(account) != before


def test_an_account_keeps_its_name_when_its_limits_change() -> None:
    account = new_account()
    with role_scope(SYSTEM):
        change_account(account=account, name=account.name, rpm_limit=3, monthly_limit=None, actor="user:1")
    assert get_account(id=account.pk).rpm_limit == 3


def test_an_account_cannot_take_the_name_of_another() -> None:
    account, other = new_account(), new_account()
    before = epoch_of(account)
    with role_scope(SYSTEM), pytest.raises(Invalid) as refused:
        change_account(account=account, name=other.name, rpm_limit=1, monthly_limit=1, actor="user:1")
    assert (refused.value.code, refused.value.errors[0].pointer) == ("already_exists", "/name")
    assert (get_account(id=account.pk).name, get_account(id=account.pk).rpm_limit) == (account.name, None)
    assert [action for _, action, _, _ in trail(account)] == ["account.created"]
    assert epoch_of(account) == before


def test_a_member_is_let_in_with_a_role() -> None:
    account, person = new_account(), new_person()
    add_member(account=account, user=person, role=Member.Role.EDITOR, actor="user:2")
    assert list_memberships(user=person) == [MembershipRow(account.pk, account.name, "editor", False, False)]
    assert trail(account)[0] == ("user:2", "member.added", person.email, {"role": "editor"})


def test_letting_a_member_in_again_changes_the_role() -> None:
    account, person = new_account(), new_person()
    for role in (Member.Role.READER, Member.Role.ADMIN):
        add_member(account=account, user=person, role=role)
    with account_scope(account.pk):
        assert [(one.user_id, one.role) for one in list_members(account=account)] == [(person.pk, "admin")]
    (_, changed, _, detail), (_, added, _, _), _ = trail(account)
    assert (changed, added) == ("member.role_changed", "member.added")
    assert detail == {"role": "admin", "before": "reader"}


def test_a_person_belongs_to_several_accounts_oldest_first() -> None:
    first, second, person = new_account(), new_account(), new_person()
    add_member(account=second, user=person, role=Member.Role.ADMIN)
    add_member(account=first, user=person, role=Member.Role.READER)
    assert [row.account_id for row in list_memberships(user=person)] == [first.pk, second.pk]
    assert list_memberships(user=new_person()) == []


def test_a_removed_member_is_out_and_the_others_stay() -> None:
    account, gone, stays = new_account(), new_person(), new_person()
    member = add_member(account=account, user=gone, role=Member.Role.EDITOR)
    add_member(account=account, user=stays, role=Member.Role.READER)
    remove_member(account=account, member=member, actor="user:3")
    assert list_memberships(user=gone) == []
    assert len(list_memberships(user=stays)) == 1
    assert trail(account)[0] == ("user:3", "member.removed", gone.email, {})


def test_an_account_cannot_remove_anothers_member() -> None:
    account, other, person = new_account(), new_account(), new_person()
    member = add_member(account=other, user=person, role=Member.Role.EDITOR)
    with pytest.raises(NotFound):
        remove_member(account=account, member=member, actor="user:3")
    assert [row.account_id for row in list_memberships(user=person)] == [other.pk]


@pytest.mark.parametrize(
    ("role", "may_edit", "may_administer"),
    [("reader", False, False), ("editor", True, False), ("admin", True, True)],
)
def test_a_role_includes_the_ones_below(role: str, may_edit: bool, may_administer: bool) -> None:
    membership = Membership(1, "x", role)
    assert membership.is_at_least(role)
    assert (membership.may_edit, membership.may_administer) == (may_edit, may_administer)


@pytest.mark.parametrize("scope", list(ApiKey.Scope))
def test_an_issued_key_opens_its_account(scope: ApiKey.Scope) -> None:
    account = new_account()
    key, text = issue_key(account=account, name="mine", scope=scope, actor="user:4")
    caller = identify(text)
    assert caller is not None
    assert (caller.account.pk, caller.key.id, caller.key.scope) == (account.pk, key.pk, scope.value)
    assert caller.actor == f"key:{key.pk}"
    assert trail(account)[0] == ("user:4", "key.issued", f"ek_{text.public}", {"scope": scope.value})


def test_the_trail_holds_no_secret() -> None:
    account = new_account()
    _, text = issue_key(account=account, name="mine")
    assert text.secret not in repr(trail(account))


def test_a_given_text_becomes_the_key() -> None:
    text = new_key_text()
    key, same = issue_key(account=new_account(), name="given", text=text)
    assert (same, key.public, bytes(key.secret_hash)) == (text, text.public, hash_secret(text.secret))


def test_a_public_half_belongs_to_one_key() -> None:
    text, other = new_key_text(), new_account()
    issue_key(account=new_account(), name="first", text=text)
    with pytest.raises(Invalid):
        issue_key(account=other, name="second", text=text)
    assert [action for _, action, _, _ in trail(other)] == ["account.created"]


def test_an_expired_key_opens_nothing() -> None:
    _, text = issue_key(account=new_account(), name="old", expires_at=datetime.now(UTC) - timedelta(seconds=1))
    assert identify(text) is None


def test_a_key_with_anothers_secret_opens_nothing(alice: Caller, charlie: Caller) -> None:
    mine, other = parse_key(alice.key), parse_key(charlie.key)
    assert mine and other
    assert identify(mine._replace(secret=other.secret)) is None
    assert identify(mine) is not None


@pytest.mark.parametrize(
    ("revoked_at", "expires_at", "live"),
    [
        (None, None, True),
        (None, NOW + timedelta(microseconds=1), True),
        (None, NOW, False),
        (None, NOW - timedelta(days=1), False),
        (NOW, None, False),
        (NOW, NOW + timedelta(days=1), False),
    ],
)
def test_a_key_is_live_until_it_ends(revoked_at: Any, expires_at: Any, live: bool) -> None:
    assert ApiKey(revoked_at=revoked_at, expires_at=expires_at).is_live(NOW) is live


def test_a_revoked_key_is_noted_and_bumps_the_epoch() -> None:
    account = new_account()
    key, text = issue_key(account=account, name="mine")
    before = epoch_of(account)
    assert revoke_key(account=account, key=key, now=NOW, actor="user:5").revoked_at == NOW
    row = find_key(text.public)
    assert row is not None and row.revoked_at == NOW
    assert trail(account)[0] == ("user:5", "key.revoked", f"ek_{text.public}", {})
    assert epoch_of(account) != before


def test_a_second_revocation_changes_nothing() -> None:
    account = new_account()
    key, text = issue_key(account=account, name="mine")
    revoke_key(account=account, key=key, now=NOW)
    before, entries = epoch_of(account), trail(account)
    with pytest.raises(Invalid):
        revoke_key(account=account, key=key, now=NOW + timedelta(days=1))
    row = find_key(text.public)
    assert row is not None and row.revoked_at == NOW
    assert (epoch_of(account), trail(account)) == (before, entries)


def test_an_account_cannot_revoke_anothers_key(alice: Caller) -> None:
    account = new_account()
    key, text = issue_key(account=account, name="mine")
    with pytest.raises(Invalid):
        revoke_key(account=alice.account, key=key, now=NOW)
    assert identify(text) is not None
    with account_scope(alice.account.pk), pytest.raises(NotFound):
        get_key(account=alice.account, id=key.pk)


def test_a_rolled_back_revocation_never_was() -> None:
    account = new_account()
    key, text = issue_key(account=account, name="mine")
    before, entries = epoch_of(account), trail(account)
    with pytest.raises(Stop), account_scope(account.pk):
        revoke_key(account=account, key=key, now=NOW)
        raise Stop
    assert (epoch_of(account), trail(account)) == (before, entries)
    assert identify(text) is not None


def test_a_rolled_back_key_never_was() -> None:
    account = new_account()
    with pytest.raises(Stop), account_scope(account.pk):
        _, text = issue_key(account=account, name="mine")
        raise Stop
    assert find_key(text.public) is None
    with account_scope(account.pk):
        assert not list_keys(account=account).exists()
    assert len(trail(account)) == 1


def test_the_epoch_moves_after_the_commit_and_not_before() -> None:
    account = new_account()
    key, _ = issue_key(account=account, name="mine")
    before = epoch_of(account)
    with account_scope(account.pk):
        revoke_key(account=account, key=key, now=NOW)
        assert epoch_of(account) == before
    assert epoch_of(account) != before


def test_keys_and_trail_are_listed_newest_first() -> None:
    account = new_account()
    keys = [issue_key(account=account, name=name)[0] for name in "abc"]
    with account_scope(account.pk):
        assert [key.name for key in list_keys(account=account)] == ["c", "b", "a"]
        assert get_key(account=account, id=keys[1].pk).name == "b"
    assert [target for _, action, target, _ in trail(account) if action == "key.issued"] == [
        f"ek_{key.public}" for key in reversed(keys)
    ]


def test_an_entry_is_cut_to_its_columns_and_keeps_what_is_not_nothing() -> None:
    account = new_account()
    with account_scope(account.pk):
        record_audit(
            account=account, actor="a" * 500, action="x", target="t" * 500, zero=0, no=False, empty="", gone=None
        )
    assert trail(account)[0] == ("a" * 120, "x", "t" * 200, {"zero": 0, "no": False, "empty": ""})


def test_an_entry_names_its_action() -> None:
    account = new_account()
    with pytest.raises(IntegrityError), account_scope(account.pk):
        record_audit(account=account, actor="a", action="", target="t")
    assert len(trail(account)) == 1


def test_a_trail_is_its_accounts_alone(alice: Caller, charlie: Caller) -> None:
    with account_scope(charlie.account.pk):
        assert not list_audit(account=alice.account).exists()
        assert set(AuditEntry.objects.values_list("account_id", flat=True)) == {charlie.account.pk}
        assert list(Account.objects.values_list("pk", flat=True)) == [charlie.account.pk]


def test_an_e_mail_address_is_one_person_whatever_its_case() -> None:
    email = f"{uuid.uuid4().hex}@example.org"
    with role_scope(SYSTEM):
        person = User.objects.create_user(email.upper(), "secret")
        assert (person.email, person.is_staff, person.is_superuser) == (email, False, False)
        assert User.objects.get_by_natural_key(email.upper()) == person
        assert person.check_password("secret") and not person.check_password("Secret")
        with pytest.raises(IntegrityError):
            User.objects.create_user(email.title())
