"""How we speak HTTP: problems, pagination, idempotency, request ids, schema."""

from django.apps import AppConfig


class RestConfig(AppConfig):
    """The `rest` app owns the idempotency records."""

    name = "evalsvc.rest"
    label = "rest"
