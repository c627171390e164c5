"""How we speak HTTP: problems, pagination, idempotency, request ids, schema."""

from django.apps import AppConfig


class RestConfig(AppConfig):
    """The `rest` app owns the idempotency records."""

    name = "evalsvc.rest"
    label = "rest"

    def ready(self) -> None:
        """Register the URL converter `<id:…>` for all modules."""
        from django.urls import register_converter

        from evalsvc.rest.basics.converters import IdConverter

        register_converter(IdConverter, "id")
        spare_requests()


def spare_requests() -> None:
    """Let a request begin without a look at each database: what one used is closed where it ends, and DEBUG is off."""
    from django.core.signals import request_started
    from django.db import close_old_connections, reset_queries

    request_started.disconnect(reset_queries)
    request_started.disconnect(close_old_connections)
