"""Many configs over one dataset, with running estimates, decisions and control while they run."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """The `experiments` app."""

    name = "evalsvc.experiments"
    label = "experiments"

    def ready(self) -> None:
        """Say beside the history what an experiment says."""
        from evalsvc.evaluations.history.alongside import finders
        from evalsvc.experiments.reporting.alongside import side_of

        if side_of not in finders:
            finders.append(side_of)
