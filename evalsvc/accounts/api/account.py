"""GET and PATCH /v1/account: what an account decides for all its calls."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.models import Account
from evalsvc.accounts.selectors import get_account
from evalsvc.accounts.services import change_refusal
from evalsvc.accounts.signing_in.rule import change_factor_rule_by_key
from evalsvc.accounts.views import AccountView, validate_strict
from evalsvc.rest.answering.shapes import AnswerShape, answers_with


class AccountFacts(AnswerShape):
    """An account with its choices."""

    id: str
    name: str
    refuse_unrunnable: bool
    require_second_factor: bool


class AccountEnvelope(AnswerShape):
    """The calling account."""

    account: AccountFacts


class AccountPatch(serializers.Serializer[Any]):
    """What can change; a field that is left out stays."""

    refuse_unrunnable = serializers.BooleanField(required=False)
    require_second_factor = serializers.BooleanField(required=False)


class CallingAccountView(AccountView):
    """The account that the key belongs to."""

    remembers_tries = ()

    @extend_schema(operation_id="get_account", tags=["accounts"], responses=answers_with(AccountEnvelope))
    def get(self, request: Request) -> Response:
        """Return the calling account's choices."""
        return Response(_envelope(get_account(id=self.account.pk)))

    @extend_schema(
        operation_id="change_account",
        tags=["accounts"],
        request=AccountPatch,
        responses=answers_with(AccountEnvelope),
    )
    def patch(self, request: Request) -> Response:
        """Change the calling account's choices."""
        changes = validate_strict(AccountPatch(data=request.data))
        if "require_second_factor" in changes:
            change_factor_rule_by_key(
                account=self.account, is_required=changes["require_second_factor"], actor=self.caller.actor
            )
        if "refuse_unrunnable" in changes:
            change_refusal(
                account=self.account, refuse_unrunnable=changes["refuse_unrunnable"], actor=self.caller.actor
            )
        return Response(_envelope(get_account(id=self.account.pk)))


def _envelope(row: Account) -> AccountEnvelope:
    return AccountEnvelope(
        account=AccountFacts(str(row.pk), row.name, row.refuse_unrunnable, row.require_second_factor)
    )
