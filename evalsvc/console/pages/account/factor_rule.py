"""The rule that members of the account have a second factor: shown on the page of members, switched by a form there."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from evalsvc.accounts.membership import has_provider_vouched
from evalsvc.accounts.models import Account, Member
from evalsvc.accounts.signing_in.provider import is_configured
from evalsvc.accounts.signing_in.rule import list_without_factor, require_factor, stop_requiring_factor
from evalsvc.console.access import ADMIN, PageRequest, console_page
from evalsvc.console.parts.addresses import page_address
from evalsvc.console.parts.forms.confirmation import is_confirmed
from evalsvc.rest.problems import Invalid

MOST_NAMED = 50


@dataclass(frozen=True, slots=True)
class FactorRule:
    """The second-factor rule as the page displays it."""

    is_required: bool
    n_without: int
    without: list[str]
    """Addresses of the first of those who have none."""
    provider: str

    @property
    def n_more(self) -> int:
        """How many are not named."""
        return self.n_without - len(self.without)


def load_factor_rule(account: Account) -> FactorRule:
    """Return the rule, with the members that have not set up a second factor yet."""
    rows = list_without_factor(account=account)
    emails = list(rows.values_list("user__email", flat=True)[:MOST_NAMED])
    n_without = len(emails) if len(emails) < MOST_NAMED else rows.count()
    return FactorRule(account.require_second_factor, n_without, emails, settings.OIDC_LABEL if is_configured() else "")


def factor_text(member: Member) -> str:
    """Return of a row of `with_factors` what its person has."""
    if member.has_factor:  # type: ignore[attr-defined]  # annotated
        return "yes"
    return "none here" if member.has_provider else "none yet"  # type: ignore[attr-defined]


@require_POST
@console_page(role=ADMIN, write=ADMIN)
def factor_rule_page(request: PageRequest) -> HttpResponse:
    """Require a second factor of all members; or stop requiring it, once the account's name is typed."""
    if request.POST.get("required") == "yes":
        _require(request)
    elif not is_confirmed(request, request.visitor.account.name):
        messages.error(request, "Nothing was changed: the name does not match this account.")
    else:
        stop_requiring_factor(account=request.visitor.account, actor=request.visitor.actor)
        messages.success(request, "This account's pages no longer require a second factor.")
    return redirect(page_address("console_members"))


def _require(request: PageRequest) -> None:
    visitor = request.visitor
    try:
        require_factor(
            account=visitor.account, actor=visitor.actor, by=visitor.user, is_vouched=has_provider_vouched(request)
        )
    except Invalid as exc:
        messages.error(request, exc.errors[0].detail)
    else:
        messages.success(request, "Members without a second factor must now set one up first.")
