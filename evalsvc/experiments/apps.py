"""Many configs over one dataset, with running estimates, decisions and control while they run."""

from pathlib import Path

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    """The `experiments` app."""

    name = "evalsvc.experiments"
    label = "experiments"

    def ready(self) -> None:
        """Register the database's functions, and show results of experiments alongside the history."""
        from evalsvc.evaluations.history.alongside import finders
        from evalsvc.experiments.reporting.alongside import side_of
        from evalsvc.infra.functions import FunctionFiles, register_functions

        if side_of not in finders:
            finders.append(side_of)
        register_functions(
            self.label, FunctionFiles(Path(__file__).parent / "sql", ("functions", "additions", "stages", "retries"))
        )
