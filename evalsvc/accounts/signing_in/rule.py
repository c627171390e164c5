"""The account rule that requires a second factor of members: set by an admin, enforced by every page.

API keys are not people and are not affected. See docs/adr/0090.
"""

from __future__ import annotations

from django.db.models import BooleanField, F, Func, QuerySet

from evalsvc.accounts.models import Account, Member, User
from evalsvc.accounts.selectors import list_members, list_memberships, read_account
from evalsvc.accounts.services import record_audit
from evalsvc.accounts.signing_in.factors import has_factor, lock_person, switch_off
from evalsvc.rest.problems import FieldError, Invalid
from evalsvc.tenancy.scope import account_scope

NONE_OF_YOURS = "Set up a second factor of your own first: whoever asks others for one has one."
NO_ADMIN_HAS_ONE = "No admin of this account has a second factor yet, who could let the others see to it."
NOT_BY_KEY = "A key cannot switch this off. An admin of the account can, on the page Members."


def require_factor(*, account: Account, actor: str, by: User, is_vouched: bool = False) -> None:
    """Close the account's pages to members without a second factor, from their next page on.

    The admin must have one themselves, or a provider that has verified one (`is_vouched`).
    """
    with lock_person(by), account_scope(account.pk):  # not while they switch their own off
        if not (is_vouched or has_factor(by)):
            raise Invalid(FieldError("/require_second_factor", NONE_OF_YOURS))
        _write(account, is_required=True, actor=actor)


def change_factor_rule_by_key(*, account: Account, is_required: bool, actor: str) -> None:
    """Require a second factor as an API key, if an admin who can sign in has one.

    A key cannot switch it off: with a stolen key, the next stolen password would be sufficient.
    """
    with account_scope(account.pk):
        if read_account(id=account.pk).require_second_factor == is_required:
            return
        if not is_required:
            raise Invalid(FieldError("/require_second_factor", NOT_BY_KEY))
        admins = annotate_factors(list_members(account=account)).filter(role=Member.Role.ADMIN, user__is_active=True)
        if not admins.filter(has_factor=True).exists():
            raise Invalid(FieldError("/require_second_factor", NO_ADMIN_HAS_ONE))
        _write(account, is_required=True, actor=actor)


def stop_requiring_factor(*, account: Account, actor: str) -> None:
    """Open the account's pages to members without a second factor again."""
    with account_scope(account.pk):
        _write(account, is_required=False, actor=actor)


def _write(account: Account, *, is_required: bool, actor: str) -> None:
    rows = Account.objects.filter(pk=account.pk, require_second_factor=not is_required)
    if rows.update(require_second_factor=is_required):
        action = f"account.second_factor_{'required' if is_required else 'optional'}"
        record_audit(account=account, actor=actor, action=action, target=account.name)


def annotate_factors(members: QuerySet[Member]) -> QuerySet[Member]:
    """Add to members whether they have a second factor here, and whether they come by single sign-on."""
    return members.annotate(
        has_factor=Func(F("user_id"), function="member_has_factor", output_field=BooleanField()),
        has_provider=Func(F("user_id"), function="member_has_provider", output_field=BooleanField()),
    )


def list_without_factor(*, account: Account) -> QuerySet[Member]:
    """Return the members who have no second factor here and may sign in, by their addresses."""
    members = annotate_factors(list_members(account=account)).filter(has_factor=False, user__is_active=True)
    return members.order_by("user__email")


def switch_own_factor_off(*, user: User, is_vouched: bool = False) -> bool:
    """Disable the person's second factor; return whether one was enabled.

    Raises Invalid if one of their accounts requires a second factor, unless the provider has verified one.
    """
    with lock_person(user) as is_same:
        if asking := accounts_that_require(user=user, is_vouched=is_vouched):
            raise Invalid(
                FieldError("/", f"Two-factor authentication stays on: it is required by {', '.join(asking)}.")
            )
        return is_same and switch_off(user=user)


def accounts_that_require(*, user: User, is_vouched: bool) -> list[str]:
    """Return the names of the person's accounts that require a second factor of them; operators are exempt."""
    if is_vouched or user.is_superuser:
        return []
    return [row.account_name for row in list_memberships(user=user) if row.requires_factor]
