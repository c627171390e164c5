"""Questions put to people, one item at a time."""

from pathlib import Path

from django.apps import AppConfig


class ReviewsConfig(AppConfig):
    """The `reviews` app."""

    name = "evalsvc.reviews"
    label = "reviews"

    def ready(self) -> None:
        """Have the function installed that finds the holder of a link."""
        from evalsvc.infra.functions import FunctionFiles, register_functions

        register_functions(self.label, FunctionFiles(Path(__file__).parent / "sql", ("links",)))
