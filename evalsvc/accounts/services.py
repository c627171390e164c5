"""Verbs on accounts and keys. Every write of these tables is here."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Now

from evalsvc.accounts.access.keys import KeyText, hash_secret, new_key_text
from evalsvc.accounts.access.rate_limiter import bump_epoch
from evalsvc.accounts.models import Account, ApiKey, AuditEntry, Invitation, Member, User
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import account_scope, current_role

MAX_KEY_NAME = 100
DELETION_BEGAN = "account.deletion_began"
OPERATOR, ADMIN = "operator", "admin"
"""Who orders a deletion: whoever runs the service, or an admin of the account itself."""


def create_account(*, name: str, actor: str = "system") -> Account:
    """Make a tenant. Run it as the system role: an application role sees no account but its own."""
    with transaction.atomic(using=current_role()):
        account = Account.objects.create(name=name)
        account.refresh_from_db()
        record_audit(account=account, actor=actor, action="account.created", target=name)
    return account


def change_account(
    *, account: Account, name: str, rpm_limit: int | None, monthly_limit: int | None, actor: str
) -> Account:
    """Change an account's name and limits (empty: the default); every process uses them from the next request on."""
    with account_scope(account.pk):
        if Account.objects.filter(name=name).exclude(pk=account.pk).exists():
            raise Invalid(FieldError("/name", f"An account named {name!r} exists already."), code="already_exists")
        Account.objects.filter(pk=account.pk).update(name=name, rpm_limit=rpm_limit, monthly_limit=monthly_limit)
        limits = {"rpm_limit": rpm_limit, "monthly_limit": monthly_limit}
        record_audit(account=account, actor=actor, action="account.changed", target=name, **limits)
        forget_caches(account.pk)
    return account


def change_retention(
    *, account: Account, retention_days: int | None, retention_history_days: int | None, actor: str
) -> None:
    """Change the retention of an account's texts and scores, in days (0: forever; None: the default)."""
    days = {"retention_days": retention_days, "retention_history_days": retention_history_days}
    with account_scope(account.pk):
        Account.objects.filter(pk=account.pk).update(**days)
        record_audit(account=account, actor=actor, action="account.retention_changed", target=account.name, **days)


def change_own_retention(
    *, account: Account, retention_days: int | None, retention_history_days: int | None, actor: str
) -> None:
    """Change an account's retention as its own admin, at most to the service's limits, which the operator sets.

    `account` is the complete row: a longer retention granted by the operator can stay.
    """
    changes = (
        ("/retention_days", retention_days, account.retention_days, settings.RETENTION_DAYS),
        (
            "/retention_history_days",
            retention_history_days,
            account.retention_history_days,
            settings.RETENTION_HISTORY_DAYS,
        ),
    )
    errors = [
        FieldError(pointer, f"At most {most} days: the operator can keep it for longer.")
        for pointer, days, now, most in changes
        if days is not None and days != now and most and (days == 0 or days > most)
    ]
    if errors:
        raise Invalid(*errors)
    change_retention(
        account=account, retention_days=retention_days, retention_history_days=retention_history_days, actor=actor
    )


def switch_account(*, account: Account, is_on: bool, reason: str, actor: str) -> bool:
    """Switch an account off, or on again; return whether this changed it.

    From the next request on, its keys and members are refused, and workers start nothing for it.
    """
    verb, change = ("on", {"off_at": None}) if is_on else ("off", {"off_at": Now()})
    with account_scope(account.pk):
        if not Account.objects.filter(pk=account.pk, off_at__isnull=not is_on).update(**change):
            return False
        record_audit(
            account=account, actor=actor, action=f"account.switched_{verb}", target=account.name, reason=reason
        )
        forget_caches(account.pk)
    return True


def begin_deletion(*, account: Account, ordered_by: str, actor: str) -> datetime:
    """Mark an account as deleted, end its keys and memberships, and return when that was first done.

    From the commit on, access is denied, no page shows its rows, and workers start nothing for it. This cannot be
    undone. The deletion job removes the rows in batches.
    """
    with account_scope(account.pk):
        rows = Account.objects.filter(pk=account.pk)
        ApiKey.objects.filter(account=account, revoked_at=None).update(revoked_at=Now())
        Member.objects.filter(account=account).delete()
        if rows.filter(deleted_at=None).update(deleted_at=Now()):
            record_audit(
                account=account, actor=actor, action=DELETION_BEGAN, target=account.name, ordered_by=ordered_by
            )
        forget_caches(account.pk)
        began_at = rows.values_list("deleted_at", flat=True).get()
    assert began_at is not None  # noqa: S101  it was written above
    return began_at


def change_refusal(*, account: Account, refuse_unrunnable: bool, actor: str) -> None:
    """Return whether calls that name what cannot run are refused; every process does so from the next request on."""
    with account_scope(account.pk):
        Account.objects.filter(pk=account.pk).update(refuse_unrunnable=refuse_unrunnable)
        record_audit(
            account=account,
            actor=actor,
            action="account.refusal_changed",
            target=account.name,
            refuse_unrunnable=refuse_unrunnable,
        )
        forget_caches(account.pk)


