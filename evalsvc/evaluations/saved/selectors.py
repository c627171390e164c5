"""Reads of saved searches for an account and one user; private searches of others are not visible."""

from __future__ import annotations

from django.db.models import Q, QuerySet

from evalsvc.accounts.models import Account, Member
from evalsvc.evaluations.models import SavedSearch
from evalsvc.rest.problems import NotFound


def list_searches(*, account: Account, user_id: int | None = None) -> QuerySet[SavedSearch]:
    """Return the searches that the account shares, and a person's own. Keys have none of their own."""
    mine = Q(owner=None) if user_id is None else Q(owner=None) | Q(owner__user_id=user_id)
    return SavedSearch.objects.filter(mine, account=account)


def get_search(*, account: Account, id: int, user_id: int | None = None) -> SavedSearch:
    """Return a search; raise NotFound if it is missing, in another account, or private to another member."""
    row = list_searches(account=account, user_id=user_id).filter(id=id).first()
    if row is None:
        raise NotFound
    return row


def find_owner(*, account: Account, user_id: int) -> Member | None:
    """Return the person as a member of the account; None for an operator, who is none."""
    return Member.objects.filter(account=account, user_id=user_id).first()
