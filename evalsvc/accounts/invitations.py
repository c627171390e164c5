"""Invitations: a link lets one person into an account, once, for a time. Only an HMAC of its secret is stored."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, connections
from django.db.models import QuerySet
from django.db.models.functions import Now

from evalsvc.accounts.access.keys import KeyText, hash_secret, new_key_text, same_secret
from evalsvc.accounts.access.signin import count_link_attempt, refund_attempt
from evalsvc.accounts.models import Account, Invitation, Member, User
from evalsvc.accounts.selectors import annotate_actors, read_account
from evalsvc.accounts.services import record_audit
from evalsvc.rest.bodies.names import clean_name
from evalsvc.rest.problems import FieldError, Invalid, NotFound
from evalsvc.tenancy.scope import APP, SYSTEM, account_scope, role_scope

MAX_OPEN = 200
MAX_NAME = 100
MAX_EMAIL = 254
DOMAIN = "invitation:"
"""Before a secret is hashed, so that the hash of an invitation is never that of a key."""
TRIES_PER_ADDRESS = 100
"""In a quarter of an hour."""
_shape = re.compile(r"([a-z0-9]{16})\.([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class PendingInvitation:
    """What a link opens: whom it lets in, where, and as what."""

    id: int
    account_id: int
    account_name: str
    email: str
    role: Member.Role
    expires_at: datetime

    def is_for(self, user: User) -> bool:
        """Return whether a person is the one who was invited."""
        return user.email.lower() == self.email


def list_open_invitations(*, account: Account) -> QuerySet[Invitation]:
    """Return the open invitations, newest first, each with the person or key that made it (`who`)."""
    rows = Invitation.objects.filter(account=account, accepted_at=None, withdrawn_at=None)
    return annotate_actors(rows, "invited_by").order_by("-id")


def invite(
    *, account: Account, email: str, role: Member.Role, expires_at: datetime, actor: str
) -> tuple[Invitation, str]:
    """Make an invitation and return it with its token, which cannot be read again; an older one of the address ends."""
    email, text = _invited_email(email), new_key_text()
    with account_scope(account.pk):
        if Member.objects.filter(account=account, user__email=email).exists():
            raise Invalid(FieldError("/email", "This person is a member already; change their role there."))
        Invitation.objects.filter(account=account, email=email, accepted_at=None, withdrawn_at=None).update(
            withdrawn_at=Now()
        )
        if list_open_invitations(account=account).count() >= MAX_OPEN:
            raise Invalid(FieldError("/email", f"At most {MAX_OPEN} invitations are open at a time; withdraw some."))
        try:
            invitation = Invitation.objects.create(
                account=account,
                email=email,
                role=role,
                public=text.public,
                secret_hash=hash_secret(DOMAIN + text.secret),
                invited_by=actor[:120],
                expires_at=expires_at,
            )
        except IntegrityError as exc:
            raise Invalid(FieldError("/email", "Somebody else invites this person right now."), code="in_use") from exc
        record_audit(account=account, actor=actor, action="invitation.made", target=email, role=role.value)
    return invitation, f"{text.public}.{text.secret}"


def _invited_email(email: str) -> str:
    cleaned = email.strip().lower()
    try:
        validate_email(cleaned)
        if len(cleaned) > MAX_EMAIL:
            raise ValidationError("too long")
    except ValidationError as exc:
        raise Invalid(FieldError("/email", "This is not an e-mail address.")) from exc
    return cleaned


def withdraw_invitation(*, account: Account, id: int, actor: str) -> str:
    """Withdraw an open invitation and return its email address."""
    with account_scope(account.pk):
        invitation = list_open_invitations(account=account).filter(pk=id).first()
        ended = Invitation.objects.filter(account=account, pk=id, accepted_at=None, withdrawn_at=None)
        if invitation is None or ended.update(withdrawn_at=Now()) != 1:
            raise NotFound
        record_audit(account=account, actor=actor, action="invitation.withdrawn", target=invitation.email)
    return invitation.email


def find_invitation(*, token: str, address: str, now: datetime) -> PendingInvitation | None:
    """Return what a token opens; None for an unknown, wrong, ended or accepted one alike.

    Raises `too_many_requests` for an IP address from which too many came.
    """
    counter = f"invitation-ip:{hashlib.sha256(address.encode()).hexdigest()}"
    count_link_attempt({counter: TRIES_PER_ADDRESS})
    match = _shape.fullmatch(token)
    if match is None:
        return None
    text = KeyText(*match.groups())
    with connections[APP].cursor() as cursor:
        cursor.execute("SELECT * FROM find_invitation(%s)", [text.public])
        row = cursor.fetchone()
    if row is None or not same_secret(DOMAIN + text.secret, bytes(row[5])) or row[6] <= now:
        return None
    refund_attempt({counter: TRIES_PER_ADDRESS})
    id, account_id, account_name, email, role, _, expires_at = row
    return PendingInvitation(id, account_id, account_name, email, Member.Role(role), expires_at)


def has_sign_in(*, invited: PendingInvitation) -> bool:
    """Return whether the person who was invited can sign in already."""
    return User.objects.filter(email=invited.email).exists()


def accept_invitation(*, invited: PendingInvitation, user: User) -> Member:
    """Make the invited person a member, once. An existing member retains their role."""
    if not invited.is_for(user):
        raise NotFound
    with account_scope(invited.account_id):
        return _accept(invited, user)


def accept_as_new(*, invited: PendingInvitation, name: str, password: str) -> User:
    """Make the invited person's sign-in with the password that they chose, and let them in, both or neither.

    As the system role: neither of the others can make a person.
    """
    name = clean_name(name.strip(), "/name")[:MAX_NAME]
    _check_password(password, User(email=invited.email, name=name))
    with role_scope(SYSTEM), account_scope(invited.account_id):
        try:
            user = User.objects.create_user(invited.email, password, name=name, is_staff=True)
        except IntegrityError as exc:
            raise Invalid(FieldError("/password", "There is a sign-in of this address by now: use it.")) from exc
        _accept(invited, user)
    return user


def _accept(invited: PendingInvitation, user: User) -> Member:
    account = read_account(id=invited.account_id)
    is_open = Invitation.objects.filter(
        account=account, pk=invited.id, accepted_at=None, withdrawn_at=None, expires_at__gt=Now()
    )
    if is_open.update(accepted_at=Now()) != 1:
        raise NotFound
    member, _ = Member.objects.get_or_create(account=account, user=user, defaults={"role": invited.role})
    actor = f"user:{user.pk}"
    record_audit(account=account, actor=actor, action="invitation.accepted", target=user.email, role=member.role)
    return member


def _check_password(password: str, user: User) -> None:
    try:
        validate_password(password, user)
    except ValidationError as exc:
        raise Invalid(*(FieldError("/password", message) for message in exc.messages)) from exc
