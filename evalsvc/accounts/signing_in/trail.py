"""What people do about their own sign-in, in the audit trail of each account that they belong to, and in the log."""

from __future__ import annotations

import logging

from django.db.models.functions import Lower
from django.http import HttpRequest

from evalsvc.accounts.access.signin import caller_ip
from evalsvc.accounts.models import Account, User
from evalsvc.accounts.selectors import list_memberships
from evalsvc.accounts.services import record_audit
from evalsvc.tenancy.scope import account_scope

log = logging.getLogger(__name__)


def record_of_person(user: User, action: str, *, actor: str = "", **detail: str | int | bool | None) -> None:
    """Write what was done; who belongs to no account leaves a line in the log alone."""
    log.info("%s user:%s", action, user.pk)
    for membership in list_memberships(user=user):
        with account_scope(membership.account_id):
            record_audit(
                account=Account(pk=membership.account_id),
                actor=actor or f"user:{user.pk}",
                action=action,
                target=user.email,
                **detail,
            )


def record_sign_out(request: HttpRequest | None, user: User | None, **_: object) -> None:
    """Record a sign-out; an anonymous one is ignored."""
    if user is not None:
        record_of_person(user, "session.signed_out", address=caller_ip(request))


def record_lock(email: str, *, address: str) -> None:
    """Record a lockout; an unknown address appears only in the log."""
    user = User.objects.annotate(lower=Lower("email")).filter(lower=email.lower()).first()
    if user is not None:
        record_of_person(user, "signin.locked", actor="system", address=address)
