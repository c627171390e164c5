"""Verbs on saved searches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models.functions import Now

from evalsvc.accounts.models import Account, Member
from evalsvc.accounts.services import record_audit
from evalsvc.evaluations.models import SavedSearch
from evalsvc.evaluations.saved.parser import validate_query
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound, Problem
from evalsvc.tenancy.scope import account_scope, current_role

MAX_NAME = 100
MAX_SHARED = 200
MAX_OWN = 100


def save_search(
    *, account: Account, owner: Member | None, name: str, query: Mapping[str, str], now: datetime, actor: str
) -> SavedSearch:
    """Save filters under a name: for a member, or for the account if `owner` is None.

    Raises Invalid for filters that the list of evaluations does not support, and `already_exists` for a duplicate name.
    """
    name = _name(name)
    with account_scope(account.pk):
        row = SavedSearch(account=account, owner=owner, name=name, query=validate_query(query, now), created_by=actor)
        _check_room(account, owner)
        _write(row)
        record_audit(account=account, actor=actor, action="saved_search.created", target=name, is_shared=owner is None)
    row.refresh_from_db()
    return row


def change_search(
    *,
    account: Account,
    search: SavedSearch,
    name: str | None = None,
    query: Mapping[str, str] | None = None,
    now: datetime,
    actor: str,
) -> SavedSearch:
    """Give a search another name or other filters; what is None stays. As above."""
    with account_scope(account.pk):
        row = _locked(account, search)
        before = row.name, row.query
        row.name = row.name if name is None else _name(name)
        row.query = row.query if query is None else validate_query(query, now)
        if (row.name, row.query) != before:
            _write(row)
            record_audit(account=account, actor=actor, action="saved_search.changed", target=row.name, before=before[0])
    row.refresh_from_db()
    return row


def share_search(*, account: Account, search: SavedSearch, actor: str) -> SavedSearch:
    """Make a member's search the account's. It stays when they leave."""
    return _change_owner(account, search, None, actor)


def unshare_search(*, account: Account, search: SavedSearch, owner: Member) -> SavedSearch:
    """Make a shared search the own one of the member who saved it; raises `forbidden` for any other."""
    if search.created_by != (actor := f"user:{owner.user_id}"):
        raise Problem(code="forbidden")
    return _change_owner(account, search, owner, actor)


def delete_search(*, account: Account, search: SavedSearch, actor: str) -> None:
    """Forget a search; evaluations are as they were."""
    with account_scope(account.pk):
        if not SavedSearch.objects.filter(account=account, pk=search.pk).delete()[0]:
            raise NotFound
        is_shared = search.owner_id is None
        record_audit(
            account=account, actor=actor, action="saved_search.deleted", target=search.name, is_shared=is_shared
        )


def _name(name: str) -> str:
    cleaned = clean_name(name.strip(), "/name")
    if not 1 <= len(cleaned) <= MAX_NAME:
        raise Invalid(FieldError("/name", f"A name has 1 to {MAX_NAME} characters."))
    return cleaned


def _check_room(account: Account, owner: Member | None) -> None:
    most, whose = (MAX_SHARED, "An account shares") if owner is None else (MAX_OWN, "A member keeps")
    if SavedSearch.objects.filter(account=account, owner=owner).count() >= most:
        raise Invalid(FieldError("", f"{whose} at most {most} saved searches; delete one first."))


def _change_owner(account: Account, search: SavedSearch, owner: Member | None, actor: str) -> SavedSearch:
    with account_scope(account.pk):
        row = _locked(account, search)
        if row.owner != owner:
            _check_room(account, owner)
            row.owner = owner
            _write(row)
            action = "saved_search.shared" if owner is None else "saved_search.unshared"
            record_audit(account=account, actor=actor, action=action, target=row.name)
    row.refresh_from_db()
    return row


def _locked(account: Account, search: SavedSearch) -> SavedSearch:
    row = SavedSearch.objects.select_for_update().filter(account=account, pk=search.pk).first()
    if row is None:
        raise NotFound
    return row


def _write(row: SavedSearch) -> None:
    row.updated_at = Now()
    try:
        with transaction.atomic(using=current_role()):
            row.save()
    except IntegrityError:
        detail = f"There is a saved search named {row.name!r} already."
        raise Invalid(FieldError("/name", detail), code="already_exists") from None
