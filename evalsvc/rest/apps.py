"""How we speak HTTP: problems, pagination, idempotency, request ids, schema."""

from django.apps import AppConfig


class RestConfig(AppConfig):
    """The `rest` app owns the idempotency records."""

    name = "evalsvc.rest"
    label = "rest"

    def ready(self) -> None:
        """Let addresses say `<id:…>`, whichever module they are written in."""
        from django.urls import register_converter

        from evalsvc.rest.converters import IdConverter

        register_converter(IdConverter, "id")
