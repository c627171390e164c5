"""/v1/webhook-secret: what webhook requests are signed with."""

from __future__ import annotations

from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from evalsvc.accounts.views import AccountView
from evalsvc.judges.webhooks.secrets import rotate_webhook_secret, webhook_secret
from evalsvc.rest.answering.shapes import AnswerShape, Moment, answer_with, answers_with, build_shape
from evalsvc.rest.idempotency import release_claim


class WebhookSecretOut(AnswerShape):
    """What may be known of a secret."""

    last4: str
    created_at: Moment
    previous_until: Moment | None


class NewWebhookSecretOut(WebhookSecretOut):
    """A new secret, readable this once."""

    secret: str


class WebhookSecretAnswer(AnswerShape):
    """The account's secret, or null where there is none."""

    webhook_secret: WebhookSecretOut | None


class NewWebhookSecret(AnswerShape):
    """The account's new secret."""

    webhook_secret: NewWebhookSecretOut


class WebhookSecretView(AccountView):
    """The account's signing secret."""

    @extend_schema(
        operation_id="webhook_secret",
        tags=["webhooks"],
        responses=answers_with(WebhookSecretAnswer),
    )
    def get(self, request: Request) -> Response:
        """Say whether there is a secret, how it ends, and until when its predecessor signs as well."""
        row = webhook_secret(account=self.account)
        return Response(WebhookSecretAnswer(webhook_secret=build_shape(row, WebhookSecretOut) if row else None))


class RotateWebhookSecretView(AccountView):
    """A new signing secret."""

    @extend_schema(
        operation_id="rotate_webhook_secret",
        tags=["webhooks"],
        request=None,
        responses={201: answer_with(NewWebhookSecret)},
    )
    def post(self, request: Request) -> Response:
        """Make a secret and answer with it, this once. For 24 hours requests carry the old signature beside the new."""
        row, plain = rotate_webhook_secret(account=self.account, now=timezone.now(), actor=self.caller.actor)
        if self.claim is not None:
            # A stored idempotent response would contain the secret in plain text.
            release_claim(self.claim)
            self.claim = None
        return Response(
            NewWebhookSecret(webhook_secret=build_shape(row, NewWebhookSecretOut, secret=plain)), status=201
        )
