"""The `events` app."""

from pathlib import Path

from django.apps import AppConfig


class EventsConfig(AppConfig):
    """The `events` app."""

    name = "evalsvc.events"
    label = "events"

    def ready(self) -> None:
        """Register the trigger's function, and the secrets that a new encryption key has to reach."""
        from evalsvc.events.models import EventEndpoint
        from evalsvc.infra.functions import FunctionFiles, register_functions
        from evalsvc.judges.services import sealed_models

        register_functions(self.label, FunctionFiles(Path(__file__).parent / "sql", ("failed",)))
        if not any(model is EventEndpoint for model, _ in sealed_models):
            sealed_models.append((EventEndpoint, ("secret", "previous", "routing_key")))
