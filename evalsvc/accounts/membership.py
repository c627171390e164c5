"""Which account a signed-in member is looking at, and what their role lets them do there."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest

from evalsvc.accounts.access.session_store import take_session_memberships
from evalsvc.accounts.models import Member, User
from evalsvc.accounts.selectors import MembershipRow, list_memberships, usable_account_name

SESSION_KEY = "account_id"
VOUCHED_KEY = "factor_by_provider"
"""Whom the provider of this session has asked for a second factor: a person's id, as a browser may change hands."""
RANKS: dict[str, int] = {Member.Role.READER: 0, Member.Role.EDITOR: 1, Member.Role.ADMIN: 2}


@dataclass(frozen=True, slots=True)
class Membership:
    """A member's account and role for the length of a request."""

    account_id: int
    account_name: str
    role: str
    lacks_factor: bool = False
    """Whether the account's pages stay closed until the person has set a second factor up."""

    def is_at_least(self, role: str) -> bool:
        """Return whether the role includes another: admin includes editor includes reader."""
        return RANKS[self.role] >= RANKS[role]

    @property
    def may_edit(self) -> bool:
        """Editors and admins change evaluators and profiles."""
        return self.is_at_least(Member.Role.EDITOR)

    @property
    def may_administer(self) -> bool:
        """Admins issue and revoke keys."""
        return self.is_at_least(Member.Role.ADMIN)


CURRENT: ContextVar[Membership | None] = ContextVar("membership", default=None)


def get_memberships(request: HttpRequest) -> list[Membership]:
    """Return the accounts that the signed-in person belongs to, oldest first."""
    assert isinstance(request.user, User)  # noqa: S101  the middleware has checked that somebody is signed in
    return _build_memberships(request, list_memberships(user=request.user))


def _build_memberships(request: HttpRequest, rows: Sequence[MembershipRow]) -> list[Membership]:
    is_free = request.user.is_superuser or has_provider_vouched(request)
    return [
        Membership(
            row.account_id,
            row.account_name,
            row.role,
            lacks_factor=row.requires_factor and not row.has_factor and not is_free,
        )
        for row in rows
    ]


def has_provider_vouched(request: HttpRequest) -> bool:
    """Return whether the provider of this session has verified a second factor."""
    return bool(request.session.get(VOUCHED_KEY) == request.user.pk)


def get_current_membership(request: HttpRequest, account_id: int | None = None) -> Membership | None:
    """Return the membership in an account; without one, the membership chosen in this session, else the oldest.

    None if the person is not a member of the account, or of any.
    """
    assert isinstance(request.user, User)  # noqa: S101  the middleware has checked that somebody is signed in
    read = take_session_memberships(request.session, request.user)
    memberships = get_memberships(request) if read is None else _build_memberships(request, read)
    chosen_id = request.session.get(SESSION_KEY) if account_id is None else account_id
    return next(
        (membership for membership in memberships if membership.account_id == chosen_id),
        memberships[0] if memberships and account_id is None else None,
    )


def choose_account(request: HttpRequest, account_id: str) -> Membership | None:
    """Look at another of the person's accounts from now on; None, and no change, when it is not theirs."""
    for membership in get_memberships(request):
        if str(membership.account_id) == account_id:
            request.session[SESSION_KEY] = membership.account_id
            return membership
    return None


def operated_account(request: HttpRequest, account_id: int | None = None) -> Membership | None:
    """Return an account with an operator's rights in it, which are an admin's; None if it is not in use.

    Without an id: the account chosen in this session, else the operator's own oldest.
    """
    chosen_id = request.session.get(SESSION_KEY) if account_id is None else account_id
    if chosen_id is not None and (name := usable_account_name(id=chosen_id)) is not None:
        return Membership(chosen_id, name, Member.Role.ADMIN)
    if account_id is not None:
        return None
    memberships = get_memberships(request)
    return (
        Membership(memberships[0].account_id, memberships[0].account_name, Member.Role.ADMIN) if memberships else None
    )


def operate_account(request: HttpRequest, account_id: str) -> Membership | None:
    """Switch an operator to any usable account; return None, without a change, if there is none with this id."""
    name = usable_account_name(id=int(account_id)) if account_id.isdecimal() and len(account_id) < 19 else None
    if name is None:
        return None
    request.session[SESSION_KEY] = int(account_id)
    return Membership(int(account_id), name, Member.Role.ADMIN)
