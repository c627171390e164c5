"""/v1/webhook-secret: what webhook requests are signed with."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema, inline_serializer
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.judges.models import WebhookSecret
from evalsvc.judges.webhooks.secrets import rotate_webhook_secret, webhook_secret
from evalsvc.rest.idempotency import release_claim


class WebhookSecretOut(serializers.Serializer[WebhookSecret]):
    """What may be known of a secret."""

    last4 = serializers.CharField()
    created_at = serializers.DateTimeField()
    previous_until = serializers.DateTimeField(allow_null=True)


class NewWebhookSecretOut(WebhookSecretOut):
    """A new secret, readable this once."""

    secret = serializers.CharField()


def secret_out(row: WebhookSecret) -> dict[str, object]:
    """Return what may be known of a secret."""
    return {"last4": row.last4, "created_at": row.created_at, "previous_until": row.previous_until}


class WebhookSecretView(AccountView):
    """The account's signing secret."""

    @extend_schema(
        operation_id="webhook_secret",
        tags=["webhooks"],
        responses=inline_serializer("WebhookSecret", {"webhook_secret": WebhookSecretOut(allow_null=True)}),
    )
    def get(self, request: Request) -> Response:
        """Say whether there is a secret, how it ends, and until when its predecessor signs as well."""
        row = webhook_secret(account=self.account)
        return Response({"webhook_secret": secret_out(row) if row else None})


class RotateWebhookSecretView(AccountView):
    """A new signing secret."""

    @extend_schema(
        operation_id="rotate_webhook_secret",
        tags=["webhooks"],
        request=None,
        responses={201: inline_serializer("NewWebhookSecret", {"webhook_secret": NewWebhookSecretOut()})},
    )
    def post(self, request: Request) -> Response:
        """Make a secret and answer with it, this once. For 24 hours requests carry the old signature beside the new."""
        row, plain = rotate_webhook_secret(account=self.account, now=timezone.now(), actor=self.caller.actor)
        if self.claim is not None:
            # A kept answer would be the secret in plain text.
            release_claim(self.claim)
            self.claim = None
        return Response({"webhook_secret": secret_out(row) | {"secret": plain}}, status=201)