def add_member(
    *, account: Account, user: User, role: Member.Role, actor: str = "system", may_be_last: bool = False
) -> Member:
    """Let a person into an account, or change the role they have in it, as `change_role` does."""
    with account_scope(account.pk):
        member, is_new = Member.objects.get_or_create(account=account, user=user, defaults={"role": role})
        if not is_new:
            return change_role(account=account, member=member, role=role, actor=actor, may_be_last=may_be_last)
        record_audit(account=account, actor=actor, action="member.added", target=user.email, role=role.value)
    return member


def change_role(*, account: Account, member: Member, role: str, actor: str, may_be_last: bool = False) -> Member:
    """Change a member's role, from their next page on; an account always retains an admin who can sign in.

    With `may_be_last` even the last admin can lose the role, because an identity provider has decided so.
    """
    if role not in Member.Role.values:
        raise Invalid(FieldError("/role", f"A role is one of {', '.join(Member.Role.values)}."))
    with account_scope(account.pk):
        if role != Member.Role.ADMIN and not may_be_last:
            _require_another_admin(account, without=member.user_id)
        rows = Member.objects.select_for_update().filter(account=account, pk=member.pk)
        before = rows.values_list("role", flat=True).first()
        if before is None:
            raise NotFound
        if before != role:
            rows.update(role=role)
            record_audit(
                account=account,
                actor=actor,
                action="member.role_changed",
                target=member.user.email,
                role=role,
                before=before,
            )
        if role != Member.Role.ADMIN:
            _end_invitations(account, Q(invited_by=f"user:{member.user_id}"), actor)
    member.role = role
    return member


def _require_another_admin(account: Account, *, without: int) -> None:
    """Raise Invalid if only this person can administer the account. Concurrent calls wait for each other."""
    admins = Member.objects.select_for_update(of=("self",)).filter(account=account, role=Member.Role.ADMIN)
    able = list(admins.filter(user__is_active=True).order_by("pk").values_list("user_id", flat=True))
    if able == [without]:
        raise Invalid(FieldError("/role", "This is the account's last admin. Make somebody else an admin first."))


def _end_invitations(account: Account, those: Q, actor: str) -> None:
    """Withdraw open invitations: their author knows the links and could return through one as a new person."""
    rows = Invitation.objects.filter(those, account=account, accepted_at=None, withdrawn_at=None)
    for email in list(rows.values_list("email", flat=True)):
        record_audit(account=account, actor=actor, action="invitation.withdrawn", target=email)
    rows.update(withdrawn_at=Now())


def remove_member(*, account: Account, member: Member, actor: str, may_be_last: bool = False) -> None:
    """Take a person out of an account; the next page they open shows nothing of it. As above.

    The invitations that they have made end, and so does one of their own address.
    """
    with account_scope(account.pk):
        email = member.user.email
        if not may_be_last:
            _require_another_admin(account, without=member.user_id)
        if not Member.objects.filter(account=account, pk=member.pk).delete()[0]:
            raise NotFound
        _end_invitations(account, Q(invited_by=f"user:{member.user_id}") | Q(email=email.lower()), actor)
        record_audit(account=account, actor=actor, action="member.removed", target=email)


def issue_key(
    *,
    account: Account,
    name: str,
    scope: ApiKey.Scope = ApiKey.Scope.WRITE,
    expires_at: datetime | None = None,
    actor: str = "system",
    text: KeyText | None = None,
) -> tuple[ApiKey, KeyText]:
    """Make a key and return it with its text, which cannot be read again.

    Of two calls with the same public half one is refused.
    """
    name, text = _key_name(name), text or new_key_text()
    with account_scope(account.pk):
        try:
            key = ApiKey.objects.create(
                account=account,
                name=name,
                public=text.public,
                secret_hash=hash_secret(text.secret),
                scope=scope,
                expires_at=expires_at,
                issued_by=actor[:120],
            )
        except IntegrityError as exc:
            raise Invalid(FieldError("/id", "This key was issued already."), code="already_exists") from exc
        key.refresh_from_db()
        record_audit(account=account, actor=actor, action="key.issued", target=f"ek_{text.public}", scope=str(scope))
    return key, text


def _key_name(name: str) -> str:
    cleaned = clean_name(name.strip(), "/name")
    if not 1 <= len(cleaned) <= MAX_KEY_NAME:
        raise Invalid(FieldError("/name", f"A key has a name of at most {MAX_KEY_NAME} characters."))
    return cleaned


def revoke_key(*, account: Account, key: ApiKey, now: datetime, actor: str = "system") -> ApiKey:
    """End a key. The next request with it is refused in every process."""
    with account_scope(account.pk):
        if ApiKey.objects.filter(account=account, pk=key.pk, revoked_at=None).update(revoked_at=now) != 1:
            raise Invalid(FieldError("/id", "This key has been revoked already."))
        record_audit(account=account, actor=actor, action="key.revoked", target=f"ek_{key.public}")
        forget_caches(account.pk)
    key.revoked_at = now
    return key


def forget_caches(account_id: int) -> None:
    """Bump the account's epoch once the surrounding transaction has committed."""
    transaction.on_commit(lambda: bump_epoch(account_id), using=current_role())


def record_audit(*, account: Account, actor: str, action: str, target: str, **detail: str | int | bool | None) -> None:
    """Write who did what; call it inside the transaction that does it."""
    safe: Mapping[str, object] = {name: value for name, value in detail.items() if value is not None}
    AuditEntry.objects.create(account=account, actor=actor[:120], action=action, target=target[:200], detail=safe)
