"""The `telemetry` app."""

from django.apps import AppConfig


class TelemetryConfig(AppConfig):
    """The `telemetry` app."""

    name = "evalsvc.telemetry"
    label = "telemetry"
