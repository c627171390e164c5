"""Whom a provider's word lets in, and into which accounts: roles there are memberships here.

Which memberships came from the provider is kept beside the person's identity there. Only these are taken back when the
provider names the role no more; what an operator has given stays.
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
from evalsvc.accounts.signing_in.provider import ProviderRefused
from evalsvc.accounts.signing_in.sessions import end_sessions
from evalsvc.accounts.signing_in.trail import record_of_person
from evalsvc.tenancy.scope import SYSTEM, role_scope

GIVEN = "memberships"
MAX_EMAIL = 254
ACTOR = "provider"


def admit(claims: Mapping[str, Any]) -> User:
    """Return the person that the provider's word lets in, with the memberships that it gives; raises ProviderRefused.

    A role that is gone is taken back first, so that it is gone whether or not the person is let in.
    """
    wanted = wanted_roles(claims)
    with role_scope(SYSTEM):
        known = SocialAccount.objects.select_related("user").filter(**_identity(claims)).first()
        if known is not None:
            _give(known, wanted)
        if not wanted:
            raise ProviderRefused(f"{settings.OIDC_LABEL} names no role of yours that leads to an account here.")
        if claims.get("email_verified") not in (True, "true") or not claims.get("email"):
            raise ProviderRefused(f"{settings.OIDC_LABEL} has not verified your e-mail address.")
        if known is None:
            known = _new_identity(claims)
            _give(known, wanted)
        user: User = known.user
    if not user.is_active or not user.is_staff:
        raise ProviderRefused("An operator has switched you off here.")
    return user


def wanted_roles(claims: Mapping[str, Any]) -> dict[str, str]:
    """Return account names with the highest role that the claims give in each."""
    named, found = set(_named(claims)), dict[str, str]()
    for name, account, role in settings.OIDC_ROLES:
        if name in named and RANKS[role] >= RANKS.get(found.get(account, ""), -1):
            found[account] = role
    return found


def _named(claims: Mapping[str, Any]) -> list[str]:
    """Return what the claim holds: a name or several; dots lead into what is nested, as in `realm_access.roles`."""
    value: Any = claims.get(settings.OIDC_ROLE_CLAIM)
    if value is None:
        value = claims
        for part in settings.OIDC_ROLE_CLAIM.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
    values = value if isinstance(value, list) else [value]
    return [one for one in values if isinstance(one, str)]


def _identity(claims: Mapping[str, Any]) -> dict[str, str]:
    # The issuer is part of it: the same `sub` of another provider is somebody else.
    return {"provider": settings.OIDC_ISSUER.rstrip("/")[:200], "uid": str(claims["sub"])}


def _new_identity(claims: Mapping[str, Any]) -> SocialAccount:
    email = _email_of(claims)
    user = User.objects.filter(email=email).first()
    if user is not None and (user.is_superuser or not settings.OIDC_LINK_BY_EMAIL):
        raise ProviderRefused("There is somebody with your e-mail address here already, who signs in by password.")
    try:
        with transaction.atomic(using=SYSTEM):
            if user is None:
                user = User.objects.create_user(email, None, name=str(claims.get("name", ""))[:100], is_staff=True)
            else:
                # An invitation proves no address: who chose this password may be somebody else.
                user.set_unusable_password()
                user.save(update_fields=["password"])
                record_of_person(user, "password.ended", actor=ACTOR, n_sessions=end_sessions(user=user))
            return SocialAccount.objects.create(user=user, **_identity(claims), extra_data={GIVEN: {}})
    except IntegrityError:
        raise ProviderRefused("You are signing in twice at this moment. Try again.") from None


def _email_of(claims: Mapping[str, Any]) -> str:
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


def _give(identity: SocialAccount, wanted: Mapping[str, str]) -> None:
    """Make the memberships that came from the provider those that it names now."""
    accounts = {one.name: one for one in Account.objects.filter(name__in=wanted, off_at=None, deleted_at=None)}
    now = {accounts[name].pk: role for name, role in wanted.items() if name in accounts}
    before = {int(id): role for id, role in identity.extra_data.get(GIVEN, {}).items()}
    held = {row.account_id: row for row in Member.objects.filter(user=identity.user).select_related("account", "user")}
    for account_id in before.keys() - now.keys():
        if account_id in held:
            remove_member(account=held[account_id].account, member=held[account_id], actor=ACTOR, may_be_last=True)
    for account in accounts.values():
        if account.pk not in held or held[account.pk].role != now[account.pk]:
            add_member(
                account=account, user=identity.user, role=Member.Role(now[account.pk]), actor=ACTOR, may_be_last=True
            )
    identity.extra_data = {GIVEN: {str(id): role for id, role in now.items()}}
    identity.save(update_fields=["extra_data", "last_login"])
