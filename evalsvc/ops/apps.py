"""The `ops` app."""

from django.apps import AppConfig


class OpsConfig(AppConfig):
    """The `ops` app: probes, metrics, checks, commands."""

    name = "evalsvc.ops"
    label = "ops"

    def ready(self) -> None:
        """Register the checks."""
        from evalsvc.ops import checks  # noqa: F401
