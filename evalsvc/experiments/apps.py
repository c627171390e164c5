"""Many configs over one dataset, with running estimates, decisions and control while they run."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """The `experiments` app."""

    name = "evalsvc.experiments"
    label = "experiments"
