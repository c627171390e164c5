"""Reads of accounts, members and keys."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from django.conf import settings
from django.db import connections
from django.db.models import (
    BigIntegerField,
    Case,
    CharField,
    F,
    Model,
    OuterRef,
    QuerySet,
    Subquery,
    Value,
    When,
)
from django.db.models.functions import Cast, Coalesce, Concat, Substr

from evalsvc.accounts.models import Account, ApiKey, AuditEntry, Member, User
from evalsvc.infra.cache import AccountCache
from evalsvc.rest.problems import NotFound
from evalsvc.tenancy.scope import APP, SYSTEM, account_scope, id_at, role_scope

SLACK_SECONDS = 3600
"""An id may be of a while before or after the time that stands beside it."""
Row = TypeVar("Row", bound=Model)
_refusing: AccountCache[int, bool] = AccountCache(10_000, seconds=lambda: settings.API_KEY_CACHE_SECONDS)


@dataclass(frozen=True, slots=True)
class KeyRow:
    """What authentication needs of a key, read before any account is known."""

    id: int
    account_id: int
    account_name: str
    secret_hash: bytes
    scope: str
    expires_at: datetime | None
    revoked_at: datetime | None
    rpm_limit: int | None
    monthly_limit: int | None
    off_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class MembershipRow:
    """A membership: the person's role, whether the account requires a second factor, and whether they have one."""

    account_id: int
    account_name: str
    role: str
    requires_factor: bool
    has_factor: bool


def find_key(public: str) -> KeyRow | None:
    """Look a key up by its public half, through the one function that may look across accounts."""
    with connections[APP].cursor() as cursor:
        cursor.execute("SELECT * FROM find_api_key_and_state(%s)", [public])
        row = cursor.fetchone()
    if row is None:
        return None
    id, account_id, name, secret_hash, *details = row
    return KeyRow(id, account_id, name, bytes(secret_hash), *details)


def list_memberships(*, user: User) -> list[MembershipRow]:
    """Return the person's usable accounts, oldest first."""
    with connections[APP].cursor() as cursor:
        cursor.execute("SELECT * FROM memberships_and_factor_of(%s)", [user.pk])
        return [MembershipRow(*row) for row in cursor.fetchall()]


def annotate_actors(rows: QuerySet[Row], actor: str) -> QuerySet[Row]:
    """Annotate rows with `who`: a person's email address, a key's name, or the stored actor.

    An operator's address is not shown to accounts.
    """
    is_operator = When(is_superuser=True, then=Value("operator"))
    people = User.objects.filter(pk=OuterRef("_user")).annotate(
        shown=Case(is_operator, default=F("email"), output_field=CharField())
    )
    keys = ApiKey.objects.filter(pk=OuterRef("_key")).annotate(
        shown=Concat(F("name"), Value(" (ek_"), F("public"), Value(")"), output_field=CharField())
    )
    rows_with_ids = rows.annotate(_user=_extract_actor_id(actor, "user"), _key=_extract_actor_id(actor, "key"))
    actor_name = Coalesce(
        Subquery(people.values("shown")[:1]), Subquery(keys.values("shown")[:1]), F(actor), output_field=CharField()
    )
    return rows_with_ids.annotate(who=actor_name)


def _extract_actor_id(actor: str, kind: str) -> Case:
    number = Cast(Substr(F(actor), len(kind) + 2), BigIntegerField())
    return Case(When(**{f"{actor}__regex": f"^{kind}:[0-9]{{1,18}}$"}, then=number), output_field=BigIntegerField())


def list_keys(*, account: Account) -> QuerySet[ApiKey]:
    """Return the account's keys, newest first, each with who issued it (`who`)."""
    return annotate_actors(ApiKey.objects.filter(account=account), "issued_by").order_by("-id")


def get_key(*, account: Account, id: int) -> ApiKey:
    """Return one key of the account; NotFound for missing and foreign."""
    key = list_keys(account=account).filter(id=id).first()
    if key is None:
        raise NotFound
    return key


def list_audit(
    *,
    account: Account,
    actor: str = "",
    action: str = "",
    since: datetime | None = None,
    until: datetime | None = None,
) -> QuerySet[AuditEntry]:
    """Return the account's audit trail, newest first, each entry with who did it (`who`).

    `action` is the beginning of one: `key.` finds all that was done with keys.
    """
    rows = AuditEntry.objects.filter(account=account, action__startswith=action)
    if actor:
        rows = rows.filter(actor=actor)
    if since is not None:
        # Ids grow with time, and are what the index is by.
        rows = rows.filter(created_at__gte=since, id__gte=id_at(since, back_seconds=SLACK_SECONDS))
    if until is not None:
        rows = rows.filter(created_at__lt=until, id__lt=id_at(until, back_seconds=-SLACK_SECONDS))
    return annotate_actors(rows, "actor").order_by("-id")


def audit_choices(*, account: Account, newest: int = 1000) -> tuple[dict[str, str], list[str]]:
    """Return who did something lately (actor and `who`), and the actions that were done, each by name."""
    rows = list(list_audit(account=account).values_list("actor", "who", "action")[:newest])
    actors = dict(sorted({(actor, who) for actor, who, _ in rows}, key=lambda one: one[1]))
    return actors, sorted({action for _, _, action in rows})


def get_account(*, id: int) -> Account:
    """Return an account by id, inside its own scope."""
    with account_scope(id):
        return read_account(id=id)


def read_account(*, id: int) -> Account:
    """Return the account of the open scope."""
    # Raw SQL, because every console page runs this: Django would build the query more slowly than PostgreSQL runs it.
    account = next(iter(Account.objects.raw("SELECT * FROM accounts_account WHERE id = %s", [id])), None)
    if account is None:
        raise NotFound
    return account


def list_usable_accounts(*, named: str = "", limit: int) -> list[tuple[int, str]]:
    """Return (id, name) of the accounts that are neither off nor deleted, by name; for operators alone.

    `named` is a part of the name, in capitals or not.
    """
    with role_scope(SYSTEM):
        usable = Account.objects.filter(off_at__isnull=True, deleted_at__isnull=True, name__icontains=named)
        return list(usable.order_by("name").values_list("id", "name")[:limit])


def usable_account_name(*, id: int) -> str | None:
    """Return the name of an account that is neither off nor deleted; for operators alone."""
    with role_scope(SYSTEM):
        usable = Account.objects.filter(id=id, off_at__isnull=True, deleted_at__isnull=True)
        return usable.values_list("name", flat=True).first()


def refuses_unrunnable(*, account_id: int, epoch: str | None) -> bool:
    """Return whether the account's calls are refused where an evaluator cannot run; remembered under its epoch."""
    is_refusing = _refusing.get(account_id, epoch)
    if is_refusing is None:
        until = _refusing.end()
        is_refusing = get_account(id=account_id).refuse_unrunnable
        _refusing.put(account_id, is_refusing, epoch, until=until)
    return is_refusing


def get_member(*, account: Account, id: int) -> Member:
    """Return one member of the account; NotFound for missing and foreign."""
    member = list_members(account=account).filter(pk=id).first()
    if member is None:
        raise NotFound
    return member


def list_members(*, account: Account) -> QuerySet[Member]:
    """Return who belongs to the account."""
    return Member.objects.filter(account=account).select_related("user").defer("user__password").order_by("id")
