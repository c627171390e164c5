"""GET /v1/whoami."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView


class AccountOut(serializers.Serializer[object]):
    """An account as the API names it."""

    id = serializers.CharField()
    name = serializers.CharField()


class ApiKeyOut(serializers.Serializer[object]):
    """The calling key, without its secret."""

    id = serializers.CharField()
    account = AccountOut()
    name = serializers.CharField(required=False)
    scope = serializers.ChoiceField(choices=["read", "write"], required=False)
    expires_at = serializers.DateTimeField(allow_null=True, required=False)


class CallerOut(serializers.Serializer[object]):
    """Who calls: always a key; `user` is there for clients that expect it."""

    api_key = ApiKeyOut()
    user = serializers.DictField(allow_null=True)


class WhoamiView(AccountView):
    """Who does this key speak for?"""

    scoped = False

    @extend_schema(
        operation_id="whoami",
        tags=["accounts"],
        responses=inline_serializer("Whoami", {"caller": CallerOut()}),
    )
    def get(self, request: Request) -> Response:
        """Tell the account and the scope of the calling key."""
        key = self.caller.key
        return Response(
            {
                "caller": {
                    "api_key": {
                        "id": str(key.id),
                        "account": {"id": str(key.account_id), "name": key.account_name},
                        "scope": key.scope,
                        "expires_at": key.expires_at,
                    },
                    "user": None,
                }
            }
        )
