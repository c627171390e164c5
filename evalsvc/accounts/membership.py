"""Which account a signed-in member is looking at."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

from django.http import HttpRequest

from evalsvc.accounts.models import Member, User
from evalsvc.accounts.selectors import list_memberships

SESSION_KEY = "account_id"


@dataclass(frozen=True, slots=True)
class Membership:
    """A member's account and role for the length of a request."""

    account_id: int
    account_name: str
    role: str

    @property
    def may_edit(self) -> bool:
        """Editors and admins change evaluators and profiles."""
        return self.role in (Member.Role.ADMIN, Member.Role.EDITOR)

    @property
    def may_administer(self) -> bool:
        """Admins issue and revoke keys."""
        return self.role == Member.Role.ADMIN


CURRENT: ContextVar[Membership | None] = ContextVar("membership", default=None)


def membership_of(request: HttpRequest) -> Membership | None:
    """Return the membership chosen in this session, else the person's oldest; None without any."""
    assert isinstance(request.user, User)  # noqa: S101  the middleware has checked that somebody is signed in
    memberships = [Membership(*row) for row in list_memberships(user=request.user)]
    chosen = request.session.get(SESSION_KEY)
    return next((one for one in memberships if one.account_id == chosen), memberships[0] if memberships else None)
