"""The addresses of connections to LLMs, and of the secret of webhooks."""

from django.urls import path

from evalsvc.judges.api.connections import ConnectionsView, ConnectionTestView, ConnectionView
from evalsvc.judges.api.webhook_secrets import RotateWebhookSecretView, WebhookSecretView

urlpatterns = [
    path("v1/connections", ConnectionsView.as_view()),
    path("v1/connections/<uuid:id>", ConnectionView.as_view()),
    path("v1/connections/<uuid:id>/test", ConnectionTestView.as_view()),
    path("v1/webhook-secret", WebhookSecretView.as_view()),
    path("v1/webhook-secret/rotate", RotateWebhookSecretView.as_view()),
]
