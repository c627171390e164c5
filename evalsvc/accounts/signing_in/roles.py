"""Access by the provider's claims: roles there are memberships here.

The memberships that came from the provider are stored with the person's identity there. Only these are removed when the
provider no longer lists the role; memberships granted by an operator stay.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import IntegrityError, transaction

from evalsvc.accounts.membership import RANKS
from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.services import add_member, remove_member
from evalsvc.accounts.signing_in.factors import lock_person, switch_off
from evalsvc.accounts.signing_in.provider import ProviderRefused
from evalsvc.accounts.signing_in.sessions import end_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.rest.bodies.names import bare_name
from evalsvc.tenancy.scope import SYSTEM, current_role, role_scope

GIVEN = "memberships"
MAX_EMAIL, MAX_NAME = 254, 100
MAX_SUB = 191
"""Of the 255 ASCII characters that OpenID Connect allows, as many as the library's column holds."""
ACTOR = "provider"


def admit(claims: Mapping[str, Any]) -> User:
    """Return the person that the claims admit, with the memberships that they grant; raises ProviderRefused.

    Memberships of removed roles are taken away first, whether or not the person is admitted.
    """
    roles = resolve_roles(claims)
    with role_scope(SYSTEM):
        identity = SocialAccount.objects.select_related("user").filter(**_identity(claims)).first()
        if identity is not None:
            give_memberships(identity, roles)
        if not roles:
            raise ProviderRefused(f"{settings.OIDC_LABEL} names no role of yours that leads to an account here.")
        if claims.get("email_verified") not in (True, "true") or not claims.get("email"):
            raise ProviderRefused(f"{settings.OIDC_LABEL} has not verified your e-mail address.")
        if identity is None:
            identity = _new_identity(claims)
            give_memberships(identity, roles)
        user: User = identity.user
    if not user.is_active or not user.is_staff:
        raise ProviderRefused("An operator has switched you off here.")
    return user


def resolve_roles(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return account names with the highest role that the claims give in each."""
    names, roles = set(_read_role_claim(claims)), dict[str, str]()
    for name, account, role in settings.OIDC_ROLES:
        if name in names and RANKS[role] >= RANKS.get(roles.get(account, ""), -1):
            roles[account] = role
    return roles


def _read_role_claim(claims: Mapping[str, Any]) -> list[str]:
    """Return the claim's role names, one or a list; dots address nested objects, as in `realm_access.roles`."""
    value: Any = claims.get(settings.OIDC_ROLE_CLAIM)
    if value is None:
        value = claims
        for part in settings.OIDC_ROLE_CLAIM.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return [item for item in values if isinstance(item, str)]


def _identity(claims: Mapping[str, Any]) -> dict[str, str]:
    # The issuer is part of the identity: the same `sub` of another provider is another person.
    sub = str(claims["sub"])
    if not sub.isascii() or not sub.isprintable() or not sub.strip() or len(sub) > MAX_SUB:
        raise ProviderRefused(f"What {settings.OIDC_LABEL} calls you cannot be one here.")
    return {"provider": settings.OIDC_ISSUER.rstrip("/")[:200], "uid": sub}


def _new_identity(claims: Mapping[str, Any]) -> SocialAccount:
    email = _parse_email(claims)
    user = User.objects.filter(email=email).first()
    if user is not None and (user.is_superuser or not settings.OIDC_LINK_BY_EMAIL):
        raise ProviderRefused("There is somebody with your e-mail address here already, who signs in by password.")
    try:
        with transaction.atomic(using=SYSTEM):
            if user is None:
                user = User.objects.create_user(email, None, name=_parse_name(claims), is_staff=True)
            else:
                _reset_credentials(user)
            return SocialAccount.objects.create(user=user, **_identity(claims), extra_data={GIVEN: {}})
    except IntegrityError:
        raise ProviderRefused("You are signing in twice at this moment. Try again.") from None


def _reset_credentials(user: User) -> None:
    """End every way in which this person could sign in until now; their memberships stay.

    An invitation does not prove the address: the password and the second factor might have been set by another person.
    The owner could neither enter its codes nor switch it off.
    """
    with lock_person(user):
        user.set_unusable_password()
        user.save(update_fields=["password"])
        had_factor = switch_off(user=user)
        n_sessions = end_sessions(user=user)
    record_of_person(user, "password.ended", actor=ACTOR, n_sessions=n_sessions)
    if had_factor:
        record_of_person(user, "factor.ended", actor=ACTOR)


def _parse_name(claims: Mapping[str, Any]) -> str:
    return bare_name(str(claims.get("name") or ""))[:MAX_NAME]


def _parse_email(claims: Mapping[str, Any]) -> str:
    """Return the address in small letters.

    Of ASCII alone: other letters become ASCII in lower case, as the sign of Kelvin does, and another person's address.
    """
    email = str(claims["email"])
    try:
        validate_email(email)
    except ValidationError:
        email = ""
    if not email or not email.isascii() or len(email) > MAX_EMAIL:
        raise ProviderRefused(f"What {settings.OIDC_LABEL} says is your e-mail address cannot be one here.")
    return email.lower()


def give_memberships(identity: SocialAccount, wanted: Mapping[str, str]) -> None:
    """Replace the memberships that came from the provider with the ones it lists now.

    Concurrent sign-ins wait for each other: each must read what the other has granted, or it would never be removed.
    """
    with transaction.atomic(using=current_role()):
        _give(SocialAccount.objects.select_for_update(of=("self",)).select_related("user").get(pk=identity.pk), wanted)


def _give(identity: SocialAccount, wanted: Mapping[str, str]) -> None:
    accounts = {target.name: target for target in Account.objects.filter(name__in=wanted, off_at=None, deleted_at=None)}
    now = {accounts[name].pk: role for name, role in wanted.items() if name in accounts}
    before = {int(id): role for id, role in identity.extra_data.get(GIVEN, {}).items()}
    members = {
        row.account_id: row for row in Member.objects.filter(user=identity.user).select_related("account", "user")
    }
    for account_id in before.keys() - now.keys():
        if account_id in members:
            remove_member(
                account=members[account_id].account, member=members[account_id], actor=ACTOR, may_be_last=True
            )
    for account in accounts.values():
        if account.pk not in members or members[account.pk].role != now[account.pk]:
            add_member(
                account=account, user=identity.user, role=Member.Role(now[account.pk]), actor=ACTOR, may_be_last=True
            )
    identity.extra_data = {GIVEN: {str(id): role for id, role in now.items()}}
    identity.save(update_fields=["extra_data", "last_login"])
