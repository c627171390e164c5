"""GET /v1/whoami."""

from __future__ import annotations

from typing import Annotated

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.models import ApiKey
from evalsvc.accounts.views import AccountView
from evalsvc.rest.answering.shapes import AnswerShape, Json, Moment, answers_with, build_enum


class AccountOut(AnswerShape):
    """An account as the API names it."""

    id: str
    name: str


class ApiKeyOut(AnswerShape):
    """The calling key, without its secret."""

    id: str
    account: AccountOut
    scope: Annotated[str, build_enum(ApiKey.Scope.values)]
    expires_at: Moment | None


class CallerOut(AnswerShape):
    """Who calls: always a key; `user` is there for clients that expect it."""

    api_key: ApiKeyOut
    user: dict[str, Json] | None


class Whoami(AnswerShape):
    """Who calls."""

    caller: CallerOut


class WhoamiView(AccountView):
    """Who does this key speak for?"""

    scoped = False

    @extend_schema(operation_id="whoami", tags=["accounts"], responses=answers_with(Whoami))
    def get(self, request: Request) -> Response:
        """Tell the account and the scope of the calling key."""
        key = self.caller.key
        account = AccountOut(id=str(key.account_id), name=key.account_name)
        api_key = ApiKeyOut(id=str(key.id), account=account, scope=key.scope, expires_at=key.expires_at)
        return Response(Whoami(caller=CallerOut(api_key=api_key, user=None)))
